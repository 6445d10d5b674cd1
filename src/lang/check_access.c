/* Names and accesses: the meaning of a name, and the elements that its indices choose. */
#include "lang/check_internal.h"

#include <string.h>

struct binding *check_place_binding(struct checker *c, const struct node *n)
{
    if (n->kind == N_ACCESS)
        n = n->a;
    if (n->kind != N_NAME)
        return NULL;
    struct binding *b = check_lookup_name(c, n->text);
    if (!b)
        check_unknown_name(c, n->text, n->loc);
    return b;
}

/* --- symbols --- */

/* Reports a symbol that `ensures` may not use. It may use parameters, constants, views and its
 * own indices. */
static bool usable_in_ensures(struct checker *c, const struct sym *s, struct loc at)
{
    bool local = s->storage == ST_REG || s->storage == ST_SHARED || s->storage == ST_ARRAY;
    if (s->storage == ST_SCALAR)
        local = !check_sym_info(c, s)->ensures_index && !check_sym_info(c, s)->init;
    if (!c->in_ensures || !local)
        return true;
    diag_error(c->diag, at, "`ensures` cannot use `%s`: it is %s of one block", s->name,
               check_storage_text(s));
    diag_note(
        c->diag, s->loc,
        "`ensures` says for the whole grid what the views hold after the launch, as a formula "
        "of views, parameters, constants and the indices of `ensures for (…)`");
    return false;
}

/* Returns a view in scope: one of the pointer `base`, or if base is NULL, one with the rank and
 * element type of `like` that can be written. NULL: none. */
static const struct sym *other_view(const struct checker *c, const struct sym *base,
                                    const struct sym *like)
{
    for (const struct sym *v = c->kernel->symbols; v; v = v->next) {
        const struct binding *b = v->storage == ST_VIEW ? check_lookup_name(c, v->name) : NULL;
        if (!b || b->sym != v)
            continue;
        if (base ? v->base == base
                 : !v->is_const && v->type.rank == like->type.rank &&
                       v->type.dtype == like->type.dtype)
            return v;
    }
    return NULL;
}

/* Notes the declaration of a view of a pointer, under a name that no other symbol has. */
static void note_view_of(struct checker *c, const struct sym *s)
{
    const char *type = dtype_table[s->type.dtype].name;
    char *view = arena_string(c->arena, s->name, strlen(s->name));
    if (view[0] >= 'a' && view[0] <= 'z')
        view[0] = (char)(view[0] - 'a' + 'A');
    if (strcmp(view, s->name) == 0)
        diag_note(c->diag, s->loc,
                  "call the parameter `%s`, and declare a view of it: `global %s %s[…] = %s;`",
                  check_pointer_name(c, s->name), type, view, check_pointer_name(c, s->name));
    else if (check_lookup_name(c, view) || module_entry(c->module, view))
        diag_note(c->diag, s->loc, "declare a view of it: `global %s %s_view[…] = %s;`", type, view,
                  s->name);
    else
        diag_note(c->diag, s->loc, "declare a view of it: `global %s %s[…] = %s;`", type, view,
                  s->name);
}

static bool usable(struct checker *c, const struct sym *s, struct loc at)
{
    if (s->is_pointer) {
        const struct sym *view = other_view(c, s, NULL);
        diag_error(c->diag, at, "`%s` is a pointer, not a value", s->name);
        if (view)
            diag_note(c->diag, view->loc, "use `%s`, its view", view->name);
        else {
            note_view_of(c, s);
            check_fix_with_view(c, s);
        }
        return false;
    }
    if (s->storage == ST_MBARRIER && !c->wants_mbarrier) {
        diag_error(c->diag, at, "`%s` is an mbarrier, not a value", s->name);
        diag_note(c->diag, s->loc,
                  "only `wait`, `arrive`, `expect` and `async(…)` use it: `wait(%s%s)`", s->name,
                  s->type.rank > 0 ? "[i]" : "");
        return false;
    }
    const struct sym_info *info = check_sym_info(c, s);
    if (info->freed) {
        diag_error(c->diag, at, "`%s` is used after it was freed", s->name);
        diag_note(c->diag, info->freed_at, "freed here");
        return false;
    }
    return usable_in_ensures(c, s, at);
}

/* --- indices --- */

/* The axes of a symbol after the indices chosen so far. */
struct access {
    const struct sym *sym;
    struct index index[MAX_RANK];
    int indices;
    struct type type;
    bool reaches; /* an index (a slice or a gather) may reach past the edge */
};

