/* The passes over thread IR keep what programs compute: results of random programs do not change if all passes run. The
 * PTX of both is executed by one thread. */
#include "nvptx/nvptx.h"
#include "ptx_thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { INPUTS = 4, OUTPUTS = 8, DEEPEST = 3, PROGRAMS = 400 };

/* Writes a program. `names`: values that are visible, `count` of them. */
struct maker {
    struct text *text;
    uint64_t state;
    int names, next;
    int visible[512];
};

static unsigned chance(struct maker *m, unsigned below)
{
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(m->state >> 33) % below;
}

static int new_name(struct maker *m)
{
    return m->next++;
}

static void show(struct maker *m, int name)
{
    if (m->names < (int)(sizeof m->visible / sizeof *m->visible))
        m->visible[m->names++] = name;
}

static void operand(struct maker *m)
{
    static const char *const constants[] = {"0", "1", "2", "5", "31", "4294967295", "32"};
    if (chance(m, 4) == 0)
        text_add(m->text, constants[chance(m, sizeof constants / sizeof *constants)]);
    else
        text_printf(m->text, "%%v%d", m->visible[chance(m, (unsigned)m->names)]);
}

static void arithmetic(struct maker *m)
{
    static const char *const ops[] = {"add", "sub", "mul", "and", "or",
                                      "xor", "min", "max", "shl", "shr"};
    int name = new_name(m);
    text_printf(m->text, "%%v%d = %s.u32 ", name, ops[chance(m, sizeof ops / sizeof *ops)]);
    operand(m);
    text_add(m->text, ", ");
    operand(m);
    text_add(m->text, "\n");
    show(m, name);
}

static int predicate(struct maker *m)
{
    static const char *const ops[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    int name = new_name(m);
    text_printf(m->text, "%%p%d = %s.u32 ", name, ops[chance(m, sizeof ops / sizeof *ops)]);
    text_printf(m->text, "%%v%d, ", m->visible[chance(m, (unsigned)m->names)]);
    operand(m);
    text_add(m->text, "\n");
    return name;
}

static void statements(struct maker *m, int depth, unsigned count);

static void value(struct maker *m)
{
    text_printf(m->text, "%%v%d", m->visible[chance(m, (unsigned)m->names)]);
}

static void branch(struct maker *m, int depth)
{
    int visible = m->names, name = new_name(m), p = predicate(m);
    text_printf(m->text, "%%v%d = if %%p%d {\n", name, p);
    for (int region = 0; region < 2; region++) {
        statements(m, depth + 1, 1 + chance(m, 4));
        text_add(m->text, "yield ");
        value(m);
        text_add(m->text, region ? "\n}\n" : "\n} else {\n");
        m->names = visible;
    }
    show(m, name);
}

/* A loop of a few turns, which it may leave before. */
static void loop(struct maker *m, int depth)
{
    int visible = m->names, name = new_name(m), counter = new_name(m), carried = new_name(m),
        other = new_name(m);
    const bool unrolled = chance(m, 2) == 0;
    text_printf(m->text, "%%v%d, %%v%d = loop ", name, new_name(m));
    int second = m->next - 1;
    if (unrolled)
        text_printf(m->text, "unroll %u ", 2 + chance(m, 3));
    text_printf(m->text, "(%%v%d: u32 = 0, %%v%d: u32 = ", counter, carried);
    operand(m);
    text_printf(m->text, ", %%v%d: u32 = ", other);
    operand(m);
    text_add(m->text, ") {\n");
    show(m, counter);
    show(m, carried);
    show(m, other);
    int end = new_name(m), next = new_name(m);
    text_printf(m->text, "%%p%d = ge.u32 %%v%d, %u\nbreak_if %%p%d, %%v%d, %%v%d\n", end, counter,
                1 + chance(m, 3), end, carried, other);
    statements(m, depth + 1, 1 + chance(m, 5));
    if (chance(m, 3) == 0) {
        int p = predicate(m);
        text_printf(m->text, "break_if %%p%d, ", p);
        value(m);
        text_add(m->text, ", ");
        value(m);
        text_add(m->text, "\n");
    }
    text_printf(m->text, "%%v%d = add.u32 %%v%d, 1\ncontinue %%v%d, ", next, counter, next);
    (unrolled ? value : operand)(m);
    text_add(m->text, ", ");
    (unrolled ? value : operand)(m);
    text_add(m->text, "\n}\n");
    m->names = visible;
    show(m, name);
    show(m, second);
}

static void statements(struct maker *m, int depth, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned kind = depth < DEEPEST ? chance(m, 8) : 7;
        if (kind == 0)
            branch(m, depth);
        else if (kind == 1)
            loop(m, depth);
        else
            arithmetic(m);
    }
}

static void make(struct text *text, uint64_t seed)
{
    struct maker m = {.text = text, .state = seed * 7919 + 1};
    text_add(text, "kernel f(u64 %in, u64 %out) threads 1 target sm_80 {\n");
    for (int i = 0; i < INPUTS; i++) {
        int name = new_name(&m);
        text_printf(text, "%%v%d = load.u32 %%in, 0, %d\n", name, i);
        show(&m, name);
    }
    statements(&m, 0, 12);
    for (int i = 0; i < OUTPUTS; i++) {
        text_printf(text, "store.u32 %%out, 0, %d, ", i);
        value(&m);
        text_add(text, "\n");
    }
    text_add(text, "}\n");
}

static void run(struct arena *a, const struct source *source, bool optimised, uint32_t *out)
{
    static const uint32_t in[INPUTS] = {3, 0, 0xfffffffe, 17};
    const uint64_t arguments[] = {(uintptr_t)in, (uintptr_t)out};
    struct diag diag;
    struct ptx_thread t;
    diag_init(&diag, a);
    struct thread_function *f = thread_parse(a, source, &diag);
    bool ok = f && thread_verify(a, f, &diag);
    if (ok && optimised) {
        thread_optimise(a, f);
        ok = thread_verify(a, f, &diag);
    }
    struct ptx_module *m = ok ? nvptx_emit(a, f, &diag) : NULL;
    if (!m) {
        struct text messages;
        text_init(&messages, a);
        diag_render(&messages, &diag, false);
        fail_msg("%s\n%s", messages.data, source->text);
    }
    ptx_thread_init(&t, a, ptx_find_function(m, "f"));
    t.arguments = arguments;
    const char *unknown = ptx_thread_run(&t);
    if (unknown)
        fail_msg("%s is not executed", unknown);
}

static void programs_keep_their_values(void **state)
{
    (void)state;
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory))
        fail();
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        struct arena arena;
        struct text text;
        uint32_t plain[OUTPUTS] = {0}, optimised[OUTPUTS] = {0};
        arena_init(&arena, &allocator_libc, &out_of_memory);
        text_init(&text, &arena);
        make(&text, seed);
        const struct source source = {.name = "random", .text = text.data, .length = text.length};
        run(&arena, &source, false, plain);
        run(&arena, &source, true, optimised);
        if (memcmp(plain, optimised, sizeof plain) != 0)
            fail_msg("program %d computes something else after the passes:\n%s", (int)seed,
                     text.data);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_keep_their_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
