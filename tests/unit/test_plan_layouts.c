/* The plan of a kernel for a GPU: layouts of register and shared tiles, before code is emitted. */
#include "plan/plan_layouts_own.h"
#include "api/pass_order.h"

#include "lang/lang.h"
#include "plan/plan.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { TUNES_MOST = 12 };

/* One kernel for one choice of types and tuned values, with its plan. */
struct planned {
    struct arena arena;
    char *text; /* of a file */
    jmp_buf failed;
    struct diag diag;
    struct source source;
    struct module *module;
    const struct lang_kernel *kernel;
    struct literal tunes[TUNES_MOST];
    enum dtype types[4];
    int index; /* of the kernel */
    int sm;
    int64_t size; /* of static parameters */
    int divisor;  /* a divisor of run-time integers; 1: none known */
    struct layouts l;
    struct lowered_options options;
    struct lowered out;
    double ms; /* time of the plan alone */
};

static void open_kernel(struct planned *p, const char *name, const char *text, int index)
{
    memset(p, 0, sizeof *p);
    p->sm = 80;
    p->size = 1024;
    p->divisor = 16;
    if (setjmp(p->failed))
        abort();
    arena_init(&p->arena, &allocator_libc, &p->failed);
    diag_init(&p->diag, &p->arena);
    p->source = (struct source){name, text, strlen(text)};
    p->module = lang_parse(&p->arena, &p->diag, &p->source);
    assert_non_null(p->module);
    p->index = index;
    if (index >= lang_kernel_count(p->module))
        return;
    p->kernel = lang_kernel(&p->arena, p->module, index, "sm_80");
    assert_true(lang_default_tunes(&p->arena, &p->diag, p->module, index, "sm_80", p->tunes));
    for (int i = 0; i < p->kernel->type_count; i++)
        p->types[i] = p->kernel->types[i].choices[0];
}

static void open_text(struct planned *p, const char *text)
{
    open_kernel(p, "t", text, 0);
}

static char *file_text(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TW_TEST_ROOT, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    return text;
}

