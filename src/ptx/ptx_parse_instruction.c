/* Instructions and operands. PTX ISA, instruction statements, instruction operands.
 *
 *   instruction = [ "@" ["!"] REGISTER ] name { .modifier } [ operand { ("," | "|") operand } ] ";"
 *   operand     = ["!"] REGISTER [element] | SPECIAL | constant | "_" | NAME [offset] | address
 *               | vector                              element = .x | .y | .z | .w
 *   address     = "[" base [ "," vector ] "]" [.unified]
 *   base        = REGISTER [offset] | NAME [offset] | constant
 *   vector      = "{" operand { "," operand } "}"
 *   call        = call[.uni] [ list "," ] ( NAME | REGISTER ) [ "," list ] [ "," NAME ] ";"
 *   list        = "(" [ operand { "," operand } ] ")"
 */
#include "ptx/ptx_parser.h"

#include <string.h>

static bool read_operand(struct ptx_parser *p, struct ptx_operand *o, int depth);

/* --- operands --- */

/* Reads operands up to the closing character. */
static bool read_elements(struct ptx_parser *p, struct ptx_operand *o, int close, int depth)
{
    VEC(struct ptx_operand) elements = {0};
    struct loc where = ptx_here(p);
    ptx_advance(p);
    while (!ptx_is_at(p, close)) {
        struct ptx_operand element = {0};
        if (close == ')' && ptx_is_at(p, '{')) /* calls name the vectors they pass */
            return ptx_expected(p, "an argument");
        if (!read_operand(p, &element, depth + 1))
            return false;
        vec_push(p->arena, &elements, element);
        if (!ptx_accept(p, ','))
            break;
    }
    if (elements.count > PTX_MOST_ELEMENTS) {
        diag_error(p->diag, where, "more than %d operands in a list", PTX_MOST_ELEMENTS);
        return false;
    }
    o->elements = elements.data ? elements.data : arena_array(p->arena, struct ptx_operand, 1);
    o->count = (uint16_t)elements.count;
    return ptx_expect(p, close, "after the operands");
}

static bool read_number_operand(struct ptx_parser *p, struct ptx_operand *o)
{
    struct ptx_constant c;
    if (!ptx_read_constant(p, &c))
        return false;
    o->kind = c.kind == PTX_CONSTANT_INTEGER ? PTX_IMMEDIATE
              : c.kind == PTX_CONSTANT_FLOAT ? PTX_FLOAT
                                             : PTX_DOUBLE;
    o->bits = c.bits;
    return true;
}

/* Reads a special register: a name and a word, as in %tid.x, or a name alone, as in %laneid. */
static bool read_special(struct ptx_parser *p, struct ptx_operand *o)
{
    const struct name_entry *name =
        name_table_find(&p->index.specials, p->token.text, p->token.length);
    bool two = !name && p->ahead.kind == PTX_TOKEN_DOT && p->ahead.length == 1;
    if (two) {
        size_t length = (size_t)(p->ahead.text - p->token.text) + 1;
        name = name_table_find(&p->index.specials, p->token.text, length);
    }
    if (!name)
        return ptx_read_special_vector(p, o);
    o->kind = PTX_SPECIAL;
    o->special = (uint16_t)name->number;
    ptx_advance(p);
    if (two)
        ptx_advance(p);
    return true;
}

/* Reads the offset after a base. */
static bool read_offset(struct ptx_parser *p, struct ptx_operand *o)
{
    struct loc where = ptx_here(p);
    int64_t offset = 0;
    o->plus_zero = ptx_is_at(p, '+');
    if (!ptx_read_offset(p, &offset))
        return false;
    if (!ptx_set_offset(o, offset))
        diag_error(p->diag, where, "an offset of 2^47 or more bytes");
    return true;
}

