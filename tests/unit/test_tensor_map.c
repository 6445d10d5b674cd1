/* Tensor maps: the limits of the copy engine, each with its message, and the simulator's bytes. */
#include "base/tensor_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static struct tensor_map sound(void)
{
    return (struct tensor_map){.address = 0x1000,
                               .type = DT_BF16,
                               .rank = 3,
                               .extents = {72, 250, 4},
                               .strides = {0, 144, 36000},
                               .box = {64, 128, 1},
                               .steps = {1, 1, 1},
                               .swizzle = SWIZZLE_128B};
}

static void encodes_and_decodes(void **state)
{
    (void)state;
    char why[TENSOR_MAP_MESSAGE];
    uint8_t bytes[TENSOR_MAP_BYTES];
    struct tensor_map map = sound(), back;
    map.extents[2] = UINT64_C(1) << 32;
    map.steps[1] = 3;
    assert_true(tensor_map_check(&map, why));
    tensor_map_encode(&map, bytes);
    assert_true(tensor_map_decode(bytes, &back));
    assert_memory_equal(back.extents, map.extents, sizeof map.extents);
    assert_memory_equal(back.strides, map.strides, sizeof map.strides);
    assert_memory_equal(back.box, map.box, sizeof map.box);
    assert_memory_equal(back.steps, map.steps, sizeof map.steps);
    assert_true(back.address == 0x1000 && back.type == DT_BF16 && back.rank == 3);
    assert_int_equal(back.swizzle, SWIZZLE_128B);
    assert_int_equal(tensor_map_count(&back, 1), 43);
    assert_int_equal(tensor_map_box_bytes(&back), 43 * 128);
    memset(bytes, 0, sizeof bytes);
    assert_false(tensor_map_decode(bytes, &back));
}

static void refused(struct tensor_map map, const char *message)
{
    char why[TENSOR_MAP_MESSAGE];
    assert_false(tensor_map_check(&map, why));
    assert_string_equal(why, message);
}

#define REFUSED(change, message)                                                                   \
    do {                                                                                           \
        struct tensor_map m = sound();                                                             \
        change;                                                                                    \
        refused(m, message);                                                                       \
    } while (0)

static void names_what_it_refuses(void **state)
{
    (void)state;
    REFUSED(m.rank = 6, "a tensor map has 1 to 5 axes, not 6");
    REFUSED(m.type = DT_BOOL, "a tensor map needs a type of numbers for its elements");
    REFUSED(m.swizzle = SWIZZLE_COUNT, "a swizzle is one of none, 32, 64 and 128 bytes");
    REFUSED(m.address = 0x1008, "the array's address 0x1008 is not a multiple of 16 bytes");
    REFUSED(m.extents[1] = 0, "the extent of axis 1 is 0: 1 to 4294967296 elements");
    REFUSED(m.extents[0] = (UINT64_C(1) << 32) + 1,
            "the extent of axis 0 is 4294967297: 1 to 4294967296 elements");
    REFUSED(m.strides[1] = 140, "the stride of axis 1, 140 bytes, is not a multiple of 16");
    REFUSED(m.strides[2] = UINT64_C(1) << 40,
            "the stride of axis 2 is 1099511627776 bytes: less than 1099511627776");
    REFUSED(m.box[1] = 257, "the box has 257 elements along axis 1: 1 to 256");
    REFUSED(m.box[0] = 60, "the box has 120 bytes along axis 0, not a multiple of 16");
    REFUSED(m.swizzle = SWIZZLE_64B,
            "the box has 128 bytes along axis 0, and the swizzle at most 64");
    REFUSED(m.steps[1] = 9, "the step along axis 1 is 9 elements: 1 to 8");
}

static void swizzles_by_address_bits(void **state)
{
    (void)state;
    assert_int_equal(tensor_swizzled(SWIZZLE_NONE, 0x3f0), 0x3f0);
    assert_int_equal(tensor_swizzled(SWIZZLE_32B, 0x3f0), 0x3e0);
    assert_int_equal(tensor_swizzled(SWIZZLE_64B, 0x3f0), 0x3c0);
    assert_int_equal(tensor_swizzled(SWIZZLE_128B, 0x3f0), 0x380);
    assert_int_equal(tensor_swizzled(SWIZZLE_128B, 0x4a4), 0x4b4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_and_decodes),
        cmocka_unit_test(names_what_it_refuses),
        cmocka_unit_test(swizzles_by_address_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
