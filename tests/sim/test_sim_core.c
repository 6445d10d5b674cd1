/* The machine itself: control flow, calls, barriers, progress, and how launches end. */
#include "sim_helper.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* out[thread] = r */
#define STORE_R(r) "mad.wide.u32 %rd0, %r0, 4, %out;\nst.global.u32 [%rd0], " r ";\n"
#define KERNEL(name)                                                                               \
    ".visible .entry " name "(.param .u64 out)\n{\n.reg .b32 %r<32>; .reg .b64 %rd<16>, %out; "    \
    ".reg .pred %p<4>;\nld.param.u64 %out, [out];\nmov.u32 %r0, %tid.x;\n"

/* --- control flow --- */

static void straight_code(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out =
        sim_case_body(&c, "mul.lo.u32 %r1, %r0, 3;\nadd.u32 %r1, %r1, 7;\n" STORE_R("%r1"), 70, 70);
    for (uint32_t i = 0; i < 70; i++)
        assert_int_equal(out[i], i * 3 + 7);
    sim_case_close(&c);
}

static void guards(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = sim_case_body(&c,
                                        "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p0, %r1, 1;\n"
                                        "mov.u32 %r2, 5;\n@%p0 mov.u32 %r2, 6;\n"
                                        "@!%p0 add.u32 %r2, %r2, 10;\n" STORE_R("%r2"),
                                        32, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], i & 1 ? 6 : 15);
    sim_case_close(&c);
}

/* Both sides of a nested if; afterwards all lanes are together again. */
static void branches_join(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = sim_case_body(
        &c,
        "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra LOW;\n"
        "activemask.b32 %r2;\nadd.u32 %r2, %r2, 1;\nbra JOIN;\n"
        "LOW:\nsetp.lt.u32 %p1, %r0, 4;\nmov.u32 %r2, 1;\n@%p1 bra LOWEST;\nactivemask.b32 %r2;\n"
        "LOWEST:\nJOIN:\nactivemask.b32 %r3;\nxor.b32 %r2, %r2, %r3;\n" STORE_R("%r2"),
        32, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(~out[i], i < 4 ? 1 : i < 16 ? 0xfff0 : 0xffff0001);
    sim_case_close(&c);
}

static void loops_of_different_length(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out =
        sim_case_body(&c,
                      "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
                      "TOP:\nsetp.ge.u32 %p0, %r1, %r0;\n@%p0 bra END;\n"
                      "add.u32 %r2, %r2, %r1;\nadd.u32 %r1, %r1, 1;\nbra TOP;\n"
                      "END:\nactivemask.b32 %r3;\nadd.u32 %r2, %r2, %r3;\n" STORE_R("%r2"),
                      32, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], i * (i - 1) / 2 - 1);
    sim_case_close(&c);
}

static void branch_by_table(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = sim_case_body(&c,
                                        "T: .branchtargets A, B, C;\nrem.u32 %r1, %r0, 3;\n"
                                        "setp.lt.u32 %p0, %r0, 30;\nmov.u32 %r2, 7;\n"
                                        "@%p0 brx.idx %r1, T;\nbra END;\n"
                                        "A:\nmov.u32 %r2, 10;\nbra END;\nB:\nmov.u32 %r2, 20;\n"
                                        "bra END;\nC:\nmov.u32 %r2, 30;\n"
                                        "END:\nactivemask.b32 %r3;\nnot.b32 %r3, %r3;\n"
                                        "add.u32 %r2, %r2, %r3;\n" STORE_R("%r2"),
                                        32, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], i >= 30 ? 7 : (i % 3 + 1) * 10);
    sim_case_close(&c);
}

static void some_lanes_exit(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = sim_case_body(
        &c, "setp.lt.u32 %p0, %r0, 8;\n@%p0 exit;\nactivemask.b32 %r1;\n" STORE_R("%r1"), 32, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], i < 8 ? 0 : 0xffffff00);
    sim_case_close(&c);
}

