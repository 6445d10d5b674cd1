/* mma.sync of every shape and type, computed in every way (sim_mma.h), ldmatrix, stmatrix,
 * movmatrix and wmma, with fragments placed by the formulae of the PTX ISA, compared with a
 * plain product of matrices. */
#include "base/dtype.h"
#include "base/float_bits.h"
#include "sim/sim_machine.h"
#include "sim/sim_mma.h"
#include "warp_program.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = SIM_LANES, MOST_M = 32, MOST_N = 32, MOST_K = 256, MOST_WORDS = 16 };

/* --- elements --- */

struct type {
    const char *name;
    int bits;
    /* of random elements: a product and a sum of them are exact in double */
    double largest, smallest;
};
static const struct type f16 = {"f16", 16, 64, 0x1p-6}, bf16 = {"bf16", 16, 64, 0x1p-6},
                         tf32 = {"tf32", 32, 64, 0x1p-6}, f64 = {"f64", 64, 0, 0},
                         e4m3 = {"e4m3", 8, 448, 0}, e5m2 = {"e5m2", 8, 64, 0x1p-6},
                         s8 = {"s8", 8, 0, 0}, u8 = {"u8", 8, 0, 0}, s4 = {"s4", 4, 0, 0},
                         u4 = {"u4", 4, 0, 0}, b1 = {"b1", 1, 0, 0},
                         f32 = {"f32", 32, 1024, 0x1p-12}, s32 = {"s32", 32, 0, 0};

static double value_of(const struct type *t, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    if (t == &f16)
        return (double)f16_to_f32((uint16_t)bits);
    if (t == &bf16)
        return (double)bf16_to_f32((uint16_t)bits);
    if (t == &e4m3)
        return (double)e4m3_to_f32((uint8_t)bits);
    if (t == &e5m2)
        return (double)e5m2_to_f32((uint8_t)bits);
    if (t == &s8)
        return (double)(int8_t)bits;
    if (t == &s4)
        return bits & 8 ? (double)bits - 16 : (double)bits;
    if (t == &s32)
        return (double)(int32_t)low;
    if (t == &f64)
        return f64_from_bits(bits);
    if (t != &tf32 && t != &f32)
        return (double)bits; /* u8, u4, b1 */
    if (t == &tf32)
        low &= 0xffffe000;
    return (double)f32_from_bits(low);
}

static uint64_t random_bits(const struct type *t)
{
    for (;;) {
        uint64_t bits = warp_bits();
        if (t == &f64)
            return f64_bits((double)(int32_t)warp_bits() * 0x1p-20);
        if (t->bits < 32)
            bits &= (1ull << t->bits) - 1;
        double size = fabs(value_of(t, bits));
        if (t->largest == 0 || (size <= t->largest && (size >= t->smallest || size == 0)))
            return bits;
    }
}

/* Returns random bits: NaN, infinities, subnormals; wider floats mostly have exponents whose
 * sums lose digits. */
static uint64_t wild_bits(const struct type *t)
{
    uint64_t bits = (uint64_t)warp_bits() << 32 | warp_bits();
    if (t == &f64)
        return (bits & 0x800fffffffffffff) | (uint64_t)(980 + warp_draw(80)) << 52;
    if (t->bits == 32 && t != &s32 && warp_draw(8))
        return (bits & 0x807fffff) | (90 + warp_draw(80)) << 23;
    return bits & ((1ull << t->bits) - 1);
}

/* --- a multiplication: matrices, their fragments, the kernel --- */

/* D's registers: others than C's, the same, the same in reverse order. */
enum where { APART, IN_PLACE, CROSSED };

struct product {
    int m, n, k;
    const struct type *a_type, *b_type, *c_type, *d_type;
    const char *more;     /* modifiers at the end */
    const char *modifier; /* .satfinite, .kind::… */
    uint64_t a[MOST_M][MOST_K], b[MOST_K][MOST_N], c[MOST_M][MOST_N];
    double d[MOST_M][MOST_N];
    /* registers: [register][lane], of 4 or 8 bytes */
    uint64_t in[3][MOST_WORDS][LANES], out[MOST_WORDS][LANES];
    int count[4]; /* registers of a, b, c, d */
};

/* Gives the row and column of element i of a lane's fragment. "Matrix Fragments for mma.m…":
 * groupID = lane / 4, threadID_in_group = lane % 4. These formulae hold for all shapes, if e is
 * the number of elements in a 32-bit register (1 for .f64). */
static void place_a(const struct product *p, int lane, int i, int *row, int *col)
{
    int e = p->a_type->bits < 32 ? 32 / p->a_type->bits : 1, word = i / e;
    *row = lane / 4 + (p->m == 16 && word % 2 ? 8 : 0);
    *col = lane % 4 * e + i % e + 4 * e * (p->m == 16 ? word / 2 : word);
}
static void place_b(const struct product *p, int lane, int i, int *row, int *col)
{
    int e = p->b_type->bits < 32 ? 32 / p->b_type->bits : 1;
    *row = lane % 4 * e + i % e + 4 * e * (i / e);
    *col = lane / 4;
}
static void place_c(int lane, int i, int *row, int *col)
{
    *row = lane / 4 + (i < 2 ? 0 : 8);
    *col = lane % 4 * 2 + i % 2;
}

