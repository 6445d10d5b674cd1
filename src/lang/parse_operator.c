/* Operators of expressions, with the precedences of C, lowest first: ?: || && | ^ & == < << + * unary
 * postfix. */
#include "lang/parse_internal.h"

#include <string.h>

static struct node *parse_cast(struct parser *p)
{
    uint32_t first = p->pos;
    parse_advance(p);
    struct node *type = parse_type(p);
    parse_expect_close(p, first, "after the type of the cast");
    struct node *value = parse_unary(p), *n = node_unary(p, N_CAST, first, value);
    n->type = type;
    return n;
}

/* Returns the name of the call whose first argument begins here; NULL: none does. */
static const struct token *call_of_first(const struct parser *p)
{
    const struct token *name = p->pos >= 2 ? &p->tokens[p->pos - 2] : &p->end;
    bool is_first = p->tokens[p->pos - 1].kind == TOK_LPAREN && name->kind == TOK_NAME;
    return is_first ? name : NULL;
}

/* Reports +x, ++x, *x or &x, and reads the operand. */
static struct node *slip_prefix(struct parser *p)
{
    const char *shown = token_shown(p, parse_peek(p));
    enum token_kind kind = parse_peek(p)->kind;
    struct loc where = parse_here(p);
    const struct token *open = parse_peek_ahead(p, 1);
    bool casts = kind == TOK_STAR && open->kind == TOK_LPAREN && open->match != NO_MATCH &&
                 p->tokens[open->match - 1].kind == TOK_STAR;
    if (casts) {
        if (parse_fail(p, where, "there are no casts of pointers")) {
            parse_is_foreign(p);
            parse_note(
                p, where,
                "read a slice of a view, `A[i +: 64]`: the compiler loads it in the widest pieces "
                "that its place allows; four values of one thread are `f32 x[4];`");
        }
        return node_int(p, 0, where);
    }
    bool told = parse_complain(p, where, "there is no prefix %s", shown);
    if (told && kind == TOK_PLUS) {
        parse_note(p, where, "leave it out");
        parse_fix(p, where, "");
    } else if (told && (kind == TOK_STAR || kind == TOK_AMPERSAND)) {
        const struct token *call = call_of_first(p);
        const char *way_out = call ? check_call_way_out(token_text(p, call)) : NULL;
        bool is_atomic =
            call && call->length > 6 && memcmp(p->source->text + call->offset, "atomic", 6) == 0;
        if (is_atomic && kind == TOK_AMPERSAND && p->source->text[call->offset + 6] == '_')
            parse_note(p, where, "leave `&` out: `%s(C[i], x)` takes the element",
                       token_text(p, call));
        else if (way_out)
            parse_note(p, where, "in place of `%s`: %s", token_text(p, call), way_out);
        else
            parse_note(
                p, where,
                "there are no pointers to follow: `global f32 A[n] = a;` gives a view, A[i] an "
                "element");
        if (kind == TOK_AMPERSAND && is_atomic)
            parse_fix(p, where, "");
    } else if (told)
        parse_note(p, where, "`x++;` and `x--;` are statements");
    parse_advance(p);
    return parse_unary(p);
}

/* Returns true at 9223372036854775808 after `-`: the only number whose digits alone do not fit
 * 64 bits. */
static bool at_least_i64(const struct parser *p)
{
    const struct token *t = parse_peek_ahead(p, 1);
    return parse_at(p, TOK_MINUS) && t->kind == TOK_INT && t->above_i64 && t->i == INT64_MIN;
}

static struct node *parse_least_i64(struct parser *p)
{
    uint32_t first = p->pos;
    parse_advance(p);
    struct node *n = parse_literal(p);
    n->above_i64 = false;
    n->loc = parse_range_from(p, first);
    return n;
}

static struct node *parse_prefix(struct parser *p)
{
    uint32_t first = p->pos;
    enum token_kind kind = parse_peek(p)->kind;
    parse_advance(p);
    struct node *a = parse_unary(p), *n = node_unary(p, N_UNARY, first, a);
    n->op = kind == TOK_MINUS ? OP_NEG : kind == TOK_BANG ? OP_NOT : OP_INVERT;
    return n;
}

/* Reports `not x`, and reads it as !x. */
static struct node *slip_not(struct parser *p)
{
    uint32_t first = p->pos;
    if (parse_complain(p, parse_here(p), "there is no operator `not`")) {
        parse_is_foreign(p);
        parse_note(p, parse_here(p), "write `!`");
        parse_fix(p, parse_with_blanks(p, parse_here(p)), "!");
    }
    parse_advance(p);
    struct node *a = parse_unary(p), *n = node_unary(p, N_UNARY, first, a);
    n->op = OP_NOT;
    return n;
}

static bool at_not(const struct parser *p)
{
    const struct token *t = parse_peek(p), *next = parse_peek_ahead(p, 1);
    return parse_at_word(p, "not") && !parse_name_known(&p->fn_names, p, t) && !next->line_start &&
           (next->kind == TOK_LPAREN || next->kind == TOK_NAME || next->kind == TOK_TRUE ||
            next->kind == TOK_FALSE);
}

