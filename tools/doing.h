/* The present work of a command: for the message of a time limit that ends it (time_limit.h), and for
 * a line on the terminal while a call of the library takes longer than a second. */
#ifndef TW_DOING_H
#define TW_DOING_H

#include <stdint.h>

/* "reading" and a file, for example. Both texts must live until the next call. `of` may be NULL;
 * `what` NULL: no work that has a name. */
void doing(const char *what, const char *of);
/* Safe in a signal handler. */
const char *doing_what(void);
const char *doing_of(void);

/* For tw_config.progress: what the library is at, and how many of its blocks have begun. */
void doing_told(void *user, const char *what, int64_t done, int64_t total);

/* Draws the line, at most twice a second; for any thread. doing_hide: before anything else is
 * printed. */
void doing_show(void);
void doing_hide(void);

#endif
