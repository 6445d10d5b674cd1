/* Products in the formats of matrix units (tf32, e4m3, e5m2), executed in lockstep and compared
 * with the CPU engine: from shared memory, transposed or not, from registers, with a cast
 * before; and the instructions that they become. */
#include "emit_compare.h"
#include "emit_program.h"
#include "random_products.h"
#include "test_layout_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void random_products(const struct factors *f, int count, const char *const *targets,
                            int target_count, uint64_t seed)
{
    char text[2048];
    for (int round = random_rounds(4 * count); round > 0; round--) {
        struct product p = product_random(&seed, &f[round % count]);
        product_write(text, sizeof text, &p);
        compare_with_cpu(text, targets[random_below(&seed, target_count)], seed, product_number);
    }
}

static const char *const byte_targets[] = {"sm_120", "sm_90", "sm_100", "sm_120"};

static void products_of_tf32(void **state)
{
    static const char *const targets[] = {"sm_80", "sm_90"};
    (void)state;
    random_products(product_singles, PRODUCT_SINGLES, targets, 2, 5);
}

static void products_of_bytes(void **state)
{
    (void)state;
    random_products(product_bytes, PRODUCT_BYTES, byte_targets, 4, 6);
}

/* --- Their instructions --- */

struct wanted {
    const char *target;
    struct factors f;
    int k;
    enum place a, b;
    const char *text;
    int count;
};

/* 64 x 64 by four warps: each has 2 x 4 tiles of the sum. */
static const struct wanted wanted[] = {
    {"sm_80",
     {"f32", "f32", "(tf32)", "(tf32)"},
     32,
     IN_SHARED,
     IN_SHARED,
     "m16n8k8.row.col.f32.tf32.tf32.f32",
     4 * 8},
    {"sm_80",
     {"f32", "f32", "(tf32)", "(tf32)"},
     12,
     IN_SHARED,
     IN_SHARED,
     "m16n8k4.row.col.f32.tf32.tf32.f32",
     3 * 8},
    {"sm_80",
     {"f32", "f32", "(tf32)", "(tf32)"},
     6,
     IN_SHARED,
     IN_SHARED,
     "fma.rn.f32",
     64 * 64 / 128 * 6},
    {"sm_80",
     {"f32", "f32", "(tf32)", "(tf32)"},
     32,
     IN_SHARED,
     IN_SHARED,
     "cvt.rna.tf32.f32",
     4 * (2 * 4 + 4 * 2)}, /* each element of a fragment once */
    {"sm_80",
     {"f32", "f32", "(tf32)", "(tf32)"},
     32,
     IN_SHARED,
     IN_SHARED_TRANSPOSED,
     "ldmatrix",
     8 + 8}, /* both factors, four registers at a time */
    {"sm_120",
     {"e4m3", "e4m3", "", ""},
     64,
     IN_SHARED,
     IN_SHARED_TRANSPOSED,
     "m16n8k32.row.col.f32.e4m3.e4m3.f32",
     2 * 8},
    {"sm_120",
     {"e4m3", "e5m2", "", ""},
     64,
     IN_SHARED,
     IN_SHARED_TRANSPOSED,
     "m16n8k32.row.col.f32.e4m3.e5m2.f32",
     2 * 8},
    {"sm_120",
     {"e5m2", "e4m3", "", ""},
     32,
     IN_SHARED,
     IN_SHARED,
     "ldmatrix.sync.aligned.m8n8.x4.trans",
     2}, /* pairs of bytes, reordered */
    {"sm_120", {"e5m2", "e4m3", "", ""}, 32, IN_SHARED, IN_SHARED, "prmt", 8},
    {"sm_120",
     {"f32", "f32", "(e4m3)", "(e4m3)"},
     32,
     IN_SHARED,
     IN_SHARED_TRANSPOSED,
     "cvt.rn.satfinite.e4m3x2.f32",
     2 * (2 * 4 + 4 * 2)},
    /* no matrix units for bytes: as f16, each fragment is converted once */
    {"sm_90",
     {"e4m3", "e5m2", "", ""},
     64,
     IN_SHARED,
     IN_SHARED,
     "m16n8k16.row.col.f32.f16.f16.f32",
     2 * 2 * 8},
    {"sm_90",
     {"e4m3", "e5m2", "", ""},
     64,
     IN_SHARED,
     IN_SHARED,
     "cvt.rn.f16x2.e4m3x2",
     2 * 2 * 2 * 4},
    {"sm_120",
     {"e4m3", "e4m3", "", ""},
     16,
     IN_SHARED,
     IN_SHARED,
     "m16n8k8.row.col.f32.f16.f16.f32",
     2 * 8},
    {"sm_120",
     {"e4m3", "e4m3", "", ""},
     24,
     IN_SHARED,
     IN_SHARED,
     "m16n8k8.row.col.f32.f16.f16.f32",
     3 * 8},
    /* explicit casts */
    {"sm_120",
     {"e4m3", "e4m3", "(f16)", "(f16)"},
     32,
     IN_SHARED,
     IN_SHARED,
     "m16n8k16.row.col.f32.f16.f16.f32",
     2 * 8},
};

