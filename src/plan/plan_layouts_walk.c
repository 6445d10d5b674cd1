/* The layouts in which uses of tiles want them: a walk through the statements, and through each expression in the order
 * in which it is evaluated. */
#include "plan/plan_layouts_own.h"

struct walker {
    struct layouts *l;
    const struct plan_visitor *v;
    int weight;
};

static void use(struct walker *w, const struct expr *e, struct preference wanted);

static void use_freely(struct walker *w, const struct expr *e)
{
    struct preference p = plan_prefer(w->l, e);
    p.own = true;
    use(w, e, p);
}

static void use_indices(struct walker *w, const struct expr *e)
{
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value)
            use_freely(w, e->index[i].value);
}

static void tell(struct walker *w, const struct sym *s, struct shared_use u)
{
    u.weight = w->weight;
    if (w->v->shared)
        w->v->shared(w->l, w->v->user, s, &u);
}

static void read_shared(struct walker *w, const struct expr *access, const struct layout *regs,
                        int apart)
{
    tell(w, access->sym,
         (struct shared_use){.access = access, .regs = regs, .most = 16, .apart = apart});
}

static void use_access(struct walker *w, const struct expr *e, struct preference wanted)
{
    use_indices(w, e);
    if (e->otherwise)
        use_freely(w, e->otherwise);
    if (e->sym->storage == ST_SHARED)
        read_shared(w, e, plan_place(w->l, e, wanted.layout), 0);
}

static void use_factor(struct walker *w, const struct expr *dot, int side,
                       const struct dot_plan *plan)
{
    struct plan_source s = plan_source_of(dot, side);
    const struct layout *wanted = side ? plan->b : plan->a;
    if (!s.shared) {
        bool is_staged = side ? plan->b_staged : plan->a_staged;
        bool kept = is_staged && !(side ? plan->b_again : plan->a_again);
        struct preference own = plan_prefer(w->l, s.e), p = {wanted, !is_staged, false};
        use(w, s.e, kept && own.layout ? (struct preference){own.layout, own.firm, true} : p);
        return;
    }
    use_indices(w, s.shared);
    int deep = (side == 0) != s.transposed ? 2 : 1;
    read_shared(w, s.shared, s.transposed ? plan_transposed(w->l, wanted, 2) : wanted,
                plan_goes_by_columns(plan, s.type) ? deep : 0);
}

static void use_dot(struct walker *w, const struct expr *e)
{
    const struct dot_plan *plan = plan_dot(w->l, e);
    for (int side = 0; plan && side < 2; side++)
        use_factor(w, e, side, plan);
    if (plan && e->count == 3)
        use(w, e->args[2], (struct preference){plan->c, true, false});
}

static void use_operands(struct walker *w, const struct expr *e, struct preference wanted)
{
    struct preference at = wanted;
    if (at.layout || w->l->plan->settled)
        at.layout = plan_place(w->l, e, wanted.layout);
    else
        at.layout = plan_natural(w->l, e);
    struct preference own = plan_prefer(w->l, e);
    if (at.layout == own.layout) {
        at.firm |= own.firm;
        at.own = true;
    }
    for (int i = 0; i < e->count; i++) {
        const struct type *t = &e->args[i]->type;
        struct preference operand = at;
        if (at.layout && plan_is_tile(t) && !type_same_shape(t, &e->type))
            operand.layout = plan_operand_layout(w->l, at.layout, t);
        use(w, e->args[i], operand);
    }
}

/* The values in the layout in which they come, else coalesced for the place. */
static void use_atomic(struct walker *w, const struct expr *e)
{
    const struct expr *place = e->args[0];
    const struct layout *at = NULL;
    use_indices(w, place);
    for (int i = 1; i < e->count; i++)
        if (!at && type_same_shape(&e->args[i]->type, &e->type))
            at = plan_prefer(w->l, e->args[i]).layout;
    if (!at && plan_is_tile(&e->type))
        at = plan_blocked(w->l, &e->type, 0);
    for (int i = 1; i < e->count; i++) {
        struct preference p = {at, false, true};
        if (at && plan_is_tile(&e->args[i]->type) && !type_same_shape(&e->args[i]->type, &e->type))
            p.layout = plan_operand_layout(w->l, at, &e->args[i]->type);
        use(w, e->args[i], p);
    }
    if (place->sym->storage == ST_SHARED && at)
        tell(w, place->sym,
             (struct shared_use){.access = place,
                                 .regs = at,
                                 .store = true,
                                 .most = (int)dtype_size(place->type.dtype)});
}

