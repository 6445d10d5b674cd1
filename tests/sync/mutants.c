/* Takes something away from kernels that are right, and sees whether the static synchronisation
 * check notices.
 *
 *     mutants [-v] [-l HARMLESS] FILE.tile …
 *
 * For every kernel with shared tiles, in every tuned configuration:
 *   sync-removed, sync-up, sync-down   (moved by one statement; at the end of a body, out of it)
 *   wait-removed, wait-more            (async_wait(n) -> n + 1)
 *   commit-removed
 *   stage                              (sa[e] of a tile of several axes -> sa[(e + 1) % stages])
 * The kernel itself must be silent, each mutant must be caught, and a report must be about lines
 * that use the tile it names. A mutant that does no harm stands in the list HARMLESS with its
 * argument: `KERNEL MUTATION NUMBER: why`; one that is listed and caught all the same is a failure
 * too. Mutations of a kind are numbered from 1 in the order of the text.
 */
#include "base/platform.h"
#include "lang/lang.h"
#include "tile/passes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- statements of a text --- */

struct span {
    size_t begin, end;
};
struct statement {
    struct span at;
    int list;  /* number of the list it stands in */
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

static bool word_at(const char *t, size_t i, const char *word)
{
    size_t n = strlen(word);
    return strncmp(t + i, word, n) == 0 && !isalnum((unsigned char)t[i + n]) && t[i + n] != '_';
}

/* Past the bracket that closes the one at i. */
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

/* A body: a block's statements form a list; one without braces has none. */
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
    while (word_at(t, at, "unroll") || word_at(t, at, "pipeline")) {
        at = skip_blank(t, at + (t[at] == 'u' ? 6 : 8));
        if (t[at] == '(')
            at = skip_blank(t, skip_brackets(t, at));
    }
    bool compound = word_at(t, at, "for") || word_at(t, at, "while") || word_at(t, at, "if");
    if (compound) {
        bool is_if = word_at(t, at, "if");
        at = skip_brackets(t, at + strcspn(t + at, "("));
        at = read_body(o, at, self);
        size_t next = skip_blank(t, at);
        if (is_if && word_at(t, next, "else"))
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

enum { MAX_MUTANTS = 256 };
struct mutant {
    const char *kind;
    int number;
    int line;         /* of the place */
    const char *tile; /* concerned; NULL: any */
    char *text;
};
struct mutants {
    struct arena *arena;
    const char *text;
    struct outline outline;
    struct mutant m[MAX_MUTANTS];
    int count;
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
    struct mutant *new = &m->m[m->count++];
    if (m->count == MAX_MUTANTS)
        abort();
    *new =
        (struct mutant){.kind = kind, .number = 1, .line = line_of(m->text, place), .text = text};
    for (int i = 0; i < m->count - 1; i++)
        new->number += strcmp(m->m[i].kind, kind) == 0;
    return new;
}

/* The text with `what` in place of a span; lines keep their numbers. */
static char *replaced(struct mutants *m, const char *text, struct span at, const char *what)
{
    return arena_printf(m->arena, "%.*s%s%s", (int)at.begin, text, what, text + at.end);
}

/* The text without a span, and with `what` put in at another place. */
static char *moved(struct mutants *m, struct span from, size_t to, const char *what)
{
    if (to >= from.end)
        return replaced(m, replaced(m, m->text, (struct span){to, to}, what), from, "");
    return replaced(m, replaced(m, m->text, from, ""), (struct span){to, to}, what);
}

/* The neighbour in the same list before (direction -1) or behind (1), -1 none. */
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

static bool calls(const char *text, struct span at, const char *name)
{
    return word_at(text, at.begin, name) && text[skip_blank(text, at.begin + strlen(name))] == '(';
}

/* Past the bracket that closes [ at i. */
static size_t skip_subscript(const char *t, size_t i)
{
    int depth = 0;
    do {
        depth += (t[i] == '[') - (t[i] == ']');
        i++;
    } while (depth > 0 && t[i]);
    return i;
}

/* Every use of a shared tile of three axes or more, from its declaration on. */
static void mutate_stages(struct mutants *m, const char *name, const char *stages, struct span body)
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
        add_mutant(m, "stage", i, replaced(m, t, at, other))->tile = name;
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
            mutate_stages(m, tile, stages, (struct span){declaration.end, end});
        while (t[i] && t[i] != ',' && t[i] != ';')
            i++;
        i++;
    }
}

/* --- judging --- */

struct judge {
    const char *name;
    int kernel;
    const struct literal *tunes; /* of the configuration */
};

enum outcome { OUT_SILENT, OUT_UNDECIDED, OUT_CAUGHT, OUT_WRONG_LINES, OUT_REFUSED };

static bool line_has(const char *text, struct loc at, const char *word)
{
    size_t begin = at.offset, end = at.offset;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    while (text[end] && text[end] != '\n')
        end++;
    for (size_t i = begin; i < end; i++)
        if (word_at(text, i, word))
            return true;
    return false;
}

