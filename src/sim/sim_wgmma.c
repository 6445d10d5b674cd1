/* wgmma: PTX ISA, asynchronous-warpgroup-level-matrix-instructions.
 *
 * Four warps with neighbouring numbers, the first a multiple of four, are a warpgroup. A product is
 * one operation of the four: each reaches the instruction, and goes on. It ends when one of them
 * waits for its group; before that, all four must have reached it, so the wait blocks until they
 * have. With `async_late` it reads its operands then, otherwise when the last warp reaches it. Its
 * sums go into the registers of all four at once: they are undefined until each has waited for
 * itself (sim_held.c).
 *
 * Not simulated: sparse products (.sp), products of bits (.b1). */
#include "sim/sim_wgmma.h"

#include <string.h>

/* wait_group leaves up to 7 groups open, so the ends of 8 groups suffice. */
enum { ENDS = 8 };

struct sim_warpgroup {
    VEC(struct sim_product) list;
    uint32_t first; /* sequence number of the first in the list */
    struct {
        uint32_t reached;    /* products */
        uint32_t commits;    /* groups */
        uint32_t ends[ENDS]; /* by group: the products before its end */
        uint32_t waited;     /* for the products before */
    } of[WGMMA_WARPS];
};

static int index_of(const struct sim_warp *w)
{
    return w->number % WGMMA_WARPS;
}

static struct sim_warpgroup *group_of(struct sim_warp *w)
{
    struct sim_block *b = w->block;
    if (!b->warpgroups)
        b->warpgroups = arena_array(w->sim->arena, struct sim_warpgroup,
                                    (b->warp_count + WGMMA_WARPS - 1) / WGMMA_WARPS);
    return &b->warpgroups[w->number / WGMMA_WARPS];
}

static bool is_warpgroup(struct sim_warp *w, const struct sim_op *op)
{
    int last = w->number / WGMMA_WARPS * WGMMA_WARPS + WGMMA_WARPS - 1;
    if (last < w->block->warp_count && w->block->warps[last].lanes == SIM_ALL)
        return true;
    return sim_stop(w, op,
                    "warp %d is in no whole warpgroup: the block has %d threads, and a warpgroup "
                    "is 128 of them",
                    w->number, w->block->threads);
}

/* --- landing --- */

static bool land_before(struct sim_warpgroup *g, uint32_t sequence)
{
    bool fine = true;
    for (uint32_t i = g->first; i < sequence && fine; i++) {
        struct sim_product *p = &g->list.data[i - g->first];
        if (!p->done)
            fine = sim_product_land(p);
        p->done = true;
    }
    return fine;
}

/* Removes the products for which all four warps have waited. */
static void tidy(struct sim_warpgroup *g)
{
    uint32_t least = g->of[0].waited;
    for (int i = 1; i < WGMMA_WARPS; i++)
        least = g->of[i].waited < least ? g->of[i].waited : least;
    if (least <= g->first)
        return;
    size_t gone = least - g->first;
    g->list.count -= gone;
    memmove(g->list.data, g->list.data + gone, g->list.count * sizeof *g->list.data);
    g->first = least;
}

static void wake(const struct sim_warp *one)
{
    int first = one->number / WGMMA_WARPS * WGMMA_WARPS;
    for (int i = first; i < first + WGMMA_WARPS; i++) {
        struct sim_warp *w = &one->block->warps[i];
        for (int k = 0; k < w->path_count; k++)
            if (w->paths[k].wait == SIM_WAIT_PRODUCT)
                w->paths[k].wait = SIM_WAIT_NOTHING;
    }
    one->sim->changes++;
}

/* --- instructions --- */

static bool tell(struct sim_warp *w, const struct sim_op *op, enum sim_async kind, uint32_t number)
{
    struct sim_async_event event = {
        .kind = kind, .mask = w->alive, .group = number, .agent = SIM_PRODUCT};
    sim_place_of(w, op, &event.at);
    return !w->observed || sim_notify_async(w, &event);
}

/* Gives the value that all lanes of a descriptor's register have. */
static bool take_descriptor(struct sim_warp *w, const struct sim_op *op, uint32_t slot,
                            uint64_t *value)
{
    const uint64_t *lanes = sim_u64(w->file, slot);
    *value = lanes[0];
    for (int i = 1; i < SIM_LANES; i++)
        if (lanes[i] != lanes[0])
            return sim_stop(w, op, "the lanes of a warp have different matrix descriptors");
    return true;
}

