/* The module: its names, tune lists and conditions, and the checks that do not depend on a choice.
 *
 * Names may be used before they are declared. A constant is evaluated when it is first needed,
 * so a constant that depends on tuned values has its own value in each variant of a kernel. */
#include "lang/check_internal.h"

#include <string.h>

struct builder {
    struct arena *arena;
    struct diag *diag;
    struct module *module;
    VEC(struct entry) entries;
    VEC(struct tune_list) lists;
    VEC(struct module_condition) conditions;
    VEC(int) first_lists; /* by group */
};

/* --- names --- */

static struct entry *find_entry(struct builder *b, const char *name)
{
    const struct name_entry *found = name_table_find(&b->module->names, name, strlen(name));
    return found ? &b->entries.data[found->number] : NULL;
}

static struct entry *add_entry(struct builder *b, enum entry_kind kind, const char *name,
                               const struct node *n, struct loc loc)
{
    struct entry *old = find_entry(b, name);
    if (old) {
        diag_error(b->diag, loc, "`%s` is declared twice", name);
        diag_note(b->diag, old->loc, "the first declaration; give one of them another name");
        return NULL;
    }
    if (kind == ENTRY_FN && op_by_text(name, FORM_CALL, -1) != OP_COUNT) {
        diag_error(b->diag, loc, "`%s` is a function of the language", name);
        diag_note(b->diag, loc, "choose another name");
        return NULL;
    }
    struct entry e = {.name = name, .loc = loc, .kind = kind, .node = n, .dtype = DT_I32};
    e.index = (int)b->entries.count;
    name_table_add(&b->module->names, name, strlen(name))->number = (uint32_t)e.index;
    vec_push(b->arena, &b->entries, e);
    return &b->entries.data[e.index];
}

static void add_typevar(struct builder *b, const struct node *n)
{
    VEC(enum dtype) choices = {0};
    for (const struct node *t = n->list; t; t = t->next) {
        enum dtype type = t->text ? dtype_by_name(t->text, strlen(t->text)) : DT_NONE;
        if (type == DT_NONE) {
            diag_error(b->diag, t->loc, "a type variable chooses among element types");
            diag_note(b->diag, t->loc, "write `type %s = {f16, f32};`", n->text);
            continue;
        }
        for (size_t i = 0; i < choices.count; i++)
            if (choices.data[i] == type)
                diag_error(b->diag, t->loc, "`%s` is already a choice", t->text);
        vec_push(b->arena, &choices, type);
    }
    struct entry *e = choices.count ? add_entry(b, ENTRY_TYPE, n->text, n, n->loc) : NULL;
    if (!e)
        return;
    e->choices = choices.data;
    e->choice_count = (int)choices.count;
}

/* Adds a family. Its name is the module's, but no expression can use it. */
static void add_family(struct builder *b, const struct node *n)
{
    const struct entry *old = find_entry(b, n->text);
    const struct loc *first = old ? &old->loc : NULL;
    struct node_list *all = &b->module->families;
    for (size_t i = 0; i < all->count && !first; i++)
        if (strcmp(all->data[i]->text, n->text) == 0)
            first = &all->data[i]->loc;
    if (first) {
        diag_error(b->diag, n->loc, "`%s` is declared twice", n->text);
        diag_note(b->diag, *first, "the first declaration; give one of them another name");
    }
    vec_push(b->arena, all, n);
}

/* --- tune lists --- */

static int count_nodes(const struct node *list)
{
    int count = 0;
    for (; list; list = list->next)
        count++;
    return count;
}

static bool check_target_name(struct builder *b, const struct node *n)
{
    if (!n->text || module_known_target(n->text))
        return true;
    module_unknown_target(b->diag, n->loc, n->text);
    return false;
}

