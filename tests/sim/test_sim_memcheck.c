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

/* Each half of the warp accesses a row, or one place; the rows are `apart` bytes apart. */
static void access_halves(enum sim_kind kind, uint64_t address, uint64_t stride, uint64_t apart)
{
    uint64_t addresses[SIM_LANES];
    for (uint64_t l = 0; l < SIM_LANES; l++)
        addresses[l] = address + l % 16 * stride + l / 16 * apart;
    feed_full(&f, 0, 0, LANES, kind, addresses, 4, 1, SIM_WEAK, SIM_CTA, 0);
}

static void halves_of_warps_write_all_their_places(void **state)
{
    (void)state;
    watch_memory();
    access_halves(SIM_WRITE, 0, 4, 128);
    feed_access(&f, 0, 1, 0xffff, SIM_READ, 0, 4, 4, 1);
    feed_access(&f, 0, 1, 0xffff, SIM_READ, 128, 4, 4, 1);
    access_halves(SIM_READ, 0, 4, 128);
    expect(SIM_FOUND_UNINITIALISED, 0);
    access_halves(SIM_READ, 0, 4, 64); /* the second row has 16 places that were not written */
    expect(SIM_FOUND_UNINITIALISED, 16);
}

static void halves_of_warps_at_one_place_each(void **state)
{
    (void)state;
    watch_memory();
    access_halves(SIM_WRITE, 0, 0, 128);
    access_halves(SIM_READ, 0, 0, 128);
    expect(SIM_FOUND_UNINITIALISED, 0);
    access_halves(SIM_READ, 0, 0, 132);
    expect(SIM_FOUND_UNINITIALISED, 1);
}

static void global_memory_as_the_host_left_it(void **state)
{
    (void)state;
    struct sim_observer *o = sim_memcheck_observer(memory);
    struct sim_allocation_event raw = {
        .space = SIM_GLOBAL, .address = FEED_BASE + 8192, .bytes = 4096, .name = "raw"};
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
                        "write of 4 bytes outside memory: just past the end of 'c' "
                        "(4096 bytes)");
    assert_int_equal(report.first->step_count, 1);
    assert_non_null(strstr(report.first->steps[0], "guard it: `if (i < n)`, or clip the index"));
}

static void faults_at_the_farthest_addresses(void **state)
{
    (void)state;
    struct sim_observer *o = sim_memcheck_observer(memory);
    bool go_on = false;
    watch_memory();
    struct sim_fault fault = {.kind = SIM_OUTSIDE,
                              .at = feed_place(&f, 0, 0),
                              .space = SIM_LOCAL,
                              .bytes = 4,
                              .address = UINT64_C(1) << 63,
                              .name = "c",
                              .size = 4096,
                              .offset = INT64_MIN};
    assert_true(o->fault(o->user, &fault, &go_on));
    assert_string_equal(report.first->message,
                        "read of 4 bytes outside memory: 9223372036854775808 bytes before the "
                        "start of 'c' (4096 bytes)");
    f.line++;
    fault.at = feed_place(&f, 0, 0);
    fault.offset = INT64_MAX;
    assert_true(o->fault(o->user, &fault, &go_on));
    assert_string_equal(report.last->message,
                        "read of 4 bytes outside memory: 9223372036854771711 bytes past the end "
                        "of 'c' (4096 bytes)");
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

/* bar.arrive does not wait: the report names the instruction that waits. */
static void a_wait_is_where_it_is(void **state)
{
    (void)state;
    watch_barriers(96);
    feed_arrive(&f, 0, 0, LANES, 1, 96, false);
    f.line = 40;
    arrive_aligned(1, LANES, 1, 96, false);
    sim_barrier_check_deadlock(barriers, NULL);
    expect(SIM_FOUND_DEADLOCK, 1);
    assert_int_equal(report.first->access[0].at.where.offset, 40);
    assert_int_equal(report.first->access[0].at.warp, 1);
}

static void deadlocks_in_the_order_of_blocks(void **state)
{
    (void)state;
    static const int64_t blocks[] = {256, 3, 255};
    watch_barriers(64);
    for (int i = 0; i < 3; i++) {
        struct sim_block_event begins = {blocks[i], 2, 64, 0, 0, blocks[i], 1, 0};
        struct sim_sync_event e = {.at = feed_place(&f, 0, 0),
                                   .kind = SIM_BARRIER_ARRIVE,
                                   .mask = LANES,
                                   .expected = -1,
                                   .waits = true};
        e.at.block = blocks[i];
        e.at.where.offset = (uint32_t)(100 + i);
        assert_true(f.observer->block_begins(f.observer->user, &begins));
        assert_true(f.observer->sync(f.observer->user, &e));
    }
    sim_barrier_check_deadlock(barriers, NULL);
    expect(SIM_FOUND_DEADLOCK, 3);
    assert_int_equal(report.first->access[0].at.block, 3);
    assert_int_equal(report.first->next->access[0].at.block, 255);
    assert_int_equal(report.last->access[0].at.block, 256);
}

static void mbarriers_are_made_once(void **state)
{
    (void)state;
    watch_barriers(64);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INIT, 16, 64);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INIT, 24, 64);
    feed_mbarrier(&f, 0, 0, LANES, SIM_MBARRIER_ARRIVE, 16, 1);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INVAL, 16, 0);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INIT, 16, 32);
    expect(SIM_FOUND_MBARRIER, 0);
    f.line = 70;
    feed_mbarrier(&f, 0, 1, 2, SIM_MBARRIER_INIT, 24, 32);
    expect(SIM_FOUND_MBARRIER, 1);
    assert_int_equal(report.first->access[0].at.where.offset, 70);
    assert_int_equal(report.first->access[0].lane, 1);
    assert_int_equal(report.first->access[1].at.warp, 0);
}

