/* Operands and memory: global arrays with their bounds, shared memory with its users. */
#include "lockstep_own.h"

#include <string.h>

void machine_stop(struct machine *m, const char *what)
{
    struct text t;
    if (m->why)
        return;
    text_init(&t, m->s->arena);
    text_printf(&t, "%s: ", what);
    ptx_print_instruction(&t, m->f, m->ins);
    m->why = t.data;
}

/* --- operands --- */

uint64_t *machine_reg(struct machine *m, int thread, uint32_t reg)
{
    return &m->regs[(size_t)thread * m->f->registers.count + reg];
}

static uint64_t special(struct machine *m, int thread, unsigned id, const int *ctaid)
{
    int x = m->block[0], y = m->block[1];
    switch (id) {
    case PTX_SREG_TID_X: return (uint64_t)(thread % x);
    case PTX_SREG_TID_Y: return (uint64_t)(thread / x % y);
    case PTX_SREG_TID_Z: return (uint64_t)(thread / x / y);
    case PTX_SREG_CTAID_X: return (uint64_t)ctaid[0];
    case PTX_SREG_CTAID_Y: return (uint64_t)ctaid[1];
    case PTX_SREG_CTAID_Z: return (uint64_t)ctaid[2];
    case PTX_SREG_NCTAID_X: return (uint64_t)m->s->grid[0];
    case PTX_SREG_NCTAID_Y: return (uint64_t)m->s->grid[1];
    case PTX_SREG_NCTAID_Z: return (uint64_t)m->s->grid[2];
    case PTX_SREG_LANEID: return (uint64_t)(thread % 32);
    case PTX_SREG_SMID: return 0;
    default: machine_stop(m, "special register"); return 0;
    }
}

/* Returns a variable's address. .extern .shared is at 0; other variables have memory of their
 * own. */
uint64_t machine_address(struct machine *m, int thread, const struct ptx_variable *v)
{
    if (v->space == MOD_SHARED)
        return 0;
    for (size_t i = 0; i < m->variables.count; i++)
        if (m->variables.data[i].variable == v)
            return (uint64_t)(uintptr_t)m->variables.data[i].image +
                   (v->space == MOD_LOCAL ? (uint64_t)thread * m->variables.data[i].bytes : 0);
    size_t bytes = ((size_t)ptx_variable_size(v) + 15) / 16 * 16,
           copies = v->space == MOD_LOCAL ? 1024 : 1;
    struct machine_variable new = {v, arena_array(m->s->arena, uint8_t, bytes * copies), bytes};
    if (v->space != MOD_LOCAL)
        ptx_variable_image(v, new.image, NULL, NULL);
    vec_push(m->s->arena, &m->variables, new);
    if (m->s->array_count < LOCKSTEP_ARRAYS)
        m->s->arrays[m->s->array_count++] = (struct lockstep_array){new.image, bytes *copies};
    return machine_address(m, thread, v);
}

uint64_t machine_value(struct machine *m, int thread, const struct ptx_operand *o, enum ptx_mod t)
{
    switch (o->kind) {
    case PTX_REGISTER: {
        uint64_t v = *machine_reg(m, thread, o->reg);
        return o->negated ? !v : v;
    }
    case PTX_IMMEDIATE: return is_float(t) ? bits_store(t, (double)(int64_t)o->bits) : o->bits;
    case PTX_FLOAT: return t == PTX_F64 ? bits_of_f64((double)bits_as_f32(o->bits)) : o->bits;
    case PTX_DOUBLE: return t == PTX_F32 ? bits_of_f32((float)bits_as_f64(o->bits)) : o->bits;
    case PTX_SPECIAL: return special(m, thread, o->special, m->ctaid);
    case PTX_SYMBOL: return machine_address(m, thread, o->variable) + (uint64_t)ptx_offset(o);
    default: machine_stop(m, "operand"); return 0;
    }
}

uint64_t machine_arg(struct machine *m, int thread, int i, enum ptx_mod t)
{
    uint64_t v = machine_value(m, thread, &m->ins->operands[i], t);
    return is_float(t) || t == PTX_PRED ? v : bits_extend(t, v);
}