static void put_element(uint64_t regs[][LANES], const struct type *t, int lane, int i,
                        uint64_t bits)
{
    int e = t->bits < 32 ? 32 / t->bits : 1;
    regs[i / e][lane] |= bits << i % e * t->bits;
}
static uint64_t get_element(uint64_t regs[][LANES], const struct type *t, int lane, int i)
{
    int e = t->bits < 32 ? 32 / t->bits : 1;
    uint64_t bits = regs[i / e][lane] >> i % e * t->bits;
    return t->bits == 64 ? bits : bits & ((1ull << t->bits) - 1);
}

static int registers_of(const struct type *t, int elements)
{
    return elements * (t->bits < 32 ? t->bits : 32) / 32;
}

static void make_fragments(struct product *p)
{
    int a_elements = p->m * p->k / LANES, b_elements = p->k * p->n / LANES,
        c_elements = p->m * p->n / LANES, row, col;
    memset(p->in, 0, sizeof p->in);
    for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < a_elements; i++) {
            place_a(p, lane, i, &row, &col);
            put_element(p->in[0], p->a_type, lane, i, p->a[row][col]);
        }
        for (int i = 0; i < b_elements; i++) {
            place_b(p, lane, i, &row, &col);
            put_element(p->in[1], p->b_type, lane, i, p->b[row][col]);
        }
        for (int i = 0; i < c_elements; i++) {
            place_c(lane, i, &row, &col);
            put_element(p->in[2], p->c_type, lane, i, p->c[row][col]);
        }
    }
    p->count[0] = registers_of(p->a_type, a_elements);
    p->count[1] = registers_of(p->b_type, b_elements);
    p->count[2] = registers_of(p->c_type, c_elements);
    p->count[3] = registers_of(p->d_type, c_elements);
}

static void fill_matrices(struct product *p, uint64_t (*bits_of)(const struct type *))
{
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->k; j++)
            p->a[i][j] = bits_of(p->a_type);
    for (int i = 0; i < p->k; i++)
        for (int j = 0; j < p->n; j++)
            p->b[i][j] = bits_of(p->b_type);
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++)
            p->c[i][j] = bits_of(p->c_type);
}

static void multiply(struct product *p)
{
    bool ands = strcmp(p->more, ".and.popc") == 0, xors = strcmp(p->more, ".xor.popc") == 0;
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            double sum = value_of(p->c_type, p->c[i][j]);
            for (int q = 0; q < p->k; q++) {
                double x = value_of(p->a_type, p->a[i][q]), y = value_of(p->b_type, p->b[q][j]);
                sum = ands ? sum + (x * y) : xors ? sum + (x != y) : fma(x, y, sum);
            }
            p->d[i][j] = sum;
        }
}

static void register_list(struct text *out, char name, int count)
{
    text_add(out, "{");
    for (int i = 0; i < count; i++)
        text_printf(out, "%s%%%c%d", i ? ", " : "", name, i);
    text_add(out, "}");
}

static const char *register_type(const struct type *t, bool sum)
{
    if (t == &f64)
        return "f64";
    return sum && (t == &f32 || t == &s32) ? t->name : "b32";
}

static void move_registers(struct text *out, char name, const struct type *t, bool sum, int count,
                           bool store)
{
    const char *type = register_type(t, sum);
    for (int i = 0; i < count; i++) {
        if (store)
            text_printf(out, "    st.global.%s [%%p%c+%d], %%%c%d;\n", type, name, 256 * i, name,
                        i);
        else
            text_printf(out, "    ld.global.%s %%%c%d, [%%p%c+%d];\n", type, name, i, name,
                        256 * i);
    }
}

/* Lists D's registers: %d… or, if they are C's, %c…. */
static void sum_list(struct text *out, int count, enum where where)
{
    text_add(out, "{");
    for (int i = 0; i < count; i++)
        text_printf(out, "%s%%%c%d", i ? ", " : "", where == APART ? 'd' : 'c',
                    where == CROSSED ? count - 1 - i : i);
    text_add(out, "}");
}

