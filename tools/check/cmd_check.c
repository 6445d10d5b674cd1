/* Command check: passes every configuration of every kernel through the static checks, then
 * compares small runs with `ensures`. */
#include "app/app.h"
#include "check/check.h"
#include "cli/commands.h"
#include "cli/page_link.h"
#include "ptx/cmd_ptx.h"
#include "ptx/ptx_launch.h"
#include "cli/tensor.h"
#include "cli/time_limit.h"
#include "cli/watch.h"

#include <stdlib.h>
#include <string.h>

static void check_configurations(struct check *c)
{
    for (bool more = space_next(&c->space, true); more; more = space_next(&c->space, false)) {
        if (c->configurations == CHECK_CONFIGURATIONS) {
            complain(NULL, "%s: more than %d configurations; the rest is not looked at",
                     tw_kernel_name(c->kernel), CHECK_CONFIGURATIONS);
            return;
        }
        c->configurations++;
        progress_step(&c->progress, "%s: configuration %d", tw_kernel_name(c->kernel),
                      c->configurations);
        tw_status s = space_apply(&c->space, c->launch);
        if (s == TW_OK)
            s = tw_launch_check(c->launch);
        if (s != TW_OK || *tw_context_messages(c->program->ctx)) {
            char *where = space_text(&c->space);
            check_take_messages(c, s, NULL, where);
            free(where);
        }
        if (s == TW_CANCELLED)
            return;
        bool asked = c->verbose || c->to_json || c->strict || space_is_default(&c->space);
        if (s == TW_OK && asked) /* ends the messages of the check */
            check_ask_undecided(c);
    }
    if (!c->configurations && c->status == STATUS_OK) { /* the library names the failed
                                                         * `require`s */
        tw_status s = tw_launch_check(c->launch);
        check_take_messages(c, s, NULL, "");
        check_worse(c, s == TW_CANCELLED ? STATUS_FAILED : STATUS_USAGE, s);
    }
}

/* --- one kernel, one file --- */

/* Prints a line "NAME: WHAT…" for each. */
static void print_remarks(const char *name, const char *what, const struct remarks *remarks)
{
    for (int i = 0; i < remarks->count; i++) {
        char *line = remark_line(&remarks->list[i]);
        print_text(stdout, "%s: %s%s\n", name, what, line);
        free(line);
    }
}

/* Returns the plural "s" unless the count is one. */
static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

/* Prints the line for a kernel without findings. */
static void print_clean(const struct check *c)
{
    const char *name = c->name;
    if (c->no_run)
        print_text(stdout, "%s: ok (%d configuration%s; not run)\n", name, c->configurations,
                   plural(c->configurations));
    else if (!c->runs && !c->simulated)
        print_text(stdout, "%s: not run (%d configuration%s looked at)\n", name, c->configurations,
                   plural(c->configurations));
    else
        print_text(
            stdout, "%s: ok (%d configuration%s, %d run%s, %d simulated%s)\n", name,
            c->configurations, plural(c->configurations), c->runs, plural(c->runs), c->simulated,
            tw_kernel_has_ensures(c->kernel) ? "" : "; it has no `ensures`: no values compared");
}

/* Prints the command that shows the first finding of the kernel in the page. */
static void print_page_link(const struct findings *f)
{
    for (int i = 0; i < f->count; i++)
        if (f->list[i].file && f->list[i].severity == TW_ERROR) {
            char *state = need_text("line=%d", f->list[i].line);
            page_link_print(stderr, f->list[i].file, state);
            free(state);
            return;
        }
}

/* Prepares the text that the timer of --time-limit prints: the kernels checked so far, and a
 * note that the check of the file is incomplete. */
static void prepare_end(struct check *c, const char *path)
{
    struct json j;
    json_hold(&j);
    j.depth = c->json.depth;
    j.started = c->json.started;
    json_open(&j, '{');
    json_put_text(&j, "file", path);
    json_put_text(&j, "kernel", NULL);
    json_put_bool(&j, "ok", false);
    json_put_text(&j, "status", tw_status_name(TW_CANCELLED));
    json_open_list(&j, "findings");
    json_open(&j, '{');
    json_put_text(&j, "kind", tw_code_name(TW_CODE_CANCELLED));
    json_open_list(&j, "accesses");
    json_close(&j, ']');
    json_open_list(&j, "notes");
    json_close(&j, ']');
    json_put_text(&j, "with", NULL);
    json_put_integer(&j, "configurations", 1);
    time_limit_json_keys(&j, path);
    char *last = json_take(&j), *text = need_text("%s%s", json_held(&c->json), last);
    time_limit_json(text, "\n    ]\n  }\n]\n");
    free(c->json_at_end);
    c->json_at_end = text;
    free(last);
}

