/* Shows values while a kernel runs: print() statements that the compiler adds. */
#ifndef TW_PROBE_H
#define TW_PROBE_H

#include "base/diag.h"
#include "tile/tile.h"

/* A name whose value is shown each time it is assigned, whole or a part of it. */
struct probe_name {
    const char *name;
    int rank; /* 0: all of it */
    struct print_window window;
};

/* A place where a value is shown. */
struct probe_site {
    const char *name; /* NULL: the place of a stop itself */
    struct type type;
    struct loc at;
    VEC(const char *)
    counters;   /* of the loops around, the outer one first: shown before the value */
    bool stops; /* belongs to the stop at a line */
    bool last;  /* the last value of that stop */
};

struct probe_request {
    struct arena *arena; /* of what is here */
    struct probe_name *names;
    int count;
    int line; /* stops there: before the first statement of this line or a later one; 0: nowhere */
    int64_t block[3];
    int thread[3];                /* thread level; thread[0] < 0: all */
    VEC(struct probe_site) sites; /* set by probe_add */
};

/* probe.c: adds a print() after each assignment of a name, of the block (and thread) that is asked for:
 *
 *     acc = acc + dot(sa, sb);   ->   acc = acc + dot(sa, sb);
 *                                     if (block.x == 0 && block.y == 0) print("$3", k, acc);
 *
 * The label is the number of the site. What goes to memory is shown as it is stored: a load is read once
 * more before the store, another value goes through a variable of its own. For a stop it adds such prints
 * of all names that have a value. The program's own values stay the same bits.
 * requires: types; before all passes. diagnoses: names that the kernel does not have, parts of another
 * rank, a line after the last statement. */
void probe_add(struct kernel *k, struct probe_request *r, struct diag *d);

#endif
