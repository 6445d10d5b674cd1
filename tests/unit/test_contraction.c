/* a * b + c has the same bits on the CPU engine and on the simulator, whichever of its operands
 * are known at compile time: each of a, b and c is read from memory, a static parameter, a
 * literal, or a constant. TW_TEST_LONG: many more values. */
#include "tile/tile.h"
#include "tilewright.h"
#include "tilewright_sim.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;
static jmp_buf failed;
static tw_context *ctx;
static uint64_t seed = 1;
static int64_t tried;

static int below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

/* The form in which a value is given. */
enum { READ, STATIC, LITERAL, CONSTANT, WAYS, PARTS = 3, FORMS = 8, UNROLLED = 3 };
enum { ITEMS = FORMS * WAYS * WAYS * WAYS + UNROLLED };

/* @0, @1, @2 are a, b and c; the value is x * y + z with signs, or with two roundings if
 * `apart`. */
static const struct form {
    const char *text;
    int sign_product, sign_sum;
    bool apart; /* the product is rounded separately */
} forms[FORMS] = {{"@0 * @1 + @2", 1, 1, false},
                  {"@2 + @0 * @1", 1, 1, false},
                  {"@0 * @1 - @2", 1, -1, false},
                  {"@2 - @0 * @1", -1, 1, false},
                  {"-(@0 * @1) + @2", -1, 1, true},
                  {"(T) (@0 * @1) + @2", 1, 1, true},
                  {"(s0 == s0 ? @0 * @1 : @2) - @2", 1, -1, true},
                  {"-(-(@0 * @1)) + @2", 1, 1, true}};

struct values {
    enum dtype t;
    double part[PARTS];
};

static double rounded(enum dtype t, double v)
{
    struct literal x = {.is_float = true, .f = v};
    return eval_cast(t, DT_F64, &x).f;
}

static double apply(enum op op, enum dtype t, double a, double b, double c)
{
    const struct literal x[3] = {
        {.is_float = true, .f = a}, {.is_float = true, .f = b}, {.is_float = true, .f = c}};
    struct literal out;
    assert_true(eval_op(op, t, x, op == OP_FMA ? 3 : 2, &out));
    return out.f;
}

static double expected(const struct form *f, const struct values *v)
{
    double a = v->part[0] * f->sign_product, c = v->part[2] * f->sign_sum;
    return f->apart ? apply(OP_ADD, v->t, apply(OP_MUL, v->t, a, v->part[1], 0), c, 0)
                    : apply(OP_FMA, v->t, a, v->part[1], c);
}

static void write_part(struct text *out, int way, int part, double v)
{
    static const char *const names[] = {"x%d", "s%d", "", "K%d"};
    if (way == LITERAL)
        text_printf(out, "((T) (%.17g))", v);
    else
        text_printf(out, names[way], part);
}

static void write_item(struct text *out, const struct form *f, int ways, const struct values *v)
{
    const int way[PARTS] = {ways % WAYS, ways / WAYS % WAYS, ways / WAYS / WAYS};
    for (const char *at = f->text; *at; at++) {
        int part = at[0] == '@' ? at[1] - '0' : -1;
        if (part < 0)
            text_add_n(out, at, 1);
        else
            write_part(out, way[part], part, v->part[part]), at++;
    }
}

static const char *write_kernel(const struct values *v, bool tiles)
{
    struct text out;
    text_init(&out, &arena);
    text_printf(&out, "type T = {%s};\n", dtype_table[v->t].name);
    for (int i = 0; i < PARTS; i++)
        text_printf(&out, "const %s K%d = %.17g;\n", dtype_table[v->t].name, i, v->part[i]);
    text_printf(&out,
                "kernel k(static T s0, static T s1, static T s2, const T *x, T *o) grid(1) %s\n"
                "{\n    global T X[3] = x, O[%d] = o;\n",
                tiles ? "warps(1)" : "threads(1)", ITEMS);
    for (int i = 0; i < PARTS; i++)
        text_printf(&out, tiles ? "    reg T x%d[1] = X[%d +: 1];\n" : "    T x%d = X[%d];\n", i,
                    i);
    for (int k = 0; k < ITEMS - UNROLLED; k++) {
        text_printf(&out, tiles ? "    O[%d +: 1] = " : "    O[%d] = ", k);
        write_item(&out, &forms[k % FORMS], k / FORMS, v);
        text_add(&out, ";\n");
    }
    text_printf(
        &out,
        "    unroll for (i32 u = 0; u < %d; u++)\n        O[%d + u%s] = (T) (u + 3) * %s;\n}\n",
        UNROLLED, ITEMS - UNROLLED, tiles ? " +: 1" : "", "s1 - x2");
    return out.data;
}