static int64_t axis_extent(const struct sym *s, int axis)
{
    return s->type.extent[axis];
}

static bool add_index(struct checker *c, struct access *x, struct index index, struct loc at)
{
    const struct sym *s = x->sym;
    if (x->indices >= s->type.rank) {
        diag_error(c->diag, at, "`%s` has %d %s: this index is one too many", s->name, s->type.rank,
                   s->type.rank == 1 ? "axis" : "axes");
        diag_note(c->diag, s->loc, "declared here");
        return false;
    }
    if (index.kind != IX_ELEMENT)
        x->type.extent[x->type.rank++] = index.extent;
    x->index[x->indices++] = index;
    return true;
}

/* Checks the index [e], a scalar, or [t], a tile of rows to gather. */
static bool element_index(struct checker *c, struct access *x, const struct node *n)
{
    struct expr *e = check_index_value(c, n->a, "an index");
    if (!e)
        return false;
    int axis = x->indices;
    int64_t v, extent = axis < x->sym->type.rank ? axis_extent(x->sym, axis) : EXTENT_RUNTIME;
    if (e->type.rank == 1)
        return add_index(c, x, (struct index){IX_GATHER, e, e->type.extent[0], false, false},
                         n->loc);
    if (e->type.rank > 1 || n->i == INDEX_GATHER) {
        diag_error(c->diag, n->loc, "a gather takes a tile of one axis, `%s` is %s",
                   check_source_snippet(c, n->a->loc), check_type_name(c, e));
        return false;
    }
    if (c->never == 0 && eval_int(e, NULL, &v) &&
        (v < 0 || (extent != EXTENT_RUNTIME && v >= extent))) {
        if (v < 0)
            diag_error(c->diag, n->loc, "the index %lld is below 0", (long long)v);
        else
            diag_error(c->diag, n->loc, "the index %lld is past the end: axis %d of `%s` has %lld",
                       (long long)v, axis, x->sym->name, (long long)extent);
        diag_note(c->diag, x->sym->loc, "`%s` is declared here", x->sym->name);
        return false;
    }
    return add_index(c, x, (struct index){IX_ELEMENT, e, 1, false, false}, n->loc);
}

/* Checks a slice whose start is constant: reports a slice that must be inside and is not, and
 * warns if the whole slice is outside. */
static bool slice_fits(struct checker *c, const struct access *x, const struct node *n,
                       const struct expr *start, int64_t extent)
{
    if (x->indices >= x->sym->type.rank)
        return true;
    int64_t first, axis = axis_extent(x->sym, x->indices);
    bool known = eval_int(start, NULL, &first), whole_axis = axis != EXTENT_RUNTIME;
    bool register_tile = x->sym->storage == ST_REG;
    if (register_tile && !known) {
        diag_error(c->diag, n->loc, "a slice of a register tile begins at a constant");
        diag_note(c->diag, x->sym->loc,
                  "`%s` is spread over the threads; keep it in a shared tile to choose a part at "
                  "run time, or write `unroll for (i32 q = …; q < …; q += …)` with constants",
                  x->sym->name);
        return false;
    }
    if (!known || !whole_axis || c->never > 0)
        return true;
    bool outside = first < 0 || first > axis - extent;
    int64_t last = first > INT64_MAX - extent ? INT64_MAX : first + extent - 1;
    if (outside && (register_tile || x->sym->storage == ST_ARRAY || n->inside)) {
        diag_error(c->diag, n->loc,
                   "the slice goes from %lld to %lld, and axis %d of `%s` has %lld",
                   (long long)first, (long long)last, x->indices, x->sym->name, (long long)axis);
        return false;
    }
    if (axis > 0 && (first >= axis || first <= -extent)) {
        diag_warning(c->diag, n->loc,
                     "this slice lies wholly outside axis %d of `%s`, which has %lld", x->indices,
                     x->sym->name, (long long)axis);
    }
    return true;
}

/* Returns the tile start + iota(length), whose elements are the positions of a slice. */
static struct expr *slice_positions(struct checker *c, struct expr *start, struct expr *length,
                                    struct loc at)
{
    enum dtype t = dtype_holds(DT_I32, start->type.dtype) ? DT_I32 : DT_I64;
    int64_t extent;
    if (!eval_int(length, NULL, &extent))
        extent = EXTENT_RUNTIME;
    struct expr *count = expr_new(c->kernel, OP_IOTA, type_tile(DT_I32, 1, &extent), at, 1);
    count->args[0] = length;
    return expr_binary(c->kernel, OP_ADD, type_tile(t, 1, &extent), at, check_cast_to(c, start, t),
                       check_cast_to(c, count, t));
}

