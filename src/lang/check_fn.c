/* Inlining: the body of a fn replaces the call.
 *
 * The statements of the body go before the statement with the call; the value of its `return`
 * replaces the call. A parameter by value becomes a variable of the kernel, unless the argument
 * can replace the parameter: a name, a literal, or any expression that is used once by a fn that
 * only returns. At some places no statement can go before: the right side of && and ||, the
 * branches of ?:, the conditions of loops, `ensures`. There only fns that just return can be
 * called, and arguments always replace parameters. */
#include "lang/check_internal.h"

#include <string.h>

enum { MAX_FN_PARAMS = 64, MAX_FRAMES = 64, MAX_NOTES = 6 };

/* --- uses of a parameter in a fn --- */

struct param_use {
    const char *name;
    int uses;
    bool assigned, indexed;
};

static bool names_it(const struct param_use *use, const struct node *n)
{
    return n && n->kind == N_NAME && strcmp(n->text, use->name) == 0;
}

static void count_use(void *user, const struct node *n)
{
    struct param_use *use = user;
    if (names_it(use, n))
        use->uses++;
    if (n->kind == N_ACCESS && names_it(use, n->a))
        use->indexed = true;
    if (n->kind == N_ASSIGN &&
        (names_it(use, n->a) || (n->a->kind == N_ACCESS && names_it(use, n->a->a))))
        use->assigned = true;
    module_visit_children(n, count_use, user);
}

static struct param_use param_use(const struct node *fn, const struct node *param)
{
    struct param_use use = {.name = param->text};
    module_visit_children(fn->body, count_use, &use);
    return use;
}

static const struct node *last_statement(const struct node *fn)
{
    const struct node *n = fn->body->body;
    while (n && n->next)
        n = n->next;
    return n;
}

static bool declares_shared(const struct node *fn)
{
    for (const struct node *n = fn->body->body; n; n = n->next)
        if (n->kind == N_DECLS && n->list && n->list->i == DECL_SHARED)
            return true;
    return false;
}

/* --- calls that are allowed --- */

static bool recursion(struct checker *c, const struct node *call, const struct entry *fn)
{
    int depth = 0;
    for (const struct fn_frame *f = c->frames; f; f = f->outer, depth++) {
        if (f->fn != fn)
            continue;
        diag_error(c->diag, call->loc, "`%s` calls itself%s", fn->name,
                   f == c->frames ? "" : ", through other fns");
        diag_note(c->diag, fn->loc,
                  "a fn is inlined at its call, which would never end here: write a loop");
        return true;
    }
    if (depth < MAX_FRAMES && ++c->inlined <= MAX_INLINED)
        return false;
    if (c->inlined > MAX_INLINED + 1)
        return true; /* reported */
    diag_error(c->diag, call->loc,
               depth < MAX_FRAMES ? "this kernel calls fns %d times and more"
                                  : "fns call each other more than %d deep",
               depth < MAX_FRAMES ? MAX_INLINED : MAX_FRAMES);
    return true;
}

static bool may_call(struct checker *c, const struct node *call, const struct entry *fn)
{
    if (!check_fn_has_return(fn->node))
        return false; /* reported while reading the module */
    if (recursion(c, call, fn))
        return false;
    if (c->hoistable || check_fn_is_choice(fn->node))
        return true;
    if (c->in_ensures) {
        diag_error(c->diag, call->loc,
                   "`%s` has statements: `ensures` takes fns that only return a value", fn->name);
        diag_note(c->diag, fn->loc,
                  "write it as one expression: `return …;`, or as a chain of `if (c) return …;`");
        return false;
    }
    diag_error(
        c->diag, call->loc,
        "`%s` has statements, and here it may have to be evaluated several times or not at all",
        fn->name);
    diag_note(c->diag, call->loc, "call it in a statement before: `… t = %s;`",
              check_source_snippet(c, call->loc));
    return false;
}

/* --- arguments --- */

static bool by_reference(const struct node *param)
{
    return param->i == DECL_SHARED || param->i == DECL_GLOBAL;
}

static void note_access(void *user, struct expr **at)
{
    bool *found = user;
    *found = *found || (*at)->op == OP_ACCESS;
}

/* Keeps the index values of a place that read memory in variables. The call chooses the place
 * once, so writes in the body must not move it. */
