/* Names in findings: of their kinds, of memory and of elements of arrays. */
#include "sim/sim_report.h"

#include <assert.h>

static const struct {
    const char *name;
    bool fails;
} kinds[SIM_FOUND_COUNT] = {
#define X(id, name, fails, text) {name, fails},
    SIM_FINDINGS(X)
#undef X
};

const char *sim_found_name(enum sim_found kind)
{
    return kinds[kind].name;
}

bool sim_report_fails(const struct sim_report *r, enum sim_found kind)
{
    return kinds[kind].fails || r->severity[kind] == SIM_AS_ERROR;
}

void sim_report_allocated(struct sim_report *r, const struct sim_allocation_event *event)
{
    bool added;
    struct number_entry *known =
        number_map_entry(r->arena, &r->memory_at[event->space], event->address, &added);
    if (!added) {
        r->memory.data[known->value] = *event;
        return;
    }
    known->value = r->memory.count;
    vec_push(r->arena, &r->memory, *event);
}

static uint64_t distance_to(const struct sim_allocation_event *m, uint64_t address)
{
    if (address < m->address)
        return m->address - address;
    return address - m->address < m->bytes ? 0 : address - m->address - m->bytes + 1;
}

const struct sim_allocation_event *sim_report_memory(const struct sim_report *r,
                                                     enum sim_space space, uint64_t address)
{
    const struct sim_allocation_event *nearest = NULL;
    for (size_t i = 0; i < r->memory.count; i++) {
        const struct sim_allocation_event *m = &r->memory.data[i];
        if (m->space == space &&
            (!nearest || distance_to(m, address) < distance_to(nearest, address)))
            nearest = m;
    }
    return nearest;
}

const char *sim_report_memory_name(const struct sim_report *r, enum sim_space space,
                                   uint64_t address)
{
    const struct sim_allocation_event *m = sim_report_memory(r, space, address);
    sim_settle(r->machine);
    return m && m->name ? ptx_plain_name(r->arena, m->name) : NULL;
}

void sim_report_add_array(struct sim_report *r, const struct sim_report_array *array)
{
    vec_push(r->arena, &r->arrays, *array);
}

static int64_t element_count(const struct sim_report_array *a)
{
    assert(a->rank >= 0 && a->element > 0);
    int64_t count = 1;
    for (int i = 0; i < a->rank; i++)
        count *= a->shape[i];
    return count;
}

bool sim_report_index(const struct sim_report *r, enum sim_space space, uint64_t address,
                      struct sim_report_element *out)
{
    for (size_t i = 0; i < r->arrays.count; i++) {
        const struct sim_report_array *a = &r->arrays.data[i];
        int64_t place = (int64_t)((address - a->address) / (unsigned)a->element);
        if (a->space != space || address < a->address || place >= element_count(a))
            continue;
        int64_t element = a->element_at ? a->element_at(a->layout, place) : place;
        if (element < 0)
            continue;
        *out = (struct sim_report_element){.name = a->name, .rank = a->rank};
        for (int k = a->rank; k-- > 0; element /= a->shape[k])
            out->index[k] = element % a->shape[k];
        return true;
    }
    return false;
}

static const char *element_text(struct arena *arena, const struct sim_report_element *e)
{
    struct text out;
    text_init(&out, arena);
    text_add(&out, e->name);
    for (int i = 0; i < e->rank; i++)
        text_printf(&out, "[%lld]", (long long)e->index[i]);
    return out.data;
}

int sim_value_bytes(const struct ptx_instruction *ins)
{
    return ins ? ptx_mods[ptx_type(ins, 0)].bits / 8 : 0;
}

static const char *value_of_memory(const struct sim_report *r, enum sim_space space,
                                   uint64_t address, int unit)
{
    const struct sim_allocation_event *m = sim_report_memory(r, space, address);
    bool of_compiler = m && m->name && m->name[0] == '$'; /* room for several arrays */
    if (!r->plain || unit <= 0 || !m || !m->name || of_compiler || distance_to(m, address))
        return NULL;
    if (space == SIM_PARAM)
        return arena_printf(r->arena, "byte %llu of %s", (unsigned long long)(address - m->address),
                            ptx_plain_name(r->arena, m->name));
    return arena_printf(r->arena, "element %llu of %s",
                        (unsigned long long)(address - m->address) / (unsigned)unit,
                        ptx_plain_name(r->arena, m->name));
}

const char *sim_report_element(const struct sim_report *r, enum sim_space space, uint64_t address,
                               int unit)
{
    struct sim_report_element e;
    if (sim_report_index(r, space, address, &e))
        return element_text(r->arena, &e);
    return value_of_memory(r, space, address, unit);
}
