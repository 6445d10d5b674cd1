/* Factors of products, as the products take them.
 *
 * A factor in shared memory is read instruction by instruction: the reads for step s + 1 of k come before the products of step
 * s, so the fragments of two steps are alive. A factor in registers either has the layout of the fragments, or goes through
 * scratch and is read from there. Casts work on fragments. */
#include "emit/emit_fragment_dot.h"

#include "plan/plan_layouts.h"

/* --- reading in pieces --- */

/* The coordinates that a piece brings along an axis. */
struct range {
    int32_t least, greatest;
};

/* places: those of the factor's registers (plan_register_places) */
static struct range range_of(const struct emit_factor *f, const int32_t *places, int32_t reg,
                             int axis)
{
    int32_t all[EMIT_MOST_MOVED];
    const int count = emit_way_registers(&f->way, reg, all);
    struct range r = {INT32_MAX, INT32_MIN};
    for (int i = 0; i < count; i++) {
        const int32_t at = places[all[i] * LAYOUT_OUTS + axis];
        r.least = at < r.least ? at : r.least;
        r.greatest = at > r.greatest ? at : r.greatest;
    }
    return r;
}

/* Returns how many steps of k each piece of the left factor has, if each has one row, and the pieces of the same k come row by
 * row; else 1. */
static int32_t depth_of_pieces(const struct emit_factor *f, const int32_t *places)
{
    int32_t row = 0, depth = 0;
    for (int i = 0; i < f->count; i++) {
        const struct emit_piece *piece = &f->pieces[i];
        const struct range rows = range_of(f, places, piece->reg, 0),
                           k = range_of(f, places, piece->reg, 1);
        const bool below = i == 0 || piece[-1].first != piece->first || rows.least > row;
        row = rows.least;
        if (rows.least != rows.greatest || !below || (depth && depth != k.greatest - k.least + 1))
            return 1;
        depth = k.greatest - k.least + 1;
    }
    return depth;
}

/* Orders the pieces by the least k that each has. */
static void order_pieces(struct emit *m, struct emit_factor *f, int32_t k)
{
    const int32_t registers = f->raw.count,
                  *places = plan_register_places(m->layouts, f->raw.layout);
    const int axis = f->right ? 0 : 1;
    int32_t *start = arena_array(m->arena, int32_t, k + 1), *base, *least, all[EMIT_MOST_MOVED];
    base = arena_array(m->arena, int32_t, registers + 1);
    least = arena_array(m->arena, int32_t, registers + 1);
    f->pieces = arena_array(m->arena, struct emit_piece, registers + 1);
    f->spots = arena_array(m->arena, struct emit_spot, registers + 1);
    f->count = f->read = 0;
    for (int32_t r = 0; r < registers; r++) {
        if (!emit_way_begins(&f->way, r))
            continue;
        least[f->count] = range_of(f, places, r, axis).least;
        start[least[f->count] + 1]++;
        base[f->count++] = r;
    }
    for (int32_t i = 0; i < k; i++)
        start[i + 1] += start[i];
    for (int i = 0; i < f->count; i++) {
        const int32_t at = start[least[i]]++;
        f->pieces[at] = (struct emit_piece){.reg = base[i], .first = least[i]};
        for (int e = emit_way_registers(&f->way, base[i], all); e-- > 0;)
            f->spots[all[e]] = (struct emit_spot){at, e};
    }
    f->depth = f->right ? 1 : depth_of_pieces(f, places);
}

int emit_factor_unread(const struct emit_factor *f, int32_t end)
{
    int count = 0;
    while (f->read + count < f->count && f->pieces[f->read + count].first < end)
        count++;
    return count;
}

void emit_factor_read(struct emit *m, struct emit_factor *f, int count)
{
    const struct loc before = emit_at(m, f->source.shared ? f->source.shared->loc : m->b.where);
    for (; count > 0 && f->read < f->count; count--) {
        struct emit_piece *piece = &f->pieces[f->read++];
        piece->group = emit_way_group_if(m, &f->way, piece->reg, f->when, NULL);
    }
    emit_at(m, before);
}

void emit_factor_read_below(struct emit *m, struct emit_factor *f, int32_t end)
{
    emit_factor_read(m, f, emit_factor_unread(f, end));
}

/* Returns whether no two registers hold the same element, and all registers of all lanes hold one. */
static bool has_pieces(const struct layout *l)
{
    return layout_free_extent(l, AXIS_REG) == 1 && !layout_masked(l);
}

/* --- elements and fragments --- */

/* Returns whether each value of `from` is one of `to`, so that the cast may be left out. */
static bool is_exact(enum dtype to, enum dtype from)
{
    return to == from || (dtype_holds(to, from) && dtype_is_float(to) == dtype_is_float(from) &&
                          dtype_table[to].roundoff <= dtype_table[from].roundoff);
}

