/* Calls that editors make for a text: formatting, symbols. */
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

static const char names[] = "const i32 N = 4,\n    M = N;\n"                   /* 1, 2 */
                            "tune (A, B) = {(1, 2)}; type T = {f32};\n"        /* 3 */
                            "fn reg U[R] half(reg U v[R]) { return v / 2; }\n" /* 4 */
                            "kernel k(i32 n, const T *a,\n"                    /* 5 */
                            "         T *c) grid(1) warps(A)\n{\n"             /* 6, 7 */
                            "    global T X[n] = a, Y[n] = c;\n"               /* 8 */
                            "    i32 (q, r) = two(N);\n"                       /* 9 */
                            "    { reg T N[4] = X[0 +: 4]; N = half(N); }\n"   /* 10 */
                            "    for (i32 i = 0; i < N; i++) Y[i] = i;\n"      /* 11 */
                            "    ensures for (i32 r < n) Y[r] == X[r];\n}\n";  /* 12, 13 */

static const tw_symbol *symbol(const tw_symbol *list, int count, const char *name, int line)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0 && list[i].at.line == line)
            return &list[i];
    fail_msg("no symbol %s in line %d", name, line);
    return NULL;
}

static void declared(const tw_symbol *s, tw_symbol_kind kind, const char *declaration, int uses)
{
    assert_int_equal(s->kind, kind);
    assert_string_equal(s->declaration, declaration);
    assert_int_equal(s->use_count, uses);
}

static void test_symbols(void **state)
{
    struct fixture *f = *state;
    const tw_symbol *s, *x;
    int count;
    succeed(f, tw_text_symbols(f->ctx, names, strlen(names), &count, &s));
    declared(symbol(s, count, "N", 1), TW_SYMBOL_CONST, "const i32 N = 4", 3);
    declared(symbol(s, count, "M", 2), TW_SYMBOL_CONST, "const i32 M = N", 0);
    declared(symbol(s, count, "B", 3), TW_SYMBOL_TUNE, "tune (A, B) = {(1, 2)}", 0);
    declared(symbol(s, count, "T", 3), TW_SYMBOL_TYPE, "type T = {f32}", 4);
    declared(symbol(s, count, "half", 4), TW_SYMBOL_FN, "fn reg U[R] half(reg U v[R])", 1);
    declared(symbol(s, count, "U", 4), TW_SYMBOL_TYPE, "reg U v[R]", 1);
    declared(symbol(s, count, "R", 4), TW_SYMBOL_EXTENT, "reg U v[R]", 1);
    declared(symbol(s, count, "a", 5), TW_SYMBOL_PARAM, "const T *a", 1);
    declared(symbol(s, count, "Y", 8), TW_SYMBOL_VIEW, "global T Y[n] = c", 2);
    declared(symbol(s, count, "q", 9), TW_SYMBOL_LOCAL, "i32 (q, r) = two(N)", 0);
    declared(symbol(s, count, "N", 10), TW_SYMBOL_REG, "reg T N[4] = X[0 +: 4]", 2);
    declared(symbol(s, count, "i", 11), TW_SYMBOL_LOCAL, "i32 i = 0", 4);
    declared(symbol(s, count, "r", 9), TW_SYMBOL_LOCAL, "i32 (q, r) = two(N)", 0);
    declared(symbol(s, count, "r", 12), TW_SYMBOL_LOCAL, "i32 r < n", 2);
    x = symbol(s, count, "k", 5);
    declared(x, TW_SYMBOL_KERNEL, "kernel k(i32 n, const T *a, T *c) grid(1) warps(A)", 0);
    assert_true(x->whole.line == 5 && x->whole.column == 1 && x->whole.end_line == 13 &&
                x->whole.end_column == 2);
    assert_true(x->owner == -1 && &s[symbol(s, count, "X", 8)->owner] == x);
    x = symbol(s, count, "N", 10);
    assert_true(x->scope.line == 10 && x->scope.column == 13 && x->scope.end_line == 10 &&
                x->uses[0].column == 31 && x->uses[1].column == 40);
}

/* An error hides only the symbols of the construct that it is in. */
static void test_symbols_of_broken_text(void **state)
{
    struct fixture *f = *state;
    const tw_symbol *s;
    int count;
    static const char text[] =
        "kernel a(i32 n) grid(1) threads(1)\n{\n    i32 x = n;\n    i32 y = x +\n"
        "    x.\n}\nconst i32 = 3;\nkernel b(i32 m) grid(m) threads(1) { i32 z";
    succeed(f, tw_text_symbols(f->ctx, text, strlen(text), &count, &s));
    declared(symbol(s, count, "x", 3), TW_SYMBOL_LOCAL, "i32 x = n", 0);
    declared(symbol(s, count, "m", 8), TW_SYMBOL_PARAM, "i32 m", 1);
    for (size_t cut = 0; cut < strlen(names); cut++)
        succeed(f, tw_text_symbols(f->ctx, names, cut, &count, &s));
    refused(f, tw_text_symbols(f->ctx, NULL, 0, &count, &s), TW_BAD_ARGUMENT,
            "`text`, `count` or `out` is NULL");
    assert_int_equal(tw_text_symbols(NULL, "", 0, &count, &s), TW_BAD_ARGUMENT);
}

