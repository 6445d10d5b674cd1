/* The parameters and the size of a launch of a lowered kernel, for a GPU and for the simulator. */
#ifndef TW_LAUNCH_PARAMS_H
#define TW_LAUNCH_PARAMS_H

#include "api/objects.h"

struct launch_param {
    enum lower_param_kind kind;
    const struct sym *sym; /* NULL for a ticket */
    /* A scalar's value, its bytes first; or an address that the caller fills in. */
    uint64_t value;
    void *data;              /* LOWER_POINTER: the caller's array */
    uint64_t bytes;          /* size of the array; may exceed all memory if data is NULL */
    int64_t shape[MAX_RANK]; /* LOWER_WORKSPACE */
    bool zeroed;             /* must be zero before each launch */
    bool clean;              /* … and each launch leaves it zero */
    bool written;            /* the kernel may write the caller's array */
    bool on_device;          /* LOWER_POINTER: `data` is a device address, or there is no array */
};

struct launch_params {
    int64_t grid[3];
    int count;
    struct launch_param *list; /* by lowered parameter */
};

/* Finds the grid of a launch whose program is known. Returns false and fills `why` if no GPU takes it. */
bool launch_find_grid(const tw_launch *l, int64_t grid[3], char why[CUDA_WHY]);

/* Finds the parameters of a prepared launch of a GPU's kernel. `given` is indexed by parameter
 * of the kernel. The list lives in arena a. Returns false with the reason in `why`. */
bool launch_params_find(tw_launch *l, struct arena *a, const struct cpu_argument *given,
                        struct launch_params *out, char why[CUDA_WHY]);

#endif
