/* Declarations that all commands of `tilewright` share. Commands print errors to standard error
 * and results to standard output. */
#ifndef TW_TOOL_H
#define TW_TOOL_H

#include "cli/complaints.h"
#include "cli/options.h"
#include "tilewright.h"

#include <stdarg.h>
#include <stdio.h>

/* Exit statuses. */
enum {
    STATUS_OK = 0,
    STATUS_FAILED = 1, /* started but failed: wrong values, unwritable result */
    STATUS_USAGE = 2   /* not started: bad usage, compile error, missing file */
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
/* Returns the command called `name`. If there is none, prints a message that names the nearest
 * command and returns NULL. */
const struct command *command_find(const char *name);

/* Returns the entry of `names` (ends with NULL) that is most like `name`, or NULL if none is
 * close. */
const char *closest_name(const char *name, const char *const *names);
/* Returns the hint for an unknown name: "; did you mean 'x'?", or, if no name is close, the list
 * of names: "; there are 'm', 'n' and 'k'". May be empty. The caller frees. */
char *name_hint(const char *name, const char *const *names);

bool on_terminal(FILE *f);      /* and the terminal can do colours */
double seconds_now(void);       /* monotonic */
double seconds_about(void);     /* the same clock, up to some milliseconds late, but faster: it does
                               not wait for all earlier instructions */
double processor_seconds(void); /* of this process */
int compare_doubles(const void *a, const void *b); /* for qsort */
double median_of(const double *values, int count); /* 0 if count is 0 */
/* Reads a whole file and appends a 0 byte. Writes its length to *length unless `length` is NULL.
 * Returns NULL and sets errno if the file cannot be read. The caller frees. */
char *read_whole_file(const char *path, size_t *length);
/* Like read_whole_file, but reads at most `most` bytes, because a device may have no end. For a
 * longer file, sets errno to EFBIG and returns NULL. */
char *read_at_most(const char *path, size_t most, size_t *length);
#define STANDARD_INPUT "/dev/stdin" /* what `-` is, too, where a program is wanted */
/* Finds a file of the source tree. Returns its path relative to the current folder if the file's
 * folder exists here, else its path in the checkout in which the program was built, else its
 * path among the installed files. The caller frees. */
char *source_path(const char *path);
/* Returns the folder of tilewright_cpu.h, in the checkout or installed with the program; NULL if it
 * is in neither. The caller frees. */
char *headers_folder(void);
/* Returns the folder of the libraries that run CUDA programs on the simulator; NULL: this build has
 * none. The caller frees. */
char *app_folder(void);
bool in_checkout(void); /* the program is in its build folder, in a checkout with ./dev */
/* Returns `p`. If `p` is NULL, memory is exhausted: prints a message and ends the program. */
void *checked(void *p);
/* Allocate as malloc, realloc and strdup do; end the program with a message if memory is
 * exhausted. */
void *need_memory(size_t size); /* zeroed */
/* Allocates zeroed memory for an array, aligned to a cache line as arrays of numerical programs
 * are. Returns NULL if there is not enough memory. */
void *array_memory(size_t size);
void *need_more_memory(void *old, size_t size);
/* Makes room for another element of a list. ADD_TO adds it; ADD_NEW adds one of any value and gives
 * its address. */
#define NEED_ROOM(list, count)                                                                     \
    ((list) = need_more_memory(list, ((size_t)(count) + 1) * sizeof *(list)))
#define ADD_TO(list, count, ...) (NEED_ROOM(list, count), (list)[(count)++] = (__VA_ARGS__))
#define ADD_NEW(list, count) (NEED_ROOM(list, count), &(list)[(count)++])
char *need_text(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* the caller frees */
char *need_text_list(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
/* Makes text from files safe for a terminal or a reader of JSON (tw_text_shown). need_shown
 * returns the safe text, which the caller frees; print_shown prints it. Commands pass names,
 * file contents and output of other programs through these functions before printing. */
char *need_shown(const char *text);
void print_as(FILE *out, const char *text, size_t length, tw_shown how);
void print_text(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a program's output or source text. A file or a pipe gets it byte for byte. A terminal
 * would obey escape sequences, so it gets the text as print_as shows it. */
void print_output(FILE *out, const char *text, size_t length);
/* Appends formatted text to *text and reallocates it. *text may be NULL, which means empty. */
void append_text(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the word as a user types it in a shell, quoted if necessary. The caller frees. */
char *shell_word(const char *word);
bool ends_with(const char *text, const char *end);
/* Returns the length of FILE in FILE or FILE:KERNEL, if FILE ends with `end` and has text before
 * it. Returns 0 otherwise. */
size_t file_ending_in(const char *word, const char *end);
/* Returns the length of the name of a CUDA C file in the word "k.cu" or "k.cu:KERNEL", or 0 if the
 * word names none. Files that end in .cu or .cuh are CUDA C; a header, .h or .hpp, is if it exists
 * and has `__global__`. */
size_t cuda_file_length(const char *word);
/* The same for a file of PTX or CUDA C. */
size_t ptx_file_length(const char *word);
/* Returns whether the word names PTX or CUDA C: "k.ptx", "k.cu", "k.cuh", "k.ptx:NAME", or a
 * header with a kernel. */
bool is_ptx_file(const char *word);

#endif
