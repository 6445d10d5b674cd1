/* Command build: kernels as C to ship. */
#include "build/build.h"
#include "cli/chosen.h"
#include "cli/commands.h"
#include "cli/file_new.h"
#include "cli/part_file.h"
#include "cli/time_limit.h"

#include <stdlib.h>
#include <string.h>

/* Returns --name, else the only kernel's or family's name, else the first file's name. Avoids R_OK, W_OK,
 * X_OK and F_OK as names in NAME.h, because <unistd.h> defines these macros. The caller frees. */
static char *build_name(const struct builder *b)
{
    const char *given = options_value(b->given, "name");
    if (given)
        return need_text("%s", given);
    if (b->kernel_count + b->family_count == 1) {
        const char *kernel = b->family_count ? tw_family_name(b->families[0].program->family)
                                             : tw_kernel_name(b->kernels[0].kernel);
        bool letter = kernel[0] && !kernel[1] && strchr("FRWXfrwx", kernel[0]);
        return need_text("%s%s", letter ? "kernel_" : "", kernel);
    }
    const char *path = b->programs[0].path, *slash = strrchr(path, '/');
    const char *stem = slash ? slash + 1 : path;
    return need_text("%.*s", (int)strcspn(stem, "."), stem);
}

/* Opens the build. If a kernel's name, such as `math` or `_k`, is not usable for C files and
 * functions, takes kernel_NAME. */
static int open_build(struct builder *b, char **name)
{
    bool given = options_has(b->given, "name");
    tw_status s = tw_build_new(b->ctx, *name, &b->build);
    if (s == TW_BAD_ARGUMENT && !given) {
        char *longer = need_text("kernel_%s", *name);
        s = tw_build_new(b->ctx, longer, &b->build);
        free(s == TW_OK ? *name : longer);
        *name = s == TW_OK ? longer : *name;
    }
    if (s == TW_OK)
        return STATUS_OK;
    complain_library(NULL, b->ctx, s);
    if (s == TW_BAD_ARGUMENT && !given)
        complain_more(NULL, "--name NAME gives another");
    return STATUS_USAGE;
}

static int write_files(struct builder *b, const char *name)
{
    const char *folder = options_value(b->given, "out");
    folder = folder ? folder : ".";
    part_file_hold();
    tw_status s = tw_build_write(b->build, folder);
    part_file_release();
    if (s != TW_OK) {
        complain_library(NULL, b->ctx, s);
        return STATUS_FAILED;
    }
    bool object = options_has(b->given, "object");
    int status = object ? build_object(folder, name) : STATUS_OK;
    if (status == STATUS_OK)
        printf("%s/%s.h\n%s/%s.c\n", folder, name, folder, name);
    if (status == STATUS_OK && object)
        printf("%s/%s.o\n", folder, name);
    return status;
}

static int add_families(struct builder *b)
{
    int status = STATUS_OK;
    for (int i = 0; i < b->family_count && status == STATUS_OK; i++)
        status = family_build(&(struct family_request){b->build, b->ctx, b->families[i].program,
                                                       b->given, b->devices, b->device_count,
                                                       &b->tuned});
    return status;
}

/* Adds all kernels that are not left out. Adds the number of kernels to leave out from now on to
 * *more. */
static int add_kernels(struct builder *b, int *more)
{
    int status = STATUS_OK;
    for (int i = 0; i < b->kernel_count && status == STATUS_OK; i++) {
        b->refused = false;
        if (!b->left_out[i])
            status = build_add_kernel(b, &b->kernels[i]);
        if (status == STATUS_OK || !b->refused || b->kernel_count + b->family_count == 1)
            continue;
        b->left_out[i] = true;
        ++*more;
        status = STATUS_OK;
    }
    return status;
}

/* Builds the kernels; may replace *name, the NAME of the build. A kernel that does not compile
 * is left out. The build then starts again with the others, because it may already contain
 * versions of that kernel. */
