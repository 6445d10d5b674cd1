#include "ptx/ptx_build.h"

#include "ptx/ptx_choose.h"
#include "ptx/ptx_verifier.h"

#include <assert.h>
#include <string.h>

void ptx_build_start(struct ptx_builder *b, struct arena *a, struct ptx_target target)
{
    *b = (struct ptx_builder){.arena = a};
    b->module = ptx_module_new(a, target);
    ptx_index_init(&b->index, a);
    name_table_init(&b->mnemonics, a);
}

static void push(struct ptx_builder *b, struct ptx_statement s)
{
    vec_push(b->arena, &b->function->body, s);
}

static const char *keep(struct ptx_builder *b, const char *name)
{
    return arena_string(b->arena, name, strlen(name));
}

/* --- functions --- */

/* Makes a name that the assembler takes. Adds a `$`, which names of the language cannot have, to
 * the names that it refuses: its constant, the words of .loc, `_` alone, and the function that
 * print() calls. */
static const char *legal_name(struct ptx_builder *b, const char *name)
{
    static const char *const words[] = {"WARP_SZ", "_", "function_name", "inlined_at", "vprintf"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return arena_printf(b->arena, "%s$", name);
    return keep(b, name);
}

void ptx_begin_kernel(struct ptx_builder *b, const char *name)
{
    assert(!b->function && "ptx_end comes first");
    struct ptx_function *f = arena_new(b->arena, struct ptx_function);
    f->name = legal_name(b, name);
    f->entry = f->defined = true;
    f->linkage = PTX_VISIBLE;
    b->function = f;
    b->head.count = 0;
    memset(b->range_of, 0, sizeof b->range_of);
    b->labels = 0;
    b->line = NULL;
    b->line_changed = b->next_line.file != 0;
}

static struct ptx_variable *new_variable(struct ptx_builder *b, enum ptx_mod space,
                                         enum ptx_mod type, const char *name)
{
    struct ptx_variable *v = arena_new(b->arena, struct ptx_variable);
    *v = (struct ptx_variable){
        .name = legal_name(b, name), .space = (uint16_t)space, .type = (uint16_t)type, .vector = 1};
    return v;
}

struct ptx_variable *ptx_parameter(struct ptx_builder *b, enum ptx_mod type, const char *name)
{
    struct ptx_variable *v = new_variable(b, MOD_PARAM, type, name);
    vec_push(b->arena, &b->function->signature.parameters, v);
    return v;
}

static void make_array(struct ptx_variable *v, uint64_t count, uint32_t alignment)
{
    v->dimensions = 1;
    v->extents[0] = (int64_t)count;
    v->alignment = alignment;
}

struct ptx_variable *ptx_parameter_bytes(struct ptx_builder *b, const char *name, uint64_t size,
                                         uint32_t alignment)
{
    struct ptx_variable *v = ptx_parameter(b, MOD_B8, name);
    make_array(v, size, alignment);
    return v;
}

void ptx_limit(struct ptx_builder *b, enum ptx_directive directive, uint32_t count, uint32_t x,
               uint32_t y, uint32_t z)
{
    struct ptx_limit limit = {directive, count, {x, y, z}};
    vec_push(b->arena, &b->function->limits, limit);
}

/* --- the end of a function --- */

/* Returns the new number of each register, so that those of one declaration are consecutive. */
static uint32_t *number_anew(struct ptx_builder *b)
{
    struct ptx_function *f = b->function;
    uint32_t *to = arena_room(b->arena, f->registers.count * sizeof *to);
    uint32_t next = 0;
    for (size_t i = 0; i < f->ranges.count; i++) {
        f->ranges.data[i]->first = next;
        next += f->ranges.data[i]->count;
    }
    struct ptx_register *sorted = arena_room(b->arena, f->registers.capacity * sizeof *sorted);
    for (size_t i = 0; i < f->registers.count; i++) {
        const struct ptx_register *r = &f->registers.data[i];
        to[i] = f->ranges.data[r->range]->first + r->number;
        sorted[to[i]] = *r;
    }
    f->registers.data = sorted;
    return to;
}

/* Renumbers the registers of operands. Instructions may share a vector, so each gets a copy. */
static void renumber_operands(struct arena *a, struct ptx_operand *o, uint32_t count,
                              const uint32_t *to)
{
    for (; count; count--, o++)
        if (o->kind == PTX_REGISTER ||
            ((o->kind == PTX_ADDRESS || o->kind == PTX_SYMBOL) && o->base == PTX_BASE_REGISTER)) {
            o->reg = to[o->reg];
        } else if (ptx_elements(o)) {
            o->elements = arena_copy(a, o->elements, o->count * sizeof *o->elements);
            renumber_operands(a, o->elements, o->count, to);
        }
}

static void renumber(struct arena *a, struct ptx_function *f, const uint32_t *to)
{
    for (size_t i = 0; i < f->body.count; i++) {
        if (f->body.data[i].kind != PTX_AT_INSTRUCTION)
            continue;
        struct ptx_instruction *ins = f->body.data[i].instruction;
        if (ins->guarded)
            ins->guard = to[ins->guard];
        renumber_operands(a, ins->operands, ins->operand_count, to);
    }
}

static void push_head(struct ptx_builder *b, struct ptx_statement s)
{
    vec_push(b->arena, &b->head, s);
}

static bool same_line(const struct ptx_line *a, const struct ptx_line *b)
{
    return b && a->file == b->file && a->line == b->line && a->column == b->column;
}

/* Copies the body and puts a .loc before each instruction whose line differs from that of the
 * instruction before. A moved or removed piece of code may have left two .loc in a row. Returns
 * the number of statements, at most twice as many as before. */
static size_t copy_body(struct arena *a, struct ptx_statement *to, struct ptx_function *f)
{
    size_t count = 0;
    uint32_t instructions = 0;
    const struct ptx_line *now = NULL;
    for (size_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        if (s->kind == PTX_AT_MARK)
            vec_push(
                a, &f->marks,
                ((struct ptx_mark){instructions, s->mark->kind, s->mark->loop, s->mark->copy}));
        if (s->kind == PTX_AT_LINE || s->kind == PTX_AT_MARK)
            continue;
        instructions += s->kind == PTX_AT_INSTRUCTION;
        const struct ptx_line *line = s->kind == PTX_AT_INSTRUCTION ? s->instruction->line : NULL;
        if (line && !same_line(line, now)) {
            to[count++] = (struct ptx_statement){.kind = PTX_AT_LINE, .line = line};
            now = line;
        }
        to[count++] = *s;
    }
    return count;
}

void ptx_end(struct ptx_builder *b)
{
    struct ptx_function *f = b->function;
    renumber(b->arena, f, number_anew(b));
    for (size_t i = 0; i < f->ranges.count; i++)
        push_head(b,
                  (struct ptx_statement){.kind = PTX_AT_REGISTERS, .registers = f->ranges.data[i]});
    size_t shift = b->head.count, most = shift + 2 * f->body.count;
    struct ptx_statement *body = arena_room(b->arena, (most + 1) * sizeof *body);
    if (shift)
        memcpy(body, b->head.data, shift * sizeof *body);
    size_t count = shift + copy_body(b->arena, body + shift, f);
    for (size_t i = 0; i < f->labels.count; i++)
        assert(f->labels.data[i]->defined && "a label was made but not placed");
    for (size_t i = shift; i < count; i++)
        if (body[i].kind == PTX_AT_LABEL)
            body[i].label->statement = (uint32_t)i;
    f->body.data = body;
    f->body.count = count;
    f->body.capacity = most + 1;
    struct ptx_item item = {.kind = PTX_ITEM_FUNCTION, .function = f};
    vec_push(b->arena, &b->module->items, item);
    b->function = NULL;
}

/* --- memory --- */

struct ptx_variable *ptx_array(struct ptx_builder *b, enum ptx_mod space, enum ptx_mod type,
                               const char *name, uint64_t count, uint32_t alignment)
{
    struct ptx_variable *v = new_variable(b, space, type, name);
    if (strcmp(v->name, b->function->name) == 0) /* both have the same scope */
        v->name = arena_printf(b->arena, "%s$", v->name);
    make_array(v, count, alignment);
    push_head(b, (struct ptx_statement){.kind = PTX_AT_VARIABLE, .variable = v});
    return v;
}

static void push_variable(struct ptx_builder *b, struct ptx_variable *v)
{
    struct ptx_item item = {.kind = PTX_ITEM_VARIABLE, .variable = v};
    vec_push(b->arena, &b->module->items, item);
}

struct ptx_variable *ptx_dynamic_shared(struct ptx_builder *b, const char *name, uint32_t alignment)
{
    struct ptx_variable *v = new_variable(b, MOD_SHARED, MOD_B8, name);
    make_array(v, 0, alignment);
    v->extents[0] = PTX_UNKNOWN_EXTENT;
    v->linkage = PTX_EXTERN;
    push_variable(b, v);
    return v;
}

struct ptx_variable *ptx_bytes(struct ptx_builder *b, enum ptx_mod space, const char *name,
                               const uint8_t *data, uint64_t size, uint32_t alignment)
{
    struct ptx_variable *v = new_variable(b, space, MOD_B8, name);
    make_array(v, size, alignment);
    push_variable(b, v);
    if (!data)
        return v;
    struct ptx_initial *list = arena_new(b->arena, struct ptx_initial);
    list->kind = PTX_INIT_LIST;
    for (uint64_t i = 0; i < size; i++) {
        struct ptx_initial byte = {.kind = PTX_INIT_INTEGER, .bits = data[i]};
        vec_push(b->arena, &list->list, byte);
    }
    v->initial = list;
    return v;
}

/* --- operands --- */

static const struct {
    const char *name;
    uint16_t type;
} register_classes[PTX_REGISTER_CLASSES] = {{"%p", MOD_PRED}, {"%rc", MOD_B8},  {"%rs", MOD_B16},
                                            {"%r", MOD_B32},  {"%rd", MOD_B64}, {"%f", MOD_F32},
                                            {"%fd", MOD_F64}, {"%rq", MOD_B128}};

static int register_class(enum ptx_mod type)
{
    switch ((int)type) {
    case MOD_PRED: return 0;
    case MOD_F32: return 5;
    case MOD_F64: return 6;
    default: break;
    }
    switch (ptx_mods[type].bits) {
    case 8: return 1;
    case 16: return 2;
    case 64: return 4;
    case 128: return 7;
    default: return 3;
    }
}

struct ptx_operand ptx_reg(struct ptx_builder *b, enum ptx_mod type)
{
    struct ptx_function *f = b->function;
    int class = register_class(type);
    if (!b->range_of[class]) {
        struct ptx_registers *range = arena_new(b->arena, struct ptx_registers);
        *range = (struct ptx_registers){.name = register_classes[class].name,
                                        .type = register_classes[class].type,
                                        .numbered = true};
        vec_push(b->arena, &f->ranges, range);
        b->range_of[class] = (uint32_t)f->ranges.count;
    }
    uint32_t range = b->range_of[class] - 1;
    struct ptx_register r = {range, f->ranges.data[range]->count++};
    vec_push(b->arena, &f->registers, r);
    return (struct ptx_operand){.kind = PTX_REGISTER, .reg = (uint32_t)f->registers.count - 1};
}

void ptx_release(struct ptx_builder *b, struct ptx_operand r)
{
    struct ptx_function *f = b->function;
    if (r.reg + 1 != f->registers.count)
        return;
    f->ranges.data[f->registers.data[r.reg].range]->count--;
    f->registers.count--;
}

struct ptx_operand ptx_vector(struct ptx_builder *b, const struct ptx_operand *elements,
                              size_t count)
{
    struct ptx_operand o = {.kind = PTX_VECTOR, .count = (uint16_t)count};
    o.elements = arena_copy(b->arena, elements, count * sizeof *elements);
    return o;
}

struct ptx_operand ptx_at_tensor(struct ptx_builder *b, struct ptx_operand map,
                                 const struct ptx_operand *coordinates, size_t count)
{
    const struct ptx_operand parts[2] = {ptx_at(map, 0), ptx_vector(b, coordinates, count)};
    struct ptx_operand o = ptx_vector(b, parts, 2);
    o.kind = PTX_TENSOR;
    return o;
}

struct ptx_operand ptx_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (struct ptx_operand){.kind = PTX_FLOAT, .bits = bits};
}