/* Returns the length of a slice. In `ensures` the length may be known only at the launch; such a
 * slice is a gather of its positions. */
static struct expr *slice_length(struct checker *c, const struct node *n, int64_t *extent)
{
    struct expr *length = check_launch_int(c, n, "the extent of a slice");
    if (!length || !eval_int(length, NULL, extent))
        return length;
    if (*extent >= 0)
        return *extent == 0 || *extent > MAX_ELEMENTS ? length : NULL;
    diag_error(c->diag, n->loc, "the extent of a slice is %lld; it must be at least 0",
               (long long)*extent);
    return NULL;
}

static bool slice_index(struct checker *c, struct access *x, const struct node *n)
{
    int64_t extent = 1;
    struct expr *start = check_index_value(c, n->a, "the start of a slice"), *length = NULL;
    int errors = c->diag->errors;
    if (c->in_ensures)
        length = slice_length(c, n->b, &extent);
    else
        check_constant_in(c, n->b, "the extent of a slice", 1, MAX_ELEMENTS, &extent);
    if (!start || c->diag->errors > errors)
        return false;
    if (start->type.rank > 0) {
        diag_error(c->diag, n->a->loc, "a slice starts at a scalar, `%s` is %s",
                   check_source_snippet(c, n->a->loc), check_type_name(c, start));
        diag_note(c->diag, n->a->loc, "to choose rows one by one: `[%s[:]]`",
                  check_source_snippet(c, n->a->loc));
        return false;
    }
    x->reaches = true;
    if (length) {
        struct expr *positions = slice_positions(c, start, length, n->loc);
        extent = positions->type.extent[0];
        return add_index(c, x, (struct index){IX_GATHER, positions, extent, false, false}, n->loc);
    }
    if (!slice_fits(c, x, n, start, extent))
        return false;
    return add_index(c, x, (struct index){IX_SLICE, start, extent, n->inside, n->inside}, n->loc);
}

static bool whole_index(struct checker *c, struct access *x, struct loc at)
{
    int axis = x->indices;
    int64_t extent = axis < x->sym->type.rank ? axis_extent(x->sym, axis) : 1;
    if (extent < 1 && !c->in_ensures) {
        diag_error(c->diag, at, "the extent of axis %d of `%s` is %s", axis, x->sym->name,
                   extent == 0 ? "0" : "known only when the kernel is launched");
        diag_note(c->diag, x->sym->loc, "choose a part of constant extent: `[i +: N]`");
        return false;
    }
    return add_index(c, x, (struct index){IX_ALL, NULL, extent, false, false}, at);
}

static bool one_index(struct checker *c, struct access *x, const struct node *n)
{
    switch (n->i) {
    case INDEX_SLICE: return slice_index(c, x, n);
    case INDEX_ALL: return whole_index(c, x, n->loc);
    default: return element_index(c, x, n);
    }
}

/* Says which part of an array with extents of the launch a statement may name. */
static void note_part(struct checker *c, const struct sym *s)
{
    static const char *const element[] = {"", "[x]", "[y][x]", "[z][y][x]"};
    int rank = s->type.rank;
    if (c->thread_level && rank < (int)(sizeof element / sizeof *element))
        diag_note(c->diag, s->loc, "one thread reads or writes one element: `%s%s`", s->name,
                  element[rank]);
    else
        diag_note(c->diag, s->loc,
                  "its extents are known only when the kernel is launched: choose "
                  "a part of every axis, `[i +: N]`");
}

/* Takes the axes after the last index whole. */
static bool rest_whole(struct checker *c, struct access *x, const struct node *n)
{
    const struct sym *s = x->sym;
    for (int axis = x->indices; axis < s->type.rank; axis++) {
        if (axis_extent(s, axis) == 0 && !c->in_ensures && !c->any_extent) {
            diag_error(c->diag, n->loc, "the extent of axis %d of `%s` is 0", axis, s->name);
            return false;
        }
        if (axis_extent(s, axis) < 1 && !c->in_ensures && !c->any_extent) {
            if (c->wants_static && expr_mentions(s->dims[axis], c->wants_static))
                return false; /* once that parameter is static, the extent is known */
            diag_error(c->diag, n->loc, "`%s` has %d %s, and %d %s chosen", s->name, s->type.rank,
                       s->type.rank == 1 ? "axis" : "axes", x->indices,
                       x->indices == 1 ? "is" : "are");
            note_part(c, s);
            return false;
        }
        x->type.extent[x->type.rank++] = axis_extent(s, axis);
    }
    return true;
}

