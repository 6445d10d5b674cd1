#include "readings_file.h"

#include "base/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t reading_hash(const void *data, size_t count)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        value = (value ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    return value;
}

/* Returns the line at `*at`, without its end; NULL after the last. */
static char *next_line(char **at, char *end)
{
    char *line = *at, *stop = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    if (!stop)
        return NULL;
    *stop = '\0';
    *at = stop + 1;
    return line;
}

/* --- readings.bin --- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct taken *)a)->key, ((const struct taken *)b)->key);
}

static bool read_index(struct taken_file *f, struct arena *a, char **at, char *end)
{
    char *line = next_line(at, end);
    if (!line || strcmp(line, "readings 1") != 0)
        return false;
    line = next_line(at, end);
    if (!line || strncmp(line, "operands ", 9) != 0)
        return false;
    f->operands = strtoull(line + 9, NULL, 16);
    while ((line = next_line(at, end)) && *line) {
        char *key = NULL;
        int bytes = (int)strtol(line, &key, 10);
        if (bytes < 1 || *key != ' ')
            return false;
        vec_push(a, &f->list, ((struct taken){.key = key + 1, .bytes = bytes}));
    }
    return line != NULL;
}

bool taken_read(struct taken_file *f, struct arena *a, const char *path, const char **why)
{
    size_t length;
    memset(f, 0, sizeof *f);
    char *at = platform_read_file(a, path, &length, why);
    if (!at)
        return false;
    char *end = at + length;
    *why = "not a file of readings";
    if (!read_index(f, a, &at, end))
        return false;
    for (size_t i = 0; i < f->list.count; i++) {
        size_t size = 8 + (size_t)f->list.data[i].bytes * READING_SHOWN;
        if (size > (size_t)(end - at))
            return false;
        f->list.data[i].data = (const uint8_t *)at;
        at += size;
    }
    qsort(f->list.data, f->list.count, sizeof *f->list.data, by_key);
    return at == end;
}

struct taken *taken_find(struct taken_file *f, const char *key)
{
    struct taken wanted = {.key = key};
    return bsearch(&wanted, f->list.data, f->list.count, sizeof wanted, by_key);
}

/* --- unread.txt --- */

bool excuses_read(struct excuses *e, struct arena *a, const char *path, const char **why)
{
    size_t length;
    const char *reason = NULL;
    memset(e, 0, sizeof *e);
    char *at = platform_read_file(a, path, &length, why), *line;
    if (!at)
        return false;
    char *end = at + length;
    *why = "a pattern without a reason, or a line without an end";
    while ((line = next_line(&at, end))) {
        size_t text = strlen(line), indent = strspn(line, " ");
        if (text == 0 || *line == '#')
            continue;
        if (indent == 0 && line[text - 1] == ':') {
            line[text - 1] = '\0';
            reason = line;
        } else if (reason && indent > 0) {
            vec_push(a, &e->list, ((struct excuse){reason, line + indent, 0}));
        } else {
            return false;
        }
    }
    return at == end;
}

static bool fits(const char *pattern, const char *text)
{
    for (; *pattern && *pattern != '*'; pattern++, text++)
        if (*pattern != *text)
            return false;
    if (!*pattern)
        return !*text;
    do
        if (fits(pattern + 1, text))
            return true;
    while (*text++);
    return false;
}

static struct excuse *find_excuse(struct excuses *e, const char *text, bool of_reading)
{
    for (size_t i = 0; i < e->list.count; i++) {
        struct excuse *x = &e->list.data[i];
        if ((strcmp(x->reason, NOT_TAKEN) == 0) == of_reading && fits(x->pattern, text)) {
            x->used++;
            return x;
        }
    }
    return NULL;
}

const char *excuse_of(struct excuses *e, const char *instruction)
{
    const struct excuse *x = find_excuse(e, instruction, false);
    return x ? x->reason : NULL;
}

bool excuse_of_reading(struct excuses *e, const char *key)
{
    return find_excuse(e, key, true) != NULL;
}
