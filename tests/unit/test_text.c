/* Growing text, numbers that read back, edit distance. */
#include "base/shown.h"
#include "base/text.h"
#include "tilewright.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_helper.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void text_grows(void **state)
{
    (void)state;
    struct text t;
    text_init(&t, &arena);
    assert_string_equal(t.data, "");
    for (int i = 0; i < 500; i++) {
        text_printf(&t, "%03d,", i);
        assert_int_equal(t.length, 4 * (i + 1));
        assert_int_equal(t.data[t.length], '\0');
    }
    assert_memory_equal(t.data + 4 * 123, "123,", 4);
    text_add(&t, "end");
    text_add_char(&t, '.');
    text_add_n(&t, "", 0);
    assert_string_equal(t.data + 2000, "end.");
}

static const char *number(double v, bool single)
{
    struct text t;
    text_init(&t, &arena);
    text_add_double(&t, v, single);
    return t.data;
}

static void strings_of_json(void **state)
{
    (void)state;
    struct text t;
    text_init(&t, &arena);
    text_add_json(&t, "a \"b\" \\ \n\x1f µ");
    assert_string_equal(t.data, "\"a \\\"b\\\" \\\\ \\u000a\\u001f µ\"");
}

/* Control characters of terminals are spelled out; letters of any alphabet remain. */
static void text_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line, *lines, *json;
    } cases[] = {
        {"plain", "plain", "plain", "plain"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82",
         "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82"},
        {"a\x1b[31mb\x7f", "a\\x1b[31mb\\x7f", "a\\x1b[31mb\\x7f", "a\\u001b[31mb\\u007f"},
        {"a\tb\nc\r", "a\\x09b\\x0ac\\x0d", "a\tb\nc\\x0d", "a\\u0009b\\u000ac\\u000d"},
        {"\xc2\x9b", "\\u009b", "\\u009b", "\\u009b"}, /* CSI of C1 */
        {"\x9b", "\\x9b", "\\x9b", "\\ufffd"},
        {"x\xe2\x80\xae\xe2\x81\xa6\xd8\x9c", "x\\u202e\\u2066\\u061c", "x\\u202e\\u2066\\u061c",
         "x\\u202e\\u2066\\u061c"},
        {"\xe2\x80\xa8", "\\u2028", "\\u2028", "\\u2028"},
        {"\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf", "\\ufffd\\ufffd"}, /* longer than necessary */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80", "\\ufffd\\ufffd\\ufffd"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80",
         "\\ufffd\\ufffd\\ufffd\\ufffd"},
        {"\xe2\x82", "\\xe2\\x82", "\\xe2\\x82", "\\ufffd\\ufffd"}, /* its end is missing */
        {"\"\\", "\"\\", "\"\\", "\\\"\\\\"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(text_shown(&arena, cases[i].text, SHOWN_LINE), cases[i].line);
        assert_string_equal(text_shown(&arena, cases[i].text, SHOWN_LINES), cases[i].lines);
        assert_string_equal(text_shown(&arena, cases[i].text, SHOWN_JSON), cases[i].json);
    }
}

/* As snprintf: returns the whole length, and writes as much as fits, in whole pieces. */
static void text_is_shown_in_room(void **state)
{
    (void)state;
    char out[8];
    static const size_t ends[] = {0, 0, 1, 1, 1, 1, 5, 5, 5};
    assert_int_equal(tw_text_shown(NULL, 0, TW_SHOWN_LINE, NULL, 0), 0);
    for (size_t room = 0; room <= 7; room++) {
        memset(out, '#', sizeof out);
        assert_int_equal(tw_text_shown("a\x1b"
                                       "bc",
                                       4, TW_SHOWN_LINES, out, room),
                         7);
        if (room)
            assert_int_equal(strlen(out), room == 7 ? 6 : ends[room]);
        assert_int_equal(out[room ? strlen(out) + 1 : 0], '#');
    }
    assert_int_equal(tw_text_shown("a\x1b"
                                   "bc",
                                   4, TW_SHOWN_LINES, out, 8),
                     7);
    assert_string_equal(out, "a\\x1bbc");
}

