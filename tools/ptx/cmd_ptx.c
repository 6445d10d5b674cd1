/* Runs PTX and CUDA C once, or checks them in many orders of warps. */
#include "ptx/cmd_ptx.h"
#include "ptx/assembler.h"
#include "cli/device_asked.h"
#include "cli/findings.h"
#include "ptx/ptx_launch.h"
#include "cli/trace_file.h"
#include "cli/why.h"
#include "cli/sim_options.h"
#include "cli/time_limit.h"
#include "cli/doing.h"

#include <stdlib.h>
#include <string.h>

enum { SEEDS = 4, ROUNDS_OF_TIME = 3 };

struct ptx_command {
    FILE *print; /* of kernels */
    const struct command *self;
    struct options given;
    struct complaints complaints;
    struct deadline deadline;
    struct device_asked asked;
    struct ptx_file file;
    struct ptx_given launch;
    struct findings findings;
    struct sim_options sim;
    struct trace_file trace;
    struct why why;
    double time_limit; /* seconds of one run */
    double ends;       /* end of the command by --time-limit, else 0 */
    int64_t seed, seeds, runs, planned;
    bool late;          /* the time was up before the check was complete */
    bool stopped_early; /* runs are left out because the time was up between two */
    double seconds;     /* of all runs */
    bool to_json, verbose, simulated, done;
    const char *device;
    double milliseconds;
    tw_sim_result result;
    int64_t warp_instructions; /* of all runs */
    char *counters, *counters_json;
};

bool has_ptx_options(const struct options *o, const char *file)
{
    static const char *const of_ptx[] = {"kernel",   "grid",         "block", "cluster",
                                         "shared",   "cooperative",  "arg",   "seeds",
                                         "compiler", "compiler-arg", NULL};
    const char *other = options_any(o, of_ptx), *kernel = options_value(o, "kernel");
    if (kernel)
        usage_error(o->complaints, o->command,
                    "--kernel is for PTX and CUDA C; here it is `%.*s:%s`", (int)strcspn(file, ":"),
                    file, kernel);
    else if (other)
        usage_error(o->complaints, o->command, "--%s is for PTX and CUDA C, not for %s", other,
                    file);
    return other;
}

/* Refuses the options that apply to .tile files only. */
static int refuse_others(struct ptx_command *p)
{
    static const char *const of_tile[] = {
        "probe",     "break",   "in-thread", "probe-rows", "set",          "tune", "type",  "in",
        "fill",      "verify",  "repeat",    "bind",       "machine-bits", "sms",  "tuned", "store",
        "same-bits", "profile", "svg",       "no-run",     "no-sim",       "all",  NULL};
    const char *other = options_any(&p->given, of_tile), *order = options_value(&p->given, "order");
    if (options_has(&p->given, "despite") || (order && strcmp(order, "worst") == 0))
        return usage_error(
            &p->complaints, p->self,
            "--despite race and --order worst are for .tile files; `run` of PTX never "
            "looks for races");
    return other ? usage_error(&p->complaints, p->self, "--%s is for .tile files; %s takes --arg",
                               other, p->given.words[0])
                 : STATUS_OK;
}

/* Reads the target. Refuses "90" for sm_90, because compilers call it unsupported, and the
 * assembler is not needed. */
static int read_target(struct ptx_command *p)
{
    int status = device_asked_read(&p->asked, &p->given);
    const char *target = p->asked.target;
    if (status == STATUS_OK && target && !names_gpu(target))
        return device_refuse(&p->asked, &p->given, "there is no such target");
    return status;
}

