/* Layouts as text: printed layouts parse back, wrong ones get a message; drawings. */
#include "layout/layout_draw.h"
#include "layout/layout_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_helper.h"
#include "test_layout_random.h"

static const char *text_of(const struct layout *l)
{
    struct text t;
    text_init(&t, &arena);
    layout_print(&t, l);
    return t.data;
}

static void check_text(const struct layout *l, const char *expected)
{
    assert_string_equal(text_of(l), expected);
}

static void texts_of_known_layouts(void **state)
{
    (void)state;
    struct layout l, plain, staged;
    struct mma_tiling t = {.shape = {16, 8, 16, 16}, .warps_m = 2, .warps_n = 2};
    layout_mma((struct mma_shape){16, 8, 16, 16}, MATRIX_C, &l);
    check_text(&l, "layout(reg(2:[0][1], 2:[8][0]), lane(4:[0][2], 8:[1][0]) -> [16][8])");
    layout_mma_tile(&t, MATRIX_A, (const int32_t[]){128, 80}, &l);
    check_text(&l,
               "layout(reg(2:[0][1], 2:[8][0], 10:[0][8], 4:[16][0]), lane(4:[0][2], 8:[1][0]), "
               "warp(2:0, 2:[64][0]) -> [128][80])");
    layout_rows((const int32_t[]){96, 64}, 2, 0, &plain);
    layout_swizzled(&plain, 3, 3, 3, &l);
    check_text(&l, "layout(d0(^72, ^144, ^288, 12:512), d1(8:1, ^8, ^16, ^32) -> 6144)");
    with_stages(&l, 3, 6144, &staged);
    check_text(&staged, "layout(stage(3:6144), d0(^72, ^144, ^288, 12:512), d1(8:1, ^8, ^16, ^32) "
                        "-> 18432)");
    layout_slice_in(&l, AXIS_D0, 8, 8, &plain);
    check_text(&plain, "layout(d0(^72, ^144, ^288), d1(8:1, ^8, ^16, ^32) -> 6144 offset 512)");
    layout_invert(&l, &plain);
    check_text(&plain, "layout(at(8:[0][1], ^[0][8], ^[0][16], ^[0][32], ^[1][8], ^[2][16], "
                       "^[4][32], 12:[8][0]) -> [96][64])");
    layout_drop_out(&plain, AXIS_D1, &l);
    layout_drop_out(&l, AXIS_D0, &plain);
    check_text(&plain, "layout(at(6144:0) -> )");
    const char *why, *text = text_of(&plain);
    size_t at;
    assert_int_equal(layout_parse(text, strlen(text), &l, &why, &at), strlen(text));
    assert_true(layout_equal(&l, &plain));
    layout_mma((struct mma_shape){16, 8, 4, 32}, MATRIX_A, &l);
    layout_invert(&l, &plain);
    check_text(&plain, "layout(d0(8:[0][4], 2:[1][0]), d1(4:[0][1]) -> [reg 2][lane 32])");
}

static void what_is_printed_parses_back(void **state)
{
    (void)state;
    uint64_t seed = 41;
    for (int n = random_rounds(2000); n > 0; n--) {
        struct layout l, memory, all, again;
        const char *why, *text;
        size_t at;
        arena_free(&arena);
        random_registers(&seed, random_below(&seed, 2), &l);
        random_shared(&seed, (const int32_t[]){l.outs[0].extent, l.outs[1].extent}, &memory);
        if (n % 3 == 1)
            l = memory;
        if (n % 3 == 2 && layout_compose(&memory, &l, &all))
            l = all;
        if (n % 5 == 0)
            l.offset[0] = 3 - random_below(&seed, 6);
        layout_normalise(&l);
        text = text_of(&l);
        size_t read = layout_parse(text, strlen(text), &again, &why, &at);
        if (read != strlen(text))
            print_error("%s: %s at %d\n", text, why, (int)at);
        assert_int_equal(read, strlen(text));
        assert_true(layout_same(&l, &again));
        assert_string_equal(text, text_of(&again));
    }
}

static void check_error(const char *text, const char *expected, size_t expected_at)
{
    struct layout l;
    const char *why;
    size_t at;
    assert_int_equal(layout_parse(text, strlen(text), &l, &why, &at), 0);
    assert_string_equal(why, expected);
    assert_int_equal(at, expected_at);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    struct layout l;
    const char *why;
    size_t at;
    const char *text = " layout ( reg ( 2 : [1] ) , lane(32:[2]) -> [ 64 ] ) rest";
    assert_int_equal(layout_parse(text, strlen(text), &l, &why, &at), strlen(text) - 5);
    check_text(&l, "layout(reg(2:[1]), lane(32:[2]) -> [64])");
    check_error("lay", "expected 'layout'", 0);
    check_error("layout[", "expected '('", 6);
    check_error("layout(thread(2:1) -> 4)",
                "expected reg, lane, warp, block, stage, d0 to d5 or at", 7);
    check_error("layout(reg 2:1 -> 4)", "expected '('", 11);
    check_error("layout(reg(2 1) -> 4)", "expected ':' and a step", 13);
    check_error("layout(reg(0:1) -> 4)", "an extent is at least 1", 12);
    check_error("layout(reg(2:x) -> 4)", "expected a number", 13);
    check_error("layout(reg(2:99999999999) -> 4)", "the number is too large", 22);
    check_error("layout(reg(2:1), reg(2:2) -> 4)", "this counter was there before", 20);
    check_error("layout(reg(2:1) 4)", "expected ',' or '->'", 16);
    check_error("layout(reg(2:1) -> 4", "expected ')'", 20);
    check_error("layout(reg(2:[1][2]) -> [4])", "a step has a number for each result", 28);
    check_error("layout(reg(^-1) -> 4)", "bits to xor are not negative", 21);
    check_error("layout(reg(2:1) -> [d1 2][d0 2])",
                "results are in the order reg, lane, warp, "
                "block, stage, d0, ..., at",
                30);
    check_error("layout(reg(65536:1), lane(65536:1) -> 4)", "the layout is too large", 40);
}

