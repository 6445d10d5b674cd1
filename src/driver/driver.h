/* A CUDA driver whose device is the simulator: what libcuda.so.1 of this project is made of.
 *
 *   driver.c             the lock, objects and their handles
 *   driver_start.c       the start, the settings, reports at the end
 *   driver_results.c     error codes (driver_results.def); driver_texts.c has their names and texts
 *   driver_lookup.c      entry points by name (driver_calls.def)
 *   driver_private.c     the calls of this project's other libraries (driver_private.h)
 *   driver_device.c      the device and its attributes
 *   driver_context.c     contexts
 *   driver_machine.c     the simulator with its checks
 *   driver_memory.c      memory that programs allocated; driver_allocate.c, driver_memory_calls.c
 *   driver_hints.c       advice on memory, attributes of streams
 *   driver_virtual.c     reserved addresses, and memory that is mapped at them
 *   driver_ipc.c         memory and events of other processes
 *   driver_pool.c        allocations in the order of a stream, and their pools
 *   driver_copy.c        copies and fills; driver_copy_calls.c
 *   driver_module.c      modules, libraries, kernels; fat_binary.c takes PTX out of images
 *   driver_link.c        links of modules; ptx_link.c joins their texts
 *   driver_task.c        what streams do, as values; driver_graph.h: graphs and captures
 *   driver_stream.c      streams and events; driver_lane.c finds streams
 *   driver_value.c       values that streams write and wait for
 *   driver_launch.c      launches; driver_refused.c: their limits
 *   driver_tensor.c      tensor maps
 *   driver_missing.c     calls that are not supported
 *   driver_order.c       what is ordered after what; driver_work.c, driver_overlap.c, driver_guard.c,
 *                        driver_races.c
 *   driver_dependent.c   kernels that begin before the ones before them are done
 *   driver_occupancy.c   how many blocks fit
 *   driver_findings.c    findings, as lines of JSON; driver_site.c names places in the program, by
 *                        program_file.c and its readers (elf_symbols.h, dwarf.h)
 *
 * Work of a stream is done when the program enqueues it. The program cannot tell this from a
 * device that is fast, because work never waits for later calls. Which work is ordered after
 * which other work, and which is not, does not depend on when it was done. */
#ifndef TW_DRIVER_H
#define TW_DRIVER_H

#include "base/diag.h"
#include "base/number_map.h"
#include "driver/driver_api.h"
#include "ptx/ptx.h"
#include "sim/sim.h"

#include <stdio.h>

/* --- calls --- */

/* Each entry point begins with one of these. ENTER takes the lock until the function returns and
 * notes the name of the call; IN_CONTEXT also returns the error of a thread without a context, or
 * of a context whose kernel failed. */
struct driver_entered {
    bool outer;
};
struct driver_entered driver_enter(const char *name);
void driver_leave(struct driver_entered *entered);
void driver_make_lock(void);
#define ENTER                                                                                      \
    struct driver_entered entered __attribute__((cleanup(driver_leave))) = driver_enter(__func__); \
    (void)entered
#define IN_CONTEXT                                                                                 \
    ENTER;                                                                                         \
    if (driver_state())                                                                            \
    return driver_state()

/* Define an entry point that only returns a result. */
#define ENTRY_BY(enter, name, parameters, result)                                                  \
    int name parameters                                                                            \
    {                                                                                              \
        enter;                                                                                     \
        return result;                                                                             \
    }
#define ENTRY(name, parameters, result) ENTRY_BY(ENTER, name, parameters, result)
#define CONTEXT_ENTRY(name, parameters, result) ENTRY_BY(IN_CONTEXT, name, parameters, result)

/* Lets other threads call for a millisecond. The caller holds the lock once. */
void driver_pause(void);
/* The name of the call in progress, as the program wrote it: "cudaMemcpy". */
const char *driver_call_name(void);
/* driver_missing.c: reports a call that is not supported; returns DRIVER_NOT_SUPPORTED. */
int driver_missing(const char *name);
/* Returns the entry point of such a call; NULL: there is no call of that name. */
void *driver_missing_entry(const char *asked);
/* Runs a function that allocates from arenas. Returns its result, or DRIVER_OUT_OF_MEMORY. */
int driver_guard(int (*function)(void *user), void *user);

