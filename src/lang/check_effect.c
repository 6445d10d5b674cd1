/* Calls with effects: atomics, which are also values, and the statements sync, async_wait, lock,
 * free, print and assume. */
#include "lang/check_internal.h"

#include "tile/print_format.h"

#include <string.h>

/* --- atomics --- */

static bool atomic_type(enum op op, enum dtype t)
{
    bool wide = dtype_is_int(t) && dtype_table[t].bits >= 32;
    switch (op) {
    case OP_ATOMIC_ADD:
    case OP_ATOMIC_MIN:
    case OP_ATOMIC_MAX: return wide || dtype_is_float(t);
    case OP_ATOMIC_EXCHANGE: return wide || t == DT_F32 || t == DT_F64;
    default: return wide;
    }
}

static bool check_atomic_type(struct checker *c, struct loc at, enum op op, enum dtype t)
{
    if (atomic_type(op, t))
        return true;
    const char *have = atomic_type(op, DT_F16)   ? "i32 u32 i64 u64 f16 bf16 f32 f64"
                       : atomic_type(op, DT_F32) ? "i32 u32 i64 u64 f32 f64"
                                                 : "i32 u32 i64 u64";
    diag_error(c->diag, at, "there is no `%s` of %s", op_table[op].text, dtype_table[t].name);
    diag_note(c->diag, at, "there is one of %s", have);
    return false;
}

/* Checks the memory that an atomic or a lock works on. */
static struct expr *memory_place(struct checker *c, const struct node *n, const char *call)
{
    struct expr *place =
        check_is_own_place(c, n, "the memory of an atomic") ? check_target(c, n, "changed") : NULL;
    if (!place)
        return NULL;
    const struct sym *s = place->sym;
    if (place->op == OP_ACCESS && (s->storage == ST_VIEW || s->storage == ST_SHARED))
        return place;
    diag_error(c->diag, n->loc, "`%s` works on shared or global memory, `%s` is %s", call, s->name,
               check_storage_text(s));
    return NULL;
}

static const char *atomic_form(struct checker *c, enum op op)
{
    return op == OP_ATOMIC_CAS ? "atomic_cas(x[i], expected, desired)"
                               : arena_printf(c->arena, "%s(x[i], value)", op_table[op].text);
}

struct expr *check_atomic(struct checker *c, const struct node *n, enum op op)
{
    int arity = op_table[op].arity;
    if (c->in_ensures) {
        diag_error(c->diag, n->loc, "`ensures` cannot change memory");
        return NULL;
    }
    if (!check_arguments(c, n, arity, arity, NULL, atomic_form(c, op)))
        return NULL;
    struct expr *place = memory_place(c, check_call_argument(n, 0), n->text);
    if (!place || !check_atomic_type(c, n->loc, op, place->type.dtype))
        return NULL;
    struct expr *e = expr_new(c->kernel, op, place->type, n->loc, arity);
    e->args[0] = place;
    for (int i = 1; i < arity; i++) {
        struct expr *value = check_expr(c, check_call_argument(n, i), &place->type);
        value = value ? check_fit_value(c, value, &place->type,
                                        check_place_text(check_call_argument(n, 0)), LOC_NONE)
                      : NULL;
        if (!value)
            return NULL;
        e->args[i] = value;
    }
    return e;
}

/* --- lock, unlock, arrive --- */

/* Checks the element that blocks wait for or count with. */
static struct expr *semaphore_place(struct checker *c, const struct node *n)
{
    struct expr *place = memory_place(c, check_call_argument(n, 0), n->text);
    if (!place)
        return NULL;
    enum dtype t = place->type.dtype;
    bool global = place->sym->storage == ST_VIEW;
    if (place->type.rank == 0 && dtype_is_int(t) && dtype_table[t].bits >= 32 && global)
        return place;
    diag_error(c->diag, place->loc,
               "`%s` takes an element of global memory of type i32, u32, i64 or u64, this is %s "
               "of %s memory",
               n->text, check_type_name(c, place), global ? "global" : "shared");
    diag_note(c->diag, place->loc, "such memory is `global i32 %s[…] = 0;`",
              strcmp(n->text, "arrive") == 0 ? "count" : "turn");
    return NULL;
}

static struct expr *semaphore_value(struct checker *c, const struct node *n,
                                    const struct expr *place)
{
    struct expr *value = check_expr(c, check_call_argument(n, 1), NULL);
    return value ? check_fit_value(c, value, &place->type,
                                   check_place_text(check_call_argument(n, 0)), LOC_NONE)
                 : NULL;
}

