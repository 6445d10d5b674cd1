/* Every elementwise operation of thread IR, on every type: scalars give what nvptx_scalars.h gives
 * (test_emit_op.c compares that with the CPU engine), and groups give what scalars give. */
#include "scalar_helper.h"

#include "nvptx/nvptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* 5 is the most that `join` takes. It fills no word. */
enum { GROUP = 5, SAMPLES = 30 * GROUP, ARGS = SUBJECT_ARGS };

static uint64_t arrays[ARGS][SAMPLES], expected[SAMPLES];

static const struct operation {
    const char *name;
    enum op op;
} operations[] = {
    {"neg", OP_NEG},
    {"not", OP_INVERT},
    {"mul", OP_MUL},
    {"div", OP_DIV},
    {"rem", OP_REM},
    {"add", OP_ADD},
    {"sub", OP_SUB},
    {"lt", OP_LT},
    {"gt", OP_GT},
    {"le", OP_LE},
    {"ge", OP_GE},
    {"eq", OP_EQ},
    {"ne", OP_NE},
    {"and", OP_AND},
    {"xor", OP_XOR},
    {"or", OP_OR},
    {"fma", OP_FMA},
    {"min", OP_MIN},
    {"max", OP_MAX},
    {"abs", OP_ABS},
    {"square", OP_SQUARE},
    {"clip", OP_CLIP},
    {"exp", OP_EXP},
    {"exp2", OP_EXP2},
    {"exp2_approx", OP_EXP2_APPROX},
    {"log", OP_LOG},
    {"log2", OP_LOG2},
    {"sin", OP_SIN},
    {"cos", OP_COS},
    {"tanh", OP_TANH},
    {"erf", OP_ERF},
    {"erfc", OP_ERFC},
    {"expm1", OP_EXPM1},
    {"log1p", OP_LOG1P},
    {"sigmoid", OP_SIGMOID},
    {"sqrt", OP_SQRT},
    {"rsqrt", OP_RSQRT},
    {"round", OP_ROUND},
    {"floor", OP_FLOOR},
    {"ceil", OP_CEIL},
    {"pow", OP_POW},
    {"cdiv", OP_CDIV},
    {"pow2_ceil", OP_POW2_CEIL},
    {"shl", OP_SHL},
    {"shr", OP_SHR},
};

static bool takes(enum op op, enum dtype t)
{
    const bool integer = dtype_is_int(t), is_float = dtype_is_float(t);
    switch (op_table[op].class) {
    case CLASS_BITWISE: return integer || (t == DT_BOOL && op != OP_SHL && op != OP_SHR);
    case CLASS_FLOAT: return is_float;
    case CLASS_COMPARE: return true;
    default:
        if (op == OP_POW)
            return is_float;
        return op == OP_CDIV || op == OP_POW2_CEIL ? integer : t != DT_BOOL;
    }
}

/* --- samples --- */

static uint64_t state = 1;

static uint64_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

static void fill(enum dtype t, void *array)
{
    static const double special[] = {0, -0.0, 1, -1, 0.5, 2.5, 65504, 1e-30, 1e30, 3};
    enum { SPECIAL = sizeof special / sizeof *special };
    for (size_t i = 0; i < SAMPLES; i++) {
        char *at = (char *)array + i * dtype_size(t);
        const uint64_t bits = random_bits();
        const double real =
            bits % 4 ? (double)(int64_t)random_bits() * 0x1p-60 : special[random_bits() % SPECIAL];
        const int64_t integer = dtype_wrap(t, (int64_t)(random_bits() >> bits % 64));
        if (dtype_is_float(t))
            dtype_store_f64(t, at, real);
        else
            memcpy(at, &integer, dtype_size(t)); /* low bytes first */
    }
}

/* Division by 0 is not defined, and shifts are by less than 80. */
static void limit_second(enum op op, enum dtype t)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        char *at = (char *)arrays[1] + i * dtype_size(t);
        int64_t v = (int64_t)(random_bits() % 80);
        if (op == OP_SHL || op == OP_SHR)
            memcpy(at, &v, dtype_size(t));
        else if (op_divides(op) && dtype_is_int(t) && dtype_load_i64(t, at) == 0)
            *at = 5;
    }
}

/* --- programs --- */

/* An operation as text, such as "add.f16", and the types of its operands. */
struct shape {
    const char *text;
    enum dtype result, arg[ARGS];
    int count;
};

/* Adds the operation on the values that `names` forms of the number of an operand and of an element. */
static void apply(struct text *out, const struct shape *s, const char *to, const char *names,
                  int element)
{
    text_printf(out, "%%%s%d = %s", to, element, s->text);
    for (int k = 0; k < s->count; k++) {
        text_add(out, k ? ", %" : " %");
        text_printf(out, names, k, element);
    }
    text_add(out, "\n");
}

