// outside-copy: results of thrust::sort are copied to an array that is longer than the vector.
#include "app_check.h"

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

int main(int argc, char **argv)
{
    const int n = 3000;
    thrust::host_vector<int> host(n);
    for (int i = 0; i < n; i++)
        host[i] = i * 7919 % 10007;
    thrust::device_vector<int> x = host, y(n);
    thrust::sort(x.begin(), x.end());
    thrust::transform(x.begin(), x.end(), y.begin(), thrust::negate<int>());
    thrust::inclusive_scan(y.begin(), y.end(), y.begin());
    int sum = thrust::reduce(x.begin(), x.end());
    int got[2 * n];
    cudaError_t result = cudaMemcpy(got, thrust::raw_pointer_cast(x.data()), (is_broken(argc, argv) ? 2 * n : n) * sizeof(int), cudaMemcpyDeviceToHost);
    if (!is_broken(argc, argv))
        CHECK(result);
    int want = 0;
    for (int i = 0; i < n; i++) {
        want += host[i];
        EXPECT(is_broken(argc, argv) || i == 0 || got[i] >= got[i - 1]);
    }
    EXPECT(sum == want && y[n - 1] == -want);
    return 0;
}
