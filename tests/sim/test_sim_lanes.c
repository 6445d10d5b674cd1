/* shfl, vote, match, redux, elect, activemask compared with the PTX ISA's pseudo-code, lane by
 * lane. */
#include "base/float_bits.h"
#include "warp_program.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LANES = SIM_LANES, WORDS_IN = 4, UNTOUCHED = 0x5ca1ab1e };

/* Operands of a warp, words of each lane, and the results. */
struct words {
    uint32_t in[WORDS_IN][LANES]; /* the last: 1 if the lane takes part, else 0 */
    uint32_t out[2][LANES];
};

/* Runs a kernel whose lanes have in[0] to in[2] in %a, %b, %c (and in[0], in[1] as %w). Lanes
 * with in[3] run `body`, and store %d, and %q as 0 or 1. */
static void run(const char *body, struct words *x)
{
    char program[4096];
    static const char frame[] =
        ".version 8.7\n.target sm_100a\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        "    .reg .b32 %%a, %%b, %%c, %%d, %%t, %%s, %%z<4>;\n    .reg .b64 %%i, %%o, %%w, %%y;\n"
        "    .reg .pred %%p, %%q, %%f;\n    .reg .f32 %%fa, %%fd;\n"
        "    mov.u32 %%t, %%tid.x;\n    ld.param.u64 %%i, [in];\n    ld.param.u64 %%o, [out];\n"
        "    mul.wide.u32 %%y, %%t, 4;\n    add.s64 %%i, %%i, %%y;\n    add.s64 %%o, %%o, %%y;\n"
        "    ld.global.b32 %%a, [%%i];\n    ld.global.b32 %%b, [%%i+128];\n"
        "    ld.global.b32 %%c, [%%i+256];\n    ld.global.b32 %%s, [%%i+384];\n"
        "    mov.b64 %%w, {%%a, %%b};\n    mov.b32 %%fa, %%a;\n"
        "    setp.ne.u32 %%p, %%b, 0;\n    setp.ne.u32 %%q, %%t, %%t;\n    mov.u32 %%d, 0;\n"
        "    setp.eq.u32 %%f, %%s, 0;\n    @%%f bra OUT;\n"
        "    %s\n"
        "    st.global.b32 [%%o], %%d;\n    selp.u32 %%z0, 1, 0, %%q;\n"
        "    st.global.b32 [%%o+128], %%z0;\nOUT:\n    ret;\n}\n";
    snprintf(program, sizeof program, frame, body);
    for (int i = 0; i < LANES; i++)
        x->out[0][i] = x->out[1][i] = UNTOUCHED;
    const struct warp_array arrays[] = {{x->in, sizeof x->in}, {x->out, sizeof x->out}};
    warp_run(program, LANES, arrays, 2);
}

/* Chooses the lanes that take part, all or some; returns the mask. */
static uint32_t some_lanes(struct words *x, bool all)
{
    uint32_t mask = all ? UINT32_MAX : warp_bits() | 1u << warp_draw(32);
    for (int i = 0; i < LANES; i++)
        x->in[3][i] = mask >> i & 1;
    return mask;
}

/* --- shfl.sync; PTX ISA, shfl.sync, Semantics --- */

static void plain_shuffle(const char *mode, const struct words *x, uint32_t c, int lane, int *from,
                          bool *valid)
{
    int bval = (int)(x->in[1][lane] & 31), cval = (int)(c & 31), mask = (int)(c >> 8 & 31);
    int max_lane = (lane & mask) | (cval & ~mask), min_lane = lane & mask;
    if (strcmp(mode, "up") == 0) {
        *from = lane - bval;
        *valid = *from >= max_lane;
    } else if (strcmp(mode, "down") == 0) {
        *from = lane + bval;
        *valid = *from <= max_lane;
    } else if (strcmp(mode, "bfly") == 0) {
        *from = lane ^ bval;
        *valid = *from <= max_lane;
    } else {
        *from = min_lane | (bval & ~mask);
        *valid = *from <= max_lane;
    }
    if (!*valid)
        *from = lane;
}

static void shuffles(void **state)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    (void)state;
    for (int n = 0; n < 200; n++) {
        struct words x;
        char body[256];
        const char *mode = modes[n % 4];
        uint32_t mask = some_lanes(&x, n % 3 > 0), width = 1u << warp_draw(6), by = warp_draw(40);
        uint32_t c = (32 - width) << 8 | (n % 4 ? 31 : 0);
        if (n % 5 == 0)
            c = warp_bits() & 0x1f1f;
        for (int i = 0; i < LANES; i++) {
            x.in[0][i] = warp_bits();
            x.in[1][i] = n % 7 == 0 ? warp_bits() : by;
            x.in[2][i] = c;
        }
        snprintf(body, sizeof body, "shfl.sync.%s.b32 %%d|%%q, %%a, %%b, %s, 0x%x;", mode, "%c",
                 mask);
        run(body, &x);
        for (int i = 0; i < LANES; i++) {
            int from;
            bool valid;
            plain_shuffle(mode, &x, c, i, &from, &valid);
            if (!(mask >> i & 1)) {
                assert_int_equal(x.out[0][i], UNTOUCHED);
                continue;
            }
            assert_int_equal(x.out[1][i], valid);
            if (mask >> from & 1) /* else undefined */
                assert_int_equal(x.out[0][i], x.in[0][from]);
        }
    }
}

