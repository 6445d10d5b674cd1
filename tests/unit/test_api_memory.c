/* The public interface if memory runs out, at each allocation in turn. */
#include "api_helper.h"
#include "tilewright_look.h"

#include <string.h>

static tw_status whole_story(struct fixture *f, struct counting *memory)
{
    tw_config config = {
        .size = sizeof config, .resize = counting_resize, .resize_user = memory, .threads = 1};
    tw_context *ctx = NULL;
    tw_module *m = NULL;
    tw_launch *l = NULL;
    tw_array a = array(f->a, TW_F32, 2, M, K), b = array(f->b, TW_F32, 2, K, N);
    tw_array c = array(f->c, TW_F32, 2, M, N), shape = tw_array_init();
    const char *shown;
    tw_status s = tw_context_new(&config, &ctx);
    if (s == TW_OK)
        s = tw_module_from_text(ctx, "test.tile", api_matmul, strlen(api_matmul), &m);
    if (s == TW_OK)
        s = tw_launch_new(tw_module_kernel_at(m, 0), &l);
    if (s == TW_OK)
        s = tw_launch_array(l, "a", &a);
    if (s == TW_OK)
        s = tw_launch_array(l, "b", &b);
    if (s == TW_OK)
        s = tw_launch_check(l);
    if (s == TW_OK)
        s = tw_launch_shape(l, "c", &shape);
    if (s == TW_OK)
        s = tw_launch_array(l, "c", &c);
    if (s == TW_OK)
        s = tw_launch_run(l);
    if (s == TW_OK)
        s = tw_launch_verify(l, NULL);
    if (s == TW_OK)
        s = tw_launch_show(l, NULL, &shown);
    if (s == TW_NO_MEMORY && ctx)
        assert_non_null(strstr(tw_context_messages(ctx), "out of memory"));
    if (s == TW_NO_MEMORY && l) { /* the objects made so far still work, or fail again */
        memory->fail_from = -1;
        tw_status again = tw_launch_array(l, "a", &a);
        again = again == TW_OK ? tw_launch_array(l, "b", &b) : again;
        again = again == TW_OK ? tw_launch_array(l, "c", &c) : again;
        again = again == TW_OK ? tw_launch_run(l) : again;
        if (again != TW_OK)
            fail_msg("after memory came back: %s", tw_context_messages(ctx));
    }
    tw_context_free(ctx);
    return s;
}

static void test_out_of_memory_everywhere(void **state)
{
    struct fixture *f = *state;
    tw_status s = TW_NO_MEMORY;
    long calls = 0;
    for (long n = 0; s != TW_OK; n++) {
        struct counting memory = {.fail_from = n};
        s = whole_story(f, &memory);
        assert_true(s == TW_OK || s == TW_NO_MEMORY);
        assert_int_equal(memory.live, 0);
        calls = n;
    }
    assert_true(calls > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_out_of_memory_everywhere, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
