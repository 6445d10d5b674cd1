/* The running blocks that a check knows, by number. struct sim_blocks is a check's first member,
 * so all checks can share these observer hooks. */
#ifndef TW_SIM_BLOCKS_H
#define TW_SIM_BLOCKS_H

#include "sim/sim_report.h"

/* The first member of a check's state of a block. */
struct sim_watched {
    struct sim_watched *next; /* in its bucket */
    int64_t number;
};

enum { SIM_BLOCK_BUCKETS = 256 };
struct sim_blocks {
    struct sim_watched *bucket[SIM_BLOCK_BUCKETS], *last; /* that was looked up */
    /* Frees a check's state of a block. */
    void (*forget)(void *check, void *block);
    struct sim_report *report;
};

static inline void sim_blocks_add(struct sim_blocks *b, struct sim_watched *block, int64_t number)
{
    struct sim_watched **bucket = &b->bucket[number % SIM_BLOCK_BUCKETS];
    *block = (struct sim_watched){*bucket, number};
    *bucket = block;
}

/* Returns the state of a block; NULL: the block has not begun or has ended. */
static inline void *sim_blocks_find(struct sim_blocks *b, int64_t number)
{
    if (b->last && b->last->number == number)
        return b->last;
    struct sim_watched *block = b->bucket[number % SIM_BLOCK_BUCKETS];
    while (block && block->number != number)
        block = block->next;
    if (block)
        b->last = block;
    return block;
}

/* Returns the block with the lowest number above `number`; NULL: none. */
static inline void *sim_blocks_next(const struct sim_blocks *b, int64_t number)
{
    struct sim_watched *next = NULL;
    for (int i = 0; i < SIM_BLOCK_BUCKETS; i++)
        for (struct sim_watched *w = b->bucket[i]; w; w = w->next)
            if (w->number > number && (!next || w->number < next->number))
                next = w;
    return next;
}

static inline void sim_blocks_forget(struct sim_blocks *b, int64_t number)
{
    struct sim_watched **at = &b->bucket[number % SIM_BLOCK_BUCKETS];
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    struct sim_watched *block = *at;
    if (!block)
        return;
    *at = block->next;
    b->last = NULL;
    b->forget(b, block);
}

static inline void sim_blocks_forget_all(struct sim_blocks *b)
{
    for (int i = 0; i < SIM_BLOCK_BUCKETS; i++)
        while (b->bucket[i])
            sim_blocks_forget(b, b->bucket[i]->number);
}

/* Observer hooks; `user` is the check. */
static inline bool sim_blocks_launch(void *user, const struct ptx_function *kernel,
                                     const unsigned grid[3], const unsigned block[3])
{
    struct sim_blocks *b = user;
    (void)kernel;
    sim_blocks_forget_all(b);
    sim_report_launch(b->report, grid, block);
    return true;
}

static inline bool sim_blocks_ended(void *user, const struct sim_block_event *e)
{
    sim_blocks_forget(user, e->block);
    return true;
}

#endif
