/* The verifier: it accepts a whole kernel and finds each damage to it. */
#include "pass_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const source = "kernel f(i32 m, f32 x, const f32 *a, f32 *c) grid(m) warps(1)\n"
                                  "{\n"
                                  "    global f32 A[m][16] = a, C[m][16] = c;\n"
                                  "    shared f32 s[16][16];\n"
                                  "    i32 i = m + 1;\n"                                    /* 0 */
                                  "    f32 y = x > 0 && i < 3 ? x : 2;\n"                   /* 1 */
                                  "    reg f32 t[16][16] = A[i +: 16] else 0;\n"            /* 2 */
                                  "    async s = A[0 +: 16];\n"                             /* 3 */
                                  "    async_wait(0);\n"                                    /* 4 */
                                  "    t = dot(t, trans(t)) + sum(t, axis = 0) * exp(y);\n" /* 5 */
                                  "    for (i32 p = 0; p < m; p++) { break; }\n"            /* 6 */
                                  "    C[0][i] = y;\n"                                      /* 7 */
                                  "    i = i << 2 & ~i;\n"                                  /* 8 */
                                  "    t = where(iota(16) > 3, t, reshape(t, 16, 16));\n"   /* 9 */
                                  "    atomic_add(C[0][0], 1);\n"                           /* 10 */
                                  "    t = scan(add, t, axis = 0);\n"                       /* 11 */
                                  "    ensures C == A;\n"                                   /* 12 */
                                  "}\n";

/* Returns statement n after the three declarations without a value. */
static struct stmt *statement(struct program *p, int n)
{
    struct stmt *s = p->kernel->body;
    for (n += 3; n > 0; n--)
        s = s->next;
    return s;
}

