/* Constants: those of the module, tuned values, and other values that must be known at compile
 * time. */
#include "lang/check_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The sort key of a constant. */
struct constant {
    struct sym *sym;
    int order, made;
};

static int compare_constants(const void *a, const void *b)
{
    const struct constant *x = a, *y = b;
    return x->order != y->order ? (x->order > y->order) - (x->order < y->order)
                                : (x->made > y->made) - (x->made < y->made);
}

/* Puts the constants after the parameters and before all other symbols, in the order of the
 * module, local constants last. So the printed kernel, when parsed again, has them in the same
 * order. */
void check_link_constants(struct checker *c)
{
    struct kernel *k = c->kernel;
    size_t count = c->made.count;
    struct constant *sorted = arena_array(c->arena, struct constant, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct sym *s = c->made.data[i];
        sorted[i] = (struct constant){s, check_sym_info(c, s)->order, (int)i};
    }
    qsort(sorted, count, sizeof *sorted, compare_constants);
    struct sym *others = NULL, **last_param = &k->symbols, **last_other = &others, *next;
    for (struct sym *s = k->symbols; s; s = next) {
        struct sym ***last = s->storage == ST_PARAM ? &last_param : &last_other;
        next = s->next;
        s->next = NULL;
        if (s->storage == ST_CONST || s->storage == ST_TABLE)
            continue;
        **last = s;
        *last = &s->next;
    }
    for (size_t i = 0; i < count; i++) {
        *last_param = sorted[i].sym;
        last_param = &sorted[i].sym->next;
    }
    *last_param = others;
    k->last_symbol = others ? last_other : last_param;
}

static struct sym *make_named(struct checker *c, const char *name, enum storage storage,
                              struct type type, struct loc loc, int order)
{
    /* The constant is printed next to the kernel, so it cannot have the kernel's name. */
    if (strcmp(name, c->kernel->name) == 0)
        name = arena_printf(c->arena, "%s_1", name);
    struct sym *s = check_declare_hidden(c, name, storage, type, loc);
    s->is_const = true;
    check_sym_info(c, s)->order = order;
    vec_push(c->arena, &c->made, s);
    return s;
}

static struct sym *make_constant(struct checker *c, const char *name, struct type type,
                                 struct loc loc, struct literal value, int order)
{
    struct sym *s = make_named(c, name, ST_CONST, type, loc, order);
    s->has_value = true;
    s->value = value;
    return s;
}

struct sym *check_const_local(struct checker *c, const char *name, struct type type, struct loc loc,
                              struct literal value)
{
    struct binding *b = check_bind_name(c, name, loc, BIND_SYM);
    if (!b)
        return NULL;
    b->sym = make_constant(c, name, type, loc, value, INT_MAX);
    return b->sym;
}

/* --- tables --- */

/* The values in braces, in row-major order. Nested braces are the rows of the further axes. */
struct filling {
    struct checker *c;
    const struct node *decl;
    struct type type; /* the declared type */
    struct literal *values;
    int64_t count; /* number of values so far */
};

static bool one_value(struct filling *f, const struct node *n)
{
    struct checker *c = f->c;
    struct type want = type_scalar(f->type.dtype);
    struct expr *e = check_expr(c, n, &want);
    if (e && e->type.rank > 0) {
        diag_error(c->diag, n->loc, "a value of a table is a scalar, this is %s",
                   check_type_name(c, e));
        return false;
    }
    e = e ? check_convert_to(c, e, f->type.dtype, arena_printf(c->arena, "`%s`", f->decl->text))
          : NULL;
    return e && check_constant_value(c, e, "a value of a table", &f->values[f->count++]);
}

static bool fill_values(struct filling *f, const struct node *list, int axis)
{
    int64_t room = 1, rows = 0, before = f->count;
    for (int i = axis; i < f->type.rank; i++)
        room *= f->type.extent[i];
    int64_t wanted = room;
    bool nested = list->list && list->list->kind == N_BRACES;
    if (nested)
        wanted = f->type.extent[axis];
    for (const struct node *n = list->list; n; n = n->next) {
        if ((n->kind == N_BRACES) != nested || (nested && axis + 1 >= f->type.rank)) {
            diag_error(f->c->diag, n->loc, "braces in braces are the rows of one more axis");
            return false;
        }
        if (++rows > wanted)
            continue;
        if (nested ? !fill_values(f, n, axis + 1) : !one_value(f, n))
            return false;
    }
    if (rows == wanted)
        return true;
    f->count = before;
    diag_error(f->c->diag, list->loc, "%lld %s here, and %s takes %lld", (long long)rows,
               nested      ? rows == 1 ? "row is" : "rows are"
               : rows == 1 ? "value is"
                           : "values are",
               axis == 0 ? arena_printf(f->c->arena, "`%s`", f->decl->text) : "a row",
               (long long)wanted);
    diag_note(f->c->diag, f->decl->loc, "declared here");
    return false;
}

