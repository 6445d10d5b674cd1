/* Clusters on the CPU engine: memory and mbarriers of peers, copies to several blocks, and what is
 * reported. */
#include "cpu_helper.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#define GIVEN(...) ((const struct given[]){__VA_ARGS__, {NULL, 0}})

#define HEAD(grid)                                                                                 \
    "kernel k(i32 n, const i32 *a, i32 *c) grid(" grid ") warps(8) cluster(2) target(sm_90a)\n{\n" \
    "    global i32 A[n][16] = a, C[n][16] = c;\n    shared i32 s[2][16];\n"

/* --- right programs --- */

static void row_of_peer(const int32_t *a, const int32_t *c, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < ORDER_WIDTH; j++)
            assert_int_equal(c[i * ORDER_WIDTH + j], a[(i ^ 1) * ORDER_WIDTH + j] + i / 2 * 1000);
}

static void blocks_read_and_write_their_peers(void **state)
{
    (void)state;
    for (int n = 0; n <= 8; n += 2) {
        cpu_check_orders(
            HEAD("n") "s[0] = A[block.x][:];\ncluster_sync();\n"
                      "C[block.x][:] = peer(s[0], 1 - cluster.rank) + cluster.x * 1000;\n"
                      "cluster_sync();\n}\n",
            n, row_of_peer);
        cpu_check_orders(
            HEAD("n") "cluster_sync();\npeer(s[1], 1 - cluster.rank) = A[block.x][:];\n"
                      "cluster_sync();\nC[block.x][:] = s[1] + cluster.x * 1000;\n}\n",
            n, row_of_peer);
    }
}

static void row_for_both(const int32_t *a, const int32_t *c, int n)
{
    for (int i = 0; i < n * ORDER_WIDTH; i++)
        assert_int_equal(c[i], a[i] * 2);
}

#define RING(first, copies, arrives, last)                                                         \
    HEAD("4")                                                                                      \
    "    mbarrier full[2](1), empty[2](2) ready;\n" first "    warps(0 +: 4) { one_thread {\n"     \
    "        i32 p = 0;\n"                                                                         \
    "        for (i32 t = cluster.x; t < n; t += 2, p = 1 - p) {\n"                                \
    "            wait(empty[p]);\n            expect(full[p], bytes(s[p]));\n"                     \
    "            async(full[p]) s[p][cluster.rank * 8 +: 8] = "                                    \
    "A[t][cluster.rank * 8 +: 8] " copies ";\n        }\n    } }\n"                                \
    "    warps(4 +: 4) {\n        i32 p = 0;\n"                                                    \
    "        for (i32 t = cluster.x; t < n; t += 2, p = 1 - p) {\n"                                \
    "            wait(full[p]);\n"                                                                 \
    "            C[t][cluster.rank * 8 +: 8] = s[p][cluster.rank * 8 +: 8] * 2;\n" arrives         \
    "        }\n    }\n" last "}\n"
#define SYNC "    cluster_sync();\n"
#define BOTH "            for (i32 r = 0; r < 2; r++)\n                arrive(peer(empty[p], r));\n"

static void copies_reach_both_blocks(void **state)
{
    (void)state;
    for (int n = 0; n <= 9; n++)
        cpu_check_orders(RING(SYNC, "multicast(3)", BOTH, SYNC), n, row_for_both);
}

/* --- faults --- */

static void expect_fault(const char *text, enum cpu_fault_kind kind, const char *words)
{
    struct cpu_run r;
    cpu_open(&r, text, GIVEN({"n", 6}));
    for (const struct param *p = r.kernel->params; p; p = p->next)
        if (p->sym->is_pointer)
            cpu_array(&r, p->sym->name, 1024);
    cpu_go(&r, 1);
    if (r.fault.kind != kind || !strstr(r.fault.message, words))
        fail_msg("kind %d: %s", (int)r.fault.kind, r.fault.message);
    cpu_close(&r);
}

static void faults(void **state)
{
    (void)state;
    expect_fault(HEAD("3") "}\n", CPU_BAD_ARGUMENT,
                 "has 3 blocks along x, and its clusters have 2");
    expect_fault(HEAD("2") "C[0][:] = peer(s[0], 1 - cluster.rank);\n}\n", CPU_MBARRIER,
                 "may not have begun; cluster_sync() must come first");
    expect_fault(HEAD("2") SYNC "C[0][:] = peer(s[0], cluster.rank + 1);\n" SYNC "}\n", CPU_BOUNDS,
                 "s of block 2 of the cluster is used, which has blocks 0 to 1");
    expect_fault(RING(SYNC, "multicast(n)", BOTH, SYNC), CPU_BOUNDS, "block 2 of the cluster");
    expect_fault(HEAD("2") SYNC "if (cluster.rank == 0)\nC[0][:] = peer(s[0], 1);\n}\n",
                 CPU_MBARRIER, "s of block 1 of the cluster is used, and that block has ended");
    expect_fault(HEAD("2") "if (cluster.rank == 1)\n" SYNC "}\n", CPU_DEADLOCK,
                 "waits for block 0 of the cluster, which has ended");
    expect_fault(RING("", "multicast(3)", BOTH, SYNC), CPU_MBARRIER, "may not have begun");
    expect_fault(RING(SYNC, "multicast(3)", "            arrive(empty[p]);\n", SYNC), CPU_DEADLOCK,
                 "which lacks 1 arrival");
    expect_fault(RING(SYNC, "", BOTH, SYNC), CPU_DEADLOCK, "lacks 32 bytes of copies");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_read_and_write_their_peers),
        cmocka_unit_test(copies_reach_both_blocks),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
