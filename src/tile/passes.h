/* Passes over Tile IR, in the order in which pass_order_list (api/pass_order.c) runs them. Each pass is a file and a
 * function; the comment above the function is its contract. Each may add diagnostics; after a
 * pass that reported errors, the kernel is unfit for the next pass. */
#ifndef TW_PASSES_H
#define TW_PASSES_H

#include "base/blake2s.h"
#include "tile/tile.h"

/* Facts about a launch that the text does not have. */
struct launch_facts {
    const struct literal *values; /* by parameter index */
    const bool *known;            /* by parameter index: a static parameter to compile in; NULL:
                                   * none */
    const int
        *divisor; /* by parameter index: 16, 8 or 1, a number that divides a run-time integer; NULL:
                  * not known */
};

enum sync_verdict { SYNC_CLEAN, SYNC_RACE, SYNC_UNDECIDED };

struct sync_undecided {
    unsigned char program[BLAKE2S_BYTES]; /* digest of the kernel's text */
    const char *why;                      /* lives as long as `arena` */
};

/* The programs that the static synchronisation check left undecided. These take the check the
 * longest, and one program is checked again for each target and each query. */
struct sync_memory {
    struct arena *arena; /* the owner's arena; it lives as long as this */
    VEC(struct sync_undecided) undecided;
    int explored;        /* number of programs that the check has explored */
    int64_t *steps_left; /* steps left for all second, hasty tries together; NULL: any number */
};

/* A kernel whose blocks are made of joins[i] blocks along axis i (0: 1; ONE_BLOCK: 1, and only for
 * launches whose grid has one there). */
struct joined_kernel {
    struct kernel *kernel;
    int64_t joins[3];
};
enum { MOST_JOINED = 5, ONE_BLOCK = -1 };

struct pass_context {
    struct kernel *kernel;
    struct diag *diag;
    const struct launch_facts *facts; /* NULL: none */
    struct sync_memory *sync_memory;  /* NULL: nothing is kept */
    int sm;              /* compute capability of the target GPU, 80 …; 0: the host */
    int32_t shared_most; /* bytes of shared memory that a block has on any GPU; 0: not known */
    bool despite_races; /* skips the synchronisation check, so that the simulator can show a race */
    void (*refused_by)(
        struct pass_context *c); /* the pass that reported errors; set by pass_order_run */
    enum sync_verdict sync;      /* set by synccheck */
    /* The reason of SYNC_UNDECIDED, else NULL. It lives as long as sync_memory; without a
     * sync_memory, as long as the kernel. */
    const char *sync_undecided;
    /* Set by join: the kernel with larger blocks, in several sizes. A launch takes the first one that
     * has enough blocks for it. */
    struct joined_kernel joined[MOST_JOINED];
    int joined_count;
};

/* variance.c: marks values that differ between threads. Refuses operations that need all threads
 * at places that only some threads reach. requires: types. sets: type.varying everywhere.
 * diagnoses: sync, tile ops on shared or register tiles, and lock under varying control flow; a
 * varying start of a tile copy into shared memory; a return or break by which some threads leave
 * before a sync. */
void pass_variance(struct pass_context *c);

/* specialise.c: turns static parameters, constants and tuned values into literals, and launch
 * facts into assume(). requires: types. breaks: folded (fold follows). */
void pass_specialise(struct pass_context *c);

/* contract.c: turns a product that feeds a sum in one expression into fma, and acc + dot(a, b)
 * into dot(a, b, acc). requires: types; nothing folded, because values known at compile time
 * must not change the rounding. Decided here so that all executors agree (Meaning 12). */
void pass_contract(struct pass_context *c);

/* fold.c: folds constants and identities, and removes dead branches. Never moves an effect or an
 * access. requires: types. keeps: types, variance, and contract's decisions: a product that
 * folding makes an operand of a sum gets a cast to its own type. */
void pass_fold(struct pass_context *c);

/* blockcheck.c, run by the same pass: warns of stores to views by which several blocks certainly
 * write the same elements, with values that differ. At tile level. */
void blockcheck_kernel(struct pass_context *c);

/* masks.c: marks slices `inside` if they provably do not reach past the edge. requires: folded.
 * Uses assume(), loop conditions, the grid's extent. */
void pass_masks(struct pass_context *c);

/* pipeline.c: for a GPU (c->sm > 0; the CPU engine runs pipelines itself), turns `pipeline(n)
 * for` into a plain loop over n stages with asynchronous copies, waits and barriers, all marked
 * `added`. requires: variance, folded, masks (their `inside` marks are kept). breaks: folded (it
 * folds again). diagnoses: pipelines in which nothing can be fetched ahead (a warning). */
void pass_pipeline(struct pass_context *c);

