/* Profiles of launches, in the engine: the time of each step and the work that it did. profile.c and
 * profile_work.c have the functions.
 *
 * A worker has one clock and one current bucket. profile_switch adds the time since the last
 * switch to the current bucket and makes another one current. So all of a worker's time is in
 * exactly one bucket, and a product that a later step adds to its sum still counts for its own
 * line. Reading the clock takes time, too; that time is measured once and subtracted.
 *
 * Without a profile, a frame's `profile` is NULL. A block asks for it once, each product three times;
 * no step and no routine does. */
#ifndef TW_PROFILE_H
#define TW_PROFILE_H

#include "cpu/program.h"

struct profile_bucket {
    uint64_t ticks; /* of the clock, without the reads of it */
};

/* A step of one worker. */
struct profile_step {
    struct profile_bucket own, product; /* product: of step_dot, its multiplications */
    int64_t runs;
    struct cpu_work work;
    int64_t operand[2][CPU_OPERAND_PATHS]; /* of step_dot: products by path of a, of b */
};

/* A product of tiles, to find its step. */
struct profiled_dot {
    const struct dot_detail *detail;
    uint32_t step;
};

/* A row of a view that step_show_row has found, and that no step has read yet. */
struct unread_row {
    uint32_t at, step; /* the place of its address in the frame; the step_show_row */
    double bytes;
};
enum { MOST_UNREAD = 8 };

/* The profile of one worker. */
struct frame_profile {
    const struct profile_calls *calls;
    const struct cpu_program *program;
    /* mechanism: time of profiling itself; between: time outside of blocks */
    struct profile_bucket *now, mechanism, between;
    uint64_t last, read_ticks; /* the last read; ticks that a read takes */
    int64_t reads;
    struct profile_step *steps; /* by instruction */
    const double *flops;        /* by instruction: FLOPs for each element */
    const struct profiled_dot *dots;
    size_t dot_count;
    struct unread_row unread[MOST_UNREAD]; /* of the current block */
    int unread_count;
    int64_t blocks, bound_blocks; /* bound_blocks: those that ran as bound calls (row_blocks.c) */
    double began, ended;          /* platform_seconds */
};

/* The functions of profile.c that a profiled launch calls. It finds them in the profile of its
 * options (cpu_profile_calls), so a program that profiles nothing need not have them. */
struct profile_calls {
    void (*open)(struct arena *a, struct launch_state *l, int workers);
    void (*close)(struct launch_state *l, int workers);
    void (*begin)(struct frame_profile *p);
    void (*end)(struct frame_profile *p);
    struct profile_bucket *(*switch_to)(struct frame_profile *p, struct profile_bucket *to);
    struct profile_bucket *(*of_product)(struct frame_profile *p, const struct dot_detail *d);
    void (*product)(struct frame_profile *p, const struct dot_detail *d, size_t rows,
                    size_t columns, size_t depth);
    void (*operands)(struct frame_profile *p, const struct instr *in, const struct packed_state *a,
                     const struct packed_state *b);
    void (*run)(struct frame *f);
};

/* Makes the profiles of `workers` workers; none if the launch is not profiled. */
static inline void profiles_open(struct arena *a, struct launch_state *l, int workers)
{
    if (l->options->profile)
        l->options->profile->calls->open(a, l, workers);
}
/* Adds them to the profile of the launch's options. */
static inline void profiles_close(struct launch_state *l, int workers)
{
    if (l->profiles)
        l->options->profile->calls->close(l, workers);
}

/* Begin and end a worker's time. */
static inline void profile_begin(struct frame_profile *p)
{
    p->calls->begin(p);
}
static inline void profile_end(struct frame_profile *p)
{
    p->calls->end(p);
}
/* Makes `to` the current bucket. Returns the one before. */
static inline struct profile_bucket *profile_switch(struct frame_profile *p,
                                                    struct profile_bucket *to)
{
    return p->calls->switch_to(p, to);
}
/* Returns the bucket of the multiplications of a product. */
static inline struct profile_bucket *profile_of_product(struct frame_profile *p,
                                                        const struct dot_detail *d)
{
    return p->calls->of_product(p, d);
}
/* Notes the size of a product that runs now. */
static inline void profile_product(struct frame_profile *p, const struct dot_detail *d, size_t rows,
                                   size_t columns, size_t depth)
{
    p->calls->product(p, d, rows, columns, depth);
}
/* Notes how a product reads its operands; NULL: a value as it lies in the frame. */
static inline void profile_operands(struct frame_profile *p, const struct instr *in,
                                    const struct packed_state *a, const struct packed_state *b)
{
    p->calls->operands(p, in, a, b);
}
/* Does what frame_run does, with the time and the work of each step. */
static inline void frame_run_profiled(struct frame *f)
{
    f->profile->calls->run(f);
}

/* profile_work.c: returns FLOPs for each element that the step computes. */
double step_flops(const struct cpu_program *p, const struct instr *in);
/* Returns the work of a step, from what the frame holds before it runs. Work of products of tiles
 * is not included: profile_product has it. whole: views are not clipped (row_blocks.c). */
struct cpu_work step_work(const struct frame *f, const struct instr *in, double flops, bool whole);
/* Returns whether the step reads the row of a view whose address lies at this place. */
bool step_reads_row(const struct instr *in, uint32_t at);
/* Returns the operations of a step, "exp, -, sum"; "": none is known. */
const char *step_operation(struct arena *a, const struct cpu_program *p, const struct instr *in);

#endif
