/* Virtual memory (CUDA Driver API, "Virtual Memory Management"): a program reserves addresses, makes
 * memory, maps the memory at the addresses, and gives the device access. Memory with a handle for other
 * processes is an unnamed file of its own; all other memory is in one common file, because a process has
 * few file descriptors. The host maps the file at the place of the reservation, so memory at two
 * addresses has the same values. */
#include "driver/driver_order.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* CUmemAllocationHandleType, CUmemAccess_flags */
enum { HANDLE_OF_FILE = 1 };
enum { ACCESS_NONE = 0, ACCESS_READ = 1, ACCESS_READ_AND_WRITE = 3 };

/* Memory of cuMemCreate. It is freed when it has neither handles nor places. */
struct physical {
    struct physical *next; /* in the order of their making, newest first */
    struct driver_allocation_properties properties;
    size_t bytes;
    int file;      /* its own; -1: it is in the common file */
    uint64_t from; /* where it begins in the file */
    int number;    /* "physical memory 1" */
    int handles, places;
    bool had_values; /* it was mapped before, or another process has it */
    const char *call;
    struct driver_site made;
};
static struct physical *all;
static int made;
static struct {
    int file; /* 0: not made so far */
    uint64_t end;
} common;

/* Memory at a place of a reservation. */
struct mapping {
    struct mapping *next;
    uint64_t from, end; /* offsets */
    struct physical *of;
};
struct driver_reserved {
    struct sim_pages pages;
    uint8_t *host;
    struct mapping *mappings;
    struct mapping **at; /* by page; NULL: no memory is mapped there */
};

static bool is_whole(uint64_t bytes)
{
    return bytes % SIM_PAGE_BYTES == 0;
}

static struct physical *physical_of(uint64_t handle)
{
    return driver_object((const void *)(uintptr_t)handle, DRIVER_PHYSICAL);
}

__attribute__((format(printf, 2, 3))) static int refuse(const struct driver_memory *m,
                                                        const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    driver_refuse("bad-mapping", m, "%s", text);
    return DRIVER_INVALID_VALUE;
}

/* --- reservations --- */

/* Finds a range of pages in a reservation. Returns NULL after a report if it is not in one. */
static struct driver_memory *range_of(uint64_t address, uint64_t bytes, uint64_t *offset)
{
    struct driver_memory *m = driver_memory_at(address);
    if (m && m->freed_by) {
        refuse(m, "%s was freed", m->name);
        return NULL;
    }
    if (!m || !m->reserved) {
        refuse(m, "0x%llx is not an address that cuMemAddressReserve gave",
               (unsigned long long)address);
        return NULL;
    }
    *offset = address - m->address;
    if (*offset > m->bytes || bytes > m->bytes - *offset)
        refuse(m, "bytes %llu to %llu are not all in %s, which has %zu bytes",
               (unsigned long long)*offset, (unsigned long long)(*offset + bytes - 1), m->name,
               m->bytes);
    else if (!bytes || !is_whole(bytes) || !is_whole(*offset))
        refuse(m, "%llu bytes at byte %llu of %s: both have to be multiples of %llu",
               (unsigned long long)bytes, (unsigned long long)*offset, m->name,
               (unsigned long long)SIM_PAGE_BYTES);
    else
        return m;
    return NULL;
}

/* Sets the pages of a range. */
static void set_pages(const struct driver_memory *m, uint64_t from, uint64_t end,
                      enum sim_page state)
{
    struct sim_pages *p = &m->reserved->pages;
    memset(p->access + from / SIM_PAGE_BYTES, state, (size_t)((end - from) / SIM_PAGE_BYTES));
    p->open = 0;
    while (p->open < m->bytes && p->access[p->open / SIM_PAGE_BYTES] == SIM_PAGE_OPEN)
        p->open += SIM_PAGE_BYTES;
}

/* Maps pages of the host without memory. They can be read: a wide read of the simulator may reach
 * them. */
