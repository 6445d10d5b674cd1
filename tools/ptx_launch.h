/* What --kernel, --grid, --block, --cluster, --shared and --arg say: a launch of a PTX kernel, with
 * its arrays. */
#ifndef TW_PTX_LAUNCH_H
#define TW_PTX_LAUNCH_H

#include "ptx_file.h"
#include "tensor.h"

struct ptx_argument {
    tw_array array; /* rank 0: a value, in `bits` */
    uint64_t bits;
    char *file;   /* where it comes from, or NULL */
    void *before; /* an array's content at the start */
    char *out;    /* --out: where it goes, or NULL */
    char *name; /* for messages: the parameter's, or "argument 2" where the compiler made that up */
    bool named; /* it is the parameter's */
    bool is_array, uninitialised,
        changes; /* changes: the start says nothing, so it is worth showing */
};

struct ptx_given {
    tw_ptx_launch launch;
    struct ptx_argument *list; /* by argument */
    tw_ptx_argument *arguments;
    int count;
};

/* Reads the options. STATUS_OK, or a status after a message; ptx_given_free in either case. */
int ptx_given_read(struct ptx_given *g, const struct ptx_file *f, const struct options *o,
                   uint64_t seed);
void ptx_given_free(struct ptx_given *g);
/* The arrays as they were at the start. */
void ptx_given_restore(struct ptx_given *g);
/* Whether the array of an argument is not what it was at the start. */
bool ptx_argument_changed(const struct ptx_argument *a);
/* --out: writes the files. */
int ptx_given_write(const struct ptx_given *g, struct complaints *c);
/* Keys grid, block and shared. */
void ptx_given_json(const struct ptx_given *g, struct json *j);

#define OPTIONS_PTX_LAUNCH                                                                         \
    {.name = "kernel",                                                                             \
     .values = 1,                                                                                  \
     .value = "NAME",                                                                              \
     .help = "PTX, CUDA: which kernel; its name in the source will do"},                           \
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
    {                                                                                              \
        .name = "arg", .values = 1, .value = "ARGUMENT",                                           \
        .help = "one for each parameter, in order: a value, i32:64; an array,\n"                   \
                "f32[4096]:rand (zero, iota, ones, wide, none: never written, =2.5) or\n"          \
                "f32[64][64]:@FILE.npy; @FILE.npy alone has its type and shape"                    \
    }

#define OPTIONS_COMPILER                                                                           \
    {.name = "sm",                                                                                 \
     .values = 1,                                                                                  \
     .value = "TARGET",                                                                            \
     .help = "what is compiled for: sm_80 (default), sm_90 …; PTX, with --counters:\n"           \
             "what it is assembled for (default: as it says)"},                                    \
        {.name = "compiler",                                                                       \
         .values = 1,                                                                              \
         .value = "PROGRAM",                                                                       \
         .help = "CUDA: nvcc or clang (default: nvcc where it is, else clang)"},                   \
    {                                                                                              \
        .name = "compiler-arg", .values = 1, .value = "ARG",                                       \
        .help = "CUDA: one more for it, as --compiler-arg=-DN=64; may be repeated"                 \
    }

#endif
