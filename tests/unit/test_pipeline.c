/* The pass `pipeline`: the loop that it writes prints as a program that compiles again, passes
 * the synchronisation check with the barriers now written out, and computes the same bits on the
 * CPU engine. */
#include "cpu/cpu.h"
#include "lang/lang.h"
#include "tile/passes.h"
#include "api/pass_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GPU = 80, MOST_PARAMS = 16, MOST_TUNES = 16 };

static jmp_buf out_of_memory;

/* A kernel between its text and the engine. */
struct variant {
    struct arena arena;
    struct diag diag;
    struct source source;
    struct module *module;
    struct kernel *kernel;
    const char *text; /* after `pipeline` */
    struct cpu_argument args[MOST_PARAMS];
};

static void refuse(struct variant *v, const char *what)
{
    struct text t;
    if (v->diag.errors == 0)
        return;
    text_init(&t, &v->arena);
    diag_render(&t, &v->diag, false);
    fail_msg("%s: %s\n%s", what, t.data, v->source.text);
}

static void variant_parse(struct variant *v, const char *text)
{
    memset(v, 0, sizeof *v);
    v->source = (struct source){"t", text, strlen(text)};
    if (setjmp(out_of_memory))
        abort();
    arena_init(&v->arena, &allocator_libc, &out_of_memory);
    diag_init(&v->diag, &v->arena);
    v->module = lang_parse(&v->arena, &v->diag, &v->source);
    refuse(v, "parsing");
}

static void variant_free(struct variant *v)
{
    for (int i = 0; i < MOST_PARAMS; i++)
        free(v->args[i].data);
    arena_free(&v->arena);
}

/* Chooses a value for each scalar: ragged sizes, and small ones. */
static struct literal scalar_value(const struct lang_param *p, int ordinal, int round)
{
    static const int sizes[][4] = {{40, 33, 70, 16}, {1, 1, 1, 16}, {5, 7, 64, 32}, {70, 40, 9, 8}};
    if (p->has_value)
        return p->value;
    if (p->dtype == DT_BOOL)
        return (struct literal){.i = round % 2};
    if (p->dtype != DT_NONE && dtype_is_float(p->dtype))
        return (struct literal){.is_float = true, .f = 0.25};
    return (struct literal){.i = sizes[round][ordinal % 4]};
}

static void variant_choose(struct variant *v, int index, int round, const struct literal *tunes,
                           int sm, const char *what)
{
    const struct lang_kernel *k = lang_kernel(&v->arena, v->module, index, NULL);
    struct literal values[MOST_PARAMS] = {{0}};
    bool known[MOST_PARAMS] = {false};
    int ordinal = 0;
    for (int i = 0; i < k->param_count; i++) {
        if (k->params[i].is_pointer)
            continue;
        values[i] = scalar_value(&k->params[i], ordinal++, round);
        known[i] = k->params[i].is_static;
        v->args[i].scalar = values[i];
    }
    struct lang_choice choice = {.tunes = tunes, .statics = values, .statics_known = known};
    v->kernel = lang_check(&v->arena, &v->diag, v->module, index, &choice);
    refuse(v, what);
    struct launch_facts facts = {.values = values, .known = known};
    struct pass_context c = {.kernel = v->kernel, .diag = &v->diag, .facts = &facts, .sm = sm};
    for (int i = 0; i < pass_order_count; i++) {
        pass_order_list[i].run(&c);
        refuse(v, what);
        const char *problem = kernel_verify(&v->arena, v->kernel);
        if (problem)
            fail_msg("%s: after %s: %s", what, pass_order_list[i].name, problem);
        if (strcmp(pass_order_list[i].name, "pipeline") == 0) {
            struct text t;
            text_init(&t, &v->arena);
            kernel_print(&t, v->kernel);
            v->text = t.data;
        }
    }
    if (c.sync != SYNC_CLEAN && !kernel_thread_level(v->kernel))
        fail_msg("%s: synchronisation: %s\n%s", what, c.sync_undecided, v->source.text);
}

/* --- running --- */

static const struct sym *view_of(const struct kernel *k, const struct sym *pointer)
{
    for (const struct sym *s = k->symbols; s; s = s->next)
        if (s->storage == ST_VIEW && s->base == pointer)
            return s;
    return NULL;
}

