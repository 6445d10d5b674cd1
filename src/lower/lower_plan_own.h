/* For lower_plan*.c alone: what the plan knows, and how its parts meet. */
#ifndef TW_LOWER_PLAN_OWN_H
#define TW_LOWER_PLAN_OWN_H

#include "lower/lower_dot.h"
#include "plan/divisors.h"
#include "plan/plan.h"

/* A layout, and whether there is a reason for it: a fragment, or something derived from one. What
 * is not firm is merely coalesced, and gives way. */
struct preference {
    const struct layout *layout; /* NULL: none */
    bool firm;
    bool own; /* the expression's own; no other use asks for it */
};

struct vote {
    const struct layout *layout;
    int64_t weight;
    bool firm;
};
enum { VOTES_MOST = 8 };

struct planned_symbol { /* ST_REG */
    const struct sym *sym;
    struct preference is;
    int count;
    struct vote votes[VOTES_MOST];
};

struct planned_dot {
    struct plan_dot_use use;
    struct dot_plan plan;
};

/* One way in which a shared tile is written or read. */
struct shared_use {
    const struct expr *access; /* NULL: the whole tile, as it is declared */
    const struct expr *value;  /* what is stored in it; NULL: read, or an atomic */
    const struct layout *regs; /* NULL: a copy, to be dealt */
    bool store;
    int most, needed; /* bytes a lane */
    int weight;
    int vector; /* a copy: elements a lane */
    int apart;  /* see struct shared_access */
};

struct planned_shared {
    const struct sym *sym;
    VEC(struct shared_use) uses;
    struct layout layout;
    const struct layout *kept;
    enum shared_form form;
    int64_t wavefronts, least; /* of all accesses together, each made once for the whole part */
};

struct plan {
    struct plan_stmts stmts;
    VEC(struct planned_dot) dots;
    VEC(struct planned_symbol *) symbols;
    VEC(struct planned_shared *) tiles;
    struct map dot_of, symbol_of, shared_of, copy_of;
    struct tile_facts facts;
    struct map unrolled; /* counters of loops that are unrolled: constants wherever they are used */
    VEC(struct blocked_made) blocked;
    struct map view_of;        /* access -> struct view_made */
    struct mentions *mentions; /* of lower_plan_settle.c; NULL: not yet made */
    bool settled;              /* symbols have their layouts for good */
    struct map natural_of;     /* once settled */
};

struct blocked_made {
    struct type type;
    int vector;
    const struct layout *layout;
};
struct view_made {
    const struct expr *access;
    const struct layout *natural, *layout;
    bool store;
    struct view_made *next; /* of the same access */
};

/* --- lower_plan_dot.c --- */
void plan_dots(struct lower *l);
struct planned_dot *planned_dot_of(struct lower *l, const struct expr *e);

/* --- lower_plan_settle.c --- */
/* Sums that meet global memory after their last product go on as a tile of their own. */
void plan_settle_sums(struct lower *l);
/* The first global read into a tile that does nothing but meet global memory, more than once; NULL:
 * it is no such tile. */
const struct expr *plan_settled(struct lower *l, const struct sym *sym);

/* --- lower_plan_symbol.c --- */
void plan_find_symbols(struct lower *l);
void plan_symbols(struct lower *l);
struct planned_symbol *planned_symbol_of(struct lower *l, const struct sym *s);
struct preference plan_prefer(struct lower *l, const struct expr *e);
/* Is it a tile of the block (not of a thread), so that it has a layout? */
bool plan_is_tile(const struct type *t);
/* Is it a layout of tiles of that shape? */
bool plan_fits(const struct layout *layout, const struct type *t);
/* Coalesced for what e reads (and, if there is one, for the target it is stored to); NULL: it reads
 * nothing. */
const struct layout *plan_coalesced(struct lower *l, const struct expr *e,
                                    const struct expr *target);
const struct layout *plan_transposed(struct lower *l, const struct layout *layout, int rank);

/* --- lower_plan_walk.c: the layouts that uses of tiles ask for --- */
/* Goes through all statements as they will be lowered, and tells of each register tile and each
 * shared tile that is read in which layout it is wanted; of stores to shared tiles, in which
 * layout the value comes. */
struct plan_visitor {
    void *user;
    void (*symbol)(struct lower *l, void *user, const struct sym *s, struct preference wanted,
                   int weight);
    void (*assigned)(struct lower *l, void *user, const struct sym *s, const struct expr *value,
                     int weight);
    void (*shared)(struct lower *l, void *user, const struct sym *s, const struct shared_use *use);
};
void plan_walk(struct lower *l, const struct plan_visitor *v);

/* --- lower_plan_shared.c --- */
void plan_tiles(struct lower *l);

/* --- lower_plan_view.c --- */
void plan_scalars(struct lower *l); /* what divides them */
/* A number that divides e; 0: e is 0. */
int64_t plan_divisor(struct lower *l, const struct expr *e);
/* Will e be a constant when it is lowered? */
bool plan_is_fixed(struct lower *l, const struct expr *e);
/* Elements a lane that a copy between global memory and a tile of this type may have. */
int plan_copy_vector(struct lower *l, const struct expr *view, const struct type *t);

#endif
