/* Computes scalars again after a loop in place of keeping them in registers while it runs (Briggs, Cooper & Torczon,
 * "Rematerialization", 1992): integers that follow from what is live anyway, and that the loop does not use.
 *
 *     %lane = rem %thread, 32                    %lane = rem %thread, 32
 *     loop { … }                        →        loop { … }
 *     %row = div %lane, 4                        %again = rem %thread, 32
 *                                                %row = div %again, 4
 *
 * A loop counts if no loop in it does, and if it has many values in groups or passes many. One around others that passes many
 * counts in their place if one block takes all registers anyway, because what is computed again in it is computed in each
 * iteration. A new part of the function begins at its end, and at the beginning of a loop around it, whose next iteration comes
 * after it. */
#include "target/targets.h"
#include "thread/thread_build.h"

enum { LEAST_VALUES = 200, WEIGHT_PASSED = 8, MOST_OPERATIONS = 32 };

struct repeat_info {
    const struct thread_operation *definition; /* that may be repeated; NULL: it may not */
    struct thread_value *here;                 /* the latest computation */
    uint32_t part;                             /* of the latest computation */
    uint32_t last;                             /* the number of the last operation that uses it */
    bool stays; /* always live: a loop that counts uses it, or an operand is not live */
};

/* The loops of an operation with regions: none that counts; some that count, in its regions; or it is one itself. */
enum loops { LOOPS_NONE, LOOPS_INSIDE, LOOPS_COUNTS };

/* The info of a value before a region changed it, for the end of the region. */
struct change {
    struct repeat_info *info, before;
};

struct remaking {
    struct thread_builder build;
    struct repeat_info *info; /* by number of a value */
    uint32_t count;           /* of these */
    VEC(uint32_t) copied;     /* by number less that count: the number of the value that it is */
    VEC(enum loops) branches;
    VEC(struct change) changes;
    size_t next_branch;
    bool may_keep;     /* one block takes all registers if its threads take all that they can */
    uint32_t part, at; /* operations so far */
    int left;          /* operations for the value that is computed again */
};

/* Returns whether the operation is cheap, on integers, and computed from scalars and constants alone. */
static bool may_repeat(const struct thread_operation *op)
{
    if (op->op >= THREAD_TID_X && op->op <= THREAD_WARP)
        return true;
    const struct thread_operand *o = op->operands.data;
    const bool divides = op->op == THREAD_DIV || op->op == THREAD_REM,
               logic = op->types[0] == DT_BOOL && op->op >= THREAD_AND && op->op <= THREAD_XOR;
    bool good =
        (thread_is_integer(op) || logic) && op->op != THREAD_CDIV &&
        (!divides || (o[1].kind == THREAD_INTEGER && (o[1].integer & (o[1].integer - 1)) == 0));
    for (size_t i = 0; i < op->operands.count; i++)
        good &=
            !o[i].value || (o[i].value->type.count == 1 && !dtype_is_float(o[i].value->type.dtype));
    return good;
}

static void keep_used(struct remaking *g, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++)
            if (op->operands.data[j].value)
                g->info[op->operands.data[j].value->number].stays = true;
        for (size_t j = 0; j < op->regions.count; j++)
            keep_used(g, op->regions.data[j]);
    }
}

/* Returns the weight of what the loop passes. */
static size_t weight_passed(const struct thread_region *r)
{
    size_t weight = 0;
    for (size_t i = 0; i < r->arguments.count; i++)
        weight += (size_t)WEIGHT_PASSED * r->arguments.data[i]->type.count;
    return weight;
}

/* Adds the number of the region's values in groups to *values, and more for its arguments, which live longest. Returns whether
 * it has a loop that counts. */
static bool note_region(struct remaking *g, const struct thread_region *r, size_t *values)
{
    bool any = false;
    *values += weight_passed(r);
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        const size_t at = g->branches.count;
        size_t inside = 0;
        bool loops = false;
        g->at++;
        for (size_t j = 0; j < op->operands.count; j++)
            if (op->operands.data[j].value)
                g->info[op->operands.data[j].value->number].last = g->at;
        if (op->results.count == 1) {
            const struct thread_value *v = op->results.data[0];
            *values += v->type.count > 1 ? v->type.count : 0;
            if (may_repeat(op))
                g->info[v->number].definition = op;
        }
        if (!op->regions.count)
            continue;
        vec_push(g->build.arena, &g->branches, LOOPS_NONE);
        for (size_t j = 0; j < op->regions.count; j++)
            loops |= note_region(g, op->regions.data[j], &inside);
        if (loops && g->may_keep && op->op == THREAD_LOOP &&
            weight_passed(op->regions.data[0]) >= LEAST_VALUES) {
            for (size_t j = at; j < g->branches.count; j++)
                g->branches.data[j] = LOOPS_NONE;
            loops = false;
        }
        if (loops) {
            g->branches.data[at] = LOOPS_INSIDE;
        } else if (op->op == THREAD_LOOP && inside >= LEAST_VALUES) {
            g->branches.data[at] = LOOPS_COUNTS;
            keep_used(g, op->regions.data[0]);
            loops = true;
        }
        any |= loops;
        *values += inside;
    }
    return any;
}

