#include "source_mutants.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- statements of a text --- */

struct statement {
    struct span at;
    int list;  /* number of its list */
    int outer; /* the statement around that list, -1 none */
};
enum { MAX_STATEMENTS = 256 };
struct outline {
    const char *text;
    struct statement s[MAX_STATEMENTS];
    int count, lists;
};

static size_t skip_blank(const char *t, size_t i)
{
    for (;;) {
        while (isspace((unsigned char)t[i]))
            i++;
        if (t[i] == '/' && t[i + 1] == '/')
            while (t[i] && t[i] != '\n')
                i++;
        else if (t[i] == '/' && t[i + 1] == '*')
            i = (size_t)(strstr(t + i, "*/") - t) + 2;
        else
            return i;
    }
}

bool source_word_at(const char *t, size_t i, const char *word)
{
    size_t n = strlen(word);
    return strncmp(t + i, word, n) == 0 && !isalnum((unsigned char)t[i + n]) && t[i + n] != '_';
}

/* Returns the place after the bracket that closes the one at i. */
static size_t skip_brackets(const char *t, size_t i)
{
    int depth = 0;
    for (;; i = skip_blank(t, i + 1)) {
        depth += (t[i] == '(' || t[i] == '{') - (t[i] == ')' || t[i] == '}');
        if (depth == 0)
            return i + 1;
        if (!t[i])
            return i;
    }
}

static size_t read_statement(struct outline *o, size_t i, int list, int outer);

static void read_list(struct outline *o, size_t i, size_t end, int outer)
{
    int list = o->lists++;
    for (i = skip_blank(o->text, i); i < end; i = skip_blank(o->text, i))
        i = read_statement(o, i, list, outer);
}

/* Reads a body: a block's statements form a list; a body without braces has none. */
static size_t read_body(struct outline *o, size_t i, int self)
{
    i = skip_blank(o->text, i);
    if (o->text[i] == '{') {
        size_t end = skip_brackets(o->text, i);
        read_list(o, i + 1, end - 1, self);
        return end;
    }
    return read_statement(o, i, o->lists++, self);
}

static size_t read_statement(struct outline *o, size_t i, int list, int outer)
{
    const char *t = o->text;
    int self = o->count++;
    if (o->count == MAX_STATEMENTS)
        abort();
    o->s[self] = (struct statement){.at = {i, i}, .list = list, .outer = outer};
    size_t at = i;
    while (source_word_at(t, at, "unroll") || source_word_at(t, at, "pipeline")) {
        at = skip_blank(t, at + (t[at] == 'u' ? 6 : 8));
        if (t[at] == '(')
            at = skip_blank(t, skip_brackets(t, at));
    }
    if (source_word_at(t, at, "warps") || source_word_at(t, at, "one_thread")) { /* a role's body */
        while (t[at] != '{')
            at = t[at] == '(' ? skip_brackets(t, at) : skip_blank(t, at + 1);
    }
    bool compound = source_word_at(t, at, "for") || source_word_at(t, at, "while") ||
                    source_word_at(t, at, "if");
    if (compound) {
        bool is_if = source_word_at(t, at, "if");
        at = skip_brackets(t, at + strcspn(t + at, "("));
        at = read_body(o, at, self);
        size_t next = skip_blank(t, at);
        if (is_if && source_word_at(t, next, "else"))
            at = read_body(o, next + 4, self);
    } else if (t[at] == '{') {
        at = read_body(o, at, self);
    } else {
        while (t[at] && t[at] != ';')
            at = t[at] == '(' ? skip_brackets(t, at) : skip_blank(t, at + 1);
        at++;
    }
    o->s[self].at.end = at;
    return at;
}

/* --- mutants --- */

struct mutants {
    struct arena *arena;
    const char *text;
    struct outline outline;
    struct source_mutants *found;
};

static int line_of(const char *text, size_t at)
{
    int line = 1;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return line;
}

static struct mutant *add_mutant(struct mutants *m, const char *kind, size_t place, char *text)
{
    struct mutant made = {.kind = kind, .number = 1, .line = line_of(m->text, place), .text = text};
    for (size_t i = 0; i < m->found->count; i++)
        made.number += strcmp(m->found->data[i].kind, kind) == 0;
    vec_push(m->arena, m->found, made);
    return &m->found->data[m->found->count - 1];
}

