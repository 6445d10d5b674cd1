/* The seam to the operating system, a pool of threads that wait for tasks.
 *
 * Each thread has a seat, and the caller has seat 0. A run opens the seats 0 to count-1 and then
 * counts `runs` up. A thread takes its own seat, so in consecutive runs the same threads work on
 * the same tasks and find their data in their caches. The caller takes its own seat first, and then
 * those that no thread has taken yet: threads may be late, or may not have started. Every seat has
 * its own cache lines, and no lock is taken by more than two threads, so a run costs about as much
 * on many cores as on two.
 *
 * If there are more threads than cores, a spinning thread may take the core of one that works. Then
 * fewer threads spin than there are cores, and they take the seats of all threads that sleep. */
#include "base/platform.h"
#include "base/platform_own.h"

#include <sched.h>
#include <unistd.h>

/* Limits of the time in seconds that a thread spins, looking for work or for the end of other
 * threads' work, before it sleeps. It spins for an eighth of its latest task's time, because the
 * next launch may follow soon, and waking a thread takes 50 microseconds and more in a virtual
 * machine. A caller from Python takes 20 to 50 microseconds between two launches, and the threads of a
 * short launch end at different times. */
static const double spins_least = 100e-6, spins_most = 200e-6;
/* About the seconds that it takes to start the threads. Callers work alone for as long in all before
 * the threads start, so small launches never wait for the start, and the start costs other programs
 * at most twice its time. */
static const double start_time = 100e-6;
enum {
    LOOKS = 16,         /* looks at the memory between two looks at the clock */
    MOST_MISSES = 4,    /* a thread that spun so often and found no work sleeps at once */
    MOST_THREADS = 256, /* of a pool */
    FAN = 8,            /* sleeping threads that one thread wakes; 1 with more threads than cores */
    LINES = 128,        /* bytes: processors fetch two cache lines at a time */
};

struct seat {
    char before[LINES]; /* keeps neighbouring seats in different lines */
    atomic_bool open;   /* its tasks are to be run, and no thread has taken them */
    atomic_bool asleep; /* its thread sleeps; written under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct platform_pool *pool;
    pthread_t thread;
    int index;
    int processor;  /* that its thread is bound to; -1: any */
    unsigned known; /* value of `runs` up to which its thread knows all runs */
    int misses;     /* latest spins in a row that found no work */
};

struct platform_pool {
    struct allocator allocator;
    atomic_int process;       /* process of the threads; a forked process has none of them */
    int threads;              /* with the caller's */
    atomic_int cores;         /* that the process may use */
    int most_started;         /* threads that may start, with the caller's */
    int (*count_cores)(void); /* called when the threads start; NULL: `cores` is known */
    int started;              /* threads; only the caller that has the pool uses it */
    _Atomic double alone;     /* seconds for which callers may still work alone */
    atomic_bool busy, ending;
    /* the caller sets these before it opens seats, and keeps them until unfinished is 0 */
    void (*task)(void *argument, int index);
    void *argument;
    int count;
    pthread_mutex_t lock;
    pthread_cond_t done;
    atomic_bool awaited; /* the caller sleeps, or is about to */
    char before_runs[LINES];
    atomic_uint runs;     /* runs begun */
    atomic_int seated;    /* seats that the latest run opened */
    _Atomic double began; /* second in which it began */
    char before_unfinished[LINES];
    atomic_int unfinished; /* seats that were opened and whose tasks have not ended */
    atomic_int spinning;   /* threads of a crowded pool that look for a run */
    struct seat seats[];
};

/* Spins up to `longest` seconds. Returns whether it saw what it looks for. */
static bool spin(const struct seat *s, bool (*is_due)(const struct seat *), double longest)
{
    if (is_due(s))
        return true;
    double end = longest > 0 ? platform_seconds() + longest : 0;
    while (longest > 0) {
        for (int i = 0; i < LOOKS; i++) {
            if (is_due(s))
                return true;
            platform_pause();
        }
        if (platform_seconds() >= end)
            break;
    }
    return false;
}

static bool is_crowded(const struct platform_pool *p)
{
    return p->threads > p->cores;
}

/* Returns the seconds to spin after a task that took `worked` seconds. */
static double spin_time(double worked)
{
    double longest = worked / 8;
    return longest < spins_least ? spins_least : longest < spins_most ? longest : spins_most;
}

static bool has_new_run(const struct seat *s)
{
    return atomic_load(&s->pool->runs) != s->known;
}

static bool all_done(const struct seat *s)
{
    return atomic_load(&s->pool->unfinished) == 0;
}

/* Counts a thread in `spinning`. Returns whether a core is left for it to spin: fewer seats are at
 * work than there are cores, and fewer threads spin. */
static bool begin_spinning(struct platform_pool *p)
{
    int spinning = atomic_fetch_add(&p->spinning, 1);
    return spinning < p->cores - 1 && atomic_load(&p->unfinished) < p->cores;
}

