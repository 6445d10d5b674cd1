/* The loader asks this library before it opens a file (rtld-audit(7)). A program that names NVIDIA's
 * libraries by a path of its own, in dlopen or in its run path, then gets the stand-ins in the folder of
 * this library. `tilewright` sets LD_AUDIT for that. */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The names under which programs open the libraries, and those of the stand-ins. */
static const struct {
    const char *name, *stand_in;
} libraries[] = {
    {"libcuda.so", "libcuda.so.1"},
    {"libcuda.so.1", "libcuda.so.1"},
    {"libcudart.so.12", "libcudart.so.12"},
    {"libcudart.so.13", "libcudart.so.13"},
    {"libcublas.so.12", "libcublas.so.12"},
    {"libcublas.so.13", "libcublas.so.13"},
    {"libcublasLt.so.12", "libcublasLt.so.12"},
    {"libcublasLt.so.13", "libcublasLt.so.13"},
};

static char path[4096]; /* of the file that replaces the last one asked for */

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned la_version(unsigned version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* Writes the path of a stand-in. Returns false if it does not fit, or is not there. */
static bool find_stand_in(const char *name)
{
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)find_stand_in, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    int length = snprintf(path, sizeof path, "%.*s%s", folder, info.dli_fname, name);
    return length > 0 && length < (int)sizeof path && access(path, R_OK) == 0;
}

/* Returns the file to open in place of `name`. */
EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    const char *slash = strrchr(name, '/');
    (void)cookie, (void)flag;
    for (size_t i = 0; slash && i < sizeof libraries / sizeof libraries[0]; i++)
        if (strcmp(slash + 1, libraries[i].name) == 0 && find_stand_in(libraries[i].stand_in))
            return path;
    return (char *)(uintptr_t)name;
}
