/* Statements. */
#include "lang/parse_internal.h"

#include <string.h>

static struct node *parse_statement(struct parser *p);

/* --- going on after an error --- */

static bool starts_statement(const struct parser *p, const struct token *t)
{
    switch (t->kind) {
    case TOK_CONST:
    case TOK_GLOBAL:
    case TOK_SHARED:
    case TOK_REG:
    case TOK_IF:
    case TOK_FOR:
    case TOK_WHILE:
    case TOK_DO:
    case TOK_BREAK:
    case TOK_CONTINUE:
    case TOK_RETURN:
    case TOK_ENSURES:
    case TOK_UNROLL:
    case TOK_PIPELINE:
    case TOK_ASYNC:
    case TOK_STATIC_ASSERT: return true;
    default: return parse_is_type_name(p, t);
    }
}

/* Returns true at a kernel or fn in the first column within a body: a '}' is missing above. */
static bool at_next_function(const struct parser *p)
{
    return (parse_at(p, TOK_KERNEL) || parse_at(p, TOK_FN)) &&
           parse_in_first_column(p, parse_peek(p));
}

/* Recovers from an error in the statement that began at token `start`: passes the rest of it. */
static void recover_statement(struct parser *p, uint32_t start)
{
    p->panic = false;
    while (!parse_at(p, TOK_END) && !parse_at(p, TOK_RBRACE) && !at_next_function(p)) {
        const struct token *t = parse_peek(p);
        if (p->pos > start && t->line_start && starts_statement(p, t))
            return;
        bool opens = t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE;
        parse_go_to(p, (opens && t->match != NO_MATCH ? t->match : p->pos) + 1);
        if (t->kind == TOK_SEMICOLON || (t->kind == TOK_LBRACE && !parse_at(p, TOK_ELSE)))
            return;
    }
}

/* --- assignments --- */

/* Makes x += 1 of "++" and "--" before or after x. */
static struct node *step_by_one(struct parser *p, uint32_t first, struct node *target, bool up)
{
    struct node *n = node_new(p, N_ASSIGN, parse_range_from(p, first));
    n->a = target;
    n->op = up ? OP_ADD : OP_SUB;
    n->b = node_int(p, 1, n->loc);
    return n;
}

/* assign = lvalue ( "=" | "+=" | … ) expr | lvalue "++" | "++" lvalue */
static struct node *parse_assign(struct parser *p)
{
    uint32_t first = p->pos;
    bool up = parse_at(p, TOK_INCREMENT), prefix = up || parse_at(p, TOK_DECREMENT);
    if (prefix)
        parse_advance(p);
    struct node *target = node_int(p, 0, parse_here(p));
    if (parse_at(p, TOK_NAME))
        target = parse_access(p);
    else
        parse_fail_expected(p, "the name of what is assigned");
    if (prefix)
        return step_by_one(p, first, target, up);
    up = parse_at(p, TOK_INCREMENT);
    if (parse_accept(p, TOK_INCREMENT) || parse_accept(p, TOK_DECREMENT))
        return step_by_one(p, first, target, up);
    struct node *n = node_new(p, N_ASSIGN, parse_here(p));
    n->a = target;
    n->op = token_table[parse_peek(p)->kind].compound;
    if (n->op != OP_COUNT || parse_at(p, TOK_ASSIGN))
        parse_advance(p);
    else if (parse_at(p, TOK_EQ) &&
             parse_complain(p, parse_here(p), "`==` compares: its value is not used here")) {
        parse_note(p, parse_here(p), "an assignment is `=`");
        parse_fix(p, parse_here(p), "=");
        parse_advance(p);
    } else
        parse_fail_expected(p, target->kind == N_ACCESS ? "'=' after the place to assign to"
                                                        : "'=' after the name to assign to");
    n->b = parse_expr(p);
    n->loc = parse_range_from(p, first);
    return n;
}

static bool at_sums(const struct parser *p, const struct node *n)
{
    return strcmp(n->text, op_table[OP_DOT_ASYNC].text) == 0 && parse_at_word(p, "sum") &&
           parse_peek_ahead(p, 1)->kind == TOK_LPAREN;
}

