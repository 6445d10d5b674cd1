/* Shows values while a kernel runs, by print() statements that the compiler adds. */
#ifndef TW_PROBE_H
#define TW_PROBE_H

#include "base/diag.h"
#include "tile/tile.h"

/* A name whose value, or a part of it, is shown each time it is assigned. */
struct probe_name {
    const char *name;
    int rank; /* 0: all of the value */
    struct print_window window;
};

/* A place where a value is shown. */
struct probe_site {
    const char *name; /* NULL: the site of the stop itself */
    struct type type;
    struct loc at;
    VEC(const char *)
    counters;   /* counters of the loops around, the outer loop first; shown before the value */
    bool stops; /* belongs to the stop at a line */
    bool last;  /* shows the last value of that stop */
};

struct probe_request {
    struct arena *arena; /* arena of the sites */
    struct probe_name *names;
    int count;
    int line; /* line of the stop: before the first statement of this line or a later one; 0:
               * none */
    int64_t block[3];
    int thread[3];                /* thread level; thread[0] < 0: all threads */
    VEC(struct probe_site) sites; /* set by probe_add */
};

/* probe.c: adds a print() after each assignment of a requested name, for the requested block (and
 * thread):
 *
 *     acc = acc + dot(sa, sb);   ->   acc = acc + dot(sa, sb);
 *                                     if (block.x == 0 && block.y == 0) print("$3", k, acc);
 *
 * The label is the number of the site. A value that goes to memory is shown as stored: a scalar,
 * a thread's own array and a value with an atomic go through a variable; a tile is computed a
 * second time before the store. At thread level, only the requested thread prints its own values,
 * and all threads print a tile of the block, because that takes all of them. A stop adds such
 * prints for all names that have a value, after a barrier if it reads shared tiles. The program's
 * own values keep all their bits. requires: variance; before all other passes. diagnoses: names that the kernel does not have,
 * parts of another rank, a line after the last statement. */
void probe_add(struct kernel *k, struct probe_request *r, struct diag *d);

#endif
