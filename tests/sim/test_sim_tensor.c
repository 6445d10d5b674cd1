/* Copies of the copy engine, in and out: boxes of 1 to 5 axes that reach outside the tensor on
 * every side, every swizzle, steps, every size of element, plain copies; the bytes are compared
 * with a plain walk over the box. Maps and sizes that are refused. */
#include "base/tensor_map.h"
#include "sim_helper.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 64, SHARED = 65536 };

static const char head[] = ".version 8.0\n.target sm_90a\n.address_size 64\n"
                           ".extern .shared .align 1024 .b8 memory[];\n";

/* Parameters: the map, an array of `bytes` bytes, the first element's coordinates. */
static const char parameters[] =
    "(.param .align 64 .b8 map[128], .param .u64 array, .param .u32 bytes, .param .u32 x0,"
    " .param .u32 x1, .param .u32 x2, .param .u32 x3, .param .u32 x4)\n{\n"
    ".reg .b32 %r<16>, %x<5>; .reg .b64 %rd<8>; .reg .pred %p<4>; .shared .align 8 .b64 bar;\n"
    "mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [array]; cvta.to.global.u64 %rd0, %rd0;\n"
    "ld.param.u32 %r1, [bytes]; ld.param.u32 %x0, [x0]; ld.param.u32 %x1, [x1];\n"
    "ld.param.u32 %x2, [x2]; ld.param.u32 %x3, [x3]; ld.param.u32 %x4, [x4];\n"
    "mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; mov.u32 %r2, memory; mov.u32 %r3, bar;\n"
    "setp.ne.u32 %p0, %r0, 0;\n";

/* Copies shared memory to the array, or back, word by word. */
static const char move_out[] = "shl.b32 %r4, %r0, 2;\nMOVE: setp.ge.u32 %p1, %r4, %r1;\n"
                               "@%p1 bra MOVED; cvt.u64.u32 %rd2, %r4; add.u64 %rd2, %rd2, %rd0;\n"
                               "add.u32 %r5, %r2, %r4; ld.shared.u32 %r6, [%r5];\n"
                               "st.global.u32 [%rd2], %r6; add.u32 %r4, %r4, 256; bra MOVE;\n"
                               "MOVED:\n";
static const char move_in[] = "shl.b32 %r4, %r0, 2;\nMOVE: setp.ge.u32 %p1, %r4, %r1;\n"
                              "@%p1 bra MOVED; cvt.u64.u32 %rd2, %r4; add.u64 %rd2, %rd2, %rd0;\n"
                              "add.u32 %r5, %r2, %r4; ld.global.u32 %r6, [%rd2];\n"
                              "st.shared.u32 [%r5], %r6; add.u32 %r4, %r4, 256; bra MOVE;\n"
                              "MOVED: fence.proxy.async; bar.sync 0;\n";
static const char begin[] = "@%p0 bra BEGUN; mbarrier.init.shared.b64 [%r3], 1;\n"
                            "fence.mbarrier_init.release.cluster;\n"
                            "mbarrier.arrive.expect_tx.shared.b64 _, [%r3], %r1;\n";
static const char wait[] = "BEGUN: bar.sync 0;\n"
                           "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;\n"
                           "@!%p2 bra WAIT;\n";

static const char *text_of(int rank, bool out)
{
    static char text[8192];
    static const char all[] = "%x0, %x1, %x2, %x3, %x4";
    char coordinates[sizeof all] = "";
    memcpy(coordinates, all, (size_t)(5 * rank - 2));
    if (out)
        snprintf(text, sizeof text,
                 "%s.visible .entry k%s%s@%%p0 bra DONE;\n"
                 "cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group [%%rd1, {%s}], "
                 "[%%r2];\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
                 "DONE: ret;\n}\n",
                 head, parameters, move_in, rank, coordinates);
    else
        snprintf(text, sizeof text,
                 "%s.visible .entry k%s%s"
                 "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%%r2], [%%rd1, {%s}], [%%r3];\n%s%sret;\n}\n",
                 head, parameters, begin, rank, coordinates, wait, move_out);
    return text;
}

/* --- the reference --- */

struct tensor {
    struct tensor_map map;
    int32_t start[TENSOR_MAP_AXES];
    uint8_t *data; /* the array that the map describes */
    size_t bytes;
};

/* Returns the offset in the array of an element of the box, -1 if it is outside; sets *shared to
 * the offset in shared memory of the element. */
static int64_t element_at(const struct tensor *t, const uint32_t index[], uint64_t *shared)
{
    uint64_t size = dtype_size(t->map.type), unit = size;
    int64_t at = 0;
    bool inside = true;
    *shared = 0;
    for (int axis = 0; axis < t->map.rank; axis++) {
        int64_t x = t->start[axis] + (int64_t)index[axis] * (axis ? t->map.steps[axis] : 1);
        inside = inside && x >= 0 && x < (int64_t)t->map.extents[axis];
        at += x * (int64_t)(axis ? t->map.strides[axis] : size);
        *shared += index[axis] * unit;
        unit *= tensor_map_count(&t->map, axis);
    }
    uint64_t mask = (UINT64_C(1) << t->map.swizzle) - 1, row = *shared >> 7;
    *shared ^= (row & mask) << 4;
    return inside ? at : -1;
}

