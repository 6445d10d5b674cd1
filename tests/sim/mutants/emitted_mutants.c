/* Removes or changes one thing in correct kernels, in their PTX (ptx_mutants.h) or in their source
 * (source_mutants.h; the static check, which would refuse most of these, is skipped), and checks
 * that the simulator notices.
 *
 *     emitted_mutants [-v] [-k KERNEL] [-o SEEDS] [-l HARMLESS] FILE.tile …
 *
 * Every kernel runs in two configurations, with small tiles on small sizes: ragged ones and aligned
 * ones. The kernel itself must have no finding in SEEDS orders (4) and give the values of
 * `ensures`. Each mutant must be caught in one of several orders, with early and late copies: by a
 * finding of the checks, a fault, an endless run, or values that differ from the kernel's. A mutant
 * that does no harm is in the list HARMLESS with its argument:
 *
 *     KERNEL CONFIGURATION MUTATION NUMBER: why
 *
 * (`ragged`, `aligned` or `both`; `ptx-` or `source-` before the mutation.) It is also a failure
 * if an entry's mutants were all caught, or if it has no mutant any more. */
#include "ptx_mutants.h"
#include "synccheck/synccheck.h"
#include "api/pass_order.h"
#include "source_mutants.h"

#include "api/objects.h"
#include "base/platform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 6, ARRAYS = 16, CONFIGURATIONS = 2 };

struct setting {
    const char *name;
    int64_t value;
};
/* Small tiles, with more steps than stages, and several blocks, the last of them ragged. */
static const struct setting tuned[] = {{"BM", 32},    {"BN", 32},   {"BK", 16},    {"WARPS", 2},
                                       {"STAGES", 3}, {"SPLIT", 2}, {"PARTS", 2},  {"WAVE", 4},
                                       {"T", 8},      {"PAD", 1},   {"ROWS", 2},   {"COLS", 16},
                                       {"EACH", 5},   {"N", 128},   {"BLOCKS", 3}, {"STEP", 16}};
/* Other tuned values: for kernels that divide K by the number of blocks, five and nine parts a tile. */
static const struct {
    const char *kernel, *name;
    int64_t value;
} other_tuned[] = {{"matmul_split_sum", "WAVE", 20},
                   {"matmul_split_parts", "WAVE", 36},
                   {"matmul_nt_split", "WAVE", 20},
                   {"matmul_split_ahead", "WAVE", 20}};
static const struct setting sizes[CONFIGURATIONS][32] = {
    {{"m", 37},      {"n", 41},     {"k", 53},     {"batch", 2}, {"heads", 2},  {"nq", 37},
     {"nk", 77},     {"d", 32},     {"causal", 1}, {"scale", 1}, {"rows", 3},   {"cols", 33},
     {"epsilon", 1}, {"groups", 2}, {"most", 37},  {"group", 8}, {"pages", 64}, {"h", 7},
     {"w", 9},       {"c", 35},     {"r", 1},      {"s", 2},     {"f", 37},     {"stride", 2},
     {"pad", 1},     {"size", 8}},
    {{"m", 72},      {"n", 80},     {"k", 80},     {"batch", 2}, {"heads", 2},  {"nq", 48},
     {"nk", 112},    {"d", 32},     {"causal", 0}, {"scale", 1}, {"rows", 3},   {"cols", 208},
     {"epsilon", 1}, {"groups", 2}, {"most", 48},  {"group", 8}, {"pages", 64}, {"h", 8},
     {"w", 8},       {"c", 64},     {"r", 2},      {"s", 1},     {"f", 40},     {"stride", 1},
     {"pad", 1},     {"size", 9}}};
/* Other sizes: for kernels whose own tiles are larger, for those with a copy of each stage in an unrolled loop, for those that split
 * K or have a remainder, for blocks in waves, some whole ones, and for elements of 1 or 2 bytes, whose rows
 * must have a multiple of 4 bytes for asynchronous copies. */
