/* The order of work: which work of streams happens before which, and before what the host does. Work
 * that touches the same bytes with no order between is a race, whatever order the device chose.
 *
 * Each stream is a thread of work with a vector clock (Fidge 1988, Mattern 1989); events carry clocks
 * from stream to stream, and waits of the host carry them to the host, whose calls come after all
 * that it has waited for. */
#ifndef TW_DRIVER_ORDER_H
#define TW_DRIVER_ORDER_H

#include "driver/driver.h"

#include <sys/types.h>

/* For each stream, by its slot: how much of its work is before. */
struct driver_clock {
    uint64_t *times;
    int count;
};

/* For each moment of a kernel, the work that is done by then; indices: enum driver_moment. */
struct driver_moments {
    struct driver_clock at[DRIVER_MOMENTS];
};

enum { DRIVER_NON_BLOCKING = 1 }; /* CUstream_flags */
struct driver_stream {
    int number; /* 0: the default stream; -1: the thread's */
    int slot;
    unsigned flags;
    int priority;
    union driver_launch_value attributes[DRIVER_STREAM_ATTRIBUTES]; /* driver_hints.c */
    struct driver_clock clock;
    bool kernel_last;               /* its last work was a kernel, */
    struct driver_moments last;     /* with these moments */
    struct driver_clock awaited;    /* what its next kernel can wait for itself */
    int node;                       /* of a graph: the lane runs it; 0: no lane */
    struct driver_capture *capture; /* NULL: none in progress */
    struct driver_nodes *tips;      /* of a capture: the nodes that the next one comes after */
    int waits;                      /* calls that wait for a value in it (driver_value.c) */
    bool destroyed;                 /* by the program, while a call waits */
};
/* Gives a new stream its slot. Returns false if there is no memory. */
bool driver_order_stream(struct driver_stream *s);
/* Forgets a stream that is destroyed. */
void driver_order_forget(struct driver_stream *s);
/* Returns the stream of a slot; NULL: it was destroyed. */
struct driver_stream *driver_order_stream_at(int slot);
/* Returns true if the host has waited for all that the stream's next work comes after. */
bool driver_order_is_past(const struct driver_stream *s);
/* Orders a stream after what the rules of streams put before its next work. */
void driver_order_begin(struct driver_stream *s);
/* Adds what those rules put before the next work of `s` to a clock. */
void driver_order_rules(const struct driver_stream *s, struct driver_clock *to);
/* Returns the time of a slot in a clock; sets it to a later one. */
uint64_t driver_clock_time(const struct driver_clock *c, int slot);
bool driver_clock_reach(struct driver_clock *c, int slot); /* makes room for it */
void driver_clock_advance(struct driver_clock *c, int slot, uint64_t time);
/* Add a clock to another, and copy one. */
void driver_clock_join(struct driver_clock *to, const struct driver_clock *from);
void driver_clock_copy(struct driver_clock *to, const struct driver_clock *from);
void driver_moments_free(struct driver_moments *m);
/* driver_stream.c: a call that lets other threads call keeps its stream, which they may destroy. */
void driver_stream_keep(struct driver_stream *s);
void driver_stream_leave(struct driver_stream *s);
/* driver_lane.c: lanes of graphs, which are used again. */
struct driver_stream *driver_lane_take(void);
void driver_lane_return(struct driver_stream *lane);
/* Returns a lane whose work is all in the clock, or a new one; NULL: no memory. */
struct driver_stream *driver_lane_after(const struct driver_clock *c);
/* Copies the stream's clock into an event's. */
void driver_order_record(const struct driver_stream *s, struct driver_clock *event);
/* The stream's next work comes after what the event recorded. */
void driver_order_wait(struct driver_stream *s, const struct driver_clock *event);
/* The host waits for a stream, for an event, for all streams. */
void driver_order_host(struct driver_stream *s);
void driver_order_host_event(const struct driver_clock *event);
void driver_order_host_all(void);

/* --- work --- */

/* The ways in which a piece of work accesses a byte. Accesses that are atomic for the whole device
 * do not race with each other. */
enum driver_touch {
    DRIVER_READS = 1,
    DRIVER_WRITES = 2,
    DRIVER_READS_ATOMICALLY = 4,
    DRIVER_WRITES_ATOMICALLY = 8
};
enum { DRIVER_TOUCHES = 4, DRIVER_TOUCH_MASK = (1 << DRIVER_TOUCHES) - 1 }; /* bits of a touch */

struct driver_span {
    uint64_t address, bytes;
    unsigned touch; /* enum driver_touch */
};

/* The bytes that a launch touched on a page: the touch, and above it the number of the instruction
 * that did it first (0: not known). */
enum { DRIVER_PAGE = 4096 };
struct driver_page {
    uint64_t address;
    unsigned touch; /* of all bytes */
    uint16_t bytes[DRIVER_PAGE];
};

struct driver_work {
    struct driver_work *next; /* older work of the stream that the host has not waited for */
    int slot, stream, node;
    uint64_t time;
    const char *call;
    const char *verb; /* "allocates", "frees"; NULL: it reads and writes */
    bool early;       /* before the griddepcontrol.wait of a kernel, whose rest is other work */
    bool dependent;   /* of a kernel that may begin before the previous one has ended */
    const struct driver_kernel *kernel; /* NULL: a copy, a fill, an allocation or a free */
    int64_t launch;
    struct driver_site site;
    struct driver_span *spans;
    int span_count, span_room;
    struct driver_page **pages; /* a hash table by address; NULL: an empty slot */
    size_t page_count, page_room;
    /* The memory that the host sees, and how it is touched; a few. */
    struct driver_used {
        struct driver_memory *memory;
        unsigned touch;
        uint64_t low, high; /* addresses of the first byte, and after the last one */
    } * used;
    int used_count;
};

