/* Other people's programs that commands run: compilers, assemblers. Everything that they read and
 * write besides the user's files lies in a folder of its own that goes again. */
#ifndef TW_TOOLCHAIN_H
#define TW_TOOLCHAIN_H

#include "tool.h"

/* Where a program is, as the shell finds it; NULL: nowhere. The caller frees. */
char *find_program(const char *name);
/* The first of several, up to NULL. */
char *find_program_of(const char *const *names);
/* NVIDIA's assembler: $TILEWRIGHT_PTXAS ("": none), or as the shell finds it, or where the toolkit
 * puts it. */
char *find_ptxas(void);

/* Makes a new folder. Returns NULL after a complaint if it cannot. folder_remove frees the name too. */
char *folder_make(struct complaints *complaints);
void folder_remove(char *folder);
bool folder_write(const char *folder, const char *name, const void *data, size_t length);
/* All of a file with a 0 behind it; length may be NULL. NULL: there is none. The caller frees. */
char *folder_read(const char *folder, const char *name, size_t *length);

/* Starts arguments[0] (NULL behind the last). What it says goes to the file `said` of the folder.
 * For program_end, which waits for it: its exit status, -1: it could not be started, or a signal
 * ended it. */
long program_start(char *const *arguments, const char *folder, const char *said);
int program_end(long child);
/* Both. */
int run_program(char *const *arguments, const char *folder, const char *said);
/* The same, ended after so many seconds: PROGRAM_LATE then. */
enum { PROGRAM_LATE = -2 };
int run_program_within(int seconds, char *const *arguments, const char *folder, const char *said);

#endif
