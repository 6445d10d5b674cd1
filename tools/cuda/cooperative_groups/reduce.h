/* cooperative_groups/reduce.h for clang: reductions over tiles of up to a warp. Names and meaning are
 * those of the CUDA C++ Programming Guide, "Cooperative Groups", "reduce". The lanes exchange values
 * as in a butterfly, so every lane has the same result. */
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

/* The value of the lane whose number differs in these bits, word by word. */
template <unsigned N, class Parent, class T> TW_D T tw_of_lane(const thread_block_tile<N, Parent> &g, const T &v, unsigned bits)
{
    static_assert(sizeof(T) <= 32, "reduce() takes values of at most 32 bytes");
    unsigned words[(sizeof(T) + 3) / 4] = {};
    T r;
    __builtin_memcpy(words, &v, sizeof v);
    for (unsigned &word : words)
        word = g.shfl_xor(word, bits);
    __builtin_memcpy(&r, words, sizeof r);
    return r;
}
template <unsigned N, class Parent, class T, class Op> TW_D T reduce(const thread_block_tile<N, Parent> &g, T v, Op op)
{
    for (unsigned bits = N / 2; bits; bits /= 2)
        v = op(v, tw_of_lane(g, v, bits));
    return v;
}

/* The first lane stores the result, or puts it together with that of an atomic object. */
template <unsigned N, class Parent, class Atomic, class T, class Op>
TW_D void reduce_store_async(const thread_block_tile<N, Parent> &g, Atomic &to, T v, Op op)
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
template <unsigned N, class Parent, class Atomic, class T, class Op>
TW_D void reduce_update_async(const thread_block_tile<N, Parent> &g, Atomic &to, T v, Op op)
{
    v = reduce(g, v, op);
    if (g.thread_rank() == 0)
        tw_update(to, v, op);
}
}
#endif
