/* Tuning: the keys that tuned values are stored under, and the order of trying choices.
 *
 *   program_id.c   the program: a hash of the text that a kernel is made of
 *   shape_class.c  the classes of sizes that share a result
 *   predict.c      the choice among measured variants (predict.h)
 *   ship.c         the variants that a build ships (ship.h)
 *   store.c        results in an SQLite file; sqlite.c: that library, found at run time */
#ifndef TW_STORE_MODEL_H
#define TW_STORE_MODEL_H

#include "base/diag.h"
#include "base/text.h"

/* Returns a hash of the tokens that the kernel is made of: the program's texts
 * except other kernels and the lists of tuned values. So stored results stay valid when comments
 * change or a list grows. `sources`: the text with the kernel, then those that it imports. */
uint64_t program_id(struct arena *a, const struct source *const *sources, size_t count,
                    const char *kernel);

/* One integer size of a launch. */
struct size_range {
    int64_t low, high; /* bounds, both included; equal bounds: the value itself */
    int divisor;       /* 16: only multiples of 16; otherwise 1 */
};
/* Returns the range of sizes that share results with v. A static has that value alone, because
 * the program is compiled for it; other sizes go up to the next power of two, with multiples of
 * 16 (which compile to another program) in a range of their own. */
struct size_range tune_size_range_of(int64_t v, bool is_static);
/* Adds "m=4096..8191/16", after a comma if the text is not empty. */
void tune_size_range_add(struct text *out, const char *name, struct size_range r);
/* Reads one range and moves *at past it. Returns false if there is none or it is malformed. */
bool tune_size_range_read(const char **at, char *name, size_t room, struct size_range *out);
/* Returns the distance of two classes, given as texts: powers of two, summed over all sizes,
 * plus one for each size with another divisor. Returns a negative number if they have different
 * names or statics. */
double tune_shape_distance(const char *a, const char *b);

#endif
