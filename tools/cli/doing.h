/* Records the present work of a command. The message of a time limit that ends the command
 * (time_limit.h) names it, and so does a line on the terminal while a call of the library takes
 * longer than a second. */
#ifndef TW_DOING_H
#define TW_DOING_H

#include <stdint.h>

/* Sets the present work, for example "reading" and a file. Both texts must live until the next
 * call. `of` may be NULL; `what` NULL: the work has no name. */
void doing(const char *what, const char *of);
/* Describes the present work. Safe in a signal handler. */
const char *doing_what(void);
const char *doing_of(void);

/* Callback for tw_config.progress: receives the library's present work, and how many of its
 * blocks have begun. */
void doing_told(void *user, const char *what, int64_t done, int64_t total);

/* doing_show draws the line, at most twice a second; any thread may call it. doing_hide removes
 * it; call it before anything else is printed. */
void doing_show(void);
void doing_hide(void);

#endif
