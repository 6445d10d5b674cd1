/* Thread IR computes the right values: its PTX is executed by one thread, with inputs from memory. */
#include "nvptx/nvptx.h"
#include "ptx_thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { INPUTS = 8, OUTPUTS = 8 };

static const struct example {
    const char *name, *body;
    uint32_t in[INPUTS], out[OUTPUTS];
} examples[] = {
    {"integers",
     "%a = load.u32 %in, 0, 0 %b = load.u32 %in, 0, 1\n"
     "%x = add.u32 %a, %b store.u32 %out, 0, 0, %x\n"
     "%y = mul.u32 %a, 5 store.u32 %out, 0, 1, %y\n"
     "%z = div.u32 %a, %b store.u32 %out, 0, 2, %z\n"
     "%w = rem.u32 %a, %b store.u32 %out, 0, 3, %w\n"
     "%p = lt.u32 %a, %b %q = select.u32 %p, 7, %b store.u32 %out, 0, 4, %q\n"
     "%s = shl.u32 %b, 2 %t = xor.u32 %s, 3 store.u32 %out, 0, 5, %t\n",
     {17, 5},
     {22, 85, 3, 2, 5, 23}},
    {"swapped in each turn",
     "%first = load.u32 %in, 0, 0 %second = load.u32 %in, 0, 1\n"
     "%a, %b = loop (%i: u32 = 0, %x: u32 = %first, %y: u32 = %second) {\n"
     "    %done = eq.u32 %i, 3 break_if %done, %x, %y\n"
     "    %j = add.u32 %i, 1 continue %j, %y, %x\n"
     "}\n"
     "store.u32 %out, 0, 0, %a store.u32 %out, 0, 1, %b\n",
     {10, 20},
     {20, 10}},
    {"iterations that become one, left in the middle",
     "%n = load.u32 %in, 0, 0\n"
     "%sum, %at = loop unroll 4 (%i: u32 = 0, %s: u32 = 0, %stage: u32 = 0) {\n"
     "    %done = ge.u32 %i, %n break_if %done, %s, %stage\n"
     "    %even = and.u32 %stage, 1 %is_odd = eq.u32 %even, 1\n"
     "    %r = if %is_odd { %x = add.u32 %s, %i yield %x } else { %y = add.u32 %s, 100 yield %y }\n"
     "    %more = add.u32 %stage, 1 %next = and.u32 %more, 3\n"
     "    %j = add.u32 %i, 1 continue %j, %r, %next\n"
     "}\n"
     "store.u32 %out, 0, 0, %sum store.u32 %out, 0, 1, %at\n",
     {7},
     {409, 3}},
    {"a value that one arm loads and the other keeps",
     "%a = load.u32 %in, 0, 0 %b = load.u32 %in, 0, 1\n"
     "%p = lt.u32 %a, %b %q = lt.u32 %b, %a\n"
     "%x = if %p { %v = load.u32 %in, 0, 2 yield %v } else { yield %a }\n"
     "%y = if %q { %v1 = load.u32 %in, 0, 2 yield %v1 } else { yield %a }\n"
     "store.u32 %out, 0, 0, %x store.u32 %out, 0, 1, %y store.u32 %out, 0, 2, %a\n"
     "%c, %d = if %q { %v2 = load.u32 %in, 0, 3 %e = add.u32 %b, 1 yield %v2, %b } else { yield "
     "%b, %a }\n"
     "store.u32 %out, 0, 3, %c store.u32 %out, 0, 4, %d\n",
     {3, 8, 70, 90},
     {70, 3, 3, 8, 3}},
    {"a predicate that takes the place of the one that chooses",
     "%a = load.u32 %in, 0, 0 %b = load.u32 %in, 0, 1\n"
     "%p = lt.u32 %a, %b %q = eq.u32 %a, 100\n"
     "%r, %x = if %p { %v = load.u32 %in, 0, 2 yield %q, %v } else { yield %p, 5 }\n"
     "%n = select.u32 %r, 1, 2 store.u32 %out, 0, 0, %n store.u32 %out, 0, 1, %x\n"
     "%p1 = lt.u32 %b, 50 %r1, %y = if %p1 { yield %q, %b } else { yield %p1, 5 }\n"
     "%m = select.u32 %r1, 1, 2 store.u32 %out, 0, 2, %m store.u32 %out, 0, 3, %y\n",
     {3, 8, 70},
     {2, 70, 2, 8}},
    {"a test with a step before it",
     "%n = load.u32 %in, 0, 0\n"
     "%last, %sum = loop (%i: u32 = 0, %s: u32 = 0) {\n"
     "    %j = add.u32 %i, 3 %done = ge.u32 %j, %n break_if %done, %j, %s\n"
     "    %t = add.u32 %s, %i continue %j, %t\n"
     "}\n"
     "store.u32 %out, 0, 0, %last store.u32 %out, 0, 1, %sum\n",
     {10},
     {12, 9}},
    {"parts of a group that is loaded again in each turn",
     "%sum, %old = loop (%i: u32 = 0, %g: u32*2 = 0, %s: u32 = 0) {\n"
     "    %done = eq.u32 %i, 3 %g0 = part.u32 %g, 1, 1, 1 break_if %done, %s, %g0\n"
     "    %h = load.u32 %in, %i, 0 * 2 %x = part.u32 %h, 0, 1, 1 %y = part.u32 %h, 1, 1, 1\n"
     "    %more = load.u32 %in, %i, 2 * 2 %z = mul.u32 %x, %y %t = add.u32 %s, %z\n"
     "    %j = add.u32 %i, 2 %k = sub.u32 %j, 1 %stop = eq.u32 %j, 4 %l = select.u32 %stop, 3, %j\n"
     "    continue %l, %more, %t\n"
     "}\n"
     "store.u32 %out, 0, 0, %sum store.u32 %out, 0, 1, %old\n",
     {2, 3, 5, 7, 11, 13},
     {41, 13}},
    {"constants added one after the other",
     "%a = load.u32 %in, 0, 0 %b = add.u32 %a, 4294967295 %c = add.u32 %b, 3 %d = add.u32 %c, 5\n"
     "store.u32 %out, 0, 0, %b store.u32 %out, 0, 1, %c store.u32 %out, 0, 2, %d\n",
     {10},
     {9, 12, 17}},
    {"a loop in a loop",
     "%n = load.u32 %in, 0, 0\n"
     "%sum = loop (%i: u32 = 0, %s: u32 = 0) {\n"
     "    %done = ge.u32 %i, %n break_if %done, %s\n"
     "    %more = loop (%j: u32 = 0, %r: u32 = %s) {\n"
     "        %last = ge.u32 %j, %i\n"
     "        if %last { break %r }\n"
     "        %r1 = add.u32 %r, %j %j1 = add.u32 %j, 1 continue %j1, %r1\n"
     "    }\n"
     "    %i1 = add.u32 %i, 1 continue %i1, %more\n"
     "}\n"
     "store.u32 %out, 0, 0, %sum\n",
     {5},
     {10}},
    {"an if with results, and one without else",
     "%n = load.u32 %in, 0, 0 %odd = and.u32 %n, 1 %is_odd = eq.u32 %odd, 1\n"
     "%a, %b = if %is_odd { %x = add.u32 %n, 1 yield %x, %n } else { %y = add.u32 %n, 2 yield %n, "
     "%y }\n"
     "store.u32 %out, 0, 0, %a store.u32 %out, 0, 1, %b\n"
     "if %is_odd { store.u32 %out, 0, 2, 9 }\n"
     "%even = eq.u32 %odd, 0 if %even { store.u32 %out, 0, 3, 9 }\n",
     {7},
     {8, 7, 9}},
    {"return ends the thread",
     "%n = load.u32 %in, 0, 0 store.u32 %out, 0, 0, 1\n"
     "%big = gt.u32 %n, 5 if %big { return } store.u32 %out, 0, 1, 1\n",
     {6},
     {1}},
    {"groups",
     "%a = load.f32 %in, 0, 0 %b = load.f32 %in, 0, 1 %c = load.f32 %in, 0, 2 %d = load.f32 %in, "
     "0, 3\n"
     "%g = join.f32 %a, %b, %c, %d\n"
     "%h = mul.f32 %g, 2.0 %k = add.f32 %h, %g\n"
     "%even = part.f32 %k, 0, 2, 2 %odd = part.f32 %k, 1, 2, 2\n"
     "%most = reduce_max.f32 %even %sum = reduce_add.f32 %odd\n"
     "store.f32 %out, 0, 0, %most store.f32 %out, 0, 1, %sum\n"
     "%w = weave.f32 %odd, %even %w0 = part.f32 %w, 0, 1, 1 %w3 = part.f32 %w, 3, 1, 1\n"
     "store.f32 %out, 0, 2, %w0 store.f32 %out, 0, 3, %w3\n",
     {0x3f800000, 0x40000000, 0x40400000, 0x40800000},  /* 1, 2, 3, 4 */
     {0x41100000, 0x41900000, 0x40c00000, 0x41100000}}, /* 9, 6 + 12, 6, 9 */
    {"a group times a number plus a number",
     "%a = load.f32 %in, 0, 0 %b = load.f32 %in, 0, 1 %c = load.f32 %in, 0, 2\n"
     "%g = join.f32 %a, %b %h = fma.f32 %g, %c, %a\n"
     "%h0 = part.f32 %h, 0, 1, 1 %h1 = part.f32 %h, 1, 1, 1\n"
     "store.f32 %out, 0, 0, %h0 store.f32 %out, 0, 1, %h1\n",
     {0x3f800000, 0x40000000, 0x40400000}, /* 1, 2, 3 */
     {0x40800000, 0x40e00000}},            /* 4, 7 */
    {"a group that a loop passes on while its old value is needed",
     "%a = load.f32 %in, 0, 0 %b = load.f32 %in, 0, 1 %start = join.f32 %a, %b\n"
     "%end, %kept = loop (%i: u32 = 0, %g: f32*2 = %start, %old: f32*2 = %start) {\n"
     "    %done = eq.u32 %i, 2 break_if %done, %g, %old\n"
     "    %h = add.f32 %g, 1.0 %j = add.u32 %i, 1 continue %j, %h, %g\n"
     "}\n"
     "%e0 = part.f32 %end, 0, 1, 1 %k1 = part.f32 %kept, 1, 1, 1\n"
     "%s1 = part.f32 %start, 1, 1, 1\n"
     "store.f32 %out, 0, 0, %e0 store.f32 %out, 0, 1, %k1 store.f32 %out, 0, 2, %s1\n",
     {0x3f800000, 0x40000000},
     {0x40400000, 0x40400000, 0x40000000}}, /* 3, 3, 2 */
    {"groups of predicates",
     "%a = load.u32 %in, 0, 0 * 4 %b = load.u32 %in, 0, 4 * 4\n"
     "%p = lt.u32 %a, %b %q = ge.u32 %a, 3 %r = and.bool %p, %q\n"
     "%x = select.u32 %r, %a, %b store.u32 %out, 0, 0, %x\n"
     "%y = select.u32 %p, 1, 0 %n = reduce_add.u32 %y store.u32 %out, 0, 4, %n\n"
     "%least = reduce_min.u32 %x store.u32 %out, 0, 5, %least\n"
     "%any = reduce_or.bool %r %all = reduce_and.bool %r %both = reduce_or.u32 %a\n"
     "%more = xor.bool %any, %all %some = select.u32 %more, %both, 0 store.u32 %out, 0, 6, %some\n"
     "%word = load.u32 %out, 0, 4 store.bool %out, 0, 16, %p %z = load.bool %out, 0, 16 * 4\n"
     "store.u32 %out, 0, 4, %word\n"
     "%w = select.u32 %z, 1, 0 %m = reduce_add.u32 %w store.u32 %out, 0, 7, %m\n",
     {1, 2, 3, 4, 9, 1, 7, 5},
     {9, 1, 3, 4, 3, 1, 7, 3}},
    {"halves and f32",
     "%a = load.f16 %in, 0, 0 * 4 %b = convert.f32.f16 %a %s = reduce_add.f32 %b\n"
     "store.f32 %out, 0, 0, %s\n"
     "%c = part.f16 %a, 1, 2, 2 %d = part.f16 %a, 2, 1, 1 %e = join.f16 %d, %c, 0.5\n"
     "store.f16 %out, 0, 2, %e\n"
     "%f = part.f32 %b, 0, 3, 1 %g = convert.bf16.f32 %f %h = part.bf16 %g, 2, 1, 1\n"
     "store.bf16 %out, 0, 6, %h store.f16 %out, 0, 7, 2.0\n"
     "%w = weave.f16 %c, %c store.f16 %out, 0, 8, %w\n"
     "%i = load.f16 %in, 0, 1 %j = convert.f32.f16 %i store.f32 %out, 0, 6, %j\n",
     {0x40003c00, 0x44004200}, /* 1, 2, 3, 4 */
     {0x41200000, 0x40004200, 0x38004400, 0x40004040, 0x40004000, 0x44004400, 0x40000000}},
    {"bytes and half words",
     "%a = load.u8 %in, 0, 0 * 4 %b = part.u8 %a, 1, 2, 2 %c = part.u8 %a, 2, 1, 1\n"
     "%d = join.u8 %b, %c, 7 store.u8 %out, 0, 0, %d store.u8 %out, 0, 4, %c\n"
     "store.u8 %out, 0, 6, %b\n"
     "%e = load.i16 %in, 0, 2 %f = part.i16 %e, 0, 1, 1 %g = join.i16 %f, -2\n"
     "store.i16 %out, 0, 4, %g store.i16 %out, 0, 6, %e\n"
     "%h = load.u8 %in, 0, 5 * 2 store.u8 %out, 0, 16, %h store.u8 %out, 0, 20, 200\n",
     {0x04030201, 0xff80fffe},
     {0x07030402, 0x04020003, 0xfffefffe, 0xfffe, 0x80ff, 200}},
    {"indices of 64 bits",
     "%i = load.u64 %in, 0, 0 %a = load.u32 %in, %i, 1 store.u32 %out, %i, 0, %a\n"
     "%j = load.i64 %in, 0, 1 %b = load.u32 %in, %j, 6 store.u32 %out, %j, 6, %b\n",
     {2, 0, 0xfffffffe, 0xffffffff, 5},
     {0, 0, 0xffffffff, 0, 5}},
    {"scalars that become others unchanged stay",
     "%a = load.u32 %in, 0, 0 %b = add.u32 %a, 1 %c = reduce_max.u32 %b\n"
     "store.u32 %out, 0, 0, %b store.u32 %out, 0, 1, %c\n"
     "%d = convert.i32.u32 %a %e = neg.i32 %d %f = convert.i32.i32 %e %g = neg.i32 %e\n"
     "store.i32 %out, 0, 2, %e store.i32 %out, 0, 3, %f store.i32 %out, 0, 4, %g\n"
     "%h = square.u32 %a %i = part.u32 %h, 0, 1, 1 %j = join.u32 %h %k = bits.f32.u32 %h\n"
     "store.u32 %out, 0, 5, %h store.u32 %out, 0, 6, %j store.f32 %out, 0, 7, %k\n",
     {3},
     {4, 4, 0xfffffffd, 0xfffffffd, 3, 9, 9, 9}},
};