/* Checks that a part of a register tile is a constant part or the whole tile: register tiles
 * have no address, so only these are values. */
static bool register_part(struct checker *c, const struct access *x, const struct node *n)
{
    if (x->sym->storage != ST_REG)
        return true;
    for (int i = 0; i < x->indices; i++) {
        if (x->index[i].kind == IX_SLICE || x->index[i].kind == IX_ALL)
            continue;
        diag_error(c->diag, n->loc,
                   "`%s` is a register tile: its elements cannot be indexed one by one",
                   x->sym->name);
        diag_note(c->diag, x->sym->loc,
                  "its elements are spread over the block's threads: use the whole tile, a slice "
                  "with constant starts `[0 +: 16]`, or a reduction, or declare it `shared`");
        return false;
    }
    return true;
}

static bool indexable(struct checker *c, const struct sym *s, struct loc at)
{
    if (s->storage == ST_VIEW || s->storage == ST_SHARED || s->storage == ST_REG ||
        s->storage == ST_ARRAY || s->storage == ST_MBARRIER)
        return true;
    diag_error(c->diag, at, "`%s` is %s: it has no elements", s->name, check_storage_text(s));
    diag_note(c->diag, s->loc, "declared here");
    return false;
}

static struct expr *finish_access(struct checker *c, const struct access *x, struct loc loc)
{
    struct sym *s = (struct sym *)x->sym;
    struct expr *e = expr_access(c->kernel, s, x->indices, loc);
    if (x->indices > 0)
        memcpy(e->index, x->index, (size_t)x->indices * sizeof x->index[0]);
    e->type = x->type;
    return e;
}

/* Returns the elements of the symbol that the indices in `list` choose. If the symbol is bound
 * to a fn parameter, the indices of `place` come first. */
static struct expr *make_access(struct checker *c, struct sym *s, const struct expr *place,
                                const struct node *n, const struct node *list, bool *reaches)
{
    struct access x = {.sym = s, .type = type_scalar(s->type.dtype)};
    bool good = true;
    for (int i = 0; place && i < place->indices; i++) {
        struct index index = place->index[i];
        index.value = expr_copy(c->kernel, index.value);
        if (!add_index(c, &x, index, n->loc))
            return NULL;
    }
    for (const struct node *i = list; i; i = i->next)
        good = good && one_index(c, &x, i);
    if (!good || !rest_whole(c, &x, n) || !register_part(c, &x, n))
        return NULL;
    *reaches = x.reaches;
    for (int i = 0; i < x.indices; i++)
        *reaches = *reaches || x.index[i].kind == IX_GATHER;
    return finish_access(c, &x, n->loc);
}

/* --- names --- */

/* Reports a table that is used whole: only its elements are values. Returns true if it reported. */
static bool whole_table(struct checker *c, const struct sym *s, const struct node *n)
{
    if (s->storage != ST_TABLE)
        return false;
    diag_error(c->diag, n->loc,
               "`%s` is a table: an expression uses its elements, not the whole table", s->name);
    diag_note(c->diag, s->loc,
              check_sym_info(c, s)->shape.rank == 1 ? "all of it, as a tile, is `%s[iota(%lld)]`"
                                                    : "index each of its axes",
              s->name, (long long)s->type.extent[0]);
    return true;
}

static struct expr *sym_value(struct checker *c, struct sym *s, const struct node *n)
{
    bool reaches;
    if (!usable(c, s, n->loc) || whole_table(c, s, n))
        return NULL;
    if (s->storage == ST_VIEW || s->storage == ST_SHARED || s->storage == ST_MBARRIER)
        return make_access(c, s, NULL, n, NULL, &reaches);
    if (c->in_ensures && s->storage == ST_SCALAR && check_sym_info(c, s)->init)
        return check_launch_known(c, expr_ref(c->kernel, s, n->loc), "a value in `ensures`");
    return expr_ref(c->kernel, s, n->loc);
}

/* Returns a copy of the argument that replaces a fn parameter. Reports once if all copies
 * together become too large. */
