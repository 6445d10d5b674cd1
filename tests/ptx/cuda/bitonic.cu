// Sorting in shared memory.
extern "C" __global__ void bitonic(int *x)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int size = 2; size <= 256; size <<= 1)
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            int other = t ^ stride;
            if (other > t && (s[t] > s[other]) == ((t & size) == 0)) {
                int v = s[t];
                s[t] = s[other];
                s[other] = v;
            }
            __syncthreads();
        }
    x[t] = s[t];
}
