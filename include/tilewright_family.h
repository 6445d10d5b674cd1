/* Families: kernels with one signature and one `ensures`, of which a launch takes the fastest for
 * its device, types and sizes. May change with a minor version (docs/versions.md).
 *
 *     tw_family_from_file(ctx, "kernels/matmul.tile", NULL, "cuda", &f); // family matmul { … }
 *     tw_family_type(f, "T", TW_F16);
 *     tw_value args[] = {tw_int(m),     tw_int(n),     tw_int(k), // in the order of the parameters
 *                        tw_pointer(a), tw_pointer(b), tw_pointer(c)};
 *     tw_error error = tw_error_init();
 *     if (tw_family_start(f, args, 6, stream, &error) != TW_OK)
 *         fputs(error.text, stderr);
 *
 * A file declares a family by the files of its kernels:
 *
 *     family matmul {
 *         "matmul/waves.tile";
 *         "matmul/split_sum.tile": matmul_split_sum; // if the file has several kernels
 *     }
 *
 * A folder is a family, too: of all kernels of its .tile files. The kernels have the same
 * parameters (names, types, views; which of them are `static` may differ) and the same `ensures`.
 *
 * A variant is one kernel with tuned values. Tables have the times of some variants at some sizes,
 * by device and types: the file FAMILY.table next to the family's file, and what `tilewright tune
 * FAMILY` stored (docs/families.md). A choice takes the fastest variant measured at its sizes; else
 * the fastest as predicted from the nearest sizes of the device; else, on a device without
 * results, the model's choice, from another device's results or by occupancy. On a GPU, types with
 * bf16 take the results with f16 if they have none, because both run equally fast. */
#ifndef TILEWRIGHT_FAMILY_H
#define TILEWRIGHT_FAMILY_H

#include "tilewright_build.h"
#include "tilewright_entry.h"
#include "tilewright_tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_family tw_family;

/* Loads a family and its table; a damaged table is left out with a warning. path: a file with `family NAME { … }`, a file with several kernels
 * of one signature, a folder, or a name, "matmul": NAME.tile in the folders of imports, the last of
 * which has the kernels that ship. name: the family in the file; NULL if the file has one. target:
 * as for tw_kernel_for_target; NULL: the host. Returns TW_OK; TW_NO_FILE; TW_BAD_PROGRAM with the
 * reasons as messages: a kernel does not compile, or differs from the first in its parameters or
 * `ensures`; TW_NOT_FOUND if there is no such family. The context owns the family. */
TW_API tw_status tw_family_from_file(tw_context *ctx, const char *path, const char *name,
                                     const char *target, tw_family **out);

/* Frees a family, when no thread starts it and the GPU has finished it. NULL is allowed. */
TW_API void tw_family_free(tw_family *f);

/* Returns the family's name: "matmul". */
TW_API const char *tw_family_name(const tw_family *f);

/* Returns the number of kernels, and kernel number `index` (NULL past the last). The family owns
 * them. Kernel 0 has the signature of all. */
TW_API int tw_family_kernel_count(const tw_family *f);
TW_API tw_kernel *tw_family_kernel(const tw_family *f, int index);

/* Returns the file of kernel number `index`, as the compiler found it: "kernels/matmul/waves.tile".
 * NULL past the last. The family owns the text. */
TW_API const char *tw_family_file(const tw_family *f, int index);

/* Sets a type variable. Without this call, it has its first type. Returns TW_OK, TW_BAD_ARGUMENT,
 * or TW_UNSUPPORTED after the first start. */
TW_API tw_status tw_family_type(tw_family *f, const char *name, tw_dtype type);

/* Makes the family choose for another GPU than this machine's. device: a name that tw_gpu_find knows,
 * "h100", or the driver's name of any GPU; it is the family's own device from now on. Returns TW_OK,
 * TW_BAD_ARGUMENT if that GPU does not run the family's target, or TW_UNSUPPORTED after the first
 * start. */
TW_API tw_status tw_family_device(tw_family *f, const char *device);

/* Leaves out kernels whose results may differ in their last bits from run to run (always = true):
 * those that add, exchange or compare floats by atomics, or whose blocks take turns or places by a
 * number that they draw. false, the default, takes them again. The other kernels give the same
 * bits for the same arguments on one device; another choice may give others. Returns TW_OK, or
 * TW_UNSUPPORTED after the first start. */
TW_API tw_status tw_family_same_bits(tw_family *f, bool always);

/* Adds the results of a store (tw_store_open_existing), or of a table's file. Results that are
 * added later replace earlier ones of the same variant and sizes. device: NULL for the family's own
 * device; else its results count as if they were the own device's. Returns TW_OK, TW_NO_FILE,
 * TW_BAD_PROGRAM with the line of the file, TW_UNSUPPORTED after the first start. */
