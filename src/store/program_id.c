/* Identifies the program of a result: a hash of its tokens (FNV-1a, 64 bits). */
#include "lang/scan.h"
#include "store/model.h"

#include <string.h>

struct tokens {
    const struct source *source;
    struct token_list list;
    uint32_t at;
};

static const struct token *here(const struct tokens *t)
{
    return &t->list.tokens[t->at];
}

static void skip_past(struct tokens *t, enum token_kind last)
{
    while (here(t)->kind != last && here(t)->kind != TOK_END)
        t->at = here(t)->match != NO_MATCH && here(t)->match > t->at ? here(t)->match : t->at + 1;
    t->at += here(t)->kind == last;
}

/* Returns true for `kernel NAME … { … }` with another name. */
static bool is_other_kernel(const struct tokens *t, const char *kernel)
{
    const struct token *name = here(t) + 1;
    return here(t)->kind == TOK_KERNEL && name->kind == TOK_NAME &&
           (!kernel || strlen(kernel) != name->length ||
            memcmp(t->source->text + name->offset, kernel, name->length) != 0);
}

/* Returns true at `family NAME {`, which is part of no kernel. */
static bool is_family(const struct tokens *t)
{
    const struct token *name = here(t) + 1;
    return here(t)->kind == TOK_NAME && here(t)->length == 6 &&
           memcmp(t->source->text + here(t)->offset, "family", 6) == 0 && name->kind == TOK_NAME &&
           name[1].kind == TOK_LBRACE;
}

static void skip_kernel(struct tokens *t)
{
    while (here(t)->kind != TOK_LBRACE && here(t)->kind != TOK_END)
        t->at++;
    if (here(t)->match != NO_MATCH)
        t->at = here(t)->match;
    t->at += here(t)->kind != TOK_END;
}

static uint64_t add_text(struct arena *a, const struct source *source, const char *kernel,
                         uint64_t hash)
{
    struct tokens t = {.source = source, .list = scan_text(a, source)};
    while (here(&t)->kind != TOK_END) {
        const struct token *token = here(&t);
        if (token->kind == TOK_TUNE) {
            skip_past(&t, TOK_SEMICOLON);
            continue;
        }
        if (is_other_kernel(&t, kernel) || is_family(&t)) {
            skip_kernel(&t);
            continue;
        }
        for (uint32_t i = 0; i <= token->length; i++) { /* and a blank after it */
            char c = i < token->length ? source->text[token->offset + i] : ' ';
            hash = (hash ^ (unsigned char)c) * 1099511628211u;
        }
        t.at++;
    }
    return hash;
}

/* Kernels of imported files are not part of the program. */
uint64_t program_id(struct arena *a, const struct source *const *sources, size_t count,
                    const char *kernel)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < count; i++)
        hash = add_text(a, sources[i], i == 0 ? kernel : NULL, hash);
    return hash;
}
