/* Executors run kernels: the host, a GPU, the simulator. Each is a row of functions and properties, so
 * that no other file asks which of them a kernel is for. A kernel has the row of the host or of a GPU
 * (executor.c); tw_launch_simulate runs kernels of a GPU by the simulator's (simulate.c). */
#ifndef TW_EXECUTOR_H
#define TW_EXECUTOR_H

#include "tilewright_family.h"
#include "tilewright_tuning.h"

struct add_call;
struct arena;
struct cpu_argument;
struct entry_call;
struct kernel;
struct pass_context;
struct text;
struct variant;

struct run_call {
    tw_launch *launch;
    int runs;
    double milliseconds; /* of one */
    struct simulate_call *simulated;
};

/* The functions of a row, as F(row, type of the result, name, parameters):
 *
 * compile      compiles the program of v->ir, after all passes; `lowered` has the memory of a
 *              lowered one
 * run          runs a launch; `given` is NULL for one that is not in place; reports
 * processors   device.clusters for clusters of that number of blocks; device.sms for 1
 * device       the device of a context as results name it; NULL after a report
 * find_device  the same for a family, and the numbers of its device
 * difference   of another device by its name; negative: it is of another kind
 * estimate     prints the program of an estimate, and finds the needs of a block
 * ship         compiles a kernel to ship (ahead.c)
 * start        starts an entry (entry.c) */
#define EXECUTOR_FUNCTIONS(F, row)                                                                 \
    F(row, tw_status, compile,                                                                     \
      (tw_kernel * k, struct variant * v, const struct pass_context *passes,                       \
       struct arena *lowered))                                                                     \
    F(row, tw_status, run, (struct run_call * call, struct cpu_argument * given))                  \
    F(row, int64_t, processors, (const tw_kernel *k, int cluster))                                 \
    F(row, const char *, device, (struct arena * a, tw_context * ctx))                             \
    F(row, void, find_device, (tw_family * f))                                                     \
    F(row, double, difference, (const tw_family *f, const char *device))                           \
    F(row, tw_status, estimate,                                                                    \
      (tw_launch * l, struct kernel * ir, struct text * text, tw_estimate * e))                    \
    F(row, tw_status, ship,                                                                        \
      (struct add_call * c, struct kernel * ir, const struct pass_context *passes))                \
    F(row, tw_status, start, (struct entry_call * c))

#define EXECUTOR_FIELD(row, type, name, parameters) type(*name) parameters;
#define EXECUTOR_DECLARATION(row, type, name, parameters) type row##_##name parameters;

struct executor {
    const char *name; /* of the machine, in messages; NULL: the name of the kernel's target */
    tw_place managed; /* the place of memory that the host and the device reach */
    bool lowers;      /* it runs PTX: programs have decisions, stages, and versions for divisors */
    bool streams;     /* launches go to streams of the driver */
    bool in_place;    /* it runs on the caller's arrays */
    bool has_model;   /* the model predicts its times */
    EXECUTOR_FUNCTIONS(EXECUTOR_FIELD, )
};

extern const struct executor executor_host, executor_gpu;

EXECUTOR_FUNCTIONS(EXECUTOR_DECLARATION, host)
EXECUTOR_FUNCTIONS(EXECUTOR_DECLARATION, gpu)

/* Prepares a launch for the executor and runs it. */
tw_status executor_run(const struct executor *e, struct run_call *call);
/* Refuses a call that kernels of the host do not have: "CALL: the target `cpu` has LACKS". */
tw_status launch_needs_ptx(const tw_launch *l, const char *call, const char *lacks);
/* Refuses a call that kernels of a GPU do not have. */
tw_status launch_needs_host(const tw_launch *l, const char *why);

#endif
