/* Products of whole and of odd shapes, executed in lockstep and compared with the CPU engine. */
#include "emit_compare.h"
#include "test_layout_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

struct product {
    int m, n, k;
    const char *type, *sum;
    int warps;
    bool chained; /* the left factor is a product, and the sum of the depth of its columns */
    bool left_transposed, right_transposed;
};

static const char products_text[] =
    "kernel product(const %s *p, const %s *q, %s *r) grid(1) warps(%d)\n"
    "{\n"
    "    global %s P[%d][%d] = p;\n"
    "    global %s Q[%d][%d] = q;\n"
    "    global %s R[%d][%d] = r;\n"
    "    shared %s a[%d][%d], b[%d][%d];\n"
    "    a = P;\n"
    "    b = Q;\n"
    "    sync();\n"
    "    reg %s x[%d][%d] = dot(%s, %s);\n"
    "    R = %s;\n"
    "}\n";

static double small_number(enum dtype t, int param, uint64_t *seed)
{
    (void)t;
    return param == 0 ? random_below(seed, 11) - 5 : random_below(seed, 13) - 6;
}

static void compare_product(const char *target, struct product p)
{
    char text[2048], next[64];
    const bool ta = p.left_transposed, tb = p.right_transposed;
    const int a[2] = {ta ? p.k : p.m, ta ? p.m : p.k}, b[2] = {tb ? p.n : p.k, tb ? p.k : p.n};
    snprintf(next, sizeof next, "dot((%s) x, %s)", p.type, tb ? "b" : "trans(b)");
    snprintf(text, sizeof text, products_text, p.type, p.type, p.sum, p.warps, p.type, a[0], a[1],
             p.type, b[0], b[1], p.sum, p.m, p.chained ? p.k : p.n, p.type, a[0], a[1], b[0], b[1],
             p.sum, p.m, p.n, ta ? "trans(a)" : "a", tb ? "trans(b)" : "b", p.chained ? next : "x");
    compare_with_cpu(text, target, 3, small_number);
}

static void test_products(void **state)
{
    static const struct product products[] = {
        {128, 128, 32, "f16", "f32", 4, .chained = false},
        {64, 64, 32, "f32", "f32", 4, .chained = false},
        {16, 8, 16, "f16", "f32", 4, .chained = false},
        {64, 128, 64, "i8", "i32", 4, .chained = true},
        {48, 80, 16, "f16", "f32", 4, .chained = false},
        {48, 80, 16, "f16", "f32", 3, .chained = true},
        {80, 176, 24, "bf16", "f32", 6, .chained = false},
        {24, 40, 12, "f64", "f64", 2, .chained = false},
        {24, 40, 32, "f64", "f64", 2, .chained = false},
        {7, 7, 7, "f32", "f32", 2, .chained = false},
        {1, 48, 5, "i32", "i32", 4, .chained = false},
        {33, 17, 3, "i64", "i64", 3, .chained = true},
        {96, 80, 8, "f32", "f32", 12, .chained = false},
        /* bytes, transposed or not: shapes of test_emit_dot.c */
        {64, 64, 64, "i8", "i32", 4, false, false, false},
        {64, 64, 64, "i8", "i32", 4, false, true, true},
        {96, 160, 32, "i8", "i32", 4, false, true, false},
        {32, 32, 48, "i8", "i32", 2, false, true, false},
        {32, 32, 32, "i8", "i32", 8, false, false, false},
        {16, 16, 32, "i8", "i32", 8, false, true, true},
        {40, 24, 32, "i8", "i32", 2, false, true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        compare_product("sm_80", products[i]);
        compare_product("sm_90", products[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
