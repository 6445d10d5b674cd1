/* The problems, and the facts about their sizes that programs depend on. */
#include "tune/tune.h"

#include "cli/product.h"

#include <stdlib.h>
#include <string.h>

struct trial *trial_at(const struct tuning *t, int problem, int candidate)
{
    return &t->problems[problem].trials[candidate];
}

struct build *build_at(const struct tuning *t, int problem, int candidate)
{
    const struct member *m = &t->members[t->candidates[candidate].member];
    int facts = t->problems[problem].facts[t->candidates[candidate].member];
    return &t->builds[t->facts[facts].first_build + candidate - m->first];
}

int problem_fastest(const struct tuning *t, const struct problem *p, int other)
{
    int best = -1;
    for (int i = 0; i < t->candidate_count; i++)
        if (i != other && p->trials[i].state == TRIAL_MEASURED &&
            (best < 0 || p->trials[i].ms < p->trials[best].ms))
            best = i;
    return best;
}

int problem_count(const struct tuning *t, const struct problem *p, enum trial_state state)
{
    int count = 0;
    for (int i = 0; i < t->candidate_count; i++)
        count += p->trials[i].state == state;
    return count;
}

/* --- sizes --- */

tw_status problem_set(const struct tuning *t, int problem, int member, tw_launch *l)
{
    const struct shape *s = &t->problems[problem].shape;
    if (s->m == 0)
        return TW_OK; /* --set gave them */
    tw_status status = tw_launch_set(l, "m", tw_int(s->m));
    if (status == TW_OK)
        status = tw_launch_set(l, "n", tw_int(s->n));
    if (status == TW_OK)
        status = tw_launch_set(l, "k", tw_int(s->k));
    if (status == TW_OK && t->members[member].batched)
        status = tw_launch_set(l, "batch", tw_int(s->batch));
    return status;
}

/* Returns whether the member computes products of the shape. */
static bool takes_shape(const struct member *m, const struct shape *s)
{
    return !m->left_out && (s->m == 0 || s->batch == 1 || m->batched);
}

static bool any_takes(const struct tuning *t, const struct shape *s)
{
    for (int i = 0; i < t->member_count; i++)
        if (takes_shape(&t->members[i], s))
            return true;
    return false;
}

/* Returns 2·m·n·k for each product of matrices, or 0 if the kernel computes none. */
static double product_operations(const struct member *m)
{
    static const char *const extents[] = {"m", "n", "k", "batch"};
    struct product_of product;
    double operations = 2;
    tw_value v;
    if (!find_product(m->kernel, &product))
        return 0;
    for (int i = 0; i < (product.batched ? 4 : 3); i++) {
        if (tw_launch_value(m->launch, extents[i], &v) != TW_OK || v.kind == TW_FLOAT)
            return 0;
        operations *= (double)v.i;
    }
    return operations;
}

/* --- facts --- */

/* Returns "n=4096,m/16": the values of statics, and the other integers that 16 or 8 divides. The
 * caller frees. */
static char *facts_text(const struct member *m)
{
    char *text = need_text("%s", "");
    tw_param p = tw_param_init();
    tw_value v;
    for (int i = 0; tw_kernel_param(m->kernel, i, &p) == TW_OK; i++) {
        if (p.is_pointer || tw_launch_value(m->launch, p.name, &v) != TW_OK)
            continue;
        char value[32];
        format_scalar(value, sizeof value, v, TW_DTYPE_NONE);
        if (p.is_static)
            append_text(&text, "%s=%s,", p.name, value);
        else if (v.kind != TW_FLOAT && v.i % 8 == 0)
            append_text(&text, "%s/%d,", p.name, v.i % 16 == 0 ? 16 : 8);
    }
    return text;
}

/* Finds the facts of the member's launch, or adds them. */
static int facts_of(struct tuning *t, int member, int problem)
{
    char *text = facts_text(&t->members[member]);
    for (int i = 0; i < t->facts_count; i++)
        if (t->facts[i].member == member && strcmp(t->facts[i].text, text) == 0) {
            free(text);
            return i;
        }
    NEED_ROOM(t->facts, t->facts_count);
    t->facts[t->facts_count] = (struct facts){
        .member = member, .problem = problem, .first_build = t->build_count, .text = text};
    t->build_count += t->members[member].count;
    return t->facts_count++;
}

/* --- keys --- */

/* Copies the texts of the key, because the launch's next call frees them. */
static tw_tuned copy_key(const tw_tuned *key)
{
    tw_tuned copy = *key;
    copy.device = need_text("%s", key->device);
    copy.program = need_text("%s", key->program);
    copy.types = need_text("%s", key->types);
    copy.shape = need_text("%s", key->shape);
    copy.sizes = need_text("%s", key->sizes);
    copy.tune = copy.why = "";
    return copy;
}

static void free_key(tw_tuned *key)
{
    free((char *)key->device);
    free((char *)key->program);
    free((char *)key->types);
    free((char *)key->shape);
    free((char *)key->sizes);
}

