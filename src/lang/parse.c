/* The parser of a module. parse_internal.h explains how errors work. */
#include "lang/parse_internal.h"

/* --- the module --- */

static bool starts_toplevel(const struct token *t)
{
    return t->kind >= TOK_CONST && t->kind <= TOK_KERNEL;
}

/* Recovers from an error outside of all bodies: passes tokens up to the next declaration. */
static void recover_toplevel(struct parser *p, uint32_t start)
{
    p->panic = false;
    while (!parse_at(p, TOK_END)) {
        if (p->pos > start && starts_toplevel(parse_peek(p)))
            return;
        uint32_t before = p->pos;
        if (parse_at(p, TOK_RBRACE))
            parse_advance(p);
        else
            parse_skip_construct(p);
        enum token_kind last = p->tokens[p->pos - 1].kind;
        if (last == TOK_RBRACE)
            parse_accept(p, TOK_SEMICOLON);
        if (last == TOK_SEMICOLON || last == TOK_RBRACE || p->pos == before)
            return;
    }
}

/* Collects the names that `type` and `fn` declare anywhere in the text: they decide whether an
 * expression is a cast, and whether a name that is called is a fn. */
static void collect_names(struct parser *p)
{
    for (uint32_t i = 0; i + 2 < p->count; i++) {
        const struct token *t = &p->tokens[i];
        if (t->kind == TOK_TYPE && t[1].kind == TOK_NAME && t[2].kind == TOK_ASSIGN)
            name_table_entry(&p->type_names, token_text(p, &t[1]), t[1].length);
        for (uint32_t k = i + 1; t->kind == TOK_FN && k + 1 < p->count && k < i + 64; k++) {
            if (p->tokens[k].kind == TOK_NAME && p->tokens[k + 1].kind == TOK_LPAREN) {
                name_table_entry(&p->fn_names, token_text(p, &p->tokens[k]), p->tokens[k].length);
                break;
            }
        }
    }
}

struct node *parse_module(struct arena *a, struct diag *d, const struct source *source)
{
    struct name_table types, fns;
    name_table_init(&types, a);
    name_table_init(&fns, a);
    return parse_tokens(a, d, source, scan_text(a, source), &types, &fns);
}

/* module = { import | const | tune | type | require | static_assert | fn | kernel | family } */
struct node *parse_tokens(struct arena *a, struct diag *d, const struct source *source,
                          struct token_list list, struct name_table *type_names,
                          struct name_table *fn_names)
{
    struct name_table words[WORDS] = {{.arena = NULL}};
    struct parser p = {.expr = parse_operators,
                       .unary = parse_prefixed,
                       .arena = a,
                       .diag = d,
                       .words = words,
                       .source = source,
                       .tokens = list.tokens,
                       .count = list.count,
                       .problems = list.problems,
                       .problem_count = list.problem_count,
                       .end = list.tokens[list.count - 1],
                       .error_pos = NO_MATCH};
    p.type_names = *type_names;
    p.fn_names = *fn_names;
    name_table_init(&p.fn_types, a);
    name_table_init(&p.told, a);
    collect_names(&p);
    parse_report_other_language(&p);
    parse_tell_problems(&p);
    struct node *head = NULL, **tail = &head;
    while (!parse_at(&p, TOK_END)) {
        uint32_t start = p.pos;
        *tail = parse_toplevel(&p);
        while (*tail)
            tail = &(*tail)->next;
        if (p.panic)
            recover_toplevel(&p, start);
    }
    diag_gather(d, false);
    *type_names = p.type_names;
    *fn_names = p.fn_names;
    return head;
}
