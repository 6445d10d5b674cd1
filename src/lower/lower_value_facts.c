/* What is known of integers: a divisor, a range, bits that are surely 0. */
#include "lower/lower_value_graph.h"

#include "base/arithmetic.h"
#include "base/grid.h"

static int64_t lowest_bit(int64_t v)
{
    return (int64_t)((uint64_t)v & (0 - (uint64_t)v));
}

/* All bits up to the highest that is 1. */
static uint64_t filled(uint64_t v)
{
    for (int shift = 1; shift < 64; shift *= 2)
        v |= v >> shift;
    return v;
}

struct facts facts_of_range(int64_t divisor, int64_t least, int64_t greatest)
{
    struct facts f = {divisor, least, greatest, UINT64_MAX};
    if (least < 0 || greatest < least)
        return f;
    f.ones = filled((uint64_t)greatest);
    int64_t bit = lowest_bit(divisor);
    if (bit > 1)
        f.ones &= ~((uint64_t)bit - 1);
    return f;
}

/* INT64_MAX, as a divisor, says that the value is 0: of a number of that magnitude nothing is said. */
static int64_t divisor_of_number(int64_t v)
{
    if (v == 0)
        return INT64_MAX;
    if (v == INT64_MIN)
        return (int64_t)1 << 62;
    return v == INT64_MAX || v == -INT64_MAX ? 1 : v < 0 ? -v : v;
}

struct facts facts_of_number(int64_t v)
{
    struct facts f = {divisor_of_number(v), v, v, UINT64_MAX};
    if (v >= 0)
        f.ones = (uint64_t)v;
    return f;
}

