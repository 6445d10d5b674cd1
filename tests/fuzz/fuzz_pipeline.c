/* One text through the whole compiler. Invariants for every text:
 *
 *   a module or kernel is missing exactly when an error was reported;
 *   every kernel verifies, before and after the passes;
 *   the printed kernel compiles again, and prints the same text again;
 *   a launch gives the same bits twice, and the printed kernel gives the same bits as the kernel,
 *   and so does the kernel after only the passes that it needs;
 *   running out of memory is not a crash. */
#include "fuzz.h"

#include "oracle/ensures.h"
#include "lang/lang.h"
#include "tile/passes.h"
#include "api/pass_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMORY_LIMIT = 256 << 20, /* most bytes that the compiler may use for one text */
    ARRAY_BYTES = 1 << 15,    /* of each pointer argument of a run */
    MAX_SCALAR = 40,
    MAX_COST = 3000000, /* element operations of a run, about */
    MAX_MAGNITUDE = 1 << 20,
    MAX_PARAMS = 32
};

/* --- the compiler's memory --- */

struct meter {
    size_t used;
    long until_failure; /* allocations that still succeed; -1: all */
};

static void *metered(void *user, void *ptr, size_t old_size, size_t size)
{
    struct meter *m = user;
    if (size > old_size && (m->until_failure == 0 || m->used + size - old_size > MEMORY_LIMIT))
        return NULL;
    if (m->until_failure > 0 && size > old_size)
        m->until_failure--;
    void *got = allocator_libc.resize(allocator_libc.user, ptr, old_size, size);
    if (got || size == 0)
        m->used = m->used - old_size + size;
    return got;
}

/* --- findings --- */

static void finding(const char *what, const char *detail, const char *text)
{
    fprintf(stderr, "fuzz: %s: %s\n%s\n", what, detail, text);
    abort();
}

static void finding_messages(const char *what, struct arena *a, const struct diag *d,
                             const char *text)
{
    struct text t;
    text_init(&t, a);
    diag_render(&t, d, false);
    finding(what, t.data ? t.data : "", text);
}

static void must_verify(struct arena *a, const struct kernel *k, const char *when)
{
    const char *wrong = kernel_verify(a, k);
    struct text t;
    if (!wrong)
        return;
    text_init(&t, a);
    text_printf(&t, "%s: %s", when, wrong);
    struct text printed;
    text_init(&printed, a);
    kernel_print(&printed, k);
    finding("a kernel does not verify", t.data, printed.data);
}

/* --- the cost of a run --- */

/* Upper bounds, for programs that certainly end soon; a program without a bound is not run. */
struct estimate {
    const struct kernel *kernel;
    const struct scalar_env *env;
    struct stmt *body;
    double cost;
    bool unknown;
};

struct write_search {
    const struct sym *sym;
    const struct stmt *skip; /* this one is left out */
    int found;
};

static void count_write(void *user, struct stmt *s)
{
    struct write_search *w = user;
    if (s != w->skip && s->kind == STMT_ASSIGN && s->target->sym == w->sym)
        w->found++;
}

static bool written(struct stmt *body, const struct sym *sym, const struct stmt *skip)
{
    struct write_search w = {sym, skip, 0};
    stmt_walk(body, count_write, &w);
    return w.found > 0;
}

struct decl_search {
    const struct sym *sym;
    const struct stmt *found;
};

static void match_decl(void *user, struct stmt *s)
{
    struct decl_search *search = user;
    if (s->kind == STMT_DECL && s->sym == search->sym)
        search->found = s;
}

