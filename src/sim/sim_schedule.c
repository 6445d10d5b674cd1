/* Runs blocks and their warps in turn.
 *
 * Blocks begin in the order of their numbers, or of a list of them. Without a seed, one block
 * runs until all its warps only wait; then the next one begins or goes on. With a seed, all
 * resident blocks run together: a random warp for a random number of instructions. */
#include "sim/sim_machine.h"

#include <string.h>

/* --- blocks --- */

static void place_threads(struct sim_block *b, const struct sim_launch *l)
{
    for (int i = 0; i < b->warp_count; i++) {
        struct sim_warp *w = &b->warps[i];
        uint32_t first = (uint32_t)i * SIM_LANES, left = (uint32_t)b->threads - first;
        w->number = i;
        w->block = b;
        w->lanes = left >= SIM_LANES ? SIM_ALL : (UINT32_C(1) << left) - 1;
        for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
            uint32_t t = first + lane;
            w->tid[0][lane] = t % l->block[0];
            w->tid[1][lane] = t / l->block[0] % l->block[1];
            w->tid[2][lane] = t / l->block[0] / l->block[1];
        }
    }
}

static struct sim_block *new_block(struct sim *sim)
{
    const struct sim_launch *l = sim->launch;
    struct sim_block *b = sim->unused_blocks;
    if (b) {
        sim->unused_blocks = b->next;
        return b;
    }
    b = arena_new(sim->arena, struct sim_block);
    b->threads = (int)(l->block[0] * l->block[1] * l->block[2]);
    b->warp_count = (b->threads + SIM_LANES - 1) / SIM_LANES;
    b->warps = arena_array(sim->arena, struct sim_warp, b->warp_count);
    b->shared = arena_alloc(sim->arena, (size_t)sim->shared_bytes + 16);
    for (int i = 0; i < 16; i++)
        b->barriers[i].arrived = arena_array(sim->arena, uint32_t, b->warp_count);
    place_threads(b, l);
    for (int i = 0; i < b->warp_count; i++) {
        b->warps[i].sim = sim;
        b->warps[i].shared = b->shared;
        b->warps[i].shared_bytes = sim->shared_bytes;
    }
    return b;
}

static void tell_block(struct sim *sim, const struct sim_block *b, bool begins)
{
    if (b->unchosen)
        return;
    struct sim_block_event event = {b->number,
                                    b->warp_count,
                                    b->threads,
                                    (int64_t)sim->shared_bytes,
                                    (int64_t)sim->program->reserved_shared,
                                    b->cluster->number,
                                    b->cluster->count,
                                    0};
    for (int i = 0; i < b->warp_count; i++)
        if (b->warps[i].steps > event.warp_steps)
            event.warp_steps = b->warps[i].steps;
    if (sim->hears_later)
        sim_later_block(sim, &event, begins);
    else
        sim_notify_block(sim, &event, begins, true);
    if (!sim_notify_block(sim, &event, begins, false))
        sim_over(sim, SIM_ASKED, "an observer asked to stop");
}

static void begin_block(struct sim *sim)
{
    struct sim_block *b = new_block(sim), **end = &sim->resident;
    const struct sim_options *o = &sim->launch->options;
    int64_t n = sim->next_block, count = sim_cluster_blocks(sim);
    int64_t chosen = o->chosen ? o->chosen[n / count] : -1;
    if (o->chosen)
        n = sim_cluster_of(sim, chosen) * count + n % count;
    sim_cluster_place(sim, n, b);
    sim_cluster_join(sim, n, b);
    sim->next_block++;
    if (o->progress)
        o->progress(o->progress_user, "simulating", sim->next_block, sim->blocks);
    b->alive = b->warp_count;
    b->unwatched = o->watch_steps && sim->steps >= o->watch_steps && b->number % o->watch_every;
    b->unchosen = o->chosen && b->number != chosen;
    b->unwatched |= b->unchosen;
    b->unwritten = b->written_later = false;
    b->unheard = sim->alike && sim->observers && !sim_hears(sim->observers, b->warps);
    memset(b->needless, 0, sizeof b->needless);
    sim->unwatched += b->unwatched;
    b->next = NULL;
    sim_bulks_forget(b);
    sim_products_forget(b);
    sim_registers_begin(b, sim->program->kernel);
    memset(b->shared, 0, (size_t)sim->shared_bytes + 16);
    for (int i = 0; i < 16; i++) {
        uint32_t *arrived = b->barriers[i].arrived;
        memset(arrived, 0, (size_t)b->warp_count * sizeof *arrived);
        b->barriers[i] = (struct sim_barrier){.arrived = arrived};
    }
    for (int i = 0; i < b->warp_count; i++)
        sim_warp_begin(&b->warps[i], sim->program->kernel_code);
    while (*end)
        end = &(*end)->next;
    *end = b;
    sim->resident_count++;
    tell_block(sim, b, true);
}

