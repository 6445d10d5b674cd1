/* Command tune: finds and stores the fastest tuned values of a kernel that give right results. */
#include "commands.h"
#include "settings.h"
#include "tilewright_model.h"
#include "tune.h"
#include "tuned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- options --- */

enum { USUAL_JOBS = 16 }; /* at most: each has its own context on the GPU */

static int read_options(struct tuning *t)
{
    const struct options *o = t->given;
    t->timeout = 10;
    t->finalists = 24;
    t->jobs = sysconf(_SC_NPROCESSORS_ONLN);
    t->jobs = t->jobs < USUAL_JOBS ? t->jobs : USUAL_JOBS;
    bool good = options_duration(o, "timeout", &t->timeout) &&
                options_duration(o, "budget", &t->budget) &&
                options_integer(o, "jobs", 1, 1024, &t->jobs) &&
                options_integer(o, "finalists", 2, 1000, &t->finalists) &&
                options_integer(o, "threads", 0, 4096, &t->threads);
    t->again = options_has(o, "again");
    t->exhaustive = options_has(o, "exhaustive");
    t->to_json = options_has(o, "json");
    return good ? STATUS_OK : STATUS_USAGE;
}

/* --- the device --- */

/* Properties of a GPU, as reported by a child that opens it. */
struct gpu_facts {
    tw_status status;
    char target[32], model[96], why[800];
    int multiprocessors;
};

/* name: "cuda", "cuda:1" */
static void look_at_gpu(const struct tuning *t, const char *name, struct gpu_facts *out)
{
    tw_kernel *k;
    tw_device d = tw_device_init();
    out->status = tw_kernel_for_target(t->kernel, name, &k);
    if (out->status != TW_OK) {
        char *shown = messages_shown(t->program.ctx);
        snprintf(out->why, sizeof out->why, "%s", shown);
        free(shown);
        return;
    }
    snprintf(out->target, sizeof out->target, "%s", tw_kernel_target(k));
    if (device_named(name, &d)) {
        snprintf(out->model, sizeof out->model, "%s", d.model);
        out->multiprocessors = d.cores;
    }
}

/* Queries the GPU in a child process. The parent must not open it, because a CUDA context does
 * not survive `fork`. */
static bool ask_gpu(const struct tuning *t, const char *name, struct gpu_facts *out)
{
    int ends[2];
    *out = (struct gpu_facts){.status = TW_UNSUPPORTED};
    if (pipe(ends) != 0)
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        look_at_gpu(t, name, out);
        _exit(write(ends[1], out, sizeof *out) == sizeof *out ? 0 : 1);
    }
    close(ends[1]);
    ssize_t got;
    do
        got = pid > 0 ? read(ends[0], out, sizeof *out) : -1;
    while (got < 0 && pid > 0 && errno == EINTR);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return got == sizeof *out;
}

static int choose_gpu(struct tuning *t, const char *device)
{
    struct gpu_facts gpu;
    bool own = strncmp(device, "cuda", 4) == 0; /* else a target, on the first GPU */
    if (!ask_gpu(t, own ? device : "cuda", &gpu)) {
        complain(NULL, "the process that was to open the GPU ended");
        return STATUS_FAILED;
    }
    if (gpu.status != TW_OK) {
        fputs(gpu.why, stderr);
        return STATUS_USAGE;
    }
    t->on_gpu = true;
    t->device = need_text("%s", gpu.model);
    t->multiprocessors = gpu.multiprocessors;
    tw_status s = tw_kernel_for_target(t->kernel, own ? gpu.target : device, &t->kernel);
    if (s == TW_OK)
        return STATUS_OK;
    complain_library(NULL, t->program.ctx, s);
    return STATUS_USAGE;
}

static int choose_device(struct tuning *t)
{
    const char *device = options_value(t->given, "device");
    if (device && names_gpu(device))
        return choose_gpu(t, device);
    tw_gpu known = tw_gpu_init();
    if (device && tw_gpu_find(device, &known))
        return usage_error(NULL, t->self,
                           "--device %s: `tune` measures on this machine (--device cuda, or cpu). "
                           "For a GPU that is not here, `tilewright explain FILE --sweep BM=32,64 "
                           "--device %s` predicts times",
                           device, device);
    if (device && strcmp(device, "cpu") != 0)
        return usage_error(NULL, t->self, "--device %s: there are cpu and cuda", device);
    return STATUS_OK;
}

