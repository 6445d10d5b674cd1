/* The device: one GPU of target/gpus.def. */
#include "driver/driver.h"

#include "target/gpus.h"

#include <limits.h>
#include <string.h>

static bool is_device(int device)
{
    return device == 0;
}

uint64_t driver_total_memory(void)
{
    return (uint64_t)driver.settings.gpu->memory_gb * 1000 * 1000 * 1000;
}

static int attribute_of(int attribute, int *value)
{
    const struct gpu *g = driver.settings.gpu;
    const struct target *t = target_of_gpu(g);
    switch (attribute) {
#define ATTRIBUTE(number, is)                                                                      \
    case number:                                                                                   \
        *value = is;                                                                               \
        break;
#include "driver/driver_attributes.def"
#undef ATTRIBUTE
    default: *value = 0; break;
    }
    return attribute > 0 ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
}

int cuDriverGetVersion(int *version)
{
    ENTER;
    if (!version)
        return DRIVER_INVALID_VALUE;
    *version = DRIVER_VERSION;
    return DRIVER_SUCCESS;
}

/* The calls that follow need cuInit, and most of them a device. */
#define WITH_DEVICE(device, result)                                                                \
    ENTER;                                                                                         \
    if (!driver_is_ready())                                                                        \
        return DRIVER_NOT_INITIALIZED;                                                             \
    if (!is_device(device))                                                                        \
        return DRIVER_INVALID_DEVICE;                                                              \
    if (!(result))                                                                                 \
    return DRIVER_INVALID_VALUE

int cuDeviceGet(int *device, int ordinal)
{
    WITH_DEVICE(ordinal, device);
    *device = ordinal;
    return DRIVER_SUCCESS;
}

int cuDeviceGetCount(int *count)
{
    WITH_DEVICE(0, count);
    *count = 1;
    return DRIVER_SUCCESS;
}

int cuDeviceGetName(char *name, int length, int device)
{
    WITH_DEVICE(device, name && length > 0);
    snprintf(name, (size_t)length, "%s (simulated)", driver.settings.gpu->name);
    return DRIVER_SUCCESS;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    WITH_DEVICE(device, uuid);
    memcpy(uuid, "tilewright\0\0\0\0\0", 16);
    return DRIVER_SUCCESS;
}

int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    WITH_DEVICE(device, bytes);
    *bytes = (size_t)driver_total_memory();
    return DRIVER_SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    WITH_DEVICE(device, value);
    return attribute_of(attribute, value);
}

int cuDeviceComputeCapability(int *major, int *minor, int device)
{
    WITH_DEVICE(device, major && minor);
    *major = driver.settings.gpu->capability / 10;
    *minor = driver.settings.gpu->capability % 10;
    return DRIVER_SUCCESS;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
    WITH_DEVICE(device, can);
    *can = 0;
    return is_device(peer) ? DRIVER_SUCCESS : DRIVER_INVALID_DEVICE;
}

static const char bus_id[] = "0000:01:00.0";

int cuDeviceGetPCIBusId(char *id, int length, int device)
{
    WITH_DEVICE(device, id && length > 0);
    snprintf(id, (size_t)length, "%s", bus_id);
    return DRIVER_SUCCESS;
}

int cuDeviceGetByPCIBusId(int *device, const char *id)
{
    WITH_DEVICE(0, device && id);
    *device = 0;
    return strcmp(id, bus_id) == 0 ? DRIVER_SUCCESS : DRIVER_INVALID_DEVICE;
}