static void *map_nothing(void *at, size_t bytes)
{
    return mmap(at, bytes, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
}

int cuMemAddressReserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t wanted,
                        uint64_t flags)
{
    IN_CONTEXT;
    struct driver_memory *m;
    (void)wanted; /* a hint */
    if (!address || !bytes || !is_whole(bytes) || flags || alignment & (alignment - 1))
        return DRIVER_INVALID_VALUE;
    if (bytes >= SIM_MOST_BYTES || alignment > SIM_MOST_BYTES)
        return driver_unsupported("reservations of 64 GiB or more are not supported; reserve the "
                                  "addresses in several parts");
    const size_t pages = bytes / SIM_PAGE_BYTES;
    struct driver_reserved *r = calloc(1, sizeof *r + pages * (sizeof *r->at + 1));
    void *host = r ? map_nothing(NULL, bytes) : MAP_FAILED;
    if (host == MAP_FAILED) {
        free(r);
        return DRIVER_OUT_OF_MEMORY;
    }
    r->host = host;
    r->at = (struct mapping **)(r + 1);
    r->pages.access = (uint8_t *)(r->at + pages);
    int result = driver_memory_make_reserved(r, &r->pages, bytes, host, &m);
    if (result != DRIVER_SUCCESS) {
        munmap(host, bytes);
        free(r);
        return result;
    }
    *address = m->address;
    return DRIVER_SUCCESS;
}

int cuMemAddressFree(uint64_t address, size_t bytes)
{
    IN_CONTEXT;
    uint64_t offset;
    struct driver_memory *m = range_of(address, bytes, &offset);
    if (!m)
        return DRIVER_INVALID_VALUE;
    struct driver_reserved *r = m->reserved;
    if (offset || bytes != m->bytes)
        return refuse(m, "a part of %s is freed: free all %zu bytes", m->name, m->bytes);
    if (r->mappings)
        return refuse(m, "%s is freed while memory is mapped at its byte %llu: unmap it first",
                      m->name, (unsigned long long)r->mappings->from);
    int result = driver_memory_end(m);
    if (result != DRIVER_SUCCESS)
        return result;
    munmap(r->host, m->bytes);
    free(r);
    m->reserved = NULL;
    return DRIVER_SUCCESS;
}

/* --- memory --- */

static int check_properties(const struct driver_allocation_properties *p)
{
    if (!p || p->type != DRIVER_PINNED_ALLOCATION)
        return DRIVER_INVALID_VALUE;
    if (p->location.type != DRIVER_ON_DEVICE)
        return driver_unsupported("cuMemCreate for the host is not supported; use cuMemHostAlloc");
    if (p->handles & ~HANDLE_OF_FILE)
        return driver_unsupported("handles other than file descriptors are not supported");
    return p->location.id ? DRIVER_INVALID_DEVICE : DRIVER_SUCCESS;
}

int cuMemGetAllocationGranularity(size_t *bytes, const struct driver_allocation_properties *p,
                                  int option)
{
    IN_CONTEXT;
    if (!bytes || option < 0 || option > 1) /* the least, the recommended */
        return DRIVER_INVALID_VALUE;
    *bytes = SIM_PAGE_BYTES;
    return check_properties(p);
}

/* Returns a new piece of memory, which owns its file; NULL: no memory. */
static struct physical *new_physical(int file, uint64_t from, size_t bytes)
{
    struct physical *p = driver_new(DRIVER_PHYSICAL, sizeof *p);
    if (!p)
        return NULL;
    *p = (struct physical){
        .next = all, .bytes = bytes, .file = file, .from = from, .number = ++made, .handles = 1};
    p->call = driver_call_name();
    driver_site_here(&p->made);
    return all = p;
}

/* Makes memory in a file of its own. */
static struct physical *create_alone(size_t bytes)
{
    int file = driver_file_make(bytes);
    struct physical *p = file >= 0 ? new_physical(file, 0, bytes) : NULL;
    if (!p && file >= 0)
        close(file);
    return p;
}

/* Makes memory at the end of the common file; the places of freed memory are not used again. */
static struct physical *create_in_common(size_t bytes)
{
    if (!common.file) {
        int file = memfd_create("tilewright", MFD_CLOEXEC);
        common.file = file > 0 ? file : 0;
    }
    if (!common.file || bytes > INT64_MAX - common.end ||
        ftruncate(common.file, (off_t)(common.end + bytes)) != 0)
        return NULL;
    struct physical *p = new_physical(-1, common.end, bytes);
    common.end += p ? bytes : 0;
    return p;
}

