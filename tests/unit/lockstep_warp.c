/* The instructions that the lanes of a warp execute together. */
#include "lockstep_own.h"

#include "layout/layout_named.h"

#include <string.h>

/* --- instructions of a whole warp --- */

static void shuffle(struct machine *m, int first)
{
    uint64_t sent[32], by[32];
    const struct ptx_operand *o = m->ins->operands;
    int at = o[1].joined ? 2 : 1;
    for (int l = 0; l < 32; l++) {
        sent[l] = machine_value(m, first + l, &o[at], PTX_B32);
        by[l] = machine_value(m, first + l, &o[at + 1], PTX_U32);
    }
    int segment = (int)(o[at + 2].bits >> 8 & 31);
    for (int l = 0; l < 32; l++) {
        int from = ptx_has(m->ins, MOD_BFLY)  ? l ^ (int)by[l]
                   : ptx_has(m->ins, MOD_IDX) ? (int)(by[l] & 31)
                                              : l - (int)by[l];
        bool there = from >= (l & segment) && from < 32;
        machine_set(m, first + l, &o[0], sent[there ? from : l]);
        if (at == 2)
            machine_set(m, first + l, &o[1], there);
    }
}

static void vote(struct machine *m, int first)
{
    uint64_t all = 0;
    for (int l = 0; l < 32; l++)
        all |= (machine_value(m, first + l, &m->ins->operands[1], PTX_PRED) & 1) << l;
    uint64_t r = ptx_has(m->ins, MOD_BALLOT) ? all
                 : ptx_has(m->ins, MOD_ANY)  ? all != 0
                                             : all == UINT32_MAX;
    for (int l = 0; l < 32; l++)
        machine_result(m, first + l, r);
}

static void redux(struct machine *m, int first)
{
    enum ptx_mod t = ptx_type(m->ins, 0), op = ptx_find(m->ins, PTX_CLASS_OPERATION, 0);
    uint64_t r = machine_arg(m, first, 1, t);
    for (int l = 1; l < 32; l++)
        r = bits_extend(t, machine_combined(op, t, r, machine_arg(m, first + l, 1, t)));
    for (int l = 0; l < 32; l++)
        machine_result(m, first + l, r);
}

static void matrices(struct machine *m, int first, bool store_them)
{
    const struct ptx_operand *o = m->ins->operands;
    const struct ptx_operand *address = store_them ? &o[0] : &o[1];
    int count;
    const struct ptx_operand *regs = machine_parts(store_them ? &o[1] : &o[0], &count);
    bool trans = ptx_has(m->ins, MOD_TRANS);
    for (int n = 0; n < count; n++) {
        uint8_t *row[8];
        for (int r = 0; r < 8; r++) {
            row[r] = machine_place(m, first + 8 * n + r, address, true, 16, store_them);
            if (!row[r])
                return;
        }
        for (int l = 0; l < 32; l++) {
            uint64_t v = store_them ? machine_value(m, first + l, &regs[n], PTX_B32) : 0;
            for (int e = 0; e < 2; e++) {
                int r = trans ? l % 4 * 2 + e : l / 4, c = trans ? l / 4 : l % 4 * 2 + e;
                uint16_t half = (uint16_t)(v >> (16 * e));
                if (store_them)
                    memcpy(row[r] + 2 * c, &half, 2);
                else
                    memcpy(&half, row[r] + 2 * c, 2);
                if (!store_them)
                    v |= (uint64_t)half << (16 * e);
            }
            if (!store_them)
                machine_set(m, first + l, &regs[n], v);
        }
    }
}

/* Returns element `reg` of a lane, of a factor or of the sum. */
static double fragment_element(struct machine *m, int thread, const struct ptx_operand *o,
                               enum ptx_mod t, int reg)
{
    int count, bits = bits_of(t), per_word = bits < 32 ? 32 / bits : 1;
    const struct ptx_operand *p = machine_parts(o, &count);
    uint64_t v = machine_value(m, thread, &p[reg / per_word], t) >> (reg % per_word * bits);
    if (is_float(t))
        return bits_load(t, bits < 32 ? v & ((1u << bits) - 1) : v);
    if (t == MOD_TF32)
        return (double)bits_as_f32(v & 0xffffe000u);
    if (t == MOD_E4M3 || t == MOD_E5M2)
        return (double)(t == MOD_E4M3 ? e4m3_to_f32((uint8_t)v) : e5m2_to_f32((uint8_t)v));
    v = bits_extend(t, v);
    return is_signed(t) ? (double)(int64_t)v : (double)v;
}

static void multiply_matrices(struct machine *m, int first)
{
    struct mma_shape shape;
    enum ptx_mod t[4] = {ptx_type(m->ins, 0), ptx_type(m->ins, 1), ptx_type(m->ins, 2),
                         ptx_type(m->ins, 3)};
    const struct ptx_operand *o = m->ins->operands;
    struct layout layout[3];
    double tile[3][32][32] = {{{0}}};
    for (int i = 0; i < m->ins->mod_count; i++)
        if (ptx_shape((enum ptx_mod)m->ins->mods[i], &shape.m, &shape.n, &shape.k))
            break;
    shape.bits = t[1] == MOD_TF32 ? 32 : bits_of(t[1]);
    for (int f = 0; f < 3; f++) {
        if (!layout_mma(shape, (enum matrix_operand)f, &layout[f])) {
            machine_stop(m, "shape of mma");
            return;
        }
        for (int l = 0; l < 32; l++)
            for (int r = 0; r < layout_in_extent(&layout[f], AXIS_REG); r++) {
                int32_t at[LAYOUT_OUTS];
                layout_element(&layout[f], r, l, 0, at);
                tile[f][at[0]][at[1]] = fragment_element(m, first + l, &o[1 + f], t[1 + f], r);
            }
    }
    for (int l = 0; l < 32; l++)
        for (int r = 0; r < layout_in_extent(&layout[2], AXIS_REG); r++) {
            int32_t at[LAYOUT_OUTS];
            int count;
            const struct ptx_operand *d = machine_parts(&o[0], &count);
            layout_element(&layout[2], r, l, 0, at);
            double sum = tile[2][at[0]][at[1]];
            for (int k = 0; k < shape.k; k++)
                sum += tile[0][at[0]][k] * tile[1][k][at[1]];
            if (is_float(t[0]))
                machine_set(m, first + l, &d[r], bits_store(t[0], sum));
            else
                machine_set(m, first + l, &d[r], (uint64_t)(int64_t)sum);
        }
}

void machine_together(struct machine *m, int first)
{
    switch (m->ins->op) {
    case PTX_SHFL: shuffle(m, first); break;
    case PTX_VOTE: vote(m, first); break;
    case PTX_REDUX: redux(m, first); break;
    case PTX_LDMATRIX: matrices(m, first, false); break;
    case PTX_STMATRIX: matrices(m, first, true); break;
    default: multiply_matrices(m, first); break;
    }
}

bool machine_is_together(enum ptx_op op)
{
    return op == PTX_SHFL || op == PTX_VOTE || op == PTX_REDUX || op == PTX_LDMATRIX ||
           op == PTX_STMATRIX || op == PTX_MMA;
}
