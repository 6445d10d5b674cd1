/* Contexts: the device's primary one, and those that programs create. All share the device's
 * memory, which the driver never takes away. */
#include "driver/driver.h"

#include <stddef.h>

enum { STACK = 32 };

struct context {
    unsigned flags;
    int retained; /* of the primary context */
};

static struct context *primary;
static int failed; /* the permanent error */
static _Thread_local struct context *current[STACK + 1];
static _Thread_local int depth;

/* Sizes that programs set and read (CUlimit). Only the size of the heap has an effect here. */
enum { LIMITS = 16, LIMIT_STACK = 0, LIMIT_PRINTF = 1, LIMIT_HEAP = 2 };
static size_t limits[LIMITS] = {
    [LIMIT_STACK] = 1024, [LIMIT_PRINTF] = 1 << 20, [LIMIT_HEAP] = 8 << 20};

int driver_state(void)
{
    if (!driver_is_ready())
        return DRIVER_NOT_INITIALIZED;
    return driver_object(current[depth], DRIVER_CONTEXT) ? failed : DRIVER_INVALID_CONTEXT;
}

void driver_fail(int result)
{
    failed = result;
}

static struct context *the_primary(void)
{
    if (!primary)
        primary = driver_new(DRIVER_CONTEXT, sizeof *primary);
    return primary;
}

#define WITH_DEVICE(device)                                                                        \
    ENTER;                                                                                         \
    if (!driver_is_ready())                                                                        \
        return DRIVER_NOT_INITIALIZED;                                                             \
    if ((device) != 0)                                                                             \
    return DRIVER_INVALID_DEVICE

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    WITH_DEVICE(device);
    if (!context)
        return DRIVER_INVALID_VALUE;
    struct context *c = the_primary();
    if (!c)
        return DRIVER_OUT_OF_MEMORY;
    c->retained++;
    *context = c;
    return DRIVER_SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    WITH_DEVICE(device);
    if (!primary || !primary->retained)
        return DRIVER_INVALID_CONTEXT;
    primary->retained--;
    return DRIVER_SUCCESS;
}

int cuDevicePrimaryCtxReset_v2(int device)
{
    WITH_DEVICE(device);
    failed = DRIVER_SUCCESS;
    return DRIVER_SUCCESS;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    WITH_DEVICE(device);
    if (!flags || !active)
        return DRIVER_INVALID_VALUE;
    *flags = primary ? primary->flags : 0;
    *active = primary && primary->retained;
    return DRIVER_SUCCESS;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    WITH_DEVICE(device);
    struct context *c = the_primary();
    if (!c)
        return DRIVER_OUT_OF_MEMORY;
    c->flags = flags;
    return DRIVER_SUCCESS;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    WITH_DEVICE(device);
    if (!context || depth == STACK)
        return DRIVER_INVALID_VALUE;
    struct context *c = driver_new(DRIVER_CONTEXT, sizeof *c);
    if (!c)
        return DRIVER_OUT_OF_MEMORY;
    c->flags = flags;
    *context = current[++depth] = c;
    return DRIVER_SUCCESS;
}

/* CUctxCreateParams: parts of the GPU, or graphics, that the context is for. Without either it is an
 * ordinary context. */
struct context_parameters {
    const void *affinity;
    int affinity_count;
    const void *graphics;
};

int cuCtxCreate_v4(void **context, const void *parameters, unsigned flags, int device)
{
    const struct context_parameters *p = parameters;
    ENTER;
    if (p && (p->affinity_count || p->graphics))
        return driver_unsupported("a context for a part of the GPU or for graphics "
                                  "(CUctxCreateParams) is not supported: use the device's whole "
                                  "context, cuCtxCreate(&context, NULL, 0, device)");
    return cuCtxCreate_v2(context, flags, device);
}

int cuCtxDestroy_v2(void *context)
{
    ENTER;
    struct context *c = driver_object(context, DRIVER_CONTEXT);
    if (!c || c == primary)
        return DRIVER_INVALID_CONTEXT;
    if (current[depth] == c && depth)
        depth--;
    driver_delete(c);
    return DRIVER_SUCCESS;
}

int cuCtxGetCurrent(void **context)
{
    ENTER;
    if (!driver_is_ready() || !context)
        return context ? DRIVER_NOT_INITIALIZED : DRIVER_INVALID_VALUE;
    *context = driver_object(current[depth], DRIVER_CONTEXT);
    return DRIVER_SUCCESS;
}

int cuCtxSetCurrent(void *context)
{
    ENTER;
    if (!driver_is_ready())
        return DRIVER_NOT_INITIALIZED;
    if (context && !driver_object(context, DRIVER_CONTEXT))
        return DRIVER_INVALID_CONTEXT;
    if (!depth)
        depth = 1;
    current[depth] = context;
    return DRIVER_SUCCESS;
}

