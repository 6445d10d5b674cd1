/* The arrays of a launch, made here: inputs random, outputs zero. */
#ifndef TW_OPERANDS_H
#define TW_OPERANDS_H

#include "target.h"

struct operands {
    int count;
    struct operand {
        tw_param param;
        tw_array array;
    } * list;
};

/* Takes back the arrays that the launch was given. */
void operands_forget(tw_launch *l, tw_kernel *k);
/* After the sizes are set: makes every array and gives it to the launch. scale: floats are uniform
 * in ±scale/2. */
tw_status operands_make(struct operands *x, tw_launch *l, tw_kernel *k, uint64_t seed,
                        double scale);
/* After TW_NO_MEMORY of that: the message, with the array; false: it was not for an array. */
bool operands_say_no_memory(const struct operands *x, struct complaints *c);
/* What the kernel writes, as before a launch that is to be verified: as --fill says; else outputs
 * hold what nobody has written, and the others zeros. */
void operands_start(struct operands *x, const struct options *given);
/* The same of one array; seed: of --fill rand. */
void operand_start(const tw_param *p, tw_array *a, uint64_t seed, const struct options *given);
/* After a verification that gave TW_WRONG_VALUES: whether it is right where outputs that --fill does
 * not name hold zeros before. Then *why, with room for size characters, says so behind what is
 * there. */
bool operands_right_on_zeros(struct operands *x, tw_launch *l, const struct options *given,
                             char *why, size_t size);
/* Whether `ensures` says what the kernel leaves in the array, so that it is right only if it is so
 * whatever the array held before. */
bool is_output(const tw_param *p);
/* "it is right where `a`, `b` hold zeros before the launch: …" for a kernel that is wrong where these
 * outputs, of which nobody has said what they hold, hold something else; and the option that says
 * it. The caller frees. */
char *output_hint(const char *const *outputs, int count);
void operands_free(struct operands *x);
double operands_bytes(const struct operands *x);
/* Random integers may be used as indices: kept below the smallest extent, and below 8. */
int64_t index_limit(const tw_array *array, int64_t limit);

#endif
