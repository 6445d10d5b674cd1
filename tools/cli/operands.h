/* Creates the arrays of a launch: random inputs, zeroed outputs. */
#ifndef TW_OPERANDS_H
#define TW_OPERANDS_H

#include "cli/target.h"
#include "cli/tensor.h"

struct operands {
    int count;
    struct operand {
        tw_param param;
        tw_array array;
        bool is_atomic; /* an output that atomic operations change: an element that still holds
                         * its initial value may be written, by an addition of 0 */
    } * list;
};

/* Removes the arrays that the launch was given. */
void operands_forget(tw_launch *l, tw_kernel *k);
/* Creates every array and gives it to the launch. Requires that the sizes are set. scale: floats
 * are uniform in ±scale/2. */
tw_status operands_make(struct operands *x, tw_launch *l, tw_kernel *k, uint64_t seed,
                        double scale);
/* After operands_make has returned TW_NO_MEMORY, prints a message that names the array. Returns
 * false if the memory was not for an array. */
bool operands_say_no_memory(const struct operands *x, struct complaints *c);
/* Prepares the arrays that the kernel writes for a launch that is to be verified. --fill takes
 * precedence; otherwise outputs get the pattern of unwritten memory, and the other arrays zeros. */
void operands_start(struct operands *x, const struct options *given);
/* Like operands_start, for one array; `seed` is for --fill rand. */
void operand_start(const tw_param *p, tw_array *a, uint64_t seed, const struct options *given);
/* After a verification returned TW_WRONG_VALUES, tells whether the kernel is right if outputs
 * that --fill does not name hold zeros before. If so, appends a note to `why`, which has room
 * for `size` characters. */
bool operands_right_on_zeros(struct operands *x, tw_launch *l, const struct options *given,
                             char *why, size_t size);
/* Returns whether the kernel changes elements of the array by atomic operations. The messages of
 * the context's latest call are lost. */
bool has_atomic(tw_launch *l, const char *array);
/* Returns whether `ensures` constrains the array's final values, so that the kernel must be
 * right for any initial contents. */
bool is_output(const tw_param *p);
/* Returns the hint "it is right where `a`, `b` hold zeros before the launch: …", which ends with
 * the option that fills these outputs. It is for a kernel that is right only if the outputs,
 * which no option fills, hold zeros. The caller frees. */
char *output_hint(const char *const *outputs, int count);
void operands_free(struct operands *x);
double operands_bytes(const struct operands *x);
/* Returns the least of `limit` and the array's extents that are not 0. */
int64_t index_limit(const tw_array *array, int64_t limit);
/* Sets limit, extent, is_index and is_starts, for the integers that tensor_fill writes for the
 * parameter: 0 to 7, or fewer where the kernel takes them for indices. Requires fill->kind. `least`
 * is the least extent of all arrays: the limit of values from which the kernel computes an
 * index. */
void limit_integers(struct fill_options *fill, tw_launch *l, const tw_param *p, int64_t least);

#endif
