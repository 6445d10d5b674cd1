/* Runs many blocks in a row whose program is a straight line of steps over rows. The look-ups of
 * the steps are done once for a frame. A block then is a list of calls of routines on addresses;
 * the addresses of its rows are computed from block.x, .y and .z.
 *
 * So there is little work between the stores of one block and the loads of the next one. That
 * matters because stores past the caches wait for memory in the processor's queue of stores:
 * until the queue has room for the stores after them, the loads after those do not begin. */
#include "cpu/exec/exec_access.h"
#include "cpu/profile.h"
#include "cpu/strips.h"

#include <assert.h>
#include <string.h>

enum { MOST_ROWS = 8, MOST_CALLS = 32, MOST_PLACES = 64 };

/* A row of a view; each block has another one. */
struct bound_row {
    unsigned char *first; /* of block 0, 0, 0 */
    int64_t step[3];      /* bytes to the row of the next block along each axis of the grid */
    size_t bytes;
    bool is_read, is_fetched; /* is_fetched: some call fetches the next block's row */
};

/* An operand of a call. */
struct place {
    unsigned char *at; /* of block 0 along row_blocks.along */
    int64_t step;      /* bytes to that of the next block along it; 0: all blocks have the same */
};

/* A place that gets the address of a row, or of the next block's row from byte `from` on. */
struct bound_place {
    struct place *to;
    int row;
    bool next;
    size_t from;
};

enum call_kind {
    CALL_KERNEL,
    CALL_SCALED,
    CALL_CONVERT,
    CALL_REDUCE,
    CALL_PRODUCTS,
    CALL_MAP,       /* a row and its sum */
    CALL_QUOTIENTS, /* of powers that a CALL_MAP computed, past the caches */
    CALL_FILL,
    CALL_NEST,
    CALL_COPY,
    CALL_STREAM,
    CALL_PARTS /* the last operation of a chain, if it writes lines of the cache that are not
                * whole */
};
struct bound_call {
    enum call_kind kind;
    struct place x[MOST_OPERANDS];
    unsigned char *by;
    size_t n; /* elements; bytes that are copied */
    union {
        elementwise_fn *kernel;
        scaled_fn *scaled;
        convert_fn *convert;
        reduce_fn *reduce;
        reduce_products_fn *products;
        row_map_fn *map;
        fill_fn *fill;
        const struct copy_detail *copy;
        const struct strip_detail *chain;
    } of;
    struct place next; /* `lines` lines from this address on are fetched before the call */
    size_t lines;
    uint32_t step; /* the instruction that it is from */
};

struct row_blocks {
    int along;       /* axis of the grid on which the next block mostly is */
    int64_t unasked; /* blocks between two polls for cancellation */
    int rows, places, calls;
    struct bound_row row[MOST_ROWS];
    struct bound_place place[MOST_PLACES];
    struct bound_call call[MOST_CALLS];
};

/* --- binding --- */

/* An operand: its address, or its row. */
struct operand {
    unsigned char *at;
    int row; /* -1: none */
};

struct binder {
    struct frame *frame;
    struct row_blocks *blocks;
    bool full; /* it needs more rows, calls or places than there are */
    struct {   /* rows bound by step_show_row, as in struct slot */
        uint32_t at;
        struct operand row;
    } shown[MOST_ROWS];
    int shown_count;
};

/* Binds an index of a row: it is a constant, or the row moves with an axis of the grid. false:
 * it is neither, or may be outside. */
static bool bind_index(const struct binder *b, const struct row_axis *axis, struct bound_row *row)
{
    if (axis->block_axis > 0) {
        int64_t blocks = b->frame->launch->grid[axis->block_axis - 1];
        if (blocks > 1) /* along an axis of one block the stride may be any number */
            row->step[axis->block_axis - 1] += axis->step;
        return axis->count >= blocks;
    }
    if (axis->at >= b->frame->program->image_bytes)
        return false;
    int64_t index = index_value(frame_at(b->frame, axis->at), axis->wide, 0);
    bool inside = index >= 0 && index < axis->count;
    row->first += inside ? index * axis->step : 0;
    return inside;
}

static size_t bytes_of(const struct access *a)
{
    return (size_t)a->elements * a->size;
}

static bool is_there(struct operand o)
{
    return o.at || o.row >= 0;
}

