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
 * 5 verification. They are stable. Further parts of the library have headers of their own; the last
 * six may change with a minor version (docs/versions.md):
 *
 *   tilewright_entry.h    kernels started from any number of threads at once
 *   tilewright_gpu.h      memory and streams of a GPU, launches that do not wait, DLPack
 *   tilewright_build.h    kernels compiled ahead of time and shipped as C
 *   tilewright_sim.h      simulation: PTX on the host, checked and counted
 *   tilewright_look.h     the typed program after each pass, layouts
 *   tilewright_family.h   kernels of one meaning, of which a launch takes the fastest
 *   tilewright_tuning.h   estimates, expected values, the store of results
 *   tilewright_model.h    why a kernel is as fast as it is
 *   tilewright_profile.h  the time of each line of a kernel on the CPU engine
 *
 * Threads: a context, and the objects made from it, belong to one thread at a time. Contexts are
 * independent, so each thread can compile and launch with its own. Any number of threads may start
 * an entry (tilewright_entry.h). The library has no global state.
 *
 * Callbacks must not call into the context that calls them.
 *
 * Stack: a thread that calls the library needs 256 KiB of stack, for any program. A context
 * compiles on a stack of its own; a program that is nested too deeply for it is a compile error.
 * Builds with sanitizers need more.
 *
 * Ownership: the caller frees each object that it made; freeing a context frees the objects made
 * from it. A returned string is valid until its object is freed, unless its function says
 * otherwise.
 *
 * Errors: a call that does not return TW_OK leaves messages with its context (tw_context_messages).
 * TW_BAD_ARGUMENT without a message means that the object itself was NULL.
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

/* Structs that you make, or give to be filled, begin with `size`: the bytes that your program
 * knows of them. tw_NAME_init() returns one with `size` set and all else 0, which are the
 * defaults:
 *
 *     tw_config config = tw_config_init();
 *     config.threads = 4;
 *
 * In C, {.size = sizeof config, .threads = 4} is the same. The library never reads or writes past
 * `size`, so a program and a library of different versions understand each other:
 *
 *   smaller than the library's   fields past `size` count as 0, and are not filled
 *   larger, a struct it reads    TW_UNSUPPORTED if a field that the library lacks is not 0
 *   larger, a struct it fills    fields that the library lacks stay 0, as tw_NAME_init() set them
 *   below 8, or above 65536      TW_BAD_ARGUMENT, or false from a function that returns bool: the
 *                                struct was not made by its tw_NAME_init()
 *
 * Structs of the library's own have no size: you read them through const pointers, and arrays of
 * them are arrays of pointers (headers that may change also have plain arrays). tw_value and
 * arrays of numbers never change. */
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

/* Lists every status: name, value, text. Values never change. */
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

/* Returns the name of a status: "TW_BAD_ARGUMENT". */
TW_API const char *tw_status_name(tw_status s);

/* Returns the text of a status: "bad argument". */
TW_API const char *tw_status_text(tw_status s);

/* Returns the version of the library: "1.0.0". */
TW_API const char *tw_version(void);

/* Returns the version of the library as a number: 10000. Compare it with TW_VERSION_NUMBER, the
 * version that your program was compiled for. */
TW_API int tw_version_number(void);

/* The forms of tw_text_shown: one line; lines, which keep tab and newline; the contents of a JSON
 * string, without its quotes. */
typedef enum tw_shown { TW_SHOWN_LINE, TW_SHOWN_LINES, TW_SHOWN_JSON } tw_shown;

/* Makes a file's text safe for a terminal. It spells out control characters, marks that turn the
 * direction of text, line separators and broken UTF-8 (\x1b, \u202e), and copies the rest. The
 * library passes its messages, reports and JSON through it. Writes at most `room` bytes with the
 * final 0; `out` may be NULL if `room` is 0. Returns the length of the whole text, as snprintf
 * does. Any thread. */
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

/* Returns the name of a type: "f16". */
TW_API const char *tw_dtype_name(tw_dtype t);

/* Returns the bytes of an element. */
TW_API size_t tw_dtype_size(tw_dtype t);

/* Returns the type of that name, or TW_DTYPE_NONE. */
TW_API tw_dtype tw_dtype_from_name(const char *name);

/* Returns the type string of NumPy: "f2"; "" if NumPy has no such type (bf16). */
TW_API const char *tw_dtype_numpy(tw_dtype t);

/* Returns the element at `element` as a double. */
TW_API double tw_dtype_load(tw_dtype t, const void *element);