static void use(struct walker *w, const struct expr *e, struct preference wanted)
{
    if (op_is_atomic(e->op)) {
        use_atomic(w, e);
        return;
    }
    if (!plan_is_tile(&e->type)) {
        for (int i = 0; i < e->count; i++)
            use_freely(w, e->args[i]);
        use_indices(w, e);
        return;
    }
    if (plan_is_elementwise(e->op)) {
        use_operands(w, e, wanted);
        return;
    }
    struct preference under = wanted;
    switch (e->op) {
    case OP_REF:
        if (w->v->symbol)
            w->v->symbol(w->l, w->v->user, e->sym, wanted, w->weight);
        return;
    case OP_ACCESS: use_access(w, e, wanted); return;
    case OP_DOT: use_dot(w, e); return;
    case OP_TRANS:
        if (wanted.layout)
            under.layout = plan_transposed(w->l, wanted.layout, e->type.rank);
        use(w, e->args[0], under);
        return;
    case OP_SCAN: use(w, e->args[0], wanted); return;
    case OP_BROADCAST:
        if (wanted.layout && plan_is_tile(&e->args[0]->type))
            under.layout = plan_operand_layout(w->l, wanted.layout, &e->args[0]->type);
        use(w, e->args[0], under);
        return;
    default:
        for (int i = 0; i < e->count; i++)
            use_freely(w, e->args[i]);
    }
}

/* --- Statements --- */

/* Bytes that a lane has to move at once: those of a copier that writes shared memory itself; else 0. */
static int needed_bytes(struct layouts *l, const struct expr *access)
{
    struct copier_width w = plan_copier_of(l->target, access);
    return w.copier->to == COPIER_SHARED ? w.bytes : 0;
}

static void store_shared(struct walker *w, const struct stmt *s, const struct sym *sym,
                         const struct type *t)
{
    const struct expr *value = s->value;
    struct shared_use u = {.access = s->target, .value = value, .store = true, .most = 16};
    if (value->op == OP_ACCESS && value->sym->storage == ST_VIEW &&
        type_same_shape(&value->type, t)) {
        use_indices(w, value);
        u.vector = plan_copy_vector(w->l, value, t);
        u.needed = needed_bytes(w->l, value);
        tell(w, sym, u);
        return;
    }
    struct preference p = {NULL, false, true};
    if (type_same_shape(&value->type, t))
        p = plan_prefer(w->l, value);
    p.own = true;
    if (!p.layout && type_same_shape(&value->type, t))
        p.layout = plan_coalesced(w->l, value, NULL);
    if (!p.layout)
        p.layout = plan_blocked(w->l, t, 0);
    u.regs = p.layout;
    if (plan_is_tile(&value->type) && !type_same_shape(&value->type, t))
        p.layout = plan_operand_layout(w->l, p.layout, &value->type);
    use(w, value, p);
    tell(w, sym, u);
}

static void assign_symbol(struct walker *w, const struct sym *sym, const struct expr *value)
{
    const struct planned_symbol *s = plan_planned_symbol(w->l, sym);
    if (s && w->v->assigned)
        w->v->assigned(w->l, w->v->user, sym, value, w->weight);
    struct preference p = s ? s->is : (struct preference){NULL, false, false};
    if (p.layout && plan_is_tile(&value->type) && !type_same_shape(&value->type, &sym->type))
        p.layout = plan_operand_layout(w->l, p.layout, &value->type);
    if (p.layout)
        use(w, value, p);
    else
        use_freely(w, value);
}

static void store_view(struct walker *w, const struct expr *target, const struct expr *value)
{
    struct preference p = plan_prefer(w->l, value);
    p.own = p.layout != NULL;
    if (!p.layout && type_same_shape(&value->type, &target->type))
        p.layout = plan_coalesced(w->l, value, target);
    use(w, value, p);
}

static void assign(struct walker *w, const struct stmt *s)
{
    const struct expr *target = s->target;
    use_indices(w, target);
    if (target->op == OP_REF && target->sym->storage == ST_REG)
        assign_symbol(w, target->sym, s->value);
    else if (target->op == OP_ACCESS && target->sym->storage == ST_SHARED &&
             plan_is_tile(&target->type))
        store_shared(w, s, target->sym, &target->type);
    else if (target->op == OP_ACCESS && target->sym->storage == ST_VIEW &&
             plan_is_tile(&target->type))
        store_view(w, target, s->value);
    else
        use_freely(w, s->value);
}

static void walk_statement(struct walker *w, const struct stmt *s)
{
    if (s->condition)
        use_freely(w, s->condition);
    switch (s->kind) {
    case STMT_DECL:
        if (!s->value)
            return;
        if (s->sym->storage == ST_SHARED)
            store_shared(w, s, s->sym, &s->sym->type);
        else
            assign_symbol(w, s->sym, s->value);
        return;
    case STMT_ASSIGN: assign(w, s); return;
    case STMT_ASYNC_COPY:
        use_indices(w, s->target);
        store_shared(w, s, s->target->sym, &s->target->type);
        return;
    case STMT_EFFECT: use_freely(w, s->value); return;
    default: return;
    }
}

void plan_walk(struct layouts *l, const struct plan_visitor *v)
{
    for (size_t i = 0; i < l->plan->stmts.list.count; i++) {
        struct walker w = {l, v, l->plan->stmts.list.data[i].weight};
        walk_statement(&w, l->plan->stmts.list.data[i].s);
    }
}
