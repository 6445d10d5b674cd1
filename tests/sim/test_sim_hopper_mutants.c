/* Mutants of the programs of tests/hopper: each barrier, fence, expectation, wait, arrival and
 * commitment is removed, and each count is changed. Every mutant must be found: by a finding, by
 * its end, or by wrong values. tests/sim/mutants/hopper.txt lists those that do no harm, with the
 * reason. TW_HOPPER=FILE runs one program's and prints what is found. */
#include "hopper_program.h"

#include "base/platform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 3000000, MOST_HARMLESS = 64, NAME = 160 };
#define HARMLESS TW_TEST_ROOT "/tests/sim/mutants/hopper.txt"

/* --- what is changed --- */

/* Instructions that order something; the whole line goes. */
static const char *const removed[] = {
    "bar.sync",
    "bar.arrive",
    "barrier.cluster.",
    "fence.",
    "wgmma.fence",
    "wgmma.commit_group",
    "wgmma.wait_group",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
    "mbarrier.init",
    "mbarrier.arrive",
    "bra WAIT",
    "bra $wait",
};
/* Instructions with a count as last operand, and its changes. */
static const struct {
    const char *name;
    int change;
} counted[] = {
    {"mbarrier.init", 1}, {"mbarrier.init", -1},   {"expect_tx", 16},
    {"expect_tx", -16},   {"wgmma.wait_group", 1}, {"cp.async.bulk.wait_group", 1},
    {"bar.sync %", 32},   {"bar.sync %", -32},     {"bar.arrive", 32},
    {"bar.arrive", -32},
};
enum { REMOVED = sizeof removed / sizeof *removed, COUNTED = sizeof counted / sizeof *counted };

struct mutant {
    char name[NAME];
    char *text;
};

/* Returns a copy of the text with `with` in place of bytes [from, to). */
static char *replaced(const char *text, size_t from, size_t to, const char *with)
{
    size_t length = strlen(text) + strlen(with) + 1;
    char *copy = malloc(length);
    assert_non_null(copy);
    snprintf(copy, length, "%.*s%s%s", (int)from, text, with, text + to);
    return copy;
}

/* --- harmless ones --- */

static struct {
    char name[NAME];
    bool used;
} harmless[MOST_HARMLESS];
static int harmless_count;

static void read_harmless(void)
{
    char line[512];
    FILE *file = fopen(HARMLESS, "r");
    assert_non_null(file);
    harmless_count = 0;
    while (fgets(line, sizeof line, file)) {
        char *end = strstr(line, " | ");
        if (line[0] == '#' || !end)
            continue;
        *end = '\0';
        assert_true(harmless_count < MOST_HARMLESS);
        snprintf(harmless[harmless_count].name, NAME, "%.*s", NAME - 1, line);
        harmless[harmless_count++].used = false;
    }
    fclose(file);
}

static bool is_harmless(const char *name)
{
    for (int i = 0; i < harmless_count; i++)
        if (!strcmp(harmless[i].name, name))
            return harmless[i].used = true;
    return false;
}

/* --- running --- */

static bool is_found(const struct hopper_program *p, const struct mutant *m, bool shown)
{
    static const int sizes[2][3] = {{256, 512, 264}, {1, 128, 512}};
    static const struct {
        uint64_t seed;
        bool late;
    } ways[] = {{0, false}, {0, true}, {1, true}, {2, false}, {3, true}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct hopper_run run = {.blocks = p->cluster,
                                 .options = {.seed = ways[i].seed,
                                             .async_late = ways[i].late,
                                             .step_limit = MOST_STEPS}};
        memcpy(run.size, sizes[p->kind], sizeof run.size);
        struct hopper_outcome o = hopper_run(p, m->text, &run);
        if (!o.read || o.end != SIM_DONE || o.findings || !o.right) {
            if (shown)
                print_message("%s: end %d, %s, %d findings\n", m->name, o.end,
                              *o.first  ? o.first
                              : o.right ? "right"
                                        : "wrong values",
                              o.findings);
            return true;
        }
    }
    return false;
}

struct tally {
    const struct hopper_program *program;
    const char *text;
    int mutants, missed;
    bool shown;
};

/* Removes the numbers of registers from a name: the compiler of thread IR may choose others. */
static void without_numbers(char *name)
{
    char *to = name;
    bool number = false; /* the register's */
    for (const char *at = name; *at; at++) {
        bool digit = *at >= '0' && *at <= '9';
        number = digit && (number || (at >= name + 2 && at[-2] == '%'));
        if (!number)
            *to++ = *at;
    }
    *to = '\0';
}

static void try_mutant(struct tally *t, struct mutant *m)
{
    without_numbers(m->name);
    bool found = is_found(t->program, m, t->shown), excused = is_harmless(m->name);
    t->mutants++;
    if (found == excused) {
        print_error(found ? "found, but listed as harmless: %s\n" : "not found: %s\n", m->name);
        t->missed++;
    }
    free(m->text);
}

/* Makes the mutants of one line: bytes [from, to) of the text, the n-th with its text. */
static void mutate_line(struct tally *t, size_t from, size_t to, int n)
{
    char line[NAME - 40], with[NAME];
    struct mutant m;
    size_t start = from + strspn(t->text + from, " \t");
    snprintf(line, sizeof line, "%.*s", (int)(to - start), t->text + start);
    for (int i = 0; i < REMOVED; i++) {
        const char *at = strstr(line, removed[i]);
        if (!at || (at != line && at[-1] != ' '))
            continue;
        snprintf(m.name, NAME, "%s: without %s #%d", t->program->file, line, n);
        m.text = replaced(t->text, from, to, "");
        try_mutant(t, &m);
        break;
    }
    for (int i = 0; i < COUNTED; i++) {
        const char *last = strrchr(line, ' ');
        long count = last ? strtol(last, NULL, 10) : 0;
        if (!strstr(line, counted[i].name) || count + counted[i].change < 0)
            continue;
        snprintf(with, sizeof with, "%.*s %ld;", (int)(last - line), line,
                 count + counted[i].change);
        snprintf(m.name, NAME, "%s: %+d in %s #%d", t->program->file, counted[i].change, line, n);
        m.text = replaced(t->text, from, to, with);
        try_mutant(t, &m);
    }
}

/* Returns how many earlier lines have the same text. */
static int earlier(const char *text, size_t from, size_t to)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, "\n")) && at + 1 < text + from; at++)
        count += !strncmp(at + 1, text + from, to - from + 1);
    return count;
}

static void mutate(struct tally *t)
{
    for (size_t from = 0; t->text[from];) {
        size_t to = from + strcspn(t->text + from, "\n"), end = from;
        while (end < to && !(t->text[end] == ';'))
            end++;
        if (end < to)
            mutate_line(t, from, end + 1, 1 + earlier(t->text, from, end));
        from = to + (t->text[to] == '\n');
    }
}

static void every_mutant(void **state)
{
    (void)state;
    const char *only = getenv("TW_HOPPER");
    int missed = 0;
    read_harmless();
    for (int i = 0; i < hopper_program_count; i++) {
        const struct hopper_program *p = &hopper_programs[i];
        if (only && strcmp(only, p->file) != 0)
            continue;
        char *text = hopper_text(p);
        struct tally t = {.program = p, .text = text, .shown = only != NULL};
        mutate(&t);
        print_message("%s: %d mutants\n", p->file, t.mutants);
        missed += t.missed;
        free(text);
    }
    for (int i = 0; i < harmless_count && !only; i++)
        if (!harmless[i].used) {
            print_error("no such mutant: %s\n", harmless[i].name);
            missed++;
        }
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mutant)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