static const struct {
    const char *kernel, *name;
    int64_t value[CONFIGURATIONS];
} other_sizes[] = {{"linear_gelu", "k", {281, 288}},
                   {"matmul_auto", "k", {101, 80}},
                   {"matmul_v4", "k", {101, 80}},
                   {"matmul_v5", "k", {165, 176}},
                   {"matmul_v6", "n", {42, 80}},
                   {"matmul_v6", "k", {106, 80}},
                   {"matmul_v7", "m", {69, 72}},
                   {"matmul_v7", "k", {165, 176}},
                   {"matmul_v8", "m", {69, 72}},
                   {"matmul_v8", "n", {75, 80}},
                   {"matmul_v8", "k", {79, 80}},
                   {"matmul_nt_split", "k", {469, 320}},
                   {"matmul_batched", "n", {80, 80}},
                   {"matmul_batched", "k", {80, 80}},
                   {"matmul_split_sum", "k", {469, 320}},
                   {"matmul_split_ahead", "n", {48, 80}},
                   {"matmul_split_ahead", "k", {528, 560}},
                   {"matmul_split_parts", "k", {853, 432}},
                   {"matmul_v9", "n", {75, 80}},
                   {"matmul_v9", "k", {157, 160}},
                   {"matmul_batched_ahead", "n", {48, 80}},
                   {"matmul_batched_ahead", "k", {144, 160}},
                   {"matmul_nt", "k", {152, 160}},
                   {"matmul_nt_i8", "k", {276, 320}},
                   {"matmul_i8", "n", {44, 80}},
                   {"matmul_i8", "k", {76, 80}},
                   {"matmul_f8", "n", {44, 80}},
                   {"matmul_f8", "k", {76, 80}},
                   {"matmul_v1", "m", {69, 72}},
                   {"matmul_v1", "n", {75, 80}},
                   {"sgemm_register_tiled", "m", {69, 72}},
                   {"sgemm_register_tiled", "n", {75, 80}},
                   {"sgemm_naive", "k", {53, 83}},
                   {"attention", "nq", {75, 48}},
                   {"small_products", "batch", {13, 15}},
                   {"rms_norm_matmul", "k", {245, 192}},
                   {"int8_scaled", "k", {276, 320}},
                   {"sum_all", "n", {221, 320}},
                   {"w8a16", "k", {276, 448}},
                   {"w4a16", "n", {44, 80}},
                   {"w4a16", "k", {150, 160}},
                   {"convolution", "n", {2, 1}},
                   {"grouped_products", "k", {117, 128}},
                   {"paged_attention", "batch", {4, 4}},
                   {"paged_attention", "most", {4, 4}},
                   {"count_bytes", "n", {1001, 1024}}};
static const char *const targets[CONFIGURATIONS] = {"sm_80", "sm_90"};
static const char *const byte_float_targets[CONFIGURATIONS] = {"sm_89", "sm_90"};
static const char *const configuration_names[CONFIGURATIONS] = {"ragged", "aligned"};

struct array {
    tw_array at;
    size_t bytes;
    void *given, *right; /* before a run, and after a run of the kernel itself */
};

struct subject {
    tw_context *ctx;
    tw_module *module;
    tw_kernel *kernel; /* of the target */
    tw_launch *launch;
    const char *name, *text, *target;
    int configuration;
    struct array arrays[ARRAYS];
    int array_count;
    int64_t steps; /* the most of the kernel itself */
};

struct total {
    int kernels, mutants, caught, refused, harmless, failures;
};

struct entry {
    const char *key;
    int made, lived;
    bool judged; /* its kernel ran in its configuration */
};

struct options {
    const char *only;
    VEC(struct entry) list; /* of harmless ones */
    int orders;
    bool verbose;
};

static void need(bool holds, const struct subject *s, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n%s", s->name, what, tw_context_messages(s->ctx));
    exit(2);
}

/* --- the launch --- */

static int64_t size_of(const struct subject *s, const char *name)
{
    for (size_t i = 0; i < sizeof other_sizes / sizeof *other_sizes; i++)
        if (strcmp(other_sizes[i].kernel, s->name) == 0 && strcmp(other_sizes[i].name, name) == 0)
            return other_sizes[i].value[s->configuration];
    const struct setting *given = sizes[s->configuration];
    while (given->name && strcmp(given->name, name) != 0)
        given++;
    need(given->name, s, "a parameter that this program has no size for");
    return given->value;
}

