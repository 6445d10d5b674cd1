/* Declarations of functions and kernels, and kernels of CUDA C. */
#include "lang/parse_internal.h"

#include "base/text.h"

#include <string.h>

/* --- fn --- */

/* Records a type name of a fn's parameter that is not declared anywhere: the argument binds it,
 * and within this fn it is a type. */
static void bind_fn_type(struct parser *p, const struct node *type)
{
    if (!type->text || dtype_by_name(type->text, strlen(type->text)) != DT_NONE)
        return;
    name_table_entry(&p->fn_types, type->text, strlen(type->text));
}

/* result = "reg" type { "[" dim "]" } | type | "(" result { "," result } ")" */
static struct node *parse_result(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *n = node_new(p, N_RESULT, parse_here(p));
    if (!parse_enter(p)) {
        parse_leave(p);
        return n;
    }
    if (parse_accept(p, TOK_LPAREN)) {
        struct node **tail = &n->list;
        do {
            *tail = parse_result(p);
            tail = &(*tail)->next;
        } while (parse_accept(p, TOK_COMMA));
        parse_expect_close(p, first, "after the types of the results");
    } else if (parse_at_foreign(p, "void")) {
        if (parse_fail(p, parse_here(p), "a `fn` gives a value"))
            parse_note(
                p, parse_here(p),
                "write its type: `fn f32 name(…)`; a function without a result is written out in "
                "the kernel");
    } else {
        n->i = parse_storage(p);
        if (n->i == DECL_GLOBAL || n->i == DECL_SHARED)
            parse_complain(p, token_loc(p, &p->tokens[first]),
                           "a `fn` gives scalars or `reg` tiles");
        n->type = parse_type(p);
        n->a = n->type;
        n->dims = parse_dims(p);
        if (n->dims && n->i == DECL_PLAIN &&
            parse_complain(p, n->dims->loc, "a tile as a result is `reg`"))
            parse_note(p, n->type->loc, "write `reg %s[…]`", n->type->text ? n->type->text : "T");
    }
    parse_leave(p);
    n->loc = parse_range_from(p, first);
    return n;
}

/* fparam = [ "reg" | "shared" | "global" ] type NAME { "[" dim "]" } */
static struct node *parse_fn_param(struct parser *p)
{
    struct node *n = node_new(p, N_PARAM, parse_here(p));
    if (parse_at(p, TOK_CONST)) {
        if (parse_complain(p, parse_here(p), "a parameter of a `fn` takes no `const`"))
            parse_note(p, parse_here(p),
                       "scalars and `reg` tiles are copies; a view is const when its pointer is");
        parse_advance(p);
    }
    n->i = parse_storage(p);
    n->type = parse_type(p);
    bind_fn_type(p, n->type);
    if (parse_at(p, TOK_STAR) && parse_fail(p, parse_here(p), "a `fn` takes no pointers"))
        parse_note(p, parse_here(p), "it takes views: `global f32 A[M][N]`");
    n->loc = parse_here(p);
    n->text = parse_expect_name(p, "the parameter's name");
    n->dims = parse_dims(p);
    return n;
}

/* Reports `cosnt f32 *x`, a misspelt word before a type, and reads the word that it nearly is. */
static void parse_near_qualifier(struct parser *p, struct node *param)
{
    static const unsigned char words[] = {TOK_CONST, TOK_STATIC};
    if (parse_is_type_name(p, parse_peek(p)) || !parse_is_type_name(p, parse_peek_ahead(p, 1)))
        return;
    const char *near = parse_near_keyword(p, parse_peek(p), words, sizeof words);
    if (!near ||
        !parse_complain(p, parse_here(p), "there is no `%s`", token_text(p, parse_peek(p))))
        return;
    diag_near(p->diag, parse_here(p), near);
    param->is_const = *near == 'c';
    param->is_static = *near == 's';
    parse_advance(p);
}

