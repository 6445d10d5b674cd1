/* Branches and loops of the program. Each place of the program has a value for every variable; branches and loops
 * pass the values of those that they assign. */
#include "emit/emit_own.h"

/* --- variables --- */

/* The variables declared before some statements that these may change. */
struct changes {
    struct emit *m;
    struct variable_list *list;
};

static void add_variable(struct changes *c, const struct sym *s)
{
    struct variable *v = emit_variable(c->m, s);
    bool known = v == NULL;
    for (size_t i = 0; i < c->list->list.count; i++)
        known |= c->list->list.data[i] == v;
    if (!known)
        vec_push(c->m->arena, &c->list->list, v);
}

static void note_change(void *user, struct stmt *s)
{
    struct changes *c = user;
    enum op op = s->kind == STMT_EFFECT ? s->value->op : OP_COUNT;
    if (s->kind == STMT_ASSIGN && (s->target->op == OP_REF || s->target->sym->storage == ST_ARRAY))
        add_variable(c, s->target->sym);
    if (op == OP_WAIT && s->value->count == 1)
        add_variable(c, s->value->args[0]->sym);
    if (op != OP_DOT_WAIT)
        return;
    for (size_t i = 0; i < c->m->live.count; i++)
        if (c->m->live.data[i]->sums)
            add_variable(c, c->m->live.data[i]->sym);
}

static void find_changes(struct emit *m, const struct stmt *first, struct variable_list *list)
{
    struct changes c = {m, list};
    stmt_walk((struct stmt *)first, note_change, &c);
}

static int slots_of(const struct variable_list *l)
{
    int count = 0;
    for (size_t i = 0; i < l->list.count; i++)
        count += l->list.data[i]->count;
    return count;
}

/* The values of a list's variables at one place of the program: their slots, one after the other, and which products are under
 * way. */
struct values {
    struct slot *slots;
    int *flights, *since;
    bool *factors;
    int begun;
};

static struct values take(struct emit *m, const struct variable_list *l)
{
    struct values v = {.slots = arena_array(m->arena, struct slot, slots_of(l) + 1),
                       .flights = arena_array(m->arena, int, l->list.count + 1),
                       .since = arena_array(m->arena, int, l->list.count + 1),
                       .factors = arena_array(m->arena, bool, l->list.count + 1),
                       .begun = m->begun};
    int at = 0;
    for (size_t i = 0; i < l->list.count; i++) {
        v.flights[i] = l->list.data[i]->flight;
        v.since[i] = l->list.data[i]->since;
        v.factors[i] = l->list.data[i]->factors;
        for (int j = 0; j < l->list.data[i]->count; j++)
            v.slots[at++] = l->list.data[i]->slots[j];
    }
    return v;
}

static void give(struct emit *m, const struct variable_list *l, const struct values *v)
{
    int at = 0;
    m->begun = v->begun;
    for (size_t i = 0; i < l->list.count; i++) {
        l->list.data[i]->flight = v->flights[i];
        l->list.data[i]->since = v->since[i];
        l->list.data[i]->factors = v->factors[i];
        for (int j = 0; j < l->list.data[i]->count; j++)
            l->list.data[i]->slots[j] = v->slots[at++];
    }
}

static void add_operands(struct emit *m, struct thread_operation *o, const struct slot *slots,
                         int count)
{
    for (int i = 0; i < count; i++)
        vec_push(m->arena, &o->operands, slots[i].o);
}

/* --- products under way where runs meet --- */

/* Puts a variable in flight although none of its products is under way: another run that comes to the same place has one under
 * way. */
static void begin_flight(struct emit *m, struct slot *slots, int count)
{
    for (int j = 0; j < count; j++) {
        if (slots[j].type.in_flight || slots[j].type.count == 1)
            continue;
        struct thread_value *v =
            THREAD_ADD_OP(&m->b, THREAD_PRODUCT_BEGIN, slots[j].type.dtype, DT_NONE, slots[j].o);
        slots[j] = (struct slot){thread_use(v), v->type};
    }
}

/* Makes values ready to meet the values of another run, of these types: puts those in flight that are in flight there. Returns
 * false if one is in flight here, but not there. *late, by variable: whether it is such a one. */
