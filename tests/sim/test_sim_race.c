/* The race check on events made by hand: events that order accesses, and events that do not. */
#include "race_case.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct race_case c;

enum { ALL = -1 };
#define LANES UINT32_MAX
#define W SIM_WRITE
#define R SIM_READ
#define G FEED_BASE

static int set_up(void **state)
{
    (void)state;
    race_case_open(&c);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    race_case_close(&c);
    return 0;
}

static void expect_kind_alone(enum sim_found kind)
{
    assert_int_equal(c.report.kept, 1);
    assert_int_equal(c.report.first->kind, kind);
}

static void a_barrier_orders(void **state)
{
    (void)state;
    race_case_start(&c, 1, 64);
    feed_access(&c.feed, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_access(&c.feed, 0, 0, LANES, R, 0, 4, 4, 0); /* each its own */
    feed_barrier(&c.feed, 0);
    feed_access(&c.feed, 0, 1, LANES, R, 0, 4, 4, 0);
    feed_access(&c.feed, 0, 0, LANES, R, 0, 0, 16, 0);
    feed_barrier(&c.feed, 0);
    feed_access(&c.feed, 0, 1, LANES, W, 0, 8, 8, 0);
    race_case_expect(&c, 0);
}

static void without_it_a_read_races(void **state)
{
    (void)state;
    race_case_start(&c, 1, 64);
    feed_access(&c.feed, 0, 0, LANES, W, 0, 4, 4, 7);
    feed_access(&c.feed, 0, 1, 1, R, 8, 4, 4, 0);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
    const struct sim_finding *x = c.report.first;
    assert_int_equal(x->access[0].lane, 2);
    assert_int_equal(x->access[0].at.warp, 0);
    assert_int_equal(x->access[1].lane, 0);
    assert_int_equal(x->access[1].address, 8);
    assert_string_equal(
        x->steps[1],
        "the read (block (0,0,0) thread (32,0,0)) may come first: it then gets 0x00000000, not the "
        "0x07070707 of block (0,0,0) thread (2,0,0)");
}

static void without_it_a_write_races(void **state)
{
    (void)state;
    race_case_start(&c, 1, 64);
    feed_access(&c.feed, 0, 0, LANES, R, 0, 0, 4, 0);
    feed_access(&c.feed, 0, 1, 1u << 5, W, 0, 0, 4, 3);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
}

static void bytes_are_told_apart(void **state)
{
    (void)state;
    race_case_start(&c, 1, 64);
    for (int l = 0; l < 32; l++)
        feed_access(&c.feed, 0, l % 2, 1u << l, W, 0, 1, 1, l);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 1, 1u << 4, W, 0, 1, 1, 9);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
}

static void halves_of_words_in_one_store(void **state)
{
    (void)state;
    race_case_start(&c, 1, 64);
    feed_access(&c.feed, 0, 0, LANES, W, 0, 2, 2, 1);
    feed_access(&c.feed, 0, 0, LANES, R, 0, 2, 2, 1);
    feed_access(&c.feed, 0, 1, LANES, W, 64, 2, 2, 1);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 0, 1u << 3, R, 0, 4, 4, 1); /* the words of lanes 6 and 7 */
    race_case_expect_kind(&c, SIM_FOUND_RACE);
}

static void lanes_are_threads(void **state)
{
    (void)state;
    race_case_start(&c, 1, 32);
    feed_access(&c.feed, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_sync(&c.feed, 0, 0, LANES, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    feed_access(&c.feed, 0, 0, 0x7fffffff, R, 4, 4, 4, 0);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 0, 1, W, 4, 4, 4, 2); /* lane 0 read it itself … */
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 0, 1, W, 8, 4, 4, 2); /* … lane 1 read this one */
    race_case_expect_kind(&c, SIM_FOUND_RACE);
}

