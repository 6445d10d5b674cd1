/* The host's own accesses of memory that it shares with the device. The pages of such memory are
 * closed by mprotect while work uses them that the host has not waited for; the signal of an access
 * then tells where it is and whether it writes. */
#include "driver/driver_order.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static struct sigaction before; /* the program's own handler */
static bool installed;
static int guarded;  /* pieces of memory with closed pages */
static int64_t uses; /* by live work */
static bool ranged;  /* a memory has ranges */

static bool can_guard(const struct driver_memory *m)
{
    return !m->freed_by && m->type != DRIVER_DEVICE_MEMORY;
}

/* Finds the pages that belong to the memory alone: registered memory may begin within a page. */
static void pages_of(const struct driver_memory *m, uint64_t *first, uint64_t *end)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)m->host;
    bool whole = m->type != DRIVER_REGISTERED_MEMORY;
    *first = (begin + (whole ? 0 : page - 1)) / page * page;
    *end = (begin + m->bytes + (whole ? page - 1 : 0)) / page * page;
}

static void open_pages(struct driver_memory *m)
{
    uint64_t from, to;
    pages_of(m, &from, &to);
    if (!m->guarded ||
        mprotect((void *)(uintptr_t)from, (size_t)(to - from), PROT_READ | PROT_WRITE) != 0)
        return;
    m->guarded = false;
    guarded--;
}

/* Returns true if pages are protected. */
static bool protect(const struct driver_memory *m, const struct driver_range *r)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from, to;
    pages_of(m, &from, &to);
    uint64_t host = (uintptr_t)m->host - m->address;
    uint64_t low = (r->low + host) / page * page, high = r->high + host;
    from = low > from ? low : from;
    to = high < to ? high : to;
    return from < to && mprotect((void *)(uintptr_t)from, (size_t)(to - from),
                                 r->writes ? PROT_NONE : PROT_READ) == 0;
}

/* Closes the pages that live work writes to, and makes those read-only that it only reads. */
static void close_pages(struct driver_memory *m)
{
    bool closed = false;
    for (int writes = 0; writes < 2 && !m->guarded; writes++)
        for (int i = 0; i < m->range_count; i++)
            if (m->ranges[i].writes == writes)
                closed |= protect(m, &m->ranges[i]);
    guarded += closed;
    m->guarded |= closed;
}

void driver_guard_lift(void)
{
    for (struct driver_memory *m = driver_memory_next(NULL); m && guarded;
         m = driver_memory_next(m))
        open_pages(m);
}

/* --- the signal --- */

static bool is_write(const void *context)
{
#if defined(__x86_64__)
    enum { WRITE = 2 }; /* of the page fault's error code */
    const ucontext_t *c = context;
    return c->uc_mcontext.gregs[REG_ERR] & WRITE;
#else
    (void)context;
    return false;
#endif
}

/* Handles the access of a byte: of one that work writes atomically, such as a flag, the host waits
 * for the work; of another that the work touches, it is a race. */
static bool judge(const struct driver_work *w, uint64_t address, bool writes)
{
    struct driver_overlap overlap;
    if (driver_order_is_before_host(w))
        return false;
    if (!writes && driver_writes_atomically(w, address)) {
        driver_order_seen(w);
        return false;
    }
    if (!driver_touches_byte(w, address, writes, &overlap))
        return false;
    driver_report_host_race(w, &overlap, NULL);
    return true;
}

/* Returns false if the address is not that of closed memory; opens the memory otherwise. */
static bool handle(uint64_t host, bool writes)
{
    struct driver_memory *m = driver_memory_at(host);
    bool told = false;
    if (!m || host - m->address >= m->bytes)
        m = driver_registered_at((const void *)(uintptr_t)host);
    if (!m || !m->guarded)
        return false;
    uint64_t address = m->address + (host - (uintptr_t)m->host);
    open_pages(m);
    for (int i = 0; i < driver_order_slots(); i++)
        for (const struct driver_work *w = driver_work_live(i); w && !told; w = w->next)
            told = judge(w, address, writes);
    return true;
}

/* Returns the memory of the device that a register of the host holds an address of; NULL: none does.
 * Such addresses are not the processor's, so its signal does not tell which one was used. */
