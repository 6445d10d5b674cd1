#include "thread/thread_sum.h"

#include <string.h>

static int compare_leaves(const struct term *a, const struct term *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return memcmp(a->leaf, b->leaf, a->count * sizeof *a->leaf);
}

static int64_t wrapped(const struct sum *s, uint64_t v)
{
    return s->narrow ? (int32_t)(uint32_t)v : (int64_t)v;
}

void thread_sum_clear(struct sum *s, bool narrow)
{
    s->count = 0;
    s->narrow = narrow;
    s->failed = false;
}

void thread_sum_add_term(struct sum *s, const struct term *t, int64_t multiple)
{
    uint64_t factor = (uint64_t)t->factor * (uint64_t)multiple;
    int at = 0, order = 1;
    while (at < s->count && (order = compare_leaves(&s->term[at], t)) < 0)
        at++;
    const bool same = at < s->count && order == 0;
    factor = (uint64_t)wrapped(s, factor + (same ? (uint64_t)s->term[at].factor : 0));
    struct term *to = &s->term[at];
    if (same) {
        to->factor = (int64_t)factor;
        if (factor == 0)
            memmove(to, to + 1, (size_t)(--s->count - at) * sizeof *to);
        return;
    }
    if (factor == 0)
        return;
    if (s->count == MOST_TERMS) {
        s->failed = true;
        return;
    }
    memmove(to + 1, to, (size_t)(s->count++ - at) * sizeof *to);
    *to = *t;
    to->factor = (int64_t)factor;
}

void thread_sum_add_scaled(struct sum *to, const struct sum *from, int64_t factor)
{
    to->failed |= from->failed;
    for (int i = 0; i < from->count; i++)
        thread_sum_add_term(to, &from->term[i], factor);
}

void thread_sum_add_constant(struct sum *s, int64_t v)
{
    const struct term t = {.factor = v};
    thread_sum_add_term(s, &t, 1);
}

void thread_sum_add_leaf(struct sum *s, const struct thread_value *v, int64_t factor)
{
    const struct term t = {.factor = factor, .leaf = {v->number}, .count = 1};
    thread_sum_add_term(s, &t, 1);
}

static struct term times(const struct term *a, const struct term *b, bool *failed)
{
    struct term t = *a;
    t.factor = (int64_t)((uint64_t)a->factor * (uint64_t)b->factor);
    for (uint32_t i = 0; i < b->count; i++) {
        if (t.count == MOST_LEAVES) {
            *failed = true;
            break;
        }
        uint32_t at = t.count++;
        for (; at > 0 && t.leaf[at - 1] > b->leaf[i]; at--)
            t.leaf[at] = t.leaf[at - 1];
        t.leaf[at] = b->leaf[i];
    }
    return t;
}

void thread_sum_add_product(struct sum *to, const struct sum *a, const struct sum *b)
{
    to->failed |= a->failed || b->failed;
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++) {
            const struct term t = times(&a->term[i], &b->term[j], &to->failed);
            thread_sum_add_term(to, &t, 1);
        }
}

int64_t thread_sum_take_constant(struct sum *s)
{
    if (s->count == 0 || s->term[0].count > 0)
        return 0;
    int64_t constant = s->term[0].factor;
    s->count--;
    memmove(&s->term[0], &s->term[1], (size_t)s->count * sizeof *s->term);
    return constant;
}

bool thread_sum_same(const struct sum *a, const struct sum *b)
{
    if (a->count != b->count || a->narrow != b->narrow)
        return false;
    for (int i = 0; i < a->count; i++)
        if (a->term[i].factor != b->term[i].factor || compare_leaves(&a->term[i], &b->term[i]) != 0)
            return false;
    return true;
}
