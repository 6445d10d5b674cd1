/* Allocates memory and frees it. */
#include "driver/driver_graph.h"
#include "driver/driver_order.h"
#include "sim/sim_own.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct allocate_call {
    struct driver_memory asked, *made;
};

void driver_shared_free(struct driver_memory *m)
{
    if (!m->shared)
        return;
    munmap(m->shared->host, m->bytes + DRIVER_BEYOND);
    close(m->shared->file);
    free(m->shared);
    m->shared = NULL;
}

/* Gives memory that was freed new bytes, which count as never written, at its address. Returns false
 * if the machine has no such address. */
static bool renew(const struct driver_memory *m)
{
    struct sim *sim = driver_machine();
    /* The check's marks of written bytes are those of the memory that was freed. */
    const struct sim_allocation_event forgotten = {.space = SIM_GLOBAL,
                                                   .address = m->address,
                                                   .bytes = m->bytes,
                                                   .name = m->name,
                                                   .initialised = true};
    if (!sim_attach_at(sim, m->address, m->host, m->bytes, m->name))
        return false;
    if (driver.memcheck)
        driver.memcheck->allocated(driver.memcheck->user, &forgotten);
    sim_forget(sim, m->address);
    sim_hold_structs(sim, m->address); /* its type is not known */
    return true;
}

/* Reports the first byte of a range of a reservation that has no memory, or no access to
 * it. `what` begins the message: "a copy reads". Returns false if there is no such byte, or if the range
 * exceeds the reservation. */
static bool report_pages(const struct driver_memory *m, uint64_t offset, size_t bytes,
                         const char *what)
{
    const struct sim_pages *p = m->pages;
    uint64_t end = offset + bytes, at = end <= m->bytes ? sim_pages_end(p, offset, end) : end;
    if (at == end)
        return false;
    enum sim_page page = p->access[at / SIM_PAGE_BYTES];
    driver_refuse(page == SIM_PAGE_UNMAPPED ? "use-after-free" : "not-device-memory", m,
                  "%s byte %llu of %s, which %s", what, (unsigned long long)at, m->name,
                  page == SIM_PAGE_UNUSED     ? "has an address and no memory (cuMemMap)"
                  : page == SIM_PAGE_UNMAPPED ? "had memory that was unmapped"
                                              : "has memory without access (cuMemSetAccess)");
    return true;
}

static void *explain_bytes(uint64_t address, size_t bytes, const char *what)
{
    const struct driver_memory *m = driver_memory_at(address);
    uint64_t offset = address & (SIM_MOST_BYTES - 1);
    if (m && m->reserved && report_pages(m, offset, bytes, what))
        return NULL;
    if (!m)
        driver_refuse("not-device-memory", NULL, "%s 0x%llx, which is not memory of the device",
                      what, (unsigned long long)address);
    else if (m->freed_by)
        driver_refuse("use-after-free", m, "%s %s, which %s", what, m->name,
                      m->freed.count ? "was freed" : "no launch of its graph has allocated so far");
    else
        driver_refuse("outside-copy", m, "%s bytes %llu to %llu of %s, which has %zu bytes", what,
                      (unsigned long long)offset, (unsigned long long)(offset + bytes - 1), m->name,
                      m->bytes);
    return NULL;
}

void *driver_bytes(uint64_t address, size_t bytes, const char *what)
{
    void *host = sim_bytes(driver_machine(), address, bytes);
    return host ? host : explain_bytes(address, bytes, what);
}

static bool list_has_room(void)
{
    if (driver_memories.count < driver_memories.room)
        return true;
    int room = driver_memories.room ? 2 * driver_memories.room : 64;
    void *list = realloc(driver_memories.list, (size_t)room * sizeof(struct driver_memory *));
    if (!list)
        return false;
    driver_memories.list = list;
    driver_memories.room = room;
    return true;
}

/* Returns true if the program or its stack and libraries may lie at addresses of that number: Linux
 * places them within 2^40 bytes of two thirds of the address space, and of its end. */
static bool is_of_program(int number)
{
    enum { PROGRAM = 0x550, PROGRAM_END = 0x580, LIBRARIES = 0x7c0 };
    return (number >= PROGRAM && number < PROGRAM_END) || number >= LIBRARIES;
}

/* Maps memory at an address of the machine that the host does not use. After all addresses have had
 * their turn, those of freed memory are used again. Returns the address; 0: no memory. */
