/* Declarations of variables, parameters and registers. PTX ISA, variables.
 *
 *   variables  = space { modifier } type declarator { "," declarator } ";"
 *   modifier   = .align N | .attribute(…) | .v2 | .v4
 *   declarator = NAME { "[" [constant] "]" } [ "=" initial ]
 *   initial    = constant | address | constant "(" address ")"
 *              | "{" [ initial { "," initial } ] "}"
 *   address    = NAME [offset] | generic "(" NAME ")" [offset]
 *   registers  = .reg [.v2 | .v4] type register { "," register } ";"
 *   register   = NAME | NAME "<" N ">"
 */
#include "ptx/ptx_parser.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- initialisers --- */

static bool read_symbol(struct ptx_parser *p, struct ptx_initial *init)
{
    struct loc where = ptx_here(p);
    const char *name = NULL;
    uint32_t reg;
    if (!ptx_read_name(p, "a variable or a function", &name))
        return false;
    const struct name_entry *found = ptx_lookup(p, name, strlen(name), &reg);
    if (!found) {
        ptx_unknown_name(p, where, name);
        return false;
    }
    if (found->kind == PTX_NAME_VARIABLE)
        init->variable = found->object;
    else if (found->kind == PTX_NAME_FUNCTION)
        init->function = found->object;
    else
        return ptx_expected(p, "a variable or a function");
    return true;
}

static bool read_address(struct ptx_parser *p, struct ptx_initial *init)
{
    init->kind = PTX_INIT_ADDRESS;
    if (ptx_is_word(p, "generic") && ptx_is_ahead(p, '(')) {
        init->generic = true;
        ptx_advance(p);
        ptx_advance(p);
        if (!read_symbol(p, init) || !ptx_expect(p, ')', "after a generic address"))
            return false;
    } else if (!read_symbol(p, init)) {
        return false;
    }
    return ptx_read_offset(p, &init->offset);
}

static bool read_value(struct ptx_parser *p, struct ptx_initial *init)
{
    struct ptx_constant c;
    if (p->token.kind == PTX_TOKEN_INTEGER && ptx_is_ahead(p, '(')) {
        init->mask = p->token.bits;
        ptx_advance(p);
        ptx_advance(p);
        return read_address(p, init) && ptx_expect(p, ')', "after a part of an address");
    }
    if (p->token.kind == PTX_TOKEN_NAME && !ptx_is_word(p, "WARP_SZ"))
        return read_address(p, init);
    if (!ptx_read_constant(p, &c))
        return false;
    init->kind = c.kind == PTX_CONSTANT_INTEGER ? PTX_INIT_INTEGER
                 : c.kind == PTX_CONSTANT_FLOAT ? PTX_INIT_FLOAT
                                                : PTX_INIT_DOUBLE;
    init->bits = c.bits;
    return true;
}

static bool read_initial(struct ptx_parser *p, struct ptx_initial *init, int depth)
{
    if (!ptx_accept(p, '{'))
        return read_value(p, init);
    if (depth > PTX_MOST_DIMENSIONS) {
        diag_error(p->diag, ptx_here(p), "these braces are nested too deeply");
        return false;
    }
    init->kind = PTX_INIT_LIST;
    while (!ptx_is_at(p, '}')) {
        struct ptx_initial element = {PTX_INIT_INTEGER, .bits = 0};
        if (!read_initial(p, &element, depth + 1))
            return false;
        vec_push(p->arena, &init->list, element);
        if (!ptx_accept(p, ','))
            break;
    }
    return ptx_expect(p, '}', "after the values");
}

/* --- variables --- */

static bool read_attribute(struct ptx_parser *p, struct ptx_variable *v)
{
    if (!ptx_expect(p, '(', "after .attribute"))
        return false;
    uint32_t start = p->token.offset;
    for (int depth = 1; depth > 0;) {
        if (p->token.kind == PTX_TOKEN_END)
            return ptx_expected(p, "`)` after the attribute");
        depth += ptx_is_at(p, '(') - ptx_is_at(p, ')');
        if (depth > 0)
            ptx_advance(p);
    }
    v->attribute = arena_string(p->arena, p->source->text + start, p->token.offset - start);
    ptx_advance(p);
    return true;
}

static bool read_alignment(struct ptx_parser *p, uint32_t *alignment)
{
    struct loc where = ptx_here(p);
    uint64_t number;
    if (!ptx_read_number(p, "an alignment", 1u << 30, &number))
        return false;
    if (number == 0 || (number & (number - 1)) != 0) {
        diag_error(p->diag, where, "an alignment is a power of two");
        return false;
    }
    *alignment = (uint32_t)number;
    return true;
}