static bool may_arrive(struct checker *c, const struct node *n)
{
    if (c->in_ensures) {
        diag_error(c->diag, n->loc, "`ensures` cannot change memory");
        return false;
    }
    if (!check_allowed_in_pipeline(c, n->loc, n->text) ||
        !check_arguments(c, n, 1, 2, NULL, "arrive(count[i], n)"))
        return false;
    if (c->hoistable)
        return true;
    diag_error(c->diag, n->loc,
               "a block arrives once, and here `arrive` may be evaluated several times or not at "
               "all");
    diag_note(c->diag, n->loc, "arrive in a statement before: `i32 before = %s;`",
              check_source_snippet(c, n->loc));
    return false;
}

struct expr *check_arrive(struct checker *c, const struct node *n, const struct type *want)
{
    bool whole = c->whole == n;
    struct expr *place = may_arrive(c, n) ? semaphore_place(c, n) : NULL;
    if (!place)
        return NULL;
    struct expr *value = check_call_argument(n, 1)
                             ? semaphore_value(c, n, place)
                             : expr_int(c->kernel, place->type.dtype, 1, n->loc);
    if (!value)
        return NULL;
    struct expr *e = expr_new(c->kernel, OP_ARRIVE, place->type, n->loc, 2);
    e->args[0] = place;
    e->args[1] = value;
    if (whole && (!want || (want->rank == 0 && want->dtype == place->type.dtype)))
        return e;
    return expr_ref(c->kernel, check_keep_value(c, "arrived", &e->type, e, n->loc), n->loc);
}

/* --- statements --- */

static struct stmt *emit_effect(struct checker *c, const struct node *n, enum op op, int count)
{
    struct stmt *s = check_emit(c, STMT_EFFECT, n->loc);
    s->value = expr_new(c->kernel, op, type_scalar(DT_I32), n->loc, count);
    return s;
}

static void check_async_wait(struct checker *c, const struct node *n)
{
    int64_t groups;
    if (!check_arguments(c, n, 1, 1, NULL, "async_wait(n)") ||
        !check_constant_in(c, check_call_argument(n, 0), "the number of groups under way", 0,
                           INT32_MAX, &groups))
        return;
    struct expr *e =
        check_scalar_int(c, check_call_argument(n, 0), "the number of groups under way");
    if (e)
        emit_effect(c, n, OP_ASYNC_WAIT, 1)->value->args[0] = e;
}

static void check_lock(struct checker *c, const struct node *n, enum op op)
{
    if (!check_allowed_in_pipeline(c, n->loc, n->text) ||
        !check_arguments(c, n, 2, 2, NULL,
                         op == OP_LOCK ? "lock(turn[i], value)" : "unlock(turn[i], value)") ||
        !check_has_no_cluster(c, n))
        return;
    struct expr *place = semaphore_place(c, n);
    struct expr *value = place ? semaphore_value(c, n, place) : NULL;
    if (!value)
        return;
    struct stmt *s = emit_effect(c, n, op, 2);
    s->value->args[0] = place;
    s->value->args[1] = value;
}

/* Checks free(sa). The rest of the program, in the order of the text, can no longer use sa. */
static void check_free(struct checker *c, const struct node *n)
{
    if (!check_arguments(c, n, 1, 1, NULL, "free(tile)"))
        return;
    const struct node *a = check_call_argument(n, 0);
    struct expr *e = check_is_own_place(c, a, "the tile of `free`") ? check_operand(c, a) : NULL;
    if (!e)
        return;
    if (e->op != OP_ACCESS || e->sym->storage != ST_SHARED || e->indices > 0) {
        bool is_place = e->op == OP_ACCESS || e->op == OP_REF;
        diag_error(c->diag, a->loc, "`free` ends the life of a shared tile; `%s` is %s",
                   check_source_snippet(c, a->loc),
                   !is_place                      ? "none"
                   : e->sym->storage == ST_SHARED ? "a part of one"
                                                  : check_storage_text(e->sym));
        return;
    }
    struct sym_info *info = check_sym_info(c, e->sym);
    if (info->loop_depth < c->loop_depth) {
        diag_error(c->diag, n->loc, "`%s` is freed in a loop, and was declared before it",
                   e->sym->name);
        diag_note(c->diag, e->sym->loc,
                  "the next iteration would use it after it was freed: free it after the loop, or "
                  "declare it inside");
        return;
    }
    info->freed = true;
    info->freed_at = n->loc;
    vec_push(c->arena, &c->freed, e->sym);
    emit_effect(c, n, OP_FREE, 0)->value->sym = e->sym;
}

/* --- print --- */

static bool no_conversion(struct checker *c, const struct node *n, const struct print_piece *p)
{
    diag_error(c->diag, n->loc, "`%.*s` is not a conversion of `print`", (int)p->size, p->from);
    bool of_integers = p->size > 2 && strchr("diuxX", p->from[p->size - 1]);
    if (of_integers && strchr("hljzt", p->from[p->size - 2]))
        diag_note(c->diag, n->loc, "it has no length: write `%%%c`, for integers of any width",
                  p->from[p->size - 1]);
    else if (of_integers || memchr(p->from, '*', p->size))
        diag_note(c->diag, n->loc,
                  "a width or precision is a number of two digits at most: `%%8.3f`");
    else
        diag_note(c->diag, n->loc,
                  "integers are `%%d`, `%%u` and `%%x`, floats `%%f`, `%%e` and `%%g`; a percent "
                  "sign is `%%%%`");
    return false;
}

