#include "ptx_mutants.h"

#include "base/text.h"

#include <string.h>

struct maker {
    struct arena *arena;
    const struct ptx_function *function;
    struct ptx_mutants *found;
    size_t statement; /* its place in the body */
    struct ptx_instruction *ins;
    const char *text; /* text of the instruction, without its guard */
    bool *shared;     /* registers that shared addresses are computed from */
};

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *text_of(struct maker *m, const struct ptx_instruction *ins)
{
    struct text t;
    text_init(&t, m->arena);
    ptx_print_instruction(&t, m->function, ins);
    const char *behind = t.data[0] == '@' ? strchr(t.data, ' ') + 1 : t.data;
    return behind;
}

static void add(struct maker *m, const char *kind, struct ptx_instruction *changed)
{
    struct ptx_mutant made = {.kind = kind,
                              .number = 1,
                              .line = m->ins->line ? (int)m->ins->line->line : 0,
                              .text = m->text,
                              .statement = m->statement,
                              .original = m->ins,
                              .changed = changed};
    for (size_t i = 0; i < m->found->count; i++)
        made.number += strcmp(m->found->data[i].kind, kind) == 0;
    vec_push(m->arena, m->found, made);
}

static struct ptx_instruction *copy_of(struct maker *m)
{
    struct ptx_instruction *copy = arena_new(m->arena, struct ptx_instruction);
    *copy = *m->ins;
    copy->operands = arena_array(m->arena, struct ptx_operand, copy->operand_count + 1);
    memcpy(copy->operands, m->ins->operands, copy->operand_count * sizeof *copy->operands);
    return copy;
}

/* --- synchronisation --- */

static void replace_mod(struct maker *m, const char *kind, enum ptx_mod from, enum ptx_mod to)
{
    for (int i = 0; i < m->ins->mod_count; i++)
        if (m->ins->mods[i] == from) {
            struct ptx_instruction *copy = copy_of(m);
            copy->mods[i] = (uint16_t)to;
            add(m, kind, copy);
        }
}

static void mutate_order(struct maker *m)
{
    bool fence = starts(m->text, "fence.") || starts(m->text, "membar.");
    if (fence)
        add(m, "fence-removed", NULL);
    else
        for (int i = 0; i < 3; i++)
            replace_mod(m, "order-removed",
                        (enum ptx_mod[]){MOD_ACQUIRE, MOD_RELEASE, MOD_ACQ_REL}[i], MOD_RELAXED);
    replace_mod(m, "scope-narrowed", MOD_GPU, MOD_CTA);
    replace_mod(m, "scope-narrowed", MOD_SYS, MOD_CTA);
}

static void mutate_sync(struct maker *m)
{
    if (starts(m->text, "bar.") || starts(m->text, "barrier."))
        add(m, "barrier-removed", NULL);
    else if (starts(m->text, "cp.async.commit_group"))
        add(m, "commit-removed", NULL);
    else if (starts(m->text, "cp.async.wait_"))
        add(m, "wait-removed", NULL);
    if (starts(m->text, "cp.async.wait_group")) {
        struct ptx_instruction *copy = copy_of(m);
        copy->operands[0].bits++;
        add(m, "wait-more", copy);
    }
    mutate_order(m);
}

/* --- indices --- */

/* Returns the bytes of an access and of its elements. */
static int access_bytes(const struct ptx_instruction *ins, const char *text, int *element)
{
    *element = 0;
    if (starts(text, "ldmatrix") || starts(text, "stmatrix"))
        return 16;
    if (starts(text, "cp.async."))
        return ins->operand_count > 2 && ins->operands[2].kind == PTX_IMMEDIATE
                   ? (int)ins->operands[2].bits
                   : 0;
    enum ptx_mod type = ptx_type(ins, 0);
    *element = type == MOD_NONE ? 0 : ptx_mods[type].bits / 8;
    return *element * ptx_vector_length(ins);
}

/* Returns true for a copy that only fills with zeros. */
static bool reads_nothing(const struct ptx_instruction *ins, const char *text)
{
    return starts(text, "cp.async.") && ins->operand_count > 3 &&
           ins->operands[3].kind == PTX_IMMEDIATE && ins->operands[3].bits == 0;
}

static void move_address(struct ptx_operand *o, int bytes)
{
    ptx_set_offset(o, ptx_offset(o) + bytes);
}

static void mutate_index(struct maker *m)
{
    int element, bytes = access_bytes(m->ins, m->text, &element);
    if (!bytes || starts(m->text, "ld.param"))
        return;
    for (int i = 0; i < m->ins->operand_count; i++) {
        if (m->ins->operands[i].kind != PTX_ADDRESS || (i == 1 && reads_nothing(m->ins, m->text)))
            continue;
        struct ptx_instruction *copy = copy_of(m);
        move_address(&copy->operands[i], bytes);
        add(m, "index", copy);
        if (element && element != bytes) {
            copy = copy_of(m);
            move_address(&copy->operands[i], element);
            add(m, "index", copy);
        }
    }
}

