/* Tuning: what a choice of tuned values is kept under, and which choice to try first.
 *
 *   program_id.c   which program: a hash of the text that a kernel is made of
 *   shape_class.c  which sizes count as alike
 *   store.c        results in an SQLite file; sqlite.c: that library, found at run time
 */
#ifndef TW_TUNE_MODEL_H
#define TW_TUNE_MODEL_H

#include "base/diag.h"
#include "base/text.h"

/* A hash of the tokens that the kernel is made of: all of the program's texts but other kernels and
 * the lists of tuned values, so that neither comments nor a longer list make results worthless.
 * sources: the text with the kernel, then those that it imports. */
uint64_t program_id(struct arena *a, const struct source *const *sources, size_t count,
                    const char *kernel);

/* One integer size of a launch. */
struct size_range {
    int64_t low, high; /* both within; equal: the value itself */
    int divisor;       /* 16: only multiples of it; 1 */
};
/* The range that counts as the same as v: for a static that value alone, since the program is made
 * for it; else up to the next power of two, multiples of 16 (which compile to another program) by
 * themselves. */
struct size_range size_range_of(int64_t v, bool is_static);
/* "m=4096..8191/16", behind a comma if the text has more. */
void size_range_add(struct text *out, const char *name, struct size_range r);
/* Reads one back: *at moves on. false: there is none, or it is malformed. */
bool size_range_read(const char **at, char *name, size_t room, struct size_range *out);
/* How far two classes' texts are from each other: powers of two over all sizes, and one for each
 * that differs in its divisor; negative: they have other names, or other statics. */
double shape_distance(const char *a, const char *b);

#endif