static bool read_named(struct ptx_parser *p, struct ptx_operand *o)
{
    uint32_t reg;
    struct loc where = ptx_here(p);
    if (ptx_accept_word(p, "_")) {
        o->kind = PTX_SINK;
        return true;
    }
    if (ptx_accept_word(p, "WARP_SZ")) {
        o->kind = PTX_WARP_SZ;
        return true;
    }
    const struct name_entry *name = ptx_lookup(p, p->token.text, p->token.length, &reg);
    if (!name) {
        if (read_special(p, o))
            return true;
        ptx_unknown_name(p, where, ptx_token_text(p));
        return false;
    }
    ptx_advance(p);
    if (name->kind == PTX_NAME_REGISTER || name->kind == PTX_NAME_RANGE) {
        const struct ptx_registers *range = name->object;
        if (range->vector)
            return ptx_read_vector(p, range, reg, o);
        o->kind = PTX_REGISTER;
        o->reg = reg;
        return true;
    }
    o->kind = PTX_SYMBOL;
    o->base = name->kind == PTX_NAME_VARIABLE ? PTX_BASE_VARIABLE : PTX_BASE_FUNCTION;
    if (name->kind == PTX_NAME_VARIABLE)
        o->variable = name->object;
    else
        o->function = name->object;
    return read_offset(p, o);
}

static bool read_base(struct ptx_parser *p, struct ptx_operand *o)
{
    struct loc where = ptx_here(p);
    struct ptx_operand base = {0};
    bool named = p->token.kind == PTX_TOKEN_NAME;
    if (!(named ? read_named(p, &base) : read_number_operand(p, &base)))
        return false;
    switch (base.kind) {
    case PTX_REGISTER:
        if (ptx_register_is_element(p->function, base.reg)) {
            diag_error(p->diag, where, "an element of a vector cannot be an address");
            return false;
        }
        o->base = PTX_BASE_REGISTER;
        o->reg = base.reg;
        return read_offset(p, o);
    case PTX_SYMBOL:
        *o = base;
        o->kind = PTX_ADDRESS;
        return true;
    case PTX_IMMEDIATE: o->bytes = (int64_t)base.bits; return true;
    default: diag_error(p->diag, where, "this is not an address"); return false;
    }
}

static bool read_address(struct ptx_parser *p, struct ptx_operand *o, int depth)
{
    ptx_advance(p);
    o->kind = PTX_ADDRESS;
    if (!read_base(p, o))
        return false;
    if (ptx_accept(p, ',')) {
        if (!ptx_is_at(p, '{'))
            return ptx_expected(p, "the coordinates in a tensor");
        struct ptx_operand *parts = arena_array(p->arena, struct ptx_operand, 2);
        parts[0] = *o;
        parts[1].kind = PTX_VECTOR;
        if (!read_elements(p, &parts[1], '}', depth))
            return false;
        *o = (struct ptx_operand){.kind = PTX_TENSOR, .count = 2, .elements = parts};
    }
    if (!ptx_expect(p, ']', "after an address"))
        return false;
    o->unified = ptx_accept_dot(p, "unified");
    return true;
}

static bool read_operand(struct ptx_parser *p, struct ptx_operand *o, int depth)
{
    if (depth > 2) {
        diag_error(p->diag, ptx_here(p), "operands are nested too deeply");
        return false;
    }
    if (ptx_is_at(p, '!') && p->ahead.kind == PTX_TOKEN_NAME) {
        ptx_advance(p);
        o->negated = true;
        if (!read_named(p, o))
            return false;
        return o->kind == PTX_REGISTER || ptx_expected(p, "a register after `!`");
    }
    if (ptx_is_at(p, '['))
        return read_address(p, o, depth);
    if (ptx_is_at(p, '{')) {
        o->kind = PTX_VECTOR;
        return read_elements(p, o, '}', depth);
    }
    if (p->token.kind == PTX_TOKEN_NAME)
        return read_named(p, o);
    bool constant = ptx_token_is_number(&p->token) || ptx_is_at(p, '-') || ptx_is_at(p, '+') ||
                    ptx_is_at(p, '~') || ptx_is_at(p, '!') || ptx_is_at(p, '(');
    return constant ? read_number_operand(p, o) : ptx_expected(p, "an operand");
}

