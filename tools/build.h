/* The command `build`: what is to be built, worked out from its options.
 *
 *   cmd_build.c      kernels, targets, types; the files
 *   build_types.c    element types: --type
 *   build_points.c   static values: --set
 *   build_tuned.c    tuned values from a file: --tuned
 *   build_cubins.c   machine code, objects: other people's programs
 */
#ifndef TW_TOOL_BUILD_H
#define TW_TOOL_BUILD_H

#include "settings.h"
#include "tilewright_build.h"

/* --- types --- */

/* Whether --type asks for `type` of a type variable. Where it says nothing of that variable, all of
 * its types are asked for. */
bool type_asked(const struct options *o, const tw_type *variable, const char *type);
/* Whether every type that it names is one of some kernel: STATUS_OK, or STATUS_USAGE after a
 * message. */
int types_check(const struct known_kernel *list, int count, const struct options *o);

/* --- static values --- */

/* The static values for which a kernel is built: each point gives one value to each parameter that
 * --set names. */
struct point {
    int count;
    struct assignment *list;
};
struct points {
    int count;
    struct point *list;
};
/* Whether every name that --set gives is a static parameter of some kernel: STATUS_OK, or
 * STATUS_USAGE after a message. */
int points_check(const struct known_kernel *list, int count, const struct options *o);
/* Options that give values to the same parameters are alternatives, others go together: --set
 * n=1,k=2 --set n=3,k=4 are two points, --set n=1 --set k=2 --set k=4 are two as well. At least one
 * point. STATUS_OK, or STATUS_USAGE after a message. */
int points_find(struct points *out, tw_kernel *k, const struct options *o);
void points_free(struct points *p);
/* The value that the point gives to a parameter; NULL: none. */
const char *point_value(const struct point *p, const char *name);

/* --- tuned values from a file --- */

enum { TUNED_NAMES = 24 };
struct tuned_range {
    char name[64];
    int64_t low, high; /* both included; INT64_MIN, INT64_MAX: open */
    bool divisible;    /* by 16 */
};
/* How far a line of the file came. What it says is looked at in this order. */
enum tuned_fate {
    TUNED_NO_KERNEL,
    TUNED_OF_HOST,
    TUNED_NO_TARGET,
    TUNED_NO_TYPES,
    TUNED_OTHER_PROGRAM,
    TUNED_NO_CLASS,
    TUNED_DOES_NOT_FIT,
    TUNED_BUILT
};
/* A line of the file: for launches like these, these values. */
struct tuned_entry {
    int line;
    enum tuned_fate fate;
    char *kernel, *device, *target, *program; /* NULL: any */
    int type_count, range_count, tune_count;
    struct assignment types[TUNED_NAMES], tunes[TUNED_NAMES];
    struct tuned_range ranges[TUNED_NAMES];
};
struct tuned {
    const char *path;
    int count;
    struct tuned_entry *list;
};
/* path NULL: no file, no entries. STATUS_OK, or STATUS_USAGE after a message with file and line. */
int tuned_read(struct tuned *t, const char *path);
/* The line came at least so far. */
void tuned_reached(struct tuned_entry *e, enum tuned_fate fate);
/* A note for each line that gave the build nothing, and for a file without lines. */
void tuned_say_unused(const struct tuned *t);
void tuned_free(struct tuned *t);

/* --- programs of others --- */

/* Gives the build the machine code of all its images. STATUS_OK too, with a note, where there is no
 * ptxas. */
int build_cubins(tw_build *b, tw_context *ctx);
/* FOLDER/NAME.c to FOLDER/NAME.o. */
int build_object(const char *folder, const char *name);

#endif
