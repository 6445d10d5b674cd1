/* Loads of a factor from shared memory, one instruction at a time, for interleaving with matrix
 * instructions. */
#include "lower/lower_memory_own.h"

#include <assert.h>
#include <limits.h>

/* An instruction, or what brings the elements of a word together. */
struct piece {
    int count;
    int32_t reg[4]; /* first registers of its accesses */
};

struct reader {
    const struct expr *access; /* NULL: scratch */
    enum dtype dtype;
    struct loc loc;
    const struct layout *regs; /* as the access's axes are */
    struct access how;
    struct pointers pointers;
    struct transfer transfer;
    bool whole; /* no pieces: all of it in one go */
    struct guard when;
    struct shared_part scratch;
    int count;
    struct piece *pieces;
};

/* Words whose elements are loaded one by one: a piece each. */
static void find_pieces(struct lower *l, struct reader *r)
{
    int32_t registers = layout_in_extent(r->regs, AXIS_REG);
    int per = tile_per_word(r->dtype);
    r->pieces = arena_array(l->arena, struct piece, registers);
    bool join = r->how.kind == ACCESS_LANES && r->how.elements == 1 && per > 1;
    int last_word = -1;
    for (int32_t reg = 0; reg < registers; reg++) {
        if (!layout_access_base(r->regs, &r->how, reg))
            continue;
        if (!join || reg / per != last_word)
            r->pieces[r->count++] = (struct piece){.count = 0};
        struct piece *p = &r->pieces[r->count - 1];
        p->reg[p->count++] = reg;
        last_word = reg / per;
    }
}

/* Can each piece be put in its registers by itself? */
static bool has_pieces(const struct reader *r)
{
    if (r->dtype == DT_BOOL || layout_free_extent(r->regs, AXIS_REG) > 1 || layout_masked(r->regs))
        return false;
    return r->how.kind != ACCESS_LANES || r->transfer.direct || r->how.elements == 1;
}

static struct vector vector_of(const struct access *how)
{
    struct vector v = {.elements = how->elements, .bits = how->vector_bits};
    for (int b = 0; b < how->vector_bits; b++)
        v.weight[b] = how->vector[b];
    return v;
}

static bool open_pointers(struct lower *l, struct reader *r, const struct shared_part *part)
{
    struct layout composed;
    if (!shared_choose_access(l, r->regs, part, r->dtype, false, &r->how) ||
        !layout_compose(&part->memory, r->regs, &composed) ||
        !pointers_open(l, &r->pointers, part->base, &composed, (int64_t)dtype_size(r->dtype),
                       &r->how))
        return false;
    struct vector v = vector_of(&r->how);
    r->transfer = transfer_load(l, r->dtype, r->regs, &v, NULL);
    return has_pieces(r);
}

static bool open_access(struct lower *l, struct reader *r)
{
    struct shared_part part;
    for (int i = 0; i < r->access->indices; i++)
        if (r->access->index[i].kind == IX_GATHER)
            return false;
    struct place place = place_of(l, r->access);
    return shared_part_of(l, &place, &part) && open_pointers(l, r, &part);
}

static const struct layout *turned(struct lower *l, const struct layout *layout)
{
    struct layout t;
    layout_transpose(layout, &t);
    return plan_keep(&l->layouts, &t);
}

static void note(struct lower *l, const struct reader *r)
{
    bool lanes = r->how.kind == ACCESS_LANES;
    int64_t stages = layout_in_extent(r->regs, AXIS_STAGE);
    memory_note(
        l, (struct lower_access){.loc = r->loc,
                                 .sym = r->access ? r->access->sym : NULL,
                                 .shared = true,
                                 .how = lanes ? transfer_name(l, &r->transfer, IN_SHARED, false)
                                              : matrix_name(l, &r->how, false),
                                 .bytes = lanes ? r->how.elements * (int)dtype_size(r->dtype)
                                                : r->how.matrices * 4,
                                 .instructions = stages * r->how.instructions,
                                 .wavefronts = stages * r->how.wavefronts,
                                 .least = stages * r->how.least});
}

static struct shared_reader reader_of(struct lower *l, struct reader *r,
                                      const struct layout *wanted)
{
    struct shared_reader out = {.how = r, .whole = r->whole};
    out.into = r->whole || !r->transfer.direct ? tile_new(l, r->dtype, wanted) : r->transfer.tile;
    out.into.layout = wanted;
    if (r->whole) {
        r->count = 1;
    } else {
        find_pieces(l, r);
        note(l, r);
    }
    out.count = r->count;
    return out;
}

