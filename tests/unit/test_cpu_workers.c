/* Workers share a launch: each block runs once, whatever the number of workers; the launch
 * reports the lowest fault; and a worker that has no block left helps with the products of
 * others (src/cpu/workers.c, exec_shared.c). */
#include "base/platform.h"
#include "cpu_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define GIVEN(...)                                                                                 \
    (const struct given[])                                                                         \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            NULL, 0                                                                                \
        }                                                                                          \
    }

static const char counts[] = "kernel k(i32 n, i32 most, i32 *c) grid(n) warps(1)\n{\n"
                             "global i32 C[most] = c;\nC[block.x] = C[block.x] + 1;\n}\n";

static void every_block_runs_once(void **state)
{
    static const int64_t blocks[] = {1, 2, 3, 7, 8, 9, 64, 65, 1000};
    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        struct cpu_run r;
        cpu_open(&r, counts, GIVEN({"n", blocks[i]}, {"most", blocks[i]}));
        const int32_t *c = cpu_array(&r, "c", (size_t)blocks[i] * sizeof *c);
        for (int threads = 1; threads <= 9; threads++) {
            assert_int_equal(cpu_go(&r, threads), CPU_OK);
            for (int64_t b = 0; b < blocks[i]; b++)
                assert_int_equal(c[b], threads);
        }
        cpu_close(&r);
    }
}

/* The lowest fault is reported in whichever worker's part it is, and the blocks after it need
 * not run one by one. */
static void the_lowest_fault_is_told(void **state)
{
    static const int64_t places[] = {0, 1, 499, 500, 501, 998};
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int threads = 1; threads <= 5; threads++) {
            struct cpu_run r;
            cpu_open(&r, counts, GIVEN({"n", 1000}, {"most", places[i]}));
            cpu_array(&r, "c", 4000);
            assert_int_equal(cpu_go(&r, threads), CPU_BOUNDS);
            assert_int_equal(r.fault.block[0], places[i]);
            cpu_close(&r);
        }
    struct cpu_run r;
    cpu_open(&r, counts, GIVEN({"n", INT32_MAX}, {"most", 3}));
    cpu_array(&r, "c", 12);
    clock_t start = clock(); /* CPU time of all threads, so load on the machine does not count */
    assert_int_equal(cpu_go(&r, 3), CPU_BOUNDS);
    assert_int_equal(r.fault.block[0], 3);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 10);
    cpu_close(&r);
}

/* --- a product that several workers share --- */

enum { M = 30, K = 70, N = 200, MOST_WIDTH = 64, PANELS = N / 4 + 1 };

struct operands {
    float a[M * K], b[PANELS * MOST_WIDTH * K], c[M * N];
};

static void fill(struct operands *o)
{
    for (size_t i = 0; i < sizeof o->a / sizeof *o->a; i++)
        o->a[i] = (float)(i * 37 % 101) - 50;
    for (size_t i = 0; i < sizeof o->b / sizeof *o->b; i++)
        o->b[i] = (float)(i * 41 % 103) / 8;
    for (size_t i = 0; i < sizeof o->c / sizeof *o->c; i++)
        o->c[i] = (float)i;
}

static void share(struct shared_product *p, const struct routine_set *set, struct operands *o,
                  size_t rows)
{
    size_t width = set->dot->width[COMPUTE_F32];
    p->dot = set->dot->dot[COMPUTE_F32];
    p->sum = o->c;
    p->a = (const unsigned char *)o->a;
    p->b = (const unsigned char *)o->b;
    p->rows = rows;
    p->columns = N;
    p->depth = K;
    p->strides = (struct dot_strides){
        .c = N, .a = K, .b = width, .panel = K * width, .untaken = &p->untaken};
    atomic_store(&p->untaken, (int)((N + width - 1) / width));
}

static void take_part(void *product, int index)
{
    (void)index;
    exec_help_with_product(product, NULL);
}

