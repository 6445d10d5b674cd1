/* Memory of all spaces: loads, stores, atomics, asynchronous copies, and wrong addresses. */
#include "sim_helper.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define STORE_R(r) "mad.wide.u32 %rd0, %r0, 4, %out;\nst.global.u32 [%rd0], " r ";\n"
#define KERNEL(name)                                                                               \
    ".visible .entry " name "(.param .u64 out)\n{\n.reg .b32 %r<32>; .reg .b64 %rd<16>, %out; "    \
    ".reg .b16 %rs<8>; .reg .f32 %f<8>; .reg .pred %p<4>;\nld.param.u64 %out, [out];\n"            \
    "mov.u32 %r0, %tid.x;\n"

/* --- loads and stores --- */

static void widths_and_signs(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = sim_case_body(
        &c,
        ".shared .align 16 .b8 s[64];\nst.shared.u32 [s], 0x80ff7f01;\nst.shared.u8 [s+4], 0x1ff;\n"
        "ld.shared.s8 %r1, [s+2];\nst.global.u32 [%out], %r1;\n"
        "ld.shared.u8 %r1, [s+2];\nst.global.u32 [%out+4], %r1;\n"
        "ld.shared.s16 %r1, [s+2];\nst.global.u32 [%out+8], %r1;\n"
        "ld.shared.u16 %rd1, [s+2];\nst.global.u64 [%out+16], %rd1;\n"
        "ld.shared.s8 %rs1, [s+3];\nst.global.u16 [%out+24], %rs1;\n"
        "ld.shared.s32 %rd1, [s];\nst.global.u64 [%out+32], %rd1;\n"
        "ld.shared.u32 %r1, [s+4];\nst.global.u32 [%out+40], %r1;\n"
        "st.shared.v4.u32 [s+16], {1, 2, 3, 4};\nld.shared.v2.u64 {%rd2, %rd3}, [s+16];\n"
        "st.global.v2.b64 [%out+48], {%rd3, %rd2};\nld.shared.v4.u8 {%r1, _, %r2, _}, [s];\n"
        "st.global.v2.u32 [%out+64], {%r1, %r2};\n",
        1, 18);
    static const uint32_t wanted[18] = {0xffffffff, 0xff, 0xffff80ff, 0,          0x80ff, 0,
                                        0xff80,     0,    0x80ff7f01, 0xffffffff, 0xff,   0,
                                        3,          4,    1,          2,          1,      0xff};
    for (int i = 0; i < 18; i++)
        assert_int_equal(out[i], wanted[i]);
    sim_case_close(&c);
}

/* Rows, a single place, columns, and partial warps: the fast paths and the general one agree. */
static void ways_to_lie(void **state)
{
    (void)state;
    static const uint32_t strides[] = {4, 0, 8, 132, 16};
    uint32_t data[4096];
    for (uint32_t i = 0; i < 4096; i++)
        data[i] = i * 0x01000193;
    for (int way = 0; way < 5; way++)
        for (int lanes = 32; lanes >= 7; lanes -= 25) {
            struct sim_case c;
            sim_case_open(
                &c,
                ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 stride)\n{\n"
                ".reg .b32 %r<16>; .reg .b64 %rd<8>; .shared .align 16 .b8 s[16384];\n"
                "ld.param.u64 %rd0, [out];\nld.param.u64 %rd1, [in];\nld.param.u32 %r1, [stride];\n"
                "mov.u32 %r0, %tid.x;\nmul.lo.u32 %r2, %r0, %r1;\ncvt.u64.u32 %rd2, %r2;\n"
                "add.u64 %rd3, %rd1, %rd2;\nmad.wide.u32 %rd0, %r0, 16, %rd0;\n"
                "ld.global.u32 %r3, [%rd3+64];\nst.global.u32 [%rd0], %r3;\n"
                "mov.u32 %r4, s;\nadd.u32 %r4, %r4, %r2;\nst.shared.u32 [%r4+64], %r3;\n"
                "ld.shared.u32 %r5, [%r4+64];\nst.global.u32 [%rd0+4], %r5;\n"
                "ld.u32 %r6, [%rd3];\nst.v2.u32 [%rd0+8], {%r6, %r1};\nret;\n}\n");
            uint64_t values[3] = {sim_case_buffer(&c, 32 * 16, NULL),
                                  sim_case_buffer(&c, sizeof data, data), strides[way]};
            c.launch.block[0] = (unsigned)lanes;
            sim_case_done(&c, "k", 3, values);
            const uint32_t *out = sim_case_words(&c, values[0], 128);
            for (uint32_t i = 0; i < (uint32_t)lanes; i++) {
                assert_int_equal(out[i * 4], data[(i * strides[way] + 64) / 4]);
                assert_int_equal(out[i * 4 + 1], out[i * 4]);
                assert_int_equal(out[i * 4 + 2], data[i * strides[way] / 4]);
                assert_int_equal(out[i * 4 + 3], strides[way]);
            }
            sim_case_close(&c);
        }
}

