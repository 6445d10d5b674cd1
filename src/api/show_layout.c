/* Writes the layouts of a lowered kernel as text: tiles and their holders, shared tiles and the
 * places of their elements, each access of memory and its cost. */
#include "api/objects.h"

#include "layout/layout_draw.h"
#include "layout/layout_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Eight columns of the widest cells fit a terminal of 100. */
enum { ROWS_SHOWN = 16, COLUMNS_SHOWN = 8 };

static void add_type(struct text *out, const struct lowered_placed *p)
{
    const struct layout *l = p->layout;
    if (p->sym) {
        text_printf(out, "%s %s", p->shared ? "shared" : "reg",
                    dtype_table[p->sym->type.dtype].name);
        text_printf(out, " %s", p->sym->name);
        for (int i = 0; i < p->sym->type.rank; i++)
            text_printf(out, "[%" PRId64 "]", p->sym->type.extent[i]);
        return;
    }
    text_add(out, p->what ? p->what : "scratch");
    const struct layout_dim *dims = p->shared ? l->ins : l->outs;
    int count = p->shared ? l->in_count : l->out_count;
    text_add(out, " ");
    for (int i = 0; i < count; i++)
        text_printf(out, "[%d]", (int)dims[i].extent);
}

static void add_placed(struct text *out, const struct lowered_placed *p)
{
    struct draw_limits limits = {.rows = ROWS_SHOWN, .columns = COLUMNS_SHOWN};
    add_type(out, p);
    if (p->form)
        text_printf(out, ", %s", p->form);
    text_add(out, "\n  ");
    layout_print(out, p->layout);
    text_add(out, "\n");
    if (p->shared)
        layout_draw_places(out, p->layout, p->bits, limits);
    else
        layout_draw(out, p->layout, limits);
    text_add(out, "\n");
}

/* Explains the signs of the tables that follow. */
static void add_signs(struct text *out, const struct lowered *lowered)
{
    enum { EXAMPLE = 72 };
    int bits = 0;
    bool registers = false, mixed = false;
    for (size_t i = 0; i < lowered->placed.count; i++) {
        const struct lowered_placed *p = &lowered->placed.data[i];
        registers = registers || !p->shared;
        mixed = mixed || (p->shared && bits && p->bits != bits);
        bits = p->shared && !bits ? p->bits : bits;
    }
    int bank = EXAMPLE * bits / 32 % 32;
    if (bits)
        text_printf(out,
                    "in shared tiles    %d b%02d: the element is %d elements after the tile's "
                    "start, in bank %d of 32",
                    EXAMPLE, bank, EXAMPLE, bank);
    if (mixed)
        text_printf(out, " (elements of %d bits)", bits);
    if (bits)
        text_add(out, "\n");
    if (registers)
        text_add(out,
                 "in register tiles  T5:R2: thread 5 of the warp holds the element as the third "
                 "of its elements\n");
    if (bits || registers)
        text_add(out, "layout(…)          the same as a formula: docs/lowering.md reads one\n\n");
}

static void add_access(struct text *out, const struct lowered_access *a)
{
    int line, column;
    char place[32] = "";
    if (a->loc.source) {
        loc_line_column(a->loc, &line, &column);
        snprintf(place, sizeof place, "%5d:%d", line, column);
    }
    text_printf(out, "  %-10s %-10s %-28s %10" PRId64, place, a->sym ? a->sym->name : "(scratch)",
                a->how, a->instructions);
    if (a->shared && a->least)
        text_printf(out, " %12" PRId64 " %8" PRId64 "%s", a->wavefronts, a->least,
                    a->wavefronts > a->least ? "  conflicts" : "");
    text_add(out, "\n");
}

static void add_accesses(struct text *out, const struct lowered *lowered, bool shared)
{
    bool any = false, unknown = false;
    for (size_t i = 0; i < lowered->accesses.count; i++) {
        const struct lowered_access *a = &lowered->accesses.data[i];
        if (a->shared != shared)
            continue;
        unknown = unknown || strchr(a->how, '*');
        if (!any)
            text_printf(out, "%s memory\n  %10s %-10s %-28s %10s%s\n", shared ? "shared" : "global",
                        "line", "tile", "instruction", "per block",
                        shared ? "   wavefronts    least" : "");
        any = true;
        add_access(out, a);
    }
    if (unknown)
        text_printf(
            out,
            "  *: the compiler joins accesses to neighbouring elements later (--stage ptx)%s\n",
            shared ? ";\n     wavefronts depend on the program's indices (`tilewright explain` "
                     "counts them)"
                   : "");
    if (any)
        text_add(out, "\n");
}

void show_layout(struct text *out, const struct lowered *lowered, const char *target)
{
    const int *b = lowered->block;
    text_printf(out,
                "%s for %s: %d x %d x %d threads, %" PRId64 " bytes of shared memory, about %d "
                "registers a thread%s\n\n",
                lowered->function->name, target, b[0], b[1], b[2], lowered->shared_bytes,
                lowered->registers,
                lowered->registers > 255 ? ", more than the 255 there are: the rest goes to memory"
                                         : "");
    add_signs(out, lowered);
    for (size_t i = 0; i < lowered->placed.count; i++)
        add_placed(out, &lowered->placed.data[i]);
    add_accesses(out, lowered, false);
    add_accesses(out, lowered, true);
}
