/* The race check on events made by hand: events that order accesses, and events that do not. */
#include "sim/sim_race.h"
#include "sim_feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static jmp_buf failed;
static struct arena arena;
static struct sim_report report;
static struct sim_races *races;
static struct feed f;

enum { ALL = -1 };
#define LANES UINT32_MAX
#define W SIM_WRITE
#define R SIM_READ
#define G FEED_BASE

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, &allocator_libc, &failed);
    sim_report_init(&report, &arena, NULL);
    races = sim_races_new(&arena, &report);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sim_races_free(races);
    assert_int_equal(sim_races_memory(races), 0);
    arena_free(&arena);
    return 0;
}

static void start(int blocks, int threads)
{
    feed_start(&f, sim_races_observer(races), &report, blocks, threads);
}

static void expect(int64_t count)
{
    if (feed_found(&f) != count) {
        struct text t;
        text_init(&t, &arena);
        sim_report_text(&t, &report, false);
        print_message("%s", t.data);
    }
    assert_int_equal(feed_found(&f), count);
}

static void expect_kind(enum sim_found kind)
{
    expect(1);
    assert_non_null(sim_report_find(&report, kind));
}

static void expect_kind_alone(enum sim_found kind)
{
    assert_int_equal(report.kept, 1);
    assert_int_equal(report.first->kind, kind);
}

