/* Small services: messages, nearest names, memory, the clock. */
#include "tool.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int usage_error(const struct command *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "tilewright %s: ", c->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n(`tilewright help %s` shows how it is used)\n", c->name);
    va_end(args);
    return STATUS_USAGE;
}

void complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("tilewright: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void complain_library(const tw_context *ctx, tw_status status)
{
    const char *text = tw_context_messages(ctx);
    size_t length = strlen(text);
    if (!length) {
        complain("%s", tw_status_text(status));
        return;
    }
    fflush(stdout);
    fputs(text, stderr);
    if (text[length - 1] != '\n')
        fputc('\n', stderr);
}

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

char *need_text(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = need_memory((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}
