/* Emitting polynomials. What varies further out is one operand, computed there; what is left is
 * a chain of multiply-adds, with run-time factors taken out: k * (i + row).
 *
 * 64 bits: IMAD.WIDE multiplies 32 bits by 32 bits and adds 64 in one instruction (mad.wide), so
 * factors are kept at 32 bits as long as their range allows.
 */
#include "base/arithmetic.h"
#include "lower/lower_value_graph.h"

#include <assert.h>

/* A sum being emitted. */
struct chain {
    struct lower *l;
    enum dtype dtype;
    bool wide, started;
    struct ptx_operand sum;
};

static struct ptx_operand chain_register(struct chain *c)
{
    return ptx_reg(&c->l->b, c->wide ? MOD_B64 : MOD_B32);
}

static void chain_set(struct chain *c, struct ptx_operand sum)
{
    c->sum = sum;
    c->started = true;
}

static struct ptx_operand number(bool wide, int64_t v)
{
    return ptx_int(wide ? v : dtype_wrap(DT_I32, v));
}

static void chain_add(struct chain *c, struct ptx_operand x, bool negative)
{
    struct ptx_builder *b = &c->l->b;
    if (!c->started && !negative) {
        chain_set(c, x);
        return;
    }
    struct ptx_operand sum = chain_register(c);
    if (!c->started)
        ptx_emit(b, c->wide ? "neg.s64" : "neg.s32", sum, x);
    else if (negative)
        ptx_emit(b, c->wide ? "sub.s64" : "sub.s32", sum, c->sum, x);
    else
        ptx_emit(b, c->wide ? "add.s64" : "add.s32", sum, c->sum, x);
    chain_set(c, sum);
}

static void chain_constant(struct chain *c, int64_t v)
{
    if (!c->wide)
        v = dtype_wrap(DT_I32, v);
    if (v != 0)
        chain_add(c, number(c->wide, v), false);
}

static int log_of(int64_t n)
{
    int log = 0;
    if (n <= 0 || (n & (n - 1)) != 0)
        return -1;
    while ((int64_t)1 << log < n)
        log++;
    return log;
}

/* += factor * x */
static void chain_scaled(struct chain *c, struct ptx_operand x, int64_t factor)
{
    struct ptx_builder *b = &c->l->b;
    if (!c->wide)
        factor = dtype_wrap(DT_I32, factor);
    if (factor == 1 || factor == -1) {
        chain_add(c, x, factor < 0);
        return;
    }
    int log = log_of(factor);
    struct ptx_operand to = chain_register(c), by = number(c->wide, factor);
    if (log >= 0 && (c->wide || !c->started)) {
        ptx_emit(b, c->wide ? "shl.b64" : "shl.b32", to, x, ptx_int(log));
        chain_add(c, to, false);
        return;
    }
    if (c->started)
        ptx_emit(b, c->wide ? "mad.lo.s64" : "mad.lo.s32", to, x, by, c->sum);
    else
        ptx_emit(b, c->wide ? "mul.lo.s64" : "mul.lo.s32", to, x, by);
    chain_set(c, to);
}

/* --- factors --- */

/* A product: constant factor, and values. */
enum { MOST_FACTORS = MOST_ATOMS + 1 };
struct product {
    int64_t constant;
    int count;
    const struct value *factor[MOST_FACTORS];
};

static bool fits_s32(int64_t v)
{
    return v >= INT32_MIN && v <= INT32_MAX;
}

/* Can it be a signed factor of 32 bits? */
static bool is_short(const struct value *v)
{
    if (!facts_fit(&v->facts, facts_type_of(DT_I32)))
        return false;
    return !value_wide(v->dtype) || (v->kind == VALUE_SUM && poly_narrow(&v->sum));
}

static struct ptx_operand short_operand(struct lower *l, const struct value *v)
{
    if (value_wide(v->dtype))
        v = v->kind == VALUE_SUM && poly_narrow(&v->sum) ? value_of_poly(l, DT_I32, &v->sum)
                                                         : value_apply1(l, OP_CAST, DT_I32, v);
    return value_operand(l, v);
}

/* An atom of 64 bits is what it is: a u64's index would be the sum that is being emitted. */
static struct ptx_operand long_operand(struct lower *l, const struct value *v)
{
    if (value_wide(v->dtype))
        return value_operand(l, v);
    return value_operand(l, value_index(l, v));
}

