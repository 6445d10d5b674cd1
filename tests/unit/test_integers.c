/* Tests the compiler's assumptions about integers: compares the CPU engine, the simulator, and
 * constants evaluated as the language defines. It tries all pairs of 8-bit values under every
 * operation, compositions of two operations under every comparison, the ends of every type,
 * random expressions of mixed types, and loops whose counters pass the ends of their types.
 * TW_TEST_LONG: 165 times as many. */
#include "integer_programs.h"

#include "base/arithmetic.h"
#include "tilewright_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed;
static struct arena arena;
static jmp_buf failed;
static struct program_runner runner;
static bool is_long;

static int below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

/* --- values --- */

static const enum dtype types[] = {DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64};
enum { TYPES = 8 };

static int bits_of(enum dtype t)
{
    return dtype_table[t].bits;
}

/* Returns a value near 0, near a power of two or near an end of the type, or any value. */
static int64_t some_value(enum dtype t)
{
    int bits = bits_of(t);
    uint64_t power = (uint64_t)1 << below(bits);
    uint64_t near = (uint64_t)(below(7) - 3);
    uint64_t any = (uint64_t)below(INT32_MAX) * 0x9e3779b97f4a7c15u;
    switch (below(6)) {
    case 0: return dtype_wrap(t, (int64_t)near);
    case 1: return dtype_wrap(t, (int64_t)(power + near));
    case 2: return dtype_wrap(t, (int64_t)(near - power));
    case 3: return dtype_wrap(t, (int64_t)(((uint64_t)1 << (bits - 1)) + near));
    case 4: return dtype_wrap(t, below(200) - 100);
    default: return dtype_wrap(t, (int64_t)any);
    }
}

/* The values at which 8-bit operations change their behaviour. */
static const int64_t edges[] = {-128, -127, -126, -96, -65, -64, -63, -33, -32, -17, -8,
                                -7,   -3,   -2,   -1,  0,   1,   2,   3,   5,   7,   8,
                                15,   16,   31,   32,  33,  63,  64,  65,  100, 126, 127};
enum { EDGES = sizeof edges / sizeof *edges };

static int64_t x[PROGRAM_VALUES], y[PROGRAM_VALUES];

/* --- terms --- */

static struct term *new_term(enum term_kind kind, enum dtype t)
{
    struct term *e = arena_new(&arena, struct term);
    e->kind = kind;
    e->type = t;
    return e;
}

static const struct term *literal(enum dtype t, int64_t v)
{
    struct term *e = new_term(TERM_LITERAL, t);
    e->number = dtype_wrap(t, v);
    return e;
}

static const struct term *apply(enum op op, enum dtype t, const struct term *a,
                                const struct term *b, const struct term *c)
{
    struct term *e = new_term(TERM_OP, t);
    e->op = op;
    e->args[0] = a;
    e->args[1] = b;
    e->args[2] = c;
    e->count = c ? 3 : b ? 2 : 1;
    return e;
}

static const struct term *cast(enum dtype t, const struct term *a)
{
    return a->type == t ? a : apply(OP_CAST, t, a, NULL, NULL);
}

static const enum op binaries[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_REM, OP_CDIV, OP_MIN,
                                   OP_MAX, OP_AND, OP_OR,  OP_XOR, OP_SHL, OP_SHR};
static const enum op unaries[] = {OP_NEG, OP_INVERT, OP_ABS, OP_SQUARE, OP_POW2_CEIL};
static const enum op compares[] = {OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE};
enum { BINARIES = 13, UNARIES = 5, COMPARES = 6 };

/* Returns true if the term is an input, possibly cast, whose value the compiler cannot know. */
static bool is_read(const struct term *e)
{
    if (e->kind == TERM_OP)
        return e->op == OP_CAST && is_read(e->args[0]);
    return e->kind != TERM_LITERAL && e->kind != TERM_S && e->kind != TERM_COUNTER;
}

/* Makes the term a right operand for that op: no divisor is 0, and no shift count known to the
 * compiler is too large. */
static const struct term *operand_for(enum op op, enum dtype t, const struct term *b)
{
    bool divides = op == OP_DIV || op == OP_REM || op == OP_CDIV,
         shifts = op == OP_SHL || op == OP_SHR;
    if (b->kind == TERM_LITERAL && divides && b->number == 0)
        return literal(t, 3);
    if (b->kind == TERM_LITERAL && shifts)
        return literal(t, b->number & (bits_of(t) - 1));
    if (shifts && (!is_read(b) || below(3)))
        return apply(OP_AND, t, b, literal(t, bits_of(t) - 1), NULL);
    return divides && b->kind != TERM_LITERAL ? apply(OP_OR, t, b, literal(t, 1), NULL) : b;
}