static void some_lanes_in_step(void **state)
{
    (void)state;
    race_case_start(&c, 1, 32);
    feed_access(&c.feed, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_sync(&c.feed, 0, 0, 0xffff, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    feed_access(&c.feed, 0, 0, 0x1, R, 4, 4, 4, 0);
    feed_access(&c.feed, 0, 0, 0x1, R, 60, 4, 4, 0);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 0, 0x1, R, 64, 4, 4, 0);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
}

static void lanes_of_one_instruction(void **state)
{
    (void)state;
    uint64_t addresses[SIM_LANES];
    race_case_start(&c, 1, 32);
    feed_access(&c.feed, 0, 0, 3, W, 0, 0, 4, 1); /* the same value */
    race_case_expect_kind(&c, SIM_FOUND_SAME_VALUE);
    assert_int_equal(sim_report_failures(&c.report), 0);
    for (int l = 0; l < SIM_LANES; l++)
        addresses[l] = (uint64_t)(4 * (l ^ 5) % 64);
    feed_full(&c.feed, 0, 0, LANES, W, addresses, 4, 1, SIM_WEAK, SIM_CTA, 0);
    assert_true(feed_found(&c.feed) > 1);
    assert_int_equal(sim_report_failures(&c.report), 0);
}

static void same_values_apart(void **state)
{
    (void)state;
    race_case_start(&c, 2, 32);
    feed_access(&c.feed, 0, 0, 1, W, G, 0, 4, 1);
    feed_access(&c.feed, 1, 0, 1, W, G, 0, 4, 1);
    race_case_expect_kind(&c, SIM_FOUND_SAME_VALUE);
    feed_access(&c.feed, 0, 0, 2, W, G, 0, 4, 2); /* against both */
    assert_int_equal(sim_report_failures(&c.report), 2);
}

static void blocks_are_not_ordered(void **state)
{
    (void)state;
    race_case_start(&c, 2, 64);
    feed_access(&c.feed, 0, 0, LANES, W, G, 4, 4, 1);
    feed_barrier(&c.feed, 0);
    feed_barrier(&c.feed, 1);
    feed_access(&c.feed, 0, 1, LANES, R, G, 4, 4, 1);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 1, 1, LANES, R, G, 4, 4, 1);
    assert_int_equal(c.report.first->kind, SIM_FOUND_RACE);
}

/* Thread 0 of block 0 writes data and a flag; thread 0 of block 1 reads the flag, then the data. */
static void pass_flag(enum sim_order release, enum sim_order acquire, int fence_1, int fence_2,
                      enum sim_scope scope)
{
    uint64_t flag[SIM_LANES] = {G + 64};
    race_case_start(&c, 2, 64);
    feed_access(&c.feed, 0, 1, LANES, W, G + 128, 4, 4, 1);
    feed_barrier(&c.feed, 0);
    feed_access(&c.feed, 0, 0, 1, W, G, 4, 4, 1);
    if (fence_1 >= 0)
        feed_sync(&c.feed, 0, 0, 1, SIM_FENCE, SIM_ACQ_REL, (enum sim_scope)fence_1);
    feed_full(&c.feed, 0, 0, 1, W, flag, 4, 1, release, scope, 0);
    feed_full(&c.feed, 1, 0, 1, R, flag, 4, 1, acquire, scope, 0);
    if (fence_2 >= 0)
        feed_sync(&c.feed, 1, 0, 1, SIM_FENCE, SIM_SC, (enum sim_scope)fence_2);
    feed_access(&c.feed, 1, 0, 1, R, G, 4, 4, 1);
    feed_barrier(&c.feed, 1);
    feed_access(&c.feed, 1, 1, LANES, R, G + 128, 4, 4, 1);
}

static void release_and_acquire(void **state)
{
    (void)state;
    pass_flag(SIM_RELEASE, SIM_ACQUIRE, -1, -1, SIM_GPU);
    race_case_expect(&c, 0);
    pass_flag(SIM_RELAXED, SIM_RELAXED, SIM_GPU, SIM_GPU, SIM_GPU);
    race_case_expect(&c, 0);
    pass_flag(SIM_VOLATILE, SIM_VOLATILE, SIM_GPU, SIM_SYS, SIM_CTA);
    race_case_expect(&c, 1); /* of the flag alone, because this read is not in a loop that waits */
    expect_kind_alone(SIM_FOUND_VOLATILE);
}

static void release_without_acquire(void **state)
{
    (void)state;
    pass_flag(SIM_RELEASE, SIM_RELAXED, -1, -1, SIM_GPU);
    assert_int_equal(c.report.first->kind, SIM_FOUND_RACE);
}

static void acquire_without_release(void **state)
{
    (void)state;
    pass_flag(SIM_RELAXED, SIM_ACQUIRE, -1, -1, SIM_GPU);
    assert_int_equal(c.report.first->kind, SIM_FOUND_RACE);
}

static void fence_too_narrow(void **state)
{
    (void)state;
    pass_flag(SIM_RELAXED, SIM_ACQUIRE, SIM_CTA, -1, SIM_GPU);
    assert_int_equal(c.report.first->kind, SIM_FOUND_RACE);
}

