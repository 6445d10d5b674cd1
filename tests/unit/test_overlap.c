/* Arrays of a launch that share memory: the refused overlaps, and, for arrays in place, the old
 * values that are kept for `ensures`. */
#include "api_helper.h"
#include "tilewright_entry.h"
#include "tilewright_sim.h"

#include <stdio.h>
#include <string.h>

enum { S = 64 };

static float first[S * S], second[S * S], third[S * S];

static void fill(void)
{
    for (int i = 0; i < S * S; i++) {
        first[i] = (float)(i % 13) - 6;
        second[i] = (float)(i % 7) - 3;
        third[i] = 0;
    }
}

/* The kernels of these tests have sizes m and n, and arrays a, b and c. */
#define KERNEL(level, body)                                                                        \
    "tune B = {16};\n"                                                                             \
    "kernel k(i32 m, i32 n, const f32 *a, const f32 *b, f32 *c) grid(cdiv(m, B), cdiv(n, "         \
    "B)) " level "\n"                                                                              \
    "{\n"                                                                                          \
    "    global f32 A[m][n] = a, D[m][n] = b, C[m][n] = c;\n"                                      \
    "    i32 i = block.x * B, j = block.y * B;\n" body "}\n"
#define TILES "warps(1)"

static void give(struct fixture *f, float *a, float *b, float *c)
{
    tw_array x = array(a, TW_F32, 2, S, S), y = array(b, TW_F32, 2, S, S),
             z = array(c, TW_F32, 2, S, S);
    succeed(f, tw_launch_array(f->launch, "a", &x));
    succeed(f, tw_launch_array(f->launch, "b", &y));
    succeed(f, tw_launch_array(f->launch, "c", &z));
}

/* Lets c overlap a, then b, for the launch and for an entry of it. `a` and `b`: the reason of
 * the refusal; NULL: it runs. */
static void over(struct fixture *f, const char *text, const char *a, const char *b)
{
    for (int i = 0; i < 2; i++) {
        const char *why = i ? b : a, *name = i ? "b" : "a";
        char names[64];
        snprintf(names, sizeof names, "overlaps array `%s`", name);
        fill();
        load(f, text);
        give(f, first, second, i ? second : first);
        if (why) {
            refused(f, tw_launch_prepare(f->launch), TW_BAD_ARGUMENT, names);
            refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT, why);
            assert_non_null(strstr(tw_context_messages(f->ctx), "bytes 0 to 16383 of `c`"));
        } else {
            succeed(f, tw_launch_run(f->launch));
        }
        tw_entry *e;
        const tw_value arguments[] = {tw_int(S), tw_int(S), tw_pointer(first), tw_pointer(second),
                                      tw_pointer(i ? second : first)};
        for (int turn = 0; turn < 3; turn++) {
            tw_launch_allow_overlap(f->launch, turn == 2);
            succeed(f, tw_entry_new(f->launch, &e));
            if (turn == 1) { /* with a compiled variant */
                const tw_value apart[] = {arguments[0], arguments[1], arguments[2], arguments[3],
                                          tw_pointer(third)};
                assert_int_equal(tw_entry_start(e, apart, 5, NULL, NULL), TW_OK);
            }
            tw_error error = tw_error_init();
            tw_status status = tw_entry_start(e, arguments, 5, NULL, &error);
            assert_int_equal(status, why && turn < 2 ? TW_BAD_ARGUMENT : TW_OK);
            assert_true(!why || turn == 2 || (strstr(error.text, name) && strstr(error.text, why)));
            tw_entry_free(e);
        }
        succeed(f, tw_launch_run(f->launch)); /* allowed now */
    }
}

static const char multiplied[] = "an operand of a product",
                  elsewhere[] = "needs for elements at other places";

static void elements_of_the_same_block_may_be_overwritten(void **state)
{
    over(*state, KERNEL(TILES, "C[i +: B][j +: B] = A[i +: B][j +: B] * 2 + D[i +: B][j +: B];\n"),
         NULL, NULL);
    over(*state,
         KERNEL(TILES, "reg f32 t[B][B] = A[block.x * B +: B][j +: B];\n"
                       "C[i +: B][block.y * B +: B] = t + D[i +: B][block.y * B +: B];\n"),
         NULL, NULL);
    over(*state,
         KERNEL("threads(16, 16)", "i32 y = i + thread.y, x = j + thread.x;\n"
                                   "if (y < m && x < n) C[y][x] = A[y][x] + D[i + thread.y][x];\n"),
         NULL, NULL);
    over(*state,
         KERNEL("threads(64)",
                "if (block.y == 0) for (i32 r = i; r < i + B; r++)\n"
                "for (i32 x = thread.x; x < n; x += 64) C[r][x] = A[r][x] + D[r][x];\n"),
         NULL, NULL);
    over(*state,
         KERNEL(TILES,
                "if (block.y == 0) for (i32 r = i; r < i + B; r++) {\n"
                "reg f32 sum[1][B] = 0; for (i32 p = 0; p < n; p += B) sum += A[r +: 1][p +: B];\n"
                "for (i32 q = 0; q < n; q += B) C[r +: 1][q +: B] = A[r +: 1][q +: B] - sum + D[r "
                "+: 1][q +: B]; }\n"),
         NULL, NULL);
}

