// arch: sm_100a
// Tensor memory: allocated, written, multiplied into, read, freed.
extern "C" __global__ void blackwell(unsigned long long a, unsigned long long b, unsigned idesc, unsigned *out)
{
    __shared__ unsigned address;
    __shared__ __align__(8) unsigned long long bar;
    unsigned s = (unsigned)__cvta_generic_to_shared(&address), m = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" :: "r"(s) : "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;");
    unsigned t = address;
    if (threadIdx.x == 0) {
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}"
                     :: "r"(t), "l"(a), "l"(b), "r"(idesc), "r"(0) : "memory");
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(m) : "memory");
    }
    unsigned r0, r1;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1}, [%2];" : "=r"(r0), "=r"(r1) : "r"(t));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    out[threadIdx.x] = r0 ^ r1;
    asm volatile("tcgen05.fence::before_thread_sync;");
    __syncthreads();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" :: "r"(t));
}
