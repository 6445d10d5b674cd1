/* What the commands of `tilewright` share. Errors go to standard error, results to standard
 * output. */
#ifndef TW_TOOL_H
#define TW_TOOL_H

#include "complaints.h"
#include "options.h"
#include "tilewright.h"

#include <stdarg.h>
#include <stdio.h>

/* Exit statuses. */
enum {
    STATUS_OK = 0,
    STATUS_FAILED = 1, /* begun, with a bad end: values are wrong, a result cannot be written */
    STATUS_USAGE = 2   /* not begun: bad usage, a program that does not compile, no such file */
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

/* The name among `names` (NULL at the end) that is most like `name`, or NULL if none is close. */
const char *closest_name(const char *name, const char *const *names);
/* "; did you mean 'x'?", or where none is close, what there is: "; there are 'm', 'n' and 'k'". May
 * be empty. The caller frees. */
char *name_hint(const char *name, const char *const *names);

bool on_terminal(FILE *f);  /* and the terminal can do colours */
double seconds_now(void);   /* monotonic */
double seconds_about(void); /* the same clock, some milliseconds late, without the wait for all
                               instructions before that reading it takes */
double median_of(const double *values, int count); /* 0 of none */
/* All of a file with a 0 behind it; length may be NULL. NULL, and errno, when it cannot be read.
 * The caller frees. */
char *read_whole_file(const char *path, size_t *length);
/* The same of so many bytes, as a device may have no end; of more there is EFBIG. */
char *read_at_most(const char *path, size_t most, size_t *length);
#define STANDARD_INPUT "/dev/stdin" /* what `-` is, too, where a program is wanted */
/* A path of the source tree: here where its folder is here, else in the checkout that the program
 * was built in, else among what was installed with it. The caller frees. */
char *source_path(const char *path);
bool in_checkout(void); /* the program lies where it was built: ./dev is beside its folder */
/* Returns `p`; ends the program with a message if it is NULL, as there is no memory. */
void *checked(void *p);
/* malloc and friends that do the same. */
void *need_memory(size_t size); /* zeroed */
/* Zeros for an array, from the start of a cache line on, as programs that count have theirs; NULL:
 * there is not so much. */
void *array_memory(size_t size);
void *need_more_memory(void *old, size_t size);
char *need_text(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* the caller frees */
char *need_text_list(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
/* Text of files as a terminal or a reader of JSON may have it (tw_text_shown): lines of it, which the
 * caller frees; printed. What a command prints of names, files and other programs goes through these. */
char *need_shown(const char *text);
void print_as(FILE *out, const char *text, size_t length, tw_shown how);
void print_text(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the output of a program, or a program's text: byte for byte to a file or a pipe. A terminal
 * would obey escape sequences, so it gets the text as print_as shows it. */
void print_output(FILE *out, const char *text, size_t length);
/* Appends to *text (NULL: empty), which grows. */
void append_text(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The word as it is typed in a shell, in quotes if it has to be. The caller frees. */
char *shell_word(const char *word);
bool ends_with(const char *text, const char *end);
/* Of FILE or FILE:KERNEL, where FILE has more than that at its end: its bytes. Else 0. */
size_t file_ending_in(const char *word, const char *end);

#endif