/* sums = "sum" "(" ( "unit" | "promoted" expr ) ")", after a call of dot_async */
static void parse_sums(struct parser *p, struct node *call)
{
    uint32_t first = p->pos, open = first + 1;
    parse_advance(p);
    parse_advance(p);
    if (parse_accept_word(p, "unit"))
        call->in_unit = true;
    else if (parse_accept_word(p, "promoted"))
        call->c = parse_expr(p);
    else
        parse_fail_expected(p, "`unit`, or `promoted 128`");
    parse_expect_close(p, open, "after the kind of sum");
    if (call->in_unit)
        call->c = node_int(p, 0, parse_range_from(p, first));
    if (call->c)
        node_below(p, call, call->c);
}

/* call [ sums ] [ "added" ] ";" */
static struct node *parse_call_statement(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *n = node_new(p, N_EXPR, parse_here(p));
    n->a = parse_call(p);
    if (at_sums(p, n->a))
        parse_sums(p, n->a);
    n->is_added = parse_accept_word(p, "added");
    n->loc = parse_range_from(p, first);
    if (parse_at(p, TOK_ASSIGN) &&
        parse_fail(p, parse_here(p), "a call is not a place to assign to"))
        parse_note(p, n->loc, "indices are in brackets: `A[i][j] = …`");
    parse_expect_semicolon(p, "after the call");
    return n;
}

/* Reports `tl.store(…);`, a call of a module or of a value. */
static struct node *skip_owned_call(struct parser *p)
{
    parse_owned_call(p);
    parse_expect_semicolon(p, "after the call");
    return node_new(p, N_EMPTY, parse_here(p));
}

/* --- constructs that are not compiled yet --- */

static struct node *skip_future(struct parser *p)
{
    struct node *n = node_new(p, N_EMPTY, parse_here(p));
    parse_report_future(p, parse_peek(p));
    parse_skip_construct(p);
    return n;
}

static bool at_future_statement(const struct parser *p)
{
    const struct token *t = parse_peek(p), *next = parse_peek_ahead(p, 1);
    if (!parse_is_future_word(p, t))
        return false;
    return next->kind == TOK_NAME || next->kind == TOK_LBRACE;
}

/* async = "async" [ "(" access ")" ] lvalue "=" expr [ "multicast" "(" expr ")" ]
 *         [ "hint" "(" NAME ")" ] ";" */
static struct node *parse_async(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    struct node *barrier = NULL;
    parse_advance(p);
    if (parse_accept(p, TOK_LPAREN)) {
        if (parse_at(p, TOK_NAME))
            barrier = parse_access(p);
        else
            parse_fail_expected(p, "the mbarrier on which the copy completes");
        parse_expect_close(p, open, "after the mbarrier");
    }
    struct node *n = parse_assign(p);
    n->c = barrier;
    if (n->op != OP_COUNT && parse_complain(p, n->loc, "`async` copies; it does not compute"))
        parse_note(p, n->loc, "write `async sa = A[…][…];`");
    n->kind = N_ASYNC;
    if (parse_accept_word(p, "multicast")) {
        open = p->pos;
        parse_expect(p, TOK_LPAREN, "after `multicast`");
        n->peer = parse_expr(p);
        node_below(p, n, n->peer);
        parse_expect_close(p, open, "after the blocks, a bit for each");
    }
    if (parse_accept_word(p, "hint")) {
        open = p->pos;
        parse_expect(p, TOK_LPAREN, "after `hint`");
        n->text = parse_expect_name(p, "the name of a hint (evict_first, …)");
        parse_expect_close(p, open, "after the hint");
    }
    n->loc = parse_range_from(p, first);
    parse_expect_semicolon(p, "after the copy");
    return n;
}

/* --- roles --- */

static struct node *parse_over(struct parser *p, const char *of);

/* role = "warps" "(" expr "+:" expr ")" { over | "regs" "(" expr ")" } block, each at most once */
static struct node *parse_role(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    struct node *n = node_new(p, N_ROLE, parse_here(p));
    parse_advance(p);
    parse_advance(p);
    n->a = parse_expr(p);
    if (parse_expect(p, TOK_PLUS_COLON, "after the role's first warp: `warps(4 +: 8)`"))
        n->b = parse_expr(p);
    parse_expect_close(p, open, "after the warps");
    while ((parse_at(p, TOK_FOR) && !n->over) || (parse_at_word(p, "regs") && !n->c)) {
        if (parse_at(p, TOK_FOR)) {
            n->over = parse_over(p, "warps(…)");
            continue;
        }
        open = p->pos + 1;
        parse_advance(p);
        parse_expect(p, TOK_LPAREN, "after `regs`");
        n->c = parse_expr(p);
        parse_expect_close(p, open, "after the number of registers");
    }
    n->loc = parse_range_from(p, first);
    n->body = parse_block(p, "the role's body");
    return n;
}

