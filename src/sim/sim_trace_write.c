/* Writes the file of a trace: docs/trace.md. The head is made last, because it lists the
 * sections. */
#include "sim/sim_trace_own.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

struct section {
    const char *name, *type;
    size_t offset, count;
};

struct file {
    const struct sim_trace *trace;
    struct text data;
    VEC(struct section) sections;
};

/* --- sections --- */

static void put(struct file *f, uint64_t number, int bytes)
{
    char little[8];
    for (int i = 0; i < bytes; i++)
        little[i] = (char)(number >> 8 * i & 255);
    text_add_n(&f->data, little, (size_t)bytes);
}

/* Begins a section of `count` elements. Returns false if it has none, and leaves it out. */
static bool begin(struct file *f, const char *name, const char *type, size_t count)
{
    if (!count)
        return false;
    while (f->data.length % 8)
        text_add_n(&f->data, "", 1);
    vec_push(f->trace->arena, &f->sections, ((struct section){name, type, f->data.length, count}));
    return true;
}

static void put_u32(struct file *f, const char *name, const uint32_t *list, size_t count)
{
    if (begin(f, name, "u32", count))
        for (size_t i = 0; i < count; i++)
            put(f, list[i], 4);
}

static void put_bytes(struct file *f, const char *name, const uint8_t *list, size_t count)
{
    if (begin(f, name, "u8", count))
        text_add_n(&f->data, (const char *)list, count);
}

/* The columns of events: each is a member of struct trace_event. */
static const struct column {
    char name[8], type[4];
    uint8_t at, bytes;
} columns[] = {
#define AT(field) (uint8_t) offsetof(struct trace_event, field)
    {"time", "u32", AT(time), 4},  {"warp", "u16", AT(warp), 2},  {"site", "u16", AT(site), 2},
    {"mask", "u32", AT(mask), 4},  {"base", "u32", AT(base), 4},  {"stride", "i32", AT(stride), 4},
    {"kind", "u8", AT(kind), 1},   {"flags", "u8", AT(flags), 1}, {"units", "u8", AT(units), 1},
    {"least", "u8", AT(least), 1},
#undef AT
};

