/* Machine code and objects for `build`, by NVIDIA's assembler and a C compiler, where they are. */
#include "build.h"
#include "toolchain.h"

#include <stdlib.h>
#include <string.h>

/* What a program said, indented, behind a complaint. */
static void show_said(const char *folder)
{
    char *said = folder_read(folder, "said.txt", NULL);
    for (char *line = said ? strtok(said, "\n") : NULL; line; line = strtok(NULL, "\n"))
        complain_more(NULL, "%s", line);
    free(said);
}

static int assemble(tw_build *b, tw_context *ctx, int index, const tw_build_image *image,
                    char *ptxas, const char *folder)
{
    char *arch = need_text("-arch=%s", image->target), *source = need_text("%s/in.ptx", folder),
         *cubin = need_text("%s/out.cubin", folder), *code = NULL;
    char *arguments[] = {ptxas, arch, (char[]){"-o"}, cubin, source, NULL};
    int status = STATUS_FAILED;
    size_t length;
    if (!folder_write(folder, "in.ptx", image->ptx, strlen(image->ptx)))
        complain(NULL, "%s cannot be written", source);
    else if (run_program(arguments, folder, "said.txt") != 0) {
        complain(NULL, "%s does not take the PTX for %s (--no-cubin ships that alone):", ptxas,
                 image->target);
        show_said(folder);
    } else if (!(code = folder_read(folder, "out.cubin", &length)))
        complain(NULL, "%s cannot be read", cubin);
    else if (tw_build_machine_code(b, index, code, length) != TW_OK)
        complain_library(NULL, ctx, TW_BAD_PROGRAM);
    else
        status = STATUS_OK;
    free(code);
    free(cubin);
    free(source);
    free(arch);
    return status;
}

int build_cubins(tw_build *b, tw_context *ctx)
{
    static const char *const names[] = {"ptxas", "/usr/local/cuda/bin/ptxas", NULL};
    char *ptxas = find_program_of(names), *folder = ptxas ? folder_make() : NULL;
    int status = STATUS_OK;
    if (!ptxas) {
        complain(NULL, "there is no ptxas, so all is shipped as PTX, which the driver assembles "
                       "when it is loaded (--no-cubin asks for that)");
        return STATUS_OK;
    }
    if (!folder) {
        complain(NULL, "no folder for temporary files can be made ($TMPDIR names a place)");
        status = STATUS_FAILED;
    }
    tw_build_image image;
    for (int i = 0; status == STATUS_OK && tw_build_image_at(b, i, &image); i++)
        status = assemble(b, ctx, i, &image, ptxas, folder);
    folder_remove(folder);
    free(ptxas);
    return status;
}

int build_object(const char *folder, const char *name)
{
    const char *const names[] = {getenv("CC") ? getenv("CC") : "cc", "gcc", "clang", NULL};
    char *cc = find_program_of(names), *temporary = cc ? folder_make() : NULL;
    if (!temporary) {
        complain(NULL, cc ? "no folder for temporary files can be made ($TMPDIR names a place)"
                          : "--object: there is no C compiler ($CC names one)");
        free(cc);
        return STATUS_FAILED;
    }
    char *source = need_text("%s/%s.c", folder, name), *object = need_text("%s/%s.o", folder, name);
    char *arguments[] = {cc,
                         (char[]){"-std=c11"},
                         (char[]){"-O2"},
                         (char[]){"-fPIC"},
                         (char[]){"-c"},
                         source,
                         (char[]){"-o"},
                         object,
                         NULL};
    int status = STATUS_OK;
    if (run_program(arguments, temporary, "said.txt") != 0) {
        complain(NULL, "%s does not compile %s:", cc, source);
        show_said(temporary);
        status = STATUS_FAILED;
    }
    free(object);
    free(source);
    folder_remove(temporary);
    free(cc);
    return status;
}
