/* Adds the barriers between operations of one block on global memory.
 *
 * Tile operations of a block on a view act in program order (Meaning 6), and each element may be
 * another thread's in each of them. So a barrier must separate two uses of a view's memory, one of
 * them a write, unless they surely touch different elements. The pass follows the program with the
 * uses since the last barrier. Before a statement whose use meets one of them it adds
 * `sync() added`. The branches of an `if` each start with the uses before it, and what either leaves
 * remains. A loop's body starts also with what an earlier iteration may have left.
 *
 * An `async` copy reads its view until a wait, also past barriers. A wait is one thread's own, so
 * the reads of all copies that it may end are uses since the last barrier from there on.
 *
 * Uses that meet within one statement are left to its operation, as in C[i +: 8] = C[i + 1 +: 8].
 * So are two uses of one part by one tile, or by statements of views alone:
 *
 *     acc += sum[i +: 64];            C[i +: 64] = A[i +: 64];
 *     sum[i +: 64] = acc;             C[i +: 64] += B[i +: 64];
 *
 * Usually each thread has the same elements both times. The pass notes the first use at the second
 * (stmt->earlier), and the emitter, which knows the layouts, adds a barrier to the second operation
 * if that is not so.
 *
 * Roles run side by side, each with barriers of its own. A barrier of the block comes before the first role if a
 * role meets what the block did before. Copies by tensor maps have waits of their own. */
#include "tile/parts.h"
#include "tile/passes.h"

/* With more uses since the last barrier, their parts are forgotten; but not again before twice as many remain. */
enum { MOST_USES = 256 };

/* A use of global memory. */
struct use {
    const struct sym *base;    /* pointer parameter, or the workspace itself */
    const struct expr *access; /* NULL: any part */
    const struct sym *tile; /* the register tile that takes or gives the whole part; NULL: none */
    bool of_views;          /* the statement stores to a view what it computes of views alone */
    bool write;
};

struct uses {
    VEC(struct use) list;
};

struct barriers {
    struct kernel *kernel;
    struct parts parts;
    struct uses before;         /* since the last barrier */
    size_t most;                /* of these, with their parts */
    struct uses flying;         /* reads of copies that may be under way */
    const struct uses *repeats; /* of condition and step of the loop around, before the next turn */
};

/* --- uses of one statement --- */

static const struct sym *base_of(const struct sym *view)
{
    return view->base ? view->base : view;
}

static void add_use(struct barriers *b, struct uses *to, struct use use)
{
    for (size_t i = 0; i < to->list.count; i++) {
        const struct use *u = &to->list.data[i];
        if (u->base == use.base && u->access == use.access && u->write == use.write)
            return;
    }
    vec_push(b->kernel->arena, &to->list, use);
}

/* In a thread-level kernel, the program itself orders what each thread does alone. */
static bool is_ordered(const struct barriers *b, const struct expr *access)
{
    if (access->sym->storage != ST_VIEW || access->sym->is_const)
        return false;
    return !kernel_thread_level(b->kernel) || (access->type.rank > 0 && !access->type.varying);
}

static void find_uses(struct barriers *b, struct uses *to, const struct expr *e, bool write)
{
    if (!e)
        return;
    bool semaphore = e->op == OP_LOCK || e->op == OP_UNLOCK || e->op == OP_ARRIVE;
    for (int i = semaphore ? 1 : 0; i < expr_children(e); i++)
        find_uses(b, to, expr_child(e, i), i == 0 && op_is_atomic(e->op));
    if (e->op == OP_ACCESS && is_ordered(b, e))
        add_use(b, to, (struct use){.base = base_of(e->sym), .access = e, .write = write});
}

/* Returns the register tile that s computes, or stores unchanged except for its type; NULL: none. */
static const struct sym *whole_tile(const struct stmt *s)
{
    const struct expr *e = s->kind == STMT_ASSIGN ? s->target : NULL;
    if (s->kind == STMT_DECL)
        return s->sym->storage == ST_REG ? s->sym : NULL;
    if (e && e->op == OP_ACCESS && e->sym->storage == ST_VIEW)
        e = s->value->op == OP_CAST ? s->value->args[0] : s->value;
    return e && e->op == OP_REF && e->sym->storage == ST_REG ? e->sym : NULL;
}

/* Returns true if e is computed element by element, of parts of views and of scalars. */
static bool is_of_views(const struct expr *e)
{
    bool leaf = e->op == OP_ACCESS && e->sym->storage == ST_VIEW;
    bool good =
        e->type.rank == 0 || leaf || e->op == OP_CAST || op_table[e->op].class <= CLASS_BITWISE;
    for (int i = 0; i < e->count && good; i++)
        good = is_of_views(e->args[i]);
    return good;
}