static void fail_with(const struct planned *p)
{
    for (const struct diagnostic *d = p->diag.first; d; d = d->next)
        print_error("%s\n", d->message);
    fail();
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Checks the kernel, and runs all passes, as a launch does. NULL: errors. */
static struct kernel *checked(struct planned *p)
{
    int count = p->kernel->param_count;
    struct literal *values = arena_array(&p->arena, struct literal, count + 1);
    bool *known = arena_array(&p->arena, bool, count + 1);
    int *divisor = arena_array(&p->arena, int, count + 1);
    for (int i = 0; i < count; i++) {
        known[i] = p->kernel->params[i].is_static;
        values[i].i = p->kernel->params[i].dtype == DT_BOOL ? 1 : p->size;
        divisor[i] = p->divisor;
    }
    struct lang_choice choice = {.target = "sm_80",
                                 .tunes = p->tunes,
                                 .types = p->types,
                                 .statics = values,
                                 .statics_known = known};
    struct kernel *k = lang_check(&p->arena, &p->diag, p->module, p->index, &choice);
    struct launch_facts facts = {.divisor = divisor};
    struct pass_context c = {.kernel = k, .diag = &p->diag, .facts = &facts};
    return k && pass_order_run(&c, NULL) ? k : NULL;
}

static void plan_checked(struct planned *p, struct kernel *k)
{
    p->out = (struct lowered){0};
    p->options =
        (struct lowered_options){.target = target_find((struct ptx_target){(uint8_t)p->sm, 0})};
    assert_non_null(p->options.target);
    p->l = (struct layouts){.arena = &p->arena,
                            .kernel = k,
                            .target = p->options.target,
                            .diag = &p->diag,
                            .out = &p->out,
                            .threads = kernel_block_threads(k)};
    p->l.warps = (p->l.threads + WARP_LANES - 1) / WARP_LANES;
    double start = now_ms();
    struct plan_context plan = {.kernel = k, .target = p->options.target, .diag = &p->diag};
    if (!plan_run(&plan, NULL) || !plan_make(&p->l))
        fail_with(p);
    p->ms = now_ms() - start;
}

static void make_plan(struct planned *p)
{
    struct kernel *k = checked(p);
    if (!k)
        fail_with(p);
    plan_checked(p, k);
}

static void close_plan(struct planned *p)
{
    arena_free(&p->arena);
    free(p->text);
}

/* --- Looking --- */

static const struct sym *symbol(const struct planned *p, const char *name)
{
    for (const struct sym *s = p->l.kernel->symbols; s; s = s->next)
        if (strcmp(s->name, name) == 0)
            return s;
    print_error("no symbol %s\n", name);
    fail();
    return NULL;
}

static const struct layout *layout_of(struct planned *p, const char *name)
{
    const struct sym *s = symbol(p, name);
    return s->storage == ST_SHARED ? plan_shared(&p->l, s) : plan_symbol(&p->l, s);
}

static const struct planned_shared *tile_of(const struct planned *p, const char *name)
{
    return pointer_map_get(&p->l.plan->shared_of, symbol(p, name));
}

static const struct dot_plan *dot_of(const struct planned *p, size_t i)
{
    assert_true(i < p->l.plan->dots.count);
    return &p->l.plan->dots.data[i].plan;
}

/* Checks that every tile has a layout that holds all of it, and that shared layouts hold no
 * element twice and keep within their bytes. */
static void check_layouts(struct planned *p)
{
    struct layout_census census;
    for (const struct sym *s = p->l.kernel->symbols; s; s = s->next) {
        if (s->storage != ST_REG && s->storage != ST_SHARED)
            continue;
        const struct layout *layout =
            s->storage == ST_SHARED ? plan_shared(&p->l, s) : plan_symbol(&p->l, s);
        assert_non_null(layout);
        if (type_elements(&s->type) > 1 << 16)
            continue;
        layout_take_census(layout, &p->arena, &census);
        if (s->storage == ST_REG) {
            assert_int_equal(layout_size_out(layout), type_elements(&s->type));
            assert_true(census.surjective);
            continue;
        }
        assert_int_equal(layout_size_in(layout), type_elements(&s->type));
        assert_int_equal(layout_size_out(layout), type_elements(&s->type));
        assert_true(census.injective && !census.masked);
    }
}

/* --- Shipped kernels: every shared access takes the fewest wavefronts possible --- */

static void describe(const struct planned *p, char *text, size_t room)
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < p->kernel->type_count; i++)
        at += (size_t)snprintf(text + at, room - at, "%s=%s ", p->kernel->types[i].name,
                               dtype_table[p->types[i]].name);
    for (int i = 0; i < p->kernel->tune_count; i++)
        at += (size_t)snprintf(text + at, room - at, "%s=%d ", p->kernel->tunes[i].name,
                               (int)p->tunes[i].i);
}

struct tally {
    int plans, tiles, forms[SHARED_FORMS];
    double ms, most_ms;
};

static void check_plan(struct planned *p, struct tally *t)
{
    char text[256];
    make_plan(p);
    check_layouts(p);
    describe(p, text, sizeof text);
    for (size_t i = 0; i < p->l.plan->tiles.count; i++) {
        const struct planned_shared *s = p->l.plan->tiles.data[i];
        if (s->wavefronts != s->least || s->wavefronts == 0) {
            print_error("%s%s: %d wavefronts, %d at least\n", text, s->sym->name,
                        (int)s->wavefronts, (int)s->least);
            fail();
        }
        t->tiles++;
        t->forms[s->form]++;
    }
    t->plans++;
    t->ms += p->ms;
    t->most_ms = p->ms > t->most_ms ? p->ms : t->most_ms;
}

/* Goes on to the next combination of tuned values; names of a group change together. */
static bool next_tunes(struct planned *p, int *choice)
{
    const struct lang_kernel *k = p->kernel;
    for (int i = k->tune_count - 1; i >= 0; i--) {
        int group = k->tunes[i].group, first = i;
        while (first > 0 && k->tunes[first - 1].group == group)
            first--;
        bool wraps = choice[first] + 1 == k->tunes[first].count;
        for (int j = first; j <= i; j++) {
            choice[j] = wraps ? 0 : choice[j] + 1;
            p->tunes[j] = k->tunes[j].values[choice[j]];
        }
        if (!wraps)
            return true;
        i = first;
    }
    return false;
}