int cuMemCreate(uint64_t *handle, size_t bytes, const struct driver_allocation_properties *p,
                uint64_t flags)
{
    IN_CONTEXT;
    int result = check_properties(p);
    if (result != DRIVER_SUCCESS)
        return result;
    if (!handle || !bytes || !is_whole(bytes) || flags)
        return DRIVER_INVALID_VALUE;
    if (bytes > INT64_MAX || !driver_memory_count((int64_t)bytes))
        return DRIVER_OUT_OF_MEMORY;
    struct physical *new = p->handles ? create_alone(bytes) : create_in_common(bytes);
    if (!new) {
        driver_memory_count(-(int64_t)bytes);
        return DRIVER_OUT_OF_MEMORY;
    }
    new->properties = *p;
    *handle = (uintptr_t) new;
    return DRIVER_SUCCESS;
}

/* Frees memory that has neither handles nor places. The object stays, for reports. */
static void free_unused(struct physical *p)
{
    if (p->handles || p->places)
        return;
    if (p->file >= 0)
        close(p->file);
    else
        fallocate(common.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)p->from,
                  (off_t)p->bytes);
    p->file = -1;
    driver_memory_count(-(int64_t)p->bytes);
}

/* Returns the memory of a handle; NULL: the handle is not valid. */
static struct physical *held(uint64_t handle)
{
    struct physical *p = physical_of(handle);
    return p && p->handles ? p : NULL;
}

int cuMemRelease(uint64_t handle)
{
    IN_CONTEXT;
    struct physical *p = physical_of(handle);
    if (p && !p->handles)
        driver_refuse("double-free", NULL, "physical memory %d is released again", p->number);
    if (!p || !p->handles)
        return DRIVER_INVALID_VALUE;
    driver_trace("physical memory %d", p->number);
    p->handles--;
    free_unused(p);
    return DRIVER_SUCCESS;
}

int cuMemGetAllocationPropertiesFromHandle(struct driver_allocation_properties *properties,
                                           uint64_t handle)
{
    IN_CONTEXT;
    const struct physical *p = held(handle);
    if (!properties || !p)
        return DRIVER_INVALID_VALUE;
    *properties = p->properties;
    return DRIVER_SUCCESS;
}

static struct mapping *mapping_at(const struct driver_memory *m, uint64_t offset)
{
    return offset < m->bytes ? m->reserved->at[offset / SIM_PAGE_BYTES] : NULL;
}

int cuMemRetainAllocationHandle(uint64_t *handle, void *address)
{
    IN_CONTEXT;
    uint64_t at = (uintptr_t)address;
    const struct driver_memory *m = driver_memory_at(at);
    const struct mapping *there =
        m && m->reserved && handle ? mapping_at(m, at - m->address) : NULL;
    if (!there)
        return DRIVER_INVALID_VALUE;
    there->of->handles++;
    *handle = (uintptr_t)there->of;
    return DRIVER_SUCCESS;
}

/* --- handles for other processes --- */

struct wrote_call {
    uint64_t address;
    size_t bytes;
};

static int note_written(void *user)
{
    const struct wrote_call *call = user;
    sim_wrote(driver_machine(), call->address, call->bytes);
    return DRIVER_SUCCESS;
}

/* Counts the memory as written at all of its places: it may be written by another process, or at
 * another place. */
static void expect_writes(struct physical *p)
{
    p->had_values = true;
    for (const struct driver_memory *m = p->places ? driver_memory_next(NULL) : NULL; m;
         m = driver_memory_next(m))
        for (const struct mapping *at = m->reserved ? m->reserved->mappings : NULL; at;
             at = at->next)
            if (at->of == p) {
                struct wrote_call wrote = {m->address + at->from, at->end - at->from};
                driver_guard(note_written, &wrote);
            }
}

int cuMemExportToShareableHandle(void *out, uint64_t handle, int type, uint64_t flags)
{
    IN_CONTEXT;
    struct physical *p = held(handle);
    if (!out || !p || flags || type != HANDLE_OF_FILE || !(p->properties.handles & type))
        return DRIVER_INVALID_VALUE;
    int file = fcntl(p->file, F_DUPFD_CLOEXEC, 0);
    if (file < 0)
        return DRIVER_OUT_OF_MEMORY;
    expect_writes(p); /* by the other process */
    *(int *)out = file;
    return DRIVER_SUCCESS;
}

static struct physical *with_file(const struct stat *file)
{
    struct physical *p = all;
    struct stat of;
    while (p && (p->file < 0 || fstat(p->file, &of) != 0 || of.st_ino != file->st_ino ||
                 of.st_dev != file->st_dev))
        p = p->next;
    return p;
}

