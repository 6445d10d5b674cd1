/* Vectors between memory and the registers of a tile.
 *
 * A tile's words are loaded and stored as they are wherever a vector has whole words of it: the
 * elements of a word then stand in memory as in the register. Else the elements are taken apart or
 * put together in registers.
 */
#include "lower/lower_emit.h"
#include "lower/lower_memory_own.h"

#include <string.h>

void vector_narrow(struct vector *v, int elements)
{
    while (v->elements > elements) {
        v->elements /= 2;
        v->bits--;
    }
}

struct access vector_access(const struct vector *v, enum dtype t)
{
    struct access a = {.kind = ACCESS_LANES,
                       .bytes = v->elements * (int)dtype_size(t),
                       .elements = v->elements,
                       .vector_bits = v->bits,
                       .matrices = 1};
    memcpy(a.vector, v->weight, sizeof a.vector);
    return a;
}

/* --- instructions --- */

static const char *const load_names[3][3] = {
    {"ld.global.*", "ld.global.v2.*", "ld.global.v4.*"},
    {"ld.global.nc.*", "ld.global.nc.v2.*", "ld.global.nc.v4.*"},
    {"ld.shared.*", "ld.shared.v2.*", "ld.shared.v4.*"}};
static const char *const store_names[3][3] = {{"st.global.*", "st.global.v2.*", "st.global.v4.*"},
                                              {"st.global.*", "st.global.v2.*", "st.global.v4.*"},
                                              {"st.shared.*", "st.shared.v2.*", "st.shared.v4.*"}};

static int width_index(int count)
{
    return count == 4 ? 2 : count - 1;
}

static struct ptx_operand list_of(struct lower *l, const struct ptx_operand *regs, int count)
{
    return count == 1 ? regs[0] : ptx_vector(&l->b, regs, (size_t)count);
}

static void emit_load(struct lower *l, enum memory_space space, enum ptx_mod type,
                      const struct ptx_operand *into, int count, struct ptx_operand address,
                      struct guard guard)
{
    guard_apply(ptx_emit_for(&l->b, PTX_TYPES((uint16_t)type),
                             load_names[space][width_index(count)], list_of(l, into, count),
                             address),
                guard);
}

static void emit_store(struct lower *l, enum memory_space space, enum ptx_mod type,
                       const struct ptx_operand *from, int count, struct ptx_operand address,
                       struct guard guard)
{
    guard_apply(ptx_emit_for(&l->b, PTX_TYPES((uint16_t)type),
                             store_names[space][width_index(count)], address,
                             list_of(l, from, count)),
                guard);
}

/* How the elements of a vector travel: as `count` pieces of one type each. */
struct pieces {
    int count, per; /* elements of a piece */
    enum ptx_mod type, register_type;
};

static struct pieces pieces_of(enum dtype t, int elements)
{
    int bytes = (int)dtype_size(t);
    if (bytes >= 4)
        return (struct pieces){elements, 1, lower_register_type(t), lower_register_type(t)};
    if (elements * bytes >= 4)
        return (struct pieces){elements * bytes / 4, 4 / bytes, MOD_B32, MOD_B32};
    switch (t) {
    case DT_I16: return (struct pieces){elements, 1, MOD_S16, MOD_B32};
    case DT_U16: return (struct pieces){elements, 1, MOD_U16, MOD_B32};
    case DT_I8: return (struct pieces){elements, 1, MOD_S8, MOD_B32};
    case DT_F16:
    case DT_BF16: return (struct pieces){elements, 1, MOD_B16, MOD_B16};
    default: return (struct pieces){elements, 1, MOD_U8, MOD_B32};
    }
}

/* --- transfers --- */

/* Does every word of memory hold the elements of one of the tile's words, in order? */
static bool is_direct(enum dtype t, const struct vector *v)
{
    int per = tile_per_word(t);
    if (t == DT_BOOL || v->elements < per)
        return false;
    for (int b = 0; 1 << b < per; b++)
        if (v->weight[b] != 1 << b)
            return false;
    return true;
}

struct transfer transfer_load(struct lower *l, enum dtype t, const struct layout *layout,
                              const struct vector *v, const struct value *otherwise)
{
    struct transfer x = {.vector = *v, .direct = is_direct(t, v), .otherwise = otherwise};
    int32_t count = layout_in_extent(layout, AXIS_REG);
    x.direct = x.direct && count % tile_per_word(t) == 0;
    if (x.direct) {
        x.tile = tile_new(l, t, layout);
        return x;
    }
    x.tile = (struct regtile){.dtype = t, .layout = layout, .elements = count};
    x.elements = arena_array(l->arena, struct ptx_operand, count);
    return x;
}

