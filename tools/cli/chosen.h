/* Takes a family where a command takes a kernel: chooses one of its kernels, and tuned values, for
 * given sizes. After the choice the program is that of the chosen kernel, in its own file. */
#ifndef TW_CHOSEN_H
#define TW_CHOSEN_H

#include "cli/json.h"
#include "cli/settings.h"

/* A choice; all zero: the command line names a kernel, so there is none. Its texts are its own. */
struct chosen {
    tw_family *family; /* for the target; the context owns it */
    tw_kernel *any; /* one of its kernels that takes the types, for a launch that gives the sizes */
    char *own;      /* the device that the choice is for, in words */
    char *variant;  /* "matmul_v6 BM=128,BN=128"; NULL: not chosen yet */
    char *kernel, *tune, *types; /* "matmul_v6", "BM=128,BN=128", "T=f16" */
    tw_chosen_by by;
    char *device, *nearest; /* as in tw_choice; NULL: none */
    char *result_types;     /* those of the results, if others: "T=f16" for T=bf16; else NULL */
    char *by_hand;          /* values of --tune, which replace those of the choice; NULL: none */
    double distance, milliseconds;
    int compared;
};

/* Loads the family that the program names for a target (NULL: the CPU), with the types of --type,
 * the results of the user's store and --same-bits, and checks the names of --set, --tune and --type. gpu: the
 * GPU of the model's table that the choice is for; NULL: this machine's. Returns STATUS_OK, or
 * another status after printing a message. The caller calls chosen_free in either case. */
int chosen_begin(struct chosen *c, const struct program *p, const struct options *o,
                 const char *target, const char *gpu);
/* Adds the results of the user's store (--store), if there is one, to the family. Returns STATUS_OK,
 * or another status after printing a message. */
int chosen_add_store(tw_family *f, const struct program *p, const struct options *o);
/* Refuses options that are for a family alone. */
int chosen_refuse(const struct program *p, const struct options *o);
/* Chooses for the sizes and types of a launch of c->any, and reopens the program. Returns
 * STATUS_OK, or another status after printing a message. */
int chosen_take(struct chosen *c, struct program *p, tw_launch *sizes);
/* Gives a launch of the chosen kernel the types and tuned values of the choice. Returns STATUS_OK,
 * or another status after printing a message. Without a choice, does nothing. */
int chosen_apply(const struct chosen *c, const struct program *p, tw_launch *l);
/* Takes the values of --tune, after checking that the chosen kernel has each name; other kernels of the
 * family may have others. Returns STATUS_OK, or another status after printing a message. */
int chosen_has_tuned(struct chosen *c, const struct program *p, const struct options *o,
                     tw_kernel *k);
/* Returns the choice and its reason in one line, "matmul_v6 BM=128,BN=128, 0.0117 ms at these sizes
 * on NVIDIA H200". The caller frees. */
char *chosen_text(const struct chosen *c);
/* Writes the key "chosen": kernel, tune, types, by ("result", "nearest", "model"), device, nearest,
 * distance, milliseconds, compared, result_types, by_hand. Without a choice, writes nothing. */
void chosen_json(const struct chosen *c, struct json *j);
void chosen_free(struct chosen *c);

#define OPTION_SAME_BITS                                                                           \
    {                                                                                              \
        .name = "same-bits",                                                                       \
        .help = "of a family: leave out kernels whose results may differ in their last bits\n"     \
                "from run to run, because they add floats by atomics"                              \
    }

#endif