static void set_sizes(struct subject *s)
{
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(s->kernel, i, &p) == TW_OK; i++) {
        if (p.is_pointer || p.derived)
            continue;
        bool is_float = p.dtype == TW_F32;
        tw_value value = is_float ? tw_float(0.25) : tw_int(size_of(s, p.name));
        need(tw_launch_set(s->launch, p.name, value) == TW_OK, s, "a size");
    }
}

static void set_choices(struct subject *s)
{
    tw_tune t = tw_tune_init();
    tw_type type = tw_type_init();
    for (int i = 0; tw_kernel_tune(s->kernel, i, &t) == TW_OK; i++) {
        for (size_t k = 0; k < sizeof tuned / sizeof *tuned; k++)
            if (strcmp(tuned[k].name, t.name) == 0)
                tw_launch_tune(s->launch, t.name, tw_int(tuned[k].value));
        for (size_t k = 0; k < sizeof other_tuned / sizeof *other_tuned; k++)
            if (strcmp(other_tuned[k].kernel, s->name) == 0 &&
                strcmp(other_tuned[k].name, t.name) == 0)
                tw_launch_tune(s->launch, t.name, tw_int(other_tuned[k].value));
    }
    for (int i = 0; tw_kernel_type(s->kernel, i, &type) == TW_OK; i++)
        tw_launch_type(s->launch, type.name, s->configuration ? TW_F16 : TW_F32);
}

/* Returns a value of the type for a number between -1 and 1. An integer is spread, because most would
 * become 0; lengths and places are not below 0. A float is a multiple of 1/128, so that products
 * have the same sum in any order. */
static double spread(tw_dtype t, double value)
{
    switch (t) {
    case TW_I8: return value * INT8_MAX;
    case TW_U8: return (value + 1) / 2 * UINT8_MAX;
    case TW_I32: return (value + 1) / 2 * 64;
    default: return nearbyint(value * 128) / 128;
    }
}

static void make_arrays(struct subject *s)
{
    tw_param p = tw_param_init();
    uint64_t random = 1;
    for (int i = 0; tw_kernel_param(s->kernel, i, &p) == TW_OK; i++) {
        if (!p.is_pointer)
            continue;
        struct array *a = &s->arrays[s->array_count++];
        a->at = tw_array_init();
        need(tw_launch_shape(s->launch, p.name, &a->at) == TW_OK, s, "a shape");
        size_t elements = 1, size = tw_dtype_size(a->at.dtype);
        for (int axis = 0; axis < a->at.rank; axis++)
            elements *= (size_t)a->at.shape[axis];
        a->bytes = elements * size;
        a->at.data = malloc(a->bytes);
        a->given = malloc(a->bytes);
        a->right = malloc(a->bytes);
        for (size_t k = 0; k < elements; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            double value = (double)(random >> 33) * 0x1p-30 - 1;
            tw_dtype_store(a->at.dtype, (char *)a->given + k * size, spread(a->at.dtype, value));
        }
        need(tw_launch_array(s->launch, p.name, &a->at) == TW_OK, s, "an array");
    }
}

static const char *target_of(tw_kernel *kernel, int configuration)
{
    tw_type type = tw_type_init();
    bool byte_floats =
        tw_kernel_type(kernel, 0, &type) == TW_OK && tw_dtype_size(type.choices[0]) == 1;
    return (byte_floats ? byte_float_targets : targets)[configuration];
}

static void open_subject(struct subject *s, tw_module *module, tw_kernel *kernel, int configuration)
{
    s->name = tw_kernel_name(kernel);
    s->module = module;
    s->configuration = configuration;
    s->target = target_of(kernel, configuration);
    need(tw_kernel_for_target(kernel, s->target, &s->kernel) == TW_OK, s, "the target");
    need(tw_launch_new(s->kernel, &s->launch) == TW_OK, s, "a launch");
    set_choices(s);
    set_sizes(s);
    make_arrays(s);
    need(tw_launch_prepare(s->launch) == TW_OK, s, "does not compile");
}

static void close_subject(struct subject *s)
{
    for (int i = 0; i < s->array_count; i++) {
        free(s->arrays[i].at.data);
        free(s->arrays[i].given);
        free(s->arrays[i].right);
    }
    tw_launch_free(s->launch);
}

/* --- a run --- */

enum outcome { SILENT, FOUND, ENDED, WRONG, REFUSED };
static const char *const outcome_text[] = {"silent", "found", "ended", "wrong values", "refused"};

