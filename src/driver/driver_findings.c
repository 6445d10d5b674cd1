/* Findings: each is a line of JSON in the file that the setting `findings` names, written at once,
 * so that nothing is lost if the program dies. Without such a file they go to standard error. */
#include "driver/driver.h"

#include "base/hash.h"
#include "driver/driver_order.h"
#include "driver/program_file.h"
#include "sim/sim_report.h"

#include <string.h>

static int finding_count;

int driver_findings(void)
{
    return finding_count;
}

/* Writes a line of JSON, or prints its text. Between values, an end of line is a blank. */
static void say(const struct text *json, const char *text)
{
    FILE *out = driver.settings.findings;
    finding_count++;
    if (out) {
        for (char *c = json->data; *c; c++)
            *c = *c == '\n' ? ' ' : *c;
        fprintf(out, "%s\n", json->data);
        fflush(out);
    } else {
        fprintf(stderr, "%s", text);
    }
}

void driver_finding_key(struct text *out, const char *key, const char *value)
{
    text_printf(out, ", \"%s\": ", key);
    if (value)
        text_add_json(out, value);
    else
        text_add(out, "null");
}

void driver_finding_site(struct text *out, const struct driver_place *place)
{
    driver_finding_key(out, "site", place ? place->function : NULL);
    if (place && place->file)
        driver_finding_key(out, "site_line",
                           arena_printf(&driver.arena, "%s:%d", place->file, place->line));
}

/* Returns the meaning of a kind. */
static const char *meaning_of(const char *kind)
{
    static const struct {
        const char *name, *meaning;
    } kinds[] = {
#define X(id, name, fails, meaning) {name, meaning},
        SIM_FINDINGS(X)
#undef X
#define KIND(name, meaning) {name, meaning},
#define OTHER_KIND(name, meaning) {name, meaning},
#include "driver/driver_kinds.def"
#undef KIND
#undef OTHER_KIND
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, kind) == 0)
            return kinds[i].meaning;
    return NULL;
}

void driver_finding_begin(struct text *out, const char *kind, bool fails, const char *message)
{
    text_init(out, &driver.arena);
    text_add(out, "{\"kind\": ");
    text_add_json(out, kind);
    text_printf(out, ", \"fails\": %s", fails ? "true" : "false");
    driver_finding_key(out, "message", message);
    driver_finding_key(out, "about", meaning_of(kind));
}

void driver_finding_end(struct text *json, const struct text *text)
{
    driver_finding_key(json, "text", text->data);
    text_add(json, "}");
    say(json, text->data);
}

/* Adds the note of where memory was allocated and freed. */
void driver_finding_memory(struct text *text, const struct driver_memory *m)
{
    text_printf(text, "    note: %s is %zu bytes by %s at %s\n", m->name, m->bytes, m->call,
                driver_site_text(&m->made, NULL));
    if (m->freed_by && m->freed.count)
        text_printf(text, "    note: it was freed by %s at %s\n", m->freed_by,
                    driver_site_text(&m->freed, NULL));
    else if (m->freed_by)
        text_add(text, "    note: no launch of its graph has allocated it so far\n");
}

/* --- faults of the host's calls --- */

/* Returns false if a fault with these texts was reported before. */
bool driver_finding_is_new(const char *kind, const char *message, const struct driver_place *place)
{
    static struct number_map reported; /* by the hash of the texts */
    const char *const texts[] = {kind, message, place->text};
    uint64_t hash = HASH_BEGIN;
    bool added;
    if (driver.is_suppressed && driver.is_suppressed(kind, place, NULL, NULL))
        return false;
    for (int i = 0; i < 3; i++)
        hash = hash_bytes(hash, texts[i], strlen(texts[i]));
    number_map_entry(&driver.arena, &reported, hash, &added);
    return added;
}

static int report_fault(void *user)
{
    const struct driver_fault *f = user;
    struct arena *a = &driver.arena;
    struct driver_site site;
    struct text json, text;
    driver_site_here(&site);
    const struct driver_place *place = f->site ? f->site : driver_site_place(&site, NULL);
    const char *call = f->call ? f->call : driver_call_name();
    if (!driver_finding_is_new(f->kind, f->message, place))
        return DRIVER_SUCCESS;
    text_init(&text, a);
    text_printf(&text, "%s: %s: %s\n",
                f->fails   ? "error"
                : f->warns ? "warning"
                           : "note",
                f->kind, f->message);
    if ((f->fails || f->warns) && !*call) /* an access, no call */
        text_printf(&text, "    note: the host is at %s\n", place->text);
    else if (f->fails || f->warns)
        text_printf(&text, "    note: %s was called at %s\n", call, place->text);
    if (f->memory)
        driver_finding_memory(&text, f->memory);
    driver_finding_begin(&json, f->kind, f->fails, f->message);
    if (f->warns)
        text_add(&json, ", \"warns\": true");
    driver_finding_key(&json, "call", call);
    driver_finding_site(&json, f->fails || f->warns ? place : NULL);
    driver_finding_end(&json, &text);
    return DRIVER_SUCCESS;
}

