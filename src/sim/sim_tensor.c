/* cp.async.bulk and cp.async.bulk.tensor: PTX ISA, data-movement-and-conversion-instructions-
 * bulk-copy and -tensor-copy. Each lane that executes the instruction issues a copy.
 *
 * Not simulated: the im2col modes of sm_100, gather4 and scatter4, reductions (cp.reduce), .cp_mask. */
#include "sim/sim_bulk.h"
#include "sim/sim_mbarrier.h"

#include <string.h>

/* An instruction's operands. The op has the address in shared memory. */
struct copied {
    enum sim_agent agent;
    bool tensor, across;
    uint8_t axes;
    bool windows;                         /* im2col */
    uint8_t offsets;                      /* their number: place in the window */
    uint32_t offset[TENSOR_MAP_AXES - 2]; /* slots */
    uint32_t coordinate[TENSOR_MAP_AXES]; /* slots */
    uint32_t bytes;                       /* slot of a plain copy's size */
    uint32_t blocks; /* slot of the blocks of .multicast::cluster; SIM_NO_SLOT: none */
    /* Addresses: of the map; of global memory, or of the shared memory that is read; of the
     * mbarrier. */
    struct sim_op other, mbarrier;
};

/* --- addresses --- */

static bool fault(struct sim_warp *w, const struct sim_op *op, int lane, enum sim_space space,
                  uint64_t address, uint64_t bytes, bool write, enum sim_fault_kind kind)
{
    struct sim_fault f = {.kind = kind,
                          .lane = lane,
                          .space = space,
                          .address = address,
                          .bytes = (int)bytes,
                          .write = write};
    return sim_fault_at(w, op, &f);
}

/* Checks bytes of global memory. *good: false if a fault was let pass. Returns false if the
 * launch is over. */
static bool reach_global(struct sim_warp *w, const struct sim_op *op, int lane, uint64_t address,
                         uint64_t bytes, bool write, bool *good)
{
    enum sim_space space;
    uint64_t told;
    *good = sim_resolve(w, lane, SIM_IN_GLOBAL, address, bytes, &space, &told) &&
            !(write && space == SIM_CONST);
    if (*good)
        return true;
    return fault(w, op, lane, space, told, bytes, write,
                 space == SIM_CONST ? SIM_READ_ONLY : SIM_OUTSIDE);
}

/* Checks each piece of a copy of windows that is inside the tensor. */
static bool reach_pieces(struct sim_warp *w, const struct sim_op *op, const struct sim_bulk *c,
                         bool *good)
{
    bool write = c->agent == SIM_COPY_OUT;
    *good = true;
    for (uint64_t i = 0; *good && i < c->bytes / BULK_PIECE; i++) {
        struct sim_piece p = sim_bulk_piece(c, i);
        if (p.bytes && !reach_global(w, op, c->lane, p.address, p.bytes, write, good))
            return false;
    }
    return true;
}

/* Checks the first and the last element of a box that are inside the tensor: all others are
 * between them. */
static bool reach_box(struct sim_warp *w, const struct sim_op *op, const struct sim_bulk *c,
                      bool *good)
{
    const struct tensor_map *map = &c->map;
    unsigned size = (unsigned)dtype_size(map->type);
    uint64_t ends[2] = {map->address, map->address};
    if (SIM_TAKES_WINDOWS && c->window.pixels)
        return reach_pieces(w, op, c, good);
    *good = true;
    for (int axis = 0; axis < map->rank; axis++) {
        int64_t step = axis ? map->steps[axis] : 1, extent = (int64_t)map->extents[axis];
        int64_t first = c->start[axis], last = first + (tensor_map_count(map, axis) - 1) * step;
        if (first < 0)
            first = (first % step + step) % step;
        if (last >= extent)
            last = extent - 1;
        if (last < first)
            return true; /* nothing is inside */
        uint64_t stride = axis ? map->strides[axis] : size;
        ends[0] += (uint64_t)first * stride;
        ends[1] += (uint64_t)last * stride;
    }
    bool write = c->agent == SIM_COPY_OUT;
    if (!reach_global(w, op, c->lane, ends[0], size, write, good))
        return false;
    return !*good || reach_global(w, op, c->lane, ends[1], size, write, good);
}

