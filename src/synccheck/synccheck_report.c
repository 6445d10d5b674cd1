/* Reports findings as diagnostics: the fault at the later of the two places, the earlier place,
 * and the way out. */
#include "synccheck/synccheck_core.h"

#include <string.h>

static const struct touch *touch_at(const struct sync_check *k, int site)
{
    return &k->code.touches.data[site];
}

static int line_of(struct loc at)
{
    int line = 0, column = 0;
    if (at.source)
        loc_line_column(at, &line, &column);
    return line;
}

/* Returns ", in the next iteration," if the later access is in another round: sites are numbered
 * in program order, so an equal or lower one follows only around a loop. */
static const char *round_text(const struct sync_finding *f)
{
    return f->late <= f->early ? ", in the next iteration," : "";
}

/* Notes the calls through which the place, in the body of a fn, is reached. */
static void note_calls(struct sync_check *k, const struct touch *t)
{
    const struct inlining *i = t->inlined;
    while (i && (t->loc.source != i->body.source || t->loc.offset < i->body.offset ||
                 t->loc.offset >= i->body.offset + i->body.length))
        i = i->outer;
    for (; i; i = i->outer)
        diag_note(k->diag, i->call, "in this call of `%s`", i->name);
}

static void note_touch(struct sync_check *k, const struct touch *t, const char *what)
{
    diag_note(k->diag, t->loc, "%s", what);
    note_calls(k, t);
}

/* --- accesses --- */

static void add_access(struct sync_check *k, const struct sync_finding *f, int site, int thread)
{
    static const char *const what[] = {"read", "write", "update", "copy"};
    const struct touch *t = touch_at(k, site);
    const struct sym *tile = k->code.tiles.data[f->tile];
    struct diag_access access = {
        .at = t->loc, .what = what[t->kind], .variable = tile->name, .thread = thread};
    if (f->thread[0] >= 0)
        access.rank = tile->type.rank;
    memcpy(access.index, f->at, sizeof access.index);
    diag_access(k->diag, &access);
}

/* Adds two accesses that meet, the later one first. */
static void add_both(struct sync_check *k, const struct sync_finding *f, enum diag_code code)
{
    diag_code(k->diag, code);
    add_access(k, f, f->late, f->thread[0]);
    add_access(k, f, f->early, f->thread[1]);
}

/* --- races --- */

static void race_error(struct sync_check *k, const struct sync_finding *f, const char *name)
{
    const struct touch *early = touch_at(k, f->early), *late = touch_at(k, f->late);
    const char *round = round_text(f);
    const char *others = early->kind == TOUCH_READ     ? "reading"
                         : early->kind == TOUCH_ATOMIC ? "updating"
                                                       : "writing";
    if (f->waited) {
        diag_error(
            k->diag, late->loc,
            "`%s` is %s here%s after `async_wait` but without `sync()`: the parts that other "
            "threads copy may still be under way",
            name,
            late->kind == TOUCH_READ   ? "read"
            : late->kind == TOUCH_COPY ? "copied into again"
                                       : "written",
            round);
        return;
    }
    const char *what = late->kind == TOUCH_READ     ? "is read"
                       : late->kind == TOUCH_ATOMIC ? "is updated"
                       : late->kind == TOUCH_COPY   ? "is the target of a copy that begins"
                       : early->kind == TOUCH_READ  ? "is overwritten"
                                                    : "is written";
    diag_error(k->diag, late->loc, "`%s` %s here%s while other threads may still be %s it", name,
               what, round, others);
}

/* Returns "3", or "(3, 0)" with a number for each axis of the block. */
static const char *thread_text(struct sync_check *k, int t)
{
    const int *extent = k->kernel->threads;
    int x = t % extent[0], y = extent[1] > 0 ? t / extent[0] % extent[1] : 0;
    if (extent[1] <= 1 && extent[2] <= 1)
        return arena_printf(k->arena, "%d", x);
    if (extent[2] <= 1)
        return arena_printf(k->arena, "(%d, %d)", x, y);
    return arena_printf(k->arena, "(%d, %d, %d)", x, y, t / extent[0] / extent[1]);
}

static const char *element_text(struct sync_check *k, const struct sync_finding *f)
{
    const struct sym *tile = k->code.tiles.data[f->tile];
    struct text t;
    text_init(&t, k->arena);
    text_add(&t, tile->name);
    for (int i = 0; i < tile->type.rank; i++)
        text_printf(&t, "[%lld]", (long long)f->at[i]);
    return t.data;
}

static void note_threads(struct sync_check *k, const struct sync_finding *f)
{
    if (f->thread[0] >= 0)
        diag_note(k->diag, touch_at(k, f->late)->loc, "threads %s and %s meet at `%s`",
                  thread_text(k, f->thread[0]), thread_text(k, f->thread[1]), element_text(k, f));
}

/* Returns true if both accesses are in one pipeline, so that no barrier is possible between
 * them. */
