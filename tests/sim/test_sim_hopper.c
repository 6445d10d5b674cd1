/* The programs of tests/hopper on the simulator: right values at whole and ragged sizes, copies
 * and products as early and as late as the rules allow, warps in several orders.
 * No check finds anything. TW_HOPPER=FILE runs one program. TW_TEST_THREADS=2: with a second thread. */
#include "hopper_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void runs_clean(const struct hopper_program *p, const char *text, struct hopper_run run)
{
    struct hopper_outcome o = hopper_run(p, text, &run);
    if (o.end != SIM_DONE || !o.right || o.findings) {
        run.shown = true;
        hopper_run(p, text, &run);
        fail_msg("%s %d x %d x %d seed %d late %d: end %d, values %s, %d findings", p->file,
                 run.size[0], run.size[1], run.size[2], (int)run.options.seed,
                 run.options.async_late, o.end, o.right ? "right" : "wrong", o.findings);
    }
}

static void every_program(void **state)
{
    (void)state;
    static const int sizes[2][3][3] = {{{256, 256, 192}, {130, 248, 72}, {136, 512, 64}},
                                       {{1, 128, 256}, {2, 200, 384}, {1, 72, 128}}};
    const char *only = getenv("TW_HOPPER");
    for (int i = 0; i < hopper_program_count; i++) {
        const struct hopper_program *p = &hopper_programs[i];
        if (only && strcmp(only, p->file) != 0)
            continue;
        char *text = hopper_text(p);
        for (int s = 0; s < 3; s++)
            for (int late = 0; late < 2; late++)
                for (uint64_t seed = 0; seed < (s == 1 ? 3u : 1u); seed++) {
                    struct hopper_run run = {.blocks = 2,
                                             .options = {.seed = seed, .async_late = late}};
                    memcpy(run.size, sizes[p->kind][s], sizeof run.size);
                    runs_clean(p, text, run);
                }
        free(text);
    }
}

/* Counters and a trace of 256 x 256 x 192: two tiles of 128 x 256, in three steps of k. */
static void counts(void **state)
{
    (void)state;
    const struct hopper_program *p = &hopper_programs[0];
    char *text = hopper_text(p);
    struct hopper_run run = {.size = {256, 256, 192}, .blocks = 2, .traced = true};
    struct hopper_outcome o = hopper_run(p, text, &run);
    assert_true(o.operations == 2.0 * 256 * 256 * 192);
    assert_true(o.trace > 100000);
    assert_int_equal(o.counts.async_copies, 2 * (3 * 2 + 2 * 4));
    assert_int_equal(o.counts.async_bytes, 2 * 3 * 49152 + 256 * 256 * 2);
    assert_int_equal(o.counts.global_sectors, (2 * 3 * 49152 + 256 * 256 * 2) / 32);
    assert_int_equal(o.counts.global_loads + o.counts.global_stores, 0);
    free(text);
}

/* Copies that land after some instructions of the warps. */
static void lands_in_between(void **state)
{
    (void)state;
    for (int i = 0; i < hopper_program_count; i++) {
        const struct hopper_program *p = &hopper_programs[i];
        char *text = hopper_text(p);
        for (int64_t after = 10; after < 2000; after *= 12) {
            struct hopper_run run = {
                .size = {256, 256, 320},
                .blocks = 2,
                .options = {.async_late = true, .async_after = after, .seed = (uint64_t)after % 3}};
            if (p->kind == HOPPER_ATTENTION)
                memcpy(run.size, (int[]){1, 128, 384}, sizeof run.size);
            runs_clean(p, text, run);
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_program), cmocka_unit_test(counts),
                                       cmocka_unit_test(lands_in_between)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
