/* Runs the blocks of a launch on workers.
 *
 * Blocks may wait only for lower ones. In a kernel whose blocks wait, all blocks start in
 * increasing id: a block that waits while all lower ones have ended, and still fails its poll,
 * waits forever. Workers announce the block that they run, so that this can be seen. Kernels
 * whose results depend on the order of blocks (float atomics, atomics whose result is used,
 * print) run on one worker. */
#include "cpu/profile.h"

#include "base/platform.h"

#include <assert.h>

/* Keeps what other workers write out of a cache line: a core fetches two at a time. */
enum { LINES = 128 };

/* A worker. Each begins with its own part of the turns, then helps the others with theirs. So
 * the memory that neighbouring blocks read mostly goes to one core, and to the same core in
 * consecutive launches. */
struct worker {
    char apart[LINES];
    /* The turn of the block it runs, or a lower bound of the one it takes; INT64_MAX: none. */
    _Atomic int64_t current;
    _Atomic int64_t next;     /* first turn of its part that no worker has taken */
    int64_t last;             /* end of its part */
    int64_t first, end;       /* turns that it has taken and not run yet */
    int64_t taken;            /* turns that it has taken and not counted in pool.unfinished */
    struct kept_block memory; /* of its frame */
    struct few_strip strip;
    struct shared_product product;
    int64_t fault_id;
    struct cpu_fault fault; /* of the lowest block that faulted here */
    struct frame frame;     /* made when it gets its first block */
};

/* Each number that workers change has its own cache lines: they all read the rest. */
struct pool {
    const struct launch_state *launch;
    const struct cpu_argument *args;
    struct worker *workers;
    int count;
    bool shares;        /* it shares products with workers that have no turn left */
    double alone_until; /* the first worker works alone until then; 0: all workers work */
    atomic_bool manned; /* some worker had memory for a frame */
    char before_unfinished[LINES];
    _Atomic int64_t unfinished; /* turns of which no worker has told that they have ended */
    char before_idle[LINES];
    atomic_int idle; /* workers that help others */
    char after_idle[LINES];
};

