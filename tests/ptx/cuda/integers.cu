// Divisions, shifts, high products, widths.
extern "C" __global__ void integers(int *a, unsigned *u, long long *l, short *s, signed char *c)
{
    a[0] = a[1] / a[2] + a[3] % a[4] + (a[5] >> 3) + (a[6] << (a[7] & 31));
    u[0] = u[1] / u[2] + u[3] % u[4] + (u[5] >> 3) + (u[6] >> (u[7] & 31)) + u[8] / 7;
    l[0] = l[1] / l[2] + l[3] % l[4] + (l[5] >> 3) + (l[6] << (a[7] & 63)) + l[7] * l[8];
    a[10] = __mulhi(a[1], a[2]) + __mul24(a[3], a[4]) + abs(a[5]) + min(a[6], a[7]) + max(a[8], -a[9]);
    u[10] = __umulhi(u[1], u[2]) + min(u[3], u[4]) + __usad(u[5], u[6], u[7]) + (u[8] > u[9]);
    l[10] = __mul64hi(l[1], l[2]) + (long long)a[3] * a[4] + (unsigned long long)u[5] * u[6];
    s[0] = s[1] * s[2] - (s[3] >> 2) + (short)a[4];
    c[0] = (signed char)(c[1] + c[2] * 3 - (c[3] ^ 0x55));
    u[11] = (unsigned char)u[12] + (unsigned short)u[13] + (u[14] & ~0xffu);
}
