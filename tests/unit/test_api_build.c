/* Builds through the public interface: added versions, the version that a launch takes, refused
 * calls, and memory that runs out at every allocation. tests/aot compiles and runs the results. */
#include "api_helper.h"
#include "tilewright_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] =
    "type T = {f16, f32};\n"
    "tune BM = {16, 32};\n"
    "kernel rows(i32 m, static i32 k, const T *a, f32 *c) grid(cdiv(m, BM)) warps(1)\n"
    "{\n"
    "    global T A[m][k] = a;\n"
    "    global f32 C[m][1] = c, Room[m][2] = 0;\n"
    "    Room[block.x * BM +: BM][0 +: 2] = 1.0;\n"
    "    C[block.x * BM +: BM] = sum((f32) A[block.x * BM +: BM][0 +: 16], axis = 1);\n"
    "}\n";

/* Makes a launch of the module's kernel for sm_80, with the statics set. */
static tw_launch *launch_of(tw_module *module, int64_t k)
{
    tw_kernel *kernel;
    tw_launch *l = NULL;
    if (tw_kernel_for_target(tw_module_kernel_at(module, 0), "sm_80", &kernel) != TW_OK ||
        tw_launch_new(kernel, &l) != TW_OK)
        return NULL;
    if (k)
        tw_launch_set(l, "k", integer(k));
    return l;
}

static void open(struct fixture *f, tw_build **b)
{
    load(f, text);
    succeed(f, tw_build_new(f->ctx, "shipped", b));
}

static void has(const char *all, const char *part)
{
    if (!strstr(all, part))
        fail_msg("no `%s` in\n%s", part, all);
}

static int images(tw_build *b)
{
    tw_build_image image = tw_build_image_init();
    int count = 0;
    while (tw_build_image_at(b, count, &image)) {
        assert_string_equal(image.target, "sm_80");
        has(image.ptx, ".target sm_80");
        count++;
    }
    return count;
}

static void test_texts(void **state)
{
    struct fixture *f = *state;
    tw_build *b;
    const char *header, *source;
    open(f, &b);
    tw_launch *l = launch_of(f->module, 64);
    succeed(f, tw_launch_set(l, "m", integer(32)));
    succeed(f, tw_build_add(b, l, NULL));
    tw_launch_free(l);
    l = launch_of(f->module, 64);
    succeed(f, tw_build_add(b, l, NULL));
    tw_launch_free(l);
    tw_module_free(f->module);
    succeed(f, tw_build_texts(b, &header, &source));
    has(header, "shipped_status shipped_rows_f16(const shipped_module *module, void *stream, "
                "int32_t m, int32_t k,\n    const uint16_t *a, float *c, void *workspace, "
                "size_t workspace_bytes);");
    has(header, "size_t shipped_rows_f16_workspace(");
    has(header, "sm_80; k = 64; m divisible by 16: BM = 16\n");
    has(header, "sm_80; k = 64: BM = 16\n");
    has(source, "m % 16 == 0");
    has(source, ", 1, UINT64_C(0x1), UINT64_C("); /* one view in the workspace, zeroed */
    assert_int_equal(images(b), 2);
    tw_build_free(b);
}

/* A launch takes the first row that fits it. Adding the same row again, or one that knows less
 * and compiles to the same code, adds nothing. */
static void test_rows(void **state)
{
    struct fixture *f = *state;
    tw_build *b;
    const char *header, *source;
    open(f, &b);
    tw_launch *l = launch_of(f->module, 64);
    tw_size_range range = {"m", 1, 64};
    tw_build_when when = {
        .size = sizeof when, .device = "NVIDIA H200", .range_count = 1, .ranges = &range};
    succeed(f, tw_launch_tune(l, "BM", integer(32)));
    succeed(f, tw_build_add(b, l, &when));
    succeed(f, tw_launch_tune(l, "BM", integer(16)));
    succeed(f, tw_build_add(b, l, NULL));
    succeed(f, tw_launch_tune(l, "BM", integer(32)));
    succeed(f, tw_build_add(b, l, NULL)); /* is never reached */
    succeed(f, tw_build_texts(b, &header, &source));
    has(header, "sm_80 (NVIDIA H200); k = 64; m from 1 to 64: BM = 32\n *   sm_80; k = 64: BM = "
                "16\n */");
    has(source, "aot_m->is_device[0] &&");
    assert_int_equal(images(b), 2);
}

/* A default, 0, is not a fact about the sizes of a launch: no version asks that 16 divides `shift`. */
static void test_default(void **state)
{
    struct fixture *f = *state;
    tw_build *b;
    const char *header, *source;
    load(f,
         "kernel move(i32 m, static i32 k, const f32 *a, f32 *c, i32 shift = 0) grid(1) warps(1)\n"
         "{\n"
         "    global f32 A[m] = a, C[m] = c;\n"
         "    C[shift +: 32] = A[shift +: 32];\n"
         "}\n");
    succeed(f, tw_build_new(f->ctx, "shipped", &b));
    tw_launch *l = launch_of(f->module, 64);
    succeed(f, tw_build_add(b, l, NULL));
    succeed(f, tw_build_texts(b, &header, &source));
    has(header, "sm_80; k = 64\n");
    succeed(f, tw_launch_set(l, "shift", integer(16)));
    succeed(f, tw_build_new(f->ctx, "shipped", &b));
    succeed(f, tw_build_add(b, l, NULL));
    succeed(f, tw_build_texts(b, &header, &source));
    has(header, "sm_80; k = 64; shift divisible by 16\n");
}