static bool read_label_operand(struct ptx_parser *p, struct ptx_operand *o)
{
    const char *name = NULL;
    o->kind = PTX_LABEL;
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_expected(p, "a label");
    o->label = ptx_label_named(p, ptx_token_text(p));
    return ptx_read_name(p, "a label", &name);
}

/* --- calls --- */

static bool read_argument_list(struct ptx_parser *p, struct ptx_operand *o)
{
    if (!ptx_is_at(p, '('))
        return true;
    o->kind = PTX_LIST;
    return read_elements(p, o, ')', 0);
}

/* Reads the possible targets of a call through a register: the label of a prototype or of
 * targets, or a variable that has functions in its initialiser. */
static bool read_callees(struct ptx_parser *p, struct ptx_operand *o)
{
    uint32_t reg;
    const struct name_entry *name = NULL;
    if (p->token.kind == PTX_TOKEN_NAME)
        name = ptx_lookup(p, p->token.text, p->token.length, &reg);
    bool table = name && name->kind == PTX_NAME_VARIABLE && !ptx_knows_label(p);
    return table ? read_named(p, o) : read_label_operand(p, o);
}

static bool read_call(struct ptx_parser *p, struct ptx_instruction *ins, struct ptx_operand *o)
{
    if (!read_argument_list(p, &o[0]) ||
        (o[0].kind == PTX_LIST && !ptx_expect(p, ',', "after the results of a call")))
        return false;
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_expected(p, "a function or a register");
    if (!read_named(p, &o[1]))
        return false;
    ins->operand_count = 3;
    bool more = ptx_accept(p, ',');
    if (more && ptx_is_at(p, '(')) {
        if (!read_argument_list(p, &o[2]))
            return false;
        more = ptx_accept(p, ',');
    }
    if (more)
        ins->operand_count = 4;
    return !more || read_callees(p, &o[3]);
}

/* --- instructions --- */

/* Returns true for operands `{%r1}` that ptxas takes for `%r1`: of loads and stores. Triton writes it. */
static bool is_in_braces(const struct ptx_instruction *ins, const struct ptx_operand *o)
{
    bool takes = ins->op == PTX_LD || ins->op == PTX_LDU || ins->op == PTX_ST;
    return takes && o->kind == PTX_VECTOR && o->count == 1 && o->elements[0].kind != PTX_SINK &&
           o->elements[0].kind != PTX_ADDRESS;
}

static bool read_operands(struct ptx_parser *p, struct ptx_instruction *ins, struct ptx_operand *o)
{
    bool joined = false;
    if (ptx_is_at(p, ';'))
        return true;
    do {
        if (ins->operand_count == PTX_MOST_OPERANDS) {
            diag_error(p->diag, ptx_here(p), "more than %d operands", PTX_MOST_OPERANDS);
            return false;
        }
        struct ptx_operand *next = &o[ins->operand_count++];
        bool label = ins->op == PTX_BRA || (ins->op == PTX_BRX_IDX && ins->operand_count == 2);
        if (!(label ? read_label_operand(p, next) : read_operand(p, next, 0)))
            return false;
        if (is_in_braces(ins, next))
            *next = next->elements[0];
        next->joined = joined;
        joined = ptx_accept(p, '|');
    } while (joined || ptx_accept(p, ','));
    return true;
}

static bool read_guard(struct ptx_parser *p, struct ptx_instruction *ins)
{
    if (!ptx_accept(p, '@'))
        return true;
    ins->guarded = true;
    ins->guard_negated = ptx_accept(p, '!');
    struct loc where = ptx_here(p);
    struct ptx_operand o = {0};
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_expected(p, "a predicate register after `@`");
    if (!read_named(p, &o))
        return false;
    ins->guard = o.reg;
    if (o.kind == PTX_REGISTER && ptx_register_type(p->function, o.reg) == MOD_PRED)
        return true;
    diag_error(p->diag, where, "a guard is a predicate register");
    return false;
}

