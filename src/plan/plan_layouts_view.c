/* Global memory: which layout it is best read and written in. by(…) at each access says how wide its
 * rows can be moved (plan/copiers.c). */
#include "plan/plan_layouts_own.h"

#include "layout/layout_convert.h"

enum { VECTOR_BYTES = 16 };

/* --- Scalars --- */

int64_t plan_divisor(struct layouts *l, const struct expr *e)
{
    tile_facts_forget(l->facts, 0);
    return divisor_of(l->facts, e);
}

bool plan_is_fixed(struct layouts *l, const struct expr *e)
{
    int64_t n;
    if (eval_int(e, NULL, &n))
        return true;
    if (e->op == OP_REF)
        return pointer_map_get(&l->plan->unrolled, e->sym) != NULL;
    if (!(op_table[e->op].flags & OP_PURE) || (e->count == 0 && e->op != OP_LITERAL))
        return false;
    for (int i = 0; i < e->count; i++)
        if (!plan_is_fixed(l, e->args[i]))
            return false;
    return true;
}

static void note_unrolled(void *user, struct stmt *s)
{
    struct layouts *l = user;
    if (s->kind != STMT_FOR || s->unroll != UNROLL_FULL)
        return;
    for (const struct stmt *init = s->init; init; init = init->next) {
        const struct sym *sym = init->kind == STMT_DECL ? init->sym : init->target->sym;
        pointer_map_put(l->arena, &l->plan->unrolled, sym, (void *)(uintptr_t)sym);
    }
}

void plan_scalars(struct layouts *l)
{
    if (!l->facts) {
        l->facts = arena_new(l->arena, struct tile_facts);
        tile_facts_find(l->facts, l->arena, l->kernel);
    }
    stmt_walk(l->kernel->body, note_unrolled, l);
}

/* --- Rows of views --- */

int plan_copy_vector(struct layouts *l, const struct expr *access, const struct type *t)
{
    int32_t last = (int32_t)t->extent[t->rank - 1];
    if (access->sym->storage == ST_VIEW)
        return plan_copier_of(l->target, access).bytes / (int)dtype_size(t->dtype);
    return layout_widest_vector(&last, 1, dtype_table[t->dtype].bits);
}

/* --- the choice of another layout --- */

/* Half cycles of a multiprocessor, as layout_convert_costs_usual counts. */
enum { SECTOR = 2, INSTRUCTION = 4, WAVEFRONT = 2, WAVEFRONT_BYTES = 128, BARRIER = 60 };

static int64_t access_cost(const struct layout *regs, const struct type *t)
{
    int64_t strides[MAX_RANK], instructions, step = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= i == t->rank - 1 ? 1 << 12 : t->extent[i];
    }
    int64_t sectors = layout_sectors(regs, strides, dtype_table[t->dtype].bits, &instructions);
    return SECTOR * sectors + INSTRUCTION * instructions;
}

/* Through shared memory. */
static int64_t exchange_cost(const struct layout *natural, const struct type *t)
{
    int64_t bits = dtype_table[t->dtype].bits;
    int64_t held = layout_size_in(natural) * bits / 8 / WAVEFRONT_BYTES;
    int64_t once = type_elements(t) * bits / 8 / WAVEFRONT_BYTES;
    return WAVEFRONT * (held + once) + BARRIER;
}

/* By shuffles; -1: they do not do it. */
static int64_t shuffle_cost(struct layouts *l, const struct layout *from, const struct layout *to,
                            const struct type *t)
{
    struct convert_plan plan;
    struct convert_wish wish = {.from = from, .to = to, .bits = dtype_table[t->dtype].bits};
    return layout_plan_conversion(&wish, l->arena, &plan) ? plan.cost : -1;
}

static const struct layout *widened(struct layouts *l, const struct layout *natural, int rank,
                                    int vector)
{
    struct layout out;
    return layout_widen(natural, rank - 1, vector, &out) ? plan_keep(l, &out) : NULL;
}

