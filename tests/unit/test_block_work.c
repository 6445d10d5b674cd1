/* The work of a block, compared with what its statements say, and the model's time of it. */
#include "model/block_time.h"
#include "tile/block_work.h"
#include "pass_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

enum { M = 100, N = 96, K = 1000 };

/* Opens a kernel(i32 m, i32 n, i32 k, …) and returns its work at M, N, K. */
static struct block_work work_of(const char *text, const int64_t grid[3], double *bytes)
{
    struct program p;
    memset(&p, 0, sizeof p);
    program_open(&p, text);
    if (!program_check(&p, 0))
        fail_msg("%s", program_messages(&p));
    struct block_program *program = block_program_new(&p.arena, p.kernel);
    struct literal values[6] = {{.i = M}, {.i = N}, {.i = K}};
    bool known[6] = {true, true, true};
    struct scalar_env env = {values, known, 6};
    struct block_work first = block_work_at(program, &env, grid);
    struct block_work again = block_work_at(program, &env, grid);
    assert_memory_equal(&first, &again, sizeof first);
    if (bytes)
        *bytes = block_program_bytes(program, &env);
    program_free(&p);
    return first;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static void a_pipeline_counts_its_steps(void **state)
{
    (void)state;
    double bytes;
    struct block_work w = work_of(
        "kernel t(i32 m, i32 n, i32 k, const f16 *a, const f16 *b, f16 *c)\n"
        "    grid(cdiv(m, 64), cdiv(n, 32)) warps(4)\n{\n"
        "    global f16 A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
        "    i32 i = block.x * 64, j = block.y * 32;\n    reg f32 acc[64][32] = 0;\n"
        "    pipeline(3) for (i32 p = 0; p < k; p += 16) {\n"
        "        shared f16 sa[64][16] = A[i +: 64][p +: 16];\n"
        "        shared f16 sb[16][32] = B[p +: 16][j +: 32];\n        acc += dot(sa, sb);\n    }\n"
        "    C[i +: 64][j +: 32] = (f16) acc;\n}\n",
        (int64_t[]){2, 3, 1}, &bytes);
    double steps = 63; /* cdiv(1000, 16) */
    assert_true(near(w.steps, steps) && near(w.flops, steps * 2 * 64 * 32 * 16));
    assert_true(near(w.read, steps * 2 * (64 * 16 + 16 * 32)) && near(w.written, 2 * 64 * 32));
    assert_true(w.factor == DT_F16 && w.added == 0 && w.meetings == 0);
    assert_true(near(bytes, 2.0 * (M * K + K * N + M * N)));
}

/* Blocks of one tile divide the steps, and the part after an arrival counts, although only one
 * block comes to it. */
static void parts_divide_the_steps(void **state)
{
    (void)state;
    struct block_work w = work_of(
        "kernel t(i32 m, i32 n, i32 k, const f16 *a, f16 *c) grid(1, 1, 4) warps(1)\n{\n"
        "    global f16 A[m][k] = a, C[m][m] = c;\n    global f32 sum[m][m] = 0 clean;\n"
        "    global i32 count[1] = 0 clean;\n    i32 share = cdiv(k, 16) / grid.z;\n"
        "    i32 more = cdiv(k, 16) % grid.z;\n"
        "    i32 first = block.z * share + min(block.z, more);\n"
        "    i32 end = first + share + (block.z < more ? 1 : 0);\n    reg f32 acc[16][16] = 0;\n"
        "    for (i32 p = first * 16; p < end * 16; p += 16) {\n"
        "        reg f16 x[16][16] = A[0 +: 16][p +: 16];\n        acc += dot(x, x);\n    }\n"
        "    if (grid.z > 1) {\n        atomic_add(sum[0 +: 16][0 +: 16], acc);\n"
        "        if (arrive(count[0]) < grid.z - 1)\n            return;\n"
        "        acc = sum[0 +: 16][0 +: 16];\n        sum[0 +: 16][0 +: 16] = 0;\n"
        "        count[0] = 0;\n    }\n    C[0 +: 16][0 +: 16] = (f16) acc;\n}\n",
        (int64_t[]){1, 1, 4}, NULL);
    assert_true(near(w.steps, 63.0 / 4) && near(w.flops, 63.0 / 4 * 2 * 16 * 16 * 16));
    assert_true(near(w.added, 4 * 256) && near(w.meetings, 1));
    assert_true(near(w.read, 63.0 / 4 * 512 + 4 * 256));
    assert_true(near(w.written, 4 * 256 + 4 + 2 * 256));
}

/* Blocks that only copy leave early: the mean is over blocks of both kinds. */
static void blocks_of_two_kinds_are_averaged(void **state)
{
    (void)state;
    struct block_work w = work_of(
        "kernel t(i32 m, i32 n, i32 k, const f32 *a, f32 *c) grid(10) warps(1)\n{\n"
        "    global f32 A[m] = a, C[m] = c;\n    if (block.x < 5) {\n        return;\n    }\n"
        "    C[block.x * 32 +: 32] = A[block.x * 32 +: 32];\n}\n",
        (int64_t[]){10, 1, 1}, NULL);
    assert_true(near(w.read, 128 * 2.0 / 5) && near(w.written, 128 * 2.0 / 5));
    assert_true(w.steps == 0 && w.flops == 0);
    w = work_of(
        "kernel t(i32 m, i32 n, i32 k, const f32 *a, f32 *c) grid(10) warps(1)\n{\n"
        "    global f32 A[m] = a, C[m] = c;\n    if (block.x >= 3) {\n        return;\n    }\n"
        "    for (i32 p = 0; p < 64; p += 32)\n"
        "        C[p +: 32] = A[p +: 32];\n}\n",
        (int64_t[]){10, 1, 1}, NULL);
    assert_true(near(w.steps, 2 * 2.0 / 5) && near(w.most_steps, 2)); /* of blocks 0, 2, 4, 6, 9 */
}

/* At thread level, each thread has its loads; a loop down, nested, and one whose end no size
 * tells. */
static void threads_and_other_loops(void **state)
{
    (void)state;
    struct block_work w =
        work_of("kernel t(i32 m, i32 n, i32 k, const f32 *a, f32 *c) grid(1) threads(64)\n{\n"
                "    global f32 A[m][k] = a, C[m] = c;\n    f32 sum = 0;\n"
                "    for (i32 p = 20; p > 0; p -= 2)\n        for (i32 q = 0; q < 3; q++)\n"
                "            sum += A[thread.x][p + q];\n    i32 at = 0;\n"
                "    while (A[0][at] > 0)\n        at++;\n    C[thread.x] = sum;\n}\n",
                (int64_t[]){1, 1, 1}, NULL);
    assert_true(near(w.steps, 31) || near(w.steps, 30));
    assert_true(w.read >= 30 * 64 * 4 && w.read <= 32 * 64 * 4 && near(w.written, 64 * 4));
}

/* Roles run at the same time: the steps of the longest one count. Stores in the background are
 * written bytes. */
static void roles_share_their_steps(void **state)
{
    (void)state;
    struct block_work w = work_of(
        "kernel t(i32 m, i32 n, i32 k, const f16 *a, f16 *c) grid(1) warps(8) target(sm_90a)\n{\n"
        "    global f16 A[m][k] = a, C[m][64] = c;\n    shared f16 s[2][64][64], x[64][64];\n"
        "    mbarrier full[2](1), empty[2](1) ready;\n    warps(0 +: 4) {\n        one_thread {\n"
        "            for (i32 p = 0; p < k; p += 64) {\n                wait(empty[p / 64 % 2]);\n"
        "                expect(full[p / 64 % 2], bytes(s[0]));\n"
        "                async(full[p / 64 % 2]) s[p / 64 % 2] = A[0 +: 64][p +: 64];\n"
        "            }\n        }\n    }\n    warps(4 +: 4) {\n        reg f32 acc[64][64] = 0;\n"
        "        for (i32 p = 0; p < k; p += 64) {\n            wait(full[p / 64 % 2]);\n"
        "            dot_async(acc, s[p / 64 % 2], trans(s[p / 64 % 2]));\n"
        "            dot_wait(0);\n            arrive(empty[p / 64 % 2]);\n        }\n"
        "        x = (f16) acc;\n        sync();\n        async C[0 +: 64][0 +: 64] = x;\n"
        "        store_wait(0);\n    }\n}\n",
        (int64_t[]){1, 1, 1}, NULL);
    double steps = 16; /* cdiv(1000, 64) */
    assert_true(near(w.steps, steps) && near(w.flops, steps * 2 * 64 * 64 * 64));
    assert_true(near(w.read, steps * 64 * 64 * 2) && near(w.written, 64 * 64 * 2));
    assert_true(w.by_warpgroups && w.factor == DT_F16);
}

/* More of anything never takes less time, and a second wave takes more. */
static void time_grows_with_work(void **state)
{
    (void)state;
    const struct gpu *g = target_gpu_find("h200");
    struct block_rates r = model_block_rates_of(g, UNIT_F16, false);
    struct launch_work w = {132, 1, 1e8, 1e6, 0, 100, 0, 1e8, 0, 0};
    double before = model_block_time(&r, &w);
    w.blocks = 133;
    assert_true(model_block_time(&r, &w) > 1.5 * before);
    w.blocks = 132;
    for (double *x = &w.flops; x <= &w.bytes; x++) {
        double kept = *x;
        *x = kept * 10 + 1e3;
        assert_true(model_block_time(&r, &w) >= before);
        *x = kept;
    }
    /* 4096^3 in f16 by tiles of 128 x 128: 0.27 to 0.32 ms on an H200. */
    w = (struct launch_work){1024, 2, 2.0 * 128 * 128 * 4096, 2.0 * 256 * 4096, 0, 128, 0, 1e8,
                             0,    0};
    assert_in_range((int64_t)(1e6 * model_block_time(&r, &w)), 200, 400);
    /* One block of those has all the work: the others do not shorten its time. */
    before = model_block_time(&r, &w);
    w.most_flops = 1024 * w.flops;
    assert_true(model_block_time(&r, &w) > 2 * before);
    assert_true(model_block_rates_of(g, UNIT_FMA, false).flops < 70e12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_counts_its_steps),
        cmocka_unit_test(parts_divide_the_steps),
        cmocka_unit_test(blocks_of_two_kinds_are_averaged),
        cmocka_unit_test(threads_and_other_loops),
        cmocka_unit_test(roles_share_their_steps),
        cmocka_unit_test(time_grows_with_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