static int build_kernels(struct builder *b, char **name)
{
    int left_out = 0, before;
    int status = tuned_read(&b->tuned, options_value(b->given, "tuned"));
    do {
        before = left_out;
        tw_build_free(b->build);
        b->build = NULL;
        if (status == STATUS_OK)
            status = open_build(b, name);
        if (status == STATUS_OK)
            status = add_kernels(b, &left_out);
        if (status == STATUS_OK && left_out == before)
            status = add_families(b);
    } while (status == STATUS_OK && left_out > before &&
             (left_out < b->kernel_count || b->family_count));
    if (status == STATUS_OK)
        tuned_say_unused(&b->tuned);
    return left_out < b->kernel_count || b->family_count ? status : STATUS_USAGE;
}

/* Names the kernels that were left out; the build contains only the others. */
static int say_left_out(const struct builder *b)
{
    int status = STATUS_OK;
    for (int i = 0; i < b->kernel_count; i++)
        if (b->left_out[i]) {
            complain(NULL, "`%s` is left out", tw_kernel_name(b->kernels[i].kernel));
            status = STATUS_USAGE;
        }
    return status;
}

static int build_all(struct builder *b, char **name)
{
    b->left_out = need_memory(((size_t)b->kernel_count + 1) * sizeof *b->left_out);
    int status = build_kernels(b, name);
    bool for_gpu = false;
    for (int t = 0; t < b->target_count; t++)
        for_gpu = for_gpu || strcmp(b->targets[t], "cpu") != 0;
    for_gpu = for_gpu && options_has(b->given, "device");
    if (status == STATUS_OK && for_gpu && !options_has(b->given, "no-cubin"))
        status = build_cubins(b->build, b->ctx);
    if (status == STATUS_OK)
        status = write_files(b, *name);
    return status == STATUS_OK ? say_left_out(b) : status;
}

static void builder_close(struct builder *b)
{
    for (int i = 0; i < b->program_count; i++)
        program_close(&b->programs[i]);
    for (int i = 0; i < b->target_count; i++)
        free(b->targets[i]);
    for (int i = 0; i < b->device_count; i++) {
        free(b->devices[i].target);
        free(b->devices[i].device);
    }
    tuned_free(&b->tuned);
    free(b->programs);
    free(b->kernels);
    free(b->families);
    free(b->members);
    free(b->said);
    free(b->left_out);
    tw_context_free(b->ctx);
}

static int build_run(const struct command *self, const struct options *given)
{
    struct builder b = {.self = self, .given = given};
    static const char *const of_family[] = {"variants", "same-bits", "table", "store", NULL};
    const char *out = options_value(given, "out");
    if (given->word_count == 0)
        return usage_error(NULL, self, "which FILE?");
    struct deadline deadline = {0};
    double seconds = 0;
    if (!time_limit_begin(given, &seconds, &deadline.at))
        return STATUS_USAGE;
    int status = context_open(
        &b.ctx, &(struct program_config){.colour = on_terminal(stderr), .deadline = &deadline});
    if (status == STATUS_OK)
        status = build_find_targets(&b);
    if (status == STATUS_OK)
        status = build_find_kernels(&b);
    if (status == STATUS_OK && !b.family_count)
        status = options_refuse(given, of_family, "a family", given->words[0]);
    if (status == STATUS_OK)
        status = settings_known(b.members, b.member_count, given);
    if (status == STATUS_OK)
        status = points_check(b.kernels, b.kernel_count, b.families, b.family_count, given);
    if (status == STATUS_OK)
        status = types_check(b.members, b.member_count, given);
    if (status == STATUS_OK && out && folder_is_missing(out))
        status = STATUS_FAILED;
    if (status == STATUS_OK) {
        char *name = build_name(&b);
        status = build_all(&b, &name);
        free(name);
    }
    builder_close(&b);
    return status;
}

