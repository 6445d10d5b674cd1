/* Accesses to elements of tiles that the threads of a block divide: emit_copy.c, for thread-level kernels and for fragments. */
#ifndef TW_EMIT_COPY_H
#define TW_EMIT_COPY_H

#include "emit/emit_own.h"

/* A coordinate of an element: thread + more. */
struct coordinate {
    struct scalar thread; /* differs between threads: i32 */
    int64_t more;
    int64_t threads; /* `thread` is less than this number, and not negative; 0: not known */
};

/* A vector of the target's elements. */
struct piece {
    struct coordinate at[MAX_RANK]; /* of its first element */
    struct scalar mine;             /* bool: it is inside the tile, and this thread moves it */
};

struct element {
    struct scalar index[MAX_RANK]; /* of each axis of the symbol */
    struct scalar inside;          /* bool */
};

/* Finds the element of the access at the coordinates `at` of its tile. `inside` is true only in threads whose `mine` is.
 * gathered: by axis of the symbol, the index of a gather; NULL: the expression of the gather is computed. */
struct element emit_access_at(struct emit *m, const struct expr *e, const struct coordinate *at,
                              struct scalar mine, const struct scalar *gathered);
/* Loads `count` neighbours; if they are outside, returns the value for elements outside. */
struct scalar emit_access_load(struct emit *m, const struct expr *e, const struct element *x,
                               int count);
/* Stores the elements of a piece: v has one scalar for each, or the first one is a group of all. */
void emit_access_store(struct emit *m, const struct expr *target, const struct piece *p, int vector,
                       const struct scalar *v, const struct scalar *gathered);
/* Returns the policy of a copy's hint; without a value: there is none. */
struct thread_operand emit_cache_policy(struct emit *m, const struct stmt *s);
/* Copies bytes of a view to shared memory in the background. policy: emit_cache_policy of the statement. */
void emit_piece_async(struct emit *m, struct thread_operand to, const struct sym *view,
                      const struct element *from, int64_t bytes, struct thread_operand policy);
/* Returns the thread's number in its block, an i32. */
struct scalar emit_thread_number(struct emit *m);
/* Returns element `at`, an i32, of a tile whose elements threads take in turn. */
struct piece emit_piece_in_turn(struct emit *m, const struct type *t, struct scalar at);
/* Returns the element at these coordinates of a tile that the block computes together. In threads whose `mine` is false, the
 * value is arbitrary. */
struct scalar emit_value_at(struct emit *m, const struct expr *e, const struct coordinate *at,
                            struct scalar mine);
/* Notes the layout in which threads load or store a register tile; emit_accessed_in: NULL: another use, or none yet. */
void emit_note_layout(struct emit *m, const struct expr *access, const struct layout *layout);
const struct layout *emit_accessed_in(const struct emit *m, const struct expr *access);
/* The threads that read an element of the target's part to compute its new value:
 *   EMIT_ANY_THREAD   any thread
 *   EMIT_SAME_THREAD  the thread that stores the element, unless an operation moves elements
 *   EMIT_BY_LAYOUT    the thread that stores the element, if the part is read in the layout in which it is stored */
enum emit_owner { EMIT_ANY_THREAD, EMIT_SAME_THREAD, EMIT_BY_LAYOUT };
/* Returns whether a thread may read memory of the target that another thread stores to: for the value, or for an index of the
 * target. layout: of EMIT_BY_LAYOUT. */
bool emit_reads_memory(struct emit *m, const struct expr *e, const struct expr *target,
                       enum emit_owner owner, const struct layout *layout);

#endif