static enum outcome run(struct subject *s, int order, const char **what)
{
    tw_sim_options options = {.size = sizeof options,
                              .watch = TW_WATCH_CHECKS,
                              .seed = (uint64_t)order,
                              .late = order % 2,
                              .step_limit = s->steps ? 4 * s->steps + 10000 : 0};
    tw_sim_result result = tw_sim_result_init();
    for (int i = 0; i < s->array_count; i++)
        memcpy(s->arrays[i].at.data, s->arrays[i].given, s->arrays[i].bytes);
    tw_status status = tw_launch_simulate(s->launch, &options, &result);
    *what = result.finding_count ? result.findings[0].kind : "";
    if (status == TW_FAULT)
        return result.ended ? ENDED : FOUND;
    need(status == TW_OK, s, "cannot be simulated");
    if (!s->steps || result.warp_instructions > s->steps)
        s->steps = result.warp_instructions;
    return SILENT;
}

static enum outcome judge(struct subject *s, int orders, const char **what)
{
    for (int order = 0; order < orders; order++) {
        int64_t steps = s->steps;
        enum outcome outcome = run(s, order, what);
        s->steps = steps;
        for (int i = 0; outcome == SILENT && i < s->array_count; i++)
            if (memcmp(s->arrays[i].at.data, s->arrays[i].right, s->arrays[i].bytes) != 0)
                outcome = WRONG;
        if (outcome != SILENT)
            return outcome;
    }
    return SILENT;
}

/* The kernel itself. */
static bool original_is_silent(struct subject *s, int orders)
{
    const char *what;
    for (int order = 0; order < orders; order++) {
        enum outcome outcome = run(s, order, &what);
        if (outcome == SILENT && tw_launch_verify(s->launch, NULL) != TW_OK)
            outcome = WRONG;
        for (int i = 0; outcome == SILENT && i < s->array_count; i++) {
            struct array *a = &s->arrays[i];
            if (order && memcmp(a->at.data, a->right, a->bytes) != 0)
                outcome = WRONG;
            memcpy(a->right, a->at.data, a->bytes);
        }
        if (outcome == SILENT)
            continue;
        printf("FAIL %s itself, %s, order %d: %s\n%s", s->name,
               configuration_names[s->configuration], order, outcome_text[outcome],
               tw_context_messages(s->ctx));
        return false;
    }
    return true;
}

/* --- mutants --- */

/* A mutant and its outcome. */
struct judged {
    const char *where, *kind, *text; /* "ptx", "source"; for PTX the instruction */
    int number, line;
    enum outcome outcome;
    const char *what;
};

static void read_list(struct arena *a, struct options *o, const char *text)
{
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        const char *colon = strchr(at, ':');
        if (*at == '#' || *at == '\n' || !colon)
            continue;
        struct entry e = {.key = arena_string(a, at, (size_t)(colon - at))};
        vec_push(a, &o->list, e);
    }
}

static struct entry *find_entry(struct options *o, const struct subject *s, const struct judged *j)
{
    const char *names[] = {configuration_names[s->configuration], "both"};
    char key[256];
    for (int n = 0; n < 2; n++) {
        snprintf(key, sizeof key, "%s %s %s-%s %d", s->name, names[n], j->where, j->kind,
                 j->number);
        for (size_t i = 0; i < o->list.count; i++)
            if (strcmp(o->list.data[i].key, key) == 0)
                return &o->list.data[i];
    }
    return NULL;
}

static void count_mutant(const struct subject *s, struct options *o, struct total *total,
                         const struct judged *j)
{
    struct entry *entry = find_entry(o, s, j);
    bool lives = j->outcome == SILENT, fails = lives && !entry;
    total->mutants++;
    total->caught += !lives && j->outcome != REFUSED;
    total->refused += j->outcome == REFUSED;
    total->harmless += lives && entry;
    total->failures += fails;
    if (entry) {
        entry->made++;
        entry->lived += lives;
    }
    if (o->verbose || fails)
        printf("%s%s %s %s-%s %d, number %d: %s %s: %s\n", fails ? "FAIL " : "", s->name,
               configuration_names[s->configuration], j->where, j->kind, j->line, j->number,
               outcome_text[j->outcome], j->what, j->text);
}