static void scope_too_narrow(void **state)
{
    (void)state;
    pass_flag(SIM_RELEASE, SIM_ACQUIRE, -1, -1, SIM_CTA);
    assert_int_equal(c.report.first->kind, SIM_FOUND_SCOPE);
    assert_non_null(sim_report_find(&c.report, SIM_FOUND_RACE));
}

/* The last of the blocks to count up reads all blocks' writes. */
static void a_chain_of_updates(void **state)
{
    (void)state;
    uint64_t count[SIM_LANES] = {G + 64};
    race_case_start(&c, 4, 32);
    for (int b = 0; b < 4; b++) {
        feed_access(&c.feed, b, 0, 1, W, G + 4 * (uint64_t)b, 4, 4, 1);
        feed_sync(&c.feed, b, 0, 1, SIM_FENCE, SIM_SC, SIM_GPU);
        feed_full(&c.feed, b, 0, 1, SIM_UPDATE, count, 4, 1, SIM_RELAXED, SIM_GPU, 0);
    }
    feed_sync(&c.feed, 3, 0, 1, SIM_FENCE, SIM_SC, SIM_GPU);
    feed_access(&c.feed, 3, 0, 1, R, G, 4, 16, 1);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 2, 0, 1, R, G, 4, 16, 1);
    assert_true(feed_found(&c.feed) > 0);
}

static void atomics_do_not_race(void **state)
{
    (void)state;
    uint64_t bins[SIM_LANES];
    race_case_start(&c, 2, 64);
    for (int l = 0; l < SIM_LANES; l++)
        bins[l] = G + (uint64_t)(4 * (l * 7 % 5));
    for (int i = 0; i < 4; i++)
        feed_full(&c.feed, i % 2, i / 2, LANES, SIM_UPDATE, bins, 4, 1, SIM_RELAXED, SIM_GPU, 0);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 1, 1, 1, R, G, 4, 4, 1); /* lane 0 came neither last nor alone */
    assert_int_equal(c.report.first->kind, SIM_FOUND_RACE);
}

/* All blocks update a counter. The block whose update is the last one may read the counter or reset it by
 * ordinary accesses; another block may not, nor may another thread. */
static void after_the_last_update(void **state)
{
    (void)state;
    const struct {
        int block;
        uint32_t lanes;
        bool races;
    } by[] = {{3, 1, false}, {2, 1, true}, {3, 2, true}};
    const enum sim_kind kinds[] = {R, W};
    for (int i = 0; i < 6; i++) {
        uint64_t count[SIM_LANES] = {G, G};
        race_case_start(&c, 4, 32);
        for (int b = 0; b < 4; b++)
            feed_full(&c.feed, b, 0, 1, SIM_UPDATE, count, 4, 1, SIM_RELAXED, SIM_GPU, 0);
        feed_access(&c.feed, by[i / 2].block, 0, by[i / 2].lanes, kinds[i % 2], G, 0, 4, 0);
        assert_int_equal(feed_found(&c.feed) > 0, by[i / 2].races);
    }
}

/* If two writes of one value are unordered, both are remembered. */
static void both_writers_are_kept(void **state)
{
    (void)state;
    uint64_t address[SIM_LANES] = {0};
    race_case_start(&c, 1, 96);
    feed_access(&c.feed, 0, 0, 1, W, 0, 0, 4, 1);
    feed_access(&c.feed, 0, 1, 1, W, 0, 0, 4, 1);
    feed_access(&c.feed, 0, 1, 1, W, 0, 0, 4, 1);
    assert_int_equal(sim_report_failures(&c.report), 0);
    feed_arrive(&c.feed, 0, 1, LANES, 1, 64, false);
    feed_arrive(&c.feed, 0, 2, LANES, 1, 64, true);
    feed_leave(&c.feed, 0, 2, LANES, 1, 64);
    feed_full(&c.feed, 0, 2, 1, SIM_UPDATE, address, 4, 5, SIM_RELAXED, SIM_CTA, 0);
    assert_int_equal(sim_report_failures(&c.report), 1);
    assert_int_equal(c.report.last->access[0].at.warp, 0);
}

/* A write whose value another write has replaced is not of the same value, though the bytes are
 * equal now. */
