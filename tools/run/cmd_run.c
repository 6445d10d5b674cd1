/* Command run: runs one kernel on arrays that it reads from files or creates. */
#include "app/app.h"
#include "cli/commands.h"
#include "ptx/cmd_ptx.h"
#include "cli/device_asked.h"
#include "ptx/ptx_launch.h"
#include "cli/json.h"
#include "run/run.h"
#include "cli/settings.h"
#include "cli/tuned.h"
#include "cli/verdict.h"
#include "cli/time_limit.h"
#include "cli/watch.h"

#include <stdlib.h>
#include <string.h>

/* Returns the first message of the latest call. */
static tw_message first_message(const struct run *r)
{
    tw_message m = {.size = sizeof m, .code = TW_CODE_OTHER};
    tw_context_message(r->program.ctx, 0, &m);
    return m;
}

/* Names a GPU that has the feature that this one lacks; the simulator can run for that GPU. */
static void offer_target(struct run *r)
{
    tw_message m = first_message(r);
    if (r->simulated && m.needs_sm)
        complain_more(&r->complaints, "--device sim:sm_%d simulates that one", m.needs_sm);
}

static int prepare(struct run *r)
{
    tw_status s = tw_launch_prepare(r->launch);
    if (s != TW_OK || *tw_context_messages(r->program.ctx))
        complain_library(&r->complaints, r->program.ctx, s);
    bool unset = s == TW_BAD_ARGUMENT && first_message(r).code == TW_CODE_UNSET;
    char *missing = unset ? missing_scalars(r->launch, r->kernel) : NULL;
    if (missing)
        complain_more(&r->complaints, "give it with --set %s", missing);
    free(missing);
    if (s != TW_OK)
        offer_target(r);
    return s == TW_OK ? STATUS_OK : STATUS_USAGE;
}

/* --- results --- */

static void report_arrays(const struct run *r)
{
    for (int i = 0; i < r->array_count; i++) {
        const struct given_array *o = &r->arrays[i];
        if (o->param.is_const || o->out)
            continue;
        printf("%s: ", o->param.name);
        tensor_report(&o->array, o->param.name);
    }
}

static void json_array(struct json *j, const struct given_array *o)
{
    json_open_object(j, o->param.name);
    json_put_text(j, "type", tw_dtype_name(o->array.dtype));
    json_put_integers(j, "shape", o->array.rank, o->array.shape);
    json_put_text(j, "file", o->param.is_const ? o->in : o->out);
    int64_t count = tensor_elements(&o->array);
    if (!o->param.is_const && !o->out && count <= SHOWN_ELEMENTS) {
        json_key(j, "values");
        tensor_json(j, &o->array);
    }
    json_close(j, '}');
}

static void json_scalar(struct json *j, const struct run *r, const char *name)
{
    tw_value v;
    if (tw_launch_value(r->launch, name, &v) != TW_OK)
        return;
    json_key(j, name);
    if (v.kind == TW_FLOAT)
        json_real(j, v.f);
    else
        json_integer(j, v.i);
}

static const char *device_name(const struct run *r)
{
    if (r->simulated)
        return "sim";
    return tw_kernel_target(r->kernel);
}

static void report_json(const struct run *r)
{
    struct json j = {.out = stdout};
    tw_param param = tw_param_init();
    tw_tune tune = tw_tune_init();
    json_open(&j, '{');
    json_put_text(&j, "kernel", tw_kernel_name(r->kernel));
    json_put_text(&j, "device", device_name(r));
    json_open_object(&j, "parameters");
    for (int i = 0; tw_kernel_param(r->kernel, i, &param) == TW_OK; i++)
        if (!param.is_pointer)
            json_scalar(&j, r, param.name);
    json_close(&j, '}');
    json_open_object(&j, "tuned");
    for (int i = 0; tw_kernel_tune(r->kernel, i, &tune) == TW_OK; i++)
        json_scalar(&j, r, tune.name);
    json_close(&j, '}');
    if (r->taken)
        json_put_text(&j, "tuned_from", r->taken);
    chosen_json(&r->chosen, &j);
    json_open_object(&j, "arrays");
    for (int i = 0; i < r->array_count; i++)
        json_array(&j, &r->arrays[i]);
    json_close(&j, '}');
    json_put_real(&j, "milliseconds", 1e3 * median_of(r->seconds, (int)r->repeat));
    json_put_integer(&j, "runs", r->repeat);
    if (r->verify)
        verdict_json(&r->verdict, &j);
    profile_json(&r->profile, &j);
    if (r->probe.asked)
        run_probe_json(&r->probe, &j);
    if (r->why.report) {
        json_key(&j, "why");
        json_number(&j, r->why.report);
    }
    if (r->verify && r->wrong.count) {
        json_key(&j, "wrong");
        wrong_values_json(&r->wrong, &j);
    }
    if (r->verify && run_wide_tolerance(r) > 0)
        json_put_real(&j, "wide_tolerance", run_wide_tolerance(r));
    if (r->simulated) {
        json_put_text(&j, "target", tw_kernel_target(r->kernel));
        json_members(&j, r->found.json);
        if (r->despite)
            run_races_json(r, &j);
    }
    json_put_bool(&j, "ok", !r->verify || r->verdict.ok);
    if (r->complaints.count)
        complaints_json(&r->complaints, &j);
    json_close(&j, '}');
    json_end(&j);
}

