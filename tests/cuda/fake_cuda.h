/* A driver library without a GPU: kernels run on the simulator, from the text that a GPU would get.
 * TILEWRIGHT_CUDA_DRIVER=build/tests/libfake_cuda.so tilewright run FILE --device cuda …
 *
 *   fake_cuda.c    calls: counted, logged, made to fail; devices and contexts
 *   fake_memory.c  memory
 *   fake_stream.c  streams, events, captures, graphs
 *   fake_module.c  modules
 *   fake_launch.c  launches, on the simulator
 *   fake_map.c     tensor maps, as the simulator reads them
 *
 * Work in a stream is done when a call waits for it, not before, so a caller that does not wait
 * notices. The library refuses what the real driver refuses, with its codes: calls without a
 * current context, invalid handles, calls that a capture forbids, every call after a kernel's
 * fault.
 *
 * From the environment:
 *   FAKE_CUDA_DEVICES  number of devices (1); 0: cuInit returns that there is none
 *   FAKE_CUDA_SM       compute capability (80)
 *   FAKE_CUDA_VERSION  of the driver (13000): PTX newer than it is refused
 *   FAKE_CUDA_MEMORY   bytes of a device (2^30)
 *   FAKE_CUDA_L2       bytes of its L2 cache (2^20)
 *   FAKE_CUDA_SEED     of the order of warps and blocks (0: in turn)
 *   FAKE_CUDA_LATE     1: asynchronous copies of kernels land as late as the rules allow
 *   FAKE_CUDA_CHECK    1: races, barriers and memory are watched; a finding makes the launch fail,
 *                      and the report goes to standard error
 *   FAKE_CUDA_IDLE     1: kernels and copies within the device do nothing and take 2 us, so that
 *                      the host's work can be measured
 *   FAKE_CUDA_FAIL     NAME:N:CODE: the N-th call (from 1) of that function fails; NAME *: of any
 *   FAKE_CUDA_TIMES    1,1,50,1: results of cuEventElapsedTime in a process in turn, in ms; the
 *                      last one repeats
 *   FAKE_CUDA_LOG      a file that gets a line for each call, and at the end the number of each */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include "base/arena.h"
#include "base/diag.h"
#include "ptx/ptx.h"
#include "sim/sim.h"

#include <stdio.h>

#define API __attribute__((visibility("default")))

/* CUresult */
enum fake_result {
    GOOD = 0,
    INVALID_VALUE = 1,
    NO_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    INVALID_PTX = 218,
    UNSUPPORTED_PTX = 222,
    INVALID_HANDLE = 400,
    ILLEGAL_STATE = 401,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    OUT_OF_RESOURCES = 701,
    LAUNCH_FAILED = 719,
    COOPERATIVE_TOO_LARGE = 720,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907,
    INVALID_CLUSTER_SIZE = 912
};

enum { FAKE_DEVICES = 8, FAKE_SHARED_BYTES = 227 * 1024, FAKE_MULTIPROCESSORS = 4 };

/* Each entry of the driver begins with one of these. It counts the call, holds the lock until the function returns, and returns the code if the call is to fail.
 *   FAKE          needs nothing
 *   FAKE_CONTEXT  needs a current context whose kernels have not failed
 *   FAKE_UNSAFE   also needs that no stream is being captured, by the modes of the capture and of
 *                 the thread (CUDA Driver API, cuThreadExchangeStreamCaptureMode): else the capture
 *                 becomes invalid
 *   FAKE_RELEASE  frees something: it does so even if it is to fail */
struct fake_entry {
    int held;
};
void fake_leave(struct fake_entry *e);
int fake_enter(struct fake_entry *e, const char *name);
#define FAKE_ENTRY(result)                                                                         \
    struct fake_entry entry __attribute__((cleanup(fake_leave))) = {0};                            \
    int result = fake_enter(&entry, __func__)
#define FAKE                                                                                       \
    FAKE_ENTRY(entered);                                                                           \
    if (entered)                                                                                   \
    return entered
#define FAKE_CONTEXT                                                                               \
    FAKE;                                                                                          \
    if (fake_state())                                                                              \
    return fake_state()
#define FAKE_UNSAFE                                                                                \
    FAKE_CONTEXT;                                                                                  \
    if (fake_capture_forbids())                                                                    \
    return CAPTURE_UNSUPPORTED