int cuMemImportFromShareableHandle(uint64_t *handle, void *file, int type)
{
    IN_CONTEXT;
    int from = (int)(intptr_t)file;
    struct stat s;
    if (!handle || type != HANDLE_OF_FILE)
        return DRIVER_INVALID_VALUE;
    if (fstat(from, &s) != 0 || s.st_size <= 0 || !is_whole((uint64_t)s.st_size) ||
        !driver_file_is_sealed(from))
        return refuse(NULL, "file descriptor %d is not one that cuMemExportToShareableHandle gave",
                      from);
    struct physical *p = with_file(&s);
    if (p) {
        p->handles++;
        *handle = (uintptr_t)p;
        return DRIVER_SUCCESS;
    }
    if (!driver_memory_count(s.st_size))
        return DRIVER_OUT_OF_MEMORY;
    int copy = fcntl(from, F_DUPFD_CLOEXEC, 0);
    p = copy >= 0 ? new_physical(copy, 0, (size_t)s.st_size) : NULL;
    if (!p) {
        if (copy >= 0)
            close(copy);
        driver_memory_count(-s.st_size);
        return DRIVER_OUT_OF_MEMORY;
    }
    p->had_values = true;
    p->properties = (struct driver_allocation_properties){.type = DRIVER_PINNED_ALLOCATION,
                                                          .handles = HANDLE_OF_FILE,
                                                          .location = {DRIVER_ON_DEVICE, 0}};
    *handle = (uintptr_t)p;
    return DRIVER_SUCCESS;
}

/* --- mapping --- */

/* Returns true if no page of the range had memory before. */
static bool is_unused(const struct driver_memory *m, uint64_t from, uint64_t end)
{
    for (uint64_t at = from; at < end; at += SIM_PAGE_BYTES)
        if (m->reserved->pages.access[at / SIM_PAGE_BYTES] != SIM_PAGE_UNUSED)
            return false;
    return true;
}

/* Notes the mapping of the pages of a place; NULL: none. */
static void set_mapping(struct driver_reserved *r, const struct mapping *place, struct mapping *now)
{
    for (uint64_t at = place->from; at < place->end; at += SIM_PAGE_BYTES)
        r->at[at / SIM_PAGE_BYTES] = now;
}

/* Maps memory. Its bytes count as not initialised if nothing can have written them. */
static int map(struct driver_memory *m, uint64_t from, uint64_t bytes, struct physical *p)
{
    struct driver_reserved *r = m->reserved;
    struct mapping *new = malloc(sizeof *new);
    if (!new || mmap(r->host + from, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                     p->file >= 0 ? p->file : common.file, (off_t)p->from) == MAP_FAILED) {
        free(new);
        return DRIVER_OUT_OF_MEMORY;
    }
    *new = (struct mapping){r->mappings, from, from + bytes, p};
    r->mappings = new;
    set_mapping(r, new, new);
    if (p->places++)
        expect_writes(p);
    struct wrote_call wrote = {m->address + from, bytes};
    if (p->had_values || !is_unused(m, from, from + bytes))
        driver_guard(note_written, &wrote);
    p->had_values = true;
    set_pages(m, from, from + bytes, SIM_PAGE_CLOSED);
    return DRIVER_SUCCESS;
}

int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags)
{
    IN_CONTEXT;
    uint64_t from;
    struct physical *p = held(handle);
    if (!p || offset || flags)
        return DRIVER_INVALID_VALUE;
    struct driver_memory *m = range_of(address, bytes, &from);
    if (!m)
        return DRIVER_INVALID_VALUE;
    if (bytes > p->bytes)
        return refuse(m, "%zu bytes of physical memory %d are mapped, which has %zu", bytes,
                      p->number, p->bytes);
    for (uint64_t at = from; at < from + bytes; at += SIM_PAGE_BYTES)
        if (mapping_at(m, at))
            return refuse(m, "byte %llu of %s has memory already: unmap it first",
                          (unsigned long long)at, m->name);
    driver_trace("physical memory %d, byte %llu of %s", p->number, (unsigned long long)from,
                 m->name);
    return map(m, from, bytes, p);
}

/* Reports work that uses the range, and that the host has not waited for. */
static void find_uses(uint64_t address, uint64_t bytes)
{
    struct driver_span span = {address, bytes, DRIVER_WRITES};
    const struct driver_work host = {.spans = &span, .span_count = 1, .verb = "unmaps"};
    struct driver_overlap overlap;
    for (int i = 0; i < driver_order_slots(); i++)
        for (const struct driver_work *w = driver_work_live(i); w; w = w->next)
            if (!driver_order_is_before_host(w) && driver_overlaps(w, &host, &overlap)) {
                driver_report_host_race(w, &overlap, &host);
                return;
            }
}

