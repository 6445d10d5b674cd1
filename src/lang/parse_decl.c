/* Declarations: types, names with their extents, and the declarations of a module. */
#include "lang/parse_internal.h"

#include "base/text.h"

#include <string.h>

/* Appends `more` at *tail; returns the new end of the list. */
static struct node **append(struct node **tail, struct node *more)
{
    *tail = more;
    while (*tail)
        tail = &(*tail)->next;
    return tail;
}

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

static enum decl_storage parse_storage(struct parser *p)
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
        tail = append(tail, n);
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
    struct node *n = node_new(p, N_RESULT, here(p));
    if (!enter(p)) {
        leave(p);
        return n;
    }
    if (accept(p, TOK_LPAREN)) {
        struct node **tail = &n->list;
        do {
            *tail = parse_result(p);
            tail = &(*tail)->next;
        } while (accept(p, TOK_COMMA));
        expect_close(p, first, "after the types of the results");
    } else if (at_foreign(p, "void")) {
        if (fail(p, here(p), "a `fn` gives a value"))
            note(p, here(p),
                 "write its type: `fn f32 name(…)`; a function without a result is written out in "
                 "the kernel");
    } else {
        n->i = parse_storage(p);
        if (n->i == DECL_GLOBAL || n->i == DECL_SHARED)
            complain(p, token_loc(p, &p->tokens[first]), "a `fn` gives scalars or `reg` tiles");
        n->type = parse_type(p);
        n->a = n->type;
        n->dims = parse_dims(p);
        if (n->dims && n->i == DECL_PLAIN &&
            complain(p, n->dims->loc, "a tile as a result is `reg`"))
            note(p, n->type->loc, "write `reg %s[…]`", n->type->text ? n->type->text : "T");
    }
    leave(p);
    n->loc = range_from(p, first);
    return n;
}

/* fparam = [ "reg" | "shared" | "global" ] type NAME { "[" dim "]" } */
static struct node *parse_fn_param(struct parser *p)
{
    struct node *n = node_new(p, N_PARAM, here(p));
    if (at(p, TOK_CONST)) {
        if (complain(p, here(p), "a parameter of a `fn` takes no `const`"))
            note(p, here(p),
                 "scalars and `reg` tiles are copies; a view is const when its pointer is");
        advance(p);
    }
    n->i = parse_storage(p);
    n->type = parse_type(p);
    bind_fn_type(p, n->type);
    if (at(p, TOK_STAR) && fail(p, here(p), "a `fn` takes no pointers"))
        note(p, here(p), "it takes views: `global f32 A[M][N]`");
    n->loc = here(p);
    n->text = expect_name(p, "the parameter's name");
    n->dims = parse_dims(p);
    return n;
}

/* Reports `cosnt f32 *x`, a misspelt word before a type, and reads the word that it nearly is. */
static void parse_near_qualifier(struct parser *p, struct node *param)
{
    static const unsigned char words[] = {TOK_CONST, TOK_STATIC};
    if (is_type_name(p, peek(p)) || !is_type_name(p, peek_ahead(p, 1)))
        return;
    const char *near = near_keyword(p, peek(p), words, sizeof words);
    if (!near || !complain(p, here(p), "there is no `%s`", token_text(p, peek(p))))
        return;
    diag_near(p->diag, here(p), near);
    param->is_const = *near == 'c';
    param->is_static = *near == 's';
    advance(p);
}