static void report_kernel(struct check *c, bool clean)
{
    const char *name = c->name;
    findings_group(&c->findings);
    if (c->to_json) {
        json_open(&c->json, '{');
        json_put_text(&c->json, "file", c->program->path);
        json_put_text(&c->json, "kernel", name);
        json_put_integer(&c->json, "configurations", c->configurations);
        json_put_integer(&c->json, "runs", c->runs);
        json_put_integer(&c->json, "simulated", c->simulated);
        json_put_text(&c->json, "not_run", c->runs || c->simulated ? NULL : c->not_run);
        json_key(&c->json, "not_simulated");
        remarks_json(&c->not_simulated, &c->json);
        json_put_bool(&c->json, "compared", c->runs > 0 && tw_kernel_has_ensures(c->kernel));
        json_key(&c->json, "undecided");
        remarks_json(&c->undecided, &c->json);
        json_key(&c->json, "slow");
        remarks_json(&c->slow, &c->json);
        json_key(&c->json, "unreached");
        remarks_json(&c->unreached, &c->json);
        json_put_text(&c->json, "uniform", c->uniform ? c->uniform->name : NULL);
        json_put_bool(&c->json, "ok", clean);
        json_put_text(&c->json, "status", tw_status_name(c->outcome));
        findings_json(&c->findings, &c->json, name);
        json_close(&c->json, '}');
        prepare_end(c, c->program->path);
    } else {
        findings_print(&c->findings, stderr);
        print_page_link(&c->findings);
        if (clean && c->verbose)
            print_clean(c);
        if (c->verbose) {
            print_remarks(name, "not simulated: ", &c->not_simulated);
            print_remarks(name, "", &c->undecided);
            print_remarks(name, "", &c->unreached);
            print_remarks(name, "", &c->slow);
        }
    }
}

static void check_kernel(struct check *c)
{
    c->configurations = c->runs = c->simulated = 0;
    c->wrong = c->on_zeros = c->undecided_races = c->warned_of_refused = false;
    c->pin_count = c->output_count = 0;
    c->uniform = NULL;
    c->ascending_shape = -1;
    c->name = tw_kernel_name(c->kernel);
    int before = c->status;
    c->status = STATUS_OK;
    c->outcome = TW_OK;
    progress_start(&c->progress);
    tw_status s = tw_launch_new(c->kernel, &c->launch);
    int opened = space_open(&c->space, c->kernel, c->given);
    if (s == TW_OK && opened == STATUS_OK &&
        apply_settings(c->launch, c->kernel, c->program, c->given, true) == STATUS_OK) {
        check_configurations(c);
        if (c->status == STATUS_OK && !c->no_run)
            check_runs(c);
        if ((c->status == STATUS_OK || c->wrong) && !c->no_sim)
            check_simulated(c);
        if (c->status == STATUS_OK && c->ends > 0 && seconds_now() > c->ends)
            check_take_messages(c, TW_CANCELLED, NULL, "");
        progress_clear(&c->progress);
        check_say_gaps(c);
        report_kernel(c, c->status == STATUS_OK);
    } else if (time_limit_is_over()) {
        check_take_messages(c, TW_CANCELLED, NULL, "");
        report_kernel(c, false);
    } else {
        c->status = STATUS_USAGE;
    }
    space_close(&c->space);
    tw_launch_free(c->launch);
    tw_kernel_forget(c->kernel);
    c->launch = NULL;
    findings_free(&c->findings);
    free(c->not_run);
    remarks_free(&c->undecided);
    remarks_free(&c->unreached);
    remarks_free(&c->slow);
    check_forget_refused(c);
    c->not_run = NULL;
    check_worse(c, before, TW_OK);
}

/* Reports, in JSON, messages about a file as a whole: it does not compile, has nothing to check,
 * cannot be checked with these options, or has a warning outside its kernels. */
