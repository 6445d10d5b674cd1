/* Matrices between memory and registers: ldmatrix, stmatrix, movmatrix, wmma.load, wmma.store. PTX
 * ISA, "Warp-level matrix …". The shapes of sm_100 with elements of 8 and fewer bits are not
 * simulated.
 *
 * ldmatrix and stmatrix move matrices of 8 rows of 16 bytes; for each matrix, eight lanes supply
 * the addresses of the rows. In registers a matrix of 16-bit elements is one word in each lane:
 * lane 4 r + c has elements 2 c and 2 c + 1 of row r, or, with .trans, of column r. */
#include "sim/sim_own.h"

#include <string.h>

enum { ROW_BYTES = 16, ROWS = 8, WORDS = 4, MOST_MATRICES = 4 };

/* Transposes a matrix of 16-bit elements. */
static void transpose(uint32_t words[SIM_LANES])
{
    uint16_t from[ROWS][ROWS], to[ROWS][ROWS];
    memcpy(from, words, sizeof from);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < ROWS; c++)
            to[c][r] = from[r][c];
    memcpy(words, to, sizeof to);
}

/* Finds the lanes that supply addresses; all of them must have arrived. */
static bool suppliers(struct sim_warp *w, const struct sim_op *op, uint32_t mask, uint32_t *lanes)
{
    *lanes = op->small == MOST_MATRICES ? SIM_ALL : (1u << ROWS * op->small) - 1;
    if (!sim_gather_all(w, op, mask))
        return false;
    if ((mask & *lanes) == *lanes)
        return true;
    return sim_stop(w, op,
                    "a warp of fewer than 32 threads lacks lanes that give addresses of rows");
}

/* small: matrices; small2: .trans; more: a register for each matrix */
static bool load_matrices(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct sim_want want = {.kind = SIM_READ,
                                  .bytes = ROW_BYTES,
                                  .alignment = ROW_BYTES,
                                  .matrix = SIM_LDMATRIX,
                                  .matrices = op->small};
    uint8_t *host[SIM_LANES];
    uint32_t loaded[MOST_MATRICES][SIM_LANES], lanes;
    if (!suppliers(w, op, mask, &lanes) || !sim_reach(w, op, lanes, &want, host))
        return false;
    for (int m = 0; m < op->small; m++) {
        for (int r = 0; r < ROWS; r++)
            memcpy(&loaded[m][WORDS * r], host[ROWS * m + r], ROW_BYTES);
        if (op->small2)
            transpose(loaded[m]);
    }
    for (int m = 0; m < op->small; m++)
        memcpy(sim_u32(w->file, op->more[m]), loaded[m], sizeof loaded[m]);
    return true;
}

static bool store_matrices(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t stored[MOST_MATRICES][SIM_LANES], lanes;
    const uint8_t *value[SIM_LANES] = {0};
    const struct sim_want want = {.kind = SIM_WRITE,
                                  .bytes = ROW_BYTES,
                                  .alignment = ROW_BYTES,
                                  .matrix = SIM_STMATRIX,
                                  .matrices = op->small,
                                  .value = value};
    uint8_t *host[SIM_LANES];
    for (int m = 0; m < op->small; m++) {
        memcpy(stored[m], sim_u32(w->file, op->more[m]), sizeof stored[m]);
        if (op->small2)
            transpose(stored[m]);
        for (int r = 0; r < ROWS; r++)
            value[ROWS * m + r] = (const uint8_t *)&stored[m][WORDS * r];
    }
    if (!suppliers(w, op, mask, &lanes) || !sim_reach(w, op, lanes, &want, host))
        return false;
    for (int i = 0; i < ROWS * op->small; i++)
        memcpy(host[i], value[i], ROW_BYTES);
    return true;
}

static bool turn_matrix(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint32_t words[SIM_LANES];
    if (!sim_gather_all(w, op, mask))
        return false;
    memcpy(words, sim_u32(w->file, op->slot[1]), sizeof words);
    transpose(words);
    memcpy(sim_u32(w->file, op->slot[0]), words, sizeof words);
    return true;
}

