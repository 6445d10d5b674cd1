/* Writes the verdict in a sentence, the change that would help most, and the open questions.
 * Each piece of advice has a test; the text gives the first that applies, in the order of their
 * gain. */
#include "api/explain.h"

#include <string.h>

static const double half = 0.5;

static const char *time_text(struct arena *a, double seconds)
{
    if (seconds >= 1)
        return arena_printf(a, "%.3g s", seconds);
    if (seconds >= 1e-3)
        return arena_printf(a, "%.3g ms", seconds * 1e3);
    if (seconds >= 1e-6)
        return arena_printf(a, "%.3g µs", seconds * 1e6);
    return arena_printf(a, "%.3g ns", seconds * 1e9);
}

static int hundredths(double x)
{
    return (int)(100 * x + half);
}

static const tw_roof *roof_of(const tw_explanation *o, const char *name)
{
    for (int i = 0; i < o->roof_count; i++)
        if (strcmp(o->roofs[i].name, name) == 0)
            return &o->roofs[i];
    return NULL;
}

static double share_of(const tw_explanation *o, const char *roof)
{
    const tw_roof *r = roof_of(o, roof);
    return r ? r->share : 0;
}

static bool is_bound_by(const tw_explanation *o, const char *roof)
{
    return o->roof_count && strcmp(o->roofs[0].name, roof) == 0;
}

/* Returns true if the launch overhead takes most of the time. */
static bool is_brief(const tw_explanation *o)
{
    return o->seconds.middle < 2 * LAUNCH_NANOSECONDS * 1e-9;
}

/* Returns the number of multiprocessors that get no block because the grid is too small. */
static int idle_multiprocessors(const struct explain *e)
{
    int64_t idle = e->gpu->multiprocessors - e->out.blocks;
    return idle > 0 ? (int)idle : 0;
}

/* Returns the warps of a multiprocessor at a time: as many as fit, or fewer in a small grid. */
static int warps_there(const struct explain *e)
{
    const tw_explanation *o = &e->out;
    int64_t places = e->gpu->multiprocessors, blocks = (o->blocks + places - 1) / places;
    int warps = o->resident_blocks ? o->resident_warps / o->resident_blocks : 0;
    return blocks < o->resident_blocks ? (int)blocks * warps : o->resident_warps;
}

static const char *verdict(struct explain *e)
{
    tw_explanation *o = &e->out;
    struct arena *a = e->results;
    const tw_roof *r = &o->roofs[0];
    const char *time = time_text(a, o->seconds.middle);
    const char *next = o->roof_count > 1 ? arena_printf(a, " Next: %s, %s.", o->roofs[1].title,
                                                        time_text(a, o->roofs[1].seconds.middle))
                                         : "";
    if (r->share >= half)
        return arena_printf(a, "It is bound by %s: this alone takes %s of the %s%s.%s", r->title,
                            time_text(a, r->seconds.middle), time,
                            r->share < 0.85 ? ", and warps wait in the rest" : "", next);
    o->bound = "latency";
    o->bound_title = "latency";
    if (is_brief(o))
        return arena_printf(a,
                            "The launch is too small to keep this GPU busy: of the %s, %s are the "
                            "launch itself, and "
                            "nothing is busy for more than %d%% (%s).",
                            time, time_text(a, LAUNCH_NANOSECONDS * 1e-9),
                            hundredths(r->share > 0.01 ? r->share : 0.01), r->title);
    int idle = idle_multiprocessors(e), warps = warps_there(e);
    const char *others = idle ? arena_printf(a, "; %d of %d multiprocessors have no block", idle,
                                             e->gpu->multiprocessors)
                              : "";
    return arena_printf(
        a,
        "It is bound by latency: in the %s nothing is busy for more than %d%% (%s), "
        "and %d warp%s a multiprocessor mostly wait%s%s.",
        time, hundredths(r->share), r->title, warps, warps == 1 ? "" : "s", warps == 1 ? "s" : "",
        others);
}

/* --- advice --- */

/* Returns the kind of access: "load", "store" or "reduction (atomic add)". */
static const char *kind_of(struct arena *a, const tw_explanation *o, const tw_explained_access *of)
{
    const char *atomic = o->atomics[of - o->accesses];
    return atomic ? arena_printf(a, "reduction (atomic %s)", atomic) : of->store ? "store" : "load";
}

