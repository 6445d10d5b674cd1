/* Opens a .tile file for a command; declares the options that several commands take. */
#ifndef TW_TARGET_H
#define TW_TARGET_H

#include "tilewright_family.h"
#include "cli/tool.h"

struct program {
    tw_context *ctx;
    tw_module *module; /* NULL: a folder */
    char *path;
    char *kernel;      /* as in FILE:KERNEL, or NULL */
    tw_family *family; /* for the CPU; NULL: the target is a kernel */
    const char *text;
    size_t length;
    bool is_folder;
    bool shares_context;
    struct complaints *complaints;
};

/* Time at which the calls of a context must end, on the clock of seconds_now, finished or not.
 * 0: no limit. Change it only between calls. */
struct deadline {
    double at;
};

struct program_config {
    FILE **print; /* output of print() in kernels; NULL: dropped */
    /* Receives the output of print() in place of `print`; NULL: not used. */
    void (*told)(void *user, const char *text, size_t length);
    void *told_user;
    int threads;                   /* 0: one a core */
    const char *bind;              /* tw_config.bind */
    bool machine_bits;             /* tw_config.machine_bits */
    bool colour;                   /* in messages */
    const char *device;            /* "cuda:1": the context's GPU; other names, NULL: the first */
    struct deadline *deadline;     /* NULL: none */
    struct complaints *complaints; /* NULL: they are only printed */
};
/* Returns the folders that are searched for imported files after the importing file's own,
 * separated by ':'. The caller frees. */
char *import_folders(void);
/* Opens a context. Returns STATUS_OK, or another status after printing a message. */
int context_open(tw_context **ctx, const struct program_config *config);
/* Opens "FILE" or "FILE:KERNEL". FILE may be a pipe; `-` is standard input. A name that is not a
 * file is that of a kernel or family that ships. FILE may also be a folder whose kernels are a family,
 * or declare families: "FILE:FAMILY" names one of several, and "FILE:KERNEL" a kernel of any of them,
 * which is then opened in its own file. Returns STATUS_OK, or another status after printing a message.
 * The caller calls program_close in either case. */
int program_open(struct program *p, const char *target, const struct program_config *config);
/* Like program_open, but uses an existing context, which still belongs to the caller. */
int program_open_in(struct program *p, const char *target, tw_context *ctx,
                    struct complaints *complaints);

/* Returns the index of the parameter called `name`, of any kind. If there is none, prints a
 * message that suggests arrays (`is_pointer`) or scalars and returns -1. */
int find_param(const struct program *p, tw_kernel *k, const char *name, bool is_pointer,
               tw_param *out);

/* Returns whether the text has the form of a GPU's name: cuda, cuda:1, sm_80. The library checks
 * whether that GPU exists. */
bool names_gpu(const char *target);
/* Returns "; did you mean sm_90?" for a bare compute capability ("90" or "9.0"), else "". The
 * caller frees. */
char *capability_hint(const char *target);

/* Finds the device called `name`; "cuda:0" also means "cuda". */
bool device_named(const char *name, tw_device *out);

/* --- program_text.c --- */

/* Reads the text of the program's file. Returns STATUS_OK, or STATUS_USAGE after printing a message. */
int program_take_text(struct program *p);
/* Makes the module of the text. Returns STATUS_OK, or another status after printing a message. */
int program_compile(struct program *p);
/* Makes the program that of another file and kernel, in the same context. Takes `path` and `kernel`.
 * Returns STATUS_OK, or another status after printing a message. */
int program_reopen(struct program *p, char *path, char *kernel);

/* Returns the kernel that the target names, or the program's only kernel. Otherwise prints a
 * message that lists the kernels and returns NULL. */
tw_kernel *program_kernel(const struct program *p, const struct command *c);
/* Returns kernel number `index` of the file or the family, or NULL past the last. */
tw_kernel *program_kernel_at(const struct program *p, int index);
void program_close(struct program *p);

/* --- target_family.c --- */

/* Finds the family or the member that the target names, for program_open. */
int program_find_family(struct program *p);
/* Returns whether the target names a family in place of a kernel: a declared one, a folder, or a
 * file with several kernels that compute the same, of which none is named. */
bool program_is_family(struct program *p);
/* Makes the program that of member number `index`: an ordinary kernel in its own file. Returns
 * STATUS_OK, or another status after printing a message. */
