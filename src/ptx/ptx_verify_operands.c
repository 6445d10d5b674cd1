/* Verifies the operands of one instruction: types, spaces, alignment, calls. */
#include "ptx/ptx_fragments.h"
#include "ptx/ptx_verifier.h"

#include <inttypes.h>
#include <string.h>

/* --- types --- */

/* Returns true if an instruction of type `type` takes a register of type `reg`. PTX ISA,
 * operand-type-checking: .b goes with every type of its size, .u and .s with each other and .b,
 * .f with .b; packed values are in .b registers. Loads, stores and conversions are less strict
 * (operand-size-exceeding-instruction-type-size): the register may be wider, but a float does
 * not take a wider float, and a float and an integer do not mix. */
static bool type_takes(enum ptx_mod type, enum ptx_mod reg, bool wider)
{
    const struct ptx_mod_info *t = &ptx_mods[type], *r = &ptx_mods[reg];
    if (type == reg)
        return true;
    if (t->class == PTX_CLASS_PREDICATE || r->class == PTX_CLASS_PREDICATE)
        return false;
    if (r->bits < t->bits || (r->bits > t->bits && !wider))
        return false;
    bool bits = r->class == PTX_CLASS_BITS || reg == MOD_F16X2;
    switch (t->class) {
    case PTX_CLASS_BITS: return true;
    case PTX_CLASS_UNSIGNED:
    case PTX_CLASS_SIGNED:
        return bits || r->class == PTX_CLASS_UNSIGNED || r->class == PTX_CLASS_SIGNED;
    default: return r->class == PTX_CLASS_BITS;
    }
}

static bool constant_suits(enum ptx_mod type, const struct ptx_operand *o)
{
    bool integer = o->kind == PTX_IMMEDIATE || o->kind == PTX_WARP_SZ;
    int bits = ptx_mods[type].bits;
    switch (ptx_mods[type].class) {
    case PTX_CLASS_BITS: /* a float constant has the bits of its own width */
        return o->kind == PTX_FLOAT ? bits == 32 : o->kind == PTX_DOUBLE ? bits == 64 : bits <= 64;
    case PTX_CLASS_UNSIGNED:
    case PTX_CLASS_SIGNED: return integer;
    case PTX_CLASS_FLOAT: return type != MOD_F16 && !integer;
    default: return false;
    }
}

static const char *register_text(struct ptx_verifier *v, uint32_t reg)
{
    return arena_printf(v->arena, "%s (.%s)", ptx_register_name(v->arena, v->function, reg),
                        ptx_mods[ptx_register_type(v->function, reg)].text);
}

static void wrong_type(struct ptx_verifier *v, const struct ptx_operand *o, enum ptx_mod type)
{
    const char *name = ptx_mnemonic(v->arena, v->instruction);
    if (o->kind == PTX_REGISTER)
        ptx_complain(v, "`%s`: register %s does not hold a .%s", name, register_text(v, o->reg),
                     ptx_mods[type].text);
    else
        ptx_complain(v, "`%s`: this constant is not a .%s", name, ptx_mods[type].text);
}

static void check_typed(struct ptx_verifier *v, const struct ptx_operand *o, enum ptx_mod type,
                        bool wider)
{
    if (o->kind == PTX_REGISTER) {
        if (!type_takes(type, ptx_register_type(v->function, o->reg), wider))
            wrong_type(v, o, type);
    } else if (o->kind == PTX_IMMEDIATE || o->kind == PTX_FLOAT || o->kind == PTX_DOUBLE ||
               o->kind == PTX_WARP_SZ) {
        if (!constant_suits(type, o))
            wrong_type(v, o, type);
    } else if (o->kind != PTX_SINK) {
        ptx_complain(v, "`%s`: a register is needed here", ptx_mnemonic(v->arena, v->instruction));
    }
}

/* Checks that a destination is a register, or `_` if the slot allows it, and that a source is
 * not `_`. */
static void check_place(struct ptx_verifier *v, const struct ptx_slot *slot,
                        const struct ptx_operand *o)
{
    bool written = slot->flags & SLOT_WRITTEN;
    if (written && o->kind != PTX_REGISTER && o->kind != PTX_SINK)
        ptx_complain(v, "`%s` writes here: a register is needed",
                     ptx_mnemonic(v->arena, v->instruction));
    if (o->kind == PTX_SINK && (!written || !(slot->flags & SLOT_MAY_SINK)))
        ptx_complain(v, "`%s`: there is no `_` here", ptx_mnemonic(v->arena, v->instruction));
}

static void check_special(struct ptx_verifier *v, const struct ptx_operand *o, enum ptx_mod type);

