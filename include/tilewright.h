/* Tilewright: tile kernels, compiled and run.
 *
 *     tw_context *ctx;
 *     tw_module *mod;
 *     tw_launch *l;
 *     tw_context_new(NULL, &ctx);
 *     if (tw_module_from_file(ctx, "kernels/matmul/shared.tile", &mod) != TW_OK)
 *         puts(tw_context_messages(ctx));
 *     tw_launch_new(tw_module_kernel(mod, "matmul_v1"), &l);
 *     tw_launch_array(l, "a", &a);   // b and c too; sizes are inferred from them
 *     tw_launch_run(l);
 *
 * Sections: 1 status and types, 2 contexts and messages, 3 modules and kernels, 4 launches,
 * 5 verification. Further parts of the library have headers of their own:
 *
 *   tilewright_entry.h    kernels started from any number of threads at once
 *   tilewright_gpu.h      memory and streams of a GPU, launches that do not wait, DLPack
 *   tilewright_build.h    kernels compiled ahead of time and shipped as C
 *   tilewright_sim.h      simulation: PTX on the host, checked and counted
 *   tilewright_look.h     the typed program after each pass, layouts
 *   tilewright_tuning.h   estimates, expected values, the store of results
 *   tilewright_model.h    why a kernel is as fast as it is
 *
 * Threads: a context and all that was made from it belong to one thread at a time; different
 * contexts are independent, so that threads compile and launch at the same time with one each.
 * Entries (tilewright_entry.h) are started from any thread. Callbacks must not call into the context that
 * calls them. Nothing is global.
 * Stack: a thread that calls the library needs 256 KiB of stack, whatever programs it gives it. A
 * context has a stack of its own for its calls. What is nested too deeply for that is a compile
 * error. Builds with sanitizers need more.
 * Ownership: who makes an object frees it; freeing a context frees everything made from it. Strings
 * returned are valid until the object they came from is freed, or as said.
 */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. docs/versions.md says which changes each part of it allows. */
#define TW_VERSION_MAJOR 1
#define TW_VERSION_MINOR 0
#define TW_VERSION_PATCH 0
#define TW_VERSION "1.0.0"
/* 10000 for 1.0.0: 10000 * major + 100 * minor + patch. */
#define TW_VERSION_NUMBER (TW_VERSION_MAJOR * 10000 + TW_VERSION_MINOR * 100 + TW_VERSION_PATCH)

/* Marks a function of the library. On Windows a program that links to the static library defines
 * TW_STATIC; the library itself is compiled with TW_BUILDING. */
#if defined(_WIN32) && !defined(TW_STATIC)
#if defined(TW_BUILDING)
#define TW_API __declspec(dllexport)
#else
#define TW_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

/* Structs that you make, or give to be filled, begin with `size`: the bytes that your program knows of
 * them. tw_NAME_init() returns one with `size` set and all else 0, which are the defaults:
 *
 *     tw_config config = tw_config_init();
 *     config.threads = 4;
 *
 * In C, {.size = sizeof config, .threads = 4} is the same. The library never reads or writes past
 * `size`, so a program and a library of different versions understand each other:
 *
 *   size smaller than the library's   fields past it count as 0, and are not filled
 *   size larger, for a struct it reads    TW_UNSUPPORTED if a byte past its own is not 0
 *   size larger, for a struct it fills    fields past its own keep what they hold
 *   size less than 8, or above 65536   TW_BAD_ARGUMENT, or false from a function that returns bool:
 *                                     the struct was not made by its tw_NAME_init()
 *
 * Structs of the library's own have no size: you read them through const pointers, and arrays of them
 * are arrays of pointers. tw_value and arrays of numbers never change. */
#ifdef __cplusplus
#define TW_SIZED(type)                                                                             \
    static inline type type##_init(void)                                                           \
    {                                                                                              \
        type made = type();                                                                        \
        made.size = sizeof made;                                                                   \
        return made;                                                                               \
    }                                                                                              \
    struct type
#else
#define TW_SIZED(type)                                                                             \
    static inline type type##_init(void)                                                           \
    {                                                                                              \
        return (type){.size = sizeof(type)};                                                       \
    }                                                                                              \
    struct type
#endif

/* --- 1. Status and types --- */

