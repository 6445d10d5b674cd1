/* The findings of the checks: each kind and pair of source lines once, with a count, without
 * those that a suppression file lets pass. As text in the style of the compiler's diagnostics,
 * and as JSON. */
#ifndef TW_SIM_REPORT_H
#define TW_SIM_REPORT_H

#include "base/text.h"
#include "sim/sim_events.h"

/* id, name in reports and suppression files, whether it fails a check, description */
#define SIM_FINDINGS(X)                                                                            \
    X(RACE, "race", true, "accesses of the same bytes that nothing orders")                        \
    X(SAME_VALUE, "same-value", false, "unordered writes of the same value")                       \
    X(VOLATILE_RACE, "volatile-race", true, "unordered volatile writes of different values")       \
    X(VOLATILE, "volatile", false, "volatile accesses that nothing orders")                        \
    X(SCOPE, "scope", true, "atomic accesses whose scopes do not include each other")              \
    X(ASYNC_RACE, "async-race", true, "an asynchronous copy that was not waited for")              \
    X(ASYNC_PENDING, "async-pending", true, "a thread that left with copies under way")            \
    X(UNINITIALISED, "uninitialised", true, "bytes read that were never written")                  \
    X(OUTSIDE, "out-of-bounds", true, "an access outside all memory")                              \
    X(MISALIGNED, "misaligned", true, "an address that its width does not divide")                 \
    X(READ_ONLY, "read-only", true, "a write to memory that cannot be written")                    \
    X(TRAP, "trap", true, "the program stopped itself")                                            \
    X(ASSUME, "assume", true, "an assume that is false")                                           \
    X(INSIDE, "inside", true, "a slice marked `inside` that reaches outside")                      \
    X(DIVERGENT, "divergent-barrier", true, "lanes of a warp apart at an aligned barrier")         \
    X(BARRIER_COUNT, "barrier-count", true, "an impossible count of threads")                      \
    X(MIXED, "barrier-mixed", true, "a barrier used in two ways at once")                          \
    X(BARRIER_ID, "barrier-id", true, "a barrier that does not exist")                             \
    X(WARP_SYNC, "warp-sync", true, "an impossible mask of lanes, or missing lanes")               \
    X(MBARRIER, "mbarrier", true, "an mbarrier used against its rules")                            \
    X(EXITED, "exited-thread", true, "a barrier that waits for threads that left")                 \
    X(DEADLOCK, "deadlock", true, "no thread can go on")                                           \
    X(ENDLESS, "endless", true, "more steps than were allowed")                                    \
    X(WARPS_APART, "warps-apart", false, "warps that meet at different barriers")                  \
    X(PRODUCT, "product", true, "registers of a warpgroup's product, used against its rules")      \
    X(PROXY, "proxy", true, "no fence between a write and an access of the async proxy")           \
    X(PEER, "peer", true, "memory of a block that may not have begun, or may have ended")

enum sim_found {
#define X(id, name, fails, text) SIM_FOUND_##id,
    SIM_FINDINGS(X)
#undef X
        SIM_FOUND_COUNT
};
const char *sim_found_name(enum sim_found kind);
const char *sim_space_name(enum sim_space space); /* "shared" */

/* The severity of a kind in a report: as the table says, always an error, or left out. */
enum sim_severity { SIM_AS_USUAL, SIM_AS_ERROR, SIM_IGNORED };

/* One side of a finding. */
struct sim_finding_access {
    struct sim_place at;
    int lane;         /* -1: the warp */
    const char *does; /* "read", "write", "cp.async write", "barrier", … */
    bool memory;      /* the next four are set */
    enum sim_space space;
    uint64_t address;
    int bytes;
    const char *memory_name; /* NULL: not known */
    /* The barrier that the thread passed last; NULL: none. */
    const struct ptx_instruction *barrier;
    struct loc barrier_where;
    int64_t barriers; /* passed so far */
    bool passes;      /* the last three are known */
};

enum { SIM_FINDING_ACCESSES = 2, SIM_FINDING_STEPS = 6 };

