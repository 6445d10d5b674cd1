/* The module: its names, tune lists and conditions, and the checks that need no choice.
 *
 * Names may be used before they are declared. A constant is evaluated when something needs it, so
 * one that depends on tuned values has a value in each variant of a kernel.
 */
#include "lang/check_internal.h"

#include <string.h>

uint64_t name_hash(const char *name)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h;
}

const struct entry *module_entry(const struct module *m, const char *name)
{
    uint64_t hash = name_hash(name);
    for (int i = 0; i < m->entry_count; i++)
        if (m->entries[i].hash == hash && strcmp(m->entries[i].name, name) == 0)
            return &m->entries[i];
    return NULL;
}

struct builder {
    struct arena *arena;
    struct diag *diag;
    struct module *module;
    VEC(struct entry) entries;
    VEC(struct tune_list) lists;
    VEC(struct module_condition) conditions;
    VEC(int) kernels;
};

/* --- names --- */

static struct entry *find_entry(struct builder *b, const char *name)
{
    uint64_t hash = name_hash(name);
    for (size_t i = 0; i < b->entries.count; i++)
        if (b->entries.data[i].hash == hash && strcmp(b->entries.data[i].name, name) == 0)
            return &b->entries.data[i];
    return NULL;
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
    if ((kind == ENTRY_FN || kind == ENTRY_KERNEL) && op_by_text(name, FORM_CALL, -1) != OP_COUNT) {
        diag_error(b->diag, loc, "`%s` is a function of the language", name);
        diag_note(b->diag, loc, "choose another name");
        return NULL;
    }
    struct entry e = {.name = name, .loc = loc, .kind = kind, .node = n, .dtype = DT_I32};
    e.index = (int)b->entries.count;
    e.hash = name_hash(name);
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
                diag_error(b->diag, t->loc, "`%s` is a choice already", t->text);
        vec_push(b->arena, &choices, type);
    }
    struct entry *e = choices.count ? add_entry(b, ENTRY_TYPE, n->text, n, n->loc) : NULL;
    if (!e)
        return;
    e->choices = choices.data;
    e->choice_count = (int)choices.count;
}

/* --- fns --- */

static void check_fn_entry(struct builder *b, const struct node *n)
{
    const struct node *last = n->body ? n->body->body : NULL;
    while (last && last->next)
        last = last->next;
    if (!n->result || (last && last->kind == N_RETURN && last->a))
        return;
    diag_error(b->diag, n->loc, "the fn `%s` does not end with the value it returns", n->text);
    diag_note(b->diag, last ? last->loc : n->loc, "its last statement is `return …;`");
}

/* --- tune lists --- */

static int count_nodes(const struct node *list)
{
    int count = 0;
    for (; list; list = list->next)
        count++;
    return count;
}

bool known_target(const char *target)
{
    static const char *const targets[] = {"cpu", "sim", "cuda"};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (strcmp(targets[i], target) == 0)
            return true;
    if (strncmp(target, "sm_", 3) != 0)
        return false;
    size_t digits = strspn(target + 3, "0123456789");
    return digits >= 2 && digits <= 3 &&
           (!target[3 + digits] || strcmp(target + 3 + digits, "a") == 0);
}

void unknown_target(struct diag *d, struct loc loc, const char *name)
{
    diag_error(d, loc, "there is no target `%s`", name);
    diag_note(d, loc, "targets are cpu, sim, cuda, and sm_80, sm_90, …");
}

static bool check_target_name(struct builder *b, const struct node *n)
{
    if (!n->text || known_target(n->text))
        return true;
    unknown_target(b->diag, n->loc, n->text);
    return false;
}

/* A list for one target: the same names as the common list. */
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
                       "the names of this list are not those of the common one");
            diag_note(b->diag, e->loc, "the common list");
            return -1;
        }
        group = e->group;
    }
    for (size_t i = 0; i < b->lists.count; i++) {
        const struct tune_list *l = &b->lists.data[i];
        if (l->group == group && !l->target && l->names != member) {
            diag_error(b->diag, n->loc, "the names of this list are not those of the common one");
            diag_note(b->diag, l->node->loc, "the common list");
            return -1;
        }
        if (l->group == group && l->target && strcmp(l->target, n->text) == 0) {
            diag_error(b->diag, n->loc, "a second list for the target `%s`", n->text);
            diag_note(b->diag, l->node->loc, "the first one");
            return -1;
        }
    }
    return group;
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
    return good ? group : -1;
}

static void add_tune(struct builder *b, const struct node *n)
{
    if (!n->names || !check_target_name(b, n))
        return;
    struct tune_list list = {.node = n, .target = n->text, .names = count_nodes(n->names)};
    list.count = count_nodes(n->list);
    list.group = n->text ? group_of(b, n) : new_group(b, n);
    if (list.group >= 0)
        vec_push(b->arena, &b->lists, list);
}