/* Returns the largest magnitude that e can have; MAX_MAGNITUDE or more: unknown. */
static double magnitude(const struct estimate *est, const struct expr *e, int depth)
{
    int64_t v;
    double a = 0, b = 0;
    if (depth > 8 || dtype_is_float(e->type.dtype))
        return MAX_MAGNITUDE;
    if (eval_int(e, est->env, &v))
        return v < 0 ? -(double)v : (double)v;
    if (e->count > 0)
        a = magnitude(est, e->args[0], depth + 1);
    if (e->count > 1)
        b = magnitude(est, e->args[1], depth + 1);
    switch (e->op) {
    case OP_ADD:
    case OP_SUB: return a + b;
    case OP_MUL: return a * b;
    case OP_MIN: return a < b ? a : b;
    case OP_MAX: return a > b ? a : b;
    case OP_DIV:
    case OP_CDIV:
    case OP_CAST: return a;
    case OP_REM: return b;
    case OP_SELECT: return b + magnitude(est, e->args[2], depth + 1);
    case OP_BLOCK:
    case OP_GRID:
    case OP_THREAD: return 1024;
    case OP_REF: {
        struct decl_search search = {e->sym, NULL};
        stmt_walk(est->body, match_decl, &search);
        if (search.found && search.found->value && !written(est->body, e->sym, NULL))
            return magnitude(est, search.found->value, depth + 1);
        return MAX_MAGNITUDE;
    }
    default: return MAX_MAGNITUDE;
    }
}

static double expr_cost(const struct expr *e)
{
    double cost = (double)type_elements(&e->type);
    if (e->op == OP_DOT && e->args[0]->type.rank > 0)
        cost *= (double)e->args[0]->type.extent[e->args[0]->type.rank - 1];
    for (int i = 0; i < e->count; i++)
        cost += expr_cost(e->args[i]);
    for (int i = 0; i < e->indices; i++)
        cost += e->index[i].value ? expr_cost(e->index[i].value) : 1;
    return cost + (e->otherwise ? expr_cost(e->otherwise) : 0);
}

/* Returns the iterations of `for (…; v < X; v = v + c)` if nothing else writes v; unknown for
 * all others. */
static double trips(struct estimate *est, const struct stmt *s)
{
    const struct expr *c = s->condition;
    struct stmt *step = s->step;
    if (!c || (c->op != OP_LT && c->op != OP_LE) || c->args[0]->op != OP_REF || !step)
        return MAX_MAGNITUDE;
    const struct sym *v = c->args[0]->sym;
    while (step->next && step->target->sym != v)
        step = step->next;
    const struct expr *e = step->value;
    int64_t by;
    if (step->target->op != OP_REF || step->target->sym != v || !e || e->op != OP_ADD ||
        e->args[0]->op != OP_REF || e->args[0]->sym != v || !eval_int(e->args[1], est->env, &by) ||
        by < 1 || dtype_size(v->type.dtype) < 4 || written(s->body, v, NULL))
        return MAX_MAGNITUDE;
    double from = MAX_MAGNITUDE;
    for (const struct stmt *init = s->init; init; init = init->next)
        if ((init->sym == v || (init->target && init->target->sym == v)) && init->value)
            from = magnitude(est, init->value, 0);
    return (magnitude(est, c->args[1], 0) + from) / (double)by + 1;
}

static double list_cost(struct estimate *est, const struct stmt *s);

static double stmt_cost(struct estimate *est, const struct stmt *s)
{
    double cost = 1;
    if (s->target)
        cost += expr_cost(s->target);
    if (s->value)
        cost += expr_cost(s->value);
    if (s->condition)
        cost += expr_cost(s->condition);
    if (s->kind == STMT_DECL)
        cost += s->sym->storage == ST_VIEW ? 1 : (double)type_elements(&s->sym->type);
    cost += list_cost(est, s->init) + list_cost(est, s->step);
    cost += list_cost(est, s->body) + list_cost(est, s->otherwise);
    est->unknown = est->unknown || s->kind == STMT_WHILE;
    if (s->kind != STMT_FOR)
        return cost;
    double n = trips(est, s);
    est->unknown = est->unknown || n >= MAX_MAGNITUDE;
    return cost * n;
}

static double list_cost(struct estimate *est, const struct stmt *s)
{
    double cost = 0;
    for (; s && !est->unknown; s = s->next)
        cost += stmt_cost(est, s);
    return cost;
}

