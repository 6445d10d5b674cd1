#include "hopper_program.h"

#include "base/platform.h"
#include "base/tensor_map.h"
#include "nvptx/nvptx.h"
#include "sim/sim_barrier_check.h"
#include "sim/sim_flops.h"
#include "sim/sim_memcheck.h"
#include "sim/race/sim_race.h"
#include "sim/sim_trace.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER TW_TEST_ROOT "/tests/hopper/"
enum { THREADS = 384, WIDTH = 128, MOST_STEPS = 20000000, PAST = 64, UNTOUCHED = 0x5a5a };

const struct hopper_program hopper_programs[] = {
    {"matmul.ptx", HOPPER_MATMUL, "matmul_hopper", 213056, 1, 1},
    {"matmul.thread", HOPPER_MATMUL, "matmul_hopper", 213056, 1, 1},
    {"matmul_pairs.ptx", HOPPER_MATMUL, "matmul_hopper_pairs", 213056, 2, 2},
    {"attention.ptx", HOPPER_ATTENTION, "attention_hopper", 163968, 1, 1},
    {"attention.thread", HOPPER_ATTENTION, "attention_hopper", 163968, 1, 1},
};
const int hopper_program_count = sizeof hopper_programs / sizeof *hopper_programs;

/* --- texts --- */

static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    assert_non_null(copy);
    return strcpy(copy, text);
}

static const char *ptx_of_thread(struct arena *a, const struct source *source)
{
    struct diag diag;
    struct text text;
    diag_init(&diag, a);
    text_init(&text, a);
    struct thread_function *f = thread_parse(a, source, &diag);
    if (!f || !thread_verify(a, f, &diag))
        fail_msg("%s is not read", source->name);
    thread_optimise(a, f);
    struct ptx_module *m = nvptx_emit(a, f, &diag);
    if (!m)
        fail_msg("%s has no PTX", source->name);
    ptx_print(&text, m);
    return text.data;
}

char *hopper_text(const struct hopper_program *p)
{
    struct arena arena;
    jmp_buf out_of_memory;
    const char *why;
    char path[512];
    struct source source = {.name = p->file};
    snprintf(path, sizeof path, "%s%s", FOLDER, p->file);
    arena_init(&arena, &allocator_libc, &out_of_memory);
    if (setjmp(out_of_memory))
        fail_msg("no memory");
    source.text = platform_read_file(&arena, path, &source.length, &why);
    if (!source.text)
        fail_msg("%s: %s", path, why);
    bool thread = strstr(p->file, ".thread");
    char *text = copy_of(thread ? ptx_of_thread(&arena, &source) : source.text);
    arena_free(&arena);
    return text;
}

/* --- arrays --- */

/* An array of 2-byte elements, [planes][rows][columns], followed by elements that must stay. */
struct array {
    int planes, rows, columns;
    uint16_t *data;
    uint64_t address;
};

static size_t count_of(const struct array *a)
{
    return (size_t)a->planes * (size_t)a->rows * (size_t)a->columns;
}

/* Makes eighths from -1 to 1, whose products and sums are exact in f32. */
static void make(struct array *a, enum dtype type, bool filled, uint32_t seed)
{
    size_t count = count_of(a);
    a->data = malloc((count + PAST) * sizeof *a->data);
    assert_non_null(a->data);
    for (size_t i = 0; i < count + PAST; i++) {
        seed = seed * 1664525 + 1013904223;
        float v = (float)((int)(seed >> 24) % 17 - 8) / 8;
        uint16_t bits = type == DT_BF16 ? f32_to_bf16(v) : f32_to_f16(v);
        a->data[i] = filled && i < count ? bits : UNTOUCHED;
    }
}

static double value(const struct array *a, enum dtype type, int plane, int row, int column)
{
    size_t i =
        ((size_t)plane * (size_t)a->rows + (size_t)row) * (size_t)a->columns + (size_t)column;
    return (double)(type == DT_BF16 ? bf16_to_f32(a->data[i]) : f16_to_f32(a->data[i]));
}

static void give(struct sim *sim, struct array *a, const char *name)
{
    a->address = sim_attach(sim, a->data, count_of(a) * sizeof *a->data, name);
    assert_true(a->address);
}

static void map_of(const struct array *a, enum dtype type, int rank, int box_rows, uint8_t *bytes)
{
    char why[TENSOR_MAP_MESSAGE];
    uint64_t row = (uint64_t)a->columns * 2;
    struct tensor_map map = {
        .address = a->address,
        .type = type,
        .rank = rank,
        .extents = {(uint64_t)a->columns, (uint64_t)a->rows, (uint64_t)a->planes},
        .strides = {0, row, row * (uint64_t)a->rows},
        .box = {64, (uint32_t)box_rows, 1},
        .steps = {1, 1, 1},
        .swizzle = SWIZZLE_128B};
    if (!tensor_map_check(&map, why))
        fail_msg("%s", why);
    tensor_map_encode(&map, bytes);
}

/* --- launches --- */

