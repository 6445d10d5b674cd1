/* Tile-level kernels: register tiles in the layouts of the plan (plan/plan_layouts.h). */
#ifndef TW_EMIT_FRAGMENT_H
#define TW_EMIT_FRAGMENT_H

#include "emit/emit_copy.h"
#include "plan/plan_layouts.h"

/* The elements of a register tile that a thread has: a scalar for each register of the layout, or a group for each few
 * neighbouring registers. */
struct fragment {
    enum dtype dtype;
    const struct layout *layout; /* plan_keep of the plan */
    int32_t count;
    struct scalar *v;              /* by register; NULL: there are groups */
    struct thread_operand *groups; /* of `each` registers */
    int32_t each;                  /* 2 or more */
};

static inline int32_t emit_registers(const struct layout *l)
{
    return layout_in_extent(l, AXIS_REG);
}

/* --- emit_fragment_value.c --- */

struct fragment emit_fragment_new(struct emit *m, enum dtype t, const struct layout *layout);
/* Returns whether all registers have one value. */
bool emit_fragment_is_uniform(const struct fragment *f);
/* Takes the groups apart, if there are any. */
void emit_fragment_apart(struct emit *m, struct fragment *f);
/* Returns registers [first, first + count) as one value. */
struct thread_operand emit_fragment_part(struct emit *m, const struct fragment *f, int32_t first,
                                         int32_t count);
struct fragment emit_fragment_cast(struct emit *m, const struct fragment *f, enum dtype t);
/* Returns the value of a tile expression, or of a scalar, in the layout. */
struct fragment emit_fragment(struct emit *m, const struct expr *e, const struct layout *wanted);
/* The same; the fragment may have groups. */
struct fragment emit_fragment_grouped(struct emit *m, const struct expr *e,
                                      const struct layout *wanted);
/* Returns its value in the layout that the plan prefers for the expression. */
struct fragment emit_fragment_natural(struct emit *m, const struct expr *e);
/* Returns its value as a tile of the type's shape, in a layout of the plan. */
struct fragment emit_fragment_shaped(struct emit *m, const struct expr *e, const struct type *t);

/* --- emit_fragment.c --- */

/* emit_fragment_grouped of struct emit_tree. */
struct fragment emit_fragment_expr(struct emit *m, const struct expr *e,
                                   const struct layout *wanted);

/* --- emit_fragment_spot.c --- */

/* The places of a thread's elements. Each result of the layout is a value that depends on the thread, plus a number that
 * depends on the register. */
struct spots {
    struct layout layout;                                 /* digits merged into runs */
    struct scalar added[LAYOUT_OUTS], xored[LAYOUT_OUTS]; /* i32 */
    bool xors[LAYOUT_OUTS];
    int64_t most[LAYOUT_OUTS];                         /* of the thread's part */
    int32_t least[LAYOUT_OUTS], greatest[LAYOUT_OUTS]; /* of all threads and registers */
    struct scalar first; /* bool: no thread before this one has the same elements */
    int vector; /* registers with consecutive values of the last result, the first a multiple of this number */
};
struct spots emit_spots(struct emit *m, const struct layout *l);
/* Computes a digit of the thread's number in its block, number / weight % extent, a u32: in a thread-level kernel, from the thread's
 * place along one axis, if the digit depends on no other axis. */
struct scalar emit_thread_digit(struct emit *m, int64_t weight, int64_t extent);
/* Returns result `out` of the register. */
struct coordinate emit_spot(struct emit *m, const struct spots *s, int out, int32_t reg);
/* Returns whether the register's element is within the extents of the axes (a bit each). */
struct scalar emit_spot_inside(struct emit *m, const struct spots *s, int32_t reg, unsigned axes);
/* Returns whether a register before this one has the same element. */
bool emit_spot_repeats(const struct spots *s, int32_t reg);

/* The indices of an access's gathers, in the layout of the access: by axis of the symbol. */
struct gathers {
    bool any;
    struct scalar *of[MAX_RANK]; /* by register; NULL: no gather */
};
struct gathers emit_find_gathers(struct emit *m, const struct expr *e, const struct layout *layout);
/* Sets the gathered indices of a register. Returns `index`; NULL: the access has no gather. */
const struct scalar *emit_gathered_at(const struct gathers *g, int32_t reg, struct scalar *index);

/* --- emit_fragment_move.c --- */

/* Loads a part of a view or of a shared tile; the fragment may have groups. once: only one thread loads each element, and the
 * others that hold it have any value. */
struct fragment emit_fragment_load(struct emit *m, const struct expr *access,
                                   const struct layout *layout, bool once);
void emit_fragment_store(struct emit *m, const struct expr *target, const struct fragment *f);
struct fragment emit_fragment_atomic(struct emit *m, const struct expr *e,
                                     const struct layout *wanted);
/* Stores a tile to scratch, element (d0, d1, …) at memory(d0, d1, …), each element once. A barrier of the block must follow. */
void emit_fragment_put(struct emit *m, const struct scratch *to, const struct fragment *f,
                       const struct layout *memory);
/* Stores a tile to scratch, element (d0, d1, …) at memory(d0, d1, …), and loads element (d0, d1, …) of another tile from
 * get(d0, d1, …). A register without an element of that tile keeps its value in `out`; if that is a constant, it has any
 * value. */
void emit_fragment_pass(struct emit *m, const struct fragment *f, const struct layout *memory,
                        const struct layout *get, struct fragment *out);
/* The same for a whole tile in the layout `to`. */
struct fragment emit_fragment_through(struct emit *m, const struct fragment *f,
                                      const struct layout *memory, const struct layout *get,
                                      const struct layout *to);

/* --- emit_fragment_shared.c: shared tiles in the layouts of the plan --- */