static void variables(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c, ".global .align 4 .u32 a[4] = {1, 2, 3};\n.const .f32 f = 0f3FC00000;\n"
                      ".global .u64 pointer = generic(a);\n.global .u32 counter;\n" KERNEL(
                          "k") "ld.global.u64 %rd1, [pointer];\nld.u32 %r1, "
                               "[%rd1+8];\nld.global.u32 %r2, [a+4];\n"
                               "mad.lo.u32 %r1, %r1, 10, %r2;\nld.const.f32 %f1, [f];\nmul.f32 "
                               "%f1, %f1, 0f40800000;\n"
                               "cvt.rni.u32.f32 %r3, %f1;\nmad.lo.u32 %r1, %r1, 10, %r3;\n"
                               "atom.global.add.u32 %r4, [counter], 1;\nadd.u32 %r1, %r1, %r4;\n"
                               "st.global.u32 [%out], %r1;\nret;\n}\n");
    uint64_t out = sim_case_buffer(&c, 4, NULL);
    sim_case_done(&c, "k", 1, &out);
    assert_int_equal(*sim_case_words(&c, out, 1), 326);
    sim_case_done(&c, "k", 1, &out); /* memory keeps its content between launches */
    assert_int_equal(*sim_case_words(&c, out, 1), 327);
    sim_case_close(&c);
}

static void generic_addresses(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = sim_case_body(
        &c,
        ".shared .align 8 .b8 pad[24];\n.shared .u32 s[2];\n.local .align 8 .b8 l[16];\n"
        "mov.u64 %rd1, s;\ncvta.shared.u64 %rd2, %rd1;\nmov.u64 %rd3, l;\ncvta.local.u64 %rd4, "
        "%rd3;\n"
        "st.u32 [%rd2+4], 7;\nld.shared.u32 %r1, [s+4];\nst.u32 [%rd4+8], %r0;\n"
        "ld.local.u32 %r2, [l+8];\nmad.lo.u32 %r1, %r2, 10, %r1;\n"
        "isspacep.shared %p0, %rd2;\nisspacep.local %p1, %rd4;\nisspacep.global %p2, %out;\n"
        "isspacep.shared %p3, %out;\nselp.u32 %r3, 1000, 0, %p0;\nadd.u32 %r1, %r1, %r3;\n"
        "selp.u32 %r3, 2000, 0, %p1;\nadd.u32 %r1, %r1, %r3;\nselp.u32 %r3, 4000, 0, %p2;\n"
        "add.u32 %r1, %r1, %r3;\nselp.u32 %r3, 8000, 0, %p3;\nadd.u32 %r1, %r1, %r3;\n"
        "cvta.to.shared.u64 %rd5, %rd2;\nst.shared.u32 [%rd5], 0;\nst.shared.u32 [pad+20], "
        "1;\n" STORE_R("%r1"),
        32, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], 7007 + 10 * i);
    sim_case_close(&c);
}

static void dynamic_shared_memory(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(
        &c,
        ".extern .shared .align 16 .b8 dynamic[];\n" KERNEL(
            "k") ".shared .b8 fixed[5];\nmov.u32 %r1, dynamic;\nst.shared.u32 [dynamic+96], %r1;\n"
                 "ld.shared.u32 %r2, [%r1+96];\nmov.u32 %r3, %dynamic_smem_size;\nst.shared.u8 "
                 "[fixed], 1;\n"
                 "mad.lo.u32 %r2, %r2, 1000, %r3;\nst.global.u32 [%out], %r2;\n"
                 "@%p0 st.shared.u32 [dynamic+100], %r1;\nret;\n}\n");
    uint64_t out = sim_case_buffer(&c, 4, NULL);
    c.launch.dynamic_shared = 100;
    sim_case_done(&c, "k", 1, &out);
    assert_int_equal(*sim_case_words(&c, out, 1), 16100);
    c.launch.dynamic_shared = 99;
    assert_int_equal(sim_case_run(&c, "k", 1, &out), SIM_FAULT);
    sim_case_close(&c);
}