/* Stores `value` at `element`: rounded to nearest even, and saturated for integer types. */
TW_API void tw_dtype_store(tw_dtype t, void *element, double value);

/* The most axes of an array. It never changes. */
enum { TW_MAX_RANK = 6 };

/* The memory that holds an array. An address on the device is a CUdeviceptr of the context's GPU,
 * from tw_device_allocate or cudaMalloc. */
typedef enum tw_place { TW_ON_HOST, TW_ON_DEVICE } tw_place;

/* An array of the caller's: row-major, without gaps. A launch uses it in place, so the memory
 * must stay until the launch's last run has ended. tw_host_array and tw_device_array make one. */
typedef struct tw_array {
    size_t size; /* tw_array_init sets it */
    void *data;
    tw_dtype dtype;
    tw_place place;
    int rank;                   /* number of axes, 1 to TW_MAX_RANK */
    int64_t shape[TW_MAX_RANK]; /* elements along each axis */
    size_t bytes; /* length of `data`; a shape that needs more is refused. 0: not checked */
} tw_array;
TW_SIZED(tw_array);

/* Returns an address without its `const`, for tw_array.data. A launch writes only to the arrays
 * that its kernel writes. */
static inline void *tw_address(const void *address)
{
#ifdef __cplusplus
    return const_cast<void *>(address);
#else
    return (void *)(uintptr_t)address;
#endif
}

/* tw_host_array(address, type, extents …) and tw_device_array(address, type, extents …) return an
 * array. The number of extents is its rank:
 *
 *     tw_array a = tw_host_array(data, TW_F32, rows, columns);
 *     tw_launch_array(l, "b", &tw_host_array(other, TW_F32, columns)); // in C
 */
#ifndef __cplusplus
#define tw_host_array(address, type, ...) TW_ARRAY(TW_ON_HOST, address, type, __VA_ARGS__)
#define tw_device_array(address, type, ...) TW_ARRAY(TW_ON_DEVICE, address, type, __VA_ARGS__)
#define TW_COUNT_OF(a, b, c, d, e, f, g, h, i, j, k, l, count, ...) count
#define TW_COUNT(...) TW_COUNT_OF(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TW_FIRST_SIX(a, b, c, d, e, f, ...)                                                        \
    (int64_t)(a), (int64_t)(b), (int64_t)(c), (int64_t)(d), (int64_t)(e), (int64_t)(f)
#define TW_EXTENTS(...) TW_FIRST_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define TW_ARRAY(where, address, type, ...)                                                        \
    ((tw_array){.size = sizeof(tw_array),                                                          \
                .data = tw_address(address),                                                       \
                .dtype = (type),                                                                   \
                .place = (where),                                                                  \
                .rank = TW_COUNT(__VA_ARGS__),                                                     \
                .shape = {TW_EXTENTS(__VA_ARGS__)}})
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

/* The kinds of a tw_value. A value of kind 0 was not made by a helper, and every call refuses it. */
typedef enum tw_value_kind { TW_INTEGER = 1, TW_FLOAT, TW_POINTER } tw_value_kind;

/* A value of a scalar parameter, a tuned value, or an argument of an entry. tw_int, tw_float and
 * tw_pointer make one. Its 16 bytes never change. */
typedef struct tw_value {
    tw_value_kind kind;
    union {
        int64_t i;     /* TW_INTEGER: integers and bool; a u64 by its bits */
        double f;      /* TW_FLOAT: rounded to the parameter's type */
        void *pointer; /* TW_POINTER: an address where the kernel runs; entries alone take it */
    };
} tw_value;

/* Returns the value of an integer or a bool. */
static inline tw_value tw_int(int64_t i)
{
    tw_value v;
    v.kind = TW_INTEGER;
    v.i = i;
    return v;
}

/* Returns the value of a float of any width. */
static inline tw_value tw_float(double f)
{
    tw_value v;
    v.kind = TW_FLOAT;
    v.f = f;
    return v;
}

/* Returns the value of an array for an entry: its address, on the host or on the device. */
static inline tw_value tw_pointer(const void *address)
{
    tw_value v;
    v.kind = TW_POINTER;
    v.pointer = tw_address(address);
    return v;
}

/* --- 2. Contexts and messages --- */

/* A context: memory, threads, messages, at most one GPU. A module: a compiled text with its
 * kernels. A launch: one kernel with its arguments. */
typedef struct tw_context tw_context;
typedef struct tw_module tw_module;
typedef struct tw_kernel tw_kernel;
typedef struct tw_launch tw_launch;

