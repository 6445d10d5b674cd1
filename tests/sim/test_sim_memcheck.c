/* The memory and barrier checks on events made by hand. */
#include "sim/sim_barrier_check.h"
#include "sim/sim_memcheck.h"
#include "sim_feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static jmp_buf failed;
static struct arena arena;
static struct sim_report report;
static struct sim_memcheck *memory;
static struct sim_barrier_check *barriers;
static struct feed f;

#define LANES UINT32_MAX

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, &allocator_libc, &failed);
    sim_report_init(&report, &arena, NULL);
    memory = sim_memcheck_new(&arena, &report);
    barriers = sim_barrier_check_new(&arena, &report);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sim_memcheck_free(memory);
    sim_barrier_check_free(barriers);
    arena_free(&arena);
    return 0;
}

static void expect(enum sim_found kind, int64_t count)
{
    int64_t found = 0;
    for (const struct sim_finding *x = report.first; x; x = x->next)
        found += x->kind == kind ? x->count : 1000;
    assert_int_equal(found, count);
}

static void watch_memory(void)
{
    feed_start(&f, sim_memcheck_observer(memory), &report, 1, 64);
}

static void watch_barriers(int threads)
{
    feed_start(&f, sim_barrier_check_observer(barriers), &report, 1, threads);
}

static void shared_memory_starts_unwritten(void **state)
{
    (void)state;
    watch_memory();
    feed_access(&f, 0, 0, LANES, SIM_WRITE, 0, 4, 4, 1);
    feed_access(&f, 0, 1, LANES, SIM_READ, 0, 4, 4, 1);
    feed_access(&f, 0, 1, 1, SIM_READ, 112, 4, 16, 1);
    expect(SIM_FOUND_UNINITIALISED, 0);
    feed_access(&f, 0, 1, 1, SIM_READ, 120, 4, 16, 1);
    expect(SIM_FOUND_UNINITIALISED, 1);
    assert_string_equal(report.first->message,
                        "byte 0x80 of shared memory is read and was never written");
}

static void global_memory_as_the_host_left_it(void **state)
{
    (void)state;
    struct sim_observer *o = sim_memcheck_observer(memory);
    struct sim_allocation_event raw = {SIM_GLOBAL, FEED_BASE + 8192, 4096, "raw", false};
    watch_memory();
    assert_true(o->allocated(o->user, &raw));
    feed_access(&f, 0, 0, LANES, SIM_READ, FEED_BASE, 4, 4, 0); /* "out" is written */
    feed_access(&f, 0, 0, LANES, SIM_WRITE, FEED_BASE + 8192, 2, 1, 0);
    feed_access(&f, 0, 0, 1u << 5, SIM_READ, FEED_BASE + 8192, 2, 1, 0);
    expect(SIM_FOUND_UNINITIALISED, 0);
    feed_access(&f, 0, 0, 1u << 5, SIM_READ, FEED_BASE + 8192, 2, 2, 0);
    expect(SIM_FOUND_UNINITIALISED, 1);
    raw.initialised = true;
    assert_true(o->allocated(o->user, &raw));
    feed_access(&f, 0, 0, LANES, SIM_READ, FEED_BASE + 8192 + 512, 2, 2, 0);
    expect(SIM_FOUND_UNINITIALISED, 1);
}

static void faults_name_the_memory(void **state)
{
    (void)state;
    struct sim_observer *o = sim_memcheck_observer(memory);
    bool go_on = false;
    watch_memory();
    struct sim_fault fault = {.kind = SIM_OUTSIDE,
                              .at = feed_place(&f, 0, 0),
                              .space = SIM_GLOBAL,
                              .bytes = 4,
                              .address = FEED_BASE + 4096,
                              .write = true,
                              .name = "c",
                              .size = 4096,
                              .offset = 4096};
    assert_true(o->fault(o->user, &fault, &go_on));
    assert_true(go_on);
    expect(SIM_FOUND_OUTSIDE, 1);
    assert_string_equal(report.first->message,
                        "write of 4 bytes outside memory: 0 bytes behind the "
                        "end of 'c' (4096 bytes)");
}

