/* The driver library's functions, found by name. */
#ifndef TW_CUDA_DRIVER_H
#define TW_CUDA_DRIVER_H

#include "cuda/cuda.h"

/* CUlaunchAttribute, CUlaunchConfig */
enum cuda_launch_attribute_id {
    LAUNCH_COOPERATIVE = 2,
    LAUNCH_CLUSTER = 4,
    LAUNCH_OVERLAP = 6, /* programmatic stream serialisation */
    LAUNCH_PRIORITY = 8
};
struct cuda_launch_attribute {
    int id;
    int padding;
    union {
        unsigned cluster[3];
        int number;
        char room[64];
    } value;
};
struct cuda_launch_config {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    struct cuda_launch_attribute *attributes;
    unsigned count;
};

struct cuda_driver {
#define DRIVER(id, symbol, parameters) int(*id) parameters;
#define OPTIONAL DRIVER
#include "cuda/cuda_driver.def"
#undef OPTIONAL
#undef DRIVER
};

/* Loads the library that TILEWRIGHT_CUDA_DRIVER names if it is set, otherwise the installed one. */
bool cuda_driver_find(struct cuda_driver *d, char why[CUDA_WHY]);

#endif
