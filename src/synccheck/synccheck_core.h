/* The static synchronisation check: its parts, and the declarations that they share. Private to
 * synccheck*.c.
 *
 *   synccheck_skeleton.c  kernel -> flat code of the parts that affect synchronisation: accesses of
 *   synccheck_relevant.c  shared tiles, barriers, copies, branches, the scalars that decide them
 *   synccheck_value.c     scalars as values: numbers, sums over unknowns, a number for each thread
 *   synccheck_eval.c      expressions and conditions -> values, using the facts about the unknowns
 *   synccheck_state.c     the state of an execution, made comparable: loops end in a fixpoint
 *   synccheck_explore.c   steps through the code, along all branches that are not decided
 *   synccheck_conflict.c  whether two accesses meet
 *   synccheck_solve.c     inputs that make a path and a meeting happen
 *   synccheck_report.c    findings -> diagnostics
 *   synccheck_fix.c       the place in the text for a missing barrier or wait
 *   synccheck.c           the pass: explores widened; then confirms the findings exactly
 *   synccheck_roles.h     kernels with roles, which the files synccheck_roles*.c check
 *
 * How it works. `sync()` divides the execution of a block into epochs. Within an epoch, threads run
 * in any order, so two accesses race if they overlap in a tile and one of them is a write. A copy
 * is in flight from its `async` to the wait that completes it, and conflicts with every access
 * meanwhile. After the wait it counts as a write of that epoch, because other threads' parts may
 * still be in flight. So the state is small: accesses since the last barrier, copies in flight in
 * their commit groups, and the scalars that decide stage indices and conditions.
 *
 * The check runs twice. *Widened*, an unbounded loop counter becomes an unknown after a few rounds;
 * so the number of states is finite, and they cover every execution: if this run finds nothing,
 * there is no race. *Exact*, nothing is forgotten and the unknowns are the kernel's inputs. A
 * finding counts only with values of the inputs that lead to it, so nothing is reported that cannot
 * happen. A finding of the widened run alone is left undecided.
 *
 * Words: an unknown is an atom; a slot holds the value of a tracked scalar; a lane is the number
 * of one thread; a round is an iteration of a loop; a form is a sum of unknowns without a
 * constant, and a fact is an interval of a form. */
#ifndef TW_SYNCCHECK_CORE_H
#define TW_SYNCCHECK_CORE_H

#include "tile/passes.h"

/* --- interning: equal bytes, one number --- */

struct interner {
    struct arena *arena;
    VEC(const void *) item;
    VEC(uint64_t) hash;
    VEC(size_t) size;
    uint32_t *slot; /* item + 1; 0: free */
    size_t slots;   /* a power of two */
};
void sync_interner_init(struct interner *t, struct arena *a);
/* Returns the number of this blob, which it copies. *is_new (may be NULL) is set to true if the
 * blob is new. */
int sync_intern(struct interner *t, const void *blob, size_t size, bool *is_new);

/* --- values --- */

/* The unknowns in sums. */
enum atom_kind {
    ATOM_PARAM,   /* scalar parameter */
    ATOM_BLOCK,   /* block.x … */
    ATOM_LITERAL, /* a float: its bits are in low */
    ATOM_LOAD,    /* element of a const view: equal indices give equal values */
    ATOM_OP,      /* an op on values whose result is not a sum */
    ATOM_FRESH,   /* the result of an expression, from its latest evaluation (widened) or its
                   * n-th one (exact) */
    ATOM_WIDE     /* a variable at the head of a loop, after widening */
};
struct atom {
    int kind, op, dtype, axis;
    int site;          /* FRESH, WIDE: the place that makes it */
    int count;         /* OP, LOAD: number of arguments; FRESH: n */
    int arg[4];        /* values */
    int64_t low, high; /* range */
    uint64_t sites;    /* as in struct sync_value */
    uint64_t leaves;   /* a bit for each parameter, block index and view in it */
    const struct sym *sym;
};

enum value_kind {
    VALUE_TOP,    /* unknown, and different in each thread */
    VALUE_SUM,    /* c + terms; without terms the number c */
    VALUE_LANES,  /* terms + a number for each thread, LANE_UNKNOWN if it is not known */
    VALUE_MODULAR /* c + step * t for some t >= 0, c >= 0 */
};
enum { MAX_TERMS = 3 };
#define LANE_UNKNOWN INT64_MIN
struct sync_value {
    int kind;
    int terms;
    int atom[MAX_TERMS]; /* increasing; 0 after the last */
    int lanes;           /* number of the interned lanes; -1: none */
    int64_t factor[MAX_TERMS];
    int64_t c;
    int64_t step;
    uint64_t sites; /* bit (site % 64) of every FRESH and WIDE atom that it depends on */
};

