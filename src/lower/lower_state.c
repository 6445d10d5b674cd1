/* Errors, places in the source, and what kind of block it is. */
#include "lower/lower_flow.h"

#include <stdarg.h>

void lower_error(struct lower *l, struct loc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_error(l->diag, loc, "%s", arena_vprintf(l->arena, format, args));
    va_end(args);
    l->failed = true;
}

void lower_source(struct lower *l, const struct source *source)
{
    struct bodies *b = l->bodies;
    b->source = source;
    b->file = ptx_source_file(&l->b, source->name);
    b->line_start.count = 0;
    vec_push(l->arena, &b->line_start, 0);
    for (uint32_t i = 0; i < source->length; i++)
        if (source->text[i] == '\n')
            vec_push(l->arena, &b->line_start, i + 1);
}

void lower_line(struct lower *l, struct loc loc)
{
    struct bodies *b = l->bodies;
    if (!l->options->lines || !loc.source)
        return;
    if (loc.source != b->source)
        lower_source(l, loc.source);
    size_t low = 0, high = b->line_start.count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (b->line_start.data[middle] <= loc.offset)
            low = middle;
        else
            high = middle;
    }
    ptx_source_line(&l->b, b->file, (uint32_t)low + 1, loc.offset - b->line_start.data[low] + 1);
}

bool lower_ragged_block(const struct lower *l)
{
    return kernel_thread_level(l->kernel) && l->threads % WARP_LANES != 0;
}
