/* The text is cut at labels, branches, barriers and waits: an assembler moves instructions
 * within such a piece, but seldom out of it. Within a piece, an instruction is issued when its
 * operands are ready; the piece takes until the last instruction is issued, or as long as the
 * busiest unit works for the block's warps. Results not ready at the end of a piece are waited
 * for in the next. Loops are walked twice, so that an iteration begins with the state that the
 * previous one left.
 *
 * Products of warpgroups go on by themselves: the tensor units do them one after the other, and the
 * warps go on until they wait for a group of them. So a warpgroup has a clock of its tensor units
 * next to that of its instructions. */
#include "model/latency.h"
#include "target/targets.h"

#include <math.h>

enum { GROUPS = 64, WARPGROUP = 4 /* warps */ };

struct pace {
    const struct latencies *l;
    int warps;            /* that share the multiprocessor's units in this walk */
    int executing;        /* that execute the code */
    bool warpgroup;       /* walks one warpgroup */
    double *ready;        /* by register */
    double start, latest; /* start of the piece; issue of its last instruction */
    double matrix_free;   /* time when the warp's matrix unit is free */
    double products_free; /* time when the warpgroup's products are done */
    double done[GROUPS];  /* times when its groups of products are done */
    int product_groups;
    double issued, matrix, lsu; /* work of the piece's units for one warp */
    double special;
    double lines, executions;
    double copied;            /* lines of the open group of copies */
    double committed[GROUPS]; /* times when groups of copies were committed */
    int groups;
    double sum; /* time of all pieces, each multiplied by its executions */
};

static void end_piece(struct pace *p)
{
    double per_scheduler = fmax(1, p->warps / (double)GPU_SCHEDULERS);
    double busy = fmax(p->issued * fmax(per_scheduler, p->l->issue),
                       fmax(p->matrix * per_scheduler, p->lsu * p->warps));
    busy = fmax(busy, p->special * per_scheduler);
    double end = fmax(p->latest, p->start + busy);
    p->sum += (end - p->start) * p->executions / p->executing;
    p->start = p->latest = end;
    p->issued = p->matrix = p->lsu = p->special = p->lines = p->executions = 0;
}

static double operand_ready(const struct pace *p, const struct ptx_operand *o)
{
    double t = 0;
    bool based = (o->kind == PTX_ADDRESS || o->kind == PTX_SYMBOL) && o->base == PTX_BASE_REGISTER;
    if (o->kind == PTX_REGISTER || based)
        t = p->ready[o->reg];
    for (uint32_t i = 0; i < ptx_elements(o); i++)
        t = fmax(t, operand_ready(p, &o->elements[i]));
    return t;
}

static void set_ready(struct pace *p, const struct ptx_operand *o, double when)
{
    if (o->kind == PTX_REGISTER)
        p->ready[o->reg] = when;
    for (uint32_t i = 0; i < ptx_elements(o); i++)
        set_ready(p, &o->elements[i], when);
}

static bool writes(const struct ptx_instruction *ins, int operand)
{
    if (ins->form == PTX_NO_FORM)
        return operand == 0;
    const struct ptx_form *form = &ptx_forms[ins->form];
    return operand < form->slots && (form->slot[operand].kind == SLOT_DESTINATION ||
                                     (form->slot[operand].flags & SLOT_WRITTEN));
}

/* Returns the latency of a load from global memory. Some of the lines that the piece requests
 * are far away; the load waits for the farthest, after the lines that the block's other warps
 * request. */
static double load_latency(struct pace *p, const struct paced *n)
{
    const struct latencies *l = p->l;
    p->lines += n->lines / n->executions;
    double far = p->lines * l->missed;
    return l->l1 + (far < 1 ? far : 1) * (l->missed_l1 - l->l1) + far * p->warps * l->line_interval;
}

static double latency_of(struct pace *p, const struct ptx_instruction *ins, const struct paced *n)
{
    const struct latencies *l = p->l;
    switch (sim_kind_of(ins)) {
    case SIM_KIND_SHARED: return l->shared;
    case SIM_KIND_GLOBAL:
    case SIM_KIND_GENERIC: return load_latency(p, n);
    case SIM_KIND_ATOMIC: return l->l2;
    case SIM_KIND_MATRIX: return l->matrix;
    case SIM_KIND_LANES: return l->shuffle;
    case SIM_KIND_CONST:
    case SIM_KIND_MOVE: return 0;
    default: break;
    }
    switch ((int)ins->op) {
    case PTX_DIV:
    case PTX_REM: return 8 * l->special;
    default: return model_work_is_special(ins) ? l->special : l->arithmetic;
    }
}