/* Returns the text with `what` in place of a span; lines keep their numbers. */
static char *replaced(struct mutants *m, const char *text, struct span at, const char *what)
{
    return arena_printf(m->arena, "%.*s%s%s", (int)at.begin, text, what, text + at.end);
}

/* Returns the text without a span, and with `what` inserted at another place. */
static char *moved(struct mutants *m, struct span from, size_t to, const char *what)
{
    if (to >= from.end)
        return replaced(m, replaced(m, m->text, (struct span){to, to}, what), from, "");
    return replaced(m, replaced(m, m->text, from, ""), (struct span){to, to}, what);
}

/* Returns the neighbour before (direction -1) or after (1) in the same list, -1 none. */
static int neighbour(const struct outline *o, int self, int direction)
{
    int best = -1;
    for (int i = 0; i < o->count; i++) {
        if (i == self || o->s[i].list != o->s[self].list)
            continue;
        if (direction < 0 ? o->s[i].at.begin < o->s[self].at.begin
                          : o->s[i].at.begin > o->s[self].at.begin)
            if (best < 0 || (direction < 0) == (o->s[i].at.begin > o->s[best].at.begin))
                best = i;
    }
    return best;
}

static void mutate_sync(struct mutants *m, int self)
{
    const struct outline *o = &m->outline;
    struct span at = o->s[self].at;
    int up = neighbour(o, self, -1), down = neighbour(o, self, 1);
    add_mutant(m, "sync-removed", at.begin, replaced(m, m->text, at, ";"));
    up = up < 0 ? o->s[self].outer : up;
    down = down < 0 ? o->s[self].outer : down;
    if (up >= 0)
        add_mutant(m, "sync-up", at.begin, moved(m, at, o->s[up].at.begin, "sync(); "));
    if (down >= 0)
        add_mutant(m, "sync-down", at.begin, moved(m, at, o->s[down].at.end, " sync();"));
}

static void mutate_wait(struct mutants *m, struct span at)
{
    add_mutant(m, "wait-removed", at.begin, replaced(m, m->text, at, ";"));
    size_t open = at.begin + strcspn(m->text + at.begin, "("), close = skip_brackets(m->text, open);
    char *more =
        arena_printf(m->arena, "((%.*s) + 1)", (int)(close - open - 2), m->text + open + 1);
    add_mutant(m, "wait-more", at.begin, replaced(m, m->text, (struct span){open, close}, more));
}

/* Removes a statement, and has it twice. */
static void mutate_whole(struct mutants *m, const char *removed, const char *repeated,
                         struct span at)
{
    add_mutant(m, removed, at.begin, replaced(m, m->text, at, ";"));
    char *again = arena_printf(m->arena, " %.*s", (int)(at.end - at.begin), m->text + at.begin);
    add_mutant(m, repeated, at.begin, replaced(m, m->text, (struct span){at.end, at.end}, again));
}

/* Adds a number to the last argument of a call. */
static void mutate_argument(struct mutants *m, const char *kind, struct span at, int change)
{
    size_t open = at.begin + strcspn(m->text + at.begin, "("), close = skip_brackets(m->text, open);
    char *more = arena_printf(m->arena, " + (%d)", change);
    add_mutant(m, kind, at.begin, replaced(m, m->text, (struct span){close - 1, close - 1}, more));
}

static bool calls(const char *text, struct span at, const char *name)
{
    return source_word_at(text, at.begin, name) &&
           text[skip_blank(text, at.begin + strlen(name))] == '(';
}

/* Returns the place after the bracket that closes [ at i. */
static size_t skip_subscript(const char *t, size_t i)
{
    int depth = 0;
    do {
        depth += (t[i] == '[') - (t[i] == ']');
        i++;
    } while (depth > 0 && t[i]);
    return i;
}

/* Changes the first index in every use of a tile or mbarrier, from its declaration on. tile: the
 * name of a tile that is then concerned, or NULL. */
