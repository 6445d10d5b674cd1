/* The unit that does each product, and how the factors get there.
 *
 * Factors in shared memory are read fragment by fragment. A factor in registers is held in the
 * fragments' layout, whole; if the registers of a thread do not suffice, it goes through shared
 * memory (staged), and is read from there fragment by fragment. A staged factor that is a slice of a
 * read-only view need not occupy registers from one product to the next: it is read again.
 */
#include "plan/plan.h"
#include "plan/plan_product.h"

#include "base/arithmetic.h"
#include "layout/layout_access.h"

#include <string.h>

struct units {
    struct plan_context *c;
    struct arena *arena;
    int warps;
};

/* --- choosing --- */

static int64_t elements_of(const struct plan_product *p, const struct plan_division *d,
                           enum matrix_operand operand)
{
    struct layout fragments;
    return plan_fragments(p, d, operand, &fragments) ? layout_in_extent(&fragments, AXIS_REG) : 0;
}

/* Elements of a thread where the tile is spread over all threads. */
static int64_t spread_elements(const struct units *u, const struct plan_source *source)
{
    struct layout spread;
    const struct type *t = &source->e->type;
    int32_t extents[2] = {(int32_t)t->extent[0], (int32_t)t->extent[1]};
    int bits = dtype_table[source->type].bits;
    int vector = layout_widest_vector(extents, 2, bits);
    if (!layout_blocked(extents, 2, bits, vector, u->warps, &spread))
        return INT64_MAX;
    return layout_in_extent(&spread, AXIS_REG);
}

/* The longer factor is staged first, and both if that does not suffice. */
static void choose_factors(const struct units *u, struct plan_product *p, bool chained)
{
    static const enum matrix_operand operand[2] = {MATRIX_A, MATRIX_B};
    struct plan_division d = plan_divide(u->c->target, u->warps, p, chained);
    struct plan_source source[2] = {plan_source_of(p->e, 0), plan_source_of(p->e, 1)};
    int64_t most = u->c->target->register_limit - PLAN_SPARE_REGISTERS;
    int64_t scratch = u->c->kernel->shared_bytes, elements[2], registers[2];
    for (int side = 0; side < 2; side++) {
        elements[side] = elements_of(p, &d, operand[side]);
        registers[side] =
            source[side].shared ? 0 : tile_registers(source[side].type, elements[side]);
    }
    int64_t sum = tile_registers(p->sum, elements_of(p, &d, MATRIX_C));
    for (int round = 0; round < 2 && sum + registers[0] + registers[1] > most; round++) {
        int side = registers[1] > registers[0];
        scratch += type_elements(&source[side].e->type) * (int64_t)dtype_size(source[side].type);
        if (!registers[side] || scratch > u->c->target->shared_bytes ||
            spread_elements(u, &source[side]) >= elements[side])
            return;
        registers[side] = 0;
        *(side ? &p->right : &p->left) =
            plan_read_again(u->c->kernel, p->e, source[side].e) ? PLAN_READ_AGAIN : PLAN_STAGED;
    }
}

static const struct by *by_of(const struct units *u, const struct plan_product *p)
{
    VEC(const char *) words = {0};
    const char *left = plan_factor_word(0, p->left), *right = plan_factor_word(1, p->right);
    if (p->unit && p->unit->how == TARGET_UNIT_HALVES)
        vec_push(u->arena, &words, plan_word_halves);
    if (left)
        vec_push(u->arena, &words, left);
    if (right)
        vec_push(u->arena, &words, right);
    struct by *by = arena_new(u->arena, struct by);
    *by = (struct by){p->unit ? p->unit->name : plan_word_fma, (int)words.count, words.data,
                      LOC_NONE};
    return by;
}

/* --- what the program states --- */