/* Whatever the text, the parser either succeeds or gives a message. */
static void broken_texts(void **state)
{
    (void)state;
    static const char alphabet[] = "layout(reg,lane warp d0 d1 at:^+-> []0123456789)";
    uint64_t seed = 42;
    for (int n = random_rounds(3000); n > 0; n--) {
        struct layout l;
        const char *why;
        size_t at, length;
        arena_free(&arena);
        random_registers(&seed, false, &l);
        const char *printed = text_of(&l);
        char *text = arena_string(&arena, printed, strlen(printed));
        length = strlen(text);
        for (int edits = 1 + random_below(&seed, 3); edits > 0; edits--)
            text[random_below(&seed, (int)length)] =
                alphabet[random_below(&seed, (int)sizeof alphabet - 1)];
        size_t read = layout_parse(text, length - (size_t)random_below(&seed, 2), &l, &why, &at);
        assert_true((read == 0) == (why != NULL));
        assert_true(at <= length);
        if (read)
            text_of(&l);
    }
}

/* Checks that the text begins with `head`. */
static void check_head(const char *text, const char *head)
{
    assert_true(strlen(text) >= strlen(head));
    char *start = arena_string(&arena, text, strlen(head));
    assert_string_equal(start, head);
}

static void a_fragment_drawn(void **state)
{
    (void)state;
    struct text t;
    struct layout l;
    struct mma_tiling tiling = {.shape = {16, 8, 16, 16}, .warps_m = 2, .warps_n = 2};
    text_init(&t, &arena);
    layout_mma_tile(&tiling, MATRIX_C, (const int32_t[]){32, 16}, &l);
    layout_draw(&t, &l, (struct draw_limits){20, 10});
    check_head(
        t.data,
        "             0       1       2       3       4       5       6       7       8       9 "
        "...\n"
        "      +-warp 0--------------------------------------------------------+-warp 1--------\n"
        "    0 |  T0:R0   T0:R1   T1:R0   T1:R1   T2:R0   T2:R1   T3:R0   T3:R1|  T0:R0   T0:R1\n"
        "    1 |  T4:R0   T4:R1   T5:R0   T5:R1   T6:R0   T6:R1   T7:R0   T7:R1|  T4:R0   T4:R1\n");
    assert_non_null(strstr(
        t.data,
        "      +-warp 2--------------------------------------------------------+-warp 3--------\n"
        "   16 |  T0:R0   T0:R1   T1:R0   T1:R1   T2:R0   T2:R1   T3:R0   T3:R1|  T0:R0   "
        "T0:R1\n"));
    assert_non_null(strstr(t.data, "20 x 10 of 32 x 16 elements\n"));
    assert_null(strstr(t.data, "hold the same"));
    layout_mma_tile(&tiling, MATRIX_A, (const int32_t[]){32, 16}, &l);
    text_init(&t, &arena);
    layout_draw(&t, &l, (struct draw_limits){4, 4});
    assert_string_equal(
        t.data,
        "             0       1       2       3 ...\n"
        "      +-warp 0------------------------\n"
        "    0 |  T0:R0   T0:R1   T1:R0   T1:R1\n"
        "    1 |  T4:R0   T4:R1   T5:R0   T5:R1\n"
        "    2 |  T8:R0   T8:R1   T9:R0   T9:R1\n"
        "    3 | T12:R0  T12:R1  T13:R0  T13:R1\n"
        "  ...\n"
        "4 x 4 of 32 x 16 elements\n"
        "an element is held up to 2 times, by as many threads or registers; the first is shown\n");
}

static void places_drawn(void **state)
{
    (void)state;
    struct text t;
    struct layout plain, l;
    text_init(&t, &arena);
    layout_rows((const int32_t[]){4, 4}, 2, 0, &plain);
    layout_swizzled(&plain, 1, 1, 2, &l);
    layout_draw_places(&t, &l, 32, (struct draw_limits){0, 0});
    assert_string_equal(t.data, "             0       1       2       3\n"
                                "    0    0 b00   1 b01   2 b02   3 b03\n"
                                "    1    4 b04   5 b05   6 b06   7 b07\n"
                                "    2   10 b10  11 b11   8 b08   9 b09\n"
                                "    3   14 b14  15 b15  12 b12  13 b13\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_known_layouts), cmocka_unit_test(what_is_printed_parses_back),
        cmocka_unit_test(what_is_wrong_is_said),  cmocka_unit_test(broken_texts),
        cmocka_unit_test(a_fragment_drawn),       cmocka_unit_test(places_drawn),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}