static void write_program(struct text *out, const struct product *p, enum where where)
{
    const struct type *const types[] = {p->a_type, p->b_type, p->c_type, p->d_type};
    text_add(out,
             ".version 8.7\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 a, "
             ".param .u64 b, .param .u64 c, .param .u64 d)\n{\n    .reg .b32 %t;\n");
    text_add(out, "    .reg .b64 %u, %pa, %pb, %pc, %pd;\n");
    for (int i = 0; i < 4; i++)
        text_printf(out, "    .reg .%s %%%c<%d>;\n", register_type(types[i], i > 1), 'a' + i,
                    p->count[i]);
    text_add(out, "    mov.u32 %t, %tid.x;\n    mul.wide.u32 %u, %t, 8;\n");
    for (int i = 0; i < 4; i++)
        text_printf(out, "    ld.param.u64 %%p%c, [%c];\n    add.s64 %%p%c, %%p%c, %%u;\n", 'a' + i,
                    'a' + i, 'a' + i, 'a' + i);
    for (int i = 0; i < 3; i++)
        move_registers(out, (char)('a' + i), types[i], i > 1, p->count[i], false);
    text_printf(out, "    mma.sync.aligned.m%dn%dk%d.row.col%s.%s.%s.%s.%s%s ", p->m, p->n, p->k,
                p->modifier, p->d_type->name, p->a_type->name, p->b_type->name, p->c_type->name,
                p->more);
    sum_list(out, p->count[3], where);
    for (int i = 0; i < 3; i++) {
        text_add(out, ", ");
        register_list(out, "abc"[i], p -> count[i]);
    }
    text_add(out, ";\n");
    for (int i = 0; i < p->count[3] && where != APART; i++)
        text_printf(out, "    mov.%s %%d%d, %%c%d;\n", register_type(p->d_type, true), i,
                    where == CROSSED ? p->count[3] - 1 - i : i);
    move_registers(out, 'd', p->d_type, true, p->count[3], true);
    text_add(out, "    ret;\n}\n");
}

/* Returns the bits of a rounded sum. */
static uint64_t rounded(const struct product *p, double v)
{
    if (p->d_type == &f64)
        return isnan(v) ? 0xfff8000000000000 : f64_bits(v);
    if (p->d_type == &f16)
        return isnan(v) ? 0x7fff : f64_to_f16(v);
    if (p->d_type == &f32)
        return isnan(v) ? 0x7fffffff : f32_bits((float)v);
    if (*p->modifier)
        v = fmin(fmax(v, INT32_MIN), INT32_MAX);
    return (uint32_t)(int64_t)v;
}

static void check_product(struct product *p)
{
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < p->m * p->n / LANES; i++) {
            int row, col;
            place_c(lane, i, &row, &col);
            uint64_t got = get_element(p->out, p->d_type, lane, i),
                     want = rounded(p, p->d[row][col]);
            if (got != want)
                print_error("m%dn%dk%d %s %s %s %s: [%d][%d] 0x%llx, not 0x%llx\n", p->m, p->n,
                            p->k, p->d_type->name, p->a_type->name, p->b_type->name,
                            p->c_type->name, row, col, (unsigned long long)got,
                            (unsigned long long)want);
            assert_true(got == want);
        }
}

/* --- running it: as a program, and in each way on its registers --- */

enum { MOST_WAYS = 4 };

#if defined(__x86_64__) && (__GNUC__ >= 11 || __clang_major__ >= 12)
sim_mma_way *sim_mma_way_of_v3(const struct sim_mma *p, bool wide);
#endif

/* Lists the ways for any machine, for AVX2, and for wider vectors, if this machine has them. */
static int ways_of(const struct sim_mma *p, sim_mma_way *ways[MOST_WAYS])
{
    int count = 0;
    ways[count++] = sim_mma_way_of(p, false);
#if defined(__x86_64__) && (__GNUC__ >= 11 || __clang_major__ >= 12)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        ways[count++] = sim_mma_way_of_v3(p, false);
        ways[count] = sim_mma_way_of_v3(p, true);
        count += ways[count] != NULL;
    }
#endif
    return count;
}

static const struct sim_op *multiplication_of(const struct sim_code *code)
{
    for (uint32_t i = 0; i < code->count; i++)
        if (code->ops[i].ins->op == PTX_MMA)
            return &code->ops[i];
    fail_msg("no mma");
    return NULL;
}

static void load_registers(const struct product *p, const struct sim_op *op, uint8_t *file)
{
    const struct sim_mma *plan = op->data;
    const uint16_t first[] = {plan->a, plan->b, plan->c};
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < p->count[i]; r++)
            for (int lane = 0; lane < LANES; lane++) {
                uint32_t slot = op->more[first[i] + r];
                if (p->a_type == &f64)
                    sim_u64(file, slot)[lane] = p->in[i][r][lane];
                else
                    sim_u32(file, slot)[lane] = (uint32_t)p->in[i][r][lane];
            }
}

static void store_registers(struct product *p, const struct sim_op *op, uint8_t *file)
{
    const struct sim_mma *plan = op->data;
    for (int r = 0; r < p->count[3]; r++)
        for (int lane = 0; lane < LANES; lane++) {
            uint32_t slot = op->more[plan->d + r];
            p->out[r][lane] =
                p->d_type == &f64 ? sim_u64(file, slot)[lane] : sim_u32(file, slot)[lane];
        }
}

static void forget_factors(const struct sim_mma *p)
{
    if (p->kept_a)
        p->kept_a->filled = p->kept_b->filled = false;
}

/* Runs each way twice: with factors that are unpacked now, and with those kept from before. */
static void run_ways(struct product *p, const struct sim_op *op, size_t file_bytes)
{
    sim_mma_way *ways[MOST_WAYS];
    int count = ways_of(op->data, ways);
    uint8_t *file = aligned_alloc(64, file_bytes);
    assert_non_null(file);
    for (int i = 0; i < 2 * count; i++) {
        if (i % 2 == 0)
            forget_factors(op->data);
        memset(file, 0, file_bytes);
        load_registers(p, op, file);
        ways[i / 2](op->data, file, op->more);
        store_registers(p, op, file);
        check_product(p);
    }
    free(file);
}

