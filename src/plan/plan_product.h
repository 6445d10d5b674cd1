/* A product of tiles as a GPU does it: what it multiplies, by which unit, and how the warps of a block divide
 * it. Passes, layouts and src/emit share this; the decisions themselves are in the Tile IR, as by(…). */
#ifndef TW_PLAN_PRODUCT_H
#define TW_PLAN_PRODUCT_H

#include "base/arena.h"
#include "layout/layout_named.h"
#include "target/targets.h"
#include "tile/tile.h"

/* --- plan_product.c --- */

/* The operand of a product. */
struct plan_source {
    /* An access of a shared tile, read fragment by fragment; NULL: a register tile. */
    const struct expr *shared;
    bool transposed;      /* trans(…) of that access */
    const struct expr *e; /* without the casts that the product does on fragments */
    enum dtype type;      /* of e's elements */
};
/* side 0: left, 1: right. */
struct plan_source plan_source_of(const struct expr *dot, int side);

/* The way of a register factor to the unit. */
enum plan_factor {
    PLAN_HELD,      /* it stays in registers */
    PLAN_STAGED,    /* it goes through shared memory, and is read in parts */
    PLAN_READ_AGAIN /* the same, and is loaded from its view again for each product */
};

struct plan_product {
    const struct expr *e; /* NULL: only the shapes and types count */
    int32_t m, n, k;
    enum dtype factor, sum; /* element types of the factors (joined), and of the sum */
    /* Element types that the unit takes: u8 and i8 may meet in one product. */
    enum dtype a, b;
    const struct target_unit *unit; /* NULL: multiply-adds of single elements */
    enum plan_factor left, right;
};
/* Returns the product without a unit; a and b are the types that a unit should take. */
struct plan_product plan_product_of(const struct expr *dot);
/* Returns true if the unit takes elements of these types. 8-bit floats are f16 for a unit that does not
 * take them, because f16 holds them all. */
bool plan_unit_takes(const struct target_unit *u, const struct plan_product *p);
/* Returns true if the target has the unit, too, and k is a multiple of the unit's. */
bool plan_unit_fits(const struct target *t, const struct target_unit *u,
                    const struct plan_product *p);
/* Returns the unit with the name and the words of by(…) that fits; NULL: none does. */
const struct target_unit *plan_unit_named(const struct target *t, const struct plan_product *p,
                                          const struct by *by);
/* Sets the first unit of the table that fits, one of the product's own types if there is one, or
 * multiply-adds. padded: k may be any. */
void plan_choose_unit(const struct target *t, struct plan_product *p, bool padded);
/* Sets the unit; NULL: multiply-adds. */
void plan_take_unit(struct plan_product *p, const struct target_unit *u);
/* Returns the product as its by(…) states it, which plan_units has written or accepted. */
struct plan_product plan_stated(const struct target *t, const struct expr *dot);

/* The words of by(…). */
extern const char plan_word_fma[], plan_word_halves[];
const char *plan_factor_word(int side, enum plan_factor how); /* NULL: PLAN_HELD has none */

/* --- again.c --- */

/* Returns the access from which a register factor can be read again for each product; NULL: there is
 * none. */
const struct expr *plan_read_again(const struct kernel *k, const struct expr *dot,
                                   const struct expr *factor);

/* --- divide.c --- */

enum { PLAN_SPARE_REGISTERS = 40 }; /* of a thread, for addresses, counters and predicates */

/* How the warps divide a product: `mma` with a unit, `fma` without. */
struct plan_division {
    struct mma_tiling mma;
    struct fma_tiling fma;
    int warps; /* that differ; others do the same as these */
};
/* chained: the left factor comes from another product's sum, or rows of this one's sum are reduced or
 * become another's left factor: a warp should have whole rows. */
struct plan_division plan_divide(const struct target *t, int warps, const struct plan_product *p,
                                 bool chained);
/* Makes the layout of an operand's fragments, without the warps that are left over. Returns false if
 * there is none. */
bool plan_fragments(const struct plan_product *p, const struct plan_division *d,
                    enum matrix_operand operand, struct layout *out);

/* --- chains.c --- */

/* Returns true if each element of the result comes from that element of each operand, or of operands
 * that are broadcast. */
bool plan_is_elementwise(enum op op);

/* How often something happens, compared with the rest of the kernel: a factor for every loop around. */
enum { PLAN_WEIGHT_LOOP = 8, PLAN_WEIGHT_MOST = 4096 };

struct plan_stmt {
    const struct stmt *s;
    int weight;
};
struct plan_stmts {
    VEC(struct plan_stmt) list;
};
/* Returns all statements of the kernel but `ensures`, in program order. */
struct plan_stmts plan_statements(struct arena *a, const struct kernel *k);

/* A `dot` of tiles. */
struct plan_dot_use {
    struct expr *e;
    int weight;
    int family; /* index of a product that shares a sum with it; itself: none does */
    bool chained;
};
struct plan_dot_uses {
    VEC(struct plan_dot_use) list;
};
/* Finds the products of tiles, in program order. Requires variance. */
struct plan_dot_uses plan_find_dots(struct arena *a, const struct kernel *k,
                                    const struct plan_stmts *stmts);

#endif