static void a_barrier_orders(void **state)
{
    (void)state;
    start(1, 64);
    feed_access(&f, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_access(&f, 0, 0, LANES, R, 0, 4, 4, 0); /* each its own */
    feed_barrier(&f, 0);
    feed_access(&f, 0, 1, LANES, R, 0, 4, 4, 0);
    feed_access(&f, 0, 0, LANES, R, 0, 0, 16, 0);
    feed_barrier(&f, 0);
    feed_access(&f, 0, 1, LANES, W, 0, 8, 8, 0);
    expect(0);
}

static void without_it_a_read_races(void **state)
{
    (void)state;
    start(1, 64);
    feed_access(&f, 0, 0, LANES, W, 0, 4, 4, 7);
    feed_access(&f, 0, 1, 1, R, 8, 4, 4, 0);
    expect_kind(SIM_FOUND_RACE);
    const struct sim_finding *x = report.first;
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
    start(1, 64);
    feed_access(&f, 0, 0, LANES, R, 0, 0, 4, 0);
    feed_access(&f, 0, 1, 1u << 5, W, 0, 0, 4, 3);
    expect_kind(SIM_FOUND_RACE);
}

static void bytes_are_told_apart(void **state)
{
    (void)state;
    start(1, 64);
    for (int l = 0; l < 32; l++)
        feed_access(&f, 0, l % 2, 1u << l, W, 0, 1, 1, l);
    expect(0);
    feed_access(&f, 0, 1, 1u << 4, W, 0, 1, 1, 9);
    expect_kind(SIM_FOUND_RACE);
}

static void halves_of_words_in_one_store(void **state)
{
    (void)state;
    start(1, 64);
    feed_access(&f, 0, 0, LANES, W, 0, 2, 2, 1);
    feed_access(&f, 0, 0, LANES, R, 0, 2, 2, 1);
    feed_access(&f, 0, 1, LANES, W, 64, 2, 2, 1);
    expect(0);
    feed_access(&f, 0, 0, 1u << 3, R, 0, 4, 4, 1); /* the words of lanes 6 and 7 */
    expect_kind(SIM_FOUND_RACE);
}

static void lanes_are_threads(void **state)
{
    (void)state;
    start(1, 32);
    feed_access(&f, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_sync(&f, 0, 0, LANES, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    feed_access(&f, 0, 0, 0x7fffffff, R, 4, 4, 4, 0);
    expect(0);
    feed_access(&f, 0, 0, 1, W, 4, 4, 4, 2); /* lane 0 read it itself … */
    expect(0);
    feed_access(&f, 0, 0, 1, W, 8, 4, 4, 2); /* … lane 1 read this one */
    expect_kind(SIM_FOUND_RACE);
}

static void some_lanes_in_step(void **state)
{
    (void)state;
    start(1, 32);
    feed_access(&f, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_sync(&f, 0, 0, 0xffff, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    feed_access(&f, 0, 0, 0x1, R, 4, 4, 4, 0);
    feed_access(&f, 0, 0, 0x1, R, 60, 4, 4, 0);
    expect(0);
    feed_access(&f, 0, 0, 0x1, R, 64, 4, 4, 0);
    expect_kind(SIM_FOUND_RACE);
}

static void lanes_of_one_instruction(void **state)
{
    (void)state;
    uint64_t addresses[SIM_LANES];
    start(1, 32);
    feed_access(&f, 0, 0, 3, W, 0, 0, 4, 1); /* the same value */
    expect_kind(SIM_FOUND_SAME_VALUE);
    assert_int_equal(sim_report_failures(&report), 0);
    for (int l = 0; l < SIM_LANES; l++)
        addresses[l] = (uint64_t)(4 * (l ^ 5) % 64);
    feed_full(&f, 0, 0, LANES, W, addresses, 4, 1, SIM_WEAK, SIM_CTA, 0);
    assert_true(feed_found(&f) > 1);
    assert_int_equal(sim_report_failures(&report), 0);
}

static void same_values_apart(void **state)
{
    (void)state;
    start(2, 32);
    feed_access(&f, 0, 0, 1, W, G, 0, 4, 1);
    feed_access(&f, 1, 0, 1, W, G, 0, 4, 1);
    expect_kind(SIM_FOUND_SAME_VALUE);
    feed_access(&f, 0, 0, 2, W, G, 0, 4, 2); /* against both */
    assert_int_equal(sim_report_failures(&report), 2);
}

/* Each warp writes the next row at one place, so the rows have one record. */
static void rows_of_warps(void **state)
{
    (void)state;
    enum { WARPS = 3, ROW = 256 };
    start(1, WARPS * 32);
    for (int w = 0; w < WARPS; w++) {
        f.line = 7;
        feed_access(&f, 0, w, LANES, W, G + (uint64_t)w * ROW, 4, 4, w + 1);
    }
    for (int w = 0; w < WARPS; w++)
        feed_access(&f, 0, w, LANES, R, G + (uint64_t)w * ROW, 4, 4, 0);
    expect(0);
    feed_access(&f, 0, 0, 1, R, G + 2 * ROW + 12, 4, 4, 0);
    expect_kind(SIM_FOUND_RACE);
    assert_int_equal(report.first->access[0].at.warp, 2);
    assert_int_equal(report.first->access[0].lane, 3);
    assert_int_equal(report.first->access[0].address, G + 2 * ROW + 12);
}

/* An answer for a warp's own row does not hold for the next warp's. */
static void rows_of_warps_in_one_read(void **state)
{
    (void)state;
    enum { WARPS = 3, ROW = 128 };
    start(1, WARPS * 32);
    for (int w = 0; w < WARPS; w++) {
        f.line = 7;
        feed_access(&f, 0, w, LANES, W, G + (uint64_t)w * ROW, 4, 4, w + 1);
    }
    feed_sync(&f, 0, 1, LANES, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    feed_access(&f, 0, 1, LANES, R, G + ROW, 4, 4, 0);
    expect(0);
    feed_access(&f, 0, 1, LANES, R, G + ROW + 64, 4, 4, 0);
    assert_int_equal(report.first->kind, SIM_FOUND_RACE);
    assert_int_equal(report.first->access[0].at.warp, 2);
    assert_int_equal(report.first->access[0].lane, 0);
}

/* Each block accesses the row after that of the block before, which has ended: all rows have one
 * record. */
static void rows_of_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 3, WARPS = 2 };
    static const struct {
        int apart, along, bytes, shift;
    } rows[] = {
        {128, 256, 4, 0}, {512, 132, 4, 4}, {32, 64, 1, 1}, {100, 32, 1, 3}, {64, 512, 2, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start(BLOCKS, WARPS * 32);
        for (int b = 0; b < BLOCKS; b++) {
            for (int w = 0; w < WARPS; w++) {
                f.line = 7;
                feed_access(&f, b, w, LANES, W,
                            G + (uint64_t)(rows[i].shift + b * rows[i].along + w * rows[i].apart),
                            rows[i].bytes, rows[i].bytes, 1 + b);
            }
            if (b + 1 < BLOCKS)
                feed_end_block(&f, b);
        }
        for (int b = 0; b + 1 < BLOCKS; b++)
            for (int w = 0; w < WARPS; w++) {
                const int lane = 3 + 9 * w + b;
                const uint64_t at = G + (uint64_t)(rows[i].shift + b * rows[i].along +
                                                   w * rows[i].apart + lane * rows[i].bytes);
                f.line = 100 + 10 * (uint32_t)i + (uint32_t)(b * WARPS + w);
                feed_access(&f, BLOCKS - 1, 0, 1, R, at, 0, rows[i].bytes, 0);
                const struct sim_finding *found = report.last;
                assert_int_equal(found->kind, SIM_FOUND_RACE);
                assert_int_equal(found->access[1].address, at);
                assert_int_equal(found->access[0].address, at);
                assert_int_equal(found->access[0].at.block, b);
                assert_int_equal(found->access[0].at.warp, w);
                assert_int_equal(found->access[0].lane, lane);
            }
        feed_end(&f);
    }
}

/* A word of two rows: its bytes belong to two warps. */
static void rows_that_share_a_word(void **state)
{
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        start(1, 64);
        for (int w = 0; w < 2; w++) {
            f.line = 7;
            feed_access(&f, 0, w, LANES, writes ? W : R, G + 1 + 32 * (uint64_t)w, 1, 1, 1);
        }
        f.line = 20 + (uint32_t)writes;
        feed_access(&f, 0, 0, 1u << 31, writes ? R : W, G + 32, 0, 4, 2);
        assert_int_equal(report.kept, 1 + writes);
        assert_int_equal(report.last->access[0].at.warp, 1);
        assert_int_equal(report.last->access[0].lane, 0);
        feed_end(&f);
    }
}

/* A block that has released what it did ends, and the next block goes on with its rows at a later
 * time. A thread that acquired that knows the first block's row. */
static void rows_of_a_block_that_released(void **state)
{
    (void)state;
    const uint64_t flag[SIM_LANES] = {G + 1024};
    start(3, 32);
    f.line = 7;
    feed_access(&f, 0, 0, LANES, W, G, 4, 4, 1);
    feed_full(&f, 0, 0, 1, W, flag, 4, 1, SIM_RELEASE, SIM_GPU, 0);
    feed_end_block(&f, 0);
    feed_sync(&f, 1, 0, LANES, SIM_FENCE, SIM_ACQ_REL, SIM_GPU);
    f.line = 7;
    feed_access(&f, 1, 0, LANES, W, G + 128, 4, 4, 1);
    feed_full(&f, 2, 0, 1, R, flag, 4, 0, SIM_ACQUIRE, SIM_GPU, 0);
    feed_access(&f, 2, 0, 1, R, G, 4, 4, 0);
    expect(0);
}

/* Rows of blocks under way keep their times: the first block's is before its barrier. */
static void rows_of_blocks_under_way(void **state)
{
    (void)state;
    start(2, 64);
    f.line = 7;
    feed_access(&f, 0, 0, LANES, W, G, 4, 4, 1);
    feed_barrier(&f, 0);
    feed_sync(&f, 1, 0, LANES, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    f.line = 7;
    feed_access(&f, 1, 0, LANES, W, G + 128, 4, 4, 1);
    feed_access(&f, 0, 1, LANES, R, G, 4, 4, 0);
    expect(0);
}

static void barrier_at_one_place(int block)
{
    f.line = 50;
    feed_barrier(&f, block);
}

/* The list of a read is that of the block before, but its time is later. */
static void lists_of_blocks_have_the_latest_time(void **state)
{
    (void)state;
    start(2, 64);
    for (int b = 0; b < 2; b++) {
        barrier_at_one_place(b);
        f.line = 7;
        feed_access(&f, b, 0, LANES, R, G + 128 * (uint64_t)b, 4, 4, 0);
        if (!b)
            feed_end_block(&f, b);
    }
    feed_access(&f, 1, 1, LANES, R, G + 128, 4, 4, 0);
    feed_access(&f, 1, 1, LANES, W, G + 128, 4, 4, 1);
    assert_int_equal(report.first->kind, SIM_FOUND_RACE);
    assert_int_equal(report.first->access[0].at.warp, 0);
}

/* Two reads of one block have a list. At the border of two blocks' rows, the same two reads are of both
 * blocks, and a barrier of the second block does not order the read of the first. */
static void lists_of_one_block_and_of_two(void **state)
{
    (void)state;
    start(2, 64);
    for (int b = 0; b < 2; b++) {
        f.line = 7;
        feed_access(&f, b, 0, LANES, R, G + 256 + 128 * (uint64_t)b, 4, 4, 0);
        f.line = 8;
        feed_access(&f, b, 0, LANES, R, G + 192 + 128 * (uint64_t)b, 4, 4, 0);
        if (!b)
            feed_end_block(&f, b);
    }
    feed_barrier(&f, 1);
    feed_access(&f, 1, 1, 0xffff, R, G + 320, 4, 4, 0);
    feed_access(&f, 1, 1, 0xffff, W, G + 320, 4, 4, 1);
    assert_int_equal(report.first->kind, SIM_FOUND_RACE);
    assert_int_equal(report.first->access[0].at.block, 0);
}

/* Makes a warp's access at listed addresses, without values. */
static void scattered(int block, enum sim_kind kind, uint32_t mask, const uint64_t *address)
{
    struct sim_access a = {.at = feed_place(&f, block, 0),
                           .space = SIM_GLOBAL,
                           .kind = kind,
                           .mask = mask,
                           .bytes = 4};
    memcpy(a.address, address, sizeof a.address);
    f.line++;
    f.observer->access(f.observer->user, &a);
}

/* Makes a write of a byte by each lane of a warp, at listed addresses. */
static void write_bytes(int warp, const uint64_t *address, uint32_t line)
{
    f.line = line;
    feed_full(&f, 0, warp, LANES, W, address, 1, 1 + warp, SIM_WEAK, SIM_CTA, 0);
}

/* Reads a byte in another block: one of the races is with this writer. */
static void expect_writer(uint64_t byte, int warp, int lane)
{
    feed_access(&f, 1, 0, 1, R, byte, 0, 1, 0);
    const struct sim_finding *found = report.first;
    while (found && (found->access[1].address != byte || found->access[1].at.block != 1 ||
                     found->access[0].at.warp != warp || found->access[0].lane != lane))
        found = found->next;
    assert_non_null(found);
    assert_int_equal(found->access[0].address, byte);
}

/* Warps of a block write bytes at listed addresses, in words that they share. */
static void lists_of_warps(void **state)
{
    (void)state;
    enum { WARPS = 12 };
    start(2, WARPS * 32);
    for (uint64_t w = 0; w < WARPS; w++) {
        uint64_t to[SIM_LANES];
        for (uint64_t l = 0; l < SIM_LANES; l++)
            to[l] = G + (l * 7 % SIM_LANES) * WARPS + w;
        write_bytes((int)w, to, 7);
    }
    f.line = 100;
    for (int w = 0; w < WARPS; w++)
        for (int l = w % 3; l < SIM_LANES; l += 3)
            expect_writer(G + (uint64_t)(l * 7 % SIM_LANES * WARPS + w), w, l);
}

/* Two warps list one byte, and race. Between their writes, a third warp may write it, too: if that one
 * knows of the first write, the last two race; if not, the last races with both. */
static void lists_that_share_a_byte(void **state)
{
    (void)state;
    const uint64_t flag[SIM_LANES] = {G + 1024};
    for (int again = 0; again < 3; again++) {
        uint64_t to[2][SIM_LANES];
        for (uint64_t l = 0; l < SIM_LANES; l++) {
            to[0][l] = G + (l * 7 % SIM_LANES) * 2;
            to[1][l] = to[0][l] + 1;
        }
        to[1][9] = to[0][4];
        start(2, 96);
        write_bytes(0, to[0], 7);
        if (again == 1) {
            feed_sync(&f, 0, 0, LANES, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
            feed_full(&f, 0, 0, 1, W, flag, 4, 1, SIM_RELEASE, SIM_CTA, 0);
            feed_full(&f, 0, 2, 1, R, flag, 4, 0, SIM_ACQUIRE, SIM_CTA, 0);
        }
        if (again)
            feed_access(&f, 0, 2, 1, W, to[0][4], 0, 1, 9);
        const int64_t had = feed_found(&f);
        write_bytes(1, to[1], 7);
        expect(had + (again == 2 ? 2 : 1));
        f.line = 200 + 10 * (uint32_t)again;
        expect_writer(to[1][9], 1, 9);
        expect_writer(to[0][5], 0, 5);
        feed_end(&f);
    }
}

/* Uses enough pages to close all earlier ones. */
static void close_pages(int block)
{
    uint64_t to[SIM_LANES];
    for (uint64_t i = 1; i < 8; i++) {
        for (uint64_t l = 0; l < SIM_LANES; l++)
            to[l] = G + (i << 20) + 7 * l % SIM_LANES * 4096;
        scattered(block, R, LANES, to);
    }
}

/* The lists of a closed page are sorted. The reads of a byte at the border of two blocks' rows are
 * still those of both. */
static void lists_of_closed_pages(void **state)
{
    (void)state;
    enum { BLOCKS = 3 };
    const uint64_t rows = G + 64;
    start(BLOCKS, 32);
    for (int b = 0; b + 1 < BLOCKS; b++) {
        for (uint32_t i = 0; i < 3; i++) {
            f.line = 7 + i;
            feed_access(&f, b, 0, LANES, R, rows + 32 * (uint64_t)b + i - 1, 1, 1, 0);
        }
        feed_end_block(&f, b);
    }
    close_pages(BLOCKS - 1);
    f.line = 1000;
    feed_access(&f, BLOCKS - 1, 0, 1, W, rows + 31, 1, 1, 1);
    assert_int_equal(report.kept, 3); /* of each line */
    int lanes = 0, blocks = 0;
    for (const struct sim_finding *found = report.first; found; found = found->next) {
        assert_int_equal(found->access[0].address, rows + 31);
        lanes += found->access[0].lane;
        blocks += (int)found->access[0].at.block;
    }
    assert_int_equal(lanes, 31 + 30 + 0);
    assert_int_equal(blocks, 1);
}

/* Addresses are kept in as few bytes as their distances need, up to 2^40 bytes, at any
 * alignment: the address of each lane is found again. */
static void lists_of_any_width(void **state)
{
    (void)state;
    static const uint64_t apart[] = {
        4, 6, 1 << 10, 1 << 20, (1 << 28) + 4, UINT64_C(1) << 34, (UINT64_C(1) << 40) + 8};
    start(2, 32);
    for (uint64_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        uint64_t to[SIM_LANES], from[SIM_LANES] = {0};
        for (uint64_t l = 0; l < SIM_LANES; l++)
            to[l] = G + (i << 48) + 7 * l % SIM_LANES * apart[i];
        to[3] = 12; /* a lane that takes no part */
        scattered(0, W, ~(uint32_t)8, to);
        from[5] = to[4 + i] + 1;
        scattered(1, R, 1 << 5, from);
        assert_int_equal(report.last->kind, SIM_FOUND_RACE);
        assert_int_equal(report.kept, i + 1);
        assert_int_equal(report.last->access[0].lane, 4 + i);
        assert_int_equal(report.last->access[0].address, to[4 + i]);
    }
}

static void blocks_are_not_ordered(void **state)
{
    (void)state;
    start(2, 64);
    feed_access(&f, 0, 0, LANES, W, G, 4, 4, 1);
    feed_barrier(&f, 0);
    feed_barrier(&f, 1);
    feed_access(&f, 0, 1, LANES, R, G, 4, 4, 1);
    expect(0);
    feed_access(&f, 1, 1, LANES, R, G, 4, 4, 1);
    assert_int_equal(report.first->kind, SIM_FOUND_RACE);
}

/* Thread 0 of block 0 writes data and a flag; thread 0 of block 1 reads the flag, then the data. */
static void pass_flag(enum sim_order release, enum sim_order acquire, int fence_1, int fence_2,
                      enum sim_scope scope)
{
    uint64_t flag[SIM_LANES] = {G + 64};
    start(2, 64);
    feed_access(&f, 0, 1, LANES, W, G + 128, 4, 4, 1);
    feed_barrier(&f, 0);
    feed_access(&f, 0, 0, 1, W, G, 4, 4, 1);
    if (fence_1 >= 0)
        feed_sync(&f, 0, 0, 1, SIM_FENCE, SIM_ACQ_REL, (enum sim_scope)fence_1);
    feed_full(&f, 0, 0, 1, W, flag, 4, 1, release, scope, 0);
    feed_full(&f, 1, 0, 1, R, flag, 4, 1, acquire, scope, 0);
    if (fence_2 >= 0)
        feed_sync(&f, 1, 0, 1, SIM_FENCE, SIM_SC, (enum sim_scope)fence_2);
    feed_access(&f, 1, 0, 1, R, G, 4, 4, 1);
    feed_barrier(&f, 1);
    feed_access(&f, 1, 1, LANES, R, G + 128, 4, 4, 1);
}

static void release_and_acquire(void **state)
{
    (void)state;
    pass_flag(SIM_RELEASE, SIM_ACQUIRE, -1, -1, SIM_GPU);
    expect(0);
    pass_flag(SIM_RELAXED, SIM_RELAXED, SIM_GPU, SIM_GPU, SIM_GPU);
    expect(0);
    pass_flag(SIM_VOLATILE, SIM_VOLATILE, SIM_GPU, SIM_SYS, SIM_CTA);
    expect(1); /* of the flag alone, because this read is not in a loop that waits */
    expect_kind_alone(SIM_FOUND_VOLATILE);
}

static void release_without_acquire(void **state)
{
    (void)state;
    pass_flag(SIM_RELEASE, SIM_RELAXED, -1, -1, SIM_GPU);
    assert_int_equal(report.first->kind, SIM_FOUND_RACE);
}

static void acquire_without_release(void **state)
{
    (void)state;
    pass_flag(SIM_RELAXED, SIM_ACQUIRE, -1, -1, SIM_GPU);
    assert_int_equal(report.first->kind, SIM_FOUND_RACE);
}

static void fence_too_narrow(void **state)
{
    (void)state;
    pass_flag(SIM_RELAXED, SIM_ACQUIRE, SIM_CTA, -1, SIM_GPU);
    assert_int_equal(report.first->kind, SIM_FOUND_RACE);
}

static void scope_too_narrow(void **state)
{
    (void)state;
    pass_flag(SIM_RELEASE, SIM_ACQUIRE, -1, -1, SIM_CTA);
    assert_int_equal(report.first->kind, SIM_FOUND_SCOPE);
    assert_non_null(sim_report_find(&report, SIM_FOUND_RACE));
}

/* The last of the blocks to count up reads all blocks' writes. */
static void a_chain_of_updates(void **state)
{
    (void)state;
    uint64_t count[SIM_LANES] = {G + 64};
    start(4, 32);
    for (int b = 0; b < 4; b++) {
        feed_access(&f, b, 0, 1, W, G + 4 * (uint64_t)b, 4, 4, 1);
        feed_sync(&f, b, 0, 1, SIM_FENCE, SIM_SC, SIM_GPU);
        feed_full(&f, b, 0, 1, SIM_UPDATE, count, 4, 1, SIM_RELAXED, SIM_GPU, 0);
    }
    feed_sync(&f, 3, 0, 1, SIM_FENCE, SIM_SC, SIM_GPU);
    feed_access(&f, 3, 0, 1, R, G, 4, 16, 1);
    expect(0);
    feed_access(&f, 2, 0, 1, R, G, 4, 16, 1);
    assert_true(feed_found(&f) > 0);
}

static void atomics_do_not_race(void **state)
{
    (void)state;
    uint64_t bins[SIM_LANES];
    start(2, 64);
    for (int l = 0; l < SIM_LANES; l++)
        bins[l] = G + (uint64_t)(4 * (l * 7 % 5));
    for (int i = 0; i < 4; i++)
        feed_full(&f, i % 2, i / 2, LANES, SIM_UPDATE, bins, 4, 1, SIM_RELAXED, SIM_GPU, 0);
    expect(0);
    feed_access(&f, 1, 1, 1, R, G, 4, 4, 1); /* lane 0 came neither last nor alone */
    assert_int_equal(report.first->kind, SIM_FOUND_RACE);
}

/* If two writes of one value are unordered, both are remembered. */
static void both_writers_are_kept(void **state)
{
    (void)state;
    uint64_t address[SIM_LANES] = {0};
    start(1, 96);
    feed_access(&f, 0, 0, 1, W, 0, 0, 4, 1);
    feed_access(&f, 0, 1, 1, W, 0, 0, 4, 1);
    feed_access(&f, 0, 1, 1, W, 0, 0, 4, 1);
    assert_int_equal(sim_report_failures(&report), 0);
    feed_arrive(&f, 0, 1, LANES, 1, 64, false);
    feed_arrive(&f, 0, 2, LANES, 1, 64, true);
    feed_leave(&f, 0, 2, LANES, 1, 64);
    feed_full(&f, 0, 2, 1, SIM_UPDATE, address, 4, 5, SIM_RELAXED, SIM_CTA, 0);
    assert_int_equal(sim_report_failures(&report), 1);
    assert_int_equal(report.last->access[0].at.warp, 0);
}

/* A write whose value another write has replaced is not of the same value, though the bytes are
 * equal now. */
static void a_value_that_was_covered(void **state)
{
    (void)state;
    uint64_t address[SIM_LANES] = {0};
    start(1, 96);
    feed_full(&f, 0, 0, 1, W, address, 4, 5, SIM_RELAXED, SIM_CTA, 0);
    feed_full(&f, 0, 1, 1, W, address, 4, 6, SIM_RELAXED, SIM_CTA, 0);
    feed_access(&f, 0, 2, 1, W, 0, 0, 4, 6);
    assert_int_equal(sim_report_failures(&report), 1);
    assert_non_null(sim_report_find(&report, SIM_FOUND_SAME_VALUE));
}

/* A read for each of 128 warps, and for each of their lanes in turn; the last lane to count up
 * is ordered after all but the first. */
static void readers_without_end(void **state)
{
    (void)state;
    uint64_t count[SIM_LANES] = {G + 64};
    start(4, 1024);
    for (int b = 0; b < 4; b++)
        for (int w = 0; w < 32; w++) {
            feed_access(&f, b, w, 1, R, G, 0, 4, 1);
            if (b || w)
                feed_full(&f, b, w, 1, SIM_UPDATE, count, 4, 1, SIM_ACQ_REL, SIM_GPU, 0);
        }
    feed_full(&f, 3, 31, 1, SIM_UPDATE, count, 4, 1, SIM_ACQ_REL, SIM_GPU, 0);
    feed_access(&f, 3, 31, 1, W, G, 0, 4, 1);
    expect_kind(SIM_FOUND_RACE);
    assert_int_equal(report.first->access[0].at.block, 0);
    assert_int_equal(report.first->access[0].at.warp, 0);
}

/* Readers that take turns do not make an endless list; writers of one value do not, either. */
static void lists_stay_short(void **state)
{
    (void)state;
    start(2, 1024);
    for (int i = 0; i < 20000; i++) {
        f.line = 1;
        feed_access(&f, i & 1, i / 2 % 32, LANES, R, G + 128, 0, 4, 1);
        f.line = 2;
        feed_access(&f, i & 1, i / 2 % 32, 1u << i % 32, R, G + 256, 0, 4, 1);
        f.line = 3;
        feed_access(&f, i & 1, i / 2 % 32, 1u << i % 32, W, G, 0, 4, 1);
    }
    assert_int_equal(sim_report_failures(&report), 0);
    assert_true(sim_races_most_memory(races) < 4 << 20);
}

static void flags_of_two_bytes(void **state)
{
    (void)state;
    uint64_t flag[2][SIM_LANES] = {{G + 64, G + 64}, {G + 66, G + 66}};
    start(3, 32);
    for (int b = 0; b < 2; b++) {
        feed_access(&f, b, 0, 1, W, G + 4 * (uint64_t)b, 0, 4, 1);
        feed_full(&f, b, 0, 1, W, flag[b], 2, 1, SIM_RELEASE, SIM_GPU, 0);
    }
    feed_full(&f, 2, 0, 1, R, flag[0], 2, 1, SIM_ACQUIRE, SIM_GPU, 0);
    feed_full(&f, 2, 0, 1, R, flag[1], 2, 1, SIM_ACQUIRE, SIM_GPU, 0);
    feed_access(&f, 2, 0, 1, R, G, 0, 8, 1);
    expect(0);
    feed_full(&f, 2, 0, 2, R, flag[0], 4, 1, SIM_ACQUIRE, SIM_GPU, 0); /* of another width */
    assert_int_equal(report.first->kind, SIM_FOUND_SCOPE);
    feed_access(&f, 2, 0, 2, R, G, 0, 8, 1);
    assert_non_null(sim_report_find(&report, SIM_FOUND_RACE));
}

static void named_barriers(void **state)
{
    (void)state;
    start(1, 96);
    feed_access(&f, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_arrive(&f, 0, 0, LANES, 1, 64, false); /* the producer goes on */
    feed_access(&f, 0, 0, 1, W, 128, 4, 4, 1);
    feed_arrive(&f, 0, 1, LANES, 1, 64, true);
    feed_leave(&f, 0, 1, LANES, 1, 64);
    feed_access(&f, 0, 1, LANES, R, 0, 4, 4, 1);
    expect(0);
    feed_access(&f, 0, 1, 1, R, 128, 4, 4, 1); /* written after the arrival */
    expect(1);
    feed_access(&f, 0, 2, 1, R, 0, 4, 4, 1); /* took no part */
    expect(2);
}

/* A barrier of some threads does not include those that have left. */
static void named_barriers_and_those_who_left(void **state)
{
    (void)state;
    start(1, 96);
    feed_access(&f, 0, 0, 1, W, 0, 0, 4, 1);
    feed_sync(&f, 0, 0, LANES, SIM_EXIT, SIM_WEAK, SIM_CTA);
    for (int w = 1; w < 3; w++)
        feed_arrive(&f, 0, w, LANES, 1, 64, true);
    for (int w = 1; w < 3; w++)
        feed_leave(&f, 0, w, LANES, 1, 64);
    feed_access(&f, 0, 1, 1, R, 0, 0, 4, 1);
    expect_kind(SIM_FOUND_RACE);
}

static void copies_are_agents(void **state)
{
    (void)state;
    uint64_t from[SIM_LANES], to[SIM_LANES];
    for (int l = 0; l < SIM_LANES; l++) {
        from[l] = G + 4 * (uint64_t)l;
        to[l] = 4 * (uint64_t)l;
    }
    start(1, 64);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_ISSUE, 1, 0);
    feed_full(&f, 0, 0, LANES, R, from, 4, 0, SIM_WEAK, SIM_CTA, 1);
    feed_full(&f, 0, 0, LANES, W, to, 4, 5, SIM_WEAK, SIM_CTA, 1);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_COMMIT, 0, 0);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_ISSUE, 2, 0);
    for (int l = 0; l < SIM_LANES; l++)
        to[l] += 128;
    feed_full(&f, 0, 0, LANES, W, to, 4, 5, SIM_WEAK, SIM_CTA, 2);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_COMMIT, 0, 0);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_WAIT, 0, 1);
    feed_access(&f, 0, 0, LANES, R, 0, 4, 4, 0); /* the first group */
    feed_barrier(&f, 0);
    feed_access(&f, 0, 1, LANES, R, 0, 4, 4, 0);
    expect(0);
    feed_access(&f, 0, 1, 1, R, 128, 4, 4, 0);
    expect_kind(SIM_FOUND_ASYNC_RACE);
    feed_access(&f, 0, 0, 1, R, 128, 4, 4, 0); /* not even its own thread may */
    expect(2);
}

/* A late completion does not excuse accesses in between. */
static void copies_begin_when_issued(void **state)
{
    (void)state;
    uint64_t to[SIM_LANES] = {0};
    start(1, 32);
    feed_async(&f, 0, 0, 1, SIM_ASYNC_ISSUE, 1, 0);
    feed_access(&f, 0, 0, 1, W, 0, 4, 4, 1);
    feed_full(&f, 0, 0, 1, W, to, 4, 5, SIM_WEAK, SIM_CTA, 1);
    expect_kind(SIM_FOUND_ASYNC_RACE);
}

/* A copy that lands after a barrier was issued before it: it knows of no read since. */
static void late_copy(enum sim_async issue)
{
    uint64_t to[SIM_LANES] = {0};
    start(1, 64);
    feed_barrier(&f, 0);
    feed_async(&f, 0, 0, 1, issue, 1, 0);
    feed_access(&f, 0, 1, LANES, R, 0, 4, 4, 0);
    feed_barrier(&f, 0);
    expect(0);
    feed_full(&f, 0, 0, 1, W, to, 4, 5, SIM_WEAK, SIM_CTA, 1);
    expect_kind(SIM_FOUND_ASYNC_RACE);
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
    start(1, 64);
    feed_barrier(&f, 0);
    feed_full(&f, 0, 0, LANES, R, from, 4, 0, SIM_WEAK, SIM_CTA, 0);
    feed_access(&f, 0, 1, 1, W, 64, 0, 4, 1);
    feed_access(&f, 0, 1, 1, W, 192, 0, 4, 1);
    expect(0);
}

static void halves_are_rows(void **state)
{
    (void)state;
    read_halves(4);
    feed_access(&f, 0, 0, 1u << 15, W, 60, 0, 4, 1);
    feed_access(&f, 0, 0, 1u << 31, W, 188, 0, 4, 1);
    expect(0);
    feed_access(&f, 0, 1, 1, W, 184, 0, 4, 1);
    expect(1);
}

static void halves_are_at_one_place(void **state)
{
    (void)state;
    read_halves(0);
    feed_access(&f, 0, 0, 1u << 0, W, 4, 0, 4, 1);
    expect(0);
    feed_access(&f, 0, 0, 1u << 0, W, 0, 0, 4, 1);
    expect(1);
    feed_access(&f, 0, 0, 1u << 16, W, 128, 0, 4, 1);
    expect(2);
}

/* The parts that lanes read may overlap, if they are not aligned. */
static void reads_that_overlap(void **state)
{
    (void)state;
    start(1, 64);
    feed_access(&f, 0, 0, 3, R, 0, 2, 4, 0);
    feed_access(&f, 0, 1, 1, W, 6, 0, 1, 1);
    expect(0);
    feed_access(&f, 0, 1, 1, W, 5, 0, 1, 1);
    expect_kind(SIM_FOUND_RACE);
}

/* One of the reads by one instruction is kept, if nothing orders their blocks. */
static void readers_of_many_blocks(void **state)
{
    (void)state;
    start(4, 32);
    for (int block = 0; block < 3; block++) {
        f.line = 1;
        feed_access(&f, block, 0, LANES, R, G, 4, 4, 0);
        feed_end_block(&f, block);
    }
    f.line = 7;
    feed_access(&f, 3, 0, 1, W, G, 4, 4, 1);
    expect_kind(SIM_FOUND_RACE);
}

/* Two instructions are two findings. */
static void instructions_of_many_blocks(void **state)
{
    (void)state;
    start(4, 32);
    for (int block = 0; block < 3; block++) {
        f.line = 1 + (uint32_t)block % 2;
        feed_access(&f, block, 0, LANES, R, G, 4, 4, 0);
        feed_end_block(&f, block);
    }
    f.line = 7;
    feed_access(&f, 3, 0, 1, W, G, 4, 4, 1);
    expect(2);
}

/* A read of a block that has released, or may still do so, does not replace that of another block. */
static void release_flag(const uint64_t *flag)
{
    feed_sync(&f, 0, 0, 1, SIM_FENCE, SIM_ACQ_REL, SIM_GPU);
    feed_full(&f, 0, 0, 1, SIM_UPDATE, flag, 4, 1, SIM_RELAXED, SIM_GPU, 0);
    feed_end_block(&f, 0);
}

static void a_reader_releases(bool before)
{
    const uint64_t flag[SIM_LANES] = {G + 1024};
    start(3, 32);
    for (int block = 0; block < 2; block++) {
        f.line = 1;
        feed_access(&f, block, 0, LANES, R, G, 4, 4, 0);
        if (before == !block)
            release_flag(flag);
    }
    feed_end_block(&f, 1);
    f.line = 7;
    feed_full(&f, 2, 0, 1, R, flag, 4, 1, SIM_RELAXED, SIM_GPU, 0);
    feed_sync(&f, 2, 0, 1, SIM_FENCE, SIM_ACQ_REL, SIM_GPU);
    expect(0);
    feed_access(&f, 2, 0, 1, W, G, 4, 4, 1);
    expect_kind(SIM_FOUND_RACE);
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
    start(1, 64);
    feed_access(&f, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_barrier(&f, 0);
    for (int i = 0; i < 10000; i++) {
        f.line = 1;
        feed_access(&f, 0, 1, LANES, R, 0, 4, 4, 0);
    }
    feed_barrier(&f, 0);
    feed_access(&f, 0, 0, LANES, W, 0, 4, 4, 2);
    feed_barrier(&f, 0);
    expect(0);
    for (int i = 0; i < 10000; i++) {
        f.line = 1;
        feed_access(&f, 0, 1, LANES, R, i ? 128 : 0, 4, 4, 0);
    }
    feed_access(&f, 0, 0, LANES, W, 0, 4, 4, 3);
    expect_kind_alone(SIM_FOUND_RACE);
}

/* Lanes that wait for their parts at different times. */
static void copies_waited_for_apart(void **state)
{
    (void)state;
    uint64_t to[SIM_LANES];
    for (int l = 0; l < SIM_LANES; l++)
        to[l] = 4 * (uint64_t)l;
    start(1, 32);
    feed_async(&f, 0, 0, LANES, SIM_ASYNC_ISSUE, 1, 0);
    feed_full(&f, 0, 0, LANES, W, to, 4, 5, SIM_WEAK, SIM_CTA, 1);
    feed_async(&f, 0, 0, 0xffff, SIM_ASYNC_WAIT, 0, -1);
    feed_sync(&f, 0, 0, 0xffff, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    feed_async(&f, 0, 0, 0xffff0000, SIM_ASYNC_WAIT, 0, -1);
    feed_sync(&f, 0, 0, 0xffff0000, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    feed_access(&f, 0, 0, 1, R, 4, 0, 4, 1);
    feed_access(&f, 0, 0, 1u << 16, R, 68, 0, 4, 1);
    expect(0);
    feed_access(&f, 0, 0, 1, R, 68, 0, 4, 1);
    expect_kind(SIM_FOUND_RACE);
}

/* A kernel that copies endlessly and never waits. */
static void copies_without_end(void **state)
{
    (void)state;
    uint64_t to[SIM_LANES] = {0};
    start(1, 32);
    for (uint32_t i = 1; i < 100000; i++) {
        f.line = 1;
        feed_async(&f, 0, 0, 1, SIM_ASYNC_ISSUE, i, 0);
        feed_full(&f, 0, 0, 1, W, to, 4, 5, SIM_WEAK, SIM_CTA, i);
    }
    expect_kind_alone(SIM_FOUND_ASYNC_RACE);
    assert_true(sim_races_most_memory(races) < 16 << 20);
}

static void mbarriers_order(void **state)
{
    (void)state;
    start(1, 64);
    feed_mbarrier(&f, 0, 0, 1, SIM_MBARRIER_INIT, 248, 32);
    feed_barrier(&f, 0);
    feed_access(&f, 0, 0, LANES, W, 0, 4, 4, 1);
    feed_mbarrier(&f, 0, 0, LANES, SIM_MBARRIER_ARRIVE, 248, 1);
    feed_mbarrier(&f, 0, 0, LANES, SIM_MBARRIER_PHASE, 248, 0);
    feed_mbarrier(&f, 0, 1, LANES, SIM_MBARRIER_WAIT, 248, 0);
    feed_access(&f, 0, 1, LANES, R, 0, 4, 4, 1);
    expect(0);
    feed_access(&f, 0, 0, LANES, W, 0, 4, 4, 2); /* the reader has not replied */
    assert_int_equal(report.first->kind, SIM_FOUND_RACE);
}

static void long_runs_stay_small(void **state)
{
    (void)state;
    start(1, 64);
    for (int i = 0; i < 100000; i++) {
        f.line = 1;
        feed_access(&f, 0, i % 2, LANES, W, 0, 4, 4, 1);
        feed_barrier(&f, 0);
        feed_access(&f, 0, 0, LANES, R, 0, 0, 16, 1);
        feed_access(&f, 0, 1, LANES, R, 4, 0, 4, 1);
        feed_access(&f, 0, 1, LANES, R, 4, 0, 4, 1);
        feed_barrier(&f, 0);
    }
    expect(0);
    assert_true(sim_races_most_memory(races) < 4 << 20);
}

static void findings_are_not_repeated(void **state)
{
    (void)state;
    start(2, 32);
    for (int i = 0; i < 10; i++) {
        f.line = 7;
        feed_access(&f, 0, 0, LANES, W, G, 4, 4, 2 * i);
        feed_access(&f, 1, 0, LANES, W, G, 4, 4, 2 * i + 1);
    }
    assert_int_equal(report.kept, 1);
    assert_true(report.first->count >= 10 * 32);
    struct text t;
    text_init(&t, &arena);
    sim_report_json(&t, &report);
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
    diag_init(&diag, &arena);
    start(2, 32);
    assert_true(sim_report_suppress(&report, &source, &diag));
    for (uint64_t i = 0; i < 500; i++) {
        address[0] = G + 8 * i;
        feed_access(&f, 0, 0, 1, W, address[0], 4, 4, 1);
        feed_access(&f, 1, 0, 1, W, address[0], 4, 4, 1);
        address[0] += 4;
        feed_full(&f, 0, 0, 1, W, address, 4, 1, SIM_RELAXED, SIM_CTA, 0);
        feed_full(&f, 1, 0, 1, W, address, 4, 1, SIM_RELAXED, SIM_CTA, 0);
    }
    assert_int_equal(sim_report_failures(&report), 0);
    feed_access(&f, 0, 0, 2, R, G, 0, 4, 1);
    assert_true(sim_report_failures(&report) > 0);
}

static void suppressions(void **state)
{
    (void)state;
    struct diag diag;
    diag_init(&diag, &arena);
    const char *text = "# known\nrace <unknown>*\n";
    struct source source = {"supp", text, strlen(text)};
    start(2, 32);
    assert_true(sim_report_suppress(&report, &source, &diag) || diag.errors == 0);
    const char *bad = "rase a b\nrace a b c\n";
    struct source wrong = {"supp", bad, strlen(bad)};
    assert_false(sim_report_suppress(&report, &wrong, &diag));
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
        TEST(rows_of_warps),
        TEST(rows_of_warps_in_one_read),
        TEST(rows_of_blocks),
        TEST(rows_that_share_a_word),
        TEST(rows_of_a_block_that_released),
        TEST(rows_of_blocks_under_way),
        TEST(lists_of_blocks_have_the_latest_time),
        TEST(lists_of_one_block_and_of_two),
        TEST(lists_of_any_width),
        TEST(lists_of_warps),
        TEST(lists_that_share_a_byte),
        TEST(lists_of_closed_pages),
        TEST(blocks_are_not_ordered),
        TEST(release_and_acquire),
        TEST(release_without_acquire),
        TEST(acquire_without_release),
        TEST(fence_too_narrow),
        TEST(scope_too_narrow),
        TEST(a_chain_of_updates),
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