/* Gives the place of an address in the cluster's shared memory, aligned to `alignment`. */
static bool reach_shared(struct sim_warp *w, const struct sim_op *op, int lane, uint64_t address,
                         uint64_t bytes, unsigned alignment, bool write, struct sim_spot *spot,
                         bool *good)
{
    enum sim_space space = SIM_SHARED;
    uint64_t told = address;
    const uint8_t *host = sim_resolve(w, lane, op->space, address, bytes, &space, &told);
    spot->block = sim_shared_block(w, address);
    spot->offset = told;
    *good = host && space == SIM_SHARED && told % alignment == 0;
    if (*good)
        return true;
    return fault(w, op, lane, space, told, bytes, write,
                 host && space == SIM_SHARED ? SIM_MISALIGNED : SIM_OUTSIDE);
}

/* --- maps --- */

/* Reads the map's windows, and a lane's offset in them. */
static bool read_window(struct sim_warp *w, const struct sim_op *op, const struct copied *s,
                        int lane, const uint8_t *bytes, struct sim_bulk *c)
{
    memcpy(&c->window, bytes + TENSOR_WINDOW_AT, sizeof c->window);
    if (s->windows != (c->window.pixels > 0))
        return sim_stop(w, op, "the instruction copies %s, and the tensor map is one of %s",
                        s->windows ? "windows (im2col)" : "a tile",
                        s->windows ? "tiles" : "windows (im2col)");
    for (int i = 0; i < s->offsets; i++)
        c->offset[i] = sim_u16(w->file, s->offset[i])[lane];
    if (s->windows)
        c->bytes *= c->window.pixels;
    return true;
}

static bool read_map(struct sim_warp *w, const struct sim_op *op, const struct copied *s, int lane,
                     struct sim_bulk *c)
{
    uint64_t address[SIM_LANES], told;
    enum sim_space space;
    sim_addresses(w, &s->other, address);
    const uint8_t *bytes =
        sim_resolve(w, lane, s->other.space, address[lane], TENSOR_MAP_BYTES, &space, &told);
    if (!bytes || told % TENSOR_MAP_ALIGNMENT || !tensor_map_decode(bytes, &c->map))
        return sim_stop(w, op, "there is no tensor map at 0x%llx",
                        (unsigned long long)address[lane]);
    if (c->map.rank != s->axes)
        return sim_stop(w, op, "the instruction has %d coordinates, and the tensor map %d axes",
                        s->axes, c->map.rank);
    c->tensor = true;
    c->bytes = tensor_map_box_bytes(&c->map);
    for (int axis = 0; axis < s->axes; axis++)
        c->start[axis] = (int32_t)sim_u32(w->file, s->coordinate[axis])[lane];
    /* An H200 stops other copies with "illegal instruction", of which the PTX ISA says nothing. */
    if (c->start[0] * (int64_t)dtype_size(c->map.type) % BULK_PIECE)
        return sim_stop(
            w, op,
            "the copy begins at element %lld of the innermost axis, whose elements take "
            "%u bytes: it must begin at a multiple of %d bytes",
            (long long)c->start[0], (unsigned)dtype_size(c->map.type), BULK_PIECE);
    return !SIM_TAKES_WINDOWS || read_window(w, op, s, lane, bytes, c);
}

/* --- issuing --- */

/* Fills the copy of a lane, to its own or the named block. *good: false
 * if it is left out because of a fault. */
