#include "thread/thread_build.h"

#include <string.h>

enum { MOST_GROUP = 256, MADE = 1024 };

/* An operation that was made. */
struct thread_made {
    const struct thread_operation *operation;
    const struct thread_region *region;
    size_t at; /* its place in the region, if that was not cut since */
};

const struct thread_turn thread_outside = {.copy = -1};

void thread_build_start(struct thread_builder *b, struct arena *a, const char *name,
                        struct ptx_target target)
{
    *b = (struct thread_builder){.arena = a, .where = LOC_NONE};
    b->function = arena_new(a, struct thread_function);
    b->function->name = name;
    b->function->target = target;
    b->function->where = LOC_NONE;
    b->region = b->function->body = arena_new(a, struct thread_region);
    b->made = arena_array(a, struct thread_made, MADE);
    b->turn = &thread_outside;
}

static void start_value(struct thread_builder *b, struct thread_value *v, struct thread_type type,
                        const struct thread_operation *definition)
{
    if (b->made)
        vec_push(b->arena, &b->definitions, definition);
    *v = (struct thread_value){.type = type, .where = b->where, .number = b->function->values++};
}

struct thread_value *thread_new_value(struct thread_builder *b, struct thread_type type)
{
    struct thread_value *v = arena_room(b->arena, sizeof *v);
    start_value(b, v, type, NULL);
    return v;
}

const struct thread_operation *thread_definition(const struct thread_builder *b,
                                                 const struct thread_operand *o)
{
    return o->kind == THREAD_VALUE ? b->definitions.data[o->value->number] : NULL;
}

struct thread_object *thread_new_object(struct thread_builder *b, const char *name,
                                        enum dtype dtype, uint32_t count, uint32_t at)
{
    struct thread_object *o = arena_new(b->arena, struct thread_object);
    *o = (struct thread_object){
        .name = name, .dtype = dtype, .count = count, .at = at, .where = b->where};
    vec_push(b->arena, &b->function->objects, o);
    return o;
}

struct thread_object *thread_new_table(struct thread_builder *b, const char *name, enum dtype dtype,
                                       uint32_t count, const struct thread_operand *values)
{
    struct thread_object *o = arena_new(b->arena, struct thread_object);
    *o = (struct thread_object){
        .name = name, .dtype = dtype, .count = count, .where = b->where, .values = values};
    vec_push(b->arena, &b->function->tables, o);
    return o;
}

struct thread_object *thread_new_local(struct thread_builder *b, const char *name, enum dtype dtype,
                                       uint32_t count)
{
    struct thread_object *o = arena_new(b->arena, struct thread_object);
    *o = (struct thread_object){
        .name = name, .dtype = dtype, .count = count, .where = b->where, .is_local = true};
    vec_push(b->arena, &b->function->locals, o);
    return o;
}

/* --- operands --- */

struct thread_operand thread_use(struct thread_value *v)
{
    return (struct thread_operand){.kind = THREAD_VALUE, .value = v};
}

struct thread_operand thread_integer(int64_t v)
{
    return (struct thread_operand){.kind = THREAD_INTEGER, .integer = v};
}

struct thread_operand thread_real(double v)
{
    return (struct thread_operand){.kind = THREAD_FLOAT, .real = v};
}

struct thread_operand thread_text(const char *text)
{
    return (struct thread_operand){.kind = THREAD_TEXT, .text = text};
}

struct thread_operand thread_element(const struct thread_object *object,
                                     struct thread_operand index, int64_t more)
{
    struct thread_operand o = {.kind = THREAD_ELEMENT, .object = object};
    o.value = index.kind == THREAD_VALUE ? index.value : NULL;
    o.integer = more + (index.kind == THREAD_INTEGER ? index.integer : 0);
    return o;
}

/* --- types of results --- */

static uint16_t elements_of(const struct thread_operand *o)
{
    return o->kind == THREAD_VALUE ? o->value->type.count : 1;
}

static uint16_t longest(const struct thread_operation *o)
{
    uint16_t count = 1;
    for (size_t i = 0; i < o->operands.count; i++)
        if (elements_of(&o->operands.data[i]) > count)
            count = elements_of(&o->operands.data[i]);
    return count;
}

static uint16_t result_count(const struct thread_operation *o)
{
    int64_t count = 0;
    switch (o->op) {
    case THREAD_REDUCE_MAX:
    case THREAD_REDUCE_MIN:
    case THREAD_REDUCE_ADD:
    case THREAD_REDUCE_AND:
    case THREAD_REDUCE_OR: return 1;
    case THREAD_MMA: return elements_of(&o->operands.data[0]);
    case THREAD_PART:
        if (o->operands.count > 2 && o->operands.data[2].kind == THREAD_INTEGER)
            count = o->operands.data[2].integer;
        break;
    case THREAD_JOIN:
    case THREAD_WEAVE:
        for (size_t i = 0; i < o->operands.count; i++)
            count += elements_of(&o->operands.data[i]);
        break;
    default: return thread_states_count(o->op) ? 1 : longest(o);
    }
    return count < 1 || count > MOST_GROUP ? 0 : (uint16_t)count;
}

