/* Clusters: the places of blocks and their special registers, addresses in the memory of other
 * blocks, the barrier, copies to several blocks; sizes that are refused. */
#include "sim_helper.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 8 };

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_90a\n.address_size 64\n"                                             \
    ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<32>; .reg .b64 %rd<8>; .reg .pred "       \
    "%p<4>;\n"                                                                                     \
    ".shared .align 128 .b32 s[64]; .shared .align 8 .b64 bar; ld.param.u64 %rd0, [out];\n"        \
    "mov.u32 %r0, %tid.x; mov.u32 %r1, s; mov.u32 %r2, %cluster_ctarank;\n"                        \
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %nctaid.x;\n"                      \
    "mad.lo.u32 %r6, %r4, %r5, %r3; mul.wide.u32 %rd1, %r6, 32; add.u64 %rd0, %rd0, %rd1;\n"
#define BARRIER "barrier.cluster.arrive; barrier.cluster.wait;\n"

static const uint32_t *run(struct sim_case *c, const char *text, unsigned threads, bool late)
{
    static uint32_t out[WORDS * 32];
    memset(out, 0, sizeof out);
    sim_case_open(c, text);
    uint64_t address = sim_attach(c->sim, out, sizeof out, "out");
    c->launch.grid[0] = 4;
    c->launch.grid[1] = 6;
    c->launch.block[0] = threads;
    c->launch.cluster[0] = 2;
    c->launch.cluster[1] = 3;
    c->launch.options.async_late = late;
    sim_case_run(c, "k", 1, &address);
    return out;
}

static void done(const struct sim_case *c)
{
    if (c->end != SIM_DONE)
        fail_msg("%s", sim_why(c->sim));
}

static void places(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out =
        run(&c,
            HEAD "mov.u32 %r10, %clusterid.x; mov.u32 %r11, %clusterid.y;\n"
                 "mov.u32 %r12, %cluster_ctaid.x; mov.u32 %r13, %cluster_ctaid.y;\n"
                 "mov.u32 %r14, %nclusterid.y; mov.u32 %r15, %cluster_nctaid.y;\n"
                 "mov.u32 %r16, %cluster_nctarank;\n"
                 "st.global.u32 [%rd0], %r10; st.global.u32 [%rd0+4], %r11;\n"
                 "st.global.u32 [%rd0+8], %r12; st.global.u32 [%rd0+12], %r13;\n"
                 "st.global.u32 [%rd0+16], %r14; st.global.u32 [%rd0+20], %r15;\n"
                 "st.global.u32 [%rd0+24], %r16; st.global.u32 [%rd0+28], %r2;\n"
                 "ret;\n}\n",
            1, false);
    done(&c);
    for (uint32_t y = 0; y < 6; y++)
        for (uint32_t x = 0; x < 4; x++) {
            const uint32_t want[WORDS] = {x / 2, y / 3, x % 2, y % 3, 2, 3, 6, y % 3 * 2 + x % 2};
            assert_memory_equal(out + WORDS * (4 * y + x), want, sizeof want);
        }
    sim_case_close(&c);
}

/* Each block adds its rank + 1 to a word of each block; then reads a word of the next one. */
static void memory_of_others(void **state)
{
    (void)state;
    struct sim_case c;
    const uint32_t *out =
        run(&c,
            HEAD "setp.ge.u32 %p0, %r0, 6; st.shared.u32 [s+4], %r2;\n" BARRIER "@%p0 bra ADDED;\n"
                 "mapa.shared::cluster.u32 %r10, %r1, %r0; add.u32 %r11, %r2, 1;\n"
                 "red.relaxed.cluster.shared::cluster.add.u32 [%r10], %r11;\nADDED:\n" BARRIER
                 "add.u32 %r12, %r2, 1; rem.u32 %r12, %r12, 6; mov.u32 %r13, s;\n"
                 "cvt.u64.u32 %rd2, %r13; cvta.shared.u64 %rd2, %rd2;\n"
                 "mapa.u64 %rd3, %rd2, %r12; ld.u32 %r14, [%rd3+4]; getctarank.u64 %r15, %rd3;\n"
                 "ld.shared.u32 %r16, [s]; setp.ne.u32 %p1, %r0, 0; @%p1 bra DONE;\n"
                 "st.global.u32 [%rd0], %r16; st.global.u32 [%rd0+4], %r14;\n"
                 "st.global.u32 [%rd0+8], %r15;\nDONE:\n" BARRIER "ret;\n}\n",
            64, false);
    done(&c);
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t rank = i / 4 % 3 * 2 + i % 2;
        assert_int_equal(out[WORDS * i], 21);
        assert_int_equal(out[WORDS * i + 1], (rank + 1) % 6);
        assert_int_equal(out[WORDS * i + 2], (rank + 1) % 6);
    }
    sim_case_close(&c);
}

