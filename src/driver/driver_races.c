/* Reports of work with no order between. */
#include "driver/driver_order.h"

#include "sim/sim_report.h"

/* "launch 2, of scale," or "cudaMemcpyAsync" */
static const char *work_text(struct arena *a, const struct driver_work *w)
{
    return w->kernel
               ? arena_printf(a, "launch %lld, of %s,", (long long)w->launch, w->kernel->shown)
               : w->call;
}

static const char *where_text(struct arena *a, const struct driver_work *w)
{
    return driver_stream_text(a, w->stream, w->node);
}

static const char *verb(const struct driver_work *w, unsigned touch)
{
    if (w && w->verb)
        return w->verb;
    return touch & (DRIVER_WRITES | DRIVER_WRITES_ATOMICALLY) ? "writes" : "reads";
}

static const struct driver_place *place_of(const struct driver_work *w)
{
    return driver_site_place(&w->site, w->kernel ? w->kernel->function->name : NULL);
}

/* Returns the line of a kernel that touched the byte ("scale.cu:8:9"); "" for other work. */
static const char *line_text(const struct driver_work *w, const struct ptx_instruction *ins)
{
    struct sim_report *r = driver_machine_report();
    const struct ptx_module *module = r->module;
    if (!w->kernel || !ins || !ins->line)
        return "";
    r->module = w->kernel->from->module;
    const char *text = sim_place_text(r, ins, LOC_NONE);
    r->module = module;
    return text;
}

/* Adds a note of one side: its line, and its call. */
static void note_side(struct text *text, struct text *json, const char *key,
                      const struct driver_work *w, unsigned touch,
                      const struct ptx_instruction *ins)
{
    struct arena *a = &driver.arena;
    const char *line = line_text(w, ins);
    const struct driver_place *site = place_of(w);
    text_printf(text, "%s%snote: %s in %s, at %s, %s it\n", line, *line ? ": " : "    ",
                work_text(a, w), where_text(a, w), site->text, verb(w, touch));
    text_printf(json, ", \"%s\": {\"does\": \"%s\", \"stream\": %d", key, verb(w, touch),
                w->stream);
    if (w->node)
        text_printf(json, ", \"node\": %d", w->node);
    if (w->kernel)
        text_printf(json, ", \"launch\": %lld", (long long)w->launch);
    driver_finding_key(json, "call", w->call);
    driver_finding_key(json, "kernel", w->kernel ? w->kernel->shown : NULL);
    driver_finding_site(json, site);
    driver_finding_key(json, "line", *line ? line : NULL);
    text_add(json, "}");
}

/* "byte 16 of allocation 2" */
static const char *byte_text(struct arena *a, uint64_t address)
{
    const struct driver_memory *m = driver_memory_at(address);
    return m ? arena_printf(a, "byte %llu of %s", (unsigned long long)(address - m->address),
                            m->name)
             : arena_printf(a, "the byte at 0x%llx", (unsigned long long)address);
}

struct race {
    const struct driver_work *first, *second; /* of a race of the host: the host, or NULL */
    const struct driver_overlap *overlap;
};

/* Returns true if the file of suppressions names a side of the race: its call, kernel or line. */
static bool is_side_suppressed(const char *kind, const struct driver_work *w,
                               const struct ptx_instruction *ins)
{
    return driver.is_suppressed &&
           driver.is_suppressed(kind, place_of(w), w->kernel ? w->kernel->shown : NULL,
                                line_text(w, ins));
}

/* Adds the way out of a race of two streams. */
static void note_order(struct text *text, const struct driver_work *first,
                       const struct driver_work *second)
{
    struct arena *a = &driver.arena;
    const struct driver_work *other = first->stream ? first : second;
    const struct driver_stream *s = driver_order_stream_at(other->slot);
    if ((!first->stream || !second->stream) && s && s->flags & DRIVER_NON_BLOCKING && !other->node)
        text_printf(text,
                    "    note: %s was created with cudaStreamNonBlocking, so it and the default "
                    "stream do not wait for each other\n",
                    where_text(a, other));
    text_printf(text,
                "    note: record an event in %s after the first, and let %s wait for it "
                "(cudaStreamWaitEvent)\n",
                driver_stream_text(a, first->stream, 0), driver_stream_text(a, second->stream, 0));
}