/* Reports, in JSON, a run without a result. */
static void report_failure(const struct run *r)
{
    struct json j = {.out = stdout};
    json_open(&j, '{');
    json_put_text(&j, "file", r->program.path);
    json_key(&j, "kernel");
    bool known = r->kernel && (!r->chosen.family || r->chosen.variant);
    json_string(&j, known ? tw_kernel_name(r->kernel) : NULL);
    json_put_bool(&j, "ok", false);
    if (r->simulated && r->found.json)
        json_members(&j, r->found.json);
    if (r->probe.launch)
        run_probe_json(&r->probe, &j);
    complaints_json(&r->complaints, &j);
    json_close(&j, '}');
    json_end(&j);
}

static int report(struct run *r)
{
    if (r->verify && r->verified != TW_OK && r->verified != TW_WRONG_VALUES)
        return STATUS_FAILED;
    r->reported = true;
    if (r->json) {
        report_json(r);
    } else {
        if (r->despite)
            run_races_say(r);
        if (!r->explains)
            report_arrays(r);
        if (r->repeat > 1)
            printf("time: %.4g ms, median of %lld runs\n",
                   1e3 * median_of(r->seconds, (int)r->repeat), (long long)r->repeat);
        if (r->verify && r->verdict.ok)
            run_report_verified(r);
        if (r->profile.result.kernel && !r->explains)
            fputs("\n", stdout);
        profile_report(&r->profile);
        if (r->why.report)
            printf("\n%s", r->why.report);
        if (r->simulated && *r->found.counters)
            printf("\n%s", r->found.counters);
    }
    return r->verify && !r->verdict.ok ? STATUS_FAILED : STATUS_OK;
}

/* --- the command --- */

/* Refuses --verify if the kernel has no `ensures`. Requires a program that compiles, so that its
 * errors are reported first. */
static int check_ensures(struct run *r)
{
    if (!r->verify || tw_kernel_has_ensures(r->kernel))
        return STATUS_OK;
    complain(&r->complaints, "--verify: kernel `%s` has no `ensures` to compare with",
             tw_kernel_name(r->kernel));
    r->complaints.status = TW_UNSUPPORTED;
    return STATUS_USAGE;
}

/* Reports a run that ended at a stop: its arrays are incomplete. */
static int report_stop(struct run *r)
{
    struct json j = {.out = stdout};
    r->reported = true;
    if (!r->json)
        return STATUS_OK;
    json_open(&j, '{');
    json_put_text(&j, "kernel", tw_kernel_name(r->kernel));
    json_put_text(&j, "device", device_name(r));
    run_probe_json(&r->probe, &j);
    json_put_bool(&j, "ok", true);
    json_close(&j, '}');
    json_end(&j);
    return STATUS_OK;
}

static int make_launch(struct run *r)
{
    tw_status s = tw_launch_new(r->kernel, &r->launch);
    if (s == TW_OK && r->despite)
        s = tw_launch_despite_races(r->launch, true);
    if (s == TW_OK)
        return STATUS_OK;
    complain_library(&r->complaints, r->program.ctx, s);
    return STATUS_FAILED;
}

/* Takes the program's kernel for the target (NULL: the CPU engine). */
static int take_kernel(struct run *r, const char *target)
{
    r->kernel = program_kernel(&r->program, r->given->command);
    if (!r->kernel)
        return STATUS_USAGE;
    tw_status s = target ? tw_kernel_for_target(r->kernel, target, &r->kernel) : TW_OK;
    if (s == TW_OK)
        return STATUS_OK;
    complain_library(&r->complaints, r->program.ctx, s);
    return STATUS_USAGE;
}