/* Begins the blocks of the next cluster. */
static void begin_cluster(struct sim *sim)
{
    int count = sim_cluster_blocks(sim);
    for (int i = 0; i < count && !sim->over; i++)
        begin_block(sim);
}

static void end_block(struct sim *sim, struct sim_block *b)
{
    struct sim_block **at = &sim->resident;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    sim->resident_count--;
    if (!sim->over)
        sim_bulks_land_all(b);
    sim_cluster_leave(sim, b);
    for (int i = 0; i < b->warp_count; i++)
        sim_warp_end(&b->warps[i]);
    b->next = sim->unused_blocks;
    sim->unused_blocks = b;
    if (!sim->over)
        tell_block(sim, b, false);
}

static int most_resident(const struct sim *sim)
{
    int n = sim->launch->options.resident_blocks;
    return n > 0 ? n : 16;
}

/* --- time slices --- */

enum { STEPS_BETWEEN_QUESTIONS = 1 << 14 };

static bool note_place_of(struct sim *sim, struct sim_warp *w)
{
    for (int i = 0; w->alive && i < w->path_count; i++) {
        const struct sim_path *p = &w->paths[(w->path + i) % w->path_count];
        if (p->wait != SIM_WAIT_NOTHING)
            continue;
        struct sim_frame *frame = w->frame;
        w->frame = p->frame; /* its function is named */
        sim_place_of(w, p->pc, &sim->stopped_at);
        w->frame = frame;
        return true;
    }
    return false;
}

/* Notes the place of a path that runs, of this warp or, if this one waits for others, of another
 * warp of its block. */
static void note_place(struct sim *sim, struct sim_warp *w)
{
    struct sim_block *b = w->block;
    bool noted = note_place_of(sim, w);
    for (int i = 0; i < b->warp_count && !noted; i++)
        noted = note_place_of(sim, &b->warps[i]);
}

static void ask_whether_to_go_on(struct sim *sim, struct sim_warp *w)
{
    const struct sim_options *o = &sim->launch->options;
    if (!o->cancelled || sim->steps < sim->asked_at)
        return;
    sim->asked_at = sim->steps + STEPS_BETWEEN_QUESTIONS;
    if (!o->cancelled(o->cancelled_user))
        return;
    note_place(sim, w);
    sim_over(sim, SIM_ASKED, "cancelled");
}

static void limit_slice(struct sim *sim, struct sim_warp *w, int64_t steps)
{
    ask_whether_to_go_on(sim, w);
    sim_later_begin(sim);
    int64_t left = sim->step_limit - sim->steps;
    sim->slice_end = steps < left ? sim->steps + steps : sim->step_limit;
}

static void stop_without_steps(struct sim *sim, struct sim_warp *w)
{
    if (sim->steps < sim->step_limit || sim->over)
        return;
    note_place(sim, w);
    sim_over(sim, SIM_ENDLESS,
             arena_printf(sim->arena,
                          "it does not end within %lld warp instructions, its step limit",
                          (long long)sim->step_limit));
}

enum { LONG_SLICE = 1 << 14 };

static bool is_in_order(const struct sim_options *o, int warp)
{
    for (int i = 0; i < o->order_count; i++)
        if (o->order[i].warp == warp)
            return true;
    return false;
}

/* Runs a warp for up to `steps` instructions. Returns true if it can go on without another
 * block. */
static bool run_slice(struct sim *sim, struct sim_warp *w, int64_t steps)
{
    if (!w->alive || !sim_warp_can_run(w))
        return false;
    limit_slice(sim, w, steps);
    enum sim_pause pause = sim_warp_run(w);
    if (pause == SIM_PAUSE_SLICE)
        w->rotates = w->path_count > 1; /* one of its paths may wait for another */
    stop_without_steps(sim, w);
    return pause != SIM_PAUSE_POLLS;
}

/* Runs the slices of the chosen order, then each other warp of a block once. Returns true if a
 * warp can go on without another block. */
static bool run_round(struct sim *sim, struct sim_block *b)
{
    const struct sim_options *o = &sim->launch->options;
    bool goes_on = false;
    for (int i = 0; i < o->order_count && !sim->over && b->alive; i++) {
        const struct sim_slice *t = &o->order[i];
        if (t->warp < b->warp_count &&
            run_slice(sim, &b->warps[t->warp], t->steps > 0 ? t->steps : LONG_SLICE))
            goes_on = true;
    }
    for (int i = 0; i < b->warp_count && !sim->over && b->alive; i++)
        if (!is_in_order(o, i) && run_slice(sim, &b->warps[i], LONG_SLICE))
            goes_on = true;
    return goes_on;
}

static bool block_can_run(const struct sim_block *b)
{
    for (int i = 0; i < b->warp_count; i++)
        if (b->warps[i].alive && sim_warp_can_run(&b->warps[i]))
            return true;
    return false;
}

/* Runs a block until it ends or only waits. */
static void run_block(struct sim *sim, struct sim_block *b)
{
    bool goes_on = true;
    while (goes_on && !sim->over && b->alive && block_can_run(b))
        goes_on = run_round(sim, b);
    if (!b->alive)
        end_block(sim, b);
}

