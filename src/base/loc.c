/* Places in source texts. */
#include "base/diag.h"

size_t loc_start(struct loc at)
{
    return at.offset < at.source->length ? at.offset : at.source->length;
}

size_t loc_line_start(struct loc at)
{
    size_t start = loc_start(at);
    while (start > 0 && at.source->text[start - 1] != '\n')
        start--;
    return start;
}

void loc_line_column(struct loc at, int *line, int *column)
{
    *line = *column = 1;
    if (!at.source)
        return;
    size_t start = loc_line_start(at);
    for (size_t i = 0; i < start; i++)
        *line += at.source->text[i] == '\n';
    *column += (int)(loc_start(at) - start);
}
