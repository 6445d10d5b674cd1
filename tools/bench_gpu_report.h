/* What bench --device cuda prints. */
#ifndef TW_BENCH_GPU_REPORT_H
#define TW_BENCH_GPU_REPORT_H

#include "bench_gpu.h"

struct gpu_columns {
    bool batched, grouped;
    int name_width;
};
void gpu_header(const struct gpu_columns *columns);
void gpu_print(const struct gpu_row *row, const struct gpu_columns *columns);
void gpu_json(const struct gpu_row *row, struct json *j);

/* The fastest kernel of each size beside the faster library, over all sizes of a group and type. */
struct gpu_mean {
    const char *group;
    tw_dtype dtype;
    int sizes;
    double ratio; /* geometric mean */
};
/* NULL-terminated by sizes 0; the caller frees. */
struct gpu_mean *gpu_means(const struct gpu_row *rows, int count);
void gpu_print_means(const struct gpu_mean *means);
void gpu_json_means(const struct gpu_mean *means, struct json *j);

#endif