static struct expr *substitute(struct checker *c, const struct expr *e, struct loc at)
{
    bool told = c->copied > MAX_COPIED;
    c->copied += check_expr_size(e);
    if (told)
        return NULL;
    if (c->copied <= MAX_COPIED && c->depth + check_expr_depth(e) <= MAX_EXPR_DEPTH) {
        struct expr *copy = expr_copy(c->kernel, e);
        check_place_expr(c, copy, at);
        return copy;
    }
    diag_error(c->diag, at, "inlining fns in fns makes this expression too large");
    diag_note(c->diag, at, "keep a part of it in a variable");
    return NULL;
}

static struct expr *extent_value(struct checker *c, const struct binding *b, const struct node *n)
{
    if (b->extent == EXTENT_RUNTIME) {
        diag_error(c->diag, n->loc, "`%s` is known only when the kernel is launched", n->text);
        diag_note(c->diag, b->loc, "in `ensures` give the fn the parameter that holds it");
        return NULL;
    }
    enum dtype t = b->extent > INT32_MAX ? DT_I64 : DT_I32;
    return expr_int(c->kernel, t, b->extent, n->loc);
}

static struct expr *bound_value(struct checker *c, struct binding *b, const struct node *n)
{
    bool reaches;
    switch (b->kind) {
    case BIND_SYM: return sym_value(c, b->sym, n);
    case BIND_VALUE: return substitute(c, b->value, n->loc);
    case BIND_EXTENT: return extent_value(c, b, n);
    case BIND_PLACE:
        return usable(c, b->value->sym, n->loc)
                   ? make_access(c, b->value->sym, b->value, n, NULL, &reaches)
                   : NULL;
    case BIND_DTYPE:
        diag_error(c->diag, n->loc, "`%s` is a type, not a value", n->text);
        return NULL;
    case BIND_ANY:
    case BIND_POISON: break;
    }
    return NULL;
}

struct expr *check_name(struct checker *c, const struct node *n)
{
    struct binding *b = check_lookup_name(c, n->text);
    if (b)
        return bound_value(c, b, n);
    const struct entry *e = module_entry(c->module, n->text);
    if (!e || (e->kind != ENTRY_CONST && e->kind != ENTRY_TUNE)) {
        check_unknown_name(c, n->text, n->loc);
        return NULL;
    }
    struct sym *s = check_const_sym(c, e, n->loc);
    return s && !whole_table(c, s, n) ? expr_ref(c->kernel, s, n->loc) : NULL;
}

/* --- accesses --- */

static bool check_otherwise(struct checker *c, const struct node *n, struct expr *e, bool reaches)
{
    if (!reaches) {
        diag_error(c->diag, n->b->loc, "`else` follows a slice, which may reach past the edge");
        diag_note(c->diag, n->loc, "an element is read unguarded: `i < n ? A[i] : 0`");
        return false;
    }
    struct expr *otherwise = check_expr(c, n->b, NULL);
    otherwise = otherwise ? check_convert_to(c, otherwise, e->type.dtype, "the tile") : NULL;
    if (otherwise && otherwise->type.rank > 0) {
        diag_error(c->diag, n->b->loc, "`else` gives one value for all elements, this is %s",
                   check_type_name(c, otherwise));
        return false;
    }
    e->otherwise = otherwise;
    return otherwise != NULL;
}

/* Returns true if e is memory chosen by element indices alone, so that further indices can
 * continue with the next axis. */
static bool is_element_place(const struct expr *e)
{
    if (e->op != OP_ACCESS || e->otherwise)
        return false;
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].kind != IX_ELEMENT)
            return false;
    return true;
}

/* Checks an access to a fn parameter that is another name for a whole symbol or for a part of
 * memory. */
