/* Tuning: keys, estimates, expected values, the store of results. May change with a minor version
 * (docs/versions.md). */
#ifndef TILEWRIGHT_TUNING_H
#define TILEWRIGHT_TUNING_H

#include "tilewright_entry.h"
#include "tilewright_gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of measuring one choice of tuned values, and the device, kernel and sizes that it
 * was measured for. */
typedef struct tw_tuned {
    size_t size;         /* tw_tuned_init sets it */
    const char *device;  /* "NVIDIA H200"; for the host its description, with the threads if set */
    const char *kernel;  /* the kernel's name */
    const char *program; /* a hash of the text without comments and lists of tuned values */
    const char *types;   /* "T=f16" */
    /* The class of sizes: "m=4096..8191/16,n=4096,k=4096". A static is itself, because the program is
     * made for it. Another integer goes up to the next power of two; multiples of 16 ("/16") are a class
     * of their own. */
    const char *shape;
    const char *sizes;   /* as measured: "m=4096,n=4096,k=4096" */
    const char *tune;    /* "BM=128,BN=64" */
    const char *why;     /* the error, unless the status is TW_OK */
    const char *version; /* of the library that measured */
    tw_status status; /* TW_OK, TW_WRONG_VALUES, TW_FAULT, TW_CANCELLED (it took too long), … */
    int samples;      /* number of measurements; 0: not timed */
    double milliseconds; /* their median */
    int64_t measured;    /* time of the measurement: seconds since 1970 */
} tw_tuned;
TW_SIZED(tw_tuned);

/* Fills `out` with the key under which results of this launch are stored. The launch's sizes must
 * be known; `tune` is its choice. device: NULL for the kernel's device, which must then be
 * present. Texts are valid until the next call on the launch. Returns TW_OK, TW_UNSUPPORTED (no
 * such device) or TW_BAD_ARGUMENT. */
TW_API tw_status tw_launch_tuning_key(tw_launch *l, const char *device, tw_tuned *out);

/* Reads the next range of sizes of a tw_tuned's `shape`. *at: the rest of the text. divisor: 16
 * or 1. Returns false at the end. Any thread. */
TW_API bool tw_shape_next(const char **at, char name[64], int64_t *low, int64_t *high,
                          int *divisor);

/* A launch's cost, estimated without a GPU. */
typedef struct tw_estimate {
    size_t size;          /* tw_estimate_init sets it */
    int64_t shared_bytes; /* of a block; for the host 0, as are registers and resident */
    int threads;          /* of a block */
    int registers;        /* of a thread, as the compiler expects them from the assembler */
    int64_t blocks;       /* of the grid; 0: not known */
    int resident;         /* blocks that a multiprocessor holds at the same time */
    double cost;          /* lower for a launch that is probably faster; no unit */
    uint64_t program;     /* equal for launches that compile to the same program and grid */
} tw_estimate;
TW_SIZED(tw_estimate);

/* Compiles a launch up to the point where it needs a GPU, and fills `out`. Arrays may be missing.
 * If only sizes have changed since the launch's latest estimate, and the program is the same, it
 * compiles nothing. multiprocessors: of the GPU; 0: not known. Returns TW_OK, or TW_BAD_PROGRAM
 * with the reason if the target refuses the program. */
TW_API tw_status tw_launch_estimate(tw_launch *l, int multiprocessors, tw_estimate *out);

/* Makes a GPU's entry ready for these arguments, as tw_entry_ready does, and fills `out` with the
 * occupancy of the kernel that they select. *workspace_bytes: the workspace of a start with these
 * arguments, of which the entry keeps the largest so far for each stream. Returns the statuses of
 * tw_entry_start; TW_UNSUPPORTED for the host's kernels. Any thread. */
TW_API tw_status tw_entry_occupancy(tw_entry *e, const tw_value *arguments, int count, void *stream,
                                    tw_occupancy *out, int64_t *workspace_bytes, tw_error *error);

/* The values that `ensures` gives for one set of inputs, to judge many variants. */
typedef struct tw_expected tw_expected;

/* Makes expected values, empty. The first tw_launch_verify_by fills them, whatever its verdict;
 * later calls only compare. The inputs must not change. The context owns them. */
TW_API tw_status tw_expected_new(tw_context *ctx, tw_expected **out);

