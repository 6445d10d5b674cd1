/* Roles on the CPU engine: mbarriers, tensor copies, the order of roles, and what is reported. */
#include "cpu_helper.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#define GIVEN(...) ((const struct given[]){__VA_ARGS__, {NULL, 0}})

/* --- helpers --- */

/* Runs the text with n = 4, and expects the fault for every order of roles from `from` to `to`. */
static void expect_fault(const char *text, int from, int to, enum cpu_fault_kind kind, int line,
                         const char *words)
{
    for (int first = from; first <= to; first++) {
        struct cpu_run r;
        cpu_open(&r, text, GIVEN({"n", 4}));
        for (const struct param *p = r.kernel->params; p; p = p->next)
            if (p->sym->is_pointer)
                cpu_array(&r, p->sym->name, 1024);
        r.options.first_role = first;
        cpu_go(&r, 1);
        if (r.fault.kind != kind || r.line != line || !strstr(r.fault.message, words))
            fail_msg("role %d first: kind %d, line %d: %s", first, (int)r.fault.kind, r.line,
                     r.fault.message);
        cpu_close(&r);
    }
}

#define HEAD                                                                                       \
    "kernel k(i32 n, const i32 *a, i32 *c) grid(2) warps(12) target(sm_90a)\n{\n"                  \
    "    global i32 A[n][16] = a, C[n][16] = c;\n    shared i32 s[3][16];\n"

/* --- a pipeline --- */

static void adds_one(const int32_t *a, const int32_t *c, int n)
{
    for (int i = 0; i < n * ORDER_WIDTH; i++)
        assert_int_equal(c[i], a[i] + 1);
}

static void rows_pass_through_stages_in_any_order_of_roles(void **state)
{
    (void)state;
    for (int n = 0; n <= 8; n++)
        cpu_check_orders(HEAD
                         "    mbarrier full[3](1), empty[3](2) ready;\n"
                         "    warps(0 +: 4) { one_thread {\n        i32 p = 0;\n"
                         "        for (i32 t = block.x; t < n; t += grid.x, p = (p + 1) % 3) {\n"
                         "            wait(empty[p]);\n            expect(full[p], bytes(s[p]));\n"
                         "            async(full[p]) s[p] = A[t][0 +: 16];\n        }\n    } }\n"
                         "    warps(4 +: 8) {\n        i32 p = 0;\n"
                         "        for (i32 t = block.x; t < n; t += grid.x, p = (p + 1) % 3) {\n"
                         "            wait(full[p]);\n            reg i32 v[16] = s[p];\n"
                         "            arrive(empty[p]);\n            C[t][0 +: 16] = v + 1;\n"
                         "        }\n    }\n}\n",
                         n, adds_one);
}

static void replicas_have_their_own_variables(void **state)
{
    (void)state;
    cpu_check_orders(
        HEAD
        "    mbarrier full[2](1), done[2](2) ready;\n    i32 base = block.x * 2;\n"
        "    warps(0 +: 4) for (i32 g < 2) {\n"
        "        reg i32 v[16] = 0;\n        i32 own = g;\n"
        "        for (i32 t = base; t < n; t += 4) {\n"
        "            wait(full[g]);\n            v = s[g] + own;\n"
        "            arrive(done[g]);\n            arrive(done[1 - g]);\n"
        "            sync();\n            if (t + own < n)\n"
        "                C[t + own][0 +: 16] = v + 1 - g;\n        }\n    }\n"
        "    warps(8 +: 2) { one_thread {\n"
        "        for (i32 t = base; t < n; t += 4)\n            for (i32 g = 0; g < 2; g++) {\n"
        "                wait(done[g]);\n                expect(full[g], bytes(s[g]));\n"
        "                async(full[g]) s[g] = A[t + g][0 +: 16];\n            }\n    } }\n}\n",
        8, adds_one);
}

static void phases_can_be_counted_by_hand(void **state)
{
    (void)state;
    cpu_check_orders(
        HEAD
        "    mbarrier full[2](1), empty[2](1);\n"
        "    warps(0 +: 4) { one_thread {\n        for (i32 q = 0; q * 2 + block.x < n; q++) {\n"
        "            wait(empty[q % 2], (q / 2 + 1) % 2);\n"
        "            expect(full[q % 2], bytes(s[0]));\n"
        "            async(full[q % 2]) s[q % 2] = A[q * 2 + block.x][0 +: 16];\n      "
        "  }\n    } }\n"
        "    warps(4 +: 2) {\n        for (i32 q = 0; q * 2 + block.x < n; q++) {\n"
        "            wait(full[q % 2], q / 2 % 2);\n            sync();\n"
        "            if (q * 2 + block.x < n)\n"
        "                C[q * 2 + block.x][0 +: 16] = s[q % 2] + 1;\n"
        "            arrive(empty[q % 2]);\n        }\n    }\n}\n",
        9, adds_one);
}

