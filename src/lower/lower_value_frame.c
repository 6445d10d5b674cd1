/* Loops and scopes: where code goes, what is forgotten when, and the registers that follow a
 * loop's counters. */
#include "lower/lower_value_graph.h"

#include <assert.h>

/* --- regions --- */

static size_t region_open(struct lower *l)
{
    struct values *vs = l->values;
    if (++vs->region == vs->regions.count) {
        struct region r = {0};
        vec_push(l->arena, &vs->regions, r);
    }
    return vs->region;
}

static void region_close(struct lower *l, size_t region)
{
    values_forget(l, region);
    l->values->region = region - 1;
}

void scope_open(struct lower *l, struct scope *s)
{
    s->region = region_open(l);
}

void scope_close(struct lower *l, struct scope *s)
{
    assert(l->values->region == s->region && "scopes and frames are not nested");
    region_close(l, s->region);
}

/* --- frames --- */

void frame_open(struct lower *l, struct frame *f)
{
    *f = (struct frame){.outer = l->frame, .depth = value_depth(l) + 1};
    f->region = region_open(l);
    f->enclosing = ptx_divert(&l->b, &f->body);
    l->frame = f;
}

void frame_close(struct lower *l, struct frame *f)
{
    assert(l->frame == f && l->values->region == f->region && "scopes and frames are not nested");
    for (struct counter *c = f->counters; c; c = c->next)
        c->frame = NULL;
    ptx_divert(&l->b, f->enclosing);
    ptx_append(&l->b, &f->before);
    ptx_append(&l->b, &f->body);
    l->frame = f->outer;
    region_close(l, f->region);
}

/* --- counters --- */

static struct facts counter_facts(enum dtype t, const struct counter *c)
{
    const struct facts *start = &c->start->facts, *step = &c->step->facts;
    struct facts all = facts_of_type(t), any = facts_between(INT64_MIN, INT64_MAX);
    struct facts steps = facts_product(step, &any), f = facts_sum(start, &steps);
    bool exact, up = !c->wraps && step->least >= 0, down = !c->wraps && step->greatest <= 0;
    struct facts within =
        facts_between(up ? start->least : all.least, down ? start->greatest : all.greatest);
    if (c->wraps) /* powers of two divide what wraps, too */
        f = facts_wrap(&f, facts_type_of(t), &exact);
    return facts_meet(&within, &f);
}

const struct value *frame_counter(struct lower *l, enum dtype t, struct ptx_operand reg,
                                  const struct value *start, const struct value *step, bool wraps)
{
    struct frame *f = l->frame;
    assert(f && !f->latched && value_sums(t));
    struct counter *c = arena_new(l->arena, struct counter);
    *c = (struct counter){
        .next = f->counters, .frame = f, .start = start, .step = step, .wraps = wraps};
    c->now = value_new_leaf(l, t, reg, f->depth);
    c->now->counter = c;
    c->now->facts = counter_facts(t, c);
    f->counters = c;
    return c->now;
}

static bool is_counter_of(const struct value *atom, const struct frame *f)
{
    return atom->counter && atom->counter->frame == f && atom == atom->counter->now;
}

/* Forgets the values that were computed from the counters of the previous iteration. */
static void forget_past(struct lower *l, const struct frame *f)
{
    struct region *r = &l->values->regions.data[f->region];
    for (size_t i = 0; i < r->placed.count; i++)
        if (r->placed.data[i]->level >= f->depth)
            r->placed.data[i]->placed = false;
}

/* A pointer's next place may lie as far behind the last address made from it as that behind the one
 * before: then nothing new is needed, pointer + 4 n, + 4 n, + 4 n, + 4 n. */
static void step_stream(struct lower *l, const struct stream *s)
{
    struct values *vs = l->values;
    size_t count = vs->anchors.count, least = count > MOST_ANCHORS ? count - MOST_ANCHORS : 0;
    for (size_t i = count; i > least && !value_is_literal(s->step) && !s->step->placed; i--) {
        const struct value *anchor = vs->anchors.data[i - 1];
        if (!anchor->placed || anchor == s->key || anchor->dtype != s->key->dtype ||
            anchor->level != s->key->level || anchor->fleeting)
            continue;
        const struct value *gone = value_sub(l, anchor, s->key);
        const struct value *left = value_sub(l, s->step, gone);
        if (gone->level >= l->frame->depth || !left->placed)
            continue;
        sum_step(l, s->key->dtype, s->reg, anchor->place, left);
        return;
    }
    sum_step(l, s->key->dtype, s->reg, s->reg, s->step);
}

void frame_latch(struct lower *l)
{
    struct frame *f = l->frame;
    assert(!f->latched && l->values->region == f->region);
    for (struct stream *s = f->streams; s; s = s->next)
        step_stream(l, s);
    for (struct counter *c = f->counters; c; c = c->next) {
        sum_step(l, c->now->dtype, c->now->reg, c->now->reg, c->step);
        c->stepped = value_new_leaf(l, c->now->dtype, c->now->reg, f->depth);
        c->stepped->counter = c;
        c->stepped->facts = counter_facts(c->now->dtype, c);
    }
    forget_past(l, f);
    f->latched = true;
}

