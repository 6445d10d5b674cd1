/* Fixes for kernels pasted from CUDA C. Such kernels leave out what a kernel here declares: a
 * pointer has no shape, and the launch is in another function.
 *
 *   views    A[row * K + p] of a pointer A, everywhere in the kernel with the same parameter K, becomes
 *            A[row][p] of a view. Its extents are the parameters that the indices are compared with:
 *            `row < M`, and `p < K` or K itself.
 *   launch   From `row = blockIdx.y * 16 + threadIdx.y` and `row < M` it follows that a block has 16
 *            threads along y, and that the grid has cdiv(M, 16) blocks.
 *
 * If the text does not give all of this, there is no fix. All of it works on the syntax tree:
 * nothing has a type yet. */
#include "lang/check_internal.h"

#include "base/text.h"

#include <string.h>

/* A comparison `left < right` anywhere in the kernel. */
struct bound {
    const struct node *left, *right;
};

struct pasted {
    struct checker *c;
    const struct node *kernel;
    VEC(struct bound) bounds;
    const char *wanted; /* the name that is looked for, and the node where it is found: */
    VEC(const struct node *) accesses;
    int mentions;
    const struct node *found;
};

/* --- the tree --- */

static bool is_name(const struct node *n, const char *name)
{
    return n && n->kind == N_NAME && strcmp(n->text, name) == 0;
}

/* Returns true if n is just the name of a scalar parameter of the kernel. */
static bool is_scalar_param(const struct pasted *p, const struct node *n)
{
    if (!n || n->kind != N_NAME)
        return false;
    for (const struct node *param = p->kernel->params; param; param = param->next)
        if (strcmp(param->text, n->text) == 0)
            return !param->is_pointer;
    return false;
}

static void note_bounds(void *user, const struct node *n)
{
    struct pasted *p = user;
    struct bound b = {n->a, n->b};
    if (n->kind == N_BINARY && (n->op == OP_GT || n->op == OP_LE))
        b = (struct bound){n->b, n->a};
    if (n->kind == N_BINARY &&
        (n->op == OP_LT || n->op == OP_GE || n->op == OP_GT || n->op == OP_LE))
        vec_push(p->c->arena, &p->bounds, b);
    module_visit_children(n, note_bounds, user);
}

static void note_accesses(void *user, const struct node *n)
{
    struct pasted *p = user;
    if (n->kind == N_ACCESS && is_name(n->a, p->wanted))
        vec_push(p->c->arena, &p->accesses, n);
    p->mentions += is_name(n, p->wanted);
    module_visit_children(n, note_accesses, user);
}

static void read_kernel(struct pasted *p, struct checker *c)
{
    *p = (struct pasted){.c = c, .kernel = c->node};
    module_visit_children(c->node->body, note_bounds, p);
}

/* Returns the text of n: without blanks, for comparing, or as it is written, for a fix. */
static const char *text_of(struct checker *c, const struct node *n, bool blanks)
{
    struct text t;
    text_init(&t, c->arena);
    const char *text = n->loc.source->text + n->loc.offset;
    for (uint32_t i = 0; i < n->loc.length; i++)
        if (blanks || !strchr(" \t\r\n", text[i]))
            text_add_char(&t, text[i]);
    return t.data;
}

/* --- sums --- */

enum { MOST_TERMS = 8 };
struct sum {
    const struct node *term[MOST_TERMS];
    int count; /* above MOST_TERMS: too many terms */
};

static void add_terms(struct sum *s, const struct node *n)
{
    if (n->kind == N_BINARY && n->op == OP_ADD && s->count <= MOST_TERMS) {
        add_terms(s, n->a);
        add_terms(s, n->b);
    } else if (s->count++ < MOST_TERMS) {
        s->term[s->count - 1] = n;
    }
}

static bool may_be_term(const struct node *n)
{
    return n->kind != N_SELECT && (n->kind != N_BINARY || n->op == OP_MUL);
}

static const char *sum_text(struct checker *c, const struct sum *s, int left_out)
{
    struct text t;
    text_init(&t, c->arena);
    for (int i = 0; i < s->count; i++)
        if (i != left_out)
            text_printf(&t, may_be_term(s->term[i]) ? "%s%s" : "%s(%s)", t.length ? " + " : "",
                        text_of(c, s->term[i], true));
    return t.length ? t.data : "0";
}

/* Finds the factor of a product X * Y for which is_wanted holds, and returns the other factor;
 * NULL: none. */
static const struct node *other_factor(const struct pasted *p, const struct node *n,
                                       bool (*is_wanted)(const struct pasted *,
                                                         const struct node *),
                                       const struct node **wanted)
{
    if (n->kind != N_BINARY || n->op != OP_MUL)
        return NULL;
    bool second = is_wanted(p, n->b);
    if (!second && !is_wanted(p, n->a))
        return NULL;
    *wanted = second ? n->b : n->a;
    return second ? n->a : n->b;
}

/* --- extents --- */

/* Finds the first scalar parameter that n names: K in `(K + T - 1) / T`. */
static void find_param(void *user, const struct node *n)
{
    struct pasted *p = user;
    if (!p->found && is_scalar_param(p, n))
        p->found = n;
    module_visit_children(n, find_param, user);
}

