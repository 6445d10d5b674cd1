/* Reaches memory by few additions. An address is a polynomial of values: base + 4 row k + 4 p. Its constant goes into the
 * instruction. The part that a loop does not change is computed before it. If the rest is linear in the loop's counters, a
 * pointer is carried through the loop and stepped (Cocke & Kennedy, "An Algorithm for Reduction of Operator Strength",
 * 1977). An address that differs from a known one of the same loop by a value that the loop does not change is one addition
 * away from it.
 *
 * Elements of shared memory have numbers of 32 bits, which wrap; those of global memory 64 bits. Below the operation
 * `index`, which says that nothing wrapped, 32-bit operations count as if they had 64 bits. */
#include "thread/thread_build.h"
#include "thread/thread_value_sum.h"

struct known {
    const struct sum *sum;
    struct thread_operand value;
};

struct induction {
    const struct sum *first;
    struct sum *step; /* NULL: it is none */
};

struct pointer {
    struct thread_value *value;
    struct thread_operand step;
    const struct sum *next; /* the sum in the next iteration */
};

/* A region under way. */
struct frame {
    struct frame *outer;
    struct thread_region to;       /* its operations so far */
    struct thread_operation *loop; /* whose region it is; NULL: another */
    const struct thread_turn
        *turn;      /* of the operation that is reached, or of the one that it is in */
    uint32_t depth; /* loops around its operations */
    uint32_t level; /* regions around them */
    bool starts;    /* a pointer of the loop begins at a far copy */
    bool brief; /* a region of an `if` with few accesses: addresses are computed before the `if` */
    struct induction *induction; /* by argument of the loop */
    VEC(struct known) known;
    VEC(struct pointer) pointers; /* carried through the loop */
};

/* A pointer that a loop carries. */
struct carried {
    const struct thread_operation *loop;
    const struct sum *sum;
    struct thread_value *value;
};

struct reaching {
    struct thread_builder build;
    struct value_sums sums;
    VEC(struct carried) carried;
};

/* --- from sums to values --- */

static struct frame *loop_of(struct frame *f)
{
    while (f && !f->loop)
        f = f->outer;
    return f;
}

static struct thread_operand add_operation(struct reaching *g, struct frame *f,
                                           enum thread_opcode op, enum dtype t, enum dtype from,
                                           struct thread_operand a, struct thread_operand b,
                                           size_t count)
{
    const struct thread_operand operands[] = {a, b};
    g->build.region = &f->to;
    g->build.turn = f->turn;
    struct thread_value *v = thread_add_counted(&g->build, op, t, from, 0, operands, count);
    thread_value_note(&g->sums, v, f->to.operations.data[f->to.operations.count - 1], f->depth,
                      f->level);
    return thread_use(v);
}

static enum dtype type_of(bool narrow)
{
    return narrow ? DT_U32 : DT_U64;
}

static struct thread_operand leaf_value(struct reaching *g, struct frame *f, uint32_t number,
                                        bool narrow)
{
    struct thread_value *v = g->sums.info.data[number].value;
    const enum dtype t = v->type.dtype, to = type_of(narrow);
    struct thread_operand o = thread_use(v);
    if (!narrow && thread_is_word(t)) {
        o = add_operation(g, f, THREAD_INDEX, DT_I64, t, o, o, 1);
        return add_operation(g, f, THREAD_CONVERT, to, DT_I64, o, o, 1);
    }
    return t == to ? o : add_operation(g, f, THREAD_CONVERT, to, t, o, o, 1);
}

