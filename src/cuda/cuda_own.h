/* What the files of this folder share. */
#ifndef TW_CUDA_OWN_H
#define TW_CUDA_OWN_H

#include "cuda/cuda_driver.h"

enum cuda_kind { CUDA_MEMORY, CUDA_STREAM, CUDA_EVENT, CUDA_WORKSPACE, CUDA_CLEAN };

/* CUfunction_attribute */
enum {
    FUNCTION_SHARED = 1,
    FUNCTION_LOCAL = 3,
    FUNCTION_REGISTERS = 4,
    FUNCTION_MAX_DYNAMIC_SHARED = 8,
    FUNCTION_LARGE_CLUSTERS = 14, /* of more blocks than every GPU with clusters has */
};

/* Something of the driver's that is freed with the device at the latest. */
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
    void *context; /* the primary one; NULL: not retained yet */
    bool bound;    /* it was made a thread's current one */
    bool pushed;   /* during a call: another was current, */
    bool relaxed;  /* and the thread's capture mode was this: */
    int capture_mode;
    struct cuda_object *objects; /* the newest first */
    char assembler[192];         /* what tells one assembler from another; "": not asked yet */
    const struct cuda_module *started; /* the one started last; NULL: none, or it is gone */
    int result; /* CUresult that the call refuses with; 0: it is not the driver's */
    int lost;   /* CUresult after which the context is of no use; 0: it is */
};

struct cuda_module {
    char name[64]; /* of the kernel, to be told */
    void *module, *function;
    int64_t shared_bytes; /* dynamic, that the function may use so far */
};

/* Makes the device's context current; cuda_leave undoes it. Not to be nested. One that is lost is
 * refused, but for freeing. */
bool cuda_enter(struct cuda *c, char why[CUDA_WHY]);
bool cuda_enter_to_free(struct cuda *c, char why[CUDA_WHY]);
/* To load programs and to allocate. While a stream is captured, by whatever thread, the driver else
 * refuses that, and the capture is lost. */
bool cuda_enter_to_make(struct cuda *c, char why[CUDA_WHY]);
void cuda_leave(struct cuda *c);

/* "what: CUDA_ERROR_… (in words): advice" for a result that is not 0. True when it is 0. */
bool cuda_good(struct cuda *c, int result, const char *what, char why[CUDA_WHY]);
void cuda_say_more(char why[CUDA_WHY], const char *between, const char *text);
void cuda_say_lost(struct cuda *c, char why[CUDA_WHY]);
/* Behind what cuda_good said of a program that is not taken: what of it does not fit here. */
void cuda_say_image(const struct cuda *c, const char *image, char why[CUDA_WHY]);

/* Zeroed memory of the host; NULL: there is none. */
void *cuda_take(const struct cuda *c, size_t size);
void cuda_give(const struct cuda *c, void *memory, size_t size);

/* Frees all that is left. In the context. */
void cuda_free_objects(struct cuda *c);

#endif