static int product_level(const struct product *p)
{
    int level = 0;
    for (int i = 0; i < p->count; i++)
        level = p->factor[i]->level > level ? p->factor[i]->level : level;
    return level;
}

/* Factors that vary further out than the others become one, with the constant if `scale`. */
static void join_outer(struct chain *c, struct product *p, bool scale)
{
    struct product left = {.constant = scale ? 1 : p->constant};
    enum dtype t = c->wide ? DT_I64 : c->dtype;
    const struct value *outer = value_int(c->l, t, scale ? p->constant : 1);
    int level = product_level(p), joined = 0;
    for (int i = 0; i < p->count; i++)
        if (p->factor[i]->level == level)
            left.factor[left.count++] = p->factor[i];
        else
            joined++;
    if (joined == 0 || (joined == 1 && (!scale || p->constant == 1)))
        return;
    for (int i = 0; i < p->count; i++)
        if (p->factor[i]->level < level) {
            struct poly q = poly_of(c->l, p->factor[i]);
            outer = value_mul(c->l, outer, value_of_poly(c->l, t, &q));
        }
    left.factor[left.count++] = outer;
    *p = left;
}

static void product_32(struct chain *c, struct product p)
{
    struct ptx_builder *b = &c->l->b;
    join_outer(c, &p, true);
    struct ptx_operand x = short_operand(c->l, p.factor[0]);
    for (int i = 1; i < p.count; i++) {
        bool last = i + 1 == p.count && p.constant == 1 && c->started;
        struct ptx_operand y = short_operand(c->l, p.factor[i]), to = chain_register(c);
        if (last) {
            ptx_emit(b, "mad.lo.s32", to, x, y, c->sum);
            chain_set(c, to);
            return;
        }
        ptx_emit(b, "mul.lo.s32", to, x, y);
        x = to;
    }
    chain_scaled(c, x, p.constant);
}

/* += x * y, both of 32 bits and signed; y may be an immediate. */
static void chain_wide(struct chain *c, bool is_signed, struct ptx_operand x, struct ptx_operand y)
{
    struct ptx_operand to = chain_register(c);
    if (c->started)
        ptx_emit(&c->l->b, is_signed ? "mad.wide.s32" : "mad.wide.u32", to, x, y, c->sum);
    else
        ptx_emit(&c->l->b, is_signed ? "mul.wide.s32" : "mul.wide.u32", to, x, y);
    chain_set(c, to);
}

/* A register of 32 bits made one of 64. */
static void chain_widened(struct chain *c, bool is_signed, struct ptx_operand x)
{
    struct ptx_operand to = chain_register(c);
    ptx_emit(&c->l->b, is_signed ? "cvt.s64.s32" : "cvt.u64.u32", to, x);
    chain_set(c, to);
}

static void single_64(struct chain *c, const struct value *v, int64_t factor)
{
    bool is_signed = is_short(v);
    bool unsigned_32 = !is_signed && v->dtype == DT_U32;
    if (unsigned_32 && factor == 1 && !c->started) {
        chain_widened(c, false, value_operand(c->l, v));
    } else if (unsigned_32 && factor > 0 && factor <= UINT32_MAX) {
        chain_wide(c, false, value_operand(c->l, v), ptx_int(factor));
    } else if (is_signed && factor == 1 && !c->started) {
        chain_widened(c, true, short_operand(c->l, v));
    } else if (is_signed && fits_s32(factor)) {
        chain_wide(c, true, short_operand(c->l, v), ptx_int(factor));
    } else {
        chain_scaled(c, long_operand(c->l, v), factor);
    }
}

/* Two factors of 32 bits: the constant goes into one of them if that stays within 32 bits. */
static void pair_64(struct chain *c, const struct value *x, const struct value *y, int64_t factor)
{
    if (factor != 1 && fits_s32(factor)) {
        const struct value *scaled[2];
        const struct value *of[2] = {x->level <= y->level ? x : y, x->level <= y->level ? y : x};
        for (int i = 0; i < 2; i++) {
            scaled[i] = value_affine(c->l, value_index(c->l, of[i]), factor, 0);
            if (!is_short(scaled[i]))
                continue;
            x = scaled[i];
            y = of[1 - i];
            factor = 1;
            break;
        }
    }
    struct ptx_operand a = short_operand(c->l, x), b = short_operand(c->l, y);
    if (factor == 1) {
        chain_wide(c, true, a, b);
        return;
    }
    struct ptx_operand product = chain_register(c);
    ptx_emit(&c->l->b, "mul.wide.s32", product, a, b);
    chain_scaled(c, product, factor);
}