/* Every status, its text. Values are stable. */
#define TW_STATUS_LIST(X)                                                                          \
    X(TW_OK, 0, "success")                                                                         \
    X(TW_NO_MEMORY, 1, "out of memory")                                                            \
    X(TW_BAD_ARGUMENT, 2, "bad argument")                                                          \
    X(TW_BAD_PROGRAM, 3, "the program does not compile")                                           \
    X(TW_NO_FILE, 4, "the file cannot be read or written")                                         \
    X(TW_FAULT, 5, "the kernel did something it must not (bounds, deadlock, …)")                   \
    X(TW_WRONG_VALUES, 6, "the values are not what `ensures` says")                                \
    X(TW_NOT_FOUND, 7, "no such name")                                                             \
    X(TW_UNSUPPORTED, 8, "not supported here")                                                     \
    X(TW_CANCELLED, 9, "cancelled by the caller")                                                  \
    X(TW_UNSYNCHRONISED, 10, "the program compiles, but accesses to shared memory race")           \
    X(TW_NOT_ASSUMED, 11, "an assume() of the kernel does not hold for these values")

typedef enum tw_status {
#define TW_STATUS_ENUM(name, value, text) name = value,
    TW_STATUS_LIST(TW_STATUS_ENUM)
#undef TW_STATUS_ENUM
} tw_status;

TW_API const char *tw_status_name(tw_status s); /* "TW_BAD_ARGUMENT" */
TW_API const char *tw_status_text(tw_status s); /* "bad argument" */
/* The library's version as text and as a number: "1.0.0", 10000. A program compares the number with
 * TW_VERSION_NUMBER, the version that it was compiled for. */
TW_API const char *tw_version(void);
TW_API int tw_version_number(void);

/* Makes text that came from a file fit for a terminal: control characters of ASCII and C1, marks that
 * turn the direction of text, separators of lines and broken UTF-8 are spelled out (\x1b, \u202e); all
 * else stays. TW_SHOWN_LINES keeps tab and newline. TW_SHOWN_JSON gives what stands between the quotes of
 * a string of JSON. Writes up to `room` bytes, the last of them 0, and returns the length of the whole as
 * snprintf does; `out` may be NULL where `room` is 0. Messages, reports and JSON of this library have
 * passed through it. */
typedef enum tw_shown { TW_SHOWN_LINE, TW_SHOWN_LINES, TW_SHOWN_JSON } tw_shown;
TW_API size_t tw_text_shown(const char *text, size_t length, tw_shown how, char *out, size_t room);

/* Element types. */
/* clang-format off */
typedef enum tw_dtype {
    TW_F64, TW_F32, TW_TF32, TW_F16, TW_BF16, TW_E4M3, TW_E5M2,
    TW_I64, TW_I32, TW_I16, TW_I8, TW_U64, TW_U32, TW_U16, TW_U8, TW_BOOL,
    TW_DTYPE_COUNT,
    TW_DTYPE_NONE = -1
} tw_dtype;
/* clang-format on */

TW_API const char *tw_dtype_name(tw_dtype t);         /* "f16" */
TW_API size_t tw_dtype_size(tw_dtype t);              /* bytes */
TW_API tw_dtype tw_dtype_from_name(const char *name); /* TW_DTYPE_NONE if there is none */
TW_API const char *tw_dtype_numpy(tw_dtype t);        /* "f2"; "" where NumPy has none (bf16) */
/* One element as double and back (round to nearest even; integers saturate). */
TW_API double tw_dtype_load(tw_dtype t, const void *element);
TW_API void tw_dtype_store(tw_dtype t, void *element, double value);

enum { TW_MAX_RANK = 6 };

/* Where an array is. On the device: `data` is an address of the context's GPU (a CUdeviceptr, what
 * tw_device_allocate or cudaMalloc gives). */
typedef enum tw_place { TW_ON_HOST, TW_ON_DEVICE } tw_place;

/* An array: row-major, contiguous, the caller's. A launch uses it in place; the memory must stay until
 * the launch's last run has ended. tw_host_array and tw_device_array make one. */
typedef struct tw_array {
    size_t size; /* tw_array_init sets it */
    void *data;
    tw_dtype dtype;
    tw_place place;
    int rank;                   /* axes: 1 to TW_MAX_RANK */
    int64_t shape[TW_MAX_RANK]; /* elements along each axis */
    size_t bytes; /* that `data` has; a shape that needs more is refused. 0: not told */
} tw_array;
TW_SIZED(tw_array);

/* Returns an address without `const`, for tw_array.data. A launch writes only to arrays that its kernel
 * writes. */
static inline void *tw_address(const void *address)
{
#ifdef __cplusplus
    return const_cast<void *>(address);
#else
    return (void *)(uintptr_t)address;
#endif
}

/* Make an array on the host or on the device from its address, its element type and its extents, whose
 * number is the rank:
 *
 *     tw_array a = tw_host_array(data, TW_F32, rows, columns);
 *     tw_launch_array(l, "b", &tw_host_array(other, TW_F32, columns)); // in C
 */
