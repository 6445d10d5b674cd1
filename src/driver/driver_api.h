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
/* CUDA_MEMCPY3D */
struct driver_copy_3d {
    size_t from_x, from_y, from_z, from_level;
    int from_kind;
    const void *from_host;
    uint64_t from_device;
    void *from_array, *reserved_from;
    size_t from_pitch, from_height;
    size_t to_x, to_y, to_z, to_level;
    int to_kind;
    void *to_host;
    uint64_t to_device;
    void *to_array, *reserved_to;
    size_t to_pitch, to_height;
    size_t width, height, depth; /* bytes, rows, planes */
};
enum driver_memory_kind {
    DRIVER_MEMORY_HOST = 1,
    DRIVER_MEMORY_DEVICE = 2,
    DRIVER_MEMORY_ARRAY = 3,
    DRIVER_MEMORY_UNIFIED = 4
};

/* CUmemLocation */
struct driver_location {
    int type, id;
};

/* CUlaunchAttribute, CUlaunchConfig */
union driver_launch_value {
    struct {
        void *base;
        size_t bytes;
        float hit_ratio;
        int hit, miss;
    } window;
    unsigned cluster[3];
    int number;
    struct {
        void *event;
        int flags, at_start; /* at_start: of programmatic events alone */
    } event;
    char room[64];
};
struct driver_launch_attribute {
    int id, padding;
    union driver_launch_value value;
};
/* CUlaunchAttributeID: those that change what a launch means; the others are for speed. */
enum driver_launch_id {
    DRIVER_LAUNCH_WINDOW = 1, /* of a stream, too, as are the next three and the priority */
    DRIVER_LAUNCH_COOPERATIVE = 2,
    DRIVER_LAUNCH_SYNCHRONIZATION = 3,
    DRIVER_LAUNCH_CLUSTER = 4,
    DRIVER_LAUNCH_PROGRAMMATIC = 6, /* serialization in a stream */
    DRIVER_LAUNCH_PROGRAMMATIC_EVENT = 7,
    DRIVER_LAUNCH_PRIORITY = 8,
    DRIVER_LAUNCH_DOMAIN_MAP = 9,
    DRIVER_LAUNCH_DOMAIN = 10,
    DRIVER_LAUNCH_COMPLETION_EVENT = 12,
    DRIVER_LAUNCH_UPDATABLE = 13
};
enum { DRIVER_STREAM_ATTRIBUTES = 4 }; /* without the priority */
struct driver_launch_config {
    unsigned grid[3], block[3], shared;
    void *stream;
    const struct driver_launch_attribute *attributes;
    unsigned count;
};

/* CUgraphEdgeData. All zero: the whole node comes after the whole of the other one. */
struct driver_edge {
    unsigned char from_port; /* enum driver_port: when a kernel lets the node begin */
    unsigned char to_port;   /* 0 */
    unsigned char type;      /* 1: the node is a kernel, which waits for the rest itself */
    unsigned char reserved[5];
};
enum driver_port { DRIVER_PORT_DEFAULT, DRIVER_PORT_PROGRAMMATIC, DRIVER_PORT_LAUNCH_ORDER };

/* CUDA_KERNEL_NODE_PARAMS; its first version ends before `kernel`. */
struct driver_kernel_node {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
};

/* CUDA_MEMSET_NODE_PARAMS */
struct driver_fill_node {
    uint64_t to;
    size_t pitch;
    unsigned value, bytes; /* of an element: 1, 2, 4 */
    size_t width, height;  /* elements, rows */
};

/* CUDA_HOST_NODE_PARAMS */
struct driver_host_node {
    void (*function)(void *user);
    void *user;
};

/* CUmemAllocationType, CUmemLocationType */
enum { DRIVER_PINNED_ALLOCATION = 1, DRIVER_ON_DEVICE = 1 };

/* CUmemAllocationProp, CUmemAccessDesc */
struct driver_allocation_properties {
    int type, handles;
    struct driver_location location;
    void *security;
    unsigned char compression, direct;
    unsigned short usage;
    char reserved[4];
};
struct driver_access {
    struct driver_location location;
    int flags;
};

/* CUipcMemHandle, CUipcEventHandle */
struct driver_ipc_handle {
    char data[64];
};

/* CUstreamBatchMemOpParams */
struct driver_value_operation {
    int kind, padding;
    uint64_t address, value;
    unsigned flags, padding_too;
    uint64_t alias, reserved;
};

/* CUmemPoolProps */
struct driver_pool_properties {
    int type, handles, location, device;
    void *security;
    size_t most; /* bytes; 0: no limit */
    unsigned short usage;
    char reserved[54];
};

/* CUDA_MEM_ALLOC_NODE_PARAMS */
struct driver_allocation_node {
    struct driver_pool_properties properties;
    const void *access; /* of other devices */
    size_t access_count, bytes;
    uint64_t address; /* set by the call */
};

/* CUDA_CONDITIONAL_NODE_PARAMS */
struct driver_conditional_node {
    uint64_t handle;
    int type; /* enum driver_branch */
    unsigned size;
    void **bodies; /* set by the call: `size` graphs */
    void *context;
};
enum driver_branch { DRIVER_IF, DRIVER_WHILE, DRIVER_SWITCH }; /* CUgraphConditionalNodeType */

/* CUgraphNodeParams */
struct driver_any_node {
    int kind, reserved[3]; /* CUgraphNodeType */
    union {
        int64_t room[29];
        struct driver_kernel_node kernel;
        struct {
            int flags, reserved;
            void *context;
            struct driver_copy_3d parameters;
        } copy;
        struct driver_fill_node fill;
        struct driver_host_node host;
        struct {
            void *graph;
            int ownership; /* enum driver_ownership */
        } graph;
        struct driver_allocation_node allocation;
        struct driver_conditional_node conditional;
        uint64_t freed;
        void *event;
    } of;
    int64_t reserved_at_end;
};

/* CUgraphChildGraphNodeOwnership */
enum driver_ownership { DRIVER_OWNERSHIP_COPY, DRIVER_OWNERSHIP_MOVE };

/* CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraphExecUpdateResultInfo */
struct driver_instantiate {
    uint64_t flags;
    void *stream, *error_node;
    int result;
};
struct driver_update {
    int result; /* 0: success; 2: other edges; 3: a node of another type */
    void *error_node, *error_from;
};

#define DRIVER_EXPORT __attribute__((visibility("default")))
#define CALL(asked, symbol, since, parameters) DRIVER_EXPORT int symbol parameters;
#include "driver/driver_calls.def"
#undef CALL

#endif
