/* Families: their files, the comparison of their kernels, launches of a choice. */
#include "family_helper.h"

#include "tilewright_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_products(void)
{
    put_file("rows.tile", product_rows, "rows");
    put_file("columns.tile", product_columns, "columns");
    put_file("products.tile",
             "family products {\n    \"rows.tile\";\n    \"columns.tile\": columns;\n}\n");
}

static tw_family *load_family(struct fixture *f, const char *file, const char *name)
{
    tw_family *family = NULL;
    succeed(f, tw_family_from_file(f->ctx, file_path(file), name, NULL, &family));
    return family;
}

static void not_loaded(struct fixture *f, const char *file, const char *name, tw_status expected,
                       const char *why)
{
    tw_family *family;
    refused(f, tw_family_from_file(f->ctx, file_path(file), name, NULL, &family), expected, why);
    assert_null(family);
}

static void expect_kernels(const tw_family *f, const char *name, const char *first,
                           const char *second)
{
    assert_string_equal(tw_family_name(f), name);
    assert_int_equal(tw_family_kernel_count(f), 2);
    assert_string_equal(tw_kernel_name(tw_family_kernel(f, 0)), first);
    assert_string_equal(tw_kernel_name(tw_family_kernel(f, 1)), second);
    assert_null(tw_family_kernel(f, 2));
    assert_null(tw_family_kernel(f, -1));
}

/* --- files --- */

static void a_file_declares_a_family(void **state)
{
    struct fixture *f = *state;
    put_products();
    tw_family *family = load_family(f, "products.tile", NULL);
    expect_kernels(family, "products", "rows", "columns");
    assert_string_equal(tw_family_file(family, 0), file_path("rows.tile"));
    assert_string_equal(tw_family_file(family, 1), file_path("columns.tile"));
    assert_null(tw_family_file(family, 2));
    tw_family_free(family);
    family = load_family(f, "products.tile", "products");
    expect_kernels(family, "products", "rows", "columns");
    not_loaded(f, "products.tile", "product", TW_NOT_FOUND, "did you mean `products`?");
    put_file("products.tile", "family a { \"rows.tile\"; }\nfamily b { \"columns.tile\"; }\n");
    not_loaded(f, "products.tile", NULL, TW_NOT_FOUND, "has 2 families: say which");
    assert_int_equal(tw_family_kernel_count(load_family(f, "products.tile", "b")), 1);
    tw_family_free(NULL);
}

/* A name without a folder and an ending is looked for as imports are. */
static void a_family_may_be_named(void **state)
{
    tw_config config = tw_config_init();
    tw_context *ctx;
    tw_family *family;
    (void)state;
    config.import_path = family_folder;
    put_products();
    assert_int_equal(tw_context_new(&config, &ctx), TW_OK);
    assert_int_equal(tw_family_from_file(ctx, "products", NULL, NULL, &family), TW_OK);
    assert_string_equal(tw_family_name(family), "products");
    assert_int_equal(tw_family_from_file(ctx, "product", NULL, NULL, &family), TW_NO_FILE);
    assert_non_null(strstr(tw_context_messages(ctx), "`product`"));
    tw_context_free(ctx);
}

static void a_folder_is_a_family(void **state)
{
    struct fixture *f = *state;
    const char *name = strrchr(family_folder, '/') + 1;
    put_file("rows.tile", product_rows, "rows");
    put_file("columns.tile", product_columns, "columns");
    put_file("notes.txt", "no kernel");
    put_file("shared.tile", "const i32 N = 4;\n");
    expect_kernels(load_family(f, "", NULL), name, "columns", "rows");
    expect_kernels(load_family(f, ".", name), name, "columns", "rows");
    not_loaded(f, "", "other", TW_NOT_FOUND, "has no family `other`");
}

static void a_folder_without_kernels_is_none(void **state)
{
    struct fixture *f = *state;
    not_loaded(f, "", NULL, TW_NO_FILE, "has no .tile file");
    put_file("shared.tile", "const i32 N = 4;\n");
    not_loaded(f, "", NULL, TW_NOT_FOUND, "has no kernel");
}

