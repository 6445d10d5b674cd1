/* The static synchronisation check of kernels with roles, mbarriers and work in the background.
 * Private to synccheck_roles*.c.
 *
 *   synccheck_roles.c         runs every combination of choices
 *   synccheck_roles_choices.c trip counts and undecided conditions of a run, its findings
 *   synccheck_roles_trace.c   control flow of a role -> its trace, for one choice
 *   synccheck_roles_emit.c    a statement -> steps of the trace; sums and factors of products
 *   synccheck_roles_memo.c    results of statements, which loops repeat
 *   synccheck_roles_run.c     runs the traces against each other
 *   synccheck_roles_clock.c   clocks of roles
 *   synccheck_roles_barrier.c mbarriers: phases, arrivals, bytes
 *   synccheck_roles_cluster.c blocks of a cluster: their beginnings, ends and barrier
 *   synccheck_roles_report.c  findings -> diagnostics
 *
 * How it works. Scalars decide the control flow of a role, and no role sees a scalar of another. So
 * once the trip counts are chosen, each role is a list of steps: its trace. A condition on values
 * that are not known is a fact about a form of them (synccheck_eval.c). All roles share the facts,
 * so loops over the same expression make the same number of trips in each role. A choice must leave
 * inputs for which all facts hold (synccheck_solve.c), so `p < k` in steps of 64 and
 * `t < cdiv(k, 64)` agree, too.
 *
 * The traces run once, with vector clocks, and that run decides all orders of their steps. Waits
 * are the only steps that wait, and each waits for one phase. If the arrivals at every phase are
 * the same in all orders, an order cannot change which waits return, or what they order. The run
 * checks this premise: each arrival at a phase must come after all arrivals and copies of the
 * phase before, by an order that the program has. If one does not, there is an order in which it
 * counts for the earlier phase, and that is reported. So no interleaving needs to be tried; the
 * random programs of tests/sync compare the verdicts with all of them.
 *
 * Agents. A warpgroup of a role is an agent, and so is the one thread of a role that starts copies.
 * A clock has components for the accesses of each agent, for the products of each warpgroup and its
 * steps at mbarriers, for the stores of each thread, and for the phases of each mbarrier. The
 * threads of a warpgroup are not ordered: its clock has its own accesses only up to the last
 * barrier. An arrival counts once all threads of the warpgroup have come, so it releases all
 * accesses before it.
 *
 * Clusters. The roles of all blocks of a cluster run together: each block has its own traces, made with
 * its rank, its own tiles and its own mbarriers. A step may name those of another block. It must come
 * after that block has begun (and initialised the mbarrier), and that block may not end before an agent
 * of its own knows that the step is done.
 *
 * Two accesses race if they meet, one of them writes, and the clock of the later one does not cover
 * the earlier. Work in the background is an access that is covered once a wait for it is. */
#ifndef TW_SYNCCHECK_ROLES_H
#define TW_SYNCCHECK_ROLES_H

#include "synccheck/synccheck_core.h"

/* --- traces --- */

enum step_kind {
    STEP_TOUCH,    /* access, by the threads of the role (thread: by one) */
    STEP_COPY,     /* starts a copy of `number` bytes into `access`, which completes on `barrier` */
    STEP_STORE,    /* starts a copy out of `access` */
    STEP_DOT,      /* a product that reads `access` begins; it is the number-th of its role */
    STEP_DOT_WAIT, /* products up to the number-th are done */
    STEP_STORE_WAIT, /* waits until at most `number` stores are under way */
    STEP_LOAD,       /* starts a copy by all threads into `access`, which async_wait waits for */
    STEP_LOAD_COMMIT,
    STEP_LOAD_WAIT, /* `number` groups stay */
    STEP_SYNC,
    STEP_CLUSTER_SYNC,
    STEP_BEGIN, /* the block begins, or initialises `number` mbarriers from `barrier` on */
    STEP_ARRIVE,
    STEP_EXPECT, /* an arrival that announces `number` bytes */
    STEP_WAIT,   /* for the role's next phase of `barrier`; number >= 0: of that parity */
    STEP_GONE    /* the scope of `access` ends, or it is freed */
};

struct role_step {
    enum step_kind kind;
    bool thread; /* by the one thread of the role */
    bool common; /* before the roles: by all warps of the block */
    int block;   /* rank of the block whose tile or mbarrier it is */
    int barrier; /* number of the mbarrier */
    int access;
    int statement; /* number of the statement's execution */
    int64_t number;
    const struct stmt *stmt;
};

