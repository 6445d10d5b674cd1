/* How the warps of a block, and the lanes of a warp, divide a product.
 *
 * The fewest reads of shared memory are best. A warp with mw x nw of the sum reads (mw + nw) * k
 * elements for mw * nw * k products, a thread without matrix units (tm + tn) for tm * tn: the
 * squarer the better. The search tries every division and counts issue slots of a warp, of which
 * the multiprocessor has four a cycle, while it serves one wavefront of 128 bytes a cycle. */
#include "plan/plan_product.h"

#include "base/arithmetic.h"

enum { WAVEFRONT_BYTES = 128, SLOTS_OF_WAVEFRONT = 4 };

struct search {
    const struct target *target;
    const struct plan_product *p;
    int warps;
    bool chained;
    struct plan_division best;
    struct price {
        int64_t slots; /* of a warp, for a step of k */
        int64_t taste; /* where that is equal */
    } price;
};

static bool cheaper(struct price a, struct price b)
{
    return a.slots < b.slots || (a.slots == b.slots && a.taste < b.taste);
}

/* Each register above the limit is stored and loaded again. */
static int64_t spill_slots(const struct search *s, int64_t registers)
{
    int64_t most = s->target->register_limit - PLAN_SPARE_REGISTERS / 2;
    return registers > most ? 8 * (registers - most) : 0;
}

/* --- matrix units --- */

static struct price price_mma(const struct search *search, const struct mma_tiling *t)
{
    const struct plan_product *p = search->p;
    const struct mma_shape *s = &t->shape;
    int32_t atoms_m = divide_up(p->m, s->m), atoms_n = divide_up(p->n, s->n);
    int32_t reps_m = divide_up(atoms_m, t->warps_m), reps_n = divide_up(atoms_n, t->warps_n);
    int64_t a = (int64_t)reps_m * s->m * s->k * s->bits / 8;
    int64_t b = (int64_t)reps_n * s->k * s->n * s->bits / 8;
    int64_t sum = (int64_t)reps_m * reps_n * s->m * s->n / LAYOUT_LANES * (s->bits == 64 ? 2 : 1);
    int64_t registers = sum + 2 * (a + b) / (4 * LAYOUT_LANES);
    bool masked = reps_m * t->warps_m * s->m != p->m || reps_n * t->warps_n * s->n != p->n;
    struct price price = {(int64_t)p->unit->slots * reps_m * reps_n +
                              SLOTS_OF_WAVEFRONT * (a + b) / WAVEFRONT_BYTES +
                              spill_slots(search, registers),
                          2 * masked};
    if (search->chained && t->warps_n > 1)
        price.slots += price.slots / 2;
    price.taste += t->warps_n > t->warps_m; /* wider rows of the sum a warp */
    return price;
}

static void try_mma(struct search *s, const struct mma_tiling *t)
{
    struct price price = price_mma(s, t);
    if (!cheaper(price, s->price))
        return;
    s->price = price;
    s->best.mma = *t;
    s->best.warps = t->warps_m * t->warps_n;
}

/* --- multiply-adds of single elements --- */

static struct price price_fma(const struct search *s, const struct fma_tiling *t)
{
    const struct plan_product *p = s->p;
    int32_t step_m = t->vector_m * t->lanes_m * t->warps_m;
    int32_t step_n = t->vector_n * t->lanes_n * t->warps_n;
    int32_t reps_m = divide_up(p->m, step_m), reps_n = divide_up(p->n, step_n);
    int64_t tm = (int64_t)t->vector_m * reps_m, tn = (int64_t)t->vector_n * reps_n;
    int words = dtype_table[p->sum].bits == 64 ? 2 : 1;
    int64_t registers = words * (tm * tn + 4 * tm + 2 * tn);
    bool masked = reps_m * step_m != p->m || reps_n * step_n != p->n;
    struct price price = {.slots = words * (tm * tn + SLOTS_OF_WAVEFRONT * (tm + tn)) +
                                   2 * (reps_m + reps_n) + spill_slots(s, registers),
                          .taste = 8 * masked};
    if (s->chained && t->warps_n > 1)
        price.slots += price.slots / 2;
    /* A row of the left factor is read along k, four steps at once: fewer of these. Whole sectors
     * when the sum is stored. */
    int64_t row = (int64_t)t->lanes_n * t->vector_n * (int64_t)dtype_size(p->sum);
    price.taste += 4 * (tm > tn) + 2 * (row < WAVEFRONT_BYTES) + (row > WAVEFRONT_BYTES);
    return price;
}

static void try_lanes(struct search *s, struct fma_tiling t)
{
    int most = dtype_table[s->p->sum].bits == 64 ? 2 : 4;
    for (t.lanes_m = 1; t.lanes_m <= LAYOUT_LANES; t.lanes_m *= 2)
        for (t.vector_m = 1; t.vector_m <= most; t.vector_m *= 2)
            for (t.vector_n = 1; t.vector_n <= most; t.vector_n *= 2) {
                t.lanes_n = LAYOUT_LANES / t.lanes_m;
                struct price price = price_fma(s, &t);
                if (cheaper(price, s->price)) {
                    s->price = price;
                    s->best.fma = t;
                    s->best.warps = t.warps_m * t.warps_n;
                }
            }
}

/* --- the whole --- */

struct plan_division plan_divide(const struct target *t, int warps, const struct plan_product *p,
                                 bool chained)
{
    struct search s = {
        .target = t, .p = p, .warps = warps, .chained = chained, .price = {INT64_MAX, 0}};
    struct mma_shape shape = {0};
    if (p->unit)
        shape = (struct mma_shape){p->unit->m, p->unit->n, p->unit->k, dtype_table[p->a].bits};
    for (int wm = 1; wm <= warps; wm++)
        for (int wn = 1; wm * wn <= warps; wn++) {
            if (warps % (wm * wn))
                continue;
            if (p->unit)
                try_mma(&s, &(struct mma_tiling){shape, wm, wn, false});
            else
                try_lanes(&s, (struct fma_tiling){.warps_m = wm, .warps_n = wn});
        }
    return s.best;
}

bool plan_fragments(const struct plan_product *p, const struct plan_division *d,
                    enum matrix_operand operand, struct layout *out)
{
    int32_t extents[2] = {operand == MATRIX_B ? p->k : p->m, operand == MATRIX_A ? p->k : p->n};
    return p->unit ? layout_mma_tile(&d->mma, operand, extents, out)
                   : layout_fma_tile(&d->fma, operand, extents, out);
}