int program_take_member(struct program *p, int index);

/* --- scalars.c --- */

/* Returns the scalar parameters that have neither a set nor an inferred value, as "m=…,n=…", or
 * NULL if there are none. The caller frees. */
char *missing_scalars(tw_launch *l, tw_kernel *k);
/* Returns the scalar parameters and their values: "m = 3, n = 4". The caller frees. */
char *scalars_text(tw_launch *l, tw_kernel *k);
/* Returns the scalar parameters that are set, as options: " --set m=1,n=1", or "" if there are
 * none. The caller frees. */
char *set_options(tw_launch *l, tw_kernel *k);

/* Parses a scalar in the language's notation: 3, 0.5, true. */
bool parse_scalar(const char *text, tw_value *out);
/* Writes a scalar's text. A float gets the shortest text that reads back as the same value of
 * type `t`. If `t` is unknown or no float type, the text reads back as f32 if f32 holds the
 * value exactly, else as f64. */
void format_scalar(char *out, size_t size, tw_value v, tw_dtype t);
/* Returns whether both values are the same number, compared by the bits of an f64: 0.0 equals
 * integer 0, but -0.0 does not equal 0.0. */
bool same_scalar(tw_value a, tw_value b);
/* "f32[512][64]" */
void format_array_type(char *out, size_t size, const tw_array *a);
bool is_float_type(tw_dtype t);

#define OPTION_SET                                                                                 \
    {                                                                                              \
        .name = "set", .values = 1, .value = "NAME=VALUE",                                         \
        .help = "value of a scalar parameter, e.g. m=512"                                          \
    }
#define OPTION_SMS                                                                                 \
    {                                                                                              \
        .name = "sms", .values = 1, .value = "N",                                                  \
        .help = "`device.sms` and `device.clusters` of the kernel (default: multiprocessors of\n"  \
                "the GPU, or the engine's threads on cpu)"                                         \
    }
#define OPTION_TUNE                                                                                \
    {                                                                                              \
        .name = "tune", .values = 1, .value = "NAME=VALUE",                                        \
        .help = "a tuned value by hand, e.g. BM=64; any value, listed or not"                      \
    }
#define OPTION_TYPE                                                                                \
    {                                                                                              \
        .name = "type", .values = 1, .value = "[NAME=]TYPE",                                       \
        .help = "type for a type variable, e.g. T=f16; without a name, all of them"                \
    }
#define OPTION_IMPORT                                                                              \
    {                                                                                              \
        .name = "import-path", .letter = 'I', .values = 1, .value = "FOLDER",                      \
        .help = "look for imported files there, too; CUDA: for included files; may be given\n"     \
                "several times"                                                                    \
    }
#define OPTION_FILL                                                                                \
    {                                                                                              \
        .name = "fill", .values = 1, .value = "NAME=KIND",                                         \
        .help = "what the caller gives in an array that the kernel writes: zero, ones,\n"          \
                "iota, rand or wide; else, where values are verified, outputs count as\n"          \
                "never written"                                                                    \
    }
#define OPTION_THREADS                                                                             \
    {                                                                                              \
        .name = "threads", .values = 1, .value = "N",                                              \
        .help = "threads of the CPU engine (default and 0: one a core); 1: the simulator has\n"    \
                "no second thread either"                                                          \
    }
/* Reads --threads. Returns false after printing a message. */
bool options_threads(const struct options *o, int64_t *threads);
#define OPTION_BIND                                                                                \
    {                                                                                              \
        .name = "bind", .values = 1, .value = "LIST",                                              \
        .help = "CPU: bind each of the engine's threads to a processor of LIST, such as 0-7,16\n"  \
                "(all: of those that this process may use), and without --threads as many\n"       \
                "threads as LIST has; the first entry stays free for the program's own\n"          \
                "thread, which is not bound"                                                       \
    }
#define OPTION_MACHINE_BITS                                                                        \
    {                                                                                              \
        .name = "machine-bits", .help =                                                            \
                                    "CPU: let products of bf16 use Intel AMX; their sums may\n"    \
                                    "then have other last bits than those of other machines"       \
    }
#define OPTION_JSON                                                                                \
    {                                                                                              \
        .name = "json", .help = "print the result as JSON"                                         \
    }
#define OPTION_END                                                                                 \
    {                                                                                              \
        .name = NULL                                                                               \
    }

#endif