static void keep_indices(struct checker *c, struct expr *place)
{
    for (int i = 0; i < place->indices && c->hoistable; i++) {
        struct expr **value = &place->index[i].value;
        bool reads_memory = false;
        expr_walk(value, note_access, &reads_memory);
        if (!reads_memory)
            continue;
        struct loc at = (*value)->loc;
        struct type type = type_scalar((*value)->type.dtype);
        *value = expr_ref(c->kernel, check_keep_value(c, "at", &type, *value, at), at);
    }
}

/* Checks an argument by reference: a shared tile or a view, or the part of it that is left after
 * element indices of its first axes. */
static struct expr *check_place(struct checker *c, const struct node *n, const struct node *param)
{
    bool any_extent = c->any_extent;
    c->any_extent = true;
    struct expr *e = check_operand(c, n);
    c->any_extent = any_extent;
    if (!e)
        return NULL;
    enum storage storage = param->i == DECL_SHARED ? ST_SHARED : ST_VIEW;
    bool good =
        e->op == OP_ACCESS && e->sym->storage == storage && !e->otherwise && !expr_has_atomic(e);
    for (int i = 0; good && i < e->indices; i++)
        good = e->index[i].kind == IX_ELEMENT;
    if (good) {
        keep_indices(c, e);
        return e;
    }
    diag_error(c->diag, n->loc, "`%s` takes %s, by reference; this is something else", param->text,
               storage == ST_SHARED ? "a shared tile" : "a view");
    diag_note(c->diag, param->loc,
              "give a name, or a name with indices of single elements: `x`, `x[i]`");
    return NULL;
}

static int check_args(struct checker *c, const struct node *call, const struct node *fn,
                      struct expr **args)
{
    int count = 0, params = 0;
    bool good = true;
    for (const struct node *p = fn->params; p; p = p->next)
        params++;
    const struct node *p = fn->params;
    for (const struct node *a = call->list; a; a = a->next, p = p ? p->next : NULL) {
        if (a->kind == N_NAMED) {
            diag_error(c->diag, a->loc, "arguments of a fn have no names");
            return -1;
        }
        if (count < MAX_FN_PARAMS)
            args[count] = p && by_reference(p) ? check_place(c, a, p) : check_expr(c, a, NULL);
        good = good && count < MAX_FN_PARAMS && args[count];
        count++;
    }
    if (count != params) {
        diag_error(c->diag, call->loc, "`%s` takes %d argument%s, and is given %d", fn->text,
                   params, params == 1 ? "" : "s", count);
        diag_note(c->diag, fn->loc, "declared here");
        return -1;
    }
    return good ? count : -1;
}

/* --- types and extents that arguments bring --- */

static bool new_type_name(struct checker *c, const struct node *type)
{
    const struct entry *e = type->text ? module_entry(c->module, type->text) : NULL;
    return type->text && type->text[0] &&
           dtype_by_name(type->text, strlen(type->text)) == DT_NONE &&
           !(e && e->kind == ENTRY_TYPE) && !check_lookup_name(c, type->text);
}

/* Binds the types of parameters: first those with typed arguments, then those with literals. So
 * a literal takes the type that another argument brought. */
static void bind_types(struct checker *c, const struct node *fn, struct expr **args)
{
    for (int literals = 0; literals < 2; literals++) {
        int i = 0;
        for (const struct node *p = fn->params; p; p = p->next, i++) {
            if (check_is_untyped(args[i]) != (literals == 1) || !new_type_name(c, p->type))
                continue;
            struct expr *settled = check_settle_literal(c, args[i]);
            struct binding *b = check_bind_name(c, p->type->text, p->type->loc, BIND_DTYPE);
            if (b)
                b->dtype = settled ? settled->type.dtype : DT_I32;
        }
    }
}

/* Returns an extent that is known only at the launch, as an expression; NULL if no expression
 * for it is known. */
static struct expr *launch_extent(struct checker *c, const struct expr *e, int axis)
{
    if (axis < 0 || axis >= e->type.rank || e->type.extent[axis] != EXTENT_RUNTIME)
        return NULL;
    if (e->op == OP_ACCESS) {
        int kept = 0;
        for (int i = 0; i < e->sym->type.rank; i++) {
            bool dropped = i < e->indices && e->index[i].kind == IX_ELEMENT;
            if (!dropped && kept++ == axis)
                return e->sym->storage == ST_VIEW && (i >= e->indices || e->index[i].kind == IX_ALL)
                           ? expr_copy(c->kernel, e->sym->dims[i])
                           : NULL;
        }
        return NULL;
    }
    if (e->op == OP_IOTA)
        return e->count > axis ? expr_copy(c->kernel, e->args[axis]) : NULL;
    if (e->op == OP_DOT)
        return launch_extent(c, e->args[axis], axis);
    if (e->op == OP_TRANS)
        return launch_extent(c, e->args[0],
                             axis == e->type.rank - 1   ? axis - 1
                             : axis == e->type.rank - 2 ? axis + 1
                                                        : axis);
    for (int i = 0; i < e->count; i++) {
        struct expr *found =
            launch_extent(c, e->args[i], axis - (e->type.rank - e->args[i]->type.rank));
        if (found)
            return found;
    }
    return NULL;
}

