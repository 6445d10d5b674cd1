/* Scalars at run time: the code, and its place. Each test makes a kernel by hand and reads its
 * PTX. */
#include "lower/lower_value.h"
#include "lower/lower_op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf failed;
static struct arena arena;
static struct lower lower;
static struct kernel *kernel;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, &allocator_libc, &failed);
    kernel = kernel_new(&arena, "k", LOC_NONE);
    kernel->warps = 4;
    lower = (struct lower){.arena = &arena, .kernel = kernel, .warps = 4, .threads = 128};
    lower.target = target_find((struct ptx_target){80, 0});
    ptx_build_start(&lower.b, &arena, (struct ptx_target){80, 0});
    ptx_begin_kernel(&lower.b, "k");
    values_init(&lower);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* --- harness --- */

static const struct value *parameter(enum dtype t, const char *name)
{
    enum ptx_mod type = t == DT_I64 ? MOD_U64 : MOD_U32;
    struct ptx_variable *v = ptx_parameter(&lower.b, type, name);
    struct ptx_operand reg = ptx_reg(&lower.b, lower_register_type(t));
    ptx_emit_for(&lower.b, PTX_TYPES((uint16_t)type), "ld.param.*", reg, ptx_at_variable(v, 0));
    return value_of_register(&lower, t, reg);
}

static const struct value *number(int64_t v)
{
    return value_int(&lower, DT_I32, v);
}

static const struct value *index_of(const struct value *v)
{
    return value_index(&lower, v);
}

static const struct value *sum(const struct value *a, const struct value *b)
{
    return value_add(&lower, a, b);
}

static const struct value *product(const struct value *a, const struct value *b)
{
    return value_mul(&lower, a, b);
}

static void load(const struct value *address)
{
    struct ptx_operand to = ptx_reg(&lower.b, MOD_F32);
    ptx_emit(&lower.b, "ld.global.f32", to, value_address(&lower, address));
    ptx_emit(&lower.b, "st.global.f32", value_address(&lower, address), to);
}

static void mark(const char *name)
{
    ptx_place(&lower.b, ptx_new_label(&lower.b, name));
}

/* for (p = start; p < end; p += step) */
struct loop {
    struct frame frame;
    struct ptx_label *head;
    const struct value *counter, *end;
};

static void loop_open(struct loop *f, int64_t start, const struct value *end,
                      const struct value *step)
{
    struct ptx_operand reg = ptx_reg(&lower.b, MOD_B32);
    f->end = end;
    value_into(&lower, number(start), reg);
    frame_open(&lower, &f->frame);
    f->head = ptx_new_label(&lower.b, "loop");
    ptx_place(&lower.b, f->head);
    f->counter = frame_counter(&lower, DT_I32, reg, number(start), step, false);
    value_learn(&lower, f->counter, 1, INT32_MIN, INT32_MAX - 1);
}

static void loop_close(struct loop *f)
{
    frame_latch(&lower);
    const struct value *next = frame_counter_next(&lower, f->counter);
    struct guard again = guard_of(&lower, value_apply2(&lower, OP_LT, DT_BOOL, next, f->end));
    guard_apply(ptx_branch(&lower.b, f->head), again);
    frame_close(&lower, &f->frame);
}

