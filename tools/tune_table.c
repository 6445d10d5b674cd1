/* --table: a family's table, the file of measured times from which programs choose variants
 * (docs/families.md).
 *
 * A variant is a kernel with tuned values. The table has the few variants with which the loss is
 * least: the time of the best of them at a size, divided by that of the best of all, as the
 * geometric mean over the sizes. They are chosen greedily. Then those that were not measured at
 * some size are measured there, because a choice at other sizes is predicted from whole rows. */
#include "table_file.h"
#include "tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double unmeasured =
    16; /* times the best: a size at which no chosen variant has a time */
static const double least_gain = 1e-4; /* of the mean logarithm, by a further variant */

/* Returns the milliseconds of a candidate at a problem; 0: not measured there. Candidates that are
 * the same program there have one time. */
static double time_of(const struct tuning *t, int problem, int candidate)
{
    const struct trial *x = trial_at(t, problem, candidate);
    while (x->state == TRIAL_SAME)
        x = trial_at(t, problem, x->same);
    return x->state == TRIAL_MEASURED ? x->ms : 0;
}

/* --- choosing --- */

struct chooser {
    struct tuning *t;
    double *ratios; /* [candidate][problem]: logarithm of the time divided by the best one */
    double *best;   /* by problem: of those chosen */
};

static double *ratio_at(const struct chooser *c, int candidate, int problem)
{
    return &c->ratios[(size_t)candidate * (size_t)c->t->problem_count + (size_t)problem];
}

static void find_ratios(struct chooser *c)
{
    const struct tuning *t = c->t;
    for (int p = 0; p < t->problem_count; p++) {
        double best = 0;
        for (int i = 0; i < t->candidate_count; i++) {
            double ms = time_of(t, p, i);
            best = ms > 0 && (best == 0 || ms < best) ? ms : best;
        }
        for (int i = 0; i < t->candidate_count; i++) {
            double ms = time_of(t, p, i);
            *ratio_at(c, i, p) = best == 0 ? 0 : log(ms > 0 ? ms / best : unmeasured);
        }
        c->best[p] = best == 0 ? 0 : log(unmeasured);
    }
}

/* Returns the candidate that lowers the sum of the logarithms most; -1: none lowers it. */
static int next_choice(const struct chooser *c, double *gain)
{
    int found = -1;
    *gain = 0;
    for (int i = 0; i < c->t->candidate_count; i++) {
        double own = 0;
        for (int p = 0; p < c->t->problem_count; p++)
            own += fmax(c->best[p] - *ratio_at(c, i, p), 0);
        if (own > *gain) {
            *gain = own;
            found = i;
        }
    }
    return found;
}

static double mean(const struct chooser *c)
{
    double sum = 0;
    for (int p = 0; p < c->t->problem_count; p++)
        sum += c->best[p];
    return sum / c->t->problem_count;
}

/* Computes the best ratios of the chosen variants, without number `left_out`. */
static void find_best(struct chooser *c, int left_out)
{
    const struct table *x = &c->t->table;
    for (int p = 0; p < c->t->problem_count; p++) {
        c->best[p] = log(unmeasured);
        for (int i = 0; i < x->count; i++)
            if (i != left_out)
                c->best[p] = fmin(c->best[p], *ratio_at(c, x->chosen[i], p));
    }
}

/* Removes chosen variants that later ones have made useless. Returns whether any was. */
static bool remove_useless(struct chooser *c)
{
    struct table *x = &c->t->table;
    bool any = false;
    find_best(c, -1);
    double all = mean(c);
    for (int i = x->count - 1; i >= 0 && x->count > 1; i--) {
        find_best(c, i);
        if (mean(c) - all > least_gain / 100)
            continue;
        memmove(x->chosen + i, x->chosen + i + 1, (size_t)(x->count - i - 1) * sizeof *x->chosen);
        x->count--;
        any = true;
    }
    find_best(c, -1);
    return any;
}

/* Adds variants while they help; with --known all that have a time. */
static void add_choices(struct chooser *c)
{
    struct table *x = &c->t->table;
    for (int i = 0; i < c->t->candidate_count && c->t->known && x->count < x->most; i++) {
        double least = log(unmeasured);
        for (int p = 0; p < c->t->problem_count; p++) {
            least = fmin(least, *ratio_at(c, i, p));
            c->best[p] = fmin(c->best[p], *ratio_at(c, i, p));
        }
        if (least < log(unmeasured))
            x->chosen[x->count++] = i;
    }
    while (x->count < x->most && !c->t->known) {
        double gain;
        int next = next_choice(c, &gain);
        if (next < 0 || (x->count > 0 && gain < least_gain * c->t->problem_count))
            break;
        x->chosen[x->count++] = next;
        for (int p = 0; p < c->t->problem_count; p++)
            c->best[p] = fmin(c->best[p], *ratio_at(c, next, p));
    }
}

void table_choose(struct tuning *t)
{
    size_t candidates = (size_t)t->candidate_count, problems = (size_t)t->problem_count;
    struct chooser c = {.t = t,
                        .ratios = need_memory((candidates * problems + 1) * sizeof(double)),
                        .best = need_memory((problems + 1) * sizeof(double))};
    struct table *x = &t->table;
    x->chosen = need_more_memory(x->chosen, (candidates + 1) * sizeof *x->chosen);
    x->count = 0;
    find_ratios(&c);
    add_choices(&c);
    if (!t->known && remove_useless(&c))
        add_choices(&c);
    x->loss = exp(mean(&c));
    free(c.ratios);
    free(c.best);
}

/* --- measuring the rest --- */

