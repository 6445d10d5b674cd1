/* Shared tiles: laid out so that all that touches them takes the fewest wavefronts.
 *
 * The leading axes that are indexed by elements (stages) stay plain: one stage after the other.
 * layout_choose_shared chooses the layout of the other axes for all accesses of the program, each with its
 * frequency, and with it the way in which the threads divide a copy from global memory. Tiles of thread-level
 * kernels are rows as they are written, so that users see the conflicts.
 */
#include "plan/plan_layouts_own.h"

#include <string.h>

enum { VECTOR_BYTES = 16 };

static void gather_use(struct layouts *l, void *user, const struct sym *s,
                       const struct shared_use *u)
{
    struct planned_shared *t = pointer_map_get(&l->plan->shared_of, s);
    (void)user;
    if (t)
        vec_push(l->arena, &t->uses, *u);
}

/* --- Parts --- */

static enum index_kind index_kind_of(const struct expr *access, int axis)
{
    return access && axis < access->indices ? access->index[axis].kind : IX_ALL;
}

/* Leading axes that this access indexes by elements. */
static int leading_elements(const struct expr *access)
{
    int n = 0;
    while (access && n < access->indices && access->index[n].kind == IX_ELEMENT)
        n++;
    return n;
}

/* How many leading axes the accesses that count most index by elements. */
static int choose_lead(const struct planned_shared *t)
{
    int64_t weight[MAX_RANK + 1] = {0};
    int best = 0;
    for (size_t i = 0; i < t->uses.count; i++)
        weight[leading_elements(t->uses.data[i].access)] += t->uses.data[i].weight;
    for (int n = 1; n < t->sym->type.rank; n++)
        best = weight[n] > weight[best] ? n : best;
    return best;
}

/* Returns whether the access has all elements at its place of the leading axes. */
static bool is_whole(const struct planned_shared *t, const struct expr *access, int lead)
{
    if (leading_elements(access) != lead)
        return false;
    for (int i = lead; i < t->sym->type.rank; i++) {
        enum index_kind kind = index_kind_of(access, i);
        if (kind != IX_ALL &&
            (kind != IX_SLICE || access->index[i].extent != t->sym->type.extent[i]))
            return false;
    }
    return true;
}

/* The registers of an access as coordinates of the part that is laid out. */
static const struct layout *regs_of_part(struct layouts *l, const struct shared_use *u,
                                         const struct planned_shared *t, int lead)
{
    enum layout_axis map[AXIS_COUNT];
    struct layout out;
    int axis = 0;
    for (int i = 0; i < AXIS_COUNT; i++)
        map[i] = (enum layout_axis)i;
    for (int i = 0; i < t->sym->type.rank; i++) {
        enum index_kind kind = index_kind_of(u->access, i);
        if (kind == IX_GATHER || (i < lead && kind != IX_ELEMENT))
            return NULL;
        if (kind != IX_ELEMENT)
            map[AXIS_DIM(axis++)] = AXIS_DIM(i - lead);
    }
    if (lead == 0 && axis == t->sym->type.rank)
        return u->regs;
    layout_rename(u->regs, map, &out);
    return plan_keep(l, &out);
}

/* Bytes, at most 16, that divide where the accessed part begins, in any of the layouts. */
static int64_t part_alignment(struct layouts *l, const struct shared_use *u,
                              const struct planned_shared *t, int lead)
{
    int64_t step = (int64_t)dtype_size(t->sym->type.dtype), by = VECTOR_BYTES;
    for (int i = t->sym->type.rank - 1; i >= 0; i--) {
        enum index_kind kind = index_kind_of(u->access, i);
        int64_t start = kind == IX_ALL || kind == IX_GATHER || i < lead
                            ? 0
                            : plan_divisor(l, u->access->index[i].value);
        by |= start * step;
        step *= t->sym->type.extent[i];
        if (i == lead && lead > 0)
            by |= step;
    }
    return by & -by;
}

/* --- Wishes --- */

struct wishes {
    struct shared_wish wish;
    int copy_vector; /* of the copy, which is access 0; 0: there is none */
};

static unsigned kinds_of(const struct layouts *l, const struct shared_use *u, enum dtype t,
                         int64_t aligned)
{
    unsigned lanes = 1u << ACCESS_LANES, matrices = 1u << ACCESS_MATRIX | 1u << ACCESS_MATRIX_TRANS;
    bool atomic = u->store && !u->value, can_store = target_has(l->target, TARGET_STMATRIX);
    if (atomic || aligned < VECTOR_BYTES || t == DT_BOOL || (u->store && !can_store))
        return lanes;
    return lanes | matrices;
}

