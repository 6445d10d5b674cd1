/* The simulator: runs PTX on the host as a GPU would, block by block, in warps of 32 lanes.
 *
 * A machine has memory (allocations with addresses of their own), a module, and observers:
 * plug-ins that hear of accesses and synchronisation (sim_events.h). It never guesses: an
 * instruction that it does not know stops the launch, and the message names that instruction. */
#ifndef TW_SIM_H
#define TW_SIM_H

#include "ptx/ptx.h"
#include "sim/sim_events.h"

struct sim;

/* Makes a machine in the arena. Only the host copies of memory are outside it; sim_free frees
 * them. */
struct sim *sim_new(struct arena *arena);
void sim_free(struct sim *sim);

/* --- memory --- */

/* An allocation has less. */
#define SIM_MOST_BYTES (UINT64_C(1) << 36)

/* Allocates `bytes` bytes of global memory, aligned to 256. `data` (if not NULL) is copied in;
 * otherwise the memory is not initialised. `name` is for reports. Returns the address; 0: out of
 * memory. */
uint64_t sim_allocate(struct sim *sim, uint64_t bytes, const void *data, const char *name);
/* Makes the caller's memory global memory, used in place. Returns the address; 0: out of memory. */
uint64_t sim_attach(struct sim *sim, void *data, size_t bytes, const char *name);
/* Addresses of which only some pages have memory. The caller owns this, and changes it between
 * launches; `access` has a value of enum sim_page for each page, and `open` is the number of bytes
 * before the first page that is not open. */
#define SIM_PAGE_BYTES (UINT64_C(1) << 21)
enum sim_page {
    SIM_PAGE_UNUSED,   /* no memory so far */
    SIM_PAGE_UNMAPPED, /* its memory was unmapped */
    SIM_PAGE_CLOSED,   /* it has memory, and the device has no access */
    SIM_PAGE_READ,
    SIM_PAGE_OPEN /* for reads and writes */
};
struct sim_pages {
    uint8_t *access;
    uint64_t open;
};
/* The same for memory by pages. `bytes` is a multiple of SIM_PAGE_BYTES. */
uint64_t sim_attach_pages(struct sim *sim, void *data, uint64_t bytes, const char *name,
                          const struct sim_pages *pages);
/* Returns the place of the first byte from `offset` on that a read cannot reach; `end`: none before. */
uint64_t sim_pages_end(const struct sim_pages *pages, uint64_t offset, uint64_t end);
/* Sets the bytes of memory from sim_allocate. Only the first `written` bytes count as written. */
void sim_hold(struct sim *sim, uint64_t address, const void *data, size_t bytes, size_t written);
/* Gives memory from sim_allocate another place, which remains the caller's and has the same bytes. */
void sim_move(struct sim *sim, uint64_t address, void *host);
/* Tells the machine that the elements may be structs, as in struct sim_allocation_event. */
void sim_hold_structs(struct sim *sim, uint64_t address);
/* Makes all bytes of the memory count as never written. */
void sim_forget(struct sim *sim, uint64_t address);
/* Makes memory of the programs' malloc count as initialised. */
void sim_trust_heap(struct sim *sim);
/* Frees memory from sim_allocate, or forgets the caller's memory: from now on an access to it is a
 * fault. */
void sim_release(struct sim *sim, uint64_t address);
/* Leaves the addresses of the next `count` allocations unused, for sim_attach_at. */
void sim_skip(struct sim *sim, int count);
/* Makes the caller's memory global memory at an address that was left unused: a multiple of
 * SIM_MOST_BYTES. Returns false if that address is not free. */
bool sim_attach_at(struct sim *sim, uint64_t address, void *data, size_t bytes, const char *name);
/* Returns the host address of the machine's memory at `address`, valid for at least `bytes`
 * bytes; NULL: the machine has no such memory. From then on the allocation counts as
 * initialised. */
void *sim_host(struct sim *sim, uint64_t address, size_t bytes);
/* Returns the same, but the allocation stays as it is. */
void *sim_bytes(const struct sim *sim, uint64_t address, size_t bytes);
/* Tells the machine that the host has written these bytes, which are inside one allocation. */
void sim_wrote(struct sim *sim, uint64_t address, size_t bytes);

/* --- programs --- */

/* Loads a verified module and gives its variables memory. If that fails, reports to `diag` and
 * returns false. */
bool sim_load(struct sim *sim, const struct ptx_module *module, const struct source *source,
              struct diag *diag);

/* A time slice of a chosen order: how many instructions a warp may run before the next slice. */
struct sim_slice {
    int warp;
    int64_t steps; /* 0: until it waits */
};

/* Gives the address of a global or constant variable of a module. Returns false if it has none. */
bool sim_variable(struct sim *sim, const struct ptx_variable *v, uint64_t *address);
/* Places a variable, before its module is loaded, in memory of its size that starts at `address`. */
void sim_place(struct sim *sim, const struct ptx_variable *v, uint64_t address);

