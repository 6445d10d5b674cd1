/* Mbarriers, and copies by tensor maps.
 *
 * An mbarrier on which a role arrives counts warps: each warp arrives when it is done, so that no warp has to wait for the
 * others of its warpgroup. An arrival of one thread then counts as that of four warps. */
#include "emit/emit_own.h"
#include "plan/plan_layouts.h"

/* --- counts --- */

struct arrivals {
    const struct sym *sym;
    bool by_role;
};

static void note_arrivals(struct arrivals *a, const struct stmt *first, bool one_thread)
{
    for (const struct stmt *s = first; s; s = s->next) {
        a->by_role |= s->kind == STMT_EFFECT && s->value->op == OP_MBARRIER_ARRIVE && !one_thread &&
                      s->value->args[0]->sym == a->sym;
        note_arrivals(a, s->body, one_thread || s->kind == STMT_ONE_THREAD);
        note_arrivals(a, s->otherwise, one_thread);
    }
}

bool emit_counts_warps(const struct emit *m, const struct sym *s)
{
    struct arrivals a = {.sym = s};
    note_arrivals(&a, m->kernel->body, false);
    return a.by_role;
}

static struct thread_operand mbarrier(struct emit *m, const struct expr *e)
{
    struct scalar index = emit_constant(DT_U32, 0);
    for (int i = 0; i < e->indices; i++) {
        index = emit_by(m, THREAD_MUL, index, e->sym->type.extent[i]);
        index = emit_op2(m, THREAD_ADD, DT_U32,
                         emit_as(m, emit_scalar(m, e->index[i].value), DT_U32), index);
    }
    return thread_element(emit_object(m, e->sym), index.o, 0);
}

void emit_init_mbarriers(struct emit *m)
{
    const struct loc outer = m->b.where;
    for (const struct sym *s = m->kernel->symbols; s; s = s->next) {
        if (s->storage != ST_MBARRIER)
            continue;
        int count = s->arrivals * (emit_counts_warps(m, s) ? EMIT_WARPGROUP : 1);
        m->b.where = s->loc;
        for (int64_t i = 0; i < type_elements(&s->type); i++)
            THREAD_ADD_OP(&m->b, THREAD_MBARRIER_INIT, DT_NONE, DT_NONE,
                          thread_element(emit_object(m, s), thread_integer(i), 0),
                          thread_integer(count));
    }
    m->b.where = outer;
}

/* --- order between blocks --- */

enum { USED = 1, FILLED = 2 };

struct uses {
    struct emit *m;
    const struct stmt *s;
    uint8_t *tile; /* by sym->index: USED by threads; FILLED by copies to several blocks */
};

static void note_use(void *user, struct expr **at)
{
    const struct uses *u = user;
    const struct stmt *s = u->s;
    const struct expr *e = *at;
    if (e->op != OP_ACCESS)
        return;
    if (e->sym->storage == ST_VIEW)
        u->m->publishes |= e != s->target && !e->sym->is_const;
    if (e->sym->storage != ST_SHARED)
        return;
    u->m->publishes |= access_peer(e) != NULL;
    if (s->multicast && e == s->target)
        u->tile[e->sym->index] |= FILLED;
    else if (e->type.rank == 0 || !(s->in_background || s->barrier)) /* threads read indices */
        u->tile[e->sym->index] |= USED;
}

static void note_uses(void *user, struct stmt *s)
{
    struct uses *u = user;
    if (s->kind == STMT_ENSURES)
        return;
    u->s = s;
    if (s->kind == STMT_DECL && s->value)
        u->tile[s->sym->index] |= USED;
    stmt_own_expressions(s, note_use, u);
}

/* Finds whether arrivals at mbarriers of peers release to the cluster, and waits acquire from it. Such an arrival waits until
 * all writes of its thread can be seen by the whole GPU, and such a wait empties the L1 cache. A kernel needs that only if its
 * blocks access the same memory by ordinary accesses: a peer's shared memory, tiles that a peer's copies fill, or global memory
 * that is read and may be written. (Writes of two blocks to one element race in any case: docs/language.md, "Synchronisation".)
 * In all other kernels, a peer's copies can only overwrite what products and copies have read or written, and these have ended
 * when a thread has waited for them. Then the arrival releases to its own block. */
