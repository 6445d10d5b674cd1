/* Requests that the simulator refuses: ranks of blocks that the cluster does not have, more
 * stack, heap or registers than it has, calls of kernels, texts at invalid addresses. Also the
 * stack that alloca moves. */
#include "sim/sim_barrier_check.h"
#include "sim/sim_memcheck.h"
#include "sim/race/sim_race.h"
#include "sim_helper.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define REGISTERS ".reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .pred %p<8>; .reg .b64 %out;\n"
#define KERNEL(body)                                                                               \
    ".visible .entry k(.param .u64 out)\n{\n" REGISTERS                                            \
    "ld.param.u64 %out, [out]; mov.u32 %r0, %tid.x;\n" body "ret;\n}\n"
#define STORE(reg) "mad.wide.u32 %rd31, %r0, 4, %out; st.global.b32 [%rd31], " reg ";\n"

/* Checks that the launch ends in this way, for this reason. */
static void ends(const char *ptx, unsigned threads, enum sim_end end, const char *why)
{
    struct sim_case c;
    sim_case_open(&c, ptx);
    uint64_t out = sim_case_buffer(&c, 4096, NULL);
    c.launch.block[0] = threads;
    enum sim_end got = sim_case_run(&c, "k", 1, &out);
    if (got != end || (why && !strstr(sim_why(c.sim), why)))
        fail_msg("it ends with %d, '%s', not with '%s'", (int)got, sim_why(c.sim), why);
    sim_case_close(&c);
}

static void refused(const char *ptx, const char *why)
{
    struct arena a;
    jmp_buf failed;
    struct diag d;
    const char *text;
    arena_init(&a, &allocator_libc, &failed);
    if (setjmp(failed))
        fail_msg("no memory");
    diag_init(&d, &a);
    text = arena_printf(&a, ".version 8.4\n.target sm_90\n.address_size 64\n%s", ptx);
    const struct source source = {"test.ptx", text, strlen(text)};
    const struct ptx_module *m = ptx_parse(&a, &source, &d);
    assert_false(m && ptx_verify(m, &d));
    if (!strstr(d.first->message, why))
        fail_msg("'%s' does not say '%s'", d.first->message, why);
    arena_free(&a);
}

/* --- clusters --- */

#define SHARED ".shared .align 16 .b8 s[64];\n"

static void ranks(void **state)
{
    (void)state;
    ends(SHARED KERNEL("mov.u32 %r1, 1000; mapa.shared::cluster.u32 %r2, s, %r1;\n"), 32, SIM_FAULT,
         "the cluster has no block 1000");
    ends(SHARED KERNEL("mapa.shared::cluster.u64 %rd1, s, %r0;\n"), 2, SIM_FAULT,
         "the cluster has no block 1:");
    ends(SHARED KERNEL("mapa.u64 %rd1, s, 0; ld.u32 %r1, [%rd1+60];\n"
                       "getctarank.u64 %r2, %rd1;\n" STORE("%r2")),
         32, SIM_DONE, NULL);
    ends(SHARED KERNEL("mapa.u64 %rd1, %out, 0;\n"), 32, SIM_FAULT,
         "is in no block's shared memory");
    ends(SHARED KERNEL("getctarank.u64 %r1, %out;\n"), 32, SIM_FAULT,
         "is in no block's shared memory");
    ends(SHARED KERNEL("mov.u32 %r1, 0x1000000; getctarank.shared::cluster.u32 %r2, %r1;\n"
                       "ld.shared.u32 %r3, [s];\n"),
         32, SIM_FAULT, "is in no block's shared memory");
    ends(SHARED KERNEL("mov.u32 %r1, 0x1000000; mbarrier.arrive.shared::cluster.b64 _, [%r1];\n"
                       "ld.shared.u32 %r3, [s];\n"),
         32, SIM_FAULT, "outside any allocation");
}

/* --- parameters --- */

/* Reads of parameters have a fast path, which must not read past their end. */
static void parameters_end(void **state)
{
    (void)state;
#define READ(parameters, read) ".visible .entry k(" parameters ")\n{\n" REGISTERS read "ret;\n}\n"
    ends(READ(".param .u32 a", "ld.param.u64 %rd1, [a];\n"), 32, SIM_FAULT, "kernel's parameters");
    ends(READ(".param .u64 a", "ld.param.u64 %rd1, [a+8];\n"), 32, SIM_FAULT,
         "kernel's parameters");
    ends(READ(".param .u64 a", "ld.param.u32 %r1, [a+8];\n"), 32, SIM_FAULT, "kernel's parameters");
    ends(READ(".param .u64 a", "ld.param.u32 %r1, [a+4];\n"), 32, SIM_DONE, NULL);
#undef READ
}

