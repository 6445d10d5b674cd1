/* Records the results of a check: findings, remarks, and the status. */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

void check_worse(struct check *c, int status, tw_status reason)
{
    if (status <= c->status)
        return;
    c->status = status;
    c->outcome = reason;
}

void check_set_deadline(struct check *c, bool of_run)
{
    enum { LARGE_SECONDS = 1 };
    double limit = c->pin.is_large && c->time_limit > LARGE_SECONDS ? LARGE_SECONDS : c->time_limit;
    double now = seconds_now(), run_ends = now + limit;
    double took = c->run_began > 0 ? now - c->run_began : 0;
    c->longest_run = took > c->longest_run ? took : c->longest_run;
    c->run_began = of_run ? now : 0;
    c->deadline.at = of_run && (c->ends == 0 || run_ends < c->ends) ? run_ends : c->ends;
}

/* Reports that the time of the whole command is up. */
static void take_end(struct check *c, const char *where)
{
    tw_message m = tw_message_init();
    if (!tw_context_message(c->program->ctx, 0, &m) || m.code != TW_CODE_CANCELLED)
        m.text = "between two runs";
    findings_add(&c->findings, TW_CODE_CANCELLED, c->name, c->program->path,
                 need_text("`%s` is not checked to the end: time is up (--time-limit %g), %s%s%s",
                           c->name, c->time_limit, m.text, *where ? " with " : "", where),
                 NULL);
    check_worse(c, STATUS_FAILED, TW_CANCELLED);
}

void check_take_messages(struct check *c, tw_status s, const char *what, const char *where)
{
    const tw_context *ctx = c->program->ctx;
    if (s == TW_CANCELLED) {
        take_end(c, where);
        return;
    }
    int before = c->findings.count;
    findings_take(&c->findings, ctx, c->name, what, where);
    if (s != TW_OK && !*tw_context_messages(ctx) && before == c->findings.count)
        findings_add(&c->findings, TW_CODE_OTHER, c->name, c->program->path,
                     need_text("%s", tw_status_text(s)), where);
    if (s != TW_OK)
        check_worse(c,
                    s == TW_UNSYNCHRONISED || s == TW_FAULT || s == TW_WRONG_VALUES ? STATUS_FAILED
                                                                                    : STATUS_USAGE,
                    s);
}

void check_take_unreached(struct check *c, const struct check_pin *pin)
{
    if (pin->value > pin->constant)
        remarks_add(&c->unreached,
                    need_text("no size reached past `%s` = %lld, a comparison or the end of a "
                              "slice: larger arrays take too long (--set %s=%lld tries one)",
                              pin->param, (long long)pin->constant, pin->param,
                              (long long)pin->value),
                    "");
}

void check_take_unjudged(struct check *c, const char *inputs, const char *where)
{
    tw_message m = {.size = sizeof m, .text = ""};
    if (!c->verbose && !c->to_json)
        return;
    tw_context_message(c->program->ctx, 0, &m);
    char *line = need_text("not decided whether values are right of %s inputs: ", inputs);
    if (m.file)
        append_text(&line, "%s:%d: ", m.file, m.line);
    append_text(&line, "%s", m.text);
    remarks_add(&c->undecided, line, where);
}

/* Returns " --fill rand" for the arrays that `check` fills by itself, and the uses of --fill.
 * The caller frees. */
static char *fill_options(const struct check *c)
{
    char *text = NULL;
    bool any = false;
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(c->kernel, i, &p) == TW_OK; i++) {
        enum fill kind = p.is_pointer ? settings_fill(c->given, p.name) : FILL_NONE;
        any = any || (p.is_const && p.is_pointer && kind == FILL_NONE);
        if (kind != FILL_NONE)
            append_text(&text, " --fill %s=%s", p.name, fill_name(kind));
    }
    char *all = need_text("%s%s", any ? " --fill rand" : "", text ? text : "");
    free(text);
    return all;
}

/* Repeats the unfinished run on the simulator, which reports where the kernel is when its step
 * limit is reached. */
static void note_where_it_hangs(struct check *c, const char *order)
{
    double at = c->deadline.at;
    c->deadline.at = 0; /* reported even though the time is up */
    char *sets = set_options(c->launch, c->kernel), *choice = space_options(&c->space),
         *fills = fill_options(c);
    c->deadline.at = at;
    bool only = tw_module_kernel_count(c->program->module) == 1;
    char *note = need_text("`tilewright run %s%s%s%s%s%s --device sim%s --step-limit 100000` says "
                           "at which line",
                           c->program->path, only ? "" : ":", only ? "" : c->name, sets, choice,
                           fills, order);
    findings_note(&c->findings, note);
    free(note);
    free(fills);
    free(choice);
    free(sets);
}

void check_take_timeout(struct check *c, const char *where, const char *order)
{
    if (c->pin.is_large && (c->ends == 0 || seconds_now() < c->ends)) {
        if (!*order) /* the CPU ran sizes for which the simulator is too slow */
            check_take_unreached(c, &c->pin);
        return; /* the work may grow faster than the size does */
    }
    /* the command's limit may end even a fast kernel's run */
    bool hangs = c->longest_run > c->time_limit / 2;
    const char *with = *where ? " with " : "";
    char *text = hangs ? need_text("`%s` did not end within %g s%s%s (--time-limit)", c->name,
                                   c->time_limit, with, where)
                       : need_text("`%s` is not checked to the end: time is up (--time-limit %g), "
                                   "while it ran%s%s",
                                   c->name, c->time_limit, with, where);
    findings_add(&c->findings, TW_CODE_CANCELLED, c->name, c->program->path, text, NULL);
    if (hangs)
        note_where_it_hangs(c, order);
    check_worse(c, STATUS_FAILED, TW_CANCELLED);
}
