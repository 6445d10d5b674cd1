/* Loading: variables get memory, functions numbers, kernels a layout of what they reach.
 *
 * Global and constant variables are allocations of their own, so that an access beyond one's end is
 * seen. Shared ones are laid out for each kernel that reaches them: what the system reserves, where
 * the kernel asks for it, then static ones, then all those of unknown size at one place, the start
 * of the dynamic shared memory.
 */
#include "sim/sim_machine.h"

#include <string.h>

static bool is_shared(const struct ptx_variable *v)
{
    return v->space == MOD_SHARED || v->space == MOD_SHARED_CTA || v->space == MOD_SHARED_CLUSTER;
}

uint64_t sim_function_address(struct sim *sim, const struct ptx_function *f)
{
    size_t i = 0;
    while (i < sim->functions.count && sim->functions.data[i] != f)
        i++;
    if (i == sim->functions.count)
        vec_push(sim->arena, &sim->functions, f);
    return sim_address_of(SIM_NUMBER_CODE, (i + 1) * 16);
}

const struct ptx_function *sim_function_at(const struct sim *sim, uint64_t address)
{
    uint64_t at = sim_offset_of(address);
    if (sim_number_of(address) != SIM_NUMBER_CODE || at % 16 || !at ||
        at / 16 > sim->functions.count)
        return NULL;
    return sim->functions.data[at / 16 - 1];
}

static uint64_t locate(void *user, const struct ptx_variable *v, const struct ptx_function *f,
                       bool generic)
{
    uint64_t address = 0;
    if (f)
        return sim_function_address(user, f);
    sim_locate(user, v, generic, &address);
    return address;
}

/* Memory for a global or constant variable, the first time that somebody asks for it. */
static bool global_address(struct sim *sim, const struct ptx_variable *v, uint64_t *address)
{
    for (size_t i = 0; i < sim->variables.count; i++)
        if (sim->variables.data[i].variable == v) {
            *address = sim->variables.data[i].address;
            return true;
        }
    uint64_t size = ptx_variable_size(v);
    uint64_t number = sim_new_allocation(sim, size, v->name);
    if (!number)
        return false;
    struct sim_allocation *a = &sim->allocations.data[number];
    uint8_t *host = a->host;
    a->variable = v;
    a->initialised = true;
    a->constant = v->space == MOD_CONST;
    *address = sim_address_of(number, 0);
    vec_push(sim->arena, &sim->variables, ((struct sim_variable){v, *address}));
    ptx_variable_image(v, host, locate, sim);
    return true;
}

static bool shared_address(const struct sim_program *p, const struct ptx_variable *v,
                           uint64_t *offset)
{
    for (size_t i = 0; p && i < p->shared.count; i++)
        if (p->shared.data[i].variable == v) {
            *offset = p->shared.data[i].offset;
            return true;
        }
    return false;
}

bool sim_locate(struct sim *sim, const struct ptx_variable *v, bool generic, uint64_t *address)
{
    if (is_shared(v)) {
        if (!shared_address(sim->program, v, address))
            return false;
        if (generic)
            *address = sim_address_of(SIM_NUMBER_SHARED, *address);
        return true;
    }
    if (v->space == MOD_GLOBAL || v->space == MOD_CONST)
        return global_address(sim, v, address);
    return false;
}

bool sim_load(struct sim *sim, const struct ptx_module *module, const struct source *source,
              struct diag *diag)
{
    sim->module = module;
    sim->source = source;
    for (size_t i = 0; i < module->items.count; i++) {
        const struct ptx_item *item = &module->items.data[i];
        if (item->kind != PTX_ITEM_VARIABLE)
            continue;
        const struct ptx_variable *v = item->variable;
        if (v->space != MOD_GLOBAL && v->space != MOD_CONST)
            continue;
        uint64_t address;
        if (v->linkage == PTX_EXTERN || !ptx_variable_size(v)) {
            diag_error(diag, v->where, "`%s` is defined in another module", v->name);
            return false;
        }
        if (!global_address(sim, v, &address)) {
            diag_error(diag, v->where, "no memory for `%s`", v->name);
            return false;
        }
    }
    return true;
}

/* --- what a kernel reaches --- */

struct reach {
    struct sim *sim;
    VEC(const struct ptx_function *) functions;
    VEC(const struct ptx_variable *) variables;
    bool reserved; /* what the system reserves in shared memory */
};

static void reach_function(struct reach *r, const struct ptx_function *f)
{
    for (size_t i = 0; i < r->functions.count; i++)
        if (r->functions.data[i] == f)
            return;
    vec_push(r->sim->arena, &r->functions, f);
}