static void a_value_that_was_covered(void **state)
{
    (void)state;
    uint64_t address[SIM_LANES] = {0};
    race_case_start(&c, 1, 96);
    feed_full(&c.feed, 0, 0, 1, W, address, 4, 5, SIM_RELAXED, SIM_CTA, 0);
    feed_full(&c.feed, 0, 1, 1, W, address, 4, 6, SIM_RELAXED, SIM_CTA, 0);
    feed_access(&c.feed, 0, 2, 1, W, 0, 0, 4, 6);
    assert_int_equal(sim_report_failures(&c.report), 1);
    assert_non_null(sim_report_find(&c.report, SIM_FOUND_SAME_VALUE));
}

/* A read for each of 128 warps, and for each of their lanes in turn; the last lane to count up
 * is ordered after all but the first. */
static void readers_without_end(void **state)
{
    (void)state;
    uint64_t count[SIM_LANES] = {G + 64};
    race_case_start(&c, 4, 1024);
    for (int b = 0; b < 4; b++)
        for (int w = 0; w < 32; w++) {
            feed_access(&c.feed, b, w, 1, R, G, 0, 4, 1);
            if (b || w)
                feed_full(&c.feed, b, w, 1, SIM_UPDATE, count, 4, 1, SIM_ACQ_REL, SIM_GPU, 0);
        }
    feed_full(&c.feed, 3, 31, 1, SIM_UPDATE, count, 4, 1, SIM_ACQ_REL, SIM_GPU, 0);
    feed_access(&c.feed, 3, 31, 1, W, G, 0, 4, 1);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
    assert_int_equal(c.report.first->access[0].at.block, 0);
    assert_int_equal(c.report.first->access[0].at.warp, 0);
}

/* Readers that take turns do not make an endless list; writers of one value do not, either. */
static void lists_stay_short(void **state)
{
    (void)state;
    race_case_start(&c, 2, 1024);
    for (int i = 0; i < 20000; i++) {
        c.feed.line = 1;
        feed_access(&c.feed, i & 1, i / 2 % 32, LANES, R, G + 128, 0, 4, 1);
        c.feed.line = 2;
        feed_access(&c.feed, i & 1, i / 2 % 32, 1u << i % 32, R, G + 256, 0, 4, 1);
        c.feed.line = 3;
        feed_access(&c.feed, i & 1, i / 2 % 32, 1u << i % 32, W, G, 0, 4, 1);
    }
    assert_int_equal(sim_report_failures(&c.report), 0);
    assert_true(sim_races_most_memory(c.races) < 4 << 20);
}

static void flags_of_two_bytes(void **state)
{
    (void)state;
    uint64_t flag[2][SIM_LANES] = {{G + 64, G + 64}, {G + 66, G + 66}};
    race_case_start(&c, 3, 32);
    for (int b = 0; b < 2; b++) {
        feed_access(&c.feed, b, 0, 1, W, G + 4 * (uint64_t)b, 0, 4, 1);
        feed_full(&c.feed, b, 0, 1, W, flag[b], 2, 1, SIM_RELEASE, SIM_GPU, 0);
    }
    feed_full(&c.feed, 2, 0, 1, R, flag[0], 2, 1, SIM_ACQUIRE, SIM_GPU, 0);
    feed_full(&c.feed, 2, 0, 1, R, flag[1], 2, 1, SIM_ACQUIRE, SIM_GPU, 0);
    feed_access(&c.feed, 2, 0, 1, R, G, 0, 8, 1);
    race_case_expect(&c, 0);
    feed_full(&c.feed, 2, 0, 2, R, flag[0], 4, 1, SIM_ACQUIRE, SIM_GPU, 0); /* of another width */
    assert_int_equal(c.report.first->kind, SIM_FOUND_SCOPE);
    feed_access(&c.feed, 2, 0, 2, R, G, 0, 8, 1);
    assert_non_null(sim_report_find(&c.report, SIM_FOUND_RACE));
}

static void named_barriers(void **state)
{
    (void)state;
    race_case_start(&c, 1, 96);
    feed_access(&c.feed, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_arrive(&c.feed, 0, 0, LANES, 1, 64, false); /* the producer goes on */
    feed_access(&c.feed, 0, 0, 1, W, 128, 4, 4, 1);
    feed_arrive(&c.feed, 0, 1, LANES, 1, 64, true);
    feed_leave(&c.feed, 0, 1, LANES, 1, 64);
    feed_access(&c.feed, 0, 1, LANES, R, 0, 4, 4, 1);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 1, 1, R, 128, 4, 4, 1); /* written after the arrival */
    race_case_expect(&c, 1);
    feed_access(&c.feed, 0, 2, 1, R, 0, 4, 4, 1); /* took no part */
    race_case_expect(&c, 2);
}