/* one_thread = "one_thread" block */
static struct node *parse_one_thread(struct parser *p)
{
    struct node *n = node_new(p, N_ONE_THREAD, parse_here(p));
    parse_advance(p);
    n->body = parse_block(p, "the body of `one_thread`");
    return n;
}

/* --- control flow --- */

/* "(" condition ")" */
static struct node *parse_header(struct parser *p, const char *after)
{
    uint32_t open = p->pos;
    if (!parse_expect(p, TOK_LPAREN, after))
        return node_int(p, 0, parse_here(p));
    struct node *n = parse_condition(p);
    parse_expect_close(p, open, "after the condition");
    return n;
}

/* if = "if" "(" condition ")" statement [ "else" statement ]; a loop reads a chain of them */
static struct node *parse_if(struct parser *p)
{
    struct node *head = NULL, **link = &head;
    int depth = p->depth;
    bool more = true;
    while (more && (!head || parse_enter(p))) {
        uint32_t first = p->pos;
        struct node *n = node_new(p, N_IF, parse_here(p));
        *link = n;
        link = &n->otherwise;
        parse_advance(p);
        n->a = parse_header(p, "after `if`");
        n->body = parse_statement(p);
        n->loc = parse_range_from(p, first);
        if (parse_at_word(p, "elif") && parse_peek_ahead(p, 1)->kind == TOK_LPAREN) {
            parse_complain(p, parse_here(p), "`elif` is written `else if`");
            continue;
        }
        bool otherwise = parse_accept(p, TOK_ELSE);
        more = otherwise && parse_at(p, TOK_IF);
        if (otherwise && !more)
            *link = parse_statement(p);
    }
    p->depth = depth;
    return head ? head : node_new(p, N_EMPTY, parse_here(p));
}

/* init = declaration | assign { "," assign } */
static struct node *parse_assign_list(struct parser *p)
{
    struct node *head = NULL, **tail = &head;
    do {
        *tail = parse_assign(p);
        tail = &(*tail)->next;
    } while (parse_accept(p, TOK_COMMA));
    return head;
}

/* "for" "(" [ init ] ";" [ condition ] ";" [ assign { "," assign } ] ")" statement */
static struct node *parse_for(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    struct node *n = node_new(p, N_FOR, parse_here(p));
    if (!parse_expect(p, TOK_FOR, "after `unroll` or `pipeline(n)`"))
        return n;
    if (!parse_accept(p, TOK_LPAREN)) {
        if (parse_fail_expected(p, "'(' after `for`"))
            parse_note(p, parse_here(p), "write `for (i32 i = 0; i < n; i++)`");
        return n;
    }
    if (!parse_at(p, TOK_SEMICOLON))
        n->init = parse_starts_declaration(p) ? parse_declaration(p) : parse_assign_list(p);
    if (parse_at(p, TOK_COLON) && parse_fail(p, parse_here(p), "a `for` counts"))
        parse_note(p, parse_here(p), "write `for (i32 i = 0; i < n; i++)`");
    parse_expect(p, TOK_SEMICOLON, "after the start of the loop");
    if (!parse_at(p, TOK_SEMICOLON))
        n->a = parse_condition(p);
    parse_expect(p, TOK_SEMICOLON, "after the loop's condition");
    if (!parse_at(p, TOK_RPAREN))
        n->step = parse_assign_list(p);
    parse_expect_close(p, open, "after the loop's step");
    n->loc = parse_range_from(p, first);
    n->body = parse_statement(p);
    return n;
}