/* The settings of a context. 0 and NULL are the defaults. */
typedef struct tw_config {
    size_t size; /* tw_config_init sets it */
    /* Allocates, resizes and frees, as realloc does: `ptr` is NULL for a new block, `size` is 0 to free.
     * Blocks are 16-byte aligned. It returns NULL if it fails. Several threads may call it at once while
     * launches are begun or entries are started, and one after another while a kernel is simulated.
     * NULL: libc. */
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t size);
    void *resize_user;
    /* Number of the CPU engine's threads, with the caller's. 0: one for each core that the calling
     * thread may use and the process's control group grants, or as many as `bind` lists. Negative:
     * TW_BAD_ARGUMENT. Launches leave up to 256 MiB with the context for later launches. The
     * simulator has a second thread for its checks unless this is 1 or `parallel` is set. */
    int threads;
    /* Receives the text that kernels print(). NULL: the text is dropped. */
    void (*print)(void *user, const char *text, size_t length);
    void *print_user;
    bool colour; /* ANSI colours in messages */
    /* Returns true to end the call with TW_CANCELLED. Every call that may take long asks it: reading a
     * text, compiling, checking, searching tuned values, running, simulating, verifying. Several
     * threads may ask at once. NULL: no call is cancelled. */
    bool (*cancelled)(void *user);
    void *cancelled_user;
    /* Folder that keeps assembled kernels for all processes of the user; the context copies the text.
     * It needs `ptxas` ($TILEWRIGHT_PTXAS, else from $PATH); without one the driver assembles and keeps
     * kernels itself. NULL: $TILEWRIGHT_CACHE, else `tilewright` in $XDG_CACHE_HOME or ~/.cache. "":
     * none. It holds at most $TILEWRIGHT_CACHE_MIB MiB (1024); the least recently used kernels go first. */
    const char *cache;
    int device; /* number of the context's GPU, from 0 */
    /* Replaces the context's own pool of threads. It calls task(argument, i) once for each i from 0 to
     * tasks - 1, in any order and on any threads, and returns when all have returned. tasks is at most
     * `threads`. It may run tasks one after the other: no task waits for another one. A call of the
     * library that launches or verifies calls it, on that call's thread or on that of tw_launch_begin.
     * No call of it is made within a task of the same launch. Several threads may call it at once while
     * launches are begun or entries are started; it may be called within a task of the caller's own
     * pool. NULL: a pool, whose threads start with the first launch of more than one block. */
    void (*parallel)(void *user, int tasks, void (*task)(void *argument, int index),
                     void *argument);
    void *parallel_user;
    /* The most steps of the synchronisation check's second, longer tries, over all that the context
     * compiles; one try takes up to 200,000. Kernels that need more stay undecided. 0: no limit. */
    int64_t check_steps;
    /* Receives the stage of a call that may take long: `doing` is "compiling a kernel" or "simulating",
     * for example, and valid during the call alone. `done` of `total` blocks have begun; both are 0 if
     * the stage has no blocks. It is called often, so it should return soon. Several threads may call
     * it at once. NULL: no reports. */
    void (*progress)(void *user, const char *doing, int64_t done, int64_t total);
    void *progress_user;
    /* Folders where modules look for the files that they import, with ':' between them; copied. They
     * come after the folder of the importing file and before those of $TILEWRIGHT_PATH and the
     * kernels that ship. These are found from the place of the library's file, or of the program's:
     * installed (also if the prefix was moved), or in a build folder. NULL: none. */
    const char *import_path;
    /* Processors that the threads of the context's own pool are bound to, as "0-7,16"; "all": those
     * that the calling thread may use. Thread i is bound to entry i of the list, or to entry i modulo
     * its length. The caller's thread is thread 0; the library does not bind it. The text is copied.
     * TW_BAD_ARGUMENT: the list is malformed, names a processor that the calling thread may not use,
     * has more than 256 processors, or `parallel` is set too. TW_UNSUPPORTED: this system cannot bind
     * threads. NULL: threads run on any processor. */
    const char *bind;
    /* Allows products of bf16 on the CPU to use Intel AMX. It adds them in another order: the last
     * bits of their sums then differ from those of other machines. (Products of 8-bit integers use
     * AMX in any case, since their sums are exact.) false: the same bits on every machine. */
    bool machine_bits;
} tw_config;
TW_SIZED(tw_config);

/* Makes a context. config: NULL for all defaults. Returns TW_OK, TW_BAD_ARGUMENT (`out` is NULL,
 * `config->size` was not set, `threads` is negative, `bind` is refused), TW_UNSUPPORTED (config sets
 * fields that this library lacks, or threads cannot be bound) or TW_NO_MEMORY. On failure *out is NULL, and the status is all that tells the
 * reason, because there is no context for a message. Free it with tw_context_free. */