static const struct option_spec build_options[] = {
    {.name = "device",
     .values = 1,
     .value = "DEVICES",
     .help =
         "GPUs to build for, e.g. sm_80,h100: machine code for each target, and PTX of the least,\n"
         "which later GPUs run too (default: PTX for sm_80 alone); cpu: for libtilewright_cpu"},
    {.name = "target", .values = 1, .now = "device"},
    {.name = "set",
     .values = 1,
     .value = "NAME=VALUE",
     .help =
         "value of a static parameter to build in, e.g. n=4096,k=4096; several times for several;\n"
         "of a family: sizes that count, e.g. m=1..128,n=4096"},
    {.name = "type",
     .values = 1,
     .value = "[NAME=]TYPES",
     .help = "element types to build for, e.g. f16,bf16 or T=f16 (default: all of the kernel)"},
    OPTION_TUNE,
    {.name = "tuned",
     .values = 1,
     .value = "FILE",
     .help = "tuned values by class of sizes, as lines of JSON (docs/build.md)"},
    {.name = "table",
     .values = 1,
     .value = "FILE",
     .help = "measured times of a family, in addition to FAMILY.table next to its file"},
    {.name = "store",
     .values = 1,
     .value = "FILE",
     .help = "also the results of `tilewright tune` for a family's kernels in this store (the\n"
             "user's own store always counts for the CPU)"},
    {.name = "variants",
     .values = 1,
     .value = "N",
     .help = "kernels with tuned values to ship of a family, at most (default: 8)"},
    OPTION_SAME_BITS,
    {.name = "name",
     .values = 1,
     .value = "NAME",
     .help = "what the files and all names in them start with (default: the kernel's name, of\n"
             "several kernels that of the first FILE)"},
    {.name = "out",
     .letter = 'o',
     .values = 1,
     .value = "FOLDER",
     .help = "where the files go (default: .)"},
    {.name = "output", .values = 1, .now = "out"},
    {.name = "unaligned",
     .help = "also build a version for arrays whose addresses are not multiples of 16"},
    {.name = "no-cubin", .help = "ship PTX alone, which the driver assembles when it is loaded"},
    {.name = "object", .help = "compile it too: NAME.o, by $CC or cc"},
    {.name = "time-limit",
     .values = 1,
     .value = "TIME",
     .help = "ends the command, whatever it is doing, status 1"},
    OPTION_IMPORT,
    OPTION_END,
};

const struct command command_build = {
    .name = "build",
    .arguments = "FILE[:KERNEL]... [OPTIONS]",
    .summary = "kernels as C to ship: NAME.h and NAME.c",
    .about =
        "Compiles kernels ahead of time into NAME.h, with a function for each kernel and choice "
        "of\n"
        "element types, and NAME.c, which has them as PTX and machine code and needs nothing but "
        "a\n"
        "C compiler and, where it runs, NVIDIA's driver. Static parameters are built in, for all\n"
        "values that --set gives; a launch takes the version for its sizes (for multiples of 16\n"
        "there is one of its own if that makes a difference), and fails with a message if there is "
        "none.\n"
        "A family becomes one function, which starts the fastest kernel at its sizes: at most N\n"
        "kernels with tuned values ship, chosen by the family's measured times at the sizes of\n"
        "--set, which may be ranges (m=1..4096).\n"
        "With --device cpu, the files need libtilewright_cpu.a in place of the driver; with\n"
        "cpu,sm_90 they have both, and the program chooses where it runs.\n"
        "Machine code needs `ptxas`; without it PTX is shipped, with a note. docs/build.md shows "
        "a\n"
        "program that uses them.",
    .options = build_options,
    .examples =
        "  tilewright build kernels/fused/softmax.tile --set cols=1024\n"
        "  tilewright build kernels/matmul/auto.tile --type f16 --device sm_80,sm_90 --set "
        "n=4096,k=4096\n"
        "  tilewright build kernels/matmul/auto.tile kernels/fused/softmax.tile --name model --set "
        "n=4096,k=4096 --set cols=1024\n"
        "  tilewright build kernels/matmul.tile --type f16 --device h200 --set "
        "m=1..256,n=4096,k=4096\n",
    .run = build_run,
};
