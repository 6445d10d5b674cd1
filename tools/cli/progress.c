#include "cli/progress.h"
#include "cli/tool.h"

#include <stdarg.h>

void progress_start(struct progress *p)
{
    *p = (struct progress){.on = on_terminal(stderr), .started = seconds_now()};
}

void progress_step(struct progress *p, const char *format, ...)
{
    double now = p->on ? seconds_now() : 0;
    if (!p->on || now - p->started < 1 || now - p->drawn < 0.1)
        return;
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, args);
    fflush(stderr);
    va_end(args);
    p->drawn = now;
    p->visible = true;
}

void progress_clear(struct progress *p)
{
    if (p->visible)
        fputs("\r\033[K", stderr);
    p->visible = false;
}