static void damage_0(struct program *p)
{
    statement(p, 0)->value->type.dtype = DT_I64;
}
static void damage_1(struct program *p)
{
    statement(p, 0)->value->count = 1;
}
static void damage_2(struct program *p)
{
    statement(p, 0)->value->args[1] = NULL;
}
static void damage_3(struct program *p)
{
    statement(p, 0)->value->args[1]->literal.i = INT64_MAX;
}
static void damage_4(struct program *p)
{
    statement(p, 0)->value->args[0]->sym = statement(p, 1)->sym; /* y, declared later */
}
static void damage_5(struct program *p)
{
    statement(p, 1)->value->args[0]->type.dtype = DT_I32;
}
static void damage_6(struct program *p)
{
    statement(p, 1)->value->args[2]->type.dtype = DT_F64;
}
static void damage_7(struct program *p)
{
    statement(p, 2)->value->index[0].extent = 8;
}
static void damage_8(struct program *p)
{
    statement(p, 2)->value->otherwise->type.dtype = DT_F64;
}
static void damage_9(struct program *p)
{
    statement(p, 2)->sym->type.extent[0] = 4;
}
static void damage_10(struct program *p)
{
    statement(p, 3)->value = expr_float(p->kernel, DT_F32, 1, LOC_NONE);
}
static void damage_11(struct program *p)
{
    statement(p, 4)->value->count = 0;
}
static void damage_12(struct program *p)
{
    statement(p, 5)->value->args[0]->args[1]->type.extent[0] = 8; /* trans */
}
static void damage_13(struct program *p)
{
    statement(p, 5)->value->args[0]->type.dtype = DT_F16; /* dot */
}
static void damage_14(struct program *p)
{
    statement(p, 5)->value->args[1]->args[0]->axis = 2; /* sum */
}
static void damage_15(struct program *p)
{
    statement(p, 5)->value->args[1]->args[1]->args[0]->type.rank = 1; /* y of exp(y) */
}
static void damage_16(struct program *p)
{
    statement(p, 5)->next = statement(p, 6)->body; /* a break outside */
}
static void damage_17(struct program *p)
{
    statement(p, 6)->step = statement(p, 6)->body;
}
static void damage_18(struct program *p)
{
    statement(p, 7)->target->sym->is_const = true;
}
static void damage_19(struct program *p)
{
    statement(p, 7)->target = expr_int(p->kernel, DT_I32, 1, LOC_NONE);
}
static void damage_20(struct program *p)
{
    statement(p, 8)->value->args[0]->args[0] = expr_float(p->kernel, DT_F32, 1, LOC_NONE);
}
static void damage_21(struct program *p)
{
    statement(p, 9)->value->args[0]->args[0]->type.extent[0] = 3; /* iota */
}
static void damage_22(struct program *p)
{
    statement(p, 9)->value->args[2]->args[0]->type.extent[0] = 3; /* reshape */
}
static void damage_23(struct program *p)
{
    statement(p, 10)->value->args[0] = expr_float(p->kernel, DT_F32, 1, LOC_NONE);
}
static void damage_24(struct program *p)
{
    statement(p, 11)->value->axis = -1;
}
static void damage_25(struct program *p)
{
    statement(p, 12)->target->sym = statement(p, 2)->sym;
}
static void damage_26(struct program *p)
{
    statement(p, 1)->sym->name = "i"; /* a second one */
}
static void damage_27(struct program *p)
{
    p->kernel->threads[0] = 8;
}
static void damage_28(struct program *p)
{
    p->kernel->grid[0] = NULL;
}
static void damage_29(struct program *p)
{
    p->kernel->planned = true;
}
static void damage_30(struct program *p)
{
    p->kernel->param_count = 2;
}
static void damage_31(struct program *p)
{
    statement(p, 0)->next = statement(p, 0); /* i declared twice, in an endless list */
}
static void damage_32(struct program *p)
{
    statement(p, 7)->value = expr_new(p->kernel, OP_SYNC, type_scalar(DT_F32), LOC_NONE, 0);
}
static void damage_33(struct program *p)
{
    statement(p, 0)->value = expr_new(p->kernel, OP_THREAD, type_scalar(DT_I32), LOC_NONE, 0);
}
static void damage_34(struct program *p)
{
    statement(p, 7)->target->index[0].value = NULL;
}
static void damage_35(struct program *p)
{
    statement(p, 0)->value->op = OP_COUNT;
}

static void damage_36(struct program *p) /* printed, it is by(a b) */
{
    static const struct by by = {.name = "a b"};
    statement(p, 5)->value->args[0]->by = &by;
}
static void damage_37(struct program *p)
{
    static const char *const words[] = {"left)"};
    static const struct by by = {.name = "fma", .count = 1, .words = words};
    statement(p, 5)->value->args[0]->by = &by;
}
static void damage_38(struct program *p) /* of no dot */
{
    static const struct by by = {.name = "fma"};
    statement(p, 0)->value->by = &by;
}

static void test_damages(void **state)
{
    (void)state;
    static void (*const damages[])(struct program *) = {
        damage_0,  damage_1,  damage_2,  damage_3,  damage_4,  damage_5,  damage_6,  damage_7,
        damage_8,  damage_9,  damage_10, damage_11, damage_12, damage_13, damage_14, damage_15,
        damage_16, damage_17, damage_18, damage_19, damage_20, damage_21, damage_22, damage_23,
        damage_24, damage_25, damage_26, damage_27, damage_28, damage_29, damage_30, damage_31,
        damage_32, damage_33, damage_34, damage_35, damage_36, damage_37, damage_38,
    };
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct program p = {0};
        program_open(&p, source);
        if (!program_check(&p, 0))
            fail_msg("%s", program_messages(&p));
        const char *problem = kernel_verify(&p.arena, p.kernel);
        if (problem)
            fail_msg("the whole kernel: %s", problem);
        damages[i](&p);
        if (!kernel_verify(&p.arena, p.kernel))
            fail_msg("damage %zu is not found", i);
        program_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_damages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
