/* Findings as text, in the style of the compiler's diagnostics, and as JSON. */
#include "sim/sim_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- places --- */

static const char *file_name(const struct sim_report *r, uint32_t number)
{
    const char *name = ptx_file_name(r->module, number);
    return name ? name : arena_printf(r->arena, "file%u", (unsigned)number);
}

struct shown_place {
    const char *file; /* NULL: nothing known */
    int line, column;
};

/* No file has more lines: such a place is damaged and counts as unknown. */
enum { MOST_LINES = 1 << 20, MOST_COLUMNS = 1 << 12 };

static struct shown_place place_in_file(const struct sim_report *r, uint32_t file, uint32_t line,
                                        uint32_t column)
{
    if (line > MOST_LINES)
        return (struct shown_place){NULL, 0, 0};
    bool good = column > 0 && column <= MOST_COLUMNS;
    return (struct shown_place){file_name(r, file), (int)line, good ? (int)column : 1};
}

static struct shown_place place_of(const struct sim_report *r, const struct ptx_instruction *ins,
                                   struct loc where)
{
    struct shown_place place = {NULL, 0, 0};
    if (ins && ins->line)
        place = place_in_file(r, ins->line->file, ins->line->line, ins->line->column);
    if (!place.file && where.source) {
        place.file = where.source->name ? where.source->name : "<text>";
        loc_line_column(where, &place.line, &place.column);
    }
    return place;
}

/* Returns "k.cu:12:5"; `unknown`: the place is not known. */
static const char *text_of_place(const struct sim_report *r, struct shown_place p,
                                 const char *unknown)
{
    return p.file ? arena_printf(r->arena, "%s:%d:%d", p.file, p.line, p.column) : unknown;
}

const char *sim_place_text(const struct sim_report *r, const struct ptx_instruction *ins,
                           struct loc where)
{
    sim_settle(r->machine);
    return text_of_place(r, place_of(r, ins, where), "<unknown>");
}

/* Returns the place that calls the inlined function. */
static struct shown_place call_of(const struct sim_report *r, const struct ptx_instruction *ins)
{
    const struct ptx_line *l = ins ? ins->line : NULL;
    if (!l || !l->has_call)
        return (struct shown_place){NULL, 0, 0};
    return place_in_file(r, l->call_file, l->call_line, l->call_column);
}

const char *sim_call_text(const struct sim_report *r, const struct ptx_instruction *ins)
{
    sim_settle(r->machine);
    return text_of_place(r, call_of(r, ins), NULL);
}

/* Returns the coordinates of number n in a shape, x fastest. */
static const char *coordinates(struct arena *a, int64_t n, const unsigned shape[3])
{
    if (!shape[0] || !shape[1])
        return arena_printf(a, "%lld", (long long)n);
    int64_t x = n % shape[0], y = n / shape[0] % shape[1], z = n / shape[0] / shape[1];
    return arena_printf(a, "(%lld,%lld,%lld)", (long long)x, (long long)y, (long long)z);
}

const char *sim_thread_text(const struct sim_report *r, const struct sim_place *at, int lane)
{
    const char *block = coordinates(r->arena, at->block, r->grid);
    if (lane < 0)
        return arena_printf(r->arena, "block %s warp %d", block, at->warp);
    const char *thread = coordinates(r->arena, (int64_t)at->warp * SIM_LANES + lane, r->block);
    return arena_printf(r->arena, "block %s thread %s", block, thread);
}

const char *sim_space_name(enum sim_space space)
{
    static const char *const names[] = {"global", "shared", "local", "const", "param"};
    return names[space];
}

/* --- text --- */

/* Returns the place in a source that the renderer can show: in the registered text, or in blank
 * lines up to it. */
static struct loc loc_of_place(const struct sim_report *r, struct shown_place p)
{
    for (size_t i = 0; i < r->sources.count; i++) {
        const struct source *s = r->sources.data[i];
        if (strcmp(s->name, p.file) != 0)
            continue;
        size_t offset = 0;
        for (int line = 1; line < p.line && offset < s->length; offset++)
            line += s->text[offset] == '\n';
        offset += (size_t)p.column - 1;
        return (struct loc){s, (uint32_t)(offset < s->length ? offset : s->length), 0};
    }
    size_t length = (size_t)p.line - (p.line > 0) + (size_t)p.column - 1;
    char *blank = arena_alloc(r->arena, length + 1);
    memset(blank, ' ', length);
    memset(blank, '\n', (size_t)p.line - (p.line > 0));
    struct source *made = arena_new(r->arena, struct source);
    *made = (struct source){p.file, blank, length};
    return (struct loc){made, (uint32_t)length, 0};
}