struct ptx_operand ptx_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (struct ptx_operand){.kind = PTX_DOUBLE, .bits = bits};
}

/* --- instructions --- */

/* A mnemonic in parts; 0 among its modifiers is a type to be filled in. */
struct mnemonic {
    uint16_t op, form; /* form: of the last such instruction */
    uint8_t mod_count;
    uint16_t mods[PTX_MOST_MODS];
    bool any_constant;                  /* the form takes any immediate where it takes one */
    const struct ptx_instruction *last; /* with this mnemonic */
    uint64_t operands;                  /* operands_of it */
};

enum { MOST_WORDS = PTX_MOST_MODS + 5 };

static size_t split(const char *text, struct ptx_word words[MOST_WORDS])
{
    size_t count = 0;
    for (;;) {
        size_t length = strcspn(text, ".");
        assert(count < MOST_WORDS && "too many modifiers");
        words[count++] = (struct ptx_word){text, length};
        if (!text[length])
            return count;
        text += length + 1;
    }
}

static struct mnemonic *take_apart(struct ptx_builder *b, const char *text)
{
    struct ptx_word words[MOST_WORDS];
    struct mnemonic *m = arena_new(b->arena, struct mnemonic);
    size_t count = split(text, words), used;
    int op = ptx_index_op(&b->index, words, count, &used);
    assert(op != PTX_OP_COUNT && "no such instruction");
    *m = (struct mnemonic){.op = (uint16_t)op, .form = PTX_NO_FORM};
    for (size_t i = used; i < count; i++) {
        const struct name_entry *mod =
            name_table_find(&b->index.mods, words[i].text, words[i].length);
        assert((mod || words[i].text[0] == '*') && "no such modifier");
        m->mods[m->mod_count++] = mod ? (uint16_t)mod->number : MOD_NONE;
    }
    return m;
}