static bool within_pipeline(const struct sync_check *k, const struct sync_finding *f)
{
    int pipeline = touch_at(k, f->late)->pipeline;
    return pipeline && pipeline == touch_at(k, f->early)->pipeline;
}

static void pipeline_way_out(struct sync_check *k, const struct sync_finding *f, const char *name)
{
    diag_note(k->diag, touch_at(k, f->late)->loc,
              "a pipeline cannot contain `sync()`: fill or read `%s` outside of it, or declare "
              "`%s` in its body with a part of a const view as its value",
              name, name);
}

/* Returns the nearest async_wait before the site in the program; NULL: none. */
static const struct sync_instr *wait_ahead(const struct sync_check *k, int site)
{
    const struct sync_instr *wait = NULL;
    for (size_t i = 0; i < k->code.code.count; i++) {
        const struct sync_instr *in = &k->code.code.data[i];
        if (in->kind == I_WAIT)
            wait = in;
        if (in->kind == I_TOUCH && in->first <= site && site < in->first + in->count)
            break;
    }
    return wait;
}

static void report_race(struct sync_check *k, const struct sync_finding *f, const char *name)
{
    const struct touch *early = touch_at(k, f->early), *late = touch_at(k, f->late);
    static const char *const did[] = {"read here", "written here", "updated here",
                                      "the copy begins here"};
    race_error(k, f, name);
    add_both(k, f, f->waited ? CODE_ASYNC_RACE : CODE_RACE);
    note_calls(k, late);
    if (f->early != f->late)
        note_touch(k, early, did[early->kind]);
    note_threads(k, f);
    if (within_pipeline(k, f)) {
        pipeline_way_out(k, f, name);
        return;
    }
    diag_note(k->diag, late->loc, "%s",
              f->late <= f->early
                  ? "put `sync()` between the two: at the end of the loop's body, or before this"
              : f->waited ? "put `sync()` between `async_wait` and this"
                          : "put `sync()` between the two");
    const struct sync_instr *wait = f->waited ? wait_ahead(k, f->late) : NULL;
    sync_fix_with_barrier(k, f->early, f->late, wait ? wait->loc : LOC_NONE);
}

/* Reports threads that meet within one execution of a statement. A barrier alone does not help. */
static void report_same(struct sync_check *k, const struct sync_finding *f, const char *name)
{
    const struct touch *early = touch_at(k, f->early), *late = touch_at(k, f->late);
    if (f->early == f->late) {
        diag_error(k->diag, late->loc, "several threads write the same element of `%s` here", name);
        add_both(k, f, CODE_RACE);
        note_calls(k, late);
        note_threads(k, f);
        diag_note(k->diag, late->loc, "let one thread write it, or use an atomic");
        return;
    }
    bool reads = late->kind == TOUCH_READ;
    diag_error(k->diag, late->loc, "`%s` is %s here while other threads may still be %s it", name,
               reads ? "read" : "overwritten", reads ? "writing" : "reading");
    add_both(k, f, CODE_RACE);
    note_calls(k, late);
    diag_note(k->diag, early->loc, "%s here, by the same statement", reads ? "written" : "read");
    note_threads(k, f);
    if (within_pipeline(k, f)) {
        pipeline_way_out(k, f, name);
        return;
    }
    diag_note(k->diag, early->loc,
              "read it into a variable, and put `sync()` between that and the write");
}

/* --- copies in flight --- */

static void flight_way_out(struct sync_check *k, const struct sync_finding *f)
{
    struct loc at = touch_at(k, f->late)->loc;
    const struct sync_instr *wait = wait_ahead(k, f->late);
    int64_t n = 0;
    if (wait)
        eval_int(wait->expr, NULL, &n);
    if (f->left == UNCOMMITTED && n > 0) {
        diag_note(k->diag, wait->loc,
                  "`async_wait(%lld)` waits for committed groups only: put `async_commit()` after "
                  "the copy, or `async_wait(0)` here",
                  (long long)n);
        sync_fix_number(k, wait->expr, 0);
    } else if (f->left >= 0 && n > f->left) {
        diag_note(k->diag, wait->loc,
                  "`async_wait(%lld)` leaves up to %lld group%s under way: `async_wait(%d)` would "
                  "wait for this copy",
                  (long long)n, (long long)n, n == 1 ? "" : "s", f->left);
        sync_fix_number(k, wait->expr, f->left);
    } else {
        int groups = f->age > 0 ? f->age : 0;
        diag_note(k->diag, at,
                  "the copy of line %d is not waited for: put `async_wait(%d)` and `sync()` before "
                  "%s",
                  line_of(touch_at(k, f->early)->loc), groups,
                  touch_at(k, f->late)->pipeline ? "the pipeline" : "this");
        sync_fix_with_wait(k, f->early, f->late, groups);
    }
}

