/* The seam to the operating system, threads: a pool that waits for work, a queue that runs jobs one
 * after the other in the background, locks. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/platform.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

int platform_cores(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
#endif
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (int)cores : 1;
}

int platform_cache_ways(void)
{
    long ways = 0;
#if defined(_SC_LEVEL1_DCACHE_ASSOC)
    ways = sysconf(_SC_LEVEL1_DCACHE_ASSOC);
#endif
    return ways > 0 ? (int)ways : 8;
}

void platform_yield(void)
{
    sched_yield();
}

void platform_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void *platform_thread(void)
{
    static _Thread_local char own;
    return &own;
}

/* Blocks signals in the library's threads, so that the program's own threads get them. Faults stay
 * with the thread that causes them. */
static void block_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

/* The least stack of a thread of the library: enough for the library and for most callbacks. A
 * larger system default is kept. */
enum { LEAST_STACK = 1 << 20 };

static bool start_thread(pthread_t *thread, size_t stack, void *(*body)(void *), void *argument)
{
    sigset_t before;
    pthread_attr_t attributes;
    size_t usual;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    bool started = pthread_attr_getstacksize(&attributes, &usual) == 0 &&
                   (usual >= stack || pthread_attr_setstacksize(&attributes, stack) == 0);
    block_signals(&before);
    started = started && pthread_create(thread, &attributes, body, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

struct alone {
    void (*body)(void *);
    void *argument;
};

static void *run_alone(void *user)
{
    const struct alone *a = user;
    a->body(a->argument);
    return NULL;
}

bool platform_run_thread(size_t stack, void (*body)(void *), void *argument)
{
    pthread_t thread;
    struct alone alone = {body, argument};
    return start_thread(&thread, stack, run_alone, &alone) && pthread_join(thread, NULL) == 0;
}

/* --- a pool --- */

/* Limits of the time in seconds that a thread spins, looking for work or for the end of other
 * threads' work, before it sleeps. It spins for an eighth of its latest task's time, because the
 * next launch may follow soon, and waking a thread takes 50 microseconds and more in a virtual
 * machine. */
static const double spins_least = 20e-6, spins_most = 200e-6;
enum { LOOKS = 16 }; /* looks at the memory between two looks at the clock */
/* TRIES: how often a thread tries a lock that is about to be released */
enum { TRIES = 64, MOST_THREADS = 256 };

struct platform_pool {
    struct allocator allocator;
    atomic_int process; /* process of the threads; a forked process has none of them */
    int threads;        /* with the caller's */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    /* under the lock */
    int started, sleeping;
    bool busy, ending, awaited; /* awaited: the caller sleeps */
    void (*task)(void *argument, int index);
    void *argument;
    int count, next;
    /* written under the lock; spinning threads read it without */
    atomic_bool open;   /* there are tasks left to take */
    atomic_int running; /* tasks taken and not finished */
    pthread_t thread[];
};

static bool is_open(const struct platform_pool *p)
{
    return atomic_load(&p->open);
}

static bool all_done(const struct platform_pool *p)
{
    return atomic_load(&p->running) == 0;
}

/* `worked`: seconds of the thread's latest task. */
static void spin(const struct platform_pool *p, bool (*is_due)(const struct platform_pool *),
                 double worked)
{
    double longest = worked / 8, end;
    longest = longest < spins_least ? spins_least : longest < spins_most ? longest : spins_most;
    end = platform_seconds() + longest;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (is_due(p))
                return;
            platform_pause();
        }
    } while (platform_seconds() < end);
}

/* Takes the lock, which the thread that brought the work still holds for a moment. */
static void lock_soon(struct platform_pool *p)
{
    for (int i = 0; i < TRIES; i++) {
        if (pthread_mutex_trylock(&p->lock) == 0)
            return;
        platform_pause();
    }
    pthread_mutex_lock(&p->lock);
}

