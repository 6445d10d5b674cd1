/* Declarations that the files on global and shared memory share: places, vectors, pointers, and accesses that
 * need a barrier. */
#ifndef TW_LOWER_MEMORY_OWN_H
#define TW_LOWER_MEMORY_OWN_H

#include "lower/lower_body.h"
#include "plan/plan_room.h"
#include "tile/parts.h"

/* --- lower_vector.c: consecutive elements in memory, and the registers that hold them --- */

enum { VECTOR_BYTES = 16 };

enum memory_space { IN_GLOBAL, IN_GLOBAL_CONST, IN_SHARED };

/* Element e of a vector whose first is register r: r + the weights of the bits of e. */
struct vector {
    int elements, bits;
    int32_t weight[ACCESS_VECTOR_BITS];
};
static inline int32_t vector_register(const struct vector *v, int32_t base, int e)
{
    for (int b = 0; b < v->bits; b++)
        base += (e >> b & 1) * v->weight[b];
    return base;
}
/* The same with fewer elements. */
void vector_narrow(struct vector *v, int elements);
struct access vector_access(const struct vector *v, enum dtype t);

/* A tile on its way from or to memory in vectors. */
struct transfer {
    struct regtile tile;
    struct vector vector;
    bool direct;                  /* words in memory are the tile's words */
    struct ptx_operand *elements; /* else the elements, unpacked */
    bool keep;                    /* where nothing is loaded the registers keep what they have */
    /* of loads: what stands where nothing is loaded; NULL: zero */
    const struct value *otherwise;
    struct ptx_operand fill_word, fill_element;
    bool has_fill;
};
struct transfer transfer_load(struct lower *l, enum dtype t, const struct layout *layout,
                              const struct vector *v, const struct value *otherwise);
/* Into registers that exist. */
struct transfer transfer_load_into(struct lower *l, const struct regtile *into,
                                   const struct vector *v);
struct transfer transfer_store(struct lower *l, const struct regtile *t, const struct vector *v);
/* Is the register the first of a vector that is to be moved? */
bool transfer_moves(const struct transfer *t, int32_t reg);
void transfer_in(struct lower *l, struct transfer *t, enum memory_space space, int32_t reg,
                 struct ptx_operand address, struct guard guard);
void transfer_out(struct lower *l, const struct transfer *t, enum memory_space space, int32_t reg,
                  struct ptx_operand address, struct guard guard);
/* After all loads: the tile, with what several registers hold copied, elements packed. */
struct regtile transfer_finish(struct lower *l, struct transfer *t);
/* "ld.global.nc.v4.b32" for memory_note. */
const char *transfer_name(struct lower *l, const struct transfer *t, enum memory_space space,
                          bool store);

/* --- lower_place.c --- */

/* The greatest power of two up to 16 that divides n; n INT64_MAX: 16. */
int power_of_two_in(int64_t n);

struct places {
    struct place place;
    const struct expr *access;
    const struct sym *sym;
    const struct layout *layout;
    bool shared;
    struct places_axis {
        const struct value *extent, *narrow_extent; /* i64; i32 where it is so, else NULL */
        const struct value *stride;                 /* of views, in bytes, i64 */
        int64_t divisor, least, greatest;           /* of the start */
        bool upper, lower;                          /* edges that a slice may reach past */
        bool whole; /* all of the slice is inside or all of it outside */
        int32_t length;
        const struct value **rows; /* IX_GATHER: by register, as the tile has them */
    } axis[MAX_RANK];
    struct {
        const struct value *coordinate; /* of register 0, i32 */
        bool additive;
    } tile_axis[MAX_RANK];
    const struct value *origin; /* of views: what is the same for all registers */
};
/* NULL: always. Within the edges of all axes; not the layout's own mask. */
const struct value *places_edges(struct lower *l, const struct places *p, int32_t reg, bool *never);
/* The widest vectors of at most `most` bytes: neighbours in memory, aligned, and inside or
 * outside together. */
struct vector places_vector(struct lower *l, const struct places *p, int most);
const struct value *both(struct lower *l, const struct value *a, const struct value *b);

