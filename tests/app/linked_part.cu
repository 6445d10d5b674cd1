// The second module of linked_main.cu; both have a static function `scaled`.
__device__ int first;
__constant__ int steps[2];

static __device__ __noinline__ int scaled(int x)
{
    return x * (steps[0] + 1);
}

__device__ void count(int *sum, int x, bool atomic)
{
    if (atomic)
        atomicAdd(sum, scaled(x));
    else
        *sum += scaled(x);
}