#ifndef __cplusplus
#define tw_host_array(address, type, ...) TW_ARRAY(TW_ON_HOST, address, type, __VA_ARGS__)
#define tw_device_array(address, type, ...) TW_ARRAY(TW_ON_DEVICE, address, type, __VA_ARGS__)
#define TW_ARRAY(where, address, type, ...)                                                        \
    ((tw_array){.size = sizeof(tw_array),                                                          \
                .data = tw_address(address),                                                       \
                .dtype = (type),                                                                   \
                .place = (where),                                                                  \
                .rank = (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),           \
                .shape = {__VA_ARGS__}})
#else
extern "C++" {
template <typename... Extents>
inline tw_array tw_array_of(tw_place place, const void *address, tw_dtype type, Extents... extents)
{
    static_assert(sizeof...(extents) <= TW_MAX_RANK, "an array has at most TW_MAX_RANK axes");
    const int64_t shape[] = {static_cast<int64_t>(extents)...};
    tw_array a = tw_array_init();
    a.data = tw_address(address);
    a.dtype = type;
    a.place = place;
    for (int64_t extent : shape)
        a.shape[a.rank++] = extent;
    return a;
}

template <typename... Extents>
inline tw_array tw_host_array(const void *address, tw_dtype type, Extents... extents)
{
    return tw_array_of(TW_ON_HOST, address, type, extents...);
}

template <typename... Extents>
inline tw_array tw_device_array(const void *address, tw_dtype type, Extents... extents)
{
    return tw_array_of(TW_ON_DEVICE, address, type, extents...);
}
}
#endif

/* A value that a kernel is given or that the library returns: a scalar parameter, a tuned value, an
 * argument of an entry. tw_int, tw_float and tw_pointer make one. A value of another kind than its
 * place needs is refused, and so is one of kind 0. These 16 bytes never change. */
typedef enum tw_value_kind { TW_INTEGER = 1, TW_FLOAT, TW_POINTER } tw_value_kind;
typedef struct tw_value {
    tw_value_kind kind;
    union {
        int64_t i;     /* TW_INTEGER: integers and bool; a u64 by its bits */
        double f;      /* TW_FLOAT: rounded to the parameter's type */
        void *pointer; /* TW_POINTER: an address where the kernel runs; entries alone take it */
    };
} tw_value;

/* Makes a value for an integer or a bool. */
static inline tw_value tw_int(int64_t i)
{
    tw_value v;
    v.kind = TW_INTEGER;
    v.i = i;
    return v;
}

/* Makes a value for a float of any width. */
static inline tw_value tw_float(double f)
{
    tw_value v;
    v.kind = TW_FLOAT;
    v.f = f;
    return v;
}

/* Makes a value for an array: its address, on the host or on the device. */
static inline tw_value tw_pointer(const void *address)
{
    tw_value v;
    v.kind = TW_POINTER;
    v.pointer = tw_address(address);
    return v;
}

/* --- 2. Contexts and messages --- */

typedef struct tw_context tw_context;
typedef struct tw_module tw_module;
typedef struct tw_kernel tw_kernel;
typedef struct tw_launch tw_launch;

typedef struct tw_config {
    size_t size; /* tw_config_init sets it */
    /* As realloc with sizes; NULL: libc. ptr NULL: allocate, 16-byte aligned; size 0: free. NULL
     * result: failure. */
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t size);
    void *resize_user;
    /* Of the CPU engine, with the caller's; 0: one a core; less is TW_BAD_ARGUMENT. Launches leave
     * memory of theirs, up to 256 MiB, with the context for later ones. */
    int threads;
    /* What print() of kernels says; NULL: dropped. */
    void (*print)(void *user, const char *text, size_t length);
    void *print_user;
    bool colour; /* ANSI colours in messages */
    /* Asked now and then in every call that may take long: while a text is read, a kernel compiled
     * and checked, tuned values searched, and a kernel run, simulated or verified. true ends the
     * call with TW_CANCELLED; its message says what it was doing. May be asked by several threads
     * at once. NULL: never. */
    bool (*cancelled)(void *user);
    void *cancelled_user;
    /* Folder where assembled kernels are kept between runs, for all processes of the user; copied.
     * It takes a `ptxas` ($TILEWRIGHT_PTXAS, or as the shell finds it), which is then run; without
     * one the driver assembles, and keeps what it made itself.
     * NULL: $TILEWRIGHT_CACHE, else `tilewright` in $XDG_CACHE_HOME or ~/.cache; "": they are not
     * kept. $TILEWRIGHT_CACHE_MIB is the most that it holds (1024): what was not used for the
     * longest time goes first. */
    const char *cache;
    int device; /* which GPU is the context's, where there are several; counted from 0 */
    /* The threads of the CPU engine. Calls task(argument, 0 … tasks-1) once each, in any order and
     * on any threads, and returns when all are done; tasks are at most `threads` above. It may be
     * asked by several threads at once where launches are (tw_launch_begin, entries). NULL: the
     * context has a pool of its own, whose threads start with the first launch of more than one
     * block. */
    void (*parallel)(void *user, int tasks, void (*task)(void *argument, int index),
                     void *argument);
    void *parallel_user;
    /* Of second, longer tries of the synchronisation check, in all that the context compiles: the
     * most steps, of which one try has up to 200,000. Kernels that would need more are undecided.
     * 0: any number. */
    int64_t check_steps;
    /* Told in every call that may take long what it is at: `doing` is "compiling a kernel" or
     * "simulating", for example; `done` of `total` blocks are begun, where it counts blocks, else
     * both are 0. Told often, so it should return soon. It may be told by several threads at once,
     * must not call into the context, and the text is valid for the time of the call. NULL: never. */
    void (*progress)(void *user, const char *doing, int64_t done, int64_t total);
    void *progress_user;
    /* Folders where modules look for the files that they import, with ':' between them; copied. They
     * come after the folder of the importing file and before those of $TILEWRIGHT_PATH and the
     * kernels that are installed with the library. NULL: none. */
    const char *import_path;
} tw_config;
TW_SIZED(tw_config);