static const struct driver_memory *of_device(const siginfo_t *info, const void *context)
{
#if defined(__x86_64__)
    const ucontext_t *c = context;
    for (int i = REG_R8; i <= REG_RSP && info->si_code == SI_KERNEL; i++) {
        uint64_t address = (uint64_t)c->uc_mcontext.gregs[i];
        const struct driver_memory *m = driver_memory_at(address);
        if (m && m->type == DRIVER_DEVICE_MEMORY && address - m->address < m->bytes)
            return m;
    }
#else
    (void)info, (void)context;
#endif
    return NULL;
}

/* Reports an access that ends the program, if it is one of memory that a call gave. */
static void explain(const siginfo_t *info, const void *context)
{
    uint64_t host = (uintptr_t)info->si_addr;
    const struct driver_memory *m = of_device(info, context);
    if (m)
        driver_refuse("not-host-memory", m,
                      "the host reads or writes %s, which is memory of the device; "
                      "cudaMemcpy copies it",
                      m->name);
    m = driver_memory_at(host);
    if (m && m->freed_by && m->type != DRIVER_DEVICE_MEMORY && host - m->address < m->bytes)
        driver_refuse("use-after-free", m, "the host %s %s, which was freed",
                      is_write(context) ? "writes" : "reads", m->name);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct driver_entered entered = driver_enter("");
    bool ours = handle((uintptr_t)info->si_addr, is_write(context));
    if (!ours) { /* the access repeats, and the program's own handler gets it */
        explain(info, context);
        driver_guard_lift();
        sigaction(number, &before, NULL);
        installed = false; /* the next work that closes memory installs it again */
    }
    driver_leave(&entered);
}

void driver_guard_install(void)
{
    if (installed || !driver.settings.checks)
        return;
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    ours.sa_sigaction = on_signal;
    sigemptyset(&ours.sa_mask);
    installed = sigaction(SIGSEGV, &ours, &before) == 0;
}

/* --- closing --- */

void driver_guard_forget(struct driver_memory *m)
{
    open_pages(m);
}

static uint64_t distance(const struct driver_range *r, const struct driver_used *u)
{
    if (u->low > r->high)
        return u->low - r->high;
    return r->low > u->high ? r->low - u->high : 0;
}

/* Adds what work uses to the ranges of the memory. If there is no room, the nearest one grows. */
static void add_range(const struct driver_used *u)
{
    struct driver_memory *m = u->memory;
    bool writes = u->touch & (DRIVER_WRITES | DRIVER_WRITES_ATOMICALLY);
    bool full = m->range_count == DRIVER_RANGES;
    struct driver_range *nearest = NULL;
    for (struct driver_range *r = m->ranges; r < m->ranges + m->range_count; r++)
        if ((full || r->writes == writes) && (!nearest || distance(r, u) < distance(nearest, u)))
            nearest = r;
    if (!nearest || (!full && distance(nearest, u))) {
        ranged = true;
        m->ranges[m->range_count++] = (struct driver_range){u->low, u->high, writes};
        return;
    }
    nearest->low = u->low < nearest->low ? u->low : nearest->low;
    nearest->high = u->high > nearest->high ? u->high : nearest->high;
    nearest->writes = nearest->writes || writes;
}

void driver_guard_use(const struct driver_used *u, int change)
{
    uses += change;
    if (change > 0)
        add_range(u);
}

void driver_guard_renew(void)
{
    for (struct driver_memory *m = driver_memory_next(NULL); m && ranged; m = driver_memory_next(m))
        m->range_count = 0;
    ranged = false;
    for (int i = 0; i < driver_order_slots() && uses; i++)
        for (const struct driver_work *w = driver_work_live(i); w; w = w->next)
            for (int k = 0; k < w->used_count; k++)
                add_range(&w->used[k]);
}

void driver_guard_close(void)
{
    if (uses)
        driver_guard_install();
    for (struct driver_memory *m = driver_memory_next(NULL); m && uses && installed;
         m = driver_memory_next(m))
        if (m->range_count && can_guard(m))
            close_pages(m);
}
