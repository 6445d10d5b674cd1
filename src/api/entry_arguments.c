/* The arguments of an entry: the key that they make, and the variant for it. */
#include "api/entry.h"

#include <math.h>
#include <string.h>

bool entry_float_bits(enum dtype t, double v, uint64_t *bits)
{
    *bits = 0;
    if (t == DT_F32) {
        float rounded = (float)v;
        memcpy(bits, &rounded, sizeof rounded);
        return isfinite(rounded) || !isfinite(v);
    }
    dtype_store_f64(t, bits, v);
    return !isfinite(v) || isfinite(dtype_load_f64(t, bits));
}

static inline bool take_argument(const struct entry_param *p, const tw_value *a, uint64_t *value)
{
    if (a->kind != p->kind)
        return false;
    switch (p->kind) {
    case TW_POINTER: *value = (uintptr_t)a->pointer; return (*value & p->below) == 0;
    case TW_INTEGER: *value = (uint64_t)a->i; return *value - (uint64_t)p->least <= p->span;
    case TW_FLOAT: break;
    }
    return entry_float_bits(p->dtype, a->f, value);
}

static inline void add_to_key(const tw_entry *e, struct given *g, int param)
{
    uint64_t value = g->value[param];
    if (e->params[param].is_static) {
        g->key.word[g->key.words++] = value;
        return;
    }
    g->key.word[0] |= (uint64_t)(value % 16 == 0) << param;
    g->key.word[1] |= (uint64_t)(value % 8 == 0) << param;
}

void entry_forget_facts(struct entry_key *key)
{
    for (int i = 0; i < ENTRY_FACTS; i++)
        key->word[i] = 0;
}

/* Computes derived parameters, once all others are known. */
static bool derive(const tw_entry *e, struct given *g)
{
    for (int i = 0; i < e->derived_count; i++)
        g->value[e->derived[i]] = 0;
    struct size_fault ignored;
    if (!launch_derived_run(&e->derive, g->value, &ignored))
        return false;
    for (int i = 0; i < e->derived_count; i++)
        add_to_key(e, g, e->derived[i]);
    return true;
}

/* Returns device.clusters for a call that gives device.sms alone. */
static uint64_t clusters_of(const struct entry_param *p, uint64_t sms)
{
    uint64_t blocks = (uint64_t)p->cluster;
    return (int64_t)sms > p->cluster ? sms / blocks : 1;
}

bool entry_take_arguments(const tw_entry *e, const tw_value *arguments, int count, struct given *g)
{
    g->key.words = ENTRY_FACTS;
    entry_forget_facts(&g->key);
    g->has_null = false;
    for (int i = 0; i < e->argument_count; i++) {
        int param = e->argument_of[i];
        const struct entry_param *p = &e->params[param];
        if (i >= count)
            g->value[param] =
                i == count && p->cluster ? clusters_of(p, g->value[param - 1]) : p->preset;
        else if (!take_argument(p, &arguments[i], &g->value[param]))
            return false;
        if (p->single && g->value[param] != p->only)
            return false;
        g->has_null |= p->kind == TW_POINTER && !g->value[param];
        add_to_key(e, g, param);
    }
    if (e->derived_count > 0 && !derive(e, g))
        return false;
    for (int i = 0; i < ENTRY_FACTS; i++)
        g->key.word[i] &= e->counted[i];
    return true;
}

bool entry_count_fits(const tw_entry *e, int count)
{
    return count >= e->least_arguments && count <= e->argument_count;
}

const struct entry_variant *entry_find_variant(tw_entry *e, const struct given *g)
{
    const struct entry_item *item = entry_find(&e->table, &g->key);
    if (!item && atomic_load_explicit(&e->full, memory_order_acquire)) {
        struct entry_key plain = g->key;
        entry_forget_facts(&plain);
        item = entry_find(&e->table, &plain);
    }
    return (const struct entry_variant *)item;
}

const unsigned char *entry_shared_pair(const struct entry_variant *v, const struct given *g)
{
    for (int i = 0; i < v->pairs; i++)
        if (g->value[v->pair[i][0]] == g->value[v->pair[i][1]] && g->value[v->pair[i][0]])
            return v->pair[i];
    return NULL;
}