/* Checks that a list for one target fits the earlier lists of its group. */
static bool fits_group(struct builder *b, const struct node *n, int group, int names)
{
    for (int i = group < 0 ? -1 : b->first_lists.data[group]; i >= 0; i = b->lists.data[i].next) {
        const struct tune_list *l = &b->lists.data[i];
        if (!l->target && l->names != names) {
            diag_error(b->diag, n->loc, "this list's names differ from those of the common list");
            diag_note(b->diag, l->node->loc, "the common list");
            return false;
        }
        if (l->target && strcmp(l->target, n->text) == 0) {
            diag_error(b->diag, n->loc, "a second list for the target `%s`", n->text);
            diag_note(b->diag, l->node->loc, "the first one");
            return false;
        }
    }
    return true;
}

/* Returns the group of a list for one target: that of the common list with the same names. */
static int group_of(struct builder *b, const struct node *n)
{
    int member = 0, group = -1;
    for (const struct node *name = n->names; name; name = name->next, member++) {
        const struct entry *e = find_entry(b, name->text);
        if (!e || e->kind != ENTRY_TUNE) {
            diag_error(b->diag, name->loc, "`%s` has no list for all targets", name->text);
            diag_note(b->diag, name->loc, "declare `tune %s = {…};` before", name->text);
            return -1;
        }
        if (e->member != member || (group >= 0 && e->group != group)) {
            diag_error(b->diag, name->loc,
                       "this list's names differ from those of the common list");
            diag_note(b->diag, e->loc, "the common list");
            return -1;
        }
        group = e->group;
    }
    return fits_group(b, n, group, member) ? group : -1;
}

static int new_group(struct builder *b, const struct node *n)
{
    int member = 0, group = b->module->group_count;
    bool good = true;
    for (const struct node *name = n->names; name; name = name->next, member++) {
        struct entry *e = add_entry(b, ENTRY_TUNE, name->text, n, name->loc);
        good = good && e;
        if (!e)
            continue;
        e->group = group;
        e->member = member;
    }
    b->module->group_count++;
    vec_push(b->arena, &b->first_lists, -1);
    return good ? group : -1;
}

/* Adds a list to its group, which has at most one list for each target. */
static void link_list(struct builder *b, int index)
{
    int *link = &b->first_lists.data[b->lists.data[index].group];
    while (*link >= 0)
        link = &b->lists.data[*link].next;
    *link = index;
}

static void add_tune(struct builder *b, const struct node *n)
{
    if (!n->names || !check_target_name(b, n))
        return;
    struct tune_list list = {.node = n, .target = n->text, .names = count_nodes(n->names)};
    list.count = count_nodes(n->list);
    list.group = n->text ? group_of(b, n) : new_group(b, n);
    list.next = -1;
    if (list.group < 0)
        return;
    vec_push(b->arena, &b->lists, list);
    link_list(b, (int)b->lists.count - 1);
}

/* Evaluates the value of one name in a row of a list. */
static bool tune_value(struct checker *c, const struct node *n, struct literal *out)
{
    struct expr *e = check_expr(c, n, NULL);
    if (!e)
        return false;
    bool is_float = check_is_untyped(e) && e->literal.is_float;
    e = is_float ? check_adapt_literal(c, e, DT_F32) : check_settle_literal(c, e);
    if (!e || !check_constant_value(c, e, "a tuned value", out))
        return false;
    enum dtype t = e->type.dtype;
    if (t == DT_BOOL || t == DT_F32 || (dtype_is_int(t) && dtype_wrap(DT_I32, out->i) == out->i))
        return true;
    diag_error(c->diag, n->loc, "a tuned value is an i32, f32 or bool; this is %s",
               check_type_name(c, e));
    return false;
}

/* Evaluates one row: it must have as many values as the list has names. */
static bool tune_row(struct checker *c, const struct tune_list *list, const struct node *row,
                     struct literal *out)
{
    const struct node *values = row->kind == N_TUPLE ? row->list : row;
    int count = row->kind == N_TUPLE ? count_nodes(values) : 1;
    if (count != list->names) {
        diag_error(c->diag, row->loc, "%d value%s for %d name%s", count, count == 1 ? "" : "s",
                   list->names, list->names == 1 ? "" : "s");
        return false;
    }
    bool good = true;
    for (int i = 0; i < count; i++, values = row->kind == N_TUPLE ? values->next : NULL)
        good = tune_value(c, values, &out[i]) && good;
    return good;
}