static void kernels_of_a_file_are_a_family(void **state)
{
    struct fixture *f = *state;
    static const char add[] = "kernel %s(i32 n, const f32 *a, f32 *c) grid(n) warps(1)\n{\n"
                              "    global f32 A[n] = a, C[n] = c;\n"
                              "    C[block.x] = A[block.x] + 1;\n    ensures C == A + 1;\n}\n";
    char one[400], two[400];
    snprintf(one, sizeof one, add, "one");
    snprintf(two, sizeof two, add, "two");
    put_file("adds.tile", "%s%s", one, two);
    expect_kernels(load_family(f, "adds.tile", NULL), "adds", "one", "two");
    expect_kernels(load_family(f, "adds.tile", "adds"), "adds", "one", "two");
    not_loaded(f, "adds.tile", "add", TW_NOT_FOUND, "its kernels are the family `adds`");
    put_file("some.tile", "family some { \"adds.tile\": two; \"adds.tile\": one; }");
    expect_kernels(load_family(f, "some.tile", NULL), "some", "two", "one");
}

static void wrong_files_are_named(void **state)
{
    struct fixture *f = *state;
    put_products();
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"family f { \"none.tile\"; }", "f.tile:1:12: error: there is no file `none.tile`"},
        {"family f { \"rows.tile\"; \"./rows.tile\": rows; }",
         "f.tile:1:25: error: this kernel is in the family `f` twice"},
        {"family f { \"rows.tile\": row; }", "f.tile:1:25: error: `"},
        {"family f { \"rows.tile\": row; }", "did you mean `rows`?"},
        {"family f { \"products.tile\"; }", "whose kernels are not members of another one"},
        {"family f { \"two.tile\"; }", "two.tile` has 2 kernels: write `\"FILE\": KERNEL;`"},
        {"family f { \"rows.tile\"; \"same.tile\"; }", "two kernels of the name `rows`"},
        {"family f { \"f.tile\"; }", "f.tile` has no kernel"},
        {"family f { \"wrong.tile\"; }", "wrong.tile:1:1: error: expected a declaration"},
        {"family f { }", "f.tile:1:8: error: the family `f` has no kernel"},
    };
    put_file("two.tile",
             "kernel a(f32 *c) grid(1) warps(1) { }\nkernel b(f32 *c) grid(1) warps(1) { }");
    put_file("same.tile", product_columns, "rows");
    put_file("wrong.tile", "wrong");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_file("f.tile", "%s", wrong[i].text);
        not_loaded(f, "f.tile", NULL, TW_BAD_PROGRAM, wrong[i].why);
    }
    not_loaded(f, "none.tile", NULL, TW_NO_FILE, "cannot read");
    tw_family *family;
    refused(f, tw_family_from_file(f->ctx, NULL, NULL, NULL, &family), TW_BAD_ARGUMENT, "`path`");
    refused(f, tw_family_from_file(f->ctx, "a", NULL, NULL, NULL), TW_BAD_ARGUMENT, "`out`");
    assert_int_equal(tw_family_from_file(NULL, "a", NULL, NULL, &family), TW_BAD_ARGUMENT);
    refused(f, tw_family_from_file(f->ctx, file_path("products.tile"), NULL, "sm_1", &family),
            TW_NOT_FOUND, "no target `sm_1`");
}

/* --- comparison --- */

/* Replaces the first `old` in the text of a member, which is then compared with `rows`. */
static void compared(struct fixture *f, const char *old, const char *by, const char *why)
{
    char text[2000], made[2200];
    snprintf(text, sizeof text, product_columns, "columns");
    const char *at = strstr(text, old);
    assert_non_null(at);
    snprintf(made, sizeof made, "%.*s%s%s", (int)(at - text), text, by, at + strlen(old));
    put_file("columns.tile", "%s", made);
    if (why)
        not_loaded(f, "products.tile", NULL, TW_BAD_PROGRAM, why);
    else
        load_family(f, "products.tile", NULL);
}

static void members_have_one_signature(void **state)
{
    struct fixture *f = *state;
    put_products();
    compared(f, "i32 k,", "i64 k,",
             "parameter 3 of `columns` is `i64 k`, and in `rows`, the first "
             "kernel of the family `products`, it is `i32 k`");
    compared(f, "i32 k,", "i64 k,", "only `static` may differ");
    compared(f, "const T *b", "T *b", "parameter 5 of `columns` is `T *b`");
    compared(f, "const T *b", "const f16 *b", "parameter 5 of `columns` is `const f16 *b`");
    compared(f, "T *c)", "T *c, i32 e)", "`columns` has 7 parameters, and `rows`");
    compared(f, "i32 k,", "i32 k = 3,", "is `i32 k = 3`, and");
    compared(f, "i32 k,", "i32 k = n,", "is `i32 k = n`, and");
    compared(f, "X[m][k] = a", "X[m * k] = a",
             "the array of parameter 4 of `columns` is "
             "`a[m * k]`, and in `rows`");
    compared(f, "X[m][k] = a", "X[m][k] = a + 1", "is `not viewed as a whole`");
    compared(f, "i32 m, i32 n", "i32 n, i32 m", "parameter 1 of `columns` is `i32 n`");
    compared(f, "{f16, f32}", "{bf16}", "have no type of `T` in common");
    compared(f, "{f16, f32}", "{f16}", NULL);
    compared(f, "i32 n, i32 k", "static i32 n, static  i32 k", NULL);
}