/* Products are added to sums, so a panel that is taken twice, or not at all, changes the result. */
static void each_panel_is_taken_once(void **state)
{
    struct operands *want = malloc(sizeof *want), *got = malloc(sizeof *got);
    struct platform_pool *pool = platform_pool_new(&allocator_libc, 4);
    static struct shared_product product;
    (void)state;
    assert_true(want && got && pool);
    for (int s = 0; routine_set_at(s); s++) {
        const struct routine_set *set = routine_set_at(s);
        if (!set->dot->packs[COMPUTE_F32])
            continue;
        fill(want);
        share(&product, set, want, M);
        struct dot_strides alone = product.strides;
        alone.untaken = NULL;
        product.dot(want->c, want->a, want->b, M, N, K, &alone);
        for (int round = 0; round < 50; round++) {
            fill(got);
            share(&product, set, got, M);
            if (round == 0)
                assert_true(exec_help_with_product(&product, NULL));
            else
                platform_pool_run(pool, 4, take_part, &product);
            assert_false(exec_help_with_product(&product, NULL));
            assert_int_equal(product.helpers, 0);
            if (memcmp(got->c, want->c, sizeof got->c) != 0)
                fail_msg("%s: other sums, round %d", set->name, round);
        }
    }
    platform_pool_free(pool);
    free(want);
    free(got);
}

/* The owner of a product sets up the next one as soon as no worker helps with this one; helpers
 * come all the time. All products differ: one that is added twice, not at all or to another's
 * sums shows. */
struct owner {
    struct shared_product product;
    const struct routine_set *set;
    struct operands *got;
    atomic_bool ended;
    int wrong;
};

enum { PRODUCTS = TW_TEST_RACES_ONLY ? 100 : 400 };

static void own_or_help(void *owner, int index)
{
    struct owner *o = owner;
    while (index > 0 && !atomic_load(&o->ended))
        exec_help_with_product(&o->product, NULL);
    for (int i = 0; index == 0 && i < PRODUCTS; i++) {
        size_t rows = 1 + (size_t)(i % M);
        float first = (float)(i % 7);
        for (size_t x = 0; x < M * N; x++)
            o->got->c[x] = first;
        share(&o->product, o->set, o->got, rows);
        exec_help_with_product(&o->product, NULL);
        while (atomic_load(&o->product.helpers) > 0)
            platform_yield();
        for (size_t x = 0; x < M * N; x++) {
            float sum = x < rows * N ? first + K : first;
            o->wrong += o->got->c[x] != sum;
        }
    }
    if (index == 0)
        atomic_store(&o->ended, true);
}

static void products_follow_each_other(void **state)
{
    struct platform_pool *pool = platform_pool_new(&allocator_libc, 3);
    static struct owner owner;
    (void)state;
    owner.got = malloc(sizeof *owner.got);
    assert_true(pool && owner.got);
    for (size_t i = 0; i < sizeof owner.got->a / sizeof *owner.got->a; i++)
        owner.got->a[i] = 1;
    for (size_t i = 0; i < sizeof owner.got->b / sizeof *owner.got->b; i++)
        owner.got->b[i] = 1;
    for (int s = 0; routine_set_at(s); s++) {
        owner.set = routine_set_at(s);
        if (!owner.set->dot->packs[COMPUTE_F32])
            continue;
        atomic_store(&owner.product.untaken, 0);
        atomic_store(&owner.product.helpers, 0);
        atomic_store(&owner.ended, false);
        owner.wrong = 0;
        platform_pool_run(pool, 3, own_or_help, &owner);
        if (owner.wrong > 0)
            fail_msg("%s: %d other sums", owner.set->name, owner.wrong);
    }
    platform_pool_free(pool);
    free(owner.got);
}

/* --- panels that several workers pack --- */

static const struct pack_routines *counted;
static atomic_size_t elements; /* that were packed */