static struct mnemonic *find_mnemonic(struct ptx_builder *b, const char *text)
{
    struct name_entry *recent = &b->recent[((uintptr_t)text >> 2) % PTX_RECENT];
    if (recent->text == text && text[recent->length] == '\0')
        return recent->object;
    size_t length = strlen(text);
    struct name_entry *name = name_table_find(&b->mnemonics, text, length);
    if (!name) {
        name = name_table_add(&b->mnemonics, text, length);
        name->object = take_apart(b, text);
    }
    *recent = *name;
    recent->text = text;
    return name->object;
}

static void fill_mods(struct ptx_instruction *ins, const struct mnemonic *m, const uint16_t *types)
{
    ins->op = m->op;
    ins->mod_count = m->mod_count;
    for (int i = 0; i < m->mod_count; i++)
        ins->mods[i] = m->mods[i] ? m->mods[i] : *types++;
}

#define HAS_IMMEDIATE (UINT64_C(1) << 63)

/* Returns what decides if a form fits an instruction with these modifiers: kinds of operands, types of registers, lengths of
 * vectors, but not the values of immediates. 0: there are other operands, or too many. */
static uint64_t operands_of(const struct ptx_function *f, const struct ptx_instruction *ins)
{
    enum { MOST = 5, EACH = 12, COUNT = 4, PREDICATE = 1 << 11 };
    uint64_t all = ins->operand_count <= MOST, constant = 0;
    for (int i = 0; all && i < ins->operand_count; i++) {
        const struct ptx_operand *o = &ins->operands[i];
        uint32_t own = o->kind;
        if (o->negated || o->joined)
            return 0;
        if (o->kind == PTX_REGISTER && ptx_register_type(f, o->reg) == MOD_PRED)
            own |= PREDICATE;
        else if (o->kind == PTX_VECTOR)
            own |= (uint32_t)o->count << COUNT;
        else if (o->kind == PTX_IMMEDIATE)
            constant = HAS_IMMEDIATE;
        else if (o->kind != PTX_REGISTER && o->kind != PTX_ADDRESS && o->kind != PTX_FLOAT)
            return 0;
        all = all << EACH | own;
    }
    return all | constant;
}