int cuCtxPushCurrent_v2(void *context)
{
    ENTER;
    if (!driver_object(context, DRIVER_CONTEXT))
        return DRIVER_INVALID_CONTEXT;
    if (depth == STACK)
        return DRIVER_INVALID_VALUE;
    current[++depth] = context;
    return DRIVER_SUCCESS;
}

int cuCtxPopCurrent_v2(void **context)
{
    ENTER;
    if (!depth || !current[depth])
        return DRIVER_INVALID_CONTEXT;
    if (context)
        *context = current[depth];
    depth--;
    return DRIVER_SUCCESS;
}

int cuCtxGetDevice(int *device)
{
    IN_CONTEXT;
    if (!device)
        return DRIVER_INVALID_VALUE;
    *device = 0;
    return DRIVER_SUCCESS;
}

int cuCtxGetApiVersion(void *context, unsigned *version)
{
    ENTER;
    if (!version || (context && !driver_object(context, DRIVER_CONTEXT)))
        return version ? DRIVER_INVALID_CONTEXT : DRIVER_INVALID_VALUE;
    *version = 3020;
    return DRIVER_SUCCESS;
}

int cuCtxGetFlags(unsigned *flags)
{
    IN_CONTEXT;
    if (!flags)
        return DRIVER_INVALID_VALUE;
    *flags = current[depth]->flags;
    return DRIVER_SUCCESS;
}

uint64_t driver_heap_bytes(void)
{
    return limits[LIMIT_HEAP];
}

int cuCtxGetLimit(size_t *value, int limit)
{
    IN_CONTEXT;
    if (!value || limit < 0 || limit >= LIMITS)
        return DRIVER_INVALID_VALUE;
    *value = limits[limit];
    return DRIVER_SUCCESS;
}

int cuCtxSetLimit(int limit, size_t value)
{
    IN_CONTEXT;
    if (limit < 0 || limit >= LIMITS)
        return DRIVER_INVALID_VALUE;
    limits[limit] = value;
    return DRIVER_SUCCESS;
}

CONTEXT_ENTRY(cuCtxSetCacheConfig, (int config),
              config >= 0 && config <= 3 ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE)

/* Preferences of caches and banks: the simulator has neither, so the usual one is always in force. */
int cuCtxGetCacheConfig(int *config)
{
    IN_CONTEXT;
    if (!config)
        return DRIVER_INVALID_VALUE;
    *config = 0;
    return DRIVER_SUCCESS;
}

int cuCtxGetSharedMemConfig(int *config)
{
    IN_CONTEXT;
    if (!config)
        return DRIVER_INVALID_VALUE;
    *config = DRIVER_BANKS_OF_4_BYTES;
    return DRIVER_SUCCESS;
}

CONTEXT_ENTRY(cuCtxSetSharedMemConfig, (int config),
              config >= 0 && config <= DRIVER_MOST_BANKS ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE)

int cuCtxGetId(void *context, uint64_t *id)
{
    IN_CONTEXT;
    void *of = context;
    int result = context ? DRIVER_SUCCESS : cuCtxGetCurrent(&of);
    if (result != DRIVER_SUCCESS || !id || !driver_object(of, DRIVER_CONTEXT))
        return id ? DRIVER_INVALID_CONTEXT : DRIVER_INVALID_VALUE;
    *id = (uintptr_t)of;
    return DRIVER_SUCCESS;
}

/* There is one device, and the call is about two. */
int cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to)
{
    ENTER;
    (void)attribute, (void)from, (void)to;
    return value ? DRIVER_INVALID_DEVICE : DRIVER_INVALID_VALUE;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    IN_CONTEXT;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return DRIVER_SUCCESS;
}

int cuCtxEnablePeerAccess(void *context, unsigned flags)
{
    IN_CONTEXT;
    if (flags || !driver_object(context, DRIVER_CONTEXT))
        return DRIVER_INVALID_VALUE;
    return DRIVER_PEER_UNSUPPORTED;
}

CONTEXT_ENTRY(cuCtxDisablePeerAccess, (void *context),
              driver_object(context, DRIVER_CONTEXT) ? DRIVER_PEER_NOT_ENABLED
                                                     : DRIVER_INVALID_CONTEXT)

/* --- profilers, which have nothing to do here --- */

CONTEXT_ENTRY(cuProfilerStart, (void), DRIVER_SUCCESS)
CONTEXT_ENTRY(cuProfilerStop, (void), DRIVER_SUCCESS)