static void make_array(struct variant *v, const struct sym *pointer)
{
    const struct sym *view = view_of(v->kernel, pointer);
    struct literal values[MOST_PARAMS];
    bool known[MOST_PARAMS];
    for (int i = 0; i < MOST_PARAMS; i++) {
        values[i] = v->args[i].scalar;
        known[i] = true;
    }
    struct scalar_env env = {values, known, MOST_PARAMS};
    int64_t elements = 1, extent;
    for (int i = 0; view && i < view->type.rank; i++)
        if (eval_int(view->dims[i], &env, &extent))
            elements *= extent;
    size_t size = dtype_size(pointer->type.dtype);
    struct cpu_argument *arg = &v->args[pointer->index];
    arg->bytes = (size_t)elements * size;
    arg->data = malloc(arg->bytes ? arg->bytes : 1);
    assert_non_null(arg->data);
    uint32_t random = (uint32_t)pointer->index * 977 + 1;
    for (size_t i = 0; i < (size_t)elements; i++) {
        random = random * 1664525 + 1013904223;
        double value = (int)(random >> 24) % 17 - 8;
        dtype_store_f64(pointer->type.dtype, (char *)arg->data + i * size,
                        dtype_is_float(pointer->type.dtype) ? value / 4
                        : value < 0                         ? 0
                                                            : value);
    }
}

static void variant_run(struct variant *v, const char *what)
{
    const char *why = NULL;
    struct platform_pool *pool = platform_pool_new(&allocator_libc, 2);
    struct cpu_options options = {.parallel = platform_pool_parallel(pool)};
    struct cpu_fault fault = {.kind = CPU_OK};
    for (const struct param *p = v->kernel->params; p; p = p->next)
        if (p->sym->is_pointer)
            make_array(v, p->sym);
    struct cpu_program *program = cpu_compile(&v->arena, v->kernel, false, &why);
    if (!program)
        fail_msg("%s: %s", what, why);
    if (cpu_launch(program, v->args, &options, &fault) != CPU_OK)
        fail_msg("%s: %s\n%s", what, fault.message, v->text);
    platform_pool_free(pool);
}

static void expect_equal(const struct variant *a, const struct variant *b, const char *what)
{
    for (const struct param *p = a->kernel->params; p; p = p->next) {
        const struct cpu_argument *x = &a->args[p->sym->index], *y = &b->args[p->sym->index];
        if (!p->sym->is_pointer)
            continue;
        assert_int_equal(x->bytes, y->bytes);
        if (memcmp(x->data, y->data, x->bytes) != 0)
            fail_msg("%s: `%s` differs\n%s", what, p->sym->name, b->text);
    }
}

/* Compares the kernel as written, the kernel rewritten, and the kernel rewritten, printed and
 * compiled again. */
static void compare(const char *text, int index, int round, const struct literal *tunes,
                    const char *what)
{
    struct variant plain, rewritten, again;
    variant_parse(&plain, text);
    variant_choose(&plain, index, round, tunes, 0, what);
    variant_run(&plain, what);
    variant_parse(&rewritten, text);
    variant_choose(&rewritten, index, round, tunes, GPU, what);
    if (strstr(rewritten.text, "pipeline("))
        fail_msg("%s: a pipeline is left\n%s", what, rewritten.text);
    variant_run(&rewritten, what);
    expect_equal(&plain, &rewritten, what);
    variant_parse(&again, rewritten.text);
    variant_choose(&again, 0, round, NULL, 0, what);
    variant_run(&again, what);
    expect_equal(&plain, &again, what);
    variant_free(&plain);
    variant_free(&rewritten);
    variant_free(&again);
}

/* --- every choice of tuned values --- */

/* Goes on to the next choice, names of one group together; returns false after the last. */
static bool next_choice(const struct lang_kernel *k, int *at)
{
    for (int i = 0; i < k->tune_count; i++) {
        int group = k->tunes[i].group, next = (at[i] + 1) % k->tunes[i].count;
        if (i > 0 && k->tunes[i - 1].group == group)
            continue;
        for (int j = i; j < k->tune_count && k->tunes[j].group == group; j++)
            at[j] = next;
        if (next != 0)
            return true;
    }
    return false;
}

