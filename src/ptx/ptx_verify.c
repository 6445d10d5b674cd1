/* The verifier: modules, functions, and each instruction against the table. */
#include "ptx/ptx_verifier.h"

#include <inttypes.h>
#include <string.h>

/* --- instructions --- */

static const char *target_text(struct ptx_verifier *v)
{
    return v->target.suffix ? arena_printf(v->arena, "sm_%d%c", v->target.number, v->target.suffix)
                            : arena_printf(v->arena, "sm_%d", v->target.number);
}

/* Reports the modifier that the target lacks or, if there is none, the form. */
static void lacks_target(struct ptx_verifier *v, const struct ptx_form *form)
{
    const struct ptx_instruction *ins = v->instruction;
    char needed[96];
    const char *name = ptx_mnemonic(v->arena, ins);
    for (int i = 0; i < ins->mod_count; i++) {
        const struct ptx_mod_info *mod = &ptx_mods[ins->mods[i]];
        if (mod->target > v->target.number) {
            ptx_complain(v, "`.%s` of `%s` needs sm_%d; the target is %s", mod->text, name,
                         mod->target, target_text(v));
            return;
        }
    }
    ptx_target_name(form->target, needed, sizeof needed);
    ptx_complain(v, "`%s` needs %s; the target is %s", name, needed, target_text(v));
}

static void check_features(struct ptx_verifier *v, const struct ptx_form *form)
{
    const struct ptx_instruction *ins = v->instruction;
    if (!ptx_choice_has(form, ins->mods, ins->mod_count, v->target))
        lacks_target(v, form);
    int version = ptx_choice_version(form, ins->mods, ins->mod_count);
    if (v->version && version > v->version)
        ptx_complain(v, "`%s` needs .version %d.%d; the module says %d.%d",
                     ptx_mnemonic(v->arena, ins), version / 10, version % 10, v->version / 10,
                     v->version % 10);
}

static void check_label(struct ptx_verifier *v, const struct ptx_operand *o)
{
    if (!o->label->defined)
        ptx_complain(v, "label `%s` is not defined", o->label->name);
}

static void check_branch(struct ptx_verifier *v)
{
    const struct ptx_instruction *ins = v->instruction;
    const struct ptx_operand *o = &ins->operands[ins->operand_count - 1];
    check_label(v, o);
    if (ins->op != PTX_BRX_IDX || !o->label->defined)
        return;
    const struct ptx_statement *s = &v->function->body.data[o->label->statement];
    if (s->kind != PTX_AT_TARGETS || s->targets->calls)
        ptx_complain(v, "`%s` does not name branch targets", o->label->name);
}

void ptx_verify_instruction(struct ptx_verifier *v, const struct ptx_instruction *ins,
                            struct loc where)
{
    struct ptx_choice choice;
    v->instruction = ins;
    v->where = where;
    if (ins->guarded && ptx_register_type(v->function, ins->guard) != MOD_PRED)
        ptx_complain(v, "the guard %s is not a predicate",
                     ptx_register_name(v->arena, v->function, ins->guard));
    ptx_choose(v->function, ins, false, &choice);
    if (!choice.form) {
        if (choice.near)
            ptx_explain_operands(v, choice.near);
        else
            ptx_explain_modifiers(v);
    } else {
        check_features(v, choice.form);
        if (ins->op == PTX_CALL)
            ptx_verify_call(v);
        else
            ptx_verify_operands(v, &choice);
        if (ins->op == PTX_BRA || ins->op == PTX_BRX_IDX)
            check_branch(v);
    }
    v->instruction = NULL;
}

/* --- functions --- */

static bool has_limit(const struct ptx_function *f, enum ptx_directive directive)
{
    for (size_t i = 0; i < f->limits.count; i++)
        if (f->limits.data[i].directive == directive)
            return true;
    return false;
}

static void check_limit(struct ptx_verifier *v, const struct ptx_function *f,
                        const struct ptx_limit *l)
{
    static const struct {
        enum ptx_directive here, other;
    } conflicts[] = {{PTX_REQNTID, PTX_MAXNTID}, {PTX_MAXCLUSTERRANK, PTX_REQNCTAPERCLUSTER}};
    enum ptx_directive d = l->directive;
    const char *name = ptx_directives[d].name;
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++)
        if (conflicts[i].here == d && has_limit(f, conflicts[i].other))
            ptx_complain(v, ".%s does not go with .%s", name,
                         ptx_directives[conflicts[i].other].name);
    bool positive =
        d == PTX_MAXNTID || d == PTX_REQNTID || d == PTX_MINNCTAPERSM || d == PTX_MAXNREG;
    for (uint32_t i = 0; positive && i < l->count; i++)
        if (!l->values[i])
            ptx_complain(v, ".%s takes numbers from 1", name);
    if (!f->entry && d != PTX_ABI_PRESERVE && d != PTX_ABI_PRESERVE_CONTROL)
        ptx_complain(v, ".%s is for kernels", name);
}