/* Adds a note with each by(…) that fits the product. */
static void note_fitting(const struct units *u, const struct plan_product *p, struct loc loc)
{
    struct text t;
    text_init(&t, u->arena);
    for (int i = 0; target_unit_at(i); i++) {
        const struct target_unit *unit = target_unit_at(i);
        if (plan_unit_fits(u->c->target, unit, p))
            text_printf(&t, "`by(%s%s)`, ", unit->name,
                        unit->how == TARGET_UNIT_HALVES ? ", halves" : "");
    }
    const char *all = t.length > 0 ? arena_string(u->arena, t.data, t.length - 2) : NULL;
    diag_note(u->c->diag, loc,
              "%s does %s · %s with k = %d %s%s`by(fma)`; without `by(…)` the "
              "compiler chooses",
              u->c->target->name, dtype_table[p->a].name, dtype_table[p->b].name, p->k,
              all ? all : "", all ? " and " : "");
}

/* The rows of one name, narrowed down by what the product and the target demand. */
struct named {
    bool exists, typed, here;
    int since;                      /* the first target that has it for these types */
    const struct target_unit *deep; /* the one that k would suit, if it were a multiple */
    bool divides;                   /* k is */
};

static struct named look_up(const struct units *u, const struct plan_product *p, const char *name)
{
    struct named n = {.since = INT32_MAX};
    for (int i = 0; target_unit_at(i); i++) {
        const struct target_unit *unit = target_unit_at(i);
        if (strcmp(unit->name, name) != 0)
            continue;
        n.exists = true;
        if (!plan_unit_takes(unit, p))
            continue;
        n.typed = true;
        n.since = unit->since < n.since ? unit->since : n.since;
        if (!target_has_unit(u->c->target, unit))
            continue;
        n.here = true;
        n.deep = unit;
        n.divides = n.divides || p->k % unit->k == 0;
    }
    return n;
}

/* Reports a unit that does not do the product. */
static void refuse_unit(const struct units *u, const struct plan_product *p)
{
    const struct by *by = p->e->by;
    struct diag *d = u->c->diag;
    const char *a = dtype_table[p->a].name, *b = dtype_table[p->b].name;
    struct named n = look_up(u, p, by->name);
    if (!n.exists)
        diag_error(d, by->loc, "there is no unit `%s`", by->name);
    else if (!n.typed)
        diag_error(d, by->loc, "`%s` does not multiply %s by %s with sums of %s", by->name, a, b,
                   dtype_table[p->sum].name);
    else if (!n.here)
        diag_error(d, by->loc, "%s has no `%s` of %s and %s: sm_%d is the first that has it",
                   u->c->target->name, by->name, a, b, n.since);
    else if (!n.divides)
        diag_error(d, by->loc,
                   "`%s` takes %d elements of each row at a time, and k = %d is "
                   "not a multiple",
                   by->name, n.deep->k, p->k);
    else if (n.deep->how == TARGET_UNIT_HALVES)
        diag_error(d, by->loc, "`%s` of %s and %s on %s works in halves, by two products of f16",
                   by->name, a, b, u->c->target->name);
    else
        diag_error(d, by->loc, "`%s` of %s and %s does not work in halves", by->name, a, b);
    note_fitting(u, p, by->loc);
}

/* Returns the side and the way that a word gives to a factor; PLAN_HELD: it is no such word. */
static enum plan_factor factor_of_word(const char *word, int *side)
{
    for (*side = 0; *side < 2; ++*side)
        for (enum plan_factor how = PLAN_STAGED; how <= PLAN_READ_AGAIN; how++)
            if (strcmp(plan_factor_word(*side, how), word) == 0)
                return how;
    return PLAN_HELD;
}

