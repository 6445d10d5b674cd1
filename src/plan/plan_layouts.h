/* The layouts of register tiles, shared tiles, copies and products, found before anything is emitted.
 *
 * Products come first, because the hardware prescribes their fragments. The most frequent use of a register
 * tile decides its layout. Shared tiles are laid out so that all their accesses have the fewest wavefronts
 * (layout_choose_shared). All other layouts are coalesced.
 */
#ifndef TW_PLAN_LAYOUTS_H
#define TW_PLAN_LAYOUTS_H

#include "base/arithmetic.h"
#include "base/pointer_map.h"
#include "layout/layout_access.h"
#include "layout/layout_convert.h"
#include "layout/layout_named.h"
#include "layout/layout_swizzle.h"
#include "plan/lowered.h"
#include "plan/plan_product.h"

struct plan;

/* The layouts of a kernel, as they are planned. */
struct tile_facts;
struct layouts {
    struct arena *arena;
    struct kernel *kernel;
    const struct target *target;
    struct diag *diag;
    struct lowered *out;
    int warps;                /* of a block, rounded up */
    int threads;              /* of a block */
    struct tile_facts *facts; /* of the kernel's scalars; NULL until they are found */
    struct plan *plan;
    struct kept_layouts *kept; /* NULL until the first layout is kept */
    bool of_role;              /* register tiles have plan_role_layout */
    bool failed;               /* an error was reported; what is emitted is of no use */
};

/* Reports an error of the user's program at `loc`, and marks the plan failed. */
void plan_error(struct layouts *l, struct loc loc, const char *format, ...) DIAG_FORMAT(3, 4);
/* Returns true for a thread-level kernel whose number of threads is not a multiple of 32: tile ops then have no layout. */
bool plan_ragged_block(const struct layouts *l);
/* Returns true if elements of e differ between threads, so that each thread computes its own. */
bool plan_of_thread(const struct layouts *l, const struct expr *e);

bool plan_make(struct layouts *l); /* false: reported */

/* --- plan_layouts_role.c --- */

/* Makes the plan of a role, whose warps are those of l. Its layouts follow from the types of tiles. block: the plan of the block,
 * whose shared tiles the role has, too; NULL: this is the block's */
void plan_make_role(struct layouts *l, const struct layouts *block);
/* Gives the layout of a role's register tile. Returns false if the tile has more than two axes of several elements. Each warp has
 * 16 rows. Four warps are a group, as wgmma needs them; a role whose warps are not a multiple of four is one group. Each group has
 * some blocks of the tile's rows, one after the other. Rows and columns are rounded up. */
bool plan_role_layout(const struct layouts *l, const struct type *t, struct layout *out);
/* Returns the blocks of rows that a group of the role has of such a tile. */
int plan_role_blocks(const struct layouts *l, const struct type *t);
/* Returns the registers of a block, which are one value of thread IR; of a tile of one column, 1. */
int32_t plan_role_group(const struct type *t);
/* Returns whether the role's threads hold a tile of the type. If not, reports it. */
bool plan_role_holds(struct layouts *l, const struct type *t, struct loc loc);
enum {
    PLAN_PANEL = 128,      /* bytes of a row of a panel */
    PLAN_SWIZZLED_ROWS = 8 /* after which the swizzle repeats */
};
/* Returns whether a shared tile of a kernel with roles lies in panels of 128 bytes a row, swizzled: its rows must be multiples of
 * 128 bytes. The copy engine exchanges pieces by their addresses, so each panel must begin at a multiple of 1024 bytes. */
bool plan_is_swizzled(const struct sym *s);
/* Notes the layouts of the shared tiles. plan_layouts.c */
void plan_note_shared(struct layouts *l);

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
    /* [m][k], [k][n], [m][n]: the layouts in which shared factors are read, and in which register factors are
     * wanted. A staged factor is best computed in this layout before. */
    const struct layout *a, *b, *c;
    /* Elements as the products take them: u8 and i8 may meet in one product. */
    enum dtype a_type, b_type;
    /* A register factor of which a thread would need too much: it goes through scratch and is read
     * in fragment_a, fragment_b (else the same as a, b). */
    bool a_staged, b_staged;
    const struct layout *fragment_a, *fragment_b;
    /* The access that is read again for each product, in place of a staged factor; NULL: the factor itself. */
    const struct expr *a_again, *b_again;
    /* The steps of k in a turn of a loop, if multiply-adds of all of k would be too long, and the fragments of
     * all turns, with the turn as AXIS_STAGE; 0, NULL: no loop. */
    int32_t chunk;
    const struct layout *chunk_a, *chunk_b;
    /* Bytes read by ldmatrix.trans: a, b are as that brings them (plan_layouts_bytes.c). */
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

