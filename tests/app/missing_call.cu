// Calls a function of the runtime that the libraries do not have.
#include <cstdio>

int main()
{
    cudaGraph_t graph;
    int error = cudaGraphCreate(&graph, 0), last = cudaGetLastError();
    printf("%d %d %s\n", error, last, cudaGetErrorString(cudaErrorNotSupported));
    return 0;
}
