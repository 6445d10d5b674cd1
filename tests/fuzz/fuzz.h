/* The language fuzzer's parts.
 *
 *   fuzz_language.c  the driver: workers, watchdog, statistics
 *   fuzz_generate.c  random modules from the grammar, most of them well typed; fuzz_expr.c: their expressions
 *   fuzz_mutate.c    damaged copies of texts, by token and by byte
 *   fuzz_pipeline.c  what is done with a text, and what must hold
 */
#ifndef TW_FUZZ_H
#define TW_FUZZ_H

#include "base/text.h"

/* splitmix64: every case begins from a seed of its own, so that one number reproduces it. */
struct rng {
    uint64_t state;
};
uint64_t rng_next(struct rng *r);
int rng_below(struct rng *r, int n); /* 0 … n-1 */
bool rng_chance(struct rng *r, int percent);

/* How far a text came. */
enum reached { NOT_PARSED, PARSED, CHECKED, PASSED, RAN, REACHED_COUNT };

/* Takes a text through everything there is: parse, check, passes, print and parse again, run. Aborts with a message on
 * standard error when something does not hold that always must. */
enum reached fuzz_one(const char *text, size_t n);

void generate_module(struct text *out, struct rng *r);
void mutate_tokens(struct text *out, struct rng *r, const char *text, size_t n, int edits);
void mutate_bytes(struct text *out, struct rng *r, const char *text, size_t n, int edits);

#endif
