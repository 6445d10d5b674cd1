/* Twins (tests/sim/twins): the broken one of each pair gives the finding that its first line
 * names, within a few orders of warps; the clean one gives none, or only the warning that it
 * names. Those of Hopper's instructions are written by hand, the others are made of twins.cu.
 * TW_TWIN=name runs one pair and prints the findings. With a second thread for the checks, all
 * findings, counters and values are the same. */
#include "base/platform.h"
#include "sim/sim_barrier_check.h"
#include "sim/sim_counters.h"
#include "sim/sim_memcheck.h"
#include "sim/race/sim_race.h"
#include "sim_helper.h"

#include <dirent.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 4096, SEEDS = 12, CLEAN_SEEDS = 3, MOST_STEPS = 400000, LEAST_TWINS = 193 };
#define FOLDER TW_TEST_ROOT "/tests/sim/twins/"

struct twin {
    char name[64];
    char expect[32];
    unsigned grid, block, cluster;
    int n;
    bool raw, broken, shown;
};

/* Reads its first two lines. */
static void read_head(struct twin *t, const char *text)
{
    const char *launch = strstr(text, "// launch:"), *end = strchr(launch, '\n'), *at;
    assert_int_equal(sscanf(text, "// expect: %31s", t->expect), 1);
    t->grid = t->cluster = 1;
    t->block = 64;
    t->n = 64;
    if ((at = strstr(launch, "grid=")) && at < end)
        t->grid = (unsigned)strtoul(at + 5, NULL, 10);
    if ((at = strstr(launch, "block=")) && at < end)
        t->block = (unsigned)strtoul(at + 6, NULL, 10);
    if ((at = strstr(launch, "cluster=")) && at < end)
        t->cluster = (unsigned)strtoul(at + 8, NULL, 10);
    if ((at = strstr(launch, " n=")) && at < end)
        t->n = (int)strtol(at + 3, NULL, 10);
    t->raw = (at = strstr(launch, "raw")) && at < end;
}

static void tell_memory(struct sim_memcheck *m, uint64_t address, const char *name, bool written)
{
    struct sim_allocation_event e = {.space = SIM_GLOBAL,
                                     .address = address,
                                     .bytes = 4 * WORDS,
                                     .name = name,
                                     .initialised = written};
    struct sim_observer *o = sim_memcheck_observer(m);
    assert_true(o->allocated(o->user, &e));
}

struct outcome {
    bool found, more; /* the expected kind was found; others, warnings too */
    enum sim_end end;
};

static const char *const ends[] = {"done", "stopped", "fault", "deadlock", "endless", "asked"};

static void show(struct sim_case *c, const struct sim_report *report, const char *name)
{
    struct text t;
    text_init(&t, &c->arena);
    sim_report_text(&t, report, false);
    print_message("%s: %s %s\n%s", name, ends[c->end], c->end ? sim_why(c->sim) : "", t.data);
}

/* Copies all that a run says and leaves in memory. */
static void say(struct text *said, struct sim_case *c, const struct sim_report *report,
                const struct sim_counters *counters, uint64_t out)
{
    text_printf(said, "%s %s\n%lld steps, %lld waits ended\n", ends[c->end], sim_why(c->sim),
                (long long)sim_steps(c->sim), (long long)sim_waits_ended(c->sim));
    sim_report_text(said, report, false);
    for (const struct sim_finding *f = report->first; f; f = f->next)
        sim_finding_json(said, report, f);
    sim_counters_json(said, counters, c->module, NULL);
    const uint32_t *words = sim_case_words(c, out, WORDS);
    for (int i = 0; i < WORDS; i++)
        text_printf(said, " %x", (unsigned)words[i]);
}

