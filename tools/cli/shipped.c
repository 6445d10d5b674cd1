#include "cli/shipped.h"
#include "cli/tool.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Families are files of the first folder. */
static const char *const folders[] = {
    "kernels",        "kernels/sgemm",   "kernels/matmul",      "kernels/fused",
    "kernels/hopper", "kernels/recipes", "kernels/single_block"};
enum { FOLDERS = sizeof folders / sizeof *folders };

bool is_shipped_name(const char *word)
{
    bool is_input = word[0] == '-' && (!word[1] || word[1] == ':');
    if (!*word || is_input || word[strcspn(word, "/.")])
        return false;
    char *file = need_text("%.*s", (int)strcspn(word, ":"), word);
    bool is_file = access(word, F_OK) == 0 || access(file, F_OK) == 0;
    free(file);
    return !is_file;
}

char *shipped_path(const char *word)
{
    int length = (int)strcspn(word, ":");
    for (int i = 0; i < FOLDERS; i++) {
        char *inside = need_text("%s/%.*s.tile", folders[i], length, word);
        char *path = source_path(inside);
        free(inside);
        if (access(path, R_OK) == 0) {
            char *whole = need_text("%s%s", path, word + length);
            free(path);
            return whole;
        }
        free(path);
    }
    return NULL;
}

/* Returns the names, ending with NULL. */
static char **shipped_names(void)
{
    char **names = need_memory(sizeof *names);
    size_t count = 0;
    for (int i = 0; i < FOLDERS; i++) {
        char *pattern = need_text("%s/x.tile", folders[i]), *path = source_path(pattern);
        path[strlen(path) - strlen("/x.tile")] = '\0';
        DIR *folder = opendir(path);
        for (struct dirent *d; folder && (d = readdir(folder));) {
            const char *dot = strrchr(d->d_name, '.');
            if (!dot || strcmp(dot, ".tile") != 0)
                continue;
            names = need_more_memory(names, (count + 2) * sizeof *names);
            names[count++] = need_text("%.*s", (int)(dot - d->d_name), d->d_name);
            names[count] = NULL;
        }
        if (folder)
            closedir(folder);
        free(path);
        free(pattern);
    }
    return names;
}

char *shipped_hint(const char *word)
{
    char **names = shipped_names(), *hint = name_hint(word, (const char *const *)names);
    for (char **name = names; *name; name++)
        free(*name);
    free(names);
    return hint;
}
