/* The parameters of a kernel: the program's, addresses of workspaces and of tickets, tensor maps. */
#include "emit/emit_own.h"

#include <string.h>

/* Returns a number that certainly divides a parameter; 0: none is known. */
static uint32_t divisor_of(struct emit *m, const struct lowered_param *p)
{
    enum { POINTER = 16, WORKSPACE = 256, MOST = 4096 };
    const int *given = m->options->alignment;
    if (p->kind == LOWERED_WORKSPACE)
        return WORKSPACE;
    if (p->kind == LOWERED_TICKET)
        return sizeof(uint32_t);
    if (p->kind == LOWERED_POINTER)
        return given ? (uint32_t)given[p->sym->index] : POINTER;
    if (!dtype_is_int(p->sym->type.dtype))
        return 0;
    const struct expr e = {.op = OP_REF, .type = p->sym->type, .sym = (struct sym *)p->sym};
    const struct facts f = emit_facts_of(m, &e);
    const int64_t divides = facts_divisor(&f), power = divides & -divides;
    return divides == 0 || power > MOST ? MOST : power > 1 ? (uint32_t)power : 0;
}

static struct thread_value *add_parameter(struct emit *m, enum lowered_param_kind kind,
                                          const struct sym *s, const struct lowered_map *map)
{
    enum dtype t = kind == LOWERED_MAP ? DT_NONE : kind == LOWERED_SCALAR ? s->type.dtype : DT_U64;
    bool added;
    struct lowered_param p = {.kind = kind, .sym = s, .map = map};
    struct thread_value *v = thread_new_value(&m->b, (struct thread_type){.dtype = t, .count = 1});
    v->name = kind == LOWERED_MAP
                  ? arena_printf(m->arena, "map_%s_%d", s->name, (int)m->map_list.count)
              : kind == LOWERED_TICKET ? kernel_unused_name(m->kernel, "ticket")
                                       : s->name;
    vec_push(m->arena, &m->out->params, p);
    vec_push(m->arena, &m->function_parameters, v);
    if (!m->roles)
        v->divisor = divisor_of(m, &p);
    if (kind == LOWERED_MAP || kind == LOWERED_TICKET)
        return v;
    struct scalar *scalar = arena_new(m->arena, struct scalar);
    *scalar = (struct scalar){thread_use(v), t};
    number_map_entry(m->arena, &m->fixed, (uintptr_t)s, &added)->value = (uintptr_t)scalar;
    return v;
}

void emit_list_parameters(struct emit *m)
{
    for (const struct param *p = m->kernel->params; p; p = p->next) {
        if (p->sym->is_static && p->sym->has_value)
            continue;
        add_parameter(m, p->sym->is_pointer ? LOWERED_POINTER : LOWERED_SCALAR, p->sym, NULL);
    }
    for (const struct sym *s = m->kernel->symbols; s; s = s->next)
        if (s->storage == ST_VIEW && !s->base)
            add_parameter(m, LOWERED_WORKSPACE, s, NULL);
    if (!m->roles && emit_draws(m))
        m->ticket = add_parameter(m, LOWERED_TICKET, NULL, NULL);
}

struct thread_operand emit_map(struct emit *m, const struct sym *view, const int *box, int swizzle)
{
    for (size_t i = 0; i < m->map_list.count; i++) {
        const struct map_param *p = &m->map_list.data[i];
        if (p->view == view && p->map->swizzle == swizzle &&
            memcmp(p->map->box, box, sizeof p->map->box) == 0)
            return thread_use(p->value);
    }
    struct lowered_map *map = arena_new(m->arena, struct lowered_map);
    map->rank = view->type.rank;
    map->swizzle = swizzle;
    memcpy(map->box, box, sizeof map->box);
    struct map_param p = {view, map, add_parameter(m, LOWERED_MAP, view, map)};
    vec_push(m->arena, &m->map_list, p);
    return thread_use(p.value);
}

struct thread_operand emit_base(struct emit *m, const struct sym *view)
{
    const struct sym *memory = view->base ? view->base : view;
    const struct number_entry *found = number_map_find(&m->fixed, (uintptr_t)memory);
    struct scalar base = *(const struct scalar *)(uintptr_t)found->value;
    if (view->base_offset) {
        struct scalar bytes =
            emit_op2(m, THREAD_MUL, DT_I64, emit_as(m, emit_scalar(m, view->base_offset), DT_I64),
                     emit_constant(DT_I64, (int64_t)dtype_size(view->type.dtype)));
        base = emit_op2(m, THREAD_ADD, DT_U64, base, emit_as(m, bytes, DT_U64));
    }
    return base.o;
}
