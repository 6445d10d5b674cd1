/* The oracle: evaluates an `ensures` in double over whole views, and computes how far a correct
 * kernel may be from it.
 *
 * Every value carries a bound of the error that a kernel computing it in the expression's types can
 * have, as in a running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
 * edition, sections 3.1 to 3.5). With u the unit roundoff of an op's type (f32 2^-24, f16 2^-11,
 * bf16 2^-8, f64 2^-53; 2^-53 is added for the oracle's own rounding):
 *
 *   loaded values      exact, as stored; literals exact, as their type holds them
 *   + - * / fma        the operands' bounds through the op, + u |v| and half a subnormal step; an
 *                      exact 0 stays exact
 *   functions          the operand's bound times the slope over its interval, + 4u |f| (log, sin
 *                      and cos: 4u max(|f|, 1))
 *   dot over K         sum(|a| eb + |b| ea + ea eb) + the bound of a sum of K + 2 terms |a||b|, u
 *                      of the type that dot sums in. If a dot_async of the kernel multiplies 8-bit
 *                      floats, dots of them have the bound of a sum of min(K, promoted) + 2 terms
 *                      more, u = 2^-13
 *   sum, scan over n   the sum of bounds + the bound of a sum of n terms
 *   min max abs neg    no rounding
 *   casts              to a narrower float u |v| and half a subnormal step; to integers the
 *                      interval after truncation
 *   comparisons        decided if the values differ by more than their bounds; otherwise both
 *                      outcomes are possible, and `where` then gives an interval that holds both
 *                      of its sides
 *   integers           exact, wrapped to their type; a value converted from a float keeps a bound
 *
 * A sum of n terms x in any order is off by at most n u sum |x|. For large n no real kernel is that
 * far off, and a bound that wide would pass kernels that lose terms. Roundings cancel: with n > 64
 * the bound is 8 sqrt(n) u s (Higham and Mary, "A new approach to probabilistic rounding error
 * analysis", SIAM J. Sci. Comput. 41, 2019, with lambda = 8), where s is the largest magnitude that
 * partial sums reach. For a kernel that adds neighbours first, s is at most the sum of |sums of 512
 * terms in a row|. Because the order is free, s is never taken below sum |x| / 8: partial sums that
 * all reach sum |x| have a standard error below sqrt(n) u sum |x| / 3. Sums of one sign have s =
 * sum |x|, and so leave room for units that truncate. If all terms have the same magnitude, they
 * are rounded alike each time, and the sum keeps the linear bound.
 *
 * The store to the view may add the view's rounding, u |want| and a subnormal step. An element is
 * right if |got - want| <= SAFETY times the sum of all these bounds; a value whose bound is 0 must
 * be met exactly. NaN matches NaN; infinity matches infinity, and a value that may round to it. An
 * expression may order its roundings in another way than the kernel, and second-order terms are
 * left out: SAFETY covers both.
 *
 * A bound can be infinite (division by a value that may be zero, a value that may overflow on
 * the way). Such elements are not judged. If they are more than one in twenty of a statement's
 * elements, or if a statement compares no element at all, the check reports that it cannot tell. */
#include "oracle/ensures_internal.h"

#include "base/platform.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SAFETY 2.0
enum { MOST_UNDECIDED = 20 }; /* one in this number of elements */
/* Limit of the number of values of the indices that a statement ranges over. Each takes a
 * microsecond or more. */
enum { MOST_SETTINGS = 1000000000 };

/* --- one element --- */

struct judgement {
    double got, want, error, allowed;
    bool right, undecided;
};