/* config may be NULL: all defaults. TW_BAD_ARGUMENT: `out` is NULL, or `threads` negative. */
TW_API tw_status tw_context_new(const tw_config *config, tw_context **out);
TW_API void tw_context_free(tw_context *ctx); /* NULL is fine */
/* For `cancelled` of tw_config, with the address of a bool as `cancelled_user`: returns the bool,
 * which another thread, or a signal's handler, may set at any time. NULL: false. It is for
 * languages that cannot be called from the engine's threads as fast as it asks. */
TW_API bool tw_flag_is_set(void *flag);

/* What the latest call on this context had to say, as text with source lines and carets; "" if
 * nothing. After a call that returned another status than TW_OK there is a text, unless the call
 * was given NULL for the object that it is about. Valid until the next call on the context. */
TW_API const char *tw_context_messages(const tw_context *ctx);

/* Every kind of message and finding, its name and what it means (docs/messages.md). From TW_CODE_RACE
 * on they are those of the simulator, too. Values may grow with versions; names are stable. */
#define TW_CODE_LIST(X)                                                                            \
    X(TW_CODE_OTHER, "other", "the text says it")                                                  \
    X(TW_CODE_SYNTAX, "syntax", "the text does not follow the grammar")                            \
    X(TW_CODE_FOREIGN, "foreign", "a word, number or operator of another language")                \
    X(TW_CODE_NAME, "name", "a name that nothing declares")                                        \
    X(TW_CODE_PROGRAM, "program", "types, shapes or places that the language does not allow")      \
    X(TW_CODE_SIZE, "size", "tuned values and sizes that `require` does not allow")                \
    X(TW_CODE_TARGET, "target", "the target lacks it, or has too little of it")                    \
    X(TW_CODE_ARGUMENT, "argument", "what a launch was given does not fit its kernel")             \
    X(TW_CODE_UNSET, "unset", "a launch lacks a value or an array")                                \
    X(TW_CODE_CANCELLED, "cancelled", "the caller ended the call")                                 \
    X(TW_CODE_WRONG_VALUES, "wrong-values", "values that are not what `ensures` says")             \
    X(TW_CODE_BLOCK_RACE, "block-race", "blocks that write the same elements without an order")    \
    X(TW_CODE_RACE, "race", "accesses of the same bytes that nothing orders")                      \
    X(TW_CODE_SAME_VALUE, "same-value", "unordered writes of the same value")                      \
    X(TW_CODE_VOLATILE_RACE, "volatile-race", "unordered volatile writes of different values")     \
    X(TW_CODE_VOLATILE, "volatile", "volatile accesses that nothing orders")                       \
    X(TW_CODE_SCOPE, "scope", "atomic accesses whose scopes do not include each other")            \
    X(TW_CODE_ASYNC_RACE, "async-race", "a use of what a copy under way may still write")          \
    X(TW_CODE_ASYNC_PENDING, "async-pending", "an end with copies under way")                      \
    X(TW_CODE_UNINITIALISED, "uninitialised", "a read of bytes that were never written")           \
    X(TW_CODE_OUTSIDE, "out-of-bounds", "an access outside its array, or outside all memory")      \
    X(TW_CODE_MISALIGNED, "misaligned", "an address that its width does not divide")               \
    X(TW_CODE_READ_ONLY, "read-only", "a write to memory that cannot be written")                  \
    X(TW_CODE_TRAP, "trap", "the program stopped itself")                                          \
    X(TW_CODE_ASSUME, "assume", "an `assume` that is false")                                       \
    X(TW_CODE_INSIDE, "inside", "a slice marked `inside` that reaches outside")                    \
    X(TW_CODE_DIVERGENT, "divergent-barrier", "not all threads come to a barrier together")        \
    X(TW_CODE_BARRIER_COUNT, "barrier-count", "a barrier for a wrong number of threads")           \
    X(TW_CODE_MIXED, "barrier-mixed", "a barrier used in two ways at once")                        \
    X(TW_CODE_BARRIER_ID, "barrier-id", "the number of a barrier that does not exist")             \
    X(TW_CODE_WARP_SYNC, "warp-sync", "a mask of lanes that cannot be right")                      \
    X(TW_CODE_MBARRIER, "mbarrier", "an mbarrier used against its rules")                          \
    X(TW_CODE_EXITED, "exited-thread", "a barrier that waits for threads that have left")          \
    X(TW_CODE_DEADLOCK, "deadlock", "threads or blocks that wait for each other without end")      \
    X(TW_CODE_ENDLESS, "endless", "more steps than were allowed")                                  \
    X(TW_CODE_FAULT, "fault", "anything else that ends a launch")                                  \
    X(TW_CODE_UNSUPPORTED, "unsupported", "an instruction that the simulator lacks")               \
    X(TW_CODE_CUT_OFF, "cut-off", "the end of a kernel of which its compiler left out the rest")   \
    X(TW_CODE_STOPPED, "stopped", "a launch that something else has ended")

