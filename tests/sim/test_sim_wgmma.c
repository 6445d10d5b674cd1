/* wgmma of every type and swizzle, from shared memory and registers, transposed, negated, with
 * and without sums before: operands are placed by the formulae of the PTX ISA and the results are
 * compared with a plain product. Warps that do not agree are refused. */
#include "base/dtype.h"
#include "base/float_bits.h"
#include "sim_helper.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, MOST_N = 256, MOST_K = 32, K_BYTES = 32, B_AT = 32768, SHARED = 65536 };

struct type {
    const char *name, *sum;
    enum dtype dtype;
    const char *other; /* type of B; NULL: as A */
};
static const struct type types[] = {
    {"f16", "f32", DT_F16, NULL},     {"f16", "f16", DT_F16, NULL},
    {"bf16", "f32", DT_BF16, NULL},   {"tf32", "f32", DT_TF32, NULL},
    {"e4m3", "f32", DT_E4M3, "e5m2"}, {"e5m2", "f16", DT_E5M2, "e4m3"},
    {"s8", "s32", DT_I8, NULL},       {"u8", "s32", DT_U8, NULL},
    {"s8", "s32", DT_I8, "u8"},
};
enum { TYPES = sizeof types / sizeof *types };

static enum dtype type_of_b(const struct type *t)
{
    return t->other ? dtype_by_name(strcmp(t->other, "u8") ? t->other : "u8", strlen(t->other))
                    : t->dtype;
}

/* --- operands --- */

struct operand {
    double value[MOST_N][MOST_K]; /* by row of A, column of B */
    int rows, mode;               /* mode: 0 to 3, as in the descriptor */
    bool turned;
    enum dtype type;
    uint32_t at;
    uint64_t descriptor;
};

static void put(uint8_t *memory, const struct operand *o, uint32_t at, double v)
{
    static const unsigned bits[] = {0, 7, 3, 1};
    at ^= (at >> 7 & bits[o->mode]) << 4;
    if (dtype_is_float(o->type))
        dtype_store_f64(o->type, memory + at, v);
    else
        memory[at] = (uint8_t)(int)v;
}