static bool read_operands(struct sim_warp *w, const struct sim_op *op, struct sim_product *p)
{
    const struct sim_wgmma *plan = op->data;
    uint32_t adds = *sim_u32(w->file, plan->adds) ^ (plan->adds_negated ? SIM_ALL : 0);
    p->op = op;
    p->adds = adds & 1;
    if (adds && adds != SIM_ALL)
        return sim_stop(w, op, "the lanes of a warp have different values of scale-d");
    return (plan->a_in_registers || take_descriptor(w, op, plan->descriptor_a, &p->a)) &&
           take_descriptor(w, op, plan->descriptor_b, &p->b);
}

/* Returns the product that the warp reaches; NULL: the warps of its group do not agree, and the
 * launch is over. */
static struct sim_product *reach(struct sim_warp *w, const struct sim_op *op,
                                 struct sim_warpgroup *g)
{
    struct sim_product fresh = {.number = 0}, *p;
    uint32_t at = g->of[index_of(w)].reached - g->first;
    if (!read_operands(w, op, &fresh))
        return NULL;
    if (at == g->list.count) {
        fresh.number = ++w->sim->copies;
        vec_push(w->sim->arena, &g->list, fresh);
    }
    p = &g->list.data[at];
    if (p->op == op && p->a == fresh.a && p->b == fresh.b && p->adds == fresh.adds)
        return p;
    sim_stop(w, op,
             "the warps of a warpgroup reach different products, or give them different "
             "descriptors or scale-d");
    return NULL;
}

static bool multiply(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (!sim_gather_all(w, op, mask) || !is_warpgroup(w, op))
        return false;
    struct sim_warpgroup *g = group_of(w);
    struct sim_product *p = reach(w, op, g);
    int i = index_of(w);
    if (!p)
        return false;
    uint32_t sequence = g->of[i].reached++;
    p->of[i].warp = w;
    p->of[i].file = w->file;
    sim_place_of(w, op, &p->of[i].at);
    p->arrived |= (uint8_t)(1u << i);
    if (!sim_held_product(w, op, sequence) || !tell(w, op, SIM_PRODUCT_ISSUE, p->number))
        return false;
    if (p->arrived != (1u << WGMMA_WARPS) - 1)
        return true;
    wake(w);
    return w->sim->late || land_before(g, sequence + 1);
}

static bool fence(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (!sim_gather_all(w, op, mask) || !is_warpgroup(w, op))
        return false;
    sim_held_fence(w);
    return true;
}

static bool commit(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (!sim_gather_all(w, op, mask) || !is_warpgroup(w, op))
        return false;
    struct sim_warpgroup *g = group_of(w);
    int i = index_of(w);
    g->of[i].ends[g->of[i].commits++ % ENDS] = g->of[i].reached;
    return true;
}

/* op->imm: groups that may be open */
static bool wait(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (!sim_gather_all(w, op, mask) || !is_warpgroup(w, op))
        return false;
    struct sim_warpgroup *g = group_of(w);
    int i = index_of(w);
    uint32_t open = (uint32_t)op->imm, commits = g->of[i].commits;
    uint32_t end = commits > open ? g->of[i].ends[(commits - open - 1) % ENDS] : 0;
    if (end <= g->of[i].waited)
        return true;
    const struct sim_product *last = &g->list.data[end - 1 - g->first];
    if (last->arrived != (1u << WGMMA_WARPS) - 1)
        return sim_wait_here(w, op, mask, SIM_WAIT_PRODUCT);
    uint32_t number = last->number;
    if (!land_before(g, end) || !tell(w, op, SIM_PRODUCT_WAIT, number))
        return false;
    g->of[i].waited = end;
    sim_held_done(w, end);
    tidy(g);
    return true;
}

/* --- the end of a warp --- */

bool sim_products_leave(struct sim_warp *w, const struct sim_op *op)
{
    struct sim_warpgroup *g = w->block->warpgroups ? group_of(w) : NULL;
    int i = index_of(w);
    if (!g || g->of[i].reached <= g->of[i].waited)
        return true;
    struct sim_product *last = &g->list.data[g->of[i].reached - 1 - g->first];
    struct sim_sync_event event = {.kind = SIM_PRODUCT_BROKEN,
                                   .mask = w->lanes,
                                   .other = &last->of[i].at,
                                   .why = "a warp leaves with a product under way that it never "
                                          "waited for"};
    for (size_t k = 0; k < g->list.count; k++)
        g->list.data[k].of[i].warp = NULL;
    sim_place_of(w, op, &event.at);
    return !w->observed || sim_notify_sync(w, &event);
}

