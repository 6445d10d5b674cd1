/* Passes over Tile IR, in the order in which pass_list runs them. Each is a file and a function;
 * the contract stands above it. Each may add diagnostics; a pass that found errors leaves the
 * kernel unfit for the next. */
#ifndef TW_PASSES_H
#define TW_PASSES_H

#include "base/blake2s.h"
#include "tile/tile.h"

/* What a launch knows beyond the text. */
struct launch_facts {
    const struct literal *values; /* by parameter index */
    const bool *known;            /* static parameters to compile in (NULL: none) */
    const int *
        divisor; /* by parameter index: 16 or 1, a fact about a run-time integer; NULL: nothing known */
};

enum sync_verdict { SYNC_CLEAN, SYNC_RACE, SYNC_UNDECIDED };

struct sync_undecided {
    unsigned char program[BLAKE2S_BYTES]; /* digest of the kernel's text */
    const char *why;                      /* lives on */
};

/* The programs that the static synchronisation check has left undecided. That is what it takes
 * longest for, and one program comes to it for each target and each question about it. */
struct sync_memory {
    struct arena *arena; /* the owner's; lives as long as this */
    VEC(struct sync_undecided) undecided;
    int explored;        /* programs that it has gone through */
    int64_t *steps_left; /* for second, hasty tries, in all; NULL: any number */
};

struct pass_context {
    struct kernel *kernel;
    struct diag *diag;
    const struct launch_facts *facts; /* NULL: none */
    struct sync_memory *sync_memory;  /* NULL: nothing is kept */
    int sm; /* compute capability of the GPU compiled for, 80 …; 0: the host */
    bool
        despite_races; /* the synchronisation check is left out, for the simulator to show a race */
    void (*refused_by)(
        struct pass_context *c); /* set by passes_run: the pass that reported errors */
    enum sync_verdict sync;      /* set by synccheck */
    /* SYNC_UNDECIDED: why, which lives as long as sync_memory, or without that as the kernel; else
     * NULL. */
    const char *sync_undecided;
};

/* variance.c: marks what differs between threads, and refuses what needs all threads where not all
 * come.
 * requires: types. sets: type.varying everywhere. diagnoses: sync, tile ops on shared or register
 * tiles, lock under varying control flow; varying start of a tile copy into shared memory;
 * return/break that leaves part of the threads before a sync. */
void pass_variance(struct pass_context *c);

/* specialise.c: static parameters, constants and tuned values become literals; launch facts become
 * assume().
 * requires: types. breaks: folded (fold follows). */
void pass_specialise(struct pass_context *c);

/* contract.c: a product that feeds a sum in one expression becomes fma; acc + dot(a, b) becomes
 * dot(a, b, acc).
 * requires: types; nothing folded, because what is known while compiling shall not change what is
 * rounded. Decided here so that all executors agree (Meaning 12). */
void pass_contract(struct pass_context *c);

/* fold.c: constant folding, identities, dead branches. Never moves an effect or an access.
 * requires: types. keeps: types, variance; contract's decisions: a product that comes to feed a sum
 * by folding gets a cast to its own type in between. */
void pass_fold(struct pass_context *c);

/* synccheck.c: the static synchronisation check (docs/language.md, "Synchronisation").
 * requires: variance; folded decides more. keeps: the kernel as it is. diagnoses: races on shared
 * tiles, copies not waited for. sets: sync, sync_undecided. */
void pass_synccheck(struct pass_context *c);
/* blockcheck.c, with it: warns of stores to views that several blocks surely make to the same
 * elements, with values that differ. At tile level. */
void check_blocks(struct pass_context *c);

/* masks.c: marks slices `inside` where they provably do not reach past the edge.
 * requires: folded. Uses assume(), loop conditions, the grid's extent. */
void pass_masks(struct pass_context *c);

/* pipeline.c: for a GPU (c->sm > 0; the CPU engine runs pipelines itself), `pipeline(n) for`
 * becomes a plain loop over n stages with asynchronous copies, waits and barriers, all marked
 * `added`.
 * requires: variance, folded, masks (what they promised is kept). breaks: folded (it folds again).
 * diagnoses: pipelines of which nothing can be fetched ahead (a warning). */
void pass_pipeline(struct pass_context *c);

/* edges.c: finds the first reduction that counts the zeros which a slice without `else` reads past the
 * edge of its view; a guess, for a note at wrong values. Returns false if there is none. */
struct edge_zeros {
    const struct expr *slice; /* the load */
    const struct expr *use;   /* the reduction */
    bool changed;             /* it gets something else in their place, such as exp(0) */
    bool powers;              /* from exp or exp2 */
};
bool edge_zeros_find(struct arena *a, struct kernel *k, struct edge_zeros *out);

/* plan.c: gives every shared tile an offset; tiles whose lives do not meet share bytes where a
 * barrier separates them, else adds one.
 * requires: variance. sets: sym->offset, kernel->shared_bytes, kernel->planned. diagnoses: more
 * bytes than GPUs have (a warning). */
void pass_plan(struct pass_context *c);

struct pass {
    const char *name; /* as in `show --after NAME` */
    void (*run)(struct pass_context *c);
    const char *summary;
};
extern const struct pass pass_list[];
extern const int pass_count;

/* Runs the passes in order up to and including `last` (NULL: all); stops after one that reported
 * errors. Verifies after each in debug builds. Returns false on errors. */
bool passes_run(struct pass_context *c, const char *last);

/* synccheck's finding, for those who want more than diagnostics (the oracle of the tests). */
enum sync_verdict synccheck_kernel(struct pass_context *c, const char **why_undecided);

#endif