/* Begins work in a stream. Returns NULL if nothing is watched, or without memory; the calls below
 * take NULL. */
struct driver_work *driver_work_begin(struct driver_stream *s, const struct driver_launched *l);
void driver_work_touches(struct driver_work *w, uint64_t address, uint64_t bytes, unsigned touch);
/* Ends it: reports its races with work that it is not ordered after. */
void driver_work_end(struct driver_work *w);
/* An observer that notes what a launch touches, from now on: before its threads' griddepcontrol.wait
 * in `early`, unless that is NULL, and else in `w`. late: returns the lanes of an access that come after
 * their wait. */
struct sim_observer *driver_work_observer(void);
void driver_work_observe(struct driver_work *w, struct driver_work *early,
                         uint32_t (*late)(const struct sim_access *a));
/* Notes accesses of programs with one stream, too: their kernels may overlap. */
void driver_order_expect_overlaps(void);

/* driver_order.c, driver_work.c: what is known of streams and of live work. */
enum { DRIVER_NOTIFIERS = 64 }; /* threads of the host that enqueue functions of the host */

struct driver_order {
    struct driver_slot {
        struct driver_stream *stream; /* NULL: destroyed */
        struct driver_work *live;     /* newest first */
    } * slots;
    int count, room;
    struct driver_clock host;    /* what the host has waited for */
    struct driver_clock orphans; /* the work of destroyed streams */
    struct {
        pid_t thread; /* of the host, that enqueued functions of the host; 0: several */
        struct driver_clock clock; /* what comes before those functions */
    } told[DRIVER_NOTIFIERS];
    int told_count;
    uint64_t works;               /* so far */
    size_t pages;                 /* of live work */
    struct driver_work *observed; /* the launch that runs */
    struct driver_work *early;    /* its work before griddepcontrol.wait; NULL: it has none */
    /* Returns the lanes of an access that come after their wait; set with `early`. */
    uint32_t (*late)(const struct sim_access *a);
    bool overlaps; /* kernels of one stream may overlap */
    struct sim_observer observer;
};
extern struct driver_order driver_order;

/* driver_dependent.c: begin and end the work of a launch, which is `watched` or not. */
void driver_dependent_begin(const struct driver_launched *l, bool watched);
void driver_dependent_end(const struct driver_launched *l);
/* An observer of griddepcontrol. */
struct sim_observer *driver_dependent_observer(void);

/* driver_overlap.c: returns true if two pieces of work touch a byte in ways that need an order; gives
 * the byte, and the touch and the instruction of each. */
struct driver_overlap {
    uint64_t address;
    unsigned touch[2];
    const struct ptx_instruction *ins[2]; /* NULL: none */
};
bool driver_overlaps(const struct driver_work *a, const struct driver_work *b,
                     struct driver_overlap *out);
/* Returns true if the work writes this byte atomically alone: the host may read it at any time. */
bool driver_writes_atomically(const struct driver_work *w, uint64_t address);
/* Returns true if the work touches this byte in a way that needs an order with the host's access.
 * The host's accesses count as atomic. */
bool driver_touches_byte(const struct driver_work *w, uint64_t address, bool host_writes,
                         struct driver_overlap *out);
/* Returns the number of an instruction, 1 to 4095; 0: there are too many. */
unsigned driver_instruction_number(const struct ptx_instruction *ins);
/* Returns the page that has the address, a new one if the work had none; NULL: no memory. */
struct driver_page *driver_work_page(struct driver_work *w, uint64_t address);

/* driver_races.c: report that nothing orders two pieces of work, or work and an access of the host. */
void driver_report_race(const struct driver_work *first, const struct driver_work *second,
                        const struct driver_overlap *overlap);
void driver_report_host_race(const struct driver_work *w, const struct driver_overlap *overlap,
                             const struct driver_work *host); /* NULL: it reads or writes */

/* --- the host's own accesses: driver_guard.c --- */

/* Memory that host and device share, while work that the host has not waited for uses it, is closed
 * to the host: an access then is a signal, which is reported, and goes on. */
void driver_guard_install(void); /* handles the signals of the host's accesses from now on */
void driver_guard_lift(void);    /* before the driver itself touches memory */
/* Adds live work (1) to what uses memory, or takes it away (-1). */
void driver_guard_use(const struct driver_used *u, int change);
/* Forgets the ranges that only finished work used. */
void driver_guard_renew(void);
/* Closes what live work uses. */
void driver_guard_close(void);
/* A function of the host runs in the stream. It can tell the other threads of the host that what came
 * before it is done: by starting them, by a flag, by a lock. How it does so is not seen, so each
 * thread counts as told except the one that enqueued the function, which usually goes on. */
void driver_order_tell(const struct driver_stream *s);
/* Returns true if this thread of the host has waited for the work, or may have been told that it is
 * done. */
bool driver_order_is_before_host(const struct driver_work *w);
/* The host has seen what this work wrote atomically, so it comes after the work. */
void driver_order_seen(const struct driver_work *w);
/* Returns the work of a slot that the host has not waited for, newest first. */
const struct driver_work *driver_work_live(int slot);
int driver_order_slots(void);
/* Opens memory that is about to be unmapped. */
void driver_guard_forget(struct driver_memory *m);

#endif
