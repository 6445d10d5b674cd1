/* Pipelines, for targets whose copies run in the background (sm_80 and later): `pipeline(n) for`
 * becomes the plain loop of a pipeline written by hand (kernels/matmul/stages.tile).
 *
 *     shared T sa[n][BM][BK];                       a further axis: a stage for each iteration in flight
 *     for (s = 0; s < n - 1; s++) {                 the first iterations' copies, a group each
 *         if (…) async sa[s] = …;
 *         async_commit();
 *     }
 *     for (p = 0, s = 0; p < k; p += BK, s = (s + 1) % n) {
 *         async_wait(n - 2);                        stage s has arrived, for this thread
 *         sync();                                   for all; and all have read stage s - 1, which is free now
 *         if (p < k - (n - 1) * BK)                 the iteration n - 1 ahead, if it runs
 *             async sa[(s + n - 1) % n] = …;
 *         async_commit();                           a group each iteration, even an empty one:
 *         … sa[s] …                                 async_wait counts groups
 *     }
 *     async_wait(0);
 *
 * Copies are made only for iterations that run, so facts about an address in the loop (`inside`)
 * also hold for the copies. Register tiles that the body loads from const views at such
 * addresses are loaded one iteration ahead. With one stage, and if later iterations are not
 * known ahead, the tiles are copied at their declarations, between two barriers. */
#include "tile/pipeline.h"

#include <string.h>

enum { MOST_PREFETCHED = 256 }; /* most bytes of a thread for one tile that is loaded ahead */

struct staged {
    struct stmt *decl; /* shared T s[…] = view[…]; */
};
struct fetched {
    struct stmt *decl;    /* reg T r[…] = (…) view[…]; */
    struct expr **source; /* the part of the view in decl */
    struct sym *ahead;    /* the tile that holds it */
};

struct pipeline {
    struct kernel *kernel;
    struct diag *diag;
    struct stmt *loop;
    bool nested; /* the loop is in another loop */
    VEC(struct staged) staged;
    VEC(struct fetched) fetched;
    struct sym *stage;  /* the counter of stages in the loop */
    struct turns turns; /* scratch: records whether a value is not known ahead */
};

/* A list of statements under construction. */
struct list {
    struct stmt *first, **end;
};

static void list_init(struct list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void list_add(struct list *list, struct stmt *s)
{
    *list->end = s;
    while (*list->end)
        list->end = &(*list->end)->next;
}

/* --- making statements --- */

static struct stmt *added(struct stmt *s)
{
    s->added = true;
    return s;
}

static struct stmt *effect(struct pipeline *p, enum op op)
{
    return added(stmt_effect(p->kernel, op, p->loop->loc, NULL));
}

static struct stmt *wait_for(struct pipeline *p, int groups)
{
    struct expr *n = expr_int(p->kernel, DT_I32, groups, p->loop->loc);
    return added(stmt_effect(p->kernel, OP_ASYNC_WAIT, p->loop->loc, n));
}

static struct stmt *declaration(struct pipeline *p, struct sym *s, struct expr *value)
{
    struct stmt *decl = stmt_new(p->kernel, STMT_DECL, s->loc);
    decl->sym = s;
    decl->value = value;
    return decl;
}

static struct stmt *assignment(struct pipeline *p, struct sym *s, struct expr *value)
{
    struct stmt *set = stmt_new(p->kernel, STMT_ASSIGN, p->loop->loc);
    set->target = expr_ref(p->kernel, s, p->loop->loc);
    set->value = value;
    return set;
}

/* Returns the statements under the condition; NULL: always. */
static struct stmt *where(struct pipeline *p, struct expr *condition, struct stmt *body)
{
    if (!condition || !body)
        return body;
    struct stmt *s = added(stmt_new(p->kernel, STMT_IF, p->loop->loc));
    s->condition = condition;
    s->body = body;
    return s;
}

static struct sym *new_scalar(struct pipeline *p, const char *name, enum dtype t)
{
    return sym_new(p->kernel, kernel_unused_name(p->kernel, name), ST_SCALAR, type_scalar(t),
                   p->loop->loc);
}

/* --- the tiles of the loop --- */

static bool is_staged(const struct stmt *s)
{
    return s->kind == STMT_DECL && s->sym->storage == ST_SHARED && s->sym->staged;
}

static void look_for_escape(void *user, struct stmt *s)
{
    bool *found = user;
    *found |= s->kind == STMT_BREAK || s->kind == STMT_CONTINUE || s->kind == STMT_RETURN;
}

static bool may_escape(struct stmt *s)
{
    bool found = false;
    struct stmt alone = *s;
    alone.next = NULL;
    stmt_walk(&alone, look_for_escape, &found);
    return found;
}

/* Returns the part of a const view that a declared register tile loads, through casts; NULL: it
 * loads something else. */
static struct expr **fetched_source(struct stmt *s)
{
    if (s->kind != STMT_DECL || s->sym->storage != ST_REG || !s->value)
        return NULL;
    struct expr **at = &s->value;
    while ((*at)->op == OP_CAST)
        at = &(*at)->args[0];
    const struct expr *e = *at;
    if (e->op != OP_ACCESS || e->sym->storage != ST_VIEW || !e->sym->is_const || e->type.varying)
        return NULL;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind == IX_GATHER)
            return NULL;
    return at;
}