/* Returns true if the operand may be a special register: packed and stored operands may. */
static bool may_be_special(const struct ptx_slot *slot, const struct ptx_operand *o)
{
    bool read = !(slot->flags & SLOT_WRITTEN);
    return o->kind == PTX_SPECIAL && read && (slot->kind == SLOT_PACK || slot->kind == SLOT_SOURCE);
}

static void check_elements(struct ptx_verifier *v, const struct ptx_slot *slot,
                           const struct ptx_operand *o, enum ptx_mod type, bool wider)
{
    for (uint32_t i = 0; i < o->count; i++) {
        const struct ptx_operand *element = &o->elements[i];
        check_place(v, slot, element);
        if (!may_be_special(slot, element)) {
            check_typed(v, element, type, wider);
            continue;
        }
        check_special(v, element, type);
        const struct ptx_special_info *s = &ptx_specials[element->special];
        if (ptx_mods[s->type].bits != ptx_mods[type].bits)
            ptx_complain(v, "`%s`: %s is a .%s", ptx_mnemonic(v->arena, v->instruction), s->name,
                         ptx_mods[s->type].text);
    }
}

/* Checks that a vector's load or store takes registers of one width. */
static void check_alike(struct ptx_verifier *v, const struct ptx_operand *o)
{
    int first = 0;
    for (uint32_t i = 0; i < o->count; i++) {
        if (o->elements[i].kind != PTX_REGISTER)
            continue;
        int bits = ptx_mods[ptx_register_type(v->function, o->elements[i].reg)].bits;
        if (first && bits != first) {
            ptx_complain(v, "`%s`: the registers of a vector are equally wide",
                         ptx_mnemonic(v->arena, v->instruction));
            return;
        }
        first = bits;
    }
}

/* Checks the width of a special register. PTX ISA, special-registers: each has its own width;
 * the older ones can also be read as 16 bits. */
static void check_special(struct ptx_verifier *v, const struct ptx_operand *o, enum ptx_mod type)
{
    const struct ptx_special_info *s = &ptx_specials[o->special];
    int bits = ptx_mods[type].bits, own = ptx_mods[s->type].bits;
    bool short_too = own == 32 || o->special == PTX_SREG_GRIDID;
    bool integer = ptx_mods[type].class <= PTX_CLASS_SIGNED;
    bool suits = bits == own || (bits == 16 && short_too) ||
                 (bits == 32 && o->special == PTX_SREG_GRIDID) || v->instruction->op == PTX_CVT;
    if (!integer || !suits)
        ptx_complain(v, "`%s`: %s is a .%s", ptx_mnemonic(v->arena, v->instruction), s->name,
                     ptx_mods[s->type].text);
    if (s->target > v->target.number)
        ptx_complain(v, "%s needs sm_%d; the target is sm_%d", s->name, s->target,
                     v->target.number);
    if (v->version && s->version > v->version)
        ptx_complain(v, "%s needs .version %d.%d; the module says %d.%d", s->name, s->version / 10,
                     s->version % 10, v->version / 10, v->version % 10);
}

/* --- addresses --- */

static enum ptx_mod plain_space(enum ptx_mod space)
{
    switch ((int)space) {
    case MOD_SHARED_CTA:
    case MOD_SHARED_CLUSTER: return MOD_SHARED;
    case MOD_PARAM_ENTRY:
    case MOD_PARAM_FUNC: return MOD_PARAM;
    default: return space;
    }
}

static enum ptx_mod slot_space(const struct ptx_instruction *ins, const struct ptx_slot *slot)
{
    if (slot->flags & SLOT_FIXED_SPACE)
        return (enum ptx_mod)slot->space;
    return ptx_find(ins, PTX_CLASS_SPACE, slot->space);
}

/* Returns the bytes that an access at this slot touches. */
static uint64_t access_bytes(const struct ptx_instruction *ins, const struct ptx_slot *slot)
{
    if (slot->type >= TYPE_BYTES)
        return slot->type - TYPE_BYTES;
    if (slot->type == TYPE_COPY)
        return ins->operand_count > 2 ? ins->operands[2].bits : 1;
    enum ptx_mod type = ptx_slot_type(slot, ins->mods, ins->mod_count);
    return ptx_mods[type].bits / 8u * (uint64_t)ptx_vector_length(ins);
}

