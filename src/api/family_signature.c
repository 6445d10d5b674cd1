/* The comparison of a family's members: parameters and `ensures`.
 *
 * A caller gives the same arguments to any member and gets the same result, so all that a caller
 * sees must be equal: the parameters in their order, the shapes of the arrays, `ensures`. Which of
 * the sizes are compiled in (`static`), the names of views and the listed types may differ. */
#include "api/family.h"

#include <string.h>

struct comparison {
    tw_family *family;
    struct diag *diag;
    struct arena *scratch;
    const struct lang_kernel *first, *own; /* the first member, and the one compared with it */
};

int family_type_named(const struct lang_kernel *info, const char *name)
{
    for (int t = 0; t < info->type_count; t++)
        if (strcmp(info->types[t].name, name) == 0)
            return t;
    return -1;
}

/* Returns true if the texts differ in blanks at most; NULL is a text of its own. */
static bool same_text(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    for (;; a++, b++) {
        while (text_is_blank(*a))
            a++;
        while (text_is_blank(*b))
            b++;
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}

/* --- parameters --- */

static const char *type_of(const struct lang_kernel *k, const struct lang_param *p)
{
    return p->type_variable >= 0 ? k->types[p->type_variable].name : dtype_table[p->dtype].name;
}

/* Returns a parameter as it is declared: "const T *a", "i32 n = 1". */
static const char *declaration_of(const struct comparison *c, const struct lang_kernel *k,
                                  const struct lang_param *p)
{
    struct text out;
    text_init(&out, c->scratch);
    text_printf(&out, "%s%s %s%s", p->is_const ? "const " : "", type_of(k, p),
                p->is_pointer ? "*" : "", p->name);
    if (p->derived_text)
        text_printf(&out, " = %s", p->derived_text);
    else if (p->has_value || p->has_default) {
        text_add(&out, " = ");
        resolve_add_literal(&out, p->value);
    }
    return out.data;
}

static const char *shape_of(const struct comparison *c, const struct lang_param *p)
{
    struct text out;
    text_init(&out, c->scratch);
    text_add(&out, p->name);
    for (int i = 0; i < p->rank; i++)
        text_printf(&out, "[%s]", p->dim_text[i]);
    return out.data;
}

static bool same_value(struct literal a, struct literal b)
{
    return a.is_float == b.is_float && (a.is_float ? a.f == b.f : a.i == b.i);
}

static bool same_declaration(const struct comparison *c, const struct lang_param *a,
                             const struct lang_param *b)
{
    bool valued = a->has_value || a->has_default;
    return strcmp(a->name, b->name) == 0 && strcmp(type_of(c->first, a), type_of(c->own, b)) == 0 &&
           a->is_pointer == b->is_pointer && a->is_const == b->is_const &&
           a->has_value == b->has_value && a->has_default == b->has_default &&
           same_text(a->derived_text, b->derived_text) &&
           (!valued || same_value(a->value, b->value));
}

static bool same_shape(const struct lang_param *a, const struct lang_param *b)
{
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = same_text(a->dim_text[i], b->dim_text[i]);
    return same;
}

static const char *const way_out =
    "all kernels of a family must declare the same parameters in the "
    "same order; only `static` may differ";

static void report_count(const struct comparison *c)
{
    int most = lang_caller_params(c->own), of_first = lang_caller_params(c->first);
    bool more = most > of_first;
    const struct lang_param *extra = more ? &c->own->params[of_first] : &c->first->params[most];
    diag_error(c->diag, more ? extra->loc : c->own->loc,
               "`%s` has %d parameters, and `%s`, the first kernel of the family `%s`, has %d",
               c->own->name, most, c->first->name, c->family->name, of_first);
    diag_note(c->diag, more ? c->first->loc : extra->loc, "%s", way_out);
}

/* Reports the first parameter that differs; device.sms and the like are not compared. Returns false if there is one. */
static bool compare_params(const struct comparison *c)
{
    const struct lang_kernel *first = c->first, *own = c->own;
    int count = lang_caller_params(first), own_count = lang_caller_params(own);
    for (int i = 0; i < count && i < own_count; i++) {
        const struct lang_param *a = &first->params[i], *b = &own->params[i];
        const char *of_a = declaration_of(c, first, a), *of_b = declaration_of(c, own, b);
        bool declared = same_declaration(c, a, b);
        if (declared && same_shape(a, b))
            continue;
        if (declared) {
            of_a = a->rank ? shape_of(c, a) : "not viewed as a whole";
            of_b = b->rank ? shape_of(c, b) : "not viewed as a whole";
        }
        diag_error(c->diag, b->loc,
                   "%s %d of `%s` is `%s`, and in `%s`, the first kernel of the "
                   "family `%s`, it is `%s`",
                   declared ? "the array of parameter" : "parameter", i + 1, own->name, of_b,
                   first->name, c->family->name, of_a);
        diag_note(c->diag, a->loc, "%s",
                  declared ? "all kernels of a family must view an array with the same extents, "
                             "written in the same way"
                           : way_out);
        return false;
    }
    if (count == own_count)
        return true;
    report_count(c);
    return false;
}

/* --- types --- */

static bool lists(const struct lang_type *list, enum dtype t)
{
    for (int i = 0; i < list->count; i++)
        if (list->choices[i] == t)
            return true;
    return false;
}

/* Finds a type that both kernels list for each type variable. Reports a variable that has none. */
static bool common_types(const struct comparison *c, enum dtype *of_first, enum dtype *of_own)
{
    for (int t = 0; t < c->first->type_count; t++)
        of_first[t] = c->first->types[t].choices[0];
    for (int t = 0; t < c->own->type_count; t++) {
        const struct lang_type *own = &c->own->types[t];
        int index = family_type_named(c->first, own->name), i = 0;
        of_own[t] = own->choices[0];
        if (index < 0)
            continue;
        while (i < own->count && !lists(&c->first->types[index], own->choices[i]))
            i++;
        if (i == own->count) {
            diag_error(c->diag, c->own->loc,
                       "`%s` and `%s`, the first kernel of the family `%s`, have no type of `%s` "
                       "in common",
                       c->own->name, c->first->name, c->family->name, own->name);
            diag_note(c->diag, c->first->loc, "give the list of `type %s` a type that both take",
                      own->name);
            return false;
        }
        of_first[index] = of_own[t] = own->choices[i];
    }
    return true;
}

/* --- ensures --- */

static bool compare_ensures(const struct comparison *c, const tw_kernel *first,
                            const tw_kernel *own)
{
    enum dtype *of_first = arena_array(c->scratch, enum dtype, c->first->type_count + 1);
    enum dtype *of_own = arena_array(c->scratch, enum dtype, c->own->type_count + 1);
    if (!common_types(c, of_first, of_own))
        return false;
    struct lang_choice choice = {.target = own->target, .types = of_own};
    const char *b = lang_ensured(c->scratch, c->diag, own->module->parsed, own->index, &choice);
    choice = (struct lang_choice){.target = first->target, .types = of_first};
    const char *a =
        b ? lang_ensured(c->scratch, c->diag, first->module->parsed, first->index, &choice) : NULL;
    if (!a || strcmp(a, b) == 0)
        return a != NULL;
    diag_error(c->diag, c->own->ensures,
               "`%s` ensures something else than `%s`, the first kernel of the family `%s`",
               c->own->name, c->first->name, c->family->name);
    diag_note(c->diag, c->first->ensures,
              "all kernels of a family must have the same `ensures`, of the same views");
    return false;
}

/* Reports members without `ensures`: their results could not be compared. */
static bool has_ensures(const struct comparison *c, const tw_kernel *k)
{
    if (k->info->has_ensures)
        return true;
    diag_error(c->diag, k->info->loc, "`%s` has no `ensures`, so it cannot be in the family `%s`",
               k->info->name, c->family->name);
    diag_note(c->diag, k->info->loc,
              "the kernels of a family are known to compute the same by the same `ensures`");
    return false;
}

tw_status family_compare(tw_family *f)
{
    struct comparison c = {.family = f, .diag = &f->ctx->diag, .scratch = &f->ctx->scratch};
    const tw_kernel *first = f->members[0].kernel;
    c.first = first->info;
    for (int i = 0; i < f->member_count; i++) {
        const tw_kernel *own = f->members[i].kernel;
        c.own = own->info;
        if (has_ensures(&c, own) && i > 0 && compare_params(&c) && first->info->has_ensures)
            compare_ensures(&c, first, own);
    }
    return c.diag->errors ? TW_BAD_PROGRAM : TW_OK;
}
