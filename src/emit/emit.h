/* Tile IR → thread IR → PTX: one kernel, for one choice of types, tuned values, statics and facts about sizes.
 *
 *   emit.c          the kernel: its places, roles and module
 *   emit_value.c    scalars as values of thread IR: operations that fold constants, casts
 *   emit_state.c    what is reported and known, variables, shared objects, barriers
 *   emit_parameters.c  parameters: the program's, workspaces, tensor maps
 *   emit_control.c  branches and loops that expressions and copies need
 *   emit_scalar.c   scalar expressions
 *   emit_flow.c     branches of the program, and bodies of its loops
 *   emit_unroll.c   loops: how many copies of the body an iteration has
 *   emit_stmt.c     statements
 *   emit_group.c    groups: several values of a thread that are one value of thread IR
 *   emit_operation.c  operations of the language on scalars and groups
 *   emit_scratch.c  shared memory through which threads exchange elements
 *   emit_shared.c   parts of shared tiles that tensor copies and products of warpgroups take
 *   emit_lock.c     semaphores, and which atomics a target has
 *   emit_tensor.c   mbarriers, tensor copies
 *   emit_product.c  products of warpgroups
 *   emit_threads.c  thread-level kernels: scalars and statements
 *   emit_tiles.c    tile-level kernels, with and without roles: scalars and statements
 *   emit_element.c  elements that each thread has for itself
 *   emit_array.c    kernels without roles: arrays that each thread has for itself, atomics
 *   emit_ticket.c   kernels without roles: numbers of blocks that wait for others
 *   emit_copy.c     elements that threads divide, copies by all threads
 *   emit_claim.c    claims that the simulator checks
 *   emit_print.c    kernels without roles: print()
 *   emit_note.c     notes for `show`, traces and explanations
 *   emit_fragment*.c  register tiles in the layouts of plan/plan_layouts.h
 *
 * In a kernel with roles, tiles have the layouts of plan/plan_layouts_role.c: register tiles those of the sums of products of
 * warpgroups (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16"), shared tiles those of tensor copies ("Swizzling
 * Modes"). */
#ifndef TW_EMIT_H
#define TW_EMIT_H

#include "plan/lowered.h"
#include "thread/thread.h"

/* Makes the PTX of a kernel after all passes ran for the target. Returns false if it has reported what the target lacks. */
bool emit_kernel(struct arena *a, struct kernel *k, const struct lowered_options *options,
                 struct diag *diag, struct lowered *out);

#endif