void emit_note_order(struct emit *m)
{
    const struct kernel *k = m->kernel;
    struct uses u = {m, .tile = arena_array(m->arena, uint8_t, k->symbol_count + 1)};
    if (!k->cluster[0])
        return;
    stmt_walk(k->body, note_uses, &u);
    for (int i = 0; i < k->symbol_count; i++)
        m->publishes |= u.tile[i] == (USED | FILLED);
}

/* --- phases --- */

static void declare_phase(void *user, struct stmt *s)
{
    struct emit *m = user;
    if (s->kind != STMT_EFFECT || s->value->op != OP_WAIT || s->value->count != 1 || m->failed)
        return;
    const struct sym *sym = s->value->args[0]->sym;
    if (type_elements(&sym->type) > 32) {
        emit_error(m, s->loc, "`%s` has more than 32 mbarriers, whose phases a role cannot count",
                   sym->name);
        diag_note(m->diag, s->loc, "give the parity of the phase: `wait(%s[…], phase)`", sym->name);
        return;
    }
    struct variable *v = emit_declare(m, sym, 1);
    v->slots[0] =
        (struct slot){thread_integer(sym->ready ? UINT32_MAX : 0), {.dtype = DT_U32, .count = 1}};
}

void emit_phases(struct emit *m, const struct stmt *body)
{
    stmt_walk((struct stmt *)body, declare_phase, m);
}

/* Returns the parity of the phase for which the role waits next, and flips it. */
static struct scalar next_parity(struct emit *m, const struct expr *barrier,
                                 struct thread_operand element)
{
    struct variable *v = emit_variable(m, barrier->sym);
    struct scalar phases = {v->slots[0].o, DT_U32};
    struct scalar number = {
        element.value ? thread_use(element.value) : thread_integer(element.integer), DT_U32};
    struct scalar parity = phases, bit = emit_constant(DT_U32, 1);
    if (type_elements(&barrier->sym->type) > 1) {
        parity = emit_op2(m, THREAD_SHR, DT_U32, phases, number);
        bit = number.o.kind == THREAD_INTEGER
                  ? emit_constant(DT_U32, (int64_t)1 << number.o.integer)
                  : (struct scalar){thread_use(THREAD_ADD_OP(&m->b, THREAD_SHL, DT_U32, DT_NONE,
                                                             thread_integer(1), number.o)),
                                    DT_U32};
    }
    parity = emit_by(m, THREAD_AND, parity, 1);
    v->slots[0].o = emit_op2(m, THREAD_XOR, DT_U32, phases, bit).o;
    return parity;
}

/* Returns the parity of a phase that the program states. Phase 0 of the language is the one that a `ready` mbarrier has
 * completed at first; the hardware counts from the phase after it. */
static struct scalar given_parity(struct emit *m, const struct expr *e)
{
    struct scalar parity = emit_as(m, emit_scalar(m, e->args[1]), DT_U32);
    if (!e->args[0]->sym->ready)
        return parity;
    return emit_by(m, THREAD_XOR, parity, 1);
}

static void wait(struct emit *m, const struct expr *e)
{
    struct thread_operand element = mbarrier(m, e->args[0]);
    struct scalar parity = e->count == 2 ? given_parity(m, e) : next_parity(m, e->args[0], element);
    enum thread_opcode op = m->publishes ? THREAD_MBARRIER_ACQUIRE : THREAD_MBARRIER_WAIT;
    THREAD_ADD_OP(&m->b, op, DT_NONE, DT_NONE, element, parity.o);
}

/* --- by one thread --- */

static struct thread_region *open_one_thread(struct emit *m)
{
    return m->place.one_thread ? m->b.region : emit_open_if(m, emit_elected(m));
}

static void note_shared(void *user, struct expr **at)
{
    *(bool *)user |= (*at)->op == OP_ACCESS && (*at)->sym->storage == ST_SHARED;
}

/* Returns whether threads themselves access shared memory in the statement, and not the copy engine or a product. */
static bool touches_in(const struct stmt *s)
{
    bool found = s->kind == STMT_DECL && s->value && s->sym->storage == ST_SHARED;
    const bool by_engine =
        s->kind == STMT_ASYNC_COPY && (s->barrier || s->target->sym->storage == ST_VIEW);
    if (!s->in_background && !by_engine)
        stmt_own_expressions((struct stmt *)s, note_shared, &found);
    return found;
}

static bool touched_in(const struct stmt *s);

/* Returns whether threads have used shared memory since their last barrier, after these statements. touched: the same before
 * them. A barrier within a branch or a loop does not count. */
