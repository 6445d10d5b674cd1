/* The parameters of a kernel. */
#include "lang/check_internal.h"

#include <string.h>

/* The names in the expression after the `=` of a parameter. */
struct init_names {
    const struct checker *checker;
    const struct node *first, *param; /* the kernel's first parameter, and the one with the `=` */
    const struct node *tuned;         /* a name that depends on a tuned value or a type variable;
                                       * NULL: none */
    const struct node *later;         /* a name of this parameter or of a later one; NULL: none */
};

static void bind_value(struct sym *s, const struct literal *v)
{
    s->value = eval_cast(s->type.dtype, v->is_float ? DT_F64 : DT_I64, v);
    s->has_value = true;
}

/* Binds a static parameter that has only one value, or that takes its default, to that value. */
static void bind_constant(struct checker *c, const struct node *n, struct literal given,
                          struct sym *s)
{
    enum dtype t = s->type.dtype;
    bool fits = dtype_is_float(t) || (!given.is_float && dtype_wrap(t, given.i) == given.i);
    if (!fits)
        diag_error(c->diag, n->init->loc, "this value does not fit %s", dtype_table[t].name);
    bind_value(s, &given);
    s->has_value = n->is_static;
    s->has_default = !n->is_static;
}

static bool is_literal(const struct node *n)
{
    const struct node *value = n->kind == N_UNARY && n->op == OP_NEG ? n->a : n;
    return value->kind == N_INT || value->kind == N_FLOAT || value->kind == N_BOOL;
}

static const struct node *param_between(const struct node *from, const struct node *to,
                                        const char *name)
{
    while (from != to && strcmp(from->text, name) != 0)
        from = from->next;
    return from == to ? NULL : from;
}

/* Returns true if a name of the module depends on a tuned value or a type variable. */
static bool is_tuned_name(const struct checker *c, const char *name)
{
    const struct entry *e = module_entry(c->module, name);
    if (!e || e->kind == ENTRY_KERNEL)
        return false;
    return e->kind == ENTRY_TUNE || e->kind == ENTRY_TYPE ||
           module_is_tuned(c->arena, c->module, e->node);
}

static void visit_init(void *user, const struct node *n)
{
    struct init_names *s = user;
    bool is_name = (n->kind == N_NAME || n->kind == N_TYPE || n->kind == N_CALL) && n->text;
    if (is_name && n->kind == N_NAME && param_between(s->param, NULL, n->text))
        s->later = s->later ? s->later : n;
    else if (is_name && !param_between(s->first, s->param, n->text) &&
             is_tuned_name(s->checker, n->text))
        s->tuned = n;
    module_visit_children(n, visit_init, user);
}

/* Returns true if the parameter's value can be computed from the parameters before it and from
 * constants; reports if not. */
static bool may_follow(struct checker *c, const struct node *kernel, const struct node *n)
{
    struct init_names s = {.checker = c, .first = kernel->params, .param = n};
    visit_init(&s, n->init);
    if (s.later) {
        bool itself = strcmp(s.later->text, n->text) == 0;
        diag_error(c->diag, s.later->loc,
                   itself ? "`%s` follows from itself" : "`%s` follows from a parameter after it",
                   n->text);
        diag_note(c->diag, s.later->loc,
                  "the value of a parameter may use only the parameters before it, and constants");
    } else if (s.tuned) {
        diag_error(c->diag, s.tuned->loc,
                   "the value of a parameter cannot follow from a tuned value or a type variable");
        diag_note(c->diag, n->init->loc, "compute it in the kernel's body: `i32 %s = …;`", n->text);
    }
    return !s.later && !s.tuned;
}

static void find_param(void *user, struct expr **at)
{
    const struct sym **found = user;
    const struct sym *s = (*at)->op == OP_REF ? (*at)->sym : NULL;
    bool is_param = s && s->storage == ST_PARAM;
    if (is_param && (!*found || dtype_is_float(s->type.dtype)))
        *found = s;
}

