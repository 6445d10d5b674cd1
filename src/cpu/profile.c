/* Profiles of launches (profile.h): the clock and its buckets, the loop over a block's steps, and
 * the sums over workers. */
#include "cpu/profile.h"

#include "base/platform.h"

#include <string.h>

/* --- the clock --- */

/* Returns the ticks of a clock that is quick to read. Ticks become seconds when the launch has
 * ended, by the time that the whole launch took. */
static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__) && defined(__GNUC__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return (uint64_t)(1e9 * platform_seconds());
#endif
}

/* Returns the ticks between two reads that follow each other. */
static uint64_t ticks_of_read(void)
{
    enum { READS = 64 };
    uint64_t least = UINT64_MAX, last = clock_ticks();
    for (int i = 0; i < READS; i++) {
        uint64_t now = clock_ticks();
        least = now - last < least ? now - last : least;
        last = now;
    }
    return least;
}

static struct profile_bucket *switch_to(struct frame_profile *p, struct profile_bucket *to)
{
    struct profile_bucket *before = p->now;
    uint64_t now = clock_ticks(), ticks = now - p->last;
    before->ticks += ticks > p->read_ticks ? ticks - p->read_ticks : 0;
    p->reads++;
    p->last = now;
    p->now = to;
    return before;
}

static void begin(struct frame_profile *p)
{
    p->began = platform_seconds();
    p->now = &p->between;
    p->last = clock_ticks();
}

static void end(struct frame_profile *p)
{
    switch_to(p, &p->between);
    p->ended = platform_seconds();
}

/* --- products --- */

static struct profile_step *step_of_product(struct frame_profile *p, const struct dot_detail *d)
{
    size_t i = 0;
    while (i + 1 < p->dot_count && p->dots[i].detail != d)
        i++;
    return &p->steps[p->dots[i].step];
}

static struct profile_bucket *of_product(struct frame_profile *p, const struct dot_detail *d)
{
    return &step_of_product(p, d)->product;
}

static void note_product(struct frame_profile *p, const struct dot_detail *d, size_t rows,
                         size_t columns, size_t depth)
{
    step_of_product(p, d)->work.flops += 2 * (double)rows * (double)columns * (double)depth;
}

static enum cpu_operand_path path_of(const struct packed_state *state)
{
    if (!state)
        return CPU_OPERAND_PLAIN;
    if (state->kind != PACKED_SHARED)
        return CPU_OPERAND_OWN;
    return state->cached ? CPU_OPERAND_SHARED : CPU_OPERAND_IN_PLACE;
}

static void note_operands(struct frame_profile *p, const struct instr *in,
                          const struct packed_state *a, const struct packed_state *b)
{
    struct profile_step *step = &p->steps[in - p->program->code];
    step->operand[0][path_of(a)]++;
    step->operand[1][path_of(b)]++;
}

/* --- rows read in place --- */

/* step_show_row only finds a row. The step that reads the row first takes the time of reading it,
 * so the bytes count for that step: they are kept until it runs. A row that a block does not read
 * does not count. */
static void keep_unread(struct unread_row *rows, int *count, const struct instr *in, uint32_t step,
                        struct cpu_work *work)
{
    int i = 0;
    while (i < *count && rows[i].at != in->a)
        i++;
    if (i == MOST_UNREAD)
        return; /* the bytes stay with step_show_row */
    *count += i == *count;
    rows[i] = (struct unread_row){in->a, step, work->read};
    work->read = 0;
}

/* Returns the bytes of the unread rows that the step reads, and removes these rows. */
static double take_unread(struct unread_row *rows, int *count, const struct instr *in)
{
    double bytes = 0;
    for (int i = *count - 1; i >= 0; i--)
        if (step_reads_row(in, rows[i].at)) {
            bytes += rows[i].bytes;
            rows[i] = rows[--*count];
        }
    return bytes;
}

/* Counts the unread rows of a block that waits for their steps: the worker runs other blocks
 * before it reads them. */