/* Adds a row of a list to the set of rows seen; returns true if it was already there. The bytes
 * of its values are its name in the set. */
static bool row_repeats(struct name_table *seen, const struct tune_list *list, int row)
{
    enum { BYTES = sizeof(int64_t) + sizeof(double) + 1 };
    char *bytes = arena_room(seen->arena, (size_t)list->names * BYTES);
    for (int i = 0; i < list->names; i++) {
        const struct literal *x = &list->values[row * list->names + i];
        char *to = bytes + (size_t)i * BYTES;
        memcpy(to, &x->i, sizeof x->i);
        memcpy(to + sizeof x->i, &x->f, sizeof x->f);
        to[BYTES - 1] = (char)x->is_float;
    }
    size_t before = seen->count;
    name_table_entry(seen, bytes, (size_t)list->names * BYTES);
    return seen->count == before;
}

static void tune_values(struct builder *b, struct checker *c, struct tune_list *list)
{
    const struct node *row = list->node->list;
    struct name_table seen;
    name_table_init(&seen, b->arena);
    list->values = arena_array(b->arena, struct literal, list->count * list->names + 1);
    for (int i = 0; i < list->count; i++, row = row->next)
        if (tune_row(c, list, row, &list->values[i * list->names]) && row_repeats(&seen, list, i))
            diag_warning(b->diag, row->loc, "this value is in the list already");
}

/* Sets the types of tuned names: F32 if any value is a float, BOOL if all are truth values, else
 * I32. */
static void tune_types(struct builder *b)
{
    for (size_t k = 0; k < b->lists.count; k++) {
        const struct tune_list *list = &b->lists.data[k];
        const struct literal *value = list->values;
        for (const struct node *row = list->node->list; row; row = row->next) {
            const struct node *v = row->kind == N_TUPLE ? row->list : row;
            for (const struct node *name = list->node->names; name; name = name->next, value++) {
                struct entry *e = find_entry(b, name->text);
                if (value->is_float)
                    e->dtype = DT_F32;
                else if (v && v->kind == N_BOOL && e->dtype == DT_I32)
                    e->dtype = DT_BOOL;
                v = v ? v->next : NULL;
            }
        }
    }
}

/* --- the whole module --- */

static void add_item(struct builder *b, const struct node *n)
{
    struct module_condition condition = {.node = n};
    switch (n->kind) {
    case N_CONST: add_entry(b, ENTRY_CONST, n->text, n, n->loc); break;
    case N_TUNE: add_tune(b, n); break;
    case N_TYPEVAR: add_typevar(b, n); break;
    case N_FN:
        add_entry(b, ENTRY_FN, n->text, n, n->loc);
        check_fn_returns(b->diag, n);
        break;
    case N_KERNEL: add_entry(b, ENTRY_KERNEL, n->text, n, n->loc); break;
    case N_REQUIRE:
    case N_STATIC_ASSERT: vec_push(b->arena, &b->conditions, condition); break;
    default: break;
    }
}

/* Adds the items in passes: lists for a target may come before the common list, and families come
 * last, because they only have names. */
static void add_items(struct builder *b, const struct node *items)
{
    for (const struct node *n = items; n; n = n->next)
        if (n->kind != N_TUNE || !n->text)
            add_item(b, n);
    for (const struct node *n = items; n; n = n->next)
        if (n->kind == N_TUNE && n->text)
            add_item(b, n);
    for (const struct node *n = items; n; n = n->next)
        if (n->kind == N_FAMILY)
            add_family(b, n);
}

/* Moves the kernels after the other entries, so that arrays by entry index need no room for
 * kernels. */