const struct dot_plan *plan_dot(struct layouts *l, const struct expr *e);
/* Returns whether a product reads the access that a tile is declared with again, in place of the
 * tile. Nothing else then uses the tile. */
bool plan_reads_again(const struct layouts *l, const struct expr *value);
/* Returns whether a product is made of multiply-adds of single elements. */
bool plan_multiplies_elements(const struct layouts *l);

/* NULL: no preference. */
const struct layout *plan_natural(struct layouts *l, const struct expr *e);
/* The layout in which e is computed where its value is wanted in `wanted` (NULL: nowhere
 * particular): `wanted` itself, or the natural one where turning the result over costs less than
 * turning its operands over. Always one. */
const struct layout *plan_place(struct layouts *l, const struct expr *e,
                                const struct layout *wanted);
/* Coalesced, for a tile of that type: vector elements a lane (0: as wide as its rows allow). */
const struct layout *plan_blocked(struct layouts *l, const struct type *t, int vector);
/* Gives the place of each element of a tile of that type in order of rows: d0, d1, … -> at. */
void plan_rows(const struct type *t, struct layout *out);
/* Returns the layout of a ST_REG symbol; never NULL. */
const struct layout *plan_symbol(struct layouts *l, const struct sym *s);
/* Returns the layout of a ST_SHARED symbol: d0, d1, … -> at, in elements. */
const struct layout *plan_shared(struct layouts *l, const struct sym *s);
/* How the threads divide a copy global -> shared between them, for the statement's target. */
const struct layout *plan_copy(struct layouts *l, const struct expr *target,
                               const struct expr *value);
/* The layout in which a tile is best stored to (or loaded from) a view: `natural` itself, or one
 * with wider vectors. natural NULL, or of another shape (a value that is yet to be broadcast):
 * coalesced. */
const struct layout *plan_view(struct layouts *l, const struct expr *access,
                               const struct layout *natural, bool store);

/* --- plan_layouts_product.c, plan_layouts_bytes.c --- */

/* The layouts of a product; fills everything of *out but factors through scratch and chunks
 * (plan_layouts_product.c). chained: see plan_divide. False: an operand has no layout. */
bool plan_lay_out(struct layouts *l, const struct plan_product *p, bool chained,
                  struct dot_plan *out);
/* The same for a product of the program, as its by(…) states it, with all that there is to fill. False
 * for a ragged block, too. */
bool plan_lay_out_stated(struct layouts *l, const struct expr *e, bool chained,
                         struct dot_plan *out);

/* The same for a product of a role. */
bool plan_lay_out_role(struct layouts *l, const struct expr *e, struct dot_plan *out);

/* Decides on chunk, for all else of the plan. */
void plan_choose_chunk(struct layouts *l, struct dot_plan *p);

/* A product by multiply-adds goes through k step by step. Vectors of a factor along k would be
 * alive for several steps; those across it are read a step ahead of their use. */
bool plan_goes_by_columns(const struct dot_plan *p, enum dtype factor);

/* Returns an estimate of the instructions of products in a list of statements, those of inner loops
 * counted once. It decides whether a body is repeated: a loop of more than about 8000 instructions
 * does not fit the instruction cache. */
int64_t plan_instructions_in(struct layouts *l, const struct stmt *first);

/* Returns the accesses of the scratch tile of a staged factor: access 0 stores `tile`, access 1 loads the
 * fragments. */
struct shared_wish plan_staging_wish(const struct dot_plan *p, int side,
                                     const struct plan_source *source, const struct layout *tile);

/* Does what lies the wrong way round as plan_layouts_bytes.c says, where both can. */
void plan_pair_bytes(struct layouts *l, struct dot_plan *p, const struct plan_source source[2]);

/* --- plan_kept.c --- */