/* Reports entries of the list that are wrong now. */
static void judge_list(const struct options *o, struct total *total)
{
    for (size_t i = 0; i < o->list.count; i++) {
        const struct entry *e = &o->list.data[i];
        if (!e->judged || e->lived)
            continue;
        printf("FAIL `%s` is listed as harmless, and %s\n", e->key,
               e->made ? "caught" : "no mutant of the kernel");
        total->failures++;
    }
}

/* Marks the entries of the kernel and its configuration: each must have a mutant. */
static void mark_entries(const struct subject *s, struct options *o)
{
    const char *names[] = {configuration_names[s->configuration], "both"};
    char start[256];
    for (int n = 0; n < 2; n++) {
        int length = snprintf(start, sizeof start, "%s %s ", s->name, names[n]);
        for (size_t i = 0; i < o->list.count; i++)
            if (strncmp(o->list.data[i].key, start, (size_t)length) == 0)
                o->list.data[i].judged = true;
    }
}

static void judge_ptx(struct subject *s, struct options *o, struct total *total)
{
    jmp_buf out_of_memory;
    struct arena a;
    arena_init(&a, NULL, &out_of_memory);
    if (setjmp(out_of_memory))
        abort();
    struct variant *v = s->launch->variant;
    struct ptx_function *f = ptx_find_function(v->read_back, v->lowered->function->name);
    const struct ptx_mutants *m = ptx_mutants_make(&a, f);
    for (size_t i = 0; i < m->count; i++) {
        const struct ptx_mutant *p = &m->data[i];
        const char *what;
        ptx_mutant_apply(f, p);
        enum outcome outcome = judge(s, TRIALS, &what);
        ptx_mutant_undo(f, p);
        struct judged j = {"ptx", p->kind, p->text, p->number, p->line, outcome, what};
        count_mutant(s, o, total, &j);
    }
    arena_free(&a);
}

/* A text lowered for the same choice, without the static synchronisation check. */
struct lowering {
    struct subject *s;
    tw_kernel *kernel;
    struct arena *arena;
    struct lowered *out;
};

static tw_status lower_it(void *call)
{
    struct lowering *c = call;
    const struct choice *choice = &c->s->launch->choice;
    const bool *known = c->s->launch->variant->key.known;
    struct diag *d = &c->s->ctx->diag;
    struct kernel *ir = choice_check(c->arena, d, c->kernel, choice, known);
    if (!ir)
        return TW_BAD_PROGRAM;
    struct launch_facts facts = {
        .values = choice->values, .known = known, .divisor = choice->divisor};
    struct pass_context passes = {
        .kernel = ir, .diag = d, .facts = &facts, .sm = c->kernel->device->ptx.number};
    for (int i = 0; i < pass_order_count && !d->errors; i++)
        if (pass_order_list[i].run != synccheck_pass)
            pass_order_list[i].run(&passes);
    if (!d->errors)
        c->out = choice_lower(c->arena, c->kernel, ir, choice, known);
    return c->out ? TW_OK : TW_BAD_PROGRAM;
}

/* Adds the workspaces of another program to the views whose sizes the launch computes. */
static void add_rooms(struct variant *v, const struct lowered *lowered)
{
    VEC(const struct sym *) all = {.count = 0};
    for (int i = 1; i < v->sizes.parts; i++)
        vec_push(&v->arena, &all, v->sized[i - 1]);
    for (size_t i = 0; i < lowered->params.count; i++)
        if (lowered->params.data[i].kind == LOWERED_WORKSPACE)
            vec_push(&v->arena, &all, lowered->params.data[i].sym);
    v->sized = all.data;
    launch_sizes_compile_all(&v->sizes, &v->arena, v->ir, v->sized, (int)all.count);
}

/* Runs the launch with another program. */
static enum outcome judge_lowered(struct subject *s, struct lowered *lowered, const char **what)
{
    struct variant *v = s->launch->variant, before = *v;
    v->lowered = lowered;
    v->ptx = NULL;
    v->read_back = NULL;
    add_rooms(v, lowered);
    enum outcome outcome = judge(s, TRIALS, what);
    v->sized = before.sized;
    v->sizes = before.sizes;
    v->lowered = before.lowered;
    v->ptx = before.ptx;
    v->read_back = before.read_back;
    return outcome;
}

