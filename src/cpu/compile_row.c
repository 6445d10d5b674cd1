/* A register tile that is declared as a row of a view, as `reg f32 v[W] = X[block.x][0 +: W];`, and
 * assigned to soon. Until then it is not loaded: what the row is read by reads it where it lies.
 */
#include "cpu/compile.h"

enum { SHORTEST_SHOWN = 256 }; /* elements; shorter ones are as well loaded */

static void note_effect(void *user, struct expr **at)
{
    bool *effect = user;
    *effect |= !(op_table[(*at)->op].flags & OP_PURE) && (*at)->op != OP_ACCESS;
}

static bool has_effect(const struct expr *e)
{
    struct expr *root = (struct expr *)(uintptr_t)e; /* the walk replaces nothing */
    bool effect = false;
    if (root)
        expr_walk(&root, note_effect, &effect);
    return effect;
}

static bool is_variable(const struct sym *s)
{
    return s->storage == ST_SCALAR || s->storage == ST_REG;
}

/* Do the statements that follow compute values and nothing else, until it is assigned to? Then
 * memory is the same all the time. */
static bool is_assigned_soon(const struct stmt *declaration)
{
    for (const struct stmt *s = declaration->next; s; s = s->next) {
        bool assigns = s->kind == STMT_ASSIGN && s->target->op == OP_REF;
        if (!(assigns && is_variable(s->target->sym)) &&
            !(s->kind == STMT_DECL && is_variable(s->sym)))
            return false;
        if (has_effect(s->value))
            return false;
        if (assigns && s->target->sym == declaration->sym)
            return true;
    }
    return false;
}

bool compile_shown_row(struct compiler *c, const struct stmt *s, const struct value *v)
{
    const struct expr *e = s->value;
    if (c->plain || c->lanes > 1 || c->mask != NO_SLOT || s->sym->storage != ST_REG || !e ||
        e->op != OP_ACCESS || e->sym->storage != ST_VIEW || e->sym->type.dtype != v->dtype ||
        e->type.dtype != v->dtype || v->rank != 1 || v->extent[0] < SHORTEST_SHOWN ||
        !type_same_shape(&e->type, &s->sym->type) || !is_assigned_soon(s) ||
        (e->otherwise && (e->otherwise->type.rank > 0 || has_effect(e->otherwise))))
        return false;
    struct slot *slot = slot_of(c, s->sym);
    uint32_t code = (uint32_t)c->code.count, outer = c->top;
    slot->shown_at = memory_new(c, sizeof(void *));
    uint32_t top = c->top;
    struct access *a = access_new(c, e);
    if (!loads_row(c, a)) {
        c->code.count = code;
        c->top = outer;
        return false;
    }
    if (e->otherwise)
        a->otherwise = value_convert(c, compile_expr(c, e->otherwise, NULL), v->dtype).at;
    a->prefetch = row_prefetch_new(c);
    note_row_access(c, a);
    struct instr *in = emit_step(c, step_show_row);
    in->detail = a;
    in->dst = v->at;
    in->a = slot->shown_at;
    if (e->loc.source)
        in->loc = e->loc; /* as a load's */
    c->top = top;
    slot->value = *v;
    slot->mask = c->mask;
    slot->is_shown = true;
    return true;
}

const struct slot *shown_row(const struct compiler *c, const struct expr *e)
{
    const struct slot *slot = e->op == OP_REF ? slot_of(c, e->sym) : NULL;
    return slot && slot->is_shown && slot->value.dtype == e->type.dtype ? slot : NULL;
}

void compile_row_load(struct compiler *c, const struct sym *s)
{
    const struct slot *slot = slot_of(c, s);
    if (!slot->is_shown)
        return;
    struct instr *in = emit_step(c, step_row_load);
    in->dst = slot->value.at;
    in->a = slot->shown_at;
    in->n = (uint32_t)value_bytes(&slot->value);
}
