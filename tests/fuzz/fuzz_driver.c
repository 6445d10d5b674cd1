/* The fuzzers' driver.
 *
 * Cases run in a worker process. If one crashes, hangs (a watchdog ends it) or breaks an
 * invariant, the driver prints its number and goes on with a new worker, so that a run of
 * minutes finds several errors. */
#include "fuzz.h"

#include "base/platform.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

struct fuzz {
    const struct fuzz_subject *subject;
    struct corpus corpus;
};

enum { WATCHDOG_SECONDS = 20, LONGEST_WAIT = 1200, CASES_A_WORKER = 20000, MAX_FINDINGS = 10 };

uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int rng_below(struct rng *r, int n)
{
    return n <= 0 ? 0 : (int)(rng_next(r) % (uint64_t)n);
}

bool rng_chance(struct rng *r, int percent)
{
    return rng_below(r, 100) < percent;
}

/* --- the corpus --- */

static void corpus_add_file(struct corpus *c, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "fuzz: cannot read %s\n", path);
        exit(2);
    }
    struct sample one = {NULL, 0};
    for (size_t got = 1; got > 0;) {
        one.text = realloc(one.text, one.length + 4096);
        got = one.text ? fread(one.text + one.length, 1, 4096, f) : 0;
        one.length += got;
    }
    fclose(f);
    c->samples = realloc(c->samples, (c->count + 1) * sizeof *c->samples);
    if (!c->samples || !one.text)
        abort();
    c->samples[c->count++] = one;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool ends_with(const char *path, const char *ending)
{
    size_t n = strlen(path), m = ending ? strlen(ending) : n;
    return n > m && strcmp(path + n - m, ending) == 0;
}

/* Adds every file of these endings below a folder, in the order of names, so that a case's
 * number always means the same text. */
static void corpus_add_folder(struct corpus *c, const char *folder, const char *const endings[2])
{
    DIR *dir = opendir(folder);
    char *paths[1000];
    size_t count = 0;
    for (struct dirent *e; dir && count < 1000 && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        size_t n = strlen(folder) + strlen(e->d_name) + 2;
        paths[count] = malloc(n);
        if (paths[count])
            snprintf(paths[count++], n, "%s/%s", folder, e->d_name);
    }
    if (dir)
        closedir(dir);
    qsort(paths, count, sizeof *paths, by_name);
    for (size_t i = 0; i < count; i++) {
        struct stat info;
        if (stat(paths[i], &info) == 0 && S_ISDIR(info.st_mode))
            corpus_add_folder(c, paths[i], endings);
        else if (ends_with(paths[i], endings[0]) || ends_with(paths[i], endings[1]))
            corpus_add_file(c, paths[i]);
        free(paths[i]);
    }
}

static void corpus_free(struct corpus *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->samples[i].text);
    free(c->samples);
}

/* --- one case --- */

/* The texts live in an arena without a limit; only the compiler's memory is bounded. */
static void with_text(const struct fuzz *f, uint64_t number,
                      void (*use)(void *user, const struct text *text), void *user)
{
    jmp_buf failed;
    struct arena a;
    arena_init(&a, &allocator_libc, &failed);
    if (setjmp(failed) != 0)
        abort();
    struct text t;
    text_init(&t, &a);
    text_add(&t, "");
    f->subject->make(&t, &f->corpus, number);
    use(user, &t);
    arena_free(&a);
}

static void print_case(void *user, const struct text *t)
{
    fwrite(t->data, 1, t->length, user);
    fflush(user);
}

/* The input and the result of run_case. */
struct one_run {
    const struct fuzz *fuzz;
    int reached;
};

static void run_case(void *user, const struct text *t)
{
    struct one_run *run = user;
    /* A block of exactly the size, so that a read past its end is noticed. */
    char *exact = malloc(t->length > 0 ? t->length : 1);
    if (!exact)
        abort();
    memcpy(exact, t->data, t->length);
    run->reached = run->fuzz->subject->run(exact, t->length);
    free(exact);
}

/* --- workers --- */

/* The state that a worker shares with its driver, in an unnamed file that both have open. */
struct progress {
    uint64_t number; /* number of the running case */
    uint64_t next;   /* index of the case after it */
    uint64_t reached[FUZZ_STAGES];
};

static void progress_write(int file, const struct progress *p)
{
    if (pwrite(file, p, sizeof *p, 0) != (ssize_t)sizeof *p)
        abort();
}

static uint64_t case_number(uint64_t seed, uint64_t index)
{
    struct rng r = {seed * 0x632BE59BD9B4E019u + index};
    return rng_next(&r) >> 16; /* short enough to type */
}

/* Ends the process if it uses `seconds` more of processor time, or waits for ever. 0 ends the
 * watch. */
static void watch(int seconds)
{
    struct itimerval processor = {.it_value.tv_sec = seconds};
    setitimer(ITIMER_PROF, &processor, NULL);
    alarm(seconds ? LONGEST_WAIT : 0);
}

