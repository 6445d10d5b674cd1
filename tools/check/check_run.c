/* Makes small runs of a kernel on the CPU engine, and compares them with `ensures`. */
#include "check/check.h"
#include "tilewright_profile.h"
#include "cli/tensor.h"

#include <stdlib.h>
#include <string.h>

tw_status check_run_once(struct check *c)
{
    check_set_deadline(c, true);
    tw_status s = tw_launch_run(c->launch);
    check_set_deadline(c, false);
    return s;
}

/* Adds how much is wrong. Requires the arrays as they were compared. */
static void take_wrong(struct check *c, const struct untouched *u)
{
    struct wrong_values w = {0};
    wrong_values_take(&w, c->launch, u);
    findings_wrong(&c->findings, &w, c->on_zeros);
    wrong_values_free(&w);
}

/* Names the arrays of random integers, because an `ensures` without a value may need others. */
static void note_integers(struct check *c)
{
    char *options = check_integer_options(c, FILL_STARTS);
    if (*options && c->inputs == CHECK_RANDOM) {
        char *note = need_text("`ensures` may need other integers than random ones:%s gives those "
                               "that ascend as starts of rows do, with rows of any length",
                               options);
        findings_note(&c->findings, note);
        free(note);
    }
    free(options);
}

struct attempt {
    tw_status ran, verified;
    struct untouched untouched; /* by all runs so far; the caller frees */
};

static bool is_right(const struct attempt *a)
{
    return a->ran == TW_OK && a->verified == TW_OK;
}

/* Makes one attempt. Its messages are the context's until the next call. */
static struct attempt attempt(struct check *c)
{
    struct attempt a = {.ran = check_run_once(c), .verified = TW_OK};
    check_set_deadline(c, true);
    if (a.ran == TW_OK && tw_kernel_has_ensures(c->kernel))
        a.verified = tw_launch_verify(c->launch, NULL);
    check_set_deadline(c, false);
    return a;
}

/* Returns true if `ensures` has no value at greater sizes, either. *outside: because of an index
 * outside. */
static bool has_no_value(struct check *c, bool *outside)
{
    struct operands arrays;
    char *where;
    tw_status s = check_make_run(c, CHECK_RAGGED, &arrays, &where);
    s = s == TW_OK ? attempt(c).verified : s;
    tw_message m = tw_message_init();
    *outside = tw_context_message(c->program->ctx, 0, &m) && m.code == TW_CODE_OUTSIDE;
    operands_free(&arrays);
    free(where);
    return s == TW_UNSUPPORTED;
}

/* Notes, if `ensures` has no value at these sizes, how to exclude them. Names the last size if
 * several are 1. */
static void note_sizes(struct check *c)
{
    char *note = NULL;
    tw_param p = tw_param_init();
    tw_value v;
    for (int i = 0; tw_kernel_param(c->kernel, i, &p) == TW_OK; i++) {
        if (p.is_pointer || p.derived || tw_launch_value(c->launch, p.name, &v) != TW_OK ||
            v.kind == TW_FLOAT || v.i != 1)
            continue;
        free(note);
        note = need_text("sizes that the kernel is not for are left out by an `assume`, such as "
                         "`assume(%s > 1);`; --set %s=9 checks with that one alone",
                         p.name, p.name);
    }
    bool outside = false, none = note && has_no_value(c, &outside);
    if (none && outside)
        findings_note(&c->findings, "no size helps; a condition keeps an index inside, such as "
                                    "`j > 0 ? A[j - 1] : 0` (`where` reads both of its values)");
    else if (note && !none)
        findings_note(&c->findings, note);
    free(note);
}

/* Returns whether --fill asks for special values in some array. */
static bool has_special(const struct check *c)
{
    tw_param p = tw_param_init();
    bool found = c->fill == FILL_SPECIAL;
    for (int i = 0; !found && tw_kernel_param(c->kernel, i, &p) == TW_OK; i++)
        found = settings_fill(c->given, p.name) == FILL_SPECIAL;
    return found;
}

static void take_verified(struct check *c, tw_status s, const struct untouched *u,
                          const char *where)
{
    int before = c->findings.count;
    if (s == TW_OK)
        return;
    if (s == TW_CANCELLED) {
        check_take_timeout(c, where, "");
        return;
    }
    if (s == TW_UNSUPPORTED && has_special(c)) {
        check_take_unjudged(c, "special", where);
        return;
    }
    if (s == TW_UNSUPPORTED) { /* the program compiles, and its use is right */
        findings_take(&c->findings, c->program->ctx, c->name, NULL, where);
        check_worse(c, STATUS_FAILED, s);
    } else {
        check_take_messages(c, s, s == TW_WRONG_VALUES ? "wrong values" : NULL, where);
    }
    if (s == TW_UNSUPPORTED && c->findings.count > before) {
        note_integers(c);
        note_sizes(c);
    }
    if (s != TW_WRONG_VALUES || c->findings.count == before)
        return;
    take_wrong(c, u);
}

/* Content of outputs before the run; UNWRITTEN_ALONE: there is no other run. */
enum before { ZEROS, UNWRITTEN, UNWRITTEN_ALONE };

/* Records the outputs that still hold their initial content. For one-byte types, one run does
 * not suffice. */
