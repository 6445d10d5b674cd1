/* A PTX kernel's parameters with the names and types of its source, and the message for a launch
 * that lacks some of them. */
#ifndef TW_PTX_PARAMS_H
#define TW_PTX_PARAMS_H

#include "ptx/ptx_file.h"

struct ptx_params {
    int count; /* -1: not known */
    struct ptx_param_found {
        char *name; /* NULL or "": not known, because compilers call all parameters k_param_2 */
        char *type; /* as C++ writes it, "const float*"; NULL: not known */
        char *ptx;  /* its type in the PTX, ".u64" */
        size_t bytes;
    } * list;
};

/* Finds the parameters. The caller calls ptx_params_free. */
void ptx_params_find(struct ptx_params *p, const struct ptx_file *f);
void ptx_params_free(struct ptx_params *p);

/* Returns a parameter as C++ declares it, "const float *x", or as the PTX has it, "x (.u64, 8
 * bytes)". The caller frees. */
char *ptx_param_text(const struct ptx_param_found *p);

/* Returns the type of the elements that a pointer points to, as --arg writes it, "f64" for a
 * "const double*"; those of a vector, "f32" for a "float4*". NULL: no pointer, or not known. */
const char *ptx_param_element(const struct ptx_param_found *p);

/* Prints the parameters with their types, and a command line that has an --arg for each of them,
 * and --block. has_block: the launch or the kernel says the size of a block. Returns
 * STATUS_USAGE. */
int ptx_params_refuse(const struct ptx_params *p, const struct ptx_file *f, const struct options *o,
                      bool has_block);

#endif
