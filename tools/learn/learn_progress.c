#define _XOPEN_SOURCE 700 /* realpath */
#include "learn/learn_progress.h"
#include "cli/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* First line of the file, which distinguishes it from files of other programs. */
#define OURS "# tilewright learn"
static const char first_line[] = OURS ": puzzle, then what was done with it\n";

static char *path_of(void)
{
    const char *named = getenv("TILEWRIGHT_LEARN"), *data = getenv("XDG_DATA_HOME"),
               *home = getenv("HOME");
    if (named && *named)
        return need_text("%s", named);
    if (data && *data == '/') /* XDG Base Directory Specification: ignore other paths */
        return need_text("%s/tilewright/learn", data);
    return home && *home == '/' ? need_text("%s/.local/share/tilewright/learn", home) : NULL;
}

struct step *learnt_step(struct learnt *l, const char *puzzle)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->list[i].puzzle, puzzle) == 0)
            return &l->list[i];
    struct step *s = ADD_NEW(l->list, l->count);
    *s = (struct step){.puzzle = need_text("%s", puzzle)};
    return s;
}

/* Returns a number within small limits, so that an edited file does no harm. */
static int small_number(const char *text)
{
    enum { MOST = 1000000 };
    long v = strtol(text, NULL, 10);
    return v < 0 ? 0 : v > MOST ? MOST : (int)v;
}

/* Reads "14_single_block_matmul passed at-solution cuda tries=3 hints=1 solution". */
static void read_line(struct learnt *l, char *line)
{
    char *rest, *word = strtok_r(line, " \r", &rest);
    if (!word || *word == '#')
        return;
    struct step *s = learnt_step(l, word);
    while ((word = strtok_r(NULL, " \r", &rest))) {
        if (strcmp(word, "passed") == 0)
            s->passed = true;
        else if (strcmp(word, "at-solution") == 0)
            s->at_solution = true;
        else if (strcmp(word, "cuda") == 0)
            s->cuda = true;
        else if (strcmp(word, "solution") == 0)
            s->solution = true;
        else if (strncmp(word, "tries=", 6) == 0)
            s->tries = small_number(word + 6);
        else if (strncmp(word, "hints=", 6) == 0)
            s->hints = small_number(word + 6);
    }
}

/* Reads the file. Returns the reason if that fails, or NULL, also if there is no file. */
static const char *read_steps(struct learnt *l, const char *path)
{
    struct stat found;
    if (!path || stat(path, &found) != 0 || !S_ISREG(found.st_mode)) /* a pipe would wait */
        return NULL;
    char *text = read_whole_file(path, NULL), *rest;
    if (!text)
        return strerror(errno);
    bool ours = found.st_size == 0 || strncmp(text, OURS, strlen(OURS)) == 0;
    for (char *line = ours ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        read_line(l, line);
    free(text);
    return ours ? NULL
                : "it is not a file of progress, which begins with `" OURS
                  "`: name another, or move "
                  "it away";
}

void learnt_read(struct learnt *l)
{
    *l = (struct learnt){.path = path_of(), .lock = -1};
    const char *why = read_steps(l, l->path);
    if (why)
        complain(NULL, "progress cannot be read: %s: %s", l->path, why);
}

void learnt_forget(struct learnt *l, const char *puzzle)
{
    int kept = 0;
    for (int i = 0; i < l->count; i++) {
        if (!puzzle || strcmp(l->list[i].puzzle, puzzle) == 0)
            free(l->list[i].puzzle);
        else
            l->list[kept++] = l->list[i];
    }
    l->count = kept;
}

static void unlock(struct learnt *l)
{
    if (l->lock >= 0)
        close(l->lock);
    l->lock = -1;
    free(l->target);
    l->target = NULL;
}

void learnt_free(struct learnt *l)
{
    learnt_forget(l, NULL);
    free(l->list);
    free(l->path);
    unlock(l);
    *l = (struct learnt){.lock = -1};
}

/* Makes the parent folders of the file, as the XDG Base Directory Specification requires. */
static void make_folders(const char *path)
{
    char *folder = need_text("%s", path);
    for (char *slash = folder + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
    free(folder);
}

static bool write_steps(const struct learnt *l, int file)
{
    FILE *f = fdopen(file, "w");
    if (!f) {
        close(file);
        return false;
    }
    fputs(first_line, f);
    for (int i = 0; i < l->count; i++) {
        const struct step *s = &l->list[i];
        fprintf(f, "%s%s%s%s tries=%d hints=%d%s\n", s->puzzle, s->passed ? " passed" : "",
                s->at_solution ? " at-solution" : "", s->cuda ? " cuda" : "", s->tries, s->hints,
                s->solution ? " solution" : "");
    }
    bool ok = !ferror(f) && fflush(f) == 0 && fsync(file) == 0;
    return fclose(f) == 0 && ok;
}

/* Opens and locks the file at the path. While this process waited for the lock, another may have
 * renamed a new file to the path; then starts again. */
static bool lock_target(struct learnt *l)
{
    struct stat locked, named;
    for (;;) {
        l->lock = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (l->lock < 0)
            return false;
        while (flock(l->lock, LOCK_EX) != 0 && errno == EINTR) /* a file system may lack locks */
            ;
        if (fstat(l->lock, &locked) != 0)
            return false;
        if (stat(l->path, &named) == 0 && named.st_dev == locked.st_dev &&
            named.st_ino == locked.st_ino)
            break;
        close(l->lock);
    }
    l->mode = locked.st_mode & 0777;
    l->target = realpath(l->path, NULL);
    return l->target;
}

static bool not_kept(struct learnt *l, const char *why)
{
    complain(NULL, "progress is not kept: %s: %s", l->path, why);
    unlock(l);
    return false;
}

bool learnt_lock(struct learnt *l)
{
    struct stat found;
    if (!l->path) {
        complain(NULL,
                 "progress is not kept: none of TILEWRIGHT_LEARN, XDG_DATA_HOME and HOME says "
                 "where");
        return false;
    }
    if (strcmp(l->path, "/dev/null") == 0)
        return true;
    bool is_there = stat(l->path, &found) == 0;
    if (is_there && !S_ISREG(found.st_mode))
        return not_kept(l, "it is not a regular file");
    if (!is_there)
        make_folders(l->path);
    if (!lock_target(l))
        return not_kept(l, strerror(errno));
    learnt_forget(l, NULL);
    const char *why = read_steps(l, l->target);
    return !why || not_kept(l, why);
}

/* The temporary file needs no unique name, because only the lock's owner writes. A file that a
 * killed process left is replaced. */
bool learnt_write(struct learnt *l)
{
    if (l->lock < 0)
        return true;
    char *beside = need_text("%s.new", l->target);
    unlink(beside);
    int file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = file >= 0 && fchmod(file, l->mode) == 0;
    ok = file >= 0 && write_steps(l, file) && ok && rename(beside, l->target) == 0;
    int error = errno;
    if (!ok && file >= 0)
        unlink(beside);
    free(beside);
    if (!ok)
        return not_kept(l, strerror(error));
    unlock(l);
    return true;
}
