/* Fuzzes the language: random and damaged programs through the whole compiler and the CPU engine.
 *
 *     fuzz_language [SECONDS [SEED]] [FILE.tile …]   60 seconds, seed 1, kernels/, tests/parity/
 *     fuzz_language --case N [FILE.tile …]           one case again: its text, and what happens
 *     fuzz_language --show N [FILE.tile …]           the text alone
 *
 * Exit status 1 if anything was found. Build it with the address and undefined behaviour
 * sanitizers.
 */
#include "fuzz.h"

/* Writes the text of case `number`: made from the grammar, or a damaged kernel of the corpus. */
static void make_text(struct text *out, const struct corpus *c, uint64_t number)
{
    struct rng r = {number};
    struct text base;
    text_init(&base, out->arena);
    text_add(&base, "");
    bool generated = c->count == 0 || rng_chance(&r, 55);
    if (generated) {
        generate_module(&base, &r);
    } else {
        const struct sample *s = &c->samples[rng_below(&r, (int)c->count)];
        text_add_n(&base, s->text, s->length);
    }
    int how = rng_below(&r, 100);
    if (how < (generated ? 75 : 2))
        text_add_n(out, base.data, base.length);
    else if (how < 92)
        mutate_tokens(out, &r, base.data, base.length,
                      1 + rng_below(&r, rng_chance(&r, 80) ? 2 : 12));
    else
        mutate_bytes(out, &r, base.data, base.length, 1 + rng_below(&r, 8));
}

static const struct fuzz_subject language = {
    .name = "fuzz_language",
    .endings = {".tile"},
    .folders = {"kernels", "tests/parity"},
    .stages = {"not parsed", "parse", "accepted by the checker", "by all passes", "run"},
    .make = make_text,
    .run = fuzz_one};

int main(int argc, char **argv)
{
    return fuzz_main(argc, argv, &language);
}
