#include "lsp/lsp.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

static void put_position(struct json *j, const char *key, const struct lsp_text *t, size_t offset)
{
    int line, character;
    lsp_position(t, offset, &line, &character);
    json_open_object(j, key);
    json_put_integer(j, "line", line);
    json_put_integer(j, "character", character);
    json_close(j, '}');
}

void lsp_put_range(struct json *j, const char *key, const struct lsp_text *t, struct lsp_span at)
{
    json_open_object(j, key);
    put_position(j, "start", t, at.begin);
    put_position(j, "end", t, at.end);
    json_close(j, '}');
}

static void put_note(struct json *j, const struct lsp_document *d, const struct lsp_note *n)
{
    json_open(j, '{');
    json_open_object(j, "location");
    json_put_text(j, "uri", d->uri);
    lsp_put_range(j, "range", &d->text, n->at);
    json_close(j, '}');
    json_put_text(j, "message", n->text);
    json_close(j, '}');
}

static void put_diagnostic(struct json *j, const struct lsp_document *d,
                           const struct lsp_finding *f)
{
    json_open(j, '{');
    lsp_put_range(j, "range", &d->text, f->at);
    json_put_integer(j, "severity",
                     f->severity == TW_ERROR     ? 1
                     : f->severity == TW_WARNING ? 2
                                                 : 3);
    json_put_text(j, "code", tw_code_name(f->code));
    json_put_text(j, "source", "tilewright");
    json_put_text(j, "message", f->text);
    if (f->note_count) {
        json_open_list(j, "relatedInformation");
        for (int i = 0; i < f->note_count; i++)
            put_note(j, d, &f->notes[i]);
        json_close(j, ']');
    }
    json_close(j, '}');
}

void lsp_publish(const struct lsp_document *d)
{
    struct json j;
    lsp_begin_notification(&j, "textDocument/publishDiagnostics");
    json_open(&j, '{');
    json_put_text(&j, "uri", d->uri);
    if (d->version >= 0)
        json_put_integer(&j, "version", d->version);
    json_open_list(&j, "diagnostics");
    for (int i = 0; i < d->results.finding_count; i++)
        put_diagnostic(&j, d, &d->results.findings[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    lsp_send(&j);
}

/* --- quick fixes --- */

static void put_fix(struct json *j, const struct lsp_document *d, const struct lsp_finding *f)
{
    json_open(j, '{');
    json_put_text(j, "title", f->title);
    json_put_text(j, "kind", "quickfix");
    json_put_bool(j, "isPreferred", true);
    json_open_list(j, "diagnostics");
    put_diagnostic(j, d, f);
    json_close(j, ']');
    json_open_object(j, "edit");
    json_open_object(j, "changes");
    json_open_list(j, d->uri);
    for (int i = 0; i < f->fix_count; i++) {
        json_open(j, '{');
        lsp_put_range(j, "range", &d->text, f->fixes[i].at);
        json_key(j, "newText");
        json_exact(j, f->fixes[i].insert, strlen(f->fixes[i].insert));
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
    json_close(j, '}');
    json_close(j, '}');
}

/* Returns the offset of the range's member "start" or "end". */
static size_t offset_of(const struct lsp_document *d, const struct json_value *range,
                        const char *key, size_t otherwise)
{
    int line, character;
    const struct json_value *p = json_member(range, key);
    if (!json_member_count(p, "line", &line) || !json_member_count(p, "character", &character))
        return otherwise;
    return lsp_offset(&d->text, line, character);
}

void lsp_answer_fixes(struct lsp *l, const struct lsp_document *d, const struct json_value *id,
                      const struct json_value *params)
{
    struct json j;
    const struct json_value *range = json_member(params, "range");
    size_t begin = offset_of(d, range, "start", 0),
           end = offset_of(d, range, "end", d->text.length);
    lsp_begin_result(&j, id);
    json_open(&j, '[');
    pthread_mutex_lock(&l->lock);
    for (int i = 0; d->checked == d->revision && i < d->results.finding_count; i++) {
        const struct lsp_finding *f = &d->results.findings[i];
        if (f->fix_count && f->at.begin <= end && f->at.end >= begin)
            put_fix(&j, d, f);
    }
    pthread_mutex_unlock(&l->lock);
    json_close(&j, ']');
    lsp_send(&j);
}
