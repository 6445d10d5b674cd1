/* mma.sync.m8n8k4 with .f16 factors, the shape of the first tensor cores: a warp does four
 * multiplications of 8 by 4 by 8 elements, each with two groups of four lanes, 16 apart: PTX
 * ISA, warp-level-matrix-fragment-mma-884-f16. Products are exact; their sum with C is computed
 * in double and rounded once. */
#include "sim/sim_half.h"

#include <math.h>
#include <string.h>

enum { QUADS = 4, SIDE = 8, DEPTH = 4, REGISTERS = 8 };

struct plan {
    bool a_by_column, b_by_column, c_is_half, d_is_half;
    uint32_t d, a, b, c; /* index of each one's first register in op->more */
};

/* One product's matrices. */
struct product {
    double a[SIDE][DEPTH], b[DEPTH][SIDE], sum[SIDE][SIDE];
};

/* Returns element i of a lane, of four or eight elements of 16 bits, two in a register. */
static double half_of(const struct sim_warp *w, const struct sim_op *op, uint32_t first, int lane,
                      int i)
{
    uint32_t word = sim_u32(w->file, op->more[first + (uint32_t)i / 2])[lane];
    return (double)sim_f16_float((uint16_t)(word >> i % 2 * 16));
}

/* Gives the row and column of element i of C and D, for a lane whose quad has rows from `base`
 * on. */
static void place(bool is_half, int lane, int i, int base, int *row, int *column)
{
    *row = base + (is_half ? lane % 4 : (lane & 1) + (i & 2));
    *column = is_half ? i : (i & 4) + (lane & 2) + (i & 1);
}

static void gather(const struct sim_warp *w, const struct sim_op *op, int lane, struct product *m)
{
    const struct plan *p = op->data;
    int base = lane < 16 ? 0 : 4, in_quad = lane % 4, row, column;
    for (int i = 0; i < DEPTH; i++) {
        double a = half_of(w, op, p->a, lane, i), b = half_of(w, op, p->b, lane, i);
        if (p->a_by_column)
            m->a[base + i][in_quad] = a;
        else
            m->a[base + in_quad][i] = a;
        if (p->b_by_column)
            m->b[i][base + in_quad] = b;
        else
            m->b[in_quad][base + i] = b;
    }
    for (int i = 0; i < SIDE; i++) {
        place(p->c_is_half, lane, i, base, &row, &column);
        m->sum[row][column] = p->c_is_half
                                  ? half_of(w, op, p->c, lane, i)
                                  : (double)sim_f32(w->file, op->more[p->c + (uint32_t)i])[lane];
    }
}

static void multiply(struct product *m)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            for (int k = 0; k < DEPTH; k++)
                m->sum[i][j] += m->a[i][k] * m->b[k][j];
}

static void store(struct sim_warp *w, const struct sim_op *op, int lane, const struct product *m)
{
    const struct plan *p = op->data;
    int row, column;
    for (int i = 0; i < SIDE; i++) {
        place(p->d_is_half, lane, i, lane < 16 ? 0 : 4, &row, &column);
        double v = m->sum[row][column];
        if (!p->d_is_half) {
            sim_u32(w->file, op->more[p->d + (uint32_t)i])[lane] =
                sim_f32_canonical(f32_bits((float)v));
            continue;
        }
        uint32_t *out = &sim_u32(w->file, op->more[p->d + (uint32_t)i / 2])[lane];
        uint32_t half = isnan(v) ? 0x7fff : sim_f16_narrow(sim_odd_f32(v));
        *out = i % 2 ? (*out & 0xffff) | half << 16 : half;
    }
}

static bool multiply_quads(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct product products[QUADS];
    if (!sim_gather_all(w, op, mask))
        return false;
    for (int lane = 0; lane < SIM_LANES; lane++)
        gather(w, op, lane, &products[lane / 4 % QUADS]);
    for (int q = 0; q < QUADS; q++)
        multiply(&products[q]);
    for (int lane = 0; lane < SIM_LANES; lane++)
        store(w, op, lane, &products[lane / 4 % QUADS]);
    return true;
}

/* Returns true if the n-th of the two layouts (of A, of B) is by column. */
static bool is_by_column(const struct ptx_instruction *ins, int nth)
{
    for (int i = 0; i < ins->mod_count; i++)
        if ((ins->mods[i] == MOD_ROW || ins->mods[i] == MOD_COL) && nth-- == 0)
            return ins->mods[i] == MOD_COL;
    return false;
}

bool sim_choose_mma_quads(struct sim_decoder *d, const struct ptx_instruction *ins,
                          struct sim_op *op)
{
    if (ins->op != PTX_MMA || !ptx_has(ins, MOD_M8N8K4) || ptx_type(ins, 1) != MOD_F16)
        return false;
    struct plan *p = arena_new(sim_decoder_arena(d), struct plan);
    p->a_by_column = is_by_column(ins, 0);
    p->b_by_column = is_by_column(ins, 1);
    p->d_is_half = ptx_type(ins, 0) == MOD_F16;
    p->c_is_half = ptx_type(ins, 3) == MOD_F16;
    uint32_t *const starts[] = {&p->d, &p->a, &p->b, &p->c};
    const bool whole[] = {!p->d_is_half, false, false, !p->c_is_half};
    for (int i = 0; i < 4; i++) {
        *starts[i] = op->more_count;
        if (!sim_more_of(d, op, &ins->operands[i], whole[i] ? PTX_F32 : PTX_B32))
            return false;
    }
    op->data = p;
    op->run = multiply_quads;
    return p->a - p->d == (p->d_is_half ? REGISTERS / 2 : REGISTERS) && p->b - p->a == 2 &&
           p->c - p->b == 2 && op->more_count - p->c == (p->c_is_half ? REGISTERS / 2 : REGISTERS);
}
