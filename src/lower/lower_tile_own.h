/* Declarations that the files of register tiles share. */
#ifndef TW_LOWER_TILE_OWN_H
#define TW_LOWER_TILE_OWN_H

#include "base/number_map.h"
#include "layout/layout_convert.h"
#include "lower/lower_body.h"

/* A coordinate as lane and warp decide it: (touched bits: xored) + added; and which threads are the first of those that
 * hold an element. What values say of a layout (struct plan_kept.values). */
struct layout_values {
    const struct layout *layout, *runs; /* kept */
    struct kept_coordinate {
        bool known;
        const struct value *xored, *added; /* xored NULL: no bits */
        int32_t touched;
    } coordinate[LAYOUT_OUTS];
    bool holder_known, warp_known;
    const struct value *first_holder, *first_warp;
};

/* A register tile of the program. */
struct tile_symbol {
    struct regtile tile;
    const struct layout *layout;
    bool written; /* tile has registers */
    bool fixed;   /* assigned more than once: the registers stay */
    /* Index arithmetic: what it is, and a value for each register of the layout; NULL: none. */
    const struct expr *definition;
    const struct value **values;
    /* The scalars in it, and what they were: while they are that, it may be evaluated in other
     * layouts. */
    VEC(struct tile_leaf) leaves;
};
struct tile_leaf {
    const struct sym *sym;
    const struct value *value;
};

/* The state of register tiles (lower.tiles). */
struct tiles {
    struct pointer_map symbols; /* sym -> tile_symbol */
    struct pointer_map values;  /* layout -> layout_values */
    VEC(int) fixed;             /* by register: of how many fixed tiles it is a word */
    /* Tiles computed for the present expression: subexpressions may occur in it again. */
    int depth; /* of expressions being evaluated */
    VEC(struct tile_done) done;
    struct number_map done_by_hash; /* of the expression: the last of `done`, counted from 1 */
    struct number_map hashes;       /* by expression; 0: it has an atomic */
    VEC(struct reduction_done) reduced;
};
struct tile_done {
    const struct expr *e;
    const struct layout *layout;
    struct regtile tile;
    size_t before; /* of the same hash, counted from 1; 0: none */
};
/* A reduction over everything of a tile in these registers. */
struct reduction_done {
    enum op op;
    struct regtile x;
    const struct value *result;
};
struct tiles *tiles_of(struct lower *l);

/* The condition that element `reg` lies within the axes of `axes` (a bit each); NULL: surely. */
const struct value *tile_inside_axes(struct lower *l, const struct layout *layout, int32_t reg,
                                     unsigned axes);

/* --- registers --- */

/* A tile in `layout` whose register r is x's register source[r] (-1: anything); words that are
 * whole are the same. */
struct regtile tile_pick(struct lower *l, const struct regtile *x, const struct layout *layout,
                         const int32_t *source);
/* A .b32 word of elements e[0], e[1], … of x, lowest first; -1: anything. x's type shares words. */
struct ptx_operand tile_word(struct lower *l, const struct regtile *x, const int32_t *e, int count);
/* The operand itself if it is a register, else a new register with it. */
struct ptx_operand op_in_register(struct lower *l, enum dtype t, struct ptx_operand x);
/* p ? a : b of two words (or elements) of type t; bool tiles too. */
struct ptx_operand tile_select(struct lower *l, enum dtype t, struct ptx_operand p,
                               struct ptx_operand a, struct ptx_operand b);
/* A register for a word of a tile of type t. */
struct ptx_operand tile_new_word(struct lower *l, enum dtype t);

enum shuffle { SHUFFLE_BFLY, SHUFFLE_IDX };
/* A word (of 32 or 64 bits, or an element of type t: also a predicate) of another lane. */
struct ptx_operand tile_shuffle(struct lower *l, enum dtype t, bool word, struct ptx_operand x,
                                enum shuffle how, struct ptx_operand lane);
/* Returns the element of the lane `by` below. *there: it is one of the same `width` lanes; if not, the element is the
 * lane's own. */
struct ptx_operand tile_shuffle_up(struct lower *l, enum dtype t, struct ptx_operand x, int32_t by,
                                   int32_t width, struct ptx_operand *there);

/* bool <-> u8, element by element, to exchange them. */
struct regtile tile_as_bytes(struct lower *l, const struct regtile *x);
struct regtile tile_as_bool(struct lower *l, const struct regtile *x);

/* --- index arithmetic --- */

/* The elements of e in that layout as values that stay what they are, a value for each register;
 * NULL: it is no index arithmetic. Emits nothing. */
const struct value **tile_values(struct lower *l, const struct expr *e,
                                 const struct layout *layout);
/* A condition of the whole block under which all elements of e, which is index arithmetic, hold;
 * NULL: none is known. */
const struct value *tile_surely(struct lower *l, const struct expr *e);
struct regtile tile_of_values(struct lower *l, enum dtype t, const struct layout *layout,
                              const struct value *const *values);

/* --- shapes: TRANS RESHAPE REPEAT REPEAT_INTERLEAVE --- */
struct regtile shape_eval(struct lower *l, const struct expr *e, const struct layout *wanted);
/* --- reductions --- */
struct regtile reduce_eval(struct lower *l, const struct expr *e, const struct layout *wanted);
/* Returns the constant that changes no element with which it is combined, not even the sign of 0. */
struct ptx_operand reduce_idle(struct lower *l, enum op op, enum dtype t);
/* x with what lies outside of the axes (a bit each) replaced by what is idle. Elements, one a
 * register. */
struct ptx_operand *tile_inside_elements(struct lower *l, enum op op, const struct regtile *x,
                                         unsigned axes);
/* Combines two elements; one that is PTX_NOTHING does not count. */
struct ptx_operand reduce_combine(struct lower *l, enum op op, enum dtype t, struct ptx_operand a,
                                  struct ptx_operand b);
/* What the warps that `axis` (-1: any) runs over hold, side by side, in each of them. element: one
 * for each register of `whole`, of which those count whose digits along the axis are 0 below
 * `above`: digits that move the axis by less have been dealt with. Gives [register of
 * whole][*warps], the warps in order of their coordinate; *mine: which is this warp's. NULL: the
 * axis is not spread over warps. */
struct ptx_operand *tile_of_warps(struct lower *l, const struct layout *whole, int axis,
                                  int32_t above, enum dtype t, const struct ptx_operand *element,
                                  int32_t *warps, const struct value **mine);

#endif
