/* CUDA C to PTX, by a compiler of this machine: nvcc with NVIDIA's toolkit, or clang with a header
 * of our own. */
#ifndef TW_CUDA_SOURCE_H
#define TW_CUDA_SOURCE_H

#include "tool.h"

/* The PTX of a file; options --sm, --compiler, --compiler-arg. The caller frees *ptx. STATUS_OK, or
 * a status after a message. */
int cuda_compile(const char *path, const struct options *o, struct complaints *c, char **ptx);

/* tools/cuda/tilewright_cuda.h, from the build. */
extern const unsigned char cuda_header[];
extern const size_t cuda_header_length;

#endif
