#include "learn/learn_judged.h"
#include "cli/tensor.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

const char *const size_options[] = {[SIZE_SET] = "set", [SIZE_TUNE] = "tune", [SIZE_TYPE] = "type"};

static bool *marks_of(const tw_array *a)
{
    size_t bytes = (size_t)tensor_elements(a) * sizeof(bool);
    bool *marks = need_memory(bytes);
    memset(marks, 0, bytes);
    return marks;
}

static void *copy_of(const void *data, size_t bytes)
{
    void *copy = need_memory(bytes);
    memcpy(copy, data, bytes);
    return copy;
}

void judged_case_arrays(struct judged_case *c, const struct case_arrays *x, bool known)
{
    judged_case_forget(c);
    c->arrays = need_memory((size_t)x->count * sizeof *c->arrays);
    for (int i = 0; i < x->count; i++) {
        const struct case_array *a = &x->list[i];
        size_t bytes = tensor_bytes(&a->array);
        struct shown_array *s = &c->arrays[c->array_count++];
        *s = (struct shown_array){.name = need_text("%s", a->param.name),
                                  .array = a->array,
                                  .expected = a->array,
                                  .known = known || a->param.is_const,
                                  .given = a->given,
                                  .wrong = marks_of(&a->array),
                                  .unwritten = marks_of(&a->array)};
        s->array.data = copy_of(a->param.is_const ? a->start : a->array.data, bytes);
        s->expected.data = copy_of(a->expected, bytes);
        if (a->param.is_const)
            s->expected.rank = -1;
    }
}

void judged_case_wrong(void *judged_case, const tw_wrong *w)
{
    struct judged_case *c = judged_case;
    for (int i = 0; i < c->array_count; i++) {
        struct shown_array *s = &c->arrays[i];
        if (strcmp(s->name, w->param) == 0 && w->element >= 0 &&
            w->element < tensor_elements(&s->array))
            s->wrong[w->element] = true;
    }
}

void judged_case_forget(struct judged_case *c)
{
    for (int i = 0; i < c->array_count; i++) {
        free(c->arrays[i].name);
        free(c->arrays[i].array.data);
        free(c->arrays[i].expected.data);
        free(c->arrays[i].wrong);
        free(c->arrays[i].unwritten);
    }
    free(c->arrays);
    c->arrays = NULL;
    c->array_count = 0;
}

void judged_case_free(struct judged_case *c)
{
    judged_case_forget(c);
    for (int i = 0; i < c->size_count; i++) {
        free(c->sizes[i].name);
        free(c->sizes[i].value);
    }
    free(c->sizes);
    c->sizes = NULL;
    c->size_count = 0;
}

struct judged_case *judgement_case(const struct judgement *x)
{
    return x->tried ? &x->judged[x->tried - 1] : NULL;
}

bool judgement_at_solution(const struct judgement *x)
{
    for (int i = 0; i < x->counter_count; i++) {
        const struct counts *c = &x->counters[i].all;
        if (x->counters[i].at_least ? c->answer < c->solution : c->answer > c->solution)
            return false;
    }
    return x->passed;
}

void judged_case_sizes_json(const struct judged_case *c, struct json *j)
{
    for (int kind = SIZE_SET; kind <= SIZE_TYPE; kind++) {
        json_open_object(j, size_options[kind]);
        for (int i = 0; i < c->size_count; i++) {
            const struct case_size *s = &c->sizes[i];
            if ((int)s->kind != kind)
                continue;
            json_key(j, s->name);
            if (kind == SIZE_TYPE)
                json_string(j, s->value);
            else
                json_number(j, s->value);
        }
        json_close(j, '}');
    }
}

void judgement_free(struct judgement *x)
{
    for (int i = 0; i < x->cases && x->judged; i++)
        judged_case_free(&x->judged[i]);
    free(x->judged);
    for (int i = 0; i < x->counter_count; i++) {
        free(x->counters[i].counter);
        free(x->counters[i].why);
    }
    free(x->counters);
    problems_free(&x->problems);
    free(x->sizes);
    free(x->wrong_values);
    free(x->warnings);
    free(x->printed);
    *x = (struct judgement){0};
}
