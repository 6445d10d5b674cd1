/* Compiles the sizes of a launch to programs (size_step.h). */
#include "tile/launch_sizes.h"

#include "base/grid.h"
#include "base/text.h"

#include <limits.h>
#include <string.h>

struct compiler {
    struct arena *arena;
    VEC(struct size_step) steps;
    VEC(const struct expr *) places;
    VEC(int32_t) starts; /* of parts */
    VEC(size_t) roots;   /* their first steps */
    bool once;           /* a root that is there already is not added again */
    bool alone;          /* SIZE_OTHER is not available */
};

/* --- steps --- */

static void add_step(struct compiler *c, struct size_step step, const struct expr *place)
{
    vec_push(c->arena, &c->steps, step);
    vec_push(c->arena, &c->places, place);
}

static void add(struct compiler *c, enum size_op op, enum size_type type, int64_t index,
                const struct expr *place)
{
    add_step(c, (struct size_step){.op = op, .type = type, .index = (int32_t)index}, place);
}

static void add_number(struct compiler *c, int64_t v)
{
    add_step(c, (struct size_step){.op = SIZE_NUMBER, .value = v}, NULL);
}

static int64_t bits_of(const struct literal *x)
{
    int64_t bits = x->i;
    if (x->is_float)
        memcpy(&bits, &x->f, sizeof bits);
    return bits;
}

/* Returns false for floats, and for other values. */
static bool integer_type(enum dtype t, enum size_type *out)
{
    switch (t) {
    case DT_I64: *out = SIZE_I64; return true;
    case DT_I32: *out = SIZE_I32; return true;
    case DT_I16: *out = SIZE_I16; return true;
    case DT_I8: *out = SIZE_I8; return true;
    case DT_U64: *out = SIZE_U64; return true;
    case DT_U32: *out = SIZE_U32; return true;
    case DT_U16: *out = SIZE_U16; return true;
    case DT_U8: *out = SIZE_U8; return true;
    case DT_BOOL: *out = SIZE_BOOL; return true;
    default: return false;
    }
}

static bool binary_op(enum op op, enum size_op *out)
{
    switch (op) {
    case OP_ADD: *out = SIZE_ADD; return true;
    case OP_SUB: *out = SIZE_SUB; return true;
    case OP_MUL: *out = SIZE_MUL; return true;
    case OP_DIV: *out = SIZE_DIV; return true;
    case OP_REM: *out = SIZE_REM; return true;
    case OP_CDIV: *out = SIZE_CDIV; return true;
    case OP_MIN: *out = SIZE_LESSER; return true;
    case OP_MAX: *out = SIZE_GREATER; return true;
    case OP_SHL: *out = SIZE_SHL; return true;
    case OP_SHR: *out = SIZE_SHR; return true;
    case OP_AND: *out = SIZE_AND; return true;
    case OP_OR: *out = SIZE_OR; return true;
    case OP_XOR: *out = SIZE_XOR; return true;
    case OP_LT: *out = SIZE_LT; return true;
    case OP_GT: *out = SIZE_GT; return true;
    case OP_LE: *out = SIZE_LE; return true;
    case OP_GE: *out = SIZE_GE; return true;
    case OP_EQ: *out = SIZE_EQ; return true;
    case OP_NE: *out = SIZE_NE; return true;
    default: return false;
    }
}

/* --- expressions. Each function returns the places that its steps need on the stack --- */

static int add_value(struct compiler *c, const struct expr *e);

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Exchanges the steps from `start` to `middle` with those after them. */
static void exchange(struct compiler *c, size_t start, size_t middle)
{
    size_t first = middle - start, second = c->steps.count - middle;
    struct size_step *steps = &c->steps.data[start],
                     *kept = arena_array(c->arena, struct size_step, first);
    const struct expr **places = &c->places.data[start];
    const struct expr **kept_places = arena_array(c->arena, const struct expr *, first);
    memcpy(kept, steps, first * sizeof *steps);
    memcpy(kept_places, places, first * sizeof *places);
    memmove(steps, steps + first, second * sizeof *steps);
    memmove(places, places + first, second * sizeof *places);
    memcpy(steps + second, kept, first * sizeof *steps);
    memcpy(places + second, kept_places, first * sizeof *places);
}