static bool meet(struct emit *m, const struct variable_list *l, struct values *v,
                 const struct thread_type *types, bool *late)
{
    int at = 0;
    bool good = true;
    for (size_t i = 0; i < l->list.count; i++) {
        const int count = l->list.data[i]->count;
        const bool here = v->slots[at].type.in_flight, there = types[at].in_flight;
        if (there && !here) {
            begin_flight(m, v->slots + at, count);
            v->flights[i] = v->since[i] = v->begun;
        }
        if (late)
            late[i] |= here && !there;
        good &= there || !here;
        at += count;
    }
    return good;
}

/* Refuses to pass sums whose products read register tiles, which may change on the way. */
static void check_factors(struct emit *m, const struct variable_list *l, const struct values *v,
                          struct loc loc)
{
    for (size_t i = 0; i < l->list.count; i++) {
        if (!v->flights[i] || !v->factors[i] || m->failed)
            continue;
        emit_error(m, loc,
                   "a product that adds to `%s` reads a register tile, and is under way "
                   "where this %s",
                   l->list.data[i]->sym->name,
                   m->loop && m->loop->s->loc.offset == loc.offset ? "loop begins again or ends"
                                                                   : "statement begins or ends");
        diag_note(m->diag, loc,
                  "wait for it before: `dot_wait(0)`, or keep its left factor in "
                  "shared memory");
    }
}

static struct thread_type *types_of(struct emit *m, const struct slot *slots, int count)
{
    struct thread_type *types = arena_array(m->arena, struct thread_type, count + 1);
    for (int i = 0; i < count; i++)
        types[i] = slots[i].type;
    return types;
}

/* Gives a variable that was passed its state after that. age: the least number of products begun after its own. */
static void pass_flight(struct values *v, size_t i, int age)
{
    if (v->flights[i])
        v->flights[i] = v->begun - age > 1 ? v->begun - age : 1;
    v->since[i] = v->begun;
}

/* --- branches --- */

struct arm {
    struct thread_region *region;
    struct values values;
    bool ended;
};

/* rest: emitted after the body. */
static struct arm emit_arm(struct emit *m, const struct stmt *body, const struct stmt *rest,
                           const struct variable_list *l)
{
    struct thread_region *outer = m->b.region;
    struct arm arm = {.region = arena_new(m->arena, struct thread_region)};
    m->b.region = arm.region;
    m->ended = false;
    emit_list(m, body);
    emit_list(m, rest);
    arm.values = take(m, l);
    arm.ended = m->ended;
    m->b.region = outer;
    m->ended = false;
    return arm;
}

static void yield(struct emit *m, struct arm *arm, int count)
{
    struct thread_region *outer = m->b.region;
    if (arm->ended || count == 0)
        return;
    m->b.region = arm->region;
    add_operands(m, thread_add_control(&m->b, THREAD_YIELD), arm->values.slots, count);
    m->b.region = outer;
}

/* Makes both arms leave the same variables in flight. */
static void settle(struct emit *m, const struct variable_list *l, struct arm *yes, struct arm *no)
{
    struct thread_region *outer = m->b.region;
    int count = slots_of(l);
    m->b.region = no->region;
    meet(m, l, &no->values, types_of(m, yes->values.slots, count), NULL);
    m->b.region = yes->region;
    meet(m, l, &yes->values, types_of(m, no->values.slots, count), NULL);
    m->b.region = outer;
}

/* Gives the results of an `if` to the variables. A variable that both arms leave with the same constant keeps it. */
static void join(struct emit *m, struct thread_operation *o, const struct variable_list *l,
                 const struct arm *yes, const struct arm *no)
{
    const struct arm *one = yes->ended ? no : yes, *other = no->ended ? yes : no;
    struct values after = one->values;
    int count = slots_of(l);
    after.begun = one->values.begun < other->values.begun ? one->values.begun : other->values.begun;
    for (size_t i = 0; i < l->list.count; i++) {
        int a = one->values.begun - one->values.flights[i];
        int b = other->values.begun - other->values.flights[i];
        pass_flight(&after, i, a < b ? a : b);
    }
    for (int i = 0; i < count; i++) {
        struct thread_value *v = thread_new_value(&m->b, after.slots[i].type);
        bool same = yes->ended || no->ended ||
                    thread_same_operand(&yes->values.slots[i].o, &no->values.slots[i].o);
        vec_push(m->arena, &o->results, v);
        if (!same || after.slots[i].o.kind == THREAD_VALUE)
            after.slots[i].o = thread_use(v);
    }
    give(m, l, &after);
}