static void take_untouched(const struct check *c, struct untouched *u,
                           const struct operands *arrays, int shape, enum before before)
{
    for (int i = 0; i < arrays->count; i++) {
        const struct operand *o = &arrays->list[i];
        if (!check_may_hold_anything(c, &o->param) || o->is_atomic ||
            (before == UNWRITTEN_ALONE && tw_dtype_size(o->array.dtype) == 1))
            continue;
        if (before == ZEROS)
            untouched_take_zeros(u, o->param.name, &o->array);
        else
            untouched_take_unwritten(u, o->param.name, &o->array, shape);
    }
}

void check_verify(struct check *c, const struct operands *arrays, int shape, const char *where)
{
    struct untouched u = {0};
    check_set_deadline(c, true);
    tw_status s = tw_launch_verify(c->launch, NULL);
    check_set_deadline(c, false);
    if (s == TW_WRONG_VALUES)
        take_untouched(c, &u, arrays, shape, UNWRITTEN_ALONE);
    take_verified(c, s, &u, where);
    untouched_free(&u);
}

/* Sizes that the kernel excludes by `assume`, `static_assert` or `require` are not a finding. */
bool check_refuses_sizes(tw_status s)
{
    return s == TW_BAD_PROGRAM || s == TW_BAD_ARGUMENT || s == TW_UNSUPPORTED ||
           s == TW_NOT_ASSUMED;
}

/* Records why a run was not made, unless another message reports it. Leaves out the sizes if
 * they are not the reason. */
static void take_not_run(struct check *c, tw_status s, const char *where)
{
    tw_message m = {.size = sizeof m, .text = tw_status_text(s)};
    c->unsuited = s != TW_UNSUPPORTED;
    if (!c->unsuited)
        where = "";
    tw_context_message(c->program->ctx, 0, &m);
    free(c->not_run);
    c->not_run = need_text("%s%s%s", where, *where ? ": " : "", m.text);
}

/* After a failed attempt, tells whether the kernel is right on zeroed outputs. If so, repeats
 * the attempt for its messages; otherwise the attempt on zeros counts. An `assume` about an
 * output is taken to hold if it holds for zeros. */
static bool is_right_on_zeros(struct check *c, struct operands *arrays, int shape,
                              struct attempt *a)
{
    if (!tw_kernel_has_ensures(c->kernel) || a->ran == TW_CANCELLED || a->verified == TW_CANCELLED)
        return false;
    struct untouched untouched = {0};
    if (a->ran == TW_OK)
        take_untouched(c, &untouched, arrays, shape, UNWRITTEN);
    check_fill(c, arrays, shape, true);
    struct attempt zeros = attempt(c);
    if (a->ran == TW_OK && zeros.ran == TW_OK)
        take_untouched(c, &untouched, arrays, shape, ZEROS);
    bool counts = !is_right(&zeros) || a->ran == TW_NOT_ASSUMED;
    if (!counts)
        check_fill(c, arrays, shape, false);
    *a = counts ? zeros : attempt(c);
    a->untouched = untouched;
    return !counts && !is_right(a);
}

static void take_attempt(struct check *c, const struct attempt *a, const char *where)
{
    if (a->ran == TW_CANCELLED) {
        check_take_timeout(c, where, "");
    } else if (a->ran == TW_OK) {
        c->runs++;
        c->wrong = a->verified == TW_WRONG_VALUES;
        take_verified(c, a->verified, &a->untouched, where);
    } else if (check_refuses_sizes(a->ran)) {
        take_not_run(c, a->ran, where);
    } else {
        check_take_messages(c, a->ran, NULL, where);
    }
}

static void note_zeros(struct check *c, const struct operands *arrays)
{
    const char **outputs = need_memory((size_t)arrays->count * sizeof *outputs);
    int count = 0;
    for (int i = 0; i < arrays->count; i++)
        if (check_may_hold_anything(c, &arrays->list[i].param))
            outputs[count++] = arrays->list[i].param.name;
    char *hint = output_hint(outputs, count);
    findings_note(&c->findings, hint);
    free(hint);
    free(outputs);
}

/* Takes the reasons for which the CPU engine does not run the launch in its fastest way. */
static void take_slow_paths(struct check *c)
{
    tw_slow_path slow = tw_slow_path_init();
    if ((!c->verbose && !c->to_json) || !space_is_default(&c->space))
        return;
    for (int i = 0; tw_launch_slow_path(c->launch, i, &slow) == TW_OK; i++)
        remarks_add(&c->slow,
                    need_text("line %d on the CPU: %s (%s). Way out: %s", slow.line, slow.reason,
                              slow.code, slow.way_out),
                    "");
}

void check_run_shape(struct check *c, int shape)
{
    struct operands arrays;
    char *where;
    struct attempt a = {.ran = check_make_run(c, shape, &arrays, &where)};
    bool made = a.ran == TW_OK;
    if (made)
        a = attempt(c);
    if (made && !is_right(&a))
        c->on_zeros = is_right_on_zeros(c, &arrays, shape, &a);
    c->not_past = c->not_past || (shape >= CHECK_PAST && a.ran == TW_NOT_ASSUMED);
    if (made && is_right(&a))
        check_take_outputs(c, &arrays);
    take_attempt(c, &a, where);
    if (made && a.ran == TW_OK)
        take_slow_paths(c);
    c->wrong = c->wrong || c->on_zeros;
    if (c->on_zeros)
        note_zeros(c, &arrays);
    untouched_free(&a.untouched);
    operands_free(&arrays);
    free(where);
}