static void check_variable_access(struct ptx_verifier *v, const struct ptx_operand *o,
                                  uint64_t bytes)
{
    const struct ptx_variable *x = o->variable;
    uint64_t size = ptx_variable_size(x), offset = (uint64_t)ptx_offset(o);
    const char *name = ptx_mnemonic(v->arena, v->instruction);
    if (bytes > 1 && (ptx_variable_alignment(x) % bytes || offset % bytes) && x->space != MOD_PARAM)
        (v->where.source ? ptx_warn : ptx_complain)(
            v,
            "`%s` needs an address that is a multiple of %" PRIu64 ": `%s` is aligned to "
            "%" PRIu32 ", the offset is %" PRId64,
            name, bytes, x->name, ptx_variable_alignment(x), ptx_offset(o));
    bool tensor_map = bytes == 128 && x->space == MOD_PARAM;
    if (size && !tensor_map && (ptx_offset(o) < 0 || offset > size || bytes > size - offset))
        ptx_warn(v, "`%s` reaches beyond `%s`, which has %" PRIu64 " bytes", name, x->name, size);
}

static void check_base(struct ptx_verifier *v, const struct ptx_operand *o)
{
    if (o->base != PTX_BASE_REGISTER)
        return;
    enum ptx_mod type = ptx_register_type(v->function, o->reg);
    int bits = ptx_mods[type].bits, class = ptx_mods[type].class;
    bool integer =
        class == PTX_CLASS_BITS || class == PTX_CLASS_UNSIGNED || class == PTX_CLASS_SIGNED;
    if (!integer || (bits != 32 && bits != 64))
        ptx_complain(v, "`%s`: register %s does not hold an address",
                     ptx_mnemonic(v->arena, v->instruction), register_text(v, o->reg));
}

static void check_address(struct ptx_verifier *v, const struct ptx_slot *slot,
                          const struct ptx_operand *o)
{
    enum ptx_mod space = plain_space(slot_space(v->instruction, slot));
    check_base(v, o);
    if (o->base == PTX_BASE_REGISTER && (!space || space == MOD_GLOBAL) &&
        ptx_mods[ptx_register_type(v->function, o->reg)].bits == 32)
        ptx_complain(v, "`%s`: %s addresses have 64 bits; register %s has 32",
                     ptx_mnemonic(v->arena, v->instruction), space ? ".global" : "generic",
                     register_text(v, o->reg));
    if (o->base == PTX_BASE_NONE && space != MOD_LOCAL)
        ptx_complain(v, "`%s`: only in .local is a number an address",
                     ptx_mnemonic(v->arena, v->instruction));
    if (o->base == PTX_BASE_FUNCTION) {
        ptx_complain(v, "`%s`: a function is not data", ptx_mnemonic(v->arena, v->instruction));
        return;
    }
    if (o->base != PTX_BASE_VARIABLE)
        return;
    bool generic = o->variable->space == MOD_GLOBAL || o->variable->space == MOD_SHARED ||
                   o->variable->space == MOD_LOCAL;
    if (!space && !generic) {
        ptx_complain(v, "`%s` takes generic addresses; `%s` in .%s has none",
                     ptx_mnemonic(v->arena, v->instruction), o->variable->name,
                     ptx_mods[o->variable->space].text);
        return;
    }
    if (space && o->variable->space != space) {
        ptx_complain(v, "`%s` is for .%s; `%s` is in .%s", ptx_mnemonic(v->arena, v->instruction),
                     ptx_mods[space].text, o->variable->name,
                     o->variable->space ? ptx_mods[o->variable->space].text : "reg");
        return;
    }
    check_variable_access(v, o, access_bytes(v->instruction, slot));
}

/* --- vectors with a meaning --- */

static void check_fragment(struct ptx_verifier *v, const struct ptx_slot *slot,
                           const struct ptx_operand *o)
{
    const struct ptx_instruction *ins = v->instruction;
    struct ptx_fragment wanted =
        ptx_fragment_of((enum ptx_op)ins->op, ins->mods, ins->mod_count, (char)slot->low);
    if (wanted.count != o->count)
        ptx_complain(v, "`%s` takes %d registers here, found %u", ptx_mnemonic(v->arena, ins),
                     wanted.count, o->count);
    else
        check_elements(v, slot, o, (enum ptx_mod)wanted.type, false);
    bool stored = slot->low == 'r' || slot->low == 'w' || slot->low == 't';
    for (uint32_t i = 0; stored && i < o->count; i++)
        if (o->elements[i].kind != PTX_REGISTER && o->elements[i].kind != PTX_SINK)
            ptx_complain(v, "`%s`: a constant cannot be part of a matrix that is stored",
                         ptx_mnemonic(v->arena, ins));
}

