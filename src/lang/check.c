/* Checks one kernel with one choice of types, tuned values and statics, and makes typed Tile IR
 * of it. */
#include "lang/check_internal.h"

#include <string.h>

/* --- the checker --- */

void check_set_up(struct checker *c, struct arena *a, struct diag *d, const struct module *m,
                  const char *name, struct loc loc)
{
    *c = (struct checker){.arena = a, .diag = d, .module = m};
    c->kernel = kernel_new(a, name, loc);
    c->consts = arena_array(a, struct const_slot, m->known_count + 1);
    name_table_init(&c->unique, a);
    name_table_init(&c->numbered, a);
    name_table_init(&c->own, a);
    c->tail = &c->kernel->body;
}

bool check_deeper(struct checker *c, struct loc at)
{
    if (++c->depth <= MAX_DEPTH)
        return true;
    diag_error(c->diag, at, "nested more than %d levels deep", MAX_DEPTH);
    diag_note(c->diag, at,
              "give parts of it names; a constant that uses another one and a call of a fn are "
              "levels, too");
    return false;
}

/* Returns the bytes of the UTF-8 character that begins with `lead`. */
static size_t character_bytes(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

const char *check_source_snippet(struct checker *c, struct loc at)
{
    enum { SHOWN = 48 };
    struct text t;
    text_init(&t, c->arena);
    if (!at.source)
        return "…";
    const char *s = at.source->text + at.offset, *end = s + at.length;
    int shown = 0;
    while (s < end) {
        if (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r') {
            while (s < end && (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r'))
                s++;
            text_add_char(&t, ' ');
            shown++;
            continue;
        }
        if (shown >= SHOWN) {
            text_add(&t, "…");
            break;
        }
        size_t bytes = character_bytes((unsigned char)*s);
        if (bytes > (size_t)(end - s))
            bytes = (size_t)(end - s);
        text_add_n(&t, s, bytes);
        s += bytes;
        shown++;
    }
    return t.data ? t.data : "";
}

/* --- parameters --- */

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

/* The names in the expression after the `=` of a parameter. */
struct init_names {
    const struct checker *checker;
    const struct node *first, *param; /* the kernel's first parameter, and the one with the `=` */
    const struct node *tuned;         /* a name that depends on a tuned value or a type variable;
                                       * NULL: none */
    const struct node *later;         /* a name of this parameter or of a later one; NULL: none */
};

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

/* --- attributes --- */

static const struct node *attribute(struct checker *c, const struct node *kernel, const char *name)
{
    const struct node *found = NULL;
    for (const struct node *n = kernel->attributes; n; n = n->next) {
        if (strcmp(n->text, name) != 0)
            continue;
        if (found)
            diag_error(c->diag, n->loc, "`%s` is given twice", name);
        found = found ? found : n;
    }
    return found;
}

static void check_grid(struct checker *c, const struct node *kernel)
{
    const struct node *grid = attribute(c, kernel, "grid");
    int axis = 0;
    int64_t v;
    if (!grid) {
        diag_error(c->diag, kernel->loc, "the kernel `%s` has no grid", kernel->text);
        diag_note(c->diag, kernel->loc,
                  "say how many blocks run: `grid(cdiv(m, BM), cdiv(n, BN))`");
        check_fix_with_grid(c);
        return;
    }
    for (const struct node *n = grid->list; n; n = n->next, axis++) {
        if (axis == 3) {
            diag_error(c->diag, n->loc, "a grid has up to three extents");
            return;
        }
        struct expr *e = check_launch_int(c, n, "an extent of the grid");
        if (e && eval_int(e, NULL, &v) && (v < 0 || v != dtype_wrap(DT_I32, v)))
            diag_error(c->diag, n->loc, "a grid of %lld blocks", (long long)v);
        if (e && e->type.dtype != DT_I32 && dtype_is_int(e->type.dtype))
            e = check_cast_to(c, e, DT_I32); /* each launch checks that the value fits */
        c->kernel->grid[axis] = e;
    }
}

static void check_threads(struct checker *c, const struct node *threads)
{
    static const char *const names[] = {"threads along x", "threads along y", "threads along z"};
    int axis = 0, most = c->any_threads ? 1 << 20 : MAX_THREADS;
    int64_t v, total = 1;
    c->thread_level = true;
    for (int i = 0; i < 3; i++)
        c->kernel->threads[i] = 1;
    for (const struct node *n = threads->list; n; n = n->next, axis++) {
        if (axis == 3) {
            diag_error(c->diag, n->loc, "a block has up to three extents");
            return;
        }
        if (!check_constant_int(c, n, "the number of threads", &v))
            return;
        if (v < 1 || v > most) {
            diag_error(c->diag, n->loc, "%lld %s; a block has 1 to %d", (long long)v, names[axis],
                       most);
            return;
        }
        c->kernel->threads[axis] = (int)v;
        total *= v;
    }
    if (total > most)
        diag_error(c->diag, threads->loc, "%lld threads a block; there may be up to %d",
                   (long long)total, most);
}

static void check_warps(struct checker *c, const struct node *warps)
{
    int64_t v;
    if (warps->list->next)
        diag_error(c->diag, warps->loc, "`warps` takes one number");
    else if (check_constant_in(c, warps->list, "the number of warps", 1, MAX_WARPS, &v))
        c->kernel->warps = (int)v;
}

static void check_block_shape(struct checker *c, const struct node *kernel)
{
    const struct node *warps = attribute(c, kernel, "warps");
    const struct node *threads = attribute(c, kernel, "threads");
    c->thread_level = threads != NULL;
    if (warps && threads) {
        diag_error(c->diag, threads->loc, "a kernel has `warps(n)` or `threads(x, y)`, not both");
        diag_note(
            c->diag, warps->loc,
            "`warps(n)` is for code about whole tiles, `threads(x, y)` for code about one thread");
    } else if (warps) {
        check_warps(c, warps);
    } else if (threads) {
        check_threads(c, threads);
    } else {
        diag_error(c->diag, kernel->loc, "the kernel `%s` has neither `warps` nor `threads`",
                   kernel->text);
        diag_note(
            c->diag, kernel->loc,
            "`warps(4)` for code about whole tiles, `threads(16, 16)` for code about one thread");
        check_fix_with_threads(c);
    }
}

static void check_resident(struct checker *c, const struct node *resident)
{
    int64_t v;
    if (resident && resident->list->next)
        diag_error(c->diag, resident->loc, "`resident` takes one number");
    else if (resident && check_constant_in(c, resident->list, "the number of resident blocks", 0,
                                           MAX_RESIDENT, &v))
        c->kernel->resident = (int)v;
}

static void check_attributes(struct checker *c, const struct node *kernel)
{
    check_cluster(c, attribute(c, kernel, "cluster"));
    check_grid(c, kernel);
    check_block_shape(c, kernel);
    check_cluster_level(c, attribute(c, kernel, "cluster"));
    check_resident(c, attribute(c, kernel, "resident"));
    c->kernel->cooperative = attribute(c, kernel, "cooperative") != NULL;
    const struct node *target = attribute(c, kernel, "target");
    if (target && target->list->kind == N_NAME && module_known_target(target->list->text))
        c->kernel->target = target->list->text;
    else if (target && target->list->kind == N_NAME)
        module_unknown_target(c->diag, target->loc, target->list->text);
    else if (target)
        diag_error(c->diag, target->loc, "`target` takes a name: `target(sm_90a)`");
}

/* --- choices --- */

static struct literal tuned_literal(enum dtype t, const struct literal *v)
{
    struct literal cast = eval_cast(t, v->is_float ? DT_F64 : DT_I64, v);
    return cast;
}

const struct literal *check_chosen_tunes(struct arena *a, struct diag *d, const struct module *m,
                                         int index, const struct lang_choice *choice)
{
    int *entries = arena_array(a, int, m->known_count + 1);
    int count = module_kernel_tunes(m, index, entries);
    struct literal *values = arena_array(a, struct literal, m->known_count + 1);
    struct literal *tunes = arena_array(a, struct literal, count + 1);
    const char *target = choice ? choice->target : NULL;
    if (choice && choice->tunes)
        memcpy(tunes, choice->tunes, (size_t)count * sizeof tunes[0]);
    else if (!lang_default_tunes(a, d, m, index, target, tunes))
        return NULL;
    for (int i = 0; i < count; i++)
        values[entries[i]] = tuned_literal(m->entries[entries[i]].dtype, &tunes[i]);
    return values;
}

const enum dtype *check_chosen_types(struct arena *a, const struct module *m, int index,
                                     const struct lang_choice *choice)
{
    enum dtype *types = arena_array(a, enum dtype, m->known_count + 1);
    const struct index_list *uses = &m->entries[m->kernels[index]].uses;
    int next = 0;
    for (int i = 0; i < m->known_count; i++)
        if (m->entries[i].kind == ENTRY_TYPE)
            types[i] = m->entries[i].choices[0];
    for (size_t i = 0; i < uses->count && choice && choice->types; i++)
        if (m->entries[uses->data[i]].kind == ENTRY_TYPE)
            types[uses->data[i]] = choice->types[next++];
    return types;
}

/* Checks the conditions of the module that concern the kernel. They do not see the kernel's
 * parameters. */
static void check_conditions(struct checker *c, const struct index_list *concern)
{
    struct names names = c->names;
    c->names = (struct names){0};
    for (size_t i = 0; i < concern->count; i++)
        check_stated(c, c->module->conditions[concern->data[i]].node, true);
    c->names = names;
}

/* Adds the names that the kernel's text declares: parameters and locals. */
static void gather_own_names(void *user, const struct node *n)
{
    struct checker *c = user;
    if (n->kind == N_DECL || n->kind == N_PARAM)
        name_table_entry(&c->own, n->text, strlen(n->text));
    for (const struct node *name = n->kind == N_DESTRUCT ? n->list : NULL; name; name = name->next)
        name_table_entry(&c->own, name->text, strlen(name->text));
    if (n->kind >= N_DECL) /* an expression has no declaration */
        module_visit_children(n, gather_own_names, user);
}

static const struct param *check_params(struct arena *a, struct diag *d, const struct module *m,
                                        int index, const struct lang_choice *choice)
{
    const struct entry *e = &m->entries[m->kernels[index]];
    struct checker c;
    check_set_up(&c, a, d, m, e->name, e->loc);
    c.types = check_chosen_types(a, m, index, choice);
    check_bind_params(&c, e->node, choice);
    return c.kernel->params;
}

const struct param *check_params_alone(struct arena *a, const struct module *m, int index,
                                       bool *wrong)
{
    struct diag quiet;
    diag_init(&quiet, a);
    const struct param *params = check_params(a, &quiet, m, index, NULL);
    *wrong = quiet.errors > 0;
    return params;
}

bool lang_check_params(struct arena *a, struct diag *d, const struct module *m, int index,
                       const struct lang_choice *choice)
{
    int errors = d->errors;
    d->code = CODE_PROGRAM;
    check_params(a, d, m, index, choice);
    return d->errors == errors;
}

/* Gets the numbers in a kernel's attribute of that name, 1 along axes without one. Returns false if
 * the kernel has no such attribute or the numbers cannot be known. Reports nothing. */
static bool extents_alone(struct arena *a, const struct module *m, int index,
                          const struct lang_choice *choice, const char *name, int64_t extents[3])
{
    const struct entry *e = &m->entries[m->kernels[index]];
    struct checker c;
    struct diag quiet;
    diag_init(&quiet, a);
    const struct literal *tunes = check_chosen_tunes(a, &quiet, m, index, choice);
    if (!tunes)
        return false;
    check_set_up(&c, a, &quiet, m, e->name, e->loc);
    c.tunes = tunes;
    c.types = check_chosen_types(a, m, index, choice);
    check_bind_params(&c, e->node, choice);
    const struct node *asked = attribute(&c, e->node, name);
    int axis = 0;
    extents[0] = extents[1] = extents[2] = 1;
    for (const struct node *n = asked ? asked->list : NULL; n && axis < 3; n = n->next, axis++)
        if (!check_constant_int(&c, n, name, &extents[axis]))
            return false;
    return axis > 0;
}

bool lang_block_threads(struct arena *a, const struct module *m, int index,
                        const struct lang_choice *choice, int64_t threads[3])
{
    return extents_alone(a, m, index, choice, "threads", threads);
}

int lang_cluster_blocks(struct arena *a, const struct module *m, int index,
                        const struct lang_choice *choice)
{
    const struct entry *e = &m->entries[m->kernels[index]];
    int64_t size[3], blocks = 1;
    bool has = false;
    for (const struct node *n = e->node->attributes; n; n = n->next)
        has = has || strcmp(n->text, "cluster") == 0;
    if (!has)
        return 1;
    if (!extents_alone(a, m, index, choice, "cluster", size))
        return LANG_MOST_CLUSTER;
    for (int i = 0; i < 3; i++)
        blocks = size[i] > 0 && size[i] <= LANG_MOST_CLUSTER / blocks ? blocks * size[i]
                                                                      : LANG_MOST_CLUSTER;
    return (int)blocks;
}

/* Begins the check of a kernel for a choice. Returns false if its tuned values are wrong. */
static bool begin_kernel(struct checker *c, struct arena *a, struct diag *d, const struct module *m,
                         int index, const struct lang_choice *choice)
{
    const struct entry *e = &m->entries[m->kernels[index]];
    d->code = CODE_PROGRAM;
    const struct literal *tunes = check_chosen_tunes(a, d, m, index, choice);
    if (!tunes)
        return false;
    check_set_up(c, a, d, m, e->name, e->loc);
    c->tunes = tunes;
    c->types = check_chosen_types(a, m, index, choice);
    return true;
}

struct kernel *lang_grid(struct arena *a, struct diag *d, const struct module *m, int index,
                         const struct lang_choice *choice)
{
    int errors = d->errors;
    const struct entry *e = &m->entries[m->kernels[index]];
    struct checker c;
    if (!begin_kernel(&c, a, d, m, index, choice))
        return NULL;
    check_bind_params(&c, e->node, choice);
    check_cluster(&c, attribute(&c, e->node, "cluster"));
    check_grid(&c, e->node);
    return d->errors > errors ? NULL : c.kernel;
}

struct kernel *lang_check(struct arena *a, struct diag *d, const struct module *m, int index,
                          const struct lang_choice *choice)
{
    int errors = d->errors;
    const struct entry *e = &m->entries[m->kernels[index]];
    struct checker c;
    if (!begin_kernel(&c, a, d, m, index, choice))
        return NULL;
    c.any_threads = choice->any_threads;
    c.node = e->node;
    gather_own_names(&c, e->node);
    check_bind_params(&c, e->node, choice);
    check_conditions(&c, &e->concern);
    check_attributes(&c, e->node);
    c.kernel->block = check_block_of(e->node->body);
    check_stmts(&c, e->node->body->body, NULL);
    check_ensured_inputs(&c);
    check_link_constants(&c);
    if (d->errors == errors)
        check_assigned(&c);
    return d->errors > errors ? NULL : c.kernel;
}