static void mutate_stages(struct mutants *m, const char *kind, const char *name, const char *stages,
                          const char *tile, struct span body)
{
    const char *t = m->text;
    size_t n = strlen(name);
    for (size_t i = body.begin; i < body.end; i++) {
        bool begins = !isalnum((unsigned char)t[i - 1]) && t[i - 1] != '_';
        if (!begins || strncmp(t + i, name, n) != 0 || t[i + n] != '[')
            continue;
        struct span at = {i + n, skip_subscript(t, i + n)};
        char *other = arena_printf(m->arena, "[((%.*s) + 1) %% (%s)]", (int)(at.end - at.begin - 2),
                                   t + at.begin + 1, stages);
        add_mutant(m, kind, i, replaced(m, t, at, other))->tile = tile;
    }
}

static void find_tiles(struct mutants *m, struct span declaration, size_t end)
{
    const char *t = m->text;
    size_t i = skip_blank(t, declaration.begin + strlen("shared"));
    while (isalnum((unsigned char)t[i]))
        i++; /* the type */
    while (i < declaration.end) {
        i = skip_blank(t, i);
        size_t name = i;
        while (isalnum((unsigned char)t[i]) || t[i] == '_')
            i++;
        char *tile = arena_string(m->arena, t + name, i - name), *stages = NULL;
        int axes = 0;
        for (; t[i] == '['; axes++) {
            size_t close = skip_subscript(t, i);
            if (axes == 0)
                stages = arena_string(m->arena, t + i + 1, close - i - 2);
            i = close;
        }
        if (axes > 2)
            mutate_stages(m, "stage", tile, stages, tile, (struct span){declaration.end, end});
        while (t[i] && t[i] != ',' && t[i] != ';')
            i++;
        i++;
    }
}

/* Returns true if the kernel has mbarriers or work in the background. */
static bool uses_roles(const char *text, struct span body)
{
    for (size_t i = body.begin + 1; i < body.end; i++)
        if (!isalnum((unsigned char)text[i - 1]) && text[i - 1] != '_' &&
            (source_word_at(text, i, "mbarrier") || source_word_at(text, i, "dot_async") ||
             source_word_at(text, i, "store_wait")))
            return true;
    return false;
}

/* Changes the arrivals of mbarriers, whether they are ready, and the indices of their uses. */
static void mutate_mbarriers(struct mutants *m, struct span declaration, size_t end)
{
    const char *t = m->text;
    size_t i = declaration.begin + strlen("mbarrier");
    while (i < declaration.end) {
        i = skip_blank(t, i);
        size_t name = i;
        while (isalnum((unsigned char)t[i]) || t[i] == '_')
            i++;
        char *barrier = arena_string(m->arena, t + name, i - name);
        if (t[i] == '[') {
            size_t close = skip_subscript(t, i);
            char *stages = arena_string(m->arena, t + i + 1, close - i - 2);
            mutate_stages(m, "mbarrier-stage", barrier, stages, NULL,
                          (struct span){declaration.end, end});
            i = close;
        }
        size_t close = skip_brackets(t, i);
        struct span after = {close - 1, close - 1};
        add_mutant(m, "arrivals-more", name, replaced(m, t, after, " + 1"));
        if (strtol(t + i + 1, NULL, 10) > 1)
            add_mutant(m, "arrivals-fewer", name, replaced(m, t, after, " - 1"));
        i = skip_blank(t, close);
        bool ready = source_word_at(t, i, "ready");
        struct span word = {i, ready ? i + strlen("ready") : i};
        add_mutant(m, "ready", name, replaced(m, t, word, ready ? "" : " ready"));
        i = skip_blank(t, word.end) + 1; /* past the comma or semicolon */
    }
}

/* Mutates a statement that waits for work in the background, or that mbarriers have. */
static void mutate_role_call(struct mutants *m, struct span at)
{
    if (calls(m->text, at, "wait"))
        mutate_whole(m, "phase-wait-removed", "phase-wait-repeated", at);
    if (calls(m->text, at, "arrive"))
        mutate_whole(m, "arrive-removed", "arrive-repeated", at);
    if (calls(m->text, at, "expect")) {
        mutate_whole(m, "expect-removed", "expect-repeated", at);
        mutate_argument(m, "bytes-more", at, 16);
        mutate_argument(m, "bytes-fewer", at, -16);
    }
    if (calls(m->text, at, "dot_wait")) {
        mutate_whole(m, "dot-wait-removed", "dot-wait-repeated", at);
        mutate_argument(m, "dot-wait-more", at, 1);
    }
    if (calls(m->text, at, "store_wait")) {
        mutate_whole(m, "store-wait-removed", "store-wait-repeated", at);
        mutate_argument(m, "store-wait-more", at, 1);
    }
}