/* Returns true for a statement at thread level that each thread executes for itself. */
static bool is_per_thread(const struct barriers *b, const struct stmt *s)
{
    const struct sym *to = s->kind == STMT_DECL ? s->sym : s->target ? s->target->sym : NULL;
    if (!kernel_thread_level(b->kernel))
        return false;
    return (to && to->storage == ST_ARRAY) || (s->target && expr_is_per_thread(s->target)) ||
           (s->value && expr_is_per_thread(s->value));
}

/* Adds the uses of the statement itself, without those of the statements in it. */
static void uses_of(struct barriers *b, const struct stmt *s, struct uses *to)
{
    size_t first = to->list.count;
    bool by_map = s->kind == STMT_ASYNC_COPY && (s->barrier || s->target->sym->storage == ST_VIEW);
    if (s->kind == STMT_ENSURES || by_map || is_per_thread(b, s))
        return;
    for (const struct stmt *init = s->init; init; init = init->next) {
        find_uses(b, to, init->value, false);
        find_uses(b, to, init->target, true);
    }
    find_uses(b, to, s->is_do ? NULL : s->condition, false);
    find_uses(b, to, s->value, false);
    find_uses(b, to, s->target, true);
    const struct sym *tile = whole_tile(s);
    bool stores = s->kind == STMT_ASSIGN && s->target->op == OP_ACCESS && s->target->type.rank > 0;
    const struct type *whole = tile ? &tile->type : stores ? &s->target->type : NULL;
    for (size_t i = first; whole && i < to->list.count; i++) {
        struct use *u = &to->list.data[i];
        if (!type_same_shape(&u->access->type, whole))
            continue;
        u->tile = tile;
        u->of_views = stores && is_of_views(s->value);
    }
}

/* --- uses that meet --- */

static bool meet(const struct barriers *b, const struct use *early, const struct use *late)
{
    if (early->base != late->base || (!early->write && !late->write))
        return false;
    return !early->access || !late->access ||
           !parts_disjoint(&b->parts, early->access, late->access);
}

/* Returns true if both uses are of one part, and usually each thread has the same elements of it. */
static bool are_alike(const struct barriers *b, const struct use *early, const struct use *late)
{
    bool alike = (late->tile && late->tile == early->tile) || (late->of_views && early->of_views);
    return alike && early->access && late->access &&
           parts_same(&b->parts, early->access, late->access);
}

/* Returns true if the uses need a barrier before them. Adds the uses that are like them to
 * *earlier. */
static bool needs_barrier(const struct barriers *b, const struct uses *now,
                          const struct earlier **earlier)
{
    for (size_t i = 0; i < now->list.count; i++)
        for (size_t j = 0; j < b->before.list.count; j++) {
            const struct use *early = &b->before.list.data[j], *late = &now->list.data[i];
            if (!meet(b, early, late))
                continue;
            if (!are_alike(b, early, late))
                return true;
            struct earlier *one = arena_new(b->kernel->arena, struct earlier);
            *one = (struct earlier){early->access, late->access, *earlier};
            *earlier = one;
        }
    return false;
}

static struct stmt *barrier(struct barriers *b)
{
    struct stmt *sync = stmt_effect(b->kernel, OP_SYNC, LOC_NONE, NULL);
    sync->uncredited = true;
    b->before.list.count = 0;
    return sync;
}

/* Adds a barrier before *link if one of the uses needs it. Returns the link to what was *link. */
static struct stmt **order(struct barriers *b, struct stmt **link, const struct uses *now)
{
    const struct earlier *earlier = NULL;
    struct stmt *s = *link;
    if (needs_barrier(b, now, &earlier)) {
        struct stmt *sync = barrier(b);
        sync->next = s;
        *link = sync;
        link = &sync->next;
        earlier = NULL;
    }
    if (s)
        s->earlier = earlier;
    for (size_t i = 0; i < now->list.count; i++)
        add_use(b, &b->before, now->list.data[i]);
    return link;
}

/* --- states --- */

static void join(struct barriers *b, struct uses *to, const struct uses *with)
{
    for (size_t i = 0; i < with->list.count; i++)
        add_use(b, to, with->list.data[i]);
}

static struct uses copy_of(struct barriers *b, const struct uses *u)
{
    struct uses copy = {0};
    for (size_t i = 0; i < u->list.count; i++)
        vec_push(b->kernel->arena, &copy.list, u->list.data[i]);
    return copy;
}