static struct judgement judge_float(enum dtype t, double got, struct number want)
{
    want.v = oracle_float_saturated(t, want.v);
    struct judgement j = {.got = got, .want = want.v};
    double size = fabs(want.v), toward = signbit(got) == signbit(want.v) ? size : -size;
    j.allowed = want.error;
    if (want.error != 0)
        j.allowed = SAFETY * (want.error + dtype_table[t].roundoff * (size + want.error)) +
                    oracle_float_step(t);
    j.undecided = !isfinite(j.allowed);
    if (isnan(got) || isnan(want.v)) {
        j.error = isnan(got) && isnan(want.v) ? 0 : INFINITY;
    } else if (isinf(got) && toward + j.allowed >= oracle_float_overflow(t)) {
        j.error = 0; /* may have overflowed */
    } else if (isfinite(got) && size - j.allowed >= oracle_float_overflow(t)) {
        j.error = INFINITY; /* must have overflowed */
    } else {
        j.error = got == want.v ? 0 : fabs(got - want.v);
    }
    j.right = j.undecided || j.error <= j.allowed;
    return j;
}

static struct judgement judge_int(enum dtype t, int64_t got, struct number want)
{
    struct number have = {.i = got};
    struct judgement j = {.got = oracle_number_real(t, have), .want = oracle_number_real(t, want)};
    j.allowed = want.error;
    j.undecided = !isfinite(want.error);
    if (got != want.i) /* beyond 2^53 doubles may be equal although the integers differ */
        j.error = fmax(fabs(j.got - j.want), 1);
    j.right = j.undecided || j.error <= j.allowed;
    return j;
}

/* Returns `want` in the view's type; judge_float allows for the last rounding of a float. */
static struct number as_stored(enum dtype to, enum dtype from, struct number want)
{
    if (dtype_is_float(to) && dtype_is_float(from)) {
        double v = want.v;
        uint64_t element = 0;
        dtype_store_f64(to, &element, v);
        if (want.error == 0 && isfinite(v) && dtype_load_f64(to, &element) != v)
            want.error = oracle_float_step(to) / 2; /* exact, but not representable: one rounding is
                                              * allowed */
        return want;
    }
    return oracle_number_cast(to, from, want);
}

/* --- one statement --- */

struct comparison {
    struct oracle *o;
    double worst; /* largest error / allowed found up to now, over all statements */
    bool any;
    int64_t checked, undecided; /* of this statement */
    int64_t settings;           /* number of values of the outer indices */
};

static double ratio(const struct judgement *j)
{
    if (j->undecided || j->error == 0)
        return 0;
    return j->allowed > 0 ? j->error / j->allowed : INFINITY;
}

static void keep_worst(struct comparison *c, const struct judgement *j,
                       const struct ensures_access *target, const int64_t *at)
{
    struct ensures_report *r = c->o->report;
    double bad = ratio(j);
    if (j->error > r->max_error && !j->undecided)
        r->max_error = j->error;
    if (c->any && !(bad > c->worst))
        return;
    c->any = true;
    c->worst = bad;
    r->got = j->got;
    r->want = j->want;
    r->tolerance = j->allowed;
    r->view = target->view->name;
    r->rank = target->axes;
    for (int i = 0; i < target->axes; i++)
        r->at[i] = at[i];
    if (!j->right) {
        r->ok = false;
        r->loc = c->o->statement->loc;
    }
}

static void tell_wrong(struct oracle *o, const struct judgement *j,
                       const struct ensures_access *target, const int64_t *at)
{
    const struct sym *base = target->view->base;
    struct ensures_wrong w = {.view = target->view->name,
                              .rank = target->axes,
                              .param = base->name,
                              .got = j->got,
                              .want = j->want};
    const char *start = o->args[base->index].data;
    w.element = (target->data - start) / (int64_t)dtype_size(target->dtype);
    for (int i = 0; i < target->axes; i++) {
        w.extent[i] = target->axis[i].extent;
        w.at[i] = at[i];
        w.element += at[i] * target->axis[i].stride;
    }
    o->listener->wrong(o->listener->user, &w);
}

/* --- values kept --- */

struct ensures_kept *ensures_kept_new(struct arena *a)
{
    struct ensures_kept *kept = arena_new(a, struct ensures_kept);
    kept->arena = a;
    return kept;
}