static void check_kernel(const char *file, int64_t size, int sm)
{
    char *text = file_text(file);
    struct tally t = {0};
    struct planned p;
    open_text(&p, text);
    const struct lang_kernel first = *p.kernel;
    int types = first.type_count > 0 ? first.types[0].count : 1;
    int choice[TUNES_MOST] = {0};
    bool more = true;
    close_plan(&p);
    for (int type = 0; type < types; type++, more = true) {
        memset(choice, 0, sizeof choice);
        while (more) {
            open_text(&p, text);
            p.size = size;
            p.sm = sm;
            if (p.kernel->type_count > 0)
                p.types[0] = p.kernel->types[0].choices[type];
            for (int i = 0; i < p.kernel->tune_count; i++)
                p.tunes[i] = p.kernel->tunes[i].values[choice[i]];
            if (lang_tunes_allowed(&p.arena, p.module, 0, "sm_80", p.tunes, NULL))
                check_plan(&p, &t);
            more = next_tunes(&p, choice);
            close_plan(&p);
        }
    }
    print_message("%s, sm_%d: %d plans, %.2f ms each, %.2f at most;", file, sm, t.plans,
                  t.ms / t.plans, t.most_ms);
    for (int f = 0; f < SHARED_FORMS; f++)
        if (t.forms[f])
            print_message(" %s %d", layout_shared_form_names[f], t.forms[f]);
    print_message("\n");
    free(text);
}

static void shipped_kernels_have_no_conflicts(void **state)
{
    (void)state;
    static const char *const files[] = {
        "kernels/matmul/registers.tile", "kernels/matmul/shared.tile",
        "kernels/matmul/tuned.tile",     "kernels/matmul/async.tile",
        "kernels/matmul/stages.tile",    "kernels/matmul/auto.tile",
        "kernels/matmul/split_k.tile",   "kernels/fused/linear_gelu.tile",
        "kernels/fused/softmax.tile",    "kernels/fused/layer_norm.tile",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int sm = 80; sm <= 90; sm += 10)
            check_kernel(files[i], 1024, sm);
    check_kernel("kernels/fused/attention.tile", 64, 80);
    check_kernel("kernels/fused/attention.tile", 128, 90);
}

/* --- Chosen layouts --- */

static void open_file(struct planned *p, const char *name, enum dtype t)
{
    char *text = file_text(name);
    open_text(p, text);
    p->text = text;
    if (p->kernel->type_count > 0)
        p->types[0] = t;
}

static void set_tune(struct planned *p, const char *name, int64_t value)
{
    for (int i = 0; i < p->kernel->tune_count; i++)
        if (strcmp(p->kernel->tunes[i].name, name) == 0)
            p->tunes[i].i = value;
}

/* Returns the n-th statement of that kind, from 0. */
static const struct stmt *statement(const struct planned *p, enum stmt_kind kind, int n)
{
    for (size_t i = 0; i < p->l.plan->stmts.list.count; i++)
        if (p->l.plan->stmts.list.data[i].s->kind == kind && n-- == 0)
            return p->l.plan->stmts.list.data[i].s;
    fail();
    return NULL;
}

/* Returns the first assignment to a view. */
static const struct stmt *store(const struct planned *p)
{
    for (int i = 0;; i++) {
        const struct stmt *s = statement(p, STMT_ASSIGN, i);
        if (s->target->op == OP_ACCESS && s->target->sym->storage == ST_VIEW)
            return s;
    }
}

/* Returns the number of consecutive elements of the last axis that a lane has. */
static int vector_of(const struct layout *l)
{
    int32_t weights[ACCESS_VECTOR_BITS];
    int bits;
    return layout_vector(l, l->out_count - 1, 64, weights, &bits);
}

