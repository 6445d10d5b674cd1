/* Expressions: values, indices, calls and lists; their operators are in parse_operator.c. */
#include "lang/parse_internal.h"

#include <math.h>
#include <string.h>

/* --- indices and calls --- */

/* Reports A[i:j] or A[:n], slices of other languages, and reads the extent. The program is wrong
 * in any case. */
static void slip_slice(struct parser *p, uint32_t colon)
{
    if (parse_complain(p, token_loc(p, &p->tokens[colon]), "a slice has a start and an extent"))
        parse_note(p, parse_here(p), "write `A[i +: n]`: n elements from i on");
    if (!parse_at(p, TOK_RBRACKET))
        parse_expr(p);
}

/* index = expr | expr "+:" expr [ "inside" ] | ":" | NAME "[:]" */
static struct node *parse_index(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *n = node_new(p, N_INDEX, parse_here(p));
    if (parse_accept(p, TOK_COLON)) {
        n->i = INDEX_ALL;
        if (!parse_at(p, TOK_RBRACKET) && !parse_at(p, TOK_COMMA))
            slip_slice(p, first);
        return n;
    }
    if (parse_at(p, TOK_RBRACKET))
        parse_fail_expected(p, "an index");
    n->i = INDEX_VALUE;
    n->a = parse_expr(p);
    if (parse_accept(p, TOK_PLUS_COLON)) {
        n->i = INDEX_SLICE;
        n->b = parse_expr(p);
        n->inside = parse_accept_word(p, "inside");
        node_below(p, n, n->b);
    } else if (parse_at(p, TOK_COLON)) {
        uint32_t colon = p->pos;
        parse_advance(p);
        slip_slice(p, colon);
    } else if (n->a->kind == N_ACCESS && !n->a->b && n->a->list->i == INDEX_ALL &&
               !n->a->list->next) {
        n->i = INDEX_GATHER;
        n->a = n->a->a;
    }
    node_below(p, n, n->a);
    n->loc = parse_range_from(p, first);
    return n;
}

/* Adds a fix for the access whose brackets open at token `open`: a pair of brackets for each
 * index. */
static void note_own_brackets(struct parser *p, uint32_t open)
{
    struct text t;
    text_init(&t, p->arena);
    uint32_t close = p->tokens[open].match, depth = 0;
    if (open == 0 || close == NO_MATCH) {
        parse_note(p, parse_here(p), "write `A[i][j]`");
        return;
    }
    const char *text = p->source->text;
    const struct token *first = &p->tokens[open - 1], *last = &p->tokens[close];
    text_printf(&t, "%.*s", (int)(p->tokens[open].offset - first->offset), text + first->offset);
    for (const struct token *at = &p->tokens[open]; at <= last; at++) {
        const struct token *next = at < last ? at + 1 : at;
        depth += (at->kind == TOK_LPAREN || at->kind == TOK_LBRACKET);
        depth -= (at->kind == TOK_RPAREN || at->kind == TOK_RBRACKET);
        if (at->kind == TOK_COMMA && depth == 1) {
            text_add(&t, "][");
            continue;
        }
        uint32_t end = at == last || (next->kind == TOK_COMMA && depth == 1)
                           ? at->offset + at->length
                           : next->offset;
        text_printf(&t, "%.*s", (int)(end - at->offset), text + at->offset);
    }
    parse_note_write(p, parse_here(p), t.data);
}

/* Returns the extent of a tile that is declared before token `open` with the name there and one
 * axis, as written; NULL: there is none. */
static const char *declared_extent(struct parser *p, uint32_t open)
{
    const struct token *name = &p->tokens[open - 1];
    for (uint32_t i = open - 1; i-- > 1;) {
        const struct token *t = &p->tokens[i], *close;
        if (t->kind != TOK_NAME || strcmp(token_text(p, t), token_text(p, name)) != 0 ||
            t[-1].kind != TOK_NAME || t[1].kind != TOK_LBRACKET || t[1].match == NO_MATCH)
            continue;
        close = &p->tokens[t[1].match];
        uint32_t from = t[1].offset + 1;
        return close[1].kind == TOK_LBRACKET
                   ? NULL
                   : arena_string(p->arena, p->source->text + from, close->offset - from);
    }
    return NULL;
}

