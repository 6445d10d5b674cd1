/* Prints the page about one kernel: first the bottleneck and the change that would help, then
 * the details they follow from. */
#include "explain/explained.h"
#include "cli/figures.h"
#include "cli/table.h"
#include "cli/page_link.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what it is --- */

/* Returns "32 × 16"; leaves out trailing axes of length 1. */
static struct figure axes_text(int64_t x, int64_t y, int64_t z)
{
    struct figure f;
    if (z > 1)
        snprintf(f.text, sizeof f.text, "%lld × %lld × %lld", (long long)x, (long long)y,
                 (long long)z);
    else if (y > 1)
        snprintf(f.text, sizeof f.text, "%lld × %lld", (long long)x, (long long)y);
    else
        snprintf(f.text, sizeof f.text, "%lld", (long long)x);
    return f;
}

static void head(const struct explain *x, const struct explain_row *r)
{
    const tw_gpu *g = &x->gpu;
    print_text(stdout, "%s, %s\n", r->kernel ? tw_kernel_name(r->kernel) : r->name,
               r->program.path);
    if (r->choice)
        print_text(stdout, "  %s%s%s\n", r->choice, r->arrays ? "; " : "",
                   r->arrays ? r->arrays : "");
    char *chosen = r->chosen.variant ? chosen_text(&r->chosen) : NULL;
    if (chosen)
        print_text(stdout, "  chosen: %s\n", chosen);
    free(chosen);
    if (r->assumed)
        print_text(stdout, "  (%s: not set, so assumed)\n", r->assumed);
    printf("  %s: %d multiprocessors at %s, %s, %s\n", g->name, g->multiprocessors,
           figure_unit(g->clock, "Hz").text, figure_unit(g->memory_bandwidth, "B/s").text,
           g->target);
}

static void work(const tw_explanation *e)
{
    printf("\nWork\n");
    if (e->flops > 0)
        printf("  %s", figure_unit(e->flops, "FLOP").text);
    if (e->flops > 0 && e->flops_executed > 1.005 * e->flops)
        printf(" that count, %s executed", figure_unit(e->flops_executed, "FLOP").text);
    if (e->blocks > 0)
        printf("%s%s block%s (%lld) of %s threads (%d)\n", e->flops > 0 ? "; " : "  ",
               axes_text(e->grid[0], e->grid[1], e->grid[2]).text, e->blocks == 1 ? "" : "s",
               (long long)e->blocks, axes_text(e->block[0], e->block[1], e->block[2]).text,
               e->threads);
    else if (e->threads > 0)
        printf("%sblocks of %s threads (%d)\n", e->flops > 0 ? "; " : "  ",
               axes_text(e->block[0], e->block[1], e->block[2]).text, e->threads);
}

/* --- bytes --- */

/* Returns "0.25", or "-" if no bytes are moved. */
static struct figure intensity_text(double v)
{
    if (v > 0)
        return figure_plain(v);
    return (struct figure){"-"};
}

static struct figure bytes_text(double v)
{
    if (v > 0)
        return figure_unit(v, "B");
    return (struct figure){"-"};
}

/* Prints, for each way of counting bytes, the speed that HBM would allow if it moved that number
 * of bytes. A roofline of memory alone gives these speeds. */
static void counted(const struct explain *x, const struct explain_row *r)
{
    const tw_explanation *e = &r->e;
    const tw_traffic *t = &e->traffic[TW_AT_L2], *m = &e->traffic[TW_AT_HBM];
    char missed[64];
    snprintf(missed, sizeof missed, "from %s (L2 misses)", explain_level_name(&x->gpu, m->name));
    const struct {
        const char *way;
        double loads, stores, all;
    } ways[] = {
        {"by thread: each thread's own elements", t->read_by_thread, t->written_by_thread, 0},
        {"by warp, an element at a time", t->read_by_element, t->written_by_element, 0},
        {"by warp, each vector once", t->read_by_request, t->written_by_request, 0},
        {"from L2 (L1 misses)", t->read.middle, t->written.middle, 0},
        {missed, m->read.middle, m->written.middle, 0},
        {"compulsory: each array once", 0, 0, m->compulsory},
    };
    double bandwidth = x->gpu.memory_bandwidth, peak = explain_peak(r);
    printf("\nGlobal memory, counted in six ways (a warp asks for whole sectors of 32 bytes)\n");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct cells c = {0};
        double all = ways[i].all > 0 ? ways[i].all : ways[i].loads + ways[i].stores;
        double reached = all > 0 ? e->flops / all * bandwidth : 0;
        bool bound = peak > 0 && reached < peak;
        char roof[280] = "-";
        if (reached > 0 && bound)
            snprintf(roof, sizeof roof, "%s, %s of peak", figure_unit(reached, "FLOP/s").text,
                     figure_percent(reached / peak).text);
        else if (reached > 0 && peak > 0)
            snprintf(roof, sizeof roof, "peak");
        cells_add(&c, "", 40, true, ways[i].way);
        cells_add(&c, "loads", 8, false, bytes_text(ways[i].loads).text);
        cells_add(&c, "stores", 8, false, bytes_text(ways[i].stores).text);
        cells_add(&c, "both", 8, false, bytes_text(all).text);
        cells_add(&c, "FLOP/B", 7, false, intensity_text(all > 0 ? e->flops / all : 0).text);
        cells_add(&c, "if memory moved it", 28, true, roof);
        if (i == 0)
            cells_header(stdout, &c);
        cells_row(stdout, &c);
    }
}