struct role_trace {
    const struct stmt *role; /* NULL: warps without a role, or the whole block */
    int block;               /* its rank in the cluster */
    int groups;              /* warpgroups; 1 if there are fewer than 4 warps */
    int dots;
    bool has_first; /* it has the first warp, and so the one thread of the block */
    VEC(struct role_step) steps;
};

/* --- findings --- */

enum role_finding_kind {
    ROLE_RACE,       /* two accesses, one of which may be in the background */
    ROLE_PENDING,    /* a copy, store or product is under way at an end */
    ROLE_SUM,        /* the sum of a product is used before a wait */
    ROLE_FACTOR,     /* a register factor is changed before a wait */
    ROLE_PARITY,     /* a parity that is not 0 or 1 */
    ROLE_BYTES,      /* bytes announced and bytes copied differ */
    ROLE_STUCK,      /* waits that never end */
    ROLE_EARLY,      /* an arrival may count for the phase before */
    ROLE_EARLY_COPY, /* a copy may count for the phase before */
    ROLE_UNBEGUN,    /* memory of a block that may not have begun */
    ROLE_LEFT,       /* memory of a block that may have ended */
    ROLE_OVERTAKEN   /* a phase that is waited for may be over already, and the next one, too */
};

/* Work in the background, or none. */
enum role_work { WORK_NONE, WORK_COPY, WORK_STORE, WORK_DOT, WORK_LOAD };

/* A place in the program that a finding is about. */
struct role_place {
    const struct stmt *stmt;
    struct loc loc;
    enum role_work work;
    enum touch_kind kind;
    int role;  /* number of the trace; -1: all warps, before the roles */
    int block; /* rank of the block that does it */
    int site;  /* of the access; -1: none */
    bool thread;
};

/* A role that waits forever. */
struct role_waiting {
    struct role_place place;
    int barrier; /* -1: it waits for the other warps at sync() */
    int64_t phase;
    int64_t arrivals; /* of the phase, so far */
};

enum { MOST_WAITING = 8 };
struct role_finding {
    enum role_finding_kind kind;
    struct role_place early, late;
    const struct sym *tile;   /* RACE, PENDING, SUM, FACTOR */
    int barrier;              /* BYTES, EARLY, OVERTAKEN; UNBEGUN, LEFT: -1 if it is a tile */
    int64_t announced, bytes; /* BYTES; PARITY: `bytes` is the parity */
    const struct stmt *few;   /* RACE: an expect that leaves out bytes of `early`; NULL: none */
    bool at_scope;            /* PENDING: its scope ends, not its role */
    const struct stmt
        *waited; /* RACE: a wait for `early` by one thread of the later role; NULL: none */
    int waiting; /* STUCK */
    struct role_waiting waits[MOST_WAITING];
};

/* --- the check --- */

/* A decision of a run that the facts leave open. */
struct role_choice {
    int value, options;
};

/* Choices for a loop or an `if` whose conditions are open; its later runs repeat the first ones. */
enum { CHOSEN_MOST = 2 };
struct role_chosen {
    const void *at; /* the loop, or the condition of the `if` */
    struct loc loc;
    bool is_loop;
    int count, next;
    int value[CHOSEN_MOST];
};

enum { ROLE_BUCKETS = 256 };
struct role_memo;
struct roles_check {
    struct sync_check *k;
    struct sync_state *state; /* scalars and facts */
    VEC(struct role_trace) traces;
    VEC(struct role_trace) spare;     /* traces of earlier runs, for their storage */
    VEC(const struct sym *) barriers; /* symbols; the elements of each are numbered on */
    VEC(int) first_barrier;
    int barriers_each; /* of a block */
    int barrier_count; /* of all blocks: those of block r are numbered from r * barriers_each on */
    int blocks;        /* of a cluster */
    int block;         /* whose traces are made */
    VEC(const struct sym *) products; /* register tiles that products use */
    VEC(struct role_choice) choices;
    size_t choice;
    VEC(struct role_chosen) chosen;
    VEC(int) trips;   /* numbers of trips to try; the second is the largest */
    int fresh_before; /* number of unknowns that the statements before the roles made */
    bool unrelated;   /* this run decided on values that no other role knows */
    bool doubtful;    /* this run has a finding that may not happen */
    bool impossible;  /* this run contradicts an assume */
    const char *why;  /* the reason of doubts */
    int64_t steps;    /* of all runs */
    bool confirmed;   /* there are inputs that lead to the findings of this run */
    VEC(struct role_finding) findings;     /* of this run */
    struct role_memo *memos[ROLE_BUCKETS]; /* see synccheck_roles_memo.c */
};