static bool choose_moved(struct sim_decoder *d, const struct ptx_instruction *ins,
                         struct sim_op *op)
{
    bool stores = ins->op == PTX_STMATRIX;
    const struct ptx_operand *address = &ins->operands[stores ? 0 : 1],
                             *fragment = &ins->operands[stores ? 1 : 0];
    enum ptx_mod count = ptx_find(ins, PTX_CLASS_COUNT, 0);
    if (!ptx_has(ins, MOD_M8N8) || !sim_decode_address(d, ins, address, 0, op) ||
        !sim_more_of(d, op, fragment, PTX_B32))
        return false;
    op->small = ptx_mods[count].bits;
    op->small2 = ptx_has(ins, MOD_TRANS);
    op->bytes = ROW_BYTES;
    op->run = stores ? store_matrices : load_matrices;
    return op->small <= MOST_MATRICES && op->more_count == op->small;
}

/* --- wmma.load, wmma.store --- */

/* The places of a fragment's elements: the layout of sim_mma.c. */
struct fragment {
    char which;       /* a, b, c (d too) */
    uint8_t rows;     /* m / 8 */
    uint8_t blocks;   /* of A and B, along k */
    uint8_t per_word; /* elements of a register */
    uint8_t bits;     /* of an element */
    uint8_t used;     /* registers in use; further ones repeat the first ones */
    bool by_columns;  /* .col */
    bool words;       /* the elements of a register are neighbours in memory */
    bool stores;
    int stride; /* between rows or columns, in elements, if no operand gives it */
    uint32_t stride_slot;
};

/* Gives the row and column of element i of a register. */
static void place_of(const struct fragment *f, int reg, int lane, int i, int *row, int *column)
{
    int block = f->which == 'b' ? reg % f->blocks : reg / f->rows, along = lane % WORDS,
        side = lane / WORDS;
    int k = (block * WORDS + along) * f->per_word + i, pair = f->per_word == 2 ? 1 : 2;
    switch (f->which) {
    case 'a':
        *row = reg % f->rows * ROWS + side;
        *column = k;
        break;
    case 'b':
        *row = k;
        *column = reg / f->blocks * ROWS + side;
        break;
    default: /* two registers, or the halves of one, hold eight rows and columns */
        *row = reg / pair % f->rows * ROWS + side;
        *column = reg / pair / f->rows * ROWS + 2 * along + (pair == 1 ? i : reg % 2);
        break;
    }
}

/* Gives the addresses of element i of a register in all lanes, from the address of the matrix. */
static void addresses_of(const struct sim_warp *w, const struct sim_op *op, int reg, int i,
                         const uint64_t base[SIM_LANES], uint64_t address[SIM_LANES])
{
    const struct fragment *f = op->data;
    for (int lane = 0; lane < SIM_LANES; lane++) {
        int row, column;
        int64_t stride = f->stride;
        if (f->stride_slot != SIM_NO_SLOT)
            stride = sim_u32(w->file, f->stride_slot)[lane];
        place_of(f, reg, lane, i, &row, &column);
        int64_t at = f->by_columns ? column * stride + row : row * stride + column;
        address[lane] = base[lane] + (uint64_t)(at * f->bits / 8);
    }
}

/* Moves bytes [first, first + bytes) of each lane's register. */
static bool move_part(struct sim_warp *w, const struct sim_op *op, uint32_t mask, uint8_t *reg,
                      const uint64_t address[SIM_LANES], int size, int first, int bytes)
{
    const struct fragment *f = op->data;
    uint8_t *host[SIM_LANES];
    const uint8_t *value[SIM_LANES];
    for (int lane = 0; lane < SIM_LANES; lane++)
        value[lane] = reg + lane * size + first;
    const struct sim_want want = {.kind = f->stores ? SIM_WRITE : SIM_READ,
                                  .bytes = bytes,
                                  .alignment = bytes,
                                  .value = f->stores ? value : NULL};
    if (!sim_reach_at(w, op, mask, address, &want, host))
        return false;
    for (int lane = 0; lane < SIM_LANES; lane++) {
        if (!(mask >> lane & 1))
            continue;
        if (f->stores)
            memcpy(host[lane], value[lane], (size_t)bytes);
        else
            memcpy(reg + lane * size + first, host[lane], (size_t)bytes);
    }
    return true;
}