static void unmap(struct driver_memory *m, struct mapping *old)
{
    struct mapping **at = &m->reserved->mappings;
    while (*at != old)
        at = &(*at)->next;
    *at = old->next;
    set_mapping(m->reserved, old, NULL);
    map_nothing(m->reserved->host + old->from, (size_t)(old->end - old->from));
    set_pages(m, old->from, old->end, SIM_PAGE_UNMAPPED);
    old->of->places--;
    free_unused(old->of);
    free(old);
}

int cuMemUnmap(uint64_t address, size_t bytes)
{
    IN_CONTEXT;
    uint64_t from;
    struct driver_memory *m = range_of(address, bytes, &from);
    if (!m)
        return DRIVER_INVALID_VALUE;
    for (uint64_t at = from; at < from + bytes; at += SIM_PAGE_BYTES) {
        const struct mapping *there = mapping_at(m, at);
        if (!there)
            return refuse(m, "byte %llu of %s is unmapped, and no memory is mapped there",
                          (unsigned long long)at, m->name);
        if (there->from < from || there->end > from + bytes)
            return refuse(m, "a part of the memory at byte %llu of %s is unmapped: unmap all of it",
                          (unsigned long long)there->from, m->name);
    }
    driver_trace("byte %llu of %s", (unsigned long long)from, m->name);
    find_uses(address, bytes);
    for (uint64_t at = from; at < from + bytes; at += SIM_PAGE_BYTES)
        if (mapping_at(m, at))
            unmap(m, mapping_at(m, at));
    return DRIVER_SUCCESS;
}

/* --- access --- */

static bool is_device(const struct driver_location *location)
{
    return location->type == DRIVER_ON_DEVICE && !location->id;
}

int cuMemSetAccess(uint64_t address, size_t bytes, const struct driver_access *list, size_t count)
{
    IN_CONTEXT;
    uint64_t from;
    struct driver_memory *m = range_of(address, bytes, &from);
    if (!m || !list || count != 1 || !is_device(&list->location))
        return DRIVER_INVALID_VALUE;
    if (list->flags != ACCESS_NONE && list->flags != ACCESS_READ &&
        list->flags != ACCESS_READ_AND_WRITE)
        return DRIVER_INVALID_VALUE;
    for (uint64_t at = from; at < from + bytes; at += SIM_PAGE_BYTES)
        if (!mapping_at(m, at))
            return refuse(m, "access is set at byte %llu of %s, and no memory is mapped there",
                          (unsigned long long)at, m->name);
    set_pages(m, from, from + bytes,
              list->flags == ACCESS_NONE   ? SIM_PAGE_CLOSED
              : list->flags == ACCESS_READ ? SIM_PAGE_READ
                                           : SIM_PAGE_OPEN);
    return DRIVER_SUCCESS;
}

int cuMemGetAccess(uint64_t *flags, const struct driver_location *location, uint64_t address)
{
    IN_CONTEXT;
    const struct driver_memory *m = driver_memory_at(address);
    if (!flags || !location || !is_device(location) || !m || !m->reserved || m->freed_by ||
        address - m->address >= m->bytes)
        return DRIVER_INVALID_VALUE;
    switch ((enum sim_page)m->reserved->pages.access[(address - m->address) / SIM_PAGE_BYTES]) {
    case SIM_PAGE_OPEN: *flags = ACCESS_READ_AND_WRITE; break;
    case SIM_PAGE_READ: *flags = ACCESS_READ; break;
    case SIM_PAGE_CLOSED: *flags = ACCESS_NONE; break;
    case SIM_PAGE_UNUSED:
    case SIM_PAGE_UNMAPPED: return DRIVER_INVALID_VALUE;
    }
    return DRIVER_SUCCESS;
}

/* --- reports --- */

void driver_report_physical_leaks(void)
{
    for (const struct physical *p = all; p; p = p->next) {
        struct driver_fault fault = {.kind = "leak"};
        if (!p->handles && !p->places)
            continue;
        fault.message = arena_printf(&driver.arena, "physical memory %d, %zu bytes by %s at %s, %s",
                                     p->number, p->bytes, p->call, driver_site_text(&p->made, NULL),
                                     p->handles ? "was never released" : "is still mapped");
        driver_report_fault(&fault);
    }
}
