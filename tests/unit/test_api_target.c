/* Kernels for GPUs through the public interface: targets, their tuned values, shown stages,
 * refusals and their messages, memory that runs out at every allocation, and contexts of several
 * threads. No GPU is needed. */
#include "api_helper.h"
#include "tilewright_look.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A kernel whose tuned values differ between targets. */
static const char tuned_text[] =
    "type T = {f16, f32};\n"
    "tune BM = {16};\n"
    "tune(cuda) BM = {64, 32};\n"
    "tune(sm_90) BM = {128};\n"
    "tune STAGES = {3, 2};\n"
    "kernel rows(i32 m, static i32 k, const T *a, f32 *c) grid(cdiv(m, BM)) warps(4)\n"
    "{\n"
    "    global T A[m][k] = a;\n"
    "    global f32 C[m][1] = c;\n"
    "    reg f32 total[BM][1] = 0;\n"
    "    pipeline(STAGES) for (i32 p = 0; p < k; p += 32) {\n"
    "        shared T s[BM][32] = A[block.x * BM +: BM][p +: 32];\n"
    "        total += sum(s, axis = 1);\n"
    "    }\n"
    "    C[block.x * BM +: BM] = total;\n"
    "    ensures C == sum(A, axis = 1);\n"
    "}\n"
    "kernel bytes(i32 n, const e4m3 *a, f32 *c) grid(cdiv(n, 128)) warps(1)\n"
    "{\n"
    "    global e4m3 A[n] = a;\n"
    "    global f32 C[n] = c;\n"
    "    C[block.x * 128 +: 128] = A[block.x * 128 +: 128];\n"
    "}\n";

/* A kernel too large for some targets: 32 KB a stage. */
static const char large_text[] =
    "tune STAGES = {4, 3, 2};\n"
    "kernel large(i32 m, i32 k, const f32 *a, f32 *c) grid(cdiv(m, 128)) warps(4)\n"
    "{\n"
    "    global f32 A[m][k] = a, C[m][1] = c;\n"
    "    reg f32 total[128][1] = 0;\n"
    "    pipeline(STAGES) for (i32 p = 0; p < k; p += 64) {\n"
    "        shared f32 s[128][64] = A[block.x * 128 +: 128][p +: 64];\n"
    "        total += sum(s, axis = 1);\n"
    "    }\n"
    "    C[block.x * 128 +: 128] = total;\n"
    "}\n";

static const char wide_text[] = "tune ROWS = {128, 64};\n"
                                "kernel wide(const f32 *a, f32 *c) grid(1) warps(1)\n"
                                "{\n"
                                "    global f32 A[ROWS][128] = a, C[ROWS][128] = c;\n"
                                "    reg f32 t[ROWS][128] = A[0 +: ROWS];\n"
                                "    C[0 +: ROWS] = t / sum(t);\n"
                                "}\n";

/* A kernel whose code runs on one GPU alone. */
static const char narrow_text[] = "kernel narrow(i32 n, f32 *c) grid(1) warps(1) target(sm_90a)\n"
                                  "{\n"
                                  "    global f32 C[n] = c;\n"
                                  "    C[0 +: 32] = 1;\n"
                                  "}\n";

/* Makes the fixture's launch again, of its first kernel for that target. */
static tw_kernel *aim(struct fixture *f, const char *target)
{
    tw_kernel *k = NULL;
    tw_launch_free(f->launch);
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), target, &k));
    succeed(f, tw_launch_new(k, &f->launch));
    return k;
}

static const char *shown(struct fixture *f, tw_stage stage)
{
    const char *text = NULL;
    succeed(f, tw_launch_show_stage(f->launch, stage, &text));
    assert_non_null(text);
    return text;
}

static void shows(struct fixture *f, tw_stage stage, const char *part)
{
    const char *text = shown(f, stage);
    if (!strstr(text, part))
        fail_msg("no `%s` in\n%s", part, text);
}

