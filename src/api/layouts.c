#include "api/layouts.h"

#include "layout/layout_text.h"

#include <string.h>

const char *layouts_words(struct arena *a, const struct layout *layout)
{
    struct text out;
    text_init(&out, a);
    layout_print(&out, layout);
    return out.data;
}

static int64_t count_of(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    return count;
}

/* Gives the shape of a tile; a tile that the program does not name has the shape of its layout. */
static int shape_of(const struct lowered_placed *p, int64_t shape[TW_MAX_RANK])
{
    const struct layout *l = p->layout;
    const struct layout_dim *dims = p->shared ? l->ins : l->outs;
    int rank = p->shared ? l->in_count : l->out_count;
    for (int i = 0; i < rank && !p->sym; i++)
        shape[i] = dims[i].extent;
    for (int i = 0; p->sym && i < p->sym->type.rank; i++)
        shape[i] = p->sym->type.extent[i];
    return p->sym ? p->sym->type.rank : rank;
}

const uint32_t *layouts_places(struct arena *a, const struct lowered_placed *tile, uint64_t base,
                               bool *plain)
{
    int64_t shape[TW_MAX_RANK];
    int rank = shape_of(tile, shape);
    int64_t count = count_of(rank, shape), bytes = tile->bits / 8;
    uint32_t *places = arena_array(a, uint32_t, count + 1);
    *plain = true;
    for (int64_t e = 0; e < count; e++) {
        int32_t in[LAYOUT_INS] = {0}, out[LAYOUT_OUTS];
        int64_t rest = e;
        for (int i = rank - 1; i >= 0; i--) {
            int counter = layout_in_index(tile->layout, AXIS_DIM(i));
            if (counter >= 0)
                in[counter] = (int32_t)(rest % shape[i]);
            rest /= shape[i];
        }
        layout_apply(tile->layout, in, out);
        int64_t place = out[layout_out_index(tile->layout, AXIS_AT)];
        places[e] = (uint32_t)(base + (uint64_t)(place * bytes));
        *plain = *plain && place == e;
    }
    return places;
}

const int32_t *layouts_elements(struct arena *a, const struct layout *layout, int rank,
                                const int64_t *shape)
{
    int warps = layout_in_extent(layout, AXIS_WARP), each = layout_in_extent(layout, AXIS_REG);
    int32_t *list = arena_array(a, int32_t, warps * LAYOUT_LANES * each + 1), *to = list;
    for (int warp = 0; warp < warps; warp++)
        for (int lane = 0; lane < LAYOUT_LANES; lane++)
            for (int e = 0; e < each; e++) {
                int32_t out[LAYOUT_OUTS], number = 0;
                bool inside = layout_element(layout, e, lane, warp, out);
                for (int i = 0; i < rank; i++) {
                    int axis = layout_out_index(layout, AXIS_DIM(i));
                    number = number * (int32_t)shape[i] + (axis >= 0 ? out[axis] : 0);
                }
                *to++ = inside ? number : -1;
            }
    return list;
}

static const char *kept(struct arena *a, const char *text)
{
    return text ? arena_string(a, text, strlen(text)) : NULL;
}

static void name_registers(struct arena *a, const struct lowered_held *h, tw_tile *t)
{
    const char **names = arena_array(a, const char *, h->count + 1);
    for (int i = 0; i < h->count; i++)
        names[i] = kept(a, h->registers[i]);
    t->register_count = h->count;
    t->registers = names;
}

static void describe_shared(struct arena *a, const struct lowered_placed *p, tw_tile *t)
{
    bool plain;
    t->places = layouts_places(a, p, 0, &plain);
    t->offset = p->sym ? p->sym->offset : -1;
    t->bytes = p->sym ? type_bytes(&p->sym->type)
                      : layout_out_extent(p->layout, AXIS_AT) * (int64_t)p->bits / 8;
    t->form = p->form;
}

