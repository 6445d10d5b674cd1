#include "learn_progress.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first_line[] = "# tilewright learn: puzzle, then what was done with it\n";

static char *path_of(void)
{
    const char *named = getenv("TILEWRIGHT_LEARN"), *data = getenv("XDG_DATA_HOME"),
               *home = getenv("HOME");
    if (named && *named)
        return need_text("%s", named);
    if (data && *data)
        return need_text("%s/tilewright/learn", data);
    return home && *home ? need_text("%s/.local/share/tilewright/learn", home) : NULL;
}

struct step *learnt_step(struct learnt *l, const char *puzzle)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->list[i].puzzle, puzzle) == 0)
            return &l->list[i];
    l->list = need_more_memory(l->list, (size_t)(l->count + 1) * sizeof *l->list);
    struct step *s = &l->list[l->count++];
    *s = (struct step){.puzzle = need_text("%s", puzzle)};
    return s;
}

/* A file that someone has edited does no harm. */
static int small_number(const char *text)
{
    enum { MOST = 1000000 };
    long v = strtol(text, NULL, 10);
    return v < 0 ? 0 : v > MOST ? MOST : (int)v;
}

/* "14_single_block_matmul passed tries=3 hints=1 solution" */
static void read_line(struct learnt *l, char *line)
{
    char *rest, *word = strtok_r(line, " \r", &rest);
    if (!word || *word == '#')
        return;
    struct step *s = learnt_step(l, word);
    while ((word = strtok_r(NULL, " \r", &rest))) {
        if (strcmp(word, "passed") == 0)
            s->passed = true;
        else if (strcmp(word, "solution") == 0)
            s->solution = true;
        else if (strncmp(word, "tries=", 6) == 0)
            s->tries = small_number(word + 6);
        else if (strncmp(word, "hints=", 6) == 0)
            s->hints = small_number(word + 6);
    }
}

void learnt_read(struct learnt *l)
{
    *l = (struct learnt){.path = path_of()};
    char *text = l->path ? read_whole_file(l->path, NULL) : NULL, *rest;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        read_line(l, line);
    free(text);
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

void learnt_free(struct learnt *l)
{
    learnt_forget(l, NULL);
    free(l->list);
    free(l->path);
    *l = (struct learnt){0};
}

/* The folders of the file, as the XDG Base Directory Specification wants them. */
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
        fprintf(f, "%s%s tries=%d hints=%d%s\n", s->puzzle, s->passed ? " passed" : "", s->tries,
                s->hints, s->solution ? " solution" : "");
    }
    bool ok = !ferror(f) && fflush(f) == 0 && fsync(file) == 0;
    return fclose(f) == 0 && ok;
}

bool learnt_write(const struct learnt *l)
{
    if (!l->path) {
        complain(NULL, "progress is not kept: neither TILEWRIGHT_LEARN nor HOME is set");
        return false;
    }
    make_folders(l->path);
    char *beside = need_text("%s.XXXXXX", l->path);
    int file = mkstemp(beside);
    bool ok = file >= 0 && write_steps(l, file) && rename(beside, l->path) == 0;
    if (!ok) {
        complain(NULL, "progress is not kept: %s: %s", l->path, strerror(errno));
        if (file >= 0)
            unlink(beside);
    }
    free(beside);
    return ok;
}
