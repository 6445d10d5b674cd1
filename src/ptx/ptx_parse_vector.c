/* Vectors of registers (PTX ISA, vectors), special registers like %tid, mov of vectors.
 *
 * The parser splits a vector into its registers, so the passes after it know registers only. */
#include "ptx/ptx_parser.h"

#include <string.h>

static int element_of(const struct ptx_token *token)
{
    static const char letters[] = "xyzwrgba";
    if (token->kind != PTX_TOKEN_DOT || token->length != 1)
        return -1;
    const char *at = strchr(letters, token->text[0]);
    return at ? (int)(at - letters) % 4 : -1;
}

bool ptx_read_vector(struct ptx_parser *p, const struct ptx_registers *range, uint32_t first,
                     struct ptx_operand *o)
{
    uint32_t width = ptx_registers_width(range);
    int element = element_of(&p->token);
    if (element >= (int)width) {
        diag_error(p->diag, ptx_here(p), "`%s` is a vector of %u registers", range->name,
                   (unsigned)width);
        return false;
    }
    if (element >= 0) {
        ptx_advance(p);
        o->kind = PTX_REGISTER;
        o->reg = first + (uint32_t)element;
        return true;
    }
    o->kind = PTX_VECTOR;
    o->count = (uint16_t)width;
    o->elements = arena_array(p->arena, struct ptx_operand, width);
    for (uint32_t i = 0; i < width; i++)
        o->elements[i] = (struct ptx_operand){.kind = PTX_REGISTER, .reg = first + i};
    return true;
}

/* PTX ISA, special-registers-tid: "a 3D vector; the fourth element is unused and always 0". */
bool ptx_read_special_vector(struct ptx_parser *p, struct ptx_operand *o)
{
    enum { PARTS = 3, ELEMENTS = 4 };
    const char *first = arena_printf(p->arena, "%.*s.x", (int)p->token.length, p->token.text);
    const struct name_entry *name = name_table_find(&p->index.specials, first, strlen(first));
    if (!name)
        return false;
    struct ptx_operand *elements = arena_array(p->arena, struct ptx_operand, ELEMENTS);
    for (uint32_t i = 0; i < PARTS; i++)
        elements[i] =
            (struct ptx_operand){.kind = PTX_SPECIAL, .special = (uint16_t)(name->number + i)};
    elements[PARTS] = (struct ptx_operand){.kind = PTX_IMMEDIATE};
    ptx_advance(p);
    int element = element_of(&p->token);
    if (element >= 0) {
        *o = elements[element];
        ptx_advance(p);
        return true;
    }
    o->kind = PTX_VECTOR;
    o->count = ELEMENTS;
    o->elements = elements;
    return true;
}

/* --- mov ---
 *
 * A mov of a vector reads all elements before it writes any. So each mov of an element follows
 * the movs that read the register it writes. If registers change places, an added register keeps
 * the value that is overwritten first. If several elements go to one register, the last one
 * counts. */

enum { MOST = 4 };

struct vector_mov {
    struct ptx_parser *p;
    struct loc where;
    const struct ptx_instruction *ins;
    uint32_t count;
    struct ptx_operand to[MOST], from[MOST];
    bool done[MOST];
    bool opened; /* has a block for added registers */
};

/* Pushes the mov of one element, with the modifiers of the whole except the vector's. */
static struct ptx_instruction *push_part(struct vector_mov *m, struct ptx_operand to,
                                         struct ptx_operand from)
{
    struct ptx_instruction *part = arena_new(m->p->arena, struct ptx_instruction);
    *part = *m->ins;
    part->mod_count = 0;
    memset(part->mods, 0, sizeof part->mods);
    for (int k = 0; k < m->ins->mod_count; k++)
        if (ptx_mods[m->ins->mods[k]].class != PTX_CLASS_VECTOR)
            part->mods[part->mod_count++] = m->ins->mods[k];
    part->operands = arena_array(m->p->arena, struct ptx_operand, 2);
    part->operands[0] = to;
    part->operands[1] = from;
    ptx_push_instruction(m->p, m->where, part);
    return part;
}

