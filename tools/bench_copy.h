/* How fast this machine copies: what kernels that move more than they compute are held to. */
#ifndef TW_BENCH_COPY_H
#define TW_BENCH_COPY_H

#include <stdbool.h>
#include <stddef.h>

struct copier;
/* To move `bytes`, half of them read and half written, by that many threads. NULL: no memory. */
struct copier *copier_open(size_t bytes, int threads);
void copier_run(struct copier *c); /* one copy, by memcpy */
void copier_close(struct copier *c);

#endif