struct transfer transfer_load_into(struct lower *l, const struct regtile *into,
                                   const struct vector *v)
{
    enum dtype t = into->dtype;
    struct transfer x = {.vector = *v, .tile = *into, .keep = true};
    x.direct = is_direct(t, v) && into->elements % tile_per_word(t) == 0;
    if (!x.direct)
        x.elements = tile_elements(l, into);
    return x;
}

struct transfer transfer_store(struct lower *l, const struct regtile *t, const struct vector *v)
{
    struct transfer x = {.vector = *v, .tile = *t, .direct = is_direct(t->dtype, v)};
    x.direct = x.direct && t->elements % tile_per_word(t->dtype) == 0;
    if (!x.direct)
        x.elements = tile_elements(l, t);
    return x;
}

bool transfer_moves(const struct transfer *t, int32_t reg)
{
    struct access a = vector_access(&t->vector, t->tile.dtype);
    return layout_access_base(t->tile.layout, &a, reg);
}

/* --- what stands where nothing is loaded --- */

static void find_fill(struct lower *l, struct transfer *t)
{
    enum dtype type = t->tile.dtype;
    int per = type == DT_BOOL ? 4 : tile_per_word(type);
    if (t->has_fill)
        return;
    t->has_fill = true;
    if (!t->otherwise) {
        t->fill_element =
            type == DT_BOOL
                ? ptx_int(0)
                : op_constant(l, type, (struct literal){.is_float = dtype_is_float(type)});
        t->fill_word = per > 1 ? ptx_int(0) : t->fill_element;
        return;
    }
    const struct value *v = t->otherwise;
    if (value_dtype(v) != type)
        v = value_apply1(l, OP_CAST, type, v);
    if (type == DT_BOOL) {
        v = value_apply1(l, OP_CAST, DT_U8, v);
        type = DT_U8;
    }
    t->fill_element = t->fill_word = per > 1 ? value_register(l, v) : value_operand(l, v);
    if (per > 1 && t->vector.elements * (int)dtype_size(type) >= 4) {
        struct ptx_operand all[4] = {t->fill_element, t->fill_element, t->fill_element,
                                     t->fill_element};
        t->fill_word = op_pack(l, type, all);
    }
}

static struct ptx_operand truth_as_byte(struct lower *l, struct ptx_operand truth)
{
    struct ptx_operand byte = ptx_reg(&l->b, MOD_B32);
    ptx_emit(&l->b, "selp.b32", byte, ptx_int(1), ptx_int(0), truth);
    return byte;
}

/* Piece i of the vector at `reg`, from the tile's elements. */
static struct ptx_operand put_together(struct lower *l, const struct transfer *t,
                                       const struct pieces *p, int32_t reg, int i)
{
    struct ptx_operand e[4];
    enum dtype type = t->tile.dtype;
    for (int k = 0; k < p->per; k++) {
        e[k] = t->elements[vector_register(&t->vector, reg, i * p->per + k)];
        if (type == DT_BOOL)
            e[k] = truth_as_byte(l, e[k]);
    }
    return p->per > 1 ? op_pack(l, type == DT_BOOL ? DT_U8 : type, e) : e[0];
}

static void fill(struct lower *l, struct transfer *t, const struct pieces *p, int32_t reg,
                 const struct ptx_operand *into)
{
    enum dtype type = t->tile.dtype;
    if (t->keep && t->direct)
        return;
    if (!t->keep)
        find_fill(l, t);
    for (int i = 0; t->keep && i < p->count; i++)
        op_move(l, p->per > 1 || type == DT_BOOL ? DT_U32 : type, into[i],
                put_together(l, t, p, reg, i));
    if (t->keep)
        return;
    bool packed = p->per > 1;
    for (int i = 0; i < p->count; i++)
        if (packed || type == DT_BOOL)
            op_move(l, DT_U32, into[i], packed ? t->fill_word : t->fill_element);
        else
            op_move(l, type, into[i], t->fill_element);
}

/* --- loads --- */

static void take_pieces_apart(struct lower *l, struct transfer *t, const struct pieces *p,
                              const struct ptx_operand *piece, int32_t reg)
{
    enum dtype type = t->tile.dtype, small = type == DT_BOOL ? DT_U8 : type;
    for (int i = 0; i < p->count; i++) {
        struct ptx_operand e[4] = {piece[i]};
        if (p->per > 1)
            op_unpack(l, small, piece[i], e);
        for (int k = 0; k < p->per; k++) {
            if (type == DT_BOOL) {
                struct ptx_operand truth = ptx_reg(&l->b, MOD_PRED);
                ptx_emit(&l->b, "setp.ne.u32", truth, e[k], ptx_int(0));
                e[k] = truth;
            }
            t->elements[vector_register(&t->vector, reg, i * p->per + k)] = e[k];
        }
    }
}

