#define _GNU_SOURCE /* dladdr, and of later standards realpath and MAP_NORESERVE */
#include "base/platform.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

/* --- time --- */

double platform_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- files --- */

static const char *reason(struct arena *a, int error)
{
    const char *text = strerror(error);
    return arena_string(a, text, strlen(text));
}

/* Reads all bytes up to the end of fd, which may be a pipe. Returns NULL and sets *error on
 * failure: to EFBIG if there are more than `most` bytes. */
static char *read_all(struct arena *a, int fd, size_t most, size_t *length, int *error)
{
    struct stat info;
    size_t capacity = 4096, used = 0;
    bool known = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
    if (known && (uintmax_t)info.st_size > most) {
        *error = EFBIG;
        return NULL;
    }
    if (known)
        capacity = (size_t)info.st_size + 2; /* one byte to see the end, one for the '\0' */
    char *data = arena_alloc(a, capacity);
    for (;;) {
        if (used + 1 >= capacity) {
            char *larger = arena_alloc_array(a, capacity, 2);
            memcpy(larger, data, used);
            data = larger;
            capacity *= 2;
        }
        ssize_t got = read(fd, data + used, capacity - used - 1);
        if (got == 0)
            break;
        if (got > 0)
            used += (size_t)got;
        if (used > most || (got < 0 && errno != EINTR)) {
            *error = used > most ? EFBIG : errno;
            return NULL;
        }
    }
    data[used] = '\0';
    *length = used;
    return data;
}

/* Does the same as read_all, and closes fd even if memory runs out. */
static char *read_and_close(struct arena *a, int fd, size_t most, size_t *length, int *error)
{
    jmp_buf *volatile outer = a->out_of_memory;
    volatile int file = fd;
    jmp_buf here;
    a->out_of_memory = &here;
    if (setjmp(here)) {
        close(file);
        a->out_of_memory = outer;
        longjmp(*outer, 1);
    }
    char *data = read_all(a, file, most, length, error);
    a->out_of_memory = outer;
    close(file);
    return data;
}

static char *read_most(struct arena *a, const char *path, size_t most, size_t *length,
                       const char **why)
{
    int error = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        *why = reason(a, errno);
        return NULL;
    }
    char *data = read_and_close(a, fd, most, length, &error);
    if (!data && error == EFBIG)
        *why = arena_printf(a, "it has more than %zu MiB", most >> 20);
    else if (!data)
        *why = reason(a, error);
    return data;
}

char *platform_read_file(struct arena *a, const char *path, size_t *length, const char **why)
{
    return read_most(a, path, SIZE_MAX, length, why);
}

char *platform_read_text(struct arena *a, const char *path, size_t most, bool regular,
                         size_t *length, const char **why)
{
    struct stat info; /* before the file is opened, because opening a pipe waits for its writer */
    if (regular && stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        *why = S_ISDIR(info.st_mode) ? "it is a folder" : "it is a device or a pipe";
        return NULL;
    }
    return read_most(a, path, most, length, why);
}

/* 0, or the error. */
static int write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t put = write(fd, data, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return errno;
        data += put;
        length -= (size_t)put;
    }
    return 0;
}

/* Writes to a device or a pipe, which cannot be replaced. */
static int write_in_place(const char *path, const void *data, size_t length)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = write_all(fd, data, length);
    if (close(fd) != 0 && !error)
        error = errno;
    return error;
}

/* Returns true for a read-only file, which must not be replaced either. */
static bool is_read_only(const char *path, const struct stat *file)
{
    return (file->st_mode & 0222) == 0 || access(path, W_OK) != 0;
}

/* The new content of a file. */
struct content {
    const void *data;
    size_t length;
    const struct stat *old; /* the existing file; NULL: none */
    bool durable;           /* on the disk before it gets the name */
};

/* Writes the content and closes fd, whether it succeeds or not. */
static int write_content(int fd, const struct content *c)
{
    int error = write_all(fd, c->data, c->length);
    if (!error && c->old && fchmod(fd, c->old->st_mode & 07777) != 0)
        error = errno;
    if (!error && c->durable && fsync(fd) != 0 && errno != EINVAL)
        error = errno;
    if (close(fd) != 0 && !error)
        error = errno;
    return error;
}

static int write_temporary(int fd, const char *temporary, const char *path, const struct content *c)
{
    int error = write_content(fd, c);
    if (!error && rename(temporary, path) != 0)
        error = errno;
    if (error)
        unlink(temporary);
    return error;
}

static int replace_file(struct arena *a, const char *path, const struct content *c)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        const char *temporary = arena_printf(a, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            return write_temporary(fd, temporary, path, c);
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
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
            return errno == EINVAL || errno == ENOENT ? 0 : errno; /* not a link: the file itself */
        link[length] = '\0';
        char *slash = *link == '/' ? NULL : strrchr(out, '/');
        size_t folder = slash ? (size_t)(slash - out) + 1 : 0;
        if (folder + (size_t)length >= PATH_MAX)
            return ENAMETOOLONG;
        memmove(out + folder, link, (size_t)length + 1);
    }
    return ELOOP;
}

