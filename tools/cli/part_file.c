#define _XOPEN_SOURCE 700 /* realpath */
#include "cli/part_file.h"
#include "cli/leftovers.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- interruptions --- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ, SIGXCPU};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];
static sigset_t held;

void part_file_hold(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] != SIGXFSZ) /* raised in the write itself */
            sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, &held);
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == SIGXFSZ)
            sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, &before[i]);
}

void part_file_release(void)
{
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == SIGXFSZ)
            sigaction(SIGXFSZ, &before[i], NULL);
    sigprocmask(SIG_SETMASK, &held, NULL);
}

/* --- the file --- */

/* Returns the folder's absolute path, joined with the last part of the path. */
static char *name_in_folder(const char *path)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    size_t length = slash ? (size_t)(last - path) : 1;
    char *folder = strndup(slash ? path : ".", length);
    char *full = folder ? realpath(folder, NULL) : NULL;
    size_t size = full ? strlen(full) + strlen(last) + 2 : 0;
    char *name = full ? malloc(size) : NULL;
    if (name)
        snprintf(name, size, "%s/%s", strcmp(full, "/") == 0 ? "" : full, last);
    free(full);
    free(folder);
    return name;
}

enum { MOST_LINKS = 40 };

/* Follows symbolic links to a file that need not exist. Returns 0 or the error. */
static int follow_links(const char *path, char out[PATH_MAX])
{
    char link[PATH_MAX];
    if (strlen(path) >= PATH_MAX)
        return ENAMETOOLONG;
    strcpy(out, path);
    for (int i = 0; i < MOST_LINKS; i++) {
        ssize_t length = readlink(out, link, sizeof link - 1);
        if (length < 0)
            return errno == EINVAL || errno == ENOENT ? 0 : errno; /* no link: the file itself */
        link[length] = '\0';
        char *slash = *link == '/' ? NULL : strrchr(out, '/');
        size_t folder = slash ? (size_t)(slash - out) + 1 : 0;
        if (folder + (size_t)length >= PATH_MAX)
            return ENAMETOOLONG;
        memmove(out + folder, link, (size_t)length + 1);
    }
    return ELOOP;
}

char *part_file_target(const char *path)
{
    struct stat info;
    char target[PATH_MAX];
    if (stat(path, &info) != 0) {
        int error = follow_links(path, target);
        errno = error;
        return error ? NULL : name_in_folder(target);
    }
    return S_ISREG(info.st_mode) ? realpath(path, NULL) : NULL;
}

bool part_file_read_only(const char *path)
{
    struct stat info;
    bool is_file = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    if (!is_file || ((info.st_mode & 0222) && access(path, W_OK) == 0))
        return false;
    errno = EACCES;
    return true;
}

static char *name_beside(const char *path)
{
    size_t size = strlen(path) + 32;
    char *name = malloc(size);
    if (name)
        snprintf(name, size, "%s.part-%ld", path, (long)getpid());
    return name;
}

struct part_file part_file_open(const char *path, const char *mode)
{
    struct stat info;
    struct part_file p = {NULL, NULL, NULL};
    bool exists = stat(path, &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) {
        p.file = fopen(path, mode);
        return p;
    }
    if (part_file_read_only(path))
        return p;
    p.target = part_file_target(path);
    p.beside = p.target ? name_beside(p.target) : NULL;
    if (!p.beside)
        return p;
    leftover_path(p.beside);
    p.file = fopen(p.beside, mode);
    if (p.file && exists)
        fchmod(fileno(p.file), info.st_mode & 07777);
    return p;
}

bool part_file_close(struct part_file *p, bool good)
{
    bool opened = p->file != NULL, is_there = opened;
    if (opened && fclose(p->file) != 0)
        good = false;
    if (opened && good && p->beside) {
        good = rename(p->beside, p->target) == 0;
        is_there = !good;
    }
    int error = errno;
    if (p->beside) {
        if (is_there)
            remove(p->beside);
        leftover_keep(p->beside);
        free(p->beside);
    }
    free(p->target);
    errno = error;
    return opened && good;
}