struct case_of {
    struct arena arena, later; /* later: of the report and of observers that hear later */
    jmp_buf out_of_memory;
    struct diag diag;
    struct sim *sim;
    struct sim_report report;
    struct sim_races *races;
    struct sim_memcheck *memory;
    struct sim_barrier_check *barriers;
    struct sim_counters *counters;
    struct sim_trace *trace;
    struct sim_launch launch;
    struct array array[4];
    _Alignas(64) uint8_t maps[4][TENSOR_MAP_BYTES];
    uint32_t words[3];
    float scale;
    const void *arguments[8];
};

static bool load(struct case_of *c, const char *text, struct source *source)
{
    *source = (struct source){"hopper.ptx", text, strlen(text)};
    diag_init(&c->diag, &c->arena);
    struct ptx_module *m = ptx_parse(&c->arena, source, &c->diag);
    if (!m || !ptx_verify(m, &c->diag))
        return false;
    c->sim = sim_new(&c->arena);
    const char *threads = getenv("TW_TEST_THREADS");
    sim_hear_later(c->sim, &c->later, threads ? atoi(threads) : 1);
    sim_report_init(&c->report, &c->later, m);
    c->report.machine = c->sim;
    return sim_load(c->sim, m, source, &c->diag);
}

static void watch(struct case_of *c)
{
    c->races = sim_races_new(&c->later, &c->report);
    c->memory = sim_memcheck_new(&c->arena, &c->report);
    c->barriers = sim_barrier_check_new(&c->arena, &c->report);
    sim_observe(c->sim, sim_races_observer(c->races));
    sim_observe(c->sim, sim_memcheck_observer(c->memory));
    sim_observe(c->sim, sim_barrier_check_observer(c->barriers));
    c->counters = sim_counters_new(&c->later);
    sim_observe(c->sim, sim_counters_observer(c->counters));
}

static void trace(struct case_of *c, const struct hopper_program *p, const struct ptx_module *m)
{
    c->trace = sim_trace_new(&c->arena);
    *sim_trace_settings(c->trace) = (struct sim_trace_settings){.most = 1 << 20,
                                                                .version = "1",
                                                                .kernel = p->kernel,
                                                                .target = "sm_90a",
                                                                .file = p->file,
                                                                .module = m};
    sim_observe(c->sim, sim_trace_observer(c->trace));
}

static void note_counts(struct case_of *c, struct hopper_outcome *o)
{
    size_t count = 0;
    const struct sim_counted *all = sim_counters_all(c->counters, &count);
    sim_counters_total(c->counters, &o->counts);
    for (size_t i = 0; i < count; i++)
        o->operations += sim_flops_of_matrix(all[i].ins) * (double)all[i].counts.warp_instructions;
}

static void give_matmul(struct case_of *c, const struct hopper_program *p,
                        const struct hopper_run *run)
{
    int m = run->size[0], n = run->size[1], k = run->size[2];
    int boxes[] = {128, 256 / (int)p->half, 64};
    static const char *const names[] = {"a", "b", "c"};
    c->array[0] = (struct array){1, m, k, NULL, 0};
    c->array[1] = (struct array){1, n, k, NULL, 0};
    c->array[2] = (struct array){1, m, n, NULL, 0};
    for (int i = 0; i < 3; i++) {
        make(&c->array[i], DT_BF16, i < 2, (uint32_t)(i + m));
        give(c->sim, &c->array[i], names[i]);
        map_of(&c->array[i], DT_BF16, 2, boxes[i], c->maps[i]);
        c->arguments[i] = c->maps[i];
        c->words[i] = (uint32_t)run->size[i];
        c->arguments[3 + i] = &c->words[i];
    }
    c->launch.argument_count = 6;
    c->launch.grid[0] = run->blocks;
}

static void give_attention(struct case_of *c, const struct hopper_run *run)
{
    int heads = run->size[0], nq = run->size[1], nk = run->size[2];
    static const int boxes[] = {128, 128, 128, 64};
    static const char *const names[] = {"q", "k", "v", "o"};
    for (int i = 0; i < 4; i++) {
        c->array[i] = (struct array){heads, i == 0 || i == 3 ? nq : nk, WIDTH, NULL, 0};
        make(&c->array[i], DT_F16, i < 3, (uint32_t)(i + nq));
        give(c->sim, &c->array[i], names[i]);
        map_of(&c->array[i], DT_F16, 3, boxes[i], c->maps[i]);
        c->arguments[i] = c->maps[i];
    }
    c->words[0] = (uint32_t)nk;
    c->scale = (float)(1 / log(2) / sqrt(WIDTH));
    c->arguments[4] = &c->words[0];
    c->arguments[5] = &c->scale;
    c->launch.argument_count = 6;
    c->launch.grid[0] = (unsigned)(nq + 127) / 128;
    c->launch.grid[1] = (unsigned)heads;
}

/* --- values --- */

