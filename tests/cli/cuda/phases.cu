// A barrier is missing between the stores and the loads; test_findings.py. phases.ptx: made like launches.ptx.
__global__ void phases(const float *in, float *out)
{
    __shared__ float a[64], b[64];
    int t = threadIdx.x;
    a[t] = in[t];
    b[t] = 2 * in[t];
    float x = a[63 - t];
    x += b[63 - t];
    x += a[(t + 1) % 64];
    out[t] = x;
}

__global__ void twice(float *out, int *next)
{
    int t = threadIdx.x;
    out[t / 2] = t;
    next[t] = (t + 1) % 64;
    out[next[(t + 1) % 64]] = 0;
}