/* unary = ( "-" | "!" | "~" ) unary | "(" type ")" unary | postfix */
struct node *parse_prefixed(struct parser *p)
{
    struct node *(*parse)(struct parser *) = at_not(p) ? slip_not : NULL;
    switch (parse_peek(p)->kind) {
    case TOK_MINUS:
        if (at_least_i64(p))
            return parse_least_i64(p);
        parse = parse_prefix;
        break;
    case TOK_BANG:
    case TOK_TILDE: parse = parse_prefix; break;
    case TOK_PLUS:
    case TOK_INCREMENT:
    case TOK_DECREMENT:
    case TOK_STAR:
    case TOK_AMPERSAND: parse = slip_prefix; break;
    case TOK_LPAREN: parse = parse_at_cast(p) ? parse_cast : NULL; break;
    default: break;
    }
    if (!parse)
        return parse_postfix(p);
    struct node *n = parse_enter(p) ? parse(p) : node_hole(p);
    parse_leave(p);
    return n;
}

/* Reports and passes the second '*' of x ** y. */
static void slip_power(struct parser *p, const struct node *left)
{
    const struct token *second = parse_peek(p), *first = second - 1;
    if (first->kind != TOK_STAR || second->kind != TOK_STAR ||
        second->offset != first->offset + first->length)
        return;
    struct loc both = loc_join(token_loc(p, first), parse_here(p));
    if (parse_complain(p, both, "there is no operator '**'")) {
        const struct token *exponent = parse_peek_ahead(p, 1), *next = parse_peek_ahead(p, 2);
        bool two = exponent->kind == TOK_INT && exponent->i == 2 && next->kind != TOK_DOT;
        bool alone = left->kind == N_NAME || left->kind == N_ACCESS || left->kind == N_CALL;
        parse_is_foreign(p);
        if (two && alone)
            parse_note_write(p, loc_join(left->loc, token_loc(p, exponent)),
                             arena_printf(p->arena, "square(%.*s)", (int)left->loc.length,
                                          p->source->text + left->loc.offset));
        else
            parse_note(p, both, "powers are `pow(x, y)`, and squares `square(x)`");
    }
    parse_advance(p);
}

/* Returns the next operator. Reports `and` and `or`, and reads them as && and ||. */
static enum op next_operator(struct parser *p)
{
    const struct token *t = parse_peek(p);
    const char *text = t->kind == TOK_NAME && !t->line_start ? token_text(p, t) : "";
    bool land = strcmp(text, "and") == 0;
    if (!land && strcmp(text, "or") != 0)
        return token_table[t->kind].infix;
    if (parse_complain(p, parse_here(p), "there is no operator `%s`", text)) {
        parse_is_foreign(p);
        parse_note_write(p, parse_here(p), land ? "&&" : "||");
    }
    return land ? OP_LAND : OP_LOR;
}

/* binary = unary { infix unary }, by the precedences of op_table; all operators group to the
 * left. */
static struct node *parse_binary(struct parser *p, int least)
{
    uint32_t first = p->pos;
    struct node *left = parse_unary(p);
    for (;;) {
        enum op op = next_operator(p);
        if (op == OP_COUNT || op_precedence(op) < least)
            return left;
        parse_advance(p);
        slip_power(p, left);
        struct node *right = parse_binary(p, op_precedence(op) + 1);
        struct node *n = node_unary(p, N_BINARY, first, left);
        n->op = op;
        n->b = right;
        node_below(p, n, right);
        left = n;
    }
}

/* select = binary [ "?" expr ":" select ] */
static struct node *parse_select(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *condition = parse_binary(p, 1);
    if (!parse_accept(p, TOK_QUESTION))
        return condition;
    struct node *b = node_hole(p), *c = b;
    if (parse_enter(p)) {
        b = parse_select(p);
        parse_expect(p, TOK_COLON, "between the two values of `c ? a : b`");
        c = parse_select(p);
    }
    parse_leave(p);
    struct node *n = node_unary(p, N_SELECT, first, condition);
    n->b = b;
    n->c = c;
    node_below(p, n, b);
    node_below(p, n, c);
    return n;
}

/* expr = select */
struct node *parse_operators(struct parser *p)
{
    struct node *n = parse_select(p);
    bool compound = token_table[parse_peek(p)->kind].compound != OP_COUNT;
    if (!compound && !parse_at(p, TOK_ASSIGN))
        return n;
    if (parse_complain(p, parse_here(p), "an assignment is a statement, not a value"))
        parse_note(p, parse_here(p), "%s",
                   compound ? "write it as a statement of its own"
                            : "a comparison is `==`; two assignments are two statements");
    parse_advance(p);
    parse_expr(p);
    return n;
}

struct node *parse_condition(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *n = parse_select(p);
    if (!parse_at(p, TOK_ASSIGN))
        return n;
    if (parse_complain(p, parse_here(p), "`=` assigns; this is a condition")) {
        parse_note(p, parse_here(p), "a comparison is `==`");
        parse_fix(p, parse_here(p), "==");
    }
    parse_advance(p);
    struct node *right = parse_select(p), *both = node_unary(p, N_BINARY, first, n);
    both->op = OP_EQ;
    both->b = right;
    node_below(p, both, right);
    return both;
}
