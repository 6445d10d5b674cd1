/* dot: its factors, and what the sum starts from.
 *
 * A factor in shared memory is read piece by piece: what step s + 1 needs is read before the
 * products of step s, so only two steps' fragments are alive. Casts happen on fragments, in
 * registers. A factor in registers is had in the fragments' layout, whole; where that would be too
 * many registers the plan sends it through scratch, and then it is one in shared memory.
 */
#include "lower/lower_dot_factor.h"

#include "layout/layout_swizzle.h"
#include "lower/lower_emit.h"

#include <assert.h>

/* Fragment registers of A: (half, k / 16) within a fragment; of B: k / 16, two fragments to a pair.
 * Raw ones: which two of the four along k, then k / 16. */
struct ptx_operand dot_paired_word(struct lower *l, struct dot_factor *f, int32_t index)
{
    int32_t deep = f->deep, within = index % (2 * deep);
    int32_t pair = index / (2 * deep);
    int32_t half = f->right ? within / deep : within % 2;
    int32_t sixteen = f->right ? within % deep : within / 2;
    int32_t raw = (pair * deep + sixteen) * 2;
    struct ptx_operand word = ptx_reg(&l->b, MOD_B32);
    ptx_emit(&l->b, "prmt.b32", word, f->raw.word[raw], f->raw.word[raw + 1],
             ptx_int(half ? 0x7531 : 0x6420));
    return word;
}

/* --- Reading in pieces --- */

/* How many k of one row of A every piece brings, if those of the same k come row by row. */
static int32_t depth_of_pieces(const struct dot_factor *f)
{
    int32_t least, greatest, row = 0, depth = 0;
    for (int i = 0; i < f->reader.count; i++) {
        int32_t first = f->first[f->order[i]], above = row;
        shared_reader_range(&f->reader, f->order[i], 0, &row, &greatest);
        bool one_row = row == greatest;
        shared_reader_range(&f->reader, f->order[i], 1, &least, &greatest);
        bool below = i == 0 || f->first[f->order[i - 1]] != first || row > above;
        if (!one_row || !below || (depth && depth != greatest - least + 1))
            return 1;
        depth = greatest - least + 1;
    }
    return depth;
}

/* Pieces by the least k that they bring, in their own order where that is equal. */
static void order_pieces(struct lower *l, struct dot_factor *f, int side, int32_t k)
{
    int32_t *start = arena_array(l->arena, int32_t, k + 1);
    f->first = arena_array(l->arena, int32_t, f->reader.count);
    f->order = arena_array(l->arena, int, f->reader.count);
    for (int i = 0; i < f->reader.count; i++) {
        int32_t greatest;
        shared_reader_range(&f->reader, i, side == 0 ? 1 : 0, &f->first[i], &greatest);
        assert(f->first[i] >= 0 && f->first[i] < k);
        start[f->first[i] + 1]++;
    }
    for (int32_t i = 0; i < k; i++)
        start[i + 1] += start[i];
    for (int i = 0; i < f->reader.count; i++)
        f->order[start[f->first[i]]++] = i;
    f->depth = side == 0 ? depth_of_pieces(f) : 1;
}

void dot_factor_read(struct lower *l, struct dot_factor *f, int32_t end)
{
    while (f->in_pieces && f->read < f->reader.count && f->first[f->order[f->read]] < end)
        shared_reader_emit(l, &f->reader, f->order[f->read++]);
}

int dot_factor_unread(const struct dot_factor *f, int32_t end)
{
    int count = 0;
    while (f->in_pieces && f->read + count < f->reader.count &&
           f->first[f->order[f->read + count]] < end)
        count++;
    return count;
}

void dot_factor_read_some(struct lower *l, struct dot_factor *f, int count)
{
    while (count-- > 0 && f->read < f->reader.count)
        shared_reader_emit(l, &f->reader, f->order[f->read++]);
}

/* --- Elements and words of fragments --- */

static void unpack_word(struct lower *l, struct dot_factor *f, int32_t index, int per_word)
{
    struct ptx_operand *to = &f->element[index * per_word];
    f->unpacked[index] = true;
    if (per_word == 1)
        *to = f->raw.word[index];
    else
        op_unpack(l, f->source.type, f->raw.word[index], to);
}

