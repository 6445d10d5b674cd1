/* Answers from the text: a name's meaning and declaration, the outline, the formatted text. */
#include "lsp/lsp.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NANOSECONDS_FOR_RESULTS = 400000000 }; /* time that a hover waits for a check */

static void answer_null(const struct json_value *id)
{
    struct json j;
    lsp_begin_result(&j, id);
    json_string(&j, NULL);
    lsp_send(&j);
}

/* --- names --- */

static bool is_named_at(const struct lsp_text *t, const tw_symbol *s, size_t offset)
{
    if (lsp_part_has(t, &s->at, offset))
        return true;
    for (int i = 0; i < s->use_count; i++)
        if (lsp_part_has(t, &s->uses[i], offset))
            return true;
    return false;
}

/* Returns the symbol of the name at the offset, or NULL if there is none. In a statement with
 * errors, returns the last known symbol of that name. Valid until the next call on the context. */
static const tw_symbol *symbol_at(struct lsp *l, const struct lsp_text *t, size_t offset,
                                  const tw_symbol **list)
{
    int count;
    size_t begin, length = lsp_word_at(t, offset, &begin);
    const tw_symbol *found = NULL;
    if (!length || tw_text_symbols(l->ctx, t->bytes, t->length, &count, list) != TW_OK)
        return NULL;
    for (int i = 0; i < count; i++)
        if (is_named_at(t, &(*list)[i], offset))
            return &(*list)[i];
    bool member = begin > 0 && t->bytes[begin - 1] == '.';
    for (int i = 0; i < count && !member; i++)
        if (strlen((*list)[i].name) == length &&
            memcmp((*list)[i].name, t->bytes + begin, length) == 0 &&
            lsp_part_has(t, &(*list)[i].scope, offset))
            found = &(*list)[i];
    return found;
}

static bool is_word(const struct lsp_word *w, const struct lsp_text *t, size_t begin, size_t length)
{
    return strlen(w->word) == length && memcmp(w->word, t->bytes + begin, length) == 0;
}

/* --- hover --- */

/* Waits a moment for the check of the text. Requires the lock. */
static bool wait_for_results(struct lsp *l, const struct lsp_document *d)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += NANOSECONDS_FOR_RESULTS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (d->checked != d->revision)
        if (pthread_cond_timedwait(&l->news, &l->lock, &until) != 0)
            return false;
    return true;
}

/* Returns whether the fact is about the access by the name at `begin`. An asynchronous copy has
 * its statement's place. */
static bool is_of_access(const struct lsp_text *t, const struct lsp_fact *f, size_t begin)
{
    size_t at = lsp_offset_of_place(t, f->line, f->column), length = strlen(f->tile);
    bool named = strncmp(t->bytes + at, f->tile, length) == 0;
    if (named || f->line >= t->line_count)
        return at == begin;
    return begin > at && begin < t->lines[f->line] &&
           strncmp(t->bytes + begin, f->tile, length) == 0;
}

static bool has_fact(const struct lsp_text *t, const struct lsp_fact *f, const tw_symbol *s,
                     const char *owner, size_t begin)
{
    if (!f->tile)
        return s->kind == TW_SYMBOL_KERNEL && strcmp(f->kernel, s->name) == 0;
    return owner && s->kind >= TW_SYMBOL_VIEW && strcmp(f->kernel, owner) == 0 &&
           strcmp(f->tile, s->name) == 0 && (!f->line || is_of_access(t, f, begin));
}

/* Adds the check's facts about the name that begins at `begin`. */
static void append_facts(struct lsp *l, const struct lsp_document *d, const tw_symbol *s,
                         const char *owner, size_t begin, char **text)
{
    pthread_mutex_lock(&l->lock);
    bool known = wait_for_results(l, d);
    for (int i = 0; known && i < d->results.fact_count; i++) {
        const struct lsp_fact *f = &d->results.facts[i];
        if (has_fact(&d->text, f, s, owner, begin))
            append_text(text, "%s\n\n", f->text);
    }
    pthread_mutex_unlock(&l->lock);
}