TW_API tw_status tw_context_new(const tw_config *config, tw_context **out);

/* Says why tw_context_new refuses a list for tw_config.bind. why: gets one line of at most `room`
 * bytes with its '\0'; "" if the list is accepted. Returns TW_OK, TW_BAD_ARGUMENT or TW_UNSUPPORTED,
 * as tw_context_new does for the list. Any thread. */
TW_API tw_status tw_bind_check(const char *list, char *why, size_t room);

/* Frees a context and all objects made from it. NULL is allowed. */
TW_API void tw_context_free(tw_context *ctx);

/* Returns the bool at `flag`, or false for NULL. As tw_config.cancelled with the address of a
 * bool as cancelled_user, it ends calls when another thread or a signal handler sets the bool.
 * Languages whose functions the engine cannot call quickly use it. */
TW_API bool tw_flag_is_set(void *flag);

/* Returns the messages of the latest call on this context as text with source lines and carets,
 * or "". After a status other than TW_OK there is a text, unless the call was given NULL for its
 * object. Valid until the next call on the context. */
TW_API const char *tw_context_messages(const tw_context *ctx);

/* Lists every kind of message and finding: code, name, meaning (docs/messages.md). The simulator's
 * findings have the codes from TW_CODE_RACE on. Later versions add codes at the end. */
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
    X(TW_CODE_STOPPED, "stopped", "a launch that something else has ended")                        \
    X(TW_CODE_WARPS_APART, "warps-apart", "warps that meet at different barriers")                 \
    X(TW_CODE_PRODUCT, "product", "registers of a warpgroup's product, used against its rules")    \
    X(TW_CODE_PROXY, "proxy", "no fence between a write and an access of the async proxy")         \
    X(TW_CODE_PEER, "peer", "memory of a block that may not have begun, or may have ended")

typedef enum tw_code {
#define TW_CODE_ENUM(name, text, about) name,
    TW_CODE_LIST(TW_CODE_ENUM)
#undef TW_CODE_ENUM
} tw_code;

/* Returns the name of a code: "out-of-bounds". */
TW_API const char *tw_code_name(tw_code code);

/* A change of a text: `remove` bytes go at a line and column, and `insert` takes their place.
 * Lines and columns count from 1, columns in bytes. A message owns its edits. */
typedef struct tw_edit {
    int line, column, remove;
    const char *insert;
} tw_edit;

/* An access of memory. A message owns its accesses. */
typedef struct tw_access {
    const char *file; /* NULL: the place is not known */
    int line, column;
    int length;                 /* bytes of the text that make the access; 0: not known */
    const char *what;           /* "read", "write", "update" (atomic), "copy" (asynchronous) */
    const char *variable;       /* NULL: not known */
    int rank;                   /* number of indices; 0: the element is not known */
    int64_t index[TW_MAX_RANK]; /* of the element */
    int thread;                 /* number of the thread in its block, x fastest; -1: not known */
    int warp;                   /* number of the warp in its block; -1: not known */
    int64_t block;              /* number of the block in the grid, x fastest; -1: not known */
    const char *space;          /* "shared", "global", …; NULL: not known */
    /* The barrier that the thread passed last. Line 0: none, or not known. */
    const char *barrier_file;
    int barrier_line, barrier_column;
} tw_access;

/* The severity of a message. */
typedef enum tw_severity { TW_ERROR, TW_WARNING, TW_NOTE } tw_severity;

/* A message: an error, a warning, or a note about the message before it. Its texts and lists are
 * valid until the next call on the context. */
typedef struct tw_message {
    size_t size; /* tw_message_init sets it */
    tw_severity severity;
    const char *file; /* NULL: the message has no place */
    int line, column; /* from 1; columns count bytes */
    const char *text;
    /* `shown`: the message with its source line and notes, as in tw_context_messages. `shown_notes`: the
     * end of `shown`, its notes alone, "" without notes. Both are NULL in a note. */
    const char *shown, *shown_notes;
    tw_code code; /* a note has its message's code */
    int needs_sm; /* TW_CODE_TARGET: the first compute capability that suffices, 89; 0: not known */
    int length;   /* bytes of the text that the message is about, from line and column on */
    /* A fix: edits of `file` that together remove the message. Their places are those of the unchanged
     * text; of two edits at one place the first comes first. */
    const tw_edit *const *edits;
    int edit_count; /* 0: no edit of the text is a fix */
    /* The accesses that the message is about, as of a race. The one at `line` is first. */
    const tw_access *const *accesses;
    int access_count;
} tw_message;
TW_SIZED(tw_message);