const struct value *frame_counter_next(struct lower *l, const struct value *counter)
{
    (void)l;
    assert(counter->counter && counter->counter->stepped && "frame_latch comes first");
    return counter->counter->stepped;
}

/* --- streams --- */

enum { NOT_FOLLOWED = -1, INVARIANT = -2 };

/* Index of the one counter in m if all else is fixed in the loop. */
static int followed_by(const struct monomial *m, const struct frame *f)
{
    int counter = INVARIANT;
    for (int i = 0; i < m->count; i++) {
        if (m->atom[i]->level < f->depth)
            continue;
        if (counter != INVARIANT || !is_counter_of(m->atom[i], f))
            return NOT_FOLLOWED;
        counter = i;
    }
    return counter;
}

void frame_split(struct lower *l, const struct poly *p, struct poly *followed, struct poly *rest)
{
    const struct frame *f = l->frame;
    struct poly fixed = {0};
    *followed = *rest = (struct poly){0};
    for (int i = 0; i < p->count; i++) {
        int counter = f && !f->latched ? followed_by(&p->terms[i], f) : NOT_FOLLOWED;
        struct poly *to = counter >= 0 ? followed : counter == INVARIANT ? &fixed : rest;
        poly_add_term(l, to, p->terms[i]);
    }
    poly_add(l, followed->count ? followed : rest, &fixed, 1);
}

bool frame_wraps(const struct lower *l, const struct poly *followed)
{
    for (int i = 0; i < followed->count; i++) {
        const struct monomial *m = &followed->terms[i];
        int at = followed_by(m, l->frame);
        if (at >= 0 && m->atom[at]->counter->wraps && !value_wide(m->atom[at]->dtype))
            return true;
    }
    return false;
}

/* One multiply-add makes counter * factor + fixed. */
bool frame_worth_stream(const struct lower *l, const struct poly *followed)
{
    int moving = 0;
    for (int i = 0; i < followed->count; i++) {
        const struct monomial *m = &followed->terms[i];
        if (followed_by(m, l->frame) < 0)
            continue;
        bool narrow = true;
        for (int k = 0; k < m->count; k++)
            narrow = narrow && !value_wide(m->atom[k]->dtype);
        bool easy = narrow && (m->count == 1 || (m->count == 2 && m->factor == 1));
        if (++moving > 1 || !easy)
            return true;
    }
    return false;
}

/* p with each counter replaced by where it starts, or, of what moves, by its step. */
static const struct value *with_counters(struct lower *l, enum dtype t, const struct poly *p,
                                         bool steps)
{
    struct poly result = {0};
    for (int i = 0; i < p->count; i++) {
        const struct monomial *m = &p->terms[i];
        int at = followed_by(m, l->frame);
        if (at < 0) {
            if (!steps)
                poly_add_term(l, &result, *m);
            continue;
        }
        const struct counter *c = m->atom[at]->counter;
        struct poly by = poly_of(l, steps ? c->step : c->start), product, others = {0};
        poly_add_term(l, &others, monomial_without(m, at));
        if (!poly_mul(l, &others, &by, &product))
            return NULL;
        poly_add(l, &result, &product, 1);
    }
    return value_of_poly(l, t, &result);
}

static struct ptx_operand begin_stream(struct lower *l, const struct value *start)
{
    struct detour d = detour_to(l, l->frame->depth - 1);
    struct poly p = poly_of(l, start);
    int64_t constant = p.constant;
    p.constant = 0;
    const struct value *base = value_of_poly(l, start->dtype, &p);
    struct ptx_operand reg = op_register(l, start->dtype);
    if (p.count == 0)
        op_move(l, start->dtype, reg, ptx_int(constant));
    else if (constant == 0)
        op_move(l, start->dtype, reg, address_register(l, base));
    else {
        const struct value *rest = value_int(l, start->dtype, constant);
        sum_step(l, start->dtype, reg, address_register(l, base), rest);
    }
    detour_end(l, &d);
    return reg;
}

/* Anew in each trip: of too high a degree to be followed. */
static struct ptx_operand sum_anew(struct lower *l, const struct value *v, const struct poly *p)
{
    struct ptx_operand sum = sum_chain(l, v->dtype, NULL, p);
    return p->constant == 0 ? sum : sum_plus(l, v->dtype, sum, p->constant);
}

struct ptx_operand frame_stream(struct lower *l, const struct value *v)
{
    struct frame *f = l->frame;
    for (struct stream *s = f->streams; s; s = s->next)
        if (s->key == v)
            return s->reg;
    struct poly p = poly_of(l, v);
    const struct value *start = with_counters(l, v->dtype, &p, false);
    const struct value *step = with_counters(l, v->dtype, &p, true);
    if (!start || !step)
        return sum_anew(l, v, &p);
    start = value_affine(l, start, 1, p.constant);
    struct stream *s = arena_new(l->arena, struct stream);
    *s = (struct stream){f->streams, v, step, begin_stream(l, start)};
    f->streams = s;
    return s->reg;
}
