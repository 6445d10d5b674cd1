/* A launch: binds views to arrays, hands blocks to workers, finds deadlocks, reports the first
 * fault.
 *
 * Blocks may wait only for lower ones, and where some do, all start in increasing id: a block that
 * waits while all lower ones have ended, and still fails its poll, waits forever. Workers announce
 * which block they run to make that visible. A cooperative kernel's blocks take turns on one worker
 * instead, and nobody's progress in a whole round is a deadlock. Kernels in which the order of
 * blocks shows (float atomics, atomics whose result is used, print) run on one worker.
 */
#include "cpu/lane_product.h"

#include "base/platform.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* --- faults of the launch itself --- */

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static enum cpu_fault_kind
refuse(struct cpu_fault *fault, enum cpu_fault_kind kind, struct loc loc, const char *format, ...)
{
    *fault =
        (struct cpu_fault){.kind = kind, .loc = loc, .block = {-1, -1, -1}, .thread = {-1, -1, -1}};
    va_list args;
    va_start(args, format);
    vsnprintf(fault->message, sizeof fault->message, format, args);
    va_end(args);
    return kind;
}

/* --- views --- */

/* Bytes of a view that are more than the caches next to a core hold. */
#define LARGE_VIEW ((int64_t)8 << 20)

struct binder {
    struct arena *arena;
    const struct cpu_argument *args;
    struct scalar_env env;
    struct cpu_fault *fault;
};

/* What a launch is made of does not wrap. */
static bool no_overflow(struct binder *b, const struct expr *e)
{
    const struct expr *overflow = eval_overflow(e, &b->env, true);
    if (overflow)
        refuse(b->fault, CPU_BAD_ARGUMENT, overflow->loc, "%s",
               overflow_text(b->arena, overflow, &b->env));
    return !overflow;
}

static bool view_fits(struct binder *b, const struct sym *s)
{
    for (int i = 0; i < s->type.rank; i++)
        if (!no_overflow(b, s->dims[i]) || !no_overflow(b, s->strides[i]))
            return false;
    return no_overflow(b, s->base_offset);
}

static bool view_numbers(struct binder *b, const struct sym *s, struct view_binding *v, int *rank,
                         int64_t *offset)
{
    bool known = true, strided = s->strides[0] != NULL;
    *rank = 0;
    *offset = 0;
    if (!view_fits(b, s))
        return false;
    while (*rank < MAX_RANK && s->dims[*rank]) {
        known = known && eval_int(s->dims[*rank], &b->env, &v->extent[*rank]);
        if (strided)
            known = known && eval_int(s->strides[*rank], &b->env, &v->stride[*rank]);
        ++*rank;
    }
    if (s->base_offset)
        known = known && eval_int(s->base_offset, &b->env, offset);
    if (!known)
        refuse(b->fault, CPU_BAD_ARGUMENT, s->loc,
               "the extents of %s cannot be worked out from the parameters", s->name);
    return known;
}

/* Row-major strides where none were given. false: too large for 64 bits. */
static bool dense_strides(struct view_binding *v, int rank)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        v->stride[i] = step;
        if (__builtin_mul_overflow(step, v->extent[i] > 0 ? v->extent[i] : 1, &step))
            return false;
    }
    return true;
}