/* Ends the kernel; returns its text, verified, and assembled if ptxas is installed. */
static const char *finish(void)
{
    struct text t;
    struct diag d;
    text_init(&t, &arena);
    diag_init(&d, &arena);
    ptx_emit_plain(&lower.b, "ret");
    ptx_end(&lower.b);
    ptx_print(&t, lower.b.module);
    if (getenv("TW_TEST_SHOW"))
        fputs(t.data, stderr);
    assert_true(ptx_verify(lower.b.module, &d));
    if (system("command -v ptxas > /dev/null 2>&1") != 0)
        return t.data;
    FILE *to = popen("ptxas -arch=sm_80 -o /dev/null /dev/stdin", "w");
    assert_non_null(to);
    fputs(t.data, to);
    assert_int_equal(pclose(to), 0);
    return t.data;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

/* `from` returns the text after the label of that name; `between` ends it at another label. */
static const char *from(const char *text, const char *label)
{
    const char *at = strstr(text, arena_printf(&arena, "$%s_", label));
    assert_non_null(at);
    return at;
}

static const char *between(const char *text, const char *first, const char *last)
{
    const char *start = from(text, first);
    const char *end = strstr(start + 1, arena_printf(&arena, "$%s_", last));
    return arena_string(&arena, start, end ? (size_t)(end - start) : strlen(start));
}

static void all(const char *text, int instructions)
{
    int n = count(text, ";\n");
    if (n != instructions)
        fail_msg("%d instructions instead of %d:\n%s", n, instructions, text);
}

/* --- making --- */

static void equal_values_are_one(void **state)
{
    (void)state;
    const struct value *a = parameter(DT_I32, "a"), *b = parameter(DT_I32, "b");
    assert_ptr_equal(sum(a, b), sum(b, a));
    assert_ptr_equal(value_sub(&lower, sum(a, b), b), a);
    assert_ptr_equal(product(sum(a, number(2)), number(4)), value_affine(&lower, a, 4, 8));
    assert_ptr_equal(value_apply2(&lower, OP_XOR, DT_I32, a, b),
                     value_apply2(&lower, OP_XOR, DT_I32, b, a));
    assert_ptr_equal(value_apply2(&lower, OP_SHL, DT_I32, a, number(3)),
                     value_affine(&lower, a, 8, 0));
    int64_t v;
    assert_true(value_known(value_apply2(&lower, OP_MIN, DT_I32, number(3), number(5)), &v));
    assert_int_equal(v, 3);
    assert_true(value_known(value_sub(&lower, a, a), &v));
    assert_int_equal(v, 0);
    finish();
}

static void i32_wraps_and_an_index_does_not(void **state)
{
    (void)state;
    const struct value *a = parameter(DT_I32, "a");
    const struct value *big = value_affine(&lower, a, 1, INT32_MAX);
    big = value_affine(&lower, big, 2, 2); /* 2a + 2^32 */
    int64_t v;
    assert_true(
        value_known(value_apply2(&lower, OP_ADD, DT_I32, number(INT32_MAX), number(1)), &v));
    assert_int_equal(v, INT32_MIN);
    assert_int_equal(value_least(big), INT32_MIN);
    value_operand(&lower, big);
    mark("wide");
    value_operand(&lower, index_of(big));
    const char *text = finish();
    all(between(text, "wide", "none"), 3); /* mul.wide, add, ret */
    assert_int_equal(count(text, "4294967296"), 1);
    assert_int_equal(count(text, "shl.b32"), 1);
    assert_int_equal(count(text, "add.s32"), 0);
}

static void facts_of_sums(void **state)
{
    (void)state;
    const struct value *m = parameter(DT_I32, "m"), *lane = value_lane(&lower);
    value_learn(&lower, m, 16, 0, 1000);
    assert_int_equal(value_greatest(lane), 31);
    assert_int_equal(value_greatest(value_warp(&lower)), 3);
    const struct value *v = sum(value_affine(&lower, m, 4, 32), value_affine(&lower, lane, 8, 0));
    assert_int_equal(value_divisor(v), 8);
    assert_int_equal(value_least(v), 32);
    assert_int_equal(value_greatest(v), 4 * 992 + 32 + 248); /* 992: the last multiple of 16 */
    assert_int_equal(value_divisor(index_of(v)), 8);
    assert_int_equal(value_divisor(value_apply2(&lower, OP_DIV, DT_I32, m, number(4))), 4);
    assert_int_equal(value_divisor(number(0)), INT64_MAX);
    /* learned later */
    value_learn(&lower, m, 3, 0, 900);
    assert_int_equal(value_divisor(value_affine(&lower, m, 2, 0)), 96);
    assert_int_equal(value_greatest(value_affine(&lower, m, 4, 32)), 4 * 864 + 32);
    /* the grid's extent bounds the block's index */
    struct sym *s = sym_new(kernel, "s", ST_PARAM, type_scalar(DT_I32), LOC_NONE);
    kernel->grid[0] =
        expr_binary(kernel, OP_CDIV, type_scalar(DT_I32), LOC_NONE, expr_ref(kernel, s, LOC_NONE),
                    expr_int(kernel, DT_I32, 128, LOC_NONE));
    const struct value *i = value_affine(&lower, value_special(&lower, PTX_SREG_CTAID_X), 128, 127);
    assert_int_equal(value_greatest(i), INT32_MAX);
    assert_int_equal(value_least(i), 127);
    int64_t zero;
    assert_true(value_known(value_special(&lower, PTX_SREG_CTAID_Y), &zero));
}

static void bits_of_lanes(void **state)
{
    (void)state;
    const struct value *lane = value_lane(&lower), *warp = value_warp(&lower);
    assert_ptr_equal(value_bits(&lower, lane, 0, 5), lane);
    const struct value *tid = sum(value_affine(&lower, warp, 32, 0), lane);
    assert_ptr_equal(value_bits(&lower, tid, 0, 5), lane);
    assert_ptr_equal(value_apply2(&lower, OP_DIV, DT_I32, tid, number(32)), warp);
    assert_ptr_equal(value_apply2(&lower, OP_REM, DT_I32, tid, number(32)), lane);
    /* no bit in common: xor becomes a sum */
    assert_ptr_equal(value_xor(&lower, value_affine(&lower, warp, 32, 0), lane), tid);
    /* the swizzle touches the low bits only */
    const struct value *row = value_bits(&lower, lane, 0, 3);
    const struct value *address =
        sum(value_affine(&lower, warp, 8, 0), value_bits(&lower, lane, 2, 3));
    const struct value *swizzled = value_xor(&lower, address, row);
    assert_ptr_equal(value_sub(&lower, swizzled, value_affine(&lower, warp, 8, 0)),
                     value_xor(&lower, value_bits(&lower, lane, 2, 3), row));
    finish();
}

static void comparisons_are_decided(void **state)
{
    (void)state;
    const struct value *lane = value_lane(&lower), *m = parameter(DT_I32, "m");
    int64_t v;
    assert_true(value_known(value_apply2(&lower, OP_LT, DT_BOOL, lane, number(32)), &v) && v);
    assert_true(value_known(value_apply2(&lower, OP_GE, DT_BOOL, lane, number(0)), &v) && v);
    value_learn(&lower, m, 16, 0, 1 << 20);
    const struct value *more = value_affine(&lower, m, 1, 16);
    assert_true(value_known(value_apply2(&lower, OP_LT, DT_BOOL, m, more), &v) && v);
    const struct value *odd = value_affine(&lower, m, 2, 1);
    assert_true(value_known(value_apply2(&lower, OP_EQ, DT_BOOL, odd, number(100)), &v) && !v);
    const struct value *less = value_apply2(&lower, OP_LT, DT_BOOL, lane, m);
    assert_ptr_equal(value_apply1(&lower, OP_NOT, DT_BOOL, less),
                     value_apply2(&lower, OP_GE, DT_BOOL, lane, m));
    assert_true(guard_of(&lower, value_int(&lower, DT_BOOL, 0)).never);
    assert_true(guard_of(&lower, value_int(&lower, DT_BOOL, 1)).always);
    finish();
}

/* --- emitting --- */

static void emitted_once(void **state)
{
    (void)state;
    const struct value *a = parameter(DT_I32, "a"), *b = parameter(DT_I32, "b");
    const struct value *c = sum(product(a, b), number(3));
    mark("body");
    struct ptx_operand x = value_operand(&lower, c), y = value_operand(&lower, c);
    assert_int_equal(x.reg, y.reg);
    const char *text = finish();
    all(between(text, "body", "none"), 3); /* mul, add, ret */
}

static void common_factor(void **state)
{
    (void)state;
    const struct value *k = parameter(DT_I32, "k"), *i = parameter(DT_I32, "i");
    const struct value *row = value_lane(&lower), *base = parameter(DT_I64, "p");
    value_learn(&lower, i, 1, 0, 1 << 30);
    const struct value *at = product(index_of(k), sum(index_of(i), index_of(row)));
    value_operand(&lower, sum(i, row));
    mark("body");
    load(sum(base, value_affine(&lower, at, 2, 64)));
    const char *text = finish();
    all(between(text, "body", "none"), 6); /* mul.wide, shl, add, ld, st, ret */
    assert_int_equal(count(text, "+64]"), 2);
}

static void addresses_share_a_register(void **state)
{
    (void)state;
    const struct value *base = parameter(DT_I64, "p"), *n = parameter(DT_I32, "n");
    const struct value *at = sum(base, value_affine(&lower, index_of(n), 4, 0));
    mark("body");
    load(value_affine(&lower, at, 1, 4));
    load(value_affine(&lower, at, 1, -4));
    load(value_affine(&lower, at, 1, (1 << 23) - 1));
    load(value_affine(&lower, at, 1, 5 << 23)); /* too far */
    load(value_affine(&lower, at, 1, (5 << 23) + 16));
    const char *text = finish();
    all(between(text, "body", "none"), 2 + 10 + 1);
}

static void rows_of_a_tile(void **state)
{
    (void)state;
    const struct value *base = parameter(DT_I64, "p"), *n = parameter(DT_I32, "n");
    const struct value *row = value_lane(&lower);
    value_operand(&lower, row);
    mark("body");
    for (int u = 0; u < 4; u++) {
        const struct value *at =
            product(index_of(n), value_affine(&lower, index_of(row), 1, 8 * u));
        load(sum(base, value_affine(&lower, at, 4, 0)));
    }
    const char *text = finish();
    all(between(text, "body", "none"), 2 + 3 + 8 + 1); /* 4 * row, mad.wide; one more a row */
    assert_int_equal(count(text, "mad.wide.s32"), 3 + 1);
}

/* --- loops --- */

static void invariants_are_hoisted(void **state)
{
    (void)state;
    struct loop outer, inner;
    const struct value *a = parameter(DT_I32, "a"), *b = parameter(DT_I32, "b");
    loop_open(&outer, 0, a, number(1));
    loop_open(&inner, 0, b, number(1));
    mark("body");
    value_operand(&lower, product(a, b));
    value_operand(&lower, value_apply2(&lower, OP_MAX, DT_I32, outer.counter, b));
    loop_close(&inner);
    loop_close(&outer);
    const char *text = finish();
    assert_true(strstr(text, "mul.lo") < strstr(text, "$loop_0"));
    assert_true(strstr(text, "max.s32") > strstr(text, "$loop_0"));
    assert_true(strstr(text, "max.s32") < strstr(text, "$loop_1"));
}

/* A[row][p], B[p][col] of the simplest kernel, unrolled by 4. */
static void pointers_are_stepped(void **state)
{
    (void)state;
    struct loop f;
    const struct value *a = parameter(DT_I64, "a"), *b = parameter(DT_I64, "b");
    const struct value *k = parameter(DT_I32, "k"), *n = parameter(DT_I32, "n");
    const struct value *row = value_warp(&lower), *col = value_lane(&lower);
    loop_open(&f, 0, k, number(4));
    mark("body");
    for (int u = 0; u < 4; u++) {
        const struct value *p = value_affine(&lower, index_of(f.counter), 1, u);
        const struct value *at = sum(product(index_of(row), index_of(k)), p);
        load(sum(a, value_affine(&lower, at, 4, 0)));
        at = sum(product(p, index_of(n)), index_of(col));
        load(sum(b, value_affine(&lower, at, 4, 0)));
    }
    loop_close(&f);
    const char *text = finish(), *body = between(text, "body", "none");
    /* 16 accesses; 3 rows of b from the first; steps of two pointers and the counter; setp, bra,
     * ret */
    all(body, 16 + 3 + 3 + 3);
    assert_int_equal(count(body, "add.s64"), 3 + 1 + 1);
    assert_int_equal(count(text, "mul.wide.s32"), 1); /* 4 n, before the loop */
    assert_int_equal(count(body, "cvt"), 0);
}

static void nested_pointers(void **state)
{
    (void)state;
    struct loop outer, inner;
    const struct value *a = parameter(DT_I64, "a"), *m = parameter(DT_I32, "m");
    const struct value *n = parameter(DT_I32, "n");
    loop_open(&outer, 0, m, number(1));
    mark("outer");
    loop_open(&inner, 2, n, number(1));
    mark("inner");
    const struct value *at =
        sum(product(index_of(outer.counter), index_of(n)), index_of(inner.counter));
    load(sum(a, value_affine(&lower, at, 4, 0)));
    loop_close(&inner);
    mark("after");
    loop_close(&outer);
    const char *text = finish();
    all(between(text, "outer", "loop"), 2); /* start of the inner counter and of its pointer */
    all(between(text, "inner", "after"), 2 + 2 + 2);
    all(between(text, "after", "none"), 2 + 2 + 1);
}

/* A value loaded in the loop is added to the pointer that follows the counter. */
static void partly_followed(void **state)
{
    (void)state;
    struct loop f;
    const struct value *a = parameter(DT_I64, "a"), *n = parameter(DT_I32, "n");
    loop_open(&f, 0, n, number(1));
    struct ptx_operand reg = ptx_reg(&lower.b, MOD_B32);
    ptx_emit(&lower.b, "ld.global.u32", reg, value_address(&lower, a));
    const struct value *loaded = value_of_register(&lower, DT_I32, reg);
    mark("body");
    const struct value *at = sum(product(index_of(f.counter), index_of(n)), index_of(loaded));
    load(sum(a, value_affine(&lower, at, 4, 0)));
    loop_close(&f);
    const char *text = finish();
    all(between(text, "body", "none"), 1 + 2 + 2 + 2 + 1);
}

static void shared_addresses(void **state)
{
    (void)state;
    struct loop f;
    const struct value *n = parameter(DT_I32, "n"), *base = parameter(DT_I32, "s");
    loop_open(&f, 0, n, number(1));
    mark("body");
    const struct value *at = sum(base, value_affine(&lower, f.counter, 64, 0));
    struct ptx_operand to = ptx_reg(&lower.b, MOD_F32);
    ptx_emit(&lower.b, "ld.shared.f32", to, value_address(&lower, at));
    ptx_emit(&lower.b, "ld.shared.f32", to,
             value_address(&lower, value_affine(&lower, at, 1, 128)));
    ptx_emit(&lower.b, "ld.shared.f32", to, value_address(&lower, number(256)));
    loop_close(&f);
    const char *text = finish();
    all(between(text, "body", "none"), 3 + 2 + 2 + 1);
    assert_int_equal(count(text, "+256]"), 1);
}

static void masks_in_loops(void **state)
{
    (void)state;
    struct loop f;
    const struct value *k = parameter(DT_I32, "k"), *col = value_lane(&lower);
    loop_open(&f, 0, k, number(32));
    mark("body");
    const struct value *at = sum(index_of(f.counter), index_of(col));
    struct guard g = guard_of(&lower, value_apply2(&lower, OP_LT, DT_BOOL, at, index_of(k)));
    guard_apply(ptx_emit_plain(&lower.b, "ret"), g);
    loop_close(&f);
    const char *text = finish();
    /* the column is subtracted from the bound before the loop */
    all(between(text, "body", "none"), 2 + 1 + 2 + 1);
}

/* --- scopes --- */

static void forgotten_at_the_end_of_a_scope(void **state)
{
    (void)state;
    struct scope s;
    const struct value *a = parameter(DT_I32, "a"), *b = parameter(DT_I32, "b");
    const struct value *c = product(a, b);
    scope_open(&lower, &s);
    struct ptx_operand in = value_operand(&lower, c);
    assert_int_equal(value_operand(&lower, c).reg, in.reg);
    scope_close(&lower, &s);
    assert_true(value_operand(&lower, c).reg != in.reg);
    finish();
}

static void hoisted_out_of_a_scope(void **state)
{
    (void)state;
    struct scope s;
    struct loop f;
    const struct value *a = parameter(DT_I32, "a"), *b = parameter(DT_I32, "b");
    const struct value *c = product(a, b);
    loop_open(&f, 0, a, number(1));
    scope_open(&lower, &s);
    struct ptx_operand in = value_operand(&lower, c);
    struct ptx_operand varying = value_operand(&lower, product(f.counter, b));
    scope_close(&lower, &s);
    assert_int_equal(value_operand(&lower, c).reg, in.reg);
    assert_true(value_operand(&lower, product(f.counter, b)).reg != varying.reg);
    loop_close(&f);
    assert_true(value_operand(&lower, c).reg != in.reg); /* the loop may have been skipped */
    finish();
}

static void variables_are_read_in_time(void **state)
{
    (void)state;
    struct ptx_operand reg = ptx_reg(&lower.b, MOD_B32);
    const struct value *a = parameter(DT_I32, "a");
    value_into(&lower, a, reg);
    const struct value *before = value_of_variable(&lower, DT_I32, reg);
    const struct value *more = value_affine(&lower, before, 1, 1);
    assert_true(value_is_fleeting(more));
    assert_false(value_is_fleeting(a));
    struct ptx_operand kept = value_operand(&lower, more);
    value_into(&lower, more, reg);
    const struct value *after = value_of_variable(&lower, DT_I32, reg);
    assert_ptr_not_equal(before, after);
    assert_int_equal(value_operand(&lower, more).reg, kept.reg);
    finish();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(equal_values_are_one),    TEST(i32_wraps_and_an_index_does_not),
        TEST(facts_of_sums),           TEST(bits_of_lanes),
        TEST(comparisons_are_decided), TEST(emitted_once),
        TEST(common_factor),           TEST(addresses_share_a_register),
        TEST(rows_of_a_tile),          TEST(invariants_are_hoisted),
        TEST(pointers_are_stepped),    TEST(nested_pointers),
        TEST(partly_followed),         TEST(shared_addresses),
        TEST(masks_in_loops),          TEST(forgotten_at_the_end_of_a_scope),
        TEST(hoisted_out_of_a_scope),  TEST(variables_are_read_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
