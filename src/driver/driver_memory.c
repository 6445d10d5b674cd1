/* Memory that programs allocate. Memory of the device has addresses that no host memory can have:
 * they begin at 2^47, where the host's user addresses end. Memory that host and device share is
 * mapped at one of the addresses below, so that one pointer serves both. */
#include "driver/driver_graph.h"

#include "sim/sim_own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct {
    struct driver_memory **list; /* in the order of allocation */
    int count, room;
    struct number_map by_number; /* number in the address: index in the list + 1 */
    unsigned next_shared;        /* place of the next shared memory */
    int conditions, reservations;
    int registered; /* pieces of the host's memory */
    uint64_t used;  /* bytes of the device */
} memory;

struct driver_memory *driver_memory_at(uint64_t address)
{
    const struct number_entry *found =
        number_map_find(&memory.by_number, address >> SIM_OFFSET_BITS);
    return found ? memory.list[found->value - 1] : NULL;
}

bool driver_is_shared(uint64_t address)
{
    return address >> SIM_OFFSET_BITS < DRIVER_SHARED_NUMBERS;
}

struct driver_memory *driver_memory_of_host(uint64_t address)
{
    struct driver_memory *m =
        driver_is_shared(address) || memory.registered ? driver_memory_at(address) : NULL;
    return m && m->type != DRIVER_DEVICE_MEMORY ? m : NULL;
}

struct driver_memory *driver_registered_at(const void *host)
{
    for (int i = 0; i < memory.count && memory.registered; i++) {
        struct driver_memory *m = memory.list[i];
        if (m->type == DRIVER_REGISTERED_MEMORY && !m->freed_by &&
            (uintptr_t)host - (uintptr_t)m->host < m->bytes)
            return m;
    }
    return NULL;
}

struct driver_memory *driver_memory_next(const struct driver_memory *after)
{
    int next = after ? after->number : 0; /* numbers begin at 1 */
    return next < memory.count ? memory.list[next] : NULL;
}

/* --- reports --- */

static void *explain_bytes(uint64_t address, size_t bytes, const char *what)
{
    const struct driver_memory *m = driver_memory_at(address);
    uint64_t offset = address & (SIM_MOST_BYTES - 1);
    if (m && m->reserved && driver_report_pages(m, offset, bytes, what))
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

/* --- allocation --- */

struct allocate_call {
    struct driver_memory asked, *made;
    const struct sim_pages *pages; /* of a reservation */
};

static bool list_has_room(void)
{
    if (memory.count < memory.room)
        return true;
    int room = memory.room ? 2 * memory.room : 64;
    void *list = realloc(memory.list, (size_t)room * sizeof(struct driver_memory *));
    if (!list)
        return false;
    memory.list = list;
    memory.room = room;
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
        int number = FIRST + (int)(memory.next_shared++ % COUNT);
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

bool driver_memory_count(int64_t bytes)
{
    if (bytes > 0 && (uint64_t)bytes > driver_total_memory() - memory.used)
        return false;
    memory.used += (uint64_t)bytes;
    return true;
}

static uint64_t place(struct driver_memory *m)
{
    struct sim *sim = driver_machine();
    if (m->type == DRIVER_REGISTERED_MEMORY)
        return sim_attach(sim, m->host, m->bytes, m->name);
    if (m->type != DRIVER_DEVICE_MEMORY)
        return map_shared(m);
    if (m->bytes > driver_total_memory() - memory.used)
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
    m->number = memory.count + 1;
    m->name = m->condition  ? arena_printf(&driver.arena, "condition %d", ++memory.conditions)
              : m->reserved ? arena_printf(&driver.arena, "reservation %d", ++memory.reservations)
                            : arena_printf(&driver.arena, "allocation %d", m->number);
    m->address = m->uncounted ? place_pages(m, call->pages) : place(m);
    if (!m->address)
        return DRIVER_OUT_OF_MEMORY;
    driver_guard_install();
    driver_site_here(&m->made);
    m->call = driver_call_name();
    memory.list[memory.count++] = m;
    if (m->of_graph)
        m->freed_by = m->call;
    else if (m->type == DRIVER_DEVICE_MEMORY && !m->uncounted)
        memory.used += m->bytes;
    memory.registered += m->type == DRIVER_REGISTERED_MEMORY;
    number_map_entry(&driver.arena, &memory.by_number, m->address >> SIM_OFFSET_BITS, &added)
        ->value = (uint64_t)memory.count;
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
                                           .uncounted = true},
                                 .pages = pages};
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
    if (m->bytes > driver_total_memory() - memory.used)
        return DRIVER_OUT_OF_MEMORY;
    m->host = calloc(1, m->bytes + DRIVER_BEYOND);
    if (!m->host)
        return DRIVER_OUT_OF_MEMORY;
    if (!driver_machine_renew(m)) {
        free(m->host);
        return DRIVER_OUT_OF_MEMORY;
    }
    memory.used += m->bytes;
    m->freed_by = NULL;
    driver_trace("%s, %zu bytes at 0x%llx", m->name, m->bytes, (unsigned long long)m->address);
    return DRIVER_SUCCESS;
}