/* Is every value of `from` one of `to`, so that a cast may as well be left out? */
static bool is_exact(enum dtype to, enum dtype from)
{
    return to == from || (dtype_holds(to, from) && dtype_is_float(to) == dtype_is_float(from) &&
                          dtype_table[to].roundoff <= dtype_table[from].roundoff);
}

struct ptx_operand dot_factor_element(struct lower *l, struct dot_factor *f, int32_t reg)
{
    int per_word = tile_per_word(f->source.type);
    if (!f->unpacked[reg / per_word])
        unpack_word(l, f, reg / per_word, per_word);
    if (!f->has_element[reg]) {
        f->has_element[reg] = true;
        enum dtype now = f->source.type;
        if (!is_exact(f->written, now)) {
            f->element[reg] = op_cast(l, f->written, now, f->element[reg]);
            now = f->written;
        }
        if (now != f->type)
            f->element[reg] = op_cast(l, f->type, now, f->element[reg]);
    }
    return f->element[reg];
}

static const struct ptx_operand *halves_of(struct lower *l, struct dot_factor *f, enum dtype t,
                                           int32_t index, struct ptx_operand word)
{
    if (!f->has_half[index])
        op_halves(l, t, word, &f->half[2 * index]);
    f->has_half[index] = true;
    return &f->half[2 * index];
}

struct ptx_operand dot_factor_half(struct lower *l, struct dot_factor *f, int32_t index, int which)
{
    return halves_of(l, f, f->type, index, dot_factor_word(l, f, index))[which];
}

/* Instructions want tf32 in .b32, which is what the conversion gives. */
static struct ptx_operand tf32_word(struct lower *l, struct dot_factor *f, int32_t reg)
{
    if (f->source.type == DT_F32 && f->written == DT_TF32)
        return NEW(l, MOD_B32, "cvt.rna.tf32.f32", f->raw.word[reg]);
    return NEW(l, MOD_B32, "mov.b32", dot_factor_element(l, f, reg));
}

static struct ptx_operand pack_word(struct lower *l, struct dot_factor *f, int32_t first,
                                    int per_word)
{
    struct ptx_operand element[4];
    if (f->source.type == DT_F32 && per_word == 2 && f->written == f->type) {
        for (int i = 0; i < 2; i++)
            element[i] = f->raw.word[first + i];
        return op_cast_pair(l, f->type, element[0], element[1]);
    }
    if (f->type == DT_TF32)
        return tf32_word(l, f, first);
    if (f->source.type == DT_F32 && is_byte_float(f->type) && f->written == f->type)
        return op_cast_four(l, f->type, &f->raw.word[first]);
    if (is_byte_float(f->source.type) && f->type == DT_F16 && is_exact(f->written, f->source.type))
        return halves_of(l, f, f->source.type, first / 4, f->raw.word[first / 4])[first / 2 % 2];
    for (int i = 0; i < per_word; i++)
        element[i] = dot_factor_element(l, f, first + i);
    return per_word == 1 ? element[0] : op_pack(l, f->type, element);
}

struct ptx_operand dot_factor_word(struct lower *l, struct dot_factor *f, int32_t index)
{
    int per_word = tile_per_word(f->type);
    bool raw = f->source.type == f->type && is_exact(f->written, f->type);
    if (raw && f->type != DT_TF32 && !f->paired)
        return f->raw.word[index];
    if (!f->has_word[index]) {
        f->word[index] =
            f->paired ? dot_paired_word(l, f, index) : pack_word(l, f, index * per_word, per_word);
        f->has_word[index] = true;
    }
    return f->word[index];
}

/* --- Factors --- */

static struct dot_factor factor_of(const struct dot_plan *p, const struct expr *e, int side)
{
    bool paired = side ? p->b_paired : p->a_paired;
    const struct layout *fragment = side ? p->fragment_b : p->fragment_a;
    const struct layout *read = side ? p->b : p->a;
    return (struct dot_factor){.source = plan_source_of(e, side),
                               .written = e->args[side]->type.dtype,
                               .type = side ? p->b_type : p->a_type,
                               .layout = fragment,
                               .read_as = paired ? read : fragment,
                               .chunk = !p->chunk ? NULL
                                        : side    ? p->chunk_b
                                                  : p->chunk_a,
                               .right = side == 1,
                               .again = side ? p->b_again : p->a_again,
                               .paired = paired,
                               .deep = p->mma.shape.k / 16};
}