typedef enum tw_code {
#define TW_CODE_ENUM(name, text, about) name,
    TW_CODE_LIST(TW_CODE_ENUM)
#undef TW_CODE_ENUM
} tw_code;

TW_API const char *tw_code_name(tw_code code); /* "out-of-bounds" */

/* A change of a text: from line and column on, both from 1, `remove` bytes go, and `insert` takes
 * their place. Columns count bytes. */
typedef struct tw_edit {
    int line, column, remove;
    const char *insert;
} tw_edit;

/* An access of memory. */
typedef struct tw_access {
    const char *file; /* NULL: no place is known */
    int line, column;
    int length;           /* bytes of the text that make the access; 0: not known */
    const char *what;     /* "read", "write", "update" (an atomic), "copy" (in the background) */
    const char *variable; /* NULL: no name is known */
    int rank;             /* of `index`; 0: no element is known */
    int64_t index[TW_MAX_RANK]; /* of the element */
    int thread;                 /* its number in the block, x fastest; -1: not known */
    int warp;                   /* of the block; -1: not known */
    int64_t block;              /* its number in the grid, x fastest; -1: not known */
    const char *space;          /* of memory: "shared", "global", …; NULL: not known */
    /* The barrier that the thread passed last; line 0: none, or not known. */
    const char *barrier_file;
    int barrier_line, barrier_column;
} tw_access;

typedef enum tw_severity { TW_ERROR, TW_WARNING, TW_NOTE } tw_severity;
typedef struct tw_message {
    size_t size; /* tw_message_init sets it */
    tw_severity severity;
    const char *file; /* NULL: no place */
    int line, column; /* from 1; columns count bytes */
    const char *text;
    /* The message with its source line and its notes, as tw_context_messages shows it; and its end,
     * the notes alone, "" if there are none. Both are NULL for a note. */
    const char *shown, *shown_notes;
    tw_code code; /* a note has that of its message */
    int needs_sm; /* of TW_CODE_TARGET: the first compute capability that has it, 89; 0: not known */
    int length;   /* bytes of the text that it is about, from line and column on */
    /* A fix: changes of the text of `file` in it, that remove the message when they are made
     * together. Places are those of the text before any of them; of two changes at one place the
     * first comes first. */
    const tw_edit *const *edits;
    int edit_count; /* 0: it takes more than a change of the text */
    /* The accesses of a race, a copy under way and the like; the one at `line` first. */
    const tw_access *const *accesses;
    int access_count;
} tw_message;
TW_SIZED(tw_message);
/* The same one by one, each followed by its notes. If there were too many errors, the last note says
 * how many were left out. The `shown` of all messages, joined, are tw_context_messages. Returns false
 * when index is past the last. */
TW_API bool tw_context_message(const tw_context *ctx, int index, tw_message *out);

