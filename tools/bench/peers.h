/* CPU libraries that multiply matrices, for comparison: OpenBLAS (or any other CBLAS), BLIS and
 * oneDNN. They are found by path and loaded at run time, so the program does not depend on them. */
#ifndef TW_PEERS_H
#define TW_PEERS_H

#include "cli/gemm.h"

#include <stddef.h>

enum { PEERS = 3 };

struct peer {
    const struct peer_kind *kind;
    void *handle;   /* of dlopen; NULL: not found */
    char name[120]; /* "OpenBLAS 0.3.21 (SkylakeX)": with the core of its kernels */
    char why[400];  /* the last error, or how to get the library */
    void *engine;   /* oneDNN's */
    void *stream;
};
struct peers {
    struct peer list[PEERS];
    int count; /* of those asked for */
};

/* Loads the libraries that `which` names ("openblas,blis,onednn"; NULL: all; "none"), each with
 * `threads` threads. Searches $TILEWRIGHT_BLAS, $TILEWRIGHT_BLIS and $TILEWRIGHT_ONEDNN (a file;
 * empty: without that library), then the system's folders, then build/blas, into which ./dev
 * unpacks them. If a library's core can be selected, times it in separate processes as each
 * candidate core, and selects the fastest, because a library that does not recognise the machine
 * would run its oldest kernels. $OPENBLAS_CORETYPE and $BLIS_ARCH_TYPE take precedence. Returns
 * false if `which` has another name; *bad is its place. */
bool peers_open(struct peers *x, const char *which, int threads, const char **bad);
bool peers_any(const struct peers *x); /* any is loaded */
void peers_close(struct peers *x);     /* stay loaded: threads may still run */

/* One product by one library, ready to run; valid while its arrays live. */
struct peer_plan {
    struct peer *peer;
    struct gemm gemm;
    const void *a, *b;
    void *c;
    int (*run)(struct peer_plan *p); /* 0: done */
    void *primitive;                 /* of oneDNN, if the plan uses one */
    void *memories[3];
};
/* Plans a product. Returns false if the library does not support it; peer->why is the reason.
 * The caller calls peer_plan_close in either case. */
bool peer_plan_open(struct peer_plan *p, struct peer *peer, const struct gemm *g, const void *a,
                    const void *b, void *c);
bool peer_plan_run(struct peer_plan *p);
void peer_plan_close(struct peer_plan *p);

#endif
