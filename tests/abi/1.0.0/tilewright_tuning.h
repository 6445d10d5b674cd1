/* Tuning: keys, estimates, expected values, the store of results. */
#ifndef TILEWRIGHT_TUNING_H
#define TILEWRIGHT_TUNING_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one choice of tuned values was measured to be, and what it was measured for. */
typedef struct tw_tuned {
    size_t size;         /* tw_tuned_init sets it */
    const char *device;  /* "NVIDIA H200"; of the host, its description and threads if set */
    const char *kernel;  /* its name */
    const char *program; /* a hash of its text without comments and lists of tuned values */
    const char *types;   /* "T=f16" */
    /* Which sizes count as alike: "m=4096..8191/16,n=4096,k=4096". A static is itself, since the
     * program is made for it; another integer up to the next power of two, multiples of 16 ("/16")
     * apart from the rest. */
    const char *shape;
    const char *sizes;   /* as measured: "m=4096,n=4096,k=4096" */
    const char *tune;    /* "BM=128,BN=64" */
    const char *why;     /* unless TW_OK: what went wrong */
    const char *version; /* of the library that measured */
    tw_status status;    /* TW_OK, TW_WRONG_VALUES, TW_FAULT, TW_CANCELLED: it took too long, … */
    int samples;         /* measured; 0: not timed */
    double milliseconds; /* their median */
    int64_t measured;    /* when: seconds since 1970 */
} tw_tuned;
TW_SIZED(tw_tuned);

/* What this launch, whose sizes are known, would be kept under; `tune` is its choice. `device`
 * NULL: the one that the kernel is for, which needs it to be here. Texts are valid until the next
 * call on the launch. */
TW_API tw_status tw_launch_tuning_key(tw_launch *l, const char *device, tw_tuned *out);
/* The range of sizes that a tw_tuned's `shape` has for each name: the text goes on at *at.
 * divisor: 16, or 1. false: it is at its end. */
TW_API bool tw_shape_next(const char **at, char name[64], int64_t *low, int64_t *high,
                          int *divisor);

typedef struct tw_estimate {
    size_t size;          /* tw_estimate_init sets it */
    int64_t shared_bytes; /* of a block; 0 for the host, as are registers and resident */
    int threads;          /* of a block */
    int registers;        /* of a thread, as the compiler expects them of the assembler */
    int64_t blocks;       /* of the grid; 0: not known */
    int resident;         /* blocks that a multiprocessor holds at the same time */
    double cost;          /* lower for what is likely to be faster; no unit */
    uint64_t program;     /* equal for launches that compile to the same program and grid */
} tw_estimate;
TW_SIZED(tw_estimate);
/* Compiles the launch as far as that goes without a GPU, and without arrays. multiprocessors: of
 * the GPU, 0: not known. TW_BAD_PROGRAM: the target does not take it, the messages say why. */
TW_API tw_status tw_launch_estimate(tw_launch *l, int multiprocessors, tw_estimate *out);

/* What `ensures` says for one set of inputs, to judge many variants by: the first
 * tw_launch_verify_by works it out (whatever its verdict), later ones only compare. The inputs must
 * stay as they are. Freed by tw_expected_free, or with the context. */
typedef struct tw_expected tw_expected;
TW_API tw_status tw_expected_new(tw_context *ctx, tw_expected **out);
TW_API void tw_expected_free(tw_expected *e);
/* As tw_launch_verify. */
TW_API tw_status tw_launch_verify_by(tw_launch *l, tw_expected *e, tw_verdict *verdict);

/* A store of results: an SQLite file, which any number of processes may use at the same time. The
 * SQLite library is looked for when a store is opened ($TILEWRIGHT_SQLITE, then the usual names);
 * nothing else needs it. */
typedef struct tw_store tw_store;
/* path NULL: $TILEWRIGHT_STORE, else tilewright/tuned.db in $XDG_DATA_HOME or ~/.local/share. Made
 * if there is none; where path is NULL, with its folder. TW_UNSUPPORTED: no SQLite; TW_NO_FILE: it
 * cannot be opened, or is none of ours; the messages say what to do. */
TW_API tw_status tw_store_open(tw_context *ctx, const char *path, tw_store **out);
/* For looking things up: makes nothing. Also TW_NO_FILE: there is no such file; TW_NOT_FOUND: path
 * is NULL, and there is none yet. */
TW_API tw_status tw_store_open_existing(tw_context *ctx, const char *path, tw_store **out);
TW_API void tw_store_close(tw_store *s); /* NULL is fine */
TW_API const char *tw_store_path(const tw_store *s);
/* Adds what was measured, durably, in place of what is there for the same device, kernel, program,
 * types, sizes and tuned values. Missing texts are ""; `version` and `measured` are filled in. */
TW_API tw_status tw_store_put(tw_store *s, const tw_tuned *row);
/* Finds the rows with the texts of the filter that are not NULL (its other members are not looked
 * at); filter NULL: all. Those that are TW_OK before others, faster ones first, by device, kernel,
 * program, types, shape and sizes. */
TW_API tw_status tw_store_find(tw_store *s, const tw_tuned *filter, int *count);
/* The index-th of the latest tw_store_find; NULL past the last. Valid until the next one. */
TW_API const tw_tuned *tw_store_at(const tw_store *s, int index);
/* Deletes the rows that tw_store_find would find. */
TW_API tw_status tw_store_forget(tw_store *s, const tw_tuned *filter, int *count);

/* Gives the launch, whose sizes are known, the fastest tuned values that are stored for its device
 * (as in tw_launch_tuning_key), program, types and class of shapes; measured by this version of the
 * library and at the same sizes if there are such, else at the latest ones. Values that were set by
 * tw_launch_tune stay. nearest: where nothing is known of the class, the class nearest to it
 * serves. TW_NOT_FOUND: nothing is stored. *taken (may be NULL): the row, valid until the next call
 * on the store. */
TW_API tw_status tw_launch_tuned(tw_launch *l, tw_store *s, const char *device, bool nearest,
                                 tw_tuned *taken);

#ifdef __cplusplus
}
#endif
#endif
