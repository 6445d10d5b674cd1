/* Command tune: finds and stores the fastest tuned values of a kernel that give right results. */
#include "cli/commands.h"
#include "cli/product.h"
#include "cli/settings.h"
#include "tune/table_file.h"
#include "tune/tune.h"
#include "cli/tuned.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- options --- */

enum { USUAL_JOBS = 16 }; /* at most: each has its own context on the GPU */

/* Refuses options that have no meaning without --table, or with --stored. */
static int check_table(const struct tuning *t)
{
    static const char *const of_table[] = {"variants", "stored", NULL};
    static const char *const of_measuring[] = {"again",     "no-store",   "budget", "timeout",
                                               "finalists", "exhaustive", "known",  NULL};
    const char *alone = options_any(t->given, of_table);
    const char *other = options_any(t->given, of_measuring);
    if (alone && !t->table.wanted)
        return usage_error(NULL, t->self, "--%s is for --table", alone);
    if (t->only_stored && other)
        return usage_error(NULL, t->self, "--stored measures nothing, so it takes no --%s", other);
    return STATUS_OK;
}

static int read_options(struct tuning *t)
{
    const struct options *o = t->given;
    t->timeout = 10;
    t->finalists = 24;
    t->jobs = sysconf(_SC_NPROCESSORS_ONLN);
    t->jobs = t->jobs < USUAL_JOBS ? t->jobs : USUAL_JOBS;
    bool good =
        options_duration(o, "timeout", &t->timeout) && options_duration(o, "budget", &t->budget) &&
        options_integer(o, "jobs", 1, 1024, &t->jobs) &&
        options_integer(o, "finalists", 2, 1000, &t->finalists) && options_threads(o, &t->threads);
    t->again = options_has(o, "again");
    t->exhaustive = options_has(o, "exhaustive");
    t->known = options_has(o, "known");
    t->only_stored = options_has(o, "stored");
    t->table = (struct table){.wanted = options_has(o, "table"), .most = 24};
    t->to_json = options_has(o, "json");
    int64_t variants = t->table.most;
    good = good && options_integer(o, "variants", 1, 10000, &variants);
    t->table.most = (int)variants;
    return good ? check_table(t) : STATUS_USAGE;
}

/* --- sizes --- */

/* Reads the sizes of -m, -n, -k, --batch and --suite. Without them, --set gives the one choice. */
static int read_sizes(struct tuning *t)
{
    static const char *const extents[] = {"m", "n", "k", NULL};
    int status = shapes_gather(&t->shapes, t->self, t->given);
    if (status == STATUS_OK && t->shapes.count == 0 && t->only_stored &&
        !options_has(t->given, "set"))
        return stored_sizes(t);
    if (status != STATUS_OK || t->shapes.count == 0)
        return status;
    for (int e = 0; extents[e]; e++) {
        if (settings_give(t->given, "set", extents[e]))
            return usage_error(NULL, t->self,
                               "`%s` is given twice: by --set, and by -m, -n, -k or --suite",
                               extents[e]);
        for (int i = 0; i < t->member_count; i++)
            if (!takes_extent(t->members[i].kernel, extents[e]))
                return usage_error(NULL, t->self, "%s has no size `%s`: give its sizes with --set",
                                   tw_kernel_name(t->members[i].kernel), extents[e]);
    }
    return STATUS_OK;
}

/* --- the command --- */

static int undone(const struct tuning *t)
{
    int count = 0;
    for (int i = 0; i < t->problem_count; i++)
        count += problem_fastest(t, &t->problems[i], -1) < 0;
    return count;
}

/* Tunes for the element type in turn. */
static int tune_type(struct tuning *t)
{
    int status = members_launch(t);
    if (status == STATUS_OK)
        status = tune_problems_make(t);
    if (status == STATUS_OK && !t->store)
        status = keep_open(t);
    if (status == STATUS_OK)
        status = keep_find(t);
    if (status == STATUS_OK) {
        report_begin(t);
        status = tune_search(t);
    }
    if (status == STATUS_OK) {
        t->undone += undone(t);
        report_all(t);
    }
    if (status == STATUS_OK && t->table.wanted)
        status = table_write(t);
    tune_problems_free(t);
    members_unlaunch(t);
    return status;
}