/* "unroll" [ "(" expr ")" ] for | "pipeline" "(" expr ")" for */
static struct node *parse_marked_for(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    bool unroll = parse_at(p, TOK_UNROLL);
    struct node *count = NULL;
    parse_advance(p);
    if (!unroll && !parse_at(p, TOK_LPAREN) && parse_fail_expected(p, "'(' after `pipeline`"))
        parse_note(p, parse_here(p), "write how many stages: `pipeline(3) for (…)`");
    if (parse_accept(p, TOK_LPAREN)) {
        count = parse_expr(p);
        parse_expect_close(p, open, "after the number");
    }
    struct node *n = parse_for(p);
    n->has_unroll = unroll;
    n->unroll = unroll ? count : NULL;
    n->stages = unroll ? NULL : count;
    n->loc.length += n->loc.offset - p->tokens[first].offset;
    n->loc.offset = p->tokens[first].offset;
    return n;
}

/* "while" "(" condition ")" statement | "do" statement "while" "(" condition ")" ";" */
static struct node *parse_while(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *n = node_new(p, N_WHILE, parse_here(p));
    n->is_do = parse_at(p, TOK_DO);
    parse_advance(p);
    if (!n->is_do) {
        n->a = parse_header(p, "after `while`");
        n->loc = parse_range_from(p, first);
        n->body = parse_statement(p);
        return n;
    }
    n->body = parse_statement(p);
    parse_expect(p, TOK_WHILE, "after the body of `do`");
    n->a = parse_header(p, "after `while`");
    parse_expect_semicolon(p, "after `do … while (…)`");
    return n;
}

/* --- ensures --- */

/* Notes how to write `for (i32 j = 1; j < n; …)`, from the place of its `=`. p->error_pos is the
 * token `=`. */
static void note_from_zero(struct parser *p, const char *kind, const char *name, struct loc at)
{
    const struct token *first = &p->tokens[p->error_pos + 1], *end = first;
    while (end->kind != TOK_LT && end->kind != TOK_LE && end->kind != TOK_END &&
           end->kind != TOK_RPAREN)
        end++;
    bool known = end->kind == TOK_LT && first[1].kind == TOK_SEMICOLON && end[1].kind != TOK_END &&
                 (end[2].kind == TOK_SEMICOLON || end[2].kind == TOK_RPAREN);
    if (!known) {
        parse_note(p, at, "write `ensures for (%s %s < …) …`: `%s` is 0, 1, 2, …", kind, name,
                   name);
        return;
    }
    const char *bound = token_text(p, &end[1]), *from = token_text(p, first);
    if (strcmp(from, "0") == 0)
        parse_note(p, at, "write `ensures for (%s %s < %s) …`", kind, name, bound);
    else
        parse_note(p, at, "write `ensures for (%s %s < %s - %s) …`, and `%s + %s` in place of `%s`",
                   kind, name, bound, from, name, from, name);
}

/* "for" "(" type NAME "<" expr { "," type NAME "<" expr } ")", which is part of `of` */
static struct node *parse_over(struct parser *p, const char *of)
{
    struct node *head = NULL, **tail = &head;
    uint32_t open = p->pos + 1;
    parse_advance(p);
    if (!parse_expect(p, TOK_LPAREN, arena_printf(p->arena, "after `%s for`", of)))
        return NULL;
    do {
        const char *kind = token_text(p, parse_peek(p));
        struct node *type = parse_type(p), *n = node_new(p, N_DECL, parse_here(p));
        n->type = type;
        n->text = parse_expect_name(p, "the name of an index");
        if (parse_at(p, TOK_ASSIGN) &&
            parse_fail(p, parse_here(p), "an index of `%s` counts from 0", of) &&
            strcmp(of, "ensures") == 0)
            note_from_zero(p, kind, n->text, parse_here(p));
        parse_expect(p, TOK_LT, "after the name of the index");
        n->init = parse_expr(p);
        *tail = n;
        tail = &n->next;
    } while (parse_accept(p, TOK_COMMA));
    parse_expect_close(p, open, "after the indices");
    return head;
}

/* ensures = "ensures" [ over ] access "==" expr ";" */
static struct node *parse_ensures(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *n = node_new(p, N_ENSURES, parse_here(p));
    parse_advance(p);
    if (parse_at(p, TOK_FOR))
        n->over = parse_over(p, "ensures");
    n->list = n->over;
    n->a = node_int(p, 0, parse_here(p));
    if (parse_at(p, TOK_NAME))
        n->a = parse_access(p);
    else
        parse_fail_expected(p, "the view that is ensured");
    if (parse_at(p, TOK_ASSIGN)) {
        if (parse_complain(p, parse_here(p), "`=` assigns; `ensures` compares")) {
            parse_note(p, parse_here(p), "write `ensures C == …`");
            parse_fix(p, parse_here(p), "==");
        }
        parse_advance(p);
    } else
        parse_expect(p, TOK_EQ, "after the view");
    n->b = parse_expr(p);
    n->loc = parse_range_from(p, first);
    parse_expect_semicolon(p, "after `ensures …`");
    return n;
}

