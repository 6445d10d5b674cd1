// Addresses and counters of 64 bits.
extern "C" __global__ void unsigned64(unsigned long long *x, const unsigned long long n)
{
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n; i += 4096)
        x[i] = x[n - i - 1] * 0x9e3779b97f4a7c15ull + (x[i] >> 29 ^ x[i] / 10 + x[i] % 1000);
}
