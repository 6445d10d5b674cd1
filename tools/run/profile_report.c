/* Prints a profile: totals, lines, kinds of steps, products, and reasons for slow ways. */
#include "cli/figures.h"
#include "cli/npy.h"
#include "run/profiled.h"
#include "cli/table.h"

#include <stdlib.h>

int profile_read(struct profile *p, const struct options *given, const struct command *self)
{
    p->asked = p->asked || options_has(given, "profile");
    p->svg = options_value(given, "svg");
    if (p->svg && !p->asked)
        return usage_error(given->complaints, self, "--svg draws a profile: give --profile too");
    char why[256];
    const char *cannot = p->svg ? npy_may_write(p->svg, why) : NULL;
    if (cannot) {
        complain(given->complaints, "--svg %s: %s", p->svg, cannot);
        return STATUS_USAGE;
    }
    return STATUS_OK;
}

/* Returns work for each second, "" if there is none. */
static struct figure rate(double work, double seconds, const char *unit)
{
    return work > 0 && seconds > 0 ? figure_unit(work / seconds, unit) : (struct figure){""};
}

static void report_totals(const tw_profile *p, double plain)
{
    print_text(stdout, "profile of %s: %s", p->kernel, figure_seconds(p->seconds).text);
    if (plain > 0)
        print_text(stdout, " (%s without a profile)", figure_seconds(plain).text);
    print_text(stdout, ", %lld block%s, %d thread%s, %s\n", (long long)p->blocks,
               p->blocks == 1 ? "" : "s", p->thread_count, p->thread_count == 1 ? "" : "s",
               p->instructions);
    double seconds = plain > 0 ? plain : p->seconds;
    print_text(stdout, "  work: %s", figure_unit(p->flops, "FLOP").text);
    if (p->flops > 0)
        print_text(stdout, " (%s)", rate(p->flops, seconds, "FLOP/s").text);
    print_text(stdout, "; blocks read %s", figure_unit(p->read, "B").text);
    print_text(stdout, " and write %s", figure_unit(p->written, "B").text);
    if (p->read + p->written > 0)
        print_text(stdout, " (%s)", rate(p->read + p->written, seconds, "B/s").text);
    print_text(stdout, "; the arrays have %s\n", figure_unit(p->array_bytes, "B").text);
}

static void report_threads(const tw_profile *p)
{
    fputs("  threads:", stdout);
    for (int i = 0; i < p->thread_count; i++)
        print_text(stdout, "%s %s busy, %lld block%s", i ? ";" : "",
                   figure_percent(p->seconds > 0 ? p->threads[i].busy / p->seconds : 0).text,
                   (long long)p->threads[i].blocks, p->threads[i].blocks == 1 ? "" : "s");
    fputs("\n", stdout);
}

static void add_part(struct cells *c, const tw_profile_part *part)
{
    c->count = 0;
    cells_add(c, "share", 7, false, figure_percent(part->share).text);
    cells_add(c, "time", 8, false, figure_seconds(part->seconds).text);
    cells_add(c, "FLOP/s", 12, false, rate(part->flops, part->seconds, "FLOP/s").text);
    cells_add(c, "bytes/s", 10, false, rate(part->read + part->written, part->seconds, "B/s").text);
}

static char *name_of(const tw_profile_part *part)
{
    if (part->kind)
        return need_text("%s: %s", part->kind, part->title);
    return part->line ? need_text("%d: %s", part->line, part->text ? part->text : "")
                      : need_text("(no line)");
}

static void report_parts(const char *title, const tw_profile_part *parts, int count)
{
    static const double worth_a_row = 5e-4; /* of all time; and those with bytes */
    struct cells c = {0};
    for (int i = 0; i < count; i++) {
        if (parts[i].share < worth_a_row && parts[i].read + parts[i].written <= 0)
            continue;
        bool first = c.count == 0;
        char *name = name_of(&parts[i]), *shown = need_shown(name);
        add_part(&c, &parts[i]);
        cells_add(&c, title, 4, true, shown);
        if (first) {
            fputs("\n", stdout);
            cells_header(stdout, &c);
        }
        cells_row(stdout, &c);
        free(shown);
        free(name);
    }
}

static void report_operand(const char *side, const int64_t *by_path)
{
    static const char *const words[TW_OPERAND_PATHS] = {
        [TW_OPERAND_PLAIN] = "as it lies in the block, not packed",
        [TW_OPERAND_SHARED] = "packed once for all blocks",
        [TW_OPERAND_IN_PLACE] = "read in the array",
        [TW_OPERAND_OWN] = "packed by each block for itself"};
    bool any = false;
    print_text(stdout, "    %s operand: ", side);
    for (int path = 0; path < TW_OPERAND_PATHS; path++) {
        if (by_path[path] == 0)
            continue;
        print_text(stdout, "%s%s (%lld)", any ? "; " : "", words[path], (long long)by_path[path]);
        any = true;
    }
    fputs("\n", stdout);
}

static void report_products(const tw_profile *p)
{
    for (int i = 0; i < p->product_count; i++) {
        const tw_profile_product *x = &p->products[i];
        print_text(stdout, "%s  line %d: %lld products, %s", i ? "" : "\nproducts of tiles\n",
                   x->line, (long long)x->runs, figure_seconds(x->seconds).text);
        if (x->flops > 0)
            print_text(stdout, " at %s a thread", rate(x->flops, x->seconds, "FLOP/s").text);
        print_text(stdout, "; operands %s\n", figure_seconds(x->packing_seconds).text);
        report_operand("left", x->left);
        report_operand("right", x->right);
    }
}

/* Prints the reasons why the engine does not take its fastest ways, each with the way out. */
static void slow_paths_report(const tw_slow_path *slow, int count)
{
    for (int i = 0; i < count; i++) {
        char *label = need_text("  line %d: ", slow[i].line);
        char *text =
            need_text("%s (%s). Way out: %s.", slow[i].reason, slow[i].code, slow[i].way_out);
        char *shown = need_shown(text);
        table_paragraph(stdout, label, 4, shown);
        free(shown);
        free(text);
        free(label);
    }
}

void profile_report(const struct profile *p)
{
    const tw_profile *r = &p->result;
    if (!r->kernel)
        return;
    report_totals(r, p->plain);
    report_threads(r);
    report_parts("line", r->lines, r->line_count);
    report_parts("kind of step", r->kinds, r->kind_count);
    report_products(r);
    if (r->reason_count)
        fputs("\nnot the engine's fastest way\n", stdout);
    slow_paths_report(r->reasons, r->reason_count);
    fputs("\n", stdout);
    profile_report_roofs(p);
}
