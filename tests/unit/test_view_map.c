/* The tensor map of a view at a launch: axes, strides, views without elements, refusals; the cache
 * of encoded maps. */
#include "base/tensor_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static struct map_form form(int rank, bool strided)
{
    return (struct map_form){.view = "A",
                             .type = DT_F16,
                             .element = 2,
                             .rank = rank,
                             .swizzle = SWIZZLE_128B,
                             .strided = strided,
                             .box = {1, 16, 64}};
}

static void takes_axes_from_the_last_one(void **state)
{
    (void)state;
    struct map_form f = form(3, false);
    struct map_request r;
    struct map_refusal why;
    int64_t extent[] = {5, 100, 24}, stride[3] = {0};
    assert_int_equal(map_find(&f, 0x1000, 8, extent, stride, &r, &why), MAP_READY);
    assert_true(r.address == 0x1010 && r.rank == 3 && r.swizzle == SWIZZLE_128B);
    assert_true(r.extent[0] == 24 && r.extent[1] == 100 && r.extent[2] == 5);
    assert_true(r.stride[1] == 48 && r.stride[2] == 4800);
    assert_true(r.box[0] == 64 && r.box[1] == 16 && r.box[2] == 1);
    char text[TENSOR_MAP_MESSAGE];
    struct tensor_map map = tensor_map_of(&r, DT_F16);
    assert_true(tensor_map_check(&map, text));
    assert_true(map.strides[2] == 4800 && map.steps[2] == 1 && map.type == DT_F16);
}

static void takes_the_strides_of_the_view(void **state)
{
    (void)state;
    struct map_form f = form(2, true);
    struct map_request r;
    struct map_refusal why;
    assert_int_equal(map_find(&f, 0x1000, 0, (int64_t[]){7, 17}, (int64_t[]){40, 1}, &r, &why),
                     MAP_READY);
    assert_true(r.stride[1] == 80 && r.extent[0] == 17);
}

/* An axis of one element has no next one, so its stride does not matter. */
static void one_row_may_have_any_length(void **state)
{
    (void)state;
    struct map_form f = form(2, false);
    struct map_request r;
    struct map_refusal why;
    assert_int_equal(map_find(&f, 0x1000, 0, (int64_t[]){1, 17}, (int64_t[]){0, 0}, &r, &why),
                     MAP_READY);
    assert_int_equal(r.stride[1], 48);
    f.strided = true;
    assert_int_equal(map_find(&f, 0x1000, 0, (int64_t[]){8, 1}, (int64_t[]){24, 5}, &r, &why),
                     MAP_READY);
    assert_int_equal(r.stride[1], 48);
}

static void a_view_without_elements_has_no_map(void **state)
{
    (void)state;
    struct map_form f = form(2, false);
    struct map_request r;
    struct map_refusal why;
    assert_int_equal(map_find(&f, 0, 0, (int64_t[]){5, 0}, (int64_t[]){0, 0}, &r, &why), MAP_EMPTY);
    assert_int_equal(map_find(&f, 3, 0, (int64_t[]){0, 17}, (int64_t[]){0, 0}, &r, &why),
                     MAP_EMPTY);
}

static void refused(bool strided, uint64_t base, int64_t offset, const int64_t *extent,
                    const int64_t *stride, const char *text, const char *way_out)
{
    struct map_form f = form(3, strided);
    struct map_request r;
    struct map_refusal why;
    assert_int_equal(map_find(&f, base, offset, extent, stride, &r, &why), MAP_REFUSED);
    assert_string_equal(why.text, text);
    assert_memory_equal(why.way_out, way_out, strlen(way_out));
}

#define EXTENTS(...) ((int64_t[]){__VA_ARGS__})

static void names_what_is_refused(void **state)
{
    (void)state;
    const int64_t *none = EXTENTS(0, 0, 0);
    refused(false, 0x1000, 0, EXTENTS(5, 100, 17), none,
            "`A` has rows of 34 bytes along axis 1; tensor copies need rows of a multiple of 16 "
            "bytes",
            "pad the rows, or");
    refused(true, 0x1000, 0, EXTENTS(5, 100, 16), EXTENTS(1604, 16, 1),
            "`A` has slices of 3208 bytes along axis 0; tensor copies need slices of a multiple of "
            "16 bytes",
            "pad the rows, or");
    refused(true, 0x1000, 0, EXTENTS(5, 100, 16), EXTENTS(1600, -16, 1),
            "`A` has rows of -32 bytes along axis 1; tensor copies need rows that do not go "
            "backwards",
            "pad the rows, or");
    refused(true, 0x1000, 0, EXTENTS(5, 100, 16), EXTENTS(INT64_C(1) << 60, 16, 1),
            "`A` has slices of 9007199254740992 bytes along axis 0; tensor copies need slices of "
            "less than 2^40 bytes",
            "pad the rows, or");
    refused(true, 0x1000, 0, EXTENTS(5, 100, 16), EXTENTS(1600, 1, 100),
            "`A` has elements 200 bytes apart along axis 2; tensor copies need neighbours along "
            "the last axis",
            "copy the array, or");
    refused(false, 0x1000, 1, EXTENTS(5, 100, 16), none,
            "`A` begins at address 0x1002; tensor copies need an address of a multiple of 16 bytes",
            "let the array begin");
    refused(false, 0x1000, 0, EXTENTS((INT64_C(1) << 32) + 1, 1, 16), none,
            "`A` has 4294967297 elements along axis 0; tensor copies take at most 2^32",
            "split the array, or");
    refused(false, 0x1000, 0, EXTENTS(2, INT64_C(1) << 32, INT64_C(1) << 32), none,
            "`A` has slices of 9007199254740992 bytes along axis 0; tensor copies need slices of "
            "less than 2^40 bytes",
            "pad the rows, or");
}

static void keeps_the_latest_codes(void **state)
{
    (void)state;
    static struct map_cache cache;
    struct map_request r = {.extent = {64, 64}, .rank = 2};
    for (uint64_t i = 1; i <= 1000; i++) {
        uint64_t code[MAP_WORDS] = {i, [MAP_WORDS - 1] = ~i};
        r.address = i * 256;
        assert_null(map_cached(&cache, &r));
        map_keep(&cache, &r, code);
        assert_memory_equal(map_cached(&cache, &r), code, sizeof code);
    }
    /* A set has the latest MAP_WAYS that were put into it. */
    int kept = 0;
    for (uint64_t i = 1; i <= 1000; i++) {
        r.address = i * 256;
        const uint64_t *code = map_cached(&cache, &r);
        assert_true(!code || code[0] == i);
        kept += code != NULL;
    }
    assert_int_equal(kept, MAP_SETS * MAP_WAYS);
    r.extent[1] = 65;
    assert_null(map_cached(&cache, &r));
}

static void knows_the_numbers_of_types(void **state)
{
    (void)state;
    for (int t = 0; t < DT_COUNT; t++)
        assert_in_range(tensor_map_type((enum dtype)t), 0, 9);
    assert_int_equal(tensor_map_type(DT_BF16), 9);
    assert_int_equal(tensor_map_type(DT_NONE), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_axes_from_the_last_one),
        cmocka_unit_test(takes_the_strides_of_the_view),
        cmocka_unit_test(one_row_may_have_any_length),
        cmocka_unit_test(a_view_without_elements_has_no_map),
        cmocka_unit_test(names_what_is_refused),
        cmocka_unit_test(keeps_the_latest_codes),
        cmocka_unit_test(knows_the_numbers_of_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