/* d may be the same register as a, and p may be left out. */
static void shuffle_in_place(void **state)
{
    (void)state;
    struct words x;
    some_lanes(&x, true);
    for (int i = 0; i < LANES; i++)
        x.in[0][i] = (uint32_t)i * 3;
    run("shfl.sync.idx.b32 %a, %a, 5, 31, -1;\n    mov.b32 %d, %a;", &x);
    for (int i = 0; i < LANES; i++)
        assert_int_equal(x.out[0][i], 15);
    run("shfl.sync.bfly.b32 %a, %a, 1, 0x1c1f, -1;\n    mov.b32 %d, %a;", &x);
    for (int i = 0; i < LANES; i++)
        assert_int_equal(x.out[0][i], (i ^ 1) * 3);
}

/* --- vote.sync --- */

static void votes(void **state)
{
    (void)state;
    for (int n = 0; n < 100; n++) {
        struct words x;
        char body[256];
        uint32_t mask = some_lanes(&x, n % 3 > 0), yes = 0;
        uint32_t kind = warp_draw(4); /* all, none, any */
        for (int i = 0; i < LANES; i++) {
            x.in[1][i] = kind == 0 ? 1 : kind == 1 ? 0 : warp_draw(2);
            yes |= x.in[1][i] << i;
        }
        if (n % 2)
            yes = ~yes;
        yes &= mask;
        const char *p = n % 2 ? "!%p" : "%p";
        const struct {
            const char *mode;
            uint32_t want;
        } modes[] = {{"all", yes == mask}, {"any", yes != 0}, {"uni", yes == mask || yes == 0}};
        for (int m = 0; m < 3; m++) {
            snprintf(body, sizeof body, "vote.sync.%s.pred %%q, %s, 0x%x;", modes[m].mode, p, mask);
            run(body, &x);
            for (int i = 0; i < LANES; i++)
                if (mask >> i & 1)
                    assert_int_equal(x.out[1][i], modes[m].want);
        }
        snprintf(body, sizeof body, "vote.sync.ballot.b32 %%d, %s, 0x%x;", p, mask);
        run(body, &x);
        for (int i = 0; i < LANES; i++)
            assert_int_equal(x.out[0][i], mask >> i & 1 ? yes : UNTOUCHED);
    }
}

/* --- match.sync --- */

static void matches(void **state)
{
    (void)state;
    for (int n = 0; n < 60; n++) {
        struct words x;
        char body[256];
        bool wide = n % 2;
        uint32_t mask = some_lanes(&x, n % 3 > 0), values = n % 4 ? 1 + warp_draw(5) : 1;
        for (int i = 0; i < LANES; i++) {
            x.in[0][i] = wide ? 7 : warp_draw(values);
            x.in[1][i] = wide ? warp_draw(values) : warp_bits();
        }
        uint32_t same[LANES] = {0};
        for (int i = 0; i < LANES; i++)
            for (int j = 0; j < LANES; j++)
                same[i] |= (uint32_t)(x.in[wide][i] == x.in[wide][j]) << j & mask;
        const char *type = wide ? "b64" : "b32", *a = wide ? "%w" : "%a";
        snprintf(body, sizeof body, "match.any.sync.%s %%d, %s, 0x%x;", type, a, mask);
        run(body, &x);
        for (int i = 0; i < LANES; i++)
            assert_int_equal(x.out[0][i], mask >> i & 1 ? same[i] : UNTOUCHED);
        snprintf(body, sizeof body, "match.all.sync.%s %%d|%%q, %s, 0x%x;", type, a, mask);
        run(body, &x);
        for (int i = 0; i < LANES; i++)
            if (mask >> i & 1) {
                assert_int_equal(x.out[0][i], same[i] == mask ? mask : 0);
                assert_int_equal(x.out[1][i], same[i] == mask);
            }
    }
}

/* --- redux.sync --- */