static bool is_of_watchdog(int signal)
{
    return signal == SIGPROF || signal == SIGALRM;
}

static void work(const struct fuzz *f, uint64_t seed, double deadline, int file, struct progress p)
{
    for (int i = 0; i < CASES_A_WORKER && platform_seconds() < deadline; i++) {
        struct one_run run = {f, 0};
        p.number = case_number(seed, p.next++);
        progress_write(file, &p);
        watch(WATCHDOG_SECONDS);
        with_text(f, p.number, run_case, &run);
        watch(0);
        p.reached[run.reached]++;
    }
    progress_write(file, &p);
}

static void report_finding(const struct fuzz *f, uint64_t number, int status)
{
    if (WIFSIGNALED(status) && is_of_watchdog(WTERMSIG(status)))
        fprintf(stderr, "\nfuzz: case %" PRIu64 " hangs (more than %d s of the processor)\n",
                number, WATCHDOG_SECONDS);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "\nfuzz: case %" PRIu64 " dies of signal %d\n", number, WTERMSIG(status));
    else
        fprintf(stderr, "\nfuzz: case %" PRIu64 " ends the program with status %d\n", number,
                WEXITSTATUS(status));
    fprintf(stderr, "fuzz: again with `%s --case %" PRIu64 "` and the same files; its text:\n",
            f->subject->name, number);
    with_text(f, number, print_case, stderr);
}

static void report_statistics(const struct fuzz *f, const struct progress *p, double seconds,
                              int findings)
{
    uint64_t beyond[FUZZ_STAGES + 1] = {0};
    for (int i = FUZZ_STAGES - 1; i >= 0; i--)
        beyond[i] = beyond[i + 1] + p->reached[i];
    double all = beyond[0] > 0 ? (double)beyond[0] : 1;
    printf("fuzz: %" PRIu64 " cases in %.0f s (%.0f a second): ", beyond[0], seconds,
           all / (seconds > 0 ? seconds : 1));
    for (int i = 1; i < FUZZ_STAGES && f->subject->stages[i]; i++)
        printf("%.0f%% %s, ", 100 * (double)beyond[i] / all, f->subject->stages[i]);
    printf("%d found\n", findings);
}

static int drive(const struct fuzz *f, double seconds, uint64_t seed)
{
    FILE *shared = tmpfile();
    if (!shared) {
        fprintf(stderr, "fuzz: no temporary file: %s\n", strerror(errno));
        return 2;
    }
    struct progress p = {0};
    int findings = 0;
    double start = platform_seconds(), deadline = start + seconds;
    while (platform_seconds() < deadline && findings < MAX_FINDINGS) {
        progress_write(fileno(shared), &p);
        fflush(NULL);
        pid_t child = fork();
        if (child < 0)
            abort();
        if (child == 0) {
            work(f, seed, deadline, fileno(shared), p);
            exit(0); /* leaks are reported here */
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (pread(fileno(shared), &p, sizeof p, 0) != (ssize_t)sizeof p)
            abort();
        if (status != 0) {
            findings++;
            report_finding(f, p.number, status);
        }
    }
    fclose(shared);
    report_statistics(f, &p, platform_seconds() - start, findings);
    return findings > 0;
}

static int one_case(const struct fuzz *f, uint64_t number, bool run)
{
    struct one_run one = {f, 0};
    with_text(f, number, print_case, stdout);
    if (!run)
        return 0;
    watch(WATCHDOG_SECONDS);
    with_text(f, number, run_case, &one);
    printf("\nfuzz: case %" PRIu64 ": %s\n", number, f->subject->stages[one.reached]);
    return 0;
}

static bool is_number(const char *s)
{
    return *s && strspn(s, "0123456789") == strlen(s);
}

int fuzz_main(int argc, char **argv, const struct fuzz_subject *subject)
{
    struct fuzz f = {.subject = subject};
    uint64_t numbers[2] = {60, 1};
    int given = 0, first = 1;
    bool run = argc > 1 && strcmp(argv[1], "--case") == 0;
    bool single = run || (argc > 1 && strcmp(argv[1], "--show") == 0);
    first += single;
    while (first < argc && given < (single ? 1 : 2) && is_number(argv[first]))
        numbers[given++] = strtoull(argv[first++], NULL, 10);
    if ((first < argc && argv[first][0] == '-') || (single && given == 0)) {
        fprintf(stderr, "usage: %s [SECONDS [SEED]] [FILE …] | --case N | --show N\n",
                subject->name);
        return 2;
    }
    for (int i = first; i < argc; i++)
        corpus_add_file(&f.corpus, argv[i]);
    for (int i = 0; first >= argc && subject->folders[i]; i++)
        corpus_add_folder(&f.corpus, subject->folders[i], subject->endings);
    int status = single ? one_case(&f, numbers[0], run) : drive(&f, (double)numbers[0], numbers[1]);
    corpus_free(&f.corpus);
    return status;
}