static struct thread_operand term_value(struct reaching *g, struct frame *f, const struct term *t,
                                        bool narrow)
{
    const enum dtype type = type_of(narrow);
    if (t->count == 0)
        return thread_integer(narrow ? (int64_t)(uint32_t)t->factor : t->factor);
    struct thread_operand v;
    uint32_t from = 1;
    const struct thread_value *first = g->sums.info.data[t->leaf[0]].value;
    const struct thread_value *second = t->count > 1 ? g->sums.info.data[t->leaf[1]].value : NULL;
    if (!narrow && second && thread_is_word(first->type.dtype) &&
        second->type.dtype == first->type.dtype) {
        v = add_operation(g, f, THREAD_MUL_WIDE, type, first->type.dtype,
                          thread_use((struct thread_value *)first),
                          thread_use((struct thread_value *)second), 2);
        from = 2;
    } else if (!narrow && t->count == 1 && t->factor != 1 && thread_is_word(first->type.dtype) &&
               t->factor == (int32_t)t->factor && (first->type.dtype == DT_I32 || t->factor > 0)) {
        return add_operation(g, f, THREAD_MUL_WIDE, type, first->type.dtype,
                             thread_use((struct thread_value *)first), thread_integer(t->factor),
                             2);
    } else {
        v = leaf_value(g, f, t->leaf[0], narrow);
    }
    for (uint32_t i = from; i < t->count; i++)
        v = add_operation(g, f, THREAD_MUL, type, DT_NONE, v, leaf_value(g, f, t->leaf[i], narrow),
                          2);
    if (t->factor == 1)
        return v;
    return add_operation(g, f, THREAD_MUL, type, DT_NONE, v,
                         thread_integer(narrow ? (int64_t)(uint32_t)t->factor : t->factor), 2);
}

static struct thread_operand place(struct reaching *g, struct frame *f, const struct sum *s);

static const struct known *find_known(const struct frame *f, const struct sum *s)
{
    for (; f; f = f->outer)
        for (size_t i = 0; i < f->known.count; i++)
            if (thread_sum_same(f->known.data[i].sum, s))
                return &f->known.data[i];
    return NULL;
}

static bool varies(const struct reaching *g, const struct frame *loop, const struct sum *s)
{
    for (int i = 0; i < s->count; i++)
        if (thread_value_depth(&g->sums, &s->term[i]) >= loop->depth)
            return true;
    return false;
}

/* Returns the argument of the loop that a leaf is; -1: none. */
static int argument_of(const struct frame *loop, uint32_t leaf)
{
    const struct thread_region *r = loop->loop->regions.data[0];
    for (size_t i = 0; i < r->arguments.count; i++)
        if (r->arguments.data[i]->number == leaf)
            return (int)i;
    return -1;
}

/* Finds the sum in the first iteration, and the number by which it grows in each. Returns false if it does not grow by a
 * constant. */
static bool grows(const struct reaching *g, const struct frame *loop, const struct sum *s,
                  struct sum *first, struct sum *step)
{
    thread_sum_clear(first, s->narrow);
    thread_sum_clear(step, s->narrow);
    for (int i = 0; i < s->count; i++) {
        const struct term *t = &s->term[i];
        struct sum part;
        struct term rest = {.factor = t->factor};
        const struct induction *counter = NULL;
        for (uint32_t j = 0; j < t->count; j++) {
            if (g->sums.info.data[t->leaf[j]].depth < loop->depth) {
                rest.leaf[rest.count++] = t->leaf[j];
                continue;
            }
            const int argument = argument_of(loop, t->leaf[j]);
            if (argument < 0 || counter || !loop->induction || !loop->induction[argument].step)
                return false;
            counter = &loop->induction[argument];
        }
        thread_sum_clear(&part, s->narrow);
        thread_sum_add_term(&part, &rest, 1);
        if (counter) {
            thread_sum_add_product(first, &part, counter->first);
            thread_sum_add_product(step, &part, counter->step);
        } else {
            thread_sum_add_scaled(first, &part, 1);
        }
    }
    return !first->failed && !step->failed;
}

static struct thread_operand remember(struct reaching *g, struct frame *f, const struct sum *s,
                                      struct thread_operand v)
{
    struct known k = {arena_copy(g->build.arena, s, sizeof *s), v};
    vec_push(g->build.arena, &f->known, k);
    return v;
}

