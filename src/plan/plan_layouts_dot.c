/* Products of a family: the heaviest chooses how the warps divide the sum (plan/chains.c). */
#include "plan/plan_limits.h"
#include "plan/plan_layouts_own.h"

/* The warps that the division leaves over do the same as others. */
static const struct layout *for_all_warps(struct layouts *l, struct layout *layout, int used)
{
    if (used < l->warps) {
        layout_add_free(layout, AXIS_WARP, l->warps / used);
        layout_normalise(layout);
    }
    return plan_keep(l, layout);
}

/* The tiling of `leader` for another product of its family; as it was where that does not give the
 * same sum. */
static void agree(struct layouts *l, struct dot_plan *d, const struct dot_plan *leader)
{
    struct dot_plan trial = *d;
    struct layout a, b, c;
    int32_t of_a[2] = {d->m, d->k}, of_b[2] = {d->k, d->n}, of_c[2] = {d->m, d->n};
    bool good = false;
    if (d->kind != leader->kind || d->a_staged || d->b_staged || d->fragment_a != d->a ||
        d->fragment_b != d->b)
        return;
    if (d->kind == DOT_MMA) {
        trial.mma.warps_m = leader->mma.warps_m;
        trial.mma.warps_n = leader->mma.warps_n;
        trial.mma.scattered = leader->mma.scattered;
        good = layout_mma_tile(&trial.mma, MATRIX_A, of_a, &a) &&
               layout_mma_tile(&trial.mma, MATRIX_B, of_b, &b) &&
               layout_mma_tile(&trial.mma, MATRIX_C, of_c, &c);
    } else {
        trial.fma = leader->fma;
        good = layout_fma_tile(&trial.fma, MATRIX_A, of_a, &a) &&
               layout_fma_tile(&trial.fma, MATRIX_B, of_b, &b) &&
               layout_fma_tile(&trial.fma, MATRIX_C, of_c, &c);
    }
    int used = d->kind == DOT_MMA ? trial.mma.warps_m * trial.mma.warps_n
                                  : trial.fma.warps_m * trial.fma.warps_n;
    if (!good || for_all_warps(l, &c, used) != leader->c)
        return;
    trial.a = trial.fragment_a = for_all_warps(l, &a, used);
    trial.b = trial.fragment_b = for_all_warps(l, &b, used);
    trial.c = leader->c;
    plan_choose_chunk(l, &trial);
    *d = trial;
}

static int64_t work(const struct planned_dot *d)
{
    return d->use.weight * d->use.e->args[0]->type.extent[1];
}

static bool lay_out(struct layouts *l, struct planned_dot *d)
{
    if (!plan_lay_out_stated(l, d->use.e, d->use.chained, &d->plan)) {
        if (!l->failed)
            plan_limits_ragged(l, d->use.e->loc, "`dot`");
        return false;
    }
    return true;
}

static void lay_out_families(struct layouts *l)
{
    struct planned_dot *dots = l->plan->dots.data;
    int count = (int)l->plan->dots.count;
    for (int i = 0; i < count; i++)
        if (!lay_out(l, &dots[i]))
            return;
    struct planned_dot **leaders = arena_array(l->arena, struct planned_dot *, count + 1);
    for (int i = 0; i < count; i++) {
        struct planned_dot **leader = &leaders[dots[i].use.family];
        if (!*leader || work(&dots[i]) > work(*leader))
            *leader = &dots[i];
    }
    for (int i = 0; i < count; i++) {
        const struct planned_dot *leader = leaders[dots[i].use.family];
        if (work(leader) > work(&dots[i]) && leader->plan.c != dots[i].plan.c)
            agree(l, &dots[i].plan, &leader->plan);
    }
}

void plan_dots(struct layouts *l)
{
    struct plan *p = l->plan;
    struct plan_dot_uses found = plan_find_dots(l->arena, l->kernel, &p->stmts);
    for (size_t i = 0; i < found.list.count; i++)
        vec_push(l->arena, &p->dots, ((struct planned_dot){.use = found.list.data[i]}));
    for (size_t i = 0; i < p->dots.count; i++)
        pointer_map_put(l->arena, &p->dot_of, p->dots.data[i].use.e, &p->dots.data[i]);
    lay_out_families(l);
}