static void settle_unread(struct frame_profile *p)
{
    for (int i = 0; i < p->unread_count; i++)
        p->steps[p->unread[i].step].work.read += p->unread[i].bytes;
}

/* --- steps --- */

/* Returns whether the step tries a short cut, and jumps if it takes it. The steps after it do the
 * same work if it does not. */
static bool is_attempt(const struct instr *in)
{
    return in->step == step_products || in->step == step_move;
}

/* Returns whether step_show_row has found the row in the view, and has not copied it. */
static bool is_in_view(const struct frame *f, const struct instr *in)
{
    const unsigned char *const *row = frame_at(f, in->a), *own = frame_at(f, in->dst);
    return *row != own;
}

static void run(struct frame *f)
{
    struct frame_profile *p = f->profile;
    const struct instr *code = f->program->code;
    size_t steps = 0;
    f->state = FRAME_READY;
    p->unread_count = 0;
    for (; f->state == FRAME_READY; steps++) {
        uint32_t i = f->pc++;
        const struct instr *in = &code[i];
        struct profile_step *step = &p->steps[i];
        switch_to(p, &p->mechanism);
        struct cpu_work work = step_work(f, in, p->flops[i], false);
        switch_to(p, &step->own);
        in->step(f, in);
        switch_to(p, &p->mechanism);
        step->runs++;
        if (is_attempt(in) && f->pc != in->n)
            continue;
        if (in->step == step_show_row && is_in_view(f, in))
            keep_unread(p->unread, &p->unread_count, in, i, &work);
        else
            work.read += take_unread(p->unread, &p->unread_count, in);
        step->work.flops += work.flops;
        step->work.read += work.read;
        step->work.written += work.written;
    }
    if (f->state == FRAME_WAITING)
        settle_unread(p);
    p->blocks += f->state == FRAME_DONE;
    switch_to(p, &p->between);
    f->progressed = (steps > 1 && !f->stuck) || f->state != FRAME_WAITING;
}

/* --- a launch --- */

static const struct profiled_dot *find_dots(struct arena *a, const struct cpu_program *p,
                                            size_t *count)
{
    VEC(struct profiled_dot) dots = {0};
    for (uint32_t i = 0; i < p->count; i++)
        if (p->code[i].step == step_dot)
            vec_push(a, &dots, ((struct profiled_dot){p->code[i].detail, i}));
    *count = dots.count;
    return dots.data;
}

static void open_profiles(struct arena *a, struct launch_state *l, int workers)
{
    const struct cpu_program *p = l->program;
    double *flops = arena_array(a, double, p->count);
    for (size_t i = 0; i < p->count; i++)
        flops[i] = step_flops(p, &p->code[i]);
    struct frame_profile one = {
        .calls = &cpu_profile_calls, .program = p, .flops = flops, .read_ticks = ticks_of_read()};
    one.dots = find_dots(a, p, &one.dot_count);
    l->profiles = arena_array(a, struct frame_profile, workers);
    for (int i = 0; i < workers; i++) {
        l->profiles[i] = one;
        l->profiles[i].steps = arena_array(a, struct profile_step, p->count);
    }
    l->began = platform_seconds();
    l->began_ticks = clock_ticks();
}

/* Adds a step of a worker; `second`: ticks of a second. */
static void add_step(struct cpu_step_profile *to, const struct profile_step *s, double second)
{
    to->seconds += (double)s->own.ticks / second;
    to->product += (double)s->product.ticks / second;
    to->runs += s->runs;
    to->work.flops += s->work.flops;
    to->work.read += s->work.read;
    to->work.written += s->work.written;
    for (int i = 0; i < 2; i++)
        for (int path = 0; path < CPU_OPERAND_PATHS; path++)
            to->operand[i][path] += s->operand[i][path];
}