/* Takes a task and runs it with the lock released. Returns the seconds it took. */
static double do_task(struct platform_pool *p)
{
    int index = p->next++;
    void (*task)(void *, int) = p->task;
    void *argument = p->argument;
    atomic_store(&p->open, p->next < p->count);
    atomic_fetch_add(&p->running, 1);
    pthread_mutex_unlock(&p->lock);
    double start = platform_seconds();
    task(argument, index);
    double worked = platform_seconds() - start;
    lock_soon(p);
    if (atomic_fetch_sub(&p->running, 1) == 1 && p->next == p->count && p->awaited)
        pthread_cond_signal(&p->done);
    return worked;
}

static void wait_for_tasks(struct platform_pool *p, double worked)
{
    pthread_mutex_unlock(&p->lock);
    spin(p, is_open, worked);
    lock_soon(p);
    p->sleeping++;
    while (p->next == p->count && !p->ending)
        pthread_cond_wait(&p->wake, &p->lock);
    p->sleeping--;
}

static void *pool_thread(void *argument)
{
    struct platform_pool *p = argument;
    double worked = 0;
    pthread_mutex_lock(&p->lock);
    while (!p->ending) {
        if (p->next < p->count)
            worked = do_task(p);
        else
            wait_for_tasks(p, worked);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void pool_begin(struct platform_pool *p)
{
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    p->started = p->sleeping = 0;
    p->busy = p->awaited = false;
    p->next = p->count = 0;
    atomic_store(&p->open, false);
    atomic_store(&p->running, 0);
    atomic_store(&p->process, getpid());
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
    return sizeof(struct platform_pool) + (size_t)threads * sizeof(pthread_t);
}

struct platform_pool *platform_pool_new(const struct allocator *allocator, int threads)
{
    if (threads <= 0)
        threads = platform_cores();
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    struct platform_pool *p = allocator->resize(allocator->user, NULL, 0, pool_bytes(threads));
    if (!p)
        return NULL;
    p->allocator = *allocator;
    p->threads = threads;
    p->ending = false;
    pool_begin(p);
    return p;
}

void platform_pool_free(struct platform_pool *p)
{
    if (!p)
        return;
    if (p->process == getpid()) {
        pthread_mutex_lock(&p->lock);
        p->ending = true;
        atomic_store(&p->open, true); /* spinning threads see this and come */
        pthread_cond_broadcast(&p->wake);
        pthread_mutex_unlock(&p->lock);
        for (int i = 0; i < p->started; i++)
            pthread_join(p->thread[i], NULL);
        pthread_cond_destroy(&p->done);
        pthread_cond_destroy(&p->wake);
        pthread_mutex_destroy(&p->lock);
    }
    struct allocator a = p->allocator;
    a.resize(a.user, p, pool_bytes(p->threads), 0);
}

/* Wakes or starts threads for `count` tasks. With fewer threads the tasks take longer. */
static void call_threads(struct platform_pool *p, int count)
{
    int wanted = (count < p->threads ? count : p->threads) - 1;
    while (p->started < wanted && start_thread(&p->thread[p->started], LEAST_STACK, pool_thread, p))
        p->started++;
    if (p->sleeping > 0 && wanted > 1)
        pthread_cond_broadcast(&p->wake);
    else if (p->sleeping > 0)
        pthread_cond_signal(&p->wake);
}

static void wait_for_others(struct platform_pool *p, double worked)
{
    pthread_mutex_unlock(&p->lock);
    spin(p, all_done, worked);
    lock_soon(p);
    p->awaited = true;
    while (atomic_load(&p->running) > 0)
        pthread_cond_wait(&p->done, &p->lock);
    p->awaited = false;
}

/* Returns true if the caller has the threads for `count` tasks; it then holds the lock too. */
static bool take_threads(struct platform_pool *p, int count)
{
    if (count < 2 || p->threads < 2)
        return false;
    pool_renew(p);
    pthread_mutex_lock(&p->lock);
    if (p->busy) {
        pthread_mutex_unlock(&p->lock);
        return false;
    }
    p->busy = true;
    return true;
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
    p->task = task;
    p->argument = argument;
    p->count = count;
    p->next = 0;
    atomic_store(&p->open, true);
    call_threads(p, count);
    double worked = 0;
    while (p->next < p->count)
        worked = do_task(p);
    if (!all_done(p))
        wait_for_others(p, worked);
    p->busy = false;
    pthread_mutex_unlock(&p->lock);
}

struct parallel platform_pool_parallel(struct platform_pool *p)
{
    return (struct parallel){.run = platform_pool_run, .user = p, .threads = p->threads};
}

/* --- a queue --- */

struct platform_queue {
    struct allocator allocator;
    pid_t process;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct platform_job *first, **last; /* jobs not finished yet; the first is running */
    bool ending, threaded;              /* threaded: a thread runs jobs, otherwise the thread that
                                         * adds a job runs it */
};

static void *queue_thread(void *argument)
{
    struct platform_queue *q = argument;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (!q->first && !q->ending)
            pthread_cond_wait(&q->changed, &q->lock);
        struct platform_job *job = q->first;
        if (!job)
            break;
        pthread_mutex_unlock(&q->lock);
        job->run(job->user);
        pthread_mutex_lock(&q->lock);
        q->first = job->next;
        if (!q->first)
            q->last = &q->first;
        job->waiting = false;
        pthread_cond_broadcast(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

static bool queue_begin(struct platform_queue *q)
{
    q->process = getpid();
    q->first = NULL;
    q->last = &q->first;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    q->threaded = start_thread(&q->thread, LEAST_STACK, queue_thread, q);
    return q->threaded;
}

/* Empties the queue in a forked process, which has neither the thread nor the jobs. */
static void renew_forked(struct platform_queue *q)
{
    if (q->process == getpid())
        return;
    for (struct platform_job *job = q->first; job; job = job->next)
        job->waiting = false;
    queue_begin(q);
}

struct platform_queue *platform_queue_new(const struct allocator *allocator)
{
    struct platform_queue *q = allocator->resize(allocator->user, NULL, 0, sizeof *q);
    if (!q)
        return NULL;
    *q = (struct platform_queue){.allocator = *allocator};
    if (queue_begin(q))
        return q;
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
    allocator->resize(allocator->user, q, sizeof *q, 0);
    return NULL;
}

void platform_queue_free(struct platform_queue *q)
{
    if (!q)
        return;
    if (q->process == getpid()) {
        pthread_mutex_lock(&q->lock);
        q->ending = true;
        pthread_cond_broadcast(&q->changed);
        pthread_mutex_unlock(&q->lock);
        if (q->threaded)
            pthread_join(q->thread, NULL);
        pthread_cond_destroy(&q->changed);
        pthread_mutex_destroy(&q->lock);
    }
    struct allocator a = q->allocator;
    a.resize(a.user, q, sizeof *q, 0);
}

void platform_queue_add(struct platform_queue *q, struct platform_job *job)
{
    renew_forked(q);
    if (!q->threaded) {
        job->run(job->user);
        return;
    }
    pthread_mutex_lock(&q->lock);
    job->waiting = true;
    job->next = NULL;
    *q->last = job;
    q->last = &job->next;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

bool platform_job_waiting(struct platform_queue *q, const struct platform_job *job)
{
    renew_forked(q);
    return job->waiting;
}

void platform_queue_wait(struct platform_queue *q, const struct platform_job *job)
{
    renew_forked(q);
    pthread_mutex_lock(&q->lock);
    while (job ? job->waiting : q->first != NULL)
        pthread_cond_wait(&q->changed, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

/* --- locks --- */

struct platform_lock {
    pthread_mutex_t mutex;
};

struct platform_lock *platform_lock_new(const struct allocator *allocator)
{
    struct platform_lock *l = allocator->resize(allocator->user, NULL, 0, sizeof *l);
    if (l)
        pthread_mutex_init(&l->mutex, NULL);
    return l;
}

void platform_lock_free(const struct allocator *allocator, struct platform_lock *l)
{
    if (!l)
        return;
    pthread_mutex_destroy(&l->mutex);
    allocator->resize(allocator->user, l, sizeof *l, 0);
}

void platform_lock(struct platform_lock *l)
{
    pthread_mutex_lock(&l->mutex);
}

void platform_unlock(struct platform_lock *l)
{
    pthread_mutex_unlock(&l->mutex);
}
