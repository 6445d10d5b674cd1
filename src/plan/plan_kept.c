/* Layouts of register tiles, kept so that equal ones are one pointer, and those of operands that are broadcast.
 *
 * A register layout here always has the counters reg, lane (32) and warp (all of the block's), and an axis for
 * each of its tile's, with its extent; what is held several times has free digits. */
#include "plan/plan_layouts_own.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

struct kept_layouts *plan_kept_layouts(struct layouts *l)
{
    if (!l->kept)
        l->kept = arena_new(l->arena, struct kept_layouts);
    return l->kept;
}

bool plan_moves_axis(const struct layout *l, int d, int axis)
{
    for (int j = 0; j < l->out_count; j++)
        if ((axis < 0 || j == axis) && (l->digits[d].xor [j] || l->digits[d].add[j]))
            return true;
    return false;
}

void plan_error(struct layouts *l, struct loc loc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_error(l->diag, loc, "%s", arena_vprintf(l->arena, format, args));
    va_end(args);
    l->failed = true;
}

bool plan_ragged_block(const struct layouts *l)
{
    return kernel_thread_level(l->kernel) && l->threads % WARP_LANES != 0;
}

static bool has_storage(const struct expr *e, enum storage storage)
{
    if ((e->op == OP_REF || e->op == OP_ACCESS) && e->sym->storage == storage)
        return true;
    for (int i = 0; i < e->count; i++)
        if (has_storage(e->args[i], storage))
            return true;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value && has_storage(e->index[i].value, storage))
            return true;
    return false;
}

bool plan_of_thread(const struct layouts *l, const struct expr *e)
{
    if (has_storage(e, ST_REG))
        return false;
    return has_storage(e, ST_ARRAY) || expr_is_varying(l->kernel, e) || plan_ragged_block(l);
}

/* --- Interning --- */

static uint32_t hash_bytes(uint32_t hash, const void *data, size_t size)
{
    const uint32_t *word = data;
    for (size_t i = 0; i < size / sizeof *word; i++)
        hash = (hash ^ word[i]) * 0x01000193u;
    return hash ^ hash >> 15;
}

static uint32_t hash_of(const struct layout *l)
{
    uint32_t hash = 0x811c9dc5u;
    hash = hash_bytes(hash, l->ins, (size_t)l->in_count * sizeof *l->ins);
    hash = hash_bytes(hash, l->outs, (size_t)l->out_count * sizeof *l->outs);
    hash = hash_bytes(hash, l->digits, (size_t)l->digit_count * sizeof *l->digits);
    hash = hash_bytes(hash, l->flip, (size_t)l->out_count * sizeof *l->flip);
    return hash_bytes(hash, l->offset, (size_t)l->out_count * sizeof *l->offset);
}

/* The slot of the layout, or the empty one where it goes. */
static struct plan_kept **slot_of(struct kept_layouts *t, const struct layout *layout,
                                  uint32_t hash)
{
    size_t i = hash & (t->capacity - 1);
    while (t->slots[i] && (t->slots[i]->hash != hash || !layout_same(&t->slots[i]->layout, layout)))
        i = (i + 1) & (t->capacity - 1);
    return &t->slots[i];
}

static void make_room(struct layouts *l, struct kept_layouts *t)
{
    struct plan_kept **old = t->slots;
    size_t capacity = t->capacity;
    if (2 * (t->count + 1) <= capacity)
        return;
    t->capacity = capacity ? 2 * capacity : 64;
    t->slots = arena_array(l->arena, struct plan_kept *, t->capacity);
    for (size_t i = 0; i < capacity; i++)
        if (old[i])
            *slot_of(t, &old[i]->layout, old[i]->hash) = old[i];
}

static bool holds_registers(const struct layout *l)
{
    for (int i = 0; i < l->in_count; i++)
        if (l->ins[i].axis > AXIS_WARP)
            return false;
    return layout_out_index(l, AXIS_AT) < 0;
}

/* All lanes and warps are there: those that the layout says nothing of hold the same. */
static void complete(const struct layouts *l, struct layout *out)
{
    int32_t lanes = layout_in_extent(out, AXIS_LANE), warps = layout_in_extent(out, AXIS_WARP);
    layout_add_free(out, AXIS_REG, 1);
    layout_add_free(out, AXIS_LANE, LAYOUT_LANES % lanes == 0 ? LAYOUT_LANES / lanes : 1);
    layout_add_free(out, AXIS_WARP, l->warps % warps == 0 ? l->warps / warps : 1);
}

