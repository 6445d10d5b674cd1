/* Records and lists that warps and blocks share in the race check: which warp and lane accessed a byte is
 * still found, and so is what is before an access. */
#include "race_case.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct race_case c;

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

/* Each warp writes the next row at one place, so the rows have one record. */
static void rows_of_warps(void **state)
{
    (void)state;
    enum { WARPS = 3, ROW = 256 };
    race_case_start(&c, 1, WARPS * 32);
    for (int w = 0; w < WARPS; w++) {
        c.feed.line = 7;
        feed_access(&c.feed, 0, w, LANES, W, G + (uint64_t)w * ROW, 4, 4, w + 1);
    }
    for (int w = 0; w < WARPS; w++)
        feed_access(&c.feed, 0, w, LANES, R, G + (uint64_t)w * ROW, 4, 4, 0);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 0, 1, R, G + 2 * ROW + 12, 4, 4, 0);
    race_case_expect_kind(&c, SIM_FOUND_RACE);
    assert_int_equal(c.report.first->access[0].at.warp, 2);
    assert_int_equal(c.report.first->access[0].lane, 3);
    assert_int_equal(c.report.first->access[0].address, G + 2 * ROW + 12);
}

/* An answer for a warp's own row does not hold for the next warp's. */
static void rows_of_warps_in_one_read(void **state)
{
    (void)state;
    enum { WARPS = 3, ROW = 128 };
    race_case_start(&c, 1, WARPS * 32);
    for (int w = 0; w < WARPS; w++) {
        c.feed.line = 7;
        feed_access(&c.feed, 0, w, LANES, W, G + (uint64_t)w * ROW, 4, 4, w + 1);
    }
    feed_sync(&c.feed, 0, 1, LANES, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    feed_access(&c.feed, 0, 1, LANES, R, G + ROW, 4, 4, 0);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 1, LANES, R, G + ROW + 64, 4, 4, 0);
    assert_int_equal(c.report.first->kind, SIM_FOUND_RACE);
    assert_int_equal(c.report.first->access[0].at.warp, 2);
    assert_int_equal(c.report.first->access[0].lane, 0);
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
        race_case_start(&c, BLOCKS, WARPS * 32);
        for (int b = 0; b < BLOCKS; b++) {
            for (int w = 0; w < WARPS; w++) {
                c.feed.line = 7;
                feed_access(&c.feed, b, w, LANES, W,
                            G + (uint64_t)(rows[i].shift + b * rows[i].along + w * rows[i].apart),
                            rows[i].bytes, rows[i].bytes, 1 + b);
            }
            if (b + 1 < BLOCKS)
                feed_end_block(&c.feed, b);
        }
        for (int b = 0; b + 1 < BLOCKS; b++)
            for (int w = 0; w < WARPS; w++) {
                const int lane = 3 + 9 * w + b;
                const uint64_t at = G + (uint64_t)(rows[i].shift + b * rows[i].along +
                                                   w * rows[i].apart + lane * rows[i].bytes);
                c.feed.line = 100 + 10 * (uint32_t)i + (uint32_t)(b * WARPS + w);
                feed_access(&c.feed, BLOCKS - 1, 0, 1, R, at, 0, rows[i].bytes, 0);
                const struct sim_finding *found = c.report.last;
                assert_int_equal(found->kind, SIM_FOUND_RACE);
                assert_int_equal(found->access[1].address, at);
                assert_int_equal(found->access[0].address, at);
                assert_int_equal(found->access[0].at.block, b);
                assert_int_equal(found->access[0].at.warp, w);
                assert_int_equal(found->access[0].lane, lane);
            }
        feed_end(&c.feed);
    }
}