static int compare_all(const char *text, const char *what, int rounds)
{
    struct variant v;
    int compared = 0;
    variant_parse(&v, text);
    for (int index = 0; index < lang_kernel_count(v.module); index++) {
        const struct lang_kernel *k = lang_kernel(&v.arena, v.module, index, NULL);
        int at[MOST_TUNES] = {0};
        do {
            struct literal tunes[MOST_TUNES];
            for (int i = 0; i < k->tune_count; i++)
                tunes[i] = k->tunes[i].values[at[i]];
            if (lang_tunes_allowed(&v.arena, v.module, index, NULL, tunes, NULL))
                for (int round = 0; round < rounds; round++, compared++)
                    compare(text, index, round, tunes, what);
        } while (next_choice(k, at));
    }
    variant_free(&v);
    return compared;
}

static char *read_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TW_TEST_ROOT, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot open %s", path);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

static void kernels_mean_the_same(void **state)
{
    static const char *const files[] = {"kernels/matmul/auto.tile", "kernels/fused/attention.tile",
                                        "kernels/fused/linear_gelu.tile",
                                        "tests/parity/pipelines.tile"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *text = read_file(files[i]);
        assert_true(compare_all(text, files[i], 4) > 0);
        free(text);
    }
}

/* --- loops of other forms --- */

static void forms_mean_the_same(void **state)
{
#define HEAD                                                                                       \
    "tune S = {1, 2, 3, 5};\n"                                                                     \
    "kernel k(i32 m, i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n{\n"                           \
    "    global f32 A[m][n] = a, C[8][8] = c;\n    reg f32 acc[8][8] = 0;\n"
#define TAIL "    C[0 +: 8][0 +: 8] = acc;\n}\n"
    static const char *const forms[] = {
        /* down, and past the beginning */
        HEAD "    pipeline(S) for (i32 p = n - 8; p > -8; p -= 8) {\n"
             "        shared f32 s[8][8] = A[0 +: 8][p +: 8];\n        acc += s * p;\n    }\n" TAIL,
        /* two counters, a step that is not a sum, an end compared by != */
        HEAD "    pipeline(S) for (i32 p = 0, q = 1; p != 40; p += 8, q = q * 2) {\n"
             "        shared f32 s[8][8] = A[q +: 8][p +: 8];\n        acc += s * q;\n    }\n" TAIL,
        /* counters declared before, of another type; values that the body computes; else */
        HEAD "    i64 p = 3;\n    i32 seen = 0;\n"
             "    pipeline(S) for (; p <= n && p < 30; p += 4) {\n"
             "        i64 from = p * 2, to = from + 1;\n        seen += 1;\n"
             "        shared f32 s[8][8] = A[p - 2 +: 8][to +: 8] else 3;\n"
             "        acc += s * seen;\n    }\n    acc += (f32) p;\n" TAIL,
        /* in a loop; tiles of other types and ranks; leaving early */
        HEAD "    for (i32 r = 0; r < 3; r++)\n"
             "        pipeline(S) for (i32 p = 0; p < n; p += 8) {\n"
             "            shared f32 s[8][8] = A[r +: 8][p +: 8];\n"
             "            shared f32 t[8] = A[0][p +: 8];\n"
             "            if (p > 20)\n                break;\n"
             "            if (p % 16 == 8)\n                continue;\n"
             "            acc += s * t + r;\n        }\n" TAIL,
        /* rows that must exist: only those of iterations that run */
        HEAD "    pipeline(S) for (i32 r = 0; r < m; r++) {\n"
             "        shared f32 s[8] = A[r][1 +: 8];\n        acc += s;\n    }\n" TAIL,
        /* one pipeline after another; registers that may be loaded ahead */
        HEAD "    pipeline(S) for (i32 p = 0; p < n; p += 8) {\n"
             "        shared f32 s[8][8] = A[0 +: 8][p +: 8];\n"
             "        reg f32 r[8][8] = A[p +: 8][0 +: 8];\n        acc += s * r;\n    }\n"
             "    pipeline(S) for (i32 p = 0; p < m; p += 8) {\n"
             "        shared f32 s[8][8] = A[p +: 8][0 +: 8];\n        acc += s;\n    }\n" TAIL,
        /* an end that the body changes, and no end */
        HEAD "    i32 end = 0;\n    if (n > 20)\n        end = n;\n"
             "    pipeline(S) for (i32 p = 0; p < end; p += 8) {\n"
             "        shared f32 s[8][8] = A[0 +: 8][p +: 8];\n        acc += s;\n"
             "        if (p == 16)\n            end = 0;\n    }\n" TAIL,
        HEAD "    pipeline(S) for (i32 p = 0;; p += 8) {\n        if (p > n)\n            break;\n"
             "        shared f32 s[8][8] = A[0 +: 8][p +: 8];\n        acc += s;\n    }\n" TAIL,
        /* the names that the pass would choose are taken */
        HEAD "    i32 stage = 3, turn = n, free_stage = 2;\n"
             "    pipeline(S) for (i32 p = 0; p < turn; p += 8) {\n"
             "        shared f32 s[8][8] = A[0 +: 8][p +: 8];\n"
             "        acc += s * stage + free_stage;\n    }\n"
             "    stage += 1;\n    acc += stage;\n" TAIL,
    };
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        assert_int_equal(compare_all(forms[i], forms[i], 4), 16);
#undef HEAD
#undef TAIL
}

