/* What a command complains of goes to standard error; a list keeps it for those who print JSON
 * too. */
#ifndef TW_COMPLAINTS_H
#define TW_COMPLAINTS_H

#include "json.h"
#include "message_parts.h"
#include "tilewright.h"

#include <stdio.h>

struct command;

struct complaint {
    tw_severity severity;
    char *file; /* NULL: no place */
    int line, column;
    char *text;
    struct message_parts parts;
};

struct complaints {
    struct complaint *list;
    int count;
    tw_status status; /* of the latest */
};

/* In all of them `c` may be NULL: then it is kept here, for a command that ends before it has
 * printed any JSON. */
extern struct complaints complaints_of_nobody;

/* Prints "tilewright: …" and where help is; returns STATUS_USAGE. */
__attribute__((format(printf, 3, 4))) int
usage_error(struct complaints *c, const struct command *command, const char *format, ...);
/* The same, of a command that takes one FILE and was given so many words. */
int no_one_file(struct complaints *c, const struct command *command, int words);
/* Prints "tilewright: …"; for what is not the usage. */
__attribute__((format(printf, 2, 3))) void complain(struct complaints *c, const char *format, ...);
/* Of a run that was ended as it took longer; returns STATUS_FAILED. */
int complain_of_time(struct complaints *c, const char *kernel, double seconds);
/* Prints an indented line behind a complaint. */
__attribute__((format(printf, 2, 3))) void complain_more(struct complaints *c, const char *format,
                                                         ...);
/* Prints what the library had to say, or the status's text when it had nothing: "FILE:LINE:COLUMN:
 * error: …" of a place in a program, else "tilewright: …" too. What is found in a kernel's run
 * (TW_FAULT) stays as it is, as `check` prints it. */
void complain_library(struct complaints *c, const tw_context *ctx, tw_status status);

/* One message (no note), and all of the context's, as the library shows them; an error without a place
 * begins as all others do. The caller frees. */
char *message_shown(const tw_message *m);
char *messages_shown(const tw_context *ctx);

void complaints_json(const struct complaints *c, struct json *j); /* "status" and "messages" */
void complaints_free(struct complaints *c);

#endif
