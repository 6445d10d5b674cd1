/* The registers of warpgroup products: PTX ISA, asynchronous-warpgroup-level-matrix-async-proxy
 * and wgmma.fence.
 *
 * From wgmma.mma_async until the warp has waited for its group, no other instruction may access the
 * registers of the sums, or write those of A. Before a product, wgmma.fence has to come between
 * other accesses to its registers and the product; sums of products in a row need none. Only a few
 * instructions access such registers. Their handlers are replaced by one that checks and then
 * calls theirs, so all others run at full speed. */
#include "sim/sim_wgmma.h"

#include "ptx/ptx_choose.h"

#include <string.h>

/* A register of a product, in an instruction: its number among them, and whether it is written. */
struct touched {
    uint32_t reg;
    bool written;
};
struct touches {
    sim_handler *run;
    uint32_t count;
    struct touched *list;
};
/* The registers and instructions of a function with products. */
struct sim_held_code {
    uint32_t registers;
    uint32_t *number_of;      /* by slot / 4: number of the register + 1; 0: of no product */
    struct touches **touches; /* by op; NULL: none */
};
/* A register in a warp. */
struct held {
    const struct sim_op *product; /* that holds it last; NULL: none */
    uint32_t sequence;            /* of that product, from 1 */
    bool sums;                    /* held for its sums, else for A */
    const struct sim_op *access;  /* the last one since the fence, by another instruction */
};
struct sim_held {
    const struct sim_code *code;
    uint32_t done; /* products before this one were waited for */
    bool fenced;
    struct held *of;
};

/* --- preparing --- */

static uint32_t number_of(const struct sim_held_code *h, uint32_t slot)
{
    return h->number_of[slot / 4];
}

static void add_registers(struct sim_held_code *h, const struct sim_op *op)
{
    for (uint32_t i = 0; i < op->more_count; i++)
        if (!number_of(h, op->more[i]))
            h->number_of[op->more[i] / 4] = ++h->registers;
}

static void touch(struct sim_decoder *d, struct sim_held_code *h, struct touches *t,
                  const struct ptx_operand *o, bool written)
{
    if (o->kind == PTX_REGISTER && number_of(h, d->registers[o->reg])) {
        struct touched *more = arena_array(d->sim->arena, struct touched, t->count + 1);
        if (t->count)
            memcpy(more, t->list, t->count * sizeof *more);
        more[t->count++] = (struct touched){number_of(h, d->registers[o->reg]) - 1, written};
        t->list = more;
    }
    for (uint32_t i = 0; o->kind != PTX_TENSOR && i < ptx_elements(o); i++)
        touch(d, h, t, &o->elements[i], written);
}

static sim_handler run_touch;

static void wrap(struct sim_decoder *d, struct sim_held_code *h, uint32_t at, sim_handler *unknown)
{
    struct sim_op *op = &d->code->ops[at];
    struct touches t = {.run = op->run};
    if (op->run == unknown)
        return;
    for (int i = 0; op->ins && i < op->ins->operand_count; i++) {
        const struct ptx_slot *slot = ptx_slot_of(d->function, op->ins, (size_t)i);
        touch(d, h, &t, &op->ins->operands[i], slot && slot->flags & SLOT_WRITTEN);
    }
    if (!t.count)
        return;
    h->touches[at] = arena_new(d->sim->arena, struct touches);
    *h->touches[at] = t;
    op->run = run_touch;
}

void sim_held_prepare(struct sim_decoder *d, sim_handler *unknown)
{
    struct sim_code *code = d->code;
    struct sim_held_code *h = NULL;
    for (uint32_t i = 0; i < code->count; i++) {
        if (!code->ops[i].ins || code->ops[i].ins->op != PTX_WGMMA_MMA_ASYNC)
            continue;
        if (!h) {
            h = arena_new(d->sim->arena, struct sim_held_code);
            h->number_of = arena_array(d->sim->arena, uint32_t, d->end / 4 + 1);
            h->touches = arena_array(d->sim->arena, struct touches *, code->count + 1);
        }
        add_registers(h, &code->ops[i]);
    }
    code->held = h;
    for (uint32_t i = 0; h && i < code->count; i++)
        if (code->ops[i].ins && code->ops[i].ins->op != PTX_WGMMA_MMA_ASYNC)
            wrap(d, h, i, unknown);
}