typedef struct tw_device {
    size_t size;           /* tw_device_init sets it */
    const char *name;      /* "cpu"; "cuda", "cuda:1" …: the GPUs that the driver has */
    char description[256]; /* processor, cores, instruction set in use; GPU, memory, driver */
    int cores;             /* of a GPU: multiprocessors */
    /* Of a GPU, else 0: */
    int ordinal;    /* tw_config.device */
    int capability; /* 90: compute capability 9.0 */
    int64_t memory_bytes, l2_bytes;
    int driver;     /* 13000: CUDA 13.0 */
    char model[96]; /* the processor's or GPU's own name: "NVIDIA H200" */
} tw_device;
TW_SIZED(tw_device);
TW_API bool tw_device_at(int index, tw_device *out); /* false past the last */

/* --- 3. Modules and kernels --- */

/* Compiles as far as no choice is needed. The text is copied. `name` stands for the file in
 * messages. On TW_BAD_PROGRAM the messages say why and *out is NULL. */
TW_API tw_status tw_module_from_text(tw_context *ctx, const char *name, const char *text,
                                     size_t length, tw_module **out);
TW_API tw_status tw_module_from_file(tw_context *ctx, const char *path, tw_module **out);
/* Its memory goes when its last launch has been freed too. Kernels belong to their module. */
TW_API void tw_module_free(tw_module *m);
TW_API int tw_module_kernel_count(const tw_module *m);
TW_API tw_kernel *tw_module_kernel_at(tw_module *m, int index); /* NULL past the last */
/* NULL and a message with the nearest name when there is none. Passing NULL for a kernel below is
 * allowed: queries return NULL, 0 or false; tw_kernel_for_target and tw_launch_new return
 * TW_NOT_FOUND, other calls TW_BAD_ARGUMENT. The context's message stays. */
TW_API tw_kernel *tw_module_kernel(tw_module *m, const char *name);

/* The same kernel as another target sees and compiles it: "cpu" (what a module gives), "sm_80" …
 * for NVIDIA GPUs of that compute capability, or "cuda" for the context's GPU ("cuda:1" where
 * tw_config.device is 1): the greatest of these that it runs. Its tuned values are the target's,
 * its launches are compiled for it. Belongs to the module; asked for twice it is the same. No GPU
 * is needed but for "cuda". TW_NOT_FOUND where there is no such target, TW_UNSUPPORTED where there
 * is no GPU (or one below 8.0), with a message; *out is NULL then. */
TW_API tw_status tw_kernel_for_target(tw_kernel *k, const char *target, tw_kernel **out);
TW_API const char *tw_kernel_target(const tw_kernel *k); /* "cpu", "sm_90"; never "cuda" */
/* Frees what was compiled for the kernel, for its other targets too. A launch that was prepared is
 * compiled again by its next run; one that is under way is waited for. A program that runs many
 * kernels, one after the other, then needs memory for only one. NULL is allowed. */
TW_API void tw_kernel_forget(tw_kernel *k);
TW_API const char *tw_target_at(int index); /* the targets, "cpu" first; NULL past the last */

TW_API const char *tw_kernel_name(const tw_kernel *k);
TW_API bool tw_kernel_has_ensures(const tw_kernel *k);
TW_API bool tw_kernel_thread_level(const tw_kernel *k);

typedef struct tw_param {
    size_t size; /* tw_param_init sets it */
    const char *name;
    bool is_pointer, is_const, is_static;
    bool is_ensured;       /* a pointer: an `ensures` speaks of what is there after a launch */
    tw_dtype dtype;        /* TW_DTYPE_NONE when `type_name` decides */
    const char *type_name; /* type variable, or NULL */
    /* Scalars: `i32 stride = 1` has the value 1 unless the caller gives another; `i32 n = 2 * m` is
     * computed at the launch, and `derived` is "2 * m". A call by position leaves derived ones out. */
    tw_value default_value; /* kind 0: it has none */
    const char *derived;    /* NULL: the caller gives it */
    /* Pointers: axes of the first view without strides and offset; 0: none. */
    int rank;
    const char *dims[TW_MAX_RANK]; /* the axes as written: "m", "k" */
} tw_param;
TW_SIZED(tw_param);
TW_API int tw_kernel_param_count(const tw_kernel *k);
TW_API tw_status tw_kernel_param(const tw_kernel *k, int index, tw_param *out);

typedef struct tw_tune {
    size_t size; /* tw_tune_init sets it */
    const char *name;
    int group; /* names with the same group vary together */
    int count;
    const tw_value *values; /* the first is the default */
} tw_tune;
TW_SIZED(tw_tune);
TW_API int tw_kernel_tune_count(const tw_kernel *k);
TW_API tw_status tw_kernel_tune(const tw_kernel *k, int index, tw_tune *out);