/* The first row is copied before the roles, the second one by a role. `wait` are the waits for the
 * first one, `role` are the warps that use the second one. */
static void waits_before_roles(const char *wait, const char *use)
{
    char text[1024];
    snprintf(text, sizeof text,
             HEAD "    mbarrier full(1);\n    i32 t = block.x * 2;\n    one_thread {\n"
                  "        expect(full, 64);\n        async(full) s[0] = A[t][0 +: 16];\n    }\n"
                  "%s"
                  "    warps(%d +: 4) { one_thread {\n        expect(full, 64);\n"
                  "        async(full) s[1] = A[t + 1][0 +: 16];\n    } }\n"
                  "%s}\n",
             wait, strstr(use, "warps(0") ? 4 : 0, use);
    cpu_check_orders(text, 4, adds_one);
}

static void waits_before_the_roles_are_waits_of_every_role(void **state)
{
    (void)state;
    waits_before_roles("    wait(full);\n    C[t][0 +: 16] = s[0] + 1;\n    sync();\n",
                       "    warps(4 +: 8) {\n        wait(full);\n"
                       "        C[t + 1][0 +: 16] = s[1] + 1;\n    }\n");
    waits_before_roles("    one_thread { wait(full); }\n    sync();\n"
                       "    C[t][0 +: 16] = s[0] + 1;\n    sync();\n",
                       "    warps(0 +: 4) {\n        one_thread { wait(full); }\n        sync();\n"
                       "        C[t + 1][0 +: 16] = s[1] + 1;\n    }\n");
}

static void stores_in_the_background_keep_within_the_view(void **state)
{
    (void)state;
    cpu_check_orders(
        "kernel k(i32 n, const i32 *a, i32 *c) grid(1) warps(4) target(sm_90a)\n{\n"
        "    global i32 A[n][16] = a, C[n][16] = c;\n    shared i32 s[4][24];\n"
        "    mbarrier full(1);\n"
        "    for (i32 t = -1; t < n; t += 4) {\n"
        "        one_thread {\n            expect(full, bytes(s));\n"
        "            async(full) s = A[t +: 4][-4 +: 24];\n        }\n"
        "        wait(full);\n        s = s + 1;\n        fence_async();\n        sync();\n"
        "        one_thread {\n            async C[t +: 4][-4 +: 24] = s;\n"
        "            store_wait(0);\n        }\n        sync();\n    }\n}\n",
        6, adds_one);
}

static void a_role_takes_a_lock_while_others_go_on(void **state)
{
    struct cpu_run r;
    (void)state;
    for (int first = 0; first < 4; first++) {
        cpu_open(&r,
                 "kernel k(i32 n, i32 *c) grid(n) warps(12) target(sm_90a)\n{\n"
                 "    global i32 C[n] = c, turn[1] = 0;\n    shared i32 s[1];\n"
                 "    mbarrier ready(1);\n"
                 "    warps(0 +: 4) {\n        wait(ready);\n        C[block.x] = s[0];\n"
                 "        unlock(turn[0], block.x + 1);\n    }\n"
                 "    warps(4 +: 4) {\n        lock(turn[0], block.x);\n"
                 "        s[0] = block.x > 0 ? C[block.x - 1] + block.x : 7;\n"
                 "        sync();\n        arrive(ready);\n    }\n}\n",
                 GIVEN({"n", 20}));
        const int32_t *c = cpu_array(&r, "c", 80);
        r.options.first_role = first;
        if (cpu_go(&r, 3) != CPU_OK)
            fail_msg("%s", r.fault.message);
        for (int i = 0; i < 20; i++)
            assert_int_equal(c[i], 7 + i * (i + 1) / 2);
        cpu_close(&r);
    }
}

/* --- what is reported --- */

static void a_missing_wait_is_reported(void **state)
{
    (void)state;
    expect_fault(HEAD "    mbarrier full(1);\n"
                      "    warps(0 +: 4) { one_thread {\n        expect(full, bytes(s[0]));\n"
                      "        async(full) s[0] = A[0][0 +: 16];\n    } }\n"
                      "    warps(4 +: 4) {\n        C[0][0 +: 16] = s[0];\n    }\n}\n",
                 1, 1, CPU_ASYNC, 11, "a wait for its mbarrier must come first");
    expect_fault(HEAD "    mbarrier full(1);\n    one_thread {\n        expect(full, 64);\n"
                      "        async(full) s[0] = A[0][0 +: 16];\n    }\n}\n",
                 0, 0, CPU_ASYNC, 8, "the kernel ends while this copy into s is under way");
    expect_fault(HEAD "    warps(0 +: 4) {\n        async s[0] = A[0][0 +: 16];\n    }\n}\n", 0, 1,
                 CPU_ASYNC, 6, "the role warps(0 +: 4) of line 5 ends while this copy into s");
}

