/* The table of names: all added names are found, however many. */
#include "base/name_table.h"

#include "arena_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static void names_are_found(void **state)
{
    (void)state;
    enum { NAMES = 3000 };
    struct name_table names;
    name_table_init(&names, &arena);
    assert_null(name_table_find(&names, "n0", 2));
    for (uint32_t i = 0; i < NAMES; i++) {
        const char *name = arena_printf(&arena, "n%u", i);
        assert_null(name_table_find(&names, name, strlen(name)));
        name_table_add(&names, name, strlen(name))->number = i;
    }
    assert_int_equal(names.count, NAMES);
    for (uint32_t i = 0; i < NAMES; i++) {
        const char *name = arena_printf(&arena, "n%u", i);
        assert_int_equal(name_table_find(&names, name, strlen(name))->number, i);
        assert_int_equal(name_table_entry(&names, name, strlen(name))->number, i);
    }
    assert_int_equal(names.count, NAMES);
    assert_null(name_table_find(&names, "n3000", 5));
    assert_null(name_table_find(&names, "n", 1));
}

static void a_name_is_any_bytes(void **state)
{
    (void)state;
    struct name_table names;
    name_table_init(&names, &arena);
    name_table_add(&names, "a\0b", 3)->number = 1;
    name_table_add(&names, "a\0c", 3)->number = 2;
    name_table_add(&names, "", 0)->number = 3;
    assert_int_equal(name_table_find(&names, "a\0b", 3)->number, 1);
    assert_int_equal(name_table_find(&names, "a\0c", 3)->number, 2);
    assert_int_equal(name_table_find(&names, "", 0)->number, 3);
    assert_null(name_table_find(&names, "a", 1));
}

static void room_is_made_once(void **state)
{
    (void)state;
    struct name_table names;
    name_table_init(&names, &arena);
    name_table_reserve(&names, 100);
    const struct name_entry *places = names.places;
    for (int i = 0; i < 100; i++) {
        const char *name = arena_printf(&arena, "n%d", i);
        name_table_entry(&names, name, strlen(name));
    }
    assert_ptr_equal(names.places, places);
    assert_int_equal(names.count, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_found, arena_set_up, arena_tear_down),
        cmocka_unit_test_setup_teardown(a_name_is_any_bytes, arena_set_up, arena_tear_down),
        cmocka_unit_test_setup_teardown(room_is_made_once, arena_set_up, arena_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