static void numbers_are_short(void **state)
{
    (void)state;
    assert_string_equal(number(0, false), "0.0");
    assert_string_equal(number(-0.0, false), "-0.0");
    assert_string_equal(number(1, false), "1.0");
    assert_string_equal(number(-100, false), "-100.0");
    assert_string_equal(number(0.1, false), "0.1");
    assert_string_equal(number((double)0.1f, true), "0.1");
    assert_string_equal(number((double)0.1f, false), "0.10000000149011612");
    assert_string_equal(number(1234.5, false), "1234.5");
    assert_string_equal(number(0.00001, false), "0.00001");
    assert_string_equal(number(1.5e-6, false), "1.5e-6");
    assert_string_equal(number(1e22, false), "1e22");
    assert_string_equal(number(-1.25e300, false), "-1.25e300");
    assert_string_equal(number(0x1p-1074, false), "5e-324");
    assert_string_equal(number(0x1.fffffep127, true), "3.4028235e38");
    assert_string_equal(number((double)INFINITY, false), "inf");
    assert_string_equal(number((double)-INFINITY, true), "-inf");
    assert_string_equal(number((double)NAN, false), "nan");
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ *seed >> 29;
}

static void numbers_read_back(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&seed);
        uint32_t half = (uint32_t)(bits >> 32);
        double v;
        float f;
        memcpy(&v, &bits, sizeof v);
        memcpy(&f, &half, sizeof f);
        const char *text = number(v, false);
        if (!isnan(v))
            assert_true(strtod(text, NULL) == v);
        assert_non_null(strpbrk(text, ".einf"));
        text = number((double)f, true);
        if (!isnan(f))
            assert_true(strtof(text, NULL) == f);
        assert_true(strlen(text) <= 20);
        if (i % 1000 == 0)
            arena_free(&arena);
    }
}

static void numbers_do_not_follow_the_locale(void **state)
{
    (void)state;
    const char *commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    const char *set = NULL;
    for (size_t i = 0; !set && i < sizeof commas / sizeof *commas; i++)
        set = setlocale(LC_NUMERIC, commas[i]);
    if (!set)
        skip(); /* none is installed */
    const char *text = number(1234.5, false);
    setlocale(LC_NUMERIC, "C");
    assert_string_equal(text, "1234.5");
}

static void base_names(void **state)
{
    (void)state;
    assert_string_equal(text_base_name("a/b/k.cu"), "k.cu");
    assert_string_equal(text_base_name("k.cu"), "k.cu");
    assert_string_equal(text_base_name("a/"), "");
}

static void distances(void **state)
{
    (void)state;
    assert_int_equal(text_distance("", ""), 0);
    assert_int_equal(text_distance("tile", "tile"), 0);
    assert_int_equal(text_distance("", "abc"), 3);
    assert_int_equal(text_distance("kitten", "sitting"), 3);
    assert_int_equal(text_distance("reshpae", "reshape"), 1); /* neighbours swapped */
    assert_int_equal(text_distance("ab", "ba"), 1);
    assert_int_equal(text_distance("sync", "async"), 1);
    assert_int_equal(text_distance("aa", "aaa"), 1);
    assert_int_equal(text_distance("ca", "abc"), 3); /* each piece is edited once */
    char a[300], b[300];
    memset(a, 'a', sizeof a - 1);
    memset(b, 'b', sizeof b - 1);
    a[sizeof a - 1] = b[sizeof b - 1] = '\0';
    assert_int_equal(text_distance(a, b), 299);
    b[0] = 'a';
    b[298] = 'a';
    assert_int_equal(text_distance(a, b), 297);
    assert_int_equal(text_distance(b, a), 297);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_grows, arena_set_up, arena_tear_down),
        cmocka_unit_test_setup_teardown(strings_of_json, arena_set_up, arena_tear_down),
        cmocka_unit_test_setup_teardown(text_is_shown, arena_set_up, arena_tear_down),
        cmocka_unit_test(text_is_shown_in_room),
        cmocka_unit_test_setup_teardown(numbers_are_short, arena_set_up, arena_tear_down),
        cmocka_unit_test_setup_teardown(numbers_read_back, arena_set_up, arena_tear_down),
        cmocka_unit_test_setup_teardown(numbers_do_not_follow_the_locale, arena_set_up,
                                        arena_tear_down),
        cmocka_unit_test(base_names),
        cmocka_unit_test(distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
