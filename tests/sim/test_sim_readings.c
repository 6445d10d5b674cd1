/* The simulator against an NVIDIA H200: every form of the value, lane, atomic and matrix instructions with every choice of
 * modifiers on generated operands (readings_program.c). readings.bin has what the GPU gave: for each reading a hash of all
 * threads' values, and the values of the first 32 threads. Results that PTX gives a bound for are held to the bound.
 *
 * With TW_READINGS=FOLDER the program, its operands and a list of its readings are written there instead; on a machine with
 * a GPU, tests/gpu/take_readings.py makes readings.bin of them.
 */
#include "readings_program.h"

#include "base/dtype.h"
#include "sim/sim.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SHOWN = 32, MOST_COMPLAINTS = 40 };

static jmp_buf failed;
static struct arena arena;
static struct readings readings;
static uint64_t operands[READING_CLASSES * READING_OPERANDS * READING_THREADS];

static uint64_t hash(const uint8_t *data, size_t count)
{
    uint64_t value = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < count; i++)
        value = (value ^ data[i]) * 0x100000001b3u;
    return value;
}

static void write_file(const char *folder, const char *name, const void *data, size_t size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

static void write_program(const char *folder)
{
    struct text list;
    text_init(&list, &arena);
    for (size_t i = 0; i < readings.list.count; i++)
        text_printf(&list, "%zu %d\n", readings.list.data[i].offset, readings.list.data[i].bytes);
    write_file(folder, "readings.ptx", readings.ptx.data, readings.ptx.length);
    write_file(folder, "operands.bin", operands, sizeof operands);
    write_file(folder, "list.txt", list.data, list.length);
}

/* --- results with a bound --- */

static double number(enum ptx_mod t, uint64_t bits)
{
    union {
        uint32_t u;
        float f;
    } single = {.u = (uint32_t)bits};
    union {
        uint64_t u;
        double d;
    } twice = {.u = bits};
    if (t == PTX_F16 || t == PTX_F16X2)
        return (double)f16_to_f32((uint16_t)bits);
    if (t == PTX_BF16 || t == PTX_BF16X2)
        single.u = (uint32_t)bits << 16;
    return t == PTX_F64 ? twice.d : (double)single.f;
}

static bool is_brain(const struct reading *r)
{
    return r->type == PTX_BF16 || r->type == PTX_BF16X2;
}

/* A sum of k products, below 4 each, and of C, below 2. To f32: terms lose what is below 2^-25 of the greatest's exponent
 * (on an H200 halves whose sums cancel are off by at most 2^-26), and in at most four steps (a supposition, that holds for
 * all readings) what has been summed up is cut or rounded to f32. To f16: of f16 factors one rounding, of 8-bit ones two. */
static double bound_of_product(const struct reading *r, double size)
{
    const char *shape = strstr(r->name, "n8k");
    double k = shape ? atof(shape + 3) : 0, most = 4 * k + 2;
    if (r->type == PTX_F32)
        return 4 * ldexp(most, -23) + ldexp(k + 1, -24);
    return strstr(r->name, ".f16.f16.f16.f16") ? ldexp(size, -10) : 2 * ldexp(most, -11);
}

/* How far the GPU's result may be from the true value: PTX ISA, floating-point-instructions-rcp and so on. Of the coarse
 * ones of f64 it does not tell: the last digit that they have. */
static double bound_of_isa(const struct reading *r, double size)
{
    switch (r->op) {
    case PTX_RCP: return ldexp(size, r->type == PTX_F64 ? -20 : -23);
    case PTX_RSQRT:
        if (r->type == PTX_F64)
            return ldexp(size, strstr(r->name, "ftz") ? -20 : -51);
        return size * exp2(-22.9);
    case PTX_SQRT: return ldexp(size, -23);
    case PTX_DIV: return ldexp(size, -22) + ldexp(1, -148); /* 2 ulp */
    case PTX_SIN:
    case PTX_COS: return exp2(-20.5);
    case PTX_LG2: return ldexp(fmax(size, 1), -22);
    case PTX_EX2:
        return r->type == PTX_F32 ? ldexp(size, -22) : size * exp2(is_brain(r) ? -7 : -9.9);
    case PTX_TANH: return r->type == PTX_F32 ? ldexp(size, -11) : exp2(is_brain(r) ? -8 : -10.987);
    default: return 0;
    }
}

/* Rounding of ours, of a result so large. */
static double rounding(const struct reading *r, double size)
{
    if (r->type == PTX_F64)
        return ldexp(size, strstr(r->name, "ftz") ? -21 : -52);
    if (is_brain(r))
        return ldexp(size, -8);
    return r->type == PTX_F32 ? ldexp(size, -24) : fmax(ldexp(size, -11), ldexp(1, -25));
}

/* How far two results may be from each other: both are within the bound, and rounded. */
static double bound(const struct reading *r, double value)
{
    double size = fabs(value);
    if (r->op == PTX_MMA)
        return bound_of_product(r, size);
    return bound_of_isa(r, size) + 2 * rounding(r, size);
}

static bool is_near(const struct reading *r, uint64_t a, uint64_t b)
{
    if (a == b)
        return true;
    double x = number(r->type, a), y = number(r->type, b);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y))
        return false;
    return fabs(x - y) <= bound(r, y);
}