static void test_machine_code(void **state)
{
    struct fixture *f = *state;
    tw_build *b;
    const char *header, *source;
    static const unsigned char code[] = {0x7f, 'E', 'L', 'F', 1, 255};
    open(f, &b);
    succeed(f, tw_build_add(b, launch_of(f->module, 64), NULL));
    assert_int_equal(images(b), 1);
    succeed(f, tw_build_machine_code(b, 0, code, sizeof code));
    succeed(f, tw_build_texts(b, &header, &source));
    has(source, "aot_cubin_0[] = {\n    127,69,76,70,1,255,\n};");
    has(source, "{0, 0, aot_ptx_0, aot_cubin_0},");
    refused(f, tw_build_machine_code(b, 0, "code", 4), TW_BAD_PROGRAM, "is not a cubin");
    refused(f, tw_build_machine_code(b, 1, code, 6), TW_BAD_ARGUMENT, "no such image");
    refused(f, tw_build_machine_code(b, 0, NULL, 6), TW_BAD_ARGUMENT, "`cubin`");
}

static void test_refused(void **state)
{
    struct fixture *f = *state;
    tw_build *b;
    const char *header, *source;
    open(f, &b);
    tw_launch *l = launch_of(f->module, 0);
    refused(f, tw_build_add(b, l, NULL), TW_BAD_ARGUMENT, "`k` is static");
    refused(f, tw_build_texts(b, &header, &source), TW_BAD_ARGUMENT, "has no kernel");
    assert_null(header);
    succeed(f, tw_launch_set(l, "k", integer(64)));
    tw_size_range range = {"q", 0, 1};
    tw_build_when when = {.size = sizeof when, .range_count = 1, .ranges = &range};
    refused(f, tw_build_add(b, l, &when), TW_BAD_ARGUMENT, "no scalar parameter `q`");
    range.param = "a";
    refused(f, tw_build_add(b, l, &when), TW_BAD_ARGUMENT, "`a` is not an integer");
    when = (tw_build_when){.size = sizeof(tw_build_when), .alignment = 12};
    refused(f, tw_build_add(b, l, &when), TW_BAD_ARGUMENT, "an alignment of 12 bytes");
    refused(f, tw_build_add(b, NULL, NULL), TW_BAD_ARGUMENT, "`l` is NULL");
    succeed(f, tw_build_add(b, l, NULL));
    refused(f, tw_build_write(b, "/nowhere"), TW_NO_FILE, "/nowhere/shipped.h cannot be written");
    refused(f, tw_build_write(b, NULL), TW_BAD_ARGUMENT, "`folder` is NULL");
    refused(f, tw_build_new(f->ctx, "math", &b), TW_BAD_ARGUMENT, "cannot start the names of C");
    refused(f, tw_build_new(f->ctx, "", &b), TW_BAD_ARGUMENT, "cannot start the names of C");
    refused(f, tw_build_new(f->ctx, NULL, &b), TW_BAD_ARGUMENT, "`name`");
    assert_null(b);
    assert_int_equal(tw_build_new(NULL, "x", &b), TW_BAD_ARGUMENT);
    assert_int_equal(tw_build_add(NULL, l, NULL), TW_BAD_ARGUMENT);
    tw_build_free(NULL);
}

/* --- every allocation can fail --- */

static tw_status build_once(tw_context *ctx, const char *folder)
{
    tw_module *module;
    tw_build *b = NULL;
    tw_launch *l = NULL;
    tw_status s = tw_module_from_text(ctx, "test", text, sizeof text - 1, &module);
    if (s == TW_OK)
        s = tw_build_new(ctx, "shipped", &b);
    if (s == TW_OK && !(l = launch_of(module, 64)))
        s = TW_NO_MEMORY;
    if (s == TW_OK)
        s = tw_build_add(b, l, NULL);
    if (s == TW_OK)
        s = tw_build_write(b, folder);
    return s;
}

static void test_no_memory(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_api_build-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(folder));
    tw_status s = TW_NO_MEMORY;
    for (long n = 1; s != TW_OK; n += n < 100 ? 1 : 7) {
        struct counting memory = {.fail_from = n};
        tw_config config = {
            .size = sizeof config, .resize = counting_resize, .resize_user = &memory};
        tw_context *ctx;
        if (tw_context_new(&config, &ctx) != TW_OK)
            continue;
        s = build_once(ctx, folder);
        if (s != TW_OK && s != TW_NO_MEMORY)
            fail_msg("allocation %ld fails: %s", n, tw_status_name(s));
        tw_context_free(ctx);
        assert_int_equal(memory.live, 0);
        snprintf(path, sizeof path, "%s/shipped.h", folder);
        assert_true((access(path, F_OK) == 0) == (s == TW_OK));
    }
    unlink(path);
    snprintf(path, sizeof path, "%s/shipped.c", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_texts, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_rows, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_default, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_machine_code, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_refused, api_setup, api_teardown),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