/* Returns the access of shared (or global) memory with the most units above the ideal, of one
 * line or of all lines (0). NULL: none has any. */
static const tw_explained_access *worst_access(const tw_explanation *o, bool shared, int line)
{
    const tw_explained_access *worst = NULL;
    double excess = 0;
    for (int i = 0; i < o->access_count; i++) {
        const tw_explained_access *a = &o->accesses[i];
        if (a->shared != shared || a->copy || (line && a->line != line) ||
            a->units - a->units_ideal <= excess)
            continue;
        excess = a->units - a->units_ideal;
        worst = a;
    }
    return worst;
}

/* Returns the ways of the program as written and, if it has vectors, as vectors: "32-way (8-way
 * as vectors)". */
static const char *ways_text(struct arena *a, const tw_explained_access *of)
{
    if (of->ways_by_element > 1.005 * of->ways)
        return arena_printf(a, "%.3g-way (%.3g-way as vectors)", of->ways_by_element, of->ways);
    return arena_printf(a, "%.3g-way", of->ways);
}

/* Returns true if no part is busy for nearly all of the time. */
static bool mostly_waits(const tw_explanation *o)
{
    return strcmp(o->bound, "latency") == 0 || o->roofs[0].share < 0.85;
}

/* Returns true if another part is busy for nearly all of the time: without conflicts, the kernel
 * would take as long. */
static bool hides_conflicts(const tw_explanation *o)
{
    return !mostly_waits(o) && !is_bound_by(o, "shared");
}

/* Returns the wavefronts of shared memory for which other accesses wait. */
static double waited_for(const tw_explanation *o)
{
    return o->shared_wavefronts - o->copy_wavefronts;
}

/* Returns the wavefronts above the ideal that copies past L1 take on a line. */
static double lost_of_copies(const tw_explanation *o, int line)
{
    double lost = 0;
    for (int i = 0; i < o->access_count; i++) {
        const tw_explained_access *a = &o->accesses[i];
        lost += a->copy && a->line == line ? a->units - a->units_ideal : 0;
    }
    return lost;
}

/* Returns the access with the most conflicts, on the line that loses the most wavefronts to them.
 * NULL: conflicts are few. */
static const tw_explained_access *worst_conflicts(const tw_explanation *o)
{
    const tw_explained_line *worst = NULL;
    double excess = 0;
    for (int i = 0; i < o->line_count; i++) {
        const tw_explained_line *n = &o->lines[i];
        double lost =
            n->shared_wavefronts - n->shared_wavefronts_ideal - lost_of_copies(o, n->line);
        if (lost > excess) {
            excess = lost;
            worst = n;
        }
    }
    if (!worst || worst->conflict_ways < 1.5 || excess < 0.2 * waited_for(o))
        return NULL;
    return worst_access(o, true, worst->line);
}

/* Explains the worst conflicts, if shared memory is busy for a quarter of the time and no other
 * part hides them, or in any case. */
static const char *about_conflicts(struct explain *e, bool in_any_case)
{
    const tw_explanation *o = &e->out;
    const tw_explained_access *a = worst_conflicts(o);
    bool counts = share_of(o, "shared") >= half / 2 && !hides_conflicts(o);
    if (!a || !(counts || in_any_case))
        return NULL;
    const char *fault = arena_printf(
        e->results,
        "Line %d has a %s with bank conflicts, %s: let the threads of a warp go along the rows of "
        "the tile, or make its rows an element longer.",
        a->line, kind_of(e->results, &e->out, a), ways_text(e->results, a));
    if (in_any_case)
        return fault;
    const tw_roof *r = roof_of(o, "shared");
    double without =
        r->work.middle - waited_for(o) + o->shared_wavefronts_ideal - o->copy_wavefronts_ideal;
    return arena_printf(
        e->results, "%s Without conflicts shared memory and L1 would be busy for %s, not %s.",
        fault, time_text(e->results, without / r->rate), time_text(e->results, r->seconds.middle));
}

