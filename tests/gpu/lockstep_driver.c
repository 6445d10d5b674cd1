/* A driver library without a GPU: `tilewright run --device cuda` finds it as libcuda.so.1, and
 * kernels run in lockstep (tests/unit/lockstep.h), with every access of memory checked.
 * TW_LOCKSTEP_SM chooses the device that it claims to be (80).
 *
 *     cc -shared -fPIC -fvisibility=hidden -Isrc -Iinclude -Itests/unit -o DIR/libcuda.so.1 \
 *        tests/gpu/lockstep_driver.c tests/unit/lockstep*.c src/{ptx,layout,base}/?*.c -lm
 *     LD_LIBRARY_PATH=DIR tilewright run kernels/fused/softmax.tile --set rows=3,cols=100 \
 *        --fill rand --verify --device cuda
 */
#include "lockstep.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { GOOD = 0, NO_MEMORY = 2, BAD_PTX = 218, NOT_FOUND = 500, LAUNCH_FAILED = 719 };
enum { MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76, SHARED_OPTIN = 97 }; /* CUdevice_attribute */

static struct lockstep_array arrays[LOCKSTEP_ARRAYS / 2];
static char fault[4096]; /* of a launch */
static int context;

struct loaded {
    struct arena arena;
    jmp_buf out_of_memory;
    struct source source;
    struct diag diag;
    struct ptx_module *module;
};

static int capability(void)
{
    const char *sm = getenv("TW_LOCKSTEP_SM");
    return sm ? atoi(sm) : 80;
}

/* --- the device --- */

API int cuInit(unsigned flags)
{
    (void)flags;
    return GOOD;
}

API int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return GOOD;
}

API int cuGetErrorName(int error, const char **text)
{
    *text = error == LAUNCH_FAILED ? "LOCKSTEP_FAULT" : "LOCKSTEP_ERROR";
    return GOOD;
}

API int cuGetErrorString(int error, const char **text)
{
    *text = error == LAUNCH_FAILED ? fault : "see cuda.h";
    return GOOD;
}

API int cuDeviceGetCount(int *count)
{
    *count = 1;
    return GOOD;
}

API int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return GOOD;
}

API int cuDeviceGetName(char *name, int length, int device)
{
    (void)device;
    snprintf(name, (size_t)length, "lockstep");
    return GOOD;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    switch (attribute) {
    case MULTIPROCESSORS: *value = 1; break;
    case MAJOR: *value = capability() / 10; break;
    case MINOR: *value = capability() % 10; break;
    case SHARED_OPTIN: *value = 227 * 1024; break;
    default: *value = 0; break;
    }
    return GOOD;
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return GOOD;
}

API int cuDevicePrimaryCtxRetain(void **to, int device)
{
    (void)device;
    *to = &context;
    return GOOD;
}

API int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return GOOD;
}

API int cuCtxPushCurrent_v2(void *c)
{
    (void)c;
    return GOOD;
}

API int cuCtxPopCurrent_v2(void **c)
{
    *c = &context;
    return GOOD;
}

API int cuCtxSynchronize(void)
{
    return fault[0] ? LAUNCH_FAILED : GOOD;
}

/* --- modules --- */

API int cuModuleUnload(void *module)
{
    struct loaded *l = module;
    arena_free(&l->arena);
    free(l);
    return GOOD;
}

API int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                           void **values)
{
    (void)count, (void)options, (void)values;
    struct loaded *l = calloc(1, sizeof *l);
    if (!l)
        return NO_MEMORY;
    if (setjmp(l->out_of_memory)) {
        cuModuleUnload(l);
        return NO_MEMORY;
    }
    arena_init(&l->arena, &allocator_libc, &l->out_of_memory);
    diag_init(&l->diag, &l->arena);
    size_t length = strlen(image);
    l->source = (struct source){"kernel.ptx", arena_string(&l->arena, image, length), length};
    l->module = ptx_parse(&l->arena, &l->source, &l->diag);
    if (!l->module || !ptx_verify(l->module, &l->diag)) {
        struct text t;
        text_init(&t, &l->arena);
        diag_render(&t, &l->diag, false);
        fprintf(stderr, "%s", t.data);
        cuModuleUnload(l);
        return BAD_PTX;
    }
    *module = l;
    return GOOD;
}