static bool next(const struct tensor *t, uint32_t index[])
{
    for (int axis = 0; axis < t->map.rank; axis++) {
        if (++index[axis] < tensor_map_count(&t->map, axis))
            return true;
        index[axis] = 0;
    }
    return false;
}

/* --- running --- */

static void run(struct sim_case *c, struct tensor *t, void *array, bool late, bool out)
{
    _Alignas(64) uint8_t map[TENSOR_MAP_BYTES];
    char why[TENSOR_MAP_MESSAGE];
    uint32_t bytes = (uint32_t)tensor_map_box_bytes(&t->map), x[TENSOR_MAP_AXES];
    sim_case_open(c, text_of(t->map.rank, out));
    t->map.address = sim_attach(c->sim, t->data, t->bytes, "tensor");
    if (!tensor_map_check(&t->map, why))
        fail_msg("%s", why);
    tensor_map_encode(&t->map, map);
    uint64_t other = sim_attach(c->sim, array, bytes, "array");
    const void *arguments[8] = {map, &other, &bytes};
    for (int i = 0; i < TENSOR_MAP_AXES; i++) {
        x[i] = (uint32_t)t->start[i];
        arguments[3 + i] = &x[i];
    }
    c->launch.block[0] = THREADS;
    c->launch.dynamic_shared = SHARED;
    c->launch.options.async_late = late;
    sim_case_launch(c, "k", 8, arguments);
}

static void both_ways(struct tensor t, bool late)
{
    struct sim_case c;
    uint64_t size = dtype_size(t.map.type), shared;
    uint64_t box = tensor_map_box_bytes(&t.map);
    uint8_t *array = malloc(box), *before = malloc(t.bytes), *expected = malloc(box);
    uint32_t index[TENSOR_MAP_AXES] = {0};
    assert_true(array && before && expected);
    for (size_t i = 0; i < t.bytes; i++)
        t.data[i] = (uint8_t)(rand() >> 7);
    memset(expected, 0, box);
    do {
        int64_t at = element_at(&t, index, &shared);
        if (at >= 0)
            memcpy(expected + shared, t.data + at, size);
    } while (next(&t, index));
    run(&c, &t, array, late, false);
    if (c.end != SIM_DONE)
        fail_msg("%s", sim_why(c.sim));
    assert_memory_equal(array, expected, box);
    sim_case_close(&c);

    memcpy(before, t.data, t.bytes);
    for (uint64_t i = 0; i < box; i++)
        array[i] = (uint8_t)(rand() >> 7);
    do {
        int64_t at = element_at(&t, index, &shared);
        if (at >= 0)
            memcpy(before + at, array + shared, size);
    } while (next(&t, index));
    run(&c, &t, array, late, true);
    assert_int_equal(c.end, SIM_DONE);
    assert_memory_equal(t.data, before, t.bytes);
    sim_case_close(&c);
    free(array);
    free(before);
    free(expected);
}

static struct tensor tensor_of(enum dtype type, int rank, enum tensor_swizzle swizzle)
{
    static const uint32_t boxes[TENSOR_MAP_AXES] = {0, 9, 3, 2, 2};
    static const uint64_t extents[TENSOR_MAP_AXES] = {0, 12, 4, 3, 2};
    unsigned size = (unsigned)dtype_size(type);
    struct tensor t = {.map = {.type = type, .rank = rank, .swizzle = swizzle}};
    uint64_t stride = 208;
    for (int axis = 0; axis < rank; axis++) {
        t.map.box[axis] = axis ? boxes[axis] : (swizzle ? tensor_swizzle_span(swizzle) : 48) / size;
        t.map.extents[axis] = axis ? extents[axis] : 200 / size;
        t.map.steps[axis] = 1;
        t.map.strides[axis] = axis ? stride : 0;
        stride *= axis ? extents[axis] : 1;
    }
    t.bytes = (size_t)stride;
    t.data = malloc(t.bytes);
    assert_non_null(t.data);
    return t;
}

static void boxes_of_every_kind(void **state)
{
    (void)state;
    static const enum dtype types[] = {DT_U8, DT_F16, DT_F32, DT_F64};
    for (int rank = 1; rank <= TENSOR_MAP_AXES; rank++)
        for (int s = 0; s < SWIZZLE_COUNT; s++)
            for (int i = 0; i < 4; i++)
                for (int at = 0; at < 4; at++) {
                    static const int32_t starts[4] = {0, -3, 2, 1000};
                    struct tensor t = tensor_of(types[i], rank, (enum tensor_swizzle)s);
                    for (int axis = 0; axis < rank; axis++)
                        t.start[axis] = axis == (at + i) % rank ? starts[at] : axis % 2;
                    t.start[0] *= 16 / (int32_t)dtype_size(types[i]); /* multiples of 16 bytes */
                    both_ways(t, (rank + at) % 2);
                    free(t.data);
                }
}

