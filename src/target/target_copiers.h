/* The table of copiers (copiers.def), and names of copiers with their width: "cp.async.16". */
#ifndef TW_TARGET_COPIERS_H
#define TW_TARGET_COPIERS_H

#include "base/text.h"
#include "target/targets.h"

/* ATOMICS: what is in global memory is changed. */
enum copier_memory { COPIER_GLOBAL, COPIER_SHARED, COPIER_REGISTERS, COPIER_ATOMICS };
enum copier_issuer { COPIER_THREAD };
enum copier_done { COPIER_AT_ONCE, COPIER_COMMIT_GROUP };

struct copier {
    const char *name;
    int unit_bits; /* of the number after the name */
    enum copier_memory from, to;
    int bytes; /* of a lane: the sum of the widths that it has, each a power of two */
    enum copier_issuer issued;
    enum copier_done done;
    int since; /* number of the first target */
};

/* A copier and its width. */
struct copier_width {
    const struct copier *copier;
    int bytes; /* of a lane */
};

const struct copier *copier_at(int index); /* NULL past the last */
/* Reads "cp.async.16". Returns false if the target has no such copier, or not in this width. */
bool copier_read(const struct target *t, const char *text, struct copier_width *out);
const char *copier_text(struct arena *a, struct copier_width w);
/* Finds the first copier between the memories, and its greatest width up to `most` bytes. Returns
 * false if there is none. */
bool copier_find(const struct target *t, enum copier_memory from, enum copier_memory to, int most,
                 struct copier_width *out);

#endif
