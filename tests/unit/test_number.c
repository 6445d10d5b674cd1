/* Numbers as text, as C's library prints and reads them in the C locale. This program never
 * leaves that locale; tests/cli/test_locale.py tries others. */
#include "base/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_bits(void)
{
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

static void same(const char *text)
{
    char *end, *wanted_end;
    double got = number_read(text, &end), wanted = strtod(text, &wanted_end);
    if (end != wanted_end || memcmp(&got, &wanted, sizeof got) != 0)
        fail_msg("\"%.60s\": %a up to %td, expected %a up to %td", text, got, end - text, wanted,
                 wanted_end - text);
    float single = (float)number_read_single(text, NULL), wanted_single = strtof(text, NULL);
    if (memcmp(&single, &wanted_single, sizeof single) != 0)
        fail_msg("\"%.60s\" as a float: %a, expected %a", text, (double)single,
                 (double)wanted_single);
}

static void numbers_are_read_as_strtod_reads_them(void **state)
{
    (void)state;
    const char *const texts[] = {"0",
                                 "-0",
                                 "0.0",
                                 "-0.0",
                                 "1",
                                 "1.",
                                 ".5",
                                 "-.5",
                                 "+2.25",
                                 "12,5",
                                 "1.2.3",
                                 "  \t7e2 8",
                                 "1e",
                                 "1e+",
                                 "1e-x",
                                 "2E3",
                                 "1e400",
                                 "-1e400",
                                 "1e-400",
                                 "1e99999999999999999999",
                                 "0e99999999999999999999",
                                 "1e-99999999999999999999",
                                 "0.000000000000000000000000000001e30",
                                 "123456789012345678901234567890",
                                 "inf",
                                 "-Infinity",
                                 "nan",
                                 "",
                                 ".",
                                 "-",
                                 "e5",
                                 "x",
                                 "4.9e-324",
                                 "2.4703282292062327e-324",
                                 "2.4703282292062328e-324",
                                 "1.7976931348623158e308",
                                 "1.7976931348623159e308",
                                 "9007199254740993",
                                 "9007199254740992.99999",
                                 "1.00000005960464477539062",
                                 "1.000000059604644775390625",
                                 "1.00000005960464477539063",
                                 "0000000000000000000000012.5000000000000000000000000"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        same(texts[i]);
}

static void random_numbers_are_read(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        double v;
        uint64_t bits = random_bits();
        char text[64];
        memcpy(&v, &bits, sizeof v);
        snprintf(text, sizeof text, "%.*e", (int)(random_bits() % 20), v);
        same(text);
        snprintf(text, sizeof text, "%.*f", (int)(random_bits() % 20), fmod(v, 1e9));
        same(text);
    }
}

/* Half way between two doubles, digit for digit, and just above: the digits that decide come
 * late. */
static void all_digits_count(void **state)
{
    (void)state;
    enum { ROOM = 1200 };
    char text[2 * ROOM];
    double v = nextafter(0x1p-1022, 1);
    snprintf(text, ROOM, "%.1074f", v); /* exact */
    same(text);
    snprintf(text, ROOM, "%.1075f", 0x1p-1074 / 2 + v); /* half a step is 0: the digits of v */
    same(text);
    const char *half = "9007199254740993"; /* 2^53 + 1 */
    for (int zeros = 760; zeros < 830; zeros++) {
        snprintf(text, sizeof text, "%s.%0*d1", half, zeros, 0);
        same(text);
        snprintf(text, sizeof text, "%s.%0*de-20", half, zeros, 0);
        same(text);
        snprintf(text, sizeof text, "%s%0*d1.5", half, zeros % 280, 0);
        same(text);
    }
}

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static void
prints(const char *format, ...)
{
    char got[600], wanted[600], cut[8], wanted_cut[8];
    va_list args, again, third, fourth;
    va_start(args, format);
    va_copy(again, args);
    va_copy(third, args);
    va_copy(fourth, args);
    int length = number_vformat(got, sizeof got, format, args);
    assert_int_equal(length, vsnprintf(wanted, sizeof wanted, format, again));
    assert_string_equal(got, wanted);
    assert_int_equal(number_vformat(cut, sizeof cut, format, third), length);
    vsnprintf(wanted_cut, sizeof wanted_cut, format, fourth);
    assert_string_equal(cut, wanted_cut);
    va_end(fourth);
    va_end(third);
    va_end(again);
    va_end(args);
}

static void texts_are_those_of_printf(void **state)
{
    (void)state;
    prints("%g", 0.5);
    prints("no number%%%s", " at all");
    prints("%d %s %.3g", -3, "a, b", 2.0 / 3);
    prints("%-8d|%08.3f|%+.2e|% g|%#g|%G", 7, 3.14159, 12345.678, 1.0, 2.0, 1e-20);
    prints("%*d %-*s|%.*f %.*s", 6, 42, 5, "ab", 3, 2.5, 2, "xyz");
    prints("%lld %llu %zu %td %c%% %x %o %f", -5000000000LL, 18446744073709551615ULL, (size_t)7,
           (ptrdiff_t)-7, 'q', 255u, 8u, 1.0);
    prints("%" PRId64 " %" PRIu64 " %ld %lu %jd %g", INT64_MIN, UINT64_MAX, -1L, 1ul, (intmax_t)3,
           0.1);
    prints("%u %i %X %f", 4000000000u, -2, 0xabcu, -1e300);
    prints("%f %f %e %g %5.1f", (double)INFINITY, -(double)INFINITY, (double)NAN, (double)INFINITY,
           -0.0);
    prints("%s and %.1f", "a text that is longer than the room it gets", 1.25);
    assert_int_equal(number_format(NULL, 0, "%.1f %d", 1.5, 2), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_as_strtod_reads_them),
        cmocka_unit_test(random_numbers_are_read),
        cmocka_unit_test(all_digits_count),
        cmocka_unit_test(texts_are_those_of_printf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
