/* Times text to runnable program: the best of several compilations of each file, in milliseconds,
 * one line a file.
 *
 *     speed RUNS FILE… */
#include "tilewright.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* not the wall clock */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the size that a parameter gets: a filter's extents and steps are small. */
static int64_t size_of(const char *name)
{
    static const char *const small[] = {"r", "s", "stride", "pad"};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (strcmp(name, small[i]) == 0)
            return 2;
    return 64;
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
        if (!p.is_pointer && !p.derived)
            s = tw_launch_set(l, p.name,
                              p.dtype <= TW_BF16
                                  ? tw_float(0.5)
                                  : tw_int(p.dtype == TW_BOOL ? 1 : size_of(p.name)));
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
