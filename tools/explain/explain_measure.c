/* Implements explain --measure: runs the same kernels on this machine's GPU. */
#include "explain/explained.h"
#include "cli/operands.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5 };
static const double round_seconds = 0.05; /* approximate length of a round */
enum { MOST_RUNS = 1000 };

/* Returns the median time of rounds of back-to-back runs; 0 if a run fails. */
static tw_status time_launch(tw_launch *l, double *seconds)
{
    double once, rounds[ROUNDS];
    tw_status s = tw_launch_time(l, 1, &once);
    if (s == TW_OK)
        s = tw_launch_time(l, 2, &once);
    double wanted = once > 0 ? round_seconds / (once * 1e-3) : 1;
    int runs = wanted > MOST_RUNS ? MOST_RUNS : wanted < 2 ? 2 : (int)wanted;
    for (int i = 0; i < ROUNDS && s == TW_OK; i++) {
        s = tw_launch_time(l, runs, &rounds[i]);
        rounds[i] *= 1e-3;
    }
    *seconds = s == TW_OK ? median_of(rounds, ROUNDS) : 0;
    return s;
}

static void cannot(struct explain *x, tw_status s)
{
    tw_message m = tw_message_init();
    bool said = tw_context_message(x->ctx, 0, &m);
    if (!x->not_measured)
        x->not_measured = need_text("%s", said ? m.text : tw_status_text(s));
}

static void measure_row(struct explain *x, struct explain_row *r)
{
    tw_kernel *k;
    tw_launch *l = NULL;
    struct operands arrays = {0};
    tw_status s = tw_kernel_for_target(r->kernel, "cuda", &k);
    if (s != TW_OK) {
        cannot(x, s);
        return;
    }
    if (explain_launch(x, r, k, &l) != STATUS_OK)
        return;
    s = operands_make(&arrays, l, k, 1, 1);
    if (s == TW_OK)
        s = time_launch(l, &r->measured);
    if (s != TW_OK)
        cannot(x, s);
    operands_forget(l, k);
    operands_free(&arrays);
    tw_launch_free(l);
}

void explain_measure(struct explain *x)
{
    tw_device d = tw_device_init();
    tw_gpu here = tw_gpu_init();
    if (!device_named("cuda", &d)) {
        x->not_measured = need_text("no GPU is here");
        return;
    }
    if (!tw_gpu_find(d.model, &here) || strcmp(here.name, x->gpu.name) != 0)
        x->measured_on = need_text("%s", d.model);
    for (int i = 0; i < x->row_count && !x->not_measured; i++)
        if (x->rows[i].e.launches)
            measure_row(x, &x->rows[i]);
}