void machine_set(struct machine *m, int thread, const struct ptx_operand *o, uint64_t v)
{
    if (o->kind == PTX_SINK)
        return;
    enum ptx_mod t = ptx_register_type(m->f, o->reg);
    int bits = bits_of(t);
    *machine_reg(m, thread, o->reg) = bits >= 64 ? v : v & (((uint64_t)1 << bits) - 1);
}

void machine_result(struct machine *m, int thread, uint64_t v)
{
    machine_set(m, thread, &m->ins->operands[0], v);
}

/* --- memory --- */

static void touch(struct machine *m, int thread, uint64_t at, size_t bytes, bool write)
{
    int16_t warp = (int16_t)(thread / 32);
    for (size_t i = 0; i < bytes; i++) {
        struct byte_use *u = &m->use[at + i];
        bool written = u->write_at == m->barrier && u->writer != warp;
        bool read = u->read_at == m->barrier && u->reader != warp;
        if (written || (write && read))
            machine_stop(m, "race in shared memory");
        if (write) {
            u->write_at = m->barrier;
            u->writer = warp;
        } else {
            u->reader = u->read_at == m->barrier && u->reader != warp ? -2 : warp;
            u->read_at = m->barrier;
        }
    }
}

/* Returns the host address for an address of an instruction; NULL if it points into no memory. */
uint8_t *machine_place(struct machine *m, int thread, const struct ptx_operand *o, bool shared,
                       size_t bytes, bool write)
{
    uint64_t at = (uint64_t)ptx_offset(o);
    if (o->base == PTX_BASE_REGISTER)
        at += *machine_reg(m, thread, o->reg);
    else if (o->base == PTX_BASE_VARIABLE)
        at += machine_address(m, thread, o->variable);
    if (at % bytes)
        machine_stop(m, "misaligned");
    if (shared) {
        at &= UINT32_MAX;
        if (at + bytes > (uint64_t)m->s->shared_bytes) {
            machine_stop(m, "outside of shared memory");
            return NULL;
        }
        touch(m, thread, at, bytes, write);
        return m->shared + at;
    }
    for (int i = 0; i < m->s->array_count; i++) {
        uint64_t base = (uint64_t)(uintptr_t)m->s->arrays[i].data;
        if (at >= base && at + bytes <= base + m->s->arrays[i].bytes)
            return (uint8_t *)(uintptr_t)at;
    }
    machine_stop(m, "outside of the arrays");
    return NULL;
}

static bool in_shared(const struct ptx_instruction *ins)
{
    return ptx_has(ins, MOD_SHARED);
}

const struct ptx_operand *machine_parts(const struct ptx_operand *o, int *count)
{
    *count = o->kind == PTX_VECTOR ? (int)o->count : 1;
    return o->kind == PTX_VECTOR ? o->elements : o;
}

static void load_param(struct machine *m, int thread)
{
    const struct ptx_operand *o = &m->ins->operands[1];
    for (size_t i = 0; i < m->f->signature.parameters.count; i++)
        if (m->f->signature.parameters.data[i] == o->variable)
            machine_result(m, thread, bits_extend(ptx_type(m->ins, 0), m->s->args[i]));
}

static void load(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    size_t size = (size_t)bits_of(t) / 8;
    int count;
    const struct ptx_operand *to = machine_parts(&m->ins->operands[0], &count);
    if (ptx_has(m->ins, MOD_PARAM)) {
        load_param(m, thread);
        return;
    }
    const uint8_t *from = machine_place(m, thread, &m->ins->operands[1], in_shared(m->ins),
                                        size * (size_t)count, false);
    for (int i = 0; from && i < count; i++) {
        uint64_t v = 0;
        memcpy(&v, from + size * (size_t)i, size);
        machine_set(m, thread, &to[i], bits_extend(t, v));
    }
}

