#define _XOPEN_SOURCE 700 /* realpath */
/* The files that a document imports, for hover, definition and completion. */
#include "imports.h"
#include "lsp.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 100 };

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
    char *bytes = read_import(path, &length);
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
static void add_imports(const struct lsp *l, struct lsp_imports *list, const char *path,
                        const char *text)
{
    struct import_line line;
    for (size_t at = 0; list->count < MOST_FILES && next_import(path, text, &at, &line);) {
        struct lsp_text found =
            has_file(list, line.path) ? (struct lsp_text){0} : text_of(l, line.path);
        if (!found.bytes) {
            free(line.path);
            continue;
        }
        list->files =
            need_more_memory(list->files, (size_t)(list->count + 1) * sizeof *list->files);
        list->files[list->count++] = (struct lsp_imported){line.path, found};
    }
}

struct lsp_imports lsp_imports_of(const struct lsp *l, const struct lsp_document *d)
{
    struct lsp_imports list = {0};
    add_imports(l, &list, d->path, d->text.bytes);
    for (int i = 0; i < list.count; i++)
        add_imports(l, &list, list.files[i].path, list.files[i].text.bytes);
    return list;
}

void lsp_imports_free(struct lsp_imports *list)
{
    for (int i = 0; i < list->count; i++) {
        lsp_text_free(&list->files[i].text);
        free(list->files[i].path);
    }
    free(list->files);
    *list = (struct lsp_imports){0};
}

bool lsp_is_exported(const tw_symbol *s)
{
    return s->owner < 0 && s->kind != TW_SYMBOL_KERNEL;
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

bool lsp_import_at(const struct lsp_document *d, size_t offset, struct import_line *line)
{
    for (size_t at = 0; next_import(d->path, d->text.bytes, &at, line);) {
        if (offset >= line->begin && offset <= line->end)
            return true;
        free(line->path);
    }
    return false;
}

struct lsp_span lsp_import_of_file(const char *path, const struct lsp_text *t, const char *file)
{
    struct import_line line;
    struct lsp_span first = {0, 0};
    for (size_t at = 0; next_import(path, t->bytes, &at, &line);) {
        bool same = strcmp(line.path, file) == 0;
        free(line.path);
        if (same || !first.end)
            first = (struct lsp_span){line.begin, line.end};
        if (same)
            break;
    }
    return first;
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
