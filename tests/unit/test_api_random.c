/* Random programs through the public interface: for every type, the engine's results are those
 * of the oracle, and they are the same if intermediate values are shown. */
#include "api_helper.h"
#include "tilewright_look.h"

#include <stdio.h>
#include <string.h>

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 9;
}

/* Writes an expression over A and B; every op's result is cast back to the type. */
static void random_expression(char *out, size_t size, uint32_t *seed, const char *type,
                              bool is_float, int depth)
{
    static const char *const either[] = {"%s + %s",
                                         "%s - %s",
                                         "%s * %s",
                                         "max(%s, %s)",
                                         "where(%s < %s, A, B)",
                                         "dot(%s, trans(%s))",
                                         "min(%s, B) + 0 * %s",
                                         "sum(%s, axis = 1) - %s"};
    static const char *const floats[] = {"exp(%s) - %s",      "%s / (square(%s) + 1)",
                                         "tanh(%s) * %s",     "sqrt(abs(%s)) + %s",
                                         "sin(%s) - cos(%s)", "scan(add, %s, axis = 1) * %s"};
    static const char *const integers[] = {"%s & ~%s",      "%s / (%s | 1)",
                                           "%s % (%s | 1)", "%s >> (%s & 7)",
                                           "%s ^ %s",       "scan(xor, %s, axis = 0) | %s"};
    if (depth == 0) {
        snprintf(out, size, "%s", next_random(seed) % 2 ? "A" : "B");
        return;
    }
    char x[512], y[512];
    random_expression(x, sizeof x, seed, type, is_float, depth - 1);
    random_expression(y, sizeof y, seed, type, is_float, depth - 1);
    uint32_t pick = next_random(seed) % 14;
    const char *form = pick < 8 ? either[pick] : is_float ? floats[pick - 8] : integers[pick - 8];
    int length = snprintf(out, size, "((%s) (", type);
    for (const char *c = form, *operand = x; *c; c++) {
        bool is_operand = c[0] == '%' && c[1] == 's';
        length += snprintf(out + length, size - (size_t)length, "%.*s",
                           is_operand ? (int)strlen(operand) : 1, is_operand ? operand : c);
        c += is_operand;
        operand = is_operand ? y : operand;
    }
    snprintf(out + length, size - (size_t)length, "))");
}

/* Runs the launch again with its values shown, and compares the 64 elements of the output. */
static void run_watched(struct fixture *f, const char *text, void *output, size_t size)
{
    static const tw_probe probes[] = {{.name = "A"}, {.name = "B"}, {.name = "C"}};
    tw_probe_options options = tw_probe_options_init();
    char before[64 * 8];
    options.probes = probes;
    options.count = 3;
    options.line = 5;
    memcpy(before, output, 64 * size);
    memset(output, 0, 64 * size);
    succeed(f, tw_launch_probe(f->launch, &options));
    succeed(f, tw_launch_run(f->launch));
    if (memcmp(before, output, 64 * size) != 0)
        fail_msg("other values when they are shown:\n%s", text);
}

static void run_random_program(struct fixture *f, uint32_t *seed, tw_dtype t)
{
    char expression[1200], text[4000];
    const char *type = tw_dtype_name(t);
    bool is_float = t >= TW_F64 && t <= TW_E5M2;
    random_expression(expression, sizeof expression, seed, type, is_float,
                      1 + (int)(next_random(seed) % 2));
    int length = snprintf(text, sizeof text,
                          "kernel k(const %s *a, const %s *b, %s *c) grid(1) warps(1)\n{\n"
                          "    global %s VA[8][8] = a, VB[8][8] = b, C[8][8] = c;\n"
                          "    reg %s A[8][8] = VA[0 +: 8][0 +: 8], B[8][8] = VB[0 +: 8][0 +: 8];\n"
                          "    C[0 +: 8][0 +: 8] = %s;\n    ensures C == ",
                          type, type, type, type, type, expression);
    for (const char *c = expression; *c; c++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           *c == 'A' || *c == 'B' ? "V%c" : "%c", *c);
    length += snprintf(text + length, sizeof text - (size_t)length, ";\n}\n");
    load(f, text);
    double memory[3][64];
    for (int p = 0; p < 3; p++) {
        for (int i = 0; i < 64; i++)
            tw_dtype_store(t, (char *)memory[p] + (size_t)i * tw_dtype_size(t),
                           is_float ? (double)next_random(seed) / (1 << 22) - 1
                                    : (double)(next_random(seed) % 250) - 120);
        tw_array x = array(memory[p], t, 2, 8, 8);
        succeed(f, tw_launch_array(f->launch, (const char *[]){"a", "b", "c"}[p], &x));
    }
    succeed(f, tw_launch_run(f->launch));
    tw_status status = tw_launch_verify(f->launch, NULL);
    if (status != TW_OK && status != TW_UNSUPPORTED) /* too close to a rounding edge */
        fail_msg("%s\n%s", text, tw_context_messages(f->ctx));
    run_watched(f, text, memory[2], tw_dtype_size(t));
    tw_launch_free(f->launch);
    tw_module_free(f->module);
}

static void test_random_programs(void **state)
{
    uint32_t seed = 7;
    for (int round = 0; round < 40; round++)
        for (int t = 0; t < TW_BOOL; t++)
            run_random_program(*state, &seed, (tw_dtype)t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_programs, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