/* param = [ "static" ] type NAME [ "=" expr ] | [ "const" ] type "*" NAME */
static struct node *parse_kernel_param(struct parser *p)
{
    struct node *n = node_new(p, N_PARAM, here(p));
    n->is_static = accept(p, TOK_STATIC);
    n->is_const = accept(p, TOK_CONST);
    parse_near_qualifier(p, n);
    if (at(p, TOK_GLOBAL) || at(p, TOK_SHARED) || at(p, TOK_REG))
        if (fail(p, here(p), "a kernel takes scalars and pointers, no tiles"))
            note(p, here(p), "take `f32 *a`, and in the body `global f32 A[m][n] = a;`");
    n->type = parse_type(p);
    if (at(p, TOK_CONST) && complain(p, here(p), "`const` comes before the type"))
        note(p, here(p), "write `const f32 *a`");
    n->is_const = accept(p, TOK_CONST) || n->is_const;
    uint32_t star = p->pos;
    n->is_pointer = accept(p, TOK_STAR);
    if (at(p, TOK_STAR))
        fail(p, here(p), "there are no pointers to pointers");
    if (at(p, TOK_AMPERSAND) && fail(p, here(p), "there are no references"))
        note(p, here(p), "an array is a pointer: `f32 *y`");
    while (at_word(p, "__restrict__") || at_word(p, "restrict") || at_word(p, "__restrict")) {
        if (complain(p, here(p), "there is no `%s`", token_text(p, peek(p)))) {
            is_foreign(p);
            note(p, here(p), "a `const` pointer already says that the kernel does not write there");
            fix(p, with_blanks(p, here(p)), "");
        }
        advance(p);
    }
    n->loc = here(p);
    n->text = expect_name(p, "the parameter's name");
    if (n->is_static && n->is_pointer)
        complain(p, token_loc(p, &p->tokens[star]), "a pointer cannot be `static`");
    if (n->is_const && !n->is_pointer && complain(p, n->loc, "`const` belongs to pointers"))
        note(p, n->loc, "`static i32 n` is compiled in; any scalar may be left unassigned");
    if (at(p, TOK_LBRACKET)) {
        if (complain(p, here(p), "a parameter has no extents"))
            note(p, here(p), "take `f32 *a`, and in the body `global f32 A[m][n] = a;`");
        parse_dims(p);
    }
    if (at(p, TOK_ASSIGN) && n->is_pointer)
        complain(p, here(p), "an array has no default: the caller gives it");
    if (accept(p, TOK_ASSIGN))
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
    if (!expect(p, TOK_LPAREN, "before the parameters"))
        return NULL;
    if (at_word(p, "void") && peek_ahead(p, 1)->kind == TOK_RPAREN)
        advance(p);
    if (!at(p, TOK_RPAREN)) {
        do {
            *tail = one(p);
            tail = &(*tail)->next;
        } while (accept(p, TOK_COMMA));
    }
    expect_close(p, open, "after the parameters");
    return head;
}

/* fn = "fn" result NAME "(" [ fparam { "," fparam } ] ")" block */
static struct node *parse_fn(struct parser *p)
{
    struct node *n = node_new(p, N_FN, here(p));
    if (!accept(p, TOK_FN))
        slip_c_function(p);
    if (at(p, TOK_NAME) && peek_ahead(p, 1)->kind == TOK_LPAREN &&
        complain(p, here(p), "the type of the result is missing"))
        note(p, here(p), "write `fn f32 %s(…)`", token_text(p, peek(p)));
    else
        n->result = parse_result(p);
    n->loc = here(p);
    n->text = expect_name(p, "the fn's name");
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
    const char *word = token_text(p, peek(p));
    const char *near = nearest_name(word, attribute_names, ATTRIBUTES);
    if (is_future_word(p, peek(p)))
        report_future(p, peek(p));
    else if (complain(p, here(p), "`%s` is not an attribute of a kernel", word)) {
        if (near)
            diag_near(p->diag, here(p), near);
        else
            note(p, here(p),
                 "there are grid, warps, threads, cluster, resident, cooperative, target");
    }
    advance(p);
    if (at(p, TOK_LPAREN) && peek(p)->match != NO_MATCH)
        go_to(p, peek(p)->match + 1);
}

/* attr = "grid" "(" expr { "," expr } ")" | "warps" "(" expr ")" | "threads" "(" … ")" |
 * "resident" "(" expr ")" | "cooperative"
 *      | "target" "(" NAME ")" | "cluster" "(" expr { "," expr } ")" */
static struct node *parse_attribute(struct parser *p)
{
    uint32_t first = p->pos, open = first + 1;
    struct node *n = node_new(p, N_CALL, here(p));
    n->text = token_text(p, peek(p));
    advance(p);
    if (strcmp(n->text, "cooperative") == 0 || !expect(p, TOK_LPAREN, "after the attribute"))
        return n;
    n->list = parse_list(p, TOK_RPAREN);
    expect_close(p, open, "after the attribute's values");
    n->loc = range_from(p, first);
    return n;
}

static struct node *parse_attributes(struct parser *p)
{
    struct node *head = NULL, **tail = &head;
    while (at(p, TOK_NAME)) {
        bool known = false;
        for (int i = 0; i < ATTRIBUTES; i++)
            known = known || at_word(p, attribute_names[i]);
        if (known)
            tail = append(tail, parse_attribute(p));
        else
            unknown_attribute(p);
    }
    return head;
}

/* Adds a parameter for each number of the device that the kernel names. They are the last ones, so
 * that callers may leave them out. */