/* Replaces the launch of any kernel of a family, which has the sizes, by one of the chosen kernel. */
static int take_choice(struct run *r)
{
    int status = chosen_take(&r->chosen, &r->program, r->launch);
    if (status != STATUS_OK)
        return status;
    status = take_kernel(r, r->target);
    if (status == STATUS_OK)
        status = chosen_has_tuned(&r->chosen, &r->program, r->given, r->kernel);
    if (status != STATUS_OK)
        return status;
    char *text = chosen_text(&r->chosen);
    if (!r->json)
        print_text(stdout, "chosen: %s\n", text);
    free(text);
    status = make_launch(r);
    if (status == STATUS_OK)
        status = chosen_apply(&r->chosen, &r->program, r->launch);
    if (status == STATUS_OK)
        status = apply_settings(r->launch, r->kernel, &r->program, r->given, true);
    return status == STATUS_OK ? run_give_inputs(r) : status;
}

static int run_steps(struct run *r)
{
    bool chooses = r->chosen.family != NULL;
    int status = run_gather(r);
    if (status == STATUS_OK)
        status = apply_settings(r->launch, r->kernel, &r->program, r->given, chooses);
    if (status == STATUS_OK)
        status = run_read_inputs(r);
    if (status == STATUS_OK)
        status = chooses ? take_choice(r) : tuned_take(&r->program, r->launch, r->given, &r->taken);
    if (r->taken && !r->json)
        print_text(stdout, "tuned: %s\n", r->taken);
    if (status == STATUS_OK && r->probe.asked)
        run_probe_begin(&r->probe, r->launch);
    if (status == STATUS_OK)
        status = prepare(r);
    if (status == STATUS_OK)
        status = check_ensures(r);
    if (status == STATUS_OK)
        status = run_make_arrays(r);
    for (int64_t turn = 0; turn < r->repeat && status == STATUS_OK && !r->probe.stops.reached;
         turn++) {
        status = run_repetition(r, turn);
        run_probe_end(&r->probe);
    }
    if (r->probe.asked && !r->json)
        run_probe_report(&r->probe);
    if (r->probe.stops.reached)
        return status == STATUS_OK ? report_stop(r) : status;
    if (status == STATUS_OK)
        status = run_probe_status(&r->probe, &r->complaints);
    if (status == STATUS_OK && r->profile.asked)
        status = run_profiled(r);
    if (status != STATUS_OK)
        return status;
    if (r->verify)
        run_verify(r);
    status = run_write_outputs(r);
    if (status == STATUS_OK)
        status = profile_draw(&r->profile, &r->complaints);
    return status == STATUS_OK ? report(r) : status;
}

/* Refuses a place that the command does not support. */
static int check_place(const struct run *r, const struct device_asked *asked)
{
    tw_gpu g = tw_gpu_init();
    char *text = NULL;
    if (!asked->place)
        return STATUS_OK;
    if (tw_gpu_find(asked->place, &g))
        text = need_text("a run takes the GPU that is here, --device cuda; --device sim:%s "
                         "simulates what an %s runs",
                         asked->place, g.name);
    else if (!device_is(asked, "cpu") && !device_is(asked, "sim") && !names_gpu(asked->place))
        text = need_text("there are cpu, sim, cuda (the GPU that is here; cuda:1 the second), "
                         "sm_80 and up");
    else if (asked->target && !names_gpu(asked->target))
        text = need_text("the simulator runs what a GPU gets: sim:sm_80 and up, sim:h100, or "
                         "sim:cuda (the GPU that is here)");
    else if (asked->target && device_is(asked, "cpu"))
        text = need_text("cpu has no target; sim:%s simulates one", asked->target);
    int status = text ? device_refuse(asked, r->given, text) : STATUS_OK;
    free(text);
    return status;
}

/* Chooses the device. For --device sim, the kernel is compiled for a GPU and simulated. Sets
 * *device to the compilation target; NULL: the CPU engine. */
