/* Times text to runnable program: the best of several compilations of each file, in milliseconds,
 * one line a file.
 *
 *     speed RUNS FILE… */
#include "tilewright.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* not the wall clock */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tw_status prepare(tw_context *ctx, const char *path)
{
    tw_module *m;
    tw_launch *l;
    tw_param p = tw_param_init();
    tw_status s = tw_module_from_file(ctx, path, &m);
    if (s != TW_OK)
        return s;
    tw_kernel *k = tw_module_kernel_at(m, 0);
    s = tw_launch_new(k, &l);
    for (int i = 0; s == TW_OK && tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (!p.is_pointer)
            s = tw_launch_set(l, p.name,
                              p.dtype <= TW_BF16 ? tw_float(0.5)
                                                 : tw_int(p.dtype == TW_BOOL ? 1 : 64));
    return s == TW_OK ? tw_launch_prepare(l) : s;
}

int main(int argc, char **argv)
{
    int runs = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 2; i < argc; i++) {
        double best = 1e9;
        for (int run = 0; run < runs; run++) {
            tw_context *ctx;
            double start = seconds();
            if (tw_context_new(NULL, &ctx) != TW_OK)
                return 1;
            if (prepare(ctx, argv[i]) != TW_OK) {
                fprintf(stderr, "%s", tw_context_messages(ctx));
                return 1;
            }
            double taken = seconds() - start;
            best = taken < best ? taken : best;
            tw_context_free(ctx);
        }
        printf("%.3f %s\n", best * 1e3, argv[i]);
    }
    return 0;
}