/* Makes the symbol of a table. It has one axis, whatever shape the table was declared with;
 * check_sym_info has the declared shape. */
static struct sym *make_table(struct checker *c, const struct node *n, int order)
{
    struct filling f = {.c = c, .decl = n};
    f.type.dtype = check_dtype(c, n->type);
    if (f.type.dtype == DT_NONE || !check_extents(c, n->dims, n->text, &f.type))
        return NULL;
    int64_t count = type_elements(&f.type);
    if (count > MAX_TABLE) {
        diag_error(c->diag, n->loc, "a table has at most %d values, `%s` has %lld", MAX_TABLE,
                   n->text, (long long)count);
        diag_note(c->diag, n->loc, "more values come from the caller, as an array");
        return NULL;
    }
    f.values = arena_array(c->arena, struct literal, count);
    if (!fill_values(&f, n->init, 0))
        return NULL;
    struct sym *s =
        make_named(c, n->text, ST_TABLE, type_tile(f.type.dtype, 1, &count), n->loc, order);
    s->table = f.values;
    check_sym_info(c, s)->shape = f.type;
    return s;
}

void check_table_local(struct checker *c, const struct node *n)
{
    bool hoistable = c->hoistable;
    c->hoistable = false;
    struct sym *s = make_table(c, n, INT_MAX);
    c->hoistable = hoistable;
    struct binding *b = s ? check_bind_name(c, n->text, n->loc, BIND_SYM) : NULL;
    if (b)
        b->sym = s;
    else
        check_poison_name(c, n->text, n->loc);
}

/* --- why a value is not known --- */

static void note_unknown(struct checker *c, const struct expr *e);

static void note_unknown_sym(struct checker *c, const struct expr *e)
{
    const struct sym *s = e->sym;
    const char *type = dtype_table[s->type.dtype].name;
    if (s->storage == ST_PARAM && s->is_static)
        diag_note(c->diag, s->loc, "the static parameter `%s` has no value yet: give it one",
                  s->name);
    else if (s->storage == ST_PARAM) {
        c->wants_static = s;
        diag_note(
            c->diag, s->loc,
            "`%s` is known only when the kernel is launched; with `static %s %s` its value is "
            "compiled in",
            s->name, type, s->name);
    } else if (s->storage == ST_SCALAR && s->is_const && check_sym_info(c, s)->init)
        note_unknown(c, check_sym_info(c, s)->init);
    else if (s->storage == ST_SCALAR)
        diag_note(c->diag, s->loc, "`%s` is a variable; a value known while compiling is `const`",
                  s->name);
    else
        diag_note(c->diag, e->loc, "`%s` is %s", s->name, check_storage_text(s));
}

/* Points at the first part of e whose value is not known. */
static void note_unknown(struct checker *c, const struct expr *e)
{
    struct literal ignored;
    for (int i = 0; i < e->count; i++)
        if (!check_is_untyped(e->args[i]) && !eval_scalar(e->args[i], NULL, &ignored)) {
            note_unknown(c, e->args[i]);
            return;
        }
    if (e->op == OP_REF)
        note_unknown_sym(c, e);
    else if (e->op == OP_BLOCK || e->op == OP_THREAD)
        diag_note(c->diag, e->loc, "it differs from %s to %s",
                  e->op == OP_BLOCK ? "block" : "thread", e->op == OP_BLOCK ? "block" : "thread");
    else if (e->op == OP_GRID)
        diag_note(c->diag, e->loc, "the grid is known only when the kernel is launched");
    else if (e->op == OP_ACCESS)
        diag_note(c->diag, e->loc, "memory is read when the kernel runs");
    else if (e->op == OP_DIV || e->op == OP_REM || e->op == OP_CDIV)
        diag_note(c->diag, e->loc, "this divides by zero");
    else if (e->type.rank > 0)
        diag_note(c->diag, e->loc, "this is a tile");
}

/* --- values --- */

bool check_constant_value(struct checker *c, const struct expr *e, const char *what,
                          struct literal *out)
{
    if (!eval_scalar(e, NULL, out)) {
        diag_error(c->diag, e->loc, "%s must be known while compiling", what);
        note_unknown(c, e);
        return false;
    }
    const struct expr *overflow = eval_overflow(e, NULL, false);
    if (overflow) {
        const char *type = dtype_table[overflow->type.dtype].name;
        diag_error(c->diag, overflow->loc, "this constant does not fit %s", type);
        if (overflow->type.dtype != DT_I64)
            diag_note(c->diag, overflow->loc, "compute it in a wider type: `(i64) …`");
        return false;
    }
    return true;
}