bool platform_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

const char *platform_real_path(struct arena *a, const char *path)
{
    char resolved[PATH_MAX];
    return realpath(path, resolved) ? arena_string(a, resolved, strlen(resolved)) : NULL;
}

bool platform_write_file(struct arena *a, const char *path, const void *data, size_t length,
                         const char **why)
{
    char resolved[PATH_MAX]; /* for a symbolic link, the file is replaced and not the link */
    struct stat old;
    bool exists = stat(path, &old) == 0;
    int error = 0;
    if (exists ? realpath(path, resolved) != NULL : (error = follow_links(path, resolved)) == 0)
        path = resolved;
    if (exists && S_ISDIR(old.st_mode))
        error = EISDIR;
    else if (exists && !S_ISREG(old.st_mode))
        error = write_in_place(path, data, length);
    else if (exists && is_read_only(path, &old))
        error = EACCES;
    else if (!error)
        error = replace_file(
            a, path, &(struct content){data, length, exists ? &old : NULL, .durable = true});
    if (error)
        *why = reason(a, error);
    return !error;
}

bool platform_store_file(struct arena *a, const char *path, const void *data, size_t length,
                         const char **why)
{
    int error = replace_file(a, path, &(struct content){data, length, NULL, .durable = false});
    if (error)
        *why = reason(a, error);
    return !error;
}

/* One of several replacements: its new content, and its old content until all are in place. */
struct replacement {
    const char *path, *temporary, *old;
    bool written, existed, replaced;
    int error; /* from following links; 0: none */
};

static void name_replacement(struct arena *a, struct replacement *r, const char *path)
{
    char resolved[PATH_MAX]; /* as in platform_write_file */
    long id = (long)getpid();
    if (realpath(path, resolved) || (r->error = follow_links(path, resolved)) == 0)
        path = arena_string(a, resolved, strlen(resolved));
    r->path = path;
    r->temporary = arena_printf(a, "%s.%ld.tmp", path, id);
    r->old = arena_printf(a, "%s.%ld.old", path, id);
}

