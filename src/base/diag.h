/* Diagnostics: what is wrong with the user's program, where, and the way out.
 *
 * A message reads
 *     file:line:col: error: text
 *         source line
 *         ^~~~~
 *     file:line:col: note: the way out
 * They are collected, several in one run, and the program that shows them renders them.
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

/* A range of a source text. Length 0 is a point; source NULL: no place, made by the compiler. */
struct loc {
    const struct source *source;
    uint32_t offset, length;
};

enum severity { SEV_ERROR, SEV_WARNING, SEV_NOTE };

/* A change of a source text: `insert` replaces the range. */
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
    int rank; /* rank of `index`; 0: the element is not known */
    int64_t index[DIAG_RANK];
    int thread; /* the thread's number in the block, x fastest; -1: not known */
    struct diag_access *next;
};

struct diagnostic {
    enum severity severity;
    enum diag_code code;
    struct loc loc;
    const char *message;
    int needs_sm;     /* first compute capability with the missing feature; 0: not known */
    struct edit *fix; /* changes that together remove the cause; NULL: none */
    struct diag_access *accesses; /* the access at `loc` comes first; NULL: none */
    struct diagnostic *notes;     /* notes that belong to this one, in order */
    struct diagnostic *next;
    struct diagnostic *same_place; /* an earlier diagnostic of the same place */
    bool dropped;
};

struct diag {
    struct arena *arena;
    struct diagnostic *first, *last;
    struct diagnostic *current; /* target of notes; NULL: notes are dropped, because their
                                 * diagnostic was */
    struct name_table places;   /* by loc: each entry is the latest diagnostic of that place */
    int errors, warnings;
    int limit;           /* errors after which the phase stops; 0 = 20 */
    enum diag_code code; /* code of the errors and warnings that follow */
    bool gathers;        /* errors are not added: see diag_gather */
};

void diag_init(struct diag *d, struct arena *arena);

#if defined(__GNUC__)
#define DIAG_FORMAT(f, a) __attribute__((format(printf, f, a)))
#else
#define DIAG_FORMAT(f, a)
#endif
/* Each adds one diagnostic; a message that repeats at its place is added once. A note belongs to
 * the latest error or warning. */
void diag_error(struct diag *d, struct loc at, const char *format, ...) DIAG_FORMAT(3, 4);
void diag_warning(struct diag *d, struct loc at, const char *format, ...) DIAG_FORMAT(3, 4);
void diag_note(struct diag *d, struct loc at, const char *format, ...) DIAG_FORMAT(3, 4);
/* Sets the code of the latest error or warning, in place of d->code. */
void diag_code(struct diag *d, enum diag_code code);
/* Adds a change to the fix of the latest error or warning. Its text is not passed through
 * text_shown, because it is written into a file. */
void diag_fix(struct diag *d, struct loc at, const char *format, ...) DIAG_FORMAT(3, 4);
/* Adds the note "write `TEXT`" and a fix that replaces the range with TEXT. */
void diag_write(struct diag *d, struct loc at, const char *text);
/* Adds the note "did you mean `NAME`?" and a fix that replaces the range with the name. */
void diag_near(struct diag *d, struct loc at, const char *name);
/* Adds an access to the latest error or warning. */
void diag_access(struct diag *d, const struct diag_access *access);
/* Starts or ends gathering. While it lasts, errors and notes are not added, and the changes of
 * their fixes become changes of the latest error before, except those that overlap others. */
void diag_gather(struct diag *d, bool on);
bool diag_full(const struct diag *d); /* the limit is reached */
/* Keeps the first `errors` errors and one more, and drops what was added after it. Later notes
 * belong to the last error kept. */
void diag_keep_first(struct diag *d, int errors);

/* Returns the offset of a place, or the end of the text if it is beyond; and the offset of the
 * start of its line. The place has a source. loc.c */
size_t loc_start(struct loc at);
size_t loc_line_start(struct loc at);
/* Line and column of an offset, both from 1; a column counts bytes. */
void loc_line_column(struct loc at, int *line, int *column);
/* The start of each line of a source, for many look-ups in one source. */
struct line_starts {
    const struct source *source; /* the source of the latest look-up */
    VEC(size_t) starts;
};
/* Returns the same as loc_line_column; the first look-up in a source reads all of its text. */
void loc_line_starts_find(struct arena *a, struct line_starts *lines, struct loc at, int *line,
                          int *column);
/* The range from the start of a to the end of b. */
struct loc loc_join(struct loc a, struct loc b);
#define LOC_NONE ((struct loc){0})

/* Adds all diagnostics as text, with source lines and carets. `colour` adds ANSI codes. */
void diag_render(struct text *out, const struct diag *d, bool colour);
void diagnostic_render(struct text *out, const struct diagnostic *one, bool colour);
/* Returns "... and 5 more errors" if the limit left errors out, otherwise NULL. */
const char *diag_more(const struct diag *d, struct arena *a);
/* Renders one of several diagnostics. `lines` is reused from one to the next, in the text's arena. */
void diagnostic_render_at(struct text *out, struct line_starts *lines, const struct diagnostic *one,
                          bool colour);

/* Returns the nearest of `count` names within a third of the name's length (at least 1 edit), or
 * NULL. */
const char *text_nearest(const char *name, const char *const *names, size_t count);

#endif
