/* The code of a function that is on a path through a product of warpgroups: what can come before one,
 * and what can come after one. A role without products is on no such path. */
#include "model/latency.h"

/* The statements that can follow one: the next, and the target of a branch; -1: none. */
struct next {
    int64_t plain, branch;
};

static struct next next_of(const struct ptx_function *f, int64_t i)
{
    const struct ptx_statement *s = &f->body.data[i];
    struct next n = {i + 1 < (int64_t)f->body.count ? i + 1 : -1, -1};
    if (s->kind != PTX_AT_INSTRUCTION)
        return n;
    const struct ptx_instruction *ins = s->instruction;
    if (ins->op == PTX_BRA && ins->operands[0].kind == PTX_LABEL)
        n.branch = (int64_t)ins->operands[0].label->statement;
    bool leaves = ins->op == PTX_BRA || ins->op == PTX_RET || ins->op == PTX_EXIT;
    n.plain = leaves && !ins->guarded ? -1 : n.plain;
    return n;
}

static bool is_product(const struct ptx_statement *s)
{
    return s->kind == PTX_AT_INSTRUCTION && s->instruction->op == PTX_WGMMA_MMA_ASYNC;
}

/* Marks what can come before a product. Returns true if anything new was marked. */
static bool mark_before(const struct ptx_function *f, bool *before)
{
    bool changed = false;
    for (int64_t i = (int64_t)f->body.count - 1; i >= 0; i--) {
        struct next n = next_of(f, i);
        bool now = before[i] || is_product(&f->body.data[i]) || (n.plain >= 0 && before[n.plain]) ||
                   (n.branch >= 0 && before[n.branch]);
        changed |= now != before[i];
        before[i] = now;
    }
    return changed;
}

static bool mark_at(bool *after, int64_t i)
{
    bool new = i >= 0 && !after[i];
    if (new)
        after[i] = true;
    return new;
}

/* Marks what can come after a product. Returns true if anything new was marked. */
static bool mark_after(const struct ptx_function *f, bool *after)
{
    bool changed = false;
    for (int64_t i = 0; i < (int64_t)f->body.count; i++) {
        struct next n = next_of(f, i);
        if (!after[i] && !is_product(&f->body.data[i]))
            continue;
        changed |= mark_at(after, n.plain);
        changed |= mark_at(after, n.branch);
    }
    return changed;
}

const bool *model_product_paths(struct arena *a, const struct ptx_function *f)
{
    bool *before = arena_array(a, bool, f->body.count + 1);
    bool *after = arena_array(a, bool, f->body.count + 1);
    while (mark_before(f, before)) {
    }
    while (mark_after(f, after)) {
    }
    for (size_t i = 0; i < f->body.count; i++)
        before[i] |= after[i];
    return before;
}