/* --- targets --- */

static void test_every_target_is_found(void **state)
{
    struct fixture *f = *state;
    load(f, tuned_text);
    tw_kernel *base = tw_module_kernel_at(f->module, 0), *k, *again;
    int count = 0;
    assert_string_equal(tw_target_at(0), "cpu");
    assert_string_equal(tw_kernel_target(base), "cpu");
    for (; tw_target_at(count); count++) {
        const char *name = tw_target_at(count);
        succeed(f, tw_kernel_for_target(base, name, &k));
        assert_string_equal(tw_kernel_target(k), name);
        assert_string_equal(tw_kernel_name(k), "rows");
        succeed(f, tw_kernel_for_target(base, name, &again));
        assert_ptr_equal(k, again);
    }
    assert_true(count > 10);
    assert_null(tw_target_at(count));
    assert_null(tw_target_at(-1));
    assert_int_equal(tw_module_kernel_count(f->module), 2);
}

static void test_from_target_to_target(void **state)
{
    struct fixture *f = *state;
    load(f, tuned_text);
    tw_kernel *base = tw_module_kernel_at(f->module, 0), *other = tw_module_kernel_at(f->module, 1);
    tw_kernel *a, *b, *c;
    succeed(f, tw_kernel_for_target(base, "sm_80", &a));
    succeed(f, tw_kernel_for_target(a, "sm_90", &b));
    succeed(f, tw_kernel_for_target(base, "sm_90", &c));
    assert_ptr_equal(b, c);
    succeed(f, tw_kernel_for_target(b, "cpu", &c));
    assert_ptr_equal(c, base);
    succeed(f, tw_kernel_for_target(other, "sm_90", &c));
    assert_ptr_not_equal(c, b);
    assert_string_equal(tw_kernel_name(c), "bytes");
}

static void test_no_such_target(void **state)
{
    struct fixture *f = *state;
    load(f, tuned_text);
    tw_kernel *base = tw_module_kernel_at(f->module, 0), *k = base;
    static const struct {
        const char *name, *said;
    } wrong[] = {{"sm_91", "did you mean `sm_90`"},    {"SM_90", "did you mean `sm_90`"},
                 {"sm_75", "from sm_80 on"},           {"sm_090", "there is no target `sm_090`"},
                 {"sm_90b", "did you mean `sm_90`"},   {"cudaa", "did you mean `cuda`"},
                 {"", "there is no target ``"},        {"sm_80 ", "there is no target `sm_80 `"},
                 {"sm_4294967376", "is no target"},    {"sm_", "there is no target `sm_`"},
                 {"hopper", "there are `cuda`, `cpu`"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        k = base;
        refused(f, tw_kernel_for_target(base, wrong[i].name, &k), TW_NOT_FOUND, wrong[i].said);
        assert_null(k);
    }
}

static void test_the_gpu_that_is_here(void **state)
{
    struct fixture *f = *state;
    load(f, tuned_text);
    tw_kernel *k;
    tw_device device = tw_device_init();
    tw_status s = tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "cuda", &k);
    if (tw_device_at(1, &device)) {
        succeed(f, s);
        assert_int_equal(strncmp(tw_kernel_target(k), "sm_", 3), 0);
    } else {
        refused(f, s, TW_UNSUPPORTED, "no GPU to run on: ");
        assert_null(k);
    }
}

