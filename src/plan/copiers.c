/* The copier of each part of a view, and its width: between global memory and registers or shared memory.
 *
 * A lane moves up to 16 bytes at a time: as many as divide every address at which a row of the part may
 * begin or end, and as the part has along its last axis in one piece. A copy in the background takes
 * cp.async if that has such a width and fills with zeros; other transfers are loads and stores. */
#include "plan/divisors.h"
#include "plan/plan.h"

#include <math.h>

enum { MOST_BYTES = 16 };

struct transfer {
    const struct expr *access;
    enum copier_memory from, to;
    bool registers; /* a copy to shared memory: it may go through registers */
    bool at_once;   /* the statement does not wait for it later */
    int rows;       /* bytes that divide every place where a row of the part begins or ends */
    int run;        /* bytes along the last axis in one piece, at most 16, a power of two */
};

struct copiers {
    struct plan_context *c;
    struct tile_facts *facts;
    bool ragged; /* the last warp is not full: threads take elements in turn */
    bool roles;  /* copies in the background without an mbarrier are done at once */
};

/* --- what the addresses allow --- */

/* Returns the elements from one step of the axis to the next, as a divisor. */
static int64_t stride_divisor(const struct copiers *p, const struct sym *view, int axis)
{
    int64_t by = 1;
    if (view->strides[axis])
        return divisor_of(p->facts, view->strides[axis]);
    for (int i = axis + 1; i < view->type.rank; i++)
        by = divisor_product(by, divisor_of(p->facts, view->dims[i]));
    return by;
}

static int64_t start_divisor(const struct copiers *p, const struct expr *access, int axis)
{
    if (axis >= access->indices || access->index[axis].kind == IX_ALL)
        return 0;
    const struct index *x = &access->index[axis];
    return x->kind == IX_GATHER ? 1 : divisor_of(p->facts, x->value);
}

static int64_t base_bytes(const struct copiers *p, const struct sym *view)
{
    int64_t bytes = MOST_BYTES;
    if (view->base && p->c->alignment)
        bytes = p->c->alignment[view->base->index];
    if (view->base_offset)
        bytes =
            greatest_common_divisor(bytes, divisor_product(divisor_of(p->facts, view->base_offset),
                                                           (int64_t)dtype_size(view->type.dtype)));
    return bytes;
}

/* Returns the bytes, at most 16, that divide every place where a row of the part begins or ends. */
static int row_bytes(const struct copiers *p, const struct expr *access)
{
    const struct sym *view = access->sym;
    int last = view->type.rank - 1;
    int64_t size = (int64_t)dtype_size(view->type.dtype), one;
    bool whole = last >= access->indices;
    enum index_kind kind = whole ? IX_ALL : access->index[last].kind;
    if (kind == IX_ELEMENT || kind == IX_GATHER ||
        (view->strides[last] && !(eval_int(view->strides[last], NULL, &one) && one == 1)))
        return (int)size;
    int64_t by = start_divisor(p, access, last);
    if (!whole && !access->index[last].inside) /* a row may end within a vector */
        by = greatest_common_divisor(by, divisor_of(p->facts, view->dims[last]));
    for (int i = 0; i < last; i++) {
        int64_t start = 1;
        if (i < access->indices && access->index[i].kind == IX_ELEMENT)
            start = start_divisor(p, access, i);
        by = greatest_common_divisor(by, divisor_product(start, stride_divisor(p, view, i)));
    }
    int64_t bytes = greatest_common_divisor(divisor_product(by, size), base_bytes(p, view));
    return (int)greatest_common_divisor(bytes, MOST_BYTES);
}

/* Returns the greatest power of two up to 16 that divides the bytes of the part's last axis. */
static int run_bytes(const struct expr *access)
{
    int64_t bytes =
        access->type.extent[access->type.rank - 1] * (int64_t)dtype_size(access->sym->type.dtype);
    bytes &= -bytes;
    return bytes < MOST_BYTES ? (int)bytes : MOST_BYTES;
}

/* --- choosing --- */

/* Returns whether e is 0 with all bits clear, which cp.async fills with; -0.0 is not. */
bool plan_is_zero(const struct expr *e)
{
    struct literal v;
    return !e || (eval_scalar(e, NULL, &v) && (v.is_float ? v.f == 0 && !signbit(v.f) : v.i == 0));
}

static int most_bytes(const struct copiers *p, const struct transfer *x)
{
    int size = (int)dtype_size(x->access->sym->type.dtype),
        most = x->rows < x->run ? x->rows : x->run;
    return p->ragged || most < size ? size : most;
}

static bool could_be_later(const struct copiers *p, const struct transfer *x)
{
    return !x->at_once && !p->ragged && plan_is_zero(x->access->otherwise);
}

static struct copier_width choose(const struct copiers *p, const struct transfer *x)
{
    struct copier_width w = {0};
    int most = most_bytes(p, x);
    if (x->registers && could_be_later(p, x) && copier_find(p->c->target, x->from, x->to, most, &w))
        return w;
    bool found =
        copier_find(p->c->target, x->from, x->registers ? COPIER_REGISTERS : x->to, most, &w);
    (void)found; /* every target has loads and stores of each width */
    return w;
}

