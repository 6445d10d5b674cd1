/* PTX programs of any compiler: ptx_program.c describes their parameters and runs them on the
 * simulator, ptx_program_gpu.c on a GPU. */
#ifndef TW_PTX_PROGRAM_H
#define TW_PTX_PROGRAM_H

#include "api/objects.h"

struct tw_ptx {
    tw_context *ctx;
    tw_ptx *next;
    struct arena arena;
    struct arena simulated; /* result of the latest tw_ptx_simulate */
    struct arena explained; /* result of the latest tw_ptx_explain */
    struct source source;
    const struct ptx_module *module;
    struct diag found;  /* errors in some of its functions */
    const char *target; /* "sm_90" */
    VEC(const struct ptx_function *) kernels;
    VEC(const char *) called; /* the kernels' names in the source */
    VEC(const struct ptx_file *) files;
    VEC(const struct source *) sources; /* texts of those */
    struct arena assembled;
    const void *machine_code; /* output of ptxas; NULL: not known */
    size_t machine_code_length;
    struct cuda_module *loaded; /* on the GPU, with its kernel */
    const struct ptx_function *loaded_kernel;
};

/* launch_ptx_kernel returns the launch's kernel after checking all arguments; NULL after a
 * report, with its status in *status. */
/* Reads a caller's launch. Reports if it refuses the launch. */
tw_status launch_ptx_read(tw_ptx *p, const tw_ptx_launch *launch, tw_ptx_launch *to);
const struct ptx_function *launch_ptx_kernel(tw_ptx *p, const tw_ptx_launch *launch,
                                             tw_status *status);

#endif