/* Adds an operation of the caller: operands of these types, a result of type t. */
static void add_other(struct compiler *c, const struct expr *e, enum op op, enum dtype t,
                      const enum dtype *operands, int count)
{
    uint64_t types = (uint64_t)t << 8 * SIZE_OPERANDS;
    for (int i = 0; i < count; i++)
        types |= (uint64_t)operands[i] << 8 * i;
    add_step(c,
             (struct size_step){
                 .op = SIZE_OTHER, .detail = (uint16_t)op, .index = count, .value = (int64_t)types},
             e);
}

/* Converts the top of the stack. */
static void add_conversion(struct compiler *c, const struct expr *e, enum dtype from, enum dtype to)
{
    enum size_type source, type;
    if (from == to)
        return;
    if (!integer_type(from, &source) || !integer_type(to, &type))
        add_other(c, e, OP_CAST, to, &from, 1);
    else if (to == DT_BOOL)
        add(c, SIZE_TRUTH, type, 0, NULL);
    else
        add(c, SIZE_FIT, type, source, e);
}

static int add_converted(struct compiler *c, const struct expr *e, enum dtype to)
{
    int need = add_value(c, e);
    add_conversion(c, e, e->type.dtype, to);
    return need;
}

/* Steps that leave an operand on the stack, and the places that they need. */
struct operand_steps {
    size_t start;
    int need;
};

/* Adds an operation of two operands; the second one's steps are the last. The operand that needs more
 * of the stack comes first, here and in sort_operand: so SIZE_DEPTH is enough for any expression
 * (Sethi and Ullman, 1970). */
static int add_joined(struct compiler *c, struct operand_steps first, struct operand_steps second,
                      enum size_op op, enum size_type type, const struct expr *place)
{
    if (second.need > first.need) {
        exchange(c, first.start, second.start);
        add(c, SIZE_SWAP, type, 0, NULL);
    }
    add(c, op, type, 0, place);
    return second.need > first.need ? larger(second.need, first.need + 1)
                                    : larger(first.need, second.need + 1);
}

static struct operand_steps add_operand(struct compiler *c, const struct expr *e, enum dtype t)
{
    const size_t start = c->steps.count;
    return (struct operand_steps){start, add_converted(c, e, t)};
}

static int add_binary(struct compiler *c, const struct expr *e, enum size_op op, enum dtype t,
                      enum dtype second_type)
{
    enum size_type type = SIZE_I64;
    struct operand_steps first = add_operand(c, e->args[0], t);
    struct operand_steps second = add_operand(c, e->args[1], second_type);
    integer_type(t, &type);
    return add_joined(c, first, second, op, type, e);
}

/* Moves operand i, whose steps are the last, before those that need less. sorted: i operands, in
 * the order of their steps; order: their numbers. */
static void sort_operand(struct compiler *c, struct operand_steps *sorted, int *order, int i,
                         struct operand_steps last)
{
    const size_t length = c->steps.count - last.start;
    int at = i;
    for (; at > 0 && sorted[at - 1].need < last.need; at--) {
        sorted[at] = sorted[at - 1];
        sorted[at].start += length;
        order[at] = order[at - 1];
    }
    if (at < i) {
        const size_t start = sorted[at + 1].start - length;
        exchange(c, start, last.start);
        last.start = start;
    }
    sorted[at] = last;
    order[at] = i;
}

