/* Diagnostics: what is wrong with the user's program, where, and the way out.
 *
 * A message reads
 *     file:line:col: error: text
 *         source line
 *         ^~~~~
 *     file:line:col: note: the way out
 * They are collected, several in one run, and rendered by whoever shows them.
 */
#ifndef TW_DIAG_H
#define TW_DIAG_H

#include "base/diag_code.h"
#include "base/name_table.h"
#include "base/text.h"

/* A source text. The bytes belong to the caller of the parser and outlive every loc into it. */
struct source {
    const char *name; /* as shown in messages */
    const char *text;
    size_t length;
};

/* A range of a source; length 0 means "at offset". source NULL: no place (made by the compiler). */
struct loc {
    const struct source *source;
    uint32_t offset, length;
};

enum severity { SEV_ERROR, SEV_WARNING, SEV_NOTE };

/* A change of a source text: `insert` takes the place of the range. */
struct edit {
    struct loc at;
    const char *insert;
    struct edit *next;
};

enum { DIAG_RANK = 6 };
/* An access of memory that a diagnostic is about. */
struct diag_access {
    struct loc at;
    const char *what; /* "read", "write", "update", "copy" */
    const char *variable;
    int rank; /* of `index`; 0: no element is known */
    int64_t index[DIAG_RANK];
    int thread; /* its number in the block, x fastest; -1: not known */
    struct diag_access *next;
};

struct diagnostic {
    enum severity severity;
    enum diag_code code;
    struct loc loc;
    const char *message;
    int needs_sm; /* the first compute capability that has what the target lacks; 0: not known */
    struct edit *fix;             /* changes that, made together, remove what this reports; NULL */
    struct diag_access *accesses; /* the one at `loc` first; NULL */
    struct diagnostic *notes;     /* notes that belong to this one, in order */
    struct diagnostic *next;
    struct diagnostic *same_place; /* an earlier one of the same place */
    bool dropped;
};

struct diag {
    struct arena *arena;
    struct diagnostic *first, *last;
    struct diagnostic *current; /* where notes go; NULL: dropped, as what they belong to was */
    struct name_table places;   /* by loc: the object is the latest diagnostic of that place */
    int errors, warnings;
    int limit;           /* errors after which the phase stops asking for more; 0 = 20 */
    enum diag_code code; /* of errors and warnings to come */
};

void diag_init(struct diag *d, struct arena *arena);

#if defined(__GNUC__)
#define DIAG_FORMAT(f, a) __attribute__((format(printf, f, a)))
#else
#define DIAG_FORMAT(f, a)
#endif
/* Each adds one; the same message at the same place is added once. A note goes to the latest error
 * or warning. */
void diag_error(struct diag *d, struct loc at, const char *format, ...) DIAG_FORMAT(3, 4);
void diag_warning(struct diag *d, struct loc at, const char *format, ...) DIAG_FORMAT(3, 4);
void diag_note(struct diag *d, struct loc at, const char *format, ...) DIAG_FORMAT(3, 4);
/* Gives the latest error or warning another code than d->code. */
void diag_code(struct diag *d, enum diag_code code);
/* Adds a change to the fix of the latest error or warning. Its text is not passed through
 * text_shown, because it goes into a file. */
void diag_fix(struct diag *d, struct loc at, const char *format, ...) DIAG_FORMAT(3, 4);
/* The note "write `TEXT`", and TEXT in place of the range as the fix. */
void diag_write(struct diag *d, struct loc at, const char *text);
/* The note "did you mean `NAME`?", and the name in place of the range as the fix. */
void diag_near(struct diag *d, struct loc at, const char *name);
/* Adds an access to the latest error or warning. */
void diag_access(struct diag *d, const struct diag_access *access);
bool diag_full(const struct diag *d); /* the limit is reached */
/* Of what was added since there were so many errors, drops all behind the first error, whose notes
 * those to come are. */
void diag_keep_first(struct diag *d, int errors);

/* Line and column of an offset, both from 1; a column counts bytes. */
void loc_line_column(struct loc at, int *line, int *column);
/* The start of each line of a source, for many look-ups in one source. */
struct line_starts {
    const struct source *source; /* the last one asked for */
    VEC(size_t) starts;
};
/* Likewise; the first question about a source reads all of its text. */
void line_starts_find(struct arena *a, struct line_starts *lines, struct loc at, int *line,
                      int *column);
/* The range from the start of a to the end of b. */
struct loc loc_join(struct loc a, struct loc b);
#define LOC_NONE ((struct loc){0})

/* All of it as text, with source lines and carets; colour with ANSI codes when asked. */
void diag_render(struct text *out, const struct diag *d, bool colour);
void diagnostic_render(struct text *out, const struct diagnostic *one, bool colour);
/* "... and 5 more errors", which the limit left out; NULL: it left out none. */
const char *diag_more(const struct diag *d, struct arena *a);
/* The same of one of many: `lines` is kept from one to the next, in the text's arena. */
void diagnostic_render_at(struct text *out, struct line_starts *lines, const struct diagnostic *one,
                          bool colour);

/* The nearest of `count` names to `name` within a third of its length (at least 1 edit), NULL if
 * none. */
const char *nearest_name(const char *name, const char *const *names, size_t count);

#endif
