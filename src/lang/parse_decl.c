/* Declarations: types, names with their extents, and the declarations of a module. */
#include "lang/parse_internal.h"

#include "base/text.h"

#include <string.h>

/* --- types --- */

/* Reports a C type of several words, such as `unsigned int` or `long long`, and reads it as one
 * type. */
static void slip_c_type(struct parser *p, struct node *type)
{
    uint32_t first = p->pos;
    const char *meant = c_type(p, peek(p));
    bool is_unsigned = false;
    while (c_type(p, peek(p))) {
        is_unsigned = is_unsigned || at_word(p, "unsigned");
        if (strcmp(meant, "i32") == 0 || strcmp(meant, "u32") == 0)
            meant = c_type(p, peek(p));
        advance(p);
    }
    if (is_unsigned && meant[0] == 'i')
        meant = arena_printf(p->arena, "u%s", meant + 1);
    type->loc = range_from(p, first);
    type->text = meant;
    struct loc where = type->loc;
    if (complain(p, where, "`%.*s` is not a type here",
                 (int)(where.length < 40 ? where.length : 40), p->source->text + where.offset)) {
        is_foreign(p);
        note_write(p, where, meant);
    }
}

/* type = NAME | "typeof" "(" expr ")" */
struct node *parse_type(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *type = node_new(p, N_TYPE, here(p));
    const struct token *t = peek(p);
    if (accept(p, TOK_TYPEOF)) {
        uint32_t open = p->pos;
        if (expect(p, TOK_LPAREN, "after `typeof`")) {
            type->a = enter(p) ? parse_expr(p) : node_int(p, 0, here(p));
            leave(p);
        }
        if (type->a)
            expect_close(p, open, "after the expression");
        type->loc = range_from(p, first);
        return type;
    }
    type->text = "";
    if (c_type(p, t)) {
        slip_c_type(p, type);
        return type;
    }
    if (t->kind != TOK_NAME) {
        fail_expected(p, "a type");
        return type;
    }
    if (future_type(p, t))
        report_future_type(p, t, future_type(p, t));
    if (at_foreign(p, "auto") && complain(p, here(p), "there is no `auto`"))
        note(p, here(p), "write the type (`i32`, `f32`, …), or `typeof(x)`");
    type->text = token_text(p, t);
    advance(p);
    return type;
}

/* --- local declarations --- */

/* Returns what to do about a word of C or CUDA before a declaration, and the text that replaces
 * it: "" removes the word, NULL means that the change takes more. */