static void count_pairs(void *to, ptrdiff_t apart, const void *from, ptrdiff_t row, size_t n,
                        size_t width, uint32_t flip)
{
    atomic_fetch_add(&elements, 2 * n);
    counted->interleave_pairs(to, apart, from, row, n, width, flip);
}

static void count_fours(void *to, ptrdiff_t apart, const void *from, ptrdiff_t row, size_t n,
                        size_t width, uint32_t flip)
{
    atomic_fetch_add(&elements, 4 * n);
    counted->interleave_fours(to, apart, from, row, n, width, flip);
}

/* Runs a product of 8-bit integers or of bf16 whose 16 blocks read the same panels. Returns the number
 * of elements that the workers packed in pairs or fours. The sums are small integers. */
static size_t packed_by_workers(const struct routine_set *set, enum dtype type, int workers,
                                double c[64][128])
{
    static const char form[] =
        "kernel k(i32 n, const %s *a, const %s *b, %s *c) grid(8, 2) warps(1)\n{\n"
        "global %s A[64][n] = a, B[n][128] = b;\nglobal %s C[64][128] = c;\n"
        "i32 i = block.x * 8, j = block.y * 64;\nreg %s acc[8][64] = 0;\n"
        "for (i32 p = 0; p < n; p += 64) {\n"
        "reg %s ra[8][64] = A[i +: 8][p +: 64], rb[64][64] = B[p +: 64][j +: 64];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 8][j +: 64] = acc;\n}\n";
    const char *t = dtype_table[type].name, *u = type == DT_BF16 ? "f32" : "i32";
    struct pack_routines pack = *set->pack;
    struct routine_set counting = *set;
    struct cpu_run r;
    char text[1024];
    const size_t size = dtype_size(type);
    snprintf(text, sizeof text, form, t, t, u, t, u, u, t);
    counted = set->pack;
    pack.interleave_pairs = count_pairs;
    pack.interleave_fours = count_fours;
    counting.pack = &pack;
    atomic_store(&elements, 0);
    cpu_open_plain(&r, text, GIVEN({"n", 512}), &counting, false);
    unsigned char *a = cpu_array(&r, "a", 64 * 512 * size),
                  *b = cpu_array(&r, "b", 512 * 128 * size);
    const unsigned char *sums = cpu_array(&r, "c", 64 * 128 * sizeof(int32_t));
    for (size_t i = 0; i < 512 * 128; i++)
        dtype_store_f64(type, b + i * size, (double)(i * 41 % 103));
    for (size_t i = 0; i < 64 * 512; i++)
        dtype_store_f64(type, a + i * size, (double)(i * 37 % 125));
    assert_int_equal(cpu_go(&r, workers), CPU_OK);
    for (size_t i = 0; i < 64 * 128; i++)
        c[i / 128][i % 128] = dtype_load_f64(type == DT_BF16 ? DT_F32 : DT_I32, sums + 4 * i);
    cpu_close(&r);
    return atomic_load(&elements);
}

/* Runs it in several rounds. Each panel of bytes is to be packed once in all, and each panel of bf16
 * `times` times, if the set has instructions for them. */
static void expect_packed(int workers, size_t times)
{
    static double want[64][128], got[64][128];
    packed_by_workers(routine_set_at(0), DT_I8, 1, want);
    for (int s = 0; routine_set_at(s); s++)
        for (int round = 0; round < 40; round++) {
            const struct routine_set *set = routine_set_at(s);
            const enum dtype type = round % 2 ? DT_BF16 : DT_I8;
            const size_t packed = packed_by_workers(set, type, workers, got);
            const size_t each = type == DT_BF16               ? set->dot_bf16 ? times : 0
                                : set->dot_i8 || set->dot_i16 ? 1
                                                              : 0;
            if (packed != each * 512 * 128)
                fail_msg("%s, round %d: %zu elements are packed", set->name, round, packed);
            if (memcmp(want, got, sizeof want) != 0)
                fail_msg("%s, round %d: other values", set->name, round);
        }
}