static void places_of_threads(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(
        &c, KERNEL("k") "mov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.z;\nmov.u32 %r3, %ctaid.y;\n"
                        "mov.u32 %r4, %nctaid.x;\nmov.u32 %r5, %ctaid.x;\n"
                        "mad.lo.u32 %r5, %r3, %r4, %r5;\n"
                        "mov.u32 %r6, %ntid.x;\nmov.u32 %r7, %ntid.y;\n"
                        "mad.lo.u32 %r8, %r2, %r7, %r1;\nmad.lo.u32 %r8, %r8, %r6, %r0;\n"
                        "mad.lo.u32 %r9, %r5, 30, %r8;\n"
                        "mov.u32 %r10, %laneid;\nmov.u32 %r11, %lanemask_lt;\n"
                        "popc.b32 %r11, %r11;\nsub.u32 %r10, %r10, %r11;\n"
                        "mad.lo.u32 %r10, %r8, 100, %r10;\nadd.u32 %r10, %r10, %r5;\n"
                        "mad.wide.u32 %rd0, %r9, 4, %out;\nst.global.u32 [%rd0], %r10;\nret;\n}\n");
    uint64_t out = sim_case_buffer(&c, 180 * 4, NULL);
    c.launch.grid[0] = 2, c.launch.grid[1] = 3;
    c.launch.block[0] = 5, c.launch.block[1] = 3, c.launch.block[2] = 2;
    sim_case_done(&c, "k", 1, &out);
    const uint32_t *words = sim_case_words(&c, out, 180);
    for (uint32_t i = 0; i < 180; i++)
        assert_int_equal(words[i], i % 30 * 100 + i / 30);
    sim_case_close(&c);
}

/* --- calls --- */

static const char functions[] =
    ".func (.param .b32 result) twice(.param .b32 a)\n{\n.reg .b32 %r<4>;\n"
    "ld.param.u32 %r0, [a];\nadd.u32 %r0, %r0, %r0;\nst.param.b32 [result], %r0;\nret;\n}\n"
    ".func (.param .b32 result) thrice(.param .b32 a)\n{\n.reg .b32 %r<4>;\n"
    "ld.param.u32 %r0, [a];\nmul.lo.u32 %r0, %r0, 3;\nst.param.b32 [result], %r0;\nret;\n}\n"
    ".func (.reg .b32 %result) sum(.reg .b32 %a, .reg .b32 %b)\n{\nadd.u32 %result, %a, "
    "%b;\nret;\n}\n"
    ".func (.param .b32 result) sum_to(.param .b32 n)\n{\n.reg .b32 %r<4>; .reg .pred %p;\n"
    "ld.param.u32 %r0, [n];\nmov.u32 %r2, 0;\nsetp.eq.u32 %p, %r0, 0;\n@%p bra END;\n"
    "sub.u32 %r1, %r0, 1;\n{\n.param .b32 arg; .param .b32 res;\nst.param.b32 [arg], %r1;\n"
    "call (res), sum_to, (arg);\nld.param.b32 %r2, [res];\n}\nadd.u32 %r2, %r2, %r0;\n"
    "END:\nst.param.b32 [result], %r2;\nret;\n}\n"
    ".func (.param .b32 result) lanes(.param .b32 a)\n{\n.reg .b32 %r<4>;\n"
    "activemask.b32 %r0;\nst.param.b32 [result], %r0;\nret;\n}\n"
    ".global .u64 table[2] = {twice, thrice};\n";

#define CALL(function, argument, result)                                                           \
    "{\n.param .b32 arg; .param .b32 res;\nst.param.b32 [arg], " argument ";\n"                    \
    "call (res), " function ", (arg);\nld.param.b32 " result ", [res];\n}\n"

