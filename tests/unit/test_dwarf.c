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
    driver_program_debug_sections(&o.arena, &o.file, &o.sections);
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
    for (int again = 0; again < 2; again++) { /* the second search has the list of the first */
        assert_int_equal(look_up(*state, address, list), 3);
        expect_place(&list[0], "inner", inner_line);
        expect_place(&list[1], "outer", outer_line);
        expect_place(&list[2], NULL, line);
    }
}

static void test_unknown(void **state)
{
    struct dwarf_place list[DWARF_PLACES];
    assert_int_equal(look_up(*state, (uintptr_t)&inner_line, list), 0);
    assert_int_equal(look_up(*state, 0, list), 0);
}

/* --- information by hand: one unit, at 0x1000 to 0x1010, whose file list is damaged or not --- */

#define NUMBER_8(low, high) low, high, 0, 0, 0, 0, 0, 0
static const unsigned char abbreviations[] = {
    1,    0x11, 0,    /* DW_TAG_compile_unit, without children */
    0x11, 0x01,       /* DW_AT_low_pc, DW_FORM_addr */
    0x12, 0x06,       /* DW_AT_high_pc, DW_FORM_data4 */
    0x10, 0x17, 0, 0, /* DW_AT_stmt_list, DW_FORM_sec_offset */
    0};
static const unsigned char unit[] = {24, 0,
                                     0,  0,
                                     4,  0,
                                     0,  0,
                                     0,  0,
                                     8, /* its header */
                                     1,  NUMBER_8(0, 0x10),
                                     16, 0,
                                     0,  0,
                                     0,  0,
                                     0,  0};
enum { LISTS = 30, HEADER_BYTES = 12 }; /* where the lists of folders and files begin */
static const unsigned char table_begin[LISTS] = {0,   0,  0,  0, 5, 0, 8, 0, 0, 0, 0, 0, 1, 1, 1,
                                                 251, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
static const unsigned char rows[] = {0, 9,  2, NUMBER_8(0, 0x10),
                                     1, /* at 0x1000, a row */
                                     2, 16, 0, 1,
                                     1}; /* 16 bytes on, the end */

/* Looks up the unit's first address, with these lists of folders and files. */
static int look_up_with(struct opened *o, const unsigned char *lists, size_t bytes)
{
    unsigned char table[128];
    struct dwarf_place list[DWARF_PLACES];
    memcpy(table, table_begin, LISTS);
    memcpy(table + LISTS, lists, bytes);
    memcpy(table + LISTS + bytes, rows, sizeof rows);
    table[0] = (unsigned char)(LISTS + bytes + sizeof rows - 4);
    table[8] = (unsigned char)(LISTS + bytes - HEADER_BYTES);
    struct dwarf_sections s = {.info = {unit, sizeof unit},
                               .abbrev = {abbreviations, sizeof abbreviations},
                               .line = {table, LISTS + bytes + sizeof rows}};
    int count = dwarf_places(&o->arena, &s, 0x1000, list);
    if (count)
        assert_string_equal(list[0].file, "/a/b.c");
    return count;
}

/* A list whose entries have no bytes may have 2^63 of them. */
static void test_entries_without_bytes(void **state)
{
    enum { PATH = 1, STRING = 0x08, FLAG_PRESENT = 0x19 };
    static const unsigned char good[] = {1,      PATH, STRING, 1, '/', 'a', 0,   1, PATH,
                                         STRING, 2,    'x',    0, 'b', '.', 'c', 0};
    static const unsigned char bad[] = {1,   PATH, FLAG_PRESENT, 255, 255, 255,  255,    255,
                                        255, 255,  255,          127, 1,   PATH, STRING, 2,
                                        'x', 0,    'b',          '.', 'c', 0};
    assert_int_equal(look_up_with(*state, good, sizeof good), 1);
    assert_int_equal(look_up_with(*state, bad, sizeof bad), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_call), cmocka_unit_test(test_inlined),
                                       cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_entries_without_bytes)};
    return cmocka_run_group_tests(tests, open_own, close_own);
}

#else
int main(void)
{
    return 0; /* the libraries that use it are for Linux alone */
}
#endif