/* Fills `out` with message number `index` of the latest call; each message is followed by its
 * notes. Returns false past the last. The `shown` texts of all messages, joined, are
 * tw_context_messages. If there are too many errors, the last note gives the number that was left
 * out. */
TW_API bool tw_context_message(const tw_context *ctx, int index, tw_message *out);

/* A device that can run kernels. */
typedef struct tw_device {
    size_t size;           /* tw_device_init sets it */
    const char *name;      /* "cpu"; the driver's GPUs are "cuda", "cuda:1", … */
    char description[256]; /* processor, cores, instruction set; or GPU, memory, driver */
    int cores;             /* a GPU's multiprocessors */
    /* The rest is 0 for the CPU. */
    int ordinal;    /* tw_config.device */
    int capability; /* 90: compute capability 9.0 */
    int64_t memory_bytes, l2_bytes;
    int driver;     /* 13000: CUDA 13.0 */
    char model[96]; /* name of the processor or GPU: "NVIDIA H200" */
} tw_device;
TW_SIZED(tw_device);

/* Fills `out` with device number `index`; 0 is the CPU. Returns false past the last. Any thread. */
TW_API bool tw_device_at(int index, tw_device *out);

/* --- 3. Modules and kernels --- */

/* Compiles a text up to the choices that launches make (types, tuned values, statics). name: the
 * file in messages. The text is copied. Returns TW_OK; TW_BAD_PROGRAM with the reasons as
 * messages; TW_BAD_ARGUMENT, TW_NO_MEMORY or TW_CANCELLED. *out is NULL unless TW_OK. The context
 * owns the module. This finds errors of grammar; tw_launch_check finds the rest, without arrays. */
TW_API tw_status tw_module_from_text(tw_context *ctx, const char *name, const char *text,
                                     size_t length, tw_module **out);

/* Does the same for a file. Returns TW_NO_FILE also if the file cannot be read. */
TW_API tw_status tw_module_from_file(tw_context *ctx, const char *path, tw_module **out);

/* Frees a module and its kernels. Its memory is freed when its last launch has been freed too.
 * NULL is allowed. */
TW_API void tw_module_free(tw_module *m);

/* Returns the number of kernels. */
TW_API int tw_module_kernel_count(const tw_module *m);

/* Returns kernel number `index`, or NULL past the last. The module owns it. */
TW_API tw_kernel *tw_module_kernel_at(tw_module *m, int index);

/* Returns the kernel of that name. If there is none, returns NULL and leaves a message with the
 * nearest name. The module owns the kernel.
 *
 * Passing a NULL kernel to the functions below is allowed, and the message stays: queries return
 * NULL, 0 or false, tw_kernel_for_target and tw_launch_new return TW_NOT_FOUND, other calls
 * TW_BAD_ARGUMENT. */
TW_API tw_kernel *tw_module_kernel(tw_module *m, const char *name);

/* Finds the same kernel for another target. target: "cpu", which a module gives; "sm_80" and
 * later for NVIDIA GPUs of that compute capability; "cuda" for the context's GPU, as "sm_…"
 * ("cuda:1" if tw_config.device is 1). Launches of *out are compiled for the target, with the
 * target's tuned values. "sim" is the target that the kernel's head names (`target(sm_90a)`), or
 * else sm_80; on a GPU that can run the named one, "cuda" is that, too. For a kernel whose head
 * names sm_90a, "sm_90" is that as well. Only "cuda" needs a GPU. Returns TW_OK, TW_NOT_FOUND (no
 * such target) or TW_UNSUPPORTED (no GPU, or one below 8.0); *out is NULL unless TW_OK. The module owns the
 * kernel, and returns the same one for the same target. */
TW_API tw_status tw_kernel_for_target(tw_kernel *k, const char *target, tw_kernel **out);

/* Returns the target of a kernel: "cpu", "sm_90"; never "cuda". */
TW_API const char *tw_kernel_target(const tw_kernel *k);

/* Frees the programs that were compiled for the kernel and for its other targets, so that a
 * program that runs many kernels in turn keeps memory for one. Waits for launches that are
 * running. The next run of a prepared launch compiles it again. NULL is allowed. */
TW_API void tw_kernel_forget(tw_kernel *k);

/* Returns target number `index`, "cpu" first, or NULL past the last. */
TW_API const char *tw_target_at(int index);