/* order: the operands' numbers, in the order of the stack. */
static int add_operands(struct compiler *c, const struct expr *const *operands, int count,
                        enum dtype *types, int *order)
{
    struct operand_steps sorted[SIZE_OPERANDS];
    int need = 0;
    for (int i = 0; i < count; i++) {
        types[i] = operands[i]->type.dtype;
        sort_operand(c, sorted, order, i, add_operand(c, operands[i], types[i]));
    }
    for (int i = 0; i < count; i++)
        need = larger(need, i + sorted[i].need);
    return need;
}

/* An operation of floats, or a rare one. A sum of floats is contracted with its product. */
static int add_rare(struct compiler *c, const struct expr *e)
{
    const struct expr *operands[SIZE_OPERANDS] = {NULL};
    enum dtype types[SIZE_OPERANDS];
    int order[SIZE_OPERANDS];
    int at = e->count == 2 ? expr_contracted(e) : -1, count = at >= 0 ? 3 : e->count;
    if (count > SIZE_OPERANDS || (int)e->type.dtype < 0 || e->type.rank != 0)
        count = 0; /* it has no value */
    for (int i = 0; i < count; i++)
        operands[i] = at < 0 ? e->args[i] : i < 2 ? e->args[at]->args[i] : e->args[1 - at];
    int need = add_operands(c, operands, count, types, order);
    add_other(c, e, count == e->count || at >= 0 ? e->op : OP_REF, e->type.dtype, types, count);
    struct size_step *step = &c->steps.data[c->steps.count - 1];
    for (int i = 0; i < count; i++)
        step->value |= size_other_order(order[i], i);
    if (at >= 0)
        step->type = (uint8_t)at;
    return larger(need, 1);
}

/* Adds the operand of a condition as 0 or 1. */
static int add_truth(struct compiler *c, const struct expr *e)
{
    enum dtype t = e->type.dtype;
    int need = add_value(c, e);
    if (dtype_is_float(t)) {
        add_other(c, e, OP_NOT, DT_BOOL, &t, 1);
        add_number(c, 1);
        add(c, SIZE_XOR, SIZE_BOOL, 0, NULL);
        return larger(need, 2);
    }
    if (t != DT_BOOL)
        add(c, SIZE_TRUTH, SIZE_BOOL, 0, NULL);
    return need;
}

/* Adds a jump over the steps from the next one on; land sets their number. */
static size_t add_jump(struct compiler *c, enum size_op op)
{
    add(c, op, SIZE_I64, 0, NULL);
    return c->steps.count;
}

static void land(struct compiler *c, size_t jump)
{
    c->steps.data[jump - 1].index = (int32_t)(c->steps.count - jump);
}

static int add_choice(struct compiler *c, const struct expr *e)
{
    int need = add_truth(c, e->args[0]);
    size_t unless = add_jump(c, SIZE_UNLESS);
    need = larger(need, add_converted(c, e->args[1], e->type.dtype));
    size_t skip = add_jump(c, SIZE_SKIP);
    land(c, unless);
    need = larger(need, add_converted(c, e->args[2], e->type.dtype));
    land(c, skip);
    return need;
}

static int add_lazy(struct compiler *c, const struct expr *e)
{
    int need = add_truth(c, e->args[0]);
    size_t jump = add_jump(c, e->op == OP_LAND ? SIZE_AND_THEN : SIZE_OR_ELSE);
    need = larger(need, add_truth(c, e->args[1]));
    land(c, jump);
    return need;
}

static int add_lookup(struct compiler *c, const struct expr *e)
{
    int64_t count = e->sym->type.extent[0];
    int need = add_value(c, e->args[1]);
    add(c, SIZE_LOOKUP, SIZE_I64, count, e);
    for (int64_t i = 0; i < count; i++)
        add_number(c, bits_of(&e->sym->table[i]));
    return need;
}

