/* Implements --tuned: a launch takes the fastest stored values for it. */
#ifndef TW_TUNED_H
#define TW_TUNED_H

#include "cli/target.h"

/* Gives the launch stored values if --tuned is given. Requires known sizes and types. *taken
 * describes the values; the caller frees. Returns STATUS_OK, or another status after printing a
 * message. */
int tuned_take(const struct program *p, tw_launch *l, const struct options *o, char **taken);

/* Returns whether `device`, a name by tw_tuned, is this machine's CPU. */
bool tuned_of_host(const char *device);

#define OPTION_TUNED                                                                               \
    {                                                                                              \
        .name = "tuned",                                                                           \
        .help = "take the values that `tilewright tune` found for this device and these\nsizes, "  \
                "or else for the nearest ones; --tune still fixes a value by hand"                 \
    }
#define OPTION_STORE                                                                               \
    {                                                                                              \
        .name = "store", .values = 1, .value = "FILE",                                             \
        .help = "where tuned values are kept (default: $TILEWRIGHT_STORE, else\n"                  \
                "tilewright/tuned.db in $XDG_DATA_HOME or ~/.local/share)"                         \
    }

#endif
