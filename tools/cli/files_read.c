#include "cli/files_read.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 4096 - sizeof(struct file_told) }; /* of a path: a record is one atomic write */

static int told = -1;

static struct file_state state_of(const struct stat *info)
{
    return (struct file_state){.exists = true,
                               .device = (uint64_t)info->st_dev,
                               .node = (uint64_t)info->st_ino,
                               .size = (int64_t)info->st_size,
                               .seconds = (int64_t)info->st_mtim.tv_sec,
                               .nanoseconds = (int64_t)info->st_mtim.tv_nsec};
}

struct file_state file_state_now(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? state_of(&info) : (struct file_state){0};
}

bool file_state_same(const struct file_state *a, const struct file_state *b)
{
    return a->exists == b->exists && a->device == b->device && a->node == b->node &&
           a->size == b->size && a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

void files_tell(int pipe)
{
    told = pipe;
}

bool files_are_told(void)
{
    return told >= 0;
}

static void tell(const char *path, bool written)
{
    char record[sizeof(struct file_told) + MOST_BYTES];
    struct stat info;
    struct file_told head = {.written = written};
    size_t length = strlen(path);
    if (told < 0 || length > MOST_BYTES)
        return;
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode))
            return;
        head.state = state_of(&info);
    }
    head.length = (uint16_t)length;
    memcpy(record, &head, sizeof head);
    memcpy(record + sizeof head, path, length);
    if (write(told, record, sizeof head + length) < 0)
        told = -1; /* the parent has ended */
}

void file_is_read(const char *path)
{
    tell(path, false);
}

void file_is_written(const char *path)
{
    tell(path, true);
}
