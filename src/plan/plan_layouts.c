/* The plan: in which order it is found. plan_layouts_known.c has what the rest asks of it.
 *
 *   products         the hardware's fragments; plan_layouts_dot.c
 *   register tiles   by vote of what they are assigned and used for; plan_layouts_symbol.c
 *   shared tiles     after them: the registers that meet them are then known; plan_layouts_shared.c
 *   global accesses  when they are emitted; plan_layouts_view.c
 */
#include "plan/plan_layouts_own.h"

/* --- For show --- */

static void note_layout(struct layouts *l, const struct sym *s, const char *what,
                        const struct layout *layout, enum dtype t)
{
    struct lowered_placed placed = {s, what, layout, dtype_table[t].bits, false, NULL};
    vec_push(l->arena, &l->out->placed, placed);
}

static void note_dots(struct layouts *l)
{
    struct line_starts lines = {0};
    for (size_t i = 0; i < l->plan->dots.count; i++) {
        const struct dot_plan *d = &l->plan->dots.data[i].plan;
        const struct expr *e = l->plan->dots.data[i].use.e;
        const char *where = "dot";
        if (e->loc.source) {
            int line, column;
            loc_line_starts_find(l->arena, &lines, e->loc, &line, &column);
            where = arena_printf(l->arena, "dot at %d:%d", line, column);
        }
        note_layout(l, NULL, arena_printf(l->arena, "%s, left factor", where), d->a, d->factor);
        note_layout(l, NULL, arena_printf(l->arena, "%s, right factor", where), d->b, d->factor);
        note_layout(l, NULL, arena_printf(l->arena, "%s, sum", where), d->c, d->sum);
    }
}

void plan_note_shared(struct layouts *l)
{
    for (size_t i = 0; i < l->plan->tiles.count; i++) {
        const struct planned_shared *t = l->plan->tiles.data[i];
        struct lowered_placed placed = {t->sym,  NULL,
                                        t->kept, dtype_table[t->sym->type.dtype].bits,
                                        true,    layout_shared_form_names[t->form]};
        vec_push(l->arena, &l->out->placed, placed);
    }
}

static void note_all(struct layouts *l)
{
    plan_note_shared(l);
    for (size_t i = 0; i < l->plan->symbols.count; i++) {
        const struct planned_symbol *s = l->plan->symbols.data[i];
        note_layout(l, s->sym, NULL, s->is.layout, s->sym->type.dtype);
    }
    note_dots(l);
}

bool plan_make(struct layouts *l)
{
    l->plan = arena_new(l->arena, struct plan);
    plan_settle_sums(l);
    l->plan->stmts = plan_statements(l->arena, l->kernel);
    plan_scalars(l);
    plan_find_symbols(l);
    plan_dots(l);
    if (l->failed)
        return false;
    plan_symbols(l);
    plan_tiles(l);
    note_all(l);
    return !l->failed;
}
