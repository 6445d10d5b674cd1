/* Each text is cut into items: directives, variables, functions, sections. The result has the
 * prototypes of functions that other modules define, then all variables, then all functions, so that
 * each name is declared before its use. No item is parsed further than to its name. */
#include "driver/ptx_link.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum kind { VERSION, TARGET, OTHER_LINE, FILE_LINE, SECTION, VARIABLE, FUNCTION, PROTOTYPE };
enum linkage { LOCAL, VISIBLE, WEAK, EXTERN };

struct word {
    const char *text;
    size_t length;
};
struct item {
    enum kind kind;
    enum linkage linkage;
    struct word name; /* length 0: none */
    const char *begin, *end;
    size_t module;
    bool left_out;
};
/* A name that a module has for itself. */
struct own_name {
    struct word name;
    size_t module;
};
struct linker {
    struct arena *arena;
    VEC(struct item) items;
    unsigned *files; /* for each module: what its numbers of files grow by */
    VEC(struct own_name) renamed;
    const char *why;
};

/* --- words --- */

static bool begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool is_in_name(char c)
{
    return begins_name(c) || (c >= '0' && c <= '9');
}

static bool same(struct word a, struct word b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static bool is(struct word w, const char *text)
{
    return w.length == strlen(text) && memcmp(w.text, text, w.length) == 0;
}

/* Returns the end of a comment or a string that begins here, or `at`. */
static const char *skip(const char *at)
{
    if (at[0] == '/' && at[1] == '/')
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (*at != '"')
        return at;
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\' && at[1];
    return *at ? at + 1 : at;
}

/* Gives the next word from *at on: a name, a number, a directive with its point, or one character.
 * Returns false at the end. */
static bool next_word(const char **at, struct word *w)
{
    for (const char *end;; *at = end > *at ? end : *at + 1) {
        end = skip(*at);
        if (!**at)
            return false;
        if (end == *at && !text_is_blank(**at) && **at != '\n' && **at != '\r')
            break;
    }
    w->text = *at;
    const char *end = *at + 1;
    if (is_in_name(**at) || **at == '.')
        while (is_in_name(*end) || (**at == '.' && *end == '.'))
            end++;
    w->length = (size_t)(end - *at);
    *at = end;
    return true;
}

/* --- items --- */

/* Returns the kind of a directive that ends with its line; other items: VARIABLE. */
static enum kind line_kind(struct word w)
{
    static const struct {
        const char *directive;
        enum kind kind;
    } lines[] = {{".version", VERSION},
                 {".target", TARGET},
                 {".address_size", OTHER_LINE},
                 {".file", FILE_LINE},
                 {".loc", OTHER_LINE}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (is(w, lines[i].directive))
            return lines[i].kind;
    return VARIABLE;
}

static void take_linkage(struct item *i, struct word w)
{
    if (is(w, ".extern"))
        i->linkage = EXTERN;
    else if (is(w, ".visible"))
        i->linkage = VISIBLE;
    else if (is(w, ".weak") || is(w, ".common"))
        i->linkage = WEAK;
}

/* Finds the end of a variable, a function or a section: a semicolon outside of braces, or the brace
 * that closes a body. */
static void take_to_end(struct item *i, const char **at, struct word w)
{
    int depth = 0, braces = 0;
    bool initialised = false;
    do {
        char c = w.length == 1 ? *w.text : '\0';
        if (is(w, ".func") || is(w, ".entry"))
            i->kind = FUNCTION;
        if (is(w, ".section"))
            i->kind = SECTION;
        initialised = initialised || (c == '=' && !depth);
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        braces += c == '{';
        take_linkage(i, w);
        if (!i->name.length && !depth && begins_name(*w.text) && i->kind != SECTION)
            i->name = w;
        if (!depth && (c == ';' || (c == '}' && !initialised && i->kind != VARIABLE)))
            break;
    } while (next_word(at, &w));
    if (i->kind == FUNCTION && !braces)
        i->kind = PROTOTYPE;
}

static void cut(struct linker *l, const char *text, size_t module)
{
    struct word w;
    for (const char *at = text; next_word(&at, &w);) {
        struct item i = {.kind = line_kind(w), .begin = w.text, .module = module};
        if (i.kind == VARIABLE)
            take_to_end(&i, &at, w);
        else
            at = w.text + strcspn(w.text, "\n");
        i.end = at;
        if (i.kind == FILE_LINE) {
            unsigned number = (unsigned)strtoul(i.begin + strlen(".file"), NULL, 10);
            l->files[module + 1] = number > l->files[module + 1] ? number : l->files[module + 1];
        }
        vec_push(l->arena, &l->items, i);
    }
}

/* --- names --- */

static void rename_in(struct linker *l, struct word name, size_t module)
{
    const struct own_name own = {name, module};
    vec_push(l->arena, &l->renamed, own);
}

static bool is_renamed(const struct linker *l, struct word name, size_t module)
{
    for (size_t i = 0; i < l->renamed.count; i++)
        if (l->renamed.data[i].module == module && same(l->renamed.data[i].name, name))
            return true;
    return false;
}

/* Labels of sections, which .loc names. */
static void rename_labels(struct linker *l, const struct item *i)
{
    struct word w, last = {"", 0};
    for (const char *at = i->begin; at < i->end && next_word(&at, &w); last = w)
        if (is(w, ":") && last.length && begins_name(*last.text))
            rename_in(l, last, i->module);
}

static bool is_definition(const struct item *i)
{
    return i->linkage != EXTERN && (i->kind == VARIABLE || i->kind == FUNCTION);
}

/* Decides what becomes of two items of one name: `a` came earlier. Returns false if they exclude each
 * other. */
static bool meet(struct linker *l, struct item *a, struct item *b)
{
    bool local = a->linkage == LOCAL || b->linkage == LOCAL;
    if (a->module == b->module)
        return true;
    if (local) {
        struct item *renamed = b->linkage == LOCAL ? b : a;
        if (!is_renamed(l, renamed->name, renamed->module))
            rename_in(l, renamed->name, renamed->module);
    } else if (is_definition(a) && is_definition(b)) {
        if (a->linkage != WEAK && b->linkage != WEAK)
            return false;
        *(b->linkage == WEAK ? &b->left_out : &a->left_out) = true;
    } else if (is_definition(a) || is_definition(b)) {
        struct item *declared = is_definition(a) ? b : a;
        if (declared->kind == VARIABLE)
            declared->left_out = true;
    } else {
        b->left_out = true; /* declared twice */
    }
    return true;
}

static bool resolve(struct linker *l)
{
    for (size_t i = 0; i < l->items.count; i++) {
        struct item *b = &l->items.data[i];
        if (b->kind == SECTION)
            rename_labels(l, b);
        for (size_t k = 0; b->name.length && k < i; k++) {
            struct item *a = &l->items.data[k];
            if (a->left_out || b->left_out || !a->name.length || !same(a->name, b->name) ||
                meet(l, a, b))
                continue;
            l->why = arena_printf(l->arena, "two of its modules define %.*s", (int)b->name.length,
                                  b->name.text);
            return false;
        }
    }
    return true;
}

/* Returns the definition that a prototype is resolved by; NULL: there is none. */
static const struct item *definition_of(const struct linker *l, const struct item *of)
{
    for (size_t i = 0; i < l->items.count; i++) {
        const struct item *d = &l->items.data[i];
        if (d->kind == FUNCTION && !d->left_out && d->linkage != LOCAL && same(d->name, of->name))
            return d;
    }
    return NULL;
}

/* --- writing --- */

/* Writes an item with its names and its numbers of files. linkage: in place of .extern; NULL: as it
 * is. */
static void write_item(const struct linker *l, struct text *out, const struct item *i,
                       const char *linkage)
{
    const char *from = i->begin;
    struct word w, last = {"", 0};
    unsigned more = l->files[i->module];
    for (const char *at = i->begin; at < i->end && next_word(&at, &w); last = w) {
        bool of_file = is(last, ".file") || is(last, ".loc") || is(last, "inlined_at");
        bool renamed = begins_name(*w.text) && is_renamed(l, w, i->module);
        bool linked = linkage && is(w, ".extern");
        if (!renamed && !linked && !(of_file && more))
            continue;
        text_add_n(out, from, (size_t)(w.text - from));
        if (linked)
            text_add(out, linkage);
        else if (renamed)
            text_printf(out, "%.*s_m%zu", (int)w.length, w.text, i->module);
        else
            text_printf(out, "%u", (unsigned)strtoul(w.text, NULL, 10) + more);
        from = w.text + w.length;
    }
    text_add_n(out, from, (size_t)(i->end - from));
    text_add(out, "\n");
}

/* Returns the item of that kind with the highest number: "9.0", "sm_90". */
static const struct item *highest(const struct linker *l, enum kind kind)
{
    enum { MINOR = 1000 };
    const struct item *best = NULL;
    unsigned long most = 0;
    for (size_t i = 0; i < l->items.count; i++) {
        const struct item *x = &l->items.data[i];
        if (x->kind != kind)
            continue;
        char *end;
        unsigned long number = strtoul(x->begin + strcspn(x->begin, "0123456789"), &end, 10);
        number = number * MINOR + (*end == '.' ? strtoul(end + 1, NULL, 10) : 0);
        best = number > most ? x : best;
        most = number > most ? number : most;
    }
    return best;
}

static void write_prototype(const struct linker *l, struct text *out, const struct item *i)
{
    const struct item *d = i->linkage == EXTERN ? definition_of(l, i) : NULL;
    write_item(l, out, i, !d ? NULL : d->linkage == WEAK ? ".weak" : ".visible");
}

static void write_kind(const struct linker *l, struct text *out, enum kind kind)
{
    for (size_t i = 0; i < l->items.count; i++) {
        const struct item *x = &l->items.data[i];
        if (x->kind != kind || x->left_out)
            continue;
        if (kind == PROTOTYPE)
            write_prototype(l, out, x);
        else
            write_item(l, out, x, NULL);
    }
}

char *driver_ptx_link(struct arena *a, const char *const *texts, size_t count, const char **why)
{
    static const enum kind order[] = {PROTOTYPE, VARIABLE, FUNCTION, FILE_LINE, SECTION};
    struct linker l = {.arena = a, .files = arena_array(a, unsigned, count + 1)};
    struct text out;
    memset(l.files, 0, (count + 1) * sizeof *l.files);
    for (size_t i = 0; i < count; i++) {
        cut(&l, texts[i], i);
        l.files[i + 1] += l.files[i];
    }
    const struct item *version = highest(&l, VERSION), *target = highest(&l, TARGET);
    *why = "it has no PTX to link";
    if (!version || !target)
        return NULL;
    if (!resolve(&l)) {
        *why = l.why;
        return NULL;
    }
    text_init(&out, a);
    write_item(&l, &out, version, NULL);
    write_item(&l, &out, target, NULL);
    text_add(&out, ".address_size 64\n");
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        write_kind(&l, &out, order[i]);
    return out.data;
}