static void packs(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = sim_case_body(
        &c,
        "mov.b16 %rs1, 0x1234;\nmov.b16 %rs2, 0x5678;\nmov.b32 %r1, {%rs1, %rs2};\n"
        "mov.b64 %rd1, {%r1, %r0};\nst.global.u64 [%out], %rd1;\n"
        "mov.b64 {%r2, %r3}, %rd1;\nmov.b32 {%rs3, _}, %r2;\nst.global.u16 [%out+8], %rs3;\n"
        "mov.b64 %rd2, {%rs1, %rs2, %rs2, %rs1};\nst.global.u64 [%out+16], %rd2;\n"
        ".reg .b128 %q;\nmov.b128 %q, {%rd1, %rd2};\nmov.b128 {%rd3, %rd4}, %q;\n"
        "st.global.u64 [%out+24], %rd4;\nst.global.b128 [%out+32], %q;\n",
        1, 12);
    static const uint32_t wanted[12] = {0x56781234, 0,          0x1234,     0,
                                        0x56781234, 0x12345678, 0x56781234, 0x12345678,
                                        0x56781234, 0,          0x56781234, 0x12345678};
    for (int i = 0; i < 12; i++)
        assert_int_equal(out[i], wanted[i]);
    sim_case_close(&c);
}

/* --- faults --- */

static void fault(const char *body, const char *text)
{
    static char program[4096];
    struct sim_case c;
    snprintf(program, sizeof program, ".const .u32 constant = 1;\n%s%s\nret;\n}\n", KERNEL("k"),
             body);
    sim_case_open(&c, program);
    uint64_t out = sim_allocate(c.sim, 130, NULL, "out");
    c.launch.block[0] = 32;
    assert_int_equal(sim_case_run(&c, "k", 1, &out), SIM_FAULT);
    if (!strstr(sim_why(c.sim), text))
        fail_msg("'%s' does not say '%s'", sim_why(c.sim), text);
    sim_case_close(&c);
}

static void faults(void **state)
{
    (void)state;
    fault("mad.wide.u32 %rd0, %r0, 4, %out;\nst.global.u32 [%rd0+4], %r0;",
          "write of 4 bytes of global memory at 0x11000000080: outside any allocation, 128 bytes "
          "after the start of `out`, which has 130");
    fault("mad.wide.u32 %rd0, %r0, 4, %out;\nld.global.u32 %r1, [%rd0+-4];", "read of 4 bytes");
    fault("mad.wide.u32 %rd0, %r0, 4, %out;\nld.global.u32 %r1, [%rd0+-4];",
          "4 bytes before `out`");
    fault("ld.global.u32 %r1, [%out+2];", "misaligned");
    fault("ld.global.v2.u32 {%r1, %r2}, [%out+4];", "misaligned");
    fault("mov.u64 %rd1, 0;\nld.u32 %r1, [%rd1];", "outside any allocation");
    fault(".shared .u32 s[4];\nst.shared.u32 [s+16], 1;",
          "16 bytes after the start of `s`, which has 16");
    fault(".shared .u32 s[31];\nmov.u32 %r1, s;\nmad.lo.u32 %r1, %r0, 4, %r1;\nst.shared.u32 "
          "[%r1], 1;",
          "124 bytes after the start of `s`");
    fault(".local .u32 l[4];\nmov.u32 %r1, l;\nst.local.u32 [%r1+64], 1;", "local memory");
    fault("mov.u64 %rd1, constant;\ncvta.const.u64 %rd1, %rd1;\nst.u32 [%rd1], 1;", "read-only");
    fault("atom.global.add.u32 %r1, [%out+128], 1;", "outside any allocation");
    fault("setp.eq.u32 %p0, %r0, 9;\n@%p0 ld.global.u32 %r1, [%out+4096];", "thread 9");
    fault(".shared .align 16 .b8 s[16];\ncp.async.ca.shared.global [s], [%out+128], 16;",
          "outside any allocation");
}