static double matrix_cycles(const struct pace *p, const struct ptx_instruction *ins)
{
    enum matrix_unit unit;
    double flops = model_matrix_flops(ins, &unit);
    return flops > 0 && p->l->matrix_rate[unit] > 0 ? flops / p->l->matrix_rate[unit] : 0;
}

static void commit(struct pace *p, double when)
{
    p->committed[p->groups++ % GROUPS] = when + p->copied * p->warps * p->l->line_interval;
    p->copied = 0;
}

/* cp.async: groups land in order, `copy_to_shared` plus a latency after they were committed. */
static void wait_for_copies(struct pace *p, const struct ptx_instruction *ins)
{
    int pending = 0;
    if (ins->op == PTX_CP_ASYNC_WAIT_GROUP && ins->operand_count)
        pending = (int)ins->operands[0].bits;
    else if (p->copied > 0)
        commit(p, p->start);
    if (pending >= p->groups || pending >= GROUPS)
        return;
    double landed =
        p->committed[(p->groups - 1 - pending) % GROUPS] + p->l->copy_to_shared + p->l->missed_l1;
    p->latest = fmax(p->latest, landed);
}

/* wgmma.wait_group: waits until at most some of the latest groups are under way. */
static void wait_for_products(struct pace *p, const struct ptx_instruction *ins)
{
    int pending = ins->operand_count ? (int)ins->operands[0].bits : 0;
    if (pending < p->product_groups && pending < GROUPS)
        p->latest = fmax(p->latest, p->done[(p->product_groups - 1 - pending) % GROUPS]);
}

/* A wait on an mbarrier that is over already, because the producer is ahead. */
static void wait_for_mbarrier(struct pace *p)
{
    p->latest += p->l->shared;
}

/* Handles instructions that hold up everything after them. */
static void pace_control(struct pace *p, const struct ptx_instruction *ins, double executions)
{
    end_piece(p);
    if (ins->op == PTX_BAR || ins->op == PTX_BARRIER)
        p->latest += p->l->barrier;
    else if (ins->op == PTX_CP_ASYNC_WAIT_GROUP || ins->op == PTX_CP_ASYNC_WAIT_ALL)
        wait_for_copies(p, ins);
    else if (ins->op == PTX_WGMMA_WAIT_GROUP)
        wait_for_products(p, ins);
    else if (ins->op == PTX_MBARRIER_TRY_WAIT)
        wait_for_mbarrier(p);
    p->executions = executions;
    end_piece(p);
}

static bool ends_piece(const struct pace *p, const struct ptx_instruction *ins)
{
    switch ((int)ins->op) {
    case PTX_WGMMA_WAIT_GROUP:
    case PTX_MBARRIER_TRY_WAIT: return p->warpgroup;
    case PTX_BAR:
    case PTX_BARRIER:
    case PTX_BRA:
    case PTX_CP_ASYNC_WAIT_GROUP:
    case PTX_CP_ASYNC_WAIT_ALL: return true;
    default: return false;
    }
}

static double operands_ready(const struct pace *p, const struct ptx_instruction *ins)
{
    double when = p->start;
    for (int i = 0; i < ins->operand_count; i++)
        if (!writes(ins, i))
            when = fmax(when, operand_ready(p, &ins->operands[i]));
    return ins->guarded ? fmax(when, p->ready[ins->guard]) : when;
}

/* Issues an instruction of the products of a warpgroup, which go on by themselves. */
static void pace_product(struct pace *p, const struct ptx_instruction *ins)
{
    enum matrix_unit unit;
    double flops = model_matrix_flops(ins, &unit) * WARPGROUP, when = operands_ready(p, ins);
    p->issued += 1;
    p->latest = fmax(p->latest, when);
    if (flops > 0 && p->l->product_rate[unit] > 0)
        p->products_free = fmax(p->products_free, when) + flops / p->l->product_rate[unit];
    else if (ins->op == PTX_WGMMA_COMMIT_GROUP)
        p->done[p->product_groups++ % GROUPS] = p->products_free + p->l->matrix;
}

