/* For plan_layouts*.c alone: what the plan knows, and how its parts meet. */
#ifndef TW_PLAN_LAYOUTS_OWN_H
#define TW_PLAN_LAYOUTS_OWN_H

#include "plan/divisors.h"
#include "plan/plan.h"
#include "plan/plan_layouts.h"

/* A layout. It is firm if it is a fragment, or derived from one. A layout that is not firm is only coalesced, and
 * gives way. */
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
    struct pointer_map dot_of, symbol_of, shared_of, copy_of;
    struct pointer_map
        unrolled; /* counters of loops that are unrolled: constants wherever they are used */
    VEC(struct blocked_made) blocked;
    struct pointer_map view_of;    /* access -> struct view_made */
    struct mentions *mentions;     /* of plan_layouts_settle.c; NULL: not yet made */
    bool settled;                  /* symbols have their layouts for good */
    struct pointer_map natural_of; /* once settled */
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

/* A layout with what was found out about it. */
struct plan_kept {
    struct layout layout;
    uint32_t hash;
    struct layout runs; /* the layout, with private bits as additions (layout_runs) */
    int32_t
        *places; /* of its registers (layout_register_places); NULL: nothing asked for them yet */
    /* An operand of a result in this layout: of which extents, and how. */
    VEC(struct kept_operand) operands;
};
struct kept_operand {
    int rank;
    int32_t extent[LAYOUT_OUTS];
    const struct layout *layout;
    int32_t *registers;
};
struct kept_layouts {
    struct plan_kept **slots; /* by hash, open addressing */
    size_t count, capacity;
    struct pointer_map by_pointer;  /* layout -> plan_kept */
    struct pointer_map conversions; /* layout `from` -> conversion_list */
};

/* --- plan_layouts_known.c --- */
struct planned_dot *plan_planned_dot(struct layouts *l, const struct expr *e);
struct planned_symbol *plan_planned_symbol(struct layouts *l, const struct sym *s);
/* Returns whether it is a tile of the block, which has a layout, and not of a thread. */
bool plan_is_tile(const struct type *t);
/* Returns whether it is a layout of tiles of the shape. */
bool plan_fits(const struct layout *layout, const struct type *t);

/* --- plan_layouts_prefer.c --- */
struct preference plan_prefer(struct layouts *l, const struct expr *e);
/* Coalesced for what e reads (and, if there is one, for the target it is stored to); NULL: it reads
 * nothing. */
const struct layout *plan_coalesced(struct layouts *l, const struct expr *e,
                                    const struct expr *target);
const struct layout *plan_transposed(struct layouts *l, const struct layout *layout, int rank);

/* --- plan_kept.c --- */
struct kept_layouts *plan_kept_layouts(struct layouts *l);

/* --- plan_layouts_dot.c --- */
void plan_dots(struct layouts *l);

/* --- plan_layouts_settle.c --- */
/* Sums that meet global memory after their last product go on as a tile of their own. */
void plan_settle_sums(struct layouts *l);
/* The first global read into a tile that does nothing but meet global memory, more than once; NULL:
 * it is no such tile. */
const struct expr *plan_settled(struct layouts *l, const struct sym *sym);

/* --- plan_layouts_symbol.c --- */
void plan_find_symbols(struct layouts *l);
void plan_symbols(struct layouts *l);

/* --- plan_layouts_walk.c: the layouts that uses of tiles ask for --- */
/* The functions that plan_walk calls while it visits all statements; NULL: none.
 *   symbol    a register tile is read; `wanted` is the layout that suits the reader
 *   assigned  `value` is assigned to a register tile
 *   shared    a shared tile is read or stored to, as `use` says */
struct plan_visitor {
    void *user;
    void (*symbol)(struct layouts *l, void *user, const struct sym *s, struct preference wanted,
                   int weight);
    void (*assigned)(struct layouts *l, void *user, const struct sym *s, const struct expr *value,
                     int weight);
    void (*shared)(struct layouts *l, void *user, const struct sym *s,
                   const struct shared_use *use);
};
void plan_walk(struct layouts *l, const struct plan_visitor *v);

/* --- plan_layouts_shared.c --- */
void plan_tiles(struct layouts *l);

/* --- plan_layouts_view.c --- */
void plan_scalars(struct layouts *l); /* what divides them */
/* A number that divides e; 0: e is 0. */
int64_t plan_divisor(struct layouts *l, const struct expr *e);
/* Returns whether e is a constant once loops are unrolled. */
bool plan_is_fixed(struct layouts *l, const struct expr *e);
/* Elements a lane that a copy between global memory and a tile of this type may have. */
int plan_copy_vector(struct layouts *l, const struct expr *view, const struct type *t);

#endif
