/* The blocks of a product in tile registers (Intel AMX). The file that includes this header defines
 * operations on the tiles 0 to 7, whose numbers are constants:
 *
 *   TILES_OPEN(config) TILES_CLOSE()          begin and end the use of tiles in this thread
 *   TILES_ZERO(t) TILES_LOAD(t, at, step) TILES_STORE(t, at, step)    step: bytes from row to row
 *   TILES_I8_I8(c, a, b) …                    add the product of tiles a and b to tile c, by the
 *   TILES_BF16(c, a, b)                       types of their elements (enum tiles_kind)
 *   TILES_PUT                                 stores sums of f32 as 16 bits (put_block_fn)
 *
 * Tiles have 16 rows of 64 bytes, but tiles of sums and of a have as few rows as a product with
 * fewer, which then takes less time. A tile of sums has 16 columns. A tile of a has 16 rows with 16
 * groups of steps of k each; a tile of b has 16 groups of 16 columns. Groups have 4 bytes, and
 * operands are packed as for the blocks of vector registers (dot_int8.c, dot_bf16.c). A block has 2
 * by 2 tiles of sums, so each tile of a and of b that is loaded is used twice:
 *
 *                       6  7
 *                       b  b
 *            4  a       0  1
 *            5  a       2  3
 *
 * At the edges of a product, tiles are copied to or from memory of the routine's own. There the
 * groups beyond the edges are 0, so they add nothing, and no element beyond an edge is read or
 * written. One function serves all types, because an instruction on tiles takes at least 16 cycles,
 * in which branches that are predicted cost nothing. */
#ifndef TW_ROUTINES_DOT_TILES_H
#define TW_ROUTINES_DOT_TILES_H

#include "cpu/routines/routines_dot_lines.h"

#include <string.h>

enum { TILE_ROWS = 16, TILE_BYTES = 64, TILE_GROUPS = TILE_BYTES / 4, TILES_WIDTH = 32 };

/* The operand of LDTILECFG: palette 1 has eight tiles of at most 16 rows of 64 bytes (Intel SDM). */
struct tiles_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static const struct tiles_config all_whole_tiles = {
    .palette = 1,
    .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

struct tile_copy {
    _Alignas(TILE_BYTES) unsigned char row[TILE_ROWS][TILE_BYTES];
};

/* Copies `rows` rows of `groups` groups, and fills the rest of the tile with 0. */
static APART void tile_copy_in(struct tile_copy *to, const void *from, size_t step, size_t rows,
                               size_t groups)
{
    const unsigned char *at = from;
    memset(to, 0, sizeof *to);
    for (size_t i = 0; i < rows; i++, at += step)
        memcpy(to->row[i], at, groups * 4);
}

static APART void tile_copy_out(void *to, size_t step, size_t rows, size_t groups,
                                const struct tile_copy *from)
{
    unsigned char *at = to;
    for (size_t i = 0; i < rows; i++, at += step)
        memcpy(at, from->row[i], groups * 4);
}

/* Returns how many of `count` are in the tile that begins at `at`. */
static inline size_t in_tile(size_t count, size_t at)
{
    return count <= at ? 0 : count - at < TILE_ROWS ? count - at : TILE_ROWS;
}

/* Loads a tile of `all` rows, of which rows × groups elements are inside. */
#define TILE_FETCH(t, at, step, rows, all, groups)                                                 \
    do {                                                                                           \
        const bool whole = (rows) == (all) && (groups) == TILE_GROUPS;                             \
        if (!whole)                                                                                \
            tile_copy_in(&copy, at, step, rows, groups);                                           \
        TILES_LOAD(t, whole ? (const void *)(at) : &copy, whole ? (step) : TILE_BYTES);            \
    } while (0)

#define TILE_PUT(t, at, step, rows, all, columns)                                                  \
    do {                                                                                           \
        const bool whole = (rows) == (all) && (columns) == TILE_GROUPS;                            \
        TILES_STORE(t, whole ? (void *)(at) : &copy, whole ? (step) : TILE_BYTES);                 \
        if (!whole)                                                                                \
            tile_copy_out(at, step, rows, columns, &copy);                                         \
    } while (0)

#define TILES_MULTIPLY(kind, c, a, b)                                                              \
    switch (kind) {                                                                                \
    case TILES_OF_I8_I8: TILES_I8_I8(c, a, b); break;                                              \
    case TILES_OF_I8_U8: TILES_I8_U8(c, a, b); break;                                              \
    case TILES_OF_U8_I8: TILES_U8_I8(c, a, b); break;                                              \
    case TILES_OF_U8_U8: TILES_U8_U8(c, a, b); break;                                              \
    case TILES_OF_BF16: TILES_BF16(c, a, b); break;                                                \
    }

/* The types of the elements of a and of b. Sums are 32-bit integers, or f32. */
enum tiles_kind { TILES_OF_I8_I8, TILES_OF_I8_U8, TILES_OF_U8_I8, TILES_OF_U8_U8, TILES_OF_BF16 };

/* A block of sums. Rows and columns: of the upper and the lower tiles, of the left and the right
 * ones; the second may be 0. */
struct tiles_block {
    size_t rows[2], columns[2];
    size_t all_rows; /* of tiles of sums and of a: 16, or those of the product if it has fewer */
    unsigned char *out;
    const unsigned char *c;
    size_t out_step, c_step; /* bytes from row to row */
};

/* Loads the sums to begin with. */
static void tiles_begin(const struct tiles_block *t, bool fresh)
{
    struct tile_copy copy;
    const unsigned char *lower = t->c + TILE_ROWS * t->c_step;
    TILES_ZERO(0);
    TILES_ZERO(1);
    TILES_ZERO(2);
    TILES_ZERO(3);
    if (fresh)
        return;
    TILE_FETCH(0, t->c, t->c_step, t->rows[0], t->all_rows, t->columns[0]);
    if (t->columns[1])
        TILE_FETCH(1, t->c + TILE_BYTES, t->c_step, t->rows[0], t->all_rows, t->columns[1]);
    if (t->rows[1])
        TILE_FETCH(2, lower, t->c_step, t->rows[1], t->all_rows, t->columns[0]);
    if (t->rows[1] && t->columns[1])
        TILE_FETCH(3, lower + TILE_BYTES, t->c_step, t->rows[1], t->all_rows, t->columns[1]);
}

static void tiles_end(const struct tiles_block *t)
{
    struct tile_copy copy;
    unsigned char *lower = t->out + TILE_ROWS * t->out_step;
    TILE_PUT(0, t->out, t->out_step, t->rows[0], t->all_rows, t->columns[0]);
    if (t->columns[1])
        TILE_PUT(1, t->out + TILE_BYTES, t->out_step, t->rows[0], t->all_rows, t->columns[1]);
    if (t->rows[1])
        TILE_PUT(2, lower, t->out_step, t->rows[1], t->all_rows, t->columns[0]);
    if (t->rows[1] && t->columns[1])
        TILE_PUT(3, lower + TILE_BYTES, t->out_step, t->rows[1], t->all_rows, t->columns[1]);
}

/* Adds k groups to the sums in tiles. lda, ldb: bytes from row to row. */
static void tiles_add(enum tiles_kind kind, const struct tiles_block *t, const unsigned char *a,
                      size_t lda, const unsigned char *b, size_t ldb, size_t k)
{
    struct tile_copy copy;
    const bool tall = t->rows[1] > 0, wide = t->columns[1] > 0;
    for (size_t p = 0; p < k; p += TILE_GROUPS, a += TILE_BYTES, b += TILE_GROUPS * ldb) {
        const size_t groups = in_tile(k, p);
        TILE_FETCH(6, b, ldb, groups, TILE_ROWS, t->columns[0]);
        TILE_FETCH(4, a, lda, t->rows[0], t->all_rows, groups);
        TILES_MULTIPLY(kind, 0, 4, 6);
        if (wide) {
            TILE_FETCH(7, b + TILE_BYTES, ldb, groups, TILE_ROWS, t->columns[1]);
            TILES_MULTIPLY(kind, 1, 4, 7);
        }
        if (tall) {
            TILE_FETCH(5, a + TILE_ROWS * lda, lda, t->rows[1], t->all_rows, groups);
            TILES_MULTIPLY(kind, 2, 5, 6);
        }
        if (tall && wide)
            TILES_MULTIPLY(kind, 3, 5, 7);
    }
}

/* Turns sums of -0 into 0. */
static void tiles_settle(unsigned char *sums, size_t step, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++, sums += step)
        for (size_t j = 0; j < columns; j++)
            ((float *)(void *)sums)[j] += 0;
}