static struct figure rate_text(double rate)
{
    if (rate < 0.00005)
        return (struct figure){"none"};
    return figure_percent(rate);
}

static void levels(const tw_explanation *e)
{
    printf("\nBytes at each level\n");
    for (int i = 0; i < TW_TRAFFIC_COUNT; i++) {
        const tw_traffic *t = &e->traffic[i];
        struct cells c = {0};
        bool asked = i != TW_AT_HBM; /* only L2 accesses memory */
        cells_add(&c, "", 10, true, explain_level_name(&e->gpu, t->name));
        cells_add(&c, "by thread", 9, false, bytes_text(asked ? t->by_thread : 0).text);
        cells_add(&c, "FLOP/B", 7, false, intensity_text(asked ? t->intensity_by_thread : 0).text);
        cells_add(&c, "by request", 10, false, bytes_text(asked ? t->by_request : 0).text);
        cells_add(&c, "FLOP/B", 7, false, intensity_text(asked ? t->intensity_by_request : 0).text);
        cells_add(&c, "moved", 26, false,
                  t->moved.middle > 0 ? figure_range(t->moved, "B").text : "-");
        cells_add(&c, "FLOP/B", 7, false, intensity_text(t->intensity).text);
        if (i == 0)
            cells_header(stdout, &c);
        cells_row(stdout, &c);
    }
    if (e->l1_hit_rate > 0 || e->l2_hit_rate > 0)
        printf("  L1 has %s of the sectors that loads ask for, L2 %s of what is left\n",
               rate_text(e->l1_hit_rate).text, rate_text(e->l2_hit_rate).text);
}

/* --- roofs --- */

static void roofs(const tw_explanation *e)
{
    bool binds = false; /* if none: every part waits */
    printf("\nRoofs: how long each part takes at least\n");
    for (int i = 0; i < e->roof_count; i++) {
        const tw_roof *r = &e->roofs[i];
        struct cells c = {0};
        char rate[140];
        bool this_one = strcmp(r->name, e->bound) == 0;
        binds = binds || this_one;
        snprintf(rate, sizeof rate, "%s/s", figure_unit(r->rate, "").text);
        cells_add(&c, "", 1, true, this_one ? "*" : " ");
        cells_add(&c, "part", 11, true, explain_roof_name(e, r->name));
        cells_add(&c, "work", 8, false, figure_unit(r->work.middle, "").text);
        cells_add(&c, "of", 17, true, r->unit);
        cells_add(&c, "rate", 8, false, rate);
        cells_add(&c, "time", 24, false, figure_range_seconds(r->seconds).text);
        cells_add(&c, "allows", 13, false,
                  r->flops > 0 ? figure_unit(r->flops, "FLOP/s").text : "-");
        cells_add(&c, "works", 6, false, figure_percent(r->share).text);
        if (i == 0)
            cells_header(stdout, &c);
        cells_row(stdout, &c);
    }
    printf("  %sbinds: %s\n", binds ? "* " : "", e->bound_title);
}

/* --- accesses by line --- */

/* Returns "32-way conflict (8-way as vectors)". For vectorised accesses with a conflict, the
 * conflict of the program's own accesses comes first. If an assembler may merge accesses, the
 * conflict of the PTX as written follows: "no conflict if merged (2-way as written)". */
static struct figure conflict_text(const tw_explained_access *a, double written)
{
    struct figure f;
    if (fabs(written - a->ways) > 0.005 * a->ways) {
        char merged[64] = "no";
        if (a->ways >= 1.005)
            snprintf(merged, sizeof merged, "%.32s-way", figure_unit(a->ways, "").text);
        snprintf(f.text, sizeof f.text, "%.40s conflict if merged (%.32s-way as written)", merged,
                 figure_unit(written, "").text);
        return f;
    }
    if (a->ways < 1.005)
        return (struct figure){"no conflict"};
    double ways = a->ways_by_element > a->ways ? a->ways_by_element : a->ways;
    snprintf(f.text, sizeof f.text, "%.32s-way conflict", figure_unit(ways, "").text);
    size_t length = strlen(f.text);
    if (ways > 1.005 * a->ways)
        snprintf(f.text + length, sizeof f.text - length, " (%.32s-way as vectors)",
                 figure_unit(a->ways, "").text);
    return f;
}