static void boxes_with_steps(void **state)
{
    (void)state;
    for (uint32_t step = 2; step <= 3; step++)
        for (int32_t start = -4; start < 5; start++) {
            struct tensor t = tensor_of(DT_BF16, 3, SWIZZLE_64B);
            t.map.steps[1] = step;
            t.start[1] = start;
            both_ways(t, step == 2);
            free(t.data);
        }
}

/* Copies 512 bytes to shared memory and from there to the next 512 bytes. */
static void plain_copies(void **state)
{
    (void)state;
    static char text[4096];
    snprintf(text, sizeof text,
             "%s.visible .entry k(.param .u64 array)\n{\n.reg .b32 %%r<8>; .reg .b64 %%rd<4>;\n"
             ".reg .pred %%p<4>; .shared .align 8 .b64 bar;\nmov.u32 %%r0, %%tid.x;\n"
             "ld.param.u64 %%rd0, [array]; cvta.to.global.u64 %%rd0, %%rd0; mov.u32 %%r1, 512;\n"
             "mov.u32 %%r2, memory; mov.u32 %%r3, bar; setp.ne.u32 %%p0, %%r0, 0;\n%s"
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%r2], [%%rd0], "
             "512, [%%r3];\n%s@%%p0 bra DONE;\n"
             "cp.async.bulk.global.shared::cta.bulk_group [%%rd0+512], [%%r2], 512;\n"
             "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE: ret;\n}\n",
             head, begin, wait);
    for (int late = 0; late < 2; late++) {
        struct sim_case c;
        uint8_t data[1024];
        for (int i = 0; i < 1024; i++)
            data[i] = (uint8_t)(i < 512 ? rand() >> 7 : 0);
        sim_case_open(&c, text);
        uint64_t address = sim_attach(c.sim, data, sizeof data, "data");
        c.launch.block[0] = THREADS;
        c.launch.dynamic_shared = SHARED;
        c.launch.options.async_late = late;
        sim_case_done(&c, "k", 1, &address);
        assert_memory_equal(data, data + 512, 512);
        sim_case_close(&c);
    }
}

/* Runs a load whose map the caller changes, and checks how it ends. */
static void stops(struct tensor t, const char *why)
{
    struct sim_case c;
    uint8_t array[8192];
    run(&c, &t, array, false, false);
    assert_int_not_equal(c.end, SIM_DONE);
    if (!strstr(sim_why(c.sim), why))
        fail_msg("%s", sim_why(c.sim));
    sim_case_close(&c);
}

/* Runs an instruction with a parameter of zeros. */
static void stops_with(const char *parameter, const char *instruction, const char *why)
{
    static char text[2048];
    static const uint8_t zeros[TENSOR_MAP_BYTES];
    struct sim_case c;
    const void *arguments[1] = {zeros};
    snprintf(text, sizeof text,
             "%s.visible .entry k(%s)\n{\n.reg .b32 %%r<4>; .reg .b64 %%rd<4>;\n"
             "mov.u32 %%r0, 0; mov.u32 %%r2, memory; mov.b64 %%rd1, map;\n"
             "cvta.param.u64 %%rd1, %%rd1;\n%s\nret;\n}\n",
             head, parameter, instruction);
    sim_case_open(&c, text);
    c.launch.dynamic_shared = SHARED;
    sim_case_launch(&c, "k", 1, arguments);
    assert_int_equal(c.end, SIM_STOPPED);
    if (!strstr(sim_why(c.sim), why))
        fail_msg("%s", sim_why(c.sim));
    sim_case_close(&c);
}

static void refuses(void **state)
{
    (void)state;
    struct tensor t = tensor_of(DT_F16, 2, SWIZZLE_NONE);
    t.map.extents[1]++; /* the array has fewer rows than the map says */
    t.start[1] = 6;
    stops(t, "outside any allocation");
    free(t.data);
    t = tensor_of(DT_F16, 2, SWIZZLE_NONE);
    t.start[0] = 4; /* 8 bytes */
    stops(t, "the copy begins at element 4 of the innermost axis, whose elements take 2 bytes");
    free(t.data);
    stops_with(".param .align 64 .b8 map[128]",
               "cp.async.bulk.prefetch.tensor.2d.L2.global [%rd1, {%r0, %r0}];\n"
               "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r0, %r0}], [%r2];",
               "there is no tensor map at");
    stops_with(".param .align 64 .b8 map[128]",
               "mov.u32 %r3, 24;\n"
               "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], %r3;",
               "a bulk copy of 24 bytes: a multiple of 16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_of_every_kind),
        cmocka_unit_test(boxes_with_steps),
        cmocka_unit_test(plain_copies),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
