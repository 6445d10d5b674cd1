// Arrays of a thread, indexed by values: local memory.
extern "C" __global__ void local_arrays(const int *index, float *out)
{
    float a[24];
    char b[17];
    for (int i = 0; i < 24; i++)
        a[i] = out[i] * i;
    for (int i = 0; i < 17; i++)
        b[i] = (char)(index[i] >> 3);
    float s = 0;
    for (int i = 0; i < 8; i++)
        s += a[index[i] % 24] + b[index[i + 8] % 17];
    a[index[3] % 24] = s;
    out[threadIdx.x] = a[index[threadIdx.x] % 24];
}
