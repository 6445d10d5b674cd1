/* Sums that meet global memory.
 *
 * The sum of a product is laid out as the matrix units have it: a thread holds a few bytes of a row. Some kernels then
 * add the contents of memory to the sum and store it, as blocks do that add to a workspace in turn. Each of these
 * accesses would convert the tile to another layout. Such a sum is settled: after its last product a copy replaces it,
 * whose layout suits the accesses, so that it is converted once. */
#include "plan/plan_layouts_own.h"
#include "tile/numbering.h"

/* The uses of a tile by the statements of a list. */
struct meeting {
    const struct sym *sym;
    const struct expr *read; /* of global memory, into the tile: the first */
    int accesses;            /* of global memory, from the tile or into it */
    bool other;              /* anything but these, element by element */
    int mentions;            /* in the statement at hand */
};

/* How often e names s where it is computed element by element. */
static int element_mentions(const struct expr *e, const struct sym *s)
{
    int sum = e->op == OP_REF && e->sym == s;
    for (int i = 0; plan_is_elementwise(e->op) && i < e->count; i++)
        sum += element_mentions(e->args[i], s);
    return sum;
}

static const struct expr *global_read(const struct expr *e, const struct type *shape)
{
    const struct expr *found = NULL;
    if (e->op == OP_ACCESS && e->sym->storage == ST_VIEW && type_same_shape(&e->type, shape))
        return e;
    for (int i = 0; plan_is_elementwise(e->op) && i < e->count && !found; i++)
        found = global_read(e->args[i], shape);
    return found;
}

static void take_expression(void *user, struct expr **at)
{
    struct meeting *m = user;
    m->mentions += (*at)->sym == m->sym;
}

static void take_assignment(struct meeting *m, const struct stmt *s)
{
    const struct expr *target = s->target;
    int named = element_mentions(s->value, m->sym);
    if (target->op == OP_REF && target->sym == m->sym) {
        const struct expr *read = global_read(s->value, &m->sym->type);
        m->mentions -= named + 1;
        m->accesses += read != NULL;
        m->read = m->read ? m->read : read;
    } else if (target->op == OP_ACCESS && target->sym->storage == ST_VIEW &&
               type_same_shape(&target->type, &m->sym->type)) {
        m->mentions -= named;
        m->accesses += named > 0;
    }
}

static void take_statement(struct meeting *m, struct stmt *s)
{
    m->mentions = 0;
    stmt_own_expressions(s, take_expression, m);
    if (s->kind == STMT_ASSIGN)
        take_assignment(m, s);
    m->other |= m->mentions != 0;
}

static bool is_settled(const struct meeting *m)
{
    return m->read && m->accesses > 1 && !m->other;
}

/* --- which statements name a tile --- */

/* A statement that names a tile, and the statement of the kernel's top level that contains it. */
struct mention {
    struct stmt *stmt;
    int own;
};

struct mention_list {
    VEC(struct mention) all; /* in the order of the text */
};

struct own_stmt {
    struct stmt *stmt;
    bool multiplies; /* there is a product in it */
};

struct mentions {
    struct arena *arena;
    struct numbering numbers;
    struct mention_list *of; /* by number */
    VEC(struct own_stmt) own;
    struct stmt *at; /* the statement at hand */
};

static void note_mention(void *user, struct expr **at)
{
    struct mentions *m = user;
    const struct sym *sym = (*at)->sym;
    int own = (int)m->own.count - 1;
    m->own.data[own].multiplies |= (*at)->op == OP_DOT;
    int number =
        sym && sym->storage == ST_REG && !sym->is_pointer ? numbering_of(&m->numbers, sym) : -1;
    if (number < 0)
        return;
    struct mention_list *list = &m->of[number];
    if (list->all.count == 0 || list->all.data[list->all.count - 1].stmt != m->at)
        vec_push(m->arena, &list->all, ((struct mention){m->at, own}));
}

