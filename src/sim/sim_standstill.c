/* When nobody can go on, or all that anybody does is to look again and again at what nobody
 * changes, it is a deadlock.
 *
 * The second kind is found by the state of the warps: when a round changes nothing in memory,
 * asynchronous work that is still under way lands and warps run their other paths; when neither
 * helps and registers and places repeat, nothing will.
 */
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

/* Registers and places of all that is running; memory has not changed when it is asked for. */
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

/* --- who waits for whom --- */

static bool is_at_mbarrier(const struct sim_path *p)
{
    return p->poll && p->poll->ins &&
           (p->poll->ins->op == PTX_MBARRIER_TEST_WAIT ||
            p->poll->ins->op == PTX_MBARRIER_TRY_WAIT);
}

/* What it reads again and again. */
static void find_polled(struct sim_warp *w, const struct sim_path *p, struct sim_wait *wait)
{
    const struct sim_op *op = p->poll;
    enum ptx_mod type = op->ins ? ptx_type(op->ins, 0) : MOD_NONE;
    int bits = ptx_mods[type].bits;
    uint64_t told;
    struct sim_frame *frame = w->frame;
    w->frame = p->frame; /* whose function is named, whose memory is local */
    sim_place_of(w, op, &wait->at);
    const uint8_t *host = sim_resolve(w, p->poll_lane, op->space, p->polled_at, (uint64_t)bits / 8,
                                      &wait->space, &told);
    w->frame = frame;
    wait->lane = p->poll_lane;
    wait->address = host ? told : p->polled_at;
    bool is_number = ptx_mods[type].class != PTX_CLASS_FLOAT && bits >= 8 && bits <= 64;
    if (host && is_number) {
        wait->bytes = bits / 8;
        memcpy(&wait->value, host, (size_t)wait->bytes); /* little-endian, as PTX */
    }
}

static void find_wait(struct sim_warp *w, const struct sim_path *p, struct sim_wait *wait)
{
    const struct sim_barrier *b = &w->block->barriers[p->barrier];
    *wait = (struct sim_wait){.what = SIM_FOR_MEMORY, .mask = p->mask};
    sim_place_of(w, p->pc, &wait->at);
    if (p->wait == SIM_WAIT_BARRIER) {
        wait->what = SIM_FOR_BARRIER;
        wait->id = p->barrier;
        wait->expected = b->expected;
        wait->arrived = b->count;
        for (int i = 0; b->expected == -1 && i < w->block->warp_count; i++)
            wait->arrived += __builtin_popcount(b->arrived[i] & w->block->warps[i].alive);
    } else if (p->wait == SIM_WAIT_LANES) {
        wait->what = SIM_FOR_LANES;
        wait->missing = p->members & w->alive;
    } else if (p->poll) {
        wait->what = is_at_mbarrier(p) ? SIM_FOR_MBARRIER : SIM_FOR_MEMORY;
        find_polled(w, p, wait);
    }
}

static void describe_wait(struct text *out, const struct sim_warp *w, const struct sim_path *p,
                          const struct sim_wait *wait)
{
    text_add(out, "\n  ");
    sim_describe(out, w, p->pc);
    if (p->mask != w->lanes)
        text_printf(out, ", lanes 0x%08x", p->mask);
    switch (wait->what) {
    case SIM_FOR_BARRIER:
        if (wait->expected > 0)
            text_printf(out, ": waits at barrier %d, where %d of %d threads are", wait->id,
                        wait->arrived, wait->expected);
        else
            text_printf(out, ": waits at barrier %d, where %d threads are, for all of the block",
                        wait->id, wait->arrived);
        break;
    case SIM_FOR_LANES: text_printf(out, ": waits for lanes 0x%08x", wait->missing); break;
    case SIM_FOR_MBARRIER:
        text_printf(out, ": waits for the mbarrier at 0x%llx", (unsigned long long)wait->address);
        break;
    case SIM_FOR_MEMORY:
        text_printf(out, ": waits for a change at 0x%llx", (unsigned long long)wait->address);
        break;
    }
}

enum { MOST_SHOWN = 64 };

void sim_deadlock(struct sim *sim, const char *what)
{
    struct text out;
    VEC(struct sim_wait) waits = {0};
    if (sim->over)
        return;
    text_init(&out, sim->arena);
    text_add(&out, what);
    for (struct sim_block *b = sim->resident; b; b = b->next)
        for (int i = 0; i < b->warp_count; i++)
            for (int k = 0; k < b->warps[i].path_count; k++) {
                struct sim_warp *w = &b->warps[i];
                struct sim_wait wait;
                find_wait(w, &w->paths[k], &wait);
                vec_push(sim->arena, &waits, wait);
                if (waits.count <= MOST_SHOWN)
                    describe_wait(&out, w, &w->paths[k], &wait);
            }
    if (waits.count > MOST_SHOWN)
        text_printf(&out, "\n  and %zu more", waits.count - MOST_SHOWN);
    if (sim->next_block < sim->blocks)
        text_printf(&out, "\n  blocks from %lld on have not begun: %d run at a time",
                    (long long)sim->next_block, sim->resident_count);
    sim->standstill = arena_new(sim->arena, struct sim_standstill);
    *sim->standstill = (struct sim_standstill){.why = out.data,
                                               .waits = waits.data,
                                               .wait_count = waits.count,
                                               .begun = sim->next_block,
                                               .blocks = sim->blocks,
                                               .resident = sim->resident_count};
    sim_over(sim, SIM_DEADLOCK, out.data);
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
    for (struct sim_block *b = sim->resident; b; b = b->next)
        for (int i = 0; i < b->warp_count; i++)
            if (b->warps[i].alive && sim_copies_land_all(&b->warps[i]))
                sim->changes++;
}

/* Of the warps that can run all poll. */
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
        sim_deadlock(sim, "what still runs waits for memory that nobody will change");
    }
    if (idle->rounds == idle->next) {
        idle->state = state;
        idle->next *= 2;
    }
}
