/* Widening: the analysis and the rewriting that `deepen` (loops) and `join` (blocks) share.
 *
 * Both passes replace several steps, at starts 0, S, 2·S, … along some axis, by one step whose tiles
 * are `factor` times as wide along that axis. The steps' starts come from one *base*: a loop's
 * counter, or block.x * S. A slice `base +: S` is where the axis enters an expression, and from
 * there it flows through elementwise operations, products and symbols, each of which has it at some
 * of its own axes: its *wide* axes. A set of wide axes is a bit mask; bit 0 is axis 0.
 *
 * The steps can be one step only if each element of a wide tile is computed from elements of the
 * same place, so every other use of the base fails: a reduction along the axis, an index that is
 * an element, an operand that is as long as the axis but not wide. */
#ifndef TW_WIDEN_H
#define TW_WIDEN_H

#include "base/number_map.h"
#include "tile/tile.h"

enum widen_phase {
    WIDEN_FIND,  /* adds wide axes to symbols, until none is new */
    WIDEN_CHECK, /* sets `fails` where the steps cannot be one */
    WIDEN_APPLY  /* multiplies the extents */
};

struct widening {
    struct kernel *kernel;
    const struct sym *base; /* its references are the base; NULL: only block_axis */
    int block_axis;         /* block.x * step is the base, too; -1: none */
    int64_t step;           /* S */
    int64_t factor;         /* wide axes get this many times their extent, or */
    int64_t divisor;        /* a fraction of it, if this is > 1 and the factor is 1; 0: 1 */
    bool deepens; /* products along the axis may be added to a sum: the base counts a loop */
    enum widen_phase phase;
    struct number_map wide; /* wide axes, by symbol. Symbols without an entry keep their extents,
                             * unless the walk meets their declaration */
    struct number_map seen; /* wide axes, by expression, in this walk */
    int alone; /* > 0: the statements run in one of the joined blocks only, and no wide axis may
                * reach them */
    bool changed, fails;
};

/* Starts a walk over the statements: forgets what the last one knew of expressions. */
void widen_begin(struct widening *w, enum widen_phase phase);
/* Returns the wide axes of an expression, and does to it what the phase says. */
unsigned widen_expr(struct widening *w, struct expr *e);
/* The same for a declaration or an assignment. */
void widen_assignment(struct widening *w, struct stmt *s);
/* Multiplies the extents of the symbols, after a walk that applied the widening. */
void widen_symbols(struct widening *w);
/* Returns whether the scalar is the base. */
bool widen_is_base(const struct widening *w, const struct expr *e);
/* Returns whether e, indices included, names the base. */
bool widen_names_base(const struct widening *w, const struct expr *e);

#endif