/* Runs with one thread, or with a second one for the checks. said not NULL: gets the text of `say`. */
static struct outcome run(struct twin *t, uint64_t seed, bool late, int threads, struct text *said)
{
    struct sim_case c;
    struct arena later;
    struct sim_report report;
    static int in[WORDS], zero[WORDS];
    char path[512];
    for (int i = 0; i < WORDS; i++)
        in[i] = (int)((unsigned)i * 2654435761u >> 7);
    snprintf(path, sizeof path, "%s%s.%s.ptx", FOLDER, t->name, t->broken ? "broken" : "clean");
    sim_case_open_file(&c, path);
    read_head(t, c.source.text);
    arena_init(&later, &allocator_libc, &c.out_of_memory);
    sim_hear_later(c.sim, &later, threads);
    sim_report_init(&report, &later, c.module);
    report.machine = c.sim;
    struct sim_races *races = sim_races_new(&later, &report);
    struct sim_counters *counters = sim_counters_new(&later);
    struct sim_memcheck *memory = sim_memcheck_new(&c.arena, &report);
    struct sim_barrier_check *barriers = sim_barrier_check_new(&c.arena, &report);
    sim_observe(c.sim, sim_races_observer(races));
    sim_observe(c.sim, sim_memcheck_observer(memory));
    sim_observe(c.sim, sim_barrier_check_observer(barriers));
    if (said)
        sim_observe(c.sim, sim_counters_observer(counters));
    uint64_t values[3] = {sim_case_buffer(&c, sizeof zero, t->raw ? NULL : zero),
                          sim_case_buffer(&c, sizeof in, in), (uint64_t)t->n};
    tell_memory(memory, values[0], "out", !t->raw);
    tell_memory(memory, values[1], "in", true);
    c.launch.grid[0] = t->grid;
    c.launch.block[0] = t->block;
    c.launch.cluster[0] = t->cluster;
    c.launch.options = (struct sim_options){
        .seed = seed, .async_late = late, .step_limit = MOST_STEPS, .resident_blocks = 4};
    sim_case_run(&c, "k", 3, values);
    if (c.end == SIM_DEADLOCK)
        sim_barrier_check_deadlock(barriers, sim_standstill(c.sim));
    struct outcome o = {.end = c.end};
    for (const struct sim_finding *f = report.first; f; f = f->next) {
        bool expected = strcmp(sim_found_name(f->kind), t->expect) == 0;
        o.found |= expected;
        o.more |= !expected;
    }
    if (t->shown || (!t->broken && (o.more || o.end)))
        show(&c, &report, path + strlen(FOLDER));
    if (said)
        say(said, &c, &report, counters, values[0]);
    sim_races_free(races);
    sim_memcheck_free(memory);
    sim_barrier_check_free(barriers);
    sim_case_close(&c);
    arena_free(&later);
    return o;
}

static bool pair_fails(struct twin *t)
{
    bool found = false, fails = false;
    enum sim_end end = SIM_DONE;
    t->broken = true;
    for (uint64_t seed = 0; seed < SEEDS && !found; seed++) {
        struct outcome o = run(t, seed / 2, seed & 1, 1, NULL);
        found = o.found;
        end = o.end;
    }
    if (!found)
        print_error("%s.broken: no %s found (%s)\n", t->name, t->expect, ends[end]);
    t->broken = false;
    for (uint64_t seed = 0; seed < CLEAN_SEEDS && !fails; seed++)
        for (int late = 0; late < 2 && !fails; late++) {
            struct outcome o = run(t, seed, late, 1, NULL);
            fails = o.more || o.end != SIM_DONE;
        }
    return fails || !found;
}

/* Returns the number of threads of this process, 0 if the system does not tell. */
static int running_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    while (tasks && readdir(tasks))
        count++;
    if (tasks)
        closedir(tasks);
    return count;
}

/* Returns true if runs of both twins say something else with more threads. */
static bool texts_differ(struct twin *t)
{
    enum { ORDERS = 3 };
    static jmp_buf no_memory;
    struct arena arena;
    bool differs = false;
    arena_init(&arena, &allocator_libc, &no_memory);
    if (setjmp(no_memory))
        fail_msg("no memory");
    for (int i = 0; i < 2 * ORDERS && !differs; i++) {
        struct text one, more;
        t->broken = i & 1;
        text_init(&one, &arena);
        text_init(&more, &arena);
        run(t, (uint64_t)i / 2, i == 3, 1, &one);
        run(t, (uint64_t)i / 2, i == 3, 2 + i % 3, &more);
        differs = strcmp(one.data, more.data) != 0;
        if (differs)
            print_error("%s.%s, order %d: one thread\n%s\nmore threads\n%s\n", t->name,
                        t->broken ? "broken" : "clean", i / 2, one.data, more.data);
    }
    arena_free(&arena);
    return differs;
}

/* Also finds threads that runs leave. The first pair starts those of a sanitizer; a thread that was
 * joined may take a moment to go. */
static bool pair_differs(struct twin *t)
{
    enum { PATIENCE = 1 << 12 };
    static int usual;
    bool differs = texts_differ(t);
    usual = usual ? usual : running_threads();
    for (int i = 0; running_threads() > usual; i++) {
        if (i == PATIENCE)
            return true;
        platform_yield();
    }
    return differs;
}

static void all_twins(bool (*fails)(struct twin *t))
{
    const char *only = getenv("TW_TWIN");
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    int count = 0, failures = 0;
    for (struct dirent *e; (e = readdir(folder));) {
        char *end = strstr(e->d_name, ".clean.ptx");
        struct twin t = {.shown = only != NULL};
        if (!end || (size_t)(end - e->d_name) >= sizeof t.name)
            continue;
        memcpy(t.name, e->d_name, (size_t)(end - e->d_name));
        if (only && strcmp(only, t.name) != 0)
            continue;
        count++;
        failures += fails(&t);
    }
    closedir(folder);
    print_message("%d pairs\n", count);
    assert_true(only || count >= LEAST_TWINS);
    assert_int_equal(failures, 0);
}

static void twins(void **state)
{
    (void)state;
    all_twins(pair_fails);
}

static void threads(void **state)
{
    (void)state;
    all_twins(pair_differs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(twins), cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
