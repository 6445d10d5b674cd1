/* How a product is done: which instruction, which warps, which lanes.
 *
 * What counts is how often shared memory is read. A warp with mw x nw of the sum reads (mw + nw) *
 * k elements for mw * nw * k products, a thread without matrix instructions (tm + tn) for tm * tn:
 * the squarer the better. The search tries every division and counts issue slots of a warp, of
 * which the multiprocessor has four a cycle, while it serves one wavefront of 128 bytes a cycle.
 */
#include "lower/lower_dot_factor.h"
#include "lower/lower_emit.h"
#include "lower/lower_plan_own.h"

#include <string.h>

enum {
    SPARE_REGISTERS = 40, /* for addresses, counters and predicates */
    WAVEFRONT_BYTES = 128,
    SLOTS_OF_WAVEFRONT = 4
};

/* --- Where the factors come from --- */

static bool is_shared_part(const struct expr *e)
{
    if (e->op != OP_ACCESS || e->sym->storage != ST_SHARED || e->type.dtype == DT_BOOL)
        return false;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind == IX_GATHER)
            return false;
    return true;
}

static bool is_cast(const struct expr *e)
{
    return e->op == OP_CAST && e->args[0]->type.dtype != DT_BOOL && e->type.dtype != DT_BOOL;
}

struct dot_source dot_source_of(const struct expr *dot, int side)
{
    const struct expr *whole = dot->args[side], *e = whole;
    struct dot_source s = {.e = whole, .type = whole->type.dtype};
    bool cast = false;
    for (; e->op == OP_TRANS || (is_cast(e) && !cast); e = e->args[0]) {
        cast |= e->op == OP_CAST;
        s.transposed ^= e->op == OP_TRANS;
    }
    if (is_shared_part(e))
        return (struct dot_source){e, s.transposed, e, e->type.dtype};
    s.transposed = false;
    if (is_cast(whole) && dtype_holds(whole->type.dtype, whole->args[0]->type.dtype) &&
        dtype_is_float(whole->type.dtype) == dtype_is_float(whole->args[0]->type.dtype)) {
        s.e = whole->args[0];
        s.type = s.e->type.dtype;
    }
    return s;
}

/* --- Matrix instructions --- */

static bool is_byte(enum dtype t)
{
    return t == DT_I8 || t == DT_U8;
}

static const char *matrix_type(enum dtype t)
{
    switch ((int)t) {
    case DT_I8: return "s8";
    case DT_U8: return "u8";
    case DT_I32: return "s32";
    default: return dtype_table[t].name;
    }
}

static const char *instruction_text(struct arena *a, const struct dot_plan *p)
{
    const struct mma_shape *s = &p->mma.shape;
    const char *sum = matrix_type(p->sum);
    bool halves = p->unit->how == TARGET_UNIT_HALVES;
    return arena_printf(a, "mma.sync.aligned.m%dn%dk%d.row.col.%s.%s.%s.%s", s->m, s->n,
                        halves ? s->k / 2 : s->k, sum, matrix_type(halves ? DT_F16 : p->a_type),
                        matrix_type(halves ? DT_F16 : p->b_type), sum);
}

/* Chooses the matrix unit. Returns false if there is none. 8-bit floats are f16 where k is no multiple
 * of what their units take; f16 holds them all. */
static bool choose_unit(const struct lower *l, struct dot_plan *p)
{
    p->unit = target_unit_for(l->target, p->a_type, p->b_type, p->k);
    if (!p->unit && is_byte_float(p->a_type) && is_byte_float(p->b_type)) {
        p->a_type = p->b_type = DT_F16;
        p->unit = target_unit_for(l->target, DT_F16, DT_F16, p->k);
    }
    if (p->unit)
        p->mma.shape =
            (struct mma_shape){p->unit->m, p->unit->n, p->unit->k, dtype_table[p->a_type].bits};
    return p->unit != NULL;
}