static void copies_must_be_waited_for(void **state)
{
    (void)state;
    watch_memory();
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_ISSUE, 1, 0);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_COMMIT, 0, 0);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_WAIT, 0, 0);
    feed_sync(&f, 0, 0, 0xffff, SIM_EXIT, SIM_WEAK, SIM_CTA);
    expect(SIM_FOUND_ASYNC_PENDING, 0);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_ISSUE, 2, 0);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_COMMIT, 0, 0);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_WAIT, 0, 1);
    feed_sync(&f, 0, 0, 0xffff0000, SIM_EXIT, SIM_WEAK, SIM_CTA);
    expect(SIM_FOUND_ASYNC_PENDING, 16);
}

static void arrive_aligned(int warp, uint32_t mask, int id, int expected, bool reduces)
{
    struct sim_sync_event e = {.at = feed_place(&f, 0, warp),
                               .kind = SIM_BARRIER_ARRIVE,
                               .mask = mask,
                               .id = id,
                               .expected = expected,
                               .aligned = true,
                               .reduces = reduces,
                               .waits = true};
    f.line++;
    assert_true(f.observer->sync(f.observer->user, &e));
}

static void lanes_may_come_one_by_one(void **state)
{
    (void)state;
    watch_barriers(32);
    uint32_t line = f.line;
    arrive_aligned(0, 0xff, 0, -1, false);
    f.line = line;
    arrive_aligned(0, 0xffffff00, 0, -1, false);
    feed_leave(&f, 0, 0, LANES, 0, -1);
    expect(SIM_FOUND_DIVERGENT, 0);
    arrive_aligned(0, 0xff, 0, -1, false);
    arrive_aligned(0, 0xffffff00, 0, -1, false); /* another instruction */
    expect(SIM_FOUND_DIVERGENT, 1);
}

static void counts(void **state)
{
    (void)state;
    watch_barriers(64);
    arrive_aligned(0, LANES, 1, 48, false);
    expect(SIM_FOUND_BARRIER_COUNT, 1);
    arrive_aligned(1, LANES, 2, 96, false);
    expect(SIM_FOUND_BARRIER_COUNT, 2);
    arrive_aligned(0, LANES, 3, 64, false);
    arrive_aligned(1, LANES, 3, 32, false);
    expect(SIM_FOUND_BARRIER_COUNT, 3);
}

static void mixed(void **state)
{
    (void)state;
    watch_barriers(64);
    arrive_aligned(0, LANES, 1, 64, true);
    arrive_aligned(1, LANES, 1, 64, false);
    expect(SIM_FOUND_MIXED, 1);
}

static void a_deadlock_is_explained(void **state)
{
    (void)state;
    watch_barriers(64);
    arrive_aligned(0, LANES, 1, 64, false);
    arrive_aligned(1, LANES, 2, 64, false);
    sim_barrier_check_deadlock(barriers, NULL);
    expect(SIM_FOUND_DEADLOCK, 2);
    assert_string_equal(report.first->message, "barrier 1 waits for 64 threads, 32 arrived");
    assert_string_equal(report.first->steps[0],
                        "not there: warp 1 (lanes 0xffffffff) waits at barrier 2");
}

static void those_who_left(void **state)
{
    (void)state;
    watch_barriers(64);
    feed_sync(&f, 0, 1, LANES, SIM_EXIT, SIM_WEAK, SIM_CTA);
    arrive_aligned(0, LANES, 1, 64, false);
    sim_barrier_check_deadlock(barriers, NULL);
    expect(SIM_FOUND_EXITED, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(shared_memory_starts_unwritten),
        TEST(global_memory_as_the_host_left_it),
        TEST(faults_name_the_memory),
        TEST(copies_must_be_waited_for),
        TEST(lanes_may_come_one_by_one),
        TEST(counts),
        TEST(mixed),
        TEST(a_deadlock_is_explained),
        TEST(those_who_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
