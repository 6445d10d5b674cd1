// Names that C++ makes long.
template <typename T, int N> struct vec {
    T v[N];
};
template <typename T, int N> __device__ T dot(const vec<T, N> &a, const vec<T, N> &b)
{
    T s = 0;
    for (int i = 0; i < N; i++)
        s += a.v[i] * b.v[i];
    return s;
}
namespace some { namespace where {
template <typename T, int N> __global__ void kernel(vec<T, N> a, const vec<T, N> *b, T *c)
{
    c[threadIdx.x] = dot(a, b[threadIdx.x]);
}
template __global__ void kernel<float, 7>(vec<float, 7>, const vec<float, 7> *, float *);
template __global__ void kernel<long long, 2>(vec<long long, 2>, const vec<long long, 2> *, long long *);
}}