static void sort_entries(struct builder *b)
{
    struct module *m = b->module;
    m->entry_count = (int)b->entries.count;
    m->entries = arena_array(b->arena, struct entry, m->entry_count + 1);
    m->kernels = arena_array(b->arena, int, m->entry_count + 1);
    int next = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < m->entry_count; i++) {
            struct entry e = b->entries.data[i];
            if ((e.kind == ENTRY_KERNEL) != (pass == 1))
                continue;
            e.index = next;
            name_table_find(&m->names, e.name, strlen(e.name))->number = (uint32_t)next;
            if (pass == 1)
                m->kernels[m->kernel_count++] = next;
            m->entries[next++] = e;
        }
        m->known_count = pass == 0 ? next : m->known_count;
    }
    b->entries.data = m->entries;
}

static void publish(struct builder *b)
{
    struct module *m = b->module;
    sort_entries(b);
    m->first_lists = b->first_lists.data;
    m->lists = b->lists.data;
    m->list_count = (int)b->lists.count;
    m->conditions = b->conditions.data;
    m->condition_count = (int)b->conditions.count;
}

static bool is_choice(const struct entry *e)
{
    return e->kind == ENTRY_TUNE || e->kind == ENTRY_TYPE;
}

/* Returns, by entry index, the conditions that use each tuned name and type. */
static struct index_list *find_condition_uses(struct builder *b, struct module_reach *r)
{
    struct module *m = b->module;
    struct index_list *speaking = arena_array(b->arena, struct index_list, m->known_count + 1);
    for (int i = 0; i < m->condition_count; i++) {
        struct module_condition *x = &m->conditions[i];
        module_reach_add(r, x->node);
        x->uses = module_reach_take(r);
        for (size_t k = 0; k < x->uses.count; k++) {
            int e = x->uses.data[k];
            if (!is_choice(&m->entries[e]))
                continue;
            x->is_tuned = true;
            vec_push(b->arena, &speaking[e], i);
        }
    }
    return speaking;
}

/* Finds the entries and conditions that a kernel reaches. A condition that concerns the kernel
 * adds the entries that it uses, and these may add further conditions. concerned: by condition,
 * the last kernel that it was found to concern. */
static void find_kernel_uses(struct builder *b, struct module_reach *r, struct entry *kernel,
                             const struct index_list *speaking, int *concerned)
{
    struct module *m = b->module;
    module_reach_add(r, kernel->node);
    for (size_t next = 0; next < r->found.count; next++) {
        const struct index_list *list = &speaking[r->found.data[next]];
        for (size_t k = 0; k < list->count; k++) {
            int condition = list->data[k];
            if (concerned[condition] == kernel->index)
                continue;
            concerned[condition] = kernel->index;
            vec_push(b->arena, &kernel->concern, condition);
            const struct index_list *uses = &m->conditions[condition].uses;
            for (size_t e = 0; e < uses->count; e++)
                module_reach_entry(r, uses->data[e]);
        }
    }
    kernel->uses = module_reach_take(r);
    module_sort_indices(&kernel->concern);
}

static void find_uses(struct builder *b)
{
    struct module *m = b->module;
    struct module_reach r;
    module_reach_init(&r, b->arena, m);
    struct index_list *speaking = find_condition_uses(b, &r);
    int *concerned = arena_array(b->arena, int, m->condition_count + 1);
    for (int i = 0; i < m->condition_count; i++)
        concerned[i] = -1;
    for (int i = 0; i < m->kernel_count; i++)
        find_kernel_uses(b, &r, &m->entries[m->kernels[i]], speaking, concerned);
}

/* Warns about names that no kernel, fn or require reaches. */
static void warn_unused(struct builder *b)
{
    const struct module *m = b->module;
    struct module_reach r;
    module_reach_init(&r, b->arena, m);
    for (int i = 0; i < m->entry_count; i++)
        if (m->entries[i].kind == ENTRY_KERNEL || m->entries[i].kind == ENTRY_FN)
            module_reach_add(&r, m->entries[i].node);
    for (int i = 0; i < m->condition_count; i++)
        module_reach_add(&r, m->conditions[i].node);
    for (int i = 0; i < m->known_count; i++) {
        const struct entry *e = &m->entries[i];
        if (r.reached[i] || !is_choice(e) || e->loc.source != m->source)
            continue;
        diag_warning(b->diag, e->loc, "the %s `%s` is used by no kernel",
                     e->kind == ENTRY_TUNE ? "tuned name" : "type", e->name);
        diag_note(b->diag, e->loc, "leave it out, or use it %s",
                  e->kind == ENTRY_TUNE ? "in an extent, an attribute or a `require`"
                                        : "as the type of an array, a tile or a value");
    }
}