/* param = [ "static" ] type NAME [ "=" expr ] | [ "const" ] type "*" NAME */
static struct node *parse_kernel_param(struct parser *p)
{
    struct node *n = node_new(p, N_PARAM, parse_here(p));
    n->is_static = parse_accept(p, TOK_STATIC);
    n->is_const = parse_accept(p, TOK_CONST);
    parse_near_qualifier(p, n);
    if (parse_at(p, TOK_GLOBAL) || parse_at(p, TOK_SHARED) || parse_at(p, TOK_REG))
        if (parse_fail(p, parse_here(p), "a kernel takes scalars and pointers, no tiles"))
            parse_note(p, parse_here(p),
                       "take `f32 *a`, and in the body `global f32 A[m][n] = a;`");
    n->type = parse_type(p);
    if (parse_at(p, TOK_CONST) && parse_complain(p, parse_here(p), "`const` comes before the type"))
        parse_note(p, parse_here(p), "write `const f32 *a`");
    n->is_const = parse_accept(p, TOK_CONST) || n->is_const;
    uint32_t star = p->pos;
    n->is_pointer = parse_accept(p, TOK_STAR);
    if (parse_at(p, TOK_STAR))
        parse_fail(p, parse_here(p), "there are no pointers to pointers");
    if (parse_at(p, TOK_AMPERSAND) && parse_fail(p, parse_here(p), "there are no references"))
        parse_note(p, parse_here(p), "an array is a pointer: `f32 *y`");
    while (parse_at_word(p, "__restrict__") || parse_at_word(p, "restrict") ||
           parse_at_word(p, "__restrict")) {
        if (parse_complain(p, parse_here(p), "there is no `%s`", token_text(p, parse_peek(p)))) {
            parse_is_foreign(p);
            parse_note(p, parse_here(p),
                       "a `const` pointer already says that the kernel does not write there");
            parse_fix(p, parse_with_blanks(p, parse_here(p)), "");
        }
        parse_advance(p);
    }
    n->loc = parse_here(p);
    n->text = parse_expect_name(p, "the parameter's name");
    if (n->is_static && n->is_pointer)
        parse_complain(p, token_loc(p, &p->tokens[star]), "a pointer cannot be `static`");
    if (n->is_const && !n->is_pointer && parse_complain(p, n->loc, "`const` belongs to pointers"))
        parse_note(p, n->loc, "`static i32 n` is compiled in; any scalar may be left unassigned");
    if (parse_at(p, TOK_LBRACKET)) {
        if (parse_complain(p, parse_here(p), "a parameter has no extents"))
            parse_note(p, parse_here(p),
                       "take `f32 *a`, and in the body `global f32 A[m][n] = a;`");
        parse_dims(p);
    }
    if (parse_at(p, TOK_ASSIGN) && n->is_pointer)
        parse_complain(p, parse_here(p), "an array has no default: the caller gives it");
    if (parse_accept(p, TOK_ASSIGN))
        n->init = parse_expr(p);
    if (n->is_pointer)
        n->init = NULL;
    return n;
}

/* "(" [ param { "," param } ] ")" */
static struct node *parse_params(struct parser *p, struct node *(*one)(struct parser *))
{
    uint32_t open = p->pos;
    struct node *head = NULL, **tail = &head;
    if (!parse_expect(p, TOK_LPAREN, "before the parameters"))
        return NULL;
    if (parse_at_word(p, "void") && parse_peek_ahead(p, 1)->kind == TOK_RPAREN)
        parse_advance(p);
    if (!parse_at(p, TOK_RPAREN)) {
        do {
            *tail = one(p);
            tail = &(*tail)->next;
        } while (parse_accept(p, TOK_COMMA));
    }
    parse_expect_close(p, open, "after the parameters");
    return head;
}

/* fn = "fn" result NAME "(" [ fparam { "," fparam } ] ")" block */
struct node *parse_fn(struct parser *p)
{
    struct node *n = node_new(p, N_FN, parse_here(p));
    if (!parse_accept(p, TOK_FN))
        parse_slip_c_function(p);
    if (parse_at(p, TOK_NAME) && parse_peek_ahead(p, 1)->kind == TOK_LPAREN &&
        parse_complain(p, parse_here(p), "the type of the result is missing"))
        parse_note(p, parse_here(p), "write `fn f32 %s(…)`", token_text(p, parse_peek(p)));
    else
        n->result = parse_result(p);
    n->loc = parse_here(p);
    n->text = parse_expect_name(p, "the fn's name");
    name_table_init(&p->fn_types, p->arena);
    n->params = parse_params(p, parse_fn_param);
    n->body = parse_block(p, "the fn's body");
    name_table_init(&p->fn_types, p->arena);
    return n;
}

/* --- kernel --- */