/* --- by(…) of the program --- */

static const char *place_of(enum copier_memory m)
{
    static const char *const names[] = {
        [COPIER_GLOBAL] = "global memory",
        [COPIER_SHARED] = "shared memory",
        [COPIER_REGISTERS] = "registers",
        [COPIER_ATOMICS] = "atomics of global memory",
    };
    return names[m];
}

static const char *by_text(struct copiers *p, struct copier_width w)
{
    struct arena *a = p->c->kernel->arena;
    return arena_printf(a, "by(%s)", copier_text(a, w));
}

/* Reports by(…) that is not possible, with what is. */
static void refuse(struct copiers *p, const struct transfer *x, const char *why)
{
    struct diag *d = p->c->diag;
    struct loc at = x->access->by->loc;
    diag_error(d, at, "%s", why);
    diag_write(d, at, by_text(p, choose(p, x)));
}

static const char *why_wrong_place(struct copiers *p, const struct transfer *x,
                                   const struct copier_width *w)
{
    struct arena *a = p->c->kernel->arena;
    const struct copier *copier = w->copier;
    bool same = copier->from == x->from &&
                (copier->to == x->to || (x->registers && copier->to == COPIER_REGISTERS));
    if (!same)
        return arena_printf(a, "`%s` goes from %s to %s, and this transfer from %s to %s",
                            copier->name, place_of(copier->from), place_of(copier->to),
                            place_of(x->from), place_of(x->to));
    if (copier->done == COPIER_AT_ONCE)
        return NULL;
    if (x->at_once && p->roles)
        return arena_printf(a, "kernels with roles copy by tensor copies, and not by `%s`",
                            copier->name);
    if (x->at_once)
        return arena_printf(a,
                            "`%s` is done only after a wait, and the next statement may use this "
                            "copy: a copy in the background is `async`",
                            copier->name);
    if (p->ragged)
        return arena_printf(a, "`%s` needs whole warps, and this block has %d threads",
                            copier->name, kernel_block_threads(p->c->kernel));
    if (!plan_is_zero(x->access->otherwise))
        return arena_printf(a, "`%s` fills with zeros beyond the edge, and this copy has `else`",
                            copier->name);
    return NULL;
}

static const char *why_wrong_width(struct copiers *p, const struct transfer *x,
                                   const struct copier_width *w)
{
    struct arena *a = p->c->kernel->arena;
    const char *name = x->access->sym->name;
    int size = (int)dtype_size(x->access->sym->type.dtype);
    if (w->bytes < size)
        return arena_printf(a, "an element of `%s` has %d bytes, and this moves %d at a time", name,
                            size, w->bytes);
    if (w->bytes == size || w->bytes <= most_bytes(p, x))
        return NULL;
    if (p->ragged)
        return arena_printf(a,
                            "a block of %d threads, whose last warp is not full, moves one element "
                            "a lane",
                            kernel_block_threads(p->c->kernel));
    if (w->bytes > x->run)
        return arena_printf(a, "a row of this part ends within %d bytes: it has pieces of %d bytes",
                            w->bytes, x->run);
    return arena_printf(a,
                        "rows of this part of `%s` begin or end at multiples of %d bytes, and this "
                        "moves %d at a time",
                        name, x->rows > size ? x->rows : size, w->bytes);
}

/* Adds the copiers that the target has to the latest error. */
static void note_copiers(struct copiers *p)
{
    struct text t;
    text_init(&t, p->c->kernel->arena);
    for (int i = 0; copier_at(i); i++)
        for (int bytes = 1; bytes <= MOST_BYTES; bytes *= 2) {
            struct copier_width w = {copier_at(i), bytes};
            if ((w.copier->bytes & bytes) && p->c->target->ptx.number >= w.copier->since)
                text_printf(&t, "%s%s", t.length ? ", " : "", copier_text(p->c->kernel->arena, w));
        }
    diag_note(p->c->diag, LOC_NONE, "there are %s", t.data);
}

static void check_written(struct copiers *p, const struct transfer *x)
{
    const struct by *by = x->access->by;
    struct arena *a = p->c->kernel->arena;
    struct copier_width w;
    if (!copier_read(p->c->target, by->name, &w)) {
        refuse(p, x, arena_printf(a, "%s has no copier `%s`", p->c->target->name, by->name));
        note_copiers(p);
        return;
    }
    const char *why = by->count > 0 ? arena_printf(a, "`%s` takes no further words", by->name)
                                    : why_wrong_place(p, x, &w);
    why = why ? why : why_wrong_width(p, x, &w);
    if (!why)
        return;
    refuse(p, x, why);
    if (w.bytes > most_bytes(p, x) && w.bytes <= x->run && !p->ragged)
        diag_note(
            p->c->diag, x->access->loc,
            "or say what divides its sizes: `assume(n %% %d == 0)`; arrays of a launch have to "
            "begin at such addresses, too",
            w.bytes / (int)dtype_size(x->access->sym->type.dtype));
}

/* --- the kernel --- */