/* split.c: for the host, makes one tile of each part of a tile that is filled from parts of
 * read-only views and read in parts alone. requires: folded. keeps: all values, and masks' marks. */
void pass_split(struct pass_context *c);

/* dots.c: for the host, makes loops of `dot` of loops that add the products of one step of k in each
 * turn. requires: folded, contract, variance, masks. keeps: all values, and masks' marks. breaks:
 * nothing; a loop may be followed by the original one, for the turns that are left. */
void pass_dots(struct pass_context *c);

/* name_operands.c: for the host, gives a name to each part of a read-only view that `dot` reads, so that
 * the CPU engine packs it. requires: types, folded. keeps: all values. */
void pass_operands(struct pass_context *c);

/* deepen.c: for the host, joins turns of loops that add products of computed operands, or that store
 * a row part by part. requires:
 * folded, variance, contract. keeps: all values, and masks' marks. breaks: nothing; a turn then has
 * deeper tiles, and a loop may be followed by a second one with the turns that are left. */
void pass_deepen(struct pass_context *c);

/* join.c: for the host, makes copies of the kernel with larger blocks, c->joined, if the values do
 * not depend on where blocks end. requires: folded, variance, contract, masks. keeps: the kernel
 * itself, and all values. sets: joined, joined_count. */
void pass_join(struct pass_context *c);

/* edges.c: finds the first reduction that counts the zeros which a slice without `else` reads past
 * the edge of its view, and whose result flows into the output that the view `view` shows (NULL:
 * into any); a guess, for a note on wrong values. `env` has the parameters of the launch: slices that
 * they show to lie inside do not count. Returns false if there is none. */
struct edge_zeros {
    const struct expr *slice; /* the load of the slice */
    const struct expr *use;   /* the reduction */
    bool changed;             /* the reduction gets changed zeros, such as exp(0) */
    bool powers;              /* exp or exp2 changed the zeros */
};
bool edges_zeros_find(struct arena *a, struct kernel *k, const struct scalar_env *env,
                      const char *view, struct edge_zeros *out);

/* nans.c: finds what may give NaN, a guess for a note on wrong values. `env` has the parameters of
 * the launch: a branch that they exclude does not count. */
struct nan_causes {               /* the first of each in program order; NULL: none */
    const struct expr *unset;     /* a read of a variable that may have no value there */
    const struct expr *shifted;   /* an exp or exp2 of a difference from a maximum */
    const struct expr *undefined; /* a quotient, or a function that is not defined everywhere */
};
void nans_causes_find(struct arena *a, struct kernel *k, const struct scalar_env *env,
                      struct nan_causes *out);

/* barriers.c: for a GPU, adds `sync() added` between operations on global memory that are to act in
 * program order. requires: variance, folded. keeps: all values. sets: stmt->earlier. Barriers within
 * one operation are the emitter's: between what a statement reads and writes, in scratch of
 * reductions and of conversions of layouts, in locks, and where the layouts of the uses in
 * stmt->earlier differ. */
void pass_barriers(struct pass_context *c);

/* plan.c: gives every shared tile an offset. Tiles whose lives do not overlap share bytes if a
 * barrier separates them; the pass adds missing barriers. requires: variance. sets: sym->offset,
 * kernel->shared_bytes, kernel->planned. diagnoses: more bytes than c->shared_most (a warning). */
void pass_plan(struct pass_context *c);

/* rows.c: marks maps over one row of f32 that are summed, such as the powers of softmax, with the
 * sum, and the stores of these powers' quotients (rows.h). An executor may compute a marked row and
 * its sum in one pass. The mark prints as a comment above the statement. requires: contracted,
 * folded. keeps: every statement and value. sets: stmt->row. A pass that moves or changes marked
 * statements makes the mark untrue, so only `products` follows. */
void pass_rows(struct pass_context *c);

/* products.c: marks the loops of thread-level code that only sum products, inner loops too, with
 * these sums (products.h). An executor may compute marked loops as products of matrices. The mark
 * prints as a comment above the outermost loop. requires: contracted, folded. keeps: every statement
 * and value. breaks: nothing, but a pass that changes marked loops makes the mark untrue, so this
 * pass is the last one. sets: stmt->products. */
void pass_products(struct pass_context *c);

/* fences.c: for a GPU, adds `fence_async() added` after stores of threads, also by atomics, to shared tiles and views that
 * tensor copies or products in the background access, and where a thread acquires such stores of other blocks. requires:
 * types. keeps: all values. breaks: nothing. */
void pass_fences(struct pass_context *c);
/* Returns true if tensor copies access views that threads store to. fences.c */
bool kernel_copies_stores(struct kernel *k);

#endif
