#include "cli/type_list.h"

#include <string.h>

static const tw_dtype every_type[] = {TW_F16, TW_BF16, TW_F32, TW_TF32, TW_I8, TW_E4M3};
static const struct {
    const char *name;
    tw_dtype type;
} type_names[] = {{"int8", TW_I8}, {"fp8", TW_E4M3}, {"fp16", TW_F16}, {"fp32", TW_F32}};

static int put_type(struct type_list *x, const struct command *self, tw_dtype type)
{
    if (x->count == TYPE_LIST_MOST)
        return usage_error(NULL, self, "--type: at most %d types", TYPE_LIST_MOST);
    x->list[x->count++] = type;
    return STATUS_OK;
}

static int add_type(struct type_list *x, const struct command *self, const char *name)
{
    tw_dtype type = tw_dtype_from_name(name);
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
        if (strcmp(name, type_names[i].name) == 0)
            type = type_names[i].type;
    if (type == TW_DTYPE_NONE)
        return usage_error(NULL, self,
                           "unknown type '%s'; there are f16, bf16, f32, "
                           "tf32, int8, fp8, …, and all",
                           name);
    return put_type(x, self, type);
}

/* Adds the types of --type f16,bf16 or --type all. */
static int add_types(struct type_list *x, const struct command *self, const char *text)
{
    int status = STATUS_OK;
    if (strcmp(text, "all") == 0) {
        for (size_t i = 0; i < sizeof every_type / sizeof *every_type && status == STATUS_OK; i++)
            status = put_type(x, self, every_type[i]);
        return status;
    }
    for (; *text && status == STATUS_OK; text += *text == ',') {
        char name[24];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        status = add_type(x, self, name);
        text += length;
    }
    return status;
}

int type_list_split(struct type_list *types, struct options *rest, const struct command *self,
                    const struct options *given)
{
    *rest = *given;
    rest->uses = need_memory((size_t)(given->use_count + 1) * sizeof *rest->uses);
    rest->use_count = 0;
    int status = STATUS_OK;
    for (int i = 0; i < given->use_count && status == STATUS_OK; i++) {
        const struct option_use *u = &given->uses[i];
        if (strcmp(u->spec->name, "type") == 0 && !strchr(u->values[0], '='))
            status = add_types(types, self, u->values[0]);
        else
            rest->uses[rest->use_count++] = *u;
    }
    if (types->count == 0)
        types->list[types->count++] = TW_DTYPE_NONE;
    return status;
}

bool kernel_takes_type(tw_kernel *k, tw_dtype dtype)
{
    tw_param p = tw_param_init();
    tw_type t = tw_type_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (!p.is_pointer || !p.is_const)
            continue;
        if (!p.type_name)
            return p.dtype == dtype;
        for (int v = 0; tw_kernel_type(k, v, &t) == TW_OK; v++)
            for (int c = 0; strcmp(t.name, p.type_name) == 0 && c < t.count; c++)
                if (t.choices[c] == dtype)
                    return true;
        return false;
    }
    return false;
}