/* --- running --- */

/* Returns the state of a warp's registers in its current function; another function begins with new state. */
static struct sim_held *held_of(struct sim_warp *w)
{
    struct sim_code *code = w->frame->code;
    if (!w->held)
        w->held = arena_new(w->sim->arena, struct sim_held);
    if (w->held->code != code) {
        w->held->code = code;
        w->held->of = arena_array(w->sim->arena, struct held, code->held->registers);
        w->held->fenced = false;
    }
    return w->held;
}

static bool found(struct sim_warp *w, const struct sim_op *op, const struct sim_op *other,
                  const char *why)
{
    struct sim_place place;
    struct sim_sync_event event = {.kind = SIM_PRODUCT_BROKEN,
                                   .mask = w->path_mask,
                                   .other = other ? &place : NULL,
                                   .why = why};
    sim_place_of(w, op, &event.at);
    if (other)
        sim_place_of(w, other, &place);
    return sim_notify_sync(w, &event);
}

static bool run_touch(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct sim_code *code = w->frame->code;
    const struct touches *t = code->held->touches[op - code->ops];
    if (!w->observed)
        return t->run(w, op, mask);
    struct sim_held *h = held_of(w);
    for (uint32_t i = 0; i < t->count; i++) {
        struct held *r = &h->of[t->list[i].reg];
        bool under_way = r->product && r->sequence > h->done;
        r->access = op;
        if (!under_way || (!r->sums && !t->list[i].written))
            continue;
        const char *why = !r->sums ? "a register is written while a product under way may read it"
                          : t->list[i].written
                              ? "a register is written while a product under way has its sum there"
                              : "a sum of a product under way is read: it is undefined until "
                                "wgmma.wait_group";
        if (!found(w, op, r->product, why))
            return false;
        r->product = NULL; /* once */
    }
    return t->run(w, op, mask);
}

bool sim_held_product(struct sim_warp *w, const struct sim_op *op, uint32_t sequence)
{
    const struct sim_wgmma *plan = op->data;
    const struct sim_held_code *code = w->frame->code->held;
    if (!w->observed)
        return true;
    struct sim_held *h = held_of(w);
    if (!h->fenced && !found(w, op, NULL, "no wgmma.fence is before the first product of the warp"))
        return false;
    h->fenced = true;
    for (uint32_t i = 0; i < op->more_count; i++) {
        struct held *r = &h->of[number_of(code, op->more[i]) - 1];
        bool sums = i < plan->d_count, crossed = r->product && r->sums != sums;
        if (r->access && !found(w, op, r->access,
                                "no wgmma.fence is between an access to a register and the product "
                                "that has it as an operand"))
            return false;
        if (crossed && r->sequence > h->done &&
            !found(w, op, r->product,
                   sums ? "a product has its sum in a register that one under way may read"
                        : "a product reads the sum of one under way: it is undefined until "
                          "wgmma.wait_group"))
            return false;
        *r = (struct held){.product = op, .sequence = sequence + 1, .sums = sums};
    }
    return true;
}

void sim_held_fence(struct sim_warp *w)
{
    if (!w->observed || !w->frame->code->held)
        return;
    struct sim_held *h = held_of(w);
    h->fenced = true;
    for (uint32_t i = 0; i < h->code->held->registers; i++)
        h->of[i].access = NULL;
}

void sim_held_done(struct sim_warp *w, uint32_t sequence)
{
    if (w->held)
        w->held->done = sequence;
}

void sim_held_forget(struct sim_warp *w)
{
    if (w->held)
        *w->held = (struct sim_held){0};
}