/* A word of two rows: its bytes belong to two warps. */
static void rows_that_share_a_word(void **state)
{
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        race_case_start(&c, 1, 64);
        for (int w = 0; w < 2; w++) {
            c.feed.line = 7;
            feed_access(&c.feed, 0, w, LANES, writes ? W : R, G + 1 + 32 * (uint64_t)w, 1, 1, 1);
        }
        c.feed.line = 20 + (uint32_t)writes;
        feed_access(&c.feed, 0, 0, 1u << 31, writes ? R : W, G + 32, 0, 4, 2);
        assert_int_equal(c.report.kept, 1 + writes);
        assert_int_equal(c.report.last->access[0].at.warp, 1);
        assert_int_equal(c.report.last->access[0].lane, 0);
        feed_end(&c.feed);
    }
}

/* A block that has released what it did ends, and the next block goes on with its rows at a later
 * time. A thread that acquired that knows the first block's row. */
static void rows_of_a_block_that_released(void **state)
{
    (void)state;
    const uint64_t flag[SIM_LANES] = {G + 1024};
    race_case_start(&c, 3, 32);
    c.feed.line = 7;
    feed_access(&c.feed, 0, 0, LANES, W, G, 4, 4, 1);
    feed_full(&c.feed, 0, 0, 1, W, flag, 4, 1, SIM_RELEASE, SIM_GPU, 0);
    feed_end_block(&c.feed, 0);
    feed_sync(&c.feed, 1, 0, LANES, SIM_FENCE, SIM_ACQ_REL, SIM_GPU);
    c.feed.line = 7;
    feed_access(&c.feed, 1, 0, LANES, W, G + 128, 4, 4, 1);
    feed_full(&c.feed, 2, 0, 1, R, flag, 4, 0, SIM_ACQUIRE, SIM_GPU, 0);
    feed_access(&c.feed, 2, 0, 1, R, G, 4, 4, 0);
    race_case_expect(&c, 0);
}