static void report_file(struct check *c, const struct complaints *said)
{
    if (!c->to_json)
        return;
    json_open(&c->json, '{');
    json_put_text(&c->json, "file", c->program->path);
    json_put_text(&c->json, "kernel", NULL);
    json_put_bool(&c->json, "ok", said->status == TW_OK);
    json_put_text(&c->json, "status", tw_status_name(said->status));
    findings_take_complaints(&c->findings, said, c->program->path);
    findings_json(&c->findings, &c->json, NULL);
    json_close(&c->json, '}');
    prepare_end(c, c->program->path);
    findings_free(&c->findings);
}

static void check_program(struct check *c)
{
    if (c->program->kernel) {
        c->kernel = program_kernel(c->program, c->self);
        if (c->kernel)
            check_kernel(c);
        else
            check_worse(c, STATUS_USAGE, TW_NOT_FOUND);
    } else {
        for (int i = 0; (c->kernel = tw_module_kernel_at(c->program->module, i)); i++)
            check_kernel(c);
    }
}

/* Returns whether the text is a library for imports: some line begins with a declaration. */
static bool is_library(const char *text)
{
    static const char *const words[] = {"fn ", "const ", "type ", "tune "};
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(line, words[i], strlen(words[i])) == 0)
                return true;
    }
    return false;
}

static struct check_file *open_file(struct check *c, const char *word)
{
    struct check_file *f = need_memory(sizeof *f);
    ADD_TO(c->files, c->file_count, f);
    if (c->to_json)
        prepare_end(c, word);
    struct program_config config = {.threads = (int)c->threads,
                                    .colour = on_terminal(stderr),
                                    .deadline = &c->deadline,
                                    .complaints = &f->said};
    f->opened = program_open(&f->program, word, &config);
    return f;
}

/* Replaces the last file, a family, by those of its members. */
static void open_members(struct check *c)
{
    struct check_file *family = c->files[--c->file_count];
    const struct program *p = &family->program;
    const char *file;
    for (int i = 0; (file = tw_family_file(p->family, i)); i++) {
        char *word = need_text("%s:%s", file, tw_kernel_name(tw_family_kernel(p->family, i)));
        open_file(c, word);
        free(word);
    }
    program_close(&family->program);
    complaints_free(&family->said);
    free(family);
}

/* Adds the kernels of a file to those whose names are known. Returns the new number. */
static int add_known(struct known_kernel **known, int count, const struct check_file *f)
{
    const struct program *p = &f->program;
    tw_kernel *k;
    for (int i = 0; f->opened == STATUS_OK && (k = tw_module_kernel_at(p->module, i)); i++) {
        if (p->kernel && strcmp(p->kernel, tw_kernel_name(k)) != 0)
            continue;
        ADD_TO(*known, count, (struct known_kernel){p, k});
    }
    return count;
}

/* Opens every FILE. After that, misspelt names of --set, --tune, --type and --fill can be
 * recognised; the command then checks nothing. */
static void open_files(struct check *c)
{
    struct known_kernel *known = NULL;
    int kernels = 0;
    for (int i = 0; i < c->given->word_count; i++)
        if (open_file(c, c->given->words[i])->program.family)
            open_members(c);
    for (int i = 0; i < c->file_count; i++) {
        struct check_file *f = c->files[i];
        struct program *p = &f->program;
        bool is_empty = f->opened == STATUS_OK && !program_kernel_at(p, 0);
        if (is_empty && (p->kernel || !is_library(p->text))) {
            complain(&f->said, "%s has no kernel", p->path);
            f->opened = STATUS_USAGE;
        }
        check_worse(c, f->opened, f->said.status);
        kernels = add_known(&known, kernels, f);
    }
    if (c->status == STATUS_OK)
        check_worse(c, settings_known(known, kernels, c->given), TW_BAD_ARGUMENT);
    else
        kernels = 0;
    for (int i = 0; i < c->file_count && kernels && c->status != STATUS_OK; i++)
        c->files[i]->opened = c->status;
    free(known);
}

