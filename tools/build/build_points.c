/* Makes static values for `build` from every --set of the command line. */
#include "build/build.h"

#include <stdlib.h>
#include <string.h>

const char *point_value(const struct point *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->list[i].name, name) == 0)
            return p->list[i].value;
    return NULL;
}

void points_free(struct points *p)
{
    for (int i = 0; i < p->count; i++)
        free(p->list[i].list);
    free(p->list);
    *p = (struct points){0};
}

static void add_value(struct point *p, const struct assignment *a)
{
    ADD_TO(p->list, p->count, *a);
}

static void add_point(struct points *all, const struct point *p)
{
    ADD_TO(all->list, all->count, *p);
}

/* --- one --set --- */

static bool has_static(tw_kernel *k, const char *name)
{
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (strcmp(p.name, name) == 0)
            return p.is_static;
    return false;
}

static int refuse_launch_value(tw_kernel *k, const struct options *o, const char *name)
{
    char *statics = NULL;
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (p.is_static)
            append_text(&statics, "%s`%s`", statics ? ", " : "", p.name);
    usage_error(NULL, o->command,
                "--set %s: `%s` is given to each launch of %s; what is built in are static "
                "parameters (%s)",
                name, name, tw_kernel_name(k), statics ? statics : "it has none");
    free(statics);
    return STATUS_USAGE;
}

/* Checks that the name is a static parameter of some kernel. Some kernel is known to have such a
 * scalar; in another kernel, the name may be an array. */
static int check_name(const struct known_kernel *list, int count,
                      const struct known_kernel *families, int family_count,
                      const struct options *o, const char *name)
{
    for (int i = 0; i < count; i++)
        if (has_static(list[i].kernel, name))
            return STATUS_OK;
    for (int i = 0; i < family_count; i++)
        if (setting_named(families[i].kernel, "set", name))
            return STATUS_OK;
    for (int i = 0; i < count; i++)
        if (setting_named(list[i].kernel, "set", name))
            return refuse_launch_value(list[i].kernel, o, name);
    return STATUS_OK;
}

int points_check(const struct known_kernel *list, int count, const struct known_kernel *families,
                 int family_count, const struct options *o)
{
    int status = STATUS_OK;
    for (const struct option_use *u = NULL;
         status == STATUS_OK && (u = options_next(o, "set", u));) {
        const char *at = u->values[0];
        struct assignment a;
        bool bad = false;
        while (status == STATUS_OK && next_assignment(&at, &a, &bad))
            status = check_name(list, count, families, family_count, o, a.name);
        if (bad)
            status = usage_error(NULL, o->command, "--set %s: expected NAME=VALUE", at);
    }
    return status;
}

/* Reads the values of one --set for this kernel's static parameters, or for all. */
static int read_use(struct point *out, tw_kernel *k, const struct options *o, const char *text,
                    bool all)
{
    struct assignment a;
    bool bad;
    *out = (struct point){0};
    while (next_assignment(&text, &a, &bad)) {
        if (!(all ? setting_named(k, "set", a.name) : has_static(k, a.name)))
            continue;
        if (point_value(out, a.name))
            return usage_error(NULL, o->command, "--set gives `%s` two values at once", a.name);
        add_value(out, &a);
    }
    return STATUS_OK;
}

/* --- all of them --- */

static bool same_names(const struct point *a, const struct point *b)
{
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++)
        same = point_value(b, a->list[i].name) != NULL;
    return same;
}

/* Combines every point of `all` with every point of `group`. */
static void multiply(struct points *all, const struct points *group)
{
    struct points product = {0};
    for (int i = 0; i < all->count; i++)
        for (int j = 0; j < group->count; j++) {
            struct point p = {0};
            for (int v = 0; v < all->list[i].count; v++)
                add_value(&p, &all->list[i].list[v]);
            for (int v = 0; v < group->list[j].count; v++)
                add_value(&p, &group->list[j].list[v]);
            add_point(&product, &p);
        }
    points_free(all);
    *all = product;
}

/* Refuses a parameter in options with different sets of names, because it is unclear which
 * values belong together. */
static int refuse_overlap(const struct points *all, const struct point *p, const struct options *o)
{
    for (int i = 0; i < p->count; i++)
        if (point_value(&all->list[0], p->list[i].name))
            return usage_error(NULL, o->command,
                               "--set gives `%s` with other parameters and without them: name the "
                               "same parameters in each --set for which they vary together",
                               p->list[i].name);
    return STATUS_OK;
}

static int combine(struct points *out, struct points *uses, const struct options *o)
{
    int status = STATUS_OK;
    add_point(out, &(struct point){0});
    for (int i = 0; i < uses->count && status == STATUS_OK; i++) {
        struct points group = {0};
        bool seen = uses->list[i].count == 0;
        for (int j = 0; j < i; j++)
            seen = seen || same_names(&uses->list[j], &uses->list[i]);
        if (seen)
            continue;
        status = refuse_overlap(out, &uses->list[i], o);
        for (int j = i; j < uses->count; j++)
            if (same_names(&uses->list[j], &uses->list[i]))
                add_point(&group, &uses->list[j]);
        if (status == STATUS_OK)
            multiply(out, &group);
        free(group.list);
    }
    return status;
}

int points_find(struct points *out, tw_kernel *k, const struct options *o, bool all)
{
    struct points uses = {0};
    int status = STATUS_OK;
    *out = (struct points){0};
    for (const struct option_use *u = NULL;
         status == STATUS_OK && (u = options_next(o, "set", u));) {
        struct point p;
        status = read_use(&p, k, o, u->values[0], all);
        add_point(&uses, &p);
    }
    if (status == STATUS_OK)
        status = combine(out, &uses, o);
    points_free(&uses);
    return status;
}
