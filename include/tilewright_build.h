/* Ahead of time: kernels compiled here and shipped as C. Stable (docs/versions.md).
 *
 * A build makes NAME.h, with a function for each kernel and choice of types, and NAME.c, with the
 * kernels as PTX and machine code, and the code that launches them through NVIDIA's driver. A
 * program that includes these files does not need this library (docs/build.md).
 */
#ifndef TILEWRIGHT_BUILD_H
#define TILEWRIGHT_BUILD_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A build: the kernels of one pair of files. */
typedef struct tw_build tw_build;

/* Makes a build. name: an identifier of C, with which both files and all their names begin.
 * Returns TW_OK, TW_BAD_ARGUMENT or TW_NO_MEMORY. The context owns the build. */
TW_API tw_status tw_build_new(tw_context *ctx, const char *name, tw_build **out);

/* Frees a build. NULL is allowed. */
TW_API void tw_build_free(tw_build *b);

/* The values of an integer parameter for which a version is meant, both ends included. INT64_MIN
 * and INT64_MAX: no end. The struct never changes. */
typedef struct tw_size_range {
    const char *param;
    int64_t least, most;
} tw_size_range;

/* The launches for which a version is meant. */
typedef struct tw_build_when {
    size_t size;        /* tw_build_when_init sets it */
    const char *device; /* the driver's name of the GPU, "NVIDIA H200"; NULL: any */
    int range_count;
    const tw_size_range *ranges;
    /* Bytes that divide the address of every array; an element's size, if that is larger. 0: 16, with
     * which code for a GPU is fastest. */
    int alignment;
} tw_build_when;
TW_SIZED(tw_build_when);

/* Compiles a launch's kernel and adds it as a version. The kernel comes from tw_kernel_for_target
 * in the build's context; its types, tuned values and statics must be set. Another integer that
 * is set and divisible by 16 makes the version one for launches where that integer is. A
 * program's launch takes the first version added that suits its values and its GPU, or the CPU. A
 * version for `cpu` runs by libtilewright_cpu.a. when: NULL for all launches. The launch may change
 * or be freed afterwards. Returns TW_OK, TW_BAD_PROGRAM with the reasons as messages, or
 * TW_BAD_ARGUMENT. After another status than TW_OK the build can only be freed. */
TW_API tw_status tw_build_add(tw_build *b, tw_launch *l, const tw_build_when *when);

/* The PTX of a version, for an assembler. Its texts are valid until something is added. */
typedef struct tw_build_image {
    size_t size; /* tw_build_image_init sets it */
    const char *ptx;
    const char *target; /* "sm_90" */
} tw_build_image;
TW_SIZED(tw_build_image);

/* Fills `out` with image number `index`; equal texts are one image. Returns false past the last. */
TW_API bool tw_build_image_at(tw_build *b, int index, tw_build_image *out);

/* Adds the machine code that `ptxas -arch=TARGET` made of image number `index`. The bytes are
 * copied. The program uses the machine code where it runs; PTX ships for the lowest target alone.
 * Returns TW_OK, or TW_BAD_PROGRAM if the bytes are not machine code. */
TW_API tw_status tw_build_machine_code(tw_build *b, int index, const void *cubin, size_t length);

/* Returns both files as texts, valid until the build is changed or freed. */
TW_API tw_status tw_build_texts(tw_build *b, const char **header, const char **source);

/* Writes FOLDER/NAME.h and FOLDER/NAME.c, both or neither; existing files are replaced whole.
 * Returns TW_OK, or TW_NO_FILE with the reason as a message. */
TW_API tw_status tw_build_write(tw_build *b, const char *folder);

#ifdef __cplusplus
}
#endif
#endif
