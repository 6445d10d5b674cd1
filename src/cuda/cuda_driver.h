/* The driver library's functions, found by name. */
#ifndef TW_CUDA_DRIVER_H
#define TW_CUDA_DRIVER_H

#include "cuda/cuda.h"

struct cuda_driver {
#define DRIVER(id, symbol, parameters) int(*id) parameters;
#define OPTIONAL DRIVER
#include "cuda/cuda_driver.def"
#undef OPTIONAL
#undef DRIVER
};

/* The library that TILEWRIGHT_CUDA_DRIVER names, if it does; else the one that is installed. */
bool cuda_driver_find(struct cuda_driver *d, char why[CUDA_WHY]);

#endif