static struct use any_part(const struct use *u)
{
    return (struct use){.base = u->base, .write = u->write};
}

static bool is_among(const struct use *u, const struct uses *all)
{
    bool found = false;
    for (size_t i = 0; i < all->list.count && !found; i++)
        found = all->list.data[i].access == u->access;
    return found;
}

/* Forgets the parts of these uses among `all`: control leaves their iteration. NULL: of all. */
static void forget_parts(struct barriers *b, struct uses *all, const struct uses *these)
{
    struct uses old = *all;
    *all = (struct uses){0};
    for (size_t i = 0; i < old.list.count; i++) {
        const struct use *u = &old.list.data[i];
        add_use(b, all, !these || is_among(u, these) ? any_part(u) : *u);
    }
}

/* --- loops --- */

struct body {
    struct barriers *b;
    struct uses uses;
    bool jumps; /* break, continue or return: barriers may be passed by */
};

static void find_in_statement(void *user, struct stmt *s)
{
    struct body *body = user;
    body->jumps |= s->kind == STMT_CONTINUE || s->kind == STMT_BREAK || s->kind == STMT_RETURN;
    uses_of(body->b, s, &body->uses);
    if (s->kind == STMT_WHILE && s->is_do)
        find_uses(body->b, &body->uses, s->condition, false);
}

/* Returns true for `i32 old = atomic_add(…);`: after a barrier, all threads read the result of one. */
static bool tells_all(const struct barriers *b, const struct stmt *s)
{
    const struct expr *e = s->kind == STMT_DECL ? s->value : NULL;
    while (e && e->op == OP_CAST)
        e = e->args[0];
    return e && op_is_atomic(e->op) && e->type.rank == 0 && s->sym->storage == ST_SCALAR &&
           !kernel_thread_level(b->kernel);
}

/* Returns true if a barrier is a part of the statement, after its uses. */
static bool is_barrier(const struct barriers *b, const struct stmt *s)
{
    bool orders = s->kind == STMT_EFFECT &&
                  (s->value->op == OP_SYNC || s->value->op == OP_LOCK || s->value->op == OP_UNLOCK);
    return orders || stmt_arrives(s) || tells_all(b, s);
}

/* Returns true if all uses of that memory in the loop are of one part that moves on in each turn. */
static bool keeps_apart(const struct body *all, const struct sym *base, const struct stmt *loop)
{
    const struct expr *first = NULL;
    for (size_t i = 0; i < all->uses.list.count; i++) {
        const struct use *u = &all->uses.list.data[i];
        if (u->base != base)
            continue;
        if (first && !parts_same(&all->b->parts, first, u->access))
            return false;
        first = u->access;
    }
    return first && parts_advance(&all->b->parts, first, loop);
}

/* Returns the uses in the loop: all, or those after the last barrier that every turn meets. */
static struct body uses_in(struct barriers *b, const struct stmt *loop, bool all)
{
    struct body body = {.b = b};
    for (struct stmt *s = loop->body; s; s = s->next) {
        struct stmt alone = *s;
        alone.next = NULL;
        if (!all && is_barrier(b, s) && !body.jumps)
            body.uses.list.count = 0;
        stmt_walk(&alone, find_in_statement, &body);
    }
    stmt_walk(loop->step, find_in_statement, &body);
    find_uses(b, &body.uses, loop->condition, false);
    return body;
}

static void order_list(struct barriers *b, struct stmt **first);

static void order_loop(struct barriers *b, struct stmt *loop)
{
    struct body all = uses_in(b, loop, true), late = uses_in(b, loop, false);
    struct uses before = copy_of(b, &b->before), repeats = {0};
    const struct uses *outer = b->repeats;
    const struct uses *left = all.jumps ? &all.uses : &late.uses;
    for (size_t i = 0; i < left->list.count; i++) {
        const struct use *u = &left->list.data[i];
        if (!keeps_apart(&all, u->base, loop))
            add_use(b, &b->before, any_part(u));
    }
    for (const struct stmt *step = loop->step; step; step = step->next)
        find_uses(b, &repeats, step->value, false);
    find_uses(b, &repeats, loop->condition, false);
    b->repeats = &repeats;
    order_list(b, &loop->body);
    struct stmt **end = &loop->body;
    while (*end)
        end = &(*end)->next;
    order(b, end, &repeats);
    b->repeats = outer;
    if (all.jumps)
        join(b, &b->before, &all.uses);
    forget_parts(b, &b->before, &all.uses);
    join(b, &b->before, &before);
}

/* --- the walk --- */

