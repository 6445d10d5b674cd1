/* The configurations of a kernel: every combination of type choices and of tuned values that
 * `require` allows. What --tune and --type name is fixed. */
#ifndef TW_SPACE_H
#define TW_SPACE_H

#include "target.h"

struct axis {
    bool is_type;
    int group; /* tuned: names of one group vary together; types: the index of the variable */
    int count, at;
};

struct space {
    tw_kernel *kernel;
    int tune_count, type_count, axis_count;
    tw_tune *tunes;
    tw_type *types;
    tw_value *tuned;  /* values of the current configuration, by tune */
    tw_dtype *chosen; /* by type variable */
    bool *tune_fixed, *type_fixed;
    struct axis *axes; /* types first; the last turns fastest */
};

/* Stands before the first configuration. Returns a status after a message when an option is
 * wrong. */
int space_open(struct space *s, tw_kernel *k, const struct options *o);
void space_close(struct space *s);
/* Moves to the next allowed configuration; false: there is none. `first`: starts over. */
bool space_next(struct space *s, bool first);
/* Gives the launch the current configuration. */
tw_status space_apply(const struct space *s, tw_launch *l);
/* Whether every tuned value that varies is the first of its list, whatever the types. */
bool space_is_default(const struct space *s);
/* Which choice of types it is, from 0 on; the same in the spaces of all targets. */
int space_types(const struct space *s);
/* "T = f16, BM = 64, BN = 128"; "" when there is nothing to choose. The caller frees. */
char *space_text(const struct space *s);
/* " --type T=f16 --tune BM=64,BN=128"; "" when there is nothing to choose. The caller frees. */
char *space_options(const struct space *s);

#endif
