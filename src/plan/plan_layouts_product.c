/* The layouts of a product's operands, by its unit and the way in which the warps divide it. */
#include "plan/plan_layouts_own.h"

#include <string.h>

/* --- Layouts --- */

/* If the division leaves warps over, they do the same as others. */
static const struct layout *operand_layout(struct layouts *l, const struct plan_product *p,
                                           const struct plan_division *d,
                                           enum matrix_operand operand)
{
    struct layout out;
    if (!plan_fragments(p, d, operand, &out))
        return NULL;
    if (d->warps < l->warps) {
        layout_add_free(&out, AXIS_WARP, l->warps / d->warps);
        layout_normalise(&out);
    }
    return plan_keep(l, &out);
}

/* The division whose sums have the layout of a role's tile. */
static struct plan_division rows_of_warps(const struct layouts *l, const struct plan_product *p)
{
    const struct mma_shape shape = {p->unit->m, p->unit->n, p->unit->k, dtype_table[p->a].bits};
    return (struct plan_division){.mma = {shape, l->warps, 1, true}, .warps = l->warps};
}

bool plan_lay_out(struct layouts *l, const struct plan_product *p, bool chained,
                  struct dot_plan *out)
{
    const bool rows = l->of_role && p->unit;
    struct plan_division d =
        rows ? rows_of_warps(l, p) : plan_divide(l->target, l->warps, p, chained);
    *out = (struct dot_plan){.kind = p->unit ? DOT_MMA : DOT_FMA,
                             .e = p->e,
                             .m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .factor = p->factor,
                             .sum = p->sum,
                             .unit = p->unit,
                             .mma = d.mma,
                             .fma = d.fma,
                             .a_type = p->a,
                             .b_type = p->b};
    out->a = out->fragment_a = operand_layout(l, p, &d, MATRIX_A);
    out->b = out->fragment_b = operand_layout(l, p, &d, MATRIX_B);
    out->c = operand_layout(l, p, &d, MATRIX_C);
    return out->a && out->b && out->c;
}

/* --- Factors through scratch --- */

static int64_t elements_of(const struct layout *l)
{
    return layout_in_extent(l, AXIS_REG);
}

struct shared_wish plan_staging_wish(const struct dot_plan *p, int side,
                                     const struct plan_source *source, const struct layout *tile)
{
    unsigned all = 1u << ACCESS_LANES | 1u << ACCESS_MATRIX | 1u << ACCESS_MATRIX_TRANS;
    int apart = plan_goes_by_columns(p, side ? p->b_type : p->a_type) ? 2 - side : 0;
    return (struct shared_wish){
        .extents = {(int32_t)source->e->type.extent[0], (int32_t)source->e->type.extent[1]},
        .rank = 2,
        .bits = dtype_table[source->type].bits,
        .count = 2,
        .access = {{tile, 1u << ACCESS_LANES, 16, 0, 1, 0},
                   {side ? p->fragment_b : p->fragment_a, all, 16, 0, 1, apart}},
        .may_pad = true,
        .may_be_linear = true};
}

/* The layout in which a tile that goes through scratch is best had before: coalesced; what is
 * loaded for it alone is dealt to the lanes so that they store it without conflicts to where the
 * fragments are read without any. */
static const struct layout *coalesced(struct layouts *l, const struct dot_plan *p, int side,
                                      const struct plan_source *source, const struct expr *again)
{
    struct shared_wish wish = plan_staging_wish(p, side, source, NULL);
    const struct expr *loaded = again ? again : source->e;
    if (l->of_role)
        return plan_blocked(l, &loaded->type, 0);
    struct shared_choice place;
    struct layout out;
    bool dealt = loaded->op == OP_ACCESS && loaded->sym->storage == ST_VIEW;
    int vector = dealt ? plan_copy_vector(l, loaded, &loaded->type)
                       : layout_widest_vector(wish.extents, wish.rank, wish.bits);
    if (dealt ? !layout_choose_with_copy(&wish, vector, l->warps, &out, &place)
              : !layout_blocked(wish.extents, wish.rank, wish.bits, vector, l->warps, &out))
        return NULL;
    return plan_keep(l, &out);
}

static void stage(struct layouts *l, struct dot_plan *p, int side, enum plan_factor how)
{
    struct plan_source source = plan_source_of(p->e, side);
    const struct expr *again =
        how == PLAN_READ_AGAIN ? plan_read_again(l->kernel, p->e, source.e) : NULL;
    const struct layout *before = how == PLAN_HELD ? NULL : coalesced(l, p, side, &source, again);
    if (!before)
        return;
    *(side ? &p->b_again : &p->a_again) = again;
    *(side ? &p->b_staged : &p->a_staged) = true;
    *(side ? &p->b : &p->a) = before;
}

/* --- In chunks of k --- */

enum { UNROLLED_PRODUCTS = 2048, CHUNK_PRODUCTS = 1024 };

