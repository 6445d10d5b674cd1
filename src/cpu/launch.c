/* A launch: binds views to arrays, computes the grid, runs the blocks, and reports the first
 * fault. workers.c runs the blocks, except those of a cooperative kernel: these take turns on
 * one worker, and a whole round in which no block progresses is a deadlock. */
#include "cpu/routines/lane_product.h"
#include "cpu/profile.h"

#include "base/number.h"
#include "base/platform.h"
#include "tile/clean.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
    number_vformat(fault->message, sizeof fault->message, format, args);
    va_end(args);
    return kind;
}

/* --- views --- */

/* Size of a view above which it does not fit the caches next to a core. */
#define LARGE_VIEW ((int64_t)8 << 20)

struct binder {
    struct arena *arena;
    const struct cpu_program *program;
    const struct cpu_argument *args;
    uint64_t *values; /* of scalars, by parameter (launch_sizes.h) */
    struct cpu_fault *fault;
};

/* Refuses the launch if a size cannot be computed. The callers refuse what only is too large. */
static void refuse_size(void *user, const struct size_fault *fault)
{
    struct binder *b = user;
    const struct cpu_program *p = b->program;
    const struct expr *e = size_fault_place(&p->sizes, fault);
    size_t length;
    if (!e || fault->error == SIZE_NEGATIVE || fault->error == SIZE_TOO_MANY ||
        b->fault->kind != CPU_OK)
        return;
    const char *text = expr_written(e, &length);
    for (uint32_t i = 0; i < p->size_text_count && !text; i++)
        if (p->size_texts[i].e == e) {
            text = p->size_texts[i].text;
            length = strlen(text);
        }
    refuse(b->fault, CPU_BAD_ARGUMENT, e->loc, "%s",
           size_fault_message(b->arena, &p->sizes, fault, text, length, NULL));
}

static bool find_sizes(struct binder *b, int part, int64_t *results)
{
    return launch_sizes_part(&b->program->sizes, part, b->values, results, refuse_size, b);
}

static bool view_numbers(struct binder *b, int view, struct view_binding *v, int *rank,
                         int64_t *offset)
{
    const struct sym *s = b->program->views[view];
    struct view_sizes sizes = {.offset = 0};
    bool known = find_sizes(b, 1 + view, &sizes.offset);
    *rank = 0;
    *offset = sizes.offset;
    while (*rank < MAX_RANK && s->dims[*rank])
        ++*rank;
    memcpy(v->extent, sizes.extent, sizeof v->extent);
    memcpy(v->stride, sizes.stride, sizeof v->stride);
    if (!known && b->fault->kind == CPU_OK)
        refuse(b->fault, CPU_BAD_ARGUMENT, s->loc, "workspace %s is larger than memory", s->name);
    return known;
}

/* Computes row-major strides if none were given. false: too large for 64 bits. */
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

/* Computes the lowest and the highest element of the view. false: beyond 64 bits. */
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

/* Checks `clean` workspace after the last block. */
static enum cpu_fault_kind check_clean(const struct launch_state *l, struct cpu_fault *fault)
{
    char message[CLEAN_TEXT];
    for (int i = 0; i < l->program->view_count; i++) {
        const struct sym *s = l->program->views[i];
        const struct view_binding *v = &l->views[i];
        if (!s->clean || !v->base || !clean_is_dirty(s, v->extent, v->base, message))
            continue;
        refuse(fault, CPU_DIRTY, s->loc, "%s", message);
        snprintf(fault->way_out, sizeof fault->way_out, "%s", clean_way_out);
        return CPU_DIRTY;
    }
    return CPU_OK;
}

