/* Makes every combination of tuned values to try.
 *
 * Names that are declared together vary together: each such group has a list of rows of values.
 * --tune NAME=V,V selects the rows with one of these values. A value that is in no row is
 * combined with every row of the group's other names. */
#include "tune/tune.h"

#include <stdlib.h>
#include <string.h>

struct choice_list {
    tw_value *values;
    int count;
};

struct row_group {
    int number; /* tw_tune.group */
    tw_value *rows;
    int count, at;
};

struct space_maker {
    struct tuning *tuning;
    struct member *member;
    tw_kernel *kernel;
    const struct options *given;
    int tune_count, group_count;
    tw_tune *tunes;
    struct choice_list *wanted; /* by tune; no values: any */
    struct row_group *groups;
    tw_value *tuned;
};

/* --- --tune --- */

static void want_value(struct choice_list *list, tw_value v)
{
    for (int i = 0; i < list->count; i++)
        if (same_scalar(list->values[i], v))
            return;
    list->values = need_more_memory(list->values, (size_t)(list->count + 1) * sizeof v);
    list->values[list->count++] = v;
}

static int find_tune(const struct space_maker *m, const char *name, size_t length)
{
    for (int t = 0; t < m->tune_count; t++)
        if (strlen(m->tunes[t].name) == length && strncmp(m->tunes[t].name, name, length) == 0)
            return t;
    return -1;
}

static int unknown_name(const struct space_maker *m, const char *name, size_t length)
{
    const struct tuning *t = m->tuning;
    const char **names = NULL;
    size_t count = 0;
    tw_tune tune = tw_tune_init();
    for (int i = 0; i < t->member_count; i++)
        for (int j = 0; tw_kernel_tune(t->members[i].kernel, j, &tune) == TW_OK; j++) {
            ADD_TO(names, count, tune.name);
        }
    NEED_ROOM(names, count);
    names[count] = NULL;
    char *wrong = need_text("%.*s", (int)length, name);
    char *hint = name_hint(wrong, names);
    bool one = t->member_count == 1;
    usage_error(NULL, m->given->command, "--tune %s: %s has %s tuned value '%s'%s", wrong,
                one ? tw_kernel_name(m->kernel) : "none of the kernels", one ? "no" : "a", wrong,
                hint);
    free(hint);
    free(wrong);
    free(names);
    return STATUS_USAGE;
}

/* Returns whether another member has the tuned name. */
static bool is_of_another(const struct space_maker *m, const char *name, size_t length)
{
    const struct tuning *t = m->tuning;
    tw_tune tune = tw_tune_init();
    for (int i = 0; i < t->member_count; i++)
        for (int j = 0; tw_kernel_tune(t->members[i].kernel, j, &tune) == TW_OK; j++)
            if (strlen(tune.name) == length && strncmp(tune.name, name, length) == 0)
                return true;
    return false;
}

/* Reads "BM=64,128,WARPS=4": a word with '=' begins another name's list. Lists of names that only
 * other members have are read and not used. */
static int take_wanted(struct space_maker *m, const char *text)
{
    int tune = -1;
    bool skips = false;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        const char *equals = memchr(at, '=', length);
        if (equals) {
            tune = find_tune(m, at, (size_t)(equals - at));
            skips = tune < 0 && is_of_another(m, at, (size_t)(equals - at));
            if (tune < 0 && !skips)
                return unknown_name(m, at, (size_t)(equals - at));
        }
        const char *from = equals ? equals + 1 : at;
        char *value = need_text("%.*s", (int)(at + length - from), from);
        tw_value v;
        bool good = (tune >= 0 || skips) && parse_scalar(value, &v);
        free(value);
        if (!good)
            return usage_error(NULL, m->given->command, "--tune %s: expected NAME=VALUE[,VALUE…]",
                               text);
        if (!skips)
            want_value(&m->wanted[tune], v);
        at += length + (at[length] == ',');
    }
    return STATUS_OK;
}

/* --- rows --- */

static bool is_wanted(const struct choice_list *list, tw_value v)
{
    bool found = list->count == 0;
    for (int i = 0; i < list->count; i++)
        found = found || same_scalar(list->values[i], v);
    return found;
}

static void add_row(const struct space_maker *m, struct row_group *g, const tw_value *row)
{
    size_t width = (size_t)m->tune_count;
    for (int r = 0; r < g->count; r++) {
        bool same = true;
        for (int t = 0; t < m->tune_count; t++)
            same = same && (m->tunes[t].group != g->number ||
                            same_scalar(g->rows[(size_t)r * width + (size_t)t], row[t]));
        if (same)
            return;
    }
    g->rows = need_more_memory(g->rows, (size_t)(g->count + 1) * width * sizeof *row);
    memcpy(g->rows + (size_t)g->count++ * width, row, width * sizeof *row);
}

