/* One factor of a product while it is emitted: for lower_dot*.c only. */
#ifndef TW_LOWER_DOT_FACTOR_H
#define TW_LOWER_DOT_FACTOR_H

#include "base/arithmetic.h"
#include "lower/lower_dot.h"

struct dot_factor {
    struct plan_source source;
    enum dtype written, type;     /* of the operand as the program has it; that the product takes */
    const struct layout *layout;  /* of the fragments */
    const struct layout *read_as; /* of what is read: another where bytes are paired */
    const struct layout *chunk;   /* read as that, chunk after chunk; NULL: all at once */
    const struct value *scratch;  /* staged: where, and how it lies there */
    const struct layout *memory;
    bool right, paired;
    const struct expr *again;    /* staged: read anew */
    int deep;                    /* paired: k of an instruction in sixteens */
    struct regtile raw;          /* in registers as it comes: of source.type */
    struct ptx_operand *element; /* of type `type`, where made */
    struct ptx_operand *word;    /* the same packed as fragments have them */
    bool *unpacked, *has_element, *has_word;
    struct ptx_operand *half; /* two to a word of 8-bit floats: its pairs as f16x2 */
    bool *has_half;
    /* Read from shared memory piece by piece. */
    bool in_pieces;
    struct shared_reader reader;
    int32_t *first; /* of piece i: its least k */
    int *order;     /* pieces by first k */
    int32_t depth;  /* k of every piece of a row, where they are one below another; else 1 */
    int read;
};

/* Reads the pieces that have any k below `end`. */
void dot_factor_read(struct lower *l, struct dot_factor *f, int32_t end);
/* How many of these are not read yet; reads so many, as far as there are any. */
int dot_factor_unread(const struct dot_factor *f, int32_t end);
void dot_factor_read_some(struct lower *l, struct dot_factor *f, int count);
/* Element `reg` of the layout; 32-bit register `index` of a fragment (64-bit elements: the
 * element). */
struct ptx_operand dot_factor_element(struct lower *l, struct dot_factor *f, int32_t reg);
struct ptx_operand dot_factor_word(struct lower *l, struct dot_factor *f, int32_t index);
/* The lower (0) or upper (1) two of the 8-bit floats in that register, as f16x2. */
struct ptx_operand dot_factor_half(struct lower *l, struct dot_factor *f, int32_t index, int which);

struct ptx_operand dot_paired_word(struct lower *l, struct dot_factor *f, int32_t index);

/* sum += a · b. from: what the sum starts from, NULL: what is in it. */
void dot_emit_mma(struct lower *l, const struct dot_plan *p, struct dot_factor *a,
                  struct dot_factor *b, const struct regtile *sum, const struct regtile *from);
void dot_emit_fma(struct lower *l, const struct dot_plan *p, struct dot_factor *a,
                  struct dot_factor *b, const struct regtile *sum, const struct regtile *from);

#endif