/* Emits both arms under a predicate that is a value. rest: what follows the second one. */
static void emit_arms(struct emit *m, struct thread_operand condition, const struct stmt *body,
                      const struct stmt *otherwise, const struct stmt *rest, struct loc loc)
{
    struct variable_list l = {0};
    find_changes(m, body, &l);
    find_changes(m, otherwise, &l);
    find_changes(m, rest, &l);
    struct thread_operation *o = thread_add_control(&m->b, THREAD_IF);
    vec_push(m->arena, &o->operands, condition);
    struct values before = take(m, &l);
    int count = slots_of(&l);
    const bool touched = m->place.touched;
    struct arm yes = emit_arm(m, body, NULL, &l);
    const bool touched_by_yes = m->place.touched;
    m->place.touched = touched;
    give(m, &l, &before);
    struct arm no = emit_arm(m, otherwise, rest, &l);
    m->place.touched |= touched_by_yes;
    vec_push(m->arena, &o->regions, yes.region);
    if (yes.ended && no.ended) {
        vec_push(m->arena, &o->regions, no.region);
        m->ended = true;
        return;
    }
    if (!yes.ended && !no.ended)
        settle(m, &l, &yes, &no);
    /* If one arm jumps, the values after the `if` are those of the other arm. */
    if (yes.ended && !otherwise && !rest)
        count = 0;
    if (count > 0 && !yes.ended)
        check_factors(m, &l, &yes.values, loc);
    if (count > 0 && !no.ended)
        check_factors(m, &l, &no.values, loc);
    yield(m, &yes, count);
    yield(m, &no, count);
    if (count > 0 || otherwise || rest)
        vec_push(m->arena, &o->regions, no.region);
    if (count > 0)
        join(m, o, &l, &yes, &no);
    else
        give(m, &l, yes.ended ? &no.values : &yes.values);
}

/* Returns the `continue` with which the first arm of an `if` ends; NULL: it does not. */
static const struct stmt *last_continue(const struct stmt *s)
{
    const struct stmt *last = s->kind == STMT_IF ? s->body : NULL;
    while (last && last->next)
        last = last->next;
    return last && last->kind == STMT_CONTINUE ? last : NULL;
}

bool emit_skips_rest(const struct emit *m, const struct stmt *list, const struct stmt *s)
{
    return m->loop && m->loop->tail == list && s->next && last_continue(s);
}

int emit_count_skips(const struct stmt *body)
{
    int count = 0;
    for (const struct stmt *s = body; s; s = s->next)
        count += s->next && last_continue(s);
    return count;
}

static void leave_if(struct emit *m, struct scalar condition);

/* Returns whether the `if` only leaves the loop in whose body it is. */
static bool only_leaves(const struct emit *m, const struct stmt *s)
{
    return s->body && s->body->kind == STMT_BREAK && !s->otherwise &&
           m->b.region == m->loop->operation->regions.data[0];
}

void emit_branch(struct emit *m, const struct stmt *s, const struct stmt *rest)
{
    struct scalar c = emit_as(m, emit_scalar(m, s->condition), DT_BOOL);
    emit_settle_later(m);
    if (rest) {
        m->loop->tail = rest;
        vec_push(m->arena, &m->loop->falls, last_continue(s));
    }
    if (c.o.kind == THREAD_VALUE && only_leaves(m, s)) {
        leave_if(m, c);
        return;
    }
    if (c.o.kind == THREAD_VALUE) {
        emit_arms(m, c.o, s->body, s->otherwise, rest, s->loc);
        return;
    }
    emit_list(m, c.o.integer ? s->body : s->otherwise);
    if (!c.o.integer)
        emit_list(m, rest);
}

void emit_one_thread(struct emit *m, const struct stmt *body)
{
    bool outer = m->place.one_thread;
    m->place.one_thread = true;
    emit_arms(m, thread_use(m->place.elected), body, NULL, NULL, m->b.where);
    m->place.one_thread = outer;
}