static void operands_of_products_may_not(void **state)
{
    const char product[] = KERNEL(
        TILES, "reg f32 acc[B][B] = 0;\n"
               "for (i32 p = 0; p < n; p += B) acc += dot(A[i +: B][p +: B], D[p +: B][j +: B]);\n"
               "C[i +: B][j +: B] = acc;\n");
    over(*state, product, multiplied, multiplied);
    const char through[] = KERNEL(
        TILES, "reg f32 acc[B][B] = 0; shared f32 sa[B][B];\n"
               "for (i32 p = 0; p < n; p += B) { sync(); reg f32 t[B][B] = A[i +: B][p +: B];\n"
               "sa = max(t, 0) * 2; sync(); acc += dot(sa, sa); }\n"
               "C[i +: B][j +: B] = acc + D[i +: B][j +: B];\n");
    over(*state, through, multiplied, NULL);
    const char same[] = KERNEL(TILES, "reg f32 t[B][B] = A[i +: B][j +: B];\n"
                                      "C[i +: B][j +: B] = dot(t, t) + D[i +: B][j +: B];\n");
    over(*state, same, multiplied, NULL);
    const char scalar[] =
        KERNEL("threads(16, 16)", "f32 acc = 0; i32 y = i + thread.y, x = j + thread.x;\n"
                                  "for (i32 p = 0; p < n; p++) acc += A[y][p] * D[p][x];\n"
                                  "C[y][x] = acc;\n");
    over(*state, scalar, elsewhere, elsewhere);
}

static void neighbours_may_not(void **state)
{
    over(*state,
         KERNEL(TILES, "C[i +: B][j +: B] = A[i - 1 +: B][j +: B] + D[i +: B][j + 1 +: B];\n"),
         elsewhere, elsewhere);
    over(*state,
         KERNEL(TILES, "C[i +: B][j +: B] = trans(A[j +: B][i +: B]) + D[i +: B][j +: B];\n"),
         elsewhere, NULL);
    over(*state, KERNEL(TILES, "C[i +: B][j +: B] = A[0 +: 1][j +: B] + D[i +: B][j +: B];\n"),
         elsewhere, NULL);
    over(*state,
         KERNEL(TILES,
                "C[i +: B][j +: B] = sum(A[i +: B][0 +: 64], axis = 1) + D[i +: B][j +: B];\n"),
         elsewhere, NULL);
    over(*state,
         KERNEL(TILES, "i32 r = i; reg f32 t[B][B] = A[r +: B][j +: B]; r = m - B - r;\n"
                       "C[r +: B][j +: B] = t + D[r +: B][j +: B];\n"),
         elsewhere, NULL);
}

/* Elements that several blocks read or write, because their index does not contain the blocks'
 * number. */
static void elements_of_several_blocks_may_not(void **state)
{
    over(*state, KERNEL(TILES, "C[i +: B][0 +: B] = A[i +: B][0 +: B] + D[i +: B][0 +: B];\n"),
         elsewhere, elsewhere);
    over(*state,
         KERNEL("threads(16)", "atomic_add(C[0][thread.x], A[0][thread.x] + D[0][thread.x]);\n"),
         elsewhere, elsewhere);
    over(*state,
         KERNEL(TILES, "reg f32 t[B][B] = A[i +: B][0 +: B];\n"
                       "if (block.y == 0) C[i +: B][0 +: B] = t + D[i +: B][0 +: B];\n"),
         elsewhere, NULL);
    over(*state,
         KERNEL(TILES, "i32 h = block.x / 2 * B;\n"
                       "C[h +: B][j +: B] = A[h +: B][j +: B] + D[h +: B][j +: B];\n"),
         elsewhere, elsewhere);
    over(*state,
         KERNEL(TILES, "i32 h = block.x % 2 * B, y = block.x / 2 * B;\n"
                       "C[h +: B][j +: B] = A[h +: B][j +: B] + D[y +: B][j +: B];\n"),
         elsewhere, elsewhere);
}