static void report_flight(struct sync_check *k, const struct sync_finding *f, const char *name)
{
    const struct touch *early = touch_at(k, f->early), *late = touch_at(k, f->late);
    const char *what = late->kind == TOUCH_READ     ? "is read"
                       : late->kind == TOUCH_ATOMIC ? "is updated"
                       : late->kind == TOUCH_COPY   ? "is the target of another copy that begins"
                                                    : "is written";
    diag_error(k->diag, late->loc, "`%s` %s here%s while the copy into it may still be under way",
               name, what, round_text(f));
    add_both(k, f, CODE_ASYNC_RACE);
    note_calls(k, late);
    note_touch(k, early, "the copy begins here");
    flight_way_out(k, f);
}

/* Returns a wait in a loop that comes after the copy; NULL: none. */
static const struct sync_instr *wait_in_later_loop(const struct sync_check *k, int copy)
{
    const struct sync_instr *code = k->code.code.data;
    int count = (int)k->code.code.count, at = 0;
    while (at < count && (code[at].kind != I_TOUCH || copy < code[at].first ||
                          copy >= code[at].first + code[at].count))
        at++;
    for (int wait = at; wait < count; wait++)
        for (int jump = wait; code[wait].kind == I_WAIT && jump < count; jump++)
            if (code[jump].kind == I_JUMP && code[jump].target > at && code[jump].target <= wait)
                return &code[wait];
    return NULL;
}

static void report_end(struct sync_check *k, const struct sync_finding *f, const char *name)
{
    struct loc at = touch_at(k, f->early)->loc;
    const char *when = f->kind == FIND_END     ? "when the kernel ends"
                       : f->kind == FIND_SCOPE ? "when its scope ends"
                                               : "when it is freed";
    diag_error(k->diag, at, "the copy into `%s` may still be under way %s", name, when);
    diag_code(k->diag, CODE_ASYNC_PENDING);
    add_access(k, f, f->early, -1);
    sync_fix_at_end(k, f);
    note_calls(k, touch_at(k, f->early));
    if (f->kind == FIND_FREE)
        diag_note(k->diag, k->code.frees.data[f->late], "freed here");
    diag_note(k->diag, at, "put `async_wait(0)` before %s",
              f->kind == FIND_FREE    ? "that"
              : f->kind == FIND_SCOPE ? "the end of the scope"
                                      : "the end of the kernel");
    const struct sync_instr *wait = f->left == NEVER_LEFT ? wait_in_later_loop(k, f->early) : NULL;
    if (wait)
        diag_note(k->diag, wait->loc, "this wait is skipped if its loop runs zero times");
    if (f->kind == FIND_END && k->code.code.data[f->late].negate)
        diag_note(k->diag, k->code.code.data[f->late].loc, "the kernel ends here");
}

/* --- findings that are reported --- */

static bool is_race(const struct sync_finding *f)
{
    return f->kind == FIND_RACE;
}

static bool copies_again(const struct sync_check *k, const struct sync_finding *f)
{
    return f->kind == FIND_FLIGHT && touch_at(k, f->late)->kind == TOUCH_COPY;
}

/* Returns true if the report of `other` makes that of f unnecessary. One missing barrier lets an
 * access race with several others. One missing wait shows at the first use, at the next copy
 * into the place, and at the end. */
static bool says_enough(const struct sync_check *k, const struct sync_finding *other,
                        const struct sync_finding *f, bool earlier)
{
    if (!other->confirmed || other->tile != f->tile)
        return false;
    if (is_race(f) && is_race(other))
        return earlier && (other->late <= other->early) == (f->late <= f->early) &&
               (other->early == f->early || other->late == f->late);
    if (is_race(f) || is_race(other) || f->kind == FIND_SAME || other->kind == FIND_SAME)
        return false;
    if (f->kind == FIND_FLIGHT && !copies_again(k, f))
        return false;
    if (other->kind == FIND_FLIGHT && !copies_again(k, other))
        return true; /* a use is the clearest report */
    return earlier && (f->kind == other->kind || f->kind > FIND_FLIGHT);
}

static bool said_already(const struct sync_check *k, size_t number)
{
    for (size_t i = 0; i < k->findings.count; i++)
        if (i != number &&
            says_enough(k, &k->findings.data[i], &k->findings.data[number], i < number))
            return true;
    return false;
}

void sync_report_findings(struct sync_check *k)
{
    for (size_t i = 0; i < k->findings.count; i++) {
        const struct sync_finding *f = &k->findings.data[i];
        const char *name = k->code.tiles.data[f->tile]->name;
        if (!f->confirmed || said_already(k, i))
            continue;
        switch (f->kind) {
        case FIND_RACE: report_race(k, f, name); break;
        case FIND_SAME: report_same(k, f, name); break;
        case FIND_FLIGHT: report_flight(k, f, name); break;
        case FIND_FREE:
        case FIND_SCOPE:
        case FIND_END: report_end(k, f, name); break;
        }
    }
}