static void test_arguments_that_are_missing(void **state)
{
    struct fixture *f = *state;
    load(f, tuned_text);
    tw_kernel *base = tw_module_kernel_at(f->module, 0), *k = base;
    const char *text = "";
    double time = 7;
    assert_int_equal(tw_kernel_for_target(NULL, "sm_80", &k), TW_NOT_FOUND);
    assert_null(k);
    refused(f, tw_kernel_for_target(base, NULL, &k), TW_BAD_ARGUMENT, "`target` or `out` is NULL");
    refused(f, tw_kernel_for_target(base, "sm_80", NULL), TW_BAD_ARGUMENT, "or `out` is NULL");
    assert_int_equal(tw_launch_show_stage(NULL, TW_STAGE_PTX, &text), TW_BAD_ARGUMENT);
    assert_null(text);
    refused(f, tw_launch_show_stage(f->launch, TW_STAGE_PTX, NULL), TW_BAD_ARGUMENT,
            "`text` is NULL");
    refused(f, tw_launch_show_stage(f->launch, TW_STAGE_PTX, &text), TW_BAD_ARGUMENT,
            "the target `cpu` has no PTX; ask tw_kernel_for_target");
    aim(f, "sm_80");
    text = "";
    refused(f, tw_launch_show_stage(f->launch, (tw_stage)7, &text), TW_BAD_ARGUMENT,
            "there is no such stage");
    assert_null(text);
    assert_int_equal(tw_launch_time(NULL, 1, &time), TW_BAD_ARGUMENT);
    refused(f, tw_launch_time(f->launch, 0, &time), TW_BAD_ARGUMENT, "`runs` is less than 1");
    refused(f, tw_launch_time(f->launch, 1, NULL), TW_BAD_ARGUMENT, "`milliseconds` NULL");
    assert_true(time == 0);
}

/* --- tuned values and shown stages --- */

static void test_targets_have_their_own_tuned_values(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *target;
        int count, first;
    } expected[] = {
        {"cpu", 1, 16}, {"sm_80", 2, 64}, {"sm_90", 1, 128}, {"sm_90a", 1, 128}, {"sm_120", 2, 64}};
    load(f, tuned_text);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        tw_kernel *k = aim(f, expected[i].target);
        tw_tune tune = tw_tune_init();
        tw_value v;
        succeed(f, tw_kernel_tune(k, 0, &tune));
        assert_string_equal(tune.name, "BM");
        assert_int_equal(tune.count, expected[i].count);
        assert_int_equal(tune.values[0].i, expected[i].first);
        succeed(f, tw_launch_value(f->launch, "BM", &v));
        assert_int_equal(v.i, expected[i].first);
    }
}

static void test_show_follows_the_choices(void **state)
{
    struct fixture *f = *state;
    load(f, tuned_text);
    aim(f, "sm_80");
    shows(f, TW_STAGE_PTX, ".target sm_80");
    shows(f, TW_STAGE_PTX, ".param .s32 k,"); /* its value is not known: a parameter */
    shows(f, TW_STAGE_LAYOUT, "rows for sm_80: 128 x 1 x 1 threads");
    shows(f, TW_STAGE_LAYOUT, "shared f16 s[3][64][32]");
    succeed(f, tw_launch_tune(f->launch, "BM", integer(32)));
    succeed(f, tw_launch_tune(f->launch, "STAGES", integer(2)));
    succeed(f, tw_launch_type(f->launch, "T", TW_F32));
    shows(f, TW_STAGE_LAYOUT, "shared f32 s[2][32][32]");
    succeed(f, tw_launch_tune(f->launch, "BM", integer(48))); /* not listed */
    shows(f, TW_STAGE_LAYOUT, "shared f32 s[2][48][32]");
    succeed(f, tw_launch_set(f->launch, "k", integer(96)));
    assert_null(strstr(shown(f, TW_STAGE_PTX), ".param .s32 k"));
    shows(f, TW_STAGE_PTX, ".param .s32 m,");
}

