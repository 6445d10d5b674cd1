// Launches one thread, then a grid that is too large, and never asks whether that succeeded.
__global__ void one(int *x)
{
    *x = 1;
}

int main()
{
    int *x, y = 0;
    if (cudaMalloc(&x, sizeof(int)) != cudaSuccess)
        return 3;
    one<<<1, 1>>>(x);
    cudaMemcpy(&y, x, sizeof(int), cudaMemcpyDeviceToHost);
    if (y != 1)
        return 3;
    one<<<dim3(1, 70000), 1>>>(x);
    cudaFree(x);
    return 0;
}