/* --- the stack --- */

static void stack_moves(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out = sim_case_body(
        &c,
        /* each lane takes an amount of its own, in a loop: its writes do not show in other lanes */
        "stacksave.u32 %r1;\nmad.lo.u32 %r2, %r0, 8, 16;\n"
        "alloca.u32 %r3, %r2, 16;\nst.local.u32 [%r3], %r0;\n"
        "add.u32 %r4, %r3, %r2; st.local.u32 [%r4+-4], %r0;\n"
        "alloca.u32 %r5, 4;\nst.local.u32 [%r5], 77;\nld.local.u32 %r6, [%r3];\n"
        "ld.local.u32 %r7, [%r4+-4]; add.u32 %r6, %r6, %r7;\n"
        "stackrestore.u32 %r1;\nalloca.u32 %r8, 64, 16;\n"
        "setp.eq.u32 %p1, %r8, %r3; selp.u32 %r9, 1000, 0, %p1; add.u32 %r6, %r6, %r9;\n"
        "mad.wide.u32 %rd1, %r0, 4, %out; st.global.u32 [%rd1], %r6;\n",
        32, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(out[i], 2 * i + 1000);
    sim_case_close(&c);
}

/* A function that takes stack and calls another; its callers' parts do not change. */
static void stack_of_calls(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(
        &c, ".func (.reg .b32 sum) f(.reg .b32 n)\n{\n" REGISTERS ".local .b32 own[4];\n"
            "mov.u32 sum, 0; setp.eq.u32 %p0, n, 0; @%p0 ret;\n"
            "mul.lo.u32 %r1, n, 24; alloca.u32 %r2, %r1, 8; add.u32 %r3, %r2, %r1;\n"
            "st.local.u32 [%r2], n; st.local.u32 [%r3+-4], n; st.local.u32 [own+12], n;\n"
            "sub.u32 %r4, n, 1; call (%r5), f, (%r4);\n"
            "ld.local.u32 %r6, [%r2]; ld.local.u32 %r7, [%r3+-4]; ld.local.u32 %r8, [own+12];\n"
            "add.u32 sum, %r5, %r6; add.u32 sum, sum, %r7; add.u32 sum, sum, %r8; ret;\n}\n" KERNEL(
                "rem.u32 %r1, %r0, 7; call (%r2), f, (%r1);\n" STORE("%r2")));
    uint64_t at = sim_case_buffer(&c, 256, NULL);
    c.launch.block[0] = 64;
    sim_case_done(&c, "k", 1, &at);
    const uint32_t *out = sim_case_words(&c, at, 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], 3 * (i % 7) * (i % 7 + 1) / 2);
    sim_case_close(&c);
}

static void stack_ends(void **state)
{
    (void)state;
    ends(
        KERNEL("alloca.u64 %rd1, 32; st.local.u64 [%rd1+24], %rd1; st.local.u32 [%rd1+32], %r0;\n"),
        32, SIM_FAULT, "outside any allocation");
    ends(KERNEL("alloca.u32 %r1, %r0; st.local.u8 [%r1+30], 1;\n"), 32, SIM_FAULT, "thread 0");
    ends(KERNEL("alloca.u64 %rd1, 0x7fffffffffffffff;\n"), 1, SIM_FAULT,
         "a thread may have 524288");
    ends(KERNEL("alloca.u64 %rd1, -1;\n"), 32, SIM_FAULT, "a thread may have 524288");
    ends(KERNEL("alloca.u32 %r1, 524288; st.local.u8 [%r1+524287], 1; alloca.u32 %r1, 1;\n"), 1,
         SIM_FAULT, "the stack has 524288 already");
    ends(KERNEL("stackrestore.u64 4096;\n"), 32, SIM_FAULT, "which stacksave did not give");
    ends(
        KERNEL("stacksave.u32 %r1; stackrestore.u32 %r1; alloca.u32 %r2, 8; sub.u32 %r1, %r1, 16;\n"
               "stackrestore.u32 %r1;\n"),
        32, SIM_FAULT, "which stacksave did not give");
}

/* --- more than is available --- */

