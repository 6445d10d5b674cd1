/* Fuses products of integers with the additions that take them: a b + c is one instruction of most targets. A product that
 * has another use stays as it is, because it would be computed twice. A product before a loop stays for additions in the
 * loop: of these ptxas 13.0 makes IMAD.WIDE, but of a fused one that repeats in the loop two additions of 32 bits each. */
#include "thread/thread_build.h"

struct fusing {
    struct arena *arena;
    struct thread_operation *
        *products; /* by number of a value: the product that defines it; NULL: it is none */
    uint32_t *uses,
        *additions;  /* by number of a product; those uses that add to it, in as many loops */
    uint32_t *depth; /* by number of a product: loops around it */
};

static bool is_product(const struct thread_operation *op)
{
    return (op->op == THREAD_MUL || op->op == THREAD_MUL_WIDE) && dtype_is_int(op->types[0]) &&
           dtype_size(op->types[0]) >= 4 && op->results.data[0]->type.count == 1;
}

static bool is_constant(const struct thread_operand *o)
{
    return o->kind == THREAD_INTEGER;
}

/* Returns whether the operation adds a value to operand i, a product, subtracts a constant from it, or subtracts it, a product
 * with a constant. */
static bool adds_to(const struct thread_operation *op, size_t i,
                    const struct thread_operation *product)
{
    if (op->op == THREAD_SUB && i == 1)
        return product->op == THREAD_MUL && is_constant(&product->operands.data[1]);
    return op->op == THREAD_ADD || (op->op == THREAD_SUB && is_constant(&op->operands.data[1]));
}

static void negate(enum dtype t, struct thread_operand *o)
{
    o->integer = dtype_wrap(t, (int64_t) - (uint64_t)o->integer);
}

static void count_region(struct fusing *g, const struct thread_region *r, uint32_t depth)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++) {
            const struct thread_value *v = op->operands.data[j].value;
            const struct thread_operation *product = v ? g->products[v->number] : NULL;
            if (!product)
                continue;
            g->uses[v->number]++;
            g->additions[v->number] += depth == g->depth[v->number] && adds_to(op, j, product) &&
                                       op->types[0] == product->types[0];
        }
        if (is_product(op)) {
            g->products[op->results.data[0]->number] = op;
            g->depth[op->results.data[0]->number] = depth;
        }
        for (size_t j = 0; j < op->regions.count; j++)
            count_region(g, op->regions.data[j], depth + (op->op == THREAD_LOOP));
    }
}

/* Returns the product that defines operand i, if all its uses add to it; NULL: there is none. */
static const struct thread_operation *product_of(const struct fusing *g,
                                                 const struct thread_operation *op, size_t i)
{
    const struct thread_value *v = op->operands.data[i].value;
    if (!v || !g->products[v->number] || g->uses[v->number] != g->additions[v->number])
        return NULL;
    return g->products[v->number];
}

static void fuse(struct fusing *g, struct thread_operation *op)
{
    const struct thread_operation *product = NULL;
    size_t at = 2;
    while (at > 0 && !product)
        product = product_of(g, op, --at);
    if (!product)
        return;
    struct thread_operand other = op->operands.data[1 - at], factor = product->operands.data[1];
    if (op->op == THREAD_SUB)
        negate(op->types[0], at ? &factor : &other);
    op->op = product->op == THREAD_MUL ? THREAD_FMA : THREAD_MAD_WIDE;
    op->types[1] = product->types[1];
    op->operands.count = 0;
    vec_push(g->arena, &op->operands, product->operands.data[0]);
    vec_push(g->arena, &op->operands, factor);
    vec_push(g->arena, &op->operands, other);
}

static void fuse_region(struct fusing *g, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        struct thread_operation *op = r->operations.data[i];
        if ((op->op == THREAD_ADD || op->op == THREAD_SUB) && op->operands.count == 2)
            fuse(g, op);
        for (size_t j = 0; j < op->regions.count; j++)
            fuse_region(g, op->regions.data[j]);
    }
}

void thread_fuse(struct arena *a, struct thread_function *f)
{
    struct fusing g = {.arena = a};
    g.products = arena_array(a, struct thread_operation *, f->values + 1);
    g.uses = arena_array(a, uint32_t, f->values + 1);
    g.additions = arena_array(a, uint32_t, f->values + 1);
    g.depth = arena_array(a, uint32_t, f->values + 1);
    count_region(&g, f->body, 0);
    fuse_region(&g, f->body);
}