/* Imports are found anywhere at the top level, in a text with errors too, and in no comment. */
static void test_imports(void **state)
{
    struct fixture *f = *state;
    const tw_import *x;
    int count;
    static const char text[] =
        "/* import \"a.tile\"; */ const i32 B = 3; import \"../b.tile\";\n"
        "kernel k() { import \"c.tile\"; }\nconst = 3; import \"shared.tile\"";
    succeed(f, tw_text_imports(f->ctx, TW_TEST_ROOT "/kernels/matmul/x.tile", text, strlen(text),
                               &count, &x));
    assert_int_equal(count, 2);
    assert_string_equal(x[0].path, TW_TEST_ROOT "/kernels/b.tile");
    assert_int_equal(x[0].found, 0);
    assert_true(x[0].at.line == 1 && x[0].at.column == 48 && x[0].at.end_column == 59);
    assert_non_null(strstr(x[1].path, "kernels/matmul/shared.tile"));
    assert_int_equal(x[1].found, 1);
    for (size_t cut = 0; cut < strlen(text); cut++)
        succeed(f, tw_text_imports(f->ctx, "", text, cut, &count, &x));
    succeed(f, tw_text_imports(f->ctx, "", "\"a.tile\"; x", 11, &count, &x));
    assert_int_equal(count, 0); /* no token comes before that of the name */
    refused(f, tw_text_imports(f->ctx, NULL, "", 0, &count, &x), TW_BAD_ARGUMENT,
            "`name`, `text`, `count` or `out` is NULL");
    assert_int_equal(tw_text_imports(NULL, "", "", 0, &count, &x), TW_BAD_ARGUMENT);
}

/* The files of families are found as imports are; a family is a symbol of its text. */
static void test_families(void **state)
{
    struct fixture *f = *state;
    const tw_import *x;
    const tw_symbol *s;
    const char *out;
    int count;
    static const char text[] =
        "import \"a.tile\";\nfamily   f{\"shared.tile\" ;\n\n  \"b.tile\" :k;}"
        "\ni32 family = 3; family { \"c.tile\"; }\nfamily g { \"d.tile\"";
    static const char *const names_of[] = {"a.tile", "shared.tile", "b.tile", "d.tile"};
    succeed(f, tw_text_imports(f->ctx, TW_TEST_ROOT "/kernels/matmul/x.tile", text, strlen(text),
                               &count, &x));
    assert_int_equal(count, 4);
    for (int i = 0; i < count; i++) {
        assert_non_null(strstr(x[i].path, names_of[i]));
        assert_int_equal(x[i].found, i == 1);
    }
    assert_true(x[2].at.line == 4 && x[2].at.column == 3 && x[2].at.end_column == 11);
    succeed(f, tw_text_symbols(f->ctx, text, strlen(text), &count, &s));
    declared(symbol(s, count, "f", 2), TW_SYMBOL_FAMILY, "family f", 0);
    assert_int_equal(symbol(s, count, "f", 2)->whole.end_line, 4);
    for (size_t cut = 0; cut < strlen(text); cut++) {
        succeed(f, tw_text_imports(f->ctx, "", text, cut, &count, &x));
        succeed(f, tw_text_symbols(f->ctx, text, cut, &count, &s));
    }
    size_t length = (size_t)(strstr(text, "\ni32") - text);
    succeed(f, tw_text_format(f->ctx, "a.tile", text, length, &out, NULL));
    assert_string_equal(out, "import \"a.tile\";\nfamily f {\n    \"shared.tile\";\n\n"
                             "    \"b.tile\": k;\n}\n");
}

static tw_status edit(tw_context *ctx)
{
    const char *text;
    const tw_symbol *s;
    const tw_import *imports;
    int count;
    tw_status status = tw_text_format(ctx, "a.tile", messy, strlen(messy), &text, NULL);
    if (status == TW_OK)
        status = tw_text_imports(ctx, "a.tile", "import \"b.tile\";", 16, &count, &imports);
    return status ? status : tw_text_symbols(ctx, names, strlen(names), &count, &s);
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
        cmocka_unit_test_setup_teardown(test_symbols, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_symbols_of_broken_text, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_imports, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_families, api_setup, api_teardown),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
