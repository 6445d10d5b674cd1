/* What a launch of a lowered kernel passes and how large it is: the same for a GPU and for the
 * simulator. */
#ifndef TW_LAUNCH_PARAMS_H
#define TW_LAUNCH_PARAMS_H

#include "api/objects.h"

struct launch_param {
    enum lower_param_kind kind;
    const struct sym *sym; /* NULL for a ticket */
    /* A scalar's value, its bytes first; or an address for the caller to fill in. */
    uint64_t value;
    void *data;              /* LOWER_POINTER: the caller's array */
    uint64_t bytes;          /* of the array; without data it may be more than there is memory */
    int64_t shape[MAX_RANK]; /* LOWER_WORKSPACE */
    bool zeroed;             /* must be zero before each launch */
    bool clean;              /* … and each launch leaves it so */
    bool written;            /* the kernel may write the caller's array */
    bool on_device;          /* LOWER_POINTER: `data` is an address there, or no array was given */
};

struct launch_params {
    int64_t grid[3];
    int count;
    struct launch_param *list; /* by lowered parameter */
};

/* For a prepared launch of a GPU's kernel; `given` by parameter of the kernel. The list is put into
 * arena a. False: why. */
bool launch_params_find(tw_launch *l, struct arena *a, const struct cpu_argument *given,
                        struct launch_params *out, char why[CUDA_WHY]);

#endif
