/* Replaces src/cuda: a browser has no driver. cuda_open refuses, so that no function that takes
 * a device is ever called; they exist because the linker needs them. */
#include "cuda/cuda.h"

#include <stdio.h>

static const char no_gpu[] =
    "a browser has no NVIDIA driver; `--device sim` counts the same on the simulator";

bool cuda_look(int ordinal, struct cuda_device *out, char why[CUDA_WHY])
{
    (void)ordinal, (void)out;
    snprintf(why, CUDA_WHY, "%s", no_gpu);
    return false;
}

struct cuda *cuda_open(const struct allocator *allocator, int ordinal, char why[CUDA_WHY])
{
    (void)allocator, (void)ordinal;
    snprintf(why, CUDA_WHY, "%s", no_gpu);
    return NULL;
}

void cuda_close(struct cuda *c)
{
    (void)c;
}

void cuda_unload(struct cuda *c, struct cuda_module *m)
{
    (void)c, (void)m; /* none was loaded */
}

/* --- the cache of assembled kernels: there is no disk --- */

struct cuda_cache {
    struct allocator allocator;
};

struct cuda_cache *cuda_cache_open(const struct allocator *allocator, const char *folder)
{
    struct cuda_cache *c = allocator->resize(allocator->user, NULL, 0, sizeof *c);
    (void)folder;
    if (c)
        c->allocator = *allocator;
    return c;
}

void cuda_cache_close(struct cuda_cache *c)
{
    if (!c)
        return;
    struct allocator a = c->allocator;
    a.resize(a.user, c, sizeof *c, 0);
}

const char *cuda_cache_folder(const struct cuda_cache *c)
{
    (void)c;
    return "";
}

/* --- never called: there is no struct cuda --- */

#define NEVER(result, name, parameters)                                                            \
    result name parameters                                                                         \
    {                                                                                              \
        __builtin_trap();                                                                          \
    }

NEVER(bool, cuda_allocate, (struct cuda * c, size_t bytes, uint64_t *address, char why[CUDA_WHY]))
NEVER(int, cuda_clusters, (struct cuda * c, int blocks))
NEVER(struct cuda_quick, cuda_quick,
      (const struct cuda *c, const struct cuda_module *m, const struct cuda_launch *l))
NEVER(bool, cuda_quick_start_with,
      (const struct cuda_quick *q, const int64_t grid[3], void *stream, void **arguments))
NEVER(bool, cuda_occupancy,
      (struct cuda * c, struct cuda_module *m, int threads, int64_t shared_bytes,
       struct cuda_occupancy *out, char why[CUDA_WHY]))
NEVER(bool, cuda_keeps_clean, (const struct cuda *c, uint64_t address))
NEVER(bool, cuda_allow_shared,
      (struct cuda * c, struct cuda_module *m, int64_t bytes, char why[CUDA_WHY]))
NEVER(bool, cuda_copy_in,
      (struct cuda * c, uint64_t to, const void *from, size_t bytes, void *stream,
       char why[CUDA_WHY]))
NEVER(bool, cuda_copy_out,
      (struct cuda * c, void *to, uint64_t from, size_t bytes, void *stream, char why[CUDA_WHY]))
NEVER(const struct cuda_device *, cuda_describe, (const struct cuda *c))
NEVER(struct cuda_encoder, cuda_encoder, (const struct cuda *c))
NEVER(bool, cuda_encode_map,
      (const struct cuda_encoder *e, const struct tensor_map *map, int *result,
       uint64_t code[MAP_WORDS]))
NEVER(void, cuda_say_map,
      (struct cuda * c, const struct tensor_map *map, int result, char why[CUDA_WHY]))
NEVER(bool, cuda_event_elapsed,
      (struct cuda * c, void *from, void *to, double *milliseconds, char why[CUDA_WHY]))
NEVER(bool, cuda_event_new, (struct cuda * c, void **event, char why[CUDA_WHY]))
NEVER(bool, cuda_event_record, (struct cuda * c, void *event, void *stream, char why[CUDA_WHY]))
NEVER(enum cuda_failure, cuda_failure, (const struct cuda *c))
NEVER(bool, cuda_fill,
      (struct cuda * c, uint64_t to, int byte, size_t bytes, void *stream, char why[CUDA_WHY]))
NEVER(bool, cuda_free, (struct cuda * c, uint64_t address, char why[CUDA_WHY]))
NEVER(struct cuda_module *, cuda_load_text,
      (struct cuda * c, const struct cuda_text *t, const char *kernel, char why[CUDA_WHY]))
NEVER(bool, cuda_start,
      (struct cuda * c, struct cuda_module *m, const struct cuda_launch *launch, void *stream,
       char why[CUDA_WHY]))
NEVER(bool, cuda_usable, (struct cuda * c, char why[CUDA_WHY]))
NEVER(bool, cuda_workspace,
      (struct cuda * c, void *stream, size_t bytes, bool clean, uint64_t *address,
       char why[CUDA_WHY]))
NEVER(bool, cuda_stream_capturing,
      (struct cuda * c, void *stream, bool *capturing, char why[CUDA_WHY]))