/* Returns the scalar or the group as the product takes it. */
static struct scalar converted(struct emit *m, const struct emit_factor *f, struct thread_operand o)
{
    struct scalar v = {o, f->source.type};
    if (!is_exact(f->written, v.dtype))
        v = emit_as(m, v, f->written);
    return emit_as(m, v, f->type);
}

/* Returns registers [first, first + count) of a factor as loaded, before casts. */
static struct thread_operand raw_of(struct emit *m, const struct emit_factor *f, int32_t first,
                                    int32_t count)
{
    enum { MOST = 32 };
    struct thread_operand part[MOST];
    int parts = 0;
    if (f->count == 0)
        return emit_fragment_part(m, &f->raw, first, count);
    for (int32_t i = 0, n; i < count; i += n) {
        const struct emit_spot *at = &f->spots[first + i];
        for (n = 1; i + n < count && at[n].piece == at->piece && at[n].element == at->element + n;)
            n++;
        const struct thread_operand group = f->pieces[at->piece].group;
        part[parts++] = n == group.value->type.count
                            ? group
                            : emit_part(m, f->raw.dtype, group, at->element, n, 1);
    }
    return emit_join(m, f->raw.dtype, part, parts);
}

/* Returns a word of a fragment of bytes that lie across. Four bytes as loaded are two neighbours along k of two places along m
 * or n (plan_layouts_bytes.c), so the word takes every other byte of two words. */
static struct thread_operand paired_word(struct emit *m, const struct emit_factor *f, int32_t index)
{
    const int32_t deep = f->deep, within = index % (2 * deep), pair = index / (2 * deep);
    const int32_t half = f->right ? within / deep : within % 2;
    const int32_t sixteen = f->right ? within % deep : within / 2;
    const int32_t raw = (pair * deep + sixteen) * 2;
    return emit_part(m, f->raw.dtype, raw_of(m, f, 4 * raw, 8), half, 4, 2);
}

struct thread_operand emit_factor_fragment(struct emit *m, struct emit_factor *f, int32_t index,
                                           int32_t count)
{
    enum { MOST_WORDS = 8 };
    struct thread_operand word[MOST_WORDS], *made = &f->made[index];
    if (made->kind != THREAD_VALUE || made->value)
        return *made;
    for (int32_t i = 0; f->paired && i < count / 4; i++)
        word[i] = paired_word(m, f, index * (count / 4) + i);
    if (f->paired)
        *made = emit_join(m, f->raw.dtype, word, count / 4);
    else
        *made = converted(m, f, raw_of(m, f, index * count, count)).o;
    return *made;
}

/* --- factors --- */

/* Elements that share a word are moved one by one. */
int32_t emit_fma_together(const struct dot_plan *p)
{
    const struct plan_source right = plan_source_of(p->e, 1);
    return dtype_size(p->sum) < 4 || dtype_size(p->b_type) < 4 || dtype_size(right.type) < 4
               ? 1
               : p->fma.vector_n;
}

struct emit_factor emit_factor_of(const struct dot_plan *p, int side)
{
    const bool paired = side ? p->b_paired : p->a_paired;
    const struct layout *fragment = side ? p->fragment_b : p->fragment_a;
    const struct layout *layout = paired ? (side ? p->b : p->a) : fragment;
    const struct mma_shape *unit = &p->mma.shape;
    const int32_t alone = side ? emit_fma_together(p) : 1;
    struct emit_factor f = {
        .source = plan_source_of(p->e, side),
        .written = p->e->args[side]->type.dtype,
        .type = side ? p->b_type : p->a_type,
        .right = side == 1,
        .paired = paired,
        .deep = unit->k / 16,
        .each = p->kind == DOT_MMA ? (side ? unit->n : unit->m) * unit->k / WARP_LANES : alone,
        .halved = p->unit && p->unit->how == TARGET_UNIT_HALVES,
        .when = emit_constant(DT_BOOL, 1)};
    f.raw = (struct fragment){.dtype = f.source.type, .layout = layout};
    return f;
}

void emit_factor_start(struct emit *m, struct emit_factor *f)
{
    const int32_t fragments = f->raw.count / f->each + 1;
    f->made = arena_array(m->arena, struct thread_operand, fragments);
    f->half = f->halved ? arena_array(m->arena, struct thread_operand, 2 * fragments) : NULL;
}

const struct layout *emit_turned(struct emit *m, const struct layout *l)
{
    struct layout t;
    layout_transpose(l, &t);
    return plan_keep(m->layouts, &t);
}

/* A factor that is stored to scratch: the place of each element, and the memory. */
struct staging {
    struct shared_choice place;
    struct scratch scratch;
};

