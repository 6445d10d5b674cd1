/* Finds blocks that overwrite each other's results, and warns of them if it is certain.
 *
 * Blocks run in any order, also at the same time. Suppose that the grid has several blocks along an
 * axis, and that neither the place of a store nor the conditions around it depend on that axis.
 * Then these blocks all write the same elements. If the stored value does depend on the axis, any
 * of the values may be left there. The usual case is a product that is split along k and stored
 * with `+=`.
 *
 * For each symbol the check finds two sets of axes, without regard to the order of statements:
 * those on which its value may depend in any way (memory that the launch writes, and atomics,
 * may depend on all axes), and those on which it does depend, by arithmetic and addresses alone.
 * An axis in the first set of a place or a condition never gives a warning. */
#include "tile/numbering.h"
#include "tile/passes.h"

enum { ALL_AXES = 7 };

/* Sets of axes of the grid, a bit for each axis. */
struct axes {
    unsigned may, does;
};

struct block_check {
    struct kernel *kernel;
    struct diag *diag;
    struct numbering numbers;
    struct axes *of;  /* by symbol */
    unsigned under;   /* the axes on which the conditions around depend */
    unsigned leaving; /* the axes that decide whether a loop or the kernel is left early */
    bool changed, ordered, reporting;
};

static struct axes both(struct axes a, struct axes b)
{
    return (struct axes){a.may | b.may, a.does | b.does};
}

static struct axes symbol_axes(const struct block_check *b, const struct sym *s)
{
    int number = numbering_of(&b->numbers, s);
    return number < 0 ? (struct axes){0, 0} : b->of[number];
}

static struct axes expr_axes(const struct block_check *b, const struct expr *e)
{
    struct axes axes = {0, 0};
    if (!e)
        return axes;
    for (int i = 0; i < expr_children(e); i++)
        axes = both(axes, expr_axes(b, expr_child(e, i)));
    if (e->op == OP_BLOCK)
        axes = both(axes, (struct axes){1u << e->axis, 1u << e->axis});
    if (e->op == OP_REF || e->op == OP_ACCESS) {
        axes = both(axes, symbol_axes(b, e->sym));
        if (e->sym->storage == ST_VIEW && !e->sym->is_const)
            axes.may = ALL_AXES;
    }
    if (op_is_atomic(e->op) || e->op == OP_CLUSTER)
        axes.may = ALL_AXES;
    return axes;
}

static struct axes index_axes(const struct block_check *b, const struct expr *access)
{
    struct axes axes = {0, 0};
    for (int i = 0; i < access->indices; i++)
        axes = both(axes, expr_axes(b, access->index[i].value));
    return axes;
}

static void add_axes(struct block_check *b, const struct sym *s, struct axes axes)
{
    int number = numbering_of(&b->numbers, s);
    if (number < 0)
        return;
    struct axes all = both(b->of[number], axes);
    b->changed |= all.may != b->of[number].may || all.does != b->of[number].does;
    b->of[number] = all;
}

/* --- the warning --- */

static int64_t blocks_along(const struct kernel *k, int axis)
{
    int64_t n;
    return eval_int(k->grid[axis], NULL, &n) ? n : 0;
}

static bool reads_place(const struct expr *e, const struct expr *place)
{
    if (e && expr_same(e, place))
        return true;
    for (int i = 0; e && i < e->count; i++)
        if (reads_place(e->args[i], place))
            return true;
    return false;
}

static void check_store(struct block_check *b, const struct stmt *s)
{
    static const char name[] = "xyz";
    const struct expr *to = s->target;
    unsigned idle = ~(index_axes(b, to).may | b->under | b->leaving) & ALL_AXES;
    struct axes value = expr_axes(b, s->value);
    bool updates = reads_place(s->value, to);
    for (int axis = 0; axis < 3; axis++) {
        int64_t blocks = blocks_along(b->kernel, axis);
        if (!(idle >> axis & 1) || blocks < 2 || !(updates || value.does >> axis & 1))
            continue;
        diag_warning(
            b->diag, to->loc,
            "%lld blocks %s the same elements of `%s` here, and nothing orders them: a race",
            (long long)blocks, updates ? "update" : "write", to->sym->name);
        diag_note(b->diag, b->kernel->grid[axis]->loc,
                  "the grid has %lld blocks along %c, and no index depends on `block.%c`",
                  (long long)blocks, name[axis], name[axis]);
        diag_note(
            b->diag, to->loc,
            updates
                ? "add with `atomic_add(%s[…], …)`, let the blocks take turns with `lock`, or let "
                  "the last one to `arrive` add up their parts"
                : "give each block elements of its own, or add up with `atomic_add(%s[…], …)`",
            to->sym->name);
        return;
    }
}

/* --- the walk --- */

static void visit_list(struct block_check *b, const struct stmt *s);

static void visit_value(struct block_check *b, const struct stmt *s)
{
    const struct expr *to = s->target;
    const struct sym *sym = to ? to->sym : s->sym;
    struct axes axes = expr_axes(b, s->value);
    if (to && to->op == OP_ACCESS)
        axes = both(axes, index_axes(b, to));
    axes.may |= b->under | b->leaving;
    if (sym->storage != ST_VIEW)
        add_axes(b, sym, axes);
    else if (b->reporting && s->kind == STMT_ASSIGN)
        check_store(b, s);
}

static void visit_effect(struct block_check *b, const struct expr *e)
{
    b->ordered |= e->op == OP_LOCK || e->op == OP_UNLOCK;
    if (op_is_atomic(e->op) && e->args[0]->sym)
        add_axes(b, e->args[0]->sym, (struct axes){ALL_AXES, 0});
}

static void visit_stmt(struct block_check *b, const struct stmt *s)
{
    unsigned under = b->under;
    switch (s->kind) {
    case STMT_DECL:
    case STMT_ASSIGN:
    case STMT_ASYNC_COPY:
        if (s->kind != STMT_DECL || s->value)
            visit_value(b, s);
        break;
    case STMT_EFFECT: visit_effect(b, s->value); break;
    case STMT_BREAK:
    case STMT_CONTINUE:
    case STMT_RETURN:
        b->changed |= (b->under & ~b->leaving) != 0;
        b->leaving |= b->under;
        break;
    case STMT_ENSURES: break;
    default:
        visit_list(b, s->init);
        b->under |= expr_axes(b, s->condition).may;
        visit_list(b, s->body);
        visit_list(b, s->step);
        visit_list(b, s->otherwise);
        b->under = under;
        break;
    }
}

static void visit_list(struct block_check *b, const struct stmt *s)
{
    for (; s; s = s->next)
        visit_stmt(b, s);
}

void blockcheck_kernel(struct pass_context *c)
{
    struct kernel *k = c->kernel;
    struct block_check b = {.kernel = k, .diag = c->diag};
    bool several = false;
    for (int axis = 0; axis < 3; axis++)
        several = several || (k->grid[axis] && blocks_along(k, axis) > 1);
    if (!several || kernel_thread_level(k) || k->cooperative)
        return;
    numbering_init(&b.numbers, k->arena, k);
    b.of = arena_array(k->arena, struct axes, b.numbers.count + 1);
    do {
        b.changed = false;
        visit_list(&b, k->body);
    } while (b.changed);
    b.reporting = !b.ordered;
    if (b.reporting)
        visit_list(&b, k->body);
}