void driver_report_fault(const struct driver_fault *fault)
{
    struct driver_fault copy = *fault;
    driver_guard(report_fault, &copy);
}

struct refusal {
    struct driver_fault fault;
    const char *format;
    va_list *args;
};

static int report_refusal(void *user)
{
    struct refusal *r = user;
    r->fault.message = arena_vprintf(&driver.arena, r->format, *r->args);
    return report_fault(&r->fault);
}

void driver_refuse(const char *kind, const struct driver_memory *m, const char *format, ...)
{
    va_list args;
    struct refusal r = {{.kind = kind, .fails = true, .memory = m}, format, &args};
    va_start(args, format);
    driver_guard(report_refusal, &r);
    va_end(args);
}

void driver_report_without_place(const char *kind, bool fails, const char *message)
{
    struct text json, text;
    text_init(&text, &driver.arena);
    text_printf(&text, "%s: %s: %s\n", fails ? "error" : "note", kind, message);
    driver_finding_begin(&json, kind, fails, message);
    driver_finding_end(&json, &text);
}

int driver_unsupported(const char *message)
{
    driver_refuse("not-supported", NULL, "%s", message);
    return DRIVER_NOT_SUPPORTED;
}

/* --- findings of launches --- */

const char *driver_stream_text(struct arena *a, int number, int node)
{
    const char *text = number > 0   ? arena_printf(a, "stream %d", number)
                       : number < 0 ? "the thread's default stream"
                                    : "the default stream";
    return node ? arena_printf(a, "node %d of a graph in %s", node, text) : text;
}

static void add_launch(struct text *json, struct text *text, const struct driver_launched *l)
{
    const struct driver_place *place = driver_site_place(&l->site, l->kernel->function->name);
    text_printf(text, "    note: launch %lld, of %s, in %s, at %s\n", (long long)l->number,
                l->kernel->shown,
                driver_stream_text(&driver.arena, l->stream->number, l->stream->node), place->text);
    driver_finding_key(json, "kernel", l->kernel->shown);
    text_printf(json, ", \"launch\": %lld, \"stream\": %d", (long long)l->number,
                l->stream->number);
    if (l->stream->node)
        text_printf(json, ", \"node\": %d", l->stream->node);
    driver_finding_site(json, place);
}

static void add_memory_notes(struct text *text, const struct sim_finding *f)
{
    const struct driver_memory *last = NULL;
    for (int i = 0; i < f->access_count; i++) {
        const struct sim_finding_access *x = &f->access[i];
        const struct driver_memory *m =
            x->memory && x->space == SIM_GLOBAL ? driver_memory_at(x->address) : NULL;
        if (m && m != last)
            driver_finding_memory(text, m);
        last = m;
    }
}

/* Adds the way out of a race between two blocks of a cooperative grid. */
static void add_grid_note(struct text *text, const struct sim_finding *f,
                          const struct driver_launched *l)
{
    const struct sim_finding_access *a = f->access;
    if (f->kind == SIM_FOUND_RACE && l->cooperative && f->access_count == 2 &&
        a[0].at.block != a[1].at.block)
        text_add(text, "    note: the launch is cooperative: grid.sync() between the two accesses "
                       "orders them\n");
}

/* Adds the reason why a kernel waits forever for memory that the host writes after the launch. */
static void add_host_note(struct text *text, const struct sim_finding *f)
{
    const struct sim_finding_access *a = f->access;
    const struct driver_memory *m =
        f->kind == SIM_FOUND_DEADLOCK && a->memory && a->space == SIM_GLOBAL
            ? driver_memory_at(a->address)
            : NULL;
    if (m && m->type != DRIVER_DEVICE_MEMORY)
        text_add(text,
                 "    note: the host cannot write this memory meanwhile: here each kernel ends "
                 "before the call that launches it returns; write it before the launch\n");
}

static bool is_race(const struct sim_finding *f)
{
    return f->kind == SIM_FOUND_RACE || f->kind == SIM_FOUND_ASYNC_RACE ||
           f->kind == SIM_FOUND_SCOPE;
}

static const char *line_of(const struct sim_report *r, const struct sim_finding_access *x)
{
    return sim_place_text(r, x->at.ins, x->at.where);
}