static void too_much(void **state)
{
    (void)state;
    refused(".global .b8 g[4611686018427387903];\n", "more than 2^40 bytes");
    refused(".shared .b8 g[4611686018427387903][4][4];\n", "more than 2^40 bytes");
    refused(".visible .entry k(.param .b8 p[4611686018427387903])\n{\nret;\n}\n",
            "more than 2^40 bytes");
    ends(KERNEL(".local .b8 l[1048576]; st.local.u8 [l+1048575], 1;\n"), 32, SIM_STOPPED,
         "524288 bytes that a thread may have");
    ends(KERNEL(".local .b8 l[4294967312]; st.local.u8 [l+15], 1;\n"), 32, SIM_STOPPED,
         "524288 bytes that a thread may have");
    ends(".func f()\n{\n.local .b8 l[524288]; st.local.u8 [l+1], 1; ret;\n}\n" KERNEL(
             ".local .b8 l[16]; st.local.u8 [l], 1; call f, ();\n"),
         32, SIM_STOPPED, "the stack is full");
    ends(".extern .shared .align 1073741824 .b8 d[];\n" SHARED KERNEL(
             "ld.shared.u8 %r1, [d]; ld.shared.u8 %r1, [s];\n"),
         32, SIM_FAULT, NULL);
    ends(".func f()\n{\n.reg .b64 %rd<9000>; add.u64 %rd1, %rd2, %rd8999;\ncall f, (); "
         "ret;\n}\n" KERNEL("call f, ();\n"),
         1, SIM_STOPPED, "the stack is full");
}

static void dynamic_memory_counts(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c, ".extern .shared .align 16 .b8 d[];\n.shared .b8 s[40000];\n" KERNEL(
                          "ld.shared.u8 %r1, [d]; ld.shared.u8 %r1, [s];\n"));
    uint64_t out = sim_case_buffer(&c, 16, NULL);
    c.launch.dynamic_shared = 227 * 1024 - 32;
    assert_int_equal(sim_case_run(&c, "k", 1, &out), SIM_STOPPED);
    assert_non_null(strstr(sim_why(c.sim), "of dynamic shared memory, and a block"));
    sim_case_close(&c);
}

/* --- functions --- */

static void kernels_are_not_called(void **state)
{
    (void)state;
    ends(".visible .entry j(.param .align 16 .b8 p[4096])\n{\nret;\n}\n" KERNEL(
             "{\n.param .align 16 .b8 a[4096]; mov.u64 %rd1, j;\n"
             "P: .callprototype _ (.param .align 16 .b8 _[4096]);\n"
             "call %rd1, (a), P;\n}\n"),
         32, SIM_STOPPED, "`j` is a kernel, which is not called");
}

/* The host, or another kernel, may give a kernel the address of a function that it does not name. */
static void functions_have_addresses(void **state)
{
    (void)state;
    ends(".func trap_here()\n{\ntrap;\n}\n.global .u64 t[1] = {trap_here};\n" KERNEL(
             "mov.u64 %rd1, 0x4000000010;\nP: .callprototype _ ();\ncall %rd1, (), P;\n"),
         32, SIM_FAULT, "trap");
    ends(KERNEL("mov.u64 %rd1, 0x4000000010;\nP: .callprototype _ ();\ncall %rd1, (), P;\n"), 32,
         SIM_STOPPED, "0x4000000010 is not the address of a function");
}

#define MALLOC ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
#define FREE ".extern .func free(.param .b64 p);\n"
#define PRINT ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
#define CALL_MALLOC(bytes)                                                                         \
    "{\n.param .b64 n; .param .b64 p; st.param.b64 [n], " bytes ";\ncall (p), malloc, (n);\n"      \
    "ld.param.b64 %rd1, [p];\n}\n"
#define CALL_FREE(reg) "{\n.param .b64 p; st.param.b64 [p], " reg ";\ncall free, (p);\n}\n"
#define CALL_PRINT(format, arguments)                                                              \
    "{\n.param .b64 f; .param .b64 a; .param .b32 n;\nst.param.b64 [f], " format                   \
    ";\nst.param.b64 [a], " arguments ";\ncall (n), vprintf, (f, a);\n}\n"

