/* Applies --time-limit to a whole command. Calls of the library end at the deadline by
 * themselves (context_open) and report their present work. A timer ends all other work, such as
 * reading a pipe, filling large arrays or a compiler of CUDA C, soon after: the command prints a
 * message, removes its leftovers and exits with STATUS_FAILED. With --json it also prints an
 * object whose status is TW_CANCELLED. */
#ifndef TW_TIME_LIMIT_H
#define TW_TIME_LIMIT_H

#include "cli/json.h"
#include "cli/tool.h"

/* Reads --time-limit into *seconds. If it is given, sets *ends to the end of the command on the
 * clock of seconds_now, and starts the timer; otherwise leaves both unchanged. Returns false
 * after printing a message. */
bool time_limit_begin(const struct options *given, double *seconds, double *ends);
/* Changes the JSON that the timer prints if the command has printed none: `before`, which ends
 * with the key "text" of an object; then the text, the end of the object, and `after`. Both must
 * live until the next call. `before` NULL: no JSON. */
void time_limit_json(const char *before, const char *after);
/* Adds the keys of a message to an open object, up to "text". `file` may be NULL. */
void time_limit_json_keys(struct json *j, const char *file);
/* Returns whether the time is up. The command's status is then STATUS_FAILED, whatever was
 * interrupted. */
bool time_limit_is_over(void);

#endif
