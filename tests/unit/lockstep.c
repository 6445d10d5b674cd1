#include "lockstep_own.h"

#include <string.h>

enum { MOST_STEPS = 400000000 };

/* --- control --- */

static bool guarded_off(struct machine *m, int thread)
{
    return m->ins->guarded && (*machine_reg(m, thread, m->ins->guard) & 1) == m->ins->guard_negated;
}

static void branch(struct machine *m, int thread)
{
    m->pc[thread] =
        guarded_off(m, thread) ? m->pc[thread] + 1 : m->ins->operands[0].label->statement;
}

/* Everybody who is left waits: on they go. */
static void barrier_opens(struct machine *m)
{
    for (int t = 0; t < m->threads; t++)
        if (m->pc[t] != UINT32_MAX && !m->waits[t])
            return;
    for (int t = 0; t < m->threads; t++)
        m->waits[t] = false;
    m->barrier++;
}

static void step_threads(struct machine *m, uint32_t pc)
{
    for (int t = 0; t < m->threads && !m->why; t++) {
        if (m->pc[t] != pc || m->waits[t])
            continue;
        m->s->steps++;
        if (m->ins->op == PTX_BRA) {
            branch(m, t);
            continue;
        }
        m->pc[t]++;
        if (guarded_off(m, t))
            continue;
        if (m->ins->op == PTX_RET || m->ins->op == PTX_EXIT)
            m->pc[t] = UINT32_MAX;
        else if (m->ins->op == PTX_BAR || m->ins->op == PTX_BARRIER)
            m->waits[t] = true;
        else if (!machine_memory(m, t) && !machine_number(m, t))
            machine_stop(m, "not known here");
    }
}

static void step_warps(struct machine *m, uint32_t pc)
{
    for (int first = 0; first < m->threads; first += 32) {
        int there = 0, off = 0;
        for (int l = 0; l < 32 && first + l < m->threads; l++)
            there += m->pc[first + l] == pc && !m->waits[first + l];
        if (there == 0)
            continue;
        for (int l = 0; l < 32 && there == 32; l++)
            off += guarded_off(m, first + l);
        if (there < 32 || (off > 0 && off < 32))
            machine_stop(m, "not all lanes came");
        else if (off == 0)
            machine_together(m, first);
        for (int l = 0; l < 32 && first + l < m->threads; l++)
            m->pc[first + l] += m->pc[first + l] == pc;
        m->s->steps += 32;
    }
}

static void run_block(struct machine *m)
{
    size_t count = m->f->body.count;
    while (!m->why && m->s->steps < MOST_STEPS) {
        uint32_t pc = UINT32_MAX;
        for (int t = 0; t < m->threads; t++)
            if (!m->waits[t] && m->pc[t] < pc)
                pc = m->pc[t];
        if (pc == UINT32_MAX) {
            bool any = false;
            for (int t = 0; t < m->threads; t++)
                any |= m->waits[t];
            if (!any)
                return;
            barrier_opens(m);
            continue;
        }
        if (pc >= count)
            return;
        const struct ptx_statement *s = &m->f->body.data[pc];
        if (s->kind != PTX_AT_INSTRUCTION) {
            for (int t = 0; t < m->threads; t++)
                m->pc[t] += m->pc[t] == pc && !m->waits[t];
            continue;
        }
        m->ins = s->instruction;
        if (machine_is_together((enum ptx_op)m->ins->op))
            step_warps(m, pc);
        else
            step_threads(m, pc);
    }
    if (!m->why)
        m->why = "it does not end";
}

/* Where each label is, whether the text was parsed or built. */
static void find_labels(struct machine *m)
{
    for (size_t i = 0; i < m->f->body.count; i++)
        if (m->f->body.data[i].kind == PTX_AT_LABEL)
            m->f->body.data[i].label->statement = (uint32_t)i;
}

const char *lockstep_run(struct lockstep *s)
{
    struct machine m = {.s = s, .f = s->function};
    memcpy(m.block, s->block, sizeof m.block);
    m.threads = s->block[0] * s->block[1] * s->block[2];
    find_labels(&m);
    size_t regs = (size_t)m.threads * m.f->registers.count;
    m.regs = arena_array(s->arena, uint64_t, regs + 1);
    m.pc = arena_array(s->arena, uint32_t, m.threads);
    m.waits = arena_array(s->arena, bool, m.threads);
    m.shared = arena_array(s->arena, uint8_t, s->shared_bytes + 1);
    m.use = arena_array(s->arena, struct byte_use, s->shared_bytes + 1);
    s->steps = 0;

    for (m.ctaid[2] = 0; m.ctaid[2] < s->grid[2]; m.ctaid[2]++)
        for (m.ctaid[1] = 0; m.ctaid[1] < s->grid[1]; m.ctaid[1]++)
            for (m.ctaid[0] = 0; m.ctaid[0] < s->grid[0] && !m.why; m.ctaid[0]++) {
                memset(m.pc, 0, (size_t)m.threads * sizeof *m.pc);
                memset(m.waits, 0, (size_t)m.threads * sizeof *m.waits);
                memset(m.regs, 0xee, regs * sizeof *m.regs);
                memset(m.shared, 0xff, (size_t)s->shared_bytes);
                for (int64_t i = 0; i < s->shared_bytes; i++)
                    m.use[i] = (struct byte_use){-1, -1, -1, -1};
                m.barrier = 0;
                run_block(&m);
            }
    return m.why;
}
