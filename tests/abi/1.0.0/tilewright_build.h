/* Ahead of time: kernels compiled here and shipped as C. */
#ifndef TILEWRIGHT_BUILD_H
#define TILEWRIGHT_BUILD_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels compiled here and shipped as C: NAME.h with a function for each kernel and choice of
 * types, NAME.c with the kernels as PTX and machine code and all that it takes to launch them on
 * NVIDIA's driver. Nothing of this library is needed where they run (docs/build.md). */
typedef struct tw_build tw_build;
/* `name`: an identifier of C, with which the files and all names in them start. */
TW_API tw_status tw_build_new(tw_context *ctx, const char *name, tw_build **out);
TW_API void tw_build_free(tw_build *b); /* NULL is fine */

/* Values of a scalar parameter, an integer: both ends included, INT64_MIN and INT64_MAX: no end. */
typedef struct tw_size_range {
    const char *param;
    int64_t least, most;
} tw_size_range;

/* For which launches a version is meant. */
typedef struct tw_build_when {
    size_t size;        /* tw_build_when_init sets it */
    const char *device; /* the GPU's name as the driver has it, "NVIDIA H200"; NULL: any */
    int range_count;
    const tw_size_range *ranges;
    /* Bytes that divide the address of every array, or the size of an element if that is more; 0:
     * 16, what code for a GPU is best with. */
    int alignment;
} tw_build_when;
TW_SIZED(tw_build_when);

/* Compiles the launch's kernel (one from tw_kernel_for_target, of the build's context) for its
 * types, tuned values and static values, all of which must be set, and adds it. Of other integers
 * it counts only whether they are set and divisible by 16: the version is then for launches where
 * they are. A launch takes the first version added that goes with its values and its GPU. when
 * NULL: always. Nothing of the launch is needed afterwards. TW_BAD_PROGRAM: the messages say what
 * is wrong, as from tw_launch_prepare; a build that could not be added to is good for nothing but
 * to be freed. */
TW_API tw_status tw_build_add(tw_build *b, tw_launch *l, const tw_build_when *when);

/* For an assembler: PTX of what was added, each text once. Valid until something is added. */
typedef struct tw_build_image {
    size_t size; /* tw_build_image_init sets it */
    const char *ptx;
    const char *target; /* "sm_90" */
} tw_build_image;
TW_SIZED(tw_build_image);
TW_API bool tw_build_image_at(tw_build *b, int index,
                              tw_build_image *out); /* false past the last */
/* What `ptxas -arch=TARGET` made of it, copied: the module takes that where it runs, and ships the
 * PTX itself for the least target only. TW_BAD_PROGRAM: it is no machine code. */
TW_API tw_status tw_build_machine_code(tw_build *b, int index, const void *cubin, size_t length);

/* The two files as texts, valid until the build is changed or freed. */
TW_API tw_status tw_build_texts(tw_build *b, const char **header, const char **source);
/* Writes them as FOLDER/NAME.h and FOLDER/NAME.c: both or none, what was there is replaced whole.
 * TW_NO_FILE, with a message, if it cannot be done. */
TW_API tw_status tw_build_write(tw_build *b, const char *folder);

#ifdef __cplusplus
}
#endif
#endif
