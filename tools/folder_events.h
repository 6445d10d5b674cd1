/* Wakes a program when something happens in a folder, if the system tells (inotify on Linux). A caller
 * looks at its files after each wait, so it also finds what no event told: on a network file system, or
 * on a system that has no events. */
#ifndef TW_FOLDER_EVENTS_H
#define TW_FOLDER_EVENTS_H

struct folder_events {
    int file; /* -1: the system has no events */
};

void folder_events_open(struct folder_events *e);
void folder_events_close(struct folder_events *e);
/* Adds a folder; adding it again changes nothing. */
void folder_events_add(const struct folder_events *e, const char *folder);
/* Waits for an event, for bytes on `other` (-1: none), for a signal, or until it is time to look at the
 * files without an event. */
void folder_events_wait(const struct folder_events *e, int other);

#endif
