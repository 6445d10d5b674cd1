/* Runs external programs: compilers, assemblers. All files that they read and write, apart from
 * the user's, are in a separate folder, which is removed afterwards. */
#ifndef TW_TOOLCHAIN_H
#define TW_TOOLCHAIN_H

#include "cli/tool.h"

/* Returns the path of a program, as the shell finds it, or NULL if there is none. The caller
 * frees. */
char *find_program(const char *name);
/* Returns the path of the first program found; NULL ends `names`. The caller frees. */
char *find_program_of(const char *const *names);
/* Finds NVIDIA's assembler: $TILEWRIGHT_PTXAS ("": none), else as the shell finds it, else in
 * the toolkit's folders. */
char *find_ptxas(void);

/* Makes a new folder. Returns NULL after a complaint if that fails. folder_remove also frees the
 * name. */
char *folder_make(struct complaints *complaints);
void folder_remove(char *folder);
bool folder_write(const char *folder, const char *name, const void *data, size_t length);
/* Reads a whole file of the folder and appends a 0 byte; length may be NULL. Returns NULL if
 * there is no such file. The caller frees. */
char *folder_read(const char *folder, const char *name, size_t *length);

/* Starts arguments[0]; NULL ends `arguments`. The program's output goes to the file `said` of
 * the folder. program_end waits for the program and returns its exit status, or -1 if it could
 * not be started or a signal ended it. */
long program_start(char *const *arguments, const char *folder, const char *said);
int program_end(long child);
/* Both. */
int run_program(char *const *arguments, const char *folder, const char *said);
/* Runs a program; ends it after `seconds` and then returns PROGRAM_LATE. */
enum { PROGRAM_LATE = -2 };
int run_program_within(int seconds, char *const *arguments, const char *folder, const char *said);

#endif
