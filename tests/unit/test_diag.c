/* Diagnostics: the exact text that users see. */
#include "base/diag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static jmp_buf failed;
static struct arena arena;
static struct diag diag;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, &allocator_libc, &failed);
    diag_init(&diag, &arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static struct source *text_source(const char *text)
{
    struct source *source = arena_new(&arena, struct source);
    *source = (struct source){"k.tile", text, strlen(text)};
    return source;
}

/* Returns the place where `part` first occurs in the text. */
static struct loc place(const struct source *source, const char *part)
{
    const char *at = strstr(source->text, part);
    assert_non_null(at);
    return (struct loc){source, (uint32_t)(at - source->text), (uint32_t)strlen(part)};
}

static const char *rendered(bool colour)
{
    struct text out;
    text_init(&out, &arena);
    diag_render(&out, &diag, colour);
    return out.data;
}

static void an_error_with_notes(void **state)
{
    (void)state;
    const struct source *s = text_source("shared f16 sa[2];\nsa = tille;\nsync();\n");
    diag_error(&diag, place(s, "tille"), "unknown name `%s`", "tille");
    diag_note(&diag, place(s, "sa[2]"), "did you mean `%s`?", "sa");
    diag_note(&diag, LOC_NONE, "names are declared before use");
    assert_string_equal(rendered(false), "k.tile:2:6: error: unknown name `tille`\n"
                                         "    sa = tille;\n"
                                         "         ^~~~~\n"
                                         "k.tile:1:12: note: did you mean `sa`?\n"
                                         "    shared f16 sa[2];\n"
                                         "               ^~~~~\n"
                                         "    note: names are declared before use\n");
    assert_int_equal(diag.errors, 1);
}

static void warnings_and_no_place(void **state)
{
    (void)state;
    const struct source *s = text_source("tune BM = {1};");
    diag_warning(&diag, place(s, "BM"), "never used");
    diag_error(&diag, LOC_NONE, "no kernel");
    assert_string_equal(rendered(false), "k.tile:1:6: warning: never used\n"
                                         "    tune BM = {1};\n"
                                         "         ^~\n"
                                         "error: no kernel\n");
    assert_int_equal(diag.errors, 1);
    assert_int_equal(diag.warnings, 1);
}

static void tabs_and_bytes_keep_the_caret_in_place(void **state)
{
    (void)state;
    const struct source *s = text_source("\t\tx = \xc3\xa9\xc3\xa9 \xff y;\r\nz");
    diag_error(&diag, place(s, "y"), "here");
    assert_string_equal(rendered(false), "k.tile:1:14: error: here\n"
                                         "      x = \xc3\xa9\xc3\xa9 ? y;\n"
                                         "               ^\n");
}

static void a_range_ends_with_its_line(void **state)
{
    (void)state;
    const struct source *s = text_source("for (;;)\n    x = 1;\n");
    diag_error(&diag, place(s, "(;;)\n    x = 1;"), "endless");
    assert_string_equal(rendered(false), "k.tile:1:5: error: endless\n"
                                         "    for (;;)\n"
                                         "        ^~~~\n");
}

static void ends_of_the_text(void **state)
{
    (void)state;
    const struct source *s = text_source("kernel k(");
    diag_error(&diag, (struct loc){s, 9, 0}, "expected a parameter");
    const struct source *t = text_source("x\n");
    diag_error(&diag, (struct loc){t, 2, 0}, "expected '}'");
    const struct source *u = text_source("");
    diag_error(&diag, (struct loc){u, 77, 3}, "nothing here");
    assert_string_equal(rendered(false), "k.tile:1:10: error: expected a parameter\n"
                                         "    kernel k(\n"
                                         "             ^\n"
                                         "k.tile:2:1: error: expected '}'\n"
                                         "k.tile:1:1: error: nothing here\n");
}

static void a_long_line_is_cut_around_the_caret(void **state)
{
    (void)state;
    char text[1001];
    memset(text, 'x', 1000);
    text[1000] = '\0';
    memcpy(text + 500, "HERE", 4);
    const struct source *s = text_source(text);
    diag_error(&diag, place(s, "HERE"), "far");
    const char *out = rendered(false), *line = strchr(out, '\n') + 1;
    const char *carets = strchr(line, '\n') + 1;
    assert_memory_equal(line, "    ...xxx", 10);
    assert_int_equal(carets - line, 4 + 3 + 100 + 3 + 1);
    assert_memory_equal(carets - 7, "xxx...\n", 7);
    assert_int_equal(strstr(line, "HERE") - line, strchr(carets, '^') - carets);
    assert_string_equal(strchr(carets, '^'), "^~~~\n");

    diag_init(&diag, &arena);
    diag_error(&diag, (struct loc){s, 0, 1000}, "all of it");
    out = rendered(false);
    line = strchr(out, '\n') + 1;
    carets = strchr(line, '\n') + 1;
    assert_memory_equal(line, "    xxx", 7);
    assert_int_equal(strlen(carets), 4 + 100 + 1);

    diag_init(&diag, &arena);
    diag_error(&diag, (struct loc){s, 1000, 0}, "behind it");
    out = rendered(false);
    line = strchr(out, '\n') + 1;
    carets = strchr(line, '\n') + 1;
    assert_int_equal(strlen(carets),
                     carets - line + 1); /* the caret is right after the end of the line */
}

static void the_same_is_said_once(void **state)
{
    (void)state;
    const struct source *s = text_source("a b");
    for (int i = 0; i < 3; i++) {
        diag_error(&diag, place(s, "a"), "bad");
        diag_note(&diag, LOC_NONE, "way out");
    }
    diag_error(&diag, place(s, "b"), "bad");
    diag_note(&diag, LOC_NONE, "another");
    diag_note(&diag, LOC_NONE, "another");
    diag_error(&diag, place(s, "a"), "bad");
    diag_note(&diag, LOC_NONE, "goes with what was said before");
    assert_string_equal(rendered(false),
                        "k.tile:1:1: error: bad\n    a b\n    ^\n    note: way out\n"
                        "k.tile:1:3: error: bad\n    a b\n      ^\n"
                        "    note: another\n");
    assert_int_equal(diag.errors, 2);
}

static void the_limit(void **state)
{
    (void)state;
    for (int i = 0; i < 25; i++) {
        assert_int_equal(diag_full(&diag), i >= 20);
        diag_error(&diag, LOC_NONE, "error %d", i);
        diag_note(&diag, LOC_NONE, "note %d", i);
    }
    const char *out = rendered(false);
    assert_non_null(strstr(out, "error: error 19\n    note: note 19\n... and 5 more errors\n"));
    assert_null(strstr(out, "note 20"));
    diag_init(&diag, &arena);
    diag.limit = 1;
    diag_error(&diag, LOC_NONE, "one");
    diag_error(&diag, LOC_NONE, "two");
    assert_string_equal(rendered(false), "error: one\n... and 1 more error\n");
}

static void only_the_first_since(void **state)
{
    (void)state;
    diag_error(&diag, LOC_NONE, "before");
    diag_keep_first(&diag, diag.errors); /* no error has come since */
    diag_warning(&diag, LOC_NONE, "as well");
    diag_error(&diag, LOC_NONE, "the cause");
    diag_error(&diag, LOC_NONE, "what comes of it");
    diag_warning(&diag, LOC_NONE, "and of that");
    diag_keep_first(&diag, 1);
    diag_note(&diag, LOC_NONE, "a note");
    assert_string_equal(rendered(false),
                        "error: before\nwarning: as well\nerror: the cause\n    note: a note\n");
    assert_int_equal(diag.errors, 2);
    assert_int_equal(diag.warnings, 1);
    diag_error(&diag, LOC_NONE, "what comes of it"); /* the kept count is forgotten */
    assert_int_equal(diag.errors, 3);
}

static void colour_only_adds_codes(void **state)
{
    (void)state;
    const struct source *s = text_source("x = y;");
    diag_error(&diag, place(s, "y"), "bad");
    diag_note(&diag, LOC_NONE, "way out");
    const char *plain = rendered(false), *coloured = rendered(true);
    assert_null(strchr(plain, '\033'));
    struct text stripped;
    text_init(&stripped, &arena);
    int codes = 0;
    for (const char *p = coloured; *p; p++) {
        if (*p == '\033') {
            p = strchr(p, 'm');
            codes++;
        } else {
            text_add_char(&stripped, *p);
        }
    }
    assert_true(codes > 0);
    assert_string_equal(stripped.data, plain);
}

static void places(void **state)
{
    (void)state;
    const struct source *s = text_source("ab\ncd\n");
    struct loc a = {s, 1, 1}, b = {s, 3, 2};
    struct loc both = loc_join(a, b);
    assert_int_equal(both.offset, 1);
    assert_int_equal(both.length, 4);
    assert_ptr_equal(loc_join(LOC_NONE, b).source, s);
    assert_int_equal(loc_join(b, LOC_NONE).offset, 3);
    int line, column;
    loc_line_column((struct loc){s, 4, 0}, &line, &column);
    assert_int_equal(line, 2);
    assert_int_equal(column, 2);
    loc_line_column(LOC_NONE, &line, &column);
    assert_int_equal(line, 1);
}

static void near_names(void **state)
{
    (void)state;
    const char *const names[] = {"reshape", "repeat", "sync", "acc", NULL, "k", "BM"};
    const size_t count = sizeof names / sizeof *names;
    assert_string_equal(text_nearest("reshpae", names, count), "reshape");
    assert_string_equal(text_nearest("snyc", names, count), "sync");
    assert_string_equal(text_nearest("ac", names, count), "acc");
    assert_string_equal(text_nearest("bm", names, count), "BM");
    assert_null(text_nearest("x", names, count)); /* one edit from k, and nothing in common */
    assert_null(text_nearest("philox", names, count));
    assert_null(text_nearest("acc", names, 0));
}

static int allocations_left;

static void *scarce_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    if (size && allocations_left-- <= 0)
        return NULL;
    return allocator_libc.resize(user, ptr, old_size, size);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const struct allocator scarce = {scarce_resize, NULL, NULL};
    volatile bool done = false;
    for (volatile int left = 0; !done; left++) {
        allocations_left = left;
        jmp_buf out;
        struct arena a;
        arena_init(&a, &scarce, &out);
        if (setjmp(out) == 0) {
            struct diag d;
            struct text t;
            diag_init(&d, &a);
            for (int i = 0; i < 19; i++) {
                diag_error(&d, LOC_NONE, "%*d", 1000 + i, i);
                diag_note(&d, LOC_NONE, "%*d", 500, i);
            }
            text_init(&t, &a);
            diag_render(&t, &d, true);
            done = true;
        }
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_error_with_notes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(warnings_and_no_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tabs_and_bytes_keep_the_caret_in_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_range_ends_with_its_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_of_the_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_long_line_is_cut_around_the_caret, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_same_is_said_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_first_since, set_up, tear_down),
        cmocka_unit_test_setup_teardown(colour_only_adds_codes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(places, set_up, tear_down),
        cmocka_unit_test(near_names),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