/* Reads alignment, attribute, vector and type, in the orders that compilers write. */
static bool read_description(struct ptx_parser *p, struct ptx_variable *v)
{
    v->vector = 1;
    for (;;) {
        enum ptx_mod type;
        if (ptx_accept_dot(p, "align")) {
            if (!read_alignment(p, &v->alignment))
                return false;
        } else if (ptx_accept_dot(p, "attribute")) {
            if (!read_attribute(p, v))
                return false;
        } else if (ptx_accept_dot(p, "v2")) {
            v->vector = 2;
        } else if (ptx_accept_dot(p, "v4")) {
            v->vector = 4;
        } else if ((type = ptx_accept_type(p))) {
            v->type = (uint16_t)type;
            return true;
        } else {
            return ptx_expected_type(p, "the type of a variable");
        }
    }
}

static bool read_dimensions(struct ptx_parser *p, struct ptx_variable *v)
{
    while (ptx_accept(p, '[')) {
        if (v->dimensions == PTX_MOST_DIMENSIONS) {
            diag_error(p->diag, ptx_here(p), "an array has at most %d dimensions",
                       PTX_MOST_DIMENSIONS);
            return false;
        }
        int64_t *extent = &v->extents[v->dimensions++];
        if (ptx_accept(p, ']')) {
            *extent = PTX_UNKNOWN_EXTENT;
            continue;
        }
        struct loc where = ptx_here(p);
        struct ptx_constant c;
        if (!ptx_read_constant(p, &c))
            return false;
        if (c.kind != PTX_CONSTANT_INTEGER || c.bits > INT64_MAX / 2) {
            diag_error(p->diag, where, "this is not an extent of an array");
            return false;
        }
        *extent = (int64_t)c.bits;
        if (!ptx_expect(p, ']', "after an extent"))
            return false;
    }
    return true;
}

static void push_variable(struct ptx_parser *p, struct ptx_variable *v)
{
    struct ptx_item item = {.kind = PTX_ITEM_VARIABLE, .variable = v};
    if (p->function)
        ptx_push(p,
                 (struct ptx_statement){.kind = PTX_AT_VARIABLE, .where = v->where, .variable = v});
    else
        vec_push(p->arena, &p->module->items, item);
}

/* Declares a variable. A variable declared .extern may be declared again with its definition. */
static bool declare_variable(struct ptx_parser *p, struct ptx_variable *v)
{
    struct name_entry *old =
        p->scope ? NULL : name_table_find(&p->globals, v->name, strlen(v->name));
    if (old && old->kind == PTX_NAME_VARIABLE) {
        const struct ptx_variable *before = old->object;
        if (before->linkage == PTX_EXTERN || v->linkage == PTX_EXTERN) {
            if (before->linkage == PTX_EXTERN)
                old->object = v;
            return true;
        }
    }
    return ptx_declare(p, v->name, v->where, PTX_NAME_VARIABLE, v) != NULL;
}

/* Reads variables. Refuses .const[3] and its like, the banks of constant memory before PTX 2.2. */
bool ptx_read_variables(struct ptx_parser *p, enum ptx_linkage linkage)
{
    struct ptx_variable common = {.linkage = (uint8_t)linkage,
                                  .space = (uint16_t)ptx_space_here(p)};
    ptx_advance(p);
    if (!read_description(p, &common))
        return false;
    do {
        struct ptx_variable *v = arena_new(p->arena, struct ptx_variable);
        *v = common;
        v->where = ptx_here(p);
        if (!ptx_read_name(p, "the name of a variable", &v->name) || !read_dimensions(p, v))
            return false;
        if (ptx_accept(p, '=')) {
            struct ptx_initial *init = arena_new(p->arena, struct ptx_initial);
            v->initial = init;
            if (!read_initial(p, init, 0))
                return false;
        }
        if (!declare_variable(p, v))
            return false;
        push_variable(p, v);
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';', "after a variable");
}

/* --- parameters --- */

/* Checks that the type has such vectors. vector: 2 or 4; 0: none, always true. */
static bool vectors_exist(struct ptx_parser *p, struct loc where, enum ptx_mod type, uint8_t vector)
{
    if (!vector || ptx_vector_exists(type, vector))
        return true;
    diag_error(p->diag, where, "there are no registers of type .v%d .%s", vector,
               ptx_mods[type].text);
    return false;
}

/* Reads the rest of .ptr: the space that it points to, and the alignment there. */
static bool read_pointer(struct ptx_parser *p, struct ptx_variable *v)
{
    v->pointer = true;
    v->pointer_space = (uint16_t)ptx_space_here(p);
    if (v->pointer_space)
        ptx_advance(p);
    return !ptx_accept_dot(p, "align") || read_alignment(p, &v->pointer_alignment);
}

static bool new_registers(struct ptx_parser *p, struct loc where, struct ptx_registers *range);

