/* Types. */
#include "lang/parse_internal.h"

#include <string.h>

/* Reports a C type of several words, such as `unsigned int` or `long long`, and reads it as one
 * type. */
static void slip_c_type(struct parser *p, struct node *type)
{
    uint32_t first = p->pos;
    const char *meant = parse_c_type(p, parse_peek(p));
    bool is_unsigned = false;
    while (parse_c_type(p, parse_peek(p))) {
        is_unsigned = is_unsigned || parse_at_word(p, "unsigned");
        if (strcmp(meant, "i32") == 0 || strcmp(meant, "u32") == 0)
            meant = parse_c_type(p, parse_peek(p));
        parse_advance(p);
    }
    if (is_unsigned && meant[0] == 'i')
        meant = arena_printf(p->arena, "u%s", meant + 1);
    type->loc = parse_range_from(p, first);
    type->text = meant;
    struct loc where = type->loc;
    if (parse_complain(p, where, "`%.*s` is not a type here",
                       (int)(where.length < 40 ? where.length : 40),
                       p->source->text + where.offset)) {
        parse_is_foreign(p);
        parse_note_write(p, where, meant);
    }
}

/* type = NAME | "typeof" "(" expr ")" */
struct node *parse_type(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *type = node_new(p, N_TYPE, parse_here(p));
    const struct token *t = parse_peek(p);
    if (parse_accept(p, TOK_TYPEOF)) {
        uint32_t open = p->pos;
        if (parse_expect(p, TOK_LPAREN, "after `typeof`")) {
            type->a = parse_enter(p) ? parse_expr(p) : node_int(p, 0, parse_here(p));
            parse_leave(p);
        }
        if (type->a)
            parse_expect_close(p, open, "after the expression");
        type->loc = parse_range_from(p, first);
        return type;
    }
    type->text = "";
    if (parse_c_type(p, t)) {
        slip_c_type(p, type);
        return type;
    }
    if (t->kind != TOK_NAME) {
        parse_fail_expected(p, "a type");
        return type;
    }
    if (parse_future_type(p, t))
        parse_report_future_type(p, t, parse_future_type(p, t));
    if (parse_at_foreign(p, "auto") && parse_complain(p, parse_here(p), "there is no `auto`"))
        parse_note(p, parse_here(p), "write the type (`i32`, `f32`, …), or `typeof(x)`");
    type->text = token_text(p, t);
    parse_advance(p);
    return type;
}
