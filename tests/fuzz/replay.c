/* Runs a target on files, or on all files of a folder, so that errors once found do not return. */
#include "fuzz_target.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int replay_file(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    /* in memory of its own size, so that a read past the end is noticed */
    uint8_t *exact = malloc(size ? size : 1);
    for (size_t i = 0; i < size; i++)
        exact[i] = data[i];
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    return 1;
}

static int replay(const char *path)
{
    struct stat info;
    int count = 0;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return replay_file(path);
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        char inside[1024];
        snprintf(inside, sizeof inside, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.')
            count += replay_file(inside);
    }
    if (folder)
        closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += replay(argv[i]);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
