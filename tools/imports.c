#include "imports.h"
#include "options.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *import_folders(void)
{
    const char *set = getenv("TILEWRIGHT_PATH");
    char *shipped = source_path("kernels/*"), *path = NULL;
    if (import_path())
        append_text(&path, "%s:", import_path());
    if (set)
        append_text(&path, "%s:", set);
    append_text(&path, "%.*s", (int)(strrchr(shipped, '/') - shipped), shipped);
    free(shipped);
    return path;
}

/* Returns the path that `import "word"` means in the file at `path`: in that file's folder, else
 * in the first folder of the search path that has it. If no such file exists, returns the path
 * in the file's own folder. The caller frees. */
static char *imported_file(const char *path, const char *word, size_t length)
{
    const char *slash = strrchr(path, '/');
    int folder = slash && *word != '/' ? (int)(slash - path) + 1 : 0;
    char *first = need_text("%.*s%.*s", folder, path, (int)length, word), *found = NULL;
    char *all = import_folders();
    for (const char *at = all; !found && access(first, F_OK) != 0 && *at;) {
        size_t part = strcspn(at, ":");
        char *name = need_text("%.*s/%.*s", (int)part, at, (int)length, word);
        if (part && access(name, F_OK) == 0)
            found = name;
        else
            free(name);
        at += part + (at[part] == ':');
    }
    free(all);
    if (found)
        free(first);
    return found ? found : first;
}

bool next_import(const char *path, const char *text, size_t *at, struct import_line *out)
{
    static const char word[] = "import";
    while (text[*at]) {
        const char *line = text + *at, *name = line + strspn(line, " \t");
        bool is_import = strncmp(name, word, strlen(word)) == 0;
        name += is_import ? strlen(word) : 0;
        name += strspn(name, " \t");
        size_t length = is_import && *name == '"' ? strcspn(name + 1, "\"\n") : 0;
        *at += strcspn(line, "\n");
        *at += text[*at] == '\n';
        if (!length || name[1 + length] != '"')
            continue;
        out->begin = (size_t)(name - text);
        out->end = out->begin + length + 2;
        out->path = imported_file(path, name + 1, length);
        return true;
    }
    out->path = NULL;
    return false;
}

char *read_import(const char *path, size_t *length)
{
    enum { LARGEST_IMPORT = 1 << 20 };
    struct stat info;
    bool plain = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    return plain ? read_at_most(path, LARGEST_IMPORT, length) : NULL;
}