/* --- lower_shared.c, lower_pointer.c --- */

/* A layout whose counters are what values say: bytes, i32. counter: by index of ins; NULL: 0. */
const struct value *layout_value(struct lower *l, const struct layout *memory,
                                 const struct value *const *counter, int64_t scale);

/* base + composed(reg, lane, warp) * size as a few pointers and a constant a register. */
struct pointers {
    struct layout composed;
    struct address_split split;
    const struct value *base, *xors, *adds, *pointer[16];
    int64_t size;
};
/* how: of a matrix access, each lane's pointer is to the row that it supplies. False: too many. */
bool pointers_open(struct lower *l, struct pointers *p, const struct value *base,
                   const struct layout *composed, int64_t size, const struct access *how);
/* Moves the pointers to value v of an axis of `composed` other than reg, lane and warp. */
void pointers_follow(struct lower *l, struct pointers *p, enum layout_axis axis,
                     const struct value *v);
const struct value *pointers_at(struct lower *l, struct pointers *p, int32_t reg);

/* A shared tile or a part of it as the plan lays it out. */
struct shared_part {
    struct layout memory;     /* axes of the access's type -> at */
    const struct value *base; /* bytes, i32 */
    int alignment;            /* that divides base, up to 16 */
};
/* False: no such simple form; element by element then. */
bool shared_part_of(struct lower *l, const struct place *place, struct shared_part *out);
/* How best to move registers laid out as `regs`. */
bool shared_choose_access(struct lower *l, const struct layout *regs,
                          const struct shared_part *part, enum dtype t, bool store,
                          struct access *how);
void matrix_load(struct lower *l, const struct access *how, const struct transfer *t, int32_t reg,
                 struct ptx_operand address, struct guard guard);
/* "ldmatrix.x4.trans" */
const char *matrix_name(struct lower *l, const struct access *how, bool store);
int32_t matrix_register(const struct access *how, int32_t reg, int matrix);

/* --- lower_sync.c, lower_scratch.c --- */

/* A use of global memory in the present statement, since the last barrier. */
struct view_use {
    const struct expr *access;
    const struct layout *layout; /* NULL: by any thread */
    bool write;
};

/* A loop being emitted. */
struct loop_mark {
    int64_t barriers; /* that had been at its head; what may not have come is not counted */
    size_t scratches; /* taken before it */
    bool jumps;       /* has `continue`: statements after it may be skipped */
};

/* An access that was noted, and others of the same place. */
struct note {
    struct note *next;
    size_t number; /* in lowered.accesses */
};

enum { ROOM_ALIGNMENT = 128 };

struct memory {
    const struct value *window; /* address of the block's shared memory */
    struct ptx_operand window_register;
    bool window_made;
    struct ptx_operand policy[3]; /* evict_first, _last, _normal */
    bool policy_made[3];
    size_t home;              /* where the function's own first instructions go */
    struct pointer_map noted; /* place in the source -> struct note */
    struct room room;
    /* reads of shared tiles since the last barrier: sym -> struct shared_read */
    VEC(struct shared_read {
        const struct sym *sym;
        const struct expr *access;
        const struct layout *layout;
    })
    reads;
    VEC(struct view_use) views;
    struct pointer_map layouts;   /* access of a view -> the layout of its latest use */
    const struct stmt *statement; /* being emitted */
    struct parts parts;
    struct scratch_way *stored, *loaded; /* the latest of each; NULL: none yet */
    VEC(struct loop_mark) loops;
};

/* Emits at the start of the function: for what is the same everywhere. */
struct home {
    struct ptx_code code, *before;
};
void home_enter(struct lower *l, struct home *h);
void home_leave(struct lower *l, struct home *h);

void scratch_forget(struct lower *l);
void scratch_enter_loop(struct lower *l, bool jumps);
/* Before a shared tile is read or written; within one statement reads come first. */
void sync_shared_read(struct lower *l, const struct expr *access, const struct layout *layout);
void sync_shared_write(struct lower *l, const struct expr *access, const struct layout *layout);

#endif