/* Prints the `ensures` statements of k, as the key of kept values. Every constant is printed as
 * a number, because all passes ran. */
static const char *statements_text(struct arena *a, const struct kernel *k)
{
    struct text out;
    text_init(&out, a);
    for (const struct stmt *s = k->body; s; s = s->next)
        if (s->kind == STMT_ENSURES)
            stmt_print(&out, s, 0);
    return out.data;
}

static void keep(struct ensures_kept *kept, const struct oracle_tile *x)
{
    struct oracle_tile copy = *x;
    size_t bytes = (size_t)x->count * sizeof(double);
    copy.v = x->v ? arena_copy(kept->arena, x->v, bytes) : NULL;
    copy.i = x->i ? arena_copy(kept->arena, x->i, bytes) : NULL;
    copy.error = x->error ? arena_copy(kept->arena, x->error, bytes) : NULL;
    vec_push(kept->arena, &kept->tiles, copy);
}

/* Returns the value that the statement expects: evaluated, or taken from the kept values. */
static bool find_wanted(struct oracle *o, const struct hint *hint, struct oracle_tile *want)
{
    if (o->instead) {
        *want = o->instead->tiles.data[o->used++];
        return true;
    }
    if (!oracle_eval(o, o->statement->value, hint, want))
        return false;
    if (o->filling)
        keep(o->filling, want);
    return true;
}

/* Compares the view with the statement for the current values of the `over` indices. */
static bool compare(struct comparison *c)
{
    struct oracle *o = c->o;
    const struct stmt *s = o->statement;
    struct ensures_access target;
    struct oracle_tile got, want;
    if (!oracle_access_resolve(o, s->target, &target))
        return false;
    struct hint hint = {.rank = target.rank, .extent = target.extent};
    bool narrower =
        dtype_is_float(s->value->type.dtype) && dtype_is_float(target.dtype) &&
        oracle_float_overflow(s->value->type.dtype) < oracle_float_overflow(target.dtype);
    o->root = narrower ? NULL : s->value;
    if (!find_wanted(o, &hint, &want))
        return false;
    int64_t strides[MAX_RANK] = {0};
    if (!oracle_access_load(o, &target, (struct number){0}, &got))
        return false;
    if (!oracle_tile_strides(&want, got.rank, got.extent, strides))
        return oracle_fail(o, "`%s` is %s here, but the expression is %s", target.view->name,
                           oracle_tile_shape_text(o, &got), oracle_tile_shape_text(o, &want));
    for (int64_t i = 0; i < got.count; i++) {
        int64_t at[MAX_RANK], from = 0, rest = i;
        arena_poll(o->arena);
        if (!oracle_access_place(&target, i, at))
            continue;
        for (int axis = got.rank - 1; axis >= 0; axis--) {
            from += rest % got.extent[axis] * strides[axis];
            rest /= got.extent[axis];
        }
        struct number expected = as_stored(got.dtype, want.dtype, oracle_tile_get(&want, from));
        struct judgement j = got.v ? judge_float(got.dtype, got.v[i], expected)
                                   : judge_int(got.dtype, got.i[i], expected);
        o->report->checked++;
        c->checked++;
        c->undecided += j.undecided;
        o->report->nans += !j.undecided && isnan(j.got) && isnan(j.want);
        keep_worst(c, &j, &target, at);
        if (o->listener && !j.right)
            tell_wrong(o, &j, &target, at);
    }
    oracle_tile_free(o, &got);
    if (!o->instead)
        oracle_tile_free(o, &want);
    oracle_access_free(o, &target);
    oracle_forget_twins(o);
    return true;
}