static void order_branches(struct barriers *b, struct stmt *s)
{
    struct uses before = copy_of(b, &b->before), flying = copy_of(b, &b->flying);
    order_list(b, &s->body);
    struct uses first = b->before;
    b->before = before;
    join(b, &b->flying, &flying);
    order_list(b, &s->otherwise);
    join(b, &b->before, &first);
}

/* --- copies under way --- */

static void find_copies(void *user, struct stmt *s)
{
    struct body *body = user;
    if (s->kind == STMT_ASYNC_COPY)
        find_uses(body->b, &body->uses, s->value, false);
}

/* Copies of any turn may be under way in the body of a loop. */
static void fly_in_loop(struct barriers *b, const struct stmt *loop)
{
    struct body copies = {.b = b};
    stmt_walk(loop->body, find_copies, &copies);
    for (size_t i = 0; i < copies.uses.list.count; i++)
        add_use(b, &b->flying, any_part(&copies.uses.list.data[i]));
}

/* Notes the copy that a statement begins, or ends copies at a wait. */
static void follow_copies(struct barriers *b, struct stmt *s)
{
    struct body copy = {.b = b};
    int64_t groups = 1;
    find_copies(&copy, s);
    join(b, &b->flying, &copy.uses);
    if (b->flying.list.count > MOST_USES)
        forget_parts(b, &b->flying, NULL);
    if (s->kind != STMT_EFFECT || s->value->op != OP_ASYNC_WAIT)
        return;
    join(b, &b->before, &b->flying);
    if (eval_int(s->value->args[0], NULL, &groups) && groups == 0)
        b->flying = (struct uses){0};
}

/* Orders the bodies of a statement. A copy that is under way before it, or in one of them, may be so
 * after it. */
static void order_bodies(struct barriers *b, struct stmt *s)
{
    bool loop = s->kind == STMT_FOR || s->kind == STMT_WHILE;
    if (loop)
        fly_in_loop(b, s);
    struct uses flying = copy_of(b, &b->flying);
    if (s->kind == STMT_IF)
        order_branches(b, s);
    else if (loop)
        order_loop(b, s);
    else
        order_list(b, &s->body);
    if (s->kind == STMT_IF || loop)
        join(b, &b->flying, &flying);
}

/* Returns the uses in a list of statements, and in all statements in them: of any part. */
static struct uses uses_within(struct barriers *b, struct stmt *first)
{
    struct body body = {.b = b};
    struct uses any = {0};
    stmt_walk(first, find_in_statement, &body);
    for (size_t i = 0; i < body.uses.list.count; i++)
        add_use(b, &any, any_part(&body.uses.list.data[i]));
    return any;
}

/* Orders the roles from *link on, which are the kernel's last statements. */
static void order_roles(struct barriers *b, struct stmt **link)
{
    struct uses all = uses_within(b, *link);
    link = order(b, link, &all);
    for (struct stmt *s = *link; s; s = s->next) {
        b->before.list.count = 0;
        if (s->kind == STMT_ROLE)
            order_list(b, &s->body);
    }
}

static void order_list(struct barriers *b, struct stmt **first)
{
    for (struct stmt **link = first; *link; link = &(*link)->next) {
        struct stmt *s = *link;
        if (s->kind == STMT_ROLE) {
            order_roles(b, link);
            return;
        }
        if (s->kind == STMT_ONE_THREAD) {
            struct uses of_one = uses_within(b, s->body);
            link = order(b, link, &of_one);
            continue;
        }
        if (s->kind == STMT_CONTINUE && b->repeats) {
            link = order(b, link, b->repeats);
            continue;
        }
        struct uses now = {0};
        uses_of(b, s, &now);
        link = order(b, link, &now);
        if (is_barrier(b, s))
            b->before.list.count = 0;
        if (b->before.list.count > b->most) {
            forget_parts(b, &b->before, NULL);
            if (b->most < 2 * b->before.list.count)
                b->most = 2 * b->before.list.count;
        }
        follow_copies(b, s);
        order_bodies(b, s);
    }
}

static bool writes_memory(struct barriers *b)
{
    struct body all = {.b = b};
    bool writes = false;
    stmt_walk(b->kernel->body, find_in_statement, &all);
    for (size_t i = 0; i < all.uses.list.count; i++)
        writes |= all.uses.list.data[i].write;
    return writes;
}

void pass_barriers(struct pass_context *c)
{
    struct barriers b = {.kernel = c->kernel, .most = MOST_USES};
    if (c->sm == 0)
        return;
    if (!writes_memory(&b))
        return;
    parts_init(&b.parts, c->kernel->arena, c->kernel);
    order_list(&b, &c->kernel->body);
}
