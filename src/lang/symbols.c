/* The names that a text declares: their places, their kinds, and their uses. It serves editors, so
 * a text with errors gives the names in the parts that could be parsed.
 *
 * Names are looked up as in the checker: those of the module may be used before they are
 * declared; a local name is known from its declaration to the end of its block, and hides an
 * outer one. */
#include "lang/check_internal.h"
#include "lang/scan.h"
#include "lang/syntax.h"

#include <string.h>

/* A local name, and the symbol that it hides, which is known again when the local name's scope
 * ends. */
struct hidden {
    const char *name;
    uint32_t before; /* the number of its entry before */
};
struct symbol_reader {
    struct arena *arena;
    const struct source *source;
    struct token_list scanned;
    struct lang_symbols found;
    struct name_table known; /* number: index of the symbol + 1; 0: none */
    VEC(struct hidden) hidden;
    int owner;
    uint32_t scope_end; /* end of the innermost block */
};

static struct name_entry *known_entry(struct symbol_reader *r, const char *name)
{
    return name_table_entry(&r->known, name, strlen(name));
}

/* --- tokens --- */

/* Returns the token after `at`, or after the bracket that it opens. */
static uint32_t token_after(const struct symbol_reader *r, uint32_t at)
{
    const struct token *t = &r->scanned.tokens[at];
    return (t->match != NO_MATCH && t->match > at ? t->match : at) + 1;
}

static bool is_one_of(enum token_kind kind, const enum token_kind *list)
{
    for (; *list != TOK_END; list++)
        if (kind == *list)
            return true;
    return false;
}

/* Adds the tokens from `at` up to one of the kinds `ends`. Each run of blanks in the text
 * becomes one blank. */
static void add_tokens(const struct symbol_reader *r, struct text *out, uint32_t at,
                       const enum token_kind *ends)
{
    const struct token *t = r->scanned.tokens;
    uint32_t next = at;
    for (uint32_t i = at; t[i].kind != TOK_END; i++) {
        if (i == next && is_one_of(t[i].kind, ends))
            return;
        next = i == next ? token_after(r, i) : next;
        if (i > at && t[i].offset > t[i - 1].offset + t[i - 1].length)
            text_add_char(out, ' ');
        text_add_n(out, r->source->text + t[i].offset, t[i].length);
    }
}

static const enum token_kind ends_of_declared[] = {TOK_COMMA, TOK_SEMICOLON, TOK_RPAREN, TOK_RBRACE,
                                                   TOK_END};
static const enum token_kind ends_of_statement[] = {TOK_SEMICOLON, TOK_RBRACE, TOK_END};
static const enum token_kind ends_of_head[] = {TOK_LBRACE, TOK_SEMICOLON, TOK_RBRACE, TOK_END};

/* Returns the token after the nearest token of the kinds before `at`, outside of brackets. */
static uint32_t token_after_last(const struct symbol_reader *r, uint32_t at,
                                 const enum token_kind *kinds)
{
    while (at > 0 && !is_one_of(r->scanned.tokens[at - 1].kind, kinds)) {
        uint32_t match = r->scanned.tokens[at - 1].match;
        at = match != NO_MATCH && match < at - 1 ? match : at - 1;
    }
    return at;
}

/* --- declaring --- */

/* The tokens that declare a name: those from `from` to `words`, shared by all names of the
 * statement, then those from `rest` on. */
struct declaring {
    uint32_t from, words, rest;
    const enum token_kind *ends;
};

static void declare(struct symbol_reader *r, enum lang_symbol_kind kind, const char *name,
                    struct loc at, struct declaring by)
{
    if (!*name || at.length != strlen(name) ||
        memcmp(r->source->text + at.offset, name, at.length) != 0)
        return;
    struct text t;
    text_init(&t, r->arena);
    text_add(&t, "");
    for (uint32_t i = by.from; i < by.words; i++) {
        const struct token *w = &r->scanned.tokens[i];
        text_add_n(&t, r->source->text + w->offset, w->length);
        text_add(&t, w[1].offset > w->offset + w->length ? " " : "");
    }
    add_tokens(r, &t, by.rest, by.ends);
    struct lang_symbol s = {.kind = kind,
                            .name = name,
                            .declaration = t.data,
                            .at = at,
                            .owner = r->owner,
                            .scope = {r->source, at.offset, r->scope_end - at.offset},
                            .whole = {r->source, r->scanned.tokens[by.from].offset, 0}};
    s.whole.length = at.offset + at.length - s.whole.offset;
    struct name_entry *e = known_entry(r, name);
    vec_push(r->arena, &r->hidden, ((struct hidden){name, e->number}));
    vec_push(r->arena, &r->found, s);
    e->number = (uint32_t)r->found.count;
}

