/* Checks one kernel with one choice of types, tuned values and statics, and makes typed Tile IR
 * of it. */
#include "lang/check_internal.h"

#include <string.h>

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