/* Returns whether some row of the lists has these values of the wanted names. */
static bool is_listed(const struct space_maker *m, int group, int count, const tw_value *row)
{
    for (int r = 0; r < count; r++) {
        bool same = true;
        for (int t = 0; t < m->tune_count; t++)
            if (m->tunes[t].group == group && m->wanted[t].count > 0)
                same = same && same_scalar(m->tunes[t].values[r], row[t]);
        if (same)
            return true;
    }
    return false;
}

/* Adds the combinations that no row has: the wanted values from `tune` on, with the other names
 * as in row `like`. */
static void add_unlisted(const struct space_maker *m, struct row_group *g, int listed, int tune,
                         tw_value *row)
{
    while (tune < m->tune_count &&
           (m->tunes[tune].group != g->number || m->wanted[tune].count == 0))
        tune++;
    if (tune == m->tune_count) {
        if (!is_listed(m, g->number, listed, row))
            add_row(m, g, row);
        return;
    }
    for (int i = 0; i < m->wanted[tune].count; i++) {
        row[tune] = m->wanted[tune].values[i];
        add_unlisted(m, g, listed, tune + 1, row);
    }
}

static void make_rows(const struct space_maker *m, struct row_group *g)
{
    tw_value *row = need_memory((size_t)(m->tune_count + 1) * sizeof *row);
    int listed = 0;
    for (int t = 0; t < m->tune_count; t++)
        if (m->tunes[t].group == g->number)
            listed = m->tunes[t].count;
    for (int pass = 0; pass < 2; pass++)
        for (int r = 0; r < listed; r++) {
            bool all = true;
            for (int t = 0; t < m->tune_count; t++)
                if (m->tunes[t].group == g->number) {
                    row[t] = m->tunes[t].values[r];
                    all = all && is_wanted(&m->wanted[t], row[t]);
                }
            if (pass == 1)
                add_unlisted(m, g, listed, 0, row);
            else if (all)
                add_row(m, g, row);
        }
    free(row);
}

static void make_groups(struct space_maker *m)
{
    m->groups = need_memory((size_t)(m->tune_count + 1) * sizeof *m->groups);
    for (int t = 0; t < m->tune_count; t++) {
        bool seen = false;
        for (int g = 0; g < m->group_count; g++)
            seen = seen || m->groups[g].number == m->tunes[t].group;
        if (seen)
            continue;
        struct row_group *g = &m->groups[m->group_count++];
        g->number = m->tunes[t].group;
        make_rows(m, g);
    }
}

/* --- combinations --- */

static char *values_text(const struct space_maker *m)
{
    char *text = need_text("%s", "");
    for (int t = 0; t < m->tune_count; t++) {
        char value[32];
        format_scalar(value, sizeof value, m->tuned[t], TW_DTYPE_NONE);
        append_text(&text, "%s%s=%s", t ? "," : "", m->tunes[t].name, value);
    }
    return text;
}

/* Returns whether the combination may be a candidate: without --known, all may. */
static bool may_be_candidate(const struct space_maker *m, const char *text)
{
    const struct tuning *t = m->tuning;
    char *name = need_text("%s%s%s", tw_kernel_name(m->kernel), *text ? " " : "", text);
    bool found = !t->known;
    for (int i = 0; i < t->known_count && !found; i++)
        found = strcmp(t->known_names[i], name) == 0;
    free(name);
    return found;
}

static void add_candidate(struct space_maker *m)
{
    struct tuning *t = m->tuning;
    char *text = values_text(m);
    if (!may_be_candidate(m, text)) {
        free(text);
        return;
    }
    size_t bytes = (size_t)(m->tune_count + 1) * sizeof *m->tuned;
    int count = t->candidate_count;
    if ((count & (count - 1)) == 0)
        t->candidates = need_more_memory(t->candidates,
                                         (size_t)(count ? 2 * count : 1) * sizeof *t->candidates);
    struct candidate *x = &t->candidates[t->candidate_count++];
    *x = (struct candidate){
        .member = (int)(m->member - t->members), .tuned = need_memory(bytes), .text = text};
    memcpy(x->tuned, m->tuned, (size_t)m->tune_count * sizeof *m->tuned);
    m->member->count++;
}

static void take_rows(struct space_maker *m)
{
    for (int g = 0; g < m->group_count; g++) {
        const struct row_group *x = &m->groups[g];
        const tw_value *row = x->rows + (size_t)x->at * (size_t)m->tune_count;
        for (int t = 0; t < m->tune_count; t++)
            if (m->tunes[t].group == x->number)
                m->tuned[t] = row[t];
    }
}

