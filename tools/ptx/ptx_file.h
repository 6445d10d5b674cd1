/* Opens a PTX program for a command: k.ptx, or CUDA C through a compiler. */
#ifndef TW_PTX_FILE_H
#define TW_PTX_FILE_H

#include "cli/target.h"
#include "tilewright_sim.h"

struct ptx_file {
    tw_context *ctx;
    tw_ptx *ptx;
    char *path;
    char *text;   /* a compiler's PTX; NULL: the file is PTX */
    char *kernel; /* its name in the PTX */
    char *called; /* its name in the source, without namespaces and template arguments */
    char *shown;  /* its whole name, for messages: "ns::scale<float, 4>" */
    struct complaints *complaints;
};

/* Opens the file and finds the kernel. Returns STATUS_OK, or another status after printing a
 * message. The caller calls ptx_file_close in either case. */
int ptx_file_open(struct ptx_file *f, const char *word, const struct options *o,
                  const struct program_config *config);
/* Like ptx_file_open, but chooses no kernel; the file may have any number of them. */
int ptx_file_read(struct ptx_file *f, const char *word, const struct options *o,
                  const struct program_config *config);
/* Sets names[i] and types[i] to the names and types of the kernel's parameters in the source
 * (NULL: not known). The caller frees. */
void ptx_file_param_names(const struct ptx_file *f, int count, char **names, char **types);
void ptx_file_close(struct ptx_file *f);

#endif