/* The value of one name in a row of a list. */
static bool tune_value(struct checker *c, const struct node *n, struct literal *out)
{
    struct expr *e = check_expr(c, n, NULL);
    if (!e)
        return false;
    bool is_float = is_untyped(e) && e->literal.is_float;
    e = is_float ? adapt_literal(c, e, DT_F32) : settle_literal(c, e);
    if (!e || !constant_value(c, e, "a tuned value", out))
        return false;
    enum dtype t = e->type.dtype;
    if (t == DT_BOOL || t == DT_F32 || (dtype_is_int(t) && dtype_wrap(DT_I32, out->i) == out->i))
        return true;
    diag_error(c->diag, n->loc, "a tuned value is an i32, f32 or bool; this is %s",
               type_name(c, e));
    return false;
}

/* One row: as many values as the list has names. */
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

static bool row_repeats(const struct tune_list *list, int row)
{
    for (int other = 0; other < row; other++) {
        bool same = true;
        for (int i = 0; i < list->names; i++) {
            const struct literal *x = &list->values[other * list->names + i];
            const struct literal *y = &list->values[row * list->names + i];
            same = same && x->is_float == y->is_float && x->i == y->i &&
                   memcmp(&x->f, &y->f, sizeof x->f) == 0;
        }
        if (same)
            return true;
    }
    return false;
}

static void tune_values(struct builder *b, struct checker *c, struct tune_list *list)
{
    const struct node *row = list->node->list;
    list->values = arena_array(b->arena, struct literal, list->count * list->names + 1);
    for (int i = 0; i < list->count; i++, row = row->next)
        if (tune_row(c, list, row, &list->values[i * list->names]) && row_repeats(list, i))
            diag_warning(b->diag, row->loc, "this value stands in the list already");
}

/* F32 as soon as one value is a float, BOOL when all are truth values. */
static void tune_types(struct builder *b)
{
    for (size_t i = 0; i < b->entries.count; i++) {
        struct entry *e = &b->entries.data[i];
        if (e->kind != ENTRY_TUNE)
            continue;
        for (size_t k = 0; k < b->lists.count; k++) {
            const struct tune_list *list = &b->lists.data[k];
            const struct node *row = list->node->list;
            for (int r = 0; list->group == e->group && r < list->count; r++, row = row->next) {
                const struct node *v = row->kind == N_TUPLE ? row->list : row;
                for (int skip = e->member; v && skip > 0; skip--)
                    v = v->next;
                if (list->values[r * list->names + e->member].is_float)
                    e->dtype = DT_F32;
                else if (v && v->kind == N_BOOL && e->dtype == DT_I32)
                    e->dtype = DT_BOOL;
            }
        }
    }
}

const struct tune_list *module_tune_list(const struct module *m, int group, const char *target)
{
    const struct tune_list *best = NULL;
    int best_rank = -1;
    target = target ? target : "cpu";
    bool cuda = strncmp(target, "sm_", 3) == 0;
    size_t length = strlen(target);
    for (int i = 0; i < m->list_count; i++) {
        const struct tune_list *l = &m->lists[i];
        int rank = -1;
        if (!l->target)
            rank = 0;
        else if (strcmp(l->target, target) == 0)
            rank = 3;
        else if (cuda && target[length - 1] == 'a' && strlen(l->target) == length - 1 &&
                 strncmp(l->target, target, length - 1) == 0)
            rank = 2; /* sm_90a sees the list of sm_90 */
        else if (cuda && strcmp(l->target, "cuda") == 0)
            rank = 1;
        if (l->group == group && rank > best_rank) {
            best = l;
            best_rank = rank;
        }
    }
    return best;
}

/* --- all of it --- */

static void add_item(struct builder *b, const struct node *n)
{
    struct module_condition condition = {.node = n};
    switch (n->kind) {
    case N_CONST: add_entry(b, ENTRY_CONST, n->text, n, n->loc); break;
    case N_TUNE: add_tune(b, n); break;
    case N_TYPEVAR: add_typevar(b, n); break;
    case N_FN:
        add_entry(b, ENTRY_FN, n->text, n, n->loc);
        check_fn_entry(b, n);
        break;
    case N_KERNEL: {
        const struct entry *e = add_entry(b, ENTRY_KERNEL, n->text, n, n->loc);
        if (e)
            vec_push(b->arena, &b->kernels, e->index);
        break;
    }
    case N_REQUIRE:
    case N_STATIC_ASSERT: vec_push(b->arena, &b->conditions, condition); break;
    default: break;
    }
}

/* Lists for a target may stand before the common one. */
static void add_items(struct builder *b, const struct node *items)
{
    for (const struct node *n = items; n; n = n->next)
        if (n->kind != N_TUNE || !n->text)
            add_item(b, n);
    for (const struct node *n = items; n; n = n->next)
        if (n->kind == N_TUNE && n->text)
            add_item(b, n);
}

static void publish(struct builder *b)
{
    struct module *m = b->module;
    m->entries = b->entries.data;
    m->entry_count = (int)b->entries.count;
    m->lists = b->lists.data;
    m->list_count = (int)b->lists.count;
    m->conditions = b->conditions.data;
    m->condition_count = (int)b->conditions.count;
    m->kernels = b->kernels.data;
    m->kernel_count = (int)b->kernels.count;
}