static const struct term *binary(enum op op, enum dtype t, const struct term *a,
                                 const struct term *b)
{
    return apply(op, t, a, operand_for(op, t, b), NULL);
}

/* --- a program that collects items --- */

static struct integer_program program;

static void flush(void)
{
    if (program.count)
        program_run(&runner, &program);
    program.count = 0;
    arena_free(&arena);
    arena_init(&arena, &allocator_libc, &failed);
}

static void begin(enum program_mode mode, enum dtype a, enum dtype b, int n)
{
    program = (struct integer_program){.mode = mode, .a = a, .b = b, .n = n, .x = x, .y = y};
    program.p = some_value(DT_I32);
    program.q = some_value(DT_I64);
    program.s = some_value(DT_I32);
}

/* Adds an item; runs the program when it is full. Returns true if it was run, because the terms
 * of the item are lost with it. */
static bool push(const struct term *value, const struct term_loop *loop)
{
    program.items[program.count++] = (struct program_item){value, loop};
    if (program.count < PROGRAM_ITEMS)
        return false;
    flush();
    return true;
}

static void finish(const char *what, int64_t before)
{
    flush();
    print_message("%s: %" PRId64 " cases\n", what, runner.elements - before);
    assert_int_equal(runner.wrong, 0);
}

/* --- all pairs --- */

static int fill_pairs(bool all, enum dtype t)
{
    int n = 0, side = all ? 256 : EDGES;
    for (int i = 0; i < side; i++)
        for (int k = 0; k < side; k++, n++) {
            x[n] = dtype_wrap(t, all ? i : edges[i]);
            y[n] = dtype_wrap(t, all ? k : edges[k]);
        }
    while (n % PROGRAM_TILE) {
        x[n] = x[0];
        y[n++] = y[0];
    }
    return n;
}

static int fill_some(enum dtype t, int n)
{
    for (int i = 0; i < n; i++) {
        x[i] = some_value(t);
        y[i] = some_value(t);
    }
    return n;
}

/* Tries every op on two values of type t, computed in t or in a wider type. */
static void every_op(enum dtype in)
{
    const struct term *pa = new_term(TERM_A, program.a), *pb = new_term(TERM_B, program.b);
    for (int o = 0; o < BINARIES + COMPARES + UNARIES; o++) {
        const struct term *a = cast(in, pa), *b = cast(in, pb);
        const struct term *made;
        if (o < BINARIES)
            made = binary(binaries[o], in, a, b);
        else if (o < BINARIES + COMPARES)
            made = apply(compares[o - BINARIES], DT_BOOL, a, b, NULL);
        else
            made = apply(unaries[o - BINARIES - COMPARES], in, a, NULL, NULL);
        push(made, NULL);
    }
    flush();
}

static void all_pairs(void **state)
{
    (void)state;
    int64_t before = runner.elements;
    for (int t = 0; t < TYPES; t++)
        for (int w = 0; w < TYPES; w++) {
            enum dtype in = types[w];
            bool narrow = bits_of(types[t]) == 8;
            if (!is_long && w != t && below(4))
                continue;
            enum program_mode mode = below(2) ? MODE_THREAD : MODE_TILE;
            for (int m = 0; m < (is_long ? 2 : 1); m++) {
                mode = is_long ? (m ? MODE_TILE : MODE_THREAD) : mode;
                int n = narrow ? fill_pairs(is_long, types[t])
                               : fill_some(types[t], is_long ? 4096 : 512);
                begin(mode, types[t], types[t], n);
                every_op(in);
            }
        }
    finish("pairs", before);
}

/* --- shifts by amounts of another type --- */

static void wide_amounts(void **state)
{
    (void)state;
    int64_t before = runner.elements;
    for (int t = 0; t < TYPES; t++)
        for (int w = 0; w < TYPES; w++)
            for (int m = 0; m < 2; m++) {
                int n = is_long ? 4096 : 512;
                for (int i = 0; i < n; i++) {
                    x[i] = some_value(types[t]);
                    y[i] = some_value(types[w]);
                }
                begin(m ? MODE_TILE : MODE_THREAD, types[t], types[w], n);
                const struct term *a = new_term(TERM_A, types[t]), *b = new_term(TERM_B, types[w]);
                push(apply(OP_SHL, types[t], a, b, NULL), NULL);
                push(apply(OP_SHR, types[t], a, b, NULL), NULL);
                flush();
            }
    finish("shifts by amounts of another type", before);
}

