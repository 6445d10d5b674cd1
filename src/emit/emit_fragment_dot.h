/* Products of tile-level kernels: for emit_fragment_dot.c, _factor.c and _fma.c only. */
#ifndef TW_EMIT_FRAGMENT_DOT_H
#define TW_EMIT_FRAGMENT_DOT_H

#include "emit/emit_fragment.h"

/* An instruction that reads a part of a factor from shared memory. */
struct emit_piece {
    int32_t reg;                 /* its first register */
    int32_t first;               /* the least k that it brings */
    struct thread_operand group; /* as it was loaded */
};
/* The piece that loads a register, and the register's element in it. */
struct emit_spot {
    int32_t piece, element;
};

/* A factor while its product is emitted. */
struct emit_factor {
    struct plan_source source;
    enum dtype written, type; /* types: of the operand in the program; of the product's factors */
    bool right, paired;
    bool halved;         /* an instruction takes half of a fragment */
    int deep;            /* paired: k of an instruction, divided by 16 */
    int32_t each;        /* registers of a fragment */
    struct fragment raw; /* of source.type, as loaded; in pieces: only its layout and its count */
    /* The fragments as the product takes them, by number; without a value: not made yet. half: two of each, if halved. */
    struct thread_operand *made, *half;
    /* Read from shared memory piece by piece: */
    struct shared_way way;
    struct emit_piece *pieces; /* by first k */
    struct emit_spot *spots;   /* by register */
    int count, read;           /* of the pieces; no pieces: raw is complete */
    /* steps of k of a piece, if the left factor's pieces of the same k come row by row; else 1 */
    int32_t depth;
    bool chunked;       /* raw has the registers of one chunk of k */
    struct scalar when; /* bool: pieces are read if it is true */
};

/* --- emit_fragment_factor.c --- */

/* Returns how many neighbouring elements of a row are one value of the sums, and one fragment of the right factor. */
int32_t emit_fma_together(const struct dot_plan *p);
/* Returns the left (0) or the right (1) factor, with nothing of it read. */
struct emit_factor emit_factor_of(const struct dot_plan *p, int side);
/* Makes both factors ready to be read. Returns how many of them are in scratch, until the product is done. */
int emit_open_factors(struct emit *m, const struct dot_plan *p, struct emit_factor f[2]);
/* Prepares a factor of which no fragment is made yet. */
void emit_factor_start(struct emit *m, struct emit_factor *f);
/* Returns how many pieces whose least k is below `end` are not read yet. */
int emit_factor_unread(const struct emit_factor *f, int32_t end);
/* Reads the pieces whose least k is below `end`. */
void emit_factor_read_below(struct emit *m, struct emit_factor *f, int32_t end);
/* Reads the next `count` pieces. */
void emit_factor_read(struct emit *m, struct emit_factor *f, int count);
/* Returns fragment `index`, which has `count` registers, as the product takes it: one value. */
struct thread_operand emit_factor_fragment(struct emit *m, struct emit_factor *f, int32_t index,
                                           int32_t count);
/* Returns the layout of the transposed tile. */
const struct layout *emit_turned(struct emit *m, const struct layout *l);

/* --- emit_fragment_fma.c --- */

/* sums += a · b by multiply-adds. */
void emit_dot_fma(struct emit *m, const struct dot_plan *p, struct emit_factor *a,
                  struct emit_factor *b, struct thread_operand *sums);

#endif
