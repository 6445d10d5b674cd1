/* Statements of a role as steps of its trace. Register tiles that products use are followed here,
 * because only the order of one role's statements matters for them. */
#include "synccheck/synccheck_roles.h"

/* --- steps --- */

static struct role_step *add_step(struct tracer *t, enum step_kind kind, const struct stmt *s)
{
    struct role_step step = {.kind = kind,
                             .thread = t->thread,
                             .common = t->common,
                             .block = t->block,
                             .barrier = -1,
                             .access = -1,
                             .statement = t->statement,
                             .stmt = s};
    vec_push(t->r->k->arena, &t->trace->steps, step);
    return &t->trace->steps.data[t->trace->steps.count - 1];
}

static int tile_number(struct sync_check *k, const struct sym *tile)
{
    for (size_t i = 0; i < k->code.tiles.count; i++)
        if (k->code.tiles.data[i] == tile)
            return (int)i;
    vec_push(k->arena, &k->code.tiles, tile);
    return (int)k->code.tiles.count - 1;
}

/* Returns the site of an access; access NULL: of the whole tile. */
static int site_of(struct sync_check *k, enum touch_kind kind, const struct expr *access,
                   const struct sym *tile, const struct stmt *s)
{
    for (size_t i = 0; i < k->code.touches.count; i++) {
        const struct touch *t = &k->code.touches.data[i];
        if (t->kind == kind && t->access == access && t->stmt == s)
            return (int)i;
    }
    struct touch touch = {.kind = kind,
                          .access = access,
                          .tile = tile_number(k, tile),
                          .element = kind == TOUCH_READ && access && access->type.rank == 0,
                          .collective = true,
                          .loc = access ? access->loc : s->loc,
                          .stmt = s,
                          .inlined = s->inlined};
    vec_push(k->arena, &k->code.touches, touch);
    return (int)k->code.touches.count - 1;
}

/* Returns true if numbers say which elements the access touches. */
static bool has_numbers(const struct sync_check *k, int access)
{
    const struct sync_access *a = access_at(k, access);
    int64_t number;
    bool known = true;
    for (int i = 0; i < a->rank; i++)
        known = known && sync_value_number(k, a->start[i], &number);
    return known;
}

/* Returns the number of an access, as sync_access_make does. */
static int access_of(struct tracer *t, enum touch_kind kind, const struct expr *access,
                     const struct sym *tile, const struct stmt *s)
{
    struct sync_check *k = t->r->k;
    int *kept = sync_role_result(t->r, access, s, MEMO_ACCESS + (int)kind);
    if (kept && *kept)
        return *kept - 1;
    int fresh = t->r->state->fresh;
    int made = sync_access_make(k, t->r->state, site_of(k, kind, access, tile, s));
    if (kept && made >= 0 && t->r->state->fresh == fresh && has_numbers(k, made))
        *kept = made + 1;
    return made;
}

/* Returns the value of a number that a step needs; -1: gave up. */
static int64_t number_of(struct tracer *t, const struct expr *e, const char *why)
{
    int64_t number = -1;
    if (!sync_value_number(t->r->k, sync_role_value(t->r, e), &number))
        sync_give_up(t->r, why);
    return number;
}

/* Returns the rank of the block whose memory the place names. */
static int block_of(struct tracer *t, const struct expr *place)
{
    const struct expr *peer = place ? access_peer(place) : NULL;
    if (!peer)
        return t->block;
    int64_t rank = number_of(t, peer, "the rank of a peer is not known");
    if (rank >= 0 && rank < t->r->blocks)
        return (int)rank;
    sync_give_up(t->r, "the rank of a peer is not that of a block");
    return t->block;
}

/* Adds a step with an access, unless it is outside of the tile. Returns NULL then. */
static struct role_step *add_access(struct tracer *t, enum step_kind step, enum touch_kind kind,
                                    const struct expr *access, const struct sym *tile,
                                    const struct stmt *s)
{
    int made = access_of(t, kind, access, tile, s);
    if (made < 0)
        return NULL;
    int block = block_of(t, access);
    struct role_step *added = add_step(t, step, s);
    added->access = made;
    added->block = block;
    return added;
}