static bool small_enough(const struct kernel *k, const struct scalar_env *env)
{
    struct estimate est = {k, env, k->body, 0, false};
    double blocks = 1;
    for (int axis = 0; axis < 3; axis++) {
        int64_t n = 1;
        if (k->grid[axis] && !eval_int(k->grid[axis], env, &n))
            return false;
        blocks *= n > 0 ? (double)n : 1;
    }
    est.cost = blocks * list_cost(&est, k->body) *
               (kernel_thread_level(k) ? (double)kernel_block_threads(k) : 1);
    return !est.unknown && blocks <= 64 && est.cost <= MAX_COST;
}

/* --- a run --- */

struct arguments {
    struct cpu_argument values[MAX_PARAMS];
    struct literal scalars[MAX_PARAMS];
    int divisor[MAX_PARAMS]; /* facts about them */
    bool known[MAX_PARAMS];
    struct scalar_env env;
};

/* Fills with small numbers of every kind, the same for the same parameter. */
static void fill(struct rng *r, enum dtype t, void *data, size_t bytes)
{
    size_t size = dtype_size(t);
    char *p = data;
    for (size_t i = 0; i + size <= bytes; i += size)
        if (dtype_is_float(t))
            dtype_store_f64(t, p + i, (double)(rng_below(r, 33) - 16) / 8);
        else
            dtype_store_i64(t, p + i, rng_below(r, 8) - (dtype_is_signed(t) ? 3 : 0));
}

static struct literal some_scalar(struct rng *r, enum dtype t)
{
    struct literal v = {0};
    v.is_float = t != DT_NONE && dtype_is_float(t);
    v.i = t == DT_BOOL ? rng_below(r, 2) : rng_below(r, rng_chance(r, 70) ? 12 : MAX_SCALAR);
    v.f = (double)v.i / 4;
    return v;
}

static void make_arguments(struct arena *a, const struct lang_kernel *lk, struct arguments *args)
{
    struct rng r = {(uint64_t)lk->param_count};
    for (int i = 0; i < lk->param_count; i++) {
        args->scalars[i] = some_scalar(&r, lk->params[i].dtype);
        args->known[i] = !lk->params[i].is_pointer;
        bool whole = lk->params[i].dtype != DT_NONE && dtype_is_int(lk->params[i].dtype);
        if (whole && rng_chance(&r, 30))
            args->scalars[i].i = 16 * rng_below(&r, 3);
        bool divides = whole && args->scalars[i].i % 16 == 0;
        args->divisor[i] = divides && rng_chance(&r, 60) ? 16 : 1;
        args->values[i].scalar = args->scalars[i];
        if (lk->params[i].is_pointer) {
            args->values[i].data = arena_alloc(a, ARRAY_BYTES);
            args->values[i].bytes = ARRAY_BYTES;
        }
    }
    args->env = (struct scalar_env){args->scalars, args->known, lk->param_count};
}

static void fill_arguments(const struct kernel *k, struct arguments *args)
{
    struct rng r = {99};
    for (const struct param *p = k->params; p; p = p->next)
        if (p->sym->is_pointer)
            fill(&r, p->sym->type.dtype, args->values[p->sym->index].data, ARRAY_BYTES);
}

/* The result of a launch: the fault and every byte of the arrays, as one number. */
struct outcome {
    enum cpu_fault_kind fault;
    uint64_t hash;
};

static bool launch(struct arena *a, const struct kernel *k, struct arguments *args,
                   const struct allocator *memory, struct outcome *out)
{
    const char *why = NULL;
    struct cpu_program *program = cpu_compile(a, k, false, &why);
    if (!program) {
        if (!why)
            finding("cpu_compile fails without a reason", "", k->name);
        return false;
    }
    struct cpu_options options = {.allocator = memory};
    struct cpu_fault fault = {0};
    fill_arguments(k, args);
    out->fault = cpu_launch(program, args->values, &options, &fault);
    if (out->fault != CPU_OK && out->fault != CPU_NO_MEMORY && !fault.message[0])
        finding("a fault without a message", "", k->name);
    out->hash = 1469598103934665603u;
    for (int i = 0; i < k->param_count; i++)
        for (size_t b = 0; b < args->values[i].bytes; b++)
            out->hash = (out->hash ^ ((unsigned char *)args->values[i].data)[b]) * 1099511628211u;
    return true;
}