/* A type variable that the kernel uses: `type T = {f16, bf16, f32};`. */
typedef struct tw_type {
    size_t size; /* tw_type_init sets it */
    const char *name;
    int count;
    const tw_dtype *choices; /* the first is the default */
} tw_type;
TW_SIZED(tw_type);
TW_API int tw_kernel_type_count(const tw_kernel *k);
TW_API tw_status tw_kernel_type(const tw_kernel *k, int index, tw_type *out);

/* Whether every `require` allows these tuned values, one for each index of tw_kernel_tune. If not,
 * *violated (may be NULL) is the text of the first that does not, valid until the next call on the
 * context. false with *violated NULL, and a message of the context: a value is none of its name, as
 * tw_launch_tune refuses it (`.f` without `.is_float`, a float for an integer). */
TW_API bool tw_kernel_allows(const tw_kernel *k, const tw_value *tuned, const char **violated);
/* The same, for a search. If *allowed is false, the first *decided values cause it: no listed values
 * of later names change that, so the search can leave them out.
 * TW_BAD_ARGUMENT as above, with a message. */
TW_API tw_status tw_kernel_decides(tw_kernel *k, const tw_value *tuned, bool *allowed,
                                   int *decided);

/* --- 4. Launches --- */

/* A launch gathers what one run needs: tuned values, types, sizes, arrays. Names are the kernel's.
 * It can be run again, and changed in between; each different choice of tuned values, types and
 * statics is compiled once and kept. */
TW_API tw_status tw_launch_new(tw_kernel *k, tw_launch **out);
TW_API void tw_launch_free(tw_launch *l);

/* Scalar parameter; tuned value (any, listed or not); type variable. A float for an integer, and
 * what the type cannot hold, is refused here. */
TW_API tw_status tw_launch_set(tw_launch *l, const char *param, tw_value value);
TW_API tw_status tw_launch_tune(tw_launch *l, const char *name, tw_value value);
TW_API tw_status tw_launch_type(tw_launch *l, const char *name, tw_dtype type);
/* Pointer parameter. The array is used in place; it must stay until the last run. The view's axes
 * are checked against the array's, and sizes not set are inferred from them. A rank-0 array, or one
 * of another rank but the same number of elements as the view, is refused; where the view has
 * `strides` or an offset, only the array's length is checked, and nothing is inferred. `array` NULL
 * takes the array away.
 *
 * Arrays may overlap where the kernel reads both. An array that the kernel writes may be another
 * one at the same address if each of its elements is read by the block that writes it and by no
 * other: elementwise kernels, kernels with a row a block. tw_launch_prepare and every run refuse it
 * with TW_BAD_ARGUMENT, naming both parameters and the bytes, if the other array is an operand of a
 * product, if the kernel reads it elsewhere than it writes (neighbours, other rows, what several
 * blocks read), or if the two arrays overlap but begin at different addresses. The compiler finds that
 * from the indices; arrays whose views have `strides` or an offset are refused only as operands.
 * Within a block the kernel has to read an element before it writes it: that is not checked. */
TW_API tw_status tw_launch_array(tw_launch *l, const char *param, const tw_array *array);
/* Lets arrays overlap in any way (false, the default: as above). The values are then the caller's
 * responsibility. An entry takes it from the launch that it is made of. TW_BAD_ARGUMENT: `l` is
 * NULL. */
TW_API tw_status tw_launch_allow_overlap(tw_launch *l, bool allow);

/* Works out sizes, types and tuned values, compiles and checks, without running. Arrays may be
 * missing as long as every scalar parameter is set or inferred. TW_BAD_PROGRAM also where the
 * kernel's target lacks something: the messages say how much of what is taken by which tiles, and
 * with which listed tuned values it fits.
 * Types: as set; else that of the first array (in order of parameters) whose parameter has the type
 * variable; else the default. Tuned values: as set; the rest is the first combination in the order
 * of the lists that `require` allows with them. */
TW_API tw_status tw_launch_prepare(tw_launch *l);
/* The value of a scalar parameter or tuned name / the shape and type that a pointer parameter
 * needs, after prepare; for the array, prepare need only know the sizes, so that a caller can make
 * the outputs. */
TW_API tw_status tw_launch_value(tw_launch *l, const char *name, tw_value *out);
TW_API tw_status tw_launch_shape(tw_launch *l, const char *param, tw_array *out); /* data NULL */

