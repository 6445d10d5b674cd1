#include "api/trace.h"

#include "api/layouts.h"
#include "base/hash.h"
#include "sim/sim_trace.h"

#include <string.h>

void trace_settings(struct simulation *s, const char *kernel, const char *target,
                    const struct source *source)
{
    struct sim_trace_settings *to = sim_trace_settings(s->trace);
    to->version = TW_VERSION;
    to->kernel = kernel;
    to->target = target;
    to->file = source->name;
    to->hash = hash_bytes(HASH_BEGIN, source->text, source->length);
    to->module = s->module;
    to->sources = s->report.sources.data;
    to->source_count = s->report.sources.count;
}

/* --- arrays --- */

static const int64_t *shape_of(struct arena *a, const int64_t *shape, int rank)
{
    return arena_copy(a, shape, (size_t)(rank ? rank : 1) * sizeof *shape);
}

/* Returns the name by which the kernel accesses a parameter's array; NULL: it has several, or
 * none. */
static const char *name_of_view(const tw_launch *l, const struct sym *param)
{
    const struct sym *found = NULL;
    for (const struct sym *s = l->variant->ir->symbols; s; s = s->next) {
        if (s->storage != ST_VIEW || s->base != param)
            continue;
        if (found && strcmp(found->name, s->name) != 0)
            return NULL;
        found = s;
    }
    return found ? found->name : NULL;
}

static void name_array(struct simulation *s, const tw_launch *l, const struct launch_param *p)
{
    const struct type *t = &p->sym->type;
    struct sim_trace_memory m = {.space = SIM_GLOBAL,
                                 .address = p->value,
                                 .bytes = p->bytes,
                                 .name = p->sym->name,
                                 .view = name_of_view(l, p->sym),
                                 .type = dtype_table[t->dtype].name,
                                 .rank = t->rank,
                                 .symbol = p->sym};
    if (p->kind == LOWERED_POINTER) {
        const tw_array *x = &l->arrays[p->sym->index];
        if (!l->array_set[p->sym->index])
            return;
        m.type = tw_dtype_name(x->dtype);
        m.rank = x->rank;
        m.shape = shape_of(&s->arena, x->shape, x->rank);
        m.data = p->data;
    } else {
        m.shape = shape_of(&s->arena, p->shape, t->rank);
    }
    sim_trace_name(s->trace, &m);
}

/* --- tiles in shared memory --- */

static void name_tile(struct simulation *s, const struct sym *sym,
                      const struct lowered_placed *tile, uint64_t base)
{
    struct sim_trace_memory m = {.space = SIM_SHARED,
                                 .address = base + (uint64_t)sym->offset,
                                 .bytes = (uint64_t)type_bytes(&sym->type),
                                 .name = sym->name,
                                 .type = dtype_table[sym->type.dtype].name,
                                 .rank = sym->type.rank,
                                 .shape = sym->type.extent,
                                 .symbol = sym};
    if (tile) {
        bool plain;
        m.layout = layouts_words(&s->arena, tile->layout);
        m.places = layouts_places(&s->arena, tile, m.address, &plain);
        m.places = plain ? NULL : m.places;
    }
    sim_trace_name(s->trace, &m);
}

void trace_tiles(struct simulation *s, const tw_launch *l, uint64_t base)
{
    const struct lowered *lowered = l->variant->lowered;
    for (const struct sym *sym = l->variant->ir->symbols; sym; sym = sym->next) {
        const struct lowered_placed *tile = NULL;
        if (sym->storage != ST_SHARED || sym->offset < 0)
            continue;
        for (size_t i = 0; i < lowered->placed.count; i++)
            if (lowered->placed.data[i].sym == sym && lowered->placed.data[i].shared)
                tile = &lowered->placed.data[i];
        name_tile(s, sym, tile, base);
    }
}

/* --- variables --- */

/* Finds the register of that name in the function that runs. Returns false if it has none. */
static bool find_register(struct arena *a, const struct ptx_function *f, const char *name,
                          uint32_t *reg)
{
    for (uint32_t i = 0; i < f->registers.count; i++)
        if (strcmp(ptx_register_name(a, f, i), name) == 0) {
            *reg = i;
            return true;
        }
    return false;
}

