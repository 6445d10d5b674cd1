/* The verdict in a sentence, the change that would help most, and what is not known. Each piece of
 * advice has a test; the first that applies is given, in the order of what it would gain. */
#include "api/explain.h"

#include <string.h>

static const double half = 0.5;

static const char *time_text(struct arena *a, double seconds)
{
    if (seconds >= 1)
        return arena_printf(a, "%.3g s", seconds);
    if (seconds >= 1e-3)
        return arena_printf(a, "%.3g ms", seconds * 1e3);
    return arena_printf(a, "%.3g µs", seconds * 1e6);
}

static int hundredths(double x)
{
    return (int)(100 * x + half);
}

static double share_of(const tw_explanation *o, const char *roof)
{
    for (int i = 0; i < o->roof_count; i++)
        if (strcmp(o->roofs[i].name, roof) == 0)
            return o->roofs[i].share;
    return 0;
}

static bool is_bound_by(const tw_explanation *o, const char *roof)
{
    return o->roof_count && strcmp(o->roofs[0].name, roof) == 0;
}

/* Whether the launch itself takes the most of the time. */
static bool is_brief(const tw_explanation *o)
{
    return o->seconds.middle < 2 * LAUNCH_NANOSECONDS * 1e-9;
}

static const char *verdict(struct explain *e)
{
    tw_explanation *o = &e->out;
    struct arena *a = e->results;
    const tw_roof *r = &o->roofs[0];
    const char *time = time_text(a, o->seconds.middle);
    const char *next = o->roof_count > 1 ? arena_printf(a, "; next: %s (%d%%)", o->roofs[1].title,
                                                        hundredths(o->roofs[1].share))
                                         : "";
    if (r->share >= half)
        return arena_printf(a, "It is bound by %s, busy for %d%% of the %s%s.", r->title,
                            hundredths(r->share), time, next);
    o->bound = "latency";
    o->bound_title = "latency";
    if (is_brief(o))
        return arena_printf(a,
                            "There is little to do: of the %s, %s are any launch's own; nothing is "
                            "busy for more than %d%% (%s).",
                            time, time_text(a, LAUNCH_NANOSECONDS * 1e-9), hundredths(r->share),
                            r->title);
    return arena_printf(
        a,
        "It is bound by latency: in the %s nothing is busy for more than %d%% (%s), "
        "and %d warps a multiprocessor mostly wait.",
        time, hundredths(r->share), r->title, o->resident_warps);
}

/* --- advice --- */

/* The line with the most wavefronts that conflicts cost. */
static const char *about_conflicts(struct explain *e)
{
    const tw_explanation *o = &e->out;
    const tw_explained_line *worst = NULL;
    double excess = 0;
    for (int i = 0; i < o->line_count; i++) {
        const tw_explained_line *n = &o->lines[i];
        if (n->shared_wavefronts - n->shared_wavefronts_ideal > excess) {
            excess = n->shared_wavefronts - n->shared_wavefronts_ideal;
            worst = n;
        }
    }
    if (!worst || worst->conflict_ways < 1.5 || excess < 0.2 * o->shared_wavefronts ||
        share_of(o, "shared") < half / 2)
        return NULL;
    return arena_printf(e->results,
                        "Line %d has bank conflicts, %.3g wavefronts where 1 would do: let the "
                        "threads of a warp go along the rows of the tile, or make its rows an "
                        "element longer.",
                        worst->line, worst->conflict_ways);
}

static const char *about_coalescing(struct explain *e)
{
    const tw_explanation *o = &e->out;
    for (int i = 0; i < o->line_count; i++) {
        const tw_explained_line *n = &o->lines[i];
        if (n->sectors < 2 * n->sectors_ideal || n->sectors < 8 * n->requests ||
            n->sectors * SECTOR_BYTES < o->traffic[TW_AT_L2].by_request / 4)
            continue;
        return arena_printf(e->results,
                            "Line %d is not coalesced: a warp's request touches %.3g sectors where "
                            "%.3g would do; let neighbouring threads (thread.x) take neighbouring "
                            "columns.",
                            n->line, n->sectors / n->requests, n->sectors_ideal / n->requests);
    }
    return NULL;
}