/* Blocks that need the same panels of a right operand pack each panel once in all, whichever comes
 * first to it. */
static void panels_are_packed_once(void **state)
{
    (void)state;
    expect_packed(8, 1);
}

/* If each worker has one block, the eight blocks that need a panel of bf16 pack it for themselves. */
static void single_blocks_pack_for_themselves(void **state)
{
    (void)state;
    expect_packed(16, 8);
}

/* --- memory --- */

/* A worker gets the memory that it had before, in whichever order the blocks were given back. */
static void workers_keep_their_memory(void **state)
{
    enum { WORKERS = 4, BYTES = 1000 };
    static struct cpu_kept kept;
    const struct cpu_options options = {.kept = &kept};
    atomic_bool allocating = false;
    const struct launch_state l = {
        .options = &options, .allocator = &allocator_libc, .allocating = &allocating};
    struct kept_block had[WORKERS];
    (void)state;
    for (int i = 0; i < WORKERS; i++)
        had[i] = kept_take(&l, BYTES, i);
    for (int i = WORKERS - 1; i >= 0; i--)
        kept_give(&l, had[i]);
    for (int i = 0; i < WORKERS; i++)
        assert_ptr_equal(kept_take(&l, BYTES, (i + 2) % WORKERS).memory,
                         had[(i + 2) % WORKERS].memory);
    for (int i = 0; i < WORKERS; i++)
        kept_give(&l, had[i]);
    const struct kept_block any =
        kept_take(&l, BYTES, WORKERS); /* another worker gets one of them */
    assert_int_equal(kept.count, WORKERS - 1);
    kept_give(&l, any);
    cpu_kept_free(&kept, &allocator_libc);
}

/* Half the blocks do nothing: the others' sums are those of one worker. The sums go to the view
 * from the product or through the block's memory, and operands are packed for all blocks, with
 * rows of the left operand if they must be, or for one block. */
static void results_are_those_of_one_worker(void **state)
{
    static const char form[] =
        "kernel k(i32 n, const f32 *a, const f32 *b, f32 *c) grid(%d, 4) warps(1)\n{\n"
        "global f32 A[%d * 64][n] = a strides(%s, 1), B[n][1024] = b, C[%d * 64][1024] = c;\n"
        "i32 i = block.x * 64, j = block.y * 256;\nif (%s) return;\n"
        "reg f32 acc[64][256] = 0;\nfor (i32 p = 0; p < n; p += 64) {\n"
        "reg f32 ra[64][64] = A[i +: 64][p +: 64], rb[64][256] = B[p +: 64][j +: 256];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 64][j +: 256] = %s;\n}\n";
    static const char *const stored[] = {"acc", "acc * 2", "exp(acc * 0.001) + acc"};
    /* all blocks but one are finished while that one packs its operands */
    static const char *const idle[] = {"block.y % 2 == 1", "block.x * 4 + block.y < 7"};
    enum { ROWS = 128, STRIDE = 4096 };
    static float want[ROWS * 1024];
    (void)state;
    for (int kind = 0; kind < 4 * 3; kind++)
        for (int64_t n = 512; n <= 1152; n += 640) {
            char text[1024];
            struct cpu_run r;
            int blocks = kind < 3 ? 1 : 2;
            int64_t stride = kind < 6 ? n : STRIDE;
            snprintf(text, sizeof text, form, blocks, blocks, kind < 6 ? "n" : "4096", blocks,
                     idle[kind / 9], stored[kind % 3]);
            cpu_open(&r, text, GIVEN({"n", n}));
            float *a = cpu_array(&r, "a", (size_t)(stride * ROWS) * sizeof *a);
            float *b = cpu_array(&r, "b", (size_t)n * 1024 * sizeof *b);
            float *c = cpu_array(&r, "c", sizeof want);
            for (int64_t x = 0; x < stride * ROWS; x++)
                a[x] = (float)(x * 37 % 101) / 64;
            for (int64_t x = 0; x < n * 1024; x++)
                b[x] = (float)(x * 41 % 103) / 64;
            assert_int_equal(cpu_go(&r, 1), CPU_OK);
            memcpy(want, c, sizeof want);
            for (int round = 0; round < (TW_TEST_RACES_ONLY ? 3 : 12); round++) {
                memset(c, 0, sizeof want);
                assert_int_equal(cpu_go(&r, 2 + round % 3), CPU_OK);
                if (memcmp(want, c, sizeof want) != 0)
                    fail_msg("other sums with %d workers\n%s", 2 + round % 3, text);
            }
            cpu_close(&r);
        }
}