static void test_two_targets_of_one_kernel(void **state)
{
    struct fixture *f = *state;
    load(f, tuned_text);
    tw_kernel *k;
    tw_launch *second;
    const char *text;
    aim(f, "sm_80");
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "sm_90", &k));
    succeed(f, tw_launch_new(k, &second));
    const char *first_text = shown(f, TW_STAGE_PTX); /* remains valid while another is shown */
    succeed(f, tw_launch_show_stage(second, TW_STAGE_PTX, &text));
    assert_non_null(strstr(text, ".target sm_90"));
    assert_non_null(strstr(first_text, ".target sm_80"));
    succeed(f, tw_launch_show(second, "pipeline", &text));
    assert_non_null(strstr(text, "shared f16 s[3][128][32]"));
    succeed(f, tw_launch_show(f->launch, "pipeline", &text));
    assert_non_null(strstr(text, "shared f16 s[3][64][32]"));
    assert_non_null(strstr(text, "async_wait"));
    tw_module_free(f->module); /* the launches keep it */
    succeed(f, tw_launch_set(second, "k", integer(64)));
    succeed(f, tw_launch_show_stage(second, TW_STAGE_LAYOUT, &text));
    assert_non_null(strstr(text, "rows for sm_90"));
    tw_launch_free(second);
    shows(f, TW_STAGE_LAYOUT, "rows for sm_80");
    tw_launch_free(f->launch);
}

/* Values that a module returns remain those of the host. */
static void test_the_host_keeps_its_kernel(void **state)
{
    struct fixture *f = *state;
    load(f, tuned_text);
    aim(f, "sm_80");
    shown(f, TW_STAGE_PTX);
    tw_kernel *base = tw_module_kernel_at(f->module, 0);
    tw_array a = array(f->a, TW_F32, 2, M, K), c = array(f->c, TW_F32, 2, M, 1);
    double time = -1;
    tw_launch_free(f->launch);
    succeed(f, tw_launch_new(base, &f->launch));
    succeed(f, tw_launch_array(f->launch, "a", &a));
    succeed(f, tw_launch_array(f->launch, "c", &c));
    succeed(f, tw_launch_time(f->launch, 3, &time));
    assert_true(time >= 0);
    succeed(f, tw_launch_verify(f->launch, NULL));
}

/* Without a GPU a launch can be prepared; running it reports that there is no GPU. */
static void test_run_where_no_gpu_is(void **state)
{
    struct fixture *f = *state;
    tw_device device = tw_device_init();
    double time;
    tw_array a = array(f->a, TW_F32, 2, M, K), c = array(f->c, TW_F32, 2, M, 1);
    if (tw_device_at(1, &device))
        skip();
    load(f, tuned_text);
    aim(f, "sm_80");
    succeed(f, tw_launch_array(f->launch, "a", &a));
    refused(f, tw_launch_run(f->launch), TW_BAD_ARGUMENT, "no array was given for `c`");
    succeed(f, tw_launch_array(f->launch, "c", &c));
    succeed(f, tw_launch_prepare(f->launch));
    succeed(f, tw_launch_check(f->launch));
    refused(f, tw_launch_run(f->launch), TW_UNSUPPORTED, "no GPU to run on: ");
    refused(f, tw_launch_time(f->launch, 2, &time), TW_UNSUPPORTED, "no GPU to run on: ");
}

/* --- limits of targets --- */

static void test_too_much_shared_memory(void **state)
{
    struct fixture *f = *state;
    const char *text;
    load(f, large_text);
    aim(f, "sm_86");
    refused(f, tw_launch_show_stage(f->launch, TW_STAGE_PTX, &text), TW_BAD_PROGRAM,
            "`large` takes 131072 bytes of shared memory a block, sm_86 has 101376");
    assert_null(text);
    const char *said = tw_context_messages(f->ctx);
    assert_non_null(strstr(said, "test.tile:2:8: error"));
    assert_non_null(strstr(said, "`s` is f32[4][128][64]: 131072 bytes"));
    assert_non_null(strstr(said, "with these tuned values it fits: STAGES = 3 ("));
    succeed(f, tw_launch_set(f->launch, "m", integer(1)));
    succeed(f, tw_launch_set(f->launch, "k", integer(1)));
    refused(f, tw_launch_prepare(f->launch), TW_BAD_PROGRAM, "STAGES = 3");
    succeed(f, tw_launch_tune(f->launch, "STAGES", integer(3)));
    succeed(f, tw_launch_prepare(f->launch));
    shows(f, TW_STAGE_LAYOUT, "shared f32 s[3][128][64]");
    aim(f, "sm_90"); /* has room */
    shows(f, TW_STAGE_LAYOUT, "shared f32 s[4][128][64]");
}

