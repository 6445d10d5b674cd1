/* Clocks of roles, and the steps that they have come to. */
#include "synccheck/synccheck_roles.h"

#include <string.h>

typedef int clock_part
    __attribute__((vector_size(CLOCK_PART * sizeof(int)), aligned(sizeof(int)), may_alias));

void sync_clock_join(const struct roles_run *u, int *to, const int *from)
{
    for (int i = 0; i < u->components; i += CLOCK_PART) {
        clock_part a = *(const clock_part *)(from + i), *b = (clock_part *)(to + i);
        clock_part later = a > *b;
        *b = (a & later) | (*b & ~later);
    }
}

struct role_place sync_role_place_of(const struct roles_check *r, int trace,
                                     const struct role_step *s, const struct touch *touch)
{
    static const enum role_work work[] = {[STEP_COPY] = WORK_COPY,
                                          [STEP_STORE] = WORK_STORE,
                                          [STEP_DOT] = WORK_DOT,
                                          [STEP_LOAD] = WORK_LOAD,
                                          [STEP_GONE] = WORK_NONE};
    const struct touch *touches = r->k->code.touches.data;
    return (struct role_place){.stmt = s->stmt,
                               .loc = touch ? touch->loc : s->stmt->loc,
                               .work = work[s->kind],
                               .kind = touch ? touch->kind : TOUCH_READ,
                               .role = s->common ? -1 : trace,
                               .block = r->traces.data[trace].block,
                               .site = touch ? (int)(touch - touches) : -1,
                               .thread = s->thread};
}

void sync_role_release(const struct roles_run *u, const struct role_group *g, bool thread, int *to)
{
    const struct role_thread *t = &u->threads[g->trace];
    memcpy(to, thread ? t->clock : g->clock, sizeof *to * (size_t)u->components);
    if (!thread)
        to[g->own] = to[g->came] = g->now;
    if (!thread && g->number == 0)
        sync_clock_join(u, to, t->clock);
    if (thread || g->number == 0)
        to[t->own] = t->now;
}

const struct role_step *sync_role_next_step(const struct roles_run *u, const struct role_group *g)
{
    const struct role_trace *t = &u->r->traces.data[g->trace];
    return g->at < t->steps.count ? &t->steps.data[g->at] : NULL;
}
