/* Compares values of a run with the kernel's `ensures`: first those of the run itself, then
 * those of another run whose outputs initially hold the pattern of unwritten memory. */
#include "cli/operands.h"
#include "run/run.h"
#include "cli/verdict.h"
#include "cli/doing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Describes where the kernel ran: "in matmul_v1 with m = 3, n = 4". The caller frees. */
static char *describe_run(const struct run *r)
{
    char *values = scalars_text(r->launch, r->kernel);
    char *text = need_text("in %s%s%s", tw_kernel_name(r->kernel), *values ? " with " : "", values);
    free(values);
    return text;
}

/* Returns "`c`, `d`", the outputs that no option fills. The caller frees. */
static char *unwritten_names(const struct run *r)
{
    char *names = need_text("%s", "");
    for (int i = 0; i < r->array_count; i++)
        if (r->arrays[i].unwritten)
            append_text(&names, "%s`%s`", *names ? ", " : "", r->arrays[i].param.name);
    return names;
}

/* Reports the wrong values. Requires a call right after the comparison, because the library's
 * message is lost at the next call. */
static void report_wrong(struct run *r)
{
    complain_library(&r->complaints, r->program.ctx, r->verified);
    char *where = describe_run(r);
    complain_more(&r->complaints, "wrong values %s", where);
    if (r->again) {
        char *names = unwritten_names(r);
        complain_more(&r->complaints,
                      "this is of a second run, which began with other values in %s; those of "
                      "the first run are right",
                      names);
        free(names);
    }
    free(where);
}

static void verify(struct run *r)
{
    tw_verdict v = tw_verdict_init();
    doing("verifying", tw_kernel_name(r->kernel));
    r->verified = tw_launch_verify(r->launch, &v);
    doing(NULL, NULL);
    if (r->verified == TW_OK && r->again) /* the first verdict is for the printed values */
        return;
    r->verdict = v;
    free(r->view);
    r->view = NULL;
    if (r->verified == TW_OK || r->verified == TW_WRONG_VALUES)
        r->verdict.view = r->view = need_text("%s", r->verdict.view ? r->verdict.view : "");
    if (r->verified == TW_WRONG_VALUES)
        report_wrong(r);
    else if (r->verified != TW_OK)
        complain_library(&r->complaints, r->program.ctx, r->verified);
}

/* Saves the contents of the outputs if `aside`; restores them otherwise. */
static void keep_outputs(struct run *r, bool aside)
{
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->param.is_const)
            continue;
        size_t bytes = tensor_bytes(&o->array);
        if (aside)
            o->after = need_memory(bytes);
        memcpy(aside ? o->after : o->array.data, aside ? o->array.data : o->after, bytes);
    }
}

static bool outputs_as_kept(const struct run *r)
{
    bool same = true;
    for (int i = 0; i < r->array_count && same; i++) {
        const struct given_array *o = &r->arrays[i];
        same = !o->unwritten || memcmp(o->array.data, o->after, tensor_bytes(&o->array)) == 0;
    }
    return same;
}

/* Keeps the findings of the previous simulation, because the next simulation discards them. */
static void keep_found(struct run *r)
{
    if (!r->simulated)
        return;
    r->found.counters = r->counters = need_text("%s", r->found.counters);
    r->found.report = r->found_report = need_text("%s", r->found.report);
    r->found.json = r->found_json = need_text("%s", r->found.json);
}

/* Collects the arrays without user data that still have the contents from before the run. */
static void take_untouched(const struct run *r, struct untouched *u)
{
    for (int i = 0; i < r->array_count; i++) {
        const struct given_array *o = &r->arrays[i];
        if (!o->unwritten || o->is_atomic)
            continue;
        if (r->again)
            untouched_take_unwritten(u, o->param.name, &o->array, 0);
        else
            untouched_take_zeros(u, o->param.name, &o->array);
    }
}

/* Restores every array to its contents before the first run, except arrays without user data:
 * those get the pattern of unwritten memory. */
static void start_unwritten(struct run *r)
{
    for (int i = 0; i < r->array_count; i++) {
        struct given_array *o = &r->arrays[i];
        if (o->unwritten)
            tensor_fill_unwritten(&o->array, 0);
        else if (!o->param.is_const)
            memcpy(o->array.data, o->before, tensor_bytes(&o->array));
    }
}

static void say_on_zeros(struct run *r)
{
    const char **outputs = need_memory((size_t)r->array_count * sizeof *outputs);
    int count = 0;
    for (int i = 0; i < r->array_count; i++)
        if (r->arrays[i].unwritten)
            outputs[count++] = r->arrays[i].param.name;
    char *hint = output_hint(outputs, count);
    complain_more(&r->complaints, "%s", hint);
    free(hint);
    free(outputs);
}