/* The error is about lines that use the tile it names. */
static bool lines_fit(struct arena *a, const char *text, const struct diagnostic *e,
                      const struct mutant *m)
{
    const char *open = strchr(e->message, '`'), *close = open ? strchr(open + 1, '`') : NULL;
    if (!close || !e->notes)
        return false;
    char *tile = arena_string(a, open + 1, (size_t)(close - open - 1));
    if (m && m->tile && strcmp(tile, m->tile) != 0)
        return false;
    return line_has(text, e->loc, tile) && line_has(text, e->notes->loc, tile);
}

static void choose_statics(struct arena *a, const struct lang_kernel *k, struct lang_choice *choice)
{
    struct literal *values = arena_array(a, struct literal, k->param_count + 1);
    bool *known = arena_array(a, bool, k->param_count + 1);
    for (int i = 0; i < k->param_count; i++) {
        bool flag = k->params[i].dtype == DT_BOOL;
        values[i].i = flag ? 1 : 64;
        known[i] = flag || (k->params[i].is_static && strcmp(k->params[i].name, "n") != 0 &&
                            strcmp(k->params[i].name, "k") != 0);
    }
    choice->statics = values;
    choice->statics_known = known;
}

static enum outcome judge_text(struct arena *a, const struct judge *j, const char *text,
                               const struct mutant *m, const char **messages)
{
    struct diag d;
    struct source *source = arena_new(a, struct source);
    *source = (struct source){j->name, text, strlen(text)};
    diag_init(&d, a);
    struct module *module = lang_parse(a, &d, source);
    struct lang_choice choice = {.tunes = j->tunes};
    struct kernel *kernel = NULL;
    enum sync_verdict verdict = SYNC_CLEAN;
    if (module && !d.errors) {
        choose_statics(a, lang_kernel(a, module, j->kernel, NULL), &choice);
        kernel = lang_check(a, &d, module, j->kernel, &choice);
    }
    struct pass_context context = {.kernel = kernel, .diag = &d};
    if (kernel)
        pass_variance(&context);
    bool refused = d.errors > 0;
    if (!refused)
        verdict = synccheck_kernel(&context, NULL);
    struct text out;
    text_init(&out, a);
    diag_render(&out, &d, false);
    *messages = out.data;
    if (refused)
        return OUT_REFUSED;
    if (verdict != SYNC_RACE)
        return verdict == SYNC_CLEAN ? OUT_SILENT : OUT_UNDECIDED;
    for (const struct diagnostic *e = d.first; e; e = e->next)
        if (e->severity == SEV_ERROR && lines_fit(a, text, e, m))
            return OUT_CAUGHT;
    return OUT_WRONG_LINES;
}

/* --- the list of harmless ones --- */