static void test_too_many_registers(void **state)
{
    struct fixture *f = *state;
    const char *text;
    tw_message m = tw_message_init();
    load(f, wide_text);
    aim(f, "sm_80");
    refused(f, tw_launch_show_stage(f->launch, TW_STAGE_LAYOUT, &text), TW_BAD_PROGRAM,
            "the register tiles of `wide` take 512 registers a thread, and a thread has 255");
    assert_true(tw_context_message(f->ctx, 0, &m));
    assert_int_equal(m.severity, TW_ERROR);
    assert_int_equal(m.line, 2);
    assert_true(tw_context_message(f->ctx, 1, &m));
    assert_int_equal(m.severity, TW_NOTE);
    assert_int_equal(m.line, 5);
    assert_non_null(strstr(m.text, "`t` is f32[128][128]"));
    assert_non_null(strstr(tw_context_messages(f->ctx), "none of the listed tuned values fit"));
    succeed(f, tw_launch_tune(f->launch, "ROWS", integer(16)));
    shown(f, TW_STAGE_PTX);
}

static void test_types_that_a_target_lacks(void **state)
{
    struct fixture *f = *state;
    tw_kernel *k;
    const char *text;
    load(f, tuned_text);
    tw_kernel *bytes = tw_module_kernel(f->module, "bytes");
    tw_launch_free(f->launch);
    succeed(f, tw_kernel_for_target(bytes, "sm_80", &k));
    succeed(f, tw_launch_new(k, &f->launch));
    refused(f, tw_launch_show_stage(f->launch, TW_STAGE_PTX, &text), TW_BAD_PROGRAM,
            "sm_80 has no `e4m3`: sm_89 is the first that has");
    succeed(f, tw_launch_check(f->launch)); /* the program itself is correct */
    tw_launch_free(f->launch);
    succeed(f, tw_kernel_for_target(bytes, "sm_89", &k));
    succeed(f, tw_launch_new(k, &f->launch));
    shows(f, TW_STAGE_PTX, ".target sm_89");
}

static void test_requirements_hold_for_targets_too(void **state)
{
    struct fixture *f = *state;
    const char *text = "";
    load(f, api_matmul);
    aim(f, "sm_80");
    succeed(f, tw_launch_tune(f->launch, "BM", integer(64)));
    refused(f, tw_launch_show_stage(f->launch, TW_STAGE_PTX, &text), TW_BAD_ARGUMENT,
            "BM * BK <= 256");
    assert_null(text);
    assert_false(
        tw_kernel_allows(aim(f, "sm_80"), (tw_value[]){tw_int(64), tw_int(8), tw_int(8)}, &text));
    assert_non_null(strstr(text, "BM * BK"));
}

static void test_races_are_found_for_targets_too(void **state)
{
    struct fixture *f = *state;
    char racy[1024];
    const char *text;
    size_t length = strlen(api_matmul);
    memcpy(racy, api_matmul, length + 1);
    memset(strstr(racy, "sync();"), ' ', strlen("sync();"));
    load(f, racy);
    aim(f, "sm_80");
    refused(f, tw_launch_show_stage(f->launch, TW_STAGE_PTX, &text), TW_UNSYNCHRONISED, "sync()");
    refused(f, tw_launch_check(f->launch), TW_UNSYNCHRONISED, "sync()");
}

/* --- every allocation can fail --- */

