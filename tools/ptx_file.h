/* A PTX program opened for a command: k.ptx, or k.cu through a compiler. */
#ifndef TW_PTX_FILE_H
#define TW_PTX_FILE_H

#include "target.h"
#include "tilewright_sim.h"

struct ptx_file {
    tw_context *ctx;
    tw_ptx *ptx;
    char *path;
    char *text;   /* of the PTX, where it is a compiler's; NULL: it is the file */
    char *kernel; /* as the PTX calls it */
    char *shown;  /* as the source does */
    struct complaints *complaints;
};

/* "k.ptx", "k.cu", "k.ptx:NAME" */
bool is_ptx_file(const char *word);

/* Opens the file and finds the kernel. STATUS_OK, or a status after a message; ptx_file_close in
 * either case. */
int ptx_file_open(struct ptx_file *f, const char *word, const struct options *o,
                  const struct program_config *config);
/* The same without a kernel: it may have any number of them, or none. */
int ptx_file_read(struct ptx_file *f, const char *word, const struct options *o,
                  const struct program_config *config);
/* Sets names[i] to the names of the kernel's parameters in the source, to be freed; NULL: not known. */
void ptx_file_param_names(const struct ptx_file *f, int count, char **names);
void ptx_file_close(struct ptx_file *f);

#endif
