#include "packed_helper.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct outcome {
    struct cpu_fault fault;
    int line;
    unsigned char c[PACKED_ARRAY];
};

double packed_usual(size_t i)
{
    return (double)(i * 37 % 101) / 7 - 6;
}

double packed_sometimes_infinite(size_t i)
{
    return i * 37 % 101 == 100 ? INFINITY : packed_usual(i);
}

double (*packed_element)(size_t i) = packed_usual;

void packed_fill(const struct param *p, unsigned char *data)
{
    static unsigned char filled[DT_COUNT][PACKED_ARRAY];
    static double (*made[DT_COUNT])(size_t i); /* the fill function of each type */
    enum dtype t = p->sym->type.dtype;
    size_t size = dtype_size(t);
    for (size_t i = 0; i < PACKED_ARRAY / size && made[t] != packed_element; i++)
        dtype_store_f64(t, filled[t] + i * size, packed_element(i));
    made[t] = packed_element;
    memcpy(data, filled[t], PACKED_ARRAY);
}

/* *packed: the number of tiles that the engine packs. */
static void run_once(const char *text, int64_t n, const struct routine_set *set, bool plain,
                     int threads, struct outcome *out, uint32_t *packed)
{
    struct cpu_run r;
    cpu_open_plain(&r, text, (const struct given[]){{"n", n}, {NULL, 0}}, set, plain);
    *packed = r.program->packed_states;
    for (const struct param *p = r.kernel->params; p; p = p->next)
        if (p->sym->is_pointer) {
            unsigned char *data = cpu_array(&r, p->sym->name, PACKED_ARRAY);
            if (p->sym->is_const)
                packed_fill(p, data);
        }
    cpu_go(&r, threads);
    out->fault = r.fault;
    out->line = r.line;
    memcpy(out->c, r.args[r.kernel->param_count - 1].data, PACKED_ARRAY);
    cpu_close(&r);
}

/* Runs the text on three workers; returns the fault, and in *packed the number of packed stages
 * of tiles. */
static struct cpu_fault look_for_races(const char *text, int64_t n, uint32_t *packed)
{
    static struct outcome got;
    run_once(text, n, NULL, false, 3, &got, packed);
    return got.fault;
}

struct cpu_fault packed_expect_same(const char *text, int64_t n, uint32_t *packed)
{
    if (TW_TEST_RACES_ONLY)
        return look_for_races(text, n, packed);
    struct outcome *plain = calloc(1, sizeof *plain), *got = calloc(1, sizeof *got);
    uint32_t none;
    assert_true(plain && got);
    run_once(text, n, routine_set_at(0), true, 1, plain, &none);
    assert_int_equal(none, 0);
    for (int s = 0; routine_set_at(s); s++)
        for (int threads = 1; threads <= 3; threads += 2) {
            const char *name = routine_set_at(s)->name;
            run_once(text, n, routine_set_at(s), false, threads, got, packed);
            if (plain->fault.kind != got->fault.kind || plain->line != got->line ||
                strcmp(plain->fault.message, got->fault.message) != 0)
                fail_msg("n = %d: plain: line %d: %s; %s: line %d: %s\n%s", (int)n, plain->line,
                         plain->fault.message, name, got->line, got->fault.message, text);
            if (plain->fault.kind == CPU_OK && memcmp(plain->c, got->c, PACKED_ARRAY) != 0)
                fail_msg("n = %d, %s, %d threads: other values\n%s", (int)n, name, threads, text);
        }
    struct cpu_fault fault = plain->fault;
    free(plain);
    free(got);
    return fault;
}
