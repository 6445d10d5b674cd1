#include "cpu_helper.h"

#include "cpu/image.h"
#include "lang/lang.h"
#include "tile/passes.h"
#include "api/pass_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static jmp_buf out_of_memory;

static void refuse_errors(struct cpu_run *r)
{
    if (r->diag.errors == 0)
        return;
    struct text text;
    text_init(&text, &r->arena);
    diag_render(&text, &r->diag, false);
    fail_msg("%s", text.data);
}

static const struct param *param_named(const struct cpu_run *r, const char *name)
{
    const struct param *p = r->kernel->params;
    while (p && strcmp(p->sym->name, name) != 0)
        p = p->next;
    if (!p)
        fail_msg("no parameter %s", name);
    return p;
}

static void keep_printed(void *user, const char *text, size_t length)
{
    struct cpu_run *r = user;
    size_t room = sizeof r->printed - 1 - r->printed_length;
    length = length < room ? length : room;
    memcpy(r->printed + r->printed_length, text, length);
    r->printed_length += length;
}

static void set_statics(const struct lang_kernel *k, const struct given *given,
                        struct literal *values, bool *known)
{
    for (int i = 0; i < k->param_count; i++)
        for (const struct given *g = given; g && g->name; g++)
            if (k->params[i].is_static && strcmp(k->params[i].name, g->name) == 0) {
                values[i].i = g->value;
                known[i] = true;
            }
}

/* Selects the passes to run: all except the synchronisation check; also without those that change
 * tiles for the host; or one alone. */
enum passes { ALL_PASSES, AS_WRITTEN, ONLY_VARIANCE };

static bool wanted_pass(enum passes which, const char *name)
{
    bool is_own = strcmp(name, "split") == 0 || strcmp(name, "operands") == 0 ||
                  strcmp(name, "deepen") == 0 || strcmp(name, "join") == 0 ||
                  strcmp(name, "dots") == 0;
    if (which == ONLY_VARIANCE)
        return strcmp(name, "variance") == 0;
    return strcmp(name, "synccheck") != 0 && !(is_own && which == AS_WRITTEN);
}

static void run_passes(struct cpu_run *r, enum passes which, const struct launch_facts *facts)
{
    struct pass_context c = {.kernel = r->kernel, .diag = &r->diag, .facts = facts};
    for (int i = 0; i < pass_order_count; i++) {
        if (!wanted_pass(which, pass_order_list[i].name))
            continue;
        pass_order_list[i].run(&c);
        refuse_errors(r);
    }
    r->joined_count = c.joined_count;
    memcpy(r->joined, c.joined, sizeof r->joined);
}

void cpu_take_image(struct cpu_run *r)
{
    const struct routine_set *set = r->program->set;
    struct image image = image_write(&r->arena, r->program, &r->why);
    if (!image.words)
        fail_msg("no image: %s", r->why);
    void *memory = arena_alloc(&r->arena, image_bytes(image.words));
    r->program = image_load(image.words, set, memory);
    assert_non_null(r->program);
}

static void open_kernel(struct cpu_run *r, const char *text, const struct given *given,
                        enum passes which, const struct routine_set *set, bool plain)
{
    static const struct launch_facts none = {0};
    *r = (struct cpu_run){.source = {"t", text, strlen(text)}};
    if (setjmp(out_of_memory))
        abort();
    arena_init(&r->arena, &allocator_libc, &out_of_memory);
    diag_init(&r->diag, &r->arena);
    r->options.print = keep_printed;
    r->options.print_user = r;
    struct module *m = lang_parse(&r->arena, &r->diag, &r->source);
    refuse_errors(r);
    struct literal statics[MOST_ARRAYS] = {{0}};
    bool known[MOST_ARRAYS] = {false};
    set_statics(lang_kernel(&r->arena, m, 0, NULL), given, statics, known);
    struct lang_choice choice = {.statics = statics, .statics_known = known};
    r->kernel = lang_check(&r->arena, &r->diag, m, 0, &choice);
    refuse_errors(r);
    struct launch_facts facts = none;
    facts.values = statics;
    facts.known = known;
    run_passes(r, which, &facts);
    for (const struct given *g = given; g && g->name; g++)
        r->args[param_named(r, g->name)->sym->index].scalar.i = g->value;
    r->program = cpu_compile_with(&r->arena, r->kernel, set ? set : routine_set_choose(false),
                                  plain, &r->why);
    if (r->program && getenv("TW_TEST_IMAGES") && !kernel_uses_roles(r->kernel))
        cpu_take_image(r);
}

void cpu_open_with(struct cpu_run *r, const char *text, const struct given *given,
                   const struct routine_set *set)
{
    open_kernel(r, text, given, ALL_PASSES, set, false);
}

void cpu_open_plain(struct cpu_run *r, const char *text, const struct given *given,
                    const struct routine_set *set, bool plain)
{
    open_kernel(r, text, given, ALL_PASSES, set, plain);
}

void cpu_open(struct cpu_run *r, const char *text, const struct given *given)
{
    open_kernel(r, text, given, ALL_PASSES, NULL, false);
}

void cpu_open_as_written(struct cpu_run *r, const char *text, const struct given *given)
{
    open_kernel(r, text, given, AS_WRITTEN, routine_set_at(0), true);
}

void cpu_open_raw(struct cpu_run *r, const char *text, const struct given *given)
{
    open_kernel(r, text, given, ONLY_VARIANCE, NULL, false);
}

