// Conditions that the compiler turns into predicates, selections, or branches.
extern "C" __global__ void conditions(const int *x, const float *f, int *y)
{
    int a = x[0], b = x[1];
    float p = f[0], q = f[1];
    y[0] = a < b && p > q ? a : b;
    y[1] = (a == b) + (p != q) + !(p < q) + (a > 3 || b <= 2);
    if (a & 1)
        y[2] = 1;
    else if (b & 2)
        y[2] = 2;
    else
        y[2] = p == 0 ? 3 : q >= 1 ? 4 : 5;
    y[3] = a > b ? (p < q ? x[2] : x[3]) : x[4];
    y[4] = (long long)a * b > 1000000ll ? -1 : 1;
    bool t = a > 0, u = b > 0;
    y[5] = t ^ u;
    y[6] = t & !u;
}
