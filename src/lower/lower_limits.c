/* Register tiles against the registers of a thread: what no assembler can hold is refused, with the tiles and what each takes.
 *
 * A tile is live from its declaration to its last use, or to the end of the outermost loop that uses it and does not
 * declare it. The tiles that are live together are the least that a thread must hold; fragments, addresses and the like
 * come on top, and if those do not fit the assembler spills them.
 */
#include "lower/lower_limits.h"

#include "lower/lower_plan.h"

struct life {
    const struct sym *sym;
    int first, last; /* on the clock of statements */
    int words;       /* registers of a thread */
};

struct lives {
    struct lower *l;
    VEC(struct life) list;
    struct map of; /* symbol -> its index + 1 */
    int now;
};

static struct life *life_of(struct lives *x, const struct sym *s)
{
    uintptr_t index = (uintptr_t)map_get(&x->of, s);
    return index ? &x->list.data[index - 1] : NULL;
}

static int words_of(struct lower *l, const struct sym *s)
{
    if (s->type.dtype == DT_BOOL)
        return 0; /* predicates */
    int elements = layout_in_extent(plan_symbol(l, s), AXIS_REG), per_word;
    if (dtype_table[s->type.dtype].bits == 64)
        return 2 * elements;
    per_word = tile_per_word(s->type.dtype);
    return (elements + per_word - 1) / per_word;
}

static void touch(struct lives *x, const struct sym *s)
{
    if (!s || s->storage != ST_REG)
        return;
    struct life *life = life_of(x, s);
    if (life) {
        life->last = x->now;
        return;
    }
    struct life born = {.sym = s, .first = x->now, .last = x->now, .words = words_of(x->l, s)};
    vec_push(x->l->arena, &x->list, born);
    map_put(x->l->arena, &x->of, s, (void *)(uintptr_t)x->list.count);
}

static void touch_expr(void *user, struct expr **at)
{
    touch(user, (*at)->sym);
}

static void touch_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, touch_expr, user);
}

static void walk(struct lives *x, struct stmt *first);

static void walk_loop(struct lives *x, struct stmt *s)
{
    int start = x->now;
    walk(x, s->body);
    x->now++;
    for (size_t i = 0; i < x->list.count; i++) {
        struct life *life = &x->list.data[i];
        if (life->first < start && life->last >= start)
            life->last = x->now;
    }
}

static void walk(struct lives *x, struct stmt *first)
{
    for (struct stmt *s = first; s; s = s->next) {
        if (s->kind == STMT_ENSURES)
            continue;
        x->now++;
        stmt_expressions(s, touch_root, x);
        if (s->kind == STMT_DECL)
            touch(x, s->sym);
        if (s->kind == STMT_FOR || s->kind == STMT_WHILE) {
            walk_loop(x, s);
        } else {
            walk(x, s->body);
            walk(x, s->otherwise);
        }
    }
}

/* A tile that is read for the last time where another is made may leave it its registers. */
static bool holds(const struct life *life, int at)
{
    return life->first == at || (life->first < at && at < life->last);
}

static int held_at(const struct lives *x, int at)
{
    int words = 0;
    for (size_t i = 0; i < x->list.count; i++) {
        const struct life *life = &x->list.data[i];
        words += holds(life, at) ? life->words : 0;
    }
    return words;
}

static void note_tiles(const struct lives *x, int at)
{
    struct lower *l = x->l;
    for (size_t i = 0; i < x->list.count; i++) {
        const struct life *life = &x->list.data[i];
        if (holds(life, at) && life->words > 0)
            diag_note(l->diag, life->sym->loc, "`%s` is %s: %d registers of each of %d threads",
                      life->sym->name, type_text(l->arena, &life->sym->type), life->words,
                      l->threads);
    }
}

bool limits_registers(struct lower *l)
{
    struct lives x = {.l = l};
    int worst = 0, most = 0;
    walk(&x, l->kernel->body);
    for (size_t i = 0; i < x.list.count; i++) {
        int held = held_at(&x, x.list.data[i].first);
        worst = held > most ? x.list.data[i].first : worst;
        most = held > most ? held : most;
    }
    if (most <= l->target->register_limit)
        return true;
    l->out->too_large = true;
    lower_error(l, l->kernel->loc,
                "the register tiles of `%s` take %d registers a thread, and a thread has %d",
                l->kernel->name, most, l->target->register_limit);
    note_tiles(&x, worst);
    diag_note(l->diag, l->kernel->loc,
              "more warps, or smaller tiles, leave each thread less to hold");
    return false;
}