/* --- register tiles of products --- */

static struct product_use *use_of(const struct tracer *t, const struct sym *tile)
{
    for (size_t i = 0; i < t->r->products.count; i++)
        if (t->r->products.data[i] == tile)
            return &t->uses[i];
    return NULL;
}

static void note_use(struct tracer *t, enum role_finding_kind kind, const struct sym *tile,
                     const struct stmt *product, struct role_place late)
{
    struct role_finding f = {.kind = kind, .tile = tile, .late = late};
    f.early = (struct role_place){
        .stmt = product, .loc = product->loc, .work = WORK_DOT, .role = t->number, .site = -1};
    sync_add_finding(t->r, &f);
}

/* Checks a use of a register tile that is not a product's sum. */
static void use_register(struct tracer *t, const struct sym *tile, enum touch_kind kind,
                         const struct stmt *s, struct loc loc)
{
    struct product_use *use = use_of(t, tile);
    struct role_place late = {.stmt = s, .loc = loc, .kind = kind, .role = t->number, .site = -1};
    if (use && use->sum > t->dots_done)
        note_use(t, ROLE_SUM, tile, use->sum_at, late);
    else if (use && kind == TOUCH_WRITE && use->factor > t->dots_done)
        note_use(t, ROLE_FACTOR, tile, use->factor_at, late);
}

/* --- reads --- */

static void read_expression(struct tracer *t, const struct stmt *s, const struct expr *e)
{
    if (!e || e->op == OP_LITERAL || sync_role_reads_nothing(t->r, e))
        return;
    for (int i = op_is_atomic(e->op) ? 1 : 0; i < expr_children(e); i++)
        read_expression(t, s, expr_child(e, i));
    bool place = e->op == OP_ACCESS || e->op == OP_REF;
    if (op_is_atomic(e->op) && sync_is_checked_tile(e->args[0]->sym))
        add_access(t, STEP_TOUCH, TOUCH_ATOMIC, e->args[0], e->args[0]->sym, s);
    else if (e->op == OP_ACCESS && sync_is_checked_tile(e->sym))
        add_access(t, STEP_TOUCH, TOUCH_READ, e, e->sym, s);
    else if (place && e->sym->storage == ST_REG)
        use_register(t, e->sym, TOUCH_READ, s, e->loc);
}

void sync_emit_role_reads(struct tracer *t, const struct stmt *s, const struct expr *e)
{
    t->statement++;
    read_expression(t, s, e);
}

static void read_indices(struct tracer *t, const struct stmt *s, const struct expr *access)
{
    for (int i = 0; i < access->indices; i++)
        read_expression(t, s, access->index[i].value);
}

/* --- mbarriers --- */

/* Returns the number of the mbarrier; -1: gave up. */
static int find_barrier(struct tracer *t, const struct expr *place)
{
    struct roles_check *r = t->r;
    int64_t number = 0, at;
    for (int i = 0; i < place->indices; i++) {
        int64_t extent = place->sym->type.extent[i];
        int v = sync_eval_value(r->k, r->state, place->index[i].value);
        if (!sync_value_number(r->k, v, &at) || at < 0 || at >= extent) {
            sync_give_up(r, "an mbarrier's index is not known");
            return -1;
        }
        number = number * extent + at;
    }
    for (size_t i = 0; i < r->barriers.count; i++)
        if (r->barriers.data[i] == place->sym)
            return r->first_barrier.data[i] + (int)number;
    return -1;
}

static int barrier_number(struct tracer *t, const struct expr *place)
{
    int *kept = sync_role_result(t->r, place, NULL, MEMO_BARRIER);
    int number = kept && *kept ? *kept - 1 : find_barrier(t, place);
    if (kept && number >= 0)
        *kept = number + 1;
    return number < 0 ? -1 : number + block_of(t, place) * t->r->barriers_each;
}