static void add_wish(struct shared_wish *w, struct shared_access a)
{
    for (int i = 0; i < w->count; i++) {
        struct shared_access *old = &w->access[i];
        if (old->regs == a.regs && old->kinds == a.kinds && old->most == a.most &&
            old->needed == a.needed && old->apart == a.apart) {
            old->weight += a.weight;
            return;
        }
    }
    int at = w->count;
    if (at == SHARED_ACCESSES) { /* the lightest, save the copy, goes */
        at = 1;
        for (int i = 2; i < w->count; i++)
            at = w->access[i].weight < w->access[at].weight ? i : at;
        if (w->access[at].weight >= a.weight)
            return;
    } else {
        w->count++;
    }
    w->access[at] = a;
}

/* All copies of the whole part together: in the narrowest vectors that one of them can have. */
static void add_copies(const struct planned_shared *t, int lead, struct wishes *w)
{
    struct shared_access copy = {
        .kinds = 1u << ACCESS_LANES, .most = VECTOR_BYTES, .needed = VECTOR_BYTES};
    bool any_async = false;
    for (size_t i = 0; i < t->uses.count; i++) {
        const struct shared_use *u = &t->uses.data[i];
        if (u->regs || !is_whole(t, u->access, lead))
            continue;
        if (w->copy_vector == 0 || u->vector < w->copy_vector)
            w->copy_vector = u->vector;
        if (u->needed > 0 && u->needed < copy.needed)
            copy.needed = u->needed;
        any_async |= u->needed > 0;
        copy.weight += u->weight;
    }
    if (!any_async)
        copy.needed = 0;
    if (w->copy_vector > 0)
        w->wish.access[w->wish.count++] = copy;
}

/* A copy of a part is dealt as the part alone would be. */
static void deal_parts(struct layouts *l, struct planned_shared *t, int lead)
{
    for (size_t i = 0; i < t->uses.count; i++) {
        struct shared_use *u = &t->uses.data[i];
        if (u->regs || is_whole(t, u->access, lead))
            continue;
        u->regs = plan_blocked(l, &u->value->type, u->vector);
        pointer_map_put(l->arena, &l->plan->copy_of, u->value, (void *)u->regs);
        if (u->access)
            pointer_map_put(l->arena, &l->plan->copy_of, u->access, (void *)u->regs);
    }
}

static void make_wishes(struct layouts *l, struct planned_shared *t, int lead, struct wishes *w)
{
    const struct type *type = &t->sym->type;
    *w =
        (struct wishes){.wish = {.rank = type->rank - lead, .bits = dtype_table[type->dtype].bits}};
    for (int i = lead; i < type->rank; i++)
        w->wish.extents[i - lead] = (int32_t)type->extent[i];
    add_copies(t, lead, w);
    deal_parts(l, t, lead);
    bool in_vectors = w->wish.count > 0 && w->wish.access[0].needed > (int)dtype_size(type->dtype);
    for (size_t i = 0; i < t->uses.count; i++) {
        const struct shared_use *u = &t->uses.data[i];
        const struct layout *regs = u->regs ? regs_of_part(l, u, t, lead) : NULL;
        int64_t aligned = part_alignment(l, u, t, lead);
        if (!regs)
            continue;
        add_wish(&w->wish, (struct shared_access){regs, kinds_of(l, u, type->dtype, aligned),
                                                  u->most < aligned ? u->most : (int)aligned, 0,
                                                  u->weight, in_vectors ? 0 : u->apart});
    }
}

/* --- Choosing --- */

/* Gives up needs that no layout meets: such a copy is then made by plain loads and stores. */
static bool choose(struct layouts *l, struct wishes *w, struct layout *copy,
                   struct shared_choice *choice)
{
    for (;;) {
        bool found = w->copy_vector
                         ? layout_choose_with_copy(&w->wish, w->copy_vector, l->warps, copy, choice)
                         : layout_choose_shared(&w->wish, choice);
        if (found || w->wish.count == 0 || w->wish.access[0].needed == 0)
            return found && !layout_masked(&choice->layout);
        w->wish.access[0].needed = 0;
    }
}

/* Returns true if a part may begin at this index, which is known at run time only: its place must be the sum of the
 * index's place and that of the element in the part. */
static bool index_adds(struct layouts *l, const struct layout *part, int axis,
                       const struct index *x)
{
    struct layout apart = *part;
    int in = layout_in_index(part, AXIS_DIM(axis));
    int64_t length = x->kind == IX_SLICE ? x->extent : 1, divisor = plan_divisor(l, x->value);
    bool any_xor = false, good = true;
    layout_demote(&apart);
    for (int d = 0; d < apart.digit_count; d++) {
        int64_t weight = layout_weight(&apart, d);
        if (apart.digits[d].in != in)
            continue;
        any_xor |= apart.digits[d].xor [0] != 0;
        good &= weight < length ? divisor % (weight * apart.digits[d].extent) == 0
                                : apart.digits[d].xor [0] == 0;
    }
    return good || !any_xor;
}