/* Computes 5 scalars, and a group of the same, and the group with scalars of its first elements as all operands but the
 * first. */
static const char *program(struct arena *a, const struct shape *s, const char *target)
{
    struct text out;
    const char *result = dtype_table[s->result].name;
    text_init(&out, a);
    text_printf(&out,
                "kernel f(u64 %%in0, u64 %%in1, u64 %%in2, u64 %%one, u64 %%all, u64 %%mixed, u64 "
                "%%same) threads 1 target %s {\n",
                target);
    for (int k = 0; k < s->count; k++) {
        const char *t = dtype_table[s->arg[k]].name;
        for (int i = 0; i < GROUP; i++)
            text_printf(&out, "%%x%d_%d = load.%s %%in%d, 0, %d\n", k, i, t, k, i);
        text_printf(&out, "%%g%d_0 = join.%s %%x%d_0, %%x%d_1, %%x%d_2, %%x%d_3, %%x%d_4\n", k, t,
                    k, k, k, k, k);
        for (int i = 0; i < GROUP; i++) /* what a mixed operation and its scalars have */
            text_printf(&out, "%%y%d_%d = part.%s %%g%d_0, %d, 1, 1\n", k, i, t, k, k ? 0 : i);
        text_printf(&out,
                    k ? "%%h%d_0 = part.%s %%g%d_0, 0, 1, 1\n"
                      : "%%h%d_0 = part.%s %%g%d_0, 0, 5, 1\n",
                    k, t, k);
    }
    for (int i = 0; i < GROUP; i++) {
        apply(&out, s, "r", "x%d_%d", i);
        apply(&out, s, "s", "y%d_%d", i);
        text_printf(&out, "store.%s %%one, 0, %d, %%r%d store.%s %%same, 0, %d, %%s%d\n", result, i,
                    i, result, i, i);
    }
    apply(&out, s, "q", "g%d_%d", 0);
    apply(&out, s, "m", "h%d_%d", 0);
    for (int i = 0; i < GROUP; i++)
        text_printf(&out,
                    "%%q0_%d = part.%s %%q0, %d, 1, 1 store.%s %%all, 0, %d, %%q0_%d\n"
                    "%%m0_%d = part.%s %%m0, %d, 1, 1 store.%s %%mixed, 0, %d, %%m0_%d\n",
                    i, result, i, result, i, i, i, result, i, result, i, i);
    text_add(&out, "}\n");
    return out.data;
}

static struct ptx_module *emitted(struct arena *a, const char *text)
{
    struct diag diag;
    diag_init(&diag, a);
    struct source source = {.name = "program", .text = text, .length = strlen(text)};
    struct thread_function *f = thread_parse(a, &source, &diag);
    struct ptx_module *m = f && thread_verify(a, f, &diag) ? nvptx_emit(a, f, &diag) : NULL;
    if (!m) {
        struct text messages;
        text_init(&messages, a);
        diag_render(&messages, &diag, false);
        fail_msg("%s%s", text, messages.data);
    }
    return m;
}

static bool same(enum dtype t, const void *a, const void *b)
{
    if (dtype_is_float(t) && isnan(dtype_load_f64(t, a)) && isnan(dtype_load_f64(t, b)))
        return true;
    return memcmp(a, b, dtype_size(t)) == 0;
}

static void check_same(const struct shape *s, const char *what, const void *a, const void *b)
{
    for (size_t i = 0; i < GROUP; i++)
        if (!same(s->result, (const char *)a + i * dtype_size(s->result),
                  (const char *)b + i * dtype_size(s->result)))
            fail_msg("%s: element %zu of %s", s->text, i, what);
}

/* Runs the program on all samples. */
static void check(struct arena *a, const struct shape *s, const char *target)
{
    const struct ptx_module *m = emitted(a, program(a, s, target));
    struct ptx_thread t;
    ptx_thread_init(&t, a, ptx_find_function(m, "f"));
    for (size_t first = 0; first < SAMPLES; first += GROUP) {
        uint64_t one[GROUP], all[GROUP], mixed[GROUP], alike[GROUP], arguments[ARGS + 4];
        for (int k = 0; k < ARGS; k++)
            arguments[k] = (uintptr_t)((char *)arrays[k] + first * dtype_size(s->arg[k]));
        arguments[ARGS] = (uintptr_t)one;
        arguments[ARGS + 1] = (uintptr_t)all;
        arguments[ARGS + 2] = (uintptr_t)mixed;
        arguments[ARGS + 3] = (uintptr_t)alike;
        t.arguments = arguments;
        const char *unknown = ptx_thread_run(&t);
        if (unknown)
            fail_msg("%s: %s is not executed", s->text, unknown);
        check_same(s, "scalars", one, (char *)expected + first * dtype_size(s->result));
        check_same(s, "a group", all, one);
        check_same(s, "a group and scalars", mixed, alike);
    }
}

