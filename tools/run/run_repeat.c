/* Runs the launches of --repeat, and those that a profile needs. */
#include "run/run.h"
#include "cli/doing.h"

#include <stdlib.h>
#include <string.h>

/* Runs the launch with the warps in turn, keeps its outputs for comparison, and restores the
 * arrays. */
static tw_status run_in_turn_first(struct run *r)
{
    tw_sim_options chosen = r->sim.options;
    r->sim.options.seed = 0;
    r->sim.options.order_count = 0;
    double seconds;
    tw_status s = run_launch(r, &seconds);
    r->sim.options = chosen;
    run_keep_in_turn(r);
    run_prepare_arrays(r, false);
    return s;
}

static int ask_why(struct run *r)
{
    const struct given_array *found = NULL;
    char *names = NULL;
    for (int i = 0; i < r->array_count; i++) {
        const struct given_array *a = &r->arrays[i];
        const char *view = a->param.view;
        append_text(&names, "%s`%s`", names ? ", " : "", a->param.name);
        if (strcmp(a->param.name, r->why.array) == 0 ||
            (!found && view && strcmp(view, r->why.array) == 0))
            found = a;
    }
    int status = why_ask(&r->why, found ? found->param.name : NULL, found ? &found->array : NULL,
                         names, r->given, &r->trace.options);
    free(names);
    return status;
}

/* Records the origin of a value. If a different block wrote the value than the one that was
 * traced, runs the kernel again and traces that block. */
static tw_status take_why(struct run *r, double *seconds)
{
    tw_status s = TW_OK;
    if (!options_has(r->given, "in-block") && why_elsewhere(r->found.why, &r->trace.options)) {
        run_prepare_arrays(r, false);
        s = run_launch(r, seconds);
    }
    why_keep(&r->why, r->found.why, &r->trace.options, r->json);
    return s;
}

int run_repetition(struct run *r, int64_t number)
{
    bool again = r->verify && run_any_unwritten(r), asks = r->why.array && number == 0;
    int status = asks ? ask_why(r) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    if (r->repeat > 1 || again || r->despite || r->why.array || r->profile.asked)
        run_prepare_arrays(r, number == 0);
    tw_status s = TW_OK;
    if (r->worst)
        s = run_worst_order(r, &r->seconds[number]);
    else if (r->despite && (r->sim.options.seed || r->sim.options.order_count))
        s = run_in_turn_first(r);
    if (s == TW_OK && !r->worst)
        s = run_launch(r, &r->seconds[number]);
    if (s == TW_OK && asks)
        s = take_why(r, &r->seconds[number]);
    fflush(stdout);
    status = trace_file_write(&r->trace, &r->found, &r->complaints);
    r->sim.options.trace = NULL;  /* of the first run alone */
    if (r->probe.stops.reached) { /* which ended the run */
        r->deadline.at = 0;
        return STATUS_OK;
    }
    return s == TW_OK ? status : run_say_failed(r, s);
}

/* Runs once on the same array contents, without output of the kernel. *seconds: of the run. */
static tw_status run_quietly(struct run *r, bool profiled, double *seconds)
{
    double milliseconds = 0;
    run_prepare_arrays(r, false);
    if (!profiled) {
        tw_status s = tw_launch_time(r->launch, 1, &milliseconds);
        *seconds = 1e-3 * milliseconds;
        return s;
    }
    r->profile.result = tw_profile_init();
    tw_status s = tw_launch_profile(r->launch, 1, &r->profile.result);
    *seconds = r->profile.result.seconds;
    return s;
}

/* Finds the roofs after the last profile, whose texts stay valid. */
static tw_status find_roofs(struct run *r)
{
    bool measures = r->explains && options_has(r->given, "measure");
    r->profile.roofs = tw_cpu_roofs_init();
    tw_status s = tw_context_roofs(r->program.ctx, measures, &r->profile.roofs);
    free(r->processor);
    r->processor = s == TW_OK ? need_text("%s", r->profile.roofs.processor) : NULL;
    r->profile.roofs.processor = r->processor;
    return s;
}

int run_profiled(struct run *r)
{
    enum { LEAST_PAIRS = 3, MOST_PAIRS = 12 };
    static const double patience = 0.5, close_enough = 1.05;
    double plain, profiled, least = 0, least_plain = 0, end = seconds_now() + patience;
    FILE *print = r->print;
    tw_status s = TW_OK;
    doing("running", tw_kernel_name(r->kernel));
    r->print = NULL; /* the runs before have printed */
    for (int pair = 0; pair < MOST_PAIRS && s == TW_OK; pair++) {
        s = run_quietly(r, false, &plain);
        if (s == TW_OK)
            s = run_quietly(r, true, &profiled);
        least_plain = pair == 0 || plain < least_plain ? plain : least_plain;
        least = pair == 0 || profiled < least ? profiled : least;
        bool typical = pair + 1 >= LEAST_PAIRS && profiled <= close_enough * least;
        if (typical || seconds_now() > end)
            break;
    }
    r->print = print;
    doing(NULL, NULL);
    r->profile.plain = least_plain;
    if (s == TW_OK)
        s = find_roofs(r);
    return s == TW_OK ? STATUS_OK : run_say_failed(r, s);
}
