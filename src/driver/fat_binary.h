/* Fat binaries: the images that nvcc puts into a program, and the PTX in them. */
#ifndef TW_FAT_BINARY_H
#define TW_FAT_BINARY_H

#include "base/arena.h"

/* Kinds of images. */
enum fat_image { FAT_TEXT, FAT_BINARY, FAT_MACHINE_CODE };
/* Returns the kind of an image, by its first bytes. */
enum fat_image fat_image_of(const void *image);

/* Finds the PTX for a GPU of this compute capability in a fat binary, or in the wrapper that nvcc
 * registers: the one for the greatest architecture that is not above it. Returns the text, which
 * ends with '\0', in the arena. NULL: there is none that can be read; *why has the reason. */
char *fat_ptx(struct arena *a, const void *image, int capability, size_t *length, const char **why);

#endif