/* Gives the address of new memory. */
static int make_at(enum driver_memory_type type, size_t bytes, uint64_t *address)
{
    struct driver_memory *m;
    int result = address ? driver_capture_forbids(NULL) : DRIVER_INVALID_VALUE;
    if (result == DRIVER_SUCCESS)
        result = driver_memory_make(type, bytes, NULL, &m);
    if (result == DRIVER_SUCCESS)
        *address = m->address;
    return result;
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
        memory.used -= m->bytes;
    driver_shared_free(m);
    free(m->hints);
    m->hints = NULL;
    memory.registered -= m->type == DRIVER_REGISTERED_MEMORY;
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

/* --- calls --- */

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    IN_CONTEXT;
    if (!free_bytes || !total)
        return DRIVER_INVALID_VALUE;
    *total = (size_t)driver_total_memory();
    *free_bytes = *total - (size_t)memory.used;
    return DRIVER_SUCCESS;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    IN_CONTEXT;
    return make_at(DRIVER_DEVICE_MEMORY, bytes, address);
}

int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height,
                       unsigned element)
{
    enum { PITCH = 512 };
    IN_CONTEXT;
    if (!pitch || !width || !height || width > SIM_MOST_BYTES || height > SIM_MOST_BYTES / width ||
        (element != 4 && element != 8 && element != 16))
        return DRIVER_INVALID_VALUE;
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return make_at(DRIVER_DEVICE_MEMORY, *pitch * height, address);
}

int cuMemFree_v2(uint64_t address)
{
    IN_CONTEXT;
    int forbidden = driver_capture_forbids(NULL);
    if (forbidden != DRIVER_SUCCESS)
        return forbidden;
    driver_order_host_all(); /* it waits for the device */
    return address ? driver_memory_release(address, DRIVER_DEVICE_MEMORY, DRIVER_MANAGED_MEMORY)
                   : DRIVER_SUCCESS;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address)
{
    IN_CONTEXT;
    const struct driver_memory *m = driver_memory_at(address);
    if (!m || m->freed_by || address - m->address >= m->bytes)
        return DRIVER_INVALID_VALUE;
    if (base)
        *base = m->address;
    if (bytes)
        *bytes = m->bytes;
    return DRIVER_SUCCESS;
}

int cuMemHostAlloc(void **to, size_t bytes, unsigned flags)
{
    enum { PORTABLE = 1, MAPPED = 2, WRITE_COMBINED = 4 };
    IN_CONTEXT;
    uint64_t address;
    if (!to || flags & ~(unsigned)(PORTABLE | MAPPED | WRITE_COMBINED))
        return DRIVER_INVALID_VALUE;
    int result = make_at(DRIVER_PINNED_MEMORY, bytes, &address);
    if (result == DRIVER_SUCCESS)
        *to = (void *)(uintptr_t)address;
    return result;
}

int cuMemAllocHost_v2(void **to, size_t bytes)
{
    ENTER;
    return cuMemHostAlloc(to, bytes, 0);
}

int cuMemFreeHost(void *host)
{
    IN_CONTEXT;
    driver_order_host_all();
    return host ? driver_memory_release((uintptr_t)host, DRIVER_PINNED_MEMORY, DRIVER_PINNED_MEMORY)
                : DRIVER_SUCCESS;
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned flags)
{
    IN_CONTEXT;
    const struct driver_memory *r = driver_registered_at(host);
    const struct driver_memory *m = driver_memory_at((uintptr_t)host);
    if (!address || flags)
        return DRIVER_INVALID_VALUE;
    if (r)
        *address = r->address + ((uintptr_t)host - (uintptr_t)r->host);
    else if (m && m->type == DRIVER_PINNED_MEMORY && !m->freed_by)
        *address = (uintptr_t)host;
    else
        return DRIVER_INVALID_VALUE;
    return DRIVER_SUCCESS;
}

