/* Prints several kernels, a row each: the tables of lessons. Changes are relative to the first
 * row that can be launched. */
#include "explain/explained.h"
#include "cli/figures.h"
#include "cli/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct explain_row *first_of(const struct explain *x)
{
    for (int i = 0; i < x->row_count; i++)
        if (x->rows[i].e.launches)
            return &x->rows[i];
    return NULL;
}

static double loads_of(const struct explain_row *r)
{
    return r->e.traffic[TW_AT_L2].read_by_thread;
}

/* Returns a change in percent, or as a factor from a hundredfold on: "×120", "÷120". */
static struct figure change(double now, double then)
{
    struct figure f;
    if (!(now > 0 && then > 0))
        return (struct figure){""};
    if (now < 100 * then && then < 100 * now)
        return figure_change(now / then - 1);
    snprintf(f.text, sizeof f.text, "%s%.0f", now > then ? "×" : "÷",
             fmax(now, then) / fmin(now, then));
    return f;
}

static struct figure or_dash(bool known, struct figure f)
{
    return known ? f : (struct figure){"-"};
}

static int name_width(const struct explain *x)
{
    int width = 6;
    for (int i = 0; i < x->row_count; i++)
        if ((int)strlen(x->rows[i].name) > width)
            width = (int)strlen(x->rows[i].name);
    return width;
}

/* Returns whether the FLOPs are counted as executed; another configuration need not execute
 * them. */
static bool are_flops_executed(const tw_explanation *e)
{
    return e->flops == e->flops_executed;
}

/* Returns the change of FLOP/s, or of B/s if the kernels have no FLOPs. If the only FLOPs are
 * executed ones and the arrays have equal sizes, returns the change of launches a second. */
static struct figure speed_change(const tw_explanation *now, const tw_explanation *then)
{
    double bytes[] = {now->traffic[TW_AT_HBM].compulsory, then->traffic[TW_AT_HBM].compulsory};
    bool alike = fabs(bytes[0] - bytes[1]) <= 0.01 * fmax(bytes[0], bytes[1]);
    if (alike && now->launches && then->launches &&
        (are_flops_executed(now) || are_flops_executed(then)))
        return change(then->seconds.middle, now->seconds.middle);
    if (!now->launches || !then->launches || (now->flops > 0) != (then->flops > 0))
        return (struct figure){""};
    return now->flops > 0 ? change(now->flops_per_second, then->flops_per_second)
                          : change(explain_bandwidth(now), explain_bandwidth(then));
}

/* Returns the range of the row's speed in GFLOP/s, or in GB/s if it has no FLOPs: "30498 to
 * 54896", or "-". */
static struct figure speed_range(const struct explain_row *r)
{
    struct figure f = {"-"};
    tw_range speed = explain_speed(&r->e);
    double bytes = r->e.seconds.low > 0 ? r->e.traffic[TW_AT_HBM].compulsory : 0;
    if (r->e.launches && r->e.flops > 0)
        snprintf(f.text, sizeof f.text, "%.0f to %.0f", speed.low / 1e9, speed.high / 1e9);
    else if (r->e.launches && bytes > 0)
        snprintf(f.text, sizeof f.text, "%.0f to %.0f", bytes / r->e.seconds.high / 1e9,
                 bytes / r->e.seconds.low / 1e9);
    return f;
}

static int range_width(const struct explain *x)
{
    int width = 14;
    for (int i = 0; i < x->row_count; i++) {
        int own = (int)strlen(speed_range(&x->rows[i]).text);
        width = own > width ? own : width;
    }
    return width;
}

static bool some_without_flops(const struct explain *x)
{
    for (int i = 0; i < x->row_count; i++)
        if (x->rows[i].e.launches && !(x->rows[i].e.flops > 0))
            return true;
    return false;
}

