/* What a run of `bench` is to time, on any device: kernels, sizes and types. */
#ifndef TW_BENCH_SET_H
#define TW_BENCH_SET_H

#include "bench_settings.h"
#include "product.h"

/* A kernel to be timed. */
struct bench_entry {
    const struct program *program;
    tw_kernel *kernel; /* as the target has it */
    struct product_of product;
    bool is_product; /* takes m, n and k, and multiplies matrices of these sizes */
    bool takes_sizes;
};

struct bench_set {
    const struct command *self;
    const struct options *given;
    const char *target;   /* what the kernels are timed on; NULL: the CPU */
    int64_t default_size; /* m, n and k where nothing says them */

    struct options rest; /* --set and --tune, and --type with a name */
    struct bench_types types;
    struct shapes shapes;     /* one at least */
    struct program *programs; /* open */
    int program_count;
    struct bench_entry *entries;
    int entry_count;
    bool files_given; /* else all of kernels/matmul */
    bool sized;       /* some kernel takes m, n and k */
    bool sizes_set;   /* m, n and k come from --set: one round, without `shapes` */
    int name_width;   /* of the longest kernel's name */
};

/* Fills the lower part from the upper. STATUS_OK, or a status after a message; bench_set_close in
 * either case. */
int bench_set_open(struct bench_set *x, const struct program_config *config);
/* Whether the kernel is timed at that size (NULL: without one of `shapes`) and type. */
bool bench_set_has(const struct bench_set *x, const struct bench_entry *e,
                   const struct shape *shape, tw_dtype type);
void bench_set_close(struct bench_set *x);

#endif