/* Returns a sentence about conflicts that another part hides, to follow the advice; "": there are
 * none. */
static const char *hidden_conflicts(struct explain *e)
{
    const tw_explanation *o = &e->out;
    const tw_explained_access *a = worst_conflicts(o);
    if (!a || share_of(o, "shared") < half / 2 || !hides_conflicts(o))
        return "";
    return arena_printf(e->results,
                        " The bank conflicts of line %d (%s) cost nothing now: shared memory and "
                        "L1 are busy for only %s of the %s.",
                        a->line, ways_text(e->results, a),
                        time_text(e->results, roof_of(o, "shared")->seconds.middle),
                        time_text(e->results, o->seconds.middle));
}

/* Finds an access that would be scattered if thread.x went along the columns of `worst`: now its
 * neighbouring lanes access neighbouring elements. Returns NULL if there is none of any weight,
 * or if the kernel has shared tiles, which each access can go along in its own way. */
static const tw_explained_access *other_way(const tw_explanation *o,
                                            const tw_explained_access *worst)
{
    for (int i = 0; i < o->access_count && o->shared_bytes == 0; i++) {
        const tw_explained_access *a = &o->accesses[i];
        if (!a->shared && a != worst && a->units < 1.5 * a->units_ideal &&
            a->units >= 2 * a->requests && a->requests >= half * worst->requests)
            return a;
    }
    return NULL;
}

static const char *about_coalescing(struct explain *e)
{
    const tw_explanation *o = &e->out;
    const tw_explained_access *a = worst_access(o, false, 0), *other;
    if (!a || a->units < 1.9 * a->units_ideal || a->units < 8 * a->requests ||
        a->units * GPU_SECTOR_BYTES < o->traffic[TW_AT_L2].by_request / 4)
        return NULL;
    const char *fault = arena_printf(
        e->results,
        "Line %d has a %s that is not coalesced: a warp's request touches %.3g sectors where %.3g "
        "would do (%.3g bytes a lane; %d%% of all sectors asked for)",
        a->line, kind_of(e->results, &e->out, a), a->units / a->requests,
        a->units_ideal / a->requests, a->units_ideal * GPU_SECTOR_BYTES / a->requests / 32,
        hundredths(a->units * GPU_SECTOR_BYTES / o->traffic[TW_AT_L2].by_request));
    other = other_way(o, a);
    if (!other)
        return arena_printf(e->results,
                            "%s; let neighbouring threads (thread.x) take neighbouring columns.",
                            fault);
    return arena_printf(e->results,
                        "%s. Exchanging thread.x and thread.y would only move this to the %s of "
                        "line %d: go through shared memory, read a tile along the rows of one "
                        "array, and write it from there along the rows of the other.",
                        fault, kind_of(e->results, &e->out, other), other->line);
}

/* Returns the atomic access of shared (or global) memory with the most requests, if these are a
 * quarter of all requests there. NULL: there is none. */
static const tw_explained_access *most_atomics(const tw_explanation *o, bool shared)
{
    const tw_explained_access *most = NULL;
    double all = 0;
    for (int i = 0; i < o->access_count; i++) {
        const tw_explained_access *a = &o->accesses[i];
        all += a->shared == shared ? a->requests : 0;
        if (a->shared == shared && o->atomics[i] && (!most || a->requests > most->requests))
            most = a;
    }
    return most && most->requests >= all / 4 ? most : NULL;
}

/* Explains atomics on global memory, or on shared memory, that are many. */
static const char *about_atomics(struct explain *e)
{
    const tw_explanation *o = &e->out;
    const tw_explained_access *global = most_atomics(o, false), *shared = most_atomics(o, true);
    if (!mostly_waits(o) && !is_bound_by(o, "L2 requests") && !is_bound_by(o, "L2"))
        return NULL;
    if (global)
        return arena_printf(e->results,
                            "Line %d has an atomic operation on global memory for each element: "
                            "add up in shared memory or registers first, so that a block needs "
                            "one for each place.",
                            global->line);
    if (shared)
        return arena_printf(e->results,
                            "Line %d has an atomic operation on shared memory for each element: "
                            "let each thread add up several elements in registers first, or give "
                            "each warp places of its own.",
                            shared->line);
    return NULL;
}

