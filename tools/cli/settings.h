/* Applies --set, --tune and --type to launches. */
#ifndef TW_SETTINGS_H
#define TW_SETTINGS_H

#include "cli/target.h"
#include "cli/tensor.h"

/* Applies --set, --tune and --type to the launch. If an option is repeated for the same name,
 * the last one wins. With `others_too`, skips names that this kernel does not have, because
 * several kernels can share one command line; settings_known checks those names. Returns
 * STATUS_OK, or another status after printing a message. */
int apply_settings(tw_launch *l, tw_kernel *k, const struct program *p, const struct options *o,
                   bool others_too);

/* Applies one assignment to the launch; `option` is "set", "tune" or "type". Messages name
 * `given_by` as its source. */
int apply_assignment(tw_launch *l, tw_kernel *k, const struct program *p, const struct options *o,
                     const char *option, const char *given_by, const struct assignment *a);
/* Returns the index-th name of the kernel that the option can set, or NULL after the last. */
const char *setting_at(tw_kernel *k, const char *option, int index);
/* Returns whether the option can set `name` in the kernel. */
bool setting_named(tw_kernel *k, const char *option, const char *name);

/* Kernel that shares the command line. settings_known checks that some kernel of `list` has each
 * name that --set, --tune and --type give. For an unknown name, it prints a message with the
 * nearest name and returns STATUS_USAGE. */
struct known_kernel {
    const struct program *program;
    tw_kernel *kernel;
};
int settings_known(const struct known_kernel *list, int count, const struct options *o);

/* Returns the fill that --fill gives for the array, or FILL_NONE if it gives none. */
enum fill settings_fill(const struct options *o, const char *name);
/* Returns the last fill that --fill gives without a NAME, or FILL_NONE if it gives none. Only options
 * whose value is [NAME=]KIND may. */
enum fill settings_fill_of_all(const struct options *o);
/* Like settings_known, but checks --fill only and one kernel. Errors in the other options appear
 * when they are applied. */
int settings_fills_known(const struct known_kernel *k, const struct options *o);
/* Returns whether the option ("set", "tune" or "type") gives a value for the name. */
bool settings_give(const struct options *o, const char *option, const char *name);

/* Returns the type that --type gives the type variable, or TW_DTYPE_NONE. */
tw_dtype settings_type(const struct options *o, const char *variable);

#endif
