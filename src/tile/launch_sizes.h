/* The sizes of a launch: its grid, the numbers of its views and the parameters that it computes.
 *
 * They are programs over the values of the parameters (size_step.h), compiled once with the
 * kernel. A run is a few steps on a small stack, with no allocation and no walk over trees. Launches,
 * families, the CPU engine, the simulator and shipped code run the same programs by the same
 * text, so they agree about values and about faults. */
#ifndef TW_LAUNCH_SIZES_H
#define TW_LAUNCH_SIZES_H

#include "base/view_map.h"
#include "tile/size_step.h"
#include "tile/tile.h"

/* A program, in parts. All sizes of a kernel: part 0 is the grid, part 1 + i the numbers of view i.
 * Other programs have one part. */
struct launch_sizes {
    const struct size_step *steps;
    const struct expr *const *places; /* by step: its expression; NULL: it has none */
    const int32_t *starts;            /* by part: its first step; one more: their number */
    int32_t count, parts;
};

/* The types of an operation of the caller (SIZE_OTHER): of operand i, or of the result, which is number
 * SIZE_OPERANDS. */
enum { SIZE_OPERANDS = 3 };
static inline enum dtype size_other_dtype(const struct size_step *step, int i)
{
    return (enum dtype)((uint64_t)step->value >> 8 * i & 0xff);
}
/* The places of its operands on the stack: bits of the value which say that operand i is at `place`, and
 * the place that they say. */
static inline int64_t size_other_order(int i, int place)
{
    return (int64_t)place << 8 * (SIZE_OPERANDS + 1 + i);
}
static inline int size_other_place(const struct size_step *step, int i)
{
    return (int)((uint64_t)step->value >> 8 * (SIZE_OPERANDS + 1 + i) & 0xff);
}

/* The numbers of a view. */
struct view_sizes {
    int64_t offset, bytes; /* bytes: of workspace */
    int64_t extent[MAX_RANK], stride[MAX_RANK];
};

/* --- launch_sizes.c: compiling --- */

/* Compiles the grid, and the checks that a launch makes of the views: their arithmetic stays
 * within its types, no axis has a negative length, and GPUs can run the grid. The kernel has been
 * through the passes, with its statics bound. */
void launch_sizes_compile(struct launch_sizes *s, struct arena *a, const struct kernel *k);
/* Compiles all sizes. */
void launch_sizes_compile_all(struct launch_sizes *s, struct arena *a, const struct kernel *k,
                              const struct sym *const *views, int view_count);

/* A parameter, and the expression over earlier parameters that computes it; value NULL: the
 * caller gives it. */
struct derived_param {
    enum dtype dtype;
    const struct expr *value;
};
/* Compiles the computation of derived parameters. */
void launch_derived_compile(struct launch_sizes *s, struct arena *a,
                            const struct derived_param *params, int count);

/* The results of a program that ships: 0 to 2 are the grid; then by bit the parameters whose arrays have
 * elements; then the bytes of each room of the workspace; then the numbers of each view that has a
 * tensor map: its offset, MAP_AXES extents, MAP_AXES strides. */
enum { SIZE_NEEDS = 3, SIZE_ROOMS, SIZE_MAP_NUMBERS = 1 + 2 * MAP_AXES };
/* A size that has more than integers: an axis of the grid (-1: none), the bytes of a room, or a number
 * of a view that has a tensor map. */
struct size_unshippable {
    int axis;
    const struct sym *room, *view;
};
/* The parts of a launch of shipped code. */
struct size_shipped {
    const struct sym *const *rooms; /* NULL: the ticket of a lock */
    int room_count;                 /* -1: the CPU engine computes the grid and the rooms */
    const struct sym *const *views; /* that have tensor maps */
    int view_count;
};
/* Compiles the checks, the grid, the rooms and the views of a launch of shipped code, which has no
 * SIZE_OTHER; it leaves out checks that need one. Returns false if another size cannot be computed. */
bool launch_sizes_ship(struct launch_sizes *s, struct arena *a, const struct kernel *k,
                       const struct size_shipped *shipped, struct size_unshippable *why);
bool launch_sizes_shippable(const struct launch_sizes *s);

/* Describes a fault: "`m * n` = 70000 * 70000 overflows i32: write `(i64) m * n`". name: the parameter
 * that the whole expression computes; NULL: none. */
const char *size_fault_text(struct arena *a, const struct launch_sizes *s,
                            const struct size_fault *fault, const char *name);

/* --- size_run.c: running --- */

/* Values by parameter: integers are extended by their sign, a float has the bytes of its own type,
 * pointers are not read. */
uint64_t size_param(enum dtype t, struct literal v);

/* Computes the grid. Returns false if a check fails or a value cannot be known. */
bool launch_sizes_run(const struct launch_sizes *s, const uint64_t *values, int64_t grid[3]);
/* Adds the derived parameters to the given values. Returns false at the first fault. */
bool launch_derived_run(const struct launch_sizes *s, uint64_t *values, struct size_fault *fault);

/* Computes all numbers of a part, and reports each fault; report NULL: none. Returns true if all are known:
 * a negative extent and too many blocks are. */
bool launch_sizes_part(const struct launch_sizes *s, int part, const uint64_t *values,
                       int64_t *results, void (*report)(void *user, const struct size_fault *fault),
                       void *user);
bool launch_sizes_grid(const struct launch_sizes *s, const uint64_t *values, int64_t grid[3]);
bool launch_sizes_view(const struct launch_sizes *s, int view, const uint64_t *values,
                       struct view_sizes *out);

/* Returns the expression of the step that failed; NULL: it has none. */
const struct expr *size_fault_place(const struct launch_sizes *s, const struct size_fault *fault);
/* Describes a fault of the expression with this text. */
const char *size_fault_message(struct arena *a, const struct launch_sizes *s,
                               const struct size_fault *fault, const char *code, size_t length,
                               const char *name);

#endif