bool check_constant_int(struct checker *c, const struct node *n, const char *what, int64_t *out)
{
    bool hoistable = c->hoistable;
    c->hoistable = false;
    struct expr *e = check_scalar_int(c, n, what);
    c->hoistable = hoistable;
    struct literal value;
    if (!e || !check_constant_value(c, e, what, &value))
        return false;
    *out = value.i;
    if (e->type.dtype == DT_U64 && value.i < 0) {
        diag_error(c->diag, n->loc, "%s is too large", what);
        return false;
    }
    return true;
}

bool check_constant_in(struct checker *c, const struct node *n, const char *what, int64_t low,
                       int64_t high, int64_t *out)
{
    if (!check_constant_int(c, n, what, out))
        return false;
    if (*out >= low && *out <= high)
        return true;
    diag_error(c->diag, n->loc, "%s is %lld; it must be %lld to %lld", what, (long long)*out,
               (long long)low, (long long)high);
    return false;
}

static struct expr *condition_alone(struct checker *c, const struct node *condition)
{
    bool hoistable = c->hoistable;
    c->hoistable = false;
    struct expr *e = check_condition(c, condition);
    c->hoistable = hoistable;
    return e;
}

bool check_constant_condition(struct checker *c, const struct node *n, const char *what, bool *out)
{
    struct expr *e = condition_alone(c, n);
    struct literal value;
    if (!e || !check_constant_value(c, e, what, &value))
        return false;
    *out = value.i != 0;
    return true;
}

/* --- constants of the module --- */

/* The state of the checker that is hidden while it checks a module-level expression from within
 * a kernel. */
struct outside {
    struct names names;
    int level;
    bool hoistable, in_ensures;
    struct fn_frame *frames;
};

static struct outside leave_kernel(struct checker *c)
{
    struct outside saved = {c->names, c->level, c->hoistable, c->in_ensures, c->frames};
    c->names = (struct names){0};
    c->hoistable = c->in_ensures = false;
    c->frames = NULL;
    return saved;
}

static void return_to_kernel(struct checker *c, struct outside saved)
{
    c->names = saved.names;
    c->level = saved.level;
    c->hoistable = saved.hoistable;
    c->in_ensures = saved.in_ensures;
    c->frames = saved.frames;
}

static struct expr *constant_init(struct checker *c, const struct entry *e, enum dtype t,
                                  struct literal *value)
{
    struct type want = type_scalar(t);
    struct expr *init = check_expr(c, e->node->init, &want);
    if (init && init->type.rank > 0) {
        diag_error(c->diag, init->loc, "a constant is a scalar, this is %s",
                   check_type_name(c, init));
        return NULL;
    }
    init = init ? check_convert_to(c, init, t, arena_printf(c->arena, "`%s`", e->name)) : NULL;
    if (!init || !check_constant_value(c, init, "a constant's value", value))
        return NULL;
    return init;
}

static void make_module_constant(struct checker *c, const struct entry *e)
{
    struct const_slot *slot = &c->consts[e->index];
    slot->state = CONST_BUSY;
    struct outside saved = leave_kernel(c);
    if (e->node->dims) {
        slot->sym = make_table(c, e->node, e->index);
        return_to_kernel(c, saved);
        slot->state = slot->sym ? CONST_DONE : CONST_BAD;
        return;
    }
    enum dtype t = check_dtype(c, e->node->type);
    struct literal value = {0};
    struct expr *init = t == DT_NONE ? NULL : constant_init(c, e, t, &value);
    return_to_kernel(c, saved);
    slot->state = init ? CONST_DONE : CONST_BAD;
    if (!init)
        return;
    slot->init = init;
    slot->sym = make_constant(c, e->name, type_scalar(t), e->loc, value, e->index);
}

static void make_tuned(struct checker *c, const struct entry *e, struct loc used)
{
    struct const_slot *slot = &c->consts[e->index];
    slot->state = CONST_BAD;
    if (!c->tunes) {
        diag_error(c->diag, used, "`%s` is tuned: its value is not known here", e->name);
        diag_note(c->diag, e->loc, "`require(…)` says which tuned values go together");
        return;
    }
    slot->state = CONST_DONE;
    slot->sym =
        make_constant(c, e->name, type_scalar(e->dtype), e->loc, c->tunes[e->index], e->index);
    slot->sym->is_tuned = true;
}

