/* Runs with inputs that are not random: large ones, of one sign, the least and largest integers.
 * They show overflows, lost digits, and a maximum that starts at 0. */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool any_varies(const struct check *c, const struct operands *arrays)
{
    bool any = false;
    for (int i = 0; i < arrays->count; i++)
        any = any || check_may_vary(c, &arrays->list[i]);
    return any;
}

void check_note_ascending(struct check *c)
{
    char *options = check_integer_options(c, FILL_IOTA);
    char *note = need_text("ascending integers are 0, 1, 2, …:%s makes them", options);
    findings_note(&c->findings, note);
    free(note);
    free(options);
}

static char *describe_inputs(const struct check *c)
{
    switch (c->inputs) {
    case CHECK_NEGATIVE: return need_text("negative inputs (`run --fill negative`): all of them");
    case CHECK_POSITIVE: return need_text("positive inputs (`run --fill positive`): all of them");
    case CHECK_EXTREME:
        return need_text("extreme inputs (`run --fill extreme`): the least and the largest "
                         "integers, and small ones of both signs");
    case CHECK_RANDOM:
    case CHECK_ASCENDING:
    case CHECK_WIDE: break;
    }
    return need_text("wide inputs (`run --fill wide`): floats up to ±%d, each second row close to "
                     "%d; i8 and u8 of all their values",
                     WIDEST, WIDEST);
}

static void note_inputs(struct check *c, const struct operands *arrays)
{
    char *fills = need_text("%s", ""), *inputs = describe_inputs(c);
    for (int i = 0; i < arrays->count; i++)
        if (check_may_vary(c, &arrays->list[i]))
            append_text(&fills, " --fill %s=rand", arrays->list[i].param.name);
    const char *other =
        c->inputs == CHECK_ASCENDING
            ? "with random ones its values are right: are they starts of rows, or indices? If "
              "they never ascend, say"
        : c->inputs == CHECK_WIDE
            ? "with small ones its values are right: does something overflow, or lose "
              "smaller addends? If there are none so large, say"
            : "with random ones its values are right: what does a sum, a maximum or a comparison "
              "begin with? If there are none such, say";
    char *advice = need_text("%s%s", other, fills);
    if (c->inputs == CHECK_ASCENDING)
        check_note_ascending(c);
    else
        findings_note(&c->findings, inputs);
    findings_note(&c->findings, advice);
    free(inputs);
    free(advice);
    free(fills);
}

struct far_off {
    const struct operands *arrays;
    double *size; /* magnitude of each array's content */
    bool any;
};

/* Returns the tolerated error, as a part of the wanted value or of the array's magnitude. */
static double part_passed(tw_dtype t)
{
    return is_float_type(t) ? fmax(0.001, 8 * type_roundoff(t)) : 0;
}

static void take_far_off(void *user, const tw_wrong *w)
{
    struct far_off *f = user;
    for (int i = 0; i < f->arrays->count && isfinite(w->want) && !f->any; i++) {
        const struct operand *o = &f->arrays->list[i];
        double size = fmax(fabs(w->want), f->size[i]);
        f->any = strcmp(o->param.name, w->param) == 0 &&
                 !(fabs(w->got - w->want) <= part_passed(o->array.dtype) * size);
    }
}

/* Returns whether an error counts. With larger inputs, a correct formula may lose more digits
 * than that of `ensures`. An error counts only if it is a considerable part of the outputs'
 * magnitude, and the wanted value is known and finite. */
static bool is_far_off(struct check *c, const struct operands *arrays)
{
    struct far_off f = {.arrays = arrays,
                        .size = need_memory((size_t)arrays->count * sizeof(double))};
    for (int i = 0; i < arrays->count; i++)
        f.size[i] = tensor_root_mean_square(&arrays->list[i].array);
    tw_launch_each_wrong(c->launch, take_far_off, &f);
    free(f.size);
    return f.any;
}

/* Notes that a run failed whose integers may be indices. */
static void take_outside(struct check *c, const struct operands *arrays, const char *where)
{
    tw_message m = {.size = sizeof m, .text = ""};
    const struct operand *integers = NULL;
    for (int i = 0; i < arrays->count && !integers; i++)
        if (check_may_vary(c, &arrays->list[i]) && !is_float_type(arrays->list[i].array.dtype))
            integers = &arrays->list[i];
    tw_context_message(c->program->ctx, 0, &m);
    if (!integers || !m.text || !(c->verbose || c->to_json))
        return;
    remarks_add(&c->undecided,
                need_text("not counted, because `%s` may have indices: with %s integers, %s%s"
                          "%d: %s; a guard or an `assume` about its elements makes it safe",
                          integers->param.name, fill_name(check_fill_of(c->inputs)),
                          m.file ? m.file : "", m.file ? ":" : "line ", m.line, m.text),
                where);
}

