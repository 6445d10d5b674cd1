/* Queries of an editor about a text. */
#include "api/objects.h"

#include "tilewright_look.h"

#include <string.h>

struct format_call {
    tw_context *ctx;
    struct source source; /* the caller's, then a copy, which messages point into */
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
    REFUSE_IF(ctx, ctx, !name || !text || !out, "tw_text_format: `name`, `text` or `out` is NULL");
    struct format_call c = {.ctx = ctx, .source = {name, text, length}};
    tw_status s = context_call(ctx, format_text, &c);
    *out = s == TW_OK ? c.out.data : NULL;
    if (out_length)
        *out_length = s == TW_OK ? c.out.length : 0;
    return s;
}

/* --- symbols --- */

struct symbols_call {
    tw_context *ctx;
    struct source source; /* the caller's, then a copy */
    struct line_starts lines;
    tw_symbol *list;
    int count;
};

static tw_part part_of(tw_context *ctx, struct line_starts *lines, struct loc at)
{
    tw_part p;
    struct loc end = {at.source, at.offset + at.length, 0};
    loc_line_starts_find(&ctx->scratch, lines, at, &p.line, &p.column);
    loc_line_starts_find(&ctx->scratch, lines, end, &p.end_line, &p.end_column);
    return p;
}

static tw_symbol public_symbol(struct symbols_call *c, const struct lang_symbol *s)
{
    struct arena *kept = &c->ctx->message_memory;
    tw_part *uses = arena_array(kept, tw_part, s->uses.count + 1);
    for (size_t i = 0; i < s->uses.count; i++)
        uses[i] = part_of(c->ctx, &c->lines, s->uses.data[i]);
    return (tw_symbol){.kind = (tw_symbol_kind)s->kind,
                       .name = arena_string(kept, s->name, strlen(s->name)),
                       .declaration = arena_string(kept, s->declaration, strlen(s->declaration)),
                       .at = part_of(c->ctx, &c->lines, s->at),
                       .whole = part_of(c->ctx, &c->lines, s->whole),
                       .scope = part_of(c->ctx, &c->lines, s->scope),
                       .owner = s->owner,
                       .use_count = (int)s->uses.count,
                       .uses = uses};
}

static tw_status find_symbols(void *user)
{
    struct symbols_call *c = user;
    struct arena *a = &c->ctx->scratch;
    c->source.text = arena_string(a, c->source.text, c->source.length);
    struct lang_symbols found = lang_symbols(a, &c->source);
    c->list = arena_array(&c->ctx->message_memory, tw_symbol, found.count + 1);
    for (size_t i = 0; i < found.count; i++)
        c->list[i] = public_symbol(c, &found.data[i]);
    c->count = (int)found.count;
    return TW_OK;
}

tw_status tw_text_symbols(tw_context *ctx, const char *text, size_t length, int *count,
                          const tw_symbol **out)
{
    REFUSE_IF(ctx, ctx, !text || !count || !out,
              "tw_text_symbols: `text`, `count` or `out` is NULL");
    struct symbols_call c = {.ctx = ctx, .source = {"", text, length}};
    tw_status s = context_call(ctx, find_symbols, &c);
    *out = s == TW_OK ? c.list : NULL;
    *count = s == TW_OK ? c.count : 0;
    return s;
}

/* --- imports --- */

struct imports_call {
    tw_context *ctx;
    struct source source; /* the caller's, then a copy */
    struct line_starts lines;
    tw_import *list;
    int count;
};

static tw_status find_imports(void *user)
{
    struct imports_call *c = user;
    struct arena *a = &c->ctx->scratch, *kept = &c->ctx->message_memory;
    c->source.name = arena_string(a, c->source.name, strlen(c->source.name));
    c->source.text = arena_string(a, c->source.text, c->source.length);
    const struct lang_search search = {.path = c->ctx->import_path};
    struct lang_imports found = lang_imports(a, &c->source, &search);
    c->list = arena_array(kept, tw_import, found.count + 1);
    for (size_t i = 0; i < found.count; i++) {
        const struct lang_import *one = &found.data[i];
        c->list[i] = (tw_import){.at = part_of(c->ctx, &c->lines, one->at),
                                 .path = arena_string(kept, one->path, strlen(one->path)),
                                 .found = one->found};
    }
    c->count = (int)found.count;
    return TW_OK;
}

tw_status tw_text_imports(tw_context *ctx, const char *name, const char *text, size_t length,
                          int *count, const tw_import **out)
{
    REFUSE_IF(ctx, ctx, !name || !text || !count || !out,
              "tw_text_imports: `name`, `text`, `count` or `out` is NULL");
    struct imports_call c = {.ctx = ctx, .source = {name, text, length}};
    tw_status s = context_call(ctx, find_imports, &c);
    *out = s == TW_OK ? c.list : NULL;
    *count = s == TW_OK ? c.count : 0;
    return s;
}