static int report_race(void *user)
{
    const struct race *r = user;
    const struct driver_overlap *o = r->overlap;
    struct arena *a = &driver.arena;
    const char *places =
        arena_printf(a, "%s|%s|%s", place_of(r->first)->text, line_text(r->first, o->ins[0]),
                     line_text(r->second, o->ins[1]));
    if (is_side_suppressed("stream-race", r->first, o->ins[0]) ||
        is_side_suppressed("stream-race", r->second, o->ins[1]) ||
        !driver_finding_is_new("stream-race", places, place_of(r->second)))
        return DRIVER_SUCCESS;
    const char *message =
        arena_printf(a, "%s in %s and %s in %s use %s, with no order between them",
                     work_text(a, r->first), where_text(a, r->first), work_text(a, r->second),
                     where_text(a, r->second), byte_text(a, o->address));
    struct text json, text;
    text_init(&text, a);
    text_printf(&text, "error: stream-race: %s\n", message);
    driver_finding_begin(&json, "stream-race", true, message);
    note_side(&text, &json, "first", r->first, o->touch[0], o->ins[0]);
    note_side(&text, &json, "second", r->second, o->touch[1], o->ins[1]);
    if (driver_memory_at(o->address))
        driver_finding_memory(&text, driver_memory_at(o->address));
    bool same_stream = r->first->stream == r->second->stream && !r->first->node == !r->second->node;
    if (r->second->early)
        text_printf(&text,
                    "    note: launch %lld may begin before the previous kernel has ended: call "
                    "cudaGridDependencySynchronize() (griddepcontrol.wait) before this access\n",
                    (long long)r->second->launch);
    else if (r->second->dependent && same_stream)
        text_printf(&text,
                    "    note: launch %lld waits for the kernel before it alone, which calls no "
                    "cudaGridDependencySynchronize() of its own and may end first\n",
                    (long long)r->second->launch);
    else if (r->first->node && r->second->node)
        text_add(&text, "    note: add an edge between the nodes (cudaGraphAddDependencies), or an "
                        "event during the capture\n");
    else
        note_order(&text, r->first, r->second);
    driver_finding_end(&json, &text);
    return DRIVER_SUCCESS;
}

void driver_report_race(const struct driver_work *first, const struct driver_work *second,
                        const struct driver_overlap *overlap)
{
    struct race r = {first, second, overlap};
    driver_guard(report_race, &r);
}

static int report_host_race(void *user)
{
    const struct race *r = user;
    const struct driver_overlap *o = r->overlap;
    struct arena *a = &driver.arena;
    struct driver_site here;
    struct text json, text;
    driver_site_here(&here);
    const struct driver_place *site = driver_site_place(&here, NULL);
    if (is_side_suppressed("host-race", r->first, o->ins[0]) ||
        !driver_finding_is_new("host-race", place_of(r->first)->text, site))
        return DRIVER_SUCCESS;
    const char *message =
        arena_printf(a, "the host %s %s while %s in %s, which it has not waited for, %s it",
                     verb(r->second, o->touch[1]), byte_text(a, o->address), work_text(a, r->first),
                     where_text(a, r->first), verb(r->first, o->touch[0]));
    text_init(&text, a);
    text_printf(&text, "error: host-race: %s\n    note: the host is at %s\n", message, site->text);
    driver_finding_begin(&json, "host-race", true, message);
    driver_finding_site(&json, site);
    note_side(&text, &json, "first", r->first, o->touch[0], o->ins[0]);
    if (driver_memory_at(o->address))
        driver_finding_memory(&text, driver_memory_at(o->address));
    text_add(&text, "    note: call cudaStreamSynchronize, cudaEventSynchronize or "
                    "cudaDeviceSynchronize before\n");
    driver_finding_end(&json, &text);
    return DRIVER_SUCCESS;
}

void driver_report_host_race(const struct driver_work *w, const struct driver_overlap *overlap,
                             const struct driver_work *host)
{
    struct race r = {w, host, overlap};
    driver_guard(report_host_race, &r);
}