/* Reports x[:, None] and x[None, :], whose brackets open at token `open`, and passes them. */
static bool slip_added_axis(struct parser *p, uint32_t open)
{
    const struct token *t = &p->tokens[open];
    bool column = t[1].kind == TOK_COLON && t[2].kind == TOK_COMMA && token_is(p, &t[3], "None");
    bool row = token_is(p, &t[1], "None") && t[2].kind == TOK_COMMA && t[3].kind == TOK_COLON;
    if ((!column && !row) || t[4].kind != TOK_RBRACKET)
        return false;
    struct loc all = loc_join(token_loc(p, &t[-1]), token_loc(p, &t[4]));
    const char *extent = declared_extent(p, open), *name = token_text(p, &t[-1]);
    if (parse_complain(p, all, "`reshape` adds an axis; there is no `None`")) {
        parse_is_foreign(p);
        const char *made =
            arena_printf(p->arena, column ? "reshape(%s, %s, 1)" : "reshape(%s, 1, %s)", name,
                         extent ? extent : "…");
        if (extent)
            parse_note_write(p, all, made);
        else
            parse_note(p, all, "write `%s`", made);
    }
    parse_go_to(p, open + 5);
    return true;
}

/* Parses "[" index "]"; returns the place for the next index. */
static struct node **parse_brackets(struct parser *p, struct node *access, struct node **tail)
{
    uint32_t open = p->pos;
    bool more = true;
    if (slip_added_axis(p, open))
        return tail;
    while (more) {
        parse_advance(p);
        *tail = parse_index(p);
        node_below(p, access, *tail);
        tail = &(*tail)->next;
        more = parse_at(p, TOK_COMMA);
        if (more && parse_complain(p, parse_here(p), "each index has its own brackets")) {
            parse_is_foreign(p);
            note_own_brackets(p, open);
            parse_fix(p, parse_with_blanks(p, parse_here(p)), "][");
        }
    }
    parse_expect_close(p, open, "after the index");
    return tail;
}

/* access = NAME { "[" index "]" } */
static struct node *parse_elements(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *name = node_name(p, token_text(p, parse_peek(p)), parse_here(p));
    parse_advance(p);
    if (!parse_at(p, TOK_LBRACKET))
        return name;
    struct node *n = node_unary(p, N_ACCESS, first, name), **tail = &n->list;
    while (parse_at(p, TOK_LBRACKET)) {
        if (parse_enter(p))
            tail = parse_brackets(p, n, tail);
        parse_leave(p);
    }
    n->loc = parse_range_from(p, first);
    return n->list ? n : name; /* no list: nested too deeply */
}

bool parse_at_peer(const struct parser *p)
{
    return parse_at_word(p, "peer") && parse_peek_ahead(p, 1)->kind == TOK_LPAREN;
}

/* peer = "peer" "(" elements "," expr ")" */
static struct node *parse_peer(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    parse_advance(p);
    parse_advance(p);
    struct node *n = node_hole(p);
    if (parse_at(p, TOK_NAME))
        n = parse_elements(p);
    else
        parse_fail_expected(p, "a shared tile or an mbarrier: `peer(sa[s], rank)`");
    if (parse_expect(p, TOK_COMMA, "before the rank of the block: `peer(sa[s], rank)`")) {
        n->peer = parse_expr(p);
        node_below(p, n, n->peer);
    }
    parse_expect_close(p, open, "after the rank");
    n->loc = parse_range_from(p, first);
    return n;
}

