// Structures by value, nested, returned.
struct inner {
    float f;
    short s[3];
};
struct outer {
    char c;
    struct inner in[2];
    double d;
    long long l;
};
__device__ __noinline__ struct inner pick(struct outer o, int i)
{
    struct inner r = o.in[i & 1];
    r.f += (float)o.d + o.c;
    r.s[2] = (short)o.l;
    return r;
}
extern "C" __global__ void structs(struct outer o, struct inner *out)
{
    out[threadIdx.x] = pick(o, threadIdx.x);
    o.in[0].s[1] = threadIdx.x;
    out[32 + threadIdx.x] = o.in[0];
}