/* Reads its program and runs it. */
static void open_product(struct sim_case *c, struct product *p, enum where where)
{
    jmp_buf no_memory;
    struct arena arena;
    struct text program;
    arena_init(&arena, &allocator_libc, &no_memory);
    if (setjmp(no_memory))
        fail();
    text_init(&program, &arena);
    make_fragments(p);
    write_program(&program, p, where);
    memset(p->out, 0, sizeof p->out);
    const struct warp_array arrays[] = {{p->in[0], sizeof p->in[0]},
                                        {p->in[1], sizeof p->in[1]},
                                        {p->in[2], sizeof p->in[2]},
                                        {p->out, sizeof p->out}};
    static char text[1 << 14]; /* the case has pointers into it */
    assert_true(program.length < sizeof text);
    memcpy(text, program.data, program.length + 1);
    arena_free(&arena);
    sim_case_open(c, text);
    if (warp_launch(c, LANES, arrays, 4) != SIM_DONE)
        fail_msg("%s", sim_why(c->sim));
}

static void run_product(struct product *p, enum where where)
{
    struct sim_case c;
    multiply(p);
    open_product(&c, p, where);
    check_product(p);
    const struct sim_code *code = c.sim->programs->kernel_code;
    run_ways(p, multiplication_of(code), code->file_bytes);
    sim_case_close(&c);
}

static struct product the_product;

static struct product *product_of(int m, int n, int k, const struct type *d, const struct type *a,
                                  const struct type *b, const struct type *c)
{
    the_product = (struct product){.m = m,
                                   .n = n,
                                   .k = k,
                                   .a_type = a,
                                   .b_type = b,
                                   .c_type = c,
                                   .d_type = d,
                                   .more = "",
                                   .modifier = ""};
    return &the_product;
}

static void try_product(int m, int n, int k, const struct type *d, const struct type *a,
                        const struct type *b, const struct type *c, const char *more)
{
    struct product *p = product_of(m, n, k, d, a, b, c);
    p->more = more;
    for (int i = 0; i < 6; i++) {
        fill_matrices(p, i % 2 ? wild_bits : random_bits);
        run_product(p, c == d ? (enum where)(i / 2) : APART);
    }
}

/* Tries factors of two types in all ways, in shapes of m, n, k. */
static void try_pairs(const int shapes[][3], int count, const struct type *sum,
                      const struct type *const types[2])
{
    for (int i = 0; i < count; i++)
        for (int a = 0; a < 2; a++)
            for (int b = 0; b < 2; b++)
                try_product(shapes[i][0], shapes[i][1], shapes[i][2], sum, types[a], types[b], sum,
                            "");
}

static void halves(void **state)
{
    (void)state;
    const struct type *const sums[] = {&f16, &f32};
    for (int i = 0; i < 2; i++) {
        try_product(16, 8, 8, sums[i], &f16, &f16, sums[i], "");
        try_product(16, 8, 16, sums[i], &f16, &f16, sums[i], "");
    }
    try_product(16, 8, 8, &f32, &bf16, &bf16, &f32, "");
    try_product(16, 8, 16, &f32, &bf16, &bf16, &f32, "");
}

/* C and D of two types: wmma allows that, here with mma's registers. */
static void halves_mixed(void **state)
{
    (void)state;
    const struct type *const sums[] = {&f16, &f32};
    for (int i = 0; i < 12; i++) {
        struct sim_case c;
        struct product *p = product_of(16, 8, 16, &f32, &f16, &f16, &f32);
        open_product(&c, p, APART);
        const struct sim_code *code = c.sim->programs->kernel_code;
        struct sim_op op = *multiplication_of(code);
        struct sim_mma plan = *(const struct sim_mma *)op.data;
        op.data = &plan;
        plan.type_c = i % 2 ? MOD_F16 : MOD_F32;
        plan.type_d = i % 2 ? MOD_F32 : MOD_F16;
        p->c_type = sums[1 - i % 2];
        p->d_type = sums[i % 2];
        fill_matrices(p, i < 6 ? random_bits : wild_bits);
        multiply(p);
        make_fragments(p);
        run_ways(p, &op, code->file_bytes);
        sim_case_close(&c);
    }
}

static void tensor_floats(void **state)
{
    (void)state;
    try_product(16, 8, 4, &f32, &tf32, &tf32, &f32, "");
    try_product(16, 8, 8, &f32, &tf32, &tf32, &f32, "");
}

static void small_floats(void **state)
{
    (void)state;
    const struct type *const types[] = {&e4m3, &e5m2};
    static const int shapes[][3] = {{16, 8, 16}, {16, 8, 32}};
    try_pairs(shapes, 2, &f32, types);
    try_pairs(shapes, 2, &f16, types);
}

/* sm_120 spells it differently. */
static void small_floats_by_kind(void **state)
{
    (void)state;
    struct product *p = product_of(16, 8, 32, &f32, &e4m3, &e5m2, &f32);
    p->modifier = ".kind::f8f6f4";
    fill_matrices(p, random_bits);
    run_product(p, APART);
}

