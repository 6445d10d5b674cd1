/* Compares a profile with the roofs of this machine: for each part of the machine, the least time
 * that it takes for the launch's work. */
#include "cli/figures.h"
#include "run/profiled.h"
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>

static const char *const level_names[] = {"L1", "L2", "L3", "memory"};
enum { L2 = 1, L3 = 2, MEMORY = 3, MOST_LIMITS = 8 };

/* A part of the machine, its work for the launch, and its rate. */
struct limit {
    char name[48];
    const char *unit;
    double work, rate;
};
struct limits {
    struct limit list[MOST_LIMITS];
    int count;
};

static void add_limit(struct limits *l, const char *name, const char *unit, double work,
                      double rate)
{
    if (work <= 0 || rate <= 0 || l->count == MOST_LIMITS)
        return;
    struct limit *to = &l->list[l->count++];
    snprintf(to->name, sizeof to->name, "%s", name);
    to->unit = unit;
    to->work = work;
    to->rate = rate;
}

/* Returns the FLOPs of products of a type; NULL: of all types. */
static double product_flops(const tw_profile *p, const char *type)
{
    double flops = 0;
    for (int i = 0; i < p->product_count; i++)
        if (!type || strcmp(p->products[i].type, type) == 0)
            flops += p->products[i].flops;
    return flops;
}

/* Returns the level that holds all arrays from one launch to the next. */
static int level_of_arrays(const tw_profile *p, const tw_cpu_roofs *r)
{
    if (r->bandwidth[L2] > 0 && p->array_bytes <= r->cache_bytes[L2] * r->threads / 2)
        return L2;
    if (r->bandwidth[L3] > 0 && p->array_bytes <= r->cache_bytes[L3] / 2)
        return L3;
    return MEMORY;
}

static double seconds_of(const struct limit *l)
{
    return l->work / l->rate;
}

static int slowest_first(const void *a, const void *b)
{
    double x = seconds_of(a), y = seconds_of(b);
    return x > y ? -1 : x < y;
}

/* The blocks find at best in L2 what they read, because packed operands and rows stay there. */
static struct limits limits_of(const struct profile *p)
{
    const tw_profile *r = &p->result;
    const tw_cpu_roofs *roofs = &p->roofs;
    struct limits l = {.count = 0};
    char name[48];
    double outside = r->flops - product_flops(r, NULL);
    add_limit(&l, "f64 multiply-adds", "FLOP", product_flops(r, "f64"), roofs->f64);
    add_limit(&l, "bf16 multiply-adds", "FLOP", product_flops(r, "bf16"), roofs->bf16);
    add_limit(&l, "i8 multiply-adds", "operations", product_flops(r, "i8"), roofs->i8);
    add_limit(&l, "f32 arithmetic", "FLOP", outside + product_flops(r, "f32"), roofs->f32);
    int level = level_of_arrays(r, roofs);
    snprintf(name, sizeof name, "arrays once, %s", level_names[level]);
    add_limit(&l, name, "B", r->array_bytes, roofs->bandwidth[level]);
    add_limit(&l, "bytes of blocks, L2", "B", r->read + r->written, roofs->bandwidth[L2]);
    qsort(l.list, (size_t)l.count, sizeof *l.list, slowest_first);
    return l;
}

static double measured(const struct profile *p)
{
    return p->plain > 0 ? p->plain : p->result.seconds;
}

/* Prints the command that measures the roofs of as many threads again. */
static void print_measuring(const tw_cpu_roofs *r)
{
    print_text(stdout, "`explain --device cpu --threads %d --measure` measures them again",
               r->threads);
}