/* Carries a pointer through the loop. */
static struct thread_operand carry(struct reaching *g, struct frame *loop, const struct sum *s,
                                   const struct sum *first, const struct sum *step)
{
    struct thread_operand from = place(g, loop->outer, first), by = place(g, loop->outer, step);
    struct sum next = *s;
    thread_sum_add_scaled(&next, step, 1);
    struct pointer p = {
        thread_new_value(&g->build, (struct thread_type){.dtype = type_of(s->narrow), .count = 1}),
        by, arena_copy(g->build.arena, &next, sizeof next)};
    thread_value_note(&g->sums, p.value, NULL, loop->depth, loop->level);
    vec_push(g->build.arena, &loop->loop->regions.data[0]->arguments, p.value);
    vec_push(g->build.arena, &loop->loop->operands, from);
    vec_push(g->build.arena, &loop->pointers, p);
    const struct thread_operand value = remember(g, loop, s, thread_use(p.value));
    vec_push(g->build.arena, &g->carried,
             ((struct carried){loop->loop, loop->known.data[loop->known.count - 1].sum, p.value}));
    return value;
}

/* Returns the only exit of a loop, if its region has it; NULL: there are others. */
static struct thread_operation *only_exit(const struct thread_operation *loop)
{
    const struct thread_region *r = loop->regions.data[0];
    struct thread_operation *exit = NULL;
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        if (op->regions.count > 0 || op->op == THREAD_BREAK || (op->op == THREAD_BREAK_IF && exit))
            return NULL;
        if (op->op == THREAD_BREAK_IF)
            exit = op;
    }
    return exit;
}

/* Finds the sum in the loop that ended before, with the arguments that are results of the loop in their place. Returns that
 * loop; NULL: there is none. */
static struct thread_operation *before_end(const struct reaching *g, const struct sum *s,
                                           struct sum *inside)
{
    struct thread_operation *loop = NULL;
    thread_sum_clear(inside, s->narrow);
    for (int i = 0; i < s->count; i++) {
        const struct term *t = &s->term[i];
        struct term rest = {.factor = t->factor};
        struct sum part, leaf;
        const struct thread_value *argument = NULL;
        for (uint32_t j = 0; j < t->count; j++) {
            const struct value_info *info = &g->sums.info.data[t->leaf[j]];
            if (!info->definition || info->definition->op != THREAD_LOOP) {
                rest.leaf[rest.count++] = t->leaf[j];
                continue;
            }
            const struct thread_operation *exit = only_exit(info->definition);
            if (argument || !exit || (loop && loop != info->definition))
                return NULL;
            loop = (struct thread_operation *)info->definition;
            for (size_t k = 0; k < loop->results.count; k++)
                if (loop->results.data[k] == info->value)
                    argument = exit->operands.data[k + 1].value;
            if (!argument)
                return NULL;
        }
        thread_sum_clear(&part, s->narrow);
        thread_sum_add_term(&part, &rest, 1);
        thread_sum_clear(&leaf, s->narrow);
        if (argument)
            thread_sum_add_leaf(&leaf, argument, 1);
        else
            thread_sum_add_constant(&leaf, 1);
        thread_sum_add_product(inside, &part, &leaf);
    }
    return inside->failed ? NULL : loop;
}

/* Takes over a pointer from a loop that ended before, as the rest of an unrolled loop does: it becomes a result of that loop.
 * Returns its value; 0: there is none. */
static struct thread_operand take_over(struct reaching *g, struct frame *f, const struct sum *s)
{
    struct sum inside;
    struct thread_operation *loop = before_end(g, s, &inside);
    for (size_t i = 0; loop && i < g->carried.count; i++) {
        const struct carried *c = &g->carried.data[i];
        if (c->loop != loop || !thread_sum_same(c->sum, &inside))
            continue;
        const struct value_info *end = &g->sums.info.data[loop->results.data[0]->number];
        struct thread_value *v = thread_new_value(&g->build, c->value->type);
        thread_value_note(&g->sums, v, loop, end->depth, end->level);
        vec_push(g->build.arena, &loop->results, v);
        vec_push(g->build.arena, &only_exit(loop)->operands, thread_use(c->value));
        return remember(g, f, s, thread_use(v));
    }
    return thread_integer(0);
}