/*   parameter = .param description [.ptr [space] [.align N]] NAME dimensions
 *             | .reg description NAME */
bool ptx_read_parameter(struct ptx_parser *p, bool named, struct ptx_variable **parameter)
{
    struct ptx_variable *v = *parameter = arena_new(p->arena, struct ptx_variable);
    if (ptx_accept_dot(p, "param"))
        v->space = MOD_PARAM;
    else if (!ptx_accept_dot(p, "reg"))
        return ptx_expected(p, "a parameter");
    if (!read_description(p, v))
        return false;
    if (ptx_accept_dot(p, "ptr") && !read_pointer(p, v))
        return false;
    v->where = ptx_here(p);
    if (!ptx_read_name(p, "the name of a parameter", &v->name) || !read_dimensions(p, v))
        return false;
    uint8_t vector = v->vector > 1 ? v->vector : 0;
    if (!v->space && !vectors_exist(p, v->where, (enum ptx_mod)v->type, vector))
        return false;
    if (!named)
        return true;
    if (v->space)
        return ptx_declare(p, v->name, v->where, PTX_NAME_VARIABLE, v) != NULL;
    struct ptx_registers *range = arena_new(p->arena, struct ptx_registers);
    *range = (struct ptx_registers){
        .name = v->name, .type = v->type, .count = v->vector, .vector = vector};
    if (!new_registers(p, v->where, range))
        return false;
    v->reg = range->first;
    return true;
}

/* --- registers --- */

/* Checks that no other declaration of this scope has one of these names: %r<10> has %r3. */
static bool names_are_new(struct ptx_parser *p, struct loc where, const struct ptx_registers *range)
{
    size_t length = strlen(range->name);
    char *name = arena_array(p->arena, char, length + 11);
    memcpy(name, range->name, length);
    uint32_t count = range->count / ptx_registers_width(range);
    for (uint32_t i = 0; i < count && p->scope->names.count; i++) {
        size_t digits = 0;
        if (range->numbered)
            digits = (size_t)snprintf(name + length, 11, "%" PRIu32, i);
        if (ptx_is_register_here(p, name, length + digits)) {
            diag_error(p->diag, where, "`%.*s` is declared already", (int)(length + digits), name);
            return false;
        }
    }
    return true;
}

static bool new_registers(struct ptx_parser *p, struct loc where, struct ptx_registers *range)
{
    struct ptx_function *f = p->function;
    if (range->count > p->registers_left) {
        diag_error(p->diag, where, "more registers than a text of this size can use");
        return false;
    }
    p->registers_left -= range->count;
    if (!names_are_new(p, where, range))
        return false;
    range->first = (uint32_t)f->registers.count;
    for (uint32_t i = 0; i < range->count; i++) {
        struct ptx_register reg = {(uint32_t)f->ranges.count, i};
        vec_push(p->arena, &f->registers, reg);
    }
    vec_push(p->arena, &f->ranges, range);
    struct name_entry *name = ptx_declare(
        p, range->name, where, range->numbered ? PTX_NAME_RANGE : PTX_NAME_REGISTER, range);
    if (name)
        name->number = range->first;
    return name != NULL;
}

bool ptx_declare_registers(struct ptx_parser *p, struct loc where, struct ptx_registers *range)
{
    if (!new_registers(p, where, range))
        return false;
    ptx_push(p,
             (struct ptx_statement){.kind = PTX_AT_REGISTERS, .where = where, .registers = range});
    return true;
}

static bool read_register(struct ptx_parser *p, enum ptx_mod type, uint8_t vector)
{
    struct ptx_registers *range = arena_new(p->arena, struct ptx_registers);
    struct loc where = ptx_here(p);
    uint64_t count = 1;
    if (!ptx_read_name(p, "a register", &range->name))
        return false;
    range->type = (uint16_t)type;
    range->vector = vector;
    if (ptx_accept(p, '<')) {
        range->numbered = true;
        if (!ptx_read_number(p, "a number of registers", UINT32_MAX, &count) ||
            !ptx_expect(p, '>', "after the number of registers"))
            return false;
    }
    count *= ptx_registers_width(range);
    range->count = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count; /* far too many */
    return ptx_declare_registers(p, where, range);
}

bool ptx_read_registers(struct ptx_parser *p)
{
    struct loc where = ptx_here(p);
    uint8_t vector = 0;
    if (ptx_accept_dot(p, "v2"))
        vector = 2;
    else if (ptx_accept_dot(p, "v4"))
        vector = 4;
    enum ptx_mod type = ptx_accept_type(p);
    if (!type)
        return ptx_expected(p, "the type of registers");
    if (!vectors_exist(p, where, type, vector))
        return false;
    do
        if (!read_register(p, type, vector))
            return false;
    while (ptx_accept(p, ','));
    return ptx_expect(p, ';', "after the registers");
}
