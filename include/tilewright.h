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
 * 5 verification, 6 looking inside, 7 simulation, 8 on a GPU, 9 from an engine, 10 ahead of time,
 * 11 tuning, 12 why a kernel is as fast as it is.
 *
 * Threads: a context and all that was made from it belong to one thread at a time; different
 * contexts are independent, so that threads compile and launch at the same time with one each.
 * Entries (section 9) are started from any thread. Callbacks must not call into the context that
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

#define TW_VERSION "0.1.0"

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
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
TW_API const char *tw_version(void);

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

/* An array of the caller's, row-major and contiguous, not kept past the launch it was given to. */
typedef struct tw_array {
    void *data;
    tw_dtype dtype;
    int rank;
    int64_t shape[TW_MAX_RANK]; /* elements along each axis */
    tw_place place;             /* TW_ON_HOST is 0 */
} tw_array;

/* A scalar: integers and bool in i; floats in f, with is_float = true (f alone is refused). */
typedef struct tw_scalar {
    bool is_float;
    int64_t i;
    double f;
} tw_scalar;

/* --- 2. Contexts and messages --- */

typedef struct tw_context tw_context;
typedef struct tw_module tw_module;
typedef struct tw_kernel tw_kernel;
typedef struct tw_launch tw_launch;
typedef struct tw_entry tw_entry;

typedef struct tw_config {
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
} tw_config;

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
    const tw_edit *edits;
    int edit_count; /* 0: it takes more than a change of the text */
    /* The accesses of a race, a copy under way and the like; the one at `line` first. */
    const tw_access *accesses;
    int access_count;
} tw_message;
/* The same one by one, each followed by its notes. If there were too many errors, the last note says
 * how many were left out. The `shown` of all messages, joined, are tw_context_messages. Returns false
 * when index is past the last. */
TW_API bool tw_context_message(const tw_context *ctx, int index, tw_message *out);

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
    const char *name;
    bool is_pointer, is_const, is_static;
    bool is_ensured;       /* a pointer: an `ensures` speaks of what is there after a launch */
    tw_dtype dtype;        /* TW_DTYPE_NONE when `type_name` decides */
    const char *type_name; /* type variable, or NULL */
    /* Pointers: axes of the first view without strides and offset; 0: none. */
    int rank;
    const char *dims[TW_MAX_RANK]; /* the axes as written: "m", "k" */
} tw_param;
TW_API int tw_kernel_param_count(const tw_kernel *k);
TW_API tw_status tw_kernel_param(const tw_kernel *k, int index, tw_param *out);

typedef struct tw_tune {
    const char *name;
    int group; /* names with the same group vary together */
    int count;
    const tw_scalar *values; /* the first is the default */
} tw_tune;
TW_API int tw_kernel_tune_count(const tw_kernel *k);
TW_API tw_status tw_kernel_tune(const tw_kernel *k, int index, tw_tune *out);

/* A type variable that the kernel uses: `type T = {f16, bf16, f32};`. */
typedef struct tw_type {
    const char *name;
    int count;
    const tw_dtype *choices; /* the first is the default */
} tw_type;
TW_API int tw_kernel_type_count(const tw_kernel *k);
TW_API tw_status tw_kernel_type(const tw_kernel *k, int index, tw_type *out);

/* An expression of the text, for a program that changes the text. Lines and columns count from 1,
 * columns and lengths in bytes. Parentheses around the whole are no part of it. */
typedef struct tw_expression {
    int line, column, length;
    /* "+" between the operands `left` and `right`. All three are NULL if it is no such expression,
     * or one of more than 64 levels. */
    const char *op;
    const struct tw_expression *left, *right;
    const char *name; /* if it is a name alone, else NULL */
    bool is_number;   /* it is an integer literal, with the value `number` */
    int64_t number;
} tw_expression;
typedef struct tw_element {
    tw_expression index[TW_MAX_RANK];
} tw_element;
/* An array in shared memory that the kernel's text declares. */
typedef struct tw_shared_array {
    const char *name;
    int line, column; /* of the name */
    int rank;
    tw_expression extents[TW_MAX_RANK];
    bool by_element; /* the text uses its elements alone: no slice, never the whole array */
    int element_count;
    const tw_element *elements; /* in the order of the text */
} tw_shared_array;
/* `const i32 T = 32`, of the kernel or the module: a name for a literal. */
typedef struct tw_named_number {
    const char *name;
    tw_expression value;
} tw_named_number;
typedef struct tw_written {
    int shared_count, number_count;
    const tw_shared_array *shared;
    const tw_named_number *numbers;
} tw_written;
/* Tells how the kernel's text declares and uses arrays in shared memory, and which integers it names.
 * A name that the kernel declares twice is left out. Returns TW_OK, TW_NO_MEMORY, or TW_BAD_ARGUMENT
 * if `k` or `out` is NULL. *out is valid until the module is freed. */
TW_API tw_status tw_kernel_written(tw_kernel *k, tw_written *out);

/* Whether every `require` allows these tuned values, one for each index of tw_kernel_tune. If not,
 * *violated (may be NULL) is the text of the first that does not, valid until the next call on the
 * context. false with *violated NULL, and a message of the context: a value is none of its name, as
 * tw_launch_tune refuses it (`.f` without `.is_float`, a float for an integer). */
TW_API bool tw_kernel_allows(const tw_kernel *k, const tw_scalar *tuned, const char **violated);
/* The same, for a search. If *allowed is false, the first *decided values cause it: no listed values
 * of later names change that, so the search can leave them out.
 * TW_BAD_ARGUMENT as above, with a message. */
TW_API tw_status tw_kernel_decides(tw_kernel *k, const tw_scalar *tuned, bool *allowed,
                                   int *decided);

/* --- 4. Launches --- */

/* A launch gathers what one run needs: tuned values, types, sizes, arrays. Names are the kernel's.
 * It can be run again, and changed in between; each different choice of tuned values, types and
 * statics is compiled once and kept. */
TW_API tw_status tw_launch_new(tw_kernel *k, tw_launch **out);
TW_API void tw_launch_free(tw_launch *l);

/* Scalar parameter; tuned value (any, listed or not); type variable. A float for an integer, and
 * what the type cannot hold, is refused here. */
TW_API tw_status tw_launch_set(tw_launch *l, const char *param, tw_scalar value);
TW_API tw_status tw_launch_tune(tw_launch *l, const char *name, tw_scalar value);
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
TW_API tw_status tw_launch_value(tw_launch *l, const char *name, tw_scalar *out);
TW_API tw_status tw_launch_shape(tw_launch *l, const char *param, tw_array *out); /* data NULL */

/* Prepares if need be, runs, waits. Every parameter with a view needs an array. For a GPU's kernel
 * arrays of the host are copied there, and those that the kernel may write back; arrays on the
 * device are used in place, in the default stream (section 8 has other streams). TW_FAULT: the
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
/* Finds the constant that the program compares an integer parameter with (`if (n == 7)`), by index
 * from 0. Runs with that value and with its neighbours take both branches. Returns TW_NOT_FOUND when there is none left, or
 * the status of a program that does not compile. *param lives as long as the kernel. */
TW_API tw_status tw_launch_compared(tw_launch *l, int index, const char **param, int64_t *value);

/* --- 6. Looking inside --- */