struct node *parse_access(struct parser *p)
{
    struct node *n = parse_at_peer(p) ? parse_peer(p) : parse_elements(p);
    if (parse_at_by(p))
        n->by = parse_by(p);
    return n;
}

/* argument = expr | NAME "=" expr | STRING (of print) */
static struct node *parse_argument(struct parser *p, bool strings)
{
    uint32_t first = p->pos;
    if (strings && parse_at(p, TOK_STRING)) {
        struct node *n = node_new(p, N_STRING, parse_here(p));
        n->text = parse_peek(p)->text;
        parse_advance(p);
        return n;
    }
    if (!parse_at(p, TOK_NAME) || parse_peek_ahead(p, 1)->kind != TOK_ASSIGN)
        return parse_expr(p);
    const char *text = token_text(p, parse_peek(p));
    parse_advance(p);
    parse_advance(p);
    struct node *value = parse_expr(p), *n = node_unary(p, N_NAMED, first, value);
    n->text = text;
    return n;
}

/* Reports a call of another language that has a plain counterpart, and replaces its name. */
static void slip_call(struct parser *p, struct node *call)
{
    static const char *const table[][3] = {
        {"__syncthreads", "sync", "the barrier of the block is `sync()`"},
        {"syncthreads", "sync", "the barrier of the block is `sync()`"},
        {"sizeof", "bytes", "the bytes of a tile are `bytes(x)`"},
        {"printf", "print", "write `print(\"label\", x)`"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(call->text, table[i][0]) != 0 ||
            parse_name_known(&p->fn_names, p, &p->tokens[p->pos]))
            continue;
        if (parse_complain(p, parse_here(p), "there is no `%s`", call->text)) {
            parse_is_foreign(p);
            parse_note(p, parse_here(p), "%s", table[i][2]);
            parse_fix(p, parse_here(p), table[i][1]);
        }
        call->text = table[i][1];
    }
}

/* call = NAME "(" [ argument { "," argument } ] ")" */
struct node *parse_call(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    struct node *n = node_new(p, N_CALL, parse_here(p)), **tail = &n->list;
    n->text = token_text(p, parse_peek(p));
    slip_call(p, n);
    if (parse_is_future_word(p, parse_peek(p)))
        parse_report_future(p, parse_peek(p));
    bool strings = strcmp(n->text, "print") == 0;
    parse_advance(p);
    parse_advance(p);
    if (parse_enter(p) && !parse_at(p, TOK_RPAREN)) {
        do {
            *tail = parse_argument(p, strings);
            node_below(p, n, *tail);
            tail = &(*tail)->next;
        } while (parse_accept(p, TOK_COMMA));
    }
    parse_leave(p);
    parse_expect_close(p, open, n->list ? "after the arguments" : "after '('");
    n->loc = parse_range_from(p, first);
    return n;
}

struct node *parse_owned_call(struct parser *p)
{
    bool module = parse_slip_owned_call(p);
    struct node *call = parse_call(p);
    return module ? call : node_int(p, 0, call->loc);
}

/* --- primary --- */

struct node *parse_literal(struct parser *p)
{
    const struct token *t = parse_peek(p);
    struct node *n = node_new(p, N_INT, parse_here(p));
    switch (t->kind) {
    case TOK_INT:
        n->i = t->i;
        n->above_i64 = t->above_i64;
        break;
    case TOK_TRUE:
    case TOK_FALSE:
        n->kind = N_BOOL;
        n->i = t->kind == TOK_TRUE;
        break;
    default:
        n->kind = N_FLOAT;
        n->f = t->kind == TOK_FLOAT ? t->f : t->kind == TOK_INF ? (double)INFINITY : (double)NAN;
    }
    parse_advance(p);
    return n;
}

/* Returns true at "(" type ")". For the name of a type this is certain. Other names, such as
 * types of C, may be names of variables: they count only if the next token cannot continue an
 * expression. The checker then names the nearest type. */