static struct expr *access_binding(struct checker *c, struct binding *b, const struct node *n,
                                   bool *reaches)
{
    struct sym *s = NULL;
    const struct expr *place = NULL;
    if (b->kind == BIND_SYM)
        s = b->sym;
    else if (b->kind == BIND_PLACE)
        place = b->value;
    else if (b->kind == BIND_VALUE && b->value->op == OP_REF)
        s = b->value->sym;
    else if (b->kind == BIND_VALUE && is_element_place(b->value))
        place = b->value;
    if (place)
        s = place->sym;
    if (!s) {
        if (b->kind == BIND_VALUE) {
            diag_error(c->diag, n->loc,
                       "`%s` is computed, and here it cannot be kept to choose from it", b->name);
            diag_note(c->diag, b->value->loc, "keep it in a variable before the statement");
        } else if (b->kind != BIND_POISON) {
            diag_error(c->diag, n->loc, "`%s` has no elements to choose from", b->name);
        }
        return NULL;
    }
    for (const struct node *i = s->is_pointer ? n->list : NULL; i; i = i->next)
        if (i->i != INDEX_ALL && i->a)
            check_expr(c, i->a, NULL); /* reports words of other languages first */
    if (!usable(c, s, n->a->loc))
        return NULL;
    if (s->storage == ST_TABLE)
        return check_lookup(c, s, n);
    if (!indexable(c, s, n->a->loc))
        return NULL;
    return make_access(c, s, place, n, n->list, reaches);
}

struct expr *check_access(struct checker *c, const struct node *n)
{
    if (n->a->kind != N_NAME) {
        diag_error(c->diag, n->a->loc, "only a name can be indexed");
        return NULL;
    }
    struct binding *b = check_lookup_name(c, n->a->text);
    bool reaches = false;
    if (!b) {
        const struct entry *e = module_entry(c->module, n->a->text);
        if (e && e->kind == ENTRY_CONST && e->node->dims) {
            struct sym *table = check_const_sym(c, e, n->loc);
            struct expr *element = table ? check_lookup(c, table, n) : NULL;
            return element && n->b && !check_otherwise(c, n, element, false) ? NULL : element;
        }
        if (e && (e->kind == ENTRY_CONST || e->kind == ENTRY_TUNE))
            diag_error(c->diag, n->a->loc, "`%s` is a constant: it has no elements", n->a->text);
        else
            check_unknown_name(c, n->a->text, n->a->loc);
        return NULL;
    }
    struct expr *e = access_binding(c, b, n, &reaches);
    if (e && n->b && !check_otherwise(c, n, e, reaches))
        return NULL;
    return e;
}

/* Reports device.x, and device.sms in a fn. */
static void device_error(struct checker *c, const struct node *n)
{
    bool known = strcmp(n->text, "sms") == 0 || strcmp(n->text, "clusters") == 0;
    if (known)
        diag_error(c->diag, n->loc, "`device.%s` is for kernels, and this is a fn", n->text);
    else
        diag_error(c->diag, n->loc, "`device` has sms and clusters, no `%s`", n->text);
    if (known)
        diag_note(c->diag, n->loc, "let the fn take the number as an argument");
}

/* Checks block.x, grid.y, thread.z. */
struct expr *check_member(struct checker *c, const struct node *n)
{
    static const struct {
        const char *name;
        enum op op;
    } bases[] = {
        {"block", OP_BLOCK}, {"grid", OP_GRID}, {"thread", OP_THREAD}, {"cluster", OP_CLUSTER}};
    enum op op = OP_COUNT;
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
        if (n->a->kind == N_NAME && strcmp(n->a->text, bases[i].name) == 0)
            op = bases[i].op;
    if (op == OP_COUNT) {
        if (n->a->kind == N_NAME && strcmp(n->a->text, "device") == 0)
            device_error(c, n);
        else if (n->a->kind == N_NAME) {
            check_unknown_base(c, n->a->text, n->text, n->a->loc);
            check_fix_block_extent(c, n);
        }
        return NULL;
    }
    bool rank = op == OP_CLUSTER && strcmp(n->text, "rank") == 0;
    int axis = rank ? CLUSTER_RANK : n->text[0] - 'x';
    if (!rank && (axis < 0 || axis > 2 || n->text[1])) {
        diag_error(c->diag, n->loc, "`%s` has %sx, y and z, no `%s`", n->a->text,
                   op == OP_CLUSTER ? "rank, " : "", n->text);
        return NULL;
    }
    if (op == OP_THREAD && !c->thread_level) {
        diag_error(c->diag, n->loc, "there is no `thread` in a kernel of `warps(n)`");
        diag_note(
            c->diag, n->loc,
            "`threads(x, y)` is for code about one thread, `warps(n)` for code about whole tiles");
        return NULL;
    }
    if (c->in_ensures) {
        diag_error(c->diag, n->loc, "`ensures` is about whole views, not about one %s", n->a->text);
        return NULL;
    }
    if (op == OP_CLUSTER && c->kernel->cluster[0] == 0) { /* each block is a cluster */
        if (rank)
            return expr_int(c->kernel, DT_I32, 0, n->loc);
        op = OP_BLOCK;
    }
    struct expr *e = expr_new(c->kernel, op, type_scalar(DT_I32), n->loc, 0);
    e->axis = axis;
    e->type.varying = op == OP_THREAD;
    return e;
}