/* Blocks that have no row of the sum come first. They leave the panels to the others. */
static void blocks_without_rows_pack_nothing(void **state)
{
    static const char form[] =
        "kernel k(i32 n, const %s *a, const %s *b, %s *c) grid(2, 5) warps(1)\n{\n"
        "global %s A[64][n] = a, B[n][128] = b, C[64][128] = c;\n"
        "i32 i = (4 - block.y) * 64, j = block.x * 64;\nreg %s acc[64][64] = 0;\n"
        "for (i32 p = 0; p < n; p += 64) {\n"
        "reg %s ra[64][64] = A[i +: 64][p +: 64], rb[64][64] = B[p +: 64][j +: 64];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 64][j +: 64] = acc;\n}\n";
    enum { DEEP = 64, COLUMNS = 128 };
    static const char *const types[] = {"f32", "f64"};
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        const char *t = types[kind];
        char text[1024];
        struct cpu_run r;
        snprintf(text, sizeof text, form, t, t, t, t, t, t);
        cpu_open(&r, text, GIVEN({"n", DEEP}));
        const enum dtype dtype = r.kernel->params->next->sym->type.dtype;
        const size_t size = dtype_size(dtype);
        unsigned char *a = cpu_array(&r, "a", 64 * DEEP * size),
                      *b = cpu_array(&r, "b", DEEP * COLUMNS * size),
                      *c = cpu_array(&r, "c", 64 * COLUMNS * size);
        for (size_t i = 0; i < (size_t)64 * DEEP; i++)
            dtype_store_f64(dtype, a + i * size, 1);
        for (size_t i = 0; i < (size_t)DEEP * COLUMNS; i++)
            dtype_store_f64(dtype, b + i * size, (double)(i % COLUMNS));
        for (int round = 0; round < 12; round++) {
            memset(c, 0, 64 * COLUMNS * size);
            assert_int_equal(cpu_go(&r, 1 + round % 4), CPU_OK);
            for (size_t i = 0; i < (size_t)64 * COLUMNS; i++)
                assert_true(dtype_load_f64(dtype, c + i * size) == (double)(i % COLUMNS * DEEP));
        }
        cpu_close(&r);
    }
}

/* Results are those of one worker for one row, too, whose products read weights of several types in
 * place, rows or columns. */