/* --- simple statements --- */

/* return = "return" [ expr | "(" expr { "," expr } ")" ] ";" */
static struct node *parse_jump(struct parser *p)
{
    uint32_t first = p->pos;
    enum token_kind kind = parse_peek(p)->kind;
    struct node *n = node_new(p,
                              kind == TOK_BREAK      ? N_BREAK
                              : kind == TOK_CONTINUE ? N_CONTINUE
                                                     : N_RETURN,
                              parse_here(p));
    parse_advance(p);
    if (kind == TOK_RETURN && !parse_at(p, TOK_SEMICOLON) && !parse_at(p, TOK_RBRACE))
        n->a = parse_tuple_or_expr(p);
    n->loc = parse_range_from(p, first);
    parse_expect_semicolon(p, kind == TOK_RETURN  ? "after `return`"
                              : kind == TOK_BREAK ? "after `break`"
                                                  : "after `continue`");
    return n;
}

/* Returns how to write a statement of C that this language does not have: switch, goto, labels
 * …. NULL: none of them. */
static const char *foreign_statement(const struct parser *p)
{
    static const char *const table[][2] = {
        {"switch", "write `if (…) … else if (…) … else …`"},
        {"case", "write `if (…) … else if (…) … else …`"},
        {"default", "write `else …`"},
        {"goto", "write a loop with `break` and `continue`, or an `if`"},
        {"struct", "write one parameter or variable for each member; a function may return several "
                   "values: `fn (f32, f32) minmax(…)`"},
        {"typedef", "a choice of element types is `type T = {f16, f32};`, in the module"},
        {"enum", "name constants in the module: `const i32 N = 4;`"},
        {"dim3",
         "the kernel's head has the extents of the grid and of a block: `grid(cdiv(n, 16), m) "
         "threads(16, 16)`"},
        {"union", "the bits of a value as another type are `bits<u32>(x)`"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (parse_at_foreign(p, table[i][0]))
            return table[i][1];
    return NULL;
}

static struct node *skip_foreign(struct parser *p, const char *way)
{
    if (parse_complain(p, parse_here(p), "there is no `%s`", token_text(p, parse_peek(p))))
        parse_note(p, parse_here(p), "%s", way);
    struct node *n = node_new(p, N_EMPTY, parse_here(p));
    parse_skip_construct(p);
    return n;
}

/* Returns the statement word that the name in `whlie (…) …` or `retrun …;` nearly is. The token
 * after the name shows that it is neither a place to assign to nor a call. NULL: none. */
static const char *near_statement(struct parser *p)
{
    static const unsigned char headed[] = {TOK_FOR, TOK_WHILE, TOK_IF, TOK_UNROLL, TOK_PIPELINE};
    static const unsigned char others[] = {TOK_RETURN,  TOK_BREAK, TOK_CONTINUE, TOK_ELSE,
                                           TOK_ENSURES, TOK_ASYNC, TOK_UNROLL};
    const struct token *t = parse_peek(p), *next = parse_peek_ahead(p, 1);
    if (t->length < 2 || parse_is_type_name(p, t) || next->line_start)
        return NULL;
    if (next->kind == TOK_LPAREN) {
        const struct token *body = next->match == NO_MATCH ? next : &p->tokens[next->match + 1];
        bool heads =
            body->kind == TOK_LBRACE || body->kind == TOK_NAME || starts_statement(p, body);
        return heads ? parse_near_keyword(p, t, headed, sizeof headed) : NULL;
    }
    bool heads = next->kind == TOK_SEMICOLON || next->kind == TOK_LBRACE ||
                 (next->kind >= TOK_NAME && next->kind <= TOK_FLOAT) ||
                 token_table[next->kind].keyword;
    return heads ? parse_near_keyword(p, t, others, sizeof others) : NULL;
}

/* Parses a statement that begins with a name. */
/* Reports a call that is a statement, sync() or print(x), without its parentheses. */
static bool slip_bare_call(struct parser *p)
{
    const char *name = token_text(p, parse_peek(p));
    enum op op = op_by_text(name, FORM_CALL, -1);
    enum token_kind next = (enum token_kind)parse_peek_ahead(p, 1)->kind;
    if (op == OP_COUNT || op_table[op].class != CLASS_EFFECT || next == TOK_LPAREN ||
        next == TOK_ASSIGN || next == TOK_LBRACKET || next == TOK_INCREMENT ||
        next == TOK_DECREMENT || token_table[next].compound != OP_COUNT)
        return false;
    if (parse_fail(p, parse_here(p), "`%s` is a call, and has no parentheses", name))
        parse_note(p, parse_here(p), op_table[op].arity == 0 ? "write `%s();`" : "write `%s(…);`",
                   name);
    return true;
}

/* Reports a launch, k<<<g, b>>>(…), in a kernel. */
static bool slip_launch(struct parser *p)
{
    if (!parse_at_launch(p))
        return false;
    if (parse_fail(p, parse_here(p), "a kernel launches no kernel: `%s<<<…>>>`",
                   token_text(p, parse_peek(p)))) {
        parse_is_foreign(p);
        parse_note(
            p, parse_here(p),
            "write a function, `fn`, and call it; or write two kernels, which the host launches "
            "one after the other");
    }
    return true;
}

/* Reports the declaration of a pointer, float4* p = …. */
static bool slip_pointer(struct parser *p)
{
    const struct token *name = parse_peek_ahead(p, 2), *next = parse_peek_ahead(p, 3);
    if (parse_peek_ahead(p, 1)->kind != TOK_STAR || name->kind != TOK_NAME ||
        (next->kind != TOK_ASSIGN && next->kind != TOK_SEMICOLON))
        return false;
    if (parse_fail(p, parse_here(p), "only parameters are pointers: `%s *%s`",
                   token_text(p, parse_peek(p)), token_text(p, name))) {
        parse_is_foreign(p);
        parse_note(
            p, parse_here(p),
            "declare a view, `global f32 A[n] = a;`, and read a slice, `A[i +: 64]`: the compiler "
            "loads it in the widest pieces that its place allows");
    }
    return true;
}

static struct node *parse_name_statement(struct parser *p)
{
    const struct token *next = parse_peek_ahead(p, 1);
    const char *way = foreign_statement(p);
    struct node *n;
    if (way && next->kind != TOK_ASSIGN && next->kind != TOK_LBRACKET)
        return skip_foreign(p, way);
    if (at_future_statement(p))
        return skip_future(p);
    if (parse_at_word(p, "warps") && next->kind == TOK_LPAREN)
        return parse_role(p);
    if (parse_at_word(p, "one_thread") && next->kind == TOK_LBRACE)
        return parse_one_thread(p);
    if (parse_at_word(p, "mbarrier") && next->kind == TOK_NAME && !next->line_start) {
        n = parse_mbarriers(p);
        parse_expect_semicolon(p, "after the declaration");
        return n;
    }
    if (slip_launch(p) || slip_bare_call(p))
        return node_new(p, N_EMPTY, parse_here(p));
    const char *near = near_statement(p);
    if (near && parse_fail_expected(p, "a statement")) {
        diag_near(p->diag, parse_here(p), near);
        return node_new(p, N_EMPTY, parse_here(p));
    }
    if (parse_at_owned_call(p))
        return skip_owned_call(p);
    if (parse_starts_declaration(p)) {
        n = parse_declaration(p);
        parse_expect_semicolon(p, "after the declaration");
        return n;
    }
    if (slip_pointer(p))
        return node_new(p, N_EMPTY, parse_here(p));
    if (next->kind == TOK_LPAREN && !parse_at_peer(p))
        return parse_call_statement(p);
    if (next->kind == TOK_COLON && parse_fail(p, parse_here(p), "there are no labels"))
        parse_note(p, parse_here(p), "there is no `goto` either: write a loop or an `if`");
    n = parse_assign(p);
    parse_expect_semicolon(p, "after the assignment");
    return n;
}

/* Reports a declaration of the module within a body, and passes it. */
static struct node *misplaced(struct parser *p)
{
    struct node *n = node_new(p, N_EMPTY, parse_here(p));
    if (parse_complain(p, parse_here(p),
                       "%s belongs at the top level of the file, outside kernels and fns",
                       token_shown(p, parse_peek(p))))
        parse_note(p, parse_here(p), "move it before the kernel");
    parse_skip_construct(p);
    return n;
}

/* Reports text that cannot begin a statement. */
static struct node *no_statement(struct parser *p)
{
    const struct token *t = parse_peek(p);
    if (t->kind == TOK_ELSE) {
        parse_complain(p, parse_here(p), "`else` without an `if`");
        parse_advance(p);
        return parse_statement(p);
    }
    if (t->kind == TOK_STATIC) {
        if (parse_fail(p, parse_here(p), "`static` belongs to parameters of kernels"))
            parse_note(p, parse_here(p),
                       "leave it out; a value known to the compiler is `const i32 N = …;`");
    } else if (t->kind == TOK_STAR) {
        if (parse_fail(p, parse_here(p), "there are no pointers to store through"))
            parse_note(p, parse_here(p),
                       "`global f32 A[n] = a;` gives a view, `A[i] = …;` an element");
    } else
        parse_fail_expected(p, "a statement");
    return node_new(p, N_EMPTY, parse_here(p));
}

/* block = "{" { statement } "}" */
struct node *parse_block(struct parser *p, const char *of)
{
    uint32_t open = p->pos;
    struct node *n = node_new(p, N_BLOCK, parse_here(p)), **tail = &n->body;
    if (!parse_accept(p, TOK_LBRACE)) {
        parse_fail_expected(p, arena_printf(p->arena, "'{' and %s", of));
        return n;
    }
    while (!parse_at(p, TOK_RBRACE) && !parse_at(p, TOK_END) && !at_next_function(p)) {
        uint32_t start = p->pos;
        struct node *one = parse_statement(p);
        if (p->panic) {
            recover_statement(p, start);
            one = node_new(p, N_EMPTY, one->loc);
        }
        *tail = one;
        tail = &one->next;
    }
    n->list = n->body;
    if (!parse_accept(p, TOK_RBRACE) && !p->panic &&
        parse_complain(p, parse_here(p), "expected '}' at the end of %s, saw %s", of,
                       token_shown(p, parse_peek(p))))
        parse_note(p, token_loc(p, &p->tokens[open]), "'{' was opened here");
    n->loc = parse_range_from(p, open);
    return n;
}

static struct node *parse_statement_here(struct parser *p)
{
    struct node *n;
    switch (parse_peek(p)->kind) {
    case TOK_LBRACE: return parse_block(p, "the block");
    case TOK_IF: return parse_if(p);
    case TOK_FOR: return parse_for(p);
    case TOK_UNROLL:
    case TOK_PIPELINE: return parse_marked_for(p);
    case TOK_WHILE:
    case TOK_DO: return parse_while(p);
    case TOK_BREAK:
    case TOK_CONTINUE:
    case TOK_RETURN: return parse_jump(p);
    case TOK_ENSURES: return parse_ensures(p);
    case TOK_ASYNC: return parse_async(p);
    case TOK_STATIC_ASSERT: return parse_static_assert(p);
    case TOK_REQUIRE: return parse_require(p);
    case TOK_TUNE:
    case TOK_TYPE:
    case TOK_FN:
    case TOK_KERNEL: return misplaced(p);
    case TOK_NAME: return parse_name_statement(p);
    case TOK_SEMICOLON:
        n = node_new(p, N_EMPTY, parse_here(p));
        parse_advance(p);
        return n;
    case TOK_CONST:
    case TOK_GLOBAL:
    case TOK_SHARED:
    case TOK_REG:
    case TOK_TYPEOF:
        n = parse_declaration(p);
        parse_expect_semicolon(p, "after the declaration");
        return n;
    case TOK_INCREMENT:
    case TOK_DECREMENT:
        n = parse_assign(p);
        parse_expect_semicolon(p, "after the statement");
        return n;
    default: return no_statement(p);
    }
}

static struct node *parse_statement(struct parser *p)
{
    struct node *n = NULL;
    uint32_t start = parse_here(p).offset;
    if (parse_enter(p))
        n = parse_statement_here(p);
    parse_leave(p);
    if (!n)
        n = node_new(p, N_EMPTY, parse_here(p));
    n->start = start;
    return n;
}