/* The message names the feature that is not simulated. */
static void sparse_ones_are_refused(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c,
                  ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
                  "    .reg .b32 %r<8>;\n    .reg .f32 %f<4>;\n"
                  "    mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, "
                  "{%r0, %r1}, {%r2, %r3}, {%f0, %f1, %f2, %f3}, %r4, 0;\n    ret;\n}\n");
    assert_int_equal(warp_launch(&c, LANES, NULL, 0), SIM_UNKNOWN);
    assert_non_null(strstr(sim_why(c.sim), "mma.sp.sync"));
    sim_case_close(&c);
}

/* A chain of fused operations in the order of k. */
static void doubles(void **state)
{
    (void)state;
    try_product(8, 8, 4, &f64, &f64, &f64, &f64, "");
    try_product(16, 8, 4, &f64, &f64, &f64, &f64, "");
    try_product(16, 8, 8, &f64, &f64, &f64, &f64, "");
    try_product(16, 8, 16, &f64, &f64, &f64, &f64, "");
}

static void integers(void **state)
{
    (void)state;
    const struct type *const bytes[] = {&s8, &u8}, *const nibbles[] = {&s4, &u4};
    static const int of_bytes[][3] = {{8, 8, 16}, {16, 8, 16}, {16, 8, 32}},
                     of_nibbles[][3] = {{8, 8, 32}, {16, 8, 32}, {16, 8, 64}};
    try_pairs(of_bytes, 3, &s32, bytes);
    try_pairs(of_nibbles, 3, &s32, nibbles);
}

static void single_bits(void **state)
{
    (void)state;
    const char *const ways[] = {".xor.popc", ".and.popc"};
    for (int i = 0; i < 2; i++) {
        try_product(8, 8, 128, &s32, &b1, &b1, &s32, ways[i]);
        try_product(16, 8, 128, &s32, &b1, &b1, &s32, ways[i]);
        try_product(16, 8, 256, &s32, &b1, &b1, &s32, ways[i]);
    }
}

/* Sums beyond 32 bits wrap, or with .satfinite stop at the ends. */
static void overflow(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct product *p = product_of(16, 8, 32, &s32, &s8, &s8, &s32);
        p->modifier = way % 2 ? ".satfinite" : "";
        fill_matrices(p, random_bits);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++)
                p->c[i][j] = way < 2 ? INT32_MAX - warp_draw(100) : 0x80000000u + warp_draw(100);
        run_product(p, APART);
    }
}

/* Sums of f16 of all sizes, one product each: rounding, subnormals, overflow. */
static void rounding_to_half(void **state)
{
    (void)state;
    for (int n = 0; n < 50; n++) {
        struct product *p = product_of(16, 8, 16, &f16, &f16, &f16, &f16);
        int q = (int)warp_draw(16);
        for (int i = 0; i < 16; i++)
            p->a[i][q] = warp_bits() & 0xffff;
        for (int j = 0; j < 8; j++)
            p->b[q][j] = n % 2 ? warp_bits() & 0xffff : 0x0800 + warp_draw(0x2000);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++)
                p->c[i][j] = warp_draw(3) ? warp_bits() & (n % 2 ? 0xffff : 0x83ff) : 0;
        run_product(p, APART);
    }
}

/* Infinities, NaN and subnormals as factors and in C. */
static void special_values(void **state)
{
    (void)state;
    static const uint16_t halves_in[] = {0x7c00, 0xfc00, 0x7e01, 0x0001,
                                         0x83ff, 0x8000, 0x7bff, 0x3c00};
    static const uint32_t sums_in[] = {0x7f800000, 0xff800000, 0x7fc12345,
                                       1,          0x80000000, 0x7f7fffff};
    for (int n = 0; n < 20; n++) {
        const struct type *sum = n % 2 ? &f16 : &f32;
        struct product *p = product_of(16, 8, 16, sum, &f16, &f16, sum);
        for (int i = 0; i < 16; i++)
            for (int q = 0; q < 16; q++)
                p->a[i][q] = warp_draw(20) ? 0x3c00 : halves_in[warp_draw(8)];
        for (int q = 0; q < 16; q++)
            for (int j = 0; j < 8; j++)
                p->b[q][j] = warp_draw(20) ? 0 : halves_in[warp_draw(8)];
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++)
                p->c[i][j] = warp_draw(4) ? 0
                             : n % 2      ? halves_in[warp_draw(8)]
                                          : sums_in[warp_draw(6)];
        run_product(p, APART);
    }
}

/* --- ldmatrix, stmatrix, movmatrix --- */

enum {
    ROW_BYTES = 48,
    MATRICES = 4
}; /* rows in shared memory are farther apart than their length */

/* Shared memory is filled from `in`; matrices go from there to registers and then to `out`, the
 * registers first. */
