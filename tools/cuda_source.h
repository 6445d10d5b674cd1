/* CUDA C to PTX, by a compiler of this machine: nvcc with NVIDIA's toolkit, or clang with a header
 * of our own. */
#ifndef TW_CUDA_SOURCE_H
#define TW_CUDA_SOURCE_H

#include "tool.h"

/* The PTX of a file; options --device, --compiler, --compiler-arg. The caller frees *ptx. STATUS_OK, or
 * a status after a message. */
int cuda_compile(const char *path, const struct options *o, struct complaints *c, char **ptx);

struct cuda_settings {
    const char *sm;               /* NULL: sm_80 */
    const char *compiler;         /* NULL: nvcc where it is, else clang, */
    bool clang_first;             /* or clang where it is, which is quicker */
    const char *const *arguments; /* more for the compiler */
    int argument_count;
    int seconds; /* that the compiler may take; 0: as many as it likes */
    char **said; /* what the compiler said of the program, which the caller frees; NULL: it goes to
                  * standard error */
};
/* The same, told so; with `said`, a program that does not compile is no complaint. */
int cuda_compile_with(const char *path, const struct cuda_settings *settings, struct complaints *c,
                      char **ptx);

/* tools/cuda/tilewright_cuda.h, from the build. */
extern const unsigned char cuda_header[];
extern const size_t cuda_header_length;

#endif
