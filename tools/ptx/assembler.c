#include "ptx/assembler.h"
#include "cli/device_asked.h"
#include "cli/toolchain.h"

#include <stdlib.h>
#include <string.h>

/* Returns the program's file, or writes one if the program exists only as compiled text. */
static char *source_of(const struct ptx_file *f, const char *folder)
{
    if (!f->text)
        return need_text("%s", f->path);
    return folder_write(folder, "in.ptx", f->text, strlen(f->text)) ? need_text("%s/in.ptx", folder)
                                                                    : NULL;
}

static void assemble_in(const struct ptx_file *f, const char *ptxas, const char *target,
                        const char *folder)
{
    char *source = source_of(f, folder), *cubin = need_text("%s/out.cubin", folder);
    char *program = need_text("%s", ptxas), *arch = need_text("-arch=%s", target);
    char *arguments[] = {program, (char[]){"-lineinfo"}, arch, (char[]){"-o"}, cubin, source, NULL};
    size_t length;
    if (source && run_program(arguments, folder, "said.txt") == 0) {
        char *code = folder_read(folder, "out.cubin", &length);
        if (code)
            tw_ptx_machine_code(f->ptx, code, length);
        free(code);
    }
    free(source);
    free(cubin);
    free(program);
    free(arch);
}

void assemble(const struct ptx_file *f, const struct options *o)
{
    struct device_asked device;
    const char *target = device_asked_read(&device, o) == STATUS_OK ? device.target : NULL;
    char *ptxas = find_ptxas(), *folder = ptxas ? folder_make(NULL) : NULL;
    if (folder)
        assemble_in(f, ptxas, target ? target : tw_ptx_target(f->ptx), folder);
    folder_remove(folder);
    free(ptxas);
}