static void few_rows_are_those_of_one_worker(void **state)
{
    static const char form[] =
        "kernel k(i32 n, const %s *a, const %s *b, f32 *c) grid(4) warps(1)\n{\n"
        "global %s A[1][n] = a, B%s = b;\nglobal f32 C[1][1000] = c;\n"
        "i32 j = block.x * 256;\nif (block.x < 3) return;\n"
        "reg f32 acc[4][256] = 0;\nfor (i32 p = 0; p < n; p += 64) {\n"
        "reg %s ra[4][64] = A[0 +: 4][p +: 64], rb%s;\nacc += dot(ra, %s);\n}\n"
        "C[0 +: 4][j +: 256] = acc;\n}\n";
    static const char *const types[] = {"f32", "f16", "bf16"};
    static const char *const views[][3] = {
        {"[n][1000]", "[64][256] = B[p +: 64][j +: 256]", "rb"},
        {"[1000][n]", "[256][64] = B[j +: 256][p +: 64]", "trans(rb)"},
    };
    enum { DEEP = 1088 };
    float want[1000];
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        const char *type = types[kind / 2], *const *view = views[kind % 2];
        char text[1024];
        struct cpu_run r;
        snprintf(text, sizeof text, form, type, type, type, view[0], type, view[1], view[2]);
        cpu_open(&r, text, GIVEN({"n", DEEP}));
        const enum dtype dtype = r.kernel->params->next->sym->type.dtype;
        const size_t size = dtype_size(dtype);
        unsigned char *a = cpu_array(&r, "a", DEEP * size),
                      *b = cpu_array(&r, "b", 1000 * DEEP * size);
        float *c = cpu_array(&r, "c", sizeof want);
        for (size_t i = 0; i < DEEP; i++)
            dtype_store_f64(dtype, a + i * size, (double)(i * 37 % 101) / 64);
        for (size_t i = 0; i < 1000 * DEEP; i++)
            dtype_store_f64(dtype, b + i * size, (double)(i * 41 % 103) / 64);
        assert_int_equal(cpu_go(&r, 1), CPU_OK);
        memcpy(want, c, sizeof want);
        for (int round = 0; round < (TW_TEST_RACES_ONLY ? 3 : 12); round++) {
            memset(c, 0, sizeof want);
            assert_int_equal(cpu_go(&r, 2 + round % 3), CPU_OK);
            if (memcmp(want, c, sizeof want) != 0)
                fail_msg("other sums with %d workers\n%s", 2 + round % 3, text);
        }
        cpu_close(&r);
    }
}

/* --- launches that begin on one worker --- */

struct advised {
    struct parallel pool;
    double advice, spent;
    int asked, runs;
};

static void run_and_count(void *user, int count, void (*task)(void *argument, int index),
                          void *argument)
{
    struct advised *a = user;
    a->runs++;
    a->pool.run(a->pool.user, count, task, argument);
}

static double advise(void *user, double spent)
{
    struct advised *a = user;
    a->asked += spent == 0;
    a->spent += spent;
    return a->advice;
}

static enum cpu_fault_kind go_advised(struct cpu_run *r, struct advised *a, double seconds)
{
    *a = (struct advised){.pool = platform_pool_parallel(r->pool), .advice = seconds};
    r->options.parallel = a->pool;
    r->options.parallel.run = run_and_count;
    r->options.parallel.user = a;
    r->options.parallel.alone = advise;
    return cpu_launch(r->program, r->args, &r->options, &r->fault);
}

/* The others join after all, some or none of the blocks. Blocks of columns pack tiles that other
 * blocks use, blocks of few rows are computed in strips, and one kernel fails in some blocks. */
