/* What the files of this folder share. */
#ifndef TW_CUDA_OWN_H
#define TW_CUDA_OWN_H

#include "cuda/cuda_driver.h"

enum cuda_kind { CUDA_MEMORY, CUDA_STREAM, CUDA_EVENT, CUDA_WORKSPACE };

/* Something of the driver's that is freed with the device at the latest. */
struct cuda_object {
    struct cuda_object *next;
    enum cuda_kind kind;
    uint64_t handle; /* address, CUstream, CUevent */
    void *stream;    /* of workspace: whose, */
    size_t bytes;    /* and how large */
};

/* The linker at work. What it is told stays where it is until it ends. */
struct cuda_linking {
    void *state; /* NULL: it is not */
    int options[2];
    void *values[2];
    char log[CUDA_WHY - 64];
};

struct cuda {
    const struct allocator *allocator;
    struct cuda_driver driver;
    struct cuda_device device;
    int handle;                  /* of the device */
    void *context;               /* the primary one; NULL: not retained yet */
    bool bound;                  /* it was made a thread's current one */
    bool pushed;                 /* during a call: another was current */
    struct cuda_object *objects; /* the newest first */
    struct cuda_linking linking;
    char assembler[192]; /* what tells one driver from another; "": not asked yet */
};

struct cuda_module {
    void *module, *function;
    int64_t shared_bytes; /* dynamic, that the function may use so far */
};

/* Makes the device's context current; leave() what was so before. Not to be nested. */
bool cuda_enter(struct cuda *c, char why[CUDA_WHY]);
void cuda_leave(struct cuda *c);
/* "what: …" for a result that is not 0. */
bool cuda_good(const struct cuda *c, int result, const char *what, char why[CUDA_WHY]);

/* Zeroed memory of the host; NULL: there is none. */
void *cuda_take(const struct cuda *c, size_t size);
void cuda_give(const struct cuda *c, void *memory, size_t size);

/* In the context. */
void cuda_linking_end(struct cuda *c);
/* Frees all that is left. In the context. */
void cuda_free_objects(struct cuda *c);

#endif
