#include "lsp/lsp.h"
#include "cli/tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECONDS_OF_QUIET 0.1 /* between a change and the check of the text */
#define MOST_SECONDS 10.0    /* limit for the check of one text */
enum { MOST_CHECK_STEPS = 1000000, MOST_FINDINGS = 200, MOST_FACTS = 4000 };

/* Check of one text. */
struct analysis {
    struct lsp_text text;
    char *path, *device, *import_folders;
    atomic_bool *cancel;
    double deadline;
    bool late;       /* time limit reached */
    bool for_device; /* looks for errors of the device, not of the language */
    tw_context *ctx;
    struct lsp_import_line *imports;
    int import_count;
    struct lsp_results results;
};

static bool asked_to_end(void *user)
{
    struct analysis *a = user;
    a->late = a->late || seconds_now() > a->deadline;
    return a->late || atomic_load(a->cancel);
}

void lsp_results_free(struct lsp_results *r)
{
    for (int i = 0; i < r->finding_count; i++) {
        struct lsp_finding *f = &r->findings[i];
        for (int k = 0; k < f->note_count; k++)
            free(f->notes[k].text);
        for (int k = 0; k < f->fix_count; k++)
            free(f->fixes[k].insert);
        free(f->notes);
        free(f->fixes);
        free(f->text);
        free(f->title);
    }
    for (int i = 0; i < r->fact_count; i++) {
        free(r->facts[i].kernel);
        free(r->facts[i].tile);
        free(r->facts[i].text);
    }
    free(r->findings);
    free(r->facts);
    *r = (struct lsp_results){0};
}

/* --- messages --- */

/* Returns the import of the file, else the first one, because other files are imported through
 * one. */
static struct lsp_span import_of(const struct analysis *a, const char *file)
{
    for (int i = 0; i < a->import_count; i++)
        if (strcmp(a->imports[i].path, file) == 0)
            return a->imports[i].at;
    return a->import_count ? a->imports[0].at : (struct lsp_span){0, 0};
}

static struct lsp_span span_of(const struct analysis *a, const tw_message *m)
{
    struct lsp_span s;
    bool here = m->file && strcmp(m->file, a->path) == 0;
    if (!here)
        return m->file ? import_of(a, m->file) : (struct lsp_span){0, 0};
    s.begin = lsp_offset_of_place(&a->text, m->line, m->column);
    s.end = s.begin + (size_t)(m->length > 0 ? m->length : 1);
    if (s.end > a->text.length)
        s.end = a->text.length;
    return s;
}

static void add_note(const struct analysis *a, struct lsp_finding *f, const tw_message *note)
{
    struct lsp_span at = span_of(a, note);
    bool here = note->file && strcmp(note->file, a->path) == 0;
    if (!f->title)
        f->title = need_text("%s", note->text);
    if (note->file && !here) {
        append_text(&f->text, "\n%s:%d: %s", note->file, note->line, note->text);
        return;
    }
    if (!here || at.begin == f->at.begin) {
        append_text(&f->text, "\n%s", note->text);
        return;
    }
    ADD_TO(f->notes, f->note_count, (struct lsp_note){at, need_text("%s", note->text)});
}

static void add_fixes(const struct analysis *a, struct lsp_finding *f, const tw_message *m)
{
    f->fixes = m->edit_count ? need_memory((size_t)m->edit_count * sizeof *f->fixes) : NULL;
    for (; f->fix_count < m->edit_count; f->fix_count++) {
        const tw_edit *e = m->edits[f->fix_count];
        size_t begin = lsp_offset_of_place(&a->text, e->line, e->column);
        size_t end = begin + (size_t)e->remove;
        f->fixes[f->fix_count] = (struct lsp_fix){
            {begin, end < a->text.length ? end : a->text.length}, need_text("%s", e->insert)};
    }
}

static bool is_known(const struct lsp_results *r, const struct lsp_finding *f)
{
    for (int i = 0; i < r->finding_count - 1; i++)
        if (r->findings[i].at.begin == f->at.begin && strcmp(r->findings[i].text, f->text) == 0)
            return true;
    return false;
}

