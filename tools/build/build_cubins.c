/* Makes machine code and objects for `build`, by NVIDIA's assembler and a C compiler if
 * installed. */
#include "build/build.h"
#include "cli/toolchain.h"

#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

/* Prints a program's messages, indented, after a complaint. */
static void show_said(const char *folder, const char *name)
{
    char *said = folder_read(folder, name, NULL);
    for (char *line = said ? strtok(said, "\n") : NULL; line; line = strtok(NULL, "\n"))
        complain_more(NULL, "%s", line);
    free(said);
}

/* --- machine code --- */

enum { FILE_NAME = 32, MOST_AT_ONCE = 64 };

struct assembler {
    tw_build *build;
    tw_context *ctx;
    char *ptxas, *folder;
    int at_once;
    long children[MOST_AT_ONCE]; /* by image, in turn */
};

static const char *file_of(char name[FILE_NAME], int image, const char *ending)
{
    snprintf(name, FILE_NAME, "%d.%s", image, ending);
    return name;
}

static void start(struct assembler *a, int index, const tw_build_image *image)
{
    char name[FILE_NAME];
    char *arch = need_text("-arch=%s", image->target);
    char *source = need_text("%s/%s", a->folder, file_of(name, index, "ptx"));
    char *cubin = need_text("%s/%s", a->folder, file_of(name, index, "cubin"));
    char *arguments[] = {a->ptxas, arch, (char[]){"-o"}, cubin, source, NULL};
    bool written =
        folder_write(a->folder, file_of(name, index, "ptx"), image->ptx, strlen(image->ptx));
    a->children[index % a->at_once] =
        written ? program_start(arguments, a->folder, file_of(name, index, "txt")) : -1;
    free(cubin);
    free(source);
    free(arch);
}

static int finish(struct assembler *a, int index)
{
    char name[FILE_NAME];
    tw_build_image image = tw_build_image_init();
    size_t length;
    tw_build_image_at(a->build, index, &image);
    if (program_end(a->children[index % a->at_once]) != 0) {
        complain(NULL, "%s does not take the PTX for %s (--no-cubin ships that alone):", a->ptxas,
                 image.target);
        show_said(a->folder, file_of(name, index, "txt"));
        return STATUS_FAILED;
    }
    char *code = folder_read(a->folder, file_of(name, index, "cubin"), &length);
    tw_status s = code ? tw_build_machine_code(a->build, index, code, length) : TW_NO_FILE;
    free(code);
    if (s == TW_OK)
        return STATUS_OK;
    complain_library(NULL, a->ctx, s);
    return STATUS_FAILED;
}

/* Assembles all images; one process for each core runs at a time. */
static int assemble_all(struct assembler *a)
{
    tw_device host = {.size = sizeof host, .cores = 1};
    tw_build_image image = tw_build_image_init();
    int status = STATUS_OK, started = 0;
    tw_device_at(0, &host);
    a->at_once = host.cores < MOST_AT_ONCE ? host.cores : MOST_AT_ONCE;
    for (int done = 0; done <= started; done++) {
        while (status == STATUS_OK && started < done + a->at_once &&
               tw_build_image_at(a->build, started, &image))
            start(a, started++, &image);
        if (done < started && finish(a, done) != STATUS_OK)
            status = STATUS_FAILED;
    }
    return status;
}

int build_cubins(tw_build *b, tw_context *ctx)
{
    struct assembler a = {.build = b, .ctx = ctx, .ptxas = find_ptxas()};
    int status = STATUS_FAILED;
    if (!a.ptxas) {
        complain(NULL, "there is no ptxas, so all is shipped as PTX, which the driver assembles "
                       "when it is loaded (--no-cubin asks for that)");
        return STATUS_OK;
    }
    a.folder = folder_make(NULL);
    if (a.folder)
        status = assemble_all(&a);
    folder_remove(a.folder);
    free(a.ptxas);
    return status;
}

/* --- objects --- */

enum { MOST_WORDS = 32 };

/* Compiler and its options, without the rest of the command. */
struct compiler {
    char *path;
    int count;
    char *list[MOST_WORDS]; /* path is the first */
    wordexp_t words;
};

static void compiler_free(struct compiler *c)
{
    free(c->path);
    wordfree(&c->words);
}

/* Finds the compiler: $CC, split into words as the shell does, else the first one installed. */
static int find_compiler(struct compiler *c)
{
    static const char *const usual[] = {"cc", "gcc", "clang", NULL};
    const char *given = getenv("CC");
    *c = (struct compiler){.count = 1};
    bool good = !given || wordexp(given, &c->words, WRDE_NOCMD) == 0;
    if (!good || c->words.we_wordc > MOST_WORDS) {
        complain(NULL, "--object: $CC is `%s`: expected a compiler and its options", given);
        return STATUS_FAILED;
    }
    bool named = c->words.we_wordc > 0;
    c->path = named ? find_program(c->words.we_wordv[0]) : find_program_of(usual);
    if (!c->path && named)
        complain(NULL, "--object: $CC names %s, which is not here", c->words.we_wordv[0]);
    else if (!c->path)
        complain(NULL, "--object: there is no C compiler ($CC names one)");
    c->list[0] = c->path;
    for (; c->count < (int)c->words.we_wordc; c->count++)
        c->list[c->count] = c->words.we_wordv[c->count];
    return c->path ? STATUS_OK : STATUS_FAILED;
}

/* Compiles for any target. A file for the CPU includes tilewright_cpu.h. */
static int compile(const struct compiler *c, const char *temporary, char *source, char *object)
{
    char *headers = headers_folder(), *include = need_text("-I%s", headers ? headers : ".");
    char *rest[] = {(char[]){"-std=c11"}, include,        (char[]){"-O2"},
                    (char[]){"-fPIC"},    (char[]){"-c"}, source,
                    (char[]){"-o"},       object,         NULL};
    char *arguments[MOST_WORDS + sizeof rest / sizeof *rest];
    memcpy(arguments, c->list, (size_t)c->count * sizeof *arguments);
    memcpy(arguments + c->count, rest, sizeof rest);
    int status = run_program(arguments, temporary, "said.txt");
    free(include);
    free(headers);
    if (status == 0)
        return STATUS_OK;
    complain(NULL, "%s does not compile %s:", c->path, source);
    show_said(temporary, "said.txt");
    return STATUS_FAILED;
}

int build_object(const char *folder, const char *name)
{
    struct compiler c;
    int status = find_compiler(&c);
    char *temporary = status == STATUS_OK ? folder_make(NULL) : NULL;
    if (status == STATUS_OK && !temporary)
        status = STATUS_FAILED;
    char *source = need_text("%s/%s.c", folder, name), *object = need_text("%s/%s.o", folder, name);
    if (status == STATUS_OK)
        status = compile(&c, temporary, source, object);
    free(object);
    free(source);
    folder_remove(temporary);
    compiler_free(&c);
    return status;
}
