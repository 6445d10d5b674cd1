/* CUDA programs on the simulator: `tilewright check -- PROGRAM` and `tilewright run -- PROGRAM`. The
 * program is started with libraries in the place of NVIDIA's (src/driver, src/runtime), which write
 * each finding as a line of JSON into a file of a temporary folder. */
#ifndef TW_APP_H
#define TW_APP_H

#include "cli/tool.h"

/* Returns whether the command line has a program after "--": its first word is not a file of kernels. */
bool is_app(const struct options *given);
/* Runs the program and reports. `checks`: races, barriers, memory and the host's calls are watched;
 * otherwise the launches are counted. Returns the exit status. */
int app_run(const struct command *self, const struct options *given, bool checks);

/* The end of the program. */
struct app_end {
    int status; /* its exit status, or 128 and the number of the signal that ended it */
    int signal; /* 0: none */
};
struct app_report {
    const char *program;
    const char *const *arguments; /* of the program */
    int argument_count;
    bool to_json, strict, verbose;
    bool checks; /* otherwise kernels were counted */
    struct app_end end;
};
/* Prints the lines of findings. Returns the exit status of the command. */
int app_print(const struct app_report *r, const char *lines);

#define OPTION_APP_LAUNCH                                                                          \
    {                                                                                              \
        .name = "launch", .of_programs = true, .values = 1, .value = "N",                          \
        .help = "only the program's launch N is watched, counted from 1; --kernel NAME: only\n"    \
                "launches of the kernel with that name, without namespaces and template\n"         \
                "arguments, or with that symbol"                                                   \
    }

#define OPTION_APP_SKIP                                                                            \
    {                                                                                              \
        .name = "skip", .of_programs = true, .values = 1, .value = "N",                            \
        .help = "the program's first N launches are not watched"                                   \
    }

#define OPTION_APP_LIMIT                                                                           \
    {                                                                                              \
        .name = "limit", .of_programs = true, .values = 1, .value = "N",                           \
        .help = "warp instructions of a launch that are watched in full (default 20000000);\n"     \
                "after that, one of 64 blocks is watched; 0: all blocks are"                       \
    }

#define OPTION_APP_FILES                                                                           \
    {.name = "sarif",                                                                              \
     .of_programs = true,                                                                          \
     .values = 1,                                                                                  \
     .value = "FILE",                                                                              \
     .help = "writes the findings as SARIF"},                                                      \
    {                                                                                              \
        .name = "junit", .of_programs = true, .values = 1, .value = "FILE",                        \
        .help = "writes the findings as JUnit's XML"                                               \
    }

#define OPTION_APP_KEEP_GOING                                                                      \
    {                                                                                              \
        .name = "keep-going", .of_programs = true,                                                 \
        .help = "the program's calls succeed after a launch with a bad access"                     \
    }

#define OPTION_APP_STUB                                                                            \
    {                                                                                              \
        .name = "stub", .of_programs = true,                                                       \
        .help = "products of matrices by cuBLAS run on the host"                                   \
    }

#define OPTION_APP_TRACE                                                                           \
    {                                                                                              \
        .name = "trace", .of_programs = true, .values = 1, .value = "FOLDER",                      \
        .help = "writes the calls, the PTX of each module, and for each launch the command\n"      \
                "that repeats it, with its memory"                                                 \
    }

#endif
