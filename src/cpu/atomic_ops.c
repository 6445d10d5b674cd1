/* Applies an atomic to one element: old = memory; memory = old op value. Integers use the
 * machine's atomics, because blocks run at the same time. A kernel with float atomics runs its
 * blocks in order, so plain arithmetic is enough for floats. */
#include "cpu/atomic_ops.h"

#include <string.h>

/* The memory order is relaxed: an atomic orders no other access; lock, unlock and arrive do that. */
#define INTEGER(t, T)                                                                              \
    static void t##_add(void *m, void *old, const void *v, const void *w)                          \
    {                                                                                              \
        T x, r;                                                                                    \
        (void)w;                                                                                   \
        memcpy(&x, v, sizeof x);                                                                   \
        r = __atomic_fetch_add((T *)m, x, __ATOMIC_RELAXED);                                       \
        memcpy(old, &r, sizeof r);                                                                 \
    }                                                                                              \
    static void t##_and(void *m, void *old, const void *v, const void *w)                          \
    {                                                                                              \
        T x, r;                                                                                    \
        (void)w;                                                                                   \
        memcpy(&x, v, sizeof x);                                                                   \
        r = __atomic_fetch_and((T *)m, x, __ATOMIC_RELAXED);                                       \
        memcpy(old, &r, sizeof r);                                                                 \
    }                                                                                              \
    static void t##_or(void *m, void *old, const void *v, const void *w)                           \
    {                                                                                              \
        T x, r;                                                                                    \
        (void)w;                                                                                   \
        memcpy(&x, v, sizeof x);                                                                   \
        r = __atomic_fetch_or((T *)m, x, __ATOMIC_RELAXED);                                        \
        memcpy(old, &r, sizeof r);                                                                 \
    }                                                                                              \
    static void t##_xor(void *m, void *old, const void *v, const void *w)                          \
    {                                                                                              \
        T x, r;                                                                                    \
        (void)w;                                                                                   \
        memcpy(&x, v, sizeof x);                                                                   \
        r = __atomic_fetch_xor((T *)m, x, __ATOMIC_RELAXED);                                       \
        memcpy(old, &r, sizeof r);                                                                 \
    }                                                                                              \
    static void t##_exchange(void *m, void *old, const void *v, const void *w)                     \
    {                                                                                              \
        T x, r;                                                                                    \
        (void)w;                                                                                   \
        memcpy(&x, v, sizeof x);                                                                   \
        r = __atomic_exchange_n((T *)m, x, __ATOMIC_RELAXED);                                      \
        memcpy(old, &r, sizeof r);                                                                 \
    }                                                                                              \
    static void t##_cas(void *m, void *old, const void *v, const void *w)                          \
    {                                                                                              \
        T r, desired;                                                                              \
        memcpy(&r, v, sizeof r);                                                                   \
        memcpy(&desired, w, sizeof desired);                                                       \
        __atomic_compare_exchange_n((T *)m, &r, desired, false, __ATOMIC_RELAXED,                  \
                                    __ATOMIC_RELAXED); /* puts the old value into r */             \
        memcpy(old, &r, sizeof r);                                                                 \
    }

#define ARRIVAL(t, T)                                                                              \
    static void t##_arrive(void *m, void *old, const void *v, const void *w)                       \
    {                                                                                              \
        T x, r;                                                                                    \
        (void)w;                                                                                   \
        memcpy(&x, v, sizeof x);                                                                   \
        r = __atomic_fetch_add((T *)m, x, __ATOMIC_ACQ_REL);                                       \
        memcpy(old, &r, sizeof r);                                                                 \
    }

#define EXTREME(name, T, better)                                                                   \
    static void name(void *m, void *old, const void *v, const void *w)                             \
    {                                                                                              \
        T x, r = __atomic_load_n((T *)m, __ATOMIC_RELAXED);                                        \
        (void)w;                                                                                   \
        memcpy(&x, v, sizeof x);                                                                   \
        while (x better r && !__atomic_compare_exchange_n((T *)m, &r, x, false, __ATOMIC_RELAXED,  \
                                                          __ATOMIC_RELAXED))                       \
            ;                                                                                      \
        memcpy(old, &r, sizeof r);                                                                 \
    }

