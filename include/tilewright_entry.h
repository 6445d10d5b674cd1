/* Entries: kernels with fixed types and tuned values, started with arguments by position from any
 * number of threads at once. Stable (docs/versions.md).
 *
 *     tw_entry_new(l, &entry); // l has types and tuned values; sizes and arrays are not needed
 *     tw_value args[] = {tw_int(m),     tw_int(n),     tw_int(k), // in the order of the parameters
 *                        tw_pointer(a), tw_pointer(b), tw_pointer(c)};
 *     tw_error error = tw_error_init();
 *     if (tw_entry_start(entry, args, 6, stream, &error) != TW_OK)
 *         fputs(error.text, stderr);
 *
 * Variants: the arguments select one by the values of statics, by which integers are multiples of
 * 16 or of 8, and by which addresses are multiples of 16. The first start of a variant compiles and
 * loads it, under a lock. Later starts find it without a lock and check the arguments. Each of the
 * first 64 combinations gets a variant of its own. Later combinations share variants that assume
 * nothing about sizes and addresses: one for each choice of statics. At 512 variants a start that
 * needs a new one is refused. A variant stays until its entry is freed, because a graph may contain
 * it.
 *
 * A GPU's kernel: `stream` is a stream of the GPU. A start is one call of the driver if the GPU's
 * primary context is current in the thread (a thread without one gets it with its first start),
 * and if the kernel is not cooperative and has no workspace.
 *
 * The host's kernel ignores `stream`. The start runs the kernel to its end on its own thread, and
 * on the context's other threads if no other start has them. After a few starts it allocates
 * nothing, unless the kernel has large workspace.
 */
#ifndef TILEWRIGHT_ENTRY_H
#define TILEWRIGHT_ENTRY_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_entry tw_entry;

/* The reason why one call failed. The call fills the struct that its thread gave, so threads that
 * start an entry at the same time get their own reasons. A call that succeeds leaves the struct
 * as it is. So does each call if `size` was not set, as in `tw_error e = {0}`: the struct then
 * counts as NULL, and the call's status is all that tells of a failure. */
typedef struct tw_error {
    size_t size; /* tw_error_init sets it */
    tw_status status;
    tw_code code;
    int line, column; /* in `file`, from 1; 0: the error has no place */
    char file[256];   /* of the kernel's text; "": no place. Cut if it is longer */
    char text[1024];  /* as tw_context_messages has it, with source lines. Cut if it is longer */
} tw_error;
TW_SIZED(tw_error);

/* Makes an entry from a launch: its types and tuned values as set, else those of its arrays, else
 * the defaults. The launch may change or be freed afterwards. The first start compiles the kernel
 * for the entry alone. The context owns the entry and lends it its threads; several threads may
 * call tw_config.resize at once. Returns TW_OK, TW_BAD_ARGUMENT, TW_BAD_PROGRAM if the expression of
 * a parameter does not compile, TW_UNSUPPORTED or TW_NO_MEMORY. */
TW_API tw_status tw_entry_new(tw_launch *l, tw_entry **out);

/* Frees an entry, when no thread starts it and the GPU has finished it. NULL is allowed. */
TW_API void tw_entry_free(tw_entry *e);

/* Starts the kernel: on a GPU in the stream, without waiting; on the host to its end. arguments:
 * `count` values, in the order of the parameters. Parameters that the launch computes
 * (tw_param.derived) have no argument, and the last arguments may be left out if their parameters
 * have defaults. error: NULL, or a struct that is filled if the call fails. Any thread.
 *
 * Returns TW_OK; TW_BAD_ARGUMENT for a wrong number of arguments, a wrong kind, a value that its
 * type cannot hold, an address that no element can have, NULL for an array that is used, equal
 * addresses of arrays that must not overlap (tw_launch_array), sizes that overflow or a grid that
 * is too large; TW_FAULT and TW_NOT_ASSUMED from the host's kernels; the statuses of
 * tw_launch_start. A capture refuses a variant that is not ready. The lengths of arrays are not
 * checked: the caller ensures that they suffice for the views. */
TW_API tw_status tw_entry_start(tw_entry *e, const tw_value *arguments, int count, void *stream,
                                tw_error *error);

/* Compiles and loads the variant that these arguments select, and does not start it. Returns the
 * statuses of tw_entry_start. Any thread. */
TW_API tw_status tw_entry_ready(tw_entry *e, const tw_value *arguments, int count, void *stream,
                                tw_error *error);

/* Returns the number of variants compiled so far. Any thread. */
TW_API int tw_entry_variants(tw_entry *e);

#ifdef __cplusplus
}
#endif
#endif
