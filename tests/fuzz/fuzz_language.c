/* Fuzzes the language: random and damaged programs through the whole compiler and the CPU engine.
 *
 *     fuzz_language [SECONDS [SEED]] [FILE.tile …]      60 seconds, seed 1; no files: kernels/ and tests/parity/
 *     fuzz_language --case N [FILE.tile …]              one case again: its text, and what happens
 *     fuzz_language --show N [FILE.tile …]              the text alone
 *
 * Cases run in a worker process. When one crashes, hangs (a watchdog) or finds something that must not be, the driver
 * names its number and goes on with a new worker, so that a run of minutes finds more than one thing. Exit status 1 if
 * anything was found. Build it with the address and undefined behaviour sanitizers.
 */
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
#include <sys/wait.h>
#include <unistd.h>

enum { WATCHDOG_SECONDS = 20, CASES_A_WORKER = 20000, MAX_FINDINGS = 10 };

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

struct sample {
    char *text;
    size_t length;
};
struct corpus {
    struct sample *samples;
    size_t count;
};

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

/* Every .tile below a folder, in the order of names, so that a case's number means the same text again. */
static void corpus_add_folder(struct corpus *c, const char *folder)
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
        size_t n = strlen(paths[i]);
        if (stat(paths[i], &info) == 0 && S_ISDIR(info.st_mode))
            corpus_add_folder(c, paths[i]);
        else if (n > 5 && strcmp(paths[i] + n - 5, ".tile") == 0)
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

/* The text of case `number`: made from the grammar, or a damaged kernel of the corpus. */
static void make_text(struct text *out, const struct corpus *c, uint64_t number)
{
    struct rng r = {number};
    struct text base;
    text_init(&base, out->arena);
    text_add(&base, "");
    bool generated = c->count == 0 || rng_chance(&r, 55);
    if (generated) {
        generate_module(&base, &r);
    } else {
        const struct sample *s = &c->samples[rng_below(&r, (int)c->count)];
        text_add_n(&base, s->text, s->length);
    }
    int how = rng_below(&r, 100);
    if (how < (generated ? 75 : 2))
        text_add_n(out, base.data, base.length);
    else if (how < 92)
        mutate_tokens(out, &r, base.data, base.length,
                      1 + rng_below(&r, rng_chance(&r, 80) ? 2 : 12));
    else
        mutate_bytes(out, &r, base.data, base.length, 1 + rng_below(&r, 8));
}

/* The texts live in an arena without a limit; only the compiler's memory is bounded. */
static void with_text(const struct corpus *c, uint64_t number,
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
    make_text(&t, c, number);
    use(user, &t);
    arena_free(&a);
}

static void print_case(void *user, const struct text *t)
{
    fwrite(t->data, 1, t->length, user);
    fflush(user);
}

static void run_case(void *user, const struct text *t)
{
    /* A block of exactly the size, so that a read past its end is seen. */
    char *exact = malloc(t->length > 0 ? t->length : 1);
    if (!exact)
        abort();
    memcpy(exact, t->data, t->length);
    *(enum reached *)user = fuzz_one(exact, t->length);
    free(exact);
}

/* --- workers --- */

/* What a worker tells its driver, kept in an unnamed file that both have open. */
struct progress {
    uint64_t number; /* of the case under way */
    uint64_t next;   /* index of the case after it */
    uint64_t reached[REACHED_COUNT];
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

static void work(const struct corpus *c, uint64_t seed, double deadline, int file,
                 struct progress p)
{
    for (int i = 0; i < CASES_A_WORKER && platform_seconds() < deadline; i++) {
        enum reached reached = NOT_PARSED;
        p.number = case_number(seed, p.next++);
        progress_write(file, &p);
        alarm(WATCHDOG_SECONDS);
        with_text(c, p.number, run_case, &reached);
        alarm(0);
        p.reached[reached]++;
    }
    progress_write(file, &p);
}

static void report_finding(const struct corpus *c, uint64_t number, int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        fprintf(stderr, "\nfuzz: case %" PRIu64 " hangs (more than %d s)\n", number,
                WATCHDOG_SECONDS);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "\nfuzz: case %" PRIu64 " dies of signal %d\n", number, WTERMSIG(status));
    else
        fprintf(stderr, "\nfuzz: case %" PRIu64 " ends the program with status %d\n", number,
                WEXITSTATUS(status));
    fprintf(stderr,
            "fuzz: again with `fuzz_language --case %" PRIu64 "` and the same files; its text:\n",
            number);
    with_text(c, number, print_case, stderr);
}

static void report_statistics(const struct progress *p, double seconds, int findings)
{
    uint64_t cases = 0;
    for (int i = 0; i < REACHED_COUNT; i++)
        cases += p->reached[i];
    double all = cases > 0 ? (double)cases : 1;
    uint64_t ran = p->reached[RAN], passed = p->reached[PASSED] + ran;
    uint64_t checked = p->reached[CHECKED] + passed, parsed = p->reached[PARSED] + checked;
    printf("fuzz: %" PRIu64
           " cases in %.0f s (%.0f a second): %.0f%% parse, %.0f%% accepted by the checker, "
           "%.0f%% by all passes, %.0f%% run; %d found\n",
           cases, seconds, all / (seconds > 0 ? seconds : 1), 100 * (double)parsed / all,
           100 * (double)checked / all, 100 * (double)passed / all, 100 * (double)ran / all,
           findings);
}

static int drive(const struct corpus *c, double seconds, uint64_t seed)
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
            work(c, seed, deadline, fileno(shared), p);
            exit(0); /* leaks are looked for here */
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (pread(fileno(shared), &p, sizeof p, 0) != (ssize_t)sizeof p)
            abort();
        if (status != 0) {
            findings++;
            report_finding(c, p.number, status);
        }
    }
    fclose(shared);
    report_statistics(&p, platform_seconds() - start, findings);
    return findings > 0;
}

static int one_case(const struct corpus *c, uint64_t number, bool run)
{
    static const char *const names[] = {"not parsed", "parsed", "checked", "through the passes",
                                        "run"};
    enum reached reached = NOT_PARSED;
    with_text(c, number, print_case, stdout);
    if (!run)
        return 0;
    alarm(WATCHDOG_SECONDS);
    with_text(c, number, run_case, &reached);
    printf("\nfuzz: case %" PRIu64 ": %s\n", number, names[reached]);
    return 0;
}

static bool is_number(const char *s)
{
    return *s && strspn(s, "0123456789") == strlen(s);
}

int main(int argc, char **argv)
{
    struct corpus c = {0};
    uint64_t numbers[2] = {60, 1};
    int given = 0, first = 1;
    bool run = argc > 1 && strcmp(argv[1], "--case") == 0;
    bool single = run || (argc > 1 && strcmp(argv[1], "--show") == 0);
    first += single;
    while (first < argc && given < (single ? 1 : 2) && is_number(argv[first]))
        numbers[given++] = strtoull(argv[first++], NULL, 10);
    if ((first < argc && argv[first][0] == '-') || (single && given == 0)) {
        fprintf(stderr, "usage: fuzz_language [SECONDS [SEED]] [FILE …] | --case N | --show N\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        corpus_add_file(&c, argv[i]);
    if (first >= argc) {
        corpus_add_folder(&c, "kernels");
        corpus_add_folder(&c, "tests/parity");
    }
    int status = single ? one_case(&c, numbers[0], run) : drive(&c, (double)numbers[0], numbers[1]);
    corpus_free(&c);
    return status;
}
