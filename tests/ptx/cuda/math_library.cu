// Functions that come with loops, tables and branches.
extern "C" __global__ void math_library(float *x, double *y)
{
    float v = x[threadIdx.x];
    x[threadIdx.x] = sinf(v) + cosf(v) + tanf(v) + expf(v) + logf(v) + powf(v, 2.5f) + tanhf(v) + erff(v) + cbrtf(v) + atan2f(v, 2);
    double d = y[threadIdx.x];
    y[threadIdx.x] = exp(d) + log(d) + sin(d) + pow(d, 1.5);
}
