/* Traces: an observer that records all events of one block. docs/trace.md describes the columns,
 * the kinds and the file that sim_trace_write makes of them.
 *
 *   sim_trace.c        events: accesses, barriers, copies, arithmetic, turns of loops
 *   sim_trace_code.c   instructions as sites; expressions in the source
 *   sim_trace_turns.c  loops and their turns
 *   sim_trace_write.c  the file
 *   sim_trace_why.c    the path of a value
 *   sim_trace_writers.c  the writes of other blocks on that path */
#ifndef TW_SIM_TRACE_H
#define TW_SIM_TRACE_H

#include "base/text.h"
#include "sim/sim_events.h"

struct sim_trace;

/* An array of the launch or a tile in shared memory. All pointers live as long as the trace. */
struct sim_trace_memory {
    enum sim_space space;
    uint64_t address, bytes; /* SIM_SHARED: offset */
    const char *name, *type; /* NULL type: not known */
    const char *view;        /* SIM_GLOBAL: its name in the kernel; NULL: none */
    int rank;
    const int64_t *shape;
    const void *symbol;     /* the compiler's symbol, for struct sim_trace_access; NULL: none */
    const void *data;       /* SIM_GLOBAL: its content before the launch; NULL: not known */
    const char *layout;     /* SIM_SHARED: as text; NULL: none */
    const uint32_t *places; /* SIM_SHARED: the offset of each element; NULL: one after the other */
};

/* A scalar of each thread, or a register tile, in registers of the kernel. */
struct sim_trace_variable {
    const char *name, *type;
    int rank;
    const int64_t *shape;
    int word_bytes, words; /* bytes of a register; registers in each thread */
    const uint32_t *registers;
    const char *const *names;
    int elements;           /* held by each lane */
    const int32_t *element; /* number, by warp, lane and held element; -1: none; or NULL */
};

/* An access of the program: which memory it means, if tiles share bytes. */
struct sim_trace_access {
    int line, column;
    bool shared;
    const void *symbol; /* NULL: the compiler's own memory */
};

/* A loop of the source. */
struct sim_trace_loop {
    const char *file; /* NULL: not known */
    int line, column;
    const char *variable;   /* variable that the condition compares with a bound; NULL: none */
    bool bounded;           /* true: from, to and step are known */
    int64_t from, to, step; /* values from, from + step, … before `to` */
    bool warp;              /* each of its turns has an event */
};

/* A place in the kernel's code, before the instruction with this number. */
enum sim_trace_mark_kind {
    SIM_TRACE_LOOP_BEGINS,
    SIM_TRACE_COPY_BEGINS, /* a copy of the loop's body begins */
    SIM_TRACE_BRANCH_NEXT, /* the next branch back belongs to the loop */
    SIM_TRACE_LOOP_ENDS
};
struct sim_trace_mark {
    enum sim_trace_mark_kind kind;
    uint32_t instruction;
    int loop;
    int copy; /* SIM_TRACE_COPY_BEGINS: turns of the source since the code's turn began */
};

struct sim_trace_settings {
    int64_t block[3]; /* the traced block */
    int64_t from;     /* events before this time are left out */
    int64_t most;     /* events that are kept */
    const char *version, *kernel, *target, *file;
    uint64_t hash; /* hash of the file's text; 0: not known */
    uint64_t seed;
    bool late;
    int lines_before;                    /* lines above the PTX's first line where it is shown */
    const struct source *const *sources; /* texts that .loc names */
    size_t source_count;
    const struct ptx_module *module;
    const char *why; /* the array with the requested bytes; NULL: none */
    int64_t why_offset, why_bytes;
};

/* Lives in the arena. */
struct sim_trace *sim_trace_new(struct arena *arena);
struct sim_observer *sim_trace_observer(struct sim_trace *t);
/* Returns another observer, for settings.why: it hears of all blocks. */
struct sim_observer *sim_trace_writes(struct sim_trace *t);
/* Call the following functions before the launch. */
struct sim_trace_settings *sim_trace_settings(struct sim_trace *t);
void sim_trace_name(struct sim_trace *t, const struct sim_trace_memory *m);
void sim_trace_hold(struct sim_trace *t, const struct sim_trace_variable *v);
void sim_trace_means(struct sim_trace *t, const struct sim_trace_access *a);

/* Adds a loop. Marks must be added in order. */
void sim_trace_add_loop(struct sim_trace *t, const struct sim_trace_loop *l);
void sim_trace_mark(struct sim_trace *t, const struct sim_trace_mark *m);

/* Writes the file, after the launch. ended: the reason why the launch ended early; NULL: it did
 * not. */
void sim_trace_write(const struct sim_trace *t, const char *ended, struct text *out);
/* A write of another block, whose value a step read. */
struct sim_why_writer {
    int64_t block; /* by number */
    int warp, lane;
    uint32_t line, column;
    const char *text; /* there; NULL: not known */
    int64_t write;    /* its number among the block's writes and updates of global memory */
};
/* A step on the path of a value: a write, a read, products, or a barrier that its warp left. */
struct sim_why_step {
    const char *kind; /* of the trace: "write", "read", "update", "compute", "mma", "release" */
    int64_t time;
    int warp;
    uint32_t lanes;
    uint32_t line, column;
    const char *text; /* there; NULL: not known */
    int64_t event;    /* number in the trace; -1: not in the trace */
    int64_t products;
    int element_count;           /* elements of the value's path */
    const char *const *elements; /* "as[0][1]" */
    int writer_count;
    const struct sim_why_writer *writers;
    int64_t races; /* event: another warp's write of them between the same barriers; -1: none */
};
struct sim_why {
    int64_t block; /* number of the block that wrote the element last; -1: none did */
    int thread;    /* of the traced block; -1: it did not write it */
    int64_t products, reads[2], writes[2]; /* elements of global and shared memory */
    bool complete;
    size_t count;
    const struct sim_why_step *steps; /* in order of time */
};
/* Finds the path of the bytes that settings.why asks for. */
void sim_trace_why(struct sim_trace *t, struct sim_why *out);
/* Writes the same as trace events of Chrome and Perfetto. */
void sim_trace_write_chrome(const struct sim_trace *t, struct text *out);

#endif
