/* Measures the first call of a kernel that was compiled ahead of time for the CPU.
 *
 *     tilewright build kernels/fused/softmax.tile --device cpu --name rows --set cols=64
 *     cc -O2 -I. -Iinclude bench/first_call.c rows.c build/libtilewright_cpu.a -lm -lpthread -o first_call
 *     ./first_call
 *
 * Prints the microseconds of rows_load_cpu, of the first call and of the second one, which compute
 * the softmax of 5 rows. The time of a first call is mostly that of page faults, so it is measured
 * once in a process; run the program several times and take the median. */
#include "rows.h"

#include <stdio.h>
#include <time.h>

enum { ROWS = 5, COLUMNS = 64 };

static double microseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

int main(void)
{
    static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    rows_module *kernels;
    double at[4];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i % 7), y[i] = 1;
    microseconds(); /* finds the clock */
    at[0] = microseconds();
    rows_status status = rows_load_cpu(NULL, &kernels);
    for (int i = 1; i < 4 && status == ROWS_OK; i++) {
        at[i] = microseconds();
        if (i < 3)
            status = rows_softmax(kernels, NULL, ROWS, COLUMNS, x, y);
    }
    if (status != ROWS_OK) {
        fprintf(stderr, "%s\n", rows_message());
        return 1;
    }
    rows_unload(kernels);
    printf("load %.1f us, first call %.1f us, second call %.1f us\n", at[1] - at[0], at[2] - at[1],
           at[3] - at[2]);
    return 0;
}