/* Returns the parameter of the last comparison with the index before the access. If there is
 * none and the index is a sum with a term of a loop's variable, returns the parameter of the
 * loop's bound. NULL: none. */
static const struct node *extent_of(struct pasted *p, const struct node *index)
{
    const char *text = text_of(p->c, index, false);
    const struct node *nearest = NULL;
    for (size_t i = 0; i < p->bounds.count; i++)
        if (is_scalar_param(p, p->bounds.data[i].right) &&
            (!nearest || p->bounds.data[i].right->loc.offset < index->loc.offset) &&
            strcmp(text, text_of(p->c, p->bounds.data[i].left, false)) == 0)
            nearest = p->bounds.data[i].right;
    if (nearest)
        return nearest;
    struct sum sum = {.count = 0};
    add_terms(&sum, index);
    for (int t = 0; t < sum.count && t < MOST_TERMS; t++)
        for (size_t i = 0; i < p->bounds.count; i++) {
            const struct node *term = sum.term[t], *left = p->bounds.data[i].left;
            bool product = term->kind == N_BINARY && term->op == OP_MUL;
            if (left->kind != N_NAME ||
                !(is_name(term, left->text) ||
                  (product && (is_name(term->a, left->text) || is_name(term->b, left->text)))))
                continue;
            p->found = NULL;
            find_param(p, p->bounds.data[i].right);
            if (p->found && sum.count > 1)
                return p->found;
        }
    return NULL;
}

/* --- views --- */

/* An index of the pointer, split into the indices of the view. */
struct indices {
    int rank;
    const struct node *extent[2]; /* parameters */
    const char *text[2];
};

static bool split_index(struct pasted *p, const struct node *index, struct indices *out)
{
    struct sum sum = {.count = 0};
    const struct node *e = index->a, *stride, *row = NULL;
    if (index->i != INDEX_VALUE || index->next)
        return false;
    add_terms(&sum, e);
    if (sum.count > MOST_TERMS)
        return false;
    for (int i = 0; i < sum.count && !row; i++)
        if ((row = other_factor(p, sum.term[i], is_scalar_param, &stride)) != NULL)
            *out = (struct indices){2,
                                    {extent_of(p, row), stride},
                                    {text_of(p->c, row, true), sum_text(p->c, &sum, i)}};
    if (!row)
        *out = (struct indices){1, {extent_of(p, e)}, {text_of(p->c, e, true)}};
    return true;
}

static bool is_same_name(const struct node *a, const struct node *b)
{
    return a && b && strcmp(a->text, b->text) == 0;
}

/* Adds the shape that another access implies. Returns false if it contradicts the shape so far. */
static bool agree(struct indices *shape, const struct indices *one)
{
    if (one->rank != shape->rank ||
        (one->rank == 2 && !is_same_name(one->extent[1], shape->extent[1])))
        return false;
    if (!shape->extent[0])
        shape->extent[0] = one->extent[0];
    return !one->extent[0] || is_same_name(one->extent[0], shape->extent[0]);
}

const char *check_pointer_name(struct checker *c, const char *name)
{
    char *lower = arena_string(c->arena, name, strlen(name));
    for (char *s = lower; *s; s++)
        if (*s >= 'A' && *s <= 'Z')
            *s = (char)(*s - 'A' + 'a');
    bool taken = name_table_find(&c->own, lower, strlen(lower)) || module_entry(c->module, lower) ||
                 check_lookup_name(c, lower);
    return taken ? arena_printf(c->arena, "%s_data", name) : lower;
}

/* Returns the blanks before the first statement of the body, or four blanks. */
static const char *indentation(struct checker *c)
{
    const struct node *first = c->node->body->body;
    const char *text = c->node->loc.source->text;
    uint32_t start = first ? first->start : 0, blanks = 0;
    while (blanks < start && (text[start - blanks - 1] == ' ' || text[start - blanks - 1] == '\t'))
        blanks++;
    return start > blanks && text[start - blanks - 1] == '\n'
               ? arena_string(c->arena, text + start - blanks, blanks)
               : "    ";
}

void check_fix_with_view(struct checker *c, const struct sym *pointer)
{
    struct pasted p;
    struct indices shape = {0};
    if (!c->node || c->frames)
        return;
    read_kernel(&p, c);
    p.wanted = pointer->name;
    note_accesses(&p, c->node->body);
    if (!p.accesses.count || p.mentions != (int)p.accesses.count)
        return;
    struct indices *each = arena_array(c->arena, struct indices, p.accesses.count);
    for (size_t i = 0; i < p.accesses.count; i++)
        if (!split_index(&p, p.accesses.data[i]->list, &each[i]) ||
            (i == 0 ? (shape = each[0], false) : !agree(&shape, &each[i])))
            return;
    if (!shape.extent[0])
        return;
    const char *name = check_pointer_name(c, pointer->name);
    struct loc body = {c->node->body->loc.source, c->node->body->loc.offset + 1, 0};
    diag_fix(c->diag, pointer->loc, "%s", name);
    diag_fix(c->diag, body,
             shape.rank == 2 ? "\n%sglobal %s %s[%s][%s] = %s;" : "\n%sglobal %s %s[%s]%.0s = %s;",
             indentation(c), dtype_table[pointer->type.dtype].name, pointer->name,
             shape.extent[0]->text, shape.rank == 2 ? shape.extent[1]->text : "", name);
    for (size_t i = 0; i < p.accesses.count && shape.rank == 2; i++)
        diag_fix(c->diag, p.accesses.data[i]->list->loc, "%s][%s", each[i].text[0],
                 each[i].text[1]);
}

