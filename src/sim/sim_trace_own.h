/* Declarations shared by the files of traces. */
#ifndef TW_SIM_TRACE_OWN_H
#define TW_SIM_TRACE_OWN_H

#include "base/number_map.h"
#include "sim/sim_trace.h"

#define SIM_TRACE_KINDS(X)                                                                         \
    X(READ, "read")                                                                                \
    X(WRITE, "write")                                                                              \
    X(UPDATE, "update")                                                                            \
    X(ARRIVE, "arrive")                                                                            \
    X(RELEASE, "release")                                                                          \
    X(WARP, "warp")                                                                                \
    X(FENCE, "fence")                                                                              \
    X(ISSUE, "issue")                                                                              \
    X(COMMIT, "commit")                                                                            \
    X(LAND, "land")                                                                                \
    X(WAIT, "wait")                                                                                \
    X(COMPUTE, "compute")                                                                          \
    X(MMA, "mma")                                                                                  \
    X(TURN, "turn")                                                                                \
    X(EXIT, "exit")                                                                                \
    X(FAULT, "fault")
enum trace_kind {
#define X(id, name) TRACE_##id,
    SIM_TRACE_KINDS(X)
#undef X
        TRACE_KIND_COUNT
};
extern const char *const sim_trace_kinds[TRACE_KIND_COUNT];

enum {
    TRACE_ROW = 1,
    TRACE_COPY = 2,
    TRACE_PAST_L1 = 4,
    TRACE_MATRIX = 8,
    TRACE_MBARRIER = 16,
    TRACE_AGAIN = 32,
    TRACE_UNDEFINED = 64
};
#define TRACE_NO_EVENT UINT32_MAX

struct trace_event {
    uint32_t time, mask, base;
    int32_t stride;
    uint16_t warp, site;
    uint8_t kind, flags, units, least;
    uint32_t from; /* arithmetic: the time of its first instruction; not in the file */
};

/* A number for each lane: addresses without a common stride, relative to the lowest lane's; or
 * wavefronts. */
struct trace_row {
    int32_t offset[SIM_LANES];
};

/* An instruction, with the memory that it accesses. */
struct trace_site {
    const struct ptx_instruction *ins;
    const struct ptx_function *function;
    struct loc where;
    bool memory; /* true: it accesses `space` */
    enum sim_space space;
    int variable;         /* this array or shared variable; -1: none with a name */
    int bytes;            /* of a lane */
    enum trace_kind kind; /* of its first event */
    uint32_t served;      /* of its latest event: a row + 1; 0: one wavefront serves all lanes */
    int turn_of;          /* > 0: a turn of loop `turn_of` - 1 ends where the instruction is next */
};

struct trace_copy {
    uint32_t issue, commit, land, read, write, wait, group, bytes;
    int warp;
};

struct trace_loop {
    bool source;                          /* of the source: */
    struct sim_trace_loop is;             /* the loop as the caller gave it */
    const struct ptx_instruction *branch; /* the first branch that ends it; NULL: none */
    struct loc where;                     /* of the branch */
};

/* The innermost loop of the source around an instruction, and the copy of its body that the
 * instruction is in (-1: before the first copy). outer: the nest of the loop around that loop;
 * 0: none. The code of a loop may occur several times, for example in copies of a loop around
 * it: begin is the nest in which this code of the loop begins. */
struct trace_nest {
    uint32_t outer, begin;
    int loop, copy;
    uint32_t last; /* for a nest that is a begin: the instruction at which the last copy begins */
};

/* A warp's turns of a loop. */
struct trace_turns {
    uint32_t done;  /* turns that have ended */
    uint32_t lanes; /* lanes in the loop */
    uint32_t begin; /* the nest in which the code of these turns begins */
    int copy;
    bool open; /* a turn has begun, and its end has no event yet */
};

/* Memory with its place in the trace's address space. */
struct trace_memory {
    struct sim_trace_memory is;
    uint32_t at;
    int64_t initial; /* for an array: the place of its bytes in `initial`; -1: not kept */
    bool written;    /* by the traced block */
};

/* The state of a warp of the block. */
struct trace_warp {
    /* Arithmetic that is not an event yet; instructions 0: none. */
    struct trace_pending {
        const struct ptx_line *line;
        uint32_t mask, instructions;
        uint16_t site;
        uint8_t kind;
        uint32_t from; /* time */
        double flops;
    } pending;
    uint32_t commits;
    struct trace_turns *turns; /* by loop */
    uint32_t nest, lanes;      /* of its last step */
};

/* A write of a block, and its number among those of the block. */
struct trace_writer {
    int64_t block;
    int warp;
    int64_t write;
    const struct ptx_instruction *ins;
};

/* trace_code: an instruction of the program. trace_step: an instruction that a warp of the block
 * executed. */
struct trace_code {
    const struct ptx_instruction *ins;
    const struct ptx_function *function;
};
struct trace_step {
    uint32_t code, mask;
    uint32_t event;  /* its first event, if it has any */
    uint32_t chosen; /* selp: the lanes that take its first operand */
    uint16_t warp;
};

/* A write whose bytes are known only when it is done. */
struct trace_late {
    size_t value; /* place of its bytes in `values` */
    int bytes;
    const uint8_t *host;
};

struct sim_trace {
    struct arena *arena;
    struct sim_observer observer, writes;
    struct sim_trace_settings settings;
    const struct ptx_function *kernel;
    unsigned grid[3], block[3];
    int64_t number; /* of the traced block; -1: the grid has no such block */
    int warps, threads;
    uint64_t shared_bytes;

