/* Statements that are added, and values that fit their place. */
#include "lang/check_internal.h"

#include <string.h>

struct stmt *check_emit(struct checker *c, enum stmt_kind kind, struct loc loc)
{
    struct stmt *s = stmt_new(c->kernel, kind, loc);
    s->inlined = c->frames ? c->frames->inlined : NULL;
    s->start = c->start;
    *c->tail = s;
    c->tail = &s->next;
    return s;
}

/* Notes the slice to write if an element, `C[i][j]`, is given a value that has axes. Returns false
 * if the name is of no element that has as many indices as the value has axes, or more. */
static bool note_slice(struct checker *c, const char *name, const struct expr *value)
{
    const char *end[MAX_RANK], *at = strchr(name, '[');
    int count = 0, depth = 0;
    for (; at && *at; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at == ']' && depth == 0 && count < MAX_RANK)
            end[count++] = at;
    }
    if (count < value->type.rank || depth != 0)
        return false;
    struct text slice;
    text_init(&slice, c->arena);
    for (int i = 0; i < count; i++) {
        const char *from = i ? end[i - 1] + 1 : name;
        int axis = i - (count - value->type.rank);
        text_printf(&slice, "%.*s", (int)(end[i] - from), from);
        if (axis >= 0)
            text_printf(&slice, " +: %lld", (long long)value->type.extent[axis]);
        text_add(&slice, "]");
    }
    struct loc place = check_expr_place(c, value);
    diag_note(c->diag, place, "to write all of it: `%s = %s`", slice.data,
              place.source ? check_source_snippet(c, place) : "…");
    return true;
}

/* Notes the tile to declare if a scalar is given a value that has axes. */
static void note_missing_extents(struct checker *c, const struct type *to, const struct expr *value,
                                 const char *name)
{
    if (to->rank > 0 || value->type.rank == 0 || note_slice(c, name, value))
        return;
    struct type type = value->type;
    type.dtype = to->dtype;
    diag_note(c->diag, check_expr_place(c, value), "to keep all of it declare a tile: `reg %s x%s`",
              dtype_table[to->dtype].name,
              type_text(c->arena, &type) + strlen(dtype_table[to->dtype].name));
}

/* Notes the way out if only an axis of extent 1, which a reduction kept, makes the value not
 * fit. Returns false if it does not. */
static bool note_axis_left(struct checker *c, const struct type *to, const struct expr *value)
{
    const struct type *from = &value->type;
    struct loc at = check_expr_place(c, value);
    int axis = 0, next = 0;
    while (axis < to->rank && from->extent[axis] == to->extent[axis])
        axis++;
    if (from->rank != to->rank + 1 || from->extent[axis] != 1)
        return false;
    struct text shape;
    text_init(&shape, c->arena);
    for (; next < to->rank && from->extent[next + (next >= axis)] == to->extent[next]; next++)
        text_printf(&shape, ", %lld", (long long)to->extent[next]);
    if (next < to->rank)
        return false;
    diag_note(c->diag, at, "a reduction keeps its axis with extent 1; to drop it: `reshape(%s%s)`",
              at.length > 60 ? "…" : check_source_snippet(c, at), shape.data);
    return true;
}

static bool is_elementwise(enum op op)
{
    enum op_class class = op_table[op].class;
    return class == CLASS_ARITH || class == CLASS_COMPARE || class == CLASS_LOGIC ||
           class == CLASS_FLOAT || class == CLASS_BITWISE || op == OP_CAST || op == OP_WHERE ||
           op == OP_SELECT;
}

/* The same note for the first operand of elementwise operations to which it applies. */
static bool note_axis_within(struct checker *c, const struct type *to, const struct expr *value)
{
    bool noted = note_axis_left(c, to, value);
    for (int i = 0; i < value->count && !noted && is_elementwise(value->op); i++)
        noted = note_axis_within(c, to, value->args[i]);
    return noted;
}

bool check_value_shape_fits(struct checker *c, const struct expr *value, const struct type *to,
                            const char *name, struct loc declared)
{
    if (check_is_untyped(value) || check_broadcasts_to(to, &value->type))
        return true;
    struct loc at = check_expr_place(c, value);
    check_shape_error(c, at, arena_printf(c->arena, "`%s`", name), to,
                      at.source ? arena_printf(c->arena, "`%s`", check_source_snippet(c, at))
                                : "the value",
                      &value->type);
    if (to->rank == 2 && value->type.rank == 2 && to->extent[0] == value->type.extent[1] &&
        to->extent[1] == value->type.extent[0])
        diag_note(c->diag, at, "`trans(%s)` swaps the axes", check_source_snippet(c, at));
    else if (to->rank == 2 && value->type.rank == 1 && to->extent[0] == value->type.extent[0])
        diag_note(c->diag, at, "to give each row its value: `reshape(%s, %lld, 1)`",
                  check_source_snippet(c, at), (long long)to->extent[0]);
    else
        note_axis_within(c, to, value);
    note_missing_extents(c, to, value, name);
    if (declared.source)
        diag_note(c->diag, declared, "declared here");
    return false;
}

struct expr *check_fit_value(struct checker *c, struct expr *value, const struct type *to,
                             const char *name, struct loc declared)
{
    if (!check_value_shape_fits(c, value, to, name, declared))
        return NULL;
    return check_convert_to(c, value, to->dtype, arena_printf(c->arena, "`%s`", name));
}

void check_placement(struct checker *c, const struct node *n, struct sym *s)
{
    int64_t offset, size = (int64_t)dtype_size(s->type.dtype);
    if (!n->at || !check_constant_in(c, n->at, "an offset in shared memory", 0, INT32_MAX, &offset))
        return;
    if (n->at->next) {
        diag_error(c->diag, n->at->next->loc, "`at` takes one offset, in bytes");
    } else if (offset % size != 0) {
        diag_error(c->diag, n->at->loc,
                   "the offset %lld is not a multiple of %lld, the bytes of an element",
                   (long long)offset, (long long)size);
    } else {
        s->offset = offset;
    }
}

struct sym *check_keep_value(struct checker *c, const char *name, const struct type *type,
                             struct expr *value, struct loc loc)
{
    bool varies = check_expr_varies(c, value);
    enum storage storage = type->rank == 0 ? ST_SCALAR : varies ? ST_ARRAY : ST_REG;
    struct sym *s = check_declare_hidden(c, name, storage, *type, loc);
    check_sym_info(c, s)->varying = varies;
    struct stmt *decl = check_emit(c, STMT_DECL, loc);
    decl->sym = s;
    decl->value = value;
    return s;
}