/* A barrier of some threads does not include those that have left. */
static void named_barriers_and_those_who_left(void **state)
{
    (void)state;
    race_case_start(&c, 1, 96);
    feed_access(&c.feed, 0, 0, 1, W, 0, 0, 4, 1);
    feed_sync(&c.feed, 0, 0, LANES, SIM_EXIT, SIM_WEAK, SIM_CTA);
    for (int w = 1; w < 3; w++)
        feed_arrive(&c.feed, 0, w, LANES, 1, 64, true);
    for (int w = 1; w < 3; w++)
        feed_leave(&c.feed, 0, w, LANES, 1, 64);
    feed_access(&c.feed, 0, 1, 1, R, 0, 0, 4, 1);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
}

static void copies_are_agents(void **state)
{
    (void)state;
    uint64_t from[SIM_LANES], to[SIM_LANES];
    for (int l = 0; l < SIM_LANES; l++) {
        from[l] = G + 4 * (uint64_t)l;
        to[l] = 4 * (uint64_t)l;
    }
    race_case_start(&c, 1, 64);
    feed_async(&c.feed, 0, 0, LANES, SIM_ASYNC_ISSUE, 1, 0);
    feed_full(&c.feed, 0, 0, LANES, R, from, 4, 0, SIM_WEAK, SIM_CTA, 1);
    feed_full(&c.feed, 0, 0, LANES, W, to, 4, 5, SIM_WEAK, SIM_CTA, 1);
    feed_async(&c.feed, 0, 0, LANES, SIM_ASYNC_COMMIT, 0, 0);
    feed_async(&c.feed, 0, 0, LANES, SIM_ASYNC_ISSUE, 2, 0);
    for (int l = 0; l < SIM_LANES; l++)
        to[l] += 128;
    feed_full(&c.feed, 0, 0, LANES, W, to, 4, 5, SIM_WEAK, SIM_CTA, 2);
    feed_async(&c.feed, 0, 0, LANES, SIM_ASYNC_COMMIT, 0, 0);
    feed_async(&c.feed, 0, 0, LANES, SIM_ASYNC_WAIT, 0, 1);
    feed_access(&c.feed, 0, 0, LANES, R, 0, 4, 4, 0); /* the first group */
    feed_barrier(&c.feed, 0);
    feed_access(&c.feed, 0, 1, LANES, R, 0, 4, 4, 0);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 1, 1, R, 128, 4, 4, 0);
    race_case_expect_kind(&c, SIM_FOUND_ASYNC_RACE);
    feed_access(&c.feed, 0, 0, 1, R, 128, 4, 4, 0); /* not even its own thread may */
    race_case_expect(&c, 2);
}

/* A late completion does not excuse accesses in between. */
static void copies_begin_when_issued(void **state)
{
    (void)state;
    uint64_t to[SIM_LANES] = {0};
    race_case_start(&c, 1, 32);
    feed_async(&c.feed, 0, 0, 1, SIM_ASYNC_ISSUE, 1, 0);
    feed_access(&c.feed, 0, 0, 1, W, 0, 4, 4, 1);
    feed_full(&c.feed, 0, 0, 1, W, to, 4, 5, SIM_WEAK, SIM_CTA, 1);
    race_case_expect_kind(&c, SIM_FOUND_ASYNC_RACE);
}

/* A copy that lands after a barrier was issued before it: it knows of no read since. */
static void late_copy(enum sim_async issue)
{
    uint64_t to[SIM_LANES] = {0};
    race_case_start(&c, 1, 64);
    feed_barrier(&c.feed, 0);
    feed_async(&c.feed, 0, 0, 1, issue, 1, 0);
    feed_access(&c.feed, 0, 1, LANES, R, 0, 4, 4, 0);
    feed_barrier(&c.feed, 0);
    race_case_expect(&c, 0);
    feed_full(&c.feed, 0, 0, 1, W, to, 4, 5, SIM_WEAK, SIM_CTA, 1);
    race_case_expect_kind(&c, SIM_FOUND_ASYNC_RACE);
}

static void copies_know_no_later_read(void **state)
{
    (void)state;
    late_copy(SIM_ASYNC_ISSUE);
}

static void bulk_copies_know_no_later_read(void **state)
{
    (void)state;
    late_copy(SIM_BULK_ISSUE);
}