static const char *const attribute_names[] = {"grid",   "warps",   "threads",    "resident",
                                              "target", "cluster", "cooperative"};
enum { ATTRIBUTES = sizeof attribute_names / sizeof *attribute_names };

/* Reports an unknown attribute by its name and passes its parentheses. */
static void unknown_attribute(struct parser *p)
{
    const char *word = token_text(p, parse_peek(p));
    const char *near = text_nearest(word, attribute_names, ATTRIBUTES);
    if (parse_is_future_word(p, parse_peek(p)))
        parse_report_future(p, parse_peek(p));
    else if (parse_complain(p, parse_here(p), "`%s` is not an attribute of a kernel", word)) {
        if (near)
            diag_near(p->diag, parse_here(p), near);
        else
            parse_note(p, parse_here(p),
                       "there are grid, warps, threads, cluster, resident, cooperative, target");
    }
    parse_advance(p);
    if (parse_at(p, TOK_LPAREN) && parse_peek(p)->match != NO_MATCH)
        parse_go_to(p, parse_peek(p)->match + 1);
}

/* attr = "grid" "(" expr { "," expr } ")" | "warps" "(" expr ")" | "threads" "(" … ")" |
 * "resident" "(" expr ")" | "cooperative"
 *      | "target" "(" NAME ")" | "cluster" "(" expr { "," expr } ")" */
static struct node *parse_attribute(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    struct node *n = node_new(p, N_CALL, parse_here(p));
    n->text = token_text(p, parse_peek(p));
    parse_advance(p);
    if (strcmp(n->text, "cooperative") == 0 || !parse_expect(p, TOK_LPAREN, "after the attribute"))
        return n;
    n->list = parse_list(p, TOK_RPAREN);
    parse_expect_close(p, open, "after the attribute's values");
    n->loc = parse_range_from(p, first);
    return n;
}

static struct node *parse_attributes(struct parser *p)
{
    struct node *head = NULL, **tail = &head;
    while (parse_at(p, TOK_NAME)) {
        bool known = false;
        for (int i = 0; i < ATTRIBUTES; i++)
            known = known || parse_at_word(p, attribute_names[i]);
        if (known)
            tail = append_nodes(tail, parse_attribute(p));
        else
            unknown_attribute(p);
    }
    return head;
}

/* Adds a parameter for each number of the device that the kernel names. They are the last ones, so
 * that callers may leave them out. A kernel with `cluster(…)` that names `device.clusters` has
 * `device.sms` too, because a caller may give that in its place. */
static void add_device_params(struct parser *p, struct node *kernel)
{
    struct node **tail = &kernel->params;
    for (const struct node *a = kernel->attributes; a; a = a->next)
        p->device[DEVICE_SMS] |= p->device[DEVICE_CLUSTERS] && strcmp(a->text, "cluster") == 0;
    while (*tail)
        tail = &(*tail)->next;
    for (enum device_number d = DEVICE_SMS; d <= DEVICE_CLUSTERS; d++) {
        if (!p->device[d])
            continue;
        struct node *n = node_new(p, N_PARAM, kernel->loc);
        n->text = op_device_number_text(d);
        n->device = d;
        n->type = node_new(p, N_TYPE, kernel->loc);
        n->type->text = "i32";
        tail = append_nodes(tail, n);
    }
}

/* kernel = "kernel" NAME "(" [ param { "," param } ] ")" { attr } block */
struct node *parse_kernel(struct parser *p)
{
    struct node *n = node_new(p, N_KERNEL, parse_here(p));
    parse_advance(p);
    if (parse_at_word(p, "void")) {
        if (parse_complain(p, parse_here(p), "a kernel has no result")) {
            parse_is_foreign(p);
            parse_note(p, parse_here(p), "leave out `void`");
            parse_fix(p, parse_with_blanks(p, parse_here(p)), "");
        }
        parse_advance(p);
    }
    n->loc = parse_here(p);
    n->text = parse_expect_name(p, "the kernel's name");
    if (parse_at(p, TOK_SHL) && parse_peek_ahead(p, 1)->kind == TOK_LT &&
        parse_fail(p, parse_here(p), "a kernel's head has no `<<<…>>>`")) {
        parse_is_foreign(p);
        parse_note(p, parse_here(p),
                   "write the grid and the block after the parameters: `kernel %s(…) grid(…) "
                   "threads(…)`",
                   n->text);
    }
    memset(p->device, 0, sizeof p->device);
    p->in_kernel = true;
    n->params = parse_params(p, parse_kernel_param);
    const struct token *last = &p->tokens[p->previous];
    n->start = last->offset + last->length;
    n->attributes = parse_attributes(p);
    if (parse_at(p, TOK_SEMICOLON) && parse_fail(p, parse_here(p), "a kernel has a body"))
        parse_note(p, n->loc,
                   "there are no prototypes: kernels and fns may be used before they are declared");
    n->body = parse_block(p, "the kernel's body");
    p->in_kernel = false;
    add_device_params(p, n);
    return n;
}