/* Blocks in another order, on one axis instead of two, and a single block. */
static void each_block_has_its_own(void **state)
{
    over(*state,
         KERNEL(TILES, "i32 h = (block.x % 2 * 2 + block.x / 2) * B;\n"
                       "C[h +: B][j +: B] = A[h +: B][j +: B] + D[h +: B][j +: B];\n"),
         NULL, NULL);
    over(*state,
         KERNEL(TILES, "i32 t = block.x * 4 + block.y, r = t / 4 * B, s = t % 4 * B;\n"
                       "C[r +: B][s +: B] = A[r +: B][s +: B] + D[r +: B][s +: B];\n"),
         NULL, NULL);
    over(*state,
         KERNEL(TILES, "if (block.x != 0 || block.y != 0) return;\n"
                       "for (i32 p = 0; p < n; p += B)\n"
                       "C[0 +: B][p +: B] = A[0 +: B][p +: B] + D[0 +: B][p +: B];\n"),
         NULL, NULL);
    over(*state,
         KERNEL(TILES, "for (i32 p = block.x * B; p < m; p += grid.x * B)\n"
                       "C[p +: B][j +: B] = A[p +: B][j +: B] + D[p +: B][j +: B];\n"),
         NULL, NULL);
}

static void arrays_that_begin_elsewhere(void **state)
{
    struct fixture *f = *state;
    const char scale[] = KERNEL(TILES, "C[i +: B][j +: B] = A[i +: B][j +: B] * 2;\n");
    float all[S * S + S];
    memset(all, 0, sizeof all);
    load(f, scale);
    give(f, all + S, second, all);
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT,
            "bytes 256 to 16383 of `c` are bytes 0 to 16127 of `a`");
    give(f, second, all + S, all); /* `b` has a view and is not read */
    succeed(f, tw_launch_run(f->launch));
    const char strided[] =
        "kernel k(i32 m, i32 n, const f32 *a, const f32 *b, f32 *c) grid(m) warps(1)\n"
        "{\n"
        "    global f32 A[m][n / 2] = a strides(n, 1), C[m][n / 2] = c + n / 2 strides(n, 1);\n"
        "    global f32 D[m][n] = b;\n"
        "    C[block.x][0 +: 32] = A[block.x][0 +: 32] + 1;\n"
        "}\n";
    fill();
    load(f, strided); /* the two halves of each row */
    give(f, first, second, first);
    succeed(f, tw_launch_run(f->launch));
    for (int i = 0; i < S; i++)
        for (int j = 0; j < S / 2; j++)
            assert_true(first[i * S + S / 2 + j] == first[i * S + j] + 1);
}

static const char rows[] =
    "kernel k(i32 m, i32 n, const f32 *a, const f32 *b, f32 *c) grid(m) warps(1)\n"
    "{\n"
    "    global f32 A[m][n] = a, D[m][n] = b, C[m][n] = c;\n"
    "    reg f32 x[1][64] = A[block.x +: 1][0 +: 64];\n"
    "    C[block.x +: 1][0 +: 64] = x / (sum(abs(x), axis = 1) + 1) + D[block.x +: 1][0 +: 64];\n"
    "    ensures C == A / (sum(abs(A), axis = 1) + 1) + D;\n"
    "}\n";

static void inputs_are_kept_for_ensures(void **state)
{
    struct fixture *f = *state;
    for (int kept = 0; kept < 2; kept++) {
        fill();
        load(f, rows);
        give(f, first, second, first);
        succeed(f, tw_launch_keep_inputs(f->launch, kept));
        succeed(f, tw_launch_run(f->launch));
        if (kept) {
            succeed(f, tw_launch_verify(f->launch, NULL));
            first[3] += 1;
        }
        refused(f, tw_launch_verify(f->launch, NULL), TW_WRONG_VALUES, "C[");
        assert_true((strstr(tw_context_messages(f->ctx), "tw_launch_keep_inputs") != NULL) ==
                    !kept);
        give(f, second, second, first); /* nothing of the old array remains */
        succeed(f, tw_launch_run(f->launch));
        succeed(f, tw_launch_verify(f->launch, NULL));
    }
    tw_kernel *gpu;
    tw_launch *l;
    fill();
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "sm_80", &gpu));
    succeed(f, tw_launch_new(gpu, &l));
    f->launch = l;
    give(f, first, second, first);
    succeed(f, tw_launch_keep_inputs(l, true));
    succeed(f, tw_launch_simulate(l, NULL, NULL));
    succeed(f, tw_launch_verify(l, NULL));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        TEST(elements_of_the_same_block_may_be_overwritten),
        TEST(operands_of_products_may_not),
        TEST(neighbours_may_not),
        TEST(elements_of_several_blocks_may_not),
        TEST(each_block_has_its_own),
        TEST(arrays_that_begin_elsewhere),
        TEST(inputs_are_kept_for_ensures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
