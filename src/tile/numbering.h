/* A dense number for every symbol of a kernel, so that a pass can keep what it finds out in an
 * array of its own. (A symbol's `index` counts parameters and the rest apart.)
 */
#ifndef TW_NUMBERING_H
#define TW_NUMBERING_H

#include "tile/tile.h"

struct numbering {
    const struct sym **slots; /* open addressing by address; a power of two of them */
    int *numbers;
    size_t mask;
    int count; /* symbols are numbered 0 … count-1, in order of declaration */
};

static inline size_t numbering_slot(const struct numbering *n, const struct sym *s)
{
    size_t at = (size_t)((uintptr_t)s / 16 * 0x9E3779B1u) & n->mask;
    while (n->slots[at] && n->slots[at] != s)
        at = (at + 1) & n->mask;
    return at;
}

static inline void numbering_init(struct numbering *n, struct arena *a, const struct kernel *k)
{
    size_t symbols = 0, capacity = 16;
    for (const struct sym *s = k->symbols; s; s = s->next)
        symbols++;
    while (capacity < symbols * 2)
        capacity *= 2;
    n->slots = arena_array(a, const struct sym *, capacity);
    n->numbers = arena_array(a, int, capacity);
    n->mask = capacity - 1;
    n->count = 0;
    for (const struct sym *s = k->symbols; s; s = s->next) {
        size_t at = numbering_slot(n, s);
        n->slots[at] = s;
        n->numbers[at] = n->count++;
    }
}

/* -1: not a symbol of the kernel. */
static inline int numbering_of(const struct numbering *n, const struct sym *s)
{
    size_t at = numbering_slot(n, s);
    return n->slots[at] ? n->numbers[at] : -1;
}

#endif