/* A division's price; compared element by element. */
struct price {
    int64_t slots; /* of a warp, for a step of k */
    int64_t taste; /* where that is equal */
};

static bool cheaper(struct price a, struct price b)
{
    return a.slots < b.slots || (a.slots == b.slots && a.taste < b.taste);
}

/* More than the registers: every one too many is stored and loaded again. */
static int64_t spill_slots(const struct lower *l, int64_t registers)
{
    int64_t most = l->target->register_limit - SPARE_REGISTERS / 2;
    return registers > most ? 8 * (registers - most) : 0;
}

static struct price price_mma(const struct lower *l, const struct dot_plan *p,
                              const struct mma_tiling *t, bool chained)
{
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
                              spill_slots(l, registers),
                          2 * masked};
    if (chained && t->warps_n > 1)
        price.slots += price.slots / 2;
    price.taste += t->warps_n > t->warps_m; /* wider rows of the sum a warp */
    return price;
}

static void divide_mma(const struct lower *l, struct dot_plan *p, bool chained)
{
    struct price best = {INT64_MAX, 0};
    for (int wm = 1; wm <= l->warps; wm++)
        for (int wn = 1; wm * wn <= l->warps; wn++) {
            struct mma_tiling t = {p->mma.shape, wm, wn, false};
            if (l->warps % (wm * wn))
                continue;
            struct price price = price_mma(l, p, &t, chained);
            if (cheaper(price, best)) {
                best = price;
                p->mma = t;
            }
        }
}

/* --- Multiply-adds of single elements --- */

static struct price price_fma(const struct lower *l, const struct dot_plan *p,
                              const struct fma_tiling *t, bool chained)
{
    int32_t step_m = t->vector_m * t->lanes_m * t->warps_m;
    int32_t step_n = t->vector_n * t->lanes_n * t->warps_n;
    int32_t reps_m = divide_up(p->m, step_m), reps_n = divide_up(p->n, step_n);
    int64_t tm = (int64_t)t->vector_m * reps_m, tn = (int64_t)t->vector_n * reps_n;
    int words = dtype_table[p->sum].bits == 64 ? 2 : 1;
    int64_t registers = words * (tm * tn + 4 * tm + 2 * tn);
    bool masked = reps_m * step_m != p->m || reps_n * step_n != p->n;
    struct price price = {.slots = words * (tm * tn + SLOTS_OF_WAVEFRONT * (tm + tn)) +
                                   2 * (reps_m + reps_n) + spill_slots(l, registers),
                          .taste = 8 * masked};
    if (chained && t->warps_n > 1)
        price.slots += price.slots / 2;
    /* A row of the left factor is read along k, four steps at once: fewer of these. Whole sectors
     * when the sum is stored. */
    int64_t row = (int64_t)t->lanes_n * t->vector_n * (int64_t)dtype_size(p->sum);
    price.taste += 4 * (tm > tn) + 2 * (row < WAVEFRONT_BYTES) + (row > WAVEFRONT_BYTES);
    return price;
}

static void try_lanes(const struct lower *l, struct dot_plan *p, struct fma_tiling t, bool chained,
                      struct price *best)
{
    int most = dtype_table[p->sum].bits == 64 ? 2 : 4;
    for (t.lanes_m = 1; t.lanes_m <= LAYOUT_LANES; t.lanes_m *= 2)
        for (t.vector_m = 1; t.vector_m <= most; t.vector_m *= 2)
            for (t.vector_n = 1; t.vector_n <= most; t.vector_n *= 2) {
                t.lanes_n = LAYOUT_LANES / t.lanes_m;
                struct price price = price_fma(l, p, &t, chained);
                if (cheaper(price, *best)) {
                    *best = price;
                    p->fma = t;
                }
            }
}

static void divide_fma(const struct lower *l, struct dot_plan *p, bool chained)
{
    struct price best = {INT64_MAX, 0};
    for (int wm = 1; wm <= l->warps; wm++)
        for (int wn = 1; wm * wn <= l->warps; wn++)
            if (l->warps % (wm * wn) == 0)
                try_lanes(l, p, (struct fma_tiling){.warps_m = wm, .warps_n = wn}, chained, &best);
}

