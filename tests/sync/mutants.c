/* Removes or moves one thing in correct kernels (source_mutants.h), and checks that the static
 * synchronisation check notices.
 *
 *     mutants [-v] [-l HARMLESS] FILE.tile …
 *
 * For every kernel with shared tiles, in every tuned configuration: the kernel itself must have
 * no finding, each mutant must be caught, and a report must be about lines that use the tile it
 * names. A mutant that does no harm is in the list HARMLESS with its argument: `KERNEL MUTATION
 * NUMBER: why`; a listed mutant that is caught is a failure too. */
#include "source_mutants.h"

#include "base/platform.h"
#include "lang/lang.h"
#include "tile/passes.h"
#include "synccheck/synccheck.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        if (source_word_at(text, i, word))
            return true;
    return false;
}

/* Returns true if the error is about a line that uses the tile or mbarrier it names, or about waits
 * that are all noted. */
static bool role_lines_fit(struct arena *a, const char *text, const struct diagnostic *e)
{
    const char *open = strchr(e->message, '`');
    if (!e->notes)
        return false;
    if (!open)
        return true;
    char *name = arena_string(a, open + 1, strcspn(open + 1, "[`"));
    return line_has(text, e->loc, name);
}

/* Returns true if the error is about lines that use the tile it names. */
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
        if (e->severity == SEV_ERROR &&
            (kernel_uses_roles(kernel) ? role_lines_fit(a, text, e) : lines_fit(a, text, e, m)))
            return OUT_CAUGHT;
    return OUT_WRONG_LINES;
}

/* --- the list of harmless mutants --- */

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

/* Judges a mutant over all configurations: if it is silent in one, it is silent. */
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

/* Lists all combinations of tuned values; names of a group change together. */
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
        if (source_word_at(text, i, "shared") && isspace((unsigned char)text[i - 1]))
            return true;
    return false;
}

static void judge_kernel(struct arena *a, struct judge *j, const struct module *module,
                         const char *text, struct span body, const char *list, bool verbose,
                         struct total *total)
{
    const char *kernel = lang_kernel(a, module, j->kernel, NULL)->name, *messages;
    const struct literal *const *tunes;
    int configurations = configurations_of(a, module, j->kernel, &tunes);
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
    const struct source_mutants *m = source_mutants_make(a, text, body);
    for (size_t i = 0; i < m->count; i++)
        judge_mutant(j, &m->data[i], kernel, tunes, configurations, list, verbose, total);
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
        struct span body = source_body(text, lang_kernel(&a, module, i, NULL)->loc.offset);
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
