#include "cli/cuda_source.h"
#include "cli/cuda_path.h"
#include "cli/device_asked.h"
#include "cli/toolchain.h"
#include "cli/doing.h"
#include "cli/embedded_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 64 };

struct compilation {
    const char *path;
    const struct cuda_settings *settings;
    struct complaints *complaints;
    char *folder;
    char *wrapper; /* file that includes the one at the path; NULL: the compiler takes the path */
    char *program; /* of the compiler */
    bool is_nvcc;
    char *arguments[MOST_ARGUMENTS + 1];
    int count;
};

/* Headers that CUDA sources include, for clang, and that our own header replaces. The other headers
 * are files of tools/cuda/. libstdc++ uses `__noinline__` as an attribute's name, but CUDA defines
 * it as a macro; clang handles both since version 15. */
static const struct {
    const char *name, *text;
} headers[] = {
#define WITH(word) "#define TW_WANTS_" word "\n#include \"tilewright_cuda.h\"\n"
    {"cuda.h", "\n"},
    {"cuda_runtime.h", "\n"},
    {"cuda_runtime_api.h", "\n"},
    {"cuda_pipeline.h", "\n"},
    {"cuda_pipeline_primitives.h", "\n"},
    {"device_launch_parameters.h", "\n"},
    {"vector_types.h", "\n"},
    {"math_constants.h", "\n"},
    {"cassert", WITH("ASSERT")},
    {"assert.h", WITH("ASSERT")},
    {"cooperative_groups.h", WITH("GROUPS")},
    {"bits/shared_ptr_base.h", "#pragma push_macro(\"__noinline__\")\n#undef __noinline__\n"
                               "#include_next <bits/shared_ptr_base.h>\n"
                               "#pragma pop_macro(\"__noinline__\")\n"},
#undef WITH
};

static bool make_folder(struct compilation *x)
{
    x->folder = folder_make(x->complaints);
    if (!x->folder)
        return false;
    bool ok = true;
    for (const struct embedded_text *t = cuda_header_texts; t->path && !x->is_nvcc; t++)
        ok = ok && folder_write(x->folder, t->path, t->text, strlen(t->text));
    for (size_t i = 0; i < sizeof headers / sizeof *headers && !x->is_nvcc; i++)
        ok = ok &&
             folder_write(x->folder, headers[i].name, headers[i].text, strlen(headers[i].text));
    if (!ok)
        complain(x->complaints, "%s: its files cannot be written", x->folder);
    return ok;
}

/* Makes a wrapper, a file that includes the source, if a shell would change the path, because nvcc
 * passes paths to a shell; and for a header, because nvcc warns of its `#pragma once`. */
static bool make_wrapper(struct compilation *x)
{
    if (!x->is_nvcc || (path_is_plain(x->path) && ends_with(x->path, ".cu")))
        return true;
    char *text = path_include(x->path);
    x->wrapper = need_text("%s/source.cu", x->folder);
    bool made = text && folder_write(x->folder, "source.cu", text, strlen(text));
    if (!text)
        complain(x->complaints,
                 "%s: nvcc cannot be given a file with such a name (clang can: "
                 "--compiler clang)",
                 x->path);
    else if (!made)
        complain(x->complaints, "%s cannot be written", x->wrapper);
    free(text);
    return made;
}

/* --- the compiler --- */

