/* Configurations of a kernel: every combination of type choices and tuned values that `require`
 * allows. --tune and --type fix values. */
#ifndef TW_SPACE_H
#define TW_SPACE_H

#include "cli/target.h"

struct axis {
    bool is_type;
    int group; /* tuned: names of one group vary together; types: the variable's index */
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
    struct axis *axes; /* types first; the last varies fastest */
};

/* Opens the space, before its first configuration. Returns STATUS_OK, or another status after
 * printing a message about a wrong option. */
int space_open(struct space *s, tw_kernel *k, const struct options *o);
void space_close(struct space *s);
/* Moves to the next allowed configuration; returns false if there is none. `first`: starts over. */
bool space_next(struct space *s, bool first);
/* Gives the launch the current configuration. */
tw_status space_apply(const struct space *s, tw_launch *l);
/* Returns whether every tuned value that varies is the first of its list; types do not matter. */
bool space_is_default(const struct space *s);
/* Returns the number of the choice of types, from 0; it is the same in the spaces of all
 * targets. */
int space_types(const struct space *s);
/* Returns "T = f16, BM = 64, BN = 128", or "" if there is no choice. The caller frees. */
char *space_text(const struct space *s);
/* Returns " --type T=f16 --tune BM=64,BN=128", or "" if there is no choice. The caller frees. */
char *space_options(const struct space *s);

#endif