/* The typed program after `pass` (NULL: after the last; "check": before any), as the kernel's
 * target has it, as text that compiles again. Names of passes: tw_pass_name. Valid until the launch
 * is freed or shown again. Statics that extents need and that were not set get a small value, named
 * in a warning. */
TW_API tw_status tw_launch_show(tw_launch *l, const char *pass, const char **text);
/* A statement of that text. */
typedef struct tw_shown_line {
    int line;         /* of the text, from 1 */
    const char *file; /* where it is in the source; NULL: not known */
    int source_line, source_column;
    bool added; /* by the compiler */
} tw_shown_line;
/* The index-th statement of the latest tw_launch_show, in the order of the text. false: past the
 * last. Valid as the text. */
TW_API bool tw_launch_shown_line(const tw_launch *l, int index, tw_shown_line *out);
/* What a GPU gets of it (docs/lowering.md): */
typedef enum tw_stage {
    TW_STAGE_LAYOUT, /* for people: who holds what, where it lies, what each access costs */
    TW_STAGE_PTX     /* the program that is assembled */
} tw_stage;
/* For a launch of a kernel from tw_kernel_for_target; TW_BAD_ARGUMENT for one of the host's. Sizes
 * need not be set; what is set is used as in a launch. No GPU is needed. Valid as from
 * tw_launch_show. */
TW_API tw_status tw_launch_show_stage(tw_launch *l, tw_stage stage, const char **text);

/* A tile: in registers, its elements distributed over the threads of a block; in shared memory; or
 * a scalar that each thread has in a register (rank 0, no layout). Elements are in row-major order. */
typedef struct tw_tile {
    const char *name; /* in the program; NULL: it has none */
    const char *what; /* of those: "dot at 20:9, sum"; else NULL */
    bool shared;
    tw_dtype type; /* TW_DTYPE_NONE: not known */
    int bits;      /* of an element */
    int rank;
    int64_t shape[TW_MAX_RANK];
    const char *layout; /* as text (docs/lowering.md); NULL: a scalar */
    /* Shared: the offset in the block's memory (-1: not known), bytes, "plain", "swizzled" …, and
     * where each element lies, in bytes from the offset. */
    int64_t offset, bytes;
    const char *form;
    const uint32_t *places;
    /* In registers: elements that a thread holds, and how many of them share a register; how often
     * one element is held at most; for each element the thread that holds it (the first), and its
     * number among those that this thread holds. Number n is in registers[n / in_register]. */
    int held, in_register, copies;
    const int32_t *threads, *numbers;
    int register_count; /* 0: not known, or it has registers for a part of the time only */
    const char *const *registers; /* their names in the PTX: "%f0" */
} tw_tile;
/* An access to memory, as it was planned. */
typedef struct tw_tile_access {
    int line, column; /* 0: of the compiler's own */
    const char *tile; /* the view or tile; NULL: scratch of the compiler's own */
    bool shared, store;
    const char *how;           /* "ldmatrix.x4" */
    int bytes;                 /* of a lane */
    int64_t instructions;      /* of all warps of a block */
    int64_t wavefronts, least; /* shared: of all warps; 0: not known */
} tw_tile_access;
typedef struct tw_layouts {
    int block[3];
    int64_t shared_bytes; /* of a block */
    int registers;        /* of a thread, estimated */
    int tile_count;
    const tw_tile *tiles;
    int access_count;
    const tw_tile_access *accesses;
} tw_layouts;
/* Gives tables of the same facts as TW_STAGE_LAYOUT. Returns the statuses of tw_launch_show_stage; the
 * tables are valid as long as its text. */
TW_API tw_status tw_launch_layouts(tw_launch *l, tw_layouts *out);
TW_API const char *tw_pass_name(int index); /* NULL past the last */
TW_API const char *tw_pass_summary(int index);

