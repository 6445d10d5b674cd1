/* Simulates the kernel's PTX with all checks. This is the same text that a GPU gets, for targets
 * with different lowerings, on sizes that cover edges, with warps in turn and in random orders,
 * and with asynchronous copies that complete at once or as late as possible. Compares the values
 * with `ensures`. */
#include "check/check.h"
#include "cli/tensor.h"

#include <stdlib.h>
#include <string.h>

enum {
    OTHERS = 4,      /* other configurations, in a ragged shape */
    ORDERS = 3,      /* of warps, for the default configuration, */
    PATIENCE = 4,    /* seconds; after that, only the last order */
    SMALL = 1 << 18, /* bytes of all arrays of a run past its tiles, */
    MORE = 1 << 20   /* and with a size next to a constant of the kernel */
};

static const char *const targets[] = {"sm_80", "sm_90"};

static bool has_statics(tw_kernel *k)
{
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (p.is_static)
            return true;
    return false;
}

/* Handles a target's refusal of a kernel that the CPU engine ran: of the kernel itself, or of
 * these sizes. */
static void take_refusal(struct check *c, tw_status s, tw_status on_cpu, const char *sizes)
{
    if (on_cpu == TW_OK && (s == TW_BAD_PROGRAM || s == TW_BAD_ARGUMENT))
        check_target_refuses(c, s == TW_BAD_ARGUMENT || has_statics(c->kernel) ? sizes : NULL,
                             s == TW_BAD_ARGUMENT);
}

/* Adds a note to "c[3][0] in global memory is read and was never written", if the caller may
 * have to initialise the array. */
static void note_output(struct check *c, const tw_sim_finding *f)
{
    tw_param p = tw_param_init();
    const char *array = f->access_count ? f->accesses[0]->variable : NULL;
    for (int i = 0; tw_kernel_param(c->kernel, i, &p) == TW_OK; i++) {
        if (!is_output(&p) || !array || strcmp(p.name, array) != 0)
            continue;
        char *note = need_text("if the caller is to give zeros there, say --fill %s=zero", p.name);
        findings_note(&c->findings, note);
        free(note);
    }
}

static void take_finding(struct check *c, const tw_sim_finding *f, const char *where)
{
    bool is_new = findings_take_simulated(&c->findings, f, c->name, where);
    if (is_new && c->wrong && !c->on_zeros)
        findings_note(&c->findings, "this may cause the wrong values");
    if (is_new && c->inputs == CHECK_ASCENDING)
        check_note_ascending(c);
    if (is_new && f->code == TW_CODE_UNINITIALISED && !c->on_zeros)
        note_output(c, f);
}

/* Returns whether the accesses are to an array or tile of the program. The compiler's own memory
 * between two layouts is excluded, because lanes may write the same value there. */
static bool is_of_program(const tw_sim_finding *f)
{
    return f->access_count && f->accesses[0]->rank > 0;
}

/* Adds warnings, which do not change the status. */
static void take_same_values(struct check *c, const tw_sim_result *result, const char *where)
{
    for (int i = 0; i < result->finding_count; i++) {
        const tw_sim_finding *f = &result->findings[i];
        if (f->code != TW_CODE_SAME_VALUE || !is_of_program(f))
            continue;
        bool is_new = findings_take_simulated(&c->findings, f, c->name, where);
        if (is_new && c->inputs == CHECK_ASCENDING)
            check_note_ascending(c);
        if (is_new && finding_of_two_blocks(f))
            findings_note(&c->findings,
                          "two blocks write the same elements: is the index right? If it "
                          "is, each could have elements of its own");
    }
}

struct simulated_run {
    const char *target;
    struct operands *arrays;
    const char *sizes; /* as text */
    int shape;
    uint64_t seed;
    bool late;
    bool hangs; /* on the CPU engine, so it is not simulated */
};

static void take_result(struct check *c, tw_status s, const tw_sim_result *result,
                        const struct simulated_run *run, const char *where)
{
    if (s == TW_CANCELLED) {
        char *order = need_text(":%s --seed %d%s", run->target, (int)run->seed,
                                run->late ? " --copies late" : "");
        check_take_timeout(c, where, order);
        free(order);
    } else if (s == TW_FAULT) {
        for (int i = 0; i < result->finding_count; i++)
            take_finding(c, &result->findings[i], where);
        check_worse(c, STATUS_FAILED, TW_FAULT);
    } else if (s == TW_OK) {
        c->simulated++;
        check_target_takes(c);
        take_same_values(c, result, where);
        if (tw_kernel_has_ensures(c->kernel) && !c->wrong) /* wrong values were already reported */
            check_verify(c, run->arrays, run->shape, where);
    } else if (!check_refuses_sizes(s) || result->ended) {
        check_take_messages(c, s, NULL, where);
    }
}