    VEC(struct sim_trace_memory) named;         /* by the caller */
    VEC(struct sim_allocation_event) allocated; /* by the machine */
    VEC(struct trace_memory) arrays, shared;
    struct number_map array_of; /* of an allocation's number: its array + 1 */
    VEC(struct sim_trace_variable) variables;
    VEC(struct sim_trace_access) accesses;
    VEC(struct trace_loop) loops;
    VEC(struct sim_trace_mark) marks;
    VEC(struct trace_nest) nests; /* the first represents none */
    VEC(struct trace_site) sites;
    struct number_map site_of, loop_of, copy_of;
    struct number_map nest_of; /* of an instruction: its number and its nest */
    VEC(struct trace_warp) warp;

    struct trace_fault {
        int64_t block; /* -1: none */
        int warp, lane;
        uint32_t event; /* TRACE_NO_EVENT: of another block, or not kept */
    } fault;            /* the first */
    int64_t time, total;
    double flops;
    bool truncated;
    VEC(struct trace_event) events;
    VEC(struct trace_row) rows;
    struct number_map row_of; /* by a hash: row */
    VEC(uint32_t) served_event, served_row;
    VEC(uint32_t) value_event;
    VEC(uint32_t) value_start;
    VEC(uint8_t) values;
    struct number_map value_of; /* by a hash: the place of values in `values` */
    VEC(struct trace_late) late;
    VEC(uint32_t) snapshot_event;
    VEC(uint16_t) snapshot_variable;
    VEC(uint32_t) snapshot_start;
    VEC(uint8_t) snapshots;
    VEC(struct trace_copy) copies;
    const uint8_t *shared_at_start; /* NULL: zeros */
    VEC(uint8_t) initial;
    /* For settings.why: all steps, whose number is the time; below, the block that wrote the
     * element last. */
    VEC(struct trace_step) steps;
    VEC(struct trace_code) codes;
    struct number_map code_of; /* of an instruction */
    int64_t why_block;
    VEC(struct trace_writer) writers; /* writes of all blocks, for settings.why */
    struct number_map writes_of;      /* by block: how many */
    struct number_map writer_of, foreign;
};

/* sim_trace_code.c */

/* Returns the site of an instruction that accesses `bytes` bytes in each lane of a space, the
 * lowest lane's at `at` in the trace. memory false: of one that does not access memory. -1:
 * there are too many sites. */
int sim_trace_site(struct sim_trace *t, const struct sim_place *place, bool memory,
                   enum sim_space space, int bytes, uint32_t at, enum trace_kind kind);
/* A place in the source and its text: the expression or the head of a loop that begins there.
 * For arithmetic, the place is that of an operand, and the text is the statement on that line. */
struct trace_text {
    const char *file; /* NULL: not known */
    uint32_t line, column;
    const char *text; /* NULL: not known */
};
struct trace_text sim_trace_text(const struct sim_trace *t, const struct ptx_instruction *ins,
                                 enum trace_kind kind);
/* Returns the same for a loop. */
struct trace_text sim_trace_loop_text(const struct sim_trace *t, const struct trace_loop *l);
/* Returns the place alone: file, line and column. */
const char *sim_trace_place(const struct sim_trace *t, const struct ptx_instruction *ins,
                            uint32_t *line, uint32_t *column);
/* Returns the line of the PTX, as it is shown. */
int sim_trace_ptx_line(const struct sim_trace *t, struct loc where);
/* Returns "load", "sync", "compute", "store" or NULL. */
const char *sim_trace_phase(const struct trace_site *s);

/* sim_trace_turns.c */

void sim_trace_find_loops(struct sim_trace *t);
/* Ends the turns that end before the step, or with it. */
void sim_trace_turn(struct sim_trace *t, const struct sim_step *step);
/* Notes that the lanes of the step leave all loops. */
void sim_trace_leave_loops(struct sim_trace *t, const struct sim_step *step);
/* Keeps the registers of variables as they are before the step, which has that event. */
void sim_trace_keep_registers(struct sim_trace *t, const struct sim_step *step, uint32_t event);
uint32_t sim_trace_nest(const struct sim_trace *t, const struct ptx_instruction *ins);

/* sim_trace_writers.c */

/* Notes the writes of other blocks whose values the traced block's event is about to read. */
void sim_trace_note_writers(struct sim_trace *t, const struct sim_access *a, uint32_t event);
/* Returns the other block's write whose value the event read at an address of the trace, and
 * gives the lane of the write; NULL: there is none. */
const struct trace_writer *sim_trace_writer_of(const struct sim_trace *t, uint32_t event,
                                               uint32_t at, int *lane);

/* sim_trace_events.c: returns the array at an address of global memory; NULL: it is not in the trace. */
struct trace_memory *sim_trace_array_at(const struct sim_trace *t, uint64_t address);
/* Adds an event of a warp whose arithmetic so far is one. Returns its number, or TRACE_NO_EVENT if
 * it is not kept. */
uint32_t sim_trace_put_event(struct sim_trace *t, const struct trace_event *e, int site);
/* Makes the arithmetic of a warp so far into an event. */
void sim_trace_flush(struct sim_trace *t, int warp);
/* Does both. */
uint32_t sim_trace_add_event(struct sim_trace *t, int warp, const struct trace_event *e, int site);

#endif