static const struct layout *chunk_layout(struct layouts *l, const struct dot_plan *p,
                                         enum matrix_operand operand)
{
    struct layout out;
    int32_t extents[2] = {operand == MATRIX_B ? p->chunk : p->m,
                          operand == MATRIX_A ? p->chunk : p->n};
    int used = p->fma.warps_m * p->fma.warps_n, deep = operand == MATRIX_A;
    if (!layout_fma_tile(&p->fma, operand, extents, &out))
        return NULL;
    out.outs[layout_out_index(&out, AXIS_DIM(deep))].extent = p->k;
    layout_add_digit(&out, AXIS_STAGE, p->k / p->chunk, AXIS_DIM(deep), p->chunk);
    if (used < l->warps)
        layout_add_free(&out, AXIS_WARP, l->warps / used);
    layout_normalise(&out);
    return plan_keep(l, &out);
}

/* Both factors are read from shared memory as they are, a word an element. Several products share
 * the room that the instruction cache has for the loop that they are most likely in. */
void plan_choose_chunk(struct layouts *l, struct dot_plan *p)
{
    struct plan_source source[2] = {plan_source_of(p->e, 0), plan_source_of(p->e, 1)};
    int64_t sums = elements_of(p->c), products = (int64_t)l->plan->dots.count;
    p->chunk = 0;
    if (p->kind != DOT_FMA || sums * p->k * products <= UNROLLED_PRODUCTS ||
        !(p->a_staged || source[0].shared) || !(p->b_staged || source[1].shared) ||
        tile_per_word(source[0].type) != 1 || tile_per_word(source[1].type) != 1)
        return;
    int32_t chunk = p->k;
    while (chunk % 2 == 0 && chunk > 4 && chunk * sums > CHUNK_PRODUCTS)
        chunk /= 2;
    if (chunk == p->k)
        return;
    p->chunk = chunk;
    p->chunk_a = chunk_layout(l, p, MATRIX_A);
    p->chunk_b = chunk_layout(l, p, MATRIX_B);
    if (!p->chunk_a || !p->chunk_b)
        p->chunk = 0;
}

bool plan_goes_by_columns(const struct dot_plan *p, enum dtype factor)
{
    return p->kind == DOT_FMA && dtype_table[factor].bits == 32 && p->sum == factor;
}

static int64_t dot_instructions(const struct dot_plan *p)
{
    int64_t sums = elements_of(p->c);
    if (p->kind == DOT_FMA)
        return (sums + sums / 16) * (p->chunk ? p->chunk : p->k);
    const struct mma_shape *s = &p->mma.shape;
    int64_t mma = sums * LAYOUT_LANES / (s->m * s->n) * (p->k / s->k);
    return (mma + mma / 4) * (p->unit->how == TARGET_UNIT_HALVES ? 2 : 1);
}

struct counting {
    struct layouts *l;
    int64_t instructions;
};

static void count_product(void *user, struct expr **at)
{
    struct counting *c = user;
    const struct dot_plan *plan = (*at)->op == OP_DOT ? plan_dot(c->l, *at) : NULL;
    if (plan) /* else each thread's own */
        c->instructions += dot_instructions(plan);
}

static void count_statement(void *user, struct stmt *s)
{
    if (s->kind != STMT_ENSURES)
        stmt_own_expressions(s, count_product, user);
}

int64_t plan_instructions_in(struct layouts *l, const struct stmt *first)
{
    struct counting c = {l, 0};
    stmt_walk((struct stmt *)(uintptr_t)first, count_statement, &c); /* changes nothing */
    return c.instructions;
}

bool plan_lay_out_stated(struct layouts *l, const struct expr *e, bool chained,
                         struct dot_plan *out)
{
    if (plan_ragged_block(l))
        return false;
    struct plan_product p = plan_stated(l->target, e);
    struct plan_source source[2] = {plan_source_of(e, 0), plan_source_of(e, 1)};
    if (!plan_lay_out(l, &p, chained, out))
        return false;
    plan_pair_bytes(l, out, source);
    stage(l, out, 0, p.left);
    stage(l, out, 1, p.right);
    plan_choose_chunk(l, out);
    return true;
}

/* Chooses the unit of a product whose by(…) may be missing. For elements of 16 bits, k may be any: it is padded with zeros. */
static void choose_unit_of_role(const struct layouts *l, struct plan_product *p)
{
    const bool half = dtype_size(p->a) == 2 && dtype_is_float(p->a) && p->m > 1 && p->n > 1;
    const struct by *by = p->e->by;
    if (!by || strcmp(by->name, plan_word_fma) != 0)
        plan_choose_unit(l->target, p, half);
    else
        plan_take_unit(p, NULL);
}

/* Factors that are not in shared memory go through it. The left factor of matrix instructions does not: its layout is the tile's. */
bool plan_lay_out_role(struct layouts *l, const struct expr *e, struct dot_plan *out)
{
    struct plan_product p = plan_product_of(e);
    choose_unit_of_role(l, &p);
    if (!plan_lay_out(l, &p, false, out))
        return false;
    for (int side = 0; side < 2; side++)
        if (!plan_source_of(e, side).shared && !(p.unit && side == 0))
            stage(l, out, side, PLAN_STAGED);
    plan_choose_chunk(l, out);
    return true;
}