/* --- Layouts --- */

/* Where the division leaves warps over, they do the same as others. */
static const struct layout *operand_layout(struct lower *l, const struct dot_plan *p,
                                           enum matrix_operand operand)
{
    struct layout out;
    int32_t extents[2] = {operand == MATRIX_B ? p->k : p->m, operand == MATRIX_A ? p->k : p->n};
    bool mma = p->kind == DOT_MMA;
    bool good = mma ? layout_mma_tile(&p->mma, operand, extents, &out)
                    : layout_fma_tile(&p->fma, operand, extents, &out);
    int used = mma ? p->mma.warps_m * p->mma.warps_n : p->fma.warps_m * p->fma.warps_n;
    if (!good)
        return NULL;
    if (used < l->warps) {
        layout_add_free(&out, AXIS_WARP, l->warps / used);
        layout_normalise(&out);
    }
    return layout_keep(l, &out);
}

static bool make_layouts(struct lower *l, struct dot_plan *p)
{
    p->a = p->fragment_a = operand_layout(l, p, MATRIX_A);
    p->b = p->fragment_b = operand_layout(l, p, MATRIX_B);
    p->c = operand_layout(l, p, MATRIX_C);
    return p->a && p->b && p->c;
}

static bool choose(struct lower *l, struct dot_plan *p, bool chained)
{
    if (lower_ragged_block(l))
        return false;
    if (choose_unit(l, p)) {
        p->kind = DOT_MMA;
        p->instruction = instruction_text(l->arena, p);
        divide_mma(l, p, chained);
    } else {
        p->kind = DOT_FMA;
        p->a_type = p->b_type = p->sum;
        divide_fma(l, p, chained);
    }
    return make_layouts(l, p);
}

bool dot_choose(struct lower *l, int32_t m, int32_t n, int32_t k, enum dtype factor, enum dtype sum,
                bool chained, struct dot_plan *out)
{
    const struct expr *e = out->e;
    *out = (struct dot_plan){.e = e,
                             .m = m,
                             .n = n,
                             .k = k,
                             .factor = factor,
                             .sum = sum,
                             .a_type = factor,
                             .b_type = factor};
    return choose(l, out, chained);
}

/* --- Register factors that are too long --- */

static int64_t elements_of(const struct layout *l)
{
    return layout_in_extent(l, AXIS_REG);
}