static void append_word(char **text, const struct lsp_word *w)
{
    append_text(text, "```tile\n%s\n```\n", w->form);
    if (*w->result)
        append_text(text, "%s%s\n\n",
                    strcmp(w->result, "a statement") == 0 ? "" : "result: ", w->result);
    if (*w->note)
        append_text(text, "%s\n\n", w->note);
}

/* Adds what is known of an import at the offset, whose span is then *at, or of a name from an
 * imported file. */
static void append_imported(struct lsp *l, const struct lsp_document *d, size_t offset,
                            struct lsp_span *at, char **text)
{
    struct lsp_imports imports = lsp_imports_of(l, d);
    const struct lsp_import_line *line = lsp_import_at(&imports, offset);
    const struct lsp_imported *file;
    const tw_symbol *s = NULL;
    if (!line && at->end > at->begin)
        s = lsp_imported_symbol(l, &imports, d->text.bytes + at->begin, at->end - at->begin, &file);
    if (line) {
        append_text(text, "%s\n\n", line->path);
        *at = line->at;
    }
    if (s)
        append_text(text, "```tile\n%s\n```\nfrom %s\n\n", s->declaration, file->path);
    lsp_imports_free(&imports);
}

void lsp_answer_hover(struct lsp *l, const struct lsp_document *d, const struct json_value *id,
                      size_t offset)
{
    const tw_symbol *list = NULL, *s = symbol_at(l, &d->text, offset, &list);
    size_t begin, length = lsp_word_at(&d->text, offset, &begin);
    struct lsp_span at = {begin, begin + length};
    char *text = NULL;
    if (s)
        append_text(&text, "```tile\n%s\n```\n", s->declaration);
    else
        append_imported(l, d, offset, &at, &text);
    for (const struct lsp_word *w = lsp_words; !text && length && w->word; w++)
        if (is_word(w, &d->text, begin, length) && *w->form)
            append_word(&text, w);
    if (s)
        append_facts(l, d, s, s->owner >= 0 ? list[s->owner].name : NULL, begin, &text);
    if (!text) {
        answer_null(id);
        return;
    }
    struct json j;
    lsp_begin_result(&j, id);
    json_open(&j, '{');
    json_open_object(&j, "contents");
    json_put_text(&j, "kind", "markdown");
    json_key(&j, "value");
    json_exact(&j, text, strlen(text));
    json_close(&j, '}');
    lsp_put_range(&j, "range", &d->text, at);
    json_close(&j, '}');
    lsp_send(&j);
    free(text);
}

/* --- definition and outline --- */

/* Answers with a place: the symbol's, or a file's beginning (s: NULL). file: NULL for the
 * document's own. */
static void put_place(const struct json_value *id, const struct lsp_document *d,
                      const struct lsp_imported *file, const tw_symbol *s)
{
    const struct lsp_text *t = file ? &file->text : &d->text;
    char *uri = file ? lsp_uri_of_path(file->path) : NULL;
    struct json j;
    lsp_begin_result(&j, id);
    json_open(&j, '{');
    json_put_text(&j, "uri", uri ? uri : d->uri);
    lsp_put_range(&j, "range", t, s ? lsp_span_of_part(t, &s->at) : (struct lsp_span){0, 0});
    json_close(&j, '}');
    lsp_send(&j);
    free(uri);
}

void lsp_answer_definition(struct lsp *l, const struct lsp_document *d, const struct json_value *id,
                           size_t offset)
{
    struct lsp_imports imports = lsp_imports_of(l, d);
    const tw_symbol *list, *s = symbol_at(l, &d->text, offset, &list);
    size_t begin, length = lsp_word_at(&d->text, offset, &begin);
    const struct lsp_imported *file = NULL;
    const struct lsp_import_line *line = lsp_import_at(&imports, offset);
    if (line)
        for (int i = 0; i < imports.count; i++)
            file = strcmp(imports.files[i].path, line->path) == 0 ? &imports.files[i] : file;
    else if (!s && length)
        s = lsp_imported_symbol(l, &imports, d->text.bytes + begin, length, &file);
    if (line ? file != NULL : s != NULL)
        put_place(id, d, file, line ? NULL : s);
    else
        answer_null(id);
    lsp_imports_free(&imports);
}

