/* Kernels, sizes and types that a run of `bench` times, on any device. */
#ifndef TW_BENCH_SET_H
#define TW_BENCH_SET_H

#include "bench/bench_settings.h"
#include "cli/product.h"
#include "cli/type_list.h"
#include "tilewright_family.h"

/* Kernel to time. */
struct bench_entry {
    const struct program *program;
    tw_kernel *kernel; /* compiled for the target; the first one of `family` */
    tw_family *family; /* that has the kernel; NULL: none */
    bool best;         /* the kernel that `family` chooses for a size is timed, not `kernel` */
    const char *file;  /* of the kernel */
    struct product_of product;
    bool is_product; /* multiplies matrices; takes the sizes m, n and k */
    bool takes_sizes;
};

struct bench_set {
    const struct command *self;
    const struct options *given;
    const char *target;   /* target of the kernels; NULL: the CPU */
    int64_t default_size; /* m, n and k if no option gives them */

    struct options rest; /* --set and --tune, and --type with a name */
    struct type_list types;
    struct shapes shapes;     /* one at least */
    struct program *programs; /* open */
    int program_count;
    struct bench_entry *entries;
    int entry_count;
    bool best;        /* --best */
    bool files_given; /* else all of kernels/matmul */
    bool sized;       /* some kernel takes m, n and k */
    bool sizes_set;   /* m, n and k come from --set: one round, without `shapes` */
    int name_width;   /* of the longest kernel's name */
};

/* Fills the fields of the lower part from those of the upper part. Returns STATUS_OK, or another
 * status after printing a message. The caller calls bench_set_close in either case. */
int bench_set_open(struct bench_set *x, const struct program_config *config);
/* Returns whether bench times the kernel at that size (NULL: a kernel without `shapes`) and
 * type. */
bool bench_set_has(const struct bench_set *x, const struct bench_entry *e,
                   const struct shape *shape, tw_dtype type);
void bench_set_close(struct bench_set *x);

#endif
