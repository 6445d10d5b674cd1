/* Libraries that multiply matrices on the CPU, to compare with: OpenBLAS (or any other CBLAS), BLIS
 * and oneDNN, found by path and loaded at run time, so nothing depends on them. */
#ifndef TW_PEERS_H
#define TW_PEERS_H

#include "gemm.h"

#include <stddef.h>

enum { PEERS = 3 };

struct peer {
    const struct peer_kind *kind;
    void *handle;   /* of dlopen; NULL: it is not here */
    char name[120]; /* "OpenBLAS 0.3.21 (SkylakeX)": with the core that its kernels are of */
    char why[400];  /* of what failed last, or what to do where there is no library */
    void *engine;   /* oneDNN's */
    void *stream;
};
struct peers {
    struct peer list[PEERS];
    int count; /* of those asked for */
};

/* Loads those that `which` names ("openblas,blis,onednn"; NULL: all; "none"), each with that many
 * threads. Looks at $TILEWRIGHT_BLAS, $TILEWRIGHT_BLIS and $TILEWRIGHT_ONEDNN (a file; empty: not
 * that library), the system's folders, then build/blas, where ./dev unpacks them. One that can be
 * told what core to run as is timed in processes of their own as each of those it may know, and
 * told the fastest, unless $OPENBLAS_CORETYPE or $BLIS_ARCH_TYPE says: what does not know the
 * machine would run the oldest there is. false: `which` has another name, *bad is where. */
bool peers_open(struct peers *x, const char *which, int threads, const char **bad);
bool peers_any(const struct peers *x); /* is here */
void peers_close(struct peers *x);     /* they stay loaded: their threads may run */

/* One product by one library, ready to run; lasts as long as the arrays. */
struct peer_plan {
    struct peer *peer;
    struct gemm gemm;
    const void *a, *b;
    void *c;
    int (*run)(struct peer_plan *p); /* 0: done */
    void *primitive;                 /* oneDNN's, where it is one */
    void *memories[3];
};
/* false: the library does not do this one, and peer->why says so. peer_plan_close in either
 * case. */
bool peer_plan_open(struct peer_plan *p, struct peer *peer, const struct gemm *g, const void *a,
                    const void *b, void *c);
bool peer_plan_run(struct peer_plan *p);
void peer_plan_close(struct peer_plan *p);

#endif
