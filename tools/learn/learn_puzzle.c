#include "learn/learn_puzzle.h"
#include "cli/embedded_text.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

const char *const language_endings[LANGUAGES] = {".tile", ".cu"};

/* --- puzzle.md --- */

/* Returns the next "\n## " of the text, or its end. */
static const char *section_end(const char *at)
{
    const char *next = strstr(at, "\n## ");
    return next ? next + 1 : at + strlen(at);
}

/* Returns the text without blank lines at its ends. */
static char *trimmed(const char *from, const char *to)
{
    while (from < to && *from == '\n')
        from++;
    while (to > from && to[-1] == '\n')
        to--;
    return need_text("%.*s\n", (int)(to - from), from);
}

/* Removes the word after fences that begin with "```case"; only the page uses it, to draw the
 * case there. */
static void plain_fences(char *text)
{
    static const char fence[] = "\n```case\n";
    for (char *at = text; (at = strstr(at, fence));) {
        char *after = at + sizeof fence - 2; /* the newline */
        at += 4;
        memmove(at, after, strlen(after) + 1);
    }
}

static void read_section(struct puzzle *p, const char *heading, const char *end)
{
    const char *body = heading + strcspn(heading, "\n");
    char *text = trimmed(body, end);
    if (strncmp(heading, "## Hint", 7) == 0) {
        ADD_TO(p->hints, p->hint_count, text);
    } else if (strncmp(heading, "## Solution", 11) == 0 && !p->solution) {
        p->solution = text;
    } else {
        free(text);
    }
}

static void read_text(struct puzzle *p, const char *text)
{
    const char *title = strncmp(text, "# ", 2) == 0 ? text + 2 : text;
    const char *body = title + strcspn(title, "\n"), *end = section_end(body);
    p->title = need_text("%.*s", (int)(body - title), title);
    p->statement = trimmed(body, end);
    plain_fences(p->statement);
    while (*end) {
        const char *heading = end;
        end = section_end(heading);
        read_section(p, heading, end);
    }
}

/* --- all of them --- */

static struct puzzle *puzzle_of(struct puzzles *all, const char *path)
{
    size_t length = strcspn(path, "/");
    for (int i = 0; i < all->count; i++)
        if (strncmp(all->list[i].folder, path, length) == 0 && !all->list[i].folder[length])
            return &all->list[i];
    struct puzzle *p = ADD_NEW(all->list, all->count);
    *p = (struct puzzle){.folder = need_text("%.*s", (int)length, path)};
    char *end;
    p->number = (int)strtol(p->folder, &end, 10);
    p->name = *end ? end + 1 : end;
    return p;
}

static void take_file(struct puzzle *p, const char *file, const char *text)
{
    if (strcmp(file, "puzzle.md") == 0)
        read_text(p, text);
    else if (strcmp(file, "cases") == 0)
        p->cases = text;
    for (int i = 0; i < LANGUAGES; i++) {
        char *starter = need_text("starter%s", language_endings[i]);
        char *answer = need_text("solution%s", language_endings[i]);
        if (strcmp(file, starter) == 0)
            p->starter[i] = text;
        else if (strcmp(file, answer) == 0)
            p->answer[i] = text;
        free(starter);
        free(answer);
    }
}

static int by_number(const void *a, const void *b)
{
    const struct puzzle *x = a, *y = b;
    return x->number - y->number;
}

void puzzles_load(struct puzzles *all)
{
    *all = (struct puzzles){0};
    for (const struct embedded_text *t = puzzle_texts; t->path; t++)
        take_file(puzzle_of(all, t->path), strchr(t->path, '/') + 1, t->text);
    if (all->count)
        qsort(all->list, (size_t)all->count, sizeof *all->list, by_number);
}

void puzzles_free(struct puzzles *all)
{
    for (int i = 0; i < all->count; i++) {
        struct puzzle *p = &all->list[i];
        for (int h = 0; h < p->hint_count; h++)
            free(p->hints[h]);
        free(p->hints);
        free(p->folder);
        free(p->title);
        free(p->statement);
        free(p->solution);
    }
    free(all->list);
    *all = (struct puzzles){0};
}

const struct puzzle *puzzles_find(const struct puzzles *all, const char *word)
{
    int64_t number = 0;
    bool is_number = parse_integer(word, &number);
    for (int i = 0; i < all->count; i++) {
        const struct puzzle *p = &all->list[i];
        if (is_number ? p->number == number
                      : strcmp(p->name, word) == 0 || strcmp(p->folder, word) == 0)
            return p;
    }
    return NULL;
}

const char *puzzles_near(const struct puzzles *all, const char *word)
{
    const char **names = need_memory(((size_t)all->count + 1) * sizeof *names);
    for (int i = 0; i < all->count; i++)
        names[i] = all->list[i].name;
    const char *near = closest_name(word, names);
    free(names);
    return near;
}