static void the_heap_ends(void **state)
{
    (void)state;
    ends(MALLOC KERNEL(CALL_MALLOC("24") "st.u64 [%rd1+16], 1; st.u64 [%rd1+24], 1;\n"), 32,
         SIM_FAULT, "outside any allocation");
    /* 8 MB; then a null pointer */
    ends(MALLOC KERNEL("loop:\n" CALL_MALLOC("65536") "st.u8 [%rd1+65535], 1; bra loop;\n"), 1,
         SIM_FAULT, "0xffff:");
    ends(MALLOC FREE KERNEL("loop:\n" CALL_MALLOC(
             "1048576") "setp.eq.u64 %p0, %rd1, 0; @%p0 trap;\n" CALL_FREE("%rd1") "bra loop;\n"),
         1, SIM_STOPPED, "malloc gave a gigabyte in all");
    ends(MALLOC FREE KERNEL(CALL_MALLOC("16") "add.u64 %rd1, %rd1, 8;\n" CALL_FREE("%rd1")), 1,
         SIM_FAULT, "which malloc did not give");
    ends(FREE KERNEL(CALL_FREE("-1")), 1, SIM_FAULT, "which malloc did not give");
}

/* Two texts of four bytes, the first without an end of its own. */
#define TEXTS                                                                                      \
    ".global .align 8 .b8 t[4] = {37, 115, 37, 115};\n"                                            \
    ".global .align 8 .b8 d[4] = {37, 100, 10, 0};\n"
#define PRINTS(format, arguments)                                                                  \
    PRINT TEXTS KERNEL("mov.u64 %rd2, t; mov.u64 %rd3, d; add.u64 %rd4, %rd2, 2;\n" CALL_PRINT(    \
        format, arguments))

static void texts_lie_in_memory(void **state)
{
    (void)state;
    static const char *const bad[] = {PRINTS("0", "0"),    PRINTS("-1", "0"),
                                      PRINTS("%rd2", "0"), PRINTS("%rd3", "-4"),
                                      PRINTS("%rd3", "0"), PRINTS("%rd3", "%rd4")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ends(bad[i], 1, SIM_FAULT, "vprintf");
    ends(PRINTS("%rd3", "%rd2"), 1, SIM_DONE, NULL);
    ends(PRINTS("%out", "0"), 1, SIM_DONE, NULL); /* zeros: an empty text */
}

/* --- launches --- */

/* Copies in flight when a launch ends with a fault do not belong to the next launch. */
static void copies_end_with_their_launch(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c, SHARED ".visible .entry k(.param .u64 out, .param .u32 fails)\n{\n" REGISTERS
                             "ld.param.u64 %out, [out]; ld.param.u32 %r1, [fails];\n"
                             "setp.eq.u32 %p0, %r1, 0; @%p0 bra wait;\n"
                             "cp.async.ca.shared.global [s], [%out], 16;\ntrap;\n"
                             "wait: cp.async.wait_all; ld.shared.u32 %r2, [s];\n"
                             "st.global.u32 [%out], %r2;\nret;\n}\n");
    static const uint32_t sevens[4] = {7, 7, 7, 7};
    uint64_t given[2] = {sim_case_buffer(&c, 16, sevens), 1}, other[2] = {0, 0};
    c.launch.options.async_late = true;
    assert_int_equal(sim_case_run(&c, "k", 2, given), SIM_FAULT);
    sim_release(c.sim, given[0]);
    other[0] = sim_case_buffer(&c, 16, NULL);
    sim_case_done(&c, "k", 2, other);
    assert_int_equal(*sim_case_words(&c, other[0], 1), 0);
    sim_case_close(&c);
}

/* --- large numbers of something --- */

/* Each variable holds the address of the one before it. The time is proportional to their
 * number: if it grew with the square, this test would hang. */
static void a_long_chain_of_variables(void **state)
{
    (void)state;
    enum { COUNT = 100000, LINE = 64 };
    static char ptx[(COUNT + 16) * LINE];
    char *at = ptx + sprintf(ptx, ".global .u64 v0 = 7;\n");
    for (int i = 1; i <= COUNT; i++)
        at += sprintf(at, ".global .u64 v%d = v%d;\n", i, i - 1);
    at += sprintf(at, ".global .u64 last = v%d;\n", COUNT);
    strcpy(at, KERNEL("mov.u64 %rd1, last; mov.u32 %r1, 0;\n"
                      "walk: ld.global.u64 %rd1, [%rd1]; add.u32 %r1, %r1, 1;\n"
                      "setp.ne.u64 %p0, %rd1, 7; @%p0 bra walk;\n"
                      "st.global.u32 [%out], %r1;\n"));
    struct sim_case c;
    sim_case_open(&c, ptx);
    uint64_t out = sim_case_buffer(&c, 4, NULL);
    sim_case_done(&c, "k", 1, &out);
    assert_int_equal(*sim_case_words(&c, out, 1), COUNT + 2);
    sim_case_close(&c);
}