static const char *const *foreign_qualifier(const struct parser *p)
{
    static const char *const table[][3] = {
        {"__shared__", "write `shared`", "shared"},
        {"__constant__", "a constant is `const` or, of the module, `const i32 N = 4;`", NULL},
        {"volatile", "leave it out: memory that other threads write is read again after `sync()`",
         ""},
        {"register", "write `reg` for a tile, nothing for a scalar", ""},
        {"extern", "write `shared f32 s[N];` with a constant extent", NULL},
        {"inline", "leave it out", ""},
        {"constexpr", "write `const`", "const"},
        {"let", "write the type: `i32 x = …;`", NULL},
        {"var", "write the type: `i32 x = …;`", NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (at_foreign(p, table[i][0]))
            return table[i];
    return NULL;
}

/* Returns the storage word that the first name of `share f32 s[N];` nearly is: a name, a type
 * and a name. NULL: the text does not have this form. */
static const char *near_storage(struct parser *p)
{
    static const unsigned char words[] = {TOK_SHARED, TOK_GLOBAL, TOK_REG, TOK_CONST};
    const struct token *t = peek(p), *type = peek_ahead(p, 1), *name = peek_ahead(p, 2);
    if (t->kind != TOK_NAME || type->kind != TOK_NAME || name->kind != TOK_NAME ||
        name->line_start || is_type_name(p, t) || !is_type_name(p, type))
        return NULL;
    return near_keyword(p, t, words, sizeof words);
}

/* Returns true if a declaration begins here: with a word for storage or a type. Two names on one
 * line also count as one, so that the checker can name the type that the first one nearly is. */
bool starts_declaration(struct parser *p)
{
    const struct token *t = peek(p), *next = peek_ahead(p, 1);
    switch (t->kind) {
    case TOK_CONST:
    case TOK_GLOBAL:
    case TOK_SHARED:
    case TOK_REG:
    case TOK_TYPEOF: return true;
    case TOK_NAME:
        if (foreign_qualifier(p))
            return next->kind == TOK_NAME || token_table[next->kind].keyword;
        if (!is_type_name(p, t))
            return next->kind == TOK_NAME && !next->line_start &&
                   !(token_is(p, next, "by") && peek_ahead(p, 2)->kind == TOK_LPAREN);
        if (next->kind == TOK_LPAREN)
            return next->match != NO_MATCH && p->tokens[next->match + 1].kind == TOK_ASSIGN;
        return next->kind == TOK_NAME || next->kind == TOK_STAR || token_table[next->kind].keyword;
    default: return false;
    }
}

static bool at_future_suffix(const struct parser *p)
{
    return at_word(p, "layout") && peek_ahead(p, 1)->kind == TOK_LPAREN;
}

/* { "at" "(" expr ")" | "strides" "(" expr { "," expr } ")" | "=" expr }, as the storage allows */
static void parse_declared_suffix(struct parser *p, struct node *n)
{
    while (at(p, TOK_NAME) && peek_ahead(p, 1)->kind == TOK_LPAREN && !n->init) {
        uint32_t open = p->pos + 1;
        bool is_at = at_word(p, "at") && (n->i == DECL_SHARED || n->i == DECL_MBARRIER);
        if (at_word(p, "at") && !is_at)
            complain(p, here(p), "`at` gives a place to `shared` tiles and mbarriers only");
        else if (at_future_suffix(p))
            report_future(p, peek(p));
        else if (!is_at && !at_word(p, "strides"))
            return;
        bool strides = at_word(p, "strides");
        advance(p);
        advance(p);
        struct node *list = parse_list(p, TOK_RPAREN);
        expect_close(p, open, "after the expression");
        if (strides)
            n->strides = list;
        else
            n->at = list;
    }
}

/* braces = "{" [ ( expr | braces ) { "," ( expr | braces ) } [ "," ] ] "}" */
static struct node *parse_braces(struct parser *p, int depth)
{
    enum { MOST_AXES = 6 };
    struct node *n = node_new(p, N_BRACES, here(p)), **tail = &n->list;
    uint32_t open = p->pos;
    if (!expect(p, TOK_LBRACE, "before the values"))
        return n;
    while (!at(p, TOK_RBRACE) && !at(p, TOK_END)) {
        bool nests = at(p, TOK_LBRACE) && depth < MOST_AXES;
        *tail = nests ? parse_braces(p, depth + 1) : parse_expr(p);
        node_below(p, n, *tail);
        tail = &(*tail)->next;
        if (!accept(p, TOK_COMMA))
            break;
    }
    expect_close(p, open, "after the values");
    n->loc = range_from(p, open);
    return n;
}

/* Reports = { 1, 2, 3 } after a name that is not a constant. */
static bool slip_initialiser_list(struct parser *p)
{
    if (!at(p, TOK_LBRACE) || peek(p)->match == NO_MATCH)
        return false;
    if (complain(p, here(p), "a list of values makes a constant table"))
        note(p, here(p),
             "write `const T NAME[N] = {…};`, or start from one value (`= 0`) and assign the "
             "elements");
    go_to(p, peek(p)->match + 1);
    return true;
}

/* declared = NAME { "[" expr "]" } [ "at" … ] [ "=" expr [ "clean" ] ] [ "strides" … ] */
static struct node *parse_declared(struct parser *p, enum decl_storage storage, struct node *type,
                                   bool is_const)
{
    if (at(p, TOK_STAR)) {
        if (complain(p, here(p), "there are no pointer variables"))
            note(p, here(p), "a view of a parameter is `global f32 A[m][n] = a;`");
        while (accept(p, TOK_STAR) || accept(p, TOK_CONST) || accept_word(p, "__restrict__") ||
               accept_word(p, "__restrict") || accept_word(p, "restrict"))
            ;
    }
    struct node *n = node_new(p, N_DECL, here(p));
    n->i = storage;
    n->type = type;
    n->is_const = is_const;
    n->text = expect_name(p, "a name to declare");
    n->dims = parse_dims(p);
    parse_declared_suffix(p, n);
    if (accept(p, TOK_ASSIGN)) {
        if (is_const && n->dims && at(p, TOK_LBRACE))
            n->init = parse_braces(p, 1);
        else if (slip_initialiser_list(p))
            n->init = node_int(p, 0, here(p));
        else
            n->init = parse_expr(p);
        n->is_clean = storage == DECL_GLOBAL && accept_word(p, "clean");
    } else if (storage == DECL_GLOBAL && at_word(p, "clean")) {
        complain(p, here(p), "`clean` workspace begins as 0: write `= 0 clean`");
        advance(p);
    }
    if (storage == DECL_GLOBAL && at_word(p, "strides")) {
        struct node *init = n->init;
        n->init = NULL;
        parse_declared_suffix(p, n);
        n->init = init;
    }
    return n;
}

/* type "(" NAME { "," NAME } ")" "=" call */
static struct node *parse_destruct(struct parser *p, enum decl_storage storage, struct node *type)
{
    uint32_t open = p->pos;
    struct node *n = node_new(p, N_DESTRUCT, type->loc), **tail = &n->list;
    n->type = type;
    n->i = storage;
    advance(p);
    do {
        struct loc where = here(p);
        *tail = node_name(p, expect_name(p, "a name to declare"), where);
        tail = &(*tail)->next;
    } while (accept(p, TOK_COMMA));
    expect_close(p, open, "after the names");
    expect(p, TOK_ASSIGN, "after the names");
    n->a = parse_expr(p);
    return n;
}

enum decl_storage parse_storage(struct parser *p)
{
    const char *near = near_storage(p);
    if (near) {
        if (complain(p, here(p), "there is no `%s`", token_text(p, peek(p))))
            diag_near(p->diag, here(p), near);
        advance(p);
        return near[0] == 's'   ? DECL_SHARED
               : near[0] == 'g' ? DECL_GLOBAL
               : near[0] == 'r' ? DECL_REG
                                : DECL_PLAIN;
    }
    return accept(p, TOK_GLOBAL)   ? DECL_GLOBAL
           : accept(p, TOK_SHARED) ? DECL_SHARED
           : accept(p, TOK_REG)    ? DECL_REG
                                   : DECL_PLAIN;
}

/* decl = [ "const" ] [ "global" | "shared" | "reg" ] type declared { "," declared } | type "(" NAME
 * … ")" "=" call */
struct node *parse_declaration(struct parser *p)
{
    uint32_t first = p->pos;
    bool is_shared = at_foreign(p, "__shared__");
    for (const char *const *word; (word = foreign_qualifier(p)) != NULL; advance(p)) {
        is_shared = is_shared || at_foreign(p, "__shared__");
        if (!complain(p, here(p), "there is no `%s`", word[0]))
            continue;
        is_foreign(p);
        note(p, here(p), "%s", word[1]);
        if (word[2])
            fix(p, *word[2] ? here(p) : with_blanks(p, here(p)), word[2]);
    }
    bool is_const = accept(p, TOK_CONST);
    uint32_t word = p->pos;
    enum decl_storage storage = parse_storage(p);
    if (is_const && storage != DECL_PLAIN)
        if (complain(p, token_loc(p, &p->tokens[word]), "`const` is only for scalars and arrays"))
            note(p, here(p), "a view is const when its parameter is: `const f32 *a`");
    if (is_shared)
        storage = DECL_SHARED;
    struct node *type = parse_type(p);
    if (at(p, TOK_LPAREN))
        return parse_destruct(p, storage, type);
    struct node *n = node_new(p, N_DECLS, here(p)), **tail = &n->list;
    do {
        *tail = parse_declared(p, storage, type, is_const);
        tail = &(*tail)->next;
    } while (accept(p, TOK_COMMA));
    n->loc = range_from(p, first);
    return n;
}

/* "mbarrier" mbarrier { "," mbarrier }, of which
 * mbarrier = NAME { "[" expr "]" } "(" expr ")" [ "ready" ] [ "at" … ] */
struct node *parse_mbarriers(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *n = node_new(p, N_DECLS, here(p)), **tail = &n->list;
    advance(p);
    do {
        struct node *d = node_new(p, N_DECL, here(p));
        *tail = d;
        tail = &d->next;
        d->i = DECL_MBARRIER;
        d->text = expect_name(p, "a name to declare");
        d->dims = parse_dims(p);
        uint32_t open = p->pos;
        if (expect(p, TOK_LPAREN, "and the number of arrivals: `mbarrier full[3](1)`"))
            d->a = parse_expr(p);
        expect_close(p, open, "after the number of arrivals");
        d->is_ready = accept_word(p, "ready");
        parse_declared_suffix(p, d);
    } while (accept(p, TOK_COMMA));
    n->loc = range_from(p, first);
    return n;
}

/* --- the module's --- */

/* import = "import" STRING ";" */
static struct node *parse_import(struct parser *p)
{
    struct node *n = node_new(p, N_IMPORT, here(p));
    advance(p);
    if (!at(p, TOK_STRING)) {
        if (fail_expected(p, "the file, a string"))
            note(p, here(p), "write `import \"file.tile\";`");
        return NULL;
    }
    n->text = peek(p)->text;
    advance(p);
    expect_semicolon(p, "after the import");
    return n;
}

/* const = "const" type constant { "," constant } ";"
 * constant = NAME "=" expr | NAME "[" expr "]" { "[" expr "]" } "=" braces */
static struct node *parse_const(struct parser *p)
{
    struct node *head = NULL, **tail = &head;
    if (!accept(p, TOK_CONST) && complain(p, here(p), "a module has no variables"))
        note(p, here(p), "a constant is `const i32 N = 4;`");
    struct node *type = parse_type(p);
    do {
        struct node *n = node_new(p, N_CONST, here(p));
        n->type = type;
        n->text = expect_name(p, "the constant's name");
        n->dims = parse_dims(p);
        expect(p, TOK_ASSIGN, "after the constant's name");
        bool list = at(p, TOK_LBRACE) && !n->dims && peek(p)->match != NO_MATCH;
        if (list && complain(p, here(p), "a list of values makes a table, which has its length"))
            note(p, n->loc, "write `%s[…] = {…}`", n->text);
        n->init = n->dims || list ? parse_braces(p, 1) : parse_expr(p);
        tail = append_nodes(tail, n);
    } while (accept(p, TOK_COMMA));
    expect_semicolon(p, "after the constant");
    return head;
}

/* Parses a list in braces; `one` parses each item. A comma may end the list. */
static struct node *parse_braced(struct parser *p, struct node *(*one)(struct parser *),
                                 const char *what)
{
    uint32_t open = p->pos;
    struct node *head = NULL, **tail = &head;
    if (!expect(p, TOK_LBRACE, what))
        return NULL;
    do {
        *tail = one(p);
        tail = &(*tail)->next;
    } while (accept(p, TOK_COMMA) && !at(p, TOK_RBRACE));
    expect_close(p, open, "after the values");
    return head;
}

/* Returns true at a TARGET in parentheses; a group of names would have a '=' after it. */
static bool at_target(const struct parser *p)
{
    const struct token *open = peek(p);
    if (open->kind != TOK_LPAREN)
        return false;
    return open->match == NO_MATCH || p->tokens[open->match + 1].kind != TOK_ASSIGN;
}

static const char *parse_target(struct parser *p)
{
    uint32_t open = p->pos;
    advance(p);
    const char *target = expect_name(p, "a target (cpu, sim, cuda, sm_90)");
    expect_close(p, open, "after the target");
    return target;
}

/* ( NAME | "(" NAME { "," NAME } ")" ) "=" "{" value { "," value } "}" */
static struct node *parse_tune_list(struct parser *p, const char *target)
{
    struct node *n = node_new(p, N_TUNE, here(p)), **tail = &n->names;
    n->text = target;
    uint32_t open = p->pos;
    bool group = accept(p, TOK_LPAREN);
    do {
        struct loc where = here(p);
        *tail = node_name(p, expect_name(p, "the name of what is tuned"), where);
        tail = &(*tail)->next;
    } while (group && accept(p, TOK_COMMA));
    if (group)
        expect_close(p, open, "after the names");
    expect(p, TOK_ASSIGN, "after the tuned name");
    n->list = parse_braced(p, parse_tuple_or_expr, "before the values");
    return n;
}

/* tune = "tune" [ "(" TARGET ")" ] list ";" */
static struct node *parse_tune(struct parser *p)
{
    uint32_t first = p->pos;
    advance(p);
    const char *target = at_target(p) ? parse_target(p) : NULL;
    struct node *n = parse_tune_list(p, target), *last = n;
    while (at(p, TOK_COMMA) && !p->panic) {
        if (complain(p, here(p), "a `tune` has one list of values"))
            note(p, here(p),
                 "one `tune` each; or `tune (BM, BN) = {(64, 64), (128, 64)};`, whose names vary "
                 "together");
        advance(p);
        first = p->pos;
        last = last->next = parse_tune_list(p, target);
    }
    expect_semicolon(p, "after the list of values");
    last->loc = range_from(p, first);
    return n;
}

/* typevar = "type" NAME "=" "{" type { "," type } "}" ";" */
static struct node *parse_typevar(struct parser *p)
{
    advance(p);
    struct node *n = node_new(p, N_TYPEVAR, here(p));
    n->text = expect_name(p, "the name of the type");
    expect(p, TOK_ASSIGN, "after the name of the type");
    n->list = parse_braced(p, parse_type, "before the types");
    expect_semicolon(p, "after the list of types");
    return n;
}

/* require = "require" "(" expr ")" ";" */
struct node *parse_require(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    struct node *n = node_new(p, N_REQUIRE, here(p));
    advance(p);
    if (expect(p, TOK_LPAREN, "after `require`")) {
        n->a = parse_condition(p);
        expect_close(p, open, "after the condition");
    }
    expect_semicolon(p, "after `require(…)`");
    n->loc = range_from(p, first);
    return n;
}

/* static_assert = "static_assert" "(" expr [ "," STRING ] ")" ";" */
struct node *parse_static_assert(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    struct node *n = node_new(p, N_STATIC_ASSERT, here(p));
    advance(p);
    if (expect(p, TOK_LPAREN, "after `static_assert`")) {
        n->a = parse_condition(p);
        if (accept(p, TOK_COMMA)) {
            if (at(p, TOK_STRING))
                n->text = peek(p)->text;
            else
                fail_expected(p, "the message, a string");
            advance(p);
        }
        expect_close(p, open, "after the condition");
    }
    expect_semicolon(p, "after `static_assert(…)`");
    n->loc = range_from(p, first);
    return n;
}

/* --- declarations of a module --- */

/* Returns the module-level word that a name nearly is; NULL: none. */
static const char *near_toplevel(struct parser *p)
{
    static const unsigned char words[] = {TOK_IMPORT,  TOK_CONST,         TOK_TUNE, TOK_TYPE,
                                          TOK_REQUIRE, TOK_STATIC_ASSERT, TOK_FN,   TOK_KERNEL};
    static const char *const more[] = {"family"}; /* no keyword */
    const char *near = near_keyword(p, peek(p), words, sizeof words);
    return near || peek(p)->kind != TOK_NAME ? near : nearest_name(token_text(p, peek(p)), more, 1);
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
        if (at_foreign(p, table[i][0]))
            return table[i][1];
    return NULL;
}

/* Reports text that is not a declaration of a module, and says what belongs there. */
static struct node *no_toplevel(struct parser *p)
{
    const struct token *t = peek(p);
    const char *near = near_toplevel(p), *way_out = module_way_out(p);
    bool is_struct = at_word(p, "struct");
    if (t->kind == TOK_RBRACE)
        fail(p, here(p), "'}' closes nothing");
    else if (t->kind == TOK_SEMICOLON) {
        complain(p, here(p), "';' ends nothing");
        advance(p);
    } else if (t->kind == TOK_GLOBAL || t->kind == TOK_SHARED || t->kind == TOK_REG) {
        if (fail(p, here(p), "%s declares within a kernel", token_shown(p, t)))
            note(p, here(p), "move it into the kernel's body");
    } else if (at_word(p, "__device__") || at_word(p, "void")) {
        if (fail(p, here(p), "expected a declaration, saw %s", token_shown(p, t)))
            note(p, here(p),
                 at_word(p, "__device__") ? "write `fn f32 name(…) { … }`"
                                          : "write `kernel name(…) grid(…) warps(4) { … }`");
    } else if (at_word(p, "struct") || at_word(p, "typedef") || at_word(p, "enum") ||
               at_word(p, "union")) {
        if (fail(p, here(p), "there is no `%s`", token_text(p, t)))
            note(p, here(p),
                 is_struct ? "write one parameter or array for each member; a function may return "
                             "several values: `fn (f32, f32) minmax(…)`"
                           : "a choice of element types is `type T = {f16, f32};`");
    } else if (t->kind == TOK_NAME && at_launch(p)) {
        if (fail(p, here(p), "a file has no launches: `%s<<<…>>>`", token_text(p, t))) {
            is_foreign(p);
            note(p, here(p),
                 "the kernel's head has the grid and the block: `kernel %s(…) grid(cdiv(n, 256)) "
                 "threads(256)`; `tilewright run`, C or Python launches it",
                 token_text(p, t));
        }
    } else if (way_out) {
        if (fail(p, here(p), "there is no `%s`", token_text(p, t))) {
            is_foreign(p);
            note(p, here(p), "%s", way_out);
        }
    } else if (fail_expected(p, "a declaration")) {
        if (near)
            diag_near(p->diag, here(p), near);
        else
            note(p, here(p),
                 "a module holds import, const, tune, type, require, static_assert, fn, kernel and "
                 "family");
    }
    return NULL;
}

struct node *parse_toplevel(struct parser *p)
{
    const struct token *next = peek_ahead(p, 1);
    uint32_t close = template_close(p);
    if (close)
        return slip_template(p, close);
    if (cuda_words(p))
        return slip_cuda_kernel(p);
    if (at_c_function(p))
        return parse_fn(p);
    if (at_family(p))
        return parse_family(p);
    switch (peek(p)->kind) {
    case TOK_IMPORT: return parse_import(p);
    case TOK_CONST: return parse_const(p);
    case TOK_TUNE: return parse_tune(p);
    case TOK_TYPE: return parse_typevar(p);
    case TOK_REQUIRE: return parse_require(p);
    case TOK_STATIC_ASSERT: return parse_static_assert(p);
    case TOK_FN: return parse_fn(p);
    case TOK_KERNEL: return parse_kernel(p);
    case TOK_NAME:
        if (is_type_name(p, peek(p)) && next->kind == TOK_NAME &&
            peek_ahead(p, 2)->kind == TOK_ASSIGN)
            return parse_const(p);
        return no_toplevel(p);
    default: return no_toplevel(p);
    }
}
