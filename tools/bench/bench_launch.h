/* Makes the launch of a kernel at a size, or of the kernel that a family chooses for it (--best). */
#ifndef TW_BENCH_LAUNCH_H
#define TW_BENCH_LAUNCH_H

#include "bench/bench_set.h"

/* Makes a launch with sizes (NULL: those of --set), types and tuned values set; *kernel is its
 * kernel. Fills the row's kernel, file, family and origin of the tuned values. Returns TW_OK, or a
 * status if there is none, with the message of the program's context. *status is STATUS_OK, or
 * another status after a message was printed: the command ends. The caller frees *launch in any
 * case. */
tw_status bench_launch(const struct bench_entry *e, const struct options *rest,
                       const struct shape *shape, tw_dtype dtype, struct bench_row *row,
                       tw_kernel **kernel, tw_launch **launch, int *status);

#endif
