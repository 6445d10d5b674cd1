/* What the parts of peers.h know of each library. */
#ifndef TW_PEER_KINDS_H
#define TW_PEER_KINDS_H

#include "peers.h"

enum { MOST_CORES = 8 };
struct peer_kind {
    const char *key, *title;
    const char *variable;         /* of the environment: its path */
    const char *package;          /* Debian's */
    const char *const *places;    /* patterns of paths, NULL at the end */
    const char *unpacked;         /* pattern below build/blas/usr/lib */
    const char *core_variable;    /* of the environment: the core that it is to be of; NULL: none */
    const char *const *cores;     /* what that may be, MOST_CORES - 1 at most, NULL at the end */
    bool (*open)(struct peer *p); /* after `handle` is loaded: its name; false: it is another */
    /* How many it runs from here on; false: it cannot be told. */
    bool (*set_threads)(struct peer *p, int threads);
    bool (*plan)(struct peer_plan *p);
};

/* Sets p->handle, or p->why. */
void peer_find(struct peer *p);
/* Where it runs best as another core than it takes the machine for, sets core_variable. */
void peer_choose_core(const struct peer_kind *kind);
/* A function of its own, or NULL. To be stored through a void **. */
void *peer_symbol(const struct peer *p, const char *name);

/* onednn.c */
bool onednn_open(struct peer *p);
bool onednn_plan(struct peer_plan *p);
void onednn_plan_close(struct peer_plan *p);
void onednn_close(struct peer *p);

#endif