static int choose_device(struct run *r, const struct device_asked *asked, const char **device)
{
    static const char *const of_simulator[] = {"counters", "copies",       "step-limit", "suppress",
                                               "trace",    "trace-events", "trace-from", "order",
                                               "despite",  "why",          NULL};
    const struct options *o = r->given;
    static const char *const of_engine[] = {"bind", "machine-bits", NULL};
    const char *engine = options_any(o, of_engine);
    bool on_gpu = asked->place && names_gpu(asked->place);
    r->simulated = device_is(asked, "sim");
    if (engine && (on_gpu || r->simulated))
        return usage_error(&r->complaints, o->command,
                           "--%s is of the CPU engine, which does not run the kernel here", engine);
    int status = check_place(r, asked);
    if (status != STATUS_OK)
        return status;
    if (r->profile.asked && (on_gpu || r->simulated))
        return usage_error(&r->complaints, o->command,
                           "--profile is of the CPU engine; for GPUs, `tilewright explain` says "
                           "what limits a kernel");
    *device = on_gpu && asked->target ? asked->target : asked->place;
    const char *other = options_any(o, of_simulator);
    if (options_has(o, "sm") && !r->simulated)
        return usage_error(&r->complaints, o->command,
                           "--sm is a target of the simulator: --device sim:%s", asked->target);
    if (r->time_limit > 0 && on_gpu)
        return usage_error(&r->complaints, o->command,
                           "--time-limit: what runs on a GPU cannot be ended");
    if (!r->simulated)
        return other ? usage_error(&r->complaints, o->command,
                                   "--%s is for --device sim: add `--device sim` to this command",
                                   other)
                     : STATUS_OK;
    status = sim_options_read(&r->sim, o);
    if (status == STATUS_OK)
        status = trace_file_read(&r->trace, o);
    if (status == STATUS_OK)
        status = why_read(&r->why, o);
    r->sim.options.trace = r->trace.path || r->why.array ? &r->trace.options : NULL;
    *device = asked->target ? asked->target : "sim";
    r->sim.options.watch = options_has(o, "counters") ? TW_WATCH_COUNTERS : 0;
    r->sim.options.seed = options_has(o, "seed") ? (uint64_t)r->seed : 0;
    const char *despite = options_value(o, "despite"), *order = options_value(o, "order");
    r->despite = despite != NULL;
    r->worst = order && strcmp(order, "worst") == 0;
    if (despite && strcmp(despite, "race") != 0)
        return usage_error(&r->complaints, o->command, "--despite %s: expected race", despite);
    if (r->worst && !despite)
        return usage_error(&r->complaints, o->command, "--order worst goes with --despite race");
    if (despite)
        r->sim.options.watch |= TW_WATCH_RACES;
    return status;
}

static int open_and_run(struct run *r, const struct command *self)
{
    int64_t threads = 0;
    const struct options *given = r->given;
    struct device_asked asked;
    if (given->word_count != 1)
        return no_one_file(&r->complaints, self, given->word_count);
    if (!options_threads(given, &threads) ||
        !options_integer(given, "seed", 0, INT64_MAX / 2, &r->seed) ||
        !options_integer(given, "repeat", 1, 1000000, &r->repeat) ||
        !time_limit_begin(given, &r->time_limit, &r->deadline.at) ||
        device_asked_read(&asked, given) != STATUS_OK)
        return STATUS_USAGE;
    if (has_app_options(given, given->words[0]))
        return STATUS_USAGE;
    r->verify = options_has(given, "verify");
    r->print = r->json ? stderr : stdout;
    r->seconds = need_memory((size_t)r->repeat * sizeof *r->seconds);
    if (run_probe_read(&r->probe, given) != STATUS_OK ||
        profile_read(&r->profile, given, self) != STATUS_OK)
        return STATUS_USAGE;
    if (r->profile.asked && r->probe.asked)
        return usage_error(&r->complaints, self,
                           "--profile times a kernel, and --probe and --break change it: one at a "
                           "time");
    r->probe.print = &r->print;
    r->probe.deadline = &r->deadline;
    struct program_config config = {.threads = (int)threads,
                                    .bind = options_value(given, "bind"),
                                    .machine_bits = options_has(given, "machine-bits"),
                                    .told = r->probe.asked ? run_probe_take : NULL,
                                    .told_user = &r->probe,
                                    .colour = on_terminal(stderr),
                                    .print = &r->print,
                                    .deadline = &r->deadline,
                                    .device = asked.place,
                                    .complaints = &r->complaints};
    int status = program_open(&r->program, given->words[0], &config);
    if (status != STATUS_OK)
        return status;
    if (has_ptx_options(given, r->program.path))
        return STATUS_USAGE;
    bool chooses = program_is_family(&r->program);
    if (!chooses && options_has(given, "store") && !options_has(given, "tuned"))
        return usage_error(&r->complaints, self, "--store is where --tuned looks: give that too");
    if (!chooses &&
        (!program_kernel(&r->program, self) || chosen_refuse(&r->program, given) != STATUS_OK))
        return STATUS_USAGE;
    status = choose_device(r, &asked, &r->target);
    if (status == STATUS_OK && chooses) {
        status =
            chosen_begin(&r->chosen, &r->program, given, r->target, device_asked_model(&asked));
        r->kernel = r->chosen.any;
    } else if (status == STATUS_OK) {
        status = take_kernel(r, r->target);
    }
    if (status == STATUS_OK)
        status = make_launch(r);
    return status == STATUS_OK ? run_steps(r) : status;
}

