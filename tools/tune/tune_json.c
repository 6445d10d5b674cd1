/* Reports the results of tuning as JSON. */
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

static const char *const state_names[] = {"not measured", "refused",  "same",  "not measured",
                                          "skipped",      "measured", "failed"};

static tw_kernel *kernel_of(const struct tuning *t, int candidate)
{
    return t->members[t->candidates[candidate].member].kernel;
}

static void json_tuned(const struct tuning *t, int candidate, struct json *j)
{
    tw_tune tune = tw_tune_init();
    char value[32];
    json_open_object(j, "tune");
    for (int i = 0; tw_kernel_tune(kernel_of(t, candidate), i, &tune) == TW_OK; i++) {
        json_key(j, tune.name);
        format_scalar(value, sizeof value, t->candidates[candidate].tuned[i], TW_DTYPE_NONE);
        json_number(j, value);
    }
    json_close(j, '}');
}

static void json_occupancy(const struct tuning *t, int problem, int candidate, struct json *j)
{
    const tw_estimate *e = &trial_at(t, problem, candidate)->estimate;
    const tw_occupancy *o = &build_at(t, problem, candidate)->occupancy;
    bool loaded = o->threads > 0;
    json_put_integer(j, "shared_bytes", e->shared_bytes);
    json_put_integer(j, "registers", loaded ? o->registers : e->registers);
    if (loaded)
        json_put_integer(j, "local_bytes", o->local_bytes);
    json_put_integer(j, "resident", trial_resident(t, problem, candidate));
    json_put_real(j, "cost", e->cost);
}

static void json_trial(const struct tuning *t, int problem, int candidate, struct json *j)
{
    const struct trial *x = trial_at(t, problem, candidate);
    json_open(j, '{');
    if (t->many)
        json_put_text(j, "kernel", tw_kernel_name(kernel_of(t, candidate)));
    json_tuned(t, candidate, j);
    json_put_text(j, "result", state_names[x->state]);
    if (x->why)
        json_put_text(j, "why", x->why);
    if (x->state == TRIAL_MEASURED) {
        json_put_real(j, "ms", x->ms);
        json_put_integer(j, "samples", x->sample_count);
        if (trial_noise(x) >= 0)
            json_put_real(j, "noise_ms", trial_noise(x));
        json_put_bool(j, "stored", x->stored);
    }
    if (t->on_gpu && x->estimate.threads > 0)
        json_occupancy(t, problem, candidate, j);
    json_close(j, '}');
}

static void json_trials(const struct tuning *t, int problem, const int *order, struct json *j)
{
    const struct problem *p = &t->problems[problem];
    json_open_list(j, "candidates");
    for (int i = 0; i < t->candidate_count; i++)
        if (p->facts[t->candidates[order[i]].member] >= 0)
            json_trial(t, problem, order[i], j);
    json_close(j, ']');
}

/* Adds what a single kernel at one problem has in common with many. */
static void json_key_texts(const struct tuning *t, int problem, struct json *j)
{
    const struct problem *p = &t->problems[problem];
    const tw_tuned *key = NULL;
    for (int i = t->member_count - 1; i >= 0; i--)
        if (p->facts[i] >= 0)
            key = &p->keys[i];
    if (!t->many)
        json_put_text(j, "kernel", key->kernel);
    json_put_text(j, "device", key->device);
    if (!t->many)
        json_put_text(j, "program", key->program);
    json_put_text(j, "types", key->types);
    json_put_text(j, "shape", key->shape);
    json_put_text(j, "sizes", key->sizes);
}

/* A single kernel at one problem. */
static void json_alone(const struct tuning *t, struct json *j)
{
    int measured;
    const struct problem *p = &t->problems[0];
    int *order = trials_ranking(t, p, &measured);
    json_open(j, '{');
    json_key_texts(t, 0, j);
    json_put_text(j, "store", t->store ? tw_store_path(t->store) : NULL);
    json_put_real(j, "seconds", seconds_now() - t->started);
    json_put_bool(j, "interrupted", t->interrupted);
    json_put_bool(j, "verified", p->verified);
    json_put_integer(j, "within_noise", trials_within_noise(p, order, measured));
    json_put_integer(j, "forbidden", t->members[0].forbidden);
    json_trials(t, 0, order, j);
    json_close(j, '}');
    json_end(j);
    free(order);
}

static void json_winner(const struct tuning *t, int problem, struct json *j)
{
    const struct problem *p = &t->problems[problem];
    json_key(j, "winner");
    if (p->best < 0) {
        json_string(j, NULL);
        return;
    }
    const struct trial *x = &p->trials[p->best];
    json_open(j, '{');
    json_put_text(j, "kernel", tw_kernel_name(kernel_of(t, p->best)));
    json_tuned(t, p->best, j);
    json_put_real(j, "ms", x->ms);
    if (p->operations > 0)
        json_put_real(j, "tflops", p->operations / x->ms * 1e-9);
    json_close(j, '}');
}

static void json_problem(const struct tuning *t, int problem, struct json *j)
{
    int measured;
    const struct problem *p = &t->problems[problem];
    int *order = trials_ranking(t, p, &measured);
    json_open(j, '{');
    if (*p->shape.group)
        json_put_text(j, "group", p->shape.group);
    json_key_texts(t, problem, j);
    json_put_real(j, "seconds", p->seconds);
    json_put_bool(j, "verified", p->verified);
    json_put_integer(j, "within_noise", trials_within_noise(p, order, measured));
    json_winner(t, problem, j);
    json_trials(t, problem, order, j);
    json_close(j, '}');
    free(order);
}

static void json_begin(struct tuning *t)
{
    struct json *j = &t->json;
    json_open(j, '{');
    json_put_text(j, "family", t->family);
    json_put_text(j, "store", t->store ? tw_store_path(t->store) : NULL);
    json_open_list(j, "kernels");
    for (int i = 0; i < t->member_count; i++)
        json_string(j, tw_kernel_name(t->members[i].kernel));
    json_close(j, ']');
    json_open_list(j, "problems");
    t->headed = true;
}

void json_report(struct tuning *t)
{
    if (!t->many) {
        json_alone(t, &t->json);
        return;
    }
    if (!t->headed)
        json_begin(t);
    for (int i = 0; i < t->problem_count; i++)
        json_problem(t, i, &t->json);
}

void report_end(struct tuning *t)
{
    if (!t->to_json || !t->headed)
        return;
    struct json *j = &t->json;
    json_close(j, ']');
    json_put_real(j, "seconds", seconds_now() - t->started);
    json_put_bool(j, "interrupted", t->interrupted);
    json_close(j, '}');
    json_end(j);
}