struct sim_finding {
    enum sim_found kind;
    const char *message;
    struct sim_finding_access access[SIM_FINDING_ACCESSES];
    int access_count;
    const char *steps[SIM_FINDING_STEPS]; /* the order of events that goes wrong, the wrong value */
    int step_count;
    int64_t count;   /* how often it occurred; an access: for each thread */
    int64_t threads; /* the threads' accesses or arrivals that are wrong; 0: not counted */
    int64_t bytes;   /* of a race: those that both accesses have, each time */
    bool suppressed; /* by the file */
    struct sim_finding *next;
};

/* An array of the launch, or a tile in shared memory. */
struct sim_report_array {
    const char *name;
    enum sim_space space;
    uint64_t address;
    int element; /* bytes */
    int rank;
    const int64_t *shape;
    /* Returns the number of the element, row-major, that is `place` elements after the address;
     * -1: there is none. NULL: the number is `place`. */
    int64_t (*element_at)(const void *layout, int64_t place);
    const void *layout;
};

struct sim_report {
    struct arena *arena;
    /* The machine that settles before its own observers use the report; NULL: none. Findings so
     * come in one order, and one thread at a time uses the arena. */
    struct sim *machine;
    const struct ptx_module *module;   /* for the names of files; may be NULL */
    uint8_t severity[SIM_FOUND_COUNT]; /* enum sim_severity */
    unsigned grid[3], block[3];        /* of the launch; 0: not known */
    struct sim_finding *first, *last;
    struct sim_report_seen *seen;
    size_t seen_count, seen_capacity;
    VEC(struct sim_suppression) suppressions;
    VEC(struct sim_allocation_event) memory;    /* for names */
    struct number_map memory_at[SIM_PARAM + 1]; /* by space: of an address, its index in `memory` */
    VEC(struct sim_report_array) arrays;        /* for elements */
    bool plain;                         /* named memory holds consecutive values, as in CUDA C */
    VEC(const struct source *) sources; /* texts of the files that .loc names, for carets */
    bool source_only;                   /* no notes of the place in the PTX if .loc gives another */
    /* The most findings kept that fail a check, and the most of the others; 0: 200. Suppressed
     * ones do not count. `dropped` counts the findings above the limit. */
    int64_t limit;
    int64_t kept, dropped;
    struct sim_finding not_kept; /* represents the findings above the limit */
    int64_t limited[2];          /* kept ones that do not fail a check, and that do */
};

struct sim_suppression {
    const char *kind; /* "*": any */
    /* For each access: file:line, or a function's name; '*' matches any text; NULL: none. */
    const char *patterns[2];
    int64_t used;
};

/* Prepares a report that lives in the arena. */
void sim_report_init(struct sim_report *r, struct arena *arena, const struct ptx_module *module);
/* Adds a text that .loc may name, by source->name. */
void sim_report_add_source(struct sim_report *r, const struct source *source);
/* Reads lines "kind [place [place]]" and '#' comments. Returns false with a diagnostic if a line
 * makes no sense. */
bool sim_report_suppress(struct sim_report *r, const struct source *file, struct diag *diag);
/* Returns true if the text matches a pattern; '*' matches any text. */
bool sim_pattern_matches(const char *pattern, const char *text);
/* Returns true if the pattern "file:line" matches a place "file:line:column" (NULL: none), by the
 * file's whole name or its end after a '/'. */
bool sim_place_matches(struct arena *arena, const char *place, const char *pattern);
/* An observer hook for `launch`: notes the shape, so that blocks and threads have coordinates. */
void sim_report_launch(struct sim_report *r, const unsigned grid[3], const unsigned block[3]);

/* An observer hook for `allocated`; calling it twice does no harm. */
void sim_report_allocated(struct sim_report *r, const struct sim_allocation_event *event);
/* Returns the memory that contains the address, or the nearest one; NULL: none of the space is
 * known. */
const struct sim_allocation_event *sim_report_memory(const struct sim_report *r,
                                                     enum sim_space space, uint64_t address);
/* Returns the name, as in CUDA C, of the memory that contains the address, or of the nearest
 * one; NULL: it has no name, or none of the space is known. */
const char *sim_report_memory_name(const struct sim_report *r, enum sim_space space,
                                   uint64_t address);

