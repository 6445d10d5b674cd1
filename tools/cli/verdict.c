#include "cli/verdict.h"

#include <math.h>

double verdict_worst_error(const tw_verdict *v)
{
    if (v->got == v->want) /* infinities too */
        return 0;
    return isnan(v->got) && isnan(v->want) ? 0 : fabs(v->got - v->want);
}

/* Says how many elements are NaN as `ensures` says, and if nearly all are, that this tests little. */
static void append_nans(char **text, long long nans, long long judged)
{
    if (nans == judged && nans > 0)
        append_text(text, "; all are NaN on both sides, so no value was tested: verify with other "
                          "inputs");
    else if (nans > 0)
        append_text(text, "; NaN on both sides: %lld%s", nans,
                    nans >= judged - judged / 20
                        ? ", so few values were tested: verify with other inputs"
                        : "");
}

char *verdict_text(const tw_verdict *v)
{
    double error = verdict_worst_error(v);
    long long judged = v->checked - v->undecided;
    char *text = v->undecided ? need_text("%lld of %lld elements, ", judged, (long long)v->checked)
                              : need_text("%lld element%s, ", judged, judged == 1 ? "" : "s");
    if (v->max_error == 0)
        append_text(&text, "each exactly as `ensures` says");
    else if (v->tolerance > 0)
        append_text(&text,
                    "largest error %.2g; worst element uses %.2g%% of its tolerance (error %.2g, "
                    "allowed %.2g)",
                    v->max_error, 100 * error / v->tolerance, error, v->tolerance);
    else
        append_text(&text, "largest error %.2g", v->max_error);
    append_nans(&text, (long long)v->nans, judged);
    if (v->undecided)
        append_text(&text,
                    "; not judged: %lld, for which rounding, overflow or division by zero may give "
                    "anything",
                    (long long)v->undecided);
    return text;
}

void verdict_json(const tw_verdict *v, struct json *j)
{
    json_put_bool(j, "verified", v->ok);
    json_put_real(j, "max_error", v->max_error);
    json_put_real(j, "worst_error", verdict_worst_error(v));
    json_put_real(j, "tolerance", v->tolerance);
    json_put_real(j, "got", v->got);
    json_put_real(j, "want", v->want);
    json_put_text(j, "view", v->view);
    json_put_integers(j, "at", v->rank, v->at);
    json_put_integer(j, "checked", v->checked);
    json_put_integer(j, "undecided", v->undecided);
    json_put_integer(j, "nans", v->nans);
}