static void check_limits(struct ptx_verifier *v, const struct ptx_function *f)
{
    v->where = f->where;
    for (size_t i = 0; i < f->limits.count; i++) {
        const struct ptx_limit *l = &f->limits.data[i];
        const struct ptx_directive_info *d = &ptx_directives[l->directive];
        if (d->target > v->target.number)
            ptx_complain(v, ".%s needs sm_%d; the target is %s", d->name, d->target,
                         target_text(v));
        if (v->version && d->version > v->version)
            ptx_complain(v, ".%s needs .version %d.%d", d->name, d->version / 10, d->version % 10);
        if ((d->most == 0) != (l->count == 0))
            ptx_complain(v, ".%s takes %s", d->name, d->most ? "a number" : "no number");
        check_limit(v, f, l);
    }
    if (f->entry && f->signature.results.count)
        ptx_complain(v, "kernel `%s` cannot give a result", f->name);
}

static void check_parameters(struct ptx_verifier *v, const struct ptx_function *f)
{
    for (size_t i = 0; i < f->signature.parameters.count; i++) {
        const struct ptx_variable *x = f->signature.parameters.data[i];
        if (f->entry && !x->space) {
            v->where = x->where;
            ptx_complain(v, "parameter `%s` of a kernel must be a .param", x->name);
        }
        if (x->space)
            ptx_verify_variable(v, x);
    }
    uint64_t bytes = ptx_signature_bytes(&f->signature);
    uint64_t most = v->version && v->version < 81 ? PTX_PARAMETERS_ONCE : PTX_PARAMETERS_MOST;
    v->where = f->where;
    if (f->entry && bytes > most)
        ptx_complain(
            v, "kernel `%s` has %" PRIu64 " bytes of parameters; %" PRIu64 " are possible%s",
            f->name, bytes, most, most == PTX_PARAMETERS_ONCE ? " before .version 8.1" : "");
}

static void check_targets(struct ptx_verifier *v, const struct ptx_targets *t)
{
    for (size_t i = 0; i < t->labels.count; i++)
        if (!t->labels.data[i]->defined)
            ptx_complain(v, "label `%s` is not defined", t->labels.data[i]->name);
}

static void check_registers(struct ptx_verifier *v, const struct ptx_registers *r)
{
    int class = ptx_mods[r->type].class;
    if (class > PTX_CLASS_FLOAT && r->type != MOD_F16X2)
        ptx_complain(v, "there are no registers of type .%s", ptx_mods[r->type].text);
}

static void check_statement(struct ptx_verifier *v, const struct ptx_statement *s, int *depth)
{
    v->where = s->where;
    switch (s->kind) {
    case PTX_AT_INSTRUCTION: ptx_verify_instruction(v, s->instruction, s->where); break;
    case PTX_AT_OPEN: (*depth)++; break;
    case PTX_AT_CLOSE:
        if (--*depth < 0)
            ptx_complain(v, "a brace closes that was never opened");
        break;
    case PTX_AT_VARIABLE: ptx_verify_variable(v, s->variable); break;
    case PTX_AT_REGISTERS: check_registers(v, s->registers); break;
    case PTX_AT_TARGETS: check_targets(v, s->targets); break;
    case PTX_AT_LABEL:
    case PTX_AT_LINE:
    case PTX_AT_PRAGMA:
    case PTX_AT_PROTOTYPE:
    case PTX_AT_MARK: break;
    }
}

static void check_function(struct ptx_verifier *v, const struct ptx_function *f)
{
    int depth = 0;
    v->function = f;
    check_limits(v, f);
    check_parameters(v, f);
    for (size_t i = 0; i < f->body.count; i++)
        check_statement(v, &f->body.data[i], &depth);
    v->where = f->where;
    if (depth > 0)
        ptx_complain(v, "`%s` has a brace that is not closed", f->name);
    v->function = NULL;
}

/* --- modules --- */

static void check_module(struct ptx_verifier *v, const struct ptx_module *m)
{
    const struct ptx_target_info *target = ptx_target_find(m->target);
    if (!target)
        ptx_complain(v, "there is no target %s", target_text(v));
    else if (m->version && m->version < target->version)
        ptx_complain(v, "%s needs .version %d.%d; the module says %d.%d", target_text(v),
                     target->version / 10, target->version % 10, m->version / 10, m->version % 10);
}

bool ptx_verify(const struct ptx_module *m, struct diag *diag)
{
    struct ptx_verifier v = {
        .arena = diag->arena, .diag = diag, .target = m->target, .version = m->version};
    check_module(&v, m);
    for (size_t i = 0; i < m->items.count && !diag_full(diag); i++) {
        const struct ptx_item *item = &m->items.data[i];
        if (item->kind == PTX_ITEM_VARIABLE)
            ptx_verify_variable(&v, item->variable);
        else if (item->kind == PTX_ITEM_FUNCTION && !item->function->refused)
            check_function(&v, item->function);
    }
    if (!diag_full(diag))
        ptx_verify_constants(&v, m);
    return v.complaint == NULL;
}