static void product_64(struct chain *c, struct product p)
{
    join_outer(c, &p, false);
    if (p.count == 1) {
        single_64(c, p.factor[0], p.constant);
        return;
    }
    bool two_short = is_short(p.factor[0]) && is_short(p.factor[1]);
    if (p.count == 2 && two_short) {
        pair_64(c, p.factor[0], p.factor[1], p.constant);
        return;
    }
    struct ptx_operand x;
    int next = two_short ? 2 : 1;
    if (two_short) {
        x = chain_register(c);
        ptx_emit(&c->l->b, "mul.wide.s32", x, short_operand(c->l, p.factor[0]),
                 short_operand(c->l, p.factor[1]));
    } else {
        x = long_operand(c->l, p.factor[0]);
    }
    for (; next < p.count; next++) {
        struct ptx_operand to = chain_register(c);
        ptx_emit(&c->l->b, "mul.lo.s64", to, x, long_operand(c->l, p.factor[next]));
        x = to;
    }
    chain_scaled(c, x, p.constant);
}

static void chain_product(struct chain *c, const struct product *p)
{
    if (c->wide)
        product_64(c, *p);
    else
        product_32(c, *p);
}

/* --- terms --- */

/* The atom in most terms; NULL: each is in one only. Of equals the one that varies further in. */
static const struct value *most_shared(const struct poly *p, int *terms)
{
    const struct value *best = NULL;
    *terms = 1;
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < p->terms[i].count; k++) {
            const struct value *atom = p->terms[i].atom[k];
            int count = 0;
            for (int j = 0; j < p->count; j++)
                count += monomial_find(&p->terms[j], atom) >= 0;
            if (count > *terms || (best && count == *terms && atom->level > best->level)) {
                best = atom;
                *terms = count;
            }
        }
    return best;
}

/* p = content * atom * inside + rest */
static int64_t take_out(struct lower *l, const struct poly *p, const struct value *atom,
                        struct poly *inside, struct poly *rest)
{
    int64_t content = 0;
    *inside = *rest = (struct poly){0};
    for (int i = 0; i < p->count; i++) {
        int at = monomial_find(&p->terms[i], atom);
        if (at < 0) {
            poly_add_term(l, rest, p->terms[i]);
            continue;
        }
        content = greatest_common_divisor(content, p->terms[i].factor);
        poly_add_term(l, inside, monomial_without(&p->terms[i], at));
    }
    for (int i = 0; i < inside->count; i++)
        inside->terms[i].factor /= content;
    inside->constant /= content;
    return content;
}

/* Takes a common factor out of p's terms if that saves instructions. */
static bool chain_factored(struct chain *c, struct poly *p)
{
    int terms;
    struct poly inside, rest;
    const struct value *atom = most_shared(p, &terms);
    if (!atom)
        return false;
    struct product product = {.count = 2, .factor = {atom}};
    product.constant = take_out(c->l, p, atom, &inside, &rest);
    product.factor[1] = value_of_poly(c->l, c->wide ? DT_I64 : c->dtype, &inside);
    if (c->wide && terms < 3 && !is_short(product.factor[1]))
        return false;
    chain_product(c, &product);
    *p = rest;
    return true;
}

static void chain_term(struct chain *c, struct poly *p, int at)
{
    const struct monomial *m = &p->terms[at];
    struct product product = {.constant = m->factor, .count = m->count};
    for (int k = 0; k < m->count; k++)
        product.factor[k] = m->atom[k];
    struct poly rest = {0};
    for (int i = 0; i < p->count; i++)
        if (i != at)
            poly_add_term(c->l, &rest, p->terms[i]);
    chain_product(c, &product);
    *p = rest;
}

/* A term that is a register already, to start from; -1: none. */
static int starting_term(const struct chain *c, const struct poly *p)
{
    for (int i = 0; i < p->count; i++) {
        const struct monomial *m = &p->terms[i];
        if (m->factor == 1 && m->count == 1 && value_wide(m->atom[0]->dtype) == c->wide)
            return i;
    }
    return -1;
}

