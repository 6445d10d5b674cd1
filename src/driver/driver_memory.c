/* Memory that programs allocate. Memory of the device has addresses that no host memory can have:
 * they begin at 2^47, where the host's user addresses end. Memory that host and device share is
 * mapped at one of the addresses below, so that one pointer serves both. */
#include "driver/driver_graph.h"

#include "sim/sim_own.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

struct driver_memories driver_memories;

struct driver_memory *driver_memory_at(uint64_t address)
{
    const struct number_entry *found =
        number_map_find(&driver_memories.by_number, address >> SIM_OFFSET_BITS);
    assert(!found || found->value - 1 < (uint64_t)driver_memories.count);
    return found ? driver_memories.list[found->value - 1] : NULL;
}

bool driver_is_shared(uint64_t address)
{
    return address >> SIM_OFFSET_BITS < DRIVER_SHARED_NUMBERS;
}

struct driver_memory *driver_memory_of_host(uint64_t address)
{
    struct driver_memory *m =
        driver_is_shared(address) || driver_memories.registered ? driver_memory_at(address) : NULL;
    return m && m->type != DRIVER_DEVICE_MEMORY ? m : NULL;
}

struct driver_memory *driver_registered_at(const void *host)
{
    for (int i = 0; i < driver_memories.count && driver_memories.registered; i++) {
        struct driver_memory *m = driver_memories.list[i];
        if (m->type == DRIVER_REGISTERED_MEMORY && !m->freed_by &&
            (uintptr_t)host - (uintptr_t)m->host < m->bytes)
            return m;
    }
    return NULL;
}

struct driver_memory *driver_memory_next(const struct driver_memory *after)
{
    int next = after ? after->number : 0; /* numbers begin at 1 */
    return next < driver_memories.count ? driver_memories.list[next] : NULL;
}

bool driver_memory_count(int64_t bytes)
{
    assert(bytes >= 0 || (uint64_t)-bytes <= driver_memories.used);
    if (bytes > 0 && (uint64_t)bytes > driver_total_memory() - driver_memories.used)
        return false;
    driver_memories.used += (uint64_t)bytes;
    return true;
}

/* --- calls --- */
