/* JSON: values as RFC 8259 has them, and the first wrong byte of everything else. */
#include "arena_helper.h"

#include "base/json_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static const struct json_value *read(const char *text)
{
    size_t fault;
    return json_parse(&arena, text, 0, strlen(text), &fault);
}

static void values_are_read(void **state)
{
    (void)state;
    const struct json_value *v =
        read(" {\"a\": [1, -2.5e1, null, true, false, \"x\\n\\u00e9\\ud83d\\ude00\"], \"b\":{}}\n");
    assert_non_null(v);
    const struct json_value *a = json_find(v, "a"), *one = a->first;
    assert_true(v->kind == JSON_OBJECT && v->count == 2 && a->kind == JSON_ARRAY && a->count == 6);
    assert_true(one->kind == JSON_NUMBER && one->number == 1 && one->offset == 8);
    one = one->next;
    assert_true(one->number == -25 && one->length == 6);
    one = one->next;
    assert_int_equal(one->kind, JSON_NULL);
    one = one->next;
    assert_true(one->kind == JSON_BOOL && one->boolean && !one->next->boolean);
    one = one->next->next;
    assert_string_equal(one->string, "x\n\xC3\xA9\xF0\x9F\x98\x80");
    assert_int_equal(json_find(v, "b")->count, 0);
    assert_null(json_find(v, "c"));
    assert_null(json_find(a, "a"));
    assert_null(json_find(NULL, "a"));
    assert_string_equal(read("\"\\ud800\\u0041\"")->string, "\xEF\xBF\xBD"
                                                            "A");
    assert_string_equal(read("\"\"")->string, "");
}

static void other_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t fault;
    } wrong[] = {
        {"", 0},
        {"[1,]", 3},
        {"[1 2]", 3},
        {"{\"a\" 1}", 5},
        {"{a:1}", 1},
        {"01", 1},
        {"+1", 0},
        {".5", 0},
        {"1.", 2},
        {"1e", 2},
        {"1e999", 5},
        {"nul", 0},
        {"\"a", 2},
        {"\"\\x\"", 2},
        {"\"\\u12g4\"", 5},
        {"\"a\tb\"", 2},
        {"[1", 2},
        {"1 1", 2},
        {"\"\\u0000\"", 7},
        {"{\"a\":}", 5},
        {"'a'", 0},
        {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", 16},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t fault = 99;
        assert_null(json_parse(&arena, wrong[i].text, 0, strlen(wrong[i].text), &fault));
        if (fault != wrong[i].fault)
            fail_msg("%s: byte %zu, expected %zu", wrong[i].text, fault, wrong[i].fault);
    }
    size_t fault;
    assert_null(json_parse(&arena, "[1]", 0, 2, &fault));
    assert_non_null(json_parse(&arena, "x[1]y", 1, 4, &fault));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(other_text_is_refused),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}
