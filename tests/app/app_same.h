// Comparisons of what calls give with what they should give; a program prints how many failed.
#include "programs/app_check.h"

static int failed, compared;

#define SAME(call, wanted)                                                                         \
    do {                                                                                           \
        auto got_ = (call);                                                                        \
        compared++;                                                                                \
        if (got_ != (wanted)) {                                                                    \
            failed++;                                                                              \
            printf("line %d: %s gives %lld\n", __LINE__, #call, (long long)got_);                  \
        }                                                                                          \
        cudaGetLastError();                                                                        \
    } while (0)
#define GOOD(call) SAME(call, cudaSuccess)
