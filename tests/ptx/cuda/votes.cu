// Votes, matches, masks, reductions over a warp.
extern "C" __global__ void votes(const int *x, unsigned *y)
{
    int v = x[threadIdx.x];
    unsigned mask = __activemask();
    y[0] = __ballot_sync(~0u, v > 3);
    y[1] = __any_sync(~0u, v == 4) + 2 * __all_sync(~0u, v < 5);
    if (v & 1) {
        mask = __activemask();
        y[2] = __match_any_sync(mask, v);
        int all;
        y[3] = __match_all_sync(mask, v, &all) + all;
    }
    __syncwarp();
    y[4] = __reduce_add_sync(~0u, (unsigned)v) + __reduce_max_sync(~0u, (unsigned)v) + __reduce_or_sync(~0u, (unsigned)v);
    y[5] = __popc(mask & ((1u << (threadIdx.x & 31)) - 1));
    y[6] = __fns(mask, 0, 3);
}
