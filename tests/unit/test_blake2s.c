/* BLAKE2s compared with RFC 7693, appendix B, and with Python's hashlib around the edges of a
 * block. */
#include "base/blake2s.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const char *hexadecimal(const unsigned char digest[BLAKE2S_BYTES])
{
    static char text[2 * BLAKE2S_BYTES + 1];
    for (int i = 0; i < BLAKE2S_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}

static void digests_are_known(void **state)
{
    (void)state;
    unsigned char digest[BLAKE2S_BYTES];
    blake2s_of("abc", 3, digest);
    assert_string_equal(hexadecimal(digest),
                        "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982");
    /* hashlib.blake2s(bytes((i * 7 + n) % 256 for i in range(n))) */
    static const struct {
        size_t length;
        const char *digest;
    } known[] = {
        {0, "69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9"},
        {1, "fc87f4f1d721942d282aa61989c069b290d1447d20d4b811430f47ea0edf9991"},
        {63, "5c9eb3e5acf93799a68777f27cdde8e90cb16d511b7983a875ac5dbfa8aca778"},
        {64, "85de17b4e2581889b98b948346a970b5291b5d2a2a8ee75b1aa2bbb02b98b211"},
        {65, "1c1a9619a26d7cd550199567e5c316eb3db33d96c29790a6c68ba7f1ee8a8803"},
        {128, "46bf7abf397f8c8f86566279cba2505c9d255be7409760dc327ae520faaf356a"},
        {129, "030e44da1226be0765e3ff31a849aca32cb20222ac3dc32ff10670dc95b22534"},
        {1000, "802d01c1238627f67baee29885006cfaab1f07890532935a1ae9354d318df150"},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        unsigned char data[1000];
        for (size_t i = 0; i < known[k].length; i++)
            data[i] = (unsigned char)(i * 7 + known[k].length);
        blake2s_of(data, known[k].length, digest);
        assert_string_equal(hexadecimal(digest), known[k].digest);
    }
}

static void pieces_make_the_whole(void **state)
{
    (void)state;
    unsigned char data[300], whole[BLAKE2S_BYTES], pieces[BLAKE2S_BYTES];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * i);
    blake2s_of(data, sizeof data, whole);
    for (size_t step = 1; step < 130; step++) {
        struct blake2s h;
        blake2s_begin(&h);
        for (size_t at = 0; at < sizeof data; at += step)
            blake2s_add(&h, data + at, sizeof data - at < step ? sizeof data - at : step);
        blake2s_end(&h, pieces);
        assert_memory_equal(pieces, whole, sizeof whole);
    }
}

static void fields_are_not_run_together(void **state)
{
    (void)state;
    unsigned char first[BLAKE2S_BYTES], second[BLAKE2S_BYTES];
    struct blake2s h;
    blake2s_begin(&h);
    blake2s_field(&h, "ab", 2);
    blake2s_field(&h, "c", 1);
    blake2s_end(&h, first);
    blake2s_begin(&h);
    blake2s_field(&h, "a", 1);
    blake2s_field(&h, "bc", 2);
    blake2s_end(&h, second);
    assert_memory_not_equal(first, second, sizeof first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_known),
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(fields_are_not_run_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
