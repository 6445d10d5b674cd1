/* Texts of thread IR with random changes: the parser, the checks and the emitter refuse them with a message, or the PTX
 * is right. A text that the parser takes is printed, and reads back the same. */
#include "nvptx/nvptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MUTANTS = 3000, MOST_TOKENS = 600, MOST_CHANGES = 3 };

static const char products[] =
    "kernel f ( u64 %out , u32 %n , map %m ) threads 384 blocks 1 target sm_90a {\n"
    "shared bf16 a [ 8192 ] at 0 shared f32 e [ 64 ] at 16384 mbarrier full [ 3 ] at 49152\n"
    "%d = descriptor a [ 0 ] , 16 , 1024\n"
    "%none = undefined .f32 * 32 %fac = undefined .bf16 * 8 %p = eq .u32 %n , 1\n"
    "%nn = convert .i32 .u32 %n %f = convert .f32 .i32 %nn %l = load_shared .f32 e [ %n + 3 ]\n"
    "store_shared .f32 e [ 2 ] , %f store_matrix .bf16 a [ %n ] , %fac\n"
    "roles { warps 0 , 4 registers 40 {\n"
    "%s1 = product .f32 .bf16 .bf16 %none , %d , %d , 0 , 0 %c = product_commit .f32 %s1\n"
    "%r , %k = loop ( %i : u32 = 0 , %g : flight f32 * 32 = %c , %q : bool = 0 ) {\n"
    "%i1 = add .u32 %i , 1 %h = product .f32 .bf16 .bf16 %g , %d , %d , %q , 0\n"
    "%hc = product_commit .f32 %h if %q { barrier 1 , 128 } else {\n"
    "%w1 = product_wait .f32 %hc , 0 return }\n"
    "break_if %p , %hc , %i1 mbarrier_wait full [ %i1 ] , 1 continue %i1 , %hc , %p }\n"
    "%w = product_wait .f32 %r , 0 %sum = reduce_add .f32 %w store .f32 %out , %n , 3 , %sum }\n"
    "warps 4 , 8 registers 232 {\n"
    "%s2 = product_from .f32 .bf16 .bf16 %none , %fac , %d , %p , 1 %c2 = product_commit .f32 %s2\n"
    "%y = if %p { %w2 = product_wait .f32 %c2 , 0 yield %w2 } else {\n"
    "%w3 = product_wait .f32 %c2 , 0 yield %w3 }\n"
    "%hb = convert .bf16 .f32 %y %pt = part .bf16 %hb , 8 , 8 , 1 %jn = join .bf16 %pt , %fac\n"
    "store_matrix .bf16 a [ %n + 8 ] , %pt copy_out %m , a [ 0 ] , 0 , %n\n"
    "copy_out_commit copy_out_wait 0 copy_in %m , a [ 0 ] , full [ 1 ] , %n , 0 , 1\n"
    "%sh = shuffle_xor .f32 %f , 1 mbarrier_arrive full [ %n ] mbarrier_expect full [ 2 ] , 1024\n"
    "} } }\n";

static const char values[] =
    "kernel g ( u64 %out , u32 %n , f16 %h , bool %p ) threads 32 target sm_90a {\n"
    "shared u8 t [ 64 ] at 0 shared f64 z [ 8 ] at 64\n"
    "%a = load .u8 %out , %n , 0 * 4 %b = convert .f16 .u8 %a %c = exp .f16 %b\n"
    "%q = lt .f16 %c , %b %s = select .f16 %q , %c , 1.5 %t1 = bits .u16 .f16 %s\n"
    "%u = shl .u16 %t1 , %n %r = reduce_max .u16 %u %j = join .f16 %h , %s\n"
    "%v = part .f16 %j , 1 , 4 , 1 %w = weave .f16 %v , %v %x = shuffle_xor .f16 %w , 1\n"
    "store .f16 %out , %n , 8 , %v %y = convert .e5m2 .f16 %w %y1 = part .e5m2 %y , 3 , 4 , 1\n"
    "store .e5m2 %out , %n , 32 , %y1 %ph = philox .u32 .u64 %out , 7 , %n\n"
    "store .u32 %out , %n , 2 , %ph %fl = floor .f16 %h %cl = clip .f16 %b , 0.5 , %h\n"
    "%e = load_shared .u8 t [ %n ] store_shared .u8 t [ 3 ] , %e %i = convert .i64 .u32 %n\n"
    "%g = load .i8 %out , %i , 1 * 2 %k = square .i8 %g %k1 = part .i8 %k , 1 , 1 , 1\n"
    "%m = fma .f16 %x , %fl , %h %o = reduce_and .bool %q %o1 = not .bool %o\n"
    "%l , %l1 = loop ( %d : f16 * 4 = 0.5 , %f : bool * 4 = %q , %d1 : i8 = 3 ) {\n"
    "%d2 = add .f16 %d , %c %f1 = ge .f16 %d2 , 2.0 %d3 = rem .i8 %d1 , %k1\n"
    "break_if %o1 , %d2 , %d3 continue %d2 , %f1 , %d3 }\n"
    "if %p { store .f16 %out , %n , 64 , %l store .i8 %out , %i , 65 , %l1 }\n"
    "%aa = tanh .f16 %cl %ab = convert .f64 .f16 %aa %ac = part .f64 %ab , 0 , 1 , 1\n"
    "%ad = pow .f64 %ac , 2.5 store_shared .f64 z [ 1 ] , %ad }\n";

