/* Addresses are followed as a root and a distance from it. A register that is written once in
 * the whole function keeps its root; other registers lose theirs at the start of each basic
 * block. */
#include "sim/sim_merge.h"

#include "ptx/ptx_choose.h"

#include <stdlib.h>
#include <string.h>

/* The value of a register: root + distance. Roots are numbers. Two roots of one variable may be
 * the same bytes; two roots of different variables are not. */
struct value {
    uint32_t root; /* 0: not known yet */
    uint32_t block;
    int64_t distance;
    const struct ptx_variable *variable; /* variable that the address is in; NULL: not known */
};

/* Accesses that may be joined, until an instruction forbids it. */
struct open {
    uint8_t kind, space;
    bool constant; /* ld.global.nc: no store changes the memory */
    bool closed;
    uint32_t root;
    const struct ptx_variable *variable;
    uint32_t guard; /* root of the predicate; 0: none */
    bool guard_negated;
    VEC(struct sim_merged) list; /* distances from the root */
};

struct finder {
    struct arena *arena;
    const struct ptx_function *function;
    struct value *values; /* by register */
    bool *rewritten;      /* by register: written at more than one place */
    bool *target;         /* by statement: a label that is branched to */
    uint32_t roots, block;
    VEC(struct value) variables; /* their roots */
    VEC(struct open) open;       /* of this block */
    VEC(struct sim_merge) found;
};

/* --- values --- */

static struct value fresh(struct finder *f, const struct ptx_variable *variable)
{
    return (struct value){++f->roots, f->block, 0, variable};
}

static struct value of_variable(struct finder *f, const struct ptx_variable *variable)
{
    for (size_t i = 0; i < f->variables.count; i++)
        if (f->variables.data[i].variable == variable)
            return f->variables.data[i];
    struct value v = fresh(f, variable);
    vec_push(f->arena, &f->variables, v);
    return v;
}

static struct value of_register(struct finder *f, uint32_t reg)
{
    struct value *v = &f->values[reg];
    if (!v->root || (f->rewritten[reg] && v->block != f->block))
        *v = fresh(f, NULL);
    return *v;
}

/* Returns the value of an operand, or the place that an address names. */
static struct value of_operand(struct finder *f, const struct ptx_operand *o)
{
    struct value v = {0};
    if (o->kind == PTX_REGISTER)
        return of_register(f, o->reg);
    if (o->kind != PTX_ADDRESS && o->kind != PTX_SYMBOL)
        return v;
    if (o->base == PTX_BASE_REGISTER)
        v = of_register(f, o->reg);
    else if (o->base == PTX_BASE_VARIABLE)
        v = of_variable(f, o->variable);
    v.distance += ptx_offset(o);
    return v;
}

/* Returns a constant in the type's width, with its sign. */
static int64_t constant(const struct ptx_instruction *ins, const struct ptx_operand *o)
{
    return ptx_mods[ptx_type(ins, 0)].bits == 32 ? (int32_t)o->bits : (int64_t)o->bits;
}

/* Returns the value of an add or sub. */
static struct value sum(struct finder *f, const struct ptx_instruction *ins)
{
    const struct ptx_operand *a = &ins->operands[1], *b = &ins->operands[2];
    bool adds = ins->op == PTX_ADD;
    if (adds && a->kind == PTX_IMMEDIATE) {
        const struct ptx_operand *other = a;
        a = b;
        b = other;
    }
    struct value v = of_operand(f, a), w = of_operand(f, b);
    if (!v.root)
        return fresh(f, NULL);
    if (b->kind == PTX_IMMEDIATE) {
        v.distance += adds ? constant(ins, b) : -constant(ins, b);
        return v;
    }
    return fresh(f, v.variable && w.variable ? NULL : v.variable ? v.variable : w.variable);
}

static struct value result(struct finder *f, const struct ptx_instruction *ins)
{
    struct value v = {0};
    if (ins->guarded)
        return fresh(f, NULL);
    if ((ins->op == PTX_ADD || ins->op == PTX_SUB) && ins->operand_count == 3)
        return sum(f, ins);
    if ((ins->op == PTX_MOV || ins->op == PTX_CVTA) && ins->operand_count == 2)
        v = of_operand(f, &ins->operands[1]);
    return v.root ? v : fresh(f, NULL);
}