/* Prepares if need be, runs, waits. Every parameter with a view needs an array. For a GPU's kernel
 * arrays of the host are copied there, and those that the kernel may write back; arrays on the
 * device are used in place, in the default stream (tilewright_gpu.h has other streams). TW_FAULT: the
 * messages say what the kernel did and where; TW_UNSUPPORTED: there is no GPU, or it does not take
 * the program. */
TW_API tw_status tw_launch_run(tw_launch *l);
/* Does not wait: prepares if need be (what is wrong with the launch is said at once), and runs on a
 * thread of the context's, behind the launches begun before; each has all of the engine's threads.
 * `done` (may be NULL) is called there when the arrays are written, with the status that
 * tw_launch_wait will give; it must not call into the context, nor block: what waits for it is the
 * next launch. Arrays stay until then. Other calls on the context go on meanwhile, and the launch
 * may be changed, which is for its next run; tw_launch_run, tw_launch_time and verification wait
 * for all that was begun, freeing the launch for it. `resize` and `print` of tw_config are then
 * called from several threads. TW_BAD_ARGUMENT: it is under way already, or for a GPU
 * (tw_launch_start). */
TW_API tw_status tw_launch_begin(tw_launch *l,
                                 void (*done)(void *user, tw_launch *l, tw_status status),
                                 void *user);
/* Waits for it, and says as tw_launch_run does what came of it; TW_OK at once where nothing was
 * begun. `done` has returned. */
TW_API tw_status tw_launch_wait(tw_launch *l);
/* As tw_launch_run, `runs` times (1 at least), one right after the other, and how long one took on
 * average, without the copies to and from a GPU (there, of several runs, one more goes first to
 * warm up); 0 unless TW_OK. Each run starts from what the one before left in the arrays. */
TW_API tw_status tw_launch_time(tw_launch *l, int runs, double *milliseconds);

/* --- 5. Verification --- */

typedef struct tw_verdict {
    size_t size; /* tw_verdict_init sets it */
    bool ok;
    double max_error; /* largest |got - want| over all elements */
    double tolerance; /* what is allowed at the worst element */
    double got, want; /* there */
    const char *view; /* which view, and where in it: */
    int rank;
    int64_t at[TW_MAX_RANK];
    int64_t checked; /* elements compared */
    /* Of these, how many could have any value, as far as `ensures` is concerned: on the way to them
     * rounding may grow without limit, something may overflow, or a divisor may be 0. They are not
     * judged. More than one in twenty are TW_UNSUPPORTED. */
    int64_t undecided;
} tw_verdict;
TW_SIZED(tw_verdict);
/* After a run: evaluates `ensures` in double with a tolerance from types and sizes, on the arrays
 * as they are now. If an array that the kernel writes overlaps an input, the input is lost, unless
 * tw_launch_keep_inputs was set before the run: wrong values then come with a note of it. TW_OK,
 * TW_WRONG_VALUES, or TW_UNSUPPORTED when the kernel has no ensures or it cannot be evaluated (the
 * messages say why). verdict may be NULL. */
TW_API tw_status tw_launch_verify(tw_launch *l, tw_verdict *verdict);

/* Lets each following run of this launch (tw_launch_run, tw_launch_begin, tw_launch_simulate, not
 * tw_launch_start) copy the inputs that an overlapping output may overwrite, so that verification
 * can read them. Without overlap nothing is copied. TW_BAD_ARGUMENT: `l` is NULL. */
TW_API tw_status tw_launch_keep_inputs(tw_launch *l, bool keep);

/* One element that is not what `ensures` says. */
typedef struct tw_wrong {
    const char *view, *param; /* which view, of which array */
    int rank;
    int64_t extent[TW_MAX_RANK], at[TW_MAX_RANK]; /* of the view, and where in it */
    int64_t element;                              /* its number in the array */
    double got, want;
} tw_wrong;
/* As tw_launch_verify; calls `each` for every element that is wrong. What it is given lives until
 * it returns; it must not call into the context. */
TW_API tw_status tw_launch_each_wrong(tw_launch *l, void (*each)(void *user, const tw_wrong *w),
                                      void *user);

/* Static checks of one variant (the launch's tuned values, types and statics; arrays are not
 * needed; statics that extents need and that were not set get a small value, named in a note behind
 * an error). TW_OK when clean; TW_UNSYNCHRONISED when it compiles but the synchronisation check has
 * findings (tw_launch_prepare and tw_launch_run say so too); TW_BAD_PROGRAM else. */
TW_API tw_status tw_launch_check(tw_launch *l);
/* Why the synchronisation check cannot tell whether this variant's accesses to shared memory race;
 * NULL when it can, or when the variant does not compile. The text lives as long as the module. */
TW_API const char *tw_launch_undecided(tw_launch *l);

#ifdef __cplusplus
}
#endif
#endif