/* Elements, as often as they are used, that would have to be fetched one by one. */
static int64_t left_apart(struct layouts *l, const struct planned_shared *t, int lead,
                          const struct layout *part)
{
    int64_t sum = 0;
    for (size_t i = 0; i < t->uses.count; i++) {
        const struct shared_use *u = &t->uses.data[i];
        bool good = true;
        for (int axis = lead; u->access && axis < u->access->indices; axis++) {
            const struct index *x = &u->access->index[axis];
            bool whole = x->kind == IX_ALL || x->kind == IX_GATHER ||
                         (x->kind == IX_SLICE && x->extent == t->sym->type.extent[axis]);
            good &= whole || plan_is_fixed(l, x->value) || index_adds(l, part, axis - lead, x);
        }
        if (!good)
            sum += u->weight * type_elements(&u->access->type);
    }
    return sum;
}

/* The best layout; the best without swizzles where that is better for parts that begin anywhere. */
static bool choose_among(struct layouts *l, const struct planned_shared *t, int lead,
                         struct wishes *w, struct layout *copy, struct shared_choice *choice)
{
    enum { APART = 4 }; /* what one such element costs, as layout_swizzle.c counts */
    struct wishes straight = *w;
    struct shared_choice other;
    struct layout other_copy;
    if (!choose(l, w, copy, choice))
        return false;
    int64_t apart = left_apart(l, t, lead, &choice->layout);
    straight.wish.no_xor = true;
    if (!apart || !choose(l, &straight, &other_copy, &other))
        return true;
    int64_t still = left_apart(l, t, lead, &other.layout);
    if (other.cost + APART * still < choice->cost + APART * apart) {
        *copy = other_copy;
        *choice = other;
    }
    return true;
}

/* Adds the leading axes before those of the chosen part. */
static void add_leading_axes(const struct type *type, int lead, const struct layout *part,
                             struct layout *out)
{
    enum layout_axis map[AXIS_COUNT];
    for (int i = 0; i < AXIS_COUNT; i++)
        map[i] = (enum layout_axis)i;
    for (int i = lead; i < type->rank; i++)
        map[AXIS_DIM(i - lead)] = AXIS_DIM(i);
    layout_rename(part, map, out);
    int32_t step = layout_out_extent(part, AXIS_AT);
    for (int i = lead - 1; i >= 0; i--) {
        layout_add_digit(out, AXIS_DIM(i), (int32_t)type->extent[i], AXIS_AT, step);
        step *= (int32_t)type->extent[i];
    }
    out->outs[layout_out_index(out, AXIS_AT)].extent = step;
    layout_normalise(out);
}

static void keep_copies(struct layouts *l, const struct planned_shared *t, int lead,
                        const struct layout *copy)
{
    const struct layout *kept = plan_keep(l, copy);
    for (size_t i = 0; i < t->uses.count; i++) {
        const struct shared_use *u = &t->uses.data[i];
        if (u->regs || !is_whole(t, u->access, lead))
            continue;
        pointer_map_put(l->arena, &l->plan->copy_of, u->value, (void *)kept);
        if (u->access)
            pointer_map_put(l->arena, &l->plan->copy_of, u->access, (void *)kept);
    }
}

static void lay_in_rows(struct layouts *l, struct planned_shared *t, const struct wishes *w,
                        int lead)
{
    struct layout copy;
    plan_rows(&t->sym->type, &t->layout);
    t->form = SHARED_PLAIN;
    if (w->copy_vector && layout_blocked(w->wish.extents, w->wish.rank, w->wish.bits,
                                         w->copy_vector, l->warps, &copy))
        keep_copies(l, t, lead, &copy);
}

static void choose_tile(struct layouts *l, struct planned_shared *t)
{
    struct wishes w;
    struct shared_choice choice;
    struct layout copy;
    int lead = choose_lead(t);
    make_wishes(l, t, lead, &w);
    if (kernel_thread_level(l->kernel) || w.wish.count == 0 ||
        !choose_among(l, t, lead, &w, &copy, &choice)) {
        lay_in_rows(l, t, &w, lead);
        return;
    }
    add_leading_axes(&t->sym->type, lead, &choice.layout, &t->layout);
    t->form = choice.form;
    if (w.copy_vector)
        keep_copies(l, t, lead, &copy);
    for (int i = 0; i < w.wish.count; i++) {
        t->wavefronts += choice.access[i].wavefronts;
        t->least += choice.access[i].least;
    }
}

void plan_tiles(struct layouts *l)
{
    static const struct plan_visitor gatherer = {NULL, NULL, NULL, gather_use};
    struct plan *p = l->plan;
    for (const struct sym *s = l->kernel->symbols; s; s = s->next) {
        if (s->storage != ST_SHARED)
            continue;
        struct planned_shared *t = arena_new(l->arena, struct planned_shared);
        t->sym = s;
        vec_push(l->arena, &p->tiles, t);
        pointer_map_put(l->arena, &p->shared_of, s, t);
    }
    if (p->tiles.count == 0)
        return;
    plan_walk(l, &gatherer);
    for (size_t i = 0; i < p->tiles.count; i++) {
        choose_tile(l, p->tiles.data[i]);
        p->tiles.data[i]->kept = plan_keep(l, &p->tiles.data[i]->layout);
    }
}
