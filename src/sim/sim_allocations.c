/* Allocations of a machine: memory of its own, or of the caller. */
#include "sim/sim_machine.h"

#include <assert.h>
#include <string.h>

/* Adds 32 bytes to the size asked for, so that no size is 0 and a wide read of the last element
 * stays inside. */
uint64_t sim_new_allocation(struct sim *sim, uint64_t bytes, const char *name)
{
    const struct allocator *from = sim->arena->allocator;
    if (bytes >= SIM_MOST_BYTES || bytes > SIZE_MAX - 32)
        return 0;
    uint8_t *host = allocator_zeros(from, (size_t)bytes + 32);
    if (!host)
        return 0;
    struct sim_allocation a = {.host = host, .size = bytes, .name = name, .owned = true};
    vec_push(sim->arena, &sim->allocations, a);
    return sim->allocations.count - 1;
}

uint64_t sim_allocate(struct sim *sim, uint64_t bytes, const void *data, const char *name)
{
    uint64_t number = sim_new_allocation(sim, bytes, name);
    if (!number)
        return 0;
    struct sim_allocation *a = &sim->allocations.data[number];
    a->initialised = data;
    if (data && bytes)
        memcpy(a->host, data, (size_t)bytes);
    return sim_address_of(number, 0);
}

void sim_hold(struct sim *sim, uint64_t address, const void *data, size_t bytes, size_t written)
{
    struct sim_allocation *a = &sim->allocations.data[sim_number_of(address)];
    assert(a->owned && !sim_offset_of(address) && bytes <= a->size);
    memcpy(a->host, data, bytes);
    a->written = written;
    a->told = false;
}

void sim_move(struct sim *sim, uint64_t address, void *host)
{
    const struct allocator *from = sim->arena->allocator;
    struct sim_allocation *a = &sim->allocations.data[sim_number_of(address)];
    assert(a->owned && !sim_offset_of(address));
    from->resize(from->user, a->host, (size_t)a->size + 32, 0);
    a->host = host;
    a->owned = false;
}

void sim_forget(struct sim *sim, uint64_t address)
{
    struct sim_allocation *a = &sim->allocations.data[sim_number_of(address)];
    a->initialised = a->told = false;
}

void sim_trust_heap(struct sim *sim)
{
    for (size_t i = SIM_FIRST_ALLOCATION; sim->heap_bytes && i < sim->allocations.count; i++) {
        struct sim_allocation *a = &sim->allocations.data[i];
        if (!a->freed && !a->initialised && a->name && strcmp(a->name, "malloc") == 0) {
            a->initialised = true;
            a->told = false;
        }
    }
}

void sim_hold_structs(struct sim *sim, uint64_t address)
{
    struct sim_allocation *a = &sim->allocations.data[sim_number_of(address)];
    a->structs = true;
    a->told = false;
}

uint64_t sim_attach(struct sim *sim, void *data, size_t bytes, const char *name)
{
    struct sim_allocation a = {.host = data, .size = bytes, .name = name, .initialised = true};
    if ((uint64_t)bytes >= SIM_MOST_BYTES)
        return 0;
    vec_push(sim->arena, &sim->allocations, a);
    return sim_address_of(sim->allocations.count - 1, 0);
}

uint64_t sim_attach_pages(struct sim *sim, void *data, uint64_t bytes, const char *name,
                          const struct sim_pages *pages)
{
    uint64_t address = sim_attach(sim, data, (size_t)bytes, name);
    if (address)
        sim->allocations.data[sim_number_of(address)].pages = pages;
    return address;
}

uint64_t sim_pages_end(const struct sim_pages *pages, uint64_t offset, uint64_t end)
{
    while (offset < end && pages->access[offset / SIM_PAGE_BYTES] >= SIM_PAGE_READ)
        offset = (offset / SIM_PAGE_BYTES + 1) * SIM_PAGE_BYTES;
    return offset < end ? offset : end;
}

void sim_release(struct sim *sim, uint64_t address)
{
    const struct allocator *from = sim->arena->allocator;
    struct sim_allocation *a = &sim->allocations.data[sim_number_of(address)];
    assert(a->host && !sim_offset_of(address));
    if (a->owned)
        from->resize(from->user, a->host, (size_t)a->size + 32, 0);
    *a = (struct sim_allocation){.name = a->name, .size = a->size, .freed = true};
    const struct sim_allocation_event event = {.space = SIM_GLOBAL,
                                               .address = address,
                                               .bytes = a->size,
                                               .name = a->name,
                                               .initialised = true}; /* nothing is to be kept */
    for (struct sim_observer *o = sim->observers; o; o = o->next)
        if (o->allocated && o->wrote)
            o->allocated(o->user, &event);
}

void sim_skip(struct sim *sim, int count)
{
    sim->skipped = sim->allocations.count;
    sim->skipped_end = sim->skipped + (size_t)count;
    for (int i = 0; i < count; i++)
        vec_push(sim->arena, &sim->allocations, (struct sim_allocation){0});
}

bool sim_attach_at(struct sim *sim, uint64_t address, void *data, size_t bytes, const char *name)
{
    uint64_t number = sim_number_of(address);
    if (number < SIM_FIRST_ALLOCATION || number >= sim->allocations.count ||
        sim_offset_of(address) || bytes >= SIM_MOST_BYTES)
        return false;
    struct sim_allocation *a = &sim->allocations.data[number];
    if (a->host)
        return false;
    *a = (struct sim_allocation){.host = data, .size = bytes, .name = name, .initialised = true};
    if (number >= sim->skipped && number < sim->skipped_end)
        sim->skipped = (size_t)number + 1;
    return true;
}

/* Returns the allocation that has the bytes; NULL: none. */
static struct sim_allocation *allocation_with(const struct sim *sim, uint64_t address, size_t bytes)
{
    uint64_t number = sim_number_of(address), offset = sim_offset_of(address);
    if (number < SIM_FIRST_ALLOCATION || number >= sim->allocations.count)
        return NULL;
    struct sim_allocation *a = &sim->allocations.data[number];
    return a->host && offset <= a->size && bytes <= a->size - offset ? a : NULL;
}

void *sim_host(struct sim *sim, uint64_t address, size_t bytes)
{
    struct sim_allocation *a = allocation_with(sim, address, bytes);
    if (!a)
        return NULL;
    a->told &= a->initialised;
    a->initialised = true; /* the caller may write through the pointer */
    return a->host + sim_offset_of(address);
}

void *sim_bytes(const struct sim *sim, uint64_t address, size_t bytes)
{
    const struct sim_allocation *a = allocation_with(sim, address, bytes);
    uint64_t offset = sim_offset_of(address), end = offset + bytes;
    if (!a || (a->pages && sim_pages_end(a->pages, offset, end) < end))
        return NULL;
    return a->host + offset;
}

void sim_wrote(struct sim *sim, uint64_t address, size_t bytes)
{
    struct sim_allocation *a = allocation_with(sim, address, bytes);
    assert(a);
    if (a->initialised)
        return;
    if (bytes == a->size) {
        a->told = false;
        a->initialised = true;
        return;
    }
    struct sim_allocation_event event = {.space = SIM_GLOBAL,
                                         .address = address - sim_offset_of(address),
                                         .bytes = a->size,
                                         .name = a->name,
                                         .written = a->written,
                                         .structs = a->structs};
    for (struct sim_observer *o = sim->observers; o; o = o->next)
        if (o->allocated && o->wrote) {
            o->allocated(o->user, &event);
            o->wrote(o->user, address, bytes);
        }
}