/* Returns whether the access is of one row of a view, the elements along its last axis. */
static bool is_of_row(const struct access *a)
{
    bool row = a->space == SPACE_VIEW && a->lanes == 1 && a->axis[a->rank - 1].kind != IX_GATHER;
    for (int i = 0; i < a->rank - 1; i++)
        row &= a->axis[i].kind == IX_ELEMENT;
    return row;
}

static bool same_row(const struct bound_row *x, const struct bound_row *y)
{
    return x->first == y->first && memcmp(x->step, y->step, sizeof x->step) == 0 &&
           x->bytes == y->bytes && x->is_read == y->is_read;
}

/* Binds the access's row: one that moves with the blocks, or one that all blocks share. The
 * operand is none if for some block the row is not complete and contiguous. */
static struct operand bind_row(struct binder *b, const struct access *a, bool is_read)
{
    static const int64_t still[3] = {0};
    const struct operand none = {NULL, -1};
    struct row_blocks *blocks = b->blocks;
    if (!is_of_row(a))
        return none;
    const struct row_place place = exec_row_place(b->frame->launch, a);
    struct bound_row row = {.first = place.first, .bytes = bytes_of(a), .is_read = is_read};
    bool bound = place.first != NULL;
    for (int i = 0; i < place.axes && bound; i++)
        bound = bind_index(b, &place.axis[i], &row);
    if (!bound || memcmp(row.step, still, sizeof still) == 0)
        return bound ? (struct operand){row.first, -1} : none;
    int i = 0;
    while (i < blocks->rows && !same_row(&blocks->row[i], &row))
        i++;
    b->full |= i == MOST_ROWS;
    if (b->full)
        return none;
    blocks->rows += i == blocks->rows;
    blocks->row[i] = row;
    return (struct operand){NULL, i};
}

static struct bound_call *new_call(struct binder *b, enum call_kind kind, size_t n)
{
    b->full |= b->blocks->calls == MOST_CALLS;
    struct bound_call *call = &b->blocks->call[b->full ? 0 : b->blocks->calls++];
    *call = (struct bound_call){.kind = kind, .n = n};
    return call;
}

static void new_place(struct binder *b, struct bound_place place)
{
    b->full |= b->blocks->places == MOST_PLACES;
    if (b->full)
        return;
    b->blocks->place[b->blocks->places++] = place;
    place.to->step = b->blocks->row[place.row].step[b->blocks->along];
}

static void put(struct binder *b, struct place *to, struct operand o)
{
    to->at = o.at;
    if (o.row >= 0)
        new_place(b, (struct bound_place){to, o.row, false, 0});
}

static struct operand value_at(const struct binder *b, uint32_t at)
{
    return (struct operand){frame_at(b->frame, at), -1};
}

/* Returns the row that step_show_row bound last for this place. */
static struct operand row_shown(const struct binder *b, uint32_t at)
{
    int i = b->shown_count;
    do {
        assert(i > 0);
    } while (b->shown[--i].at != at);
    return b->shown[i].row;
}

/* --- rows of the next block --- */

/* Returns the next row that no call fetches yet; -1: there is none. */
static int row_to_fetch(const struct row_blocks *b)
{
    enum { SHORTEST = 1024 }; /* bytes */
    for (int i = 0; i < b->rows; i++)
        if (b->row[i].is_read && !b->row[i].is_fetched && b->row[i].step[b->along] != 0 &&
            b->row[i].bytes >= SHORTEST)
            return i;
    return -1;
}

/* Gives such a row to a call that fetches while it runs. */
static void put_next(struct binder *b, struct place *to)
{
    int row = row_to_fetch(b->blocks);
    if (row < 0)
        return;
    b->blocks->row[row].is_fetched = true;
    new_place(b, (struct bound_place){to, row, true, 0});
}

/* Distributes the other rows: they are fetched before the first calls, some lines at a time, so
 * that memory has no more requests at a time than it answers well. */
static void fetch_before_calls(struct binder *b)
{
    enum { LINES = 32 };
    struct row_blocks *blocks = b->blocks;
    int row = row_to_fetch(blocks);
    size_t from = 0;
    for (int i = 0; i < blocks->calls && row >= 0; i++) {
        struct bound_call *call = &blocks->call[i];
        size_t left = (blocks->row[row].bytes - from) / CACHE_LINE;
        call->lines = left < LINES ? left : LINES;
        new_place(b, (struct bound_place){&call->next, row, true, from});
        from += LINES * CACHE_LINE;
        if (from < blocks->row[row].bytes)
            continue;
        blocks->row[row].is_fetched = true;
        row = row_to_fetch(blocks);
        from = 0;
    }
}