static void attention_keeps_its_factor_in_registers(void **state)
{
    (void)state;
    static const enum dtype types[] = {DT_F16, DT_BF16};
    for (int i = 0; i < 2; i++) {
        struct planned p;
        open_file(&p, "kernels/fused/attention.tile", types[i]);
        p.size = 128;
        make_plan(&p);
        const struct dot_plan *scores = dot_of(&p, 0), *values = dot_of(&p, 1);
        assert_int_equal(scores->mma.warps_n, 1);
        assert_ptr_equal(scores->c, values->a);
        assert_ptr_equal(layout_of(&p, "s"), scores->c);
        assert_ptr_equal(layout_of(&p, "e"), values->a);
        assert_ptr_equal(layout_of(&p, "acc"), values->c);
        assert_ptr_equal(layout_of(&p, "rq"), scores->a);
        assert_ptr_equal(layout_of(&p, "top"), plan_reduced_layout(&p.l, scores->c, 1));
        assert_ptr_equal(layout_of(&p, "row"), layout_of(&p, "top"));
        close_plan(&p);
    }
}

/* Eight warps cannot each have whole rows of 64: the sum is converted to a factor after the
 * cast, in half the bytes. */
static void a_sum_is_turned_over_after_the_cast(void **state)
{
    (void)state;
    struct planned p;
    open_file(&p, "kernels/fused/attention.tile", DT_F16);
    p.size = 64;
    set_tune(&p, "BM", 64);
    set_tune(&p, "BN", 64);
    set_tune(&p, "WARPS", 8);
    make_plan(&p);
    assert_ptr_not_equal(dot_of(&p, 0)->c, dot_of(&p, 1)->a);
    assert_ptr_equal(layout_of(&p, "e"), dot_of(&p, 0)->c);
    const struct expr *factor = dot_of(&p, 1)->e->args[0];
    assert_int_equal(factor->op, OP_CAST);
    assert_ptr_equal(plan_place(&p.l, factor, dot_of(&p, 1)->a), dot_of(&p, 0)->c);
    close_plan(&p);
}

static void factors_lie_as_the_product_takes_them(void **state)
{
    (void)state;
    struct planned p;
    open_file(&p, "kernels/matmul/registers.tile", DT_F16);
    make_plan(&p);
    assert_ptr_equal(layout_of(&p, "ra"), dot_of(&p, 0)->a);
    assert_ptr_equal(layout_of(&p, "rb"), dot_of(&p, 0)->b);
    assert_ptr_equal(layout_of(&p, "acc"), dot_of(&p, 0)->c);
    close_plan(&p);
}

static void sums_that_meet_agree(void **state)
{
    (void)state;
    struct planned p;
    open_text(&p, "kernel k(i32 n, const f16 *a, const f16 *b, f32 *c) grid(1) warps(8)\n"
                  "{\n"
                  "    global f16 A[n][n] = a, B[n][n] = b;\n"
                  "    global f32 C[n][n] = c;\n"
                  "    shared f16 s[32][16], t[16][256], u[32][128], v[128][256];\n"
                  "    reg f32 x[32][256] = 0;\n"
                  "    s = A[0 +: 32][0 +: 16];\n"
                  "    t = B[0 +: 16][0 +: 256];\n"
                  "    u = A[0 +: 32][0 +: 128];\n"
                  "    v = B[0 +: 128][0 +: 256];\n"
                  "    sync();\n"
                  "    x = dot(s, t);\n"
                  "    for (i32 i = 0; i < n; i++)\n"
                  "        x += dot(u, v);\n"
                  "    reg f32 y[32][256] = dot(s, t) * 2 + dot(u, v);\n"
                  "    C[0 +: 32][0 +: 256] = x + y;\n"
                  "}\n");
    make_plan(&p);
    for (size_t i = 0; i < 4; i++)
        assert_ptr_equal(dot_of(&p, i)->c, dot_of(&p, 0)->c);
    assert_ptr_equal(layout_of(&p, "x"), dot_of(&p, 0)->c);
    assert_ptr_equal(layout_of(&p, "y"), dot_of(&p, 0)->c);
    close_plan(&p);
}