struct thread_type thread_result_type(const struct thread_operation *o, char kind)
{
    struct thread_type type = {.dtype = o->types[0], .count = 1};
    switch (kind) {
    case 'c':
        type.dtype = DT_BOOL;
        type.count = longest(o);
        break;
    case 'p': type.dtype = DT_BOOL; break;
    case 'i': type.dtype = DT_U32; break;
    case 'd': type.dtype = DT_U64; break;
    case 'w':
        type.in_flight = true;
        if (o->operands.count > 0)
            type.count = elements_of(&o->operands.data[0]);
        break;
    default: type.count = result_count(o); break;
    }
    return type;
}

/* --- operations --- */

struct thread_operation *thread_add_control(struct thread_builder *b, enum thread_opcode op)
{
    struct thread_operation *o = arena_new(b->arena, struct thread_operation);
    o->op = op;
    for (int i = 0; i < THREAD_TYPES; i++)
        o->types[i] = DT_NONE;
    o->where = b->where;
    o->turn = b->turn;
    vec_push(b->arena, &b->region->operations, o);
    return o;
}

/* Returns whether the operation makes a group whatever its operands are. */
static bool makes_group(const struct thread_operation *o)
{
    return o->op == THREAD_MMA || o->op == THREAD_JOIN || o->op == THREAD_WEAVE ||
           (o->op == THREAD_PART && result_count(o) != 1);
}

/* Returns the place for the operation if one that was made earlier may serve. */
static struct thread_made *made_of(const struct thread_builder *b, const struct thread_operation *o)
{
    if (!b->made || thread_op_table[o->op].effects != THREAD_PURE || o->op == THREAD_UNDEFINED ||
        makes_group(o))
        return NULL;
    return &b->made[thread_hash_operation(o) % MADE];
}

/* Returns whether the operation still ends in the builder's region, and computes the single value that `o` would. */
static bool serves(const struct thread_builder *b, const struct thread_made *made,
                   const struct thread_operation *o)
{
    return made->operation && made->region == b->region && made->at < b->region->operations.count &&
           b->region->operations.data[made->at] == made->operation &&
           thread_same_operation(made->operation, o);
}

/* An operation and what belongs to most of them, in one piece of memory: a piece for each took most of the time. */
struct operation_piece {
    struct thread_operation operation;
    struct thread_value *result; /* the only element of the operation's list */
    struct thread_value value;
    struct thread_operand operands[];
};

struct thread_value *thread_add_typed(struct thread_builder *b, enum thread_opcode op,
                                      const enum dtype types[THREAD_TYPES],
                                      uint16_t count_of_result,
                                      const struct thread_operand *operands, size_t count)
{
    struct thread_operation wanted; /* only what tells equal operations is set */
    wanted.op = op;
    wanted.operands.data = (struct thread_operand *)operands; /* which are only read */
    wanted.operands.count = count;
    memcpy(wanted.types, types, sizeof wanted.types);
    struct thread_made *made = count_of_result > 1 ? NULL : made_of(b, &wanted);
    if (made && serves(b, made, &wanted))
        return made->operation->results.data[0];
    struct operation_piece *piece =
        arena_room(b->arena, sizeof *piece + count * sizeof *piece->operands);
    struct thread_operation *o = &piece->operation;
    o->op = op;
    memcpy(o->types, types, sizeof o->types);
    o->where = b->where;
    o->turn = b->turn;
    o->unroll = 0;
    o->operands.data = piece->operands;
    o->operands.count = o->operands.capacity = count;
    memset(&o->results, 0, sizeof o->results);
    memset(&o->regions, 0, sizeof o->regions);
    for (size_t i = 0; i < count; i++)
        piece->operands[i] = operands[i];
    vec_push(b->arena, &b->region->operations, o);
    for (const char *kind = thread_op_table[op].results; *kind; kind++) {
        struct thread_type type = thread_result_type(o, *kind);
        if (count_of_result)
            type.count = count_of_result;
        if (o->results.count > 0) {
            vec_push(b->arena, &o->results, thread_new_value(b, type));
            continue;
        }
        start_value(b, &piece->value, type, o);
        piece->result = &piece->value;
        o->results.data = &piece->result;
        o->results.count = o->results.capacity = 1;
    }
    if (o->results.count == 0)
        return NULL;
    if (made && o->results.count == 1 && o->results.data[0]->type.count == 1)
        *made = (struct thread_made){o, b->region, b->region->operations.count - 1};
    return o->results.data[0];
}

struct thread_value *thread_add_counted(struct thread_builder *b, enum thread_opcode op,
                                        enum dtype t, enum dtype from, uint16_t count_of_result,
                                        const struct thread_operand *operands, size_t count)
{
    const enum dtype types[THREAD_TYPES] = {t, from, DT_NONE};
    return thread_add_typed(b, op, types, count_of_result, operands, count);
}