/* Fills `expected` with what the operation of nvptx_scalars.h gives. */
static void expect(struct bench *b, struct subject *s)
{
    const void *args[ARGS] = {arrays[0], arrays[1], arrays[2]};
    s->name = "expected";
    bench_run(b, bench_add(b, s), s, expected, args, SAMPLES, 0);
}

/* --- the tests --- */

static const struct {
    int number;
    const char *name;
} targets[] = {{80, "sm_80"}, {90, "sm_90a"}};

static bool has_type(int target, enum dtype t)
{
    return target >= 89 || !dtype_is_byte_float(t);
}

static void try_operation(int target, const char *name, const struct operation *o, enum dtype t)
{
    struct bench b;
    const bool shifts = o->op == OP_SHL || o->op == OP_SHR;
    bench_open(&b, target);
    struct subject subject = {.emit = emit_op,
                              .op = t == DT_BOOL && o->op == OP_INVERT ? OP_NOT : o->op,
                              .t = t,
                              .result = op_table[o->op].class == CLASS_COMPARE ? DT_BOOL : t,
                              .arg = {t, t, t},
                              .count = op_table[o->op].arity};
    for (int k = 0; k < subject.count; k++)
        fill(t, arrays[k]);
    limit_second(o->op, t);
    expect(&b, &subject);
    struct shape s = {
        .result = subject.result, .arg = {t, shifts ? DT_U32 : t, t}, .count = subject.count};
    s.text = arena_printf(&b.arena, "%s.%s", o->name, dtype_table[t].name);
    for (size_t i = SAMPLES; i-- > 0 && shifts;) {
        uint32_t amount = (uint32_t)dtype_load_i64(t, (char *)arrays[1] + i * dtype_size(t));
        memcpy((char *)arrays[2] + i * sizeof amount, &amount, sizeof amount);
    }
    if (shifts)
        memcpy(arrays[1], arrays[2], sizeof arrays[1]);
    check(&b.arena, &s, name);
    bench_close(&b);
}

static void operations_of_all_types(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++)
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
            for (enum dtype t = 0; t < DT_COUNT; t++)
                if (takes(operations[i].op, t) && has_type(targets[k].number, t))
                    try_operation(targets[k].number, targets[k].name, &operations[i], t);
}

static struct ptx_operand emit_cast(struct nvptx_scalars *out, const struct subject *s,
                                    const struct ptx_operand *args)
{
    return nvptx_cast(out, s->result, s->arg[0], args[0]);
}

static void conversions(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++)
        for (enum dtype from = 0; from < DT_COUNT; from++)
            for (enum dtype to = 0; to < DT_COUNT; to++) {
                struct bench b;
                if (!has_type(targets[k].number, from) || !has_type(targets[k].number, to))
                    continue;
                bench_open(&b, targets[k].number);
                struct subject subject = {
                    .emit = emit_cast, .result = to, .arg = {from}, .count = 1};
                struct shape s = {.result = to, .arg = {from}, .count = 1};
                s.text = arena_printf(&b.arena, "convert.%s.%s", dtype_table[to].name,
                                      dtype_table[from].name);
                fill(from, arrays[0]);
                expect(&b, &subject);
                check(&b.arena, &s, targets[k].name);
                bench_close(&b);
            }
}

static void bits_and_choices(void **unused)
{
    (void)unused;
    for (enum dtype from = 0; from < DT_COUNT; from++)
        for (enum dtype to = 0; to < DT_COUNT; to++) {
            struct bench b;
            if (dtype_size(to) != dtype_size(from) || (from == DT_BOOL) != (to == DT_BOOL))
                continue;
            bench_open(&b, 80);
            struct shape s = {.result = to, .arg = {from}, .count = 1};
            s.text =
                arena_printf(&b.arena, "bits.%s.%s", dtype_table[to].name, dtype_table[from].name);
            fill(from, arrays[0]);
            memcpy(expected, arrays[0], sizeof expected);
            check(&b.arena, &s, "sm_80");
            bench_close(&b);
        }
    for (enum dtype t = 0; t < DT_COUNT; t++) {
        struct bench b;
        bench_open(&b, 80);
        struct shape s = {.result = t, .arg = {DT_BOOL, t, t}, .count = 3};
        s.text = arena_printf(&b.arena, "select.%s", dtype_table[t].name);
        fill(DT_BOOL, arrays[0]);
        fill(t, arrays[1]);
        fill(t, arrays[2]);
        for (size_t i = 0; i < SAMPLES; i++)
            memcpy((char *)expected + i * dtype_size(t),
                   (char *)arrays[((uint8_t *)arrays[0])[i] ? 1 : 2] + i * dtype_size(t),
                   dtype_size(t));
        check(&b.arena, &s, "sm_80");
        bench_close(&b);
    }
}