/* Shows and prepares two targets of a kernel, then runs it, where no GPU is. */
static tw_status target_story(tw_context *ctx, tw_module *m)
{
    static const char *const targets[] = {"sm_80", "sm_90"};
    tw_status s = TW_OK;
    for (int i = 0; i < 2 && s == TW_OK; i++) {
        tw_kernel *k;
        tw_launch *l = NULL;
        const char *text;
        s = tw_kernel_for_target(tw_module_kernel_at(m, 0), targets[i], &k);
        if (s == TW_OK)
            s = tw_launch_new(k, &l);
        if (s == TW_OK)
            s = tw_launch_show(l, "pipeline", &text);
        if (s == TW_OK)
            s = tw_launch_show_stage(l, TW_STAGE_LAYOUT, &text);
        if (s == TW_OK)
            s = tw_launch_show_stage(l, TW_STAGE_PTX, &text);
        if (s == TW_OK)
            s = tw_launch_set(l, "m", integer(8));
        if (s == TW_OK)
            s = tw_launch_set(l, "k", integer(32));
        if (s == TW_OK)
            s = tw_launch_prepare(l);
        if (s == TW_NO_MEMORY)
            assert_non_null(strstr(tw_context_messages(ctx), "out of memory"));
    }
    return s;
}

/* Compiles a variant that does not fit, with its notes, and one that fits. */
static tw_status refused_story(tw_context *ctx, tw_module *m)
{
    tw_kernel *k;
    tw_launch *l = NULL;
    const char *text;
    tw_status s = tw_kernel_for_target(tw_module_kernel_at(m, 0), "sm_86", &k);
    if (s == TW_OK)
        s = tw_launch_new(k, &l);
    if (s == TW_OK)
        s = tw_launch_show_stage(l, TW_STAGE_PTX, &text);
    if (s == TW_BAD_PROGRAM) {
        assert_non_null(strstr(tw_context_messages(ctx), "STAGES = 2"));
        s = tw_launch_tune(l, "STAGES", integer(2));
        if (s == TW_OK)
            s = tw_launch_show_stage(l, TW_STAGE_PTX, &text);
    }
    return s;
}

/* Asks for a GPU that is missing, and for a target of unknown name. */
static tw_status missing_story(tw_context *ctx, tw_module *m)
{
    (void)ctx;
    tw_kernel *k;
    tw_status s = tw_kernel_for_target(tw_module_kernel_at(m, 0), "cuda", &k);
    if (s == TW_UNSUPPORTED)
        s = TW_OK;
    if (s == TW_OK)
        s = tw_kernel_for_target(tw_module_kernel_at(m, 0), "sm_1", &k);
    return s == TW_NOT_FOUND ? TW_OK : s;
}

static tw_status told_with(struct counting *memory, const char *text,
                           tw_status (*story)(tw_context *ctx, tw_module *m))
{
    tw_config config = {
        .size = sizeof config, .resize = counting_resize, .resize_user = memory, .threads = 1};
    tw_context *ctx = NULL;
    tw_module *m = NULL;
    tw_status s = tw_context_new(&config, &ctx);
    if (s == TW_OK)
        s = tw_module_from_text(ctx, "test.tile", text, strlen(text), &m);
    if (s == TW_OK)
        s = story(ctx, m);
    if (s == TW_NO_MEMORY && m) { /* with memory again, all of it works */
        memory->fail_from = -1;
        tw_status again = story(ctx, m);
        if (again != TW_OK)
            fail_msg("after memory came back: %s", tw_context_messages(ctx));
    }
    tw_context_free(ctx);
    return s;
}

static long count_allocations(const char *text, tw_status (*story)(tw_context *, tw_module *))
{
    tw_status s = TW_NO_MEMORY;
    long n = 0;
    for (; s != TW_OK; n++) {
        struct counting memory = {.fail_from = n};
        s = told_with(&memory, text, story);
        if (s != TW_OK && s != TW_NO_MEMORY)
            fail_msg("allocation %ld fails: %s", n, tw_status_name(s));
        assert_int_equal(memory.live, 0);
    }
    return n;
}