static bool right_product(const struct case_of *c)
{
    const struct array *a = &c->array[0], *b = &c->array[1], *out = &c->array[2];
    for (int i = 0; i < out->rows; i++)
        for (int j = 0; j < out->columns; j++) {
            double sum = 0;
            for (int s = 0; s < a->columns; s++)
                sum += value(a, DT_BF16, 0, i, s) * value(b, DT_BF16, 0, j, s);
            if (out->data[(size_t)i * (size_t)out->columns + (size_t)j] != f32_to_bf16((float)sum))
                return false;
        }
    return true;
}

/* Computes a row of the attention; `weights` has room for nk of them. */
static bool right_row(const struct case_of *c, int head, int row, double *weights)
{
    const struct array *q = &c->array[0], *k = &c->array[1], *v = &c->array[2], *o = &c->array[3];
    double sum = 0;
    for (int j = 0; j < k->rows; j++) {
        double score = 0;
        for (int s = 0; s < WIDTH; s++)
            score += value(q, DT_F16, head, row, s) * value(k, DT_F16, head, j, s);
        sum += weights[j] = exp(score / sqrt(WIDTH));
    }
    for (int s = 0; s < WIDTH; s++) {
        double wanted = 0;
        for (int j = 0; j < k->rows; j++)
            wanted += weights[j] / sum * value(v, DT_F16, head, j, s);
        /* weights and results are rounded to f16: 2^-11 of values up to 1, twice */
        if (!(fabs(value(o, DT_F16, head, row, s) - wanted) < 0x1p-9))
            return false;
    }
    return true;
}

static bool right_attention(const struct case_of *c)
{
    double *weights = malloc((size_t)c->array[1].rows * sizeof *weights);
    bool right = true;
    assert_non_null(weights);
    for (int h = 0; h < c->array[3].planes; h++)
        for (int i = 0; i < c->array[3].rows && right; i++)
            right = right_row(c, h, i, weights);
    free(weights);
    return right;
}

static bool nothing_past(const struct case_of *c)
{
    bool stays = true;
    for (int i = 0; i < 4; i++)
        for (size_t j = 0; c->array[i].data && j < PAST; j++)
            stays = stays && c->array[i].data[count_of(&c->array[i]) + j] == UNTOUCHED;
    return stays;
}

/* --- a run --- */

static void note_findings(struct case_of *c, const struct hopper_run *run, struct hopper_outcome *o)
{
    if (c->races && o->end == SIM_DEADLOCK)
        sim_barrier_check_deadlock(c->barriers, sim_standstill(c->sim));
    o->findings = (int)sim_report_failures(&c->report);
    if (c->report.first)
        snprintf(o->first, sizeof o->first, "%s", sim_found_name(c->report.first->kind));
    if (!run->shown)
        return;
    struct text t;
    text_init(&t, &c->arena);
    sim_report_text(&t, &c->report, false);
    print_message("end %d %s\n%s", o->end, sim_why(c->sim), t.data ? t.data : "");
}

static void close_case(struct case_of *c)
{
    if (c->races) {
        sim_races_free(c->races);
        sim_memcheck_free(c->memory);
        sim_barrier_check_free(c->barriers);
    }
    if (c->sim)
        sim_free(c->sim);
    for (int i = 0; i < 4; i++)
        free(c->array[i].data);
    arena_free(&c->arena);
    arena_free(&c->later);
}

struct hopper_outcome hopper_run(const struct hopper_program *p, const char *text,
                                 const struct hopper_run *run)
{
    static struct case_of c;
    struct hopper_outcome o = {.end = SIM_STOPPED};
    struct source source;
    memset(&c, 0, sizeof c);
    arena_init(&c.arena, &allocator_libc, &c.out_of_memory);
    arena_init(&c.later, &allocator_libc, &c.out_of_memory);
    if (setjmp(c.out_of_memory))
        fail_msg("no memory");
    o.read = load(&c, text, &source);
    if (!o.read) {
        close_case(&c);
        return o;
    }
    c.launch = (struct sim_launch){.kernel = p->kernel,
                                   .grid = {1, 1, 1},
                                   .block = {THREADS, 1, 1},
                                   .cluster = {p->cluster, 1, 1},
                                   .dynamic_shared = p->shared,
                                   .arguments = c.arguments,
                                   .options = run->options};
    if (!c.launch.options.step_limit)
        c.launch.options.step_limit = MOST_STEPS;
    if (p->kind == HOPPER_MATMUL)
        give_matmul(&c, p, run);
    else
        give_attention(&c, run);
    if (!run->unchecked)
        watch(&c);
    if (run->traced)
        trace(&c, p, c.report.module);
    o.end = sim_run(c.sim, &c.launch, &c.diag);
    o.steps = sim_steps(c.sim);
    o.right = o.end == SIM_DONE && nothing_past(&c) &&
              (p->kind == HOPPER_MATMUL ? right_product(&c) : right_attention(&c));
    note_findings(&c, run, &o);
    if (c.counters)
        note_counts(&c, &o);
    if (c.trace) {
        struct text written;
        text_init(&written, &c.arena);
        sim_trace_write(c.trace, NULL, &written);
        o.trace = written.length;
    }
    close_case(&c);
    return o;
}
