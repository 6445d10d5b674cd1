/* require: which tuned values go together.
 *
 * The conditions that concern a kernel (those of the module that speak of its names, and those in
 * its body) are checked once, with constants in place of the tuned names; for each combination
 * these constants get their values and the conditions are evaluated again. The search for the first
 * combination decides one list after the other and drops a value as soon as a condition fails:
 * one whose names are all decided, or one that intervals show to fail for all values of the other
 * lists.
 */
#include "lang/check_internal.h"

#include <limits.h>
#include <string.h>

enum { MAX_TRIES = 250000 };

struct condition {
    const struct node *node;
    struct expr *expr;
    int last_group; /* the latest decided group that it speaks of, as a position in tune_rules.groups */
};

struct tune_rules {
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

static void set_group(struct tune_rules *r, int group, const struct tune_list *list, int row)
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

static int last_group(const struct tune_rules *r, const bool *uses)
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
static void add_condition(struct tune_rules *r, const struct node *n, const bool *uses)
{
    struct expr *e = check_condition(&r->checker, n->a);
    struct condition condition = {n, e, last_group(r, uses)};
    if (!e || condition.last_group < 0)
        return;
    vec_push(r->checker.arena, &r->conditions, condition);
}

static void gather_groups(struct tune_rules *r, struct arena *a)
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

struct tune_rules *lang_tune_rules(struct arena *a, const struct module *m, int index,
                                   const char *target)
{
    struct tune_rules *r = arena_new(a, struct tune_rules);
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

/* --- intervals --- */

struct range {
    bool known;
    int64_t low, high;
};

static struct range range_of(struct tune_rules *r, const struct expr *e, int position);

/* Returns the range of a tuned name: its value if its list is decided, else all values of its list
 * and its present one, which need not be listed. */
static struct range tune_range(const struct tune_rules *r, const struct entry *e, int position)
{
    struct literal now = r->values[e->index];
    struct range x = {!now.is_float, now.i, now.i};
    for (int g = 0; g < r->group_count; g++) {
        if (r->groups[g] != e->group || g <= position)
            continue;
        const struct tune_list *list = module_tune_list(r->module, e->group, r->target);
        for (int row = 0; row < list->count; row++) {
            struct literal v = list->values[row * list->names + e->member];
            x.known = x.known && !v.is_float;
            x.low = v.i < x.low ? v.i : x.low;
            x.high = v.i > x.high ? v.i : x.high;
        }
    }
    return x;
}

static struct range ref_range(struct tune_rules *r, const struct expr *e, int position)
{
    struct checker *c = &r->checker;
    bool made = false;
    for (size_t i = 0; i < c->made.count; i++)
        made = made || c->made.data[i] == e->sym;
    int index = made ? sym_info(c, e->sym)->order : INT_MAX;
    if (index == INT_MAX)
        return (struct range){0};
    const struct entry *entry = &r->module->entries[index];
    return entry->kind == ENTRY_TUNE ? tune_range(r, entry, position)
                                     : range_of(r, c->consts[index].init, position);
}

static struct range truth_range(bool can_be_false, bool can_be_true)
{
    return (struct range){true, can_be_false ? 0 : 1, can_be_true ? 1 : 0};
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Combines two ranges whose ends are far from overflow. */
static struct range combined(enum op op, struct range a, struct range b)
{
    int64_t p[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    switch (op) {
    case OP_ADD: return (struct range){true, a.low + b.low, a.high + b.high};
    case OP_SUB: return (struct range){true, a.low - b.high, a.high - b.low};
    case OP_MUL:
        return (struct range){true, least(least(p[0], p[1]), least(p[2], p[3])),
                              most(most(p[0], p[1]), most(p[2], p[3]))};
    case OP_DIV:
    case OP_CDIV:
        if (a.low < 0 || b.low < 1)
            break;
        return (struct range){true, a.low / b.high, op == OP_DIV ? a.high / b.low : a.high};
    case OP_REM:
        if (a.low < 0 || b.low < 1)
            break;
        return (struct range){true, a.high < b.low ? a.low : 0, least(a.high, b.high - 1)};
    case OP_MIN: return (struct range){true, least(a.low, b.low), least(a.high, b.high)};
    case OP_MAX: return (struct range){true, most(a.low, b.low), most(a.high, b.high)};
    case OP_LT: return truth_range(a.high >= b.low, a.low < b.high);
    case OP_LE: return truth_range(a.high > b.low, a.low <= b.high);
    case OP_GT: return truth_range(a.low <= b.high, a.high > b.low);
    case OP_GE: return truth_range(a.low < b.high, a.high >= b.low);
    case OP_EQ:
        return truth_range(a.low != a.high || b.low != b.high || a.low != b.low,
                           a.low <= b.high && b.low <= a.high);
    case OP_NE:
        return truth_range(a.low <= b.high && b.low <= a.high,
                           a.low != a.high || b.low != b.high || a.low != b.low);
    case OP_LAND: return truth_range(!a.low || !b.low, a.high && b.high);
    case OP_LOR: return truth_range(!a.low && !b.low, a.high || b.high);
    default: break;
    }
    return (struct range){0};
}

/* Returns the range of e when the lists up to `position` are decided. */
static struct range range_of(struct tune_rules *r, const struct expr *e, int position)
{
    struct literal number;
    if (dtype_is_float(e->type.dtype) || e->type.rank)
        return (struct range){0};
    if (e->op == OP_REF)
        return ref_range(r, e, position);
    if (e->op == OP_LITERAL && eval_scalar(e, NULL, &number))
        return (struct range){true, number.i, number.i};
    if (e->op == OP_CAST && e->type.dtype != DT_BOOL)
        return range_of(r, e->args[0], position); /* refused below if it wraps */
    if (e->op == OP_NOT) {
        struct range a = range_of(r, e->args[0], position);
        return a.known ? truth_range(a.high, !a.low) : a;
    }
    if (e->count != 2)
        return (struct range){0};
    struct range a = range_of(r, e->args[0], position), b = range_of(r, e->args[1], position);
    bool logic = e->op == OP_LAND || e->op == OP_LOR;
    if (logic && !a.known)
        a = truth_range(true, true);
    if (logic && !b.known)
        b = truth_range(true, true);
    if (!a.known || !b.known)
        return (struct range){0};
    struct range x = combined(e->op, a, b);
    x.known = x.known && x.low >= INT32_MIN && x.high <= INT32_MAX;
    return x;
}

/* --- the search --- */

/* A condition that says no once the lists up to `position` are decided; NULL: none does. */
static const struct condition *violated_at(struct tune_rules *r, int position)
{
    struct literal value;
    if (!consts_again(&r->checker))
        return NULL;
    for (size_t i = 0; i < r->conditions.count; i++) {
        const struct condition *x = &r->conditions.data[i];
        if (x->last_group == position && eval_scalar(x->expr, NULL, &value) && value.i == 0)
            return x;
        if (x->last_group <= position)
            continue;
        struct range can_be = range_of(r, x->expr, position);
        if (can_be.known && can_be.high == 0)
            return x;
    }
    return NULL;
}

static bool choose(struct tune_rules *r, int position)
{
    if (position == r->group_count)
        return true;
    const struct tune_list *list = module_tune_list(r->module, r->groups[position], r->target);
    for (int row = 0; row < list->count && r->tries < MAX_TRIES; row++) {
        r->tries++;
        arena_poll(r->checker.arena);
        set_group(r, r->groups[position], list, row);
        if (!violated_at(r, position) && choose(r, position + 1))
            return true;
    }
    return false;
}

static void nothing_fits(struct tune_rules *r, struct diag *d, int index)
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
    arena_doing(a, "searching for tuned values that its `require`s allow");
    struct tune_rules *r = lang_tune_rules(a, m, index, target);
    if (violated_at(r, -1) || !choose(r, 0)) {
        nothing_fits(r, d, index);
        return false;
    }
    for (int i = 0; i < r->tune_count; i++)
        out[i] = r->values[r->tunes[i]];
    return true;
}

/* Counts the leading names that belong to the groups up to `position`. */
static int names_until(const struct tune_rules *r, int position)
{
    int count = 0;
    for (int i = 0; i < r->tune_count; i++)
        for (int g = 0; g <= position; g++)
            count += r->module->entries[r->tunes[i]].group == r->groups[g];
    return count;
}

bool lang_tune_rules_allow(struct tune_rules *r, const struct literal *tunes, int *decided,
                           struct loc *violated)
{
    arena_poll(r->checker.arena);
    for (int i = 0; i < r->tune_count; i++)
        r->values[r->tunes[i]] = tunes[i];
    for (int position = -1; position < r->group_count; position++) {
        const struct condition *x = violated_at(r, position);
        if (!x)
            continue;
        if (violated)
            *violated = x->node->a->loc;
        *decided = names_until(r, position);
        return false;
    }
    *decided = r->tune_count;
    return true;
}

bool lang_tunes_allowed(struct arena *a, const struct module *m, int index, const char *target,
                        const struct literal *tunes, struct loc *violated)
{
    int decided;
    return lang_tune_rules_allow(lang_tune_rules(a, m, index, target), tunes, &decided, violated);
}