static const uint32_t *with_functions(struct sim_case *c, const char *body, unsigned threads)
{
    static char text[1 << 14];
    strcpy(text, functions);
    strcat(text, KERNEL("k"));
    strcat(text, body);
    strcat(text, "ret;\n}\n");
    sim_case_open(c, text);
    uint64_t out = sim_case_buffer(c, threads * 4, NULL);
    c->launch.block[0] = threads;
    sim_case_done(c, "k", 1, &out);
    return sim_case_words(c, out, threads);
}

static void calls(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = with_functions(
        &c, CALL("twice", "%r0", "%r1") "call (%r2), sum, (%r1, %r0);\n" STORE_R("%r2"), 40);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(out[i], 3 * i);
    sim_case_close(&c);
}

static void recursion_of_different_depth(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = with_functions(
        &c,
        CALL("sum_to", "%r0", "%r1") "activemask.b32 %r2;\nadd.u32 %r1, %r1, %r2;\n" STORE_R("%r1"),
        32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i] + 1, i * (i + 1) / 2);
    sim_case_close(&c);
}

static void calls_through_pointers(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = with_functions(
        &c,
        "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "and.b32 %r1, %r0, 1;\nmov.u64 %rd1, table;\n"
        "mad.wide.u32 %rd1, %r1, 8, %rd1;\nld.global.u64 %rd2, [%rd1];\n"
        "setp.lt.u32 %p0, %r0, 20;\nmov.u32 %r2, 1;\n"
        "{\n.param .b32 arg; .param .b32 res;\nst.param.b32 [arg], %r0;\n"
        "st.param.b32 [res], 1;\n"
        "@%p0 call (res), %rd2, (arg), P;\nld.param.b32 %r2, [res];\n}\n" STORE_R("%r2"),
        32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], i >= 20 ? 1 : i & 1 ? 3 * i : 2 * i);
    sim_case_close(&c);
}

/* Lanes that branched apart are together after the branch, in the function too. */
static void joined_before_a_call(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = with_functions(
        &c,
        "setp.lt.u32 %p0, %r0, 5;\n@%p0 bra NEXT;\nadd.u32 %r0, %r0, 0;\nNEXT:\n" CALL(
            "lanes", "%r0", "%r1") STORE_R("%r1"),
        32);
    assert_int_equal(out[0], 0xffffffff);
    assert_int_equal(out[31], 0xffffffff);
    sim_case_close(&c);
}

static void endless_recursion(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c, ".func f()\n{\ncall f, ();\nret;\n}\n" KERNEL("k") "call f, ();\nret;\n}\n");
    uint64_t out = 0;
    assert_int_equal(sim_case_run(&c, "k", 1, &out), SIM_STOPPED);
    assert_non_null(strstr(sim_why(c.sim), "the stack is full"));
    sim_case_close(&c);
}

static void prints(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(
        &c,
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
        ".global .align 1 .b8 text[32] = "
        "{37,100,32,37,120,32,37,46,50,102,32,37,115,32,37,108,108,100,32,37,37,10,0};\n"
        ".global .align 1 .b8 word[4] = {97,98,99,0};\n" KERNEL(
            "k") ".local .align 8 .b8 depot[40]; .reg .f64 %fd<2>;\n"
                 "setp.ge.u32 %p0, %r0, 2;\n@%p0 ret;\n"
                 "mov.u64 %rd1, depot;\ncvta.local.u64 %rd2, %rd1;\n"
                 "neg.s32 %r1, %r0;\nst.local.u32 [%rd1], %r1;\nst.local.u32 [%rd1+4], 255;\n"
                 "st.local.f64 [%rd1+8], 0d3FF8000000000000;\n"
                 "mov.u64 %rd3, word;\ncvta.global.u64 %rd3, %rd3;\nst.local.u64 [%rd1+16], %rd3;\n"
                 "st.local.u64 [%rd1+24], -5;\n"
                 "mov.u64 %rd4, text;\ncvta.global.u64 %rd4, %rd4;\n"
                 "{\n.param .b64 f; .param .b64 a; .param .b32 r;\nst.param.b64 [f], %rd4;\n"
                 "st.param.b64 [a], %rd2;\ncall (r), vprintf, (f, a);\nld.param.b32 %r3, "
                 "[r];\n}\n" STORE_R("%r3") "ret;\n}\n");
    uint64_t out = sim_case_buffer(&c, 8, NULL);
    c.launch.block[0] = 32;
    sim_case_done(&c, "k", 1, &out);
    assert_string_equal(sim_output(c.sim, NULL), "0 ff 1.50 abc -5 %\n-1 ff 1.50 abc -5 %\n");
    assert_int_equal(*sim_case_words(&c, out, 1), 5);
    sim_case_close(&c);
}