static struct plan_kept *keep(struct layouts *l, const struct layout *given, bool normal)
{
    struct kept_layouts *t = plan_kept_layouts(l);
    struct layout layout;
    layout_copy(&layout, given);
    if (holds_registers(&layout))
        complete(l, &layout);
    if (!normal || layout.in_count != given->in_count || layout.digit_count != given->digit_count)
        layout_normalise(&layout);
    make_room(l, t);
    uint32_t hash = hash_of(&layout);
    struct plan_kept **slot = slot_of(t, &layout, hash);
    if (*slot)
        return *slot;
    *slot = arena_room(l->arena, sizeof **slot); /* large, so only what is read is set */
    layout_copy(&(*slot)->layout, &layout);
    (*slot)->hash = hash;
    (*slot)->places = NULL;
    memset(&(*slot)->operands, 0, sizeof(*slot)->operands);
    layout_copy(&(*slot)->runs, &layout);
    layout_runs(&(*slot)->runs);
    t->count++;
    pointer_map_put(l->arena, &t->by_pointer, &(*slot)->layout, *slot);
    return *slot;
}

static struct plan_kept *kept_of(struct layouts *l, const struct layout *layout)
{
    struct plan_kept *k = pointer_map_get(&plan_kept_layouts(l)->by_pointer, layout);
    return k ? k : keep(l, layout, false);
}

const struct layout *plan_keep(struct layouts *l, const struct layout *layout)
{
    return &kept_of(l, layout)->layout;
}

const struct layout *plan_keep_normal(struct layouts *l, const struct layout *layout)
{
    return &keep(l, layout, true)->layout;
}

const struct layout *plan_everywhere(struct layouts *l, const struct type *t)
{
    struct layout out;
    layout_init(&out);
    for (int i = 0; i < t->rank; i++)
        layout_add_out(&out, AXIS_DIM(i), (int32_t)t->extent[i]);
    for (int i = t->rank - 1; i >= 0; i--)
        layout_add_digit(&out, AXIS_REG, (int32_t)t->extent[i], AXIS_DIM(i), 1);
    return plan_keep(l, &out);
}

const struct layout *plan_runs(struct layouts *l, const struct layout *layout)
{
    return &kept_of(l, layout)->runs;
}

const struct layout *plan_kept_runs(struct layouts *l, const struct layout *layout)
{
    const struct plan_kept *k = pointer_map_get(&plan_kept_layouts(l)->by_pointer, layout);
    return k ? &k->runs : NULL;
}

/* --- Operands --- */

/* Lets no digit move axis j of the whole, because the operand has extent 1 there. */
static void hold_axis(struct layout *l, int j)
{
    for (int d = 0; d < l->digit_count; d++)
        l->digits[d].xor [j] = l->digits[d].add[j] = 0;
    l->flip[j] = l->offset[j] = 0;
    l->outs[j].extent = 1;
}

static void drop_leading_axes(struct layout *l, int count)
{
    int left = l->out_count - count;
    for (int j = 0; j < l->out_count; j++) {
        bool stays = j < left;
        l->outs[j] = stays ? (struct layout_dim){AXIS_DIM(j), l->outs[j + count].extent}
                           : (struct layout_dim){AXIS_REG, 0};
        l->flip[j] = stays ? l->flip[j + count] : 0;
        l->offset[j] = stays ? l->offset[j + count] : 0;
        for (int d = 0; d < l->digit_count; d++) {
            struct layout_digit *digit = &l->digits[d];
            digit->xor [j] = stays ? digit->xor [j + count] : 0;
            digit->add[j] = stays ? digit->add[j + count] : 0;
        }
    }
    l->out_count = left;
}

/* weight[d]: what digit d of the whole counts in the operand's registers; 0: nothing, or no
 * register. */