struct sim_options {
    uint64_t seed; /* seed of the order of warps and blocks; 0: round robin */
    /* Without a seed: the slices of each block's warps, repeated; after each pass come the warps
     * that the list does not name. NULL: warps in the order of their numbers. */
    const struct sim_slice *order;
    int order_count;
    int64_t step_limit; /* most instructions of all warps together; 0: 2^40 */
    bool async_late;    /* asynchronous work lands as late as the rules allow; otherwise at once */
    /* async_late: most instructions of the warp, for bulk copies of all warps, before it lands;
     * 0: no limit */
    int64_t async_after;
    int resident_blocks; /* blocks that run at the same time; 0: 16 */
    int sm;              /* target that %… and .target ask for, such as 80; 0: the module's own */
    /* If no thread can go on, loops that wait for a change of memory end, as if a block that is
     * not run had made the change. */
    bool waits_end;
    uint64_t heap;    /* bytes for the program's malloc; 0: 8 MB */
    bool any_threads; /* allows blocks of more threads than any GPU allows */
    /* Numbers of the blocks of the grid that run, in this order; NULL: all blocks. The other blocks of
     * their clusters run with them, and no observer hears of those. */
    const int64_t *chosen;
    int64_t chosen_count;
    /* Observers hear of the instructions of blocks that begin within `watch_steps` instructions of
     * the launch (0: of all), and after that only of every `watch_every`th block. */
    int64_t watch_steps, watch_every;
    /* Called now and then; if it returns true, the launch ends with SIM_ASKED. NULL: not called. */
    bool (*cancelled)(void *user);
    void *cancelled_user;
    /* Called with "simulating" and the number of blocks that have begun. NULL: not called. */
    void (*progress)(void *user, const char *doing, int64_t done, int64_t total);
    void *progress_user;
};

/* A parameter some of whose bytes are not written. */
struct sim_partial {
    int parameter;
    const char *name;             /* in reports */
    const unsigned char *missing; /* a flag for each byte; not 0: the byte was never written */
};

struct sim_launch {
    const char *kernel;
    unsigned grid[3], block[3];
    unsigned cluster[3];    /* blocks; 1, 1, 1 or 0: the kernel's own, .reqnctapercluster */
    int64_t dynamic_shared; /* bytes */
    uint64_t workspace;     /* of a cooperative grid, for %envreg1 and %envreg2; 0: none */
    int64_t shared_most;    /* most bytes of shared memory in a block; 0: of any GPU */
    /* The bytes of each parameter; its type gives their number. */
    const void *const *arguments;
    int argument_count;
    const struct sim_partial *partial;
    int partial_count;
    struct sim_options options;
};

enum sim_end {
    SIM_DONE,
    SIM_STOPPED,  /* an unknown or wrong construct, named by sim_why */
    SIM_FAULT,    /* an access outside any allocation, a misaligned access or a trap: see sim_why */
    SIM_DEADLOCK, /* no thread can go on */
    SIM_ENDLESS,  /* the step limit was reached */
    SIM_ASKED,    /* an observer or `cancelled` asked to stop */
    SIM_CUT_OFF,  /* the end of a function without `ret`: its compiler left out the rest */
    SIM_UNKNOWN   /* an instruction that is not simulated: see sim_why */
};

enum sim_end sim_run(struct sim *sim, const struct sim_launch *launch, struct diag *diag);
/* Returns the reason why the last launch ended, with the place; the text lives in the arena. */
const char *sim_why(const struct sim *sim);
/* After SIM_DEADLOCK: returns which blocks and warps wait for what. NULL: the launch ended
 * otherwise. */
const struct sim_standstill *sim_standstill(const struct sim *sim);
/* After SIM_ENDLESS and SIM_STOPPED: returns the place of one of the warps; NULL: not known. */
const struct sim_place *sim_stopped_at(const struct sim *sim);
/* Returns the number of blocks of the last launch whose instructions observers did not hear. */
int64_t sim_unwatched(const struct sim *sim);
/* Returns the number of warp instructions of the last launch. */
int64_t sim_steps(const struct sim *sim);
/* Returns how many waiting loops the last launch ended because of `waits_end`. */
int64_t sim_waits_ended(const struct sim *sim);
/* Returns the text that vprintf printed in the last launch. */
const char *sim_output(const struct sim *sim, size_t *length);

/* Adds an observer before a launch; it also observes all later launches. */
void sim_observe(struct sim *sim, struct sim_observer *observer);
/* Lets the observers with `later` work on a second thread if the caller may have several `threads`: 1:
 * no; 0: in launches that run for some milliseconds; more: in all launches. Only these observers and
 * their report take memory from `arena`, whose allocator two threads may call at once. */
void sim_hear_later(struct sim *sim, struct arena *arena, int threads);
/* Returns how many launches had the second thread. */
int sim_later_launches(const struct sim *sim);
/* Ends the second thread if a launch did not: memory ran out. NULL: fine. */
void sim_later_end(struct sim *sim);

#endif