static void moved_by(const char *count, int matrices, bool trans, bool stores)
{
    char program[4096], list[64] = "";
    uint16_t in[MATRICES * 8][ROW_BYTES / 2];
    uint32_t out[MATRICES][LANES], back[MATRICES * 8][ROW_BYTES / 4];
    for (int i = 0; i < matrices; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%%r%d", i ? ", " : "", i);
    for (int r = 0; r < MATRICES * 8; r++)
        for (int c = 0; c < ROW_BYTES / 2; c++)
            in[r][c] = (uint16_t)warp_bits();
    memset(out, 0, sizeof out);
    memset(back, 0, sizeof back);
    snprintf(
        program, sizeof program,
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param "
        ".u64 out, .param .u64 back)\n{\n    .shared .align 16 .b8 s[1536];\n"
        "    .shared .align 16 .b8 z[1536];\n"
        "    .reg .b32 %%t, %%x, %%y, %%w, %%r<4>;\n    .reg .b64 %%i, %%o, %%b, %%u;\n"
        "    mov.u32 %%t, %%tid.x;\n    mul.wide.u32 %%u, %%t, 4;\n    ld.param.u64 %%i, [in];\n"
        "    ld.param.u64 %%o, [out];\n    ld.param.u64 %%b, [back];\n"
        "    add.s64 %%i, %%i, %%u;\n    add.s64 %%o, %%o, %%u;\n    add.s64 %%b, %%b, %%u;\n"
        "    mov.u32 %%x, s;\n    shl.b32 %%y, %%t, 2;\n    add.u32 %%x, %%x, %%y;\n"
        "%s"
        "    bar.sync 0;\n    mov.u32 %%x, s;\n    mad.lo.u32 %%x, %%t, 48, %%x;\n"
        "    ldmatrix.sync.aligned.m8n8.%s%s.shared.b16 {%s}, [%%x];\n"
        "%s",
        "    .reg .b32 %v;\n", count, trans ? ".trans" : "", list, "");
    /* copies word by word: 1536 bytes by 32 lanes of 4 */
    char copy_in[2048] = "", copy_out[2048] = "", tail[512] = "", whole[12000];
    for (int i = 0; i < 12; i++) {
        snprintf(copy_in + strlen(copy_in), sizeof copy_in - strlen(copy_in),
                 "    ld.global.b32 %%w, [%%i+%d];\n    st.shared.b32 [%%x+%d], %%w;\n", 128 * i,
                 128 * i);
        snprintf(copy_out + strlen(copy_out), sizeof copy_out - strlen(copy_out),
                 "    ld.shared.b32 %%w, [%%x+%d];\n    st.global.b32 [%%b+%d], %%w;\n", 128 * i,
                 128 * i);
    }
    for (int i = 0; i < matrices; i++)
        snprintf(tail + strlen(tail), sizeof tail - strlen(tail),
                 "    st.global.b32 [%%o+%d], %%r%d;\n", 128 * i, i);
    char *split = strstr(program, "    .reg .b32 %v;\n");
    snprintf(whole, sizeof whole, "%.*s%s%s%s", (int)(split - program), program, copy_in, split,
             tail);
    if (stores)
        snprintf(whole + strlen(whole), sizeof whole - strlen(whole),
                 "    mov.u32 %%x, z;\n    mad.lo.u32 %%x, %%t, 48, %%x;\n"
                 "    stmatrix.sync.aligned.m8n8.%s%s.shared.b16 [%%x], {%s};\n    bar.sync 0;\n"
                 "    mov.u32 %%x, z;\n    add.u32 %%x, %%x, %%y;\n%s",
                 count, trans ? ".trans" : "", list, copy_out);
    snprintf(whole + strlen(whole), sizeof whole - strlen(whole), "    ret;\n}\n");
    const struct warp_array arrays[] = {{in, sizeof in}, {out, sizeof out}, {back, sizeof back}};
    warp_run(whole, LANES, arrays, 3);
    for (int n = 0; n < matrices; n++)
        for (int lane = 0; lane < LANES; lane++)
            for (int e = 0; e < 2; e++) {
                int row = lane / 4, col = lane % 4 * 2 + e;
                uint16_t want = trans ? in[8 * n + col][row] : in[8 * n + row][col];
                assert_int_equal(out[n][lane] >> 16 * e & 0xffff, want);
            }
    for (int r = 0; stores && r < 8 * matrices; r++)
        assert_memory_equal(back[r], in[r], 16); /* there and back */
}

static void each_moved(bool stores)
{
    static const char *const counts[] = {"x1", "x2", "x4"};
    for (int trans = 0; trans < 2; trans++)
        for (int i = 0; i < 3; i++)
            moved_by(counts[i], 1 << i, trans, stores);
}

static void matrices_to_registers(void **state)
{
    (void)state;
    each_moved(false);
}

static void there_and_back(void **state)
{
    (void)state;
    each_moved(true);
}

static void turned_in_registers(void **state)
{
    (void)state;
    uint16_t in[8][8], out[8][8];
    for (int i = 0; i < 64; i++)
        in[i / 8][i % 8] = (uint16_t)warp_bits();
    const struct warp_array arrays[] = {{in, sizeof in}, {out, sizeof out}};
    warp_run(
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        "    .reg .b32 %t, %x;\n    .reg .b64 %i, %o, %u;\n    mov.u32 %t, %tid.x;\n"
        "    mul.wide.u32 %u, %t, 4;\n    ld.param.u64 %i, [in];\n    ld.param.u64 %o, [out];\n"
        "    add.s64 %i, %i, %u;\n    add.s64 %o, %o, %u;\n    ld.global.b32 %x, [%i];\n"
        "    movmatrix.sync.aligned.m8n8.trans.b16 %x, %x;\n    st.global.b32 [%o], %x;\n"
        "    ret;\n}\n",
        LANES, arrays, 2);
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++)
            assert_int_equal(out[r][c], in[c][r]);
}