/* --- steps --- */

static bool bind_shown(struct binder *b, const struct instr *in)
{
    struct operand row = bind_row(b, in->detail, true);
    b->full |= b->shown_count == MOST_ROWS;
    if (b->full || !is_there(row))
        return false;
    b->shown[b->shown_count].at = in->a;
    b->shown[b->shown_count++].row = row;
    return true;
}

static bool bind_bytes(struct binder *b, struct operand to, struct operand from, size_t bytes)
{
    struct bound_call *call = new_call(b, CALL_COPY, bytes);
    put(b, &call->x[0], to);
    put(b, &call->x[1], from);
    return is_there(to) && is_there(from);
}

static bool bind_load(struct binder *b, const struct instr *in)
{
    const struct access *a = in->detail;
    return bind_bytes(b, value_at(b, in->dst), bind_row(b, a, true), bytes_of(a));
}

static bool bind_value_store(struct binder *b, const struct instr *in)
{
    const struct access *a = in->detail;
    return bind_bytes(b, bind_row(b, a, false), value_at(b, in->a), bytes_of(a));
}

static bool bind_row_load(struct binder *b, const struct instr *in)
{
    return bind_bytes(b, value_at(b, in->dst), row_shown(b, in->a), in->n);
}

static bool bind_flat(struct binder *b, const struct instr *in)
{
    struct bound_call *call = new_call(b, CALL_KERNEL, in->n);
    const uint32_t at[MOST_OPERANDS] = {in->dst, in->a, in->b, in->c};
    call->of.kernel = in->kernel;
    for (int i = 0; i < MOST_OPERANDS; i++)
        put(b, &call->x[i], value_at(b, at[i]));
    return true;
}

static bool bind_convert(struct binder *b, const struct instr *in)
{
    const struct convert_detail *d = in->detail;
    struct bound_call *call = new_call(b, CALL_CONVERT, in->n);
    call->of.convert = d->convert;
    put(b, &call->x[0], value_at(b, in->dst));
    put(b, &call->x[1], value_at(b, in->a));
    return true;
}

static bool bind_copy(struct binder *b, const struct instr *in)
{
    const struct copy_detail *d = in->detail;
    struct bound_call *call = new_call(b, CALL_NEST, 0);
    call->of.copy = d;
    put(b, &call->x[0], value_at(b, in->dst));
    put(b, &call->x[1], value_at(b, in->a));
    return true;
}

static bool bind_reduce(struct binder *b, const struct instr *in)
{
    const struct reduce_detail *d = in->detail;
    struct operand from = in->step == step_reduce_row ? row_shown(b, in->a) : value_at(b, in->a);
    if (d->outer != 1 || d->inner != 1)
        return false;
    struct bound_call *call = new_call(b, CALL_REDUCE, d->n);
    call->of.reduce = d->reduce;
    put(b, &call->x[0], value_at(b, in->dst));
    put(b, &call->x[1], from);
    return true;
}

/* --- chains --- */

static bool views_overlap(const struct launch_state *l, const struct access *x,
                          const struct access *y)
{
    const struct view_binding *a = &l->views[x->view], *b = &l->views[y->view];
    return (uintptr_t)a->first < (uintptr_t)b->end && (uintptr_t)b->first < (uintptr_t)a->end;
}

/* Finds the operands of the chain's slots. false: some row is not bound, or the store may change
 * it. */
static bool bind_slots(struct binder *b, const struct strip_detail *d, struct operand *slot)
{
    for (int i = 0; i < d->slots; i++)
        slot[i] = value_at(b, d->at[i]);
    for (int i = 0; i < d->rows; i++) {
        const struct strip_leaf *leaf = &d->leaf[i];
        if (!leaf->shown && d->store && views_overlap(b->frame->launch, leaf->load, d->store))
            return false;
        slot[leaf->slot] = leaf->shown ? row_shown(b, leaf->at) : bind_row(b, leaf->load, true);
        if (!is_there(slot[leaf->slot]))
            return false;
    }
    return true;
}