/* --- barriers --- */

static void reversed_through_shared_memory(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out =
        sim_case_body(&c,
                      ".shared .u32 s[128];\nmov.u32 %r1, s;\n"
                      "mad.lo.u32 %r2, %r0, 4, %r1;\nst.shared.u32 [%r2], %r0;\n"
                      "bar.sync 0;\nsub.u32 %r3, 127, %r0;\n"
                      "mad.lo.u32 %r3, %r3, 4, %r1;\nld.shared.u32 %r4, [%r3];\n" STORE_R("%r4"),
                      128, 128);
    for (uint32_t i = 0; i < 128; i++)
        assert_int_equal(out[i], 127 - i);
    sim_case_close(&c);
}

/* Warp 1 makes 5 values for warp 0, one after the other. */
static void producer_and_consumer(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out =
        sim_case_body(&c,
                      ".shared .u32 s;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
                      "setp.ge.u32 %p0, %r0, 32;\n@%p0 bra MAKE;\n"
                      "USE:\nbar.sync 1, 64;\nld.shared.u32 %r3, [s];\nbar.arrive 2, 64;\n"
                      "mad.lo.u32 %r2, %r2, 10, %r3;\nadd.u32 %r1, %r1, 1;\n"
                      "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra USE;\nbra END;\n"
                      "MAKE:\nadd.u32 %r1, %r1, 1;\nst.shared.u32 [s], %r1;\nbar.arrive 1, 64;\n"
                      "setp.lt.u32 %p1, %r1, 5;\nbar.sync 2, 64;\n@%p1 bra MAKE;\n"
                      "END:\n" STORE_R("%r2"),
                      64, 64);
    assert_int_equal(out[0], 12345);
    assert_int_equal(out[63], 0);
    sim_case_close(&c);
}

static void reductions_at_barriers(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = sim_case_body(
        &c,
        "setp.lt.u32 %p0, %r0, 50;\nbar.red.popc.u32 %r1, 0, %p0;\nbar.red.and.pred %p1, 0, %p0;\n"
        "bar.red.or.pred %p2, 3, !%p0;\nselp.u32 %r2, 1000, 0, %p1;\nselp.u32 %r3, 100, 0, %p2;\n"
        "add.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, %r3;\n" STORE_R("%r1"),
        96, 96);
    assert_int_equal(out[0], 150);
    assert_int_equal(out[95], 150);
    sim_case_close(&c);
}

/* Lanes reach barrier 0 on two paths, and some have left. */
static void barriers_of_threads(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out =
        sim_case_body(&c,
                      "setp.ge.u32 %p1, %r0, 60;\n@%p1 exit;\n"
                      "and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 bra EVEN;\n"
                      "barrier.sync 0;\nmov.u32 %r2, 1;\nbra END;\n"
                      "EVEN:\nbarrier.sync 0;\nmov.u32 %r2, 2;\nEND:\n" STORE_R("%r2"),
                      64, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], i >= 60 ? 0 : i & 1 ? 1 : 2);
    sim_case_close(&c);
}

static void lanes_in_step(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = sim_case_body(
        &c,
        ".shared .u32 s[32];\nmov.u32 %r1, s;\nmad.lo.u32 %r1, %r0, 4, %r1;\n"
        "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra LOW;\n"
        "st.shared.u32 [%r1], %r0;\nbar.warp.sync 0xffffffff;\nbra END;\n"
        "LOW:\nbar.warp.sync 0xffffffff;\nld.shared.u32 %r2, [%r1+64];\n" STORE_R("%r2") "END:\n",
        32, 32);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(out[i], i + 16);
    sim_case_close(&c);
}

