/* Addresses of elements in shared memory. A thread- or tile-level kernel computes the address of element `index` where it
 * computes the index, so that it is computed once, and outside of the loops that do not change it. An index that only addresses
 * need is not computed: its sum becomes one of bytes. If it is an argument that a loop steps, the loop steps its addresses. */
#include "nvptx/nvptx_own.h"

struct ptx_operand nvptx_element(struct nvptx *n, const struct thread_operand *o)
{
    const int64_t bytes = thread_element_bytes(o->object),
                  offset = o->object->at + o->integer * bytes;
    if (!o->value)
        return ptx_at(n->memory, offset);
    if (n->places && n->places[o->value->number])
        return ptx_at(n->places[o->value->number]->at[__builtin_ctz((unsigned)bytes)], offset);
    const struct ptx_operand at = ptx_reg(&n->build, MOD_U32);
    ptx_emit(&n->build, "mad.lo.u32", at, nvptx_registers_of(n, o->value)->word[0], ptx_int(bytes),
             n->memory);
    return ptx_at(at, offset);
}

struct ptx_operand nvptx_element_address(struct nvptx *n, const struct thread_operand *o)
{
    struct ptx_operand at = nvptx_element(n, o), r = ptx_reg(&n->build, MOD_U32), base = at;
    base.kind = PTX_REGISTER;
    ptx_emit(&n->build, "add.u32", r, base, ptx_int(ptx_offset(&at)));
    return r;
}

/* --- which values are indices --- */

struct finding {
    struct nvptx *n;
    uint32_t *uses; /* by number: uses of the value that are not addresses */
    bool *
        sums; /* by number: the value is a sum with a product, of which one instruction makes an address */
};

enum { NO_SUM = -2, NO_ADDEND = -1 };

/* Returns whether the value is a sum that nothing but the present operation needs as a number. */
static bool is_own_sum(const struct finding *g, const struct thread_value *v)
{
    return g->sums[v->number] && g->uses[v->number] == 1;
}

/* Returns the operand to whose address the rest of the sum is added; NO_ADDEND: it is added to that of element 0. With two
 * values, it is the one that becomes a sum of bytes without another instruction. */
static int addend(const struct finding *g, const struct thread_operation *op)
{
    const struct thread_operand *o = op->operands.data;
    const bool sums = op->op == THREAD_MUL || op->op == THREAD_FMA || op->op == THREAD_ADD;
    if (!sums || op->types[0] != DT_U32 || op->results.data[0]->type.count != 1)
        return NO_SUM;
    const bool scaled = o[0].kind == THREAD_VALUE && o[1].kind == THREAD_INTEGER;
    if (op->op == THREAD_MUL && scaled)
        return NO_ADDEND;
    if (op->op == THREAD_FMA && scaled && o[2].value)
        return 2;
    if (op->op != THREAD_ADD || !o[0].value || !o[1].value)
        return NO_SUM;
    return !is_own_sum(g, o[0].value) && is_own_sum(g, o[1].value);
}

static void want(struct nvptx *n, const struct thread_value *v, unsigned sizes)
{
    struct nvptx_places **p = &n->places[v->number];
    if (!*p)
        *p = arena_new(n->arena, struct nvptx_places);
    (*p)->sizes |= sizes;
}

static void find_indices(struct finding *g, const struct thread_region *r)
{
    for (size_t i = 0; i < r->operations.count; i++) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = 0; j < op->operands.count; j++) {
            const struct thread_operand *o = &op->operands.data[j];
            if (o->value && o->kind == THREAD_ELEMENT)
                want(g->n, o->value, 1u << __builtin_ctz(thread_element_bytes(o->object)));
            else if (o->value)
                g->uses[o->value->number]++;
        }
        if (op->results.count == 1 && addend(g, op) != NO_SUM)
            g->sums[op->results.data[0]->number] = true;
        for (size_t j = 0; j < op->regions.count; j++)
            find_indices(g, op->regions.data[j]);
    }
}

/* Returns the operation of the loop that steps an argument for its next iteration by a constant; NULL: there is none, or
 * something else needs the argument or the next value, too. */
static const struct thread_operation *step_of(const struct finding *g,
                                              const struct thread_operation *loop,
                                              const struct thread_operand *next,
                                              const struct thread_value *argument)
{
    const struct thread_region *r = loop->regions.data[0];
    const struct thread_operation *found = NULL;
    if (!next->value || g->n->places[next->value->number] || g->uses[next->value->number] != 1 ||
        g->uses[argument->number] != 1)
        return NULL;
    for (size_t i = 0; i < r->operations.count; i++)
        if (r->operations.data[i]->op == THREAD_ADD &&
            r->operations.data[i]->results.data[0] == next->value)
            found = r->operations.data[i];
    const struct thread_operand *o = found ? found->operands.data : NULL;
    return o && o[0].value == argument && o[1].kind == THREAD_INTEGER && o[1].integer ? found
                                                                                      : NULL;
}

/* Finds the arguments in whose place a loop passes addresses. */
static void find_passed(struct finding *g, const struct thread_operation *loop)
{
    const struct thread_operation *last = thread_only_continue(loop);
    const struct thread_region *r = loop->regions.data[0];
    for (size_t i = 0; last && i < r->arguments.count; i++) {
        struct nvptx_places *p = g->n->places[r->arguments.data[i]->number];
        const struct thread_operation *step =
            p ? step_of(g, loop, &last->operands.data[i], r->arguments.data[i]) : NULL;
        const struct thread_value *first = loop->operands.data[i].value;
        if (!step)
            continue;
        p->step = step->operands.data[1].integer;
        want(g->n, step->results.data[0], 0);
        g->n->places[step->results.data[0]->number]->from = step;
        if (!first || g->uses[first->number] != 1)
            continue;
        want(g->n, first, p->sizes);
        g->uses[first->number]--;
    }
}