/* Returns the name of a kernel. */
TW_API const char *tw_kernel_name(const tw_kernel *k);

/* Returns whether the kernel has `ensures`, so that tw_launch_verify can judge it. */
TW_API bool tw_kernel_has_ensures(const tw_kernel *k);

/* Returns whether the kernel is written for threads, with `threads(…)` in place of `warps(…)`. */
TW_API bool tw_kernel_thread_level(const tw_kernel *k);

/* A parameter of a kernel. */
typedef struct tw_param {
    size_t size; /* tw_param_init sets it */
    const char *name;
    bool is_pointer, is_const, is_static;
    bool is_ensured;       /* a pointer whose array an `ensures` describes */
    tw_dtype dtype;        /* TW_DTYPE_NONE: the type variable `type_name` decides */
    const char *type_name; /* NULL: it has no type variable */
    /* A scalar's default: `i32 stride = 1` is 1 unless the caller sets it. A static parameter that has
     * one, `static i32 n = 64`, takes no other value. Kind 0: no default. */
    tw_value default_value;
    /* A scalar that the launch computes: "2 * m" for `i32 n = 2 * m`. Entries have no argument for it.
     * "device.sms" and "device.clusters" are the last parameters of a kernel that uses them: the launch
     * asks its device, unless tw_launch_set or a last argument of an entry gives another number. If only
     * device.sms is given, device.clusters is that number divided by the blocks of a cluster.
     * NULL: the caller gives it. */
    const char *derived;
    /* A pointer's axes: those of its first view without strides and offset. 0: it has no such view. */
    int rank;
    const char *dims[TW_MAX_RANK]; /* the axes as written: "m", "k" */
    const char *view;              /* the name of that view; NULL: there is none */
} tw_param;
TW_SIZED(tw_param);

/* Returns the number of parameters. */
TW_API int tw_kernel_param_count(const tw_kernel *k);

/* Fills `out` with parameter number `index`. Returns TW_OK, or TW_BAD_ARGUMENT past the last. */
TW_API tw_status tw_kernel_param(const tw_kernel *k, int index, tw_param *out);

/* A tuned value of a kernel: a name and the values to choose from. */
typedef struct tw_tune {
    size_t size; /* tw_tune_init sets it */
    const char *name;
    int group; /* names of one group change together: value i of each */
    int count;
    const tw_value *values; /* the first is the default */
} tw_tune;
TW_SIZED(tw_tune);

/* Returns the number of tuned values. */
TW_API int tw_kernel_tune_count(const tw_kernel *k);

/* Fills `out` with tuned value number `index`. Returns TW_OK, or TW_BAD_ARGUMENT past the last.
 * The module owns the lists. */
TW_API tw_status tw_kernel_tune(const tw_kernel *k, int index, tw_tune *out);

/* A type variable of a kernel: `type T = {f16, bf16, f32};`. */
typedef struct tw_type {
    size_t size; /* tw_type_init sets it */
    const char *name;
    int count;
    const tw_dtype *choices; /* the first is the default */
} tw_type;
TW_SIZED(tw_type);

/* Returns the number of type variables. */
TW_API int tw_kernel_type_count(const tw_kernel *k);

/* Fills `out` with type variable number `index`. Returns TW_OK, or TW_BAD_ARGUMENT past the last.
 * The module owns the list. */
TW_API tw_status tw_kernel_type(const tw_kernel *k, int index, tw_type *out);

/* Returns whether every `require` allows the tuned values. tuned: one value for each index of
 * tw_kernel_tune. If not, *violated is the text of the first `require` that is false, or NULL
 * with a message if a value does not suit its name. `violated` may be NULL; its text is valid
 * until the next call on the context. */
TW_API bool tw_kernel_allows(const tw_kernel *k, const tw_value *tuned, const char **violated);

/* Checks tuned values for a search. If *allowed is false, the first *decided values are the
 * cause: no listed values of later names change it, so the search can skip them. Returns TW_OK,
 * or TW_BAD_ARGUMENT if a value does not suit its name. */
TW_API tw_status tw_kernel_decides(tw_kernel *k, const tw_value *tuned, bool *allowed,
                                   int *decided);

/* --- 4. Launches --- */

/* Makes a launch of a kernel: its tuned values, types, sizes and arrays. A launch can be changed
 * and run again. Each choice of tuned values, types and statics is compiled once and kept.
 * Returns TW_OK, TW_NOT_FOUND (the kernel is NULL) or TW_NO_MEMORY. The context owns the launch. */