static int add_ref(struct compiler *c, const struct expr *e)
{
    const struct sym *s = e->sym;
    enum dtype t = e->type.dtype;
    static const enum dtype words[] = {DT_U8, DT_U16, DT_U32, DT_U64};
    if (s->storage != ST_PARAM || s->is_pointer)
        return add_rare(c, e);
    add(c, SIZE_PARAM, SIZE_I64, s->index, NULL);
    if (dtype_is_float(t)) {
        size_t bytes = dtype_size(t);
        add_other(c, e, OP_BITS, t,
                  &words[bytes == 1   ? 0
                         : bytes == 2 ? 1
                         : bytes == 4 ? 2
                                      : 3],
                  1);
    }
    return 1;
}

/* Operations of one number. */
static int add_unary(struct compiler *c, const struct expr *e, enum size_type type)
{
    int need =
        add_converted(c, e->args[0], e->op == OP_NOT ? e->args[0]->type.dtype : e->type.dtype);
    bool is_signed = dtype_is_signed(e->type.dtype);
    switch (e->op) {
    case OP_POW2_CEIL: add(c, SIZE_POW2_CEIL, type, 0, e); return need;
    case OP_SQUARE:
        add(c, SIZE_COPY, type, 0, NULL);
        add(c, SIZE_MUL, type, 0, e);
        return larger(need, 2);
    case OP_INVERT:
        add_number(c, type == SIZE_BOOL ? 1
                      : is_signed || type == SIZE_U64
                          ? -1
                          : (int64_t)(UINT64_MAX >> (64 - dtype_table[e->type.dtype].bits)));
        add(c, SIZE_XOR, type, 0, e);
        return larger(need, 2);
    case OP_NOT:
        add_number(c, 0);
        add(c, SIZE_EQ, SIZE_I64, 0, e);
        return larger(need, 2);
    case OP_ABS:
        if (!is_signed)
            return need;
        add(c, SIZE_COPY, type, 0, NULL);
        break;
    default: break;
    }
    add_number(c, 0);
    add(c, SIZE_SWAP, type, 0, NULL);
    add(c, SIZE_SUB, type, 0, e);
    if (e->op == OP_ABS)
        add(c, SIZE_GREATER, type, 0, NULL);
    return larger(need, e->op == OP_ABS ? 3 : 2);
}

static int add_clip(struct compiler *c, const struct expr *e, enum size_type type)
{
    struct operand_steps value = add_operand(c, e->args[0], e->type.dtype);
    struct operand_steps least = add_operand(c, e->args[1], e->type.dtype);
    value.need = add_joined(c, value, least, SIZE_GREATER, type, NULL);
    struct operand_steps most = add_operand(c, e->args[2], e->type.dtype);
    return add_joined(c, value, most, SIZE_LESSER, type, NULL);
}

static bool all_integers(const struct expr *e)
{
    enum size_type ignored;
    bool all = e->type.rank == 0 && integer_type(e->type.dtype, &ignored);
    for (int i = 0; i < e->count; i++)
        all = all && e->args[i]->type.rank == 0 && integer_type(e->args[i]->type.dtype, &ignored);
    return all;
}

static int add_integer(struct compiler *c, const struct expr *e)
{
    enum size_type type;
    enum size_op op;
    enum dtype t = e->type.dtype;
    integer_type(t, &type);
    bool bits = op_table[e->op].class == CLASS_BITWISE,
         compares = op_table[e->op].class == CLASS_COMPARE;
    if (t == DT_BOOL && !bits && !compares && e->op != OP_NOT && e->op != OP_CAST)
        return add_rare(c, e);
    if (e->count == 2 && binary_op(e->op, &op)) {
        enum dtype in = compares ? dtype_join(e->args[0]->type.dtype, e->args[1]->type.dtype) : t;
        bool shifts = op == SIZE_SHL || op == SIZE_SHR;
        return add_binary(c, e, op, in, shifts ? e->args[1]->type.dtype : in);
    }
    if (e->op == OP_CAST) {
        int need = add_value(c, e->args[0]);
        add_conversion(c, e, e->args[0]->type.dtype, t);
        return need;
    }
    switch (e->op) {
    case OP_NEG:
    case OP_ABS:
    case OP_SQUARE:
    case OP_POW2_CEIL:
    case OP_INVERT:
    case OP_NOT: return add_unary(c, e, type);
    case OP_CLIP: return add_clip(c, e, type);
    default: return add_rare(c, e);
    }
}