static void describe_held(struct arena *a, const struct lowered *lowered,
                          const struct lowered_placed *p, tw_tile *t)
{
    int64_t count = count_of(t->rank, t->shape);
    int warps = layout_in_extent(p->layout, AXIS_WARP);
    t->held = layout_in_extent(p->layout, AXIS_REG);
    t->in_register = p->bits == 1 ? 1 : p->bits > 16 ? 1 : 32 / p->bits;
    const int32_t *elements = layouts_elements(a, p->layout, t->rank, t->shape);
    int32_t *threads = arena_array(a, int32_t, count + 1);
    int32_t *numbers = arena_array(a, int32_t, count + 1),
            *copies = arena_array(a, int32_t, count + 1);
    memset(threads, -1, (size_t)count * sizeof *threads);
    memset(numbers, -1, (size_t)count * sizeof *numbers);
    for (int i = 0; i < warps * LAYOUT_LANES * t->held; i++) {
        int32_t e = elements[i];
        if (e < 0)
            continue;
        if (threads[e] < 0) {
            threads[e] = i / t->held;
            numbers[e] = i % t->held;
        }
        copies[e]++;
        t->copies = copies[e] > t->copies ? copies[e] : t->copies;
    }
    t->threads = threads;
    t->numbers = numbers;
    for (size_t i = 0; p->sym && i < lowered->held.count; i++) {
        const struct lowered_held *h = &lowered->held.data[i];
        if (h->sym == p->sym && h->layout == p->layout)
            name_registers(a, h, t);
    }
}

static void describe(struct arena *a, const struct lowered *lowered, const struct lowered_placed *p,
                     tw_tile *t)
{
    *t = (tw_tile){.shared = p->shared, .bits = p->bits, .type = TW_DTYPE_NONE};
    t->name = p->sym ? kept(a, p->sym->name) : NULL;
    t->what = kept(a, p->what);
    if (p->sym)
        t->type = tw_dtype_from_name(dtype_table[p->sym->type.dtype].name);
    t->rank = shape_of(p, t->shape);
    t->layout = layouts_words(a, p->layout);
    if (p->shared)
        describe_shared(a, p, t);
    else
        describe_held(a, lowered, p, t);
}

static void describe_access(struct arena *a, const struct lowered_access *from, tw_tile_access *to)
{
    *to = (tw_tile_access){.tile = from->sym ? kept(a, from->sym->name) : NULL,
                           .shared = from->shared,
                           .store = from->store,
                           .how = kept(a, from->how),
                           .bytes = from->bytes,
                           .instructions = from->instructions,
                           .wavefronts = from->wavefronts,
                           .least = from->least};
    if (from->loc.source)
        loc_line_column(from->loc, &to->line, &to->column);
}

static void describe_scalar(struct arena *a, const struct lowered_held *h, tw_tile *t)
{
    const char *type = dtype_table[h->sym->type.dtype].name;
    *t = (tw_tile){.name = kept(a, h->sym->name),
                   .type = tw_dtype_from_name(type),
                   .bits = dtype_table[h->sym->type.dtype].bits,
                   .held = 1,
                   .in_register = 1};
    name_registers(a, h, t);
}

void layouts_of(struct arena *a, const struct lowered *lowered, tw_layouts *out)
{
    tw_tile *tiles = arena_array(a, tw_tile, lowered->placed.count + lowered->held.count + 1);
    tw_tile_access *accesses = arena_array(a, tw_tile_access, lowered->accesses.count + 1);
    *out = (tw_layouts){.shared_bytes = lowered->shared_bytes,
                        .registers = lowered->registers,
                        .tiles = tiles,
                        .accesses = accesses,
                        .access_count = (int)lowered->accesses.count};
    memcpy(out->block, lowered->block, sizeof out->block);
    for (size_t i = 0; i < lowered->placed.count; i++)
        describe(a, lowered, &lowered->placed.data[i], &tiles[out->tile_count++]);
    for (size_t i = 0; i < lowered->held.count; i++)
        if (!lowered->held.data[i].layout)
            describe_scalar(a, &lowered->held.data[i], &tiles[out->tile_count++]);
    for (size_t i = 0; i < lowered->accesses.count; i++)
        describe_access(a, &lowered->accesses.data[i], &accesses[i]);
}
