/* Applies the options of `bench` to each launch (element types, sizes, tuned values), and reads
 * back the resulting values. */
#ifndef TW_BENCH_SETTINGS_H
#define TW_BENCH_SETTINGS_H

#include "bench/bench.h"
#include "bench/bench_shapes.h"
#include "cli/target.h"

enum { TYPES_MOST = 16 };
struct bench_types {
    tw_dtype list[TYPES_MOST]; /* TW_DTYPE_NONE: the kernels' own defaults */
    int count;
};

/* Splits the uses of --type. Types without a name ("f16,bf16"; "all") go to `types`, in order.
 * All other uses go to *rest, for the launches; the caller frees rest->uses. Returns STATUS_OK,
 * or another status after printing a message. */
int bench_split_types(struct bench_types *types, struct options *rest, const struct command *self,
                      const struct options *given);
/* Returns whether the kernel's first input can have elements of that type. */
bool bench_takes_type(tw_kernel *k, tw_dtype dtype);
/* Gives the launch the sizes (NULL: --set gives them), the type, and the values of --set, --tune
 * and --type. */
int bench_set_up(tw_launch *l, tw_kernel *k, const struct program *p, const struct options *rest,
                 const struct shape *shape, tw_dtype dtype);
/* With --tuned, gives the launch the values that `tilewright tune` stored; prints a note if
 * there are none. Requires a launch that is set up. */
int bench_take_tuned(tw_launch *l, tw_kernel *k, const struct program *p,
                     const struct options *rest, enum bench_from *from);
/* Returns the size called `name` of a launch that is set up. */
int64_t bench_size_of(tw_launch *l, const char *name, int64_t otherwise);
/* Returns the type of the first input, or TW_DTYPE_NONE if there is no input array. Requires
 * known sizes and types. */
tw_dtype bench_type_read(tw_launch *l, tw_kernel *k);
/* Returns the scale for random floats, which are uniform in ±scale/2. It shrinks as the number
 * of products per sum, k, grows. k 0: the kernel is not a product. */
double bench_scale(int64_t k, tw_dtype dtype);
/* Writes the tuned values of a launch that is set up: "BM=128,BN=64", or "" if it has none. */
void bench_write_config(char *out, size_t size, tw_launch *l, tw_kernel *k);

#endif
