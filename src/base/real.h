/* Functions of f64. They do not call the C library's, so a program gives the same values under
 * Linux and in a browser. They use no fused multiply-add, raise no exceptions and do not set errno.
 * Infinities, NaN and zeros are treated as C's Annex F says.
 *
 * Errors are at most these units in the last place (tests/unit/test_real.c): exp and exp2 0.6, log
 * and log2 0.8, sin and cos 0.8, tanh 2.5, erf 1, erfc 2.5, expm1 1.4, log1p 2.5, sigmoid 2, pow
 * 0.8; of subnormal results 1. */
#ifndef TW_REAL_H
#define TW_REAL_H

double real_exp(double x);
double real_exp2(double x);
double real_expm1(double x);
double real_log(double x);
double real_log2(double x);
double real_log1p(double x);
double real_sin(double x);
double real_cos(double x);
double real_tanh(double x);
double real_erf(double x);
double real_erfc(double x);
double real_sigmoid(double x); /* 1 / (1 + e^-x) */
double real_pow(double x, double y);

#endif
