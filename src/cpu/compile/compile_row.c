/* Compiles rows of views that are read in place, without a copy. A row is read in place if a
 * register tile is declared as one, as in `reg f32 v[W] = X[block.x][0 +: W];`, until the tile
 * is assigned, which must be soon; or if the view is read-only. Code that needs the elements in
 * the frame loads the row (compile_row_load). */
#include "cpu/compile/compile.h"
#include "cpu/strips.h"

enum { SHORTEST_SHOWN = 256 }; /* elements; loading a shorter row is as fast */

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

/* Returns whether the statements after the declaration only compute values until the tile is
 * assigned, within the next few. Memory then stays the same in between. */
static bool is_assigned_soon(const struct stmt *declaration)
{
    enum { FEW = 32 };
    const struct stmt *s = declaration->next;
    for (int i = 0; s && i < FEW; i++, s = s->next) {
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

/* Returns whether e is a row of a view that can be read in place: it has the view's own element
 * type and is long enough. */
static bool is_row(const struct compiler *c, const struct expr *e)
{
    return !c->plain && c->lanes == 1 && c->mask == NO_SLOT && e->op == OP_ACCESS &&
           e->sym->storage == ST_VIEW && e->sym->type.dtype == e->type.dtype && e->type.rank == 1 &&
           e->type.extent[0] >= SHORTEST_SHOWN &&
           !(e->otherwise && (e->otherwise->type.rank > 0 || has_effect(e->otherwise)));
}

/* Emits the step that finds the row e, or copies it to the value if its elements are not
 * contiguous; *shown_at gets the place of its address in the frame. `stays`: see struct access.
 * false: the row is never contiguous. */
static bool emit_show(struct compiler *c, const struct expr *e, const struct value *v, bool stays,
                      uint32_t *shown_at)
{
    uint32_t code = (uint32_t)c->code.count, outer = c->top;
    *shown_at = compile_memory_new(c, sizeof(void *));
    uint32_t top = c->top;
    struct access *a = compile_access_new(c, e);
    if (!compile_loads_row(c, a)) {
        c->code.count = code;
        c->top = outer;
        return false;
    }
    if (e->otherwise)
        a->otherwise = compile_value_convert(c, compile_expr(c, e->otherwise, NULL), v->dtype).at;
    a->stays = stays;
    a->prefetch = compile_row_prefetch_new(c);
    compile_note_row_access(c, a);
    struct instr *in = compile_add_step(c, step_show_row);
    in->detail = a;
    in->dst = v->at;
    in->a = *shown_at;
    if (e->loc.source)
        in->loc = e->loc; /* the place that a load would have */
    c->top = top;
    return true;
}

bool compile_shown_row(struct compiler *c, const struct stmt *s, const struct value *v)
{
    const struct expr *e = s->value;
    if (!e || s->sym->storage != ST_REG || !is_row(c, e) || e->type.dtype != v->dtype ||
        !type_same_shape(&e->type, &s->sym->type))
        return false;
    struct slot *slot = compile_slot_of(c, s->sym);
    bool soon = is_assigned_soon(s), stays = e->sym->is_const && !slot->assigned;
    if ((!soon && !stays) || !emit_show(c, e, v, !soon, &slot->shown_at))
        return false;
    slot->value = *v;
    slot->mask = c->mask;
    slot->is_shown = true;
    return true;
}

const struct slot *compile_row_as_shown(struct compiler *c, const struct expr *e)
{
    const struct slot *variable = e->op == OP_REF ? compile_slot_of(c, e->sym) : NULL;
    if (variable && variable->is_shown && variable->value.dtype == e->type.dtype)
        return variable;
    if (!is_row(c, e) || !e->sym->is_const)
        return NULL;
    struct slot *slot = arena_new(c->arena, struct slot);
    uint32_t top = c->top;
    slot->value = compile_value_of_type(c, &e->type, 1);
    if (emit_show(c, e, &slot->value, true, &slot->shown_at))
        return slot;
    c->top = top;
    return NULL;
}

void compile_row_map(struct compiler *c, const struct stmt *s, const struct value *v)
{
    const struct sym *sym = s->kind == STMT_DECL ? s->sym : s->target->sym;
    enum strip_form form = s->row->rule == ROW_POWERS ? STRIP_DIFFERENCE : STRIP_BY_ONE;
    struct slot *slot = compile_slot_of(c, sym);
    struct instr *in = &c->code.data[c->code.count - 1];
    const struct strip_detail *d = in->step == step_row && in->dst == v->at ? in->detail : NULL;
    slot->sum = NULL;
    if (!d || d->store || d->reduce || d->ops != 1 || d->op->form != form ||
        !routine_row_map(c->set, s->row->rule, (size_t)d->extent[0]))
        return;
    slot->sum = s->row->sum;
    slot->sum_value = compile_value_of_type(c, &slot->sum->type, 1);
    in->step = step_row_map;
    in->a = slot->sum_value.at;
    in->b = s->row->rule;
}

const struct value *compile_row_sum(const struct compiler *c, const struct expr *e)
{
    const struct expr *x = e->args[0]->op == OP_MUL ? e->args[0]->args[0] : e->args[0];
    const struct slot *slot = x->op == OP_REF ? compile_slot_of(c, x->sym) : NULL;
    return slot && slot->sum == e ? &slot->sum_value : NULL;
}