/* Returns all tokens from `from` on. */
static struct declaring all_from(uint32_t from, const enum token_kind *ends)
{
    return (struct declaring){from, from, from, ends};
}

static void end_scope(struct symbol_reader *r, size_t hidden)
{
    while (r->hidden.count > hidden) {
        const struct hidden *h = &r->hidden.data[--r->hidden.count];
        known_entry(r, h->name)->number = h->before;
    }
}

static void use(struct symbol_reader *r, const char *name, struct loc at)
{
    const struct name_entry *e = name ? name_table_find(&r->known, name, strlen(name)) : NULL;
    if (!e || !e->number)
        return;
    at.length = (uint32_t)strlen(name);
    vec_push(r->arena, &r->found.data[e->number - 1].uses, at);
}

static void visit(void *user, const struct node *n);

static void visit_all(struct symbol_reader *r, const struct node *list)
{
    for (; list; list = list->next)
        visit(r, list);
}

static enum lang_symbol_kind kind_of(const struct node *n)
{
    return n->i == DECL_GLOBAL                            ? SYMBOL_VIEW
           : n->i == DECL_SHARED || n->i == DECL_MBARRIER ? SYMBOL_SHARED
           : n->i == DECL_REG                             ? SYMBOL_REG
           : n->is_const                                  ? SYMBOL_CONST
                                                          : SYMBOL_LOCAL;
}

static void visit_declarations(struct symbol_reader *r, const struct node *n)
{
    const struct node *first = n->list;
    uint32_t from = scan_token_at(&r->scanned, n->loc.offset),
             words = first ? scan_token_at(&r->scanned, first->loc.offset) : from;
    if (first)
        visit_all(r, first->type);
    for (const struct node *d = first; d; d = d->next) {
        visit_all(r, d->dims);
        visit_all(r, d->at);
        visit_all(r, d->strides);
        visit_all(r, d->init);
        declare(r, kind_of(d), d->text, d->loc,
                (struct declaring){from, words, scan_token_at(&r->scanned, d->loc.offset),
                                   ends_of_declared});
    }
}

static void visit_destruct(struct symbol_reader *r, const struct node *n)
{
    uint32_t from = scan_token_at(&r->scanned, n->loc.offset);
    visit_all(r, n->a);
    for (const struct node *d = n->list; d; d = d->next)
        declare(r, SYMBOL_LOCAL, d->text, d->loc, all_from(from, ends_of_statement));
}

static const enum token_kind before_param[] = {TOK_LPAREN, TOK_COMMA, TOK_END};

/* Visits a name in place of an extent or a type of a function's parameter. If it is not declared
 * anywhere, the call binds it, so it is declared here. */
static void bind(struct symbol_reader *r, const struct node *n, enum lang_symbol_kind kind,
                 uint32_t from)
{
    const struct name_entry *e =
        n->text ? name_table_find(&r->known, n->text, strlen(n->text)) : NULL;
    if ((e && e->number) || !n->text ||
        (kind == SYMBOL_TYPE && dtype_by_name(n->text, strlen(n->text)) != DT_NONE))
        visit(r, n);
    else
        declare(r, kind, n->text, n->loc, all_from(from, ends_of_declared));
}

static void visit_params(struct symbol_reader *r, const struct node *n)
{
    for (const struct node *p = n->params; p; p = p->next) {
        uint32_t from =
            token_after_last(r, scan_token_at(&r->scanned, p->loc.offset), before_param);
        if (n->kind == N_FN && p->type)
            bind(r, p->type, SYMBOL_TYPE, from);
        else
            visit_all(r, p->type);
        for (const struct node *d = p->dims; d; d = d->next)
            if (n->kind == N_FN && d->kind == N_NAME)
                bind(r, d, SYMBOL_EXTENT, from);
            else
                visit(r, d);
        declare(r, SYMBOL_PARAM, p->text, p->loc, all_from(from, ends_of_declared));
    }
}

static uint32_t end_of_node(const struct node *n)
{
    return n->loc.offset + n->loc.length;
}

/* Visits the inside of a kernel or function, which is already a symbol. */
static void visit_function(struct symbol_reader *r, const struct node *n)
{
    size_t hidden = r->hidden.count;
    uint32_t scope_end = r->scope_end;
    const struct name_entry *e = name_table_find(&r->known, n->text, strlen(n->text));
    r->owner = e && e->number ? (int)e->number - 1 : -1;
    r->scope_end = end_of_node(n->body);
    if (r->owner >= 0) {
        struct lang_symbol *s = &r->found.data[r->owner];
        s->whole.length = r->scope_end - s->whole.offset;
    }
    visit_params(r, n);
    visit_all(r, n->result);
    visit_all(r, n->attributes);
    visit(r, n->body);
    end_scope(r, hidden);
    r->scope_end = scope_end;
    r->owner = -1;
}