static uint64_t map_shared(struct driver_memory *m)
{
    enum { FIRST = SIM_FIRST_ALLOCATION, COUNT = DRIVER_SHARED_NUMBERS - SIM_FIRST_ALLOCATION };
    for (int i = 0; i < COUNT; i++) {
        int number = FIRST + (int)(driver_memories.next_shared++ % COUNT);
        uint64_t address = (uint64_t)number << SIM_OFFSET_BITS;
        const struct driver_memory *there = driver_memory_at(address);
        if (is_of_program(number) || (there && !there->freed_by))
            continue;
        void *at = mmap((void *)(uintptr_t)address, m->bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == MAP_FAILED && errno == ENOMEM)
            return 0;
        if (at == MAP_FAILED)
            continue;
        m->host = at;
        if ((uintptr_t)at == address &&
            sim_attach_at(driver_machine(), address, at, m->bytes, m->name))
            return address;
        munmap(at, m->bytes);
    }
    driver_refuse("not-supported", NULL,
                  "more than 1900 pieces of pinned and managed memory at the same time are not "
                  "supported; allocate several arrays as one");
    return 0;
}

/* Gives addresses to a reservation, or to memory of another process (pages: NULL). A large reservation is
 * not checked for uninitialised values, which would take too much memory. */
static uint64_t place_pages(struct driver_memory *m, const struct sim_pages *pages)
{
    struct sim *sim = driver_machine();
    const uint64_t most = UINT64_C(4) << 30;
    uint64_t address = sim_attach_pages(sim, m->host, m->bytes, m->name, pages);
    m->host = NULL; /* not the host's own */
    if (address)
        sim_hold_structs(sim, address);
    if (address && pages && m->bytes <= most)
        sim_forget(sim, address);
    return address;
}

static uint64_t place(struct driver_memory *m)
{
    struct sim *sim = driver_machine();
    if (m->type == DRIVER_REGISTERED_MEMORY)
        return sim_attach(sim, m->host, m->bytes, m->name);
    if (m->type != DRIVER_DEVICE_MEMORY)
        return map_shared(m);
    if (m->bytes > driver_total_memory() - driver_memories.used)
        return 0;
    uint64_t address = sim_allocate(sim, m->bytes, NULL, m->name);
    if (address && m->of_graph)
        sim_release(sim, address); /* the address stays its own */
    else if (address)
        sim_hold_structs(sim, address); /* its type is not known */
    return address;
}

static int allocate(void *user)
{
    struct allocate_call *call = user;
    bool added;
    if (!list_has_room())
        return DRIVER_OUT_OF_MEMORY;
    struct driver_memory *m = arena_copy(&driver.arena, &call->asked, sizeof *m);
    m->number = driver_memories.count + 1;
    m->name = m->condition
                  ? arena_printf(&driver.arena, "condition %d", ++driver_memories.conditions)
              : m->reserved
                  ? arena_printf(&driver.arena, "reservation %d", ++driver_memories.reservations)
                  : arena_printf(&driver.arena, "allocation %d", m->number);
    m->address = m->uncounted ? place_pages(m, call->asked.pages) : place(m);
    if (!m->address)
        return DRIVER_OUT_OF_MEMORY;
    driver_guard_install();
    driver_site_here(&m->made);
    m->call = driver_call_name();
    driver_memories.list[driver_memories.count++] = m;
    if (m->of_graph)
        m->freed_by = m->call;
    else if (m->type == DRIVER_DEVICE_MEMORY && !m->uncounted)
        driver_memories.used += m->bytes;
    driver_memories.registered += m->type == DRIVER_REGISTERED_MEMORY;
    number_map_entry(&driver.arena, &driver_memories.by_number, m->address >> SIM_OFFSET_BITS,
                     &added)
        ->value = (uint64_t)driver_memories.count;
    driver_trace("%s, %zu bytes at 0x%llx", m->name, m->bytes, (unsigned long long)m->address);
    call->made = m;
    return DRIVER_SUCCESS;
}

/* A variable is not in the list of leaks, and keeps its name. */
bool driver_place_managed(const struct ptx_variable *v)
{
    struct driver_memory m = {
        .bytes = (size_t)ptx_variable_size(v), .type = DRIVER_MANAGED_MEMORY, .name = v->name};
    m.address = m.bytes ? map_shared(&m) : 0;
    if (m.address)
        sim_place(driver_machine(), v, m.address);
    return m.address;
}

static int make(struct allocate_call *call, struct driver_memory **out)
{
    if (!call->asked.bytes)
        return DRIVER_INVALID_VALUE;
    int result =
        call->asked.bytes < SIM_MOST_BYTES ? driver_guard(allocate, call) : DRIVER_OUT_OF_MEMORY;
    *out = call->made;
    return result;
}

int driver_memory_make(enum driver_memory_type type, size_t bytes, void *host,
                       struct driver_memory **out)
{
    struct allocate_call call = {.asked = {.bytes = bytes, .type = type, .host = host}};
    return make(&call, out);
}

