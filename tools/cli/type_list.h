/* Element types of --type without a name: "f16,bf16", "all". `bench` and `tune` take a kernel for
 * each of them. */
#ifndef TW_TYPE_LIST_H
#define TW_TYPE_LIST_H

#include "cli/tool.h"

enum { TYPE_LIST_MOST = 16 };
struct type_list {
    tw_dtype list[TYPE_LIST_MOST]; /* TW_DTYPE_NONE: the kernels' own defaults */
    int count;
};

/* Splits the uses of --type. Types without a name ("f16,bf16"; "all") go to `types`, in order.
 * All other uses go to *rest, for the launches; the caller frees rest->uses. Returns STATUS_OK,
 * or another status after printing a message. */
int type_list_split(struct type_list *types, struct options *rest, const struct command *self,
                    const struct options *given);
/* Returns whether the kernel's first input can have elements of that type. */
bool kernel_takes_type(tw_kernel *k, tw_dtype dtype);

#endif
