/* Fuzzes the PTX parser and the simulator: damaged programs of every compiler, run with all checks.
 *
 *     fuzz_ptx [SECONDS [SEED]] [FILE.ptx …]      60 seconds, seed 1; no files: the tests' PTX
 *     fuzz_ptx --case N [FILE.ptx …]              one case again: its text, and what happens
 *     fuzz_ptx --show N [FILE.ptx …]              the text alone
 *
 * Invariants for every text:
 *
 *   a program is missing exactly when a message gives the reason;
 *   a text that is read prints as a text that is read again, and prints the same;
 *   a run ends within its limit, with a message if it failed;
 *   the same seed gives the same run.
 *
 * Exit status 1 if anything was found. Build it with the address and undefined behaviour
 * sanitizers. */
#include "fuzz.h"

#include "ptx/ptx.h"
#include "tilewright.h"
#include "tilewright_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMORY_LIMIT = 256 << 20, /* bytes that one text may take */
    ARRAY_BYTES = 1 << 14,
    MOST_ARGUMENTS = 16,
    MOST_KERNELS = 3,
    STEP_LIMIT = 4000
};
enum { NOT_READ, READ, SIMULATED, TO_ITS_END };

static void finding(const char *what, const char *detail)
{
    fprintf(stderr, "fuzz: %s: %s\n", what, detail);
    abort();
}

/* --- memory --- */

static void *metered(void *user, void *ptr, size_t old_size, size_t size)
{
    size_t *used = user;
    if (size > old_size && *used + size - old_size > MEMORY_LIMIT)
        return NULL;
    void *got = allocator_libc.resize(allocator_libc.user, ptr, old_size, size);
    if (got || size == 0)
        *used = *used - old_size + size;
    return got;
}

/* --- reading and printing --- */

static struct ptx_module *read_text(struct arena *a, const char *text, size_t n)
{
    struct diag found;
    struct source *source = arena_new(a, struct source);
    *source = (struct source){.name = "case.ptx", .text = text, .length = n};
    diag_init(&found, a);
    return ptx_parse(a, source, &found);
}

static void must_print_alike(const char *text, size_t n)
{
    jmp_buf failed;
    struct arena a;
    struct text first, second;
    arena_init(&a, &allocator_libc, &failed);
    if (setjmp(failed) != 0)
        abort();
    struct ptx_module *m = read_text(&a, text, n);
    if (m) {
        text_init(&first, &a);
        text_init(&second, &a);
        ptx_print(&first, m);
        struct ptx_module *again = read_text(&a, first.data, first.length);
        if (!again)
            finding("the printed program is not read", first.data);
        ptx_print(&second, again);
        if (strcmp(first.data, second.data) != 0)
            finding("the printed program prints differently", first.data);
    }
    arena_free(&a);
}

/* --- run --- */

/* A launch of one kernel, with arrays for its pointers and small numbers for the rest. */
struct fuzz_launch {
    tw_ptx *program;
    tw_ptx_launch launch;
    tw_ptx_argument arguments[MOST_ARGUMENTS];
    unsigned char *memory; /* of all arguments */
    size_t bytes;
    tw_sim_options options;
};

static void prepare(struct fuzz_launch *f, const char *kernel, struct rng *r)
{
    int count = tw_ptx_param_count(f->program, kernel);
    f->launch = (tw_ptx_launch){.size = sizeof(tw_ptx_launch),
                                .kernel = kernel,
                                .grid = {1 + rng_below(r, 3), 1, 1},
                                .block = {1 + rng_below(r, 96), 1, 1},
                                .shared_bytes = rng_chance(r, 50) ? 0 : 1 << rng_below(r, 17),
                                .arguments = f->arguments};
    tw_ptx_block(f->program, kernel, f->launch.block);
    for (int i = 0; i < count && i < MOST_ARGUMENTS; i++) {
        tw_ptx_param p = tw_ptx_param_init();
        if (tw_ptx_param_at(f->program, kernel, i, &p) != TW_OK)
            finding("a parameter is not there", kernel);
        unsigned char *data = f->memory + i * ARRAY_BYTES;
        bool array = p.bytes == 8 && rng_chance(r, 95);
        memset(data, array ? rng_below(r, 3) : 0, ARRAY_BYTES);
        if (!array)
            data[0] = (unsigned char)rng_below(r, 70);
        f->arguments[i] =
            (tw_ptx_argument){.data = data,
                              .bytes = array || p.bytes > ARRAY_BYTES ? ARRAY_BYTES : p.bytes,
                              .is_array = array,
                              .uninitialised = array && rng_chance(r, 20)};
        f->launch.argument_count = i + 1;
    }
    f->options = (tw_sim_options){.size = sizeof(tw_sim_options),
                                  .watch = rng_chance(r, 80) ? TW_WATCH_ALL : 0,
                                  .seed = rng_chance(r, 50) ? rng_next(r) >> 8 : 0,
                                  .late = rng_chance(r, 50),
                                  .step_limit = STEP_LIMIT};
}

