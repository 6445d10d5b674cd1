/* The `ensures` of a kernel as one text, by which kernels are compared.
 *
 * The text comes from the checked program: fns are replaced by their bodies, types and casts are
 * spelt out. It has the views that the `ensures` name, each by the name of its parameter, because
 * kernels may name their views differently:
 *
 *     kernel ensured(i32 m, i32 n, i32 k, const f16 *a, const f16 *b, f16 *c) …
 *     {
 *         global f16 a[m][k] = a;
 *         global f16 b[k][n] = b;
 *         global f16 c[m][n] = c;
 *         ensures c == (f16) dot(a, b);
 *     }
 *
 * The rest of the kernel is not checked, so no static needs a value. */
#include "lang/check_internal.h"

#include <string.h>

/* Adds all names in the tree to a table. */
static void add_names(void *user, const struct node *n)
{
    struct name_table *names = user;
    if (n->text)
        name_table_entry(names, n->text, strlen(n->text));
    module_visit_children(n, add_names, names);
}

static bool declares_one_of(const struct node *n, const struct name_table *names)
{
    const struct node *first = n->kind == N_DECLS ? n->list : NULL;
    bool constant = first && (first->i == DECL_GLOBAL || first->is_const);
    for (const struct node *d = constant ? first : NULL; d; d = d->next)
        if (name_table_find(names, d->text, strlen(d->text)))
            return true;
    return false;
}

/* Returns copies of the statements of a kernel that its `ensures` need: themselves, and the
 * declarations of their names. */
static struct node *needed_statements(struct arena *a, const struct node *kernel)
{
    VEC(const struct node *) all = {0};
    struct name_table names;
    struct node *head = NULL;
    name_table_init(&names, a);
    for (const struct node *n = kernel->body->body; n; n = n->next)
        vec_push(a, &all, n);
    for (size_t i = all.count; i-- > 0;) {
        if (all.data[i]->kind != N_ENSURES && !declares_one_of(all.data[i], &names))
            continue;
        struct node *copy = arena_copy(a, all.data[i], sizeof *copy);
        add_names(&names, copy);
        copy->next = head;
        head = copy;
    }
    return head;
}

/* Appends the declarations of a parameter's views that an `ensures` names to the list at `tail`,
 * with their new names. */
static struct stmt **take_views(struct kernel *k, const struct sym *param, struct stmt *ensures,
                                struct stmt **declared, struct stmt **tail)
{
    int count = 0;
    while (*declared) {
        struct stmt *s = *declared;
        bool is_view = s->sym && s->sym->storage == ST_VIEW && s->sym->base == param;
        if (!is_view || stmt_mentions(ensures, s->sym) == 0) {
            declared = &s->next;
            continue;
        }
        *declared = s->next;
        s->next = NULL;
        s->sym->name =
            count++ == 0 ? param->name : arena_printf(k->arena, "%s_%d", param->name, count);
        *tail = s;
        tail = &s->next;
    }
    return tail;
}

/* Leaves only the `ensures` and the views that they name in the kernel, by parameter. */
static void arrange(struct kernel *k)
{
    struct stmt *ensures = NULL, **last_ensures = &ensures, *declared = NULL, **last = &declared;
    for (struct stmt *s = k->body, *next; s; s = next) {
        struct stmt ***list = s->kind == STMT_ENSURES ? &last_ensures : &last;
        next = s->next;
        s->next = NULL;
        **list = s;
        *list = &s->next;
    }
    struct stmt **tail = &k->body;
    *tail = NULL;
    for (struct param *p = k->params; p; p = p->next) {
        tail = take_views(k, p->sym, ensures, &declared, tail);
        p->sym->is_static = false; /* it does not change the meaning */
    }
    *tail = ensures;
}

const char *lang_ensured(struct arena *a, struct diag *d, const struct module *m, int index,
                         const struct lang_choice *choice)
{
    int errors = d->errors;
    const struct entry *e = &m->entries[m->kernels[index]];
    struct checker c;
    struct text out;
    d->code = CODE_PROGRAM;
    const struct literal *tunes = check_chosen_tunes(a, d, m, index, choice);
    if (!tunes)
        return NULL;
    check_set_up(&c, a, d, m, "ensured", e->loc);
    c.tunes = tunes;
    c.types = check_chosen_types(a, m, index, choice);
    c.node = e->node;
    check_bind_params(&c, e->node, choice);
    c.kernel->warps = 1;
    check_stmts(&c, needed_statements(a, e->node), NULL);
    check_link_constants(&c);
    if (d->errors > errors)
        return NULL;
    arrange(c.kernel);
    text_init(&out, a);
    kernel_print(&out, c.kernel);
    return out.data;
}