/* --- loops --- */

void emit_turn(struct emit *m, const struct thread_source_loop *in, int copy)
{
    struct thread_turn *turn = arena_new(m->arena, struct thread_turn);
    *turn = (struct thread_turn){in, copy};
    m->b.turn = turn;
}

/* Notes the values with which a run leaves the loop, and gives them to the operation that leaves. */
static void leave(struct emit *m, struct thread_operation *o, const struct values *v)
{
    struct flow_loop *loop = m->loop;
    for (int i = 0; i < loop->slots; i++) {
        const struct thread_operand *x = &v->slots[i].o, *known = &loop->exit[i];
        bool same = x->kind == THREAD_INTEGER && known->kind == THREAD_INTEGER &&
                    x->integer == known->integer;
        loop->exits_differ[i] |= loop->exits > 0 ? !same : x->kind != THREAD_INTEGER;
        loop->exit[i] = *x;
    }
    for (size_t i = 0; i < loop->variables.list.count; i++) {
        int age = v->begun - v->flights[i];
        if (loop->exits == 0 || age < loop->exit_age[i])
            loop->exit_age[i] = age;
    }
    if (loop->exits == 0)
        loop->exit_type = types_of(m, v->slots, loop->slots);
    if (loop->exits == 0 || v->begun < loop->exit_begun)
        loop->exit_begun = v->begun;
    loop->exits++;
    add_operands(m, o, v->slots, loop->slots);
}

/* Returns the values with which a run leaves the loop. Variables that are in flight at an earlier exit are in flight here,
 * too. */
static struct values ready_to_leave(struct emit *m)
{
    struct flow_loop *loop = m->loop;
    struct values v = take(m, &loop->variables);
    check_factors(m, &loop->variables, &v, loop->s->loc);
    if (loop->exits > 0)
        meet(m, &loop->variables, &v, loop->exit_type, loop->late);
    return v;
}

static void leave_now(struct emit *m)
{
    struct values v = ready_to_leave(m);
    leave(m, thread_add_control(&m->b, THREAD_BREAK), &v);
}

static void leave_if(struct emit *m, struct scalar condition)
{
    const struct flow_loop *loop = m->loop;
    const struct values here = take(m, &loop->variables);
    bool begins = false;
    for (int i = 0; loop->exits > 0 && i < loop->slots; i++)
        begins |= loop->exit_type[i].in_flight && !here.slots[i].type.in_flight;
    if (begins) {
        struct thread_region *outer = emit_open_if(m, condition);
        leave_now(m);
        m->b.region = outer;
        return;
    }
    const struct values v = ready_to_leave(m);
    struct thread_operation *o = thread_add_control(&m->b, THREAD_BREAK_IF);
    vec_push(m->arena, &o->operands, condition.o);
    leave(m, o, &v);
}

/* Returns the condition for an iteration, or for the copies of an iteration. */
static struct scalar goes_on(struct emit *m, const struct flow_loop *loop)
{
    const struct expr *c = loop->s->condition;
    if (loop->copies == 1)
        return emit_as(m, emit_scalar(m, c), DT_BOOL);
    return emit_op2(m, THREAD_LT, loop->limit.dtype, emit_scalar(m, c->args[0]), loop->limit);
}

/* Leaves the loop unless its condition holds. Returns false if it never holds. */
static bool test(struct emit *m, const struct stmt *s)
{
    if (!s->condition)
        return true;
    struct scalar c = emit_not(m, goes_on(m, m->loop));
    emit_settle(m);
    if (c.o.kind == THREAD_VALUE)
        leave_if(m, c);
    else if (c.o.integer) {
        leave_now(m);
        m->ended = true;
        return false;
    }
    return true;
}

static void go_on(struct emit *m)
{
    struct flow_loop *loop = m->loop;
    struct values v = take(m, &loop->variables);
    const struct thread_region *r = loop->operation->regions.data[0];
    struct thread_type *types = arena_array(m->arena, struct thread_type, loop->slots + 1);
    for (int i = 0; i < loop->slots; i++)
        types[i] = r->arguments.data[i]->type;
    check_factors(m, &loop->variables, &v, loop->s->loc);
    meet(m, &loop->variables, &v, types, loop->late);
    add_operands(m, thread_add_control(&m->b, THREAD_CONTINUE), v.slots, loop->slots);
    m->ended = true;
}

