/* Prints a command's complaints to standard error. A list also keeps them for commands that
 * print JSON. */
#ifndef TW_COMPLAINTS_H
#define TW_COMPLAINTS_H

#include "cli/json.h"
#include "cli/message_parts.h"
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

/* List for calls without one: in all functions `c` may be NULL. It serves commands that end
 * before they print any JSON. */
extern struct complaints complaints_of_nobody;

/* Prints "tilewright: …" and how to get help. Returns STATUS_USAGE. */
__attribute__((format(printf, 3, 4))) int
usage_error(struct complaints *c, const struct command *command, const char *format, ...);
/* Prints that the command takes one FILE but was given `words` words. Returns STATUS_USAGE. */
int no_one_file(struct complaints *c, const struct command *command, int words);
/* Prints "tilewright: …", for errors other than usage. */
__attribute__((format(printf, 2, 3))) void complain(struct complaints *c, const char *format, ...);
/* Prints "tilewright: warning: …". */
__attribute__((format(printf, 2, 3))) void complain_warning(struct complaints *c,
                                                            const char *format, ...);
/* Reports a run that was ended because it took longer than `seconds`. Returns STATUS_FAILED. */
int complain_of_time(struct complaints *c, const char *kernel, double seconds);
/* Prints an indented line after a complaint. */
__attribute__((format(printf, 2, 3))) void complain_more(struct complaints *c, const char *format,
                                                         ...);
/* Prints the library's messages, or the status's text if there are none. A message with a place
 * in a program is "FILE:LINE:COLUMN: error: …", any other "tilewright: …". Findings of a
 * kernel's run (TW_FAULT) are printed unchanged, as `check` prints them. */
void complain_library(struct complaints *c, const tw_context *ctx, tw_status status);

/* Return one message without its notes, and all messages of the context, as the library shows
 * them; an error without a place begins like all others. The caller frees. */
char *message_shown(const tw_message *m);
char *messages_shown(const tw_context *ctx);

void complaints_json(const struct complaints *c, struct json *j); /* "status" and "messages" */
void complaints_free(struct complaints *c);

#endif