static int stage(const struct platform_output *file, struct replacement *r)
{
    struct stat old;
    if (r->error)
        return r->error;
    r->existed = stat(r->path, &old) == 0;
    if (r->existed && !S_ISREG(old.st_mode))
        return S_ISDIR(old.st_mode) ? EISDIR : EEXIST;
    if (r->existed && is_read_only(r->path, &old))
        return EACCES;
    int fd = open(r->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    r->written = true;
    return write_content(
        fd, &(struct content){file->data, file->length, r->existed ? &old : NULL, .durable = true});
}

/* Gives the old content a second name, so that the path always has a file. If the file system has
 * no second names, it moves the file. */
static int keep_old(const struct replacement *r)
{
    unlink(r->old); /* left by a killed process with the same number */
    return link(r->path, r->old) == 0 || rename(r->path, r->old) == 0 ? 0 : errno;
}

static int put_in_place(struct replacement *r)
{
    int error = r->existed ? keep_old(r) : 0;
    if (error)
        return error;
    r->replaced = true;
    if (rename(r->temporary, r->path) != 0)
        return errno;
    r->written = false;
    return 0;
}

/* Removes the second name if the replacement is done, otherwise restores the old content. */
static void finish(struct replacement *r, bool done)
{
    if (r->written)
        unlink(r->temporary);
    if (r->replaced && !done && !r->existed)
        unlink(r->path);
    if (r->replaced && r->existed && (done || rename(r->old, r->path) == 0))
        unlink(r->old); /* rename keeps both names if they are of one file */
}

bool platform_write_files(struct arena *a, const struct platform_output *files, int count,
                          int *failed, const char **why)
{
    struct replacement *list = arena_array(a, struct replacement, count);
    int error = 0;
    for (int i = 0; i < count; i++) /* everything that allocates comes first, before there is
                                     * something to undo */
        name_replacement(a, &list[i], files[i].path);
    for (*failed = 0; *failed < count && !error; ++*failed)
        error = stage(&files[*failed], &list[*failed]);
    if (!error)
        for (*failed = 0; *failed < count && !error; ++*failed)
            error = put_in_place(&list[*failed]);
    for (int i = 0; i < count; i++)
        finish(&list[i], !error);
    --*failed;
    if (error)
        *why = reason(a, error);
    return !error;
}

void platform_remove_file(const char *path)
{
    unlink(path);
}

bool platform_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

void platform_touch_file(const char *path)
{
    utimensat(AT_FDCWD, path, NULL, 0);
}

/* --- folders --- */

bool platform_make_folder(struct arena *a, const char *path, const char **why)
{
    struct stat info;
    char *part = arena_string(a, path, strlen(path));
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return true;
    for (char *at = part + 1; *part; at++) {
        char was = *at;
        if (was != '/' && was != '\0')
            continue;
        *at = '\0';
        bool made = mkdir(part, 0700) == 0;
        int error = errno;
        if (!made && (stat(part, &info) != 0 || !S_ISDIR(info.st_mode))) {
            *why = reason(a, error == EEXIST ? ENOTDIR : error);
            return false;
        }
        *at = was;
        if (!was)
            break;
    }
    return true;
}

bool platform_may_write(struct arena *a, const char *folder, const char **why)
{
    if (access(folder, W_OK | X_OK) == 0)
        return true;
    *why = reason(a, errno);
    return false;
}

static void list_file(struct arena *a, int folder, const char *name, struct platform_files *out)
{
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return;
    double used = (double)info.st_mtim.tv_sec + (double)info.st_mtim.tv_nsec * 1e-9;
    struct platform_file file = {arena_string(a, name, strlen(name)), info.st_size, used};
    vec_push(a, &out->list, file);
}

struct platform_files platform_list_files(struct arena *a, const char *folder)
{
    struct platform_files files = {.list = {NULL, 0, 0}};
    DIR *volatile open_folder = opendir(folder);
    if (!open_folder)
        return files;
    jmp_buf *volatile outer = a->out_of_memory;
    jmp_buf here;
    a->out_of_memory = &here;
    if (setjmp(here)) {
        closedir(open_folder);
        a->out_of_memory = outer;
        longjmp(*outer, 1);
    }
    for (const struct dirent *e; (e = readdir(open_folder));)
        list_file(a, dirfd(open_folder), e->d_name, &files);
    a->out_of_memory = outer;
    closedir(open_folder);
    return files;
}

double platform_date(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

bool platform_user_path(const char *variable, const char *in_home, const char *name, char *out,
                        size_t size)
{
    const char *given = getenv(variable), *home = getenv("HOME");
    int length = -1;
    if (given && given[0] == '/') /* the specification says that relative paths are ignored */
        length = snprintf(out, size, "%s/%s", given, name);
    else if (home && home[0] == '/')
        length = snprintf(out, size, "%s/%s/%s", home, in_home, name);
    return length > 0 && (size_t)length < size;
}

bool platform_cache_folder(const char *name, char *out, size_t size)
{
    return platform_user_path("XDG_CACHE_HOME", ".cache", name, out, size);
}

/* --- other programs --- */

extern char **environ;

const char *platform_find_program(struct arena *a, const char *name)
{
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? name : NULL;
    for (const char *at = getenv("PATH"); at && *at; at += *at == ':') {
        size_t length = strcspn(at, ":");
        const char *path = arena_printf(a, "%.*s/%s", (int)length, at, name);
        if (length > 0 && access(path, X_OK) == 0)
            return path;
        at += length;
    }
    return NULL;
}

int platform_run(const char *const *arguments)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    /* posix_spawn does not change the arguments */
    int error = posix_spawn(&child, arguments[0], &actions, NULL,
                            (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool platform_temporary_folder(char *out, size_t size)
{
    const char *where = getenv("TMPDIR");
    int length = snprintf(out, size, "%s/tilewright-XXXXXX", where && *where ? where : "/tmp");
    return (size_t)length < size && mkdtemp(out);
}

void platform_remove_folder(const char *path)
{
    rmdir(path);
}

bool platform_file_stamp(const char *path, int64_t *bytes, int64_t *changed)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return false;
    *bytes = info.st_size;
    *changed = info.st_mtim.tv_sec;
    return true;
}

/* --- memory --- */

void *platform_reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void platform_unreserve(void *at, size_t bytes)
{
    munmap(at, bytes);
}

void platform_prefer_large_pages(void *at, size_t bytes)
{
#if defined(MADV_HUGEPAGE)
    uintptr_t low = ((uintptr_t)at + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE,
              high = ((uintptr_t)at + bytes) / LARGE_PAGE * LARGE_PAGE;
    if (low < high)
        (void)madvise((void *)low, high - low, MADV_HUGEPAGE);
#else
    (void)at;
    (void)bytes;
#endif
}

/* --- shared libraries --- */

/* Writes the file's folder without links. Returns false if the file does not exist. */
static bool real_folder(const char *file, char *out, size_t size)
{
    char resolved[PATH_MAX];
    if (!realpath(file, resolved))
        return false;
    *strrchr(resolved, '/') = '\0';
    int length = snprintf(out, size, "%s", resolved);
    return (size_t)length < size;
}

bool platform_library_folder(char *out, size_t size)
{
    static const char here = 0;
    Dl_info info;
    bool known = dladdr(&here, &info) != 0 && info.dli_fname;
    return known && strchr(info.dli_fname, '/') && real_folder(info.dli_fname, out, size);
}

bool platform_program_folder(char *out, size_t size)
{
    return real_folder("/proc/self/exe", out, size);
}

void *platform_library(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

const char *platform_library_error(void)
{
    const char *text = dlerror();
    return text ? text : "no reason given";
}

void *platform_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}
