/* Writes the arrays of a puzzle's case to files, for runs of other commands. */
#ifndef TW_LEARN_INPUTS_H
#define TW_LEARN_INPUTS_H

#include "learn/learn_judge.h"

struct learn_inputs {
    const struct puzzle *puzzle;
    const char *path, *text;     /* an answer; the hash of its text determines the sizes of random
                              * cases */
    const struct options *given; /* --inputs FOLDER, --case, --set */
    bool to_json;
};

/* Writes each array that the case gives to FOLDER/NAME.npy. Reports the case's sizes, and the
 * options of `run` that read the files. Returns STATUS_OK, or another status after printing a
 * message. */
int learn_inputs_write(const struct learn_inputs *x, FILE *out);

#endif