/* Returns the parity of a wait by hand. */
static int64_t parity_of(struct tracer *t, const struct stmt *s)
{
    int64_t parity = number_of(t, s->value->args[1], "the parity of a phase is not known");
    if (parity != 0 && parity != 1 && !t->r->k->gave_up) {
        struct role_finding f = {.kind = ROLE_PARITY, .bytes = parity};
        f.late = (struct role_place){.stmt = s,
                                     .loc = s->value->args[1]->loc,
                                     .role = t->number,
                                     .site = -1,
                                     .thread = t->thread};
        f.early = f.late;
        sync_add_finding(t->r, &f);
    }
    return parity & 1;
}

static void emit_barrier_effect(struct tracer *t, const struct stmt *s)
{
    const struct expr *e = s->value;
    int barrier = barrier_number(t, e->args[0]);
    int64_t number = -1;
    if (e->op == OP_EXPECT)
        number = number_of(t, e->args[1], "the bytes that `expect` announces are not known");
    if (e->op == OP_WAIT && e->count == 2)
        number = parity_of(t, s);
    if (t->r->k->gave_up || barrier < 0)
        return;
    struct role_step *step = add_step(t,
                                      e->op == OP_WAIT     ? STEP_WAIT
                                      : e->op == OP_EXPECT ? STEP_EXPECT
                                                           : STEP_ARRIVE,
                                      s);
    step->barrier = barrier;
    step->block = barrier / t->r->barriers_each;
    step->number = number;
    step->thread |= e->op == OP_EXPECT;
}

/* --- statements --- */

/* Adds that the block initialises the mbarriers that s declares. */
static void emit_begin(struct tracer *t, const struct stmt *s)
{
    const struct roles_check *r = t->r;
    struct role_step *step = add_step(t, STEP_BEGIN, s);
    step->thread = true;
    step->number = type_elements(&s->sym->type);
    for (size_t i = 0; i < r->barriers.count; i++)
        if (r->barriers.data[i] == s->sym)
            step->barrier = r->first_barrier.data[i] + t->block * r->barriers_each;
}

static void emit_decl(struct tracer *t, const struct stmt *s)
{
    struct roles_check *r = t->r;
    read_expression(t, s, s->value);
    if (stmt_arrives(s))
        add_step(t, STEP_SYNC, s);
    if (s->sym->storage == ST_MBARRIER && r->k->kernel->cluster[0] > 0)
        emit_begin(t, s);
    if (sync_is_checked_tile(s->sym)) {
        if (s->value)
            add_access(t, STEP_TOUCH, TOUCH_WRITE, NULL, s->sym, s);
        return;
    }
    if (s->sym->storage == ST_REG && s->value)
        use_register(t, s->sym, TOUCH_WRITE, s, s->loc);
    int slot = s->sym->storage == ST_SCALAR ? sync_tracked_slot(r->k, s->sym) : -1;
    if (slot >= 0)
        r->state->slot[slot] = s->value ? sync_role_value(r, s->value) : -1;
}

static void emit_factor(struct tracer *t, const struct stmt *s, const struct expr *factor)
{
    const struct expr *e = factor->op == OP_TRANS ? factor->args[0] : factor;
    if (e->op == OP_ACCESS && sync_is_checked_tile(e->sym)) {
        read_indices(t, s, e);
        struct role_step *step = add_access(t, STEP_DOT, TOUCH_READ, e, e->sym, s);
        if (step)
            step->number = t->trace->dots;
        return;
    }
    use_register(t, e->sym, TOUCH_READ, s, e->loc);
    struct product_use *use = use_of(t, e->sym);
    if (use) {
        use->factor = t->trace->dots;
        use->factor_at = s;
    }
}

/* Adds a product. Products add to one sum in order, so a sum under way may be added to. */
static void emit_product(struct tracer *t, const struct stmt *s)
{
    struct product_use *sum = use_of(t, s->target->sym);
    struct role_place late = {
        .stmt = s, .loc = s->target->loc, .kind = TOUCH_WRITE, .role = t->number, .site = -1};
    if (sum->factor > t->dots_done)
        note_use(t, ROLE_FACTOR, s->target->sym, sum->factor_at, late);
    t->trace->dots++;
    emit_factor(t, s, expr_unconverted_factor(s->value->args[0]));
    emit_factor(t, s, expr_unconverted_factor(s->value->args[1]));
    sum->sum = t->trace->dots;
    sum->sum_at = s;
}

