#include "check/space.h"

#include <stdlib.h>
#include <string.h>

static void add_axis(struct space *s, bool is_type, int group, int count)
{
    for (int i = 0; i < s->axis_count; i++)
        if (s->axes[i].is_type == is_type && s->axes[i].group == group)
            return;
    s->axes[s->axis_count++] = (struct axis){.is_type = is_type, .group = group, .count = count};
}

static int fix_tuned(struct space *s, const struct options *o)
{
    for (const struct option_use *u = NULL; (u = options_next(o, "tune", u));) {
        const char *at = u->values[0];
        struct assignment a;
        bool bad;
        while (next_assignment(&at, &a, &bad))
            for (int i = 0; i < s->tune_count; i++) {
                if (strcmp(s->tunes[i].name, a.name) != 0)
                    continue;
                if (!parse_scalar(a.value, &s->tuned[i]))
                    return usage_error(NULL, o->command, "--tune %s=%s: expected a number", a.name,
                                       a.value);
                s->tune_fixed[i] = true;
            }
        if (bad)
            return usage_error(NULL, o->command, "--tune %s: expected NAME=VALUE", at);
    }
    return STATUS_OK;
}

static void fix_type(struct space *s, const char *name, tw_dtype t)
{
    for (int i = 0; i < s->type_count; i++) {
        if (name && strcmp(s->types[i].name, name) != 0)
            continue;
        s->chosen[i] = t;
        s->type_fixed[i] = true;
    }
}

/* Ignores unknown types, which apply_settings refuses. */
static void fix_types(struct space *s, const struct options *o)
{
    for (const struct option_use *u = NULL; (u = options_next(o, "type", u));) {
        const char *at = u->values[0];
        struct assignment a;
        bool bad;
        if (!strchr(at, '='))
            fix_type(s, NULL, tw_dtype_from_name(at));
        else
            while (next_assignment(&at, &a, &bad))
                fix_type(s, a.name, tw_dtype_from_name(a.value));
    }
}

/* A group with a fixed name does not vary; its other names take their first value. */
static void make_axes(struct space *s)
{
    for (int i = 0; i < s->type_count; i++)
        if (!s->type_fixed[i])
            add_axis(s, true, i, s->types[i].count);
    for (int i = 0; i < s->tune_count; i++) {
        bool fixed = false;
        for (int j = 0; j < s->tune_count; j++)
            fixed |= s->tunes[j].group == s->tunes[i].group && s->tune_fixed[j];
        add_axis(s, false, s->tunes[i].group, fixed ? 1 : s->tunes[i].count);
    }
}

int space_open(struct space *s, tw_kernel *k, const struct options *o)
{
    *s = (struct space){
        .kernel = k, .tune_count = tw_kernel_tune_count(k), .type_count = tw_kernel_type_count(k)};
    size_t tunes = (size_t)s->tune_count, types = (size_t)s->type_count;
    s->tunes = need_memory(tunes * sizeof *s->tunes);
    s->types = need_memory(types * sizeof *s->types);
    s->tuned = need_memory(tunes * sizeof *s->tuned);
    s->chosen = need_memory(types * sizeof *s->chosen);
    s->tune_fixed = need_memory(tunes * sizeof *s->tune_fixed);
    s->type_fixed = need_memory(types * sizeof *s->type_fixed);
    s->axes = need_memory((tunes + types) * sizeof *s->axes);
    for (int i = 0; i < s->tune_count; i++) {
        s->tunes[i] = tw_tune_init();
        tw_kernel_tune(k, i, &s->tunes[i]);
    }
    for (int i = 0; i < s->type_count; i++) {
        s->types[i] = tw_type_init();
        tw_kernel_type(k, i, &s->types[i]);
    }
    int status = fix_tuned(s, o);
    fix_types(s, o);
    make_axes(s);
    return status;
}

void space_close(struct space *s)
{
    free(s->tunes);
    free(s->types);
    free(s->tuned);
    free(s->chosen);
    free(s->tune_fixed);
    free(s->type_fixed);
    free(s->axes);
}