/* --- the launch --- */

struct axis {
    bool used;
    const char *threads; /* threads of a block; NULL: not known */
    const char *extent;  /* the parameter; NULL: not known */
};

struct launch {
    struct pasted p;
    struct axis axis[3];
};

/* Returns the axis of block.x, blockIdx.x, …; -1: n is not one of these. */
static int axis_of(const struct node *n, const char *name, const char *in_cuda)
{
    if (n->kind != N_MEMBER || !n->text[0] || n->text[1] ||
        !(is_name(n->a, name) || is_name(n->a, in_cuda)))
        return -1;
    return n->text[0] >= 'x' && n->text[0] <= 'z' ? n->text[0] - 'x' : -1;
}

static bool is_block(const struct pasted *p, const struct node *n)
{
    (void)p;
    return axis_of(n, "block", "blockIdx") >= 0;
}

static void note_position(struct launch *l, const struct node *decl)
{
    struct sum sum = {.count = 0};
    const struct node *block, *threads = NULL;
    add_terms(&sum, decl->init);
    for (int i = 0; i < sum.count && i < MOST_TERMS && !threads; i++)
        threads = other_factor(&l->p, sum.term[i], is_block, &block);
    if (!threads)
        return;
    struct axis *axis = &l->axis[axis_of(block, "block", "blockIdx")];
    axis->used = true;
    if (axis_of(threads, "blockDim", "blockDim") < 0)
        axis->threads = text_of(l->p.c, threads, true);
    for (size_t i = 0; i < l->p.bounds.count && !axis->extent; i++)
        if (is_name(l->p.bounds.data[i].left, decl->text) &&
            is_scalar_param(&l->p, l->p.bounds.data[i].right))
            axis->extent = l->p.bounds.data[i].right->text;
}

static void note_launch(void *user, const struct node *n)
{
    struct launch *l = user;
    int thread = axis_of(n, "thread", "threadIdx");
    if (thread >= 0)
        l->axis[thread].used = true;
    if (n->kind == N_DECL && n->init)
        note_position(l, n);
    module_visit_children(n, note_launch, user);
}

/* Finds the launch. Returns the number of axes up to the last one used; 0 if a part of it is not
 * known. */
static int read_launch(struct launch *l, struct checker *c)
{
    memset(l->axis, 0, sizeof l->axis);
    read_kernel(&l->p, c);
    note_launch(l, c->node->body);
    int count = 0;
    for (int i = 0; i < 3; i++)
        count = l->axis[i].used ? i + 1 : count;
    for (int i = 0; i < count; i++) {
        if (!l->axis[i].threads)
            l->axis[i].threads = !l->axis[i].used ? "1" : count == 1 ? "256" : "16";
        if (l->axis[i].used && !l->axis[i].extent)
            return 0;
    }
    return count;
}

/* Returns the place for attributes: after the parameters. */
static struct loc place_of_attributes(const struct node *kernel)
{
    return (struct loc){kernel->loc.source, kernel->start, 0};
}

void check_fix_with_grid(struct checker *c)
{
    struct launch l;
    struct text t;
    text_init(&t, c->arena);
    int count = read_launch(&l, c);
    for (int i = 0; i < count; i++)
        text_printf(&t, l.axis[i].used ? "%scdiv(%s, %s)" : "%s1", i ? ", " : "", l.axis[i].extent,
                    l.axis[i].threads);
    if (count)
        diag_fix(c->diag, place_of_attributes(c->node), " grid(%s)", t.data);
}

void check_fix_with_threads(struct checker *c)
{
    struct launch l;
    struct text t;
    text_init(&t, c->arena);
    int count = read_launch(&l, c);
    for (int i = 0; i < count; i++)
        text_printf(&t, "%s%s", i ? ", " : "", l.axis[i].threads);
    if (count)
        diag_fix(c->diag, place_of_attributes(c->node), " threads(%s)", t.data);
}

void check_fix_block_extent(struct checker *c, const struct node *member)
{
    int axis = axis_of(member, "blockDim", "blockDim");
    const struct node *n = c->node ? c->node->attributes : NULL;
    while (n && strcmp(n->text, "threads") != 0)
        n = n->next;
    n = n ? n->list : NULL;
    for (int i = 0; i < axis && n; i++)
        n = n->next;
    bool simple = n && (n->kind == N_INT || n->kind == N_NAME);
    if (axis >= 0 && n)
        diag_fix(c->diag, member->loc, simple ? "%s" : "(%s)", text_of(c, n, true));
}