/* Finds the instructions that read a factor from shared memory, or from scratch. Returns false if none can. */
static bool open_pieces(struct emit *m, const struct dot_plan *p, struct emit_factor *f,
                        const struct staging *s, const struct layout *wanted)
{
    const struct layout *regs = f->source.transposed && !s ? emit_turned(m, wanted) : wanted;
    const bool has_way =
        has_pieces(wanted) &&
        (s ? emit_way_through(m, &s->scratch, &s->place.layout, regs, false, &f->way)
           : emit_way_open(m, f->source.shared, regs, false, &f->way));
    if (!has_way)
        return false;
    emit_note_way(m, s ? LOC_NONE : f->source.shared->loc, s ? NULL : f->source.shared->sym,
                  &f->way, false);
    f->raw.layout = wanted;
    f->raw.count = emit_registers(wanted);
    order_pieces(m, f, f->chunked ? p->chunk : p->k);
    return true;
}

/* Loads all of the factor. */
static void open_whole(struct emit *m, const struct dot_plan *p, struct emit_factor *f,
                       const struct staging *s)
{
    const struct layout *wanted = f->raw.layout;
    if (!s) {
        f->raw = emit_fragment_load(m, f->source.shared,
                                    f->source.transposed ? emit_turned(m, wanted) : wanted, false);
        f->raw.layout = wanted;
    } else if (emit_way_through(m, &s->scratch, &s->place.layout, wanted, false, &f->way)) {
        f->raw = emit_fragment_new(m, f->raw.dtype, wanted);
        emit_way_fetch(m, &f->way, &f->raw);
        emit_note_way(m, LOC_NONE, NULL, &f->way, false);
    } else {
        emit_missing(m, p->e->loc, "a product of such tiles", NULL);
    }
}

/* Opens the factors that are in memory. They are read in chunks of k only if both can be read in pieces. */
static void open_memory(struct emit *m, const struct dot_plan *p, struct emit_factor f[2],
                        struct staging *const s[2])
{
    const struct layout *whole[2] = {f[0].raw.layout, f[1].raw.layout};
    bool chunked = p->chunk > 0;
    for (bool again = true; again;) {
        again = false;
        for (int side = 0; side < 2; side++) {
            f[side].chunked = chunked;
            if (!s[side] && !f[side].source.shared)
                continue;
            const struct layout *wanted = !chunked ? whole[side] : side ? p->chunk_b : p->chunk_a;
            const bool good = open_pieces(m, p, &f[side], s[side], wanted);
            again |= !good && chunked;
            if (!good && !chunked)
                open_whole(m, p, &f[side], s[side]);
        }
        chunked = false;
    }
}

/* Stores a factor to scratch, from which its fragments are read without conflicts. */
static void stage(struct emit *m, const struct dot_plan *p, struct emit_factor *f,
                  struct staging *s)
{
    const struct expr *again = f->right ? p->b_again : p->a_again;
    const struct fragment tile =
        emit_fragment(m, again ? again : f->source.e, f->right ? p->b : p->a);
    const struct shared_wish wish = plan_staging_wish(p, f->right, &f->source, tile.layout);
    struct shared_way w;
    const int64_t size = (int64_t)dtype_size(tile.dtype);
    bool good = layout_choose_shared(&wish, &s->place);
    s->scratch = emit_scratch(m, tile.dtype, s->place.bytes / size);
    good = good && emit_way_through(m, &s->scratch, &s->place.layout, tile.layout, true, &w);
    if (!good) {
        emit_missing(m, p->e->loc, "a product of such tiles", NULL);
        return;
    }
    emit_way_store(m, &w, &tile);
    emit_note_way(m, LOC_NONE, NULL, &w, true);
}

/* Makes the elements beyond k zeros. */
static void pad(struct emit *m, const struct dot_plan *p, struct emit_factor *f)
{
    const unsigned axis = f->right ? 1 : 2;
    if (p->kind != DOT_MMA || p->k % p->mma.shape.k == 0 || m->failed)
        return;
    const struct spots s = emit_spots(m, f->raw.layout);
    emit_fragment_apart(m, &f->raw);
    for (int32_t r = 0; r < f->raw.count; r++)
        f->raw.v[r] = emit_select(m, emit_spot_inside(m, &s, r, axis), f->raw.v[r],
                                  emit_constant(f->raw.dtype, 0));
}

int emit_open_factors(struct emit *m, const struct dot_plan *p, struct emit_factor f[2])
{
    struct staging place[2],
        *s[2] = {p->a_staged ? &place[0] : NULL, p->b_staged ? &place[1] : NULL};
    for (int side = 0; side < 2; side++)
        if (!s[side] && !f[side].source.shared)
            f[side].raw = emit_fragment_grouped(m, f[side].source.e, f[side].raw.layout);
    for (int side = 0; side < 2; side++)
        if (s[side])
            stage(m, p, &f[side], s[side]);
    if (s[0] || s[1])
        emit_sync(m);
    if (!m->failed)
        open_memory(m, p, f, s);
    for (int side = 0; side < 2; side++)
        pad(m, p, &f[side]);
    return p->a_staged + p->b_staged;
}