int driver_memory_make_condition(struct driver_condition *c)
{
    struct allocate_call call = {.asked = {.bytes = DRIVER_CONDITION_WORDS * sizeof(uint32_t),
                                           .type = DRIVER_DEVICE_MEMORY,
                                           .condition = c}};
    return make(&call, &c->memory);
}

int driver_memory_make_reserved(struct driver_reserved *r, const struct sim_pages *pages,
                                size_t bytes, void *host, struct driver_memory **out)
{
    struct allocate_call call = {.asked = {.bytes = bytes,
                                           .type = DRIVER_DEVICE_MEMORY,
                                           .host = host,
                                           .reserved = r,
                                           .pages = pages,
                                           .uncounted = true}};
    return make(&call, out);
}

int driver_memory_make_shared(struct driver_shared *shared, size_t bytes, void *host,
                              struct driver_memory **out)
{
    struct allocate_call call = {.asked = {.bytes = bytes,
                                           .type = DRIVER_DEVICE_MEMORY,
                                           .host = host,
                                           .shared = shared,
                                           .uncounted = true}};
    return make(&call, out);
}

int driver_memory_reserve(size_t bytes, struct driver_memory **out)
{
    struct allocate_call call = {
        .asked = {.bytes = bytes, .type = DRIVER_DEVICE_MEMORY, .of_graph = true}};
    return make(&call, out);
}

int driver_memory_renew(struct driver_memory *m)
{
    if (m->bytes > driver_total_memory() - driver_memories.used)
        return DRIVER_OUT_OF_MEMORY;
    m->host = calloc(1, m->bytes + DRIVER_BEYOND);
    if (!m->host)
        return DRIVER_OUT_OF_MEMORY;
    if (!renew(m)) {
        free(m->host);
        return DRIVER_OUT_OF_MEMORY;
    }
    driver_memories.used += m->bytes;
    m->freed_by = NULL;
    driver_trace("%s, %zu bytes at 0x%llx", m->name, m->bytes, (unsigned long long)m->address);
    return DRIVER_SUCCESS;
}

/* Takes memory out of the machine, whose checks note that. */
static int leave_machine(void *user)
{
    const struct driver_memory *m = user;
    sim_release(driver_machine(), m->address);
    return DRIVER_SUCCESS;
}

int driver_memory_end(struct driver_memory *m)
{
    bool again = m->freed_by && m->freed.count;
    if (m->freed_by) {
        driver_refuse(again ? "double-free" : "invalid-free", m,
                      again ? "%s is freed again"
                            : "%s is freed before a launch of its graph allocates it",
                      m->name);
        return DRIVER_INVALID_VALUE;
    }
    driver_trace("%s", m->name);
    driver_guard_forget(m);
    int result = driver_guard(leave_machine, m);
    if (result != DRIVER_SUCCESS)
        return result;
    if (m->type == DRIVER_PINNED_MEMORY || m->type == DRIVER_MANAGED_MEMORY)
        munmap(m->host, m->bytes);
    if (m->of_graph)
        free(m->host);
    if (m->type == DRIVER_DEVICE_MEMORY && !m->uncounted)
        driver_memories.used -= m->bytes;
    driver_shared_free(m);
    free(m->hints);
    m->hints = NULL;
    driver_memories.registered -= m->type == DRIVER_REGISTERED_MEMORY;
    if (m->pool_used)
        *m->pool_used -= m->bytes;
    m->freed_by = driver_call_name();
    driver_site_here(&m->freed);
    return DRIVER_SUCCESS;
}

int driver_memory_release(uint64_t address, enum driver_memory_type type,
                          enum driver_memory_type other)
{
    struct driver_memory *m = driver_memory_at(address);
    if (!m || m->address != address || m->condition || (m->type != type && m->type != other)) {
        driver_refuse("invalid-free", m, "0x%llx is freed, which no allocation begins at",
                      (unsigned long long)address);
        return DRIVER_INVALID_VALUE;
    }
    if (m->reserved) {
        driver_refuse("invalid-free", m,
                      "%s is freed as an allocation; cuMemUnmap, cuMemRelease and cuMemAddressFree "
                      "free it",
                      m->name);
        return DRIVER_INVALID_VALUE;
    }
    if (m->uncounted) {
        driver_refuse(
            "invalid-free", m,
            "%s is freed, which belongs to another process; cuIpcCloseMemHandle closes it",
            m->name);
        return DRIVER_INVALID_VALUE;
    }
    if (m->freed_inside) {
        driver_refuse("invalid-free", m,
                      "%s is freed outside of its graph, which has a node that frees it", m->name);
        return DRIVER_INVALID_VALUE;
    }
    return driver_memory_end(m);
}