/* Rows of blocks under way keep their times: the first block's is before its barrier. */
static void rows_of_blocks_under_way(void **state)
{
    (void)state;
    race_case_start(&c, 2, 64);
    c.feed.line = 7;
    feed_access(&c.feed, 0, 0, LANES, W, G, 4, 4, 1);
    feed_barrier(&c.feed, 0);
    feed_sync(&c.feed, 1, 0, LANES, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
    c.feed.line = 7;
    feed_access(&c.feed, 1, 0, LANES, W, G + 128, 4, 4, 1);
    feed_access(&c.feed, 0, 1, LANES, R, G, 4, 4, 0);
    race_case_expect(&c, 0);
}

static void barrier_at_one_place(int block)
{
    c.feed.line = 50;
    feed_barrier(&c.feed, block);
}

/* The list of a read is that of the block before, but its time is later. */
static void lists_of_blocks_have_the_latest_time(void **state)
{
    (void)state;
    race_case_start(&c, 2, 64);
    for (int b = 0; b < 2; b++) {
        barrier_at_one_place(b);
        c.feed.line = 7;
        feed_access(&c.feed, b, 0, LANES, R, G + 128 * (uint64_t)b, 4, 4, 0);
        if (!b)
            feed_end_block(&c.feed, b);
    }
    feed_access(&c.feed, 1, 1, LANES, R, G + 128, 4, 4, 0);
    feed_access(&c.feed, 1, 1, LANES, W, G + 128, 4, 4, 1);
    assert_int_equal(c.report.first->kind, SIM_FOUND_RACE);
    assert_int_equal(c.report.first->access[0].at.warp, 0);
}

/* Two reads of one block have a list. At the border of two blocks' rows, the same two reads are of both
 * blocks, and a barrier of the second block does not order the read of the first. */
static void lists_of_one_block_and_of_two(void **state)
{
    (void)state;
    race_case_start(&c, 2, 64);
    for (int b = 0; b < 2; b++) {
        c.feed.line = 7;
        feed_access(&c.feed, b, 0, LANES, R, G + 256 + 128 * (uint64_t)b, 4, 4, 0);
        c.feed.line = 8;
        feed_access(&c.feed, b, 0, LANES, R, G + 192 + 128 * (uint64_t)b, 4, 4, 0);
        if (!b)
            feed_end_block(&c.feed, b);
    }
    feed_barrier(&c.feed, 1);
    feed_access(&c.feed, 1, 1, 0xffff, R, G + 320, 4, 4, 0);
    feed_access(&c.feed, 1, 1, 0xffff, W, G + 320, 4, 4, 1);
    assert_int_equal(c.report.first->kind, SIM_FOUND_RACE);
    assert_int_equal(c.report.first->access[0].at.block, 0);
}

/* Makes a warp's access at listed addresses, without values. */
static void scattered(int block, enum sim_kind kind, uint32_t mask, const uint64_t *address)
{
    struct sim_access a = {.at = feed_place(&c.feed, block, 0),
                           .space = SIM_GLOBAL,
                           .kind = kind,
                           .mask = mask,
                           .bytes = 4};
    memcpy(a.address, address, sizeof a.address);
    c.feed.line++;
    c.feed.observer->access(c.feed.observer->user, &a);
}

/* Makes a write of a byte by each lane of a warp, at listed addresses. */
static void write_bytes(int warp, const uint64_t *address, uint32_t line)
{
    c.feed.line = line;
    feed_full(&c.feed, 0, warp, LANES, W, address, 1, 1 + warp, SIM_WEAK, SIM_CTA, 0);
}

/* Reads a byte in another block: one of the races is with this writer. */
static void expect_writer(uint64_t byte, int warp, int lane)
{
    feed_access(&c.feed, 1, 0, 1, R, byte, 0, 1, 0);
    const struct sim_finding *found = c.report.first;
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
    race_case_start(&c, 2, WARPS * 32);
    for (uint64_t w = 0; w < WARPS; w++) {
        uint64_t to[SIM_LANES];
        for (uint64_t l = 0; l < SIM_LANES; l++)
            to[l] = G + (l * 7 % SIM_LANES) * WARPS + w;
        write_bytes((int)w, to, 7);
    }
    c.feed.line = 100;
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
        race_case_start(&c, 2, 96);
        write_bytes(0, to[0], 7);
        if (again == 1) {
            feed_sync(&c.feed, 0, 0, LANES, SIM_WARP_SYNC, SIM_WEAK, SIM_CTA);
            feed_full(&c.feed, 0, 0, 1, W, flag, 4, 1, SIM_RELEASE, SIM_CTA, 0);
            feed_full(&c.feed, 0, 2, 1, R, flag, 4, 0, SIM_ACQUIRE, SIM_CTA, 0);
        }
        if (again)
            feed_access(&c.feed, 0, 2, 1, W, to[0][4], 0, 1, 9);
        const int64_t had = feed_found(&c.feed);
        write_bytes(1, to[1], 7);
        race_case_expect(&c, had + (again == 2 ? 2 : 1));
        c.feed.line = 200 + 10 * (uint32_t)again;
        expect_writer(to[1][9], 1, 9);
        expect_writer(to[0][5], 0, 5);
        feed_end(&c.feed);
    }
}

/* The lists of a closed page are sorted. The reads of a byte at the border of two blocks' rows are
 * still those of both. */
static void lists_of_closed_pages(void **state)
{
    (void)state;
    enum { BLOCKS = 3 };
    const uint64_t rows = G + 64;
    race_case_start(&c, BLOCKS, 32);
    for (int b = 0; b + 1 < BLOCKS; b++) {
        for (uint32_t i = 0; i < 3; i++) {
            c.feed.line = 7 + i;
            feed_access(&c.feed, b, 0, LANES, R, rows + 32 * (uint64_t)b + i - 1, 1, 1, 0);
        }
        feed_end_block(&c.feed, b);
    }
    feed_pages(&c.feed, BLOCKS - 1, 0, G + (1 << 20));
    c.feed.line = 1000;
    feed_access(&c.feed, BLOCKS - 1, 0, 1, W, rows + 31, 1, 1, 1);
    assert_int_equal(c.report.kept, 3); /* of each line */
    int lanes = 0, blocks = 0;
    for (const struct sim_finding *found = c.report.first; found; found = found->next) {
        assert_int_equal(found->access[0].address, rows + 31);
        lanes += found->access[0].lane;
        blocks += (int)found->access[0].at.block;
    }
    assert_int_equal(lanes, 31 + 30 + 0);
    assert_int_equal(blocks, 1);
}