/* Adds an array. Its name and shape must live as long as the report. */
void sim_report_add_array(struct sim_report *r, const struct sim_report_array *array);
enum { SIM_REPORT_RANK = 6 };
struct sim_report_element {
    const char *name; /* of its array */
    int rank;
    int64_t index[SIM_REPORT_RANK];
};
/* Gives the element that contains the byte. Returns false if it is in no known array. */
bool sim_report_index(const struct sim_report *r, enum sim_space space, uint64_t address,
                      struct sim_report_element *out);
/* Returns the element that contains the byte, "out[3][5]"; for plain memory "element 29 of out",
 * counted in values of `unit` bytes. NULL: it is in no known array, or the unit is 0 (not
 * known). */
const char *sim_report_element(const struct sim_report *r, enum sim_space space, uint64_t address,
                               int unit);
/* Returns the bytes of a value that the instruction reads or writes; 0: not known. */
int sim_value_bytes(const struct ptx_instruction *ins);

/* Returns the finding of this kind with the same lines, and adds one to its count. b NULL: a
 * finding of one access. NULL: it is new, and the caller must describe and add it. */
struct sim_finding *sim_report_again(struct sim_report *r, enum sim_found kind,
                                     const struct sim_place *a, const struct sim_place *b);
/* Adds to the threads of a finding; count: to its count, too. */
void sim_report_threads(struct sim_finding *f, int threads, int count);
/* Adds a copy of a finding, and returns it; the objects that it points to must live as long as the
 * arena. */
struct sim_finding *sim_report_add(struct sim_report *r, const struct sim_finding *finding);

/* Reports the places that threads poll without success, one finding for each line. Returns false
 * if there are none. */
bool sim_report_polls(struct sim_report *r, const struct sim_standstill *still);
/* Reports the instructions at which lanes wait for other lanes of their warp, one finding for each
 * line. Returns false if there are none. */
bool sim_report_lanes(struct sim_report *r, const struct sim_standstill *still);
/* Reports mbarriers that threads wait for, with what their phases lack, as one finding. Returns false
 * if there are none. */
bool sim_report_mbarriers(struct sim_report *r, const struct sim_standstill *still);
/* Reports a deadlock as a whole, at the place of the first wait. */
void sim_report_standstill(struct sim_report *r, const struct sim_standstill *still);

/* Returns true if a finding of this kind fails a check. */
bool sim_report_fails(const struct sim_report *r, enum sim_found kind);
/* Returns the number of findings that fail a check, without suppressed ones. */
int64_t sim_report_failures(const struct sim_report *r);
const struct sim_finding *sim_report_find(const struct sim_report *r, enum sim_found kind);

/* Returns "k.cu:12:5", from .loc or otherwise the place in the PTX. */
const char *sim_place_text(const struct sim_report *r, const struct ptx_instruction *ins,
                           struct loc where);
/* Returns the same for the line that calls an instruction's inlined function; NULL: it is not
 * inlined. */
const char *sim_call_text(const struct sim_report *r, const struct ptx_instruction *ins);
/* Returns the same for the line of a header that was inlined there. */
const char *sim_header_text(const struct sim_report *r, const struct ptx_instruction *ins);
/* Returns "block (1,0,0) thread (5,2,0)"; lane -1: "block (1,0,0) warp 3". */
const char *sim_thread_text(const struct sim_report *r, const struct sim_place *at, int lane);

/* Returns the place of an access of a finding; without a source if it is not known, or if there
 * is no such access. */
struct loc sim_finding_place(const struct sim_report *r, const struct sim_finding *f, int access);
/* Returns the place of the barrier that the thread passed last; without a source if it is not
 * known. */
struct loc sim_finding_barrier(const struct sim_report *r, const struct sim_finding_access *a);
/* Return one finding: as diagnostics with its places, and as a JSON object. They live in the
 * arena. */
const struct diagnostic *sim_finding_diagnostic(const struct sim_report *r,
                                                const struct sim_finding *f);
void sim_finding_json(struct text *out, const struct sim_report *r, const struct sim_finding *f);

void sim_report_text(struct text *out, const struct sim_report *r, bool colour);

#endif
