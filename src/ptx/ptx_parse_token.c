/* Tokens, which all files of the parser read. */
#include "ptx/ptx_parser.h"

#include <string.h>

void ptx_advance(struct ptx_parser *p)
{
    p->token = p->ahead;
    ptx_scan_next(&p->scanner, &p->ahead);
}

bool ptx_is_at(const struct ptx_parser *p, int punctuation)
{
    return p->token.kind == PTX_TOKEN_PUNCTUATION && p->token.punctuation == punctuation;
}

bool ptx_is_ahead(const struct ptx_parser *p, int punctuation)
{
    return p->ahead.kind == PTX_TOKEN_PUNCTUATION && p->ahead.punctuation == punctuation;
}

bool ptx_accept(struct ptx_parser *p, int punctuation)
{
    if (!ptx_is_at(p, punctuation))
        return false;
    ptx_advance(p);
    return true;
}

struct loc ptx_here(const struct ptx_parser *p)
{
    return ptx_token_loc(&p->scanner, &p->token);
}

char *ptx_token_text(struct ptx_parser *p)
{
    return arena_string(p->arena, p->token.text, p->token.length);
}

bool ptx_expected(struct ptx_parser *p, const char *what)
{
    if (p->token.kind == PTX_TOKEN_ERROR)
        return false; /* reported by the scanner */
    if (p->token.kind == PTX_TOKEN_END) {
        diag_error(p->diag, ptx_here(p), "expected %s, found the end of the text", what);
        return false;
    }
    size_t length = p->token.length < 40 ? p->token.length : 40;
    const char *dot = p->token.kind == PTX_TOKEN_DOT ? "." : "";
    diag_error(p->diag, ptx_here(p), "expected %s, found `%s%.*s`", what, dot, (int)length,
               p->token.text);
    return false;
}

bool ptx_expected_type(struct ptx_parser *p, const char *what)
{
    static const char *const textures[] = {"tex", "texref", "samplerref", "surfref"};
    for (size_t i = 0; i < sizeof textures / sizeof *textures; i++)
        if (ptx_is_dot(p, textures[i])) {
            diag_error(p->diag, ptx_here(p), "textures and surfaces are not supported: .%s",
                       textures[i]);
            if (!p->function)
                vec_push(p->arena, &p->module->opaque, ptx_here(p).offset);
            return false;
        }
    return ptx_expected(p, what);
}

bool ptx_expect(struct ptx_parser *p, int punctuation, const char *where)
{
    if (ptx_accept(p, punctuation))
        return true;
    return ptx_expected(p, arena_printf(p->arena, "`%c` %s", punctuation, where));
}

static bool is_text(const struct ptx_token *token, const char *word)
{
    return token->length == strlen(word) && memcmp(token->text, word, token->length) == 0;
}

bool ptx_is_dot(const struct ptx_parser *p, const char *word)
{
    return p->token.kind == PTX_TOKEN_DOT && is_text(&p->token, word);
}

bool ptx_is_word(const struct ptx_parser *p, const char *word)
{
    return p->token.kind == PTX_TOKEN_NAME && is_text(&p->token, word);
}

bool ptx_accept_word(struct ptx_parser *p, const char *word)
{
    if (!ptx_is_word(p, word))
        return false;
    ptx_advance(p);
    return true;
}

bool ptx_accept_dot(struct ptx_parser *p, const char *word)
{
    if (!ptx_is_dot(p, word))
        return false;
    ptx_advance(p);
    return true;
}

bool ptx_read_name(struct ptx_parser *p, const char *what, const char **name)
{
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_expected(p, what);
    *name = ptx_token_text(p);
    ptx_advance(p);
    return true;
}

bool ptx_read_number(struct ptx_parser *p, const char *what, uint64_t most, uint64_t *number)
{
    if (p->token.kind != PTX_TOKEN_INTEGER)
        return ptx_expected(p, what);
    *number = p->token.bits;
    if (*number > most) {
        diag_error(p->diag, ptx_here(p), "%s: at most %llu", what, (unsigned long long)most);
        return false;
    }
    ptx_advance(p);
    return true;
}

bool ptx_read_string(struct ptx_parser *p, const char **text)
{
    if (p->token.kind != PTX_TOKEN_STRING)
        return ptx_expected(p, "text in quotes");
    *text = ptx_token_text(p);
    ptx_advance(p);
    return true;
}

static enum ptx_mod mod_here(const struct ptx_parser *p)
{
    if (p->token.kind != PTX_TOKEN_DOT)
        return MOD_NONE;
    const struct name_entry *name = name_table_find(&p->index.mods, p->token.text, p->token.length);
    return name ? (enum ptx_mod)name->number : MOD_NONE;
}

/* PTX ISA, fundamental-types: the types of registers and variables. */
enum ptx_mod ptx_accept_type(struct ptx_parser *p)
{
    enum ptx_mod m = mod_here(p);
    bool fundamental = m >= MOD_PRED && m <= MOD_F64;
    if (!fundamental && m != MOD_F16X2)
        return MOD_NONE;
    ptx_advance(p);
    return m;
}

enum ptx_mod ptx_space_here(const struct ptx_parser *p)
{
    enum ptx_mod m = mod_here(p);
    bool space =
        m == MOD_CONST || m == MOD_GLOBAL || m == MOD_LOCAL || m == MOD_PARAM || m == MOD_SHARED;
    return space ? m : MOD_NONE;
}

void ptx_skip_statement(struct ptx_parser *p)
{
    int depth = 0;
    while (p->token.kind != PTX_TOKEN_END) {
        if (depth == 0 && (ptx_is_at(p, '}') || ptx_accept(p, ';')))
            return;
        if (ptx_is_at(p, '{'))
            depth++;
        if (ptx_is_at(p, '}'))
            depth--;
        ptx_advance(p);
    }
}
