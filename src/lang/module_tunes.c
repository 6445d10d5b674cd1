/* require: which tuned values go together.
 *
 * The conditions that concern a kernel (those of the module that speak of its names, and those in
 * its body) are checked once, with constants in place of the tuned names; for each combination
 * these constants get their values and the conditions are evaluated again. The search for the first
 * combination decides one list after the other and drops a value as soon as a condition whose names
 * are all decided says no.
 */
#include "lang/check_internal.h"

#include <string.h>

enum { MAX_TRIES = 250000 };

struct condition {
    const struct node *node;
    struct expr *expr;
    int last_group; /* the latest decided group that it speaks of, as a position in requirements.groups */
};

struct requirements {
    const struct module *module;
    const char *target;
    struct checker checker;
    struct diag quiet;
    struct literal *values; /* by entry */
    int *tunes;             /* entries of the kernel's tuned names */
    int tune_count;
    int *groups; /* in the order of the lists */
    int group_count;
    VEC(struct condition) conditions;
    int tries;
};

static void set_group(struct requirements *r, int group, const struct tune_list *list, int row)
{
    for (int i = 0; i < r->tune_count; i++) {
        const struct entry *e = &r->module->entries[r->tunes[i]];
        if (e->group != group)
            continue;
        struct literal v = list->values[row * list->names + e->member];
        if (e->dtype == DT_F32 && !v.is_float)
            v = (struct literal){.is_float = true, .f = (double)v.i};
        r->values[e->index] = v;
    }
}

static int last_group(const struct requirements *r, const bool *uses)
{
    int last = -1;
    for (int g = 0; g < r->group_count; g++)
        for (int i = 0; i < r->tune_count; i++)
            if (uses[r->tunes[i]] && r->module->entries[r->tunes[i]].group == r->groups[g])
                last = g;
    return last;
}

/* Conditions that cannot be read here (they speak of locals), or speak of no tuned value, are left
 * to the check of the kernel. */
static void add_condition(struct requirements *r, const struct node *n, const bool *uses)
{
    struct expr *e = check_condition(&r->checker, n->a);
    struct condition condition = {n, e, last_group(r, uses)};
    if (!e || condition.last_group < 0)
        return;
    vec_push(r->checker.arena, &r->conditions, condition);
}

static void gather_groups(struct requirements *r, struct arena *a)
{
    r->groups = arena_array(a, int, r->module->group_count + 1);
    for (int i = 0; i < r->tune_count; i++) {
        int group = r->module->entries[r->tunes[i]].group;
        bool seen = false;
        for (int g = 0; g < r->group_count; g++)
            seen = seen || r->groups[g] == group;
        if (!seen)
            r->groups[r->group_count++] = group;
    }
}

static struct requirements *requirements(struct arena *a, const struct module *m, int index,
                                         const char *target)
{
    struct requirements *r = arena_new(a, struct requirements);
    const struct entry *kernel = &m->entries[m->kernels[index]];
    r->module = m;
    r->target = target;
    diag_init(&r->quiet, a);
    r->quiet.limit = INT32_MAX;
    r->values = arena_array(a, struct literal, m->entry_count + 1);
    r->tunes = arena_array(a, int, m->entry_count + 1);
    r->tune_count = kernel_tunes(m, index, r->tunes);
    gather_groups(r, a);
    for (int g = 0; g < r->group_count; g++) {
        const struct tune_list *list = module_tune_list(m, r->groups[g], target);
        set_group(r, r->groups[g], list, 0);
    }
    checker_init(&r->checker, a, &r->quiet, m, kernel->name, kernel->loc);
    enum dtype *types = arena_array(a, enum dtype, m->entry_count + 1);
    for (int i = 0; i < m->entry_count; i++)
        if (m->entries[i].kind == ENTRY_TYPE)
            types[i] = m->entries[i].choices[0];
    r->checker.tunes = r->values;
    r->checker.types = types;
    for (int i = 0; i < m->condition_count; i++)
        if (m->conditions[i].node->kind == N_REQUIRE &&
            condition_concerns(m, &m->conditions[i], kernel->uses))
            add_condition(r, m->conditions[i].node, m->conditions[i].uses);
    bind_params(&r->checker, kernel->node, NULL);
    for (const struct node *n = kernel->node->body->body; n; n = n->next)
        if (n->kind == N_REQUIRE)
            add_condition(r, n, module_uses(a, m, n));
    return r;
}

/* Does each condition that is decided once group `position` is hold? */
static const struct condition *violated_at(struct requirements *r, int position)
{
    struct literal value;
    if (!consts_again(&r->checker))
        return NULL;
    for (size_t i = 0; i < r->conditions.count; i++) {
        const struct condition *x = &r->conditions.data[i];
        if (x->last_group == position && eval_scalar(x->expr, NULL, &value) && value.i == 0)
            return x;
    }
    return NULL;
}

static bool choose(struct requirements *r, int position)
{
    if (position == r->group_count)
        return true;
    const struct tune_list *list = module_tune_list(r->module, r->groups[position], r->target);
    for (int row = 0; row < list->count && r->tries < MAX_TRIES; row++) {
        r->tries++;
        set_group(r, r->groups[position], list, row);
        if (!violated_at(r, position) && choose(r, position + 1))
            return true;
    }
    return false;
}

static void nothing_fits(struct requirements *r, struct diag *d, int index)
{
    const struct entry *kernel = &r->module->entries[r->module->kernels[index]];
    struct loc at = r->conditions.count ? r->conditions.data[0].node->loc : kernel->loc;
    diag_error(d, at, "no combination of tuned values of `%s` is allowed by its `require`s%s",
               kernel->name, r->tries >= MAX_TRIES ? ", among the first 250000" : "");
    for (size_t i = 1; i < r->conditions.count && i < 6; i++)
        diag_note(d, r->conditions.data[i].node->loc, "this is required too");
}

bool lang_default_tunes(struct arena *a, struct diag *d, const struct module *m, int index,
                        const char *target, struct literal *out)
{
    struct requirements *r = requirements(a, m, index, target);
    if (!choose(r, 0)) {
        nothing_fits(r, d, index);
        return false;
    }
    for (int i = 0; i < r->tune_count; i++)
        out[i] = r->values[r->tunes[i]];
    return true;
}

bool lang_tunes_allowed(struct arena *a, const struct module *m, int index, const char *target,
                        const struct literal *tunes, struct loc *violated)
{
    struct requirements *r = requirements(a, m, index, target);
    for (int i = 0; i < r->tune_count; i++)
        r->values[r->tunes[i]] = tunes[i];
    for (int position = 0; position < r->group_count; position++) {
        const struct condition *x = violated_at(r, position);
        if (!x)
            continue;
        if (violated)
            *violated = x->node->a->loc;
        return false;
    }
    return true;
}