/* --- progress --- */

static void warps_wait_for_warps(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out =
        sim_case_body(&c,
                      ".shared .u32 flag;\nsetp.ge.u32 %p0, %r0, 32;\n@%p0 bra SET;\n"
                      "WAIT:\nld.acquire.cta.shared.u32 %r1, [flag];\nsetp.eq.u32 %p1, %r1, 0;\n"
                      "@%p1 bra WAIT;\nbra END;\nSET:\nmov.u32 %r1, 5;\n"
                      "st.release.cta.shared.u32 [flag], 9;\nEND:\n" STORE_R("%r1"),
                      64, 64);
    assert_int_equal(out[0], 9);
    assert_int_equal(out[63], 5);
    sim_case_close(&c);
}

/* Lane 0 waits for lane 1: first with volatile reads, then with plain ones. */
#define LANE_WAITS(read)                                                                           \
    ".shared .u32 flag;\nmov.u32 %r1, 3;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra SET;\n"               \
    "WAIT:\n" read " %r1, [flag];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra WAIT;\nbra END;\n"           \
    "SET:\nst.volatile.shared.u32 [flag], 9;\nEND:\n" STORE_R("%r1")
static void lanes_wait_for_lanes(void **state)
{
    (void)state;
    static const char *const bodies[] = {LANE_WAITS("ld.volatile.shared.u32"),
                                         LANE_WAITS("ld.shared.u32")};
    for (int i = 0; i < 2; i++) {
        struct sim_case c;
        const uint32_t *out = sim_case_body(&c, bodies[i], 32, 32);
        assert_int_equal(out[0], 9);
        assert_int_equal(out[1], 3);
        sim_case_close(&c);
    }
}

static const char turns[] = ".global .u32 turn;\n" KERNEL(
    "k") "setp.ne.u32 %p0, %r0, 0;\n@%p0 bra WAIT_ALL;\nmov.u32 %r1, %ctaid.x;\n"
         "mov.u32 %r6, %nctaid.x;\nsub.u32 %r6, %r6, 1;\nsub.u32 %r1, %r6, %r1;\n"
         "WAIT:\nld.acquire.gpu.global.u32 %r2, [turn];\nsetp.ne.u32 %p1, %r2, %r1;\n@%p1 bra "
         "WAIT;\n"
         "mad.wide.u32 %rd0, %r1, 4, %out;\nst.global.u32 [%rd0], %r2;\nadd.u32 %r2, %r2, 1;\n"
         "st.release.gpu.global.u32 [turn], %r2;\nWAIT_ALL:\nbar.sync 0;\nret;\n}\n";

/* Blocks run in descending order of their numbers: that works if all of them are resident. */
static void blocks_wait_for_blocks(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct sim_case c;
        sim_case_open(&c, turns);
        uint64_t out = sim_case_buffer(&c, 8 * 4, NULL);
        c.launch.grid[0] = 8;
        c.launch.block[0] = 64;
        c.launch.options.seed = seed;
        sim_case_done(&c, "k", 1, &out);
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(sim_case_words(&c, out, 8)[i], i);
        sim_case_close(&c);
    }
}