int cuMemHostGetFlags(unsigned *flags, void *host)
{
    IN_CONTEXT;
    const struct driver_memory *m = driver_memory_at((uintptr_t)host);
    if (!flags || !m || m->type != DRIVER_PINNED_MEMORY || m->freed_by)
        return DRIVER_INVALID_VALUE;
    *flags = 2; /* mapped */
    return DRIVER_SUCCESS;
}

int cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
    IN_CONTEXT;
    struct driver_memory *m;
    (void)flags;
    if (!host)
        return DRIVER_INVALID_VALUE;
    if (driver_registered_at(host))
        return DRIVER_ALREADY_REGISTERED;
    return driver_memory_make(DRIVER_REGISTERED_MEMORY, bytes, host, &m);
}

int cuMemHostUnregister(void *host)
{
    IN_CONTEXT;
    const struct driver_memory *m = driver_registered_at(host);
    if (!m || m->host != host)
        return DRIVER_NOT_REGISTERED;
    return driver_memory_release(m->address, DRIVER_REGISTERED_MEMORY, DRIVER_REGISTERED_MEMORY);
}

int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    IN_CONTEXT;
    if (flags != 1 && flags != 2) /* global, host */
        return DRIVER_INVALID_VALUE;
    return make_at(DRIVER_MANAGED_MEMORY, bytes, address);
}

/* CUpointer_attribute */
enum pointer_attribute {
    POINTER_CONTEXT = 1,
    POINTER_MEMORY_TYPE = 2,
    POINTER_DEVICE = 3,
    POINTER_HOST = 4,
    POINTER_TOKENS = 5,
    POINTER_BUFFER = 7,
    POINTER_MANAGED = 8,
    POINTER_ORDINAL = 9,
    POINTER_START = 11,
    POINTER_BYTES = 12,
    POINTER_MAPPED = 13,
    POINTER_POOL = 17,
    POINTER_MAPPING_BYTES = 18,
    POINTER_MAPPING_START = 19,
    POINTER_BLOCK = 20
};

/* Returns where the memory begins on the side, host or device, that the address is of. */
static uint64_t base_of(const struct driver_memory *m, uint64_t address)
{
    return address - m->address < m->bytes ? m->address : (uintptr_t)m->host;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
    IN_CONTEXT;
    const struct driver_memory *m = driver_memory_at(address);
    if (!m)
        m = driver_registered_at((const void *)(uintptr_t)address);
    if (!value || !m || m->freed_by)
        return DRIVER_INVALID_VALUE;
    bool of_host = m->type == DRIVER_PINNED_MEMORY || m->type == DRIVER_REGISTERED_MEMORY;
    switch ((enum pointer_attribute)attribute) {
    case POINTER_CONTEXT: return cuCtxGetCurrent(value);
    case POINTER_MEMORY_TYPE:
        *(unsigned *)value = of_host ? DRIVER_MEMORY_HOST : DRIVER_MEMORY_DEVICE;
        break;
    case POINTER_DEVICE: *(uint64_t *)value = m->address + (address - base_of(m, address)); break;
    case POINTER_HOST:
        if (m->type == DRIVER_DEVICE_MEMORY)
            return DRIVER_INVALID_VALUE;
        *(uint64_t *)value = (uintptr_t)m->host + (address - base_of(m, address));
        break;
    case POINTER_MANAGED: *(unsigned *)value = m->type == DRIVER_MANAGED_MEMORY; break;
    case POINTER_ORDINAL: *(int *)value = 0; break;
    case POINTER_START: *(uint64_t *)value = m->address; break;
    case POINTER_BYTES: *(size_t *)value = m->bytes; break;
    case POINTER_MAPPED: *(int *)value = 1; break;
    default: return DRIVER_INVALID_VALUE;
    }
    return DRIVER_SUCCESS;
}

static size_t bytes_of(int attribute)
{
    switch ((enum pointer_attribute)attribute) {
    case POINTER_TOKENS: return 2 * sizeof(uint64_t);
    case POINTER_CONTEXT:
    case POINTER_DEVICE:
    case POINTER_HOST:
    case POINTER_BUFFER:
    case POINTER_START:
    case POINTER_BYTES:
    case POINTER_POOL:
    case POINTER_MAPPING_BYTES:
    case POINTER_MAPPING_START:
    case POINTER_BLOCK: return sizeof(uint64_t);
    default: return sizeof(int);
    }
}

/* An attribute that the memory does not have is 0. */
int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, uint64_t address)
{
    IN_CONTEXT;
    if (!attributes || !values)
        return DRIVER_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (cuPointerGetAttribute(values[i], attributes[i], address) != DRIVER_SUCCESS)
            memset(values[i], 0, bytes_of(attributes[i]));
    return DRIVER_SUCCESS;
}
