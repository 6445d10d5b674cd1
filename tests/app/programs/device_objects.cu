// out-of-bounds: an object that a kernel makes with new is used after delete.
#include "app_check.h"

struct shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~shape() {}
};
struct square : shape {
    float side;
    __device__ square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct circle : shape {
    float radius;
    __device__ circle(float r) : radius(r) {}
    __device__ float area() const override { return 3 * radius * radius; }
};

__global__ void make(shape **shapes)
{
    int i = threadIdx.x;
    shapes[i] = i % 2 ? (shape *)new circle((float)i) : (shape *)new square((float)i);
}

__global__ void measure(shape **shapes, float *areas)
{
    areas[threadIdx.x] = shapes[threadIdx.x]->area();
}

__global__ void destroy(shape **shapes)
{
    delete shapes[threadIdx.x];
}

int main(int argc, char **argv)
{
    shape **shapes;
    float *areas, got[32];
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20));
    CHECK(cudaMalloc(&shapes, 32 * sizeof(shape *)));
    CHECK(cudaMalloc(&areas, sizeof got));
    make<<<1, 32>>>(shapes);
    if (is_broken(argc, argv))
        destroy<<<1, 32>>>(shapes);
    measure<<<1, 32>>>(shapes, areas);
    if (!is_broken(argc, argv))
        destroy<<<1, 32>>>(shapes);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got, areas, sizeof got, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(shapes));
    CHECK(cudaFree(areas));
    EXPECT(got[4] == 16 && got[5] == 75);
    return 0;
}
