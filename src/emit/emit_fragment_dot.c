/* Products of tile-level kernels, by the unit and in the layouts of the plan (plan/plan_layouts.h). */
#include "emit/emit_fragment_dot.h"

#include "plan/plan_layouts.h"

#include <string.h>

/* --- by matrix instructions --- */

/* Instructions of a warp, and elements of a thread's fragments. */
struct grid {
    int32_t rows, columns, steps;
    int32_t left, right, sums;
};

static struct grid grid_of(const struct dot_plan *p)
{
    const struct mma_shape *s = &p->mma.shape;
    return (struct grid){.rows = divide_up(p->m, s->m * p->mma.warps_m),
                         .columns = divide_up(p->n, s->n * p->mma.warps_n),
                         .steps = divide_up(p->k, s->k),
                         .left = s->m * s->k / WARP_LANES,
                         .right = s->k * s->n / WARP_LANES,
                         .sums = s->m * s->n / WARP_LANES};
}

static void note_layout(struct emit *m, const struct layout *l, enum dtype t, int32_t each)
{
    const struct slot_layout slot = {l, t, each};
    if (emit_registers(l) % each == 0)
        vec_push(m->arena, &m->slot_layouts, slot);
}

/* Returns how many elements of the sum are one value. */
static int32_t sums_together(const struct dot_plan *p)
{
    return p->kind == DOT_MMA ? p->mma.shape.m * p->mma.shape.n / WARP_LANES : emit_fma_together(p);
}

static void note_dot(void *user, struct expr **at)
{
    enum { INSTRUCTION_BYTES = 16 };
    struct emit *m = user;
    const struct dot_plan *p = (*at)->op == OP_DOT ? plan_dot(m->layouts, *at) : NULL;
    if (!p)
        return;
    note_layout(m, p->c, p->sum, sums_together(p));
    for (int side = 0; p->kind == DOT_MMA && side < 2; side++) {
        const enum dtype t = plan_source_of(*at, side).type;
        const struct layout *l = side ? p->fragment_b : p->fragment_a;
        note_layout(m, l, t, INSTRUCTION_BYTES / (int32_t)dtype_size(t));
        note_layout(m, emit_turned(m, l), t, INSTRUCTION_BYTES / (int32_t)dtype_size(t));
    }
}

static void note_dots(void *user, struct stmt *s)
{
    if (s->kind != STMT_ENSURES)
        stmt_own_expressions(s, note_dot, user);
}

void emit_note_dots(struct emit *m)
{
    stmt_walk(m->kernel->body, note_dots, m);
}

int32_t emit_registers_of_slot(const struct emit *m, const struct sym *s)
{
    const struct layout *l = plan_symbol(m->layouts, s);
    if (m->roles)
        return plan_role_group(&s->type);
    for (size_t i = 0; i < m->slot_layouts.count; i++) {
        const struct slot_layout *slot = &m->slot_layouts.data[i];
        if (slot->layout == l && slot->dtype == s->type.dtype)
            return slot->each;
    }
    return 1;
}

static struct thread_operand multiply(struct emit *m, const struct dot_plan *p, enum dtype a,
                                      enum dtype b, struct thread_operand sums,
                                      struct thread_operand left, struct thread_operand right)
{
    const enum dtype types[THREAD_TYPES] = {p->sum, a, b};
    const struct thread_operand o[] = {sums, left, right};
    return thread_use(thread_add_typed(&m->b, THREAD_MMA, types, 0, o, 3));
}

/* The lower (0) or the upper (1) two of each four bytes of a fragment, as f16. */
static struct thread_operand half_of(struct emit *m, struct emit_factor *f, int32_t index,
                                     int32_t count, int which)
{
    enum { MOST = 8 };
    struct thread_operand *half = &f->half[2 * index], pair[MOST];
    if (half->kind == THREAD_VALUE && half->value)
        return half[which];
    const struct thread_operand wide =
        emit_cast(m, DT_F16, f->type, emit_factor_fragment(m, f, index, count));
    for (int w = 0; w < 2; w++) {
        for (int32_t i = 0; i < count / 4; i++)
            pair[i] = emit_part(m, DT_F16, wide, 4 * i + 2 * w, 2, 1);
        half[w] = emit_join(m, DT_F16, pair, count / 4);
    }
    return half[which];
}

/* Multiplies fragment `left` and fragment `right`. A unit that works in halves takes two instructions, one for each half of the
 * elements; both factors then have the same other order of k. */
