/* Products of tiles whose panels are divided among several workers: the worker of the block, and
 * workers that have no block left (workers.c). */
#include "cpu/exec_packed.h"
#include "cpu/profile.h"

#include "base/platform.h"

/* least multiplications of a product that is divided: it takes a core at least some microseconds */
static const double worth_sharing = 1e6; /* multiplications */

static void wait_for_helpers(struct shared_product *p)
{
    enum { LOOKS = 1000 };
    for (int i = 0; atomic_load(&p->helpers) > 0; i++)
        if (i < LOOKS)
            platform_pause();
        else
            platform_yield();
}

void multiply_shared(const struct frame *f, const struct dot_detail *d, void *sum,
                     const struct dot_deferred *p, struct dot_target out, struct dot_strides *s)
{
    struct shared_product *shared = f->shared;
    size_t panels = (out.columns + d->width - 1) / d->width, k = p->depth / d->group;
    double size = (double)out.rows * (double)out.columns * (double)p->depth;
    if (!shared || !d->shares || panels < 2 || size < worth_sharing || s->a_unpacked.from ||
        (s->b_unpacked.from && s->panel == 0)) {
        d->dot(sum, p->a, p->b, out.rows, out.columns, k, s);
        return;
    }
    s->untaken = &shared->untaken;
    shared->detail = d;
    shared->dot = d->dot;
    shared->sum = sum;
    shared->a = p->a;
    shared->b = p->b;
    shared->rows = out.rows;
    shared->columns = out.columns;
    shared->depth = k;
    shared->strides = *s;
    shared->strides.prefetch = NULL;
    atomic_store(&shared->untaken, (int)panels);
    d->dot(sum, p->a, p->b, out.rows, out.columns, k, s);
    wait_for_helpers(shared);
}

/* The worker that owns the product waits for helpers once no panel is untaken: either it sees
 * this helper, or this helper sees that no panel is left. */
bool help_with_product(struct shared_product *p, struct frame_profile *profile)
{
    if (atomic_load(&p->untaken) <= 0)
        return false;
    atomic_fetch_add(&p->helpers, 1);
    bool helps = atomic_load(&p->untaken) > 0;
    struct profile_bucket *before =
        helps && profile ? profile_switch(profile, profile_of_product(profile, p->detail)) : NULL;
    if (helps)
        p->dot(p->sum, p->a, p->b, p->rows, p->columns, p->depth, &p->strides);
    if (before)
        profile_switch(profile, before);
    atomic_fetch_sub(&p->helpers, 1);
    return helps;
}
