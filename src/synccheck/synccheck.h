/* The static synchronisation check of a kernel. */
#ifndef TW_SYNCCHECK_H
#define TW_SYNCCHECK_H

#include "tile/passes.h"

/* synccheck.c: runs the static synchronisation check (docs/language.md, "Synchronisation").
 * requires: variance; after folding it decides more. keeps: the kernel as it is. diagnoses:
 * races on shared tiles, copies not waited for. sets: sync, sync_undecided. */
void synccheck_pass(struct pass_context *c);

/* Returns synccheck's verdict, for callers that need more than diagnostics (the oracle of the
 * tests). */
enum sync_verdict synccheck_kernel(struct pass_context *c, const char **why_undecided);

#endif
