/* The host's own accesses of memory that it shares with the device. The pages of such memory are
 * closed by mprotect while work uses them that the host has not waited for; the signal of an access
 * then tells where it is and whether it writes. */
#include "driver/driver_order.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { OPEN, READ_ONLY, CLOSED };

static struct sigaction before; /* the program's own handler */
static bool installed;
static int guarded;  /* pieces of memory that are not open */
static int64_t uses; /* by live work */

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

/* Closes the pages that live work uses, or opens all. */
static void set(struct driver_memory *m, int state)
{
    static const int protections[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from, to;
    pages_of(m, &from, &to);
    if (state != OPEN) {
        uint64_t host = (uintptr_t)m->host - m->address;
        uint64_t low = (m->low + host) / page * page, high = m->high + host;
        from = low > from ? low : from;
        to = high < to ? high : to;
    }
    if (m->guard == state || from >= to ||
        mprotect((void *)(uintptr_t)from, (size_t)(to - from), protections[state]) != 0)
        return;
    guarded += (state != OPEN) - (m->guard != OPEN);
    m->guard = state;
}

void driver_guard_lift(void)
{
    for (struct driver_memory *m = driver_memory_next(NULL); m && guarded;
         m = driver_memory_next(m))
        if (m->guard != OPEN)
            set(m, OPEN);
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
    driver_report_host_race(w, &overlap);
    return true;
}

/* Returns false if the address is not that of closed memory; opens the memory otherwise. */
static bool handle(uint64_t host, bool writes)
{
    struct driver_memory *m = driver_memory_at(host);
    bool told = false;
    if (!m || host - m->address >= m->bytes)
        m = driver_registered_at((const void *)(uintptr_t)host);
    if (!m || m->guard == OPEN)
        return false;
    uint64_t address = m->address + (host - (uintptr_t)m->host);
    set(m, OPEN);
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
                      arena_printf(&driver.arena,
                                   "the host reads or writes %s, which is memory of the device; "
                                   "cudaMemcpy copies it",
                                   m->name));
    m = driver_memory_at(host);
    if (m && m->freed_by && m->type != DRIVER_DEVICE_MEMORY && host - m->address < m->bytes)
        driver_refuse("use-after-free", m,
                      arena_printf(&driver.arena, "the host %s %s, which was freed",
                                   is_write(context) ? "writes" : "reads", m->name));
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct driver_entered entered = driver_enter("");
    bool ours = handle((uintptr_t)info->si_addr, is_write(context));
    if (!ours)
        explain(info, context);
    if (!ours) { /* the access repeats, and the program's own handler gets it */
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
    if (m->guard != OPEN)
        set(m, OPEN);
}

void driver_guard_use(const struct driver_used *u, int change)
{
    struct driver_memory *m = u->memory;
    bool writes = u->touch & (DRIVER_WRITES | DRIVER_WRITES_ATOMICALLY), first;
    first = !m->writers && !m->readers;
    m->low = first || u->low < m->low ? u->low : m->low;
    m->high = first || u->high > m->high ? u->high : m->high;
    uses += change;
    m->writers += writes ? change : 0;
    m->readers += writes ? 0 : change;
}

void driver_guard_close(void)
{
    if (uses)
        driver_guard_install();
    for (struct driver_memory *m = driver_memory_next(NULL); m && uses && installed;
         m = driver_memory_next(m))
        if ((m->writers || m->readers) && can_guard(m))
            set(m, m->writers ? CLOSED : READ_ONLY);
}
