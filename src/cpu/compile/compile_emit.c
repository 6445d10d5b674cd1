/* Compiled code: instructions, values in the frame, constants, slots of symbols. */
#include "cpu/compile/compile.h"

#include "base/text.h"

#include <stdlib.h>

void compile_error(struct compiler *c, const char *format, ...)
{
    if (c->why)
        return;
    struct text text;
    va_list args;
    text_init(&text, c->arena);
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    c->why = text.data;
}

/* --- instructions --- */

struct instr *compile_add_step(struct compiler *c, step_fn *step)
{
    struct instr in = {.step = step, .mask = NO_SLOT, .loc = c->loc};
    vec_push(c->arena, &c->code, in);
    return &c->code.data[c->code.count - 1];
}

void compile_label_place(struct compiler *c, struct label *l)
{
    l->placed = true;
    l->pc = c->labelled = (uint32_t)c->code.count;
    for (size_t i = 0; i < l->uses.count; i++)
        c->code.data[l->uses.data[i]].n = l->pc;
}

void compile_add_jump(struct compiler *c, step_fn *step, uint32_t condition, struct label *l)
{
    uint32_t pc = (uint32_t)c->code.count;
    struct instr *in = compile_add_step(c, step);
    in->a = condition;
    in->n = l->pc;
    if (step == step_jump_none)
        in->mask = condition;
    if (!l->placed)
        vec_push(c->arena, &l->uses, pc);
}

void compile_add_leave_if_none(struct compiler *c)
{
    if (c->mask != NO_SLOT)
        compile_add_jump(c, step_jump_none, c->mask, c->region->end);
}

/* --- memory --- */

uint32_t compile_memory_new(struct compiler *c, size_t bytes)
{
    size_t at = c->top;
    size_t end = (at + bytes + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
    if (bytes > MOST_FRAME_BYTES || end > MOST_FRAME_BYTES) {
        compile_error(c, "one block of %s needs more than %zu MiB for its tiles", c->kernel->name,
                      MOST_FRAME_BYTES >> 20);
        return 0;
    }
    c->top = (uint32_t)end;
    if (c->top > c->high)
        c->high = c->top;
    return (uint32_t)at;
}

int64_t compile_value_elements(const struct value *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++)
        n *= v->extent[i];
    return n;
}

size_t compile_value_bytes(const struct value *v)
{
    return (size_t)compile_value_elements(v) * v->lanes * dtype_size(v->dtype);
}

struct value compile_value_new(struct compiler *c, enum dtype t, int rank, const int64_t *extent,
                               uint32_t lanes)
{
    struct value v = {.dtype = t, .rank = rank, .lanes = lanes};
    size_t bytes = lanes * dtype_size(t);
    for (int i = 0; i < rank; i++) {
        v.extent[i] = extent[i];
        if (extent[i] <= 0)
            compile_error(c, "a tile's extent is not known");
        else
            bytes = bytes > SIZE_MAX / (size_t)extent[i] ? SIZE_MAX : bytes * (size_t)extent[i];
    }
    v.at = compile_memory_new(c, bytes);
    return v;
}

struct value compile_value_of_type(struct compiler *c, const struct type *t, uint32_t lanes)
{
    return compile_value_new(c, t->dtype, t->rank, t->extent, lanes);
}

void compile_dense_strides(int rank, const int64_t *extent, int64_t innermost, int64_t *stride)
{
    int64_t step = innermost;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= extent[i];
    }
}

bool compile_value_same_shape(const struct value *a, const struct value *b)
{
    if (a->rank != b->rank || a->lanes != b->lanes)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->extent[i] != b->extent[i])
            return false;
    return true;
}

/* --- constants --- */

struct value compile_value_constant(struct compiler *c, enum dtype t, struct literal v)
{
    struct value out = {.dtype = t, .lanes = 1};
    uint64_t bits = 0;
    if (v.is_float)
        dtype_store_f64(t, &bits, v.f);
    else
        dtype_store_i64(t, &bits, v.i);
    struct constant key = {bits, (uint64_t)t};
    const struct name_entry *known = name_table_find(&c->constants, (const char *)&key, sizeof key);
    if (known) {
        out.at = known->number;
        return out;
    }
    uint32_t at = (uint32_t)(c->constants.count * sizeof bits);
    if (at + sizeof bits > c->constants_end) {
        compile_error(c, "too many constants");
        return out;
    }
    memcpy(c->image + at, &bits, sizeof bits);
    const char *kept = arena_copy(c->arena, &key, sizeof key);
    name_table_add(&c->constants, kept, sizeof key)->number = at;
    out.at = at;
    return out;
}

/* --- slots of symbols --- */

static int compare_slots(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct slot *)a)->sym;
    uintptr_t y = (uintptr_t)((const struct slot *)b)->sym;
    return x < y ? -1 : x > y;
}

struct slot *compile_slot_of(const struct compiler *c, const struct sym *s)
{
    struct slot key = {.sym = s};
    return bsearch(&key, c->slots, c->slot_count, sizeof key, compare_slots);
}

void compile_slots_make(struct compiler *c)
{
    size_t count = 0;
    for (const struct sym *s = c->kernel->symbols; s; s = s->next)
        count++;
    c->slots = arena_array(c->arena, struct slot, count);
    c->program->views = arena_array(c->arena, const struct sym *, count);
    for (const struct sym *s = c->kernel->symbols; s; s = s->next) {
        struct slot *slot = &c->slots[c->slot_count++];
        slot->sym = s;
        if (s->storage == ST_VIEW) {
            slot->view = c->program->view_count;
            c->program->views[c->program->view_count++] = s;
        }
    }
    qsort(c->slots, c->slot_count, sizeof *c->slots, compare_slots);
}