static uint32_t member_of(const struct trace_event *e, const struct column *c)
{
    const char *at = (const char *)e + c->at;
    uint32_t wide;
    uint16_t narrow;
    if (c->bytes == 1)
        return *(const uint8_t *)at;
    if (c->bytes == 2) {
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

static void put_columns(struct file *f)
{
    const struct sim_trace *t = f->trace;
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        if (begin(f, columns[c].name, columns[c].type, t->events.count))
            for (size_t i = 0; i < t->events.count; i++)
                put(f, member_of(&t->events.data[i], &columns[c]), columns[c].bytes);
}

static void put_events(struct file *f)
{
    const struct sim_trace *t = f->trace;
    put_columns(f);
    if (begin(f, "rows", "i32", t->rows.count * SIM_LANES))
        for (size_t i = 0; i < t->rows.count; i++)
            for (int lane = 0; lane < SIM_LANES; lane++)
                put(f, (uint32_t)t->rows.data[i].offset[lane], 4);
    put_u32(f, "served_event", t->served_event.data, t->served_event.count);
    put_u32(f, "served_row", t->served_row.data, t->served_row.count);
    put_u32(f, "value_event", t->value_event.data, t->value_event.count);
    put_u32(f, "value_start", t->value_start.data, t->value_start.count);
    put_bytes(f, "values", t->values.data, t->values.count);
    put_bytes(f, "initial", t->initial.data, t->initial.count);
    if (t->shared_at_start)
        put_bytes(f, "shared", t->shared_at_start, (size_t)t->shared_bytes);
}

static void put_rest(struct file *f)
{
    const struct sim_trace *t = f->trace;
    put_u32(f, "snapshot_event", t->snapshot_event.data, t->snapshot_event.count);
    if (begin(f, "snapshot_variable", "u16", t->snapshot_variable.count))
        for (size_t i = 0; i < t->snapshot_variable.count; i++)
            put(f, t->snapshot_variable.data[i], 2);
    put_u32(f, "snapshot_start", t->snapshot_start.data, t->snapshot_start.count);
    put_bytes(f, "snapshots", t->snapshots.data, t->snapshots.count);
    if (begin(f, "copies", "u32", t->copies.count * 8))
        for (size_t i = 0; i < t->copies.count; i++) {
            const struct trace_copy *c = &t->copies.data[i];
            const uint32_t row[8] = {c->issue, c->commit, c->land,  c->read,
                                     c->write, c->wait,   c->group, c->bytes};
            for (int k = 0; k < 8; k++)
                put(f, row[k], 4);
        }
}

/* --- the head --- */

static int64_t elements_of(int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    return n;
}

static void key(struct text *out, const char *name)
{
    text_printf(out, ", \"%s\": ", name);
}

static void string(struct text *out, const char *s)
{
    if (s)
        text_add_json(out, s);
    else
        text_add(out, "null");
}

static void shape(struct text *out, int rank, const int64_t *extent)
{
    text_add(out, "[");
    for (int i = 0; i < rank; i++)
        text_printf(out, "%s%" PRId64, i ? ", " : "", extent[i]);
    text_add(out, "]");
}

static void described(struct text *out, const char *name, const char *type, int rank,
                      const int64_t *extent)
{
    text_add(out, "{\"name\": ");
    text_add_json(out, name ? name : "");
    key(out, "type");
    string(out, type);
    key(out, "shape");
    shape(out, rank, extent);
}

static void add_memory(struct text *out, const struct trace_memory *m)
{
    described(out, m->is.name, m->is.type, m->is.rank, m->is.shape);
    text_printf(out, ", \"address\": %u, \"bytes\": %" PRIu64, m->at, m->is.bytes);
}

static void add_arrays(struct text *out, const struct sim_trace *t)
{
    key(out, "arrays");
    for (size_t i = 0; i < t->arrays.count; i++) {
        text_add(out, i ? ",\n  " : "[\n  ");
        add_memory(out, &t->arrays.data[i]);
        key(out, "view");
        string(out, t->arrays.data[i].is.view);
        if (t->arrays.data[i].initial < 0)
            text_add(out, ", \"initial\": null}");
        else
            text_printf(out, ", \"initial\": %" PRId64 "}", t->arrays.data[i].initial);
    }
    text_add(out, t->arrays.count ? "]" : "[]");
}

/* Adds the shared variables. The section `places` is already written; in it, variables with
 * places follow each other in the same order. */
static void add_shared(struct text *out, const struct sim_trace *t)
{
    int64_t at = 0;
    key(out, "shared");
    for (size_t i = 0; i < t->shared.count; i++) {
        const struct trace_memory *m = &t->shared.data[i];
        text_add(out, i ? ",\n  " : "[\n  ");
        add_memory(out, m);
        key(out, "layout");
        string(out, m->is.layout);
        if (m->is.places)
            text_printf(out, ", \"places\": %" PRId64 "}", at);
        else
            text_add(out, ", \"places\": null}");
        at += m->is.places ? elements_of(m->is.rank, m->is.shape) : 0;
    }
    text_add(out, t->shared.count ? "]" : "[]");
}

static void put_places(struct file *f)
{
    const struct sim_trace *t = f->trace;
    size_t count = 0;
    for (size_t i = 0; i < t->shared.count; i++)
        if (t->shared.data[i].is.places)
            count += (size_t)elements_of(t->shared.data[i].is.rank, t->shared.data[i].is.shape);
    if (!begin(f, "places", "u32", count))
        return;
    for (size_t i = 0; i < t->shared.count; i++) {
        const struct sim_trace_memory *m = &t->shared.data[i].is;
        for (int64_t e = 0; m->places && e < elements_of(m->rank, m->shape); e++)
            put(f, m->places[e], 4);
    }
}

static size_t held_by_all(const struct sim_trace *t, const struct sim_trace_variable *v)
{
    return v->element ? (size_t)t->warps * SIM_LANES * (size_t)v->elements : 0;
}

static void put_elements(struct file *f)
{
    const struct sim_trace *t = f->trace;
    size_t count = 0;
    for (size_t v = 0; v < t->variables.count; v++)
        count += held_by_all(t, &t->variables.data[v]);
    if (!begin(f, "elements", "i32", count))
        return;
    for (size_t v = 0; v < t->variables.count; v++)
        for (size_t i = 0; i < held_by_all(t, &t->variables.data[v]); i++)
            put(f, (uint32_t)t->variables.data[v].element[i], 4);
}

static void add_variables(struct text *out, const struct sim_trace *t)
{
    size_t at = 0;
    key(out, "variables");
    for (size_t v = 0; v < t->variables.count; v++) {
        const struct sim_trace_variable *x = &t->variables.data[v];
        text_add(out, v ? ",\n  " : "[\n  ");
        described(out, x->name, x->type, x->rank, x->shape);
        text_printf(out, ", \"word_bytes\": %d, \"registers\": [", x->word_bytes);
        for (int r = 0; r < x->words; r++) {
            text_add(out, r ? ", " : "");
            text_add_json(out, x->names[r]);
        }
        if (x->element)
            text_printf(out, "], \"elements\": %zu}", at);
        else
            text_add(out, "], \"elements\": null}");
        at += held_by_all(t, x);
    }
    text_add(out, t->variables.count ? "]" : "[]");
}

/* Adds file, line, column and the text there. */
static void add_place(struct text *out, const struct trace_text *at)
{
    text_add(out, "{\"file\": ");
    string(out, at->file);
    text_printf(out, ", \"line\": %u, \"column\": %u, \"length\": %zu", at->line, at->column,
                at->text ? strlen(at->text) : 0);
    key(out, "text");
    string(out, at->text);
}

/* Adds the loops around an instruction, the outermost first, each with the turns since its last
 * event. */
static void add_nest(struct text *out, const struct sim_trace *t, uint32_t nest)
{
    const struct trace_nest *n = &t->nests.data[nest];
    if (!nest)
        return;
    add_nest(out, t, n->outer);
    bool told = t->loops.data[n->loop].is.warp || n->copy < 0;
    text_printf(out, "%s[%d, %d]", n->outer ? ", " : "", n->loop, told ? 0 : n->copy);
}

static const char *op_name(const struct sim_trace *t, const struct trace_site *s)
{
    struct text one;
    text_init(&one, t->arena);
    ptx_print_instruction(&one, s->function, s->ins);
    const char *from = one.data;
    if (*from == '@' && strchr(from, ' '))
        from = strchr(from, ' ') + 1;
    return arena_string(t->arena, from, strcspn(from, " ;"));
}

static void add_sites(struct text *out, const struct sim_trace *t)
{
    key(out, "sites");
    for (size_t i = 0; i < t->sites.count; i++) {
        const struct trace_site *s = &t->sites.data[i];
        text_add(out, i ? ",\n  " : "[\n  ");
        struct trace_text at = s->turn_of ? sim_trace_loop_text(t, &t->loops.data[s->turn_of - 1])
                                          : sim_trace_text(t, s->ins, s->kind);
        add_place(out, &at);
        text_printf(out, ", \"ptx\": %d", sim_trace_ptx_line(t, s->where));
        key(out, "op");
        text_add_json(out, op_name(t, s));
        key(out, "space");
        string(out, !s->memory ? NULL : s->space == SIM_SHARED ? "shared" : "global");
        key(out, "variable");
        if (s->variable < 0)
            text_add(out, "null");
        else
            text_printf(out, "%d", s->variable);
        text_printf(out, ", \"bytes\": %d", s->bytes);
        key(out, "phase");
        string(out, sim_trace_phase(s));
        key(out, "loops");
        text_add(out, t->marks.count ? "[" : "null");
        if (t->marks.count)
            add_nest(out, t, sim_trace_nest(t, s->ins));
        text_add(out, t->marks.count ? "]}" : "}");
    }
    text_add(out, t->sites.count ? "]" : "[]");
}

static void add_loops(struct text *out, const struct sim_trace *t)
{
    key(out, "loops");
    for (size_t i = 0; i < t->loops.count; i++) {
        const struct trace_loop *l = &t->loops.data[i];
        text_add(out, i ? ",\n  " : "[\n  ");
        struct trace_text at = sim_trace_loop_text(t, l);
        add_place(out, &at);
        text_printf(out, ", \"ptx\": %d", l->branch ? sim_trace_ptx_line(t, l->where) : 0);
        key(out, "variable");
        string(out, l->is.variable);
        if (l->is.bounded)
            text_printf(out, ", \"from\": %" PRId64 ", \"to\": %" PRId64 ", \"step\": %" PRId64 "}",
                        l->is.from, l->is.to, l->is.step);
        else
            text_add(out, ", \"from\": null, \"to\": null, \"step\": null}");
    }
    text_add(out, t->loops.count ? "]" : "[]");
}

static void add_fault(struct text *out, const struct sim_trace *t)
{
    int64_t block[3], rest = t->fault.block;
    key(out, "fault");
    if (rest < 0) {
        text_add(out, "null");
        return;
    }
    for (int i = 0; i < 3; i++) {
        block[i] = i < 2 ? rest % t->grid[i] : rest;
        rest = i < 2 ? rest / t->grid[i] : 0;
    }
    text_add(out, "{\"block\": ");
    shape(out, 3, block);
    text_printf(out, ", \"warp\": %d, \"lane\": %d", t->fault.warp, t->fault.lane);
    if (t->fault.event == TRACE_NO_EVENT)
        text_add(out, ", \"event\": null}");
    else
        text_printf(out, ", \"event\": %u}", t->fault.event);
}

static void add_launch(struct text *out, const struct sim_trace *t, const char *ended)
{
    const struct sim_trace_settings *s = &t->settings;
    text_add(out, "{\"version\": 1");
    key(out, "tilewright");
    string(out, s->version);
    key(out, "kernel");
    string(out, s->kernel);
    key(out, "target");
    string(out, s->target);
    text_add(out, ", \"source\": {\"file\": ");
    string(out, s->file);
    text_printf(out, ", \"hash\": \"%016" PRIx64 "\"}", s->hash);
    text_printf(out, ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u]", t->grid[0], t->grid[1],
                t->grid[2], t->block[0], t->block[1], t->block[2]);
    key(out, "traced");
    shape(out, 3, s->block);
    text_printf(out, ", \"threads\": %d, \"warps\": %d, \"shared_bytes\": %" PRIu64, t->threads,
                t->warps, t->shared_bytes);
    text_printf(out, ", \"seed\": %" PRIu64 ", \"late\": %s", s->seed, s->late ? "true" : "false");
    text_printf(out, ", \"events\": %zu, \"total\": %" PRId64 ", \"truncated\": %s",
                t->events.count, t->total, t->truncated ? "true" : "false");
    text_printf(out, ", \"from\": %" PRId64 ", \"time\": %" PRId64 ", \"flops\": %.17g", s->from,
                t->time, t->flops);
    key(out, "ended");
    string(out, ended);
    add_fault(out, t);
    key(out, "kinds");
    for (int i = 0; i < TRACE_KIND_COUNT; i++)
        text_printf(out, "%s\"%s\"", i ? ", " : "[", sim_trace_kinds[i]);
    text_add(out, "]");
}

static void add_sections(struct text *out, const struct file *f)
{
    key(out, "sections");
    for (size_t i = 0; i < f->sections.count; i++) {
        const struct section *s = &f->sections.data[i];
        text_printf(out, "%s{\"name\": \"%s\", \"type\": \"%s\", \"offset\": %zu, \"count\": %zu}",
                    i ? ",\n  " : "[\n  ", s->name, s->type, s->offset, s->count);
    }
    text_add(out, f->sections.count ? "]}\n" : "[]}\n");
}

void sim_trace_write(const struct sim_trace *t, const char *ended, struct text *out)
{
    struct file f = {.trace = t}, start = {.trace = t};
    struct text head;
    text_init(&f.data, t->arena);
    text_init(&start.data, t->arena);
    text_init(&head, t->arena);
    put_events(&f);
    put_rest(&f);
    put_places(&f);
    put_elements(&f);
    add_launch(&head, t, ended);
    add_arrays(&head, t);
    add_shared(&head, t);
    add_variables(&head, t);
    add_loops(&head, t);
    add_sites(&head, t);
    add_sections(&head, &f);
    text_add_n(&start.data, "TWTR", 4);
    put(&start, 1, 4);
    put(&start, head.length, 4);
    put(&start, 0, 4);
    text_add_n(out, start.data.data, start.data.length);
    text_add_n(out, head.data, head.length);
    while (out->length % 8)
        text_add_n(out, "", 1);
    text_add_n(out, f.data.data, f.data.length);
}