/* Frees expected values. NULL is allowed. */
TW_API void tw_expected_free(tw_expected *e);

/* Verifies a launch as tw_launch_verify does, with kept expected values. */
TW_API tw_status tw_launch_verify_by(tw_launch *l, tw_expected *e, tw_verdict *verdict);

/* A store of results: an SQLite file, which any number of processes may use at the same time.
 * Opening a store loads the SQLite library ($TILEWRIGHT_SQLITE, then the usual names); nothing
 * else needs it. */
typedef struct tw_store tw_store;

/* Opens a store, or makes it. path: NULL for $TILEWRIGHT_STORE, else tilewright/tuned.db in
 * $XDG_DATA_HOME or ~/.local/share, with its folder. Returns TW_OK; TW_UNSUPPORTED without
 * SQLite; TW_NO_FILE if the file cannot be opened or is not a store. The messages give the way
 * out. The context owns the store. */
TW_API tw_status tw_store_open(tw_context *ctx, const char *path, tw_store **out);

/* Opens a store to look things up, and makes nothing. Returns the statuses of tw_store_open;
 * TW_NO_FILE also if there is no such file; TW_NOT_FOUND if path is NULL and no store exists yet.
 */
TW_API tw_status tw_store_open_existing(tw_context *ctx, const char *path, tw_store **out);

/* Closes a store. NULL is allowed. */
TW_API void tw_store_close(tw_store *s);

/* Returns the path of a store. */
TW_API const char *tw_store_path(const tw_store *s);

/* Adds a result durably. It replaces the one for the same device, kernel, program, types, sizes
 * and tuned values. Texts that are NULL are stored as ""; `version` and `measured` are filled in.
 * Returns TW_OK or TW_NO_FILE. */
TW_API tw_status tw_store_put(tw_store *s, const tw_tuned *row);

/* Adds `count` results durably, in one transaction: all of them, or on a failure none. It takes
 * about as long as tw_store_put takes for one result. Returns the statuses of tw_store_put. */
TW_API tw_status tw_store_put_all(tw_store *s, const tw_tuned *const *rows, int count);

/* Finds the results whose texts equal those of the filter that are not NULL; other members of the
 * filter have no effect. filter: NULL for all. Results that are TW_OK come first, then faster
 * ones, by device, kernel, program, types, shape and sizes. *count: their number. Returns TW_OK
 * or TW_NO_FILE. */
TW_API tw_status tw_store_find(tw_store *s, const tw_tuned *filter, int *count);

/* Returns result number `index` of the latest tw_store_find, or NULL past the last. Valid until
 * the next tw_store_find. */
TW_API const tw_tuned *tw_store_at(const tw_store *s, int index);

/* Deletes the results that tw_store_find would find. *count: their number; may be NULL. Returns
 * TW_OK or TW_NO_FILE. */
TW_API tw_status tw_store_forget(tw_store *s, const tw_tuned *filter, int *count);

/* Gives a launch, whose sizes are known, the fastest tuned values that are stored for its device,
 * program, types and class of sizes. Results of this version at the same sizes come first, then
 * the latest. Values set by tw_launch_tune stay. device: as for tw_launch_tuning_key. nearest:
 * takes the nearest class of sizes if the launch's own has no result. *taken: the result; may be
 * NULL; its texts are valid until the next call on the store. Returns TW_OK, TW_NOT_FOUND if
 * nothing is stored, or the statuses of tw_launch_tuning_key. */
TW_API tw_status tw_launch_tuned(tw_launch *l, tw_store *s, const char *device, bool nearest,
                                 tw_tuned *taken);

/* Chooses at most `most` variants for a table, one after the other, so that the best of them is
 * nearest to the best of all. times: sizes * variants numbers, the times of all variants at the
 * first size, then those at the second; 0: not measured. A size at which no chosen variant has a
 * time counts as 16 times the best. chosen: receives the variants, room for `most`. loss: receives
 * the time of the best chosen one divided by that of the best of all, as the geometric mean over
 * the sizes; may be NULL. Returns the number of chosen variants: fewer than `most` if others would
 * not help. Any thread. */
TW_API int tw_choose_variants(const float *times, int sizes, int variants, int most, int *chosen,
                              double *loss);

#ifdef __cplusplus
}
#endif
#endif