static int add_value(struct compiler *c, const struct expr *e)
{
    struct literal known;
    bool bound = e->op == OP_REF && (e->sym->storage == ST_CONST || e->sym->has_value);
    if ((e->op == OP_LITERAL || bound) && eval_scalar(e, NULL, &known)) {
        add_number(c, bits_of(&known));
        return 1;
    }
    switch (e->op) {
    case OP_REF: return add_ref(c, e);
    case OP_LOOKUP: return add_lookup(c, e);
    case OP_SELECT:
    case OP_WHERE: return add_choice(c, e);
    case OP_LAND:
    case OP_LOR: return add_lazy(c, e);
    default: return all_integers(e) ? add_integer(c, e) : add_rare(c, e);
    }
}

/* --- roots --- */

static void drop_from(struct compiler *c, size_t start)
{
    c->steps.count = c->places.count = start;
}

static bool needs_other(const struct compiler *c, size_t start)
{
    bool needs = false;
    for (size_t i = start; i < c->steps.count; i++)
        needs = needs || c->steps.data[i].op == SIZE_OTHER;
    return needs;
}

/* Ends the root that begins at `start`. Returns false, and adds nothing, if it cannot be computed
 * alone. */
static bool end_root(struct compiler *c, size_t start, struct size_step end,
                     const struct expr *place)
{
    if (c->alone && needs_other(c, start)) {
        drop_from(c, start);
        return false;
    }
    add_step(c, end, place);
    size_t length = c->steps.count - start;
    for (size_t i = 0; c->once && i < c->roots.count; i++) {
        size_t other = c->roots.data[i];
        size_t after = i + 1 < c->roots.count ? c->roots.data[i + 1] : start;
        if (after - other == length && memcmp(&c->steps.data[other], &c->steps.data[start],
                                              length * sizeof *c->steps.data) == 0) {
            drop_from(c, start);
            return true;
        }
    }
    vec_push(c->arena, &c->roots, start);
    return true;
}

static bool add_root(struct compiler *c, const struct expr *e, struct size_step end)
{
    size_t start = c->steps.count;
    add_value(c, e);
    return end_root(c, start, end, e);
}

/* Adds the check of a stride or an offset. A single name or number needs none: it may have any
 * value. */
static void add_checked(struct compiler *c, const struct expr *e)
{
    if (e && e->count > 0)
        add_root(c, e, (struct size_step){.op = SIZE_RESULT, .index = SIZE_NO_RESULT});
}

static void add_extent(struct compiler *c, const struct expr *e)
{
    int64_t value;
    bool known = eval_int(e, NULL, &value) && !eval_overflow(e, NULL, true);
    if (!e || (known && value >= 0))
        return;
    if (e->op != OP_REF || known)
        add_root(c, e, (struct size_step){.op = SIZE_EXTENT, .index = SIZE_NO_RESULT});
    else
        end_root(c, c->steps.count, (struct size_step){.op = SIZE_AXIS, .index = e->sym->index}, e);
}

/* Adds the checks of all views. */
static void add_checks(struct compiler *c, const struct kernel *k)
{
    for (const struct sym *view = k->symbols; view; view = view->next) {
        if (view->storage != ST_VIEW)
            continue;
        add_checked(c, view->base_offset);
        for (int i = 0; i < view->type.rank; i++) {
            add_extent(c, view->dims[i]);
            add_checked(c, view->strides[i]);
        }
    }
}

/* Returns the axis whose blocks cannot be computed; -1: all can. */
static int add_grid(struct compiler *c, const struct kernel *k)
{
    int failed = -1;
    for (int i = 0; i < 3; i++) {
        struct size_step end = {.op = SIZE_GRID, .index = i, .value = grid_limits[i]};
        if (k->grid[i] && !add_root(c, k->grid[i], end))
            failed = i;
    }
    return failed;
}