static bool touched_after(const struct stmt *first, bool touched)
{
    for (const struct stmt *s = first; s; s = s->next) {
        touched |= touched_in(s);
        if (s->kind == STMT_EFFECT && s->value->op == OP_SYNC)
            touched = false;
    }
    return touched;
}

static bool touched_in(const struct stmt *s)
{
    return touches_in(s) || touched_after(s->init, false) || touched_after(s->body, false) ||
           touched_after(s->otherwise, false) || touched_after(s->step, false);
}

void emit_note_iterations(struct emit *m, const struct stmt *loop)
{
    m->place.touched |= touched_in(loop);
}

/* Makes all threads for which an arrival counts finish with shared memory first. In a role of whole warpgroups, each warp
 * arrives for its lanes; in other roles, one thread arrives for all. */
static void finish_before_arrival(struct emit *m)
{
    if (!m->place.touched)
        return;
    if (m->place.warps % EMIT_WARPGROUP == 0)
        thread_add_counted(&m->b, THREAD_WARP_SYNC, DT_NONE, DT_NONE, 0, NULL, 0);
    else
        emit_sync(m);
}

static void arrive(struct emit *m, const struct expr *e)
{
    struct thread_operand element = mbarrier(m, e->args[0]);
    struct scalar peer = {0};
    if (access_peer(e->args[0]))
        peer = emit_peer(m, e->args[0]);
    bool warps = emit_counts_warps(m, e->args[0]->sym);
    struct thread_region *outer = m->b.region;
    int times = 1;
    if (!m->place.one_thread)
        finish_before_arrival(m);
    if (m->place.one_thread)
        times = warps ? EMIT_WARPGROUP : 1;
    else if (m->place.warps % EMIT_WARPGROUP == 0)
        emit_open_if(m, emit_by(m, THREAD_EQ, m->place.lane, 0));
    else {
        open_one_thread(m);
        times = EMIT_WARPGROUP;
    }
    for (int i = 0; i < times; i++)
        if (access_peer(e->args[0]))
            THREAD_ADD_OP(&m->b,
                          m->publishes ? THREAD_MBARRIER_RELEASE_PEER : THREAD_MBARRIER_ARRIVE_PEER,
                          DT_NONE, DT_NONE, element, peer.o);
        else
            THREAD_ADD_OP(&m->b, THREAD_MBARRIER_ARRIVE, DT_NONE, DT_NONE, element);
    m->b.region = outer;
}

static void expect(struct emit *m, const struct expr *e)
{
    int64_t bytes;
    struct thread_operand element = mbarrier(m, e->args[0]);
    if (!eval_int(e->args[1], NULL, &bytes)) {
        emit_missing(m, e->loc, "a number of bytes that is known only in a run",
                     "write a constant, such as `bytes(s)`, on each path");
        return;
    }
    struct thread_region *outer = open_one_thread(m);
    THREAD_ADD_OP(&m->b, THREAD_MBARRIER_EXPECT, DT_NONE, DT_NONE, element, thread_integer(bytes));
    for (int i = 1; emit_counts_warps(m, e->args[0]->sym) && i < EMIT_WARPGROUP; i++)
        THREAD_ADD_OP(&m->b, THREAD_MBARRIER_ARRIVE, DT_NONE, DT_NONE, element);
    m->b.region = outer;
}

static void store_wait(struct emit *m, const struct expr *e)
{
    int64_t most = 0;
    eval_int(e->args[0], NULL, &most);
    struct thread_region *outer = open_one_thread(m);
    THREAD_ADD_OP(&m->b, THREAD_COPY_OUT_WAIT_READ, DT_NONE, DT_NONE, thread_integer(most));
    m->b.region = outer;
}

void emit_mbarrier_effect(struct emit *m, const struct stmt *s)
{
    switch (s->value->op) {
    case OP_WAIT: wait(m, s->value); break;
    case OP_EXPECT: expect(m, s->value); break;
    case OP_MBARRIER_ARRIVE: arrive(m, s->value); break;
    case OP_STORE_WAIT: store_wait(m, s->value); break;
    default:
        thread_add_counted(&m->b, THREAD_FENCE_ASYNC, DT_NONE, DT_NONE, 0, NULL, 0);
        if (m->copies_stores)
            thread_add_counted(&m->b, THREAD_FENCE_ASYNC_GLOBAL, DT_NONE, DT_NONE, 0, NULL, 0);
        break;
    }
}