static void members_ensure_the_same(void **state)
{
    struct fixture *f = *state;
    put_products();
    const char *rows = "ensures something else than `rows`";
    compared(f, "ensures Z == dot(X, Y)", "ensures Z == dot(X, Y) + 1",
             "columns.tile:15:5: error: `columns` ensures something else than `rows`");
    compared(f, "ensures Z == dot(X, Y)", "ensures Z == dot(X, Y) + 1",
             "rows.tile:15:5: note: all kernels of a family must have the same `ensures`");
    compared(f, "ensures Z == dot(X, Y);", "", "`columns` has no `ensures`");
    compared(f, "ensures Z", "global T V[m][n] = c;\n    ensures V", NULL);
    compared(f, "ensures Z", "global T V[m][n] = c strides(n, 1);\n    ensures V", rows);
    compared(f, "ensures Z == dot(X, Y)", "ensures Z == dot(Q, Y)", "`Q` is not declared");
}

/* The bodies of fns count, and not their names; tables and constants, too. */
static void ensures_are_compared_with_all_they_use(void **state)
{
    struct fixture *f = *state;
    const struct {
        const char *text;
        bool same;
    } others[] = {
        {"fn f32 act(f32 x) { return max(x, 0); }", true},
        {"fn f32 act(f32 y) { return max(y, 0); }", true},
        {"fn f32 act(f32 x) { return min(x, 0); }", false},
        {"const f32 P[2] = {1, 2}; fn f32 act(f32 x) { return max(x, P[0] - 1); }", false},
    };
    static const char kernel[] = "kernel %s(i32 n, const f32 *a, f32 *c) grid(n) warps(1)\n{\n"
                                 "    global f32 A[n] = a, C[n] = c;\n"
                                 "    C[block.x] = 0;\n    ensures C == %s(A);\n}\n";
    put_file("acts.tile", "family acts { \"one.tile\"; \"two.tile\"; }");
    put_file("one.tile", "fn f32 relu(f32 x) { return max(x, 0); }\n");
    FILE *one = fopen(file_path("one.tile"), "a");
    fprintf(one, kernel, "one", "relu");
    fclose(one);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char two[400];
        snprintf(two, sizeof two, kernel, "two", "act");
        put_file("two.tile", "%s\n%s", others[i].text, two);
        if (others[i].same)
            load_family(f, "acts.tile", NULL);
        else
            not_loaded(f, "acts.tile", NULL, TW_BAD_PROGRAM, "`two` ensures something else");
    }
}

/* --- types and launches --- */

static void types_are_those_of_a_member(void **state)
{
    struct fixture *f = *state;
    put_products();
    tw_family *family = load_family(f, "products.tile", NULL);
    succeed(f, tw_family_type(family, "T", TW_F16));
    refused(f, tw_family_type(family, "T", TW_F64), TW_BAD_ARGUMENT, "lists f64 for `T`");
    refused(f, tw_family_type(family, "U", TW_F16), TW_BAD_ARGUMENT, "has no type `U`");
    refused(f, tw_family_type(family, NULL, TW_F16), TW_BAD_ARGUMENT, "`name` is NULL");
    assert_int_equal(tw_family_type(NULL, "T", TW_F16), TW_BAD_ARGUMENT);
}