static bool compare_over(struct comparison *c, int depth)
{
    struct oracle *o = c->o;
    const struct stmt *s = o->statement;
    if (depth == s->overs)
        return compare(c);
    int64_t bound, settings = c->settings;
    for (int i = depth; i < s->overs; i++)
        o->over[i] = 0;
    if (!oracle_eval_int(o, s->bound[depth], &bound))
        return false;
    if (bound > 0 && settings > MOST_SETTINGS / bound)
        return oracle_fail(o, "it ranges over more than %d values of its indices", MOST_SETTINGS);
    c->settings *= bound > 0 ? bound : 1;
    for (int64_t i = 0; i < bound; i++) {
        o->over[depth] = i;
        arena_poll(o->arena);
        if (!compare_over(c, depth + 1))
            return false;
    }
    c->settings = settings;
    return true;
}

/* Returns whether the result of a statement may be trusted; a statement that holds only because
 * no element was judged proves nothing. */
static bool has_verdict(struct comparison *c)
{
    struct oracle *o = c->o;
    const struct sym *view = o->statement->target->sym;
    int64_t elements;
    o->report->undecided += c->undecided;
    if (!o->report->ok)
        return true;
    if (c->checked == 0)
        return oracle_view_elements(o, view, &elements) &&
               (elements == 0 ||
                oracle_fail(o,
                            "no element of `%s` is compared: the ensured elements lie outside it",
                            view->name));
    return c->undecided <= c->checked / MOST_UNDECIDED ||
           oracle_fail(o,
                       "for %lld of %lld elements of `%s` rounding, overflow or division by zero "
                       "may give anything",
                       (long long)c->undecided, (long long)c->checked, view->name);
}

/* --- all statements --- */

static void set_environment(struct oracle *o)
{
    const struct kernel *k = o->kernel;
    struct literal *values = arena_array(o->arena, struct literal, k->param_count);
    bool *known = arena_array(o->arena, bool, k->param_count);
    for (const struct param *p = k->params; p; p = p->next) {
        values[p->sym->index] = o->args[p->sym->index].scalar;
        known[p->sym->index] = !p->sym->is_pointer;
    }
    o->env = (struct scalar_env){.values = values, .known = known, .count = k->param_count};
}

static bool check_all(struct oracle *o)
{
    struct ensures_report *report = o->report;
    struct comparison c = {.o = o};
    for (const struct stmt *s = o->kernel->body; s; s = s->next) {
        if (s->kind != STMT_ENSURES)
            continue;
        o->statement = s;
        oracle_find_twins(o, s->value);
        oracle_find_fixed(o);
        if (report->ok)
            report->loc = s->loc;
        c.checked = c.undecided = 0;
        c.settings = 1;
        if (!compare_over(&c, 0) || !has_verdict(&c)) {
            report->ok = false;
            report->loc = s->loc;
            return oracle_fail(o, "memory or shapes");
        }
        oracle_forget_fixed(o);
    }
    return true;
}

bool ensures_check(struct arena *a, const struct kernel *k, const struct cpu_argument *args,
                   struct parallel parallel, struct ensures_report *report)
{
    return ensures_check_with(a, k, args, parallel, NULL, NULL, report);
}

bool ensures_check_with(struct arena *a, const struct kernel *k, const struct cpu_argument *args,
                        struct parallel parallel, struct ensures_kept *kept,
                        const struct ensures_listener *listener, struct ensures_report *report)
{
    *report = (struct ensures_report){.ok = true};
    struct oracle o = {.eval = oracle_eval_expr,
                       .arena = a,
                       .kernel = k,
                       .args = args,
                       .parallel = parallel,
                       .report = report,
                       .listener = listener};
    arena_doing(a, "evaluating `ensures`");
    set_environment(&o);
    const char *text = kept ? statements_text(a, k) : NULL;
    if (kept && !kept->text) {
        kept->tiles.count = 0; /* drops the values of an evaluation that failed */
        o.filling = kept;
    } else if (kept && strcmp(kept->text, text) == 0) {
        o.instead = kept;
    }
    bool done = check_all(&o);
    if (done && o.filling)
        kept->text = arena_string(kept->arena, text, strlen(text));
    return done;
}