static uint32_t plain_sum(const char *op, uint32_t a, uint32_t b)
{
    if (strcmp(op, "add.u32") == 0 || strcmp(op, "add.s32") == 0)
        return a + b;
    if (strcmp(op, "min.u32") == 0)
        return a < b ? a : b;
    if (strcmp(op, "max.u32") == 0)
        return a > b ? a : b;
    if (strcmp(op, "min.s32") == 0)
        return (int32_t)a < (int32_t)b ? a : b;
    if (strcmp(op, "max.s32") == 0)
        return (int32_t)a > (int32_t)b ? a : b;
    if (strcmp(op, "and.b32") == 0)
        return a & b;
    return strcmp(op, "or.b32") == 0 ? a | b : a ^ b;
}

static void reductions(void **state)
{
    static const char *const ops[] = {"add.u32", "add.s32", "min.u32", "max.u32", "min.s32",
                                      "max.s32", "and.b32", "or.b32",  "xor.b32"};
    (void)state;
    for (int n = 0; n < 90; n++) {
        struct words x;
        char body[256];
        uint32_t mask = some_lanes(&x, n % 2), want = 0;
        bool first = true;
        const char *op = ops[n % 9];
        for (int i = 0; i < LANES; i++) {
            x.in[0][i] = strcmp(op, "and.b32") ? warp_bits() : warp_bits() | 0xfff0fff0;
            if (mask >> i & 1) {
                want = first ? x.in[0][i] : plain_sum(op, want, x.in[0][i]);
                first = false;
            }
        }
        snprintf(body, sizeof body, "redux.sync.%s %%d, %%a, 0x%x;", op, mask);
        run(body, &x);
        for (int i = 0; i < LANES; i++)
            assert_int_equal(x.out[0][i], mask >> i & 1 ? want : UNTOUCHED);
    }
}

/* Executes redux.sync.f32 on a few values; the other lanes repeat the last one. */
static uint32_t float_reduction(const char *op, const float *values, int count)
{
    struct words x;
    char body[256];
    some_lanes(&x, true);
    for (int i = 0; i < LANES; i++)
        x.in[0][i] = f32_bits(values[i < count ? i : count - 1]);
    snprintf(body, sizeof body, "redux.sync.%s.f32 %%fd, %%fa, -1;\n    mov.b32 %%d, %%fd;", op);
    run(body, &x);
    for (int i = 0; i < LANES; i++)
        assert_int_equal(x.out[0][i], x.out[0][0]);
    return x.out[0][0];
}

static void float_reductions(void **state)
{
    (void)state;
    const float plain[] = {3, -7, 0.5f, 2}, zeros[] = {0.0f, -0.0f, 0.0f},
                some_nan[] = {1, NAN, -4}, all_nan[] = {NAN, -NAN},
                ends[] = {-INFINITY, 1, INFINITY};
    assert_int_equal(float_reduction("min", plain, 4), f32_bits(-7));
    assert_int_equal(float_reduction("max", plain, 4), f32_bits(3));
    assert_int_equal(float_reduction("min.abs", plain, 4), f32_bits(0.5f));
    assert_int_equal(float_reduction("max.abs", plain, 4), f32_bits(7));
    assert_int_equal(float_reduction("min", zeros, 3), f32_bits(-0.0f));
    assert_int_equal(float_reduction("max", zeros, 3), f32_bits(0.0f));
    assert_int_equal(float_reduction("max", some_nan, 3), f32_bits(1));
    assert_int_equal(float_reduction("min", some_nan, 3), f32_bits(-4));
    assert_int_equal(float_reduction("max.NaN", some_nan, 3), 0x7fffffff);
    assert_int_equal(float_reduction("max.abs.NaN", plain, 4), f32_bits(7));
    assert_int_equal(float_reduction("min", all_nan, 2), 0x7fffffff);
    assert_int_equal(float_reduction("min", ends, 3), f32_bits(-INFINITY));
    assert_int_equal(float_reduction("max", ends, 3), f32_bits(INFINITY));
}

/* --- elect.sync, activemask --- */

static void one_is_elected(void **state)
{
    (void)state;
    for (int n = 0; n < 20; n++) {
        struct words x;
        char body[256];
        uint32_t mask = some_lanes(&x, false);
        snprintf(body, sizeof body, "elect.sync %%d|%%q, 0x%x;", mask);
        run(body, &x);
        int elected = 0;
        for (int i = 0; i < LANES; i++) {
            if (!(mask >> i & 1))
                continue;
            assert_true(x.out[0][i] < LANES && (mask >> x.out[0][i] & 1));
            assert_int_equal(x.out[1][i], x.out[0][i] == (uint32_t)i);
            elected += x.out[1][i] == 1;
        }
        assert_int_equal(elected, 1);
    }
}

static void active_lanes(void **state)
{
    (void)state;
    struct words x;
    uint32_t mask = some_lanes(&x, false);
    run("activemask.b32 %d;", &x);
    for (int i = 0; i < LANES; i++)
        assert_int_equal(x.out[0][i], mask >> i & 1 ? mask : UNTOUCHED);
}