/* Adds the bytes of a workspace. */
static bool add_bytes(struct compiler *c, const struct sym *view, int32_t result)
{
    size_t start = c->steps.count;
    add_number(c, (int64_t)dtype_size(view->type.dtype));
    for (int i = 0; i < view->type.rank; i++) {
        add_converted(c, view->dims[i], DT_I64);
        add(c, SIZE_MUL, SIZE_I64, 0, NULL);
    }
    return end_root(c, start, (struct size_step){.op = SIZE_RESULT, .index = result}, NULL);
}

/* Adds all numbers of a view, as members of struct view_sizes. */
static void add_numbers(struct compiler *c, const struct sym *view)
{
    enum { BYTES = 1, EXTENTS = 2, STRIDES = EXTENTS + MAX_RANK };
    if (view->base_offset)
        add_root(c, view->base_offset, (struct size_step){.op = SIZE_RESULT, .index = 0});
    for (int i = 0; i < MAX_RANK && view->dims[i]; i++) {
        add_root(c, view->dims[i], (struct size_step){.op = SIZE_EXTENT, .index = EXTENTS + i});
        if (view->strides[i])
            add_root(c, view->strides[i],
                     (struct size_step){.op = SIZE_RESULT, .index = STRIDES + i});
    }
    if (!view->base)
        add_bytes(c, view, BYTES);
}

/* --- programs --- */

static void begin_part(struct compiler *c)
{
    vec_push(c->arena, &c->starts, (int32_t)c->steps.count);
}

static void finish(struct compiler *c, struct launch_sizes *s)
{
    s->parts = (int32_t)c->starts.count;
    begin_part(c);
    s->count = (int32_t)c->steps.count;
    s->steps = c->steps.data;
    s->places = c->places.data;
    s->starts = c->starts.data;
}

void launch_sizes_compile(struct launch_sizes *s, struct arena *a, const struct kernel *k)
{
    struct compiler c = {.arena = a, .once = true};
    begin_part(&c);
    add_grid(&c, k);
    add_checks(&c, k);
    finish(&c, s);
}

void launch_sizes_compile_all(struct launch_sizes *s, struct arena *a, const struct kernel *k,
                              const struct sym *const *views, int view_count)
{
    struct compiler c = {.arena = a};
    begin_part(&c);
    add_grid(&c, k);
    for (int i = 0; i < view_count; i++) {
        begin_part(&c);
        add_numbers(&c, views[i]);
    }
    finish(&c, s);
}

void launch_derived_compile(struct launch_sizes *s, struct arena *a,
                            const struct derived_param *params, int count)
{
    struct compiler c = {.arena = a};
    begin_part(&c);
    for (int i = 0; i < count; i++) {
        struct size_step end = {.op = SIZE_RESULT, .index = i};
        enum size_type type = SIZE_I64;
        if (!params[i].value)
            continue;
        integer_type(params[i].dtype, &type);
        end.type = (uint8_t)type;
        add_root(&c, params[i].value, end);
    }
    finish(&c, s);
}

/* --- programs to ship --- */

/* Adds whether a view has elements: then its array must not be NULL. One bit per parameter: 64 are
 * enough. */
static void add_need(struct compiler *c, const struct kernel *k, const struct sym *view)
{
    size_t start = c->steps.count;
    if (!view->base || view->base->index >= 64 || !kernel_uses(k, view))
        return;
    add_number(c, 1);
    for (int i = 0; i < view->type.rank; i++) {
        add_converted(c, view->dims[i], DT_I64);
        add_number(c, 0);
        add(c, SIZE_GT, SIZE_I64, 0, NULL);
        add(c, SIZE_AND, SIZE_BOOL, 0, NULL);
    }
    end_root(c, start,
             (struct size_step){.op = SIZE_BIT, .index = SIZE_NEEDS, .value = view->base->index},
             NULL);
}

