/* Loading: variables get memory, functions get numbers.
 *
 * Global and constant variables are allocations of their own, so an access beyond the end of one
 * is found. */
#include "sim/sim_machine.h"

#include <string.h>

uint64_t sim_function_address(struct sim *sim, const struct ptx_function *f)
{
    bool added;
    struct number_entry *number =
        number_map_entry(sim->arena, &sim->function_numbers, (uintptr_t)f, &added);
    if (added) {
        number->value = sim->functions.count;
        vec_push(sim->arena, &sim->functions, f);
    }
    return sim_address_of(SIM_NUMBER_CODE, (number->value + 1) * 16);
}

const struct ptx_function *sim_function_at(const struct sim *sim, uint64_t address)
{
    uint64_t at = sim_offset_of(address);
    if (sim_number_of(address) != SIM_NUMBER_CODE || at % 16 || !at ||
        at / 16 > sim->functions.count)
        return NULL;
    return sim->functions.data[at / 16 - 1];
}

void sim_place(struct sim *sim, const struct ptx_variable *v, uint64_t address)
{
    uint64_t number = sim_number_of(address);
    struct sim_allocation *a = &sim->allocations.data[number];
    bool added;
    a->variable = v;
    a->initialised = true;
    a->told = false;
    a->constant = v->space == MOD_CONST;
    a->structs = v->type == MOD_B8;
    number_map_entry(sim->arena, &sim->variable_numbers, (uintptr_t)v, &added)->value = number;
    vec_push(sim->arena, &sim->variables, number);
}

/* Gives a global or constant variable memory when its address is first needed. */
static bool global_address(struct sim *sim, const struct ptx_variable *v, uint64_t *address)
{
    const struct number_entry *known = number_map_find(&sim->variable_numbers, (uintptr_t)v);
    uint64_t number = known ? known->value : sim_new_allocation(sim, ptx_variable_size(v), v->name);
    *address = sim_address_of(number, 0);
    if (!known && number)
        sim_place(sim, v, *address);
    return number;
}

static bool shared_address(const struct sim_program *p, const struct ptx_variable *v,
                           uint64_t *offset)
{
    const struct number_entry *found = p ? number_map_find(&p->shared_at, (uintptr_t)v) : NULL;
    *offset = found ? found->value : 0;
    return found;
}

static bool address_of(struct sim *sim, const struct ptx_variable *v, bool generic,
                       uint64_t *address)
{
    if (sim_is_shared(v)) {
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

static uint64_t locate(void *user, const struct ptx_variable *v, const struct ptx_function *f,
                       bool generic)
{
    uint64_t address;
    if (f)
        return sim_function_address(user, f);
    return address_of(user, v, generic, &address) ? address : 0;
}

/* Writes initial values. If these contain addresses of other variables, those get memory and are
 * filled too. */
static void fill_variables(struct sim *sim)
{
    while (sim->filled < sim->variables.count) {
        const struct sim_allocation *a = &sim->allocations.data[sim->variables.data[sim->filled++]];
        const struct ptx_variable *v = a->variable;
        arena_poll(sim->arena);
        if (v->initial) /* otherwise it is zeros already, of any size */
            ptx_variable_image(v, a->host, locate, sim);
    }
}

bool sim_locate(struct sim *sim, const struct ptx_variable *v, bool generic, uint64_t *address)
{
    bool known = address_of(sim, v, generic, address);
    fill_variables(sim);
    return known;
}

bool sim_variable(struct sim *sim, const struct ptx_variable *v, uint64_t *address)
{
    return (v->space == MOD_GLOBAL || v->space == MOD_CONST) && sim_locate(sim, v, true, address);
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
        if (sim_is_elsewhere(v)) /* refused when a kernel that reaches it is launched */
            continue;
        arena_poll(sim->arena);
        if (!global_address(sim, v, &address)) {
            diag_error(diag, v->where, "no memory for `%s`", v->name);
            return false;
        }
    }
    fill_variables(sim);
    return true;
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