/* Of sines and cosines far from 0 nothing is promised. */
static bool is_promised(const struct reading *r, int thread)
{
    if (r->op != PTX_SIN && r->op != PTX_COS)
        return true;
    uint64_t x = operands[READING_OPERANDS * READING_THREADS + thread];
    return !(fabs(number(PTX_F32, x & 0xffffffff)) > 3.14159);
}

static uint64_t word(const uint8_t *data, int bytes)
{
    uint64_t v = 0;
    memcpy(&v, data, (size_t)bytes);
    return v;
}

static bool same_value(const struct reading *r, int thread, uint64_t ours, uint64_t theirs)
{
    if (!r->approximate)
        return ours == theirs;
    if (!is_promised(r, thread))
        return true;
    bool packed =
        ptx_mods[r->type].class == PTX_CLASS_PACKED || (r->op == PTX_MMA && r->type == PTX_F16);
    if (packed)
        return is_near(r, ours & 0xffff, theirs & 0xffff) && is_near(r, ours >> 16, theirs >> 16);
    return is_near(r, ours, theirs);
}

/* --- the comparison --- */

static bool is_reading_right(const struct reading *r, const uint8_t *ours, const uint8_t *theirs,
                             struct text *out)
{
    size_t size = (size_t)r->bytes;
    uint64_t wanted = word(theirs, 8);
    for (int t = 0; t < SHOWN; t++) {
        uint64_t a = word(ours + (size_t)t * size, r->bytes),
                 b = word(theirs + 8 + (size_t)t * size, r->bytes);
        if (!same_value(r, t, a, b)) {
            text_printf(out, "  %s: thread %d: %#" PRIx64 ", on the GPU %#" PRIx64 "\n", r->name, t,
                        a, b);
            return false;
        }
    }
    if (r->approximate || hash(ours, size * READING_THREADS) == wanted)
        return true;
    text_printf(out, "  %s: a thread from 32 on\n", r->name);
    return false;
}

static struct sim *machine(uint64_t *out, uint64_t *in)
{
    struct diag diag;
    struct source *source = arena_new(&arena, struct source);
    struct sim *sim = sim_new(&arena);
    *source = (struct source){"readings.ptx", readings.ptx.data, readings.ptx.length};
    diag_init(&diag, &arena);
    struct ptx_module *module = ptx_parse(&arena, source, &diag);
    assert_non_null(module);
    assert_true(ptx_verify(module, &diag));
    assert_true(sim_load(sim, module, source, &diag));
    *out = sim_allocate(sim, readings.bytes, NULL, "readings");
    *in = sim_allocate(sim, sizeof operands, operands, "operands");
    return sim;
}

static void as_on_the_gpu(void **state)
{
    (void)state;
    const char *folder = getenv("TW_READINGS");
    if (folder) {
        write_program(folder);
        return;
    }
    size_t size = 0;
    for (size_t i = 0; i < readings.list.count; i++)
        size += 8 + (size_t)readings.list.data[i].bytes * SHOWN;
    uint8_t *theirs = arena_alloc(&arena, size + 1);
    FILE *f = fopen(TW_TEST_ROOT "/tests/sim/readings.bin", "rb");
    assert_non_null(f);
    assert_int_equal(fread(theirs, 1, size + 1, f), size);
    fclose(f);

    uint64_t out, in;
    struct sim *sim = machine(&out, &in);
    const void *arguments[] = {&out, &in};
    int stopped = 0, wrong = 0;
    struct text complaints;
    text_init(&complaints, &arena);
    size_t at = 0, first = 0;
    for (int k = 0; k < readings.kernels; k++) {
        char name[32];
        snprintf(name, sizeof name, "group_%d", k);
        struct diag diag;
        diag_init(&diag, &arena);
        struct sim_launch launch = {.kernel = name,
                                    .grid = {1, 1, 1},
                                    .block = {READING_THREADS, 1, 1},
                                    .cluster = {1, 1, 1},
                                    .arguments = arguments,
                                    .argument_count = 2};
        if (sim_run(sim, &launch, &diag) != SIM_DONE) {
            text_printf(&complaints, "  %s\n", sim_why(sim));
            stopped++;
        }
        for (; first < readings.list.count && readings.list.data[first].kernel == k; first++) {
            const struct reading *r = &readings.list.data[first];
            const uint8_t *ours =
                sim_host(sim, out + r->offset, (size_t)r->bytes * READING_THREADS);
            struct text ignored;
            text_init(&ignored, &arena);
            wrong += !is_reading_right(r, ours, theirs + at,
                                       wrong < MOST_COMPLAINTS ? &complaints : &ignored);
            at += 8 + (size_t)r->bytes * SHOWN;
        }
    }
    if (stopped || wrong)
        fprintf(stderr, "%s%d kernels stopped, %d of %zu readings differ\n", complaints.data,
                stopped, wrong, readings.list.count);
    assert_int_equal(stopped + wrong, 0);
    sim_free(sim);
}

int main(void)
{
    arena_init(&arena, NULL, &failed);
    if (setjmp(failed))
        return 2;
    struct ptx_target target = {.number = 90};
    readings_make(&readings, &arena, target);
    readings_operands(operands);
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_on_the_gpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