/* Returns advice for a launch that is too small to matter, with the fault that would count in a
 * larger one; NULL if the launch is not small. */
static const char *about_launch(struct explain *e)
{
    if (!is_brief(&e->out) || e->out.roofs[0].share >= half)
        return NULL;
    const char *fault = about_conflicts(e, true);
    fault = fault ? fault : about_coalescing(e);
    return arena_printf(
        e->results, "Give a launch more to do, or do this in the kernel before or after it.%s%s",
        fault ? " In a larger launch this would count: " : "", fault ? fault : "");
}

static const char *about_grid(struct explain *e)
{
    const tw_explanation *o = &e->out;
    int all = e->gpu->multiprocessors, places = o->resident_blocks * all;
    int idle = idle_multiprocessors(e);
    if (idle > all / 4)
        return arena_printf(e->results,
                            "The grid is %lld block%s for %d multiprocessors: smaller tiles, or K "
                            "split among blocks, would use the other %d: at most %.3g times as "
                            "fast.",
                            (long long)o->blocks, o->blocks == 1 ? "" : "s", all, idle,
                            explain_gain(o, (double)all / (double)o->blocks));
    if (o->wave_efficiency < 0.75 && o->waves > 1 && e->waves_gain > 1.05)
        return arena_printf(e->results,
                            "The last of %d waves of %d blocks has %lld: with tiles of another "
                            "size, or K split among blocks, fewer places would be empty (at most "
                            "%.3g times as fast).",
                            (int)o->waves + 1, places, (long long)(o->blocks % places),
                            explain_gain(o, e->waves_gain));
    return NULL;
}

/* For a product on the units for f32: explains its reads through L1. */
static const char *about_l1(struct explain *e, const struct explain_counts *c)
{
    const tw_explanation *o = &e->out;
    if (!is_bound_by(o, "shared"))
        return NULL;
    if (c->wavefronts > waited_for(o) && waited_for(o) > 0.2 * c->wavefronts)
        return "Most of L1's work is to fill the tiles: arrays whose rows are a multiple of 16 "
               "bytes let a thread move 16 bytes at a time, or copy them asynchronously.";
    if (c->wavefronts > waited_for(o))
        return "Most of L1's work is loads of elements that other threads of the block load, too: "
               "copy tiles "
               "to shared memory, and let each thread keep several results, so that it reads each "
               "factor once for all of them.";
    if (share_of(o, "fma") > 0.1 && c->launch.fma > 1.2 * waited_for(o))
        return "Each element read of shared memory serves several results already; a larger tile "
               "of results in each thread's registers (8 × 8) lets it serve more.";
    if (share_of(o, "fma") > 0.1 && share_of(o, "shared") > 1.5 * share_of(o, "fma"))
        return "Each multiply-add waits for its reads of shared memory: let a thread keep a "
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
        return "It moves little more than each array once. It gets faster only by doing more with "
               "the data that it reads: join it with the kernel before or after it.";
    return NULL;
}

/* Returns true if a kernel multiplies tiles that it keeps in shared memory. */
static bool is_product(const tw_explanation *o, const struct explain_counts *c)
{
    bool tensor = false;
    for (int i = 0; i < MATRIX_COUNT; i++)
        tensor = tensor || c->launch.tensor[i] > 0;
    return o->shared_bytes > 0 && (tensor || c->launch.fma > 0.2 * c->launch.instructions.middle);
}

/* Advises copies in the background, in the words of the kernel's language. */
static const char *about_turns(const struct explain *e, const struct explain_counts *c)
{
    const tw_explanation *o = &e->out;
    bool product = is_product(o, c);
    if (!product && is_bound_by(o, "issue") && o->roofs[0].share >= half)
        return NULL; /* instructions take the time, and copies are instructions, too */
    if (!product && !e->launch)
        return "Loads and arithmetic take turns: let a thread load several elements (unroll the "
               "loop, or read a float4) before it uses the first, so that more loads are under "
               "way.";
    return e->launch ? "Loads and arithmetic take turns: copy the next tiles asynchronously "
                       "(async, or pipeline(3)) while the present ones are multiplied."
                     : "Loads and arithmetic take turns: copy the next tiles asynchronously "
                       "(__pipeline_memcpy_async, cp.async in PTX) while the present ones are "
                       "multiplied.";
}

