#include "part_file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- interruptions --- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ, SIGXCPU};
enum { SIGNALS = sizeof signals / sizeof *signals };
static const char *volatile under_way; /* the part that is there now */
static struct sigaction before[SIGNALS];

static void take_away(int number)
{
    if (under_way)
        unlink(under_way);
    signal(number, SIG_DFL);
    raise(number);
}

/* Signals that somebody answers or ignores are left to them. */
static void watch(const char *part)
{
    under_way = part;
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_DFL)
            sigaction(signals[i], &(struct sigaction){.sa_handler = take_away}, NULL);
    }
}

static void stop_watching(void)
{
    for (int i = 0; i < SIGNALS; i++)
        if (before[i].sa_handler == SIG_DFL)
            sigaction(signals[i], &before[i], NULL);
    under_way = NULL;
}

/* --- the file --- */

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
    struct part_file p = {NULL, NULL};
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        p.file = fopen(path, mode);
        return p;
    }
    p.beside = name_beside(path);
    if (!p.beside)
        return p;
    watch(p.beside);
    p.file = fopen(p.beside, mode);
    return p;
}

bool part_file_close(struct part_file *p, const char *path, bool good)
{
    bool opened = p->file != NULL, is_there = opened;
    if (opened && fclose(p->file) != 0)
        good = false;
    if (opened && good && p->beside) {
        good = rename(p->beside, path) == 0;
        is_there = !good;
    }
    int error = errno;
    if (p->beside) {
        if (is_there)
            remove(p->beside);
        stop_watching();
        free(p->beside);
    }
    errno = error;
    return opened && good;
}
