#include "lockstep_own.h"

#include <string.h>

enum { MOST_STEPS = 400000000, TURN_STEPS = 20000 };

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

/* Lets all waiting threads go on, if every thread that has not left waits. */
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
        else if (m->ins->op == PTX_GRIDDEPCONTROL)
            continue; /* there is no other kernel */
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

/* Runs a block until it ends. Returns false if `steps` steps were done before that. */
static bool run_block(struct machine *m, int64_t steps)
{
    size_t count = m->f->body.count;
    while (!m->why && m->s->steps < steps) {
        uint32_t pc = UINT32_MAX;
        for (int t = 0; t < m->threads; t++)
            if (!m->waits[t] && m->pc[t] < pc)
                pc = m->pc[t];
        if (pc == UINT32_MAX) {
            bool any = false;
            for (int t = 0; t < m->threads; t++)
                any |= m->waits[t];
            if (!any)
                return true;
            barrier_opens(m);
            continue;
        }
        if (pc >= count)
            return true;
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
    return m->why != NULL;
}

/* Finds the place of each label, in parsed and in built functions. */
static void find_labels(struct machine *m)
{
    for (size_t i = 0; i < m->f->body.count; i++)
        if (m->f->body.data[i].kind == PTX_AT_LABEL)
            m->f->body.data[i].label->statement = (uint32_t)i;
}

static struct machine *new_machine(struct lockstep *s)
{
    struct machine *m = arena_new(s->arena, struct machine);
    *m = (struct machine){.s = s, .f = s->function};
    memcpy(m->block, s->block, sizeof m->block);
    m->threads = s->block[0] * s->block[1] * s->block[2];
    m->regs = arena_array(s->arena, uint64_t, (size_t)m->threads * m->f->registers.count + 1);
    m->pc = arena_array(s->arena, uint32_t, m->threads);
    m->waits = arena_array(s->arena, bool, m->threads);
    m->shared = arena_array(s->arena, uint8_t, s->shared_bytes + 1);
    m->use = arena_array(s->arena, struct byte_use, s->shared_bytes + 1);
    return m;
}

static void start_block(struct machine *m, int number)
{
    const struct lockstep *s = m->s;
    m->ctaid[0] = number % s->grid[0];
    m->ctaid[1] = number / s->grid[0] % s->grid[1];
    m->ctaid[2] = number / s->grid[0] / s->grid[1];
    memset(m->pc, 0, (size_t)m->threads * sizeof *m->pc);
    memset(m->waits, 0, (size_t)m->threads * sizeof *m->waits);
    memset(m->regs, 0xee, (size_t)m->threads * m->f->registers.count * sizeof *m->regs);
    memset(m->shared, 0xff, (size_t)s->shared_bytes);
    for (int64_t i = 0; i < s->shared_bytes; i++)
        m->use[i] = (struct byte_use){-1, -1, -1, -1};
    m->barrier = 0;
}

/* Runs the blocks one after the other. */
static const char *run_in_order(struct lockstep *s, int blocks)
{
    struct machine *m = new_machine(s);
    for (int i = 0; i < blocks && !m->why; i++) {
        start_block(m, i);
        if (!run_block(m, MOST_STEPS))
            m->why = "it does not end";
    }
    return m->why;
}

/* Runs all blocks at the same time, by turns. */
static const char *run_together(struct lockstep *s, int blocks)
{
    struct machine **m = arena_array(s->arena, struct machine *, blocks);
    bool *ended = arena_array(s->arena, bool, blocks);
    for (int i = 0; i < blocks; i++) {
        m[i] = new_machine(s);
        start_block(m[i], i);
        ended[i] = false;
    }
    for (int left = blocks; left > 0 && s->steps < MOST_STEPS;)
        for (int i = 0; i < blocks; i++) {
            if (ended[i])
                continue;
            ended[i] = run_block(m[i], s->steps + TURN_STEPS);
            left -= ended[i];
            if (m[i]->why)
                return m[i]->why;
        }
    for (int i = 0; i < blocks; i++)
        if (!ended[i])
            return "it does not end";
    return NULL;
}

const char *lockstep_run(struct lockstep *s)
{
    int blocks = s->grid[0] * s->grid[1] * s->grid[2];
    struct machine labels = {.f = s->function};
    find_labels(&labels);
    s->steps = 0;
    return s->together ? run_together(s, blocks) : run_in_order(s, blocks);
}