static void instructions(void **state)
{
    char text[2048];
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct wanted *w = &wanted[i];
        struct product product = {64, 64, w->k, 4, &w->f, w->a, w->b, false, false};
        struct program p = {0};
        struct lowered out;
        program_open(&p, product_write(text, sizeof text, &product));
        if (!program_check(&p, 0) || !program_emit(&p, w->target, &out))
            fail_msg("%s", program_messages(&p));
        const char *ptx = emitted_text(&p, &out);
        if (occurrences(ptx, w->text) != w->count)
            fail_msg("%d times %s on %s in\n%s", occurrences(ptx, w->text), w->text, w->target,
                     text);
        program_free(&p);
    }
}

/* Every target's assembler accepts them. */
static void they_assemble(void **state)
{
    static const char *const targets[] = {"sm_80", "sm_89", "sm_90", "sm_100", "sm_120"};
    char text[2048];
    uint64_t seed = 7;
    (void)state;
    for (int i = 0; i < 2 * (PRODUCT_SINGLES + PRODUCT_BYTES) && has_assembler(); i++) {
        bool single = i % (PRODUCT_SINGLES + PRODUCT_BYTES) < PRODUCT_SINGLES;
        const struct factors *f =
            single ? &product_singles[i % (PRODUCT_SINGLES + PRODUCT_BYTES)]
                   : &product_bytes[i % (PRODUCT_SINGLES + PRODUCT_BYTES) - PRODUCT_SINGLES];
        struct product product = product_random(&seed, f);
        const char *target = targets[single ? i % 5 : 1 + i % 4];
        struct program p = {0};
        struct lowered out;
        program_open(&p, product_write(text, sizeof text, &product));
        if (!program_check(&p, 0) || !program_emit(&p, target, &out))
            fail_msg("%s", program_messages(&p));
        const char *why = assemble(&p, target, emitted_text(&p, &out));
        if (why)
            fail_msg("%s\n%s", why, text);
        program_free(&p);
    }
}

static void bytes_need_sm_89(void **state)
{
    struct product product = {32, 32, 32, 2, &product_bytes[2], IN_SHARED, IN_SHARED, false, false};
    struct program p = {0};
    struct lowered out;
    char text[2048];
    (void)state;
    program_open(&p, product_write(text, sizeof text, &product));
    assert_true(program_check(&p, 0));
    assert_false(program_emit(&p, "sm_80", &out));
    assert_non_null(
        strstr(program_messages(&p), "sm_80 has no `e4m3`: sm_89 is the first that has"));
    program_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_tf32), cmocka_unit_test(products_of_bytes),
        cmocka_unit_test(instructions),     cmocka_unit_test(they_assemble),
        cmocka_unit_test(bytes_need_sm_89),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
