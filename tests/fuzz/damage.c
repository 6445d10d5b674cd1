/* damage COUNT FOLDER: runs a target on damaged copies of each file of a folder: COUNT times with some bytes
 * that are changed, and cut off at each of COUNT lengths. */
#include "fuzz_target.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

/* Changes up to eight bytes: to any value, or to one of those at which numbers change their length or
 * sign. */
static void change(uint8_t *data, size_t size)
{
    static const uint8_t special[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    for (uint64_t left = 1 + draw(8); left > 0; left--)
        data[draw(size)] = (uint8_t)(draw(2) ? special[draw(sizeof special)] : draw(256));
}

/* Runs the target on bytes in memory of their own size. */
static void run(const uint8_t *data, size_t size, bool changed)
{
    uint8_t *copy = malloc(size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (changed)
        change(copy, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static size_t damage(const char *path, size_t count)
{
    static uint8_t data[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(data, 1, sizeof data, f) : 0;
    if (f)
        fclose(f);
    for (size_t i = 1; size && i <= count; i++) {
        run(data, size, true);
        run(data, size * i / count, false);
    }
    return size ? 1 : 0;
}

int main(int argc, char **argv)
{
    size_t files = 0, count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
    DIR *folder = count ? opendir(argv[2]) : NULL;
    for (struct dirent *e; folder && (e = readdir(folder));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", argv[2], e->d_name);
        if (e->d_name[0] != '.')
            files += damage(path, count);
    }
    if (folder)
        closedir(folder);
    printf("%zu files, each damaged %zu times\n", files, 2 * count);
    return files ? 0 : 1;
}
