/* Counters: an observer that counts as the hardware does, for the accesses as the PTX has them,
 * in total and by line of the source. sim_assembled.h has the counters after an assembler's
 * changes. */
#ifndef TW_SIM_COUNTERS_H
#define TW_SIM_COUNTERS_H

#include "base/text.h"
#include "sim/sim_merge.h"
#include "sim/sim_traffic.h"

#include <stddef.h>

/* Counters of accesses to shared and global memory. */
#define SIM_ACCESS_COUNTERS(X)                                                                     \
    X(shared_loads)                                                                                \
    X(shared_stores)                                                                               \
    X(shared_atomics)                                                                              \
    X(shared_wavefronts)                                                                           \
    X(shared_wavefronts_ideal)                                                                     \
    X(bank_conflicts)                                                                              \
    X(global_loads)                                                                                \
    X(global_stores)                                                                               \
    X(global_atomics)                                                                              \
    X(global_requests)                                                                             \
    X(global_sectors)

/* The names, also in JSON. The public header has the same list with a description of each
 * counter (TW_COUNTER_LIST), and api/counted.c keeps the two lists equal. A warp instruction is
 * one that at least one lane executes. All counters are sums, except busiest_warp, block_sectors
 * and async_depth, which are maxima, and async_overlap, which is a mean. */
#define SIM_COUNTERS(X)                                                                            \
    X(warp_instructions)                                                                           \
    X(thread_instructions)                                                                         \
    X(busiest_warp)                                                                                \
    SIM_ACCESS_COUNTERS(X)                                                                         \
    X(block_sectors)                                                                               \
    X(local_accesses)                                                                              \
    X(async_copies)                                                                                \
    X(async_bytes)                                                                                 \
    X(async_depth)                                                                                 \
    X(async_overlap)

struct sim_counts {
#define X(name) int64_t name;
    SIM_COUNTERS(X)
#undef X
    int64_t overlapped; /* async_overlap times shared_loads */
};
/* struct sim_counts begins with the counters as one row, in the order of their names. */
enum { SIM_COUNTER_COUNT = offsetof(struct sim_counts, overlapped) / sizeof(int64_t) };
static inline const int64_t *sim_counts_row(const struct sim_counts *n)
{
    return (const int64_t *)n;
}

/* The kinds of instructions, for the sum by kind. */
#define SIM_INSTRUCTION_KINDS(X)                                                                   \
    X(F64)                                                                                         \
    X(F32)                                                                                         \
    X(F16)                                                                                         \
    X(INTEGER)                                                                                     \
    X(BITS)                                                                                        \
    X(COMPARE)                                                                                     \
    X(CONVERT)                                                                                     \
    X(MOVE)                                                                                        \
    X(SHARED)                                                                                      \
    X(GLOBAL)                                                                                      \
    X(LOCAL)                                                                                       \
    X(CONST)                                                                                       \
    X(GENERIC)                                                                                     \
    X(ATOMIC)                                                                                      \
    X(ASYNC)                                                                                       \
    X(BARRIER)                                                                                     \
    X(LANES)                                                                                       \
    X(CONTROL)                                                                                     \
    X(MATRIX)                                                                                      \
    X(OTHER)
enum sim_instruction_kind {
#define X(id) SIM_KIND_##id,
    SIM_INSTRUCTION_KINDS(X)
#undef X
        SIM_KIND_COUNT
};
extern const char *const sim_instruction_kinds[SIM_KIND_COUNT]; /* "f32" */
enum sim_instruction_kind sim_kind_of(const struct ptx_instruction *ins);

/* The counts of one line: of the source or, without .loc, of the PTX. Line 0: unknown. */
struct sim_line_counts {
    const char *file;
    uint32_t line;
    struct sim_counts counts;
};

/* The counts of one instruction. */
struct sim_counted {
    const struct ptx_instruction *ins;
    const struct ptx_function *function;
    struct loc where;
    struct sim_counts counts;
    struct sim_merge *merge; /* the accesses that it may be merged with; NULL: none */
    /* For the first access of `merge`: the counts of the accesses that all of them become. */
    struct sim_counts merged;
};

struct sim_counters;
struct sim_assembled;

/* Makes counters in the arena. Counts add up over launches until they are cleared. */
struct sim_counters *sim_counters_new(struct arena *arena);
struct sim_observer *sim_counters_observer(struct sim_counters *c);
void sim_counters_clear(struct sim_counters *c);
/* From now on also counts the accesses that the assembler may make by merging. */
void sim_counters_merge(struct sim_counters *c);

/* Returns every instruction that was reached, with its line. */
const struct sim_counted *sim_counters_all(const struct sim_counters *c, size_t *count);
uint32_t sim_counted_line(const struct sim_counted *counted, const struct ptx_module *module,
                          const char **file);

void sim_counters_total(const struct sim_counters *c, struct sim_counts *total);
/* Counts instructions of each kind, once for each warp. */
void sim_counters_kinds(const struct sim_counters *c, int64_t kinds[SIM_KIND_COUNT]);
/* Sums the counts by line, in the order of files and lines. `module` has the files' names. */
size_t sim_counters_lines(const struct sim_counters *c, const struct ptx_module *module,
                          struct arena *arena, struct sim_line_counts **lines);

/* Prints one JSON object: the counters, "instructions" by kind, "lines", and "as_assembled" if
 * it is not NULL. */
void sim_counters_json(struct text *out, const struct sim_counters *c,
                       const struct ptx_module *module, const struct sim_assembled *assembled);
/* Prints the same for people: totals with a description of each counter, then a row for each
 * line. */
void sim_counters_table(struct text *out, const struct sim_counters *c,
                        const struct ptx_module *module, const char *const *what);

#endif
