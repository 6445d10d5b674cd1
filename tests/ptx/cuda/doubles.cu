// Double precision, its divisions, roots and conversions.
extern "C" __global__ void doubles(const double *x, double *y, float *f, long long *l, unsigned *u)
{
    double a = x[0], b = x[1];
    y[0] = a / b;
    y[1] = sqrt(a) + 1 / b;
    y[2] = fma(a, b, 3.25);
    y[3] = fmin(a, b) - fmax(a, -b) + fabs(a);
    y[4] = floor(a) + ceil(b) + trunc(a) + rint(b);
    y[5] = __dadd_rz(a, b) + __dmul_ru(a, b) + __ddiv_rd(a, b) + __dsqrt_rn(a);
    y[6] = a < b ? a : isnan(b) ? 1e-300 : -0.0;
    f[0] = (float)a + __double2float_rz(b);
    l[0] = (long long)a + __double2ll_rn(b);
    u[0] = (unsigned)a + __double2uint_ru(b);
    y[7] = (double)l[1] + (double)u[1] + (double)(unsigned long long)l[2];
    y[8] = __hiloint2double(__double2hiint(a), __double2loint(b));
}
