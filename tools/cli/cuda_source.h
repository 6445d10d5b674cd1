/* Compiles CUDA C to PTX, by a compiler of this machine: nvcc with NVIDIA's toolkit, or clang
 * with our own header. */
#ifndef TW_CUDA_SOURCE_H
#define TW_CUDA_SOURCE_H

#include "cli/tool.h"

/* Compiles a file according to --device, --compiler and --compiler-arg. Writes the PTX to *ptx;
 * the caller frees. Returns STATUS_OK, or another status after printing a message. */
int cuda_compile(const char *path, const struct options *o, struct complaints *c, char **ptx);

struct cuda_settings {
    const char *sm;               /* NULL: sm_80 */
    const char *compiler;         /* NULL: nvcc if installed, else clang, */
    bool clang_first;             /* or first clang, which is faster */
    const char *const *arguments; /* more for the compiler */
    int argument_count;
    int seconds; /* limit for the compiler; 0: none */
    char **said; /* the compiler's messages about the program, which the caller frees; NULL: they
                  * go to standard error */
};
/* Like cuda_compile, with explicit settings. With `said`, a program that does not compile causes
 * no complaint. */
int cuda_compile_with(const char *path, const struct cuda_settings *settings, struct complaints *c,
                      char **ptx);

#endif