TW_API tw_status tw_launch_new(tw_kernel *k, tw_launch **out);

/* Frees a launch, after waiting for its run that was begun. NULL is allowed. */
TW_API void tw_launch_free(tw_launch *l);

/* Sets a scalar parameter. Returns TW_OK; TW_NOT_FOUND with the nearest name; TW_BAD_ARGUMENT if
 * the parameter's type cannot hold the value, or the value is a float for an integer. */
TW_API tw_status tw_launch_set(tw_launch *l, const char *param, tw_value value);

/* Sets a tuned value, which need not be a listed one. Returns the statuses of tw_launch_set. */
TW_API tw_status tw_launch_tune(tw_launch *l, const char *name, tw_value value);

/* Sets a type variable. Returns TW_OK, TW_NOT_FOUND, or TW_BAD_ARGUMENT if the kernel does not
 * list the type. */
TW_API tw_status tw_launch_type(tw_launch *l, const char *name, tw_dtype type);

/* Gives the array of a pointer parameter; NULL removes it. The launch copies the struct and uses
 * the memory in place, until its last run has ended. The array must have the rank and type of the
 * parameter's view. Its extents are checked against the view's, and give the sizes that are not
 * set. If the view has `strides` or an offset, only the array's length is checked and no size
 * follows. Returns TW_OK, TW_NOT_FOUND, or TW_BAD_ARGUMENT with the reason.
 *
 * Overlap: arrays that the kernel only reads may overlap. An array that it writes may be at the
 * address of another if each element is read by the block that writes it and by no other block,
 * as in elementwise kernels and kernels with a row for each block. Other overlaps are refused by
 * tw_launch_prepare and by every run, with TW_BAD_ARGUMENT and a message that names both
 * parameters and the bytes: the other array is an operand of a product, the kernel reads it
 * elsewhere than it writes, or the two overlap at different addresses. The compiler finds this
 * from the indices; arrays whose views have `strides` or an offset are refused only as operands.
 * A block must read an element before it writes it, which is not checked. */
TW_API tw_status tw_launch_array(tw_launch *l, const char *param, const tw_array *array);

/* Lets arrays overlap in any way, or not (false, the default). The caller is then responsible for
 * the values. An entry takes the setting from its launch. Returns TW_OK, or TW_BAD_ARGUMENT for
 * NULL. */
TW_API tw_status tw_launch_allow_overlap(tw_launch *l, bool allow);

/* Finds sizes, types and tuned values, compiles and checks, and does not run. Arrays may be
 * missing if every scalar parameter is set or follows from an array. Returns TW_OK;
 * TW_BAD_PROGRAM, also if the target lacks something (the messages say which tiles take how much
 * of what, and which listed tuned values fit); TW_UNSYNCHRONISED if accesses to shared memory
 * race; TW_BAD_ARGUMENT, TW_NO_MEMORY, TW_CANCELLED.
 *
 * Types: the one set, else that of the first array whose parameter has the type variable, else
 * the default. Tuned values: those set; the rest is the first combination of the lists that
 * `require` allows. */
TW_API tw_status tw_launch_prepare(tw_launch *l);

/* Finds the value of a scalar parameter or tuned value, when the sizes are known. Returns TW_OK,
 * TW_NOT_FOUND, or TW_BAD_ARGUMENT if it is not set and no array gives it. */
TW_API tw_status tw_launch_value(tw_launch *l, const char *name, tw_value *out);

/* Fills `out` with the shape and type that a pointer parameter needs, when the sizes are known,
 * so that the caller can make the array; `data` is NULL. Returns TW_OK, TW_NOT_FOUND,
 * TW_BAD_ARGUMENT, or TW_UNSUPPORTED if the shape does not follow from the parameters. */
TW_API tw_status tw_launch_shape(tw_launch *l, const char *param, tw_array *out);

/* Prepares the launch if necessary, runs it and waits. Each parameter with a view needs an array.
 * A GPU's kernel uses arrays on the device in place, and host arrays through copies, in the
 * default stream (tilewright_gpu.h has other streams). Returns TW_OK; TW_FAULT with what the
 * kernel did and where; TW_NOT_ASSUMED if an `assume` is false; TW_UNSUPPORTED if there is no GPU
 * or it refuses the program; TW_CANCELLED; the statuses of tw_launch_prepare. */
TW_API tw_status tw_launch_run(tw_launch *l);

