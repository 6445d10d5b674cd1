/* Facts about the integers of a program (facts/facts.h): the driver of the domain over Tile IR. */
#ifndef TW_TILE_FACTS_H
#define TW_TILE_FACTS_H

#include "facts/facts.h"
#include "tile/numbering.h"

/* The value is at most bound + more, over the integers; bound never changes. NULL: no limit. */
struct tile_limit {
    const struct expr *bound;
    int64_t more;
};

struct tile_fact {
    struct facts is;
    struct tile_limit limit;
};

struct tile_fact_before {
    int number;
    struct tile_fact fact;
};

/* Readers of a scalar's facts: numbers of assignments, and -2, -3, … for the conditions of loops. */
enum { NO_READER = -1 };
struct tile_fact_readers {
    VEC(int) list;
};

/* Facts of the scalars of a kernel. A pass may learn more for a part of the program, and forget it. */
struct tile_facts {
    struct arena *arena;
    const struct kernel *kernel;
    struct numbering numbers;
    int *assigned;             /* by symbol: statements that assign it, without its declaration */
    struct tile_fact *scalars; /* by symbol: of each value that it has */
    bool *reached;             /* by symbol: while facts are found, some assignment was seen */
    bool unreached;            /* the latest expression reads a scalar that is not reached */
    struct tile_fact_readers *readers; /* by symbol; NULL: they are not noted */
    int reader;                        /* which of them reads now, or NO_READER */
    struct number_map never;           /* by expression: it never changes */
    VEC(struct tile_fact_before) undo;
};

/* Finds facts that hold wherever a scalar is read. An assume() counts if every block meets it; that of a claim does
 * not. */
void tile_facts_find(struct tile_facts *t, struct arena *a, const struct kernel *k);
/* Return what is known of an integer or bool. t NULL: parameters and variables have any value. */
struct tile_fact tile_fact_of(struct tile_facts *t, const struct expr *e);
struct facts tile_facts_of(struct tile_facts *t, const struct expr *e);
/* Learns that the condition is true, about scalars that keep their first value and about the symbol with the number
 * `counter`; -1: none. */
void tile_facts_learn(struct tile_facts *t, const struct expr *condition, int counter);
/* Learns that the condition of a loop (FOR) holds in its body, about counters that only the step assigns. */
void tile_facts_enter(struct tile_facts *t, const struct stmt *loop);
/* Sets what is known of the scalar with this number, until it is forgotten. */
void tile_facts_set(struct tile_facts *t, int number, struct tile_fact f);
/* Forgets all but the first `known` changes of t->undo. */
void tile_facts_forget(struct tile_facts *t, size_t known);
/* Returns e without casts that keep the value. */
const struct expr *tile_facts_plain(const struct expr *e);

#endif
