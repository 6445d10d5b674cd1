/* Tables whose rows are printed as they arrive, so the column widths are fixed in advance. */
#ifndef TW_TABLE_H
#define TW_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct column {
    const char *title;
    int width; /* at least the title's */
    bool left;
};

/* Row that is built cell by cell, each cell with its column. */
enum { CELLS_MOST = 16, CELL_BYTES = 640 };
struct cells {
    struct column columns[CELLS_MOST];
    char texts[CELLS_MOST][CELL_BYTES];
    int count;
};
void cells_add(struct cells *c, const char *title, int width, bool left, const char *text);
/* Adds a number with `digits` decimals; adds "-" if the value is unknown (0 or less). */
void cells_add_number(struct cells *c, const char *title, int width, int digits, double v);
/* Prints a text after `label`, which is `indent` columns wide. A terminal gets lines of up to
 * 110 columns, indented below the first; a file or a pipe gets one line, so that programs can
 * search it for words. */
void table_paragraph(FILE *out, const char *label, int indent, const char *text);
void cells_header(FILE *out, const struct cells *c); /* the columns' titles */
void cells_row(FILE *out, const struct cells *c);

#endif