static bool moves(const struct pipeline *p, const struct expr *e)
{
    struct turns now, next;
    pipeline_turns_now(&now, p->kernel, p->loop, false);
    pipeline_turns_now(&next, p->kernel, p->loop, false);
    pipeline_turns_advance(&next);
    return !expr_same(pipeline_turns_value(&now, e), pipeline_turns_value(&next, e)) &&
           !next.unknown;
}

static void find_fetched(struct pipeline *p, struct stmt *s)
{
    struct expr **at = fetched_source(s);
    if (!at)
        return;
    int64_t bytes = type_bytes(&(*at)->type);
    if (bytes > (int64_t)MOST_PREFETCHED * kernel_block_threads(p->kernel) || !moves(p, *at))
        return;
    struct fetched f = {.decl = s, .source = at};
    vec_push(p->kernel->arena, &p->fetched, f);
}

/* Finds the tiles that every iteration declares: no statement before them may leave the
 * iteration. Returns true if no statement leaves it. */
static bool find_tiles(struct pipeline *p, struct stmt *first, bool always)
{
    for (struct stmt *s = first; s; s = s->next) {
        if (s->kind == STMT_BLOCK) {
            always = find_tiles(p, s->body, always);
            continue;
        }
        if (is_staged(s)) {
            struct staged staged = {s};
            vec_push(p->kernel->arena, &p->staged, staged);
            if (!always)
                p->turns.unknown = true;
        }
        if (always)
            find_fetched(p, s);
        always = always && !may_escape(s);
    }
    return always;
}

/* --- one stage --- */

/* Adds a barrier before the first tiles of the body, and one after each run of tiles. */
static void copy_in_place(struct pipeline *p, struct stmt **first, bool *begun)
{
    bool in_run = false;
    struct stmt **at = first;
    for (; *at; at = &(*at)->next) {
        bool staged = is_staged(*at);
        if (staged != in_run && (staged ? !*begun : true)) {
            struct stmt *sync = effect(p, OP_SYNC);
            sync->next = *at;
            *at = sync;
            at = &sync->next;
        }
        in_run = staged;
        *begun |= staged;
        if ((*at)->kind == STMT_BLOCK)
            copy_in_place(p, &(*at)->body, begun);
    }
    if (in_run)
        *at = effect(p, OP_SYNC);
}

static void keep_in_place(struct pipeline *p)
{
    bool begun = false;
    copy_in_place(p, &p->loop->body, &begun);
    for (size_t i = 0; i < p->staged.count; i++)
        p->staged.data[i].decl->sym->staged = false;
    p->loop->stages = 0;
}

/* --- several stages --- */

struct renaming {
    struct pipeline *p;
    struct sym *stage;
};

/* Turns an access of a staged tile into an access of its present stage. */
static void choose_stage(void *user, struct expr **at)
{
    struct renaming *r = user;
    struct expr *e = *at;
    if (e->op != OP_ACCESS || e->sym->storage != ST_SHARED || !e->sym->staged)
        return;
    struct index *index = arena_array(r->p->kernel->arena, struct index, e->indices + 1);
    index[0].kind = IX_ELEMENT;
    index[0].value = expr_ref(r->p->kernel, r->stage, e->loc);
    if (e->indices > 0)
        memcpy(index + 1, e->index, (size_t)e->indices * sizeof *index);
    e->index = index;
    e->indices++;
}

static void choose_in_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, choose_stage, user);
}

