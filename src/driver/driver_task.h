/* Tasks: what a stream can do, as values. A call makes one and hands it to driver_enqueue, which runs
 * it, or makes it a node of a graph if the stream is being captured (driver_graph.h). */
#ifndef TW_DRIVER_TASK_H
#define TW_DRIVER_TASK_H

#include "driver/driver_order.h"
#include "driver/driver_private.h"

enum driver_side { DRIVER_HOST_SIDE, DRIVER_DEVICE_SIDE, DRIVER_EITHER_SIDE };

/* One side of a copy: planes of rows of bytes. */
struct driver_rows {
    enum driver_side side;
    uint64_t address;
    size_t pitch, plane; /* from row to row, from plane to plane */
};

struct driver_copy {
    struct driver_rows to, from;
    size_t width, height, depth; /* bytes, rows, planes */
    bool waits;                  /* the call returns when the copy is done */
};

struct driver_fill {
    uint64_t to;
    size_t pitch, width, height; /* values of a row, rows */
    unsigned value;
    int bytes;  /* of a value */
    bool waits; /* the call is not one of the asynchronous ones */
};

struct driver_graph;
struct driver_event;

/* The numbers of CUgraphNodeType. */
enum driver_task_kind {
    TASK_KERNEL,
    TASK_COPY,
    TASK_FILL,
    TASK_HOST,
    TASK_GRAPH,
    TASK_EMPTY,
    TASK_WAIT,
    TASK_RECORD,
    TASK_ALLOCATE = 10,
    TASK_FREE = 11,
    TASK_CONDITIONAL = 13,
    TASK_STUB = 14 /* none of CUDA's: counts as a kernel */
};
/* The variable of a conditional node: memory of the device, whose address is the handle. Its first word
 * is the value; the second one is 1 if something has set it since the graph's launch began. */
enum { DRIVER_CONDITION_VALUE, DRIVER_CONDITION_IS_SET, DRIVER_CONDITION_WORDS };
struct driver_condition {
    struct driver_condition *next;    /* of the same graph */
    const struct driver_graph *graph; /* NULL: destroyed */
    struct driver_memory *memory;
    unsigned initial; /* value when a launch begins, if `assigns` is true */
    bool assigns;     /* false: the condition has no value before a kernel sets it */
    bool used;        /* a node has it */
};
struct driver_task {
    enum driver_task_kind kind;
    const char *call; /* that made it, and its place; NULL: the call in progress */
    struct driver_site site;
    struct driver_launched launched; /* stream: set when it runs */
    struct driver_copy copy;
    struct driver_fill fill;
    void (*function)(void *user); /* of the host */
    void *user;
    struct driver_event *event;
    struct driver_memory *memory; /* that is allocated or freed */
    struct driver_graph *graph;
    bool moves; /* a node takes the graph itself, or the bodies, not copies */
    struct driver_condition *condition;
    enum driver_branch branch;
    struct driver_graph **bodies; /* of a conditional node */
    unsigned body_count;
    struct driver_stub stub;
};

/* Runs a task in a stream, or adds it to the stream's capture. Returns the call's result. */
int driver_enqueue(void *stream, struct driver_task *t);
/* Runs a task. */
int driver_task_run(struct driver_task *t, struct driver_stream *s);

/* driver_launch.c: run a launch whose arguments are set; check its shape; find its arguments, which
 * remain the caller's. */
int driver_launch_check(const struct driver_launched *l);
int driver_launch_arguments(struct driver_launched *l, void **arguments, void **extra);
/* driver_refused.c: the first limit that a launch exceeds. */
enum driver_refusal {
    DRIVER_NOT_REFUSED,
    DRIVER_EMPTY_SHAPE,
    DRIVER_LARGE_GRID,
    DRIVER_LARGE_BLOCK,
    DRIVER_DEEP_BLOCK,
    DRIVER_LARGE_SHARED
};
enum driver_refusal driver_refusal(const struct driver_launched *l);
/* Keeps the reason why driver_launch_check refused a launch. */
void driver_note_refused(const struct driver_launched *l);
/* Returns the reason of the first launch that was refused at a place. "": its error code says it; NULL:
 * none was refused there. */
const char *driver_why_refused(const struct driver_place *place);
struct sim_launch driver_launch_shape(const unsigned grid[3], const unsigned block[3],
                                      unsigned shared);
/* Reads attributes. Returns DRIVER_NOT_SUPPORTED after a report, or DRIVER_INVALID_VALUE. */
int driver_launch_attributes(const struct driver_launch_attribute *list, unsigned count,
                             struct driver_launched *l);

/* driver_copy.c. Both report addresses that make no sense. */
int driver_copy_run(const struct driver_copy *c, struct driver_stream *s);
int driver_fill_run(const struct driver_fill *f, struct driver_stream *s);
struct driver_copy_3d;
/* A side of a copy of rows, as the caller describes it. */
struct driver_copy_end {
    int kind; /* enum driver_memory_kind */
    uint64_t host, device;
    size_t x, y, z, pitch, height;
};
int driver_copy_between(const struct driver_copy_end *to, const struct driver_copy_end *from,
                        struct driver_copy *out);
/* Reads the caller's parameters. Returns an error for arrays of textures. */
int driver_copy_of(const struct driver_copy_3d *p, struct driver_copy *out);

/* driver_work.c: notes that work of the stream uses all bytes of the memory; verb: "frees". */
void driver_touch_memory(struct driver_stream *s, const struct driver_memory *m, const char *verb);

/* A list of nodes of graphs (driver_graph.h), each with the data of its edge. */
struct driver_nodes {
    struct driver_node **list;
    struct driver_edge *edges;
    int count, room;
};

/* driver_stream.c */
enum { DRIVER_EVENT_NO_TIME = 2, DRIVER_EVENT_INTERPROCESS = 4 }; /* CUevent_flags */
struct driver_event {
    unsigned flags;
    bool recorded;
    struct driver_clock clock;   /* when it was recorded */
    struct driver_clock awaited; /* what a kernel after it can wait for itself; usually nothing */
    double at;                   /* microseconds of the device */
    /* Recorded in a stream that was being captured: the capture's number, and the nodes that come
     * before the event. */
    uint64_t capture;
    struct driver_nodes before;
};
/* Records an event; done: the work before it. */
void driver_event_record(struct driver_event *e, const struct driver_clock *done);

/* driver_run.c: runs a launch in a stream, perhaps before the previous kernel has ended. */
int driver_run_launch(struct driver_launched *l, struct driver_stream *s);

#endif
