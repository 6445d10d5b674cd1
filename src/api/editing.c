/* What an editor asks of a text. */
#include "api/objects.h"

#include "tilewright_look.h"

#include <string.h>

struct format_call {
    tw_context *ctx;
    struct source source; /* as the caller has it, then a copy, which messages point into */
    struct text out;
};

static tw_status format_text(void *user)
{
    struct format_call *c = user;
    struct arena *a = &c->ctx->scratch;
    c->source.name = arena_string(a, c->source.name, strlen(c->source.name));
    c->source.text = arena_string(a, c->source.text, c->source.length);
    text_init(&c->out, &c->ctx->message_memory);
    return lang_format(a, &c->ctx->diag, &c->source, &c->out) ? TW_OK : TW_BAD_PROGRAM;
}

tw_status tw_text_format(tw_context *ctx, const char *name, const char *text, size_t length,
                         const char **out, size_t *out_length)
{
    if (!ctx)
        return TW_BAD_ARGUMENT;
    if (!name || !text || !out)
        return context_refuse(ctx, "tw_text_format: `name`, `text` or `out` is NULL");
    struct format_call c = {.ctx = ctx, .source = {name, text, length}};
    tw_status s = context_call(ctx, format_text, &c);
    *out = s == TW_OK ? c.out.data : NULL;
    if (out_length)
        *out_length = s == TW_OK ? c.out.length : 0;
    return s;
}