static void emit_assign(struct tracer *t, const struct stmt *s)
{
    struct roles_check *r = t->r;
    const struct expr *target = s->target;
    if (s->in_background) {
        emit_product(t, s);
        return;
    }
    read_expression(t, s, s->value);
    read_indices(t, s, target);
    if (access_peer(target))
        read_expression(t, s, access_peer(target));
    if (target->op == OP_ACCESS && sync_is_checked_tile(target->sym))
        add_access(t, STEP_TOUCH, TOUCH_WRITE, target, target->sym, s);
    else if (target->sym->storage == ST_REG)
        use_register(t, target->sym, TOUCH_WRITE, s, target->loc);
    int slot = target->op == OP_REF && target->sym->storage == ST_SCALAR
                   ? sync_tracked_slot(r->k, target->sym)
                   : -1;
    if (slot >= 0)
        r->state->slot[slot] = sync_role_value(r, s->value);
}

static void emit_copy(struct tracer *t, const struct stmt *s)
{
    read_indices(t, s, s->target);
    read_indices(t, s, s->value);
    if (!sync_is_checked_tile(s->target->sym)) {
        struct role_step *store = add_access(t, STEP_STORE, TOUCH_READ, s->value, s->value->sym, s);
        if (store)
            store->thread = true;
        return;
    }
    int barrier = s->barrier ? barrier_number(t, s->barrier) : -1;
    if (t->r->k->gave_up)
        return;
    int64_t blocks = (int64_t)1 << t->block;
    if (s->multicast)
        blocks = number_of(t, s->multicast, "the blocks of a copy are not known");
    for (int i = 0; i < t->r->blocks && blocks > 0; i++) {
        struct role_step *copy = blocks >> i & 1
                                     ? add_access(t, s->barrier ? STEP_COPY : STEP_LOAD, TOUCH_COPY,
                                                  s->target, s->target->sym, s)
                                     : NULL;
        if (!copy || !s->barrier)
            continue;
        copy->thread = true;
        copy->block = i;
        copy->barrier = barrier + (i - t->block) * t->r->barriers_each;
        copy->number = type_bytes(&s->target->type);
    }
}

static void emit_dot_wait(struct tracer *t, const struct stmt *s)
{
    int64_t left = number_of(t, s->value->args[0], "the number of a dot_wait is not known");
    if (t->trace->dots - left > t->dots_done)
        t->dots_done = t->trace->dots - (int)left;
    add_step(t, STEP_DOT_WAIT, s)->number = t->dots_done;
}

static void emit_numbered(struct tracer *t, const struct stmt *s, enum step_kind kind)
{
    struct role_step *step = add_step(t, kind, s);
    step->number = number_of(t, s->value->args[0], "the number of a wait is not known");
    step->thread |= kind == STEP_STORE_WAIT;
}

static void emit_gone(struct tracer *t, const struct sym *tile, const struct stmt *s)
{
    t->statement++;
    struct role_step *step = add_access(t, STEP_GONE, TOUCH_WRITE, NULL, tile, s);
    if (step)
        step->thread = true; /* it knows which stores are done */
}