/* Each half of a warp reads 4 bytes, or a row of them; the second half is 128 bytes further. */
static void read_halves(uint64_t stride)
{
    uint64_t from[SIM_LANES];
    for (uint64_t l = 0; l < SIM_LANES; l++)
        from[l] = l % 16 * stride + l / 16 * 128;
    race_case_start(&c, 1, 64);
    feed_barrier(&c.feed, 0);
    feed_full(&c.feed, 0, 0, LANES, R, from, 4, 0, SIM_WEAK, SIM_CTA, 0);
    feed_access(&c.feed, 0, 1, 1, W, 64, 0, 4, 1);
    feed_access(&c.feed, 0, 1, 1, W, 192, 0, 4, 1);
    race_case_expect(&c, 0);
}

static void halves_are_rows(void **state)
{
    (void)state;
    read_halves(4);
    feed_access(&c.feed, 0, 0, 1u << 15, W, 60, 0, 4, 1);
    feed_access(&c.feed, 0, 0, 1u << 31, W, 188, 0, 4, 1);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 1, 1, W, 184, 0, 4, 1);
    race_case_expect(&c, 1);
}

static void halves_are_at_one_place(void **state)
{
    (void)state;
    read_halves(0);
    feed_access(&c.feed, 0, 0, 1u << 0, W, 4, 0, 4, 1);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 0, 1u << 0, W, 0, 0, 4, 1);
    race_case_expect(&c, 1);
    feed_access(&c.feed, 0, 0, 1u << 16, W, 128, 0, 4, 1);
    race_case_expect(&c, 2);
}

/* The parts that lanes read may overlap, if they are not aligned. */
static void reads_that_overlap(void **state)
{
    (void)state;
    race_case_start(&c, 1, 64);
    feed_access(&c.feed, 0, 0, 3, R, 0, 2, 4, 0);
    feed_access(&c.feed, 0, 1, 1, W, 6, 0, 1, 1);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 1, 1, W, 5, 0, 1, 1);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
}

/* One of the reads by one instruction is kept, if nothing orders their blocks. */
static void readers_of_many_blocks(void **state)
{
    (void)state;
    race_case_start(&c, 4, 32);
    for (int block = 0; block < 3; block++) {
        c.feed.line = 1;
        feed_access(&c.feed, block, 0, LANES, R, G, 4, 4, 0);
        feed_end_block(&c.feed, block);
    }
    c.feed.line = 7;
    feed_access(&c.feed, 3, 0, 1, W, G, 4, 4, 1);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
}

/* Two instructions are two findings. */
static void instructions_of_many_blocks(void **state)
{
    (void)state;
    race_case_start(&c, 4, 32);
    for (int block = 0; block < 3; block++) {
        c.feed.line = 1 + (uint32_t)block % 2;
        feed_access(&c.feed, block, 0, LANES, R, G, 4, 4, 0);
        feed_end_block(&c.feed, block);
    }
    c.feed.line = 7;
    feed_access(&c.feed, 3, 0, 1, W, G, 4, 4, 1);
    race_case_expect(&c, 2);
}

/* A read of a block that has released, or may still do so, does not replace that of another block. */
static void release_flag(const uint64_t *flag)
{
    feed_sync(&c.feed, 0, 0, 1, SIM_FENCE, SIM_ACQ_REL, SIM_GPU);
    feed_full(&c.feed, 0, 0, 1, SIM_UPDATE, flag, 4, 1, SIM_RELAXED, SIM_GPU, 0);
    feed_end_block(&c.feed, 0);
}

static void a_reader_releases(bool before)
{
    const uint64_t flag[SIM_LANES] = {G + 1024};
    race_case_start(&c, 3, 32);
    for (int block = 0; block < 2; block++) {
        c.feed.line = 1;
        feed_access(&c.feed, block, 0, LANES, R, G, 4, 4, 0);
        if (before == !block)
            release_flag(flag);
    }
    feed_end_block(&c.feed, 1);
    c.feed.line = 7;
    feed_full(&c.feed, 2, 0, 1, R, flag, 4, 1, SIM_RELAXED, SIM_GPU, 0);
    feed_sync(&c.feed, 2, 0, 1, SIM_FENCE, SIM_ACQ_REL, SIM_GPU);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 2, 0, 1, W, G, 4, 4, 1);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
}

static void a_reader_that_released(void **state)
{
    (void)state;
    a_reader_releases(true);
}

