/* Prints data as text. There is one way to write everything, so text that is printed, parsed and
 * printed again does not change. */
#include "ptx/ptx.h"
#include <inttypes.h>
#include <string.h>

enum { PRINTED = 16 };

/* The text of a register: at most 15 bytes, followed by others. */
struct register_text {
    char text[15];
    uint8_t length; /* 0: it is not made, or longer */
};

struct printer {
    struct text *out;
    const struct ptx_function *function;
    int depth;                       /* of braces */
    struct register_text *registers; /* by register; NULL: none is kept */
    /* Instructions by their operation and modifiers, and where the text has these: */
    const struct ptx_instruction *printed[PRINTED];
    size_t at[PRINTED], length[PRINTED];
};

enum { FEW = 4 };

/* Adds the first bytes of `s`, which has 4: to copy them all is one move. */
static void put(struct text *out, const char *s, size_t length)
{
    if (out->capacity - out->length <= FEW) {
        text_add_n(out, s, length);
        return;
    }
    memcpy(out->data + out->length, s, FEW);
    out->length += length;
    out->data[out->length] = '\0';
}

#define PUT(out, literal) put((out), literal "\0\0\0", sizeof(literal) - 1)

/* Adds a number. Most of a text is registers and offsets, and this is faster than printf. */
static void add_number(struct text *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    text_add_n(out, digits + at, sizeof digits - at);
}

