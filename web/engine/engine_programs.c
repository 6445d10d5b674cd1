/* Replaces tools/cli/toolchain.c, cuda_source.c and assembler.c, which start other programs: a
 * browser has no compiler of CUDA C and no assembler. */
#include "app/app.h"
#include "ptx/assembler.h"
#include "cli/cuda_source.h"
#include "cli/toolchain.h"

#include <stdlib.h>

int cuda_compile_with(const char *path, const struct cuda_settings *settings, struct complaints *c,
                      char **ptx)
{
    if (settings && settings->said)
        *settings->said = NULL;
    *ptx = NULL;
    complain(c, "%s is CUDA C, and a browser has no compiler of it", path);
    complain_more(
        c, "the installed program takes it; here its PTX will do: `nvcc -ptx` or `clang -S`");
    return STATUS_USAGE;
}

int cuda_compile(const char *path, const struct options *o, struct complaints *c, char **ptx)
{
    (void)o;
    return cuda_compile_with(path, NULL, c, ptx);
}

/* Without machine code, the counters have wider bounds. */
void assemble(const struct ptx_file *f, const struct options *o)
{
    (void)f, (void)o;
}

/* Writes no file, because no program that would read it can start. */
char *folder_make(struct complaints *complaints)
{
    (void)complaints;
    return NULL;
}

void folder_remove(char *folder)
{
    free(folder);
}

bool folder_write(const char *folder, const char *name, const void *data, size_t length)
{
    (void)folder, (void)name, (void)data, (void)length;
    return false;
}

/* Replace tools/app/app.c: a browser starts no programs. */
bool is_app(const struct options *given)
{
    (void)given;
    return false;
}

int app_run(const struct command *self, const struct options *given, bool checks)
{
    (void)self, (void)given, (void)checks;
    return STATUS_USAGE;
}