void cpu_close(struct cpu_run *r)
{
    for (int i = 0; i < MOST_ARRAYS; i++)
        free(r->args[i].data);
    platform_pool_free(r->pool);
    arena_free(&r->arena);
}

void *cpu_array(struct cpu_run *r, const char *name, size_t bytes)
{
    struct cpu_argument *arg = &r->args[param_named(r, name)->sym->index];
    free(arg->data);
    bool lines = bytes > 0 && bytes % CACHE_LINE == 0;
    arg->data = lines ? aligned_alloc(CACHE_LINE, bytes) : malloc(bytes ? bytes : 1);
    arg->bytes = bytes;
    assert_non_null(arg->data);
    memset(arg->data, 0, bytes);
    return arg->data;
}

enum cpu_fault_kind cpu_go(struct cpu_run *r, int threads)
{
    if (!r->program)
        fail_msg("not compiled: %s", r->why);
    platform_pool_free(r->pool);
    r->pool = platform_pool_new(&allocator_libc, threads);
    r->options.parallel = platform_pool_parallel(r->pool);
    r->options.parallel.alone = NULL; /* small launches, too, have all workers from the start */
    if (r->options.parallel.cores < threads) /* workers help each other on any machine */
        r->options.parallel.cores = threads;
    r->printed_length = 0;
    memset(r->printed, 0, sizeof r->printed);
    enum cpu_fault_kind kind = cpu_launch(r->program, r->args, &r->options, &r->fault);
    int column;
    r->line = 0;
    if (r->fault.loc.source)
        loc_line_column(r->fault.loc, &r->line, &column);
    return kind;
}

uint32_t cpu_draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

void cpu_check_orders(const char *text, int n,
                      void (*check)(const int32_t *a, const int32_t *c, int n))
{
    enum { MOST_ROLES = 8 };
    const struct given given[] = {{"n", n}, {NULL, 0}};
    size_t bytes = (size_t)(n + 1) * ORDER_WIDTH * sizeof(int32_t);
    for (int plain = 0; plain <= 1; plain++)
        for (int first = 0; first < MOST_ROLES; first++) {
            struct cpu_run r;
            cpu_open_plain(&r, text, given, NULL, plain);
            int32_t *a = cpu_array(&r, "a", bytes);
            const int32_t *c = cpu_array(&r, "c", bytes);
            for (int i = 0; i < n * ORDER_WIDTH; i++)
                a[i] = i * 37 % 101;
            r.options.first_role = first;
            if (cpu_go(&r, 2) != CPU_OK)
                fail_msg("role %d first: %s", first, r.fault.message);
            check(a, c, n);
            cpu_close(&r);
        }
}

void cpu_keep_outcome(const struct cpu_run *r, size_t bytes, struct cpu_outcome *out)
{
    memset(out, 0, sizeof *out);
    out->fault = r->fault;
    assert_true(bytes <= OUTCOME_BYTES);
    for (const struct param *p = r->kernel->params; p; p = p->next)
        if (p->sym->is_pointer && !p->sym->is_const)
            memcpy(out->bytes[p->sym->index], r->args[p->sym->index].data, bytes);
}

void cpu_expect_same(const struct cpu_outcome *x, const struct cpu_outcome *y, const char *what,
                     int64_t n, const char *text)
{
    if (x->fault.kind != y->fault.kind)
        fail_msg("n = %d, %s: %s / %s\n%s", (int)n, what, x->fault.message, y->fault.message, text);
    if (x->fault.kind == CPU_OK && memcmp(x->bytes, y->bytes, sizeof x->bytes) != 0)
        fail_msg("n = %d, %s: other values\n%s", (int)n, what, text);
}

/* --- as written, and with the passes --- */

void cpu_fill(struct cpu_run *r, size_t bytes)
{
    for (const struct param *p = r->kernel->params; p; p = p->next) {
        if (!p->sym->is_pointer)
            continue;
        unsigned char *data = cpu_array(r, p->sym->name, bytes);
        enum dtype t = p->sym->type.dtype;
        size_t size = dtype_size(t);
        for (size_t i = 0; p->sym->is_const && i < bytes / size; i++)
            dtype_store_f64(t, data + i * size,
                            i % 13 == 0 ? -0.0 : (double)(i * 37 % 101) / 7 - 6);
    }
}

void cpu_run_filled(struct cpu_run *r, int threads, struct cpu_outcome *out)
{
    cpu_fill(r, OUTCOME_BYTES);
    cpu_go(r, threads);
    cpu_keep_outcome(r, OUTCOME_BYTES, out);
}

bool cpu_expect_as_written(const char *text, int64_t n)
{
    const struct given given[] = {{"n", n}, {NULL, 0}};
    struct cpu_outcome *written = malloc(sizeof *written), *got = malloc(sizeof *got);
    struct cpu_run r;
    bool joins = false;
    assert_true(written && got);
    cpu_open_as_written(&r, text, given);
    cpu_run_filled(&r, 1, written);
    cpu_close(&r);
    for (int s = 0; routine_set_at(s); s++)
        for (int joined = 0, count = 0; joined <= count; joined++) {
            cpu_open_with(&r, text, given, routine_set_at(s));
            count = r.joined_count;
            joins |= count > 0;
            if (joined)
                r.program = cpu_compile_with(&r.arena, r.joined[joined - 1].kernel,
                                             routine_set_at(s), false, &r.why);
            assert_non_null(r.program);
            cpu_run_filled(&r, s % 2 ? 3 : 1, got);
            cpu_close(&r);
            cpu_expect_same(written, got, joined ? "joined" : "passes", n, text);
        }
    free(written);
    free(got);
    return joins;
}
