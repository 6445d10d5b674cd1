/* Global views and shared tiles: loads, stores, asynchronous copies, atomics, barriers, scratch. */
#ifndef TW_LOWER_MEMORY_H
#define TW_LOWER_MEMORY_H

#include "layout/layout_access.h"
#include "lower/lower_tile.h"

/* After the plan, with the function begun and l->shared made, before any loop: gives every
 * shared tile its place, sets l->out->shared_bytes, which scratch_take may raise later. */
void memory_init(struct lower *l);

/* --- lower_view.c: global memory --- */

const struct value *view_extent(struct lower *l, const struct sym *view, int axis); /* i64 */
const struct value *view_stride(struct lower *l, const struct sym *view,
                                int axis); /* in elements, i64 */
/* Address in bytes (i64) of element index[0], index[1], … (i64 values, one an axis). */
const struct value *view_address(struct lower *l, const struct sym *view,
                                 const struct value *const *index);
/* The indices of an ACCESS along each axis of a view or shared tile, evaluated once. */
struct place {
    const struct expr *access;
    int rank; /* of the sym */
    struct {
        enum index_kind kind;
        const struct value *start;  /* i64: element, or start of a slice; 0 for IX_ALL */
        const struct value *narrow; /* the same in i32, where the program has it so; else NULL */
        struct regtile gather;      /* IX_GATHER: i32 or i64, in the layout of that axis */
        int tile_axis;              /* axis of the access's type; -1: none */
        bool inside;
    } axis[MAX_RANK];
};
struct place place_of(struct lower *l, const struct expr *access);

/* A slice or gather of a view or shared tile, element by element as a lane sees it in a layout
 * of the access's type. For atomics, and for whatever has no vectors. */
struct places *places_open(struct lower *l, const struct expr *access, const struct layout *layout);
/* Address in bytes of the element of register `reg` (i64; of a shared tile i32), and when it is
 * there: within the tile's extents, the axes' edges, and not a copy of another register's
 * (`copy`: skip it). NULL: always. The first-holder test is not in it. */
struct element_place {
    const struct value *address, *inside;
    bool never, copy;
};
struct element_place places_at(struct lower *l, struct places *p, int32_t reg);
struct guard places_guard(struct lower *l, const struct element_place *e); /* that it is there */

/* A slice or gather of a view as a tile in `wanted`. Zeros (or `else`) beyond the edge. */
/* who: the threads that load; others have something else. NULL: all. */
struct regtile view_load(struct lower *l, const struct expr *access, const struct layout *wanted,
                         const struct value *who);
void view_store(struct lower *l, const struct expr *access, const struct regtile *value);

/* --- lower_shared.c --- */

/* Address in bytes (i32) of one element. */
const struct value *shared_address(struct lower *l, const struct sym *s,
                                   const struct value *const *index);
struct regtile shared_load(struct lower *l, const struct expr *access, const struct layout *wanted);
void shared_store(struct lower *l, const struct expr *access, const struct regtile *value);

/* Registers of a tile to and from shared memory whose place is base (bytes, i32; aligned to 16)
 * + memory(d0, d1, …): for scratch. how: from layout_access_* or a plan; NULL: ld, st as wide as
 * possible. Only first holders store. Noted with the wavefronts, sym NULL. */
void shared_put(struct lower *l, const struct value *base, const struct layout *memory,
                const struct access *how, const struct regtile *t);
void shared_get(struct lower *l, const struct value *base, const struct layout *memory,
                const struct access *how, const struct regtile *into);

/* A load from shared memory cut into its instructions, for interleaving with matrix
 * instructions. */
struct shared_reader {
    struct regtile into;
    int count;  /* instructions */
    bool whole; /* one piece, which is not one instruction */
    /* the rest is lower_shared.c's own */
    void *how;
};
struct shared_reader shared_reader_open(struct lower *l, const struct expr *access, bool transposed,
                                        const struct layout *wanted);
/* Least and greatest coordinate along `axis` of what instruction i brings, as the first lane
 * sees it. */
void shared_reader_range(const struct shared_reader *r, int i, int axis, int32_t *least,
                         int32_t *greatest);