/* Returns the name of the memory that an access reaches, or "". */
static const char *memory_of(const struct sim_report *r, const struct sim_finding_access *x)
{
    const char *name = x->memory ? sim_report_memory_name(r, x->space, x->address) : NULL;
    return name ? name : "";
}

/* Returns true if a side of the race is at the line of the finding, on the same memory. */
static bool has_line(const struct sim_report *r, const struct sim_finding *race,
                     const struct sim_finding *f)
{
    const struct sim_finding_access *x = &f->access[0];
    for (int i = 0; i < race->access_count && f->access_count; i++)
        if (strcmp(memory_of(r, &race->access[i]), memory_of(r, x)) == 0 &&
            strcmp(line_of(r, &race->access[i]), line_of(r, x)) == 0)
            return true;
    return false;
}

/* Adds the race that causes the finding: one at its line, which leaves the bytes of a read unwritten. Or
 * adds a race that may cause it: an address or a condition may be computed from a value that was read
 * too early. */
static void add_cause(struct text *text, const struct sim_report *r, const struct sim_finding *f,
                      const struct sim_finding *races)
{
    bool unwritten = f->kind == SIM_FOUND_UNINITIALISED;
    bool may = f->kind == SIM_FOUND_OUTSIDE || f->kind == SIM_FOUND_MISALIGNED ||
               f->kind == SIM_FOUND_READ_ONLY || f->kind == SIM_FOUND_TRAP ||
               f->kind == SIM_FOUND_DEADLOCK || f->kind == SIM_FOUND_ENDLESS;
    const struct sim_finding *race = races;
    while (race && (!is_race(race) || (unwritten && !has_line(r, race, f))))
        race = race->next;
    if (race && (unwritten || may))
        text_printf(text, "    note: the race at %s %s this\n", line_of(r, &race->access[0]),
                    unwritten ? "causes" : "may cause");
}

/* Reports a finding; *races: the first of its launch. */
static void report_one(const struct sim_report *r, const struct sim_finding *f,
                       const struct sim_finding *races, const struct driver_launched *l)
{
    const struct diagnostic *d = sim_finding_diagnostic(r, f);
    struct text json, text;
    if (f->suppressed)
        return;
    text_init(&text, &driver.arena);
    diagnostic_render(&text, d, false);
    driver_finding_begin(&json, sim_found_name(f->kind), sim_report_fails(r, f->kind), f->message);
    if (!sim_report_fails(r, f->kind))
        text_add(&json, ", \"warns\": true");
    add_grid_note(&text, f, l);
    add_host_note(&text, f);
    add_cause(&text, r, f, races);
    add_launch(&json, &text, l);
    add_memory_notes(&text, f);
    text_add(&json, ", \"finding\": ");
    sim_finding_json(&json, r, f);
    driver_finding_end(&json, &text);
}

/* Races come first: other findings may follow from them. */
void driver_report_launch(const struct sim_report *report, const struct sim_finding *after,
                          const struct driver_launched *l)
{
    const struct sim_finding *first = after ? after->next : report->first;
    for (const struct sim_finding *f = first; f; f = f->next)
        if (is_race(f))
            report_one(report, f, first, l);
    for (const struct sim_finding *f = first; f; f = f->next)
        if (!is_race(f))
            report_one(report, f, first, l);
}

void driver_report_end(const char *kind, const char *message, const struct driver_launched *l)
{
    struct text json, text;
    text_init(&text, &driver.arena);
    text_printf(&text, "error: %s: %s\n", kind, message);
    driver_finding_begin(&json, kind, true, message);
    add_launch(&json, &text, l);
    driver_finding_end(&json, &text);
}

void driver_report_sampled(const struct driver_launched *l, int64_t unwatched)
{
    const unsigned *grid = l->launch.grid;
    long long blocks = (long long)grid[0] * grid[1] * grid[2];
    struct arena *a = &driver.arena;
    const struct driver_place *site = driver_site_place(&l->site, l->kernel->function->name);
    if (!driver_finding_is_new("sampled", l->kernel->function->name, site))
        return;
    const char *message =
        arena_printf(a,
                     "%lld of %lld blocks were watched: the first ones, then a sample (--limit 0 "
                     "watches all)",
                     blocks - (long long)unwatched, blocks);
    struct text json, text;
    text_init(&text, a);
    text_printf(&text, "warning: sampled: %s\n", message);
    driver_finding_begin(&json, "sampled", false, message);
    text_add(&json, ", \"warns\": true");
    add_launch(&json, &text, l);
    driver_finding_end(&json, &text);
}
