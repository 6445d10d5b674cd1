/* One measurement of `bench`, and how it is shown. */
#ifndef TW_BENCH_H
#define TW_BENCH_H

#include "json.h"
#include "tool.h"

#include <glob.h>

enum bench_result { BENCH_PASS, BENCH_FAIL, BENCH_UNCHECKED, BENCH_SKIPPED };

struct bench_row {
    const char *kernel, *file;
    bool is_product; /* of matrices: 2·m·n·k operations */
    bool is_blas;
    int64_t m, n, k;
    char sizes[96];        /* of the others: "rows = 4, cols = 10" */
    int runs;              /* measured */
    double ms;             /* median */
    double gflops, gbytes; /* per second; 0: does not apply */
    double blas_ms;        /* median of the runs in turn with this kernel; 0: unknown */
    double blas_percent;   /* of OpenBLAS's speed, measured in turn; 0: unknown */
    bool compared;         /* the next three are known */
    double error;          /* largest */
    double worst_error;    /* at the element that uses most of its tolerance, */
    double allowed;        /* which is this */
    enum bench_result result;
    char why[400]; /* BENCH_SKIPPED, BENCH_FAIL */
};

/* kernels/matmul here, or beside the folder that the program was built in. */
bool bench_find_kernels(glob_t *found);
/* bench --device cuda: beside cuBLAS on a GPU. */
int bench_on_cuda(const struct command *self, const struct options *given);
/* bench sim [FILE[:KERNEL]]: the speed of the simulator. */
int bench_simulator(const struct command *self, const struct options *given);

void bench_header(bool products, int name_width);
void bench_print(const struct bench_row *row, int name_width);
void bench_json(const struct bench_row *row, struct json *j);

#endif
