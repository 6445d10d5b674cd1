/* Finds deadlocks: no thread can go on, or all that run only poll memory that no thread changes.
 *
 * The second kind is found by the state of the warps. If a round changes nothing in memory,
 * asynchronous copies under way land, and warps run their other paths. If neither helps, and
 * registers and places repeat, nothing will ever change. */
#include "sim/sim_machine.h"

#include <string.h>

/* --- state --- */

static uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    for (; bytes; bytes--)
        hash = (hash ^ *at++) * UINT64_C(0x100000001B3);
    return hash;
}

/* Returns a hash of the registers and places of all running warps; called only if memory is
 * unchanged. */
static uint64_t state_of(const struct sim *sim)
{
    uint64_t hash = 1;
    for (const struct sim_block *b = sim->resident; b; b = b->next)
        for (int i = 0; i < b->warp_count; i++)
            for (int k = 0; k < b->warps[i].path_count; k++) {
                const struct sim_path *p = &b->warps[i].paths[k];
                hash = mix(hash, &p->pc, sizeof p->pc);
                hash = mix(hash, &p->mask, sizeof p->mask);
                for (const struct sim_frame *f = p->frame; f; f = f->parent)
                    hash = mix(hash, f->file, f->code->file_bytes);
            }
    return hash;
}

/* --- which threads wait for which --- */

static void find_barrier(struct text *out, const struct sim_block *block, int id)
{
    const struct sim_barrier *b = &block->barriers[id];
    int arrived = b->count;
    for (int i = 0; b->expected == -1 && i < block->warp_count; i++)
        arrived += __builtin_popcount(b->arrived[i] & block->warps[i].alive);
    text_printf(out, ": waits at barrier %d, where %d ", id, arrived);
    if (b->expected > 0)
        text_printf(out, "of %d threads are", b->expected);
    else
        text_add(out, "threads are, for all of the block");
}

static void find_polled(struct text *out, struct sim_warp *w, const struct sim_path *p,
                        struct sim_wait *wait)
{
    const struct sim_op *op = p->poll;
    const struct ptx_mod_info *type = &ptx_mods[ptx_type(op->ins, 0)];
    unsigned bytes = type->bits / 8u;
    uint64_t told = 0;
    sim_place_of(w, op, &wait->at);
    const uint8_t *host =
        sim_resolve(w, p->poll_lane, op->space, p->polled_at, bytes, &wait->space, &told);
    wait->lane = p->poll_lane;
    wait->address = told;
    if (host && bytes <= sizeof wait->value && type->class != PTX_CLASS_FLOAT) {
        wait->bytes = (int)bytes;
        memcpy(&wait->value, host, bytes); /* little-endian, as PTX */
    }
    text_printf(out,
                w->polled_mbarrier ? ": waits for the mbarrier at 0x%llx"
                                   : ": waits for a change at 0x%llx",
                (unsigned long long)p->polled_at);
}

static void find_wait(struct text *out, struct sim_warp *w, const struct sim_path *p,
                      struct sim_wait *wait)
{
    *wait = (struct sim_wait){.mask = p->mask};
    w->frame = p->frame; /* for the description; no thread runs any more */
    sim_place_of(w, p->pc, &wait->at);
    text_add(out, "\n  ");
    sim_describe(out, w, p->pc);
    if (p->mask != w->lanes)
        text_printf(out, ", lanes 0x%08x", p->mask);
    if (p->wait == SIM_WAIT_BARRIER) {
        wait->what = SIM_FOR_BARRIER;
        find_barrier(out, w->block, p->barrier);
    } else if (p->wait == SIM_WAIT_LANES) {
        wait->what = SIM_FOR_LANES;
        wait->members = p->members & w->alive;
        text_printf(out, ": waits for lanes 0x%08x", p->members & w->alive);
    } else if (p->pc->ins && p->pc->ins->op == PTX_SETMAXNREG) {
        sim_describe_registers(out, w, p->pc);
    } else if (p->wait == SIM_WAIT_CLUSTER) {
        text_add(out, ": waits at the barrier of its cluster");
    } else if (p->wait == SIM_WAIT_PRODUCT) {
        text_add(out, ": waits for the other warps of its warpgroup to reach a product");
    } else if (p->poll) {
        wait->what = w->polled_mbarrier ? SIM_FOR_MBARRIER : SIM_FOR_MEMORY;
        find_polled(out, w, p, wait);
    }
}

