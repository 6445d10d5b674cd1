/* Applies the options of `bench` to each launch (element types, sizes, tuned values), and reads
 * back the resulting values. */
#ifndef TW_BENCH_SETTINGS_H
#define TW_BENCH_SETTINGS_H

#include "bench/bench.h"
#include "cli/shapes.h"
#include "cli/target.h"

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
/* Writes the tuned values of a launch that is set up: "BM=128,BN=64", or "" if it has none. */
void bench_write_config(char *out, size_t size, tw_launch *l, tw_kernel *k);

#endif