/* Advances to the next combination; the last group varies fastest. */
static bool next_rows(struct space_maker *m)
{
    int g = m->group_count - 1;
    while (g >= 0 && ++m->groups[g].at == m->groups[g].count)
        m->groups[g--].at = 0;
    return g >= 0;
}

enum { MOST_COMBINATIONS = 1 << 20 };

/* Skips all combinations with the current values of the first `decided` names, none of which is
 * allowed. Returns the number of combinations left out, with the current one. */
static int skip_rest(struct space_maker *m, int decided)
{
    double left_out = 1, stride = 1;
    for (int g = m->group_count - 1; g >= 0; g--) {
        struct row_group *x = &m->groups[g];
        for (int t = 0; t < decided; t++)
            if (m->tunes[t].group == x->number)
                return left_out < INT32_MAX ? (int)left_out : INT32_MAX;
        left_out += stride * (x->count - 1 - x->at);
        stride *= x->count;
        x->at = x->count - 1;
    }
    return left_out < INT32_MAX ? (int)left_out : INT32_MAX;
}

static int combine(struct space_maker *m)
{
    int tried = 0;
    do {
        bool allowed = true;
        int decided = 0;
        take_rows(m);
        tw_status s =
            m->tune_count == 0 ? TW_OK : tw_kernel_decides(m->kernel, m->tuned, &allowed, &decided);
        if (s != TW_OK) { /* the name does not have this value */
            complain_library(NULL, m->tuning->ctx, s);
            return STATUS_USAGE;
        }
        if (allowed) {
            add_candidate(m);
        } else {
            /* values of --tune need not be listed */
            int left_out = skip_rest(m, options_has(m->given, "tune") ? m->tune_count : decided);
            int *forbidden = &m->member->forbidden;
            *forbidden = *forbidden < INT32_MAX - left_out ? *forbidden + left_out : INT32_MAX;
        }
    } while (next_rows(m) && ++tried < MOST_COMBINATIONS);
    if (tried < MOST_COMBINATIONS)
        return STATUS_OK;
    complain(NULL, "%s has more than %d combinations of tuned values; narrow them with --tune",
             tw_kernel_name(m->kernel), MOST_COMBINATIONS);
    return STATUS_USAGE;
}

static void maker_close(struct space_maker *m)
{
    for (int g = 0; g < m->group_count; g++)
        free(m->groups[g].rows);
    for (int t = 0; t < m->tune_count; t++)
        free(m->wanted[t].values);
    free(m->groups);
    free(m->wanted);
    free(m->tunes);
    free(m->tuned);
}

int candidates_make(struct tuning *t, int member)
{
    struct member *own = &t->members[member];
    tw_kernel *k = own->kernel;
    struct space_maker m = {.tuning = t,
                            .member = own,
                            .kernel = k,
                            .given = t->given,
                            .tune_count = tw_kernel_tune_count(k)};
    size_t tunes = (size_t)m.tune_count + 1;
    m.tunes = need_memory(tunes * sizeof *m.tunes);
    m.wanted = need_memory(tunes * sizeof *m.wanted);
    m.tuned = need_memory(tunes * sizeof *m.tuned);
    for (int i = 0; i < m.tune_count; i++) {
        m.tunes[i] = tw_tune_init();
        tw_kernel_tune(k, i, &m.tunes[i]);
    }
    own->first = t->candidate_count;
    int status = STATUS_OK;
    for (const struct option_use *u = NULL;
         status == STATUS_OK && (u = options_next(t->given, "tune", u));)
        status = take_wanted(&m, u->values[0]);
    if (status == STATUS_OK) {
        make_groups(&m);
        status = combine(&m);
    }
    maker_close(&m);
    return status;
}

tw_status candidate_apply(const struct tuning *t, int candidate, tw_launch *l)
{
    const struct candidate *c = &t->candidates[candidate];
    tw_kernel *k = t->members[c->member].kernel;
    tw_tune tune = tw_tune_init();
    tw_status status = TW_OK;
    for (int i = 0; i < tw_kernel_tune_count(k) && status == TW_OK; i++) {
        tw_kernel_tune(k, i, &tune);
        status = tw_launch_tune(l, tune.name, c->tuned[i]);
    }
    return status;
}

char *candidate_name(const struct tuning *t, int candidate)
{
    const struct candidate *c = &t->candidates[candidate];
    const char *kernel = t->member_count > 1 ? tw_kernel_name(t->members[c->member].kernel) : "";
    return need_text("%s%s%s", kernel, *kernel && *c->text ? " " : "", c->text);
}