static void values(void **state)
{
    const struct example *e = *state;
    jmp_buf out_of_memory;
    struct arena arena;
    struct diag diag;
    char text[2048];
    uint32_t out[OUTPUTS] = {0};
    if (setjmp(out_of_memory))
        fail();
    arena_init(&arena, &allocator_libc, &out_of_memory);
    diag_init(&diag, &arena);
    snprintf(text, sizeof text, "kernel f(u64 %%in, u64 %%out) threads 1 target sm_90a {\n%s}\n",
             e->body);
    struct source source = {.name = e->name, .text = text, .length = strlen(text)};
    struct thread_function *f = thread_parse(&arena, &source, &diag);
    struct ptx_module *m =
        f && thread_verify(&arena, f, &diag) ? nvptx_emit(&arena, f, &diag) : NULL;
    if (!m) {
        struct text messages;
        text_init(&messages, &arena);
        diag_render(&messages, &diag, false);
        fail_msg("%s", messages.data);
    }
    struct ptx_thread t;
    const uint64_t arguments[] = {(uintptr_t)e->in, (uintptr_t)out};
    ptx_thread_init(&t, &arena, ptx_find_function(m, "f"));
    t.arguments = arguments;
    const char *unknown = ptx_thread_run(&t);
    if (unknown)
        fail_msg("%s is not executed", unknown);
    for (size_t i = 0; i < OUTPUTS; i++)
        if (out[i] != e->out[i])
            fail_msg("%s: output %zu is %#x, not %#x", e->name, i, out[i], e->out[i]);
    arena_free(&arena);
}

int main(void)
{
    enum { COUNT = sizeof examples / sizeof *examples };
    struct CMUnitTest tests[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){
            .name = examples[i].name, .test_func = values, .initial_state = (void *)&examples[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
