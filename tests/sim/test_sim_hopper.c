/* The programs of tests/hopper on the simulator: right values at whole and ragged sizes, copies
 * and products as early and as late as the rules allow, warps in several orders.
 * TW_HOPPER=FILE runs one program. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
