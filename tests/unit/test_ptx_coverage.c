/* docs/ptx-coverage.md is the text that the table gives. TW_BLESS=1 writes it again. */
#include "ptx/ptx_coverage.h"

#include "base/platform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static jmp_buf failed;

static void page_is_current(void **state)
{
    (void)state;
    static const char path[] = TW_TEST_ROOT "/docs/ptx-coverage.md";
    struct arena arena;
    struct text page;
    const char *why = "";
    size_t length;
    arena_init(&arena, &allocator_libc, &failed);
    text_init(&page, &arena);
    ptx_coverage(&page);
    if (getenv("TW_BLESS"))
        assert_true(platform_write_file(&arena, path, page.data, page.length, &why));
    const char *committed = platform_read_file(&arena, path, &length, &why);
    if (!committed)
        fail_msg("%s: %s", path, why);
    if (strcmp(committed, page.data) != 0)
        fail_msg("%s is not what the table says; write it with TW_BLESS=1", path);
    arena_free(&arena);
}

static void every_form_is_in_a_section(void **state)
{
    (void)state;
    struct arena arena;
    struct text page;
    arena_init(&arena, &allocator_libc, &failed);
    text_init(&page, &arena);
    ptx_coverage(&page);
    for (size_t i = 0; i < ptx_form_count; i++) {
        struct text row;
        text_init(&row, &arena);
        ptx_form_syntax(&row, &ptx_forms[i]);
        text_add_char(&row, '\n');
        if (!strstr(page.data, row.data))
            fail_msg("not on the page: %s", row.data);
    }
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_is_current),
        cmocka_unit_test(every_form_is_in_a_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
