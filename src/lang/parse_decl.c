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
        if (parse_at_foreign(p, table[i][0]))
            return table[i];
    return NULL;
}

/* Returns the storage word that the first name of `share f32 s[N];` nearly is: a name, a type
 * and a name. NULL: the text does not have this form. */
static const char *near_storage(struct parser *p)
{
    static const unsigned char words[] = {TOK_SHARED, TOK_GLOBAL, TOK_REG, TOK_CONST};
    const struct token *t = parse_peek(p), *type = parse_peek_ahead(p, 1),
                       *name = parse_peek_ahead(p, 2);
    if (t->kind != TOK_NAME || type->kind != TOK_NAME || name->kind != TOK_NAME ||
        name->line_start || parse_is_type_name(p, t) || !parse_is_type_name(p, type))
        return NULL;
    return parse_near_keyword(p, t, words, sizeof words);
}

/* Returns true if a declaration begins here: with a word for storage or a type. Two names on one
 * line also count as one, so that the checker can name the type that the first one nearly is. */
bool parse_starts_declaration(struct parser *p)
{
    const struct token *t = parse_peek(p), *next = parse_peek_ahead(p, 1);
    switch (t->kind) {
    case TOK_CONST:
    case TOK_GLOBAL:
    case TOK_SHARED:
    case TOK_REG:
    case TOK_TYPEOF: return true;
    case TOK_NAME:
        if (foreign_qualifier(p))
            return next->kind == TOK_NAME || token_table[next->kind].keyword;
        if (!parse_is_type_name(p, t))
            return next->kind == TOK_NAME && !next->line_start &&
                   !(token_is(p, next, "by") && parse_peek_ahead(p, 2)->kind == TOK_LPAREN);
        if (next->kind == TOK_LPAREN)
            return next->match != NO_MATCH && p->tokens[next->match + 1].kind == TOK_ASSIGN;
        return next->kind == TOK_NAME || next->kind == TOK_STAR || token_table[next->kind].keyword;
    default: return false;
    }
}

static bool at_future_suffix(const struct parser *p)
{
    return parse_at_word(p, "layout") && parse_peek_ahead(p, 1)->kind == TOK_LPAREN;
}