/* --- targets --- */

static void const_view_error(struct checker *c, const struct sym *s, struct loc at, const char *why)
{
    diag_error(c->diag, at, "`%s` is a view of `%s`, which is const: it cannot be %s", s->name,
               s->base->name, why);
    const struct sym *view = other_view(c, NULL, s);
    if (view)
        diag_note(c->diag, view->loc, "`%s` can be; is that one meant?", view->name);
    else
        diag_note(c->diag, s->base->loc, "to write to it, leave out `const` here");
}

static bool writable(struct checker *c, const struct sym *s, struct loc at, const char *why)
{
    if (s->storage == ST_VIEW && s->is_const) {
        const_view_error(c, s, at, why);
        return false;
    }
    if (s->storage == ST_PARAM) {
        diag_error(c->diag, at, "`%s` is a parameter: it cannot be %s", s->name, why);
        diag_note(c->diag, s->loc, "copy it: `%s x = %s;`", dtype_table[s->type.dtype].name,
                  s->name);
        return false;
    }
    if (s->storage == ST_CONST || s->is_const) {
        diag_error(c->diag, at, "`%s` is constant: it cannot be %s", s->name, why);
        diag_note(c->diag, s->loc, "declared here%s", s->is_tuned ? ", as tuned" : "");
        return false;
    }
    return true;
}

static bool assignable(struct checker *c, const struct expr *e, const struct node *n,
                       const char *why)
{
    if (e->op == OP_REF || (e->op == OP_ACCESS && e->sym->storage != ST_REG))
        return writable(c, e->sym, n->loc, why);
    if (e->op == OP_ACCESS) {
        diag_error(c->diag, n->loc, "a part of the register tile `%s` cannot be %s", e->sym->name,
                   why);
        diag_note(c->diag, e->sym->loc,
                  "assign it whole: `%s = where(…, %s, …);`, or keep it in a shared tile",
                  e->sym->name, e->sym->name);
        return false;
    }
    if (n->kind == N_ACCESS)
        diag_error(c->diag, n->loc,
                   "`%s` is an element of a table, which is constant: it cannot be %s",
                   check_source_snippet(c, n->loc), why);
    else
        diag_error(c->diag, n->loc, "`%s` cannot be %s", check_source_snippet(c, n->loc), why);
    return false;
}

struct expr *check_take_by(struct checker *c, const struct node *n, struct expr *e)
{
    e = check_take_peer(c, n, e);
    if (!e || !n->by)
        return e;
    bool view = e->op == OP_ACCESS && e->sym->storage == ST_VIEW;
    if (view && e->type.rank > 0 && !c->in_ensures) {
        e->by = n->by;
        return e;
    }
    if (c->in_ensures)
        diag_error(c->diag, n->by->loc, "`ensures` names values, not what moves them");
    else if (view)
        diag_error(c->diag, n->by->loc,
                   "`by(…)` says how a part of `%s` is moved, and this is one element",
                   e->sym->name);
    else
        diag_error(c->diag, n->by->loc, "`by(…)` says how a part of a view is moved; `%s` is not",
                   check_source_snippet(c, n->loc));
    diag_note(c->diag, n->by->loc, "leave it out");
    diag_fix(c->diag, n->by->loc, "%s", "");
    return NULL;
}

struct expr *check_target(struct checker *c, const struct node *n, const char *why)
{
    if (n->kind != N_NAME && n->kind != N_ACCESS) {
        diag_error(c->diag, n->loc, "this cannot be %s", why);
        return NULL;
    }
    if (n->kind == N_ACCESS && n->b) {
        diag_error(c->diag, n->b->loc,
                   "`else` is for reads; elements written past the edge are not stored");
        return NULL;
    }
    const struct binding *b = n->kind == N_NAME ? check_lookup_name(c, n->text) : NULL;
    if (b && b->kind == BIND_SYM && b->sym->is_pointer)
        return check_name(c, n); /* reports */
    struct expr *e = check_take_by(c, n, n->kind == N_NAME ? check_name(c, n) : check_access(c, n));
    return e && assignable(c, e, n, why) ? e : NULL;
}