static int find_key(struct tuning *t, int problem, int member)
{
    struct member *m = &t->members[member];
    tw_tuned key = tw_tuned_init();
    tw_status s = problem_set(t, problem, member, m->launch);
    if (s == TW_OK)
        s = candidate_apply(t, m->first, m->launch);
    if (s == TW_OK)
        s = tw_launch_tuning_key(m->launch, t->device, &key);
    if (s == TW_OK) {
        t->problems[problem].keys[member] = copy_key(&key);
        return STATUS_OK;
    }
    complain_library(NULL, t->ctx, s);
    char *missing = missing_scalars(m->launch, m->kernel);
    if (missing)
        complain_more(NULL, "give the sizes to tune for with --set %s", missing);
    free(missing);
    return STATUS_USAGE;
}

/* Checks that the member has the element types of the first one that takes the problem. */
static int check_types(const struct problem *p, int member)
{
    for (int i = 0; i < member; i++) {
        if (p->facts[i] < 0 || strcmp(p->keys[i].types, p->keys[member].types) == 0)
            continue;
        complain(NULL, "%s has %s, but %s has %s: choose types that all have with --type",
                 p->keys[i].kernel, p->keys[i].types, p->keys[member].kernel,
                 p->keys[member].types);
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

/* --- all of them --- */

static int fill_problem(struct tuning *t, int problem)
{
    struct problem *p = &t->problems[problem];
    size_t members = (size_t)t->member_count + 1, candidates = (size_t)t->candidate_count + 1;
    int status = STATUS_OK;
    p->keys = need_memory(members * sizeof *p->keys);
    p->facts = need_memory(members * sizeof *p->facts);
    p->trials = need_memory(candidates * sizeof *p->trials);
    p->order = need_memory(candidates * sizeof *p->order);
    p->list = need_memory(candidates * sizeof *p->list);
    p->best = p->checked = -1;
    for (int i = 0; i < t->member_count && status == STATUS_OK; i++) {
        p->facts[i] = -1;
        if (!takes_shape(&t->members[i], &p->shape))
            continue;
        status = find_key(t, problem, i);
        if (status == STATUS_OK)
            status = check_types(p, i);
        if (status != STATUS_OK)
            return status;
        p->facts[i] = facts_of(t, i, problem);
        if (p->operations == 0)
            p->operations = product_operations(&t->members[i]);
    }
    return status;
}

static int check_candidates(const struct tuning *t)
{
    if (t->candidate_count > 0)
        return STATUS_OK;
    complain(NULL, "no combination of tuned values is allowed by the `require`s of %s (%d tried)",
             tw_kernel_name(t->members[0].kernel), t->members[0].forbidden);
    return STATUS_USAGE;
}

int tune_problems_make(struct tuning *t)
{
    int count = t->shapes.count, status = check_candidates(t);
    if (status != STATUS_OK)
        return status;
    t->problems = need_memory((size_t)(count + 1) * sizeof *t->problems);
    for (int i = 0; i < count; i++)
        if (any_takes(t, &t->shapes.list[i]))
            t->problems[t->problem_count++].shape = t->shapes.list[i];
    if (count > 0 && t->problem_count == 0)
        return usage_error(NULL, t->self, "no kernel here takes these sizes: none has a `batch`");
    if (count == 0)
        t->problem_count = 1;
    for (int i = 0; i < t->problem_count && status == STATUS_OK; i++)
        status = fill_problem(t, i);
    t->builds = need_memory((size_t)(t->build_count + 1) * sizeof *t->builds);
    return status;
}

static void free_trials(const struct tuning *t, struct problem *p)
{
    for (int i = 0; p->trials && i < t->candidate_count; i++) {
        free(p->trials[i].why);
        free(p->trials[i].samples);
    }
    free(p->trials);
}

void judged_free(struct judged *j)
{
    if (!j)
        return;
    tw_launch_free(j->launch);
    tw_expected_free(j->expected);
    operands_free(&j->arrays);
    free(j->device);
    free(j);
}

const tw_tuned *tune_problem_key(const struct tuning *t, const struct problem *p)
{
    for (int i = 0; i < t->member_count; i++)
        if (p->facts[i] >= 0)
            return &p->keys[i];
    return NULL;
}

void tune_problems_free(struct tuning *t)
{
    for (int i = 0; i < t->problem_count; i++) {
        struct problem *p = &t->problems[i];
        for (int m = 0; p->keys && m < t->member_count; m++)
            free_key(&p->keys[m]);
        free_trials(t, p);
        free(p->keys);
        free(p->facts);
        free(p->order);
        free(p->list);
    }
    for (int i = 0; i < t->facts_count; i++) {
        judged_free(t->facts[i].judged);
        free(t->facts[i].text);
    }
    free(t->problems);
    free(t->facts);
    free(t->builds);
    t->problems = NULL;
    t->facts = NULL;
    t->builds = NULL;
    t->problem_count = t->facts_count = t->build_count = 0;
}
