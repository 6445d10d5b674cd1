#include "random_products.h"

#include "test_layout_random.h"

#include <stdio.h>

const struct factors product_singles[PRODUCT_SINGLES] = {
    {"f32", "f32", "(tf32)", "(tf32)"},
    {"tf32", "tf32", "", ""},
    {"f16", "f32", "(tf32)", "(tf32)"},
    {"tf32", "f16", "", ""},
    {"u8", "f32", "(tf32)", "(tf32)"},
    {"bf16", "tf32", "", ""},
    {"tf32", "f32", "", ""},
    {"f32", "f32", "(tf32)", "(f16)"},
};
const struct factors product_bytes[PRODUCT_BYTES] = {
    {"e4m3", "e4m3", "", ""},
    {"e5m2", "e5m2", "", ""},
    {"e4m3", "e5m2", "", ""},
    {"e5m2", "e4m3", "", ""},
    {"f32", "f32", "(e4m3)", "(e5m2)"},
    {"f16", "e4m3", "(e4m3)", ""},
    {"f32", "e5m2", "(e5m2)", ""},
    {"e4m3", "f16", "", ""},
    {"e4m3", "e5m2", "(f16)", "(f16)"},
    {"e4m3", "e4m3", "(f16)", "(f16)"},
    {"e4m3", "f32", "", ""},
    {"e5m2", "tf32", "", ""},
    {"e5m2", "bf16", "", ""},
    {"i8", "e4m3", "(e4m3)", ""},
};

static const char *write_factor(char *to, size_t size, enum place place, const char *cast,
                                const char *shared, const char *view)
{
    if (place == IN_SHARED)
        snprintf(to, size, "%s %s", cast, shared);
    else if (place == IN_SHARED_TRANSPOSED)
        snprintf(to, size, "%s trans(%s)", cast, shared);
    else
        snprintf(to, size, "%s %s", cast, view);
    return to;
}

const char *product_write(char *text, size_t size, const struct product *p)
{
    bool ta = p->a == IN_SHARED_TRANSPOSED, tb = p->b == IN_SHARED_TRANSPOSED;
    char a[64], b[64];
    write_factor(a, sizeof a, p->a, p->f->as_a, "sa", "A");
    write_factor(b, sizeof b, p->b, p->f->as_b, "sb", "B");
    snprintf(text, size,
             "kernel t(const %s *a, const %s *b, f32 *c) grid(1) warps(%d)\n"
             "{\n"
             "    global %s A[%d][%d] = a;\n"
             "    global %s B[%d][%d] = b;\n"
             "    global f32 C[%d][%d] = c;\n"
             "    shared %s sa[%d][%d];\n"
             "    shared %s sb[%d][%d];\n"
             "    sa = A;\n"
             "    sb = B;\n"
             "    sync();\n"
             "    reg f32 acc[%d][%d] = 1;\n"
             "    for (i32 i = 0; i < %d; i++)\n"
             "        acc = dot(%s, %s, acc)%s;\n"
             "    C = acc;\n"
             "}\n",
             p->f->a, p->f->b, p->warps, p->f->a, ta ? p->k : p->m, ta ? p->m : p->k, p->f->b,
             tb ? p->n : p->k, tb ? p->k : p->n, p->m, p->n, p->f->a, ta ? p->k : p->m,
             ta ? p->m : p->k, p->f->b, tb ? p->n : p->k, tb ? p->k : p->n, p->m, p->n,
             p->loop ? 2 : 1, a, b, p->fma ? " by(fma)" : "");
    return text;
}

double product_number(enum dtype t, int param, uint64_t *seed)
{
    double small = random_below(seed, 4);
    if (t != DT_F32)
        return small;
    if (param == 0)
        return random_below(seed, 32) * 0.25 + random_below(seed, 16) * 0x1p-12;
    return 1 + random_below(seed, 3) + random_below(seed, 4) * 0x1p-13;
}

struct product product_random(uint64_t *seed, const struct factors *f)
{
    static const int extents[] = {8, 16, 17, 24, 32, 48, 64, 64};
    static const int depths[] = {4, 6, 8, 12, 16, 16, 24, 32, 32, 48, 64, 96};
    static const int warps[] = {1, 2, 3, 4};
    return (struct product){.m = extents[random_below(seed, 8)],
                            .n = extents[random_below(seed, 8)],
                            .k = depths[random_below(seed, 12)],
                            .warps = warps[random_below(seed, 4)],
                            .f = f,
                            .a = (enum place)random_below(seed, PLACES),
                            .b = (enum place)random_below(seed, PLACES),
                            .loop = random_below(seed, 2),
                            .fma = random_below(seed, 12) == 0};
}
