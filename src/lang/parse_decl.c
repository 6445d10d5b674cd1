/* Declarations: names with their extents and values. */
#include "lang/parse_internal.h"

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
struct node *parse_braces(struct parser *p, int depth)
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
