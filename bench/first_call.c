/* Measures the first call of a kernel that was compiled ahead of time for the CPU.
 *
 *     tilewright build kernels/fused/softmax.tile --device cpu --name rows --set cols=64
 *     cc -O2 -I. -Iinclude bench/first_call.c rows.c build/libtilewright_cpu.a -lm -lpthread -o first_call
 *     ./first_call [CALLS]
 *
 * Prints the microseconds of rows_load_cpu and of each of CALLS (2) calls, which compute the softmax of
 * 5 rows, and the page faults of the first one. The time of a first call is mostly that of page faults,
 * so it is measured once in a process; run the program several times and take the median. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { ROWS = 5, COLUMNS = 64, MOST_CALLS = 8 };

static double microseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static long page_faults(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

int main(int count, char **words)
{
    static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    rows_module *kernels;
    int calls = count > 1 ? atoi(words[1]) : 2;
    double at[MOST_CALLS + 2];
    long faults[MOST_CALLS + 2];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i % 7), y[i] = 1;
    microseconds(); /* finds the clock */
    at[0] = microseconds();
    rows_status status = rows_load_cpu(NULL, &kernels);
    calls = calls < MOST_CALLS ? calls : MOST_CALLS;
    page_faults(); /* its own code is then in memory */
    for (int i = 1; i < calls + 2 && status == ROWS_OK; i++) {
        faults[i] = page_faults();
        at[i] = microseconds();
        if (i <= calls)
            status = rows_softmax(kernels, NULL, ROWS, COLUMNS, x, y);
    }
    if (status != ROWS_OK) {
        fprintf(stderr, "%s\n", rows_message());
        return 1;
    }
    rows_unload(kernels);
    printf("load %.1f us", at[1] - at[0]);
    for (int i = 1; i <= calls; i++)
        printf(", call %d %.1f us", i, at[i + 1] - at[i]);
    if (calls > 0)
        printf(", page faults of call 1: %ld", faults[2] - faults[1]);
    printf("\n");
    return 0;
}
