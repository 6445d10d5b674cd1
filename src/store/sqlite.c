#include "store/sqlite.h"

#include "base/platform.h"

#include <stdlib.h>
#include <string.h>

static bool take_functions(struct sqlite *out, void *library)
{
    void *function;
    *out = (struct sqlite){0};
#define SQLITE_TAKE(result, name, arguments)                                                       \
    function = platform_symbol(library, "sqlite3_" #name);                                         \
    if (!function)                                                                                 \
        return false;                                                                              \
    memcpy(&out->name, &function, sizeof function);
    SQLITE_FUNCTIONS(SQLITE_TAKE)
#undef SQLITE_TAKE
    return true;
}

const char *sqlite_find(struct sqlite *out)
{
    static const char *const names[] = {"libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib"};
    const char *own = getenv("TILEWRIGHT_SQLITE");
    void *library = NULL;
    if (own && *own)
        library = platform_library(own);
    for (size_t i = 0; i < sizeof names / sizeof *names && !library && !(own && *own); i++)
        library = platform_library(names[i]);
    if (library && take_functions(out, library))
        return NULL;
    return own && *own ? "$TILEWRIGHT_SQLITE names no SQLite library"
                       : "the SQLite library is not here; install it (Debian, Ubuntu: apt install "
                         "libsqlite3-0; Fedora: dnf install sqlite-libs; Arch: pacman -S sqlite), "
                         "or name it in TILEWRIGHT_SQLITE=PATH";
}