static struct thread_operand product(struct emit *m, const struct dot_plan *p, const struct grid *g,
                                     struct emit_factor *a, int32_t left, struct emit_factor *b,
                                     int32_t right, struct thread_operand sums)
{
    if (p->unit->how != TARGET_UNIT_HALVES) {
        const struct thread_operand l = emit_factor_fragment(m, a, left, g->left);
        const struct thread_operand r = emit_factor_fragment(m, b, right, g->right);
        return multiply(m, p, p->a_type, p->b_type, sums, l, r);
    }
    for (int half = 0; half < 2; half++) {
        const struct thread_operand l = half_of(m, a, left, g->left, half);
        const struct thread_operand r = half_of(m, b, right, g->right, half);
        sums = multiply(m, p, DT_F16, DT_F16, sums, l, r);
    }
    return sums;
}

/* Emits the products of all steps. Neighbouring instructions share the right fragment and add to different sums. Every other
 * column goes through the rows backwards, so that a left fragment stays, too. */
static void by_mma(struct emit *m, const struct dot_plan *p, struct emit_factor *a,
                   struct emit_factor *b, struct thread_operand *sums)
{
    const struct grid g = grid_of(p);
    const int32_t depth = p->mma.shape.k;
    emit_factor_read_below(m, a, depth);
    emit_factor_read_below(m, b, depth);
    for (int32_t s = 0; s < g.steps && !m->failed; s++) {
        emit_factor_read_below(m, a, (s + 2) * depth);
        emit_factor_read_below(m, b, (s + 2) * depth);
        for (int32_t c = 0; c < g.columns; c++)
            for (int32_t i = 0; i < g.rows; i++) {
                const int32_t r = c % 2 ? g.rows - 1 - i : i, at = r * g.columns + c;
                sums[at] = product(m, p, &g, a, r * g.steps + s, b, s * g.columns + c, sums[at]);
            }
    }
}

/* --- the whole --- */

/* Returns the sums before the products, in groups; a group may be a single scalar. */
static struct fragment first_sums(struct emit *m, const struct dot_plan *p)
{
    struct fragment from = p->e->count == 3 ? emit_fragment_grouped(m, p->e->args[2], p->c)
                                            : emit_fragment_new(m, p->sum, p->c);
    struct fragment sum = {.dtype = p->sum, .layout = from.layout, .count = from.count};
    sum.each = sums_together(p);
    sum.groups = arena_array(m->arena, struct thread_operand, sum.count / sum.each + 1);
    if (from.dtype != p->sum || from.each != sum.each)
        from = emit_fragment_cast(m, &from, p->sum);
    for (int32_t r = 0; r < sum.count; r += sum.each)
        sum.groups[r / sum.each] = emit_fragment_part(m, &from, r, sum.each);
    return sum;
}

/* Returns whether a role has code for the by(…) of a product. */
static bool has_code(struct emit *m, const struct expr *e, const struct dot_plan *p)
{
    const bool has_mma = p->kind == DOT_MMA, fma = e->by && strcmp(e->by->name, "fma") == 0;
    if (!e->by ||
        (e->by->count == 0 && (fma || has_mma) && (fma || strcmp(e->by->name, p->unit->name) == 0)))
        return true;
    emit_error(m, e->by->loc, "`by(%s)` of this product has no code in a kernel with roles",
               e->by->name);
    if (has_mma)
        diag_note(m->diag, e->by->loc, "leave it out, or write `by(%s)` or `by(fma)`",
                  p->unit->name);
    else
        diag_note(m->diag, e->by->loc, "leave it out, or write `by(fma)`");
    return false;
}

struct fragment emit_fragment_dot(struct emit *m, const struct expr *e)
{
    struct dot_plan of_role;
    const struct dot_plan *p = plan_dot(m->layouts, e);
    if (m->roles)
        p = plan_lay_out_role(m->layouts, e, &of_role) ? &of_role : NULL;
    if (p && m->roles && !has_code(m, e, p))
        return emit_fragment_new(m, p->sum, p->c);
    if (!p) {
        emit_missing(m, e->loc, "a product of tiles that each thread has for itself", NULL);
        return emit_fragment_new(m, e->type.dtype, plan_blocked(m->layouts, &e->type, 0));
    }
    struct emit_factor f[2] = {emit_factor_of(p, 0), emit_factor_of(p, 1)};
    const int scratch = emit_open_factors(m, p, f);
    struct fragment sum = first_sums(m, p);
    if (m->failed)
        return sum;
    for (int side = 0; side < 2; side++)
        emit_factor_start(m, &f[side]);
    if (p->kind == DOT_MMA)
        by_mma(m, p, &f[0], &f[1], sum.groups);
    else
        emit_dot_fma(m, p, &f[0], &f[1], sum.groups);
    for (int i = 0; i < scratch; i++)
        plan_room_done(&m->room, -1);
    if (sum.each == 1)
        emit_fragment_apart(m, &sum);
    return sum;
}
