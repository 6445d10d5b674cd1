// arch: sm_90a
// The copy engine: a box of a tensor into shared memory and out again.
#include <cuda.h>
extern "C" __global__ void tensor_copy(const __grid_constant__ CUtensorMap map, int x, int y)
{
    __shared__ __align__(128) float tile[32][32];
    __shared__ __align__(8) unsigned long long bar;
    unsigned s = (unsigned)__cvta_generic_to_shared(tile), b = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(b), "r"(4096));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     :: "r"(s), "l"(&map), "r"(x), "r"(y), "r"(b) : "memory");
    }
    __syncthreads();
    asm volatile("{\n.reg .pred p;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra wait;\n}" :: "r"(b), "r"(0) : "memory");
    tile[threadIdx.x][0] += 1;
    asm volatile("fence.proxy.async;");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" :: "l"(&map), "r"(y), "r"(x), "r"(s) : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group.read 0;");
    }
}