static void check_all(struct check *c)
{
    for (int i = 0; i < c->file_count; i++) {
        struct check_file *f = c->files[i];
        struct complaints opening = f->said;
        c->program = &f->program;
        if (c->to_json)
            prepare_end(c, c->program->path);
        bool is_empty = f->opened == STATUS_OK && !tw_module_kernel_count(c->program->module);
        if (opening.count || is_empty)
            report_file(c, &opening);
        if (f->opened == STATUS_OK)
            check_program(c);
        if (f->said.count > opening.count)
            report_file(c, &(struct complaints){.list = f->said.list + opening.count,
                                                .count = f->said.count - opening.count,
                                                .status = f->said.status});
    }
    if (c->to_json) {
        json_close(&c->json, ']');
        json_end(&c->json);
    }
}

static int check_run(const struct command *self, const struct options *given)
{
    if (is_app(given))
        return app_run(self, given, true);
    if (given->word_count == 0)
        return usage_error(NULL, self, "which FILE?");
    if (has_app_options(given, given->words[0]))
        return STATUS_USAGE;
    for (int i = 0; i < given->word_count; i++)
        if (is_ptx_file(given->words[i]))
            return check_ptx(self, given);
    if (has_ptx_options(given, given->words[0]))
        return STATUS_USAGE;
    static const char *const of_ptx[] = {"seed", "device", "sm", "counters", NULL};
    if (options_refuse(given, of_ptx, "PTX and CUDA C", given->words[0]) != STATUS_OK)
        return STATUS_USAGE;
    struct check c = {.self = self,
                      .given = given,
                      .json = {.out = stdout},
                      .to_json = options_has(given, "json"),
                      .all = options_has(given, "all"),
                      .strict = options_has(given, "strict"),
                      .no_run = options_has(given, "no-run"),
                      .no_sim = options_has(given, "no-run") || options_has(given, "no-sim"),
                      .time_limit = 10,
                      .fill = settings_fill_of_all(given),
                      .verbose = options_has(given, "verbose") || on_terminal(stdout)};
    if (!options_threads(given, &c.threads) || !time_limit_begin(given, &c.time_limit, &c.ends))
        return STATUS_USAGE;
    c.deadline.at = c.ends;
    int status = sim_options_read(&c.sim, given);
    if (status == STATUS_OK) {
        if (c.to_json) {
            json_hold(&c.json);
            json_open(&c.json, '[');
        }
        open_files(&c);
        check_all(&c);
    }
    for (int i = 0; i < c.file_count; i++) {
        program_close(&c.files[i]->program);
        complaints_free(&c.files[i]->said);
        free(c.files[i]);
    }
    time_limit_json(NULL, NULL);
    free(c.json_at_end);
    free(c.outputs);
    sim_options_free(&c.sim);
    free(c.files);
    return status == STATUS_OK ? c.status : status;
}

static const struct option_spec check_options[] = {
    OPTION_GROUP("How much is checked and said"),
    {.name = "verbose",
     .letter = 'v',
     .help = "a line for each clean kernel, and what could not be simulated or\ndecided, off a "
             "terminal too"},
    {.name = "strict",
     .help = "status 1 also for a kernel that has no `ensures`, could not be run or\nsimulated, or "
             "whose races the static check leaves undecided; what --no-run or\n--no-sim leaves out "
             "does not count. PTX, CUDA: also for a warning"},
    {.name = "no-run",
     .help = "static checks only; with --strict, only undecided races then cause status 1"},
    {.name = "no-sim", .help = "no runs on the simulator"},
    {.name = "all",
     .letter = 'a',
     .help = "every configuration takes part in all runs; by default a selection does"},
    {.name = "time-limit",
     .values = 1,
     .value = "TIME",
     .help = "ends the command, whatever it is doing, and reports what that was (default:\n"
             "each run is ended after 10s; PTX, CUDA: no run begins after 30s)"},
    OPTION_THREADS,
    OPTION_SUPPRESS,
    OPTION_JSON,
    OPTION_GROUP("Values"),
    {.name = "fill",
     .values = 1,
     .value = "[NAME=]KIND",
     .help = "the values of array NAME, or without NAME of all inputs that have no\n"
             "--fill of their own: rand, zero, iota, ones, wide, negative, positive,\n"
             "extreme, special (NaN, infinities, …) or starts (of rows). By default\n"
             "inputs are random, starts of rows ascend, and outputs that `ensures`\n"
             "mentions count as never written"},
    OPTION_SET,
    OPTION_SMS,
    OPTION_TUNE,
    OPTION_TYPE,
    OPTION_IMPORT,
    OPTION_WATCH,
    OPTION_GROUP("PTX and CUDA C"),
    OPTIONS_PTX_LAUNCH,
    {.name = "device",
     .values = 1,
     .value = "DEVICE",
     .help = "PTX, CUDA: sim (default), or sm_90, sim:h100: what CUDA C is compiled for (else\n"
             "sm_80); a .tile file is simulated for sm_80 and sm_90,\n"
             "or for the GPU that its kernel's head names; a program sees this GPU (else sm_90)"},
    OPTIONS_COMPILER,
    {.name = "seeds",
     .values = 1,
     .value = "N",
     .help = "PTX, CUDA: orders of warps to try, each with copies early and late\n(default 4)"},
    {.name = "seed", .values = 1, .value = "N", .help = "PTX, CUDA: the first of them (default 0)"},
    {.name = "copies",
     .values = 1,
     .elsewhere = "--copies is for run; check tries both, early and late"},
    OPTION_STEP_LIMIT,
    OPTION_SAME_VALUE,
    OPTION_VOLATILE,
    OPTION_COUNTERS,
    OPTION_GROUP("Programs, after -- (and --kernel, --device, --seed, --step-limit, --suppress, "
                 "--threads, --json)"),
    OPTION_APP_LAUNCH,
    OPTION_APP_SKIP,
    OPTION_APP_LIMIT,
    OPTION_APP_FILES,
    OPTION_APP_KEEP_GOING,
    OPTION_APP_STUB,
    OPTION_APP_TRACE,
    OPTION_END,
};

