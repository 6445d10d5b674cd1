/* Tables of targets: limits and features by architecture (targets.def), and matrix units (units.def). A
 * new limit, target, feature or unit is a row. */
#ifndef TW_TARGET_TARGETS_H
#define TW_TARGET_TARGETS_H

#include "base/dtype.h"
#include "ptx/ptx.h"

/* Limits that are equal on all targets: GPU_REGISTERS, … */
enum {
#define LIMIT(name, value) GPU_##name = value,
#include "target/targets.def"
#undef LIMIT
};

enum target_feature {
#define FEATURE(name, since) TARGET_##name,
#include "target/targets.def"
#undef FEATURE
    TARGET_FEATURES
};

/* Limits of a target. */
struct target {
    struct ptx_target ptx;
    int32_t shared_bytes;   /* of one block at most, opted in */
    int32_t shared_of_sm;   /* of a multiprocessor */
    int32_t l1_of_sm;       /* of a multiprocessor: L1 and shared memory together, in bytes */
    int32_t threads_of_sm;  /* of a multiprocessor */
    int32_t blocks_of_sm;   /* resident on a multiprocessor */
    int32_t registers;      /* of a multiprocessor */
    int32_t register_limit; /* of a thread */
    const char *name;       /* "sm_90a" */
};
/* NULL: not a target that kernels are made for (below sm_80, or not known). */
const struct target *target_find(struct ptx_target t);
const struct target *target_at(int index); /* in order; NULL past the last */
/* Returns the last target without a suffix that a GPU of this compute capability runs; NULL: it runs
 * none. */
const struct target *target_for_gpu(int number);
/* Returns whether a GPU of this compute capability runs code for the target. */
bool target_runs_on(const struct target *t, int number);
int32_t target_most_shared(void); /* the greatest shared_bytes of all targets */
bool target_has(const struct target *t, enum target_feature feature);
bool target_number_has(int number, enum target_feature feature); /* by compute capability: 90 */
/* Returns the number of the first target that has the feature. */
int target_first_with(enum target_feature feature);

/* Elements of a thread's tile that share a register of 32 bits. */
static inline int tile_per_word(enum dtype t)
{
    return t == DT_BOOL || dtype_table[t].bits > 16 ? 1 : 32 / dtype_table[t].bits;
}
/* Registers of 32 bits for this number of elements of a thread; bool is in predicates. */
static inline int64_t tile_registers(enum dtype t, int64_t elements)
{
    if (t == DT_BOOL)
        return 0;
    int per_word = tile_per_word(t);
    return (elements + per_word - 1) / per_word * (dtype_table[t].bits == 64 ? 2 : 1);
}

enum target_unit_how { TARGET_UNIT_PLAIN, TARGET_UNIT_HALVES };

/* Shapes of the factors, [m][k] and [k][n], and what one instruction costs. */
struct target_unit {
    const char *name; /* "mma.m16n8k16"; several rows have it, for different types */
    int m, n, k;
    enum dtype a, b, sum;
    enum target_unit_how how;
    int slots; /* of a warp: instructions that it could issue meanwhile */
    int since; /* number of the first target */
};
const struct target_unit *target_unit_at(int index); /* in order of the table; NULL past the last */
bool target_has_unit(const struct target *t, const struct target_unit *u);
/* Returns the unit that works in one instruction, by the types of the sums, of a and of b, and by the numbers of their elements
 * that a thread has; NULL: there is none. */
const struct target_unit *target_unit_of_fragments(const enum dtype types[3],
                                                   const uint16_t counts[3]);

/* A unit of warpgroups, wgmma.m64nNk…: products of 64 rows in the background, of sm_90a. */
enum target_warpgroup_left { TARGET_LEFT_SUMS, TARGET_LEFT_OWN };
enum target_warpgroup_right { TARGET_RIGHT_EITHER, TARGET_RIGHT_K };
enum { TARGET_WARPGROUP_N = 256, TARGET_WARPGROUP_K_BYTES = 32 }; /* the most n; bytes of k */
struct target_warpgroup_unit {
    int k;
    enum dtype a, b, sum;
    int step;                          /* n above 32 is a multiple of it; below, of 8 */
    enum target_warpgroup_left left;   /* layout of a left factor in registers */
    enum target_warpgroup_right right; /* axis along which factors may lie in shared memory */
    int sum_bits;                      /* significant bits that its sums keep */
};
/* Returns the unit with factors and sums of these types; NULL: there is none. */
const struct target_warpgroup_unit *target_warpgroup_unit_of(enum dtype a, enum dtype b,
                                                             enum dtype sum);
/* Returns whether the unit has an instruction of this n. */
bool target_warpgroup_has_n(const struct target_warpgroup_unit *u, int64_t n);

#endif