static void a_reader_that_may_release(void **state)
{
    (void)state;
    a_reader_releases(false);
}

/* Reads before a barrier race with nothing after it; those after it do, also if there are many. */
static void reads_between_barriers(void **state)
{
    (void)state;
    race_case_start(&c, 1, 64);
    feed_access(&c.feed, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_barrier(&c.feed, 0);
    for (int i = 0; i < 10000; i++) {
        c.feed.line = 1;
        feed_access(&c.feed, 0, 1, LANES, R, 0, 4, 4, 0);
    }
    feed_barrier(&c.feed, 0);
    feed_access(&c.feed, 0, 0, LANES, W, 0, 4, 4, 2);
    feed_barrier(&c.feed, 0);
    race_case_expect(&c, 0);
    for (int i = 0; i < 10000; i++) {
        c.feed.line = 1;
        feed_access(&c.feed, 0, 1, LANES, R, i ? 128 : 0, 4, 4, 0);
    }
    feed_access(&c.feed, 0, 0, LANES, W, 0, 4, 4, 3);
    expect_kind_alone(SIM_FOUND_RACE);
}

/* Lanes that wait for their parts at different times. */
static void copies_waited_for_apart(void **state)
{
    (void)state;
    uint64_t to[SIM_LANES];
    for (int l = 0; l < SIM_LANES; l++)
        to[l] = 4 * (uint64_t)l;
    race_case_start(&c, 1, 32);
    feed_async(&c.feed, 0, 0, LANES, SIM_ASYNC_ISSUE, 1, 0);
    feed_full(&c.feed, 0, 0, LANES, W, to, 4, 5, SIM_WEAK, SIM_CTA, 1);
    feed_async(&c.feed, 0, 0, 0xffff, SIM_ASYNC_WAIT, 0, -1);
    feed_sync(&c.feed, 0, 0, 0xffff, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    feed_async(&c.feed, 0, 0, 0xffff0000, SIM_ASYNC_WAIT, 0, -1);
    feed_sync(&c.feed, 0, 0, 0xffff0000, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    feed_access(&c.feed, 0, 0, 1, R, 4, 0, 4, 1);
    feed_access(&c.feed, 0, 0, 1u << 16, R, 68, 0, 4, 1);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 0, 1, R, 68, 0, 4, 1);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
}

/* A kernel that copies endlessly and never waits. */
static void copies_without_end(void **state)
{
    (void)state;
    uint64_t to[SIM_LANES] = {0};
    race_case_start(&c, 1, 32);
    for (uint32_t i = 1; i < 100000; i++) {
        c.feed.line = 1;
        feed_async(&c.feed, 0, 0, 1, SIM_ASYNC_ISSUE, i, 0);
        feed_full(&c.feed, 0, 0, 1, W, to, 4, 5, SIM_WEAK, SIM_CTA, i);
    }
    expect_kind_alone(SIM_FOUND_ASYNC_RACE);
    assert_true(sim_races_most_memory(c.races) < 16 << 20);
}

static void mbarriers_order(void **state)
{
    (void)state;
    race_case_start(&c, 1, 64);
    feed_mbarrier(&c.feed, 0, 0, 1, SIM_MBARRIER_INIT, 248, 32);
    feed_barrier(&c.feed, 0);
    feed_access(&c.feed, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_mbarrier(&c.feed, 0, 0, LANES, SIM_MBARRIER_ARRIVE, 248, 1);
    feed_mbarrier(&c.feed, 0, 0, LANES, SIM_MBARRIER_PHASE, 248, 0);
    feed_mbarrier(&c.feed, 0, 1, LANES, SIM_MBARRIER_WAIT, 248, 0);
    feed_access(&c.feed, 0, 1, LANES, R, 0, 4, 4, 1);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 0, LANES, W, 0, 4, 4, 2); /* the reader has not replied */
    assert_int_equal(c.report.first->kind, SIM_FOUND_RACE);
}

static void long_runs_stay_small(void **state)
{
    (void)state;
    race_case_start(&c, 1, 64);
    for (int i = 0; i < 100000; i++) {
        c.feed.line = 1;
        feed_access(&c.feed, 0, i % 2, LANES, W, 0, 4, 4, 1);
        feed_barrier(&c.feed, 0);
        feed_access(&c.feed, 0, 0, LANES, R, 0, 0, 16, 1);
        feed_access(&c.feed, 0, 1, LANES, R, 4, 0, 4, 1);
        feed_access(&c.feed, 0, 1, LANES, R, 4, 0, 4, 1);
        feed_barrier(&c.feed, 0);
    }
    race_case_expect(&c, 0);
    assert_true(sim_races_most_memory(c.races) < 4 << 20);
}

static void findings_are_not_repeated(void **state)
{
    (void)state;
    race_case_start(&c, 2, 32);
    for (int i = 0; i < 10; i++) {
        c.feed.line = 7;
        feed_access(&c.feed, 0, 0, LANES, W, G, 4, 4, 2 * i);
        feed_access(&c.feed, 1, 0, LANES, W, G, 4, 4, 2 * i + 1);
    }
    assert_int_equal(c.report.kept, 1);
    assert_true(c.report.first->count >= 10 * 32);
    struct text t;
    text_init(&t, &c.arena);
    sim_finding_json(&t, &c.report, c.report.first);
    assert_non_null(strstr(t.data, "\"kind\": \"race\""));
}

/* Whatever the number of warnings, failures are not lost; nor are they if suppressed findings
 * come before. */
static void many_findings(void **state)
{
    (void)state;
    struct diag diag;
    struct source source = {"supp", "scope\n", 6};
    uint64_t address[SIM_LANES];
    diag_init(&diag, &c.arena);
    race_case_start(&c, 2, 32);
    assert_true(sim_report_suppress(&c.report, &source, &diag));
    for (uint64_t i = 0; i < 500; i++) {
        address[0] = G + 8 * i;
        feed_access(&c.feed, 0, 0, 1, W, address[0], 4, 4, 1);
        feed_access(&c.feed, 1, 0, 1, W, address[0], 4, 4, 1);
        address[0] += 4;
        feed_full(&c.feed, 0, 0, 1, W, address, 4, 1, SIM_RELAXED, SIM_CTA, 0);
        feed_full(&c.feed, 1, 0, 1, W, address, 4, 1, SIM_RELAXED, SIM_CTA, 0);
    }
    assert_int_equal(sim_report_failures(&c.report), 0);
    feed_access(&c.feed, 0, 0, 2, R, G, 0, 4, 1);
    assert_true(sim_report_failures(&c.report) > 0);
}

static void suppressions(void **state)
{
    (void)state;
    struct diag diag;
    diag_init(&diag, &c.arena);
    const char *text = "# known\nrace <unknown>*\n";
    struct source source = {"supp", text, strlen(text)};
    race_case_start(&c, 2, 32);
    assert_true(sim_report_suppress(&c.report, &source, &diag) || diag.errors == 0);
    const char *bad = "rase a b\nrace a b c\n";
    struct source wrong = {"supp", bad, strlen(bad)};
    assert_false(sim_report_suppress(&c.report, &wrong, &diag));
    assert_int_equal(diag.errors, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_barrier_orders),
        TEST(without_it_a_read_races),
        TEST(without_it_a_write_races),
        TEST(bytes_are_told_apart),
        TEST(halves_of_words_in_one_store),
        TEST(lanes_are_threads),
        TEST(some_lanes_in_step),
        TEST(lanes_of_one_instruction),
        TEST(same_values_apart),
        TEST(blocks_are_not_ordered),
        TEST(release_and_acquire),
        TEST(release_without_acquire),
        TEST(acquire_without_release),
        TEST(fence_too_narrow),
        TEST(scope_too_narrow),
        TEST(a_chain_of_updates),
        TEST(after_the_last_update),
        TEST(atomics_do_not_race),
        TEST(both_writers_are_kept),
        TEST(a_value_that_was_covered),
        TEST(readers_without_end),
        TEST(lists_stay_short),
        TEST(flags_of_two_bytes),
        TEST(named_barriers),
        TEST(named_barriers_and_those_who_left),
        TEST(copies_are_agents),
        TEST(copies_begin_when_issued),
        TEST(copies_know_no_later_read),
        TEST(bulk_copies_know_no_later_read),
        TEST(reads_that_overlap),
        TEST(readers_of_many_blocks),
        TEST(instructions_of_many_blocks),
        TEST(a_reader_that_released),
        TEST(a_reader_that_may_release),
        TEST(reads_between_barriers),
        TEST(halves_are_rows),
        TEST(halves_are_at_one_place),
        TEST(copies_waited_for_apart),
        TEST(copies_without_end),
        TEST(mbarriers_order),
        TEST(long_runs_stay_small),
        TEST(findings_are_not_repeated),
        TEST(many_findings),
        TEST(suppressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
