// Loads and stores of vectors, cached in each way.
extern "C" __global__ void vectors(const float4 *__restrict__ x, float4 *y, int2 *i, double2 *d, uchar2 *c, short4 *s)
{
    float4 v = x[threadIdx.x], w = __ldg(x + 32), u = __ldcs(x + 64), t = __ldcg(x + 96);
    y[threadIdx.x] = make_float4(v.x + w.y, v.y * u.z, v.z - t.w, v.w);
    __stcs(y + 32, v);
    __stwt(y + 64, w);
    int2 p = i[threadIdx.x];
    i[threadIdx.x] = make_int2(p.y, p.x);
    double2 q = d[threadIdx.x];
    d[threadIdx.x] = make_double2(q.y, q.x);
    uchar2 r = c[threadIdx.x];
    c[threadIdx.x] = make_uchar2(r.y, r.x);
    short4 h = s[threadIdx.x];
    s[threadIdx.x] = make_short4(h.w, h.z, h.y, h.x);
    *(volatile float *)&y[5].x = v.x;
    y[6].y = *(volatile float *)&y[7].z;
}