/* Adds the context's message `index` with its notes. Returns the index of the next message. */
static int add_finding(struct analysis *a, int index, const tw_message *m)
{
    struct lsp_results *r = &a->results;
    bool here = m->file && strcmp(m->file, a->path) == 0;
    struct lsp_finding *f = ADD_NEW(r->findings, r->finding_count);
    /* a kernel that exceeds this device's limits may be right on another */
    bool lacks = a->for_device && (m->code == TW_CODE_TARGET || m->code == TW_CODE_PROGRAM);
    *f = (struct lsp_finding){.severity =
                                  lacks && m->severity == TW_ERROR ? TW_WARNING : m->severity,
                              .code = m->code,
                              .at = span_of(a, m)};
    f->text = m->file && !here ? need_text("%s:%d: %s", m->file, m->line, m->text)
                               : need_text("%s", m->text);
    tw_message note = tw_message_init();
    while (tw_context_message(a->ctx, ++index, &note) && note.severity == TW_NOTE)
        add_note(a, f, &note);
    if (here)
        add_fixes(a, f, m);
    if (!f->title && f->fix_count)
        f->title = need_text("%s", m->text);
    if (is_known(r, f)) { /* found for another target */
        struct lsp_results one = {f, 1, NULL, 0};
        r->finding_count--;
        one.findings = need_memory(sizeof *f);
        *one.findings = *f;
        lsp_results_free(&one);
    }
    return index;
}

static void add_messages(struct analysis *a, bool errors_alone)
{
    tw_message m = tw_message_init();
    for (int i = 0; tw_context_message(a->ctx, i, &m) && a->results.finding_count < MOST_FINDINGS;)
        if (m.code == TW_CODE_CANCELLED || m.severity == TW_NOTE ||
            (errors_alone && m.severity != TW_ERROR))
            i++;
        else
            i = add_finding(a, i, &m);
}

/* --- facts --- */

static void add_fact(struct analysis *a, struct lsp_fact fact)
{
    struct lsp_results *r = &a->results;
    if (r->fact_count % 64 == 0)
        r->facts = need_more_memory(r->facts, (size_t)(r->fact_count + 64) * sizeof *r->facts);
    r->facts[r->fact_count++] = fact;
}

static char *tile_text(const tw_tile *t, const char *device)
{
    char *text = need_text("%s", t->type == TW_DTYPE_NONE ? "" : tw_dtype_name(t->type));
    for (int i = 0; i < t->rank; i++)
        append_text(&text, "[%" PRId64 "]", t->shape[i]);
    if (t->shared)
        append_text(&text, " on %s: %" PRId64 " bytes of shared memory, %s", device, t->bytes,
                    t->form ? t->form : "plain");
    else
        append_text(&text, " on %s: %d element%s a thread", device, t->held,
                    t->held == 1 ? "" : "s");
    if (!t->shared && t->copies > 1)
        append_text(&text, ", each in up to %d threads", t->copies);
    if (t->layout)
        append_text(&text, "\n`%s`", t->layout);
    return text;
}

static char *access_text(const tw_tile_access *x, const char *device)
{
    char *text = need_text("%s %s on %s: %s", x->store ? "write of" : "read of",
                           x->shared ? "shared memory" : "global memory", device, x->how);
    append_text(&text, ", %d bytes a lane, %" PRId64 " instruction%s a block", x->bytes,
                x->instructions, x->instructions == 1 ? "" : "s");
    if (x->shared && x->wavefronts)
        append_text(&text, ", %" PRId64 " wavefronts (at least %" PRId64 ")%s", x->wavefronts,
                    x->least, x->wavefronts > x->least ? ": bank conflicts" : "");
    return text;
}

static void add_facts(struct analysis *a, const char *kernel, const tw_layouts *y)
{
    int threads = y->block[0] * y->block[1] * y->block[2];
    add_fact(
        a, (struct lsp_fact){.kernel = need_text("%s", kernel),
                             .text = need_text("%d threads a block on %s, %" PRId64
                                               " bytes of shared memory, about %d registers a "
                                               "thread",
                                               threads, a->device, y->shared_bytes, y->registers)});
    for (int i = 0; i < y->tile_count && a->results.fact_count < MOST_FACTS; i++)
        if (y->tiles[i].name && y->tiles[i].layout)
            add_fact(a, (struct lsp_fact){.kernel = need_text("%s", kernel),
                                          .tile = need_text("%s", y->tiles[i].name),
                                          .text = tile_text(&y->tiles[i], a->device)});
    for (int i = 0; i < y->access_count && a->results.fact_count < MOST_FACTS; i++)
        if (y->accesses[i].line > 0 && y->accesses[i].tile)
            add_fact(a, (struct lsp_fact){.kernel = need_text("%s", kernel),
                                          .tile = need_text("%s", y->accesses[i].tile),
                                          .line = y->accesses[i].line,
                                          .column = y->accesses[i].column,
                                          .text = access_text(&y->accesses[i], a->device)});
}

/* --- checking --- */

/* Checks the kernel for its target, with default tuned values and types. */
static tw_launch *check_for(struct analysis *a, tw_kernel *k)
{
    tw_launch *l;
    tw_status s = tw_launch_new(k, &l);
    if (s != TW_OK)
        return NULL;
    s = tw_launch_check(l);
    add_messages(a, false);
    if (s == TW_OK)
        return l;
    tw_launch_free(l);
    return NULL;
}

