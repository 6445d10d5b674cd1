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
}

void lower_line(struct lower *l, struct loc loc)
{
    struct bodies *b = l->bodies;
    if (!l->options->lines || !loc.source)
        return;
    if (loc.source != b->source)
        lower_source(l, loc.source);
    int line, column;
    loc_line_starts_find(l->arena, &b->lines, loc, &line, &column);
    ptx_source_line(&l->b, b->file, (uint32_t)line, (uint32_t)column);
}

bool lower_ragged_block(const struct lower *l)
{
    return kernel_thread_level(l->kernel) && l->threads % WARP_LANES != 0;
}