static void mutate_statements(struct mutants *m, struct span body)
{
    struct outline *o = &m->outline;
    *o = (struct outline){.text = m->text};
    read_list(o, body.begin + 1, body.end - 1, -1);
    for (int i = 0; i < o->count; i++) {
        struct span at = o->s[i].at;
        if (calls(m->text, at, "sync"))
            mutate_sync(m, i);
        else if (calls(m->text, at, "cluster_sync"))
            add_mutant(m, "cluster-sync-removed", at.begin, replaced(m, m->text, at, ";"));
        else if (calls(m->text, at, "async_wait"))
            mutate_wait(m, at);
        else if (calls(m->text, at, "async_commit"))
            add_mutant(m, "commit-removed", at.begin, replaced(m, m->text, at, ";"));
        else if (source_word_at(m->text, at.begin, "shared"))
            find_tiles(m, at, body.end);
        else if (source_word_at(m->text, at.begin, "mbarrier"))
            mutate_mbarriers(m, at, body.end);
        else if (uses_roles(m->text, body))
            mutate_role_call(m, at);
    }
}

struct source_mutants *source_mutants_make(struct arena *a, const char *text, struct span body)
{
    struct mutants *m = arena_new(a, struct mutants);
    *m = (struct mutants){.arena = a, .text = text, .found = arena_new(a, struct source_mutants)};
    mutate_statements(m, body);
    return m->found;
}

/* --- mutations of values --- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns true if `at` comes before the `=` of a declarator, in the statement from `begin` on. */
static bool declares(const char *t, size_t begin, size_t at)
{
    static const char *const words[] = {"shared", "global", "reg", "f32", "i32"};
    size_t first = skip_blank(t, begin);
    bool declaration = false, value = false;
    int depth = 0;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        declaration = declaration || source_word_at(t, first, words[w]);
    for (size_t i = first; i < at; i++) {
        depth += (t[i] == '(' || t[i] == '[') - (t[i] == ')' || t[i] == ']');
        if (depth == 0 && (t[i] == '=' || t[i] == ','))
            value = t[i] == '=';
    }
    return declaration && !value;
}

/* Shifts each axis of `a[i][j]`, from the first bracket on. */
static size_t shift_axes(struct mutants *m, size_t i)
{
    while (m->text[i] == '[') {
        add_mutant(m, "index", i, replaced(m, m->text, (struct span){i + 1, i + 1}, "1 + "));
        i = skip_subscript(m->text, i);
    }
    return i;
}

/* Removes the last term of extents that are a sum. */
static size_t remove_padding(struct mutants *m, size_t i)
{
    size_t end = skip_subscript(m->text, i), plus = end;
    for (size_t k = i; k < end; k++)
        plus = m->text[k] == '+' ? k : plus;
    if (plus < end)
        add_mutant(m, "padding-removed", i, replaced(m, m->text, (struct span){plus, end - 1}, ""));
    return end;
}

struct source_mutants *source_value_mutants_make(struct arena *a, const char *text,
                                                 struct span body)
{
    struct mutants *m = arena_new(a, struct mutants);
    size_t begin = body.begin + 1;
    *m = (struct mutants){.arena = a, .text = text, .found = arena_new(a, struct source_mutants)};
    for (size_t i = begin; i < body.end && !source_word_at(text, i, "ensures");) {
        if (text[i] == '/' && text[i + 1] == '/')
            i += strcspn(text + i, "\n");
        if (text[i] == ';' || text[i] == '{' || text[i] == '}')
            begin = i + 1;
        bool subscript = text[i] == '[' && (is_name(text[i - 1]) || text[i - 1] == ']');
        if (!subscript)
            i++;
        else if (!declares(text, begin, i))
            i = shift_axes(m, i);
        else if (source_word_at(text, skip_blank(text, begin), "shared"))
            i = remove_padding(m, i);
        else
            i = skip_subscript(text, i);
    }
    return m->found;
}

struct span source_body(const char *text, size_t kernel)
{
    size_t at = kernel;
    while (text[at] != '{') /* past the parameters and attributes */
        at = text[at] == '(' ? skip_brackets(text, at) : skip_blank(text, at + 1);
    return (struct span){at, skip_brackets(text, at)};
}
