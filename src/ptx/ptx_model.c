/* Queries on the data of a program. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

const struct ptx_directive_info ptx_directives[PTX_DIRECTIVE_COUNT] = {
#define X(id, name, most, version, target) [PTX_##id] = {name, most, version, target},
    PTX_DIRECTIVES(X)
#undef X
};

/* --- names --- */

/* Returns the name of a variable within a function: it is the end of the mangled name, after its
 * length. */
static const char *local_name(const char *mangled)
{
    for (size_t at = strlen(mangled); at-- > 3;) {
        char *end;
        if (mangled[at] == 'E' && mangled[at + 1] >= '1' && mangled[at + 1] <= '9' &&
            strtoul(mangled + at + 1, &end, 10) == strlen(end))
            return end;
    }
    return mangled;
}

const char *ptx_plain_name(struct arena *a, const char *mangled)
{
    const char *at = mangled + 2, *last = mangled;
    size_t length = strlen(mangled);
    if (strncmp(mangled, "_Z", 2) != 0)
        return mangled;
    if (mangled[2] == 'Z')
        return local_name(mangled);
    bool nested = *at == 'N';
    at += nested;
    while (*at >= '0' && *at <= '9') {
        char *end;
        unsigned long n = strtoul(at, &end, 10);
        if (n > strlen(end))
            break;
        last = end;
        length = n;
        at = end + n;
        if (!nested)
            break;
    }
    return arena_string(a, last, length);
}

/* --- instructions --- */

bool ptx_has(const struct ptx_instruction *ins, enum ptx_mod mod)
{
    for (int i = 0; i < ins->mod_count; i++)
        if (ins->mods[i] == mod)
            return true;
    return false;
}

enum ptx_mod ptx_find(const struct ptx_instruction *ins, enum ptx_class class, int nth)
{
    for (int i = 0; i < ins->mod_count; i++)
        if (ptx_mods[ins->mods[i]].class == class && nth-- == 0)
            return (enum ptx_mod)ins->mods[i];
    return MOD_NONE;
}

enum ptx_mod ptx_type(const struct ptx_instruction *ins, int nth)
{
    for (int i = 0; i < ins->mod_count; i++)
        if (ptx_is_type(ins->mods[i]) && nth-- == 0)
            return (enum ptx_mod)ins->mods[i];
    return MOD_NONE;
}

int ptx_vector_length(const struct ptx_instruction *ins)
{
    enum ptx_mod vector = ptx_find(ins, PTX_CLASS_VECTOR, 0);
    return vector ? ptx_mods[vector].bits : 1;
}

/* --- registers --- */

enum ptx_mod ptx_register_type(const struct ptx_function *f, uint32_t reg)
{
    return (enum ptx_mod)f->ranges.data[f->registers.data[reg].range]->type;
}

uint32_t ptx_registers_width(const struct ptx_registers *r)
{
    return r->vector ? r->vector : 1;
}

bool ptx_register_is_element(const struct ptx_function *f, uint32_t reg)
{
    return f->ranges.data[f->registers.data[reg].range]->vector != 0;
}

bool ptx_whole_vector(const struct ptx_function *f, const struct ptx_operand *o)
{
    if (o->kind != PTX_VECTOR || o->elements[0].kind != PTX_REGISTER)
        return false;
    uint32_t first = o->elements[0].reg;
    const struct ptx_register *r = &f->registers.data[first];
    const struct ptx_registers *range = f->ranges.data[r->range];
    bool whole = range->vector == o->count && r->number % o->count == 0;
    for (uint32_t i = 1; i < o->count; i++)
        whole = whole && o->elements[i].kind == PTX_REGISTER && o->elements[i].reg == first + i;
    return whole;
}

/* --- variables --- */

/* For int x[] = {1, 2} the initialiser gives the extent. */
int64_t ptx_variable_extent(const struct ptx_variable *v, int dimension)
{
    int64_t extent = v->extents[dimension];
    bool open = extent == PTX_UNKNOWN_EXTENT && dimension == 0;
    if (open && v->initial && v->initial->kind == PTX_INIT_LIST)
        return (int64_t)v->initial->list.count;
    return extent;
}

uint64_t ptx_variable_size(const struct ptx_variable *v)
{
    uint64_t size = ptx_mods[v->type].bits / 8u * v->vector;
    for (int i = 0; i < v->dimensions; i++) {
        int64_t extent = ptx_variable_extent(v, i);
        if (extent <= 0 || size > UINT64_MAX / (uint64_t)extent)
            return 0;
        size *= (uint64_t)extent;
    }
    return size;
}

/* Returns the bytes of all parameters, each at a multiple of its alignment. */
uint64_t ptx_signature_bytes(const struct ptx_signature *s)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->parameters.count; i++) {
        uint64_t alignment = ptx_variable_alignment(s->parameters.data[i]);
        if (alignment == 0) /* .pred: a register's */
            continue;
        bytes = (bytes + alignment - 1) / alignment * alignment;
        bytes += ptx_variable_size(s->parameters.data[i]);
    }
    return bytes;
}

uint32_t ptx_variable_alignment(const struct ptx_variable *v)
{
    return v->alignment ? v->alignment : ptx_mods[v->type].bits / 8u * v->vector;
}

/* --- modules --- */

struct ptx_module *ptx_module_new(struct arena *a, struct ptx_target target)
{
    struct ptx_module *m = arena_new(a, struct ptx_module);
    m->arena = a;
    m->target = target;
    m->address_size = 64;
    return m;
}

struct ptx_function *ptx_find_function(const struct ptx_module *m, const char *name)
{
    for (size_t i = 0; i < m->items.count; i++) {
        const struct ptx_item *item = &m->items.data[i];
        if (item->function && strcmp(item->function->name, name) == 0)
            return item->function;
    }
    return NULL;
}

struct ptx_variable *ptx_find_variable(const struct ptx_module *m, const char *name)
{
    for (size_t i = 0; i < m->items.count; i++) {
        const struct ptx_item *item = &m->items.data[i];
        if (item->kind == PTX_ITEM_VARIABLE && strcmp(item->variable->name, name) == 0)
            return item->variable;
    }
    return NULL;
}
