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

#endif