static bool same_outcome(const struct outcome *x, const struct outcome *y)
{
    bool no_memory = x->fault == CPU_NO_MEMORY || y->fault == CPU_NO_MEMORY;
    return no_memory || (x->fault == y->fault && (x->fault != CPU_OK || x->hash == y->hash));
}

/* --- printing and compiling again --- */

/* Removes comments, because they depend on passes. */
static const char *without_comments(struct arena *a, const char *text)
{
    struct text t;
    text_init(&t, a);
    text_add(&t, "");
    for (const char *c = text; *c; c++) {
        if (c[0] == '/' && c[1] == '/') {
            while (t.length > 0 && t.data[t.length - 1] == ' ')
                t.data[--t.length] = '\0';
            while (c[1] && c[1] != '\n')
                c++;
            if (t.length == 0 && c[1])
                c++;
        } else {
            text_add_char(&t, *c);
        }
    }
    return t.data;
}

static size_t line_length(const char *s)
{
    return strcspn(s, "\n") + (s[strcspn(s, "\n")] == '\n');
}

/* Returns true for the same text, except for unused constants: a pass may leave one, and the
 * checker drops it. */
static bool same_text(const char *once, const char *twice)
{
    while (*once) {
        size_t n = line_length(once), m = line_length(twice);
        bool same = n == m && memcmp(once, twice, n) == 0;
        if (!same && strncmp(once + strspn(once, " "), "const ", 6) != 0)
            return false;
        once += n;
        twice += same ? m : 0;
    }
    return *twice == '\0';
}

static const char *printed(struct arena *a, const struct kernel *k)
{
    struct text t;
    text_init(&t, a);
    kernel_print(&t, k);
    return t.data;
}

static struct kernel *compile_printed(struct arena *a, const char *text,
                                      const struct lang_choice *choice)
{
    struct diag *d = arena_new(a, struct diag);
    struct source *source = arena_new(a, struct source);
    diag_init(d, a);
    *source = (struct source){"printed", text, strlen(text)};
    struct module *m = lang_parse(a, d, source);
    if (!m || d->errors)
        finding_messages("a printed kernel does not parse", a, d, text);
    struct lang_choice again = *choice;
    again.tunes = NULL;
    again.types = NULL;
    struct kernel *k = lang_check(a, d, m, 0, &again);
    if (!k || d->errors)
        finding_messages("a printed kernel does not compile", a, d, text);
    return k;
}

/* Prints, compiles that and prints again: the text must be the same. Returns the second kernel. */
static struct kernel *round_trip(struct arena *a, const struct kernel *k,
                                 const struct lang_choice *choice)
{
    const char *once = printed(a, k);
    struct kernel *again = compile_printed(a, once, choice);
    must_verify(a, again, "printed and compiled again");
    const char *twice = printed(a, again);
    if (!same_text(without_comments(a, once), without_comments(a, twice)))
        finding("the printed kernel prints otherwise", twice, once);
    return again;
}

/* --- all stages --- */

struct fuzz_case {
    struct arena *arena;
    const struct allocator *memory;
    struct diag *diag;
    struct module *module;
};

/* Checks that the kernel after the fewest passes that it needs computes the same. */
static void compare_plain(struct fuzz_case *c, struct kernel *k, struct arguments *args,
                          const struct kernel *whole, const struct outcome *expected)
{
    struct diag d;
    struct outcome plain;
    struct launch_facts facts = {args->scalars, args->known, NULL};
    diag_init(&d, c->arena);
    struct pass_context context = {.kernel = k, .diag = &d, .facts = &facts};
    pass_variance(&context);
    pass_specialise(&context);
    pass_contract(&context);
    if (d.errors == 0)
        pass_plan(&context);
    if (d.errors)
        finding_messages("the passes refuse the kernel that they took", c->arena, &d,
                         printed(c->arena, k));
    if (launch(c->arena, k, args, c->memory, &plain) && !same_outcome(expected, &plain))
        finding("the passes change what is computed", printed(c->arena, whole),
                printed(c->arena, k));
}