/* The same where AXIS_STAGE of `wanted` is at `stage` (in what the other gives it is at 0), into
 * the same registers, and only where the guard holds. For words in memory that are the tile's. */
struct shared_reader shared_reader_again(struct lower *l, const struct shared_reader *r,
                                         const struct value *stage, struct guard when);
void shared_reader_emit(struct lower *l, struct shared_reader *r, int i);

/* The same for any place of shared memory, such as scratch: `base` is the address in bytes
 * (i32), `memory` d0, d1, … -> at. What wanted masks is neither read nor written; registers of
 * it keep what they had (readers: zeros). */
struct shared_reader shared_reader_at(struct lower *l, const struct value *base,
                                      const struct layout *memory, enum dtype t,
                                      const struct layout *wanted);

/* --- lower_copy.c --- */

/* shared = view slice, by registers; and async shared = view slice. */
void copy_to_shared(struct lower *l, const struct stmt *s, const struct expr *target,
                    const struct expr *value);
void copy_async(struct lower *l, const struct stmt *s);
/* Any block (of 9 threads, say): the threads take elements in turn. target and value (or a
 * scalar) are slices, gathers or elements of views and shared tiles. */
void copy_elements(struct lower *l, const struct expr *target, const struct expr *value);
void copy_commit(struct lower *l);
void copy_wait(struct lower *l, int groups);

/* --- lower_atomic.c --- */

/* An atomic on a tile (args[0] a slice, gather or element); result in `wanted` if anyone wants
 * it. */
struct regtile atomic_tile(struct lower *l, const struct expr *e, const struct layout *wanted,
                           bool result_wanted);
/* On one element, by this thread, where the guard holds. */
const struct value *atomic_scalar(struct lower *l, const struct expr *e, bool result_wanted);
void atomic_emit(struct lower *l, enum op op, enum dtype t, bool shared, struct ptx_operand address,
                 const struct ptx_operand *args, struct guard guard,
                 struct ptx_operand *result); /* result NULL: red */

/* --- lower_sync.c --- */

void barrier_emit(struct lower *l); /* bar.sync 0 of the block */
/* Scratch of the block's shared memory for the compiler's own exchanges. take: an offset within
 * .shared (in bytes) of memory that no live tile has, aligned to 128, with a barrier in front
 * where others may still be reading what was there. done: its readers have read. */
int64_t scratch_take(struct lower *l, int64_t bytes);
void scratch_done(struct lower *l);
const struct value *scratch_address(struct lower *l, int64_t offset); /* i32 */
/* Before an operation reads or writes a view, with this layout (NULL: any thread may have any
 * element): adds a barrier if that meets another use in the same statement. */
void sync_view(struct lower *l, const struct expr *access, const struct layout *layout, bool write);
/* Before each statement is emitted: says which shared tiles are dead by now, so that scratch may
 * take their place. Without it no tile is. */
void sync_statement(struct lower *l, const struct stmt *s);
/* At the head of a loop whose body this is; behind a statement list that may run or not. */
void sync_enter_loop(struct lower *l, const struct stmt *loop);
/* At the end of that body, in front of frame_latch, where every iteration comes by: what the
 * next one needs. */
void sync_leave_loop(struct lower *l);
void sync_forget(struct lower *l);
/* Around an if: each arm starts from what was before, and behind it all may be under way that
 * either left (without an `else`: what was before, too). */
struct sync_arms {
    struct sync_saved *before, *first; /* lower_sync.c's own; first: at the end of the first arm */
};
void sync_enter_arms(struct lower *l, struct sync_arms *a);
void sync_next_arm(struct lower *l, struct sync_arms *a); /* in front of the else's code */
void sync_leave_arms(struct lower *l, struct sync_arms *a);
void lock_emit(struct lower *l, const struct stmt *s);   /* lower_lock.c */
void unlock_emit(struct lower *l, const struct stmt *s); /* lower_lock.c */
/* lower_lock.c: returns the old value, which all threads have; NULL if it is not wanted. */
const struct value *arrive_emit(struct lower *l, const struct expr *e, bool result_wanted);

void memory_note(struct lower *l,
                 struct lower_access access); /* into l->out->accesses, once a place */

#endif
