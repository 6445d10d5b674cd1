/* Local arrays, which each thread has for itself; and tables: arrays of the module in global memory, which nothing writes.
 * Lanes with indices of their own read them through the cache at once, where .const would take them in turn. */
#include "nvptx/nvptx_own.h"

#include <string.h>

/* Returns a constant as it is in memory. */
static uint64_t bits_of(const struct thread_operand *o, enum dtype t)
{
    const double real = o->kind == THREAD_FLOAT ? o->real : (double)o->integer;
    const float narrow = (float)real;
    uint64_t wide;
    uint32_t word;
    memcpy(&wide, &real, sizeof wide);
    memcpy(&word, &narrow, sizeof word);
    if (!dtype_is_float(t))
        return (uint64_t)o->integer;
    return t == DT_F64 ? wide : dtype_size(t) == 4 ? word : nvptx_bits_of_constant(o, t);
}

static struct ptx_variable *variable_of(struct nvptx *n, const struct thread_object *table)
{
    const char *name = arena_printf(n->arena, "%s$%s", n->function->name, table->name);
    struct ptx_variable *v = ptx_find_variable(n->build.module, name);
    const size_t size = thread_element_bytes(table);
    uint8_t *bytes = v ? NULL : arena_array(n->arena, uint8_t, table->count * size);
    for (size_t i = 0; i < table->count && !v; i++) {
        const uint64_t bits = bits_of(&table->values[i], table->dtype);
        for (size_t b = 0; b < size; b++)
            bytes[i * size + b] = (uint8_t)(bits >> 8 * b);
    }
    return v ? v : ptx_bytes(&n->build, MOD_GLOBAL, name, bytes, table->count * size, 16);
}

void nvptx_table(struct nvptx *n, const struct thread_operation *op)
{
    ptx_emit(&n->build, "mov.u64", nvptx_registers_of(n, op->results.data[0])->word[0],
             ptx_address_of(variable_of(n, op->operands.data[0].object), 0));
}

static struct ptx_variable *local_of(struct nvptx *n, const struct thread_object *o)
{
    enum { ALIGNMENT = 16 };
    for (size_t i = 0; i < n->locals.count; i++)
        if (n->locals.data[i].object == o)
            return n->locals.data[i].variable;
    const struct nvptx_local local = {o, ptx_array(&n->build, MOD_LOCAL, MOD_B8, o->name,
                                                   (uint64_t)o->count * thread_element_bytes(o),
                                                   ALIGNMENT)};
    vec_push(n->arena, &n->locals, local);
    return local.variable;
}

void nvptx_local(struct nvptx *n, const struct thread_operation *op)
{
    ptx_emit(&n->build, "mov.b64", nvptx_registers_of(n, op->results.data[0])->word[0],
             ptx_address_of(local_of(n, op->operands.data[0].object), 0));
}