/* Prologue and loop copy in the same way, in 16 bytes; stages follow one another in memory. */
static void stages_are_copied_alike(void **state)
{
    (void)state;
    struct planned p;
    open_file(&p, "kernels/matmul/stages.tile", DT_F16);
    make_plan(&p);
    const struct layout *all = layout_of(&p, "sa"), *copy[4];
    for (int i = 0; i < 4; i++) {
        const struct stmt *s = statement(&p, STMT_ASYNC_COPY, i);
        copy[i] = plan_copy(&p.l, s->target, s->value);
        assert_int_equal(vector_of(copy[i]), 8);
        assert_ptr_equal(copy[i], plan_copy(&p.l, NULL, s->value));
    }
    assert_ptr_equal(copy[0], copy[2]);
    assert_ptr_equal(copy[1], copy[3]);
    int32_t at[2], stage[3] = {0, 5, 9};
    layout_apply(all, stage, &at[0]);
    stage[0] = 2;
    layout_apply(all, stage, &at[1]);
    assert_int_equal(at[1] - at[0], 2 * layout_size_in(all) / layout_in_extent(all, AXIS_D0));
    assert_int_equal(tile_of(&p, "sa")->form, SHARED_SWIZZLED);
    close_plan(&p);
}

static const struct layout *stored_in(struct planned *p, const struct stmt *s)
{
    const struct layout *natural = plan_natural(&p->l, s->value);
    assert_non_null(natural);
    return plan_view(&p->l, s->target, natural, true);
}

/* Fragments are 4 bytes of f16 a lane, 8 of f32. Stores are of 16 bytes; a warp's lanes exchange
 * elements for them if that is cheaper than going through shared memory. */
static void sums_are_stored_in_wide_vectors(void **state)
{
    (void)state;
    struct planned p;
    open_file(&p, "kernels/matmul/shared.tile", DT_F16);
    make_plan(&p);
    assert_int_equal(vector_of(stored_in(&p, store(&p))), 8);
    close_plan(&p);
    open_text(&p, "kernel k(i32 n, const f16 *a, f32 *c) grid(1) warps(4)\n"
                  "{\n"
                  "    global f16 A[n][n] = a;\n"
                  "    global f32 C[n][n] = c;\n"
                  "    C[0 +: 64][0 +: 64] = dot(A[0 +: 64][0 +: 64], A[0 +: 64][0 +: 64]);\n"
                  "}\n");
    make_plan(&p);
    const struct layout *stored = stored_in(&p, store(&p)), *sum = dot_of(&p, 0)->c;
    assert_int_equal(vector_of(sum), 2);
    assert_int_equal(vector_of(stored), 4);
    assert_int_equal(layout_in_extent(stored, AXIS_REG), layout_in_extent(sum, AXIS_REG));
    close_plan(&p);
}

/* A sum that blocks add to memory in turn changes its layout once, after the last product. */
static void sums_that_meet_memory_are_settled(void **state)
{
    (void)state;
    struct planned p;
    open_file(&p, "kernels/matmul/split_k.tile", DT_F16);
    make_plan(&p);
    const struct layout *sum = dot_of(&p, 0)->c, *settled = NULL;
    int wide = 0;
    for (size_t i = 0; i < p.l.plan->symbols.count; i++) {
        const struct planned_symbol *s = p.l.plan->symbols.data[i];
        if (plan_settled(&p.l, s->sym))
            settled = s->is.layout;
        wide += s->is.layout == sum;
    }
    assert_non_null(settled);
    assert_int_equal(wide, 1);
    assert_int_equal(vector_of(settled), 4);
    close_plan(&p);
    open_file(&p, "kernels/fused/linear_gelu.tile", DT_F16); /* a store, no addition */
    make_plan(&p);
    for (size_t i = 0; i < p.l.plan->symbols.count; i++)
        assert_null(plan_settled(&p.l, p.l.plan->symbols.data[i]->sym));
    close_plan(&p);
}

/* Loads that a product needs as fragments are coalesced, and converted to fragments afterwards. */
static void factors_are_loaded_in_wide_vectors(void **state)
{
    (void)state;
    struct planned p;
    open_file(&p, "kernels/matmul/registers.tile", DT_F16);
    make_plan(&p);
    const struct stmt *s = statement(&p, STMT_DECL, 0);
    for (int i = 1; !s->value || s->value->op != OP_ACCESS; i++)
        s = statement(&p, STMT_DECL, i);
    assert_int_equal(vector_of(plan_view(&p.l, s->value, dot_of(&p, 0)->a, false)), 8);
    close_plan(&p);
}