/* --- from the file to the search --- */

static int open_kernel(struct tuning *t)
{
    if (t->given->word_count != 1)
        return no_one_file(NULL, t->self, t->given->word_count);
    int status =
        program_open(&t->program, t->given->words[0],
                     &(struct program_config){.threads = (int)t->threads,
                                              .colour = on_terminal(stderr),
                                              .device = options_value(t->given, "device")});
    if (status != STATUS_OK)
        return status;
    t->kernel = program_kernel(&t->program, t->self);
    if (!t->kernel)
        return STATUS_USAGE;
    status = choose_device(t);
    if (status != STATUS_OK)
        return status;
    return candidates_make(&t->candidates, t->program.ctx, t->kernel, t->given);
}

static int open_launch(struct tuning *t)
{
    tw_status s = tw_launch_new(t->kernel, &t->launch);
    if (s != TW_OK) {
        complain_library(NULL, t->program.ctx, s);
        return STATUS_FAILED;
    }
    int status = tune_settings(t, t->launch);
    if (status != STATUS_OK)
        return status;
    if (t->candidates.count == 0) {
        complain(NULL,
                 "no combination of tuned values is allowed by the `require`s of %s (%d tried)",
                 tw_kernel_name(t->kernel), t->candidates.forbidden);
        return STATUS_USAGE;
    }
    s = candidate_apply(&t->candidates.list[0], t->kernel, t->launch);
    t->key = tw_tuned_init();
    if (s == TW_OK)
        s = tw_launch_tuning_key(t->launch, t->device, &t->key);
    if (s == TW_OK)
        return STATUS_OK;
    complain_library(NULL, t->program.ctx, s);
    char *missing = missing_scalars(t->launch, t->kernel);
    if (missing)
        complain_more(NULL, "give the sizes to tune for with --set %s", missing);
    free(missing);
    return STATUS_USAGE;
}

/* Copies the texts of the key, because the launch's next call frees them. */
static void keep_key(struct tuning *t)
{
    t->key.device = need_text("%s", t->key.device);
    t->key.program = need_text("%s", t->key.program);
    t->key.types = need_text("%s", t->key.types);
    t->key.shape = need_text("%s", t->key.shape);
    t->key.sizes = need_text("%s", t->key.sizes);
}

static void free_key(struct tuning *t)
{
    free((char *)t->key.device);
    free((char *)t->key.program);
    free((char *)t->key.types);
    free((char *)t->key.shape);
    free((char *)t->key.sizes);
    free(t->device);
}

/* --- the store --- */

static void take_stored(struct candidate *c, const tw_tuned *row)
{
    c->stored = true;
    c->status = row->status;
    c->ms = row->milliseconds;
    c->state = row->status == TW_OK ? CANDIDATE_MEASURED : CANDIDATE_FAILED;
    c->why = *row->why ? need_text("%s", row->why) : NULL;
}

/* Loads the stored measurements of this version of the library, which need not be repeated. */
static int find_stored(struct tuning *t)
{
    tw_tuned filter = {.size = sizeof filter,
                       .device = t->key.device,
                       .kernel = t->key.kernel,
                       .program = t->key.program,
                       .types = t->key.types,
                       .sizes = t->key.sizes,
                       .version = tw_version()};
    int count;
    tw_status s = tw_store_find(t->store, &filter, &count);
    for (int i = 0; i < count; i++)
        for (int c = 0; c < t->candidates.count; c++)
            if (strcmp(tw_store_at(t->store, i)->tune, t->candidates.list[c].text) == 0)
                take_stored(&t->candidates.list[c], tw_store_at(t->store, i));
    if (s != TW_OK)
        complain_library(NULL, t->program.ctx, s);
    return s == TW_OK ? STATUS_OK : STATUS_FAILED;
}

static int open_store(struct tuning *t)
{
    if (options_has(t->given, "no-store") || tw_kernel_tune_count(t->kernel) == 0)
        return STATUS_OK;
    tw_status s = tw_store_open(t->program.ctx, options_value(t->given, "store"), &t->store);
    if (s != TW_OK) {
        complain_library(NULL, t->program.ctx, s);
        complain_more(NULL, "--no-store tunes without keeping what is found");
        return STATUS_USAGE;
    }
    return t->again ? STATUS_OK : find_stored(t);
}