static void reach_variable(struct reach *r, const struct ptx_variable *v);

static void reach_initial(struct reach *r, const struct ptx_initial *init)
{
    if (init->kind == PTX_INIT_LIST) {
        for (size_t i = 0; i < init->list.count; i++)
            reach_initial(r, &init->list.data[i]);
    } else if (init->kind == PTX_INIT_ADDRESS) {
        if (init->function)
            reach_function(r, init->function);
        if (init->variable)
            reach_variable(r, init->variable);
    }
}

static void reach_variable(struct reach *r, const struct ptx_variable *v)
{
    for (size_t i = 0; i < r->variables.count; i++)
        if (r->variables.data[i] == v)
            return;
    vec_push(r->sim->arena, &r->variables, v);
    if (v->initial)
        reach_initial(r, v->initial);
}

static void reach_operand(struct reach *r, const struct ptx_operand *o)
{
    if (o->kind == PTX_ADDRESS || o->kind == PTX_SYMBOL) {
        if (o->base == PTX_BASE_VARIABLE)
            reach_variable(r, o->variable);
        if (o->base == PTX_BASE_FUNCTION)
            reach_function(r, o->function);
    }
    if (o->kind == PTX_SPECIAL && o->special >= PTX_SREG_RESERVED_SMEM_BEGIN &&
        o->special <= PTX_SREG_RESERVED_SMEM_1)
        r->reserved = true;
    for (uint32_t i = 0; i < o->count; i++)
        reach_operand(r, &o->elements[i]);
}

static void reach_body(struct reach *r, const struct ptx_function *f)
{
    for (size_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        if (s->kind == PTX_AT_INSTRUCTION)
            for (int k = 0; k < s->instruction->operand_count; k++)
                reach_operand(r, &s->instruction->operands[k]);
        if (s->kind == PTX_AT_TARGETS)
            for (size_t k = 0; k < s->targets->functions.count; k++)
                reach_function(r, s->targets->functions.data[k]);
    }
}

static void lay_out_shared(struct sim *sim, struct sim_program *p, const struct reach *r)
{
    p->reserved_shared = r->reserved ? SIM_RESERVED_BYTES : 0;
    uint64_t at = p->reserved_shared, alignment = 16;
    for (size_t i = 0; i < r->variables.count; i++) {
        const struct ptx_variable *v = r->variables.data[i];
        uint64_t size = ptx_variable_size(v), to = ptx_variable_alignment(v);
        if (!is_shared(v))
            continue;
        if (!size || v->linkage == PTX_EXTERN) {
            alignment = to > alignment ? to : alignment;
            continue;
        }
        at = (at + to - 1) / to * to;
        vec_push(sim->arena, &p->shared, ((struct sim_shared){v, at}));
        at += size;
    }
    p->static_shared = at - p->reserved_shared;
    p->dynamic_at = (at + alignment - 1) / alignment * alignment;
    for (size_t i = 0; i < r->variables.count; i++) {
        const struct ptx_variable *v = r->variables.data[i];
        if (is_shared(v) && (!ptx_variable_size(v) || v->linkage == PTX_EXTERN))
            vec_push(sim->arena, &p->shared, ((struct sim_shared){v, p->dynamic_at}));
    }
}

uint64_t sim_layout(const struct ptx_signature *signature, uint32_t *at)
{
    uint64_t end = 0;
    for (size_t i = 0; i < signature->parameters.count; i++) {
        const struct ptx_variable *v = signature->parameters.data[i];
        uint64_t to = ptx_variable_alignment(v);
        end = (end + to - 1) / to * to;
        if (at)
            at[i] = (uint32_t)end;
        end += ptx_variable_size(v);
    }
    return end;
}

struct sim_program *sim_program_of(struct sim *sim, const struct ptx_function *kernel, int target)
{
    for (struct sim_program *p = sim->programs; p; p = p->next)
        if (p->kernel == kernel && p->target == target)
            return p;
    struct sim_program *p = arena_new(sim->arena, struct sim_program);
    struct reach r = {.sim = sim};
    reach_function(&r, kernel);
    for (size_t i = 0; i < r.functions.count; i++)
        reach_body(&r, r.functions.data[i]);
    lay_out_shared(sim, p, &r);
    p->kernel = kernel;
    p->target = target;
    p->parameter_bytes = sim_layout(&kernel->signature, NULL);
    p->next = sim->programs;
    sim->programs = p;
    sim->program = p;
    p->kernel_code = sim_code_of(sim, kernel);
    return p;
}
