/* Tile-level kernels: register tiles in the layouts of the plan (lower/lower_plan.h). */
#ifndef TW_EMIT_FRAGMENT_H
#define TW_EMIT_FRAGMENT_H

#include "emit/emit_copy.h"
#include "lower/lower_plan.h"

/* A thread's elements of a register tile: a scalar for each register of the layout. */
struct fragment {
    enum dtype dtype;
    const struct layout *layout; /* layout_keep of the plan */
    int32_t count;
    struct scalar *v;
};

static inline int32_t emit_registers(const struct layout *l)
{
    return layout_in_extent(l, AXIS_REG);
}

/* --- emit_fragment.c --- */

struct fragment emit_fragment_new(struct emit *m, enum dtype t, const struct layout *layout);
struct fragment emit_fragment_cast(struct emit *m, const struct fragment *f, enum dtype t);
/* Returns the value of a tile expression, or of a scalar, in the layout. */
struct fragment emit_fragment(struct emit *m, const struct expr *e, const struct layout *wanted);
/* Returns its value in the layout that the plan prefers for the expression. */
struct fragment emit_fragment_natural(struct emit *m, const struct expr *e);
/* Returns its value as a tile of the type's shape, in a layout of the plan. */
struct fragment emit_fragment_shaped(struct emit *m, const struct expr *e, const struct type *t);

/* --- emit_fragment_place.c --- */

/* The places of a thread's elements. Each result of the layout is a value that depends on the thread, plus a number that
 * depends on the register. */
struct spots {
    struct layout layout;                                 /* digits merged into runs */
    struct scalar added[LAYOUT_OUTS], xored[LAYOUT_OUTS]; /* i32 */
    bool xors[LAYOUT_OUTS];
    int64_t most[LAYOUT_OUTS]; /* of the thread's part */
    struct scalar first;       /* bool: no thread before this one has the same elements */
    int vector; /* registers of consecutive values of the last result, at a multiple of this number */
};
struct spots emit_spots(struct emit *m, const struct layout *l);
/* Returns result `out` of the register. */
struct coordinate emit_spot(struct emit *m, const struct spots *s, int out, int32_t reg);
/* Returns whether the register's element is within the extents of the axes (a bit each). */
struct scalar emit_spot_inside(struct emit *m, const struct spots *s, int32_t reg, unsigned axes);
/* Returns whether a register before this one has the same element. */
bool emit_spot_repeats(const struct spots *s, int32_t reg);

struct fragment emit_fragment_load(struct emit *m, const struct expr *access,
                                   const struct layout *layout);
void emit_fragment_store(struct emit *m, const struct expr *target, const struct fragment *f);
struct fragment emit_fragment_atomic(struct emit *m, const struct expr *e,
                                     const struct layout *wanted);
/* Returns the tile in another layout. */
struct fragment emit_fragment_convert(struct emit *m, const struct fragment *f,
                                      const struct layout *to);
/* Stores a tile to scratch at memory(d0, d1, …), once each element. A barrier of the block has to follow. */
void emit_fragment_put(struct emit *m, const struct scratch *to, const struct fragment *f,
                       const struct layout *memory);
/* Stores a tile to scratch at memory(d0, d1, …), and loads one from get(d0, d1, …) of its own coordinates. */
struct fragment emit_fragment_through(struct emit *m, const struct fragment *f,
                                      const struct layout *memory, const struct layout *get,
                                      const struct layout *to);

/* --- emit_fragment_reduce.c --- */

struct fragment emit_fragment_reduce(struct emit *m, const struct expr *e);
struct fragment emit_fragment_scan(struct emit *m, const struct expr *e,
                                   const struct layout *wanted);

#endif