/* Adds the assumptions at the top of the body that a person wrote. */
static void add_assumptions(struct compiler *c, const struct kernel *k)
{
    for (const struct stmt *s = k->body; s; s = s->next) {
        bool assumes = s->kind == STMT_EFFECT && s->value->op == OP_ASSUME;
        if (!assumes && s->kind != STMT_DECL)
            return;
        if (assumes && !s->added)
            add_root(c, s->value->args[0], (struct size_step){.op = SIZE_ASSUME});
    }
}

/* Adds the rooms of the workspace. Returns the first that cannot be computed; NULL: all can. */
static const struct sym *add_rooms(struct compiler *c, const struct size_shipped *shipped)
{
    const struct sym *failed = NULL;
    for (int i = 0; i < shipped->room_count; i++) {
        size_t start = c->steps.count;
        int32_t result = SIZE_ROOMS + i;
        if (!shipped->rooms[i]) {
            add_number(c, (int64_t)sizeof(uint32_t));
            end_root(c, start, (struct size_step){.op = SIZE_RESULT, .index = result}, NULL);
        } else if (!add_bytes(c, shipped->rooms[i], result)) {
            failed = failed ? failed : shipped->rooms[i];
        }
    }
    return failed;
}

/* Adds the numbers of a view that has a tensor map. Returns false if one cannot be computed. */
static bool add_mapped(struct compiler *c, const struct sym *view, int32_t first)
{
    struct size_step offset = {.op = SIZE_RESULT, .index = first};
    bool known = !view->base_offset || add_root(c, view->base_offset, offset);
    for (int i = 0; i < view->type.rank; i++) {
        struct size_step extent = {.op = SIZE_EXTENT, .index = first + 1 + i};
        struct size_step stride = {.op = SIZE_RESULT, .index = first + 1 + MAP_AXES + i};
        known = add_root(c, view->dims[i], extent) && known;
        known = (!view->strides[i] || add_root(c, view->strides[i], stride)) && known;
    }
    return known;
}

bool launch_sizes_ship(struct launch_sizes *s, struct arena *a, const struct kernel *k,
                       const struct size_shipped *shipped, struct size_unshippable *why)
{
    struct compiler c = {.arena = a, .once = true, .alone = true};
    *why = (struct size_unshippable){.axis = -1};
    begin_part(&c);
    add_checks(&c, k);
    for (const struct sym *view = k->symbols; view; view = view->next)
        if (view->storage == ST_VIEW)
            add_need(&c, k, view);
    add_assumptions(&c, k);
    if (shipped->room_count >= 0) {
        c.once = false; /* each result has a step of its own */
        why->axis = add_grid(&c, k);
        why->room = add_rooms(&c, shipped);
    }
    for (int i = 0; i < shipped->view_count; i++)
        if (!add_mapped(&c, shipped->views[i],
                        SIZE_ROOMS + shipped->room_count + SIZE_MAP_NUMBERS * i))
            why->view = shipped->views[i];
    finish(&c, s);
    return why->axis < 0 && !why->room && !why->view;
}

bool launch_sizes_shippable(const struct launch_sizes *s)
{
    bool shippable = true;
    for (int i = 0; i < s->count; i++)
        shippable = shippable && s->steps[i].op != SIZE_OTHER;
    return shippable;
}

/* --- faults --- */

const char *size_fault_text(struct arena *a, const struct launch_sizes *s,
                            const struct size_fault *fault, const char *name)
{
    struct text code;
    size_t length;
    const struct expr *e = size_fault_place(s, fault);
    const char *written = expr_written(e, &length);
    if (written)
        return size_fault_message(a, s, fault, written, length, name);
    text_init(&code, a);
    expr_print(&code, e);
    return size_fault_message(a, s, fault, code.data, code.length, name);
}
