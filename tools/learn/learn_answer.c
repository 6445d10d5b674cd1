/* Answers in .tile files, and the parts that both languages share; learn_cuda.c has CUDA C. */
#include "learn/learn_answer.h"
#include "learn/learn_cuda.h"
#include "cli/operands.h"
#include "cli/target.h"
#include "cli/toolchain.h"
#include "tilewright_model.h"
#include "tilewright_tuning.h"

#include <stdlib.h>
#include <string.h>

/* Target of the simulated program: the least one, which every later target can run. */
static const char gpu_target[] = "sm_80";

void answer_begin(struct answer *a, enum language language, const char *path, char *text,
                  tw_context *ctx)
{
    *a = (struct answer){.language = language, .text = text, .ctx = ctx, .embedded = !path};
    const char *here = path && *path == '-' ? "./" : ""; /* else compilers take it for an option */
    a->path =
        path ? need_text("%s%s", here, path) : need_text("solution%s", language_endings[language]);
}

static void forget_arguments(struct answer *a)
{
    free(a->arguments);
    free(a->values);
    a->arguments = NULL;
    a->values = NULL;
}

void answer_end(struct answer *a)
{
    forget_arguments(a);
    tw_launch_free(a->launch);
    tw_launch_free(a->gpu_launch);
    for (int i = 0; i < a->program_count; i++) {
        tw_ptx_free(a->programs[i].ptx);
        free(a->programs[i].defines);
    }
    free(a->programs);
    if (a->module)
        tw_module_free(a->module);
    folder_remove(a->folder);
    free(a->path);
    free(a->text);
    free(a->said);
    *a = (struct answer){0};
}

bool answer_open(struct answer *a, const char *kernel, struct problems *problems)
{
    tw_status s = tw_module_from_text(a->ctx, a->path, a->text, strlen(a->text), &a->module);
    if (s == TW_OK) {
        a->kernel =
            kernel ? tw_module_kernel(a->module, kernel) : tw_module_kernel_at(a->module, 0);
        s = a->kernel ? tw_kernel_for_target(a->kernel, gpu_target, &a->gpu_kernel) : TW_NOT_FOUND;
    }
    if (s != TW_OK)
        problems_take_messages(problems, a->ctx, s);
    return s == TW_OK;
}

/* --- the signature --- */

static bool has_tuned(tw_kernel *k, const char *name)
{
    tw_tune t = tw_tune_init();
    for (int i = 0; tw_kernel_tune(k, i, &t) == TW_OK; i++)
        if (strcmp(t.name, name) == 0)
            return true;
    return false;
}

/* "const f32 *a" */
static char *param_text(const tw_param *p)
{
    return need_text("%s%s %s%s",
                     p->is_static  ? "static "
                     : p->is_const ? "const "
                                   : "",
                     p->type_name ? p->type_name : tw_dtype_name(p->dtype),
                     p->is_pointer ? "*" : "", p->name);
}

static bool same_params(const struct answer *a, tw_kernel *other, struct problems *problems)
{
    tw_param mine = tw_param_init();
    tw_param theirs = tw_param_init();
    int count = tw_kernel_param_count(other);
    if (tw_kernel_param_count(a->kernel) != count) {
        problems_add(problems, REASON_SIGNATURE,
                     need_text("error: `%s` has %d parameters here, and %d in the starter\n",
                               tw_kernel_name(other), tw_kernel_param_count(a->kernel), count));
        return false;
    }
    for (int i = 0; i < count; i++) {
        tw_kernel_param(a->kernel, i, &mine);
        tw_kernel_param(other, i, &theirs);
        char *here = param_text(&mine), *there = param_text(&theirs);
        bool same = strcmp(here, there) == 0;
        if (!same)
            problems_add(problems, REASON_SIGNATURE,
                         need_text("error: parameter %d of `%s` is `%s` here, and `%s` in the "
                                   "starter\n",
                                   i + 1, tw_kernel_name(other), here, there));
        free(here);
        free(there);
        if (!same)
            return false;
    }
    return true;
}

bool answer_fits(const struct answer *a, tw_kernel *other, const struct cases *cases,
                 struct problems *problems)
{
    tw_tune t = tw_tune_init();
    bool by_thread = tw_kernel_thread_level(other);
    if (!same_params(a, other, problems))
        return false;
    if (tw_kernel_thread_level(a->kernel) != by_thread) {
        problems_add(problems, REASON_SIGNATURE,
                     need_text("error: `%s` has `%s` here, and `%s` in the starter\n",
                               tw_kernel_name(other), by_thread ? "warps" : "threads",
                               by_thread ? "threads" : "warps"));
        return false;
    }
    for (int i = 0; tw_kernel_tune(other, i, &t) == TW_OK; i++)
        if (cases_bind(cases, t.name) && !has_tuned(a->kernel, t.name)) {
            problems_add(problems, REASON_SIGNATURE,
                         need_text("error: `tune %s` is gone, or the kernel does not use it: the "
                                   "judge runs it with other values of it\n",
                                   t.name));
            return false;
        }
    return true;
}

