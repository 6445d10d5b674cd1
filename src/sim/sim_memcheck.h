/* Wrong uses of memory: reads of bytes that were never written (global, shared, local, parameters;
 * a valid bit for each byte), accesses that the machine reports as faults, with the nearest
 * allocation, and threads that exit with asynchronous copies under way.
 *
 * After a fault the launch goes on (reads give 0), so one run finds several. */
#ifndef TW_SIM_MEMCHECK_H
#define TW_SIM_MEMCHECK_H

#include "sim/sim_report.h"

struct sim_memcheck;
struct sim_memcheck *sim_memcheck_new(struct arena *arena, struct sim_report *report);
void sim_memcheck_free(struct sim_memcheck *check);
struct sim_observer *sim_memcheck_observer(struct sim_memcheck *check);

#endif