/* Runs the seat's tasks if no other thread has taken them. Returns whether it did; *worked: the
 * seconds that they took. */
static bool take_seat(struct seat *s, double *worked)
{
    struct platform_pool *p = s->pool;
    if (!atomic_load(&s->open) || !atomic_exchange(&s->open, false))
        return false;
    double start = platform_seconds();
    for (int i = s->index; i < p->count; i += p->threads)
        p->task(p->argument, i);
    *worked = platform_seconds() - start;
    if (atomic_fetch_sub(&p->unfinished, 1) == 1 && atomic_load(&p->awaited)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_signal(&p->done);
        pthread_mutex_unlock(&p->lock);
    }
    return true;
}

/* Wakes a thread after `runs` was counted up. Either the thread sees the new value before it
 * sleeps, or this function sees that it sleeps. */
static void wake(struct seat *s)
{
    if (!atomic_load(&s->asleep))
        return;
    pthread_mutex_lock(&s->lock);
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

/* Each thread wakes some others, so the last of many wakes soon. In a crowded pool, awake threads may
 * have run all tasks before the others are needed, so they are woken one by one. */
static void wake_others(struct platform_pool *p, int index)
{
    int fan = is_crowded(p) ? 1 : FAN, first = index * fan + 1, seated = atomic_load(&p->seated);
    for (int i = first; i < first + fan && i < seated && atomic_load(&p->unfinished) > 0; i++)
        wake(&p->seats[i]);
}

static void sleep_until_run(struct seat *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->asleep, true);
    while (!has_new_run(s))
        pthread_cond_wait(&s->wake, &s->lock);
    atomic_store(&s->asleep, false);
    pthread_mutex_unlock(&s->lock);
}

/* Waits for a run. A thread whose latest spins found no run sleeps at once, until a run comes so
 * soon that spinning would have found it. */
static void wait_for_run(struct seat *s, double worked)
{
    struct platform_pool *p = s->pool;
    double longest = spin_time(worked), start = platform_seconds();
    const bool crowded = is_crowded(p); /* otherwise all may spin, and are not counted */
    bool spins = (!crowded || begin_spinning(p)) && s->misses < MOST_MISSES;
    bool found = spin(s, has_new_run, spins ? longest : 0);
    if (crowded)
        atomic_fetch_sub(&p->spinning, 1);
    if (!found)
        sleep_until_run(s);
    if (found || atomic_load(&p->began) - start < longest)
        s->misses = 0;
    else if (s->misses < MOST_MISSES)
        s->misses++;
    s->known = atomic_load(&p->runs);
}

static void *pool_thread(void *argument)
{
    struct seat *s = argument;
    struct platform_pool *p = s->pool;
    double worked = 0;
    if (s->processor >= 0)
        platform_bind(s->processor);
    for (;;) {
        wait_for_run(s, worked);
        if (atomic_load(&p->ending))
            return NULL;
        wake_others(p, s->index);
        take_seat(s, &worked);
        for (int i = 1; is_crowded(p) && i < p->threads; i++)
            take_seat(&p->seats[(s->index + i) % p->threads], &worked);
    }
}

static void pool_begin(struct platform_pool *p)
{
    p->started = 0;
    atomic_store(&p->alone, start_time);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->done, NULL);
    atomic_store(&p->awaited, false);
    atomic_store(&p->runs, 0);
    atomic_store(&p->seated, 0);
    atomic_store(&p->began, 0);
    atomic_store(&p->unfinished, 0);
    atomic_store(&p->spinning, 0);
    for (int i = 0; i < p->threads; i++) {
        struct seat *s = &p->seats[i];
        s->pool = p;
        s->index = i;
        s->known = 0;
        s->misses = 0;
        pthread_mutex_init(&s->lock, NULL);
        pthread_cond_init(&s->wake, NULL);
        atomic_store(&s->open, false);
        atomic_store(&s->asleep, false);
    }
    atomic_store(&p->busy, false);
    atomic_store(&p->process, getpid());
}

static void pool_end(struct platform_pool *p)
{
    for (int i = 0; i < p->threads; i++) {
        pthread_cond_destroy(&p->seats[i].wake);
        pthread_mutex_destroy(&p->seats[i].lock);
    }
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
}

/* Renews the pool in a forked process: the first thread that comes starts it again, other threads
 * wait. A negative `process` means that a thread is renewing it. */
static void pool_renew(struct platform_pool *p)
{
    int process, own = getpid();
    while ((process = atomic_load(&p->process)) != own)
        if (process == -own)
            sched_yield();
        else if (atomic_compare_exchange_strong(&p->process, &process, -own))
            pool_begin(p);
}

static size_t pool_bytes(int threads)
{
    return sizeof(struct platform_pool) + (size_t)threads * sizeof(struct seat);
}