/* The widest vectors, `widest` at most, with which all threads have a part of the tile. */
static int vector_for_all(const struct layouts *l, const struct type *t, int widest)
{
    int vector = widest;
    while (vector > 1 && (int64_t)vector * l->warps * WARP_LANES > type_elements(t))
        vector /= 2;
    return vector;
}

/* Accesses are of 16 bytes wherever rows allow it and a thread makes more than one; narrower ones
 * are as wide as is worth the way. blocked: of `vector` elements an access. */
static const struct layout *choose_way(struct layouts *l, const struct type *t,
                                       const struct layout *natural, const struct layout *blocked,
                                       int widest, int vector)
{
    int32_t weights[ACCESS_VECTOR_BITS];
    int bits, own = layout_vector(natural, t->rank - 1, widest, weights, &bits);
    if (own >= vector && layout_size_in(natural) <= layout_size_in(blocked))
        return natural;
    bool could_be_whole = widest * (int)dtype_size(t->dtype) == VECTOR_BYTES && own < widest &&
                          layout_in_extent(natural, AXIS_REG) > own;
    bool too_small = vector < widest; /* for all threads: with wider vectors each warp has it all */
    const struct layout *wide = could_be_whole ? widened(l, natural, t->rank, widest) : NULL;
    int64_t by_shuffles = wide ? shuffle_cost(l, natural, wide, t) : -1;
    int64_t through_shared = access_cost(blocked, t) + exchange_cost(natural, t);
    if (by_shuffles >= 0 && (too_small || access_cost(wide, t) + by_shuffles < through_shared))
        return wide;
    if (could_be_whole && !too_small)
        return blocked;
    return through_shared < access_cost(natural, t) ? blocked : natural;
}

/* The layout in which a role stores a tile: in a lane of four, instead of two neighbours of each eight, those of one eight, if they
 * are 16 bytes. Four lanes exchange them by shuffles. */
static const struct layout *choose_for_role(struct layouts *l, const struct type *t,
                                            const struct layout *natural, int widest)
{
    enum { LANES = 4, PAIR = 2 };
    const struct layout *wide =
        widest >= LANES * PAIR ? widened(l, natural, t->rank, LANES * PAIR) : NULL;
    if (!wide)
        return natural;
    const struct conversion *c = plan_conversion(l, natural, wide, dtype_table[t->dtype].bits,
                                                 target_has(l->target, TARGET_STMATRIX));
    return c->possible && c->plan.kind == CONVERT_SHUFFLES ? wide : natural;
}

static const struct layout *choose_view(struct layouts *l, const struct expr *access,
                                        const struct layout *natural, bool store)
{
    const struct type *t = &access->type;
    int widest = plan_copy_vector(l, access, t), vector = vector_for_all(l, t, widest);
    const struct layout *blocked = plan_blocked(l, t, vector);
    if (!natural || !plan_fits(natural, t)) /* of a value that is yet to be broadcast */
        return blocked;
    if (l->of_role)
        return store ? choose_for_role(l, t, natural, widest) : natural;
    if (!blocked || natural == blocked)
        return natural;
    return choose_way(l, t, natural, blocked, widest, vector);
}

const struct layout *plan_view(struct layouts *l, const struct expr *access,
                               const struct layout *natural, bool store)
{
    struct plan *p = l->plan;
    if (!plan_is_tile(&access->type))
        return natural;
    struct view_made *first = pointer_map_get(&p->view_of, access);
    for (struct view_made *v = first; v; v = v->next)
        if (v->natural == natural && v->store == store)
            return v->layout;
    struct view_made *made = arena_new(l->arena, struct view_made);
    *made =
        (struct view_made){access, natural, choose_view(l, access, natural, store), store, first};
    pointer_map_put(l->arena, &p->view_of, access, made);
    return made->layout;
}
