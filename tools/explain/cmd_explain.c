/* Command explain: explains the speed of kernels. */
#include "ptx/cmd_ptx.h"
#include "cli/commands.h"
#include "cli/device_asked.h"
#include "explain/explain_cpu.h"
#include "explain/explained.h"
#include "cli/npy.h"
#include "ptx/ptx_launch.h"
#include "cli/time_limit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char usual_gpu[] = "H200 SXM";

/* Finds this machine's GPU, if the model knows it. */
static bool gpu_here(tw_gpu *out)
{
    tw_device d = tw_device_init();
    return device_named("cuda", &d) && tw_gpu_find(d.model, out);
}

/* Finds a GPU by its own name, or the first GPU of a target: sm_90. */
static bool gpu_called(const char *name, tw_gpu *out)
{
    if (tw_gpu_find(name, out))
        return true;
    for (int i = 0; tw_gpu_at(i, out); i++)
        if (strcmp(out->target, name) == 0)
            return true;
    return false;
}

static void lower_case(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

/* Returns the name in lower case, without blanks and the maker's words. The caller frees. */
static char *bare_name(const char *name)
{
    static const char *const words[] = {"nvidia", "geforce"};
    char *text = need_text("%s", name), *to = text;
    lower_case(text);
    for (const char *at = text; *at; at++)
        if (*at != ' ')
            *to++ = *at;
    *to = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            memmove(text, text + strlen(words[i]), strlen(text + strlen(words[i])) + 1);
    return text;
}

/* Compares the beginning of `wanted` with each of the comma-separated names. Returns ALL if a
 * name begins with `wanted`. Returns PART if they share at least three letters that are three
 * quarters of `wanted` or a whole name. Returns UNLIKE otherwise. */
enum alike { UNLIKE, PART, ALL };
static enum alike begins_alike(const char *names, const char *wanted)
{
    enum { LEAST = 3 };
    enum alike most = UNLIKE;
    if (!*wanted)
        return most;
    for (const char *at = names; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        char *own = need_text("%.*s", (int)strcspn(at, ","), at), *name = bare_name(own);
        size_t same = 0;
        while (name[same] && name[same] == wanted[same])
            same++;
        bool part = !name[same] || 4 * same >= 3 * strlen(wanted);
        enum alike this_one = !wanted[same] ? ALL : same >= LEAST && part ? PART : UNLIKE;
        most = this_one > most ? this_one : most;
        free(name);
        free(own);
    }
    return most;
}

static bool begins_name_of(const tw_gpu *g, const char *wanted)
{
    return begins_alike(g->name, wanted) == ALL || begins_alike(g->aliases, wanted) == ALL;
}

/* Finds the GPU whose name begins with `name`. Returns false if there is none or several, or if
 * `name` is another GPU's, which the model does not know. */
static bool gpu_beginning(const char *name, tw_gpu *out)
{
    static const char *const unknown[] = {"h20", "l40", "rtx3060"};
    char *wanted = bare_name(name);
    bool whole = false;
    int count = 0;
    tw_gpu g = tw_gpu_init();
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        whole = whole || strcmp(wanted, unknown[i]) == 0;
    for (int i = 0; !whole && tw_gpu_at(i, &g); i++)
        if (begins_name_of(&g, wanted) && count++ == 0)
            *out = g;
    free(wanted);
    return count == 1;
}

/* Finds the first GPU of the model's table that has the target. */
static bool gpu_of_target(const char *target, tw_gpu *out)
{
    int i = 0;
    while (tw_gpu_at(i, out) && strcmp(out->target, target) != 0)
        i++;
    return tw_gpu_at(i, out);
}

/* Returns "; did you mean 'RTX 3060 Laptop'?", or "… 'H100 SXM' or 'H100 PCIe'?" for several, or
 * NULL if no GPU's name begins with `name`. */
static char *prefix_hint(const char *name)
{
    char *wanted = bare_name(name), *list = NULL;
    tw_gpu g = tw_gpu_init();
    for (enum alike least = ALL; least >= PART && !list; least--)
        for (int i = 0; tw_gpu_at(i, &g); i++)
            if (begins_alike(g.name, wanted) >= least || begins_alike(g.aliases, wanted) >= least)
                append_text(&list, "%s'%s'", list ? " or " : "", g.name);
    char *hint = list ? need_text("; did you mean %s?", list) : NULL;
    free(list);
    free(wanted);
    return hint;
}

/* Returns, for a message, the GPUs with a similar name, regardless of case, or all GPUs. */
static char *gpu_hint(const char *name)
{
    enum { MOST = 64 };
    char *begins = prefix_hint(name);
    if (begins)
        return begins;
    char *wanted = need_text("%s", name), *aliases = NULL, *rest;
    const char *proper[MOST] = {0}, *all[MOST] = {0};
    int count = 0;
    tw_gpu g = tw_gpu_init();
    for (int i = 0; i < MOST - 1 && tw_gpu_at(i, &g); i++) {
        proper[i] = g.name;
        append_text(&aliases, "%s,%s,", g.name, g.aliases);
    }
    lower_case(wanted);
    lower_case(aliases);
    for (char *one = strtok_r(aliases, ",", &rest); one && count < MOST - 1;
         one = strtok_r(NULL, ",", &rest))
        all[count++] = one;
    const char *near = closest_name(wanted, all);
    char *hint = near && tw_gpu_find(near, &g) ? need_text("; did you mean '%s'?", g.name)
                                               : name_hint(wanted, proper);
    free(aliases);
    free(wanted);
    return hint;
}

static int find_gpu(struct explain *x)
{
    struct device_asked asked;
    const struct option_use *first = options_next(x->given, "device", NULL);
    if (first && options_next(x->given, "device", first))
        return usage_error(&x->complaints, x->command,
                           "--device %s, --device %s: one GPU at a time", first->values[0],
                           options_value(x->given, "device"));
    if (device_asked_read(&asked, x->given) != STATUS_OK)
        return STATUS_USAGE;
    const char *name = asked.place;
    x->gpu = tw_gpu_init();
    if (!name && (gpu_here(&x->gpu) || tw_gpu_find(usual_gpu, &x->gpu)))
        return STATUS_OK;
    if (name &&
        (gpu_called(name, &x->gpu) || gpu_beginning(name, &x->gpu) || gpu_of_target(name, &x->gpu)))
        return STATUS_OK;
    if (name && strcmp(name, "cuda") == 0)
        return usage_error(&x->complaints, x->command,
                           "--device cuda: no GPU is here that the model knows; `tilewright "
                           "explain --devices` lists those it knows");
    char *hint = gpu_hint(name ? name : usual_gpu);
    usage_error(&x->complaints, x->command,
                "--device %s: the model knows no such GPU (`tilewright explain --devices` has "
                "their short names)%s",
                name ? name : usual_gpu, hint);
    free(hint);
    return STATUS_USAGE;
}

/* --- a GPU alone --- */

static int read_number(struct explain *x, const char *option, double *out)
{
    const char *text = options_value(x->given, option);
    if (text && (!parse_real(text, out) || !(*out > 0) || *out > 1e9))
        return usage_error(&x->complaints, x->command,
                           "--%s %s: expected a number of FLOPs a byte, more than 0", option, text);
    return STATUS_OK;
}

static int gpu_alone(struct explain *x)
{
    static const char *const of_kernels[] = {"set",     "tune",      "type", "sweep",
                                             "measure", "registers", NULL};
    const char *other = options_any(x->given, of_kernels), *svg = options_value(x->given, "svg");
    char why[256];
    struct ridge_request asked = {.intensity = 0.25};
    if (other)
        return usage_error(&x->complaints, x->command, "--%s is for a kernel: which FILE?", other);
    int status = read_number(x, "intensity", &asked.intensity);
    if (status == STATUS_OK)
        status = read_number(x, "ridge", &asked.ridge);
    if (status != STATUS_OK)
        return status;
    const char *cannot = svg ? npy_may_write(svg, why) : NULL;
    if (cannot) {
        complain(&x->complaints, "%s", cannot);
        return STATUS_USAGE;
    }
    if (svg && (status = explain_svg(x, svg, NULL)) != STATUS_OK)
        return status;
    if (options_has(x->given, "json"))
        explain_gpu_json(&x->gpu, &asked);
    else
        explain_gpu_alone(&x->gpu, &asked);
    return STATUS_OK;
}

static int explain_gpus(struct explain *x)
{
    if (x->given->use_count > 1 + options_has(x->given, "json") || x->given->word_count)
        return usage_error(&x->complaints, x->command,
                           "--devices takes no other option than --json, and no FILE");
    if (options_has(x->given, "json"))
        explain_gpu_list_json();
    else
        explain_gpu_list();
    return STATUS_OK;
}

/* --- kernels --- */

/* Returns whether a kernel has a fault. A fault fails the command, even in a table. A row that
 * does not compile is a result that the user requested. */
static bool any_faults(const struct explain *x)
{
    for (int i = 0; i < x->row_count; i++)
        if (x->rows[i].refused == TW_FAULT)
            return true;
    return false;
}

/* Draws the picture that --chart and --by choose. */
static int draw(struct explain *x, const char *path)
{
    const char *chart = options_value(x->given, "chart"), *by = options_value(x->given, "by");
    if (by && strcmp(by, "hardware") == 0)
        by = NULL;
    return chart && strcmp(chart, "roofline") != 0
               ? explain_bars(x, path, strcmp(chart, "ladder") == 0)
               : explain_svg(x, path, by);
}

/* Checks --chart and --by, which require --svg. */
static int check_chart(struct explain *x)
{
    static const char *const charts[] = {"roofline", "ladder", "traffic", NULL};
    static const char *const ways[] = {"hardware", "thread", "element",    "request",
                                       "l2",       "memory", "compulsory", NULL};
    const struct options *o = x->given;
    const char *chart = options_value(o, "chart"), *by = options_value(o, "by");
    int c = 0, w = 0;
    while (chart && charts[c] && strcmp(charts[c], chart) != 0)
        c++;
    while (by && ways[w] && strcmp(ways[w], by) != 0)
        w++;
    if (chart && !charts[c])
        return usage_error(&x->complaints, x->command,
                           "--chart %s: expected roofline, ladder or traffic", chart);
    if (by && !ways[w])
        return usage_error(&x->complaints, x->command,
                           "--by %s: expected thread, element, request, l2, memory, compulsory or "
                           "hardware",
                           by);
    if ((chart || by) && !options_has(o, "svg"))
        return usage_error(&x->complaints, x->command, "--%s is for --svg FILE",
                           chart ? "chart" : "by");
    if (by && chart && strcmp(chart, "roofline") != 0)
        return usage_error(&x->complaints, x->command, "--by is for the roofline");
    return STATUS_OK;
}

/* Prints and draws the results. */
static int report(struct explain *x)
{
    const char *svg = options_value(x->given, "svg");
    int status = svg ? draw(x, svg) : STATUS_OK;
    x->reported = true;
    if (options_has(x->given, "json"))
        explain_json(x);
    else if (x->row_count == 1)
        explain_page(x, &x->rows[0]);
    else
        explain_table(x);
    return status == STATUS_OK && any_faults(x) ? STATUS_FAILED : status;
}

static bool is_ptx(const struct options *o)
{
    for (int i = 0; i < o->word_count; i++)
        if (is_ptx_file(o->words[i]))
            return true;
    return false;
}

static int explain_kernels(struct explain *x, const struct program_config *config)
{
    const char *svg = options_value(x->given, "svg");
    static const char *const of_gpu[] = {"intensity", "ridge", NULL};
    const char *other = options_any(x->given, of_gpu);
    char why[256];
    if (other)
        return usage_error(&x->complaints, x->command, "--%s is for a GPU alone, without a FILE",
                           other);
    const char *cannot = svg ? npy_may_write(svg, why) : NULL;
    if (cannot) {
        complain(&x->complaints, "%s", cannot);
        return STATUS_USAGE;
    }
    int status = check_chart(x);
    if (status != STATUS_OK)
        return status;
    if (is_ptx(x->given))
        return explain_ptx(x, config, report);
    if (has_ptx_options(x->given, x->given->word_count ? x->given->words[0] : "--compare"))
        return STATUS_USAGE;
    status = explain_find_rows(x);
    if (status != STATUS_OK)
        return status;
    if (options_has(x->given, "measure")) {
        x->measures = true;
        explain_measure(x);
    }
    return report(x);
}

static void report_failure(const struct explain *x)
{
    struct json j = {.out = stdout};
    json_open(&j, '{');
    complaints_json(&x->complaints, &j);
    json_close(&j, '}');
    json_end(&j);
}

static bool names_kernels(const struct options *given)
{
    return given->word_count > 0 || options_has(given, "compare");
}

static int explain_run(const struct command *self, const struct options *given)
{
    struct options own = *given;
    static const char *const of_cpu[] = {"fill", "threads", NULL};
    struct explain x = {.command = self, .given = &own};
    own.complaints = &x.complaints;
    if (!given->word_count && !given->use_count)
        return usage_error(NULL, self, "which FILE? (or --device GPU, for a GPU alone)");
    const char *device = options_value(given, "device");
    if (device && strcmp(device, "cpu") == 0 && !options_has(given, "devices"))
        return explain_cpu(self, given);
    struct deadline deadline = {0};
    double seconds = 0;
    if (!time_limit_begin(given, &seconds, &deadline.at))
        return STATUS_USAGE;
    int status = STATUS_OK;
    if (options_has(given, "devices")) {
        status = explain_gpus(&x);
    } else {
        struct program_config config = {
            .colour = on_terminal(stderr), .deadline = &deadline, .complaints = &x.complaints};
        status = options_refuse(&own, of_cpu, "--device cpu", "a GPU");
        if (status == STATUS_OK)
            status = find_gpu(&x);
        if (status == STATUS_OK)
            status = context_open(&x.ctx, &config);
        if (status == STATUS_OK)
            status = names_kernels(given) ? explain_kernels(&x, &config) : gpu_alone(&x);
    }
    if (options_has(given, "json") && !x.reported && x.complaints.status != TW_OK)
        report_failure(&x);
    explain_free_rows(&x);
    free(x.measured_on);
    free(x.not_measured);
    tw_context_free(x.ctx);
    complaints_free(&x.complaints);
    return status;
}

static const struct option_spec explain_options[] = {
    OPTION_GROUP("The launch"),
    {.name = "device",
     .values = 1,
     .value = "DEVICE",
     .help = "h100, \"RTX 4090\", \"rtx 40\" …: the GPU that is meant, by a name or the beginning\n"
             "of one (default: the GPU of this machine, else an H200), or sm_90: the first of\n"
             "that target; without FILE: its own figures and roofline. CUDA C is compiled for\n"
             "sm_80, or for another target with h100:sm_90. cpu: runs the kernel on this\n"
             "machine, and compares its time with the roofs of the processor"},
    OPTION_SET,
    OPTION_TUNE,
    OPTION_TYPE,
    OPTION_SAME_BITS,
    OPTION_IMPORT,
    {.name = "fill",
     .values = 1,
     .value = "[NAME=]KIND",
     .help = "cpu: the values of the arrays, as for `run` (default rand)"},
    OPTION_THREADS,
    OPTION_GROUP("Comparing"),
    {.name = "compare",
     .values = 1,
     .value = "NAME,NAME",
     .help = "a table of several kernels: of kernels/sgemm and its neighbours by name, or files"},
    {.name = "sweep",
     .values = 1,
     .value = "NAME=VALUES",
     .help = "a row for each of these tuned values, sizes, types or constants of the file:\n"
             "T=16,32,64; may be repeated"},
    {.name = "by",
     .values = 1,
     .value = "WAY",
     .help = "how the roofline counts bytes: thread, element, request, l2, memory or\n"
             "compulsory, each one point a kernel; hardware (default): at each level"},
    {.name = "chart",
     .values = 1,
     .value = "KIND",
     .help = "what --svg draws: roofline (default), ladder, a bar of each kernel's speed, or\n"
             "traffic, its bytes counted in six ways"},
    {.name = "svg",
     .values = 1,
     .value = "FILE",
     .help = "also draw a roofline diagram; without FILE, the GPU's own; cpu: a flame graph"},
    {.name = "measure",
     .help = "also run it on the GPU that is here, and print that time, too; cpu: measures the\n"
             "roofs of the processor for --threads threads again, which are kept otherwise"},
    OPTION_GROUP("PTX and CUDA C"),
    OPTIONS_PTX_LAUNCH,
    OPTIONS_COMPILER,
    {.name = "registers",
     .values = 1,
     .value = "N",
     .help = "registers of a thread, from `ptxas -v` (default: estimated)"},
    OPTION_GROUP("Without a kernel"),
    {.name = "devices", .help = "list the GPUs that the model knows"},
    {.name = "intensity",
     .values = 1,
     .value = "F",
     .help = "without FILE: the rate that the GPU allows at F FLOPs a byte (default 0.25)"},
    {.name = "ridge",
     .values = 1,
     .value = "F",
     .help = "without FILE: also for a ridge of F FLOPs a byte"},
    OPTION_GROUP("Output and limits"),
    OPTION_JSON,
    {.name = "step-limit",
     .values = 1,
     .value = "N",
     .help = "warp instructions after which a block counts as endless (default 50000000)"},
    {.name = "time-limit",
     .values = 1,
     .value = "TIME",
     .help = "ends the command, whatever it is doing, status 1"},
    OPTION_END,
};

const struct command command_explain = {
    .name = "explain",
    .arguments = "[FILE[:KERNEL] …] [OPTIONS]",
    .summary = "why a kernel is as fast as it is",
    .about =
        "Says what a kernel asks of each part of a GPU, and so how long it takes at least: FLOPs,\n"
        "bytes at each level of memory, a roof for each part and which one binds, bank conflicts,\n"
        "occupancy, waves, the time as an interval, and the one change that would help most. It\n"
        "counts by simulation of some of the launch's blocks; no GPU is needed.\n"
        "For several kernels, or with --compare or --sweep, it prints a table with a row each; "
        "the\n"
        "row of one that does not compile gives the reason.\n"
        "With --device cpu, it runs the kernel and measures this machine's roofs "
        "(docs/profile.md).\n"
        "Sizes that are not set are 1024, batches 8 (cpu: they must be set). A kernel that ships "
        "may be given by its name: "
        "tiled.\n"
        "If FILE is a family (docs/families.md), it explains the kernel that is chosen for the "
        "sizes.\n"
        "FILE may be PTX of any compiler, or CUDA C (k.cu, k.cuh), which nvcc or clang compiles\n"
        "first: --grid, --block and --arg give its launch, as for `run`.\n"
        "Without FILE it says what a GPU has, and its roofline. docs/explain.md explains the "
        "page,\n"
        "the table and each field of --json.",
    .options = explain_options,
    .examples =
        "  tilewright explain kernels/sgemm/tiled.tile --device h200 --set m=1024,n=1024,k=1024\n"
        "  tilewright explain kernels/sgemm/tiled.tile --sweep T=16,32,64\n"
        "  tilewright explain --compare naive,tiled,register_tiled --device h100 --svg "
        "roofline.svg\n"
        "  tilewright explain kernels/matmul/auto.tile --type f16 --set m=4096,n=4096,k=4096\n"
        "  tilewright explain matmul --device h100 --set n=1024,k=1024 --sweep m=16,1024 --type "
        "f16\n"
        "  tilewright explain kernels/fused/softmax.tile --device cpu --set rows=1024,cols=1000\n"
        "  tilewright explain --device h100\n"
        "  tilewright explain --devices\n",
    .run = explain_run,
};