static bool takes_any_constant(uint16_t form)
{
    bool any = form != PTX_NO_FORM;
    for (int i = 0; any && i < ptx_forms[form].slots; i++) {
        const struct ptx_slot *s = &ptx_forms[form].slot[i];
        any = s->kind != SLOT_IMMEDIATE && s->kind != SLOT_BARRIER &&
              (s->kind != SLOT_SOURCE || !s->step);
    }
    return any;
}

/* Finds the form of an instruction: that of the last instruction with this mnemonic, if it fits this one, too. */
static void find_form(struct ptx_builder *b, struct ptx_instruction *ins, struct mnemonic *m)
{
    struct ptx_choice choice;
    const uint64_t operands = operands_of(b->function, ins);
    const bool same = operands && operands == m->operands &&
                      (!(operands & HAS_IMMEDIATE) || m->any_constant) &&
                      memcmp(m->last->mods, ins->mods, sizeof ins->mods) == 0;
    m->operands = operands;
    m->last = ins;
    if (same) {
        ins->form = m->form;
        return;
    }
    if (m->form != PTX_NO_FORM && ptx_form_fits(b->function, ins, &ptx_forms[m->form])) {
        ins->form = m->form;
        return;
    }
    ptx_choose(b->function, ins, false, &choice);
    ins->form = choice.form ? (uint16_t)(choice.form - ptx_forms) : PTX_NO_FORM;
    m->form = ins->form;
    m->any_constant = takes_any_constant(m->form);
}

