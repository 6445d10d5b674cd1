/* Names: scopes, and symbols with names that no other symbol of the kernel has. */
#include "lang/check_internal.h"

#include <string.h>

/* --- the table --- */

static void add_name(struct checker *c, struct binding *b)
{
    struct names *names = &c->names;
    names->table.arena = c->arena;
    struct name_entry *entry = name_table_entry(&names->table, b->name, strlen(b->name));
    b->hidden = entry->object;
    entry->object = b;
    b->next = names->newest;
    names->newest = b;
    if (!names->oldest)
        names->oldest = b;
}

/* Adds a binding after all others. */
static void add_outermost(struct checker *c, struct binding *b)
{
    struct names *names = &c->names;
    struct binding *hiding = check_lookup_name(c, b->name);
    if (!hiding && !names->newest) {
        add_name(c, b);
        return;
    }
    while (hiding && hiding->hidden)
        hiding = hiding->hidden;
    if (hiding)
        hiding->hidden = b;
    else
        name_table_entry(&names->table, b->name, strlen(b->name))->object = b;
    names->oldest->next = b;
    names->oldest = b;
}

static void remove_newest(struct names *names)
{
    struct binding *b = names->newest;
    name_table_find(&names->table, b->name, strlen(b->name))->object = b->hidden;
    names->newest = b->next;
    if (!names->newest)
        names->oldest = NULL;
}

/* --- scopes --- */

int check_scope_open(struct checker *c)
{
    return c->level++;
}

void check_scope_close(struct checker *c, int outer)
{
    while (c->names.newest && c->names.newest->level > outer)
        remove_newest(&c->names);
    c->level = outer;
}

struct binding *check_lookup_name_of_kind(const struct checker *c, const char *name,
                                          enum bind_kind kind)
{
    const struct name_entry *entry = name_table_find(&c->names.table, name, strlen(name));
    struct binding *b = entry ? entry->object : NULL;
    while (b && kind != BIND_ANY && b->kind != kind)
        b = b->hidden;
    return b;
}

struct binding *check_lookup_name(const struct checker *c, const char *name)
{
    return check_lookup_name_of_kind(c, name, BIND_ANY);
}

struct binding *check_bind_name(struct checker *c, const char *name, struct loc loc,
                                enum bind_kind kind)
{
    struct binding *old = check_lookup_name(c, name);
    if (old && old->level == c->level && old->kind != BIND_POISON) {
        diag_error(c->diag, loc, "`%s` is declared twice in one scope", name);
        diag_note(c->diag, old->loc, "the first declaration; give one of them another name");
        return NULL;
    }
    struct binding *b = arena_new(c->arena, struct binding);
    b->name = name;
    b->loc = loc;
    b->kind = kind;
    b->level = c->level;
    b->dtype = DT_NONE;
    add_name(c, b);
    return b;
}

void check_poison_name(struct checker *c, const char *name, struct loc loc)
{
    struct binding *old = check_lookup_name(c, name);
    if (!old || old->level != c->level)
        check_bind_name(c, name, loc, BIND_POISON);
}

void check_poison_outermost(struct checker *c, const char *name, struct loc loc)
{
    struct binding *b = arena_new(c->arena, struct binding);
    *b = (struct binding){.name = name, .loc = loc, .kind = BIND_POISON, .level = -1};
    add_outermost(c, b);
}

/* --- names in the kernel --- */

static bool has_name(const struct name_table *names, const char *name)
{
    return name_table_find(names, name, strlen(name)) != NULL;
}

/* Returns true if an inlined declaration cannot have the name. The names that the kernel itself
 * declares, also further down, are reserved for it. */
static bool name_taken(const struct checker *c, const char *name)
{
    return has_name(&c->unique, name) || (c->frames && has_name(&c->own, name));
}

/* Returns the name itself, or the first free one of name_1, name_2, …. Each name keeps the last
 * number that was tried, so a name that is used often needs few tries. */
