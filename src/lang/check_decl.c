/* Declarations of scalars, per-thread arrays, register tiles and shared tiles, and declarations
 * that take several results of a fn. */
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

/* --- values that are stored --- */

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

/* --- one declaration --- */

/* Checks the initialiser. The name is not declared yet, so the initialiser does not see it. */
static struct expr *initial_value(struct checker *c, const struct node *n, const struct type *type)
{
    c->whole = n->init;
    struct expr *value = check_expr(c, n->init, type);
    return value ? check_fit_value(c, value, type, n->text, n->loc) : NULL;
}

static void emit_decl(struct checker *c, const struct node *n, struct sym *s, struct expr *value)
{
    struct stmt *decl = check_emit(c, STMT_DECL, n->loc);
    decl->sym = s;
    decl->value = value;
}

static void check_scalar_decl(struct checker *c, const struct node *n, enum dtype t)
{
    struct type type = type_scalar(t);
    struct expr *value = n->init ? initial_value(c, n, &type) : NULL;
    struct literal known;
    if (n->is_const && !n->init) {
        diag_error(c->diag, n->loc, "the constant `%s` has no value", n->text);
    } else if (n->is_const && value && eval_scalar(value, NULL, &known)) {
        if (check_constant_value(c, value, "a constant's value", &known))
            check_const_local(c, n->text, type, n->loc, known);
        else
            check_poison_name(c, n->text, n->loc);
        return;
    }
    if (n->init && !value && n->is_const) { /* its value decides extents: no further errors about
                                             * it */
        check_poison_name(c, n->text, n->loc);
        return;
    }
    struct sym *s = check_declare_sym(c, n->text, ST_SCALAR, type, n->loc);
    if (!s)
        return;
    s->is_const = n->is_const;
    check_sym_info(c, s)->varying = check_expr_varies(c, value);
    if (n->is_const && value)
        check_sym_info(c, s)->init = value;
    emit_decl(c, n, s, value);
}

/* Checks a declaration with extents. The storage decides which further parts it may have. */
static struct sym *check_tile_decl(struct checker *c, const struct node *n, enum dtype t,
                                   enum storage storage)
{
    struct type type = type_scalar(t);
    if (!check_extents(c, n->dims, n->text, &type)) {
        if (n->init)
            check_expr(c, n->init, NULL);
        check_poison_name(c, n->text, n->loc);
        return NULL;
    }
    struct expr *value = n->init ? initial_value(c, n, &type) : NULL;
    struct sym *s = check_declare_sym(c, n->text, storage, type, n->loc);
    if (!s)
        return NULL;
    s->is_const = n->is_const;
    if (n->is_const && !n->init)
        diag_error(c->diag, n->loc, "the constant `%s` has no value", n->text);
    emit_decl(c, n, s, value);
    return s;
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

static void check_shared_decl(struct checker *c, const struct node *n, enum dtype t)
{
    if (c->pipeline_level > 0 && c->level != c->pipeline_level) {
        diag_error(c->diag, n->loc, "the shared tile `%s` within a statement of a pipeline body",
                   n->text);
        diag_note(c->diag, n->loc,
                  "a pipeline stages the shared tiles declared directly in its body");
        check_poison_name(c, n->text, n->loc);
        return;
    }
    struct stmt **before = c->tail;
    struct sym *s = check_tile_decl(c, n, t, ST_SHARED);
    if (!s)
        return;
    check_placement(c, n, s);
    struct stmt *decl = *before;
    while (decl && decl->sym != s)
        decl = decl->next;
    if (c->pipeline_level > 0 && decl)
        s->staged = check_staged(c, n, s, decl->value);
}

static bool has_extents(struct checker *c, const struct node *n)
{
    const char *word = n->i == DECL_SHARED ? "shared" : "register";
    const char *type = n->type->text ? n->type->text : "T";
    if (n->dims)
        return true;
    diag_error(c->diag, n->loc, "the %s tile `%s` has no extents", word, n->text);
    if (n->i == DECL_SHARED)
        diag_note(c->diag, n->loc, "one element is `shared %s %s[1]`", type, n->text);
    else
        diag_note(c->diag, n->loc, "a scalar is declared without `reg`: `%s %s`", type, n->text);
    check_poison_name(c, n->text, n->loc);
    return false;
}

static void check_decl(struct checker *c, const struct node *n)
{
    if (n->i == DECL_GLOBAL || n->i == DECL_MBARRIER) {
        (n->i == DECL_GLOBAL ? check_view : check_mbarrier)(c, n);
        return;
    }
    if (n->init && n->init->kind == N_BRACES) {
        check_table_local(c, n);
        return;
    }
    enum dtype t = check_dtype(c, n->type);
    if (t == DT_NONE) {
        if (n->init)
            check_expr(c, n->init, NULL);
        check_poison_name(c, n->text, n->loc);
        return;
    }
    if (n->i == DECL_PLAIN && !n->dims)
        check_scalar_decl(c, n, t);
    else if (n->i == DECL_PLAIN)
        check_tile_decl(c, n, t, ST_ARRAY);
    else if (has_extents(c, n) && n->i == DECL_REG)
        check_tile_decl(c, n, t, ST_REG);
    else if (n->dims)
        check_shared_decl(c, n, t);
}

void check_decls(struct checker *c, const struct node *n)
{
    for (const struct node *d = n->list; d; d = d->next)
        check_decl(c, d);
}

/* --- T (a, b) = f(x); --- */

static int count_nodes(const struct node *list)
{
    int count = 0;
    for (; list; list = list->next)
        count++;
    return count;
}

static void declare_result(struct checker *c, const struct node *name, enum dtype t,
                           struct expr *value)
{
    struct type type = check_is_untyped(value) ? type_scalar(t) : value->type;
    type.dtype = t;
    type.varying = false;
    value = check_convert_to(c, value, t, arena_printf(c->arena, "`%s`", name->text));
    bool varies = check_expr_varies(c, value);
    enum storage storage = type.rank == 0 ? ST_SCALAR : varies ? ST_ARRAY : ST_REG;
    struct sym *s = check_declare_sym(c, name->text, storage, type, name->loc);
    if (!s)
        return;
    check_sym_info(c, s)->varying = varies;
    struct stmt *decl = check_emit(c, STMT_DECL, name->loc);
    decl->sym = s;
    decl->value = value;
}

void check_destructure(struct checker *c, const struct node *n)
{
    struct fn_results results = {.count = 0};
    const struct entry *fn = n->a->kind == N_CALL ? module_entry(c->module, n->a->text) : NULL;
    enum dtype t = check_dtype(c, n->type);
    bool good = t != DT_NONE;
    int names = count_nodes(n->list);
    if (!fn || fn->kind != ENTRY_FN) {
        diag_error(c->diag, n->a->loc, "several results come from a fn, and this calls none");
        good = false;
    } else if (!check_inline_fn(c, n->a, fn, &results)) {
        good = false;
    } else if (results.count != names) {
        diag_error(c->diag, n->a->loc, "`%s` has %d result%s, and this declares %d name%s",
                   fn->name, results.count, results.count == 1 ? "" : "s", names,
                   names == 1 ? "" : "s");
        diag_note(c->diag, fn->loc, "declared here");
        good = false;
    }
    int i = 0;
    for (const struct node *name = n->list; name; name = name->next, i++) {
        if (good && results.value[i])
            declare_result(c, name, t, results.value[i]);
        else
            check_poison_name(c, name->text, name->loc);
    }
}