/* Begins a run on a thread of the context and does not wait. It prepares the launch first if
 * necessary, and returns what is wrong with it. Launches run one after another, in the order
 * begun, each with all of the engine's threads. The arrays must stay until the run has ended.
 *
 * done: NULL, or a function that runs on that thread when the outputs are complete; `status` is
 * what tw_launch_wait will return. It must not block or call into the context, because the next
 * launch waits for it.
 *
 * Other calls on the context may go on, and the launch may be changed for its next run;
 * tw_launch_run, tw_launch_time, verification and freeing the launch wait. Returns the statuses
 * of tw_launch_prepare, and TW_BAD_ARGUMENT if the launch is running already or is for a GPU
 * (tw_launch_start). */
TW_API tw_status tw_launch_begin(tw_launch *l,
                                 void (*done)(void *user, tw_launch *l, tw_status status),
                                 void *user);

/* Waits for the run that was begun, and for its `done`. Returns the statuses of tw_launch_run;
 * TW_OK at once if no run was begun. */
TW_API tw_status tw_launch_wait(tw_launch *l);

/* Runs the launch `runs` times (at least once), each run on the arrays that the run before left.
 * *milliseconds: the average time of a run, without copies to and from a GPU; 0 unless TW_OK. If
 * `runs` is above 1, a GPU runs once more before, to warm up. Returns the statuses of
 * tw_launch_run. */
TW_API tw_status tw_launch_time(tw_launch *l, int runs, double *milliseconds);

/* --- 5. Verification --- */

/* The result of a verification. Its text is valid until the next call on the context. */
typedef struct tw_verdict {
    size_t size; /* tw_verdict_init sets it */
    bool ok;
    /* The largest |got - want| of all elements; its element's tolerance, values, view and indices. */
    double max_error;
    double tolerance;
    double got, want;
    const char *view;
    int rank;
    int64_t at[TW_MAX_RANK];
    int64_t checked; /* number of elements compared */
    /* The number of these that `ensures` does not decide: rounding may grow without limit, a step may
     * overflow, or a divisor may be 0. They are not judged. More than 1 in 20: TW_UNSUPPORTED. */
    int64_t undecided;
    /* The number of judged elements that are NaN both in the array and in `ensures`: they test no
     * value. */
    int64_t nans;
} tw_verdict;
TW_SIZED(tw_verdict);

/* Evaluates `ensures` in double on the arrays as they are now, and compares, with a tolerance
 * that follows from types and sizes. verdict: filled on TW_OK and TW_WRONG_VALUES; may be NULL.
 * If an output overlaps an input, the run has overwritten the input; call tw_launch_keep_inputs
 * before the run. Returns TW_OK, TW_WRONG_VALUES with the element as a message, TW_UNSUPPORTED if
 * there is no `ensures` or it cannot be evaluated, or TW_FAULT if the launch was the last one that
 * tw_launch_start started and left `clean` workspace that is not 0. */
TW_API tw_status tw_launch_verify(tw_launch *l, tw_verdict *verdict);

/* Lets each later run copy the inputs that an overlapping output may overwrite, for verification.
 * Without overlap it copies nothing. Runs by tw_launch_start do not copy. Returns TW_OK, or
 * TW_BAD_ARGUMENT for NULL. */
TW_API tw_status tw_launch_keep_inputs(tw_launch *l, bool keep);

/* An element that is not what `ensures` says. */
typedef struct tw_wrong {
    const char *view, *param; /* the view, and the parameter of its array */
    int rank;
    int64_t extent[TW_MAX_RANK], at[TW_MAX_RANK]; /* extents of the view, indices of the element */
    int64_t element;                              /* number of the element in the array */
    double got, want;
} tw_wrong;

/* Verifies as tw_launch_verify does, and calls `each` for every wrong element. `w` is valid
 * during the call, which must not call into the context. Returns the statuses of
 * tw_launch_verify. */
TW_API tw_status tw_launch_each_wrong(tw_launch *l, void (*each)(void *user, const tw_wrong *w),
                                      void *user);

/* Checks one variant without running it: the tuned values, types and statics that are set. It
 * needs no arrays. A static that an extent needs and that is not set gets a small value, which a
 * note names. Returns TW_OK; TW_UNSYNCHRONISED if the synchronisation check has findings;
 * TW_BAD_PROGRAM for other errors. */
TW_API tw_status tw_launch_check(tw_launch *l);

/* Returns the reason why the synchronisation check cannot decide whether this variant's accesses
 * to shared memory race. NULL: it can, or the variant does not compile. Valid as long as the
 * module. */
TW_API const char *tw_launch_undecided(tw_launch *l);

#ifdef __cplusplus
}
#endif
#endif