/* Returns an address known in the loop that is a value of before the loop away; NULL: there is none. */
static const struct known *near(const struct reaching *g, const struct frame *f,
                                const struct frame *loop, const struct sum *s, struct sum *away)
{
    for (;; f = f->outer) {
        for (size_t i = f->known.count; i-- > 0;) {
            const struct known *k = &f->known.data[i];
            *away = *s;
            thread_sum_add_scaled(away, k->sum, -1);
            if (k->sum->narrow == s->narrow && !away->failed && away->count == 1 &&
                varies(g, loop, k->sum) && !varies(g, loop, away))
                return k;
        }
        if (f == loop)
            return NULL;
    }
}

/* Returns the number of a term that is a value without a factor, to which products can be added; -1: there is none. */
static int plain_term(const struct reaching *g, const struct sum *s, const struct frame *loop)
{
    for (int i = 0; i < s->count; i++) {
        const struct term *t = &s->term[i];
        if (t->count == 1 && t->factor == 1 &&
            !(loop && thread_value_depth(&g->sums, t) < loop->depth) &&
            g->sums.info.data[t->leaf[0]].value->type.dtype == type_of(s->narrow))
            return i;
    }
    return -1;
}

/* Returns whether the term's leaf is the latest value of the sum: others may differ from it in this term only, so it is added
 * last. */
static bool is_latest(const struct sum *s, int term)
{
    bool latest = true;
    for (int i = 0; i < s->count; i++)
        for (uint32_t k = 0; i != term && k < s->term[i].count; k++)
            latest &= s->term[i].leaf[k] < s->term[term].leaf[0];
    return latest;
}

static struct thread_operand sum_terms(struct reaching *g, struct frame *f, const struct sum *s,
                                       const struct frame *loop)
{
    struct sum before, rest;
    thread_sum_clear(&before, s->narrow);
    thread_sum_clear(&rest, s->narrow);
    struct thread_operand v = thread_integer(0);
    bool any = false;
    for (int i = 0; f->brief && i < s->count; i++)
        thread_sum_add_term(thread_value_level(&g->sums, &s->term[i]) < f->level ? &before : &rest,
                            &s->term[i], 1);
    if (before.count > 0 &&
        rest.count > 0) { /* terms that are known before the branch are added there */
        v = place(g, f->outer, &before);
        for (int i = 0; i < rest.count; i++)
            v = add_operation(g, f, THREAD_ADD, type_of(s->narrow), DT_NONE, v,
                              term_value(g, f, &rest.term[i], s->narrow), 2);
        return v;
    }
    before.count = 0;
    for (int i = 0; loop && i < s->count; i++)
        if (thread_value_depth(&g->sums, &s->term[i]) < loop->depth)
            thread_sum_add_term(&before, &s->term[i], 1);
    if (before.count > 0) {
        v = place(g, loop->outer, &before);
        any = true;
    }
    const int start = any ? -1 : plain_term(g, s, loop);
    const bool comes_last = start >= 0 && s->count > 2 && is_latest(s, start);
    if (start >= 0 && !comes_last)
        v = thread_use(g->sums.info.data[s->term[start].leaf[0]].value);
    any |= start >= 0 && !comes_last;
    for (int i = s->count; i-- > 0;) {
        if (i == start || (loop && thread_value_depth(&g->sums, &s->term[i]) < loop->depth))
            continue;
        struct thread_operand t = term_value(g, f, &s->term[i], s->narrow);
        v = any ? add_operation(g, f, THREAD_ADD, type_of(s->narrow), DT_NONE, v, t, 2) : t;
        any = true;
    }
    if (comes_last)
        v = add_operation(g, f, THREAD_ADD, type_of(s->narrow), DT_NONE, v,
                          term_value(g, f, &s->term[start], s->narrow), 2);
    return v;
}

