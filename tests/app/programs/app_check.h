// Functions that the programs of this folder share. `./program clean` has no fault, `./program broken` has the one that its first line names.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            printf("%s: %s\n", #call, cudaGetErrorString(error_));                                 \
            exit(3);                                                                               \
        }                                                                                          \
    } while (0)

// Ends the program if a value is wrong.
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: not %s\n", __LINE__, #condition);                                     \
            exit(4);                                                                               \
        }                                                                                          \
    } while (0)

// Data of edges of graphs: an argument that CUDA 13 added.
#if CUDART_VERSION >= 13000
#define EDGE_DATA NULL,
#else
#define EDGE_DATA
#endif

static bool is_broken(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "broken") == 0;
}

// Creates streams that do not wait for the default stream.
inline void make_streams(cudaStream_t *streams, int count)
{
    for (int i = 0; i < count; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
}

inline void destroy_streams(const cudaStream_t *streams, int count)
{
    for (int i = 0; i < count; i++)
        CHECK(cudaStreamDestroy(streams[i]));
}