static void too_few_blocks_at_a_time(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c, turns);
    uint64_t out = sim_case_buffer(&c, 8 * 4, NULL);
    c.launch.grid[0] = 8;
    c.launch.block[0] = 64;
    c.launch.options.resident_blocks = 7;
    assert_int_equal(sim_case_run(&c, "k", 1, &out), SIM_DEADLOCK);
    assert_non_null(strstr(sim_why(c.sim), "blocks from 7 on have not begun"));
    assert_non_null(strstr(sim_why(c.sim), "waits for a change at 0x"));
    const struct sim_standstill *still = sim_standstill(c.sim);
    assert_int_equal(still->begun, 7);
    assert_int_equal(still->blocks, 8);
    int polls = 0;
    for (size_t i = 0; i < still->wait_count; i++) {
        const struct sim_wait *w = &still->waits[i];
        polls += w->what == SIM_FOR_MEMORY;
        if (w->what == SIM_FOR_MEMORY && (w->bytes != 4 || w->value != 0 || w->space != SIM_GLOBAL))
            fail_msg("%d bytes of space %d: %llu", w->bytes, w->space,
                     (unsigned long long)w->value);
    }
    assert_int_equal(polls, 7); /* the first thread of each block */
    sim_case_close(&c);
}

/* Runs some of eight blocks that go in turn, and checks which have written: block 7 - i has turn
 * i. */
static enum sim_end run_chosen(const int64_t *chosen, int count, bool waits_end, uint32_t out[8],
                               int64_t *waits)
{
    static const uint32_t nobody[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    struct sim_case c;
    sim_case_open(&c, turns);
    uint64_t at = sim_case_buffer(&c, sizeof nobody, nobody);
    c.launch.grid[0] = 8;
    c.launch.block[0] = 64;
    c.launch.options = (struct sim_options){
        .resident_blocks = 1, .chosen = chosen, .chosen_count = count, .waits_end = waits_end};
    enum sim_end end = sim_case_run(&c, "k", 1, &at);
    memcpy(out, sim_case_words(&c, at, 8), sizeof nobody);
    *waits = sim_waits_ended(c.sim);
    sim_case_close(&c);
    return end;
}

static void chosen_blocks_run_in_their_order(void **state)
{
    (void)state;
    uint32_t out[8];
    int64_t waits;
    assert_int_equal(run_chosen((int64_t[]){7, 6, 5}, 3, false, out, &waits), SIM_DONE);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(out[i], i < 3 ? i : 9);
    assert_int_equal(waits, 0);
    assert_int_equal(run_chosen((int64_t[]){7, 5, 6}, 3, false, out, &waits), SIM_DEADLOCK);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 9);
}

/* Only waits for memory can be ended: the program goes on with the value that it read. */
static void waits_can_end(void **state)
{
    (void)state;
    uint32_t out[8];
    int64_t waits;
    assert_int_equal(run_chosen((int64_t[]){3}, 1, false, out, &waits), SIM_DEADLOCK);
    assert_int_equal(run_chosen((int64_t[]){3}, 1, true, out, &waits), SIM_DONE);
    for (int i = 0; i < 8; i++)
        assert_int_equal(out[i], i == 4 ? 0 : 9);
    assert_int_equal(waits, 1);
    struct sim_case c;
    sim_case_open(&c, KERNEL("k") "bar.sync 0, 128;\nret;\n}\n");
    uint64_t at = sim_case_buffer(&c, 4, NULL);
    c.launch.block[0] = 64;
    c.launch.options.waits_end = true;
    assert_int_equal(sim_case_run(&c, "k", 1, &at), SIM_DEADLOCK);
    assert_int_equal(sim_waits_ended(c.sim), 0);
    sim_case_close(&c);
}

static void a_lock_for_threads(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct sim_case c;
        sim_case_open(
            &c, ".global .u32 lock;\n" KERNEL(
                    "k") "TRY:\natom.acquire.gpu.global.cas.b32 %r1, [lock], 0, 1;\n"
                         "setp.ne.u32 %p0, %r1, 0;\n@%p0 bra TRY;\nld.global.u32 %r2, [%out];\n"
                         "add.u32 %r2, %r2, 1;\nst.global.u32 [%out], %r2;\n"
                         "atom.release.gpu.global.exch.b32 %r1, [lock], 0;\nret;\n}\n");
        uint64_t out = sim_case_buffer(&c, 4, NULL);
        c.launch.grid[0] = 3;
        c.launch.block[0] = 48;
        c.launch.options.seed = seed;
        sim_case_done(&c, "k", 1, &out);
        assert_int_equal(*sim_case_words(&c, out, 1), 144);
        sim_case_close(&c);
    }
}

