#include "api/objects.h"

#include <stdio.h>

#define ENTRY(row, type, name, parameters) .name = row##_##name,

const struct executor executor_host = {
    .name = "the CPU", .managed = TW_ON_HOST, .in_place = true, EXECUTOR_FUNCTIONS(ENTRY, host)};

const struct executor executor_gpu = {.managed = TW_ON_DEVICE,
                                      .lowers = true,
                                      .streams = true,
                                      .has_model = true,
                                      EXECUTOR_FUNCTIONS(ENTRY, gpu)};

tw_status executor_run(const struct executor *e, struct run_call *call)
{
    tw_launch *l = call->launch;
    struct cpu_argument *given = NULL;
    if (e->in_place || l->keeps_inputs) {
        tw_status status = launch_arguments(l, &given);
        if (status == TW_OK)
            status = launch_keep_inputs(l, given);
        if (status != TW_OK)
            return status;
    }
    return e->run(call, given);
}

tw_status launch_needs_ptx(const tw_launch *l, const char *call, const char *lacks)
{
    char why[160];
    if (!l)
        return TW_BAD_ARGUMENT;
    if (l->kernel->executor->lowers)
        return TW_OK;
    snprintf(why, sizeof why, "%s: the target `cpu` has %s; ask tw_kernel_for_target for a GPU's",
             call, lacks);
    return context_refuse(l->ctx, why);
}

tw_status launch_needs_host(const tw_launch *l, const char *why)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    return l->kernel->executor->lowers ? context_refuse(l->ctx, why) : TW_OK;
}