API int cuModuleGetFunction(void **function, void *module, const char *name)
{
    struct loaded *l = module;
    *function = ptx_find_function(l->module, name);
    return *function ? GOOD : NOT_FOUND;
}

API int cuFuncSetAttribute(void *function, int attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    return GOOD;
}

API int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    (void)function, (void)attribute;
    *value = 0;
    return GOOD;
}

/* --- memory --- */

API int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (!arrays[i].data) {
            arrays[i].data = aligned_alloc(256, (bytes + 255) / 256 * 256);
            arrays[i].bytes = bytes;
            *address = (uint64_t)(uintptr_t)arrays[i].data;
            return arrays[i].data ? GOOD : NO_MEMORY;
        }
    return NO_MEMORY;
}

API int cuMemFree_v2(uint64_t address)
{
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if ((uint64_t)(uintptr_t)arrays[i].data == address) {
            free(arrays[i].data);
            arrays[i] = (struct lockstep_array){NULL, 0};
        }
    return GOOD;
}

API int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return GOOD;
}

API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return GOOD;
}

API int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
    (void)stream;
    memset((void *)(uintptr_t)to, value, bytes);
    return GOOD;
}

/* --- launches --- */

static size_t parameter_bytes(const struct ptx_variable *v)
{
    size_t bits = ptx_mods[v->type].bits;
    return bits >= 8 ? bits / 8 : 1;
}

static const char *launch(struct arena *arena, const struct ptx_function *f, const int *grid,
                          const int *block, unsigned shared, void **params, bool together)
{
    struct lockstep s = {
        .arena = arena, .function = f, .shared_bytes = shared, .together = together};
    memcpy(s.grid, grid, sizeof s.grid);
    memcpy(s.block, block, sizeof s.block);
    for (size_t i = 0; i < f->signature.parameters.count; i++)
        memcpy(&s.args[i], params[i], parameter_bytes(f->signature.parameters.data[i]));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i].data)
            s.arrays[s.array_count++] = arrays[i];
    return lockstep_run(&s);
}

static int launch_blocks(void *function, const int *grid, const int *block, unsigned shared,
                         void **params, bool together)
{
    struct arena arena;
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory)) {
        arena_free(&arena);
        return NO_MEMORY;
    }
    arena_init(&arena, &allocator_libc, &out_of_memory);
    const char *why = launch(&arena, function, grid, block, shared, params, together);
    if (why)
        snprintf(fault, sizeof fault, "%s", why);
    arena_free(&arena);
    return why ? LAUNCH_FAILED : GOOD;
}

API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
                       void **extra)
{
    (void)stream, (void)extra;
    const int grid[3] = {(int)gx, (int)gy, (int)gz}, block[3] = {(int)bx, (int)by, (int)bz};
    return launch_blocks(function, grid, block, shared, params, false);
}

API int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                                  unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                  void *stream, void **params)
{
    (void)stream;
    const int grid[3] = {(int)gx, (int)gy, (int)gz}, block[3] = {(int)bx, (int)by, (int)bz};
    return launch_blocks(function, grid, block, shared, params, true);
}

API int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = &context;
    return GOOD;
}

API int cuEventDestroy_v2(void *event)
{
    (void)event;
    return GOOD;
}

API int cuEventRecord(void *event, void *stream)
{
    (void)event, (void)stream;
    return GOOD;
}

API int cuEventSynchronize(void *event)
{
    (void)event;
    return GOOD;
}

API int cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
    (void)from, (void)to;
    *milliseconds = 1;
    return GOOD;
}