/* Two warps write bytes of a page, which is closed between their writes until it stays open: it keeps only
 * writes. The records of those writes are in use, so they survive a collection. After a read, the page has
 * cells again. */
static void pages_of_only_writes(void **state)
{
    (void)state;
    enum { TURNS = 6, APART = 2 * TURNS + 1, RECORDS = 20000 };
    race_case_start(&c, 2, 64);
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        for (uint64_t warp = 0; warp < 2; warp++) {
            uint64_t to[SIM_LANES];
            for (uint64_t l = 0; l < SIM_LANES; l++)
                to[l] = G + l * 7 % SIM_LANES * APART + 2 * turn + warp;
            write_bytes((int)warp, to, 7 + (uint32_t)turn);
        }
        feed_pages(&c.feed, 1, 0, G + ((turn + 1) << 20));
    }
    for (int i = 0; i < RECORDS; i++)
        feed_access(&c.feed, 0, 0, 1, W, G + 8192, 0, 4, 1);
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 1, 1, R, G + 1, 0, 1, 0); /* its own byte */
    race_case_expect(&c, 0);
    feed_access(&c.feed, 0, 0, 1, W, G + 1, 0, 1, 9); /* after the write and the read of warp 1 */
    race_case_expect(&c, 2);
    for (int turn = 0; turn < TURNS; turn++)
        for (int l = 1; l < SIM_LANES; l += 5)
            expect_writer(G + (uint64_t)(l * 7 % SIM_LANES * APART + 2 * turn + l % 2), l % 2, l);
}

/* Addresses are kept in as few bytes as their distances need, up to 2^40 bytes, at any
 * alignment: the address of each lane is found again. */
static void lists_of_any_width(void **state)
{
    (void)state;
    static const uint64_t apart[] = {
        4, 6, 1 << 10, 1 << 20, (1 << 28) + 4, UINT64_C(1) << 34, (UINT64_C(1) << 40) + 8};
    race_case_start(&c, 2, 32);
    for (uint64_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        uint64_t to[SIM_LANES], from[SIM_LANES] = {0};
        for (uint64_t l = 0; l < SIM_LANES; l++)
            to[l] = G + (i << 48) + 7 * l % SIM_LANES * apart[i];
        to[3] = 12; /* a lane that takes no part */
        scattered(0, W, ~(uint32_t)8, to);
        from[5] = to[4 + i] + 1;
        scattered(1, R, 1 << 5, from);
        assert_int_equal(c.report.last->kind, SIM_FOUND_RACE);
        assert_int_equal(c.report.kept, i + 1);
        assert_int_equal(c.report.last->access[0].lane, 4 + i);
        assert_int_equal(c.report.last->access[0].address, to[4 + i]);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(rows_of_warps),
        TEST(rows_of_warps_in_one_read),
        TEST(rows_of_blocks),
        TEST(rows_that_share_a_word),
        TEST(rows_of_a_block_that_released),
        TEST(rows_of_blocks_under_way),
        TEST(lists_of_blocks_have_the_latest_time),
        TEST(lists_of_one_block_and_of_two),
        TEST(lists_of_warps),
        TEST(lists_that_share_a_byte),
        TEST(lists_of_closed_pages),
        TEST(pages_of_only_writes),
        TEST(lists_of_any_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
