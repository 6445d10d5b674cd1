/* What an editor asks of a text: formatting. */
#include "api_helper.h"
#include "tilewright_look.h"

#include <string.h>

static const char messy[] =
    "const i32 N=4 ;  // four\nkernel k( f32*c )grid( 1 )threads( N ){global f32 C[N]=c;"
    "C[thread.x]=-1 ; }";
static const char tidy[] = "const i32 N = 4; // four\nkernel k(f32 *c) grid(1) threads(N)\n{\n"
                           "    global f32 C[N] = c;\n    C[thread.x] = -1;\n}\n";

static void test_format(void **state)
{
    struct fixture *f = *state;
    const char *text = "kept";
    size_t length = 1;
    succeed(f, tw_text_format(f->ctx, "a.tile", messy, strlen(messy), &text, &length));
    assert_string_equal(text, tidy);
    assert_int_equal(length, strlen(tidy));
    succeed(f, tw_text_format(f->ctx, "a.tile", tidy, strlen(tidy), &text, NULL));
    assert_string_equal(text, tidy);
    refused(f, tw_text_format(f->ctx, "a.tile", "kernel", 6, &text, &length), TW_BAD_PROGRAM,
            "a.tile:1:7: error: expected the kernel's name");
    assert_null(text);
    assert_int_equal(length, 0);
    refused(f, tw_text_format(f->ctx, "a.tile", NULL, 0, &text, NULL), TW_BAD_ARGUMENT,
            "`name`, `text` or `out` is NULL");
    assert_int_equal(tw_text_format(NULL, "a.tile", "", 0, &text, NULL), TW_BAD_ARGUMENT);
}

static tw_status edit(tw_context *ctx)
{
    const char *text;
    return tw_text_format(ctx, "a.tile", messy, strlen(messy), &text, NULL);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    tw_status s = TW_NO_MEMORY;
    for (long n = 0; s != TW_OK; n++) {
        struct counting memory = {.fail_from = n};
        tw_config config = {
            .size = sizeof config, .resize = counting_resize, .resize_user = &memory};
        tw_context *ctx;
        if (tw_context_new(&config, &ctx) != TW_OK)
            continue;
        s = edit(ctx);
        assert_true(s == TW_OK || s == TW_NO_MEMORY);
        tw_context_free(ctx);
        assert_int_equal(memory.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_format, api_setup, api_teardown),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
