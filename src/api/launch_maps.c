/* Tensor maps of launches: found from the view's place and shape, encoded by the driver or for the
 * simulator. The code of a map depends only on its request (base/view_map.h), so each thread keeps
 * the codes that the driver made latest. */
#include "api/launch_params.h"

#include <string.h>

static _Thread_local struct map_cache latest;

bool launch_map_code(const struct cuda_encoder *e, const struct map_request *map, enum dtype type,
                     int *result, uint64_t code[MAP_WORDS])
{
    const uint64_t *known = map_cached(&latest, map);
    *result = 0;
    if (known) {
        memcpy(code, known, MAP_WORDS * sizeof *code);
        return true;
    }
    const struct tensor_map whole = tensor_map_of(map, type);
    if (!cuda_encode_map(e, &whole, result, code))
        return false;
    map_keep(&latest, map, code);
    return true;
}

static tw_status refuse(tw_launch *l, const struct sym *view, const struct map_refusal *why)
{
    struct diag *d = &l->ctx->diag;
    diag_error(d, view->loc, "%s", why->text);
    diag_code(d, CODE_ARGUMENT);
    diag_note(d, view->loc, "%s", why->way_out);
    return TW_BAD_ARGUMENT;
}

static tw_status encode_one(tw_launch *l, const struct launch_params *params,
                            const struct launch_param *p, launch_encode *encode, void *user)
{
    struct launch_map *m = p->map;
    struct map_request request;
    struct map_refusal why;
    uint64_t base = params->list[m->memory].value;
    tw_status status = TW_OK;
    if (m->encoded && m->address == base)
        return TW_OK;
    m->encoded = false;
    switch (map_find(&m->form, base, m->sizes.offset, m->sizes.extent, m->sizes.stride, &request,
                     &why)) {
    case MAP_READY: status = encode(user, &request, p->sym->type.dtype, m->code); break;
    case MAP_EMPTY: memset(m->code, 0, MAP_WORDS * sizeof *m->code); break;
    case MAP_REFUSED: return refuse(l, p->sym, &why);
    }
    m->address = base;
    m->encoded = status == TW_OK;
    return status;
}

tw_status launch_maps_encode(tw_launch *l, struct launch_params *params, launch_encode *encode,
                             void *user)
{
    tw_status status = TW_OK;
    for (int i = 0; i < params->count && status == TW_OK; i++)
        if (params->list[i].kind == LOWERED_MAP)
            status = encode_one(l, params, &params->list[i], encode, user);
    return status;
}

/* --- for the simulator --- */

static tw_status encode_simulated(void *user, const struct map_request *map, enum dtype type,
                                  uint64_t code[MAP_WORDS])
{
    const struct tensor_map whole = tensor_map_of(map, type);
    char problem[TENSOR_MAP_MESSAGE];
    tw_launch *l = user;
    if (!tensor_map_check(&whole, problem)) {
        diag_error(&l->ctx->diag, l->kernel->info->loc, "kernel `%s`: %s", l->kernel->info->name,
                   problem);
        return TW_BAD_ARGUMENT;
    }
    tensor_map_encode(&whole, (uint8_t *)code);
    return TW_OK;
}

tw_status launch_maps_simulated(tw_launch *l, struct launch_params *params)
{
    return launch_maps_encode(l, params, encode_simulated, l);
}

/* --- before a kernel is lowered --- */

struct copied {
    struct arena *arena;
    VEC(const struct sym *) views;
};

static void note_copied(void *user, struct stmt *s)
{
    struct copied *c = user;
    if (s->kind != STMT_ASYNC_COPY)
        return;
    bool writes = s->target->sym->storage == ST_VIEW;
    const struct sym *view = writes ? s->target->sym : s->value->sym;
    if (!writes && !s->barrier)
        return;
    for (size_t i = 0; i < c->views.count; i++)
        if (c->views.data[i] == view)
            return;
    vec_push(c->arena, &c->views, view);
}

void launch_copied_views_find(struct copied_views *v, struct arena *a, const struct kernel *k)
{
    struct copied c = {.arena = a};
    *v = (struct copied_views){.count = 0};
    stmt_walk(k->body, note_copied, &c);
    struct map_form *forms = arena_array(a, struct map_form, c.views.count + 1);
    for (size_t i = 0; i < c.views.count; i++) {
        const struct sym *view = c.views.data[i];
        forms[i] = (struct map_form){.view = view->name,
                                     .element = (int32_t)dtype_size(view->type.dtype),
                                     .rank = view->type.rank,
                                     .strided = view->strides[0] != NULL};
    }
    v->count = (int)c.views.count;
    v->forms = forms;
    launch_sizes_compile_all(&v->sizes, a, k, c.views.data, v->count);
}

bool launch_copied_views_fit(const struct copied_views *v, const uint64_t *values)
{
    for (int i = 0; i < v->count; i++) {
        struct view_sizes sizes;
        struct map_request request;
        struct map_refusal why;
        if (v->forms[i].rank > MAP_AXES || !launch_sizes_view(&v->sizes, i, values, &sizes) ||
            map_find(&v->forms[i], 0, sizes.offset, sizes.extent, sizes.stride, &request, &why) ==
                MAP_REFUSED)
            return false;
    }
    return true;
}
