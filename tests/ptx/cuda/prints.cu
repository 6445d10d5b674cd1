// printf with arguments of each size.
#include <cstdio>
extern "C" __global__ void prints(int n, double d, const char *s)
{
    printf("plain\n");
    printf("%d %u %lld %f %g %c %s %p\n", n, 3u, 4ll, 5.0f, d, 'x', "literal", (void *)s);
    if (threadIdx.x == 0)
        printf("%5.2f%%\n", d * 100);
}