static const char *unique_name(struct checker *c, const char *name)
{
    const char *chosen = name;
    if (name_taken(c, name)) {
        struct name_entry *base = name_table_entry(&c->numbered, name, strlen(name));
        do
            chosen = arena_printf(c->arena, "%s_%u", name, (unsigned)++base->number);
        while (name_taken(c, chosen));
    }
    name_table_add(&c->unique, chosen, strlen(chosen));
    return chosen;
}

struct sym *check_declare_hidden(struct checker *c, const char *name, enum storage storage,
                                 struct type type, struct loc loc)
{
    struct sym *s = sym_new(c->kernel, unique_name(c, name), storage, type, loc);
    s->written = name;
    struct sym_info info = {.loop_depth = c->loop_depth};
    if (storage != ST_PARAM) {
        while (c->infos.count <= (size_t)s->index)
            vec_push(c->arena, &c->infos, info);
        c->infos.data[s->index] = info;
    }
    return s;
}

struct sym *check_declare_sym(struct checker *c, const char *name, enum storage storage,
                              struct type type, struct loc loc)
{
    struct binding *b = check_bind_name(c, name, loc, BIND_SYM);
    if (!b)
        return NULL;
    b->sym = check_declare_hidden(c, name, storage, type, loc);
    return b->sym;
}

struct sym_info *check_sym_info(struct checker *c, const struct sym *s)
{
    static const struct sym_info none;
    if (s->storage == ST_PARAM || (size_t)s->index >= c->infos.count) {
        struct sym_info *info = arena_new(c->arena, struct sym_info);
        *info = none;
        return info;
    }
    return &c->infos.data[s->index];
}

/* --- places of expressions in messages --- */

void check_place_expr(struct checker *c, const struct expr *e, struct loc at)
{
    struct placed *p = arena_new(c->arena, struct placed);
    *p = (struct placed){.value = e, .at = at, .before = c->placed};
    c->placed = p;
}

struct loc check_expr_place(const struct checker *c, const struct expr *e)
{
    for (const struct placed *p = c->placed; p; p = p->before)
        if (p->value == e)
            return p->at;
    return e->loc;
}

const char *check_expr_snippet(struct checker *c, const struct expr *e)
{
    return check_source_snippet(c, check_expr_place(c, e));
}

const char *check_storage_text(const struct sym *s)
{
    switch (s->storage) {
    case ST_PARAM: return s->is_pointer ? "a pointer" : "a scalar parameter";
    case ST_CONST: return "a constant";
    case ST_TABLE: return "a table";
    case ST_SCALAR: return "a scalar";
    case ST_ARRAY: return "an array";
    case ST_REG: return "a register tile";
    case ST_SHARED: return "a shared tile";
    case ST_VIEW: return "a view of global memory";
    case ST_MBARRIER: return "an mbarrier";
    }
    return "a name";
}

bool check_deeper(struct checker *c, struct loc at)
{
    if (++c->depth <= MAX_DEPTH)
        return true;
    diag_error(c->diag, at, "nested more than %d levels deep", MAX_DEPTH);
    diag_note(c->diag, at,
              "give parts of it names; a constant that uses another one and a call of a fn are "
              "levels, too");
    return false;
}

/* Returns the bytes of the UTF-8 character that begins with `lead`. */
static size_t character_bytes(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

const char *check_source_snippet(struct checker *c, struct loc at)
{
    enum { SHOWN = 48 };
    struct text t;
    text_init(&t, c->arena);
    if (!at.source)
        return "…";
    const char *s = at.source->text + at.offset, *end = s + at.length;
    int shown = 0;
    while (s < end) {
        if (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r') {
            while (s < end && (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r'))
                s++;
            text_add_char(&t, ' ');
            shown++;
            continue;
        }
        if (shown >= SHOWN) {
            text_add(&t, "…");
            break;
        }
        size_t bytes = character_bytes((unsigned char)*s);
        if (bytes > (size_t)(end - s))
            bytes = (size_t)(end - s);
        text_add_n(&t, s, bytes);
        s += bytes;
        shown++;
    }
    return t.data ? t.data : "";
}

const char *check_place_text(const struct node *n)
{
    if (n->kind == N_ACCESS)
        n = n->a;
    return n->kind == N_NAME ? n->text : "the place";
}
