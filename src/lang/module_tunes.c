/* require: the combinations of tuned values that are allowed.
 *
 * The conditions that concern a kernel are those of the module that use its names, and those in
 * its body. They are checked once, with constants in place of the tuned names. For each
 * combination these constants get their values, and the conditions that use them are evaluated
 * again. The search for the first combination decides one list after the other and drops a value
 * as soon as a condition fails. A condition can fail when all its names are decided, or earlier,
 * if intervals show that it fails for all values of the other lists. */
#include "lang/check_internal.h"

#include <limits.h>
#include <string.h>

enum { MAX_TRIES = 250000 };

struct condition {
    const struct node *node;
    struct expr *expr;
    VEC(struct sym *) consts; /* constants that it uses, each after those that it depends on */
    int last_group; /* the last group that the search decides of those it uses, as a position in
                     * tune_rules.groups */
};

struct tune_rules {
    const struct module *module;
    const char *target;
    struct checker checker;
    struct diag quiet;
    struct literal *values; /* by entry index */
    int *tunes;             /* entries of the kernel's tuned names */
    int tune_count;
    int *groups; /* in the order of the lists */
    int group_count;
    int *positions; /* by group: its index in `groups`; -1: not there */
    int *firsts; /* by position: index in `tunes` of the group's first name; one more at the end */
    VEC(struct condition) conditions;
    struct index_list *speaking; /* by position: the conditions that use the group */
    int *gathered;               /* by entry: the last condition that has its constant, counted
                                  * from 1 */
    int tries;
};

static const struct tune_list *list_at(const struct tune_rules *r, int position)
{
    return module_tune_list(r->module, r->groups[position], r->target);
}

static void set_group(struct tune_rules *r, int position, const struct tune_list *list, int row)
{
    for (int i = r->firsts[position]; i < r->firsts[position + 1]; i++) {
        const struct entry *e = &r->module->entries[r->tunes[i]];
        struct literal v = list->values[row * list->names + e->member];
        if (e->dtype == DT_F32 && !v.is_float)
            v = (struct literal){.is_float = true, .f = (double)v.i};
        r->values[e->index] = v;
    }
}

/* Returns the entry of a constant, or NULL if it is not a constant of the module. */
static const struct entry *entry_of(struct tune_rules *r, const struct sym *s)
{
    int index = s->storage == ST_CONST ? check_sym_info(&r->checker, s)->order : INT_MAX;
    return index == INT_MAX ? NULL : &r->module->entries[index];
}

struct const_search {
    struct tune_rules *rules;
    struct condition *condition;
};

static void gather_const(void *user, struct expr **at)
{
    struct const_search *search = user;
    struct tune_rules *r = search->rules;
    const struct entry *e = (*at)->op == OP_REF ? entry_of(r, (*at)->sym) : NULL;
    int number = (int)r->conditions.count + 1;
    if (!e || r->gathered[e->index] == number)
        return;
    r->gathered[e->index] = number;
    if (e->kind == ENTRY_CONST)
        expr_walk(&r->checker.consts[e->index].init, gather_const, user);
    vec_push(r->checker.arena, &search->condition->consts, (*at)->sym);
}

/* Records the groups whose names the condition uses. */
static void find_groups(struct tune_rules *r, struct condition *x, const struct index_list *uses)
{
    int before = -1;
    x->last_group = -1;
    for (size_t i = 0; i < uses->count; i++) {
        const struct entry *e = &r->module->entries[uses->data[i]];
        int position = e->kind == ENTRY_TUNE ? r->positions[e->group] : -1;
        if (position < 0 || position == before)
            continue;
        before = position;
        vec_push(r->checker.arena, &r->speaking[position], (int)r->conditions.count);
        x->last_group = position > x->last_group ? position : x->last_group;
    }
}

/* Adds a condition. The check of the kernel handles conditions that use locals, which are
 * unknown here, and conditions that use no tuned value. */
static void add_condition(struct tune_rules *r, const struct node *n, const struct index_list *uses)
{
    struct expr *e = check_condition(&r->checker, n->a);
    struct condition condition = {.node = n, .expr = e};
    struct const_search search = {r, &condition};
    if (!e)
        return;
    find_groups(r, &condition, uses);
    if (condition.last_group < 0)
        return;
    expr_walk(&condition.expr, gather_const, &search);
    vec_push(r->checker.arena, &r->conditions, condition);
}