/* Returns the place of an instruction; without .loc it is the module's own. */
static struct loc loc_of(const struct sim_report *r, const struct ptx_instruction *ins,
                         struct loc where)
{
    struct shown_place p = place_of(r, ins, where);
    return p.file && ins && ins->line ? loc_of_place(r, p) : where;
}

static const char *access_text(const struct sim_report *r, const struct sim_finding_access *a)
{
    struct text t;
    text_init(&t, r->arena);
    text_printf(&t, "%s by %s", a->does, sim_thread_text(r, &a->at, a->lane));
    if (a->lane >= 0)
        text_printf(&t, " (warp %d lane %d)", a->at.warp, a->lane);
    if (a->memory) {
        text_printf(&t, ", %d byte%s at %s address 0x%llx", a->bytes, a->bytes == 1 ? "" : "s",
                    sim_space_name(a->space), (unsigned long long)a->address);
        const char *element =
            sim_report_element(r, a->space, a->address, sim_value_bytes(a->at.ins));
        if (element)
            text_printf(&t, " (%s)", element);
        else if (a->memory_name)
            text_printf(&t, " in '%s'", a->memory_name);
    }
    if (a->barrier || a->barrier_where.source)
        text_printf(&t, "; last barrier passed: %s (number %lld)",
                    sim_place_text(r, a->barrier, a->barrier_where), (long long)a->barriers);
    else if (a->passes)
        text_add(&t, "; no barrier passed before");
    return t.data;
}

static void add_note(const struct sim_report *r, struct diagnostic ***end, struct loc at,
                     const char *message)
{
    struct diagnostic *note = arena_new(r->arena, struct diagnostic);
    *note = (struct diagnostic){.severity = SEV_NOTE, .loc = at, .message = message};
    **end = note;
    *end = &note->next;
}

/* Returns the place in a header that was inlined there. */
static struct shown_place header_of(const struct sim_report *r, const struct ptx_instruction *ins)
{
    const struct ptx_line *l = ins && ins->line ? ins->line->header : NULL;
    return l ? place_in_file(r, l->file, l->line, l->column) : (struct shown_place){NULL, 0, 0};
}

const char *sim_header_text(const struct sim_report *r, const struct ptx_instruction *ins)
{
    return text_of_place(r, header_of(r, ins), NULL);
}

/* Adds notes to an instruction with .loc: the header it is from, the call, and its place in the
 * PTX. */
static void note_places(const struct sim_report *r, const struct sim_finding_access *a,
                        struct diagnostic ***end)
{
    if (!a->at.ins || !a->at.ins->line)
        return;
    struct shown_place call = call_of(r, a->at.ins), header = header_of(r, a->at.ins);
    if (header.file)
        add_note(r, end, loc_of_place(r, header), "in this header");
    if (call.file)
        add_note(r, end, loc_of_place(r, call), "called from here");
    if (a->at.where.source && !r->source_only)
        add_note(r, end, a->at.where, "in the PTX");
}

struct loc sim_finding_place(const struct sim_report *r, const struct sim_finding *f, int access)
{
    if (access >= f->access_count)
        return LOC_NONE;
    const struct sim_finding_access *a = &f->access[access];
    return loc_of(r, a->at.ins, a->at.where);
}

struct loc sim_finding_barrier(const struct sim_report *r, const struct sim_finding_access *a)
{
    if (!a->barrier && !a->barrier_where.source)
        return LOC_NONE;
    return loc_of(r, a->barrier, a->barrier_where);
}

/* An access counts for each thread, a barrier for its threads together. */
static const char *times_text(struct arena *a, int64_t count, int64_t threads)
{
    bool of_threads = threads > count;
    long long n = of_threads ? threads : count;
    return n > 1 ? arena_printf(a, " [%lld %s]", n, of_threads ? "threads" : "times") : "";
}

const struct diagnostic *sim_finding_diagnostic(const struct sim_report *r,
                                                const struct sim_finding *f)
{
    struct diagnostic *head = arena_new(r->arena, struct diagnostic);
    struct diagnostic **end = &head->notes;
    const char *times = times_text(r->arena, f->count, f->threads);
    *head = (struct diagnostic){
        .severity = sim_report_fails(r, f->kind) ? SEV_ERROR : SEV_WARNING,
        .message = arena_printf(r->arena, "%s: %s%s", sim_found_name(f->kind), f->message, times)};
    for (int i = 0; i < f->access_count; i++) {
        const struct sim_finding_access *a = &f->access[i];
        struct loc at = loc_of(r, a->at.ins, a->at.where);
        if (i == 0)
            head->loc = at;
        add_note(r, &end, i ? at : LOC_NONE, access_text(r, a));
        note_places(r, a, &end);
    }
    for (int i = 0; i < f->step_count; i++)
        add_note(r, &end, LOC_NONE, f->steps[i]);
    return head;
}