static const char *about_latency(const struct explain *e, const struct explain_counts *c)
{
    const tw_explanation *o = &e->out;
    bool copies = c->past > 0, latency = strcmp(o->bound, "latency") == 0;
    if (!mostly_waits(o))
        return NULL;
    if (!copies && c->missed > 0)
        return about_turns(e, c);
    if (copies && (latency || is_bound_by(o, "tensor")) && !e->launch)
        return "It waits for its copies: more buffers in shared memory (three or four, with "
               "__pipeline_wait_prior(2) or (3)) keep more of them under way; with larger tiles "
               "along K it waits less often.";
    if (copies && (latency || is_bound_by(o, "tensor")))
        return "It waits for its copies: more stages (pipeline(3) or (4)) keep more of them under "
               "way, with a greater depth of a stage (BK) it waits less often.";
    return NULL;
}

static const char *about_traffic(struct explain *e)
{
    const tw_explanation *o = &e->out;
    if (is_bound_by(o, "L2 requests") && !e->launch)
        return "The rows of its tiles are short, and each is a request to L2 of its own: tiles "
               "with rows of 128 bytes ask for the same in fewer requests.";
    if (is_bound_by(o, "L2 requests"))
        return "The rows of its tiles are short, and each is a request to L2 of its own: tiles "
               "with rows of 128 bytes (a greater BK) ask for the same in fewer requests.";
    if (is_bound_by(o, "HBM") || is_bound_by(o, "L2"))
        return "Larger tiles: each element that a block reads serves more results.";
    return NULL;
}

/* Returns true if copies take the most time of all parts. */
static bool is_bound_by_copies(const tw_explanation *o)
{
    return is_bound_by(o, "HBM") || is_bound_by(o, "L2") || is_bound_by(o, "L2 requests");
}

/* For warpgroups that multiply tiles that other warps copy: explains what the tensor units wait for. */
static const char *about_roles(const struct explain *e)
{
    enum { KIB = 1024 };
    const tw_explanation *o = &e->out;
    int64_t most = target_of_gpu(e->gpu)->shared_bytes, left = most - o->shared_bytes;
    const tw_roof *special = roof_of(o, "special");
    if (e->warpgroups == 0 || !mostly_waits(o))
        return NULL;
    if (is_bound_by_copies(o) && left > o->shared_bytes / 4)
        return arena_printf(
            e->results,
            "The tensor units wait for copies: larger tiles serve more results, and "
            "%lld of %lld KiB of shared memory are free for them.",
            (long long)left / KIB, (long long)most / KIB);
    if (is_bound_by_copies(o))
        return arena_printf(e->results,
                            "The tensor units wait for copies, and only %lld of %lld KiB of shared "
                            "memory are free for larger tiles: a result that is stored from the "
                            "memory of a stage, or fewer stages, make room.",
                            (long long)left / KIB, (long long)most / KIB);
    return arena_printf(e->results,
                        "The tensor units wait while warpgroups work between their products%s: "
                        "begin the next product before that work, or let another warpgroup "
                        "multiply meanwhile.",
                        special && special->share > 0.1
                            ? arena_printf(e->results, " (special functions alone take %s)",
                                           time_text(e->results, special->seconds.middle))
                            : "");
}

static const char *about_occupancy(struct explain *e)
{
    const tw_explanation *o = &e->out;
    if (!mostly_waits(o) || o->occupancy >= 0.25 || warps_there(e) < o->resident_warps)
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
        return "More than half of the instructions are not arithmetic: unroll, read several "
               "elements at a time, give each thread more results.";
    const char *whole_rate = target_gpu_capability_of(e->gpu)->whole_rate;
    if (is_bound_by(o, "tensor") && c->launch.asynchronous_tensor == 0 && whole_rate)
        return arena_printf(
            e->results, "It is near what mma reaches: only %s has all of this GPU's matrix units.",
            whole_rate);
    return "It is near what this GPU can do with this program; less work, or narrower types, "
           "would be the next step.";
}

