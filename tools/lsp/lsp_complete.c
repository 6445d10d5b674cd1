/* Completes words: lists the words that may follow at a place of a text. The editor filters them
 * by the letters typed there. */
#include "lsp/lsp.h"

#include <string.h>

/* Kinds of items, with the protocol's numbers. */
enum {
    ITEM_FUNCTION = 3,
    ITEM_VARIABLE = 6,
    ITEM_PROPERTY = 10,
    ITEM_KEYWORD = 14,
    ITEM_CONSTANT = 21,
    ITEM_TYPE = 25
};

/* Returns whether the offset is in a comment or a string. */
static bool is_quiet(const struct lsp_text *t, size_t offset)
{
    enum { CODE, LINE, BLOCK, STRING } in = CODE;
    for (size_t i = 0; i < offset; i++) {
        const char *at = t->bytes + i;
        if (in == CODE && at[0] == '/' && (at[1] == '/' || at[1] == '*') && i + 1 < offset)
            in = *++at == '/' ? LINE : BLOCK, i++;
        else if (in == CODE && *at == '"')
            in = STRING;
        else if (in == STRING && *at == '\\' && i + 1 < offset)
            i++;
        else if ((in == STRING && (*at == '"' || *at == '\n')) || (in == LINE && *at == '\n'))
            in = CODE;
        else if (in == BLOCK && at[0] == '*' && at[1] == '/' && i + 1 < offset)
            in = CODE, i++;
    }
    return in != CODE;
}

static void put_item(struct json *j, const char *label, int kind, const char *detail,
                     const char *note)
{
    json_open(j, '{');
    json_put_text(j, "label", label);
    json_put_integer(j, "kind", kind);
    if (*detail)
        json_put_text(j, "detail", detail);
    if (*note)
        json_put_text(j, "documentation", note);
    json_close(j, '}');
}

static void put_words(struct json *j)
{
    static const int kinds[] = {[LSP_KEYWORD] = ITEM_KEYWORD,
                                [LSP_TYPE] = ITEM_TYPE,
                                [LSP_ATTRIBUTE] = ITEM_KEYWORD,
                                [LSP_OP] = ITEM_FUNCTION,
                                [LSP_VALUE] = ITEM_VARIABLE};
    for (const struct lsp_word *w = lsp_words; w->word; w++)
        put_item(j, w->word, kinds[w->kind], w->form, w->note);
}

static int item_kind(tw_symbol_kind kind)
{
    switch (kind) {
    case TW_SYMBOL_CONST:
    case TW_SYMBOL_TUNE: return ITEM_CONSTANT;
    case TW_SYMBOL_TYPE: return ITEM_TYPE;
    case TW_SYMBOL_FN: return ITEM_FUNCTION;
    default: return ITEM_VARIABLE;
    }
}

/* Adds the names that are known at the offset; a later name hides an earlier one that is equal. */
static void put_names(struct json *j, const struct lsp_text *t, const tw_symbol *list, int count,
                      size_t offset)
{
    for (int i = 0; i < count; i++) {
        bool usable = list[i].kind != TW_SYMBOL_KERNEL && list[i].kind != TW_SYMBOL_FAMILY;
        bool known = usable && lsp_part_has(t, &list[i].scope, offset) &&
                     !lsp_part_has(t, &list[i].at, offset);
        for (int k = i + 1; known && k < count; k++)
            known =
                strcmp(list[k].name, list[i].name) != 0 || !lsp_part_has(t, &list[k].scope, offset);
        if (known)
            put_item(j, list[i].name, item_kind(list[i].kind), list[i].declaration, "");
    }
}

/* Adds the names that imported files declare. */
static void put_imported(struct json *j, struct lsp *l, const struct lsp_document *d)
{
    struct lsp_imports imports = lsp_imports_of(l, d);
    for (int i = 0; i < imports.count; i++) {
        const struct lsp_text *t = &imports.files[i].text;
        const tw_symbol *list;
        int count;
        if (tw_text_symbols(l->ctx, t->bytes, t->length, &count, &list) != TW_OK)
            continue;
        for (int k = 0; k < count; k++)
            if (lsp_is_exported(&list[k]))
                put_item(j, list[k].name, item_kind(list[k].kind), list[k].declaration, "");
    }
    lsp_imports_free(&imports);
}

void lsp_answer_completion(struct lsp *l, const struct lsp_document *d, const struct json_value *id,
                           size_t offset)
{
    struct json j;
    const struct lsp_text *t = &d->text;
    const tw_symbol *list;
    int count;
    size_t begin = offset;
    bool quiet = is_quiet(t, offset);
    lsp_word_at(t, offset, &begin);
    lsp_begin_result(&j, id);
    json_open(&j, '[');
    if (!quiet && begin > 0 && t->bytes[begin - 1] == '.') {
        static const char *const axes[] = {"x", "y", "z"}; /* of block, grid and thread */
        for (int i = 0; i < 3; i++)
            put_item(&j, axes[i], ITEM_PROPERTY, "i32", "");
    } else if (!quiet) {
        if (tw_text_symbols(l->ctx, t->bytes, t->length, &count, &list) == TW_OK)
            put_names(&j, t, list, count, offset);
        put_imported(&j, l, d);
        put_words(&j);
    }
    json_close(&j, ']');
    lsp_send(&j);
}
