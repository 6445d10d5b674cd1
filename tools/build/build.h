/* Implements the command `build`: its options determine the versions to build.
 *
 *   cmd_build.c      the options, the whole, the files
 *   build_asked.c    targets and kernels: --device, FILE:KERNEL
 *   build_versions.c the versions of a kernel
 *   build_types.c    element types: --type
 *   build_points.c   static values: --set
 *   build_tuned.c    tuned values from a file: --tuned
 *   build_family.c   families: their variants, types and sizes
 *   build_cubins.c   machine code and objects, by external programs */
#ifndef TW_TOOL_BUILD_H
#define TW_TOOL_BUILD_H

#include "cli/settings.h"
#include "tilewright_build.h"

/* --- types --- */

/* Returns whether --type requests `type` for a type variable. If --type does not mention the
 * variable, all of its types are requested. */
bool type_asked(const struct options *o, const tw_type *variable, const char *type);
/* Checks that some kernel has each type that --type names. Returns STATUS_OK, or STATUS_USAGE
 * after printing a message. */
int types_check(const struct known_kernel *list, int count, const struct options *o);

/* --- static values --- */

/* Static values for which a kernel is built: one value for each parameter that --set names. */
struct point {
    int count;
    struct assignment *list;
};
struct points {
    int count;
    struct point *list;
};
/* Checks that each name of --set is a static parameter of some kernel, or a parameter of a family's
 * kernel. Returns STATUS_OK, or STATUS_USAGE after printing a message. */
int points_check(const struct known_kernel *list, int count, const struct known_kernel *families,
                 int family_count, const struct options *o);
/* Finds the points of a kernel, at least one. Uses of --set with the same parameters are
 * alternatives; others combine: --set n=1,k=2 --set n=3,k=4 makes two points, and so does --set
 * n=1 --set k=2 --set k=4. all: of all scalar parameters, not only of static ones. Returns STATUS_OK,
 * or STATUS_USAGE after printing a message. */
int points_find(struct points *out, tw_kernel *k, const struct options *o, bool all);
void points_free(struct points *p);
/* Returns the point's value of a parameter, or NULL if it has none. */
const char *point_value(const struct point *p, const char *name);

/* --- tuned values from a file --- */

enum { TUNED_NAMES = 24 };
struct tuned_range {
    char name[64];
    int64_t low, high; /* inclusive; INT64_MIN, INT64_MAX: open */
    bool divisible;    /* by 16 */
};
/* Last check that a line of the file passed. Its conditions are checked in this order. */
enum tuned_fate {
    TUNED_NO_KERNEL,
    TUNED_OF_HOST,
    TUNED_NO_TARGET,
    TUNED_NO_TYPES,
    TUNED_OTHER_PROGRAM,
    TUNED_NO_TIME,
    TUNED_NO_CLASS,
    TUNED_DOES_NOT_FIT,
    TUNED_BUILT
};
/* Line of the file: tuned values for a class of launches. */
struct tuned_entry {
    int line;
    enum tuned_fate fate;
    char *kernel, *device, *target, *program; /* NULL: any */
    int type_count, range_count, tune_count, size_count;
    struct assignment types[TUNED_NAMES], tunes[TUNED_NAMES];
    struct assignment sizes[TUNED_NAMES]; /* at which it was measured */
    char ms[64];                          /* milliseconds; "": none */
    struct tuned_range ranges[TUNED_NAMES];
};
struct tuned {
    const char *path;
    int count;
    struct tuned_entry *list;
};
/* Reads the file. path NULL: no file, no entries. Returns STATUS_OK, or STATUS_USAGE after
 * printing a message with file and line. */
int tuned_read(struct tuned *t, const char *path);
/* Raises the entry's fate to at least `fate`. */
void tuned_reached(struct tuned_entry *e, enum tuned_fate fate);
/* Prints a note for each line that the build did not use, and for a file without lines. */
void tuned_say_unused(const struct tuned *t);
void tuned_free(struct tuned *t);

/* --- families --- */

/* A device of --device. */
struct built_device {
    char *target; /* "sm_90", "cpu" */
    char *device; /* a GPU's name, "h100"; NULL: any of the target, or this machine's CPU */
};

struct family_request {
    tw_build *build;
    tw_context *ctx;
    const struct program *program; /* with a family */
    const struct options *options;
    const struct built_device *devices;
    int device_count;
    struct tuned *tuned; /* further results */
};
/* Adds a function to the build for each choice of the family's types. Returns STATUS_OK, or another
 * status after printing a message. */
int family_build(const struct family_request *r);

/* --- the command --- */

enum { BUILD_TARGETS = 32 }; /* at most */

/* Kernel of the command line, with the options for its launches. */
struct builder {
    const struct command *self;
    const struct options *given;
    tw_context *ctx;
    tw_build *build;
    int program_count;
    struct program *programs;
    int kernel_count, family_count, member_count;
    struct known_kernel *kernels;  /* apart from those of families */
    struct known_kernel *families; /* by family, its first kernel */
    struct known_kernel *members;  /* all kernels, for the names of options */
    int target_count;
    char *targets[BUILD_TARGETS];
    int device_count;
    struct built_device devices[BUILD_TARGETS]; /* as asked; several may have one target */
    struct tuned tuned;
    char *said;     /* last compiler message; many versions repeat it */
    bool refused;   /* the compiler refused the latest version */
    bool *left_out; /* by kernel: the compiler refused a version */
};

/* Finds the targets of --device; without it, sm_80. Returns STATUS_OK, or STATUS_USAGE after
 * printing a message. */
int build_find_targets(struct builder *b);
/* Finds the kernels: FILE:KERNEL is one kernel, FILE is all of its kernels, or the family that it
 * declares. Returns STATUS_OK, or another status after printing a message. */
int build_find_kernels(struct builder *b);
/* Adds a kernel's versions for all targets to the build. Returns STATUS_OK, or another status after
 * printing a message; b->refused tells whether the compiler refused a version. */
int build_add_kernel(struct builder *b, const struct known_kernel *known);

/* --- programs of others --- */

/* Adds the machine code of all images to the build. If there is no ptxas, prints a note and
 * returns STATUS_OK. */
int build_cubins(tw_build *b, tw_context *ctx);
/* FOLDER/NAME.c to FOLDER/NAME.o. */
int build_object(const char *folder, const char *name);

#endif