static const char *advice(struct explain *e, const struct explain_counts *c)
{
    const char *said = about_launch(e);
    said = said ? said : about_conflicts(e, false);
    said = said ? said : about_atomics(e);
    said = said ? said : about_coalescing(e);
    said = said ? said : about_grid(e);
    said = said ? said : about_l1(e, c);
    said = said ? said : about_memory(e);
    said = said ? said : about_roles(e);
    said = said ? said : about_latency(e, c);
    said = said ? said : about_traffic(e);
    said = said ? said : about_occupancy(e);
    said = said ? said : about_units(e, c);
    return arena_printf(e->results, "%s%s", said, hidden_conflicts(e));
}

/* --- notes --- */

static void note(struct explain *e, const char **notes, const char *text)
{
    notes[e->out.note_count++] = text;
}

/* Notes that threads wait for each other at the place of an atomic operation. */
static void note_atomics(struct explain *e, const char **notes)
{
    const tw_explanation *o = &e->out;
    bool any = false;
    for (int i = 0; i < o->access_count; i++)
        any = any || o->atomics[i];
    if (any)
        note(e, notes,
             e->launch
                 ? "Atomic operations on one address follow one after the other. The model does "
                   "not count that wait, so the prediction is a lower bound. If values choose "
                   "the addresses: arrays that are not given are zeros, which all choose one."
                 : "Atomic operations on one address follow one after the other. The model does "
                   "not count that wait, so the prediction is a lower bound.");
}

static void add_notes(struct explain *e, const struct explain_counts *c)
{
    const tw_explanation *o = &e->out;
    const char **notes = arena_array(e->results, const char *, 10);
    if (!o->registers_known)
        note(e, notes,
             arena_printf(e->results,
                          "Registers are estimated (%d a thread); ptxas may need other "
                          "ones, and so other blocks fit.",
                          o->registers));
    if (!e->gpu->readings)
        note(e, notes,
             arena_printf(e->results,
                          "No time was measured on the %s, only on H200 and H100 SXM: the interval "
                          "is wider than theirs, from 40%% below to 90%% above.",
                          e->gpu->name));
    int most = e->most_registers;
    bool by_launch = most < o->gpu.registers_of_thread;
    if (!o->registers_known &&
        (by_launch ? e->registers_wanted > 1.1 * most : e->registers_wanted > most))
        note(e, notes,
             arena_printf(e->results,
                          "About %d registers a thread would be needed, and %s: the rest would be "
                          "kept in memory, whose time is not counted.",
                          e->registers_wanted,
                          by_launch
                              ? arena_printf(e->results,
                                             "the number of blocks or threads that the kernel "
                                             "asks for (resident, launch bounds) leaves %d",
                                             most)
                              : arena_printf(e->results, "a thread has %d", most)));
    note_atomics(e, notes);
    if (e->blocks_wait)
        note(e, notes,
             "Blocks wait for each other: the model ran each by itself, without waiting, so the "
             "waiting time is not counted.");
    if (c->longest > 1.1)
        note(e, notes,
             arena_printf(e->results,
                          "Blocks do different work, the longest %.3g times the mean: %lld were "
                          "run, and the others count as those most like them.",
                          c->longest, (long long)o->sampled_blocks));
    if (o->flops_executed < half * o->flops)
        note(e, notes,
             "Its work depends on the values of its arrays: those that were not given are "
             "zeros, and with these it executes less than half of its useful operations.");
    if (o->traffic[TW_AT_HBM].moved.high > 1.2 * o->traffic[TW_AT_HBM].moved.low)
        note(e, notes,
             "The contents of L2 depend on the order in which blocks progress, which is not known: "
             "the memory's bytes are a range.");
    if (c->missed + c->past > 0)
        note(e, notes,
             "If two multiprocessors of a pair ask for the same data at the same time, one answer "
             "may serve both: L2's bytes may be as few as half.");
    if (c->launch.instructions.high > 1.1 * c->launch.instructions.low)
        note(e, notes, "Instructions are those of the PTX; ptxas leaves some out and adds others.");
    e->out.notes = notes;
}

void explain_advice(struct explain *e, const struct explain_counts *c)
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
