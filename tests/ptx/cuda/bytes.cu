// Signed and unsigned bytes, moved and widened.
extern "C" __global__ void bytes(const signed char *a, const unsigned char *b, short *c, unsigned short *d, bool *e)
{
    int i = threadIdx.x;
    c[i] = a[i] * b[i];
    d[i] = (unsigned short)(b[i] << 8 | b[i + 1]);
    e[i] = a[i] > 0 && b[i] < 200;
    c[i + 32] = e[i] ? -a[i] : (short)d[i + 3];
}
