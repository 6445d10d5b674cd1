/* --set, --tune and --type: what they say, given to launches. */
#ifndef TW_SETTINGS_H
#define TW_SETTINGS_H

#include "target.h"
#include "tensor.h"

/* Gives the launch what --set, --tune and --type say, a later one for the same name over an
 * earlier. With `others_too`, names that this kernel does not have are passed over (several kernels
 * share one command line: settings_known). Returns STATUS_OK or a status after a message. */
int apply_settings(tw_launch *l, tw_kernel *k, const struct program *p, const struct options *o,
                   bool others_too);

/* Gives the launch one of them: option "set", "tune" or "type". Messages name `given_by`. */
int apply_assignment(tw_launch *l, tw_kernel *k, const struct program *p, const struct options *o,
                     const char *option, const char *given_by, const struct assignment *a);
/* The index-th name of a kernel that the option may give; NULL past the last. */
const char *setting_at(tw_kernel *k, const char *option, int index);
/* Whether the kernel has such a name. */
bool setting_named(tw_kernel *k, const char *option, const char *name);

/* Whether every name that --set, --tune and --type give is one of some kernel of `list`. Else a
 * message with the nearest name, and STATUS_USAGE. */
struct known_kernel {
    const struct program *program;
    tw_kernel *kernel;
};
int settings_known(const struct known_kernel *list, int count, const struct options *o);

/* What --fill says of the array by name; FILL_NONE: nothing. */
enum fill settings_fill(const struct options *o, const char *name);
/* settings_known of --fill alone, for a kernel by itself: the others are found wrong as they are
 * given to it. */
int settings_fills_known(const struct known_kernel *k, const struct options *o);
/* Tells whether the option, "set", "tune" or "type", gives the name. */
bool settings_give(const struct options *o, const char *option, const char *name);

#endif
