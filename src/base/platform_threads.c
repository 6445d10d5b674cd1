/* The seam to the operating system, threads: single ones, a queue that runs jobs one after the other
 * in the background, locks. platform_pool.c has the pool. */
#include "base/platform.h"
#include "base/platform_own.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

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

bool platform_start_thread(pthread_t *thread, size_t stack, void *(*body)(void *), void *argument)
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
    return platform_start_thread(&thread, stack, run_alone, &alone) &&
           pthread_join(thread, NULL) == 0;
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
    q->threaded = platform_start_thread(&q->thread, LEAST_STACK, queue_thread, q);
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