static int run_kernel(const struct command *self, const struct options *given, bool explains)
{
    struct options own = *given;
    struct run r = {.given = &own,
                    .seed = 1,
                    .repeat = 1,
                    .json = options_has(given, "json"),
                    .explains = explains,
                    .profile.asked = explains};
    own.complaints = &r.complaints;
    int status = open_and_run(&r, self);
    if (r.complaints.status == TW_CANCELLED)
        status = STATUS_FAILED;
    if (r.json && !r.reported)
        report_failure(&r);
    for (int i = 0; i < r.array_count; i++) {
        free(r.arrays[i].array.data);
        free(r.arrays[i].before);
        free(r.arrays[i].after);
        free(r.arrays[i].in_turn);
        free(r.arrays[i].in);
        free(r.arrays[i].out);
    }
    free(r.arrays);
    free(r.seconds);
    free(r.view);
    wrong_values_free(&r.wrong);
    free(r.taken);
    free(r.counters);
    free(r.processor);
    why_free(&r.why);
    run_probe_free(&r.probe);
    free(r.found_json);
    free(r.found_report);
    sim_options_free(&r.sim);
    chosen_free(&r.chosen);
    program_close(&r.program);
    complaints_free(&r.complaints);
    return status;
}

int run_to_explain(const struct command *self, const struct options *given)
{
    return run_kernel(self, given, true);
}

static int run_run(const struct command *self, const struct options *given)
{
    if (is_app(given))
        return app_run(self, given, false);
    if (given->word_count && is_ptx_file(given->words[0]))
        return run_ptx(self, given);
    return run_kernel(self, given, false);
}

static const struct option_spec run_options[] = {
    OPTION_GROUP("Values"),
    {.name = "in",
     .values = 1,
     .value = "NAME=FILE",
     .help = "array parameter from a .npy file; several: a=A.npy,b=B.npy"},
    OPTION_SET,
    OPTION_SMS,
    OPTION_TUNE,
    OPTION_TYPE,
    {.name = "fill",
     .values = 1,
     .value = "[NAME=]KIND",
     .help = "for arrays without --in, without NAME for the const ones: rand (uniform in\n±0.5, "
             "integers 0 to 7), zero, iota (0, 1, 2, …), ones, wide (floats up to\n±100, each "
             "second row close to 100; i8 and u8 of all values), negative or\npositive (each "
             "element), extreme (the least and largest integers), special (NaN,\ninfinities, ±0, "
             "subnormal and largest floats, among random ones), or starts (of\nrows: integers that "
             "ascend from 0, some equal). rand keeps indices within what\nthey index, and makes "
             "starts where the kernel reads S[r] and S[r + 1]"},
    {.name = "seed",
     .values = 1,
     .value = "N",
     .help = "for rand (default 1); if given, also of the order of warps on sim"},
    {.name = "out",
     .letter = 'o',
     .values = 1,
     .value = "NAME=FILE",
     .help = "keeps an array the kernel writes as .npy; PTX: INDEX=FILE"},
    {.name = "verify",
     .help =
         "compare with `ensures`, and then again with other values in those of its arrays that\n"
         "have no --fill; status 1 if values are wrong"},
    OPTION_GROUP("Device and run"),
    {.name = "device",
     .values = 1,
     .value = "DEVICE",
     .help = "cpu (default); sim: the simulator, which runs the PTX that a GPU would get, for\n"
             "sm_80, or another target with sim:sm_90 or sim:h100; cuda: an NVIDIA GPU,\n"
             "where the driver is installed, cuda:1 the second; sm_90: there too,\n"
             "compiled for that target. PTX: sim (default) or cuda; a target is what\n"
             "CUDA C is compiled for, or PTX assembled for with --counters"},
    OPTION_TUNED,
    OPTION_STORE,
    OPTION_SAME_BITS,
    OPTION_THREADS,
    OPTION_BIND,
    OPTION_MACHINE_BITS,
    {.name = "repeat", .values = 1, .value = "N", .help = "run N times and print the median time"},
    {.name = "time-limit",
     .values = 1,
     .value = "TIME",
     .help = "ends the command, whatever it is doing, status 1; not on a GPU (default: no\n"
             "limit)"},
    OPTION_IMPORT,
    OPTION_WATCH,
    OPTION_JSON,
    OPTION_GROUP("To see values inside"),
    OPTIONS_PROBE,
    OPTION_GROUP("To see where the time goes"),
    OPTIONS_PROFILE,
    OPTION_GROUP("On the simulator"),
    OPTION_COUNTERS,
    OPTIONS_TRACE,
    OPTION_WHY,
    {.name = "despite",
     .values = 1,
     .value = "race",
     .help = "sim: runs a kernel that `check` refuses for its races, and reports them"},
    OPTION_ORDER,
    OPTION_COPIES,
    OPTION_STEP_LIMIT,
    OPTION_SUPPRESS,
    OPTION_GROUP("PTX and CUDA C"),
    OPTIONS_PTX_LAUNCH,
    OPTIONS_COMPILER,
    OPTION_GROUP("Programs, after -- (and --kernel, --device, --seed, --step-limit, --suppress, "
                 "--threads, --json)"),
    OPTION_APP_LAUNCH,
    OPTION_APP_SKIP,
    OPTION_APP_KEEP_GOING,
    OPTION_APP_STUB,
    OPTION_END,
};