INTEGER(u32, uint32_t)
INTEGER(u64, uint64_t)
ARRIVAL(u32, uint32_t)
ARRIVAL(u64, uint64_t)
EXTREME(u32_min, uint32_t, <)
EXTREME(u32_max, uint32_t, >)
EXTREME(i32_min, int32_t, <)
EXTREME(i32_max, int32_t, >)
EXTREME(u64_min, uint64_t, <)
EXTREME(u64_max, uint64_t, >)
EXTREME(i64_min, int64_t, <)
EXTREME(i64_max, int64_t, >)

/* --- floats: the sum is rounded to the type once --- */

#define PLUS(a, b) ((a) + (b))
#define LESSER(a, b) ((b) != (b) || (a) < (b) || ((a) == (b) && 1 / (a) < 0) ? (a) : (b))
#define GREATER(a, b) ((b) != (b) || (a) > (b) || ((a) == (b) && 1 / (b) < 0) ? (a) : (b))

#define FLOAT(name, S, T, load, store, combine)                                                    \
    static void name(void *m, void *old, const void *v, const void *w)                             \
    {                                                                                              \
        S a, b, r;                                                                                 \
        (void)w;                                                                                   \
        memcpy(&a, m, sizeof a);                                                                   \
        memcpy(&b, v, sizeof b);                                                                   \
        T x = load(a), y = load(b);                                                                \
        r = store(combine(x, y));                                                                  \
        memcpy(old, &a, sizeof a);                                                                 \
        memcpy(m, &r, sizeof r);                                                                   \
    }
#define FLOATS(t, S, T, load, store)                                                               \
    FLOAT(t##_add, S, T, load, store, PLUS)                                                        \
    FLOAT(t##_min, S, T, load, store, LESSER)                                                      \
    FLOAT(t##_max, S, T, load, store, GREATER)
FLOATS(f16, uint16_t, float, f16_to_f32, f32_to_f16)
FLOATS(bf16, uint16_t, float, bf16_to_f32, f32_to_bf16)
FLOATS(f32, float, float, , )
FLOATS(f64, double, double, , )

#define AT(op) (OP_ATOMIC_##op - OP_ATOMIC_ADD) /* ADD is the first atomic op, ARRIVE the last */
#define BITS(u)                                                                                    \
    [AT(AND)] = u##_and, [AT(OR)] = u##_or, [AT(XOR)] = u##_xor, [AT(EXCHANGE)] = u##_exchange,    \
    [AT(CAS)] = u##_cas, [OP_ARRIVE - OP_ATOMIC_ADD] = u##_arrive
#define ORDER(t) [AT(MIN)] = t##_min, [AT(MAX)] = t##_max

atomic_fn *cpu_atomic_op(enum op op, enum dtype t)
{
    static atomic_fn *const table[DT_COUNT][OP_ARRIVE - OP_ATOMIC_ADD + 1] = {
        [DT_I32] = {BITS(u32), ORDER(i32), [AT(ADD)] = u32_add},
        [DT_U32] = {BITS(u32), ORDER(u32), [AT(ADD)] = u32_add},
        [DT_I64] = {BITS(u64), ORDER(i64), [AT(ADD)] = u64_add},
        [DT_U64] = {BITS(u64), ORDER(u64), [AT(ADD)] = u64_add},
        [DT_F16] = {ORDER(f16), [AT(ADD)] = f16_add},
        [DT_BF16] = {ORDER(bf16), [AT(ADD)] = bf16_add},
        [DT_F32] = {ORDER(f32), [AT(ADD)] = f32_add, [AT(EXCHANGE)] = u32_exchange},
        [DT_F64] = {ORDER(f64), [AT(ADD)] = f64_add, [AT(EXCHANGE)] = u64_exchange},
    };
    return table[t][op - OP_ATOMIC_ADD];
}
