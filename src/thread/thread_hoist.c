/* Moves operations out of loops. */
#include "thread/thread_facts.h"

#include <string.h>

/* --- hoisting --- */

struct hoisting {
    struct arena *arena;
    uint32_t *depth; /* by number of a value: loops around its definition */
    int64_t blocks;  /* of a cluster */
    bool of_threads; /* a kernel without roles */
    bool *
        ranks; /* by number of a value: it is certainly the rank of a block of the cluster; NULL: no clusters */
};

static void note_rank(void *user, const struct thread_operation *op, const struct facts *facts)
{
    struct hoisting *h = user;
    const struct thread_value *v = op->results.count == 1 ? op->results.data[0] : NULL;
    if (v && v->type.count == 1 && v->type.dtype != DT_NONE && !dtype_is_float(v->type.dtype))
        h->ranks[v->number] = facts[v->number].least >= 0 && facts[v->number].greatest < h->blocks;
}

static bool takes_rank(const struct thread_operation *op)
{
    return op->op == THREAD_PEER;
}

/* Returns whether the rank is certainly one of the cluster. If it is not, the loop may have no iterations for that reason. */
static bool is_peer(const struct hoisting *h, const struct thread_operand *rank)
{
    return rank->kind == THREAD_VALUE ? h->ranks && h->ranks[rank->value->number]
                                      : rank->integer >= 0 && rank->integer < h->blocks;
}

static void define_arguments(struct hoisting *h, const struct thread_region *r, uint32_t depth)
{
    for (size_t i = 0; i < r->arguments.count; i++)
        h->depth[r->arguments.data[i]->number] = depth;
}

/* Scalars only: a group that is live during a loop takes registers from it. */
static bool can_move(const struct hoisting *h, const struct thread_operation *op)
{
    if (op->op == THREAD_PEER && !is_peer(h, &op->operands.data[0]))
        return false;
    return thread_op_table[op->op].effects == THREAD_PURE && op->results.count == 1 &&
           op->results.data[0]->type.count == 1 && op->op != THREAD_UNDEFINED;
}

/* Returns the number of loops around the innermost operand. */
static uint32_t depth_of_operands(const struct hoisting *h, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    uint32_t depth = 0;
    for (size_t left = op->operands.count; left > 0; left--, o++)
        if (o->value && h->depth[o->value->number] > depth)
            depth = h->depth[o->value->number];
    return depth;
}

/* A loop: the place before it. `outer`: the loop whose region it is in, if that is not a region of an `if`. */
struct loop_place {
    struct thread_region *before;
    const struct thread_turn *turn; /* there */
    uint32_t depth;                 /* loops around its region, with it */
    const struct loop_place *outer;
    bool branch; /* the region is one of an `if` in the loop */
};

/* Returns the outermost place where the operands are known; NULL: the operation stays. */
static struct thread_region *place_of(const struct hoisting *h, struct thread_operation *op,
                                      const struct loop_place *loop, uint32_t *depth)
{
    if (!loop || !can_move(h, op) || (loop->branch && !thread_is_integer(op)))
        return NULL;
    const uint32_t least = depth_of_operands(h, op);
    if (least >= loop->depth)
        return NULL;
    while (loop->outer && least < loop->outer->depth)
        loop = loop->outer;
    *depth = loop->depth - 1;
    op->turn = loop->turn;
    return loop->before;
}

/* Returns the place for the operations of a region of `op`. An `if` in a loop keeps most of its operations, since the loop may
 * rarely execute it. In kernels without roles it gives up integers, which other places of the loop often need, too. */
static const struct loop_place *place_in(const struct hoisting *h,
                                         const struct thread_operation *op,
                                         const struct loop_place *loop, struct loop_place *inner)
{
    if (op->op == THREAD_LOOP)
        return inner;
    if (op->op != THREAD_IF || !loop || !h->of_threads)
        return NULL;
    *inner = *loop;
    inner->branch = true;
    return inner;
}

static void hoist_region(struct hoisting *h, struct thread_region *r, uint32_t depth,
                         const struct loop_place *loop);

/* before: the region of the operation, so far */
static void hoist_regions(struct hoisting *h, const struct thread_operation *op,
                          struct thread_region *before, uint32_t depth,
                          const struct loop_place *loop)
{
    struct loop_place inner = {before, op->turn, depth + 1, loop, false};
    const struct loop_place *in = place_in(h, op, loop, &inner);
    depth += op->op == THREAD_LOOP;
    for (size_t i = 0; i < op->regions.count; i++) {
        define_arguments(h, op->regions.data[i], depth);
        hoist_region(h, op->regions.data[i], depth, in);
    }
}

static void hoist_region(struct hoisting *h, struct thread_region *r, uint32_t depth,
                         const struct loop_place *loop)
{
    struct thread_region kept = {0};
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        if (op->regions.count)
            hoist_regions(h, op, &kept, depth, loop);
        uint32_t defined = depth;
        struct thread_region *to = place_of(h, op, loop, &defined);
        for (size_t j = 0; j < op->results.count; j++)
            h->depth[op->results.data[j]->number] = defined;
        vec_push(h->arena, to ? &to->operations : &kept.operations, op);
    }
    r->operations.data = kept.operations.data;
    r->operations.count = kept.operations.count;
    r->operations.capacity = kept.operations.capacity;
}

void thread_hoist(struct arena *a, struct thread_function *f)
{
    struct hoisting h = {.arena = a, .depth = arena_array(a, uint32_t, f->values + 1)};
    h.of_threads = f->shape[0] > 0;
    h.blocks = (int64_t)f->cluster[0] * f->cluster[1] * f->cluster[2];
    if (h.blocks) {
        h.ranks = arena_array(a, bool, f->values + 1);
        thread_facts_walk(a, f, takes_rank, note_rank, &h);
    }
    hoist_region(&h, f->body, 0, NULL);
}