enum { EMIT_MOST_POINTERS = 16, EMIT_MOST_MOVED = 16 };

/* Instructions between the registers of a fragment and shared memory. */
struct shared_way {
    const struct layout *regs;
    struct access how;
    enum dtype dtype;
    const struct thread_object *object;
    bool is_scratch;
    bool of_peer;           /* the object is that of another block of the cluster: */
    struct scalar peer;     /* emit_peer */
    struct layout composed; /* registers, lanes and warps → place in the object, after `base` */
    struct address_split split;
    struct scalar base, xors, adds; /* u32 */
    struct scalar pointer[EMIT_MOST_POINTERS];
    bool made[EMIT_MOST_POINTERS];
};
/* Finds the way of an access. Returns false if there is none: then elements move one by one. */
bool emit_way_open(struct emit *m, const struct expr *access, const struct layout *regs, bool store,
                   struct shared_way *w);
/* The same for scratch that holds a tile at memory(d0, d1, …). */
bool emit_way_through(struct emit *m, const struct scratch *s, const struct layout *memory,
                      const struct layout *regs, bool store, struct shared_way *w);
/* Returns whether an instruction begins with the register. */
bool emit_way_begins(const struct shared_way *w, int32_t reg);
/* Lists the registers of the instruction, EMIT_MOST_MOVED at most. Returns their number. */
int emit_way_registers(const struct shared_way *w, int32_t reg, int32_t *registers);
/* Loads the registers of the instruction as a group. */
struct thread_operand emit_way_group(struct emit *m, struct shared_way *w, int32_t reg);
/* Loads the registers of the instruction if the predicate is true; else they keep their values in v, and have any value if all
 * of these are constants. v: by register; NULL: any values. */
struct thread_operand emit_way_group_if(struct emit *m, struct shared_way *w, int32_t reg,
                                        struct scalar inside, const struct scalar *v);
/* Takes the group apart. v: by register. */
void emit_way_spread(struct emit *m, const struct shared_way *w, int32_t reg,
                     struct thread_operand group, struct scalar *v);
/* Returns the way with the layout's counter AXIS_STAGE at a value, a u32. Other ways have 0 there. */
struct shared_way emit_way_follow(struct emit *m, const struct shared_way *w, struct scalar stage);
/* Loads all registers, in groups if possible. */
void emit_way_fetch(struct emit *m, struct shared_way *w, struct fragment *f);
/* Returns whether stmatrix may store such fragments: the target must have it, and every lane must have elements, because a warp
 * executes it as one. */
bool emit_stores_matrices(const struct emit *m, const struct layout *regs);
/* Stores each element once. */
void emit_way_store(struct emit *m, struct shared_way *w, const struct fragment *f);

/* Returns the place of an element of a shared tile, a u32. */
struct scalar emit_planned_place(struct emit *m, const struct sym *s, const struct scalar *indices);
/* Moves a part of a shared tile. Returns false if there is no way for it. */
bool emit_planned_load(struct emit *m, const struct expr *access, struct fragment *f);
bool emit_planned_store(struct emit *m, const struct expr *access, const struct fragment *f);
/* Copies a part of a view to a shared tile in the background. */
void emit_planned_copy(struct emit *m, const struct stmt *s);

/* Notes the accesses of a way. s: the shared tile; NULL: scratch. emit_note.c */
void emit_note_way(struct emit *m, struct loc loc, const struct sym *s, const struct shared_way *w,
                   bool store);

/* --- emit_fragment_dot.c --- */

/* Returns a product of tiles in its own layout, which may have groups. */
struct fragment emit_fragment_dot(struct emit *m, const struct expr *e);
/* Finds the layouts of tiles that matrix instructions take, or add to. */
void emit_note_dots(struct emit *m);
/* Returns how many registers of a tile are one slot of its variable: those of a matrix instruction that takes the tile;
 * otherwise one. */
int32_t emit_registers_of_slot(const struct emit *m, const struct sym *s);

/* --- emit_fragment_convert.c --- */

/* Returns the tile in another layout. If the layout is the same, the fragment may have groups. */
struct fragment emit_fragment_convert(struct emit *m, const struct fragment *f,
                                      const struct layout *to);

/* --- emit_fragment_index.c --- */

/* Notes the value with which a register tile is declared. */
void emit_note_index(struct emit *m, const struct sym *s, const struct expr *value);
/* Returns the expression of a register tile that is computed again where another layout is wanted; NULL: it is not computed
 * again. */
const struct expr *emit_index_value(struct emit *m, const struct expr *e);

/* --- emit_fragment_reduce.c --- */

struct reduction {
    enum op op;
    enum dtype t;
    int axis; /* -1: all */
    unsigned axes;
};
/* Returns whether an element counts. One that does not has the type DT_NONE. */
static inline bool emit_counts(struct scalar v)
{
    return v.dtype != DT_NONE;
}
/* Combines two elements. If only one of them counts, returns it. */
struct scalar emit_combine(struct emit *m, const struct reduction *r, struct scalar a,
                           struct scalar b);
/* Returns the elements of the fragment, of type r->t. Elements outside of the axes do not count, or are the idle constant.
 * *masked: whether an element is, or may be, outside. */
struct scalar *emit_inside_elements(struct emit *m, const struct reduction *r,
                                    const struct fragment *x, bool *masked);
/* Exchanges values between warps. v: by register of the whole tile. Returns w->warps values for each register of w->totals. */
struct fragment emit_of_warps(struct emit *m, const struct warp_totals *w, enum dtype t,
                              const struct scalar *v);
struct fragment emit_fragment_reduce(struct emit *m, const struct expr *e);

/* --- emit_fragment_scan.c --- */

struct fragment emit_fragment_scan(struct emit *m, const struct expr *e,
                                   const struct layout *wanted);

#endif
