/* Accesses that the machine reports as faults, and traps, as findings with their place. */
#ifndef TW_SIM_FAULTS_H
#define TW_SIM_FAULTS_H

#include "sim/sim.h"
#include "sim/sim_report.h"

/* With the nearest memory that has a name; one that was told is not told again. */
void sim_fault_report(struct sim_report *r, const struct sim_fault *fault);
/* An observer for launches that end at the first one. It tells the report of nothing else. */
void sim_faults_observe(struct sim *sim, struct sim_report *r);

#endif
