/* Thread-level kernels: their scalars and statements. The block does the rest together: by copies, or, if
 * threads exchange elements for it, in layouts of the plan, as tile-level kernels do. */
#include "emit/emit_fragment.h"
#include "plan/plan_limits.h"

static bool scalar(struct emit *m, const struct expr *e, struct scalar *out)
{
    if (e->op == OP_BLOCK)
        return emit_drawn_block(m, e, out);
    if (op_is_reduction(e->op) && emit_is_reduced_by_block(m, e))
        *out = emit_fragment_reduce(m, e).v[0];
    else if (e->op == OP_ARRIVE)
        *out = emit_atomic_once(m, e, true);
    else if (e->op == OP_ACCESS || op_is_reduction(e->op) || op_is_atomic(e->op))
        *out = emit_elements(m, e)[0];
    else
        return false;
    return true;
}

/* --- statements --- */

/* Returns whether all threads together store to the target. */
static bool is_copy(const struct expr *target, const struct expr *value)
{
    return target->type.rank > 0 && emit_is_collective(target) && emit_is_collective(value);
}

static void store(struct emit *m, const struct expr *target, const struct expr *value)
{
    struct scalar one;
    if (is_copy(target, value)) {
        if (m->fragments)
            emit_by_tiles.store(m, target, value);
        else
            emit_copy(m, target, value);
    } else if (target->type.rank == 0) {
        one = emit_scalar(m, value);
        emit_store_part(m, target, &one);
    } else {
        emit_store_part(m, target, emit_elements_as(m, value, &target->type));
    }
}

static void declare(struct emit *m, const struct stmt *s)
{
    if (s->sym->storage != ST_REG) {
        emit_declare_array(m, s);
    } else if (m->fragments) {
        emit_by_tiles.declare(m, s);
    } else {
        plan_limits_ragged(m->layouts, s->loc, "a register tile");
        m->failed = true;
    }
}

static void assign(struct emit *m, struct variable *v, const struct stmt *s)
{
    if (v->sym->storage == ST_REG)
        emit_by_tiles.assign(m, v, s);
    else
        emit_give_elements(m, v, s->value);
}

static void atomic(struct emit *m, const struct expr *e)
{
    if (e->op == OP_ARRIVE)
        emit_atomic_once(m, e, false);
    else
        emit_atomic(m, e);
}

static void copy_async(struct emit *m, const struct stmt *s)
{
    if (m->fragments)
        emit_planned_copy(m, s);
    else
        emit_copy(m, s->target, s->value);
}

/* --- the kernel --- */

static void note_exchange(void *user, struct expr **at)
{
    *(bool *)user |= emit_exchanges(*at);
}

static void note_tiles(void *user, struct stmt *s)
{
    const bool declares = s->kind == STMT_DECL && s->value,
               shared = s->kind == STMT_DECL && s->sym->storage == ST_SHARED;
    *(bool *)user |= s->kind == STMT_DECL && s->sym->storage == ST_REG;
    *(bool *)user |= s->kind == STMT_ASYNC_COPY || (declares && shared) ||
                     (s->kind == STMT_ASSIGN && is_copy(s->target, s->value));
    expr_walk(&s->value, note_exchange, user);
    expr_walk(&s->condition, note_exchange, user);
}

static void enter(struct emit *m)
{
    struct scalar first = emit_constant(DT_BOOL, 1);
    m->place = (struct position){.lane = emit_place(m, THREAD_LANE), .replicas = 1};
    m->place.replica = emit_constant(DT_U32, 0);
    for (int i = 0; i < 3; i++)
        if (i == 0 || m->kernel->threads[i] > 1) {
            struct scalar at = emit_place(m, (enum thread_opcode)((int)THREAD_TID_X + i));
            emit_and(m, &first, emit_by(m, THREAD_EQ, at, 0));
        }
    m->place.elected = first.o.value;
    bool tiles = false;
    stmt_walk(m->kernel->body, note_tiles, &tiles);
    if (tiles && kernel_block_threads(m->kernel) % WARP_LANES == 0)
        emit_use_fragments(m, emit_as(m, emit_thread_number(m), DT_U32));
    emit_draw_block(m);
}

const struct by_threads emit_by_threads = {
    .heads = "`threads(…)`",
    .enter = enter,
    .scalar = scalar,
    .store = store,
    .declare = declare,
    .assign = assign,
    .atomic = atomic,
    .copy_async = copy_async,
};