/* Returns the value of a sum at the present place of a frame. */
static struct thread_operand place(struct reaching *g, struct frame *f, const struct sum *s)
{
    struct frame *loop = loop_of(f);
    struct sum first, step, away;
    if (s->count == 0)
        return thread_integer(0);
    if (s->count == 1 && s->term[0].count == 0)
        return term_value(g, f, &s->term[0], s->narrow);
    const struct known *k = find_known(f, s);
    if (k)
        return k->value;
    if (loop && !varies(g, loop, s))
        return place(g, loop->outer, s);
    const struct thread_operand taken = take_over(g, f, s);
    if (taken.value)
        return taken;
    if (loop && (k = near(g, f, loop, s, &away))) {
        struct thread_operand from = k->value, more = place(g, loop->outer, &away);
        return remember(
            g, f, s, add_operation(g, f, THREAD_ADD, type_of(s->narrow), DT_NONE, from, more, 2));
    }
    if (loop && grows(g, loop, s, &first, &step))
        return carry(g, loop, s, &first, &step);
    return remember(g, f, s, sum_terms(g, f, s, loop));
}

/* --- accesses --- */

/* Returns the outermost frame, around brief regions only, that has all values of the sum. */
static struct frame *frame_before(const struct reaching *g, struct frame *f, const struct sum *s)
{
    uint32_t level = 0;
    for (int i = 0; i < s->count; i++)
        if (thread_value_level(&g->sums, &s->term[i]) > level)
            level = thread_value_level(&g->sums, &s->term[i]);
    while (f->brief && level < f->level)
        f = f->outer;
    return f;
}

/* Returns whether a branch has few operations on other types than integers, which are most likely of addresses. */
static bool is_brief(const struct thread_operation *op)
{
    enum { MOST_OPERATIONS = 12 };
    size_t count = op->op == THREAD_IF ? 0 : MOST_OPERATIONS + 1;
    for (size_t i = 0; i < op->regions.count; i++) {
        const struct thread_region *r = op->regions.data[i];
        for (size_t j = 0; j < r->operations.count && count <= MOST_OPERATIONS; j++) {
            const struct thread_operation *inner = r->operations.data[j];
            count += inner->regions.count ? MOST_OPERATIONS + 1 : !thread_is_integer(inner);
        }
    }
    return count <= MOST_OPERATIONS;
}

/* Chooses the constant of a pointer that the loop carries to an address; `more` elements are left for the instruction. A copy's
 * instruction has 12 bits for them, and ptxas adds the rest at each copy: the pointer of a far one begins there. */
static void choose_start(struct reaching *g, struct frame *f, struct sum *at, int64_t *more,
                         int64_t bytes, bool copy)
{
    enum { NEAR = 1 << 11 };
    struct frame *loop = loop_of(f);
    struct sum first, step;
    if (!loop || !varies(g, loop, at))
        return;
    const bool far = copy && (*more * bytes >= NEAR || *more * bytes < -NEAR);
    for (size_t i = 0; (far || loop->starts) && i < loop->known.count; i++) {
        const struct sum *known = loop->known.data[i].sum;
        struct sum away = *at;
        thread_sum_add_scaled(&away, known, -1);
        const int64_t constant = thread_sum_take_constant(&away);
        if (away.count == 0 && !away.narrow && !away.failed && constant % bytes == 0) {
            *at = *known;
            *more += constant / bytes;
            return;
        }
    }
    if (far && grows(g, loop, at, &first, &step)) {
        thread_sum_add_constant(at, *more * bytes);
        *more = 0;
        loop->starts = true;
    }
}

