#include "sim/sim_faults.h"

#include "ptx/ptx.h"
#include "sim/sim.h"

#include <string.h>

/* "4 bytes past the end of 'a' (4096 bytes)" */
static const char *where_is(struct arena *a, const struct sim_fault *f)
{
    if (!f->name && !f->size)
        return "there is no memory near it";
    const char *name =
        f->name ? arena_printf(a, "'%s'", ptx_plain_name(a, f->name)) : "an allocation";
    unsigned long long size = f->size;
    if (f->space == SIM_SHARED && !size)
        return arena_printf(a, "%s is as long as the launch says, and it says 0 (--shared BYTES)",
                            name);
    if (f->paged)
        return arena_printf(a, "byte %llu of %s %s", (unsigned long long)f->page_offset, name,
                            f->page == SIM_PAGE_UNUSED     ? "has an address and no memory"
                            : f->page == SIM_PAGE_UNMAPPED ? "had memory that was unmapped"
                                                           : "has memory without access");
    if (f->offset < 0)
        return arena_printf(a, "%llu bytes before the start of %s (%llu bytes)",
                            0 - (unsigned long long)f->offset, name, size);
    if (f->offset == (int64_t)f->size)
        return arena_printf(a, "just past the end of %s (%llu bytes)", name, size);
    if (f->offset > (int64_t)f->size)
        return arena_printf(a, "%lld bytes past the end of %s (%llu bytes)",
                            (long long)f->offset - (long long)f->size, name, size);
    int64_t past = f->offset + f->bytes - (int64_t)f->size;
    if (past > 0)
        return arena_printf(a, "its last %lld bytes are past the end of %s (%llu bytes)",
                            (long long)past, name, size);
    return arena_printf(a, "offset %lld of %s (%llu bytes)%s", (long long)f->offset, name, size,
                        f->freed ? ", which was freed" : "");
}

/* Returns advice for an access outside memory; NULL: the message itself has it. */
static const char *way_out(const struct sim_fault *f)
{
    if (!f->name && !f->size)
        return "is the pointer one of the launch, and is the index computed in 64 bits?";
    if (f->paged)
        return f->page == SIM_PAGE_CLOSED ? "give the device access (cuMemSetAccess)"
               : f->page == SIM_PAGE_UNUSED
                   ? "map memory there (cuMemMap), or is it the wrong index?"
                   : "unmap it after its last use (cuMemUnmap)";
    if (f->space == SIM_SHARED)
        return f->size ? "is the index right for every thread of the block, or the array too small?"
                       : NULL;
    if (f->offset < 0)
        return "guard it: `if (i >= 0)`, or clip the index; or is it the wrong index?";
    if (f->offset < (int64_t)f->size && f->freed)
        return "free() it after its last use, or is it a pointer that another thread has freed?";
    if (f->offset < (int64_t)f->size)
        return "it begins inside: is the size not a multiple of the access? Access the rest "
               "element by element";
    return "guard it: `if (i < n)`, or clip the index; or is it the wrong index, or the grid too "
           "large?";
}

/* Names the nearest item in shared memory, which may be a part of a variable. */
static void name_in_shared(const struct sim_report *r, struct sim_fault *f)
{
    const struct sim_allocation_event *m = sim_report_memory(r, SIM_SHARED, f->address);
    if (f->space != SIM_SHARED || !m || !m->bytes || !m->name)
        return;
    f->name = m->name;
    f->size = m->bytes;
    f->offset = (int64_t)(f->address - m->address);
}

void sim_fault_report(struct sim_report *r, const struct sim_fault *told)
{
    static const enum sim_found kinds[] = {
        SIM_FOUND_OUTSIDE, SIM_FOUND_MISALIGNED, SIM_FOUND_READ_ONLY, SIM_FOUND_TRAP,
        SIM_FOUND_OUTSIDE, SIM_FOUND_ASSUME,     SIM_FOUND_INSIDE};
    struct sim_fault named = *told, *fault = &named;
    enum sim_found kind = kinds[fault->kind];
    struct sim_finding *known = sim_report_again(r, kind, &fault->at, NULL);
    if (known) {
        known->threads++;
        return;
    }
    name_in_shared(r, fault);
    struct sim_finding f = {.kind = kind, .access_count = 1, .threads = 1};
    const char *does = fault->write ? "write" : "read", *where = where_is(r->arena, fault);
    const char *out = fault->kind == SIM_OUTSIDE ? way_out(fault) : NULL;
    if (out)
        f.steps[f.step_count++] = out;
    if (fault->kind == SIM_OUTSIDE)
        f.message =
            arena_printf(r->arena, "%s of %d bytes outside memory: %s", does, fault->bytes, where);
    else if (kind == SIM_FOUND_MISALIGNED)
        f.message = arena_printf(r->arena,
                                 "address 0x%llx is not a multiple of the %d bytes of the "
                                 "%s: %s",
                                 (unsigned long long)fault->address, fault->bytes, does, where);
    else if (kind == SIM_FOUND_READ_ONLY)
        f.message = arena_printf(r->arena, "write to memory that cannot be written: %s", where);
    else
        f.message = arena_string(r->arena, fault->why, strlen(fault->why));
    f.access[0] = (struct sim_finding_access){
        .at = fault->at,
        .lane = fault->lane,
        .does = kind == SIM_FOUND_TRAP     ? "trap"
                : kind == SIM_FOUND_ASSUME ? "claimed"
                : kind == SIM_FOUND_INSIDE ? "claimed"
                : fault->why               ? "address"
                                           : does,
        .memory = !fault->why,
        .space = fault->space,
        .address = fault->address,
        .bytes = fault->bytes,
        .memory_name = fault->name ? ptx_plain_name(r->arena, fault->name) : NULL};
    sim_report_add(r, &f);
}

/* --- as an observer of its own --- */

static bool fault_told(void *user, const struct sim_fault *fault, bool *go_on)
{
    (void)go_on; /* stays false */
    sim_fault_report(user, fault);
    return true;
}

void sim_faults_observe(struct sim *sim, struct sim_report *r)
{
    struct sim_observer *o = arena_new(r->arena, struct sim_observer);
    *o = (struct sim_observer){.user = r, .fault = fault_told};
    sim_observe(sim, o);
}