static void threads_mean_the_same(void **state)
{
    static const char text[] =
        "tune S = {1, 2, 4};\n"
        "kernel k(i32 m, i32 n, const f32 *a, f32 *c) grid(cdiv(m, 8)) threads(8, 8)\n{\n"
        "    global f32 A[m][n] = a, C[m][8] = c;\n    i32 i = block.x * 8;\n    f32 sum = 0;\n"
        "    pipeline(S) for (i32 p = 0; p < n; p += 8) {\n"
        "        shared f32 s[8][8] = A[i +: 8][p +: 8];\n"
        "        if (thread.x == 3)\n            continue;\n"
        "        sum += s[thread.y][thread.x] + s[thread.x][thread.y];\n    }\n"
        "    if (i + thread.y < m)\n        C[i + thread.y][thread.x] = sum;\n}\n";
    (void)state;
    assert_int_equal(compare_all(text, "threads", 4), 12);
}

/* --- the text of its result --- */

static void the_host_keeps_its_pipelines(void **state)
{
    struct variant v;
    char *text = read_file("kernels/matmul/auto.tile");
    (void)state;
    variant_parse(&v, text);
    variant_choose(&v, 0, 0, NULL, 0, "host");
    assert_non_null(strstr(v.text, "pipeline(3) for"));
    assert_null(strstr(v.text, "async"));
    variant_free(&v);
    free(text);
}

static void what_is_not_known_ahead_is_said(void **state)
{
    struct variant v;
    struct text t;
    (void)state;
    variant_parse(&v, "kernel k(i32 m, i32 n, const f32 *a, f32 *c) grid(1) warps(1)\n{\n"
                      "    global f32 A[m][n] = a, C[8] = c;\n    i32 end = n;\n"
                      "    pipeline(3) for (i32 p = 0; p < end; p += 8) {\n"
                      "        shared f32 s[8] = A[0][p +: 8];\n"
                      "        C[0 +: 8] = s;\n        end -= 1;\n    }\n}\n");
    variant_choose(&v, 0, 0, NULL, GPU, "end");
    assert_int_equal(v.diag.warnings, 1);
    text_init(&t, &v.arena);
    diag_render(&t, &v.diag, false);
    assert_non_null(strstr(t.data, "5:5: warning: nothing is fetched ahead in this pipeline"));
    assert_non_null(strstr(t.data, "5:37: note: this is not known before its iteration"));
    assert_null(strstr(v.text, "async"));
    variant_free(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_mean_the_same),
        cmocka_unit_test(forms_mean_the_same),
        cmocka_unit_test(threads_mean_the_same),
        cmocka_unit_test(the_host_keeps_its_pipelines),
        cmocka_unit_test(what_is_not_known_ahead_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
