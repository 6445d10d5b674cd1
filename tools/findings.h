/* What `check` found: the library's messages over many configurations, each said once. */
#ifndef TW_FINDINGS_H
#define TW_FINDINGS_H

#include "json.h"
#include "tool.h"
#include "wrong_values.h"
#include "tilewright_sim.h"

struct note {
    char *file, *text;
    int line, column;
};

struct finding {
    const char *kernel;
    tw_severity severity;
    char *file, *text; /* file: NULL when it has no place */
    int line, column;
    char *rendered;   /* with source lines, as the library shows it */
    const char *what; /* kind of finding, said before where: "wrong values"; or NULL */
    char *json;   /* of the simulator's: an object with kind, message, accesses, …; else NULL */
    char *key;    /* what tells those apart: kind and both places */
    char *where;  /* the first configuration that it was found in */
    int seen;     /* configurations */
    int under;    /* 1 + the number of the finding that has the same cause, or that this comes
                         of; 0: it is by itself */
    bool follows; /* it comes of that */
    struct note *notes;
    int note_count;
    struct message_parts parts;
    struct wrong_values wrong; /* of a comparison with `ensures` */
};

struct findings {
    struct finding *list;
    int count;
};

/* Takes in the context's messages of one call. A message is the same when it stands at the same
 * place and differs only in numbers. */
void findings_take(struct findings *f, const tw_context *ctx, const char *kernel, const char *what,
                   const char *where);
/* What was said of a whole file, and so printed already: for findings_json alone. path: of what has
 * no place. */
void findings_take_complaints(struct findings *f, const struct complaints *said, const char *path);
/* Adds one of our own; takes `text`. */
void findings_add(struct findings *f, tw_code code, const char *kernel, const char *file,
                  char *text, const char *where);
/* Adds an error of another list with another severity, and text before its own. */
void findings_again(struct findings *f, const struct finding *error, tw_severity severity,
                    const char *before);
/* One of the simulator's, unless it is suppressed; the same kind with the same two places is the
 * same. Whether it is new, and so the latest. */
bool findings_take_simulated(struct findings *f, const tw_sim_finding *found, const char *kernel,
                             const char *where);
/* Tells whether the two accesses are of different blocks. Writes of one value by threads of a block may be
 * meant; by two blocks they are most often a wrong index. */
bool finding_of_two_blocks(const tw_sim_finding *found);
void findings_note(struct findings *f, const char *text); /* after the latest */
/* How much is wrong, of the latest; w is taken. */
void findings_wrong(struct findings *f, struct wrong_values *w, bool unwritten_only);
void finding_note(struct finding *x, const char *text); /* the same after any */
/* Before they are printed, once: races first, findings of one cause under the first of them. */
void findings_group(struct findings *f);
/* The findings that are under one, as lines of text, or as lists of an object that is open. */
void findings_print_group(const struct findings *f, int head, FILE *out);
void findings_json_group(const struct findings *f, int head, struct json *j);
void findings_print(const struct findings *f, FILE *out);
void findings_json(const struct findings *f, struct json *j, const char *kernel);
void findings_free(struct findings *f);

#endif