static void note_mentions(void *user, struct stmt *s)
{
    struct mentions *m = user;
    if (s->kind == STMT_ENSURES)
        return;
    m->at = s;
    stmt_own_expressions(s, note_mention, m);
}

static struct mentions *find_mentions(struct layouts *l)
{
    struct mentions *m = arena_new(l->arena, struct mentions);
    m->arena = l->arena;
    numbering_init(&m->numbers, l->arena, l->kernel);
    m->of = arena_array(l->arena, struct mention_list, m->numbers.count + 1);
    for (struct stmt *s = l->kernel->body, *next; s; s = next) {
        vec_push(l->arena, &m->own, ((struct own_stmt){s, false}));
        next = s->next;
        s->next = NULL;
        stmt_walk(s, note_mentions, m);
        s->next = next;
    }
    return m;
}

static const struct mention_list *mentions_of(const struct mentions *m, const struct sym *sym)
{
    static const struct mention_list none;
    int number = numbering_of(&m->numbers, sym);
    return number < 0 ? &none : &m->of[number];
}

/* Collects the uses of the tile in the kernel's top-level statements from `first` to before `end`. */
static struct meeting meeting_of(const struct mentions *m, const struct sym *sym, int first,
                                 int end)
{
    struct meeting meeting = {.sym = sym};
    const struct mention_list *list = mentions_of(m, sym);
    for (size_t i = 0; i < list->all.count; i++)
        if (list->all.data[i].own >= first && list->all.data[i].own < end)
            take_statement(&meeting, list->all.data[i].stmt);
    return meeting;
}

const struct expr *plan_settled(struct layouts *l, const struct sym *sym)
{
    if (!l->plan->mentions)
        l->plan->mentions = find_mentions(l);
    struct meeting m = meeting_of(l->plan->mentions, sym, 0, (int)l->plan->mentions->own.count);
    return is_settled(&m) ? m.read : NULL;
}

/* --- The copy --- */

struct renaming {
    struct sym *from, *to;
};

static void rename_symbol(void *user, struct expr **at)
{
    struct renaming *r = user;
    if ((*at)->sym == r->from)
        (*at)->sym = r->to;
}

/* The last of the kernel's own statements that holds a product and names the tile, other than
 * element by element; -1: none. */
static int last_product(const struct mentions *m, const struct sym *sym)
{
    const struct mention_list *list = mentions_of(m, sym);
    for (size_t i = list->all.count; i-- > 0;) {
        int own = list->all.data[i].own;
        struct meeting meeting = {.sym = sym};
        if (!m->own.data[own].multiplies)
            continue;
        take_statement(&meeting, list->all.data[i].stmt);
        if (meeting.other)
            return own;
    }
    return -1;
}

static void settle(struct layouts *l, const struct mentions *mentions, struct sym *sym)
{
    struct kernel *k = l->kernel;
    int own = last_product(mentions, sym);
    struct meeting m = meeting_of(mentions, sym, own + 1, (int)mentions->own.count);
    if (own < 0 || !is_settled(&m))
        return;
    struct stmt *last = mentions->own.data[own].stmt;
    struct renaming r = {sym, sym_new(k, sym->name, ST_REG, sym->type, sym->loc)};
    struct stmt *copy = stmt_new(k, STMT_DECL, last->loc);
    copy->sym = r.to;
    copy->value = expr_ref(k, sym, last->loc);
    const struct mention_list *list = mentions_of(mentions, sym);
    for (size_t i = 0; i < list->all.count; i++)
        if (list->all.data[i].own > own)
            stmt_own_expressions(list->all.data[i].stmt, rename_symbol, &r);
    copy->next = last->next;
    last->next = copy;
}

void plan_settle_sums(struct layouts *l)
{
    const struct mentions *mentions = find_mentions(l);
    for (struct stmt *s = l->kernel->body; s; s = s->next)
        if (s->kind == STMT_DECL && s->sym->storage == ST_REG && plan_is_tile(&s->sym->type))
            settle(l, mentions, s->sym);
}