const struct command command_run = {
    .name = "run",
    .arguments = "FILE[:KERNEL] [OPTIONS] | [OPTIONS] -- PROGRAM [ARGUMENT]…",
    .summary = "run a kernel on .npy files or generated data",
    .about =
        "Compiles a kernel and runs it. Sizes that are not set are inferred from the arrays. "
        "Arrays\n"
        "that the kernel writes start as zeros, unless --in gives them; without --out, small "
        "ones are\n"
        "printed by rows and large ones summed up. A file with one kernel needs no :KERNEL.\n"
        "If an option is repeated for the same name, the last one counts; --fill of one array\n"
        "overrides the general one.\n"
        "bf16, tf32, e4m3 and e5m2 arrays are read from and written to files of f4, since NumPy\n"
        "has no such types.\n"
        "FILE may be a family: a file that declares one, a folder, or the name of one that ships.\n"
        "Then the kernel and the tuned values that are the fastest for the sizes run, as measured "
        "or as\n"
        "predicted (docs/families.md); --tuned is not needed.\n"
        "FILE may be PTX of any compiler, or CUDA C (k.cu, k.cuh), which nvcc or clang compiles\n"
        "first: then --grid and --block give the launch, and --arg each argument. It runs on the\n"
        "simulator, or with --device cuda on the GPU. The arrays that the kernel changed are\n"
        "printed.\n"
        "After `--` comes a CUDA program that nvcc built: without a GPU, its kernels run on "
        "the\n"
        "simulator, and a table counts what each kernel did.",
    .options = run_options,
    .examples =
        "  tilewright run kernels/matmul/shared.tile --in a=A.npy --in b=B.npy --out c=C.npy\n"
        "  tilewright run kernels/matmul/tuned.tile --set m=512,n=512,k=512 --fill rand --type f16 "
        "--verify\n"
        "  tilewright run matmul --set m=16,n=1024,k=1024 --fill rand --type f16 --verify\n"
        "  tilewright run kernels/matmul/tuned.tile --set m=64,n=64,k=64 --fill rand --tune "
        "BM=64,BN=64\n"
        "  tilewright run kernels/fused/softmax.tile --set rows=4,cols=10 --fill iota\n"
        "  tilewright run kernels/matmul/tuned.tile --set m=512,n=512,k=512 --fill rand --profile "
        "--svg flame.svg\n"
        "  tilewright run kernels/matmul/shared.tile --device sim --set m=64,n=64,k=64 --fill rand "
        "--counters\n"
        "  tilewright run kernels/cuda/block_sum.ptx --block 256 --arg f32[1000]:ones --arg "
        "f32[1]:none --arg i32:1000 --counters\n",
    .run = run_run,
};
