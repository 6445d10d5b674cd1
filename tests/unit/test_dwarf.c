/* The lines of this program, by its own debug information. */
#if defined(__linux__)
#include "driver/program_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

extern const char __executable_start; /* by the linker */

/* Returns an address inside of the call. */
__attribute__((noinline)) static uintptr_t here(void)
{
    return (uintptr_t)__builtin_return_address(0) - 1;
}

static int inner_line, outer_line;

__attribute__((always_inline)) static inline uintptr_t inner(void)
{
    inner_line = __LINE__ + 1;
    return here();
}

__attribute__((always_inline)) static inline uintptr_t outer(void)
{
    outer_line = __LINE__ + 1;
    return inner();
}

struct opened {
    struct arena arena;
    jmp_buf out_of_memory;
    struct elf_file file;
    struct dwarf_sections sections;
};

/* Opens this program; skips the test if it was built without -g. */
static int open_own(void **state)
{
    static struct opened o;
    arena_init(&o.arena, &allocator_libc, &o.out_of_memory);
    if (!elf_open(&o.file, "/proc/self/exe"))
        return 1;
    program_debug_sections(&o.arena, &o.file, &o.sections);
    *state = &o;
    return 0;
}

static int close_own(void **state)
{
    struct opened *o = *state;
    elf_close(&o->file);
    arena_free(&o->arena);
    return 0;
}

static int look_up(struct opened *o, uintptr_t address, struct dwarf_place list[DWARF_PLACES])
{
    if (!o->sections.line.length)
        skip();
    uintptr_t base = (uintptr_t)&__executable_start;
    return dwarf_places(&o->arena, &o->sections, address - (o->file.fixed ? 0 : base), list);
}

static void expect_place(const struct dwarf_place *p, const char *function, int line)
{
    const char *name = strrchr(p->file, '/');
    assert_non_null(name);
    assert_string_equal(name, "/test_dwarf.c");
    assert_int_equal(p->line, line);
    if (function)
        assert_string_equal(p->function, function);
    else
        assert_null(p->function);
}

static void test_call(void **state)
{
    struct dwarf_place list[DWARF_PLACES];
    uintptr_t address = here();
    int line = __LINE__ - 1;
    assert_int_equal(look_up(*state, address, list), 1);
    expect_place(&list[0], NULL, line);
}

/* The place of each inlined call is that of the function around it. */
static void test_inlined(void **state)
{
    struct dwarf_place list[DWARF_PLACES];
    uintptr_t address = outer();
    int line = __LINE__ - 1;
    assert_int_equal(look_up(*state, address, list), 3);
    expect_place(&list[0], "inner", inner_line);
    expect_place(&list[1], "outer", outer_line);
    expect_place(&list[2], NULL, line);
}

static void test_unknown(void **state)
{
    struct dwarf_place list[DWARF_PLACES];
    assert_int_equal(look_up(*state, (uintptr_t)&inner_line, list), 0);
    assert_int_equal(look_up(*state, 0, list), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_call), cmocka_unit_test(test_inlined),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, open_own, close_own);
}

#else
int main(void)
{
    return 0; /* the libraries that use it are for Linux alone */
}
#endif