static const char copies[] = "kernel k(i32 m, i32 n, const f16 *a, f16 *c) grid(4) warps(4)\n"
                             "{\n"
                             "    global f16 A[m][n] = a, C[m][n] = c;\n"
                             "    shared f16 s[64][64];\n"
                             "    i32 i = block.x * 64;\n"
                             "    for (i32 p = 0; p < n; p += 64) {\n"
                             "        async s = A[i +: 64][p +: 64];\n"
                             "        async_wait(0);\n"
                             "        sync();\n"
                             "        C[i +: 64][p +: 64] = s;\n"
                             "        sync();\n"
                             "    }\n"
                             "}\n";

/* If nothing is known of the rows, lanes take one element each, next to each other. */
static void vectors_are_as_wide_as_rows_are_aligned(void **state)
{
    (void)state;
    static const struct {
        int divisor, vector;
    } cases[] = {{16, 8}, {8, 8}, {4, 4}, {2, 2}, {1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct planned p;
        open_text(&p, copies);
        p.divisor = cases[i].divisor;
        make_plan(&p);
        const struct stmt *s = statement(&p, STMT_ASYNC_COPY, 0);
        assert_int_equal(vector_of(plan_copy(&p.l, s->target, s->value)), cases[i].vector);
        assert_int_equal(plan_copier_of(p.l.target, s->value).bytes, 2 * cases[i].vector);
        close_plan(&p);
    }
}

static void scalars_have_divisors(void **state)
{
    (void)state;
    struct planned p;
    open_text(&p, "kernel k(i32 m, i32 n, const f16 *a, f16 *c) grid(4) warps(4)\n"
                  "{\n"
                  "    global f16 A[m][n] = a, C[m][n] = c;\n"
                  "    i32 i = block.x * 24, j = min(i, 36), x = 7, y = 0, s = 0;\n"
                  "    for (i32 p = 8; p < n; p += 32) {\n"
                  "        y = y - 12;\n"
                  "        x = (p << 2) / 8;\n"
                  "        s = (s + 1) % 3;\n"
                  "    }\n"
                  "    C[i + j + x + y + s +: 8][0 +: 8] = A[i +: 8][0 +: 8];\n"
                  "}\n");
    make_plan(&p);
    /* y may wrap, which leaves the power of two */
    static const struct {
        const char *name;
        int64_t divisor;
    } expected[] = {{"i", 24}, {"j", 12}, {"p", 8}, {"y", 4}, {"x", 1}, {"s", 1}, {"n", 16}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct expr e = {.op = OP_REF, .type = type_scalar(DT_I32)};
        e.sym = (struct sym *)(uintptr_t)symbol(&p, expected[i].name);
        assert_int_equal(plan_divisor(&p.l, &e), expected[i].divisor);
    }
    close_plan(&p);
}

static void odd_tiles_have_layouts(void **state)
{
    (void)state;
    static const char text[] =
        "type T = {f32, f16, i8, f64};\n"
        "kernel odd(i32 m, i32 n, const T *a, f32 *c) grid(1) warps(4)\n"
        "{\n"
        "    global T A[m][n] = a;\n"
        "    global f32 C[m][n] = c;\n"
        "    shared T s0[7][33], s1[80][96], s2[3][96][80], s3[2][3][33][7], v[176], one[1][1];\n"
        "    shared T s4[2][2][2][2][16][16], u[176][7];\n"
        "    reg T r7[7][33], r1[1], r6[1][2][3][1][2][5];\n"
        "    s0 = A[0 +: 7][0 +: 33];\n"
        "    s1 = A[0 +: 80][0 +: 96];\n"
        "    async s2[1] = A[0 +: 96][0 +: 80];\n"
        "    s3[1][2] = A[0 +: 33][0 +: 7];\n"
        "    s4[1][0][1][0] = A[0 +: 16][0 +: 16];\n"
        "    v = A[0][0 +: 176];\n"
        "    u = A[0 +: 176][0 +: 7];\n"
        "    one = A[0 +: 1][0 +: 1];\n"
        "    async_wait(0);\n"
        "    sync();\n"
        "    for (i32 p = 0; p < m; p += 16) {\n"
        "        reg f32 x[7][33] = (f32) s0 * 2;\n"
        "        C[p +: 7][0 +: 33] = x;\n"
        "        reg f32 y[80][80] = (f32) dot(s1, s2[p % 3]);\n"
        "        C[p +: 80][0 +: 80] = y;\n"
        "        C[p +: 16][0 +: 16] = (f32) s4[p % 2][0][1][1];\n"
        "        C[p +: 33][0 +: 7] = (f32) s3[p % 2][p % 3];\n"
        "        C[p][0 +: 176] = (f32) v;\n"
        "        C[p +: 176][0 +: 1] = (f32) sum(u, axis = 1);\n"
        "        C[p +: 1][0 +: 1] = (f32) one;\n"
        "        C[p +: 16][0 +: 8] = (f32) s1[p +: 16][p +: 8];\n"
        "        C[p +: 80][0 +: 1] = (f32) s1[0 +: 80][p +: 1];\n"
        "        C[p][0 +: 96] = (f32) s1[p][:];\n"
        "    }\n"
        "}\n";
    for (int type = 0; type < 4; type++)
        for (int divisor = 1; divisor <= 16; divisor *= 16) {
            struct planned p;
            open_text(&p, text);
            p.types[0] = p.kernel->types[0].choices[type];
            p.divisor = divisor;
            make_plan(&p);
            check_layouts(&p);
            for (size_t i = 0; i < p.l.plan->stmts.list.count; i++) {
                const struct stmt *s = p.l.plan->stmts.list.data[i].s;
                if (s->target && s->target->sym->storage == ST_VIEW)
                    assert_non_null(stored_in(&p, s));
            }
            close_plan(&p);
        }
}

/* The loop reads parts of a tile that begin at p. At run time, p is added to an address, so the
 * tile must not be swizzled; in an unrolled loop p is known, so the tile may be swizzled. */
static void parts_at_run_time_are_sums(void **state)
{
    (void)state;
    static const char text[] = "kernel k(i32 n, const f16 *a, f32 *c) grid(1) warps(4)\n"
                               "{\n"
                               "    global f16 A[n][n] = a;\n"
                               "    global f32 C[n][n] = c;\n"
                               "    shared f16 s[64][64];\n"
                               "    s = A[0 +: 64][0 +: 64];\n"
                               "    sync();\n"
                               "    reg f32 x[64][64] = 0;\n"
                               "    %s for (i32 p = 0; p < 64; p += 16)\n"
                               "        x += dot(s[:][p +: 16], trans(s[:][p +: 16]));\n"
                               "    C[0 +: 64][0 +: 64] = x;\n"
                               "}\n";
    for (int unrolled = 0; unrolled < 2; unrolled++) {
        struct planned p;
        char whole[1024];
        snprintf(whole, sizeof whole, text, unrolled ? "unroll" : "");
        open_text(&p, whole);
        make_plan(&p);
        const struct layout *l = layout_of(&p, "s");
        int32_t at[LAYOUT_OUTS];
        bool sums = true;
        for (int32_t i = 0; i < 64; i++) {
            int32_t in[2] = {i, 0}, row, next;
            layout_apply(l, in, at);
            row = at[0];
            in[1] = 16;
            layout_apply(l, in, at);
            next = at[0];
            in[0] = 0;
            layout_apply(l, in, at);
            sums &= next - row == at[0];
        }
        assert_int_equal(sums, !unrolled);
        close_plan(&p);
    }
}

/* Plans all programs of tests/parity but those of emit/. Sizes that a program refuses are left out. */
static void plan_file(const char *path, int *plans)
{
    char *text = file_text(path), whole[1024];
    snprintf(whole, sizeof whole, "%s/%s", TW_TEST_ROOT, path);
    for (int index = 0;; index++) {
        struct planned p;
        open_kernel(&p, whole, text, index);
        p.size = 32;
        struct kernel *k = p.kernel ? checked(&p) : NULL;
        if (k && !kernel_uses_roles(k) &&
            !(kernel_thread_level(k) && kernel_block_threads(k) % WARP_LANES)) {
            plan_checked(&p, k);
            check_layouts(&p);
            ++*plans;
        }
        bool more = p.kernel != NULL;
        close_plan(&p);
        if (!more)
            break;
    }
    free(text);
}

static void every_program_has_a_plan(void **state)
{
    (void)state;
    static const char *const folders[] = {"tests/parity", "kernels/sgemm", "kernels/single_block"};
    int plans = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", TW_TEST_ROOT, folders[i]);
        DIR *folder = opendir(path);
        assert_non_null(folder);
        for (struct dirent *f = readdir(folder); f; f = readdir(folder)) {
            snprintf(path, sizeof path, "%s/%.200s", folders[i], f->d_name);
            if (strstr(path, ".tile"))
                plan_file(path, &plans);
        }
        closedir(folder);
    }
    print_message("%d plans\n", plans);
    assert_true(plans > 40);
}

