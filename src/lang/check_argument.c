/* Arguments of calls. */
#include "lang/check_internal.h"

#include <string.h>

const struct node *check_named_argument(const struct node *n, const char *name)
{
    for (const struct node *a = n->list; a; a = a->next)
        if (a->kind == N_NAMED && strcmp(a->text, name) == 0)
            return a->a;
    return NULL;
}

static bool named_ok(struct checker *c, const struct node *n, const char *const *names)
{
    bool good = true;
    for (const struct node *a = n->list; a; a = a->next) {
        bool known = a->kind != N_NAMED;
        for (const char *const *name = names; !known && name && *name; name++)
            known = strcmp(*name, a->text) == 0;
        for (const struct node *b = n->list; b != a; b = b->next)
            if (known && a->kind == N_NAMED && b->kind == N_NAMED &&
                strcmp(a->text, b->text) == 0) {
                diag_error(c->diag, a->loc, "`%s` is given twice", a->text);
                good = false;
            }
        if (known)
            continue;
        good = false;
        diag_error(c->diag, a->loc, "`%s` takes no argument named `%s`", n->text, a->text);
        if (names && names[0]) {
            struct loc name = a->loc;
            name.length = (uint32_t)strlen(a->text);
            diag_note(c->diag, a->loc, "did you mean `%s = …`?", names[0]);
            diag_fix(c->diag, name, "%s", names[0]);
        }
    }
    return good;
}

bool check_arguments(struct checker *c, const struct node *n, int low, int high,
                     const char *const *names, const char *form)
{
    int count = check_call_argument_count(n);
    bool good = named_ok(c, n, names);
    if (count >= low && (high < 0 || count <= high))
        return good;
    diag_error(c->diag, n->loc, "`%s` is given %d argument%s", n->text, count,
               count == 1 ? "" : "s");
    diag_note(c->diag, n->loc, "it is written `%s`", form);
    return false;
}

bool check_axis(struct checker *c, const struct node *n, const struct expr *x, bool needed,
                int *axis)
{
    const struct node *a = check_named_argument(n, "axis");
    *axis = -1;
    if (!a && needed && x->type.rank == 1) {
        *axis = 0;
        return true;
    }
    if (!a && needed) {
        diag_error(c->diag, n->loc, "along which axis of %s?", check_type_name(c, x));
        diag_note(c->diag, n->loc, "write `axis = 0` for the first, `axis = %d` for the last",
                  x->type.rank - 1);
        return false;
    }
    if (!a)
        return true;
    int64_t v;
    if (!check_constant_int(c, a, "an axis", &v))
        return false;
    if (v < 0 || v >= x->type.rank) {
        diag_error(c->diag, a->loc, "there is no axis %lld: %s has axes 0 to %d", (long long)v,
                   check_type_name(c, x), x->type.rank - 1);
        if (v < 0 && v >= -x->type.rank)
            diag_note(c->diag, a->loc, "axes are counted from the first: write `axis = %d`",
                      x->type.rank + (int)v);
        return false;
    }
    *axis = (int)v;
    return true;
}

enum dtype check_sum_type(enum dtype t)
{
    if (dtype_table[t].bits >= 32 && t != DT_TF32)
        return t;
    return dtype_is_float(t) ? DT_F32 : DT_I32;
}

struct expr *check_reduction_operand(struct checker *c, const struct node *n, enum op op)
{
    struct expr *x = check_operand(c, check_call_argument(n, 0));
    if (!x)
        return NULL;
    if (x->type.rank == 0) {
        diag_error(c->diag, x->loc, "`%s` is over the elements of a tile, and this is a scalar",
                   n->text);
        if (strcmp(n->text, "max") == 0 || strcmp(n->text, "min") == 0)
            diag_note(c->diag, n->loc, "of two values: `%s(a, b)`", n->text);
        else if (c->thread_level)
            diag_note(
                c->diag, n->loc,
                "over the threads of a block: `shared %s s[%d]; s[thread.x] = v; sync();`, and "
                "then `%s(s)`",
                check_is_untyped(x) ? "f32" : dtype_table[x->type.dtype].name,
                kernel_block_threads(c->kernel), n->text);
        return NULL;
    }
    if (op == OP_REDUCE_ANY || op == OP_REDUCE_ALL)
        return check_to_bool(c, x);
    if (op == OP_REDUCE_SUM)
        return check_cast_to(c, x, check_sum_type(x->type.dtype));
    return x->type.dtype == DT_BOOL ? check_cast_to(c, x, DT_I32) : x;
}
