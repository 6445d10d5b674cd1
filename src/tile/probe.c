#include "tile/probe.h"

#include "base/text.h"

#include <string.h>

struct adder {
    struct kernel *kernel;
    struct probe_request *request;
    struct diag *diag;
    struct line_starts lines;
    VEC(const struct sym *) loops;  /* counters of the loops around */
    VEC(struct sym *) live;         /* names in scope that have a value */
    VEC(const struct sym *) hidden; /* shared tiles that stops leave out */
    const struct probe_name *name;  /* the name of the present statement that is shown; NULL: it
                                    * is not requested */
    int stop_line;                  /* line of the stop; 0: none */
    int pipelines;                  /* around */
    bool found[64];                 /* by name of the request: the kernel has it */
};
enum { MOST_NAMES = 64 };

static int line_of(struct adder *a, struct loc at)
{
    int line = 0, column;
    if (at.source)
        loc_line_starts_find(a->kernel->arena, &a->lines, at, &line, &column);
    return line;
}

/* --- statements that are added --- */

static struct expr *index_is(struct adder *a, enum op op, int axis, int64_t value, struct loc at)
{
    struct kernel *k = a->kernel;
    struct expr *index = expr_new(k, op, type_scalar(DT_I32), at, 0);
    index->axis = axis;
    return expr_binary(k, OP_EQ, type_scalar(DT_BOOL), at, index, expr_int(k, DT_I32, value, at));
}

static struct expr *both(struct adder *a, struct expr *x, struct expr *y)
{
    return x ? expr_binary(a->kernel, OP_LAND, type_scalar(DT_BOOL), x->loc, x, y) : y;
}

/* Returns the condition that this is the block, and with `own` the thread, to show; NULL: there
 * is only one. */
static struct expr *is_asked(struct adder *a, bool own, struct loc at)
{
    const struct probe_request *r = a->request;
    bool threads = own && kernel_thread_level(a->kernel) && r->thread[0] >= 0;
    struct expr *e = NULL;
    for (int axis = 0; axis < 3; axis++)
        if (a->kernel->grid[axis])
            e = both(a, e, index_is(a, OP_BLOCK, axis, r->block[axis], at));
    for (int axis = 0; axis < 3 && threads; axis++)
        e = both(a, e, index_is(a, OP_THREAD, axis, r->thread[axis], at));
    return e;
}

/* Makes a site, and the print() of its value (NULL: of the counters alone). */
static struct stmt *print_of(struct adder *a, const char *name, struct expr *value, struct loc at)
{
    struct kernel *k = a->kernel;
    struct probe_request *r = a->request;
    struct probe_site site = {.name = name, .at = at};
    int count = (int)a->loops.count + (value != NULL), number = (int)r->sites.count;
    struct expr *e = expr_new(k, OP_PRINT, type_scalar(DT_I32), at, count);
    e->label = arena_printf(k->arena, "$%d", number);
    for (size_t i = 0; i < a->loops.count; i++) {
        e->args[i] = expr_ref(k, (struct sym *)a->loops.data[i], at);
        vec_push(r->arena, &site.counters, arena_printf(r->arena, "%s", a->loops.data[i]->name));
    }
    if (value) {
        e->args[count - 1] = value;
        e->window = a->name && a->name->rank && value->type.rank ? &a->name->window : NULL;
        site.type = value->type;
    }
    if (name)
        site.name = arena_printf(r->arena, "%s", name);
    vec_push(r->arena, &r->sites, site);
    struct stmt *s = stmt_new(k, STMT_EFFECT, at);
    s->value = e;
    s->added = true;
    return s;
}

/* Puts the statements under the condition that this is the requested block and, with `own`, the
 * requested thread. Without `own` all threads of the block reach them, as they must to print a
 * tile of the block. */
