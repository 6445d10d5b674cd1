/* Prints small matrices as text, with row and column numbers. */
#ifndef TW_MATRIX_H
#define TW_MATRIX_H

#include <stdint.h>

/* Texts of the elements, row by row, in ASCII. matrix_free frees them all. */
struct matrix {
    int64_t rows, columns;
    char **cells;
};

void matrix_begin(struct matrix *m, int64_t rows, int64_t columns);
/* Returns a line with the column numbers, and a line for each row, which begins with its number;
 * cells are aligned to the right. The caller frees. */
char *matrix_text(const struct matrix *m);
void matrix_free(struct matrix *m);

#endif