static double units_each(const tw_explained_access *a)
{
    return a->requests > 0 ? a->units / a->requests : 0;
}

/* "16 sectors a warp" */
static struct figure units_text(const tw_explained_access *a, const char *unit, const char *of)
{
    struct figure f;
    double each = units_each(a);
    snprintf(f.text, sizeof f.text, "%.32s %s%s a %s", figure_unit(each, "").text, unit,
             each == 1 ? "" : "s", of);
    return f;
}

/* "16 wavefronts a copy, 4 would do" */
static struct figure copy_text(const tw_explained_access *a)
{
    struct figure f = units_text(a, "wavefront", "copy");
    size_t length = strlen(f.text);
    if (a->ways >= 1.005)
        snprintf(f.text + length, sizeof f.text - length, ", %.32s would do",
                 figure_unit(units_each(a) / a->ways, "").text);
    return f;
}

static struct figure cost_text(const tw_explanation *e, const tw_explained_access *a)
{
    return a->copy     ? copy_text(a)
           : a->shared ? conflict_text(a, e->ways_as_written[a - e->accesses])
                       : units_text(a, "sector", "warp");
}

/* Returns whether the same line has another access of the same kind and memory, in a different
 * column. */
static bool has_twin(const tw_explanation *e, const tw_explained_access *a)
{
    const char *atomic = e->atomics[a - e->accesses];
    for (int i = 0; i < e->access_count; i++) {
        const tw_explained_access *b = &e->accesses[i];
        if (b->line == a->line && b->column != a->column && b->shared == a->shared &&
            b->store == a->store && !e->atomics[i] == !atomic)
            return true;
    }
    return false;
}

/* Returns whether the text of any access is known, as it is for a `.tile` file. */
static bool any_text(const struct explain_row *r)
{
    bool any = false;
    for (int i = 0; i < r->e.access_count && !any; i++) {
        char *line = explain_source_line(r, r->e.accesses[i].line);
        any = line && *line;
        free(line);
    }
    return any;
}

static void access_row(const struct explain_row *r, const tw_explained_access *a, int width,
                       bool texts, bool first)
{
    struct cells c = {0};
    char number[16], kind[64], text[CELL_BYTES];
    const char *atomic = r->e.atomics[a - r->e.accesses];
    char *line = explain_source_line(r, a->line);
    snprintf(number, sizeof number, "%d", a->line);
    snprintf(kind, sizeof kind, "%s %s%s", a->shared ? "shared" : "global",
             atomic     ? "atomic "
             : a->store ? "store"
                        : "load",
             atomic ? atomic : "");
    char *which = has_twin(&r->e, a) ? explain_source_access(r, a->line, a->column) : NULL;
    snprintf(text, sizeof text, "%s%s%s", which ? which : "", which ? ": " : "", line ? line : "");
    cells_add(&c, "line", 4, false, number);
    cells_add(&c, "access", 12, true, kind);
    cells_add(&c, "bytes", 5, false, figure_unit(a->bytes, "").text);
    cells_add(&c, "requests", 8, false, figure_unit(a->requests, "").text);
    cells_add(&c, "costs", width, true, cost_text(&r->e, a).text);
    if (texts)
        cells_add(&c, "text", 4, true, text);
    if (first)
        cells_header(stdout, &c);
    cells_row(stdout, &c);
    free(which);
    free(line);
}

/* Prints the wavefronts that bank conflicts take, as the counters define them: those above the
 * ideal number, of copies past L1, too. */
static void conflicts(const tw_explanation *e)
{
    double lost = e->shared_wavefronts - e->shared_wavefronts_ideal;
    double of_copies = e->copy_wavefronts - e->copy_wavefronts_ideal;
    double written = e->wavefronts_as_written - e->wavefronts_ideal_as_written;
    printf("\nAccesses by line; ");
    if (lost > 0.5 && of_copies >= lost - 0.5)
        printf("bank conflicts: of copies past L1 alone, %s of %s wavefronts of shared memory; "
               "other accesses do not wait for them\n",
               figure_unit(lost, "").text, figure_unit(e->shared_wavefronts, "").text);
    else if (lost > 0.5)
        printf("bank conflicts: %s of %s wavefronts of shared memory are lost to them\n",
               figure_unit(lost, "").text, figure_unit(e->shared_wavefronts, "").text);
    else
        printf("bank conflicts: none\n");
    if (fabs(written - lost) > 0.5)
        printf("  (if an assembler merges neighbouring accesses. As written they lose %s of %s: "
               "`run --counters` has these)\n",
               figure_unit(written, "").text, figure_unit(e->wavefronts_as_written, "").text);
}

