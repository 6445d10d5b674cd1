/* The versions of a variant in a build: for each set that gives its static values, and for each
 * combination of sizes divisible by 16 or 8 at which it is the first. */
#include "api/family_build.h"
#include "base/hash.h"
#include "tilewright_look.h"

#include <stdlib.h>
#include <string.h>

/* --- one version --- */

/* The sizes that 16 or 8 divides: a bit for each size of the family. */
struct facts {
    uint64_t by_16, by_8; /* by_8 has all of by_16 */
};

/* Sets the values that the kernel has compiled in, and multiples of 16 and 8. */
static tw_status set_values(const struct family_build *c, tw_launch *l, int set, struct facts facts)
{
    const tw_family *f = c->family;
    const struct lang_kernel *info = l->kernel->info;
    tw_status status = TW_OK;
    for (int i = 0; set >= 0 && i < c->how.sets[set].count && status == TW_OK; i++) {
        const tw_size_range *r = &c->how.sets[set].ranges[i];
        if (family_ship_is_static(info, r))
            status = tw_launch_set(l, r->param, tw_int(r->least));
    }
    for (int i = 0; i < f->size_count && status == TW_OK; i++)
        if (facts.by_8 >> i & 1)
            status = tw_launch_set(l, info->params[f->size_param[i]].name,
                                   tw_int(facts.by_16 >> i & 1 ? 16 : 8));
    return status;
}

static tw_status make_launch(const struct family_build *c, const struct family_variant *v, int set,
                             struct facts facts, tw_launch **l)
{
    const tw_choice choice = {
        .size = sizeof choice, .kernel = c->family->members[v->member].kernel, .tune = v->tune};
    tw_status status = tw_family_launch(c->family, &choice, l);
    return status == TW_OK ? set_values(c, *l, set, facts) : status;
}

static tw_status add_version(struct family_build *c, const struct family_variant *v, int set,
                             struct facts facts, int alignment)
{
    tw_launch *l = NULL;
    const tw_build_when when = {.size = sizeof when, .alignment = alignment};
    tw_status status = make_launch(c, v, set, facts, &l);
    if (status == TW_OK)
        status = ahead_build_add(c->build, l, &when, &c->function, v->name);
    tw_launch_free(l);
    return status;
}

/* --- the versions of a variant --- */

/* Returns a hash of the PTX without the comments at its start. */
static tw_status hash_of(const struct family_build *c, const struct family_variant *v, int set,
                         struct facts facts, uint64_t *hash)
{
    tw_launch *l = NULL;
    const char *text = "";
    tw_status status = make_launch(c, v, set, facts, &l);
    if (status == TW_OK)
        status = tw_launch_show_stage(l, TW_STAGE_PTX, &text);
    while (status == TW_OK && strncmp(text, "//", 2) == 0)
        text += strcspn(text, "\n") + 1;
    if (status == TW_OK)
        *hash = hash_bytes(HASH_BEGIN, text, strlen(text));
    tw_launch_free(l);
    return status;
}

/* Finds the sizes whose divisors change the program, of those that the kernel takes at run time. */
static tw_status find_decisive(const struct family_build *c, const struct family_variant *v,
                               int set, uint64_t *decisive)
{
    const tw_family *f = c->family;
    const struct lang_kernel *info = f->members[v->member].kernel->info;
    uint64_t all = 0, best, other;
    *decisive = 0;
    if (!f->executor->lowers)
        return TW_OK;
    for (int i = 0; i < f->size_count; i++)
        all |= (uint64_t)!info->params[f->size_param[i]].is_static << i;
    tw_status status = hash_of(c, v, set, (struct facts){all, all}, &best);
    for (int i = 0; i < f->size_count && status == TW_OK; i++) {
        uint64_t without = all & ~(UINT64_C(1) << i);
        if (without == all)
            continue;
        status = hash_of(c, v, set, (struct facts){without, without}, &other);
        *decisive |= (uint64_t)(other != best) << i;
    }
    return status;
}

/* Returns the facts of sizes, of the decisive ones. */
static struct facts facts_of(const tw_family *f, uint64_t decisive, const int64_t *sizes)
{
    struct facts facts = {0};
    for (int i = 0; i < f->size_count; i++) {
        facts.by_16 |= (uint64_t)(sizes[i] % 16 == 0) << i;
        facts.by_8 |= (uint64_t)(sizes[i] % 8 == 0) << i;
    }
    return (struct facts){facts.by_16 & decisive, facts.by_8 & decisive};
}

