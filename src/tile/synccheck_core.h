/* The static synchronisation check, its parts and what they share. Private to synccheck*.c.
 *
 *   synccheck_skeleton.c  kernel -> flat code of what matters to synchronisation: accesses of
 *   synccheck_relevant.c  shared tiles, barriers, copies, branches, the scalars that decide them
 *   synccheck_value.c     scalars as values: numbers, sums over unknowns, one number a thread
 *   synccheck_eval.c      expressions and conditions -> values, with what is known of the unknowns
 *   synccheck_state.c     where an execution stands, made comparable: loops end in a fixpoint
 *   synccheck_explore.c   steps through the code, along all branches that are not decided
 *   synccheck_conflict.c  do two accesses meet?
 *   synccheck_solve.c     inputs that make a path and a meeting happen
 *   synccheck_report.c    findings -> diagnostics
 *   synccheck_fix.c       where in the text what is missing goes
 *   synccheck.c           the pass: explore widened; what that finds must be confirmed exactly
 *
 * How it thinks. `sync()` divides the execution of a block into epochs; within one, threads run in
 * any order, so two accesses of overlapping parts of a tile, one of them a write, race. A copy
 * lives from its `async` to the wait that completes it and conflicts with everything meanwhile;
 * after the wait it counts as a write of that epoch, since other threads' parts may still be under
 * way. So the state is small: accesses since the last barrier, copies under way in their commit
 * groups, and the scalars that decide stage indices and conditions.
 *
 * It runs twice. *Widened*, an unbounded loop counter becomes an unknown after a few rounds, which
 * makes the states finite and covers every execution: nothing found means that there is no race.
 * *Exact*, nothing is forgotten, the unknowns are the kernel's inputs, and a finding counts only
 * with values of the inputs that lead to it: nothing is reported that cannot happen. What only the
 * widened run finds is left undecided.
 */
#ifndef TW_SYNCCHECK_CORE_H
#define TW_SYNCCHECK_CORE_H

#include "tile/passes.h"

/* --- interning: equal bytes, one number --- */

struct interner {
    struct arena *arena;
    VEC(const void *) item;
    VEC(uint64_t) hash;
    VEC(size_t) size;
    uint32_t *slot; /* item + 1, 0 free */
    size_t slots;   /* a power of two */
};
void interner_init(struct interner *t, struct arena *a);
/* The number of this blob; *is_new (may be NULL) says whether it came for the first time. Blobs are
 * copied. */
int intern(struct interner *t, const void *blob, size_t size, bool *is_new);

/* --- values --- */

/* The unknowns that sums are made of. */
enum atom_kind {
    ATOM_PARAM,   /* scalar parameter */
    ATOM_BLOCK,   /* block.x … */
    ATOM_LITERAL, /* a float: its bits in low */
    ATOM_LOAD,    /* element of a const view: the same indices, the same value */
    ATOM_OP,      /* an op on values, where it is no sum */
    ATOM_FRESH,   /* what an expression gave the latest time (widened) or the n-th time (exact) */
    ATOM_WIDE     /* a variable at the head of a loop, after widening */
};
struct atom {
    int kind, op, dtype, axis;
    int site;          /* FRESH, WIDE: which */
    int count;         /* OP, LOAD: arguments; FRESH: n */
    int arg[4];        /* values */
    int64_t low, high; /* range */
    uint64_t sites;    /* as in struct value */
    uint64_t leaves;   /* a bit for each parameter, block index and view that it is made of */
    const struct sym *sym;
};

enum value_kind {
    VALUE_TOP,    /* anything, and in each thread something else */
    VALUE_SUM,    /* c + terms; without terms the number c */
    VALUE_LANES,  /* terms + a number for each thread, LANE_UNKNOWN where unknown */
    VALUE_MODULAR /* c + step * t for some t >= 0, c >= 0 */
};
enum { MAX_TERMS = 3 };
#define LANE_UNKNOWN INT64_MIN
struct value {
    int kind;
    int terms;
    int atom[MAX_TERMS]; /* increasing; 0 past the last */
    int lanes;           /* number of the interned lanes; -1 none */
    int64_t factor[MAX_TERMS];
    int64_t c;
    int64_t step;
    uint64_t sites; /* bit (site % 64) of every FRESH and WIDE atom that it depends on */
};

/* --- what a path has told about a sum: an interval --- */

#define FACT_NONE INT64_MIN /* no lower bound */
#define FACT_MANY INT64_MAX /* no upper bound */
struct fact {
    int form;    /* value: terms alone, the first factor > 0, factors without a common divisor */
    int residue; /* of a widened counter, which is residue + modulus * t, t >= 0; -1: not known */
    int64_t low, high;
};

/* --- the skeleton --- */

enum touch_kind { TOUCH_READ, TOUCH_WRITE, TOUCH_ATOMIC, TOUCH_COPY };