static void add_speed(struct cells *c, const struct explain *x, const struct explain_row *r,
                      const struct explain_row *first)
{
    bool runs = r->e.launches && r->e.flops > 0;
    char measured[48];
    cells_add(c, "time", 7, false,
              or_dash(r->e.seconds.middle > 0, figure_seconds(r->e.seconds.middle)).text);
    if (some_without_flops(x)) {
        double rate = explain_bandwidth(&r->e);
        cells_add_number(c, "GB/s", 5, rate < 10e9, rate / 1e9);
    }
    cells_add_number(c, "GFLOP/s", 7, 0, runs ? explain_speed(&r->e).middle / 1e9 : 0);
    cells_add(c, "from … to", range_width(x), false, speed_range(r).text);
    cells_add(c, "speed", 8, false, first && r != first ? speed_change(&r->e, &first->e).text : "");
    if (!x->measures)
        return;
    snprintf(measured, sizeof measured, "-");
    if (r->measured > 0 && runs)
        snprintf(measured, sizeof measured, "%.0f", r->e.flops / r->measured / 1e9);
    else if (r->measured > 0)
        snprintf(measured, sizeof measured, "%.40s", figure_seconds(r->measured).text);
    cells_add(c, "measured", 8, false, measured);
}

static void add_traffic(struct cells *c, const struct explain_row *r,
                        const struct explain_row *first)
{
    const tw_explanation *e = &r->e;
    const tw_traffic *l2 = &e->traffic[TW_AT_L2], *hbm = &e->traffic[TW_AT_HBM];
    double loads = loads_of(r);
    bool counted = loads > 0;
    cells_add(c, "loads", 7, false, or_dash(counted, figure_unit(loads, "B")).text);
    cells_add(c, "traffic", 7, false,
              r != first && first ? change(loads, loads_of(first)).text : "");
    cells_add(
        c, "FLOP/B", 6, false,
        or_dash(counted && e->flops > 0, figure_plain(e->flops / (counted ? loads : 1))).text);
    cells_add(c, "L2", 7, false,
              or_dash(l2->moved.middle > 0, figure_unit(l2->moved.middle, "B")).text);
    cells_add(c, "memory", 7, false,
              or_dash(hbm->moved.middle > 0, figure_unit(hbm->moved.middle, "B")).text);
}

static void add_row(const struct explain *x, const struct explain_row *r,
                    const struct explain_row *first, int width, bool with_header)
{
    struct cells c = {0};
    char threads[16];
    bool known = r->e.threads > 0;
    snprintf(threads, sizeof threads, known ? "%d" : "-", r->e.threads);
    cells_add(&c, "kernel", width, true, r->name);
    add_speed(&c, x, r, first);
    add_traffic(&c, r, first);
    cells_add(&c, "occupancy", 9, false,
              or_dash(r->e.occupancy > 0, figure_percent(r->e.occupancy)).text);
    cells_add(&c, "last wave", 9, false,
              or_dash(r->e.resident_blocks > 0, figure_percent(explain_last_wave(&r->e))).text);
    cells_add(&c, "shared", 7, false,
              or_dash(known && r->e.shared_bytes > 0, figure_kib((double)r->e.shared_bytes)).text);
    cells_add(&c, "threads", 7, false, threads);
    cells_add(&c, "bound", 5, true,
              r->e.launches ? explain_roof_name(&r->e, r->e.bound) : r->e.why_not);
    if (with_header)
        cells_header(stdout, &c);
    cells_row(stdout, &c);
}

void explain_table(const struct explain *x)
{
    const struct explain_row *first = first_of(x);
    int width = name_width(x);
    char *sizes = explain_same_sizes(x);
    printf("%s%s%s", x->gpu.name, sizes ? ", " : "", sizes ? sizes : "");
    free(sizes);
    printf("; speeds as predicted, changes against %s\n\n", first ? first->name : "nothing");
    for (int i = 0; i < x->row_count; i++)
        add_row(x, &x->rows[i], first, width, i == 0);
    printf(
        "\nloads: bytes of global memory, each thread's own; L2, memory: bytes that the caches "
        "above them miss;\nFLOP/B: of the loads; occupancy: warps of a multiprocessor, of "
        "the most that it holds; last wave: its places that have a block;\nshared, threads: of a "
        "block. `tilewright explain` with one kernel says more of it.\n");
    if (some_without_flops(x))
        printf("GB/s: each array once, in the predicted time; from … to is in GB/s for kernels "
               "without FLOPs.\n");
    if (x->not_measured)
        printf("Not measured: %s\n", x->not_measured);
    putchar('\n');
    for (int i = 0; i < x->row_count; i++)
        if (x->rows[i].e.launches && x->rows[i].e.verdict)
            table_paragraph(stdout, x->rows[i].name, width + 2, x->rows[i].e.verdict);
        else if (x->rows[i].advice)
            table_paragraph(stdout, x->rows[i].name, width + 2, x->rows[i].advice);
}
