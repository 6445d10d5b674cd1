/* Loads just made: an element that was loaded, and that nothing may have changed since, is not
 * loaded again; loads of neighbours become one. So the accesses stand in the program as they will
 * be made, and the assembler has nothing to merge.
 *
 * What was loaded is known within one piece of straight-line code: up to a label, a branch, a
 * barrier, a store or anything else that orders memory.
 */
#include "lower/lower_element.h"

#include <assert.h>

enum { MOST_RECENT = 64, MOST_TOGETHER = 4, VECTOR = 16 };

/* One load of `count` neighbours. */
struct load {
    const char *name; /* "ld.shared" */
    enum ptx_mod type;
    int size, count;
    struct ptx_instruction *ins;
    struct ptx_operand at; /* the first one's address, as it was asked for */
    size_t statement;
    const struct value *address[MOST_TOGETHER], *value[MOST_TOGETHER];
    struct ptx_operand reg[MOST_TOGETHER];
    bool constant; /* nobody writes there */
};

struct recent {
    VEC(struct load) loads;
    size_t seen;      /* statements looked at so far */
    const void *last; /* the last of them: what it holds */
};

/* --- the code so far --- */

struct code {
    struct ptx_statement *data;
    size_t *count;
};

static struct code code_of(struct lower *l)
{
    if (l->b.code)
        return (struct code){l->b.code->statements.data, &l->b.code->statements.count};
    return (struct code){l->b.function->body.data, &l->b.function->body.count};
}

/* Returns what identifies the last of the first `seen` statements, a pointer; NULL: there is none. */
static const void *last_of(const struct code *code, size_t seen)
{
    return seen > 0 ? (const void *)code->data[seen - 1].instruction : NULL;
}

/* Neither memory nor the order of things changes by it. */
static bool is_quiet(const struct ptx_instruction *ins)
{
    switch (ins->op) {
#define OP(id, ...) case PTX_##id:
#define FORM(...)
#include "ptx/ptx_arithmetic.def"
#include "ptx/ptx_bits.def"
#undef OP
#undef FORM
    case PTX_MOV:
    case PTX_CVTA: return true;
    case PTX_LD:
        return !ptx_has(ins, MOD_VOLATILE) && !ptx_has(ins, MOD_RELAXED) &&
               !ptx_has(ins, MOD_ACQUIRE);
    default: return false;
    }
}

/* Returns whether loads from read-only memory survive this instruction, which is not quiet. They do not
 * survive branches, after which a load might have an invalid address. */
static bool keeps_constants(const struct ptx_instruction *ins)
{
    return ins->op == PTX_ST || ins->op == PTX_BAR || ins->op == PTX_BARRIER;
}

static void forget(struct recent *r, bool constants)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->loads.count; i++)
        if (r->loads.data[i].constant && !constants)
            r->loads.data[kept++] = r->loads.data[i];
    r->loads.count = kept;
}

/* Looks at what was emitted since the last time. */
static struct recent *recent_now(struct lower *l)
{
    if (!l->recent)
        l->recent = arena_new(l->arena, struct recent);
    struct recent *r = l->recent;
    struct code code = code_of(l);
    bool same = r->seen > 0 && r->seen <= *code.count && last_of(&code, r->seen) == r->last;
    if (!same) {
        forget(r, true);
        r->seen = *code.count;
    }
    for (; r->seen < *code.count; r->seen++) {
        const struct ptx_statement *s = &code.data[r->seen];
        if (s->kind == PTX_AT_LINE || s->kind == PTX_AT_MARK)
            continue;
        bool quiet = s->kind == PTX_AT_INSTRUCTION && is_quiet(s->instruction);
        if (!quiet)
            forget(r, s->kind != PTX_AT_INSTRUCTION || !keeps_constants(s->instruction));
    }
    r->last = last_of(&code, r->seen);
    return r;
}

const struct value *recent_find(struct lower *l, const char *name, enum ptx_mod type,
                                const struct value *address)
{
    const struct recent *r = recent_now(l);
    for (size_t i = 0; i < r->loads.count; i++) {
        const struct load *load = &r->loads.data[i];
        for (int e = 0; e < load->count; e++)
            if (load->address[e] == address && load->name == name && load->type == type)
                return load->value[e];
    }
    return NULL;
}