static void pace_instruction(struct pace *p, const struct ptx_instruction *ins,
                             const struct paced *n)
{
    if (ends_piece(p, ins)) {
        pace_control(p, ins, n->executions);
        return;
    }
    p->executions = fmax(p->executions, n->executions);
    if (p->warpgroup && sim_kind_of(ins) == SIM_KIND_MATRIX) {
        pace_product(p, ins);
        return;
    }
    double when = operands_ready(p, ins);
    if (sim_kind_of(ins) == SIM_KIND_MATRIX) {
        when = fmax(when, p->matrix_free);
        p->matrix_free = when + matrix_cycles(p, ins) * fmax(1, p->warps / (double)GPU_SCHEDULERS);
    }
    p->latest = fmax(p->latest, when);
    enum sim_instruction_kind kind = sim_kind_of(ins);
    if (kind != SIM_KIND_MOVE && kind != SIM_KIND_CONST)
        p->issued += 1;
    if (kind == SIM_KIND_MATRIX)
        p->matrix += matrix_cycles(p, ins);
    if (p->warpgroup && model_work_is_special(ins))
        p->special += p->l->special_interval;
    p->lsu += n->wavefronts / n->executions;
    if (ins->op == PTX_CP_ASYNC) {
        p->copied += n->lines / n->executions;
        p->lsu += n->wavefronts > 0 ? 0 : n->lines / n->executions; /* L1's tags */
    }
    if (ins->op == PTX_CP_ASYNC_COMMIT_GROUP)
        commit(p, when);
    double latency = latency_of(p, ins, n);
    if (kind == SIM_KIND_SHARED || kind == SIM_KIND_GLOBAL) /* served in the order of the
                                                             * requests */
        when = fmax(when, p->start + p->lsu * p->warps);
    for (int i = 0; i < ins->operand_count; i++)
        if (writes(ins, i))
            set_ready(p, &ins->operands[i], when + latency);
}

/* Returns the statement that a branch jumps back to, or -1 if it does not jump back. */
static int64_t loop_head(const struct ptx_statement *s, size_t at)
{
    if (s->kind != PTX_AT_INSTRUCTION || s->instruction->op != PTX_BRA)
        return -1;
    const struct ptx_operand *to = &s->instruction->operands[0];
    return to->kind == PTX_LABEL && to->label->statement < at ? (int64_t)to->label->statement : -1;
}

/* Walks the body. path: the statements that count; NULL: all. */
static double walk(struct arena *a, const struct ptx_function *f, const struct paced *of,
                   const bool *path, struct pace *p)
{
    double *sum_at = arena_array(a, double, f->body.count + 1);
    bool *repeated = arena_array(a, bool, f->body.count + 1);
    p->ready = arena_array(a, double, f->registers.count + 1);
    for (size_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        if (s->kind == PTX_AT_LABEL) {
            end_piece(p);
            sum_at[i] = p->sum;
        }
        if (s->kind != PTX_AT_INSTRUCTION || of[i].executions == 0 || (path && !path[i]))
            continue;
        pace_instruction(p, s->instruction, &of[i]);
        int64_t head = loop_head(s, i);
        if (head >= 0 && !repeated[i]) {
            repeated[i] = true;
            end_piece(p);
            p->sum = sum_at[head];
            i = (size_t)head;
        }
    }
    end_piece(p);
    return p->sum;
}

double model_latency_of_block(struct arena *a, const struct ptx_function *f, const struct paced *of,
                              const struct latencies *l, int warps)
{
    struct pace p = {.l = l, .warps = warps, .executing = warps};
    return walk(a, f, of, NULL, &p);
}

double model_latency_of_warpgroup(struct arena *a, const struct ptx_function *f,
                                  const struct paced *of, const struct latencies *l, int warps)
{
    struct pace p = {.l = l, .warps = WARPGROUP, .executing = warps, .warpgroup = true};
    /* The first copy of a block comes from L2 or memory; the producer is ahead with the others. */
    return walk(a, f, of, model_product_paths(a, f), &p) + l->missed_l1 + l->copy_to_shared;
}
