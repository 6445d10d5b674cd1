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
/* "what: CUDA_ERROR_… (in words)" for a result that is not 0. True when it is 0. */
bool cuda_driver_good(const struct cuda_driver *d, int result, const char *what,
                      char why[CUDA_WHY]);

#endif