/* Computes as a dot_fn does. Panels of b have TILES_WIDTH columns. */
static void tiles_dot(enum tiles_kind kind, void *c, const void *a, const void *b, size_t m,
                      size_t n, size_t k, const struct dot_strides *s)
{
    const size_t panels = (n + TILES_WIDTH - 1) / TILES_WIDTH, most = 2 * TILE_ROWS;
    const bool puts = s->out_type != OUT_SUMS;
    _Alignas(TILE_BYTES) float full[2 * TILE_ROWS * TILES_WIDTH]; /* sums that TILES_PUT stores */
    struct tiles_block t = {.c_step = s->c * 4,
                            .out_step = 4 * (puts     ? TILES_WIDTH
                                             : s->out ? s->out_step
                                                      : s->c)};
    struct tiles_config config = all_whole_tiles;
    t.all_rows = in_tile(m, 0);
    config.rows[0] = config.rows[1] = config.rows[4] = (uint8_t)t.all_rows;
    if (m == 0)
        return;
    TILES_OPEN(&config);
    for (size_t x = dot_next_panel(s, panels, SIZE_MAX); x < panels;
         x = dot_next_panel(s, panels, x)) {
        const size_t j = x * TILES_WIDTH, columns = n - j < TILES_WIDTH ? n - j : TILES_WIDTH;
        const unsigned char *panel = (const unsigned char *)b + x * s->panel * 4;
        for (size_t at = 0; at < m; at += most) {
            for (size_t i = 0; i < 2; i++) {
                t.rows[i] = in_tile(m, at + i * TILE_ROWS);
                t.columns[i] = in_tile(columns, i * TILE_GROUPS);
            }
            t.c = (const unsigned char *)c + at * t.c_step + j * 4;
            t.out = puts ? (unsigned char *)full
                         : (unsigned char *)(s->out ? s->out : c) + at * t.out_step + j * 4;
            tiles_begin(&t, s->fresh);
            tiles_add(kind, &t, (const unsigned char *)a + at * s->a * 4, s->a * 4, panel, s->b * 4,
                      k);
            tiles_end(&t);
            if (s->settled && kind == TILES_OF_BF16)
                tiles_settle(t.out, t.out_step, t.rows[0] + t.rows[1], columns);
            if (puts)
                TILES_PUT((uint16_t *)s->out + at * s->out_step + j, s->out_step, full, TILES_WIDTH,
                          t.rows[0] + t.rows[1], columns, s->out_type == OUT_BF16);
        }
    }
    TILES_CLOSE();
}

#endif
