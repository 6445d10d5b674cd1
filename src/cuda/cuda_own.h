/* Declarations that the files of this folder share. */
#ifndef TW_CUDA_OWN_H
#define TW_CUDA_OWN_H

#include "cuda/cuda_driver.h"
#include "target/targets.h"

enum cuda_kind { CUDA_MEMORY, CUDA_STREAM, CUDA_EVENT, CUDA_WORKSPACE, CUDA_CLEAN };

/* CUfunction_attribute */
enum {
    FUNCTION_SHARED = 1,
    FUNCTION_LOCAL = 3,
    FUNCTION_REGISTERS = 4,
    FUNCTION_MAX_DYNAMIC_SHARED = 8,
    FUNCTION_LARGE_CLUSTERS = 14, /* clusters of more than eight blocks */
};

/* An object of the driver that is freed with the device at the latest. */
struct cuda_object {
    struct cuda_object *next;
    enum cuda_kind kind;
    uint64_t handle; /* address, CUstream, CUevent */
    void *stream;    /* of workspace: whose, */
    size_t bytes;    /* and how large */
};

struct cuda {
    const struct allocator *allocator;
    struct cuda_driver driver;
    struct cuda_device device;
    int handle;    /* of the device */
    void *context; /* the primary context; NULL: not retained yet */
    bool bound;    /* it was made current in a thread */
    bool pushed;   /* during a call: another context was current before */
    bool relaxed;  /* during a call: the thread's capture mode was relaxed; capture_mode is the
                    * one before */
    int capture_mode;
    struct cuda_object *objects;   /* the newest first */
    char assembler[192];           /* identifies the assembler; "": not read yet */
    int clusters[GPU_CLUSTER + 1]; /* by blocks: 1 + the result of cuda_clusters; 0: not asked */
    const struct cuda_module *started; /* the kernel started last; NULL: none, or it is freed */
    int result; /* CUresult of the call's failure; 0: the driver did not cause it */
    int lost;   /* CUresult that made the context unusable; 0: it is usable */
};

struct cuda_module {
    char name[64]; /* name of the kernel, for messages */
    void *module, *function;
    int64_t shared_bytes; /* dynamic shared memory that the function may use so far */
};

/* Makes the device's context current; cuda_leave undoes it. Calls must not be nested. A lost
 * context is refused, except for freeing. */
bool cuda_enter(struct cuda *c, char why[CUDA_WHY]);
bool cuda_enter_to_free(struct cuda *c, char why[CUDA_WHY]);
/* Enters for loading programs and allocating. While any thread captures a stream, the driver
 * would otherwise refuse that and break the capture. */
bool cuda_enter_to_make(struct cuda *c, char why[CUDA_WHY]);
void cuda_leave(struct cuda *c);

/* Returns true if result is 0. Otherwise writes "what: CUDA_ERROR_… (in words): advice". */
bool cuda_good(struct cuda *c, int result, const char *what, char why[CUDA_WHY]);
void cuda_say_more(char why[CUDA_WHY], const char *between, const char *text);
void cuda_say_lost(struct cuda *c, char why[CUDA_WHY]);
/* Adds to the text of cuda_good why the GPU or the driver does not take a program. */
void cuda_say_image(const struct cuda *c, const char *image, char why[CUDA_WHY]);

/* Returns zeroed host memory, or NULL. */
void *cuda_take(const struct cuda *c, size_t size);
void cuda_give(const struct cuda *c, void *memory, size_t size);

/* Frees all remaining objects. In the context. */
void cuda_free_objects(struct cuda *c);

#endif