/* Ends an iteration with the loop's step. If the first iteration is certain, the test of the loop follows here; otherwise it is
 * at the beginning of each iteration. */
static void end_iteration(struct emit *m)
{
    const struct stmt *s = m->loop->s;
    const bool in_body = m->loop->in_body;
    m->loop->in_body = false;
    emit_list(m, s->step);
    if (!m->loop->first || test(m, s))
        go_on(m);
    m->loop->in_body = in_body;
}

void emit_leave(struct emit *m, const struct stmt *s)
{
    for (size_t i = 0; i < m->loop->falls.count; i++)
        if (m->loop->falls.data[i] == s)
            return; /* the rest of the body is in the other arm */
    struct values here = take(m, &m->loop->variables);
    if (s->kind == STMT_CONTINUE) {
        end_iteration(m);
        give(m, &m->loop->variables, &here); /* the other path has not done the steps */
    } else
        leave_now(m);
    m->ended = true;
}

/* Returns whether the first iteration is certain: the condition holds for the values before the loop. */
static bool has_first_iteration(struct emit *m, const struct flow_loop *loop)
{
    if (loop->s->is_do || !loop->s->condition)
        return true;
    const struct scalar c = goes_on(m, loop);
    return c.o.kind == THREAD_INTEGER && c.o.integer;
}

/* Notes the arguments of a loop as the holders of its variables, unless a loop before it has those of a variable. */
static void note_holders(struct emit *m, const struct variable_list *l,
                         struct thread_value *const *arguments)
{
    for (size_t i = 0; i < l->list.count; i++) {
        const struct variable *v = l->list.data[i];
        emit_note_holder(m, v, arguments);
        arguments += v->count;
    }
}

static void begin_loop(struct emit *m, struct flow_loop *loop)
{
    struct values before = take(m, &loop->variables), inside = take(m, &loop->variables);
    check_factors(m, &loop->variables, &before, loop->s->loc);
    inside.slots = arena_array(m->arena, struct slot, loop->slots + 1);
    struct thread_region *r = arena_new(m->arena, struct thread_region);
    add_operands(m, loop->operation, before.slots, loop->slots);
    for (int i = 0; i < loop->slots; i++) {
        struct thread_value *v = thread_new_value(&m->b, before.slots[i].type);
        vec_push(m->arena, &r->arguments, v);
        inside.slots[i] = (struct slot){thread_use(v), before.slots[i].type};
    }
    vec_push(m->arena, &loop->operation->regions, r);
    note_holders(m, &loop->variables, r->arguments.data);
    for (size_t i = 0; i < loop->variables.list.count; i++)
        pass_flight(&inside, i, inside.begun - inside.flights[i]);
    give(m, &loop->variables, &inside);
    m->b.region = r;
}

/* Gives the loop's results to the variables: constants where all runs leave with the same. */
static void end_loop(struct emit *m, struct flow_loop *loop)
{
    struct values after = take(m, &loop->variables);
    const struct thread_region *r = loop->operation->regions.data[0];
    int at = 0;
    after.begun = loop->exits ? loop->exit_begun : m->begun;
    for (size_t i = 0; i < loop->variables.list.count; i++) {
        after.flights[i] = loop->exits && loop->exit_type[at].in_flight;
        after.factors[i] = false;
        pass_flight(&after, i, loop->exit_age[i]);
        at += loop->variables.list.data[i]->count;
    }
    for (int i = 0; i < loop->slots; i++) {
        struct thread_value *v =
            thread_new_value(&m->b, loop->exits ? loop->exit_type[i] : r->arguments.data[i]->type);
        vec_push(m->arena, &loop->operation->results, v);
        after.slots[i].type = v->type;
        after.slots[i].o = !loop->exits || loop->exits_differ[i] ? thread_use(v) : loop->exit[i];
    }
    give(m, &loop->variables, &after);
}

