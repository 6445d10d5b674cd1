// outside-copy: a copy of a volume that takes one plane too many.
#include "app_check.h"

__global__ void add_plane(cudaPitchedPtr p, int width, int height)
{
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    char *plane = (char *)p.ptr + z * p.pitch * height;
    if (x < width && y < height)
        ((int *)(plane + y * p.pitch))[x] += z;
}

int main(int argc, char **argv)
{
    const int width = 20, height = 10, depth = 6;
    static int host[depth][height][width], got[depth + 1][height][width];
    for (int i = 0; i < width * height * depth; i++)
        host[0][0][i] = i;
    cudaExtent extent = make_cudaExtent(width * sizeof(int), height, depth);
    cudaPitchedPtr volume;
    CHECK(cudaMalloc3D(&volume, extent));
    CHECK(cudaMemset3D(volume, 0, extent));
    cudaMemcpy3DParms copy = {0};
    copy.srcPtr = make_cudaPitchedPtr(host, width * sizeof(int), width, height);
    copy.dstPtr = volume;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    add_plane<<<depth, dim3(32, 16)>>>(volume, width, height);
    CHECK(cudaGetLastError());
    cudaMemcpy3DPeerParms within = {0}; // to another place of the same device
    cudaPitchedPtr second;
    CHECK(cudaMalloc3D(&second, extent));
    within.srcPtr = volume;
    within.dstPtr = second;
    within.extent = extent;
    CHECK(cudaMemcpy3DPeer(&within));
    copy.srcPtr = second;
    copy.dstPtr = make_cudaPitchedPtr(got, width * sizeof(int), width, height);
    copy.kind = cudaMemcpyDeviceToHost;
    if (is_broken(argc, argv)) {
        copy.extent.depth++;
        cudaMemcpy3D(&copy);
    } else {
        CHECK(cudaMemcpy3DAsync(&copy, 0));
        CHECK(cudaStreamSynchronize(0));
    }
    CHECK(cudaFree(volume.ptr));
    CHECK(cudaFree(second.ptr));
    for (int z = 0; z < depth; z++)
        for (int i = 0; i < width * height; i++)
            EXPECT(got[z][0][i] == host[z][0][i] + z);
    return 0;
}