/* o: the array, the index and the constant of elements of `bytes` bytes. A distance below 0 becomes a constant index. */
static void reach_global(struct reaching *g, struct frame *f, struct thread_operand *o,
                         int64_t bytes, bool copy)
{
    enum { MOST_AWAY = 1 << 20 };
    if (o[0].kind != THREAD_VALUE ||
        (o[1].kind == THREAD_VALUE && o[1].value->type.dtype != DT_I64))
        return;
    struct sum index = *thread_value_sum(&g->sums, &o[1], false, false, 0),
               at = *thread_value_sum(&g->sums, &o[0], false, false, 0);
    int64_t more = thread_sum_take_constant(&index) + o[2].integer;
    const int64_t offset = thread_sum_take_constant(&at);
    thread_sum_add_scaled(&at, &index, bytes);
    more += offset / bytes;
    thread_sum_add_constant(&at, offset % bytes);
    if (at.failed || at.count == 0)
        return;
    if (more <= -MOST_AWAY || more >= MOST_AWAY) {
        thread_sum_add_constant(&at, (int64_t)((uint64_t)more * (uint64_t)bytes));
        more = 0;
    }
    choose_start(g, f, &at, &more, bytes, copy);
    struct thread_operand v = place(g, frame_before(g, f, &at), &at);
    if (v.kind != THREAD_VALUE)
        return;
    o[0].value = v.value;
    o[1] = thread_integer(more < 0 ? more : 0);
    o[2].integer = more < 0 ? 0 : more;
}

/* Returns the greatest multiple of a power of two, `count` at most, that is not above the constant: indices with the same one
 * have one address. */
static int64_t multiple_below(int64_t constant, int64_t count)
{
    enum { MOST = 4096 };
    int64_t step = 1;
    while (step < MOST && 2 * step <= count)
        step *= 2;
    return constant - ((constant % step) + step) % step;
}

static void reach_shared(struct reaching *g, struct frame *f, struct thread_operand *o)
{
    if (!o->value)
        return;
    struct thread_operand index = {.kind = THREAD_VALUE, .value = o->value};
    struct sum at = *thread_value_sum(&g->sums, &index, true, true, 0);
    int64_t more = thread_sum_take_constant(&at) + o->integer;
    if (at.failed)
        return;
    if (more < 0 || more >= o->object->count) {
        const int64_t outside = multiple_below(more, o->object->count);
        thread_sum_add_constant(&at, outside);
        more -= outside;
    }
    struct thread_operand v = place(g, frame_before(g, f, &at), &at);
    o->value = v.kind == THREAD_VALUE ? v.value : NULL;
    o->integer = more + (v.kind == THREAD_INTEGER ? v.integer : 0);
}

static void reach(struct reaching *g, struct frame *f, struct thread_operation *op)
{
    struct thread_operand *o = op->operands.data;
    g->build.where = op->where;
    switch (op->op) {
    case THREAD_LOAD:
    case THREAD_LOAD_CONST:
    case THREAD_LOAD_LOCAL:
    case THREAD_STORE_LOCAL:
    case THREAD_STORE: reach_global(g, f, o, (int64_t)dtype_size(op->types[0]), false); break;
    case THREAD_LOCK:
    case THREAD_UNLOCK:
    case THREAD_ATOMIC_ADD:
    case THREAD_ATOMIC_ARRIVE:
    case THREAD_ATOMIC_MIN:
    case THREAD_ATOMIC_MAX:
    case THREAD_ATOMIC_AND:
    case THREAD_ATOMIC_OR:
    case THREAD_ATOMIC_XOR:
    case THREAD_ATOMIC_EXCHANGE:
    case THREAD_ATOMIC_INC:
    case THREAD_ATOMIC_CAS:
        if (o[0].kind == THREAD_ELEMENT)
            reach_shared(g, f, &o[0]);
        else
            reach_global(g, f, o, (int64_t)dtype_size(op->types[0]), false);
        break;
    case THREAD_COPY_ASYNC:
        reach_shared(g, f, &o[0]);
        reach_global(g, f, &o[1], thread_element_bytes(o[0].object), true);
        break;
    case THREAD_LOAD_SHARED:
    case THREAD_STORE_SHARED: reach_shared(g, f, &o[0]); break;
    default: break;
    }
}

/* --- regions --- */

