/* The seam to the operating system for WebAssembly, in place of platform_cores.c,
 * platform_threads.c, platform_pool.c and platform_stack.c: one thread and one stack. The caller runs tasks in turn, jobs run when they are
 * added, and locks do nothing. */
#include "base/platform.h"

int platform_cores(void)
{
    return 1;
}

int platform_processors(const char *list, int *processors, int most)
{
    (void)list, (void)processors, (void)most;
    return PROCESSORS_NONE;
}

bool platform_allow_tiles(void)
{
    return false;
}

int platform_allowed_cores(void)
{
    return 1;
}

int platform_cache_ways(void)
{
    return 8;
}

void platform_yield(void)
{
}

void platform_pause(void)
{
}

void *platform_thread(void)
{
    static char own;
    return &own;
}

bool platform_run_thread(size_t stack, void (*body)(void *), void *argument)
{
    (void)stack;
    body(argument);
    return true;
}

/* --- stacks --- */

struct platform_stack {
    struct allocator allocator;
};

struct platform_stack *platform_stack_new(const struct allocator *allocator, size_t bytes)
{
    struct platform_stack *s = allocator->resize(allocator->user, NULL, 0, sizeof *s);
    (void)bytes;
    if (s)
        s->allocator = *allocator;
    return s;
}

void platform_stack_free(struct platform_stack *s)
{
    if (!s)
        return;
    struct allocator a = s->allocator;
    a.resize(a.user, s, sizeof *s, 0);
}

bool platform_stack_call(struct platform_stack *s, void (*body)(void *), void *argument)
{
    (void)s;
    body(argument);
    return true;
}

void platform_stack_leave(struct platform_stack *s, void (*body)(void *), void *argument)
{
    (void)s;
    body(argument);
}

size_t platform_stack_used(const struct platform_stack *s)
{
    (void)s;
    return 0;
}

/* --- a pool --- */

struct platform_pool {
    struct allocator allocator;
};

struct platform_pool *platform_pool_new(const struct allocator *allocator, int threads)
{
    struct platform_pool *p = allocator->resize(allocator->user, NULL, 0, sizeof *p);
    (void)threads;
    if (p)
        p->allocator = *allocator;
    return p;
}

struct platform_pool *platform_pool_new_soon(const struct allocator *allocator, int (*count)(void))
{
    (void)count;
    return platform_pool_new(allocator, 1);
}

void platform_pool_bind(struct platform_pool *p, const int *processors, int count)
{
    (void)p, (void)processors, (void)count;
}

void platform_pool_free(struct platform_pool *p)
{
    if (!p)
        return;
    struct allocator a = p->allocator;
    a.resize(a.user, p, sizeof *p, 0);
}

void platform_pool_run(void *pool, int count, void (*task)(void *argument, int index),
                       void *argument)
{
    (void)pool;
    for (int i = 0; i < count; i++)
        task(argument, i);
}

struct parallel platform_pool_parallel(struct platform_pool *p)
{
    return (struct parallel){.run = platform_pool_run, .user = p, .threads = 1, .cores = 1};
}

/* --- a queue --- */

struct platform_queue {
    struct allocator allocator;
};

struct platform_queue *platform_queue_new(const struct allocator *allocator)
{
    struct platform_queue *q = allocator->resize(allocator->user, NULL, 0, sizeof *q);
    if (q)
        q->allocator = *allocator;
    return q;
}

void platform_queue_free(struct platform_queue *q)
{
    if (!q)
        return;
    struct allocator a = q->allocator;
    a.resize(a.user, q, sizeof *q, 0);
}

void platform_queue_add(struct platform_queue *q, struct platform_job *job)
{
    (void)q;
    job->run(job->user);
}

bool platform_job_waiting(struct platform_queue *q, const struct platform_job *job)
{
    (void)q;
    (void)job;
    return false;
}

void platform_queue_wait(struct platform_queue *q, const struct platform_job *job)
{
    (void)q;
    (void)job;
}

/* --- locks --- */

struct platform_lock {
    bool unused;
};

struct platform_lock *platform_lock_new(const struct allocator *allocator)
{
    return allocator->resize(allocator->user, NULL, 0, sizeof(struct platform_lock));
}

void platform_lock_free(const struct allocator *allocator, struct platform_lock *l)
{
    if (l)
        allocator->resize(allocator->user, l, sizeof *l, 0);
}

void platform_lock(struct platform_lock *l)
{
    (void)l;
}

void platform_unlock(struct platform_lock *l)
{
    (void)l;
}
