/* The arrays of a puzzle's case as files, for runs of other commands. */
#ifndef TW_LEARN_INPUTS_H
#define TW_LEARN_INPUTS_H

#include "learn_judge.h"

struct learn_inputs {
    const struct puzzle *puzzle;
    const char *path, *text; /* an answer: the hash of its text draws the sizes of random cases */
    const struct options *given; /* --inputs FOLDER, --case, --set */
    bool to_json;
};

/* Writes each array that the case gives to FOLDER/NAME.npy, and reports the case's sizes and how `run` takes
 * the files. STATUS_OK, or a status after a message. */
int learn_inputs_write(const struct learn_inputs *x, FILE *out);

#endif