#define FAKE_RELEASE FAKE_ENTRY(entered)

/* Returns the state of the current context: INVALID_CONTEXT, or a permanent fault, or GOOD. */
int fake_state(void);
/* Returns true if this call disturbs the capture of a stream; that capture becomes invalid. */
bool fake_capture_forbids(void);

int64_t fake_setting(const char *name, int64_t otherwise);
int fake_capability(void);

/* The head of every object that a caller can hold. A list of all objects finds invalid handles,
 * and counts. */
enum fake_kind {
    FAKE_CONTEXT_KIND,
    FAKE_MODULE,
    FAKE_MEMORY,
    FAKE_STREAM,
    FAKE_EVENT,
    FAKE_GRAPH,
    FAKE_GRAPH_EXEC,
    FAKE_KINDS
};
struct fake_object {
    struct fake_object *next;
    enum fake_kind kind;
    int device; /* the device of its primary context */
};
void *fake_new(enum fake_kind kind, size_t size); /* of the current context; NULL: no memory */
/* handle as that kind; NULL: invalid */
void *fake_object(const void *handle, enum fake_kind kind);
struct fake_object *fake_next(const struct fake_object *after, enum fake_kind kind);
void fake_remove(void *object); /* from the list */
void fake_delete(void *object); /* with its memory; the caller first frees its content */
int fake_current_device(void);  /* -1: no context is current */

/* --- memory --- */

struct fake_memory {
    struct fake_object object;
    uint64_t address;
    size_t bytes;
};
/* Returns the bytes at that address of the current device; NULL: not in its memory. */
void *fake_bytes(uint64_t address, size_t bytes);
void fake_memory_free(struct fake_memory *m);

/* --- work --- */

enum fake_work_kind { WORK_LAUNCH, WORK_FILL, WORK_COPY_IN, WORK_COPY_OUT, WORK_COPY, WORK_RECORD };

struct fake_kernel;
struct fake_work {
    struct fake_work *next;
    enum fake_work_kind kind;
    /* WORK_LAUNCH */
    const struct fake_kernel *kernel;
    struct sim_launch launch;
    void **arguments; /* copies */
    /* WORK_FILL, WORK_COPY_IN (from `data`, a copy), WORK_COPY_OUT, WORK_COPY (from `source`) */
    uint64_t address, source;
    size_t bytes;
    unsigned char value;
    void *data;
    /* WORK_RECORD */
    struct fake_event *event;
};
struct fake_work *fake_work_new(enum fake_work_kind kind); /* NULL: no memory */
void fake_work_free(struct fake_work *w);
void *fake_copy(const void *data, size_t bytes); /* for free(); NULL: no memory */
/* Copies the arguments of the launch; false: no memory. */
bool fake_take_arguments(struct fake_work *w, void *const *from);
/* Adds work at the end of the stream, or to its capture. Takes ownership of the work. */
int fake_enqueue(void *stream, struct fake_work *w);
/* Does all work in the queues of the current device. Returns a fault that a kernel caused. */
int fake_drain(void);

struct fake_event {
    struct fake_object object;
    bool recorded, done;
    double at; /* microseconds of the device */
};

/* Returns the time that the device's work has taken so far. Deterministic. */
double fake_clock(void);
void fake_clock_add(double microseconds);
void fake_fault(int result, const char *why); /* makes a fault permanent in the current context */

/* --- modules, launches --- */

struct fake_module {
    struct fake_object object;
    struct arena arena;
    jmp_buf out_of_memory;
    struct source source;
    struct diag diag;
    struct ptx_module *module;
};
/* The object of a function handle. */
struct fake_kernel {
    struct fake_module *from;
    const struct ptx_function *function;
    int dynamic_shared; /* allowed */
    int large_clusters; /* 1: so */
};
void fake_module_free(struct fake_module *m);
void fake_stream_free(void *stream);
void fake_default_clear(int device); /* the work in its default stream */
void fake_graph_free(void *graph);

/* Runs it on the current device's simulator; returns GOOD, or the fault, which becomes
 * permanent. */
int fake_run(const struct fake_work *w);
struct sim *fake_machine(void);                       /* of the current device */
void fake_forget_module(const struct fake_module *m); /* it goes */

#endif
