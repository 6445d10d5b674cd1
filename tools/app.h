/* CUDA programs on the simulator: `tilewright check -- PROGRAM` and `tilewright run -- PROGRAM`. The
 * program is started with libraries in the place of NVIDIA's (src/driver, src/runtime), which write
 * each finding as a line of JSON into a file of a temporary folder. */
#ifndef TW_APP_H
#define TW_APP_H

#include "tool.h"

/* Returns whether the command line has a program after "--": its first word is not a file of kernels. */
bool is_app(const struct options *given);
/* Runs the program and reports. `checks`: races, barriers, memory and the host's calls are watched;
 * otherwise the launches are counted. Returns the exit status. */
int app_run(const struct command *self, const struct options *given, bool checks);

/* How the program ended. */
struct app_end {
    int status; /* its exit status, or 128 and the number of the signal that ended it */
    int signal; /* 0: none */
};
struct app_report {
    const char *program;
    bool to_json, strict, verbose;
    struct app_end end;
};
/* Prints the lines of findings. Returns the exit status of the command. */
int app_print(const struct app_report *r, const char *lines);

#define OPTION_APP_LAUNCH                                                                          \
    {                                                                                              \
        .name = "launch", .values = 1, .value = "N",                                               \
        .help = "only the program's launch N is watched, counted from 1; --kernel NAME: only\n"    \
                "launches of that kernel"                                                          \
    }

#endif