void sim_report_text(struct text *out, const struct sim_report *r, bool colour)
{
    int64_t suppressed = 0;
    for (const struct sim_finding *f = r->first; f; f = f->next) {
        if (!f->suppressed)
            diagnostic_render(out, sim_finding_diagnostic(r, f), colour);
        suppressed += f->suppressed;
    }
    if (r->dropped > 0)
        text_printf(out, "... and %lld more\n", (long long)r->dropped);
    if (suppressed > 0)
        text_printf(out, "(%lld suppressed)\n", (long long)suppressed);
}

/* --- JSON --- */

static void json_text(struct text *out, const char *key, const char *value)
{
    text_printf(out, ", \"%s\": ", key);
    text_add_json(out, value);
}

static void json_other_place(struct text *out, const char *key, struct shown_place p)
{
    if (!p.file)
        return;
    text_printf(out, ", \"%s\": {\"file\": ", key);
    text_add_json(out, p.file);
    text_printf(out, ", \"line\": %d, \"column\": %d}", p.line, p.column);
}

static void json_place(struct text *out, const struct sim_report *r,
                       const struct ptx_instruction *ins, struct loc where)
{
    struct shown_place p = place_of(r, ins, where);
    text_add(out, "\"file\": ");
    text_add_json(out, p.file ? p.file : "");
    text_printf(out, ", \"line\": %d, \"column\": %d", p.line, p.column);
    json_other_place(out, "called_from", call_of(r, ins));
    json_other_place(out, "header", header_of(r, ins));
}

static void json_access(struct text *out, const struct sim_report *r,
                        const struct sim_finding_access *a)
{
    text_add(out, "{");
    json_place(out, r, a->at.ins, a->at.where);
    json_text(out, "does", a->does);
    json_text(out, "what", a->does);
    struct sim_report_element place;
    if (a->memory && sim_report_index(r, a->space, a->address, &place)) {
        json_text(out, "variable", place.name);
        text_add(out, ", \"index\": [");
        for (int i = 0; i < place.rank; i++)
            text_printf(out, "%s%lld", i ? ", " : "", (long long)place.index[i]);
        text_add(out, "]");
    }
    if (a->at.ins && a->at.function) {
        struct text t;
        text_init(&t, r->arena);
        ptx_print_instruction(&t, a->at.function, a->at.ins);
        json_text(out, "instruction", t.data);
    }
    text_printf(out, ", \"block\": %lld, \"warp\": %d", (long long)a->at.block, a->at.warp);
    if (a->lane >= 0)
        text_printf(out, ", \"thread\": %d, \"lane\": %d", a->at.warp * SIM_LANES + a->lane,
                    a->lane);
    if (a->memory)
        text_printf(out, ", \"space\": \"%s\", \"address\": %llu, \"bytes\": %d",
                    sim_space_name(a->space), (unsigned long long)a->address, a->bytes);
    const char *element =
        a->memory ? sim_report_element(r, a->space, a->address, sim_value_bytes(a->at.ins)) : NULL;
    if (element)
        json_text(out, "element", element);
    if (a->barrier || a->barrier_where.source) {
        text_add(out, ", \"barrier\": {");
        json_place(out, r, a->barrier, a->barrier_where);
        text_printf(out, ", \"number\": %lld}", (long long)a->barriers);
    }
    text_add(out, "}");
}

void sim_finding_json(struct text *out, const struct sim_report *r, const struct sim_finding *f)
{
    text_printf(
        out,
        "{\"kind\": \"%s\", \"fails\": %s, \"count\": %lld, \"message\": ", sim_found_name(f->kind),
        sim_report_fails(r, f->kind) && !f->suppressed ? "true" : "false", (long long)f->count);
    text_add_json(out, f->message);
    if (f->bytes)
        text_printf(out, ", \"bytes\": %lld", (long long)f->bytes);
    if (f->threads)
        text_printf(out, ", \"threads\": %lld", (long long)f->threads);
    if (f->suppressed)
        text_add(out, ", \"suppressed\": true");
    text_add(out, ",\n   \"accesses\": [");
    for (int i = 0; i < f->access_count; i++) {
        text_add(out, i ? ",\n     " : "\n     ");
        json_access(out, r, &f->access[i]);
    }
    text_add(out, "],\n   \"steps\": [");
    for (int i = 0; i < f->step_count; i++) {
        text_add(out, i ? ", " : "");
        text_add_json(out, f->steps[i]);
    }
    text_add(out, "]}");
}