/* --- the driver --- */

struct gpu;
struct driver_settings {
    const struct gpu *gpu; /* the device */
    bool checks;           /* races, barriers and memory are watched */
    const char *kernel;    /* only this kernel is watched; NULL: all */
    int64_t launch;        /* only this launch is watched; 0: all */
    int64_t skipped;       /* number of first launches that are not watched */
    uint64_t seed;         /* of the order of warps and blocks */
    int threads;           /* of the simulator; 0: the default */
    int64_t step_limit;    /* most warp instructions of a launch; 0: the default */
    const char *suppress;  /* file of findings to let pass; NULL: none */
    int64_t limit;         /* warp instructions that are watched in full; 0: the default */
    bool keep_going;       /* calls succeed after a launch with a bad access */
    bool stub;             /* other libraries may do their work on the host */
    const char *trace;     /* folder for --trace; NULL: none */
    FILE *findings;        /* lines of JSON; NULL: text to standard error */
};

struct driver_task;
struct driver_graph;
struct driver_stream;
struct driver_place;
struct sim_report;
struct driver {
    const struct driver_task *replayed; /* the task of a graph that runs; NULL: none */
    bool initialised;
    struct arena arena;
    jmp_buf out_of_memory;
    struct number_map objects; /* by handle: enum driver_kind; 0: deleted */
    struct driver_settings settings;
    int64_t launches;              /* so far */
    int process;                   /* that opened the driver */
    struct sim *sim;               /* the machine (driver_machine.c), */
    struct sim_report *report;     /* its report, */
    struct sim_observer *memcheck; /* and its check of memory; NULL: nothing is checked */
    /* Calls of lower files: driver_graph_run, because a task may be a graph, whose nodes have tasks;
     * driver_is_suppressed, if a file of findings to let pass was read. */
    int (*run_graph)(struct driver_graph *g, struct driver_stream *s);
    bool (*is_suppressed)(const char *kind, const struct driver_place *place, const char *kernel,
                          const char *line);
};
extern struct driver driver;
/* Prepares the driver at the first call. Returns DRIVER_OUT_OF_MEMORY if it cannot. */
int driver_prepare(void);
/* Returns true after that, but not in a process that was forked since: it has no device, as with
 * NVIDIA's driver. */
bool driver_is_ready(void);

/* --- objects --- */

enum driver_kind {
    DRIVER_CONTEXT = 1,
    DRIVER_MODULE,
    DRIVER_KERNEL,
    DRIVER_STREAM,
    DRIVER_EVENT,
    DRIVER_GRAPH,
    DRIVER_NODE,
    DRIVER_POOL,
    DRIVER_PHYSICAL,
    DRIVER_LINK
};
/* Returns a new zeroed object; NULL: no memory. */
void *driver_new(enum driver_kind kind, size_t size);
/* Returns the object of that kind; NULL: the handle is invalid. */
void *driver_object(const void *handle, enum driver_kind kind);
void driver_delete(void *object);
/* Takes an object out of the handles, but keeps its memory. */
void driver_retire(const void *object);

/* --- device, contexts --- */

enum { DRIVER_VERSION = 13000 };
enum { DRIVER_BANKS_OF_4_BYTES = 1, DRIVER_MOST_BANKS = 2 }; /* CUsharedconfig */
uint64_t driver_total_memory(void);
uint64_t driver_heap_bytes(void); /* for malloc in kernels */
int driver_state(void);
/* Makes an error of a kernel permanent. */
void driver_fail(int result);

/* --- places in the program --- */

enum { DRIVER_SITE_FRAMES = 24 };
/* Return addresses of a call, from the library outwards. */
struct driver_site {
    void *frames[DRIVER_SITE_FRAMES];
    int count;
};
void driver_site_here(struct driver_site *site);
struct driver_place {
    const char *function; /* "main+0x2c in app" */
    const char *file;     /* of the source; NULL: the program has no lines */
    int line;
    const char *text; /* "app.cu:31 (main+0x2c in app)", or the function */
};
extern const struct driver_place driver_unknown_place;
/* Returns the place of the innermost frame outside of these libraries, of the toolkit's inline
 * functions, and of the host function of a kernel (its mangled name, or NULL). It lives as long as the
 * driver. */
