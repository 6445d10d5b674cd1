#include "learn/learn_arrays.h"
#include "cli/target.h"
#include "cli/tensor.h"

#include <stdlib.h>
#include <string.h>

/* "[0,1,2,3]" */
static bool read_list(const char *text, const tw_array *a)
{
    int64_t n = tensor_elements(a);
    const char *at = text + 1;
    for (int64_t i = 0; i < n; i++) {
        char *end;
        double v = strtod(at, &end);
        if (end == at || *end != (i + 1 < n ? ',' : ']'))
            return false;
        tw_dtype_store(a->dtype, (char *)a->data + (size_t)i * tw_dtype_size(a->dtype), v);
        at = end + 1;
    }
    return n > 0 && !*at;
}

static char *fill(struct case_array *a, const char *text, uint64_t seed)
{
    if (*text == '[') {
        if (read_list(text, &a->array))
            return NULL;
        return need_text("%s=%s: not a list of its %lld elements", a->param.name, text,
                         (long long)tensor_elements(&a->array));
    }
    enum fill kind = fill_from_name(text);
    if (kind == FILL_NONE)
        return need_text("%s=%s: neither a list nor rand, iota, ones or zero", a->param.name, text);
    tensor_fill(&a->array,
                &(struct fill_options){.kind = kind, .seed = seed, .scale = 2, .limit = 8});
    return NULL;
}

static char *make(struct case_array *a, tw_launch *l, const struct puzzle_case *c, uint64_t seed)
{
    a->array = tw_array_init();
    if (tw_launch_shape(l, a->param.name, &a->array) != TW_OK)
        return need_text("the shape of %s is not known", a->param.name);
    if (!tensor_allocate(&a->array))
        return need_text("no memory for %s", a->param.name);
    size_t bytes = tensor_bytes(&a->array);
    const char *text = case_value(c, a->param.name);
    a->start = need_memory(bytes);
    a->expected = need_memory(bytes);
    a->given = text || a->param.is_const;
    char *wrong = a->given ? fill(a, text ? text : "rand", seed) : NULL;
    memcpy(a->start, a->array.data, bytes);
    return wrong;
}

char *case_arrays_make(struct case_arrays *x, tw_kernel *k, tw_launch *l,
                       const struct puzzle_case *c, uint64_t seed)
{
    char *wrong = NULL;
    tw_param p = tw_param_init();
    *x = (struct case_arrays){0};
    x->list = need_memory((size_t)tw_kernel_param_count(k) * sizeof *x->list);
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK && !wrong; i++) {
        if (!p.is_pointer)
            continue;
        x->list[x->count].param = p;
        wrong = make(&x->list[x->count++], l, c, seed + (uint64_t)i);
    }
    return wrong;
}

void case_arrays_free(struct case_arrays *x)
{
    for (int i = 0; i < x->count; i++) {
        free(x->list[i].array.data);
        free(x->list[i].start);
        free(x->list[i].expected);
    }
    free(x->list);
    *x = (struct case_arrays){0};
}

void case_arrays_start(struct case_arrays *x, int byte)
{
    for (int i = 0; i < x->count; i++) {
        struct case_array *a = &x->list[i];
        if (a->given)
            memcpy(a->array.data, a->start, tensor_bytes(&a->array));
        else
            memset(a->array.data, byte, tensor_bytes(&a->array));
    }
}

void case_arrays_expect(struct case_arrays *x)
{
    for (int i = 0; i < x->count; i++)
        memcpy(x->list[i].expected, x->list[i].array.data, tensor_bytes(&x->list[i].array));
}

const struct case_array *case_arrays_overwritten(const struct case_arrays *x)
{
    for (int i = 0; i < x->count; i++) {
        const struct case_array *a = &x->list[i];
        if (a->param.is_const && memcmp(a->array.data, a->start, tensor_bytes(&a->array)) != 0)
            return a;
    }
    return NULL;
}

int64_t case_array_unwritten(const struct case_array *a, int byte, bool *marks)
{
    size_t size = tw_dtype_size(a->array.dtype);
    int64_t n = tensor_elements(&a->array), count = 0;
    unsigned char untouched[16];
    memset(untouched, byte, sizeof untouched);
    for (int64_t i = 0; i < n && !a->given; i++) {
        size_t at = (size_t)i * size;
        marks[i] = memcmp((char *)a->array.data + at, untouched, size) == 0 &&
                   memcmp((char *)a->expected + at, untouched, size) != 0;
        count += marks[i];
    }
    return count;
}

bool case_array_remembers(const struct case_array *a, int byte, const void *on_zeros)
{
    size_t size = tw_dtype_size(a->array.dtype);
    int64_t n = tensor_elements(&a->array);
    unsigned char untouched[16];
    memset(untouched, byte, sizeof untouched);
    for (int64_t i = 0; i < n && !a->given; i++) {
        const char *now = (char *)a->array.data + (size_t)i * size;
        if (memcmp(now, untouched, size) != 0 &&
            memcmp(now, (const char *)on_zeros + (size_t)i * size, size) != 0)
            return true;
    }
    return false;
}

tw_status case_arrays_give(const struct case_arrays *x, tw_launch *l)
{
    tw_status s = TW_OK;
    for (int i = 0; i < x->count && s == TW_OK; i++)
        s = tw_launch_array(l, x->list[i].param.name, &x->list[i].array);
    return s;
}