static bool is_register(const struct ptx_operand *o, uint32_t reg)
{
    return o->kind == PTX_REGISTER && o->reg == reg;
}

static bool is_lost(const struct vector_mov *m, uint32_t i)
{
    bool lost = m->to[i].kind == PTX_SINK;
    for (uint32_t k = i + 1; k < m->count && m->to[i].kind == PTX_REGISTER; k++)
        lost = lost || is_register(&m->to[k], m->to[i].reg);
    return lost;
}

/* Returns true if another element that is not yet moved reads the register that element i
 * writes. */
static bool is_needed(const struct vector_mov *m, uint32_t i)
{
    bool needed = false;
    for (uint32_t k = 0; k < m->count && m->to[i].kind == PTX_REGISTER; k++)
        needed = needed || (k != i && !m->done[k] && is_register(&m->from[k], m->to[i].reg));
    return needed;
}

static const char *new_name(const struct ptx_parser *p)
{
    uint32_t reg;
    for (int n = 0;; n++) {
        const char *name = arena_printf(p->arena, "%%kept%d", n);
        if (!ptx_lookup(p, name, strlen(name), &reg))
            return name;
    }
}

/* Makes a register of a type that takes every operand of a mov of this type. */
static bool new_register(struct vector_mov *m, struct ptx_operand *o)
{
    struct ptx_registers *range = arena_new(m->p->arena, struct ptx_registers);
    int bits = ptx_mods[ptx_type(m->ins, 0)].bits;
    *range = (struct ptx_registers){.name = new_name(m->p), .count = 1};
    range->type = bits == 16 ? MOD_B16 : bits == 32 ? MOD_B32 : MOD_B64;
    if (!ptx_declare_registers(m->p, m->where, range))
        return false;
    *o = (struct ptx_operand){.kind = PTX_REGISTER, .reg = range->first};
    return true;
}

/* Copies the register that element i writes to a new one; later elements read the new one. */
static bool keep(struct vector_mov *m, uint32_t i)
{
    struct ptx_operand kept;
    m->opened = m->opened || ptx_open_block(m->p, m->where);
    if (!m->opened || !new_register(m, &kept))
        return false;
    push_part(m, kept, m->to[i])->guarded = false;
    for (uint32_t k = 0; k < m->count; k++)
        if (k != i && is_register(&m->from[k], m->to[i].reg))
            m->from[k] = kept;
    return true;
}

static bool push_parts(struct vector_mov *m)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        m->done[i] = is_lost(m, i);
        left += !m->done[i];
    }
    for (; left; left--) {
        uint32_t i = 0, first = 0;
        while (m->done[first])
            first++;
        while (i < m->count && (m->done[i] || is_needed(m, i)))
            i++;
        if (i == m->count && !keep(m, i = first))
            return false;
        push_part(m, m->to[i], m->from[i]);
        m->done[i] = true;
    }
    return true;
}

bool ptx_push_vector_mov(struct ptx_parser *p, struct loc where, const struct ptx_instruction *ins)
{
    const struct ptx_operand *o = ins->operands;
    uint32_t count = (uint32_t)ptx_vector_length(ins);
    enum ptx_mod type = ptx_type(ins, 0);
    if (!ptx_vector_exists(type, count)) {
        diag_error(p->diag, where, "there is no `mov` of .v%u .%s", (unsigned)count,
                   ptx_mods[type].text);
        return false;
    }
    bool fine = ins->operand_count == 2 && count <= MOST && o[0].kind == PTX_VECTOR &&
                o[1].kind == PTX_VECTOR && o[0].count == count && o[1].count == count;
    if (!fine) {
        diag_error(p->diag, where, "`mov.v%u` takes two vectors of that length, 2 or 4",
                   (unsigned)count);
        return false;
    }
    struct vector_mov m = {.p = p, .where = where, .ins = ins, .count = count};
    memcpy(m.to, o[0].elements, count * sizeof *m.to);
    memcpy(m.from, o[1].elements, count * sizeof *m.from);
    fine = push_parts(&m);
    if (m.opened)
        ptx_close_block(p);
    return fine;
}
