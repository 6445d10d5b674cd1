#include "gpu_pool.h"

#include "tilewright.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WRONG = 30, POLL_NANOSECONDS = 5000000 };

/* The state of one process at a time. */
struct slot {
    pid_t process; /* 0: none */
    int item, end; /* its present item; the end of its share of the items */
    time_t since;
    int said; /* a file with the output for the item */
};

struct shared {
    atomic_int next; /* the first item that no process has taken */
    atomic_int counts[OUTCOMES];
    struct slot slots[];
};

static void die(const char *what)
{
    perror(what);
    exit(2);
}

/* --- in a process of the pool --- */

static bool take(const struct pool *p, struct shared *s, struct slot *slot)
{
    if (slot->item < slot->end)
        return true;
    slot->item = atomic_fetch_add(&s->next, p->grain);
    slot->end = slot->item + p->grain < p->count ? slot->item + p->grain : p->count;
    return slot->item < p->count;
}

static void work(const struct pool *p, struct shared *s, struct slot *slot)
{
    if (dup2(slot->said, STDOUT_FILENO) < 0 || dup2(slot->said, STDERR_FILENO) < 0)
        _exit(2);
    for (; take(p, s, slot); slot->item++) {
        slot->since = time(NULL);
        if (ftruncate(slot->said, 0) != 0 || lseek(slot->said, 0, SEEK_SET) != 0)
            _exit(2);
        enum outcome outcome = p->run(slot->item);
        fflush(NULL);
        if (outcome == OUTCOME_WRONG)
            _exit(1);
        atomic_fetch_add(&s->counts[outcome], 1);
    }
    _exit(0);
}

/* --- in the parent process --- */

static void start(const struct pool *p, struct shared *s, struct slot *slot)
{
    fflush(NULL);
    slot->since = time(NULL);
    pid_t process = fork();
    if (process < 0)
        die("fork");
    if (process == 0)
        work(p, s, slot);
    slot->process = process;
}

static void show_file(int file)
{
    char buffer[4096];
    ssize_t n;
    lseek(file, 0, SEEK_SET);
    while ((n = read(file, buffer, sizeof buffer)) > 0)
        fwrite(buffer, 1, (size_t)n, stdout);
}

/* Reports an item whose process ended on it; the next process goes on after it. */
static void report(const struct pool *p, struct shared *s, struct slot *slot, int status)
{
    p->print_name(slot->item);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        printf(": killed; it did not end within %d s, or memory was short\n", p->seconds);
    else if (WIFSIGNALED(status))
        printf(": ended by signal %d\n", WTERMSIG(status));
    else
        printf(":\n");
    show_file(slot->said);
    if (atomic_fetch_add(&s->counts[OUTCOME_WRONG], 1) + 1 == MOST_WRONG) {
        printf("no more are tried\n");
        atomic_store(&s->next, p->count);
    }
    slot->item++;
}

static bool ended(const struct pool *p, struct slot *slot, int *status)
{
    if (time(NULL) - slot->since > p->seconds)
        kill(slot->process, SIGKILL);
    pid_t is = waitpid(slot->process, status, WNOHANG);
    if (is < 0 && errno != EINTR)
        die("waitpid");
    return is == slot->process;
}

/* Looks once at every process; returns the number that still run. */
static int look(const struct pool *p, struct shared *s)
{
    int running = 0, status;
    for (int i = 0; i < p->jobs; i++) {
        struct slot *slot = &s->slots[i];
        if (slot->process && ended(p, slot, &status)) {
            slot->process = 0;
            if (status != 0) {
                report(p, s, slot, status);
                if (atomic_load(&s->counts[OUTCOME_WRONG]) < MOST_WRONG)
                    start(p, s, slot);
            }
        }
        running += slot->process != 0;
    }
    return running;
}

static int temporary_file(void)
{
    FILE *file = tmpfile(); /* stays open */
    if (!file)
        die("a temporary file");
    return fileno(file);
}

static struct shared *share(size_t size)
{
    int file = temporary_file();
    if (ftruncate(file, (off_t)size) != 0)
        die("a temporary file");
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        die("mmap");
    return memory;
}

static void run_processes(const struct pool *p, int counts[OUTCOMES])
{
    size_t size = sizeof(struct shared) + (size_t)p->jobs * sizeof(struct slot);
    struct shared *s = share(size);
    for (int i = 0; i < p->jobs; i++) {
        s->slots[i].said = temporary_file();
        start(p, s, &s->slots[i]);
    }
    while (look(p, s))
        nanosleep(&(struct timespec){.tv_nsec = POLL_NANOSECONDS}, NULL);
    for (int i = 0; i < OUTCOMES; i++)
        counts[i] = atomic_load(&s->counts[i]);
    munmap(s, size);
}

void pool_run(const struct pool *p, int counts[OUTCOMES])
{
    memset(counts, 0, OUTCOMES * sizeof *counts);
    if (p->jobs > 0) {
        run_processes(p, counts);
        return;
    }
    for (int i = 0; i < p->count && counts[OUTCOME_WRONG] < MOST_WRONG; i++) {
        enum outcome outcome = p->run(i);
        counts[outcome]++;
        if (outcome == OUTCOME_WRONG) {
            p->print_name(i);
            printf(": see above\n");
        }
    }
}

/* --- the GPU --- */

static const char nothing[] = "kernel t(f32 *a) grid(1) warps(1)\n{\n    global f32 A[1] = a;\n"
                              "    A[0 +: 1] = 0;\n}\n";

static bool find_target(char target[POOL_TARGET])
{
    tw_context *ctx;
    tw_module *m;
    tw_kernel *k;
    if (tw_context_new(NULL, &ctx) != TW_OK)
        return false;
    bool found = tw_module_from_text(ctx, "nothing", nothing, strlen(nothing), &m) == TW_OK &&
                 tw_kernel_for_target(tw_module_kernel_at(m, 0), "cuda", &k) == TW_OK;
    if (found)
        snprintf(target, POOL_TARGET, "%s", tw_kernel_target(k));
    else
        printf("skipped: %s", tw_context_messages(ctx));
    tw_context_free(ctx);
    return found;
}

bool pool_target(int jobs, char target[POOL_TARGET])
{
    int ends[2];
    if (jobs == 0)
        return find_target(target);
    if (pipe(ends) != 0)
        die("pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        char found[POOL_TARGET] = "";
        bool is = find_target(found) && write(ends[1], found, sizeof found) == sizeof found;
        fflush(NULL);
        _exit(is ? 0 : 1);
    }
    close(ends[1]);
    bool found = read(ends[0], target, POOL_TARGET) == POOL_TARGET;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return found;
}

int pool_verdict(const int counts[OUTCOMES], const char *what)
{
    int all = 0;
    for (int i = 0; i < OUTCOMES; i++)
        all += counts[i];
    printf("%d %s on the GPU: %d as on the CPU engine, %d within the bounds of `ensures`, %d "
           "refused, %d wrong\n",
           all, what, counts[OUTCOME_SAME], counts[OUTCOME_WITHIN], counts[OUTCOME_REFUSED],
           counts[OUTCOME_WRONG]);
    if (counts[OUTCOME_REFUSED] > 5 + all / 20)
        printf("too many are refused\n");
    bool good = !counts[OUTCOME_WRONG] && counts[OUTCOME_REFUSED] <= 5 + all / 20 && all > 0;
    return good ? 0 : 1;
}