const struct driver_place *driver_site_place(const struct driver_site *site, const char *kernel);
/* Returns its text. */
const char *driver_site_text(const struct driver_site *site, const char *kernel);
/* Also treats the library that has this address as one of ours. */
void driver_site_skip(const void *address);

/* --- memory --- */

enum driver_memory_type {
    DRIVER_DEVICE_MEMORY,
    DRIVER_PINNED_MEMORY,    /* of the host, by the same address on the device */
    DRIVER_MANAGED_MEMORY,   /* the same, by cuMemAllocManaged */
    DRIVER_REGISTERED_MEMORY /* the program's own, at another address on the device */
};
/* Bytes of the host after memory that this library allocates: a wide read of the last element stays inside. */
enum { DRIVER_BEYOND = 32 };
enum { DRIVER_RANGES = 8 };
struct driver_memory {
    uint64_t address;
    size_t bytes;
    enum driver_memory_type type;
    void *host; /* not of DRIVER_DEVICE_MEMORY */
    int number; /* "allocation 3" */
    const char *name, *call;
    struct driver_site made, freed;
    /* driver_guard.c: the ranges that live work uses, and whether the host's accesses of them are
     * caught. */
    struct driver_range {
        uint64_t low, high; /* addresses of the first byte, and after the last one */
        bool writes;
    } ranges[DRIVER_RANGES];
    int range_count;
    bool guarded;
    const char *freed_by; /* name of the call; NULL: not freed */
    uint64_t *pool_used;  /* bytes in use of its pool; NULL: of no pool */
    /* A node of a graph allocates it at each launch, always at the same address; before the first
     * one it counts as freed, at no place. */
    bool of_graph;
    const struct driver_graph *owner;   /* that graph; NULL: destroyed */
    bool freed_inside, freed_outside;   /* a node of that graph frees it; a node of another */
    struct driver_condition *condition; /* that it is the variable of; NULL: none */
    struct driver_reserved *reserved;   /* NULL: its addresses all have memory of its own */
    const struct sim_pages *pages;      /* of a reservation */
    struct driver_shared *shared;       /* with other processes; NULL: it is not */
    struct driver_hint *hints;          /* by page (driver_hints.c); NULL: none */
    bool uncounted;                     /* its bytes do not count as allocated in this process */
};
/* All memory so far (driver_memory.c, driver_allocate.c). */
struct driver_memories {
    struct driver_memory **list; /* in the order of allocation */
    int count, room;
    struct number_map by_number; /* number in the address: index in the list + 1 */
    unsigned next_shared;        /* place of the next shared memory */
    int conditions, reservations;
    int registered; /* pieces of the host's memory */
    uint64_t used;  /* bytes of the device */
};
extern struct driver_memories driver_memories;
/* Allocates; `host`: the caller's memory, for DRIVER_REGISTERED_MEMORY. */
int driver_memory_make(enum driver_memory_type type, size_t bytes, void *host,
                       struct driver_memory **out);
/* Makes the variable of a condition. */
int driver_memory_make_condition(struct driver_condition *c);
/* Makes memory of a graph, which no launch has allocated so far. */
int driver_memory_reserve(size_t bytes, struct driver_memory **out);
/* Makes addresses without memory; `pages` and `host` belong to the caller (driver_virtual.c). */
int driver_memory_make_reserved(struct driver_reserved *r, const struct sim_pages *pages,
                                size_t bytes, void *host, struct driver_memory **out);
struct driver_shared {
    void *host;
    int file;
    int opened; /* how often this process has opened it; 0: it is this process's own */
    uint64_t inode;
};
/* Makes memory of another process; `host` remains that of `shared` (driver_ipc.c). */
int driver_memory_make_shared(struct driver_shared *shared, size_t bytes, void *host,
                              struct driver_memory **out);
/* Gives back what memory shares with other processes. */
void driver_shared_free(struct driver_memory *m);
/* driver_ipc.c: makes an unnamed file of a fixed size for memory that processes share: a process that
 * shortened it would end the others. Returns -1 if there is no memory. */
