/* Ends a launch, and says where. */
#include "sim/sim_machine.h"

#include "base/shown.h"

void sim_over(struct sim *sim, enum sim_end end, const char *why)
{
    if (sim->over)
        return;
    sim->over = true;
    sim->end = end;
    sim->why = why;
}

/* Prints the place in the program's source if a .loc gives it; otherwise the place in the PTX. */
static void describe_line(struct text *out, const struct sim *sim, const struct sim_op *op)
{
    const struct ptx_line *line = op->ins ? op->ins->line : NULL;
    const char *name = line ? ptx_file_name(sim->module, line->file) : NULL;
    if (name) {
        text_printf(out, "%s:%u:%u, ", text_shown(out->arena, name, SHOWN_LINE), line->line,
                    line->column);
    } else if (op->where.source) {
        int row, column;
        loc_line_column(op->where, &row, &column);
        text_printf(out, "%s:%d:%d, ", op->where.source->name, row, column);
    }
}

void sim_describe(struct text *out, const struct sim_warp *w, const struct sim_op *op)
{
    describe_line(out, w->sim, op);
    text_printf(out, "block %lld, warp %d", (long long)w->block->number, w->number);
}

/* Returns the text of the op's instruction; "" for an op after the function's last instruction. */
static const char *describe_ins(const struct sim_warp *w, const struct sim_op *op)
{
    struct text out;
    text_init(&out, w->sim->arena);
    if (op->ins)
        ptx_print_instruction(&out, w->frame->code->function, op->ins);
    return out.data ? out.data : "";
}

bool sim_stop(struct sim_warp *w, const struct sim_op *op, const char *format, ...)
{
    w->state = SIM_CHOOSES;
    if (w->sim->over)
        return false;
    va_list args;
    va_start(args, format);
    const char *what = arena_vprintf(w->sim->arena, format, args), *ins = describe_ins(w, op);
    va_end(args);
    struct text out;
    text_init(&out, w->sim->arena);
    text_printf(&out, "%s%s%s (", what, *ins ? ": " : "", ins);
    sim_describe(&out, w, op);
    text_add(&out, ")");
    sim_place_of(w, op, &w->sim->stopped_at);
    sim_over(w->sim, SIM_STOPPED, out.data);
    return false;
}

void sim_place_of(const struct sim_warp *w, const struct sim_op *op, struct sim_place *place)
{
    *place = (struct sim_place){.block = w->block->number,
                                .warp = w->number,
                                .warps = w->block->warp_count,
                                .threads = w->block->threads,
                                .ins = op->ins,
                                .function = w->frame ? w->frame->code->function : NULL,
                                .where = op->where};
}