static void collapse(const struct layout *whole, const struct kept_operand *o, struct layout *out,
                     int32_t weight[LAYOUT_DIGITS])
{
    int reg = layout_in_index(whole, AXIS_REG), count = 0;
    int leading = whole->out_count - o->rank;
    *out = *whole;
    for (int j = 0; j < whole->out_count; j++)
        if (j < leading || (o->extent[j - leading] == 1 && whole->outs[j].extent > 1))
            hold_axis(out, j);
    if (leading > 0)
        drop_leading_axes(out, leading);
    int32_t registers = 1;
    for (int d = 0; d < whole->digit_count; d++) {
        struct layout_digit digit = out->digits[d];
        weight[d] = 0;
        if (digit.in == reg && !plan_moves_axis(out, d, -1))
            continue;
        if (digit.in == reg) {
            weight[d] = registers;
            registers *= digit.extent;
        }
        out->digits[count++] = digit;
    }
    out->digit_count = count;
    if (reg >= 0)
        out->ins[reg].extent = registers;
    layout_normalise(out);
}

static int32_t *map_registers(struct layouts *l, const struct layout *whole,
                              const int32_t weight[LAYOUT_DIGITS])
{
    int32_t count = plan_registers(whole), *out = arena_array(l->arena, int32_t, count);
    int reg = layout_in_index(whole, AXIS_REG);
    for (int32_t r = 0; r < count; r++) {
        int32_t rest = r;
        for (int d = 0; d < whole->digit_count; d++) {
            if (whole->digits[d].in != reg)
                continue;
            out[r] += rest % whole->digits[d].extent * weight[d];
            rest /= whole->digits[d].extent;
        }
    }
    return out;
}

static const struct kept_operand *operand_of(struct layouts *l, const struct layout *layout,
                                             const struct type *type)
{
    struct plan_kept *whole = kept_of(l, layout);
    struct kept_operand o = {.rank = type->rank};
    assert(type->rank <= whole->layout.out_count && type->rank <= LAYOUT_OUTS);
    for (int i = 0; i < type->rank; i++)
        o.extent[i] = (int32_t)type->extent[i];
    for (size_t i = 0; i < whole->operands.count; i++)
        if (whole->operands.data[i].rank == o.rank &&
            !memcmp(whole->operands.data[i].extent, o.extent, sizeof o.extent))
            return &whole->operands.data[i];
    struct layout collapsed;
    int32_t weight[LAYOUT_DIGITS];
    collapse(&whole->layout, &o, &collapsed, weight);
    o.layout = plan_keep(l, &collapsed);
    o.registers = map_registers(l, &whole->layout, weight);
    vec_push(l->arena, &whole->operands, o);
    return &whole->operands.data[whole->operands.count - 1];
}

const struct layout *plan_operand_layout(struct layouts *l, const struct layout *whole,
                                         const struct type *operand)
{
    return operand_of(l, whole, operand)->layout;
}

int32_t *plan_operand_registers(struct layouts *l, const struct layout *whole,
                                const struct layout *operand, const struct type *type)
{
    (void)operand;
    return operand_of(l, whole, type)->registers;
}

const struct layout *plan_reduced_layout(struct layouts *l, const struct layout *x, int axis)
{
    struct type t = {.rank = x->out_count};
    for (int i = 0; i < t.rank; i++)
        t.extent[i] = i == axis ? 1 : x->outs[i].extent;
    t.rank = axis < 0 ? 0 : t.rank;
    return plan_operand_layout(l, x, &t);
}

const struct layout *plan_axis_layout(struct layouts *l, const struct layout *whole, int rank,
                                      int t, int64_t length, int32_t **source)
{
    struct type type = {.dtype = DT_I32, .rank = rank};
    for (int i = 0; i < rank; i++)
        type.extent[i] = i == t ? length : 1;
    const struct layout *operand = plan_operand_layout(l, whole, &type);
    *source = plan_operand_registers(l, whole, operand, &type);
    struct layout alone = *operand, line;
    enum layout_axis map[AXIS_COUNT];
    for (int a = 0; a < AXIS_COUNT; a++)
        map[a] = (enum layout_axis)a;
    for (int i = 0; i < rank; i++)
        if (i != t && layout_out_index(&alone, AXIS_DIM(i)) >= 0) {
            layout_drop_out(&alone, AXIS_DIM(i), &line);
            alone = line;
        }
    map[AXIS_DIM(t)] = AXIS_D0;
    layout_rename(&alone, map, &line);
    return plan_keep(l, &line);
}

const int32_t *plan_register_places(struct layouts *l, const struct layout *layout)
{
    struct plan_kept *k = kept_of(l, layout);
    if (!k->places) {
        k->places =
            arena_array(l->arena, int32_t, layout_in_extent(&k->layout, AXIS_REG) * LAYOUT_OUTS);
        layout_register_places(&k->layout, k->places);
    }
    return k->places;
}