static void add_device_params(struct parser *p, struct node *kernel)
{
    struct node **tail = &kernel->params;
    bool clusters = false; /* then `device.clusters` follows from `device.sms` (check_cluster.c) */
    for (const struct node *a = kernel->attributes; a; a = a->next)
        clusters |= strcmp(a->text, "cluster") == 0;
    if (clusters && p->device[DEVICE_CLUSTERS]) {
        p->device[DEVICE_SMS] = true;
        p->device[DEVICE_CLUSTERS] = false;
    }
    while (*tail)
        tail = &(*tail)->next;
    for (enum device_number d = DEVICE_SMS; d <= DEVICE_CLUSTERS; d++) {
        if (!p->device[d])
            continue;
        struct node *n = node_new(p, N_PARAM, kernel->loc);
        n->text = device_number_text(d);
        n->device = d;
        n->type = node_new(p, N_TYPE, kernel->loc);
        n->type->text = "i32";
        tail = append(tail, n);
    }
}

/* kernel = "kernel" NAME "(" [ param { "," param } ] ")" { attr } block */
static struct node *parse_kernel(struct parser *p)
{
    struct node *n = node_new(p, N_KERNEL, here(p));
    advance(p);
    if (at_word(p, "void")) {
        if (complain(p, here(p), "a kernel has no result")) {
            is_foreign(p);
            note(p, here(p), "leave out `void`");
            fix(p, with_blanks(p, here(p)), "");
        }
        advance(p);
    }
    n->loc = here(p);
    n->text = expect_name(p, "the kernel's name");
    if (at(p, TOK_SHL) && peek_ahead(p, 1)->kind == TOK_LT &&
        fail(p, here(p), "a kernel's head has no `<<<…>>>`")) {
        is_foreign(p);
        note(p, here(p),
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
    if (at(p, TOK_SEMICOLON) && fail(p, here(p), "a kernel has a body"))
        note(p, n->loc,
             "there are no prototypes: kernels and fns may be used before they are declared");
    n->body = parse_block(p, "the kernel's body");
    p->in_kernel = false;
    add_device_params(p, n);
    return n;
}

/* --- kernels of CUDA C --- */

/* Counts the tokens before the name of a kernel of CUDA C: [ "extern" STRING | "static" ]
 * "__global__" "void" [ "__launch_bounds__" "(" … ")" ], the last three in any order. 0: not
 * such a kernel. */
static uint32_t cuda_words(const struct parser *p)
{
    uint32_t n = 0;
    bool is_kernel = false;
    for (;;) {
        const struct token *t = peek_ahead(p, n), *next = peek_ahead(p, n + 1);
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

/* Reports a kernel of CUDA C and reads it as a kernel. */
static struct node *slip_cuda_kernel(struct parser *p)
{
    uint32_t count = cuda_words(p);
    struct loc words = loc_join(here(p), token_loc(p, peek_ahead(p, count - 1)));
    if (complain(p, here(p), "expected a declaration, saw %s", token_shown(p, peek(p)))) {
        is_foreign(p);
        note(p, here(p),
             "this is CUDA C: `tilewright check` takes it as it is from a file whose name ends "
             "in .cu; in Tilewright's language write `kernel name(…) grid(…) threads(x, y) { … }`");
        fix(p, words, "kernel");
    }
    go_to(p, p->pos + count - 1); /* parse_kernel passes the last of the words */
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
        const struct token *type = peek_ahead(p, i), *name = peek_ahead(p, i + 1);
        bool is_type = token_is(p, type, "typename") || token_is(p, type, "class");
        if (name->kind != TOK_NAME || (!is_type && !c_type(p, type)) ||
            (i + 2 < close && peek_ahead(p, i + 2)->kind != TOK_COMMA))
            return false;
        text_printf(&t, is_type ? "type %s = {f32};" : "tune %s = {16};", token_text(p, name));
        text_add(&t, i + 2 < close ? "\n" : "");
    }
    diag_fix(p->diag, loc_join(here(p), token_loc(p, peek_ahead(p, close))), "%s", t.data);
    return true;
}

/* Returns the `>` that ends a template's list, counted from the current token; 0: this is not a
 * template of a kernel. */
static uint32_t template_close(struct parser *p)
{
    enum { MOST_TOKENS = 64 };
    uint32_t close = 2;
    if (!at_foreign(p, "template") || peek_ahead(p, 1)->kind != TOK_LT)
        return 0;
    while (close < MOST_TOKENS && peek_ahead(p, close)->kind != TOK_GT)
        close++;
    return close < MOST_TOKENS ? close : 0;
}

static struct node *slip_template(struct parser *p, uint32_t close)
{
    if (complain(p, here(p), "there are no templates")) {
        is_foreign(p);
        note(p, here(p),
             "a choice of values is `tune N = {16, 32};`, one of types `type T = {f32};`");
        fix_template(p, close);
    }
    go_to(p, p->pos + close + 1);
    return NULL;
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
