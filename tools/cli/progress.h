/* Shows a line on the terminal while an operation takes longer than a second. */
#ifndef TW_PROGRESS_H
#define TW_PROGRESS_H

#include <stdbool.h>

struct progress {
    bool on; /* standard error is a terminal */
    double started, drawn;
    bool visible;
};

void progress_start(struct progress *p);
/* Sets the text of the line; draws at most ten times a second, and nothing in the first second. */
__attribute__((format(printf, 2, 3))) void progress_step(struct progress *p, const char *format,
                                                         ...);
void progress_clear(struct progress *p); /* before anything else is printed */

#endif
