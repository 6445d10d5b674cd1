/* show --kernels: the kernels of a file with their parameters, tuned values and types. */
#include "show_kernels.h"
#include "json.h"

static void json_scalar(struct json *j, tw_scalar v)
{
    if (v.is_float)
        json_real(j, v.f);
    else
        json_integer(j, v.i);
}

static void json_params(struct json *j, tw_kernel *k)
{
    json_key(j, "parameters");
    json_open(j, '[');
    tw_param p;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        json_open(j, '{');
        json_put_text(j, "name", p.name);
        json_put_bool(j, "array", p.is_pointer);
        json_put_bool(j, "const", p.is_const);
        json_put_bool(j, "static", p.is_static);
        json_put_bool(j, "ensured", p.is_ensured);
        json_put_text(j, "type", p.dtype == TW_DTYPE_NONE ? p.type_name : tw_dtype_name(p.dtype));
        json_key(j, "shape");
        json_open(j, '[');
        for (int axis = 0; axis < p.rank; axis++)
            json_string(j, p.dims[axis]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_tuned(struct json *j, tw_kernel *k)
{
    json_key(j, "tune");
    json_open(j, '[');
    tw_tune t;
    for (int i = 0; tw_kernel_tune(k, i, &t) == TW_OK; i++) {
        json_open(j, '{');
        json_put_text(j, "name", t.name);
        json_put_integer(j, "group", t.group);
        json_key(j, "values");
        json_open(j, '[');
        for (int n = 0; n < t.count; n++)
            json_scalar(j, t.values[n]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_types(struct json *j, tw_kernel *k)
{
    json_key(j, "types");
    json_open(j, '[');
    tw_type t;
    for (int i = 0; tw_kernel_type(k, i, &t) == TW_OK; i++) {
        json_open(j, '{');
        json_put_text(j, "name", t.name);
        json_key(j, "choices");
        json_open(j, '[');
        for (int n = 0; n < t.count; n++)
            json_string(j, tw_dtype_name(t.choices[n]));
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

void show_kernels_json(const struct program *p)
{
    struct json j = {.out = stdout};
    json_open(&j, '[');
    tw_kernel *k;
    for (int i = 0; (k = tw_module_kernel_at(p->module, i)); i++) {
        json_open(&j, '{');
        json_put_text(&j, "kernel", tw_kernel_name(k));
        json_put_bool(&j, "ensures", tw_kernel_has_ensures(k));
        json_put_bool(&j, "thread_level", tw_kernel_thread_level(k));
        json_params(&j, k);
        json_tuned(&j, k);
        json_types(&j, k);
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

static void print_param(const tw_param *p)
{
    const char *type = p->dtype == TW_DTYPE_NONE ? p->type_name : tw_dtype_name(p->dtype);
    print_text(stdout, "  %s%s%s%s %s", p->is_static ? "static " : "", p->is_const ? "const " : "",
               type, p->is_pointer ? " *" : "", p->name);
    for (int axis = 0; axis < p->rank; axis++)
        print_text(stdout, "[%s]", p->dims[axis]);
    puts(p->is_ensured ? "  (ensured)" : "");
}

void show_kernels(const struct program *p)
{
    tw_kernel *k;
    for (int i = 0; (k = tw_module_kernel_at(p->module, i)); i++) {
        print_text(stdout, "%s\n", tw_kernel_name(k));
        tw_param param;
        for (int n = 0; tw_kernel_param(k, n, &param) == TW_OK; n++)
            print_param(&param);
        tw_tune tune;
        for (int n = 0; tw_kernel_tune(k, n, &tune) == TW_OK; n++)
            print_values(&tune);
        tw_type type;
        for (int n = 0; tw_kernel_type(k, n, &type) == TW_OK; n++) {
            print_text(stdout, "  type %s = {", type.name);
            for (int c = 0; c < type.count; c++)
                printf("%s%s", c ? ", " : "", tw_dtype_name(type.choices[c]));
            puts("}");
        }
    }
}