enum { MOST_SHOWN = 64 };

void sim_deadlock(struct sim *sim, const char *what)
{
    struct text shown, rest;
    VEC(struct sim_wait) waits = {0};
    if (sim->over)
        return;
    text_init(&shown, sim->arena);
    text_init(&rest, sim->arena);
    text_add(&shown, what);
    for (struct sim_block *b = sim->resident; b; b = b->next)
        for (int i = 0; i < b->warp_count; i++)
            for (int k = 0; k < b->warps[i].path_count; k++) {
                struct sim_warp *w = &b->warps[i];
                struct sim_wait wait;
                find_wait(waits.count < MOST_SHOWN ? &shown : &rest, w, &w->paths[k], &wait);
                vec_push(sim->arena, &waits, wait);
            }
    if (waits.count > MOST_SHOWN)
        text_printf(&shown, "\n  and %zu more", waits.count - MOST_SHOWN);
    if (sim->next_block < sim->blocks)
        text_printf(&shown, "\n  blocks from %lld on have not begun: %d run at a time",
                    (long long)sim->next_block, sim->resident_count);
    sim->standstill = arena_new(sim->arena, struct sim_standstill);
    *sim->standstill = (struct sim_standstill){.why = shown.data,
                                               .waits = waits.data,
                                               .wait_count = waits.count,
                                               .begun = sim->next_block,
                                               .blocks = sim->blocks,
                                               .resident = sim->resident_count};
    sim_over(sim, SIM_DEADLOCK, shown.data);
}

/* --- rounds --- */

static void rotate_paths(struct sim *sim)
{
    for (struct sim_block *b = sim->resident; b; b = b->next)
        for (int i = 0; i < b->warp_count; i++)
            b->warps[i].rotates = true;
}

static void land_copies(struct sim *sim)
{
    for (struct sim_block *b = sim->resident; b; b = b->next) {
        for (int i = 0; i < b->warp_count; i++)
            if (b->warps[i].alive && sim_copies_land_all(&b->warps[i]))
                sim->changes++;
    }
    if (sim_bulks_land_one(sim))
        sim->changes++;
}

/* Makes the waiting loops of all warps that can run end; requires that they all poll. */
static bool end_waits(struct sim *sim)
{
    int64_t before = sim->waits_ended;
    for (struct sim_block *b = sim->resident; b; b = b->next)
        for (int i = 0; i < b->warp_count; i++) {
            struct sim_warp *w = &b->warps[i];
            w->wait_ends = w->alive && !w->polled_mbarrier && sim_warp_can_run(w);
            sim->waits_ended += w->wait_ends;
        }
    return sim->waits_ended > before;
}

enum { LANDING_ROUND = 2, FIRST_STATE = 4 };

void sim_idle_round(struct sim *sim, struct sim_idle *idle)
{
    if (idle->changes != sim->changes) {
        *idle = (struct sim_idle){.changes = sim->changes, .next = FIRST_STATE};
        return;
    }
    rotate_paths(sim);
    idle->rounds++;
    if (idle->rounds == LANDING_ROUND)
        land_copies(sim);
    if (idle->rounds < FIRST_STATE)
        return;
    uint64_t state = state_of(sim);
    if (idle->rounds > FIRST_STATE && state == idle->state) {
        if (sim->launch->options.waits_end && end_waits(sim)) {
            idle->changes = UINT64_MAX;
            return;
        }
        sim_deadlock(sim, "the threads that still run wait for memory that no thread will change");
    }
    if (idle->rounds == idle->next) {
        idle->state = state;
        idle->next *= 2;
    }
}