static bool prepare(struct sim_warp *w, const struct sim_op *op, int lane, struct sim_bulk *c,
                    bool *good)
{
    const struct copied *s = op->data;
    uint64_t to[SIM_LANES], other[SIM_LANES];
    unsigned alignment = s->tensor ? 128 : BULK_PIECE;
    bool out = s->agent == SIM_COPY_OUT;
    sim_addresses(w, op, to);
    sim_addresses(w, &s->other, other);
    if (s->tensor) {
        if (!read_map(w, op, s, lane, c) || !reach_box(w, op, c, good))
            return false;
    } else {
        c->bytes = sim_u32(w->file, s->bytes)[lane];
        if (c->bytes % BULK_PIECE)
            return sim_stop(w, op, "a bulk copy of %llu bytes: a multiple of %d",
                            (unsigned long long)c->bytes, BULK_PIECE);
        c->global = other[lane];
        if (s->across ? !reach_shared(w, &s->other, lane, other[lane], c->bytes, BULK_PIECE, false,
                                      &c->from, good)
                      : !reach_global(w, op, lane, c->global, c->bytes, out, good))
            return false;
        if (*good && !s->across && c->global % BULK_PIECE) {
            *good = false;
            return fault(w, op, lane, SIM_GLOBAL, c->global, BULK_PIECE, out, SIM_MISALIGNED);
        }
    }
    return !*good ||
           reach_shared(w, op, lane, to[lane], c->bytes, alignment, !out, &c->shared, good);
}

static bool has_mbarrier(struct sim_warp *w, const struct copied *s, int lane, struct sim_bulk *c,
                         bool *good)
{
    struct sim_mbarriers at;
    uint32_t mask = UINT32_C(1) << lane;
    if (s->agent == SIM_COPY_OUT)
        return true;
    if (!sim_mbarrier_reach(w, &s->mbarrier, &mask, &at))
        return false;
    *good = mask != 0;
    c->mbarrier = (struct sim_spot){at.block[lane], at.offset[lane]};
    return true;
}

/* Issues a copy to the same place of each block in the mask, where it arrives at the mbarrier at
 * the same place. */
static bool multicast(struct sim_warp *w, const struct sim_op *op, const struct sim_bulk *c,
                      uint32_t blocks)
{
    int count = w->block->cluster->count;
    for (uint32_t rest = blocks; rest; rest &= rest - 1) {
        struct sim_bulk one = *c;
        int rank = __builtin_ctz(rest);
        struct sim_block *b = sim_cluster_block(w->block, (uint32_t)rank);
        if (!b) {
            if (!(rank < count ? sim_no_address(w, op, c->lane, SIM_PEER_ENDED, rank)
                               : sim_no_address(w, op, c->lane, SIM_NO_PEER, rank, count - 1)))
                return false;
            continue;
        }
        one.shared.block = one.mbarrier.block = b;
        if (!sim_bulk_issue(w, &one))
            return false;
    }
    return true;
}

static bool issue(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct copied *s = op->data;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        struct sim_bulk c = {.agent = s->agent, .op = op, .warp = w, .lane = lane};
        bool good = true;
        sim_place_of(w, op, &c.at);
        if (!prepare(w, op, lane, &c, &good) || (good && !has_mbarrier(w, s, lane, &c, &good)))
            return false;
        if (!good || !c.bytes)
            continue;
        bool fine = s->blocks == SIM_NO_SLOT
                        ? sim_bulk_issue(w, &c)
                        : multicast(w, op, &c, sim_u16(w->file, s->blocks)[lane]);
        if (!fine)
            return false;
    }
    return true;
}

static bool prefetch(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    (void)w, (void)op, (void)mask;
    return true;
}

/* --- choosing --- */

static bool choose_coordinates(struct sim_decoder *d, const struct ptx_operand *list,
                               struct copied *s)
{
    s->axes = (uint8_t)list->count;
    if (!list->count || list->count > TENSOR_MAP_AXES)
        return false;
    for (uint32_t i = 0; i < list->count; i++)
        if ((s->coordinate[i] = sim_slot_of(d, &list->elements[i], MOD_S32)) == SIM_NO_SLOT)
            return false;
    return true;
}

/* Decodes the address of a map, [a, {…}]; it is generic. */
static bool choose_map(struct sim_decoder *d, const struct ptx_instruction *ins,
                       const struct ptx_operand *o, struct copied *s)
{
    enum { NO_SPACE = 8 };
    return o->kind == PTX_TENSOR && choose_coordinates(d, &o->elements[1], s) &&
           sim_decode_address(d, ins, &o->elements[0], NO_SPACE, &s->other);
}

