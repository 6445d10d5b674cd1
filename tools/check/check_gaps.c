/* Reports the parts of a kernel that `check` could not check, if it found no error, so that the
 * kernel does not look fully checked. */
#include "check/check.h"

#include "cli/tensor.h"

#include <stdlib.h>
#include <string.h>

void check_ask_undecided(struct check *c)
{
    const char *why = tw_launch_undecided(c->launch);
    if (!why)
        return;
    char *where = space_text(&c->space);
    remarks_add(&c->undecided,
                need_text("not decided whether accesses to shared memory race: %s", why), where);
    c->undecided_races = true;
    free(where);
}

static struct check_output *output_named(struct check *c, const struct operand *o)
{
    for (int i = 0; i < c->output_count; i++)
        if (strcmp(c->outputs[i].name, o->param.name) == 0)
            return &c->outputs[i];
    struct check_output *x = ADD_NEW(c->outputs, c->output_count);
    *x = (struct check_output){.name = o->param.name, .dtype = o->array.dtype};
    memcpy(&x->value, o->array.data, tw_dtype_size(x->dtype));
    return x;
}

void check_take_outputs(struct check *c, const struct operands *arrays)
{
    for (int i = 0; i < arrays->count; i++) {
        const struct operand *o = &arrays->list[i];
        int64_t elements = tensor_elements(&o->array);
        if (elements == 0 || !check_may_hold_anything(c, &o->param))
            continue;
        struct check_output *x = output_named(c, o);
        x->varies |= x->dtype != o->array.dtype ||
                     (elements > 1 && !tensor_is_uniform(&o->array)) ||
                     memcmp(&x->value, o->array.data, tw_dtype_size(x->dtype)) != 0;
        x->elements += elements;
    }
}

/* Returns whether the kernel reads an array. */
static bool has_inputs(const struct check *c)
{
    tw_param p = tw_param_init();
    bool found = false;
    for (int i = 0; tw_kernel_param(c->kernel, i, &p) == TW_OK; i++)
        found |= p.is_pointer && p.is_const;
    return found;
}

/* Returns an output that had one value in all runs, although the kernel reads an array; NULL:
 * there is none. */
static const struct check_output *find_uniform(const struct check *c)
{
    int count = has_inputs(c) ? c->output_count : 0;
    for (int i = 0; i < count; i++)
        if (!c->outputs[i].varies && c->outputs[i].elements > 1)
            return &c->outputs[i];
    return NULL;
}

static void say_uniform(const struct check *c, const struct check_output *x)
{
    char text[40];
    uint64_t value = x->value;
    tw_array one = tw_array_init();
    one.data = &value;
    one.dtype = x->dtype;
    tensor_element_text(text, sizeof text, &one, 0);
    complain(NULL,
             "%s: every value of `%s` is %s in all runs, so a kernel that stores only this would "
             "pass, too (--fill gives other inputs)",
             c->name, x->name, text);
}

/* Returns false with -v, because another line then reports it. */
static bool says(const struct check *c)
{
    return !c->to_json && (!c->verbose || c->strict);
}

/* Prints "NAME AFTER_IT: REMARK", for the first remark. */
static void say_first(const struct check *c, const char *after_it, const struct remarks *remarks)
{
    char *line = remark_line(&remarks->list[0]);
    complain(NULL, "%s%s: %s", c->name, after_it, line);
    free(line);
}

void check_say_gaps(struct check *c)
{
    bool ran = c->runs || c->simulated, compared = tw_kernel_has_ensures(c->kernel);
    bool simulated = c->no_sim || c->simulated;
    bool says_simulated = simulated || c->warned_of_refused; /* or that it is not */
    if (c->status != STATUS_OK)
        return;
    if (says(c) && ran && !compared)
        complain(NULL, "%s has no `ensures`: its values are not compared", c->name);
    if (says(c) && c->undecided_races)
        say_first(c, "", &c->undecided);
    if (says(c) && ran && c->unreached.count)
        say_first(c, "", &c->unreached);
    if (says(c) && c->runs && !says_simulated && c->not_simulated.count)
        say_first(c, " is not simulated", &c->not_simulated);
    else if (says(c) && c->runs && !says_simulated)
        complain(NULL, "%s is not simulated", c->name);
    c->uniform = find_uniform(c);
    if (!c->to_json && c->uniform)
        say_uniform(c, c->uniform);
    bool whole = c->no_run || (ran && compared && simulated && !c->uniform);
    if (c->strict && (!whole || c->undecided_races))
        check_worse(c, STATUS_FAILED, TW_UNSUPPORTED);
}