struct pardon {
    int faults, accesses;
};
static bool pardons(void *user, const struct sim_fault *f, bool *go_on)
{
    struct pardon *p = user;
    assert_int_equal(f->kind, SIM_OUTSIDE);
    p->faults++;
    *go_on = true;
    return true;
}
static bool counts(void *user, const struct sim_access *access)
{
    struct pardon *p = user;
    assert_true(access->space == SIM_GLOBAL || access->space == SIM_PARAM);
    p->accesses++;
    return true;
}

/* Ignored faults read 0 and write nothing. */
static void pardoned_faults(void **state)
{
    (void)state;
    struct sim_case c;
    struct pardon p = {0, 0};
    struct sim_observer o = {.user = &p, .fault = pardons, .access = counts};
    sim_case_open(&c,
                  KERNEL("k") "mad.wide.u32 %rd0, %r0, 4, %out;\nld.global.u32 %r1, [%rd0+4];\n"
                              "st.global.u32 [%rd0+4], 5;\nst.global.u32 [%rd0], %r1;\nret;\n}\n");
    uint64_t out = sim_case_buffer(&c, 128, NULL);
    sim_observe(c.sim, &o);
    for (int i = 0; i < 32; i++)
        sim_case_words(&c, out, 32)[i] = 1;
    c.launch.block[0] = 32;
    sim_case_done(&c, "k", 1, &out);
    assert_int_equal(p.faults, 2);
    assert_int_equal(p.accesses, 4);
    for (int i = 0; i < 32; i++)
        assert_int_equal(sim_case_words(&c, out, 32)[i], i < 31);
    sim_case_close(&c);
}

/* --- atomics --- */

static uint32_t after_atom(const char *body, uint32_t first, uint32_t *old)
{
    static char program[4096];
    struct sim_case c;
    snprintf(program, sizeof program, "%s%s\nst.global.u32 [%%out+8], %%r1;\nret;\n}\n",
             KERNEL("k"), body);
    sim_case_open(&c, program);
    uint32_t words[4] = {first, 0, 0, 0};
    uint64_t out = sim_case_buffer(&c, 16, words);
    c.launch.block[0] = 32;
    sim_case_done(&c, "k", 1, &out);
    words[0] = sim_case_words(&c, out, 4)[0];
    *old = sim_case_words(&c, out, 4)[2];
    sim_case_close(&c);
    return words[0];
}

static void atomics(void **state)
{
    (void)state;
    uint32_t old;
    assert_int_equal(after_atom("atom.global.add.u32 %r1, [%out], %r0;", 4, &old), 500);
    assert_int_equal(old, 4 + 465);
    assert_int_equal(after_atom("atom.global.inc.u32 %r1, [%out], 9;", 3, &old), 5);
    assert_int_equal(after_atom("atom.global.dec.u32 %r1, [%out], 9;", 3, &old), 1);
    assert_int_equal(after_atom("atom.global.max.s32 %r1, [%out], %r0;", 0xffffff00, &old), 31);
    assert_int_equal(after_atom("atom.global.min.u32 %r1, [%out], %r0;", 0xffffff00, &old), 0);
    assert_int_equal(after_atom("red.global.or.b32 [%out], %r0;", 0x100, &old), 0x11f);
    assert_int_equal(after_atom("red.global.xor.b32 [%out], %r0;", 0x100, &old), 0x100);
    assert_int_equal(after_atom("atom.global.exch.b32 %r1, [%out], %r0;", 77, &old), 31);
    assert_int_equal(old, 30);
    assert_int_equal(
        after_atom("add.u32 %r2, %r0, 1;\natom.global.cas.b32 %r1, [%out], %r0, %r2;", 0, &old),
        32);
    assert_int_equal(
        after_atom("mov.f32 %f1, 0f3F800000;\nred.global.add.f32 [%out], %f1;", 0x40000000, &old),
        0x42080000);
    assert_int_equal(
        after_atom("mov.b32 %r1, 0x40003c00;\nred.global.add.noftz.f16x2 [%out], %r1;", 0, &old),
        0x54005000);
    assert_int_equal(
        after_atom("mov.f32 %f1, 0f00000001;\nred.global.add.f32 [%out], %f1;", 0, &old), 0);
    assert_int_equal(
        after_atom(
            ".shared .f32 s;\nmov.f32 %f1, 0f00000001;\nst.shared.u32 [s], 0;\nbar.sync 0;\n"
            "red.shared.add.f32 [s], %f1;\nld.shared.u32 %r1, [s];\nst.global.u32 [%out], %r1;",
            0, &old),
        32);
    assert_int_equal(after_atom("mov.u64 %rd1, 0x100000000;\nred.global.add.u64 [%out], %rd1;\n"
                                "ld.global.u32 %r2, [%out+4];\nst.global.u32 [%out], %r2;",
                                0, &old),
                     32);
}

