#include "map_helper.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const struct map_program *program;

void map_programs(const struct map_program *p)
{
    program = p;
}

static const struct sym *symbol(const struct kernel *k, const char *name)
{
    for (const struct sym *s = k->symbols; s; s = s->next)
        if (strcmp(s->name, name) == 0)
            return s;
    abort();
}

static void add_map(struct arena *a, const struct kernel *k, const char *view, struct lowered *out)
{
    struct lowered_map *map = arena_new(a, struct lowered_map);
    const struct sym *s = symbol(k, view);
    *map = (struct lowered_map){.rank = s->type.rank, .swizzle = program->swizzle};
    for (int axis = 0; axis < map->rank; axis++)
        map->box[axis] = program->box[axis];
    vec_push(a, &out->params, ((struct lowered_param){LOWERED_MAP, s, map}));
}

/* Writes a kernel that stores its maps; `waits`: after the kernels before it. */
static void write_ptx(struct text *t, int maps, bool waits)
{
    text_printf(t, ".version 8.0\n.target %s\n", waits ? "sm_90" : "sm_80");
    text_add(t, ".address_size 64\n.visible .entry maps(\n");
    for (int i = 0; i < maps; i++) {
        text_printf(t, "    .param .align 64 .b8 map%d[128],\n", i);
        if (i == 0 && program->scalar)
            text_add(t, "    .param .u32 scalar,\n");
    }
    text_add(t, "    .param .u64 codes\n)\n{\n    .reg .b64 %rd<3>;\n");
    if (waits)
        text_add(t, "    griddepcontrol.wait;\n");
    text_add(t, "    ld.param.u64 %rd1, [codes];\n");
    for (int i = 0; i < maps; i++)
        for (int byte = 0; byte < 128; byte += 8)
            text_printf(t,
                        "    ld.param.u64 %%rd2, [map%d+%d];\n    st.global.u64 [%%rd1+%d], "
                        "%%rd2;\n",
                        i, byte, 128 * i + byte);
    text_add(t, "    ret;\n}\n");
}

static void replace(struct arena *a, const struct kernel *k, struct diag *diag, struct lowered *out)
{
    struct text text;
    struct source *source = arena_new(a, struct source);
    int maps = 0;
    out->params.count = 0;
    for (; maps < MAPS_MOST && program->map[maps]; maps++) {
        add_map(a, k, program->map[maps], out);
        if (maps == 0 && program->scalar)
            vec_push(a, &out->params,
                     ((struct lowered_param){LOWERED_SCALAR, symbol(k, program->scalar), NULL}));
    }
    vec_push(a, &out->params, ((struct lowered_param){LOWERED_POINTER, symbol(k, "codes"), NULL}));
    text_init(&text, a);
    write_ptx(&text, maps, out->begins_early);
    *source = (struct source){"maps.ptx", text.data, text.length};
    out->module = ptx_parse(a, source, diag);
    out->function = ptx_find_function(out->module, "maps");
    out->cluster = program->cluster;
    out->shared_bytes = 0;
    out->block[0] = 1;
}

bool __real_emit_kernel(struct arena *a, struct kernel *k, const struct lowered_options *options,
                        struct diag *diag, struct lowered *out);
bool __wrap_emit_kernel(struct arena *a, struct kernel *k, const struct lowered_options *options,
                        struct diag *diag, struct lowered *out);
bool __wrap_emit_kernel(struct arena *a, struct kernel *k, const struct lowered_options *options,
                        struct diag *diag, struct lowered *out)
{
    if (!__real_emit_kernel(a, k, options, diag, out))
        return false;
    if (program)
        replace(a, k, diag, out);
    return true;
}