/* --- wmma: matrices from memory, results to memory --- */

struct wmma {
    int m, n, k;
    const struct type *ab, *c, *d;
    bool a_by_columns, b_by_columns, c_by_columns;
    int pad; /* elements between rows or columns; -1: no stride operand */
    const char *front, *types, *back;
};

/* Returns the index of element (row, column) of a matrix in memory. */
static size_t at(int row, int col, int rows, int cols, bool by_columns, int pad)
{
    int stride = (by_columns ? rows : cols) + (pad > 0 ? pad : 0);
    return (size_t)(by_columns ? col * stride + row : row * stride + col);
}

static uint64_t load_element(const struct type *t, const uint8_t *memory, size_t index)
{
    uint64_t bits = 0;
    if (t->bits >= 8)
        memcpy(&bits, memory + index * (size_t)t->bits / 8, (size_t)t->bits / 8);
    else
        bits = (uint64_t)memory[index * (size_t)t->bits / 8] >> index * (size_t)t->bits % 8 &
               ((1u << t->bits) - 1);
    return bits;
}

static void fill(const struct type *t, uint8_t *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes / 8; i++) {
        uint64_t word = 0;
        for (int b = 0; b < 64; b += t->bits)
            word |= random_bits(t) << b;
        memcpy(memory + 8 * i, &word, 8);
    }
}

static void wmma_list(struct text *out, const char *name, int count)
{
    text_add(out, "{");
    for (int i = 0; i < count; i++)
        text_printf(out, "%s%%%s%d", i ? ", " : "", name, i);
    text_add(out, "}");
}

static int wmma_count(const struct type *t, int elements, bool factor)
{
    return factor && t == &f16 ? 8 : registers_of(t, elements / LANES);
}

static void wmma_load(struct text *out, const struct wmma *x, char which, const struct type *t,
                      int count, bool by_columns, int stride)
{
    text_printf(out, "    wmma.load.%c.sync.aligned.%s.m%dn%dk%d.global.%s ", which,
                by_columns ? "col" : "row", x->m, x->n, x->k, t->name);
    wmma_list(out, (char[]){which, 0}, count);
    text_printf(out, ", [%%p%c]", which);
    if (x->pad >= 0)
        text_printf(out, ", %d", stride + x->pad);
    text_add(out, ";\n");
}

static void wmma_program(struct text *out, const struct wmma *x)
{
    int counts[] = {wmma_count(x->ab, x->m * x->k, true), wmma_count(x->ab, x->k * x->n, true),
                    wmma_count(x->c, x->m * x->n, false), wmma_count(x->d, x->m * x->n, false)};
    const struct type *const types[] = {x->ab, x->ab, x->c, x->d};
    text_add(out, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, "
                  ".param .u64 b, .param .u64 c, .param .u64 d)\n{\n"
                  "    .reg .b64 %pa, %pb, %pc, %pd;\n");
    for (int i = 0; i < 4; i++)
        text_printf(out, "    .reg .%s %%%c<%d>;\n    ld.param.u64 %%p%c, [%c];\n",
                    register_type(types[i], i > 1), 'a' + i, counts[i], 'a' + i, 'a' + i);
    wmma_load(out, x, 'a', x->ab, counts[0], x->a_by_columns, x->a_by_columns ? x->m : x->k);
    wmma_load(out, x, 'b', x->ab, counts[1], x->b_by_columns, x->b_by_columns ? x->k : x->n);
    wmma_load(out, x, 'c', x->c, counts[2], x->c_by_columns, x->c_by_columns ? x->m : x->n);
    text_printf(out, "    wmma.mma%s.sync.aligned.%s.%s.m%dn%dk%d%s%s ", x->front,
                x->a_by_columns ? "col" : "row", x->b_by_columns ? "col" : "row", x->m, x->n, x->k,
                x->types, x->back);
    for (int i = 0; i < 4; i++) {
        wmma_list(out, (char[]){"dabc"[i], 0}, counts[i ? i - 1 : 3]);
        text_add(out, i < 3 ? ", " : ";\n");
    }
    text_printf(out, "    wmma.store.d.sync.aligned.%s.m%dn%dk%d.global.%s [%%pd], ",
                x->c_by_columns ? "col" : "row", x->m, x->n, x->k, x->d->name);
    wmma_list(out, "d", counts[3]);
    if (x->pad >= 0)
        text_printf(out, ", %d", (x->c_by_columns ? x->m : x->n) + x->pad);
    text_add(out, ";\n    ret;\n}\n");
}