/* --- ends --- */

static enum sim_end ends(const char *body, unsigned threads, const char *text)
{
    static char program[4096];
    struct sim_case c;
    snprintf(program, sizeof program, "%s%s\nret;\n}\n", KERNEL("k"), body);
    sim_case_open(&c, program);
    uint64_t out = sim_case_buffer(&c, 64, NULL);
    c.launch.block[0] = threads;
    c.launch.options.step_limit = 100000;
    enum sim_end end = sim_case_run(&c, "k", 1, &out);
    if (!strstr(sim_why(c.sim), text))
        fail_msg("'%s' does not say '%s'", sim_why(c.sim), text);
    sim_case_close(&c);
    return end;
}

static void deadlocks(void **state)
{
    (void)state;
    assert_int_equal(
        ends("setp.lt.u32 %p0, %r0, 32;\n@%p0 bra A;\nbar.sync 1;\nret;\nA:\nbar.sync 0;", 64,
             "waits at barrier 1, where 32 threads are"),
        SIM_DEADLOCK);
    assert_int_equal(ends("bar.sync 0, 128;", 64, "where 64 of 128 threads are"), SIM_DEADLOCK);
    assert_int_equal(ends("setp.lt.u32 %p0, %r0, 8;\n@%p0 bra A;\nbar.sync 0;\nret;\nA:\n"
                          "bar.warp.sync 0xffff;",
                          32, "waits for lanes 0x0000ff00"),
                     SIM_DEADLOCK);
    assert_int_equal(
        ends("A:\nld.volatile.global.u32 %r1, [%out];\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 bra A;", 64,
             "no thread will change"),
        SIM_DEADLOCK);
}

static void no_ends(void **state)
{
    (void)state;
    assert_int_equal(ends("A:\nbra A;", 32, "it does not end within 1"), SIM_ENDLESS);
    assert_int_equal(
        ends("mov.u32 %r1, 0;\nA:\nadd.u32 %r1, %r1, 1;\n"
             "ld.volatile.global.u32 %r2, [%out];\nsetp.eq.u32 %p0, %r2, 0;\n@%p0 bra A;",
             64, "it does not end"),
        SIM_ENDLESS);
}

static void stops(void **state)
{
    (void)state;
    assert_int_equal(ends("trap;", 1, "(trap) (test.ptx:"), SIM_FAULT);
    assert_int_equal(ends("mov.u32 %r1, 33;\nbar.sync 0, %r1;", 32, "multiple of 32"), SIM_STOPPED);
    assert_int_equal(ends("mov.u32 %r1, 20;\nbar.sync %r1;", 32, "there is no barrier 20"),
                     SIM_STOPPED);
    assert_int_equal(ends("mov.u32 %r1, %pm0;", 1, "not simulated: mov.u32 %r1, %pm0;"),
                     SIM_UNKNOWN);
    assert_int_equal(ends("ret;\nmov.u32 %r1, %pm0;", 1, ""), SIM_DONE);
}

static void wrong_launches(void **state)
{
    (void)state;
    struct sim_case c;
    uint64_t out = 0;
    sim_case_open(&c, ".visible .entry k(.param .u64 out) .reqntid 32\n{\nret;\n}\n");
    assert_int_equal(sim_case_run(&c, "k", 1, &out), SIM_STOPPED);
    assert_non_null(strstr(sim_why(c.sim), "does not take blocks of 1 x 1 x 1 threads"));
    c.launch.block[0] = 32;
    assert_int_equal(sim_case_run(&c, "k", 1, &out), SIM_DONE);
    assert_int_equal(sim_case_run(&c, "k", 0, &out), SIM_STOPPED);
    assert_int_equal(sim_case_run(&c, "j", 1, &out), SIM_STOPPED);
    assert_non_null(strstr(sim_why(c.sim), "there is no kernel `j`"));
    c.launch.block[0] = 2048;
    assert_int_equal(sim_case_run(&c, "k", 1, &out), SIM_STOPPED);
    c.launch.block[0] = 32, c.launch.grid[1] = 0;
    assert_int_equal(sim_case_run(&c, "k", 1, &out), SIM_STOPPED);
    sim_case_close(&c);
}

