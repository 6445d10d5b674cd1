/* Wakes a program when a folder changes, if the system reports that (inotify on Linux). The
 * caller examines its files after each wait. It therefore also finds changes without an event:
 * on a network file system, or on a system without events. */
#ifndef TW_FOLDER_EVENTS_H
#define TW_FOLDER_EVENTS_H

struct folder_events {
    int file; /* -1: the system has no events */
};

void folder_events_open(struct folder_events *e);
void folder_events_close(struct folder_events *e);
/* Adds a folder; adding it again has no effect. */
void folder_events_add(const struct folder_events *e, const char *folder);
/* Waits for an event, for bytes on `other` (-1: none), for a signal, or until the next regular
 * examination of the files is due. */
void folder_events_wait(const struct folder_events *e, int other);

#endif