static void take_values(struct space *s)
{
    for (int i = 0; i < s->axis_count; i++) {
        const struct axis *x = &s->axes[i];
        if (x->is_type)
            s->chosen[x->group] = s->types[x->group].choices[x->at];
        for (int t = 0; t < s->tune_count && !x->is_type; t++)
            if (s->tunes[t].group == x->group && !s->tune_fixed[t])
                s->tuned[t] = s->tunes[t].values[x->at];
    }
}

/* Limit of consecutive combinations that a `require` refuses; the search then ends. */
enum { REFUSED_MAX = 1000000 };

/* Skips the combinations with the current values of the first `decided` names, none of which is
 * allowed. */
static void skip_rest(struct space *s, int decided)
{
    for (int i = s->axis_count - 1; i >= 0 && !s->axes[i].is_type; i--) {
        for (int t = 0; t < decided; t++)
            if (s->tunes[t].group == s->axes[i].group)
                return;
        s->axes[i].at = s->axes[i].count - 1;
    }
}

static bool step(struct space *s)
{
    int i = s->axis_count - 1;
    while (i >= 0 && ++s->axes[i].at == s->axes[i].count)
        s->axes[i--].at = 0;
    return i >= 0;
}

bool space_next(struct space *s, bool first)
{
    for (int i = 0; first && i < s->axis_count; i++)
        s->axes[i].at = 0;
    if (!first && !step(s))
        return false;
    for (int refused = 0; refused < REFUSED_MAX; refused++) {
        bool allowed = true;
        int decided;
        take_values(s);
        if (s->tune_count > 0 &&
            tw_kernel_decides(s->kernel, s->tuned, &allowed, &decided) != TW_OK)
            return false; /* the launch reports the error */
        if (allowed)
            return true;
        skip_rest(s, decided);
        if (!step(s))
            return false;
    }
    complain(NULL,
             "%s: none of %d combinations of tuned values, one after the other, is allowed by its "
             "`require`s; the rest is not looked at",
             tw_kernel_name(s->kernel), REFUSED_MAX);
    return false;
}

tw_status space_apply(const struct space *s, tw_launch *l)
{
    tw_status status = TW_OK;
    for (int i = 0; i < s->type_count && status == TW_OK; i++)
        status = tw_launch_type(l, s->types[i].name, s->chosen[i]);
    for (int i = 0; i < s->tune_count && status == TW_OK; i++)
        status = tw_launch_tune(l, s->tunes[i].name, s->tuned[i]);
    return status;
}

bool space_is_default(const struct space *s)
{
    for (int i = 0; i < s->axis_count; i++)
        if (!s->axes[i].is_type && s->axes[i].at != 0)
            return false;
    return true;
}

int space_types(const struct space *s)
{
    int choice = 0;
    for (int i = 0; i < s->axis_count; i++)
        if (s->axes[i].is_type)
            choice = choice * s->axes[i].count + s->axes[i].at;
    return choice;
}

/* Returns the i-th name, type variables first, and its value as text of at most 31 bytes. */
static const char *name_at(const struct space *s, int i, char value[32])
{
    if (i < s->type_count) {
        snprintf(value, 32, "%s", tw_dtype_name(s->chosen[i]));
        return s->types[i].name;
    }
    format_scalar(value, 32, s->tuned[i - s->type_count], TW_DTYPE_NONE);
    return s->tunes[i - s->type_count].name;
}

char *space_text(const struct space *s)
{
    char *text = need_text("%s", "");
    for (int i = 0; i < s->type_count + s->tune_count; i++) {
        char value[32];
        const char *name = name_at(s, i, value);
        append_text(&text, "%s%s = %s", *text ? ", " : "", name, value);
    }
    return text;
}

char *space_options(const struct space *s)
{
    char *text = need_text("%s", "");
    for (int i = 0; i < s->type_count + s->tune_count; i++) {
        char value[32];
        const char *name = name_at(s, i, value);
        const char *before = i == s->type_count ? " --tune " : i == 0 ? " --type " : ",";
        append_text(&text, "%s%s=%s", before, name, value);
    }
    return text;
}
