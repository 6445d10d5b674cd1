/* The functions of POSIX that the program calls and wasi-libc lacks (the headers in posix/).
 * There is one process with one thread and one user, no signals, no other programs and no shared
 * libraries, so most of these functions refuse, or have nothing to do. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int refuse(int error)
{
    errno = error;
    return -1;
}

/* --- processes, signals, timers --- */

pid_t getpid(void)
{
    return 1;
}

int posix_spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const arguments[],
                char *const environment[])
{
    (void)child, (void)path, (void)actions, (void)attributes, (void)arguments, (void)environment;
    return ENOSYS;
}

int posix_spawn_file_actions_init(posix_spawn_file_actions_t *actions)
{
    *actions = (posix_spawn_file_actions_t){0};
    return 0;
}

int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *actions)
{
    (void)actions;
    return 0;
}

int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *actions, int file,
                                     const char *path, int flags, mode_t mode)
{
    (void)actions, (void)file, (void)path, (void)flags, (void)mode;
    return 0;
}

int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int file, int as)
{
    (void)actions, (void)file, (void)as;
    return 0;
}

pid_t waitpid(pid_t child, int *status, int flags)
{
    (void)child, (void)status, (void)flags;
    return refuse(ECHILD);
}

int waitid(idtype_t kind, id_t child, siginfo_t *out, int flags)
{
    (void)kind, (void)child, (void)out, (void)flags;
    return refuse(ECHILD);
}

int sigaction(int number, const struct sigaction *to, struct sigaction *before)
{
    (void)number, (void)to;
    if (before)
        *before = (struct sigaction){.sa_handler = SIG_DFL};
    return 0;
}

void (*signal(int number, void (*handler)(int)))(int)
{
    (void)number, (void)handler;
    return SIG_DFL;
}

int raise(int number)
{
    _Exit(128 + number);
}

int kill(pid_t process, int number)
{
    (void)process, (void)number;
    return refuse(ESRCH);
}

int sigemptyset(sigset_t *set)
{
    *set = 0;
    return 0;
}

int sigaddset(sigset_t *set, int number)
{
    (void)set, (void)number;
    return 0;
}

int sigprocmask(int how, const sigset_t *to, sigset_t *before)
{
    (void)how, (void)to;
    if (before)
        *before = 0;
    return 0;
}

int setitimer(int which, const struct itimerval *to, struct itimerval *before)
{
    (void)which, (void)to, (void)before;
    return 0;
}

/* --- shared libraries --- */

void *dlopen(const char *name, int flags)
{
    (void)name, (void)flags;
    return NULL;
}

void *dlsym(void *library, const char *name)
{
    (void)library, (void)name;
    return NULL;
}

int dladdr(const void *address, Dl_info *out)
{
    (void)address, (void)out;
    return 0;
}

int dlclose(void *library)
{
    (void)library;
    return 0;
}

char *dlerror(void)
{
    static char why[] = "a browser loads no shared libraries";
    return why;
}

/* --- files --- */

int flock(int file, int how)
{
    (void)file, (void)how;
    return 0;
}

int fchmod(int file, mode_t mode)
{
    (void)file, (void)mode;
    return 0;
}

mode_t umask(mode_t mode)
{
    (void)mode;
    return 0;
}

int dup(int file)
{
    (void)file;
    return refuse(ENOSYS);
}

/* Writes the path without "." and empty parts; ".." removes the part before it. There are no
 * symbolic links. */
static void resolve(char *out, const char *path)
{
    size_t end = strlen(out);
    while (*path) {
        size_t length = strcspn(path, "/");
        if (length == 2 && strncmp(path, "..", 2) == 0) {
            while (end > 0 && out[--end] != '/')
                ;
        } else if (length > 0 && !(length == 1 && *path == '.')) {
            out[end++] = '/';
            memcpy(out + end, path, length);
            end += length;
        }
        path += length + (path[length] == '/');
    }
    if (end == 0)
        out[end++] = '/';
    out[end] = '\0';
}

char *realpath(const char *path, char *out)
{
    char folder[PATH_MAX] = "";
    struct stat info;
    if (stat(path, &info) != 0)
        return NULL;
    if (*path != '/' && !getcwd(folder, sizeof folder))
        return NULL;
    if (strlen(folder) + strlen(path) + 2 > PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    if (strcmp(folder, "/") == 0)
        folder[0] = '\0';
    char *whole = out ? out : malloc(PATH_MAX);
    if (!whole)
        return NULL;
    strcpy(whole, folder);
    resolve(whole, path);
    return whole;
}

/* Replaces the XXXXXX at the end by a number that counts the calls. Returns false without XXXXXX. */
static bool next_name(char *path)
{
    static int made;
    size_t length = strlen(path);
    if (length < 6 || strcmp(path + length - 6, "XXXXXX") != 0) {
        errno = EINVAL;
        return false;
    }
    snprintf(path + length - 6, 7, "%06d", made++ % 1000000);
    return true;
}

int mkstemp(char *path)
{
    return next_name(path) ? open(path, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
}

char *mkdtemp(char *path)
{
    return next_name(path) && mkdir(path, 0700) == 0 ? path : NULL;
}

/* --- memory --- */

/* Compares memory by words: wasi-libc compares a byte at a time, and the synchronisation check
 * compares much. */
int memcmp(const void *one, const void *other, size_t length)
{
    const unsigned char *a = one, *b = other;
    for (; length >= sizeof(uint64_t); length -= sizeof(uint64_t)) {
        uint64_t x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        if (x != y)
            break;
        a += sizeof x;
        b += sizeof y;
    }
    for (; length > 0 && *a == *b; length--, a++, b++)
        ;
    return length > 0 ? *a - *b : 0;
}

/* New pages of the memory are zeros, and a browser only backs the ones that are touched. Freed
 * pages are cleared and given out again. */
enum { PAGE = 1 << 16 };

struct free_pages {
    size_t pages;
    struct free_pages *next;
};
static struct free_pages *unused;

static void *take_unused(size_t pages)
{
    for (struct free_pages **at = &unused; *at; at = &(*at)->next)
        if ((*at)->pages >= pages) {
            struct free_pages *found = *at;
            *at = found->next;
            if (found->pages > pages)
                munmap((char *)found + pages * PAGE, (found->pages - pages) * PAGE);
            return memset(found, 0, pages * PAGE);
        }
    return NULL;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    (void)at, (void)protection, (void)flags, (void)file, (void)offset;
    size_t pages = bytes / PAGE + (bytes % PAGE != 0);
    void *taken = take_unused(pages);
    if (taken)
        return taken;
    size_t before = __builtin_wasm_memory_grow(0, pages);
    if (before != SIZE_MAX)
        return (void *)(before * PAGE);
    errno = ENOMEM;
    return MAP_FAILED;
}

int munmap(void *at, size_t bytes)
{
    struct free_pages *given = at;
    size_t pages = bytes / PAGE + (bytes % PAGE != 0);
    if (pages) {
        *given = (struct free_pages){pages, unused};
        unused = given;
    }
    return 0;
}
