/* Implements --watch: runs a command again when a file that it read is saved. */
#ifndef TW_WATCH_H
#define TW_WATCH_H

#include "cli/tool.h"

#define OPTION_WATCH                                                                               \
    {                                                                                              \
        .name = "watch",                                                                           \
        .help = "runs again when a file that was read is saved, until Ctrl-C, which ends with\n"   \
                "the status of the last run"                                                       \
    }

/* Calls `run` in a child process, so that a run inherits no state of the previous one. Calls it
 * again after each change of a file that the child reported (files_read.h). A change during a
 * run ends that run. Returns the status of the last run that ended, on SIGINT or SIGTERM, or if
 * the command read no file. */
int watch(int (*run)(const struct command *c, const struct options *given), const struct command *c,
          const struct options *given);

#endif
