#include "target/targets.h"

enum { KB = 1024, REGISTERS = 65536, MOST_REGISTERS = 255 };

static const struct target targets[] = {
#define TARGET(number, suffix, end, shared, threads)                                               \
    {{number, suffix}, ((shared)-1) * KB, (shared)*KB,      threads,                               \
     REGISTERS,        MOST_REGISTERS,    "sm_" #number end},
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

static const uint8_t feature_since[] = {
#define FEATURE(name, since) since,
#include "target/targets.def"
#undef FEATURE
};

bool target_has(const struct target *t, enum target_feature feature)
{
    return t->ptx.number >= feature_since[feature];
}

int target_first_with(enum target_feature feature)
{
    return feature_since[feature];
}

static const struct target_unit units[] = {
#define MATRIX_UNIT(m, n, k, a, b, sum, how, slots, since)                                         \
    {m, n, k, DT_##a, DT_##b, DT_##sum, TARGET_UNIT_##how, slots, since},
#include "target/units.def"
#undef MATRIX_UNIT
};

const struct target_unit *target_unit_for(const struct target *t, enum dtype a, enum dtype b,
                                          int32_t k)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const struct target_unit *u = &units[i];
        if (u->a == a && u->b == b && k % u->k == 0 && t->ptx.number >= u->since)
            return u;
    }
    return NULL;
}
