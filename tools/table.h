/* Tables whose rows are printed as they come, so the widths are set ahead. */
#ifndef TW_TABLE_H
#define TW_TABLE_H

#include <stdbool.h>
#include <stdio.h>

struct column {
    const char *title;
    int width; /* at least the title's */
    bool left;
};

void table_header(FILE *out, const struct column *columns, int count);
void table_row(FILE *out, const struct column *columns, int count, const char *const *cells);

/* A row made cell by cell, each with its column. */
enum { CELLS_MOST = 16, CELL_BYTES = 640 };
struct cells {
    struct column columns[CELLS_MOST];
    char texts[CELLS_MOST][CELL_BYTES];
    int count;
};
void cells_add(struct cells *c, const char *title, int width, bool left, const char *text);
/* With so many digits behind the point; "-" for what is not known, 0 or less. */
void cells_add_number(struct cells *c, const char *title, int width, int digits, double v);
/* A text behind `label`, which is `indent` wide: on a terminal in lines of up to 110 characters, the
 * others below the first; else, for who looks for words in it, in one. */
void table_paragraph(FILE *out, const char *label, int indent, const char *text);
void cells_header(FILE *out, const struct cells *c); /* the columns' titles */
void cells_row(FILE *out, const struct cells *c);

#endif
