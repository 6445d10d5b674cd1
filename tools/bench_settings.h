/* What the options of `bench` say of each launch: element types, sizes, tuned values; and what it
 * then has of them. */
#ifndef TW_BENCH_SETTINGS_H
#define TW_BENCH_SETTINGS_H

#include "bench.h"
#include "bench_shapes.h"
#include "target.h"

enum { TYPES_MOST = 16 };
struct bench_types {
    tw_dtype list[TYPES_MOST]; /* TW_DTYPE_NONE: the kernels' own defaults */
    int count;
};

/* What --type says without a name ("f16,bf16"; "all") goes to `types`, one after the other; all
 * other uses to *rest, for the launches: the caller frees rest->uses. STATUS_OK, or a status after
 * a message. */
int bench_split_types(struct bench_types *types, struct options *rest, const struct command *self,
                      const struct options *given);
/* Whether the kernel can read elements of that type: those of its first input. */
bool bench_takes_type(tw_kernel *k, tw_dtype dtype);
/* Gives the launch the sizes (NULL: --set gives them), the type and what --set, --tune and --type
 * say. */
int bench_set_up(tw_launch *l, tw_kernel *k, const struct program *p, const struct options *rest,
                 const struct shape *shape, tw_dtype dtype);
/* Once that is done, what `tilewright tune` has stored, if --tuned asks for it; that there is
 * nothing is said. */
int bench_take_tuned(tw_launch *l, tw_kernel *k, const struct program *p,
                     const struct options *rest, enum bench_from *from);
/* The size of that name of a launch that is set up. */
int64_t bench_size_of(tw_launch *l, const char *name, int64_t otherwise);
/* The type of what it reads first, once sizes and types are known; TW_DTYPE_NONE: it has no such
 * array. */
tw_dtype bench_type_read(tw_launch *l, tw_kernel *k);
/* Floats are filled uniformly in ±that/2: the less the more products, k, are added up; k 0: the
 * kernel is no product. */
double bench_scale(int64_t k, tw_dtype dtype);
/* "BM=128,BN=64" of a launch that is set up; "": it has no tuned values. */
void bench_write_config(char *out, size_t size, tw_launch *l, tw_kernel *k);

#endif