/* --- a comparison of two operations --- */

static const struct term *one_op(int o, enum dtype t, const struct term *a, int64_t c)
{
    return o < BINARIES ? binary(binaries[o], t, a, literal(t, c))
                        : apply(unaries[o - BINARIES], t, a, NULL, NULL);
}

/* Makes compare(second(first(a, c), d), e), or max, min and remainder of it. */
static const struct term *composed(int first, int second, int last, enum dtype t,
                                   const int64_t *numbers)
{
    const struct term *e = one_op(first, t, new_term(TERM_A, t), numbers[0]);
    if (second >= 0)
        e = one_op(second, t, e, numbers[1]);
    return last < COMPARES ? apply(compares[last], DT_BOOL, e, literal(t, numbers[2]), NULL)
                           : one_op(last - COMPARES, t, e, numbers[2]);
}

static int fill_single(enum dtype t)
{
    if (bits_of(t) > 8)
        return fill_some(t, 256);
    for (int i = 0; i < 256; i++)
        x[i] = y[i] = dtype_wrap(t, i);
    return 256;
}

static void compose(enum program_mode mode, enum dtype t, int64_t count)
{
    int n = fill_single(t);
    if (mode == MODE_UNIFORM)
        n = 64;
    begin(mode, t, t, n);
    for (int64_t i = 0; i < count; i++) {
        int64_t numbers[3];
        for (int k = 0; k < 3; k++)
            numbers[k] = bits_of(t) == 8 ? edges[below(EDGES)] : some_value(t);
        int second = below(BINARIES + UNARIES + 4) - 4;
        push(composed(below(BINARIES + UNARIES), second, below(COMPARES + BINARIES), t, numbers),
             NULL);
    }
    flush();
}

/* Tries every op with every edge, under every comparison with every edge. */
static void compose_all(enum dtype t)
{
    begin(MODE_THREAD, t, t, fill_single(t));
    for (int first = 0; first < BINARIES + UNARIES; first++)
        for (int c = 0; c < (first < BINARIES ? EDGES : 1); c++)
            for (int last = 0; last < COMPARES; last++)
                for (int e = 0; e < EDGES; e++)
                    push(composed(first, -1, last, t, (int64_t[]){edges[c], 0, edges[e]}), NULL);
    flush();
}

static void compositions(void **state)
{
    (void)state;
    int64_t before = runner.elements;
    for (int t = 0; t < TYPES; t++)
        for (int mode = 0; mode < MODE_COUNT; mode++)
            compose(mode, types[t], is_long ? 4800 : 48);
    for (int t = 0; t < 2 && is_long; t++)
        compose_all(types[t]);
    finish("compositions", before);
}

/* --- random expressions --- */

static const struct term *some_term(enum dtype t, int size, bool counter, enum dtype counted);

static const struct term *some_leaf(enum dtype t, bool counter, enum dtype counted)
{
    switch (below(counter ? 9 : 6)) {
    case 0: return cast(t, new_term(TERM_A, program.a));
    case 1: return cast(t, new_term(TERM_B, program.b));
    case 2: return cast(t, new_term(TERM_P, DT_I32));
    case 3: return cast(t, new_term(TERM_Q, DT_I64));
    case 4: return cast(t, new_term(below(2) ? TERM_S : TERM_P, DT_I32));
    case 5: return cast(t, new_term(TERM_INDEX, DT_I32));
    default: return cast(t, new_term(TERM_COUNTER, counted));
    }
}

/* Returns a part of e that has its type, or e; with a number added, or scaled: programs often
 * compare values with parts of themselves. */
static const struct term *relative(const struct term *e)
{
    enum dtype t = e->type;
    for (int i = 0; i < 3 && e->kind == TERM_OP && below(3); i++)
        if (e->args[0]->type == t)
            e = e->args[0];
    return below(4) ? binary(binaries[below(3)], t, e, literal(t, some_value(t))) : e;
}