/* --- asynchronous copies --- */

static const char copies[] =
    KERNEL("k") ".shared .align 16 .b8 s[512];\nmov.u32 %r1, s;\nmad.lo.u32 %r1, %r0, 16, %r1;\n"
                "mad.wide.u32 %rd1, %r0, 16, %out;\nst.shared.v4.u32 [%r1], {9, 9, 9, 9};\n"
                "and.b32 %r2, %r0, 3;\nshl.b32 %r2, %r2, 2;\n"
                "cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;\ncp.async.commit_group;\n"
                "ld.shared.u32 %r3, [%r1];\n" /* too early */
                "cp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.v4.u32 {%r4, %r5, %r6, "
                "%r7}, [%r1];\n"
                "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};\nst.global.u32 [%rd1+512], "
                "%r3;\nret;\n}\n";

static void copies_land(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct sim_case c;
        uint32_t data[256];
        sim_case_open(&c, copies);
        for (uint32_t i = 0; i < 256; i++)
            data[i] = i + 100;
        uint64_t out = sim_case_buffer(&c, sizeof data, data);
        c.launch.block[0] = 32;
        c.launch.options.async_late = late;
        sim_case_done(&c, "k", 1, &out);
        const uint32_t *words = sim_case_words(&c, out, 256);
        for (uint32_t i = 0; i < 128; i++)
            assert_int_equal(words[i], i % 4 < i / 4 % 4 ? i + 100 : 0);
        for (uint32_t i = 0; i < 32; i++) /* the old contents, or not */
            assert_int_equal(words[128 + i * 4], late ? 9 : i % 4 ? i * 4 + 100 : 0);
        sim_case_close(&c);
    }
}

/* Each thread arrives when its copies have completed; all wait for the phase. */
static const char with_mbarrier[] =
    KERNEL("k") ".shared .align 16 .b8 s[512];\n.shared .b64 bar;\nmov.u32 %r1, s;\nmad.lo.u32 "
                "%r1, %r0, 4, %r1;\n"
                "mad.wide.u32 %rd1, %r0, 4, %out;\nsetp.eq.u32 %p0, %r0, 0;\n"
                "@%p0 mbarrier.init.shared.b64 [bar], 64;\nbar.sync 0;\n"
                "cp.async.ca.shared.global [%r1], [%rd1], "
                "4;\ncp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
                "W:\nmbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 bra W;\n"
                "mov.u32 %r2, s;\nsub.u32 %r3, 63, %r0;\nmad.lo.u32 %r2, %r3, 4, "
                "%r2;\nld.shared.u32 %r4, [%r2];\n"
                "mbarrier.arrive.shared.b64 %rd2, [bar];\n"
                "X:\nmbarrier.test_wait.shared.b64 %p1, [bar], %rd2;\n@!%p1 bra X;\n"
                "st.global.u32 [%rd1], %r4;\nret;\n}\n";

static void copies_arrive(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct sim_case c;
        uint32_t data[64];
        sim_case_open(&c, with_mbarrier);
        for (uint32_t i = 0; i < 64; i++)
            data[i] = i + 100;
        uint64_t out = sim_case_buffer(&c, sizeof data, data);
        c.launch.block[0] = 64;
        c.launch.options.async_late = way & 1;
        c.launch.options.seed = way < 2 ? 0 : 5;
        sim_case_done(&c, "k", 1, &out);
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(sim_case_words(&c, out, 64)[i], 163 - i);
        sim_case_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_and_signs),
        cmocka_unit_test(ways_to_lie),
        cmocka_unit_test(variables),
        cmocka_unit_test(generic_addresses),
        cmocka_unit_test(dynamic_shared_memory),
        cmocka_unit_test(packs),
        cmocka_unit_test(faults),
        cmocka_unit_test(pardoned_faults),
        cmocka_unit_test(atomics),
        cmocka_unit_test(copies_land),
        cmocka_unit_test(copies_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
