/* The parameters and the size of a launch of a lowered kernel, for a GPU and for the simulator. */
#ifndef TW_LAUNCH_PARAMS_H
#define TW_LAUNCH_PARAMS_H

#include "api/objects.h"
#include "base/tensor_map.h"

/* A tensor map that a launch encodes. */
struct launch_map {
    struct map_form form;
    struct view_sizes sizes;
    int memory;       /* the list's index of the view's array, or of its workspace */
    uint64_t address; /* of that memory when the map was encoded */
    bool encoded;
    uint64_t *code; /* the parameter: MAP_WORDS words, aligned to MAP_ALIGNMENT bytes */
};

struct launch_param {
    enum lowered_param_kind kind;
    const struct sym *sym; /* NULL for a ticket */
    /* A scalar's value, its bytes first; or an address that the caller fills in. */
    uint64_t value;
    void *data;              /* LOWERED_POINTER: the caller's array */
    uint64_t bytes;          /* size of the array; may exceed all memory if data is NULL */
    int64_t shape[MAX_RANK]; /* LOWERED_WORKSPACE */
    bool zeroed;             /* must be zero before each launch */
    bool clean;              /* … and each launch leaves it zero */
    bool written;            /* the kernel may write the caller's array */
    bool on_device;          /* LOWERED_POINTER: `data` is a device address, or there is no array */
    struct launch_map *map;  /* LOWERED_MAP */
};

/* The list has a parameter for each of the lowered kernel, in order. After them, it has the arrays and
 * the workspace that the kernel reaches through maps alone. */
struct launch_params {
    int64_t grid[3];
    int count; /* parameters of the kernel, */
    int held;  /* and with the memory that only maps use */
    struct launch_param *list;
};

/* Returns the blocks of a cluster along x. */
static inline unsigned lowered_cluster(const struct lowered *l)
{
    return l->cluster > 1 ? (unsigned)l->cluster : 1;
}

/* Returns the bytes of a parameter as the kernel gets them. */
static inline void *launch_argument(struct launch_param *p)
{
    return p->kind == LOWERED_MAP ? (void *)p->map->code : &p->value;
}

/* Finds the grid of a launch whose program is known. Returns false and fills `why` if no GPU takes it. */
bool launch_find_grid(const tw_launch *l, int64_t grid[3], char why[CUDA_WHY]);

/* Finds the parameters of a prepared launch of a GPU's kernel. `given` is indexed by parameter
 * of the kernel. The list lives in arena a. Returns false with the reason in `why`. */
bool launch_params_find(tw_launch *l, struct arena *a, const struct cpu_argument *given,
                        struct launch_params *out, char why[CUDA_WHY]);

/* Returns true if a launch left anything but 0 in a `clean` workspace, which is at `data`, and reports
 * its first element. Other parameters are never dirty. */
bool launch_left_dirty(tw_launch *l, const struct launch_param *p, const void *data);

/* Encodes the maps whose views are at another address than before, once the list has the addresses
 * of all memory. Reports a view that the copy engine does not take; `encode` reports what it
 * refuses. */
typedef tw_status launch_encode(void *user, const struct map_request *map, enum dtype type,
                                uint64_t code[MAP_WORDS]);
tw_status launch_maps_encode(tw_launch *l, struct launch_params *params, launch_encode *encode,
                             void *user);
/* Encodes for the simulator. */
tw_status launch_maps_simulated(tw_launch *l, struct launch_params *params);

/* The views of a kernel that tensor copies reach, as its program says before it is lowered. */
struct copied_views {
    int count;
    const struct map_form *forms; /* without boxes */
    struct launch_sizes sizes;
};
void launch_copied_views_find(struct copied_views *v, struct arena *a, const struct kernel *k);
/* Returns whether each of them has a map for these values of the parameters, if 16 divides the
 * addresses of its arrays. */
bool launch_copied_views_fit(const struct copied_views *v, const uint64_t *values);

/* Encodes a map for the GPU, or takes the code from the thread's cache. For any thread. Returns false
 * if cuda_encode_map does. */
bool launch_map_code(const struct cuda_encoder *e, const struct map_request *map, enum dtype type,
                     int *result, uint64_t code[MAP_WORDS]);

#endif