static void store(struct machine *m, int thread)
{
    enum ptx_mod t = ptx_type(m->ins, 0);
    size_t size = (size_t)bits_of(t) / 8;
    int count;
    const struct ptx_operand *from = machine_parts(&m->ins->operands[1], &count);
    uint8_t *to = machine_place(m, thread, &m->ins->operands[0], in_shared(m->ins),
                                size * (size_t)count, true);
    for (int i = 0; to && i < count; i++) {
        uint64_t v = machine_value(m, thread, &from[i], t);
        memcpy(to + size * (size_t)i, &v, size);
    }
}

static void copy_async(struct machine *m, int thread)
{
    const struct ptx_instruction *ins = m->ins;
    size_t size = (size_t)ins->operands[2].bits;
    size_t real = size;
    if (ins->operand_count > 3) {
        const struct ptx_operand *o = &ins->operands[3];
        bool ignores = o->kind == PTX_REGISTER && ptx_register_type(m->f, o->reg) == PTX_PRED;
        uint64_t v = machine_value(m, thread, o, PTX_U32);
        real = !ignores ? (size_t)v : v & 1 ? 0 : size;
    }
    uint8_t *to = machine_place(m, thread, &ins->operands[0], true, size, true);
    const uint8_t *from =
        real ? machine_place(m, thread, &ins->operands[1], false, real == size ? size : 1, false)
             : NULL;
    if (!to)
        return;
    memset(to, 0, size);
    if (from)
        memcpy(to, from, real);
}

uint64_t machine_combined(enum ptx_mod op, enum ptx_mod t, uint64_t a, uint64_t b)
{
    bool less = is_signed(t) ? (int64_t)a < (int64_t)b : a < b;
    if (is_float(t))
        return op == MOD_ADD ? bits_store(t, bits_load(t, a) + bits_load(t, b)) : a;
    switch ((int)op) {
    case MOD_ADD: return a + b;
    case MOD_MIN: return less ? a : b;
    case MOD_MAX: return less ? b : a;
    case MOD_AND: return a & b;
    case MOD_OR: return a | b;
    case MOD_XOR: return a ^ b;
    default: return b;
    }
}

static void atomic(struct machine *m, int thread, bool keeps)
{
    enum ptx_mod t = ptx_type(m->ins, 0), op = ptx_find(m->ins, PTX_CLASS_OPERATION, 0);
    size_t size = (size_t)bits_of(t) / 8;
    int first = keeps ? 1 : 0;
    uint64_t at = (uint64_t)ptx_offset(&m->ins->operands[first]), old = 0;
    if (m->ins->operands[first].base == PTX_BASE_REGISTER)
        at += *machine_reg(m, thread, m->ins->operands[first].reg);
    uint8_t *p = in_shared(m->ins)
                     ? m->shared + (at & UINT32_MAX)
                     : machine_place(m, thread, &m->ins->operands[first], false, size, true);
    if (!p)
        return;
    memcpy(&old, p, size);
    old = is_float(t) ? old : bits_extend(t, old);
    uint64_t v = machine_arg(m, thread, first + 1, t);
    if (op == MOD_CAS)
        v = old == v ? machine_arg(m, thread, first + 2, t) : old;
    else
        v = machine_combined(op, t, old, v);
    memcpy(p, &v, size);
    if (keeps)
        machine_result(m, thread, old);
}

bool machine_memory(struct machine *m, int thread)
{
    switch (m->ins->op) {
    case PTX_LD: load(m, thread); return true;
    case PTX_ST: store(m, thread); return true;
    case PTX_ATOM: atomic(m, thread, true); return true;
    case PTX_RED: atomic(m, thread, false); return true;
    case PTX_CP_ASYNC: copy_async(m, thread); return true;
    case PTX_CP_ASYNC_COMMIT_GROUP:
    case PTX_CP_ASYNC_WAIT_GROUP:
    case PTX_CP_ASYNC_WAIT_ALL:
    case PTX_MEMBAR:
    case PTX_FENCE:
    case PTX_NANOSLEEP:
    case PTX_BAR_WARP_SYNC: return true;
    default: return false;
    }
}