/* synccheck_roles_choices.c */
/* Returns the number of rounds that the loop makes in this run, if the facts leave it open. */
int sync_choose_trips(struct roles_check *r, const struct stmt *loop);
/* Returns whether a condition of an `if` holds in this run. */
bool sync_choose_truth(struct roles_check *r, const struct expr *condition);
/* Returns true if this run follows the less usual of two ways at a condition; `at` names the choice. */
bool sync_choose_other(struct roles_check *r, const void *at);
void sync_add_finding(struct roles_check *r, const struct role_finding *f);
/* Stops the check as undecided; the first reason counts. */
void sync_give_up(struct roles_check *r, const char *why);

/* synccheck_roles_trace.c */
void sync_make_traces(struct roles_check *r);

/* synccheck_roles_emit.c */
/* The trace that a walk adds to, and what it knows of the role's products. */
struct product_use {
    int sum, factor; /* number of the latest product that adds to it, or reads it; 0: none */
    const struct stmt *sum_at, *factor_at;
};
struct tracer {
    struct roles_check *r;
    struct role_trace *trace;
    int number; /* of the trace */
    int statement;
    bool thread, common;
    int block;                /* its rank in the cluster */
    int dots_done;            /* products up to this one are waited for */
    struct product_use *uses; /* by number in r->products */
    struct rounds *rounds;    /* the loop around; NULL: none */
    int longest;              /* rounds before this one, in the loop around that has made most */
};
/* Adds the steps of a statement without a body. */
void sync_emit_role_statement(struct tracer *t, const struct stmt *s);
void sync_emit_role_reads(struct tracer *t, const struct stmt *s, const struct expr *e);
/* Adds the end of the scope of what s declares. */
void sync_emit_role_scope_end(struct tracer *t, const struct stmt *s);
/* Notes products that the role has not waited for at its end. */
void sync_note_products_left(struct tracer *t);
/* Returns true if the statements do anything that a trace has. */
bool sync_role_list_matters(const struct roles_check *r, const struct stmt *s);

/* synccheck_roles_memo.c */
/* The kinds of results that are kept; MEMO_ACCESS and on: an access of that touch_kind. */
enum { MEMO_VALUE, MEMO_TRUTH, MEMO_BARRIER, MEMO_ACCESS };
/* Returns the place for the result of e in statement s (both may be NULL) for the values that the
 * scalars have now: 0 if none is kept yet. Returns NULL if it cannot be kept. */
int *sync_role_result(struct roles_check *r, const struct expr *e, const struct stmt *s, int what);
/* Returns what sync_eval_value returns. */
int sync_role_value(struct roles_check *r, const struct expr *e);
/* Returns true if e certainly reads no tile. */
bool sync_role_reads_nothing(struct roles_check *r, const struct expr *e);

/* --- the run --- */

struct role_group {
    int trace, number; /* number within the role */
    size_t at;         /* its next step */
    int *clock;
    int own, dots; /* components: accesses, products */
    int came;      /* component: steps at mbarriers */
    int *begun;    /* by number of a product: the step that began it */
    int now;       /* number of its latest step */
    int loads;     /* groups of copies committed */
    int *waits;    /* by mbarrier: waits so far */
};
struct role_thread {
    int *clock;
    int own, stores, now, issued;
    int *waits;
    const struct stmt *waited; /* its latest wait for stores, or of its own for an mbarrier */
};

/* An access before, the latest of its place by its agent. */
struct role_record {
    int access, component, time;
    int trace, statement; /* trace -1 - block: all warps of the block */
    int load;             /* group of a load under way; 0: none */
    struct role_place place;
};

/* A step at a phase: an arrival, an announcement, a copy, or a wait. */
struct phase_step {
    int component, time;
    struct role_place place;
};
struct sync_phase {
    int64_t announced, bytes, arrivals;
    VEC(struct phase_step) arrived, copies, waited;
    int *clock; /* joined from its arrivals */
};
/* When a block begins or initialises an mbarrier; time 0: not yet. */
struct sync_begun {
    int component, time;
};
struct barrier_state {
    int completed; /* number of phases */
    int component;
    int64_t wanted; /* arrivals of a phase */
    bool failed;    /* a finding is noted, and no more are */
    struct sync_phase phase, before;
    struct sync_begun begun; /* initialised */
};