struct shared_reader shared_reader_open(struct lower *l, const struct expr *access, bool transposed,
                                        const struct layout *wanted)
{
    struct reader *r = arena_new(l->arena, struct reader);
    *r = (struct reader){.access = access,
                         .dtype = access->sym->type.dtype,
                         .loc = access->loc,
                         .when = guard_always(),
                         .regs = transposed ? turned(l, wanted) : wanted};
    sync_shared_read(l, access, r->regs);
    r->whole = !open_access(l, r);
    return reader_of(l, r, wanted);
}

struct shared_reader shared_reader_at(struct lower *l, const struct value *base,
                                      const struct layout *memory, enum dtype t,
                                      const struct layout *wanted)
{
    struct reader *r = arena_new(l->arena, struct reader);
    struct shared_part part = {.memory = *memory, .base = base, .alignment = VECTOR_BYTES};
    *r = (struct reader){.dtype = t, .regs = wanted, .scratch = part, .when = guard_always()};
    r->whole = !open_pointers(l, r, &part);
    return reader_of(l, r, wanted);
}

struct shared_reader shared_reader_again(struct lower *l, const struct shared_reader *reader,
                                         const struct value *stage, struct guard when)
{
    struct shared_reader out = *reader;
    struct reader *r = arena_new(l->arena, struct reader);
    *r = *(const struct reader *)reader->how;
    assert(!r->whole && r->transfer.direct);
    struct vector v = vector_of(&r->how);
    pointers_follow(l, &r->pointers, AXIS_STAGE, stage);
    r->transfer = transfer_load_into(l, &reader->into, &v);
    r->when = when;
    out.how = r;
    return out;
}

static void widen(const struct layout *layout, int32_t reg, int axis, int32_t *least,
                  int32_t *greatest)
{
    int32_t at[LAYOUT_OUTS];
    int j = layout_out_index(layout, AXIS_DIM(axis));
    layout_element(layout, reg, 0, 0, at);
    int32_t c = j < 0 ? 0 : at[j];
    *least = c < *least ? c : *least;
    *greatest = c > *greatest ? c : *greatest;
}

void shared_reader_range(const struct shared_reader *reader, int i, int axis, int32_t *least,
                         int32_t *greatest)
{
    const struct reader *r = reader->how;
    const struct layout *layout = reader->into.layout;
    *least = INT32_MAX;
    *greatest = INT32_MIN;
    if (r->whole) {
        for (int32_t reg = 0; reg < layout_in_extent(layout, AXIS_REG); reg++)
            widen(layout, reg, axis, least, greatest);
        return;
    }
    struct vector v = vector_of(&r->how);
    const struct piece *p = &r->pieces[i];
    for (int k = 0; k < p->count; k++)
        for (int m = 0; m < r->how.matrices; m++)
            for (int e = 0; e < r->how.elements; e++) {
                int32_t base = r->how.kind == ACCESS_LANES ? p->reg[k]
                                                           : matrix_register(&r->how, p->reg[k], m);
                widen(layout, vector_register(&v, base, e), axis, least, greatest);
            }
}

/* Elements loaded one by one, then packed into their word. */
static void emit_word(struct lower *l, struct shared_reader *reader, const struct piece *p)
{
    struct reader *r = reader->how;
    enum dtype t = reader->into.dtype;
    int per = tile_per_word(t);
    struct ptx_operand e[4];
    for (int k = 0; k < p->count; k++) {
        transfer_in(l, &r->transfer, IN_SHARED, p->reg[k],
                    value_address(l, pointers_at(l, &r->pointers, p->reg[k])), r->when);
        e[k] = r->transfer.elements[p->reg[k]];
    }
    for (int k = p->count; k < per; k++)
        e[k] = e[0];
    op_move(l, DT_U32, reader->into.word[p->reg[0] / per], op_pack(l, t, e));
}

void shared_reader_emit(struct lower *l, struct shared_reader *reader, int i)
{
    struct reader *r = reader->how;
    l->memory->room.tiles_used = l->memory->room.barriers;
    if (r->access)
        lower_line(l, r->loc);
    if (r->whole && !r->access) {
        shared_get(l, r->scratch.base, &r->scratch.memory, NULL, &reader->into);
        return;
    }
    if (r->whole) {
        struct regtile t = shared_load(l, r->access, r->regs);
        t.layout = reader->into.layout;
        tile_move(l, &reader->into, &t);
        return;
    }
    const struct piece *p = &r->pieces[i];
    if (!r->transfer.direct) {
        emit_word(l, reader, p);
        return;
    }
    struct ptx_operand address = value_address(l, pointers_at(l, &r->pointers, p->reg[0]));
    if (r->how.kind == ACCESS_LANES)
        transfer_in(l, &r->transfer, IN_SHARED, p->reg[0], address, r->when);
    else
        matrix_load(l, &r->how, &r->transfer, p->reg[0], address, r->when);
}