/* --- seeds --- */

/* The limit is that of ptxas 13.0. */
static void static_shared_memory_has_limits(void **state)
{
    static const struct {
        const char *target;
        int most;
    } rows[] = {{"sm_80", 49152}, {"sm_90", 49152}, {"sm_100f", 49152}, {"sm_90a", 232448}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int more = 0; more < 2; more++) {
            char program[512];
            struct sim_case c;
            snprintf(program, sizeof program,
                     ".version 8.8\n.target %s\n.address_size 64\n.visible .entry k()\n{\n"
                     ".shared .align 16 .b8 s[%d];\n.reg .b32 %%r<2>;\nmov.u32 %%r0, s;\n"
                     "ld.shared.u32 %%r1, [%%r0];\nret;\n}\n",
                     rows[i].target, rows[i].most + 16 * more);
            sim_case_open(&c, program);
            assert_int_equal(sim_case_run(&c, "k", 0, NULL), more ? SIM_STOPPED : SIM_DONE);
            sim_case_close(&c);
        }
}

/* The last thread to come writes last: a race, whose outcome depends on the seed. */
static void same_seed_same_run(void **state)
{
    (void)state;
    uint32_t last[20], kinds = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct sim_case c;
        sim_case_open(&c, KERNEL("k") "mov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r1, %r1, 64, %r0;\n"
                                      "st.global.u32 [%out], %r1;\nret;\n}\n");
        uint64_t out = sim_case_buffer(&c, 4, NULL);
        c.launch.grid[0] = 4;
        c.launch.block[0] = 64;
        c.launch.options.seed = seed / 2;
        sim_case_done(&c, "k", 1, &out);
        uint32_t value = *sim_case_words(&c, out, 1);
        if (seed & 1)
            assert_int_equal(value, last[seed / 2]);
        last[seed / 2] = value;
        sim_case_close(&c);
    }
    for (int i = 1; i < 20; i++)
        kinds += last[i] != last[0];
    assert_true(kinds > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_code),
        cmocka_unit_test(guards),
        cmocka_unit_test(branches_join),
        cmocka_unit_test(loops_of_different_length),
        cmocka_unit_test(branch_by_table),
        cmocka_unit_test(some_lanes_exit),
        cmocka_unit_test(places_of_threads),
        cmocka_unit_test(calls),
        cmocka_unit_test(recursion_of_different_depth),
        cmocka_unit_test(calls_through_pointers),
        cmocka_unit_test(joined_before_a_call),
        cmocka_unit_test(endless_recursion),
        cmocka_unit_test(prints),
        cmocka_unit_test(reversed_through_shared_memory),
        cmocka_unit_test(producer_and_consumer),
        cmocka_unit_test(reductions_at_barriers),
        cmocka_unit_test(barriers_of_threads),
        cmocka_unit_test(lanes_in_step),
        cmocka_unit_test(warps_wait_for_warps),
        cmocka_unit_test(lanes_wait_for_lanes),
        cmocka_unit_test(blocks_wait_for_blocks),
        cmocka_unit_test(too_few_blocks_at_a_time),
        cmocka_unit_test(chosen_blocks_run_in_their_order),
        cmocka_unit_test(waits_can_end),
        cmocka_unit_test(a_lock_for_threads),
        cmocka_unit_test(deadlocks),
        cmocka_unit_test(no_ends),
        cmocka_unit_test(stops),
        cmocka_unit_test(wrong_launches),
        cmocka_unit_test(static_shared_memory_has_limits),
        cmocka_unit_test(same_seed_same_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
