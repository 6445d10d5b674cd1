#include "bench/bench_fill.h"
#include "cli/tensor.h"

#include <stdlib.h>
#include <string.h>

/* Elements that arrays repeat: a prime number, so that the rows of a matrix differ. */
enum { PERIOD = 262147 };

/* Fills with random values; i8 and u8 that are not indices get nearly all of theirs. */
static void fill_once(tw_array *a, const struct fill_options *o)
{
    struct fill_options random = *o;
    if (a->dtype == TW_U8 || (a->dtype == TW_I8 && !o->is_index))
        random.limit = o->extent > 0 && o->extent < 255 ? o->extent : 255;
    if (a->dtype != TW_I8 || o->is_index) {
        tensor_fill(a, &random);
        return;
    }
    tw_array bytes = *a;
    bytes.dtype = TW_U8;
    tensor_fill(&bytes, &random);
    int8_t *v = a->data;
    for (int64_t i = 0; i < tensor_elements(a); i++)
        v[i] = (int8_t)(((const uint8_t *)a->data)[i] - 127);
}

bool values_period(tw_array *out, const tw_array *like, const struct fill_options *o)
{
    int64_t count = tensor_elements(like);
    *out = *like;
    if (count > PERIOD && !o->is_starts) {
        out->rank = 1;
        out->shape[0] = PERIOD;
    }
    if (!tensor_allocate(out))
        return false;
    if (o->kind == FILL_RAND && count > 0)
        fill_once(out, o);
    else if (o->kind == FILL_NONE)
        tensor_fill_unwritten(out, 0);
    else
        tensor_fill(out, o);
    return true;
}

void values_repeat(tw_array *to, const tw_array *period)
{
    const size_t all = tensor_bytes(to), first = tensor_bytes(period);
    for (size_t done = 0; done < all; done += first)
        memcpy((char *)to->data + done, period->data, all - done < first ? all - done : first);
}

void values_turn(const tw_array *period, int64_t batch, int64_t rows, int64_t columns, void *to)
{
    const size_t size = tw_dtype_size(period->dtype);
    const int64_t count = tensor_elements(period);
    int64_t at = 0;
    for (int64_t z = 0; z < batch; z++)
        for (int64_t y = 0; y < rows; y++)
            for (int64_t x = 0; x < columns; x++) {
                memcpy((char *)to + (size_t)((z * columns + x) * rows + y) * size,
                       (const char *)period->data + (size_t)at * size, size);
                at = at + 1 < count ? at + 1 : 0;
            }
}