static void bind_fills(struct binder *b, const struct strip_detail *d, const struct operand *slot)
{
    for (int i = d->moving; i < d->leaves; i++) {
        const struct strip_leaf *leaf = &d->leaf[i];
        if (leaf->way != LEAF_FIXED)
            continue;
        struct bound_call *call = new_call(b, CALL_FILL, (size_t)d->extent[0]);
        call->of.fill = leaf->fill;
        put(b, &call->x[0], slot[leaf->slot]);
        put(b, &call->x[1], value_at(b, leaf->at));
    }
}

static void bind_operation(struct binder *b, const struct strip_op *op, struct operand to,
                           const struct operand *slot, size_t n)
{
    struct bound_call *call = new_call(b, CALL_CONVERT, n);
    if (op->kernel) {
        call->kind = CALL_KERNEL;
        call->of.kernel = op->kernel;
    } else if (op->scaled) {
        unsigned char *by = slot[op->by].at;
        call->kind = CALL_SCALED;
        call->of.scaled = op->scaled;
        call->by = by;
    } else {
        call->of.convert = op->convert;
    }
    put(b, &call->x[0], to);
    for (int i = 1; i < MOST_OPERANDS - op->fetches; i++)
        put(b, &call->x[i], slot[op->x[i - 1]]);
    if (op->fetches)
        put_next(b, &call->x[MOST_OPERANDS - 1]);
}

/* Returns whether the rows of all blocks, `bytes` bytes each, are whole lines of the cache. */
static bool is_whole(const struct binder *b, struct operand o, size_t bytes)
{
    const struct bound_row *row = o.row < 0 ? NULL : &b->blocks->row[o.row];
    uint64_t all = (uintptr_t)(row ? row->first : o.at) | bytes;
    for (int i = 0; i < 3 && row; i++)
        all |= (uint64_t)row->step[i];
    return all % CACHE_LINE == 0;
}

/* Binds the last operation as step_row would run it, with the slots' addresses that the frame
 * keeps. false: some of them move. */
static bool bind_parts(struct binder *b, const struct strip_detail *d, struct operand to,
                       const struct operand *slot)
{
    unsigned char **p = frame_at(b->frame, d->slots_at); /* step_row also keeps rows there */
    struct bound_call *call = new_call(b, CALL_PARTS, (size_t)d->extent[0]);
    bool moves = false;
    call->of.chain = d;
    put(b, &call->x[0], to);
    for (int i = 1; i < d->slots; i++) {
        moves |= slot[i].row >= 0;
        p[i] = slot[i].at;
    }
    return !moves;
}

/* Binds a store. `direct`: the last operation writes the row to its destination; `past`: past
 * the caches. */
static bool bind_store(struct binder *b, const struct strip_detail *d, const struct operand *slot,
                       bool past, bool direct)
{
    size_t n = (size_t)d->extent[0];
    struct operand to = bind_row(b, d->store, false);
    if (!is_there(to))
        return false;
    for (int i = 0; i < d->ops - direct; i++)
        bind_operation(b, &d->op[i], slot[d->op[i].dst], slot, n);
    if (direct && past && !is_whole(b, to, n * d->size))
        return bind_parts(b, d, to, slot);
    if (direct) {
        bind_operation(b, past ? &d->past : &d->op[d->ops - 1], to, slot, n);
        if (past && d->quotients)
            b->blocks->call[b->blocks->calls - 1].kind = CALL_QUOTIENTS;
    } else {
        struct bound_call *call = new_call(b, past ? CALL_STREAM : CALL_COPY, n * d->size);
        put(b, &call->x[0], to);
        put(b, &call->x[1], slot[d->last]);
    }
    return true;
}

static void bind_chain_reduction(struct binder *b, const struct strip_detail *d,
                                 const struct operand *slot, struct operand to)
{
    struct bound_call *call = new_call(b, CALL_REDUCE, (size_t)d->extent[0]);
    call->of.reduce = d->reduce;
    put(b, &call->x[0], to);
    put(b, &call->x[1], slot[d->last]);
    if (!d->products)
        return;
    call->kind = CALL_PRODUCTS;
    call->of.products = d->sum_of_products;
    put(b, &call->x[2], slot[d->last_by]);
}