static void judge_source(struct subject *s, const struct mutant *m, struct options *o,
                         struct total *total)
{
    struct arena a;
    tw_module *module = NULL;
    struct lowering call = {.s = s, .arena = &a};
    const char *what = "";
    enum outcome outcome = REFUSED;
    context_arena(s->ctx, &a);
    if (tw_module_from_text(s->ctx, s->module->source.name, m->text, strlen(m->text), &module) ==
            TW_OK &&
        tw_kernel_for_target(tw_module_kernel(module, s->name), s->target, &call.kernel) == TW_OK &&
        context_call(s->ctx, lower_it, &call) == TW_OK)
        outcome = judge_lowered(s, call.out, &what);
    struct judged j = {"source", m->kind, "", m->number, m->line, outcome, what};
    count_mutant(s, o, total, &j);
    tw_module_free(module);
    arena_free(&a);
}

static void judge_sources(struct subject *s, struct options *o, struct total *total)
{
    jmp_buf out_of_memory;
    struct arena a;
    arena_init(&a, NULL, &out_of_memory);
    if (setjmp(out_of_memory))
        abort();
    struct span body = source_body(s->text, s->kernel->info->loc.offset);
    const struct source_mutants *sync = source_mutants_make(&a, s->text, body);
    const struct source_mutants *values = source_value_mutants_make(&a, s->text, body);
    for (size_t i = 0; i < sync->count; i++)
        judge_source(s, &sync->data[i], o, total);
    for (size_t i = 0; i < values->count; i++)
        judge_source(s, &values->data[i], o, total);
    arena_free(&a);
}

static void judge_kernel(tw_context *ctx, tw_module *module, tw_kernel *kernel, int configuration,
                         struct options *o, struct total *total)
{
    struct subject s = {.ctx = ctx, .text = module->source.text};
    open_subject(&s, module, kernel, configuration);
    total->kernels += configuration == 0;
    if (original_is_silent(&s, o->orders)) {
        mark_entries(&s, o);
        judge_ptx(&s, o, total);
        judge_sources(&s, o, total);
    } else {
        total->failures++;
    }
    close_subject(&s);
}

static bool judge_file(const char *path, struct options *o, struct total *total)
{
    tw_context *ctx;
    tw_module *module;
    if (tw_context_new(NULL, &ctx) != TW_OK)
        return false;
    bool read = tw_module_from_file(ctx, path, &module) == TW_OK;
    if (!read)
        fprintf(stderr, "%s", tw_context_messages(ctx));
    for (int i = 0; read && i < tw_module_kernel_count(module); i++) {
        tw_kernel *k = tw_module_kernel_at(module, i);
        if (o->only && strcmp(o->only, tw_kernel_name(k)) != 0)
            continue;
        for (int c = 0; c < CONFIGURATIONS; c++)
            judge_kernel(ctx, module, k, c, o, total);
    }
    tw_context_free(ctx);
    return read;
}

static int run_all(struct arena *a, int argc, char **argv)
{
    struct options o = {.orders = 4};
    struct total total = {0};
    size_t length;
    const char *why = "";
    bool good = true;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "-v") == 0)
            o.verbose = true;
        else if (strcmp(argv[i], "-k") == 0 && more)
            o.only = argv[++i];
        else if (strcmp(argv[i], "-o") == 0 && more)
            o.orders = atoi(argv[++i]);
        else if (strcmp(argv[i], "-l") == 0 && more)
            read_list(a, &o, platform_read_file(a, argv[++i], &length, &why));
        else
            good = judge_file(argv[i], &o, &total) && good;
    }
    judge_list(&o, &total);
    printf("%d kernels, %d mutants: %d caught, %d refused by the compiler, %d listed as harmless; "
           "%d failures\n",
           total.kernels, total.mutants, total.caught, total.refused, total.harmless,
           total.failures);
    if (!total.mutants) /* no file, or no kernel of that name */
        return 2;
    return !good ? 2 : total.failures > 0;
}

int main(int argc, char **argv)
{
    jmp_buf out_of_memory;
    struct arena a;
    arena_init(&a, NULL, &out_of_memory);
    if (setjmp(out_of_memory))
        abort();
    int status = run_all(&a, argc, argv);
    arena_free(&a);
    return status;
}