static struct stmt *when_asked(struct adder *a, struct stmt *body, bool own, struct loc at)
{
    struct expr *condition = is_asked(a, own, at);
    if (!condition)
        return body;
    struct stmt *s = stmt_new(a->kernel, STMT_IF, at);
    s->condition = condition;
    s->body = body;
    s->added = true;
    return s;
}

/* Inserts a list of statements at *link. Returns the link after it. */
static struct stmt **insert(struct stmt **link, struct stmt *list)
{
    struct stmt *last = list;
    while (last->next)
        last = last->next;
    last->next = *link;
    *link = list;
    return &last->next;
}

/* --- assignments --- */

static struct sym *assigned(const struct stmt *s)
{
    if (s->kind == STMT_DECL)
        return s->value ? s->sym : NULL;
    bool assigns = s->kind == STMT_ASSIGN || s->kind == STMT_ASYNC_COPY;
    return assigns ? s->target->sym : NULL;
}

/* Returns true if the program declares the symbol by that name, and the compiler named it NAME_1,
 * NAME_2, … because another call of the function, or the kernel, has the name, too. */
static bool is_written(const struct sym *s, const char *name)
{
    size_t length = strlen(name);
    const struct source *source = s->loc.source;
    return strncmp(s->name, name, length) == 0 && s->name[length] == '_' &&
           text_is_digit(s->name[length + 1]) && source && s->loc.length == length &&
           s->loc.offset + length <= source->length &&
           memcmp(source->text + s->loc.offset, name, length) == 0;
}

static bool has_part(const struct probe_name *n, const struct type *type)
{
    bool has = n->rank == 0 || n->rank == type->rank;
    for (int i = 0; has && i < n->rank; i++)
        has = n->window.first[i] + n->window.count[i] <= type->extent[i];
    return has;
}

/* Returns the request for the symbol: one of its own name, or else one of its written name. A part
 * that only another symbol of that name has leaves this one out. */
static const struct probe_name *asked_for(struct adder *a, const struct sym *s)
{
    const struct probe_name *names = a->request->names;
    for (int i = 0; s && s->name && i < a->request->count; i++)
        if (strcmp(names[i].name, s->name) == 0)
            return &names[i];
    for (int i = 0; s && s->name && i < a->request->count; i++)
        if (is_written(s, names[i].name) && has_part(&names[i], &s->type))
            return &names[i];
    return NULL;
}

/* Tells whether the value has the requested part; else reports it. */
static bool fits(struct adder *a, const struct type *type, struct loc at)
{
    const struct probe_name *n = a->name;
    bool fits = n->rank == 0 || n->rank == type->rank;
    if (!fits)
        diag_error(a->diag, at, "`%s` has %d axes here, and a part of %d is asked for", n->name,
                   type->rank, n->rank);
    for (int i = 0; fits && i < n->rank; i++)
        if (n->window.first[i] < 0 || n->window.count[i] < 1 ||
            n->window.first[i] + n->window.count[i] > type->extent[i]) {
            diag_error(a->diag, at, "`%s` is %s here; [%lld:%lld] is not inside its axis %d",
                       n->name, type_text(a->kernel->arena, type), (long long)n->window.first[i],
                       (long long)(n->window.first[i] + n->window.count[i]), i);
            fits = false;
        }
    return fits;
}

/* Returns a name that no symbol of the kernel has. */
static const char *free_name(struct adder *a, const char *base)
{
    struct kernel *k = a->kernel;
    const char *name = arena_printf(k->arena, "%s_stored", base);
    int number = 1;
    for (const struct sym *s = k->symbols; s;) {
        bool taken = strcmp(s->name, name) == 0;
        if (taken)
            name = arena_printf(k->arena, "%s_stored_%d", base, ++number);
        s = taken ? k->symbols : s->next;
    }
    return name;
}

/* Moves the value of the statement at *link to a variable, which the statement then stores.
 * Returns the link of the statement. */