/* --- the computation of shared addresses --- */

static bool computes_address(const char *text)
{
    static const char *const names[] = {"add.", "sub.", "mad.lo", "mul.lo", "shl.",
                                        "xor.", "or.",  "mov.",   "selp."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (starts(text, names[i]))
            return true;
    return false;
}

static void mark_addresses(struct maker *m, const struct ptx_instruction *ins)
{
    if (!ptx_has(ins, MOD_SHARED) && !starts(text_of(m, ins), "ldmatrix"))
        return;
    for (int i = 0; i < ins->operand_count; i++) { /* in a copy, the first is the shared one */
        const struct ptx_operand *o = &ins->operands[i];
        if (o->kind != PTX_ADDRESS)
            continue;
        if (o->base == PTX_BASE_REGISTER)
            m->shared[o->reg] = true;
        return;
    }
}

static bool mark_sources(struct maker *m, const struct ptx_instruction *ins)
{
    bool more = false;
    if (!ins->operand_count || ins->operands[0].kind != PTX_REGISTER ||
        !m->shared[ins->operands[0].reg] || !computes_address(text_of(m, ins)))
        return false;
    for (int i = 1; i < ins->operand_count; i++) {
        const struct ptx_operand *o = &ins->operands[i];
        if (o->kind == PTX_REGISTER && !m->shared[o->reg])
            more = m->shared[o->reg] = true;
    }
    return more;
}

static void find_addresses(struct maker *m)
{
    const struct ptx_function *f = m->function;
    m->shared = arena_array(m->arena, bool, f->registers.count + 1);
    for (size_t i = 0; i < f->body.count; i++)
        if (f->body.data[i].kind == PTX_AT_INSTRUCTION)
            mark_addresses(m, f->body.data[i].instruction);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = f->body.count; i-- > 0;)
            if (f->body.data[i].kind == PTX_AT_INSTRUCTION)
                more = mark_sources(m, f->body.data[i].instruction) || more;
    }
}

static void mutate_swizzle(struct maker *m)
{
    struct ptx_instruction *copy = copy_of(m);
    copy->operands[2] = (struct ptx_operand){.kind = PTX_IMMEDIATE};
    add(m, "swizzle-removed", copy);
}

static void mutate_padding(struct maker *m)
{
    int64_t factor = (int64_t)m->ins->operands[2].bits, size = factor < 0 ? -factor : factor;
    if (m->ins->operands[2].kind != PTX_IMMEDIATE || size < 3 || (size & (size - 1)) == 0)
        return;
    while (size & (size - 1))
        size &= size - 1;
    struct ptx_instruction *copy = copy_of(m);
    copy->operands[2].bits = (uint64_t)(factor < 0 ? -size : size);
    add(m, "padding-removed", copy);
}

static void mutate_address(struct maker *m)
{
    const struct ptx_operand *to = m->ins->operands;
    if (m->ins->operand_count < 3 || to->kind != PTX_REGISTER || !m->shared[to->reg])
        return;
    if (starts(m->text, "xor."))
        mutate_swizzle(m);
    else if (starts(m->text, "mad.lo") || starts(m->text, "mul.lo"))
        mutate_padding(m);
}

struct ptx_mutants *ptx_mutants_make(struct arena *a, const struct ptx_function *f)
{
    struct maker m = {.arena = a, .function = f, .found = arena_new(a, struct ptx_mutants)};
    find_addresses(&m);
    for (size_t i = 0; i < f->body.count; i++) {
        if (f->body.data[i].kind != PTX_AT_INSTRUCTION)
            continue;
        m.statement = i;
        m.ins = f->body.data[i].instruction;
        m.text = text_of(&m, m.ins);
        mutate_sync(&m);
        mutate_index(&m);
        mutate_address(&m);
    }
    return m.found;
}

void ptx_mutant_apply(struct ptx_function *f, const struct ptx_mutant *m)
{
    struct ptx_statement *s = &f->body.data[m->statement];
    s->instruction = m->changed;
    if (!m->changed) {
        s->kind = PTX_AT_PRAGMA;
        s->pragma = "nounroll";
    }
}

void ptx_mutant_undo(struct ptx_function *f, const struct ptx_mutant *m)
{
    struct ptx_statement *s = &f->body.data[m->statement];
    s->kind = PTX_AT_INSTRUCTION;
    s->instruction = m->original;
}
