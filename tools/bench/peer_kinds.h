/* Descriptions of the libraries, shared by the files that implement peers.h. */
#ifndef TW_PEER_KINDS_H
#define TW_PEER_KINDS_H

#include "bench/peers.h"

#include <dlfcn.h>

enum { MOST_CORES = 8 };
struct peer_kind {
    const char *key, *title;
    const char *variable;         /* environment variable with its path */
    const char *package;          /* Debian's */
    const char *const *places;    /* patterns of paths, NULL at the end */
    const char *unpacked;         /* pattern below build/blas/usr/lib */
    const char *core_variable;    /* environment variable that selects the core; NULL: none */
    const char *const *cores;     /* its values, at most MOST_CORES - 1, NULL at the end */
    bool (*open)(struct peer *p); /* sets the name once `handle` is loaded; false: another
                                   * library */
    /* Sets the number of threads. Returns false if the library has no way to set it. */
    bool (*set_threads)(struct peer *p, int threads);
    bool (*plan)(struct peer_plan *p);
};

/* Sets p->handle, or p->why. */
void peer_find(struct peer *p);
/* Sets core_variable if the library runs faster as another core than the one it detects. */
void peer_choose_core(const struct peer_kind *kind);
/* Returns a function of the library itself, or NULL. Store it through a void **. */
static inline void *peer_symbol(const struct peer *p, const char *name)
{
    return p->handle ? dlsym(p->handle, name) : NULL;
}

/* onednn.c */
bool onednn_open(struct peer *p);
bool onednn_plan(struct peer_plan *p);
void onednn_plan_close(struct peer_plan *p);
void onednn_close(struct peer *p);

#endif