/* Emits the bodies of an iteration. */
static void emit_bodies(struct emit *m, struct flow_loop *loop)
{
    const struct stmt *s = loop->s;
    if (!loop->first && !test(m, s))
        return;
    for (int i = 0; i < loop->bodies && !m->ended; i++) {
        loop->tail = s->body;
        loop->falls.count = 0;
        loop->in_body = true;
        emit_turn(m, loop->in, i);
        emit_list(m, s->body);
        loop->in_body = false;
        if (i + 1 < loop->bodies)
            emit_list(m, s->step);
        if (i + 1 < loop->bodies && loop->copies == 1)
            test(m, s);
    }
}

static void emit_loop_once(struct emit *m, struct flow_loop *loop)
{
    const struct stmt *s = loop->s;
    struct thread_region *outer = m->b.region;
    loop->exits = 0;
    loop->exit = arena_array(m->arena, struct thread_operand, loop->slots + 1);
    loop->exits_differ = arena_array(m->arena, bool, loop->slots + 1);
    emit_turn(m, loop->in, -1);
    loop->operation = thread_add_control(&m->b, THREAD_LOOP);
    emit_note_iterations(m, s);
    begin_loop(m, loop);
    loop->stretches = m->room.stretches.count;
    loop->barriers = m->room.barriers;
    m->loop = loop;
    m->ended = false;
    emit_bodies(m, loop);
    if (!m->ended)
        end_iteration(m);
    m->loop = loop->outer;
    m->b.region = outer;
    m->ended = false;
}

/* If iterations leave variables in flight that are not in flight before the loop: undoes the loop, and puts them in flight
 * before it. Returns false if there are none. */
static bool begin_late(struct emit *m, struct flow_loop *loop, struct values *before,
                       size_t operations, size_t live)
{
    bool any = false;
    int at = 0;
    for (size_t i = 0; i < loop->variables.list.count; i++)
        any |= loop->late[i];
    if (!any || m->failed)
        return false;
    m->b.region->operations.count = operations;
    for (size_t i = live; i < m->live.count; i++)
        m->live.data[i]->flight = 0;
    for (size_t i = 0; i < loop->variables.list.count; i++) {
        const int count = loop->variables.list.data[i]->count;
        if (loop->late[i]) {
            begin_flight(m, before->slots + at, count);
            before->flights[i] = before->since[i] = before->begun;
        }
        loop->late[i] = false;
        at += count;
    }
    give(m, &loop->variables, before);
    return true;
}

/* Removes from the list the variables that have a constant in each copy of the body. */
static void drop_cycles(struct variable_list *l, const struct unrolling *t)
{
    size_t left = 0;
    for (size_t i = 0; i < l->list.count; i++) {
        bool cycle = false;
        for (size_t j = 0; j < t->cycles.count; j++)
            cycle |= t->cycles.data[j] == l->list.data[i]->sym;
        if (!cycle)
            l->list.data[left++] = l->list.data[i];
    }
    l->list.count = left;
}

void emit_loop_of_copies(struct emit *m, const struct stmt *s, const struct unrolling *t,
                         int copies, struct scalar limit)
{
    struct flow_loop loop = {
        .s = s, .in = t->in, .outer = m->loop, .copies = copies, .limit = limit};
    loop.bodies = copies > 1 ? copies : t->period;
    find_changes(m, s->body, &loop.variables);
    find_changes(m, s->step, &loop.variables);
    drop_cycles(&loop.variables, t);
    loop.first = has_first_iteration(m, &loop);
    loop.slots = slots_of(&loop.variables);
    loop.exit_age = arena_array(m->arena, int, loop.variables.list.count + 1);
    loop.late = arena_array(m->arena, bool, loop.variables.list.count + 1);
    struct values before = take(m, &loop.variables);
    const size_t operations = m->b.region->operations.count, live = m->live.count;
    const size_t placed = m->out->placed.count, holders = m->b.function->holders.count;
    const bool touched = m->place.touched;
    do {
        m->out->placed.count = placed;
        m->b.function->holders.count = holders;
        m->place.touched = touched;
        emit_loop_once(m, &loop);
    } while (begin_late(m, &loop, &before, operations, live));
    m->place.touched |= touched || !m->roles; /* there may be no iteration */
    end_loop(m, &loop);
}