/* --- facts of a path about a sum: an interval --- */

#define FACT_NONE INT64_MIN /* no lower bound */
#define FACT_MANY INT64_MAX /* no upper bound */
struct fact {
    int form;    /* value with terms alone, the first factor > 0, factors without a common
                  * divisor */
    int residue; /* of a widened counter: it is residue + modulus * t, t >= 0; -1: not known */
    int64_t low, high;
};

/* --- the skeleton --- */

enum touch_kind { TOUCH_READ, TOUCH_WRITE, TOUCH_ATOMIC, TOUCH_COPY };

/* A place of the program that touches a shared tile. Its number is its site. */
struct touch {
    enum touch_kind kind;
    const struct expr *access; /* NULL: the whole tile, by its declaration */
    const struct expr *stored; /* the value, if a scalar that all threads share is written; else
                                * NULL */
    int tile;
    int mask;        /* slot of the mask of threads that get here */
    bool collective; /* true: all threads together touch the tile, each an unknown part of it;
                      * false: each thread touches the whole box */
    int pipeline;    /* number of the pipeline around, from 1, in which no barrier is possible;
                      * 0: none */
    bool element;    /* reads one element */
    bool plain;      /* fills the whole tile with elements of a view that is never written */
    struct loc loc;
    const struct stmt *stmt;
    const struct inlining *inlined; /* the call whose body has it, or a call nested in that body */
};

enum instr_kind {
    I_TOUCH, /* first, count: touches of one statement, reads before writes */
    I_SYNC,
    I_COMMIT,
    I_WAIT,   /* expr */
    I_SET,    /* slot = expr, for the threads of mask */
    I_FORGET, /* slot no longer holds a value */
    I_FILL,   /* slot, of a tile: its elements have changed; negate: to a copy of a const view's */
    I_BRANCH, /* to target if expr is false */
    I_JUMP,   /* to target */
    I_ASSUME, /* expr */
    I_ENTER,  /* a loop begins */
    I_HEAD,   /* a loop, before its condition */
    I_JOIN,   /* paths meet */
    I_MASK,   /* slot = the threads of mask with expr true (negate: false); expr NULL: all of
               * mask */
    I_MURKY,  /* slot: it is no longer known which of its threads continue */
    I_SKIP,   /* no thread in mask: to target */
    I_DEAD,   /* the tile's scope ends */
    I_FREE,   /* the tile is freed; first: number of the free */
    I_END     /* negate: by a return */
};
struct sync_instr {
    enum instr_kind kind;
    int slot, mask, tile, loop;
    int target; /* a label while the code is made, then an instruction */
    int first, count;
    bool negate;
    const struct expr *expr;
    struct loc loc;
    uint64_t live; /* leaves that this instruction or a later one needs */
    int earliest;  /* the first instruction that may run after this one, or this one itself */
};

struct sync_loop {
    const struct expr *condition; /* NULL: forever */
    VEC(int) slots;               /* slots assigned inside */
    bool steps;                   /* its step runs in every round */
    int counter;                  /* slot that only counts its rounds; -1: none */
    int64_t step, bound;          /* of the counter, which stays below bound */
};

/* A scalar that affects synchronisation. */
struct tracked {
    /* NULL: a mask. Otherwise a scalar, a tile of rows for a gather, or a shared tile whose
     * elements decide something: the slot of such a tile holds the number of its filling
     * (exact). */
    const struct sym *sym;
    bool indexes; /* it decides the part of a tile that is touched, not only conditions */
};

struct skeleton {
    VEC(struct sync_instr) code;
    VEC(struct touch) touches;
    VEC(struct sync_loop) loops;
    VEC(struct tracked) slots;
    VEC(const struct sym *) tiles;
    VEC(struct loc) frees;
    /* A period of every division and remainder in indices; 0: none, or too large. */
    int64_t modulus;
    int64_t reach;   /* widening forgets bounds beyond this on either side */
    int64_t deepest; /* greatest n of an async_wait(n): older groups are not distinguished */
};

/* --- states --- */

/* A touch in an execution. */
struct sync_access {
    int site, tile, kind, mask;
    int waited;  /* the access is a copy that a wait has completed */
    int stored;  /* the stored value; -1: not known to be one value */
    int gathers; /* bit for each axis: start names the rows, rather than being the first row */
    int rank;
    int start[MAX_RANK]; /* values */
    int extent[MAX_RANK];
};

