/* Choices and findings of a run of the check of roles. A choice is a number of trips or a condition
 * that no fact decides. */
#include "synccheck/synccheck_roles.h"

void sync_give_up(struct roles_check *r, const char *why)
{
    if (!r->k->gave_up)
        r->k->gave_up = why;
}

/* Returns the next decision of this run, from 0 to options - 1. */
static int decide(struct roles_check *r, int options)
{
    if (r->choice == r->choices.count)
        vec_push(r->k->arena, &r->choices, ((struct role_choice){0, options}));
    return r->choices.data[r->choice++].value;
}

/* Returns one of `options` for this run. Later choices at the same place repeat the first ones. */
static int choose(struct roles_check *r, const void *at, struct loc loc, int options, bool is_loop)
{
    struct role_chosen *c = NULL;
    for (size_t i = 0; i < r->chosen.count && !c; i++)
        if (r->chosen.data[i].at == at)
            c = &r->chosen.data[i];
    if (!c) {
        struct role_chosen fresh = {.at = at, .loc = loc, .is_loop = is_loop};
        vec_push(r->k->arena, &r->chosen, fresh);
        c = &r->chosen.data[r->chosen.count - 1];
    }
    if (c->count < CHOSEN_MOST)
        return c->value[c->count++] = decide(r, options);
    return c->value[c->next++ % c->count];
}

int sync_choose_trips(struct roles_check *r, const struct stmt *loop)
{
    return r->trips.data[choose(r, loop, loop->loc, (int)r->trips.count, true)];
}

bool sync_choose_truth(struct roles_check *r, const struct expr *condition)
{
    return choose(r, condition, condition->loc, 2, false) == 0;
}

bool sync_choose_other(struct roles_check *r, const void *at)
{
    return choose(r, at, LOC_NONE, 2, false) == 1;
}

static bool same_finding(const struct role_finding *a, const struct role_finding *b)
{
    return a->kind == b->kind && a->early.stmt == b->early.stmt && a->late.stmt == b->late.stmt;
}

void sync_add_finding(struct roles_check *r, const struct role_finding *f)
{
    for (size_t i = 0; i < r->findings.count; i++)
        if (same_finding(&r->findings.data[i], f))
            return;
    vec_push(r->k->arena, &r->findings, *f);
}