/* --- kernels of CUDA C --- */

uint32_t parse_cuda_words(const struct parser *p)
{
    uint32_t n = 0;
    bool is_kernel = false;
    for (;;) {
        const struct token *t = parse_peek_ahead(p, n), *next = parse_peek_ahead(p, n + 1);
        bool global = token_is(p, t, "__global__");
        bool bounds = token_is(p, t, "__launch_bounds__") && next->kind == TOK_LPAREN;
        if (global || token_is(p, t, "void") || t->kind == TOK_STATIC)
            n++;
        else if (token_is(p, t, "extern") && next->kind == TOK_STRING)
            n += 2;
        else if (bounds && next->match != NO_MATCH)
            n = next->match + 1 - p->pos;
        else
            return is_kernel && t->kind == TOK_NAME ? n : 0;
        is_kernel = is_kernel || global;
    }
}

struct node *parse_slip_cuda_kernel(struct parser *p)
{
    uint32_t count = parse_cuda_words(p);
    struct loc words = loc_join(parse_here(p), token_loc(p, parse_peek_ahead(p, count - 1)));
    if (parse_complain(p, parse_here(p), "expected a declaration, saw %s",
                       token_shown(p, parse_peek(p)))) {
        parse_is_foreign(p);
        parse_note(
            p, parse_here(p),
            "this is CUDA C: `tilewright check` takes it as it is from a file whose name ends "
            "in .cu; in Tilewright's language write `kernel name(…) grid(…) threads(x, y) { … }`");
        parse_fix(p, words, "kernel");
    }
    parse_go_to(p, p->pos + count - 1); /* parse_kernel passes the last of the words */
    return parse_kernel(p);
}

/* Adds the fix for "template" "<" "int" NAME, "typename" NAME … ">" of a kernel, which become
 * choices of the module. A choice of a value gets a value that the reader may change. Returns
 * false if the list has other items. */
static bool fix_template(struct parser *p, uint32_t close)
{
    struct text t;
    text_init(&t, p->arena);
    for (uint32_t i = 2; i < close; i += 3) {
        const struct token *type = parse_peek_ahead(p, i), *name = parse_peek_ahead(p, i + 1);
        bool is_type = token_is(p, type, "typename") || token_is(p, type, "class");
        if (name->kind != TOK_NAME || (!is_type && !parse_c_type(p, type)) ||
            (i + 2 < close && parse_peek_ahead(p, i + 2)->kind != TOK_COMMA))
            return false;
        text_printf(&t, is_type ? "type %s = {f32};" : "tune %s = {16};", token_text(p, name));
        text_add(&t, i + 2 < close ? "\n" : "");
    }
    diag_fix(p->diag, loc_join(parse_here(p), token_loc(p, parse_peek_ahead(p, close))), "%s",
             t.data);
    return true;
}

uint32_t parse_template_close(struct parser *p)
{
    enum { MOST_TOKENS = 64 };
    uint32_t close = 2;
    if (!parse_at_foreign(p, "template") || parse_peek_ahead(p, 1)->kind != TOK_LT)
        return 0;
    while (close < MOST_TOKENS && parse_peek_ahead(p, close)->kind != TOK_GT)
        close++;
    return close < MOST_TOKENS ? close : 0;
}

struct node *parse_slip_template(struct parser *p, uint32_t close)
{
    if (parse_complain(p, parse_here(p), "there are no templates")) {
        parse_is_foreign(p);
        parse_note(p, parse_here(p),
                   "a choice of values is `tune N = {16, 32};`, one of types `type T = {f32};`");
        fix_template(p, close);
    }
    parse_go_to(p, p->pos + close + 1);
    return NULL;
}
