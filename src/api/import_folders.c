/* The folders where modules look for imported files: the caller's, those of $TILEWRIGHT_PATH, and
 * the folder of the kernels that ship.
 *
 * The kernels that ship are found from the place of the library or of the program, so that an
 * installation can be moved; from a build folder, they are those of the source tree above it. The
 * folder that the build was configured for comes last. */
#include "api/objects.h"

#include "base/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The build sets the folder of installed data files, and the ways to it from the folders of an
 * installed library and program. */
#ifndef TW_DATA_OF_PROGRAM
#define TW_DATA_OF_PROGRAM "."
#define TW_DATA_OF_LIBRARY "."
#endif
#ifndef TW_INSTALLED_DATA
#define TW_INSTALLED_DATA "/usr/share/tilewright"
#endif

enum { MOST_PATH = 4096, MOST_SHIPPED = 2 };

/* Tells whether the folder has the kernels that ship. Other folders of that name lack this file. */
static bool has_kernels(const char *folder)
{
    char file[MOST_PATH + 32];
    snprintf(file, sizeof file, "%s/lib/activations.tile", folder);
    return platform_file_exists(file);
}

/* Writes the folder of the kernels that ship, from a folder that has the program or the library.
 * Returns false if there is none. */
static bool kernels_near(const char *folder, char *out)
{
    static const char *const data[] = {TW_DATA_OF_LIBRARY, TW_DATA_OF_PROGRAM, ".."};
    for (int i = 0; i < 3; i++) {
        int length = snprintf(out, MOST_PATH, "%s/%s/kernels", folder, data[i]);
        if (length < MOST_PATH && has_kernels(out))
            return true;
    }
    return false;
}

/* Writes the folders of the kernels that ship, the nearest first. Returns their number. */
static int shipped_folders(char list[MOST_SHIPPED][MOST_PATH])
{
    char folder[MOST_PATH];
    int count = platform_library_folder(folder, sizeof folder) && kernels_near(folder, list[0]);
    if (count == 0 && platform_program_folder(folder, sizeof folder))
        count = kernels_near(folder, list[0]);
    snprintf(list[count++], MOST_PATH, "%s/kernels", TW_INSTALLED_DATA);
    return count;
}

char *import_folders_path_new(const struct allocator *allocator, const char *given)
{
    char shipped[MOST_SHIPPED][MOST_PATH];
    int count = shipped_folders(shipped);
    const char *parts[2 + MOST_SHIPPED] = {given, getenv("TILEWRIGHT_PATH")};
    size_t length = 1;
    for (int i = 0; i < count; i++)
        parts[2 + i] = shipped[i];
    for (int i = 0; i < 2 + count; i++)
        length += parts[i] ? strlen(parts[i]) + 1 : 0;
    char *path = allocator->resize(allocator->user, NULL, 0, length);
    if (!path)
        return NULL;
    *path = '\0';
    for (int i = 0; i < 2 + count; i++)
        if (parts[i])
            strcat(strcat(path, parts[i]), ":");
    return path;
}