static int begin(struct ptx_command *p, const struct command *self, const struct options *given,
                 FILE *print)
{
    p->self = self;
    p->given = *given;
    p->given.complaints = &p->complaints;
    p->to_json = options_has(given, "json");
    p->time_limit = 10;
    p->seed = 1;
    p->print = print;
    const struct options *o = &p->given;
    if (o->word_count != 1)
        return usage_error(&p->complaints, self, "one FILE at a time, where one is PTX or CUDA C");
    int status = has_app_options(o, o->words[0]) ? STATUS_USAGE : refuse_others(p);
    if (status == STATUS_OK)
        status = read_target(p);
    if (status != STATUS_OK)
        return status;
    int64_t threads = 0;
    if (!options_threads(o, &threads) || !options_integer(o, "seed", 0, INT64_MAX / 2, &p->seed) ||
        !time_limit_begin(o, &p->time_limit, &p->ends) || sim_options_read(&p->sim, o) != STATUS_OK)
        return STATUS_USAGE;
    struct program_config config = {.print = &p->print,
                                    .threads = (int)threads,
                                    .colour = on_terminal(stderr),
                                    .deadline = &p->deadline,
                                    .device = p->asked.place,
                                    .complaints = &p->complaints};
    status = ptx_file_open(&p->file, o->words[0], o, &config);
    return status == STATUS_OK ? ptx_given_read(&p->launch, &p->file, o, (uint64_t)p->seed)
                               : status;
}

static void report_failure(const struct ptx_command *p)
{
    struct json j = {.out = stdout};
    json_open(&j, '{');
    json_put_text(&j, "file", p->given.word_count ? p->given.words[0] : NULL);
    json_put_text(&j, "kernel", p->file.kernel);
    json_put_bool(&j, "ok", false);
    json_open_list(&j, "findings");
    json_close(&j, ']');
    complaints_json(&p->complaints, &j);
    json_close(&j, '}');
    json_end(&j);
}

static int finish(struct ptx_command *p, int status)
{
    if (p->to_json && !p->done)
        report_failure(p);
    ptx_given_free(&p->launch);
    ptx_file_close(&p->file);
    findings_free(&p->findings);
    complaints_free(&p->complaints);
    sim_options_free(&p->sim);
    why_free(&p->why);
    free(p->counters);
    free(p->counters_json);
    return status;
}

static void json_head(const struct ptx_command *p, struct json *j)
{
    json_put_text(j, "file", p->file.path);
    json_put_text(j, "kernel", p->file.kernel);
    ptx_given_json(&p->launch, j);
}

/* --- run --- */

static void print_array(const struct ptx_array *a)
{
    if (a->named)
        print_text(stdout, "%s %s: ", a->path, a->name);
    else
        print_text(stdout, "%s: ", a->name);
    tensor_report(&a->array, a->path);
}

static bool is_shown(const struct ptx_array *a)
{
    return !a->is_view && !a->out && (a->changes || ptx_array_changed(a));
}

static void json_array(struct json *j, const struct ptx_array *a)
{
    json_put_text(j, "type", tw_dtype_name(a->array.dtype));
    json_put_integers(j, "shape", a->array.rank, a->array.shape);
    json_put_bool(j, "changed", ptx_array_changed(a));
    json_put_text(j, "file", a->out);
    if (is_shown(a) && tensor_elements(&a->array) <= SHOWN_ELEMENTS) {
        json_key(j, "values");
        tensor_json(j, &a->array);
    }
}