bool table_fill(struct tuning *t)
{
    bool any = false;
    for (int i = 0; i < t->problem_count; i++) {
        struct problem *p = &t->problems[i];
        p->order_count = 0;
        for (int c = 0; c < t->table.count; c++) {
            int candidate = t->table.chosen[c];
            struct trial *x = trial_at(t, i, candidate);
            while (x->state == TRIAL_SAME) {
                candidate = x->same;
                x = trial_at(t, i, candidate);
            }
            if (x->state == TRIAL_SKIPPED) {
                free(x->why);
                x->why = NULL;
                x->state = TRIAL_PROMISING;
            }
            if (x->state == TRIAL_PROMISING && !x->why)
                p->order[p->order_count++] = candidate;
        }
        p->fills = true;
        p->stage = p->order_count ? STAGE_SAMPLE : STAGE_DONE;
        any |= p->order_count > 0;
    }
    return any;
}

/* --- writing --- */

/* Returns whether the parameter is a size, which a row of the table has: an integer that the caller
 * gives, of a type that is not a type variable. */
static bool is_size(const tw_param *p)
{
    return !p->is_pointer && !p->derived && !p->type_name && p->dtype != TW_BOOL &&
           !is_float_type(p->dtype);
}

static const tw_tuned *key_of(const struct tuning *t, const struct problem *p)
{
    for (int i = 0; i < t->member_count; i++)
        if (p->facts[i] >= 0)
            return &p->keys[i];
    return NULL;
}

static void json_sizes(const struct tuning *t, const struct problem *p, struct json *j)
{
    tw_param param = tw_param_init();
    for (int i = 0; tw_kernel_param(t->members[0].kernel, i, &param) == TW_OK; i++) {
        if (!is_size(&param))
            continue;
        const char *at = key_of(t, p)->sizes;
        struct assignment a;
        bool bad;
        while (next_assignment(&at, &a, &bad))
            if (strcmp(a.name, param.name) == 0)
                json_number(j, a.value);
    }
}

static int resident(const struct tuning *t, int candidate)
{
    int most = 0;
    for (int i = 0; i < t->problem_count && !most; i++)
        most = report_resident(t, i, candidate);
    return most;
}

/* Begins a line: an object. */
static struct json line_begin(FILE *out)
{
    struct json j = {.out = out, .in_row = true};
    json_open(&j, '{');
    j.in_row = true;
    return j;
}

static void open_in_line(struct json *j, const char *key, char bracket)
{
    if (key)
        json_key(j, key);
    json_open(j, bracket);
    j->in_row = true;
}

static void close_in_line(struct json *j, char bracket)
{
    json_close(j, bracket);
    j->in_row = true;
}

static void write_header(const struct tuning *t, FILE *out)
{
    const tw_tuned *key = key_of(t, &t->problems[0]);
    struct json j = line_begin(out);
    tw_param p = tw_param_init();
    json_put_text(&j, "family", t->family);
    json_put_text(&j, "device", key->device);
    json_put_text(&j, "types", key->types);
    json_put_text(&j, "version", tw_version());
    open_in_line(&j, "sizes", '[');
    for (int i = 0; tw_kernel_param(t->members[0].kernel, i, &p) == TW_OK; i++)
        if (is_size(&p))
            json_string(&j, p.name);
    close_in_line(&j, ']');
    open_in_line(&j, "variants", '[');
    for (int i = 0; i < t->table.count; i++) {
        int c = t->table.chosen[i];
        open_in_line(&j, NULL, '{');
        json_put_text(&j, "kernel", tw_kernel_name(t->members[t->candidates[c].member].kernel));
        json_put_text(&j, "tune", t->candidates[c].text);
        if (resident(t, c) > 0)
            json_put_integer(&j, "resident", resident(t, c));
        close_in_line(&j, '}');
    }
    close_in_line(&j, ']');
    close_in_line(&j, '}');
    json_end(&j);
}

static void write_row(const struct tuning *t, int problem, FILE *out)
{
    struct json j = line_begin(out);
    open_in_line(&j, "at", '[');
    json_sizes(t, &t->problems[problem], &j);
    close_in_line(&j, ']');
    open_in_line(&j, "us", '[');
    for (int i = 0; i < t->table.count; i++) {
        double ms = time_of(t, problem, t->table.chosen[i]);
        char number[32];
        snprintf(number, sizeof number, "%.4g", 1e3 * ms);
        json_number(&j, ms > 0 ? number : "null");
    }
    close_in_line(&j, ']');
    close_in_line(&j, '}');
    json_end(&j);
}

static void write_section(void *user, FILE *out)
{
    const struct tuning *t = user;
    write_header(t, out);
    for (int i = 0; i < t->problem_count; i++)
        if (t->problems[i].best >= 0)
            write_row(t, i, out);
}

int table_write(struct tuning *t)
{
    const char *path = options_value(t->given, "table");
    const tw_tuned *key = key_of(t, &t->problems[0]);
    int rows = 0;
    for (int i = 0; i < t->problem_count; i++)
        rows += t->problems[i].best >= 0;
    if (rows == 0 || t->interrupted) {
        complain(NULL, "%s is left as it is: %s", path,
                 rows == 0 ? "no size has a result" : "interrupted");
        return STATUS_FAILED;
    }
    int status = table_file_replace(path, t->family, key->device, key->types, write_section, t);
    if (status == STATUS_OK && !t->to_json)
        print_text(stdout,
                   "%s: %d variant%s at %d size%s; the best of them takes %.3f times the best of "
                   "all (geometric mean)\n",
                   path, t->table.count, t->table.count == 1 ? "" : "s", rows, rows == 1 ? "" : "s",
                   t->table.loss);
    return status;
}