static void run_round_robin(struct sim *sim)
{
    struct sim_idle idle = {.changes = UINT64_MAX};
    while (!sim->over && (sim->resident || sim->next_block < sim->blocks)) {
        bool can_run = false;
        if (!sim->resident)
            begin_cluster(sim);
        for (struct sim_block *b = sim->resident, *next; b && !sim->over; b = next) {
            int64_t before = sim->next_block;
            can_run = can_run || block_can_run(b);
            struct sim_block *after = b->next;
            run_block(sim, b);
            if (!sim->over && !after && sim->next_block < sim->blocks &&
                sim->resident_count < most_resident(sim) && sim->next_block == before) {
                begin_cluster(sim);
                for (after = sim->resident; after->next;)
                    after = after->next;
            }
            next = after;
        }
        if (!sim->over && !can_run && sim->resident)
            sim_deadlock(sim, "every thread waits");
        sim_idle_round(sim, &idle);
    }
}

/* --- in random order --- */

enum { FEW_WARPS = 64, GUESSES = 8 };

/* Returns any of the warps that can run, all with the same probability. If there are many warps,
 * guesses a few times before it looks at all. */
static struct sim_warp *random_warp(struct sim *sim)
{
    uint32_t count = 0;
    struct sim_warp *chosen = NULL;
    uint32_t each = sim->resident ? (uint32_t)sim->resident->warp_count : 0;
    uint32_t all = each * (uint32_t)sim->resident_count;
    for (int guess = all > FEW_WARPS ? 0 : GUESSES; guess < GUESSES; guess++) {
        uint32_t at = sim_random(sim, all);
        struct sim_block *b = sim->resident;
        for (uint32_t i = at / each; i > 0; i--)
            b = b->next;
        struct sim_warp *w = &b->warps[at % each];
        if (w->alive && sim_warp_can_run(w))
            return w;
    }
    for (struct sim_block *b = sim->resident; b; b = b->next)
        for (int i = 0; i < b->warp_count; i++) {
            struct sim_warp *w = &b->warps[i];
            if (w->alive && sim_warp_can_run(w) && sim_random(sim, ++count) == 0)
                chosen = w;
        }
    return chosen;
}

/* Returns mostly short slices and some long ones: both find races. */
static int64_t random_slice(struct sim *sim)
{
    uint32_t kind = sim_random(sim, 8);
    return 1 + (int64_t)sim_random(sim, kind < 4 ? 8 : kind < 7 ? 64 : 2048);
}

/* Returns true if every warp that can run has only waited in a loop since the last change. */
static bool all_poll(struct sim *sim)
{
    for (const struct sim_block *b = sim->resident; b; b = b->next)
        for (int i = 0; i < b->warp_count; i++) {
            const struct sim_warp *w = &b->warps[i];
            if (w->alive && sim_warp_can_run(w) && w->idle_since != sim->changes)
                return false;
        }
    for (struct sim_block *b = sim->resident; b; b = b->next)
        for (int i = 0; i < b->warp_count; i++)
            b->warps[i].idle_since = UINT64_MAX;
    return true;
}

static void run_at_random(struct sim *sim)
{
    struct sim_idle idle = {.changes = UINT64_MAX};
    while (!sim->over && (sim->resident || sim->next_block < sim->blocks)) {
        while (sim->next_block < sim->blocks && sim->resident_count < most_resident(sim))
            begin_cluster(sim);
        if (sim->over)
            break;
        struct sim_warp *w = random_warp(sim);
        if (!w) {
            sim_deadlock(sim, "every thread waits");
            break;
        }
        limit_slice(sim, w, random_slice(sim));
        enum sim_pause pause = sim_warp_run(w);
        stop_without_steps(sim, w);
        if (!w->block->alive)
            end_block(sim, w->block);
        if (pause == SIM_PAUSE_POLLS && all_poll(sim))
            sim_idle_round(sim, &idle);
    }
}

void sim_run_blocks(struct sim *sim)
{
    const unsigned *grid = sim->launch->grid;
    sim->blocks = (int64_t)grid[0] * grid[1] * grid[2];
    if (sim->launch->options.chosen)
        sim->blocks = sim->launch->options.chosen_count * sim_cluster_blocks(sim);
    sim->next_block = 0;
    if (memcmp(sim->unused_shape, sim->launch->block, sizeof sim->unused_shape) != 0 ||
        sim->unused_shared != sim->shared_bytes) /* blocks of another launch have other sizes */
        sim->unused_blocks = NULL;
    memcpy(sim->unused_shape, sim->launch->block, sizeof sim->unused_shape);
    sim->unused_shared = sim->shared_bytes;
    sim->resident_count = 0;
    sim->resident = NULL;
    if (sim->launch->options.seed)
        run_at_random(sim);
    else
        run_round_robin(sim);
    while (sim->resident)
        end_block(sim, sim->resident);
}