static void test_out_of_memory_everywhere(void **state)
{
    (void)state;
    assert_true(count_allocations(tuned_text, target_story) > 20);
    assert_true(count_allocations(large_text, refused_story) > 10);
    assert_true(count_allocations(tuned_text, missing_story) > 5);
}

/* --- contexts are independent: each belongs to one thread --- */

enum { THREADS = 4, ROUNDS = 3 };

struct worker {
    pthread_t thread;
    char *first; /* result of its first round */
    bool good;
};

/* Returns the PTX for all targets in order; NULL if any step failed. */
static char *all_ptx(void)
{
    tw_context *ctx = NULL;
    tw_module *m;
    char *all = calloc(1, 1);
    bool good = all && tw_context_new(NULL, &ctx) == TW_OK &&
                tw_module_from_text(ctx, "test.tile", tuned_text, strlen(tuned_text), &m) == TW_OK;
    for (int i = 1; good && tw_target_at(i); i++) {
        tw_kernel *k;
        tw_launch *l;
        const char *text = "";
        good = tw_kernel_for_target(tw_module_kernel_at(m, 0), tw_target_at(i), &k) == TW_OK &&
               tw_launch_new(k, &l) == TW_OK &&
               tw_launch_show_stage(l, TW_STAGE_PTX, &text) == TW_OK;
        char *longer = realloc(all, strlen(all) + strlen(text) + 1);
        good = good && longer;
        all = longer ? longer : all;
        if (good)
            strcat(all, text);
    }
    tw_context_free(ctx);
    if (!good) {
        free(all);
        return NULL;
    }
    return all;
}

static void *work(void *user)
{
    struct worker *w = user;
    w->good = true;
    for (int i = 0; i < ROUNDS; i++) {
        char *text = all_ptx();
        w->good = w->good && text && (!w->first || strcmp(text, w->first) == 0);
        if (w->first)
            free(text);
        else
            w->first = text;
    }
    return NULL;
}

static void test_contexts_of_several_threads(void **state)
{
    (void)state;
    struct worker workers[THREADS] = {0};
    char *expected = all_ptx();
    assert_non_null(expected);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_true(workers[i].good);
        assert_string_equal(workers[i].first, expected);
        free(workers[i].first);
    }
    free(expected);
}

/* A kernel for sm_90a becomes code of sm_90a where sm_90 is asked for. */
static void a_kernel_names_its_own_target(void **state)
{
    struct fixture *f = *state;
    load(f, narrow_text);
    assert_string_equal(tw_kernel_target(aim(f, "sm_90")), "sm_90a");
    shows(f, TW_STAGE_PTX, ".target sm_90a\n");
    aim(f, "sm_90a");
    shows(f, TW_STAGE_PTX, ".target sm_90a\n");
    static const char *const others[] = {"sm_80", "sm_100", "sm_100a"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *text;
        aim(f, others[i]);
        refused(f, tw_launch_show_stage(f->launch, TW_STAGE_PTX, &text), TW_BAD_PROGRAM,
                "`narrow` is for sm_90a; this is sm_");
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_every_target_is_found),
        TEST(test_from_target_to_target),
        TEST(test_no_such_target),
        TEST(test_the_gpu_that_is_here),
        TEST(test_arguments_that_are_missing),
        TEST(test_targets_have_their_own_tuned_values),
        TEST(test_show_follows_the_choices),
        TEST(test_two_targets_of_one_kernel),
        TEST(test_the_host_keeps_its_kernel),
        TEST(test_run_where_no_gpu_is),
        TEST(test_too_much_shared_memory),
        TEST(test_too_many_registers),
        TEST(test_types_that_a_target_lacks),
        TEST(test_requirements_hold_for_targets_too),
        TEST(test_races_are_found_for_targets_too),
        TEST(a_kernel_names_its_own_target),
        cmocka_unit_test(test_out_of_memory_everywhere),
        cmocka_unit_test(test_contexts_of_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
