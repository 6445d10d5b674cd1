/* Atomics: each has the same effect on an element as on the CPU engine; all are assembled. */
#include "emit_program.h"
#include "ptx_thread.h"

#include "cpu/atomic_ops.h"
#include "nvptx/nvptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

static const enum op ops[] = {OP_ATOMIC_ADD, OP_ATOMIC_MIN, OP_ATOMIC_MAX,      OP_ATOMIC_AND,
                              OP_ATOMIC_OR,  OP_ATOMIC_XOR, OP_ATOMIC_EXCHANGE, OP_ATOMIC_CAS};
enum { OP_KINDS = sizeof ops / sizeof ops[0] };

static jmp_buf out_of_memory;

/* An atomic of an element: `wanted`: its old value is stored; `guarded`: it is in a branch. */
struct form {
    enum op op;
    enum dtype t;
    bool shared, wanted, guarded;
};

/* Adds the operation on memory[i] with value[i] (and desired[i]), whose names end in i. */
static void write_atomic(struct text *out, const struct form *f, int i)
{
    const char *t = dtype_table[f->t].name;
    text_printf(out, "%%v%d = load.%s %%value, 0, 0\n%%d%d = load.%s %%desired, 0, 0\n", i, t, i,
                t);
    if (f->guarded)
        text_printf(out, "%%p%d = eq.u64 %%value, %%same\nif %%p%d {\n", i, i);
    text_printf(out, "%%o%d = %s.%s ", i, op_table[f->op].text, t);
    if (f->shared)
        text_printf(out, "%s[1], 0, 0, %%v%d", t, i);
    else
        text_printf(out, "%%memory, 0, 0, %%v%d", i);
    if (f->op == OP_ATOMIC_CAS)
        text_printf(out, ", %%d%d", i);
    text_add(out, "\n");
    if (f->wanted)
        text_printf(out, "store.%s %%old, 0, 0, %%o%d\n", t, i);
    if (f->guarded)
        text_add(out, "}\n");
}

static const char head[] =
    "kernel f(u64 %%memory, u64 %%value, u64 %%desired, u64 %%old, u64 %%same) "
    "threads 1 target sm_%d {\n";

static struct ptx_module *emitted(struct arena *a, const char *text)
{
    struct diag diag;
    diag_init(&diag, a);
    struct source source = {.name = "program", .text = text, .length = strlen(text)};
    struct thread_function *f = thread_parse(a, &source, &diag);
    struct ptx_module *m = f && thread_verify(a, f, &diag) ? nvptx_emit(a, f, &diag) : NULL;
    if (!m || !ptx_verify(m, &diag)) {
        struct text messages;
        text_init(&messages, a);
        diag_render(&messages, &diag, false);
        fail_msg("%s%s", text, messages.data);
    }
    return m;
}

/* --- effects --- */

enum { SAMPLES = 15 * 15 };
static const double numbers[15] = {0, -0.0, 1,   -1,    2.5,      -2.5,      100,        -7,
                                   3, 1e4,  0.1, 65504, HUGE_VAL, -HUGE_VAL, (double)NAN};

static void sample(enum dtype t, void *array, bool first)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t k = first ? i / 15 : i % 15;
        char *at = (char *)array + i * dtype_size(t);
        if (dtype_is_float(t))
            dtype_store_f64(t, at, numbers[k]);
        else
            dtype_store_i64(t, at, k == 13 ? INT64_MIN : k == 14 ? -1 : (int64_t)(k * k * 71) - 9);
        if (dtype_is_float(t) && k == 14 && i % 2) /* NaN with a sign */
            at[dtype_size(t) - 1] = (char)(at[dtype_size(t) - 1] | 0x80);
    }
}

static bool same(enum dtype t, const void *a, const void *b)
{
    if (dtype_is_float(t) && isnan(dtype_load_f64(t, a)) && isnan(dtype_load_f64(t, b)))
        return true;
    return memcmp(a, b, dtype_size(t)) == 0;
}

static void try_atomic(int target, const struct form *f)
{
    static uint64_t memory[SAMPLES], value[SAMPLES], desired[SAMPLES];
    const size_t size = dtype_size(f->t);
    struct arena a;
    struct text text;
    struct ptx_thread thread;
    arena_init(&a, &allocator_libc, &out_of_memory);
    text_init(&text, &a);
    text_printf(&text, head, target);
    write_atomic(&text, f, 0);
    text_add(&text, "}\n");
    ptx_thread_init(&thread, &a, ptx_find_function(emitted(&a, text.data), "f"));
    sample(f->t, memory, true);
    sample(f->t, value, false);
    sample(f->t, desired, true);
    for (size_t i = 0; i < SAMPLES; i++) {
        uint64_t before = 0, after = 0, old = 0;
        char *at = (char *)memory + i * size;
        void *given = (char *)value + i * size, *instead = (char *)desired + i * size;
        const uint64_t arguments[] = {(uintptr_t)at, (uintptr_t)given, (uintptr_t)instead,
                                      (uintptr_t)&old, (uintptr_t)given};
        memcpy(&after, at, size);
        cpu_atomic_op(f->op, f->t)(&after, &before, given, instead);
        thread.arguments = arguments;
        const char *unknown = ptx_thread_run(&thread);
        if (unknown)
            fail_msg("%s: %s is not executed", text.data, unknown);
        if (!same(f->t, at, &after) || (f->wanted && !same(f->t, &before, &old)))
            fail_msg("element %zu of\n%s", i, text.data);
    }
    arena_free(&a);
}

/* Calls `act` for every atomic and every type that has it. */
static void each(bool shared, void (*act)(const struct form *f, void *user), void *user)
{
    for (size_t k = 0; k < OP_KINDS; k++)
        for (enum dtype t = 0; t < DT_COUNT; t++)
            for (int i = 0; i < 4 && cpu_atomic_op(ops[k], t); i++)
                act(&(struct form){ops[k], t, shared, i & 1, i & 2}, user);
}

static void try_each(const struct form *f, void *user)
{
    try_atomic(*(int *)user, f);
}

static void act_as_on_the_cpu(void **unused)
{
    (void)unused;
    for (int target = 80; target <= 90; target += 10)
        each(false, try_each, &target);
}

struct all {
    struct text text;
    int count;
};

static void add_one(const struct form *f, void *user)
{
    struct all *all = user;
    write_atomic(&all->text, f, all->count++);
}

/* One kernel has all of them. */
static void they_assemble(void **unused)
{
    (void)unused;
    static const int targets[] = {80, 90, 120};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        struct program p = {0};
        struct all all = {.count = 0};
        struct text ptx;
        int at = 0;
        program_open(&p, "");
        text_init(&all.text, &p.arena);
        text_init(&ptx, &p.arena);
        text_printf(&all.text, head, targets[i]);
        for (enum dtype t = 0; t < DT_BOOL; t++, at += 16)
            text_printf(&all.text, "shared %s %s[2] at %d\n", dtype_table[t].name,
                        dtype_table[t].name, at);
        each(false, add_one, &all);
        each(true, add_one, &all);
        text_add(&all.text, "}\n");
        ptx_print(&ptx, emitted(&p.arena, all.text.data));
        const char *why = has_assembler()
                              ? assemble(&p, arena_printf(&p.arena, "sm_%d", targets[i]), ptx.data)
                              : NULL;
        if (why)
            fail_msg("%s", why);
        program_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(act_as_on_the_cpu),
        cmocka_unit_test(they_assemble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
