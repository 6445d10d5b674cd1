/* NVIDIA's runtime interface on the driver interface: what libcudart.so.12 and .13 of this project
 * are made of. The same files are compiled once for each version (RUNTIME_VERSION).
 *
 *   runtime_state.c      the state of a thread, errors
 *   runtime_register.c   kernels and variables that compiled programs register
 *   runtime_library.c    libraries of kernels
 *   runtime_launch.c     launches, functions, occupancy
 *   runtime_memory.c     memory
 *   runtime_pool.c       allocations in the order of a stream, and their pools
 *   runtime_copy.c       copies and fills
 *   runtime_stream.c     streams and events
 *   runtime_graph.c, runtime_graph_nodes.c   graphs and captures
 *   runtime_device.c     the device
 *   runtime_threads.c    default streams of threads
 *   runtime_missing.c    what is not supported
 *   runtime_static.c     programs that have NVIDIA's runtime inside */
#ifndef TW_RUNTIME_H
#define TW_RUNTIME_H

#include "driver/driver_api.h"

#include <stdbool.h>

/* dim3 */
struct runtime_dim {
    unsigned x, y, z;
};

/* cudaLaunchConfig_t; its attributes are those of the driver. */
struct runtime_launch_config {
    struct runtime_dim grid, block;
    size_t shared;
    void *stream;
    const struct driver_launch_attribute *attributes;
    unsigned count;
};

/* cudaMemLocation */
struct runtime_location {
    int type, id;
};
enum { LOCATION_DEVICE = 1 };

/* cudaMemcpy3DParms */
struct runtime_pitched {
    void *address;
    size_t pitch, width, height; /* bytes of a row, elements, rows of a plane */
};
/* cudaExtent */
struct runtime_extent {
    size_t size[3];
};
struct runtime_copy_3d {
    void *from_array;
    size_t from_at[3]; /* bytes, rows, planes */
    struct runtime_pitched from;
    void *to_array;
    size_t to_at[3];
    struct runtime_pitched to;
    size_t extent[3]; /* bytes, rows, planes */
    int kind;
};
/* cudaMemcpy3DPeerParms */
struct runtime_copy_3d_peer {
    void *from_array;
    size_t from_at[3];
    struct runtime_pitched from;
    int from_device;
    void *to_array;
    size_t to_at[3];
    struct runtime_pitched to;
    int to_device;
    size_t extent[3];
};
/* cudaGraphNodeParams: as the driver's, except for copies */
struct runtime_any_node {
    int kind, reserved[3];
    union {
        int64_t room[29];
        struct driver_kernel_node kernel;
        struct {
            int flags, reserved[3];
            struct runtime_copy_3d parameters;
        } copy;
    } of;
    int64_t reserved_at_end;
};
/* Translates a copy. Returns DRIVER_SUCCESS or an error. */
int runtime_copy_of(const struct runtime_copy_3d *p, struct driver_copy_3d *out);

/* cudaPointerAttributes */
struct runtime_pointer {
    int type, device; /* type: enum runtime_memory_type */
    void *device_address, *host_address;
    long reserved[8]; /* only in version 13 */
};
enum runtime_memory_type { MEMORY_UNREGISTERED, MEMORY_HOST, MEMORY_DEVICE, MEMORY_MANAGED };

/* cudaFuncAttributes */
struct runtime_function {
    size_t shared, constant, local;
    int threads, registers, ptx_version, binary_version, cache_mode, dynamic_shared, carveout;
};

/* cudaDeviceProp */
struct runtime_properties {
#define FIELD(type, name, count, values) type name[count];
#if RUNTIME_VERSION < 13
#define OF_12 FIELD
#define OF_13(type, name, count, values)
#else
#define OF_12(type, name, count, values)
#define OF_13 FIELD
#endif
#include "runtime/runtime_properties.def"
#undef OF_12
#undef OF_13
#undef FIELD
};

/* cudaChannelFormatDesc: bits of each channel, and cudaChannelFormatKind */
struct runtime_channels {
    int x, y, z, w, kind;
};

/* cudaMemcpyKind */
enum runtime_copy_kind {
    COPY_HOST_TO_HOST,
    COPY_HOST_TO_DEVICE,
    COPY_DEVICE_TO_HOST,
    COPY_DEVICE_TO_DEVICE,
    COPY_BY_ADDRESS
};

#define CALL(symbol, result, parameters) DRIVER_EXPORT result symbol parameters;
#if RUNTIME_VERSION < 13
#define OF_12 CALL
#define OF_13(symbol, result, parameters)
#else
#define OF_12(symbol, result, parameters)
#define OF_13 CALL
#endif
#include "runtime/runtime_calls.def"
#undef OF_12
#undef OF_13
#undef CALL

/* --- calls --- */

/* Each entry point begins with ENTER: it names the call, and opens the device for the thread. If that
 * fails, the call returns its error. */
struct runtime_entered {
    int failed;
};
struct runtime_entered runtime_enter(const char *name);
void runtime_leave(struct runtime_entered *entered);
#define ENTER                                                                                      \
    struct runtime_entered entered __attribute__((cleanup(runtime_leave))) =                       \
        runtime_enter(__func__);                                                                   \
    if (entered.failed)                                                                            \
    return runtime_done(entered.failed)
/* Remembers an error for cudaGetLastError. Returns the code. */
int runtime_done(int result);
/* Defines an entry point that only returns a result of the driver. */
#define ENTRY(name, parameters, result)                                                            \
    int name parameters                                                                            \
    {                                                                                              \
        ENTER;                                                                                     \
        return runtime_done(result);                                                               \
    }
/* Remembers an error of a launch by <<<>>>, which returns none: it is a finding if the program never
 * asks for it. */
int runtime_launched(int result, void *kernel);

/* Reports a fault of the call in progress. */
void runtime_fault(const char *kind, const char *message);
/* Reports a call that is not supported. Returns the error. */
int runtime_missing(const char *name);

/* --- what programs register --- */

/* Returns the driver's function for the address of a kernel's host function, or for the handle of a
 * library's kernel; NULL: *result has the error. */
void *runtime_function_of(const void *host, int *result);
/* Returns the host function of a kernel; NULL: none was registered. */
const void *runtime_host_of(const void *function);
/* Finds a variable by the address of its host variable. Returns DRIVER_SUCCESS or an error. */
int runtime_variable_of(const void *host, uint64_t *address, size_t *bytes);
/* Returns its name in the PTX; "?": none has the address. */
const char *runtime_variable_name(const void *host);

#endif