struct shared_wish dot_staging_wish(const struct dot_plan *p, int side,
                                    const struct dot_source *source, const struct layout *tile)
{
    unsigned all = 1u << ACCESS_LANES | 1u << ACCESS_MATRIX | 1u << ACCESS_MATRIX_TRANS;
    int apart = dot_goes_by_columns(p, side ? p->b_type : p->a_type) ? 2 - side : 0;
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
static const struct layout *coalesced(struct lower *l, const struct dot_plan *p, int side,
                                      const struct dot_source *source, const struct expr *again)
{
    struct shared_wish wish = dot_staging_wish(p, side, source, NULL);
    const struct expr *loaded = again ? again : source->e;
    struct shared_choice place;
    struct layout out;
    bool dealt = loaded->op == OP_ACCESS && loaded->sym->storage == ST_VIEW;
    int vector = dealt ? plan_copy_vector(l, loaded, &loaded->type)
                       : layout_widest_vector(wish.extents, wish.rank, wish.bits);
    if (dealt ? !layout_choose_with_copy(&wish, vector, l->warps, &out, &place)
              : !layout_blocked(wish.extents, wish.rank, wish.bits, vector, l->warps, &out))
        return NULL;
    return layout_keep(l, &out);
}

static bool stage(struct lower *l, struct dot_plan *p, int side, const struct dot_source *source,
                  int64_t *scratch)
{
    const struct expr *again = dot_read_again(l, p->e, source->e);
    const struct layout *before = coalesced(l, p, side, source, again);
    const struct layout *fragment = side ? p->fragment_b : p->fragment_a;
    int64_t bytes = type_elements(&source->e->type) * (int64_t)dtype_size(source->type);
    if (!before || elements_of(before) >= elements_of(fragment) ||
        *scratch + bytes > l->target->shared_bytes)
        return false;
    *scratch += bytes;
    *(side ? &p->b_again : &p->a_again) = again;
    if (side) {
        p->b_staged = true;
        p->b = before;
    } else {
        p->a_staged = true;
        p->a = before;
    }
    return true;
}

/* The longer factor first; both if need be. */
static void stage_factors(struct lower *l, struct dot_plan *p, const struct dot_source source[2])
{
    const struct layout *fragment[2] = {p->fragment_a, p->fragment_b};
    int64_t scratch = l->kernel->shared_bytes, registers[2];
    int64_t most = l->target->register_limit - SPARE_REGISTERS;
    for (int side = 0; side < 2; side++)
        registers[side] = source[side].shared
                              ? 0
                              : tile_registers(source[side].type, elements_of(fragment[side]));
    int64_t sum = tile_registers(p->sum, elements_of(p->c));
    for (int round = 0; round < 2 && sum + registers[0] + registers[1] > most; round++) {
        int side = registers[1] > registers[0];
        if (!registers[side] || !stage(l, p, side, &source[side], &scratch))
            return;
        registers[side] = 0;
    }
}

/* --- In chunks of k --- */

enum { UNROLLED_PRODUCTS = 2048, CHUNK_PRODUCTS = 1024 };

static const struct layout *chunk_layout(struct lower *l, const struct dot_plan *p,
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
    return layout_keep(l, &out);
}

/* Both factors are read from shared memory as they are, a word an element. Several products share
 * the room that the instruction cache has for the loop that they are most likely in. */
void dot_choose_chunk(struct lower *l, struct dot_plan *p)
{
    struct dot_source source[2] = {dot_source_of(p->e, 0), dot_source_of(p->e, 1)};
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

bool dot_goes_by_columns(const struct dot_plan *p, enum dtype factor)
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

/* Do units multiply bytes as they come, whatever type they join in? e4m3 with e5m2 meet in f16;
 * what the program itself calls f16 stays that. */
static bool takes_bytes(const struct dot_source source[2], enum dtype a, enum dtype b)
{
    enum dtype x = source[0].type, y = source[1].type;
    if (!dtype_holds(a, x) || !dtype_holds(b, y))
        return false;
    return (is_byte(x) && is_byte(y) && !dtype_is_float(a)) ||
           (is_byte_float(x) && is_byte_float(y) && x != y && a == DT_F16 && b == DT_F16);
}

struct counting {
    struct lower *l;
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
        statement_expressions(s, count_product, user);
}

int64_t dot_instructions_in(struct lower *l, const struct stmt *first)
{
    struct counting c = {l, 0};
    stmt_walk((struct stmt *)(uintptr_t)first, count_statement, &c); /* changes nothing */
    return c.instructions;
}

bool dot_choose_for(struct lower *l, const struct expr *e, bool chained, struct dot_plan *out)
{
    struct dot_source source[2] = {dot_source_of(e, 0), dot_source_of(e, 1)};
    enum dtype a = e->args[0]->type.dtype, b = e->args[1]->type.dtype;
    bool bytes = takes_bytes(source, a, b);
    *out = (struct dot_plan){.e = e,
                             .m = (int32_t)e->type.extent[0],
                             .n = (int32_t)e->type.extent[1],
                             .k = (int32_t)e->args[0]->type.extent[1],
                             .factor = a,
                             .sum = e->type.dtype,
                             .a_type = bytes ? source[0].type : a,
                             .b_type = bytes ? source[1].type : b};
    if (!choose(l, out, chained))
        return false;
    dot_pair_bytes(l, out, source);
    stage_factors(l, out, source);
    dot_choose_chunk(l, out);
    return true;
}
