/* The fuzzers' parts.
 *
 *   fuzz_driver.c    workers, watchdog, statistics
 *   fuzz_language.c  programs of the language, whole
 *   fuzz_generate.c  random modules from the grammar, most of them well typed
 *   fuzz_expr.c      their expressions
 *   fuzz_mutate.c    damaged copies of texts, by token and by byte
 *   fuzz_pipeline.c  the steps that a text goes through, and their invariants
 *   fuzz_ptx.c       PTX, through the parser and the simulator; fuzz_ptx_mutate.c: damaged copies */
#ifndef TW_FUZZ_H
#define TW_FUZZ_H

#include "base/text.h"

/* splitmix64: every case begins with a seed of its own, so that one number reproduces it. */
struct rng {
    uint64_t state;
};
uint64_t rng_next(struct rng *r);
int rng_below(struct rng *r, int n); /* 0 … n-1 */
bool rng_chance(struct rng *r, int percent);

struct sample {
    char *text;
    size_t length;
};
struct corpus {
    struct sample *samples;
    size_t count;
};

enum { FUZZ_STAGES = 6, FUZZ_FOLDERS = 6 };

/* The subject of a fuzzer. */
struct fuzz_subject {
    const char *name;                  /* of the program */
    const char *endings[2];            /* endings of the corpus's files; the second may be NULL */
    const char *folders[FUZZ_FOLDERS]; /* their folders; NULL at the end */
    const char *stages[FUZZ_STAGES];   /* the stages that a text reaches; NULL at the end */
    /* Writes the text of case `number`: the same for the same number and corpus. */
    void (*make)(struct text *out, const struct corpus *c, uint64_t number);
    /* Runs the text to the last stage that it reaches, and returns that stage. Aborts with a
     * message on standard error if an invariant is broken. */
    int (*run)(const char *text, size_t n);
};
int fuzz_main(int argc, char **argv, const struct fuzz_subject *subject);

/* The stage that a program of the language reached. */
enum reached { NOT_PARSED, PARSED, CHECKED, PASSED, RAN };

/* Takes a text through all stages: parse, check, passes, print and parse again, run. */
int fuzz_one(const char *text, size_t n);

void generate_module(struct text *out, struct rng *r);
void mutate_tokens(struct text *out, struct rng *r, const char *text, size_t n, int edits);
void mutate_lines(struct text *out, struct rng *r, const char *text, size_t n, int edits,
                  const struct corpus *others);
void mutate_bytes(struct text *out, struct rng *r, const char *text, size_t n, int edits);

#endif