static bool listed(const char *list, const char *kernel, const struct mutant *m)
{
    char key[256];
    int n = snprintf(key, sizeof key, "%s %s %d:", kernel, m->kind, m->number);
    for (const char *line = list; line && *line;) {
        if (strncmp(line, key, (size_t)n) == 0)
            return true;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return false;
}

/* --- a file --- */

struct total {
    int kernels, configurations, mutants, caught, harmless, refused, failures;
};

static const char *const outcome_text[] = {"silent", "undecided", "caught",
                                           "caught, with wrong lines", "refused"};

/* The worst of a mutant over all configurations: silent in one is silent. */
static void judge_mutant(struct judge *j, const struct mutant *m, const char *kernel,
                         const struct literal *const *tunes, int configurations, const char *list,
                         bool verbose, struct total *total)
{
    bool harmless = listed(list, kernel, m);
    total->mutants++;
    for (int c = 0; c < configurations; c++) {
        jmp_buf out_of_memory;
        struct arena a;
        const char *messages;
        arena_init(&a, NULL, &out_of_memory);
        if (setjmp(out_of_memory))
            abort();
        j->tunes = tunes[c];
        enum outcome outcome = judge_text(&a, j, m->text, m, &messages);
        bool caught = outcome == OUT_CAUGHT || outcome == OUT_REFUSED;
        bool fails = harmless ? caught || outcome == OUT_WRONG_LINES : !caught;
        if (fails || (verbose && c == 0))
            printf("%s%s: %s %s %d (line %d), configuration %d: %s%s\n%s", fails ? "FAIL " : "",
                   j->name, kernel, m->kind, m->number, m->line, c, outcome_text[outcome],
                   harmless ? ", listed as harmless" : "",
                   outcome == OUT_SILENT || outcome == OUT_UNDECIDED ? "" : messages);
        total->failures += fails;
        if (c == 0) {
            total->caught += outcome == OUT_CAUGHT;
            total->refused += outcome == OUT_REFUSED;
            total->harmless += harmless;
        }
        arena_free(&a);
        if (fails)
            return;
    }
}

/* All combinations of tuned values, names of a group together. */
static int configurations_of(struct arena *a, const struct module *module, int kernel,
                             const struct literal *const **out)
{
    const struct lang_kernel *k = lang_kernel(a, module, kernel, NULL);
    VEC(const struct literal *) found = {0};
    for (int n = 0;; n++) {
        struct literal *values = arena_array(a, struct literal, k->tune_count + 1);
        int rest = n, chosen = 0;
        for (int i = 0; i < k->tune_count; i++) {
            bool same = i > 0 && k->tunes[i].group == k->tunes[i - 1].group;
            if (!same) {
                chosen = rest % k->tunes[i].count;
                rest /= k->tunes[i].count;
            }
            values[i] = k->tunes[i].values[chosen];
        }
        if (rest)
            break;
        if (lang_tunes_allowed(a, module, kernel, NULL, values, NULL))
            vec_push(a, &found, values);
    }
    *out = found.data;
    return (int)found.count;
}

static bool has_tiles(const char *text, struct span body)
{
    for (size_t i = body.begin; i < body.end; i++)
        if (word_at(text, i, "shared") && isspace((unsigned char)text[i - 1]))
            return true;
    return false;
}

static void mutate_kernel(struct mutants *m, struct span body)
{
    struct outline *o = &m->outline;
    *o = (struct outline){.text = m->text};
    read_list(o, body.begin + 1, body.end - 1, -1);
    for (int i = 0; i < o->count; i++) {
        struct span at = o->s[i].at;
        if (calls(m->text, at, "sync"))
            mutate_sync(m, i);
        else if (calls(m->text, at, "async_wait"))
            mutate_wait(m, at);
        else if (calls(m->text, at, "async_commit"))
            add_mutant(m, "commit-removed", at.begin, replaced(m, m->text, at, ";"));
        else if (word_at(m->text, at.begin, "shared"))
            find_tiles(m, at, body.end);
    }
}

static void judge_kernel(struct arena *a, struct judge *j, const struct module *module,
                         const char *text, struct span body, const char *list, bool verbose,
                         struct total *total)
{
    const char *kernel = lang_kernel(a, module, j->kernel, NULL)->name, *messages;
    const struct literal *const *tunes;
    int configurations = configurations_of(a, module, j->kernel, &tunes);
    struct mutants *m = arena_new(a, struct mutants);
    *m = (struct mutants){.arena = a, .text = text};
    total->kernels++;
    total->configurations += configurations;
    for (int c = 0; c < configurations; c++) {
        j->tunes = tunes[c];
        enum outcome outcome = judge_text(a, j, text, NULL, &messages);
        if (outcome == OUT_SILENT)
            continue;
        printf("FAIL %s: %s itself, configuration %d: %s\n%s", j->name, kernel, c,
               outcome_text[outcome], messages);
        total->failures++;
        return;
    }
    mutate_kernel(m, body);
    for (int i = 0; i < m->count; i++)
        judge_mutant(j, &m->m[i], kernel, tunes, configurations, list, verbose, total);
}

static int judge_file(const char *path, const char *list, bool verbose, struct total *total)
{
    jmp_buf out_of_memory;
    struct arena a;
    size_t length;
    const char *why;
    arena_init(&a, NULL, &out_of_memory);
    if (setjmp(out_of_memory))
        abort();
    char *text = platform_read_file(&a, path, &length, &why);
    if (!text) {
        fprintf(stderr, "%s: %s\n", path, why);
        arena_free(&a);
        return 2;
    }
    struct diag d;
    struct source source = {path, text, length};
    diag_init(&d, &a);
    struct module *module = lang_parse(&a, &d, &source);
    for (int i = 0; module && i < lang_kernel_count(module); i++) {
        struct judge j = {.name = path, .kernel = i};
        size_t at = lang_kernel(&a, module, i, NULL)->loc.offset;
        while (text[at] != '{') /* past the parameters and attributes */
            at = text[at] == '(' ? skip_brackets(text, at) : skip_blank(text, at + 1);
        struct span body = {at, skip_brackets(text, at)};
        if (has_tiles(text, body))
            judge_kernel(&a, &j, module, text, body, list, verbose, total);
    }
    int status = !module || d.errors ? 2 : 0;
    arena_free(&a);
    return status;
}

static int run(struct arena *a, int argc, char **argv)
{
    struct total total = {0};
    const char *list = NULL, *why = "";
    bool verbose = false;
    int status = 0;
    for (int i = 1; i < argc; i++) {
        size_t length;
        if (strcmp(argv[i], "-v") == 0) {
            verbose = true;
        } else if (strcmp(argv[i], "-l") == 0 && i + 1 < argc) {
            list = platform_read_file(a, argv[++i], &length, &why);
            if (!list) {
                fprintf(stderr, "%s: %s\n", argv[i], why);
                return 2;
            }
        } else {
            int one = judge_file(argv[i], list, verbose, &total);
            status = one > status ? one : status;
        }
    }
    printf("%d kernels, %d configurations, %d mutants: %d caught, %d refused by other passes, %d "
           "listed as harmless; %d "
           "failures\n",
           total.kernels, total.configurations, total.mutants, total.caught, total.refused,
           total.harmless, total.failures);
    return status ? status : total.failures > 0;
}

int main(int argc, char **argv)
{
    jmp_buf out_of_memory;
    struct arena a;
    arena_init(&a, NULL, &out_of_memory);
    if (setjmp(out_of_memory))
        abort();
    int status = run(&a, argc, argv);
    arena_free(&a);
    return status;
}