static bool find_compiler(struct compilation *x)
{
    enum { NVCCS = 2 };
    static const char *const names[] = {"nvcc",     "/usr/local/cuda/bin/nvcc",
                                        "clang",    "clang-20",
                                        "clang-19", "clang-18",
                                        "clang-17", "clang-16",
                                        "clang-15", "clang-14"};
    const size_t count = sizeof names / sizeof *names;
    const char *wanted = x->settings->compiler;
    if (wanted)
        x->program = find_program(wanted);
    for (size_t i = 0; i < count && !x->program; i++) {
        const char *name = names[(i + (x->settings->clang_first ? NVCCS : 0)) % count];
        if (!wanted || (strcmp(wanted, "nvcc") == 0 && strstr(name, "nvcc")) ||
            (strcmp(wanted, "clang") == 0 && strstr(name, "clang")))
            x->program = find_program(name);
    }
    if (!x->program) {
        if (wanted)
            complain(x->complaints, "%s: there is no such program", wanted);
        else
            complain(x->complaints,
                     "%s needs a compiler of CUDA C, and neither nvcc nor clang is here", x->path);
        complain_more(x->complaints, "Debian, Ubuntu: apt install clang; or NVIDIA's CUDA toolkit, "
                                     "https://developer.nvidia.com/cuda-downloads");
        complain_more(x->complaints,
                      "or make PTX on another machine, and check that: nvcc -x cu -ptx -lineinfo "
                      "-arch=sm_80 -o k.ptx %s",
                      x->path);
        return false;
    }
    const char *base = strrchr(x->program, '/');
    x->is_nvcc = strncmp(base ? base + 1 : x->program, "nvcc", 4) == 0;
    return true;
}

__attribute__((format(printf, 2, 3))) static void add(struct compilation *x, const char *format,
                                                      ...)
{
    va_list args;
    if (x->count == MOST_ARGUMENTS)
        return;
    va_start(args, format);
    x->arguments[x->count++] = need_text_list(format, args);
    va_end(args);
}

static void add_list(struct compilation *x, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(x, "%s", list[i]);
}

static void make_command(struct compilation *x)
{
    static const char *const nvcc[] = {"-x", "cu", "-ptx", "-lineinfo", "-O3"};
    static const char *const clang[] = {"-x",
                                        "cuda",
                                        "--cuda-device-only",
                                        "-nocudainc",
                                        "-nocudalib",
                                        "-Wno-unknown-cuda-version",
                                        "-Wno-pragma-once-outside-header",
                                        "-fdeclspec",
                                        "-Xclang",
                                        "-target-feature",
                                        "-Xclang",
                                        "+ptx72",
                                        "-O2",
                                        "-gline-tables-only",
                                        "-S"};
    const char *sm = x->settings->sm;
    add(x, "%s", x->program);
    if (x->is_nvcc) {
        add_list(x, nvcc, sizeof nvcc / sizeof *nvcc);
        add(x, "-arch=%s", sm ? sm : "sm_80");
    } else {
        add_list(x, clang, sizeof clang / sizeof *clang);
        add(x, "--cuda-gpu-arch=%s", sm ? sm : "sm_80");
        add(x, "-I%s", x->folder);
        add(x, "-include");
        add(x, "%s/tilewright_cuda.h", x->folder);
    }
    for (int i = 0; i < x->settings->argument_count; i++)
        add(x, "%s", x->settings->arguments[i]);
    add(x, "-o");
    add(x, "%s/out.ptx", x->folder);
    if (x->wrapper)
        add(x, "%s", x->wrapper);
    else
        add(x, "%s%s", *x->path == '-' ? "./" : "", x->path); /* not an option */
}

static void explain(struct compilation *x, const char *said)
{
    complain(x->complaints, "%s does not compile (%s)", x->path, x->program);
    const char *base = strrchr(x->program, '/');
    if (x->is_nvcc && strstr(said, "host compiler"))
        complain_more(x->complaints, "nvcc needs a host compiler, as g++, on PATH");
    else if (!x->is_nvcc && !strstr(base ? base + 1 : x->program, "clang"))
        complain_more(x->complaints,
                      "%s is not a compiler of CUDA C that is known here: clang, nvcc", x->program);
    else if (strstr(said, "No available targets"))
        complain_more(x->complaints,
                      "this clang makes no PTX; Debian's and LLVM's own do: apt install clang");
    else if (strstr(said, "file not found") && !x->is_nvcc)
        complain_more(x->complaints,
                      "for clang, Tilewright has small versions of cuda.h, cuda_runtime.h, "
                      "cuda_pipeline.h, cuda_fp16.h, cuda_bf16.h, cooperative_groups.h with its "
                      "reduce.h and memcpy_async.h, mma.h, cuda/atomic and cuda/barrier; the "
                      "toolkit's other headers (cub, thrust …) need its nvcc: --compiler nvcc");
    else if (!x->is_nvcc && (strstr(said, "undeclared identifier") ||
                             strstr(said, "no member named") || strstr(said, "unknown type name")))
        complain_more(
            x->complaints,
            "if CUDA's toolkit has that name: clang uses Tilewright's small version of the "
            "toolkit's headers here; nvcc has all of them: --compiler nvcc");
    else if (strstr(said, "Unsupported CUDA gpu architecture") ||
             strstr(said, "unsupported CUDA gpu architecture"))
        complain_more(x->complaints,
                      "this compiler knows no such target; all know sm_80: --device sm_80, or for "
                      "explain --device h200:sm_80");
}

