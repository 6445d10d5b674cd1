/* A .tile file opened for a command, and the options that several commands take. */
#ifndef TW_TARGET_H
#define TW_TARGET_H

#include "tool.h"

struct program {
    tw_context *ctx;
    tw_module *module;
    char *path;
    char *kernel; /* as in FILE:KERNEL, or NULL */
    const char *text;
    size_t length;
    bool shares_context;
    struct complaints *complaints;
};

/* When the calls of a context end, done or not; on the clock of seconds_now. 0: never. Set between
 * calls. */
struct deadline {
    double at;
};

struct program_config {
    FILE **print; /* what print() of kernels says; NULL, or to NULL: dropped */
    /* Takes that instead; NULL: nothing does. */
    void (*told)(void *user, const char *text, size_t length);
    void *told_user;
    int threads;                   /* 0: one a core */
    bool colour;                   /* in messages */
    const char *device;            /* "cuda:1": the context's GPU; other names, NULL: the first */
    struct deadline *deadline;     /* NULL: none */
    struct complaints *complaints; /* NULL: they are only printed */
};
/* STATUS_OK, or a status after a message. */
int context_open(tw_context **ctx, const struct program_config *config);
/* Opens "FILE" or "FILE:KERNEL", where FILE may be a pipe and `-` is standard input. Returns STATUS_OK, or a status after a message; program_close in
 * either case. */
int program_open(struct program *p, const char *target, const struct program_config *config);
/* The same in a context that there is, which stays the caller's. */
int program_open_in(struct program *p, const char *target, tw_context *ctx,
                    struct complaints *complaints);
void program_close(struct program *p);

/* The kernel named, or the only one; NULL after a message that lists them. */
tw_kernel *program_kernel(const struct program *p, const struct command *c);

/* The index of the parameter of that name, whatever it is, or -1 after a message that suggests
 * arrays (is_pointer) or scalars. */
int find_param(const struct program *p, tw_kernel *k, const char *name, bool is_pointer,
               tw_param *out);

/* cuda, cuda:1, sm_80 and the like: the library knows which of those there are. */
bool names_gpu(const char *target);
/* Returns "; did you mean sm_90?" for a compute capability alone, "90" or "9.0"; else "". The caller
 * frees. */
char *capability_hint(const char *target);

/* What there is of that name; "cuda:0" is "cuda", too. */
bool device_named(const char *name, tw_device *out);

/* "m=…,n=…": the scalar parameters that are neither set nor inferred; NULL when there are none. The
 * caller frees. */
char *missing_scalars(tw_launch *l, tw_kernel *k);
/* " --set m=1,n=1": the scalar parameters that are; "" when there are none. The caller frees. */
char *set_options(tw_launch *l, tw_kernel *k);

/* Text of a scalar as the language writes it: 3, 0.5, true. */
bool parse_scalar(const char *text, tw_value *out);
/* A float is the shortest text that reads back as the same value of type `t`; of a type that is not
 * known, or no float type, as f32 if it is such a value, else as f64. */
void format_scalar(char *out, size_t size, tw_value v, tw_dtype t);
/* Tells whether both are the same number by the bits of an f64: -0.0 is not 0.0, but 0.0 is 0. */
bool same_scalar(tw_value a, tw_value b);
/* "f32[512][64]" */
void format_array_type(char *out, size_t size, const tw_array *a);
bool is_float_type(tw_dtype t);

#define OPTION_SET                                                                                 \
    {                                                                                              \
        .name = "set", .values = 1, .value = "NAME=VALUE",                                         \
        .help = "value of a scalar parameter, e.g. m=512"                                          \
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
        .help = "look for imported files there, too; may be given several times"                   \
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
        .help = "threads of the CPU engine (default and 0: one a core)"                            \
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
