/* The simulator: PTX, run on the host as a GPU would, block by block, in warps of 32 lanes.
 *
 * A machine has memory (allocations with addresses of their own), a module, and observers: plug-ins
 * that are told of accesses and synchronisation (sim_events.h). It never guesses: what it does not
 * know stops the launch with its name.
 */
#ifndef TW_SIM_H
#define TW_SIM_H

#include "ptx/ptx.h"
#include "sim/sim_events.h"

struct sim;

/* All of it lives in the arena, host copies of memory aside: those are freed by sim_free. */
struct sim *sim_new(struct arena *arena);
void sim_free(struct sim *sim);

/* --- memory --- */

/* An allocation has less. */
#define SIM_MOST_BYTES (UINT64_C(1) << 36)

/* Global memory of `bytes` bytes, aligned to 256, not initialised unless `data` is given, which is
 * copied. Its address; 0: no memory. `name` is for reports. */
uint64_t sim_allocate(struct sim *sim, uint64_t bytes, const void *data, const char *name);
/* The same on the caller's memory, which is used in place. */
uint64_t sim_attach(struct sim *sim, void *data, size_t bytes, const char *name);
/* Sets the bytes of memory of sim_allocate. Only the first `written` ones count as written. */
void sim_hold(struct sim *sim, uint64_t address, const void *data, size_t bytes, size_t written);
/* Its elements may be structs, as in struct sim_allocation_event. */
void sim_hold_structs(struct sim *sim, uint64_t address);
/* What it holds counts as never written. */
void sim_forget(struct sim *sim, uint64_t address);
/* Gives memory of sim_allocate back: an access of it is a fault from now on. */
void sim_release(struct sim *sim, uint64_t address);
/* Host address of what the machine has at an address, for at least `bytes` bytes; NULL: nothing.
 * The allocation counts as initialised from then on. */
void *sim_host(struct sim *sim, uint64_t address, size_t bytes);

/* --- programs --- */

/* Takes a verified module: its variables get memory. Reports to diag; false then. */
bool sim_load(struct sim *sim, const struct ptx_module *module, const struct source *source,
              struct diag *diag);

/* An entry of a chosen order: what a warp may do before the next entry's. */
struct sim_turn {
    int warp;
    int64_t steps; /* 0: until it waits */
};

struct sim_options {
    uint64_t seed; /* of the order of warps and blocks; 0: warps in turn */
    /* Without a seed: turns of the warps of each block, over and over, then of the warps that it does
     * not have; NULL: warps by their numbers. */
    const struct sim_turn *order;
    int order_count;
    int64_t step_limit;  /* instructions of all warps; 0: 2^40 */
    bool async_late;     /* asynchronous work lands as late as the rules allow; else at once */
    int64_t async_after; /* late: after this many instructions of the warp at most; 0: no limit */
    int resident_blocks; /* blocks that run at the same time, 0: 16 */
    int sm;              /* what %… and .target ask for: 80; 0: the module's own */
    /* Where nobody can go on, loops that wait for a change of memory end, as if a block that does
     * not run had made it. */
    bool waits_end;
    bool any_threads; /* blocks of more threads than any GPU takes */
    /* Only these blocks of the grid run, by number, in this order; NULL: all. */
    const int64_t *chosen;
    int64_t chosen_count;
    /* Asked now and then: true ends the launch, SIM_ASKED; NULL: never. */
    bool (*cancelled)(void *user);
    void *cancelled_user;
    /* Told "simulating" and how many blocks have begun; NULL: never. */
    void (*progress)(void *user, const char *doing, int64_t done, int64_t total);
    void *progress_user;
};

/* A parameter whose bytes are not all written. */
struct sim_partial {
    int parameter;
    const char *name;             /* in reports */
    const unsigned char *missing; /* a flag for each byte; not 0: nothing wrote it */
};

struct sim_launch {
    const char *kernel;
    unsigned grid[3], block[3];
    unsigned cluster[3];    /* 1, 1, 1 */
    int64_t dynamic_shared; /* bytes */
    uint64_t workspace;     /* of a cooperative grid, %envreg1 and %envreg2; 0: none */
    int64_t shared_most;    /* bytes that a block of the target has at most; 0: of any GPU */
    /* By parameter: its bytes, as many as its type has. */
    const void *const *arguments;
    int argument_count;
    const struct sim_partial *partial;
    int partial_count;
    struct sim_options options;
};

enum sim_end {
    SIM_DONE,
    SIM_STOPPED,  /* something it does not know, or that is wrong: sim_why */
    SIM_FAULT,    /* an access outside any allocation, misaligned, a trap: sim_why */
    SIM_DEADLOCK, /* nobody can go on */
    SIM_ENDLESS,  /* the step limit */
    SIM_ASKED,    /* an observer asked to stop, or `cancelled` did */
    SIM_CUT_OFF,  /* the end of a function without `ret`: its compiler left out the rest */
    SIM_UNKNOWN   /* an instruction that is not simulated: sim_why */
};

enum sim_end sim_run(struct sim *sim, const struct sim_launch *launch, struct diag *diag);
/* What ended the last launch, with the place; lives in the arena. */
const char *sim_why(const struct sim *sim);
/* SIM_DEADLOCK: who waits, by block and warp; NULL: it was none. */
const struct sim_standstill *sim_standstill(const struct sim *sim);
/* SIM_ENDLESS: where one of its warps was; NULL: not known. */
const struct sim_place *sim_stopped_at(const struct sim *sim);
/* Warp instructions of the last launch. */
int64_t sim_steps(const struct sim *sim);
/* Of them: loops that ended so. */
int64_t sim_waits_ended(const struct sim *sim);
/* What vprintf printed in the last launch. */
const char *sim_output(const struct sim *sim, size_t *length);

/* Adds an observer before a launch; the same one sees all later launches. */
void sim_observe(struct sim *sim, struct sim_observer *observer);

#endif