/* --- putting together --- */

static bool may_follow(struct lower *l, const struct load *a, const struct load *b)
{
    int bytes = a->count * a->size;
    return a->name == b->name && a->type == b->type && a->count == b->count &&
           a->count < MOST_TOGETHER && 2 * bytes <= VECTOR && a->at.reg == b->at.reg &&
           ptx_offset(&b->at) == ptx_offset(&a->at) + bytes &&
           (value_divisor(a->address[0]) == INT64_MAX ||
            value_divisor(a->address[0]) % (2 * bytes) == 0) &&
           value_affine(l, a->address[0], 1, bytes) == b->address[0];
}

static void take_out(struct lower *l, struct recent *r, size_t statement)
{
    struct code code = code_of(l);
    for (size_t i = statement; i + 1 < *code.count; i++)
        code.data[i] = code.data[i + 1];
    --*code.count;
    r->seen--;
    for (size_t i = 0; i < r->loads.count; i++)
        if (r->loads.data[i].statement > statement)
            r->loads.data[i].statement--;
    r->last = last_of(&code, r->seen);
}

/* low and high are one from now on, where the earlier of them stands. */
static void join(struct lower *l, struct recent *r, struct load *low, const struct load *high)
{
    bool low_first = low->statement < high->statement;
    size_t stays = low_first ? low->statement : high->statement;
    size_t goes = low_first ? high->statement : low->statement;
    struct ptx_instruction *ins = low_first ? low->ins : high->ins;
    for (int i = 0; i < high->count; i++) {
        low->address[low->count + i] = high->address[i];
        low->value[low->count + i] = high->value[i];
        low->reg[low->count + i] = high->reg[i];
    }
    low->count *= 2;
    low->ins = ins;
    low->statement = stays;
    struct ptx_code built = {0}, *before = ptx_divert(&l->b, &built);
    const char *wide = arena_printf(l->arena, "%s.v%d.*", low->name, low->count);
    struct ptx_instruction *made =
        ptx_emit_for(&l->b, PTX_TYPES((uint16_t)low->type), wide,
                     ptx_vector(&l->b, low->reg, (size_t)low->count), low->at);
    ptx_divert(&l->b, before);
    made->line = ins->line;
    *ins = *made;
    take_out(l, r, goes);
}

/* The last of the loads with its neighbours, and what becomes of them with theirs. */
static void join_neighbours(struct lower *l, struct recent *r)
{
    for (size_t i = 0; i + 1 < r->loads.count;) {
        struct load *last = &r->loads.data[r->loads.count - 1], *other = &r->loads.data[i++];
        bool follows = may_follow(l, other, last);
        if (!follows && !may_follow(l, last, other))
            continue;
        struct load low = follows ? *other : *last, high = follows ? *last : *other;
        join(l, r, &low, &high);
        *other = r->loads.data[r->loads.count - 2];
        r->loads.data[r->loads.count - 2] = low;
        r->loads.count--;
        i = 0;
    }
}

void recent_add(struct lower *l, const char *name, enum ptx_mod type, int size, bool constant,
                const struct value *address, struct ptx_operand at, struct ptx_instruction *ins,
                const struct value *v)
{
    struct recent *r = recent_now(l);
    struct code code = code_of(l);
    struct load load = {.name = name,
                        .type = type,
                        .size = size,
                        .count = 1,
                        .ins = ins,
                        .at = at,
                        .statement = *code.count - 1,
                        .address = {address},
                        .value = {v},
                        .reg = {ins->operands[0]},
                        .constant = constant};
    if (*code.count == 0 || code.data[load.statement].kind != PTX_AT_INSTRUCTION ||
        code.data[load.statement].instruction != ins || at.base != PTX_BASE_REGISTER)
        return;
    if (r->loads.count == MOST_RECENT) {
        for (size_t i = 1; i < MOST_RECENT; i++)
            r->loads.data[i - 1] = r->loads.data[i];
        r->loads.count--;
    }
    vec_push(l->arena, &r->loads, load);
    join_neighbours(l, r);
}
