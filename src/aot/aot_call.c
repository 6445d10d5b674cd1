/* Parameters and calls of the functions in NAME.c. */
#include "aot/aot.h"

void aot_scalars(struct text *out, const struct aot_function *f)
{
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_pointer)
            text_printf(out, ", %s %s", aot_c_type(f->params[i].dtype), f->params[i].c_name);
    text_add(out, ")\n{\n");
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_pointer)
            text_printf(out, "    (void)%s;\n", f->params[i].c_name);
}

void aot_call(struct text *out, const struct aot_function *f, const char *function, int index,
              const char *first)
{
    text_printf(out, "%s_%d(%s", function, index, first);
    for (int i = 0; i < f->param_count; i++)
        if (!f->params[i].is_pointer)
            text_printf(out, ", %s", f->params[i].c_name);
    text_add(out, ")");
}

void aot_take_clusters(struct text *out, const struct aot_build *b, const struct aot_function *f,
                       const char *indent, const char *module, const char *version)
{
    int param = aot_clusters_param(b, f);
    if (param >= 0)
        text_printf(out, "%saot_values[%d] = (uint64_t)%s->clusters[%s];\n", indent, param, module,
                    version);
}