/* The elements of a tile that an access may touch, if they are numbers: low … end - 1. An axis on
 * which they are not has INT_MIN … INT_MAX. */
enum { ROLE_PARTS = 16 };
struct role_box {
    int rank;
    uint32_t parts; /* bits: first indices modulo ROLE_PARTS; normally that is one stage */
    int low[MAX_RANK], end[MAX_RANK];
};

struct role_tile {
    VEC(struct role_record) records;
    VEC(int) at[ROLE_PARTS]; /* numbers of records, in order, by each part that they touch */
};

struct roles_run {
    struct roles_check *r;
    int components;         /* a multiple of four, for vector units */
    struct role_box *boxes; /* by access */
    VEC(struct role_group) groups;
    struct role_thread *threads;    /* by trace */
    struct barrier_state *barriers; /* by number */
    int *joined;                    /* storage for a clock */
    struct role_tile *tiles;        /* by block and number */
    struct sync_begun *begun;       /* by block */
    /* By block and component: the latest step of another block at its memory. */
    struct phase_step *remote;
};

static inline struct role_tile *role_tile_at(const struct roles_run *u, int block, int tile)
{
    return &u->tiles[(size_t)block * u->r->k->code.tiles.count + (size_t)tile];
}

/* synccheck_roles_run.c */
void sync_run_traces(struct roles_check *r);

/* synccheck_roles_clock.c */
/* Components of a clock that a processor joins at once; the number of components is a multiple. */
enum { CLOCK_PART = 4 };
const struct role_step *sync_role_next_step(const struct roles_run *u, const struct role_group *g);
/* Copies to `to` what an agent of the group releases: all that its threads did before. */
void sync_role_release(const struct roles_run *u, const struct role_group *g, bool thread, int *to);
void sync_clock_join(const struct roles_run *u, int *to, const int *from);
struct role_place sync_role_place_of(const struct roles_check *r, int trace,
                                     const struct role_step *s, const struct touch *touch);

/* synccheck_roles_barrier.c */
void sync_barriers_init(struct roles_run *u, int first_component);
/* Returns false if the phase has all its arrivals, but is not complete, so that one more is too
 * many. `clock` is that of the agent with all that it releases; component and time are those of
 * the step. */
bool sync_barrier_arrive(struct roles_run *u, const struct role_step *s, const int *clock,
                         const struct phase_step *step);
void sync_barrier_copy(struct roles_run *u, const struct role_step *s, const int *clock,
                       const struct phase_step *step);
/* Returns the phase for which an agent waits that has waited `waits` times before. */
int sync_barrier_phase_awaited(const struct roles_run *u, const struct role_step *s, int waits,
                               const int *clock);
/* Passes a wait for a phase that is complete. */
void sync_barrier_pass(struct roles_run *u, const struct role_step *s, int phase, int *clock,
                       const struct phase_step *step);
/* Notes in the finding an expect that announces too few bytes, if the copy came after the phase was complete and so
 * began the next one. */
void sync_barrier_note_few(const struct roles_run *u, const struct role_record *copy,
                           struct role_finding *f);
/* Notes mbarriers whose bytes cannot come out right. Returns true if there are any. */
bool sync_barriers_explain(struct roles_run *u);

/* synccheck_roles_cluster.c */
void sync_cluster_init(struct roles_run *u);
/* Notes that the block, or mbarriers of it, begin. */
void sync_cluster_begin(struct roles_run *u, const struct role_group *g, const struct role_step *s);
/* Checks and notes a step that names memory of another block: at `time` of `component` it is done. */
void sync_cluster_remote(struct roles_run *u, const struct role_group *g, const struct role_step *s,
                         const int *clock, int component, int time);
/* Joins the clocks of all groups of the cluster, once they are there. Returns false before. */
bool sync_cluster_sync(struct roles_run *u, int *released);
/* Notes blocks that may end too early. */
void sync_cluster_ends(struct roles_run *u);

/* synccheck_roles_report.c */
void sync_report_role_findings(struct roles_check *r);

/* Checks a kernel that uses roles: reports findings, and returns the verdict. */
enum sync_verdict sync_check_roles(struct sync_check *k, const char **why);

#endif