static void hold(struct simulation *s, const struct ptx_function *f,
                 const struct lowered_held *held)
{
    const struct type *t = &held->sym->type;
    uint32_t *registers = arena_array(&s->arena, uint32_t, held->count + 1);
    struct sim_trace_variable v = {.name = held->sym->name,
                                   .type = dtype_table[t->dtype].name,
                                   .rank = t->rank,
                                   .shape = t->extent,
                                   .words = held->count,
                                   .registers = registers,
                                   .names = held->registers};
    if (!held->assigned || t->dtype == DT_BOOL)
        return;
    for (int i = 0; i < held->count; i++)
        if (!find_register(&s->arena, f, held->registers[i], &registers[i]))
            return;
    int bits = ptx_mods[ptx_register_type(f, registers[0])].bits;
    v.word_bytes = bits <= 16 ? 2 : bits / 8;
    if (held->layout) {
        v.elements = layout_in_extent(held->layout, AXIS_REG);
        v.element = layouts_elements(&s->arena, held->layout, t->rank, t->extent);
    }
    sim_trace_hold(s->trace, &v);
}

/* --- after the run --- */

static const char *kept(struct arena *a, const char *text)
{
    return text ? arena_string(a, text, strlen(text)) : NULL;
}

static void spread(const struct simulation *s, int64_t number, int64_t block[3])
{
    for (int i = 0; i < 3; i++) {
        int64_t extent = i < 2 ? s->report.grid[i] : INT64_MAX;
        block[i] = number < 0 ? -1 : number % extent;
        number = number < 0 ? -1 : number / extent;
    }
}

static const tw_why_writer *keep_writers(const struct simulation *s, struct arena *a,
                                         const struct sim_why_step *from)
{
    tw_why_writer *writers = arena_array(a, tw_why_writer, from->writer_count + 1);
    for (int i = 0; i < from->writer_count; i++) {
        const struct sim_why_writer *w = &from->writers[i];
        writers[i] = (tw_why_writer){.warp = w->warp,
                                     .lane = w->lane,
                                     .line = (int)w->line,
                                     .column = (int)w->column,
                                     .text = kept(a, w->text),
                                     .write = w->write};
        spread(s, w->block, writers[i].block);
    }
    return writers;
}

static tw_why_step keep_step(const struct simulation *s, struct arena *a,
                             const struct sim_why_step *from)
{
    const char **elements = arena_array(a, const char *, from->element_count + 1);
    for (int i = 0; i < from->element_count; i++)
        elements[i] = kept(a, from->elements[i]);
    return (tw_why_step){.kind = from->kind,
                         .time = from->time,
                         .warp = from->warp,
                         .lanes = from->lanes,
                         .line = (int)from->line,
                         .column = (int)from->column,
                         .text = kept(a, from->text),
                         .event = from->event,
                         .products = from->products,
                         .element_count = from->element_count,
                         .elements = elements,
                         .races = from->races,
                         .writer_count = from->writer_count,
                         .writers = keep_writers(s, a, from)};
}

const tw_why *trace_keep_why(struct simulation *s, struct arena *results)
{
    struct sim_why found;
    sim_trace_why(s->trace, &found);
    tw_why_step *steps = arena_array(results, tw_why_step, found.count + 1);
    for (size_t i = 0; i < found.count; i++)
        steps[i] = keep_step(s, results, &found.steps[i]);
    tw_why *why = arena_new(results, tw_why);
    *why = (tw_why){.thread = found.thread,
                    .products = found.products,
                    .global_reads = found.reads[0],
                    .global_writes = found.writes[0],
                    .shared_reads = found.reads[1],
                    .shared_writes = found.writes[1],
                    .complete = found.complete,
                    .step_count = (int)found.count,
                    .steps = steps};
    spread(s, found.block, why->block);
    return why;
}

/* --- all of it --- */

void trace_launch(struct simulation *s, const tw_launch *l, const struct launch_params *params)
{
    const struct lowered *lowered = l->variant->lowered;
    const struct ptx_function *f = ptx_find_function(s->module, lowered->function->name);
    sim_trace_settings(s->trace)->lines_before = look_lines_before(l);
    for (int i = 0; i < params->held; i++)
        if (params->list[i].kind != LOWERED_SCALAR && params->list[i].kind != LOWERED_MAP &&
            params->list[i].sym)
            name_array(s, l, &params->list[i]);
    trace_loops(s, l);
    for (size_t i = 0; i < lowered->held.count; i++)
        hold(s, f, &lowered->held.data[i]);
    for (size_t i = 0; i < lowered->accesses.count; i++) {
        const struct lowered_access *from = &lowered->accesses.data[i];
        struct sim_trace_access a = {.shared = from->shared, .symbol = from->sym};
        if (from->loc.source)
            loc_line_column(from->loc, &a.line, &a.column);
        sim_trace_means(s->trace, &a);
    }
}