static bool new_extent_name(struct checker *c, const struct node *d)
{
    const struct entry *e = d->kind == N_NAME ? module_entry(c->module, d->text) : NULL;
    return d->kind == N_NAME && !check_lookup_name(c, d->text) &&
           !(e && (e->kind == ENTRY_CONST || e->kind == ENTRY_TUNE));
}

static void bind_extent(struct checker *c, const struct node *d, const struct expr *arg, int axis)
{
    int64_t extent = arg->type.extent[axis];
    struct expr *at_launch = extent == EXTENT_RUNTIME ? launch_extent(c, arg, axis) : NULL;
    struct binding *b = check_bind_name(c, d->text, d->loc, at_launch ? BIND_VALUE : BIND_EXTENT);
    if (!b)
        return;
    b->extent = extent;
    b->value = at_launch;
}

/* Evaluates the extent that a dimension of a fn parameter gives; EXTENT_RUNTIME if only the
 * launch knows it. */
static bool known_extent(struct checker *c, const struct node *d, int64_t *out)
{
    const struct binding *b = d->kind == N_NAME ? check_lookup_name(c, d->text) : NULL;
    if (b && b->kind == BIND_EXTENT) {
        *out = b->extent;
        return true;
    }
    if (b && b->kind == BIND_VALUE && b->extent == EXTENT_RUNTIME) {
        *out = EXTENT_RUNTIME;
        return true;
    }
    return check_constant_in(c, d, "an extent", 1, MAX_ELEMENTS, out);
}

static bool extent_mismatch(struct checker *c, const struct node *p, const struct node *d,
                            const struct expr *arg, int64_t want, int64_t got)
{
    struct loc at = check_expr_place(c, arg);
    diag_error(c->diag, at, "the parameter `%s` has %lld elements along `[%s]`, `%s` is %s",
               p->text, (long long)want, check_source_snippet(c, d->loc),
               check_source_snippet(c, at), check_type_name(c, arg));
    if (d->kind == N_NAME)
        diag_note(c->diag, p->loc, "`%s` is %lld by an earlier argument, and %lld here", d->text,
                  (long long)want, (long long)got);
    return false;
}

/* Notes how a tile gets `axes` axes: the new ones come first, with extent 1. */
static void note_more_axes(struct checker *c, const struct expr *arg, int axes)
{
    struct text shape;
    text_init(&shape, c->arena);
    for (int i = arg->type.rank - axes; i < arg->type.rank; i++)
        text_printf(&shape, ", %lld", i < 0 ? 1LL : (long long)arg->type.extent[i]);
    diag_note(c->diag, check_expr_place(c, arg), "give it %d axes: `reshape(%s%s)`", axes,
              check_expr_snippet(c, arg), shape.data);
}

/* Reports an argument with too few axes. Such an argument is stretched only if an earlier
 * argument gives the extent. */
static bool missing_extent(struct checker *c, const struct node *fn, const struct node *p,
                           const struct node *d, const struct expr *arg)
{
    int axes = 0, number = 1;
    for (const struct node *one = p->dims; one; one = one->next)
        axes++;
    for (const struct node *before = fn->params; before != p; before = before->next)
        number++;
    struct loc at = check_expr_place(c, arg);
    diag_error(c->diag, at, "argument %d of `%s` is a tile of %d ax%s, %s is given", number,
               fn->text, axes, axes == 1 ? "is" : "es",
               arg->type.rank == 0 ? "a scalar" : check_type_name(c, arg));
    if (arg->type.rank > 0)
        note_more_axes(c, arg, axes);
    else
        diag_note(c->diag, at,
                  "only a tile determines `%s`: keep the value in one, `reg %s x[…] = %s;`",
                  d->text, check_is_untyped(arg) ? "f32" : dtype_table[arg->type.dtype].name,
                  check_source_snippet(c, at));
    diag_note(c->diag, p->loc, "declared here");
    return false;
}