void workers_tell_progress(const struct launch_state *l, int64_t blocks)
{
    const struct cpu_options *o = l->options;
    if (o->progress)
        o->progress(o->progress_user, "running", atomic_fetch_add(l->begun, blocks) + blocks,
                    l->blocks);
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
        if (atomic_load(pool->launch->stop) < f->id || frame_is_cancelled(pool->launch))
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

/* Returns the number of blocks to take at once. Taking several touches shared memory less often;
 * each time the processor must first finish its outstanding stores. Blocks that pack tiles are
 * long and use what others pack, so fewer of them are taken. When fewer blocks are left, fewer
 * are taken, so that all workers end together (Polychronopoulos and Kuck, "Guided
 * Self-Scheduling", 1987). Blocks that wait for lower ones are taken one by one, so that all
 * lower ones run. */
static int64_t blocks_at_once(const struct cpu_program *p, int64_t left, int takers)
{
    enum { MOST = 64, MOST_OF_PACKED = 16, TURNS = 4 };
    int64_t share = left / ((int64_t)takers * TURNS),
            most = p->packed_count > 0 ? MOST_OF_PACKED : MOST;
    return p->has_locks || share < 1 ? 1 : share < most ? share : most;
}

/* Gives a worker its part of the turns. Parts are equal, except that the first worker gets all
 * turns if blocks wait for lower ones. */
static void give_part(const struct launch_state *l, struct worker *w, int index)
{
    int64_t part = l->program->has_locks ? l->blocks : l->turns_a_worker;
    int64_t first = l->blocks / part < index ? l->blocks : part * index;
    atomic_init(&w->next, first);
    w->last = l->blocks - first < part ? l->blocks : first + part;
}

/* Returns whether turns of a worker's part are left that must run. By rows, later turns have higher
 * blocks, so turns after the lowest block that faulted need not run. */
static bool has_turns(const struct pool *pool, const struct worker *of)
{
    int64_t next = atomic_load(&of->next);
    return next < of->last &&
           (pool->launch->program->by_columns || next <= atomic_load(pool->launch->stop));
}

/* Takes some turns of a worker's part, if any are left that must run. */
static void take_some(const struct pool *pool, struct worker *w, struct worker *of)
{
    const struct cpu_program *p = pool->launch->program;
    int64_t next = atomic_load(&of->next);
    if (next >= of->last || !has_turns(pool, of))
        return;
    int64_t share =
        pool->alone_until > 0 ? 1 : blocks_at_once(p, of->last - next, w == of ? 1 : pool->count);
    if (share < pool->launch->turns_together && !p->has_locks)
        share = pool->launch->turns_together;
    atomic_store(&w->current, next);
    w->first = atomic_fetch_add(&of->next, share);
    w->end = w->first + share < of->last ? w->first + share : of->last;
    if (w->first >= w->end)
        w->first = w->end = 0;
    else
        atomic_store(&w->current, w->first);
    w->taken += w->end - w->first;
}

/* Takes the next turn. false: there is none left. */
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

/* Helps other workers with their products, after this one has no turn left, until there was no
 * work for some time. If there are more workers than cores, products are not shared, because a
 * helper would take the core of the worker it helps. */
static void help_others(const struct pool *pool, const struct worker *w,
                        struct frame_profile *profile)
{
    static const double patience = 100e-6;
    enum { LOOKS = 16 };
    const int own = (int)(w - pool->workers);
    double end = platform_seconds() + patience;
    while (atomic_load(&pool->unfinished) > 0) {
        bool helped = false;
        for (int i = 1; i < pool->count; i++)
            helped |=
                exec_help_with_product(&pool->workers[(own + i) % pool->count].product, profile);
        if (helped)
            end = platform_seconds() + patience;
        else if (platform_seconds() >= end)
            return;
        for (int i = 0; i < LOOKS && !helped && atomic_load(&pool->unfinished) > 0; i++)
            platform_pause();
    }
}

/* Looks at the parts of all workers, first at that of worker `own`. */
static bool any_left(const struct pool *pool, int own)
{
    for (int i = 0; i < pool->count; i++)
        if (has_turns(pool, &pool->workers[(own + i) % pool->count]))
            return true;
    return false;
}

/* Returns whether the other workers are to join, after the turns that this one has taken. */
static bool needs_others(const struct pool *pool, const struct worker *w)
{
    return pool->alone_until > 0 && w->first == w->end && platform_seconds() >= pool->alone_until;
}

static void work(void *user, int index)
{
    struct pool *pool = user;
    assert(index >= 0 && index < pool->count);
    struct worker *w = &pool->workers[index];
    if (!any_left(pool, index) || !frame_init(&w->frame, pool->launch, w->memory))
        return; /* the other workers run its turns */
    w->frame.kept = (struct kept_block){0};
    w->frame.shared = pool->shares ? &w->product : NULL;
    w->frame.strip = &w->strip;
    struct frame_profile *profile = pool->launch->profiles ? &pool->launch->profiles[index] : NULL;
    w->frame.profile = profile;
    if (profile)
        profile_begin(profile);
    frame_set_params(&w->frame, pool->args);
    if (!atomic_load(&pool->manned))
        atomic_store(&pool->manned, true);
    int64_t turn;
    while (!frame_is_cancelled(pool->launch) && !needs_others(pool, w) &&
           take_turn(pool, w, &turn)) {
        workers_tell_progress(pool->launch, w->frame.row_blocks ? w->end - turn : 1);
        if (w->frame.row_blocks) {
            row_blocks_run(&w->frame, w->frame.row_blocks, turn, w->end);
            w->first = w->end;
            continue;
        }
        int64_t id = frame_block_of_turn(pool->launch, turn);
        if (id > atomic_load(pool->launch->stop))
            continue;
        w->frame.turns_left = w->end - turn;
        frame_start(&w->frame, turn, id);
        run_block(pool, &w->frame);
        if (w->frame.state == FRAME_FAULT)
            note_fault(pool, w, w->frame.id);
    }
    pool->launch->program->set->stream->end();
    atomic_store(&w->current, INT64_MAX);
    if (w->strip.memory.memory)
        kept_give(pool->launch, w->strip.memory);
    w->strip = (struct few_strip){0};
    frame_free(&w->frame);
    const int64_t left = atomic_fetch_sub(&pool->unfinished, w->taken) - w->taken;
    assert(left >= 0);
    w->taken = 0;
    if (pool->shares && pool->alone_until == 0 && left > 0 && !frame_is_cancelled(pool->launch)) {
        atomic_fetch_add(&pool->idle, 1);
        help_others(pool, w, profile);
        atomic_fetch_sub(&pool->idle, 1);
    }
    if (profile)
        profile_end(profile);
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

int workers_count(const struct launch_state *l)
{
    const struct parallel *parallel = &l->options->parallel;
    int64_t count = l->program->serial || !parallel->run ? 1 : parallel->threads;
    return (int)(count < l->blocks ? count : l->blocks);
}

/* Returns whether the views have few bytes. A launch on many bytes takes longer than the start of
 * threads. */
static bool is_small(const struct launch_state *l)
{
    enum { MOST = 256 << 10 };
    int64_t bytes = 0;
    for (int i = 0; i < l->program->view_count && bytes <= MOST; i++)
        bytes += l->views[i].end - l->views[i].first;
    return bytes <= MOST;
}

/* Runs turns on the first worker alone, as long as `parallel` advises. Returns whether turns are
 * left. */
static bool work_alone(struct pool *pool)
{
    const struct launch_state *l = pool->launch;
    const struct parallel *parallel = &l->options->parallel;
    double longest = parallel->alone ? parallel->alone(parallel->user, 0) : 0;
    if (longest <= 0 || l->profiles || !is_small(l))
        return true;
    double began = platform_seconds();
    pool->alone_until = began + longest;
    work(pool, 0);
    pool->alone_until = 0;
    parallel->alone(parallel->user, platform_seconds() - began);
    return !frame_is_cancelled(l) && any_left(pool, 0);
}

/* Sets what others read of a worker. The rest, some 3000 bytes, stays in its own core's cache: the
 * frame is set when the worker begins. */
static void worker_open(struct pool *pool, int index)
{
    struct worker *w = &pool->workers[index];
    w->first = w->end = w->taken = 0;
    w->memory = (struct kept_block){0};
    w->strip = (struct few_strip){0};
    w->fault_id = INT64_MAX;
    atomic_init(&w->current, INT64_MAX);
    atomic_init(&w->product.untaken, 0);
    atomic_init(&w->product.pieces, 0);
    w->product.idle = &pool->idle;
    atomic_init(&w->product.helpers, 0);
    give_part(pool->launch, w, index);
}

/* Takes the memory of the frames of workers below `end` that have none yet. One thread does this for
 * all, because the list of kept blocks would go from core to core. */
static void take_memory(struct pool *pool, int end)
{
    for (int i = 0; i < end; i++)
        if (!pool->workers[i].memory.memory)
            pool->workers[i].memory = frame_take(pool->launch, i);
}

enum cpu_fault_kind workers_run(struct arena *a, struct launch_state *l,
                                const struct cpu_argument *args, struct cpu_fault *fault)
{
    struct pool pool = {.launch = l, .args = args, .count = l->workers};
    l->turns_a_worker = (l->blocks - 1) / pool.count + 1;
    pool.shares = l->program->shares && pool.count > 1 && pool.count <= l->options->parallel.cores;
    pool.workers = arena_room(a, (size_t)pool.count * sizeof *pool.workers);
    atomic_init(&pool.manned, false);
    atomic_init(&pool.unfinished, l->blocks);
    atomic_init(&pool.idle, 0);
    for (int i = 0; i < pool.count; i++)
        worker_open(&pool, i);
    profiles_open(a, l, pool.count);
    take_memory(&pool, 1);
    if (pool.count == 1) {
        work(&pool, 0);
    } else if (work_alone(&pool)) {
        take_memory(&pool, pool.count);
        l->options->parallel.run(l->options->parallel.user, pool.count, work, &pool);
    }
    profiles_close(l, pool.count);
    for (int i = 0; i < pool.count; i++)
        kept_give(l, pool.workers[i].memory);
    return atomic_load(&pool.manned) ? first_fault(&pool, fault) : CPU_NO_MEMORY;
}