/* Checks the value of `i32 oh = (h + 2 * pad - r) / stride + 1`, which each launch computes.
 * from: a parameter that the value names, a float parameter if there is one. */
static struct expr *derived_value(struct checker *c, const struct node *n, enum dtype t,
                                  const struct sym *from)
{
    bool from_float = dtype_is_float(from->type.dtype);
    if (from_float || !dtype_is_int(t)) {
        diag_error(c->diag, n->init->loc, "the launch computes only integers, from integers");
        diag_note(c->diag, from_float ? from->loc : n->loc,
                  "`%s` is %s: compute `%s` in the kernel's body",
                  from_float ? from->name : n->text,
                  dtype_table[from_float ? from->type.dtype : t].name, n->text);
        return NULL;
    }
    struct expr *e = check_launch_whole(c, n->init, "the value of a parameter");
    return e ? check_convert_to(c, e, t, arena_printf(c->arena, "`%s`", n->text)) : NULL;
}

/* Checks the `= expr` of a parameter of type t. It runs before the parameter is declared, so
 * only earlier parameters are in scope. */
static void check_init(struct checker *c, const struct node *kernel, const struct node *n,
                       enum dtype t, struct sym *out)
{
    struct type want = type_scalar(t);
    const struct sym *from = NULL;
    if (is_literal(n->init)) {
        bind_constant(c, n, module_param_value(n->init), out);
        return;
    }
    if (!may_follow(c, kernel, n))
        return;
    struct expr *e = check_expr(c, n->init, &want);
    if (e)
        expr_walk(&e, find_param, &from);
    if (from)
        out->derived = derived_value(c, n, t, from);
    else if (e)
        e = check_convert_to(c, e, t, arena_printf(c->arena, "`%s`", n->text));
    struct literal value;
    if (e && !from && check_constant_value(c, e, "the value of a parameter", &value))
        bind_constant(c, n, value, out);
}

static void bind_static(const struct node *n, int index, const struct lang_choice *choice,
                        struct sym *s)
{
    s->is_static = n->is_static;
    if (n->is_static && !s->has_value && choice && choice->statics && choice->statics_known &&
        choice->statics_known[index])
        bind_value(s, &choice->statics[index]);
}

/* Declares the parameter for a number of the device. Its own name is one that C and PTX
 * can have, too. */
static struct sym *declare_device(struct checker *c, const struct node *n)
{
    struct binding *b = check_bind_name(c, n->text, n->loc, BIND_SYM);
    const char *name = n->device == DEVICE_SMS ? "device_sms" : "device_clusters";
    if (!b)
        return NULL;
    b->sym = check_declare_hidden(c, name, ST_PARAM, type_scalar(DT_I32), n->loc);
    b->sym->device = n->device;
    return b->sym;
}

void check_bind_params(struct checker *c, const struct node *kernel,
                       const struct lang_choice *choice)
{
    struct param **last = &c->kernel->params;
    int index = 0;
    c->level = 1;
    for (const struct node *n = kernel->params; n; n = n->next, index++) {
        enum dtype t = check_dtype(c, n->type);
        if (t == DT_NONE) {
            check_poison_name(c, n->text, n->loc);
            t = DT_I32;
        }
        struct sym init = {.type = type_scalar(t)};
        if (n->init)
            check_init(c, kernel, n, t, &init);
        struct sym *s = n->device ? declare_device(c, n)
                                  : check_declare_sym(c, n->text, ST_PARAM, type_scalar(t), n->loc);
        if (!s)
            s = check_declare_hidden(c, n->text, ST_PARAM, type_scalar(t), n->loc);
        s->index = index;
        s->is_pointer = n->is_pointer;
        s->is_const = n->is_const;
        s->value = init.value;
        s->has_value = init.has_value;
        s->has_default = init.has_default || n->device;
        s->derived = init.derived;
        bind_static(n, index, choice, s);
        struct param *p = arena_new(c->arena, struct param);
        p->sym = s;
        *last = p;
        last = &p->next;
        c->kernel->param_count++;
    }
}
