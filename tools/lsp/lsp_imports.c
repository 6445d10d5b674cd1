#define _XOPEN_SOURCE 700 /* realpath */
/* The files that a document imports, for hover, definition and completion. */
#include "lsp/lsp.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 100, LARGEST_FILE = 16 << 20 };

/* Returns the text of a file as the editor has it, else as it is saved; no bytes: it cannot be
 * read. */
static struct lsp_text text_of(const struct lsp *l, const char *path)
{
    size_t length;
    for (const struct lsp_document *d = l->documents; d; d = d->next)
        if (strcmp(d->path, path) == 0) {
            char *copy = need_memory(d->text.length + 1);
            memcpy(copy, d->text.bytes, d->text.length + 1);
            return lsp_text_of(copy, d->text.length);
        }
    char *bytes = read_at_most(path, LARGEST_FILE, &length);
    return bytes ? lsp_text_of(bytes, length) : (struct lsp_text){0};
}

static bool has_file(const struct lsp_imports *list, const char *path)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->files[i].path, path) == 0)
            return true;
    return false;
}

/* Adds the files that the text at `path` imports, each once. */
static void add_imports(struct lsp *l, struct lsp_imports *list, const char *path,
                        const struct lsp_text *t)
{
    int count;
    const tw_import *found;
    if (tw_text_imports(l->ctx, path, t->bytes, t->length, &count, &found) != TW_OK)
        return;
    for (int i = 0; i < count && list->count < MOST_FILES; i++) {
        if (!found[i].found || has_file(list, found[i].path))
            continue;
        struct lsp_text text = text_of(l, found[i].path);
        if (!text.bytes)
            continue;
        ADD_TO(list->files, list->count,
               (struct lsp_imported){need_text("%s", found[i].path), text});
    }
}

int lsp_import_lines(tw_context *ctx, const char *path, const struct lsp_text *t,
                     struct lsp_import_line **lines)
{
    int count;
    const tw_import *found;
    if (tw_text_imports(ctx, path, t->bytes, t->length, &count, &found) != TW_OK)
        count = 0;
    *lines = need_memory(((size_t)count + 1) * sizeof **lines);
    for (int i = 0; i < count; i++)
        (*lines)[i] = (struct lsp_import_line){lsp_span_of_part(t, &found[i].at),
                                               need_text("%s", found[i].path)};
    return count;
}

void lsp_import_lines_free(struct lsp_import_line *lines, int count)
{
    for (int i = 0; i < count; i++)
        free(lines[i].path);
    free(lines);
}

struct lsp_imports lsp_imports_of(struct lsp *l, const struct lsp_document *d)
{
    struct lsp_imports list = {0};
    list.line_count = lsp_import_lines(l->ctx, d->path, &d->text, &list.lines);
    add_imports(l, &list, d->path, &d->text);
    for (int i = 0; i < list.count; i++) {
        const struct lsp_text text = list.files[i].text; /* the list may move */
        add_imports(l, &list, list.files[i].path, &text);
    }
    return list;
}

void lsp_imports_free(struct lsp_imports *list)
{
    for (int i = 0; i < list->count; i++) {
        lsp_text_free(&list->files[i].text);
        free(list->files[i].path);
    }
    lsp_import_lines_free(list->lines, list->line_count);
    free(list->files);
    *list = (struct lsp_imports){0};
}

bool lsp_is_exported(const tw_symbol *s)
{
    return s->owner < 0 && s->kind != TW_SYMBOL_KERNEL && s->kind != TW_SYMBOL_FAMILY;
}

const tw_symbol *lsp_imported_symbol(struct lsp *l, const struct lsp_imports *list,
                                     const char *word, size_t length,
                                     const struct lsp_imported **file)
{
    const tw_symbol *symbols;
    int count;
    for (int i = list->count - 1; i >= 0; i--) {
        *file = &list->files[i];
        const struct lsp_text *t = &list->files[i].text;
        if (tw_text_symbols(l->ctx, t->bytes, t->length, &count, &symbols) != TW_OK)
            continue;
        for (int k = 0; k < count; k++)
            if (lsp_is_exported(&symbols[k]) && strlen(symbols[k].name) == length &&
                memcmp(symbols[k].name, word, length) == 0)
                return &symbols[k];
    }
    return NULL;
}

const struct lsp_import_line *lsp_import_at(const struct lsp_imports *list, size_t offset)
{
    for (int i = 0; i < list->line_count; i++)
        if (offset >= list->lines[i].at.begin && offset <= list->lines[i].at.end)
            return &list->lines[i];
    return NULL;
}

char *lsp_uri_of_path(const char *path)
{
    char *uri = NULL, *real = realpath(path, NULL);
    append_text(&uri, "file://");
    for (const char *at = real ? real : path; *at; at++)
        if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
            (*at >= '0' && *at <= '9') || strchr("-._~/", *at))
            append_text(&uri, "%c", *at);
        else
            append_text(&uri, "%%%02X", (unsigned char)*at);
    free(real);
    return uri;
}