static void check_wmma(const struct wmma *x, uint8_t memory[4][8192])
{
    struct product p = {.d_type = x->d, .modifier = strstr(x->back, "satfinite") ? "y" : ""};
    bool xors = strstr(x->front, "xor") != NULL;
    for (int i = 0; i < x->m; i++)
        for (int j = 0; j < x->n; j++) {
            size_t c_at = at(i, j, x->m, x->n, x->c_by_columns, x->pad);
            double sum = value_of(x->c, load_element(x->c, memory[2], c_at));
            for (int q = 0; q < x->k; q++) {
                double a =
                    value_of(x->ab, load_element(x->ab, memory[0],
                                                 at(i, q, x->m, x->k, x->a_by_columns, x->pad)));
                double b =
                    value_of(x->ab, load_element(x->ab, memory[1],
                                                 at(q, j, x->k, x->n, x->b_by_columns, x->pad)));
                sum = xors ? sum + (a != b) : fma(a, b, sum);
            }
            assert_true(load_element(x->d, memory[3], c_at) == rounded(&p, sum));
        }
}

static uint8_t wmma_memory[4][8192];

static void try_wmma(const struct wmma *x)
{
    jmp_buf no_memory;
    struct arena arena;
    struct text program;
    arena_init(&arena, &allocator_libc, &no_memory);
    if (setjmp(no_memory))
        fail();
    text_init(&program, &arena);
    wmma_program(&program, x);
    fill(x->ab, wmma_memory[0], sizeof wmma_memory[0]);
    fill(x->ab, wmma_memory[1], sizeof wmma_memory[1]);
    fill(x->c, wmma_memory[2], sizeof wmma_memory[2]);
    struct warp_array arrays[4];
    for (int i = 0; i < 4; i++)
        arrays[i] = (struct warp_array){wmma_memory[i], sizeof wmma_memory[i]};
    warp_run(program.data, LANES, arrays, 4);
    check_wmma(x, wmma_memory);
    arena_free(&arena);
}

static void wmma_all(void **state)
{
    (void)state;
    static const int shapes[][3] = {{16, 16, 16}, {8, 32, 16}, {32, 8, 16}};
    static const struct {
        const struct type *ab, *c, *d;
        const char *types, *back;
    } kinds[] = {
        {&f16, &f32, &f32, ".f32.f32", ""},      {&f16, &f16, &f16, ".f16.f16", ""},
        {&f16, &f16, &f32, ".f32.f16", ""},      {&bf16, &f32, &f32, ".f32.bf16.bf16.f32", ""},
        {&s8, &s32, &s32, ".s32.s8.s8.s32", ""}, {&u8, &s32, &s32, ".s32.u8.u8.s32", ".satfinite"}};
    for (int s = 0; s < 3; s++)
        for (size_t t = 0; t < sizeof kinds / sizeof *kinds; t++)
            for (int layout = 0; layout < 8; layout++)
                try_wmma(&(struct wmma){.m = shapes[s][0],
                                        .n = shapes[s][1],
                                        .k = shapes[s][2],
                                        .ab = kinds[t].ab,
                                        .c = kinds[t].c,
                                        .d = kinds[t].d,
                                        .a_by_columns = layout & 1,
                                        .b_by_columns = layout & 2,
                                        .c_by_columns = layout & 4,
                                        .pad = layout % 3 == 1 ? -1 : 8 * (layout % 3),
                                        .front = "",
                                        .types = kinds[t].types,
                                        .back = kinds[t].back});
}

static void wmma_others(void **state)
{
    (void)state;
    for (int layout = 0; layout < 8; layout++) {
        struct wmma x = {.m = 16,
                         .n = 16,
                         .k = 8,
                         .ab = &tf32,
                         .c = &f32,
                         .d = &f32,
                         .a_by_columns = layout & 1,
                         .b_by_columns = layout & 2,
                         .c_by_columns = layout & 4,
                         .pad = 4,
                         .front = "",
                         .types = ".f32.tf32.tf32.f32",
                         .back = ""};
        try_wmma(&x);
        x.m = x.n = 8;
        x.k = 4;
        x.ab = x.c = x.d = &f64;
        x.types = ".f64.f64.f64.f64";
        try_wmma(&x);
    }
    struct wmma x = {.m = 8,
                     .n = 8,
                     .k = 32,
                     .ab = &s4,
                     .c = &s32,
                     .d = &s32,
                     .b_by_columns = true,
                     .front = "",
                     .types = ".s32.s4.s4.s32",
                     .back = ".satfinite"};
    try_wmma(&x);
    x.k = 128;
    x.ab = &b1;
    x.front = ".xor.popc";
    x.types = ".s32.b1.b1.s32";
    x.back = "";
    try_wmma(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves),
        cmocka_unit_test(halves_mixed),
        cmocka_unit_test(tensor_floats),
        cmocka_unit_test(small_floats),
        cmocka_unit_test(small_floats_by_kind),
        cmocka_unit_test(doubles),
        cmocka_unit_test(sparse_ones_are_refused),
        cmocka_unit_test(integers),
        cmocka_unit_test(single_bits),
        cmocka_unit_test(overflow),
        cmocka_unit_test(rounding_to_half),
        cmocka_unit_test(special_values),
        cmocka_unit_test(matrices_to_registers),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(turned_in_registers),
        cmocka_unit_test(wmma_all),
        cmocka_unit_test(wmma_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
