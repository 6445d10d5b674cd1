/* What came of a check: findings, and the status. */
#include "check.h"

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

void check_take_timeout(struct check *c, const char *where)
{
    findings_add(&c->findings, c->name, c->program->path,
                 need_text("`%s` did not end within %g s%s%s (--time-limit)",
                           tw_kernel_name(c->kernel), c->time_limit, *where ? " with " : "", where),
                 NULL);
    check_worse(c, STATUS_FAILED);
}