/* Finds the sums that only addresses need, the last one first: their addends are indices, too. */
static void find_sums(struct finding *g, const struct thread_region *r)
{
    for (size_t i = r->operations.count; i-- > 0;) {
        const struct thread_operation *op = r->operations.data[i];
        for (size_t j = op->regions.count; j-- > 0;)
            find_sums(g, op->regions.data[j]);
        if (op->op == THREAD_LOOP)
            find_passed(g, op);
        const int at = addend(g, op);
        if (at == NO_SUM)
            continue;
        struct nvptx_places *p = g->n->places[op->results.data[0]->number];
        if (!p || g->uses[op->results.data[0]->number] > 0)
            continue;
        p->from = op;
        p->addend = at;
        if (at == NO_ADDEND)
            continue;
        const struct thread_value *v = op->operands.data[at].value;
        want(g->n, v, p->sizes);
        g->uses[v->number]--;
    }
}

void nvptx_find_places(struct nvptx *n)
{
    const uint32_t count = n->function->values + 1;
    struct finding g = {n, arena_array(n->arena, uint32_t, count),
                        arena_array(n->arena, bool, count)};
    if (!n->function->shape[0] || n->function->objects.count == 0)
        return;
    n->places = arena_array(n->arena, struct nvptx_places *, n->function->values + 1);
    find_indices(&g, n->function->body);
    find_sums(&g, n->function->body);
}

/* --- their addresses --- */

bool nvptx_is_place(const struct nvptx *n, const struct thread_operation *op)
{
    const struct nvptx_places *p =
        n->places && op->results.count == 1 ? n->places[op->results.data[0]->number] : NULL;
    return p && p->from;
}

/* Computes an address for elements of 1 << log bytes. */
static void reach(struct nvptx *n, const struct thread_value *v, const struct nvptx_places *p,
                  unsigned log)
{
    const struct thread_operand *o = p->from ? p->from->operands.data : NULL;
    struct ptx_operand index, base = n->memory;
    int64_t step = 1;
    const int at = o ? p->addend : NO_ADDEND;
    if (at != NO_ADDEND)
        base = n->places[o[at].value->number]->at[log];
    if (o) {
        index = nvptx_scalar(n, &o[at == 0], DT_U32);
        step = p->from->op == THREAD_ADD ? 1 : o[1].integer;
    } else {
        index = nvptx_registers_of(n, v)->word[0];
    }
    ptx_emit(&n->build, "mad.lo.u32", p->at[log], index,
             ptx_int((int64_t)((uint64_t)step << log & UINT32_MAX)), base);
}

void nvptx_reach(struct nvptx *n, struct thread_value *const *values, size_t count)
{
    for (size_t i = 0; n->places && i < count; i++) {
        struct nvptx_places *p = n->places[values[i]->number];
        if (p && p->step)
            continue;
        for (unsigned log = 0; p && log < 5; log++) {
            if (!(p->sizes >> log & 1))
                continue;
            if (p->at[log].kind != PTX_REGISTER)
                p->at[log] = ptx_reg(&n->build, MOD_U32);
            reach(n, values[i], p, log);
        }
    }
}

/* --- addresses that loops pass --- */

bool nvptx_passes_places(const struct nvptx *n, const struct thread_value *argument)
{
    return n->places && n->places[argument->number] && n->places[argument->number]->step;
}

void nvptx_enter_places(struct nvptx *n, const struct thread_operation *loop)
{
    const struct thread_region *r = loop->regions.data[0];
    for (size_t i = 0; i < r->arguments.count; i++) {
        const struct thread_operand *first = &loop->operands.data[i];
        if (!nvptx_passes_places(n, r->arguments.data[i]))
            continue;
        struct nvptx_places *p = n->places[r->arguments.data[i]->number];
        const struct nvptx_places *from = first->value ? n->places[first->value->number] : NULL;
        for (unsigned log = 0; log < 5; log++) {
            if (!(p->sizes >> log & 1))
                continue;
            if (p->at[log].kind != PTX_REGISTER)
                p->at[log] = ptx_reg(&n->build, MOD_U32);
            if (from && from->sizes >> log & 1)
                ptx_emit(&n->build, "mov.u32", p->at[log], from->at[log]);
            else if (first->value)
                ptx_emit(&n->build, "mad.lo.u32", p->at[log], nvptx_scalar(n, first, DT_U32),
                         ptx_int((int64_t)1 << log), n->memory);
            else
                ptx_emit(&n->build, "add.u32", p->at[log], n->memory,
                         ptx_int((int64_t)((uint64_t)first->integer << log & UINT32_MAX)));
        }
    }
}

void nvptx_step_places(struct nvptx *n, const struct thread_operation *loop)
{
    const struct thread_region *r = loop->regions.data[0];
    for (size_t i = 0; i < r->arguments.count; i++) {
        const struct nvptx_places *p = nvptx_passes_places(n, r->arguments.data[i])
                                           ? n->places[r->arguments.data[i]->number]
                                           : NULL;
        for (unsigned log = 0; p && log < 5; log++)
            if (p->sizes >> log & 1)
                ptx_emit(&n->build, "add.u32", p->at[log], p->at[log],
                         ptx_int((int64_t)((uint64_t)p->step << log & UINT32_MAX)));
    }
}