enum { UNCOMMITTED = -1, NEVER_LEFT = -2 };
struct flight {
    int access;
    int age;  /* number of groups committed after it, or UNCOMMITTED */
    int left; /* its age when the last wait left it in flight, or NEVER_LEFT: for the message */
};

enum { MAX_FACTS = 64, MAX_DONE = 1024, MAX_FLIGHTS = 256, MAX_SLOTS = 512, MAX_LOOPS = 256 };
struct sync_state {
    int pc;
    int unsure; /* exact: the path took a branch whose condition is unknown */
    int fresh;  /* exact: number of FRESH atoms made so far */
    int facts, done, flights;
    int slot[MAX_SLOTS];               /* values; -1: holds nothing */
    int visits[MAX_LOOPS];             /* by loop: rounds so far, or the latest state at its head */
    struct fact fact[MAX_FACTS];       /* by form */
    int access[MAX_DONE];              /* since the last barrier, increasing */
    struct flight flight[MAX_FLIGHTS]; /* oldest first */
};

/* --- findings --- */

enum finding_kind {
    FIND_RACE,   /* both since the last barrier */
    FIND_SAME,   /* threads within one execution of a statement */
    FIND_FLIGHT, /* a copy in flight meets an access */
    FIND_FREE,   /* freed with a copy in flight: late is the number of the free */
    FIND_SCOPE,  /* the tile's scope ends with a copy in flight */
    FIND_END     /* the kernel ends with a copy in flight */
};
struct sync_finding {
    enum finding_kind kind;
    int early, late; /* sites; late for SCOPE: -1; for END: its instruction */
    int tile;
    /* details of the first occurrence: */
    bool confirmed, waited;
    int age, left; /* of the copy in flight */
    int thread[2]; /* -1: not known */
    int64_t at[MAX_RANK];
};

enum meeting { MEET_NEVER, MEET_MAYBE, MEET_SURE };
struct meeting_at {
    int constraints; /* exact: number of facts that must also hold for MEET_SURE */
    struct fact constraint[3 * MAX_RANK];
    int thread[2]; /* -1: not known */
    int64_t at[MAX_RANK];
};

/* A value that occurs in conditions, for the search for inputs. */
struct solve_node {
    int value;
    int last; /* the last unknown that it depends on; -1: none */
    bool has_value;
    int64_t now;
};

#define RECENT_INTS 256
#define RECENT_SLOTS 64

struct sync_check {
    struct arena *arena; /* the check's own arena */
    /* sync_eval_value, which uses facts: the search for values that fit facts evaluates extents of grids */
    int (*eval)(struct sync_check *k, struct sync_state *s, const struct expr *e);
    const struct kernel *kernel;
    struct diag *diag;
    struct skeleton code;
    int threads; /* threads of a block: the lanes of a VALUE_LANES */
    int rank;    /* of the block in its cluster */
    bool exact;
    bool hasty; /* the second try: rounds that are alike are skipped */
    struct interner values, atoms, lanes, accesses, states, heads, finding_keys, pairs;
    struct interner lane_ops; /* ops on lanes that were computed before; lane_results has the
                               * results */
    VEC(int) lane_results;
    VEC(int) made_at;               /* by atom: the last instruction that has made it */
    VEC(int) alone;                 /* likewise: its value, without other terms; 0: none yet */
    VEC(int) returns;               /* by atom: storage for facts_forget_past */
    int at;                         /* the instruction that runs */
    int thread_values[3];           /* thread.x …; -1: not needed yet */
    VEC(const struct expr *) sites; /* of FRESH atoms; a WIDE atom has the site -1 - slot */
    VEC(struct sync_finding) findings;
    VEC(bool) access_lanes; /* by access, of those that were asked for */
    VEC(enum meeting) pair_results;
    VEC(struct meeting_at) pair_places;
    struct interner solved; /* groups of facts for which inputs were searched, */
    VEC(int) solve_results; /* and the result of each search: see synccheck_solve.c */
    int64_t tries_left;     /* number of values that all searches together may still try */
    VEC(struct solve_node) nodes;
    VEC(int) node_of; /* by value; an entry is valid only if `nodes` has the value there */
    int confirmed;    /* findings */
    bool doubts;      /* exact: something may have happened that could not be confirmed */
    int top, zero, one;
    int recent_int[RECENT_INTS]; /* values of integers, by their last bits; 0: none yet */
    size_t *recent_slots;        /* slots that were asked for, by address of the symbol */
    int64_t steps, step_limit;
    int64_t *steps_left;        /* steps left for hasty tries; NULL: any number */
    size_t stored, store_limit; /* bytes of states */
    const char *gave_up;        /* the reason, or NULL */
    int64_t *lane_scratch;
    int32_t *blob; /* storage for a packed state */
    /* scratch for meetings of threads, by element */
    int *owner_stamp, *owner_first, *owner_second;
    int64_t owner_size;
    int owner_now;
};

