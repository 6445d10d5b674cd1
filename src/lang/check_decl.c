/* Declarations of scalars, per-thread arrays, register tiles and shared tiles, and declarations
 * that take several results of a fn. */
#include "lang/check_internal.h"

/* --- one declaration --- */

/* Checks the initialiser. The name is not declared yet, so the initialiser does not see it. */
static struct expr *initial_value(struct checker *c, const struct node *n, const struct type *type)
{
    c->whole = n->init;
    struct expr *value = check_expr(c, n->init, type);
    return value ? check_fit_value(c, value, type, n->text, n->loc) : NULL;
}

static void emit_decl(struct checker *c, const struct node *n, struct sym *s, struct expr *value)
{
    struct stmt *decl = check_emit(c, STMT_DECL, n->loc);
    decl->sym = s;
    decl->value = value;
}

static void check_scalar_decl(struct checker *c, const struct node *n, enum dtype t)
{
    struct type type = type_scalar(t);
    struct expr *value = n->init ? initial_value(c, n, &type) : NULL;
    struct literal known;
    if (n->is_const && !n->init) {
        diag_error(c->diag, n->loc, "the constant `%s` has no value", n->text);
    } else if (n->is_const && value && eval_scalar(value, NULL, &known)) {
        if (check_constant_value(c, value, "a constant's value", &known))
            check_const_local(c, n->text, type, n->loc, known);
        else
            check_poison_name(c, n->text, n->loc);
        return;
    }
    if (n->init && !value && n->is_const) { /* its value decides extents: no further errors about
                                             * it */
        check_poison_name(c, n->text, n->loc);
        return;
    }
    struct sym *s = check_declare_sym(c, n->text, ST_SCALAR, type, n->loc);
    if (!s)
        return;
    s->is_const = n->is_const;
    check_sym_info(c, s)->varying = check_expr_varies(c, value);
    if (n->is_const && value)
        check_sym_info(c, s)->init = value;
    emit_decl(c, n, s, value);
}

/* Checks a declaration with extents. The storage decides which further parts it may have. */
static struct sym *check_tile_decl(struct checker *c, const struct node *n, enum dtype t,
                                   enum storage storage)
{
    struct type type = type_scalar(t);
    if (!check_extents(c, n->dims, n->text, &type)) {
        if (n->init)
            check_expr(c, n->init, NULL);
        check_poison_name(c, n->text, n->loc);
        return NULL;
    }
    struct expr *value = n->init ? initial_value(c, n, &type) : NULL;
    struct sym *s = check_declare_sym(c, n->text, storage, type, n->loc);
    if (!s)
        return NULL;
    s->is_const = n->is_const;
    if (n->is_const && !n->init)
        diag_error(c->diag, n->loc, "the constant `%s` has no value", n->text);
    emit_decl(c, n, s, value);
    return s;
}

static void check_shared_decl(struct checker *c, const struct node *n, enum dtype t)
{
    if (c->pipeline_level > 0 && c->level != c->pipeline_level) {
        diag_error(c->diag, n->loc, "the shared tile `%s` within a statement of a pipeline body",
                   n->text);
        diag_note(c->diag, n->loc,
                  "a pipeline stages the shared tiles declared directly in its body");
        check_poison_name(c, n->text, n->loc);
        return;
    }
    struct stmt **before = c->tail;
    struct sym *s = check_tile_decl(c, n, t, ST_SHARED);
    if (!s)
        return;
    check_placement(c, n, s);
    struct stmt *decl = *before;
    while (decl && decl->sym != s)
        decl = decl->next;
    if (c->pipeline_level > 0 && decl)
        s->staged = check_staged(c, n, s, decl->value);
}

static bool has_extents(struct checker *c, const struct node *n)
{
    const char *word = n->i == DECL_SHARED ? "shared" : "register";
    const char *type = n->type->text ? n->type->text : "T";
    if (n->dims)
        return true;
    diag_error(c->diag, n->loc, "the %s tile `%s` has no extents", word, n->text);
    if (n->i == DECL_SHARED)
        diag_note(c->diag, n->loc, "one element is `shared %s %s[1]`", type, n->text);
    else
        diag_note(c->diag, n->loc, "a scalar is declared without `reg`: `%s %s`", type, n->text);
    check_poison_name(c, n->text, n->loc);
    return false;
}

static void check_decl(struct checker *c, const struct node *n)
{
    if (n->i == DECL_GLOBAL || n->i == DECL_MBARRIER) {
        (n->i == DECL_GLOBAL ? check_view : check_mbarrier)(c, n);
        return;
    }
    if (n->init && n->init->kind == N_BRACES) {
        check_table_local(c, n);
        return;
    }
    enum dtype t = check_dtype(c, n->type);
    if (t == DT_NONE) {
        if (n->init)
            check_expr(c, n->init, NULL);
        check_poison_name(c, n->text, n->loc);
        return;
    }
    if (n->i == DECL_PLAIN && !n->dims)
        check_scalar_decl(c, n, t);
    else if (n->i == DECL_PLAIN)
        check_tile_decl(c, n, t, ST_ARRAY);
    else if (has_extents(c, n) && n->i == DECL_REG)
        check_tile_decl(c, n, t, ST_REG);
    else if (n->dims)
        check_shared_decl(c, n, t);
}

void check_decls(struct checker *c, const struct node *n)
{
    for (const struct node *d = n->list; d; d = d->next)
        check_decl(c, d);
}

/* --- T (a, b) = f(x); --- */

static int count_nodes(const struct node *list)
{
    int count = 0;
    for (; list; list = list->next)
        count++;
    return count;
}

static void declare_result(struct checker *c, const struct node *name, enum dtype t,
                           struct expr *value)
{
    struct type type = check_is_untyped(value) ? type_scalar(t) : value->type;
    type.dtype = t;
    type.varying = false;
    value = check_convert_to(c, value, t, arena_printf(c->arena, "`%s`", name->text));
    bool varies = check_expr_varies(c, value);
    enum storage storage = type.rank == 0 ? ST_SCALAR : varies ? ST_ARRAY : ST_REG;
    struct sym *s = check_declare_sym(c, name->text, storage, type, name->loc);
    if (!s)
        return;
    check_sym_info(c, s)->varying = varies;
    struct stmt *decl = check_emit(c, STMT_DECL, name->loc);
    decl->sym = s;
    decl->value = value;
}

void check_destructure(struct checker *c, const struct node *n)
{
    struct fn_results results = {.count = 0};
    const struct entry *fn = n->a->kind == N_CALL ? module_entry(c->module, n->a->text) : NULL;
    enum dtype t = check_dtype(c, n->type);
    bool good = t != DT_NONE;
    int names = count_nodes(n->list);
    if (!fn || fn->kind != ENTRY_FN) {
        diag_error(c->diag, n->a->loc, "several results come from a fn, and this calls none");
        good = false;
    } else if (!check_inline_fn(c, n->a, fn, &results)) {
        good = false;
    } else if (results.count != names) {
        diag_error(c->diag, n->a->loc, "`%s` has %d result%s, and this declares %d name%s",
                   fn->name, results.count, results.count == 1 ? "" : "s", names,
                   names == 1 ? "" : "s");
        diag_note(c->diag, fn->loc, "declared here");
        good = false;
    }
    int i = 0;
    for (const struct node *name = n->list; name; name = name->next, i++) {
        if (good && results.value[i])
            declare_result(c, name, t, results.value[i]);
        else
            check_poison_name(c, name->text, name->loc);
    }
}
