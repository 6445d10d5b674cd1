/* What the commands of `tilewright` share. Errors go to standard error, results to standard output. */
#ifndef TW_TOOL_H
#define TW_TOOL_H

#include "tilewright.h"
#include "options.h"

#include <stdio.h>

/* Exit statuses. */
enum {
    STATUS_OK = 0,
    STATUS_FAILED = 1, /* a check failed, or values are wrong */
    STATUS_USAGE = 2   /* bad usage, or a program that does not compile */
};

struct command {
    const char *name;
    const char *arguments;             /* as in the usage line */
    const char *summary;               /* one line, for the list of commands */
    const char *about;                 /* paragraphs for `help NAME` */
    const struct option_spec *options; /* ends with a NULL name; NULL: none */
    const char *examples;              /* lines for `help NAME` */
    int (*run)(const struct command *self, const struct options *given);
};
extern const struct command *const command_list[]; /* ends with NULL */
/* NULL, and a message that names the nearest, when there is none. */
const struct command *command_find(const char *name);

/* Prints "tilewright NAME: …" and where help is; returns STATUS_USAGE. */
__attribute__((format(printf, 2, 3))) int usage_error(const struct command *c, const char *format,
                                                      ...);
/* Prints "tilewright: …"; for what is not the usage. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);
/* Prints what the library had to say, or the status's text when it had nothing. */
void complain_library(const tw_context *ctx, tw_status status);

/* The name among `names` (NULL at the end) that is most like `name`, or NULL if none is close. */
const char *closest_name(const char *name, const char *const *names);

bool on_terminal(FILE *f); /* and the terminal can do colours */
double seconds_now(void);  /* monotonic */
/* malloc and friends that end the program with a message when there is no memory. */
void *need_memory(size_t size); /* zeroed */
void *need_more_memory(void *old, size_t size);
char *need_text(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* the caller frees */

#endif
