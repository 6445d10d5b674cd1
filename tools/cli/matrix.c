#include "cli/matrix.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

void matrix_begin(struct matrix *m, int64_t rows, int64_t columns)
{
    *m = (struct matrix){rows, columns, NULL};
    m->cells = need_memory((size_t)(rows * columns) * sizeof *m->cells);
}

static int widest_cell(const struct matrix *m)
{
    int width = snprintf(NULL, 0, "%lld", (long long)m->columns - 1);
    for (int64_t i = 0; i < m->rows * m->columns; i++) {
        int own = (int)strlen(m->cells[i]);
        width = own > width ? own : width;
    }
    return width;
}

char *matrix_text(const struct matrix *m)
{
    int width = widest_cell(m), of_row = snprintf(NULL, 0, "%lld", (long long)m->rows - 1);
    char *text = need_text("  %*s", of_row, "");
    for (int64_t c = 0; c < m->columns; c++)
        append_text(&text, "  %*lld", width, (long long)c);
    for (int64_t r = 0; r < m->rows; r++) {
        append_text(&text, "\n  %*lld", of_row, (long long)r);
        for (int64_t c = 0; c < m->columns; c++)
            append_text(&text, "  %*s", width, m->cells[r * m->columns + c]);
    }
    append_text(&text, "\n");
    return text;
}

void matrix_free(struct matrix *m)
{
    for (int64_t i = 0; i < m->rows * m->columns; i++)
        free(m->cells[i]);
    free(m->cells);
    *m = (struct matrix){0};
}
