/* Declarations at module level. */
#include "lang/parse_internal.h"

/* import = "import" STRING ";" */
static struct node *parse_import(struct parser *p)
{
    struct node *n = node_new(p, N_IMPORT, parse_here(p));
    parse_advance(p);
    if (!parse_at(p, TOK_STRING)) {
        if (parse_fail_expected(p, "the file, a string"))
            parse_note(p, parse_here(p), "write `import \"file.tile\";`");
        return NULL;
    }
    n->text = parse_peek(p)->text;
    parse_advance(p);
    parse_expect_semicolon(p, "after the import");
    return n;
}

/* const = "const" type constant { "," constant } ";"
 * constant = NAME "=" expr | NAME "[" expr "]" { "[" expr "]" } "=" braces */
static struct node *parse_const(struct parser *p)
{
    struct node *head = NULL, **tail = &head;
    if (!parse_accept(p, TOK_CONST) &&
        parse_complain(p, parse_here(p), "a module has no variables"))
        parse_note(p, parse_here(p), "a constant is `const i32 N = 4;`");
    struct node *type = parse_type(p);
    do {
        struct node *n = node_new(p, N_CONST, parse_here(p));
        n->type = type;
        n->text = parse_expect_name(p, "the constant's name");
        n->dims = parse_dims(p);
        parse_expect(p, TOK_ASSIGN, "after the constant's name");
        bool list = parse_at(p, TOK_LBRACE) && !n->dims && parse_peek(p)->match != NO_MATCH;
        if (list && parse_complain(p, parse_here(p),
                                   "a list of values makes a table, which has its length"))
            parse_note(p, n->loc, "write `%s[…] = {…}`", n->text);
        n->init = n->dims || list ? parse_braces(p, 1) : parse_expr(p);
        tail = append_nodes(tail, n);
    } while (parse_accept(p, TOK_COMMA));
    parse_expect_semicolon(p, "after the constant");
    return head;
}

/* Parses a list in braces; `one` parses each item. A comma may end the list. */
static struct node *parse_braced(struct parser *p, struct node *(*one)(struct parser *),
                                 const char *what)
{
    uint32_t open = p->pos;
    struct node *head = NULL, **tail = &head;
    if (!parse_expect(p, TOK_LBRACE, what))
        return NULL;
    do {
        *tail = one(p);
        tail = &(*tail)->next;
    } while (parse_accept(p, TOK_COMMA) && !parse_at(p, TOK_RBRACE));
    parse_expect_close(p, open, "after the values");
    return head;
}

/* Returns true at a TARGET in parentheses; a group of names would have a '=' after it. */
static bool at_target(const struct parser *p)
{
    const struct token *open = parse_peek(p);
    if (open->kind != TOK_LPAREN)
        return false;
    return open->match == NO_MATCH || p->tokens[open->match + 1].kind != TOK_ASSIGN;
}

static const char *parse_target(struct parser *p)
{
    uint32_t open = p->pos;
    parse_advance(p);
    const char *target = parse_expect_name(p, "a target (cpu, sim, cuda, sm_90)");
    parse_expect_close(p, open, "after the target");
    return target;
}

/* ( NAME | "(" NAME { "," NAME } ")" ) "=" "{" value { "," value } "}" */
static struct node *parse_tune_list(struct parser *p, const char *target)
{
    struct node *n = node_new(p, N_TUNE, parse_here(p)), **tail = &n->names;
    n->text = target;
    uint32_t open = p->pos;
    bool group = parse_accept(p, TOK_LPAREN);
    do {
        struct loc where = parse_here(p);
        *tail = node_name(p, parse_expect_name(p, "the name of what is tuned"), where);
        tail = &(*tail)->next;
    } while (group && parse_accept(p, TOK_COMMA));
    if (group)
        parse_expect_close(p, open, "after the names");
    parse_expect(p, TOK_ASSIGN, "after the tuned name");
    n->list = parse_braced(p, parse_tuple_or_expr, "before the values");
    return n;
}

/* tune = "tune" [ "(" TARGET ")" ] list ";" */
static struct node *parse_tune(struct parser *p)
{
    uint32_t first = p->pos;
    parse_advance(p);
    const char *target = at_target(p) ? parse_target(p) : NULL;
    struct node *n = parse_tune_list(p, target), *last = n;
    while (parse_at(p, TOK_COMMA) && !p->panic) {
        if (parse_complain(p, parse_here(p), "a `tune` has one list of values"))
            parse_note(
                p, parse_here(p),
                "one `tune` each; or `tune (BM, BN) = {(64, 64), (128, 64)};`, whose names vary "
                "together");
        parse_advance(p);
        first = p->pos;
        last = last->next = parse_tune_list(p, target);
    }
    parse_expect_semicolon(p, "after the list of values");
    last->loc = parse_range_from(p, first);
    return n;
}

/* typevar = "type" NAME "=" "{" type { "," type } "}" ";" */
static struct node *parse_typevar(struct parser *p)
{
    parse_advance(p);
    struct node *n = node_new(p, N_TYPEVAR, parse_here(p));
    n->text = parse_expect_name(p, "the name of the type");
    parse_expect(p, TOK_ASSIGN, "after the name of the type");
    n->list = parse_braced(p, parse_type, "before the types");
    parse_expect_semicolon(p, "after the list of types");
    return n;
}

