/* The layout of shared memory that each kernel gets, of the variables that it reaches: first the
 * system's reserved part if the kernel asks for it, then static variables, then all those of unknown
 * size at one place, the start of the dynamic shared memory. */
#include "sim/sim_machine.h"

static void add_shared(struct sim *sim, struct sim_program *p, const struct ptx_variable *v,
                       uint64_t offset)
{
    bool added;
    vec_push(sim->arena, &p->shared, ((struct sim_shared){v, offset}));
    number_map_entry(sim->arena, &p->shared_at, (uintptr_t)v, &added)->value = offset;
}

static void lay_out_shared(struct sim *sim, struct sim_program *p, const struct ptx_reach *r)
{
    p->reserved_shared = r->reserved ? SIM_RESERVED_BYTES : 0;
    uint64_t at = p->reserved_shared, alignment = 16;
    for (size_t i = 0; i < r->variables.count; i++) {
        const struct ptx_variable *v = r->variables.data[i];
        uint64_t size = ptx_variable_size(v), to = ptx_variable_alignment(v);
        if (!sim_is_shared(v))
            continue;
        if (!size || v->linkage == PTX_EXTERN) {
            alignment = to > alignment ? to : alignment;
            continue;
        }
        at = (at + to - 1) / to * to;
        add_shared(sim, p, v, at);
        at += size;
    }
    p->static_shared = at - p->reserved_shared;
    p->dynamic_at = (at + alignment - 1) / alignment * alignment;
    for (size_t i = 0; i < r->variables.count; i++) {
        const struct ptx_variable *v = r->variables.data[i];
        if (sim_is_shared(v) && (!ptx_variable_size(v) || v->linkage == PTX_EXTERN))
            add_shared(sim, p, v, p->dynamic_at);
    }
}

struct sim_program *sim_program_of(struct sim *sim, const struct ptx_function *kernel, int target)
{
    for (struct sim_program *p = sim->programs; p; p = p->next)
        if (p->kernel == kernel && p->target == target)
            return p;
    struct sim_program *p = arena_new(sim->arena, struct sim_program);
    struct ptx_reach r = {.arena = sim->arena, .module = sim->module};
    ptx_reach(&r, kernel);
    lay_out_shared(sim, p, &r);
    p->reached = r.seen;
    for (size_t i = 0; i < r.variables.count; i++)
        if (sim_is_elsewhere(r.variables.data[i]))
            p->elsewhere = r.variables.data[i];
    p->kernel = kernel;
    p->target = target;
    p->parameter_bytes = sim_layout(&kernel->signature, NULL);
    p->next = sim->programs;
    sim->programs = p;
    sim->program = p;
    p->kernel_code = sim_code_of(sim, kernel);
    return p;
}