/* Adds the arrays that a struct points to. */
static void json_fields(struct json *j, const struct ptx_argument *a,
                        const struct ptx_array *arrays)
{
    json_put_integer(j, "bytes", (int64_t)a->bytes);
    json_open_list(j, "arrays");
    for (int i = 0; i < a->array_count; i++) {
        json_open(j, '{');
        json_put_text(j, "name", arrays[i].name);
        json_put_integer(j, "offset", (int64_t)arrays[i].at);
        json_array(j, &arrays[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_arguments(const struct ptx_command *p, struct json *j)
{
    json_open_list(j, "arguments");
    for (int i = 0; i < p->launch.count; i++) {
        const struct ptx_argument *a = &p->launch.list[i];
        const struct ptx_array *arrays = p->launch.arrays.list + a->first_array;
        json_open(j, '{');
        json_put_text(j, "name", a->name);
        if (a->kind == PTX_ARRAY)
            json_array(j, arrays);
        else
            json_put_text(j, "type", a->kind == PTX_STRUCT ? "struct" : tw_dtype_name(a->type));
        if (a->kind == PTX_STRUCT)
            json_fields(j, a, arrays);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_run(const struct ptx_command *p, bool ok)
{
    struct json j = {.out = stdout};
    json_open(&j, '{');
    json_head(p, &j);
    json_put_text(&j, "device", p->simulated ? "sim" : p->device);
    json_arguments(p, &j);
    if (p->simulated) {
        json_members(&j, p->result.json);
        json_put_real(&j, "seconds", p->result.seconds);
    } else {
        json_put_real(&j, "milliseconds", p->milliseconds);
    }
    json_put_bool(&j, "ok", ok);
    if (p->why.report) {
        json_key(&j, "why");
        json_number(&j, p->why.report);
    }
    if (p->complaints.count)
        complaints_json(&p->complaints, &j);
    json_close(&j, '}');
    json_end(&j);
}

static tw_status launch_once(struct ptx_command *p)
{
    bool counted = options_has(&p->given, "counters");
    if (!p->simulated)
        return tw_ptx_run(p->file.ptx, &p->launch.launch, &p->milliseconds);
    if (counted)
        assemble(&p->file, &p->given);
    p->sim.options.watch = counted ? TW_WATCH_COUNTERS : 0;
    p->sim.options.seed = options_has(&p->given, "seed") ? (uint64_t)p->seed : 0;
    p->deadline.at = p->ends;
    p->sim.options.trace = p->trace.path || p->why.array ? &p->trace.options : NULL;
    doing("simulating", p->launch.launch.kernel);
    p->result = tw_sim_result_init();
    tw_status s = tw_ptx_simulate(p->file.ptx, &p->launch.launch, &p->sim.options, &p->result);
    doing(NULL, NULL);
    return s;
}

static int choose_device(struct ptx_command *p)
{
    p->device = p->asked.place;
    p->simulated = !p->device || device_is(&p->asked, "sim");
    if (!p->simulated && !names_gpu(p->device))
        return device_refuse(&p->asked, &p->given,
                             "PTX runs on sim, the simulator, or on cuda (cuda:1 …)");
    static const char *const of_simulator[] = {"counters",   "trace", "trace-events",
                                               "trace-from", "why",   NULL};
    const char *other = options_any(&p->given, of_simulator);
    if (!p->simulated && other)
        return usage_error(&p->complaints, p->self,
                           "--%s is for --device sim: add `--device sim` to this command", other);
    if (!p->simulated && options_has(&p->given, "time-limit"))
        return usage_error(&p->complaints, p->self,
                           "--time-limit: what runs on a GPU cannot be ended");
    return STATUS_OK;
}

static int ask_why(struct ptx_command *p)
{
    const struct ptx_array *found = NULL;
    char *names = NULL;
    for (int i = 0; p->why.array && i < p->launch.arrays.count; i++) {
        const struct ptx_array *a = &p->launch.arrays.list[i];
        append_text(&names, "%s`%s`", names ? ", " : "", a->name);
        if (strcmp(a->name, p->why.array) == 0)
            found = a;
    }
    int status = p->why.array
                     ? why_ask(&p->why, found ? found->name : NULL, found ? &found->array : NULL,
                               names, &p->given, &p->trace.options)
                     : STATUS_OK;
    free(names);
    return status;
}

/* Launches with a trace. Launches again if a different block wrote the element than the one that
 * was traced. */
static tw_status launch_traced(struct ptx_command *p)
{
    tw_status s = launch_once(p);
    if (p->why.array && !options_has(&p->given, "in-block") &&
        why_elsewhere(p->result.why, &p->trace.options)) {
        ptx_given_restore(&p->launch);
        s = launch_once(p);
    }
    if (p->why.array)
        why_keep(&p->why, p->result.why, &p->trace.options, p->to_json);
    return s;
}

static int run_and_report(struct ptx_command *p)
{
    int asked = ask_why(p);
    if (asked != STATUS_OK)
        return asked;
    tw_status s = launch_traced(p);
    p->deadline.at = 0;
    fflush(stdout);
    if (trace_file_write(&p->trace, &p->result, &p->complaints) != STATUS_OK)
        return STATUS_FAILED;
    if (s == TW_CANCELLED) {
        complain_of_time(&p->complaints, p->file.shown, p->time_limit);
        if (p->result.ended)
            complain_more(&p->complaints, "%s", p->result.ended);
        return STATUS_FAILED;
    }
    if (s != TW_OK || *tw_context_messages(p->file.ctx))
        complain_library(&p->complaints, p->file.ctx, s);
    if (s != TW_OK && s != TW_FAULT)
        return s == TW_NO_MEMORY ? STATUS_FAILED : STATUS_USAGE;
    int status = s == TW_OK ? ptx_given_write(&p->launch, &p->complaints) : STATUS_FAILED;
    if (s == TW_OK && status != STATUS_OK)
        return status;
    p->done = true;
    if (p->to_json) {
        json_run(p, status == STATUS_OK);
        return status;
    }
    for (int i = 0; i < p->launch.arrays.count && s == TW_OK; i++)
        if (is_shown(&p->launch.arrays.list[i]))
            print_array(&p->launch.arrays.list[i]);
    if (p->why.report)
        printf("\n%s", p->why.report);
    if (p->simulated && *p->result.counters)
        printf("\n%s", p->result.counters);
    return status;
}

int run_ptx(const struct command *self, const struct options *given)
{
    struct ptx_command p = {0};
    int status = begin(&p, self, given, options_has(given, "json") ? stderr : stdout);
    if (status == STATUS_OK)
        status = choose_device(&p);
    if (status == STATUS_OK)
        status = trace_file_read(&p.trace, &p.given);
    if (status == STATUS_OK)
        status = why_read(&p.why, &p.given);
    return finish(&p, status == STATUS_OK ? run_and_report(&p) : status);
}

/* --- check --- */

static void take_result(struct ptx_command *p, const char *where)
{
    for (int i = 0; i < p->result.finding_count; i++)
        findings_take_simulated(&p->findings, &p->result.findings[i], p->file.shown, where);
    p->warp_instructions += p->result.warp_instructions;
    if (p->result.counters_json && !p->counters) {
        p->counters = need_text("%s", p->result.counters);
        p->counters_json = need_text("%s", p->result.counters_json);
    }
}

/* Reports that the time was up: in the first run, which may never end, or after some. `where`: the
 * run that it cut short; "": it was up between two runs. */
static void take_end(struct ptx_command *p, const char *where)
{
    p->late = true;
    bool limited = p->ends > 0, cut = limited && p->runs;
    char *text =
        cut ? need_text(
                  "`%s` is not checked to the end: time is up (--time-limit %g) after %lld of "
                  "%lld runs",
                  p->file.shown, p->time_limit, (long long)p->runs, (long long)p->planned)
            : need_text("`%s` did not end within %g s with %s (%s)", p->file.shown, p->time_limit,
                        where, limited ? "--time-limit" : "--time-limit TIME gives it more");
    findings_add(&p->findings, TW_CODE_CANCELLED, p->file.shown, p->file.path, text, NULL);
    if (!cut && p->result.ended)
        findings_note(&p->findings, p->result.ended);
}

/* Runs one order of warps. Returns whether to run more; *status is the worst so far. */
static bool check_once(struct ptx_command *p, uint64_t seed, bool late, int *status)
{
    char where[64];
    snprintf(where, sizeof where, "seed %llu, copies %s", (unsigned long long)seed,
             late ? "late" : "early");
    ptx_given_restore(&p->launch);
    tw_sim_options options = p->sim.options;
    options.watch =
        p->runs == 0 && options_has(&p->given, "counters") ? TW_WATCH_ALL : TW_WATCH_CHECKS;
    options.seed = seed;
    options.late = late;
    p->deadline.at = p->ends > 0 ? p->ends : seconds_now() + p->time_limit;
    p->result = tw_sim_result_init();
    doing("checking", p->launch.launch.kernel);
    tw_status s = tw_ptx_simulate(p->file.ptx, &p->launch.launch, &options, &p->result);
    doing(NULL, NULL);
    p->deadline.at = 0;
    if (s == TW_CANCELLED) {
        take_end(p, where);
        *status = STATUS_FAILED;
        return false;
    }
    if (s != TW_OK && s != TW_FAULT) {
        complain_library(&p->complaints, p->file.ctx, s);
        *status = s == TW_NO_MEMORY ? STATUS_FAILED : STATUS_USAGE;
        return false;
    }
    p->runs++;
    take_result(p, where);
    if (s == TW_FAULT)
        *status = STATUS_FAILED;
    return !p->result.ended;
}

static int check_orders(struct ptx_command *p)
{
    int status = STATUS_OK;
    double began = seconds_now();
    double until = p->ends > 0 ? p->ends : began + ROUNDS_OF_TIME * p->time_limit;
    uint64_t first = options_has(&p->given, "seed") ? (uint64_t)p->seed : 0;
    if (options_has(&p->given, "counters"))
        assemble(&p->file, &p->given);
    p->planned = 2 * p->seeds;
    bool more = true;
    for (int64_t i = 0; more && i < p->planned && (i == 0 || seconds_now() < until); i++)
        more = check_once(p, first + (uint64_t)i / 2, i % 2, &status);
    p->stopped_early = more && p->runs < p->planned;
    p->seconds = seconds_now() - began;
    if (p->stopped_early && p->ends > 0) {
        take_end(p, "");
        status = STATUS_FAILED;
    }
    return status;
}

/* Warns of runs that the command left out because the others took its default time. */
static void say_left_out(struct ptx_command *p)
{
    enum { ROUND = 10 };
    double all = 1.5 * p->seconds * (double)p->planned / (double)p->runs;
    if (p->stopped_early && p->ends <= 0)
        complain_warning(&p->complaints,
                         "%s: %lld of %lld runs were done, in %.0f s; --time-limit %.0f gives time "
                         "for all",
                         p->file.shown, (long long)p->runs, (long long)p->planned, p->seconds,
                         ROUND * (double)(int64_t)(all / ROUND + 1));
}

/* Returns the status with --strict: a warning or a run left out fails, too. */
static int strict_status(const struct ptx_command *p, int status)
{
    bool warned = false;
    for (int i = 0; i < p->findings.count; i++)
        warned = warned || p->findings.list[i].severity == TW_WARNING;
    for (int i = 0; i < p->complaints.count; i++)
        warned = warned || p->complaints.list[i].severity == TW_WARNING;
    return warned && options_has(&p->given, "strict") ? STATUS_FAILED : status;
}

static void json_check(const struct ptx_command *p, bool ok)
{
    struct json j = {.out = stdout};
    json_open(&j, '{');
    json_head(p, &j);
    json_put_integer(&j, "runs", p->runs);
    json_put_integer(&j, "planned_runs", p->planned);
    json_put_integer(&j, "warp_instructions", p->warp_instructions);
    json_put_bool(&j, "ok", ok);
    findings_json(&p->findings, &j, p->file.shown);
    if (p->counters_json) {
        json_key(&j, "counters");
        json_number(&j, p->counters_json);
    }
    if (p->complaints.count)
        complaints_json(&p->complaints, &j);
    json_close(&j, '}');
    json_end(&j);
}

static int check_and_report(struct ptx_command *p)
{
    int status = check_orders(p);
    if (status == STATUS_USAGE)
        return status;
    p->done = true;
    say_left_out(p);
    findings_group(&p->findings);
    status = strict_status(p, status);
    if (status != STATUS_OK)
        p->complaints.status = p->late ? TW_CANCELLED : TW_FAULT;
    if (p->to_json) {
        json_check(p, status == STATUS_OK);
        return status;
    }
    findings_print(&p->findings, stderr);
    if (status == STATUS_OK && p->verbose)
        print_text(stdout,
                   "%s: ok (%lld run%s: other orders of warps, asynchronous copies early and late; "
                   "%lld warp instructions)\n",
                   p->file.shown, (long long)p->runs, p->runs == 1 ? "" : "s",
                   (long long)p->warp_instructions);
    if (p->counters)
        fputs(p->counters, stdout);
    return status;
}

int check_ptx(const struct command *self, const struct options *given)
{
    struct ptx_command p = {.seeds = SEEDS,
                            .verbose = options_has(given, "verbose") || on_terminal(stdout)};
    int status = begin(&p, self, given, NULL);
    device_asked_gpu(&p.asked);
    if (status == STATUS_OK && !options_integer(given, "seeds", 1, 100000, &p.seeds))
        status = STATUS_USAGE;
    if (status == STATUS_OK && p.asked.place && !p.asked.target && !device_is(&p.asked, "sim"))
        status = device_refuse(&p.asked, &p.given,
                               "check runs PTX on the simulator: sim, sim:sm_90, sm_90 or h100");
    return finish(&p, status == STATUS_OK ? check_and_report(&p) : status);
}