static enum reached run_kernel(struct fuzz_case *c, struct kernel *k, struct kernel *plain,
                               struct arguments *args, const struct lang_choice *choice)
{
    struct outcome first, second;
    struct kernel *again = round_trip(c->arena, k, choice);
    if (!small_enough(k, &args->env) || !launch(c->arena, k, args, c->memory, &first))
        return PASSED;
    launch(c->arena, k, args, c->memory, &second);
    if (!same_outcome(&first, &second))
        finding("two launches differ", "", printed(c->arena, k));
    compare_plain(c, plain, args, k, &first);
    struct ensures_report report;
    if (first.fault == CPU_OK)
        ensures_check(c->arena, k, args->values, (struct parallel){0}, &report);
    struct diag d;
    diag_init(&d, c->arena);
    struct pass_context context = {.kernel = again, .diag = &d, .facts = NULL};
    if (!pass_order_run(&context, NULL))
        finding_messages("the passes refuse the printed kernel", c->arena, &d,
                         printed(c->arena, k));
    if (launch(c->arena, again, args, c->memory, &second) && !same_outcome(&first, &second))
        finding("the printed kernel computes something else", printed(c->arena, again),
                printed(c->arena, k));
    return RAN;
}

static enum reached one_kernel(struct fuzz_case *c, int index)
{
    const struct lang_kernel *lk = lang_kernel(c->arena, c->module, index, NULL);
    struct arguments *args = arena_new(c->arena, struct arguments);
    if (lk->param_count > MAX_PARAMS)
        return PARSED;
    make_arguments(c->arena, lk, args);
    struct lang_choice choice = {.statics = args->scalars, .statics_known = args->known};
    int errors = c->diag->errors;
    struct kernel *k = lang_check(c->arena, c->diag, c->module, index, &choice);
    if (!k != (c->diag->errors > errors))
        finding_messages("a kernel is missing without an error, or there with one", c->arena,
                         c->diag, lk->name);
    if (!k)
        return PARSED;
    must_verify(c->arena, k, "checked");
    round_trip(c->arena, k, &choice);
    struct kernel *plain = lang_check(c->arena, c->diag, c->module, index, &choice);
    struct launch_facts facts = {args->scalars, args->known, args->divisor};
    struct pass_context context = {.kernel = k, .diag = c->diag, .facts = &facts};
    errors = c->diag->errors;
    bool passed = pass_order_run(&context, NULL);
    if (passed != (c->diag->errors == errors))
        finding_messages("pass_order_run and its messages disagree", c->arena, c->diag, lk->name);
    if (!passed)
        return CHECKED;
    must_verify(c->arena, k, "after the passes");
    return run_kernel(c, k, plain, args, &choice);
}

static enum reached whole_text(struct fuzz_case *c, const char *text, size_t n)
{
    struct source source = {"fuzz", text, n};
    enum reached best = NOT_PARSED;
    c->module = lang_parse(c->arena, c->diag, &source);
    if (!c->module && c->diag->errors == 0)
        finding("no module, and no error", "", "");
    if (c->module && c->diag->errors == 0) {
        best = PARSED;
        int count = lang_kernel_count(c->module);
        for (int i = 0; i < count && i < 4; i++) {
            enum reached now = one_kernel(c, i);
            best = now > best ? now : best;
        }
    }
    struct text t;
    text_init(&t, c->arena);
    diag_render(&t, c->diag, true);
    return best;
}

int fuzz_one(const char *text, size_t n)
{
    jmp_buf no_memory;
    struct rng r = {n};
    /* One text in fifty runs with an allocator that fails at some point. */
    struct meter meter = {0, rng_chance(&r, 2) ? rng_below(&r, 40) : -1};
    struct allocator memory = {metered, &meter, NULL};
    struct arena a;
    struct diag d;
    volatile enum reached reached = NOT_PARSED;
    arena_init(&a, &memory, &no_memory);
    if (setjmp(no_memory) == 0) {
        diag_init(&d, &a);
        struct fuzz_case c = {&a, &memory, &d, NULL};
        reached = whole_text(&c, text, n);
    }
    arena_free(&a);
    if (meter.used != 0)
        finding("memory was not given back", "", "");
    return reached;
}
