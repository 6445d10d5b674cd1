/* Scopes, and the statements in them. PTX ISA, control-flow-instructions-curly-braces: names and labels declared between
 * braces are known there and in nested braces. */
#include "ptx/ptx_choose.h"
#include "ptx/ptx_parser.h"

#include <string.h>

void ptx_enter_scope(struct ptx_parser *p)
{
    struct ptx_scope *scope = arena_new(p->arena, struct ptx_scope);
    scope->parent = p->scope;
    scope->open = ptx_here(p);
    name_table_init(&scope->names, p->arena);
    name_table_init(&scope->labels, p->arena);
    p->scope = scope;
    p->depth++;
}

/* Hands a label that this scope names but does not define to the outer scope: references then
 * lead to the outer label. */
static void hand_on_label(struct ptx_scope *parent, struct name_entry *name)
{
    struct ptx_label *label = name->object;
    struct name_entry *outer = name_table_find(&parent->labels, name->text, name->length);
    if (!outer) {
        outer = name_table_add(&parent->labels, name->text, name->length);
        outer->object = label;
        return;
    }
    label->same = outer->object;
}

void ptx_leave_scope(struct ptx_parser *p)
{
    struct ptx_scope *scope = p->scope;
    for (size_t i = 0; i < scope->labels.capacity; i++) {
        struct name_entry *name = &scope->labels.places[i];
        const struct ptx_label *label = name->object;
        if (!name->text || label->defined)
            continue;
        if (scope->parent) {
            hand_on_label(scope->parent, name);
            continue;
        }
        diag_error(p->diag, label->where, "unknown label `%s`", label->name);
    }
    p->scope = scope->parent;
    p->depth--;
}

/* Returns the register of a name like %r12 in this scope, if the scope has %r<13> or more. */
static struct name_entry *numbered(const struct name_table *names, const char *text, size_t length,
                                   uint32_t *reg)
{
    size_t digits = 0;
    uint64_t number = 0, unit = 1;
    while (digits < length && digits < 9) {
        char c = text[length - digits - 1];
        if (c < '0' || c > '9')
            break;
        number += (uint64_t)(c - '0') * unit;
        unit *= 10;
        digits++;
        bool leading_zero = c == '0' && digits > 1;
        struct name_entry *name =
            leading_zero ? NULL : name_table_find(names, text, length - digits);
        if (!name || name->kind != PTX_NAME_RANGE)
            continue;
        const struct ptx_registers *range = name->object;
        uint32_t width = ptx_registers_width(range);
        if (number < range->count / width) {
            *reg = range->first + (uint32_t)number * width;
            return name;
        }
    }
    return NULL;
}

struct name_entry *ptx_lookup(const struct ptx_parser *p, const char *text, size_t length,
                              uint32_t *reg)
{
    for (struct ptx_scope *scope = p->scope; scope; scope = scope->parent) {
        struct name_entry *name = name_table_find(&scope->names, text, length);
        if (name && name->kind != PTX_NAME_RANGE) {
            *reg = name->number;
            return name;
        }
        name = numbered(&scope->names, text, length, reg);
        if (name)
            return name;
    }
    return name_table_find(&p->globals, text, length);
}

bool ptx_is_register_here(const struct ptx_parser *p, const char *text, size_t length)
{
    uint32_t reg;
    const struct name_entry *name = name_table_find(&p->scope->names, text, length);
    return (name && name->kind == PTX_NAME_REGISTER) ||
           numbered(&p->scope->names, text, length, &reg);
}

struct name_entry *ptx_declare(struct ptx_parser *p, const char *name, struct loc where,
                               enum ptx_name_kind kind, void *object)
{
    struct name_table *names = p->scope ? &p->scope->names : &p->globals;
    size_t length = strlen(name);
    if (name_table_find(names, name, length)) {
        diag_error(p->diag, where, "`%s` is declared already", name);
        return NULL;
    }
    struct name_entry *made = name_table_add(names, name, length);
    made->kind = (int)kind;
    made->object = object;
    return made;
}

static void collect(const struct name_table *names, const char **list, size_t most, size_t *count)
{
    for (size_t i = 0; i < names->capacity && *count < most; i++)
        if (names->places[i].text)
            list[(*count)++] = names->places[i].text;
}

void ptx_unknown_name(struct ptx_parser *p, struct loc where, const char *name)
{
    enum { MOST = 512 };
    const char **known = arena_array(p->arena, const char *, MOST);
    size_t count = 0;
    for (struct ptx_scope *scope = p->scope; scope; scope = scope->parent)
        collect(&scope->names, known, MOST, &count);
    collect(&p->globals, known, MOST, &count);
    diag_error(p->diag, where, "unknown name `%s`", name);
    const char *near = text_nearest(name, known, count);
    if (near)
        diag_note(p->diag, where, "the nearest is `%s`", near);
}

bool ptx_knows_label(const struct ptx_parser *p)
{
    for (const struct ptx_scope *scope = p->scope; scope; scope = scope->parent) {
        const struct name_entry *name =
            name_table_find(&scope->labels, p->token.text, p->token.length);
        if (name && ((const struct ptx_label *)name->object)->defined)
            return true;
    }
    return false;
}

struct ptx_label *ptx_label_named(struct ptx_parser *p, const char *name)
{
    size_t length = strlen(name);
    struct name_entry *found = name_table_find(&p->scope->labels, name, length);
    if (found)
        return found->object;
    struct ptx_label *label = arena_new(p->arena, struct ptx_label);
    *label = (struct ptx_label){.name = name, .where = ptx_here(p)};
    name_table_add(&p->scope->labels, name, length)->object = label;
    vec_push(p->arena, &p->function->labels, label);
    return label;
}

bool ptx_define_label(struct ptx_parser *p, struct ptx_label *label, struct loc where)
{
    if (label->defined) {
        diag_error(p->diag, where, "label `%s` is already defined", label->name);
        return false;
    }
    label->defined = true;
    label->where = where;
    label->statement = (uint32_t)p->function->body.count;
    return true;
}

/* --- statements --- */

void ptx_push(struct ptx_parser *p, struct ptx_statement statement)
{
    vec_push(p->arena, &p->function->body, statement);
}

bool ptx_open_block(struct ptx_parser *p, struct loc where)
{
    if (p->depth >= PTX_MOST_DEPTH) {
        diag_error(p->diag, where, "braces are nested too deeply");
        return false;
    }
    ptx_enter_scope(p);
    ptx_push(p, (struct ptx_statement){.kind = PTX_AT_OPEN, .where = where});
    return true;
}

void ptx_close_block(struct ptx_parser *p)
{
    ptx_push(p, (struct ptx_statement){.kind = PTX_AT_CLOSE, .where = ptx_here(p)});
    ptx_leave_scope(p);
}

/* Finds the form and puts the modifiers in its order. Keeps an instruction that no form takes as
 * it is, so that the verifier can explain it. */
static void settle_form(struct ptx_parser *p, struct ptx_instruction *ins)
{
    struct ptx_choice choice;
    ins->form = PTX_NO_FORM;
    ptx_choose(p->function, ins, true, &choice);
    if (!choice.form)
        return;
    ins->form = (uint16_t)(choice.form - ptx_forms);
    memcpy(ins->mods, choice.order, sizeof ins->mods);
}

void ptx_push_instruction(struct ptx_parser *p, struct loc where, struct ptx_instruction *ins)
{
    settle_form(p, ins);
    ptx_push(
        p, (struct ptx_statement){.kind = PTX_AT_INSTRUCTION, .where = where, .instruction = ins});
}
