// Functions that are not inlined: plain, recursive, through a pointer, with pointers to locals.
__device__ __noinline__ int add(int a, int b)
{
    return a + b;
}
__device__ __noinline__ int mul(int a, int b)
{
    return a * b;
}
__device__ __noinline__ void swap(int *a, int *b)
{
    int t = *a;
    *a = *b;
    *b = t;
}
__device__ __noinline__ unsigned long long factorial(unsigned n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}
typedef int (*binary)(int, int);
__device__ binary ops[2] = {add, mul};
__device__ __noinline__ float4 four(float f, double d, char c)
{
    return make_float4(f, (float)d, c, f * c);
}
extern "C" __global__ void calls(int *x, unsigned long long *y, float4 *z)
{
    int a = x[0], b = x[1];
    swap(&a, &b);
    x[2] = ops[threadIdx.x & 1](a, b) - b;
    y[0] = factorial(x[3]);
    z[0] = four(1.5f * a, b, (char)a);
}