/* --- what an instruction writes --- */

typedef void written(struct finder *f, uint32_t reg, const struct value *v);

static void each_register(struct finder *f, const struct ptx_operand *o, const struct value *v,
                          written *tell)
{
    if (o->kind == PTX_REGISTER)
        tell(f, o->reg, v);
    for (uint32_t i = 0; (o->kind == PTX_VECTOR || o->kind == PTX_LIST) && i < o->count; i++)
        each_register(f, &o->elements[i], NULL, tell);
}

/* Calls `tell` for the operands that the form says are written, or for all if the form is not
 * known. The value is for the first one. */
static void each_written(struct finder *f, const struct ptx_instruction *ins, const struct value *v,
                         written *tell)
{
    struct ptx_choice choice;
    ptx_choose(f->function, ins, false, &choice);
    for (size_t i = 0; i < ins->operand_count; i++) {
        const struct ptx_slot *slot = choice.form ? &choice.form->slot[choice.slots[i]] : NULL;
        if (!slot || slot->flags & SLOT_WRITTEN || slot->kind == SLOT_CALL)
            each_register(f, &ins->operands[i], i == 0 ? v : NULL, tell);
    }
}

static void note_written(struct finder *f, uint32_t reg, const struct value *v)
{
    (void)v;
    f->rewritten[reg] = f->values[reg].block; /* for now: was written before */
    f->values[reg].block = 1;
}

static void give_value(struct finder *f, uint32_t reg, const struct value *v)
{
    f->values[reg] = v ? *v : fresh(f, NULL);
    f->values[reg].block = f->block;
}

/* --- accesses --- */

static bool same_space(uint8_t a, uint8_t b)
{
    return a == b || a == ACCESS_GENERIC || b == ACCESS_GENERIC;
}

/* Closes the accesses that must not be moved across this one, because both may be of the same
 * bytes. Two distances from one root are known to differ; if they do not, the later access is
 * the one that would be left out. */
static void close_across(struct finder *f, const struct coded_access *access,
                         const struct value *at)
{
    for (size_t i = 0; i < f->open.count; i++) {
        struct open *o = &f->open.data[i];
        bool stores = access->kind != ACCESS_LOAD && access->kind != ACCESS_LOAD_MATRIX;
        bool apart = o->root == at->root ||
                     (o->variable && at->variable && o->variable != at->variable) || o->constant;
        if (same_space(o->space, access->space) && !apart && (stores || o->kind == ACCESS_STORE))
            o->closed = true;
    }
}

static void close_all(struct finder *f)
{
    for (size_t i = 0; i < f->open.count; i++)
        f->open.data[i].closed = true;
}

/* Returns true if an access is neither volatile nor ordered, so that it may be joined. */
static bool is_plain(const struct ptx_instruction *ins, const struct coded_access *access)
{
    bool weak = ptx_has(ins, MOD_WEAK) || !ptx_find(ins, PTX_CLASS_ORDER, 0);
    return (access->kind == ACCESS_LOAD || access->kind == ACCESS_STORE) && weak &&
           !ptx_has(ins, MOD_VOLATILE) && access->bytes && access->bytes < SIM_WIDEST &&
           ins->op != PTX_LDU;
}

static bool joins(const struct open *o, const struct open *like)
{
    return !o->closed && o->kind == like->kind && o->space == like->space &&
           o->constant == like->constant && o->root == like->root && o->guard == like->guard &&
           o->guard_negated == like->guard_negated;
}

static void open_access(struct finder *f, const struct ptx_instruction *ins,
                        const struct coded_access *access, const struct value *at)
{
    struct open like = {.kind = access->kind,
                        .space = access->space,
                        .constant = ptx_has(ins, MOD_NC),
                        .root = at->root,
                        .variable = at->variable,
                        .guard = ins->guarded ? of_register(f, ins->guard).root : 0,
                        .guard_negated = ins->guard_negated};
    struct sim_merged one = {ins, at->distance, access->bytes};
    for (size_t i = f->open.count; i-- > 0;)
        if (joins(&f->open.data[i], &like)) {
            vec_push(f->arena, &f->open.data[i].list, one);
            return;
        }
    vec_push(f->arena, &like.list, one);
    vec_push(f->arena, &f->open, like);
}