static void find_inductions(struct reaching *g, struct frame *f)
{
    const struct thread_operation *last = thread_only_continue(f->loop);
    const struct thread_region *r = f->loop->regions.data[0];
    if (!last)
        return;
    f->induction = arena_array(g->build.arena, struct induction, r->arguments.count + 1);
    for (size_t i = 0; i < r->arguments.count; i++) {
        const struct thread_value *v = r->arguments.data[i];
        struct induction *n = &f->induction[i];
        if (v->type.count != 1 ||
            !(thread_is_word(v->type.dtype) || thread_is_long(v->type.dtype)) ||
            f->loop->operands.data[i].kind == THREAD_ELEMENT)
            continue;
        const bool words = thread_is_word(v->type.dtype);
        struct sum *step = arena_new(g->build.arena, struct sum);
        thread_sum_clear(step, false);
        n->first = thread_value_sum(&g->sums, &f->loop->operands.data[i], false, words, 0);
        thread_sum_add_scaled(
            step, thread_value_sum(&g->sums, &last->operands.data[i], false, words, 0), 1);
        thread_sum_add_leaf(step, v, -1);
        n->step = step->failed || n->first->failed || varies(g, f, step) ? NULL : step;
    }
}

/* Returns the value of a pointer in the next iteration. An address of this iteration that is a known value away from it is the
 * pointer's last use, so one register serves for both. */
static struct thread_operand step_pointer(struct reaching *g, struct frame *f,
                                          const struct pointer *p)
{
    struct sum away;
    const struct known *last = near(g, f, f, p->next, &away);
    const struct known *by = last && g->sums.info.data[last->value.value->number].definition
                                 ? find_known(f->outer, &away)
                                 : NULL;
    return add_operation(g, f, THREAD_ADD, type_of(p->next->narrow), DT_NONE,
                         by ? last->value : thread_use(p->value), by ? by->value : p->step, 2);
}

/* Steps the pointers before a test at the end of an iteration, so that the iteration ends with the test. */
static void step_pointers(struct reaching *g, struct frame *f, struct thread_operation *last)
{
    struct thread_operation *test =
        f->to.operations.count ? f->to.operations.data[f->to.operations.count - 1] : NULL;
    if (test && test->op == THREAD_BREAK_IF)
        f->to.operations.count--;
    for (size_t i = 0; i < f->pointers.count; i++)
        vec_push(g->build.arena, &last->operands, step_pointer(g, f, &f->pointers.data[i]));
    if (test && test->op == THREAD_BREAK_IF)
        vec_push(g->build.arena, &f->to.operations, test);
}

static void reach_region(struct reaching *g, struct thread_region *r, struct frame *outer,
                         struct thread_operation *loop, bool brief)
{
    struct frame f = {.outer = outer, .loop = loop, .brief = brief};
    f.level = outer ? outer->level + 1 : 0;
    f.depth = (outer ? outer->depth : 0) + (loop != NULL);
    if (loop)
        find_inductions(g, &f);
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        const bool brief_if = is_brief(op);
        f.turn = op->turn;
        reach(g, &f, op);
        for (size_t j = 0; j < op->regions.count; j++)
            reach_region(g, op->regions.data[j], &f, op->op == THREAD_LOOP ? op : NULL, brief_if);
        if (op->op == THREAD_CONTINUE && loop)
            step_pointers(g, &f, op);
        vec_push(g->build.arena, &f.to.operations, op);
    }
    r->operations.data = f.to.operations.data;
    r->operations.count = f.to.operations.count;
    r->operations.capacity = f.to.operations.capacity;
}

void thread_reach(struct arena *a, struct thread_function *f)
{
    struct reaching g = {.build = {.arena = a, .function = f, .where = f->where}, .sums.arena = a};
    g.sums.info.capacity = 2 * (size_t)f->values + 1; /* with values that the pass adds */
    g.sums.info.data = arena_room(a, g.sums.info.capacity * sizeof *g.sums.info.data);
    g.sums.info.count = f->values;
    for (size_t i = 0; i < f->parameters.count; i++)
        thread_value_note(&g.sums, f->parameters.data[i], NULL, 0, 0);
    thread_value_note_region(&g.sums, f->body, 0, 0);
    reach_region(&g, f->body, NULL, NULL, false);
}