/* The lowest and the highest element that the view has. false: beyond 64 bits. */
static bool view_span(const struct view_binding *v, int rank, int64_t *low, int64_t *high)
{
    for (int i = 0; i < rank; i++) {
        int64_t reach, *end = v->stride[i] < 0 ? low : high;
        if (__builtin_mul_overflow(v->extent[i] - 1, v->stride[i], &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return false;
    }
    return true;
}

static bool is_narrow(const struct view_binding *v, int rank, int64_t low, int64_t high)
{
    bool narrow = low >= INT32_MIN && high <= INT32_MAX;
    for (int i = 0; i < rank; i++)
        narrow = narrow && v->extent[i] <= INT32_MAX && v->stride[i] >= INT32_MIN &&
                 v->stride[i] <= INT32_MAX;
    return narrow;
}

static bool bind_array(struct binder *b, const struct sym *s, struct view_binding *v,
                       int64_t offset, int64_t low, int64_t high)
{
    const struct cpu_argument *arg = &b->args[s->base->index];
    int64_t size = (int64_t)dtype_size(s->type.dtype), first, end;
    bool fits = !__builtin_add_overflow(offset, low, &first) &&
                !__builtin_add_overflow(offset, high, &end) &&
                !__builtin_add_overflow(end, 1, &end) && !__builtin_mul_overflow(end, size, &end);
    if (fits && first >= 0 && (uint64_t)end <= arg->bytes && arg->data) {
        v->base = (unsigned char *)arg->data + offset * size;
        return true;
    }
    if (fits && first < 0)
        refuse(b->fault, CPU_BAD_ARGUMENT, s->loc,
               "%s: view %s begins %" PRId64 " elements before the array", s->base->name, s->name,
               -first);
    else if (fits)
        refuse(b->fault, CPU_BAD_ARGUMENT, s->loc,
               "%s: view %s needs %" PRId64 " bytes, but the array has %zu", s->base->name, s->name,
               end, arg->data ? arg->bytes : (size_t)0);
    else
        refuse(b->fault, CPU_BAD_ARGUMENT, s->loc, "%s: view %s is larger than memory",
               s->base->name, s->name);
    return false;
}

static bool bind_workspace(struct binder *b, const struct sym *s, struct view_binding *v,
                           int64_t low, int64_t high)
{
    size_t size = dtype_size(s->type.dtype), bytes;
    if (low < 0 || high >= INT64_MAX || __builtin_mul_overflow((size_t)high + 1, size, &bytes) ||
        bytes > SIZE_MAX / 2) {
        refuse(b->fault, CPU_BAD_ARGUMENT, s->loc, "workspace %s is larger than memory", s->name);
        return false;
    }
    v->base = arena_alloc(b->arena, bytes);
    if (!s->zeroed)
        memset(v->base, 0xff, bytes);
    return true;
}

static bool bind_view(struct binder *b, const struct sym *s, struct view_binding *v)
{
    int rank;
    int64_t offset, low = 0, high = 0;
    bool empty = false;
    if (!view_numbers(b, s, v, &rank, &offset))
        return false;
    for (int i = 0; i < rank; i++) {
        if (v->extent[i] < 0) {
            refuse(b->fault, CPU_BAD_ARGUMENT, s->loc,
                   "axis %d of %s has the negative extent %" PRId64, i, s->name, v->extent[i]);
            return false;
        }
        empty |= v->extent[i] == 0;
    }
    if (!s->strides[0] && !dense_strides(v, rank) && !empty) {
        refuse(b->fault, CPU_BAD_ARGUMENT, s->loc, "view %s is larger than memory", s->name);
        return false;
    }
    if (empty) /* nothing of it is ever touched */
        return true;
    if (!view_span(v, rank, &low, &high)) {
        refuse(b->fault, CPU_BAD_ARGUMENT, s->loc, "view %s is larger than memory", s->name);
        return false;
    }
    v->narrow = is_narrow(v, rank, low, high);
    v->large = high / 2 - low / 2 >= LARGE_VIEW / 2 / (int64_t)dtype_size(s->type.dtype) - 1;
    if (!(s->base ? bind_array(b, s, v, offset, low, high) : bind_workspace(b, s, v, low, high)))
        return false;
    int64_t size = (int64_t)dtype_size(s->type.dtype);
    v->first = v->base + low * size;
    v->end = v->base + (high + 1) * size;
    return true;
}

/* --- parameters and grid --- */

static void set_env(struct binder *b, const struct cpu_program *p)
{
    size_t count = (size_t)p->kernel->param_count;
    struct literal *values = arena_array(b->arena, struct literal, count);
    bool *known = arena_array(b->arena, bool, count);
    for (size_t i = 0; i < count; i++) {
        values[i] = b->args[i].scalar;
        known[i] = p->params[i].at != NO_SLOT;
    }
    b->env = (struct scalar_env){values, known, (int)count};
}

static bool set_grid(struct binder *b, struct launch_state *l)
{
    const struct kernel *k = l->program->kernel;
    l->blocks = 1;
    for (int i = 0; i < 3; i++) {
        l->grid[i] = 1;
        if (!no_overflow(b, k->grid[i]))
            return false;
        if (k->grid[i] && !eval_int(k->grid[i], &b->env, &l->grid[i])) {
            refuse(b->fault, CPU_BAD_ARGUMENT, k->grid[i]->loc,
                   "the grid of %s cannot be worked out from the parameters", k->name);
            return false;
        }
        if (l->grid[i] < 0 || l->grid[i] > INT32_MAX) {
            refuse(b->fault, CPU_BAD_ARGUMENT, k->grid[i]->loc,
                   "the grid of %s has %" PRId64 " blocks along axis %d", k->name, l->grid[i], i);
            return false;
        }
        if (__builtin_mul_overflow(l->blocks, l->grid[i], &l->blocks)) {
            refuse(b->fault, CPU_BAD_ARGUMENT, k->grid[0]->loc,
                   "the grid of %s has more than 2^63 blocks in all", k->name);
            return false;
        }
    }
    return true;
}

static void set_params(struct frame *f, const struct cpu_argument *args)
{
    const struct cpu_program *p = f->program;
    for (int i = 0; i < p->kernel->param_count; i++) {
        const struct scalar_slot *slot = &p->params[i];
        if (slot->at == NO_SLOT)
            continue;
        if (args[i].scalar.is_float)
            dtype_store_f64(slot->dtype, f->memory + slot->at, args[i].scalar.f);
        else
            dtype_store_i64(slot->dtype, f->memory + slot->at, args[i].scalar.i);
    }
}

/* --- blocks on workers --- */

/* Each worker begins with a part of the turns of its own, then helps the others with theirs. So
 * what neighbouring blocks read is brought to one core, mostly, and in one launch after the other
 * to the same one. */
struct worker {
    struct frame frame; /* made when it gets its first block */
    /* The turn of the block it runs, or a lower bound of the one it takes; INT64_MAX: none. */
    _Atomic int64_t current;
    struct cpu_fault fault; /* of the lowest block that faulted here */
    int64_t fault_id;
    int64_t first, end;   /* turns that it has taken and not run yet */
    _Atomic int64_t next; /* of its part: what nobody has taken, */
    int64_t last;         /* to here */
    struct shared_product product;
};

struct pool {
    const struct launch_state *launch;
    const struct cpu_argument *args;
    struct worker *workers;
    int count;
    bool shares;        /* products, with workers that have no turn left */
    atomic_bool manned; /* there was memory for a frame at least once */
};

static bool was_cancelled(const struct launch_state *l)
{
    if (l->options->cancelled && l->options->cancelled(l->options->cancelled_user))
        atomic_store(l->cancelled, true);
    return atomic_load(l->cancelled);
}

static bool lower_blocks_ended(struct pool *pool, int64_t turn)
{
    for (int i = 0; i < pool->count; i++)
        if (atomic_load(&pool->workers[i].current) < turn)
            return false;
    return true;
}

static void run_block(struct pool *pool, struct frame *f)
{
    frame_run(f);
    while (f->state == FRAME_WAITING) {
        bool last_chance = lower_blocks_ended(pool, f->turn);
        if (atomic_load(pool->launch->stop) < f->id || was_cancelled(pool->launch))
            return;
        frame_run(f);
        if (f->state != FRAME_WAITING)
            continue;
        if (last_chance && !f->progressed) {
            f->state = FRAME_FAULT;
            return;
        }
        platform_yield();
    }
}

static void note_fault(struct pool *pool, struct worker *w, int64_t id)
{
    if (id < w->fault_id) {
        w->fault = w->frame.fault;
        w->fault_id = id;
    }
    int64_t lowest = atomic_load(pool->launch->stop);
    while (id < lowest && !atomic_compare_exchange_weak(pool->launch->stop, &lowest, id))
        ;
}

/* Several blocks are taken at once where that cannot matter to others: what is shared is touched
 * less often, and every time the processor first ends the stores that it has under way. Fewer of
 * those that pack tiles, which are long and use what others pack. The fewer are left, the fewer at
 * once, so that all workers end together (Polychronopoulos and Kuck, "Guided Self-Scheduling",
 * 1987). Blocks that wait for lower ones are taken one by one, so that all lower ones run. */
static int64_t blocks_at_once(const struct cpu_program *p, int64_t left, int takers)
{
    enum { MOST = 64, MOST_OF_PACKED = 16, TURNS = 4 };
    int64_t share = left / ((int64_t)takers * TURNS),
            most = p->packed_count > 0 ? MOST_OF_PACKED : MOST;
    return p->has_locks || share < 1 ? 1 : share < most ? share : most;
}

/* The worker's part of the turns: equal ones, but all of them the first one's where blocks wait for
 * lower ones. */
static void give_part(const struct launch_state *l, struct worker *w, int index)
{
    int64_t part = l->program->has_locks ? l->blocks : l->turns_a_worker;
    int64_t first = l->blocks / part < index ? l->blocks : part * index;
    atomic_init(&w->next, first);
    w->last = l->blocks - first < part ? l->blocks : first + part;
}

/* Takes some of that worker's part, if there are any left that need to run: by rows, the blocks of
 * later turns are higher ones. */
static void take_some(const struct pool *pool, struct worker *w, struct worker *of)
{
    const struct cpu_program *p = pool->launch->program;
    int64_t next = atomic_load(&of->next);
    if (next >= of->last || (!p->by_columns && next > atomic_load(pool->launch->stop)))
        return;
    int64_t share = blocks_at_once(p, of->last - next, w == of ? 1 : pool->count);
    atomic_store(&w->current, next);
    w->first = atomic_fetch_add(&of->next, share);
    w->end = w->first + share < of->last ? w->first + share : of->last;
    if (w->first >= w->end)
        w->first = w->end = 0;
    else
        atomic_store(&w->current, w->first);
}

/* false: there is none left. */
static bool take_turn(const struct pool *pool, struct worker *w, int64_t *turn)
{
    int own = (int)(w - pool->workers);
    for (int i = 0; i < pool->count && w->first == w->end; i++)
        take_some(pool, w, &pool->workers[(own + i) % pool->count]);
    if (w->first == w->end)
        return false;
    *turn = w->first++;
    return true;
}

/* Has no turn left: helps the others with what they are at, until nothing was to be done for some
 * time. Where there are more workers than cores, a helper would take the core of one it helps. */
static void help_others(const struct pool *pool, const struct worker *w)
{
    static const double patience = 100e-6;
    enum { LOOKS = 16 };
    double end = platform_seconds() + patience;
    do {
        bool at_work = false, helped = false;
        for (int i = 0; i < pool->count; i++) {
            struct worker *other = &pool->workers[i];
            if (other == w)
                continue;
            at_work |= atomic_load(&other->current) != INT64_MAX;
            helped |= help_with_product(&other->product);
        }
        if (!at_work)
            return;
        if (helped)
            end = platform_seconds() + patience;
        for (int i = 0; i < LOOKS && !helped; i++)
            platform_pause();
    } while (platform_seconds() < end);
}

static bool any_left(const struct pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        if (atomic_load(&pool->workers[i].next) < pool->workers[i].last)
            return true;
    return false;
}

static void work(void *user, int index)
{
    struct pool *pool = user;
    struct worker *w = &pool->workers[index];
    if (!any_left(pool) || !frame_init(&w->frame, pool->launch))
        return; /* the others will do */
    w->frame.shared = pool->shares ? &w->product : NULL;
    set_params(&w->frame, pool->args);
    atomic_store(&pool->manned, true);
    int64_t turn;
    while (!was_cancelled(pool->launch) && take_turn(pool, w, &turn)) {
        if (block_of_turn(pool->launch, turn) > atomic_load(pool->launch->stop))
            continue;
        frame_start(&w->frame, turn);
        run_block(pool, &w->frame);
        if (w->frame.state == FRAME_FAULT)
            note_fault(pool, w, w->frame.id);
    }
    pool->launch->program->set->stream->end();
    atomic_store(&w->current, INT64_MAX);
    if (pool->shares && !was_cancelled(pool->launch))
        help_others(pool, w);
    frame_free(&w->frame);
}

static enum cpu_fault_kind first_fault(const struct pool *pool, struct cpu_fault *fault)
{
    const struct worker *first = NULL;
    for (int i = 0; i < pool->count; i++) {
        const struct worker *w = &pool->workers[i];
        if (w->fault_id != INT64_MAX && (!first || w->fault_id < first->fault_id))
            first = w;
    }
    if (first)
        *fault = first->fault;
    return first                                  ? first->fault.kind
           : atomic_load(pool->launch->cancelled) ? CPU_CANCELLED
                                                  : CPU_OK;
}

/* How many workers the launch is worth. */
static int worker_count(const struct launch_state *l)
{
    const struct parallel *parallel = &l->options->parallel;
    int64_t count = l->program->serial || !parallel->run ? 1 : parallel->threads;
    return (int)(count < l->blocks ? count : l->blocks);
}

static enum cpu_fault_kind run_pool(struct arena *a, struct launch_state *l,
                                    const struct cpu_argument *args, struct cpu_fault *fault)
{
    struct pool pool = {.launch = l, .args = args, .count = worker_count(l)};
    l->workers = pool.count;
    l->turns_a_worker = (l->blocks - 1) / pool.count + 1;
    pool.shares = l->program->shares && pool.count > 1 && pool.count <= platform_cores();
    pool.workers = arena_array(a, struct worker, pool.count);
    atomic_init(&pool.manned, false);
    for (int i = 0; i < pool.count; i++) {
        pool.workers[i].fault_id = INT64_MAX;
        atomic_init(&pool.workers[i].current, INT64_MAX);
        atomic_init(&pool.workers[i].product.untaken, 0);
        atomic_init(&pool.workers[i].product.helpers, 0);
        give_part(l, &pool.workers[i], i);
    }
    if (pool.count > 1)
        l->options->parallel.run(l->options->parallel.user, pool.count, work, &pool);
    else
        work(&pool, 0);
    if (atomic_load(&pool.manned))
        return first_fault(&pool, fault);
    return refuse(fault, CPU_NO_MEMORY, l->program->kernel->loc,
                  "no memory for a block of %s: %zu bytes", l->program->kernel->name,
                  l->program->frame_bytes);
}

/* --- cooperative kernels: all blocks alive, in turns --- */

#define MOST_COOPERATIVE_BYTES ((size_t)8 << 30)

/* One turn each. Returns how many are alive; *progress: whether any got on. The first fault stops
 * it. */
static int64_t run_round(struct frame *frames, int64_t count, bool *progress, struct frame **fault)
{
    int64_t alive = 0;
    *progress = false;
    for (int64_t i = 0; i < count; i++) {
        struct frame *f = &frames[i];
        if (f->state != FRAME_READY && f->state != FRAME_WAITING)
            continue;
        frame_run(f);
        *progress |= f->progressed;
        alive += f->state == FRAME_WAITING;
        if (f->state == FRAME_FAULT) {
            *fault = f;
            return 0;
        }
    }
    return alive;
}

static enum cpu_fault_kind run_rounds(struct launch_state *l, struct frame *frames,
                                      struct cpu_fault *fault)
{
    struct frame *faulted = NULL;
    int64_t alive = l->blocks;
    while (alive > 0) {
        bool progress;
        if (was_cancelled(l))
            return CPU_CANCELLED;
        alive = run_round(frames, l->blocks, &progress, &faulted);
        for (int64_t i = 0; i < l->blocks && alive > 0 && !progress && !faulted; i++)
            if (frames[i].state == FRAME_WAITING)
                faulted = &frames[i];
        if (faulted)
            break;
    }
    if (!faulted)
        return atomic_load(l->cancelled) ? CPU_CANCELLED : CPU_OK;
    *fault = faulted->fault;
    return fault->kind;
}

static enum cpu_fault_kind run_cooperative(struct arena *a, struct launch_state *l,
                                           const struct cpu_argument *args, struct cpu_fault *fault)
{
    size_t bytes = l->program->frame_bytes + sizeof(struct frame);
    if (l->blocks > (int64_t)(MOST_COOPERATIVE_BYTES / bytes))
        return refuse(fault, CPU_NO_MEMORY, l->program->kernel->loc,
                      "the %" PRId64 " cooperative blocks of %s, %zu bytes each, need more than "
                      "%zu GiB: all of them live at the same time",
                      l->blocks, l->program->kernel->name, l->program->frame_bytes,
                      MOST_COOPERATIVE_BYTES >> 30);
    struct frame *frames = arena_array(a, struct frame, l->blocks);
    int64_t count = 0;
    enum cpu_fault_kind kind;
    for (; count < l->blocks && frame_init(&frames[count], l); count++) {
        set_params(&frames[count], args);
        frame_start(&frames[count], count);
    }
    if (count == l->blocks)
        kind = run_rounds(l, frames, fault);
    else
        kind = refuse(fault, CPU_NO_MEMORY, l->program->kernel->loc,
                      "no memory for the %" PRId64 " cooperative blocks of %s, %zu bytes each",
                      l->blocks, l->program->kernel->name, l->program->frame_bytes);
    for (int64_t i = 0; i < count; i++)
        frame_free(&frames[i]);
    return kind;
}

/* --- the launch --- */

static enum cpu_fault_kind launch(struct arena *a, struct launch_state *l,
                                  const struct cpu_argument *args, struct cpu_fault *fault)
{
    const struct cpu_program *p = l->program;
    struct binder b = {.arena = a, .args = args, .fault = fault};
    set_env(&b, p);
    if (!set_grid(&b, l))
        return fault->kind;
    l->views = arena_array(a, struct view_binding, p->view_count);
    for (int i = 0; i < p->view_count; i++)
        if (!bind_view(&b, p->views[i], &l->views[i]))
            return fault->kind;
    if (l->blocks == 0)
        return CPU_OK;
    l->nests = arena_array(a, struct strided_nest, p->strided_count);
    for (uint32_t i = 0; i < p->strided_count; i++) {
        const struct access *access = p->strided[i].access;
        bool is_view = access->space == SPACE_VIEW;
        strided_nest(p, &p->strided[i], is_view ? l->views[access->view].stride : access->stride,
                     &l->nests[i]);
    }
    plan_products(a, l);
    packed_caches_open(a, l);
    enum cpu_fault_kind kind = p->kernel->cooperative && p->has_locks
                                   ? run_cooperative(a, l, args, fault)
                                   : run_pool(a, l, args, fault);
    packed_caches_close(l);
    return kind;
}

/* Alone with setjmp, so that nothing here lives in a register across it. */
static enum cpu_fault_kind launch_with_arena(struct arena *a, struct launch_state *l,
                                             const struct cpu_argument *args,
                                             struct cpu_fault *fault)
{
    jmp_buf out_of_memory;
    arena_init(a, l->allocator, &out_of_memory);
    if (setjmp(out_of_memory)) {
        if (l->packed)
            packed_caches_close(l);
        return CPU_NO_MEMORY;
    }
    return launch(a, l, args, fault);
}

enum cpu_fault_kind cpu_launch(const struct cpu_program *p, const struct cpu_argument *args,
                               const struct cpu_options *o, struct cpu_fault *fault)
{
    static const struct cpu_options defaults = {0};
    struct cpu_fault unused;
    atomic_flag allocating = ATOMIC_FLAG_INIT;
    atomic_bool cancelled = false;
    _Atomic int64_t stop = INT64_MAX;
    struct launch_state l = {.program = p,
                             .options = o ? o : &defaults,
                             .allocating = &allocating,
                             .stop = &stop,
                             .cancelled = &cancelled};
    l.allocator = l.options->allocator ? l.options->allocator : &allocator_libc;
    if (!fault)
        fault = &unused;
    *fault = (struct cpu_fault){.kind = CPU_OK};
    struct arena a;
    enum cpu_fault_kind kind = launch_with_arena(&a, &l, args, fault);
    if (kind == CPU_NO_MEMORY && fault->kind == CPU_OK)
        refuse(fault, kind, p->kernel->loc, "no memory to launch %s", p->kernel->name);
    arena_free(&a);
    return kind;
}
