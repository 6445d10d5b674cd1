/* Register tiles: by vote.
 *
 * Every statement votes for the layout of the tiles that it assigns (what the value comes in)
 * and of those that it uses (what they are wanted in), as often as it is executed. Votes depend
 * on layouts, so they are counted again until nothing changes. First only firm reasons count,
 * fragments and what is derived from them; then what merely is coalesced. An assignment wins
 * over a use that is executed as often: the value may be turned over after a cast to a narrower
 * type, or not at all.
 */
#include "plan/plan_layouts_own.h"

enum { ROUNDS = 6, FIRM = 8 };

static void vote(struct planned_symbol *s, struct preference p, int64_t weight)
{
    weight *= p.firm ? 2 * FIRM : 2;
    for (int i = 0; i < s->count; i++)
        if (s->votes[i].layout == p.layout) {
            s->votes[i].weight += weight;
            s->votes[i].firm |= p.firm;
            return;
        }
    if (s->count < VOTES_MOST)
        s->votes[s->count++] = (struct vote){p.layout, weight, p.firm};
}

static void vote_for_use(struct layouts *l, void *user, const struct sym *sym,
                         struct preference wanted, int weight)
{
    (void)user;
    struct planned_symbol *s = plan_planned_symbol(l, sym);
    if (wanted.own && s && wanted.layout == s->is.layout) /* it merely is so */
        return;
    if (s && wanted.layout && plan_fits(wanted.layout, &sym->type))
        vote(s, wanted, weight);
}

static void vote_for_value(struct layouts *l, void *user, const struct sym *sym,
                           const struct expr *value, int weight)
{
    (void)user;
    struct planned_symbol *s = plan_planned_symbol(l, sym);
    if (!s || !type_same_shape(&value->type, &sym->type))
        return;
    struct preference p = plan_prefer(l, value);
    if (!p.layout)
        p.layout = plan_coalesced(l, value, NULL);
    if (!p.layout || !plan_fits(p.layout, &sym->type))
        return;
    vote(s, p, weight);
    s->votes[0].weight += s->votes[0].layout == p.layout; /* wins where votes are even */
}

static bool decide(struct planned_symbol *s, bool firm_only)
{
    const struct vote *best = NULL;
    for (int i = 0; i < s->count; i++)
        if ((s->votes[i].firm || !firm_only) && (!best || s->votes[i].weight > best->weight))
            best = &s->votes[i];
    if (!best || (best->layout == s->is.layout && best->firm == s->is.firm))
        return false;
    s->is = (struct preference){best->layout, best->firm, false};
    return true;
}

static bool vote_once(struct layouts *l, bool firm_only)
{
    static const struct plan_visitor voters = {NULL, vote_for_use, vote_for_value, NULL};
    struct plan *p = l->plan;
    bool changed = false;
    for (size_t i = 0; i < p->symbols.count; i++)
        p->symbols.data[i]->count = 0;
    plan_walk(l, &voters);
    for (size_t i = 0; i < p->symbols.count; i++)
        changed |= decide(p->symbols.data[i], firm_only);
    return changed;
}

void plan_find_symbols(struct layouts *l)
{
    for (const struct sym *s = l->kernel->symbols; s; s = s->next) {
        if (s->storage != ST_REG || !plan_is_tile(&s->type))
            continue;
        struct planned_symbol *p = arena_new(l->arena, struct planned_symbol);
        p->sym = s;
        vec_push(l->arena, &l->plan->symbols, p);
        pointer_map_put(l->arena, &l->plan->symbol_of, s, p);
    }
}

/* A factor that goes through scratch does so from the layout that it comes in; what is loaded for
 * it alone comes in the one that was chosen for that. */
static void settle_factors(struct layouts *l, struct dot_plan *d)
{
    for (int side = 0; side < 2; side++) {
        struct plan_source s = plan_source_of(d->e, side);
        bool kept = side ? d->b_staged && !d->b_again : d->a_staged && !d->a_again;
        const struct layout *natural = s.shared || !kept ? NULL : plan_prefer(l, s.e).layout;
        if (natural)
            *(side ? &d->b : &d->a) = natural;
    }
}

/* Gives a tile that is only copied from or to global memory the layout of these accesses. */
static void settle_symbol(struct layouts *l, struct planned_symbol *s)
{
    const struct expr *access = s->is.firm ? plan_settled(l, s->sym) : NULL;
    if (access)
        s->is.layout = plan_view(l, access, s->is.layout, false);
}

void plan_symbols(struct layouts *l)
{
    struct plan *p = l->plan;
    bool has_dots = p->dots.count > 0;
    for (int n = 0; has_dots && n < ROUNDS && vote_once(l, true); n++)
        continue;
    for (int n = 0; p->symbols.count > 0 && n < ROUNDS && vote_once(l, false); n++)
        continue;
    for (size_t i = 0; i < p->symbols.count; i++) {
        struct planned_symbol *s = p->symbols.data[i];
        settle_symbol(l, s);
        if (!s->is.layout)
            s->is.layout = plan_blocked(l, &s->sym->type, 0);
    }
    p->settled = true;
    for (size_t i = 0; i < p->dots.count; i++)
        settle_factors(l, &p->dots.data[i].plan);
}