static void make_tables(struct lower *l, struct dot_factor *f)
{
    int32_t elements = layout_in_extent(f->layout, AXIS_REG) + 3;
    f->element = arena_array(l->arena, struct ptx_operand, elements);
    f->word = arena_array(l->arena, struct ptx_operand, elements);
    f->unpacked = arena_array(l->arena, bool, elements);
    f->has_element = arena_array(l->arena, bool, elements);
    f->has_word = arena_array(l->arena, bool, elements);
    f->half = arena_array(l->arena, struct ptx_operand, 2 * elements);
    f->has_half = arena_array(l->arena, bool, elements);
}

/* Words of what is read may have elements of two steps: then all is read first. */
static void take_reader(struct lower *l, const struct dot_plan *p, struct dot_factor *f, int side,
                        struct shared_reader reader)
{
    int32_t k = f->chunk ? p->chunk : p->k;
    int32_t steps = p->kind == DOT_MMA ? k / p->mma.shape.k : k;
    f->in_pieces = true;
    f->reader = reader;
    f->raw = reader.into;
    order_pieces(l, f, side, k);
    if (f->raw.elements / steps % tile_per_word(f->source.type))
        dot_factor_read(l, f, k);
}

static struct shared_reader open_reader(struct lower *l, const struct dot_factor *f)
{
    const struct layout *wanted = f->chunk ? f->chunk : f->read_as;
    if (f->scratch)
        return shared_reader_at(l, f->scratch, f->memory, f->source.type, wanted);
    return shared_reader_open(l, f->source.shared, f->source.transposed, wanted);
}

/* In chunks only if both have pieces. */
static void take_readers(struct lower *l, const struct dot_plan *p, struct dot_factor f[2])
{
    struct shared_reader reader[2];
    bool again = true;
    while (again) {
        again = false;
        for (int side = 0; side < 2; side++)
            if (f[side].scratch || f[side].source.shared) {
                reader[side] = open_reader(l, &f[side]);
                again |= f[side].chunk && reader[side].whole;
            }
        if (again)
            f[0].chunk = f[1].chunk = NULL;
    }
    for (int side = 0; side < 2; side++)
        if (f[side].scratch || f[side].source.shared)
            take_reader(l, p, &f[side], side, reader[side]);
}

/* --- Through scratch --- */

struct staging {
    struct regtile tile;
    struct shared_choice place;
    const struct layout *memory;
    int64_t offset;
};

static int64_t aligned(int64_t bytes)
{
    return (bytes + 127) / 128 * 128;
}

/* The tile, and where it goes in scratch: so that neither way has conflicts. */
static int64_t plan_staging(struct lower *l, const struct dot_plan *p, const struct dot_factor *f,
                            int64_t offset, struct staging *out)
{
    out->tile = tile_eval(l, f->again ? f->again : f->source.e, f->right ? p->b : p->a);
    out->offset = offset;
    struct shared_wish wish = plan_staging_wish(p, f->right, &f->source, out->tile.layout);
    bool met = layout_choose_shared(&wish, &out->place);
    assert(met); /* no needs, so nothing that cannot be met */
    (void)met;
    out->memory = plan_keep(&l->layouts, &out->place.layout);
    return offset + aligned(out->place.bytes);
}

/* Does every warp read only what it has written itself (the first holders write)? */
static bool stays_in_warps(const struct layout *from, const struct layout *to)
{
    struct layout inverse, travel;
    if (!layout_invert(from, &inverse) || !layout_compose(&inverse, to, &travel))
        return false;
    int in = layout_in_index(&travel, AXIS_WARP), out = layout_out_index(&travel, AXIS_WARP);
    if (out < 0)
        return layout_in_extent(to, AXIS_WARP) == 1;
    for (int d = 0; d < travel.digit_count; d++) {
        int32_t step = travel.digits[d].xor [out] + travel.digits[d].add[out];
        if (step != (travel.digits[d].in == in ? layout_weight(&travel, d) : 0))
            return false;
    }
    return travel.flip[out] == 0 && travel.offset[out] == 0;
}