/* --- synccheck_value.c --- */
void sync_values_init(struct sync_check *k);
const struct sync_value *sync_value_at(const struct sync_check *k, int v);
const struct atom *sync_atom_at(const struct sync_check *k, int a);
/* Returns true if the atom is made of other values, its `arg`. */
static inline bool atom_is_made(const struct atom *a)
{
    return a->kind == ATOM_OP || a->kind == ATOM_LOAD;
}
const int64_t *sync_value_lanes_at(const struct sync_check *k,
                                   const struct sync_value *v); /* NULL: none */
uint64_t sync_value_leaves(const struct sync_check *k, int v);
uint64_t sync_expr_leaves(const struct sync_check *k, const struct expr *e); /* the leaves of e */
bool sync_value_number(const struct sync_check *k, int v, int64_t *out);
int sync_value_int(struct sync_check *k, int64_t c);
int sync_value_atom(struct sync_check *k, struct atom *a);
int sync_value_from_lanes(struct sync_check *k, const int64_t *lanes);
int sync_value_add(struct sync_check *k, int a, int b, int64_t sign); /* returns a + sign * b */
int sync_value_thread(struct sync_check *k, int axis);                /* thread.x … */
/* Returns the result of the op on operands of type t. */
int sync_value_op(struct sync_check *k, enum op op, enum dtype t, const int *args, int count);
/* Returns the result of an op that wraps around, so that it is not a sum. */
int sync_value_wrapped(struct sync_check *k, enum op op, enum dtype t, const int *args, int count);
int sync_value_modular(struct sync_check *k, int64_t c, int64_t step);
/* Returns the terms of v as the form of a fact: v = scale * form + c (v must be a SUM or LANES
 * with terms). */
int sync_value_form(struct sync_check *k, int v, int64_t *scale);
/* Returns v with every WIDE or FRESH atom of `site` replaced: by the atom plus `shift` if the
 * shift is known, else v becomes TOP. */
int sync_value_renew(struct sync_check *k, int v, int site, bool known, int64_t shift);
/* Add and subtract with saturation: FACT_NONE and FACT_MANY stay as they are. */
int64_t sync_add_saturated(int64_t a, int64_t b);
int64_t sync_sub_saturated(int64_t a, int64_t b);
int64_t sync_mul_saturated(int64_t a, int64_t b);

/* --- synccheck_eval.c --- */

/* The division of the values of a form by a condition. */
struct sync_split {
    bool decided, truth;
    int form; /* -1: the condition depends on values that are not known */
    int true_parts, false_parts;
    int64_t true_low[2], true_high[2], false_low[2], false_high[2];
};
int sync_eval_value(struct sync_check *k, struct sync_state *s, const struct expr *e);
/* Returns the rows of a gather: the first row if they follow each other (*contiguous), or a name
 * for them, or TOP. */
int sync_eval_rows(struct sync_check *k, struct sync_state *s, const struct expr *e,
                   bool *contiguous);
/* Returns the rows that a register tile gets, for sync_eval_rows. */
int sync_eval_rows_set(struct sync_check *k, struct sync_state *s, const struct expr *e);
/* Returns a new filling of a shared tile. plain: its elements are those of a view that is never
 * written. */
int sync_eval_filling(struct sync_check *k, struct sync_state *s, bool plain);
void sync_eval_condition(struct sync_check *k, struct sync_state *s, const struct expr *e,
                         struct sync_split *out);
/* Returns whether numbers decide the condition of a loop. */
bool sync_eval_ends_by_numbers(struct sync_check *k, struct sync_state *s,
                               const struct expr *condition);
/* Returns the threads of mask for which e is true (negate: false), as 1, 0, or LANE_UNKNOWN for
 * each lane. */
int sync_eval_mask(struct sync_check *k, struct sync_state *s, int mask, const struct expr *e,
                   bool negate);
/* Adds facts under which e holds (negate: does not hold) in every thread. Returns false if it
 * finds none. */
bool sync_force_condition(struct sync_check *k, struct sync_state *s, const struct expr *e,
                          bool negate);
void sync_eval_assume(struct sync_check *k, struct sync_state *s, const struct expr *e,
                      bool *possible);
/* Adds facts about sizes that hold because a block runs, so the grid has blocks. */
void sync_eval_grid_facts(struct sync_check *k, struct sync_state *s);