/* Returns the protocol's SymbolKind. */
static int outline_kind(tw_symbol_kind kind)
{
    switch (kind) {
    case TW_SYMBOL_FN:
    case TW_SYMBOL_KERNEL: return 12; /* Function */
    case TW_SYMBOL_FAMILY: return 2;  /* Module */
    case TW_SYMBOL_CONST:
    case TW_SYMBOL_TUNE: return 14; /* Constant */
    case TW_SYMBOL_TYPE: return 26; /* TypeParameter */
    case TW_SYMBOL_VIEW:
    case TW_SYMBOL_SHARED:
    case TW_SYMBOL_REG: return 18; /* Array */
    default: return 13;            /* Variable */
    }
}

static void put_outline(struct json *j, const struct lsp_text *t, const tw_symbol *list, int count,
                        int owner)
{
    for (int i = 0; i < count; i++) {
        const tw_symbol *s = &list[i];
        if (s->owner != owner)
            continue;
        json_open(j, '{');
        json_put_text(j, "name", s->name);
        json_put_text(j, "detail", s->declaration);
        json_put_integer(j, "kind", outline_kind(s->kind));
        lsp_put_range(j, "range", t, lsp_span_of_part(t, &s->whole));
        lsp_put_range(j, "selectionRange", t, lsp_span_of_part(t, &s->at));
        if (s->kind == TW_SYMBOL_KERNEL || s->kind == TW_SYMBOL_FN) {
            json_open_list(j, "children");
            put_outline(j, t, list, count, i);
            json_close(j, ']');
        }
        json_close(j, '}');
    }
}

void lsp_answer_outline(struct lsp *l, const struct lsp_document *d, const struct json_value *id)
{
    const tw_symbol *list;
    int count;
    struct json j;
    if (tw_text_symbols(l->ctx, d->text.bytes, d->text.length, &count, &list) != TW_OK)
        count = 0;
    lsp_begin_result(&j, id);
    json_open(&j, '[');
    put_outline(&j, &d->text, list, count, -1);
    json_close(&j, ']');
    lsp_send(&j);
}

/* --- formatting --- */

/* Returns the bytes of the whole lines with which both texts begin. */
static size_t same_lines(const char *a, const char *b)
{
    size_t lines = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '\n')
            lines = i + 1;
    return lines;
}

/* Returns the bytes of the whole lines with which both texts end, apart from the first `begin`
 * bytes. */
static size_t same_lines_at_end(const char *a, size_t a_length, const char *b, size_t b_length,
                                size_t begin)
{
    size_t lines = 0;
    for (size_t i = 0; begin + i < a_length && begin + i < b_length; i++) {
        if (a[a_length - 1 - i] != b[b_length - 1 - i])
            break;
        if (a[a_length - 1 - i] == '\n')
            lines = i;
    }
    return lines;
}

void lsp_answer_formatting(struct lsp *l, const struct lsp_document *d, const struct json_value *id)
{
    const char *new;
    const struct lsp_text *t = &d->text;
    size_t length;
    tw_status s = tw_text_format(l->ctx, d->path, t->bytes, t->length, &new, &length);
    if (s != TW_OK) { /* diagnostics show the place */
        lsp_send_error(id, LSP_REQUEST_FAILED,
                       "a text that does not follow the grammar is not formatted");
        return;
    }
    struct json j;
    lsp_begin_result(&j, id);
    json_open(&j, '[');
    if (length != t->length || memcmp(new, t->bytes, length) != 0) {
        size_t begin = same_lines(t->bytes, new);
        size_t end = same_lines_at_end(t->bytes, t->length, new, length, begin);
        json_open(&j, '{');
        lsp_put_range(&j, "range", t, (struct lsp_span){begin, t->length - end});
        json_key(&j, "newText");
        json_exact(&j, new + begin, length - end - begin);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    lsp_send(&j);
}