static void find_uses(struct builder *b)
{
    struct module *m = b->module;
    for (int i = 0; i < m->condition_count; i++)
        m->conditions[i].uses = module_uses(b->arena, m, m->conditions[i].node);
    for (int i = 0; i < m->entry_count; i++)
        if (m->entries[i].kind == ENTRY_KERNEL)
            m->entries[i].uses = module_uses(b->arena, m, m->entries[i].node);
    /* A condition that concerns a kernel brings its own names along, and these may bring others. */
    for (int i = 0; i < m->kernel_count; i++) {
        bool *uses = m->entries[m->kernels[i]].uses, more = true;
        while (more) {
            more = false;
            for (int k = 0; k < m->condition_count; k++) {
                const struct module_condition *x = &m->conditions[k];
                for (int e = 0; condition_concerns(m, x, uses) && e < m->entry_count; e++) {
                    more = more || (x->uses[e] && !uses[e]);
                    uses[e] = uses[e] || x->uses[e];
                }
            }
        }
    }
}

bool condition_concerns(const struct module *m, const struct module_condition *x, const bool *uses)
{
    for (int e = 0; e < m->entry_count; e++)
        if (x->uses[e] && uses[e] &&
            (m->entries[e].kind == ENTRY_TUNE || m->entries[e].kind == ENTRY_TYPE))
            return true;
    return false;
}

/* Names that no kernel, fn or require reaches. */
static void warn_unused(struct builder *b)
{
    const struct module *m = b->module;
    bool *used = arena_array(b->arena, bool, m->entry_count + 1);
    for (int i = 0; i < m->entry_count; i++) {
        const struct entry *e = &m->entries[i];
        const bool *uses = e->kind == ENTRY_KERNEL ? e->uses
                           : e->kind == ENTRY_FN   ? module_uses(b->arena, m, e->node)
                                                   : NULL;
        for (int k = 0; uses && k < m->entry_count; k++)
            used[k] = used[k] || uses[k];
    }
    for (int i = 0; i < m->condition_count; i++)
        for (int k = 0; k < m->entry_count; k++)
            used[k] = used[k] || m->conditions[i].uses[k];
    for (int i = 0; i < m->entry_count; i++) {
        const struct entry *e = &m->entries[i];
        if (used[i] || (e->kind != ENTRY_TUNE && e->kind != ENTRY_TYPE))
            continue;
        diag_warning(b->diag, e->loc, "the %s `%s` is used by no kernel",
                     e->kind == ENTRY_TUNE ? "tuned name" : "type", e->name);
        diag_note(b->diag, e->loc, "leave it out, or use it %s",
                  e->kind == ENTRY_TUNE ? "in an extent, an attribute or a `require`"
                                        : "as the type of an array, a tile or a value");
    }
}

/* Values of constants and tune lists, and conditions, once with the first value of every list. */
static void check_values(struct builder *b)
{
    struct module *m = b->module;
    struct checker c;
    checker_init(&c, b->arena, b->diag, m, "module", LOC_NONE);
    for (int i = 0; i < m->list_count; i++)
        tune_values(b, &c, &m->lists[i]);
    tune_types(b);
    if (b->diag->errors > 0)
        return;
    struct literal *tunes = arena_array(b->arena, struct literal, m->entry_count + 1);
    enum dtype *types = arena_array(b->arena, enum dtype, m->entry_count + 1);
    for (int i = 0; i < m->entry_count; i++) {
        const struct entry *e = &m->entries[i];
        if (e->kind == ENTRY_TUNE)
            tunes[i] = module_tune_list(m, e->group, NULL)->values[e->member];
        else if (e->kind == ENTRY_TYPE)
            types[i] = e->choices[0];
    }
    checker_init(&c, b->arena, b->diag, m, "module", LOC_NONE);
    c.tunes = tunes;
    c.types = types;
    for (int i = 0; i < m->entry_count; i++)
        if (m->entries[i].kind == ENTRY_CONST)
            const_sym(&c, &m->entries[i], m->entries[i].loc);
    for (int i = 0; i < m->condition_count; i++) {
        const struct module_condition *x = &m->conditions[i];
        check_stated(&c, x->node, !condition_concerns(m, x, x->uses));
    }
}

struct module *lang_parse(struct arena *a, struct diag *d, const struct source *source)
{
    int errors = d->errors;
    struct module *m = arena_new(a, struct module);
    struct builder b = {.arena = a, .diag = d, .module = m};
    arena_doing(a, "reading the program");
    m->source = source;
    m->items = parse_module(a, d, source);
    if (d->errors > errors)
        return NULL;
    add_items(&b, m->items);
    publish(&b);
    if (d->errors == errors) {
        find_uses(&b);
        check_values(&b);
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

int lang_kernel_index(const struct module *m, const char *name)
{
    for (int i = 0; i < m->kernel_count; i++)
        if (strcmp(m->entries[m->kernels[i]].name, name) == 0)
            return i;
    return -1;
}