/* --- synccheck_state.c --- */
struct fact *sync_fact_find(struct sync_state *s, int form);
void sync_fact_interval(const struct sync_check *k, const struct sync_state *s, int form,
                        int64_t *low, int64_t *high);
/* Intersects the fact with low … high. Returns false if nothing is left. */
bool sync_fact_add(struct sync_check *k, struct sync_state *s, int form, int64_t low, int64_t high);
/* Gives the FRESH or WIDE atom of `site` a new value: the old one plus shift if that is known,
 * else a value unrelated to the old one. */
void sync_state_renew(struct sync_check *k, struct sync_state *s, int site, bool known,
                      int64_t shift);
/* Handles the head of a loop, and widens. ends: numbers decide its condition. Returns false if they
 * end the loop soon, so that comparing states is not needed. */
bool sync_state_head(struct sync_check *k, struct sync_state *s, int loop, bool ends);
void sync_state_begin(struct sync_check *k, struct sync_state *s);
void sync_state_copy(const struct sync_check *k, struct sync_state *to,
                     const struct sync_state *from);
/* Adds s to the states to continue from, unless an equal one is there. */
void sync_state_park(struct sync_check *k, struct sync_state *s, int pc);
void sync_state_load(const struct sync_check *k, int number, struct sync_state *s);
void sync_state_touch(struct sync_check *k, struct sync_state *s,
                      int access); /* adds an access since the
                                                                      * last barrier */
void sync_state_launch(struct sync_check *k, struct sync_state *s, int access);
void sync_state_commit(const struct sync_check *k, struct sync_state *s);
void sync_state_wait(struct sync_check *k, struct sync_state *s, int64_t groups);
/* Forgets the tile's copies in flight. */
void sync_state_land(const struct sync_check *k, struct sync_state *s, int tile);

/* --- synccheck_conflict.c --- */
int sync_access_make(struct sync_check *k, struct sync_state *s,
                     int site); /* -1: it touches nothing */
static inline const struct sync_access *access_at(const struct sync_check *k, int a)
{
    return k->accesses.item.data[a];
}
/* Returns true if a thread may touch another part than the others. Finds it once for each access. */
bool sync_access_has_lanes(struct sync_check *k, int a);
/* Returns whether a and b, in this order, meet. in_flight: in any threads; otherwise in two
 * different ones. */
enum meeting sync_access_meet(struct sync_check *k, const struct sync_state *s, int a, int b,
                              bool in_flight, struct meeting_at *out);

/* --- synccheck_solve.c --- */
/* Returns true if it finds inputs under which all facts of s and the constraints hold. */
bool sync_solve(struct sync_check *k, const struct sync_state *s, const struct fact *more,
                int count);
/* Returns true if there certainly are inputs for these facts alone. */
bool sync_facts_solve(struct sync_check *k, const struct fact *facts, int count);
void sync_fact_key(const struct sync_check *k, const struct fact *f, uint64_t key[2]);

/* --- synccheck_fix.c: changes of the text that fix the latest diagnostic --- */

/* Adds a barrier between two accesses. If `wait`, the place of a wait for a copy, is given, the
 * barrier comes after it. */
void sync_fix_with_barrier(struct sync_check *k, int early, int late, struct loc wait);
/* Adds a wait for all but `groups` groups of copies, and a barrier, before the later access. */
void sync_fix_with_wait(struct sync_check *k, int early, int late, int groups);
/* Replaces a number of the text. */
void sync_fix_number(struct sync_check *k, const struct expr *number, int64_t value);
/* Adds a wait at the end of the copy's tile or of the kernel. */
void sync_fix_at_end(struct sync_check *k, const struct sync_finding *f);

/* Adds a statement before another. */
void sync_fix_before(struct sync_check *k, const struct stmt *s, const char *statement);
/* Adds a statement at the end of the role, or of the kernel, that has s. */
void sync_fix_at_end_of_role(struct sync_check *k, const struct stmt *s, const char *statement);

/* --- the rest --- */
bool sync_skeleton_make(struct sync_check *k); /* false: nothing to check */
void sync_relevant_scalars(struct sync_check *k);
int sync_tracked_slot(const struct sync_check *k, const struct sym *s); /* -1: not tracked */
bool sync_relevant_stmt(const struct sync_check *k, const struct stmt *s, bool in_loop);
bool sync_touches_shared(const struct expr *e);
bool sync_stores_shared_value(const struct stmt *s); /* a value that all threads share */
bool sync_is_checked_tile(const struct sym *s);
void sync_explore(struct sync_check *k);
void sync_report_findings(struct sync_check *k);

#endif