int driver_file_make(uint64_t bytes);
/* Returns true if the size of the file is fixed in that way. */
bool driver_file_is_sealed(int file);
/* Adds to the bytes of the device that are in use; bytes < 0: subtracts. Returns false if fewer bytes are
 * free. */
bool driver_memory_count(int64_t bytes);
void driver_report_physical_leaks(void);
/* Allocates memory of a graph, whose bytes then are not initialised. */
int driver_memory_renew(struct driver_memory *m);
/* Frees memory. Returns an error, after a report, if it is not allocated. */
int driver_memory_end(struct driver_memory *m);
/* Frees memory of one of two types at its first byte. */
int driver_memory_release(uint64_t address, enum driver_memory_type type,
                          enum driver_memory_type other);
/* Returns the memory that has the address or had it before it was freed; NULL: none. */
struct driver_memory *driver_memory_at(uint64_t address);
/* Addresses with a smaller number (address >> SIM_OFFSET_BITS) are shared by host and device; the
 * memory of the device has larger numbers, from 2^47 on. */
enum { DRIVER_SHARED_NUMBERS = 2048 };
/* Returns true for addresses that host and device share. */
bool driver_is_shared(uint64_t address);
/* Returns the memory of the host that has this address on the device; NULL: none. */
struct driver_memory *driver_memory_of_host(uint64_t address);
/* Returns the registered memory that has this byte of the host; NULL: none. */
struct driver_memory *driver_registered_at(const void *host);
/* Returns the next memory in the order of allocation; the first after NULL; NULL: no more. */
struct driver_memory *driver_memory_next(const struct driver_memory *after);
/* Places a managed variable of a module that is about to be loaded. Returns false if there is no
 * memory. */
bool driver_place_managed(const struct ptx_variable *v);
/* Returns the host address of the bytes. NULL after a report: they are not in one allocation. */
void *driver_bytes(uint64_t address, size_t bytes, const char *what);

/* --- streams --- */

struct driver_stream; /* driver_order.h */
/* Returns the stream of a handle; NULL: it is invalid. */
struct driver_stream *driver_stream_of(void *handle);
/* The device's time in microseconds, as it was spent so far. */
extern double driver_clock;

/* --- modules --- */

struct driver_module {
    struct arena arena;
    struct source source;
    struct diag found; /* errors in parts of the text */
    struct ptx_module *module;
    VEC(struct driver_kernel *) kernels;
    const char *traced_as;              /* its file of --trace */
    VEC(const struct source *) sources; /* texts that .loc names */
};
struct driver_kernel {
    struct driver_module *from;
    const struct ptx_function *function;
    const char *shown;     /* its name in the source */
    int dynamic_shared;    /* allowed */
    int64_t static_shared; /* bytes; -1: not known yet */
    const char *refused;   /* why it cannot be simulated; NULL: it can */
    bool orders_blocks;    /* it has instructions that order accesses of different blocks */
    bool controls_grids;   /* it has griddepcontrol */
    bool large_clusters;
    int carveout;
};
/* Returns the kernel of a function's or a kernel's handle; NULL: it is invalid. */
struct driver_kernel *driver_kernel_of(const void *handle);
/* Returns how many blocks of that size a multiprocessor takes at the same time. */
int driver_resident(struct driver_kernel *k, int64_t threads, size_t shared);

/* --- the machine --- */

struct sim_report;

static inline struct sim *driver_machine(void)
{
    return driver.sim;
}
static inline struct sim_report *driver_machine_report(void)
{
    return driver.report;
}
/* Makes the machine. orders: observers that hear of the watched blocks, after the checks. */
void driver_machine_open(struct sim_observer *const *orders, int count);
/* Makes the module the machine's. Returns false if its variables do not fit. */
bool driver_machine_load(struct driver_module *m);
/* When a kernel lets work that depends on it begin: all its blocks have begun; all have triggered
 * (griddepcontrol.launch_dependents) or ended; it is done. */
