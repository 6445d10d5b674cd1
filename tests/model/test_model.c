/* The model's parts, each on a small example: the table of GPUs, occupancy, caches. */
#include "model/caches.h"
#include "target/gpus.h"
#include "model/occupancy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;
static jmp_buf out_of_memory;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, &allocator_libc, &out_of_memory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* --- GPUs --- */

static double teraflops(const char *name, int (*rate)(const struct gpu *), bool tensor)
{
    const struct gpu *g = target_gpu_find(name);
    assert_non_null(g);
    return g->multiprocessors * 1e-6 * (tensor ? g->tensor_clock : g->clock) * rate(g);
}

static int f16_of(const struct gpu *g)
{
    return g->f16;
}
static int f32_of(const struct gpu *g)
{
    return g->f32;
}
static int tensor_f64_of(const struct gpu *g)
{
    return g->tensor_f64;
}

/* Rates a cycle and clocks give the figures of data sheets. */
static void rates_are_the_data_sheets(void **state)
{
    static const struct {
        const char *name;
        double f32, f16, tensor_f64; /* the last 0: it has no such units */
    } sheets[] = {
        {"A100 SXM 80GB", 19.5, 312, 19.5},
        {"H100 SXM", 67, 989, 67},
        {"H100 PCIe", 51.2, 756, 51.2},
        {"H200 SXM", 67, 989, 67},
        {"B200", 75, 2250, 37},
        {"L40S", 91.6, 362, 0},
        {"RTX 3060 Laptop", 13, 26, 0},
        {"RTX 3090", 35.6, 71, 0},
        {"RTX 4090", 82.6, 165.2, 0},
        {"RTX 5090", 104.8, 209.5, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sheets / sizeof sheets[0]; i++) {
        double f32 = teraflops(sheets[i].name, f32_of, false),
               f16 = teraflops(sheets[i].name, f16_of, true),
               f64 = teraflops(sheets[i].name, tensor_f64_of, false);
        assert_true(fabs(f32 / sheets[i].f32 - 1) < 0.02);
        assert_true(fabs(f16 / sheets[i].f16 - 1) < 0.02);
        assert_true(fabs(f64 - sheets[i].tensor_f64) <= 0.02 * sheets[i].tensor_f64);
    }
}

static void gpus_are_found_by_name(void **state)
{
    (void)state;
    assert_string_equal(target_gpu_find("h200")->name, "H200 SXM");
    assert_string_equal(target_gpu_find("NVIDIA GeForce RTX 4090")->name, "RTX 4090");
    assert_string_equal(target_gpu_find("rtx 3060 laptop")->name, "RTX 3060 Laptop");
    assert_null(target_gpu_find("h2"));
    assert_null(target_gpu_find(""));
    for (int i = 0; target_gpu_at(i); i++) {
        const struct gpu *g = target_gpu_at(i);
        assert_ptr_equal(target_gpu_find(g->name), g);
        assert_int_equal(target_gpu_capability_of(g)->number, g->capability);
        assert_true(strlen(g->source) > 0 && g->l2[0] <= g->l2[1] && g->l2[1] <= g->l2[2]);
    }
}

static void targets_are_found_by_capability(void **state)
{
    (void)state;
    assert_null(target_for_gpu(75));
    assert_string_equal(target_for_gpu(90)->name, "sm_90");
    assert_string_equal(target_for_gpu(99)->name, "sm_90");
    const struct target *own = target_find((struct ptx_target){.number = 90, .suffix = 'a'});
    assert_true(target_runs_on(own, 90));
    assert_false(target_runs_on(own, 100));
    const struct target *family = target_find((struct ptx_target){.number = 100, .suffix = 'f'});
    assert_true(target_runs_on(family, 100) && target_runs_on(family, 103));
    assert_false(target_runs_on(family, 90));
    assert_false(target_runs_on(family, 110));
    assert_true(target_runs_on(target_for_gpu(80), 100));
    assert_false(target_runs_on(target_for_gpu(90), 80));
    assert_true(target_number_has(90, TARGET_CLUSTERS) && !target_number_has(89, TARGET_CLUSTERS));
    assert_int_equal(target_most_shared(), 227 * 1024);
    /* a B200, and where 2048 threads are no more blocks than 1536, an RTX 5090 */
    assert_int_equal(target_gpu_most_blocks(128), 148 * 16);
    assert_int_equal(target_gpu_most_blocks(32), 148 * 32);
    assert_int_equal(target_gpu_most_blocks(768), 170 * 2);
}

/* --- occupancy --- */

static void the_scarcest_resource_limits(void **state)
{
    (void)state;
    struct occupancy_limits h200 = {132, 228 * 1024, 65536, 2048, 32};
    struct block_needs needs = {.registers = 32, .threads = 1024};
    struct occupancy o;
    model_occupancy_find(&h200, &needs, &o);
    assert_int_equal(o.blocks, 2);
    assert_int_equal(o.limiter, BY_THREADS);
    needs.registers = 33;
    model_occupancy_find(&h200, &needs, &o);
    assert_int_equal(o.blocks, 1);
    assert_int_equal(o.limiter, BY_REGISTERS);
    needs = (struct block_needs){.registers = 168, .threads = 128}; /* an H200 shows 3 */
    model_occupancy_find(&h200, &needs, &o);
    assert_int_equal(o.blocks, 3);
    needs.registers = 169;
    model_occupancy_find(&h200, &needs, &o);
    assert_int_equal(o.blocks, 2);
    needs = (struct block_needs){.registers = 32, .threads = 32, .shared = 113 * 1024};
    model_occupancy_find(&h200, &needs, &o);
    assert_int_equal(o.blocks, 2);
    assert_int_equal(o.limiter, BY_SHARED);
}

/* --- caches --- */

static void the_least_recently_used_leaves(void **state)
{
    (void)state;
    struct lru c;
    bool found;
    model_lru_init(&c, &arena, 3, 16);
    for (uint64_t key = 1; key <= 3; key++)
        model_lru_touch(&c, key, 1, &found);
    model_lru_touch(&c, 1, 1, &found);
    assert_true(found);
    model_lru_touch(&c, 2, 1, &found)->mark = 1;
    model_lru_touch(&c, 4, 1, &found); /* 3 leaves */
    model_lru_touch(&c, 1, 1, &found);
    assert_true(found);
    model_lru_touch(&c, 3, 1, &found); /* 2 leaves */
    assert_false(found);
    assert_true(model_lru_marked(&c) == 0);
    model_lru_touch(&c, 2, 1, &found);
    assert_false(found);
}

enum { WARPS = 2 };

static void add(struct stream_block *b, int warp, uint64_t line, unsigned sectors, int kind)
{
    struct stream_entry e = {line, (uint8_t)sectors, (uint8_t)kind};
    vec_push(&arena, &b->warp[warp].entries, e);
}

static struct stream_block *new_block(void)
{
    struct stream_block *b = arena_new(&arena, struct stream_block);
    b->warps = WARPS;
    b->warp = arena_array(&arena, struct stream, WARPS);
    return b;
}

/* Returns a line in an allocation of the simulator. */
static uint64_t line_of(uint64_t n)
{
    return (UINT64_C(16) << 36) / GPU_LINE_BYTES + n;
}

static void warps_share_lines_of_l1(void **state)
{
    (void)state;
    struct l1_result *r = arena_new(&arena, struct l1_result);
    struct stream_block *b = new_block();
    for (int w = 0; w < WARPS; w++) {
        add(b, w, line_of(0), 15, STREAM_LOAD);
        add(b, w, line_of(1), 1, STREAM_LOAD);
        add(b, w, line_of(2), 3, STREAM_PAST_L1);
        add(b, w, line_of(3 + (uint64_t)w), 15, STREAM_STORE);
    }
    model_l1_replay(&arena, b, &(struct l1_share){1 << 16, 1, 0}, r);
    assert_true(r->load_sectors == 10 && r->missed == 5);
    assert_true(r->past == 4 && r->stores == 8);
    assert_true(r->tags == 6);
    model_l1_replay(&arena, b, &(struct l1_share){0, 1, 0}, r); /* no room for two lines */
    assert_true(r->missed == 5); /* in step, both read the same line at a time */
}

/* A vector that all blocks load, array 16, together with a row of the block's own, array 17. */
static void what_all_blocks_load_stays_in_l1(void **state)
{
    enum { LINES = 8 };
    (void)state;
    struct l1_result *r = arena_new(&arena, struct l1_result);
    struct stream_block *blocks[2];
    uint64_t other = (UINT64_C(1) << 36) / GPU_LINE_BYTES;
    for (int i = 0; i < 2; i++) {
        blocks[i] = new_block();
        for (uint64_t n = 0; n < LINES; n++) {
            add(blocks[i], 0, line_of(n), 15, STREAM_LOAD);
            add(blocks[i], 0, line_of(n + (uint64_t)i * LINES) + other, 15, STREAM_LOAD);
            add(blocks[i], 0, line_of(n) + 2 * other, 15, STREAM_STORE);
        }
    }
    uint32_t common = model_l1_common(blocks[0], blocks[1]);
    assert_int_equal(common, 1);
    model_l1_replay(&arena, blocks[0],
                    &(struct l1_share){(LINES + LINES / 4) * GPU_LINE_BYTES, 4, 0}, r);
    assert_true(r->missed == 2 * LINES * 4);
    model_l1_replay(&arena, blocks[0],
                    &(struct l1_share){(LINES + LINES / 4) * GPU_LINE_BYTES, 4, common}, r);
    assert_true(r->missed == LINES * 4 && r->common == LINES * 4);
    model_l1_replay(&arena, blocks[0], &(struct l1_share){GPU_LINE_BYTES, 1, common},
                    r); /* no room */
    assert_true(r->missed == 2 * LINES * 4);
    add(blocks[1], 0, line_of(0), 1, STREAM_STORE);
    assert_int_equal(model_l1_common(blocks[0], blocks[1]), 0);
}

static void barriers_keep_warps_in_step(void **state)
{
    (void)state;
    struct l1_result *r = arena_new(&arena, struct l1_result);
    struct stream_block *b = new_block();
    for (int step = 0; step < 8; step++) /* one warp loads a line, the other loads it after that */
        for (int w = 0; w < WARPS; w++) {
            add(b, w, 0, 0, STREAM_BARRIER);
            if (step % 2 == w)
                add(b, w, line_of((uint64_t)step / 2), 15, STREAM_LOAD);
        }
    model_l1_replay(&arena, b, &(struct l1_share){GPU_LINE_BYTES, 1, 0}, r);
    assert_true(r->load_sectors == 32 && r->missed == 16);
}

/* A product of 16 × 16 blocks: rows of A by block.y, columns of B by block.x. */
static void find_grid(struct l2_grid *g, double room, int resident, double share)
{
    *g = (struct l2_grid){.extent = {16, 16, 1}, .multiprocessors = 16, .resident = resident};
    g->room = room;
    g->copies = 1;
    g->share = share;
    g->sets = 1;
    g->pieces = arena_alloc(&arena, sizeof *g->pieces);
    for (int s = 0; s < TIME_SLICES; s++) {
        g->pieces[0][s][0] =
            (struct l2_piece){.base = 1000 + (uint64_t)s, .step = {0, 100, 0}, .loaded = 1};
        g->pieces[0][s][1] =
            (struct l2_piece){.base = 9000 + (uint64_t)s, .step = {100, 0, 0}, .loaded = 1};
    }
}

static void blocks_share_what_l2_holds(void **state)
{
    (void)state;
    struct l2_grid g;
    struct l2_result r;
    const double each = 16 * TIME_SLICES;
    find_grid(&g, 1e9, 1, 1);
    model_l2_replay(&arena, &g, &r);
    assert_true(r.read == 2 * each); /* each array once */
    find_grid(&g, 40, 1, 1);         /* a wave is a row: A once, B again for each row */
    model_l2_replay(&arena, &g, &r);
    assert_true(r.read == each + 16 * each);
    find_grid(&g, 40, 2, 0.5); /* two rows in step share B */
    model_l2_replay(&arena, &g, &r);
    assert_true(r.read == each + 8 * each);
    find_grid(&g, 40, 2, 0.9); /* the older block goes first: they do not share */
    model_l2_replay(&arena, &g, &r);
    assert_true(r.read > each + 12 * each);
}

/* Blocks of a persistent grid read what their own pieces say, whatever their place in the grid: 16
 * blocks that read the same piece at the same turn read it once. */
static void blocks_share_their_own_pieces(void **state)
{
    (void)state;
    struct l2_grid g;
    struct l2_result r;
    find_grid(&g, 40, 1, 1);
    g.extent[1] = 1;
    g.own = arena_alloc(&arena, 16 * sizeof *g.own);
    memset(g.own, 0, 16 * sizeof *g.own);
    for (int b = 0; b < 16; b++)
        for (int s = 0; s < TIME_SLICES; s++) {
            struct l2_piece tile = {.base = 5000 + (uint64_t)s, .loaded = 3};
            vec_push(&arena, &g.own[b][s].list, tile);
        }
    g.own_arrays = 3; /* both arrays of the grid are read by own pieces alone */
    model_l2_replay(&arena, &g, &r);
    assert_true(r.read == 3.0 * TIME_SLICES);
    g.own_arrays = 2; /* the first array is read by its pieces, too */
    model_l2_replay(&arena, &g, &r);
    assert_true(r.read == 4.0 * TIME_SLICES);
}

/* Stored bytes are written once, with those that L2 still holds at the end; loads, and copies of
 * bytes that were read, add nothing. */
static void what_is_stored_is_written(void **state)
{
    (void)state;
    struct l2_grid g;
    struct l2_result r;
    const double each = 16 * TIME_SLICES, rooms[] = {1e9, 40};
    for (int i = 0; i < 2; i++) {
        find_grid(&g, rooms[i], 1, 1);
        g.copies = 2;
        for (int s = 0; s < TIME_SLICES; s++)
            g.pieces[0][s][0].stored = g.pieces[0][s][0].loaded;
        model_l2_replay(&arena, &g, &r);
        assert_true(r.written + r.left == each && (r.written > 0) == (i == 1));
        assert_true(r.stored == 16 * each);
    }
}

/* A grid too long to replay whole: each row of blocks reads its part of A, and B again. */
static void long_grids_go_on_as_they_began(void **state)
{
    (void)state;
    struct l2_grid g;
    struct l2_result r;
    const double each = 16 * TIME_SLICES, rows = 1 << 16;
    find_grid(&g, 40, 1, 1);
    g.extent[1] = 1 << 16;
    model_l2_replay(&arena, &g, &r);
    assert_true(fabs(r.read / (rows * TIME_SLICES + rows * each) - 1) < 0.001);
    find_grid(&g, 1e9, 1, 1); /* data read at the beginning remains */
    g.extent[1] = 1 << 16;
    model_l2_replay(&arena, &g, &r);
    assert_true(fabs(r.read / (rows * TIME_SLICES + each) - 1) < 0.001);
}

/* A copy of an array that is larger than L2 and has too many blocks to be replayed whole: it is
 * written in full, less the dirty lines that fit in L2. The replayed blocks alone do not fill L2. */
static void long_copies_write_all_that_l2_cannot_hold(void **state)
{
    (void)state;
    struct l2_grid g;
    struct l2_result r;
    const double blocks = 1 << 20, room = 1 << 17;
    for (int copies = 1; copies <= 2; copies++) {
        find_grid(&g, room, 1, 1);
        g.extent[0] = 1 << 20;
        g.extent[1] = 1;
        g.copies = copies;
        memset(g.pieces, 0, sizeof *g.pieces);
        g.pieces[0][0][0] = (struct l2_piece){.base = 1, .step = {1}, .loaded = 1};
        g.pieces[0][1][1] = (struct l2_piece){.base = 1 << 24, .step = {1}, .stored = 1};
        model_l2_replay(&arena, &g, &r);
        assert_true(fabs(r.read / blocks - 1) < 0.001);
        assert_true(fabs((r.written + r.left) / blocks - 1) < 0.001);
        assert_true(fabs(r.left / (room / (1 + copies)) - 1) < 0.001);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(rates_are_the_data_sheets),
        TEST(gpus_are_found_by_name),
        TEST(targets_are_found_by_capability),
        TEST(the_scarcest_resource_limits),
        TEST(the_least_recently_used_leaves),
        TEST(warps_share_lines_of_l1),
        TEST(barriers_keep_warps_in_step),
        TEST(what_all_blocks_load_stays_in_l1),
        TEST(blocks_share_what_l2_holds),
        TEST(blocks_share_their_own_pieces),
        TEST(long_grids_go_on_as_they_began),
        TEST(what_is_stored_is_written),
        TEST(long_copies_write_all_that_l2_cannot_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