static void choose_in_statement(void *user, struct stmt *s)
{
    stmt_expressions(s, choose_in_root, user);
}

static void add_stages(struct sym *s, int stages)
{
    memmove(s->type.extent + 1, s->type.extent, (size_t)s->type.rank * sizeof s->type.extent[0]);
    s->type.extent[0] = stages;
    s->type.rank++;
    s->offset = -1; /* at(…) was the offset of one stage */
    s->staged = false;
}

/* Makes async tile[stage] = the tile's part of the view in that iteration, for each tile. */
static struct stmt *copies(struct pipeline *p, struct turns *turn, struct expr *stage)
{
    struct list list;
    list_init(&list);
    for (size_t i = 0; i < p->staged.count; i++) {
        const struct stmt *decl = p->staged.data[i].decl;
        struct stmt *copy = added(stmt_new(p->kernel, STMT_ASYNC_COPY, decl->loc));
        copy->inlined = decl->inlined;
        copy->target = expr_access(p->kernel, decl->sym, 1, decl->loc);
        copy->target->index[0].kind = IX_ELEMENT;
        copy->target->index[0].value = expr_copy(p->kernel, stage);
        copy->value = pipeline_turns_value(turn, decl->value);
        copy->target->type = copy->value->type;
        copy->target->type.dtype = decl->sym->type.dtype;
        list_add(&list, copy);
    }
    p->turns.unknown |= turn->unknown;
    p->turns.why = p->turns.why ? p->turns.why : turn->why;
    return list.first;
}

static struct expr *condition_in(struct pipeline *p, struct turns *turn)
{
    struct expr *e = p->loop->condition ? pipeline_turns_value(turn, p->loop->condition) : NULL;
    p->turns.unknown |= turn->unknown;
    p->turns.why = p->turns.why ? p->turns.why : turn->why;
    return e;
}

/* Adds the copies of the first iterations, each written out. */
static void first_turns_apart(struct pipeline *p, struct list *list)
{
    struct turns turn;
    struct expr *comes = NULL;
    pipeline_turns_now(&turn, p->kernel, p->loop, true);
    bool is_final = pipeline_condition_is_final(p->kernel, p->loop);
    for (int i = 0; i < p->loop->stages - 1; i++) {
        struct expr *here = condition_in(p, &turn);
        struct expr *stage = expr_int(p->kernel, DT_I32, i, p->loop->loc);
        comes = is_final ? here : pipeline_both_hold(p->kernel, comes, here);
        list_add(list, where(p, expr_copy(p->kernel, comes), copies(p, &turn, stage)));
        list_add(list, effect(p, OP_ASYNC_COMMIT));
        pipeline_turns_advance(&turn);
    }
}

/* Adds the copies of the first iterations as unroll for (i32 s = 0; s < n - 1; s++) { … }. */
static void first_turns(struct pipeline *p, struct list *list)
{
    struct turns turn;
    struct kernel *k = p->kernel;
    pipeline_turns_now(&turn, k, p->loop, true);
    if (p->loop->stages < 3 || !pipeline_turns_are_even(&turn) ||
        !pipeline_condition_is_final(k, p->loop)) {
        first_turns_apart(p, list);
        return;
    }
    struct loc loc = p->loop->loc;
    struct sym *s = new_scalar(p, "turn", DT_I32);
    struct stmt *loop = added(stmt_new(k, STMT_FOR, loc));
    loop->unroll = UNROLL_FULL;
    loop->init = declaration(p, s, expr_int(k, DT_I32, 0, loc));
    loop->condition = expr_binary(k, OP_LT, type_scalar(DT_BOOL), loc, expr_ref(k, s, loc),
                                  expr_int(k, DT_I32, p->loop->stages - 1, loc));
    loop->step = assignment(p, s, pipeline_plus_number(k, expr_ref(k, s, loc), 1));
    pipeline_turns_at(&turn, k, p->loop, s);
    struct expr *comes = condition_in(p, &turn);
    struct list body;
    list_init(&body);
    list_add(&body, where(p, comes, copies(p, &turn, expr_ref(k, s, loc))));
    list_add(&body, effect(p, OP_ASYNC_COMMIT));
    loop->body = body.first;
    list_add(list, loop);
}