static void decide(struct copiers *p, struct expr *access, struct transfer x)
{
    struct arena *a = p->c->kernel->arena;
    x.access = access;
    x.rows = row_bytes(p, access);
    x.run = run_bytes(access);
    if (access->by) {
        check_written(p, &x);
        return;
    }
    struct by *by = arena_new(a, struct by);
    *by = (struct by){.name = copier_text(a, choose(p, &x)), .loc = access->loc};
    access->by = by;
}

static bool is_part(const struct expr *e)
{
    return e->op == OP_ACCESS && e->sym->storage == ST_VIEW && e->type.rank > 0 && !e->type.varying;
}

/* Reports by(…) at a part that the threads do not move together. */
static void refuse_any(struct copiers *p, const struct expr *e)
{
    if (e->op != OP_ACCESS || !e->by)
        return;
    diag_error(p->c->diag, e->by->loc, "`by(…)` says how the block moves a part of a view; here %s",
               e->type.varying ? "each thread has elements of its own"
                               : "elements are read one by one");
    diag_note(p->c->diag, e->by->loc, "leave it out");
    diag_fix(p->c->diag, e->by->loc, "%s", "");
}

static void visit(struct copiers *p, struct expr *e, bool apart);

/* Decides on a place that is written, and on the loads in its indices. */
static void visit_place(struct copiers *p, struct expr *place, enum copier_memory to, bool apart)
{
    for (int i = 0; i < place->indices; i++)
        if (place->index[i].value)
            visit(p, place->index[i].value, apart);
    if (!apart && is_part(place))
        decide(p, place, (struct transfer){.from = COPIER_REGISTERS, .to = to, .at_once = true});
    else
        refuse_any(p, place);
}

/* Decides on the parts that e moves. apart: elements are read one by one. */
static void visit(struct copiers *p, struct expr *e, bool apart)
{
    bool atomic = op_is_atomic(e->op);
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value)
            visit(p, e->index[i].value, apart);
    if (atomic)
        visit_place(p, e->args[0], COPIER_ATOMICS, apart);
    for (int i = atomic; i < e->count; i++)
        visit(p, e->args[i], apart);
    if (e->op == OP_ACCESS && e->otherwise)
        visit(p, e->otherwise, apart);
    if (!apart && is_part(e))
        decide(p, e,
               (struct transfer){.from = COPIER_GLOBAL, .to = COPIER_REGISTERS, .at_once = true});
    else
        refuse_any(p, e);
}

/* A copy to shared memory: a part of a view, with the elements as they are. */
static bool is_copy(const struct stmt *s, const struct sym *to, const struct type *type)
{
    return to->storage == ST_SHARED && type->rank > 0 && is_part(s->value) &&
           type_same_shape(&s->value->type, type) && s->value->type.dtype == type->dtype;
}

static void visit_store(struct copiers *p, struct stmt *s)
{
    const struct sym *to = s->kind == STMT_DECL ? s->sym : s->target->sym;
    const struct type *type = s->kind == STMT_DECL ? &s->sym->type : &s->target->type;
    bool apart = to->storage == ST_ARRAY;
    if (s->value && is_copy(s, to, type)) {
        for (int i = 0; i < s->value->indices; i++)
            if (s->value->index[i].value)
                visit(p, s->value->index[i].value, apart);
        if (s->value->otherwise)
            visit(p, s->value->otherwise, apart);
        decide(p, s->value,
               (struct transfer){.from = COPIER_GLOBAL,
                                 .to = COPIER_SHARED,
                                 .registers = true,
                                 .at_once = p->roles || s->kind != STMT_ASYNC_COPY});
    } else if (s->value) {
        visit(p, s->value, apart);
    }
    if (s->kind != STMT_DECL)
        visit_place(p, s->target, COPIER_GLOBAL, apart);
}

static void visit_stmt(void *user, struct stmt *s)
{
    struct copiers *p = user;
    if (s->barrier || (s->kind == STMT_ASYNC_COPY && s->target->sym->storage == ST_VIEW))
        return; /* a tensor copy */
    if (s->condition)
        visit(p, s->condition, false);
    if (s->kind == STMT_DECL || s->kind == STMT_ASSIGN || s->kind == STMT_ASYNC_COPY)
        visit_store(p, s);
    else if (s->kind == STMT_EFFECT)
        visit(p, s->value, false);
}

void plan_copiers(struct plan_context *c)
{
    struct tile_facts *facts = arena_new(c->kernel->arena, struct tile_facts);
    struct copiers p = {.c = c,
                        .facts = facts,
                        .ragged = kernel_block_threads(c->kernel) % WARP_LANES != 0,
                        .roles = kernel_uses_roles(c->kernel)};
    tile_facts_find(facts, c->kernel->arena, c->kernel);
    stmt_walk(c->kernel->body, visit_stmt, &p);
    c->facts = facts;
}

struct copier_width plan_copier_of(const struct target *t, const struct expr *access)
{
    struct copier_width w;
    if (access->by && copier_read(t, access->by->name, &w))
        return w;
    copier_find(t, COPIER_GLOBAL, COPIER_REGISTERS, (int)dtype_size(access->sym->type.dtype), &w);
    return w;
}
