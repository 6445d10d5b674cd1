/* Makes the elements of the arrays that `bench` gives to a GPU. Long arrays repeat a sequence of
 * about 262,000 elements, so that the host makes few of them. */
#ifndef TW_BENCH_FILL_H
#define TW_BENCH_FILL_H

#include "cli/tensor.h"

/* Makes the first elements of an array with the type and shape of `like`, which the array
 * repeats: `out` has one axis, or the shape of `like` if it has all elements. FILL_RAND: random
 * elements that depend on the seed only: floats uniform in ±scale/2, 8-bit integers that are not
 * indices of all values except the least, other integers 0 … limit-1. FILL_NONE: the contents of
 * unwritten memory (tensor_fill_unwritten). Returns false if memory is exhausted. The caller
 * frees out->data. */
bool values_period(tw_array *out, const tw_array *like, const struct fill_options *o);
/* Fills the array, whose memory the caller has allocated. */
void values_repeat(tw_array *to, const tw_array *period);
/* Transposes `batch` matrices of `rows` × `columns` elements, which repeat `period`, into `to`. */
void values_turn(const tw_array *period, int64_t batch, int64_t rows, int64_t columns, void *to);

#endif