static int tune_kernels(struct tuning *t)
{
    int status = read_options(t);
    if (status == STATUS_OK)
        status = members_open(t);
    if (status == STATUS_OK && t->table.wanted && !t->family)
        status = usage_error(NULL, t->self, "--table is for a FAMILY (docs/families.md)");
    if (status == STATUS_OK && t->table.wanted) /* before hours of measuring */
        status = table_file_check(options_value(t->given, "table"), t->family);
    t->many = t->table.wanted || t->member_count > 1 || t->type_count > 1;
    if (status == STATUS_OK && t->only_stored)
        status = keep_open(t);
    if (status == STATUS_OK)
        status = read_sizes(t);
    if (status != STATUS_OK)
        return status;
    t->many |= t->shapes.count > 1;
    for (int i = 0; i < t->type_count && status == STATUS_OK && !t->interrupted; i++) {
        t->type = t->types[i];
        t->headed &= t->to_json;
        status = tune_type(t);
    }
    report_end(t);
    if (status != STATUS_OK)
        return status;
    return t->undone == 0 && !t->interrupted ? STATUS_OK : STATUS_FAILED;
}

static int tune_run(const struct command *self, const struct options *given)
{
    static const char *const about_store[] = {"list", "forget", "export", NULL};
    if (options_any(given, about_store))
        return tune_store_command(self, given);
    struct tuning t = {
        .self = self, .given = given, .started = seconds_now(), .json = {.out = stdout}};
    int status = tune_kernels(&t);
    members_close(&t);
    free(t.table.chosen);
    free(t.shapes.list);
    return status;
}

static const struct option_spec tune_options[] = {
    OPTION_SET,
    OPTION_EXTENT('m', "m"),
    OPTION_EXTENT('n', "n"),
    OPTION_EXTENT('k', "k"),
    OPTION_EXTENT(0, "batch"),
    OPTION_SUITE,
    {.name = "tune",
     .values = 1,
     .value = "NAME=V,V",
     .help = "values to try for a name instead of its list, e.g. BM=64,128"},
    {.name = "type",
     .values = 1,
     .value = "[NAME=]TYPE",
     .help = "type for a type variable, e.g. T=f16; without a name, all of them;\n"
             "f16,f32: tune for one after the other"},
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
    {.name = "table",
     .values = 1,
     .value = "FILE",
     .help = "write the times of a family's best variants at these sizes, for programs to\n"
             "choose by; other devices' and types' times in the file stay"},
    {.name = "variants",
     .values = 1,
     .value = "N",
     .help = "variants in the table, at most (default 24)"},
    {.name = "known",
     .help = "try only the variants that the family's tables name, for any device: new times, or\n"
             "another device's table in a minute"},
    {.name = "stored", .help = "write the table from what is stored, and measure nothing"},
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
    .arguments = "FILE[:KERNEL]… --set NAME=VALUE… [OPTIONS]",
    .summary = "find the fastest tuned values, and keep them",
    .about =
        "Tries every combination of the tuned values of a kernel that its `require`s allow, at the "
        "sizes of --set,\n"
        "or at each of the sizes of -m, -n and -k or --suite. Several kernels with the same "
        "parameters are tried together,\n"
        "such as those of a family.\n"
        "Candidates that the target does not take, or that compile to the same program as another, "
        "are left out;\n"
        "all cores compile while others are measured; a candidate with wrong values by `ensures` "
        "is dropped.\n"
        "Results are stored as they come, so an interrupted search continues; `run "
        "--tuned` "
        "takes the winner.\n"
        "Status 1: interrupted, or no candidate is right at some size.",
    .options = tune_options,
    .examples =
        "  tilewright tune kernels/matmul/tuned.tile --set m=256,n=256,k=256\n"
        "  tilewright tune kernels/matmul/split_k.tile --device cuda --type f16 "
        "--set m=512,n=512,k=8192 --budget 60s\n"
        "  tilewright tune kernels/matmul/tuned.tile kernels/matmul/waves.tile -m 64,128 -n 128 "
        "-k 128 --type f16\n"
        "  tilewright tune FAMILY.tile --suite all --device cuda --type f16,f32 --table "
        "FAMILY.table\n"
        "  tilewright tune --list\n"
        "  tilewright tune --export c > winners.h\n",
    .run = tune_run,
};
