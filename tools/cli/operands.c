#include "cli/operands.h"
#include "cli/settings.h"
#include "cli/tensor.h"
#include "tilewright_look.h"

#include <stdlib.h>
#include <string.h>

int64_t index_limit(const tw_array *array, int64_t limit)
{
    for (int i = 0; i < array->rank; i++)
        if (array->shape[i] > 0 && array->shape[i] < limit)
            limit = array->shape[i];
    return limit;
}

enum { INTEGERS = 8 };

void limit_integers(struct fill_options *fill, tw_launch *l, const tw_param *p, int64_t least)
{
    tw_array_use use = tw_array_use_init();
    int64_t few = least < INTEGERS ? least : INTEGERS;
    fill->limit = INTEGERS;
    if (p->dtype != TW_DTYPE_NONE && is_float_type(p->dtype))
        return;
    if (tw_launch_array_use(l, p->name, &use) != TW_OK)
        use = (tw_array_use){.is_index = true, .is_computed = true};
    fill->is_index = use.is_index;
    fill->is_starts = use.is_starts;
    bool ascends = use.is_starts || fill->kind == FILL_STARTS;
    fill->extent = use.extent == 0 && ascends ? least : use.extent;
    if (use.extent > 0 && use.extent < INTEGERS)
        fill->limit = use.extent;
    if (use.is_computed && few < fill->limit)
        fill->limit = few;
}

void operands_forget(tw_launch *l, tw_kernel *k)
{
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (p.is_pointer)
            tw_launch_array(l, p.name, NULL);
}

static tw_status find_shapes(struct operands *x, tw_launch *l, tw_kernel *k, int64_t *limit)
{
    int count = tw_kernel_param_count(k);
    x->list = need_memory((size_t)count * sizeof *x->list);
    for (int i = 0; i < count; i++) {
        struct operand *o = &x->list[x->count];
        o->param = tw_param_init();
        tw_kernel_param(k, i, &o->param);
        x->count += o->param.is_pointer;
    }
    for (int i = 0; i < x->count; i++) {
        struct operand *o = &x->list[i];
        o->array = tw_array_init();
        tw_status s = tw_launch_shape(l, o->param.name, &o->array);
        if (s != TW_OK)
            return s;
        *limit = index_limit(&o->array, *limit);
    }
    return TW_OK;
}

tw_status operands_make(struct operands *x, tw_launch *l, tw_kernel *k, uint64_t seed, double scale)
{
    int64_t limit = INT64_MAX;
    double bytes = 0;
    *x = (struct operands){0};
    operands_forget(l, k);
    tw_status s = find_shapes(x, l, k, &limit);
    for (int i = 0; i < x->count && s == TW_OK; i++)
        if (!tensor_fits(&x->list[i].array, &bytes) || !tensor_allocate(&x->list[i].array))
            return TW_NO_MEMORY;
    for (int i = 0; i < x->count && s == TW_OK; i++) {
        struct operand *o = &x->list[i];
        struct fill_options fill = {.kind = FILL_RAND, .seed = seed + (uint64_t)i, .scale = scale};
        if (o->param.is_const) {
            limit_integers(&fill, l, &o->param, limit);
            tensor_fill(&o->array, &fill);
        }
        o->is_atomic = is_output(&o->param) && has_atomic(l, o->param.name);
        s = tw_launch_array(l, o->param.name, &o->array);
    }
    return s;
}

bool operands_say_no_memory(const struct operands *x, struct complaints *c)
{
    double all = 0;
    for (int i = 0; i < x->count; i++) {
        tensor_fits(&x->list[i].array, &all);
        if (!x->list[i].array.data) {
            tensor_say_no_memory(&x->list[i].array, x->list[i].param.name, all, c);
            return true;
        }
    }
    return false;
}

void operand_start(const tw_param *p, tw_array *a, uint64_t seed, const struct options *given)
{
    if (p->is_const)
        return;
    enum fill kind = settings_fill(given, p->name);
    struct fill_options fill = {.kind = kind, .seed = seed, .scale = 1, .limit = index_limit(a, 8)};
    if (kind != FILL_NONE)
        tensor_fill(a, &fill);
    else if (is_output(p))
        tensor_fill_unwritten(a, 0);
    else
        memset(a->data, 0, tensor_bytes(a));
}

void operands_start(struct operands *x, const struct options *given)
{
    for (int i = 0; i < x->count; i++)
        operand_start(&x->list[i].param, &x->list[i].array, 1 + (uint64_t)i, given);
}

bool operands_right_on_zeros(struct operands *x, tw_launch *l, const struct options *given,
                             char *why, size_t size)
{
    char *options = need_text("%s", "");
    operands_start(x, given);
    for (int i = 0; i < x->count; i++) {
        struct operand *o = &x->list[i];
        if (!is_output(&o->param) || settings_fill(given, o->param.name) != FILL_NONE)
            continue;
        memset(o->array.data, 0, tensor_bytes(&o->array));
        append_text(&options, " --fill %s=zero", o->param.name);
    }
    bool right = *options && tw_launch_run(l) == TW_OK && tw_launch_verify(l, NULL) == TW_OK;
    if (right) {
        size_t at = strlen(why);
        snprintf(why + at, size - at, "; right with%s, if the caller is to give zeros there",
                 options);
    }
    free(options);
    return right;
}

bool has_atomic(tw_launch *l, const char *array)
{
    tw_array_use use = tw_array_use_init();
    return tw_launch_array_use(l, array, &use) == TW_OK && use.is_atomic;
}

bool is_output(const tw_param *p)
{
    return p->is_ensured && !p->is_const;
}

char *output_hint(const char *const *outputs, int count)
{
    char *names = need_text("%s", ""), *options = need_text("%s", "");
    for (int i = 0; i < count; i++) {
        append_text(&names, "%s`%s`", i ? ", " : "", outputs[i]);
        append_text(&options, "%s--fill %s=zero", i ? " " : "", outputs[i]);
    }
    char *text =
        need_text("it is right where %s hold%s zeros before the launch: an element is never "
                  "written, or is read before it is; if the caller is to give zeros there, say %s",
                  names, count == 1 ? "s" : "", options);
    free(names);
    free(options);
    return text;
}

void operands_free(struct operands *x)
{
    for (int i = 0; i < x->count; i++)
        free(x->list[i].array.data);
    free(x->list);
    *x = (struct operands){0};
}

double operands_bytes(const struct operands *x)
{
    double bytes = 0;
    for (int i = 0; i < x->count; i++)
        bytes += (double)tensor_bytes(&x->list[i].array);
    return bytes;
}