/* Orders facts that imply others before these. */
static int compare_facts(const void *a, const void *b)
{
    const struct facts *x = a, *y = b;
    int more = __builtin_popcountll(y->by_16) + __builtin_popcountll(y->by_8) -
               __builtin_popcountll(x->by_16) - __builtin_popcountll(x->by_8);
    if (more)
        return more;
    int by_16 = (x->by_16 > y->by_16) - (x->by_16 < y->by_16);
    return by_16 ? by_16 : (x->by_8 > y->by_8) - (x->by_8 < y->by_8);
}

/* Finds the facts of all points at which a variant is the first, the most first, each once; at the
 * end no facts, for all other launches. Returns their number. */
static int find_facts(const struct family_build *c, int chosen, uint64_t decisive,
                      struct facts **list)
{
    const struct family_ship *s = &c->ship;
    struct facts *facts = malloc((s->points.list.count + 1) * sizeof *facts);
    size_t count = 0, kept = 0;
    if (!facts)
        return 0;
    for (size_t i = 0; i < s->points.list.count; i++)
        if (s->points.list.data[i].order[0] == chosen)
            facts[count++] = facts_of(c->family, decisive, s->points.list.data[i].sizes);
    facts[count++] = (struct facts){0};
    qsort(facts, count, sizeof *facts, compare_facts);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || compare_facts(&facts[i], &facts[kept - 1]) != 0)
            facts[kept++] = facts[i];
    *list = facts;
    return (int)kept;
}

/* Returns true if an earlier set compiles the same values in. */
static bool again(const struct family_build *c, const struct lang_kernel *info, int set)
{
    for (int e = 0; e < set; e++) {
        bool same = family_ship_set_serves(&c->ship, info, e);
        for (int i = 0; same && i < c->how.sets[set].count; i++) {
            const tw_size_range *r = &c->how.sets[set].ranges[i];
            if (!family_ship_is_static(info, r))
                continue;
            bool found = false;
            for (int k = 0; k < c->how.sets[e].count; k++)
                found = found || (strcmp(c->how.sets[e].ranges[k].param, r->param) == 0 &&
                                  c->how.sets[e].ranges[k].least == r->least);
            same = found;
        }
        if (same)
            return true;
    }
    return false;
}

/* set: of the static values; -1: there are none */
static tw_status add_set(struct family_build *c, int chosen, int set)
{
    const struct family_variant *v = c->ship.variants[c->ship.chosen[chosen]];
    struct facts *facts = NULL;
    uint64_t decisive;
    tw_status status = find_decisive(c, v, set, &decisive);
    if (status != TW_OK)
        return status;
    int count = find_facts(c, chosen, decisive, &facts);
    if (count == 0)
        return context_no_memory(c->family->ctx);
    for (int i = 0; i < count && status == TW_OK; i++)
        status = add_version(c, v, set, facts[i], 16);
    if (status == TW_OK && c->how.unaligned && c->family->executor->lowers)
        status = add_version(c, v, set, (struct facts){0}, 1);
    free(facts);
    return status;
}

static tw_status try_for_cpu(const struct family_build *c, const struct family_variant *v, int set)
{
    tw_launch *l = NULL;
    tw_status status = make_launch(c, v, set, (struct facts){0}, &l);
    if (status == TW_OK)
        status = ahead_build_try(c->build, l, &c->function, v->name);
    tw_launch_free(l);
    return status;
}

tw_status family_try_variant(struct family_build *c, int chosen)
{
    const struct family_ship *s = &c->ship;
    const struct family_variant *v = s->variants[s->chosen[chosen]];
    const struct lang_kernel *info = c->family->members[v->member].kernel->info;
    uint64_t hash;
    int set = family_ship_serves_all(info) ? -1 : 0;
    while (set >= 0 && !family_ship_set_serves(s, info, set))
        set++;
    return c->family->executor->lowers ? hash_of(c, v, set, (struct facts){0}, &hash)
                                       : try_for_cpu(c, v, set);
}

tw_status family_add_variant(struct family_build *c, int chosen)
{
    const struct family_ship *s = &c->ship;
    const struct family_variant *v = s->variants[s->chosen[chosen]];
    const struct lang_kernel *info = c->family->members[v->member].kernel->info;
    tw_status status = TW_OK;
    if (family_ship_serves_all(info))
        return add_set(c, chosen, -1);
    for (int i = 0; i < s->set_count && status == TW_OK; i++)
        if (family_ship_set_serves(s, info, i) && !again(c, info, i))
            status = add_set(c, chosen, i);
    return status;
}