static struct repeat_info *info_of(const struct remaking *g, const struct thread_value *v)
{
    return &g->info[v->number < g->count ? v->number : g->copied.data[v->number - g->count]];
}

static bool is_live(const struct remaking *g, const struct repeat_info *info)
{
    return info->stays || info->part == g->part || (!info->definition && info->last > g->at);
}

/* Returns the value. If it is not live, computes it again, together with the values that this needs. */
static struct thread_value *here(struct remaking *g, const struct thread_value *v)
{
    enum { MOST_OPERANDS = 3 };
    struct repeat_info *info = info_of(g, v);
    const struct thread_operation *op = info->definition;
    struct thread_operand o[MOST_OPERANDS];
    if (is_live(g, info) || !op)
        return info->here;
    for (size_t i = 0; i < op->operands.count; i++) {
        o[i] = op->operands.data[i];
        if (!o[i].value)
            continue;
        const struct repeat_info *from = info_of(g, o[i].value);
        o[i].value = here(g, o[i].value);
        info->stays |= !is_live(g, from);
    }
    if (info->stays || g->left-- <= 0)
        return info->here;
    vec_push(g->build.arena, &g->changes, ((struct change){info, *info}));
    vec_push(g->build.arena, &g->copied, (uint32_t)(info - g->info));
    info->here = thread_add_typed(&g->build, op->op, op->types, 0, o, op->operands.count);
    info->part = g->part;
    return info->here;
}

static void define(struct remaking *g, struct thread_value *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        g->info[values[i]->number].here = values[i];
        g->info[values[i]->number].part = g->part;
    }
}

/* Walks through a region. to: the region that gets the repeated operations; NULL: this one. */
static void walk(struct remaking *g, struct thread_region *r, struct thread_region *to)
{
    const size_t changes = g->changes.count;
    struct thread_region own = {0};
    define(g, r->arguments.data, r->arguments.count);
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        g->at++;
        if (!to) {
            g->build.region = &own;
            g->build.where = op->where;
            g->build.turn = op->turn;
        }
        for (size_t j = 0; g->part > 0 && j < op->operands.count; j++) /* in part 0 all are live */
            if (op->operands.data[j].value) {
                g->left = MOST_OPERATIONS;
                op->operands.data[j].value = here(g, op->operands.data[j].value);
            }
        const enum loops loops =
            op->regions.count ? g->branches.data[g->next_branch++] : LOOPS_NONE;
        g->part += loops == LOOPS_INSIDE && op->op == THREAD_LOOP;
        for (size_t j = 0; j < op->regions.count; j++)
            walk(g, op->regions.data[j], loops == LOOPS_INSIDE ? NULL : g->build.region);
        g->part += loops == LOOPS_COUNTS;
        define(g, op->results.data, op->results.count);
        if (!to)
            vec_push(g->build.arena, &own.operations, op);
    }
    if (to)
        return;
    for (; g->changes.count > changes; g->changes.count--) {
        const struct change *c = &g->changes.data[g->changes.count - 1];
        *c->info = c->before;
    }
    r->operations.data = own.operations.data;
    r->operations.count = own.operations.count;
    r->operations.capacity = own.operations.capacity;
}

void thread_rematerialise(struct arena *a, struct thread_function *f)
{
    struct remaking g = {.build = {.arena = a, .function = f}, .count = f->values};
    size_t values = 0;
    g.info = arena_array(a, struct repeat_info, g.count + 1);
    g.may_keep = f->threads * (GPU_THREAD_REGISTERS + 1) >= GPU_REGISTERS;
    if (!note_region(&g, f->body, &values))
        return;
    g.at = 0;
    for (size_t i = 0; i < f->parameters.count; i++)
        g.info[f->parameters.data[i]->number].stays = true;
    define(&g, f->parameters.data, f->parameters.count);
    walk(&g, f->body, NULL);
}