TW_API tw_status tw_family_add_store(tw_family *f, tw_store *store, const char *device);
TW_API tw_status tw_family_add_table(tw_family *f, const char *path, const char *device);

/* How a choice was made. */
typedef enum tw_chosen_by {
    TW_BY_RESULT,  /* the fastest of those measured at these sizes on this device */
    TW_BY_NEAREST, /* predicted from results at the nearest sizes on this device */
    TW_BY_MODEL    /* this device has no results */
} tw_chosen_by;

/* A choice. Its texts are valid as long as the family. */
typedef struct tw_choice {
    size_t size;         /* tw_choice_init sets it */
    tw_kernel *kernel;   /* one of the family's */
    const char *variant; /* "matmul_v7 BM=64,BN=128,BK=32,STAGES=3" */
    const char *tune;    /* "BM=64,BN=128,BK=32,STAGES=3" */
    tw_chosen_by by;
    const char *device;  /* whose results were used; NULL: none, by occupancy */
    const char *nearest; /* the nearest sizes with results: "m=16,n=4096,k=4096"; NULL: none */
    double distance;     /* to these, in octaves: root of the sum of squares of log2 ratios */
    double milliseconds; /* measured, or predicted; 0: not known */
    int compared;        /* number of variants that were compared */
    const char *types;   /* of the results, if others: those of T=f16 serve T=bf16; else NULL */
} tw_choice;
TW_SIZED(tw_choice);

/* Chooses for arguments by position. Addresses may be NULL. error: NULL, or filled on failure.
 * Returns TW_OK or the statuses of tw_entry_start. Any thread. */
TW_API tw_status tw_family_choose(tw_family *f, const tw_value *arguments, int count,
                                  tw_choice *out, tw_error *error);

/* Chooses for a launch of any kernel of the family, whose sizes are known: for programs that set
 * arguments by name. */
TW_API tw_status tw_family_choose_for(tw_family *f, tw_launch *l, tw_choice *out);

/* Makes a launch of the chosen kernel, with the family's types and the choice's tuned values set;
 * the caller sets sizes and arrays. The context owns the launch. */
TW_API tw_status tw_family_launch(tw_family *f, const tw_choice *choice, tw_launch **out);

/* Chooses, compiles and loads for these arguments; does not start. Statuses of tw_entry_ready. Any
 * thread. */
TW_API tw_status tw_family_ready(tw_family *f, const tw_value *arguments, int count, void *stream,
                                 tw_error *error);

/* Starts the fastest kernel for these arguments, as tw_entry_start does. The choice for given
 * integers is made once and then found without a lock, so a warm start costs less than 0.1 µs more
 * than that of the entry. A capture refuses a choice that is not ready. Any thread. */
TW_API tw_status tw_family_start(tw_family *f, const tw_value *arguments, int count, void *stream,
                                 tw_error *error);

/* Variants that the tables name, for builds and tests: number `index` for the family's device (any
 * device: all = true). Returns false past the last. */
TW_API bool tw_family_variant(tw_family *f, int index, bool all, tw_choice *out);

/* Sizes of launches: those within all of the ranges. A size without a range may have any value. The
 * struct never changes. */
typedef struct tw_size_set {
    int count;
    const tw_size_range *ranges;
} tw_size_set;

/* The part of a family that a build ships. */
typedef struct tw_shipment {
    size_t size;   /* tw_shipment_init sets it */
    int variants;  /* to ship at most; 0: 8 */
    int set_count; /* 0: all sizes count */
    const tw_size_set *sets;
    bool unaligned; /* also versions for arrays whose addresses are not multiples of 16 */
} tw_shipment;
TW_SIZED(tw_shipment);

/* Adds a function for the family with its present types to a build: it starts the variant that is
 * the fastest at its sizes. The results of the GPU of tw_family_device, else of any GPU of the
 * family's target, choose the variants that ship: one after the other, so that over the measured
 * sizes within the sets the time is least. Without such results, those of the most similar GPU
 * choose, or the model, with a warning. The GPU of this machine does not count by itself. For the
 * host, the results of this machine's CPU choose; without them, those of the most similar CPU, or
 * the order of the family, with a warning. The function knows the order of the shipped variants at
 * the measured sizes, and at sizes between them as tw_family_choose predicts it; a launch takes the
 * order of the nearest sizes.
 *
 * A kernel with static parameters ships with the values of sets that have one value for each of them
 * (least equals most); without such a set it is left out, with a warning. Other kernels serve all
 * sizes. Call it again for other types, and with a family for another target or device: the function
 * of the same types then has the variants of both.
 *
 * b and f are of one context. Returns TW_OK; TW_BAD_ARGUMENT; TW_BAD_PROGRAM if no kernel can be
 * built, with the reasons as messages. After another status than TW_OK the build can only be
 * freed. */
TW_API tw_status tw_build_family(tw_build *b, tw_family *f, const tw_shipment *shipment);

#ifdef __cplusplus
}
#endif
#endif