bool parse_at_cast(const struct parser *p)
{
    const struct token *t = parse_peek_ahead(p, 1), *close = parse_peek_ahead(p, 2);
    if (t->kind == TOK_TYPEOF)
        return close->match != NO_MATCH && p->tokens[close->match + 1].kind == TOK_RPAREN;
    if (parse_c_type(p, t))
        while (parse_c_type(p, close))
            close++;
    if (t->kind != TOK_NAME || close->kind != TOK_RPAREN)
        return false;
    const struct token *next = close + 1;
    bool foreign = parse_c_type(p, t) || parse_future_type(p, t);
    if (parse_is_type_name(p, t) && (!foreign || next->kind == TOK_LPAREN))
        return true;
    static const char *const words[] = {"inside", "strides", "hint",  "at",
                                        "clean",  "by",      "added", "multicast"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (token_is(p, next, words[i]))
            return false;
    return !next->line_start &&
           (next->kind == TOK_NAME || next->kind == TOK_INT || next->kind == TOK_FLOAT ||
            next->kind == TOK_BANG || next->kind == TOK_TILDE);
}

/* "(" expr ")" */
static struct node *parse_paren(struct parser *p)
{
    uint32_t open = p->pos;
    parse_advance(p);
    struct node *n = node_hole(p);
    if (parse_enter(p))
        n = parse_expr(p);
    parse_leave(p);
    if (parse_at(p, TOK_COMMA) &&
        parse_fail(p, parse_here(p),
                   "several values in parentheses are only for `tune` and `return`"))
        parse_note(p, parse_here(p), "a cast is written `(f32) x`, a call `f(a, b)`");
    parse_expect_close(p, open, "after the expression");
    return n;
}

/* Returns true at bits "<" type ">" "(" expr ")". */
static bool at_bits(const struct parser *p)
{
    const struct token *t = parse_peek_ahead(p, 2);
    if (!parse_at_word(p, "bits") || parse_peek_ahead(p, 1)->kind != TOK_LT)
        return false;
    if (t->kind == TOK_TYPEOF)
        t = parse_peek_ahead(p, 3)->match != NO_MATCH ? &p->tokens[parse_peek_ahead(p, 3)->match]
                                                      : t;
    else if (t->kind != TOK_NAME)
        return false;
    return t[1].kind == TOK_GT && t[2].kind == TOK_LPAREN;
}

static struct node *parse_bits(struct parser *p)
{
    uint32_t first = p->pos;
    parse_advance(p);
    parse_advance(p);
    struct node *type = parse_type(p);
    parse_expect(p, TOK_GT, "after the type of `bits`");
    struct node *value = parse_at(p, TOK_LPAREN) ? parse_paren(p) : node_hole(p);
    struct node *n = node_unary(p, N_BITS, first, value);
    n->type = type;
    return n;
}

/* Reports f32(x) and reads it as the cast (f32) x. */
static struct node *slip_conversion(struct parser *p)
{
    uint32_t first = p->pos;
    const char *text = token_text(p, parse_peek(p));
    struct node *number = parse_slip_number_as_text(p);
    if (number)
        return number;
    if (parse_complain(p, parse_here(p), "`%s` is a type: it is not called", text)) {
        parse_is_foreign(p);
        const char *type = parse_c_type(p, parse_peek(p)) ? parse_c_type(p, parse_peek(p)) : text;
        parse_note(p, parse_here(p), "a conversion is written `(%s) x`", type);
        parse_fix(p, parse_here(p), arena_printf(p->arena, "(%s) ", type));
    }
    struct node *type = parse_type(p), *value = parse_paren(p);
    struct node *n = node_unary(p, N_CAST, first, value);
    n->type = type;
    return n;
}

static struct node *parse_member(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *a = node_name(p, token_text(p, parse_peek(p)), parse_here(p));
    parse_advance(p);
    parse_advance(p);
    const char *text = "";
    if (parse_at_number_of_module(p))
        return parse_slip_number_of_module(p);
    if (parse_at(p, TOK_NAME)) {
        text = token_text(p, parse_peek(p));
        parse_advance(p);
    } else {
        parse_fail_expected(p, "a name after '.'");
    }
    for (enum device_number d = DEVICE_SMS; p->in_kernel && d <= DEVICE_CLUSTERS; d++)
        if (strcmp(a->text, "device") == 0 &&
            strcmp(op_device_number_text(d) + strlen("device."), text) == 0) {
            p->device[d] = true;
            return node_name(p, op_device_number_text(d), parse_range_from(p, first));
        }
    struct node *n = node_unary(p, N_MEMBER, first, a);
    n->text = text;
    return n;
}

/* Reports text that is not a value at a place where a value is needed. */
static struct node *no_value(struct parser *p)
{
    const struct token *t = parse_peek(p);
    if (t->kind == TOK_STRING)
        parse_fail(p, parse_here(p), "a string is only for `print` and `static_assert`");
    else if (t->kind == TOK_TYPEOF)
        parse_fail(p, parse_here(p), "`typeof(x)` is a type, for declarations and casts");
    else if (t->kind == TOK_LBRACE) {
        if (parse_fail(p, parse_here(p), "there are no lists of values here"))
            parse_note(p, parse_here(p),
                       "a tile starts from one value (`= 0`) or is assigned by parts");
    } else
        parse_fail_expected(p, "an expression");
    return node_hole(p);
}

/* primary = literal | call | NAME "." NAME | access | bits "<" type ">" "(" expr ")" | "(" expr
 * ")" */
static struct node *parse_primary(struct parser *p)
{
    const struct token *t = parse_peek(p), *next = parse_peek_ahead(p, 1);
    switch (t->kind) {
    case TOK_INT:
    case TOK_FLOAT:
    case TOK_TRUE:
    case TOK_FALSE:
    case TOK_INF:
    case TOK_NAN: return parse_literal(p);
    case TOK_LPAREN: return parse_paren(p);
    case TOK_NAME:
        if (at_bits(p))
            return parse_bits(p);
        if (parse_at_owned_call(p))
            return parse_owned_call(p);
        if (parse_at_cpp_cast(p))
            return parse_slip_cpp_cast(p);
        if (parse_at_numeric_limits(p))
            return parse_slip_numeric_limits(p);
        if (parse_at_peer(p))
            return parse_access(p);
        if (next->kind == TOK_LPAREN)
            return parse_is_type_name(p, t) ? slip_conversion(p) : parse_call(p);
        return next->kind == TOK_DOT ? parse_member(p) : parse_access(p);
    default: return no_value(p);
    }
}

/* Reports operators that C allows after an operand and this language does not. */
static void slip_postfix(struct parser *p, const struct node *n, uint32_t first)
{
    if (parse_peek(p)->line_start) {
        return; /* it begins the next statement, and a ';' is missing here */
    } else if (parse_at(p, TOK_INCREMENT) || parse_at(p, TOK_DECREMENT)) {
        if (parse_complain(p, parse_here(p), "%s is a statement, not a value",
                           token_shown(p, parse_peek(p))))
            parse_note(p, parse_here(p),
                       "write it as a statement of its own, before or after this one");
        parse_advance(p);
    } else if (parse_at(p, TOK_LBRACKET)) {
        if (parse_fail(p, parse_here(p), "only a name can be indexed"))
            parse_note(p, n->loc, "give this a name first: `reg f32 t[M][N] = …;`");
    } else if (parse_at(p, TOK_DOT) && parse_peek_ahead(p, 1)->kind == TOK_NAME &&
               n->kind != N_MEMBER) {
        parse_slip_methods(p, first);
    } else if (parse_at(p, TOK_ARROW) || parse_at(p, TOK_DOT)) {
        if (parse_fail(p, parse_here(p), "%s is only for block.x, grid.x, thread.x",
                       token_shown(p, parse_peek(p))))
            parse_note(p, parse_here(p), "there are no structures and no pointers");
    } else if (parse_at(p, TOK_IF)) {
        if (parse_fail(p, parse_here(p), "a value has no `if` after it"))
            parse_note(p, parse_here(p),
                       "write `condition ? a : b`; element by element `where(condition, a, b)`");
    }
}

/* postfix = primary [ by ] [ "else" unary ]: the value of a load beyond the edge */
struct node *parse_postfix(struct parser *p)
{
    uint32_t first = p->pos;
    bool paren = parse_at(p, TOK_LPAREN);
    struct node *n = parse_primary(p);
    if (n->kind == N_CALL && parse_at_by(p))
        n->by = parse_by(p);
    slip_postfix(p, n, first);
    if (!parse_at(p, TOK_ELSE))
        return n;
    bool access = n->kind == N_ACCESS && !paren;
    if (!access && parse_peek(p)->line_start)
        return n; /* this `else` may belong to an `if`, with a ';' missing here */
    parse_advance(p);
    struct node *value = parse_enter(p) ? parse_unary(p) : node_hole(p);
    parse_leave(p);
    if (!access) {
        n = node_unary(p, N_ELSE, first, n);
        node_below(p, n, value);
    }
    n->b = value;
    node_below(p, n, value);
    n->loc = parse_range_from(p, first);
    return n;
}

/* --- lists --- */

struct node *parse_list(struct parser *p, enum token_kind close)
{
    struct node *head = NULL, **tail = &head;
    if (parse_at(p, close))
        parse_fail_expected(p, "an expression");
    do {
        *tail = parse_expr(p);
        tail = &(*tail)->next;
    } while (parse_accept(p, TOK_COMMA));
    return head;
}

/* Returns true if the parenthesis here has a comma of its own and ends the value. */
static bool at_tuple(const struct parser *p)
{
    const struct token *open = parse_peek(p);
    if (open->kind != TOK_LPAREN || open->match == NO_MATCH)
        return false;
    for (uint32_t i = p->pos + 1; i < open->match; i++) {
        const struct token *t = &p->tokens[i];
        if (t->kind == TOK_COMMA)
            return true;
        if (t->match != NO_MATCH && t->match > i)
            i = t->match;
    }
    return false;
}

/* value = expr | "(" expr "," expr { "," expr } ")" */
struct node *parse_tuple_or_expr(struct parser *p)
{
    if (!at_tuple(p))
        return parse_expr(p);
    uint32_t open = p->pos;
    parse_advance(p);
    struct node *n = node_new(p, N_TUPLE, parse_here(p));
    n->list = parse_list(p, TOK_RPAREN);
    for (struct node *one = n->list; one; one = one->next)
        node_below(p, n, one);
    parse_expect_close(p, open, "after the values");
    n->loc = parse_range_from(p, open);
    return n;
}

/* { "[" expr "]" } */
struct node *parse_dims(struct parser *p)
{
    struct node *head = NULL, **tail = &head;
    while (parse_at(p, TOK_LBRACKET)) {
        uint32_t open = p->pos;
        parse_advance(p);
        if (parse_at(p, TOK_RBRACKET) && parse_fail_expected(p, "the extent"))
            parse_note(p, parse_here(p), "every axis has an extent: `A[m][k]`");
        do {
            *tail = parse_expr(p);
            tail = &(*tail)->next;
            if (parse_at(p, TOK_COMMA) &&
                parse_complain(p, parse_here(p), "each extent has its own brackets")) {
                parse_is_foreign(p);
                parse_note(p, parse_here(p), "write `A[m][n]`");
                parse_fix(p, parse_with_blanks(p, parse_here(p)), "][");
            }
        } while (parse_accept(p, TOK_COMMA));
        parse_expect_close(p, open, "after the extent");
    }
    return head;
}
