/* --table: a family's table, the file of measured times from which programs choose variants
 * (docs/families.md).
 *
 * A variant is a kernel with tuned values. The table has the few variants with which the loss is
 * least: the time of the best of them at a size, divided by that of the best of all, as the
 * geometric mean over the sizes; the library chooses them. Then those that were not measured at
 * some size are measured there, because a choice at other sizes is predicted from whole rows. */
#include "tune/table_file.h"
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

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

/* Returns the milliseconds of all candidates at the first problem, then at the second, and so on. The
 * caller frees. */
static float *all_times(const struct tuning *t)
{
    size_t count = (size_t)t->candidate_count * (size_t)t->problem_count;
    float *times = need_memory((count + 1) * sizeof *times), *to = times;
    for (int p = 0; p < t->problem_count; p++)
        for (int c = 0; c < t->candidate_count; c++)
            *to++ = (float)time_of(t, p, c);
    return times;
}

static bool has_time(const struct tuning *t, int candidate)
{
    int p = 0;
    while (p < t->problem_count && time_of(t, p, candidate) <= 0)
        p++;
    return p < t->problem_count;
}

/* Keeps the variants of other tables, also those that do not win here: they may on other sizes. */
static void keep_known(struct tuning *t)
{
    struct table *x = &t->table;
    x->loss = 1;
    for (int c = 0; c < t->candidate_count; c++)
        if (has_time(t, c))
            x->chosen[x->count++] = c;
}

void table_choose(struct tuning *t)
{
    struct table *x = &t->table;
    size_t most = (size_t)(x->most > t->candidate_count ? x->most : t->candidate_count);
    NEED_ROOM(x->chosen, most);
    x->count = 0;
    if (t->known && !options_has(t->given, "variants")) {
        keep_known(t);
        return;
    }
    float *times = all_times(t);
    x->count = tw_choose_variants(times, t->problem_count, t->candidate_count, x->most, x->chosen,
                                  &x->loss);
    free(times);
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

static void json_sizes(const struct tuning *t, const struct problem *p, struct json *j)
{
    tw_param param = tw_param_init();
    for (int i = 0; tw_kernel_param(t->members[0].kernel, i, &param) == TW_OK; i++) {
        if (!is_size(&param))
            continue;
        const char *at = tune_problem_key(t, p)->sizes;
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
        most = trial_resident(t, i, candidate);
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
    const tw_tuned *key = tune_problem_key(t, &t->problems[0]);
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
    const tw_tuned *key = tune_problem_key(t, &t->problems[0]);
    int rows = 0, before = 0;
    for (int i = 0; i < t->problem_count; i++)
        rows += t->problems[i].best >= 0;
    if (t->interrupted)
        before = table_file_rows(path, t->family, key->device, key->types);
    if (rows == 0 || before > rows) {
        complain(NULL, "%s is left as it is: %s", path,
                 rows == 0 ? "no size has a result"
                           : "interrupted, and it has the times of more sizes");
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