/* --- tensor copies --- */

enum { MOST_BOX = 256 };

/* The boxes of a copy. A box extends along the axes of the view that the part has in shared memory, and is one element long
 * along the others. */
struct boxes {
    const struct expr *view;
    struct shared_part shared;
    int rows, columns;         /* of a box */
    int row_axis, column_axis; /* of the view; -1: the part has no rows */
    struct scalar start[MAX_RANK];
    bool several; /* it goes to these blocks of the cluster, a bit for each */
    struct scalar blocks;
};

static bool find_axes(struct emit *m, struct boxes *b)
{
    const struct expr *e = b->view;
    b->row_axis = b->column_axis = -1;
    if (e->sym->type.rank > LOWERED_MAP_RANK || e->type.rank > 2) {
        emit_missing(m, e->loc,
                     "a tensor copy of more than five axes, or of a part with more than two",
                     "copy one matrix at a time, in a loop");
        return false;
    }
    for (int i = 0; i < e->sym->type.rank; i++) {
        enum index_kind kind = i < e->indices ? e->index[i].kind : IX_ALL;
        if (kind == IX_GATHER) {
            emit_missing(m, e->loc, "a gather by a tensor copy", "copy the rows one by one");
            return false;
        }
        b->start[i] = kind == IX_ALL     ? emit_constant(DT_I32, 0)
                      : kind == IX_SLICE ? emit_start_i32(m, &e->index[i])
                                         : emit_as(m, emit_scalar(m, e->index[i].value), DT_I32);
        if (kind == IX_ELEMENT)
            continue;
        b->row_axis = b->column_axis;
        b->column_axis = i;
    }
    if (b->column_axis == e->sym->type.rank - 1)
        return true;
    emit_error(m, e->loc, "a tensor copy of `%s` has to take a part of its last axis",
               e->sym->name);
    return false;
}

/* Returns the operand of the map. */
static struct thread_operand map_of(struct emit *m, const struct boxes *b)
{
    int box[LOWERED_MAP_RANK] = {1, 1, 1, 1, 1};
    if (b->row_axis >= 0)
        box[b->row_axis] = b->rows;
    box[b->column_axis] = b->columns;
    return emit_map(m, b->view->sym, box, b->shared.swizzled ? PLAN_PANEL : 0);
}

static struct thread_operand coordinate(struct emit *m, const struct boxes *b, int axis, int row,
                                        int column)
{
    int more = axis == b->row_axis ? row : axis == b->column_axis ? column : 0;
    return emit_u32(m,
                    emit_op2(m, THREAD_ADD, DT_I32, b->start[axis], emit_constant(DT_I32, more)));
}

/* Emits the copy of one box, to or from row `row` and column `column` of the part. */
static void copy_box(struct emit *m, const struct boxes *b, const struct thread_operand *barrier,
                     int row, int column)
{
    const struct shared_part *p = &b->shared;
    struct thread_operand o[4 + LOWERED_MAP_RANK];
    size_t count = 0;
    int at_column = p->column + column;
    int64_t place = (int64_t)(p->row + row) * p->panel +
                    (int64_t)(at_column / p->panel) * p->rows * p->panel + at_column % p->panel;
    struct scalar first = emit_by(m, THREAD_MUL, p->stage, (int64_t)p->rows * p->columns);
    first = emit_op2(m, THREAD_ADD, DT_U32, first, emit_by(m, THREAD_MUL, p->further, p->panel));
    o[count++] = map_of(m, b);
    o[count++] = thread_element(p->object, first.o, place);
    if (barrier)
        o[count++] = *barrier;
    if (b->several)
        o[count++] = b->blocks.o;
    for (int axis = b->view->sym->type.rank - 1; axis >= 0; axis--)
        o[count++] = coordinate(m, b, axis, row, column);
    enum thread_opcode op = b->several ? THREAD_COPY_IN_MULTICAST
                            : barrier  ? THREAD_COPY_IN
                                       : THREAD_COPY_OUT;
    thread_add_counted(&m->b, op, DT_NONE, DT_NONE, 0, o, count);
}