static tw_status run_once(struct fuzz_launch *f, tw_context *ctx, tw_sim_result *result)
{
    memset(result, 0, sizeof *result);
    tw_status s = tw_ptx_simulate(f->program, &f->launch, &f->options, result);
    bool said = *tw_context_messages(ctx) || (result->report && *result->report);
    if (s != TW_OK && s != TW_NO_MEMORY && !said)
        finding("a run went wrong without a word", tw_status_text(s));
    if (s == TW_OK && result->failures > 0)
        finding("a run with findings is called good", result->report);
    return s;
}

static int run_kernel(struct fuzz_launch *f, tw_context *ctx, const char *kernel, uint64_t seed)
{
    struct rng first = {seed}, second = {seed};
    tw_sim_result result = tw_sim_result_init();
    prepare(f, kernel, &first);
    tw_status s = run_once(f, ctx, &result);
    if (s == TW_NO_MEMORY || s == TW_UNSUPPORTED || s == TW_BAD_ARGUMENT)
        return READ;
    int64_t steps = result.warp_instructions;
    char *report = strdup(result.report ? result.report : "");
    unsigned char *left = malloc(f->bytes);
    if (!report || !left)
        abort();
    memcpy(left, f->memory, f->bytes);
    prepare(f, kernel, &second);
    if (run_once(f, ctx, &result) != s || result.warp_instructions != steps ||
        strcmp(report, result.report ? result.report : "") != 0 ||
        memcmp(left, f->memory, f->bytes) != 0)
        finding("the same seed gives another run", report);
    free(report);
    free(left);
    return s == TW_OK ? TO_ITS_END : SIMULATED;
}

static int run_program(tw_context *ctx, tw_ptx *program, uint64_t seed)
{
    struct fuzz_launch f = {.program = program, .bytes = (size_t)MOST_ARGUMENTS * ARRAY_BYTES};
    int reached = READ, kernels = tw_ptx_kernel_count(program);
    f.memory = calloc(1, f.bytes);
    if (!f.memory)
        abort();
    for (int i = 0; i < kernels && i < MOST_KERNELS; i++) {
        int one = run_kernel(&f, ctx, tw_ptx_kernel_at(program, i), seed + (uint64_t)i);
        reached = one > reached ? one : reached;
    }
    free(f.memory);
    return reached;
}

static uint64_t hash(const char *text, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

static int take_text(const char *text, size_t n)
{
    size_t used = 0;
    tw_config config = {.size = sizeof config, .resize = metered, .resize_user = &used};
    tw_context *ctx;
    tw_ptx *program = NULL;
    int reached = NOT_READ;
    if (tw_context_new(&config, &ctx) != TW_OK)
        abort();
    tw_status s = tw_ptx_from_text(ctx, "case.ptx", text, n, &program);
    if ((s == TW_OK) != (program != NULL))
        finding("a status and a program that do not agree", tw_status_text(s));
    if (!program && s != TW_NO_MEMORY && !*tw_context_messages(ctx))
        finding("a text is refused without a word", tw_status_text(s));
    if (program) {
        must_print_alike(text, n);
        reached = run_program(ctx, program, hash(text, n));
    }
    tw_ptx_free(program);
    tw_context_free(ctx);
    if (used)
        finding("memory is left over", "");
    return reached;
}

/* --- texts --- */

static bool has_kernel(const struct sample *s)
{
    static const char word[] = ".entry";
    for (size_t i = 0; i + sizeof word <= s->length; i++)
        if (memcmp(s->text + i, word, sizeof word - 1) == 0)
            return true;
    return false;
}

static void make_text(struct text *out, const struct corpus *c, uint64_t number)
{
    struct rng r = {number};
    if (c->count == 0)
        return;
    const struct sample *s = NULL; /* some goldens are other texts */
    for (int i = 0; i < 50 && !(s && has_kernel(s)); i++)
        s = &c->samples[rng_below(&r, (int)c->count)];
    if (rng_chance(&r, 95))
        mutate_lines(out, &r, s->text, s->length, 1 + rng_below(&r, rng_chance(&r, 90) ? 2 : 12),
                     c);
    else
        mutate_bytes(out, &r, s->text, s->length, 1 + rng_below(&r, 8));
}

static const struct fuzz_subject ptx = {
    .name = "fuzz_ptx",
    .endings = {".ptx", ".golden"},
    .folders = {"kernels/cuda", "tests/sim/twins", "tests/ptx/text", "tests/golden"},
    .stages = {"not read", "read", "simulated", "to the end"},
    .make = make_text,
    .run = take_text};

int main(int argc, char **argv)
{
    return fuzz_main(argc, argv, &ptx);
}
