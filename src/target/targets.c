#include "target/targets.h"

enum { KB = 1024 };

static const struct target targets[] = {
#define TARGET(number, suffix, end, shared, threads, blocks, l1)                                   \
    {.ptx = {number, suffix},                                                                      \
     .shared_bytes = (shared)*KB - GPU_SYSTEM_SHARED,                                              \
     .shared_of_sm = (shared)*KB,                                                                  \
     .l1_of_sm = (l1)*KB,                                                                          \
     .threads_of_sm = threads,                                                                     \
     .blocks_of_sm = blocks,                                                                       \
     .registers = GPU_REGISTERS,                                                                   \
     .register_limit = GPU_THREAD_REGISTERS,                                                       \
     .name = "sm_" #number end},
#include "target/targets.def"
#undef TARGET
};

const struct target *target_find(struct ptx_target t)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (targets[i].ptx.number == t.number && targets[i].ptx.suffix == t.suffix)
            return &targets[i];
    return NULL;
}

const struct target *target_at(int index)
{
    int count = (int)(sizeof targets / sizeof *targets);
    return index >= 0 && index < count ? &targets[index] : NULL;
}

const struct target *target_for_gpu(int number)
{
    const struct target *found = NULL;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (!targets[i].ptx.suffix && targets[i].ptx.number <= number)
            found = &targets[i];
    return found;
}

bool target_runs_on(const struct target *t, int number)
{
    const bool same_family = number / 10 == t->ptx.number / 10;
    return number == t->ptx.number ||
           (number > t->ptx.number && t->ptx.suffix != 'a' && (!t->ptx.suffix || same_family));
}

int32_t target_most_shared(void)
{
    int32_t most = 0;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        most = targets[i].shared_bytes > most ? targets[i].shared_bytes : most;
    return most;
}

static const uint8_t feature_since[] = {
#define FEATURE(name, since) since,
#include "target/targets.def"
#undef FEATURE
};

bool target_has(const struct target *t, enum target_feature feature)
{
    return target_number_has(t->ptx.number, feature);
}

bool target_number_has(int number, enum target_feature feature)
{
    return number >= feature_since[feature];
}

int target_first_with(enum target_feature feature)
{
    return feature_since[feature];
}

static const struct target_unit units[] = {
#define MATRIX_UNIT(name, m, n, k, a, b, sum, how, slots, since)                                   \
    {#name ".m" #m "n" #n "k" #k, m,     n,    k, DT_##a, DT_##b, DT_##sum,                        \
     TARGET_UNIT_##how,           slots, since},
#include "target/units.def"
#undef MATRIX_UNIT
};

const struct target_unit *target_unit_at(int index)
{
    int count = (int)(sizeof units / sizeof *units);
    return index >= 0 && index < count ? &units[index] : NULL;
}

bool target_has_unit(const struct target *t, const struct target_unit *u)
{
    return t->ptx.number >= u->since;
}

const struct target_unit *target_unit_of_fragments(const enum dtype types[3],
                                                   const uint16_t counts[3])
{
    enum { LANES = 32 };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const struct target_unit *u = &units[i];
        if (u->how == TARGET_UNIT_PLAIN && u->sum == types[0] && u->a == types[1] &&
            u->b == types[2] && u->m * u->n == LANES * counts[0] &&
            u->m * u->k == LANES * counts[1] && u->k * u->n == LANES * counts[2])
            return u;
    }
    return NULL;
}

static const struct target_warpgroup_unit warpgroup_units[] = {
#define WARPGROUP_UNIT(k, a, b, sum, step, left, right, bits)                                      \
    {k, DT_##a, DT_##b, DT_##sum, step, TARGET_LEFT_##left, TARGET_RIGHT_##right, bits},
#include "target/units.def"
#undef WARPGROUP_UNIT
};

const struct target_warpgroup_unit *target_warpgroup_unit_of(enum dtype a, enum dtype b,
                                                             enum dtype sum)
{
    for (size_t i = 0; i < sizeof warpgroup_units / sizeof *warpgroup_units; i++) {
        const struct target_warpgroup_unit *u = &warpgroup_units[i];
        if (u->a == a && u->b == b && u->sum == sum)
            return u;
    }
    return NULL;
}

bool target_warpgroup_has_n(const struct target_warpgroup_unit *u, int64_t n)
{
    enum { FREE = 32, EACH = 8 };
    return n >= EACH && n <= TARGET_WARPGROUP_N && n % (n > FREE ? u->step : EACH) == 0;
}
