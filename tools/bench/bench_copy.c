#include "bench/bench_copy.h"
#include "cli/tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    struct copier *copier;
    pthread_t thread;
    int index;
};

struct copier {
    char *from, *to;
    size_t half; /* bytes of each */
    int threads; /* calling thread and workers */
    pthread_barrier_t start, end;
    bool over;
    struct worker *workers;
};

/* Copies one thread's part. Parts are whole pages, so that no two threads write the same page. */
static void copy_part(const struct copier *c, int index)
{
    const size_t page = 4096, pages = (c->half + page - 1) / page;
    size_t from = pages * (size_t)index / (size_t)c->threads * page;
    size_t to = pages * (size_t)(index + 1) / (size_t)c->threads * page;
    if (to > c->half)
        to = c->half;
    if (from < to)
        memcpy(c->to + from, c->from + from, to - from);
}

static void *work(void *user)
{
    struct worker *w = user;
    struct copier *c = w->copier;
    for (;;) {
        pthread_barrier_wait(&c->start);
        if (c->over)
            return NULL;
        copy_part(c, w->index);
        pthread_barrier_wait(&c->end);
    }
}

static bool start_workers(struct copier *c)
{
    for (int i = 1; i < c->threads; i++) {
        c->workers[i] = (struct worker){.copier = c, .index = i};
        if (pthread_create(&c->workers[i].thread, NULL, work, &c->workers[i]) != 0)
            return false; /* the barrier needs all; running threads wait until the end */
    }
    return true;
}

struct copier *copier_open(size_t bytes, int threads)
{
    struct copier *c = need_memory(sizeof *c);
    *c = (struct copier){.half = bytes / 2, .threads = threads};
    c->from = array_memory(c->half);
    c->to = array_memory(c->half);
    c->workers = need_memory((size_t)threads * sizeof *c->workers);
    if (!c->from || !c->to) {
        free(c->from);
        free(c->to);
        free(c->workers);
        free(c);
        return NULL;
    }
    memset(c->from, 1, c->half); /* never-written pages share one page: cheap to read */
    memset(c->to, 0, c->half);
    pthread_barrier_init(&c->start, NULL, (unsigned)threads);
    pthread_barrier_init(&c->end, NULL, (unsigned)threads);
    return start_workers(c) ? c : NULL;
}

void copier_run(struct copier *c)
{
    pthread_barrier_wait(&c->start);
    copy_part(c, 0);
    pthread_barrier_wait(&c->end);
}

void copier_close(struct copier *c)
{
    if (!c)
        return;
    c->over = true;
    pthread_barrier_wait(&c->start);
    for (int i = 1; i < c->threads; i++)
        pthread_join(c->workers[i].thread, NULL);
    pthread_barrier_destroy(&c->start);
    pthread_barrier_destroy(&c->end);
    free(c->from);
    free(c->to);
    free(c->workers);
    free(c);
}