/* { "at" "(" expr ")" | "strides" "(" expr { "," expr } ")" | "=" expr }, as the storage allows */
static void parse_declared_suffix(struct parser *p, struct node *n)
{
    while (parse_at(p, TOK_NAME) && parse_peek_ahead(p, 1)->kind == TOK_LPAREN && !n->init) {
        uint32_t open = p->pos + 1;
        bool is_at = parse_at_word(p, "at") && (n->i == DECL_SHARED || n->i == DECL_MBARRIER);
        if (parse_at_word(p, "at") && !is_at)
            parse_complain(p, parse_here(p),
                           "`at` gives a place to `shared` tiles and mbarriers only");
        else if (at_future_suffix(p))
            parse_report_future(p, parse_peek(p));
        else if (!is_at && !parse_at_word(p, "strides"))
            return;
        bool strides = parse_at_word(p, "strides");
        parse_advance(p);
        parse_advance(p);
        struct node *list = parse_list(p, TOK_RPAREN);
        parse_expect_close(p, open, "after the expression");
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
    struct node *n = node_new(p, N_BRACES, parse_here(p)), **tail = &n->list;
    uint32_t open = p->pos;
    if (!parse_expect(p, TOK_LBRACE, "before the values"))
        return n;
    while (!parse_at(p, TOK_RBRACE) && !parse_at(p, TOK_END)) {
        bool nests = parse_at(p, TOK_LBRACE) && depth < MOST_AXES;
        *tail = nests ? parse_braces(p, depth + 1) : parse_expr(p);
        node_below(p, n, *tail);
        tail = &(*tail)->next;
        if (!parse_accept(p, TOK_COMMA))
            break;
    }
    parse_expect_close(p, open, "after the values");
    n->loc = parse_range_from(p, open);
    return n;
}

/* Reports = { 1, 2, 3 } after a name that is not a constant. */
static bool slip_initialiser_list(struct parser *p)
{
    if (!parse_at(p, TOK_LBRACE) || parse_peek(p)->match == NO_MATCH)
        return false;
    if (parse_complain(p, parse_here(p), "a list of values makes a constant table"))
        parse_note(p, parse_here(p),
                   "write `const T NAME[N] = {…};`, or start from one value (`= 0`) and assign the "
                   "elements");
    parse_go_to(p, parse_peek(p)->match + 1);
    return true;
}

/* declared = NAME { "[" expr "]" } [ "at" … ] [ "=" expr [ "clean" ] ] [ "strides" … ] */
static struct node *parse_declared(struct parser *p, enum decl_storage storage, struct node *type,
                                   bool is_const)
{
    if (parse_at(p, TOK_STAR)) {
        if (parse_complain(p, parse_here(p), "there are no pointer variables"))
            parse_note(p, parse_here(p), "a view of a parameter is `global f32 A[m][n] = a;`");
        while (parse_accept(p, TOK_STAR) || parse_accept(p, TOK_CONST) ||
               parse_accept_word(p, "__restrict__") || parse_accept_word(p, "__restrict") ||
               parse_accept_word(p, "restrict"))
            ;
    }
    struct node *n = node_new(p, N_DECL, parse_here(p));
    n->i = storage;
    n->type = type;
    n->is_const = is_const;
    n->text = parse_expect_name(p, "a name to declare");
    n->dims = parse_dims(p);
    parse_declared_suffix(p, n);
    if (parse_accept(p, TOK_ASSIGN)) {
        if (is_const && n->dims && parse_at(p, TOK_LBRACE))
            n->init = parse_braces(p, 1);
        else if (slip_initialiser_list(p))
            n->init = node_int(p, 0, parse_here(p));
        else
            n->init = parse_expr(p);
        n->is_clean = storage == DECL_GLOBAL && parse_accept_word(p, "clean");
    } else if (storage == DECL_GLOBAL && parse_at_word(p, "clean")) {
        parse_complain(p, parse_here(p), "`clean` workspace begins as 0: write `= 0 clean`");
        parse_advance(p);
    }
    if (storage == DECL_GLOBAL && parse_at_word(p, "strides")) {
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
    parse_advance(p);
    do {
        struct loc where = parse_here(p);
        *tail = node_name(p, parse_expect_name(p, "a name to declare"), where);
        tail = &(*tail)->next;
    } while (parse_accept(p, TOK_COMMA));
    parse_expect_close(p, open, "after the names");
    parse_expect(p, TOK_ASSIGN, "after the names");
    n->a = parse_expr(p);
    return n;
}

enum decl_storage parse_storage(struct parser *p)
{
    const char *near = near_storage(p);
    if (near) {
        if (parse_complain(p, parse_here(p), "there is no `%s`", token_text(p, parse_peek(p))))
            diag_near(p->diag, parse_here(p), near);
        parse_advance(p);
        return near[0] == 's'   ? DECL_SHARED
               : near[0] == 'g' ? DECL_GLOBAL
               : near[0] == 'r' ? DECL_REG
                                : DECL_PLAIN;
    }
    return parse_accept(p, TOK_GLOBAL)   ? DECL_GLOBAL
           : parse_accept(p, TOK_SHARED) ? DECL_SHARED
           : parse_accept(p, TOK_REG)    ? DECL_REG
                                         : DECL_PLAIN;
}

/* decl = [ "const" ] [ "global" | "shared" | "reg" ] type declared { "," declared } | type "(" NAME
 * … ")" "=" call */
struct node *parse_declaration(struct parser *p)
{
    uint32_t first = p->pos;
    bool is_shared = parse_at_foreign(p, "__shared__");
    for (const char *const *word; (word = foreign_qualifier(p)) != NULL; parse_advance(p)) {
        is_shared = is_shared || parse_at_foreign(p, "__shared__");
        if (!parse_complain(p, parse_here(p), "there is no `%s`", word[0]))
            continue;
        parse_is_foreign(p);
        parse_note(p, parse_here(p), "%s", word[1]);
        if (word[2])
            parse_fix(p, *word[2] ? parse_here(p) : parse_with_blanks(p, parse_here(p)), word[2]);
    }
    bool is_const = parse_accept(p, TOK_CONST);
    uint32_t word = p->pos;
    enum decl_storage storage = parse_storage(p);
    if (is_const && storage != DECL_PLAIN)
        if (parse_complain(p, token_loc(p, &p->tokens[word]),
                           "`const` is only for scalars and arrays"))
            parse_note(p, parse_here(p), "a view is const when its parameter is: `const f32 *a`");
    if (is_shared)
        storage = DECL_SHARED;
    struct node *type = parse_type(p);
    if (parse_at(p, TOK_LPAREN))
        return parse_destruct(p, storage, type);
    struct node *n = node_new(p, N_DECLS, parse_here(p)), **tail = &n->list;
    do {
        *tail = parse_declared(p, storage, type, is_const);
        tail = &(*tail)->next;
    } while (parse_accept(p, TOK_COMMA));
    n->loc = parse_range_from(p, first);
    return n;
}

/* "mbarrier" mbarrier { "," mbarrier }, of which
 * mbarrier = NAME { "[" expr "]" } "(" expr ")" [ "ready" ] [ "at" … ] */
struct node *parse_mbarriers(struct parser *p)
{
    uint32_t first = p->pos;
    struct node *n = node_new(p, N_DECLS, parse_here(p)), **tail = &n->list;
    parse_advance(p);
    do {
        struct node *d = node_new(p, N_DECL, parse_here(p));
        *tail = d;
        tail = &d->next;
        d->i = DECL_MBARRIER;
        d->text = parse_expect_name(p, "a name to declare");
        d->dims = parse_dims(p);
        uint32_t open = p->pos;
        if (parse_expect(p, TOK_LPAREN, "and the number of arrivals: `mbarrier full[3](1)`"))
            d->a = parse_expr(p);
        parse_expect_close(p, open, "after the number of arrivals");
        d->is_ready = parse_accept_word(p, "ready");
        parse_declared_suffix(p, d);
    } while (parse_accept(p, TOK_COMMA));
    n->loc = parse_range_from(p, first);
    return n;
}

/* --- the module's --- */

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

/* require = "require" "(" expr ")" ";" */
struct node *parse_require(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    struct node *n = node_new(p, N_REQUIRE, parse_here(p));
    parse_advance(p);
    if (parse_expect(p, TOK_LPAREN, "after `require`")) {
        n->a = parse_condition(p);
        parse_expect_close(p, open, "after the condition");
    }
    parse_expect_semicolon(p, "after `require(…)`");
    n->loc = parse_range_from(p, first);
    return n;
}

/* static_assert = "static_assert" "(" expr [ "," STRING ] ")" ";" */
struct node *parse_static_assert(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    struct node *n = node_new(p, N_STATIC_ASSERT, parse_here(p));
    parse_advance(p);
    if (parse_expect(p, TOK_LPAREN, "after `static_assert`")) {
        n->a = parse_condition(p);
        if (parse_accept(p, TOK_COMMA)) {
            if (parse_at(p, TOK_STRING))
                n->text = parse_peek(p)->text;
            else
                parse_fail_expected(p, "the message, a string");
            parse_advance(p);
        }
        parse_expect_close(p, open, "after the condition");
    }
    parse_expect_semicolon(p, "after `static_assert(…)`");
    n->loc = parse_range_from(p, first);
    return n;
}

/* --- declarations of a module --- */

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
