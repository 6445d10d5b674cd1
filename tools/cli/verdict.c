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
    json_key(j, "verified");
    json_bool(j, v->ok);
    json_key(j, "max_error");
    json_real(j, v->max_error);
    json_key(j, "worst_error");
    json_real(j, verdict_worst_error(v));
    json_key(j, "tolerance");
    json_real(j, v->tolerance);
    json_key(j, "got");
    json_real(j, v->got);
    json_key(j, "want");
    json_real(j, v->want);
    json_key(j, "view");
    json_string(j, v->view);
    json_key(j, "at");
    json_open_row(j);
    for (int i = 0; i < v->rank; i++)
        json_integer(j, v->at[i]);
    json_close(j, ']');
    json_key(j, "checked");
    json_integer(j, v->checked);
    json_key(j, "undecided");
    json_integer(j, v->undecided);
    json_key(j, "nans");
    json_integer(j, v->nans);
}