enum driver_moment { DRIVER_BEGUN, DRIVER_TRIGGERED, DRIVER_DONE, DRIVER_MOMENTS };
struct driver_event;
struct driver_launched {
    struct driver_kernel *kernel;
    struct sim_launch launch;
    struct driver_stream *stream;
    bool cooperative;
    bool overlaps; /* it may begin before the previous kernel has ended */
    struct driver_launch_event {
        struct driver_event *event;
        enum driver_moment at; /* not DRIVER_DONE */
        bool programmatic;     /* kernels after it can wait for the end of this one */
    } events[2];               /* that the launch records */
    int event_count;
    int64_t number; /* of the launch, from 1 */
    struct driver_site site;
};
/* Runs a launch with the checks; reports what they find. Returns the launch's result. */
int driver_machine_run(struct driver_launched *l);

/* Returns how many launches had a second thread that looks for races. */
int driver_machine_second_thread(void);
/* Returns why no launch was watched: --kernel or --launch named none; NULL: some was. */
const char *driver_machine_unwatched(void);

/* driver_counters.c: count launches; add the last one to its kernel; write lines of JSON. */
struct sim_observer *driver_counters_observer(struct arena *a);
void driver_counters_add(const struct driver_kernel *k);
void driver_counters_report(FILE *out);

/* driver_trace.c: --trace. Each does nothing without that option. */
void driver_trace_open(void);
void driver_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
void driver_trace_module(struct driver_module *m);
void driver_trace_launch(const struct driver_launched *l); /* before it runs */

/* --- findings --- */

/* A fault of the host's calls. */
struct driver_fault {
    const char *kind; /* "use-after-free" */
    bool fails;       /* false: a note, */
    bool warns;       /* or a warning */
    const char *message;
    const struct driver_memory *memory; /* that it is about; NULL: none */
    const char *call;                   /* NULL: the call in progress */
    const struct driver_place *site;    /* NULL: its place */
};
/* Returns how many findings were reported so far. */
int driver_findings(void);
/* Reports it, once for each place and message. */
void driver_report_fault(const struct driver_fault *fault);
/* Reports that the call in progress fails; m NULL: it is not about memory. Without memory for the text
 * it reports nothing. */
void driver_refuse(const char *kind, const struct driver_memory *m, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports an error (`fails`) or a note that has no place in the program: about an option, or the whole run. */
void driver_report_without_place(const char *kind, bool fails, const char *message);
/* Reports that what the call asks for is not supported. Returns DRIVER_NOT_SUPPORTED. */
int driver_unsupported(const char *message);
struct sim_finding;
/* driver_suppress.c: reads the file of findings to let pass. Then driver.is_suppressed tells whether it
 * names a finding of a call at a place, or of a kernel ("scale") at a line ("scale.cu:8:9"); NULL: none. */
void driver_read_suppressions(struct arena *a, const char *name);
/* Reports the lines of the file that let no finding pass. */
void driver_report_unused_suppressions(void);
/* Begins a line of JSON, adds to it, and writes it; the text goes to people. */
void driver_finding_begin(struct text *out, const char *kind, bool fails, const char *message);
void driver_finding_key(struct text *out, const char *key, const char *value);
/* Adds a place (NULL: none): the members "site" and, if it has a line, "site_line". */
void driver_finding_site(struct text *out, const struct driver_place *place);
void driver_finding_end(struct text *json, const struct text *text);
void driver_finding_memory(struct text *text, const struct driver_memory *m);
/* Returns "stream 2", "the default stream" (number 0) or "the thread's default stream" (-1); with a
 * node of a graph, also that: "node 3 of a graph in stream 2". */
const char *driver_stream_text(struct arena *a, int number, int node);
/* Returns false if a finding with these texts was reported before, or is to be let pass. */
bool driver_finding_is_new(const char *kind, const char *what, const struct driver_place *place);
/* Reports what a launch found after the finding `after` (NULL: from the first on). */
void driver_report_launch(const struct sim_report *report, const struct sim_finding *after,
                          const struct driver_launched *l);
/* Warns that `unwatched` blocks of a launch were not watched. */
void driver_report_sampled(const struct driver_launched *l, int64_t unwatched);
/* Reports that a launch ended for a reason that is not a finding of the checks. */
void driver_report_end(const char *kind, const char *message, const struct driver_launched *l);

#endif
