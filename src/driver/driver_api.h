/* The driver interface: error codes, the caller's structs, entry points. */
#ifndef TW_DRIVER_API_H
#define TW_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

/* CUresult, and cudaError with the same numbers */
enum driver_result {
#define RESULT(number, id, driver, runtime, text) DRIVER_##id = number,
#include "driver/driver_results.def"
#undef RESULT
};

/* --- the caller's structs --- */

/* CUDA_MEMCPY2D */
struct driver_copy_2d {
    size_t from_x, from_y; /* bytes, rows */
    int from_kind;         /* enum driver_memory_kind */
    const void *from_host;
    uint64_t from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_kind;
    void *to_host;
    uint64_t to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height; /* bytes, rows */
};
enum driver_memory_kind {
    DRIVER_MEMORY_HOST = 1,
    DRIVER_MEMORY_DEVICE = 2,
    DRIVER_MEMORY_ARRAY = 3,
    DRIVER_MEMORY_UNIFIED = 4
};

/* CUlaunchAttribute, CUlaunchConfig */
struct driver_launch_attribute {
    int id, padding;
    union {
        unsigned cluster[3];
        int number;
        char room[64];
    } value;
};
struct driver_launch_config {
    unsigned grid[3], block[3], shared;
    void *stream;
    const struct driver_launch_attribute *attributes;
    unsigned count;
};

#define DRIVER_EXPORT __attribute__((visibility("default")))
#define CALL(asked, symbol, since, parameters) DRIVER_EXPORT int symbol parameters;
#include "driver/driver_calls.def"
#undef CALL

#endif
