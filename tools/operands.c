#include "operands.h"
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

int64_t index_limit(const tw_array *array, int64_t limit)
{
    for (int i = 0; i < array->rank; i++)
        if (array->shape[i] > 0 && array->shape[i] < limit)
            limit = array->shape[i];
    return limit;
}

void operands_forget(tw_launch *l, tw_kernel *k)
{
    tw_param p;
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
        tw_kernel_param(k, i, &o->param);
        x->count += o->param.is_pointer;
    }
    for (int i = 0; i < x->count; i++) {
        struct operand *o = &x->list[i];
        tw_status s = tw_launch_shape(l, o->param.name, &o->array);
        if (s != TW_OK)
            return s;
        *limit = index_limit(&o->array, *limit);
    }
    return TW_OK;
}

tw_status operands_make(struct operands *x, tw_launch *l, tw_kernel *k, uint64_t seed, double scale)
{
    int64_t limit = 8;
    double bytes = 0;
    *x = (struct operands){0};
    operands_forget(l, k);
    tw_status s = find_shapes(x, l, k, &limit);
    for (int i = 0; i < x->count && s == TW_OK; i++)
        if (!tensor_fits(&x->list[i].array, &bytes) || !tensor_allocate(&x->list[i].array))
            return TW_NO_MEMORY;
    for (int i = 0; i < x->count && s == TW_OK; i++) {
        struct operand *o = &x->list[i];
        if (o->param.is_const)
            tensor_fill(&o->array, &(struct fill_options){.kind = FILL_RAND,
                                                          .seed = seed + (uint64_t)i,
                                                          .scale = scale,
                                                          .limit = limit});
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

void operands_reset(struct operands *x)
{
    for (int i = 0; i < x->count; i++)
        if (!x->list[i].param.is_const)
            memset(x->list[i].array.data, 0, tensor_bytes(&x->list[i].array));
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
