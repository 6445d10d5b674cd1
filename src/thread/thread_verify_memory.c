/* Checks of shared memory in thread IR: where arrays are, and the alignment of elements. */
#include "target/targets.h"
#include "thread/thread_verify_own.h"

/* Checks that the elements of tables have the tables' types. */
static void verify_tables(struct checks *c, const struct thread_function *f)
{
    for (size_t i = 0; i < f->tables.count; i++) {
        const struct thread_object *o = f->tables.data[i];
        for (uint32_t j = 0; j < o->count; j++)
            if (!thread_verify_fits(&o->values[j], o->dtype == DT_BOOL ? DT_U8 : o->dtype))
                thread_verify_fault(c, thread_place_of(&o->values[j], o->where),
                                    "the table's elements have another type");
    }
}

void thread_verify_objects(struct checks *c, const struct thread_function *f)
{
    const int32_t most = target_most_shared();
    verify_tables(c, f);
    for (size_t i = 0; i < f->objects.count; i++) {
        const struct thread_object *o = f->objects.data[i];
        if (o->at % thread_element_bytes(o) != 0)
            thread_verify_fault(c, o->where,
                                "the array does not begin at a multiple of its elements' size");
        if (thread_object_end(o) > most)
            thread_verify_fault(
                c, o->where,
                arena_printf(c->arena,
                             "the array ends after the shared memory of a block, %d bytes", most));
        for (size_t j = 0; j < i; j++) {
            const struct thread_object *other = f->objects.data[j];
            const bool may = o->overlays && o->dtype != DT_NONE && other->dtype != DT_NONE;
            if (!may && thread_objects_overlap(o, other))
                thread_verify_fault(c, o->where,
                                    arena_printf(c->arena, "the array lies on `%s`", other->name));
        }
    }
}

/* --- alignment in shared memory --- */

/* Bytes that divide the place of the operation's element: vectors by their size; PTX ISA, "ldmatrix", "stmatrix",
 * "cp.async", "cp.async.bulk.tensor", "Matrix Descriptor Format". */
static int64_t alignment_of(const struct thread_operation *op, size_t operand)
{
    const struct thread_operand *o = op->operands.data;
    struct thread_type t;
    switch (op->op) {
    case THREAD_LOAD_MATRIX:
    case THREAD_STORE_MATRIX:
    case THREAD_DESCRIPTOR: return 16;
    case THREAD_COPY_ASYNC: return o[4].integer;
    case THREAD_COPY_IN:
    case THREAD_COPY_IN_MULTICAST:
    case THREAD_COPY_OUT: return operand == 1 ? 128 : 1;
    default:
        if (!thread_is_access(op->op))
            return 1;
        t = thread_moved_type(op);
        return (int64_t)dtype_size(t.dtype) * t.count;
    }
}

static void check_alignment(void *user, const struct thread_operation *op,
                            const struct facts *facts)
{
    struct checks *c = user;
    for (size_t i = 0; i < op->operands.count; i++) {
        const struct thread_operand *o = &op->operands.data[i];
        if (o->kind != THREAD_ELEMENT)
            continue;
        const int64_t size = thread_element_bytes(o->object), needed = alignment_of(op, i);
        struct facts index = o->value ? facts[o->value->number] : facts_exactly(0);
        struct facts each = facts_exactly(size), multiple = facts_multiple(needed);
        struct facts first = facts_exactly(o->object->at + o->integer * size);
        struct facts bytes = facts_product(&index, &each);
        bytes = facts_sum(&bytes, &first);
        if (facts_apart(&bytes, &multiple))
            thread_verify_fault(
                c, thread_place_of(o, op->where),
                arena_printf(c->arena, "this element does not begin at a multiple of %d bytes",
                             (int)needed));
    }
}

static bool has_element(const struct thread_operation *op)
{
    for (size_t i = 0; i < op->operands.count; i++)
        if (op->operands.data[i].kind == THREAD_ELEMENT)
            return true;
    return false;
}

void thread_verify_alignment(struct checks *c, const struct thread_function *f)
{
    thread_facts_walk(c->arena, f, has_element, check_alignment, c);
}