/* Returns the module-level word that a name nearly is; NULL: none. */
static const char *near_toplevel(struct parser *p)
{
    static const unsigned char words[] = {TOK_IMPORT,  TOK_CONST,         TOK_TUNE, TOK_TYPE,
                                          TOK_REQUIRE, TOK_STATIC_ASSERT, TOK_FN,   TOK_KERNEL};
    static const char *const more[] = {"family"}; /* no keyword */
    const char *near = parse_near_keyword(p, parse_peek(p), words, sizeof words);
    return near || parse_peek(p)->kind != TOK_NAME
               ? near
               : text_nearest(token_text(p, parse_peek(p)), more, 1);
}

/* Returns what to write for a word of C++ or CUDA that begins a declaration of a file; NULL: it is
 * another word. */
static const char *module_way_out(const struct parser *p)
{
    static const char *const table[][2] = {
        {"constexpr", "write `const i32 N = 64;`"},
        {"__constant__", "a table of constants is `const f32 W[4] = {1, 2, 2, 1};`"},
        {"using",
         "leave it out: there are no namespaces; a choice of types is `type T = {f16, f32};`"},
        {"namespace", "leave it out: there are no namespaces"},
        {"extern", "leave it out: C calls every kernel by its name"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (parse_at_foreign(p, table[i][0]))
            return table[i][1];
    return NULL;
}

/* Reports text that is not a declaration of a module, and says what belongs there. */
static struct node *no_toplevel(struct parser *p)
{
    const struct token *t = parse_peek(p);
    const char *near = near_toplevel(p), *way_out = module_way_out(p);
    bool is_struct = parse_at_word(p, "struct");
    if (t->kind == TOK_RBRACE)
        parse_fail(p, parse_here(p), "'}' closes nothing");
    else if (t->kind == TOK_SEMICOLON) {
        parse_complain(p, parse_here(p), "';' ends nothing");
        parse_advance(p);
    } else if (t->kind == TOK_GLOBAL || t->kind == TOK_SHARED || t->kind == TOK_REG) {
        if (parse_fail(p, parse_here(p), "%s declares within a kernel", token_shown(p, t)))
            parse_note(p, parse_here(p), "move it into the kernel's body");
    } else if (parse_at_word(p, "__device__") || parse_at_word(p, "void")) {
        if (parse_fail(p, parse_here(p), "expected a declaration, saw %s", token_shown(p, t)))
            parse_note(p, parse_here(p),
                       parse_at_word(p, "__device__")
                           ? "write `fn f32 name(…) { … }`"
                           : "write `kernel name(…) grid(…) warps(4) { … }`");
    } else if (parse_at_word(p, "struct") || parse_at_word(p, "typedef") ||
               parse_at_word(p, "enum") || parse_at_word(p, "union")) {
        if (parse_fail(p, parse_here(p), "there is no `%s`", token_text(p, t)))
            parse_note(p, parse_here(p),
                       is_struct
                           ? "write one parameter or array for each member; a function may return "
                             "several values: `fn (f32, f32) minmax(…)`"
                           : "a choice of element types is `type T = {f16, f32};`");
    } else if (t->kind == TOK_NAME && parse_at_launch(p)) {
        if (parse_fail(p, parse_here(p), "a file has no launches: `%s<<<…>>>`", token_text(p, t))) {
            parse_is_foreign(p);
            parse_note(
                p, parse_here(p),
                "the kernel's head has the grid and the block: `kernel %s(…) grid(cdiv(n, 256)) "
                "threads(256)`; `tilewright run`, C or Python launches it",
                token_text(p, t));
        }
    } else if (way_out) {
        if (parse_fail(p, parse_here(p), "there is no `%s`", token_text(p, t))) {
            parse_is_foreign(p);
            parse_note(p, parse_here(p), "%s", way_out);
        }
    } else if (parse_fail_expected(p, "a declaration")) {
        if (near)
            diag_near(p->diag, parse_here(p), near);
        else
            parse_note(
                p, parse_here(p),
                "a module holds import, const, tune, type, require, static_assert, fn, kernel and "
                "family");
    }
    return NULL;
}

struct node *parse_toplevel(struct parser *p)
{
    const struct token *next = parse_peek_ahead(p, 1);
    uint32_t close = parse_template_close(p);
    if (close)
        return parse_slip_template(p, close);
    if (parse_cuda_words(p))
        return parse_slip_cuda_kernel(p);
    if (parse_at_c_function(p))
        return parse_fn(p);
    if (parse_at_family(p))
        return parse_family(p);
    switch (parse_peek(p)->kind) {
    case TOK_IMPORT: return parse_import(p);
    case TOK_CONST: return parse_const(p);
    case TOK_TUNE: return parse_tune(p);
    case TOK_TYPE: return parse_typevar(p);
    case TOK_REQUIRE: return parse_require(p);
    case TOK_STATIC_ASSERT: return parse_static_assert(p);
    case TOK_FN: return parse_fn(p);
    case TOK_KERNEL: return parse_kernel(p);
    case TOK_NAME:
        if (parse_is_type_name(p, parse_peek(p)) && next->kind == TOK_NAME &&
            parse_peek_ahead(p, 2)->kind == TOK_ASSIGN)
            return parse_const(p);
        return no_toplevel(p);
    default: return no_toplevel(p);
    }
}