static const struct term *some_truth(int size, bool counter, enum dtype counted)
{
    enum dtype t = types[below(TYPES)];
    if (size > 3 && below(4) == 0) {
        const struct term *a = some_truth(size / 2, counter, counted);
        if (below(3) == 0)
            return apply(OP_NOT, DT_BOOL, a, NULL, NULL);
        return apply(below(2) ? OP_LAND : OP_LOR, DT_BOOL, a,
                     some_truth(size / 2, counter, counted), NULL);
    }
    const struct term *a = some_term(t, size / 2, counter, counted);
    const struct term *b = below(3) == 0 ? relative(a)
                           : below(2)    ? literal(t, some_value(t))
                                         : some_term(t, size / 2, counter, counted);
    return apply(compares[below(COMPARES)], DT_BOOL, a, b, NULL);
}

static const struct term *some_number(enum dtype t)
{
    static const int64_t small[] = {1, 2, 3, 4, 7, 8, 15, 16, 32, 100};
    return literal(t, below(3) ? small[below(10)] : some_value(t));
}

static const struct term *some_term(enum dtype t, int size, bool counter, enum dtype counted)
{
    if (size <= 1)
        return some_leaf(t, counter, counted);
    if (below(6) == 0) /* through another type */
        return cast(t, some_term(types[below(TYPES)], size - 1, counter, counted));
    const struct term *a = some_term(t, size / 2, counter, counted);
    switch (below(10)) {
    case 0: return apply(unaries[below(UNARIES)], t, a, NULL, NULL);
    case 1: return cast(t, some_truth(size - 1, counter, counted));
    case 2: {
        enum op op = program.mode != MODE_TILE && below(2) ? OP_SELECT : OP_WHERE;
        return apply(op, t, some_truth(size / 2, counter, counted), a,
                     below(2) ? some_number(t) : some_term(t, size / 2, counter, counted));
    }
    case 3: {
        int64_t low = some_value(t), high = some_value(t);
        return apply(OP_CLIP, t, a, literal(t, low), literal(t, high));
    }
    case 4: return binary(binaries[below(BINARIES)], t, a, relative(a));
    case 5:
        return binary(binaries[below(BINARIES)], t, a, some_term(t, size / 2, counter, counted));
    default: return binary(binaries[below(BINARIES)], t, a, some_number(t));
    }
}

static void random_expressions(void **state)
{
    (void)state;
    int64_t before = runner.elements, count = is_long ? 3000 : 48;
    for (int64_t i = 0; i < count; i++) {
        enum dtype a = types[below(TYPES)], b = types[below(TYPES)];
        enum program_mode mode = (enum program_mode)below(MODE_COUNT);
        for (int k = 0; k < 128; k++) {
            x[k] = some_value(a);
            y[k] = some_value(b);
        }
        begin(mode, a, b, mode == MODE_UNIFORM ? 32 : 128);
        for (int k = 0; k < PROGRAM_ITEMS; k++)
            push(some_term(types[below(TYPES)], 1 + below(is_long ? 16 : 10), false, DT_I32), NULL);
    }
    finish("random expressions", before);
}

/* --- loops --- */

static const struct term *some_end(enum dtype t)
{
    switch (below(6)) {
    case 0: return cast(t, new_term(TERM_A, program.a));
    case 1: return cast(t, new_term(TERM_P, DT_I32));
    case 2: return cast(t, new_term(TERM_Q, DT_I64));
    case 3: return cast(t, new_term(TERM_S, DT_I32));
    default: return literal(t, some_value(t));
    }
}

/* A loop with a break may go anywhere; one without ends after a few iterations, near an end of
 * the type or not. */
static const struct term_loop *some_loop(void)
{
    static const enum dtype counters[] = {DT_I32, DT_I32, DT_I64, DT_U32, DT_U64, DT_I8, DT_U16};
    struct term_loop *l = arena_new(&arena, struct term_loop);
    enum dtype t = l->type = counters[below(7)];
    l->down = below(3) == 0;
    if (below(3)) {
        l->most = 1 + below(6);
        l->start = some_end(t);
        l->end = some_end(t);
        l->step = below(2) ? some_number(t) : some_end(t);
        l->compare = compares[below(COMPARES)];
        return l;
    }
    int64_t step = 1 + below(4), trips = below(6), room = (trips + 2) * step;
    uint64_t top = (uint64_t)1 << (bits_of(t) - (dtype_is_signed(t) ? 1 : 0) - 1);
    int64_t last = (int64_t)(top - 1 + top), bottom = dtype_is_signed(t) ? -last - 1 : 0;
    int64_t start = below(2) ? (l->down ? bottom + room : last - room) : 50 + below(10);
    int64_t end = l->down ? start - trips * step : start + trips * step;
    if (t == DT_U64 && start < 0) /* more than a signed sum may reach */
        end = (int64_t)((uint64_t)start + (uint64_t)(trips * step));
    l->unroll = below(3) ? 0 : below(2) ? 1 + below(4) : -1;
    l->start = literal(t, start);
    l->end = literal(t, end);
    l->step = literal(t, step);
    l->compare = l->down ? (below(2) ? OP_GT : OP_GE) : below(2) ? OP_LT : OP_LE;
    return l;
}