void sim_products_forget(struct sim_block *b)
{
    int groups = b->warpgroups ? (b->warp_count + WGMMA_WARPS - 1) / WGMMA_WARPS : 0;
    for (int i = 0; i < groups; i++) {
        struct sim_warpgroup *g = &b->warpgroups[i];
        g->list.count = 0;
        g->first = 0;
        memset(g->of, 0, sizeof g->of);
    }
}

/* --- choosing --- */

static int size_of(enum ptx_mod type)
{
    switch ((int)type) {
    case MOD_F16:
    case MOD_BF16: return 2;
    case MOD_TF32: return 4;
    case MOD_E4M3:
    case MOD_E5M2:
    case MOD_S8:
    case MOD_U8: return 1;
    default: return 0;
    }
}

/* Reads the constants after scale-d: signs of A and B, then which of them are transposed. */
static bool read_constants(const struct ptx_instruction *ins, int at, struct sim_wgmma *p)
{
    int count = ins->operand_count - at;
    const struct ptx_operand *o = &ins->operands[at];
    if (count >= 2) {
        p->minus_a = (int64_t)o[0].bits < 0;
        p->minus_b = (int64_t)o[1].bits < 0;
    }
    if (count == 4)
        p->turned_a = o[2].bits;
    if (count > 2)
        p->turned_b = o[count - 1].bits;
    return true;
}

static bool read_types(const struct ptx_instruction *ins, struct sim_wgmma *p)
{
    int m, n, k;
    if (ptx_has(ins, MOD_SP) || !ptx_shape(ptx_find(ins, PTX_CLASS_SHAPE, 0), &m, &n, &k))
        return false;
    p->n = (uint16_t)n;
    p->type_d = (uint16_t)ptx_type(ins, 0);
    p->type_a = (uint16_t)ptx_type(ins, 1);
    p->type_b = (uint16_t)ptx_type(ins, 2);
    p->size = (uint8_t)size_of((enum ptx_mod)p->type_a);
    p->clamps = ptx_has(ins, MOD_SATFINITE);
    if (!p->size)
        return false;
    p->k = (uint16_t)(WGMMA_K_BYTES / p->size);
    p->d_count = (uint16_t)(n / (p->type_d == MOD_F16 ? 4 : 2));
    return k == p->k && m == WGMMA_ROWS;
}

static bool choose_multiply(struct sim_decoder *d, const struct ptx_instruction *ins,
                            struct sim_op *op)
{
    struct sim_wgmma *p = arena_new(sim_decoder_arena(d), struct sim_wgmma);
    const struct ptx_operand *o = ins->operands;
    op->data = p;
    op->run = multiply;
    if (!read_types(ins, p) ||
        !sim_more_of(d, op, &o[0], p->type_d == MOD_F16 ? PTX_B32 : (enum ptx_mod)p->type_d) ||
        op->more_count != p->d_count)
        return false;
    p->a_in_registers = o[1].kind == PTX_VECTOR;
    if (p->a_in_registers) {
        if (!sim_more_of(d, op, &o[1], PTX_B32))
            return false;
        p->a_count = (uint16_t)(op->more_count - p->d_count);
    } else {
        p->descriptor_a = sim_slot_of(d, &o[1], MOD_B64);
    }
    p->descriptor_b = sim_slot_of(d, &o[2], MOD_B64);
    p->adds = sim_slot_of(d, &o[3], MOD_PRED);
    p->adds_negated = o[3].negated;
    return read_constants(ins, 4, p) && (!p->a_in_registers || p->a_count == 4) &&
           p->descriptor_a != SIM_NO_SLOT && p->descriptor_b != SIM_NO_SLOT &&
           p->adds != SIM_NO_SLOT;
}

bool sim_choose_wgmma(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op)
{
    switch ((int)ins->op) {
    case PTX_WGMMA_MMA_ASYNC: return choose_multiply(d, ins, op);
    case PTX_WGMMA_FENCE: op->run = fence; return true;
    case PTX_WGMMA_COMMIT_GROUP: op->run = commit; return true;
    case PTX_WGMMA_WAIT_GROUP:
        op->run = wait;
        op->imm = (int64_t)ins->operands[0].bits;
        return true;
    default: return false;
    }
}