static struct stmt **take_value(struct adder *a, struct stmt **link, const char *name,
                                enum storage storage)
{
    struct kernel *k = a->kernel;
    struct stmt *s = *link, *decl = stmt_new(k, STMT_DECL, s->loc);
    decl->sym = sym_new(k, free_name(a, name), storage, s->value->type, s->loc);
    decl->value = s->value;
    decl->added = true;
    s->value = expr_ref(k, decl->sym, s->loc);
    return insert(link, decl);
}

/* Shows the value that is stored to memory: `x` in `sa[i] = x`. A variable takes a scalar and a
 * thread's own array. A tile of the block is computed a second time, so that the store keeps the
 * form that passes know (a copy, an operand of a pipeline), unless it has an atomic. Returns the
 * link after the statement. */
static struct stmt **show_stored(struct adder *a, struct stmt **link, const struct sym *sym)
{
    struct stmt *s = *link;
    struct kernel *k = a->kernel;
    const struct type *type = &s->value->type;
    const struct type *filled = s->target ? &s->target->type : &sym->type;
    bool own = kernel_thread_level(k) &&
               (type->rank == 0 || filled->varying || expr_is_per_thread(s->value));
    bool fills = type->rank == 0 && filled->rank > 0; /* a scalar, all of a tile */
    if (!fits(a, fills ? filled : type, s->loc))
        return &s->next;
    if (type->rank == 0)
        link = take_value(a, link, sym->name, ST_SCALAR);
    else if (own || expr_has_atomic(s->value))
        link = take_value(a, link, sym->name, own ? ST_ARRAY : ST_REG);
    struct stmt *print = print_of(a, a->name->name, expr_copy(k, s->value), s->loc);
    link = insert(link, when_asked(a, print, own, s->loc));
    return &(*link)->next;
}

/* Shows the value of an assignment. Returns the link after the statement. */
static struct stmt **show_assigned(struct adder *a, struct stmt **link)
{
    struct stmt *s = *link;
    struct sym *sym = assigned(s);
    a->name = asked_for(a, sym);
    if (!a->name)
        return &s->next;
    a->found[a->name - a->request->names] = true;
    if (sym->storage == ST_SHARED || sym->storage == ST_VIEW)
        return show_stored(a, link, sym);
    if (!fits(a, &sym->type, s->loc))
        return &s->next;
    struct expr *value = expr_ref(a->kernel, sym, s->loc);
    bool own = sym->storage != ST_REG;
    return insert(&s->next, when_asked(a, print_of(a, a->name->name, value, s->loc), own, s->loc));
}

/* --- stops --- */

/* Returns the name that the program writes; the symbol's own one if another live name is the same. */
static const char *stop_name(struct adder *a, const struct sym *s)
{
    if (!s->loc.source || s->loc.offset + s->loc.length > s->loc.source->length)
        return s->name;
    const char *written =
        arena_string(a->kernel->arena, s->loc.source->text + s->loc.offset, s->loc.length);
    bool only = is_written(s, written);
    for (size_t i = 0; i < a->live.count && only; i++) {
        const struct sym *other = a->live.data[i];
        only = other == s || (strcmp(other->name, written) != 0 && !is_written(other, written));
    }
    return only ? written : s->name;
}

/* Adds the prints of the live names before *end; tiles of the block, or the others. Returns the
 * link after them. */
static struct stmt **print_live(struct adder *a, struct stmt **end, bool of_block, struct loc at)
{
    struct kernel *k = a->kernel;
    for (size_t i = 0; i < a->live.count; i++) {
        struct sym *s = a->live.data[i];
        bool is_counter = false, is_hidden = false;
        for (size_t c = 0; c < a->loops.count; c++)
            is_counter |= a->loops.data[c] == s;
        for (size_t h = 0; h < a->hidden.count; h++)
            is_hidden |= a->hidden.data[h] == s;
        if (is_counter || is_hidden ||
            (s->storage == ST_REG || s->storage == ST_SHARED) != of_block)
            continue;
        struct expr *value =
            s->storage == ST_SHARED ? expr_access(k, s, 0, at) : expr_ref(k, s, at);
        value->type = s->type;
        end = insert(end, print_of(a, stop_name(a, s), value, at));
    }
    return end;
}

