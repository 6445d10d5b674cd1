#include "cuda/cuda_driver.h"

#include "base/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library's paths on Linux, WSL and Windows. */
static const char *const places[] = {"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1",
                                     "nvcuda.dll"};

/* *path: the one that was opened. */
static void *open_library(const char **path, char why[CUDA_WHY])
{
    const char *named = getenv("TILEWRIGHT_CUDA_DRIVER");
    if (named && *named) {
        void *library = platform_library(*path = named);
        if (!library)
            snprintf(why, CUDA_WHY,
                     "TILEWRIGHT_CUDA_DRIVER names %.300s, which cannot be loaded (%.300s); unset "
                     "it to use the driver that is installed",
                     named, platform_library_error());
        return library;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        void *library = platform_library(*path = places[i]);
        if (library)
            return library;
    }
    snprintf(why, CUDA_WHY, "there is no NVIDIA driver here (libcuda.so.1 was not found)");
    return NULL;
}

bool cuda_driver_find(struct cuda_driver *d, char why[CUDA_WHY])
{
    const char *path = NULL;
    void *library = open_library(&path, why);
    if (!library)
        return false;
    const char *missing = NULL;
    void *found;
#define OPTIONAL(id, symbol, parameters)                                                           \
    found = platform_symbol(library, symbol);                                                      \
    memcpy(&d->id, &found, sizeof found);
#define DRIVER(id, symbol, parameters)                                                             \
    OPTIONAL(id, symbol, parameters)                                                               \
    missing = found ? missing : symbol;
#include "cuda/cuda_driver.def"
#undef DRIVER
#undef OPTIONAL
    if (!platform_symbol(library, "cuInit"))
        snprintf(why, CUDA_WHY, "%.300s is not a CUDA driver: it has no cuInit%s", path,
                 getenv("TILEWRIGHT_CUDA_DRIVER") ? " ($TILEWRIGHT_CUDA_DRIVER names it)" : "");
    else if (missing)
        snprintf(why, CUDA_WHY, "the NVIDIA driver is too old: it has no %s", missing);
    return !missing;
}

/* The same layout as in cuda.h. */
_Static_assert(sizeof(struct cuda_launch_attribute) == 72, "CUlaunchAttribute");
_Static_assert(sizeof(struct cuda_launch_config) == 56, "CUlaunchConfig");
