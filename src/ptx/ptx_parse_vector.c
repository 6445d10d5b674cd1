/* Vectors of registers (PTX ISA, vectors), special registers like %tid, mov of vectors.
 *
 * A vector is taken apart as it is read: what is behind the parser knows registers only.
 */
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
    o->count = width;
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
    const struct ptx_name *name = ptx_names_find(&p->index.specials, first, strlen(first));
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

/* --- mov --- */

/* The mov of element i, without the modifier for vectors. */
static void push_part(struct ptx_parser *p, struct loc where, const struct ptx_instruction *ins,
                      uint32_t i)
{
    struct ptx_instruction *part = arena_new(p->arena, struct ptx_instruction);
    *part = *ins;
    part->mod_count = 0;
    memset(part->mods, 0, sizeof part->mods);
    for (int k = 0; k < ins->mod_count; k++)
        if (ptx_mods[ins->mods[k]].class != PTX_CLASS_VECTOR)
            part->mods[part->mod_count++] = ins->mods[k];
    part->operands = arena_array(p->arena, struct ptx_operand, 2);
    part->operands[0] = ins->operands[0].elements[i];
    part->operands[1] = ins->operands[1].elements[i];
    ptx_push_instruction(p, where, part);
}

static bool is_register(const struct ptx_operand *o, uint32_t reg)
{
    return o->kind == PTX_REGISTER && o->reg == reg;
}

/* Is what element i writes read by another one that is still to come? */
static bool is_needed(const struct ptx_instruction *ins, uint32_t i, const bool *done)
{
    const struct ptx_operand *to = &ins->operands[0], *from = &ins->operands[1];
    if (to->elements[i].kind != PTX_REGISTER)
        return false;
    for (uint32_t k = 0; k < from->count; k++)
        if (k != i && !done[k] && is_register(&from->elements[k], to->elements[i].reg))
            return true;
    return false;
}

bool ptx_push_vector_mov(struct ptx_parser *p, struct loc where, const struct ptx_instruction *ins)
{
    enum { MOST = 4, MOST_BITS = 128 };
    const struct ptx_operand *o = ins->operands;
    uint32_t count = (uint32_t)ptx_vector_length(ins), left = count;
    bool done[MOST] = {false};
    enum ptx_mod type = ptx_type(ins, 0);
    if (type == MOD_PRED || ptx_mods[type].bits * count > MOST_BITS) {
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
    while (left) {
        uint32_t i = 0;
        while (i < count && (done[i] || is_needed(ins, i, done)))
            i++;
        if (i == count) {
            diag_error(p->diag, where, "a mov that exchanges registers is not supported");
            return false;
        }
        if (o[0].elements[i].kind != PTX_SINK)
            push_part(p, where, ins, i);
        done[i] = true;
        left--;
    }
    return true;
}