static void unknown_instruction(struct ptx_parser *p, struct loc where, const struct ptx_word *word)
{
    const char *names[PTX_OP_COUNT];
    for (int i = 0; i < PTX_OP_COUNT; i++)
        names[i] = ptx_ops[i].name;
    const char *name = arena_string(p->arena, word->text, word->length);
    const struct ptx_left_out *family = ptx_left_out_find(word->text, word->length);
    if (family) {
        diag_error(p->diag, where, "%s are not supported: %s", family->family, name);
        return;
    }
    diag_error(p->diag, where, "unknown instruction `%s`", name);
    const char *near = text_nearest(name, names, PTX_OP_COUNT);
    if (near)
        diag_note(p->diag, where, "the nearest is `%s`", near);
}

static void unknown_modifier(struct ptx_parser *p, struct loc where, const struct ptx_word *word,
                             enum ptx_op op)
{
    const char *names[MOD_COUNT] = {NULL};
    for (int i = 1; i < MOD_COUNT; i++)
        names[i] = ptx_mods[i].text;
    const char *name = arena_string(p->arena, word->text, word->length);
    diag_error(p->diag, where, "unknown modifier `.%s` of `%s`", name, ptx_ops[op].name);
    const char *near = text_nearest(name, names, MOD_COUNT);
    if (near)
        diag_note(p->diag, where, "the nearest is `.%s`", near);
}

/* Reads the name of an instruction and the words after its dots. */
static bool read_mnemonic(struct ptx_parser *p, struct ptx_instruction *ins)
{
    enum { MOST_WORDS = PTX_MOST_MODS + 5 };
    struct ptx_word words[MOST_WORDS];
    struct loc places[MOST_WORDS];
    size_t count = 0, used;
    if (p->token.kind != PTX_TOKEN_NAME)
        return ptx_expected(p, "an instruction");
    do {
        if (count == MOST_WORDS) {
            diag_error(p->diag, ptx_here(p), "too many modifiers");
            return false;
        }
        words[count] = (struct ptx_word){p->token.text, p->token.length};
        places[count++] = ptx_here(p);
        ptx_advance(p);
    } while (p->token.kind == PTX_TOKEN_DOT);
    int op = ptx_index_op(&p->index, words, count, &used);
    if (op == PTX_OP_COUNT) {
        unknown_instruction(p, places[0], &words[0]);
        return false;
    }
    ins->op = (uint16_t)op;
    if (count - used > PTX_MOST_MODS) {
        diag_error(p->diag, places[0], "too many modifiers");
        return false;
    }
    for (size_t i = used; i < count; i++) {
        const struct name_entry *mod =
            name_table_find(&p->index.mods, words[i].text, words[i].length);
        if (!mod) {
            unknown_modifier(p, places[i], &words[i], (enum ptx_op)op);
            return false;
        }
        ins->mods[ins->mod_count++] = (uint16_t)mod->number;
    }
    return true;
}

bool ptx_read_instruction(struct ptx_parser *p)
{
    struct ptx_instruction *ins = arena_new(p->arena, struct ptx_instruction);
    struct ptx_operand operands[PTX_MOST_OPERANDS] = {{0}};
    struct loc where = ptx_here(p);
    if (!read_guard(p, ins) || !read_mnemonic(p, ins))
        return false;
    ins->line = p->line;
    bool fine = ins->op == PTX_CALL ? read_call(p, ins, operands) : read_operands(p, ins, operands);
    struct loc end = ptx_here(p);
    if (!fine || !ptx_expect(p, ';', "after the instruction"))
        return false;
    ins->operands = arena_copy(p->arena, operands, ins->operand_count * sizeof *operands);
    where.length = end.offset - where.offset;
    if (ins->op == PTX_MOV && ptx_find(ins, PTX_CLASS_VECTOR, 0))
        return ptx_push_vector_mov(p, where, ins);
    ptx_push_instruction(p, where, ins);
    return true;
}
