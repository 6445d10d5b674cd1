// Bit operations of the hardware.
extern "C" __global__ void bits(unsigned *u, unsigned long long *l)
{
    unsigned a = u[0], b = u[1], c = u[2];
    u[3] = __popc(a) + __clz(b) + __ffs(c) + __brev(a);
    u[4] = __byte_perm(a, b, c) ^ __funnelshift_l(a, b, c) ^ __funnelshift_rc(a, b, c);
    u[5] = (a & b) | (~a & c);
    u[6] = a ^ b ^ c;
    u[7] = ((a >> 5) & 0x3f) | ((b & 0x1f) << 7);
    l[2] = __popcll(l[0]) + __clzll(l[1]) + __ffsll(l[0]) + __brevll(l[1]);
    l[3] = (l[0] << 13) | (l[1] >> 51);
    u[8] = __dp4a((int)a, (int)b, (int)c) + __dp4a(a, b, c) + __dp2a_lo((int)a, (int)b, (int)c);
    u[9] = __vadd4(a, b) + __vabsdiffu4(a, c) + __vmaxs2(b, c) + __vcmpeq4(a, b);
}