/* Places the operand from o->at on, and makes its descriptor. */
static void place(uint8_t *memory, struct operand *o)
{
    static const uint32_t widths[] = {16, 128, 64, 32};
    uint32_t width = widths[o->mode], size = (uint32_t)dtype_size(o->type), lead = 0, stride;
    uint32_t k = K_BYTES / size;
    if (!o->turned) {
        stride = o->mode ? 8 * width : 256;
        lead = 128;
        for (uint32_t r = 0; r < (uint32_t)o->rows; r++)
            for (uint32_t s = 0; s < k; s++) {
                uint32_t b = s * size;
                uint32_t at = o->mode ? r / 8 * stride + r % 8 * width + b
                                      : r / 8 * stride + b / 16 * lead + r % 8 * 16 + b % 16;
                put(memory, o, o->at + at, o->value[r][s]);
            }
    } else {
        stride = o->mode ? 8 * width : 256;
        lead = o->mode ? 16 * width : 128;
        for (uint32_t r = 0; r < (uint32_t)o->rows; r++)
            for (uint32_t s = 0; s < k; s++) {
                uint32_t b = r * size;
                uint32_t at = o->mode
                                  ? b / width * lead + s / 8 * stride + s % 8 * width + b % width
                                  : b / 16 * stride + s / 8 * lead + s % 8 * 16 + b % 16;
                put(memory, o, o->at + at, o->value[r][s]);
            }
    }
    o->descriptor = o->at >> 4 | (uint64_t)(lead >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
                    (uint64_t)o->mode << 62;
}

/* Makes small integers and halves: their products and sums are exact in every type. */
static void fill(struct operand *o)
{
    for (int r = 0; r < o->rows; r++)
        for (int s = 0; s < MOST_K; s++) {
            int v = rand() % 9 - 4;
            o->value[r][s] = o->type == DT_U8 ? v + 4 : dtype_is_float(o->type) ? v / 2.0 : v;
        }
}

/* --- the program --- */

struct form {
    const struct type *type;
    int n;
    bool registers, adds, minus_a, minus_b;
    bool zero_a, zero_b; /* all elements are */
    struct operand a, b;
};

static void add_registers(char *text, size_t size, const char *name, int count)
{
    for (int i = 0; i < count; i++) {
        size_t length = strlen(text);
        snprintf(text + length, size - length, "%s%%%s%d", i ? ", " : "{", name, i);
    }
    strcat(text, "}");
}

static int sums_of(const struct form *f)
{
    return f->n / (strcmp(f->type->sum, "f16") ? 2 : 4);
}

/* Parameters: the bytes of shared memory, the registers of A, the sums before and after. */
static const char *text_of(const struct form *f)
{
    static char text[1 << 16], sums[4096], a[64];
    int k = K_BYTES / (int)dtype_size(f->a.type), count = sums_of(f), length;
    bool floats = f->type->sum[0] == 'f', halves = dtype_size(f->a.type) == 2;
    sums[0] = a[0] = '\0';
    add_registers(sums, sizeof sums, "d", count);
    if (f->registers)
        add_registers(a, sizeof a, "a", 4);
    length = snprintf(
        text, sizeof text,
        ".version 8.4\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 m[];\n"
        ".visible .entry k(.param .u64 in, .param .u64 as, .param .u64 ds, .param .u64 da, "
        ".param .u64 db)\n{\n.reg .b32 %%r<8>, %%a<4>; .reg .%s %%d<%d>; .reg .b64 %%rd<8>;\n"
        ".reg .pred %%p<2>; mov.u32 %%r0, %%tid.x; mov.u32 %%r2, m;\n"
        "ld.param.u64 %%rd0, [in]; ld.param.u64 %%rd1, [as]; ld.param.u64 %%rd2, [ds];\n"
        "ld.param.u64 %%rd3, [da]; ld.param.u64 %%rd4, [db]; shl.b32 %%r1, %%r0, 2;\n"
        "FILL: cvt.u64.u32 %%rd5, %%r1; add.u64 %%rd5, %%rd5, %%rd0; ld.global.u32 %%r3, [%%rd5];\n"
        "add.u32 %%r4, %%r2, %%r1; st.shared.u32 [%%r4], %%r3; add.u32 %%r1, %%r1, 512;\n"
        "setp.lt.u32 %%p0, %%r1, %d; @%%p0 bra FILL;\nfence.proxy.async; bar.sync 0;\n"
        "mul.wide.u32 %%rd5, %%r0, 4; add.u64 %%rd1, %%rd1, %%rd5; add.u64 %%rd2, %%rd2, %%rd5;\n",
        strcmp(f->type->sum, "f32") ? "b32" : "f32", count, SHARED);
    for (int i = 0; i < 4; i++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "ld.global.u32 %%a%d, [%%rd1+%d];\n", i, 512 * i);
    for (int i = 0; i < count; i++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "ld.global.b32 %%d%d, [%%rd2+%d];\n", i, 512 * i);
    length += snprintf(
        text + length, sizeof text - (size_t)length,
        "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s %s, %s, %%rd4, "
        "%d%s%s%s%s%s;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
        f->n, k, f->type->sum, f->type->name, f->type->other ? f->type->other : f->type->name, sums,
        f->registers ? a : "%rd3", f->adds,
        !floats      ? ""
        : f->minus_a ? ", -1"
                     : ", 1",
        !floats      ? ""
        : f->minus_b ? ", -1"
                     : ", 1",
        !floats || !halves || f->registers ? ""
        : f->a.turned                      ? ", 1"
                                           : ", 0",
        !floats || !halves ? ""
        : f->b.turned      ? ", 1"
                           : ", 0",
        "");
    for (int i = 0; i < count; i++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "st.global.b32 [%%rd2+%d], %%d%d;\n", 512 * i, i);
    snprintf(text + length, sizeof text - (size_t)length, "ret;\n}\n");
    return text;
}

/* --- registers --- */

/* Puts A into registers: word [r][thread]. */
static void put_registers(const struct operand *a, uint32_t words[4][128])
{
    int size = (int)dtype_size(a->type), per = 4 / size;
    for (int r = 0; r < 4; r++)
        for (int t = 0; t < 128; t++)
            for (int e = 0; e < per; e++) {
                int row = t / 32 * 16 + t % 32 / 4 + 8 * (r & 1);
                int s = (t % 4 + 4 * (r >> 1)) * per + e;
                uint8_t *at = (uint8_t *)&words[r][t] + e * size;
                if (dtype_is_float(a->type))
                    dtype_store_f64(a->type, at, a->value[row][s]);
                else
                    *at = (uint8_t)(int)a->value[row][s];
            }
}

/* Gives the row and column of sum e of register r in a thread. */
static void sum_place(bool halves, int r, int t, int e, int *row, int *column)
{
    int pair = halves ? r : r / 2;
    *row = t / 32 * 16 + t % 32 / 4 + 8 * (pair & 1);
    *column = pair / 2 * 8 + t % 4 * 2 + (halves ? e : r & 1);
}

static double sum_value(const struct type *t, uint32_t word, int e)
{
    if (!strcmp(t->sum, "f16"))
        return (double)f16_to_f32((uint16_t)(word >> 16 * e));
    return strcmp(t->sum, "f32") ? (double)(int32_t)word : (double)f32_from_bits(word);
}

static uint32_t sum_word(const struct type *t, const double v[2])
{
    if (!strcmp(t->sum, "f16"))
        return f32_to_f16((float)v[0]) | (uint32_t)f32_to_f16((float)v[1]) << 16;
    return strcmp(t->sum, "f32") ? (uint32_t)(int32_t)v[0] : f32_bits((float)v[0]);
}

static void check(const struct form *f, const uint32_t *before, const uint32_t *after)
{
    bool halves = !strcmp(f->type->sum, "f16");
    int k = K_BYTES / (int)dtype_size(f->a.type);
    double sign = f->minus_a != f->minus_b ? -1 : 1;
    for (int r = 0; r < sums_of(f); r++)
        for (int t = 0; t < 128; t++)
            for (int e = 0; e < (halves ? 2 : 1); e++) {
                int row, column;
                sum_place(halves, r, t, e, &row, &column);
                double sum = f->adds ? sum_value(f->type, before[128 * r + t], e) : 0;
                for (int s = 0; s < k; s++)
                    sum += sign * f->a.value[row][s] * f->b.value[column][s];
                double got = sum_value(f->type, after[128 * r + t], e);
                bool signs = f->type->sum[0] == 's' || !signbit(got) == !signbit(sum);
                if (got != sum || !signs)
                    fail_msg("%s n %d modes %d %d turned %d %d: [%d][%d] is %g, not %g",
                             f->type->name, f->n, f->a.mode, f->b.mode, f->a.turned, f->b.turned,
                             row, column, got, sum);
            }
}

/* Returns a number that every type of sums has; -0 is one of them. */
static double some_sum(void)
{
    int v = rand() % 33 - 16;
    return v == 0 && rand() % 2 ? -0.0 : v;
}

static void run_form(struct form *f, bool late)
{
    static uint8_t memory[SHARED];
    static uint32_t registers[4][128], before[128 * 128], after[128 * 128];
    struct sim_case c;
    f->a.rows = ROWS;
    f->b.rows = f->n;
    f->a.at = 0;
    f->b.at = B_AT;
    if (!f->zero_a)
        fill(&f->a);
    if (!f->zero_b)
        fill(&f->b);
    memset(memory, 0, sizeof memory);
    place(memory, &f->a);
    place(memory, &f->b);
    put_registers(&f->a, registers);
    for (int i = 0; i < 128 * sums_of(f); i++)
        before[i] = sum_word(f->type, (double[2]){some_sum(), some_sum()});
    memcpy(after, before, sizeof after);
    sim_case_open(&c, text_of(f));
    uint64_t values[5] = {sim_attach(c.sim, memory, sizeof memory, "memory"),
                          sim_attach(c.sim, registers, sizeof registers, "a"),
                          sim_attach(c.sim, after, sizeof after, "d"), f->a.descriptor,
                          f->b.descriptor};
    c.launch.block[0] = 128;
    c.launch.dynamic_shared = SHARED;
    c.launch.options.async_late = late;
    sim_case_done(&c, "k", 5, values);
    check(f, before, after);
    sim_case_close(&c);
}

static const int widths[] = {8, 32, 96, 256};

static void every_type(void **state)
{
    (void)state;
    static struct form f;
    for (int i = 0; i < TYPES; i++)
        for (int w = 0; w < 4; w++)
            for (int mode = 0; mode < 4; mode++)
                for (int registers = 0; registers < 2; registers++) {
                    bool floats = types[i].sum[0] == 'f';
                    f = (struct form){.type = &types[i], .n = widths[w], .registers = registers};
                    f.adds = (w + mode) % 2;
                    f.minus_a = floats && mode % 2;
                    f.minus_b = floats && w % 2;
                    f.a.type = types[i].dtype;
                    f.b.type = type_of_b(&types[i]);
                    f.a.mode = mode;
                    f.b.mode = (mode + w) % 4;
                    run_form(&f, registers);
                }
}

/* Products of zeros alone take a short cut, which gives the same sums. */
static void zeros(void **state)
{
    (void)state;
    static struct form f;
    for (int i = 0; i < TYPES; i++)
        for (int zero = 1; zero < 4; zero++)
            for (int kind = 0; kind < 16; kind++) {
                bool floats = types[i].sum[0] == 'f';
                f = (struct form){.type = &types[i], .n = 32, .registers = kind & 1};
                f.adds = kind & 2;
                f.minus_a = floats && kind & 4;
                f.minus_b = floats && kind & 8;
                f.zero_a = zero & 1;
                f.zero_b = zero & 2;
                f.a.type = types[i].dtype;
                f.b.type = type_of_b(&types[i]);
                run_form(&f, kind & 1);
            }
}

static void transposed(void **state)
{
    (void)state;
    static struct form f;
    for (int i = 0; i < 3; i++) /* the types of 16 bits */
        for (int w = 0; w < 4; w++)
            for (int mode = 0; mode < 16; mode++)
                for (int turned = 1; turned < 4; turned++) {
                    int n = w ? 64 * w : 128;
                    f = (struct form){.type = &types[i], .n = n, .adds = true};
                    f.a.type = f.b.type = types[i].dtype;
                    f.a.mode = mode % 4;
                    f.b.mode = mode / 4;
                    f.a.turned = turned & 1;
                    f.b.turned = turned >> 1;
                    run_form(&f, mode % 2);
                }
}

/* Runs a program of 128 or fewer threads; it must stop for this reason. */
static void stops(const char *body, unsigned threads, const char *why)
{
    static char text[4096];
    struct sim_case c;
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90a\n.address_size 64\n"
             ".visible .entry k()\n{\n.reg .f32 %%d<4>; .reg .b64 %%rd<4>; .reg .b32 %%r<4>;\n"
             ".reg .pred %%p<4>; mov.u32 %%r0, %%tid.x; mov.u64 %%rd0, 0; setp.gt.u32 %%p0, %%r0, "
             "31;\nwgmma.fence.sync.aligned;\n%s\nwgmma.commit_group.sync.aligned;\n"
             "wgmma.wait_group.sync.aligned 0;\nret;\n}\n",
             body);
    sim_case_open(&c, text);
    c.launch.block[0] = threads;
    c.launch.dynamic_shared = 4096;
    enum sim_end end = sim_case_run(&c, "k", 0, NULL);
    assert_int_not_equal(end, SIM_DONE);
    if (!strstr(sim_why(c.sim), why))
        fail_msg("%s", sim_why(c.sim));
    sim_case_close(&c);
}

#define PRODUCT                                                                                    \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %rd0, %rd0, 0, 1, "   \
    "1, 0, 0;"

static void refuses(void **state)
{
    (void)state;
    stops(PRODUCT, 96, "warp 0 is in no whole warpgroup: the block has 96 threads");
    stops("@%p0 mov.u64 %rd0, 16;\n" PRODUCT, 128, "different descriptors or scale-d");
    stops("cvt.u64.u32 %rd0, %r0;\n" PRODUCT, 128, "different matrix descriptors");
    stops("mov.u64 %rd0, 0x3fff;\n" PRODUCT, 128, "shared memory");
    stops("@%p0 bra LEFT;\n" PRODUCT "\nLEFT:", 128,
          "waits for the other warps of its warpgroup to reach a product");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type),
        cmocka_unit_test(zeros),
        cmocka_unit_test(transposed),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