static tw_status simulate_once(struct check *c, const struct simulated_run *run)
{
    tw_sim_options options = c->sim.options;
    options.watch = TW_WATCH_CHECKS | (check_watches_outputs(c) ? TW_WATCH_OUTPUTS : 0);
    options.seed = run->seed;
    options.late = run->late;
    tw_sim_result result = tw_sim_result_init();
    char *where = need_text("%s%s%s, seed %d, copies %s", run->sizes, *run->sizes ? ", " : "",
                            run->target, (int)run->seed, run->late ? "late" : "early");
    progress_step(&c->progress, "%s: simulation %d, %s", c->name, c->simulated + 1, run->target);
    check_set_deadline(c, true);
    tw_status s = run->hangs ? TW_CANCELLED : tw_launch_simulate(c->launch, &options, &result);
    check_set_deadline(c, false);
    take_result(c, s, &result, run, where);
    free(where);
    return s;
}

/* Runs the shape on the CPU engine, with the target's tuned values, to find out whether an
 * `assume` is false for its sizes; the PTX may then do anything. */
static tw_status run_on_cpu(struct check *c, int shape)
{
    tw_kernel *kernel = c->kernel;
    tw_launch *launch = c->launch;
    struct operands arrays = {0};
    char *sizes = NULL;
    c->kernel = c->cpu_kernel;
    c->launch = c->cpu_launch;
    tw_status s = space_apply(&c->space, c->launch);
    if (s == TW_OK)
        s = check_make_run(c, shape, &arrays, &sizes);
    if (s == TW_OK)
        s = check_run_once(c);
    operands_free(&arrays);
    free(sizes);
    c->kernel = kernel;
    c->launch = launch;
    return s;
}

static bool too_large(const struct check *c, int shape, const struct operands *arrays)
{
    size_t bytes = 0;
    for (int i = 0; i < arrays->count; i++)
        bytes += tensor_bytes(&arrays->list[i].array);
    return c->pin.is_large ? bytes > MORE : shape >= CHECK_PAST && bytes > SMALL;
}

/* Simulates a shape in turn and in a random order with copies at once, then in a random order
 * with copies late. Fewer `orders` mean the last ones of these. */
static tw_status simulate_shape(struct check *c, const char *target, int shape, int orders)
{
    tw_status s = TW_OK;
    if (!orders)
        return s;
    if (seconds_now() - c->simulated_from > PATIENCE || (c->wrong && !c->on_zeros))
        orders = 1;
    tw_status on_cpu = run_on_cpu(c, shape);
    if (on_cpu == TW_NOT_ASSUMED)
        return s;
    if (on_cpu == TW_CANCELLED)
        c->deadline.at = 0; /* to describe how to repeat the run */
    for (int turn = ORDERS - orders; turn < ORDERS && c->status == STATUS_OK && s != TW_BAD_PROGRAM;
         turn++) {
        struct operands arrays;
        char *sizes;
        s = check_make_run(c, shape, &arrays, &sizes);
        if (s == TW_CANCELLED)
            check_take_messages(c, s, NULL, sizes);
        if (s == TW_OK && (on_cpu == TW_CANCELLED || !too_large(c, shape, &arrays)))
            s = simulate_once(
                c, &(struct simulated_run){.target = target,
                                           .arrays = &arrays,
                                           .sizes = sizes,
                                           .shape = shape,
                                           .seed = turn ? (uint64_t)(turn + ORDERS * shape) : 0,
                                           .late = turn == ORDERS - 1,
                                           .hangs = on_cpu == TW_CANCELLED});
        take_refusal(c, s, on_cpu, sizes);
        operands_free(&arrays);
        free(sizes);
    }
    return s;
}

/* Counts this target's configurations; targets differ in their tuned values. */
static int count_configurations(struct check *c)
{
    int count = 0;
    for (bool more = space_next(&c->space, true); more && count < CHECK_CONFIGURATIONS;
         more = space_next(&c->space, false))
        count++;
    return count;
}

/* Adds the warnings of passes for GPU kernels only. The runs report refusals. */
static void take_warnings(struct check *c, const char *target)
{
    tw_status s = tw_launch_check(c->launch);
    if (s == TW_CANCELLED)
        check_take_messages(c, s, NULL, target);
    if (s != TW_OK || !*tw_context_messages(c->program->ctx))
        return;
    char *configuration = space_text(&c->space);
    char *where = need_text("%s%s%s", configuration, *configuration ? ", " : "", target);
    check_take_messages(c, s, NULL, where);
    free(where);
    free(configuration);
}

