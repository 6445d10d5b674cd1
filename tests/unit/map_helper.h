/* Kernels whose parameters are tensor maps: a test replaces the program that the compiler made by PTX
 * that writes the maps' bytes to the array `codes`. The tests are linked so that the compiler's calls of
 * emit_kernel come here (tests/CMakeLists.txt). */
#ifndef MAP_HELPER_H
#define MAP_HELPER_H

#include "emit/emit.h"

enum { MAPS_MOST = 24 };

/* The parameters of the replaced program; it has also a pointer to `codes`. */
struct map_program {
    const char *map[MAPS_MOST]; /* views, in order; NULL: no more */
    const char *scalar;         /* a parameter after the first map; NULL: none */
    int box[2], swizzle;
    int cluster;
};

/* All kernels are compiled so from now on; NULL: as the compiler does. */
void map_programs(const struct map_program *p);

#endif