static void mbarriers_are_there(void **state)
{
    (void)state;
    watch_barriers(64);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INIT, 16, 64);
    feed_mbarrier(&f, 0, 0, LANES, SIM_MBARRIER_FAILED, 16, 0);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INVAL, 16, 0);
    expect(SIM_FOUND_MBARRIER, 0);
    feed_mbarrier(&f, 0, 0, LANES, SIM_MBARRIER_FAILED, 16, 0);
    expect(SIM_FOUND_MBARRIER, 1);
    assert_int_equal(report.first->access_count, 2);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_BYTES, 32, 8);
    expect(SIM_FOUND_MBARRIER, 2);
    assert_int_equal(report.last->access_count, 1);
}

static void each_phase_is_waited_for(void **state)
{
    (void)state;
    watch_barriers(64);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INIT, 16, 32);
    for (int phase = 0; phase < 3; phase++) {
        feed_mbarrier(&f, 0, 0, LANES, SIM_MBARRIER_ARRIVE, 16, 1);
        feed_mbarrier(&f, 0, 0, LANES, SIM_MBARRIER_PHASE, 16, 0);
        feed_mbarrier(&f, 0, 1, 4, SIM_MBARRIER_WAIT, 16, 0);
    }
    feed_mbarrier(&f, 0, 0, LANES, SIM_MBARRIER_ARRIVE, 16, 1);
    feed_mbarrier(&f, 0, 0, LANES, SIM_MBARRIER_PHASE, 16, 0);
    expect(SIM_FOUND_MBARRIER, 0);
    feed_mbarrier(&f, 0, 0, LANES, SIM_MBARRIER_ARRIVE, 16, 1);
    expect(SIM_FOUND_MBARRIER, 1);
}

static void who_waits_for_an_mbarrier(void **state)
{
    (void)state;
    struct sim_sync_event wait = {.kind = SIM_MBARRIER_FAILED, .pending = 2, .bytes = 16};
    watch_barriers(96);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INIT, 16, 32);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INIT, 0, 32);
    for (int w = 0; w < 3; w++) {
        wait.at = feed_place(&f, 0, w);
        wait.mask = w ? 0xf0 : LANES;
        for (int l = 0; l < SIM_LANES; l++)
            wait.address[l] = 16;
        assert_true(f.observer->sync(f.observer->user, &wait));
    }
    arrive_aligned(0, LANES, 1, 96, false); /* this block has released it */
    sim_barrier_check_deadlock(barriers, NULL);
    expect(SIM_FOUND_DEADLOCK, 2);
    assert_string_equal(
        report.last->message,
        "phase 0 of an mbarrier is never complete: 2 arrivals and 16 bytes to come");
    assert_string_equal(report.last->steps[0],
                        "waiting: warp 1 (lanes 0x000000f0), warp 2 (lanes 0x000000f0)");
    assert_int_equal(report.last->access[0].address, 16);
}

static void mbarriers_are_no_data(void **state)
{
    (void)state;
    watch_memory();
    feed_access(&f, 0, 0, LANES, SIM_WRITE, 0, 8, 8, 1);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INIT, 64, 32);
    feed_access(&f, 0, 0, 0xff, SIM_WRITE, 32, 4, 4, 1);
    feed_access(&f, 0, 0, 0xff, SIM_READ, 72, 8, 8, 1);
    expect(SIM_FOUND_MBARRIER, 0);
    feed_access(&f, 0, 1, 0x1ff, SIM_READ, 35, 1, 1, 1);
    expect(SIM_FOUND_MBARRIER, 0);
    feed_access(&f, 0, 1, 0x6, SIM_WRITE, 60, 4, 2, 1);
    expect(SIM_FOUND_MBARRIER, 1);
    assert_int_equal(report.first->access[0].lane, 1);
    assert_int_equal(report.first->access[1].address, 64);
    feed_access(&f, 0, 1, LANES, SIM_READ, 0, 0, 16, 1);
    expect(SIM_FOUND_MBARRIER, 1);
    feed_access(&f, 0, 1, LANES, SIM_READ, 64, 0, 4, 1);
    expect(SIM_FOUND_MBARRIER, 2);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INVAL, 64, 0);
    feed_access(&f, 0, 1, LANES, SIM_WRITE, 0, 4, 4, 1);
    expect(SIM_FOUND_MBARRIER, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(shared_memory_starts_unwritten),
        TEST(halves_of_warps_write_all_their_places),
        TEST(halves_of_warps_at_one_place_each),
        TEST(global_memory_as_the_host_left_it),
        TEST(faults_name_the_memory),
        TEST(faults_at_the_farthest_addresses),
        TEST(copies_must_be_waited_for),
        TEST(lanes_may_come_one_by_one),
        TEST(counts),
        TEST(mixed),
        TEST(a_deadlock_is_explained),
        TEST(those_who_left),
        TEST(a_wait_is_where_it_is),
        TEST(deadlocks_in_the_order_of_blocks),
        TEST(mbarriers_are_made_once),
        TEST(mbarriers_are_there),
        TEST(each_phase_is_waited_for),
        TEST(who_waits_for_an_mbarrier),
        TEST(mbarriers_are_no_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