static void report_rates(const tw_cpu_roofs *r)
{
    print_text(stdout, "roofs of %s, %d thread%s, %s (", r->processor, r->threads,
               r->threads == 1 ? "" : "s", r->instructions);
    if (r->kept) {
        fputs("kept; ", stdout);
        print_measuring(r);
    } else {
        fputs("measured now", stdout);
    }
    fputs(")\n", stdout);
    fputs("  multiply-adds:", stdout);
    print_text(stdout, " f32 %s", figure_unit(r->f32, "FLOP/s").text);
    print_text(stdout, ", f64 %s", figure_unit(r->f64, "FLOP/s").text);
    if (r->bf16 > 0)
        print_text(stdout, ", bf16 %s", figure_unit(r->bf16, "FLOP/s").text);
    if (r->i8 > 0)
        print_text(stdout, ", i8 %s", figure_unit(r->i8, "op/s").text);
    fputs("\n  reads:", stdout);
    bool any = false;
    for (int i = 0; i <= MEMORY; i++) {
        if (r->bandwidth[i] <= 0)
            continue;
        print_text(stdout, "%s %s %s", any ? "," : "", level_names[i],
                   figure_unit(r->bandwidth[i], "B/s").text);
        if (i < MEMORY && r->cache_bytes[i] > 0)
            print_text(stdout, " (%s)", figure_kib(r->cache_bytes[i]).text);
        any = true;
    }
    fputs("\n", stdout);
}

void profile_report_roofs(const struct profile *p)
{
    struct limits l = limits_of(p);
    struct cells c = {0};
    report_rates(&p->roofs);
    if (l.count == 0)
        return;
    fputs("\n", stdout);
    for (int i = 0; i < l.count; i++) {
        const struct limit *x = &l.list[i];
        char *rate = need_text("%s/s", x->unit);
        c.count = 0;
        cells_add(&c, "roof", 20, true, x->name);
        cells_add(&c, "work", 14, false, figure_unit(x->work, x->unit).text);
        cells_add(&c, "rate", 16, false, figure_unit(x->rate, rate).text);
        cells_add(&c, "least time", 10, false, figure_seconds(seconds_of(x)).text);
        cells_add(&c, "of measured", 11, false, figure_percent(seconds_of(x) / measured(p)).text);
        if (i == 0)
            cells_header(stdout, &c);
        cells_row(stdout, &c);
        free(rate);
    }
    print_text(stdout, "\nmeasured: %s", figure_seconds(measured(p)).text);
    print_text(stdout, "; no faster than %s", figure_seconds(seconds_of(&l.list[0])).text);
    print_text(stdout, ", by the roof `%s`: the launch reaches %s of it\n", l.list[0].name,
               figure_percent(seconds_of(&l.list[0]) / measured(p)).text);
    if (seconds_of(&l.list[0]) <= measured(p))
        return;
    fputs("a share above 100 %: the roofs are too low, because the machine did other work while "
          "they were measured; ",
          stdout);
    print_measuring(&p->roofs);
    fputs("\n", stdout);
}

void profile_json_roofs(const struct profile *p, struct json *j)
{
    const tw_cpu_roofs *r = &p->roofs;
    struct limits l = limits_of(p);
    json_open_object(j, "roofs");
    json_put_text(j, "processor", r->processor);
    json_put_integer(j, "threads", r->threads);
    json_put_bool(j, "kept", r->kept);
    json_put_real(j, "f32", r->f32);
    json_put_real(j, "f64", r->f64);
    json_put_real(j, "bf16", r->bf16);
    json_put_real(j, "i8", r->i8);
    json_open_numbers(j, "bandwidth");
    for (int i = 0; i <= MEMORY; i++)
        json_real(j, r->bandwidth[i]);
    json_close(j, ']');
    json_open_numbers(j, "cache_bytes");
    for (int i = 0; i < MEMORY; i++)
        json_real(j, r->cache_bytes[i]);
    json_close(j, ']');
    json_open_list(j, "limits");
    for (int i = 0; i < l.count; i++) {
        json_open(j, '{');
        json_put_text(j, "name", l.list[i].name);
        json_put_real(j, "work", l.list[i].work);
        json_put_real(j, "rate", l.list[i].rate);
        json_put_real(j, "least_seconds", seconds_of(&l.list[i]));
        json_put_real(j, "share", seconds_of(&l.list[i]) / measured(p));
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}
