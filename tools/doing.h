/* The present work of a command, for the message of a time limit that ends it (time_limit.h). */
#ifndef TW_DOING_H
#define TW_DOING_H

/* "reading" and a file, for example. Both texts must live until the next call. `of` may be NULL;
 * `what` NULL: no work that has a name. */
void doing(const char *what, const char *of);
/* Safe in a signal handler. */
const char *doing_what(void);
const char *doing_of(void);

#endif
