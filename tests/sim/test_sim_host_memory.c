/* The parts of the machine for drivers: addresses of their choice, variables in memory of the host, parts
 * that the host has written, blocks that observers do not hear. */
#include "sim/sim_memcheck.h"
#include "sim_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const char copy[] = ".visible .global .align 4 .u32 given = 7;\n"
                           ".visible .entry k(.param .u64 from, .param .u64 to)\n"
                           "{\n"
                           "    .reg .u64 %rd<4>;\n"
                           "    .reg .u32 %r<4>;\n"
                           "    ld.param.u64 %rd1, [from];\n"
                           "    ld.param.u64 %rd2, [to];\n"
                           "    ld.global.u32 %r1, [%rd1+4];\n"
                           "    ld.global.u32 %r2, [given];\n"
                           "    add.u32 %r3, %r1, %r2;\n"
                           "    st.global.u32 [%rd2], %r3;\n"
                           "    ret;\n"
                           "}\n";

static void memory_of_the_host_at_an_address(void **state)
{
    (void)state;
    struct sim_case c;
    uint32_t host[2] = {1, 2}, out = 0;
    const uint64_t place = UINT64_C(100) * SIM_MOST_BYTES;
    sim_case_open(&c, copy);
    sim_skip(c.sim, 200);
    uint64_t to = sim_allocate(c.sim, 4, NULL, "to");
    assert_true(to > UINT64_C(200) * SIM_MOST_BYTES);
    assert_false(sim_attach_at(c.sim, to, host, sizeof host, "taken"));
    assert_false(sim_attach_at(c.sim, place + 4, host, sizeof host, "inside"));
    assert_true(sim_attach_at(c.sim, place, host, sizeof host, "host"));
    sim_case_done(&c, "k", 2, (const uint64_t[]){place, to});
    out = *(uint32_t *)sim_bytes(c.sim, to, 4);
    assert_int_equal(out, 9);
    assert_null(sim_bytes(c.sim, to, 5));
    assert_null(sim_bytes(c.sim, place + SIM_MOST_BYTES, 1));
    sim_release(c.sim, place);
    assert_null(sim_bytes(c.sim, place, 4));
    sim_case_close(&c);
}

static void a_variable_in_memory_of_the_host(void **state)
{
    (void)state;
    struct sim_case c;
    uint32_t host = 0, from[2] = {0, 5};
    uint64_t address, out = 0;
    sim_case_open(&c, copy);
    struct sim *sim = sim_new(&c.arena);
    const struct ptx_variable *v = ptx_find_variable(c.module, "given");
    uint64_t place = sim_attach(sim, &host, sizeof host, "given");
    sim_place(sim, v, place);
    assert_true(sim_load(sim, c.module, &c.source, &c.diag));
    assert_true(sim_variable(sim, v, &address));
    assert_int_equal(address, place);
    assert_int_equal(host, 7); /* its initial value */
    host = 20;
    uint64_t a = sim_attach(sim, from, sizeof from, "from"), b = sim_attach(sim, &out, 8, "out");
    const void *arguments[] = {&a, &b};
    struct sim_launch l = {.kernel = "k",
                           .grid = {1, 1, 1},
                           .block = {1, 1, 1},
                           .arguments = arguments,
                           .argument_count = 2};
    assert_int_equal(sim_run(sim, &l, &c.diag), SIM_DONE);
    assert_int_equal(out, 25);
    sim_free(sim);
    sim_case_close(&c);
}

/* Runs the kernel on memory whose first `written` bytes the host wrote, in one part. Returns the
 * number of findings. */
static int64_t after_writing(size_t from, size_t bytes)
{
    struct sim_case c;
    struct sim_report report;
    sim_case_open(&c, copy);
    sim_report_init(&report, &c.arena, c.module);
    struct sim_memcheck *check = sim_memcheck_new(&c.arena, &report);
    sim_observe(c.sim, sim_memcheck_observer(check));
    uint64_t memory = sim_allocate(c.sim, 16, NULL, "memory"), to = sim_case_buffer(&c, 4, NULL);
    if (bytes)
        sim_wrote(c.sim, memory + from, bytes);
    sim_case_done(&c, "k", 2, (const uint64_t[]){memory, to});
    int64_t failures = sim_report_failures(&report);
    sim_memcheck_free(check);
    sim_case_close(&c);
    return failures;
}

static void parts_that_the_host_wrote(void **state)
{
    (void)state;
    assert_int_equal(after_writing(0, 0), 1);
    assert_int_equal(after_writing(0, 4), 1);
    assert_int_equal(after_writing(6, 2), 1);
    assert_int_equal(after_writing(4, 4), 0);
    assert_int_equal(after_writing(0, 16), 0);
}

static bool heard(void *user, const struct sim_access *access)
{
    if (access->kind == SIM_WRITE)
        ++*(int *)user;
    return true;
}

static void blocks_that_are_not_heard(void **state)
{
    (void)state;
    struct sim_case c;
    int writes = 0;
    struct sim_observer o = {.user = &writes, .access = heard};
    sim_case_open(&c, copy);
    sim_observe(c.sim, &o);
    uint64_t from = sim_case_buffer(&c, 8, "\0\0\0\0\1\0\0\0"), to = sim_case_buffer(&c, 4, NULL);
    const uint64_t values[] = {from, to};
    c.launch.grid[0] = 40;
    sim_case_done(&c, "k", 2, values);
    assert_int_equal(writes, 40);
    assert_int_equal(sim_unwatched(c.sim), 0);
    writes = 0;
    c.launch.options.watch_steps = 1;
    c.launch.options.watch_every = 10;
    sim_case_done(&c, "k", 2, values);
    assert_int_equal(writes, 40 - sim_unwatched(c.sim));
    assert_true(sim_unwatched(c.sim) > 30);
    sim_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_the_host_at_an_address),
        cmocka_unit_test(a_variable_in_memory_of_the_host),
        cmocka_unit_test(parts_that_the_host_wrote),
        cmocka_unit_test(blocks_that_are_not_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
