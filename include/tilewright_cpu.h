/* Runs kernels that `tilewright build --target cpu` compiled. The functions are in
 * libtilewright_cpu.a, which has the CPU engine without the compiler (docs/build.md).
 *
 * A generated file calls these functions. A program itself uses tw_cpu_options alone, to pass its
 * threads or to receive what kernels print. */
#ifndef TILEWRIGHT_CPU_H
#define TILEWRIGHT_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TW_CPU_API __attribute__((visibility("default")))
#else
#define TW_CPU_API
#endif

/* How kernels run. Members that are 0 or NULL have the defaults. */
typedef struct tw_cpu_options {
    size_t size; /* sizeof(tw_cpu_options) */
    int threads; /* threads of a launch, with the caller's; 0: one for each core */
    /* Runs task(argument, 0 … tasks-1), each once, in any order and on any threads, and returns
     * when all are done. It is called with at most `threads` tasks. NULL: own threads, which start
     * with the first launch that needs them. */
    void (*parallel)(void *user, int tasks, void (*task)(void *argument, int index),
                     void *argument);
    void *parallel_user;
    /* Gets the text of print() in kernels, on any thread. NULL: it is dropped. */
    void (*print)(void *user, const char *text, size_t length);
    void *print_user;
    /* Asked now and then, on any thread, whether to end a launch. NULL: never. */
    bool (*cancelled)(void *user);
    void *cancelled_user;
} tw_cpu_options;

typedef enum tw_cpu_status {
    TW_CPU_OK = 0,
    TW_CPU_BAD_ARGUMENT = 1, /* sizes or arrays do not fit the kernel */
    TW_CPU_NOT_ASSUMED = 2,  /* an assume() of the kernel does not hold */
    TW_CPU_FAULT = 3,        /* the kernel did what is an error: an access outside, a deadlock */
    TW_CPU_CANCELLED = 4,
    TW_CPU_NO_MEMORY = 5,
    TW_CPU_NO_PROGRAM = 6 /* another version wrote the program, or none is for this processor */
} tw_cpu_status;

/* A kernel for one set of instructions, as generated files have it. */
typedef struct tw_cpu_program {
    const char *set; /* "avx2"; NULL: the end of a list */
    const uint64_t *words;
} tw_cpu_program;

/* A kernel of a generated file. */
typedef struct tw_cpu_kernel {
    const char *version; /* of the compiler */
    const tw_cpu_program *programs;
    void *loaded; /* used by tw_cpu_launch; NULL at first */
} tw_cpu_kernel;

/* A context: threads, and memory that launches leave for later ones. */
typedef struct tw_cpu tw_cpu;

/* Makes a context. options: NULL for the defaults; they are copied. Returns NULL if there is no
 * memory or options->size is too small. */
TW_CPU_API tw_cpu *tw_cpu_new(const tw_cpu_options *options);

/* Frees a context, after its launches have returned. NULL is allowed. */
TW_CPU_API void tw_cpu_free(tw_cpu *cpu);

/* Runs a kernel and returns when it is done. arguments: the address of each parameter's value, in
 * order, without the parameters that are compiled in; the value of an array is its address. The
 * first launch of a kernel loads it. If the status is not TW_CPU_OK, `message` gets at most `room`
 * bytes that say why. Several threads may launch in one context; the threads of the context work
 * for one launch at a time, and other launches then run on their callers' threads. */
TW_CPU_API tw_cpu_status tw_cpu_launch(tw_cpu *cpu, tw_cpu_kernel *kernel, void *const *arguments,
                                       char *message, size_t room);

#ifdef __cplusplus
}
#endif
#endif