static bool bind_view(struct binder *b, int view, struct view_binding *v)
{
    const struct sym *s = b->program->views[view];
    int rank;
    int64_t offset, low = 0, high = 0;
    bool empty = false;
    if (!view_numbers(b, view, v, &rank, &offset))
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
    if (empty) /* no element of it is ever touched */
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

/* The range of bytes of a view that is not const. */
struct written_bytes {
    uintptr_t first, end;
};

static int compare_written(const void *a, const void *b)
{
    const struct written_bytes *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Notes which views share memory with a view that is not const. The writable views are sorted by
 * their first bytes, and each gets the greatest end among itself and its predecessors. A view
 * overlaps one of them if it begins before the end of the last one that begins before the view's
 * own end. */
static void note_overlays(struct arena *a, struct launch_state *l)
{
    int views = l->program->view_count, count = 0;
    struct written_bytes *written = arena_array(a, struct written_bytes, views + 1);
    for (int i = 0; i < views; i++)
        if (!l->program->views[i]->is_const && l->views[i].first < l->views[i].end)
            written[count++] =
                (struct written_bytes){(uintptr_t)l->views[i].first, (uintptr_t)l->views[i].end};
    if (count > 1)
        qsort(written, (size_t)count, sizeof *written, compare_written);
    for (int i = 1; i < count; i++)
        if (written[i].end < written[i - 1].end)
            written[i].end = written[i - 1].end;
    for (int i = 0; i < views; i++) {
        struct view_binding *view = &l->views[i];
        int low = 0, high = count; /* finds `low`: the number of ranges that begin before the
                                    * view ends */
        while (low < high) {
            int middle = low + (high - low) / 2;
            if (written[middle].first < (uintptr_t)view->end)
                low = middle + 1;
            else
                high = middle;
        }
        view->is_overlaid = low > 0 && (uintptr_t)view->first < written[low - 1].end;
    }
}

/* --- parameters and grid --- */

static void set_values(struct binder *b, const struct kernel *k)
{
    b->values = arena_array(b->arena, uint64_t, k->param_count);
    for (const struct param *p = k->params; p; p = p->next)
        if (!p->sym->is_pointer)
            b->values[p->sym->index] =
                size_param(p->sym->type.dtype, b->args[p->sym->index].scalar);
}

static bool set_grid(struct binder *b, struct launch_state *l)
{
    const struct kernel *k = l->program->kernel;
    l->blocks = l->grid[0] = l->grid[1] = l->grid[2] = 1;
    if (!find_sizes(b, 0, l->grid))
        return false;
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] < 0 || l->grid[i] > INT32_MAX) {
            refuse(b->fault, CPU_BAD_ARGUMENT, k->grid[i]->loc,
                   "the grid of %s has %" PRId64 " blocks along %c", k->name, l->grid[i], "xyz"[i]);
            return false;
        }
        int along = k->cluster[i];
        if (along > 0 && l->grid[i] % along != 0) {
            refuse(b->fault, CPU_BAD_ARGUMENT, k->grid[i] ? k->grid[i]->loc : k->loc,
                   "the grid of %s has %" PRId64 " blocks along %c, and its clusters have %d: "
                   "round the extent up, cdiv(…, %d) * %d",
                   k->name, l->grid[i], "xyz"[i], along, along, along);
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

/* --- cooperative kernels: all blocks are alive and take turns --- */

#define MOST_COOPERATIVE_BYTES ((uint64_t)8 << 30) /* more than a 32-bit size_t holds */

/* Gives each block one turn. Returns the number of blocks that are still alive; *progress:
 * whether any block progressed. The first fault ends the round. */
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
        if (frame_is_cancelled(l))
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
                      (size_t)(MOST_COOPERATIVE_BYTES >> 30));
    struct frame *frames = arena_array(a, struct frame, l->blocks);
    int64_t count = 0;
    enum cpu_fault_kind kind;
    profiles_open(a, l, 1);
    for (; count < l->blocks && frame_init(&frames[count], l, frame_take(l, 0)); count++) {
        frames[count].profile = l->profiles;
        frame_set_params(&frames[count], args);
        frame_start(&frames[count], count, frame_block_of_turn(l, count));
    }
    if (l->profiles)
        profile_begin(l->profiles);
    if (count == l->blocks)
        kind = run_rounds(l, frames, fault);
    else
        kind = refuse(fault, CPU_NO_MEMORY, l->program->kernel->loc,
                      "no memory for the %" PRId64 " cooperative blocks of %s, %zu bytes each",
                      l->blocks, l->program->kernel->name, l->program->frame_bytes);
    if (l->profiles)
        profile_end(l->profiles);
    profiles_close(l, 1);
    for (int64_t i = 0; i < count; i++)
        frame_free(&frames[i]);
    return kind;
}

/* --- joined blocks --- */

/* Returns whether the grid has enough joined blocks for the workers, and no axis has fewer blocks
 * than one of them is made of. At thread level, the grid must have a multiple. */
static bool joining_pays(const struct launch_state *l, const int64_t *all_joins)
{
    const struct parallel *parallel = &l->options->parallel;
    int64_t workers = parallel->run ? parallel->threads : 1, blocks = 1;
    for (int i = 0; i < 3; i++) {
        int64_t joins = all_joins[i];
        if (joins > l->grid[i] || (joins < 0 && l->grid[i] > 1) ||
            (l->program->lanes > 1 && joins > 1 && l->grid[i] % joins != 0))
            return false;
        blocks *= joins > 1 ? (l->grid[i] + joins - 1) / joins : l->grid[i];
    }
    return blocks == workers || blocks >= 2 * workers;
}

/* Chooses the first program with joined blocks that pays. false: a fault. */
static bool choose_program(struct binder *b, struct launch_state *l)
{
    const struct cpu_program *p = l->blocks > 0 && !l->as_written ? l->program : NULL;
    while (p && p->joined && !joining_pays(l, p->joins))
        p = p->joined;
    if (!p || !p->joined)
        return true;
    b->program = l->program = p->joined;
    return set_grid(b, l);
}