static bool fits_conversion(struct checker *c, const struct print_piece *p, const struct expr *e)
{
    bool is_float = dtype_is_float(e->type.dtype);
    struct loc at = check_expr_place(c, e);
    if (is_float == print_of_float(p->letter))
        return true;
    diag_error(c->diag, at, "`%.*s` prints %s, `%s` is %s", (int)p->size, p->from,
               is_float ? "an integer" : "a float", check_expr_snippet(c, e),
               check_type_name(c, e));
    diag_note(c->diag, at, "write `%%%c`, or the cast `(%s) %s`", is_float ? 'f' : 'd',
              is_float ? "i32" : "f32", check_expr_snippet(c, e));
    return false;
}

/* Checks a label that has a `%`: it must have a conversion for each value. */
static bool check_format(struct checker *c, const struct node *n, struct expr *const *values,
                         int count)
{
    struct print_piece piece;
    const char *at = n->text;
    int conversions = 0;
    bool good = true;
    do {
        at = print_piece_read(at, &piece);
        if (!at)
            return no_conversion(c, n, &piece);
        if (piece.letter && conversions < count)
            good = fits_conversion(c, &piece, values[conversions]) && good;
        conversions += piece.letter != 0;
    } while (piece.letter);
    if (conversions == count)
        return good;
    diag_error(c->diag, n->loc, "the label has %d conversion%s, and %d value%s given", conversions,
               conversions == 1 ? "" : "s", count, count == 1 ? " is" : "s are");
    diag_note(c->diag, n->loc,
              "each value has one, as in `print(\"x = %%8.3f, i = %%d\", x, i)`; a "
              "percent sign is `%%%%`");
    return false;
}

static void check_print(struct checker *c, const struct node *n)
{
    const struct node *first = n->list;
    const char *label = NULL;
    struct expr *values[64];
    int count = 0;
    if (!first) {
        diag_error(c->diag, n->loc, "`print` needs a label or a value");
        return;
    }
    if (first->kind == N_STRING) {
        label = first->text;
        first = first->next;
    }
    for (const struct node *a = first; a; a = a->next) {
        struct expr *e = check_operand(c, a);
        if (!e)
            return;
        if (count == 64) {
            diag_error(c->diag, a->loc, "`print` takes up to 64 values");
            return;
        }
        values[count++] = e;
    }
    if (print_is_format(label) && !check_format(c, n->list, values, count))
        return;
    struct stmt *s = emit_effect(c, n, OP_PRINT, count);
    s->value->label = label;
    if (count > 0)
        memcpy(s->value->args, values, (size_t)count * sizeof values[0]);
}

static void check_assume(struct checker *c, const struct node *n)
{
    if (!check_arguments(c, n, 1, 1, NULL, "assume(condition)"))
        return;
    struct expr *e = check_condition(c, check_call_argument(n, 0));
    if (!e)
        return;
    struct literal value;
    bool says_never = e->op == OP_LITERAL; /* assume(false): no thread gets here */
    if (!says_never && eval_scalar(e, NULL, &value) && value.i == 0) {
        diag_error(c->diag, e->loc, "`%s` does not hold", check_source_snippet(c, e->loc));
        return;
    }
    emit_effect(c, n, OP_ASSUME, 1)->value->args[0] = e;
}

void check_effect_call(struct checker *c, const struct node *n, enum op op)
{
    switch (op) {
    case OP_SYNC:
    case OP_ASYNC_COMMIT:
        if (check_allowed_in_pipeline(c, n->loc, n->text) &&
            check_arguments(c, n, 0, 0, NULL, op == OP_SYNC ? "sync()" : "async_commit()"))
            emit_effect(c, n, op, 0);
        break;
    case OP_ASYNC_WAIT:
        if (check_allowed_in_pipeline(c, n->loc, n->text))
            check_async_wait(c, n);
        break;
    case OP_LOCK:
    case OP_UNLOCK: check_lock(c, n, op); break;
    case OP_CLUSTER_SYNC:
        if (check_allowed_in_pipeline(c, n->loc, n->text))
            check_cluster_sync(c, n);
        break;
    case OP_FREE: check_free(c, n); break;
    case OP_PRINT: check_print(c, n); break;
    case OP_ASSUME: check_assume(c, n); break;
    case OP_WAIT:
    case OP_EXPECT:
    case OP_MBARRIER_ARRIVE:
    case OP_DOT_ASYNC:
    case OP_DOT_WAIT:
    case OP_STORE_WAIT:
    case OP_FENCE_ASYNC: check_role_call(c, n, op); break;
    default: check_unknown_call(c, n); break;
    }
}