static tw_status run_unwritten(struct run *r)
{
    double seconds;
    keep_found(r);
    tw_sim_result found = r->found;
    keep_outputs(r, true);
    start_unwritten(r);
    r->print = NULL;
    r->again = true;
    tw_status s = run_launch(r, &seconds);
    r->found = found;
    return s;
}

static void report_how_much(struct run *r, const struct untouched *u, bool unwritten_only)
{
    wrong_values_take(&r->wrong, r->launch, u);
    char *text = wrong_values_text(&r->wrong, unwritten_only);
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
        complain_more(&r->complaints, "%s", line);
    free(text);
    char *matrices = wrong_values_matrices(&r->wrong);
    fputs(matrices ? matrices : "", stderr);
    free(matrices);
}

/* Runs a kernel whose results were right on zeroed outputs once more on outputs with other
 * contents. This shows elements that the kernel leaves unwritten or reads before it writes them. */
static void verify_unwritten(struct run *r)
{
    struct untouched u = {0};
    take_untouched(r, &u);
    tw_status s = run_unwritten(r);
    if (s != TW_OK) {
        run_say_failed(r, r->verified = s);
    } else if (!outputs_as_kept(r)) {
        verify(r);
        take_untouched(r, &u);
        if (r->verified == TW_WRONG_VALUES)
            report_how_much(r, &u, true);
    }
    if (r->verified != TW_OK)
        say_on_zeros(r);
    keep_outputs(r, false);
    untouched_free(&u);
}

/* Counts the wrong values and, by another run on outputs with other contents, how many of them
 * the kernel never wrote. */
static void count_wrong(struct run *r)
{
    struct untouched u = {0};
    bool ran = run_any_unwritten(r);
    if (ran) {
        take_untouched(r, &u);
        ran = run_unwritten(r) == TW_OK;
        if (ran)
            take_untouched(r, &u);
        keep_outputs(r, false);
    }
    report_how_much(r, ran ? &u : NULL, false);
    untouched_free(&u);
}

void run_verify(struct run *r)
{
    verify(r);
    if (r->verified == TW_WRONG_VALUES)
        count_wrong(r);
    else if (r->verified == TW_OK && run_any_unwritten(r))
        verify_unwritten(r);
}

/* --- wide tolerances --- */

double run_wide_tolerance(const struct run *r)
{
    double size = fabs(r->verdict.want), least = 0.01;
    for (int i = 0; i < r->array_count; i++) {
        const struct given_array *o = &r->arrays[i];
        if (!is_output(&o->param) || !is_float_type(o->array.dtype))
            continue;
        size = fmax(size, tensor_root_mean_square(&o->array));
        least = fmax(least, 8 * type_roundoff(o->array.dtype));
    }
    return r->verdict.tolerance > least * size && size > 0 ? r->verdict.tolerance / size : 0;
}

/* Names the arrays whose elements are all equal, because a wrong kernel may be right for them. An
 * option may ask for such inputs. */
static void report_uniform(const struct run *r)
{
    bool has_inputs = false;
    for (int i = 0; i < r->array_count; i++)
        has_inputs |= r->arrays[i].param.is_const && tensor_elements(&r->arrays[i].array) > 1;
    for (int i = 0; i < r->array_count; i++) {
        const struct given_array *o = &r->arrays[i];
        char value[40];
        bool asked = o->fill == FILL_ZERO || o->fill == FILL_ONES || o->in;
        if (!has_inputs || (!is_output(&o->param) && (!o->param.is_const || asked)) ||
            !tensor_is_uniform(&o->array))
            continue;
        tensor_element_text(value, sizeof value, &o->array, 0);
        printf("          every value of `%s` is %s: a kernel that is wrong for others would pass, "
               "too\n",
               o->param.name, value);
    }
}

void run_report_verified(const struct run *r)
{
    char *text = verdict_text(&r->verdict);
    double wide = run_wide_tolerance(r);
    printf("verified: %s\n", text);
    if (wide >= 1)
        printf(
            "          the tolerance is larger than the values, because this number of roundings "
            "adds up: wrong values go unseen; verify smaller sizes, too\n");
    else if (wide > 0)
        printf("          the tolerance is %.2g%% of the values, because this number of roundings "
               "adds up: an "
               "error below it goes unseen; verify smaller sizes, too\n",
               100 * wide);
    report_uniform(r);
    free(text);
}