static void emit_effect(struct tracer *t, const struct stmt *s)
{
    const struct expr *e = s->value;
    bool possible = true;
    if (s->uncredited)
        return;
    switch (e->op) {
    case OP_WAIT:
    case OP_EXPECT:
    case OP_MBARRIER_ARRIVE: emit_barrier_effect(t, s); break;
    case OP_DOT_WAIT: emit_dot_wait(t, s); break;
    case OP_STORE_WAIT: emit_numbered(t, s, STEP_STORE_WAIT); break;
    case OP_ASYNC_COMMIT: add_step(t, STEP_LOAD_COMMIT, s); break;
    case OP_ASYNC_WAIT: emit_numbered(t, s, STEP_LOAD_WAIT); break;
    case OP_LOCK:
    case OP_UNLOCK:
    case OP_ARRIVE: read_expression(t, s, e); /* fall through */
    case OP_SYNC: add_step(t, STEP_SYNC, s); break;
    case OP_CLUSTER_SYNC: add_step(t, STEP_CLUSTER_SYNC, s); break;
    case OP_FREE: {
        const struct sym *tile = e->sym ? e->sym : e->args[0]->sym;
        if (sync_is_checked_tile(tile))
            emit_gone(t, tile, s);
        break;
    }
    case OP_ASSUME:
        sync_eval_assume(t->r->k, t->r->state, e->args[0], &possible);
        t->r->impossible |= !possible;
        break;
    case OP_FENCE_ASYNC: break; /* the compiler adds those that are missing */
    default:
        if (!s->added) /* probe.c guards its prints with barriers of its own */
            read_expression(t, s, e);
        break;
    }
}

void sync_emit_role_statement(struct tracer *t, const struct stmt *s)
{
    t->statement++;
    switch (s->kind) {
    case STMT_DECL: emit_decl(t, s); break;
    case STMT_ASSIGN: emit_assign(t, s); break;
    case STMT_ASYNC_COPY: emit_copy(t, s); break;
    case STMT_EFFECT: emit_effect(t, s); break;
    default: break;
    }
}

/* --- ends --- */

static void note_sum_left(struct tracer *t, const struct sym *tile, const struct product_use *use,
                          bool at_scope)
{
    if (use->sum <= t->dots_done)
        return;
    struct role_finding f = {.kind = ROLE_PENDING, .tile = tile, .at_scope = at_scope};
    f.early = (struct role_place){.stmt = use->sum_at,
                                  .loc = use->sum_at->loc,
                                  .work = WORK_DOT,
                                  .role = t->number,
                                  .site = -1};
    f.late = f.early;
    sync_add_finding(t->r, &f);
}

void sync_emit_role_scope_end(struct tracer *t, const struct stmt *s)
{
    if (s->kind != STMT_DECL)
        return;
    struct product_use *use = use_of(t, s->sym);
    if (sync_is_checked_tile(s->sym))
        emit_gone(t, s->sym, s);
    if (!use)
        return;
    note_sum_left(t, s->sym, use, true);
    *use = (struct product_use){0};
}

void sync_note_products_left(struct tracer *t)
{
    for (size_t i = 0; i < t->r->products.count; i++)
        note_sum_left(t, t->r->products.data[i], &t->uses[i], false);
}

/* --- statements that matter --- */

static bool mentions_product(const struct roles_check *r, const struct stmt *s)
{
    for (size_t i = 0; i < r->products.count; i++) {
        const struct sym *tile = r->products.data[i];
        if (expr_mentions(s->value, tile) || expr_mentions(s->target, tile) ||
            expr_mentions(s->condition, tile) || (s->kind == STMT_DECL && s->sym == tile))
            return true;
    }
    return false;
}

static bool effect_matters(const struct stmt *s)
{
    return (op_table[s->value->op].flags & OP_SYNC_FLAG) || s->value->op == OP_FREE;
}

bool sync_role_list_matters(const struct roles_check *r, const struct stmt *s)
{
    for (; s; s = s->next) {
        bool shared = sync_touches_shared(s->value) || sync_touches_shared(s->target) ||
                      sync_touches_shared(s->condition) ||
                      (s->kind == STMT_DECL && sync_is_checked_tile(s->sym));
        if (shared || s->kind == STMT_ASYNC_COPY || s->in_background || stmt_arrives(s) ||
            (s->kind == STMT_EFFECT && effect_matters(s)) || mentions_product(r, s) ||
            sync_role_list_matters(r, s->init) || sync_role_list_matters(r, s->body) ||
            sync_role_list_matters(r, s->otherwise) || sync_role_list_matters(r, s->step))
            return true;
    }
    return false;
}