/* Checks the values of constants and tune lists, and conditions, once, with the first value of
 * every list. */
static void check_values(struct builder *b)
{
    struct module *m = b->module;
    struct checker c;
    check_set_up(&c, b->arena, b->diag, m, "module", LOC_NONE);
    for (int i = 0; i < m->list_count; i++)
        tune_values(b, &c, &m->lists[i]);
    tune_types(b);
    if (b->diag->errors > 0)
        return;
    struct literal *tunes = arena_array(b->arena, struct literal, m->known_count + 1);
    enum dtype *types = arena_array(b->arena, enum dtype, m->known_count + 1);
    for (int i = 0; i < m->known_count; i++) {
        const struct entry *e = &m->entries[i];
        if (e->kind == ENTRY_TUNE)
            tunes[i] = module_tune_list(m, e->group, NULL)->values[e->member];
        else if (e->kind == ENTRY_TYPE)
            types[i] = e->choices[0];
    }
    check_set_up(&c, b->arena, b->diag, m, "module", LOC_NONE);
    c.tunes = tunes;
    c.types = types;
    for (int i = 0; i < m->known_count; i++)
        if (m->entries[i].kind == ENTRY_CONST)
            check_const_sym(&c, &m->entries[i], m->entries[i].loc);
    for (int i = 0; i < m->condition_count; i++) {
        const struct module_condition *x = &m->conditions[i];
        check_stated(&c, x->node, !x->is_tuned);
    }
}

/* Checks the names in fns of the program's own text that no kernel and no condition reaches. */
static void check_uncalled_fns(struct builder *b)
{
    const struct module *m = b->module;
    struct module_reach r;
    struct checker c;
    module_reach_init(&r, b->arena, m);
    for (int i = 0; i < m->kernel_count; i++)
        module_reach_add(&r, m->entries[m->kernels[i]].node);
    for (int i = 0; i < m->condition_count; i++)
        module_reach_add(&r, m->conditions[i].node);
    check_set_up(&c, b->arena, b->diag, m, "module", LOC_NONE);
    for (int i = 0; i < m->known_count; i++) {
        const struct entry *e = &m->entries[i];
        if (e->kind == ENTRY_FN && !r.reached[i] && e->loc.source == m->source && e->node->body)
            check_uncalled(&c, e->node);
    }
}

struct module *lang_parse(struct arena *a, struct diag *d, const struct source *source)
{
    return lang_parse_with(a, d, source, &(struct lang_search){0});
}

const struct lang_sources *lang_program(const struct module *m)
{
    return &m->sources;
}

struct module *lang_parse_with(struct arena *a, struct diag *d, const struct source *source,
                               const struct lang_search *search)
{
    int errors = d->errors;
    struct module *m = arena_new(a, struct module);
    struct builder b = {.arena = a, .diag = d, .module = m};
    arena_doing(a, "reading the program");
    name_table_init(&m->names, a);
    m->source = source;
    d->code = CODE_SYNTAX;
    m->items = parse_program(a, d, source, search, &m->sources);
    d->code = CODE_PROGRAM;
    if (d->errors > errors)
        return NULL;
    add_items(&b, m->items);
    publish(&b);
    if (d->errors == errors) {
        find_uses(&b);
        check_values(&b);
        check_uncalled_fns(&b);
    }
    if (d->errors > errors)
        return NULL;
    warn_unused(&b);
    return m;
}

int lang_kernel_count(const struct module *m)
{
    return m->kernel_count;
}