static void others_join_late(void **state)
{
    static const char *const texts[] = {
        "kernel k(i32 n, const f32 *a, f32 *c) grid(48) warps(1)\n{\n"
        "global f32 A[64][n] = a, C[64][n] = c;\ni32 i = block.x / 12 * 16, j = block.x % 12 * "
        "16;\n"
        "reg f32 acc[16][16] = 0;\nfor (i32 p = 0; p < n; p += 16) {\n"
        "reg f32 ra[16][16] = A[i +: 16][p +: 16], rb[16][16] = A[p +: 16][j +: 16];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 16][j +: 16] = acc;\n}\n",
        "kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 16), 4) warps(1)\n{\n"
        "global f32 A[64][n] = a, C[64][n] = c;\ni32 i = block.y * 16, j = block.x * 16;\n"
        "reg f32 acc[16][16] = 0;\nfor (i32 p = 0; p < n; p += 16) {\n"
        "reg f32 ra[16][16] = A[i +: 16][p +: 16], rb[16][16] = A[p +: 16][j +: 16];\n"
        "acc += dot(ra, rb);\n}\nC[i +: 16][j +: 16] = acc;\n}\n",
        "kernel k(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 16)) warps(1)\n{\n"
        "global f32 A[64][n] = a, C[64][n] = c;\ni32 j = block.x * 16;\n"
        "C[0][j +: 16] = reshape(dot(reshape(A[1][0 +: 64], 1, 64), A[0 +: 64][j +: 16]), "
        "16);\n}\n",
        "kernel k(static i32 n, const f32 *a, f32 *c) grid(64) warps(1)\n{\n"
        "global f32 A[64][n] = a, C[64][n] = c;\n"
        "reg f32 x[n] = exp(A[block.x][0 +: n]);\nC[block.x][0 +: n] = x / sum(x);\n}\n",
        "kernel k(i32 n, const f32 *a, f32 *c) grid(64) threads(32)\n{\n"
        "global f32 A[64][n] = a, C[64][n] = c;\nif (block.x > 60 && block.x % 2 == 1)\n"
        "C[block.x][thread.x + n] = 0;\nC[block.x][thread.x] = A[block.x][thread.x] + 1;\n}\n",
    };
    enum { LENGTH = 192, COUNT = 64 * LENGTH };
    static const double seconds[] = {1e9, 1e-9, 5e-6, 20e-6};
    static float want[COUNT];
    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        for (int round = 0; round < 12; round++) {
            struct cpu_run r;
            struct advised advised;
            double longest = seconds[round % 4];
            cpu_open(&r, texts[k], GIVEN({"n", LENGTH}));
            float *a = cpu_array(&r, "a", sizeof want), *c = cpu_array(&r, "c", sizeof want);
            for (int x = 0; x < COUNT; x++)
                a[x] = (float)(x * 37 % 101) / 64;
            enum cpu_fault_kind kind = cpu_go(&r, 1);
            struct cpu_fault fault = r.fault;
            memcpy(want, c, sizeof want);
            memset(c, 0, sizeof want);
            assert_int_equal(cpu_go(&r, 2 + round % 3), kind);
            memset(c, 0, sizeof want);
            assert_int_equal(go_advised(&r, &advised, longest), kind);
            assert_int_equal(advised.asked, 1);
            assert_true(advised.spent > 0);
            if (round % 4 < 2)
                assert_int_equal(advised.runs, round % 4);
            if (kind != CPU_OK)
                assert_memory_equal(fault.block, r.fault.block, sizeof fault.block);
            else if (memcmp(want, c, sizeof want) != 0)
                fail_msg("other values, round %d\n%s", round, texts[k]);
            cpu_close(&r);
        }
}

/* Launches on many bytes are not worth a try. */
static void large_launches_start_all_workers(void **state)
{
    static const char text[] = "kernel k(i32 n, f32 *c) grid(n) warps(1)\n{\n"
                               "global f32 C[n][512] = c;\nC[block.x][0 +: 512] = 1;\n}\n";
    (void)state;
    for (int64_t n = 128; n <= 129; n++) {
        struct cpu_run r;
        struct advised advised;
        cpu_open(&r, text, GIVEN({"n", n}));
        cpu_array(&r, "c", (size_t)n * 512 * sizeof(float));
        assert_int_equal(cpu_go(&r, 2), CPU_OK);
        assert_int_equal(go_advised(&r, &advised, 1e9), CPU_OK);
        assert_int_equal(advised.runs, n > 128);
        cpu_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_runs_once),
        cmocka_unit_test(the_lowest_fault_is_told),
        cmocka_unit_test(each_panel_is_taken_once),
        cmocka_unit_test(products_follow_each_other),
        cmocka_unit_test(panels_are_packed_once),
        cmocka_unit_test(single_blocks_pack_for_themselves),
        cmocka_unit_test(workers_keep_their_memory),
        cmocka_unit_test(results_are_those_of_one_worker),
        cmocka_unit_test(blocks_without_rows_pack_nothing),
        cmocka_unit_test(few_rows_are_those_of_one_worker),
        cmocka_unit_test(others_join_late),
        cmocka_unit_test(large_launches_start_all_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