static void add_signed(struct text *out, int64_t value)
{
    if (value < 0)
        text_add_char(out, '-');
    add_number(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Adds the bits of a float as a number of hexadecimal digits. */
static void add_float(struct text *out, const char *before, uint64_t bits, int digits)
{
    text_add(out, before);
    while (digits)
        text_add_char(out, "0123456789ABCDEF"[bits >> --digits * 4 & 15]);
}

static void indent(struct printer *p)
{
    for (int i = 0; i < p->depth; i++)
        PUT(p->out, "    ");
}

/* --- operands --- */

/* Prints the name of a register; for an element, the name of its vector. */
static void print_register_name(struct printer *p, uint32_t reg)
{
    const struct ptx_register *r = &p->function->registers.data[reg];
    const struct ptx_registers *range = p->function->ranges.data[r->range];
    text_add(p->out, range->name);
    if (range->numbered)
        add_number(p->out, range->vector ? r->number / range->vector : r->number);
}

static void print_register_slowly(struct printer *p, uint32_t reg)
{
    const struct ptx_register *r = &p->function->registers.data[reg];
    const uint32_t width = p->function->ranges.data[r->range]->vector;
    print_register_name(p, reg);
    if (width) {
        text_add_char(p->out, '.');
        text_add_char(p->out, "xyzw"[r->number % width]);
    }
}

/* Prints a register: copies its text if that was printed before. */
static void print_register(struct printer *p, uint32_t reg)
{
    struct text *out = p->out;
    struct register_text *kept = p->registers ? &p->registers[reg] : NULL;
    if (kept && kept->length && out->capacity - out->length > sizeof *kept) {
        memcpy(out->data + out->length, kept, sizeof *kept);
        out->length += kept->length;
        out->data[out->length] = '\0';
        return;
    }
    const size_t begin = out->length;
    print_register_slowly(p, reg);
    const size_t length = out->length - begin;
    if (kept && length <= sizeof kept->text) {
        memcpy(kept->text, out->data + begin, length);
        kept->length = (uint8_t)length;
    }
}

const char *ptx_register_name(struct arena *a, const struct ptx_function *f, uint32_t reg)
{
    struct text name;
    text_init(&name, a);
    struct printer p = {.out = &name, .function = f};
    print_register_slowly(&p, reg);
    return name.data;
}

/* Prints an offset as PTX writes it: +4, +-4, nothing for 0. */
static void print_offset(struct text *out, int64_t offset)
{
    if (!offset)
        return;
    text_add_char(out, '+');
    add_signed(out, offset);
}

static void print_base(struct printer *p, const struct ptx_operand *o)
{
    switch ((enum ptx_base)o->base) {
    case PTX_BASE_NONE: add_signed(p->out, o->bytes); return;
    case PTX_BASE_REGISTER: print_register(p, o->reg); break;
    case PTX_BASE_VARIABLE: text_add(p->out, o->variable->name); break;
    case PTX_BASE_FUNCTION: text_add(p->out, o->function->name); break;
    }
    if (o->plus_zero && ptx_offset(o) == 0)
        text_add(p->out, "+0");
    print_offset(p->out, ptx_offset(o));
}

static void print_operand(struct printer *p, const struct ptx_operand *o);

static void print_elements(struct printer *p, const struct ptx_operand *o)
{
    PUT(p->out, "{");
    for (uint32_t i = 0; i < o->count; i++) {
        if (i)
            PUT(p->out, ", ");
        print_operand(p, &o->elements[i]);
    }
    PUT(p->out, "}");
}

/* Prints the operands that a call passes, vectors by their names. */
static void print_list(struct printer *p, const struct ptx_operand *o)
{
    text_add_char(p->out, '(');
    for (uint32_t i = 0; i < o->count; i++) {
        text_add(p->out, i ? ", " : "");
        if (ptx_whole_vector(p->function, &o->elements[i]))
            print_register_name(p, o->elements[i].elements[0].reg);
        else
            print_operand(p, &o->elements[i]);
    }
    text_add_char(p->out, ')');
}

static void print_address(struct printer *p, const struct ptx_operand *o)
{
    PUT(p->out, "[");
    print_base(p, ptx_address_in(o));
    if (o->kind == PTX_TENSOR) {
        text_add(p->out, ", ");
        print_elements(p, &o->elements[1]);
    }
    PUT(p->out, "]");
    if (o->unified)
        text_add(p->out, ".unified");
}

/* Prints an operand that is not only a register. */
static void print_other(struct printer *p, const struct ptx_operand *o)
{
    if (o->negated)
        text_add_char(p->out, '!');
    switch ((enum ptx_operand_kind)o->kind) {
    case PTX_NOTHING: break;
    case PTX_REGISTER: print_register(p, o->reg); break;
    case PTX_IMMEDIATE: add_signed(p->out, (int64_t)o->bits); break;
    case PTX_FLOAT: add_float(p->out, "0f", o->bits, 8); break;
    case PTX_DOUBLE: add_float(p->out, "0d", o->bits, 16); break;
    case PTX_WARP_SZ: text_add(p->out, "WARP_SZ"); break;
    case PTX_SPECIAL: text_add(p->out, ptx_specials[o->special].name); break;
    case PTX_SINK: text_add_char(p->out, '_'); break;
    case PTX_ADDRESS:
    case PTX_TENSOR: print_address(p, o); break;
    case PTX_SYMBOL: print_base(p, o); break;
    case PTX_VECTOR: print_elements(p, o); break;
    case PTX_LIST: print_list(p, o); break;
    case PTX_LABEL: text_add(p->out, o->label->name); break;
    }
}

static void print_operand(struct printer *p, const struct ptx_operand *o)
{
    if (o->kind == PTX_REGISTER && !o->negated) /* most are */
        print_register(p, o->reg);
    else
        print_other(p, o);
}

/* --- instructions --- */

static void print_operands(struct printer *p, const struct ptx_instruction *ins)
{
    bool first = true;
    for (int i = 0; i < ins->operand_count; i++) {
        const struct ptx_operand *o = &ins->operands[i];
        if (o->kind == PTX_NOTHING)
            continue;
        if (o->joined)
            PUT(p->out, "|");
        else if (first)
            PUT(p->out, " ");
        else
            PUT(p->out, ", ");
        print_operand(p, o);
        first = false;
    }
}

/* Prints the operation and its modifiers. Copies them if they were printed before. */
static void print_mnemonic(struct printer *p, const struct ptx_instruction *ins)
{
    const size_t begin = p->out->length;
    unsigned hash = ins->op;
    for (int i = 0; i < ins->mod_count; i++)
        hash = hash * 3 + ins->mods[i];
    hash = (hash ^ hash >> 4) % PRINTED;
    const struct ptx_instruction *same = p->printed[hash];
    if (same && same->op == ins->op && same->mod_count == ins->mod_count &&
        memcmp(same->mods, ins->mods, ins->mod_count * sizeof *ins->mods) == 0) {
        text_add_n(p->out, p->out->data + p->at[hash], p->length[hash]);
        return;
    }
    text_add(p->out, ptx_ops[ins->op].name);
    for (int i = 0; i < ins->mod_count; i++) {
        text_add_char(p->out, '.');
        text_add(p->out, ptx_mods[ins->mods[i]].text);
    }
    p->printed[hash] = ins;
    p->at[hash] = begin;
    p->length[hash] = p->out->length - begin;
}

static void print_instruction(struct printer *p, const struct ptx_instruction *ins)
{
    if (ins->guarded) {
        PUT(p->out, "@");
        if (ins->guard_negated)
            PUT(p->out, "!");
        print_register(p, ins->guard);
        PUT(p->out, " ");
    }
    print_mnemonic(p, ins);
    print_operands(p, ins);
    PUT(p->out, ";");
}

void ptx_print_instruction(struct text *out, const struct ptx_function *f,
                           const struct ptx_instruction *ins)
{
    struct printer p = {.out = out, .function = f};
    print_instruction(&p, ins);
}

/* --- variables --- */

static void print_initial(struct text *out, const struct ptx_initial *init);

static void print_initial_address(struct text *out, const struct ptx_initial *init)
{
    const char *name = init->function ? init->function->name : init->variable->name;
    if (init->mask)
        text_printf(out, "0x%" PRIX64 "(", init->mask);
    text_printf(out, init->generic ? "generic(%s)" : "%s", name);
    print_offset(out, init->offset);
    text_add(out, init->mask ? ")" : "");
}

static void print_initial(struct text *out, const struct ptx_initial *init)
{
    switch (init->kind) {
    case PTX_INIT_INTEGER: text_printf(out, "%" PRId64, (int64_t)init->bits); break;
    case PTX_INIT_FLOAT: add_float(out, "0f", init->bits, 8); break;
    case PTX_INIT_DOUBLE: add_float(out, "0d", init->bits, 16); break;
    case PTX_INIT_ADDRESS: print_initial_address(out, init); break;
    case PTX_INIT_LIST:
        text_add_char(out, '{');
        for (size_t i = 0; i < init->list.count; i++) {
            text_add(out, i ? ", " : "");
            print_initial(out, &init->list.data[i]);
        }
        text_add_char(out, '}');
        break;
    }
}

static void print_linkage(struct text *out, int linkage)
{
    static const char *const words[] = {"", ".visible ", ".extern ", ".weak ", ".common "};
    text_add(out, words[linkage]);
}

static void print_dimensions(struct text *out, const struct ptx_variable *v)
{
    for (int i = 0; i < v->dimensions; i++)
        if (v->extents[i] == PTX_UNKNOWN_EXTENT)
            text_add(out, "[]");
        else
            text_printf(out, "[%" PRId64 "]", v->extents[i]);
}

static void print_variable(struct text *out, const struct ptx_variable *v)
{
    print_linkage(out, v->linkage);
    text_printf(out, ".%s", v->space ? ptx_mods[v->space].text : "reg");
    if (v->attribute)
        text_printf(out, " .attribute(%s)", v->attribute);
    if (v->alignment)
        text_printf(out, " .align %" PRIu32, v->alignment);
    if (v->vector > 1)
        text_printf(out, " .v%d", v->vector);
    text_printf(out, " .%s", ptx_mods[v->type].text);
    if (v->pointer) {
        text_add(out, " .ptr");
        if (v->pointer_space)
            text_printf(out, " .%s", ptx_mods[v->pointer_space].text);
        if (v->pointer_alignment)
            text_printf(out, " .align %" PRIu32, v->pointer_alignment);
    }
    text_printf(out, " %s", v->name);
    print_dimensions(out, v);
    if (v->initial) {
        text_add(out, " = ");
        print_initial(out, v->initial);
    }
}

static void print_registers(struct text *out, const struct ptx_registers *r)
{
    text_add(out, ".reg ");
    if (r->vector)
        text_printf(out, ".v%d ", r->vector);
    text_printf(out, ".%s %s", ptx_mods[r->type].text, r->name);
    if (r->numbered)
        text_printf(out, "<%" PRIu32 ">", r->count / ptx_registers_width(r));
    text_add_char(out, ';');
}

/* --- statements --- */

static void print_line(struct text *out, const struct ptx_line *line)
{
    text_add(out, ".loc ");
    add_number(out, line->file);
    PUT(out, " ");
    add_number(out, line->line);
    PUT(out, " ");
    add_number(out, line->column);
    if (!line->function_name)
        return;
    text_printf(out, ", function_name %s", line->function_name);
    print_offset(out, line->function_offset);
    if (line->has_call)
        text_printf(out, ", inlined_at %" PRIu32 " %" PRIu32 " %" PRIu32, line->call_file,
                    line->call_line, line->call_column);
}

static void print_targets(struct text *out, const struct ptx_targets *t)
{
    text_printf(out, "%s: .%stargets ", t->name->name, t->calls ? "call" : "branch");
    for (size_t i = 0; i < t->labels.count; i++)
        text_printf(out, "%s%s", i ? ", " : "", t->labels.data[i]->name);
    for (size_t i = 0; i < t->functions.count; i++)
        text_printf(out, "%s%s", i ? ", " : "", t->functions.data[i]->name);
    text_add_char(out, ';');
}

static void print_short_list(struct text *out, struct ptx_variable *const *list, size_t count)
{
    text_add_char(out, '(');
    for (size_t i = 0; i < count; i++) {
        text_add(out, i ? ", " : "");
        print_variable(out, list[i]);
    }
    text_add_char(out, ')');
}

static void print_prototype(struct text *out, const struct ptx_prototype *t)
{
    const struct ptx_signature *s = &t->signature;
    text_printf(out, "%s: .callprototype ", t->name->name);
    print_short_list(out, s->results.data, s->results.count);
    text_add(out, " _ ");
    print_short_list(out, s->parameters.data, s->parameters.count);
    text_add(out, s->noreturn ? " .noreturn;" : ";");
}

static void print_statement(struct printer *p, const struct ptx_statement *s)
{
    if (s->kind == PTX_AT_CLOSE)
        p->depth--;
    if (s->kind != PTX_AT_LABEL)
        indent(p);
    switch (s->kind) {
    case PTX_AT_INSTRUCTION: print_instruction(p, s->instruction); break;
    case PTX_AT_LABEL:
        text_add(p->out, s->label->name);
        PUT(p->out, ":");
        break;
    case PTX_AT_OPEN: text_add_char(p->out, '{'); break;
    case PTX_AT_CLOSE: text_add_char(p->out, '}'); break;
    case PTX_AT_REGISTERS: print_registers(p->out, s->registers); break;
    case PTX_AT_VARIABLE:
        print_variable(p->out, s->variable);
        text_add_char(p->out, ';');
        break;
    case PTX_AT_LINE: print_line(p->out, s->line); break;
    case PTX_AT_PRAGMA: text_printf(p->out, ".pragma \"%s\";", s->pragma); break;
    case PTX_AT_TARGETS: print_targets(p->out, s->targets); break;
    case PTX_AT_PROTOTYPE: print_prototype(p->out, s->prototype); break;
    case PTX_AT_MARK: break;
    }
    if (s->kind == PTX_AT_OPEN)
        p->depth++;
    PUT(p->out, "\n");
}

/* --- functions --- */

static void print_parameters(struct text *out, const struct ptx_signature *s)
{
    text_add_char(out, '(');
    for (size_t i = 0; i < s->parameters.count; i++) {
        text_add(out, i ? ",\n    " : "\n    ");
        print_variable(out, s->parameters.data[i]);
    }
    text_add(out, s->parameters.count ? "\n)" : ")");
}

static void print_head(struct text *out, const struct ptx_function *f)
{
    print_linkage(out, f->linkage);
    text_add(out, f->entry ? ".entry " : ".func ");
    if (f->signature.results.count) {
        print_short_list(out, f->signature.results.data, f->signature.results.count);
        text_add_char(out, ' ');
    }
    text_add(out, f->name);
    print_parameters(out, &f->signature);
    if (f->signature.noreturn)
        text_add(out, "\n.noreturn");
    for (size_t i = 0; i < f->limits.count; i++) {
        const struct ptx_limit *l = &f->limits.data[i];
        text_printf(out, "\n.%s", ptx_directives[l->directive].name);
        for (uint32_t k = 0; k < l->count; k++)
            text_printf(out, "%s%" PRIu32, k ? ", " : " ", l->values[k]);
    }
    for (size_t i = 0; i < f->pragmas.count; i++)
        text_printf(out, "\n.pragma \"%s\";", f->pragmas.data[i]);
}

static void print_function(struct text *out, const struct ptx_function *f)
{
    struct printer p = {.out = out, .function = f, .depth = 1};
    p.registers = arena_array(out->arena, struct register_text, f->registers.count);
    print_head(out, f);
    text_add(out, "\n{\n");
    for (size_t i = 0; i < f->body.count; i++)
        print_statement(&p, &f->body.data[i]);
    text_add(out, "}\n");
}

/* --- modules --- */

/* Prints a path. PTX is ASCII (PTX ISA, "Source Format"): other bytes, quotes and backslashes
 * are in octal, as nvcc writes them. */
static void print_path(struct text *out, const char *path)
{
    for (const char *c = path; *c; c++)
        if (*c >= ' ' && *c <= '~' && *c != '"' && *c != '\\')
            text_add_char(out, *c);
        else
            text_printf(out, "\\%03o", (unsigned)(unsigned char)*c);
}

static void print_file(struct text *out, const struct ptx_file *f)
{
    text_printf(out, ".file %" PRIu32 " \"", f->number);
    print_path(out, f->name);
    text_add_char(out, '"');
    if (f->stamped)
        text_printf(out, ", %" PRIu64 ", %" PRIu64, f->timestamp, f->size);
    text_add_char(out, '\n');
}

static void print_datum(struct text *out, const struct ptx_datum *d)
{
    if (d->label) {
        text_printf(out, "%s:\n", d->label);
        return;
    }
    text_printf(out, ".b%d ", d->bytes * 8);
    for (size_t i = 0; i < d->count; i++) {
        const struct ptx_datum_value *v = &d->values[i];
        text_add(out, i ? ", " : "");
        if (v->symbol)
            text_add(out, v->symbol);
        if (v->minus)
            text_printf(out, "-%s", v->minus);
        uint64_t bits = v->number; /* for a byte, -1 is 255 */
        if (d->bytes < 8)
            bits &= (UINT64_C(1) << d->bytes * 8) - 1;
        if (!v->symbol)
            text_printf(out, "%" PRIu64, bits);
        else
            print_offset(out, (int64_t)v->number);
    }
    text_add_char(out, '\n');
}

static void print_section(struct text *out, const struct ptx_section *s)
{
    text_printf(out, ".section %s\n{\n", s->name);
    for (size_t i = 0; i < s->data.count; i++)
        print_datum(out, &s->data.data[i]);
    text_add(out, "}\n");
}

static void print_item(struct text *out, const struct ptx_item *item)
{
    switch (item->kind) {
    case PTX_ITEM_VARIABLE:
        print_variable(out, item->variable);
        text_add(out, ";\n");
        break;
    case PTX_ITEM_FUNCTION:
        text_add_char(out, '\n');
        print_function(out, item->function);
        break;
    case PTX_ITEM_DECLARATION:
        print_head(out, item->declared);
        text_add(out, ";\n");
        break;
    case PTX_ITEM_FILE: print_file(out, item->file); break;
    case PTX_ITEM_SECTION: print_section(out, item->section); break;
    case PTX_ITEM_ALIAS:
        text_printf(out, ".alias %s, %s;\n", item->alias->name->name, item->alias->function->name);
        break;
    case PTX_ITEM_PRAGMA: text_printf(out, ".pragma \"%s\";\n", item->pragma); break;
    }
}

void ptx_print(struct text *out, const struct ptx_module *m)
{
    int version = m->version ? m->version : ptx_lowest_version(m);
    text_printf(out, ".version %d.%d\n.target sm_%d", version / 10, version % 10, m->target.number);
    if (m->target.suffix)
        text_add_char(out, m->target.suffix);
    if (m->texture_mode)
        text_printf(out, ", %s", m->texture_mode);
    text_printf(out, "%s\n.address_size %d\n\n", m->debug ? ", debug" : "", m->address_size);
    for (size_t i = 0; i < m->items.count; i++)
        print_item(out, &m->items.data[i]);
}