/* Both factors that need it at once, so that one barrier will do. */
static bool stage_factors(struct lower *l, const struct dot_plan *p, struct dot_factor f[2])
{
    bool staged[2] = {p->a_staged, p->b_staged};
    struct staging s[2];
    int64_t bytes = 0;
    bool alone = true;
    for (int side = 0; side < 2; side++)
        if (staged[side]) {
            bytes = plan_staging(l, p, &f[side], bytes, &s[side]);
            alone &= stays_in_warps(s[side].tile.layout, f[side].layout);
        }
    if (!bytes)
        return false;
    int64_t start = scratch_take(l, bytes);
    for (int side = 0; side < 2; side++)
        if (staged[side])
            shared_put(l, scratch_address(l, start + s[side].offset), s[side].memory,
                       &s[side].place.access[0], &s[side].tile);
    if (alone)
        ptx_emit(&l->b, "bar.warp.sync", ptx_int(-1));
    else
        barrier_emit(l);
    for (int side = 0; side < 2; side++)
        if (staged[side]) {
            f[side].scratch = scratch_address(l, start + s[side].offset);
            f[side].memory = s[side].memory;
        }
    return true;
}

/* Instructions that take fragments take no constants. */
static struct regtile in_registers(struct lower *l, struct regtile t)
{
    struct ptx_operand *word = arena_array(l->arena, struct ptx_operand, t.words);
    for (int i = 0; i < t.words; i++) {
        word[i] = t.word[i];
        if (word[i].kind != PTX_REGISTER) {
            word[i] = op_register(l, t.dtype);
            op_move(l, t.dtype, word[i], t.word[i]);
        }
    }
    t.word = word;
    return t;
}

/* True: scratch is in use until the product is done. */
static bool open_factors(struct lower *l, const struct dot_plan *p, struct dot_factor f[2])
{
    bool staged[2] = {p->a_staged, p->b_staged};
    for (int side = 0; side < 2; side++)
        if (!staged[side] && !f[side].source.shared)
            f[side].raw = in_registers(l, tile_eval(l, f[side].source.e, f[side].layout));
    bool scratch = stage_factors(l, p, f);
    for (int side = 0; side < 2; side++)
        make_tables(l, &f[side]);
    take_readers(l, p, f);
    return scratch;
}

/* --- Products --- */

static void multiply(struct lower *l, const struct expr *e, const struct regtile *sum,
                     const struct regtile *from)
{
    const struct dot_plan *p = plan_dot(&l->layouts, e);
    struct dot_factor f[2] = {factor_of(p, e, 0), factor_of(p, e, 1)};
    bool scratch = open_factors(l, p, f);
    if (p->kind == DOT_MMA)
        dot_emit_mma(l, p, &f[0], &f[1], sum, from);
    else
        dot_emit_fma(l, p, &f[0], &f[1], sum, from);
    if (scratch)
        scratch_done(l);
}

static struct literal zero(enum dtype t)
{
    return (struct literal){.is_float = dtype_is_float(t)};
}

void dot_accumulate(struct lower *l, const struct expr *e, const struct regtile *acc)
{
    assert(acc->layout == plan_dot(&l->layouts, e)->c);
    multiply(l, e, acc, NULL);
}

struct regtile dot_eval(struct lower *l, const struct expr *e)
{
    const struct dot_plan *p = plan_dot(&l->layouts, e);
    struct regtile sum = tile_new(l, p->sum, p->c);
    if (e->count == 3) {
        struct regtile from = in_registers(l, tile_eval(l, e->args[2], p->c));
        multiply(l, e, &sum, &from);
        return sum;
    }
    for (int i = 0; i < sum.words; i++)
        op_move(l, p->sum, sum.word[i], op_constant(l, p->sum, zero(p->sum)));
    multiply(l, e, &sum, NULL);
    return sum;
}