static void shared_tiles_of_threads_are_rows(void **state)
{
    (void)state;
    struct planned p;
    struct layout rows;
    open_text(&p, "kernel k(const f32 *a, f32 *c) grid(1) threads(32, 8)\n"
                  "{\n"
                  "    global f32 A[32][32] = a, C[32][32] = c;\n"
                  "    shared f32 s[32][32];\n"
                  "    s = A[0 +: 32][0 +: 32];\n"
                  "    sync();\n"
                  "    C[thread.y][thread.x] = s[thread.x][thread.y];\n"
                  "}\n");
    make_plan(&p);
    layout_rows((const int32_t[]){32, 32}, 2, 0, &rows);
    assert_true(layout_equal(layout_of(&p, "s"), &rows));
    close_plan(&p);
}

/* Rows that are loaded once and kept: whole vectors of the loaded elements, over all threads. */
static void elementwise_tiles_are_coalesced(void **state)
{
    (void)state;
    struct planned p;
    open_text(&p, "kernel k(i32 n, const f16 *a, f16 *c) grid(n) warps(4)\n"
                  "{\n"
                  "    global f16 A[n][2048] = a, C[n][2048] = c;\n"
                  "    reg f32 v[2048] = (f32) A[block.x][0 +: 2048];\n"
                  "    reg f32 w[2048] = exp(v - max(v));\n"
                  "    reg i32 column[2048] = iota();\n"
                  "    w = where(column < 2000, w, 0);\n"
                  "    C[block.x][0 +: 2048] = (f16) (w / sum(w));\n"
                  "}\n");
    make_plan(&p);
    assert_int_equal(vector_of(layout_of(&p, "v")), 8);
    assert_ptr_equal(layout_of(&p, "w"), layout_of(&p, "v"));
    assert_ptr_equal(layout_of(&p, "column"), layout_of(&p, "v"));
    close_plan(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_kernels_have_no_conflicts),
        cmocka_unit_test(attention_keeps_its_factor_in_registers),
        cmocka_unit_test(a_sum_is_turned_over_after_the_cast),
        cmocka_unit_test(factors_lie_as_the_product_takes_them),
        cmocka_unit_test(sums_that_meet_agree),
        cmocka_unit_test(stages_are_copied_alike),
        cmocka_unit_test(sums_are_stored_in_wide_vectors),
        cmocka_unit_test(sums_that_meet_memory_are_settled),
        cmocka_unit_test(factors_are_loaded_in_wide_vectors),
        cmocka_unit_test(vectors_are_as_wide_as_rows_are_aligned),
        cmocka_unit_test(scalars_have_divisors),
        cmocka_unit_test(odd_tiles_have_layouts),
        cmocka_unit_test(parts_at_run_time_are_sums),
        cmocka_unit_test(every_program_has_a_plan),
        cmocka_unit_test(shared_tiles_of_threads_are_rows),
        cmocka_unit_test(elementwise_tiles_are_coalesced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