/* A place of the program that touches a shared tile. Its number is called its site. */
struct touch {
    enum touch_kind kind;
    const struct expr *access; /* NULL: the whole tile, by its declaration */
    const struct expr *stored; /* a scalar that all threads share is written; NULL: else */
    int tile;
    int mask;        /* slot that says which threads come here */
    bool collective; /* all threads, each some unknown part; else each thread the whole box */
    int pipeline;    /* that it stands in: a number from 1; 0: none. No barrier can stand there */
    bool element;    /* one element is read */
    bool plain;      /* the whole tile gets elements of a view that nobody writes */
    struct loc loc;
    const struct stmt *stmt;
    const struct inlining *inlined; /* the call whose body it stands in, or one further in */
};

enum instr_kind {
    I_TOUCH, /* first, count: touches of one statement, reads before writes */
    I_SYNC,
    I_COMMIT,
    I_WAIT,   /* expr */
    I_SET,    /* slot = expr, for the threads of mask */
    I_FORGET, /* slot holds nothing any more */
    I_FILL,   /* slot, of a tile: it has other elements now; negate: a copy of a const view's */
    I_BRANCH, /* expr false: to target */
    I_JUMP,   /* to target */
    I_ASSUME, /* expr */
    I_ENTER,  /* a loop begins */
    I_HEAD,   /* a loop, before its condition */
    I_JOIN,   /* paths meet */
    I_MASK,   /* slot = the threads of mask with expr true (negate: false; NULL: all of mask) */
    I_MURKY,  /* slot: nobody knows which of its threads go on */
    I_SKIP,   /* no thread in mask: to target */
    I_DEAD,   /* the tile's scope ends */
    I_FREE,   /* the tile is freed; first: which free */
    I_END     /* negate: by a return */
};
struct instr {
    enum instr_kind kind;
    int slot, mask, tile, loop;
    int target; /* a label while being made, then an instruction */
    int first, count;
    bool negate;
    const struct expr *expr;
    struct loc loc;
    uint64_t live; /* leaves that this instruction or a later one asks for */
};

struct loop {
    const struct expr *condition; /* NULL: forever */
    VEC(int) slots;               /* assigned inside */
    bool steps;                   /* its step is taken in every round */
    int counter;                  /* slot that does nothing but count its rounds; -1: none */
    int64_t step, bound;          /* of the counter, which stays below */
};

/* A scalar that matters. */
struct tracked {
    /* NULL: a mask. A scalar; a tile of rows for a gather; or a shared tile of which elements
     * decide: its slot holds which filling of the tile it is (exact). */
    const struct sym *sym;
    bool indexes; /* decides which part of a tile is touched, not only conditions */
};

struct skeleton {
    VEC(struct instr) code;
    VEC(struct touch) touches;
    VEC(struct loop) loops;
    VEC(struct tracked) slots;
    VEC(const struct sym *) tiles;
    VEC(struct loc) frees;
    /* A period of every division and remainder that indices go through; 0: none, or too large. */
    int64_t modulus;
    int64_t reach;   /* widening forgets bounds beyond this on either side */
    int64_t deepest; /* largest n of an async_wait(n): older groups are alike */
};

/* --- states --- */

/* A touch as it happened. */
struct access {
    int site, tile, kind, mask;
    int waited;  /* a copy that a wait has completed */
    int stored;  /* value, -1: not known to be one */
    int gathers; /* bit for each axis: start stands for the rows, not the first of them */
    int rank;
    int start[MAX_RANK]; /* values */
    int extent[MAX_RANK];
};

enum { UNCOMMITTED = -1, NEVER_LEFT = -2 };
struct flight {
    int access;
    int age;  /* groups committed after it, or UNCOMMITTED */
    int left; /* its age when a wait let it be the latest time, or NEVER_LEFT: for the message */
};

enum { MAX_FACTS = 64, MAX_DONE = 1024, MAX_FLIGHTS = 256, MAX_SLOTS = 512, MAX_LOOPS = 256 };
struct state {
    int pc;
    int unsure; /* exact: the path went through a branch on something unknown */
    int fresh;  /* exact: FRESH atoms made so far */
    int facts, done, flights;
    int slot[MAX_SLOTS];               /* values; -1: holds nothing */
    int visits[MAX_LOOPS];             /* of a loop's head: rounds, or the latest head of it */
    struct fact fact[MAX_FACTS];       /* by form */
    int access[MAX_DONE];              /* since the last barrier, increasing */
    struct flight flight[MAX_FLIGHTS]; /* oldest first */
};

/* --- findings --- */