static void a_choice_becomes_a_launch(void **state)
{
    struct fixture *f = *state;
    put_products();
    tw_family *family = load_family(f, "products.tile", NULL);
    tw_choice choice = tw_choice_init();
    tw_value value;
    choice.kernel = tw_family_kernel(family, 0);
    choice.tune = "WARPS=2,BM=8";
    succeed(f, tw_family_launch(family, &choice, &f->launch));
    give_all(f);
    succeed(f, tw_launch_run(f->launch));
    succeed(f, tw_launch_verify(f->launch, NULL));
    succeed(f, tw_launch_value(f->launch, "BM", &value));
    assert_int_equal(value.i, 8);
    choice.tune = "BN=8";
    refused(f, tw_family_launch(family, &choice, &f->launch), TW_BAD_ARGUMENT,
            "the tuned values \"BN=8\" are not those of `rows`");
    assert_null(f->launch);
    choice.tune = NULL;
    refused(f, tw_family_launch(family, &choice, &f->launch), TW_BAD_ARGUMENT, "not one of this");
    put_file("columns.tile", product_columns, "columns");
    put_file("rows.tile", "family products { \"columns.tile\"; }");
    choice.kernel = tw_family_kernel(load_family(f, "rows.tile", NULL), 0);
    choice.tune = "BN=16";
    refused(f, tw_family_launch(family, &choice, &f->launch), TW_BAD_ARGUMENT, "not one of this");
    assert_int_equal(tw_family_launch(NULL, &choice, &f->launch), TW_BAD_ARGUMENT);
}

/* An entry compiles its kernel's text again; the files of a family in that text may be gone. */
static void an_entry_does_not_need_the_family_of_its_text(void **state)
{
    struct fixture *f = *state;
    tw_module *m;
    tw_entry *e;
    float c[16] = {0};
    put_file("other.tile", "const i32 N = 4;\n");
    put_file("own.tile", "family f { \"other.tile\"; }\n"
                         "kernel own(i32 n, f32 *c) grid(1) warps(1)\n{\n"
                         "    global f32 C[n] = c;\n    C[0 +: 16] = 3;\n}\n");
    succeed(f, tw_module_from_file(f->ctx, file_path("own.tile"), &m));
    succeed(f, tw_launch_new(tw_module_kernel_at(m, 0), &f->launch));
    put_file("own.tile", "gone");
    assert_int_equal(remove(file_path("other.tile")), 0);
    succeed(f, tw_entry_new(f->launch, &e));
    tw_value args[] = {tw_int(16), tw_pointer(c)};
    assert_int_equal(tw_entry_start(e, args, 2, NULL, NULL), TW_OK);
    assert_true(c[15] == 3);
}

/* --- memory --- */

static tw_status use_family(tw_context *ctx)
{
    tw_family *family;
    tw_launch *l;
    tw_choice choice = tw_choice_init();
    tw_status s = tw_family_from_file(ctx, file_path("products.tile"), NULL, NULL, &family);
    choice.kernel = s == TW_OK ? tw_family_kernel(family, 1) : NULL;
    choice.tune = "BN=16";
    if (s == TW_OK)
        s = tw_family_type(family, "T", TW_F16);
    return s == TW_OK ? tw_family_launch(family, &choice, &l) : s;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    tw_status s = TW_NO_MEMORY;
    put_products();
    for (long n = 0; s != TW_OK; n++) {
        struct counting memory = {.fail_from = n};
        tw_config config = {
            .size = sizeof config, .resize = counting_resize, .resize_user = &memory};
        tw_context *ctx;
        if (tw_context_new(&config, &ctx) != TW_OK)
            continue;
        s = use_family(ctx);
        if (s != TW_OK && s != TW_NO_MEMORY)
            fail_msg("%s", tw_context_messages(ctx));
        tw_context_free(ctx);
        assert_int_equal(memory.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_declares_a_family, family_setup, family_teardown),
        cmocka_unit_test_setup_teardown(a_family_may_be_named, family_setup, family_teardown),
        cmocka_unit_test_setup_teardown(a_folder_is_a_family, family_setup, family_teardown),
        cmocka_unit_test_setup_teardown(a_folder_without_kernels_is_none, family_setup,
                                        family_teardown),
        cmocka_unit_test_setup_teardown(kernels_of_a_file_are_a_family, family_setup,
                                        family_teardown),
        cmocka_unit_test_setup_teardown(wrong_files_are_named, family_setup, family_teardown),
        cmocka_unit_test_setup_teardown(members_have_one_signature, family_setup, family_teardown),
        cmocka_unit_test_setup_teardown(members_ensure_the_same, family_setup, family_teardown),
        cmocka_unit_test_setup_teardown(ensures_are_compared_with_all_they_use, family_setup,
                                        family_teardown),
        cmocka_unit_test_setup_teardown(types_are_those_of_a_member, family_setup, family_teardown),
        cmocka_unit_test_setup_teardown(a_choice_becomes_a_launch, family_setup, family_teardown),
        cmocka_unit_test_setup_teardown(an_entry_does_not_need_the_family_of_its_text, family_setup,
                                        family_teardown),
        cmocka_unit_test_setup_teardown(memory_may_run_out, family_setup, family_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
