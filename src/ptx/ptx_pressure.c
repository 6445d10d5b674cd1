/* An estimate of the registers that a thread needs. A register lives from its first to its last mention, and through a
 * loop if it has its value before the loop ("Linear Scan Register Allocation", Poletto & Sarkar 1999); but not from its
 * last use to the next instruction that writes it (the lifetime holes of "Quality and Speed in Linear-scan Register
 * Allocation", Traub, Holloway & Smith 1998). The assembler reorders instructions, so it may need a few less, or more. */
#include "ptx/ptx.h"

struct interval {
    int64_t first, last; /* statements; first -1: never named */
};

/* Loops and branches at the statement with the same index. Statements are -1 if there is none. */
struct place {
    int64_t end;   /* of the head of a loop: the last branch back to here */
    int64_t outer; /* of a head: the head of the loop around */
    int64_t inner; /* the head of the innermost loop around, or of one that has ended */
    int64_t to;    /* of a branch: its target */
    int64_t below; /* of a branch to a later statement: the open branch before it */
};

/* A hole in the life of a register, unless it lives where a branch in the hole goes. */
struct hole {
    uint32_t reg;
    int64_t first, last; /* statements: the last use, and the next write */
    int64_t target;      /* the nearest target after `last` of the branches in the hole */
};

struct estimate {
    struct arena *arena;
    const struct ptx_function *f;
    struct interval *of; /* by register */
    struct place *at;
    int64_t open; /* the latest branch from before the current statement to one after it */
    VEC(struct hole) holes;
};

static int words_of(const struct ptx_function *f, uint32_t reg)
{
    enum ptx_mod type = ptx_register_type(f, reg);
    return type == PTX_PRED ? 0 : (ptx_mods[type].bits + 31) / 32;
}

/* --- places --- */

/* Returns the target of a branch; of a branch by a table, the end; -1: it is not a branch. */
static int64_t target_of(const struct ptx_function *f, const struct ptx_statement *s)
{
    if (s->kind != PTX_AT_INSTRUCTION)
        return -1;
    if (s->instruction->op == PTX_BRX_IDX)
        return (int64_t)f->body.count;
    const struct ptx_operand *to = &s->instruction->operands[0];
    return s->instruction->op == PTX_BRA && to->kind == PTX_LABEL ? (int64_t)to->label->statement
                                                                  : -1;
}

static struct place *find_places(struct arena *a, const struct ptx_function *f)
{
    int64_t count = (int64_t)f->body.count, inner = -1;
    struct place *at = arena_room(a, ((size_t)count + 1) * sizeof *at);
    for (int64_t i = 0; i < count; i++) {
        at[i].end = -1;
        at[i].to = target_of(f, &f->body.data[i]);
        if (at[i].to >= 0 && at[i].to < i)
            at[at[i].to].end = i;
    }
    for (int64_t i = 0; i < count; i++) {
        while (inner >= 0 && at[inner].end < i)
            inner = at[inner].outer;
        if (at[i].end >= 0) {
            at[i].outer = inner;
            inner = i;
        }
        at[i].inner = inner;
    }
    return at;
}

/* --- mentions --- */

/* Returns where a register dies that is named first at `first` and last at `last`: there, or at the end of a loop around
 * if it has its value before the loop. That end may be in another loop, and so on. Loops that end after `end` do not
 * count. */
static int64_t dies(const struct estimate *e, int64_t first, int64_t last, int64_t end)
{
    int64_t before = -1;
    while (last != before) {
        before = last;
        for (int64_t head = e->at[before].inner; head > first; head = e->at[head].outer)
            if (e->at[head].end > last && e->at[head].end < end)
                last = e->at[head].end;
    }
    return last;
}

/* Returns the nearest target after the current statement `to` of the branches between `from` and it. */
static int64_t nearest_target(const struct estimate *e, int64_t from, int64_t to)
{
    int64_t nearest = INT64_MAX;
    for (int64_t i = e->open; i > from; i = e->at[i].below)
        if (e->at[i].to > to && e->at[i].to < nearest)
            nearest = e->at[i].to;
    return nearest;
}

