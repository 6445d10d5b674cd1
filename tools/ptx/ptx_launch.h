/* Makes a launch of a PTX kernel, with its arrays, from --kernel, --grid, --block, --cluster,
 * --shared and --arg. */
#ifndef TW_PTX_LAUNCH_H
#define TW_PTX_LAUNCH_H

#include "ptx/ptx_arguments.h"

struct ptx_given {
    tw_ptx_launch launch;
    struct ptx_argument *list; /* by argument */
    tw_ptx_argument *arguments;
    int count;
    struct ptx_arrays arrays;
};

/* Reads the options. Returns STATUS_OK, or another status after printing a message. The caller
 * calls ptx_given_free in either case. */
int ptx_given_read(struct ptx_given *g, const struct ptx_file *f, const struct options *o,
                   uint64_t seed);
void ptx_given_free(struct ptx_given *g);
/* Restores the initial contents of the arrays. */
void ptx_given_restore(struct ptx_given *g);
/* Returns whether the array's content has changed since the start; false for views. */
bool ptx_array_changed(const struct ptx_array *a);
/* --out: writes the files. */
int ptx_given_write(const struct ptx_given *g, struct complaints *c);
/* Adds the keys grid, block, shared and cooperative. */
void ptx_given_json(const struct ptx_given *g, struct json *j);

#define OPTIONS_PTX_LAUNCH                                                                         \
    {.name = "kernel",                                                                             \
     .values = 1,                                                                                  \
     .value = "NAME",                                                                              \
     .help = "PTX, CUDA: which kernel: its name in the source, with namespaces and template\n"     \
             "arguments if it has others of that name ('ns::scale<float, 4>'), or its symbol"},    \
        {.name = "grid", .values = 1, .value = "X[,Y[,Z]]", .help = "blocks (default 1)"},         \
        {.name = "block", .values = 1, .value = "X[,Y[,Z]]", .help = "threads of a block"},        \
        {.name = "cluster",                                                                        \
         .values = 1,                                                                              \
         .value = "X[,Y[,Z]]",                                                                     \
         .help = "blocks of a cluster (default 1)"},                                               \
        {.name = "shared",                                                                         \
         .values = 1,                                                                              \
         .value = "BYTES",                                                                         \
         .help = "dynamic shared memory of a block (default 0)"},                                  \
        {.name = "cooperative",                                                                    \
         .help = "all blocks run at the same time, as grid.sync() needs it"},                      \
    {                                                                                              \
        .name = "arg", .values = 1, .value = "ARGUMENT",                                           \
        .help = "one for each parameter, in order: a value, i32:64; an array,\n"                   \
                "f32[4096]:rand (zero, iota, ones, wide, …, none: never written, =2.5) or\n"     \
                "f32[64x64]:@FILE.npy; @FILE.npy alone has its type and shape;\n"                  \
                "i32[100]:iota[50]: its first 50 are written; =0: the same array as\n"             \
                "argument 0, =0+16 from its element 16 on; a struct,\n"                            \
                "'{data=i32[8]:zero, n=i32:8, f32:{1,2,3}, pad:4, null}', laid out as in C;\n"     \
                "null: a null pointer; bytes:0a000000 or bytes:@FILE: the bytes of the\n"          \
                "parameter, or of a part of a struct, as they are"                                 \
    }

#define OPTIONS_COMPILER                                                                           \
    {.name = "sm", .values = 1, .now = "sm"}, /* the target of --device */                         \
        {.name = "compiler",                                                                       \
         .values = 1,                                                                              \
         .value = "PROGRAM",                                                                       \
         .help = "CUDA: nvcc or clang (default: nvcc where it is, else clang)"},                   \
    {                                                                                              \
        .name = "compiler-arg", .values = 1, .value = "ARG",                                       \
        .help = "CUDA: one more for it, as --compiler-arg=-DN=64; may be repeated"                 \
    }

#endif