typedef struct tw_device {
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
TW_API bool tw_device_at(int index, tw_device *out); /* false past the last */

/* --- 7. Simulation --- */

/* The simulator runs PTX on the host as a GPU would, in warps of 32 lanes, and looks at it while it
 * runs. No GPU is needed. */
enum {
    TW_WATCH_RACES = 1, /* accesses of the same bytes that nothing orders, copies not waited for */
    TW_WATCH_BARRIERS = 2, /* divergence, counts, phases, who waits for whom in a deadlock */
    TW_WATCH_MEMORY = 4,   /* bounds, alignment, bytes read that nobody wrote */
    TW_WATCH_COUNTERS = 8, /* what the hardware counts: instructions, wavefronts, sectors */
    TW_WATCH_CHECKS = 7,
    TW_WATCH_ALL = 15,
    /* Barriers of a block that open without threads that have left the kernel, and
     * TW_WATCH_BARRIERS. Since sm_70 such a barrier waits for those that are left. */
    TW_WATCH_EXITS = 16,
    /* tw_launch_simulate: what arrays hold of which the kernel's `ensures` speaks counts as never
     * written, for TW_WATCH_MEMORY. */
    TW_WATCH_OUTPUTS = 32
};

/* The severity of findings that are warnings by default. */
typedef enum tw_counts {
    TW_COUNTS_WARNING,
    TW_COUNTS_ERROR, /* they fail the run */
    TW_COUNTS_NOT    /* they are not reported */
} tw_counts;

/* A trace: what one block did, event by event (docs/trace.md). */
typedef enum tw_trace_format {
    TW_TRACE_BINARY, /* columns for typed arrays, with a head in JSON */
    TW_TRACE_CHROME  /* JSON, the trace events of Chrome and Perfetto */
} tw_trace_format;
typedef struct tw_trace_options {
    tw_trace_format format;
    int64_t block[3]; /* the block that is traced, by its index in the grid */
    int64_t from; /* leaves out events before the block has executed this many warp instructions */
    int64_t events; /* events that are kept at most; 0: 200000 */
    /* Asks where bytes of an array come from (tw_sim_result.why): its parameter; NULL: asks nothing.
     * The path is that of the traced block, of which no events must be left out. */
    const char *why;
    int64_t why_offset, why_bytes;
} tw_trace_options;

/* One entry of a chosen order: a warp of the block, and how many instructions it may do then; 0: until
 * it waits for others or ends. */
typedef struct tw_sim_turn {
    int warp;
    int64_t steps;
} tw_sim_turn;

/* A write of another block of the launch, of a value that the traced block read. */
typedef struct tw_why_writer {
    int64_t block[3];
    int warp, lane;
    int line, column; /* 0: not known */
    const char *text; /* the expression there; NULL: not known */
    int64_t write;    /* which of the block's writes and updates of global memory, from 0 */
} tw_why_writer;

/* A part of the way of a value. */
typedef struct tw_why_step {
    const char *kind; /* of the trace: "read", "write", "update", "compute", "mma", "release" */
    int64_t time;
    int warp;
    uint32_t lanes;
    int line, column; /* 0: not known */
    const char *text; /* the expression there; NULL: not known */
    int64_t event;    /* of the trace; -1: it is not in there */
    int64_t products; /* multiplications that the value comes from */
    /* "as[0][1]": what it reads or writes of the value's origins. */
    int element_count;
    const char *const *elements;
    /* The event in which another warp writes one of them between the same barriers: nothing orders
     * the two. -1: there is none. */
    int64_t races;
    /* Writes of other blocks that it read: the value's way goes on there. */
    int writer_count;
    const tw_why_writer *writers;
} tw_why_step;
/* The origin of an element's value: the writes, reads and products, back to the arrays as
 * the launch found them; conditions and addresses are no part of it. */
typedef struct tw_why {
    int64_t block[3]; /* the block that wrote it last; -1, -1, -1: none did */
    int thread;       /* of the traced block; -1: that block did not write it */
    int64_t products;
    int64_t global_reads, global_writes, shared_reads, shared_writes; /* elements */
    bool complete;                                                    /* no events are missing */
    int step_count;
    const tw_why_step *steps; /* in order of time, with the barriers that the warp left meanwhile */
} tw_why;

typedef struct tw_sim_options {
    /* TW_WATCH_…; 0: only what ends a launch by itself: bounds, traps, deadlock, and an `assume` or
     * a slice marked `inside` that is false. These claims are not checked with TW_WATCH_COUNTERS,
     * which counts the program as a GPU runs it. */
    unsigned watch;
    uint64_t seed;   /* of the order of warps and blocks: the same seed, the same run; 0: in turn */
    bool late;       /* asynchronous copies land as late as the rules allow; else at once */
    int64_t late_by; /* with `late`: a copy lands after this many instructions of its warp, if
                        nothing waits for it before; 0: when something waits for it */
    int64_t step_limit; /* warp instructions; 0: 2^40 */
    /* Findings to let pass: lines "kind [place [place]]", '#' starts a comment; a place is
     * file:line or the name of a function, '*' in it any text. NULL: none. */
    const char *suppressions;
    const char *suppressions_name; /* their file, for messages; may be NULL */
    tw_counts same_value;          /* "same-value": unordered writes of one value */
    /* "volatile": volatile accesses that nothing orders; TW_COUNTS_NOT: nor is "volatile-race"
     * reported, volatile writes of different values, which is an error otherwise. */
    tw_counts volatiles;
    /* Traces a block. As with TW_WATCH_COUNTERS, claims are not checked then. A block that the grid
     * does not have is TW_BAD_ARGUMENT. NULL: no trace. */
    const tw_trace_options *trace;
    /* The order in which the warps of each block get their turns, over and over; warps that it does
     * not have come after it, each until it waits. NULL: in the order of their numbers. Blocks run
     * one after the other. With an order `seed` is 0. */
    const tw_sim_turn *order;
    int order_count;
    bool source_only; /* the text of a finding leaves out the place in the PTX if .loc says the
                         place in the source */
} tw_sim_options;

/* The counts of the hardware (TW_WATCH_COUNTERS): the name, how counts of two launches are joined, and what
 * it counts. The counts are of the accesses as the PTX has them; JSON and docs/messages.md have the same
 * names. async_overlap is a mean, of which the greater one is kept. */
#define TW_COUNTER_LIST(X)                                                                         \
    X(warp_instructions, SUM, "instructions, once a warp")                                         \
    X(thread_instructions, SUM, "instructions, once a thread")                                     \
    X(busiest_warp, MOST, "instructions of the warp that runs the most; of no line")               \
    X(shared_loads, SUM, "warp instructions that read shared memory, ldmatrix too")                \
    X(shared_stores, SUM,                                                                          \
      "warp instructions that write it, stmatrix too, asynchronous copies not")                    \
    X(shared_atomics, SUM, "atomic ones on it; their wavefronts are not counted")                  \
    X(shared_wavefronts, SUM, "wavefronts of shared memory")                                       \
    X(shared_wavefronts_ideal, SUM, "the fewest that these accesses could take")                   \
    X(bank_conflicts, SUM, "wavefronts above those")                                               \
    X(global_loads, SUM, "warp instructions that read global memory")                              \
    X(global_stores, SUM, "that write it")                                                         \
    X(global_atomics, SUM, "atomic ones on it; not among requests and sectors")                    \
    X(global_requests, SUM, "loads, stores and asynchronous copies from global memory")            \
    X(global_sectors, SUM, "sectors of 32 bytes that those touch")                                 \
    X(block_sectors, MOST, "sectors of the block that touches the most; of no line")               \
    X(local_accesses, SUM, "warp instructions on local memory")                                    \
    X(async_copies, SUM, "asynchronous copies, once a warp")                                       \
    X(async_bytes, SUM, "bytes that they write")                                                   \
    X(async_depth, MOST, "groups of them under way at most, while a thread reads shared memory")   \
    X(async_overlap, MOST,                                                                         \
      "bytes of a warp's copies under way, on average, when it reads shared memory")

/* Each is a sum but busiest_warp, block_sectors and async_depth, the most of any, and async_overlap. */
typedef struct tw_counters {
#define TW_COUNTER_FIELD(name, joined, what) int64_t name;
    TW_COUNTER_LIST(TW_COUNTER_FIELD)
#undef TW_COUNTER_FIELD
} tw_counters;

/* Kinds of instructions, and their names. */
#define TW_KIND_LIST(X)                                                                            \
    X(TW_KIND_F64, "f64")                                                                          \
    X(TW_KIND_F32, "f32")                                                                          \
    X(TW_KIND_F16, "f16")                                                                          \
    X(TW_KIND_INTEGER, "integer")                                                                  \
    X(TW_KIND_BITS, "bits")                                                                        \
    X(TW_KIND_COMPARE, "compare")                                                                  \
    X(TW_KIND_CONVERT, "convert")                                                                  \
    X(TW_KIND_MOVE, "move")                                                                        \
    X(TW_KIND_SHARED, "shared")                                                                    \
    X(TW_KIND_GLOBAL, "global")                                                                    \
    X(TW_KIND_LOCAL, "local")                                                                      \
    X(TW_KIND_CONST, "const")                                                                      \
    X(TW_KIND_GENERIC, "generic")                                                                  \
    X(TW_KIND_ATOMIC, "atomic")                                                                    \
    X(TW_KIND_ASYNC, "async")                                                                      \
    X(TW_KIND_BARRIER, "barrier")                                                                  \
    X(TW_KIND_LANES, "lanes")                                                                      \
    X(TW_KIND_CONTROL, "control")                                                                  \
    X(TW_KIND_MATRIX, "matrix")                                                                    \
    X(TW_KIND_OTHER, "other")

typedef enum tw_kind {
#define TW_KIND_ENUM(name, text) name,
    TW_KIND_LIST(TW_KIND_ENUM)
#undef TW_KIND_ENUM
        TW_KIND_COUNT
} tw_kind;

/* The counters of a line of the source, or of the PTX where it has no .loc; line 0: not known. */
typedef struct tw_line_counters {
    const char *file;
    int line;
    tw_counters counters;
} tw_line_counters;

typedef struct tw_counted {
    tw_counters total;
    int64_t instructions[TW_KIND_COUNT]; /* warp instructions of each kind */
    int line_count;
    const tw_line_counters *lines; /* by file and line */
} tw_counted;

typedef struct tw_sim_finding {
    /* "race", "out-of-bounds", "divergent-barrier", …; of what ended a launch and no other finding
     * says: "deadlock", "endless" (the step limit), "fault", "unsupported", "stopped" */
    const char *kind;
    const char *message; /* one line */
    bool fails;          /* false: a warning, or suppressed */
    bool suppressed;
    const char *file; /* of the first access, as .loc says it or else in the PTX; NULL: no place */
    int line, column;
    const char *other_file; /* of the second, NULL: there is none */
    int other_line, other_column;
    tw_code code; /* of `kind` */
    const tw_access *accesses;
    int access_count;
    int64_t count;    /* how often it was seen */
    const char *text; /* with source lines, both accesses, and an order of events that goes wrong */
    const char *json; /* one object: kind, fails, count, message, accesses, steps */
} tw_sim_finding;

/* Texts are valid until the launch or program that was simulated is freed or simulated again. */
typedef struct tw_sim_result {
    int64_t failures; /* findings that fail */
    int finding_count;
    const tw_sim_finding *findings; /* each kind and pair of lines once */
    int64_t warp_instructions;
    double seconds;            /* of the host */
    const char *ended;         /* what ended it before its end, with the place; NULL: it was done */
    const char *report;        /* all of it to be read; "" if there is nothing to say */
    const tw_counted *counted; /* NULL without TW_WATCH_COUNTERS */
    const char *counters; /* a table to be read, "" without TW_WATCH_COUNTERS; the same in JSON: */
    /* An object: in all, and by line in "lines"; NULL without. Of tw_ptx_simulate it has besides
     * "as_assembled", what they are for the machine code: "exact", whether that is known, a pair
     * [least, most] (null: nobody knows) for each counter of memory, "lines" with those that are
     * not exact and "why"; "assembler", null if tw_ptx_machine_code was not given any. */
    const char *counters_json;
    /* An object: "findings" (each kind, message, accesses, …), "ended", "warp_instructions" and,
     * where they were asked for, "counters". */
    const char *json;
    const void *trace; /* `trace_bytes` bytes, as tw_sim_options.trace says; NULL: none */
    size_t trace_bytes;
    const tw_why *why; /* as tw_trace_options.why asks; NULL: it does not */
} tw_sim_result;

/* Lets tw_launch_simulate run a kernel whose accesses race (TW_UNSYNCHRONISED), so that what comes of
 * the race can be seen. false is the default. A GPU never gets such a program: other runs of the launch
 * give TW_UNSUPPORTED, and tw_launch_check reports its races all the same. TW_BAD_ARGUMENT: the kernel is
 * for the target "cpu". */
TW_API tw_status tw_launch_despite_races(tw_launch *l, bool despite);

/* Runs a launch of a kernel from tw_kernel_for_target: the very PTX that the GPU would get, on the
 * launch's arrays, in place. options NULL: all checks, in turn; result NULL is fine. TW_OK;
 * TW_FAULT: the messages say what was found, or what ended it: a fault, a deadlock, the step limit;
 * TW_UNSUPPORTED: an instruction that is not simulated, named; TW_CANCELLED. */
TW_API tw_status tw_launch_simulate(tw_launch *l, const tw_sim_options *options,
                                    tw_sim_result *result);

/* A PTX program, of any compiler. */
typedef struct tw_ptx tw_ptx;
/* Reads, verifies and copies it. On TW_BAD_PROGRAM the messages say why and *out is NULL. */
TW_API tw_status tw_ptx_from_text(tw_context *ctx, const char *name, const char *text,
                                  size_t length, tw_ptx **out);
TW_API tw_status tw_ptx_from_file(tw_context *ctx, const char *path, tw_ptx **out);
TW_API void tw_ptx_free(tw_ptx *p);
TW_API int tw_ptx_kernel_count(const tw_ptx *p);
TW_API const char *tw_ptx_kernel_at(const tw_ptx *p, int index); /* its name; NULL past the last */
/* What C++ called it, in no namespace or in any: "sum" of _Z3sumPfi and of _ZN2ns3sumIfEEvPT_i; of
 * other names the whole. Kernels may share one. NULL past the last. */
TW_API const char *tw_ptx_kernel_called(const tw_ptx *p, int index);
/* Threads of a block that it asks for (.reqntid, or .maxntid as a limit); false: it asks for none. */
TW_API bool tw_ptx_block(const tw_ptx *p, const char *kernel, int block[3]);

typedef struct tw_ptx_param {
    const char *name; /* "reduce_param_0" */
    const char *type; /* ".u64", ".f32", ".b8[24]" */
    size_t bytes, alignment;
} tw_ptx_param;
TW_API int tw_ptx_param_count(const tw_ptx *p, const char *kernel); /* -1: no such kernel */
TW_API tw_status tw_ptx_param_at(const tw_ptx *p, const char *kernel, int index, tw_ptx_param *out);
/* The files that .loc lines name; NULL past the last. */
TW_API const char *tw_ptx_source_at(const tw_ptx *p, int index);
/* The text of such a file, copied, so that reports show its lines. */
TW_API tw_status tw_ptx_source(tw_ptx *p, const char *name, const char *text, size_t length);
/* What it says it is for: "sm_90". */
TW_API const char *tw_ptx_target(const tw_ptx *p);
/* What `ptxas -lineinfo` made of the text: a cubin, copied. An assembler may merge accesses, or
 * move them; with it counters are those of the accesses that the machine code has. TW_BAD_PROGRAM:
 * it is none, or has no lines. */
TW_API tw_status tw_ptx_machine_code(tw_ptx *p, const void *cubin, size_t length);

/* A pointer within a value, as a struct has them: what it points to, as in tw_ptx_argument. */
typedef struct tw_ptx_pointer {
    size_t offset;    /* in the value: its 8 bytes get the address */
    const char *name; /* in reports; NULL: "PARAMETER+OFFSET" */
    void *data;
    size_t bytes;
    bool uninitialised;
    size_t initialised;
    bool structs;
} tw_ptx_pointer;

/* What a kernel is given for a parameter: a value (`data` has as many bytes as the parameter), or
 * the address of memory that is the caller's and is used in place. Memory that is given twice, or
 * overlaps, is the same memory for the kernel too. */
typedef struct tw_ptx_argument {
    const char *name; /* in reports; NULL: the parameter's */
    void *data;
    size_t bytes;
    bool is_array;
    bool uninitialised; /* an array: what it holds counts as never written */
    size_t initialised; /* if uninitialised: the bytes at the start that count as written */
    const tw_ptx_pointer *pointers; /* of a value */
    int pointer_count;
    /* For a value: `bytes` flags, one for each byte. A byte whose flag is not 0 counts as never
     * written, and the simulator reports its use. NULL: all bytes count as written. */
    const unsigned char *unwritten;
    /* An array whose elements may be structs: a kernel may copy bytes there that were never written,
     * as it does with padding. In other arrays that is a finding, "uninitialised". */
    bool structs;
} tw_ptx_argument;

typedef struct tw_ptx_launch {
    const char *kernel; /* NULL: the only one */
    int64_t grid[3];    /* 0 counts as 1 in these three */
    int block[3], cluster[3];
    int64_t shared_bytes; /* dynamic shared memory of a block */
    const tw_ptx_argument *arguments;
    int argument_count;
    /* All blocks run at the same time, so that they may wait for each other: a grid's sync() of
     * cooperative groups. */
    bool cooperative;
} tw_ptx_launch;
/* As tw_launch_simulate. TW_NOT_FOUND: no such kernel. */
TW_API tw_status tw_ptx_simulate(tw_ptx *p, const tw_ptx_launch *launch,
                                 const tw_sim_options *options, tw_sim_result *result);
/* On the GPU that is here: arrays are copied there and back. milliseconds (of the kernel) may be
 * NULL. TW_UNSUPPORTED: there is none, or it does not take the program. */
TW_API tw_status tw_ptx_run(tw_ptx *p, const tw_ptx_launch *launch, double *milliseconds);

/* --- 8. On a GPU --- */

/* A context has one GPU, tw_config.device, opened by the first call that needs it: the driver
 * library is looked for at run time, first where TILEWRIGHT_CUDA_DRIVER (a file) says. It works in
 * the GPU's primary context, the one of the CUDA runtime and of the frameworks on it, so that their
 * memory and streams serve here and ours there. All calls: TW_UNSUPPORTED where there is no GPU;
 * TW_FAULT where the driver refuses or a kernel failed, with its words and what to do as a message.
 * After a kernel's failure the GPU is lost to this process, as the driver has it: each later call
 * says so at once, and freeing still frees.
 *
 * A stream is a CUstream, or a cudaStream_t, which is the same; NULL: the default stream. What is
 * in one stream happens in order. Streams of tw_stream_new wait for the default stream, and it for
 * them. */

/* Device memory, aligned to 256 bytes, not initialised. TW_NO_MEMORY where the GPU has no more. */
TW_API tw_status tw_device_allocate(tw_context *ctx, size_t bytes, void **address);
/* TW_BAD_ARGUMENT for what tw_device_allocate did not give; NULL is fine. Waits for what uses it,
 * so a capture in global mode, of whatever thread, refuses it and is lost. */
TW_API tw_status tw_device_free(tw_context *ctx, void *address);
/* Between host and device, in the stream's order; done on return. Not in a capture. */
TW_API tw_status tw_device_copy_in(tw_context *ctx, void *to, const void *from, size_t bytes,
                                   void *stream);
TW_API tw_status tw_device_copy_out(tw_context *ctx, void *to, const void *from, size_t bytes,
                                    void *stream);
/* In the stream's order; does not wait. */
TW_API tw_status tw_device_fill(tw_context *ctx, void *to, int byte, size_t bytes, void *stream);

TW_API tw_status tw_stream_new(tw_context *ctx, void **stream);
TW_API tw_status tw_stream_free(tw_context *ctx, void *stream); /* what is in it is still done */
/* Until all of it is done. TW_FAULT: one of its kernels failed. */
TW_API tw_status tw_stream_wait(tw_context *ctx, void *stream);

/* An event is a CUevent: a place in a stream. */
TW_API tw_status tw_event_new(tw_context *ctx, void **event);
TW_API tw_status tw_event_free(tw_context *ctx, void *event);
TW_API tw_status tw_event_record(tw_context *ctx, void *event, void *stream);
/* Waits for `to`; the GPU's time from one to the other. */
TW_API tw_status tw_event_elapsed(tw_context *ctx, void *from, void *to, double *milliseconds);

/* All that a launch needs before it can be started in that stream: compiles, loads the program,
 * provides the workspace that it shares with the other launches of that stream. Captures of other
 * streams are not disturbed. TW_BAD_ARGUMENT: the kernel is not a GPU's, or an array is missing or
 * on the host. */
TW_API tw_status tw_launch_ready(tw_launch *l, void *stream);
/* Starts it in the stream and does not wait: the next call on the stream that waits reports a fault
 * of the kernel. After tw_launch_ready (or a start before) with this stream it does nothing but
 * enqueue, so it may be captured into a graph; the graph uses the workspace of the stream that was
 * captured, until that is freed: what uses that workspace otherwise must not run at the same time.
 * Else it makes the launch ready first, which a capture refuses. */
TW_API tw_status tw_launch_start(tw_launch *l, void *stream);

/* How it is started. All zero: as tw_launch_start does. */
typedef struct tw_launch_attributes {
    /* Blocks that run close together, along each axis; 0 counts as 1. TW_UNSUPPORTED where the GPU
     * (below 9.0) or the driver (before CUDA 11.8) has no clusters, or the grid is no multiple. */
    int cluster[3];
    int priority; /* as of streams: less goes first, 0 is the default */
    /* Need not wait for what is in the stream before it ("programmatic stream serialization"):
     * right only if it reads nothing that this writes, and nothing behind it relies on both. */
    bool overlap;
} tw_launch_attributes;
/* Priority and overlap are permissions: where the driver or the GPU does not know them, they go
 * without saying. attributes NULL: none. */
TW_API tw_status tw_launch_start_with(tw_launch *l, void *stream,
                                      const tw_launch_attributes *attributes);

typedef struct tw_occupancy {
    int threads;                /* of a block */
    int registers, local_bytes; /* of a thread; local memory is where registers spill */
    int64_t shared_bytes;       /* of a block */
    int blocks;                 /* that a multiprocessor runs at the same time */
} tw_occupancy;
/* What the launch's kernel takes of the GPU, as it is loaded. Arrays may be missing. */
TW_API tw_status tw_launch_occupancy(tw_launch *l, tw_occupancy *out);

/* Compiles and assembles it, and leaves it in the cache (tw_config.cache) without loading it:
 * whoever runs it later, also in another process, need not. Arrays may be missing. */
TW_API tw_status tw_launch_assemble(tw_launch *l);

/* The cache of the context. */
typedef struct tw_cache {
    const char *folder; /* NULL: kernels are not kept */
    int64_t limit_bytes, bytes;
    int64_t kernels;
    const char *trouble; /* why none can be kept; NULL: they can */
} tw_cache;
TW_API tw_status tw_context_cache(tw_context *ctx, tw_cache *out); /* texts as of a message */

/* Arrays of other libraries, as DLPack describes them (dlpack.h). `tensor` is a DLTensor or a
 * DLManagedTensor, which begins with one; of a DLManagedTensorVersioned its dl_tensor. Its array is
 * taken in place, as tw_launch_array does: it must stay, and work on it in other streams must be
 * waited for. It is on the host (pinned, too), on the context's GPU or in managed memory; row-major
 * without gaps. TW_UNSUPPORTED: an element type or device that there is none of here. */
TW_API tw_status tw_launch_dlpack(tw_launch *l, const char *param, const void *tensor);
/* The other way: a DLManagedTensor of an array that begins where memory of tw_device_allocate does.
 * That memory is the tensor's from then on, and what is in flight on it must have been waited for:
 * whoever takes the tensor calls its deleter once, from any thread, which frees it, also after the
 * context is gone. (`resize` of tw_config must serve that.) TW_BAD_ARGUMENT: it is other memory. */
TW_API tw_status tw_device_dlpack(tw_context *ctx, const tw_array *array, void **managed);

/* --- 9. From an engine --- */

/* An entry is a kernel with types and tuned values fixed, started with arguments by position from
 * any number of threads at once:
 *
 *     tw_entry_new(l, &entry);                        // l: types and tuned values, no sizes
 *     tw_argument args[] = {tw_integer(m), tw_integer(n), tw_integer(k), // as the kernel has them
 *                           tw_pointer(a), tw_pointer(b), tw_pointer(c)};
 *     tw_entry_start(entry, args, 6, stream);
 *
 * From the arguments follows which variant it is: values of statics, which integers are multiples
 * of 16, which addresses are. The first start of each variant compiles and loads it. Later ones
 * find it without a lock and check the arguments.
 *
 * A GPU's kernel takes a stream and one call of the driver, provided that the GPU's primary context
 * is current in the thread (a thread that has none gets it with its first start), and that the
 * kernel neither has workspace nor is cooperative. The host's kernel runs to its end, on the thread
 * that starts it and on the context's other threads where no other start has them; `stream` is
 * NULL, and TW_FAULT and the like say what the kernel did.
 *
 * Of 64 variants on, arguments that no variant was made for share one without facts about sizes and
 * addresses, for each combination of statics; at 512 in all a start that needs another is refused.
 * None is unloaded before the entry is freed: a graph may have it. */

typedef enum tw_argument_kind { TW_INTEGER = 1, TW_FLOAT, TW_POINTER } tw_argument_kind;
typedef struct tw_argument {
    tw_argument_kind kind;
    union {
        int64_t i;     /* TW_INTEGER: integers and bool; a u64 by its bits */
        double f;      /* TW_FLOAT: rounded to the parameter's type */
        void *pointer; /* TW_POINTER: where the kernel runs, of the type that the entry has */
    };
} tw_argument;

static inline tw_argument tw_integer(int64_t i)
{
    tw_argument a;
    a.kind = TW_INTEGER;
    a.i = i;
    return a;
}

static inline tw_argument tw_float(double f)
{
    tw_argument a;
    a.kind = TW_FLOAT;
    a.f = f;
    return a;
}

static inline tw_argument tw_pointer(const void *address)
{
    tw_argument a;
    a.kind = TW_POINTER;
#ifdef __cplusplus
    a.pointer = const_cast<void *>(address);
#else
    a.pointer = (void *)(uintptr_t)address;
#endif
    return a;
}

/* Takes types and tuned values as a launch would (as set, of its arrays, else the defaults), from a
 * launch, which may change or go afterwards. The entry is compiled for itself and loaded where it
 * is first started. It belongs to the launch's context, of which it uses the threads alone:
 * `resize` of tw_config must be one that several threads may call at once. */
TW_API tw_status tw_entry_new(tw_launch *l, tw_entry **out);
TW_API void tw_entry_free(tw_entry *e); /* once no thread starts it and the GPU is done with it */

/* Starts it: on a GPU in the stream, without waiting. Each argument is checked: TW_BAD_ARGUMENT
 * where there are not as many as parameters, one is of another kind, does not fit its type or is no
 * address of an element (NULL: of an array that has some and is used), two arrays that must not
 * overlap (tw_launch_array) have one address, or where a size that follows from them overflows or
 * the grid is too large. The lengths of arrays are not known: that they are
 * what the views need is the caller's word. Else as tw_launch_start; a capture refuses what was not
 * started or made ready before. */
TW_API tw_status tw_entry_start(tw_entry *e, const tw_argument *arguments, int count, void *stream);
/* All but the start, as tw_launch_ready. */
TW_API tw_status tw_entry_ready(tw_entry *e, const tw_argument *arguments, int count, void *stream);
/* What the latest call on the entry that failed, of whatever thread, had to say: copied, and cut to
 * `size` bytes with the '\0'. Returns its length uncut. */
TW_API size_t tw_entry_message(tw_entry *e, char *text, size_t size);
TW_API int tw_entry_variants(tw_entry *e); /* compiled so far */

/* --- 10. Ahead of time --- */

/* Kernels compiled here and shipped as C: NAME.h with a function for each kernel and choice of
 * types, NAME.c with the kernels as PTX and machine code and all that it takes to launch them on
 * NVIDIA's driver. Nothing of this library is needed where they run (docs/build.md). */
typedef struct tw_build tw_build;
/* `name`: an identifier of C, with which the files and all names in them start. */
TW_API tw_status tw_build_new(tw_context *ctx, const char *name, tw_build **out);
TW_API void tw_build_free(tw_build *b); /* NULL is fine */

/* Values of a scalar parameter, an integer: both ends included, INT64_MIN and INT64_MAX: no end. */
typedef struct tw_size_range {
    const char *param;
    int64_t least, most;
} tw_size_range;

/* For which launches a version is meant. */
typedef struct tw_build_when {
    const char *device; /* the GPU's name as the driver has it, "NVIDIA H200"; NULL: any */
    int range_count;
    const tw_size_range *ranges;
    /* Bytes that divide the address of every array, or the size of an element if that is more; 0:
     * 16, what code for a GPU is best with. */
    int alignment;
} tw_build_when;

/* Compiles the launch's kernel (one from tw_kernel_for_target, of the build's context) for its
 * types, tuned values and static values, all of which must be set, and adds it. Of other integers
 * it counts only whether they are set and divisible by 16: the version is then for launches where
 * they are. A launch takes the first version added that goes with its values and its GPU. when
 * NULL: always. Nothing of the launch is needed afterwards. TW_BAD_PROGRAM: the messages say what
 * is wrong, as from tw_launch_prepare; a build that could not be added to is good for nothing but
 * to be freed. */
TW_API tw_status tw_build_add(tw_build *b, tw_launch *l, const tw_build_when *when);

/* For an assembler: PTX of what was added, each text once. Valid until something is added. */
typedef struct tw_build_image {
    const char *ptx;
    const char *target; /* "sm_90" */
} tw_build_image;
TW_API bool tw_build_image_at(tw_build *b, int index,
                              tw_build_image *out); /* false past the last */
/* What `ptxas -arch=TARGET` made of it, copied: the module takes that where it runs, and ships the
 * PTX itself for the least target only. TW_BAD_PROGRAM: it is no machine code. */
TW_API tw_status tw_build_machine_code(tw_build *b, int index, const void *cubin, size_t length);

/* The two files as texts, valid until the build is changed or freed. */
TW_API tw_status tw_build_texts(tw_build *b, const char **header, const char **source);
/* Writes them as FOLDER/NAME.h and FOLDER/NAME.c: both or none, what was there is replaced whole.
 * TW_NO_FILE, with a message, if it cannot be done. */
TW_API tw_status tw_build_write(tw_build *b, const char *folder);

/* --- 11. Tuning --- */

/* What one choice of tuned values was measured to be, and what it was measured for. */
typedef struct tw_tuned {
    const char *device;  /* "NVIDIA H200"; of the host, its description and threads if set */
    const char *kernel;  /* its name */
    const char *program; /* a hash of its text without comments and lists of tuned values */
    const char *types;   /* "T=f16" */
    /* Which sizes count as alike: "m=4096..8191/16,n=4096,k=4096". A static is itself, since the
     * program is made for it; another integer up to the next power of two, multiples of 16 ("/16")
     * apart from the rest. */
    const char *shape;
    const char *sizes;   /* as measured: "m=4096,n=4096,k=4096" */
    const char *tune;    /* "BM=128,BN=64" */
    const char *why;     /* unless TW_OK: what went wrong */
    const char *version; /* of the library that measured */
    tw_status status;    /* TW_OK, TW_WRONG_VALUES, TW_FAULT, TW_CANCELLED: it took too long, … */
    int samples;         /* measured; 0: not timed */
    double milliseconds; /* their median */
    int64_t measured;    /* when: seconds since 1970 */
} tw_tuned;

/* What this launch, whose sizes are known, would be kept under; `tune` is its choice. `device`
 * NULL: the one that the kernel is for, which needs it to be here. Texts are valid until the next
 * call on the launch. */
TW_API tw_status tw_launch_tuning_key(tw_launch *l, const char *device, tw_tuned *out);
/* The range of sizes that a tw_tuned's `shape` has for each name: the text goes on at *at.
 * divisor: 16, or 1. false: it is at its end. */
TW_API bool tw_shape_next(const char **at, char name[64], int64_t *low, int64_t *high,
                          int *divisor);

typedef struct tw_estimate {
    int64_t shared_bytes; /* of a block; 0 for the host, as are registers and resident */
    int threads;          /* of a block */
    int registers;        /* of a thread, as the compiler expects them of the assembler */
    int64_t blocks;       /* of the grid; 0: not known */
    int resident;         /* blocks that a multiprocessor holds at the same time */
    double cost;          /* lower for what is likely to be faster; no unit */
    uint64_t program;     /* equal for launches that compile to the same program and grid */
} tw_estimate;
/* Compiles the launch as far as that goes without a GPU, and without arrays. multiprocessors: of
 * the GPU, 0: not known. TW_BAD_PROGRAM: the target does not take it, the messages say why. */
TW_API tw_status tw_launch_estimate(tw_launch *l, int multiprocessors, tw_estimate *out);

/* What `ensures` says for one set of inputs, to judge many variants by: the first
 * tw_launch_verify_by works it out (whatever its verdict), later ones only compare. The inputs must
 * stay as they are. Freed by tw_expected_free, or with the context. */
typedef struct tw_expected tw_expected;
TW_API tw_status tw_expected_new(tw_context *ctx, tw_expected **out);
TW_API void tw_expected_free(tw_expected *e);
/* As tw_launch_verify. */
TW_API tw_status tw_launch_verify_by(tw_launch *l, tw_expected *e, tw_verdict *verdict);

/* A store of results: an SQLite file, which any number of processes may use at the same time. The
 * SQLite library is looked for when a store is opened ($TILEWRIGHT_SQLITE, then the usual names);
 * nothing else needs it. */
typedef struct tw_store tw_store;
/* path NULL: $TILEWRIGHT_STORE, else tilewright/tuned.db in $XDG_DATA_HOME or ~/.local/share. Made
 * if there is none; where path is NULL, with its folder. TW_UNSUPPORTED: no SQLite; TW_NO_FILE: it
 * cannot be opened, or is none of ours; the messages say what to do. */
TW_API tw_status tw_store_open(tw_context *ctx, const char *path, tw_store **out);
/* For looking things up: makes nothing. Also TW_NO_FILE: there is no such file; TW_NOT_FOUND: path
 * is NULL, and there is none yet. */
TW_API tw_status tw_store_open_existing(tw_context *ctx, const char *path, tw_store **out);
TW_API void tw_store_close(tw_store *s); /* NULL is fine */
TW_API const char *tw_store_path(const tw_store *s);
/* Adds what was measured, durably, in place of what is there for the same device, kernel, program,
 * types, sizes and tuned values. Missing texts are ""; `version` and `measured` are filled in. */
TW_API tw_status tw_store_put(tw_store *s, const tw_tuned *row);
/* Finds the rows with the texts of the filter that are not NULL (its other members are not looked
 * at); filter NULL: all. Those that are TW_OK before others, faster ones first, by device, kernel,
 * program, types, shape and sizes. */
TW_API tw_status tw_store_find(tw_store *s, const tw_tuned *filter, int *count);
/* The index-th of the latest tw_store_find; NULL past the last. Valid until the next one. */
TW_API const tw_tuned *tw_store_at(const tw_store *s, int index);
/* Deletes the rows that tw_store_find would find. */
TW_API tw_status tw_store_forget(tw_store *s, const tw_tuned *filter, int *count);

/* Gives the launch, whose sizes are known, the fastest tuned values that are stored for its device
 * (as in tw_launch_tuning_key), program, types and class of shapes; measured by this version of the
 * library and at the same sizes if there are such, else at the latest ones. Values that were set by
 * tw_launch_tune stay. nearest: where nothing is known of the class, the class nearest to it
 * serves. TW_NOT_FOUND: nothing is stored. *taken (may be NULL): the row, valid until the next call
 * on the store. */
TW_API tw_status tw_launch_tuned(tw_launch *l, tw_store *s, const char *device, bool nearest,
                                 tw_tuned *taken);

/* --- 12. Why a kernel is as fast as it is --- */

/* A model of GPUs (docs/model.md): what a launch asks of each part of one, and so how long it takes
 * at least. It counts by simulation of some of the launch's blocks; no GPU is needed. */

/* What is not known exactly: `middle` is the most likely, the true value is mostly in the rest. */
typedef struct tw_range {
    double low, middle, high;
} tw_range;

/* A GPU that the model knows. Rates are of the whole GPU at `clock`, dense; a multiply-add is two
 * operations; 0: it has no such units. */
typedef struct tw_gpu {
    const char *name;    /* "H200 SXM" */
    const char *aliases; /* other names that tw_gpu_find takes, with commas: "h200,NVIDIA H200" */
    const char *target;  /* what kernels for it are compiled for: "sm_90" */
    const char *memory;  /* of which kind its memory is: "HBM3e" */
    const char *source;  /* where the figures are from */
    int capability;      /* 90: compute capability 9.0 */
    int multiprocessors;
    double clock; /* Hz, boost */
    /* Hz that heavy work of the tensor units runs at under the power limit; the same as `clock`
     * where that is not known. */
    double tensor_clock;
    double f64, f32;                       /* operations a second, without tensor units */
    double tensor_f64;                     /* at `clock`; 0: f64 is done without them */
    double tensor_tf32, tensor_f16;        /* f16 and bf16, sums in f32 */
    double tensor_i8, tensor_fp8;          /* sums in i32, f32 */
    double memory_bytes, memory_bandwidth; /* bytes, bytes a second: HBM or GDDR */
    double l2_bytes;
    tw_range l2_bandwidth;   /* bytes a second, to all multiprocessors; high: its roof's */
    double shared_bandwidth; /* bytes a second: 128 a cycle and multiprocessor */
    int l1_bytes;            /* L1 and shared memory of a multiprocessor, which divide it */
    /* Cycles from a load to when its result can be used: of shared memory, and of global memory by
     * the first cache that has it; memory: while many blocks read. */
    int shared_latency, l1_latency, l2_latency, memory_latency;
    /* Limits: shared memory of a multiprocessor and a block (of which the system has
     * system_shared_bytes besides), what else a multiprocessor holds, threads of a block. */
    int shared_of_multiprocessor, shared_of_block, system_shared_bytes;
    int registers, registers_of_thread;
    int threads, warps, blocks;
    int threads_of_block;
} tw_gpu;
TW_API bool tw_gpu_at(int index, tw_gpu *out); /* false past the last */
/* By name, alias or the driver's name, without regard to case and blanks. false: there is none. */
TW_API bool tw_gpu_find(const char *name, tw_gpu *out);

typedef struct tw_explain_options {
    const char *gpu; /* of tw_gpu_find; NULL: the table's first of the kernel's target */
    /* Of a thread, where it is known: tw_occupancy has it, `ptxas -v` prints it. 0: estimated. */
    int registers;
    int64_t step_limit; /* warp instructions of one block; 0: 50000000 */
} tw_explain_options;

/* Bytes that one part of the memory moves, counted in different ways. 0: not counted there. */
typedef struct tw_traffic {
    const char *name;  /* "registers", "shared", "L2", "HBM" */
    double by_thread;  /* each thread's own elements, whoever shares them */
    double by_request; /* what warps ask for: sectors of 32 bytes, wavefronts of 128 */
    /* The two parts of these, as the program has its accesses, for shared memory and at L2; atomic
     * operations are writes. */
    double read_by_thread, written_by_thread, read_by_request, written_by_request;
    /* At L2, sectors of 32 bytes too, if each element of a vector were asked for by itself. */
    double read_by_element, written_by_element;
    tw_range moved;         /* behind the caches above it */
    tw_range read, written; /* which are the two parts of `moved`; 0 for registers and shared */
    double compulsory;      /* each array once, as far as the kernel uses it */
    /* Useful FLOPs a byte: of by_thread, by_request, moved.middle; 0 where those are. */
    double intensity_by_thread, intensity_by_request, intensity;
} tw_traffic;
enum { TW_AT_REGISTERS, TW_AT_SHARED, TW_AT_L2, TW_AT_HBM, TW_TRAFFIC_COUNT };

/* A roof: one part of the GPU, and how long it works at full rate for what the launch asks of it.
 * No launch is faster than its slowest part. */
typedef struct tw_roof {
    /* "HBM", "L2", "L2 requests", "shared" (wavefronts of shared memory and L1), "load/store",
     * "issue", "fma" (of f32 and f16), "f64", "tensor" */
    const char *name;
    const char *title; /* for people: "shared memory's wavefronts" */
    const char *unit;  /* of work: "bytes", "wavefronts", "warp instructions", "FLOP" */
    tw_range work;     /* of the launch */
    double rate;       /* of the whole GPU, a second */
    tw_range seconds;  /* work / rate */
    double share;      /* of the predicted time that it works: 0 to 1 */
    double flops; /* the roof of a roofline: useful FLOP a second that this part allows at most */
} tw_roof;
enum { TW_MOST_ROOFS = 12 };

/* What one line of the text costs. */
typedef struct tw_explained_line {
    const char *file;
    int line;
    double instructions; /* warp instructions */
    /* Without what asynchronous copies write past L1, which takes no turn of others. */
    double shared_accesses, shared_wavefronts, shared_wavefronts_ideal;
    double conflict_ways; /* wavefronts for each that would do; 1: no bank conflict */
    double requests, sectors, sectors_ideal; /* of global memory */
    double by_thread;                        /* bytes of global memory, each thread's own */
} tw_explained_line;

/* One request of a warp, lane by lane. */
typedef struct tw_explained_request {
    const char *array; /* or the tile in shared memory; NULL: memory of the compiler's own */
    int64_t block;     /* number in the grid, x fastest */
    int warp;          /* in its block */
    uint32_t mask;     /* lanes that take part */
    /* For each lane in the mask: bytes from the array's start, or from that of the block's shared
     * memory. */
    int64_t address[32];
    /* For each lane the wavefront of shared memory that serves it, from 0. -1: none does, as of
     * global memory, of atomic operations, and of a copy that a later lane's copy replaces. */
    int wavefront[32];
    double units, units_ideal; /* as below, of this request */
} tw_explained_request;

/* Accesses of one line that are alike, as the program has them: an assembler may merge some. Of an
 * asynchronous copy there are two, a load of global and a store of shared memory. */
typedef struct tw_explained_access {
    const char *file;
    int line, column;          /* from 1; column 0: not known */
    bool shared;               /* of shared memory; else of global memory */
    bool store;                /* or an atomic operation; else a load */
    bool copy;                 /* that of a copy past L1 (16 bytes a thread) to shared memory: no
                                  banks conflict, `units` are the lines of 128 bytes it goes by */
    int bytes;                 /* of a thread */
    double requests;           /* of warps */
    double units, units_ideal; /* wavefronts of shared memory, sectors of global memory; the fewest
                                  of them for as many bytes */
    double ways;               /* units / units_ideal; of shared memory 1: no bank conflict */
    /* Of shared memory, if each element of a vector were asked for by itself; else 1. */
    double ways_by_element;
    tw_explained_request lanes; /* of those simulated that take the most units, the lowest warp's */
} tw_explained_access;

typedef struct tw_explanation {
    tw_gpu gpu;
    const char *kernel;

    /* Whether it can be launched at all. If not, `why_not` says so in words, and below there is
     * what a block does, if it could be simulated, and nothing of caches, roofs and time. */
    bool launches;
    const char *why_not; /* "cannot launch: 4096 threads a block, the limit is 1024" */

    int64_t grid[3];
    int block[3];
    int64_t blocks;       /* of the grid */
    int threads;          /* of a block */
    int64_t shared_bytes; /* of a block */

    /* Occupancy: what a multiprocessor holds at the same time. */
    int registers;        /* of a thread */
    bool registers_known; /* as given; else estimated */
    int resident_blocks, resident_warps;
    double occupancy;    /* resident_warps of those that it could hold at most */
    const char *limiter; /* "registers", "shared memory", "threads", "blocks" */
    int blocks_by_registers, blocks_by_shared, blocks_by_threads, blocks_by_limit;
    double waves;           /* blocks / (resident_blocks * multiprocessors) */
    double wave_efficiency; /* of the places in all these waves, those that have a block */

    double flops;          /* useful: 2 m n k of a product; as executed where nobody says */
    double flops_executed; /* with those on padding, masked or done twice */

    tw_traffic traffic[TW_TRAFFIC_COUNT];
    double l1_hit_rate; /* of the sectors that loads ask for */
    double l2_hit_rate;

    double shared_wavefronts, shared_wavefronts_ideal; /* bank conflicts: what is between them */
    int line_count;
    const tw_explained_line *lines; /* in the order of the text, those with accesses */
    int access_count;
    const tw_explained_access *accesses; /* in the order of the text */

    int roof_count;
    tw_roof roofs[TW_MOST_ROOFS]; /* the slowest first */
    /* Of what binds: a roof's name, or "latency" where all parts wait; with its words. */
    const char *bound;
    const char *bound_title;

    tw_range seconds;        /* predicted */
    double flops_per_second; /* useful, of seconds.middle */

    const char *verdict; /* a sentence: what it is held up by, and how the figures say so */
    const char *advice;  /* a sentence: the one change that would help most */
    int note_count;
    const char *const *notes; /* what was assumed, and what cannot be known: sentences */

    int64_t sampled_blocks;       /* that were simulated, */
    int64_t sampled_instructions; /* with that many warp instructions */
    double host_seconds;
} tw_explanation;

/* Explains a launch of a kernel from tw_kernel_for_target. Sizes must be set or follow from arrays;
 * arrays may be missing. Where they are given, only their values are read, and nothing is written
 * to them. TW_OK also if it cannot launch (out->launches). Texts and lines are valid until the
 * launch is freed or explained again. TW_NOT_FOUND: no such GPU; TW_BAD_ARGUMENT: the kernel is the
 * host's, or a size is missing, or the GPU is not one for the kernel's target; TW_UNSUPPORTED,
 * TW_FAULT: it cannot be simulated. options NULL: all defaults. */
TW_API tw_status tw_launch_explain(tw_launch *l, const tw_explain_options *options,
                                   tw_explanation *out);
/* The same of a launch of PTX. It works on copies of the arrays. Useful operations are those that it
 * executes, and compulsory traffic is all of its arrays. The texts live until the program is explained
 * again or freed. TW_NOT_FOUND: no such kernel, or GPU; TW_UNSUPPORTED also where the model knows no GPU of
 * its target. */
TW_API tw_status tw_ptx_explain(tw_ptx *p, const tw_ptx_launch *launch,
                                const tw_explain_options *options, tw_explanation *out);

#ifdef __cplusplus
}
#endif
#endif
