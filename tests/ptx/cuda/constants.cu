// Constant memory of several types, read with an index.
struct item {
    short key;
    double value;
    char name[5];
};
__constant__ struct item items[3] = {{1, 1.5, "one"}, {-2, 2.5e300, "two"}, {3, -0.0, "tri"}};
__constant__ int offsets[] = {0, -1, 0x7fffffff};
__constant__ unsigned long long wide = 0xfedcba9876543210ull;
__device__ int counter = 7;
__device__ float table[2][3] = {{1, 2, 3}, {4, 5}};
__device__ int *pointer = &counter;
__device__ const char *text = "text in global memory";
extern "C" __global__ void constants(double *out, int i)
{
    out[0] = items[i].value + items[i].key + items[i].name[i & 3];
    out[1] = offsets[i] + (double)wide + table[i & 1][i];
    out[2] = *pointer + text[i];
    atomicAdd(&counter, 1);
}
