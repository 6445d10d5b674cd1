/* Statements. */
#include "emit/emit_copy.h"
#include "layout/layout_named.h"

#include <string.h>

/* Returns what is known of a sum or product over the integers, where it does not wrap. */
static struct facts unwrapped(struct emit *m, const struct expr *e)
{
    static const int rules[][2] = {{OP_ADD, FACTS_ADD},
                                   {OP_SUB, FACTS_SUB},
                                   {OP_MUL, FACTS_MUL},
                                   {OP_NEG, FACTS_NEG},
                                   {OP_SHL, FACTS_SHL}};
    const struct rising *rises = emit_rises(m, e);
    const struct facts counts = facts_between(rises && rises->from_0 ? 0 : INT32_MIN, INT32_MAX);
    struct facts f = emit_facts_of(m, e), x[2];
    for (size_t r = 0; r < sizeof rules / sizeof *rules && e->type.dtype == DT_I32; r++) {
        if (rules[r][0] != (int)e->op)
            continue;
        for (int i = 0; i < e->count; i++)
            x[i] = unwrapped(m, e->args[i]);
        f = facts_of((enum facts_op)rules[r][1], facts_type_of(DT_I64), x);
    }
    return rises ? facts_meet(&f, &counts) : f;
}

/* Emits a value that a variable keeps. Unlike the sums of an index, it wraps. A sum just above the greatest number becomes one
 * just above the least, and no element has that index. to: the variable if it is assigned, since a next iteration may then add
 * to it; NULL: it is declared. In a loop's step, the condition still holds of a counter that the step adds a constant to. */
static struct thread_operand kept(struct emit *m, const struct expr *e, enum dtype t,
                                  const struct sym *to)
{
    enum { NEAR = 1 << 20 };
    int64_t step;
    const bool steps = to && m->loop && !m->loop->in_body && e->count == 2 &&
                       e->args[0]->op == OP_REF && e->args[0]->sym == to &&
                       eval_int(e->args[1], NULL, &step);
    const struct thread_operand o = emit_as(m, emit_scalar(m, e), t).o;
    if (t != DT_I32 || o.kind != THREAD_VALUE)
        return o;
    if (steps)
        m->loop->in_body = true;
    const struct facts f = unwrapped(m, e);
    if (steps)
        m->loop->in_body = false;
    const bool fits = facts_fit(&f, facts_type_of(t));
    o.value->leaves |= !fits;
    o.value->wraps |= f.least < INT32_MIN || f.greatest > (int64_t)INT32_MAX + NEAR ||
                      (to && m->loop && o.value->leaves);
    return o;
}

static void declare_scalar(struct emit *m, const struct stmt *s)
{
    enum dtype t = s->sym->type.dtype;
    const struct thread_operand o = s->value ? kept(m, s->value, t, NULL) : emit_constant(t, 0).o;
    struct variable *variable = emit_declare(m, s->sym, 1);
    variable->slots[0] = (struct slot){o, {.dtype = t, .count = 1}};
}

/* A statement that may need a barrier before it. */
struct uncertain {
    struct thread_region *region;
    size_t at; /* of the first operation */
};

/* Emits a barrier if a statement uses a part of a view that an earlier one used, and a thread does not have the same elements
 * both times. Elements of equal rows or columns are stored by one of the threads that hold them. In a kernel without roles, the
 * layout of a tile is known only after the statement. Returns true if the barrier depends on that layout. */
static bool sync_earlier(struct emit *m, const struct stmt *s, struct uncertain *u)
{
    bool differ = false;
    for (const struct earlier *e = s->earlier; e; e = e->next) {
        const struct layout *l = emit_accessed_in(m, e->before);
        differ |= !m->fragments || !l || !layout_is_exclusive(l);
        if (e->access != e->before)
            emit_note_layout(m, e->access, NULL);
    }
    *u = (struct uncertain){m->b.region, m->b.region->operations.count};
    if (differ && !m->place.one_thread)
        emit_sync(m);
    return !differ && m->fragments && s->earlier && !m->place.one_thread;
}

/* Emits a barrier before a statement whose layouts differ from those of the earlier uses. The barrier orders nothing that the
 * statement itself has used. */
static void sync_before(struct emit *m, const struct stmt *s, const struct uncertain *u)
{
    const bool touched = m->place.touched;
    const int64_t barriers = m->room.barriers;
    struct thread_region *now = m->b.region;
    bool differ = false;
    for (const struct earlier *e = s->earlier; e; e = e->next)
        differ |= emit_accessed_in(m, e->access) != emit_accessed_in(m, e->before);
    if (!differ)
        return;
    m->b.region = u->region;
    emit_sync(m);
    m->b.region = now;
    m->place.touched = touched;
    m->room.barriers = barriers;
    struct thread_operation **all = u->region->operations.data, *barrier;
    const size_t last = u->region->operations.count - 1;
    barrier = all[last];
    memmove(all + u->at + 1, all + u->at, (last - u->at) * sizeof *all);
    all[u->at] = barrier;
}

