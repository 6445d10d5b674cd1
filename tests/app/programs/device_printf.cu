// out-of-bounds: printf of a kernel gets a text from beyond the end of an array.
#include "app_check.h"

__global__ void tell(const char *const *words, int count)
{
    int i = threadIdx.x;
    if (i < count)
        printf("%d: %s %5.2f %#x %lld%%\n", i, words[i], i / 4.0, i + 16, (long long)i << 40);
}

int main(int argc, char **argv)
{
    char *text, *pointers[2];
    char **words;
    CHECK(cudaMalloc(&text, 12));
    CHECK(cudaMalloc(&words, sizeof pointers));
    CHECK(cudaMemcpy(text, "hello\0world", 12, cudaMemcpyHostToDevice));
    pointers[0] = text;
    pointers[1] = text + (is_broken(argc, argv) ? 12 : 6);
    CHECK(cudaMemcpy(words, pointers, sizeof pointers, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 20));
    tell<<<1, 32>>>(words, 2);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(text));
    CHECK(cudaFree(words));
    return 0;
}
