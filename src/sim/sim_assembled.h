/* Counters as assembled: what they are for the machine code that an assembler makes of the PTX.
 *
 * Where its accesses are the PTX's, line by line of the PTX (as wide, in as many loops, at least as
 * many: an unrolled loop has copies), counters are exact. Elsewhere they are between bounds: from
 * what accesses become that the assembler may merge (sim_merge.h), to what they are as written. An
 * access that is left out or moved out of a loop counts from 0; one that is added has no bound.
 * Without machine code what may be merged is taken to be, or not.
 */
#ifndef TW_SIM_ASSEMBLED_H
#define TW_SIM_ASSEMBLED_H

#include "ptx/sass.h"
#include "sim/sim_counters.h"

/* Counters that depend on how the accesses are assembled. */
#define SIM_MEMORY_COUNTERS(X)                                                                     \
    SIM_ACCESS_COUNTERS(X)                                                                         \
    X(local_accesses)                                                                              \
    X(async_copies)                                                                                \
    X(async_bytes)

#define SIM_UNBOUNDED INT64_MAX
struct sim_bounds {
    struct sim_counts low, high; /* of the memory counters; high: SIM_UNBOUNDED, nobody knows */
};

struct sim_assembled_line {
    const char *file, *why; /* "merged" */
    uint32_t line;
    struct sim_bounds bounds;
};

struct sim_assembled {
    const char *assembler; /* "ptxas 13.0.88 for sm_90"; NULL: the rules alone */
    struct sim_bounds total;
    bool exact;                       /* low is high everywhere */
    struct sim_assembled_line *lines; /* where it is not */
    size_t line_count;
};

/* Of counters that were told to merge. sass NULL: there is no machine code. Lives in the arena. */
void sim_assembled_find(struct arena *a, const struct sim_counters *c,
                        const struct ptx_module *module, const struct sass *sass,
                        struct sim_assembled *out);

/* One JSON object. */
void sim_assembled_json(struct text *out, const struct sim_assembled *s);
/* One line, or nothing if it is exact. */
void sim_assembled_text(struct text *out, const struct sim_assembled *s);

#endif