static void gather_groups(struct tune_rules *r, struct arena *a)
{
    r->groups = arena_array(a, int, r->tune_count + 1);
    r->firsts = arena_array(a, int, r->tune_count + 1);
    r->positions = arena_array(a, int, r->module->group_count + 1);
    for (int i = 0; i < r->module->group_count; i++)
        r->positions[i] = -1;
    for (int i = 0; i < r->tune_count; i++) {
        int group = r->module->entries[r->tunes[i]].group;
        if (r->positions[group] >= 0)
            continue;
        r->positions[group] = r->group_count;
        r->firsts[r->group_count] = i;
        r->groups[r->group_count++] = group;
    }
    r->firsts[r->group_count] = r->tune_count;
    r->speaking = arena_array(a, struct index_list, r->group_count + 1);
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
    r->values = arena_array(a, struct literal, m->known_count + 1);
    r->tunes = arena_array(a, int, kernel->uses.count + 1);
    r->tune_count = module_kernel_tunes(m, index, r->tunes);
    gather_groups(r, a);
    r->gathered = arena_array(a, int, m->known_count + 1);
    for (int g = 0; g < r->group_count; g++)
        set_group(r, g, list_at(r, g), 0);
    check_set_up(&r->checker, a, &r->quiet, m, kernel->name, kernel->loc);
    enum dtype *types = arena_array(a, enum dtype, m->known_count + 1);
    for (int i = 0; i < m->known_count; i++)
        if (m->entries[i].kind == ENTRY_TYPE)
            types[i] = m->entries[i].choices[0];
    r->checker.tunes = r->values;
    r->checker.types = types;
    for (size_t i = 0; i < kernel->concern.count; i++) {
        const struct module_condition *x = &m->conditions[kernel->concern.data[i]];
        if (x->node->kind == N_REQUIRE)
            add_condition(r, x->node, &x->uses);
    }
    check_bind_params(&r->checker, kernel->node, NULL);
    struct module_reach reach;
    module_reach_init(&reach, a, m);
    for (const struct node *n = kernel->node->body->body; n; n = n->next) {
        if (n->kind != N_REQUIRE)
            continue;
        module_reach_add(&reach, n);
        struct index_list uses = module_reach_take(&reach);
        add_condition(r, n, &uses);
    }
    return r;
}

/* --- intervals --- */

struct range {
    bool known;
    int64_t low, high;
};

static struct range range_of(struct tune_rules *r, const struct expr *e, int position);

/* Returns the range of a tuned name: its value if its list is decided, else all values of its
 * list and its present one, which need not be listed. */
static struct range tune_range(const struct tune_rules *r, const struct entry *e, int position)
{
    struct literal now = r->values[e->index];
    struct range x = {!now.is_float, now.i, now.i};
    if (r->positions[e->group] <= position)
        return x;
    const struct tune_list *list = list_at(r, r->positions[e->group]);
    for (int row = 0; row < list->count; row++) {
        struct literal v = list->values[row * list->names + e->member];
        x.known = x.known && !v.is_float;
        x.low = v.i < x.low ? v.i : x.low;
        x.high = v.i > x.high ? v.i : x.high;
    }
    return x;
}

static struct range ref_range(struct tune_rules *r, const struct expr *e, int position)
{
    const struct entry *entry = entry_of(r, e->sym);
    if (!entry)
        return (struct range){0};
    return entry->kind == ENTRY_TUNE ? tune_range(r, entry, position)
                                     : range_of(r, r->checker.consts[entry->index].init, position);
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

/* Computes the constants of a condition from the present tuned values. Returns false if one has
 * no value. */
static bool consts_again(struct tune_rules *r, const struct condition *x)
{
    for (size_t i = 0; i < x->consts.count; i++) {
        struct sym *s = x->consts.data[i];
        const struct entry *e = entry_of(r, s);
        if (e->kind == ENTRY_TUNE)
            s->value = r->values[e->index];
        else if (!eval_scalar(r->checker.consts[e->index].init, NULL, &s->value))
            return false;
    }
    return true;
}

/* Returns true if the condition fails once the lists up to `position` are decided. */
static bool says_no(struct tune_rules *r, const struct condition *x, int position)
{
    struct literal value;
    if (!consts_again(r, x))
        return false;
    if (x->last_group <= position)
        return eval_scalar(x->expr, NULL, &value) && value.i == 0;
    struct range can_be = range_of(r, x->expr, position);
    return can_be.known && can_be.high == 0;
}

/* Returns a condition that fails once the lists up to `position` are decided; NULL: none. Checks
 * only conditions that use the list at `position`, because the others did not fail before. */
static const struct condition *violated_at(struct tune_rules *r, int position)
{
    if (position < 0) {
        for (size_t i = 0; i < r->conditions.count; i++)
            if (says_no(r, &r->conditions.data[i], position))
                return &r->conditions.data[i];
        return NULL;
    }
    const struct index_list *list = &r->speaking[position];
    for (size_t i = 0; i < list->count; i++)
        if (says_no(r, &r->conditions.data[list->data[i]], position))
            return &r->conditions.data[list->data[i]];
    return NULL;
}

static bool choose(struct tune_rules *r, int position)
{
    if (position == r->group_count)
        return true;
    const struct tune_list *list = list_at(r, position);
    for (int row = 0; row < list->count && r->tries < MAX_TRIES; row++) {
        r->tries++;
        arena_poll(r->checker.arena);
        set_group(r, position, list, row);
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

/* Returns the number of leading names that belong to the groups up to `position`. */
static int names_until(const struct tune_rules *r, int position)
{
    int count = 0;
    for (int i = 0; i < r->tune_count; i++)
        count += r->positions[r->module->entries[r->tunes[i]].group] <= position;
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
