/* Files, folders and programs that must not outlive a command that is interrupted. The functions of
 * one thread; a signal (SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGXFSZ, SIGXCPU) that would end the command removes
 * them first. A command that handles or ignores a signal itself is left alone. */
#ifndef TW_LEFTOVERS_H
#define TW_LEFTOVERS_H

#include <stdbool.h>

/* A file, or a folder with all in it. The text stays the caller's, and must live until
 * leftover_keep. false: there are too many; this one is not watched. */
bool leftover_path(const char *path);
/* The path has been removed, or is to stay. */
void leftover_keep(const char *path);
/* A program that was started, by its process; leftover_ended after it was waited for. */
bool leftover_program(long child);
void leftover_ended(long child);

/* Kills and removes all of them. Safe in a signal handler. */
void leftovers_remove(void);

#endif
