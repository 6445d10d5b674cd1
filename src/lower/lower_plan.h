/* Who holds what: the layouts of register tiles, shared tiles, copies and products, found before
 * anything is emitted.
 *
 * Products come first, their fragments are given by the hardware; register tiles follow what they
 * are used for most; shared tiles are laid out so that all their accesses have the fewest
 * wavefronts (layout_choose_shared). What is left is coalesced.
 */
#ifndef TW_LOWER_PLAN_H
#define TW_LOWER_PLAN_H

#include "base/arithmetic.h"
#include "layout/layout_access.h"
#include "layout/layout_named.h"
#include "layout/layout_swizzle.h"
#include "lower/lower_memory.h"
#include "plan/plan_product.h"

bool plan_make(struct lower *l); /* false: reported */

/* How one dot is done. */
enum dot_kind { DOT_MMA, DOT_FMA };
struct dot_plan {
    enum dot_kind kind;
    const struct expr *e;
    int32_t m, n, k;
    enum dtype factor, sum;         /* element types of the factors (joined), and of the sum */
    const struct target_unit *unit; /* NULL: multiply-adds of single elements */
    struct mma_tiling mma;
    struct fma_tiling fma;
    const char *instruction; /* "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" */
    /* [m][k], [k][n], [m][n]: what shared factors are read in, and register factors wanted in. Of a
     * staged factor: the layout in which it is best had before. */
    const struct layout *a, *b, *c;
    /* Elements as the products take them: u8 and i8 may meet in one product. */
    enum dtype a_type, b_type;
    /* A register factor of which a thread would need too much: it goes through scratch and is read
     * in fragment_a, fragment_b (else the same as a, b). */
    bool a_staged, b_staged;
    const struct layout *fragment_a, *fragment_b;
    /* A staged factor is this, read anew for each product; NULL: itself. */
    const struct expr *a_again, *b_again;
    /* By multiply-adds, where all of k would be too long: a loop over so many steps of k at once,
     * and its fragments, with the trip as AXIS_STAGE; 0, NULL: no loop. */
    int32_t chunk;
    const struct layout *chunk_a, *chunk_b;
    /* Bytes read by ldmatrix.trans: a, b are as that brings them (lower_dot_bytes.c). */
    bool a_paired, b_paired;
};

/* Elements of the sum that a thread has in multiply-adds: vector_m x vector_n blocks, row by row, first along n. */
struct fma_block {
    int32_t rows, columns; /* of this thread */
    int vector_m, vector_n;
    int32_t reps_n;
};

static inline struct fma_block fma_block_of(const struct dot_plan *p)
{
    const struct fma_tiling *t = &p->fma;
    const int32_t reps_m = divide_up(p->m, t->vector_m * t->lanes_m * t->warps_m);
    const int32_t reps_n = divide_up(p->n, t->vector_n * t->lanes_n * t->warps_n);
    return (struct fma_block){t->vector_m * reps_m, t->vector_n * reps_n, t->vector_m, t->vector_n,
                              reps_n};
}

/* Returns the register of the sum that has row i, column j of the thread's elements. */
static inline int32_t fma_register(const struct fma_block *b, int32_t i, int32_t j)
{
    const int32_t rep = i / b->vector_m * b->reps_n + j / b->vector_n;
    return (rep * b->vector_m + i % b->vector_m) * b->vector_n + j % b->vector_n;
}

const struct dot_plan *plan_dot(struct lower *l, const struct expr *e);
/* Does a product read what a tile is declared with again, in place of the tile? Nothing else uses
 * it. */
bool plan_reads_again(const struct lower *l, const struct expr *value);
/* Is any product made of multiply-adds of single elements? */
bool plan_multiplies_elements(const struct lower *l);
/* After the kernel is made: says how many of its blocks are meant to be on a multiprocessor, if ptxas's own choice is
 * not good (lower.c). */
void lower_ask_for_registers(struct lower *l);

/* NULL: no preference. */
const struct layout *plan_natural(struct lower *l, const struct expr *e);
/* The layout in which e is computed where its value is wanted in `wanted` (NULL: nowhere
 * particular): `wanted` itself, or the natural one where turning the result over costs less than
 * turning its operands over. Always one. */
const struct layout *plan_place(struct lower *l, const struct expr *e, const struct layout *wanted);
/* Coalesced, for a tile of that type: vector elements a lane (0: as wide as its rows allow). */
const struct layout *plan_blocked(struct lower *l, const struct type *t, int vector);
/* Gives the place of each element of a tile of that type in order of rows: d0, d1, … -> at. */
void plan_rows(const struct type *t, struct layout *out);
/* Of a ST_REG symbol: always one. */
const struct layout *plan_symbol(struct lower *l, const struct sym *s);
/* Of a ST_SHARED symbol: d0, d1, … -> at, in elements. */
const struct layout *plan_shared(struct lower *l, const struct sym *s);
/* How the threads divide a copy global -> shared between them, for the statement's target. */
const struct layout *plan_copy(struct lower *l, const struct expr *target,
                               const struct expr *value);
/* The layout in which a tile is best stored to (or loaded from) a view: `natural` itself, or one
 * with wider vectors. natural NULL, or of another shape (a value that is yet to be broadcast):
 * coalesced. */
const struct layout *plan_view(struct lower *l, const struct expr *access,
                               const struct layout *natural, bool store);

#endif