/* --- the command --- */

static bool has_winner(const struct tuning *t)
{
    for (int i = 0; i < t->candidates.count; i++)
        if (t->candidates.list[i].state == CANDIDATE_MEASURED)
            return true;
    return false;
}

static int tune_kernel(struct tuning *t)
{
    int status = read_options(t);
    if (status == STATUS_OK)
        status = open_kernel(t);
    if (status == STATUS_OK)
        status = settings_fills_known(&(struct known_kernel){&t->program, t->kernel}, t->given);
    if (status == STATUS_OK)
        status = open_launch(t);
    if (status != STATUS_OK)
        return status;
    keep_key(t);
    status = open_store(t);
    if (status == STATUS_OK)
        status = tune_search(t);
    if (status != STATUS_OK)
        return status;
    tune_report(t);
    return has_winner(t) && !t->interrupted ? STATUS_OK : STATUS_FAILED;
}

static int tune_run(const struct command *self, const struct options *given)
{
    static const char *const about_store[] = {"list", "forget", "export", NULL};
    if (options_any(given, about_store))
        return tune_store_command(self, given);
    struct tuning t = {.self = self, .given = given, .started = seconds_now()};
    int status = tune_kernel(&t);
    operands_free(&t.arrays);
    operands_free(&t.judged_arrays);
    candidates_free(&t.candidates);
    program_close(&t.program);
    free_key(&t);
    return status;
}

static const struct option_spec tune_options[] = {
    OPTION_SET,
    {.name = "tune",
     .values = 1,
     .value = "NAME=V,V",
     .help = "values to try for a name instead of its list, e.g. BM=64,128"},
    OPTION_TYPE,
    OPTION_FILL,
    {.name = "device",
     .values = 1,
     .value = "DEVICE",
     .help = "cpu (default), or cuda (cuda:1 …); of what is stored: only this device's, all by "
             "default"},
    {.name = "budget",
     .values = 1,
     .value = "TIME",
     .help = "stop after this time, e.g. 60s; the most promising candidates come first"},
    {.name = "timeout",
     .values = 1,
     .value = "TIME",
     .help = "for compiling, and for measuring, one candidate (default 10s)"},
    {.name = "jobs",
     .letter = 'j',
     .values = 1,
     .value = "N",
     .help = "processes that compile (default: one a core, up to 16)"},
    {.name = "finalists",
     .values = 1,
     .value = "N",
     .help = "candidates timed again at the end, at most (default 24)"},
    {.name = "exhaustive", .help = "all candidates are finalists, and none is dropped early"},
    {.name = "again", .help = "measure again what the store has"},
    OPTION_THREADS,
    OPTION_STORE,
    {.name = "no-store", .help = "keep nothing"},
    {.name = "list",
     .help = "show what is stored, of FILE's kernel or all; like --forget and --export, only\n"
             "of the given sizes, types and device"},
    {.name = "forget",
     .help = "delete what is stored of FILE[:KERNEL]; without FILE, what other\n"
             "versions of the library measured"},
    {.name = "export",
     .values = 1,
     .value = "FORM",
     .help = "print the winners of the store: c, a table in C; json, a line each"},
    OPTION_JSON,
    OPTION_IMPORT,
    OPTION_END,
};

const struct command command_tune = {
    .name = "tune",
    .arguments = "FILE[:KERNEL] --set NAME=VALUE… [OPTIONS]",
    .summary = "find the fastest tuned values, and keep them",
    .about =
        "Tries every combination of the tuned values of a kernel that its `require`s allow, at the "
        "sizes of --set.\n"
        "Candidates that the target does not take, or that compile to the same program as another, "
        "are left out;\n"
        "all cores compile while others are measured; a candidate with wrong values by `ensures` "
        "is dropped.\n"
        "Results are stored as they come, so an interrupted search continues; `run "
        "--tuned` "
        "takes the winner.\n"
        "Status 1: interrupted, or no candidate is right.",
    .options = tune_options,
    .examples = "  tilewright tune kernels/matmul/tuned.tile --set m=256,n=256,k=256\n"
                "  tilewright tune kernels/matmul/split_k.tile --device cuda --type f16 "
                "--set m=512,n=512,k=8192 --budget 60s\n"
                "  tilewright tune --list\n"
                "  tilewright tune --export c > winners.h\n",
    .run = tune_run,
};
