/* Products of small integers in groups of steps (dot_int8.c, dot_int16.c), and the routines that
 * bring operands into groups, compared with plain loops in every set. */
#include "cpu/routines/routines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GROUP_BYTES = 4, MOST_ROWS = 300, MOST_COLUMNS = 80, MOST_GROUPS = 40 };

/* Operands: a in rows, b in steps of k, each as bytes in memory and as values. */
struct operands {
    size_t m, n, k, group;
    bool a_signed, b_signed;
    unsigned char a[MOST_ROWS * MOST_GROUPS * GROUP_BYTES];
    unsigned char b[MOST_COLUMNS * MOST_GROUPS * GROUP_BYTES];
};

static void fill(unsigned char *to, size_t n)
{
    static uint32_t seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        to[i] = (unsigned char)(seed >> 29 == 0 ? 0x80 : seed >> 24);
    }
}

static int32_t value(const unsigned char *at, size_t i, size_t group, bool is_signed)
{
    int16_t wide;
    if (group == 4)
        return is_signed ? (int8_t)at[i] : at[i];
    memcpy(&wide, at + 2 * i, sizeof wide);
    return wide;
}

/* Returns row i of a times column j of b; sums wrap. */
static uint32_t plain_sum(const struct operands *o, size_t i, size_t j)
{
    uint32_t sum = 0;
    for (size_t p = 0; p < o->k; p++)
        sum += (uint32_t)value(o->a, i * o->k + p, o->group, o->a_signed) *
               (uint32_t)value(o->b, p * o->n + j, o->group, o->b_signed);
    return sum;
}

/* Brings b into panels of groups. */
static void pack(const struct routine_set *set, const struct operands *o, size_t width,
                 uint32_t flip, unsigned char *panels)
{
    const size_t size = GROUP_BYTES / o->group, all = (o->n + width - 1) / width * width;
    interleave_fn *interleave =
        o->group == 4 ? set->pack->interleave_fours : set->pack->interleave_pairs;
    for (size_t p = 0; p < o->k; p += o->group) {
        unsigned char rows[GROUP_BYTES * (MOST_COLUMNS + 32)] = {0};
        for (size_t r = 0; r < o->group; r++)
            memcpy(rows + r * all * size, o->b + (p + r) * o->n * size, o->n * size);
        interleave(panels + p * width * size, (ptrdiff_t)(o->k * width), rows, (ptrdiff_t)all, all,
                   width, flip);
    }
}

static void check(const struct routine_set *set, dot_fn *dot, const struct operands *o,
                  bool flipped, bool fresh, bool apart)
{
    static unsigned char panels[(MOST_COLUMNS + 32) * MOST_GROUPS * GROUP_BYTES];
    static uint32_t c[MOST_ROWS * MOST_COLUMNS], out[MOST_ROWS * (MOST_COLUMNS + 3)];
    const size_t width = set->dot->width[COMPUTE_F32], groups = o->k / o->group;
    const size_t step = apart ? o->n + 3 : o->n;
    const struct dot_strides strides = {.c = o->n,
                                        .a = groups,
                                        .b = width,
                                        .panel = groups * width,
                                        .fresh = fresh,
                                        .flipped = flipped,
                                        .out = apart ? out : NULL,
                                        .out_step = step};
    pack(set, o, width, flipped ? 0x80808080u : 0, panels);
    for (size_t i = 0; i < o->m * o->n; i++)
        c[i] = (uint32_t)i * 77777;
    memset(out, 0x55, sizeof out);
    dot(c, o->a, panels, o->m, o->n, groups, &strides);
    for (size_t i = 0; i < o->m; i++)
        for (size_t j = 0; j < step; j++) {
            uint32_t got = apart ? out[i * step + j] : c[i * step + j], want = 0x55555555;
            if (j < o->n)
                want = plain_sum(o, i, j) + (fresh ? 0 : (uint32_t)(i * o->n + j) * 77777);
            if (got != want)
                fail_msg("%s: %zu x %zu x %zu: [%zu][%zu] is %#x, not %#x", set->name, o->m, o->n,
                         o->k, i, j, got, want);
        }
}

static void products_are_exact(void **state)
{
    static const size_t sizes[][3] = {{1, 1, 1},   {3, 17, 5},  {14, 32, 16}, {13, 64, 17},
                                      {29, 80, 4}, {6, 16, 40}, {15, 33, 9},  {290, 40, 7}};
    static struct operands o;
    (void)state;
    for (int s = 0; routine_set_at(s); s++)
        for (size_t i = 0; i < 6 * sizeof sizes / sizeof *sizes; i++) {
            const struct routine_set *set = routine_set_at(s);
            const size_t *size = sizes[i / 6];
            const bool pairs = i % 6 > 3;
            o.a_signed = pairs || i & 1;
            o.b_signed = pairs || i >> 1 & 1;
            o.m = size[0];
            o.n = size[1];
            o.group = pairs ? 2 : 4;
            o.k = size[2] * o.group;
            fill(o.a, o.m * size[2] * GROUP_BYTES);
            fill(o.b, o.n * size[2] * GROUP_BYTES);
            bool one_type = o.a_signed == o.b_signed;
            dot_fn *dot = pairs ? set->dot_i16 : o.a_signed ? set->dot_i8 : set->dot_u8;
            dot_fn *alike = o.a_signed ? set->dot_i8_i8 : set->dot_u8_u8;
            bool flipped = !pairs && one_type != set->takes_one_sign;
            if (!pairs && one_type && alike) {
                dot = alike;
                flipped = false;
            }
            for (int way = 0; way < 4 && dot; way++)
                check(set, dot, &o, flipped, way & 1, way >> 1);
        }
}

static void groups_are_transposed(void **state)
{
    enum {
        LINES = 35,
        GROUPS = 37,
        LINE = 3 + GROUPS * GROUP_BYTES,
        ROW = 2 + LINES * GROUP_BYTES
    };
    static unsigned char from[LINES * LINE], to[GROUPS * ROW];
    (void)state;
    fill(from, sizeof from);
    for (int s = 0; routine_set_at(s); s++)
        for (size_t lines = 0; lines <= LINES; lines++)
            for (size_t groups = 1; groups <= GROUPS; groups += 3) {
                memset(to, 0x55, sizeof to);
                routine_set_at(s)->pack->transpose_groups(to, ROW, from, LINE, lines, groups,
                                                          0x80808080);
                for (size_t i = 0; i < sizeof to; i++) {
                    size_t g = i / ROW, l = i % ROW / GROUP_BYTES, b = i % ROW % GROUP_BYTES;
                    bool inside = g < groups && l < lines;
                    int want = inside ? from[l * LINE + g * GROUP_BYTES + b] ^ 0x80 : 0x55;
                    assert_int_equal(to[i], want);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_exact),
        cmocka_unit_test(groups_are_transposed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
