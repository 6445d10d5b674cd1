/* Counters as assembled: their values for the machine code that an assembler makes of the PTX.
 *
 * The accesses of the machine code are compared with the PTX's, line by line of the PTX.
 * Counters are exact if the accesses agree: as wide, in as many loops, and at least as many (an
 * unrolled loop has copies). Otherwise the counters have bounds: from the values after every
 * merge that the assembler may make (sim_merge.h) to the values of the accesses as written. An
 * access that is left out or moved out of a loop counts from 0; an added access has no upper
 * bound. Without machine code, each possible merge may have been made or not. */
#ifndef TW_SIM_ASSEMBLED_H
#define TW_SIM_ASSEMBLED_H

#include "sass/sass.h"
#include "sim/sim_counters.h"

/* Counters that depend on how the accesses are assembled. */
#define SIM_MEMORY_COUNTERS(X)                                                                     \
    SIM_ACCESS_COUNTERS(X)                                                                         \
    X(local_accesses)                                                                              \
    X(async_copies)                                                                                \
    X(async_bytes)

#define SIM_UNBOUNDED INT64_MAX
struct sim_bounds {
    struct sim_counts low, high; /* of the memory counters; high: SIM_UNBOUNDED if unbounded */
};

struct sim_assembled_line {
    const char *file, *why; /* "merged" */
    uint32_t line;
    struct sim_bounds bounds;
};

struct sim_assembled {
    const char *assembler; /* "ptxas 13.0.88 for sm_90"; NULL: no assembler, only the rules */
    struct sim_bounds total;
    bool exact;                       /* low equals high everywhere */
    struct sim_assembled_line *lines; /* lines where it is not exact */
    size_t line_count;
};

/* Finds the bounds for counters that sim_counters_merge was called for. sass NULL: there is no
 * machine code. The result lives in the arena. */
void sim_assembled_find(struct arena *a, const struct sim_counters *c,
                        const struct ptx_module *module, const struct sass *sass,
                        struct sim_assembled *out);

/* Prints one JSON object. */
void sim_assembled_json(struct text *out, const struct sim_assembled *s);
/* Prints one line, or nothing if the counters are exact. */
void sim_assembled_text(struct text *out, const struct sim_assembled *s);

#endif