static void loops(void **state)
{
    (void)state;
    int64_t before = runner.elements, count = is_long ? 1500 : 24;
    for (int64_t i = 0; i < count; i++) {
        enum dtype a = types[below(TYPES)], b = types[below(TYPES)];
        enum program_mode mode = below(3) ? MODE_THREAD : MODE_UNIFORM;
        for (int k = 0; k < 64; k++) {
            x[k] = some_value(a);
            y[k] = some_value(b);
        }
        begin(mode, a, b, mode == MODE_UNIFORM ? 16 : 64);
        for (int k = 0; k < PROGRAM_ITEMS; k++) {
            const struct term_loop *l = some_loop();
            push(some_term(types[below(TYPES)], 1 + below(6), true, l->type), l);
        }
    }
    finish("loops", before);
}

/* --- philox --- */

/* Seed and offset fill two words each, sign-extended: the offset -3 is (0xfffffffd, 0xffffffff). */
static void philox_words(void **state)
{
    static const char text[] = "kernel k(i32 offset, i64 seed, u32 *o) grid(1) threads(1)\n"
                               "{\n    global u32 O[4] = o;\n"
                               "    O[0] = philox((u32) 0, (i32) -3);\n"
                               "    O[1] = philox(0, offset);\n"
                               "    O[2] = philox(seed, offset, 3);\n"
                               "    O[3] = philox((u32) 0, (u32) offset);\n}\n";
    const uint32_t wanted[4] = {1192892050, 1192892050, philox_word(~(uint64_t)6, ~(uint64_t)2, 3),
                                1176219841};
    (void)state;
    for (int on_sim = 0; on_sim < 2; on_sim++) {
        uint32_t o[4] = {0};
        tw_array out = tw_host_array(o, TW_U32, 4);
        tw_module *m;
        tw_kernel *k;
        tw_launch *l;
        assert_int_equal(tw_module_from_text(runner.ctx, "philox.tile", text, strlen(text), &m),
                         TW_OK);
        k = tw_module_kernel_at(m, 0);
        if (on_sim)
            assert_int_equal(tw_kernel_for_target(k, "sm_80", &k), TW_OK);
        assert_int_equal(tw_launch_new(k, &l), TW_OK);
        assert_int_equal(tw_launch_set(l, "offset", tw_int(-3)), TW_OK);
        assert_int_equal(tw_launch_set(l, "seed", tw_int(-7)), TW_OK);
        assert_int_equal(tw_launch_array(l, "o", &out), TW_OK);
        assert_int_equal(on_sim ? tw_launch_simulate(l, NULL, NULL) : tw_launch_run(l), TW_OK);
        assert_memory_equal(o, wanted, sizeof o);
        tw_launch_free(l);
        tw_module_free(m);
    }
}

static int open_all(void **state)
{
    (void)state;
    const char *from = getenv("TW_TEST_FIRST");
    is_long = getenv("TW_TEST_LONG") != NULL;
    seed = from ? strtoull(from, NULL, 10) : 1;
    arena_init(&arena, &allocator_libc, &failed);
    runner.arena = &arena;
    runner.cpu = malloc(sizeof(int64_t) * PROGRAM_ITEMS * PROGRAM_VALUES);
    runner.sim = malloc(sizeof(int64_t) * PROGRAM_ITEMS * PROGRAM_VALUES);
    return tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = 1}, &runner.ctx) ==
                   TW_OK
               ? 0
               : -1;
}

static int close_all(void **state)
{
    (void)state;
    tw_context_free(runner.ctx);
    free(runner.cpu);
    free(runner.sim);
    arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs),    cmocka_unit_test(wide_amounts),
        cmocka_unit_test(compositions), cmocka_unit_test(random_expressions),
        cmocka_unit_test(loops),        cmocka_unit_test(philox_words)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