static void declare(struct emit *m, const struct stmt *s)
{
    switch (s->sym->storage) {
    case ST_SCALAR: declare_scalar(m, s); break;
    case ST_REG: m->by_threads->declare(m, s); break;
    case ST_SHARED:
        if (s->sym->staged) /* a pipeline: the previous iteration has read it */
            emit_sync(m);
        if (s->value) {
            struct expr whole = {
                .op = OP_ACCESS, .type = s->sym->type, .loc = s->loc, .sym = s->sym};
            m->by_threads->store(m, &whole, s->value);
        }
        if (s->sym->staged)
            emit_sync(m);
        break;
    case ST_VIEW:
    case ST_MBARRIER: break;
    default:
        if (!m->roles && s->sym->storage == ST_ARRAY)
            m->by_threads->declare(m, s);
        else
            emit_missing(m, s->loc, "an array",
                         "use scalars, or a shared tile, whose elements can be indexed");
        break;
    }
}

static void assign(struct emit *m, const struct stmt *s)
{
    struct sym *to = s->target->sym;
    struct variable *v = s->target->op == OP_REF ? emit_variable(m, to) : NULL;
    if (s->in_background)
        emit_product(m, s);
    else if (v && to->storage == ST_SCALAR)
        v->slots[0].o = kept(m, s->value, to->type.dtype, to);
    else if (v)
        m->by_threads->assign(m, v, s);
    else
        m->by_threads->store(m, s->target, s->value);
}

/* Returns false if the effect is the same in a kernel with roles. */
static bool effect_without_roles(struct emit *m, const struct stmt *s)
{
    int64_t most = 0;
    switch (s->value->op) {
    case OP_ASYNC_COMMIT:
        thread_add_counted(&m->b, THREAD_COPY_ASYNC_COMMIT, DT_NONE, DT_NONE, 0, NULL, 0);
        return true;
    case OP_ASYNC_WAIT:
        eval_int(s->value->args[0], NULL, &most);
        THREAD_ADD_OP(&m->b, THREAD_COPY_ASYNC_WAIT, DT_NONE, DT_NONE, thread_integer(most));
        m->place.touched = true; /* the copies were under way until now */
        return true;
    case OP_PRINT: emit_print(m, s); return true;
    default: return false;
    }
}

static void effect(struct emit *m, const struct stmt *s)
{
    int64_t most = 0;
    if (!m->roles && effect_without_roles(m, s))
        return;
    switch (s->value->op) {
    case OP_SYNC: emit_sync(m); break;
    case OP_ASSUME:
        if (s->claim)
            emit_claim(m, s);
        break;
    case OP_CLUSTER_SYNC:
        thread_add_counted(&m->b, THREAD_CLUSTER_SYNC, DT_NONE, DT_NONE, 0, NULL, 0);
        m->place.touched = false;
        break;
    case OP_DOT_WAIT:
        eval_int(s->value->args[0], NULL, &most);
        emit_product_wait(m, most);
        break;
    case OP_LOCK:
    case OP_UNLOCK: emit_lock(m, s->value); break;
    case OP_FREE:
    case OP_ASYNC_COMMIT: /* copies of threads are done at once */
    case OP_ASYNC_WAIT: break;
    case OP_WAIT:
    case OP_EXPECT:
    case OP_MBARRIER_ARRIVE:
    case OP_STORE_WAIT:
    case OP_FENCE_ASYNC: emit_mbarrier_effect(m, s); break;
    default:
        if (op_is_atomic(s->value->op)) {
            m->by_threads->atomic(m, s->value);
            break;
        }
        emit_missing(m, s->loc, arena_printf(m->arena, "`%s`", op_table[s->value->op].text),
                     emit_way_out(s->value->op));
        break;
    }
}

/* rest: of emit_branch. */
static void statement(struct emit *m, const struct stmt *s, const struct stmt *rest)
{
    const bool flows = s->kind == STMT_FOR || s->kind == STMT_WHILE || s->kind == STMT_BREAK ||
                       s->kind == STMT_CONTINUE || s->kind == STMT_ONE_THREAD;
    struct uncertain before;
    m->b.where = s->loc;
    if (!m->roles)
        plan_room_statement(&m->room, s);
    const bool uncertain = sync_earlier(m, s, &before);
    if (flows)
        emit_settle(m);
    switch (s->kind) {
    case STMT_DECL: declare(m, s); break;
    case STMT_ASSIGN: assign(m, s); break;
    case STMT_ASYNC_COPY:
        if (s->barrier || s->target->sym->storage == ST_VIEW)
            emit_tensor_copy(m, s);
        else
            m->by_threads->copy_async(m, s);
        break;
    case STMT_EFFECT: effect(m, s); break;
    case STMT_IF: emit_branch(m, s, rest); break;
    case STMT_FOR:
    case STMT_WHILE: emit_loop(m, s); break;
    case STMT_BLOCK: emit_list(m, s->body); break;
    case STMT_BREAK:
    case STMT_CONTINUE: emit_leave(m, s); break;
    case STMT_RETURN:
        thread_add_control(&m->b, THREAD_RETURN);
        m->ended = true;
        break;
    case STMT_ONE_THREAD: emit_one_thread(m, s->body); break;
    case STMT_ROLE:
    case STMT_ENSURES: break;
    }
    if (uncertain)
        sync_before(m, s, &before);
}

void emit_statement(struct emit *m, const struct stmt *s)
{
    statement(m, s, NULL);
}

void emit_statements(struct emit *m, const struct stmt *first)
{
    bool skips = false;
    for (const struct stmt *s = first; s && !m->failed && !m->ended && !skips; s = s->next) {
        skips = emit_skips_rest(m, first, s);
        statement(m, s, skips ? s->next : NULL);
    }
    if (m->b.region != m->b.function->body)
        emit_settle_later(m);
}