static const char *about_launch(const struct explain *e)
{
    if (!is_brief(&e->out) || e->out.roofs[0].share >= half)
        return NULL;
    return "Give a launch more to do, or do this in the kernel before or behind it.";
}

static const char *about_grid(struct explain *e)
{
    const tw_explanation *o = &e->out;
    int places = o->resident_blocks * e->gpu->multiprocessors;
    if (o->blocks < e->gpu->multiprocessors)
        return arena_printf(e->results,
                            "The grid is %lld block%s for %d multiprocessors: smaller tiles, or K "
                            "split among blocks, would employ the others.",
                            (long long)o->blocks, o->blocks == 1 ? "" : "s",
                            e->gpu->multiprocessors);
    if (o->wave_efficiency < 0.75 && o->waves > 1)
        return arena_printf(e->results,
                            "The last of %d waves of %d blocks has %lld: with tiles of another "
                            "size, or K split among blocks, fewer places would stand idle.",
                            (int)o->waves + 1, places, (long long)(o->blocks % places));
    return NULL;
}

/* Whether nothing is busy for nearly all of the time. */
static bool mostly_waits(const tw_explanation *o)
{
    return strcmp(o->bound, "latency") == 0 || o->roofs[0].share < 0.85;
}

/* Of a product on the units for f32, what of it is read through L1. */
static const char *about_l1(struct explain *e, const struct explain_counts *c)
{
    const tw_explanation *o = &e->out;
    if (!is_bound_by(o, "shared"))
        return NULL;
    if (c->wavefronts > o->shared_wavefronts && o->shared_wavefronts > 0.2 * c->wavefronts)
        return "Most of L1's work is to fill the tiles: arrays whose rows are a multiple of 16 "
               "bytes let a thread move 16 bytes at a time, or copy them asynchronously.";
    if (c->wavefronts > o->shared_wavefronts)
        return "Most of L1's work is loads of what other threads of the block load too: copy tiles "
               "to shared memory, and let each thread keep several results, so that it reads each "
               "factor once for all of them.";
    if (share_of(o, "fma") > 0.1 && c->launch.fma > 1.2 * o->shared_wavefronts)
        return "Each element read of shared memory serves several results already; a larger tile "
               "of results in each thread's registers (8 × 8) lets it serve more.";
    if (share_of(o, "fma") > 0.1 && share_of(o, "shared") > 1.5 * share_of(o, "fma"))
        return "Each multiply-add waits for what it reads of shared memory: let a thread keep a "
               "tile of results in registers (4 × 4 or 8 × 8), so that each element that it reads "
               "serves several.";
    if (share_of(o, "tensor") > 0.1 && !mostly_waits(o))
        return "The matrix units wait for shared memory: larger tiles of a warp read each factor "
               "less often.";
    return NULL;
}

static const char *about_memory(const struct explain *e)
{
    const tw_explanation *o = &e->out;
    if (is_bound_by(o, "HBM") && o->roofs[0].share > 0.6 &&
        o->traffic[TW_AT_HBM].moved.middle < 1.5 * o->traffic[TW_AT_HBM].compulsory)
        return "It moves little more than each array once: only doing more with what is read, "
               "together with the kernel before or behind it, makes it faster.";
    return NULL;
}

static const char *about_latency(const struct explain *e, const struct explain_counts *c)
{
    const tw_explanation *o = &e->out;
    bool copies = c->past > 0, latency = strcmp(o->bound, "latency") == 0;
    if (!mostly_waits(o))
        return NULL;
    if (!copies && c->missed > 0)
        return "Loads and arithmetic take turns: copy the next tiles asynchronously (async, or "
               "pipeline(3)) while the present ones are multiplied.";
    if (copies && (latency || is_bound_by(o, "tensor")))
        return "It waits for its copies: more stages (pipeline(3) or (4)) keep more of them under "
               "way, a greater depth of a stage (BK) waits less often.";
    return NULL;
}