/* Returns true for a fn of scalars that only returns a value, `fn f32 f(f32 x) { return …; }`. Its
 * arguments may have axes: its operations are then those of tiles. */
static bool is_scalar_fn(const struct node *fn)
{
    bool scalar = fn->body->body && fn->body->body->kind == N_RETURN && fn->result;
    for (const struct node *p = fn->params; p; p = p->next)
        scalar = scalar && !p->dims && !by_reference(p);
    for (const struct node *r = scalar && fn->result->list ? fn->result->list : fn->result; r;
         r = r->next)
        scalar = scalar && !r->dims;
    return scalar;
}

/* Gives the results of a scalar fn the shape that its arguments have together. */
static bool take_shape(struct checker *c, const struct node *fn, struct expr **args,
                       struct result_types *out)
{
    int count = 0;
    for (const struct node *p = fn->params; p; p = p->next)
        count++;
    if (count == 0)
        return true;
    struct expr all = *args[0];
    for (int i = 1; i < count; i++)
        if (!check_join_shapes(c, check_expr_place(c, args[i]), &all, args[i], &all.type))
            return false;
    for (int i = 0; i < out->count; i++) {
        all.type.dtype = out->type[i].dtype;
        out->type[i] = all.type;
        out->type[i].varying = false;
    }
    return check_size(c, &all.type, check_expr_place(c, args[0]));
}

/* Notes how a fn over scalars is written for tiles of the argument's rank. */
static void note_tile_fn(struct checker *c, const struct node *fn, const struct node *p,
                         const struct expr *arg)
{
    static const char *const extents[] = {"", "[N]", "[M][N]"};
    const struct node *result = fn->result;
    if (arg->type.rank < 1 || arg->type.rank > 2 || !p->type || !p->type->text || result->list ||
        !result->type || !result->type->text)
        return;
    const char *shape = extents[arg->type.rank];
    diag_note(c->diag, fn->loc, "for tiles write `fn reg %s%s %s(reg %s %s%s%s)`",
              result->type->text, shape, fn->text, p->type->text, p->text, shape,
              fn->params->next ? ", …" : "");
}

/* Binds the extents that the parameter names, or compares them with the argument's. Adds the
 * extents to *type. */
static bool match_dims(struct checker *c, const struct node *fn, const struct node *p,
                       const struct expr *arg, struct type *type)
{
    int rank = 0;
    if (is_scalar_fn(fn)) {
        enum dtype t = type->dtype;
        *type = arg->type;
        type->dtype = t;
        type->varying = false;
        return true;
    }
    for (const struct node *d = p->dims; d; d = d->next)
        rank++;
    if (arg->type.rank > rank || (by_reference(p) && arg->type.rank != rank) || rank > MAX_RANK) {
        const char *axes = rank == 0   ? "is a scalar"
                           : rank == 1 ? "has 1 axis"
                                       : arena_printf(c->arena, "has %d axes", rank);
        struct loc at = check_expr_place(c, arg);
        diag_error(c->diag, at, "the parameter `%s` %s, `%s` is %s", p->text, axes,
                   check_source_snippet(c, at), check_type_name(c, arg));
        diag_note(c->diag, p->loc, "declared here");
        if (rank == 0 && p == fn->params)
            note_tile_fn(c, fn, p, arg);
        return false;
    }
    int axis = arg->type.rank - rank; /* below 0: the argument has no such axis and is stretched */
    for (const struct node *d = p->dims; d; d = d->next, axis++) {
        int64_t extent;
        int64_t got = axis >= 0 ? arg->type.extent[axis] : 1;
        bool fresh = new_extent_name(c, d);
        if (fresh && axis < 0)
            return missing_extent(c, fn, p, d, arg);
        if (fresh)
            bind_extent(c, d, arg, axis);
        if (!known_extent(c, d, &extent))
            return false;
        bool stretched = got == 1 && !by_reference(p);
        if (got != extent && got != EXTENT_RUNTIME && extent != EXTENT_RUNTIME && !stretched)
            return extent_mismatch(c, p, d, arg, extent, got);
        type->extent[type->rank++] = extent;
    }
    return true;
}

/* --- parameters --- */

static bool is_name_or_number(const struct expr *e)
{
    return e->op == OP_REF || e->op == OP_LITERAL;
}