static void give(tw_launch *l, const struct values *v, void *x, void *o)
{
    tw_array in = tw_host_array(x, (tw_dtype)v->t, PARTS);
    tw_array out = tw_host_array(o, (tw_dtype)v->t, ITEMS);
    static const char *const names[PARTS] = {"s0", "s1", "s2"};
    for (int i = 0; i < PARTS; i++) {
        tw_value s = tw_float(v->part[i]);
        dtype_store_f64(v->t, (char *)x + (size_t)i * dtype_size(v->t), v->part[i]);
        assert_int_equal(tw_launch_set(l, names[i], s), TW_OK);
    }
    assert_int_equal(tw_launch_array(l, "x", &in), TW_OK);
    assert_int_equal(tw_launch_array(l, "o", &out), TW_OK);
}

static void compare(const struct values *v, const void *o, const char *device, const char *text)
{
    for (int k = 0; k < ITEMS; k++) {
        double is = dtype_load_f64(v->t, (const char *)o + (size_t)k * dtype_size(v->t));
        bool unrolled = k >= ITEMS - UNROLLED;
        double should =
            unrolled ? apply(OP_FMA, v->t, k - (ITEMS - UNROLLED) + 3, v->part[1], -v->part[2])
                     : expected(&forms[k % FORMS], v);
        if (is != should || signbit(is) != signbit(should))
            fail_msg("O[%d] (form `%s`) is %.17g on %s, expected %.17g, in\n%s", k,
                     unrolled ? "unrolled" : forms[k % FORMS].text, is, device, should, text);
        tried++;
    }
}

static void one_program(const struct values *v, bool tiles)
{
    double x[PARTS], o[ITEMS];
    const char *text = write_kernel(v, tiles);
    tw_module *m = NULL;
    tw_kernel *gpu = NULL;
    tw_launch *host = NULL, *sim = NULL;
    const tw_sim_options options = tw_sim_options_init();
    if (tw_module_from_text(ctx, "contraction.tile", text, strlen(text), &m) != TW_OK ||
        tw_kernel_for_target(tw_module_kernel_at(m, 0), "sm_90", &gpu) != TW_OK ||
        tw_launch_new(tw_module_kernel_at(m, 0), &host) != TW_OK ||
        tw_launch_new(gpu, &sim) != TW_OK)
        fail_msg("%s\n%s", tw_context_messages(ctx), text);
    give(host, v, x, o);
    if (tw_launch_run(host) != TW_OK)
        fail_msg("%s\n%s", tw_context_messages(ctx), text);
    compare(v, o, "the CPU", text);
    give(sim, v, x, o);
    if (tw_launch_simulate(sim, &options, NULL) != TW_OK)
        fail_msg("%s\n%s", tw_context_messages(ctx), text);
    compare(v, o, "the simulator", text);
    tw_launch_free(host);
    tw_launch_free(sim);
    tw_module_free(m);
}

static double some_number(enum dtype t)
{
    double v = (1 + below(1 << 30) * 0x1p-30) * (1 + below(6));
    return rounded(t, below(2) ? -v : v);
}

/* Subtracts most of a * b: the rest shows how the product was rounded. */
static void same_bits(void **state)
{
    static const enum dtype types[] = {DT_F32, DT_F64, DT_F16, DT_BF16};
    (void)state;
    int count = getenv("TW_TEST_LONG") ? 200 : 2;
    for (int i = 0; i < count; i++)
        for (int t = 0; t < 4; t++)
            for (int tiles = 0; tiles < 2; tiles++) {
                struct values v = {.t = types[t]};
                v.part[0] = some_number(v.t);
                v.part[1] = some_number(v.t);
                v.part[2] = rounded(v.t, v.part[0] * v.part[1]) * (below(2) ? -1 : 1);
                if (below(4) == 0)
                    v.part[2] = some_number(v.t);
                one_program(&v, tiles);
                arena_free(&arena);
                arena_init(&arena, &allocator_libc, &failed);
            }
    print_message("%lld values\n", (long long)tried);
}

static int open_all(void **state)
{
    (void)state;
    arena_init(&arena, &allocator_libc, &failed);
    return tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = 1}, &ctx) == TW_OK
               ? 0
               : -1;
}

static int close_all(void **state)
{
    (void)state;
    tw_context_free(ctx);
    arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
