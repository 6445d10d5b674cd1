/* Keeps results in the store. */
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

static const double keep_seconds = 0.2; /* a transaction waits for the disk */

/* Returns whether results are kept: a single kernel without tuned values leaves nothing to choose. */
static bool keeps(const struct tuning *t)
{
    return !options_has(t->given, "no-store") &&
           (t->many || tw_kernel_tune_count(t->members[0].kernel) > 0);
}

int keep_open(struct tuning *t)
{
    const char *path = options_value(t->given, "store");
    if (!keeps(t))
        return STATUS_OK;
    tw_status s = t->only_stored ? tw_store_open_existing(t->ctx, path, &t->store)
                                 : tw_store_open(t->ctx, path, &t->store);
    if (s == TW_OK)
        return STATUS_OK;
    complain_library(NULL, t->ctx, s);
    if (!t->only_stored)
        complain_more(NULL, "--no-store tunes without keeping what is found");
    return STATUS_USAGE;
}

/* --- what is there --- */

static void take_stored(struct trial *x, const tw_tuned *row)
{
    if (x->state != TRIAL_NEW)
        return;
    x->stored = true;
    x->stored_samples = row->samples;
    x->status = row->status;
    x->ms = row->milliseconds;
    x->state = row->status == TW_OK ? TRIAL_MEASURED : TRIAL_FAILED;
    x->why = *row->why ? need_text("%s", row->why) : NULL;
}

static int candidate_of(const struct tuning *t, int member, const char *tune)
{
    const struct member *m = &t->members[member];
    for (int i = m->first; i < m->first + m->count; i++)
        if (strcmp(t->candidates[i].text, tune) == 0)
            return i;
    return -1;
}

static void take_row(struct tuning *t, int member, const tw_tuned *row)
{
    int candidate = candidate_of(t, member, row->tune);
    for (int i = 0; i < t->problem_count && candidate >= 0; i++)
        if (t->problems[i].facts[member] >= 0 &&
            strcmp(t->problems[i].keys[member].sizes, row->sizes) == 0) {
            take_stored(trial_at(t, i, candidate), row);
            if (row->status == TW_OK)
                build_at(t, i, candidate)->verified = true;
        }
}

/* Returns the key of the member's first problem, or NULL if it has none. */
static const tw_tuned *first_key(const struct tuning *t, int member)
{
    for (int i = 0; i < t->problem_count; i++)
        if (t->problems[i].facts[member] >= 0)
            return &t->problems[i].keys[member];
    return NULL;
}

int keep_find(struct tuning *t)
{
    for (int m = 0; m < t->member_count && t->store && !t->again; m++) {
        const tw_tuned *key = first_key(t, m);
        if (!key)
            continue;
        tw_tuned filter = {.size = sizeof filter,
                           .device = key->device,
                           .kernel = key->kernel,
                           .program = key->program,
                           .types = key->types,
                           .sizes = t->problem_count == 1 ? key->sizes : NULL,
                           .version = tw_version()};
        int count;
        tw_status s = tw_store_find(t->store, &filter, &count);
        if (s != TW_OK) {
            complain_library(NULL, t->ctx, s);
            return STATUS_FAILED;
        }
        for (int i = 0; i < count; i++)
            take_row(t, m, tw_store_at(t->store, i));
    }
    return STATUS_OK;
}

/* --- what is added --- */

void keep_result(struct tuning *t, int problem, int candidate)
{
    trial_at(t, problem, candidate)->unsaved = true;
    t->unsaved++;
}

static tw_tuned row_of(const struct tuning *t, int problem, int candidate)
{
    const struct trial *x = trial_at(t, problem, candidate);
    const struct candidate *c = &t->candidates[candidate];
    tw_tuned row = t->problems[problem].keys[c->member];
    row.tune = c->text;
    row.status = x->status;
    row.why = x->why ? x->why : "";
    row.version = NULL; /* this library's */
    row.milliseconds = x->status == TW_OK ? x->ms : 0;
    row.samples = x->sample_count;
    return row;
}

/* Collects the noted results into `rows`, and returns their number. */
static int take_unsaved(struct tuning *t, tw_tuned *rows)
{
    int count = 0;
    for (int p = 0; p < t->problem_count; p++)
        for (int c = 0; c < t->candidate_count; c++)
            if (trial_at(t, p, c)->unsaved) {
                trial_at(t, p, c)->unsaved = false;
                rows[count++] = row_of(t, p, c);
            }
    return count;
}

bool keep_write(struct tuning *t, bool now)
{
    if (!t->store || t->unsaved == 0 || (!now && seconds_now() - t->kept_at < keep_seconds))
        return true;
    tw_tuned *rows = need_memory((size_t)t->unsaved * sizeof *rows);
    const tw_tuned **list = need_memory((size_t)t->unsaved * sizeof *list);
    int count = take_unsaved(t, rows);
    for (int i = 0; i < count; i++)
        list[i] = &rows[i];
    tw_status s = tw_store_put_all(t->store, list, count);
    free(list);
    free(rows);
    t->unsaved = 0;
    t->kept_at = seconds_now();
    if (s == TW_OK)
        return true;
    progress_clear(&t->progress);
    complain_library(NULL, t->ctx, s);
    return false;
}
