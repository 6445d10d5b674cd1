/* Finds the lowest .version for a module: drivers refuse versions newer than their own. */
#include "ptx/ptx.h"

struct version {
    int least;
};

static void need(struct version *v, int version)
{
    if (version > v->least)
        v->least = version;
}

static void need_type(struct version *v, enum ptx_mod type)
{
    need(v, ptx_mods[type].version);
}

static void need_operands(struct version *v, const struct ptx_operand *o, uint32_t count)
{
    for (; count; count--, o++) {
        if (o->kind == PTX_REGISTER) /* most are */
            continue;
        if (o->kind == PTX_SPECIAL)
            need(v, ptx_specials[o->special].version);
        if (o->unified)
            need(v, 80);
        need_operands(v, o->elements, ptx_elements(o));
    }
}

static void need_instruction(struct version *v, const struct ptx_instruction *ins)
{
    if (ins->form != PTX_NO_FORM)
        need(v, ptx_choice_version(&ptx_forms[ins->form], ins->mods, ins->mod_count));
    need_operands(v, ins->operands, ins->operand_count);
}

static void need_variable(struct version *v, const struct ptx_variable *x)
{
    need_type(v, x->type);
    if (x->linkage == PTX_COMMON)
        need(v, 50);
    if (x->linkage == PTX_WEAK)
        need(v, 31);
    if (x->attribute)
        need(v, x->attribute[1] == 'u' ? 90 : 40); /* .unified, .managed */
    if (x->pointer)
        need(v, 22);
}

static void need_signature(struct version *v, const struct ptx_signature *s)
{
    if (s->noreturn)
        need(v, 64);
    for (size_t i = 0; i < s->results.count; i++)
        need_variable(v, s->results.data[i]);
    for (size_t i = 0; i < s->parameters.count; i++)
        need_variable(v, s->parameters.data[i]);
}

static void need_statement(struct version *v, const struct ptx_statement *s)
{
    switch (s->kind) {
    case PTX_AT_INSTRUCTION: need_instruction(v, s->instruction); break;
    case PTX_AT_REGISTERS: need_type(v, (enum ptx_mod)s->registers->type); break;
    case PTX_AT_VARIABLE: need_variable(v, s->variable); break;
    case PTX_AT_LINE:
        if (s->line->function_name)
            need(v, 72);
        break;
    case PTX_AT_PROTOTYPE: need_signature(v, &s->prototype->signature); break;
    case PTX_AT_LABEL:
    case PTX_AT_OPEN:
    case PTX_AT_CLOSE:
    case PTX_AT_PRAGMA:
    case PTX_AT_TARGETS:
    case PTX_AT_MARK: break;
    }
}

static void need_function(struct version *v, const struct ptx_function *f)
{
    need_signature(v, &f->signature);
    if (f->entry && ptx_signature_bytes(&f->signature) > PTX_PARAMETERS_ONCE)
        need(v, 81);
    for (size_t i = 0; i < f->limits.count; i++)
        need(v, ptx_directives[f->limits.data[i].directive].version);
    for (size_t i = 0; i < f->body.count; i++)
        need_statement(v, &f->body.data[i]);
}

int ptx_lowest_version(const struct ptx_module *m)
{
    const struct ptx_target_info *target = ptx_target_find(m->target);
    struct version v = {target ? target->version : 60};
    for (size_t i = 0; i < m->items.count; i++) {
        const struct ptx_item *item = &m->items.data[i];
        if (item->kind == PTX_ITEM_VARIABLE)
            need_variable(&v, item->variable);
        else if (item->kind == PTX_ITEM_FUNCTION)
            need_function(&v, item->function);
        else if (item->kind == PTX_ITEM_DECLARATION)
            need_signature(&v, &item->declared->signature);
        else if (item->kind == PTX_ITEM_ALIAS)
            need(&v, 63);
    }
    return v.least;
}