/* --- diverged paths --- */

/* Even and odd lanes shuffle separately, at different places. */
static void two_groups(void **state)
{
    (void)state;
    struct words x;
    some_lanes(&x, true);
    for (int i = 0; i < LANES; i++) {
        x.in[0][i] = (uint32_t)i;
        x.in[1][i] = (uint32_t)i & 1;
    }
    run("@%p bra ODD;\n"
        "    shfl.sync.bfly.b32 %d, %a, 2, 31, 0x55555555;\n    bra.uni JOIN;\n"
        "ODD:\n    shfl.sync.bfly.b32 %d, %a, 4, 31, 0xaaaaaaaa;\nJOIN:",
        &x);
    for (int i = 0; i < LANES; i++)
        assert_int_equal(x.out[0][i], i % 2 ? i ^ 4 : i ^ 2);
}

/* The instruction waits for lanes that are elsewhere: one half comes later, on a longer path. */
static void members_are_waited_for(void **state)
{
    (void)state;
    struct words x;
    some_lanes(&x, true);
    for (int i = 0; i < LANES; i++) {
        x.in[0][i] = (uint32_t)i;
        x.in[1][i] = i < 16;
    }
    run("@%p bra SKIP;\n"
        "    mov.u32 %z1, 0;\nAGAIN:\n    add.u32 %z1, %z1, 1;\n    add.u32 %a, %a, 1;\n"
        "    setp.lt.u32 %f, %z1, 100;\n    @%f bra AGAIN;\n"
        "SKIP:\n    shfl.sync.bfly.b32 %d, %a, 16, 31, -1;",
        &x);
    for (int i = 0; i < LANES; i++)
        assert_int_equal(x.out[0][i], i < 16 ? i + 116 : i - 16);
}

/* Masks that differ from lane to lane: two groups at one instruction. */
static void masks_by_lane(void **state)
{
    (void)state;
    struct words x;
    some_lanes(&x, true);
    for (int i = 0; i < LANES; i++) {
        x.in[0][i] = (uint32_t)i;
        x.in[2][i] = i < 8 ? 0xff : 0xffffff00;
    }
    run("redux.sync.add.u32 %d, %a, %c;", &x);
    for (int i = 0; i < LANES; i++)
        assert_int_equal(x.out[0][i], i < 8 ? 28 : 31 * 32 / 2 - 28);
    run("vote.sync.ballot.b32 %d, 1, %c;", &x);
    for (int i = 0; i < LANES; i++)
        assert_int_equal(x.out[0][i], x.in[2][i]);
}

/* A guard that is false for some members: these go on, and the others do not wait for them once
 * they have exited. */
static void exited_members(void **state)
{
    (void)state;
    struct words x;
    for (int i = 0; i < LANES; i++) {
        x.in[0][i] = (uint32_t)i;
        x.in[3][i] = i < 20; /* the others leave at once */
    }
    run("vote.sync.ballot.b32 %d, 1, -1;", &x);
    for (int i = 0; i < LANES; i++)
        assert_int_equal(x.out[0][i], i < 20 ? (1 << 20) - 1 : UNTOUCHED);
}

static void not_in_its_mask(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c, ".visible .entry k()\n{\n"
                      "    .reg .b32 %r<3>;\n    mov.u32 %r1, %tid.x;\n"
                      "    shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xfffffffe;\n    ret;\n}\n");
    assert_int_equal(warp_launch(&c, LANES, NULL, 0), SIM_STOPPED);
    assert_non_null(strstr(sim_why(c.sim), "lane 0 is not in its mask"));
    sim_case_close(&c);
}

/* A member that never comes, because it waits for the block's barrier. */
static void member_that_never_comes(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c, ".visible .entry k()\n{\n"
                      "    .reg .b32 %r<3>;\n    .reg .pred %p;\n    mov.u32 %r1, %tid.x;\n"
                      "    setp.lt.u32 %p, %r1, 8;\n    @%p bra WAIT;\n"
                      "    shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\nWAIT:\n    barrier.sync 0;\n"
                      "    ret;\n}\n");
    assert_int_equal(warp_launch(&c, LANES, NULL, 0), SIM_DEADLOCK);
    sim_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles),        cmocka_unit_test(shuffle_in_place),
        cmocka_unit_test(votes),           cmocka_unit_test(matches),
        cmocka_unit_test(reductions),      cmocka_unit_test(float_reductions),
        cmocka_unit_test(one_is_elected),  cmocka_unit_test(active_lanes),
        cmocka_unit_test(two_groups),      cmocka_unit_test(members_are_waited_for),
        cmocka_unit_test(masks_by_lane),   cmocka_unit_test(exited_members),
        cmocka_unit_test(not_in_its_mask), cmocka_unit_test(member_that_never_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
