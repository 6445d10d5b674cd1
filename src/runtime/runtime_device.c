/* The device. */
#include "runtime/runtime.h"

#include <string.h>

ENTRY(cudaGetDeviceCount, (int *count), cuDeviceGetCount(count))
ENTRY(cudaGetDevice, (int *device), cuCtxGetDevice(device))

int cudaSetDevice(int device)
{
    ENTER;
    int found;
    return runtime_done(cuDeviceGet(&found, device));
}

/* There is one device, so it is the best. */
ENTRY(cudaChooseDevice, (int *device, const struct runtime_properties *wanted),
      wanted ? cuCtxGetDevice(device) : DRIVER_INVALID_VALUE)
ENTRY(cudaCtxResetPersistingL2Cache, (void), cuCtxResetPersistingL2Cache())

int cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    return cudaSetDevice(device);
}

int cudaSetValidDevices(int *devices, int count)
{
    ENTER;
    int found;
    for (int i = 0; devices && i < count; i++)
        if (cuDeviceGet(&found, devices[i]) != DRIVER_SUCCESS)
            return runtime_done(DRIVER_INVALID_DEVICE);
    return DRIVER_SUCCESS;
}

ENTRY(cudaGetDeviceFlags, (unsigned *flags), cuCtxGetFlags(flags))
ENTRY(cudaSetDeviceFlags, (unsigned flags), cuDevicePrimaryCtxSetFlags_v2(0, flags))
ENTRY(cudaDeviceGetAttribute, (int *value, int attribute, int device),
      cuDeviceGetAttribute(value, attribute, device))

/* Fills a field with attributes of the device. */
#define NONE 0
static void fill_int(int *field, size_t count, int attribute, int device)
{
    for (size_t i = 0; attribute && i < count; i++)
        cuDeviceGetAttribute(&field[i], attribute, device);
}

static void fill_unsigned(unsigned *field, size_t count, int attribute, int device)
{
    int value = 0;
    for (size_t i = 0; attribute && i < count; i++) {
        cuDeviceGetAttribute(&value, attribute, device);
        field[i] = (unsigned)value;
    }
}

static void fill_size_t(size_t *field, size_t count, int attribute, int device)
{
    int value = 0;
    for (size_t i = 0; attribute && i < count; i++) {
        cuDeviceGetAttribute(&value, attribute, device);
        field[i] = (size_t)value;
    }
}

static void fill_char(char *field, size_t count, int attribute, int device)
{
    (void)field, (void)count, (void)attribute, (void)device;
}

int cudaGetDeviceProperties(struct runtime_properties *p, int device)
{
    ENTER;
    int found;
    if (!p || cuDeviceGet(&found, device) != DRIVER_SUCCESS)
        return runtime_done(p ? DRIVER_INVALID_DEVICE : DRIVER_INVALID_VALUE);
    memset(p, 0, sizeof *p);
#define FIELD(type, name, count, attribute) fill_##type(p->name, count, attribute, device);
#if RUNTIME_VERSION < 13
#define OF_12 FIELD
#define OF_13(type, name, count, attribute)
#else
#define OF_12(type, name, count, attribute)
#define OF_13 FIELD
#endif
#include "runtime/runtime_properties.def"
#undef OF_12
#undef OF_13
#undef FIELD
    cuDeviceGetName(p->name, sizeof p->name, device);
    cuDeviceGetUuid_v2((unsigned char *)p->uuid, device);
    cuDeviceTotalMem_v2(p->total_memory, device);
    return DRIVER_SUCCESS;
}

#if RUNTIME_VERSION < 13
int cudaGetDeviceProperties_v2(struct runtime_properties *p, int device)
{
    return cudaGetDeviceProperties(p, device);
}

int cudaThreadSynchronize(void)
{
    return cudaDeviceSynchronize();
}

int cudaThreadExit(void)
{
    return cudaDeviceReset();
}
#endif

ENTRY(cudaDeviceGetPCIBusId, (char *id, int length, int device),
      cuDeviceGetPCIBusId(id, length, device))
ENTRY(cudaDeviceGetByPCIBusId, (int *device, const char *id), cuDeviceGetByPCIBusId(device, id))
ENTRY(cudaDeviceCanAccessPeer, (int *can, int device, int peer),
      cuDeviceCanAccessPeer(can, device, peer))
ENTRY(cudaDeviceGetP2PAttribute, (int *value, int attribute, int from, int to),
      cuDeviceGetP2PAttribute(value, attribute, from, to))

int cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    ENTER;
    (void)flags;
    return runtime_done(peer ? DRIVER_INVALID_DEVICE : DRIVER_PEER_UNSUPPORTED);
}

ENTRY(cudaDeviceDisablePeerAccess, (int peer),
      peer ? DRIVER_INVALID_DEVICE : DRIVER_PEER_NOT_ENABLED)
ENTRY(cudaDeviceSynchronize, (void), cuCtxSynchronize())
ENTRY(cudaDeviceReset, (void), cuDevicePrimaryCtxReset_v2(0))
ENTRY(cudaDeviceGetLimit, (size_t * value, int limit), cuCtxGetLimit(value, limit))
ENTRY(cudaDeviceSetLimit, (int limit, size_t value), cuCtxSetLimit(limit, value))

/* Preferences between L1 and shared memory, and widths of banks, change nothing here. */
static int get_zero(int *value)
{
    if (!value)
        return runtime_done(DRIVER_INVALID_VALUE);
    *value = 0;
    return DRIVER_SUCCESS;
}

int cudaDeviceGetCacheConfig(int *config)
{
    ENTER;
    return get_zero(config);
}

ENTRY(cudaDeviceSetCacheConfig, (int config), cuCtxSetCacheConfig(config))

int cudaDeviceGetSharedMemConfig(int *config)
{
    ENTER;
    return get_zero(config);
}

ENTRY(cudaDeviceSetSharedMemConfig, (int config),
      config >= 0 && config <= 2 ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE)
ENTRY(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
      cuCtxGetStreamPriorityRange(least, greatest))
