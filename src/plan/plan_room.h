/* Room in shared memory for the compiler's own exchanges between threads.
 *
 * A shared tile is dead after its last use in program order, after the outermost loop around that use, and after the last
 * wait if copies bring it. Scratch lies where no tile is that lives or is yet to live, or after all of them. A stretch that
 * threads may still be reading needs a barrier first; a little more memory is better than a barrier. */
#ifndef TW_PLAN_ROOM_H
#define TW_PLAN_ROOM_H

#include "base/number_map.h"
#include "tile/tile.h"

struct room_tile {
    const struct sym *sym; /* NULL: a stretch */
    int64_t from, to;      /* bytes */
    int end;               /* number of the last statement of its life; -1: it has no use */
};

/* A stretch of shared memory that an exchange used. */
struct room_stretch {
    int64_t from, to; /* bytes */
    bool open;
    int64_t taken, done; /* barriers that had been then */
};

struct room {
    struct arena *arena;
    struct number_map numbers; /* statement → its number + 1 in program order */
    VEC(struct room_tile) tiles;
    VEC(struct room_stretch) stretches;
    int now;          /* number of the present statement */
    int64_t barriers; /* so far; those that may not have been do not count */
    int64_t
        tiles_used; /* barriers that had been at the latest use of a shared tile; -1: none was used */
    int64_t own;    /* bytes of the kernel's tiles */
    int64_t bytes;     /* of the block so far */
    int64_t most;      /* bytes of a block of the target */
    int64_t alignment; /* of stretches */
};

/* Finds the tiles' lives. most: the bytes of a block of the target */
void plan_room_start(struct room *r, struct arena *a, struct kernel *k, int64_t most,
                     int64_t alignment);
/* Before each statement: tiles whose last use was before it are dead. */
void plan_room_statement(struct room *r, const struct stmt *s);
/* Returns the place of a free stretch. *dirty: threads may still be at work there, and a barrier has to come first. */
int64_t plan_room_find(const struct room *r, int64_t bytes, bool in_loop, bool *dirty);
/* Takes the stretch, after the barrier that it needs. */
void plan_room_take(struct room *r, int64_t at, int64_t bytes);
/* The threads have read all that they need of the open stretch at the place; -1: of the latest one. */
void plan_room_done(struct room *r, int64_t at);
/* Makes the stretches that threads may be reading dead tiles, which were used now. */
void plan_room_bury(struct room *r);
/* Returns whether threads may be reading bytes that a loop wrote before its first barrier. first, barriers: the number of
 * stretches and of barriers before the loop */
bool plan_room_meets(const struct room *r, size_t first, int64_t barriers);
/* Returns whether threads may be reading a stretch. */
bool plan_room_is_read(const struct room *r);

#endif