/* Returns the number of warp orders; 0: the shape is for the CPU engine alone. */
static int orders_of(struct check *c, int shape)
{
    if (shape >= CHECK_EVEN && !c->not_past)
        return 0;
    if (shape >= CHECK_PAST)
        return space_is_default(&c->space) && check_needs_past(c, shape);
    if (shape < CHECK_SIMULATED && space_is_default(&c->space))
        return ORDERS;
    return shape == CHECK_RAGGED;
}

static void simulate_pinned(struct check *c, const char *target)
{
    for (int i = 0; i < c->pin_count && c->status == STATUS_OK; i++) {
        c->pin = c->pins[i];
        simulate_shape(c, target, CHECK_PINNED, 1);
    }
    c->pin = (struct check_pin){0};
}

static void simulate_ascending(struct check *c, const char *target)
{
    if (c->ascending_shape < 0 || c->status != STATUS_OK)
        return;
    c->inputs = CHECK_ASCENDING;
    c->only = c->ascending;
    simulate_shape(c, target, c->ascending_shape, 1);
    c->inputs = CHECK_RANDOM;
    c->only = NULL;
}

/* Simulates the default configuration of each type in all shapes, and some others in a ragged
 * one. Stops at the first failure. */
static void simulate_configurations(struct check *c, const char *target)
{
    int step = c->all ? 1 : count_configurations(c) / OTHERS + 1, index = 0;
    for (bool more = space_next(&c->space, true); more && c->status == STATUS_OK;
         more = space_next(&c->space, false), index++) {
        if ((!space_is_default(&c->space) && index % step != 0) ||
            space_apply(&c->space, c->launch) != TW_OK)
            continue;
        take_warnings(c, target);
        tw_status s = TW_OK;
        for (int shape = 0; shape < CHECK_SHAPES && c->status == STATUS_OK; shape++) {
            s = simulate_shape(c, target, shape, orders_of(c, shape));
            if (s == TW_BAD_PROGRAM && !has_statics(c->kernel))
                break; /* other sizes fail as well */
        }
        if (space_is_default(&c->space) && c->status == STATUS_OK)
            simulate_pinned(c, target);
        if (space_is_default(&c->space))
            simulate_ascending(c, target);
    }
}

/* Sets `out` to the targets that the kernel is simulated for: the one that its head names, or both. Returns their
 * number. *named: the head names it. */
static int find_targets(tw_kernel *k, const char **out, bool *named)
{
    tw_kernel *own = NULL;
    int count = 0;
    *named = tw_kernel_for_target(k, "sim", &own) == TW_OK &&
             strcmp(tw_kernel_target(own), targets[0]) != 0;
    if (*named)
        out[count++] = tw_kernel_target(own);
    for (size_t i = 0; !*named && i < sizeof targets / sizeof *targets; i++)
        out[count++] = targets[i];
    return count;
}

static void simulate_for(struct check *c, const char *target)
{
    tw_status s = tw_kernel_for_target(c->cpu_kernel, target, &c->kernel);
    if (s == TW_OK)
        s = tw_launch_new(c->kernel, &c->launch);
    if (s != TW_OK) {
        check_take_messages(c, s, NULL, target);
        return;
    }
    if (space_open(&c->space, c->kernel, c->given) == STATUS_OK)
        simulate_configurations(c, target);
    space_close(&c->space);
    tw_launch_free(c->launch);
}

/* Also simulates kernels whose values are wrong on the CPU, because the simulator may find the
 * cause: a race, or two blocks that write the same elements. If they are right on zeroed outputs
 * only, it finds the access that reads these. */
void check_simulated(struct check *c)
{
    tw_kernel *kernel = c->kernel;
    tw_launch *launch = c->launch;
    struct space space = c->space;
    c->cpu_kernel = kernel;
    c->cpu_launch = launch;
    c->simulated_from = seconds_now();
    c->status = STATUS_OK;
    c->outcome = TW_OK;
    const char *asked[sizeof targets / sizeof *targets];
    bool named;
    int count = find_targets(kernel, asked, &named);
    for (int i = 0; i < count && c->status == STATUS_OK; i++)
        simulate_for(c, asked[i]);
    c->kernel = kernel;
    const char *other = !named && c->status == STATUS_OK ? check_other_target(c) : NULL;
    if (other)
        simulate_for(c, other);
    c->kernel = kernel;
    c->launch = launch;
    c->space = space;
    if (c->wrong)
        check_worse(c, STATUS_FAILED, TW_WRONG_VALUES);
    if (c->status == STATUS_OK)
        check_warn_of_refused(c, named);
}
