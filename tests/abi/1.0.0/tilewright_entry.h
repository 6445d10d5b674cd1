/* Entries: kernels started by position, from any number of threads at once. */
#ifndef TILEWRIGHT_ENTRY_H
#define TILEWRIGHT_ENTRY_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_entry tw_entry;

/* An entry is a kernel with types and tuned values fixed, started with arguments by position from
 * any number of threads at once:
 *
 *     tw_entry_new(l, &entry);                        // l: types and tuned values, no sizes
 *     tw_value args[] = {tw_int(m), tw_int(n), tw_int(k), // as the kernel has them
 *                           tw_pointer(a), tw_pointer(b), tw_pointer(c)};
 *     tw_error error = tw_error_init();
 *     if (tw_entry_start(entry, args, 6, stream, &error) != TW_OK)
 *         fputs(error.text, stderr);
 *
 * Derived parameters (tw_param.derived) are no arguments. The last arguments may be left out if
 * their parameters have defaults.
 *
 * From the arguments follows which variant it is: values of statics, which integers are multiples
 * of 16, which addresses are. The first start of each variant compiles and loads it. Later ones
 * find it without a lock and check the arguments.
 *
 * A GPU's kernel takes a stream and one call of the driver, provided that the GPU's primary context
 * is current in the thread (a thread that has none gets it with its first start), and that the
 * kernel neither has workspace nor is cooperative. The host's kernel runs to its end, on the thread
 * that starts it and on the context's other threads where no other start has them; `stream` is
 * NULL, and TW_FAULT and the like say what the kernel did.
 *
 * Of 64 variants on, arguments that no variant was made for share one without facts about sizes and
 * addresses, for each combination of statics; at 512 in all a start that needs another is refused.
 * None is unloaded before the entry is freed: a graph may have it. */

/* The reason why one call failed. The call fills the struct that its thread gave, so threads that start
 * an entry at the same time get their own reasons. A call that succeeds leaves the struct as it is. */
typedef struct tw_error {
    size_t size; /* tw_error_init sets it */
    tw_status status;
    tw_code code;
    int line, column; /* in `file`, from 1; 0: the error has no place */
    char file[256];   /* of the kernel's text; "": no place. Cut if it is longer */
    char text[1024];  /* as tw_context_messages has it, with source lines. Cut if it is longer */
} tw_error;
TW_SIZED(tw_error);

/* Takes types and tuned values as a launch would (as set, of its arrays, else the defaults), from a
 * launch, which may change or go afterwards. The entry is compiled for itself and loaded where it
 * is first started. It belongs to the launch's context, of which it uses the threads alone:
 * `resize` of tw_config must be one that several threads may call at once. */
TW_API tw_status tw_entry_new(tw_launch *l, tw_entry **out);
TW_API void tw_entry_free(tw_entry *e); /* once no thread starts it and the GPU is done with it */

/* Starts it: on a GPU in the stream, without waiting. Each argument is checked: TW_BAD_ARGUMENT
 * where there are too few or too many, one is of another kind, does not fit its type or is no
 * address of an element (NULL: of an array that has some and is used), two arrays that must not
 * overlap (tw_launch_array) have one address, or where a size that follows from them overflows or
 * the grid is too large. The lengths of arrays are not known: that they are
 * what the views need is the caller's word. Else as tw_launch_start; a capture refuses what was not
 * started or made ready before. */
TW_API tw_status tw_entry_start(tw_entry *e, const tw_value *arguments, int count, void *stream,
                                tw_error *error);
/* All but the start, as tw_launch_ready. */
TW_API tw_status tw_entry_ready(tw_entry *e, const tw_value *arguments, int count, void *stream,
                                tw_error *error);
TW_API int tw_entry_variants(tw_entry *e); /* compiled so far */

#ifdef __cplusplus
}
#endif
#endif
