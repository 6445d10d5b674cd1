/* Prints the results of bench --device cuda. */
#ifndef TW_BENCH_GPU_REPORT_H
#define TW_BENCH_GPU_REPORT_H

#include "bench/bench_gpu.h"

struct gpu_columns {
    bool batched, grouped;
    int name_width;
};
void gpu_header(const struct gpu_columns *columns);
void gpu_print(const struct gpu_row *row, const struct gpu_columns *columns);
/* Prints a row for each library that took turns with the row's kernel: its own time. */
void gpu_print_libraries(const struct gpu_row *row, const struct gpu_columns *columns);
void gpu_json(const struct gpu_row *row, struct json *j);

/* Mean, over all sizes of a group and type, of the fastest kernel's speed in comparison with the
 * faster library. */
struct gpu_mean {
    const char *group;
    tw_dtype dtype;
    int sizes;
    double ratio; /* geometric mean */
};
/* Returns the means; an entry with sizes 0 ends them. The caller frees. */
struct gpu_mean *gpu_means(const struct gpu_row *rows, int count);
void gpu_print_means(const struct gpu_mean *means);
void gpu_json_means(const struct gpu_mean *means, struct json *j);

#endif
