/* Volatile accesses without order. PTX ISA, "volatile Operation": they are relaxed accesses of
 * system scope, so two of them are not a data race. But they make no order, and CUDA C++
 * (Programming Guide, "Volatile Qualifier") does not let threads synchronise by them. Two uses pass
 * the check:
 *
 *   a read that its own loop waits with: it sees the write, whenever that comes;
 *   accesses to one place after a read of it in the same thread has seen the write: coherence
 *   orders these. */
#include "sim/race/sim_race_own.h"

#include "ptx/ptx_choose.h"

enum race_polls { POLLS_UNKNOWN, POLLS_NOT, POLLS };

bool race_volatile_pair(const struct race_try *t, const struct race_record *old)
{
    return old->order == SIM_VOLATILE && t->self.order == SIM_VOLATILE &&
           t->r->report->severity[SIM_FOUND_VOLATILE_RACE] != SIM_IGNORED;
}

/* --- loops that wait for the value that they read --- */

struct body {
    const struct ptx_function *function;
    bool *follows; /* by register: its value depends on the read */
};

static bool any_follows(const struct body *b, const struct ptx_operand *o)
{
    bool has = o->kind == PTX_REGISTER ||
               ((o->kind == PTX_ADDRESS || o->kind == PTX_SYMBOL) && o->base == PTX_BASE_REGISTER);
    if (has && b->follows[o->reg])
        return true;
    for (uint32_t i = 0; i < ptx_elements(o); i++)
        if (any_follows(b, &o->elements[i]))
            return true;
    return false;
}

static bool mark(const struct body *b, const struct ptx_operand *o)
{
    bool changed = o->kind == PTX_REGISTER && !b->follows[o->reg];
    if (o->kind == PTX_REGISTER)
        b->follows[o->reg] = true;
    for (uint32_t i = 0; o->kind == PTX_VECTOR && i < o->count; i++)
        changed |= mark(b, &o->elements[i]);
    return changed;
}

static const struct ptx_instruction *instruction_at(const struct ptx_function *f, size_t i)
{
    const struct ptx_statement *s = &f->body.data[i];
    return s->kind == PTX_AT_INSTRUCTION ? s->instruction : NULL;
}

/* Marks the registers that the instruction writes, if it is `read` or uses a marked register. */
static bool pass_on(const struct body *b, const struct ptx_instruction *ins,
                    const struct ptx_instruction *read)
{
    bool uses = ins == read || (ins->guarded && b->follows[ins->guard]), changed = false;
    for (size_t i = 0; i < ins->operand_count && !uses; i++)
        uses = any_follows(b, &ins->operands[i]);
    for (size_t i = 0; i < ins->operand_count && uses; i++) {
        const struct ptx_slot *slot = ptx_slot_of(b->function, ins, i);
        if (slot && slot->flags & SLOT_WRITTEN)
            changed |= mark(b, &ins->operands[i]);
    }
    return changed;
}

/* Returns true if a branch that leaves statements first to last, or goes back to the first,
 * depends on the read. */
static bool decides(struct arena *a, const struct ptx_function *f, size_t first, size_t last,
                    const struct ptx_instruction *read)
{
    struct body b = {f, arena_array(a, bool, f->registers.count + 1)};
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = first; i <= last; i++)
            if (instruction_at(f, i))
                changed |= pass_on(&b, instruction_at(f, i), read);
    }
    for (size_t i = first; i <= last; i++) {
        const struct ptx_instruction *ins = instruction_at(f, i);
        if (!ins || ins->op != PTX_BRA || !ins->guarded || !b.follows[ins->guard])
            continue;
        size_t to = ins->operands[0].label->statement;
        if (to <= first || to > last)
            return true;
    }
    return false;
}

/* Finds the innermost loop around statement `at`: its branch back, and the target of that
 * branch. */
static bool loop_around(const struct ptx_function *f, size_t at, size_t *first, size_t *last)
{
    bool found = false;
    for (size_t i = at; i < f->body.count; i++) {
        const struct ptx_instruction *ins = instruction_at(f, i);
        if (!ins || ins->op != PTX_BRA || ins->operands[0].label->statement > at)
            continue;
        size_t to = ins->operands[0].label->statement;
        if (!found || to > *first || (to == *first && i > *last)) {
            *first = to;
            *last = i;
        }
        found = true;
    }
    return found;
}

/* Returns true if the addresses are equal. Compilers write SSA form, so the same register is the
 * same address. */
static bool same_address(const struct ptx_instruction *a, const struct ptx_instruction *b)
{
    const struct ptx_operand *x = ptx_address_in(&a->operands[a->operand_count - 1]),
                             *y = ptx_address_in(&b->operands[b->operand_count - 1]);
    return x && y && ptx_same_address(x, y);
}

/* Returns true if both are the same read in the source. If a compiler has peeled off the loop's
 * first turn, the read in that turn is outside the loop. */
static bool same_read(const struct ptx_instruction *a, const struct ptx_instruction *b)
{
    const struct ptx_line *x = a->line, *y = b->line;
    return a == b || (a->op == b->op && same_address(a, b) && x && y && x->file == y->file &&
                      x->line == y->line && x->column == y->column);
}

static bool find_polls(struct arena *a, const struct race_site *site)
{
    const struct ptx_function *f = site->function;
    for (size_t i = 0; f && site->ins && i < f->body.count; i++) {
        const struct ptx_instruction *ins = instruction_at(f, i);
        size_t first = 0, last = 0;
        if (ins && same_read(ins, site->ins) && loop_around(f, i, &first, &last) &&
            decides(a, f, first, last, ins))
            return true;
    }
    return false;
}

static bool polls(const struct race_try *t, const struct race_record *record)
{
    struct race_site *site = (struct race_site *)record->site;
    if (site->polls == POLLS_UNKNOWN)
        site->polls = find_polls(t->r->arena, site) ? POLLS : POLLS_NOT;
    return site->polls == POLLS;
}

/* --- coherence --- */

/* Returns true if this lane has already read the value that the place holds now. */
static bool has_seen(const struct race_try *t, int lane)
{
    const struct race_pool *p = t->pool;
    for (uint32_t n = t->others; n; n = p->nodes[n].next) {
        const struct race_record *record = &p->records[p->nodes[n].record];
        if (p->nodes[n].stands && record->id == t->self.id && record->kind & SIM_READ &&
            record->order != SIM_WEAK && record->mask >> lane & 1)
            return true;
    }
    return false;
}

bool race_volatile_clash(const struct race_try *t, const struct race_clash *c)
{
    if (c->old->kind == SIM_READ)
        return !polls(t, c->old);
    if (c->past != RACE_LAST)
        return false;
    return !(t->self.kind == SIM_READ && polls(t, &t->self)) && !has_seen(t, c->lane);
}