static void philox(void **unused)
{
    (void)unused;
    struct bench b;
    bench_open(&b, 80);
    struct subject subject = {.emit = emit_op,
                              .op = OP_PHILOX,
                              .t = DT_U32,
                              .result = DT_U32,
                              .arg = {DT_U64, DT_U64, DT_U32},
                              .count = 3};
    struct shape s = {"philox.u32.u64", DT_U32, {DT_U64, DT_U64, DT_U32}, 3};
    for (int k = 0; k < ARGS; k++)
        fill(s.arg[k], arrays[k]);
    expect(&b, &subject);
    check(&b.arena, &s, "sm_80");
    bench_close(&b);
    bench_open(&b, 80); /* the same numbers in 32 bits, and in 64 */
    s = (struct shape){"philox.u32.u32", DT_U32, {DT_U32, DT_U32, DT_U32}, 3};
    for (size_t i = 0; i < SAMPLES; i++) {
        arrays[0][i] &= UINT32_MAX;
        arrays[1][i] &= UINT32_MAX;
    }
    expect(&b, &subject);
    for (size_t i = 0; i < SAMPLES; i++)
        for (int k = 0; k < 2; k++)
            memcpy((uint32_t *)arrays[k] + i, &arrays[k][i], sizeof(uint32_t));
    check(&b.arena, &s, "sm_80");
    bench_close(&b);
}

/* A constant of any type is what a conversion from f32 gives, as a scalar and in a group. */
static void constants(void **unused)
{
    (void)unused;
    for (enum dtype t = 0; t < DT_BOOL; t++) {
        struct bench b;
        bench_open(&b, 90);
        const char *name = dtype_table[t].name, *number = dtype_is_float(t) ? "1.5" : "3";
        const char *text = arena_printf(
            &b.arena,
            "kernel f(u64 %%in, u64 %%out) threads 1 target sm_90a {\n"
            "%%x = load.f32 %%in, 0, 0 %%y = convert.%s.f32 %%x %%g = join.%s %%y, %%y, %%y, %%y, "
            "%%y\n"
            "%%p = eq.%s %%y, %s %%q = eq.%s %%g, %s %%h = select.%s %%q, %s, %%g %%r = eq.%s %%h, "
            "%%y\n"
            "%%k = loop (%%c: %s*5 = %s) { break %%c } %%t = eq.%s %%k, %%g\n"
            "%%l = loop (%%d: %s = %s) { break %%d } %%u = eq.%s %%l, %%y\n"
            "store.%s %%out, 0, 16, %s %%v = load.%s %%out, 0, 16 %%w = eq.%s %%v, %%y\n"
            "%%q1 = select.u32 %%q, 1, 0 %%q2 = reduce_min.u32 %%q1 store.u32 %%out, 0, 0, %%q2\n"
            "%%r1 = select.u32 %%r, 1, 0 %%r2 = reduce_min.u32 %%r1 store.u32 %%out, 0, 1, %%r2\n"
            "%%t1 = select.u32 %%t, 1, 0 %%t2 = reduce_min.u32 %%t1 store.u32 %%out, 0, 2, %%t2\n"
            "%%a1 = and.bool %%p, %%u %%a2 = and.bool %%a1, %%w %%a3 = select.u32 %%a2, 1, 0\n"
            "store.u32 %%out, 0, 3, %%a3 }\n",
            name, name, name, number, name, number, name, number, name, name, number, name, name,
            number, name, name, number, name, name);
        float in = dtype_is_float(t) ? 1.5f : 3;
        uint32_t out[64] = {0};
        const uint64_t arguments[] = {(uintptr_t)&in, (uintptr_t)out};
        struct ptx_thread thread;
        ptx_thread_init(&thread, &b.arena, ptx_find_function(emitted(&b.arena, text), "f"));
        thread.arguments = arguments;
        const char *unknown = ptx_thread_run(&thread);
        if (unknown)
            fail_msg("%s: %s is not executed", name, unknown);
        for (int i = 0; i < 4; i++)
            if (out[i] != 1)
                fail_msg("%s: constants differ in check %d", name, i);
        bench_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_of_all_types),
        cmocka_unit_test(conversions),
        cmocka_unit_test(bits_and_choices),
        cmocka_unit_test(philox),
        cmocka_unit_test(constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