/* Words that the programs lack. */
static const char *const others[] = {"-",          "-1",     "9223372036854775808",
                                     "4294967296", "256",    "0.5",
                                     "1e300",      "inf",    "map",
                                     ".bool",      ".f16",   ".u8",
                                     ".e4m3",      ".i64",   "%",
                                     "break",      "select", "fma",
                                     "neg",        "exp2",   "shl",
                                     "sm_50",      "sm_91",  "sm_100a",
                                     "weave",      "f16",    "0f7FC00000",
                                     "and",        "lt",     "%other",
                                     ".f64",       ".tf32",  "rem",
                                     "bits",       "sin",    "cdiv",
                                     "reduce_or",  "load",   "exp2_approx",
                                     "u64",        "0"};

struct token {
    const char *text;
    size_t length;
};

static uint32_t random_below(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

static size_t split(const char *program, struct token *tokens)
{
    size_t count = 0;
    for (const char *at = program; *at; at += strspn(at, " \n")) {
        tokens[count] = (struct token){at, strcspn(at, " \n")};
        at += tokens[count++].length;
        assert_true(count < MOST_TOKENS);
    }
    return count;
}

/* Returns what a token of its kind begins with. */
static int kind_of(struct token t)
{
    const char c = t.text[0];
    return c >= '0' && c <= '9' ? '0' : c >= 'a' && c <= 'z' ? 'a' : c;
}

/* Puts a token in the place of another: mostly of its kind. */
static void change(uint64_t *state, struct token *tokens, size_t count)
{
    const uint32_t at = random_below(state, (uint32_t)count);
    const bool any = random_below(state, 8) == 0;
    for (int tries = 0; tries < 100; tries++) {
        struct token t = tokens[random_below(state, (uint32_t)count)];
        if (random_below(state, 3) == 0) {
            t.text = others[random_below(state, sizeof others / sizeof *others)];
            t.length = strlen(t.text);
        }
        if (any || kind_of(t) == kind_of(tokens[at])) {
            tokens[at] = t;
            return;
        }
    }
}

static void read_back(struct arena *a, const struct thread_function *f, struct diag *d)
{
    struct text first, second;
    text_init(&first, a);
    text_init(&second, a);
    thread_print(&first, f);
    const struct source source = {.name = "printed", .text = first.data, .length = first.length};
    const struct thread_function *again = thread_parse(a, &source, d);
    assert_non_null(again);
    thread_print(&second, again);
    assert_string_equal(first.data, second.data);
}

/* Returns whether there is PTX of the text. */
static bool compile(const char *text)
{
    jmp_buf out_of_memory;
    struct arena arena;
    struct diag diag;
    if (setjmp(out_of_memory))
        fail();
    arena_init(&arena, &allocator_libc, &out_of_memory);
    diag_init(&diag, &arena);
    const struct source source = {.name = "mutant", .text = text, .length = strlen(text)};
    struct thread_function *f = thread_parse(&arena, &source, &diag);
    if (f)
        read_back(&arena, f, &diag);
    struct ptx_module *m = NULL;
    if (f && thread_verify(&arena, f, &diag)) {
        thread_optimise(&arena, f);
        m = thread_verify(&arena, f, &diag) ? nvptx_emit(&arena, f, &diag) : NULL;
    }
    assert_int_equal(m == NULL, diag.errors > 0);
    assert_true(!m || ptx_verify(m, &diag));
    arena_free(&arena);
    return m;
}

static void mutants_of(const char *program)
{
    uint64_t random = 1;
    size_t compiled = 0;
    static char text[sizeof products + sizeof values + 32 * MOST_CHANGES];
    assert_true(compile(program));
    for (int i = 0; i < MUTANTS; i++) {
        struct token tokens[MOST_TOKENS];
        const size_t count = split(program, tokens);
        for (uint32_t n = 1 + random_below(&random, MOST_CHANGES); n > 0; n--)
            change(&random, tokens, count);
        size_t length = 0;
        for (size_t t = 0; t < count; t++)
            length += (size_t)snprintf(text + length, sizeof text - length, "%.*s ",
                                       (int)tokens[t].length, tokens[t].text);
        compiled += compile(text);
    }
    assert_in_range(compiled, MUTANTS / 20, MUTANTS); /* the others are refused */
}

static void mutants_with_products(void **unused)
{
    (void)unused;
    mutants_of(products);
}

static void mutants_with_all_types(void **unused)
{
    (void)unused;
    mutants_of(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mutants_with_products),
                                       cmocka_unit_test(mutants_with_all_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
