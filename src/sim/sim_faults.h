/* Reports the machine's faults and traps as findings with their place. */
#ifndef TW_SIM_FAULTS_H
#define TW_SIM_FAULTS_H

#include "sim/sim.h"
#include "sim/sim_report.h"

/* Reports a fault with the nearest memory that has a name; repeats of a reported fault only
 * count. */
void sim_fault_report(struct sim_report *r, const struct sim_fault *fault);
/* Adds an observer for launches that end at the first fault. It tells the report nothing else. */
void sim_faults_observe(struct sim *sim, struct sim_report *r);

#endif
