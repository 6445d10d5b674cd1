/* Implements show --kernels: lists the kernels of a file with their parameters, tuned values and
 * types. */
#include "show/show_kernels.h"
#include "cli/json.h"
#include "cli/kernel_name.h"
#include "ptx/ptx_params.h"
#include "tilewright_look.h"

#include <stdlib.h>
#include <string.h>

static void json_scalar(struct json *j, tw_value v)
{
    if (v.kind == TW_FLOAT)
        json_real(j, v.f);
    else
        json_integer(j, v.i);
}

static void json_params(struct json *j, tw_kernel *k)
{
    json_open_list(j, "parameters");
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        json_open(j, '{');
        json_put_text(j, "name", p.name);
        json_put_bool(j, "array", p.is_pointer);
        json_put_bool(j, "const", p.is_const);
        json_put_bool(j, "static", p.is_static);
        json_put_bool(j, "ensured", p.is_ensured);
        if (p.default_value.kind) {
            json_key(j, "default");
            json_scalar(j, p.default_value);
        }
        if (p.derived)
            json_put_text(j, "derived", p.derived);
        json_put_text(j, "type", p.dtype == TW_DTYPE_NONE ? p.type_name : tw_dtype_name(p.dtype));
        json_open_list(j, "shape");
        for (int axis = 0; axis < p.rank; axis++)
            json_string(j, p.dims[axis]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_tuned(struct json *j, tw_kernel *k)
{
    json_open_list(j, "tune");
    tw_tune t = tw_tune_init();
    for (int i = 0; tw_kernel_tune(k, i, &t) == TW_OK; i++) {
        json_open(j, '{');
        json_put_text(j, "name", t.name);
        json_put_integer(j, "group", t.group);
        json_open_list(j, "values");
        for (int n = 0; n < t.count; n++)
            json_scalar(j, t.values[n]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

void json_types(struct json *j, tw_kernel *k)
{
    json_open_list(j, "types");
    tw_type t = tw_type_init();
    for (int i = 0; tw_kernel_type(k, i, &t) == TW_OK; i++) {
        json_open(j, '{');
        json_put_text(j, "name", t.name);
        json_open_list(j, "choices");
        for (int n = 0; n < t.count; n++)
            json_string(j, tw_dtype_name(t.choices[n]));
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* Adds an expression's place, and its operands by name. */
static void json_expression(struct json *j, const tw_expression *e)
{
    json_open(j, '{');
    json_put_integer(j, "line", e->line);
    json_put_integer(j, "column", e->column);
    json_put_integer(j, "length", e->length);
    if (e->name)
        json_put_text(j, "name", e->name);
    if (e->is_number)
        json_put_integer(j, "number", e->number);
    if (e->op) {
        json_put_text(j, "op", e->op);
        json_key(j, "left");
        json_expression(j, e->left);
        json_key(j, "right");
        json_expression(j, e->right);
    }
    json_close(j, '}');
}

static void json_expressions(struct json *j, int count, const tw_expression *list)
{
    json_open(j, '[');
    for (int i = 0; i < count; i++)
        json_expression(j, &list[i]);
    json_close(j, ']');
}

static void json_shared(struct json *j, const tw_shared_array *a)
{
    json_open(j, '{');
    json_put_text(j, "name", a->name);
    json_put_integer(j, "line", a->line);
    json_put_integer(j, "column", a->column);
    json_key(j, "extents");
    json_expressions(j, a->rank, a->extents);
    json_put_bool(j, "by_element", a->by_element);
    json_open_list(j, "elements");
    for (int i = 0; i < a->element_count; i++)
        json_expressions(j, a->rank, a->elements[i].index);
    json_close(j, ']');
    json_close(j, '}');
}

static void json_written(struct json *j, tw_kernel *k)
{
    tw_written w = tw_written_init();
    if (tw_kernel_written(k, &w) != TW_OK)
        return;
    json_open_list(j, "shared");
    for (int i = 0; i < w.shared_count; i++)
        json_shared(j, &w.shared[i]);
    json_close(j, ']');
    json_open_list(j, "numbers");
    for (int i = 0; i < w.number_count; i++) {
        json_open(j, '{');
        json_put_text(j, "name", w.numbers[i].name);
        json_key(j, "value");
        json_expression(j, &w.numbers[i].value);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void show_kernels_json(const struct program *p)
{
    struct json j = {.out = stdout};
    json_open(&j, '[');
    tw_kernel *k;
    for (int i = 0; (k = program_kernel_at(p, i)); i++) {
        json_open(&j, '{');
        json_put_text(&j, "kernel", tw_kernel_name(k));
        json_put_bool(&j, "ensures", tw_kernel_has_ensures(k));
        json_put_bool(&j, "thread_level", tw_kernel_thread_level(k));
        json_params(&j, k);
        json_tuned(&j, k);
        json_types(&j, k);
        json_written(&j, k);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_end(&j);
}

static void print_values(const tw_tune *t)
{
    print_text(stdout, "  tune %s = {", t->name);
    for (int i = 0; i < t->count; i++) {
        char value[64];
        format_scalar(value, sizeof value, t->values[i], TW_DTYPE_NONE);
        printf("%s%s", i ? ", " : "", value);
    }
    puts("}");
}

void show_param(const tw_param *p)
{
    const char *type = p->dtype == TW_DTYPE_NONE ? p->type_name : tw_dtype_name(p->dtype);
    print_text(stdout, "  %s%s%s%s %s", p->is_static ? "static " : "", p->is_const ? "const " : "",
               type, p->is_pointer ? " *" : "", p->name);
    for (int axis = 0; axis < p->rank; axis++)
        print_text(stdout, "[%s]", p->dims[axis]);
    if (p->default_value.kind) {
        char value[64];
        format_scalar(value, sizeof value, p->default_value, p->dtype);
        printf(" = %s", value);
    }
    if (p->derived)
        print_text(stdout, " = %s", p->derived);
    puts(p->is_ensured ? "  (ensured)" : "");
}

void show_ptx_kernels_json(const struct ptx_file *f)
{
    struct json j = {.out = stdout};
    const char *name;
    json_open(&j, '[');
    for (int i = 0; (name = tw_ptx_kernel_at(f->ptx, i)); i++) {
        int block[3] = {0};
        bool asks = tw_ptx_block(f->ptx, name, block);
        tw_ptx_param p = tw_ptx_param_init();
        json_open(&j, '{');
        json_put_text(&j, "kernel", name);
        char *whole = kernel_name(name);
        json_put_text(&j, "called", tw_ptx_kernel_called(f->ptx, i));
        json_put_text(&j, "whole_name", whole ? whole : name);
        free(whole);
        json_open_numbers(&j, "block");
        for (int axis = 0; asks && axis < 3; axis++)
            json_integer(&j, block[axis]);
        json_close(&j, ']');
        json_open_list(&j, "parameters");
        for (int n = 0; tw_ptx_param_at(f->ptx, name, n, &p) == TW_OK; n++) {
            json_open(&j, '{');
            json_put_text(&j, "name", p.name);
            json_put_text(&j, "type", p.type);
            json_put_integer(&j, "bytes", (int64_t)p.bytes);
            json_put_integer(&j, "alignment", (int64_t)p.alignment);
            json_close(&j, '}');
        }
        json_close(&j, ']');
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_end(&j);
}

void show_ptx_kernels(const struct ptx_file *f)
{
    const char *name;
    for (int i = 0; (name = tw_ptx_kernel_at(f->ptx, i)); i++) {
        int block[3];
        struct ptx_file one = *f;
        struct ptx_params params;
        char *whole = kernel_name(name);
        one.kernel = need_text("%s", name);
        one.called = need_text("%s", tw_ptx_kernel_called(f->ptx, i));
        ptx_params_find(&params, &one);
        print_text(stdout, "%s", whole ? whole : name);
        if (tw_ptx_block(f->ptx, name, block))
            printf("  block %d,%d,%d", block[0], block[1], block[2]);
        if (whole)
            print_text(stdout, "  (%s)", name);
        puts("");
        for (int n = 0; n < params.count; n++) {
            char *text = ptx_param_text(&params.list[n]);
            print_text(stdout, "  %s\n", text);
            free(text);
        }
        ptx_params_free(&params);
        free(one.kernel);
        free(one.called);
        free(whole);
    }
}

void show_kernels(const struct program *p)
{
    tw_kernel *k;
    for (int i = 0; (k = program_kernel_at(p, i)); i++) {
        print_text(stdout, "%s\n", tw_kernel_name(k));
        tw_param param = tw_param_init();
        for (int n = 0; tw_kernel_param(k, n, &param) == TW_OK; n++)
            show_param(&param);
        tw_tune tune = tw_tune_init();
        for (int n = 0; tw_kernel_tune(k, n, &tune) == TW_OK; n++)
            print_values(&tune);
        tw_type type = tw_type_init();
        for (int n = 0; tw_kernel_type(k, n, &type) == TW_OK; n++) {
            print_text(stdout, "  type %s = {", type.name);
            for (int c = 0; c < type.count; c++)
                printf("%s%s", c ? ", " : "", tw_dtype_name(type.choices[c]));
            puts("}");
        }
    }
}