static void chain_terms(struct chain *c, const struct poly *given)
{
    struct poly p = {0};
    poly_add(c->l, &p, given, 1);
    while (p.count) {
        int terms, start = c->started ? -1 : starting_term(c, &p);
        bool shared = start >= 0 && most_shared(&p, &terms) == p.terms[start].atom[0];
        if (start >= 0 && !shared)
            chain_term(c, &p, start);
        else if (!chain_factored(c, &p))
            chain_term(c, &p, start >= 0 ? start : 0);
    }
}

struct ptx_operand sum_chain(struct lower *l, enum dtype t, const struct ptx_operand *start,
                             const struct poly *p)
{
    struct chain c = {.l = l, .dtype = t, .wide = value_wide(t)};
    if (start)
        chain_set(&c, *start);
    chain_terms(&c, p);
    assert(c.started);
    return c.sum;
}

/* --- sums --- */

static struct ptx_operand add_constant(struct lower *l, enum dtype t, struct ptx_operand x,
                                       int64_t constant)
{
    struct chain c = {.l = l, .dtype = t, .wide = value_wide(t), .started = true, .sum = x};
    chain_constant(&c, constant);
    return c.sum;
}

/* Does the polynomial vary in the innermost loop, and follow its counters in a way that a register
 * should be stepped for? */
static bool follows(struct lower *l, const struct value *v, struct poly *followed,
                    struct poly *rest)
{
    if (!value_wide(v->dtype) || v->level != value_depth(l))
        return false;
    frame_split(l, &v->sum, followed, rest);
    return followed->count && !frame_wraps(l, followed) && frame_worth_stream(l, followed);
}

struct ptx_operand sum_emit(struct lower *l, const struct value *v)
{
    struct poly inner, outer, bare = v->sum;
    bare.constant = 0;
    const struct value *base = value_of_poly(l, v->dtype, &bare);
    if (v->sum.constant && base != v && (base->placed || base->kind == VALUE_LEAF))
        return add_constant(l, v->dtype, value_operand(l, base), v->sum.constant);
    if (follows(l, v, &outer, &inner)) {
        struct ptx_operand reg = frame_stream(l, value_of_poly(l, v->dtype, &outer));
        return add_constant(l, v->dtype, sum_chain(l, v->dtype, &reg, &inner), v->sum.constant);
    }
    poly_split_level(l, &v->sum, v->level, &inner, &outer);
    bool hoist = outer.count > 0 && inner.count > 0 && v->level == value_depth(l);
    if (!hoist) {
        struct ptx_operand sum = sum_chain(l, v->dtype, NULL, &bare);
        return add_constant(l, v->dtype, sum, v->sum.constant);
    }
    struct ptx_operand start = value_operand(l, value_of_poly(l, v->dtype, &outer));
    return sum_chain(l, v->dtype, &start, &inner);
}

/* --- one instruction more --- */

struct ptx_operand sum_plus(struct lower *l, enum dtype t, struct ptx_operand start,
                            int64_t constant)
{
    struct ptx_operand reg = op_register(l, t);
    sum_step(l, t, reg, start, value_int(l, t, constant));
    return reg;
}

bool sum_is_near(const struct value *d)
{
    struct poly one = d->sum;
    if (d->kind != VALUE_SUM)
        return d->kind == VALUE_LITERAL || !value_wide(d->dtype);
    if (one.count != 1 || one.constant != 0 || one.terms[0].count != 1)
        return false;
    return fits_s32(one.terms[0].factor) && is_short(one.terms[0].atom[0]);
}

/* A product that does not change in the loop is multiplied in front of it and added here: the
 * assembler makes one IMAD.WIDE of both. Of a mad.wide it would take the product out itself, and
 * add in two instructions. */
void sum_step(struct lower *l, enum dtype t, struct ptx_operand to, struct ptx_operand start,
              const struct value *step)
{
    struct ptx_builder *b = &l->b;
    bool wide = value_wide(t), made_here = step->level >= value_depth(l) && !step->placed;
    if (made_here && step->kind == VALUE_SUM && sum_is_near(step)) {
        struct ptx_operand x = short_operand(l, step->sum.terms[0].atom[0]);
        struct ptx_operand factor = number(wide, step->sum.terms[0].factor);
        ptx_emit(b, wide ? "mad.wide.s32" : "mad.lo.s32", to, x, factor, start);
        return;
    }
    ptx_emit(b, wide ? "add.s64" : "add.s32", to, start, value_operand(l, step));
}