/* Checks mov.b64 d, {a, b}: 2 or 4 parts of equal width. */
static void check_pack(struct ptx_verifier *v, const struct ptx_slot *slot,
                       const struct ptx_operand *o)
{
    enum ptx_mod type = ptx_slot_type(slot, v->instruction->mods, v->instruction->mod_count);
    static const uint16_t parts[] = {MOD_B8, MOD_B16, MOD_B32, MOD_B64};
    unsigned count = o->count, bits = count ? ptx_mods[type].bits / count : 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (ptx_mods[parts[i]].bits == bits && (count == 2 || count == 4)) {
            check_elements(v, slot, o, (enum ptx_mod)parts[i], false);
            return;
        }
    ptx_complain(v, "`%s`: %u parts do not make up a .%s", ptx_mnemonic(v->arena, v->instruction),
                 o->count, ptx_mods[type].text);
}

static void check_tensor(struct ptx_verifier *v, const struct ptx_slot *slot,
                         const struct ptx_operand *o)
{
    const struct ptx_instruction *ins = v->instruction;
    enum ptx_mod dims = ptx_find(ins, PTX_CLASS_DIMENSION, 0);
    bool rows = ptx_has(ins, MOD_TILE_GATHER4) || ptx_has(ins, MOD_TILE_SCATTER4);
    unsigned wanted = rows ? 5 : ptx_mods[dims].bits; /* a column and four rows */
    const struct ptx_operand *list = &o->elements[1];
    check_base(v, &o->elements[0]);
    if (list->count != wanted)
        ptx_complain(v, "`%s` takes %u coordinates, found %u", ptx_mnemonic(v->arena, ins), wanted,
                     list->count);
    check_elements(v, slot, list, MOD_S32, false);
}

static void check_symbol(struct ptx_verifier *v, const struct ptx_operand *o, enum ptx_mod type)
{
    const struct ptx_instruction *ins = v->instruction;
    enum ptx_mod space = plain_space(ptx_find(ins, PTX_CLASS_SPACE, 0));
    int bits = ptx_mods[type].bits;
    if (bits != 32 && bits != 64)
        ptx_complain(v, "`%s`: an address has 32 or 64 bits", ptx_mnemonic(v->arena, ins));
    if (o->base == PTX_BASE_VARIABLE && space && o->variable->space != space)
        ptx_complain(v, "`%s` is for .%s; `%s` is in .%s", ptx_mnemonic(v->arena, ins),
                     ptx_mods[space].text, o->variable->name, ptx_mods[o->variable->space].text);
}

/* --- all --- */

static void check_operand(struct ptx_verifier *v, const struct ptx_slot *slot,
                          const struct ptx_operand *o)
{
    const struct ptx_instruction *ins = v->instruction;
    enum ptx_mod type = ptx_slot_type(slot, ins->mods, ins->mod_count);
    bool wider = slot->flags & SLOT_WIDER;
    switch ((enum ptx_slot_kind)slot->kind) {
    case SLOT_DESTINATION:
    case SLOT_SOURCE:
    case SLOT_MOVED:
    case SLOT_SYMBOL:
        if (o->kind == PTX_VECTOR) {
            check_elements(v, slot, o, type, wider);
            check_alike(v, o);
        } else if (o->kind == PTX_SPECIAL) {
            check_special(v, o, type);
        } else if (o->kind == PTX_SYMBOL) {
            check_symbol(v, o, type);
        } else if (slot->type == TYPE_ADDRESS) {
            check_typed(v, o, MOD_U64, false);
        } else {
            check_typed(v, o, type, wider);
        }
        break;
    case SLOT_ADDRESS: check_address(v, slot, o); break;
    case SLOT_TENSOR_MEMORY: check_base(v, o); break;
    case SLOT_TENSOR: check_tensor(v, slot, o); break;
    case SLOT_VECTOR:
    case SLOT_OFFSETS:
    case SLOT_LANES: check_elements(v, slot, o, type, false); break;
    case SLOT_FRAGMENT: check_fragment(v, slot, o); break;
    case SLOT_PACK: check_pack(v, slot, o); break;
    case SLOT_BARRIER: check_typed(v, o, MOD_U32, false); break;
    case SLOT_PREDICATE:
    case SLOT_IMMEDIATE:
    case SLOT_SINK:
    case SLOT_LABEL:
    case SLOT_TARGETS:
    case SLOT_CALL: break;
    }
}

void ptx_verify_operands(struct ptx_verifier *v, const struct ptx_choice *choice)
{
    for (int i = 0; i < v->instruction->operand_count; i++)
        check_operand(v, &choice->form->slot[choice->slots[i]], &v->instruction->operands[i]);
    ptx_verify_ranges(v);
}

/* --- calls --- */