static bool good_factor(const struct units *u, const struct plan_product *p, int side,
                        enum plan_factor how)
{
    static const char *const sides[2] = {"left", "right"};
    struct plan_source source = plan_source_of(p->e, side);
    struct diag *d = u->c->diag;
    struct loc loc = p->e->by->loc;
    const char *word = plan_factor_word(side, how);
    if (source.shared) {
        diag_error(d, loc, "the %s factor is in shared memory already", sides[side]);
        diag_note(d, loc, "leave `%s` out", word);
        return false;
    }
    if (how == PLAN_READ_AGAIN && !plan_read_again(u->c->kernel, p->e, source.e)) {
        diag_error(d, loc,
                   "the %s factor cannot be read again: it is not a tile that is declared "
                   "outside of loops with a slice of a `const` view, and only used here, in a loop",
                   sides[side]);
        diag_note(d, loc, "write `%s`", plan_factor_word(side, PLAN_STAGED));
        return false;
    }
    return true;
}

static bool good_words(const struct units *u, const struct plan_product *p)
{
    const struct by *by = p->e->by;
    bool seen[2] = {false, false}, halves = false;
    for (int i = 0; i < by->count; i++) {
        int side = 0;
        const char *word = by->words[i];
        enum plan_factor how = factor_of_word(word, &side);
        bool is_halves = strcmp(word, plan_word_halves) == 0;
        if (how == PLAN_HELD && !is_halves) {
            diag_error(u->c->diag, by->loc, "`by(…)` knows no `%s`", word);
            diag_note(u->c->diag, by->loc,
                      "after the unit there may be `halves`, `left staged` or "
                      "`left read again`, `right staged` or `right read again`");
            return false;
        }
        if (is_halves ? halves : seen[side]) {
            diag_error(u->c->diag, by->loc,
                       is_halves ? "`halves` is written twice"
                       : side    ? "`by(…)` says two things of the right factor"
                                 : "`by(…)` says two things of the left factor");
            diag_note(u->c->diag, by->loc, "leave `%s` out", word);
            return false;
        }
        *(is_halves ? &halves : &seen[side]) = true;
        if (!is_halves && !good_factor(u, p, side, how))
            return false;
    }
    return true;
}

static void check_stated(const struct units *u, const struct expr *dot)
{
    struct plan_product p = plan_product_of(dot);
    if (!good_words(u, &p))
        return;
    if (strcmp(dot->by->name, plan_word_fma) != 0) {
        if (!plan_unit_named(u->c->target, &p, dot->by))
            refuse_unit(u, &p);
        return;
    }
    for (int i = 0; i < dot->by->count; i++)
        if (strcmp(dot->by->words[i], plan_word_halves) == 0) {
            diag_error(u->c->diag, dot->by->loc, "`fma` does not work in halves");
            diag_note(u->c->diag, dot->by->loc, "leave `halves` out");
        }
}

/* --- the pass --- */

static void refuse_own(void *user, struct expr **at)
{
    struct units *u = user;
    const struct expr *e = *at;
    if (e->op != OP_DOT || !e->type.varying || !e->by)
        return;
    diag_error(u->c->diag, e->by->loc, "each thread does this `dot` for itself, without a unit");
    diag_note(u->c->diag, e->by->loc, "leave `by(…)` out");
}

void plan_units(struct plan_context *c)
{
    struct units u = {c, c->kernel->arena, kernel_block_threads(c->kernel) / WARP_LANES};
    if (kernel_block_threads(c->kernel) % WARP_LANES != 0)
        return; /* plan_limits_ragged refuses products of tiles */
    struct plan_stmts stmts = plan_statements(u.arena, c->kernel);
    struct plan_dot_uses dots = plan_find_dots(u.arena, c->kernel, &stmts);
    for (size_t i = 0; i < stmts.list.count; i++)
        stmt_own_expressions((struct stmt *)stmts.list.data[i].s, refuse_own, &u);
    for (size_t i = 0; i < dots.list.count; i++) {
        struct plan_dot_use *dot = &dots.list.data[i];
        if (dot->e->by) {
            check_stated(&u, dot->e);
            continue;
        }
        struct plan_product p = plan_product_of(dot->e);
        plan_choose_unit(c->target, &p, false);
        choose_factors(&u, &p, dot->chained);
        dot->e->by = by_of(&u, &p);
    }
}
