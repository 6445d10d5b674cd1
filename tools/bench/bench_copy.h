/* Measures the copy speed of this machine, the reference for kernels that are bound by memory. */
#ifndef TW_BENCH_COPY_H
#define TW_BENCH_COPY_H

#include <stdbool.h>
#include <stddef.h>

struct copier;
/* Prepares a copy by `threads` threads that moves `bytes`, half of them read and half written.
 * Returns NULL if memory is exhausted. */
struct copier *copier_open(size_t bytes, int threads);
void copier_run(struct copier *c); /* one copy, by memcpy */
void copier_close(struct copier *c);

#endif