static bool box_fits(struct emit *m, const struct boxes *b, struct loc loc)
{
    const struct shared_part *p = &b->shared;
    int64_t bytes = (int64_t)b->columns * (int64_t)dtype_size(p->sym->type.dtype);
    bool whole_rows = p->swizzled || p->part_columns == p->columns;
    if (bytes % EMIT_PIECE == 0 && whole_rows && b->columns <= MOST_BOX)
        return true;
    emit_error(m, loc, "a tensor copy of rows of %lld bytes to or from `%s`", (long long)bytes,
               p->sym->name);
    if (bytes % EMIT_PIECE != 0)
        diag_note(m->diag, p->sym->loc, "let rows take a multiple of %d bytes", EMIT_PIECE);
    else
        diag_note(
            m->diag, loc,
            "its rows are whole, a multiple of %d bytes, and up to %d elements; parts and longer "
            "rows are a multiple of %d bytes, in a tile of a multiple of %d rows",
            EMIT_PIECE, MOST_BOX, PLAN_PANEL, PLAN_SWIZZLED_ROWS);
    return false;
}

/* Returns whether each box begins at a multiple of 128 bytes of shared memory, in every stage. */
static bool boxes_align(struct emit *m, const struct boxes *b, struct loc loc)
{
    const struct shared_part *p = &b->shared;
    int64_t row = (int64_t)p->panel * (int64_t)dtype_size(p->sym->type.dtype);
    bool stages = p->sym->type.rank > 2, several = b->rows < p->part_rows;
    if (p->row * row % PLAN_PANEL == 0 && (!stages || p->rows * row % PLAN_PANEL == 0) &&
        (!several || b->rows * row % PLAN_PANEL == 0))
        return true;
    emit_error(
        m, loc,
        "a tensor copy to or from a part of `%s` that does not begin at a multiple of %d bytes",
        p->sym->name, PLAN_PANEL);
    diag_note(
        m->diag, p->sym->loc,
        "its rows take %lld bytes: let parts and stages begin at a multiple of %lld rows, and "
        "have at most %d rows or a multiple of that",
        (long long)row, (long long)(PLAN_PANEL / (row & -row)), MOST_BOX);
    return false;
}

/* Returns false, and reports it, if the copy certainly begins between multiples of 16 bytes of a row. */
static bool begins_aligned(struct emit *m, const struct boxes *b)
{
    const struct index *x =
        b->column_axis < b->view->indices ? &b->view->index[b->column_axis] : NULL;
    if (!x || x->kind != IX_SLICE)
        return true;
    const struct facts f = emit_facts_of(m, x->value);
    const int64_t units = f.modulus | EMIT_PIECE / (int64_t)dtype_size(b->view->sym->type.dtype);
    if ((f.rest & ((units & -units) - 1)) == 0)
        return true;
    emit_error(m, x->value->loc,
               "a tensor copy that does not begin at a multiple of %d bytes of a row", EMIT_PIECE);
    diag_note(m->diag, x->value->loc, "begin earlier, and read a part of the tile");
    return false;
}

/* Returns the largest number of rows that a box may have and that divides all rows. */
static int rows_of_box(int rows)
{
    int boxes = (rows + MOST_BOX - 1) / MOST_BOX;
    while (rows % boxes != 0)
        boxes++;
    return rows / boxes;
}

void emit_tensor_copy(struct emit *m, const struct stmt *s)
{
    bool stores = s->target->sym->storage == ST_VIEW;
    struct boxes b = {.view = stores ? s->target : s->value};
    const struct expr *shared = stores ? s->value : s->target;
    struct thread_operand barrier = {0};
    if (!find_axes(m, &b) || !emit_shared_part(m, shared, &b.shared))
        return;
    b.rows = rows_of_box(b.shared.part_rows);
    b.columns = b.shared.swizzled ? b.shared.panel : b.shared.part_columns;
    if (!box_fits(m, &b, s->loc) || !boxes_align(m, &b, s->loc) || !begins_aligned(m, &b))
        return;
    emit_note_boxes(m, s, &b.shared, b.rows, b.columns);
    if (s->barrier)
        barrier = mbarrier(m, s->barrier);
    b.several = s->multicast != NULL;
    if (b.several)
        b.blocks = emit_as(m, emit_scalar(m, s->multicast), DT_U32);
    struct thread_region *outer = open_one_thread(m);
    for (int c = 0; c < b.shared.part_columns; c += b.columns)
        for (int r = 0; r < b.shared.part_rows; r += b.rows)
            copy_box(m, &b, s->barrier ? &barrier : NULL, r, c);
    if (stores)
        thread_add_counted(&m->b, THREAD_COPY_OUT_COMMIT, DT_NONE, DT_NONE, 0, NULL, 0);
    m->b.region = outer;
}
