/* Files, folders and programs that must not outlive an interrupted command. A signal (SIGINT,
 * SIGQUIT, SIGTERM, SIGHUP, SIGXFSZ, SIGXCPU) that would end the command removes them first; a
 * signal that the command handles or ignores itself does not. Only one thread may call these
 * functions. */
#ifndef TW_LEFTOVERS_H
#define TW_LEFTOVERS_H

#include <stdbool.h>

/* Registers a file, or a folder with its contents. The caller keeps the text, which must live
 * until leftover_keep. Returns false if there are too many; this path is then not registered. */
bool leftover_path(const char *path);
/* Unregisters the path, because it has been removed or is to stay. */
void leftover_keep(const char *path);
/* Registers a started program by its process. Call leftover_ended after waiting for it. */
bool leftover_program(long child);
void leftover_ended(long child);

/* Kills and removes everything that is registered. Safe in a signal handler. */
void leftovers_remove(void);

#endif
