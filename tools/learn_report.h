/* What the judge found, for people and as JSON. */
#ifndef TW_LEARN_REPORT_H
#define TW_LEARN_REPORT_H

#include "json.h"
#include "learn_judge.h"

struct report_of {
    const struct puzzle *puzzle, *next; /* next: the one to go on with, NULL: there is none */
    const char *path;
    enum language language;
    bool written; /* the file, just now */
    int hints_left;
    bool named;        /* the path was given, so that the starter is not written to it */
    const char *again; /* the command that writes the starter if its file is not there */
    bool open;         /* shows the arrays of a hidden case, too */
};

void report_judgement(const struct report_of *r, const struct judgement *x, FILE *out);
/* A puzzle's text and starters; a hint, of which 0 is none; the solutions with their text. */
void report_text_json(const struct puzzle *p, FILE *out);
void report_hint_json(const struct puzzle *p, int number, FILE *out);
void report_solution_json(const struct puzzle *p, FILE *out);
void report_judgement_json(const struct report_of *r, const struct judgement *x, FILE *out);

#endif