/* Checks `count` registers from `reg` on that a call passes: the number of bits must agree, and
 * a vector takes a vector. */
static void check_passed(struct ptx_verifier *v, uint32_t reg, uint32_t count,
                         const struct ptx_variable *parameter)
{
    uint32_t length = parameter->vector;
    uint32_t bits = ptx_mods[ptx_register_type(v->function, reg)].bits * count;
    const char *vector = length > 1 ? arena_printf(v->arena, ".v%" PRIu32 " ", length) : "";
    if ((count == 1 && length > 1) || bits != ptx_mods[parameter->type].bits * length)
        ptx_complain(v, "register %s does not hold parameter `%s`, a %s.%s", register_text(v, reg),
                     parameter->name, vector, ptx_mods[parameter->type].text);
}

static void check_argument(struct ptx_verifier *v, const struct ptx_operand *o,
                           const struct ptx_variable *parameter)
{
    const char *name = parameter->name;
    if (o->kind == PTX_SYMBOL && o->base == PTX_BASE_VARIABLE) {
        if (ptx_variable_size(o->variable) != ptx_variable_size(parameter))
            ptx_complain(v, "`%s` has %" PRIu64 " bytes, parameter `%s` has %" PRIu64,
                         o->variable->name, ptx_variable_size(o->variable), name,
                         ptx_variable_size(parameter));
    } else if (o->kind == PTX_REGISTER) {
        check_passed(v, o->reg, 1, parameter);
        if (ptx_register_is_element(v->function, o->reg))
            ptx_complain(v, "an element of a vector, %s, is not passed", register_text(v, o->reg));
    } else if (ptx_whole_vector(v->function, o)) {
        check_passed(v, o->elements[0].reg, o->count, parameter);
    } else if (o->kind == PTX_IMMEDIATE || o->kind == PTX_FLOAT || o->kind == PTX_DOUBLE) {
        if (parameter->vector > 1)
            ptx_complain(v, "parameter `%s` is a vector: a constant cannot be passed for it", name);
    } else if (o->kind != PTX_SINK) {
        ptx_complain(v, "parameter `%s` is given neither a variable, a register nor a constant",
                     name);
    }
}

static void check_list(struct ptx_verifier *v, const struct ptx_operand *o, const char *what,
                       struct ptx_variable *const *parameters, size_t count)
{
    size_t given = o->kind == PTX_LIST ? o->count : 0;
    if (given != count) {
        ptx_complain(v, "the call has %zu %s%s, the function %zu", given, what,
                     given == 1 ? "" : "s", count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        check_argument(v, &o->elements[i], parameters[i]);
}

/* Returns the first function in an initialiser; NULL if there is none. */
static const struct ptx_function *first_function(const struct ptx_initial *init)
{
    if (!init || init->function)
        return init ? init->function : NULL;
    for (size_t i = 0; i < init->list.count; i++) {
        const struct ptx_function *f = first_function(&init->list.data[i]);
        if (f)
            return f;
    }
    return NULL;
}

static const struct ptx_signature *prototype_of(struct ptx_verifier *v,
                                                const struct ptx_operand *name)
{
    const struct ptx_statement *s = NULL;
    if (name->kind == PTX_SYMBOL) {
        const struct ptx_function *f = first_function(name->variable->initial);
        if (!f)
            ptx_complain(v, "`%s` is not initialised with functions", name->variable->name);
        return f ? &f->signature : NULL;
    }
    if (name->label->defined && name->label->statement < v->function->body.count)
        s = &v->function->body.data[name->label->statement];
    if (s && s->kind == PTX_AT_PROTOTYPE)
        return &s->prototype->signature;
    if (s && s->kind == PTX_AT_TARGETS && s->targets->calls && s->targets->functions.count)
        return &s->targets->functions.data[0]->signature;
    ptx_complain(v, "`%s` names neither a prototype nor call targets", name->label->name);
    return NULL;
}

void ptx_verify_call(struct ptx_verifier *v)
{
    const struct ptx_operand *o = v->instruction->operands;
    const struct ptx_signature *s;
    if (o[1].kind == PTX_SYMBOL) {
        s = &o[1].function->signature;
        if (o[1].function->entry) {
            ptx_complain(v, "`%s` is a kernel, which is not called", o[1].function->name);
            return;
        }
    } else {
        check_typed(v, &o[1], MOD_U64, false);
        s = prototype_of(v, &o[3]);
    }
    if (!s)
        return;
    check_list(v, &o[0], "result", s->results.data, s->results.count);
    check_list(v, &o[2], "argument", s->parameters.data, s->parameters.count);
}
