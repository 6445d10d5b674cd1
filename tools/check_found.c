/* What came of a check: findings, and the status. */
#include "check.h"

#include <stdlib.h>

void check_worse(struct check *c, int status)
{
    if (status > c->status)
        c->status = status;
}

void check_take_messages(struct check *c, tw_status s, const char *what, const char *where)
{
    const tw_context *ctx = c->program->ctx;
    int before = c->findings.count;
    findings_take(&c->findings, ctx, c->name, what, where);
    if (s != TW_OK && !*tw_context_messages(ctx) && before == c->findings.count)
        findings_add(&c->findings, c->name, c->program->path, need_text("%s", tw_status_text(s)),
                     where);
    if (s != TW_OK)
        check_worse(c, s == TW_UNSYNCHRONISED || s == TW_FAULT || s == TW_WRONG_VALUES
                           ? STATUS_FAILED
                           : STATUS_USAGE);
}

/* The run that did not end, for the simulator: it says where a kernel is when its steps are over. */
static void note_where_it_hangs(struct check *c)
{
    char *sizes = NULL, value[32];
    tw_param p;
    tw_scalar v;
    for (int i = 0; tw_kernel_param(c->kernel, i, &p) == TW_OK; i++) {
        if (p.is_pointer || tw_launch_value(c->launch, p.name, &v) != TW_OK)
            continue;
        format_scalar(value, sizeof value, v);
        append_text(&sizes, "%s%s=%s", sizes ? "," : " --set ", p.name, value);
    }
    bool only = tw_module_kernel_count(c->program->module) == 1;
    char *note =
        need_text("`tilewright run %s%s%s%s --device sim --step-limit 100000` says at which "
                  "line",
                  c->program->path, only ? "" : ":", only ? "" : c->name, sizes ? sizes : "");
    findings_note(&c->findings, note);
    free(note);
    free(sizes);
}

void check_take_timeout(struct check *c, const char *where)
{
    findings_add(&c->findings, c->name, c->program->path,
                 need_text("`%s` did not end within %g s%s%s (--time-limit)",
                           tw_kernel_name(c->kernel), c->time_limit, *where ? " with " : "", where),
                 NULL);
    note_where_it_hangs(c);
    check_worse(c, STATUS_FAILED);
}
