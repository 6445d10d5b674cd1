/* Small services: nearest names, memory, the clock, texts of files. */
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Edits that turn a into b, over one row of the usual table. */
static int edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t n = strlen(b);
    if (n > LONGEST || strlen(a) > LONGEST)
        return LONGEST;
    int row[LONGEST + 1];
    for (size_t j = 0; j <= n; j++)
        row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int corner = row[0]++;
        for (size_t j = 0; j < n; j++) {
            int best = corner + (a[i] != b[j]);
            corner = row[j + 1];
            if (corner + 1 < best)
                best = corner + 1;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            row[j + 1] = best;
        }
    }
    return row[n];
}

const char *closest_name(const char *name, const char *const *names)
{
    const char *best = NULL;
    int least = (int)strlen(name) / 3 + 2; /* more edits than that is another word */
    for (; *names; names++) {
        int d = edit_distance(name, *names);
        if (d < least) {
            least = d;
            best = *names;
        }
    }
    return best;
}

bool on_terminal(FILE *f)
{
    const char *kind = getenv("TERM");
    return isatty(fileno(f)) && !(kind && strcmp(kind, "dumb") == 0) && !getenv("NO_COLOR");
}

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

char *read_whole_file(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t held = 0, room = 1 << 12, got;
    char *text = need_memory(room);
    while ((got = fread(text + held, 1, room - held - 1, f)) > 0) {
        held += got;
        if (room - held < 2)
            text = need_more_memory(text, room *= 2);
    }
    text[held] = '\0';
    int error = ferror(f) ? errno : 0;
    fclose(f);
    if (error) {
        free(text);
        errno = error;
        return NULL;
    }
    if (length)
        *length = held;
    return text;
}

static void *checked(void *p)
{
    if (!p) {
        fputs("tilewright: out of memory\n", stderr);
        exit(STATUS_FAILED);
    }
    return p;
}

void *need_memory(size_t size)
{
    return checked(calloc(1, size ? size : 1));
}

void *need_more_memory(void *old, size_t size)
{
    return checked(realloc(old, size ? size : 1));
}

char *need_text_list(const char *format, va_list args)
{
    char *text = NULL;
    size_t length;
    FILE *f = checked(open_memstream(&text, &length));
    vfprintf(f, format, args);
    return fclose(f) == 0 ? checked(text) : checked(NULL);
}

char *need_text(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = need_text_list(format, args);
    va_end(args);
    return text;
}

void append_text(char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *more = need_text_list(format, args);
    va_end(args);
    char *longer = need_text("%s%s", *text ? *text : "", more);
    free(more);
    free(*text);
    *text = longer;
}
