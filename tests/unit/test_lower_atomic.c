/* Atomics: each has the same effect on an element as on the CPU engine; all are assembled. */
#include "lower_helper.h"

#include "cpu/atomic_ops.h"
#include "lower/lower_memory.h"

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

/* An atomic on memory[i] with a[i] (and b[i]), guarded if `guarded`; gives the old value, or 1
 * if it is not wanted. */
struct atomic_bench {
    struct bench b;
    enum op op;
    enum dtype t;
    bool shared, wanted, guarded;
};
static struct atomic_bench *now;

static struct ptx_operand zero_of(struct lower *l, enum dtype t)
{
    struct ptx_operand to = op_register(l, t);
    op_move(l, t, to, op_constant(l, t, (struct literal){.is_float = dtype_is_float(t)}));
    return to;
}

/* args: the address, the value, the desired value. */
static struct ptx_operand emit_atomic(struct lower *l, const struct subject *s,
                                      const struct ptx_operand *args)
{
    struct guard guard = guard_always();
    struct ptx_operand result = zero_of(l, s->t), address = args[0];
    if (now->guarded) {
        guard = (struct guard){.predicate = ptx_reg(&l->b, PTX_PRED)};
        ptx_emit(&l->b, "setp.eq.u64", guard.predicate, args[0], args[0]);
    }
    if (now->shared) {
        address = ptx_reg(&l->b, PTX_U32);
        ptx_emit(&l->b, "cvt.u32.u64", address, args[0]);
    }
    atomic_emit(l, s->op, s->t, now->shared, ptx_at(address, 0), args + 1, guard,
                now->wanted ? &result : NULL);
    return result;
}

static struct subject subject_of(struct atomic_bench *a)
{
    const char *form = a->shared ? "shared" : "global";
    struct subject s = {.emit = emit_atomic,
                        .op = a->op,
                        .t = a->t,
                        .result = a->t,
                        .arg = {DT_U64, a->t, a->t},
                        .count = 3};
    s.name = arena_printf(&a->b.arena, "%s_%s_%s%s%s", op_table[a->op].text, dtype_table[a->t].name,
                          form, a->wanted ? "_old" : "", a->guarded ? "_guarded" : "");
    return s;
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

static void try_atomic(struct atomic_bench *a)
{
    static uint64_t memory[SAMPLES], value[SAMPLES], desired[SAMPLES], old[SAMPLES],
        address[SAMPLES];
    struct subject s = subject_of(a);
    const void *args[3] = {address, value, desired};
    size_t size = dtype_size(a->t);
    sample(a->t, memory, true);
    sample(a->t, value, false);
    sample(a->t, desired, true);
    for (size_t i = 0; i < SAMPLES; i++)
        address[i] = (uint64_t)(uintptr_t)memory + i * size;
    now = a;
    bench_run(&a->b, bench_add(&a->b, &s), &s, old, args, SAMPLES, 0);
    for (size_t i = 0; i < SAMPLES; i++) {
        static uint64_t fresh[SAMPLES];
        uint64_t before = 0;
        sample(a->t, fresh, true);
        char *at = (char *)fresh + i * size;
        cpu_atomic_op(a->op, a->t)(at, &before, (char *)value + i * size,
                                   (char *)desired + i * size);
        if (!same(a->t, at, (char *)memory + i * size) ||
            (a->wanted && !same(a->t, &before, (char *)old + i * size)))
            fail_msg("%s, element %zu", s.name, i);
    }
}

static void each(int target, bool shared, void (*act)(struct atomic_bench *a))
{
    struct atomic_bench a = {.shared = shared};
    bench_open(&a.b, target);
    for (size_t k = 0; k < OP_KINDS; k++)
        for (enum dtype t = 0; t < DT_COUNT; t++)
            for (int form = 0; form < 4 && cpu_atomic_op(ops[k], t); form++) {
                a.op = ops[k];
                a.t = t;
                a.wanted = form & 1;
                a.guarded = form & 2;
                act(&a);
            }
    bench_assemble(&a.b);
    bench_close(&a.b);
}

static void act_as_on_the_cpu(void **unused)
{
    (void)unused;
    each(80, false, try_atomic);
    each(90, false, try_atomic);
}

static void add_only(struct atomic_bench *a)
{
    struct subject s = subject_of(a);
    now = a;
    bench_add(&a->b, &s);
}

static void shared_ones_assemble(void **unused)
{
    (void)unused;
    static const int targets[] = {80, 90, 120};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        each(targets[i], true, add_only);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(act_as_on_the_cpu),
        cmocka_unit_test(shared_ones_assemble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
