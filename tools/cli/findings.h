/* Collects the findings of `check`: the library's messages over many configurations, each once. */
#ifndef TW_FINDINGS_H
#define TW_FINDINGS_H

#include "cli/json.h"
#include "cli/tool.h"
#include "cli/wrong_values.h"
#include "tilewright_sim.h"

struct note {
    char *file, *text;
    int line, column;
};

struct finding {
    const char *kernel;
    tw_severity severity;
    char *file, *text; /* file: NULL if it has no place */
    int line, column;
    char *rendered;   /* with source lines, as the library shows it */
    const char *what; /* kind of finding, printed before `where`: "wrong values"; or NULL */
    char *json;   /* simulator's finding: an object with kind, message, accesses, …; else NULL */
    char *key;    /* tells those apart: kind and both places */
    char *where;  /* first configuration with this finding */
    int seen;     /* configurations */
    int under;    /* 1 + the number of the finding with the same cause, or that causes this
                         one; 0: neither */
    bool follows; /* that one causes it */
    struct note *notes;
    int note_count;
    struct message_parts parts;
    struct wrong_values wrong; /* of a comparison with `ensures` */
};

struct findings {
    struct finding *list;
    int count;
};

/* Adds the context's messages of one call. Two messages are the same if they have the same place
 * and differ only in numbers. */
void findings_take(struct findings *f, const tw_context *ctx, const char *kernel, const char *what,
                   const char *where);
/* Adds complaints about a whole file, which are already printed; only findings_json prints them
 * again. `path` is the file of complaints without a place. */
void findings_take_complaints(struct findings *f, const struct complaints *said, const char *path);
/* Adds a finding of the command itself; takes ownership of `text`. */
void findings_add(struct findings *f, tw_code code, const char *kernel, const char *file,
                  char *text, const char *where);
/* Adds an error of another list, with another severity and with a text before its own. */
void findings_again(struct findings *f, const struct finding *error, tw_severity severity,
                    const char *before);
/* Adds a finding of the simulator, unless it is suppressed. Two findings are the same if they
 * have the same kind and the same two places. Returns whether the finding is new, and so the
 * latest. */
bool findings_take_simulated(struct findings *f, const tw_sim_finding *found, const char *kernel,
                             const char *where);
/* Returns whether the two accesses are of different blocks. Threads of one block may write the
 * same value on purpose; if two blocks do, an index is usually wrong. */
bool finding_of_two_blocks(const tw_sim_finding *found);
void findings_note(struct findings *f, const char *text); /* to the latest */
/* Adds to the latest finding how much is wrong; takes ownership of w. */
void findings_wrong(struct findings *f, struct wrong_values *w, bool unwritten_only);
void finding_note(struct finding *x, const char *text); /* adds a note to x */
/* Groups the findings before printing, once: races first, and the findings of one cause below
 * the first of them. */
void findings_group(struct findings *f);
/* Print the findings below `head`, as lines of text, or as lists in an open object. */
void findings_print_group(const struct findings *f, int head, FILE *out);
void findings_json_group(const struct findings *f, int head, struct json *j);
void findings_print(const struct findings *f, FILE *out);
void findings_json(const struct findings *f, struct json *j, const char *kernel);
void findings_free(struct findings *f);

#endif