/* Returns the operand that is the address. */
static const struct ptx_operand *address_of(const struct ptx_instruction *ins)
{
    for (size_t i = 0; i < ins->operand_count; i++)
        if (ptx_address_in(&ins->operands[i]))
            return ptx_address_in(&ins->operands[i]);
    return NULL;
}

/* Returns true for atomic operations, fences, barriers, calls and everything else that may
 * access memory; false for arithmetic. */
static bool forbids(const struct ptx_instruction *ins)
{
    switch ((int)ins->op) {
    case PTX_LD:
    case PTX_ST:
    case PTX_LDU:
    case PTX_LDMATRIX:
    case PTX_CP_ASYNC_COMMIT_GROUP: return false;
    case PTX_BAR:
    case PTX_BARRIER:
    case PTX_BAR_WARP_SYNC:
    case PTX_BARRIER_CLUSTER:
    case PTX_MEMBAR:
    case PTX_FENCE:
    case PTX_CALL:
    case PTX_CP_ASYNC_WAIT_GROUP:
    case PTX_CP_ASYNC_WAIT_ALL: return true;
    default: return address_of(ins) != NULL;
    }
}

static void see_access(struct finder *f, const struct ptx_instruction *ins)
{
    struct coded_access access;
    if (forbids(ins)) {
        close_all(f);
        return;
    }
    const struct ptx_operand *where = address_of(ins);
    if (!ptx_access_of(ins, &access) || !where)
        return;
    struct value at = of_operand(f, where);
    close_across(f, &access, &at);
    if (at.root && is_plain(ins, &access))
        open_access(f, ins, &access, &at);
}

/* --- pieces --- */

/* The pieces at a residue: the first address minus the multiple of `unit` below it. */
struct sim_pieces {
    bool known;
    struct piece {
        int64_t distance;
        int bytes;
    } * list;
    size_t count;
};

static int by_distance(const void *left, const void *right)
{
    const struct sim_merged *a = left, *b = right;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return b->bytes - a->bytes;
}

/* Returns the greatest width of a piece that starts here and does not cut an access in two. */
static int widest_at(const struct sim_merged *list, size_t count, size_t from, int64_t start,
                     uint64_t residue, int unit)
{
    int best = list[from].bytes;
    int64_t covered = start + best;
    for (size_t i = from; i < count && list[i].distance <= covered; i++) {
        int64_t end = list[i].distance + list[i].bytes;
        covered = end > covered ? end : covered;
        int64_t bytes = covered - start;
        bool fits = bytes <= unit && (bytes & (bytes - 1)) == 0 &&
                    ((residue + (uint64_t)start) & (uint64_t)(bytes - 1)) == 0;
        bool cuts = i + 1 < count && list[i + 1].distance < covered &&
                    list[i + 1].distance + list[i + 1].bytes > covered;
        if (fits && !cuts && bytes > best)
            best = (int)bytes;
        if (bytes > unit)
            break;
    }
    return best;
}

static void cut_pieces(struct arena *a, const struct sim_merge *m, uint64_t residue, int unit,
                       struct sim_pieces *out)
{
    struct sim_merged *list = arena_copy(a, m->list, m->count * sizeof *list);
    int64_t done = INT64_MIN;
    qsort(list, m->count, sizeof *list, by_distance);
    *out = (struct sim_pieces){.known = true, .list = arena_array(a, struct piece, m->count)};
    for (size_t i = 0; i < m->count; i++) {
        if (list[i].distance + list[i].bytes <= done) /* read already */
            continue;
        int bytes = widest_at(list, m->count, i, list[i].distance, residue, unit);
        done = list[i].distance + bytes;
        out->list[out->count++] = (struct piece){list[i].distance, bytes};
    }
}

/* Returns the largest unit for which all lanes' addresses have the same residue. */
static int common_unit(const struct sim_access *first, uint64_t *residue)
{
    uint64_t differ = 0, at = first->address[__builtin_ctz(first->mask)];
    int unit = SIM_WIDEST;
    for (int i = 0; i < SIM_LANES; i++)
        if (first->mask >> i & 1)
            differ |= first->address[i] ^ at;
    while (differ & (uint64_t)(unit - 1))
        unit /= 2;
    *residue = at & (uint64_t)(unit - 1);
    return unit;
}

