/* Chooses the configurations that a check runs on the CPU engine, with their sizes and inputs. */
#include "check/check.h"

/* Without --all: number of configurations other than the default that run past their tiles,
 * evenly chosen; and the largest number of configurations that are all run. */
enum { RUNS_OF_OTHERS = 8, EACH = 64 };

static void run_pinned(struct check *c)
{
    check_find_pins(c);
    for (int i = 0; i < c->pin_count && c->status == STATUS_OK; i++) {
        c->pin = c->pins[i];
        check_run_shape(c, CHECK_PINNED);
    }
    c->pin = (struct check_pin){0};
}

/* Runs the default configuration of each type in all shapes, up to EACH configurations in a
 * ragged shape, and some of them past their tiles. Stops at the first failure. */
void check_runs(struct check *c)
{
    c->not_past = false;
    int index = 0, step = c->all ? 1 : c->configurations / RUNS_OF_OTHERS + 1;
    for (bool more = space_next(&c->space, true);
         more && index < c->configurations && c->status == STATUS_OK;
         more = space_next(&c->space, false), index++) {
        bool is_default = space_is_default(&c->space);
        bool chosen = is_default || index % step == 0;
        if (!chosen && c->configurations > EACH)
            continue;
        if (space_apply(&c->space, c->launch) != TW_OK)
            continue;
        for (int shape = 0;
             shape < (c->not_past ? CHECK_SHAPES : CHECK_EVEN) && c->status == STATUS_OK; shape++) {
            progress_step(&c->progress, "%s: run %d", tw_kernel_name(c->kernel), c->runs + 1);
            if (is_default || index == 0 || shape == CHECK_RAGGED ||
                (chosen && shape >= CHECK_PAST))
                check_run_shape(c, shape);
        }
        if (is_default && c->status == STATUS_OK)
            run_pinned(c);
        if (is_default && c->status == STATUS_OK)
            check_other_inputs(c);
        if (is_default && c->status == STATUS_OK)
            check_ascending_inputs(c);
    }
    if (!c->runs && c->not_run && !c->to_json)
        complain(NULL, "%s is not run%s: %s", tw_kernel_name(c->kernel),
                 c->unsuited ? ", no sizes tried suit it (--set gives others)" : "", c->not_run);
}