/* Returns a barrier: the threads have written what the next statements read of shared tiles. In a
 * pipeline the compiler places the barriers itself. */
static struct stmt *barrier(struct adder *a, struct loc at)
{
    bool shared = false;
    for (size_t i = 0; i < a->live.count; i++)
        shared |= a->live.data[i]->storage == ST_SHARED;
    if (!shared || a->pipelines)
        return NULL;
    struct stmt *s = stmt_effect(a->kernel, OP_SYNC, at, NULL);
    s->added = s->uncredited = true;
    return s;
}

/* Adds the prints of a stop before the statement. Prints tiles of the block only if all threads
 * reach the statement. Returns the link of the statement. */
static struct stmt **add_stop(struct adder *a, struct stmt **link)
{
    struct loc at = (*link)->loc;
    a->name = NULL;
    size_t first = a->request->sites.count;
    struct stmt *own = print_of(a, NULL, NULL, at), *tiles = NULL;
    print_live(a, &own->next, false, at);
    if (!(*link)->divergent)
        print_live(a, &tiles, true, at);
    for (size_t i = first; i < a->request->sites.count; i++)
        a->request->sites.data[i].stops = true;
    a->request->sites.data[a->request->sites.count - 1].last = true;
    struct stmt *sync = tiles ? barrier(a, at) : NULL;
    if (sync)
        link = insert(link, sync);
    link = insert(link, when_asked(a, own, true, at));
    return tiles ? insert(link, when_asked(a, tiles, false, at)) : link;
}

static bool is_stop(struct adder *a, const struct stmt *s)
{
    return a->stop_line && s->kind != STMT_BLOCK && s->kind != STMT_ENSURES &&
           s->loc.source == a->kernel->loc.source && line_of(a, s->loc) == a->stop_line;
}

static void take_live(struct adder *a, struct sym *s)
{
    bool shown = s && s->name && s->storage != ST_VIEW;
    for (size_t i = 0; shown && i < a->live.count; i++)
        shown = a->live.data[i] != s;
    if (shown)
        vec_push(a->kernel->arena, &a->live, s);
}

/* Stops leave out tiles that the program has freed. */
static void note_freed(struct adder *a, const struct stmt *s)
{
    if (s->kind == STMT_EFFECT && s->value->op == OP_FREE)
        vec_push(a->kernel->arena, &a->hidden,
                 s->value->sym ? s->value->sym : s->value->args[0]->sym);
}

/* Stops leave out tiles that `async` fills: a copy may still be under way. */
static void note_async(void *user, struct stmt *s)
{
    struct adder *a = user;
    if (s->kind == STMT_ASYNC_COPY)
        vec_push(a->kernel->arena, &a->hidden, s->target->sym);
}

/* --- the walk --- */

static void add_list(struct adder *a, struct stmt **link);

/* Shows the counter that a loop's own statements assign, at the start of each iteration. */
static void show_counters(struct adder *a, struct stmt *loop)
{
    struct stmt **link = &loop->body;
    for (const struct stmt *s = loop->init; s; s = s->next) {
        struct sym *sym = assigned(s);
        a->name = asked_for(a, sym);
        if (!a->name || !fits(a, &sym->type, s->loc))
            continue;
        a->found[a->name - a->request->names] = true;
        struct expr *value = expr_ref(a->kernel, sym, s->loc);
        struct stmt *print = print_of(a, a->name->name, value, s->loc);
        link = insert(link, when_asked(a, print, true, s->loc));
    }
}