void sim_merge_pieces(struct arena *a, struct sim_merge *m, const struct sim_access *first,
                      void (*tell)(void *user, const struct sim_access *piece), void *user)
{
    uint64_t residue;
    if (!first->mask)
        return;
    int unit = common_unit(first, &residue);
    struct sim_pieces *p = &m->pieces[(uint64_t)unit + residue];
    if (!p->known)
        cut_pieces(a, m, residue, unit, p);
    struct sim_access piece = *first;
    piece.pattern = SIM_UNSORTED;
    for (size_t k = 0; k < p->count; k++) {
        piece.bytes = p->list[k].bytes;
        for (int i = 0; i < SIM_LANES; i++)
            piece.address[i] = first->address[i] + (uint64_t)p->list[k].distance;
        tell(user, &piece);
    }
}

/* --- a function --- */

/* Returns true if the accesses can become fewer at any alignment. */
static bool may_shrink(struct arena *a, const struct sim_merge *m)
{
    struct sim_pieces p;
    for (uint64_t residue = 0; residue < SIM_WIDEST; residue++) {
        cut_pieces(a, m, residue, SIM_WIDEST, &p);
        if (p.count < m->count)
            return true;
    }
    return false;
}

static void end_block(struct finder *f)
{
    for (size_t i = 0; i < f->open.count; i++) {
        struct open *o = &f->open.data[i];
        struct sim_merge m = {(enum coded_access_kind)o->kind, o->list.data, o->list.count, NULL};
        if (m.count < 2)
            continue;
        for (size_t k = m.count; k-- > 0;)
            m.list[k].distance -= m.list[0].distance;
        if (!may_shrink(f->arena, &m))
            continue;
        m.pieces = arena_array(f->arena, struct sim_pieces, 2 * SIM_WIDEST);
        vec_push(f->arena, &f->found, m);
    }
    f->open.count = 0;
    f->block++;
}

static void see_instruction(struct finder *f, const struct ptx_instruction *ins)
{
    see_access(f, ins);
    struct value v = result(f, ins);
    each_written(f, ins, &v, give_value);
    if (ins->op == PTX_BRA || ins->op == PTX_BRX_IDX)
        end_block(f);
}

/* Notes the labels that are branched to. Other labels are for debuggers and do not end a block. */
static void note_targets(struct finder *f, const struct ptx_statement *s)
{
    const struct ptx_instruction *ins = s->kind == PTX_AT_INSTRUCTION ? s->instruction : NULL;
    for (size_t i = 0; ins && ins->op == PTX_BRA && i < ins->operand_count; i++) {
        const struct ptx_operand *o = &ins->operands[i];
        if (o->kind == PTX_LABEL && o->label && o->label->defined)
            f->target[o->label->statement] = true;
    }
    for (size_t i = 0; s->kind == PTX_AT_TARGETS && i < s->targets->labels.count; i++)
        f->target[s->targets->labels.data[i]->statement] = true;
}

static void look_ahead(struct finder *f)
{
    for (size_t i = 0; i < f->function->body.count; i++) {
        const struct ptx_statement *s = &f->function->body.data[i];
        note_targets(f, s);
        if (s->kind == PTX_AT_INSTRUCTION)
            each_written(f, s->instruction, NULL, note_written);
    }
    memset(f->values, 0, f->function->registers.count * sizeof *f->values);
}

void sim_merges_find(struct arena *a, const struct ptx_function *function, struct sim_merges *out)
{
    size_t registers = function->registers.count + 1;
    struct finder f = {.arena = a,
                       .function = function,
                       .values = arena_array(a, struct value, registers),
                       .rewritten = arena_array(a, bool, registers),
                       .target = arena_array(a, bool, function->body.count + 1),
                       .block = 1};
    look_ahead(&f);
    for (size_t i = 0; i < function->body.count; i++) {
        const struct ptx_statement *s = &function->body.data[i];
        if (f.target[i])
            end_block(&f);
        if (s->kind == PTX_AT_INSTRUCTION)
            see_instruction(&f, s->instruction);
    }
    end_block(&f);
    *out = (struct sim_merges){f.found.data, f.found.count};
}