struct facts facts_of_type(enum dtype t)
{
    int bits = dtype_table[t].bits;
    switch (dtype_table[t].kind) {
    case DK_BOOL: return facts_of_range(1, 0, 1);
    case DK_UINT: {
        struct facts f = facts_of_range(1, 0, bits == 64 ? INT64_MAX : ((int64_t)1 << bits) - 1);
        /* Half of u64 is beyond what a limit can say. */
        return bits == 64 ? facts_of_range(1, INT64_MIN, INT64_MAX) : f;
    }
    case DK_SINT:
        if (bits < 64)
            return facts_of_range(1, -((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1);
        break;
    default: break;
    }
    return facts_of_range(1, INT64_MIN, INT64_MAX);
}

/* Of two divisors the least common multiple, if 64 bits have room for it. */
static int64_t divisor_of_both(int64_t a, int64_t b)
{
    int64_t both;
    if (a == INT64_MAX || b == INT64_MAX)
        return INT64_MAX;
    if (__builtin_mul_overflow(a, b / greatest_common_divisor(a, b), &both) || both == INT64_MAX)
        return a > b ? a : b;
    return both;
}

struct facts facts_both(const struct facts *a, const struct facts *b)
{
    struct facts f = facts_of_range(divisor_of_both(a->divisor, b->divisor),
                                    a->least > b->least ? a->least : b->least,
                                    a->greatest < b->greatest ? a->greatest : b->greatest);
    f.ones &= a->ones & b->ones;
    return f;
}

bool facts_fit(const struct facts *f, enum dtype t)
{
    struct facts all = facts_of_type(t);
    if (t == DT_U64)
        return f->least >= 0;
    return f->least >= all.least && f->greatest <= all.greatest;
}

/* Cuts facts to the type: if the value may wrap, only the power of two of its divisor survives. */
static struct facts facts_cut(const struct facts *f, enum dtype t)
{
    struct facts all = facts_of_type(t);
    int bits = dtype_table[t].bits;
    int64_t power = f->divisor == INT64_MAX ? INT64_MAX : lowest_bit(f->divisor);
    int64_t most = (int64_t)1 << (bits < 64 ? bits - 1 : 62);
    return facts_of_range(power < most ? power : most, all.least, all.greatest);
}

struct facts facts_cast(const struct facts *f, enum dtype t)
{
    return facts_fit(f, t) ? *f : facts_cut(f, t);
}

/* --- limits; INT64_MIN and INT64_MAX stay what they are --- */

struct facts facts_wrapped(struct facts f, enum dtype t, bool *exact)
{
    *exact = !limit_unknown(f.least) && !limit_unknown(f.greatest) && facts_fit(&f, t);
    return *exact ? f : facts_cut(&f, t);
}

static int64_t limit_add(int64_t a, int64_t b, int64_t none)
{
    int64_t sum;
    return limit_unknown(a) || limit_unknown(b) || __builtin_add_overflow(a, b, &sum) ? none : sum;
}

struct range {
    int64_t least, greatest;
};

static struct range range_add(struct range a, struct range b)
{
    return (struct range){limit_add(a.least, b.least, INT64_MIN),
                          limit_add(a.greatest, b.greatest, INT64_MAX)};
}

static struct range range_mul(struct range a, struct range b)
{
    const struct range none = {INT64_MIN, INT64_MAX};
    const int64_t x[2] = {a.least, a.greatest}, y[2] = {b.least, b.greatest};
    struct range r = {INT64_MAX, INT64_MIN};
    /* Of what is not negative a lower limit is left. */
    if (x[0] >= 0 && y[0] >= 0 && (limit_unknown(x[1]) || limit_unknown(y[1])))
        return (struct range){0, INT64_MAX};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            int64_t product;
            if (limit_unknown(x[i]) || limit_unknown(y[k]) ||
                __builtin_mul_overflow(x[i], y[k], &product))
                return none;
            r.least = product < r.least ? product : r.least;
            r.greatest = product > r.greatest ? product : r.greatest;
        }
    return r;
}

static int64_t divisor_mul(int64_t a, int64_t b)
{
    int64_t product;
    if (a == INT64_MAX || b == INT64_MAX)
        return INT64_MAX;
    bool fits = !__builtin_mul_overflow(a, b, &product) && product != INT64_MAX;
    return fits ? product : a > b ? a : b;
}

int64_t value_common_divisor(int64_t a, int64_t b)
{
    return a == INT64_MAX ? b : b == INT64_MAX ? a : greatest_common_divisor(a, b);
}

static uint64_t ones_of_monomial(const struct monomial *m, struct facts of_range)
{
    int64_t f = m->factor;
    if (m->count != 1 || of_range.least < 0 || f <= 0 || lowest_bit(f) != f)
        return of_range.ones;
    return (m->atom[0]->facts.ones * (uint64_t)f) & of_range.ones;
}

static struct facts facts_of_monomial(const struct monomial *m)
{
    struct range r = {m->factor, m->factor};
    int64_t divisor = facts_of_number(m->factor).divisor;
    for (int i = 0; i < m->count; i++) {
        const struct facts *f = &m->atom[i]->facts;
        divisor = divisor_mul(divisor, f->divisor);
        r = range_mul(r, (struct range){f->least, f->greatest});
    }
    struct facts f = facts_of_range(divisor, r.least, r.greatest);
    f.ones = ones_of_monomial(m, f);
    return f;
}

struct facts facts_of_poly(const struct poly *p)
{
    struct facts sum = facts_of_number(p->constant);
    bool apart = sum.least >= 0; /* no two summands have a bit in common: nothing is carried */
    for (int i = 0; i < p->count; i++) {
        struct facts f = facts_of_monomial(&p->terms[i]);
        struct range r =
            range_add((struct range){sum.least, sum.greatest}, (struct range){f.least, f.greatest});
        apart = apart && f.least >= 0 && (sum.ones & f.ones) == 0;
        uint64_t ones = sum.ones | f.ones;
        sum = facts_of_range(value_common_divisor(sum.divisor, f.divisor), r.least, r.greatest);
        if (apart)
            sum.ones &= ones;
    }
    return sum;
}

/* --- ops --- */

static struct facts with_ones(struct facts f, uint64_t ones)
{
    f.ones &= ones;
    if (f.least >= 0 && f.ones <= (uint64_t)INT64_MAX && (int64_t)f.ones < f.greatest)
        f.greatest = (int64_t)f.ones;
    if (f.ones == 0)
        return facts_of_number(0);
    int64_t bit = lowest_bit((int64_t)f.ones);
    if (f.least >= 0 && bit > f.divisor)
        f.divisor = bit;
    return f;
}

static struct facts facts_of_bits(enum op op, enum dtype t, const struct facts *a,
                                  const struct facts *b)
{
    struct facts all = facts_of_type(t);
    if (op == OP_AND && (a->least >= 0 || b->least >= 0)) {
        int64_t x = a->least >= 0 ? a->greatest : INT64_MAX;
        int64_t y = b->least >= 0 ? b->greatest : INT64_MAX;
        return with_ones(facts_of_range(1, 0, x < y ? x : y), a->ones & b->ones);
    }
    if (op == OP_AND || a->least < 0 || b->least < 0)
        return all;
    uint64_t ones = a->ones | b->ones;
    if (ones > (uint64_t)INT64_MAX)
        return all;
    return with_ones(facts_of_range(1, 0, (int64_t)filled(ones)), ones);
}

/* By a constant n > 0; up: rounded up. */
static struct facts facts_of_quotient(const struct facts *a, int64_t n, bool up)
{
    struct facts f = facts_of_range(1, INT64_MIN, INT64_MAX);
    if (!limit_unknown(a->least))
        f.least = a->least / n + (up && a->least > 0 && a->least % n != 0);
    if (!limit_unknown(a->greatest))
        f.greatest = a->greatest / n + (up && a->greatest > 0 && a->greatest % n != 0);
    if (a->divisor == INT64_MAX)
        return facts_of_number(0);
    f.divisor = a->divisor % n == 0 ? a->divisor / n : 1;
    return facts_of_range(f.divisor, f.least, f.greatest);
}

static struct facts facts_of_remainder(const struct facts *a, int64_t n)
{
    int64_t least = a->least >= 0 ? 0 : -(n - 1), greatest = a->greatest <= 0 ? 0 : n - 1;
    if (a->least >= 0 && a->greatest < greatest)
        greatest = a->greatest;
    return facts_of_range(value_common_divisor(a->divisor, n), least, greatest);
}

static struct facts facts_of_shift(enum dtype t, const struct facts *a, const struct value *count)
{
    int64_t n;
    if (value_known(count, &n) && n >= 0 && n < 62 && a->least >= 0)
        return with_ones(facts_of_quotient(a, (int64_t)1 << n, false), a->ones >> n);
    if (a->least >= 0)
        return facts_of_range(1, 0, a->greatest);
    return facts_of_type(t);
}

static struct facts facts_of_least(enum op op, enum dtype t, const struct facts *a,
                                   const struct facts *b)
{
    bool least = op == OP_MIN;
    if (t == DT_U64 && (a->least < 0 || b->least < 0)) /* what looks negative is large */
        return facts_of_type(t);
    int64_t low = (a->least < b->least) == least ? a->least : b->least;
    int64_t high = (a->greatest < b->greatest) == least ? a->greatest : b->greatest;
    return facts_of_range(value_common_divisor(a->divisor, b->divisor), low, high);
}

static struct facts facts_of_either(const struct facts *a, const struct facts *b)
{
    struct facts f = facts_of_range(value_common_divisor(a->divisor, b->divisor),
                                    a->least < b->least ? a->least : b->least,
                                    a->greatest > b->greatest ? a->greatest : b->greatest);
    f.ones &= a->ones | b->ones;
    return f;
}

static struct facts facts_of_division(enum op op, enum dtype t, const struct value *const *args)
{
    const struct facts *a = &args[0]->facts;
    int64_t n;
    if (t == DT_U64 && a->least < 0)
        return facts_of_type(t);
    if (!value_known(args[1], &n) || n <= 0) {
        bool positive = a->least >= 0 && args[1]->facts.least >= 1;
        return positive ? facts_of_range(1, 0, a->greatest) : facts_of_type(t);
    }
    return op == OP_REM ? facts_of_remainder(a, n) : facts_of_quotient(a, n, op == OP_CDIV);
}

/* |a|; the least number of a type has none, and stays. */
static struct facts facts_of_magnitude(enum dtype t, const struct facts *a)
{
    struct facts all = facts_of_type(t);
    if (a->least >= 0)
        return *a;
    if (a->least == all.least || !dtype_is_signed(t))
        return facts_of_range(lowest_bit(a->divisor), all.least, all.greatest);
    int64_t below = -a->least, above = a->greatest > 0 ? a->greatest : 0;
    return facts_of_range(a->divisor, 0, below > above ? below : above);
}

/* pow2_ceil(a): above the greatest power of two of the type it wraps. */
static struct facts facts_of_power(enum dtype t, const struct facts *a)
{
    struct facts all = facts_of_type(t);
    int bits = dtype_table[t].bits - dtype_is_signed(t);
    int64_t most = (int64_t)1 << (bits > 62 ? 62 : bits - 1), greatest = 1;
    if (a->greatest > most || (t == DT_U64 && a->least < 0))
        return all;
    while (greatest < a->greatest)
        greatest *= 2;
    return facts_of_range(1, 1, greatest);
}

static struct facts facts_of_integer(enum op op, enum dtype t, const struct value *const *args)
{
    const struct facts *a = &args[0]->facts;
    switch (op) {
    case OP_AND:
    case OP_OR:
    case OP_XOR: return facts_of_bits(op, t, a, &args[1]->facts);
    case OP_SHR: return facts_of_shift(t, a, args[1]);
    case OP_DIV:
    case OP_CDIV:
    case OP_REM: return facts_of_division(op, t, args);
    case OP_MIN:
    case OP_MAX: return facts_of_least(op, t, a, &args[1]->facts);
    case OP_WHERE: return facts_of_either(&args[1]->facts, &args[2]->facts);
    case OP_POW2_CEIL: return facts_of_power(t, a);
    case OP_ABS: return facts_of_magnitude(t, a);
    default: return facts_of_type(t);
    }
}

struct facts facts_of_op(enum op op, enum dtype t, const struct value *const *args, int count)
{
    struct facts f = facts_of_type(t);
    if (dtype_is_float(t) || t == DT_BOOL || count < 1)
        return f;
    enum dtype from = args[0]->dtype;
    if (op == OP_CAST && !dtype_is_float(from))
        return facts_cast(&args[0]->facts, t);
    if (from != t && op != OP_WHERE)
        return f;
    struct facts found = facts_of_integer(op, t, args);
    return facts_fit(&found, t) ? found : f;
}

/* --- the grid --- */

static struct range expr_range(const struct expr *e);

static struct range range_within(struct range r, enum dtype t)
{
    struct facts all = facts_of_type(t);
    bool fits = r.least >= (t == DT_U64 ? 0 : all.least) && r.greatest <= all.greatest;
    if (value_wide(t) && (limit_unknown(r.least) || limit_unknown(r.greatest)))
        fits = false;
    return fits ? r : (struct range){all.least, all.greatest};
}

static struct range range_of_symbol(const struct sym *s)
{
    if (s->has_value && !s->value.is_float)
        return (struct range){s->value.i, s->value.i};
    struct facts all = facts_of_type(s->type.dtype);
    return (struct range){all.least, all.greatest};
}

static struct range range_of_binary(const struct expr *e)
{
    struct range a = expr_range(e->args[0]), b = expr_range(e->args[1]);
    struct range none = {INT64_MIN, INT64_MAX};
    struct facts f = facts_of_range(1, a.least, a.greatest), q;
    switch (e->op) {
    case OP_ADD: return range_add(a, b);
    case OP_SUB: return range_add(a, range_mul(b, (struct range){-1, -1}));
    case OP_MUL: return range_mul(a, b);
    case OP_MIN:
        return (struct range){none.least, a.greatest < b.greatest ? a.greatest : b.greatest};
    case OP_MAX:
        return (struct range){a.least > b.least ? a.least : b.least,
                              a.greatest > b.greatest ? a.greatest : b.greatest};
    case OP_DIV:
    case OP_CDIV:
        if (b.least <= 0)
            return none;
        q = facts_of_quotient(&f, b.least, e->op == OP_CDIV);
        return (struct range){a.least >= 0 ? 0 : q.least, q.greatest > 0 ? q.greatest : 0};
    default: return none;
    }
}

static struct range expr_range(const struct expr *e)
{
    struct range r = {INT64_MIN, INT64_MAX};
    if (dtype_is_float(e->type.dtype))
        return r;
    if (e->op == OP_LITERAL)
        r = (struct range){e->literal.i, e->literal.i};
    else if (e->op == OP_REF)
        r = range_of_symbol(e->sym);
    else if (e->op == OP_CAST)
        r = expr_range(e->args[0]);
    else if (e->count == 2)
        r = range_of_binary(e);
    return range_within(r, e->type.dtype);
}

int64_t facts_grid(const struct lower *l, int axis)
{
    const int64_t most = grid_limits[axis];
    if (!l->kernel->grid[axis])
        return 1;
    int64_t greatest = expr_range(l->kernel->grid[axis]).greatest;
    return greatest < 1 ? 1 : greatest < most ? greatest : most;
}