/* Returns (stage + n) % stages. */
static struct expr *stage_after(struct pipeline *p, int n)
{
    struct kernel *k = p->kernel;
    struct expr *sum = pipeline_plus_number(k, expr_ref(k, p->stage, p->loop->loc), n);
    return expr_binary(k, OP_REM, sum->type, p->loop->loc, sum,
                       expr_int(k, sum->type.dtype, p->loop->stages, p->loop->loc));
}

/* Makes the statements at the head of each iteration: they wait for its stage, and start the
 * copies of the last iteration in flight. */
static struct stmt *head(struct pipeline *p)
{
    int stages = p->loop->stages;
    struct turns turn;
    struct list list;
    list_init(&list);
    list_add(&list, wait_for(p, stages - 2));
    list_add(&list, effect(p, OP_SYNC));
    pipeline_turns_now(&turn, p->kernel, p->loop, false);
    for (int i = 0; i < stages - 1; i++)
        pipeline_turns_advance(&turn);
    struct sym *free = new_scalar(p, "free_stage", p->stage->type.dtype);
    list_add(&list, added(declaration(p, free, stage_after(p, stages - 1))));
    struct expr *comes = pipeline_turn_comes(&p->turns, stages - 1);
    list_add(&list, where(p, comes, copies(p, &turn, expr_ref(p->kernel, free, p->loop->loc))));
    list_add(&list, effect(p, OP_ASYNC_COMMIT));
    return list.first;
}

/* Adds the counter of stages to the loop. Declarations in the init of a loop share a type; a
 * counter of another type is declared before the loop. */
static void add_stage_counter(struct pipeline *p, struct list *before)
{
    struct stmt *loop = p->loop, **end = &loop->init;
    struct kernel *k = p->kernel;
    enum dtype t = DT_I32;
    bool declares = loop->init && loop->init->kind == STMT_DECL;
    if (declares && dtype_is_int(loop->init->sym->type.dtype) &&
        dtype_size(loop->init->sym->type.dtype) >= 4)
        t = loop->init->sym->type.dtype;
    bool fits = !loop->init || (declares && loop->init->sym->type.dtype == t);
    p->stage = new_scalar(p, "stage", t);
    struct stmt *decl = declaration(p, p->stage, expr_int(k, t, 0, loop->loc));
    if (!fits) {
        list_add(before, decl);
        decl = assignment(p, p->stage, expr_int(k, t, 0, loop->loc));
    }
    while (*end)
        end = &(*end)->next;
    if (fits || !declares)
        *end = decl;
    for (end = &loop->step; *end;)
        end = &(*end)->next;
    *end = assignment(p, p->stage, stage_after(p, 1));
}

