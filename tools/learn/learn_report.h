/* Reports the results of the judge, as text and as JSON. */
#ifndef TW_LEARN_REPORT_H
#define TW_LEARN_REPORT_H

#include "cli/json.h"
#include "learn/learn_judge.h"

struct report_of {
    const struct puzzle *puzzle, *next; /* next: the puzzle to continue with; NULL: none */
    const char *path;
    enum language language;
    bool written; /* the file, just now */
    int hints_left;
    bool named;        /* the user gave the path, so no starter is written there */
    const char *again; /* command that writes the starter if its file is missing */
    bool open;         /* shows the arrays of a hidden case, too */
};

void report_judgement(const struct report_of *r, const struct judgement *x, FILE *out);
/* Prints a puzzle's text and starters, a hint (0: none), or the solutions with their text. */
void report_text_json(const struct puzzle *p, FILE *out);
void report_hint_json(const struct puzzle *p, int number, FILE *out);
void report_solution_json(const struct puzzle *p, FILE *out);
void report_judgement_json(const struct report_of *r, const struct judgement *x, FILE *out);

#endif