enum finding_kind {
    FIND_RACE,   /* both since the last barrier */
    FIND_SAME,   /* threads within one execution of a statement */
    FIND_FLIGHT, /* a copy under way meets an access */
    FIND_FREE,   /* freed with a copy under way: late is the free */
    FIND_SCOPE,  /* the tile's scope ends with a copy under way */
    FIND_END     /* the kernel does */
};
struct finding {
    enum finding_kind kind;
    int early, late; /* sites; SCOPE: -1; END: its instruction */
    int tile;
    /* how it came about the first time: */
    bool confirmed, waited;
    int age, left; /* as of the copy under way */
    int thread[2]; /* -1: not known */
    int64_t at[MAX_RANK];
};

enum meeting { MEET_NEVER, MEET_MAYBE, MEET_SURE };
struct meeting_at {
    int constraints; /* exact: what must hold besides, for MEET_SURE */
    struct fact constraint[3 * MAX_RANK];
    int thread[2]; /* -1: not known */
    int64_t at[MAX_RANK];
};

/* A value that conditions are made of, while inputs are looked for. */
struct solve_node {
    int value;
    int last; /* of the unknowns that it depends on; -1: none */
    bool has_value;
    int64_t now;
};

struct sync_check {
    struct arena *arena; /* the check's own */
    const struct kernel *kernel;
    struct diag *diag;
    struct skeleton code;
    int threads; /* of a block: lanes of a VALUE_LANES */
    bool exact;
    bool hasty; /* the second try: rounds that are alike are left out */
    struct interner values, atoms, lanes, accesses, states, heads, finding_keys, pairs;
    struct interner lane_ops; /* ops on lanes that were done before, and their results */
    VEC(int) lane_results;
    int thread_values[3];           /* thread.x … once they were asked for; -1 */
    VEC(const struct expr *) sites; /* of FRESH atoms; WIDE ones follow as -1 - slot */
    VEC(struct finding) findings;
    VEC(enum meeting) pair_results;
    VEC(struct meeting_at) pair_places;
    struct interner solved; /* groups of facts that inputs were looked for, */
    VEC(int) solve_results; /* and what came of it: synccheck_solve.c */
    int64_t tries_left;     /* values to try for them, in all */
    VEC(struct solve_node) nodes;
    VEC(int) node_of; /* by value; what is none of it is not in `nodes` */
    int confirmed;    /* findings */
    bool doubts;      /* exact: something may have happened that could not be confirmed */
    int top, zero, one;
    int64_t steps, step_limit;
    int64_t *steps_left;        /* for hasty tries; NULL: any number */
    size_t stored, store_limit; /* bytes of states */
    const char *gave_up;        /* why, or NULL */
    int64_t *lane_scratch;
    int32_t *blob; /* room for a packed state */
    /* scratch for meetings of threads, by element */
    int *owner_stamp, *owner_first, *owner_second;
    int64_t owner_size;
    int owner_now;
};

/* --- synccheck_value.c --- */
void sync_values_init(struct sync_check *k);
const struct value *value_at(const struct sync_check *k, int v);
const struct atom *atom_at(const struct sync_check *k, int a);
const int64_t *value_lanes_at(const struct sync_check *k, const struct value *v); /* NULL: none */
uint64_t value_leaves(const struct sync_check *k, int v);
uint64_t expr_leaves(const struct sync_check *k, const struct expr *e); /* what it asks for */
bool value_number(const struct sync_check *k, int v, int64_t *out);
int sync_value_int(struct sync_check *k, int64_t c);
int value_atom(struct sync_check *k, struct atom *a);
int value_from_lanes(struct sync_check *k, const int64_t *lanes);
int sync_value_add(struct sync_check *k, int a, int b, int64_t sign); /* a + sign * b */
int sync_value_thread(struct sync_check *k, int axis);                /* thread.x … */
/* The op on operands of type t. */
int value_op(struct sync_check *k, enum op op, enum dtype t, const int *args, int count);
/* The same where the result wraps around, so that it is no sum. */
int value_wrapped(struct sync_check *k, enum op op, enum dtype t, const int *args, int count);
int value_modular(struct sync_check *k, int64_t c, int64_t step);
/* The terms of v as a fact's form: v = scale * form + c (v must be a SUM or LANES with terms). */
int value_form(struct sync_check *k, int v, int64_t *scale);
/* v with every WIDE or FRESH atom of `site` replaced: by `shift` more than itself, or, unless shift
 * is known, by TOP. */
int value_renew(struct sync_check *k, int v, int site, bool known, int64_t shift);
/* FACT_NONE and FACT_MANY stay in add and sub. */
int64_t add_saturated(int64_t a, int64_t b);
int64_t sub_saturated(int64_t a, int64_t b);
int64_t mul_saturated(int64_t a, int64_t b);

/* --- synccheck_eval.c --- */