/* Returns whether the compiler's message is about the program, and not, for example, about an
 * unsupported target. */
static bool is_of_program(const struct compilation *x, const char *said)
{
    char *place = need_text("%s:", x->path);
    bool found = strstr(said, place);
    free(place);
    return found;
}

static int compile(struct compilation *x, char **ptx)
{
    make_command(x);
    int seconds = x->settings->seconds;
    doing("running", x->program);
    int status = seconds ? run_program_within(seconds, x->arguments, x->folder, "said.txt")
                         : run_program(x->arguments, x->folder, "said.txt");
    doing(NULL, NULL);
    char *said = status == PROGRAM_LATE
                     ? need_text("%s: error: %s takes more than %d seconds for it\n", x->path,
                                 x->program, seconds)
                     : folder_read(x->folder, "said.txt", NULL);
    if (said && x->wrapper)
        said = path_restore_said(said, x->path, x->wrapper);
    if (said) { /* messages quote the source */
        char *shown = need_shown(said);
        free(said);
        said = shown;
    }
    *ptx = status == 0 ? folder_read(x->folder, "out.ptx", NULL) : NULL;
    if (said && x->settings->said && (*ptx || is_of_program(x, said))) {
        *x->settings->said = said;
        said = NULL;
    } else {
        if (said)
            fputs(said, stderr);
        if (!*ptx)
            explain(x, said ? said : "");
    }
    if (*ptx)
        *ptx = path_restore_ptx(*ptx, x->path);
    free(said);
    return *ptx ? STATUS_OK : STATUS_USAGE;
}

int cuda_compile_with(const char *path, const struct cuda_settings *settings, struct complaints *c,
                      char **ptx)
{
    struct compilation x = {.path = path, .settings = settings, .complaints = c};
    int status = STATUS_USAGE;
    if (settings->said)
        *settings->said = NULL;
    if (access(path, R_OK) != 0)
        complain(c, "cannot read `%s`: %s", path, strerror(errno));
    else if (find_compiler(&x) && make_folder(&x) && make_wrapper(&x))
        status = compile(&x, ptx);
    folder_remove(x.folder);
    for (int i = 0; i < x.count; i++)
        free(x.arguments[i]);
    free(x.wrapper);
    free(x.program);
    return status;
}

int cuda_compile(const char *path, const struct options *o, struct complaints *c, char **ptx)
{
    const char *arguments[MOST_ARGUMENTS];
    struct device_asked device;
    if (device_asked_read(&device, o) != STATUS_OK)
        return STATUS_USAGE;
    device_asked_gpu(&device);
    struct cuda_settings settings = {
        .sm = device.target, .compiler = options_value(o, "compiler"), .arguments = arguments};
    for (const struct option_use *u = NULL; (u = options_next(o, "compiler-arg", u));)
        if (settings.argument_count < MOST_ARGUMENTS)
            arguments[settings.argument_count++] = u->values[0];
    char *folders[MOST_ARGUMENTS];
    int folder_count = 0;
    for (const struct option_use *u = NULL; (u = options_next(o, "import-path", u));)
        if (settings.argument_count < MOST_ARGUMENTS) {
            folders[folder_count] = need_text("-I%s", u->values[0]);
            arguments[settings.argument_count++] = folders[folder_count++];
        }
    int status = cuda_compile_with(path, &settings, c, ptx);
    for (int i = 0; i < folder_count; i++)
        free(folders[i]);
    return status;
}