void transfer_in(struct lower *l, struct transfer *t, enum memory_space space, int32_t reg,
                 struct ptx_operand address, struct guard guard)
{
    enum dtype type = t->tile.dtype;
    struct pieces p = pieces_of(type, t->vector.elements);
    struct ptx_operand piece[VECTOR_BYTES];
    for (int i = 0; i < p.count; i++)
        if (t->direct)
            piece[i] = t->tile.word[vector_register(&t->vector, reg, i * p.per) / p.per];
        else
            piece[i] = ptx_reg(&l->b, p.register_type);
    if (!guard.always)
        fill(l, t, &p, reg, piece);
    if (!guard.never)
        emit_load(l, space, p.type, piece, p.count, address, guard);
    if (!t->direct)
        take_pieces_apart(l, t, &p, piece, reg);
}

/* The register that holds the same as `reg` and is moved: that with all digits that move nothing
 * at 0. */
static int32_t first_holder(const struct layout *layout, int32_t reg)
{
    int i = layout_in_index(layout, AXIS_REG);
    int32_t rest = reg, first = 0, weight = 1;
    for (int d = 0; d < layout->digit_count; d++) {
        const struct layout_digit *digit = &layout->digits[d];
        if (digit->in != i)
            continue;
        bool moves = false;
        for (int j = 0; j < layout->out_count; j++)
            moves |= digit->xor [j] || digit->add[j];
        first += moves ? rest % digit->extent * weight : 0;
        rest /= digit->extent;
        weight *= digit->extent;
    }
    return first;
}

struct regtile transfer_finish(struct lower *l, struct transfer *t)
{
    int per = tile_per_word(t->tile.dtype);
    for (int32_t reg = 0; reg < t->tile.elements; reg += t->direct ? per : 1) {
        int32_t from = first_holder(t->tile.layout, reg);
        if (from == reg)
            continue;
        if (!t->direct)
            t->elements[reg] = t->elements[from];
        else
            op_move(l, per > 1 ? DT_U32 : t->tile.dtype, t->tile.word[reg / per],
                    t->tile.word[from / per]);
    }
    if (t->direct)
        return t->tile;
    struct regtile whole = tile_of_elements(l, t->tile.dtype, t->tile.layout, t->elements);
    if (!t->keep)
        return whole;
    tile_move(l, &t->tile, &whole);
    return t->tile;
}

/* --- stores --- */

/* The assembler gives the registers of one store consecutive numbers, and where they are the sums
 * of a product it does so through the whole loop, although multiply-adds then find two of their
 * operands in one bank (docs/performance.md). So they are not the sums themselves. */
static void untie(struct lower *l, struct ptx_operand *piece, int count)
{
    for (int i = 0; l->has_hidden_zero && i < count; i++) {
        struct ptx_operand bits = NEW(l, MOD_B32, "mov.b32", piece[i]);
        piece[i] = NEW(l, MOD_F32, "mov.b32", NEW(l, MOD_B32, "xor.b32", bits, l->hidden_zero));
    }
}

void transfer_out(struct lower *l, const struct transfer *t, enum memory_space space, int32_t reg,
                  struct ptx_operand address, struct guard guard)
{
    enum dtype type = t->tile.dtype;
    struct pieces p = pieces_of(type, t->vector.elements);
    struct ptx_operand piece[VECTOR_BYTES];
    if (guard.never)
        return;
    for (int i = 0; i < p.count; i++)
        piece[i] = t->direct ? t->tile.word[vector_register(&t->vector, reg, i * p.per) / p.per]
                             : put_together(l, t, &p, reg, i);
    if (space == IN_GLOBAL && type == DT_F32 && p.count > 1)
        untie(l, piece, p.count);
    emit_store(l, space, p.type, piece, p.count, address, guard);
}

const char *transfer_name(struct lower *l, const struct transfer *t, enum memory_space space,
                          bool store)
{
    struct pieces p = pieces_of(t->tile.dtype, t->vector.elements);
    const char *name = (store ? store_names : load_names)[space][width_index(p.count)];
    return arena_printf(l->arena, "%.*s%s", (int)strlen(name) - 1, name, ptx_mods[p.type].text);
}