/* Visits a construct with names of its own: a block, a loop, `ensures for`. */
static void visit_scope(struct symbol_reader *r, const struct node *n)
{
    size_t hidden = r->hidden.count;
    uint32_t scope_end = r->scope_end;
    if (n->kind == N_BLOCK)
        r->scope_end = end_of_node(n);
    for (const struct node *d = n->over; d; d = d->next) {
        uint32_t from = scan_token_at(&r->scanned, d->type->loc.offset);
        visit(r, d->type);
        visit_all(r, d->init);
        declare(r, SYMBOL_LOCAL, d->text, d->loc, all_from(from, ends_of_declared));
    }
    if (n->kind == N_ENSURES) {
        visit_all(r, n->a);
        visit_all(r, n->b);
    } else
        module_visit_children(n, visit, r);
    end_scope(r, hidden);
    r->scope_end = scope_end;
}

static void visit(void *user, const struct node *n)
{
    struct symbol_reader *r = user;
    switch (n->kind) {
    case N_KERNEL:
    case N_FN: visit_function(r, n); return;
    case N_BLOCK:
    case N_FOR:
    case N_ROLE:
    case N_ENSURES: visit_scope(r, n); return;
    case N_DECLS: visit_declarations(r, n); return;
    case N_DESTRUCT: visit_destruct(r, n); return;
    case N_TUNE: visit_all(r, n->list); return;
    case N_FAMILY: return; /* its names are those of other files */
    case N_NAME: use(r, n->text, n->loc); return;
    case N_CALL:
    case N_TYPE: use(r, n->text, n->loc); break;
    default: break;
    }
    module_visit_children(n, visit, r);
}

/* --- the module's --- */

static const enum token_kind before_item[] = {TOK_SEMICOLON, TOK_RBRACE, TOK_END};

static void declare_family(struct symbol_reader *r, const struct node *n, struct declaring by)
{
    size_t before = r->found.count;
    declare(r, SYMBOL_FAMILY, n->text, n->loc, by);
    uint32_t close = r->scanned.tokens[scan_token_at(&r->scanned, n->loc.offset) + 1].match;
    if (r->found.count == before || close == NO_MATCH)
        return;
    struct loc *whole = &r->found.data[before].whole;
    whole->length = r->scanned.tokens[close].offset + 1 - whole->offset;
}

static void declare_item(struct symbol_reader *r, const struct node *n)
{
    uint32_t name =
        scan_token_at(&r->scanned, n->kind == N_TUNE ? n->names->loc.offset : n->loc.offset);
    uint32_t from = token_after_last(r, name, before_item);
    struct declaring statement = all_from(from, ends_of_statement);
    struct declaring head = all_from(from, ends_of_head);
    switch (n->kind) {
    case N_CONST:
        statement.words = scan_token_at(&r->scanned, end_of_node(n->type));
        statement.rest = name;
        statement.ends = ends_of_declared;
        declare(r, SYMBOL_CONST, n->text, n->loc, statement);
        return;
    case N_TYPEVAR: declare(r, SYMBOL_TYPE, n->text, n->loc, statement); return;
    case N_FN: declare(r, SYMBOL_FN, n->text, n->loc, head); return;
    case N_KERNEL: declare(r, SYMBOL_KERNEL, n->text, n->loc, head); return;
    case N_FAMILY: declare_family(r, n, head); return;
    case N_TUNE:
        for (const struct node *d = n->names; d; d = d->next)
            declare(r, SYMBOL_TUNE, d->text, d->loc, statement);
        return;
    default: return;
    }
}

struct lang_symbols lang_symbols(struct arena *a, const struct source *source)
{
    struct symbol_reader r = {.arena = a, .source = source, .owner = -1};
    struct diag errors; /* not reported here; other calls report them */
    diag_init(&errors, a);
    const struct node *tree = parse_module(a, &errors, source);
    r.scanned = scan_text(a, source);
    r.scope_end = (uint32_t)source->length;
    name_table_init(&r.known, a);
    for (const struct node *n = tree; n; n = n->next)
        declare_item(&r, n);
    for (size_t i = 0; i < r.found.count; i++)
        r.found.data[i].scope = (struct loc){source, 0, (uint32_t)source->length};
    visit_all(&r, tree);
    return r.found;
}
