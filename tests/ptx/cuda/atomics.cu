// Atomics of each kind and width, global and shared.
extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d, int *old)
{
    __shared__ unsigned bins[64];
    bins[threadIdx.x & 63] = 0;
    __syncthreads();
    atomicAdd(&bins[u[threadIdx.x] & 63], 1u);
    atomicMax(&bins[0], threadIdx.x);
    old[0] = atomicAdd(i, 1);
    old[1] = atomicSub(i, 2);
    old[2] = atomicMin(i, -3);
    old[3] = atomicMax(i, 4);
    old[4] = atomicAnd(i, 5);
    old[5] = atomicOr(i, 6);
    old[6] = atomicXor(i, 7);
    old[7] = atomicExch(i, 8);
    old[8] = atomicCAS(i, 9, 10);
    old[9] = (int)atomicInc(u, 11u);
    old[10] = (int)atomicDec(u, 12u);
    atomicAdd(l, 13ull);
    atomicCAS(l, 14ull, 15ull);
    atomicMin(l, 16ull);
    atomicAdd(f, 1.5f);
    atomicExch(f, 2.5f);
    atomicAdd(d, 3.5);
    atomicAdd_block(i, 3);
    atomicAdd_system(i, 4);
    __syncthreads();
    u[threadIdx.x] = bins[threadIdx.x & 63];
}