static bool move_fragment(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct fragment *f = op->data;
    uint64_t base[SIM_LANES], address[SIM_LANES];
    int size = f->bits == 64 ? 8 : 4, parts = f->words ? 1 : f->per_word;
    if (!sim_gather_all(w, op, mask))
        return false;
    sim_addresses(w, op, base);
    for (int reg = 0; reg < f->used; reg++)
        for (int i = 0; i < parts; i++) {
            addresses_of(w, op, reg, i, base, address);
            if (!move_part(w, op, mask, w->file + op->more[reg], address, size, i * size / parts,
                           size / parts))
                return false;
        }
    for (uint32_t reg = f->used; reg < op->more_count && !f->stores; reg++)
        memcpy(w->file + op->more[reg], w->file + op->more[reg % f->used],
               (size_t)(size * SIM_LANES));
    return true;
}

static bool read_fragment(const struct ptx_instruction *ins, struct fragment *f)
{
    int m, n, k;
    enum ptx_mod type = ptx_type(ins, 0);
    if (!ptx_shape(ptx_find(ins, PTX_CLASS_SHAPE, 0), &m, &n, &k))
        return false;
    f->which = ptx_has(ins, MOD_LOAD_A) ? 'a' : ptx_has(ins, MOD_LOAD_B) ? 'b' : 'c';
    f->stores = ins->op == PTX_WMMA_STORE;
    f->bits = (uint8_t)(type == MOD_TF32 ? 32 : ptx_mods[type].bits);
    f->per_word = (uint8_t)(f->bits < 32 ? 32 / f->bits : 1);
    f->rows = (uint8_t)(m / ROWS);
    f->blocks = (uint8_t)(k / (WORDS * f->per_word));
    f->by_columns = ptx_has(ins, MOD_COL);
    f->words = f->per_word == 1 || (f->which == 'a' && !f->by_columns) ||
               (f->which == 'b' && f->by_columns) || (f->which == 'c' && !f->by_columns);
    int across = f->which == 'a' ? k : n, down = f->which == 'b' ? k : m;
    f->stride = f->by_columns ? down : across;
    f->used = (uint8_t)(across * down / SIM_LANES / f->per_word);
    return f->words || f->bits >= 8;
}

static bool choose_fragment(struct sim_decoder *d, const struct ptx_instruction *ins,
                            struct sim_op *op)
{
    struct fragment *f = arena_new(sim_decoder_arena(d), struct fragment);
    bool stores = ins->op == PTX_WMMA_STORE;
    const struct ptx_operand *o = ins->operands;
    if (!read_fragment(ins, f) || !sim_decode_address(d, ins, &o[stores ? 0 : 1], 0, op) ||
        !sim_more_of(d, op, &o[stores ? 1 : 0], f->bits == 64 ? PTX_F64 : PTX_B32))
        return false;
    f->stride_slot = ins->operand_count > 2 ? sim_slot_of(d, &o[2], PTX_U32) : SIM_NO_SLOT;
    op->data = f;
    op->run = move_fragment;
    return f->used && f->used <= op->more_count &&
           (ins->operand_count <= 2 || f->stride_slot != SIM_NO_SLOT);
}

bool sim_choose_matrix(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    switch ((int)ins->op) {
    case PTX_LDMATRIX:
    case PTX_STMATRIX: return choose_moved(d, ins, op);
    case PTX_MOVMATRIX:
        op->slot[0] = sim_slot_destination(d, &ins->operands[0], PTX_B32);
        op->slot[1] = sim_slot_of(d, &ins->operands[1], PTX_B32);
        op->run = turn_matrix;
        return op->slot[0] != SIM_NO_SLOT && op->slot[1] != SIM_NO_SLOT;
    case PTX_WMMA_LOAD:
    case PTX_WMMA_STORE: return choose_fragment(d, ins, op);
    default: return false;
    }
}
