/* tw_config.progress gets the phases of a call by name and, for runs and simulations, the number
 * of finished blocks, up to all of them. */
#include "tilewright.h"
#include "tilewright_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCKS = 24, EACH = 32 };

struct told {
    int64_t done;   /* of the latest count */
    int counts;     /* number of calls with a count of blocks */
    char list[512]; /* "reading the program;compiling a kernel;…" */
};

static void tell(void *user, const char *doing, int64_t done, int64_t total)
{
    struct told *t = user;
    size_t length = strlen(doing), held = strlen(t->list);
    bool again = held > length && strncmp(t->list + held - length - 1, doing, length) == 0;
    if (!again && held + length + 2 < sizeof t->list)
        strcat(strcat(t->list, doing), ";");
    if (total == 0) {
        assert_int_equal(done, 0);
        return;
    }
    assert_int_equal(total, BLOCKS);
    assert_in_range(done, 1, total);
    if (t->counts++ > 0)
        assert_in_range(done, t->done, total);
    t->done = done;
}

static const char text[] = "kernel k(const f32 *a, f32 *c) grid(24) warps(1)\n{\n"
                           "    global f32 A[24 * 32] = a, C[24 * 32] = c;\n"
                           "    reg f32 t[32] = A[32 * block.x +: 32];\n"
                           "    C[32 * block.x +: 32] = where(max(t) < inf, t, 0);\n"
                           "    ensures C == A;\n}\n"; /* its blocks are not joined */

static const char of_clusters[] =
    "kernel k(const f32 *a, f32 *c) grid(12, 2) warps(1) cluster(3, 2) target(sm_90a)\n{\n"
    "    global f32 A[24 * 32] = a, C[24 * 32] = c;\n"
    "    i32 i = 32 * (block.x + 12 * block.y);\n"
    "    C[i +: 32] = A[i +: 32];\n"
    "    ensures C == A;\n}\n";

static tw_launch *open(tw_context **ctx, struct told *told, const char *source, const char *target,
                       float *a, float *c)
{
    tw_config config = {
        .size = sizeof config, .threads = 1, .progress = tell, .progress_user = told};
    tw_module *m;
    tw_kernel *k;
    tw_launch *l;
    *told = (struct told){0};
    assert_int_equal(tw_context_new(&config, ctx), TW_OK);
    assert_int_equal(tw_module_from_text(*ctx, "k.tile", source, strlen(source), &m), TW_OK);
    assert_int_equal(tw_kernel_for_target(tw_module_kernel_at(m, 0), target, &k), TW_OK);
    assert_int_equal(tw_launch_new(k, &l), TW_OK);
    tw_array in = tw_host_array(a, TW_F32, BLOCKS * EACH);
    tw_array out = tw_host_array(c, TW_F32, BLOCKS * EACH);
    assert_int_equal(tw_launch_array(l, "a", &in), TW_OK);
    assert_int_equal(tw_launch_array(l, "c", &out), TW_OK);
    return l;
}

static void each_block_is_told(const char *source)
{
    static float a[BLOCKS * EACH], c[BLOCKS * EACH];
    struct told told;
    tw_context *ctx;
    tw_launch *l = open(&ctx, &told, source, "cpu", a, c);
    assert_non_null(strstr(told.list, "reading the program;"));
    assert_int_equal(tw_launch_run(l), TW_OK);
    assert_non_null(strstr(told.list, "compiling a kernel;"));
    assert_non_null(strstr(told.list, "running;"));
    assert_int_equal(told.done, BLOCKS);
    assert_int_equal(tw_launch_verify(l, NULL), TW_OK);
    assert_non_null(strstr(told.list, "evaluating `ensures`;"));
    tw_context_free(ctx);
}

static void each_block_of_a_run_is_told(void **state)
{
    (void)state;
    each_block_is_told(text);
}

static void each_block_of_clusters_is_told(void **state)
{
    (void)state;
    each_block_is_told(of_clusters);
}

static void each_block_of_a_simulation_is_told(void **state)
{
    static float a[BLOCKS * EACH], c[BLOCKS * EACH];
    struct told told;
    tw_context *ctx;
    (void)state;
    tw_launch *l = open(&ctx, &told, text, "sm_90", a, c);
    assert_int_equal(tw_launch_simulate(l, NULL, NULL), TW_OK);
    assert_non_null(strstr(told.list, "simulating;"));
    assert_int_equal(told.counts, BLOCKS);
    assert_int_equal(told.done, BLOCKS);
    tw_context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_block_of_a_run_is_told),
        cmocka_unit_test(each_block_of_clusters_is_told),
        cmocka_unit_test(each_block_of_a_simulation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
