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

enum wait_for { FOR_BARRIER, FOR_LANES, FOR_MBARRIER, FOR_MEMORY };
struct waiting {
    enum wait_for what;
    int id;                     /* barrier */
    int expected, arrived;      /* threads */
    uint32_t missing;           /* lanes */
    unsigned long long address; /* mbarrier, memory polled */
};

static struct waiting waiting_of(const struct sim_warp *w, const struct sim_path *p)
{
    const struct sim_barrier *b = &w->block->barriers[p->barrier];
    struct waiting wait = {.what = w->polled_mbarrier ? FOR_MBARRIER : FOR_MEMORY,
                           .address = w->polled_at};
    if (p->wait == SIM_WAIT_BARRIER) {
        wait.what = FOR_BARRIER;
        wait.id = p->barrier;
        wait.expected = b->expected;
        wait.arrived = b->count;
        for (int i = 0; b->expected == -1 && i < w->block->warp_count; i++)
            wait.arrived += __builtin_popcount(b->arrived[i] & w->block->warps[i].alive);
    } else if (p->wait == SIM_WAIT_LANES) {
        wait.what = FOR_LANES;
        wait.missing = p->members & w->alive;
    }
    return wait;
}

static void describe_wait(struct text *out, const struct sim_warp *w, const struct sim_path *p,
                          const struct waiting *wait)
{
    text_add(out, "\n  ");
    sim_describe(out, w, p->pc);
    if (p->mask != w->lanes)
        text_printf(out, ", lanes 0x%08x", p->mask);
    switch (wait->what) {
    case FOR_BARRIER:
        if (wait->expected > 0)
            text_printf(out, ": waits at barrier %d, where %d of %d threads are", wait->id,
                        wait->arrived, wait->expected);
        else
            text_printf(out, ": waits at barrier %d, where %d threads are, for all of the block",
                        wait->id, wait->arrived);
        break;
    case FOR_LANES: text_printf(out, ": waits for lanes 0x%08x", wait->missing); break;
    case FOR_MBARRIER: text_printf(out, ": waits for the mbarrier at 0x%llx", wait->address); break;
    case FOR_MEMORY: text_printf(out, ": waits for a change at 0x%llx", wait->address); break;
    }
}

enum { MOST_SHOWN = 64 };

void sim_deadlock(struct sim *sim, const char *what)
{
    struct text out;
    int count = 0;
    if (sim->over)
        return;
    text_init(&out, sim->arena);
    text_add(&out, what);
    for (struct sim_block *b = sim->resident; b; b = b->next)
        for (int i = 0; i < b->warp_count; i++)
            for (int k = 0; k < b->warps[i].path_count; k++) {
                struct sim_warp *w = &b->warps[i];
                struct waiting wait = waiting_of(w, &w->paths[k]);
                if (count++ < MOST_SHOWN)
                    describe_wait(&out, w, &w->paths[k], &wait);
            }
    if (count > MOST_SHOWN)
        text_printf(&out, "\n  and %d more", count - MOST_SHOWN);
    if (sim->next_block < sim->blocks)
        text_printf(&out, "\n  blocks from %lld on have not begun: %d run at a time",
                    (long long)sim->next_block, sim->resident_count);
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
        sim_deadlock(sim, "all that runs looks for what nobody will change");
    }
    if (idle->rounds == idle->next) {
        idle->state = state;
        idle->next *= 2;
    }
}