const struct command command_check = {
    .name = "check",
    .arguments = "FILE[:KERNEL]… [OPTIONS] | [OPTIONS] -- PROGRAM [ARGUMENT]…",
    .summary = "find races and other mistakes, in every configuration",
    .about =
        "Checks each kernel in each configuration (tuned values that `require` allows, type "
        "choices):\n"
        "barriers and waits between accesses to shared memory, bounds, memory used. A\n"
        "clean kernel is then run on tiny and ragged sizes with random data, small and once large, "
        "and\n"
        "compared with its `ensures`; with inputs of one sign and extreme integers, too, and with "
        "sizes\n"
        "that the kernel compares with a constant. Then the PTX that sm_80 and sm_90 would get (if "
        "both\n"
        "refuse the kernel, that of another target) is simulated on such sizes, in several orders "
        "of warps,\n"
        "asynchronous copies landing early and late, and watched for races, misused barriers and "
        "memory.\n"
        "A message that several configurations share is printed once, with the first of them.\n"
        "A kernel that compiles for the CPU, but not for any GPU, gets a warning, or an error if "
        "its\n"
        "head names the target; with -v a line says which part sm_80 or sm_90 refused, and why.\n"
        "FILE may be a family: its kernels are compared with the first, then each is checked.\n"
        "FILE may be PTX of any compiler, or CUDA C (k.cu, k.cuh), which nvcc or clang compiles\n"
        "first: its kernel is simulated with the launch that --grid, --block and --arg give, and\n"
        "watched in the same way.\n"
        "After `--` comes a CUDA program that nvcc built: it runs unchanged, without a GPU, with "
        "its\n"
        "arguments, its kernels on the simulator, and every launch, copy and free is watched. The\n"
        "status is 1 if something was found, and otherwise the program's own.\n"
        "Silent when all is well (on a terminal: a line for each kernel); a line says if a kernel\n"
        "has no `ensures`, was not run, or is undecided. Status 1: something was found, "
        "or\n"
        "with --strict not looked at; 2: a kernel does not compile.",
    .options = check_options,
    .examples =
        "  tilewright check kernels/matmul/shared.tile\n"
        "  tilewright check kernels/*/*.tile --verbose\n"
        "  tilewright check kernels/fused/attention.tile:attention --type f16 --no-run\n"
        "  tilewright check kernels/cuda/block_sum.ptx --block 256 --arg f32[1000]:rand --arg "
        "f32[1]:none --arg i32:1000\n"
        "  tilewright check --strict -- ./app_tests --quick\n"
        "  tilewright check kernels/cuda/transpose.cu --grid 2,2 --block 32,8 --arg "
        "f32[64][64]:rand --arg f32[64][64]:none --arg i32:64\n",
    .run = check_run,
};
