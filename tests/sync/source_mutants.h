/* Kernels as text with one thing removed or moved:
 *
 *   sync-removed, sync-up, sync-down   (moved by one statement; at the end of a body, out of it)
 *   wait-removed, wait-more            (async_wait(n) -> n + 1)
 *   commit-removed
 *   stage                              (sa[e] of a tile of several axes -> sa[(e + 1) % stages])
 *
 * and in kernels with mbarriers or work in the background
 *
 *   phase-wait-removed, phase-wait-repeated   (wait(full[s]))
 *   arrive-removed, arrive-repeated
 *   expect-removed, expect-repeated, bytes-more, bytes-fewer   (by 16)
 *   dot-wait-removed, dot-wait-repeated, dot-wait-more         (n -> n + 1)
 *   store-wait-removed, store-wait-repeated, store-wait-more
 *   arrivals-more, arrivals-fewer, ready      (of a declaration; `ready` added or removed)
 *   mbarrier-stage                            (full[e] -> full[(e + 1) % stages])
 *
 * Mutations of a kind are numbered from 1 in the order of the text; lines keep their numbers. */
#ifndef TW_SOURCE_MUTANTS_H
#define TW_SOURCE_MUTANTS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct span {
    size_t begin, end;
};

struct mutant {
    const char *kind;
    int number;
    int line;         /* of the place */
    const char *tile; /* concerned; NULL: any */
    char *text;
};

/* The mutants of a kernel that compiles; `body` goes from its opening brace to the place after
 * its last one. */
struct source_mutants {
    struct mutant *data;
    size_t count, capacity;
};
struct source_mutants *source_mutants_make(struct arena *a, const char *text, struct span body);
/* Mutations of values, not of synchronisation:
 *
 *   index              (a[e] -> a[1 + e], of every subscript of a tile or view, each axis)
 *   padding-removed    (shared a[T][T + 1] -> a[T][T]) */
struct source_mutants *source_value_mutants_make(struct arena *a, const char *text,
                                                 struct span body);

/* Returns the body of the kernel that is declared at an offset. */
struct span source_body(const char *text, size_t kernel);
/* Returns true if exactly this word is at that place. */
bool source_word_at(const char *text, size_t at, const char *word);

#endif