/* --- a case --- */

/* Gives the launch the sizes, tuned values and types of the solution's launch. */
static tw_status take_sizes(const struct case_at_hand *c, tw_kernel *k, tw_launch *l)
{
    tw_status s = TW_OK;
    tw_param p = tw_param_init();
    tw_tune t = tw_tune_init();
    tw_type type = tw_type_init();
    tw_value v;
    for (int i = 0; s == TW_OK && tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (!p.is_pointer && tw_launch_value(c->launch, p.name, &v) == TW_OK)
            s = tw_launch_set(l, p.name, v);
    for (int i = 0; s == TW_OK && tw_kernel_tune(k, i, &t) == TW_OK; i++)
        if (cases_bind(c->cases, t.name) && tw_launch_value(c->launch, t.name, &v) == TW_OK)
            s = tw_launch_tune(l, t.name, v);
    for (int i = 0; s == TW_OK && tw_kernel_type(k, i, &type) == TW_OK; i++) {
        const char *given = case_value(c->at, type.name);
        tw_dtype chosen = given ? tw_dtype_from_name(given) : type.choices[0];
        if (cases_bind(c->cases, type.name))
            s = tw_launch_type(l, type.name, chosen);
    }
    return s;
}

/* Prepares the launch for a case. One launch serves all cases: those with the same tuned values
 * are compiled once. */
static void take_case(struct answer *a, const struct case_at_hand *c, tw_kernel *k, tw_launch **l,
                      struct problems *problems)
{
    tw_status s = *l ? TW_OK : tw_launch_new(k, l);
    if (s == TW_OK)
        operands_forget(*l, k);
    if (s == TW_OK)
        s = take_sizes(c, k, *l);
    if (s == TW_OK)
        s = case_arrays_give(&c->arrays, *l);
    if (s == TW_OK)
        s = tw_launch_prepare(*l);
    if (s != TW_OK)
        problems_take_messages(problems, a->ctx, s);
}

int answer_take(struct answer *a, const struct case_at_hand *c, struct problems *problems)
{
    forget_arguments(a);
    if (a->language == LANGUAGE_CUDA)
        return cuda_answer_take(a, c, problems);
    if (!a->simulated_only)
        take_case(a, c, a->kernel, &a->launch, problems);
    if (!problems->count)
        take_case(a, c, a->gpu_kernel, &a->gpu_launch, problems);
    return STATUS_OK;
}

bool answer_by_thread(const struct answer *a)
{
    return a->language == LANGUAGE_CUDA || tw_kernel_thread_level(a->kernel);
}

bool answer_run(struct answer *a, const struct answer_run *how, tw_sim_result *result,
                struct problems *problems)
{
    tw_sim_options options = {.size = sizeof options,
                              .watch = how->watch,
                              .seed = how->seed,
                              .late = how->late,
                              .step_limit = how->step_limit,
                              .source_only = true};
    tw_status s = how->on_cpu ? tw_launch_run(a->launch)
                  : a->language == LANGUAGE_CUDA
                      ? tw_ptx_simulate(a->program->ptx, &a->ptx_launch, &options, result)
                      : tw_launch_simulate(a->gpu_launch, &options, result);
    if (how->on_cpu) {
        if (s != TW_OK)
            problems_take_messages(problems, a->ctx, s);
        return s == TW_OK;
    }
    if (s == TW_OK || s == TW_FAULT)
        problems_take_simulated(problems, result, answer_by_thread(a));
    if (s != TW_OK && (s != TW_FAULT || !result->failures))
        problems_take_messages(problems, a->ctx, s);
    return (s == TW_OK || s == TW_FAULT) && !result->ended;
}

int64_t answer_resident_warps(struct answer *a)
{
    tw_explain_options options = {.size = sizeof options, .gpu = "a100"};
    tw_explanation e = tw_explanation_init();
    tw_status s = a->language == LANGUAGE_CUDA
                      ? tw_ptx_explain(a->program->ptx, &a->ptx_launch, &options, &e)
                      : tw_launch_explain(a->gpu_launch, &options, &e);
    return s == TW_OK && e.launches ? e.resident_warps : 0;
}

bool answer_launch(struct answer *a, int64_t *blocks, int *threads)
{
    tw_estimate e = tw_estimate_init();
    bool known = tw_launch_estimate(a->gpu_launch, 0, &e) == TW_OK;
    *blocks = known ? e.blocks : 0;
    *threads = known ? e.threads : 0;
    return known;
}

char *answer_message(const struct answer *a, int line, const char *message)
{
    const char *at = a->text;
    for (int i = 1; i < line && *at; i++)
        at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n');
    if (!line)
        return need_text("error: %s\n", message);
    return need_text("%s:%d: error: %s\n    %.*s\n", a->path, line, message, (int)strcspn(at, "\n"),
                     at);
}