/* Verifies an emitted instruction, so that a mistake of the compiler shows where it is made;
 * b->complaint has the message. */
static void check(struct ptx_builder *b, const struct ptx_instruction *ins)
{
#ifdef NDEBUG
    (void)b;
    (void)ins;
#else
    struct ptx_verifier v = {
        .arena = b->arena, .target = b->module->target, .function = b->function};
    if (ins->op != PTX_BRA && ins->op != PTX_BRX_IDX && ins->op != PTX_CALL)
        ptx_verify_instruction(&v, ins, LOC_NONE);
    b->complaint = v.complaint;
    assert(!b->complaint && "see b->complaint");
#endif
}

static void push_line(struct ptx_builder *b)
{
    if (!b->line_changed)
        return;
    b->line_changed = false;
    if (!b->next_line.file) {
        b->line = NULL;
        return;
    }
    struct ptx_line *line = arena_new(b->arena, struct ptx_line);
    *line = b->next_line;
    b->line = line;
    struct ptx_statement s = {.kind = PTX_AT_LINE, .line = line};
    push(b, s);
}

struct ptx_instruction *ptx_emit_list(struct ptx_builder *b, const char *mnemonic,
                                      const uint16_t *types, const struct ptx_operand *operands,
                                      size_t count)
{
    struct mnemonic *m = find_mnemonic(b, mnemonic);
    struct ptx_instruction *ins = arena_new(b->arena, struct ptx_instruction);
    assert(count <= PTX_MOST_OPERANDS);
    fill_mods(ins, m, types);
    ins->operands = count ? arena_copy(b->arena, operands, count * sizeof *operands) : NULL;
    ins->operand_count = (uint8_t)count;
    find_form(b, ins, m);
    check(b, ins);
    push_line(b);
    ins->line = b->line;
    struct ptx_statement s = {.kind = PTX_AT_INSTRUCTION, .instruction = ins};
    push(b, s);
    return ins;
}

struct ptx_instruction *ptx_when(struct ptx_instruction *ins, struct ptx_operand predicate)
{
    assert(predicate.kind == PTX_REGISTER);
    ins->guarded = true;
    ins->guard = predicate.reg;
    ins->guard_negated = predicate.negated;
    return ins;
}

/* --- control flow --- */

struct ptx_label *ptx_new_label(struct ptx_builder *b, const char *name)
{
    struct ptx_label *label = arena_new(b->arena, struct ptx_label);
    label->name = arena_printf(b->arena, "$%s_%u", name, (unsigned)b->labels++);
    vec_push(b->arena, &b->function->labels, label);
    return label;
}

void ptx_place(struct ptx_builder *b, struct ptx_label *label)
{
    assert(!label->defined);
    label->defined = true;
    struct ptx_statement s = {.kind = PTX_AT_LABEL, .label = label};
    push(b, s);
}

struct ptx_instruction *ptx_branch(struct ptx_builder *b, struct ptx_label *label)
{
    struct ptx_operand to = {.kind = PTX_LABEL, .label = label};
    return ptx_emit(b, "bra", to);
}

void ptx_mark(struct ptx_builder *b, enum ptx_mark_kind kind, const void *loop, int copy)
{
    struct ptx_mark *mark = arena_new(b->arena, struct ptx_mark);
    *mark = (struct ptx_mark){.kind = kind, .loop = loop, .copy = copy};
    struct ptx_statement s = {.kind = PTX_AT_MARK, .mark = mark};
    push(b, s);
}

/* --- source lines --- */

uint32_t ptx_source_file(struct ptx_builder *b, const char *name)
{
    struct ptx_file *file = arena_new(b->arena, struct ptx_file);
    *file = (struct ptx_file){.number = ++b->files, .name = keep(b, name)};
    struct ptx_item item = {.kind = PTX_ITEM_FILE, .file = file};
    vec_push(b->arena, &b->module->items, item);
    return file->number;
}

void ptx_source_line(struct ptx_builder *b, uint32_t file, uint32_t line, uint32_t column)
{
    struct ptx_line next = {.file = file, .line = line, .column = column};
    const struct ptx_line *now = &b->next_line;
    if (now->file == file && now->line == line && now->column == column)
        return;
    b->next_line = next;
    b->line_changed = true;
}