/* How a condition divides the values of a form. */
struct split {
    bool decided, truth;
    int form; /* -1: nothing is known about what decides */
    int true_parts, false_parts;
    int64_t true_low[2], true_high[2], false_low[2], false_high[2];
};
int eval_value(struct sync_check *k, struct state *s, const struct expr *e);
/* The rows of a gather: the first of those in a row (*contiguous), or a name for them; TOP. */
int eval_rows(struct sync_check *k, struct state *s, const struct expr *e, bool *contiguous);
/* What a register tile of rows holds now, for eval_rows. */
int eval_rows_set(struct sync_check *k, struct state *s, const struct expr *e);
/* A shared tile has new elements; plain: those of a view that nobody writes. */
int eval_filling(struct sync_check *k, struct state *s, bool plain);
void eval_condition(struct sync_check *k, struct state *s, const struct expr *e, struct split *out);
/* Which threads of mask have e true (negate: false): 1, 0, or LANE_UNKNOWN a lane. */
int eval_mask(struct sync_check *k, struct state *s, int mask, const struct expr *e, bool negate);
/* Adds facts under which e holds (negate: does not) in every thread. false: none are found. */
bool force_condition(struct sync_check *k, struct state *s, const struct expr *e, bool negate);
void eval_assume(struct sync_check *k, struct state *s, const struct expr *e, bool *possible);
/* A block runs, so the grid has blocks: what that says of the sizes. */
void eval_grid_facts(struct sync_check *k, struct state *s);

/* --- synccheck_state.c --- */
struct fact *fact_find(struct state *s, int form);
void fact_interval(const struct sync_check *k, const struct state *s, int form, int64_t *low,
                   int64_t *high);
/* Intersects; false: nothing is left. */
bool fact_add(struct sync_check *k, struct state *s, int form, int64_t low, int64_t high);
/* The FRESH or WIDE atom of `site` gets a new value: the old plus shift, or unrelated to it. */
void state_renew(struct sync_check *k, struct state *s, int site, bool known, int64_t shift);
/* At the head of a loop. Widens; false: numbers end the loop soon, so there is no need to stop and
 * compare states. */
bool state_head(struct sync_check *k, struct state *s, int loop);
void state_begin(struct sync_check *k, struct state *s);
void state_copy(const struct sync_check *k, struct state *to, const struct state *from);
/* Puts s among the states to continue from, unless an equal one is there. */
void state_park(struct sync_check *k, struct state *s, int pc);
void state_load(const struct sync_check *k, int number, struct state *s);
void state_touch(struct sync_check *k, struct state *s, int access); /* since the last barrier */
void state_launch(struct sync_check *k, struct state *s, int access);
void state_commit(const struct sync_check *k, struct state *s);
void state_wait(struct sync_check *k, struct state *s, int64_t groups);
/* Forgets the tile's copies under way. */
void state_land(const struct sync_check *k, struct state *s, int tile);

/* --- synccheck_conflict.c --- */
int access_make(struct sync_check *k, struct state *s, int site); /* -1: touches nothing */
/* Do a and b, in this order, meet? in_flight: in any thread, else in two different ones. */
enum meeting access_meet(struct sync_check *k, const struct state *s, int a, int b, bool in_flight,
                         struct meeting_at *out);

/* --- synccheck_solve.c --- */
/* Are there inputs under which all facts of s and the constraints hold? false: none found. */
bool sync_solve(struct sync_check *k, const struct state *s, const struct fact *more, int count);
/* Are there inputs for these facts by themselves, without a doubt? */
bool facts_solve(struct sync_check *k, const struct fact *facts, int count);
void fact_key(const struct sync_check *k, const struct fact *f, uint64_t key[2]);

/* --- synccheck_fix.c: changes of the text for the latest diagnostic, where there is a place --- */

/* Adds a barrier between two accesses; after `wait`, the place of a wait for a copy, if there is one. */
void fix_with_barrier(struct sync_check *k, int early, int late, struct loc wait);
/* Adds a wait for all but `groups` groups of copies, and a barrier, before the later access. */
void fix_with_wait(struct sync_check *k, int early, int late, int groups);
/* Replaces a number of the text. */
void fix_number(struct sync_check *k, const struct expr *number, int64_t value);
/* A wait where the copy's tile or the kernel ends. */
void fix_at_end(struct sync_check *k, const struct finding *f);

/* --- the rest --- */
bool skeleton_make(struct sync_check *k); /* false: nothing to check */
void relevant_scalars(struct sync_check *k);
int tracked_slot(const struct sync_check *k, const struct sym *s); /* -1: not tracked */
bool relevant_stmt(const struct sync_check *k, const struct stmt *s, bool in_loop);
bool touches_shared(const struct expr *e);
bool stores_shared_value(const struct stmt *s); /* one that all threads share */
bool is_checked_tile(const struct sym *s);
void sync_explore(struct sync_check *k);
void report_findings(struct sync_check *k);

#endif