/* --- the launch --- */

static enum cpu_fault_kind launch(struct arena *a, struct launch_state *l,
                                  const struct cpu_argument *args, struct cpu_fault *fault)
{
    struct binder b = {.arena = a, .program = l->program, .args = args, .fault = fault};
    set_values(&b, l->program->kernel);
    if (!set_grid(&b, l) || !choose_program(&b, l))
        return fault->kind;
    const struct cpu_program *p = l->program;
    l->views = arena_array(a, struct view_binding, p->view_count);
    for (int i = 0; i < p->view_count; i++)
        if (!bind_view(&b, i, &l->views[i]))
            return fault->kind;
    note_overlays(a, l);
    if (l->blocks == 0)
        return CPU_OK;
    l->nests = arena_array(a, struct strided_nest, p->strided_count);
    for (uint32_t i = 0; i < p->strided_count; i++) {
        const struct access *access = p->strided[i].access;
        bool is_view = access->space == SPACE_VIEW;
        exec_strided_nest(p, &p->strided[i],
                          is_view ? l->views[access->view].stride : access->stride, &l->nests[i]);
    }
    l->rows = arena_array(a, struct row_place, p->row_count);
    for (uint32_t i = 0; i < p->row_count; i++)
        l->rows[i] = exec_row_place(l, p->rows[i]);
    exec_plan_products(a, l);
    bool cooperative = p->kernel->cooperative && p->has_locks;
    l->workers = cooperative ? 1 : workers_count(l);
    packed_caches_open(a, l);
    enum cpu_fault_kind kind = p->roles && p->roles->run ? p->roles->run(a, l, args, fault)
                               : cooperative             ? run_cooperative(a, l, args, fault)
                                                         : workers_run(a, l, args, fault);
    packed_caches_close(l);
    if (kind == CPU_OK)
        kind = check_clean(l, fault);
    if (kind == CPU_NO_MEMORY && fault->kind == CPU_OK)
        refuse(fault, kind, p->kernel->loc, "no memory for a block of %s: %zu bytes",
               p->kernel->name, p->frame_bytes);
    return kind;
}

/* Runs a launch inside setjmp. It is a function of its own, so that no local variable is in a
 * register across setjmp. */
static enum cpu_fault_kind launch_with_arena(struct arena *a, struct launch_state *l,
                                             const struct allocator *allocator,
                                             const struct cpu_argument *args,
                                             struct cpu_fault *fault)
{
    jmp_buf out_of_memory;
    arena_init(a, allocator, &out_of_memory);
    if (setjmp(out_of_memory)) {
        if (l->packed)
            packed_caches_close(l);
        return CPU_NO_MEMORY;
    }
    return launch(a, l, args, fault);
}

/* Launches the program, or one with joined blocks unless it is to run as written. *joined: it had
 * them, and a thread faulted. */
static enum cpu_fault_kind launch_once(const struct cpu_program *p, const struct cpu_argument *args,
                                       const struct cpu_options *o, bool as_written, bool *joined,
                                       struct cpu_fault *fault)
{
    atomic_bool allocating = false;
    atomic_bool cancelled = false;
    _Atomic int64_t stop = INT64_MAX, begun = 0;
    struct launch_state l = {.program = p,
                             .options = o,
                             .as_written = as_written,
                             .allocating = &allocating,
                             .stop = &stop,
                             .cancelled = &cancelled,
                             .begun = &begun};
    l.allocator = o->allocator ? o->allocator : &allocator_libc;
    *fault = (struct cpu_fault){.kind = CPU_OK};
    struct arena a;
    struct allocator kept = kept_allocator(&l);
    enum cpu_fault_kind kind = launch_with_arena(&a, &l, &kept, args, fault);
    if (kind == CPU_NO_MEMORY && fault->kind == CPU_OK)
        refuse(fault, kind, p->kernel->loc, "no memory to launch %s", p->kernel->name);
    arena_free(&a);
    *joined = l.program != p && kind != CPU_OK && kind != CPU_NO_MEMORY && kind != CPU_CANCELLED;
    return kind;
}

enum cpu_fault_kind cpu_launch(const struct cpu_program *p, const struct cpu_argument *args,
                               const struct cpu_options *o, struct cpu_fault *fault)
{
    static const struct cpu_options defaults = {0};
    struct cpu_fault unused;
    bool joined;
    o = o ? o : &defaults;
    fault = fault ? fault : &unused;
    enum cpu_fault_kind kind = launch_once(p, args, o, false, &joined, fault);
    if (joined && p->lanes > 1) /* names the thread and the block that the kernel has */
        kind = launch_once(p, args, o, true, &joined, fault);
    return kind;
}
