// Tables of branches, dense and sparse.
extern "C" __global__ void switches(int *x, float *y)
{
    int v = x[threadIdx.x];
    float f = y[threadIdx.x];
    switch (v) {
    case 0: f += 1; break;
    case 1: f *= f; break;
    case 2: f = -f; break;
    case 3: f = sqrtf(f); /* on */
    case 4: f -= 4; break;
    case 5: f = f / 3; break;
    case 6: f = fabsf(f); break;
    case 7: f = floorf(f); break;
    case 8: x[threadIdx.x] = 99; return;
    case 9: f = 1 / f; break;
    default: f = 0;
    }
    switch (v * 7) {
    case 1000: f += 2; break;
    case -5: f += 3; break;
    case 123456: f += 4; break;
    }
    y[threadIdx.x] = f;
}