static struct platform_pool *new_pool(const struct allocator *allocator, int threads, int cores)
{
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    struct platform_pool *p = allocator->resize(allocator->user, NULL, 0, pool_bytes(threads));
    if (!p)
        return NULL;
    p->allocator = *allocator;
    p->threads = p->most_started = threads;
    p->cores = cores;
    p->count_cores = NULL;
    atomic_store(&p->ending, false);
    for (int i = 0; i < threads; i++)
        p->seats[i].processor = -1;
    pool_begin(p);
    return p;
}

struct platform_pool *platform_pool_new(const struct allocator *allocator, int threads)
{
    int cores = platform_cores();
    return new_pool(allocator, threads > 0 ? threads : cores, cores);
}

struct platform_pool *platform_pool_new_soon(const struct allocator *allocator, int (*count)(void))
{
    int cores = platform_allowed_cores();
    struct platform_pool *p = new_pool(allocator, cores, cores);
    if (p)
        p->count_cores = count;
    return p;
}

void platform_pool_bind(struct platform_pool *p, const int *processors, int count)
{
    for (int i = 0; i < p->threads && count > 0; i++)
        p->seats[i].processor = processors[i % count];
}

void platform_pool_free(struct platform_pool *p)
{
    if (!p)
        return;
    if (p->process == getpid()) {
        atomic_store(&p->ending, true);
        atomic_fetch_add(&p->runs, 1);
        for (int i = 1; i <= p->started; i++)
            wake(&p->seats[i]);
        for (int i = 1; i <= p->started; i++)
            pthread_join(p->seats[i].thread, NULL);
        pool_end(p);
    }
    struct allocator a = p->allocator;
    a.resize(a.user, p, pool_bytes(p->threads), 0);
}

/* Starts the threads of `seats` seats that have not started. If not all may start, the pool is
 * crowded, so other threads take the seats without a thread. With fewer threads the tasks take
 * longer. */
static void start_threads(struct platform_pool *p, int seats)
{
    if (p->count_cores) {
        int cores = p->count_cores();
        p->count_cores = NULL;
        p->most_started = cores < p->threads ? cores : p->threads;
        atomic_store(&p->cores, cores);
    }
    atomic_store(&p->alone, 0);
    seats = seats < p->most_started ? seats : p->most_started;
    while (p->started < seats - 1) {
        struct seat *s = &p->seats[p->started + 1];
        s->known = atomic_load(&p->runs);
        if (!platform_start_thread(&s->thread, LEAST_STACK, pool_thread, s))
            return;
        p->started++;
    }
}

static void wait_for_others(struct platform_pool *p, double worked)
{
    bool spins = !is_crowded(p) || atomic_load(&p->unfinished) < p->cores;
    if (spin(&p->seats[0], all_done, spins ? spin_time(worked) : 0))
        return;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->awaited, true);
    while (!all_done(&p->seats[0]))
        pthread_cond_wait(&p->done, &p->lock);
    atomic_store(&p->awaited, false);
    pthread_mutex_unlock(&p->lock);
}

/* Returns true if the caller has the threads for `count` tasks. */
static bool take_threads(struct platform_pool *p, int count)
{
    if (count < 2 || p->threads < 2)
        return false;
    pool_renew(p);
    return !atomic_exchange(&p->busy, true);
}

/* Opens the seats. Threads that are late from an earlier run may take them from now on. */
static void open_seats(struct platform_pool *p, int seats)
{
    atomic_store(&p->unfinished, seats);
    for (int i = 0; i < seats; i++) /* `runs` orders them; no store waits for the one before */
        atomic_store_explicit(&p->seats[i].open, true, memory_order_release);
    atomic_store(&p->seated, seats);
    atomic_store(&p->began, platform_seconds());
    atomic_fetch_add(&p->runs, 1);
}

void platform_pool_run(void *pool, int count, void (*task)(void *argument, int index),
                       void *argument)
{
    struct platform_pool *p = pool;
    if (!take_threads(p, count)) {
        for (int i = 0; i < count; i++)
            task(argument, i);
        return;
    }
    int seats = count < p->threads ? count : p->threads;
    double worked = 0;
    start_threads(p, seats);
    p->task = task;
    p->argument = argument;
    p->count = count;
    open_seats(p, seats);
    wake_others(p, 0);
    for (int i = 0; i < seats; i++)
        take_seat(&p->seats[i], &worked);
    wait_for_others(p, worked);
    atomic_store(&p->busy, false);
}

static double pool_alone(void *pool, double spent)
{
    struct platform_pool *p = pool;
    double left = atomic_load(&p->alone);
    if (spent > 0 && left > 0)
        atomic_store(&p->alone, left = left > spent ? left - spent : 0);
    return left;
}

struct parallel platform_pool_parallel(struct platform_pool *p)
{
    return (struct parallel){.run = platform_pool_run,
                             .user = p,
                             .threads = p->threads,
                             .cores = p->cores,
                             .alone = pool_alone};
}
