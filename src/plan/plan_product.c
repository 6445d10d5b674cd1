/* The factors of a product of tiles, and the units that take it. */
#include "plan/plan_product.h"

#include <string.h>

/* --- where the factors come from --- */

static bool is_shared_part(const struct expr *e)
{
    if (e->op != OP_ACCESS || e->sym->storage != ST_SHARED || e->type.dtype == DT_BOOL)
        return false;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind == IX_GATHER)
            return false;
    return true;
}

static bool is_cast(const struct expr *e)
{
    return e->op == OP_CAST && e->args[0]->type.dtype != DT_BOOL && e->type.dtype != DT_BOOL;
}

struct plan_source plan_source_of(const struct expr *dot, int side)
{
    const struct expr *whole = dot->args[side], *e = whole;
    struct plan_source s = {.e = whole, .type = whole->type.dtype};
    bool cast = false;
    for (; e->op == OP_TRANS || (is_cast(e) && !cast); e = e->args[0]) {
        cast |= e->op == OP_CAST;
        s.transposed ^= e->op == OP_TRANS;
    }
    if (is_shared_part(e))
        return (struct plan_source){e, s.transposed, e, e->type.dtype};
    s.transposed = false;
    if (is_cast(whole) && dtype_holds(whole->type.dtype, whole->args[0]->type.dtype) &&
        dtype_is_float(whole->type.dtype) == dtype_is_float(whole->args[0]->type.dtype)) {
        s.e = whole->args[0];
        s.type = s.e->type.dtype;
    }
    return s;
}

/* --- types --- */

/* Returns whether units multiply bytes as they are, in spite of the type that they join in. e4m3 and
 * e5m2 join in f16; what the program itself calls f16 stays that. */
static bool takes_bytes(enum dtype x, enum dtype y, enum dtype a, enum dtype b)
{
    if (!dtype_holds(a, x) || !dtype_holds(b, y))
        return false;
    return (dtype_is_byte_int(x) && dtype_is_byte_int(y) && !dtype_is_float(a)) ||
           (dtype_is_byte_float(x) && dtype_is_byte_float(y) && x != y && a == DT_F16 &&
            b == DT_F16);
}

struct plan_product plan_product_of(const struct expr *dot)
{
    enum dtype a = dot->args[0]->type.dtype, b = dot->args[1]->type.dtype;
    enum dtype x = plan_source_of(dot, 0).type, y = plan_source_of(dot, 1).type;
    bool bytes = takes_bytes(x, y, a, b);
    return (struct plan_product){.e = dot,
                                 .m = (int32_t)dot->type.extent[0],
                                 .n = (int32_t)dot->type.extent[1],
                                 .k = (int32_t)dot->args[0]->type.extent[1],
                                 .factor = a,
                                 .sum = dot->type.dtype,
                                 .a = bytes ? x : a,
                                 .b = bytes ? y : b};
}

/* --- units --- */

static bool takes_types(const struct target_unit *u, enum dtype a, enum dtype b, enum dtype sum)
{
    return u->a == a && u->b == b && u->sum == sum;
}

bool plan_unit_takes(const struct target_unit *u, const struct plan_product *p)
{
    bool bytes = dtype_is_byte_float(p->a) && dtype_is_byte_float(p->b);
    return takes_types(u, p->a, p->b, p->sum) || (bytes && takes_types(u, DT_F16, DT_F16, p->sum));
}

void plan_take_unit(struct plan_product *p, const struct target_unit *u)
{
    p->unit = u;
    p->a = u ? u->a : p->sum;
    p->b = u ? u->b : p->sum;
}

/* k is a multiple of the unit's, because what lies beyond k would have to be zero in both factors. */
bool plan_unit_fits(const struct target *t, const struct target_unit *u,
                    const struct plan_product *p)
{
    return plan_unit_takes(u, p) && target_has_unit(t, u) && p->k % u->k == 0;
}

void plan_choose_unit(const struct target *t, struct plan_product *p, bool padded)
{
    const struct target_unit *best = NULL;
    for (int i = 0; target_unit_at(i); i++) {
        const struct target_unit *u = target_unit_at(i);
        bool better = !best || (best->a != p->a && u->a == p->a);
        if (better &&
            (padded ? plan_unit_takes(u, p) && target_has_unit(t, u) : plan_unit_fits(t, u, p)))
            best = u;
    }
    plan_take_unit(p, best);
}

/* --- by(…) --- */

const char plan_word_fma[] = "fma", plan_word_halves[] = "halves";

const char *plan_factor_word(int side, enum plan_factor how)
{
    static const char *const words[2][3] = {{NULL, "left staged", "left read again"},
                                            {NULL, "right staged", "right read again"}};
    return words[side][how];
}

static bool has_word(const struct by *by, const char *word)
{
    for (int i = 0; word && i < by->count; i++)
        if (strcmp(by->words[i], word) == 0)
            return true;
    return false;
}

static enum plan_factor stated_factor(const struct by *by, int side)
{
    enum plan_factor how = PLAN_READ_AGAIN;
    while (how != PLAN_HELD && !has_word(by, plan_factor_word(side, how)))
        how--;
    return how;
}

/* The name, the word and the types of the factors leave one unit. */
const struct target_unit *plan_unit_named(const struct target *t, const struct plan_product *p,
                                          const struct by *by)
{
    bool halves = has_word(by, plan_word_halves);
    for (int i = 0; target_unit_at(i); i++) {
        const struct target_unit *u = target_unit_at(i);
        if (strcmp(u->name, by->name) == 0 && halves == (u->how == TARGET_UNIT_HALVES) &&
            plan_unit_fits(t, u, p))
            return u;
    }
    return NULL;
}

struct plan_product plan_stated(const struct target *t, const struct expr *dot)
{
    struct plan_product p = plan_product_of(dot);
    plan_take_unit(&p, plan_unit_named(t, &p, dot->by));
    p.left = stated_factor(dot->by, 0);
    p.right = stated_factor(dot->by, 1);
    return p;
}