static void name_register(struct estimate *e, uint32_t reg, int64_t at, bool written)
{
    struct interval *i = &e->of[reg];
    if (i->first < 0)
        i->first = at;
    else if (written && i->last < at) {
        struct hole h = {reg, dies(e, i->first, i->last, at), at, nearest_target(e, i->last, at)};
        vec_push(e->arena, &e->holes, h);
    }
    i->last = at;
}

static void name_operands(struct estimate *e, const struct ptx_operand *o, uint32_t count,
                          int64_t at, bool written)
{
    for (; count; count--, o++)
        if (o->kind == PTX_REGISTER ||
            ((o->kind == PTX_ADDRESS || o->kind == PTX_SYMBOL) && o->base == PTX_BASE_REGISTER))
            name_register(e, o->reg, at, written);
        else
            name_operands(e, o->elements, ptx_elements(o), at, written);
}

/* Returns whether an instruction only writes its first operand, and always does. */
static bool writes_first(const struct ptx_instruction *ins)
{
    enum { BOTH = SLOT_WRITTEN | SLOT_READ };
    return !ins->guarded && ins->form != PTX_NO_FORM && ptx_forms[ins->form].slots > 0 &&
           (ptx_forms[ins->form].slot[0].flags & BOTH) == SLOT_WRITTEN;
}

/* Names what the instruction reads before what it writes. */
static void name_all(struct estimate *e)
{
    for (size_t r = 0; r < e->f->registers.count; r++)
        e->of[r].first = -1;
    for (int64_t i = 0; i < (int64_t)e->f->body.count; i++) {
        const struct ptx_instruction *ins = e->f->body.data[i].instruction;
        while (e->open >= 0 && e->at[e->open].to <= i)
            e->open = e->at[e->open].below;
        if (e->f->body.data[i].kind != PTX_AT_INSTRUCTION)
            continue;
        if (ins->guarded)
            name_register(e, ins->guard, i, false);
        if (ins->operand_count > 0) {
            name_operands(e, ins->operands + 1, ins->operand_count - 1, i, false);
            name_operands(e, ins->operands, 1, i, writes_first(ins));
        }
        if (e->at[i].to > i) {
            e->at[i].below = e->open;
            e->open = i;
        }
    }
}

/* Returns the number of live registers after each statement. */
static int *count_live(struct arena *a, const struct ptx_function *f)
{
    struct estimate e = {.arena = a, .f = f, .at = find_places(a, f), .open = -1};
    e.of = arena_room(a, (f->registers.count + 1) * sizeof *e.of);
    int *live = arena_array(a, int, f->body.count + 2); /* first, its changes */
    name_all(&e);
    for (uint32_t r = 0; r < f->registers.count; r++) {
        struct interval *v = &e.of[r];
        if (v->first < 0)
            continue;
        v->last = dies(&e, v->first, v->last, INT64_MAX);
        live[v->first] += words_of(f, r);
        live[v->last] -= words_of(f, r);
    }
    for (size_t i = 0; i < e.holes.count; i++) {
        const struct hole *h = &e.holes.data[i];
        if (h->target <= e.of[h->reg].last)
            continue;
        live[h->first] -= words_of(f, h->reg);
        live[h->last] += words_of(f, h->reg);
    }
    for (size_t i = 1; i < f->body.count; i++)
        live[i] += live[i - 1];
    return live;
}

int ptx_estimate_registers(struct arena *a, const struct ptx_function *f)
{
    const int *live = count_live(a, f);
    int most = 0;
    for (size_t i = 0; i < f->body.count; i++)
        most = live[i] > most ? live[i] : most;
    return most;
}

double ptx_share_above(struct arena *a, const struct ptx_function *f, int registers)
{
    const int *live = count_live(a, f);
    int64_t count = 0, above = 0;
    for (size_t i = 0; i < f->body.count; i++) {
        count += f->body.data[i].kind == PTX_AT_INSTRUCTION;
        above += f->body.data[i].kind == PTX_AT_INSTRUCTION && live[i] > registers;
    }
    return count ? (double)above / (double)count : 0;
}