static bool bind_chain(struct binder *b, const struct instr *in)
{
    const struct strip_detail *d = in->detail;
    struct operand slot[STRIP_SLOTS];
    bool past = d->store && d->stream && b->frame->launch->views[d->store->view].large;
    bool direct = d->ops > 0 && !d->reduce && (d->has_past || !past);
    bool buffers = d->ops > direct || d->fills; /* their buffers have room for one strip */
    if ((buffers && d->extent[0] > ROW_STRIP) || !bind_slots(b, d, slot))
        return false;
    bind_fills(b, d, slot);
    if (d->store)
        return bind_store(b, d, slot, past, direct);
    if (!d->reduce)
        slot[0] = value_at(b, in->dst);
    for (int i = 0; i < d->ops; i++)
        bind_operation(b, &d->op[i], slot[d->op[i].dst], slot, (size_t)d->extent[0]);
    if (d->reduce)
        bind_chain_reduction(b, d, slot, value_at(b, in->dst));
    return true;
}

static bool bind_map(struct binder *b, const struct instr *in)
{
    const struct strip_detail *d = in->detail;
    struct operand slot[STRIP_SLOTS];
    if (!bind_slots(b, d, slot))
        return false;
    struct bound_call *call = new_call(b, CALL_MAP, (size_t)d->extent[0]);
    call->of.map = routine_row_map(b->frame->program->set, in->b, call->n);
    put(b, &call->x[0], value_at(b, in->a));
    put(b, &call->x[1], value_at(b, in->dst));
    put(b, &call->x[2], slot[d->op->x[0]]);
    call->by = slot[d->op->x[1]].at;
    put_next(b, &call->x[3]);
    return true;
}

/* --- whole programs --- */

/* The steps that can be bound. They neither fault, jump, wait, nor use the frame beyond its
 * memory. */
static const struct bound_step {
    step_fn *step;
    bool (*bind)(struct binder *b, const struct instr *in);
} bound_steps[] = {
    {step_show_row, bind_shown},    {step_row_load, bind_row_load}, {step_load, bind_load},
    {step_store, bind_value_store}, {step_flat, bind_flat},         {step_convert, bind_convert},
    {step_copy, bind_copy},         {step_reduce, bind_reduce},     {step_reduce_row, bind_reduce},
    {step_row, bind_chain},         {step_row_map, bind_map}};

static const struct bound_step *bound_step(const struct instr *in)
{
    for (size_t i = 0; i < sizeof bound_steps / sizeof *bound_steps; i++)
        if (in->step == bound_steps[i].step)
            return &bound_steps[i];
    return NULL;
}

/* Returns the number of blocks between two polls for cancellation: some tens of microseconds of
 * work. */
static int64_t blocks_between_questions(const struct row_blocks *b)
{
    enum { ELEMENTS = 1 << 16 };
    size_t elements = 1;
    for (int i = 0; i < b->calls; i++)
        elements += b->call[i].n;
    return ELEMENTS / (int64_t)(elements < ELEMENTS ? elements : ELEMENTS);
}

const struct instr *row_blocks_obstacle(const struct instr *code)
{
    const struct instr *in = code;
    while (bound_step(in))
        in++;
    return in->step == step_end ? NULL : in;
}

size_t row_blocks_bytes(const struct instr *code)
{
    bool any = code->step != step_end;
    return any && !row_blocks_obstacle(code) ? sizeof(struct row_blocks) : 0;
}

struct row_blocks *row_blocks_open(struct frame *f, void *memory)
{
    struct row_blocks *blocks = memory;
    struct binder b = {.frame = f, .blocks = blocks};
    blocks->along = f->launch->grid[0] > 1 ? 0 : f->launch->grid[1] > 1 ? 1 : 2;
    blocks->rows = blocks->places = blocks->calls = 0;
    for (const struct instr *in = f->program->code; in->step != step_end; in++) {
        int first = blocks->calls;
        if (!bound_step(in)->bind(&b, in))
            return NULL;
        for (int i = first; i < blocks->calls; i++)
            blocks->call[i].step = (uint32_t)(in - f->program->code);
    }
    if (b.full || blocks->calls == 0)
        return NULL;
    fetch_before_calls(&b);
    blocks->unasked = blocks_between_questions(blocks);
    return b.full ? NULL : blocks;
}

/* --- running --- */

static void place_index(struct frame *f, const int64_t *block)
{
    int32_t *index = frame_at(f, f->program->block_at);
    for (int i = 0; i < 3; i++)
        index[i] = (int32_t)block[i];
}

static unsigned char *of_block(struct place p, int64_t block)
{
    return (unsigned char *)((uintptr_t)p.at + (uintptr_t)(p.step * block));
}