/* Removes the declarations of staged tiles from the body. */
static void take_out(struct stmt **first)
{
    struct stmt **at = first;
    while (*at) {
        if ((*at)->kind == STMT_BLOCK)
            take_out(&(*at)->body);
        if (is_staged(*at))
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
}

/* --- register tiles --- */

static struct stmt *fetch(struct pipeline *p, struct fetched *f, struct turns *turn)
{
    struct stmt *load = added(assignment(p, f->ahead, pipeline_turns_value(turn, *f->source)));
    load->loc = f->decl->loc;
    load->inlined = f->decl->inlined;
    return load;
}

/* Makes reg r = ahead; and loads into `ahead` the value of r in the next iteration. */
static void fetch_ahead(struct pipeline *p, struct fetched *f, struct list *before)
{
    struct kernel *k = p->kernel;
    struct turns first, next, comes;
    struct expr *e = *f->source;
    const char *name = arena_printf(k->arena, "%s_ahead", f->decl->sym->name);
    f->ahead = sym_new(k, kernel_unused_name(k, name), ST_REG, e->type, e->loc);
    f->ahead->written = f->decl->sym->written;
    pipeline_turns_now(&first, k, p->loop, true);
    pipeline_turns_now(&next, k, p->loop, false);
    pipeline_turns_now(&comes, k, p->loop, false);
    pipeline_turns_advance(&next);
    list_add(before, added(declaration(p, f->ahead, NULL)));
    list_add(before,
             where(p, pipeline_turns_value(&first, p->loop->condition), fetch(p, f, &first)));
    struct stmt *load = where(p, pipeline_turn_comes(&comes, 1), fetch(p, f, &next));
    struct stmt **end = &load;
    while (*end)
        end = &(*end)->next;
    *end = f->decl->next;
    f->decl->next = load;
    *f->source = expr_ref(k, f->ahead, e->loc);
}

/* --- the whole --- */

static void refuse(struct pipeline *p)
{
    struct loc at = p->turns.why ? p->turns.why->loc : p->loop->loc;
    diag_warning(p->diag, p->loop->loc,
                 "nothing is fetched ahead in this pipeline: its tiles are copied in each turn");
    if (!p->loop->condition)
        diag_note(p->diag, p->loop->loc,
                  "without a condition it is not known how many turns will come");
    else if (p->turns.why)
        diag_note(p->diag, at, "this is not known before its iteration");
    else
        diag_note(p->diag, at, "the turn may be left before the tiles are declared");
}

/* Returns true if all values needed for later iterations are known ahead. */
static bool is_known_ahead(struct pipeline *p)
{
    struct turns turn;
    if (!p->loop->condition || p->turns.unknown)
        return false;
    pipeline_turns_now(&turn, p->kernel, p->loop, true);
    for (int i = 0; i < p->loop->stages && !p->turns.unknown; i++) {
        struct expr *stage = expr_int(p->kernel, DT_I32, 0, p->loop->loc);
        condition_in(p, &turn);
        copies(p, &turn, stage);
        pipeline_turns_advance(&turn);
    }
    for (size_t i = 0; i < p->staged.count; i++)
        if (p->staged.data[i].decl->sym->type.rank >= MAX_RANK)
            p->turns.unknown = true;
    return !p->turns.unknown;
}

/* Returns the block that replaces the loop. */
static struct stmt *keep_stages(struct pipeline *p)
{
    struct list list;
    struct renaming renaming = {.p = p};
    list_init(&list);
    for (size_t i = 0; i < p->staged.count; i++)
        list_add(&list, declaration(p, p->staged.data[i].decl->sym, NULL));
    if (p->nested && p->staged.count > 0)
        list_add(&list, effect(p, OP_SYNC)); /* iterations of an earlier run may still be reading
                                              * the stages */
    int stages = p->loop->stages;
    if (p->staged.count > 0)
        first_turns(p, &list);
    for (size_t i = 0; i < p->fetched.count; i++)
        fetch_ahead(p, &p->fetched.data[i], &list);
    if (p->staged.count > 0) {
        struct turns none = {.kernel = p->kernel, .loop = p->loop};
        p->turns = none;
        struct list body;
        list_init(&body);
        add_stage_counter(p, &list);
        list_add(&body, head(p));
        renaming.stage = p->stage;
        stmt_walk(p->loop->body, choose_in_statement, &renaming);
        take_out(&p->loop->body);
        list_add(&body, p->loop->body);
        p->loop->body = body.first;
        for (size_t i = 0; i < p->staged.count; i++)
            add_stages(p->staged.data[i].decl->sym, stages);
    }
    p->loop->stages = 0;
    list_add(&list, p->loop);
    if (p->staged.count > 0)
        list_add(&list, wait_for(p, 0));
    struct stmt *block = stmt_new(p->kernel, STMT_BLOCK, p->loop->loc);
    block->body = list.first;
    return block;
}

/* Returns the statements that replace the loop. */
static struct stmt *rewrite(struct pass_context *c, struct stmt *loop, bool nested)
{
    struct pipeline p = {.kernel = c->kernel, .diag = c->diag, .loop = loop, .nested = nested};
    p.turns = (struct turns){.kernel = c->kernel, .loop = loop};
    find_tiles(&p, loop->body, true);
    if (loop->stages > 1 && is_known_ahead(&p))
        return keep_stages(&p);
    if (loop->stages > 1 && p.staged.count > 0)
        refuse(&p);
    keep_in_place(&p);
    return loop;
}

static void rewrite_list(struct pass_context *c, struct stmt **first, bool nested)
{
    for (struct stmt **at = first; *at; at = &(*at)->next) {
        struct stmt *s = *at, *next = s->next;
        bool loops = nested || s->kind == STMT_FOR || s->kind == STMT_WHILE;
        if (s->kind != STMT_FOR || s->stages == 0) {
            rewrite_list(c, &s->body, loops);
            rewrite_list(c, &s->otherwise, loops);
            continue;
        }
        s->next = NULL;
        *at = rewrite(c, s, nested);
        (*at)->next = next;
    }
}

void pass_pipeline(struct pass_context *c)
{
    if (c->sm == 0)
        return;
    rewrite_list(c, &c->kernel->body, false);
    pass_fold(c);
}
