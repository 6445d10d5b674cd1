/* Random tile programs: compiled and printed; the simulator runs the text with all checks, with
 * warps in turn and in random order; the results are compared with the CPU engine's for the same
 * program. 5,000 programs, 25 times as many with TW_TEST_LONG. TW_TEST_THREADS=2: the checks have a second
 * thread. */
#include "emit_compare.h"
#include "random_products.h"
#include "random_tiles.h"
#include "test_layout_random.h"

#include "sim/sim.h"
#include "sim/sim_barrier_check.h"
#include "sim/sim_memcheck.h"
#include "sim/race/sim_race.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { TILES = 1500, PRODUCTS = 400, LONGER = 25 };

static uint64_t order; /* order of warps in the next launch; even: copies complete late */

struct machine {
    struct arena later; /* of the report and of observers that hear later */
    struct sim *sim;
    struct sim_report report;
    struct sim_races *races;
    struct sim_memcheck *memory;
    struct sim_barrier_check *barriers;
};

static void open_machine(struct machine *m, struct arena *arena, const struct ptx_module *module)
{
    const char *threads = getenv("TW_TEST_THREADS");
    m->sim = sim_new(arena);
    arena_init(&m->later, arena->allocator, arena->out_of_memory);
    sim_hear_later(m->sim, &m->later, threads ? atoi(threads) : 1);
    sim_report_init(&m->report, &m->later, module);
    m->report.machine = m->sim;
    m->races = sim_races_new(&m->later, &m->report);
    m->memory = sim_memcheck_new(arena, &m->report);
    m->barriers = sim_barrier_check_new(arena, &m->report);
    sim_observe(m->sim, sim_races_observer(m->races));
    sim_observe(m->sim, sim_memcheck_observer(m->memory));
    sim_observe(m->sim, sim_barrier_check_observer(m->barriers));
}

static void close_machine(struct machine *m)
{
    sim_races_free(m->races);
    sim_memcheck_free(m->memory);
    sim_barrier_check_free(m->barriers);
    sim_free(m->sim);
    arena_free(&m->later);
}

/* Returns the module parsed from the printed program. */
static const struct ptx_module *read_back(struct arena *arena, const struct ptx_module *written,
                                          struct source *source, struct diag *diag)
{
    struct text text;
    text_init(&text, arena);
    ptx_print(&text, written);
    *source = (struct source){"t.ptx", text.data, text.length};
    const struct ptx_module *module = ptx_parse(arena, source, diag);
    return module && ptx_verify(module, diag) ? module : NULL;
}

static const char *run_machine(struct machine *m, const struct compare_launch *from,
                               struct diag *diag)
{
    uint64_t addresses[MOST_ARRAYS];
    const void *arguments[MOST_ARRAYS];
    struct sim_launch launch = {.kernel = from->lowered->function->name,
                                .grid = {1, 1, 1},
                                .cluster = {1, 1, 1},
                                .dynamic_shared = from->lowered->shared_bytes,
                                .arguments = arguments,
                                .argument_count = from->count,
                                .options = {.seed = order, .async_late = order % 2 == 0}};
    for (int i = 0; i < 3; i++)
        launch.block[i] = (unsigned)from->lowered->block[i];
    for (int i = 0; i < from->count; i++) {
        const struct compare_array *a = &from->arrays[i];
        addresses[i] = sim_allocate(m->sim, a->bytes, a->is_const ? a->data : NULL, a->name);
        arguments[i] = &addresses[i];
    }
    enum sim_end end = sim_run(m->sim, &launch, diag);
    if (end == SIM_DEADLOCK)
        sim_barrier_check_deadlock(m->barriers, sim_standstill(m->sim));
    for (int i = 0; i < from->count; i++)
        memcpy(from->arrays[i].data, sim_host(m->sim, addresses[i], from->arrays[i].bytes),
               from->arrays[i].bytes);
    struct text report;
    text_init(&report, from->arena);
    sim_report_text(&report, &m->report, false);
    if (sim_report_failures(&m->report))
        return report.data;
    return end == SIM_DONE ? NULL : arena_printf(from->arena, "%s", sim_why(m->sim));
}

static const char *run_on_simulator(const struct compare_launch *launch)
{
    struct machine m;
    struct source source;
    struct diag diag;
    diag_init(&diag, launch->arena);
    const struct ptx_module *module =
        read_back(launch->arena, launch->lowered->module, &source, &diag);
    if (!module)
        return "the program is not read back";
    open_machine(&m, launch->arena, module);
    const char *why = sim_load(m.sim, module, &source, &diag) ? run_machine(&m, launch, &diag)
                                                              : "the program is not loaded";
    close_machine(&m);
    return why;
}

static int rounds(int n)
{
    return getenv("TW_TEST_LONG") ? LONGER * n : n;
}

static const char *const targets[] = {"sm_80", "sm_90", "sm_120"};

static void tiles(void **state)
{
    char text[4096];
    uint64_t seed = 51;
    (void)state;
    for (int round = 0; round < rounds(TILES); round++) {
        tile_kernel_random(text, sizeof text, &seed);
        order = (uint64_t)round % 4;
        compare_run_with_cpu(run_on_simulator, text, targets[round % 3], seed, tile_kernel_number);
    }
}

static void products(void **state)
{
    char text[2048];
    uint64_t seed = 52;
    (void)state;
    for (int round = 0; round < rounds(PRODUCTS); round++) {
        bool bytes = round % 2;
        int which = random_below(&seed, bytes ? PRODUCT_BYTES : PRODUCT_SINGLES);
        struct product p =
            product_random(&seed, bytes ? &product_bytes[which] : &product_singles[which]);
        product_write(text, sizeof text, &p);
        order = (uint64_t)round / 2 % 4;
        compare_run_with_cpu(run_on_simulator, text, targets[bytes ? 1 + round / 2 % 2 : round % 3],
                             seed, product_number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles), cmocka_unit_test(products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
