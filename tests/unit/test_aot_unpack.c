/* The constant texts of shipped C: what the library unpacks is the file, to the byte. */
#include "aot/aot.h"

#include "arena_helper.h"
#include "base/platform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

extern const unsigned char aot_module_c[], aot_module_h[], aot_choice_c[], aot_size_run_h[];
extern const size_t aot_module_c_length, aot_module_h_length, aot_choice_c_length,
    aot_size_run_h_length;

static void texts_are_those_of_the_files(void **state)
{
    (void)state;
    const struct {
        const char *file;
        const unsigned char *packed;
        size_t length;
    } all[] = {{TW_TEST_ROOT "/src/aot/aot_module.c.in", aot_module_c, aot_module_c_length},
               {TW_TEST_ROOT "/src/aot/aot_module.h.in", aot_module_h, aot_module_h_length},
               {TW_TEST_ROOT "/src/aot/aot_choice.c.in", aot_choice_c, aot_choice_c_length},
               {TW_TEST_ROOT "/src/tile/size_run.h", aot_size_run_h, aot_size_run_h_length}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t length;
        const char *why,
            *text = platform_read_text(&arena, all[i].file, 1 << 20, true, &length, &why);
        const struct text ours = aot_unpack(&arena, all[i].packed, all[i].length);
        assert_non_null(text);
        assert_string_equal(ours.data, text);
        assert_int_equal(ours.length, length);
        assert_true(all[i].length < length * 2 / 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        texts_are_those_of_the_files, arena_set_up, arena_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
