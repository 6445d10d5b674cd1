/* Replaces tools/cli/doing.c and tools/cli/progress.c: a command reports its progress to the page
 * instead of drawing it on a terminal. */
#include "cli/doing.h"
#include "cli/progress.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A function of the page (engine.ts). Call it seldom, because it copies the text. */
__attribute__((import_module("tilewright"), import_name("progress"))) void
host_progress(double done, double total, const char *text, size_t length);

enum { STEPS = 200 }; /* the reports of a count, at most */

static const char *present, *object, *told;
static int64_t step;

static void tell(const char *text, int64_t done, int64_t total)
{
    host_progress((double)done, (double)total, text, strlen(text));
}

void doing(const char *what, const char *of)
{
    char text[256];
    present = what;
    object = of;
    told = NULL;
    if (!what)
        return;
    snprintf(text, sizeof text, "%s%s%s", what, of ? " " : "", of ? of : "");
    tell(text, 0, 0);
}

void doing_told(void *user, const char *what, int64_t done, int64_t total)
{
    int64_t now = total > 0 ? done * STEPS / total : 0;
    (void)user;
    if (what == told && now == step)
        return;
    told = what;
    step = now;
    tell(what, done, total);
}

const char *doing_what(void)
{
    return present;
}

const char *doing_of(void)
{
    return object;
}

void doing_show(void)
{
}

void doing_hide(void)
{
}

void progress_start(struct progress *p)
{
    *p = (struct progress){0};
}

void progress_step(struct progress *p, const char *format, ...)
{
    char text[256];
    va_list args;
    (void)p;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    told = NULL;
    tell(text, 0, 0);
}

void progress_clear(struct progress *p)
{
    (void)p;
}
