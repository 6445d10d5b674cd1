/* Stores the results of a run in its row. */
#include "bench/bench.h"
#include "cli/verdict.h"

#include <string.h>

const char *const bench_from_names[] = {"default",
                                        "--tune",
                                        "tuned",
                                        "tuned for the nearest sizes",
                                        "best as measured",
                                        "best as predicted",
                                        "best by the model"};

void bench_origin(const struct bench_row *row, char *out, size_t size)
{
    bool other = row->from == BENCH_BEST_NEAREST || row->from == BENCH_BEST_MODEL;
    const char *nearest = other ? row->choice.nearest : "";
    snprintf(out, size, "%s%s%s", bench_from_names[row->from], *nearest ? " from " : "", nearest);
}

void bench_explain(struct bench_row *row, const tw_context *ctx, tw_status s)
{
    tw_message m = {.size = sizeof m, .text = tw_status_text(s)};
    tw_context_message(ctx, 0, &m);
    if (m.file)
        snprintf(row->why, sizeof row->why, "%s:%d: %s", m.file, m.line, m.text);
    else
        snprintf(row->why, sizeof row->why, "%s", m.text);
}

static void say_checked(struct bench_row *row, const char *with)
{
    size_t at = strlen(row->checked);
    snprintf(row->checked + at, sizeof row->checked - at, "%s%s", at ? "; " : "", with);
}

void bench_take_check(struct bench_row *r, const struct value_check *v, const char *with)
{
    bool first = !r->compared;
    say_checked(r, with);
    r->compared = true;
    r->result = v->ok ? r->result : BENCH_FAIL;
    r->error = first || v->max_error > r->error ? v->max_error : r->error;
    if (first || !v->ok) {
        r->worst_error = v->worst_error;
        r->allowed = v->tolerance;
    }
    if (!v->ok && !*r->why)
        snprintf(r->why, sizeof r->why, "element %lld of C is off by %.3g, %.3g is allowed (%s)",
                 (long long)v->at, v->worst_error, v->tolerance, with);
}

void bench_take_samples(struct bench_row *r, const struct value_check *v)
{
    char with[64];
    snprintf(with, sizeof with, "%lld elements in double precision", (long long)v->compared);
    bench_take_check(r, v, with);
}

void bench_take_verdict(struct bench_row *r, const tw_context *ctx, tw_status s,
                        const tw_verdict *v)
{
    r->compared = s == TW_OK || s == TW_WRONG_VALUES;
    r->result = s == TW_OK ? BENCH_PASS : BENCH_FAIL;
    if (s != TW_OK)
        bench_explain(r, ctx, s);
    if (!r->compared)
        return;
    char with[96];
    snprintf(with, sizeof with, "%lld of %lld elements by ensures",
             (long long)(v->checked - v->undecided), (long long)v->checked);
    r->all_ensured = !v->undecided;
    say_checked(r, r->all_ensured ? "all elements by ensures" : with);
    r->error = v->max_error;
    r->worst_error = verdict_worst_error(v);
    r->allowed = v->tolerance;
}
