/* Prints a case's sizes as text, and evaluates expressions over them. */
#include "learn/learn_answer.h"
#include "learn/learn_judge.h"
#include "learn/learn_formula.h"
#include "cli/target.h"

#include <string.h>

static void append_size(char **text, const char *name, const char *value)
{
    append_text(text, "%s%s = %s", *text ? ", " : "", name, value);
}

static void add_size(struct judged_case *to, enum size_kind kind, const char *name,
                     const char *value)
{
    NEED_ROOM(to->sizes, to->size_count);
    to->sizes[to->size_count++] =
        (struct case_size){kind, need_text("%s", name), need_text("%s", value)};
}

void case_list_sizes(const struct case_at_hand *c, struct judged_case *to)
{
    char number[64];
    tw_param p = tw_param_init();
    tw_tune t = tw_tune_init();
    tw_type type = tw_type_init();
    tw_value v;
    for (int i = 0; tw_kernel_param(c->kernel, i, &p) == TW_OK; i++)
        if (!p.is_pointer && tw_launch_value(c->launch, p.name, &v) == TW_OK) {
            format_scalar(number, sizeof number, v, p.dtype);
            add_size(to, SIZE_SET, p.name, number);
        }
    for (int i = 0; tw_kernel_tune(c->kernel, i, &t) == TW_OK; i++)
        if (cases_bind(c->cases, t.name) && tw_launch_value(c->launch, t.name, &v) == TW_OK) {
            format_scalar(number, sizeof number, v, TW_DTYPE_NONE);
            add_size(to, SIZE_TUNE, t.name, number);
        }
    for (int i = 0; tw_kernel_type(c->kernel, i, &type) == TW_OK; i++)
        if (case_value(c->at, type.name))
            add_size(to, SIZE_TYPE, type.name, case_value(c->at, type.name));
}

char *case_sizes(const struct case_at_hand *c, const struct judged_case *judged)
{
    char *text = NULL;
    for (int i = 0; i < judged->size_count; i++)
        append_size(&text, judged->sizes[i].name, judged->sizes[i].value);
    for (int i = 0; i < c->at->count && !c->at->shown; i++) /* its arrays are hidden */
        if (c->at->list[i].text[0] == '[')
            append_size(&text, c->at->list[i].name, c->at->list[i].text);
    return text ? text : need_text("%s", "");
}

struct formula_of_case {
    const struct case_at_hand *at;
    double solution;
};

static bool name_value(void *user, const char *name, double *out)
{
    const struct formula_of_case *f = user;
    tw_value v;
    if (strcmp(name, "solution") == 0) {
        *out = f->solution;
        return f->solution >= 0;
    }
    if (tw_launch_value(f->at->launch, name, &v) != TW_OK)
        return false;
    *out = v.kind == TW_FLOAT ? v.f : (double)v.i;
    return true;
}

const char *case_formula(const struct case_at_hand *c, const char *text, double solution,
                         double *out)
{
    struct formula_of_case f = {c, solution};
    struct formula_names names = {name_value, &f};
    const char *wrong = formula_value(&text, &names, out);
    return !wrong && *text ? "there is something after the expression" : wrong;
}
