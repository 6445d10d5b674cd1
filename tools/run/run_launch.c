/* Makes one launch within the time limit. */
#include "run/run.h"
#include "cli/doing.h"

#include <stdlib.h>
#include <string.h>

/* Returns whether the simulation finished and found only races. */
static bool found_only_races(const struct run *r)
{
    return r->despite && !r->found.ended && r->found.finding_count > 0;
}

tw_status run_launch(struct run *r, double *seconds)
{
    tw_status s;
    doing(r->simulated ? "simulating" : "running", tw_kernel_name(r->kernel));
    if (r->simulated) {
        r->found = tw_sim_result_init();
        s = tw_launch_simulate(r->launch, &r->sim.options, &r->found);
        *seconds = r->found.seconds;
        if (s == TW_FAULT && found_only_races(r))
            s = TW_OK;
    } else {
        double milliseconds;
        s = tw_launch_time(r->launch, 1, &milliseconds);
        *seconds = 1e-3 * milliseconds;
    }
    doing(NULL, NULL);
    return s;
}

int run_say_failed(struct run *r, tw_status s)
{
    if (s == TW_CANCELLED)
        return complain_of_time(&r->complaints, tw_kernel_name(r->kernel), r->time_limit);
    complain_library(&r->complaints, r->program.ctx, s);
    bool failed = s == TW_FAULT || s == TW_NOT_ASSUMED || s == TW_NO_MEMORY;
    return failed ? STATUS_FAILED : STATUS_USAGE;
}

void run_prepare_arrays(struct run *r, bool first)
{
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->param.is_const)
            continue;
        size_t bytes = tensor_bytes(&o->array);
        if (first)
            o->before = need_memory(bytes);
        memcpy(first ? o->before : o->array.data, first ? o->array.data : o->before, bytes);
    }
}

void run_keep_in_turn(struct run *r)
{
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->param.is_const)
            continue;
        if (!o->in_turn)
            o->in_turn = need_memory(tensor_bytes(&o->array));
        memcpy(o->in_turn, o->array.data, tensor_bytes(&o->array));
    }
}
