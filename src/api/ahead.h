/* The insides of a build (tilewright_build.h), for families. */
#ifndef TW_AHEAD_H
#define TW_AHEAD_H

#include "api/objects.h"

#include "aot/aot.h"

struct tw_build {
    tw_context *ctx;
    tw_build *next;
    struct arena arena;
    struct arena texts; /* the latest of tw_build_texts */
    struct aot_build build;
};

/* The function of a family, as each of its versions names it. */
struct build_family {
    const char *name, *file;
    const char *types, *suffix; /* "T = f16", "f16" */
};

/* Puts the types of a kernel into words: "T = f16" and "f16". */
void ahead_build_types(struct arena *a, const struct lang_kernel *info, const enum dtype *chosen,
                       const char **types, const char **suffix);

/* Compiles a launch as ahead_build_add does, and adds nothing. Returns the status of ahead_build_add. */
tw_status ahead_build_try(tw_build *b, tw_launch *l, const struct build_family *family,
                          const char *variant);

/* Does the work of tw_build_add. family: NULL: the function is the kernel's own; variant: "matmul_v6
 * BM=128,BN=64". */
tw_status ahead_build_add(tw_build *b, tw_launch *l, const tw_build_when *when,
                          const struct build_family *family, const char *variant);

#endif
