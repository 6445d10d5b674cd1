/* An estimate of the registers that a thread needs. A register lives from its first to its last mention, and through a
 * loop if it has its value before the loop ("Linear Scan Register Allocation", Poletto & Sarkar 1999). The assembler
 * reorders instructions, so it may need a few less, or more. */
#include "ptx/ptx.h"

struct interval {
    int64_t first, last; /* statements; first -1: never named */
};

struct estimate {
    const struct ptx_function *f;
    struct interval *of; /* by register */
};

static void name_register(struct estimate *e, uint32_t reg, int64_t at)
{
    struct interval *i = &e->of[reg];
    if (i->first < 0)
        i->first = at;
    i->last = at;
}

static void name_operands(struct estimate *e, const struct ptx_operand *o, uint32_t count,
                          int64_t at)
{
    for (; count; count--, o++)
        if (o->kind == PTX_REGISTER ||
            ((o->kind == PTX_ADDRESS || o->kind == PTX_SYMBOL) && o->base == PTX_BASE_REGISTER))
            name_register(e, o->reg, at);
        else
            name_operands(e, o->elements, ptx_elements(o), at);
}

static void name_all(struct estimate *e)
{
    for (size_t r = 0; r < e->f->registers.count; r++)
        e->of[r].first = -1;
    for (size_t i = 0; i < e->f->body.count; i++) {
        const struct ptx_statement *s = &e->f->body.data[i];
        if (s->kind != PTX_AT_INSTRUCTION)
            continue;
        name_operands(e, s->instruction->operands, s->instruction->operand_count, (int64_t)i);
        if (s->instruction->guarded)
            name_register(e, s->instruction->guard, (int64_t)i);
    }
}

/* --- loops --- */

/* Returns the target of a branch to an earlier statement; -1: it is none. */
static int64_t goes_back_to(const struct ptx_statement *s, int64_t at)
{
    if (s->kind != PTX_AT_INSTRUCTION || s->instruction->op != PTX_BRA)
        return -1;
    const struct ptx_operand *to = &s->instruction->operands[0];
    int64_t place = to->kind == PTX_LABEL ? (int64_t)to->label->statement : at;
    return place < at ? place : -1;
}

/* The loop of the statement with the same index. Statements are -1 if there is none. */
struct loop_place {
    int64_t end;   /* the last branch back to here */
    int64_t outer; /* of a head: the head of the loop around */
    int64_t inner; /* the head of the innermost loop around, or of one that has ended */
};

static struct loop_place *find_loops(struct arena *a, const struct ptx_function *f)
{
    int64_t count = (int64_t)f->body.count, inner = -1;
    struct loop_place *at = arena_room(a, ((size_t)count + 1) * sizeof *at);
    for (int64_t i = 0; i < count; i++)
        at[i].end = -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t head = goes_back_to(&f->body.data[i], i);
        if (head >= 0)
            at[head].end = i;
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

/* Lets a register that has its value before a loop, and is named in it, live to the loop's end, which may be in another
 * loop, and so on. */
static void carry_through_loops(struct estimate *e, const struct loop_place *at)
{
    for (size_t r = 0; r < e->f->registers.count; r++) {
        struct interval *v = &e->of[r];
        int64_t before = -1;
        while (v->first >= 0 && v->last != before) {
            before = v->last;
            for (int64_t head = at[before].inner; head > v->first; head = at[head].outer)
                if (at[head].end > v->last)
                    v->last = at[head].end;
        }
    }
}

static int words_of(const struct ptx_function *f, uint32_t reg)
{
    enum ptx_mod type = ptx_register_type(f, reg);
    return type == PTX_PRED ? 0 : (ptx_mods[type].bits + 31) / 32;
}

int ptx_estimate_registers(struct arena *a, const struct ptx_function *f)
{
    struct estimate e = {.f = f};
    e.of = arena_room(a, (f->registers.count + 1) * sizeof *e.of);
    int *change = arena_array(a, int, f->body.count + 2);
    int live = 0, most = 0;
    name_all(&e);
    carry_through_loops(&e, find_loops(a, f));
    for (uint32_t r = 0; r < f->registers.count; r++) {
        if (e.of[r].first < 0)
            continue;
        change[e.of[r].first] += words_of(f, r);
        change[e.of[r].last] -= words_of(f, r);
    }
    for (size_t i = 0; i <= f->body.count; i++) {
        live += change[i];
        most = live > most ? live : most;
    }
    return most;
}