/* The product of the extents of a layout's counter reg. */
static inline int32_t plan_registers(const struct layout *layout)
{
    return layout_in_extent(layout, AXIS_REG);
}
const struct layout *plan_keep(struct layouts *l, const struct layout *layout);
/* Does the same for a layout that is in normal form and not kept. */
const struct layout *plan_keep_normal(struct layouts *l, const struct layout *layout);
/* Returns the layout with private bits as additions (layout_runs). */
const struct layout *plan_runs(struct layouts *l, const struct layout *layout);
/* The same; NULL for a layout that is not kept. */
const struct layout *plan_kept_runs(struct layouts *l, const struct layout *layout);
/* Every thread holds every element, registers row-major. */
const struct layout *plan_everywhere(struct layouts *l, const struct type *t);
/* Returns the layout of axis t of a tile alone, as that of a tile of one axis. *source: which of its registers each
 * register of the whole reads. */
const struct layout *plan_axis_layout(struct layouts *l, const struct layout *whole, int rank,
                                      int t, int64_t length, int32_t **source);
/* Returns the places of the layout's registers (layout_register_places). */
const int32_t *plan_register_places(struct layouts *l, const struct layout *layout);
/* The layout in which an operand of these extents is wanted for a result in `whole`: right-aligned
 * axes of extent 1 (or missing) are gone or at 0; registers that would hold the same are one.
 */
const struct layout *plan_operand_layout(struct layouts *l, const struct layout *whole,
                                         const struct type *operand);
/* Which register of the operand each of whole's registers reads. */
int32_t *plan_operand_registers(struct layouts *l, const struct layout *whole,
                                const struct layout *operand, const struct type *type);

const struct layout *plan_reduced_layout(struct layouts *l, const struct layout *x, int axis);

/* --- plan_convert.c --- */

struct conversion {
    const struct layout *from, *to;
    int bits;
    bool possible;
    struct convert_plan plan;
};

/* Returns how a tile comes into another layout. bits: of an element. stores_matrices: stmatrix may be used; the same in each
 * call of a kernel. plan_convert.c */
const struct conversion *plan_conversion(struct layouts *l, const struct layout *from,
                                         const struct layout *to, int bits, bool stores_matrices);

/* --- plan_shapes.c --- */

/* Makes a layout of `from`'s shape of one of `to`'s with the same order of rows. Returns false if there is none. */
bool plan_reshaped(const struct layout *layout, const struct type *from, const struct type *to,
                   struct layout *out);

/* The layout of the operand in which each register holds what it holds of the result in `wanted`;
 * NULL: there is none. */
const struct layout *plan_shape_source(struct layouts *l, const struct expr *e,
                                       const struct layout *wanted);
/* Gives the places of elements in memory for reshape, repeat and repeat_interleave. put: by the operand's coordinates;
 * get: by the result's. */
void plan_shape_through_memory(const struct expr *e, struct layout *put, struct layout *get);

/* --- plan_reduce.c --- */

/* Returns true if digit d moves the axis; -1: any axis. */
bool plan_moves_axis(const struct layout *l, int d, int axis);
/* Returns whether a digit of the layout moves the axis and another one. */
bool plan_axis_mixed(const struct layout *layout, int axis);
/* The layouts through which the warps along `axis` (-1: any) exchange their elements. */
struct warp_totals {
    struct layout totals,
        all;            /* of a warp's elements; of those of all warps, in the lowest registers */
    int32_t *registers; /* by register of `totals`: the register of `whole` */
    int32_t warps;
};
/* above: see tile_of_warps. Returns false if the axis is not spread over warps. */
bool plan_warp_totals(struct layouts *l, const struct layout *whole, int axis, int32_t above,
                      struct warp_totals *out);

/* --- plan_scan.c --- */

/* Counters of a layout that move an axis, in the order of how far they move it. */
struct scan_digit {
    enum layout_axis in;
    int32_t weight, extent, step;
};
struct scan_digits {
    int count;
    struct scan_digit of[LAYOUT_DIGITS];
};
/* Returns the layout in which a scan along the axis is done: the wanted one, if it is possible there. t: the shape. */
const struct layout *plan_scan_layout(struct layouts *l, const struct type *t, int axis,
                                      const struct layout *wanted, struct scan_digits *digits);
/* Returns whether the first n digits of register r are 0: the register is the least of a block of those that they span. */
bool plan_is_block(const struct scan_digits *digits, int32_t r, int n);
/* Returns the least register of the block of r. */
int32_t plan_block_of(const struct scan_digits *digits, int32_t r, int n);

#endif