static void add_loop(struct adder *a, struct stmt *s)
{
    size_t around = a->loops.count;
    for (const struct stmt *i = s->init; i; i = i->next) {
        struct sym *sym = assigned(i);
        if (sym && sym->storage == ST_SCALAR && sym->type.rank == 0)
            vec_push(a->kernel->arena, &a->loops, sym);
    }
    a->pipelines += s->stages > 0;
    add_list(a, &s->body);
    show_counters(a, s);
    a->pipelines -= s->stages > 0;
    a->loops.count = around;
}

/* Drops the names that became live in a list, at its end: they may have no value where the list
 * did not run. Shared tiles from outside stay: their elements have values one by one. */
static void drop_declared(struct adder *a, const struct stmt *list, size_t outer)
{
    size_t kept = outer;
    for (size_t i = outer; i < a->live.count; i++) {
        bool stays = a->live.data[i]->storage == ST_SHARED;
        for (const struct stmt *s = list; s && stays; s = s->next)
            stays = s->kind != STMT_DECL || s->sym != a->live.data[i];
        if (stays)
            a->live.data[kept++] = a->live.data[i];
    }
    a->live.count = kept;
}

/* Visits a list. */
static void add_list(struct adder *a, struct stmt **link)
{
    struct stmt **first = link;
    size_t outer = a->live.count;
    /* Only the first statement of a line gets the stop; of a function's line in each call. */
    struct loc at = {0};
    while (*link) {
        bool again = at.source && (*link)->loc.offset == at.offset;
        if ((!at.source || again) && is_stop(a, *link)) {
            at = (*link)->loc;
            link = add_stop(a, link);
        }
        struct stmt *s = *link;
        if (s->kind == STMT_FOR)
            add_loop(a, s);
        else
            add_list(a, &s->body);
        add_list(a, &s->otherwise);
        take_live(a, assigned(s));
        note_freed(a, s);
        link = show_assigned(a, link);
    }
    drop_declared(a, *first, outer);
}

/* Finds the first line with a statement, from the requested line on. */
static void find_line(void *user, struct stmt *s)
{
    struct adder *a = user;
    int line = s->kind == STMT_BLOCK || s->kind == STMT_ENSURES ? 0 : line_of(a, s->loc);
    if (s->loc.source == a->kernel->loc.source && line >= a->request->line &&
        (!a->stop_line || line < a->stop_line))
        a->stop_line = line;
}

static void refuse_unknown(struct adder *a)
{
    const struct probe_request *r = a->request;
    VEC(const char *) names = {0};
    for (const struct sym *s = a->kernel->symbols; s; s = s->next)
        if (s->name && s->storage != ST_PARAM && s->storage != ST_CONST)
            vec_push(a->kernel->arena, &names, s->name);
    for (int i = 0; i < r->count; i++) {
        if (a->found[i])
            continue;
        const char *near = text_nearest(r->names[i].name, names.data, names.count);
        if (near && strcmp(near, r->names[i].name) == 0)
            near = NULL; /* it is declared, and only read */
        diag_error(a->diag, a->kernel->loc, "kernel `%s` assigns no `%s`%s%s%s", a->kernel->name,
                   r->names[i].name, near ? "; did you mean `" : "", near ? near : "",
                   near ? "`?" : "");
    }
}

void probe_add(struct kernel *k, struct probe_request *r, struct diag *d)
{
    struct adder a = {.kernel = k, .request = r, .diag = d};
    r->sites.count = 0;
    if (r->line)
        stmt_walk(k->body, find_line, &a);
    if (r->line && !a.stop_line)
        diag_error(d, k->loc, "kernel `%s` has no statement at line %d or after it", k->name,
                   r->line);
    for (struct param *p = k->params; p; p = p->next)
        if (!p->sym->is_pointer && !p->sym->is_static)
            vec_push(k->arena, &a.live, p->sym);
    stmt_walk(k->body, note_async, &a);
    add_list(&a, &k->body);
    refuse_unknown(&a);
}