static void check_kernel(struct analysis *a, tw_kernel *k)
{
    tw_kernel *targeted;
    tw_layouts layouts = tw_layouts_init();
    a->for_device = false;
    tw_launch *l = check_for(a, k);
    if (!l)
        return;
    a->for_device = true;
    tw_launch_free(l);
    if (strcmp(a->device, "cpu") == 0)
        return;
    if (tw_kernel_for_target(k, a->device, &targeted) != TW_OK) {
        add_messages(a, true);
        return;
    }
    l = check_for(a, targeted);
    if (!l)
        return;
    if (tw_launch_layouts(l, &layouts) == TW_OK)
        add_facts(a, tw_kernel_name(k), &layouts);
    else
        add_messages(a, true); /* its warnings are about sizes that nothing has set */
    tw_launch_free(l);
}

/* Adds a note that the check is incomplete. */
static void add_late(struct analysis *a)
{
    struct lsp_results *r = &a->results;
    ADD_TO(
        r->findings, r->finding_count,
        (struct lsp_finding){
            .severity = TW_NOTE,
            .code = TW_CODE_CANCELLED,
            .text = need_text("not all checks ended within %g s: `tilewright check` has no limit",
                              MOST_SECONDS)});
}

static void analyse(struct analysis *a)
{
    tw_config config = {.size = sizeof config,
                        .threads = 1,
                        .cancelled = asked_to_end,
                        .cancelled_user = a,
                        .cache = "",
                        .import_path = a->import_folders,
                        .check_steps = MOST_CHECK_STEPS};
    tw_module *m;
    a->deadline = seconds_now() + MOST_SECONDS;
    if (tw_context_new(&config, &a->ctx) != TW_OK)
        return;
    a->import_count = lsp_import_lines(a->ctx, a->path, &a->text, &a->imports);
    tw_status s = tw_module_from_text(a->ctx, a->path, a->text.bytes, a->text.length, &m);
    add_messages(a, false);
    for (int i = 0; s == TW_OK && i < tw_module_kernel_count(m) && !asked_to_end(a); i++)
        check_kernel(a, tw_module_kernel_at(m, i));
    if (a->late)
        add_late(a);
    lsp_import_lines_free(a->imports, a->import_count);
    tw_context_free(a->ctx);
}

/* --- the thread --- */

/* Waits for a document with an unchecked text that has not changed for a moment. Returns NULL if
 * the session ends. Requires the lock. */
static struct lsp_document *next_document(struct lsp *l)
{
    while (!l->ends) {
        double least = -1, now = seconds_now();
        for (struct lsp_document *d = l->documents; d; d = d->next) {
            double left = d->waits ? d->changed + SECONDS_OF_QUIET - now : -1;
            if (d->waits && left <= 0)
                return d;
            if (d->waits && (least < 0 || left < least))
                least = left;
        }
        if (least < 0) {
            pthread_cond_wait(&l->news, &l->lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        long nanoseconds = until.tv_nsec + (long)(least * 1e9) + 1000000;
        until.tv_sec += nanoseconds / 1000000000;
        until.tv_nsec = nanoseconds % 1000000000;
        pthread_cond_timedwait(&l->news, &l->lock, &until);
    }
    return NULL;
}

/* Moves the results to the document, if its text is still the same. Requires the lock. */
static void take_results(struct lsp *l, long revision, struct analysis *a)
{
    struct lsp_document *d = l->documents;
    while (d && d->revision != revision)
        d = d->next;
    if (d && !atomic_load(&l->cancel)) {
        lsp_results_free(&d->results);
        d->results = a->results;
        d->checked = revision;
        lsp_publish(d);
    } else
        lsp_results_free(&a->results);
    l->under_way = NULL;
    pthread_cond_broadcast(&l->news);
}

void *lsp_check_documents(void *argument)
{
    struct lsp *l = argument;
    struct lsp_document *d;
    pthread_mutex_lock(&l->lock);
    while ((d = next_document(l))) {
        char *bytes = need_memory(d->text.length + 1);
        memcpy(bytes, d->text.bytes, d->text.length);
        struct analysis a = {.text = lsp_text_of(bytes, d->text.length),
                             .path = need_text("%s", d->path),
                             .device = need_text("%s", l->device),
                             .import_folders = l->import_folders,
                             .cancel = &l->cancel};
        long revision = d->revision;
        d->waits = false;
        l->under_way = d;
        atomic_store(&l->cancel, false);
        pthread_mutex_unlock(&l->lock);
        analyse(&a);
        pthread_mutex_lock(&l->lock);
        take_results(l, revision, &a);
        lsp_text_free(&a.text);
        free(a.path);
        free(a.device);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}