static void a_wait_that_never_ends_is_reported(void **state)
{
    (void)state;
    expect_fault(
        HEAD "    mbarrier full[3](1), empty[3](2) ready;\n"
             "    warps(0 +: 4) { one_thread {\n        expect(full[1], 128);\n"
             "        async(full[1]) s[1] = A[0][0 +: 16];\n"
             "        wait(empty[2]);\n        wait(empty[2]);\n    } }\n"
             "    warps(4 +: 4) {\n        arrive(empty[2]);\n        wait(full[1]);\n"
             "    }\n}\n",
        0, 2, CPU_DEADLOCK, 10,
        "no role can go on: warps(0 +: 4) waits in line 10 for empty[2], which lacks 1 arrival "
        "(line 13 arrived last); warps(4 +: 4) waits in line 14 for full[1], which lacks 64 "
        "bytes of copies (line 7 arrived last)");
    expect_fault(HEAD "    mbarrier full(3);\n    wait(full, 1);\n    arrive(full);\n"
                      "    wait(full, 0);\n    wait(full, 1);\n}\n",
                 0, 0, CPU_DEADLOCK, 9, "the block cannot go on: it waits in line 9 for full");
}

static void arrivals_and_bytes_that_do_not_fit_are_reported(void **state)
{
    (void)state;
    expect_fault(HEAD "    mbarrier full(2);\n    one_thread {\n        arrive(full); }\n"
                      "    warps(4 +: 8) {\n        arrive(full); }\n}\n",
                 0, 1, CPU_MBARRIER, 9,
                 "full gets 1 arrival too many: a phase counts 2, and line 7");
    expect_fault(HEAD "    mbarrier full(1);\n    one_thread {\n        expect(full, n * 15);\n"
                      "        async(full) s[0] = A[0][0 +: 16];\n    }\n    wait(full);\n}\n",
                 0, 0, CPU_MBARRIER, 8,
                 "brings 64 bytes to full, and its phase waits for only 60 more");
    expect_fault(HEAD "    mbarrier full(1);\n    one_thread {\n        expect(full, -n); }\n}\n",
                 0, 0, CPU_MBARRIER, 7, "counts 0 to 1048575 bytes, and this is -4");
    expect_fault(HEAD "    mbarrier full[2](1);\n    wait(full[1], n);\n}\n", 0, 0, CPU_MBARRIER, 6,
                 "the parity of a phase of full[1] is 0 or 1, and this is 4");
    expect_fault(HEAD "    mbarrier full[2](1);\n    arrive(full[n]);\n}\n", 0, 0, CPU_BOUNDS, 6,
                 "index 4");
}

static void a_wait_that_comes_too_late_is_reported(void **state)
{
    (void)state;
    expect_fault(HEAD "    mbarrier full(1);\n"
                      "    warps(0 +: 4) {\n        arrive(full);\n        arrive(full);\n    }\n"
                      "    warps(4 +: 4) {\n        wait(full); }\n}\n",
                 1, 1, CPU_MBARRIER, 11, "warps(4 +: 4) waits for phase 1 of full, and phase 2 is");
}

static void arrivals_count_by_warpgroups(void **state)
{
    (void)state;
    expect_fault(HEAD "    mbarrier all(6), wrong(1);\n    arrive(all);\n"
                      "    warps(0 +: 8) {\n        arrive(all); }\n"
                      "    warps(8 +: 3) {\n        one_thread {\n            arrive(all); }\n"
                      "        wait(all);\n        wait(wrong);\n    }\n}\n",
                 0, 2, CPU_DEADLOCK, 13,
                 "no role can go on: warps(8 +: 3) waits in line 13 for wrong");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_pass_through_stages_in_any_order_of_roles),
        cmocka_unit_test(replicas_have_their_own_variables),
        cmocka_unit_test(phases_can_be_counted_by_hand),
        cmocka_unit_test(waits_before_the_roles_are_waits_of_every_role),
        cmocka_unit_test(stores_in_the_background_keep_within_the_view),
        cmocka_unit_test(a_role_takes_a_lock_while_others_go_on),
        cmocka_unit_test(a_missing_wait_is_reported),
        cmocka_unit_test(a_wait_that_never_ends_is_reported),
        cmocka_unit_test(arrivals_and_bytes_that_do_not_fit_are_reported),
        cmocka_unit_test(a_wait_that_comes_too_late_is_reported),
        cmocka_unit_test(arrivals_count_by_warpgroups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
