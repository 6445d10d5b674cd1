// Philox, ten rounds.
extern "C" __global__ void random_numbers(uint4 *out, unsigned seed)
{
    unsigned c0 = threadIdx.x, c1 = blockIdx.x, c2 = 0, c3 = 0, k0 = seed, k1 = ~seed;
#pragma unroll
    for (int r = 0; r < 10; r++) {
        unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
        unsigned h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = make_uint4(c0, c1, c2, c3);
}