/* Returns true if the argument replaces the parameter, so no variable is needed. */
static bool stands_in_place(struct checker *c, const struct param_use *use, const struct expr *arg,
                            bool only_returns)
{
    if (!c->hoistable)
        return true;
    if (use->assigned)
        return false;
    if (is_name_or_number(arg))
        return !use->indexed || arg->op == OP_REF;
    return only_returns && !use->indexed &&
           (use->uses == 1 || (use->uses == 0 && !expr_has_atomic(arg)));
}

static bool bind_by_value(struct checker *c, const struct node *fn, const struct node *p,
                          struct expr *arg)
{
    struct type type = type_scalar(check_dtype(c, p->type));
    if (type.dtype == DT_NONE || !match_dims(c, fn, p, arg, &type))
        return false;
    arg =
        check_convert_to(c, arg, type.dtype, arena_printf(c->arena, "the parameter `%s`", p->text));
    if (!arg)
        return false;
    struct param_use use = param_use(fn, p);
    bool in_place = stands_in_place(c, &use, arg, check_fn_is_choice(fn));
    if (in_place && expr_has_atomic(arg) && use.uses != 1) {
        diag_error(c->diag, arg->loc, "this has an effect, and `%s` would evaluate it %d times",
                   fn->text, use.uses);
        diag_note(c->diag, arg->loc, "keep its value in a variable before");
        return false;
    }
    struct binding *b = check_bind_name(c, p->text, p->loc, in_place ? BIND_VALUE : BIND_SYM);
    if (!b)
        return false;
    b->extent = 0;
    if (in_place)
        b->value = check_stretch(c, arg, &type);
    else
        b->sym = check_keep_value(c, p->text, &type, arg, arg->loc);
    return true;
}

static bool bind_by_reference(struct checker *c, const struct node *fn, const struct node *p,
                              struct expr *arg)
{
    struct type type = type_scalar(check_dtype(c, p->type));
    if (type.dtype == DT_NONE || !match_dims(c, fn, p, arg, &type))
        return false;
    if (type.dtype != arg->type.dtype) {
        diag_error(c->diag, arg->loc, "the parameter `%s` has elements of type %s, `%s` of type %s",
                   p->text, dtype_table[type.dtype].name, check_source_snippet(c, arg->loc),
                   dtype_table[arg->type.dtype].name);
        diag_note(c->diag, p->loc, "what is taken by reference keeps its type");
        return false;
    }
    struct binding *b = check_bind_name(c, p->text, p->loc, BIND_PLACE);
    if (b)
        b->value = arg;
    return b != NULL;
}

static bool bind_args(struct checker *c, const struct node *fn, struct expr **args)
{
    int i = 0;
    bind_types(c, fn, args);
    for (const struct node *p = fn->params; p; p = p->next, i++) {
        bool good = by_reference(p) ? bind_by_reference(c, fn, p, args[i])
                                    : bind_by_value(c, fn, p, args[i]);
        if (!good)
            return false;
    }
    return true;
}

/* --- results --- */

static bool result_type(struct checker *c, const struct node *r, struct type *type)
{
    *type = type_scalar(check_dtype(c, r->type));
    if (type->dtype == DT_NONE)
        return false;
    for (const struct node *d = r->dims; d; d = d->next) {
        if (type->rank == MAX_RANK) {
            diag_error(c->diag, d->loc, "a result has more than %d axes", MAX_RANK);
            return false;
        }
        if (!known_extent(c, d, &type->extent[type->rank++]))
            return false;
    }
    return check_size(c, type, r->loc);
}

static bool result_types(struct checker *c, const struct node *result, struct result_types *out)
{
    if (!result)
        return false;
    if (!result->list) {
        out->count = 1;
        return result_type(c, result, &out->type[0]);
    }
    for (const struct node *r = result->list; r; r = r->next) {
        if (out->count == MAX_RESULTS || r->list) {
            diag_error(c->diag, r->loc, "a fn has up to %d results, in one list", MAX_RESULTS);
            return false;
        }
        if (!result_type(c, r, &out->type[out->count++]))
            return false;
    }
    return true;
}

/* --- the body --- */

/* Keeps results in variables if other statements could change them before they are used. */
static void keep_results(struct checker *c, const struct entry *fn,
                         const struct result_types *types, struct fn_results *out)
{
    for (int i = 0; i < out->count; i++) {
        struct expr *value = out->value[i];
        if (!check_expr_reads_memory(value) && !expr_has_atomic(value))
            continue;
        struct sym *s = check_keep_value(c, fn->name, &types->type[i], value, value->loc);
        out->value[i] = expr_ref(c->kernel, s, value->loc);
    }
}