struct sym *check_const_sym(struct checker *c, const struct entry *e, struct loc used)
{
    struct const_slot *slot = &c->consts[e->index];
    if (slot->state == CONST_BUSY) {
        diag_error(c->diag, e->loc, "the constant `%s` depends on itself", e->name);
        slot->state = CONST_BAD;
    }
    if (slot->state == CONST_NEW && e->kind == ENTRY_TUNE)
        make_tuned(c, e, used);
    else if (slot->state == CONST_NEW)
        make_module_constant(c, e);
    return slot->state == CONST_DONE ? slot->sym : NULL;
}

/* --- conditions --- */

/* Returns the first part of e that stays unknown even when the static parameters have values;
 * NULL: none. */
static const struct expr *never_known(struct checker *c, const struct expr *e)
{
    struct literal ignored;
    if (check_is_untyped(e) || eval_scalar(e, NULL, &ignored))
        return NULL;
    const struct sym *s = e->op == OP_REF ? e->sym : NULL;
    if (s && s->storage == ST_PARAM && s->is_static)
        return NULL;
    struct sym_info *info = s && s->storage == ST_SCALAR ? check_sym_info(c, s) : NULL;
    if (info && info->init) {
        const struct expr *part = info->waits ? NULL : never_known(c, info->init);
        info->waits = !part;
        return part;
    }
    bool waits = false;
    for (int i = 0; i < e->count && e->op != OP_ACCESS; i++) {
        const struct expr *part = never_known(c, e->args[i]);
        if (part)
            return part;
        waits =
            waits || (!check_is_untyped(e->args[i]) && !eval_scalar(e->args[i], NULL, &ignored));
    }
    return waits ? NULL : e;
}

/* Notes the values of the names in a condition, for the message that the condition does not
 * hold. */
static void note_values(struct checker *c, const struct expr *e, int *notes)
{
    struct literal v;
    if (e->op == OP_REF && *notes < 6 && eval_scalar(e, NULL, &v)) {
        ++*notes;
        if (v.is_float)
            diag_note(c->diag, e->loc, "`%s` is %g", e->sym->name, v.f);
        else
            diag_note(c->diag, e->loc, "`%s` is %lld", e->sym->name, (long long)v.i);
    }
    for (int i = 0; i < e->count; i++)
        note_values(c, e->args[i], notes);
}

static void condition_fails(struct checker *c, const struct node *n, const struct expr *e)
{
    struct loc at = n->a->loc;
    int notes = 0;
    if (n->text)
        diag_error(c->diag, at, "%s", n->text);
    else if (n->kind == N_REQUIRE && module_is_tuned(c->arena, c->module, n))
        diag_error(c->diag, at, "these tuned values are not allowed: `%s` does not hold",
                   check_source_snippet(c, at));
    else
        diag_error(c->diag, at, "`%s` does not hold", check_source_snippet(c, at));
    note_values(c, e, &notes);
}

static void condition_unknown(struct checker *c, const struct node *n, const struct expr *part)
{
    struct loc at = n->a->loc;
    diag_error(c->diag, at, "this condition must be known while compiling");
    note_unknown(c, part);
    if (c->names.newest) /* the conditions of a module see no local names */
        diag_note(c->diag, at, "for a condition at run time write `assume(%s)`: cpu checks it",
                  check_source_snippet(c, at));
}

void check_stated(struct checker *c, const struct node *n, bool must_hold)
{
    struct expr *e = condition_alone(c, n->a);
    struct literal value;
    if (!e)
        return;
    bool known = eval_scalar(e, NULL, &value);
    const struct expr *part = known ? NULL : never_known(c, e);
    if (part)
        condition_unknown(c, n, part);
    else if (known && must_hold && !value.i)
        condition_fails(c, n, e);
}

bool check_extents(struct checker *c, const struct node *dims, const char *name, struct type *t)
{
    bool good = true;
    for (const struct node *d = dims; d; d = d->next) {
        int64_t extent = 1;
        if (t->rank == MAX_RANK) {
            diag_error(c->diag, d->loc, "`%s` has more than %d axes", name, MAX_RANK);
            return false;
        }
        if (!check_constant_int(c, d, "an extent", &extent)) {
            good = false;
        } else if (extent < 1 || extent > MAX_ELEMENTS) {
            diag_error(c->diag, d->loc, "`%s` has an axis of %lld elements; it must be 1 to %lld",
                       name, (long long)extent, (long long)MAX_ELEMENTS);
            if (extent == 0)
                diag_note(c->diag, d->loc,
                          "if 0 is the size of an empty array, do not start the kernel for it");
            good = false;
        }
        t->extent[t->rank++] = extent;
    }
    return good && check_size(c, t, dims ? dims->loc : LOC_NONE);
}