/* Finds the operand after the mbarrier: the offsets in a window. */
static bool choose_offsets(struct sim_decoder *d, const struct ptx_operand *list, struct copied *s)
{
    if (list->count > TENSOR_MAP_AXES - 2)
        return false;
    s->offsets = (uint8_t)list->count;
    for (uint32_t i = 0; i < list->count; i++)
        if ((s->offset[i] = sim_slot_of(d, &list->elements[i], MOD_U16)) == SIM_NO_SLOT)
            return false;
    return true;
}

/* Finds the operand after the mbarrier, or after the offsets: the mask of .multicast::cluster. */
static bool choose_blocks(struct sim_decoder *d, const struct ptx_instruction *ins, int at,
                          struct copied *s)
{
    s->blocks = SIM_NO_SLOT;
    if (!ptx_has(ins, MOD_MULTICAST_CLUSTER))
        return true;
    s->blocks = sim_slot_of(d, &ins->operands[at], MOD_U16);
    return s->blocks != SIM_NO_SLOT;
}

static bool is_done(const struct ptx_instruction *ins)
{
    static const uint16_t others[] = {MOD_IM2COL,       MOD_IM2COL_NO_OFFS, MOD_IM2COL_W,
                                      MOD_IM2COL_W_128, MOD_TILE_GATHER4,   MOD_TILE_SCATTER4,
                                      MOD_CP_MASK,      MOD_CTA_GROUP_1,    MOD_CTA_GROUP_2};
    for (size_t i = SIM_TAKES_WINDOWS ? 2 : 0; i < sizeof others / sizeof *others; i++)
        if (ptx_has(ins, (enum ptx_mod)others[i]))
            return false;
    return true;
}

static bool choose_copy(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    struct copied *s = arena_new(sim_decoder_arena(d), struct copied);
    const struct ptx_operand *o = ins->operands;
    enum ptx_mod to = ptx_find(ins, PTX_CLASS_SPACE, 0), from = ptx_find(ins, PTX_CLASS_SPACE, 1);
    bool out = to == MOD_GLOBAL;
    s->tensor = ins->op == PTX_CP_ASYNC_BULK_TENSOR;
    s->across = !out && from != MOD_GLOBAL;
    s->agent = out ? SIM_COPY_OUT : SIM_COPY_IN;
    s->other = s->mbarrier = (struct sim_op){.ins = ins, .where = op->where};
    op->data = s;
    op->run = issue;
    int map = out ? 0 : 1, shared = out ? 1 : 0, mbarrier = s->tensor ? 2 : 3, next = mbarrier + 1;
    if (!is_done(ins) || !sim_decode_address(d, ins, &o[shared], shared, op))
        return false;
    if (s->tensor ? !choose_map(d, ins, &o[map], s)
                  : !sim_decode_address(d, ins, &o[map], map, &s->other))
        return false;
    if (!s->tensor && (s->bytes = sim_slot_of(d, &o[2], MOD_U32)) == SIM_NO_SLOT)
        return false;
    if (SIM_TAKES_WINDOWS) {
        s->windows = ptx_has(ins, MOD_IM2COL) || ptx_has(ins, MOD_IM2COL_NO_OFFS);
        if (ptx_has(ins, MOD_IM2COL) && !choose_offsets(d, &o[next++], s))
            return false;
    }
    return choose_blocks(d, ins, next, s) &&
           (out || sim_decode_address(d, ins, &o[mbarrier], 0, &s->mbarrier));
}

bool sim_choose_tensor(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    switch ((int)ins->op) {
    case PTX_CP_ASYNC_BULK:
    case PTX_CP_ASYNC_BULK_TENSOR: return choose_copy(d, ins, op);
    case PTX_CP_ASYNC_BULK_PREFETCH:
    case PTX_CP_ASYNC_BULK_PREFETCH_TENSOR: op->run = prefetch; return true;
    default: return false;
    }
}