/* Inlines a fn that has shared tiles, which live as long as its body. The body becomes a block,
 * and its results become variables outside of the block. */
static bool inline_block(struct checker *c, const struct entry *fn, const struct node *ret,
                         const struct result_types *types, struct fn_results *out)
{
    struct sym *kept[MAX_RESULTS];
    struct fn_results values = {.count = 0};
    for (int i = 0; i < types->count; i++)
        kept[i] = check_keep_value(c, fn->name, &types->type[i], NULL, ret->loc);
    struct stmt *block = check_emit(c, STMT_BLOCK, fn->loc), **after = c->tail;
    c->tail = &block->body;
    check_stmts(c, fn->node->body->body, ret);
    c->hoistable = true;
    bool good = check_returned_values(c, fn, ret, types, &values);
    for (int i = 0; good && i < values.count; i++) {
        struct stmt *s = check_emit(c, STMT_ASSIGN, ret->loc);
        s->target = expr_ref(c->kernel, kept[i], ret->loc);
        s->value = values.value[i];
        out->value[i] = expr_ref(c->kernel, kept[i], ret->loc);
    }
    out->count = values.count;
    c->tail = after;
    return good;
}

static bool inline_body(struct checker *c, const struct entry *fn, struct expr **args,
                        struct fn_results *out)
{
    struct result_types types = {.count = 0};
    const struct node *ret = last_statement(fn->node);
    if (!bind_args(c, fn->node, args) || !result_types(c, fn->node->result, &types))
        return false;
    if (is_scalar_fn(fn->node) && !take_shape(c, fn->node, args, &types))
        return false;
    if (ret->kind == N_RETURN && ret == fn->node->body->body)
        return check_returned_values(c, fn, ret, &types, out);
    if (check_fn_is_choice(fn->node)) {
        out->value[out->count++] = check_choice(c, fn, &types.type[0]);
        return out->value[0];
    }
    if (check_fn_returns_early(fn->node))
        return check_inline_early(c, fn, &types, out);
    if (declares_shared(fn->node))
        return inline_block(c, fn, ret, &types, out);
    check_stmts(c, fn->node->body->body, ret);
    c->hoistable = true;
    if (!check_returned_values(c, fn, ret, &types, out))
        return false;
    keep_results(c, fn, &types, out);
    return true;
}

static int note_count(const struct diag *d)
{
    int count = 0;
    for (const struct diagnostic *n = d->current ? d->current->notes : NULL; n; n = n->next)
        count++;
    return count;
}

static const struct inlining *inlining(struct checker *c, const struct node *call,
                                       const struct entry *fn)
{
    struct inlining *i = arena_new(c->arena, struct inlining);
    *i = (struct inlining){.name = fn->name,
                           .body = loc_join(fn->loc, last_statement(fn->node)->loc),
                           .call = call->loc,
                           .outer = c->frames ? c->frames->inlined : NULL};
    return i;
}

bool check_inline_fn(struct checker *c, const struct node *call, const struct entry *fn,
                     struct fn_results *out)
{
    struct expr *args[MAX_FN_PARAMS];
    int errors = c->diag->errors;
    if (!may_call(c, call, fn) || check_args(c, call, fn->node, args) < 0)
        return false;
    struct fn_frame frame = {fn, call, inlining(c, call, fn), c->frames, NULL};
    struct names names = c->names;
    bool hoistable = c->hoistable;
    int loops = c->loops, level = c->level;
    c->frames = &frame;
    c->names = (struct names){0};
    c->loops = 0;
    c->level = level + 1;
    bool good = inline_body(c, fn, args, out);
    c->frames = frame.outer;
    c->names = names;
    c->loops = loops;
    c->level = level;
    c->hoistable = hoistable;
    if (c->diag->errors > errors && note_count(c->diag) < MAX_NOTES)
        diag_note(c->diag, call->loc, "in this call of `%s`", fn->name);
    for (int i = 0; good && i < out->count; i++)
        check_place_expr(c, out->value[i], call->loc);
    return good;
}

struct expr *check_fn_value(struct checker *c, const struct node *call, const struct entry *fn)
{
    struct fn_results results = {.count = 0};
    if (!check_inline_fn(c, call, fn, &results))
        return NULL;
    if (results.count == 1)
        return results.value[0];
    diag_error(c->diag, call->loc, "`%s` has %d results", fn->name, results.count);
    diag_note(c->diag, call->loc, "take them with `T (a, b) = %s;`",
              check_source_snippet(c, call->loc));
    return NULL;
}