/* Adds the work of the blocks that ran as bound calls, all of which are alike. */
static void add_bound(struct cpu_profile *to, const struct launch_state *l,
                      const struct frame_profile *p)
{
    const struct cpu_program *program = l->program;
    const struct frame none = {.program = program, .launch = l};
    struct unread_row unread[MOST_UNREAD];
    int unread_count = 0;
    double blocks = (double)p->bound_blocks;
    if (p->bound_blocks == 0)
        return;
    to->bound_blocks += p->bound_blocks;
    for (size_t i = 0; i < program->count; i++) {
        const struct instr *in = &program->code[i];
        struct cpu_work work = step_work(&none, in, p->flops[i], true);
        if (in->step == step_show_row)
            keep_unread(unread, &unread_count, in, (uint32_t)i, &work);
        else
            work.read += take_unread(unread, &unread_count, in);
        to->steps[i].runs += p->bound_blocks;
        to->steps[i].work.flops += blocks * work.flops;
        to->steps[i].work.read += blocks * work.read;
        to->steps[i].work.written += blocks * work.written;
    }
}

static void close_profiles(struct launch_state *l, int workers)
{
    struct cpu_profile *to = l->options->profile;
    double ticks = (double)(clock_ticks() - l->began_ticks);
    double seconds = platform_seconds() - l->began, second = seconds > 0 ? ticks / seconds : 1e9;
    to->launches++;
    to->program = l->program;
    to->seconds += seconds;
    for (int i = 0; i < workers; i++) {
        const struct frame_profile *p = &l->profiles[i];
        for (size_t step = 0; step < l->program->count; step++)
            add_step(&to->steps[step], &p->steps[step], second);
        add_bound(to, l, p);
        to->blocks += p->blocks + p->bound_blocks;
        to->mechanism +=
            ((double)p->mechanism.ticks + (double)p->reads * (double)p->read_ticks) / second;
        if (i >= to->most_threads)
            continue;
        to->thread_count = i >= to->thread_count ? i + 1 : to->thread_count;
        to->threads[i].busy += p->ended - p->began - (double)p->between.ticks / second;
        to->threads[i].blocks += p->blocks + p->bound_blocks;
    }
}

const struct profile_calls cpu_profile_calls = {.open = open_profiles,
                                                .close = close_profiles,
                                                .begin = begin,
                                                .end = end,
                                                .switch_to = switch_to,
                                                .of_product = of_product,
                                                .product = note_product,
                                                .operands = note_operands,
                                                .run = run};

/* --- a program's steps --- */

const char *cpu_step_kind_name(enum cpu_step_kind kind)
{
    static const char *const names[] = {
#define KIND(id, name, title) name,
#include "cpu/steps.def"
    };
    return names[kind];
}

const char *cpu_step_kind_title(enum cpu_step_kind kind)
{
    static const char *const titles[] = {
#define KIND(id, name, title) title,
#include "cpu/steps.def"
    };
    return titles[kind];
}

static enum cpu_step_kind kind_of(step_fn *step)
{
    static const struct {
        step_fn *step;
        enum cpu_step_kind kind;
    } kinds[] = {
#define STEP(name, kind, detail) {step_##name, CPU_STEP_##kind},
#include "cpu/steps.def"
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].step == step)
            return kinds[i].kind;
    return CPU_STEP_CONTROL;
}

size_t cpu_program_steps(const struct cpu_program *p)
{
    return p->count;
}

size_t cpu_program_most_steps(const struct cpu_program *p)
{
    size_t most = p->count;
    for (; p->joined; p = p->joined)
        most = p->joined->count > most ? p->joined->count : most;
    return most;
}

const char *cpu_program_set(const struct cpu_program *p)
{
    return p->set->name;
}

struct cpu_step cpu_program_step(struct arena *a, const struct cpu_program *p, size_t index)
{
    const struct instr *in = &p->code[index];
    return (struct cpu_step){.kind = kind_of(in->step),
                             .loc = in->loc,
                             .is_product = in->step == step_dot,
                             .operation = step_operation(a, p, in)};
}