static const char *about_traffic(struct explain *e)
{
    const tw_explanation *o = &e->out;
    if (is_bound_by(o, "L2 requests"))
        return "The rows of its tiles are short, and each is a request to L2 of its own: tiles "
               "with rows of 128 bytes (a greater BK) ask for the same in fewer requests.";
    if (is_bound_by(o, "HBM") || is_bound_by(o, "L2"))
        return "Larger tiles: each element that a block reads serves more results.";
    return NULL;
}

static const char *about_occupancy(struct explain *e)
{
    const tw_explanation *o = &e->out;
    if (!mostly_waits(o) || o->occupancy >= 0.25)
        return NULL;
    return arena_printf(e->results,
                        "Only %d warps a multiprocessor are there to hide latencies: a block that "
                        "takes less of what limits it (%s) leaves room for another.",
                        o->resident_warps, o->limiter);
}

static const char *about_units(struct explain *e, const struct explain_counts *c)
{
    const tw_explanation *o = &e->out;
    bool f32 = is_bound_by(o, "issue") || is_bound_by(o, "fma");
    if (f32 && c->launch.fma > 0.6 * c->launch.instructions.middle)
        return "Nearly all instructions are multiply-adds already: tensor units do them many at a "
               "time, with factors of f16, bf16 or tf32.";
    if (is_bound_by(o, "issue"))
        return "More than half of the instructions are no arithmetic: unroll, read several "
               "elements at a time, give each thread more results.";
    if (is_bound_by(o, "tensor") && c->launch.asynchronous_tensor == 0 && e->gpu->capability == 90)
        return "It is near what mma reaches: only wgmma has all of this GPU's matrix units.";
    return "It is near what this GPU can do with this program; less work, or narrower types, "
           "would be the next step.";
}

static const char *advice(struct explain *e, const struct explain_counts *c)
{
    const char *said = about_launch(e);
    said = said ? said : about_conflicts(e);
    said = said ? said : about_coalescing(e);
    said = said ? said : about_grid(e);
    said = said ? said : about_l1(e, c);
    said = said ? said : about_memory(e);
    said = said ? said : about_latency(e, c);
    said = said ? said : about_traffic(e);
    said = said ? said : about_occupancy(e);
    return said ? said : about_units(e, c);
}

/* --- notes --- */

static void note(struct explain *e, const char **notes, const char *text)
{
    notes[e->out.note_count++] = text;
}

static void add_notes(struct explain *e, const struct explain_counts *c)
{
    const tw_explanation *o = &e->out;
    const char **notes = arena_array(e->results, const char *, 9);
    if (!o->registers_known)
        note(e, notes,
             arena_printf(e->results,
                          "Registers are estimated (%d a thread); ptxas may need other "
                          "ones, and so other blocks fit.",
                          o->registers));
    if (e->blocks_wait)
        note(e, notes,
             "Blocks wait for each other: each was run by itself, as if what it waits for "
             "were done; how long they wait is not in the time.");
    if (c->longest > 1.1)
        note(e, notes,
             arena_printf(e->results,
                          "Blocks do different work, the longest %.3g times the mean: %lld were "
                          "run, and stand for those like them.",
                          c->longest, (long long)o->sampled_blocks));
    if (o->flops_executed < half * o->flops)
        note(e, notes,
             "What it does depends on the values of its arrays: those that were not given are "
             "zeros, and with these it executes less than half of its useful operations.");
    if (o->traffic[TW_AT_HBM].moved.high > 1.2 * o->traffic[TW_AT_HBM].moved.low)
        note(e, notes,
             "What L2 holds depends on how evenly blocks go on, which is not known: its memory's "
             "bytes are a range.");
    if (c->missed + c->past > 0)
        note(e, notes,
             "Two multiprocessors of a pair that ask for the same at a time may be answered at "
             "once: L2's bytes may be as few as half.");
    if (c->launch.instructions.high > 1.1 * c->launch.instructions.low)
        note(e, notes, "Instructions are those of the PTX; ptxas leaves some out and adds others.");
    e->out.notes = notes;
}

void explain_words(struct explain *e, const struct explain_counts *c)
{
    if (!e->out.roof_count) {
        e->out.verdict = "It does nothing that takes time.";
        e->out.advice = "";
        return;
    }
    e->out.verdict = verdict(e);
    e->out.advice = advice(e, c);
    add_notes(e, c);
}