struct outcome {
    tw_status ran, verified; /* verified: TW_OK without `ensures` */
};

static struct outcome run_inputs(struct check *c, int shape)
{
    struct operands arrays;
    char *where;
    tw_status ran = check_make_run(c, shape, &arrays, &where), verified = TW_OK;
    if (ran == TW_OK && any_varies(c, &arrays)) {
        ran = check_run_once(c);
        if (ran == TW_OK && tw_kernel_has_ensures(c->kernel))
            verified = tw_launch_verify(c->launch, NULL);
        if (ran == TW_OK && verified == TW_OK)
            check_take_outputs(c, &arrays);
    }
    if (verified == TW_WRONG_VALUES && is_far_off(c, &arrays)) {
        const char *kind = fill_name(check_fill_of(c->inputs));
        append_text(&where, ", %s inputs", kind);
        c->runs++;
        c->wrong = true;
        check_verify(c, &arrays, shape, where);
        note_inputs(c, &arrays);
    } else if (verified == TW_UNSUPPORTED && c->inputs == CHECK_WIDE) {
        check_take_unjudged(c, "wide", where);
    }
    if (ran == TW_FAULT)
        take_outside(c, &arrays, where);
    operands_free(&arrays);
    free(where);
    return (struct outcome){ran, verified};
}

static const int suited[] = {CHECK_RAGGED, 5, 3, CHECK_THIN}; /* the first suitable shape is used */
enum { SUITED = sizeof suited / sizeof *suited };

/* Returns a shape that the kernel accepts with random inputs; -1: none. */
static int find_shape(struct check *c)
{
    enum check_inputs inputs = c->inputs;
    int found = -1;
    c->inputs = CHECK_RANDOM;
    for (int i = 0; i < SUITED && found < 0; i++) {
        struct operands arrays;
        char *where;
        if (check_make_run(c, suited[i], &arrays, &where) == TW_OK && check_run_once(c) == TW_OK)
            found = suited[i];
        operands_free(&arrays);
        free(where);
    }
    c->inputs = inputs;
    return found;
}

/* Varies one integer array after the other, if the kernel refuses the inputs in all of them. */
static void run_one_by_one(struct check *c)
{
    enum { MOST = 4 };
    tw_param p = tw_param_init();
    int count = 0, shape = find_shape(c);
    for (int i = 0; shape >= 0 && tw_kernel_param(c->kernel, i, &p) == TW_OK; i++) {
        bool integers = p.is_const && p.is_pointer && p.dtype != TW_DTYPE_NONE &&
                        !is_float_type(p.dtype) && p.dtype != TW_BOOL;
        if (!integers || count++ >= MOST || c->status != STATUS_OK)
            continue;
        c->only = p.name;
        run_inputs(c, shape);
        c->only = NULL;
    }
}

void check_other_inputs(struct check *c)
{
    if (!tw_kernel_has_ensures(c->kernel))
        return;
    for (int kind = CHECK_WIDE; kind <= CHECK_EXTREME && c->status == STATUS_OK; kind++) {
        bool done = false;
        c->inputs = (enum check_inputs)kind;
        for (int i = 0; i < SUITED && !done; i++)
            done = run_inputs(c, suited[i]).ran == TW_OK;
        if (done && kind != CHECK_WIDE && c->status == STATUS_OK)
            run_inputs(c, CHECK_THIN); /* a result along an axis of 1 is each element itself */
        else if (!done && kind != CHECK_WIDE)
            run_one_by_one(c);
    }
    c->inputs = CHECK_RANDOM;
}

/* Returns false if the kernel or its `ensures` refuses ascending integers in these arrays. */
static bool try_ascending(struct check *c, const char *only)
{
    bool taken = false;
    c->only = only;
    for (int i = 0; i < SUITED && !taken && c->status == STATUS_OK; i++) {
        struct outcome o = run_inputs(c, suited[i]);
        taken = o.ran == TW_OK && o.verified == TW_OK;
        c->ascending_shape = suited[i];
    }
    c->only = NULL;
    c->ascending = only;
    c->runs += taken;
    return taken;
}

void check_ascending_inputs(struct check *c)
{
    tw_param p = tw_param_init();
    int first = 0;
    bool taken = false;
    c->inputs = CHECK_ASCENDING;
    while (tw_kernel_param(c->kernel, first, &p) == TW_OK && !check_may_ascend(c, &p))
        first++;
    if (first < tw_kernel_param_count(c->kernel))
        taken = try_ascending(c, NULL);
    for (int i = first; !taken && tw_kernel_param(c->kernel, i, &p) == TW_OK; i++)
        if (check_may_ascend(c, &p) && c->status == STATUS_OK)
            taken = try_ascending(c, p.name);
    if (!taken)
        c->ascending_shape = -1;
    c->inputs = CHECK_RANDOM;
}
