// nvcc: -use_fast_math
// Flushed, approximate arithmetic.
extern "C" __global__ void fast_math(const float *x, float *y)
{
    float a = x[threadIdx.x], b = x[threadIdx.x + 32];
    y[0] = a / b + sqrtf(a) + expf(b) + logf(a) + sinf(b) + cosf(a) + powf(a, b) + tanhf(b);
    y[1] = a * b + fmaxf(a, b) + fabsf(a) + (a < b ? 1.0f : -a) + exp2f(a) + log2f(b);
    y[2] = (float)(int)a + floorf(b) + 1.0f / a + rsqrtf(b);
}