static void accesses(const struct explain_row *r)
{
    const tw_explanation *e = &r->e;
    if (!e->access_count)
        return;
    conflicts(e);
    int width = 0;
    bool texts = any_text(r);
    for (int i = 0; i < e->access_count; i++) {
        int length = (int)strlen(cost_text(e, &e->accesses[i]).text);
        width = length > width ? length : width;
    }
    for (int i = 0; i < e->access_count; i++)
        access_row(r, &e->accesses[i], width, texts, i == 0);
}

/* --- limits --- */

static void limits(const struct explain *x, const tw_explanation *e)
{
    const tw_gpu *g = &x->gpu;
    printf("\nLimits\n  a block: %d threads of %d, ", e->threads, g->threads_of_block);
    if (e->shared_bytes)
        printf("%s of %s of shared memory\n", figure_kib((double)e->shared_bytes).text,
               figure_kib(g->shared_of_block).text);
    else
        printf("no shared memory\n");
    if (!e->launches)
        return;
    printf("  a multiprocessor: %d block%s, %d warps of %d (occupancy %s), limited by %s\n",
           e->resident_blocks, e->resident_blocks == 1 ? "" : "s", e->resident_warps, g->warps,
           figure_percent(e->occupancy).text, e->limiter);
    printf("    blocks by registers %d (%d a thread, %s), by shared memory %d, by threads %d, at "
           "most %d\n",
           e->blocks_by_registers, e->registers, e->registers_known ? "as given" : "estimated",
           e->blocks_by_shared, e->blocks_by_threads, e->blocks_by_limit);
    printf("  the grid: %lld block%s, %s wave%s of %lld; %s of the places in them have a block\n",
           (long long)e->blocks, e->blocks == 1 ? "" : "s", figure_plain(e->waves).text,
           e->waves == 1 ? "" : "s", (long long)e->resident_blocks * g->multiprocessors,
           figure_percent(e->wave_efficiency).text);
    if (e->waves > 1)
        printf("  the last wave: %s of its places have a block\n",
               figure_percent(explain_last_wave(e)).text);
}

/* --- words --- */

static void predicted(const struct explain *x, const struct explain_row *r)
{
    const tw_explanation *e = &r->e;
    double peak = explain_peak(r);
    printf("Predicted  %s", figure_range_seconds(e->seconds).text);
    if (e->flops > 0)
        printf(": %s", figure_range(explain_speed(e), "FLOP/s").text);
    if (e->flops > 0 && peak > 0)
        printf(", %s of the peak, %s", figure_percent(e->flops_per_second / peak).text,
               figure_unit(peak, "FLOP/s").text);
    if (!(e->flops > 0) && explain_bandwidth(e) > 0)
        printf(": %s of what each array has once", figure_unit(explain_bandwidth(e), "B/s").text);
    putchar('\n');
    if (r->measured > 0) {
        printf("Measured   %s", figure_seconds(r->measured).text);
        if (e->flops > 0)
            printf(": %s", figure_unit(e->flops / r->measured, "FLOP/s").text);
        printf(", %s of what is predicted%s%s\n",
               figure_percent(r->measured / e->seconds.middle).text, x->measured_on ? ", on " : "",
               x->measured_on ? x->measured_on : "");
    } else if (x->not_measured) {
        printf("Not measured: %s\n", x->not_measured);
    }
}

enum { LABEL = 11 };

/* Writes the first lines: the bottleneck, and the change that would help. */
static void words(const tw_explanation *e)
{
    const char *verdict = e->launches ? e->verdict : e->why_not;
    putchar('\n');
    if (verdict)
        table_paragraph(stdout, "Verdict", LABEL, verdict);
    if (e->advice && *e->advice)
        table_paragraph(stdout, "To change", LABEL, e->advice);
}

static void notes(const tw_explanation *e)
{
    putchar('\n');
    for (int i = 0; i < e->note_count; i++)
        table_paragraph(stdout, i ? "" : "Notes", LABEL, e->notes[i]);
    if (!e->sampled_blocks)
        return;
    printf("Counted    by simulation of %lld of %lld blocks, %s warp instructions\n",
           (long long)e->sampled_blocks, (long long)e->blocks,
           figure_unit((double)e->sampled_instructions, "").text);
}

void explain_page(const struct explain *x, const struct explain_row *r)
{
    const tw_explanation *e = &r->e;
    head(x, r);
    words(e);
    if (e->roof_count)
        predicted(x, r);
    work(e);
    if (e->traffic[TW_AT_L2].by_thread > 0) {
        counted(x, r);
        levels(e);
    }
    if (e->roof_count)
        roofs(e);
    accesses(r);
    limits(x, e);
    notes(e);
    page_link_print(stdout, r->program.path, "card=roofline");
}