/* It is part of both loops over calls: a call of it for each of them would take 2% of the
 * instructions of a softmax. */
static INLINED void run_call(struct frame *f, const struct bound_call *c, int64_t block,
                             struct powers_seen *seen)
{
    const struct routine_set *set = f->program->set;
    unsigned char *x = of_block(c->x[0], block), *a = of_block(c->x[1], block),
                  *b = of_block(c->x[2], block), *d = of_block(c->x[3], block);
    if (c->lines > 0)
        for (size_t i = 0; i < c->lines; i++)
            PREFETCH_SECOND(of_block(c->next, block) + i * CACHE_LINE);
    switch (c->kind) {
    case CALL_KERNEL: c->of.kernel(x, a, b, d, c->n); return;
    case CALL_SCALED: c->of.scaled(x, a, b, d, c->by, c->n); return;
    case CALL_CONVERT: c->of.convert(x, a, c->n); return;
    case CALL_REDUCE: c->of.reduce(x, a, 1, c->n, 1); return;
    case CALL_PRODUCTS: c->of.products(x, a, b, c->n); return;
    case CALL_MAP: c->of.map(x, a, b, c->by, d, seen, c->n); return;
    case CALL_QUOTIENTS:
        (seen->medium ? set->elementwise->f32_medium_div_one_past : c->of.kernel)(x, a, b, d, c->n);
        return;
    case CALL_FILL: c->of.fill(x, a, c->n); return;
    case CALL_NEST: c->of.copy->copy(x, a, &c->of.copy->nest); return;
    case CALL_COPY: memcpy(x, a, c->n); return;
    case CALL_STREAM: set->stream->copy(x, a, c->n); return;
    case CALL_PARTS:
        exec_run_last(f, c->of.chain, frame_at(f, c->of.chain->slots_at),
                      &(struct strip_part){x, 0, c->n, true});
        return;
    }
}

/* Computes the rows' addresses for the blocks along an axis that contains `block`. */
static void place_rows(const struct row_blocks *b, const int64_t *block)
{
    for (int i = 0; i < b->places; i++) {
        const struct bound_place *p = &b->place[i];
        const struct bound_row *row = &b->row[p->row];
        uintptr_t at = (uintptr_t)row->first;
        for (int axis = 0; axis < 3; axis++)
            at += axis == b->along ? 0 : (uintptr_t)(block[axis] * row->step[axis]);
        p->to->at = (unsigned char *)(at + (p->next ? (uintptr_t)p->to->step + p->from : 0));
    }
}

/* Runs the calls of a block with the time of each. */
static void run_calls_profiled(struct frame *f, const struct row_blocks *b, int64_t block,
                               struct powers_seen *seen)
{
    struct frame_profile *p = f->profile;
    for (int i = 0; i < b->calls; i++) {
        profile_switch(p, &p->steps[b->call[i].step].own);
        run_call(f, &b->call[i], block, seen);
    }
    profile_switch(p, &p->between);
    p->bound_blocks++;
}

/* Runs blocks along an axis. false: the launch was cancelled. */
static bool run_along(struct frame *f, const struct row_blocks *b, int64_t first, int64_t end,
                      int64_t *unasked)
{
    int32_t *index = (int32_t *)frame_at(f, f->program->block_at) + b->along;
    const struct bound_call *behind = b->call + b->calls;
    const bool profiled = f->profile != NULL;
    struct powers_seen seen;
    for (int64_t block = first; block < end; block++) {
        *index = (int32_t)block;
        if (profiled)
            run_calls_profiled(f, b, block, &seen);
        else
            for (const struct bound_call *c = b->call; c < behind; c++)
                run_call(f, c, block, &seen);
        if (--*unasked <= 0) {
            if (frame_is_cancelled(f->launch))
                return false;
            *unasked = b->unasked;
        }
    }
    return true;
}

void row_blocks_run(struct frame *f, const struct row_blocks *b, int64_t first, int64_t end)
{
    int64_t block[3], last, unasked = b->unasked;
    do {
        frame_block_place(f->launch, first, block);
        last = block[b->along] + end - first;
        last = last < f->launch->grid[b->along] ? last : f->launch->grid[b->along];
        first += last - block[b->along];
        place_index(f, block);
        place_rows(b, block);
    } while (run_along(f, b, block[b->along], last, &unasked) && first < end);
}
