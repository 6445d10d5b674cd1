/* cooperative_groups/reduce.h for clang: reductions over tiles of up to a warp and over active lanes. Names and meaning are
 * those of the CUDA C++ Programming Guide, "Cooperative Groups", "reduce". Every lane gets the result. */
/* clang-format off */
#ifndef TILEWRIGHT_GROUPS_REDUCE_H
#define TILEWRIGHT_GROUPS_REDUCE_H

#include <cooperative_groups.h>
#include <cuda/atomic>

namespace cooperative_groups {
#define TW_OPERATION(name, value)                                                                  \
    template <class T> struct name {                                                               \
        __host__ __device__ __forceinline__ __attribute__((nodebug)) T operator()(const T &a, const T &b) const { return value; } \
    };
TW_OPERATION(plus, a + b)
TW_OPERATION(less, b < a ? b : a)
TW_OPERATION(greater, a < b ? b : a)
TW_OPERATION(bit_and, a & b)
TW_OPERATION(bit_or, a | b)
TW_OPERATION(bit_xor, a ^ b)
#undef TW_OPERATION

/* Exchanges a value of any type, word by word. */
template <class T, class Exchange> TW_D T tw_by_words(const T &v, Exchange exchange)
{
    static_assert(sizeof(T) <= 32, "reduce() takes values of at most 32 bytes");
    unsigned words[(sizeof(T) + 3) / 4] = {};
    T r;
    __builtin_memcpy(words, &v, sizeof v);
    for (unsigned &word : words)
        word = exchange(word);
    __builtin_memcpy(&r, words, sizeof r);
    return r;
}
#define TW_EXCHANGE __device__ __attribute__((always_inline, nodebug)) (unsigned word)
template <unsigned N, class Parent, class T, class Op> TW_D T reduce(const thread_block_tile<N, Parent> &g, T v, Op op)
{
    for (unsigned bits = N / 2; bits; bits /= 2)
        v = op(v, tw_by_words(v, [=] TW_EXCHANGE { return g.shfl_xor(word, bits); }));
    return v;
}
/* Halves the number of values in each round; the first lane has the result. */
template <class T, class Op> TW_D T reduce(const coalesced_group &g, T v, Op op)
{
    unsigned rank = g.thread_rank(), size = g.size();
    for (unsigned step = 1; step < size; step *= 2) {
        T next = tw_by_words(v, [=] TW_EXCHANGE { return g.shfl_down(word, step); });
        if (rank % (2 * step) == 0 && rank + step < size)
            v = op(v, next);
    }
    return tw_by_words(v, [=] TW_EXCHANGE { return g.shfl(word, 0); });
}
#undef TW_EXCHANGE

/* The first lane stores the result, or combines it with the value of an atomic object. */
template <class Group, class Atomic, class T, class Op>
TW_D void reduce_store_async(const Group &g, Atomic &to, T v, Op op)
{
    v = reduce(g, v, op);
    if (g.thread_rank() == 0)
        to.store(v, cuda::memory_order_relaxed);
}
template <class Atomic, class T> TW_D void tw_update(Atomic &to, T v, const plus<T> &) { to.fetch_add(v, cuda::memory_order_relaxed); }
template <class Atomic, class T> TW_D void tw_update(Atomic &to, T v, const less<T> &) { to.fetch_min(v, cuda::memory_order_relaxed); }
template <class Atomic, class T> TW_D void tw_update(Atomic &to, T v, const greater<T> &) { to.fetch_max(v, cuda::memory_order_relaxed); }
template <class Atomic, class T> TW_D void tw_update(Atomic &to, T v, const bit_and<T> &) { to.fetch_and(v, cuda::memory_order_relaxed); }
template <class Atomic, class T> TW_D void tw_update(Atomic &to, T v, const bit_or<T> &) { to.fetch_or(v, cuda::memory_order_relaxed); }
template <class Atomic, class T> TW_D void tw_update(Atomic &to, T v, const bit_xor<T> &) { to.fetch_xor(v, cuda::memory_order_relaxed); }
template <class Atomic, class T, class Op> TW_D void tw_update(Atomic &to, T v, const Op &op)
{
    T old = to.load(cuda::memory_order_relaxed);
    while (!to.compare_exchange_weak(old, op(old, v), cuda::memory_order_relaxed))
        ;
}
template <class Group, class Atomic, class T, class Op>
TW_D void reduce_update_async(const Group &g, Atomic &to, T v, Op op)
{
    v = reduce(g, v, op);
    if (g.thread_rank() == 0)
        tw_update(to, v, op);
}
}
#endif
