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
 *   emit_place.c    register tiles: which elements each thread has, other forms
 *   emit_tile.c     register tiles: expressions, elementwise operations
 *   emit_scratch.c  shared memory through which threads exchange elements
 *   emit_dot.c      products that the program waits for
 *   emit_shared.c   shared tiles: the place of each element, loads and stores
 *   emit_view.c     views: loads and stores of register tiles, atomics
 *   emit_tensor.c   mbarriers, tensor copies
 *   emit_product.c  products of warpgroups
 *   emit_threads.c  thread-level kernels: scalars and statements
 *   emit_tiles.c    tile-level kernels without roles: scalars and statements
 *   emit_element.c  kernels without roles: elements that each thread has for itself
 *   emit_array.c    kernels without roles: arrays that each thread has for itself, atomics
 *   emit_ticket.c   kernels without roles: numbers of blocks that wait for others
 *   emit_copy.c     kernels without roles: elements that threads divide, copies by all threads
 *   emit_claim.c    kernels without roles: claims that the simulator checks
 *   emit_print.c    kernels without roles: print()
 *   emit_note.c     notes for `show`, traces and explanations
 *   emit_fragment*.c  register tiles in the layouts of plan/plan_layouts.h; in kernels with roles: exchanges of elements
 *
 * In a kernel with roles, register tiles have the layout of the sums of products of warpgroups: each group of four warps has a
 * part of the rows, 64 at a time, as wgmma places them (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16"). Other
 * numbers of warps have 16 rows each at a time. Shared tiles whose rows are multiples of 128 bytes lie in panels of 128 bytes a
 * row, swizzled as tensor copies and products need them (the same page, "Swizzling Modes"). */
#ifndef TW_EMIT_H
#define TW_EMIT_H

#include "plan/lowered.h"
#include "thread/thread.h"

/* Makes the PTX of a kernel after all passes ran for the target. Returns false if it has reported what the target lacks. */
bool emit_kernel(struct arena *a, struct kernel *k, const struct lowered_options *options,
                 struct diag *diag, struct lowered *out);

#endif