#define LOOP(body)                                                                                 \
    KERNEL("mov.u32 %r1, 0; mov.u32 %r2, 1000; mov.u64 %rd2, 1000; mov.u64 %rd3, 99;\n"            \
           "again:\n" body "add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 20000; @%p0 bra again;\n")

/* A fault that the checks report and then ignore takes memory once, not each time. */
static void repeated_faults_take_no_memory(void **state)
{
    (void)state;
    static const char *const loops[] = {
        SHARED LOOP("mapa.shared::cluster.u32 %r3, s, %r2;\n"),
        SHARED LOOP("mapa.u64 %rd4, %rd2, 0;\n"),
        LOOP("alloca.u64 %rd4, -1;\n"),
        LOOP("stackrestore.u64 %rd2;\n"),
        ".extern .func free(.param .b64 p);\n" LOOP(
            "{ .param .b64 a; st.param.b64 [a], 99; call free, (a); }\n"),
        PRINT LOOP(CALL_PRINT("0", "0")),
        LOOP("bar.warp.sync 2;\n"),
        LOOP("ld.local.u32 %r3, [%rd2];\n"),
        LOOP("ld.global.u32 %r3, [%rd2];\n"),
        LOOP("ld.global.u32 %r3, [%rd3];\n"),
    };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        struct sim_case c;
        sim_case_open(&c, loops[i]);
        struct sim_report report;
        sim_report_init(&report, &c.arena, c.module);
        struct sim_memcheck *memory = sim_memcheck_new(&c.arena, &report);
        struct sim_barrier_check *barriers = sim_barrier_check_new(&c.arena, &report);
        sim_observe(c.sim, sim_memcheck_observer(memory));
        sim_observe(c.sim, sim_barrier_check_observer(barriers));
        uint64_t out = sim_case_buffer(&c, 4, NULL);
        size_t used = c.arena.used;
        sim_case_done(&c, "k", 1, &out);
        assert_int_equal(report.kept, 1);
        if (report.first->count != 20000 || c.arena.used - used > 400000)
            fail_msg("%lld times, %zu bytes: %s", (long long)report.first->count,
                     c.arena.used - used, report.first->message);
        sim_memcheck_free(memory);
        sim_barrier_check_free(barriers);
        sim_case_close(&c);
    }
}

/* Each line races. The time is proportional to their number: if it grew with the square, this
 * test would hang. */
static void many_findings(void **state)
{
    (void)state;
    enum { COUNT = 20000, LINE = 32 };
    static const char head[] = SHARED KERNEL("mov.u32 %r1, s;\n");
    static char ptx[(COUNT + 64) * LINE];
    const size_t end = sizeof "ret;\n}\n" - 1;
    memcpy(ptx, head, sizeof head - 1 - end);
    char *at = ptx + sizeof head - 1 - end;
    for (int i = 0; i < COUNT; i++)
        at += sprintf(at, "st.shared.u32 [%%r1], %%r0;\n");
    sprintf(at, "ret;\n}\n");
    struct sim_case c;
    sim_case_open(&c, ptx);
    struct sim_report report;
    sim_report_init(&report, &c.arena, c.module);
    struct sim_races *races = sim_races_new(&c.arena, &report);
    sim_observe(c.sim, sim_races_observer(races));
    uint64_t out = sim_case_buffer(&c, 4, NULL);
    c.launch.block[0] = 32;
    sim_case_done(&c, "k", 1, &out);
    assert_int_equal(report.kept, 200);
    assert_true(report.dropped >= COUNT - 200);
    sim_races_free(races);
    sim_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks),
        cmocka_unit_test(parameters_end),
        cmocka_unit_test(stack_moves),
        cmocka_unit_test(stack_of_calls),
        cmocka_unit_test(stack_ends),
        cmocka_unit_test(too_much),
        cmocka_unit_test(dynamic_memory_counts),
        cmocka_unit_test(kernels_are_not_called),
        cmocka_unit_test(functions_have_addresses),
        cmocka_unit_test(the_heap_ends),
        cmocka_unit_test(texts_lie_in_memory),
        cmocka_unit_test(copies_end_with_their_launch),
        cmocka_unit_test(a_long_chain_of_variables),
        cmocka_unit_test(repeated_faults_take_no_memory),
        cmocka_unit_test(many_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