/* Block 0 of each cluster copies a row of `out` to the odd ranks, whose mbarriers count it. */
static void copies_to_several(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct sim_case c;
        const uint32_t *out =
            run(&c,
                HEAD "setp.ne.u32 %p0, %r0, 0; mov.u32 %r10, bar; @%p0 bra MADE;\n"
                     "mbarrier.init.shared.b64 [%r10], 1; fence.mbarrier_init.release.cluster;\n"
                     "mbarrier.arrive.expect_tx.shared.b64 _, [%r10], 16;\n"
                     "add.u32 %r17, %r6, 1; st.global.u32 [%rd0+16], %r17; fence.proxy.async;\n"
                     "MADE:\n" BARRIER
                     "or.b32 %r11, %r0, %r2; setp.ne.u32 %p1, %r11, 0; @%p1 bra SENT;\n"
                     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%r1], [%rd0+16], 16, [%r10], 42;\nSENT:\n"
                     "and.b32 %r12, %r2, 1; setp.eq.u32 %p2, %r12, 0; @%p2 bra DONE;\n"
                     "WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r10], 0; @!%p3 bra WAIT;\n"
                     "ld.shared.u32 %r13, [s]; @%p0 bra DONE; st.global.u32 [%rd0], %r13;\n"
                     "DONE:\n" BARRIER "ret;\n}\n",
                32, late);
        done(&c);
        for (uint32_t i = 0; i < 24; i++) {
            uint32_t first = i / 12 * 12 + i % 4 / 2 * 2;
            assert_int_equal(out[WORDS * i], i % 2 ? first + 1 : 0);
        }
        sim_case_close(&c);
    }
}

static void ends(const char *body, enum sim_end end, const char *why)
{
    static char text[4096];
    struct sim_case c;
    snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEAD, body);
    run(&c, text, 32, false);
    assert_int_equal(c.end, end);
    if (!strstr(sim_why(c.sim), why))
        fail_msg("%s", sim_why(c.sim));
    sim_case_close(&c);
}

static void refuses(void **state)
{
    (void)state;
    ends("mapa.shared::cluster.u32 %r10, %r1, 6;", SIM_FAULT,
         "the cluster has no block 6: its last one is 5");
    ends("barrier.cluster.wait;", SIM_STOPPED, "at which it has not arrived");
    ends("barrier.cluster.arrive; barrier.cluster.arrive;", SIM_STOPPED, "arrives twice");
    ends("setp.eq.u32 %p0, %r2, 5; @%p0 bra PASSED; " BARRIER "PASSED: bar.sync 1, 64;",
         SIM_DEADLOCK, "waits at the barrier of its cluster");
    ends("setp.ne.u32 %p0, %r2, 5; @%p0 bra LAST; ret;\nLAST: " BARRIER, SIM_DONE, "");
}

static void refused_sizes(void **state)
{
    (void)state;
    static const struct {
        unsigned grid, cluster;
        const char *directive, *why;
    } sizes[] = {
        {6, 4, "", "a grid of 6 blocks along axis 0 has no whole clusters of 4 blocks"},
        {34, 17, "", "a cluster has 1 to 16 blocks"},
        {4, 4, ".reqnctapercluster 2", "k needs clusters of 2 blocks along axis 0, not 4"},
        {3, 1, ".reqnctapercluster 2",
         "a grid of 3 blocks along axis 0 has no whole clusters of 2 blocks"},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[512];
        struct sim_case c;
        snprintf(
            text, sizeof text,
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n%s\n{\nret;\n}\n",
            sizes[i].directive);
        sim_case_open(&c, text);
        c.launch.grid[0] = sizes[i].grid;
        c.launch.cluster[0] = sizes[i].cluster;
        assert_int_equal(sim_case_run(&c, "k", 0, NULL), SIM_STOPPED);
        assert_string_equal(sim_why(c.sim), sizes[i].why);
        sim_case_close(&c);
    }
}

/* Rank 0 of each cluster ends at once, and its place is used again; the other ranks go on. */
static void a_cluster_outlives_its_first_block(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c,
                  HEAD "setp.eq.u32 %p0, %r2, 0; @%p0 bra DONE; mov.u32 %r10, 40;\n"
                       "WORK: sub.u32 %r10, %r10, 1; setp.ne.u32 %p1, %r10, 0; @%p1 bra WORK;\n"
                       "mov.u32 %r11, 1; mapa.shared::cluster.u32 %r12, %r1, %r11;\n"
                       "st.shared::cluster.u32 [%r12], %r2; ld.shared::cluster.u32 %r13, [%r12];\n"
                       "st.global.u32 [%rd0], %r13;\nDONE: ret;\n}\n");
    uint32_t out[WORDS * 64] = {0};
    uint64_t address = sim_attach(c.sim, out, sizeof out, "out");
    c.launch.grid[0] = 64;
    c.launch.block[0] = 1;
    c.launch.cluster[0] = 2;
    c.launch.options.resident_blocks = 4;
    sim_case_run(&c, "k", 1, &address);
    done(&c);
    for (int i = 0; i < 64; i++)
        assert_int_equal(out[WORDS * i], i % 2);
    sim_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(memory_of_others),
        cmocka_unit_test(a_cluster_outlives_its_first_block),
        cmocka_unit_test(copies_to_several),
        cmocka_unit_test(refuses),
        cmocka_unit_test(refused_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
