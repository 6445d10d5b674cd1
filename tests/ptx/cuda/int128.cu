// Sums with carries.
extern "C" __global__ void int128(__int128 *x, unsigned __int128 *y)
{
    x[0] = x[1] + x[2] * 3;
    y[0] = y[1] - y[2];
    y[3] = y[1] >> 37 ^ y[2] << 5;
    x[3] = x[1] < x[2] ? x[1] : -x[2];
}
