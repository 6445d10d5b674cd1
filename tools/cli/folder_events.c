#include "cli/folder_events.h"

#include <poll.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/inotify.h>
#endif

enum { LOOK_MILLISECONDS = 200, LOOK_WITH_EVENTS = 1000 };

void folder_events_open(struct folder_events *e)
{
#if defined(__linux__)
    e->file = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
#else
    e->file = -1;
#endif
}

void folder_events_close(struct folder_events *e)
{
    if (e->file >= 0)
        close(e->file);
    e->file = -1;
}

void folder_events_add(const struct folder_events *e, const char *folder)
{
#if defined(__linux__)
    /* an editor writes the file in place, or writes a new file and renames it */
    if (e->file >= 0)
        inotify_add_watch(e->file, folder, IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ATTRIB);
#else
    (void)e, (void)folder;
#endif
}

void folder_events_wait(const struct folder_events *e, int other)
{
    struct pollfd wanted[2] = {{.fd = other, .events = POLLIN}, {.fd = e->file, .events = POLLIN}};
    char events[4096];
    poll(wanted, 2, e->file >= 0 ? LOOK_WITH_EVENTS : LOOK_MILLISECONDS);
    while (e->file >= 0 && read(e->file, events, sizeof events) > 0)
        ;
}
